//! One seed: lives of an engine, each ended by a crash or a clean close, and what must hold when the next life begins.
//!
//! ```text
//!   create --> work ... crash --> recover (perhaps crashing again) --> check, compare
//!                ^                                                          |
//!                +----------------------------------------------------------+
//! ```
//!
//! Invariants, checked after each crash:
//!
//! * What was committed and acknowledged is there, what was not is not. Of the one
//!   call that the crash interrupted, all or nothing. Where a commit does not wait
//!   for the log, a suffix of the commits may be gone, but nothing out of the middle.
//! * DDL is atomic in the same sense.
//! * `Engine::check` finds nothing.
//! * A transaction sees its snapshot and its own changes and nothing else, however
//!   long it lives.
//! * An error has a cause: a failed disk, a failed write or sync, a full disk, a failed read. Only the first two end
//!   the engine: it is poisoned then. A full disk is an error of one statement that changes something, a failed read of
//!   one statement, and of no other. A close and a start may need room, too.
//! * Every page on the device is whole, and the log knows its LSN.
//! * A second recovery finds nothing to do.
//! * Damage at rest causes an error or makes no difference; it never causes a wrong result, see `damage`.

use std::sync::Arc;
use std::time::Duration;

use storage::config::{Doublewrite, FlushLogAtCommit};
use storage::io::Disk;
use storage::io::sim::{Random, SimDisk};
use storage::io::trace::TraceDisk;
use storage::{Config, Engine, Error, TrxOptions};

use crate::Talk;
use crate::damage;
use crate::device::{self, Failing};
use crate::model::Model;
use crate::report::Report;
use crate::work::Scene;
use crate::workload::{self, DATABASE};

/// The work of a life.
pub type Work = fn(&mut Run, &Arc<Engine>) -> Result<(), End>;

/// Runs one seed. The error is a description of what does not hold.
pub fn seed(seed: u64, talk: Talk) -> Result<Report, String> {
    play(seed, talk, Run::work)
}

/// Runs one seed of some kind of work.
pub fn play(seed: u64, talk: Talk, work: Work) -> Result<Report, String> {
    let mut random = Random::new(seed);
    let disk = device::draw_disk(&mut random);
    let config = device::draw_config(&mut random, &disk);
    let wide_names = random.chance(4);
    let ids = if random.chance(4) { 400 } else { 120 };
    let mut run = Run {
        random,
        config,
        work,
        report: Report::default(),
        talk: talk != Talk::Nothing,
        traces: talk == Talk::Io,
        trace: None,
        allowed: vec![Model::default()],
        disk,
        doing: "",
        failing: Failing::default(),
        history: vec![Model::default()],
        is_limited: false,
        earlier: None,
        next_table: 0,
        wide_names,
        ids,
    };
    run.say(|| format!("{:?}", run.config));
    let disk = run.disk();
    Engine::create(disk, &run.config).map_err(|error| format!("create: {error}"))?;
    let lives = 1 + run.random.below(4);
    match run.live(lives) {
        Ok(()) => Ok(run.report),
        // Torn pages are not restored then, but they are named.
        Err(what)
            if run.config.doublewrite == Doublewrite::DetectOnly
                && damage::names_torn_pages(&run.disk, run.config.page_bytes, &what) =>
        {
            run.report.count("torn pages named, detect only");
            Ok(run.report)
        }
        Err(what) => {
            run.tell_io();
            Err(what)
        }
    }
}

pub struct Run {
    pub random: Random,
    pub config: Config,
    work: Work,
    pub report: Report,
    talk: bool,
    /// Whether the disk's calls are printed, too.
    traces: bool,
    trace: Option<TraceDisk>,
    /// What the database may contain after a crash, in the order of time. The last one is its present state; there is
    /// more than one while a call's outcome is unknown, and where commits do not wait for the log.
    pub allowed: Vec<Model>,
    pub disk: SimDisk,
    /// The kind of call in which a crash happens.
    pub doing: &'static str,
    pub failing: Failing,
    /// All states that were committed, in the order of time: where a log that has lost its end may end.
    pub history: Vec<Model>,
    /// The disk may become full.
    pub is_limited: bool,
    /// The disk as it was some lives ago.
    pub earlier: Option<SimDisk>,
    pub next_table: u64,
    /// Names so long that trees over them are deep.
    pub wide_names: bool,
    /// Ids that each slot draws from.
    pub ids: u64,
}

/// Why a life ends.
pub enum End {
    /// The disk failed, or a write did; the models are the states that may be found.
    Crash,
    /// The disk is too full to begin.
    GivenUp,
    /// An invariant does not hold.
    Failure(String),
}

impl Run {
    fn live(&mut self, lives: u64) -> Result<(), String> {
        for _ in 0..lives {
            self.life()?;
            self.report.count("lives");
        }
        self.damage()?;
        self.verify()
    }

    pub fn say(&self, text: impl FnOnce() -> String) {
        if self.talk {
            self.tell_io();
            println!("{}", text());
        }
    }

    /// What the database holds now.
    pub fn model(&self) -> &Model {
        self.allowed.last().expect("something is always allowed")
    }

    /// A call succeeded: this is the present state.
    pub fn set_model(&mut self, model: Model) {
        if self.config.flush_log_at_commit == FlushLogAtCommit::Sync {
            self.allowed.clear();
        }
        self.history.push(model.clone());
        self.allowed.push(model);
    }

    /// From now on no state before the present one may be found.
    pub fn forget_past(&mut self) {
        self.allowed.drain(..self.allowed.len() - 1);
    }

    pub fn options(&self) -> TrxOptions {
        TrxOptions { lock_wait_timeout: Duration::ZERO, metadata_wait_timeout: Duration::ZERO, ..TrxOptions::default() }
    }

    fn disk(&mut self) -> Arc<dyn Disk> {
        if !self.traces {
            return Arc::new(self.disk.clone());
        }
        let traced = TraceDisk::new(Arc::new(self.disk.clone()));
        self.trace = Some(traced.clone());
        Arc::new(traced)
    }

    /// Prints the calls that have reached the disk since the last time.
    fn tell_io(&self) {
        for line in self.trace.iter().flat_map(TraceDisk::take) {
            println!("    {line}");
        }
    }

    /// Maps an error of a call that changes something to one of the two ends; a full disk or a conflict is neither.
    pub fn judge<T>(&mut self, result: Result<T, Error>, doing: &str) -> Result<Option<T>, End> {
        match result {
            Err(Error::DiskFull { doing: what }) if self.is_limited => {
                self.say(|| format!("{doing}: the disk is full: {what}"));
                self.report.count(format!("full disk in {doing}"));
                Ok(None)
            }
            result => self.judge_read(result, doing),
        }
    }

    /// The same for a call that changes nothing: a full disk does not excuse it.
    pub fn judge_read<T>(&mut self, result: Result<T, Error>, doing: &str) -> Result<Option<T>, End> {
        match result {
            Ok(value) => Ok(Some(value)),
            Err(Error::LockWaitTimeout) => {
                self.say(|| format!("{doing}: lock wait"));
                self.report.count("lock waits");
                Ok(None)
            }
            Err(error) if self.is_failed_read(&error) => {
                self.say(|| format!("{doing}: {error}"));
                self.report.count(format!("failed read in {doing}"));
                Ok(None)
            }
            Err(error) => Err(self.end(error, doing)),
        }
    }

    /// The end of the life for an error.
    pub fn end(&mut self, error: Error, doing: &str) -> End {
        match error {
            // (A rollback is deferred after a device error, before it knows that the device has failed.)
            Error::Io { .. } | Error::Poisoned | Error::RollingBack if self.has_cause() => End::Crash,
            error => End::Failure(format!("{doing}: {error}")),
        }
    }

    /// The same for a call that neither a full disk nor a failed read excuses: a rollback, and a commit.
    pub fn insist<T>(&mut self, result: Result<T, Error>, doing: &str) -> Result<T, End> {
        result.map_err(|error| self.end(error, doing))
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
                faults.failing_read = None;
                faults.failing_write = None;
                faults.failing_punch = None;
                faults.no_punch = false;
            });
            let disk = self.disk();
            let opened = Engine::open(disk, self.config.clone());
            self.disk.set_faults(|faults| {
                faults.crash_at = None;
                faults.capacity_blocks = None;
            });
            match opened {
                // It may have passed the point of the crash by not using the disk again.
                Ok(engine) if !self.disk.is_crashed() => {
                    self.tell_recovery(&engine);
                    return match engine.recovery_report().damaged.first() {
                        Some(damaged) => Err(format!("open: {damaged}")),
                        None => Ok(engine),
                    };
                }
                Ok(engine) => drop(engine),
                Err(error) if self.disk.is_crashed() => self.say(|| format!("  recovery interrupted: {error}")),
                Err(Error::DiskFull { .. }) if limited => {
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
        self.report.add("redo records", report.pages.records);
        self.report.add("transactions rolled back after recovery", report.transactions_to_roll_back);
        self.report.add("ddl rolled back in recovery", report.ddl_rolled_back);
        self.report.add("ddl actions in recovery", report.ddl_actions);
    }

    /// The end of a process: by a power failure, or only killed, so that the system still has the unsynced data.
    fn crash(&mut self) {
        self.report.add("disk operations", self.disk.changes());
        let sync_failed = self.has_sync_failed();
        if self.random.chance(4) && !sync_failed {
            self.say(|| "killed".into());
            self.report.count(format!("kills in {}", self.doing));
            let next = self.disk.duplicate();
            self.see_faults();
            self.disk = next;
        } else {
            self.report.count(format!("crashes in {}", self.doing));
            self.disk = self.disk.crash();
        }
        self.see_faults();
        self.forget_faults();
    }

    /// Counts the faults that the disk has shown.
    fn see_faults(&mut self) {
        for (what, count) in self.disk.take_seen() {
            self.report.add(format!("disk: {what}"), count);
        }
    }

    /// The state found on disk must be one of those allowed; it then is the only one.
    fn settle(&mut self, engine: &Arc<Engine>) -> Result<(), String> {
        let found = workload::everything(engine).map_err(|error| format!("read: {error}"))?;
        match self.allowed.iter().rposition(|model| model.difference(&found).is_none()) {
            Some(at) => {
                self.report.add("commits lost that did not wait", (self.allowed.len() - 1 - at) as u64);
                self.allowed = vec![self.allowed.swap_remove(at)];
                self.history.push(self.model().clone());
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
        engine.finish_rollbacks().map_err(|error| format!("roll back: {error}"))?;
        let report = engine.check().map_err(|error| format!("check: {error}"))?;
        if report.errors.is_empty() { Ok(()) } else { Err(format!("check: {}", report.errors.join("; "))) }
    }

    /// The end of a seed: all data is there, purge finishes, and nothing is left over after it.
    fn verify(&mut self) -> Result<(), String> {
        let engine = self.open_engine()?;
        self.settle(&engine)?;
        Self::check(&engine)?;
        while !engine.prepared().is_empty() {
            match self.end_prepared(&engine, &Scene::default(), false) {
                Ok(_) => {}
                Err(End::Failure(failure)) => return Err(failure),
                Err(_) => return Err("a prepared transaction could not be ended".into()),
            }
        }
        self.settle(&engine)?;
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
        damage::check_pages(&engine)?;
        damage::check_blocks(&engine)?;
        engine.close().map_err(|error| format!("close: {error}"))
    }

    /// After a complete recovery, an interrupted process leaves nothing that needs a second one.
    fn recover_again(&mut self, engine: &Engine) -> Result<(), String> {
        engine.finish_rollbacks().map_err(|error| format!("roll back: {error}"))?;
        // The log in memory contains what was undone.
        let flushed = engine.store().flush_log(engine.store().current_lsn());
        flushed.map_err(|error| format!("flush after recovery: {error}"))?;
        let again = self.disk.duplicate();
        let engine =
            Engine::open(Arc::new(again), self.config.clone()).map_err(|error| format!("open again: {error}"))?;
        let report = engine.recovery_report();
        let again = report.transactions_to_roll_back
            + report.ddl_rolled_back
            + report.ddl_actions
            + report.pages.torn_pages_restored;
        if again > 0 || !report.damaged.is_empty() {
            return Err(format!("a second recovery had something to do: {report}"));
        }
        let found = workload::everything(&engine).map_err(|error| format!("read again: {error}"))?;
        match self.model().difference(&found) {
            Some(difference) => Err(format!("after a second recovery: {difference}")),
            None => Self::check(&engine),
        }
    }

    /// One life of the engine.
    fn life(&mut self) -> Result<(), String> {
        self.say(|| "-- a life begins".into());
        if self.random.chance(4) {
            // Fixed while open, but not for ever.
            device::redraw_config(&mut self.random, &mut self.config);
        }
        if self.random.chance(4) {
            self.earlier = Some(self.disk.duplicate());
        }
        let engine = self.open_engine()?;
        self.settle(&engine)?;
        // Open transactions may be undone while the next ones begin, or before.
        if engine.status().rollbacks.transactions > 0 && self.random.chance(2) {
            self.report.count("lives begun before all was undone");
        } else {
            Self::check(&engine)?;
            self.settle(&engine).map_err(|error| format!("after rollback: {error}"))?;
        }
        if self.random.chance(4) {
            // Until then a page that the log recreates may contain anything.
            engine.store().checkpoint().map_err(|error| format!("checkpoint: {error}"))?;
            let pages = damage::check_pages(&engine)?;
            self.report.add("pages verified on the device", pages);
        }
        if self.random.chance(8) {
            self.recover_again(&engine)?;
            self.report.count("second recoveries");
        }
        if engine.database(DATABASE).is_none() {
            engine
                .create_database(DATABASE, format::collation::CollationId::DEFAULT, &TrxOptions::patient())
                .map_err(|error| format!("create database: {error}"))?;
        }
        self.draw_faults();
        self.doing = "idleness";
        match (self.work)(self, &engine) {
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
                        Err(error) => {
                            if let Err(End::Failure(failure)) = self.judge(Err::<(), _>(error), "close") {
                                return Err(failure);
                            }
                        }
                    }
                }
            }
            Err(End::Crash | End::GivenUp) => {}
            Err(End::Failure(failure)) => return Err(failure),
        }
        self.say(|| format!("crash in {} after {} disk operations", self.doing, self.disk.changes()));
        drop(engine);
        self.crash();
        Ok(())
    }

    /// After a clean close nothing may be lost, not even if the power fails at once.
    fn closed(&mut self) -> Result<(), String> {
        self.report.count("clean closes");
        self.forget_past();
        if self.random.chance(2) || self.disk.is_crashed() {
            self.doing = "rest";
            self.crash();
        }
        self.see_faults();
        self.forget_faults();
        Ok(())
    }
}
