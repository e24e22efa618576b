//! The ledger: what a client was promised, kept outside the server.
//!
//! Each writer runs small transactions, `INSERT` of the next entry and `UPDATE`
//! of its counter, and notes an entry as *promised* once COMMIT was answered.
//! After a crash the table must hold every promised entry, at most one more (the
//! one whose answer was under way when the server died), nothing twice, nothing
//! half: the counter agrees with the entries.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};

use crate::client::{Client, Error};
use crate::process::Server;

const SCHEMA: [&str; 4] = [
    "CREATE DATABASE IF NOT EXISTS ledger",
    "CREATE TABLE ledger.entries (writer INT NOT NULL, entry BIGINT NOT NULL, note VARCHAR(300) NOT NULL, \
     PRIMARY KEY (writer, entry), UNIQUE KEY note_of_writer (note, writer)) ENGINE=InnoDB ENCRYPTION='Y'",
    "CREATE TABLE ledger.counters (writer INT NOT NULL PRIMARY KEY, entries BIGINT NOT NULL) ENGINE=InnoDB",
    "CREATE TABLE ledger.scratch (id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY, body TEXT) ENGINE=InnoDB",
];

/// The note of an entry: derived, so that a row's content can be verified.
fn note(writer: u64, entry: u64) -> String {
    let word = format!("{:x}", (writer << 40 | entry).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    word.repeat(1 + entry as usize % 12)
}

/// The client's side of the promises.
pub struct Ledger {
    promised: Vec<Arc<AtomicU64>>,
}

/// A view of the promises from elsewhere.
pub struct Promises(Vec<Arc<AtomicU64>>);

impl Promises {
    /// How many entries each writer has been promised by now.
    pub fn now(&self) -> Vec<u64> {
        self.0.iter().map(|promised| promised.load(Ordering::SeqCst)).collect()
    }
}

/// Writers at work.
pub struct Writers {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<Result<(), String>>>,
}

/// What was found after a crash.
#[derive(Debug, Default)]
pub struct Audit {
    pub promised: u64,
    pub found: u64,
}

impl Ledger {
    /// Creates the tables.
    pub fn create(server: &Server, writers: usize) -> Result<Ledger, Error> {
        let mut client = server.connect()?;
        for statement in SCHEMA {
            client.query(statement)?;
        }
        for writer in 0..writers {
            client.query(&format!("INSERT INTO ledger.counters VALUES ({writer}, 0)"))?;
        }
        Ok(Ledger { promised: (0..writers).map(|_| Arc::default()).collect() })
    }

    /// Starts one thread per writer, each continuing after its last promise.
    pub fn write(&self, server: &Server) -> Result<Writers, Error> {
        let stop = Arc::new(AtomicBool::new(false));
        let mut threads = Vec::new();
        for (writer, promised) in self.promised.iter().enumerate() {
            let mut client = server.connect()?;
            let (stop, promised) = (stop.clone(), promised.clone());
            threads.push(thread::spawn(move || write_until(&mut client, writer as u64, &promised, &stop)));
        }
        Ok(Writers { stop, threads })
    }

    /// The counters of promises, for tests that need to know what had been promised at some moment.
    pub fn promises(&self) -> Promises {
        Promises(self.promised.clone())
    }

    /// Compares the tables with the promises, and takes over the entry that may
    /// have been committed without an answer.
    pub fn audit(&self, server: &Server) -> Result<Audit, String> {
        self.audit_since(server, &self.promised())
    }

    /// The same, but only what had been promised at `floor` must be there: what was
    /// promised later, by a server whose disk had no power any more, may be gone.
    pub fn audit_since(&self, server: &Server, floor: &[u64]) -> Result<Audit, String> {
        let (audit, found) = self.compare(server, floor, &self.promised())?;
        for (promise, found) in self.promised.iter().zip(found) {
            promise.store(found, Ordering::SeqCst);
        }
        Ok(audit)
    }

    /// The promises, for writers of another kind: how many entries each writer was promised.
    pub fn counters(&self) -> &[Arc<AtomicU64>] {
        &self.promised
    }

    /// What has been promised so far, by writer.
    pub fn promised(&self) -> Vec<u64> {
        self.promises().now()
    }

    /// Looks at a copy of the database made while the writers worked: it holds what was promised `before` it was begun,
    /// and of what came until `after` it had ended a beginning.
    pub fn audit_copy(&self, server: &Server, before: &[u64], after: &[u64]) -> Result<Audit, String> {
        self.compare(server, before, after).map(|(audit, _)| audit)
    }

    fn compare(&self, server: &Server, before: &[u64], after: &[u64]) -> Result<(Audit, Vec<u64>), String> {
        let mut client = server.connect().map_err(|error| error.to_string())?;
        let mut audit = Audit::default();
        let mut all_found = Vec::new();
        for (writer, (&promised, &after)) in before.iter().zip(after).enumerate() {
            let mut ask = |statement: String| client.query(&statement).map_err(|error| format!("{statement}: {error}"));
            let rows =
                ask(format!("SELECT entry, note FROM ledger.entries WHERE writer = {writer} ORDER BY entry"))?.rows;
            let found = rows.len() as u64;
            for (expected, row) in (1..).zip(&rows) {
                let entry: u64 = row[0].as_deref().and_then(|text| text.parse().ok()).unwrap_or(0);
                if entry != expected {
                    return Err(format!("writer {writer}: entry {entry} stands where {expected} should"));
                }
                if row[1].as_deref() != Some(note(writer as u64, entry).as_str()) {
                    return Err(format!("writer {writer}: the note of entry {entry} is not what was written"));
                }
            }
            if found < promised {
                return Err(format!("writer {writer}: {promised} entries were promised, {found} are there"));
            }
            if found > after + 1 {
                return Err(format!("writer {writer}: {found} entries, but only {after} + 1 can have been sent"));
            }
            let counter = ask(format!("SELECT entries FROM ledger.counters WHERE writer = {writer}"))?.number() as u64;
            if counter != found {
                return Err(format!("writer {writer}: the counter says {counter}, there are {found} entries"));
            }
            // The same question over the secondary index.
            let by_index = ask(format!(
                "SELECT COUNT(*) FROM ledger.entries FORCE INDEX (note_of_writer) WHERE note >= '' AND writer = {writer}"
            ))?;
            if by_index.number() as u64 != found {
                return Err(format!("writer {writer}: the index has {} entries of {found}", by_index.number()));
            }
            all_found.push(found);
            audit.promised += promised;
            audit.found += found;
        }
        Ok((audit, all_found))
    }
}

impl Writers {
    /// Waits for the writers, which end when the server has died or `stop` is true.
    pub fn join(self, stop: bool) -> Result<(), String> {
        if stop {
            self.stop.store(true, Ordering::SeqCst);
        }
        for thread in self.threads {
            thread.join().map_err(|_| "a writer panicked".to_string())??;
        }
        Ok(())
    }
}

fn write_until(client: &mut Client, writer: u64, promised: &AtomicU64, stop: &AtomicBool) -> Result<(), String> {
    while !stop.load(Ordering::SeqCst) {
        let entry = promised.load(Ordering::SeqCst) + 1;
        match write_entry(client, writer, entry) {
            Ok(()) => promised.store(entry, Ordering::SeqCst),
            Err(Error::Io(_)) => return Ok(()), // The server died, as the test wants.
            Err(Error::Server { code: 1205 | 1213, .. }) => {
                let _ = client.query("ROLLBACK");
            }
            Err(Error::Server { code: 1053, .. }) => return Ok(()),
            Err(error) => return Err(format!("writer {writer}, entry {entry}: {error}")),
        }
    }
    Ok(())
}

/// One transaction of a writer: its next entry, and its counter.
pub fn write_entry(client: &mut Client, writer: u64, entry: u64) -> Result<(), Error> {
    client.query("BEGIN")?;
    client.query(&format!("INSERT INTO ledger.entries VALUES ({writer}, {entry}, '{}')", note(writer, entry)))?;
    client.query(&format!("UPDATE ledger.counters SET entries = entries + 1 WHERE writer = {writer}"))?;
    if entry.is_multiple_of(7) {
        // Work that is thrown away, with pages of its own, so that rollback has something to do.
        client.query("SAVEPOINT before_scratch")?;
        client.query(&format!("INSERT INTO ledger.scratch (body) VALUES (REPEAT('{entry} ', 3000))"))?;
        client.query("ROLLBACK TO before_scratch")?;
    }
    client.query("COMMIT")?;
    Ok(())
}
