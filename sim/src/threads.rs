//! The engine with all its threads, on a disk that fails under it.
//!
//! This is the other half of the simulator: the seed alone does not determine what happens, so a failure may take
//! several tries to reproduce. In exchange, latches, locks and background threads interact as in a server.
//!
//! In each life a sync, a read, a write or all punches from some moment on may fail, and the disk may be full
//! ([`Failing`]), whichever thread of the engine that affects. What was acknowledged must be there afterwards, every
//! error must have a cause, and every call must return: a watchdog names the threads of a run that does not end.
//!
//! Each worker owns the ids with its own remainder modulo the number of workers, and knows their rows. All of them move
//! amounts between accounts, whose sum is constant for every reader. One more thread runs DDL: indexes, copies of
//! tables, names.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use storage::io::Disk;
use storage::io::sim::{Random, SimDisk};
use storage::schema::{Compression, ReadMode, Row, TableDefinition};
use storage::{Config, Engine, Error, Isolation, Table, Trx, TrxOptions};

use crate::Talk;
use crate::model::{ModelRow, ModelTable};
use crate::report::Report;
use crate::workload::{self, BODY, BODY_INDEX, DATABASE, K, NAME};

pub const ROWS: &str = "rows";
const ACCOUNTS: &str = "accounts";
const ACCOUNT_COUNT: i64 = 24;
const AMOUNT: i32 = 1000;

/// No worker takes so long to end its work, on however slow a machine.
pub const PATIENCE: Duration = Duration::from_secs(100);

/// What fails in one life, by the number of the call, or that the disk may be full.
#[derive(Clone, Copy, Debug, Default)]
pub struct Failing {
    sync: Option<u64>,
    read: Option<u64>,
    write: Option<u64>,
    limited: bool,
}

impl Failing {
    /// Draws the faults of a life, and sets them.
    pub fn draw(random: &mut Random, disk: &SimDisk) -> Failing {
        let mut once = |of: u64, so_far: u64, within: u64| random.chance(of).then(|| so_far + 1 + random.below(within));
        let failing = Failing {
            sync: once(5, disk.syncs(), 120),
            read: once(5, disk.reads(), 300),
            write: once(6, disk.writes(), 800),
            limited: false,
        };
        let punch = once(6, disk.punches(), 50);
        let failing = Failing { limited: random.chance(5), ..failing };
        let crash_at = (!random.chance(4)).then(|| disk.changes() + 20 + random.below(3000));
        let capacity = failing.limited.then(|| disk.used_blocks() + random.below(600));
        disk.set_faults(|faults| {
            faults.crash_at = crash_at;
            faults.failing_sync = failing.sync;
            faults.failing_read = failing.read;
            faults.failing_write = failing.write;
            faults.failing_punch = punch;
            faults.capacity_blocks = capacity;
        });
        failing
    }

    pub fn has_sync_failed(&self, disk: &SimDisk) -> bool {
        self.sync.is_some_and(|at| disk.syncs() >= at)
    }

    fn has_read_failed(&self, disk: &SimDisk) -> bool {
        self.read.is_some_and(|at| disk.reads() >= at)
    }

    /// Whether a fault has happened that makes the engine stop writing.
    pub fn ends_writing(&self, disk: &SimDisk) -> bool {
        disk.is_crashed() || self.has_sync_failed(disk) || self.write.is_some_and(|at| disk.writes() >= at)
    }

    /// What an error means for the worker that gets it.
    pub fn judge(&self, error: Error, disk: &SimDisk, doing: &str) -> Stop {
        match error {
            Error::DiskFull { .. } if self.limited => Stop::Again,
            error => self.judge_undo(error, disk, doing),
        }
    }

    /// The same for undoing a part of a transaction. The frames and the log that a full disk leaves for it are those of
    /// all transactions.
    fn judge_undo(&self, error: Error, disk: &SimDisk, doing: &str) -> Stop {
        match error {
            Error::RollingBack if self.limited => Stop::Again,
            error => self.judge_read(error, disk, doing),
        }
    }

    /// The same for a call that changes nothing, and for a commit: a full disk does not excuse it.
    fn judge_read(&self, error: Error, disk: &SimDisk, doing: &str) -> Stop {
        match error {
            Error::Deadlock | Error::LockWaitTimeout | Error::DuplicateKey { index: 2 } => Stop::Again,
            Error::Io { .. } | Error::Poisoned | Error::RollingBack if self.ends_writing(disk) => Stop::Gone,
            Error::Io { .. } if self.has_read_failed(disk) => Stop::Again,
            error => Stop::Wrong(format!("{doing}: {error}")),
        }
    }
}

/// What each worker is doing, for the watchdog.
pub type Doing = Arc<Vec<std::sync::Mutex<&'static str>>>;

/// Ends a run in which a thread waits for ever, and names the thread.
pub fn give_up(doing: &Doing) -> ! {
    println!("no thread has ended its work for {} s:", PATIENCE.as_secs());
    for (worker, doing) in doing.iter().enumerate() {
        println!("  worker {worker}: {}", doing.lock().unwrap_or_else(|poisoned| poisoned.into_inner()));
    }
    for task in std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten() {
        let read = |name: &str| std::fs::read_to_string(task.path().join(name)).unwrap_or_default();
        let (name, waits) = (read("comm"), read("wchan"));
        println!("  thread {} {}: in {}", task.file_name().to_string_lossy(), name.trim(), waits.trim());
    }
    std::process::exit(3);
}

type Rows = BTreeMap<i64, Arc<ModelRow>>;

/// What one worker knows of its rows.
#[derive(Clone, Default)]
struct Known {
    /// Committed and acknowledged.
    rows: Rows,
    /// The rows if the interrupted commit has happened.
    perhaps: Option<Rows>,
}

pub fn options(isolation: Isolation) -> TrxOptions {
    TrxOptions {
        isolation,
        lock_wait_timeout: Duration::from_millis(30),
        metadata_wait_timeout: Duration::from_millis(200),
        ..TrxOptions::default()
    }
}

/// Runs one seed.
pub fn seed(seed: u64, talk: Talk) -> Result<Report, String> {
    let mut random = Random::new(seed);
    let mut disk = SimDisk::with_blocks(random.next(), [512, 4096][random.below(2) as usize]);
    let workers = 2 + random.below(3) as i64;
    let quiet = Config {
        page_bytes: [4096, 8192, 16384][random.below(3) as usize],
        pool_bytes: (60 + random.below(200)) * 16384,
        log_bytes: (1 << 20) << random.below(3),
        page_cleaners: 1 + random.below(2) as usize,
        ..Config::tiny()
    };
    let busy = Config { background_threads: true, lru_scan_depth: 16, ..quiet.clone() };
    let mut report = Report::default();
    if talk != Talk::Nothing {
        println!("{busy:?}, {workers} workers");
    }
    let shared: Arc<dyn Disk> = Arc::new(disk.clone());
    Engine::create(shared, &busy).map_err(|error| format!("create: {error}"))?;
    prepare(&disk, &quiet).map_err(|error| format!("prepare: {error}"))?;

    let mut known = vec![Known::default(); workers as usize];
    for _ in 0..1 + random.below(4) {
        let shared: Arc<dyn Disk> = Arc::new(disk.clone());
        let engine = Engine::open(shared, busy.clone()).map_err(|error| format!("open: {error}"))?;
        let failing = Failing::draw(&mut random, &disk);
        if talk != Talk::Nothing {
            println!("{failing:?}");
        }
        known = live(&engine, &disk, failing, known, &mut random, &mut report)?;
        report.count("lives");
        let crashed = disk.is_crashed();
        if !failing.ends_writing(&disk) && random.chance(2) {
            match engine.close().map_err(|error| failing.judge(error, &disk, "close")) {
                Ok(()) => report.count("clean closes"),
                Err(Stop::Gone) => report.count("crashes in close"),
                Err(Stop::Again) => report.count("closes given up"),
                Err(Stop::Wrong(what)) => return Err(what),
            }
        } else if engine.store().is_poisoned() {
            report.count("poisoned");
            if !failing.ends_writing(&disk) {
                return Err("poisoned without a cause".into());
            }
            // A second check must not find everything well, either.
            for _ in 0..2 {
                if engine.store().pool().sync_written().is_ok() || engine.store().checkpoint().is_ok() {
                    return Err("a checkpoint succeeds after a failed write or sync".into());
                }
            }
        }
        drop(engine);
        // Data that a failed sync should have made durable is gone for a reader of the device.
        let survives = random.chance(4) && !failing.has_sync_failed(&disk);
        for (what, count) in disk.take_seen() {
            report.add(format!("disk: {what}"), count);
        }
        disk = if survives { disk.duplicate() } else { disk.crash() };
        disk.set_faults(|faults| *faults = faults.of_device());
        if talk != Talk::Nothing {
            println!("-- crashed: {crashed}; {report}");
        }
        report.count("crashes");
        verify(&disk, &quiet, &mut known, workers)?;
    }
    Ok(report)
}

/// The tables, with the accounts' amounts.
fn prepare(disk: &SimDisk, config: &Config) -> Result<(), Error> {
    let engine = Engine::open(Arc::new(disk.clone()), config.clone())?;
    engine.create_database(DATABASE, format::collation::CollationId::DEFAULT, &TrxOptions::patient())?;
    let wait = options(Isolation::RepeatableRead);
    for (name, codec) in [(ROWS, Compression::LZ4), (ACCOUNTS, Compression::NONE)] {
        engine.create_table(workload::definition(name, codec), &wait)?;
    }
    let mut trx = engine.begin(wait);
    let table = trx.open_table(DATABASE, ACCOUNTS)?;
    for id in 0..ACCOUNT_COUNT {
        let row = ModelRow { k: AMOUNT, name: None, body: None };
        workload::insert(&mut trx, &table, id, &row)?;
    }
    trx.commit()?;
    engine.close()
}

/// All that must hold after a crash, checked without threads.
fn verify(disk: &SimDisk, config: &Config, known: &mut [Known], workers: i64) -> Result<(), String> {
    let engine =
        Engine::open(Arc::new(disk.clone()), config.clone()).map_err(|error| format!("open after a crash: {error}"))?;
    let report = engine.check().map_err(|error| format!("check: {error}"))?;
    if !report.errors.is_empty() {
        return Err(format!("check: {}", report.errors.join("; ")));
    }
    let found = workload::everything(&engine).map_err(|error| format!("read: {error}"))?;
    let missing = |name: &str| format!("table {name} is gone");
    let sum: i64 = sum(found.tables.get(ACCOUNTS).ok_or_else(|| missing(ACCOUNTS))?);
    if sum != ACCOUNT_COUNT * i64::from(AMOUNT) {
        return Err(format!("the sum of the accounts is {sum}"));
    }
    let found = found.tables.get(ROWS).ok_or_else(|| missing(ROWS))?;
    for (slot, known) in known.iter_mut().enumerate() {
        let mine =
            |rows: &Rows| -> ModelTable { ModelTable { rows: rows.clone(), has_body_index: found.has_body_index } };
        let mut seen = (**found).clone();
        seen.rows.retain(|id, _| id % workers == slot as i64);
        let first = mine(&known.rows).difference(&seen);
        let second = known.perhaps.as_ref().map(|rows| mine(rows).difference(&seen));
        match (first, second) {
            (None, _) | (_, Some(None)) => {}
            (Some(first), None) => return Err(format!("rows of worker {slot}: {first}")),
            (Some(first), Some(Some(second))) => return Err(format!("rows of worker {slot}: {first}; or: {second}")),
        }
        *known = Known { rows: seen.rows, perhaps: None };
    }
    let mut steps = 0;
    while engine.step().map_err(|error| format!("step: {error}"))? {
        steps += 1;
        if steps > 100_000 {
            return Err("background work does not end".into());
        }
    }
    let report = engine.check().map_err(|error| format!("check: {error}"))?;
    if !report.errors.is_empty() {
        return Err(format!("check after purge: {}", report.errors.join("; ")));
    }
    engine.close().map_err(|error| format!("close: {error}"))
}

fn sum(table: &ModelTable) -> i64 {
    table.rows.values().map(|row| i64::from(row.k)).sum()
}

/// Lets all threads work until they are done or the disk has failed.
fn live(
    engine: &Arc<Engine>,
    disk: &SimDisk,
    failing: Failing,
    known: Vec<Known>,
    random: &mut Random,
    report: &mut Report,
) -> Result<Vec<Known>, String> {
    let (send, receive) = mpsc::channel();
    let stop = Arc::new(AtomicBool::new(false));
    let count = known.len();
    let mut threads = Vec::new();
    let doing: Doing = Arc::new((0..=count).map(|_| std::sync::Mutex::new("beginning")).collect());
    for (slot, known) in known.into_iter().enumerate() {
        let random = Random::new(random.next());
        let mut worker = Worker {
            engine: engine.clone(),
            disk: disk.clone(),
            failing,
            doing: doing.clone(),
            random,
            slot: slot as i64,
            workers: count as i64,
            known,
            report: Report::default(),
        };
        let send = send.clone();
        threads.push(std::thread::spawn(move || {
            let outcome = worker.work();
            worker.now("done");
            let _ = send.send(());
            (outcome, worker.known, worker.report)
        }));
    }
    type Change = fn(&Arc<Engine>, &SimDisk, Failing, Random, &AtomicBool) -> Result<Report, String>;
    let changes: [Change; 2] = [change_shapes, crate::facts::keep_facts];
    let changers = changes.map(|change| {
        let (engine, disk, stop, send) = (engine.clone(), disk.clone(), stop.clone(), send.clone());
        let random = Random::new(random.next());
        std::thread::spawn(move || {
            let outcome = change(&engine, &disk, failing, random, &stop);
            let _ = send.send(());
            outcome
        })
    });
    drop(send);
    for done in 0..count + changers.len() {
        if done == count {
            stop.store(true, Ordering::Relaxed);
        }
        match receive.recv_timeout(PATIENCE) {
            Ok(()) | Err(mpsc::RecvTimeoutError::Disconnected) => {}
            Err(mpsc::RecvTimeoutError::Timeout) => give_up(&doing),
        }
        if done < count && disk.is_crashed() {
            stop.store(true, Ordering::Relaxed);
        }
    }
    let mut all = Vec::new();
    let mut failure = None;
    for thread in threads {
        match thread.join() {
            Ok((outcome, known, counted)) => {
                all.push(known);
                report.merge(&counted);
                failure = failure.or(outcome.err());
            }
            Err(cause) => failure = failure.or(Some(format!("a worker panicked: {}", message(&*cause)))),
        }
    }
    for changer in changers {
        match changer.join() {
            Ok(Ok(counted)) => report.merge(&counted),
            Ok(Err(error)) => failure = failure.or(Some(error)),
            Err(cause) => failure = failure.or(Some(format!("DDL panicked: {}", message(&*cause)))),
        }
    }
    match failure {
        Some(failure) => Err(failure),
        None => Ok(all),
    }
}

pub fn message(cause: &(dyn std::any::Any + Send)) -> &str {
    cause.downcast_ref::<String>().map(String::as_str).or_else(|| cause.downcast_ref::<&str>().copied()).unwrap_or("?")
}

struct Worker {
    engine: Arc<Engine>,
    disk: SimDisk,
    failing: Failing,
    doing: Doing,
    random: Random,
    slot: i64,
    workers: i64,
    known: Known,
    report: Report,
}

/// How a transaction failed.
pub enum Stop {
    /// Nothing of it has happened; the next one may succeed.
    Again,
    /// The disk has failed.
    Gone,
    Wrong(String),
}

impl Worker {
    fn work(&mut self) -> Result<(), String> {
        let transactions = 20 + self.random.below(150);
        for _ in 0..transactions {
            let outcome = match self.random.below(4) {
                0 => self.transfer(),
                1 => self.look(),
                _ => self.change_rows(),
            };
            match outcome {
                Ok(()) => {}
                Err(Stop::Again) => self.report.count("given up"),
                Err(Stop::Gone) => return Ok(()),
                Err(Stop::Wrong(what)) => return Err(format!("worker {}: {what}", self.slot)),
            }
        }
        Ok(())
    }

    fn begin(&mut self) -> Trx {
        let isolation = if self.random.chance(3) { Isolation::ReadCommitted } else { Isolation::RepeatableRead };
        self.engine.begin(options(isolation))
    }

    fn stop(&self, error: Error, doing: &str) -> Stop {
        self.failing.judge(error, &self.disk, doing)
    }

    /// The same for a call that a full disk does not excuse.
    fn stop_read(&self, error: Error, doing: &str) -> Stop {
        self.failing.judge_read(error, &self.disk, doing)
    }

    /// Reports to the watchdog.
    fn now(&self, doing: &'static str) {
        *self.doing[self.slot as usize].lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = doing;
    }

    /// Moves an amount from one account to another.
    fn transfer(&mut self) -> Result<(), Stop> {
        self.now("a transfer");
        let mut trx = self.begin();
        let table = trx.open_table(DATABASE, ACCOUNTS).map_err(|error| self.stop_read(error, "open accounts"))?;
        trx.statement_begin();
        let mut row = Row::new();
        for sign in [1, -1] {
            let id = self.random.below(ACCOUNT_COUNT as u64) as i64;
            let found = workload::read(&mut trx, &table, id, ReadMode::EXCLUSIVE, &mut row);
            let Some(mut account) = found.map_err(|error| self.stop(error, "lock an account"))? else {
                return Err(Stop::Wrong(format!("account {id} is gone")));
            };
            account.k += sign;
            account.body = Some(vec![7; self.random.below(500) as usize]);
            let stored = workload::encoded(id, &account);
            let changes = [(K, stored[K].as_deref()), (BODY, stored[BODY].as_deref())];
            trx.update(&table, &row, &changes).map_err(|error| self.stop(error, "change an account"))?;
        }
        if self.random.chance(5) {
            return trx.rollback().map_err(|error| self.stop_read(error, "roll a transfer back"));
        }
        self.now("the commit of a transfer");
        trx.commit().map_err(|error| self.stop_read(error, "commit a transfer"))?;
        self.report.count("transfers");
        Ok(())
    }

    /// Every reader, over every index, sees the whole sum.
    fn look(&mut self) -> Result<(), Stop> {
        self.now("a look");
        let mut trx = self.begin();
        let table = trx.open_table(DATABASE, ACCOUNTS).map_err(|error| self.stop_read(error, "open accounts"))?;
        for _ in 0..2 {
            if trx.isolation() == Isolation::ReadCommitted {
                trx.statement_begin();
            }
            let index = self.random.below(table.indexes.len() as u64) as usize;
            let reverse = self.random.chance(2);
            let seen = workload::scan(&mut trx, &table, index, reverse);
            let seen = seen.map_err(|error| self.stop_read(error, "read accounts"))?;
            let sum = sum(&seen);
            if sum != ACCOUNT_COUNT * i64::from(AMOUNT) || seen.rows.len() != ACCOUNT_COUNT as usize {
                let count = seen.rows.len();
                return Err(Stop::Wrong(format!("{count} accounts sum up to {sum} over index {index}")));
            }
        }
        self.report.count("looks");
        trx.commit().map_err(|error| self.stop_read(error, "end a look"))
    }

    fn change_rows(&mut self) -> Result<(), Stop> {
        self.now("changing rows");
        let mut trx = self.begin();
        let mut rows = self.known.rows.clone();
        let table = trx.open_table(DATABASE, ROWS).map_err(|error| self.stop_read(error, "open rows"))?;
        let most = if self.random.chance(5) { 60 } else { 8 };
        let statements = 1 + self.random.below(most);
        let start = self.random.below(150);
        for at in 0..statements {
            let id = if statements > 8 { start + at } else { self.random.below(200) };
            let id = id as i64 * self.workers + self.slot;
            let savepoint = trx.statement_begin();
            match self.change_row(&mut trx, &table, &mut rows, id) {
                Ok(()) => {}
                Err(Error::DuplicateKey { index: 2 } | Error::LockWaitTimeout) => {
                    let undone = trx.rollback_to(savepoint);
                    undone.map_err(|error| self.failing.judge_undo(error, &self.disk, "roll a statement back"))?;
                }
                Err(Error::Corrupt { page: None, what }) if what.starts_with("wrong:") => {
                    return Err(Stop::Wrong(what.into()));
                }
                Err(error) => return Err(self.stop(error, "change a row")),
            }
        }
        if self.random.chance(6) {
            return trx.rollback().map_err(|error| self.stop_read(error, "roll back"));
        }
        self.now("a commit");
        match trx.commit() {
            Ok(()) => {
                self.report.count("commits");
                self.known.rows = rows;
                Ok(())
            }
            Err(error) => {
                let stop = self.stop_read(error, "commit");
                // An abandoned commit has not happened; an interrupted one may have.
                self.known.perhaps = (!matches!(stop, Stop::Again)).then_some(rows);
                Err(stop)
            }
        }
    }

    fn change_row(&mut self, trx: &mut Trx, table: &Arc<Table>, rows: &mut Rows, id: i64) -> Result<(), Error> {
        let mut row = Row::new();
        let mode = if self.random.chance(2) { ReadMode::Consistent } else { ReadMode::EXCLUSIVE };
        let seen = workload::read(trx, table, id, mode, &mut row)?;
        if seen.as_ref() != rows.get(&id).map(|row| &**row) {
            return Err(Error::corrupt(format!("wrong: row {id} is not as it ought to be ({mode:?}): {seen:?}")));
        }
        let name = match self.random.below(5) {
            0 => None,
            1 => Some(format!("s{}", self.random.below(40))),
            _ => Some(format!("{}-{id}", "n".repeat(self.random.below(40) as usize))),
        };
        let most = [100, 300, 3000, 20_000][self.random.below(4) as usize];
        let bytes = self.random.below(most) as usize;
        let new =
            ModelRow { k: self.random.below(100) as i32, name, body: Some(vec![self.random.next() as u8; bytes]) };
        if seen.is_none() {
            workload::insert(trx, table, id, &new)?;
            rows.insert(id, Arc::new(new));
            return Ok(());
        }
        if mode == ReadMode::Consistent {
            workload::read(trx, table, id, ReadMode::EXCLUSIVE, &mut row)?;
        }
        if self.random.chance(3) {
            trx.delete(table, &row)?;
            rows.remove(&id);
            return Ok(());
        }
        let stored = workload::encoded(id, &new);
        let changes: Vec<_> = [K, NAME, BODY].into_iter().map(|column| (column, stored[column].as_deref())).collect();
        trx.update(table, &row, &changes)?;
        rows.insert(id, Arc::new(new));
        Ok(())
    }
}

/// DDL beside the workers, until they are done.
fn change_shapes(
    engine: &Arc<Engine>,
    disk: &SimDisk,
    failing: Failing,
    mut random: Random,
    stopped: &AtomicBool,
) -> Result<Report, String> {
    let mut report = Report::default();
    let wait = options(Isolation::RepeatableRead);
    while !stopped.load(Ordering::Relaxed) {
        std::thread::sleep(Duration::from_millis(random.below(20)));
        if failing.limited && random.chance(6) {
            // Frees space, or takes some.
            let capacity = random.chance(2).then(|| disk.used_blocks() + random.below(300));
            disk.set_faults(|faults| faults.capacity_blocks = capacity);
        }
        let name = if random.chance(2) { ROWS } else { ACCOUNTS };
        let Some(table) = engine.table(DATABASE, name) else { return Err(format!("table {name} is gone")) };
        let codec = [Compression::NONE, Compression::LZ4, Compression::ZLIB, Compression::ZSTD];
        let codec = codec[random.below(4) as usize];
        let outcome = match random.below(6) {
            0 => {
                let wanted = workload::definition(name, codec).options;
                let change = |own: &mut TableDefinition| {
                    (own.options.compression, own.options.encrypted) = (wanted.compression, wanted.encrypted);
                };
                engine.rebuild_table(DATABASE, name, change, &wait).map(|_| ())
            }
            1 => engine
                .alter_table_options(DATABASE, name, &wait, &mut |options| options.compression = codec)
                .map(|_| ()),
            2 => {
                let aside = workload::definition("aside", codec);
                let made = engine.create_table(aside, &wait).map(|_| ());
                made.and_then(|()| engine.drop_tables(&[(DATABASE, "aside")], &wait))
            }
            _ if table.index(BODY_INDEX).is_some() => engine.drop_index(DATABASE, name, BODY_INDEX, &wait).map(|_| ()),
            _ => engine.create_index(DATABASE, name, workload::body_index(), &wait).map(|_| ()),
        };
        match outcome.map_err(|error| failing.judge(error, disk, "DDL")) {
            Ok(()) => report.count("ddl"),
            Err(Stop::Again) => report.count("ddl given up"),
            Err(Stop::Gone) => break,
            // A crash between the two left it behind.
            Err(Stop::Wrong(what)) if what.contains("exists already") => {
                let dropped = engine.drop_tables(&[(DATABASE, "aside")], &wait);
                if let Err(Stop::Wrong(what)) = dropped.map_err(|error| failing.judge(error, disk, "DDL")) {
                    return Err(what);
                }
            }
            Err(Stop::Wrong(what)) => return Err(what),
        }
    }
    Ok(report)
}
