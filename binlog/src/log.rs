//! The log of a running server: commits, rotation, purging.
//!
//! What a commit does is drawn in docs/binlog.md. All that decides an order, of GTIDs, of places in the file, of commit
//! records in the redo log and of visibility, happens under one lock, the order; nothing waits for a device there but
//! rotation; a transaction that is too long for the redo log begins a file with its own, which it has written before.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use format::binlog::gtid::{CommitInfo, LogicalClock};
use format::binlog::{Checksum, Control, EventKind, Gtid, GtidEvent, GtidSet, Header, Uuid, event, flags};
use format::ids::Lsn;
use storage::io::{Caching, Disk, File, OpenMode};
use storage::sync::{Mutex, Rank};
use storage::{Annexed, CommitLog, Engine, Error, Result};
use tracing::{info, warn};

use crate::cache::{Cache, CacheSettings};
use crate::compressors::Compressors;
use crate::databases::Databases;
use crate::dependencies::{History, WriteSet};
use crate::end::{End, Reach};
use crate::files::{self, FileName, Head, Listed, io};
use crate::finished::{Begun, Finished};
use crate::owned::{Chosen, Owned};
use crate::reader::EventReader;
use crate::readers::{Readers, Reading};
use crate::recovery::{self, ANNEX};
use crate::semi_sync::SemiSync;
use crate::spill::{Files, Spilled};
use crate::stats::{Counted, Stats};
use crate::tail::{Logged, Tail};
use crate::workers::Workers;

/// Bytes of committed transactions that may wait in memory while commits do not wait for the redo log.
const PENDING_BYTES_MAX: usize = 16 << 20;

/// Bytes of committed transactions that wait to be written together.
const COLLECTED_BYTES: usize = 256 << 10;

/// How long they wait, at most.
const WRITE_PERIOD: Duration = Duration::from_millis(10);

/// How often the file is synced, at least, and old files are looked for.
const SYNC_PERIOD: Duration = Duration::from_secs(1);

/// Files of transactions that are too long for memory begin so.
const CACHE_PREFIX: &str = "#binlog_cache_";

/// Room in front of a long transaction, beside what the head of a file needs now.
const ROOM_BYTES: u64 = 8 << 10;

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

/// What a purge did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Purged {
    /// Files that were to go, and those that went.
    pub wanted: usize,
    pub removed: usize,
    /// The first file that stayed because dumps read it, and how many do.
    pub in_use: Option<(FileName, usize)>,
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
    /// A reset has been decided, and is not finished.
    is_resetting: bool,
}

impl Order {
    fn current(&self) -> &FileName {
        self.files.last().expect("a log has a file")
    }
}

/// The next file of a log.
struct Next {
    file: Arc<dyn File>,
    /// Where its transactions begin.
    position: u64,
    checksum: Checksum,
}

/// Makes it.
type NewFile<'n> = dyn FnMut(&Order, &FileName) -> Result<Next> + 'n;

/// Where a transaction was committed first, if that was another server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    pub server_id: u32,
    /// Its name there; `None` = it has none, and gets one here.
    pub gtid: Option<Gtid>,
    /// Microseconds since 1970 of that commit, and the version of that server; 0 = unknown.
    pub micros: u64,
    pub version: u32,
}

/// How a transaction gets its name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Name {
    /// As gtid_mode says; what a source has committed keeps its name.
    #[default]
    Automatic,
    Anonymous,
    /// The session owns it.
    Given(Gtid),
}

/// Why gtid_purged cannot be set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PurgedRefusal {
    /// Sessions own names.
    Owned,
    /// Some of the set are executed, and were not purged.
    Overlaps,
    /// Some that were purged are not in the set.
    NoSuperset,
}

/// What a transaction's Gtid event says beside its name.
pub struct Pending<'l> {
    log: &'l BinaryLog,
    finished: Finished,
    header: Header,
    last_committed: u64,
    has_statements: bool,
    origin: Option<Origin>,
    name: Name,
    writes: WriteSet,
}

impl Pending<'_> {
    /// How it gets its name.
    pub fn named(self, name: Name) -> Self {
        Pending { name, ..self }
    }

    /// What it wrote; unless this is told, it is not known.
    pub fn writing(self, writes: WriteSet) -> Self {
        Pending { writes, ..self }
    }

    /// The transaction was committed elsewhere first, if there is an origin.
    pub fn from(mut self, origin: Option<Origin>) -> Self {
        if let Some(origin) = origin {
            self.header.server_id = origin.server_id;
        }
        self.origin = origin;
        self
    }
}

impl BinaryLog {
    /// Opens the log, and begins a new file. What the last run left in the redo log has been completed by
    /// [`crate::complete`].
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
            is_resetting: false,
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

    // Commits

    /// Makes a transaction part of the engine's commit that this is passed to. The caller holds all locks of the
    /// transaction. If it is long, the rest of it is brought into its file here, while other commits go on.
    pub fn pending(&self, mut finished: Finished, timestamp: u32, has_statements: bool) -> Result<Pending<'_>> {
        if finished.log_bytes(self.cache_files.checksum()) > self.annex_bytes_max() {
            finished.settle(&*self.cache_files)?;
        }
        let last_committed = self.newest.load(Ordering::Acquire);
        let header = self.header(EventKind::GTID, timestamp, 0);
        Ok(Pending {
            log: self,
            finished,
            header,
            last_committed,
            has_statements,
            origin: None,
            name: Name::Automatic,
            writes: WriteSet::UNKNOWN,
        })
    }

    /// After each commit, by the thread that committed: writes what is durable into the file if a reader waits for it, or
    /// if it is much. Otherwise the log's own thread writes it soon, together with what other commits leave.
    pub fn write(&self) -> Result<()> {
        if self.end.is_awaited() || self.tail.pending_bytes() >= COLLECTED_BYTES {
            return self.write_now();
        }
        Ok(())
    }

    /// Writes what is durable into the file.
    fn write_now(&self) -> Result<()> {
        match self.tail.write() {
            // The transaction is committed; its events are in the redo log until there is room, and no others follow.
            Err(Error::DiskFull { .. }) => Ok(()),
            other => other,
        }
    }

    pub fn semi_sync(&self) -> &SemiSync {
        &self.semi_sync
    }

    /// Waits until replicas have what has been committed, if commits are to wait for them. After [`BinaryLog::write`].
    pub fn await_replicas(&self, is_killed: &dyn Fn() -> bool) -> Result<()> {
        if !self.semi_sync.is_enabled() {
            return Ok(());
        }
        self.write_now()?;
        if self.tail.pending_bytes() > 0 {
            // This commit did not wait for the redo log, and no replica gets what is not durable.
            let end = self.engine.store().current_lsn();
            self.engine.store().flush_log(end)?;
            self.write_now()?;
        }
        self.semi_sync.wait(self.end.get(), is_killed);
        Ok(())
    }

    /// Bytes that a transaction's annex may have: a small part of the redo log.
    fn annex_bytes_max(&self) -> u64 {
        (self.engine.store().redo().capacity() / 32).min(8 << 20)
    }

    fn commit(&self, pending: &Pending<'_>, append: &mut dyn FnMut(Annexed<'_>) -> Result<Lsn>) -> Result<Lsn> {
        let mut order = self.order.lock();
        if self.closed.load(Ordering::Acquire) {
            return Err(Error::Poisoned);
        }
        self.finish_reset(&mut order)?;
        if self.tail.pending_bytes() > PENDING_BYTES_MAX {
            self.tail.settle()?;
        }
        // If the device has no room for what is committed, nothing more is.
        if self.tail.is_stuck() {
            self.tail.write()?;
        }
        let is_long = pending.finished.settled().is_some();
        let is_full = order.position >= self.file_bytes_max.load(Ordering::Relaxed);
        // A long transaction that was begun before binlog_checksum was changed has begun a file in the old way.
        if !is_long && (is_full || order.checksum != self.cache_files.checksum()) {
            self.rotate_or_stay(&mut order)?;
        }
        let source = self.options.uuid;
        let given = pending.origin.and_then(|origin| origin.gtid);
        let own = || {
            if self.owned.is_empty() {
                return Gtid { source, number: order.executed.next_number(source) };
            }
            let mut taken = order.executed.of_source(source);
            self.owned.add_to(&mut taken, source);
            Gtid { source, number: taken.next_number(source) }
        };
        let gtid = match pending.name {
            Name::Given(gtid) => Some(gtid),
            Name::Anonymous => None,
            Name::Automatic => self.has_gtids().then(|| given.unwrap_or_else(own)),
        };
        let (number, keys_max) = (order.transactions + 1, self.keys_max());
        let depends_on = order.history.depends_on(number, pending.last_committed, &pending.writes, keys_max);
        let event = |before_file| {
            self.gtid_event(
                LogicalClock {
                    last_committed: depends_on.saturating_sub(before_file),
                    sequence_number: number - before_file,
                },
                pending,
                gtid,
            )
        };
        let (position, end, gtid_event) = match is_long {
            true => self.begin_with(&mut order, pending, &event)?,
            false => {
                let bytes = encode(&event(order.before_file), pending, order.checksum);
                let end = order.position + bytes.len() as u64 + pending.finished.log_bytes(order.checksum);
                (order.position, end, bytes)
            }
        };
        let body_at = position + gtid_event.len() as u64;
        let checksum = order.checksum;
        let log_bytes = if is_long { 0 } else { pending.finished.log_bytes(checksum) as usize };
        // The annex is made in one piece: the redo log copies it, and the file is written from it.
        let mut annex = recovery::begin_annex(order.current(), position, end, gtid_event.len() + log_bytes);
        let from = annex.len();
        annex.extend_from_slice(&gtid_event);
        event::place(&mut annex[from..], body_at as u32, checksum);
        if !is_long {
            pending.finished.append(body_at, pending.header, checksum, &mut annex)?;
        }
        self.tail.begin_append();
        match append(Some((ANNEX, &annex))) {
            Ok(lsn) => {
                self.tail.appended(lsn, position, Logged::new(annex, from), end);
                order.position = end;
                order.transactions += 1;
                self.newest.store(order.transactions, Ordering::Release);
                if let Some(gtid) = gtid {
                    order.executed.insert(gtid);
                }
                self.count(pending, gtid);
                Ok(lsn)
            }
            Err(error) => {
                self.tail.abandoned();
                if is_long {
                    self.tail.file().set_len(position).map_err(io("cut the binary log"))?;
                }
                Err(error)
            }
        }
    }

    fn count(&self, pending: &Pending<'_>, gtid: Option<Gtid>) {
        let finished = &pending.finished;
        let (is_payload, plain_bytes) = (finished.is_payload(), finished.plain_bytes());
        let bytes = if is_payload { finished.packed_bytes() } else { plain_bytes };
        let micros = self.disk.clock().wall().as_micros() as u64;
        self.stats.count(Counted { gtid, is_payload, bytes, plain_bytes, micros });
        match pending.has_statements {
            true => self.stats.count_statement(),
            false => self.stats.count_cache(finished.needed_file()),
        }
    }

    /// What has been written since the server started.
    pub fn stats(&self) -> &Arc<Stats> {
        &self.stats
    }

    /// Begins a new file with a transaction that has written it. Until the annex with the Gtid event is in the file, the
    /// log ends at zeros in front of the transaction, and a crash cuts off what is behind them. Returns where the Gtid
    /// event belongs, where the transaction ends, and the event.
    fn begin_with(
        &self,
        order: &mut Order,
        pending: &Pending<'_>,
        event: &dyn Fn(u64) -> GtidEvent,
    ) -> Result<(u64, u64, Vec<u8>)> {
        let mut gtid = Vec::new();
        let mut begun = None;
        self.rotate_to(order, &mut |order, name| {
            // Numbers count from the beginning of the file.
            let spilled = pending.finished.settled().expect("a long transaction is settled");
            let checksum = pending.finished.file_checksum().expect("a settled transaction has a file");
            gtid = encode(&event(order.transactions), pending, checksum);
            let head = self.head(&order.executed, checksum);
            self.cache_files.head_bytes.store(head.len() as u64, Ordering::Relaxed);
            let Begun { gtid_at, end, .. } = pending.finished.begin_file(&head, gtid.len() as u64, pending.header)?;
            begun = Some((gtid_at, end));
            let path = name.to_string();
            self.disk.rename(&spilled.path, &path).map_err(io("give a transaction's file its name in the log"))?;
            spilled.keep();
            self.disk.sync_directory("").map_err(io("sync the directory of the binary log"))?;
            let file = self.disk.open(&path, OpenMode::ReadWrite, Caching::Cached).map_err(io("open a binary log"))?;
            Ok(Next { file, position: gtid_at, checksum })
        })?;
        let (gtid_at, end) = begun.expect("the file was begun");
        self.expire_or_stay(order)?;
        Ok((gtid_at, end, gtid))
    }

    fn gtid_event(&self, clock: LogicalClock, pending: &Pending<'_>, gtid: Option<Gtid>) -> GtidEvent {
        let micros = self.disk.clock().wall().as_micros() as u64;
        let version = self.options.version;
        let origin = pending.origin.unwrap_or_default();
        let or = |original: u64, own: u64| if original == 0 { own } else { original };
        GtidEvent {
            gtid,
            may_have_statements: pending.has_statements,
            clock: Some(clock),
            commit: Some(CommitInfo {
                immediate_micros: micros,
                original_micros: or(origin.micros, micros),
                transaction_bytes: 0,
                immediate_version: version,
                original_version: or(origin.version.into(), version.into()) as u32,
            }),
        }
    }

    // Files

    /// Begins a new file: FLUSH BINARY LOGS.
    pub fn rotate(&self) -> Result<()> {
        let mut order = self.order.lock();
        self.finish_reset(&mut order)?;
        self.rotate_locked(&mut order)?;
        self.expire(&mut order)
    }

    fn rotate_or_stay(&self, order: &mut Order) -> Result<()> {
        match self.rotate_locked(order) {
            Err(error @ Error::DiskFull { .. }) => {
                warn!("the binary log stays in {}: {error}", order.current());
                Ok(())
            }
            Ok(()) => self.expire_or_stay(order),
            other => other,
        }
    }

    fn expire_or_stay(&self, order: &mut Order) -> Result<()> {
        self.expire(order).or_else(|error| match error {
            Error::Poisoned => Err(error),
            error => {
                warn!("expired binary logs stay: {error}");
                Ok(())
            }
        })
    }

    fn rotate_locked(&self, order: &mut Order) -> Result<()> {
        self.rotate_to(order, &mut |order, name| {
            let checksum = self.cache_files.checksum();
            let head = self.head(&order.executed, checksum);
            self.cache_files.head_bytes.store(head.len() as u64, Ordering::Relaxed);
            Ok(Next { file: files::create(&*self.disk, name, &head)?, position: head.len() as u64, checksum })
        })
    }

    /// Goes on in the file that `create` makes, behind what is in it. If the device has no room, the log stays where it
    /// is.
    fn rotate_to(&self, order: &mut Order, create: &mut NewFile<'_>) -> Result<()> {
        self.tail.settle()?;
        let name = order.current().next();
        let stay = order.position;
        let created = create(order, &name);
        let moved = created.and_then(|created| {
            self.end_file(order, &Control::Rotate { position: 4, file: name.to_string().as_bytes() })?;
            let mut names = order.files.clone();
            names.push(name.clone());
            files::write_index(&*self.disk, &self.options.base, &names)?;
            Ok((created, names))
        });
        let (Next { file, position, checksum }, names) = match moved {
            Ok(moved) => moved,
            Err(error) => {
                self.stay(order, &name, stay)?;
                return Err(error);
            }
        };
        self.tail.go_on_in(file, position);
        self.end.go_on_in(name.number, position);
        (order.files, order.position, order.before_file) = (names, position, order.transactions);
        order.checksum = checksum;
        Ok(())
    }

    /// Undoes a rotation that failed.
    fn stay(&self, order: &mut Order, next: &FileName, position: u64) -> Result<()> {
        let path = next.to_string();
        if self.disk.exists(&path).map_err(io("look for a binary log"))? {
            self.disk.remove(&path).map_err(io("remove an unfinished binary log"))?;
        }
        let file = self.tail.file();
        file.set_len(position).map_err(io("cut the binary log"))?;
        file.write_at(files::DESCRIPTION_FLAGS, &(flags::IN_USE as u8).to_le_bytes())
            .map_err(io("go on in a binary log"))?;
        self.tail.moved(position);
        order.position = position;
        Ok(())
    }

    fn head(&self, previous: &GtidSet, checksum: Checksum) -> Vec<u8> {
        let head = Head {
            server: &self.options.server,
            server_id: self.server_id.load(Ordering::Relaxed),
            now: self.disk.clock().wall().as_secs() as u32,
            is_first: false,
            checksum,
            previous,
        };
        head.encode()
    }

    /// Writes the last event of the current file, which is complete and durable but for it.
    fn end_file(&self, order: &mut Order, last: &Control<'_>) -> Result<()> {
        let file = self.tail.file();
        let mut bytes = Vec::new();
        let header = self.header(last.kind(), self.disk.clock().wall().as_secs() as u32, 0);
        event::append(&mut bytes, header, order.checksum, |out| last.encode(out));
        let end = order.position + bytes.len() as u64;
        event::place(&mut bytes, end as u32, order.checksum);
        file.write_at(order.position, &bytes).map_err(io("end a binary log"))?;
        file.write_at(files::DESCRIPTION_FLAGS, &[0, 0]).map_err(io("end a binary log"))?;
        file.sync().map_err(io("sync a binary log"))?;
        self.tail.moved(end);
        order.position = end;
        Ok(())
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

    /// The names of all transactions that were ever in the log.
    pub fn executed(&self) -> GtidSet {
        self.order.lock().executed.clone()
    }

    /// Whether a transaction of this name was ever in the log.
    pub fn has_executed(&self, gtid: Gtid) -> bool {
        self.order.lock().executed.contains(gtid)
    }

    /// The names of those whose files are gone, and those that were set.
    pub fn purged(&self) -> Result<GtidSet> {
        self.purged_locked(&self.order.lock())
    }

    fn purged_locked(&self, order: &Order) -> Result<GtidSet> {
        let mut purged = recovery::previous_gtids(&*self.disk, &order.files[0])?;
        purged.extend(&order.added);
        Ok(purged)
    }

    /// SET GLOBAL gtid_purged: these transactions count as executed, and are in no file. `adds`: to those that were
    /// purged; otherwise the set has these, too. The log goes on in a new file, which tells readers of them.
    pub fn set_purged(&self, set: &GtidSet, adds: bool) -> Result<std::result::Result<(), PurgedRefusal>> {
        let mut order = self.order.lock();
        self.finish_reset(&mut order)?;
        if !self.owned.is_empty() {
            return Ok(Err(PurgedRefusal::Owned));
        }
        let purged = self.purged_locked(&order)?;
        if !adds && !purged.is_subset(set) {
            return Ok(Err(PurgedRefusal::NoSuperset));
        }
        let new = if adds { set.clone() } else { set.without(&purged) };
        if new.without(&order.executed) != new {
            return Ok(Err(PurgedRefusal::Overlaps));
        }
        if new.is_empty() {
            return Ok(Ok(()));
        }
        let mut added = order.added.clone();
        added.extend(&new);
        files::write_purged(&*self.disk, &self.options.base, &added)?;
        order.added = added;
        order.executed.extend(&new);
        self.rotate_or_stay(&mut order)?;
        Ok(Ok(()))
    }

    /// A session chooses a name for what it is about to commit, and waits as long as another one has it. The name is the
    /// session's until [`BinaryLog::release_name`].
    pub fn choose_name(&self, gtid: Gtid, session: u32, is_killed: &dyn Fn() -> bool) -> Chosen {
        self.owned.choose(gtid, session, &|| self.has_executed(gtid), is_killed)
    }

    pub fn release_name(&self, gtid: Gtid) {
        self.owned.release(gtid);
    }

    /// The names that sessions own.
    pub fn owned_names(&self) -> Vec<(Gtid, u32)> {
        self.owned.list()
    }

    /// Logs a transaction that changes nothing, so that its name is executed.
    pub fn log_alone(&self, pending: &Pending<'_>) -> Result<()> {
        self.engine.log_alone(pending)?;
        self.write()
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

    pub fn uuid(&self) -> Uuid {
        self.options.uuid
    }

    /// gtid_mode: whether transactions have names.
    pub fn has_gtids(&self) -> bool {
        self.gives_names.load(Ordering::Relaxed)
    }

    pub fn set_gtids(&self, given: bool) {
        self.gives_names.store(given, Ordering::Relaxed);
    }

    /// The first file.
    pub fn first(&self) -> FileName {
        self.order.lock().files[0].clone()
    }

    /// Removes the files before this one; `None` = there is no such file.
    pub fn purge_to(&self, name: &FileName) -> Result<Option<Purged>> {
        let mut order = self.order.lock();
        self.finish_reset(&mut order)?;
        let Some(at) = order.files.iter().position(|other| other == name) else { return Ok(None) };
        self.purge_first(&mut order, at).map(Some)
    }

    /// Removes the files that were left before this time, in seconds since 1970.
    pub fn purge_before(&self, seconds: u64) -> Result<Purged> {
        let mut order = self.order.lock();
        self.finish_reset(&mut order)?;
        self.purge_older(&mut order, seconds)
    }

    fn purge_older(&self, order: &mut Order, seconds: u64) -> Result<Purged> {
        let mut count = 0;
        // A file was left when the next one was begun.
        for next in &order.files[1..] {
            if recovery::begun_at(&*self.disk, next)? >= seconds {
                break;
            }
            count += 1;
        }
        self.purge_first(order, count)
    }

    fn expire(&self, order: &mut Order) -> Result<()> {
        let seconds = self.expire_seconds.load(Ordering::Relaxed);
        let now = self.disk.clock().wall().as_secs();
        if seconds != 0 && now >= seconds {
            self.purge_older(order, now - seconds)?;
        }
        Ok(())
    }

    /// The files go first and the index follows: after a crash in between the next start takes the names of missing
    /// files off the index. A file that a dump reads stays, and so do those behind it: their order has no gaps.
    fn purge_first(&self, order: &mut Order, wanted: usize) -> Result<Purged> {
        let in_use = order.files[..wanted].iter().find_map(|name| {
            let readers = self.readers.of(name.number);
            (readers > 0).then(|| (name.clone(), readers))
        });
        let count = match &in_use {
            Some((kept, _)) => order.files.iter().take_while(|name| *name != kept).count(),
            None => wanted,
        };
        let purged = Purged { wanted, removed: count, in_use };
        if count == 0 {
            return Ok(purged);
        }
        for name in &order.files[..count] {
            self.disk.remove(&name.to_string()).map_err(io("remove a binary log"))?;
            info!("binary log {name} is removed");
        }
        self.disk.sync_directory("").map_err(io("sync the directory of the binary log"))?;
        order.files.drain(..count);
        files::write_index(&*self.disk, &self.options.base, &order.files)?;
        Ok(purged)
    }

    /// Removes all files and begins with the first one again; no transaction has a name then: RESET BINARY LOGS AND
    /// GTIDS. The checkpoint first passes all annexes, so that recovery has none of what is removed. If there is no room,
    /// nothing has happened; if something fails behind that, nothing is logged until it is finished.
    pub fn reset(&self) -> Result<()> {
        let mut order = self.order.lock();
        if !order.is_resetting {
            self.tail.settle()?;
            self.engine.store().checkpoint()?;
            let checksum = self.cache_files.checksum();
            let head = self.head(&GtidSet::default(), checksum);
            let decided = files::Reset::new(&*self.disk, &self.options.base).decide(&head);
            order.is_resetting = decided.0;
            decided.1?;
        }
        self.finish_reset(&mut order)
    }

    /// Finishes a reset that has been decided, if there is one.
    fn finish_reset(&self, order: &mut Order) -> Result<()> {
        if !order.is_resetting {
            return Ok(());
        }
        let file = files::Reset::new(&*self.disk, &self.options.base).finish(&order.files)?;
        let position = file.len().map_err(io("read a binary log"))?;
        let name = FileName { base: self.options.base.as_str().into(), number: 1 };
        self.tail.go_on_in(file, position);
        self.end.begin_again(name.number, position);
        order.checksum = EventReader::open(&*self.disk, &name, u64::MAX)?.description.checksum;
        order.files = vec![name];
        order.position = position;
        order.before_file = order.transactions;
        (order.executed, order.added) = (GtidSet::default(), GtidSet::default());
        order.is_resetting = false;
        Ok(())
    }
}

impl CommitLog for Pending<'_> {
    fn commit(&self, append: &mut dyn FnMut(Annexed<'_>) -> Result<Lsn>) -> Result<Lsn> {
        self.log.commit(self, append)
    }
}

fn encode(event: &GtidEvent, pending: &Pending<'_>, checksum: Checksum) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(128);
    event.append(pending.header, checksum, pending.finished.log_bytes(checksum), &mut bytes);
    bytes
}

/// The files of long transactions, in the directory of the log.
struct CacheFiles {
    engine: Arc<Engine>,
    number: AtomicU64,
    /// Bytes that the newest file of the log has before its transactions.
    head_bytes: AtomicU64,
    /// binlog_checksum.
    has_checksums: AtomicBool,
    unsynced: Mutex<Vec<Arc<Spilled>>>,
    /// Empty: sessions pack their events themselves.
    workers: OnceLock<Arc<Workers>>,
    compressors: Compressors,
}

impl Drop for CacheFiles {
    fn drop(&mut self) {
        // A worker may be the last to drop it, so nobody waits here.
        if let Some(workers) = self.workers.get() {
            workers.stop();
        }
    }
}

impl CacheFiles {
    /// The transaction hears of an error when it syncs.
    fn sync(&self) {
        let files = std::mem::take(&mut *self.unsynced.lock());
        for file in files {
            let _ = file.sync();
        }
    }
}

impl Files for CacheFiles {
    fn create(&self) -> Result<(Spilled, u64)> {
        let number = self.number.fetch_add(1, Ordering::Relaxed);
        let disk = self.engine.store().scratch_disk().clone();
        // Names of other sources' transactions may come meanwhile.
        let room = (2 * self.head_bytes.load(Ordering::Relaxed)).next_multiple_of(4096) + ROOM_BYTES;
        Ok((Spilled::create(disk, format!("{CACHE_PREFIX}{number}"))?, room))
    }

    fn sync_soon(&self, file: &Arc<Spilled>) {
        {
            let mut unsynced = self.unsynced.lock();
            if unsynced.iter().any(|other| Arc::ptr_eq(other, file)) {
                return;
            }
            unsynced.push(file.clone());
        }
        self.engine.annex_hold().want();
    }

    fn workers(&self) -> Option<&Arc<Workers>> {
        self.workers.get()
    }

    fn checksum(&self) -> Checksum {
        match self.has_checksums.load(Ordering::Relaxed) {
            true => Checksum::Crc32,
            false => Checksum::None,
        }
    }

    fn compressors(&self) -> &Compressors {
        &self.compressors
    }
}

/// Removes what a crash left of transactions' caches.
fn remove_caches(disk: &dyn Disk) -> Result<()> {
    for entry in disk.list("").map_err(io("list the data directory"))? {
        if !entry.is_directory && entry.name.starts_with(CACHE_PREFIX) {
            disk.remove(&entry.name).map_err(io("remove the cache of a transaction's events"))?;
        }
    }
    Ok(())
}
