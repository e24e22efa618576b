//! The logs of statements as tables: `mysql.slow_log` and `mysql.general_log`, which `log_output=TABLE` fills.

use format::collation::CollationId;
use format::value::{ColumnType, DateTime, LobSize, Time, Value};

use super::{Facts, VirtualColumn, VirtualTable, int, long_text, number, string, text};
use crate::instance::Instance;

const MOMENT: ColumnType = ColumnType::Timestamp { fsp: 6 };
const STATEMENT: ColumnType = ColumnType::Text { size: LobSize::Medium, collation: CollationId::BINARY };

const fn column(name: &'static str, ty: ColumnType) -> VirtualColumn {
    VirtualColumn { name, ty, nullable: false }
}

/// A number of an entry.
fn count(field: &[u8]) -> u64 {
    std::str::from_utf8(field).ok().and_then(|text| text.parse().ok()).unwrap_or(0)
}

fn moment(facts: &Facts<'_>, field: &[u8]) -> Value {
    DateTime::from_unix_micros(count(field) as i64, facts.zone).map_or(Value::Null, Value::DateTime)
}

fn duration(field: &[u8]) -> Value {
    Value::Time(Time::from_micros(count(field) as i64).0)
}

fn words(field: &[u8]) -> Value {
    string(String::from_utf8_lossy(field))
}

pub const SLOW_LOG: VirtualTable = VirtualTable {
    name: "slow_log",
    columns: &[
        column("start_time", MOMENT),
        long_text("user_host"),
        column("query_time", ColumnType::Time { fsp: 6 }),
        column("lock_time", ColumnType::Time { fsp: 6 }),
        int("rows_sent"),
        int("rows_examined"),
        text("db", 512),
        int("last_insert_id"),
        int("insert_id"),
        number("server_id"),
        column("sql_text", STATEMENT),
        number("thread_id"),
    ],
    rows: |facts| {
        let row = |entry: Vec<Vec<u8>>| {
            let [began, who, wait, lock, sent, examined, database, server, statement, thread] = &entry[..] else {
                return None;
            };
            Some(vec![
                moment(facts, began),
                words(who),
                duration(wait),
                duration(lock),
                Value::Int(count(sent) as i64),
                Value::Int(count(examined) as i64),
                words(database),
                // Which values INSERT has made is not logged.
                Value::Int(0),
                Value::Int(0),
                Value::UInt(count(server)),
                Value::Bytes(statement.clone()),
                Value::UInt(count(thread)),
            ])
        };
        facts.instance.slow_log_table.read().into_iter().filter_map(row).collect()
    },
};

pub const GENERAL_LOG: VirtualTable = VirtualTable {
    name: "general_log",
    columns: &[
        column("event_time", MOMENT),
        long_text("user_host"),
        number("thread_id"),
        number("server_id"),
        text("command_type", 64),
        column("argument", STATEMENT),
    ],
    rows: |facts| {
        let row = |entry: Vec<Vec<u8>>| {
            let [at, who, thread, server, command, statement] = &entry[..] else { return None };
            let (thread, server) = (Value::UInt(count(thread)), Value::UInt(count(server)));
            Some(vec![moment(facts, at), words(who), thread, server, words(command), Value::Bytes(statement.clone())])
        };
        facts.instance.general_log_table.read().into_iter().filter_map(row).collect()
    },
};

/// TRUNCATE TABLE of one of them.
pub fn clear_slow_log(instance: &Instance) {
    instance.slow_log_table.clear();
}

pub fn clear_general_log(instance: &Instance) {
    instance.general_log_table.clear();
}
