//! Transactions and their locks, under MySQL's names and MariaDB's.

use format::value::{DateTime, Value};

use super::{Facts, VirtualTable, int, long_text, number, optional, string, text, time};
use crate::locks::{LOCK_BYTES, Lock, Picture, Transaction, Wait};
use crate::processlist::ProcessRow;

fn moment(facts: &Facts<'_>, us: u64) -> Value {
    let us = us as i64;
    DateTime::from_unix_micros(us - us % 1_000_000, facts.zone).map_or(Value::Null, Value::DateTime)
}

fn now_us() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    now.as_micros() as u64
}

/// MySQL 8.0's columns.
pub const INNODB_TRX: VirtualTable = VirtualTable {
    name: "INNODB_TRX",
    columns: &[
        number("trx_id"),
        text("trx_state", 13),
        time("trx_started"),
        text("trx_requested_lock_id", 126),
        time("trx_wait_started"),
        number("trx_weight"),
        number("trx_mysql_thread_id"),
        text("trx_query", 1024),
        text("trx_operation_state", 64),
        number("trx_tables_in_use"),
        number("trx_tables_locked"),
        number("trx_lock_structs"),
        number("trx_lock_memory_bytes"),
        number("trx_rows_locked"),
        number("trx_rows_modified"),
        number("trx_concurrency_tickets"),
        text("trx_isolation_level", 16),
        int("trx_unique_checks"),
        int("trx_foreign_key_checks"),
        text("trx_last_foreign_key_error", 256),
        int("trx_adaptive_hash_latched"),
        number("trx_adaptive_hash_timeout"),
        int("trx_is_read_only"),
        int("trx_autocommit_non_locking"),
        number("trx_schedule_weight"),
    ],
    rows: |facts| {
        let row = |trx: &Transaction| {
            let (requested, wait_started) = match &trx.waiting {
                Some((lock, since)) => (string(lock), moment(facts, *since)),
                None => (Value::Null, Value::Null),
            };
            let locks = trx.record_locks + trx.table_locks;
            let weight = if trx.waiting.is_some() { Value::UInt(trx.weight()) } else { Value::Null };
            // A statement in it runs now.
            let busy = trx.process.as_ref().is_some_and(|process| process.command != "Sleep");
            // Without a session, what is left is a rollback.
            let checks = |shown: fn(&ProcessRow) -> bool| Value::Int(trx.process.as_ref().is_none_or(shown).into());
            let operation = match trx.state {
                "LOCK WAIT" if trx.process.as_ref().is_some_and(|process| process.state == "update") => {
                    Some("inserting")
                }
                "LOCK WAIT" => Some("starting index read"),
                "ROLLING BACK" => Some("rollback"),
                _ => None,
            };
            vec![
                Value::UInt(trx.id),
                string(trx.state),
                moment(facts, trx.since_us),
                requested,
                wait_started,
                Value::UInt(trx.weight()),
                Value::UInt(trx.session),
                optional(trx.statement()),
                optional(operation),
                Value::UInt(if busy { trx.table_locks } else { 0 }),
                Value::UInt(trx.table_locks),
                Value::UInt(locks),
                Value::UInt(locks * LOCK_BYTES),
                Value::UInt(trx.record_locks),
                Value::UInt(trx.changes),
                Value::UInt(0),
                string(trx.isolation.name()),
                checks(|process| process.unique_checks),
                checks(|process| process.foreign_key_checks),
                Value::Null,
                Value::Int(0),
                Value::UInt(0),
                Value::Int(i64::from(trx.read_only)),
                Value::Int(0),
                weight,
            ]
        };
        Picture::take(facts.instance).transactions.iter().map(row).collect()
    },
};

pub const DATA_LOCKS: VirtualTable = VirtualTable {
    name: "data_locks",
    columns: &[
        text("ENGINE", 32),
        text("ENGINE_LOCK_ID", 128),
        number("ENGINE_TRANSACTION_ID"),
        number("THREAD_ID"),
        number("EVENT_ID"),
        text("OBJECT_SCHEMA", 64),
        text("OBJECT_NAME", 64),
        text("PARTITION_NAME", 64),
        text("SUBPARTITION_NAME", 64),
        text("INDEX_NAME", 64),
        number("OBJECT_INSTANCE_BEGIN"),
        text("LOCK_TYPE", 32),
        text("LOCK_MODE", 32),
        text("LOCK_STATUS", 32),
        text("LOCK_DATA", 8192),
    ],
    rows: |facts| {
        let row = |lock: &Lock| {
            vec![
                string("INNODB"),
                string(&lock.id),
                Value::UInt(lock.trx),
                Value::UInt(lock.session),
                Value::Null,
                string(&lock.database),
                string(&lock.table),
                Value::Null,
                Value::Null,
                optional(lock.record.as_ref().map(|record| &record.index)),
                Value::UInt(lock.record.as_ref().map_or(0, |record| record.hash)),
                string(if lock.record.is_some() { "RECORD" } else { "TABLE" }),
                string(&lock.mode),
                string(if lock.waiting { "WAITING" } else { "GRANTED" }),
                optional(lock.record.as_ref().and_then(|record| record.key.as_ref())),
            ]
        };
        Picture::take(facts.instance).locks.iter().map(row).collect()
    },
};

pub const DATA_LOCK_WAITS: VirtualTable = VirtualTable {
    name: "data_lock_waits",
    columns: &[
        text("ENGINE", 32),
        text("REQUESTING_ENGINE_LOCK_ID", 128),
        number("REQUESTING_ENGINE_TRANSACTION_ID"),
        number("REQUESTING_THREAD_ID"),
        number("REQUESTING_EVENT_ID"),
        number("REQUESTING_OBJECT_INSTANCE_BEGIN"),
        text("BLOCKING_ENGINE_LOCK_ID", 128),
        number("BLOCKING_ENGINE_TRANSACTION_ID"),
        number("BLOCKING_THREAD_ID"),
        number("BLOCKING_EVENT_ID"),
        number("BLOCKING_OBJECT_INSTANCE_BEGIN"),
    ],
    rows: |facts| {
        let picture = Picture::take(facts.instance);
        let side = |(trx, id): &(u64, String)| {
            let lock = picture.lock(id);
            let place = lock.and_then(|lock| lock.record.as_ref()).map_or(0, |record| record.hash);
            [
                string(id),
                Value::UInt(*trx),
                Value::UInt(lock.map_or(0, |lock| lock.session)),
                Value::Null,
                Value::UInt(place),
            ]
        };
        let row = |wait: &Wait| {
            let mut row = vec![string("INNODB")];
            row.extend(side(&wait.requesting));
            row.extend(side(&wait.blocking));
            row
        };
        picture.waits.iter().map(row).collect()
    },
};

/// MariaDB's: locks that transactions wait for, and the locks that block them.
pub const INNODB_LOCKS: VirtualTable = VirtualTable {
    name: "INNODB_LOCKS",
    columns: &[
        text("lock_id", 193),
        number("lock_trx_id"),
        text("lock_mode", 32),
        text("lock_type", 8),
        text("lock_table", 1024),
        text("lock_index", 1024),
        number("lock_space"),
        number("lock_page"),
        number("lock_rec"),
        text("lock_data", 8192),
    ],
    rows: |facts| {
        let picture = Picture::take(facts.instance);
        let concerns = |lock: &Lock, wait: &Wait| wait.requesting.1 == lock.id || wait.blocking.1 == lock.id;
        let row = |lock: &Lock| {
            let record = lock.record.as_ref();
            // Its modes know gaps, but no records without.
            let (mode, kind) = lock.mode.split_once(',').unwrap_or((&lock.mode, ""));
            let mode = if kind.starts_with("GAP") { format!("{mode},GAP") } else { mode.to_owned() };
            vec![
                string(&lock.id),
                Value::UInt(lock.trx),
                string(mode),
                string(if record.is_some() { "RECORD" } else { "TABLE" }),
                string(format!("`{}`.`{}`", lock.database, lock.table)),
                optional(record.map(|record| &record.index)),
                record.map_or(Value::Null, |record| Value::UInt(record.space)),
                record.map_or(Value::Null, |record| Value::UInt(record.page)),
                // Records are known by their keys, not by their places.
                record.map_or(Value::Null, |_| Value::UInt(0)),
                optional(record.and_then(|record| record.key.as_ref())),
            ]
        };
        let locks = picture.locks.iter().filter(|lock| picture.waits.iter().any(|wait| concerns(lock, wait)));
        locks.map(row).collect()
    },
};

pub const INNODB_LOCK_WAITS: VirtualTable = VirtualTable {
    name: "INNODB_LOCK_WAITS",
    columns: &[
        number("requesting_trx_id"),
        text("requested_lock_id", 193),
        number("blocking_trx_id"),
        text("blocking_lock_id", 193),
    ],
    rows: |facts| {
        let row = |wait: &Wait| {
            vec![
                Value::UInt(wait.requesting.0),
                string(&wait.requesting.1),
                Value::UInt(wait.blocking.0),
                string(&wait.blocking.1),
            ]
        };
        Picture::take(facts.instance).waits.iter().map(row).collect()
    },
};

/// The view of the sys schema that names the connection to kill.
pub const SYS_INNODB_LOCK_WAITS: VirtualTable = VirtualTable {
    name: "innodb_lock_waits",
    columns: &[
        time("wait_started"),
        text("wait_age", 17),
        number("wait_age_secs"),
        text("locked_table", 132),
        text("locked_table_schema", 64),
        text("locked_table_name", 64),
        text("locked_table_partition", 64),
        text("locked_table_subpartition", 64),
        text("locked_index", 64),
        text("locked_type", 32),
        number("waiting_trx_id"),
        time("waiting_trx_started"),
        text("waiting_trx_age", 17),
        number("waiting_trx_rows_locked"),
        number("waiting_trx_rows_modified"),
        number("waiting_pid"),
        long_text("waiting_query"),
        text("waiting_lock_id", 128),
        text("waiting_lock_mode", 32),
        number("blocking_trx_id"),
        number("blocking_pid"),
        long_text("blocking_query"),
        text("blocking_lock_id", 128),
        text("blocking_lock_mode", 32),
        time("blocking_trx_started"),
        text("blocking_trx_age", 17),
        number("blocking_trx_rows_locked"),
        number("blocking_trx_rows_modified"),
        text("sql_kill_blocking_query", 32),
        text("sql_kill_blocking_connection", 26),
    ],
    rows: |facts| {
        let picture = Picture::take(facts.instance);
        let now = now_us();
        let age = |since: u64| {
            let seconds = now.saturating_sub(since) / 1_000_000;
            (string(format!("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)), seconds)
        };
        let row = |wait: &Wait| {
            let (wanted, held) = (picture.lock(&wait.requesting.1)?, picture.lock(&wait.blocking.1)?);
            let waiter = picture.transaction(wait.requesting.0)?;
            let blocker = picture.transaction(wait.blocking.0)?;
            let since = waiter.waiting.as_ref()?.1;
            let (wait_age, wait_seconds) = age(since);
            Some(vec![
                moment(facts, since),
                wait_age,
                Value::UInt(wait_seconds),
                string(format!("`{}`.`{}`", wanted.database, wanted.table)),
                string(&wanted.database),
                string(&wanted.table),
                Value::Null,
                Value::Null,
                optional(wanted.record.as_ref().map(|record| &record.index)),
                string(if wanted.record.is_some() { "RECORD" } else { "TABLE" }),
                Value::UInt(waiter.id),
                moment(facts, waiter.since_us),
                age(waiter.since_us).0,
                Value::UInt(waiter.record_locks),
                Value::UInt(waiter.changes),
                Value::UInt(waiter.session),
                optional(waiter.statement()),
                string(&wanted.id),
                string(&wanted.mode),
                Value::UInt(blocker.id),
                Value::UInt(blocker.session),
                optional(blocker.statement()),
                string(&held.id),
                string(&held.mode),
                moment(facts, blocker.since_us),
                age(blocker.since_us).0,
                Value::UInt(blocker.record_locks),
                Value::UInt(blocker.changes),
                string(format!("KILL QUERY {}", blocker.session)),
                string(format!("KILL {}", blocker.session)),
            ])
        };
        picture.waits.iter().filter_map(row).collect()
    },
};
