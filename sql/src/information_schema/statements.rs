//! Statements in performance_schema: their digests, the last ones of each session, and what is collected of them.

use std::sync::Arc;

use format::collation::CollationId;
use format::value::{ColumnType, DateTime, LobSize, Value};

use super::files::FILE_EVENTS;
use super::memory::memory_events;
use super::table_io::TABLE_EVENT;
use super::{Facts, VirtualColumn, VirtualTable, long_text, number, optional, string, text, yes};
use crate::processlist::ProcessRow;
use crate::statements::digest::hex;
use crate::statements::event_names::{event_name, event_names};
use crate::statements::redact::redacted;
use crate::statements::{CONSUMERS, Event, Identity, Sums, Timing, Work};
use crate::types::SqlMode;

/// Times are shown in picoseconds.
const PICOS: u64 = 1000;

/// What is counted of errors.
const ERROR_EVENT: &str = "error";

/// The waits for names that `metadata_locks` shows.
const METADATA_LOCK_EVENT: &str = "wait/lock/metadata/sql/mdl";

pub const fn moment(name: &'static str) -> VirtualColumn {
    VirtualColumn { name, ty: ColumnType::DateTime { fsp: 6 }, nullable: true }
}

const fn text_of_statement(name: &'static str) -> VirtualColumn {
    VirtualColumn {
        name,
        ty: ColumnType::Text { size: LobSize::Long, collation: CollationId::UTF8MB4_GENERAL_CI },
        nullable: true,
    }
}

pub fn picos(nanos: u64) -> Value {
    Value::UInt(nanos.saturating_mul(PICOS))
}

/// A statement's text as others may read it.
fn shown(text: &[u8]) -> Value {
    Value::Bytes(redacted(text, SqlMode::default()).unwrap_or_else(|| text.to_vec()))
}

pub const SETUP_CONSUMERS: VirtualTable = VirtualTable {
    name: "setup_consumers",
    columns: &[text("NAME", 64), text("ENABLED", 3)],
    rows: |facts| {
        let statements = &facts.instance.statements;
        let consumers = CONSUMERS.iter().filter(|_| statements.limits().enabled);
        consumers.map(|consumer| vec![string(consumer.name), yes(statements.is_enabled(consumer))]).collect()
    },
};

/// Whether times are measured for an instrument.
pub fn is_timed_instrument(name: &str) -> bool {
    name != TABLE_EVENT && name != ERROR_EVENT && !name.starts_with("memory/")
}

pub const SETUP_INSTRUMENTS: VirtualTable = VirtualTable {
    name: "setup_instruments",
    columns: &[
        text("NAME", 128),
        text("ENABLED", 3),
        text("TIMED", 3),
        text("PROPERTIES", 64),
        text("FLAGS", 64),
        number("VOLATILITY"),
        long_text("DOCUMENTATION"),
    ],
    rows: |facts| {
        let mut names = event_names();
        names.extend(FILE_EVENTS.iter().copied().chain(memory_events()));
        names.extend([METADATA_LOCK_EVENT, TABLE_EVENT, ERROR_EVENT]);
        names.sort_unstable();
        let row = |name: &str| {
            let is_memory = name.starts_with("memory/");
            let timed = if is_memory { Value::Null } else { yes(is_timed_instrument(name)) };
            let properties = string(if is_memory { "global_statistics" } else { "" });
            vec![string(name), yes(true), timed, properties, Value::Null, Value::UInt(0), Value::Null]
        };
        names.into_iter().filter(|_| facts.instance.statements.limits().enabled).map(row).collect()
    },
};

/// Columns of what statements did together, between others: the order is that of [`work`] from SUM_ERRORS on.
macro_rules! summed {
    ([$($before:expr,)*] [$($behind:expr,)*]) => {
        &[
            $($before,)*
            number("COUNT_STAR"),
            number("SUM_TIMER_WAIT"),
            number("MIN_TIMER_WAIT"),
            number("AVG_TIMER_WAIT"),
            number("MAX_TIMER_WAIT"),
            number("SUM_LOCK_TIME"),
            number("SUM_ERRORS"),
            number("SUM_WARNINGS"),
            number("SUM_ROWS_AFFECTED"),
            number("SUM_ROWS_SENT"),
            number("SUM_ROWS_EXAMINED"),
            number("SUM_CREATED_TMP_DISK_TABLES"),
            number("SUM_CREATED_TMP_TABLES"),
            number("SUM_SELECT_FULL_JOIN"),
            number("SUM_SELECT_FULL_RANGE_JOIN"),
            number("SUM_SELECT_RANGE"),
            number("SUM_SELECT_RANGE_CHECK"),
            number("SUM_SELECT_SCAN"),
            number("SUM_SORT_MERGE_PASSES"),
            number("SUM_SORT_RANGE"),
            number("SUM_SORT_ROWS"),
            number("SUM_SORT_SCAN"),
            number("SUM_NO_INDEX_USED"),
            number("SUM_NO_GOOD_INDEX_USED"),
            number("SUM_CPU_TIME"),
            number("MAX_CONTROLLED_MEMORY"),
            number("MAX_TOTAL_MEMORY"),
            number("COUNT_SECONDARY"),
            $($behind,)*
        ]
    };
}
pub(super) use summed;

pub const STATEMENTS_BY_DIGEST: VirtualTable = VirtualTable {
    name: "events_statements_summary_by_digest",
    columns: summed!(
        [text("SCHEMA_NAME", 64), text("DIGEST", 64), long_text("DIGEST_TEXT"),]
        [
            moment("FIRST_SEEN"),
            moment("LAST_SEEN"),
            number("QUANTILE_95"),
            number("QUANTILE_99"),
            number("QUANTILE_999"),
            text_of_statement("QUERY_SAMPLE_TEXT"),
            moment("QUERY_SAMPLE_SEEN"),
            number("QUERY_SAMPLE_TIMER_WAIT"),
        ]
    ),
    rows: |facts| {
        let sums = facts.instance.statements.sums();
        sums.iter().map(|(identity, sums)| digest_row(facts, identity.as_deref(), sums)).collect()
    },
};

pub fn wall(facts: &Facts<'_>, nanos: u64) -> Value {
    let started = facts.instance.started_wall.duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    let micros = started.as_micros() as i64 + (nanos / 1000) as i64;
    DateTime::from_unix_micros(micros, facts.zone).map_or(Value::Null, Value::DateTime)
}

fn digest_row(facts: &Facts<'_>, identity: Option<&Identity>, sums: &Sums) -> Vec<Value> {
    let mut row = vec![
        optional(identity.and_then(|identity| identity.schema.as_ref())),
        optional(identity.map(|identity| hex(&identity.hash))),
        optional(identity.map(|identity| &identity.text)),
        Value::UInt(sums.count),
        picos(sums.wait),
        picos(sums.wait_min),
        picos(sums.wait / sums.count.max(1)),
        picos(sums.wait_max),
        picos(sums.lock),
    ];
    row.extend(work(&sums.work));
    row.extend([
        picos(sums.cpu),
        // Memory is not measured by statement, and there is no secondary engine.
        Value::UInt(0),
        Value::UInt(0),
        Value::UInt(0),
        wall(facts, sums.first_seen),
        wall(facts, sums.last_seen),
        picos(sums.quantile(0.95)),
        picos(sums.quantile(0.99)),
        picos(sums.quantile(0.999)),
        shown(&sums.sample.text),
        wall(facts, sums.sample.seen),
        picos(sums.sample.wait),
    ]);
    row
}

/// ERRORS to NO_GOOD_INDEX_USED. Of temporary tables those count that did not fit into memory; no statement checks ranges
/// row by row.
pub fn work(work: &Work) -> [Value; 18] {
    [
        work.errors,
        work.warnings,
        work.rows_affected,
        work.rows_sent,
        work.rows_examined,
        work.tmp_disk_tables,
        work.tmp_disk_tables,
        work.select_full_join,
        0,
        work.select_range,
        0,
        work.select_scan,
        work.sort_merge_passes,
        work.sort_range,
        work.sort_rows,
        work.sort_scan,
        work.no_index_used,
        0,
    ]
    .map(Value::UInt)
}

const EVENT: &[VirtualColumn] = &[
    number("THREAD_ID"),
    number("EVENT_ID"),
    number("END_EVENT_ID"),
    text("EVENT_NAME", 128),
    text("SOURCE", 64),
    number("TIMER_START"),
    number("TIMER_END"),
    number("TIMER_WAIT"),
    number("LOCK_TIME"),
    text_of_statement("SQL_TEXT"),
    text("DIGEST", 64),
    long_text("DIGEST_TEXT"),
    text("CURRENT_SCHEMA", 64),
    text("OBJECT_TYPE", 64),
    text("OBJECT_SCHEMA", 64),
    text("OBJECT_NAME", 64),
    number("OBJECT_INSTANCE_BEGIN"),
    number("MYSQL_ERRNO"),
    text("RETURNED_SQLSTATE", 5),
    text("MESSAGE_TEXT", 128),
    number("ERRORS"),
    number("WARNINGS"),
    number("ROWS_AFFECTED"),
    number("ROWS_SENT"),
    number("ROWS_EXAMINED"),
    number("CREATED_TMP_DISK_TABLES"),
    number("CREATED_TMP_TABLES"),
    number("SELECT_FULL_JOIN"),
    number("SELECT_FULL_RANGE_JOIN"),
    number("SELECT_RANGE"),
    number("SELECT_RANGE_CHECK"),
    number("SELECT_SCAN"),
    number("SORT_MERGE_PASSES"),
    number("SORT_RANGE"),
    number("SORT_ROWS"),
    number("SORT_SCAN"),
    number("NO_INDEX_USED"),
    number("NO_GOOD_INDEX_USED"),
    number("NESTING_EVENT_ID"),
    text("NESTING_EVENT_TYPE", 11),
    number("NESTING_EVENT_LEVEL"),
    number("STATEMENT_ID"),
    number("CPU_TIME"),
    number("MAX_CONTROLLED_MEMORY"),
    number("MAX_TOTAL_MEMORY"),
    text("EXECUTION_ENGINE", 9),
];

pub const STATEMENTS_CURRENT: VirtualTable = VirtualTable {
    name: "events_statements_current",
    columns: EVENT,
    rows: |facts| {
        let statements = &facts.instance.statements;
        let running: Vec<ProcessRow> = match statements.collects().current() {
            true => facts.instance.processes.list().into_iter().filter(is_running).collect(),
            false => Vec::new(),
        };
        let ended = statements.events(true).into_iter();
        let ended = ended.filter(|(thread, _)| running.iter().all(|process| u64::from(process.id) != *thread));
        let mut rows: Vec<Vec<Value>> = ended.map(|(thread, event)| event_row(facts, thread, &event, true)).collect();
        for process in &running {
            let wait = (process.elapsed_ms * 1e6) as u64;
            let now = statements.nanos_at(std::time::Instant::now());
            let event = Event {
                id: statements.events_seen(process.id.into()) + 1,
                timing: Timing { started: now.saturating_sub(wait), wait, ..Timing::default() },
                schema: process.database.clone(),
                text: process.info.clone().unwrap_or_default().into_bytes(),
                ..Event::default()
            };
            rows.push(event_row(facts, process.id.into(), &event, false));
        }
        rows
    },
};

fn is_running(process: &ProcessRow) -> bool {
    matches!(process.command, "Query" | "Execute") && process.info.is_some()
}

pub const STATEMENTS_HISTORY: VirtualTable = VirtualTable {
    name: "events_statements_history",
    columns: EVENT,
    rows: |facts| {
        let statements = &facts.instance.statements;
        let events = statements.events(!statements.collects().history());
        events.iter().map(|(thread, event)| event_row(facts, *thread, event, true)).collect()
    },
};

fn event_row(facts: &Facts<'_>, thread: u64, event: &Event, has_ended: bool) -> Vec<Value> {
    let statements = &facts.instance.statements;
    let known = event.number.and_then(|number| statements.identity(number));
    let identity = known.unwrap_or_else(|| {
        let text = statements.digest_text(&event.text, SqlMode::default());
        Arc::new(Identity { schema: event.schema.clone(), hash: crate::statements::digest::hash(&text), text })
    });
    // As if what has not ended yet ended now.
    let end = event.timing.started + event.timing.wait;
    let error = event.error.as_ref();
    let id = Value::UInt(event.id);
    let mut row = vec![
        Value::UInt(thread),
        id.clone(),
        if has_ended { id.clone() } else { Value::Null },
        string(event_name(&identity.text)),
        string(""),
        picos(event.timing.started),
        picos(end),
        picos(event.timing.wait),
        picos(event.timing.lock),
        shown(&event.text),
        string(hex(&identity.hash)),
        string(&identity.text),
        optional(event.schema.as_ref()),
        Value::Null,
        Value::Null,
        Value::Null,
        Value::Null,
        Value::UInt(error.map_or(0, |error| error.0.into())),
        optional(error.map(|error| String::from_utf8_lossy(&error.1).into_owned())),
        optional(error.map(|error| error.2.chars().take(128).collect::<String>())),
    ];
    row.extend(work(&event.work));
    row.extend([
        Value::Null,
        if event.nested { string("STATEMENT") } else { Value::Null },
        Value::UInt(event.nested.into()),
        id,
        picos(event.timing.cpu),
        Value::UInt(0),
        Value::UInt(0),
        string("PRIMARY"),
    ]);
    row
}

pub const THREADS: VirtualTable = VirtualTable {
    name: "threads",
    columns: &[
        number("THREAD_ID"),
        text("NAME", 128),
        text("TYPE", 10),
        number("PROCESSLIST_ID"),
        text("PROCESSLIST_USER", 32),
        text("PROCESSLIST_HOST", 255),
        text("PROCESSLIST_DB", 64),
        text("PROCESSLIST_COMMAND", 16),
        number("PROCESSLIST_TIME"),
        text("PROCESSLIST_STATE", 64),
        long_text("PROCESSLIST_INFO"),
        number("PARENT_THREAD_ID"),
        text("ROLE", 64),
        text("INSTRUMENTED", 3),
        text("HISTORY", 3),
        text("CONNECTION_TYPE", 16),
        number("THREAD_OS_ID"),
        text("RESOURCE_GROUP", 64),
        text("EXECUTION_ENGINE", 9),
        number("CONTROLLED_MEMORY"),
        number("MAX_CONTROLLED_MEMORY"),
        number("TOTAL_MEMORY"),
        number("MAX_TOTAL_MEMORY"),
        text("TELEMETRY_ACTIVE", 3),
    ],
    rows: |facts| {
        let instance = facts.instance;
        let living = instance.status.living();
        let collects = instance.statements.collects();
        let row = |process: ProcessRow| {
            let id = u64::from(process.id);
            let session = living.iter().find(|session| session.thread() == id);
            let encrypted = session.is_some_and(|session| session.connection().tls.is_some());
            let (host, port) = process.host.rsplit_once(':').map_or((&*process.host, false), |(host, _)| (host, true));
            let kind = match (encrypted, port) {
                (true, _) => "SSL/TLS",
                (false, true) => "TCP/IP",
                (false, false) => "Socket",
            };
            vec![
                Value::UInt(id),
                string("thread/sql/one_connection"),
                string("FOREGROUND"),
                Value::UInt(id),
                string(&process.user),
                string(host),
                optional(process.database.as_ref()),
                string(process.command),
                Value::UInt(process.seconds),
                optional(Some(process.state).filter(|state| !state.is_empty())),
                process.info.as_ref().map_or(Value::Null, |info| shown(info.as_bytes())),
                Value::Null,
                Value::Null,
                yes(true),
                yes(collects.history()),
                string(kind),
                Value::Null,
                Value::Null,
                string("PRIMARY"),
                Value::UInt(0),
                Value::UInt(0),
                Value::UInt(0),
                Value::UInt(0),
                yes(false),
            ]
        };
        instance.processes.list().into_iter().map(row).collect()
    },
};

pub const STATUS_BY_THREAD: VirtualTable = VirtualTable {
    name: "status_by_thread",
    columns: &[number("THREAD_ID"), text("VARIABLE_NAME", 64), text("VARIABLE_VALUE", 1024)],
    rows: |facts| {
        let mut rows = Vec::new();
        for session in facts.instance.status.living() {
            let counts = session.counts();
            let row = |(name, count): (&str, u64)| {
                vec![Value::UInt(session.thread()), string(name), string(count.to_string())]
            };
            rows.extend(counts.map(row));
        }
        rows
    },
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_as_wide_as_their_tables() {
        let sums = Sums::default();
        let widths = STATEMENTS_BY_DIGEST.columns.len() - 9 - 12;
        assert_eq!(work(&sums.work).len(), widths);
        assert_eq!(EVENT.len(), 20 + work(&sums.work).len() + 8);
    }
}
