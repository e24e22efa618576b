//! CREATE TABLE: a whole definition at once.

use storage::schema::{IndexDefinition, TableDefinition, TableOptions, same_name};
use storage::{DefinitionKind, LockedTables, Relatives, UnfinishedTable};

use super::computed::{self, ComputedSpec};
use super::{Context, Outcome, check, column, database_of, foreign_key, fulltext, index, options, partition, sequence};
use crate::catalog::storage_error;
use crate::error::{Error, Result};
use crate::parser::ast::{CreateTable, ForeignKeySpec, IndexKind, IndexPartSpec, IndexSpec, TableName};
use crate::sequences;

const COLUMNS_MAX: usize = 1017;
const INDEXES_MAX: usize = 64;

/// CREATE TABLE.
pub fn create_table(context: &Context<'_>, create: &CreateTable) -> Result<Outcome> {
    if create.partition_by.is_some() && create.temporary {
        return Err(Error::not_with_partitioning("TEMPORARY"));
    }
    check_replacement(create)?;
    let (database, name) = context.resolve(&create.table)?;
    options::check_table_name(name)?;
    let engine = &context.instance.engine;
    let taken = |is_there: bool| context.is_taken(name, is_there && !create.or_replace, create.if_not_exists);
    let inline = create.columns.iter().filter_map(|column| column.references.as_deref());
    let plain_before = |key: &ForeignKeySpec| {
        create.indexes[..key.behind]
            .iter()
            .filter(|key| matches!(key.kind, IndexKind::Plain | IndexKind::Spatial))
            .count()
    };
    let keys = inline.chain(&create.foreign_keys);
    let keys: Vec<ForeignKeySpec> =
        keys.map(|key| ForeignKeySpec { behind: plain_before(key), ..key.clone() }).collect();
    let like = create.like.as_ref().map(|like| context.resolve(like)).transpose()?;
    if create.or_replace && like == Some((database, name)) {
        return Err(Error::not_unique_table(name));
    }
    if engine.database(database).is_none() {
        return Err(Error::unknown_database(database));
    }
    // Without a lock this may be wrong either way; what is there now is answered at once. A view has its name, too.
    let is_view = || !create.or_replace && engine.definition(DefinitionKind::View, database, name).is_some();
    let there = match create.temporary {
        true => context.wait.temporary_table(database, name).is_some(),
        false => engine.table(database, name).is_some() || is_view(),
    };
    if taken(there)? {
        return Outcome::nothing();
    }
    if create.temporary && !keys.is_empty() {
        // It would outlive what it refers to, or the other way round.
        return Err(Error::cannot_add_foreign_key());
    }
    // The name, the tables that it refers to, and the one that it is to be like hold still from here on. Only the session
    // itself knows of its temporary tables.
    let locked = match create.temporary {
        true => None,
        false => {
            let parents = keys.iter().map(|key| &key.table);
            let parent = |table: &'_ TableName| (table.database.clone().unwrap_or(database.into()), table.name.clone());
            let parents: Vec<(String, String)> = parents.map(parent).collect();
            let mut names = vec![(database, name)];
            names.extend(parents.iter().map(|(database, name)| (database.as_str(), name.as_str())));
            let source = like.filter(|like| context.wait.temporary_table(like.0, like.1).is_none());
            let locked = engine.lock_definitions_beside(&names, source, Relatives::Along, &context.wait);
            Some(locked.map_err(storage_error)?)
        }
    };
    let Some(home) = engine.database(database) else {
        return Err(Error::unknown_database(database));
    };
    if let Some(locked) = &locked
        && taken(locked.find(database, name).is_some())?
    {
        return Outcome::nothing();
    }
    let definition = match like {
        Some((other_database, other)) => {
            let mut definition = context.existing(other_database, other)?.definition();
            if create.temporary && definition.partitioning.is_some() {
                return Err(Error::not_with_partitioning("TEMPORARY"));
            }
            definition.auto_increment_start = 0;
            definition.options.discarded = false;
            for part in definition.partitioning.iter_mut().flat_map(|partitioning| &mut partitioning.parts) {
                part.discarded = false;
            }
            // A copy refers to nothing, as in MySQL.
            definition.foreign_keys.clear();
            definition.indexes.iter_mut().for_each(|index| index.generated = false);
            definition.checks = check::renamed(&definition.checks, name);
            definition
        }
        None => definition(context, create, home.collation)?,
    };
    let definition = complete(context, definition, (database, name), &keys, create)?;
    if sequences::has_option(&definition.options) {
        sequence::check_table(&definition)?;
        let row = sequence::usual_row();
        let table = match (locked, &context.wait.temporary) {
            (Some(locked), _) => sequence::make(context, locked, definition, &row, create.or_replace)?,
            (None, Some(own)) => sequence::make_temporary(context, own, definition, &row, there)?,
            (None, None) => return Err(Error::internal("a temporary table of nobody")),
        };
        options::warn_of_what_cannot_be(context, &create.options, &table);
        return Outcome::nothing();
    }
    let created = match (&locked, &context.wait.temporary) {
        (Some(locked), _) if create.or_replace => locked.create_or_replace(definition),
        (Some(locked), _) => locked.create(definition),
        (None, Some(own)) => {
            if there {
                own.drop_table(database, name).map_err(storage_error)?;
            }
            own.create(definition)
        }
        (None, None) => return Err(Error::internal("a temporary table of nobody")),
    };
    let table = created.map_err(|error| match error {
        storage::Error::Exists(_) => Error::table_exists(name),
        other => storage_error(other),
    })?;
    options::warn_of_what_cannot_be(context, &create.options, &table);
    Outcome::nothing()
}

/// The table of CREATE TABLE ... SELECT or START TRANSACTION, for its rows. Its name is locked, and free.
pub fn begin_table(context: &Context<'_>, create: &CreateTable, locked: LockedTables<'_>) -> Result<UnfinishedTable> {
    let (database, name) = context.resolve(&create.table)?;
    let home = locked.database(database).ok_or_else(|| Error::unknown_database(database))?;
    let definition = definition(context, create, home.collation)?;
    let definition = complete(context, definition, (database, name), &[], create)?;
    if sequences::has_option(&definition.options) {
        sequence::check_table(&definition)?;
        return Err(Error::sequence_structure(database, name, "rows"));
    }
    let table = locked.begin_table(&context.instance.engine, definition, create.or_replace).map_err(storage_error)?;
    options::warn_of_what_cannot_be(context, &create.options, table.table());
    Ok(table)
}

/// OR REPLACE and IF NOT EXISTS exclude each other.
fn check_replacement(create: &CreateTable) -> Result<()> {
    match create.or_replace && create.if_not_exists {
        true => Err(Error::new(1221, b"HY000", "Incorrect usage of OR REPLACE and IF NOT EXISTS")),
        false => Ok(()),
    }
}

/// What CREATE TABLE ... SELECT and START TRANSACTION do not take.
pub fn check_with_rows(create: &CreateTable) -> Result<()> {
    if create.start_transaction {
        for (is_said, what) in [
            (create.temporary, "CREATE TEMPORARY TABLE"),
            (create.query.is_some(), "CREATE TABLE ... AS SELECT"),
            (create.like.is_some(), "CREATE TABLE ... LIKE"),
        ] {
            if is_said {
                return Err(Error::not_with_start_transaction(what));
            }
        }
    }
    if create.partition_by.is_some() && create.temporary {
        return Err(Error::not_with_partitioning("TEMPORARY"));
    }
    check_replacement(create)?;
    if !create.foreign_keys.is_empty() || create.columns.iter().any(|column| column.references.is_some()) {
        return Err(Error::foreign_key_with_rows());
    }
    options::check_table_name(&create.table.name)
}

/// A definition under its name, with its foreign keys and the indexes that these need.
fn complete(
    context: &Context<'_>,
    definition: TableDefinition,
    (database, name): (&str, &str),
    keys: &[ForeignKeySpec],
    create: &CreateTable,
) -> Result<TableDefinition> {
    let mut definition = TableDefinition { database: database.into(), name: name.into(), ..definition };
    foreign_key::add(context, &mut definition, keys)?;
    definition.indexes = index::in_order(std::mem::take(&mut definition.indexes), &definition.columns);
    fulltext::check_temporary(create.temporary, &definition.indexes)?;
    check::add(context, &mut definition, &create.checks, create.temporary)?;
    check::check_foreign_keys(&definition)?;
    check_counts(&definition)?;
    // The index that a foreign key needs may be the one that the counter needs.
    index::check_auto_increment(&definition.columns, &definition.indexes)?;
    index::check_visible(&definition.columns, &definition.indexes)?;
    if context.settings.sql_require_primary_key && !has_primary_key(&definition) {
        return Err(Error::primary_key_required());
    }
    match &create.partition_by {
        Some(by) => {
            let engine = create.options.iter().find(|option| option.name == "ENGINE");
            let engine = engine.map(|option| options::word(&option.value));
            partition::check_engines(context, engine.as_deref(), &by.definitions)?;
            partition::settle(context, &mut definition, by)?;
        }
        // Of the table that it is to be like.
        None => partition::settle_again(context, &mut definition)?,
    }
    Ok(definition)
}

pub fn has_primary_key(definition: &TableDefinition) -> bool {
    definition.indexes.iter().any(|index| index.primary)
}

/// Limits that a table may come to in several ways.
pub fn check_counts(definition: &TableDefinition) -> Result<()> {
    if definition.columns.len() > COLUMNS_MAX {
        return Err(Error::too_many_columns());
    }
    if definition.indexes.len() > INDEXES_MAX {
        return Err(too_many_keys());
    }
    Ok(())
}

fn definition(
    context: &Context<'_>,
    create: &CreateTable,
    collation: format::collation::CollationId,
) -> Result<TableDefinition> {
    if create.columns.is_empty() {
        return Err(Error::no_columns());
    }
    if create.columns.iter().all(|column| column.invisible) {
        return Err(Error::no_visible_column());
    }
    if create.columns.len() > COLUMNS_MAX {
        return Err(Error::too_many_columns());
    }
    let mut table_options = TableOptions { collation, ..options::new_options(context) };
    let encrypt_tables = context.instance.variables.text("innodb_encrypt_tables");
    let given = options::apply(context, &create.options, &mut table_options)?;
    given.check_new(context, &create.table.name, create.temporary)?;
    options::check_encryption(&table_options, &encrypt_tables)?;

    let mut columns = Vec::with_capacity(create.columns.len());
    for spec in &create.columns {
        if create.columns.iter().filter(|other| same_name(&other.name, &spec.name)).count() > 1 {
            return Err(Error::duplicate_column_name(&spec.name));
        }
        columns.push(column::column(context, spec, table_options.collation)?);
    }
    let computed: Vec<ComputedSpec> = create.columns.iter().filter_map(ComputedSpec::of).collect();
    computed::settle(context, &create.table.name, &computed, &mut columns)?;
    column::check_row(&columns)?;

    // Keys as they are written: a column's own stand before those that are said behind it.
    let mut specs: Vec<IndexSpec> = Vec::new();
    for (at, column) in create.columns.iter().enumerate() {
        specs.extend(keys_of_column(column).into_iter().map(|key| IndexSpec { behind: at + 1, ..key }));
    }
    specs.extend(create.indexes.iter().cloned());
    specs.sort_by_key(|spec| spec.behind);
    // Those named by the user come first, so that invented names make room for them.
    let mut specs: Vec<(usize, IndexSpec)> = specs.into_iter().enumerate().collect();
    specs.sort_by_key(|(_, spec)| spec.name.is_none());
    if specs.len() > INDEXES_MAX {
        return Err(too_many_keys());
    }
    let mut indexes: Vec<IndexDefinition> = Vec::with_capacity(specs.len());
    for (_, spec) in &specs {
        let taken = |name: &str| {
            let named =
                |(_, spec): &(usize, IndexSpec)| spec.name.as_deref().is_some_and(|known| same_name(known, name));
            specs.iter().any(named) || indexes.iter().any(|index| same_name(&index.name, name))
        };
        let spec = computed::with_hidden_columns(context, spec, &create.table.name, &mut columns, &taken)?;
        let made = index::index(context, &spec, &mut columns, &indexes)?;
        let database = database_of(&create.table, context.database)?;
        index::warn_of_duplicate(context, (database, &create.table.name), &made, &indexes);
        indexes.push(made);
    }
    // Back into the order written, as far as it counts.
    let mut indexes: Vec<(usize, IndexDefinition)> = specs.iter().map(|(at, _)| *at).zip(indexes).collect();
    indexes.sort_by_key(|(at, _)| *at);
    let indexes = index::in_order(indexes.into_iter().map(|(_, index)| index).collect(), &columns);
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
        parts: vec![IndexPartSpec {
            column: spec.name.clone(),
            prefix: None,
            descending: false,
            expression: None,
            elements: None,
        }],
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
