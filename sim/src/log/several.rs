//! The binary log under several sessions, with the threads of engine and log, on a disk that fails under them.
//!
//! The seed alone does not determine what happens, as with `threads`, whose faults these are: a sync, a read or a write
//! fails, the disk is full, or it dies. Sessions commit, prepare branches, and end branches of each other, also of
//! earlier lives; one more thread begins new files and creates tables. Afterwards the ledger judges, and each session's
//! transactions are in the log in their order.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};

use binlog::cache::PAYLOAD_BYTES_MAX;
use binlog::{BinaryLog, CacheSettings};
use storage::config::FlushLogAtCommit;
use storage::io::sim::{Random, SimDisk};
use storage::schema::Compression;
use storage::{Config, Engine, Error, Isolation, TrxOptions};

use super::ledger::{self, Act, Entry, Ledger, TABLE, xid_of};
use crate::Talk;
use crate::report::Report;
use crate::threads::{self, Doing, Failing, PATIENCE, Stop};
use crate::workload::{self, DATABASE};

/// Runs one seed.
pub fn seed(seed: u64, talk: Talk) -> Result<Report, String> {
    let mut random = Random::new(seed);
    let mut disk = SimDisk::with_blocks(random.next(), [512, 4096][random.below(2) as usize]);
    let sessions = 2 + random.below(4);
    let quiet = Config {
        pool_bytes: (60 + random.below(200)) * 16384,
        log_bytes: (1 << 20) << random.below(3),
        flush_log_at_commit: if random.chance(4) { FlushLogAtCommit::Write } else { FlushLogAtCommit::Sync },
        ..Config::tiny()
    };
    let busy = Config { background_threads: true, lru_scan_depth: 16, ..quiet.clone() };
    let told = |error: Error| format!("create: {error}");
    Engine::create(Arc::new(disk.clone()), &quiet).map_err(told)?;
    let engine = Engine::open(Arc::new(disk.clone()), quiet.clone()).map_err(told)?;
    let options = TrxOptions::default();
    engine.create_database(DATABASE, format::collation::CollationId::DEFAULT, &options).map_err(told)?;
    engine.create_table(workload::definition(TABLE, Compression::NONE), &options).map_err(told)?;
    engine.close().map_err(told)?;
    drop(engine);
    let ledger = Arc::new(Mutex::new(Ledger::default()));
    let mut report = Report::default();
    let mut first = 1;
    for _ in 0..1 + random.below(4) {
        let (engine, log) = open(&disk, &busy)?;
        log.start_threads();
        let failing = Failing::draw(&mut random, &disk);
        if talk != Talk::Nothing {
            println!("{sessions} sessions, {failing:?}");
        }
        let life = Life { engine, log, disk: disk.clone(), failing, ledger: ledger.clone(), sessions, first };
        first = life.live(&mut random, &mut report)?;
        report.count("lives");
        let Life { engine, log, .. } = life;
        if !failing.ends_writing(&disk) && random.chance(2) {
            match log.close().and_then(|()| engine.close()).map_err(|error| failing.judge(error, &disk, "close")) {
                Err(Stop::Wrong(what)) => return Err(what),
                Err(_) => report.count("closes given up"),
                Ok(()) => report.count("clean closes"),
            }
        } else if engine.store().is_poisoned() && !failing.ends_writing(&disk) {
            return Err("poisoned without a cause".into());
        }
        // Its thread ends when nobody else has the log.
        drop((engine, log));
        let survives = random.chance(4) && !failing.has_sync_failed(&disk);
        disk = if survives { disk.duplicate() } else { disk.crash() };
        disk.set_faults(|faults| *faults = faults.of_device());
        report.count("crashes");
        let (engine, log) = open(&disk, &quiet)?;
        let loses = quiet.flush_log_at_commit != FlushLogAtCommit::Sync;
        let entries = ledger::read(&log)?;
        for session in 0..=sessions {
            let numbers = entries.iter().map(|entry| entry.number).filter(|number| number % (sessions + 1) == session);
            if !numbers.clone().is_sorted() {
                let numbers: Vec<_> = numbers.collect();
                return Err(format!("session {session} has committed in another order: {numbers:?}"));
            }
        }
        let compared = lock(&ledger).compare(&engine, &log, loses)?;
        report.add("transactions compared", compared);
        log.close().and_then(|()| engine.close()).map_err(|error| format!("close: {error}"))?;
    }
    Ok(report)
}

fn lock(ledger: &Mutex<Ledger>) -> std::sync::MutexGuard<'_, Ledger> {
    ledger.lock().unwrap_or_else(PoisonError::into_inner)
}

fn open(disk: &SimDisk, config: &Config) -> Result<(Arc<Engine>, Arc<BinaryLog>), String> {
    let opened = binlog::open_engine(Arc::new(disk.clone()), config.clone()).and_then(|engine| {
        let log = BinaryLog::open(engine.clone(), super::options())?;
        Ok((engine, log))
    });
    opened.map_err(|error| format!("open: {error}"))
}

/// From a start to its end.
#[derive(Clone)]
struct Life {
    engine: Arc<Engine>,
    log: Arc<BinaryLog>,
    disk: SimDisk,
    failing: Failing,
    ledger: Arc<Mutex<Ledger>>,
    sessions: u64,
    /// The first number that is free.
    first: u64,
}

impl Life {
    /// Returns the first number that is free afterwards.
    fn live(&self, random: &mut Random, report: &mut Report) -> Result<u64, String> {
        let doing: Doing = Arc::new((0..=self.sessions).map(|_| Mutex::new("beginning")).collect());
        let (send, receive) = mpsc::channel();
        let stop = Arc::new(AtomicBool::new(false));
        let mut threads = Vec::new();
        for slot in 0..=self.sessions {
            let (life, doing, send, stop) = (self.clone(), doing.clone(), send.clone(), stop.clone());
            let random = Random::new(random.next());
            threads.push(std::thread::spawn(move || {
                let mut session = Session { life, slot, next: 0, random, doing, report: Report::default() };
                let outcome = if slot == 0 { session.manage(&stop) } else { session.work() };
                let _ = send.send(slot);
                (outcome, session.next, session.report)
            }));
        }
        drop(send);
        let mut working = self.sessions;
        for _ in 0..=self.sessions {
            let Ok(slot) = receive.recv_timeout(PATIENCE) else { threads::give_up(&doing) };
            working -= u64::from(slot != 0);
            stop.store(working == 0, Ordering::Relaxed);
        }
        let mut rounds = 0;
        for thread in threads {
            let (outcome, next, counted) =
                thread.join().map_err(|cause| format!("a session panicked: {}", threads::message(&*cause)))?;
            outcome?;
            report.merge(&counted);
            rounds = rounds.max(next);
        }
        Ok(self.first + rounds + 1)
    }
}

struct Session {
    life: Life,
    /// Its numbers are those with this remainder; that of 0 is no session.
    slot: u64,
    next: u64,
    random: Random,
    doing: Doing,
    report: Report,
}

impl Session {
    fn now(&self, doing: &'static str) {
        *self.doing[self.slot as usize].lock().unwrap_or_else(PoisonError::into_inner) = doing;
    }

    fn number(&mut self) -> u64 {
        self.next += 1;
        (self.life.first + self.next) * (self.life.sessions + 1) + self.slot
    }

    /// True if the life has ended.
    fn judge(&mut self, done: Result<(), Error>, number: Option<u64>, doing: &'static str) -> Result<bool, String> {
        let Err(error) = done else { return Ok(false) };
        match self.life.failing.judge(error, &self.life.disk, doing) {
            Stop::Wrong(what) => Err(what),
            Stop::Gone => Ok(true),
            Stop::Again => {
                self.report.count("refused");
                if let Some(number) = number {
                    lock(&self.life.ledger).forget(number);
                }
                Ok(false)
            }
        }
    }

    fn work(&mut self) -> Result<(), String> {
        for _ in 0..20 + self.random.below(150) {
            let number = self.number();
            let (done, doing) = match self.random.below(5) {
                0 => (self.end_branch(number), "ending a branch"),
                _ => (self.transaction(number), "a transaction"),
            };
            if self.judge(done, Some(number), doing)? {
                break;
            }
        }
        self.now("done");
        Ok(())
    }

    fn transaction(&mut self, number: u64) -> Result<(), Error> {
        self.now("a transaction");
        let Life { engine, log, ledger, .. } = &self.life;
        let claim = self.random.chance(4).then(|| engine.claim_xid(xid_of(number)).expect("the name is new"));
        let options = threads::options(Isolation::RepeatableRead);
        let mut trx = match &claim {
            Some(claim) => claim.begin(options),
            None => engine.begin(options),
        };
        let table = trx.open_table(DATABASE, TABLE)?;
        super::insert(&mut trx, &table, number, 1 + self.random.below(3))?;
        let bytes = [0, 10, 300, 3000, 3000, 60_000, 200_000][self.random.below(7) as usize];
        let compression = [None, Some(3)][self.random.below(2) as usize];
        let settings = CacheSettings { memory_bytes: 5000, compression, payload_bytes_max: PAYLOAD_BYTES_MAX };
        let mut cache = log.cache(settings);
        let act = if claim.is_some() { Act::Prepare } else { Act::Rows };
        super::fill(log, &mut cache, Entry { number, act }, bytes, &mut self.random)?;
        if self.random.chance(10) {
            return trx.rollback();
        }
        let pending = log.pending(cache.finish()?, number as u32, false)?;
        lock(ledger).begin(number);
        match claim {
            Some(claim) => trx.prepare_with(claim, false, Some(&pending))?,
            None => trx.commit_with(Some(&pending))?,
        }
        lock(ledger).acknowledge(number);
        self.report.count(if act == Act::Prepare { "branches prepared" } else { "transactions" });
        super::write(log, &mut self.random)
    }

    fn end_branch(&mut self, number: u64) -> Result<(), Error> {
        self.now("ending a branch");
        let Life { engine, log, ledger, .. } = &self.life;
        let prepared = engine.prepared();
        if prepared.is_empty() {
            return Ok(());
        }
        let xid = &prepared[self.random.below(prepared.len() as u64) as usize];
        lock(ledger).begin(number);
        // Another session may have been faster.
        if super::end_prepared(engine, log, xid, number, self.random.chance(2))? {
            lock(ledger).acknowledge(number);
            self.report.count("branches ended");
        } else {
            lock(ledger).forget(number);
        }
        super::write(log, &mut self.random)
    }

    /// Begins files and creates tables until the sessions are done.
    fn manage(&mut self, stop: &AtomicBool) -> Result<(), String> {
        while !stop.load(Ordering::Relaxed) {
            std::thread::sleep(std::time::Duration::from_micros(self.random.below(3000)));
            let (done, number, doing) = match self.random.below(4) {
                0 => {
                    self.now("beginning a file");
                    (self.life.log.rotate(), None, "a new file")
                }
                1 => {
                    self.now("reading the log");
                    (self.life.log.list().map(drop), None, "a list of the files")
                }
                _ => {
                    let number = self.number();
                    self.now("creating a table");
                    lock(&self.life.ledger).begin(number);
                    let done = super::define(&self.life.engine, &self.life.log, number);
                    if done.is_ok() {
                        lock(&self.life.ledger).acknowledge(number);
                    }
                    (done.and_then(|()| self.life.log.write()), Some(number), "a table")
                }
            };
            if self.judge(done, number, doing)? {
                break;
            }
        }
        self.now("done");
        Ok(())
    }
}
