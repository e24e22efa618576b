//! The schema `sys`: what of it is no query over other tables ([`super::sys_views`]), made of the same facts as the tables
//! beneath.
//!
//! A view and its twin `x$...` have the same columns; the first shows times with units and shortened texts, the other
//! picoseconds and whole texts.

use format::value::Value;

use super::locks::SYS_INNODB_LOCK_WAITS;
use super::{Facts, VirtualColumn, VirtualTable, long_text, number, optional, string, text, time, yes};
use crate::expression::functions::sys::{STATEMENT_CHARS, shortened};
use crate::processlist::ProcessRow;
use crate::statements::Event;
use crate::statements::redact::redacted;
use crate::statements::sums::time_with_unit;
use crate::types::SqlMode;

/// The version of MySQL's sys schema whose columns these are.
const SYS_VERSION: &str = "2.1.2";
const PICOS: u64 = 1000;

pub const VERSION: VirtualTable = VirtualTable {
    name: "version",
    columns: &[text("sys_version", 5), text("mysql_version", 64)],
    rows: |facts| vec![vec![string(SYS_VERSION), string(facts.instance.variables.text("version"))]],
};

/// What can be configured; the values are fixed.
pub const SYS_CONFIG: VirtualTable = VirtualTable {
    name: "sys_config",
    columns: &[text("variable", 128), text("value", 128), time("set_time"), text("set_by", 128)],
    rows: |_| {
        let value = string(STATEMENT_CHARS.to_string());
        vec![vec![string("statement_truncate_len"), value, Value::Null, Value::Null]]
    },
};

pub const X_INNODB_LOCK_WAITS: VirtualTable = VirtualTable { name: "x$innodb_lock_waits", ..SYS_INNODB_LOCK_WAITS };

/// How a view shows its times and texts.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    ForPeople,
    Raw,
}

impl Form {
    fn time(self, nanos: u64) -> Value {
        match self {
            Form::ForPeople => string(time_with_unit(nanos as f64 * PICOS as f64)),
            Form::Raw => Value::UInt(nanos.saturating_mul(PICOS)),
        }
    }

    fn text(self, text: &str) -> Value {
        match self {
            Form::ForPeople => string(shortened(text)),
            Form::Raw => string(text),
        }
    }
}

const fn shown_time(name: &'static str) -> VirtualColumn {
    text(name, 17)
}

macro_rules! processlist {
    ($time:expr) => {
        &[
            number("thd_id"),
            number("conn_id"),
            text("user", 288),
            text("db", 64),
            text("command", 16),
            text("state", 64),
            number("time"),
            long_text("current_statement"),
            text("execution_engine", 9),
            $time("statement_latency"),
            number("progress"),
            $time("lock_latency"),
            $time("cpu_latency"),
            number("rows_examined"),
            number("rows_sent"),
            number("rows_affected"),
            number("tmp_tables"),
            number("tmp_disk_tables"),
            text("full_scan", 3),
            long_text("last_statement"),
            $time("last_statement_latency"),
            text("current_memory", 11),
            text("last_wait", 128),
            text("last_wait_latency", 17),
            text("source", 64),
            $time("trx_latency"),
            text("trx_state", 11),
            text("trx_autocommit", 3),
            text("pid", 1024),
            text("program_name", 1024),
        ]
    };
}

/// All threads that have a name are connections; `session` leaves out the server's own.
macro_rules! processes {
    ($($table:ident $name:literal $time:ident $form:ident $all:literal),*) => {
        $(pub const $table: VirtualTable = VirtualTable {
            name: $name,
            columns: processlist!($time),
            rows: |facts| processes(facts, Form::$form, $all),
        };)*
    };
}

processes! {
    PROCESSLIST "processlist" shown_time ForPeople true,
    X_PROCESSLIST "x$processlist" number Raw true,
    SESSION "session" shown_time ForPeople false,
    X_SESSION "x$session" number Raw false
}

fn processes(facts: &Facts<'_>, form: Form, all: bool) -> Vec<Vec<Value>> {
    let instance = facts.instance;
    let events = instance.statements.events(true);
    let attributes = instance.processes.all();
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    let now_us = now.as_micros() as u64;
    let row = |process: ProcessRow| {
        let id = u64::from(process.id);
        let last = events.iter().find(|(thread, _)| *thread == id).map(|(_, event)| event);
        let attribute = |name: &str| {
            let own = attributes.iter().find(|other| other.id == process.id)?.attributes();
            own.into_iter().find(|(known, _)| known == name).map(|(_, value)| value)
        };
        process_row(form, &process, last, now_us, [attribute("_pid"), attribute("program_name")])
    };
    instance.processes.list().into_iter().filter(|process| all || process.command != "Daemon").map(row).collect()
}

fn process_row(
    form: Form,
    process: &ProcessRow,
    last: Option<&Event>,
    now_us: u64,
    client: [Option<String>; 2],
) -> Vec<Value> {
    let is_running = process.command != "Sleep";
    let shown = |text: &[u8]| {
        let text = redacted(text, SqlMode::default()).unwrap_or_else(|| text.to_vec());
        form.text(&String::from_utf8_lossy(&text))
    };
    let running = process.info.as_ref().filter(|_| is_running).map(|info| shown(info.as_bytes()));
    // What is counted, is counted when a statement ends.
    let ended = last.filter(|_| !is_running);
    let counted = |count: fn(&Event) -> u64| ended.map_or(Value::Null, |event| Value::UInt(count(event)));
    let timed = |time: fn(&Event) -> u64| ended.map_or(Value::Null, |event| form.time(time(event)));
    let host = process.host.rsplit_once(':').map_or(process.host.as_str(), |(host, _)| host);
    let [pid, program] = client;
    let trx = process.transaction;
    vec![
        Value::UInt(process.id.into()),
        Value::UInt(process.id.into()),
        string(format!("{}@{host}", process.user)),
        optional(process.database.as_ref()),
        string(process.command),
        optional(Some(process.state).filter(|state| !state.is_empty())),
        Value::UInt(process.seconds),
        running.unwrap_or(Value::Null),
        string("PRIMARY"),
        if is_running { form.time((process.elapsed_ms * 1e6) as u64) } else { Value::Null },
        Value::Null,
        timed(|event| event.timing.lock),
        timed(|event| event.timing.cpu),
        counted(|event| event.work.rows_examined),
        counted(|event| event.work.rows_sent),
        counted(|event| event.work.rows_affected),
        counted(|_| 0),
        counted(|_| 0),
        ended.map_or(Value::Null, |event| yes(event.work.no_index_used > 0)),
        ended.map_or(Value::Null, |event| shown(&event.text)),
        timed(|event| event.timing.wait),
        string(if form == Form::Raw { "0" } else { "0 bytes" }),
        Value::Null,
        Value::Null,
        Value::Null,
        trx.map_or(Value::Null, |trx| form.time(now_us.saturating_sub(trx.since_us).saturating_mul(1000))),
        trx.map_or(Value::Null, |_| string("ACTIVE")),
        trx.map_or(Value::Null, |_| yes(false)),
        optional(pid),
        optional(program),
    ]
}

/// Secondary indexes that are not unique, and by which no statement has found rows since the server's start.
pub const SCHEMA_UNUSED_INDEXES: VirtualTable = VirtualTable {
    name: "schema_unused_indexes",
    columns: &[text("object_schema", 64), text("object_name", 64), text("index_name", 64)],
    rows: |facts| {
        let engine = &facts.instance.engine;
        let mut rows = Vec::new();
        for database in engine.databases() {
            for table in engine.tables(&database.name) {
                let unused = table.indexes.iter().skip(1).filter(|index| {
                    !index.unique
                        && !index.is_hidden()
                        && !facts.instance.statements.has_used_index(&table.database, &table.name, &index.name)
                });
                rows.extend(
                    unused.map(|index| vec![string(&*table.database), string(&*table.name), string(&*index.name)]),
                );
            }
        }
        rows
    },
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_shown_as_mysql_shows_them() {
        for (picos, expected) in [
            (0.0, "0 ps"),
            (999.0, "999 ps"),
            (3501.0, "3.50 ns"),
            (188_732_396_662_000.0, "3.15 m"),
            (604_800e12, "1.00 w"),
        ] {
            assert_eq!(time_with_unit(picos), expected);
        }
    }
}
