//! PARTITIONS: how the rows of each table are divided, and how many there are in each part.

use std::sync::atomic::Ordering;

use format::value::Value;
use storage::Table;

use super::catalog::moment;
use super::wanted::stored_tables;
use super::{Facts, VirtualTable, exact, long_exact, number, optional, small, string, text, time};
use crate::parser::ast::PartitionBy;
use crate::partitions::{print, rule_of};

pub const PARTITIONS: VirtualTable = VirtualTable {
    name: "PARTITIONS",
    columns: &[
        exact("TABLE_CATALOG", 64),
        exact("TABLE_SCHEMA", 64),
        exact("TABLE_NAME", 64),
        small("PARTITION_NAME", 64),
        small("SUBPARTITION_NAME", 64),
        number("PARTITION_ORDINAL_POSITION"),
        number("SUBPARTITION_ORDINAL_POSITION"),
        text("PARTITION_METHOD", 13),
        text("SUBPARTITION_METHOD", 13),
        exact("PARTITION_EXPRESSION", 2048),
        exact("SUBPARTITION_EXPRESSION", 2048),
        long_exact("PARTITION_DESCRIPTION"),
        number("TABLE_ROWS"),
        number("AVG_ROW_LENGTH"),
        number("DATA_LENGTH"),
        number("MAX_DATA_LENGTH"),
        number("INDEX_LENGTH"),
        number("DATA_FREE"),
        time("CREATE_TIME"),
        time("UPDATE_TIME"),
        time("CHECK_TIME"),
        number("CHECKSUM"),
        long_exact("PARTITION_COMMENT"),
        text("NODEGROUP", 256),
        exact("TABLESPACE_NAME", 268),
    ],
    rows: |facts| {
        let mut rows = Vec::new();
        for table in stored_tables(facts) {
            // A rule that cannot be read is told to who uses the table.
            match rule_of(&table) {
                Ok(Some(by)) => rows_of(facts, &table, &print::expanded(&by), &mut rows),
                _ => rows.push(row(facts, &table, &table, Place::default())),
            }
        }
        rows
    },
};

/// What a row says of the division.
#[derive(Default)]
struct Place {
    name: Option<String>,
    sub_name: Option<String>,
    at: Option<u64>,
    sub_at: Option<u64>,
    method: Option<String>,
    sub_method: Option<String>,
    expression: Option<String>,
    sub_expression: Option<String>,
    description: Option<String>,
    comment: String,
}

fn rows_of(facts: &Facts<'_>, table: &Table, by: &PartitionBy, rows: &mut Vec<Vec<Value>>) {
    let method = print::method_name(&by.method).to_owned();
    let expression = print::expression(&by.method).ok();
    let mut files = table.partitions().iter();
    for (at, definition) in (1..).zip(&by.definitions) {
        let place = |options: &crate::parser::ast::PartitionOptions| Place {
            name: Some(definition.name.clone()),
            at: Some(at),
            method: Some(method.clone()),
            expression: expression.clone(),
            description: print::description(definition).ok().flatten(),
            comment: options.comment.clone().or_else(|| definition.options.comment.clone()).unwrap_or_default(),
            ..Place::default()
        };
        if definition.subpartitions.is_empty() {
            let Some(file) = files.next() else { return };
            rows.push(row(facts, table, file, place(&definition.options)));
        }
        for (sub_at, sub) in (1..).zip(&definition.subpartitions) {
            let Some(file) = files.next() else { return };
            let own = by.subpartition.as_ref();
            rows.push(row(
                facts,
                table,
                file,
                Place {
                    sub_name: Some(sub.name.clone()),
                    sub_at: Some(sub_at),
                    sub_method: own.map(|own| print::method_name(&own.method).to_owned()),
                    sub_expression: own.and_then(|own| print::expression(&own.method).ok()),
                    ..place(&sub.options)
                },
            ));
        }
    }
}

fn row(facts: &Facts<'_>, table: &Table, file: &Table, place: Place) -> Vec<Value> {
    let engine = &facts.instance.engine;
    let statistics = engine.table_statistics(file);
    let divided = place.name.is_some();
    vec![
        string("def"),
        string(&table.database),
        string(&table.name),
        optional(place.name),
        optional(place.sub_name),
        place.at.map_or(Value::Null, Value::UInt),
        place.sub_at.map_or(Value::Null, Value::UInt),
        optional(place.method),
        optional(place.sub_method),
        optional(place.expression),
        optional(place.sub_expression),
        optional(place.description),
        Value::UInt(statistics.rows),
        Value::UInt(statistics.data_bytes.checked_div(statistics.rows).unwrap_or(0)),
        Value::UInt(statistics.data_bytes),
        Value::UInt(0),
        Value::UInt(statistics.index_bytes),
        Value::UInt(engine.free_bytes(file)),
        moment(facts, file.created_us),
        moment(facts, file.state.updated_us.load(Ordering::Relaxed)),
        Value::Null,
        Value::Null,
        string(place.comment),
        string(if divided { "default" } else { "" }),
        Value::Null,
    ]
}
