//! ANALYZE TABLE ... UPDATE HISTOGRAM and DROP HISTOGRAM. What is wrong with a column is a row of the answer, as in MySQL.

use std::collections::BTreeSet;
use std::sync::Arc;

use format::value::{ColumnType, DateTime, Json, Zone};
use storage::schema::{ColumnSet, Histogram as Stored, Histograms};
use storage::{Table, Trx};

use super::maintain::{Answer, each_row, open};
use super::{Context, Outcome, view};
use crate::catalog::{database_of, storage_error};
use crate::error::{Error, Result};
use crate::histograms::{BUCKETS_DEFAULT, BUCKETS_MAX, Counter, Histogram, has_histogram_type};
use crate::information_schema::is_virtual_table;
use crate::parser::ast::{HistogramChange, TableName};

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
    let is_made = |old: &Arc<Stored>| made.iter().any(|new| storage::same_name(&new.column, &old.column));
    let kept = table.state.statistics.histograms();
    let mut all: Histograms = kept.iter().filter(|old| !is_made(old)).cloned().collect();
    all.extend(made);
    context.instance.engine.set_histograms(table, all, &context.wait).map_err(storage_error)
}

fn stored(table: &Table, column: usize, histogram: &Histogram) -> Arc<Stored> {
    let column = &table.columns[column];
    Stored::new(&column.name, &histogram.to_json(&column.ty).to_text())
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
    if !columns.is_empty() {
        let types: Vec<&ColumnType> = columns.iter().map(|column| &table.columns[*column].ty).collect();
        let rows = context.instance.engine.table_statistics(table).rows;
        let needed: u64 = types.iter().map(|ty| Counter::value_bytes(ty)).sum::<u64>().saturating_mul(rows);
        let memory = context.settings.histogram_bytes;
        let rate = if needed <= memory { 1.0 } else { memory as f64 / needed as f64 };
        let mut counters: Vec<Counter> = types.iter().map(|ty| Counter::new(ty)).collect();
        let mut wanted = ColumnSet::first(0);
        columns.iter().for_each(|column| wanted.insert(*column));
        let mut number = 0_u64;
        each_row(context, &mut trx, table, wanted, &mut |row| {
            number += 1;
            if rate < 1.0 && !is_taken(number, rate) {
                return;
            }
            for (counter, column) in counters.iter_mut().zip(&columns) {
                counter.add(row.get(*column));
            }
        })?;
        let now = now();
        let made = columns
            .iter()
            .zip(counters)
            .map(|(column, counter)| stored(table, *column, &counter.finish(asked, rate, now)));
        put(context, table, made.collect())?;
        for column in columns {
            let name = &table.columns[column].name;
            let text = format!("Histogram statistics created for column '{name}'.");
            said.insert((name.to_lowercase(), "status", text));
        }
    }
    said.iter().for_each(|(_, kind, text)| answer.say(kind, text));
    Ok(())
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
    let kept = table.state.statistics.histograms();
    let is_dropped = |histogram: &Arc<Stored>| names.iter().any(|name| storage::same_name(name, &histogram.column));
    let left: Histograms = kept.iter().filter(|histogram| !is_dropped(histogram)).cloned().collect();
    if left.len() < kept.len() {
        context.instance.engine.set_histograms(table, left, &context.wait).map_err(storage_error)?;
    }
    let mut names: Vec<&String> = names.iter().collect();
    names.sort_by_key(|name| name.to_lowercase());
    for name in names {
        match kept.iter().find(|histogram| storage::same_name(name, &histogram.column)) {
            Some(found) => {
                answer.say("status", &format!("Histogram statistics removed for column '{}'.", found.column));
            }
            None => answer.say("Error", &format!("No histogram statistics found for column '{name}'.")),
        }
    }
    Ok(())
}
