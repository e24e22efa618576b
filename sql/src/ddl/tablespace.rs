//! ALTER TABLE ... DISCARD and IMPORT [PARTITION ...] TABLESPACE: a table gives its file away, and takes the rows of another.
//!
//! What a file is taken for is the definition of the table: types, NULL, primary key. The description that InnoDB writes beside
//! an exported file (`t.cfg`) is compared with it; without one the records themselves show whether they fit.
//!
//! Rows are written anew, and generated columns computed anew, which InnoDB does not store all.

use storage::schema::Row;
use storage::{Alteration, Relatives, Table, same_name};

use super::copy::{Copier, Source};
use super::partition::Router;
use super::{Context, Outcome};
use crate::catalog::storage_error;
use crate::error::{Error, Result};
use crate::parser::ast::{PartitionNames, TableName, Transfer};
use crate::partitions::Routing;

/// Performs one of them. `partitions`: of a table's partitions these alone.
pub fn perform(
    context: &Context<'_>,
    name: &TableName,
    transfer: Transfer,
    partitions: Option<&PartitionNames>,
) -> Result<Outcome> {
    let (database, name) = context.resolve(name)?;
    let engine = &context.instance.engine;
    if context.existing(database, name)?.is_temporary() {
        let text = "Cannot DISCARD/IMPORT tablespace associated with temporary table";
        return Err(Error::new(3007, b"HY000", text));
    }
    let locked =
        engine.lock_definitions(&[(database, name)], Relatives::Along, &context.wait).map_err(storage_error)?;
    let alteration = locked.alter(database, name).map_err(storage_error)?;
    let table = alteration.table().clone();
    let all = places(context, &table, partitions)?;
    let files: Vec<&storage::schema::Table> = table.schema().files().collect();
    let is_discarded = |at: &usize| files[*at].options.discarded;
    match transfer {
        Transfer::Discard => {
            let places: Vec<usize> = all.into_iter().filter(|at| !is_discarded(at)).collect();
            if places.is_empty() {
                let error = Error::tablespace_discarded(name);
                context.warn(error.code, error.message);
                return Outcome::nothing();
            }
            if context.wait.foreign_key_checks && engine.is_referenced_by_others(database, name) {
                return Err(Error::new(
                    1451,
                    b"23000",
                    "Cannot delete or update a parent row: a foreign key constraint fails ()",
                ));
            }
            alteration.discard(&places).map_err(storage_error)?;
        }
        Transfer::Import => {
            if let Some(present) = all.iter().find(|at| !is_discarded(at)) {
                return Err(Error::tablespace_exists(database, &files[*present].file_name()));
            }
            import(context, alteration, &table, &all)?;
        }
    }
    Outcome::nothing()
}

/// The places of the files that a statement is about.
fn places(context: &Context<'_>, table: &Table, partitions: Option<&PartitionNames>) -> Result<Vec<usize>> {
    let count = table.schema().files().count();
    let names = match partitions {
        None => return Ok((0..count).collect()),
        Some(_) if !table.is_partitioned() => return Err(Error::partition_management_on_plain()),
        Some(PartitionNames::All) => return Ok((0..count).collect()),
        Some(PartitionNames::These(names)) => names,
    };
    let routing = Routing::of(context.eval, table)?.ok_or_else(Error::partition_management_on_plain)?;
    Ok(routing.named(table, names)?.iter().collect())
}

fn import(context: &Context<'_>, alteration: Alteration<'_>, table: &Table, places: &[usize]) -> Result<()> {
    let definition = table.definition();
    let source = |at: usize| if table.columns[at].generated.is_some() { Source::New } else { Source::Old(at) };
    let sources: Vec<Source> = (0..table.columns.len()).map(source).collect();
    let mut copier = Copier::new(context, table, &definition, &sources, false, None)?;
    let same = copier.is_identity();
    let mut map = |row: &Row| copier.row(row);
    let router = Router::new(context, &definition)?;
    let mut route = |values: &[Option<&[u8]>]| router.place(values);
    let route: Option<&mut storage::RowRoute<'_>> = if table.is_partitioned() { Some(&mut route) } else { None };
    let done = alteration.import(places, if same { None } else { Some(&mut map) }, route);
    if let Some(error) = copier.failure.take().or_else(|| router.failure.take()) {
        return Err(error);
    }
    let missing = |path: &str| table.schema().files().any(|file| storage::named_path(file) == path);
    let (_, bare) = done.map_err(|error| match error {
        storage::Error::NotFound(path) if missing(&path) => Error::tablespace_missing(&table.database, &table.name),
        storage::Error::DuplicateRows(rows) => {
            let is_it = |index: &&storage::Index| same_name(&index.name, &rows.index);
            let index = table.indexes.iter().find(is_it).map_or("?", |index| &*index.name);
            Error::schema_mismatch(&format!("two rows of the file have one key in the unique index {index}"))
        }
        other => storage_error(other),
    })?;
    for path in bare {
        context.warn(
            1810,
            format!(
                "InnoDB: IO Read error: (2, No such file or directory) Error opening './{path}', will attempt to import \
                 without schema verification"
            ),
        );
    }
    Ok(())
}
