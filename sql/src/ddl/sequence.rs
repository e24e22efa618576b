//! CREATE, ALTER and DROP SEQUENCE, and what a table must be that is to be one.
//!
//! A sequence and its row appear in one commit, as the tables of CREATE TABLE ... SELECT do. ALTER SEQUENCE changes the row
//! alone: numbers that were reserved are passed over.

use std::sync::Arc;

use storage::schema::{TableDefinition, TableOptions};
use storage::{Isolation, LockedTables, Relatives, Table, TemporaryTables, Trx, TrxOptions};

use super::{Context, Outcome, options, view};
use crate::catalog::{OrSqlError, database_of, storage_error};
use crate::error::{Error, Result};
use crate::information_schema;
use crate::parser::ast::{
    AlterAction, AlterSequence, CreateSequence, OptionValue, SequenceBound, SequenceRestart, SequenceWords, TableName,
    TableOption,
};
use crate::sequences::{self, Definition, Giver, OPTION, ServerSteps, locked_row, put_row};

/// How many numbers are reserved at a time if nothing is said.
const USUAL_CACHE: i64 = 1000;

/// A sequence as CREATE SEQUENCE makes it.
fn new_definition(said: &SequenceWords) -> Definition {
    let increment = said.increment.unwrap_or(1);
    let usual = Definition::usual_bounds(increment);
    let bound = |said: Option<SequenceBound>, usual: i64| match said {
        Some(SequenceBound::At(bound)) => bound,
        _ => usual,
    };
    let (minimum, maximum) = (bound(said.minimum, usual.0), bound(said.maximum, usual.1));
    let start = said.start.unwrap_or(if increment >= 0 { minimum } else { maximum });
    Definition {
        next_not_cached: start,
        minimum,
        maximum,
        start,
        increment,
        cache: said.cache.unwrap_or(USUAL_CACHE),
        cycles: said.cycles.unwrap_or(false),
        cycle_count: 0,
    }
}

/// A sequence as ALTER SEQUENCE leaves it.
fn altered(old: &Definition, said: &SequenceWords) -> Definition {
    let increment = said.increment.unwrap_or(old.increment);
    let usual = Definition::usual_bounds(increment);
    let bound = |said: Option<SequenceBound>, usual: i64, old: i64| match said {
        Some(SequenceBound::At(bound)) => bound,
        Some(SequenceBound::Usual) => usual,
        None => old,
    };
    let start = said.start.unwrap_or(old.start);
    Definition {
        next_not_cached: match said.restart {
            Some(SequenceRestart::At(value)) => value,
            Some(SequenceRestart::Start) => start,
            None => old.next_not_cached,
        },
        minimum: bound(said.minimum, usual.0, old.minimum),
        maximum: bound(said.maximum, usual.1, old.maximum),
        start,
        increment,
        cache: said.cache.unwrap_or(old.cache),
        cycles: said.cycles.unwrap_or(old.cycles),
        cycle_count: old.cycle_count,
    }
}

pub fn create_sequence(context: &Context<'_>, create: &CreateSequence) -> Result<Outcome> {
    if create.or_replace && create.if_not_exists {
        return Err(Error::new(1221, b"HY000", "Incorrect usage of OR REPLACE and IF NOT EXISTS"));
    }
    let (database, name) = context.resolve(&create.name)?;
    options::check_table_name(name)?;
    let engine = &context.instance.engine;
    if engine.database(database).is_none() {
        return Err(Error::unknown_database(database));
    }
    let taken = |is_there: bool| context.is_taken(name, is_there && !create.or_replace, create.if_not_exists);
    let there = match create.temporary {
        true => context.wait.temporary_table(database, name).is_some(),
        false => engine.table(database, name).is_some(),
    };
    if taken(there)? {
        return Outcome::nothing();
    }
    let row = new_definition(&create.said);
    if !row.is_valid(ServerSteps::of(context.settings)) {
        return Err(Error::sequence_out_of_range(database, name));
    }
    let locked = match create.temporary {
        true => None,
        false => Some(engine.lock_definitions(&[(database, name)], Relatives::Along, &context.wait).or_sql()?),
    };
    if let Some(locked) = &locked
        && taken(locked.find(database, name).is_some())?
    {
        return Outcome::nothing();
    }
    let home = engine.database(database).ok_or_else(|| Error::unknown_database(database))?;
    let mut table_options = TableOptions { collation: home.collation, ..options::new_options(context) };
    options::apply(context, &create.options, &mut table_options)?.check_new(context, name, create.temporary)?;
    options::check_encryption(&table_options, &context.instance.variables.text("innodb_encrypt_tables"))?;
    if !sequences::has_option(&table_options) {
        table_options.create_options.insert(0, (OPTION.into(), "1".into()));
    }
    let definition = TableDefinition {
        database: database.into(),
        name: name.into(),
        columns: sequences::columns(),
        options: table_options,
        ..TableDefinition::default()
    };
    let table = match (locked, &context.wait.temporary) {
        (Some(locked), _) => make(context, locked, definition, &row, create.or_replace)?,
        (None, Some(own)) => make_temporary(context, own, definition, &row, there)?,
        (None, None) => return Err(Error::internal("a temporary table of nobody")),
    };
    options::warn_of_what_cannot_be(context, &create.options, &table);
    Outcome::nothing()
}

/// A table that is to be a sequence, by CREATE TABLE.
pub fn check_table(definition: &TableDefinition) -> Result<()> {
    let wrong = |what: &str| Error::sequence_structure(&definition.database, &definition.name, what);
    if let Some(what) = sequences::wrong_columns(&definition.columns) {
        return Err(wrong(&what));
    }
    if !definition.indexes.is_empty() {
        return Err(wrong("Sequence tables cannot have any keys"));
    }
    if !definition.checks.is_empty() || !definition.foreign_keys.is_empty() {
        return Err(wrong("Sequence tables cannot have any constraints"));
    }
    if definition.partitioning.is_some() {
        return Err(wrong("PARTITION"));
    }
    Ok(())
}

/// The row of a sequence that is made by CREATE TABLE.
pub fn usual_row() -> Definition {
    new_definition(&SequenceWords::default())
}

/// Creates a sequence with its row, in one commit.
pub fn make(
    context: &Context<'_>,
    locked: LockedTables<'_>,
    definition: TableDefinition,
    row: &Definition,
    replaces: bool,
) -> Result<Arc<Table>> {
    let name = definition.name.clone();
    let unfinished = locked.begin_table(&context.instance.engine, definition, replaces);
    let unfinished = unfinished.map_err(|error| match error {
        storage::Error::Exists(_) => Error::table_exists(&name),
        other => storage_error(other),
    })?;
    let table = unfinished.table().clone();
    let mut trx = begin(context);
    trx.set_unfinished_table(&table);
    put_row(&mut trx, &table, None, row)?;
    trx.commit().or_sql()?;
    unfinished.finish(context.wait.log.as_deref()).or_sql()
}

pub fn make_temporary(
    context: &Context<'_>,
    own: &Arc<TemporaryTables>,
    definition: TableDefinition,
    row: &Definition,
    replaces: bool,
) -> Result<Arc<Table>> {
    let (database, name) = (definition.database.clone(), definition.name.clone());
    if replaces {
        own.drop_table(&database, &name).or_sql()?;
    }
    let table = own.create(definition).or_sql()?;
    let mut trx = begin(context);
    put_row(&mut trx, &table, None, row)?;
    trx.commit().or_sql()?;
    Ok(table)
}

/// A transaction for the row, whose table nobody else can use meanwhile.
fn begin(context: &Context<'_>) -> Trx {
    context.instance.engine.begin(TrxOptions {
        isolation: Isolation::ReadCommitted,
        read_only: false,
        locked_tables: None,
        log: None,
        place: None,
        ..context.wait.clone()
    })
}

pub fn alter_sequence(context: &Context<'_>, alter: &AlterSequence) -> Result<Outcome> {
    let (database, name) = context.resolve(&alter.name)?;
    if view::is_view(context, database, name) {
        return Err(Error::not_a_sequence(database, name));
    }
    let own = context.wait.temporary_table(database, name);
    let engine = &context.instance.engine;
    let unknown = || {
        if !alter.if_exists {
            return Err(Error::unknown_sequence(name));
        }
        let error = Error::unknown_sequence(&format!("{database}.{name}"));
        context.note(error.code, error.message);
        Outcome::nothing()
    };
    if own.is_none() && engine.table(database, name).is_none() {
        return unknown();
    }
    let locked = match &own {
        Some(_) => None,
        None => Some(engine.lock_definitions(&[(database, name)], Relatives::Alone, &context.wait).or_sql()?),
    };
    let table = own.clone().or_else(|| locked.as_ref().and_then(|locked| locked.find(database, name)));
    let Some(table) = table else { return unknown() };
    if !sequences::is_sequence(&table) {
        return Err(Error::not_a_sequence(database, name));
    }
    let mut trx = begin(context);
    let row = locked_row(&mut trx, &table)?.ok_or_else(|| Error::sequence_structure(database, name, "no row"))?;
    let old = Definition::of_values(&table, |at| row.get(at));
    let new = altered(&old, &alter.said);
    if !new.is_valid(ServerSteps::of(context.settings)) {
        return Err(Error::sequence_out_of_range(database, name));
    }
    put_row(&mut trx, &table, Some(&row), &new)?;
    let giver = Giver::of(&table);
    giver.forget();
    let log = context.wait.log.as_deref().filter(|_| !table.is_temporary());
    trx.commit_with(log).or_sql()?;
    Outcome::nothing()
}

/// DROP SEQUENCE: all or none.
pub fn drop_sequences(context: &Context<'_>, named: &[TableName], if_exists: bool, temporary: bool) -> Result<Outcome> {
    let engine = &context.instance.engine;
    let mut dropped: Vec<TableName> = Vec::new();
    let mut unknown = Vec::new();
    let refuse = |error: Error| match if_exists {
        true => {
            context.note(error.code, error.message);
            Ok(())
        }
        false => Err(error),
    };
    for sequence in named {
        let (database, name) = context.resolve(sequence)?;
        let known = TableName { database: Some(database.to_owned()), name: name.to_owned() };
        if dropped.contains(&known) {
            return Err(Error::not_unique_table(name));
        }
        // A session's own table of the name is passed over unless it is a sequence.
        let own = context.wait.temporary_table(database, name).filter(|own| sequences::is_sequence(own));
        let table = own.or_else(|| engine.table(database, name).filter(|_| !temporary));
        match table {
            Some(table) if sequences::is_sequence(&table) => dropped.push(known),
            Some(_) => refuse(Error::not_a_sequence_to_drop(database, name))?,
            None if !temporary && information_schema::find_view(context.instance, database, name).is_some() => {
                refuse(Error::is_a_view(database, name))?;
            }
            None => unknown.push(format!("{database}.{name}")),
        }
    }
    if !unknown.is_empty() {
        refuse(Error::unknown_sequence(&unknown.join(",")))?;
    }
    match dropped.is_empty() {
        true => Outcome::nothing(),
        false => drop_known(context, &dropped),
    }
}

/// Drops sequences that were there a moment ago.
fn drop_known(context: &Context<'_>, dropped: &[TableName]) -> Result<Outcome> {
    let engine = &context.instance.engine;
    let mut others: Vec<(&str, &str)> = Vec::new();
    let mut own: Vec<(&str, &str)> = Vec::new();
    for sequence in dropped {
        let (database, name) = (database_of(sequence, None)?, sequence.name.as_str());
        let temporary = context.wait.temporary_table(database, name);
        match temporary.is_some_and(|table| sequences::is_sequence(&table)) {
            true => own.push((database, name)),
            false => others.push((database, name)),
        }
    }
    if !others.is_empty() {
        let locked = engine.lock_definitions(&others, Relatives::Alone, &context.wait).or_sql()?;
        for (database, name) in &others {
            match locked.find(database, name) {
                Some(table) if sequences::is_sequence(&table) => {}
                Some(_) => return Err(Error::not_a_sequence_to_drop(database, name)),
                None => return Err(Error::unknown_sequence(&format!("{database}.{name}"))),
            }
        }
        locked.drop_tables(&others).or_sql()?;
    }
    for (database, name) in own {
        if let Some(tables) = &context.wait.temporary {
            tables.drop_table(database, name).or_sql()?;
        }
    }
    Outcome::nothing()
}

/// What ALTER TABLE may do to a sequence: nothing that makes it another table. And no other table becomes one.
pub fn check_alteration(table: &Table, actions: &[AlterAction]) -> Result<()> {
    if !sequences::is_sequence(table) {
        let begins = |option: &TableOption| option.name == OPTION && option.value == OptionValue::Number(1);
        let is_one =
            |action: &AlterAction| matches!(action, AlterAction::Options(options) if options.iter().any(begins));
        return match actions.iter().any(is_one) {
            true => Err(Error::unsupported("ALTER TABLE with SEQUENCE")),
            false => Ok(()),
        };
    }
    let wrong = |what: &str| Err(Error::sequence_structure(&table.database, &table.name, what));
    for action in actions {
        match action {
            AlterAction::Options(options) => {
                let ends = |value: &OptionValue| !matches!(value, OptionValue::Number(1));
                if options.iter().any(|option| option.name == OPTION && ends(&option.value)) {
                    return Err(Error::unsupported("ALTER TABLE with SEQUENCE"));
                }
            }
            AlterAction::Rename(_) | AlterAction::Force | AlterAction::DisableKeys | AlterAction::EnableKeys => {}
            AlterAction::AddIndex(_) => return wrong("Sequence tables cannot have any keys"),
            AlterAction::AddCheck(_) | AlterAction::AddForeignKey(_) => {
                return wrong("Sequence tables cannot have any constraints");
            }
            AlterAction::OrderBy(_) => return wrong("ORDER BY"),
            AlterAction::AddColumn { .. } | AlterAction::DropColumn { .. } => return wrong("Wrong number of columns"),
            AlterAction::ChangeColumn { column, .. } => return wrong(&column.name),
            AlterAction::RenameColumn { new, .. } => return wrong(new),
            AlterAction::SetDefault { column, .. } | AlterAction::SetColumnVisible { column, .. } => {
                return wrong(column);
            }
            AlterAction::Partitions(_) => {
                let text = "Table storage engine 'partition' does not support the create option 'SEQUENCE'";
                return Err(Error::new(1478, b"HY000", text));
            }
            // What is not there is told as of any table.
            _ => {}
        }
    }
    Ok(())
}
