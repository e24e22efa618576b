//! The binary log beside the engine: after each crash a transaction is in both or in neither.
//!
//! ```text
//!   open, complete the log --> transactions, tables, rotations, background steps ... crash --> compare
//!        ^                                                                                        |
//!        +----------------------------------------------------------------------------------------+
//! ```
//!
//! Each transaction has a number. It inserts rows that carry it, and its events carry it, too; a statement of definition
//! creates a table named after it. Invariants, after each crash:
//!
//! * The numbers in the tables are those in the log, but for transactions before a reset of the log.
//! * What was acknowledged is in both (where a commit waits for the redo log); the one that was under way is in both or
//!   in neither.
//! * The log is read to its end without an error; its GTIDs ascend without a gap, and so do its numbers.

use std::collections::BTreeSet;
use std::sync::Arc;

use binlog::cache::PAYLOAD_BYTES_MAX;
use binlog::{BinaryLog, CacheSettings, EventReader, Finished, Options};
use format::binlog::payload::Payload;
use format::binlog::{EventKind, Uuid, gtid};
use format::ids::Lsn;
use storage::config::FlushLogAtCommit;
use storage::io::sim::{Random, SimDisk};
use storage::schema::{ColumnSet, Compression, ReadMode, Row, ScanRange};
use storage::{Config, Engine, Error, TrxOptions};

use crate::Talk;
use crate::device;
use crate::model::ModelRow;
use crate::report::Report;
use crate::workload::{self, DATABASE};

const TABLE: &str = "logged";
const SOURCE: Uuid = Uuid([7; 16]);

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
        acknowledged: BTreeSet::new(),
        under_way: None,
        before_reset: 0,
        resetting: false,
        sync_failed: false,
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
    acknowledged: BTreeSet<u64>,
    under_way: Option<u64>,
    /// Numbers up to here are no longer in the log.
    before_reset: u64,
    resetting: bool,
    sync_failed: bool,
}

impl Run {
    /// Whether the disk has given a reason for errors.
    fn saw_fault(&mut self) -> bool {
        let seen = self.disk.take_seen();
        self.sync_failed |= seen.iter().any(|(what, _)| *what == "syncs failed");
        self.sync_failed || self.disk.is_crashed()
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
                Ok(()) if self.random.chance(3) => {
                    let closed = log.close().and_then(|()| engine.close());
                    if !self.saw_fault() {
                        closed.map_err(|error| format!("close: {error}"))?;
                    }
                    self.say(|| "closed".into());
                }
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
        self.disk.set_faults(|faults| {
            faults.crash_at = None;
            faults.failing_sync = None;
        });
        self.say(|| "crash".into());
    }

    /// Opens engine and log, crashing on the way now and then.
    fn open(&mut self) -> Result<(Arc<Engine>, Arc<BinaryLog>), String> {
        for attempt in 0..4 {
            let crash_at = (attempt < 3 && self.random.chance(3))
                .then(|| self.disk.changes() + 1 + self.random.below([5, 30, 100][attempt as usize]));
            self.disk.set_faults(|faults| faults.crash_at = crash_at);
            let opened = Engine::open(Arc::new(self.disk.clone()), self.config.clone()).and_then(|engine| {
                binlog::complete(&engine)?;
                let log = BinaryLog::open(engine.clone(), self.options())?;
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

    fn options(&self) -> Options {
        Options {
            base: "binlog".into(),
            server: "8.0.0-sim".into(),
            version: 80000,
            server_id: 1,
            uuid: SOURCE,
            gtids: true,
            file_bytes_max: 64 << 10,
            expire_seconds: 0,
        }
    }

    fn work(&mut self, engine: &Arc<Engine>, log: &Arc<BinaryLog>) -> Result<(), Error> {
        let scale = [20, 100, 400][self.random.below(3) as usize];
        if self.random.chance(2) {
            let at = self.disk.changes() + 1 + self.random.below(scale);
            self.disk.set_faults(|faults| faults.crash_at = Some(at));
        } else if self.random.chance(4) {
            let at = self.disk.syncs() + 1 + self.random.below(20);
            self.disk.set_faults(|faults| faults.failing_sync = Some(at));
        }
        let compression = [None, Some(3)][self.random.below(2) as usize];
        let memory_bytes = [500, 5000][self.random.below(2) as usize];
        let settings = CacheSettings { memory_bytes, compression, payload_bytes_max: PAYLOAD_BYTES_MAX };
        let mut cache = log.cache(settings);
        for _ in 0..1 + self.random.below(60) {
            match self.random.below(24) {
                0 => log.rotate()?,
                1 | 2 => log.step()?,
                3 | 4 => drop(engine.step()?),
                5 if self.random.chance(4) => {
                    self.resetting = true;
                    log.reset()?;
                    (self.before_reset, self.resetting) = (self.next - 1, false);
                    self.report.count("resets");
                }
                6 => self.define(engine, log)?,
                _ => {
                    cache.reset(settings);
                    self.transaction(engine, log, &mut cache)?;
                }
            }
            if engine.store().redo().age() > engine.store().redo().capacity() / 4 {
                log.step()?;
                engine.store().checkpoint()?;
            }
        }
        Ok(())
    }

    fn number(&mut self) -> u64 {
        self.next += 1;
        self.next - 1
    }

    fn transaction(
        &mut self,
        engine: &Arc<Engine>,
        log: &Arc<BinaryLog>,
        cache: &mut binlog::Cache,
    ) -> Result<(), Error> {
        let number = self.number();
        let mut trx = engine.begin(TrxOptions::default());
        let table = trx.open_table(DATABASE, TABLE)?;
        for part in 0..1 + self.random.below(3) {
            let row = ModelRow { k: part as i32, name: None, body: None };
            let stored = workload::encoded((number * 10 + part) as i64, &row);
            let values: Vec<Option<&[u8]>> = stored.iter().map(Option::as_deref).collect();
            trx.insert(&table, &values)?;
        }
        // Now and then too long for the redo log.
        let bytes = [0, 10, 300, 3000, 3000, 60_000, 200_000][self.random.below(7) as usize];
        let header = log.header(EventKind::ROWS_QUERY, number as u32, 0);
        cache.append(header, |out| out.extend_from_slice(&number.to_le_bytes()))?;
        let mut left = bytes;
        while left > 0 {
            let piece = left.min(9000);
            let filler: Vec<u8> = (0..piece).map(|_| self.random.below(256) as u8).collect();
            cache.append(log.header(EventKind::IGNORABLE, 0, 0), |out| out.extend_from_slice(&filler))?;
            left -= piece;
        }
        if self.random.chance(10) {
            return trx.rollback();
        }
        self.say(|| format!("transaction {number} with {bytes} bytes"));
        self.report.count(if bytes > 32 << 10 { "long transactions" } else { "transactions" });
        self.under_way = Some(number);
        let pending = log.pending(cache.finish()?, number as u32, false)?;
        trx.commit_with(Some(&pending))?;
        log.write()?;
        self.acknowledge(number);
        Ok(())
    }

    fn acknowledge(&mut self, number: u64) {
        self.under_way = None;
        self.acknowledged.insert(number);
    }

    fn define(&mut self, engine: &Arc<Engine>, log: &Arc<BinaryLog>) -> Result<(), Error> {
        let number = self.number();
        self.say(|| format!("table {number}"));
        self.report.count("tables created");
        let header = log.header(EventKind::ROWS_QUERY, number as u32, 0);
        let finished = Finished::single(header, |out| out.extend_from_slice(&number.to_le_bytes()));
        let shared = Shared { log: log.clone(), finished: std::sync::Mutex::new(Some(finished)) };
        let options = TrxOptions { log: Some(Arc::new(shared)), ..TrxOptions::default() };
        self.under_way = Some(number);
        engine.create_table(workload::definition(&format!("t{number}"), Compression::NONE), &options)?;
        log.write()?;
        self.acknowledge(number);
        Ok(())
    }

    /// The numbers in the tables.
    fn in_tables(engine: &Arc<Engine>) -> Result<BTreeSet<u64>, Error> {
        let mut found: BTreeSet<u64> =
            engine.tables(DATABASE).iter().filter_map(|table| table.name.strip_prefix('t')?.parse().ok()).collect();
        let mut trx = engine.begin(TrxOptions::default());
        let table = trx.open_table(DATABASE, TABLE)?;
        let mut cursor = trx.cursor(&table, 0, ReadMode::Consistent, ColumnSet::first(1), ScanRange::ALL)?;
        let mut row = Row::new();
        while cursor.next(&mut trx, &mut row)? {
            let stored = row.get(0).expect("a key");
            let id = i64::from_be_bytes(stored.try_into().expect("8 bytes")) ^ i64::MIN;
            found.insert(id as u64 / 10);
        }
        Ok(found)
    }

    /// The numbers in the log, in its order; checks the order of the GTIDs.
    fn in_log(log: &BinaryLog) -> Result<Vec<u64>, String> {
        let mut numbers = Vec::new();
        let mut gno = 0;
        let told = |error: Error| format!("read the log: {error}");
        for listed in log.list().map_err(told)? {
            let Some(mut reader) = log.read(&listed.name).map_err(told)? else { continue };
            while let Some((at, event)) = EventReader::next_event(&mut reader).map_err(told)? {
                if u64::from(event.header.end_position) != at + event.bytes.len() as u64 {
                    return Err(format!("{} at {at}: a wrong end position", listed.name));
                }
                let number = |body: &[u8]| u64::from_le_bytes(body.try_into().expect("8 bytes"));
                match event.header.kind {
                    EventKind::ROWS_QUERY => numbers.push(number(event.body)),
                    EventKind::TRANSACTION_PAYLOAD => {
                        let payload = Payload::decode(event.body).map_err(|error| error.to_string())?;
                        let mut events = payload.events().map_err(|error| error.to_string())?;
                        let first = events.next_event().map_err(|error| error.to_string())?;
                        numbers.push(number(first.expect("a payload has events").body));
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
        if executed != gno || numbers.len() as u64 != gno {
            return Err(format!("{} transactions, {gno} GTIDs, {executed} executed", numbers.len()));
        }
        Ok(numbers)
    }

    fn compare(&mut self, engine: &Arc<Engine>, log: &BinaryLog) -> Result<(), String> {
        let tables = Run::in_tables(engine).map_err(|error| format!("read the tables: {error}"))?;
        let order = Run::in_log(log)?;
        if !order.is_sorted() {
            return Err(format!("the log has another order than the commits: {order:?}"));
        }
        let logged: BTreeSet<u64> = order.into_iter().collect();
        if self.resetting && logged.is_empty() {
            self.before_reset = self.next - 1;
        }
        self.resetting = false;
        let expected: BTreeSet<u64> = tables.iter().copied().filter(|number| *number > self.before_reset).collect();
        if logged != expected {
            let only_logged: Vec<_> = logged.difference(&expected).collect();
            let only_tables: Vec<_> = expected.difference(&logged).collect();
            return Err(format!("only in the log: {only_logged:?}; only in the tables: {only_tables:?}"));
        }
        if self.config.flush_log_at_commit == FlushLogAtCommit::Sync
            && let Some(lost) = self.acknowledged.iter().find(|number| !tables.contains(number))
        {
            return Err(format!("transaction {lost} was acknowledged and is lost"));
        }
        let unknown =
            tables.iter().find(|number| !self.acknowledged.contains(number) && self.under_way != Some(**number));
        if let Some(unknown) = unknown {
            return Err(format!("transaction {unknown} was not committed"));
        }
        self.report.add("transactions compared", logged.len() as u64);
        self.acknowledged = tables;
        self.under_way = None;
        Ok(())
    }
}

/// A statement's event on its way through the engine.
struct Shared {
    log: Arc<BinaryLog>,
    finished: std::sync::Mutex<Option<Finished>>,
}

impl storage::CommitLog for Shared {
    fn commit(&self, append: &mut dyn FnMut(storage::Annexed<'_>) -> storage::Result<Lsn>) -> storage::Result<Lsn> {
        let finished = self.finished.lock().expect("one thread").take().expect("one commit");
        self.log.pending(finished, 0, true)?.commit(append)
    }
}
