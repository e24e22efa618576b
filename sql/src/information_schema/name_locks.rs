//! Metadata locks: which session holds or awaits which name.
//!
//! Tables and databases, the global read lock, the backup lock and the locks of GET_LOCK, under MySQL's names.

use std::sync::Arc;

use format::value::Value;
use storage::{DefinitionKind, LockedName, NameLockMode};

use super::{Facts, VirtualTable, long_text, number, optional, string, text};
use crate::processlist::{Process, ProcessRow};

/// A lock that a session holds or waits for.
struct NameLock {
    process: Arc<Process>,
    kind: &'static str,
    database: Option<String>,
    name: Option<String>,
    mode: NameLockMode,
    duration: &'static str,
    is_granted: bool,
    place: usize,
}

impl NameLock {
    fn status(&self) -> &'static str {
        if self.is_granted { "GRANTED" } else { "PENDING" }
    }

    fn thread(&self) -> Value {
        Value::UInt(self.process.id.into())
    }

    fn is_of_same(&self, other: &NameLock) -> bool {
        (self.kind, &self.database, &self.name) == (other.kind, &other.database, &other.name)
    }
}

fn all(facts: &Facts<'_>) -> Vec<NameLock> {
    let processes = facts.instance.processes.all();
    let lists: Vec<_> = processes.iter().map(|process| &**process.interrupt.names()).collect();
    let mut locks = Vec::new();
    for (process, list) in processes.iter().zip(facts.instance.engine.name_locks(&lists)) {
        for (name, lock) in list {
            let explicit = matches!(name, LockedName::Global | LockedName::Backup) && lock.mode == NameLockMode::Shared;
            let (kind, database, name) = match name {
                LockedName::Table(database, table) => ("TABLE", Some(database), Some(table)),
                LockedName::Definition(kind, database, name) => {
                    let kind = match kind {
                        DefinitionKind::View => "TABLE",
                        DefinitionKind::Procedure => "PROCEDURE",
                        DefinitionKind::Function => "FUNCTION",
                        DefinitionKind::Trigger => "TRIGGER",
                        DefinitionKind::Event => "EVENT",
                    };
                    (kind, Some(database), Some(name))
                }
                LockedName::Database(database) => ("SCHEMA", Some(database), None),
                LockedName::Backup => ("BACKUP LOCK", None, None),
                LockedName::Global => ("GLOBAL", None, None),
            };
            // A statement of definition shares the databases of its tables.
            let mode = match lock.mode {
                NameLockMode::SharedRead if kind == "SCHEMA" => NameLockMode::IntentionExclusive,
                mode => mode,
            };
            locks.push(NameLock {
                process: process.clone(),
                kind,
                database,
                name,
                mode,
                duration: if explicit { "EXPLICIT" } else { "TRANSACTION" },
                is_granted: lock.is_granted,
                place: lock.lock,
            });
        }
    }
    for (name, session, is_granted) in facts.instance.user_locks.list() {
        let Some(process) = processes.iter().find(|process| process.id == session) else { continue };
        locks.push(NameLock {
            process: process.clone(),
            kind: "USER LEVEL LOCK",
            database: None,
            name: Some(name),
            mode: NameLockMode::Exclusive,
            duration: "EXPLICIT",
            is_granted,
            place: 0,
        });
    }
    locks
}

pub const METADATA_LOCKS: VirtualTable = VirtualTable {
    name: "metadata_locks",
    columns: &[
        text("OBJECT_TYPE", 64),
        text("OBJECT_SCHEMA", 64),
        text("OBJECT_NAME", 64),
        text("COLUMN_NAME", 64),
        number("OBJECT_INSTANCE_BEGIN"),
        text("LOCK_TYPE", 32),
        text("LOCK_DURATION", 32),
        text("LOCK_STATUS", 32),
        text("SOURCE", 64),
        number("OWNER_THREAD_ID"),
        number("OWNER_EVENT_ID"),
    ],
    rows: |facts| {
        let row = |lock: &NameLock| {
            vec![
                string(lock.kind),
                optional(lock.database.as_ref()),
                optional(lock.name.as_ref()),
                Value::Null,
                Value::UInt(lock.place as u64),
                string(lock.mode.name()),
                string(lock.duration),
                string(lock.status()),
                Value::Null,
                lock.thread(),
                Value::Null,
            ]
        };
        all(facts).iter().map(row).collect()
    },
};

/// The view of the sys schema that names the connection to kill: of tables, each that waits beside each that holds.
pub const SCHEMA_TABLE_LOCK_WAITS: VirtualTable =
    VirtualTable { name: "schema_table_lock_waits", columns: WAITS, rows: waits };
pub const X_SCHEMA_TABLE_LOCK_WAITS: VirtualTable =
    VirtualTable { name: "x$schema_table_lock_waits", columns: WAITS, rows: waits };

const WAITS: &[super::VirtualColumn] = &[
    text("object_schema", 64),
    text("object_name", 64),
    number("waiting_thread_id"),
    number("waiting_pid"),
    long_text("waiting_account"),
    text("waiting_lock_type", 32),
    text("waiting_lock_duration", 32),
    long_text("waiting_query"),
    number("waiting_query_secs"),
    number("waiting_query_rows_affected"),
    number("waiting_query_rows_examined"),
    number("blocking_thread_id"),
    number("blocking_pid"),
    long_text("blocking_account"),
    text("blocking_lock_type", 32),
    text("blocking_lock_duration", 32),
    text("sql_kill_blocking_query", 31),
    text("sql_kill_blocking_connection", 25),
];

fn waits(facts: &Facts<'_>) -> Vec<Vec<Value>> {
    let locks = all(facts);
    let account = |row: &ProcessRow| string(format!("{}@{}", row.user, row.host));
    let mut rows = Vec::new();
    for waiting in locks.iter().filter(|lock| lock.kind == "TABLE" && !lock.is_granted) {
        let holders = locks.iter().filter(|lock| lock.is_granted && lock.is_of_same(waiting));
        for held in holders.filter(|held| held.process.id != waiting.process.id) {
            let find = |lock: &NameLock| facts.instance.processes.find(lock.process.id.into());
            let (Some(waiter), Some(holder)) = (find(waiting), find(held)) else { continue };
            rows.push(vec![
                optional(waiting.database.as_ref()),
                optional(waiting.name.as_ref()),
                waiting.thread(),
                waiting.thread(),
                account(&waiter),
                string(waiting.mode.name()),
                string(waiting.duration),
                optional(waiter.info.as_ref()),
                Value::UInt(waiter.seconds),
                // A statement that waits for a table has not begun to change or to read it.
                Value::UInt(0),
                Value::UInt(0),
                held.thread(),
                held.thread(),
                account(&holder),
                string(held.mode.name()),
                string(held.duration),
                string(format!("KILL QUERY {}", held.process.id)),
                string(format!("KILL {}", held.process.id)),
            ]);
        }
    }
    rows
}
