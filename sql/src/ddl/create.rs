//! CREATE TABLE: a whole definition at once.

use storage::schema::{Compression, IndexDefinition, TableDefinition, TableOptions};

use super::{Context, Outcome, column, foreign_key, index, options};
use crate::catalog::storage_error;
use crate::error::{Error, Result};
use crate::parser::ast::{CreateTable, ForeignKeySpec, IndexKind, IndexPartSpec, IndexSpec};

const COLUMNS_MAX: usize = 1017;
const INDEXES_MAX: usize = 64;

/// CREATE TABLE.
pub fn create_table(context: &Context<'_>, create: &CreateTable) -> Result<Outcome> {
    if create.query.is_some() {
        return Err(Error::unsupported("CREATE TABLE ... SELECT"));
    }
    if create.partition_by.is_some() {
        return Err(Error::unsupported("partitioning"));
    }
    if create.or_replace {
        return Err(Error::unsupported("CREATE OR REPLACE TABLE"));
    }
    let (database, name) = context.resolve(&create.table)?;
    options::check_table_name(name)?;
    let Some(home) = context.instance.engine.database(database) else {
        return Err(Error::unknown_database(database));
    };
    let taken = match create.temporary {
        true => context.wait.temporary_table(database, name).is_some(),
        false => context.instance.engine.table(database, name).is_some(),
    };
    if taken {
        let error = Error::table_exists(name);
        if !create.if_not_exists {
            return Err(error);
        }
        context.note(error.code, error.message);
        return Outcome::nothing();
    }
    let definition = match &create.like {
        Some(like) => {
            let (other_database, other) = context.resolve(like)?;
            let mut definition = context.existing(other_database, other)?.definition();
            definition.auto_increment_start = 0;
            // A copy refers to nothing, as in MySQL.
            definition.foreign_keys.clear();
            definition
        }
        None => definition(context, create, home.collation)?,
    };
    let mut definition = TableDefinition { database: database.into(), name: name.into(), ..definition };
    let inline = create.columns.iter().filter_map(|column| column.references.as_deref());
    let keys: Vec<ForeignKeySpec> = inline.chain(&create.foreign_keys).cloned().collect();
    if create.temporary && !keys.is_empty() {
        // It would outlive what it refers to, or the other way round.
        return Err(Error::cannot_add_foreign_key());
    }
    let added = foreign_key::add(context, &mut definition, &keys)?;
    definition.indexes.extend(added);
    if definition.indexes.len() > INDEXES_MAX {
        return Err(too_many_keys());
    }
    let created = match &context.wait.temporary {
        Some(own) if create.temporary => own.create(definition),
        _ => context.instance.engine.create_table(definition, &context.wait),
    };
    let table = created.map_err(|error| match error {
        storage::Error::Exists(_) => Error::table_exists(name),
        other => storage_error(other),
    })?;
    options::warn_of_what_cannot_be(context, &create.options, &table);
    Outcome::nothing()
}

fn definition(
    context: &Context<'_>,
    create: &CreateTable,
    collation: format::collation::CollationId,
) -> Result<TableDefinition> {
    if !create.checks.is_empty() {
        return Err(Error::unsupported("CHECK constraints"));
    }
    if create.columns.is_empty() {
        return Err(Error::no_columns());
    }
    if create.columns.len() > COLUMNS_MAX {
        return Err(Error::too_many_columns());
    }
    let encrypt_tables = context.instance.variables.text("innodb_encrypt_tables");
    let encrypted = context.settings.default_table_encryption || encrypt_tables != "OFF";
    let mut table_options = TableOptions { collation, encrypted, ..TableOptions::default() };
    if !context.settings.innodb_compression_default {
        table_options.compression = Compression::NONE;
    }
    let given = options::apply(context, &create.options, &mut table_options)?;
    options::check_encryption(&table_options, &encrypt_tables)?;

    let mut columns = Vec::with_capacity(create.columns.len());
    for spec in &create.columns {
        if create.columns.iter().filter(|other| storage::schema::same_name(&other.name, &spec.name)).count() > 1 {
            return Err(Error::duplicate_column_name(&spec.name));
        }
        columns.push(column::column(context, spec, table_options.collation)?);
    }
    column::check_row(&columns)?;

    // Keys named by the user come first, so that invented names make room for them.
    let mut specs: Vec<IndexSpec> = create.columns.iter().flat_map(keys_of_column).collect();
    specs.extend(create.indexes.iter().cloned());
    specs.sort_by_key(|spec| spec.name.is_none());
    if specs.len() > INDEXES_MAX {
        return Err(too_many_keys());
    }
    let mut indexes: Vec<IndexDefinition> = Vec::with_capacity(specs.len());
    for spec in &specs {
        let made = index::index(context, spec, &mut columns, &indexes)?;
        indexes.push(made);
    }
    // Back into the order written, as far as it counts.
    let indexes = index::in_order(indexes);
    index::check_auto_increment(&columns, &indexes)?;
    Ok(TableDefinition {
        columns,
        indexes,
        options: table_options,
        auto_increment_start: given.auto_increment.unwrap_or(0),
        ..TableDefinition::default()
    })
}

fn too_many_keys() -> Error {
    Error::new(1069, b"42000", format!("Too many keys specified; max {INDEXES_MAX} keys allowed"))
}

/// PRIMARY KEY and UNIQUE said behind a column.
pub fn keys_of_column(spec: &crate::parser::ast::ColumnSpec) -> Vec<IndexSpec> {
    let key = |kind| IndexSpec {
        kind,
        parts: vec![IndexPartSpec { column: spec.name.clone(), prefix: None, descending: false, expression: None }],
        ..IndexSpec::default()
    };
    let mut keys = Vec::new();
    if spec.primary_key {
        keys.push(key(IndexKind::Primary));
    }
    if spec.unique || spec.ty.name == "SERIAL" {
        keys.push(key(IndexKind::Unique));
    }
    keys
}
