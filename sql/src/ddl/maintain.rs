//! OPTIMIZE, ANALYZE, CHECK, CHECKSUM: statements that answer a row per table and finding.

use std::ops::ControlFlow;
use std::sync::Arc;

use format::checksum::crc32c_append;
use format::collation::CollationId;
use format::value::{ColumnType, Value};
use storage::schema::ColumnSet;
use storage::{Relatives, Table, Trx};

use super::histogram;
use super::partition::{Router, misplaced};
use super::whole::{Answer, each_row, open};
use super::{Context, Outcome, view};
use crate::catalog::{check_not_discarded, database_of, storage_error};
use crate::error::{Error, Result};
use crate::information_schema::{self, is_virtual_table};
use crate::parser::ast::{Maintenance, PersistentFor, TableName};
use crate::partitions::PartitionSet;
use crate::show::Listing;

/// Runs one action over tables, in the order named. What is wrong with a table is a row, not an error.
/// ANALYZE also makes the histograms that are `wanted`.
pub fn maintain(
    context: &Context<'_>,
    action: Maintenance,
    tables: &[TableName],
    wanted: Option<&PersistentFor>,
) -> Result<Outcome> {
    if action == Maintenance::Checksum {
        return checksum(context, tables);
    }
    let verb = match action {
        Maintenance::Optimize => "optimize",
        Maintenance::Analyze => "analyze",
        Maintenance::Check => "check",
        Maintenance::Repair | Maintenance::Checksum => "repair",
    };
    let mut answer = Answer::new(verb, String::new());
    for name in tables {
        let database = database_of(name, context.database)?;
        answer.table = format!("{database}.{}", name.name);
        let mut say = |kind: &str, text: &str| answer.say(kind, text);
        // Programs that check everything go through the server's own databases, too.
        if is_virtual_table(context.instance, context.rights, database, &name.name) {
            match information_schema::table(database, &name.name) {
                Some(_) => say("note", &format!("The storage engine for the table doesn't support {verb}")),
                None => {
                    say("Error", &Error::no_such_table(database, &name.name).message);
                    say("status", "Operation failed");
                }
            }
            continue;
        }
        let (database, table) = context.resolve(name)?;
        if action == Maintenance::Check && view::is_view(context, database, table) {
            match view::check(context, database, table) {
                Ok(()) => say("status", "OK"),
                Err(error) => {
                    say("Error", &error.message);
                    say("error", "Corrupt");
                }
            }
            continue;
        }
        let found = match context.existing(database, table) {
            Ok(found) => found,
            Err(error) => {
                say("Error", &error.message);
                say("status", "Operation failed");
                continue;
            }
        };
        if let Err(error) = check_not_discarded(&found) {
            say("Error", &error.message);
            match action {
                Maintenance::Check => say("error", "Corrupt"),
                _ => say("status", "Operation failed"),
            }
            continue;
        }
        match action {
            Maintenance::Optimize => {
                say("note", "Table does not support optimize, doing recreate + analyze instead");
                optimize(context, &found)?;
                say("status", "OK");
            }
            Maintenance::Analyze => {
                let (mut trx, found) = open(context, database, table)?;
                context.instance.engine.analyze_table(&found, &context.wait.interrupt).map_err(storage_error)?;
                let is_done = match wanted {
                    Some(wanted) => histogram::collect(context, &mut trx, &found, wanted, &mut say)?,
                    None => true,
                };
                if is_done {
                    say("status", "OK");
                }
            }
            Maintenance::Check => {
                let (mut trx, found) = open(context, database, table)?;
                let mut findings =
                    context.instance.engine.check_table(&found, &context.wait.interrupt).map_err(storage_error)?;
                let all = PartitionSet::all(found.files().len());
                findings.extend(misplaced(context, &mut trx, &found, &all)?);
                for finding in &findings {
                    say("error", finding);
                }
                if findings.is_empty() {
                    say("status", "OK");
                } else {
                    say("error", "Corrupt");
                }
            }
            Maintenance::Repair | Maintenance::Checksum => {
                say("note", "The storage engine for the table doesn't support repair");
            }
        }
    }
    Ok(answer.outcome())
}

/// A copy of every row into a new file: pages full, one codec, no holes inside.
fn optimize(context: &Context<'_>, table: &Arc<Table>) -> Result<()> {
    let engine = &context.instance.engine;
    let (database, name) = (&*table.database, &*table.name);
    match &context.wait.temporary {
        Some(own) if table.is_temporary() => {
            let rebuilt = own.rebuild(database, name, table.definition(), None, None, &context.wait.interrupt);
            let (rebuilt, _) = rebuilt.map_err(storage_error)?;
            engine.analyze_table(&rebuilt, &context.wait.interrupt).map_err(storage_error)?;
        }
        _ => {
            let locked = engine.lock_definitions(&[(database, name)], Relatives::Alone, &context.wait);
            let locked = locked.map_err(storage_error)?;
            let mut alteration = locked.alter(database, name).map_err(storage_error)?;
            alteration.keeps_partitions = true;
            let router = Router::new(context, &alteration.definition)?;
            // Another session may have divided it since it was found.
            let divides = alteration.table().is_partitioned();
            let mut route = |values: &[Option<&[u8]>]| router.place(values);
            let copied = alteration.copy(None, if divides { Some(&mut route) } else { None });
            if let Some(error) = router.failure.take() {
                return Err(error);
            }
            let (rebuilt, _) = copied.map_err(storage_error)?;
            engine.analyze_table(&rebuilt, &context.wait.interrupt).map_err(storage_error)?;
        }
    }
    Ok(())
}

/// CHECKSUM TABLE: the sum of what the stored bytes of each row come to, in whatever order the rows are, as in MySQL: tables
/// without a primary key may have theirs in another one elsewhere. Equal rows have equal sums here; MySQL's and MariaDB's own
/// sums differ from each other already.
fn checksum(context: &Context<'_>, tables: &[TableName]) -> Result<Outcome> {
    let mut rows = Vec::new();
    for name in tables {
        let (database, table) = context.resolve(name)?;
        let full = format!("{database}.{table}");
        let sum = match context.existing(database, table).and_then(|_| open(context, database, table)) {
            Ok((trx, found)) => Value::UInt(table_checksum(context, trx, &found)?),
            Err(error) => {
                context.warn(error.code, error.message);
                Value::Null
            }
        };
        rows.push(vec![Value::Bytes(full.into_bytes()), sum]);
    }
    let columns = vec![
        ("Table".to_string(), ColumnType::VarChar { chars: 128, collation: CollationId::UTF8MB4_GENERAL_CI }),
        ("Checksum".to_string(), ColumnType::Int { bytes: 8, unsigned: true }),
    ];
    Ok(Outcome { listing: Some(Listing { columns, rows }), ..Outcome::default() })
}

fn table_checksum(context: &Context<'_>, mut trx: Trx, table: &Arc<Table>) -> Result<u64> {
    let columns = ColumnSet::first(table.columns.len());
    let mut sum = 0u32;
    each_row(context, &mut trx, table, columns, &mut |row| {
        let mut of_row = 0;
        for column in (0..table.columns.len()).filter(|column| !table.columns[*column].is_hidden()) {
            let stored = row.get(column);
            of_row = crc32c_append(of_row, &[u8::from(stored.is_some())]);
            of_row = crc32c_append(of_row, stored.unwrap_or_default());
        }
        sum = sum.wrapping_add(of_row);
        ControlFlow::Continue(())
    })?;
    Ok(u64::from(sum))
}
