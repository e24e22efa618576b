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
//!   call that the crash interrupted, all or nothing. Where a commit does not wait
//!   for the log, a suffix of the commits may be gone, but nothing out of the middle.
//! * DDL is atomic in the same sense.
//! * `Engine::check` finds nothing.
//! * A transaction sees its snapshot and its own changes and nothing else, however
//!   long it lives.
//! * An error has a cause: a disk that is gone, a failed sync, a full disk.
//! * Bits that flip at rest are an error or make no difference; they are never an
//!   answer.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use storage::config::FlushLogAtCommit;
use storage::io::Disk;
use storage::io::sim::{Random, SimDisk};
use storage::{Config, Engine, Error, TrxOptions};

use crate::model::Model;
use crate::report::Report;
use crate::workload::{self, DATABASE};

/// Runs one seed. The error is a description of what does not hold.
pub fn seed(seed: u64, talk: bool) -> Result<Report, String> {
    let mut random = Random::new(seed);
    let disk = SimDisk::with_blocks(random.next(), [512, 1024, 4096][random.below(3) as usize]);
    let config = draw_config(&mut random);
    let wide_names = random.chance(4);
    let ids = if random.chance(4) { 400 } else { 120 };
    let mut run = Run {
        random,
        config,
        report: Report::default(),
        talk,
        allowed: vec![Model::default()],
        disk,
        doing: "",
        failing_sync: None,
        is_limited: false,
        next_table: 0,
        wide_names,
        ids,
    };
    run.say(|| format!("{:?}", run.config));
    Engine::create(run.disk(), &run.config).map_err(|error| format!("create: {error}"))?;
    let lives = 1 + run.random.below(4);
    for _ in 0..lives {
        run.life()?;
        run.report.count("lives");
    }
    run.damage()?;
    run.verify()?;
    Ok(run.report)
}

fn draw_config(random: &mut Random) -> Config {
    Config {
        page_bytes: [4096, 8192, 16384][random.below(3) as usize],
        pool_bytes: (24 + random.below(80)) * 16384,
        log_bytes: (1 << 20) << random.below(3),
        page_cleaners: 1,
        flush_log_at_commit: match random.below(6) {
            0 => FlushLogAtCommit::EverySecond,
            1 => FlushLogAtCommit::Write,
            _ => FlushLogAtCommit::Sync,
        },
        ..Config::tiny()
    }
}

pub struct Run {
    pub random: Random,
    pub config: Config,
    pub report: Report,
    talk: bool,
    /// What the database may hold after a crash, in the order of time. The last one is what it holds now; more than one
    /// while a call's outcome is unknown, and where commits do not wait for the log.
    pub allowed: Vec<Model>,
    pub disk: SimDisk,
    /// In which kind of call a crash comes.
    pub doing: &'static str,
    failing_sync: Option<u64>,
    /// The disk may run full.
    is_limited: bool,
    pub next_table: u64,
    /// Names long enough that trees over them are deep.
    pub wide_names: bool,
    /// Ids that each slot draws from.
    pub ids: u64,
}

/// Why a life ends.
pub enum End {
    /// The disk is gone, or a sync failed; the models are what may be found.
    Crash,
    /// Something does not hold.
    Failure(String),
}

impl Run {
    pub fn say(&self, text: impl FnOnce() -> String) {
        if self.talk {
            println!("{}", text());
        }
    }

    /// What the database holds now.
    pub fn model(&self) -> &Model {
        self.allowed.last().expect("something is always allowed")
    }

    /// A call has ended well: this is how things are.
    pub fn set_model(&mut self, model: Model) {
        if self.config.flush_log_at_commit == FlushLogAtCommit::Sync {
            self.allowed.clear();
        }
        self.allowed.push(model);
    }

    /// Nothing before the present state may be found any more.
    pub fn forget_past(&mut self) {
        self.allowed.drain(..self.allowed.len() - 1);
    }

    pub fn options(&self) -> TrxOptions {
        TrxOptions { lock_wait_timeout: Duration::ZERO, metadata_wait_timeout: Duration::ZERO, ..TrxOptions::default() }
    }

    fn disk(&self) -> Arc<dyn Disk> {
        Arc::new(self.disk.clone())
    }

    /// Whether something was done to the disk that may make the engine give up.
    fn has_cause(&self) -> bool {
        self.disk.is_crashed() || self.failing_sync.is_some_and(|at| self.disk.syncs() >= at)
    }

    /// Sorts an error into the two ends; a full disk or a conflict is neither.
    pub fn judge<T>(&mut self, result: Result<T, Error>, doing: &str) -> Result<Option<T>, End> {
        match result {
            Ok(value) => Ok(Some(value)),
            Err(Error::LockWaitTimeout) => {
                self.say(|| format!("{doing}: lock wait"));
                self.report.count("lock waits");
                Ok(None)
            }
            Err(Error::DiskFull { doing: what }) if self.is_limited => {
                self.say(|| format!("{doing}: the disk is full: {what}"));
                self.report.count(format!("full disk in {doing}"));
                Ok(None)
            }
            Err(error) => Err(self.end(error, doing)),
        }
    }

    /// An error that ends the life, one way or the other.
    pub fn end(&mut self, error: Error, doing: &str) -> End {
        match error {
            Error::Io { .. } | Error::Poisoned if self.has_cause() => End::Crash,
            Error::Poisoned if self.is_limited => {
                self.report.count(format!("poisoned by a full disk in {doing}"));
                End::Crash
            }
            error => End::Failure(format!("{doing}: {error}")),
        }
    }

    /// The same for a call that may not end with an ordinary error: a rollback that cannot go on stops the engine.
    pub fn judge_rollback(&mut self, result: Result<(), Error>, doing: &str) -> Result<(), End> {
        match self.judge(result, doing)? {
            Some(()) => Ok(()),
            None => {
                self.report.count(format!("poisoned by a full disk in {doing}"));
                Err(End::Crash)
            }
        }
    }

    fn open_engine(&mut self) -> Result<Arc<Engine>, String> {
        // A recovery may be interrupted, and the next one, too.
        for attempt in 0..4 {
            let interrupted = attempt < 3 && self.random.chance(3);
            let limited = attempt < 3 && self.random.chance(16);
            let crash_at = interrupted.then(|| self.disk.changes() + 1 + self.below_scale(&[10, 100, 500]));
            let short = if self.random.chance(3) { 20 } else { 0 };
            let capacity = limited.then(|| self.disk.used_blocks() + self.random.below(200));
            self.disk.set_faults(|faults| {
                faults.crash_at = crash_at;
                faults.short_of_256 = short;
                faults.capacity_blocks = capacity;
                faults.failing_sync = None;
            });
            let opened = Engine::open(self.disk(), self.config.clone());
            self.disk.set_faults(|faults| {
                faults.crash_at = None;
                faults.capacity_blocks = None;
            });
            match opened {
                // It may have survived the point by not touching the disk again.
                Ok(engine) if !self.disk.is_crashed() => {
                    self.tell_recovery(&engine);
                    return Ok(engine);
                }
                Ok(engine) => drop(engine),
                Err(error) if self.disk.is_crashed() => self.say(|| format!("  recovery interrupted: {error}")),
                Err(Error::DiskFull { .. } | Error::Poisoned) if limited => {
                    self.say(|| "  recovery met a full disk".into());
                    self.report.count("full disk in recovery");
                    if self.random.chance(2) {
                        continue;
                    }
                }
                Err(error) => return Err(format!("open: {error}")),
            }
            self.doing = "recovery";
            self.crash();
        }
        unreachable!("the last attempt is not interrupted")
    }

    fn tell_recovery(&mut self, engine: &Engine) {
        let report = engine.recovery_report();
        self.say(|| format!("{report}"));
        self.report.add("torn pages restored", report.pages.torn_pages_restored);
        self.report.add("records applied", report.pages.records_applied);
        self.report.add("transactions rolled back in recovery", report.transactions_rolled_back);
        self.report.add("ddl rolled back in recovery", report.ddl_rolled_back);
        self.report.add("ddl actions in recovery", report.ddl_actions);
    }

    /// The end of a process: with the power gone, or only killed, so that the system still has what it had not synced.
    fn crash(&mut self) {
        self.report.add("disk operations", self.disk.changes());
        // After a failed sync the system forgets what it ought to have written, which nobody can find out but the device.
        let sync_failed = self.failing_sync.is_some_and(|at| self.disk.syncs() >= at);
        if self.random.chance(4) && !sync_failed {
            self.say(|| "killed".into());
            self.report.count(format!("kills in {}", self.doing));
            self.disk = self.disk.duplicate();
        } else {
            self.report.count(format!("crashes in {}", self.doing));
            self.disk = self.disk.crash();
        }
        self.is_limited = false;
        self.failing_sync = None;
    }

    /// The state found on disk must be one of those allowed; it then is the only one.
    fn settle(&mut self, engine: &Arc<Engine>) -> Result<(), String> {
        let found = workload::everything(engine).map_err(|error| format!("read: {error}"))?;
        match self.allowed.iter().rposition(|model| model.difference(&found).is_none()) {
            Some(at) => {
                self.report.add("commits lost that did not wait", (self.allowed.len() - 1 - at) as u64);
                self.allowed = vec![self.allowed.swap_remove(at)];
                Ok(())
            }
            None => {
                let reasons: Vec<_> =
                    self.allowed.iter().rev().take(3).filter_map(|model| model.difference(&found)).collect();
                Err(format!("not what was committed: {}", reasons.join("; or: ")))
            }
        }
    }

    fn check(engine: &Engine) -> Result<(), String> {
        let report = engine.check().map_err(|error| format!("check: {error}"))?;
        if report.errors.is_empty() { Ok(()) } else { Err(format!("check: {}", report.errors.join("; "))) }
    }

    /// The end of a seed: all is there, purge ends, and after it nothing is left over.
    fn verify(&mut self) -> Result<(), String> {
        let engine = self.open_engine()?;
        self.settle(&engine)?;
        Self::check(&engine)?;
        let mut steps = 0;
        while engine.step().map_err(|error| format!("step: {error}"))? {
            steps += 1;
            if steps > 100_000 {
                return Err("background work does not end".into());
            }
        }
        if engine.status().history_list_length > 0 {
            return Err(format!("{} transactions are never purged", engine.status().history_list_length));
        }
        Self::check(&engine).map_err(|error| format!("after purge: {error}"))?;
        let report = engine.check().map_err(|error| format!("check: {error}"))?;
        if let Some(space) = report.spaces.iter().find(|space| space.delete_marked > 0) {
            return Err(format!("{} keeps {} deleted rows that nobody sees", space.name, space.delete_marked));
        }
        self.settle(&engine).map_err(|error| format!("after purge: {error}"))?;
        engine.close().map_err(|error| format!("close: {error}"))
    }

    /// One life of the engine.
    fn life(&mut self) -> Result<(), String> {
        self.say(|| "-- a life begins".into());
        if self.random.chance(4) {
            // Fixed while open, but not for ever.
            self.config.pool_bytes = draw_config(&mut self.random).pool_bytes;
            self.config.log_bytes = (1 << 20) << self.random.below(3);
        }
        let engine = self.open_engine()?;
        self.settle(&engine)?;
        Self::check(&engine)?;
        if engine.database(DATABASE).is_none() {
            engine
                .create_database(DATABASE, format::collation::CollationId::DEFAULT, &TrxOptions::patient())
                .map_err(|error| format!("create database: {error}"))?;
        }
        self.draw_faults();
        self.doing = "idleness";
        match self.work(&engine) {
            Ok(()) => {
                self.doing = "idleness";
                if self.random.chance(2) {
                    self.doing = "close";
                    self.aim_crash(4, 30);
                    self.say(|| "close".into());
                    match engine.close() {
                        Ok(()) => {
                            drop(engine);
                            return self.closed();
                        }
                        Err(error) => match self.judge(Err::<(), _>(error), "close") {
                            Ok(_) | Err(End::Crash) => {}
                            Err(End::Failure(failure)) => return Err(failure),
                        },
                    }
                }
            }
            Err(End::Crash) => {}
            Err(End::Failure(failure)) => return Err(failure),
        }
        self.say(|| format!("crash in {} after {} disk operations", self.doing, self.disk.changes()));
        drop(engine);
        self.crash();
        Ok(())
    }

    /// After a clean close nothing may be lost, not even when the power goes at once.
    fn closed(&mut self) -> Result<(), String> {
        self.report.count("clean closes");
        self.forget_past();
        if self.random.chance(2) || self.disk.is_crashed() {
            self.doing = "rest";
            self.crash();
        }
        self.is_limited = false;
        Ok(())
    }

    /// A number of a random order of magnitude, so that crashes come early and late alike.
    fn below_scale(&mut self, scales: &[u64]) -> u64 {
        let scale = scales[self.random.below(scales.len() as u64) as usize];
        self.random.below(scale)
    }

    fn draw_faults(&mut self) {
        let crash_at = self.disk.changes() + 1 + self.below_scale(&[100, 500, 2000, 10_000]);
        self.failing_sync = self.random.chance(10).then(|| self.disk.syncs() + 1 + self.random.below(60));
        self.is_limited = self.random.chance(6);
        let capacity = self.is_limited.then(|| self.disk.used_blocks() + self.below_scale(&[50, 200, 1000]));
        let short = if self.random.chance(3) { 20 } else { 0 };
        let no_punch = self.random.chance(6);
        let sector = if self.random.chance(2) { 512 } else { 4096 };
        let failing_sync = self.failing_sync;
        self.disk.set_faults(|faults| {
            faults.crash_at = Some(crash_at);
            faults.failing_sync = failing_sync;
            faults.capacity_blocks = capacity;
            faults.short_of_256 = short;
            faults.no_punch = no_punch;
            faults.sector_bytes = sector;
        });
    }

    /// Somebody makes room on the device, or takes it.
    pub fn change_room(&mut self) {
        if self.is_limited {
            let more = self.random.chance(2).then(|| self.disk.used_blocks() + self.random.below(300));
            self.disk.set_faults(|faults| faults.capacity_blocks = more);
        }
    }

    /// In one of `of` cases, lets the disk die within the next few operations: in the call that follows.
    pub fn aim_crash(&mut self, of: u64, within: u64) {
        if self.random.chance(of) {
            let at = self.disk.changes() + 1 + self.random.below(within);
            self.disk.set_faults(|faults| faults.crash_at = Some(at));
        }
    }

    /// Flips bits of data files at rest, on a copy of the disk, and reads everything.
    fn damage(&mut self) -> Result<(), String> {
        if !self.random.chance(3) {
            return Ok(());
        }
        let disk = self.disk.duplicate();
        let mut paths: Vec<String> = Vec::new();
        for entry in disk.list("").map_err(|error| error.to_string())? {
            if entry.is_directory {
                let files = disk.list(&entry.name).map_err(|error| error.to_string())?;
                paths.extend(files.into_iter().map(|file| format!("{}/{}", entry.name, file.name)));
            } else {
                paths.push(entry.name);
            }
        }
        paths.retain(|path| path.ends_with(".ibd") || path.starts_with("ibdata") || path.starts_with("undo_"));
        let flips = 1 + self.random.below(4);
        for _ in 0..flips {
            let path = paths[self.random.below(paths.len() as u64) as usize].clone();
            let bytes = disk.file_bytes(&path);
            if bytes > 0 {
                let offset = self.random.below(bytes);
                let mask = 1 << self.random.below(8);
                self.say(|| format!("bit {mask:#x} of {path} at {offset} flips"));
                disk.corrupt(&path, offset, mask);
            }
        }
        let outcome = catch_unwind(AssertUnwindSafe(|| read_damaged(&disk, &self.config)));
        let outcome = outcome.map_err(|_| "a panic over flipped bits".to_string())?;
        self.say(|| format!("over flipped bits: {outcome:?}", outcome = outcome.as_ref().map(|_| "no error")));
        match outcome {
            Err(Error::Corrupt { .. }) => self.report.count("flipped bits found"),
            Err(error) => return Err(format!("over flipped bits: {error}")),
            // Another state than the present one would be an answer made of flipped bits.
            Ok(found) => match self.allowed.iter().find(|model| model.difference(&found).is_none()) {
                Some(_) => self.report.count("flipped bits harmless"),
                None => {
                    let why = self.model().difference(&found).unwrap_or_default();
                    return Err(format!("a wrong answer from flipped bits: {why}"));
                }
            },
        }
        Ok(())
    }
}

/// All that can be read of a damaged instance.
fn read_damaged(disk: &SimDisk, config: &Config) -> Result<Model, Error> {
    let engine = Engine::open(Arc::new(disk.clone()), config.clone())?;
    if let Some(damaged) = engine.recovery_report().damaged.first() {
        return Err(Error::corrupt(damaged.as_str()));
    }
    let model = workload::everything(&engine)?;
    // Damage may lie where reading does not go.
    let report = engine.check()?;
    for _ in 0..20 {
        engine.step()?;
    }
    match report.errors.first() {
        Some(error) => Err(Error::corrupt(error.as_str())),
        None => Ok(model),
    }
}
