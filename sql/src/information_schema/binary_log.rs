//! The binary log in performance_schema: what compression saves.

use binlog::Stats;
use binlog::stats::{Counted, Sum};
use format::value::{ColumnType, DateTime, Value};

use super::{Facts, VirtualColumn, VirtualTable, int, number, string, text};

/// A column of a moment, to the microsecond.
const fn moment(name: &'static str) -> VirtualColumn {
    VirtualColumn { name, ty: ColumnType::DateTime { fsp: 6 }, nullable: true }
}

fn transaction(facts: &Facts<'_>, one: &Counted) -> [Value; 4] {
    let name = one.gtid.map_or("ANONYMOUS".to_owned(), |gtid| gtid.to_string());
    let at = DateTime::from_unix_micros(one.micros as i64, facts.zone).unwrap_or(DateTime::ZERO);
    [string(name), Value::UInt(one.bytes), Value::UInt(one.plain_bytes), Value::DateTime(at)]
}

fn row(facts: &Facts<'_>, log: &str, kind: &str, sum: &Sum) -> Vec<Value> {
    let mut row = vec![
        string(log),
        string(kind),
        Value::UInt(sum.transactions),
        Value::UInt(sum.bytes),
        Value::UInt(sum.plain_bytes),
        Value::Int(sum.percentage()),
    ];
    row.extend(transaction(facts, &sum.first));
    row.extend(transaction(facts, &sum.last));
    row
}

/// A row for each log and kind of compression that there was a transaction of.
pub const TRANSACTION_COMPRESSION_STATS: VirtualTable = VirtualTable {
    name: "binary_log_transaction_compression_stats",
    columns: &[
        text("LOG_TYPE", 6),
        text("COMPRESSION_TYPE", 64),
        number("TRANSACTION_COUNTER"),
        number("COMPRESSED_BYTES_COUNTER"),
        number("UNCOMPRESSED_BYTES_COUNTER"),
        int("COMPRESSION_PERCENTAGE"),
        text("FIRST_TRANSACTION_ID", 64),
        number("FIRST_TRANSACTION_COMPRESSED_BYTES"),
        number("FIRST_TRANSACTION_UNCOMPRESSED_BYTES"),
        moment("FIRST_TRANSACTION_TIMESTAMP"),
        text("LAST_TRANSACTION_ID", 64),
        number("LAST_TRANSACTION_COMPRESSED_BYTES"),
        number("LAST_TRANSACTION_UNCOMPRESSED_BYTES"),
        moment("LAST_TRANSACTION_TIMESTAMP"),
    ],
    rows: |facts| {
        let status = &facts.instance.status;
        let logs = [("BINARY", status.log().map(|log| &**log)), ("RELAY", Some(&status.relay_log))];
        let rows = logs.into_iter().flat_map(|(log, stats)| {
            let sums = stats.map_or([None; 2], Stats::sums);
            [("ZSTD", sums[0]), ("NONE", sums[1])].map(|(kind, sum)| sum.map(|sum| row(facts, log, kind, &sum)))
        });
        rows.flatten().collect()
    },
};
