//! What transactions say of themselves in the log, and what tables and log must have in common.
//!
//! Each entry of the log has a number, which its writer draws, and says what it does: it brings rows of that number,
//! prepares a branch of that number, or ends a branch. So the log alone tells which rows there must be and which branches
//! must be prepared.

use std::collections::BTreeSet;
use std::sync::Arc;

use binlog::{BinaryLog, EventReader};
use format::binlog::payload::Payload;
use format::binlog::{EventKind, Uuid, gtid};
use format::xid::Xid;
use storage::schema::{ColumnSet, ReadMode, Row, ScanRange};
use storage::{Engine, Error, Trx, TrxOptions};

use crate::workload::DATABASE;

pub const TABLE: &str = "logged";
/// A table that was created together with its rows: `f7_2` has two, of the transaction 7.
pub const FILLED: char = 'f';
pub const SOURCE: Uuid = Uuid([7; 16]);

/// What a transaction of the log does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// Rows, or a table.
    Rows,
    Prepare,
    Commit(u64),
    Rollback(u64),
}

/// A transaction of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    pub number: u64,
    pub act: Act,
}

impl Entry {
    pub fn encode(&self, out: &mut Vec<u8>) {
        let (code, branch) = match self.act {
            Act::Rows => (0, 0),
            Act::Prepare => (1, 0),
            Act::Commit(branch) => (2, branch),
            Act::Rollback(branch) => (3, branch),
        };
        out.extend_from_slice(&self.number.to_le_bytes());
        out.push(code);
        out.extend_from_slice(&branch.to_le_bytes());
    }

    fn decode(body: &[u8]) -> Entry {
        let number = |at: usize| u64::from_le_bytes(body[at..at + 8].try_into().expect("8 bytes"));
        let act = match body[8] {
            0 => Act::Rows,
            1 => Act::Prepare,
            2 => Act::Commit(number(9)),
            _ => Act::Rollback(number(9)),
        };
        Entry { number: number(0), act }
    }
}

/// The branch with this number.
pub fn xid_of(number: u64) -> Xid {
    Xid::new(1, b"branch", &number.to_be_bytes()).expect("a short name")
}

pub fn number_of(xid: &Xid) -> u64 {
    u64::from_be_bytes(xid.bqual().try_into().expect("8 bytes"))
}

/// What the tables have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct State {
    pub rows: BTreeSet<u64>,
    pub prepared: BTreeSet<u64>,
}

impl State {
    /// What the engine has now.
    pub fn read(engine: &Arc<Engine>) -> Result<State, Error> {
        let mut rows: BTreeSet<u64> =
            engine.tables(DATABASE).iter().filter_map(|table| table.name.strip_prefix('t')?.parse().ok()).collect();
        let mut trx = engine.begin(TrxOptions::default());
        each_number(&mut trx, TABLE, &mut |number| {
            rows.insert(number);
        })?;
        for table in engine.tables(DATABASE) {
            let Some(name) = table.name.strip_prefix(FILLED) else { continue };
            let (number, rest) = name.split_once('_').expect("a number and how many rows there are");
            let number = number.parse().expect("a number");
            let mut found = 0;
            each_number(&mut trx, &table.name, &mut |of| found += u64::from(of == number))?;
            // A table without its rows is not what was logged.
            if found == rest.parse::<u64>().expect("a number") {
                rows.insert(number);
            }
        }
        Ok(State { rows, prepared: engine.prepared().iter().map(number_of).collect() })
    }

    /// Does what a transaction of the log does.
    fn apply(&mut self, entry: Entry) -> Result<(), String> {
        let is_new = match entry.act {
            Act::Rows => self.rows.insert(entry.number),
            Act::Prepare => self.prepared.insert(entry.number),
            Act::Commit(branch) => self.prepared.remove(&branch) && self.rows.insert(branch),
            Act::Rollback(branch) => self.prepared.remove(&branch),
        };
        if is_new { Ok(()) } else { Err(format!("the log says what cannot be: {entry:?}")) }
    }
}

/// The numbers that a table's rows carry.
fn each_number(trx: &mut Trx, table: &str, visit: &mut dyn FnMut(u64)) -> Result<(), Error> {
    let table = trx.open_table(DATABASE, table)?;
    let mut cursor = trx.cursor(&table, 0, ReadMode::Consistent, ColumnSet::first(1), ScanRange::ALL)?;
    let mut row = Row::new();
    while cursor.next(trx, &mut row)? {
        let stored = row.get(0).expect("a key");
        let id = i64::from_be_bytes(stored.try_into().expect("8 bytes")) ^ i64::MIN;
        visit(id as u64 / 10);
    }
    Ok(())
}

/// What was done, and what must be found.
#[derive(Default)]
pub struct Ledger {
    /// What there was when the log was reset.
    pub before: State,
    /// What there will have been if the reset has happened that is under way.
    pub resetting: Option<State>,
    pub acknowledged: BTreeSet<u64>,
    /// These may have happened.
    pub under_way: BTreeSet<u64>,
}

impl Ledger {
    pub fn begin(&mut self, number: u64) {
        self.under_way.insert(number);
    }

    pub fn acknowledge(&mut self, number: u64) {
        self.under_way.remove(&number);
        self.acknowledged.insert(number);
    }

    /// It has failed, and must not be found.
    pub fn forget(&mut self, number: u64) {
        self.under_way.remove(&number);
    }

    /// The log was reset.
    pub fn reset(&mut self) {
        self.before = self.resetting.take().expect("a reset was under way");
        self.acknowledged.clear();
    }

    /// Compares the log's transactions with the tables, and the numbers of both with what was acknowledged. Returns how
    /// many were compared. `loses`: commits do not wait for the redo log.
    pub fn compare(&mut self, engine: &Arc<Engine>, log: &BinaryLog, loses: bool) -> Result<u64, String> {
        let tables = State::read(engine).map_err(|error| format!("read the tables: {error}"))?;
        let entries = read(log)?;
        if self.resetting.is_some() && entries.is_empty() {
            self.reset();
        }
        self.resetting = None;
        let mut expected = self.before.clone();
        for entry in &entries {
            expected.apply(*entry)?;
        }
        for (what, logged, found) in
            [("rows", &expected.rows, &tables.rows), ("prepared", &expected.prepared, &tables.prepared)]
        {
            if logged != found {
                let only_logged: Vec<_> = logged.difference(found).collect();
                let only_found: Vec<_> = found.difference(logged).collect();
                return Err(format!("{what}: only in the log: {only_logged:?}; only in the engine: {only_found:?}"));
            }
        }
        let numbers: BTreeSet<u64> = entries.iter().map(|entry| entry.number).collect();
        if !loses && let Some(lost) = self.acknowledged.iter().find(|number| !numbers.contains(number)) {
            return Err(format!("transaction {lost} was acknowledged and is lost"));
        }
        let is_known = |number: &&u64| self.acknowledged.contains(number) || self.under_way.contains(number);
        if let Some(unknown) = numbers.iter().find(|number| !is_known(number)) {
            return Err(format!("transaction {unknown} was not committed"));
        }
        self.acknowledged = numbers;
        self.under_way.clear();
        Ok(entries.len() as u64)
    }
}

/// The transactions of the log, in its order. Reads all of it to its end, and checks that places and GTIDs follow each
/// other without a gap.
pub fn read(log: &BinaryLog) -> Result<Vec<Entry>, String> {
    let mut entries = Vec::new();
    let mut gno = 0;
    let told = |error: Error| format!("read the log: {error}");
    for listed in log.list().map_err(told)? {
        let Some(mut reader) = log.read(&listed.name).map_err(told)? else { continue };
        while let Some((at, event)) = EventReader::next_event(&mut reader).map_err(told)? {
            if u64::from(event.header.end_position) != at + event.bytes.len() as u64 {
                return Err(format!("{} at {at}: a wrong end position", listed.name));
            }
            match event.header.kind {
                EventKind::ROWS_QUERY => entries.push(Entry::decode(event.body)),
                EventKind::TRANSACTION_PAYLOAD => {
                    let payload = Payload::decode(event.body).map_err(|error| error.to_string())?;
                    let mut events = payload.events().map_err(|error| error.to_string())?;
                    let first = events.next_event().map_err(|error| error.to_string())?;
                    entries.push(Entry::decode(first.expect("a payload has events").body));
                    while events.next_event().map_err(|error| error.to_string())?.is_some() {}
                }
                EventKind::GTID => {
                    let named = gtid::gtid_of(&event).map_err(|error| error.to_string())?;
                    let next = named.and_then(|event| event.gtid).expect("a name").number;
                    if next != gno + 1 {
                        return Err(format!("GTID {next} follows {gno}"));
                    }
                    gno = next;
                }
                _ => {}
            }
        }
        if reader.position() != listed.bytes {
            return Err(format!("{} is read to {} of {}", listed.name, reader.position(), listed.bytes));
        }
    }
    let executed = log.executed().count();
    if executed != gno || entries.len() as u64 != gno {
        return Err(format!("{} transactions, {gno} GTIDs, {executed} executed", entries.len()));
    }
    Ok(entries)
}
