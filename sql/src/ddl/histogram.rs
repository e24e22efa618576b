//! ANALYZE TABLE ... UPDATE HISTOGRAM and DROP HISTOGRAM. What is wrong with a column is a row of the answer, as in MySQL.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::Arc;

use format::value::{DateTime, Json, Zone};
use storage::schema::{ColumnSet, Histogram as Stored, Histograms};
use storage::{Table, Trx};

use super::whole::{Answer, each_row, open};
use super::{Context, Outcome, view};
use crate::catalog::{database_of, storage_error};
use crate::error::{Error, Result};
use crate::histograms::{BUCKETS_DEFAULT, BUCKETS_MAX, Counter, Histogram, has_histogram_type};
use crate::information_schema::is_virtual_table;
use crate::parser::ast::{HistogramChange, PersistentFor, TableName};

const FORMAT: &str = "JSON format error.";

/// Changes the histograms of a table.
pub fn change(context: &Context<'_>, tables: &[TableName], change: &HistogramChange) -> Result<Outcome> {
    let (HistogramChange::Update { columns, .. } | HistogramChange::Drop { columns }) = change;
    for (at, name) in columns.iter().enumerate() {
        if columns[..at].iter().any(|other| storage::same_name(other, name)) {
            return Err(Error::duplicate_column_name(name));
        }
    }
    let [name] = tables else {
        let mut answer = Answer::new("histogram", String::new());
        answer.say("Error", "Only one table can be specified while modifying histogram statistics.");
        return Ok(answer.outcome());
    };
    let given = database_of(name, context.database)?;
    let mut answer = Answer::new("histogram", format!("{given}.{}", name.name));
    if is_virtual_table(context.instance, context.rights, given, &name.name) {
        answer.say("Error", "Cannot create histogram statistics for a view.");
        return Ok(answer.outcome());
    }
    let (database, table) = context.resolve(name)?;
    if view::is_view(context, database, table) {
        answer.say("Error", "Cannot create histogram statistics for a view.");
        return Ok(answer.outcome());
    }
    let refused = match context.existing(database, table) {
        Err(error) => {
            answer.say("Error", &error.message);
            answer.say("status", "Operation failed");
            return Ok(answer.outcome());
        }
        Ok(found) if found.is_temporary() => Some("a temporary table"),
        Ok(found) if found.options.encrypted => Some("an encrypted table"),
        Ok(_) => None,
    };
    if let Some(what) = refused {
        answer.say("Error", &format!("Cannot create histogram statistics for {what}."));
        return Ok(answer.outcome());
    }
    let (trx, found) = open(context, database, table)?;
    match change {
        HistogramChange::Drop { columns } => drop_some(context, &found, columns, &mut answer)?,
        HistogramChange::Update { columns, data: Some(data), .. } => {
            take_in(context, &found, columns, data, &mut answer)?
        }
        HistogramChange::Update { columns, buckets, data: None } => {
            let asked = buckets.unwrap_or(BUCKETS_DEFAULT);
            if !(1..=BUCKETS_MAX).contains(&asked) {
                return Err(Error::out_of_range("Number of buckets", "ANALYZE TABLE"));
            }
            update(context, trx, &found, columns, asked, &mut answer)?;
        }
    }
    Ok(answer.outcome())
}

/// The column of a name, or why it can have no histogram.
fn usable(table: &Table, name: &str) -> std::result::Result<usize, String> {
    let found = table.column(name).filter(|column| !table.columns[*column].is_hidden());
    let Some(column) = found else { return Err(format!("The column '{name}' does not exist.")) };
    let name = &table.columns[column].name;
    if !has_histogram_type(&table.columns[column].ty) {
        return Err(format!("The column '{name}' has an unsupported data type."));
    }
    let is_key = |index: &storage::Index| {
        index.unique
            && index.parts.len() == 1
            && index.parts[0].column == column
            && index.parts[0].prefix_chars.is_none()
    };
    if table.indexes.iter().any(is_key) {
        return Err(format!("The column '{name}' is covered by a single-part unique index."));
    }
    Ok(column)
}

fn now() -> DateTime {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    DateTime::from_unix_micros(since.as_micros() as i64, Zone::UTC).unwrap_or_default()
}

/// Gives the table these histograms, and leaves it those of other columns.
fn put(context: &Context<'_>, table: &Table, made: Vec<Arc<Stored>>) -> Result<()> {
    let change = |kept: &Histograms| {
        let is_made = |old: &Arc<Stored>| made.iter().any(|new| storage::same_name(&new.column, &old.column));
        let others = kept.iter().filter(|old| !is_made(old)).cloned();
        others.chain(made.iter().cloned()).collect()
    };
    context.instance.engine.change_histograms(table, &context.wait, change).map_err(storage_error)
}

fn stored(table: &Table, column: usize, histogram: &Histogram) -> Arc<Stored> {
    let column = &table.columns[column];
    Stored::new(&column.name, &histogram.to_json(&column.ty).to_binary())
}

fn update(
    context: &Context<'_>,
    mut trx: Trx,
    table: &Arc<Table>,
    names: &[String],
    asked: u64,
    answer: &mut Answer,
) -> Result<()> {
    let mut said: BTreeSet<(String, &str, String)> = BTreeSet::new();
    let mut columns = Vec::new();
    for name in names {
        match usable(table, name) {
            Ok(column) => columns.push(column),
            Err(why) => drop(said.insert((name.to_lowercase(), "Error", why))),
        }
    }
    make(context, &mut trx, table, &columns, asked)?;
    for column in columns {
        let name = &table.columns[column].name;
        let text = format!("Histogram statistics created for column '{name}'.");
        said.insert((name.to_lowercase(), "status", text));
    }
    said.iter().for_each(|(_, kind, text)| answer.say(kind, text));
    Ok(())
}

/// Makes the histograms of MariaDB's ANALYZE TABLE ... PERSISTENT FOR. False: it says why there are none.
pub fn collect(
    context: &Context<'_>,
    trx: &mut Trx,
    table: &Arc<Table>,
    wanted: &PersistentFor,
    say: &mut dyn FnMut(&str, &str),
) -> Result<bool> {
    let is_column = |name: &String| table.column(name).is_some_and(|column| !table.columns[column].is_hidden());
    let is_index = |name: &String| table.indexes.iter().any(|index| storage::same_name(&index.name, name));
    if table.is_temporary() {
        say("error", "Invalid argument");
        return Ok(false);
    }
    if table.options.encrypted {
        say("Error", "Cannot create histogram statistics for an encrypted table.");
        return Ok(false);
    }
    say("status", "Engine-independent statistics collected");
    if !wanted.columns.iter().flatten().all(is_column) || !wanted.indexes.iter().flatten().all(is_index) {
        say("error", "Invalid argument");
        return Ok(false);
    }
    let is_wanted = |column: &&storage::Column| match &wanted.columns {
        Some(names) => names.iter().any(|name| storage::same_name(name, &column.name)),
        None => !column.is_hidden(),
    };
    let mut columns = Vec::new();
    for column in table.columns.iter().filter(is_wanted) {
        match usable(table, &column.name) {
            Ok(column) => columns.push(column),
            // Values that are all different need none.
            Err(_) if has_histogram_type(&column.ty) => {}
            Err(_) => {
                let text = format!("Engine-independent statistics are not collected for column '{}'", column.name);
                say("Warning", &text);
            }
        }
    }
    make(context, trx, table, &columns, BUCKETS_DEFAULT)?;
    Ok(true)
}

/// Makes histograms of these columns.
fn make(context: &Context<'_>, trx: &mut Trx, table: &Arc<Table>, columns: &[usize], asked: u64) -> Result<()> {
    if columns.is_empty() {
        return Ok(());
    }
    let types = columns.iter().map(|column| &table.columns[*column].ty);
    let rows = context.instance.engine.table_statistics(table).rows;
    let needed = types.map(Counter::value_bytes).sum::<u64>().saturating_mul(rows) as f64;
    let memory = context.settings.histogram_bytes;
    // A sample has not exactly its share of the rows.
    let mut rate = if needed <= memory as f64 { 1.0 } else { 0.95 * memory as f64 / needed };
    let counters = loop {
        match count(context, trx, table, columns, rate, memory)? {
            Some(counters) => break counters,
            // There are more rows than the estimates tell.
            None => rate /= 2.0,
        }
    };
    let now = now();
    let made =
        columns.iter().zip(counters).map(|(column, counter)| stored(table, *column, &counter.finish(asked, rate, now)));
    put(context, table, made.collect())
}

/// Counts the values of so much of the rows. None: that takes more memory.
fn count(
    context: &Context<'_>,
    trx: &mut Trx,
    table: &Arc<Table>,
    columns: &[usize],
    rate: f64,
    memory: u64,
) -> Result<Option<Vec<Counter>>> {
    let mut counters: Vec<Counter> = columns.iter().map(|column| Counter::new(&table.columns[*column].ty)).collect();
    let mut wanted = ColumnSet::first(0);
    columns.iter().for_each(|column| wanted.insert(*column));
    let (mut number, mut used) = (0_u64, 0_u64);
    each_row(context, trx, table, wanted, &mut |row| {
        number += 1;
        if rate < 1.0 && !is_taken(number, rate) {
            return ControlFlow::Continue(());
        }
        for (counter, column) in counters.iter_mut().zip(columns) {
            used += counter.add(row.get(*column));
        }
        if used > memory { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    Ok((used <= memory).then_some(counters))
}

/// Whether a row belongs to the sample: the same rows each time, in no order that rows might have.
fn is_taken(number: u64, rate: f64) -> bool {
    let mut mixed = number.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    mixed = (mixed ^ mixed >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    ((mixed ^ mixed >> 31) as f64) < rate * u64::MAX as f64
}

/// USING DATA: a histogram that was made elsewhere.
fn take_in(context: &Context<'_>, table: &Table, names: &[String], data: &str, answer: &mut Answer) -> Result<()> {
    let [name] = names else {
        let text = "Only one column can be specified while modifying histogram statistics with JSON data.";
        answer.say("Error", text);
        return Ok(());
    };
    let column = match usable(table, name) {
        Ok(column) => column,
        Err(why) => {
            answer.say("Error", &why);
            return Ok(());
        }
    };
    let document = Json::parse(data.as_bytes()).ok();
    let ty = &table.columns[column].ty;
    let Some(histogram) = document.and_then(|document| Histogram::from_json(&document, ty, Some(now()))) else {
        answer.say("Error", FORMAT);
        return Ok(());
    };
    put(context, table, vec![stored(table, column, &histogram)])?;
    let name = &table.columns[column].name;
    answer.say("status", &format!("Histogram statistics created for column '{name}'."));
    Ok(())
}

fn drop_some(context: &Context<'_>, table: &Table, names: &[String], answer: &mut Answer) -> Result<()> {
    let is_dropped = |histogram: &Arc<Stored>| names.iter().any(|name| storage::same_name(name, &histogram.column));
    let mut dropped: Histograms = Vec::new();
    if table.state.statistics.histograms().iter().any(is_dropped) {
        let change = |kept: &Histograms| {
            let (gone, left) = kept.iter().cloned().partition(is_dropped);
            dropped = gone;
            left
        };
        context.instance.engine.change_histograms(table, &context.wait, change).map_err(storage_error)?;
    }
    let mut names: Vec<&String> = names.iter().collect();
    names.sort_by_key(|name| name.to_lowercase());
    for name in names {
        match dropped.iter().find(|histogram| storage::same_name(name, &histogram.column)) {
            Some(found) => {
                answer.say("status", &format!("Histogram statistics removed for column '{}'.", found.column));
            }
            None => answer.say("Error", &format!("No histogram statistics found for column '{name}'.")),
        }
    }
    Ok(())
}
