//! The log of a running server.
//!
//! All that decides an order, of GTIDs, of places in the file, of commit records in the redo log and of visibility, happens
//! under one lock, the order; nothing waits for a device there but rotation; a transaction that is too long for the redo
//! log begins a file with its own, which it has written before. docs/binlog.md draws a commit.
//!
//! ```text
//! commit.rs       a transaction gets its name and place      rotation.rs   one file after the other
//! names.rs        GTIDs that are executed, chosen, purged    removal.rs    files that leave, RESET
//! cache_files.rs  files and threads of transactions' caches
//! ```

mod cache_files;
mod commit;
mod names;
mod removal;
mod rotation;

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use format::binlog::{Checksum, Control, EventKind, GtidSet, Header, Uuid};
use format::ids::Lsn;
use storage::io::Disk;
use storage::sync::{Mutex, Rank};
use storage::{Engine, Error, Result};
use tracing::warn;

use crate::cache::{Cache, CacheSettings};
use crate::compressors::Compressors;
use crate::databases::Databases;
use crate::dependencies::History;
use crate::end::{End, Reach};
use crate::files::{self, FileName, Head, Listed};
use crate::owned::Owned;
use crate::reader::EventReader;
use crate::readers::{Readers, Reading};
use crate::recovery;
use crate::semi_sync::SemiSync;
use crate::stats::Stats;
use crate::tail::Tail;
use crate::workers::Workers;
use cache_files::{CacheFiles, remove_caches};

pub use commit::{Name, Origin, Pending, SessionOrder};
pub use names::PurgedRefusal;
pub use removal::Purged;

/// How long committed transactions wait to be written together, at most.
const WRITE_PERIOD: Duration = Duration::from_millis(10);

/// How often the file is synced, at least, and old files are looked for.
const SYNC_PERIOD: Duration = Duration::from_secs(1);

/// What a log is opened with.
#[derive(Clone, Debug)]
pub struct Options {
    /// The name of the files without their number.
    pub base: String,
    /// Version of the server, as text and as number.
    pub server: String,
    pub version: u32,
    pub server_id: u32,
    pub uuid: Uuid,
    /// gtid_mode: whether transactions have names.
    pub gtids: bool,
    /// binlog_checksum.
    pub checksum: Checksum,
    /// max_binlog_size.
    pub file_bytes_max: u64,
    /// binlog_expire_logs_seconds; 0 = never.
    pub expire_seconds: u64,
}

/// A place in the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Position {
    pub file: FileName,
    pub position: u64,
}

/// See the module header.
pub struct BinaryLog {
    engine: Arc<Engine>,
    disk: Arc<dyn Disk>,
    options: Options,
    server_id: AtomicU32,
    file_bytes_max: AtomicU64,
    expire_seconds: AtomicU64,
    /// Keys that the history holds, for dependencies by what transactions write; 0 = by the order of commits alone.
    keys_max: AtomicUsize,
    /// A transaction also depends on the one before it in its session: WRITESET_SESSION.
    keeps_sessions: AtomicBool,
    /// What is logged at all; empty = everything.
    databases: OnceLock<Databases>,
    order: Mutex<Order>,
    tail: Tail,
    end: Arc<End>,
    readers: Arc<Readers>,
    semi_sync: SemiSync,
    stats: Arc<Stats>,
    /// The number of the newest transaction: one that holds all its locks now depends on none that commits later.
    newest: AtomicU64,
    /// gtid_mode: whether new transactions get names.
    gives_names: AtomicBool,
    owned: Owned,
    cache_files: Arc<CacheFiles>,
    xids: AtomicU64,
    closed: AtomicBool,
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// What commits take turns for.
struct Order {
    /// The files, oldest first; the last one is written.
    files: Vec<FileName>,
    /// Where the next transaction goes.
    position: u64,
    /// What the events of the current file have.
    checksum: Checksum,
    executed: GtidSet,
    /// What gtid_purged has added.
    added: GtidSet,
    /// Transactions so far, and how many of them are in earlier files.
    transactions: u64,
    before_file: u64,
    history: History,
    /// A reset has been decided, and is not finished: what the first file then has.
    resetting: Option<Checksum>,
}

impl Order {
    fn current(&self) -> &FileName {
        self.files.last().expect("a log has a file")
    }
}

impl BinaryLog {
    /// Opens the log, and begins a new file. What the last run left in the redo log has been completed by
    /// [`crate::open_engine`].
    pub fn open(engine: Arc<Engine>, options: Options) -> Result<Arc<BinaryLog>> {
        let disk = engine.store().disk().clone();
        remove_caches(&**engine.store().scratch_disk())?;
        let (mut names, mut executed) = recovery::open_files(&*disk, &options.base)?;
        let added = files::read_purged(&*disk, &options.base)?;
        executed.extend(&added);
        let now = disk.clock().wall().as_secs() as u32;
        let name = match names.last() {
            Some(last) => last.next(),
            None => {
                // The redo log of a restored backup may have annexes of files of this name: those of the server that the
                // backup is of. The checkpoint passes them, so that a crash does not write them into files of this log.
                engine.store().checkpoint()?;
                FileName { base: options.base.as_str().into(), number: 1 }
            }
        };
        let checksum = options.checksum;
        let head = Head {
            server: &options.server,
            server_id: options.server_id,
            now,
            is_first: true,
            checksum,
            previous: &executed,
        };
        let head = head.encode();
        let file = files::create(&*disk, &name, &head)?;
        names.push(name);
        files::write_index(&*disk, &options.base, &names)?;
        let position = head.len() as u64;
        let end = Arc::new(End::new(names.last().expect("a log has a file").number, position));
        let order = Order {
            files: names,
            position,
            checksum,
            executed,
            added,
            transactions: 0,
            before_file: 0,
            history: History::default(),
            resetting: None,
        };
        let cache_files = Arc::new(CacheFiles {
            engine: engine.clone(),
            number: AtomicU64::new(0),
            head_bytes: AtomicU64::new(position),
            has_checksums: AtomicBool::new(checksum == Checksum::Crc32),
            unsynced: Mutex::new(Rank::Leaf, Vec::new()),
            compressors: Compressors::default(),
            workers: OnceLock::new(),
        });
        Ok(Arc::new(BinaryLog {
            tail: Tail::new(engine.clone(), file, position, end.clone()),
            end,
            readers: Arc::default(),
            semi_sync: SemiSync::default(),
            stats: Arc::default(),
            engine,
            disk,
            server_id: AtomicU32::new(options.server_id),
            gives_names: AtomicBool::new(options.gtids),
            owned: Owned::new(),
            file_bytes_max: AtomicU64::new(options.file_bytes_max),
            expire_seconds: AtomicU64::new(options.expire_seconds),
            keys_max: AtomicUsize::new(0),
            keeps_sessions: AtomicBool::new(false),
            databases: OnceLock::new(),
            options,
            order: Mutex::new(Rank::CommitOrder, order),
            newest: AtomicU64::new(0),
            cache_files,
            xids: AtomicU64::new(0),
            closed: AtomicBool::new(false),
            thread: Mutex::new(Rank::Instance, None),
        }))
    }

    /// Starts the thread that syncs the file behind the commits, and allows threads that pack the events of long
    /// transactions: at most one for two processors, since statements run beside them.
    pub fn start_threads(self: &Arc<Self>) {
        let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let workers = || Arc::new(Workers::new(self.engine.store().health().clone(), processors.div_ceil(2)));
        self.cache_files.workers.get_or_init(workers);
        let log: Weak<BinaryLog> = Arc::downgrade(self);
        let engine = self.engine.clone();
        let run = move || {
            let mut synced = Instant::now();
            loop {
                let is_wanted = engine.annex_hold().wait(WRITE_PERIOD, SYNC_PERIOD);
                let Some(log) = log.upgrade().filter(|log| !log.closed.load(Ordering::Acquire)) else { return };
                let done = if is_wanted || synced.elapsed() >= SYNC_PERIOD {
                    synced = Instant::now();
                    log.step()
                } else {
                    log.write_now()
                };
                if let Err(error) = done {
                    if matches!(error, Error::Poisoned) {
                        return;
                    }
                    warn!("the binary log: {error}");
                }
            }
        };
        let thread = std::thread::Builder::new().name("binlog".into()).spawn(run);
        *self.thread.lock() = Some(thread.expect("a thread for the binary log"));
    }

    /// One bounded batch of background work.
    pub fn step(&self) -> Result<()> {
        self.cache_files.sync();
        self.write_now()?;
        if self.tail.pending_bytes() > 0 {
            // Commits need not wait for the redo log, and then nobody else makes it durable in time.
            let end = self.engine.store().current_lsn();
            self.engine.store().flush_log(end)?;
        }
        self.tail.sync()
    }

    /// Ends the log: everything is durable, and the file says that it ends.
    pub fn close(&self) -> Result<()> {
        if self.closed.swap(true, Ordering::AcqRel) {
            return Ok(());
        }
        self.engine.annex_hold().want();
        if let Some(thread) = self.thread.lock().take() {
            let _ = thread.join();
        }
        if let Some(workers) = self.cache_files.workers.get() {
            workers.close();
        }
        let mut order = self.order.lock();
        self.finish_reset(&mut order)?;
        self.tail.settle()?;
        let ended = self.end_file(&mut order, &Control::Stop);
        self.end.close();
        ended
    }

    pub fn server_id(&self) -> u32 {
        self.server_id.load(Ordering::Relaxed)
    }

    pub fn set_server_id(&self, id: u32) {
        self.server_id.store(id, Ordering::Relaxed);
    }

    pub fn set_file_bytes_max(&self, bytes: u64) {
        self.file_bytes_max.store(bytes, Ordering::Relaxed);
    }

    /// binlog_checksum. The log goes on in a new file; if there is no room for one, as soon as there is.
    pub fn set_checksum(&self, checksum: Checksum) -> Result<()> {
        self.cache_files.has_checksums.store(checksum == Checksum::Crc32, Ordering::Relaxed);
        let mut order = self.order.lock();
        self.finish_reset(&mut order)?;
        match order.checksum == checksum {
            true => Ok(()),
            false => self.rotate_or_stay(&mut order),
        }
    }

    pub fn set_expire_seconds(&self, seconds: u64) {
        self.expire_seconds.store(seconds, Ordering::Relaxed);
    }

    /// Keys that a transaction may tell, and that are remembered of all; 0: transactions depend on each other by the order
    /// of commits alone.
    pub fn keys_max(&self) -> usize {
        self.keys_max.load(Ordering::Relaxed)
    }

    pub fn set_keys_max(&self, keys: usize) {
        self.keys_max.store(keys, Ordering::Relaxed);
    }

    /// binlog_transaction_dependency_tracking=WRITESET_SESSION: replicas keep the order of each session, also if they do not
    /// keep that of all commits.
    pub fn set_keeps_sessions(&self, keeps: bool) {
        self.keeps_sessions.store(keeps, Ordering::Relaxed);
    }

    /// Which databases are logged: before the server serves.
    pub fn set_databases(&self, databases: Databases) {
        assert!(self.databases.set(databases).is_ok(), "they are set once");
    }

    /// The databases that are logged; `None` = all.
    pub fn databases(&self) -> Option<&Databases> {
        self.databases.get()
    }

    /// Whether changes in a database are logged; `None`: statements without one.
    #[inline]
    pub fn logs(&self, database: Option<&str>) -> bool {
        self.databases.get().is_none_or(|databases| databases.has(database))
    }

    pub fn base(&self) -> &str {
        &self.options.base
    }

    pub fn disk(&self) -> &Arc<dyn Disk> {
        &self.disk
    }

    /// An empty cache for a session's transactions.
    pub fn cache(&self, settings: CacheSettings) -> Cache {
        Cache::new(self.cache_files.clone(), settings)
    }

    /// A number for the end of a transaction.
    pub fn next_xid(&self) -> u64 {
        self.xids.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// The header of an event that happened at this time.
    pub fn header(&self, kind: EventKind, timestamp: u32, flags: u16) -> Header {
        let server_id = self.server_id.load(Ordering::Relaxed);
        Header { timestamp, kind, server_id, bytes: 0, end_position: 0, flags }
    }

    /// The files with their lengths.
    pub fn list(&self) -> Result<Vec<Listed>> {
        // Commits go on while the redo log is synced for this.
        self.tail.write_visible()?;
        let mut order = self.order.lock();
        self.finish_reset(&mut order)?;
        let current = order.current().clone();
        let listed = order.files.iter().map(|name| {
            let bytes = match *name == current {
                true => self.tail.written(),
                false => recovery::length(&*self.disk, name)?,
            };
            Ok(Listed { name: name.clone(), bytes })
        });
        listed.collect()
    }

    /// Where the log ends, and the transactions in it.
    pub fn position(&self) -> Result<(Position, GtidSet)> {
        let known = {
            let mut order = self.order.lock();
            self.finish_reset(&mut order)?;
            (Position { file: order.current().clone(), position: order.position }, order.executed.clone())
        };
        self.tail.write_visible()?;
        Ok(known)
    }

    /// Where the log ends as seen from the redo log, of which `end` tells the end: what is committed before the one is
    /// before the other.
    pub fn position_at(&self, end: &mut dyn FnMut() -> Lsn) -> (Position, GtidSet) {
        let order = self.order.lock();
        end();
        (Position { file: order.current().clone(), position: order.position }, order.executed.clone())
    }

    /// A reader of one file's events; `None` = the log has no such file.
    pub fn read(&self, name: &FileName) -> Result<Option<EventReader>> {
        self.tail.write_visible()?;
        let order = self.order.lock();
        if !order.files.contains(name) {
            return Ok(None);
        }
        let limit = if name == order.current() { self.tail.written() } else { u64::MAX };
        EventReader::open(&*self.disk, name, limit).map(Some)
    }

    /// Waits until there is more than what the reader knows of, as [`End::wait`] does.
    pub fn wait_beyond(&self, known: Reach, limit: Duration) -> Result<Reach> {
        let _waiting = self.end.announce();
        self.write_now()?;
        Ok(self.end.wait(known, limit))
    }

    /// How far the log may be read.
    pub fn end(&self) -> &Arc<End> {
        &self.end
    }

    /// A reader that follows the log through this file; `None` = the log has no such file. The file is not purged while
    /// it is read.
    pub fn follow(&self, name: &FileName) -> Result<Option<(EventReader, Reading)>> {
        self.write_now()?;
        let order = self.order.lock();
        if !order.files.contains(name) {
            return Ok(None);
        }
        let reading = self.readers.begin(name.number);
        let reach = self.end.get();
        drop(order);
        let limit = if reach.file == name.number { reach.bytes } else { u64::MAX };
        Ok(Some((EventReader::open(&*self.disk, name, limit)?, reading)))
    }

    /// The names of all files, oldest first.
    pub fn files(&self) -> Vec<FileName> {
        self.order.lock().files.clone()
    }

    /// The first file.
    pub fn first(&self) -> FileName {
        self.order.lock().files[0].clone()
    }
}
