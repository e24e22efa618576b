//! Session tracking: what of the session a client is told with the next OK, if it asked for that in the handshake.
//!
//! ```text
//! type  lenenc bytes  what
//!    0  lenenc name, lenenc value     a variable of session_track_system_variables was set
//!    1  lenenc name                   another database is the current one (session_track_schema)
//!    2  lenenc "1"                    something of the session changed (session_track_state_change)
//!    3  0, lenenc names               a transaction was logged under these GTIDs (session_track_gtids)
//!    4  lenenc statements             what begins a transaction like the open one (session_track_transaction_info)
//!    5  lenenc 8 characters           the state of the transaction, likewise
//! ```
//!
//! The state of a transaction has a character for each of: T (BEGIN) or I (autocommit is off), rows read from a table
//! without transactions, from one with (R), written to one without, to one with (W), a statement that is unsafe to log as
//! its text, rows sent to the client (S), LOCK TABLES (L). What is not so is `_`; the second, fourth and sixth always are,
//! because every table has transactions and rows are logged.

use format::packet::writer;
use storage::Isolation;

use super::Session;
use crate::variables::{self, TrackedGtids, TrackedTransaction};

/// What the client is told of a session.
#[derive(Default)]
pub(super) struct Tracked {
    changes: Changes,
    transaction: Transaction,
}

/// What the open transaction did, and what the client knows of it.
struct Transaction {
    reads: bool,
    writes: bool,
    sends_rows: bool,
    /// The statements that began it.
    begun: String,
    told_state: [u8; 8],
    told_begun: String,
}

/// Outside of a transaction.
const IDLE: [u8; 8] = *b"________";

impl Default for Transaction {
    fn default() -> Transaction {
        let (told_state, told_begun) = (IDLE, String::new());
        Transaction { reads: false, writes: false, sends_rows: false, begun: String::new(), told_state, told_begun }
    }
}

/// What changed since the last OK.
#[derive(Default)]
struct Changes {
    database: bool,
    state: bool,
    /// Own names of variables, in the order in which they were set.
    variables: Vec<&'static str>,
}

impl Session {
    /// The client reads session tracking.
    pub fn track_changes(&mut self) {
        self.tracked = Some(Default::default());
    }

    pub(super) fn database_changed(&self) {
        if let Some(changes) = &self.tracked {
            changes.borrow_mut().changes.database = true;
        }
        self.state_changed();
    }

    /// User variables, temporary tables, prepared statements.
    pub(super) fn state_changed(&self) {
        if let Some(changes) = &self.tracked {
            changes.borrow_mut().changes.state = true;
        }
    }

    pub(super) fn variable_changed(&self, name: &str) {
        self.status.show_variables(&self.variables);
        if let Some(changes) = &self.tracked
            && let Some(variable) = variables::find(name)
        {
            let changes = &mut changes.borrow_mut().changes;
            changes.state = true;
            if !changes.variables.contains(&variable.name) {
                changes.variables.push(variable.name);
            }
        }
    }

    /// A transaction begins by BEGIN or XA START, before what SET TRANSACTION said for it is forgotten.
    pub(super) fn transaction_begins(&self, how: impl FnOnce() -> String) {
        if let Some(tracked) = &self.tracked {
            let levels = self.next_isolation();
            tracked.borrow_mut().transaction.begun = levels + &how();
        }
    }

    /// A statement was run in the transaction that is open.
    pub(super) fn transaction_did(&self, reads: bool, writes: bool, sends_rows: bool) {
        if let Some(tracked) = &self.tracked
            && self.in_transaction()
        {
            let transaction = &mut tracked.borrow_mut().transaction;
            transaction.reads |= reads;
            transaction.writes |= writes;
            transaction.sends_rows |= sends_rows;
        }
    }

    fn next_isolation(&self) -> String {
        let isolation = self.next_transaction.isolation;
        isolation.map(|level| format!("SET TRANSACTION ISOLATION LEVEL {}; ", level_words(level))).unwrap_or_default()
    }

    /// The state of the transaction, and the statements that would begin one like it.
    fn transaction_now(&self, transaction: &mut Transaction) -> ([u8; 8], String) {
        let mut state = IDLE;
        if self.locked.is_some() {
            state[7] = b'L';
        }
        if !self.has_transaction() {
            let known = std::mem::take(transaction);
            (transaction.told_state, transaction.told_begun) = (known.told_state, known.told_begun);
            let access = self.next_transaction.read_only;
            let access = access.map(|only| format!("SET TRANSACTION READ {}; ", if only { "ONLY" } else { "WRITE" }));
            return (state, (self.next_isolation() + &access.unwrap_or_default()).trim_end().to_owned());
        }
        state[0] = if self.explicit || self.own_xid().is_some() { b'T' } else { b'I' };
        let marks = [(2, b'R', transaction.reads), (4, b'W', transaction.writes), (6, b'S', transaction.sends_rows)];
        for (at, letter, _) in marks.into_iter().filter(|(.., is_set)| *is_set) {
            state[at] = letter;
        }
        (state, transaction.begun.trim_end().to_owned())
    }

    /// Takes what the client is to be told, encoded; empty if there is nothing.
    pub(super) fn take_changes(&self) -> Vec<u8> {
        let Some(tracked) = &self.tracked else { return Vec::new() };
        let tracked = &mut *tracked.borrow_mut();
        let mut out = Vec::new();
        if tracked.changes.state {
            self.put_changes(std::mem::take(&mut tracked.changes), &mut out);
        }
        let settings = &self.variables.settings;
        if settings.tracked_gtids != TrackedGtids::Off
            && let Some(name) = self.state.order.take_name()
        {
            let names = match (settings.tracked_gtids, &self.instance.log) {
                (TrackedGtids::All, Some(log)) => log.executed().to_string(),
                _ => name.to_string(),
            };
            put(3, &[&[0]], &[names.as_bytes()], &mut out);
        }
        if settings.tracked_transaction != TrackedTransaction::Off {
            let (state, begun) = self.transaction_now(&mut tracked.transaction);
            let known = &mut tracked.transaction;
            if settings.tracked_transaction == TrackedTransaction::Characteristics && begun != known.told_begun {
                put(4, &[], &[begun.as_bytes()], &mut out);
                known.told_begun = begun;
            }
            if state != known.told_state {
                put(5, &[], &[&state], &mut out);
                known.told_state = state;
            }
        }
        out
    }

    fn put_changes(&self, changes: Changes, out: &mut Vec<u8>) {
        let text = |name: &str| {
            let value = self.variables.select(&self.instance.variables, name, false);
            let variable = variables::find(name).expect("a listed variable");
            value.map(|value| variable.kind.show(&value)).unwrap_or_default()
        };
        let wanted = text("session_track_system_variables");
        let is_wanted = |name: &str| {
            wanted.split(',').map(str::trim).any(|wanted| wanted == "*" || wanted.eq_ignore_ascii_case(name))
        };
        for name in changes.variables.into_iter().filter(|name| is_wanted(name)) {
            put(0, &[], &[name.as_bytes(), text(name).as_bytes()], out);
        }
        if changes.database && text("session_track_schema") == "ON" {
            put(1, &[], &[self.database().unwrap_or_default().as_bytes()], out);
        }
        if text("session_track_state_change") == "ON" {
            put(2, &[], &[b"1"], out);
        }
    }
}

/// Appends one fact: bytes as they are, then texts with their lengths.
fn put(kind: u8, plain: &[&[u8]], fields: &[&[u8]], out: &mut Vec<u8>) {
    let mut data = plain.concat();
    for field in fields {
        writer::lenenc_bytes(&mut data, field);
    }
    out.push(kind);
    writer::lenenc_bytes(out, &data);
}

fn level_words(isolation: Isolation) -> &'static str {
    match isolation {
        Isolation::ReadUncommitted => "READ UNCOMMITTED",
        Isolation::ReadCommitted => "READ COMMITTED",
        Isolation::RepeatableRead => "REPEATABLE READ",
        Isolation::Serializable => "SERIALIZABLE",
    }
}
