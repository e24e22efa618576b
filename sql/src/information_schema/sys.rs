//! The schema `sys`: the views of it that people and tools use, made of the same facts as the tables beneath.
//!
//! A view and its twin `x$...` have the same columns; the first shows times with units and shortened texts, the other
//! picoseconds and whole texts.

use format::value::{ColumnType, DateTime, Value};

use super::locks::SYS_INNODB_LOCK_WAITS;
use super::{Facts, VirtualColumn, VirtualTable, long_text, number, optional, string, text, yes};
use crate::processlist::ProcessRow;
use crate::statements::digest::hex;
use crate::statements::redact::redacted;
use crate::statements::sums::time_with_unit;
use crate::statements::{Event, Identity, Sums};
use crate::types::SqlMode;

/// The version of MySQL's sys schema whose columns these are.
const SYS_VERSION: &str = "2.1.2";
/// `sys_config.statement_truncate_len`.
const TEXT_CHARS: usize = 64;
const PICOS: u64 = 1000;

pub const VERSION: VirtualTable = VirtualTable {
    name: "version",
    columns: &[text("sys_version", 5), text("mysql_version", 64)],
    rows: |facts| vec![vec![string(SYS_VERSION), string(facts.instance.variables.text("version"))]],
};

pub const X_INNODB_LOCK_WAITS: VirtualTable = VirtualTable { name: "x$innodb_lock_waits", ..SYS_INNODB_LOCK_WAITS };

const fn moment(name: &'static str) -> VirtualColumn {
    VirtualColumn { name, ty: ColumnType::DateTime { fsp: 6 }, nullable: true }
}

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

/// The beginning and the end of a long text.
fn shortened(text: &str) -> String {
    let text = text.replace('\n', " ");
    let count = text.chars().count();
    if count <= TEXT_CHARS {
        return text;
    }
    let half = TEXT_CHARS / 2 - 2;
    let (head, tail): (String, String) = (text.chars().take(half).collect(), text.chars().skip(count - half).collect());
    format!("{head} ... {tail}")
}

macro_rules! statement_analysis {
    ($time:expr) => {
        &[
            long_text("query"),
            text("db", 64),
            text("full_scan", 1),
            number("exec_count"),
            number("err_count"),
            number("warn_count"),
            $time("total_latency"),
            $time("max_latency"),
            $time("avg_latency"),
            $time("lock_latency"),
            $time("cpu_latency"),
            number("rows_sent"),
            number("rows_sent_avg"),
            number("rows_examined"),
            number("rows_examined_avg"),
            number("rows_affected"),
            number("rows_affected_avg"),
            number("tmp_tables"),
            number("tmp_disk_tables"),
            number("rows_sorted"),
            number("sort_merge_passes"),
            text("max_controlled_memory", 11),
            text("max_total_memory", 11),
            text("digest", 64),
            moment("first_seen"),
            moment("last_seen"),
        ]
    };
}

const fn shown_time(name: &'static str) -> VirtualColumn {
    text(name, 17)
}

pub const STATEMENT_ANALYSIS: VirtualTable = VirtualTable {
    name: "statement_analysis",
    columns: statement_analysis!(shown_time),
    rows: |facts| statement_analysis(facts, Form::ForPeople),
};

pub const X_STATEMENT_ANALYSIS: VirtualTable = VirtualTable {
    name: "x$statement_analysis",
    columns: statement_analysis!(number),
    rows: |facts| statement_analysis(facts, Form::Raw),
};

fn statement_analysis(facts: &Facts<'_>, form: Form) -> Vec<Vec<Value>> {
    let mut sums = facts.instance.statements.sums();
    sums.sort_by_key(|(_, sums)| std::cmp::Reverse(sums.wait));
    sums.iter().map(|(identity, sums)| analysis_row(facts, form, identity.as_deref(), sums)).collect()
}

fn analysis_row(facts: &Facts<'_>, form: Form, identity: Option<&Identity>, sums: &Sums) -> Vec<Value> {
    let (work, count) = (&sums.work, sums.count.max(1));
    let average = |total: u64| Value::UInt((total + count / 2) / count);
    let started = facts.instance.started_wall.duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    let wall = |nanos: u64| {
        let micros = started.as_micros() as i64 + (nanos / 1000) as i64;
        DateTime::from_unix_micros(micros, facts.zone).map_or(Value::Null, Value::DateTime)
    };
    vec![
        identity.map_or(Value::Null, |identity| form.text(&identity.text)),
        optional(identity.and_then(|identity| identity.schema.as_ref())),
        string(if work.no_index_used > 0 { "*" } else { "" }),
        Value::UInt(sums.count),
        Value::UInt(work.errors),
        Value::UInt(work.warnings),
        form.time(sums.wait),
        form.time(sums.wait_max),
        form.time(sums.wait / count),
        form.time(sums.lock),
        form.time(sums.cpu),
        Value::UInt(work.rows_sent),
        average(work.rows_sent),
        Value::UInt(work.rows_examined),
        average(work.rows_examined),
        Value::UInt(work.rows_affected),
        average(work.rows_affected),
        Value::UInt(0),
        Value::UInt(0),
        Value::UInt(work.sort_rows),
        Value::UInt(0),
        string(if form == Form::Raw { "0" } else { "0 bytes" }),
        string(if form == Form::Raw { "0" } else { "0 bytes" }),
        optional(identity.map(|identity| hex(&identity.hash))),
        wall(sums.first_seen),
        wall(sums.last_seen),
    ]
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

/// All threads that have a name are connections, so `session` and `processlist` are the same.
macro_rules! processes {
    ($($table:ident $name:literal $time:ident $form:ident),*) => {
        $(pub const $table: VirtualTable = VirtualTable {
            name: $name,
            columns: processlist!($time),
            rows: |facts| processes(facts, Form::$form),
        };)*
    };
}

processes! {
    PROCESSLIST "processlist" shown_time ForPeople,
    X_PROCESSLIST "x$processlist" number Raw,
    SESSION "session" shown_time ForPeople,
    X_SESSION "x$session" number Raw
}

fn processes(facts: &Facts<'_>, form: Form) -> Vec<Vec<Value>> {
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
    instance.processes.list().into_iter().map(row).collect()
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
    fn times_and_texts_are_shown_as_mysql_shows_them() {
        for (picos, expected) in [
            (0.0, "0 ps"),
            (999.0, "999 ps"),
            (3501.0, "3.50 ns"),
            (188_732_396_662_000.0, "3.15 m"),
            (604_800e12, "1.00 w"),
        ] {
            assert_eq!(time_with_unit(picos), expected);
        }
        assert_eq!(shortened("SELECT\n1"), "SELECT 1");
        let long = format!("{}{}", "a".repeat(40), "b".repeat(40));
        assert_eq!(shortened(&long), format!("{} ... {}", "a".repeat(30), "b".repeat(30)));
    }
}
