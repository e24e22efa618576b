//! Reads and changes of rows, by table and by index.
//!
//! Rows are counted where transactions find and change them; times are not measured, so they are 0, as in MySQL where an
//! instrument is not TIMED. Rows that a walk over a whole table found, and all changes, belong to no index.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use format::value::Value;
use storage::Table;

use super::{Facts, VirtualColumn, VirtualTable, number, string, text};
use crate::instance::Instance;

/// What is counted for each row.
pub const TABLE_EVENT: &str = "wait/io/table/sql/handler";

/// Times of a kind of operation: the sum, the least, the average, the most.
macro_rules! table_io {
    ($($name:expr),*) => {
        &[
            $($name,)*
            number("COUNT_STAR"),
            number("SUM_TIMER_WAIT"),
            number("MIN_TIMER_WAIT"),
            number("AVG_TIMER_WAIT"),
            number("MAX_TIMER_WAIT"),
            number("COUNT_READ"),
            number("SUM_TIMER_READ"),
            number("MIN_TIMER_READ"),
            number("AVG_TIMER_READ"),
            number("MAX_TIMER_READ"),
            number("COUNT_WRITE"),
            number("SUM_TIMER_WRITE"),
            number("MIN_TIMER_WRITE"),
            number("AVG_TIMER_WRITE"),
            number("MAX_TIMER_WRITE"),
            number("COUNT_FETCH"),
            number("SUM_TIMER_FETCH"),
            number("MIN_TIMER_FETCH"),
            number("AVG_TIMER_FETCH"),
            number("MAX_TIMER_FETCH"),
            number("COUNT_INSERT"),
            number("SUM_TIMER_INSERT"),
            number("MIN_TIMER_INSERT"),
            number("AVG_TIMER_INSERT"),
            number("MAX_TIMER_INSERT"),
            number("COUNT_UPDATE"),
            number("SUM_TIMER_UPDATE"),
            number("MIN_TIMER_UPDATE"),
            number("AVG_TIMER_UPDATE"),
            number("MAX_TIMER_UPDATE"),
            number("COUNT_DELETE"),
            number("SUM_TIMER_DELETE"),
            number("MIN_TIMER_DELETE"),
            number("AVG_TIMER_DELETE"),
            number("MAX_TIMER_DELETE"),
        ]
    };
}

const BY_TABLE: &[VirtualColumn] =
    table_io!(text("OBJECT_TYPE", 64), text("OBJECT_SCHEMA", 64), text("OBJECT_NAME", 64));
const BY_INDEX: &[VirtualColumn] =
    table_io!(text("OBJECT_TYPE", 64), text("OBJECT_SCHEMA", 64), text("OBJECT_NAME", 64), text("INDEX_NAME", 64));

/// Tables of users.
fn tables(instance: &Instance) -> Vec<Arc<Table>> {
    let engine = &instance.engine;
    let databases = engine.databases();
    let shown = databases.iter().filter(|database| !super::is_virtual(&database.name));
    shown.flat_map(|database| engine.tables(&database.name)).collect()
}

fn changes(table: &Table) -> [u64; 3] {
    std::array::from_fn(|kind| table.state.changes[kind].load(Ordering::Relaxed))
}

fn row(table: &Table, index: Option<Option<&str>>, reads: u64, [inserts, updates, deletes]: [u64; 3]) -> Vec<Value> {
    let mut row = vec![string("TABLE"), string(&*table.database), string(&*table.name)];
    row.extend(index.map(super::optional));
    let writes = inserts + updates + deletes;
    for count in [reads + writes, reads, writes, reads, inserts, updates, deletes] {
        row.push(Value::UInt(count));
        row.extend([0; 4].map(Value::UInt));
    }
    row
}

fn is_collected(facts: &Facts<'_>) -> bool {
    facts.instance.statements.limits().enabled
}

pub const TABLE_IO_BY_TABLE: VirtualTable = VirtualTable {
    name: "table_io_waits_summary_by_table",
    columns: BY_TABLE,
    rows: |facts| {
        let tables = tables(facts.instance).into_iter().filter(|_| is_collected(facts));
        tables.map(|table| row(&table, None, table.reads().sum(), changes(&table))).collect()
    },
};

pub const TABLE_IO_BY_INDEX: VirtualTable = VirtualTable {
    name: "table_io_waits_summary_by_index_usage",
    columns: BY_INDEX,
    rows: |facts| {
        let mut rows = Vec::new();
        for table in tables(facts.instance).into_iter().filter(|_| is_collected(facts)) {
            for (at, index) in table.indexes.iter().enumerate().filter(|(at, index)| *at == 0 || !index.is_hidden()) {
                if at > 0 || index.primary {
                    rows.push(row(&table, Some(Some(&index.name)), table.reads().get(Some(at)), [0; 3]));
                }
            }
            let of_no_index = match table.indexes[0].primary {
                true => table.reads().get(None),
                false => table.reads().get(None) + table.reads().get(Some(0)),
            };
            rows.push(row(&table, Some(None), of_no_index, changes(&table)));
        }
        rows
    },
};

/// How many rows of all tables were read or changed.
pub fn sum(instance: &Instance) -> u64 {
    tables(instance).iter().map(|table| table.reads().sum() + changes(table).iter().sum::<u64>()).sum()
}

/// TRUNCATE TABLE of one of these tables.
pub fn forget(instance: &Instance) {
    for table in tables(instance) {
        table.reads().clear();
        table.state.changes.iter().for_each(|counter| counter.store(0, Ordering::Relaxed));
    }
}

pub const OBJECTS_SUMMARY: VirtualTable = VirtualTable {
    name: "objects_summary_global_by_type",
    columns: &[
        text("OBJECT_TYPE", 64),
        text("OBJECT_SCHEMA", 64),
        text("OBJECT_NAME", 64),
        number("COUNT_STAR"),
        number("SUM_TIMER_WAIT"),
        number("MIN_TIMER_WAIT"),
        number("AVG_TIMER_WAIT"),
        number("MAX_TIMER_WAIT"),
    ],
    rows: |facts| {
        let tables = tables(facts.instance).into_iter().filter(|_| is_collected(facts));
        tables.map(|table| row(&table, None, table.reads().sum(), changes(&table))[..8].to_vec()).collect()
    },
};
