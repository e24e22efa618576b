//! The locks that transactions hold and wait for: one snapshot for every view that shows them.
//!
//! ```text
//!   engine: transactions with ids, locks     processes: statements, transactions that only read
//!                        \                     /
//!                         Picture::take --> INNODB_TRX, data_locks, data_lock_waits, INNODB_LOCKS,
//!                                           INNODB_LOCK_WAITS, sys.innodb_lock_waits, SHOW ENGINE INNODB STATUS
//! ```
//!
//! A transaction that has neither locked nor written has no id. As in MySQL, the views show it under a unique id above
//! 2^48. Rows that a transaction has written are locked implicitly, by its id in them, until another transaction wants
//! them: implicit locks are not listed, as in InnoDB.

use format::ids::TrxId;
use format::value::Zone;
use storage::schema::{self, FieldSource};
use storage::{DeadlockMember, DeadlockReport, Isolation, LockKind, LockMode, LockRequest, LockedKey, RecordLock};

use crate::instance::Instance;
use crate::processlist::ProcessRow;

/// Ids of transactions without one, as in MySQL.
const WITHOUT_ID: u64 = 1 << 48;

/// Bytes that a lock takes here, approximately.
pub const LOCK_BYTES: u64 = 64;

/// The locks at one moment.
pub struct Picture {
    pub transactions: Vec<Transaction>,
    pub locks: Vec<Lock>,
    pub waits: Vec<Wait>,
}

/// A transaction.
pub struct Transaction {
    pub id: u64,
    /// The connection; 0 = the engine itself, which rolls it back.
    pub session: u64,
    pub process: Option<ProcessRow>,
    pub state: &'static str,
    pub since_us: u64,
    /// The lock it waits for, and since when.
    pub waiting: Option<(String, u64)>,
    pub isolation: Isolation,
    pub read_only: bool,
    pub changes: u64,
    pub record_locks: u64,
    pub table_locks: u64,
}

impl Transaction {
    /// What rolling it back would cost.
    pub fn weight(&self) -> u64 {
        self.changes + self.record_locks + self.table_locks
    }

    pub fn statement(&self) -> Option<&str> {
        self.process.as_ref()?.info.as_deref()
    }
}

/// A lock that is held or waited for.
#[derive(Clone)]
pub struct Lock {
    pub id: String,
    pub trx: u64,
    pub session: u64,
    pub database: String,
    pub table: String,
    /// None: the table itself is locked.
    pub record: Option<Record>,
    /// MySQL's words: `X,REC_NOT_GAP`, `IX`.
    pub mode: String,
    pub waiting: bool,
}

/// The index record that is locked.
#[derive(Clone)]
pub struct Record {
    pub index: String,
    pub space: u64,
    pub page: u64,
    pub hash: u64,
    /// The key's fields; None if the record is not to be found.
    pub key: Option<String>,
}

/// One lock that waits for another.
pub struct Wait {
    pub requesting: (u64, String),
    pub blocking: (u64, String),
}

impl Picture {
    pub fn take(instance: &Instance) -> Picture {
        let dump = instance.engine.lock_dump();
        let processes = instance.processes.list();
        let session_of = |trx: TrxId| {
            let found = dump.transactions.iter().find(|owner| owner.trx == trx);
            found.map_or(0, |owner| owner.identity.session)
        };
        let mut locks = Vec::new();
        for table in &dump.tables {
            locks.push(Lock {
                id: format!("{}:{}:{}", table.trx, table.table.id, if exclusive(table.mode) { "IX" } else { "IS" }),
                trx: table.trx.0,
                session: session_of(table.trx),
                database: table.table.database.to_string(),
                table: table.table.name.to_string(),
                record: None,
                mode: if exclusive(table.mode) { "IX".to_owned() } else { "IS".to_owned() },
                waiting: false,
            });
        }
        let mut waits = Vec::new();
        for record in &dump.records {
            let id = lock_id(record.lock.owner, &record.lock.request);
            if let Some((blocker, request)) = &record.lock.blocked_by {
                waits.push(Wait {
                    requesting: (record.lock.owner.0, id.clone()),
                    blocking: (blocker.0, lock_id(*blocker, request)),
                });
            }
            // A transaction that waits for several others is listed once for each.
            if record.lock.waiting && locks.iter().any(|lock: &Lock| lock.waiting && lock.id == id) {
                continue;
            }
            locks.push(named(record, id, session_of(record.lock.owner)));
        }
        // Stable, so that a transaction's table locks stand before its records.
        locks.sort_by_key(|lock| lock.trx);
        let mut transactions: Vec<Transaction> = dump
            .transactions
            .iter()
            .map(|owner| {
                let session = owner.identity.session;
                let process = processes.iter().find(|process| u64::from(process.id) == session).cloned();
                let opened = process.as_ref().and_then(|process| process.transaction);
                let began_us = instance.wall_us(owner.began);
                let waiting =
                    owner.waiting.map(|(request, since)| (lock_id(owner.trx, &request), instance.wall_us(since)));
                let count = |of_records: bool| {
                    let of = locks.iter().filter(|lock| lock.trx == owner.trx.0);
                    of.filter(|lock| lock.record.is_some() == of_records).count() as u64
                };
                Transaction {
                    id: owner.trx.0,
                    session,
                    state: match () {
                        () if owner.rolling_back => "ROLLING BACK",
                        () if waiting.is_some() => "LOCK WAIT",
                        () => "RUNNING",
                    },
                    since_us: opened.map_or(began_us, |open| open.since_us.min(began_us)),
                    process,
                    waiting,
                    isolation: Isolation::of(owner.identity.isolation),
                    read_only: owner.identity.read_only,
                    changes: owner.changes,
                    record_locks: count(true),
                    table_locks: count(false),
                }
            })
            .collect();
        for process in processes {
            let Some(open) = process.transaction else { continue };
            if transactions.iter().any(|known| known.session == u64::from(process.id)) {
                continue;
            }
            transactions.push(Transaction {
                id: WITHOUT_ID + u64::from(process.id),
                session: u64::from(process.id),
                state: "RUNNING",
                since_us: open.since_us,
                process: Some(process),
                waiting: None,
                isolation: open.isolation,
                read_only: open.read_only,
                changes: 0,
                record_locks: 0,
                table_locks: 0,
            });
        }
        Picture { transactions, locks, waits }
    }

    pub fn lock(&self, id: &str) -> Option<&Lock> {
        self.locks.iter().find(|lock| lock.id == id)
    }

    pub fn transaction(&self, id: u64) -> Option<&Transaction> {
        self.transactions.iter().find(|transaction| transaction.id == id)
    }
}

/// The last deadlock as text.
pub fn last_deadlock(instance: &Instance, moment: &str) -> Option<String> {
    let report = instance.engine.last_deadlock()?;
    let mut last = instance.deadlock.lock();
    if let Some((told, text)) = &*last
        && *told == report
    {
        return Some(text.clone());
    }
    let text = deadlock_text(instance, &report, moment);
    if instance.variables.number("innodb_print_all_deadlocks") == 1 {
        tracing::info!("Transactions deadlock detected, dumping detailed information.\n{text}");
    }
    *last = Some((report, text.clone()));
    Some(text)
}

/// A deadlock as SHOW ENGINE INNODB STATUS and the log tell it. The statements are those that run now.
fn deadlock_text(instance: &Instance, report: &DeadlockReport, moment: &str) -> String {
    use std::fmt::Write;
    let mut out = format!("{moment}\n");
    let lock = |owner: TrxId, request: LockRequest| {
        let Some(record) = instance.engine.name_lock(owner, request) else {
            return "a lock of a table that is gone\n".into();
        };
        record_lines(&named(&record, lock_id(owner, &request), 0), false)
    };
    for (number, member) in report.members.iter().enumerate() {
        let DeadlockMember { trx, identity, age, changes, wanted, holds, weight } = *member;
        let number = number + 1;
        let process = instance.processes.find(identity.session);
        // A string takes all that is written to it.
        let _ = writeln!(out, "*** ({number}) TRANSACTION:\nTRANSACTION {trx}, ACTIVE {} sec", age.as_secs());
        let locks = weight.saturating_sub(changes);
        let _ = writeln!(out, "LOCK WAIT {locks} row lock(s), undo log entries {changes}");
        if let Some(process) = process {
            out.push_str(&thread_lines(&process));
        }
        let _ = writeln!(out, "\n*** ({number}) HOLDS THE LOCK(S):\n{}", lock(trx, holds));
        let _ = writeln!(out, "*** ({number}) WAITING FOR THIS LOCK TO BE GRANTED:\n{}", lock(trx, wanted));
    }
    let victim = report.members.iter().position(|member| member.trx == report.victim).map_or(0, |at| at + 1);
    let _ = writeln!(out, "*** WE ROLL BACK TRANSACTION ({victim})");
    out
}

/// `MySQL thread id 8, query id 0 localhost root` and the statement. Programs that read it expect the host without its port.
pub fn thread_lines(process: &ProcessRow) -> String {
    let is_port = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let host = match process.host.rsplit_once(':') {
        Some((host, port)) if is_port(port) => host,
        _ => &process.host,
    };
    let mut out = format!(
        "MySQL thread id {}, OS thread handle 0, query id 0 {host} {} {}\n",
        process.id, process.user, process.state
    );
    if let Some(statement) = &process.info {
        out.push_str(statement);
        out.push('\n');
    }
    out
}

/// A lock as SHOW ENGINE INNODB STATUS writes it: of one record each, so one bit.
pub fn record_lines(lock: &Lock, with_wait: bool) -> String {
    let waiting = if with_wait && lock.waiting { " waiting" } else { "" };
    let Some(record) = &lock.record else {
        return format!(
            "TABLE LOCK table `{}`.`{}` trx id {} lock mode {}{waiting}\n",
            lock.database, lock.table, lock.trx, lock.mode
        );
    };
    let (mode, rest) = lock.mode.split_once(',').unwrap_or((&lock.mode, ""));
    let kind = match rest {
        "REC_NOT_GAP" => " locks rec but not gap",
        "GAP" => " locks gap before rec",
        "GAP,INSERT_INTENTION" => " locks gap before rec insert intention",
        "INSERT_INTENTION" => " insert intention",
        _ => "",
    };
    let key = record.key.as_deref().unwrap_or("(not in its place)");
    format!(
        "RECORD LOCKS space id {} page no {} n bits 1 index {} of table `{}`.`{}` trx id {} lock_mode {mode}{kind}{waiting}\nRecord lock: {key}\n",
        record.space, record.page, record.index, lock.database, lock.table, lock.trx
    )
}

fn exclusive(mode: LockMode) -> bool {
    mode == LockMode::Exclusive
}

/// A name that only this lock of this transaction has.
fn lock_id(trx: TrxId, request: &LockRequest) -> String {
    let kind = match request.kind {
        LockKind::Record => "rec",
        LockKind::Gap => "gap",
        LockKind::NextKey => "key",
        LockKind::Entry => "entry",
        LockKind::Mark => "mark",
        LockKind::InsertIntention => "ins",
    };
    format!("{trx}:{}:{:016x}:{kind}", request.id.index, request.id.key_hash)
}

/// A record lock in MySQL's words.
fn named(record: &RecordLock, id: String, session: u64) -> Lock {
    let request = &record.lock.request;
    let letter = if exclusive(request.mode) { "X" } else { "S" };
    let at_end = record.key == LockedKey::Supremum;
    let is_counter = record.key == LockedKey::AutoIncrement;
    let mode = match request.kind {
        _ if is_counter => "AUTO_INC".to_owned(),
        LockKind::Record | LockKind::Mark => format!("{letter},REC_NOT_GAP"),
        LockKind::NextKey | LockKind::Entry => letter.to_owned(),
        LockKind::Gap if at_end => letter.to_owned(),
        LockKind::Gap => format!("{letter},GAP"),
        LockKind::InsertIntention if at_end => format!("{letter},INSERT_INTENTION"),
        LockKind::InsertIntention => format!("{letter},GAP,INSERT_INTENTION"),
    };
    let index = &record.table.indexes[record.index];
    Lock {
        id,
        trx: record.lock.owner.0,
        session,
        database: record.table.database.to_string(),
        table: record.table.name.to_string(),
        record: (!is_counter).then(|| Record {
            index: index_name(index),
            space: u64::from(record.table.space.0),
            page: u64::from(request.page.0),
            hash: request.id.key_hash,
            key: match &record.key {
                LockedKey::Supremum => Some("supremum pseudo-record".to_owned()),
                LockedKey::Fields(fields) => Some(key_text(&record.table, index, fields)),
                LockedKey::Unknown | LockedKey::AutoIncrement => None,
            },
        }),
        mode,
        waiting: record.lock.waiting,
    }
}

fn index_name(index: &schema::Index) -> String {
    match index.clustered && index.parts.is_empty() {
        true => "GEN_CLUST_INDEX".to_owned(),
        false => index.name.to_string(),
    }
}

/// Fields of an index as `1, 'abc'`.
fn key_text(table: &schema::Table, index: &schema::Index, fields: &[Option<Vec<u8>>]) -> String {
    let texts = fields.iter().zip(&index.fields).map(|(value, field)| {
        let Some(bytes) = value else { return "NULL".to_owned() };
        let FieldSource::Column(column) = field.source else { return hex(bytes) };
        let ty = &table.columns[usize::from(column)].ty;
        let mut out = Vec::new();
        match field.prefix_bytes {
            // A part of a value is not one of its type.
            Some(_) => out.extend_from_slice(bytes),
            None => ty.write_text_at(bytes, Zone::UTC, &mut out),
        }
        match (ty.collation().is_some(), String::from_utf8(out)) {
            (true, Ok(text)) => format!("'{}'", text.replace('\'', "''")),
            (false, Ok(text)) if !text.chars().any(char::is_control) => text,
            _ => hex(bytes),
        }
    });
    texts.collect::<Vec<_>>().join(", ")
}

fn hex(bytes: &[u8]) -> String {
    let digits: String = bytes.iter().map(|byte| format!("{byte:02X}")).collect();
    format!("0x{digits}")
}
