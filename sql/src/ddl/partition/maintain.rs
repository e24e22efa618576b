//! ANALYZE, CHECK, REPAIR and OPTIMIZE PARTITION: statements that answer a row per finding, as those of whole tables.

use std::ops::Bound;
use std::sync::Arc;

use format::collation::CollationId;
use format::value::{ColumnType, Value};
use storage::{ColumnSet, ReadMode, Row, ScanRange, Table, TableUse, Trx};

use super::super::{Context, Outcome};
use super::named;
use crate::catalog::{self, storage_error};
use crate::error::{Error, Result};
use crate::parser::ast::{Maintenance, PartitionNames};
use crate::partitions::{PartitionSet, Routing};
use crate::show::Listing;

fn listing(rows: Vec<[String; 4]>) -> Outcome {
    let text = |name: &str, chars| {
        (name.to_string(), ColumnType::VarChar { chars, collation: CollationId::UTF8MB4_GENERAL_CI })
    };
    let columns = vec![text("Table", 128), text("Op", 10), text("Msg_type", 10), text("Msg_text", 2048)];
    let row = |row: [String; 4]| row.map(|cell| Value::Bytes(cell.into_bytes())).to_vec();
    Outcome { listing: Some(Listing { columns, rows: rows.into_iter().map(row).collect() }), ..Outcome::default() }
}

/// What a statement does to a table's partitions that leaves their rows as they are.
pub fn maintain(
    context: &Context<'_>,
    action: Maintenance,
    (database, name): (&str, &str),
    names: &PartitionNames,
) -> Result<Outcome> {
    let engine = &context.instance.engine;
    let mut trx = engine.begin(context.wait.clone());
    let table = catalog::open(&mut trx, database, name, TableUse::Read)?;
    let full = format!("{database}.{name}");
    let verb = match action {
        Maintenance::Analyze => "analyze",
        Maintenance::Check => "check",
        _ => "repair",
    };
    let mut rows = Vec::new();
    let mut say = |kind: &str, text: &str| rows.push([&full, verb, kind, text].map(|cell: &str| cell.to_owned()));
    let set = match named(context, &table, names) {
        Ok(set) => set,
        Err(error) => {
            say("Error", &error.message);
            say("status", "Operation failed");
            return Ok(listing(rows));
        }
    };
    let mut is_corrupt = false;
    for at in set.iter() {
        let partition = &table.partitions()[at];
        match action {
            Maintenance::Analyze => {
                drop(engine.analyze_table(partition, &context.wait.interrupt).map_err(storage_error)?)
            }
            Maintenance::Check => {
                for finding in engine.check_file(partition, &context.wait.interrupt).map_err(storage_error)? {
                    is_corrupt = true;
                    say("error", &finding);
                }
            }
            _ => {}
        }
    }
    if action == Maintenance::Check {
        for finding in misplaced(context, &mut trx, &table, &set)? {
            is_corrupt = true;
            say("error", &finding);
        }
    }
    match (action, is_corrupt) {
        (Maintenance::Repair, _) => say("note", "The storage engine for the table doesn't support repair"),
        (_, true) => say("error", "Corrupt"),
        _ => say("status", "OK"),
    }
    Ok(listing(rows))
}

/// The first row of each partition that belongs into another one, as EXCHANGE PARTITION ... WITHOUT VALIDATION leaves
/// them; in words, with the values that decide.
pub fn misplaced(context: &Context<'_>, trx: &mut Trx, table: &Arc<Table>, set: &PartitionSet) -> Result<Vec<String>> {
    let Some(routing) = Routing::of(context.eval, table)? else { return Ok(Vec::new()) };
    let columns: ColumnSet = routing.columns.iter().copied().collect();
    let mut findings = Vec::new();
    let mut row = Row::new();
    for at in set.iter() {
        let partition = &table.partitions()[at];
        let range = ScanRange { lower: Bound::Unbounded, upper: Bound::Unbounded, reverse: false };
        let mut cursor = trx.cursor(partition, 0, ReadMode::Consistent, columns, range).map_err(storage_error)?;
        while cursor.next(trx, &mut row).map_err(storage_error)? {
            if context.eval.session.is_interrupted() {
                return Err(Error::interrupted());
            }
            let place = routing.partition_of(context.eval, &table.columns, &|column| row.get(column));
            let should = match place {
                Ok(place) if place == at => continue,
                Ok(place) => format!("should be in part {place}"),
                Err(error) if error.is_of_no_partition() => "should not be in any part".to_string(),
                Err(error) => return Err(error),
            };
            let values = routing.columns.iter().map(|&column| {
                let mut text = b"NULL".to_vec();
                if let Some(stored) = row.get(column) {
                    text.clear();
                    table.columns[column].ty.write_text_at(stored, context.eval.zone, &mut text);
                }
                format!(" {}:{}", table.columns[column].name, String::from_utf8_lossy(&text))
            });
            findings.push(format!("Found a misplaced row in part {at} {should}:\n{}", values.collect::<String>()));
            break;
        }
    }
    Ok(findings)
}

/// What OPTIMIZE PARTITION answers when the partitions have been rebuilt. The table's name is locked.
pub fn rebuilt(context: &Context<'_>, (database, name): (&str, &str), names: &PartitionNames) -> Result<Outcome> {
    let table = context.existing(database, name)?;
    for at in named(context, &table, names)?.iter() {
        context
            .instance
            .engine
            .analyze_table(&table.partitions()[at], &context.wait.interrupt)
            .map_err(storage_error)?;
    }
    let row = |kind: &str, text: &str| [&format!("{database}.{name}"), "optimize", kind, text].map(str::to_owned);
    let note = "Table does not support optimize on partitions. All partitions will be rebuilt and analyzed.";
    Ok(listing(vec![row("note", note), row("status", "OK")]))
}
