//! The binary log beside the engine: after each crash a transaction is in both or in neither.
//!
//! ```text
//!   open, complete the log --> transactions, tables, rotations, background steps ... crash --> compare
//!        ^                                                                                        |
//!        +----------------------------------------------------------------------------------------+
//! ```
//!
//! Each transaction has a number. It inserts rows that carry it, and its events carry it, too; a statement of definition
//! creates a table named after it, alone or together with rows. Some are branches of distributed transactions, prepared by one entry of the log and
//! ended by another, perhaps lives later. Invariants, after each crash:
//!
//! * The rows and the prepared branches are those of which the log tells, but for what was before a reset of the log.
//! * What was acknowledged is in both (where a commit waits for the redo log); the one that was under way is in both or
//!   in neither; one that was refused, for want of room or because of a failed read, is in neither.
//! * The log is read to its end without an error; its GTIDs ascend without a gap, and so do its numbers.
//!
//! `several` does the same with threads, in an order that the seed does not decide.

mod ledger;
pub mod several;

use std::sync::Arc;
use std::time::Duration;

use binlog::cache::PAYLOAD_BYTES_MAX;
use binlog::{BinaryLog, Cache, CacheSettings, Finished, Options};
use format::binlog::{Checksum, EventKind};
use format::ids::Lsn;
use storage::config::FlushLogAtCommit;
use storage::io::sim::{Random, SimDisk};
use storage::schema::Compression;
use storage::{CommitLog, Config, Engine, Error, Relatives, Table, Trx, TrxOptions};

use crate::Talk;
use crate::device;
use crate::model::ModelRow;
use crate::report::Report;
use crate::workload::{self, DATABASE};
use ledger::{Act, Entry, FILLED, Ledger, SOURCE, State, TABLE, number_of, xid_of};

pub fn seed(seed: u64, talk: Talk) -> Result<Report, String> {
    let mut random = Random::new(seed);
    let disk = device::draw_disk(&mut random);
    let config = Config {
        flush_log_at_commit: match random.below(4) {
            0 => FlushLogAtCommit::Write,
            1 => FlushLogAtCommit::EverySecond,
            _ => FlushLogAtCommit::Sync,
        },
        log_bytes: [1 << 20, 4 << 20][random.below(2) as usize],
        ..Config::tiny()
    };
    let mut run = Run {
        random,
        disk,
        config,
        report: Report::default(),
        talk: talk != Talk::Nothing,
        next: 1,
        ledger: Ledger::default(),
        sync_failed: false,
        write_failed: false,
        failing_read: None,
        limited: false,
    };
    run.live().map(|()| run.report)
}

struct Run {
    random: Random,
    disk: SimDisk,
    config: Config,
    report: Report,
    talk: bool,
    /// The number of the next transaction.
    next: u64,
    ledger: Ledger,
    sync_failed: bool,
    write_failed: bool,
    /// The number of the read that fails.
    failing_read: Option<u64>,
    /// The device may be full.
    limited: bool,
}

impl Run {
    /// Whether the disk has given a reason for errors.
    fn saw_fault(&mut self) -> bool {
        let seen = self.disk.take_seen();
        self.sync_failed |= seen.contains_key("syncs failed");
        self.write_failed |= seen.contains_key("writes failed");
        self.sync_failed || self.write_failed || self.disk.is_crashed()
    }

    fn has_read_failed(&self) -> bool {
        self.failing_read.is_some_and(|at| self.disk.reads() >= at)
    }

    fn say(&self, text: impl FnOnce() -> String) {
        if self.talk {
            println!("{}", text());
        }
    }

    fn live(&mut self) -> Result<(), String> {
        let told = |error: Error| format!("create: {error}");
        Engine::create(Arc::new(self.disk.clone()), &self.config).map_err(told)?;
        let engine = Engine::open(Arc::new(self.disk.clone()), self.config.clone()).map_err(told)?;
        let options = TrxOptions::default();
        let collation = format::collation::CollationId::UTF8MB4_GENERAL_CI;
        engine.create_database(DATABASE, collation, &options).map_err(told)?;
        engine.create_table(workload::definition(TABLE, Compression::NONE), &options).map_err(told)?;
        engine.close().map_err(told)?;
        drop(engine);
        for _ in 0..2 + self.random.below(4) {
            let (engine, log) = self.open()?;
            self.compare(&engine, &log)?;
            let died = self.work(&engine, &log);
            self.report.count("lives");
            match died {
                Ok(()) if self.random.chance(3) => match log.close().and_then(|()| engine.close()) {
                    Ok(()) => self.say(|| "closed".into()),
                    Err(_) if self.saw_fault() => {}
                    Err(Error::DiskFull { .. }) if self.limited => self.report.count("no room to close"),
                    Err(Error::Io { .. }) if self.has_read_failed() => self.report.count("closes given up"),
                    Err(error) => return Err(format!("close: {error}")),
                },
                Ok(()) => {}
                Err(Error::Poisoned | Error::Io { .. }) if self.saw_fault() => {
                    self.report.count("lives ended by the disk");
                }
                Err(error) => return Err(format!("without a fault: {error}")),
            }
            drop((engine, log));
            self.crash();
        }
        let (engine, log) = self.open()?;
        self.compare(&engine, &log)
    }

    fn crash(&mut self) {
        self.saw_fault();
        // After a failed sync the system still shows bytes that will never be on the device: then a kill is no test.
        let sync_failed = std::mem::take(&mut self.sync_failed);
        self.disk = match self.random.chance(3) && !sync_failed {
            true => self.disk.duplicate(),
            false => self.disk.crash(),
        };
        self.disk.set_faults(|faults| *faults = faults.of_device());
        (self.limited, self.write_failed, self.failing_read) = (false, false, None);
        self.say(|| "crash".into());
    }

    /// Opens engine and log, crashing on the way now and then.
    fn open(&mut self) -> Result<(Arc<Engine>, Arc<BinaryLog>), String> {
        for attempt in 0..4 {
            let crash_at = (attempt < 3 && self.random.chance(3))
                .then(|| self.disk.changes() + 1 + self.random.below([5, 30, 100][attempt as usize]));
            self.disk.set_faults(|faults| faults.crash_at = crash_at);
            let opened = binlog::open_engine(Arc::new(self.disk.clone()), self.config.clone()).and_then(|engine| {
                let checksum = self.checksum();
                let log = BinaryLog::open(engine.clone(), Options { checksum, ..options() })?;
                Ok((engine, log))
            });
            let crashed = self.disk.is_crashed();
            self.disk.set_faults(|faults| faults.crash_at = None);
            match opened {
                Ok(opened) if !crashed => return Ok(opened),
                Err(error) if !crashed => return Err(format!("open: {error}")),
                _ => self.report.count("recoveries interrupted"),
            }
            self.crash();
        }
        unreachable!("the last attempt is not interrupted")
    }

    fn compare(&mut self, engine: &Arc<Engine>, log: &BinaryLog) -> Result<(), String> {
        let loses = self.config.flush_log_at_commit != FlushLogAtCommit::Sync;
        let order = ledger::read(log)?;
        if !order.iter().map(|entry| entry.number).is_sorted() {
            return Err(format!("the log has another order than the commits: {order:?}"));
        }
        let compared = self.ledger.compare(engine, log, loses)?;
        self.report.add("transactions compared", compared);
        Ok(())
    }

    /// Draws the faults of a life.
    fn draw_faults(&mut self) {
        let scale = [20, 100, 400][self.random.below(3) as usize];
        let Run { random, disk, .. } = self;
        let mut once = |of: u64, so_far: u64, within: u64| random.chance(of).then(|| so_far + 1 + random.below(within));
        let crash_at = once(2, disk.changes(), scale);
        let failing_sync = if crash_at.is_none() { once(4, disk.syncs(), 20) } else { None };
        let failing_write = if crash_at.is_none() { once(6, disk.writes(), 60) } else { None };
        let failing_read = once(4, disk.reads(), 40);
        self.failing_read = failing_read;
        let room = [4, 40, 400][random.below(3) as usize];
        self.limited = random.chance(4);
        let capacity_blocks = self.limited.then(|| disk.used_blocks() + random.below(room));
        disk.set_faults(|faults| {
            faults.crash_at = crash_at;
            faults.failing_sync = failing_sync;
            faults.failing_write = failing_write;
            faults.failing_read = failing_read;
            faults.capacity_blocks = capacity_blocks;
        });
    }

    fn work(&mut self, engine: &Arc<Engine>, log: &Arc<BinaryLog>) -> Result<(), Error> {
        self.draw_faults();
        let compression = [None, Some(3)][self.random.below(2) as usize];
        let memory_bytes = [500, 5000][self.random.below(2) as usize];
        let settings = CacheSettings { memory_bytes, compression, payload_bytes_max: PAYLOAD_BYTES_MAX };
        let mut cache = log.cache(settings);
        for _ in 0..1 + self.random.below(60) {
            let done = self.one(engine, log, &mut cache, settings);
            self.go_on_after(engine, done)?;
            if engine.store().redo().age() > engine.store().redo().capacity() / 4 {
                let made_room = log.step().and_then(|()| engine.store().checkpoint().map(drop));
                self.go_on_after(engine, made_room)?;
            }
        }
        Ok(())
    }

    /// Whether the life goes on after an error: it was refused for a reason, and nothing of it is anywhere.
    fn go_on_after(&mut self, engine: &Engine, done: Result<(), Error>) -> Result<(), Error> {
        let Err(error) = done else { return Ok(()) };
        let is_excused = match &error {
            Error::DiskFull { .. } | Error::RollingBack => self.limited,
            Error::Io { .. } => self.has_read_failed(),
            _ => false,
        };
        if !is_excused {
            return Err(error);
        }
        if engine.store().is_poisoned() || self.disk.is_crashed() {
            return Err(Error::Poisoned);
        }
        self.say(|| format!("refused: {error}"));
        self.report.count("refused");
        self.ledger.under_way.clear();
        self.ledger.resetting = None;
        Ok(())
    }

    fn one(
        &mut self,
        engine: &Arc<Engine>,
        log: &Arc<BinaryLog>,
        cache: &mut Cache,
        settings: CacheSettings,
    ) -> Result<(), Error> {
        match self.random.below(24) {
            0 if self.random.chance(2) => log.rotate(),
            0 => log.set_checksum(self.checksum()),
            1 | 2 => log.step(),
            3 | 4 => engine.step().map(drop),
            5 if self.random.chance(4) => {
                self.ledger.resetting = Some(State::read(engine)?);
                log.reset()?;
                self.ledger.reset();
                self.report.count("resets");
                Ok(())
            }
            6 if self.random.chance(2) => {
                cache.reset(settings);
                self.create_filled(engine, log, cache)
            }
            6 => self.define(engine, log),
            7 | 8 => self.end_branch(engine, log),
            _ => {
                cache.reset(settings);
                self.transaction(engine, log, cache)
            }
        }
    }

    fn checksum(&mut self) -> Checksum {
        if self.random.chance(2) { Checksum::None } else { Checksum::Crc32 }
    }

    fn number(&mut self) -> u64 {
        self.next += 1;
        self.next - 1
    }

    fn transaction(&mut self, engine: &Arc<Engine>, log: &Arc<BinaryLog>, cache: &mut Cache) -> Result<(), Error> {
        let number = self.number();
        let claim = self.random.chance(4).then(|| engine.claim_xid(xid_of(number)).expect("the name is new"));
        let options = TrxOptions::default();
        let mut trx =
            claim.as_ref().map_or_else(|| engine.begin(options.clone()), |claim| claim.begin(options.clone()));
        let table = trx.open_table(DATABASE, TABLE)?;
        insert(&mut trx, &table, number, 1 + self.random.below(3))?;
        // Now and then too long for the redo log.
        let bytes = [0, 10, 300, 3000, 3000, 60_000, 200_000][self.random.below(7) as usize];
        let act = if claim.is_some() { Act::Prepare } else { Act::Rows };
        fill(log, cache, Entry { number, act }, bytes, &mut self.random)?;
        if self.random.chance(10) {
            return trx.rollback();
        }
        if self.random.chance(20) {
            // A long transaction may have a file of the old kind.
            log.set_checksum(self.checksum())?;
        }
        self.say(|| format!("transaction {number} with {bytes} bytes, {act:?}"));
        self.report.count(if bytes > 32 << 10 { "long transactions" } else { "transactions" });
        let pending = log.pending(cache.finish()?, number as u32, false)?;
        self.ledger.begin(number);
        match claim {
            Some(claim) => trx.prepare_with(claim, false, Some(&pending))?,
            None => trx.commit_with(Some(&pending))?,
        }
        self.ledger.acknowledge(number);
        write(log, &mut self.random)
    }

    /// Commits a prepared branch, or rolls it back.
    fn end_branch(&mut self, engine: &Arc<Engine>, log: &Arc<BinaryLog>) -> Result<(), Error> {
        let prepared = engine.prepared();
        if prepared.is_empty() {
            return Ok(());
        }
        let xid = &prepared[self.random.below(prepared.len() as u64) as usize];
        let (number, commits) = (self.number(), self.random.chance(2));
        self.report.count(if commits { "branches committed" } else { "branches rolled back" });
        self.say(|| format!("{number} ends branch {}, commits: {commits}", number_of(xid)));
        self.ledger.begin(number);
        if !end_prepared(engine, log, xid, number, commits)? {
            panic!("a prepared branch is not to be had");
        }
        self.ledger.acknowledge(number);
        write(log, &mut self.random)
    }

    /// Creates a table together with its rows: CREATE TABLE ... SELECT.
    fn create_filled(&mut self, engine: &Arc<Engine>, log: &Arc<BinaryLog>, cache: &mut Cache) -> Result<(), Error> {
        let (number, rows) = (self.number(), self.random.below(5));
        let bytes = [0, 300, 3000, 60_000, 200_000][self.random.below(5) as usize];
        fill(log, cache, Entry { number, act: Act::Rows }, bytes, &mut self.random)?;
        let gives_up = self.random.chance(5);
        self.say(|| format!("table {number} with {rows} rows and {bytes} bytes, is given up: {gives_up}"));
        self.report.count("tables created with rows");
        let options = TrxOptions::default();
        let name = format!("{FILLED}{number}_{rows}");
        let locked = engine.lock_definitions(&[(DATABASE, &name)], Relatives::Along, &options)?;
        let unfinished = locked.begin_table(engine, workload::definition(&name, Compression::NONE), false)?;
        let mut trx = engine.begin(options.clone());
        insert(&mut trx, unfinished.table(), number, rows)?;
        if gives_up {
            // The table goes first, or its rows do.
            if self.random.chance(2) {
                drop(unfinished);
            }
            return trx.rollback();
        }
        trx.commit()?;
        let pending = log.pending(cache.finish()?, number as u32, false)?.with_definition();
        self.ledger.begin(number);
        unfinished.finish(Some(&pending))?;
        self.ledger.acknowledge(number);
        write(log, &mut self.random)
    }

    fn define(&mut self, engine: &Arc<Engine>, log: &Arc<BinaryLog>) -> Result<(), Error> {
        let number = self.number();
        self.say(|| format!("table {number}"));
        self.report.count("tables created");
        self.ledger.begin(number);
        define(engine, log, number)?;
        self.ledger.acknowledge(number);
        write(log, &mut self.random)
    }
}

/// What a commit does with the log's file. Sometimes a reader waits for it.
fn write(log: &BinaryLog, random: &mut Random) -> Result<(), Error> {
    if random.chance(2) {
        return log.wait_beyond(log.end().get(), Duration::ZERO).map(drop);
    }
    log.write()
}

fn options() -> Options {
    Options {
        base: "binlog".into(),
        server: "8.0.0-sim".into(),
        version: 80000,
        server_id: 1,
        uuid: SOURCE,
        gtids: true,
        checksum: Checksum::Crc32,
        file_bytes_max: 64 << 10,
        expire_seconds: 0,
    }
}

/// Inserts rows that carry a number.
fn insert(trx: &mut Trx, table: &Arc<Table>, number: u64, rows: u64) -> Result<(), Error> {
    for part in 0..rows {
        let row = ModelRow { k: part as i32, name: None, body: None };
        let stored = workload::encoded((number * 10 + part) as i64, &row);
        let values: Vec<Option<&[u8]>> = stored.iter().map(Option::as_deref).collect();
        trx.insert(table, &values)?;
    }
    Ok(())
}

/// Appends the events of a transaction, of about so many bytes.
fn fill(log: &BinaryLog, cache: &mut Cache, entry: Entry, bytes: usize, random: &mut Random) -> Result<(), Error> {
    cache.append(log.header(EventKind::ROWS_QUERY, entry.number as u32, 0), |out| entry.encode(out))?;
    let mut left = bytes;
    while left > 0 {
        let piece = left.min(9000);
        let filler: Vec<u8> = (0..piece).map(|_| random.below(256) as u8).collect();
        cache.append(log.header(EventKind::IGNORABLE, 0, 0), |out| out.extend_from_slice(&filler))?;
        left -= piece;
    }
    Ok(())
}

/// Ends a prepared branch by an entry of the log. False = the branch is not to be had.
fn end_prepared(
    engine: &Arc<Engine>,
    log: &Arc<BinaryLog>,
    xid: &format::xid::Xid,
    number: u64,
    commits: bool,
) -> Result<bool, Error> {
    let branch = number_of(xid);
    let act = if commits { Act::Commit(branch) } else { Act::Rollback(branch) };
    let header = log.header(EventKind::ROWS_QUERY, number as u32, 0);
    let finished = Finished::single(header, |out| Entry { number, act }.encode(out));
    let pending = log.pending(finished, number as u32, true)?;
    match commits {
        true => engine.commit_prepared_with(xid, false, Some(&pending)),
        false => engine.rollback_prepared_with(xid, false, Some(&pending)),
    }
}

/// Creates a table that is named after a number.
fn define(engine: &Arc<Engine>, log: &Arc<BinaryLog>, number: u64) -> Result<(), Error> {
    let header = log.header(EventKind::ROWS_QUERY, number as u32, 0);
    let finished = Finished::single(header, |out| Entry { number, act: Act::Rows }.encode(out));
    let shared = Shared { log: log.clone(), finished: std::sync::Mutex::new(Some(finished)) };
    let options = TrxOptions { log: Some(Arc::new(shared)), ..TrxOptions::default() };
    engine.create_table(workload::definition(&format!("t{number}"), Compression::NONE), &options).map(drop)
}

/// A statement's event on its way through the engine.
struct Shared {
    log: Arc<BinaryLog>,
    finished: std::sync::Mutex<Option<Finished>>,
}

impl CommitLog for Shared {
    fn commit(&self, append: &mut dyn FnMut(storage::Annexed<'_>) -> storage::Result<Lsn>) -> storage::Result<Lsn> {
        let finished = self.finished.lock().expect("one thread").take().expect("one commit");
        self.log.pending(finished, 0, true)?.commit(append)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commits_are_written_together_until_a_reader_waits() {
        let disk = SimDisk::new(1);
        let config = Config { background_threads: false, ..Config::tiny() };
        Engine::create(Arc::new(disk.clone()), &config).unwrap();
        let engine = Engine::open(Arc::new(disk.clone()), config.clone()).unwrap();
        let collation = format::collation::CollationId::DEFAULT;
        engine.create_database(DATABASE, collation, &TrxOptions::default()).unwrap();
        let log = BinaryLog::open(engine.clone(), options()).unwrap();
        let begun = log.end().get();
        let commit = |number| {
            define(&engine, &log, number).unwrap();
            log.write().unwrap();
        };
        (1..10).for_each(commit);
        assert_eq!(log.end().get(), begun, "nobody waits");
        let together = log.wait_beyond(begun, Duration::from_secs(60)).unwrap();
        assert!(together.bytes > begun.bytes);
        let reader = {
            let log = log.clone();
            std::thread::spawn(move || log.wait_beyond(together, Duration::from_secs(60)).unwrap())
        };
        // The reader may be about to wait; one of these commits sees it.
        (10..).take_while(|_| !reader.is_finished()).for_each(commit);
        assert!(reader.join().unwrap().bytes > together.bytes);
        log.close().unwrap();
        engine.close().unwrap();
    }
}
