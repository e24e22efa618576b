//! One seed: lives of an engine, each ended by a crash or a clean close, and what
//! must hold when the next life begins.
//!
//! ```text
//!   create --> work ... crash --> recover (perhaps crashing again) --> check, compare
//!                ^                                                          |
//!                +----------------------------------------------------------+
//! ```
//!
//! Invariants, looked at after each crash:
//!
//! * What was committed and acknowledged is there, what was not is not. Of the one
//!   call that the crash interrupted, all or nothing.
//! * DDL is atomic in the same sense.
//! * `Engine::check` finds nothing.
//! * A snapshot taken before changes shows none of them, however long it lives.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use storage::io::Disk;
use storage::io::sim::{Random, SimDisk};
use storage::schema::{Compression, ReadMode, Row};
use storage::{Config, Engine, Error, Table, Trx, TrxOptions};

use crate::model::{Change, Model, ModelRow, ModelTable};
use crate::workload::{self, DATABASE};

/// What a run has done, for the summary line.
#[derive(Clone, Debug, Default)]
pub struct Report {
    pub lives: u64,
    pub operations: u64,
    pub commits: u64,
    pub crashes: u64,
    pub interrupted_recoveries: u64,
    pub changes_of_disk: u64,
}

impl Report {
    pub fn add(&mut self, other: &Report) {
        self.lives += other.lives;
        self.operations += other.operations;
        self.commits += other.commits;
        self.crashes += other.crashes;
        self.interrupted_recoveries += other.interrupted_recoveries;
        self.changes_of_disk += other.changes_of_disk;
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} lives, {} operations, {} commits, {} crashes, {} of them in recovery, {} disk operations",
            self.lives,
            self.operations,
            self.commits,
            self.crashes,
            self.interrupted_recoveries,
            self.changes_of_disk
        )
    }
}

/// Transactions that may be open at once. Each owns the ids that leave its rest modulo this, so that none waits for
/// another: the simulator has one thread.
const SLOTS: i64 = 3;

/// Runs one seed. The error is a description of what does not hold.
pub fn seed(seed: u64, talk: bool) -> Result<Report, String> {
    let mut random = Random::new(seed);
    let disk = SimDisk::with_blocks(random.next(), [512, 1024, 4096][random.below(3) as usize]);
    let config = draw_config(&mut random);
    let mut run = Run { random, config, report: Report::default(), talk, allowed: vec![Model::default()], disk, next_table: 0 };
    let disk: Arc<dyn Disk> = Arc::new(run.disk.clone());
    Engine::create(disk, &run.config).map_err(|error| format!("create: {error}"))?;
    let lives = 1 + run.random.below(4);
    for _ in 0..lives {
        run.life()?;
        run.report.lives += 1;
    }
    run.verify()?;
    Ok(run.report)
}

fn draw_config(random: &mut Random) -> Config {
    Config {
        page_bytes: [4096, 8192, 16384][random.below(3) as usize],
        pool_bytes: (24 + random.below(80)) * 16384,
        log_bytes: (1 << 20) << random.below(3),
        page_cleaners: 1,
        ..Config::tiny()
    }
}

struct Run {
    random: Random,
    config: Config,
    report: Report,
    talk: bool,
    /// What the database may hold now; more than one while a call's outcome is unknown.
    allowed: Vec<Model>,
    disk: SimDisk,
    next_table: u64,
}

/// A transaction under way.
struct Open {
    trx: Trx,
    changes: Vec<Change>,
}

/// A reader with its own past.
struct Snapshot {
    trx: Trx,
    model: Model,
}

/// Why a life ends.
enum End {
    /// The disk is gone, or a sync failed; the models are what may be found.
    Crash,
    /// Something does not hold.
    Failure(String),
}

impl Run {
    fn say(&self, text: impl FnOnce() -> String) {
        if self.talk {
            println!("{}", text());
        }
    }

    fn model(&self) -> &Model {
        assert_eq!(self.allowed.len(), 1, "nothing is unknown while the engine works");
        &self.allowed[0]
    }

    fn options(&self) -> TrxOptions {
        TrxOptions {
            lock_wait_timeout: Duration::ZERO,
            metadata_wait_timeout: Duration::ZERO,
            ..TrxOptions::default()
        }
    }

    fn open_engine(&mut self) -> Result<Arc<Engine>, String> {
        // A recovery may be interrupted, and the next one, too.
        for attempt in 0..4 {
            let interrupted = attempt < 3 && self.random.chance(3);
            if interrupted {
                let at = 1 + self.random.below(200);
                self.disk.set_faults(|faults| faults.crash_at = Some(at));
            }
            let disk: Arc<dyn Disk> = Arc::new(self.disk.clone());
            match Engine::open(disk, self.config.clone()) {
                Ok(engine) if !interrupted => return Ok(engine),
                Ok(engine) => {
                    // It survived the point; the crash comes in the life that follows.
                    if !self.disk.is_crashed() {
                        self.disk.set_faults(|faults| faults.crash_at = None);
                        return Ok(engine);
                    }
                    drop(engine);
                }
                Err(error) if interrupted && self.disk.is_crashed() => {
                    self.say(|| format!("  recovery interrupted: {error}"));
                }
                Err(error) => return Err(format!("open: {error}")),
            }
            self.report.interrupted_recoveries += 1;
            self.crash();
        }
        unreachable!("the last attempt is not interrupted")
    }

    fn crash(&mut self) {
        self.report.crashes += 1;
        self.report.changes_of_disk += self.disk.changes();
        self.disk = self.disk.crash();
    }

    /// The state found on disk must be one of those allowed; it then is the only one.
    fn settle(&mut self, engine: &Arc<Engine>) -> Result<(), String> {
        let found = workload::everything(engine)?;
        match self.allowed.iter().position(|model| model.difference(&found).is_none()) {
            Some(at) => {
                self.allowed = vec![self.allowed.swap_remove(at)];
                Ok(())
            }
            None => {
                let reasons: Vec<_> = self.allowed.iter().filter_map(|model| model.difference(&found)).collect();
                Err(format!("not what was committed: {}", reasons.join("; or: ")))
            }
        }
    }

    fn check(engine: &Engine) -> Result<(), String> {
        let report = engine.check().map_err(|error| format!("check: {error}"))?;
        if report.errors.is_empty() { Ok(()) } else { Err(format!("check: {}", report.errors.join("; "))) }
    }

    fn verify(&mut self) -> Result<(), String> {
        let engine = self.open_engine()?;
        self.settle(&engine)?;
        Self::check(&engine)?;
        engine.close().map_err(|error| format!("close: {error}"))
    }

    /// One life of the engine.
    fn life(&mut self) -> Result<(), String> {
        let engine = self.open_engine()?;
        self.settle(&engine)?;
        // Rolling back what the crash left open may still be under way in the background.
        Self::check(&engine)?;
        if self.allowed[0].tables.is_empty() && engine.database(DATABASE).is_none() {
            engine
                .create_database(DATABASE, format::collation::CollationId::DEFAULT)
                .map_err(|error| format!("create database: {error}"))?;
        }
        self.draw_faults();
        match self.work(&engine) {
            Ok(()) => {
                if self.random.chance(2) {
                    self.say(|| "clean close".into());
                    match engine.close() {
                        Ok(()) => return Ok(()),
                        Err(_) if self.disk.is_crashed() => {}
                        Err(error) => return Err(format!("close: {error}")),
                    }
                }
            }
            Err(End::Crash) => {}
            Err(End::Failure(failure)) => return Err(failure),
        }
        self.say(|| format!("crash after {} disk operations", self.disk.changes()));
        drop(engine);
        self.crash();
        Ok(())
    }

    fn draw_faults(&mut self) {
        let base = self.disk.changes();
        let crash_at = base + 1 + self.random.below(1500);
        let failing_sync = self.random.chance(10).then(|| 1 + self.random.below(60));
        let short = if self.random.chance(3) { 20 } else { 0 };
        let no_punch = self.random.chance(6);
        let sector = if self.random.chance(2) { 512 } else { 4096 };
        self.disk.set_faults(|faults| {
            faults.crash_at = Some(crash_at);
            faults.failing_sync = failing_sync;
            faults.short_of_256 = short;
            faults.no_punch = no_punch;
            faults.sector_bytes = sector;
        });
    }

    fn work(&mut self, engine: &Arc<Engine>) -> Result<(), End> {
        let mut open: BTreeMap<i64, Open> = BTreeMap::new();
        let mut snapshot: Option<Snapshot> = None;
        let operations = 30 + self.random.below(300);
        for _ in 0..operations {
            self.report.operations += 1;
            match self.random.below(100) {
                0..=4 => self.ddl(engine, &open, &mut snapshot)?,
                5..=9 => self.step(engine)?,
                10..=11 => match snapshot.take() {
                    Some(old) => self.look_back(old)?,
                    None => snapshot = Some(self.take_snapshot(engine)?),
                },
                _ => {
                    let slot = self.random.below(SLOTS as u64) as i64;
                    let mut current = open.remove(&slot).unwrap_or_else(|| Open {
                        trx: engine.begin(self.options()),
                        changes: Vec::new(),
                    });
                    match self.random.below(12) {
                        0 => self.commit(current)?,
                        1 if self.random.chance(2) => {
                            self.judge(current.trx.rollback(), "rollback")?;
                        }
                        _ => {
                            self.change_row(&mut current, slot)?;
                            open.insert(slot, current);
                        }
                    }
                }
            }
        }
        for (_, current) in open {
            if self.random.chance(2) {
                self.commit(current)?;
            }
        }
        if let Some(old) = snapshot {
            self.look_back(old)?;
        }
        Ok(())
    }

    /// Sorts an error into the two ends; a full disk or a conflict is neither.
    fn judge<T>(&mut self, result: Result<T, Error>, doing: &str) -> Result<Option<T>, End> {
        match result {
            Ok(value) => Ok(Some(value)),
            Err(error @ (Error::DiskFull { .. } | Error::LockWaitTimeout | Error::DuplicateKey { .. })) => {
                self.say(|| format!("{doing}: {error}"));
                Ok(None)
            }
            Err(Error::Io { .. } | Error::Poisoned) => Err(End::Crash),
            Err(error) => Err(End::Failure(format!("{doing}: {error}"))),
        }
    }

    fn step(&mut self, engine: &Arc<Engine>) -> Result<(), End> {
        let result = engine.step();
        self.judge(result, "background step").map(|_| ())
    }

    fn commit(&mut self, current: Open) -> Result<(), End> {
        let mut after = self.model().clone();
        after.apply(&current.changes);
        self.say(|| format!("commit of {} changes", current.changes.len()));
        match current.trx.commit() {
            Ok(()) => {
                self.report.commits += 1;
                self.allowed = vec![after];
                Ok(())
            }
            Err(Error::Io { .. } | Error::Poisoned) => {
                // Nobody was told; either may be found.
                self.allowed.push(after);
                Err(End::Crash)
            }
            Err(error) => Err(End::Failure(format!("commit: {error}"))),
        }
    }

    fn take_snapshot(&mut self, engine: &Arc<Engine>) -> Result<Snapshot, End> {
        let mut trx = engine.begin(self.options());
        trx.take_snapshot();
        Ok(Snapshot { trx, model: self.model().clone() })
    }

    /// A table that was changed by DDL since is no longer the snapshot's to read.
    fn look_back(&mut self, mut old: Snapshot) -> Result<(), End> {
        for (name, ought) in &old.model.tables {
            let Some(table) = self.judge(old.trx.open_table(DATABASE, name), "open for a snapshot")? else { continue };
            let seen = workload::scan(&mut old.trx, &table, 0, self.random.chance(2));
            let Some(seen) = self.judge(seen, "scan of a snapshot")? else { continue };
            if seen.rows != ought.rows {
                return Err(End::Failure(format!("a snapshot of {name} shows what was changed after it")));
            }
        }
        self.judge(old.trx.commit(), "end of a snapshot").map(|_| ())
    }

    fn draw_row(&mut self, id: i64) -> ModelRow {
        let name = match self.random.below(4) {
            0 => None,
            // Unique by the id inside, of varying length.
            _ => Some(format!("{}-{id}", "n".repeat(self.random.below(30) as usize))),
        };
        let body = match self.random.below(10) {
            0 => None,
            1 => Some(self.bytes(20_000)),
            2 => Some(self.bytes(3_000)),
            _ => Some(self.bytes(200)),
        };
        ModelRow { k: self.random.below(50) as i32 - 25, name, body }
    }

    /// Bytes that compress, or do not.
    fn bytes(&mut self, max: u64) -> Vec<u8> {
        let length = self.random.below(max) as usize;
        let noise = self.random.chance(3);
        let first = self.random.next() as u8;
        (0..length).map(|at| if noise { self.random.next() as u8 } else { first.wrapping_add((at / 40) as u8) }).collect()
    }

    fn change_row(&mut self, current: &mut Open, slot: i64) -> Result<(), End> {
        let names: Vec<String> = self.model().tables.keys().cloned().collect();
        if names.is_empty() {
            return Ok(());
        }
        let name = names[self.random.below(names.len() as u64) as usize].clone();
        let Some(table) = self.judge(current.trx.open_table(DATABASE, &name), "open table")? else { return Ok(()) };
        let id = self.random.below(120) as i64 * SLOTS + slot;
        let known = current.changes.iter().rev().find(|change| change.table == name && change.id == id);
        let before = match known {
            Some(change) => change.row.clone(),
            None => self.model().tables.get(&name).and_then(|table| table.rows.get(&id).cloned()),
        };
        let savepoint = current.trx.statement_begin();
        let result = self.one_statement(&mut current.trx, &table, id, &before);
        match self.judge_statement(result)? {
            Some(Some(row)) => {
                self.say(|| format!("{name}: row {id} becomes {:?}", row.as_ref().map(|row| row.k)));
                current.changes.push(Change { table: name, id, row });
            }
            Some(None) => {}
            None => {
                let undone = current.trx.rollback_to(savepoint);
                if self.judge(undone, "statement rollback")?.is_none() {
                    return Err(End::Failure("a statement could not be rolled back".into()));
                }
            }
        }
        Ok(())
    }

    fn judge_statement<T>(&mut self, result: Result<T, StatementError>) -> Result<Option<T>, End> {
        match result {
            Ok(value) => Ok(Some(value)),
            Err(StatementError::Engine(error)) => self.judge::<T>(Err(error), "statement"),
            Err(StatementError::Wrong(what)) => Err(End::Failure(what)),
        }
    }

    /// One statement on one row. `Some(row)` is the row's new state, `None` that it stayed as it was.
    fn one_statement(
        &mut self,
        trx: &mut Trx,
        table: &Arc<Table>,
        id: i64,
        before: &Option<ModelRow>,
    ) -> Result<Option<Option<ModelRow>>, StatementError> {
        let mut row = Row::new();
        let seen = workload::read(trx, table, id, ReadMode::Consistent, &mut row)?;
        if seen != *before {
            return Err(StatementError::Wrong(format!(
                "{}: row {id} reads as {:?}, ought to be {:?}",
                table.name,
                seen.map(|row| (row.k, row.name)),
                before.as_ref().map(|row| (row.k, &row.name))
            )));
        }
        let Some(before) = before else {
            let new = self.draw_row(id);
            let columns = workload::encoded(id, &new);
            let columns: Vec<Option<&[u8]>> = columns.iter().map(Option::as_deref).collect();
            trx.insert(table, &columns)?;
            return Ok(Some(Some(new)));
        };
        match self.random.below(6) {
            0 => Ok(None),
            1 => {
                // An insert of what is there must fail, and leave nothing.
                let columns = workload::encoded(id, before);
                let columns: Vec<Option<&[u8]>> = columns.iter().map(Option::as_deref).collect();
                match trx.insert(table, &columns) {
                    Err(error @ Error::DuplicateKey { .. }) => Err(error.into()),
                    Err(error) => Err(error.into()),
                    Ok(_) => Err(StatementError::Wrong(format!("{}: row {id} was inserted twice", table.name))),
                }
            }
            2 => {
                workload::read(trx, table, id, ReadMode::Exclusive, &mut row)?;
                trx.delete(table, &row)?;
                Ok(Some(None))
            }
            _ => {
                workload::read(trx, table, id, ReadMode::Exclusive, &mut row)?;
                let mut new = before.clone();
                let drawn = self.draw_row(id);
                let mut columns = Vec::new();
                if self.random.chance(2) {
                    new.k = drawn.k;
                    columns.push(1);
                }
                if self.random.chance(3) {
                    new.name = drawn.name;
                    columns.push(2);
                }
                if self.random.chance(2) {
                    new.body = drawn.body;
                    columns.push(3);
                }
                let stored = workload::encoded(id, &new);
                let changes: Vec<(usize, Option<&[u8]>)> =
                    columns.into_iter().map(|column: usize| (column, stored[column].as_deref())).collect();
                trx.update(table, &row, &changes)?;
                Ok(Some(Some(new)))
            }
        }
    }

    /// DDL on a table that no open transaction has touched.
    fn ddl(
        &mut self,
        engine: &Arc<Engine>,
        open: &BTreeMap<i64, Open>,
        snapshot: &mut Option<Snapshot>,
    ) -> Result<(), End> {
        let before = self.model().clone();
        let mut after = before.clone();
        let touched: Vec<&str> =
            open.values().flat_map(|open| open.changes.iter().map(|change| change.table.as_str())).collect();
        let free: Vec<String> =
            before.tables.keys().filter(|name| !touched.contains(&name.as_str())).cloned().collect();
        let wait = self.options();
        let name = match free.is_empty() {
            true => None,
            false => Some(free[self.random.below(free.len() as u64) as usize].clone()),
        };
        let codec = [Compression::None, Compression::Lz4, Compression::Zlib, Compression::Zstd];
        let codec = codec[self.random.below(4) as usize];
        let choice = if before.tables.len() < 2 { 0 } else { self.random.below(8) };
        let (what, result) = match (choice, name) {
            (0 | 1, _) | (_, None) => {
                if before.tables.len() >= 5 {
                    return Ok(());
                }
                let name = format!("t{}", self.next_table);
                self.next_table += 1;
                after.tables.insert(name.clone(), ModelTable::default());
                let result = engine.create_table(workload::definition(&name, codec), &wait).map(|_| ());
                (format!("create {name} {codec:?}"), result)
            }
            (2, Some(name)) => {
                after.tables.remove(&name);
                (format!("drop {name}"), engine.drop_tables(&[(DATABASE, &name)], &wait))
            }
            (3, Some(name)) => {
                if let Some(table) = after.tables.get_mut(&name) {
                    table.rows.clear();
                }
                (format!("truncate {name}"), engine.truncate_table(DATABASE, &name, &wait))
            }
            (4, Some(name)) => {
                let new = format!("r{}", self.next_table);
                self.next_table += 1;
                let table = after.tables.remove(&name).unwrap_or_default();
                after.tables.insert(new.clone(), table);
                let result = engine.rename_tables(&[((DATABASE, &name), (DATABASE, &new))], &wait);
                (format!("rename {name} to {new}"), result)
            }
            (5, Some(name)) => {
                let result = engine
                    .alter_table_options(DATABASE, &name, &wait, &mut |options| options.compression = codec)
                    .map(|_| ());
                (format!("alter {name} {codec:?}"), result)
            }
            (6, Some(name)) => {
                let result =
                    engine.rebuild_table(DATABASE, &name, workload::definition(&name, codec), None, &wait).map(|_| ());
                if let Some(table) = after.tables.get_mut(&name) {
                    table.has_body_index = false;
                }
                (format!("rebuild {name} {codec:?}"), result)
            }
            (_, Some(name)) => {
                let table = after.tables.get_mut(&name).expect("a table of the model");
                table.has_body_index = !table.has_body_index;
                let result = if table.has_body_index {
                    engine.create_index(DATABASE, &name, workload::body_index(), &wait).map(|_| ())
                } else {
                    engine.drop_index(DATABASE, &name, workload::BODY_INDEX, &wait).map(|_| ())
                };
                (format!("index of {name}"), result)
            }
        };
        self.say(|| format!("{what}: {}", result.as_ref().map_or_else(|error| error.to_string(), |()| "done".into())));
        match result {
            Ok(()) => {
                self.allowed = vec![after];
                // What a snapshot sees of a table that DDL has replaced is not defined.
                *snapshot = None;
                Ok(())
            }
            Err(Error::Io { .. } | Error::Poisoned) => {
                self.allowed.push(after);
                Err(End::Crash)
            }
            Err(Error::LockWaitTimeout | Error::DiskFull { .. }) => Ok(()),
            Err(error) => Err(End::Failure(format!("{what}: {error}"))),
        }
    }
}

/// What a statement of the workload may end with.
enum StatementError {
    Engine(Error),
    Wrong(String),
}

impl From<Error> for StatementError {
    fn from(error: Error) -> Self {
        StatementError::Engine(error)
    }
}
