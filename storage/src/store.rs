//! The store: pool, redo log and tablespaces as one thing that mini-transactions run on.
//!
//! ```text
//!    Mtr ----> Store ----> Pool ------> Tablespaces ---> files
//!                |           |  Flushers     ^
//!                |           v       |       |
//!                +--------> Redo <---+-------+
//! ```
//!
//! It also owns what runs beside the queries, as threads around steps: page cleaners (each a
//! [`Flusher`]), checkpoints, and the log's once-a-second flush. An instance without
//! threads (a simulator, a test) has the same done by whoever reserves room, in [`Store::reserve_log`].
//!
//! Creating, renaming and removing a tablespace's file is logged before it is done, so that recovery knows of files what
//! it knows of pages.
//!
//! Invariants:
//!
//! * A thread that waits here (for log, for frames) holds no latch.
//! * After [`Store::poison`], nothing is written any more.

use std::sync::{Arc, Weak};
use std::thread::JoinHandle;
use std::time::Duration;

use format::ids::{Lsn, PageId, PageNo, SpaceId};
use format::page::header::{self, PageType};
use format::redo::Record;

use crate::buffer::Pool;
use crate::buffer::flush::{Aim, Flusher, Pace};
pub use crate::buffer::guard::{FrameHint, SharedGuard};
use crate::buffer::pool::Bell;
use crate::checkpoint;
use crate::config::{Config, FlushLogAtCommit};
use crate::error::{Error, Health, Result};
use crate::io::{Caching, Disk, OpenMode};
use crate::redo::{LogFile, Redo};
use crate::sync::{self, Mutex, Rank, RwLock};
use crate::tablespace::Tablespaces;
pub use crate::tablespace::{SpaceInfo, Tablespace, TornProtection, Transform};
use crate::trash::{self, Trash};

/// How often a cleaner looks whether there is something to do.
const CLEANER_PERIOD: Duration = Duration::from_millis(50);

/// The longest that written pages stay unsynced, and the checkpoint behind them.
const SYNC_PERIOD: Duration = Duration::from_millis(1000);

/// Pages a thread without cleaners writes at once when room is short.
const INLINE_PAGES: usize = 16;

/// See the module header.
pub struct Store {
    config: RwLock<Config>,
    disk: Arc<dyn Disk>,
    health: Arc<Health>,
    redo: Arc<Redo>,
    spaces: Arc<Tablespaces>,
    pool: Pool,
    trash: Trash,
    flushers: Vec<Mutex<Flusher>>,
    threads: Mutex<Vec<JoinHandle<()>>>,
    /// Held as long as the instance is open; another server finds the directory taken.
    _claim: Box<dyn Send + Sync>,
}

impl Store {
    /// Makes the files of a new instance: an empty redo log. Tablespaces are made by `create_space`, first of all 0.
    pub fn create(disk: &dyn Disk, config: &Config) -> Result<()> {
        let _claim = claim(disk)?;
        LogFile::create(disk, config)
    }

    /// A store on an open log, for `recovery`, which opens instances.
    pub fn assemble(
        disk: Arc<dyn Disk>,
        claim: Box<dyn Send + Sync>,
        config: Config,
        redo: Redo,
        spaces: Arc<Tablespaces>,
        health: Arc<Health>,
    ) -> Result<Store> {
        let redo = Arc::new(redo);
        let pool = Pool::new(&config, spaces.clone(), redo.clone(), health.clone())?;
        let flushers: Result<Vec<_>> = (0..config.page_cleaners.max(1))
            .map(|index| Ok(Mutex::new(Rank::Cleaner, Flusher::new(index, &config, &pool)?)))
            .collect();
        Ok(Store {
            trash: Trash::new(disk.clone(), config.drop_slice_bytes),
            config: RwLock::new(Rank::Leaf, config),
            disk,
            health,
            redo,
            spaces,
            pool,
            flushers: flushers?,
            threads: Mutex::new(Rank::Instance, Vec::new()),
            _claim: claim,
        })
    }

    pub fn config(&self) -> Config {
        self.config.read().clone()
    }

    /// Changes the options that may change at run time.
    pub fn set_config(&self, change: impl FnOnce(&mut Config)) {
        let config = {
            let mut config = self.config.write();
            change(&mut config);
            config.clone()
        };
        self.pool.configure(&config);
        for space in self.spaces.all() {
            space.set_punch(config.punch);
        }
        self.pool.bell().ring();
    }

    pub fn disk(&self) -> &Arc<dyn Disk> {
        &self.disk
    }

    pub fn redo(&self) -> &Redo {
        &self.redo
    }

    pub fn pool(&self) -> &Pool {
        &self.pool
    }

    pub fn page_bytes(&self) -> usize {
        self.pool.frames_page_bytes()
    }

    // Pages

    /// Reads a page under a shared latch, without a mini-transaction. A thread latches a page once at a time: a second
    /// guard of the same page would wait for a writer who waits for the first.
    #[inline]
    pub fn read(&self, page: PageId) -> Result<SharedGuard<'_>> {
        Ok(SharedGuard::new(page, self.pool.fetch_shared(page)?))
    }

    /// `read`, but only if the page is resident and its latch free.
    #[inline]
    pub fn try_read(&self, page: PageId) -> Option<SharedGuard<'_>> {
        Some(SharedGuard::new(page, self.pool.try_fetch_shared(page)?))
    }

    /// Latches the page again if it is still in the same frame and has not changed since the hint was taken.
    #[inline]
    pub fn try_reacquire(&self, page: PageId, hint: FrameHint) -> Option<SharedGuard<'_>> {
        Some(SharedGuard::new(page, self.pool.reacquire(page, hint)?))
    }

    // Log

    /// Waits until the log has room for the changes to come. `Mtr::begin` does it; call it yourself before an operation
    /// that nests mini-transactions. The caller holds no latch.
    #[inline]
    pub fn reserve_log(&self) -> Result<()> {
        self.health.check()?;
        if self.redo.is_crowded() || self.redo.is_behind() || self.is_short_of_frames() {
            self.wait_for_room()
        } else {
            Ok(())
        }
    }

    /// Without cleaners somebody has to see to it that a mini-transaction finds frames.
    #[inline]
    fn is_short_of_frames(&self) -> bool {
        !self.pool.bell().has_cleaners() && self.pool.dirty_count() > self.pool.frame_count() / 2
    }

    #[cold]
    fn wait_for_room(&self) -> Result<()> {
        sync::assert_no_latches("waiting for room in the log");
        if self.redo.is_behind() {
            self.redo.write_until(self.redo.end())?;
        }
        let mut counted = false;
        while self.redo.is_crowded() {
            if !std::mem::replace(&mut counted, true) {
                self.redo.counters.waits.add(1);
            }
            self.health.check()?;
            self.pool.check_disk()?;
            if !self.pool.bell().wait_for_progress(CLEANER_PERIOD) {
                // Half of the ring, so that not every mini-transaction pays.
                let target = Lsn(self.redo.end().0 - self.redo.capacity() / 2);
                let mut flusher = self.flushers[0].lock();
                let written = flusher.step(&self.pool, Aim::OlderThan(target), INLINE_PAGES)?;
                if written == 0 {
                    flusher.sync(&self.pool)?;
                    checkpoint::step(&self.pool, &self.redo, 1)?;
                }
            }
        }
        while self.is_short_of_frames() {
            self.flush_step(INLINE_PAGES)?;
        }
        Ok(())
    }

    /// Makes the log durable up to `lsn`; one leader syncs for all who wait.
    #[inline]
    pub fn flush_log(&self, lsn: Lsn) -> Result<()> {
        self.redo.flush_until(lsn)
    }

    /// Hands the log up to `lsn` to the operating system, without a sync.
    pub fn write_log(&self, lsn: Lsn) -> Result<()> {
        self.redo.write_until(lsn)
    }

    /// What a commit at `lsn` waits for, by `flush_log_at_commit`.
    pub fn commit_log(&self, lsn: Lsn) -> Result<()> {
        let policy = self.config.read().flush_log_at_commit;
        match policy {
            FlushLogAtCommit::Sync => self.redo.flush_until(lsn),
            FlushLogAtCommit::Write => self.redo.write_until(lsn),
            FlushLogAtCommit::EverySecond => self.health.check(),
        }
    }

    pub fn current_lsn(&self) -> Lsn {
        self.redo.end()
    }

    pub fn flushed_lsn(&self) -> Lsn {
        self.redo.flushed()
    }

    /// Logs a record that changes no page, and makes it durable.
    fn log_durably(&self, record: Record<'_>) -> Result<Lsn> {
        self.reserve_log()?;
        let mut bytes = Vec::with_capacity(128);
        record.encode(&mut None, &mut bytes);
        let (_, end) = self.redo.append(&bytes, |_, _| ());
        self.redo.flush_until(end)?;
        Ok(end)
    }

    // Tablespaces

    /// Creates the file `path` (relative to the data directory) and logs that. It has no pages yet:
    /// `segment::init_space` makes them. Exists if path or id are taken.
    pub fn create_space(&self, id: SpaceId, path: &str, transform: Transform) -> Result<Arc<Tablespace>> {
        let taken = self.disk.exists(path).map_err(Error::io("look for a tablespace"))?;
        if taken || self.spaces.get(id).is_some() {
            return Err(Error::Exists(path.into()));
        }
        // First the log, then the file: so no file is there that the log does not know.
        self.log_durably(Record::FileCreate { space: id, flags: transform.to_flags(), name: path })?;
        let created = self.health.judge(self.spaces.create(id, path, transform, &self.config()));
        if created.is_err() && !self.health.is_poisoned() {
            self.log_durably(Record::FileDelete { space: id, name: path })?;
            self.spaces.remove_file(path)?;
        }
        created
    }

    /// Opens the existing file of a tablespace. One that is open already is returned as it is.
    pub fn open_space(&self, id: SpaceId, path: &str, transform: Transform) -> Result<Arc<Tablespace>> {
        if let Some(space) = self.spaces.get(id) {
            space.set_transform(transform);
            return Ok(space);
        }
        self.spaces.open(id, path, transform, &self.config())
    }

    /// The space id that a file carries; `None` if it is no tablespace.
    pub fn probe_space(&self, path: &str) -> Result<Option<SpaceId>> {
        probe(&*self.disk, path)
    }

    /// Logs the deletion durably, forgets the tablespace, and takes its file away. What is left of a large file and of its
    /// pages in the pool goes in [`Store::trash_step`]; nobody waits for that. The caller guarantees that nobody uses its
    /// pages any more.
    pub fn drop_space(&self, id: SpaceId) -> Result<()> {
        let space = self.spaces.find(id)?;
        let path = space.path();
        self.log_durably(Record::FileDelete { space: id, name: &path })?;
        self.spaces.forget(id);
        self.trash.throw(id, &path)
    }

    /// Takes the file of a dropped tablespace away that is not open.
    pub fn drop_file(&self, id: SpaceId, path: &str) -> Result<()> {
        self.trash.throw(id, path)
    }

    /// Dropped tablespaces of which something is left.
    pub fn trash(&self) -> &Trash {
        &self.trash
    }

    /// A bounded bit of removing what was dropped. True if there is more to do.
    pub fn trash_step(&self) -> Result<bool> {
        self.trash.step(&self.pool, trash::STEP_TIME)
    }

    /// Closes a tablespace but keeps its file: everything is written to it first.
    pub fn close_space(&self, id: SpaceId) -> Result<()> {
        self.flush_space(id)?;
        self.spaces.forget(id);
        self.pool.discard_space(id);
        Ok(())
    }

    /// Removes a file that belongs to no open tablespace.
    pub fn remove_orphan(&self, path: &str) -> Result<()> {
        self.spaces.remove_file(path)
    }

    /// Logs and performs the rename of a tablespace's file. The new name must be free.
    pub fn rename_space(&self, id: SpaceId, path: &str) -> Result<()> {
        let from = self.spaces.find(id)?.path();
        if self.disk.exists(path).map_err(Error::io("look for a tablespace"))? {
            return Err(Error::Exists(path.into()));
        }
        self.log_durably(Record::FileRename { space: id, from: &from, to: path })?;
        // The log says it has happened, so from here on it has to.
        self.health.judge(self.spaces.rename(id, path))
    }

    pub fn space(&self, id: SpaceId) -> Option<Arc<Tablespace>> {
        self.spaces.get(id)
    }

    /// The open tablespaces, in the order of their ids.
    pub fn spaces(&self) -> Vec<Arc<Tablespace>> {
        self.spaces.all()
    }

    /// Pages that the tablespace's file has room for.
    pub fn space_pages(&self, id: SpaceId) -> Result<PageNo> {
        Ok(PageNo(self.spaces.find(id)?.pages()))
    }

    // Life

    /// Starts page cleaners and the log flusher, if the configuration wants them.
    pub fn start_threads(self: &Arc<Self>) {
        if !self.config().background_threads {
            return;
        }
        let mut threads = self.threads.lock();
        if !threads.is_empty() {
            return;
        }
        for index in 0..self.flushers.len() {
            let store = Arc::downgrade(self);
            let bell = self.pool.bell().clone();
            bell.add_cleaner();
            let leaving = Leaving { bell, health: self.health.clone() };
            threads.push(sync::spawn(&format!("cleaner-{index}"), move || {
                run_cleaner(&store, index, &leaving.bell);
            }));
        }
        let store = Arc::downgrade(self);
        let bell = self.pool.bell().clone();
        threads.push(sync::spawn("log-flusher", move || {
            while !bell.wait_until_closing(Duration::from_secs(1)) {
                let Some(store) = store.upgrade() else { return };
                // A failure has poisoned the store, which the next commit reports.
                let _ = store.redo.flush_until(store.redo.end());
            }
        }));
    }

    /// Writes all dirty pages of one tablespace and syncs it (FLUSH TABLES ... FOR EXPORT, OPTIMIZE).
    pub fn flush_space(&self, id: SpaceId) -> Result<()> {
        let space = self.spaces.find(id)?;
        self.flush_all(Aim::Space(id), || self.pool.is_space_dirty(id))?;
        space.sync().inspect_err(|error| self.health.poison(error))
    }

    /// Writes all dirty pages and a checkpoint. Under load, those that are dirty now.
    pub fn checkpoint(&self) -> Result<()> {
        let target = self.redo.end();
        let is_older = |lsn: Option<Lsn>| lsn.is_some_and(|lsn| lsn < target);
        self.flush_all(Aim::OlderThan(target), || is_older(self.pool.oldest_dirty_lsn()))?;
        for flusher in &self.flushers {
            flusher.lock().sync(&self.pool)?;
        }
        checkpoint::step(&self.pool, &self.redo, 1)?;
        self.pool.bell().tell_progress();
        Ok(())
    }

    /// Writes pages with all flushers at once (without threads: with one) as long as there are more.
    fn flush_all(&self, aim: Aim, more: impl Fn() -> bool + Sync) -> Result<()> {
        sync::assert_no_latches("flushing");
        let helpers = if self.config().background_threads { self.flushers.len() } else { 1 };
        let results = sync::in_parallel(&self.flushers[..helpers], |flusher| {
            while more() {
                let written = flusher.lock().step(&self.pool, aim, usize::MAX)?;
                if written == 0 {
                    // The rest is latched, or another cleaner has it in hand.
                    std::thread::sleep(Duration::from_micros(100));
                }
            }
            Ok(())
        });
        results.into_iter().collect::<Result<()>>()?;
        // What other cleaners have taken is written when their step is over.
        for flusher in &self.flushers {
            drop(flusher.lock());
        }
        Ok(())
    }

    /// Stops the threads, writes everything, and marks the log clean. The store answers Poisoned afterwards.
    pub fn close(&self) -> Result<()> {
        self.stop_threads();
        self.health.check()?;
        self.checkpoint()?;
        let end = self.redo.end();
        self.redo.flush_until(end)?;
        self.redo.write_checkpoint(end, true)?;
        if self.redo.file().wants_resize(&self.config()) {
            LogFile::resize(&*self.disk, &self.config(), self.redo.checkpoint())?;
        }
        self.health.close();
        Ok(())
    }

    fn stop_threads(&self) {
        self.pool.bell().close();
        let threads = std::mem::take(&mut *self.threads.lock());
        for thread in threads {
            // A cleaner that panicked has said so; closing goes on and finds out what is left.
            let _ = thread.join();
        }
    }

    /// After this nothing is written any more; every change answers Poisoned.
    pub fn poison(&self, reason: &str) {
        self.health.poison(&reason);
    }

    pub fn is_poisoned(&self) -> bool {
        self.health.is_poisoned()
    }

    pub fn health(&self) -> &Arc<Health> {
        &self.health
    }

    /// One bounded batch of page cleaning, for a simulator without threads. Returns pages written.
    pub fn flush_step(&self, pages_max: usize) -> Result<usize> {
        sync::assert_no_latches("flushing");
        self.pool.set_time(self.disk.clock().now());
        let mut flusher = self.flushers[0].lock();
        let written = flusher.step(&self.pool, Aim::OlderThan(Lsn::MAX), pages_max)?;
        if written < pages_max {
            flusher.sync(&self.pool)?;
        }
        drop(flusher);
        checkpoint::step(&self.pool, &self.redo, self.redo.capacity() / 16)?;
        Ok(written)
    }

    /// Counters since start.
    pub fn status(&self) -> StoreStatus {
        let (io, log, pool) = (self.spaces.counters(), &self.redo.counters, &self.pool.counters);
        let dropped = self.trash.waiting();
        StoreStatus {
            page_read_requests: self.pool.requests(),
            page_reads: io.page_reads.get(),
            pages_written: io.pages_written.get(),
            pages_created: pool.pages_created.get(),
            data_bytes_read: io.data_bytes_read.get(),
            data_bytes_written: io.data_bytes_written.get(),
            data_fsyncs: io.data_fsyncs.get(),
            doublewrite_pages: io.doublewrite_pages.get(),
            doublewrite_writes: io.doublewrite_writes.get(),
            doublewrite_bytes: io.doublewrite_bytes.get(),
            log_write_requests: log.write_requests.get(),
            log_writes: log.writes.get(),
            log_fsyncs: log.fsyncs.get(),
            log_bytes_written: log.bytes_written.get(),
            log_waits: log.waits.get(),
            checkpoints: log.checkpoints.get(),
            pool_wait_free: pool.wait_free.get(),
            pool_evicted: pool.evicted.get(),
            pages_compressed: io.pages_compressed.get(),
            pages_compress_failed: io.pages_compress_failed.get(),
            pages_decompressed: io.pages_decompressed.get(),
            punches: io.punches.get(),
            punches_avoided: io.punches_avoided.get(),
            punches_failed: io.punches_failed.get(),
            pool_pages_total_now: self.pool.frame_count() as u64,
            pool_pages_free_now: self.pool.free_count() as u64,
            pool_pages_dirty_now: self.pool.dirty_count() as u64,
            pool_pages_data_now: self.pool.resident_count() as u64,
            page_bytes: self.page_bytes() as u64,
            dropped_files_removed: self.trash.files_removed.get(),
            dropped_files_now: dropped.iter().filter(|dropped| dropped.path.is_some()).count() as u64,
            dropped_bytes_now: dropped.iter().map(|dropped| dropped.file_bytes).sum(),
            lsn_current: self.redo.end().0,
            lsn_flushed: self.redo.flushed().0,
            lsn_checkpoint: self.redo.checkpoint_lsn().0,
        }
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        // Without a close the instance is left as a crash would leave it. The threads hold no reference while they wait,
        // and end by themselves.
        self.pool.bell().close();
    }
}

/// Claims the data directory for this process.
pub fn claim(disk: &dyn Disk) -> Result<Box<dyn Send + Sync>> {
    disk.lock().map_err(|cause| match cause.kind() {
        std::io::ErrorKind::WouldBlock => Error::Exists("another server on this data directory".into()),
        _ => Error::from_io("lock the data directory", cause),
    })
}

/// The space id that a file carries in the header of its page 0. The page need not be whole: the header lies in one
/// sector.
pub fn probe(disk: &dyn Disk, path: &str) -> Result<Option<SpaceId>> {
    let file = disk.open(path, OpenMode::Read, Caching::Cached).map_err(Error::io("open a tablespace"))?;
    let mut start = [0; header::BODY];
    file.read_at(0, &mut start).map_err(Error::io("read a page"))?;
    let is_first = header::page_no(&start) == PageNo(0) && header::page_type(&start) == PageType::FSP_HDR;
    Ok(is_first.then(|| header::space_id(&start)))
}

/// Signs a cleaner off, however it ends: who waits for cleaners must not wait for one that is gone.
struct Leaving {
    bell: Arc<Bell>,
    health: Arc<Health>,
}

impl Drop for Leaving {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.health.poison(&"a page cleaner failed");
        }
        self.bell.remove_cleaner();
    }
}

/// A page cleaner's life: see how much presses, write that many pages of this period, sync now and then.
fn run_cleaner(store: &Weak<Store>, index: usize, bell: &Bell) {
    let mut synced_at = Duration::ZERO;
    let mut idle_since = Duration::ZERO;
    let mut seen_lsn = Lsn::ZERO;
    loop {
        if bell.wait_for_work(CLEANER_PERIOD) {
            return;
        }
        let Some(store) = store.upgrade() else { return };
        let now = store.disk.clock().now();
        store.pool.set_time(now);
        if store.health.is_poisoned() {
            bell.tell_progress();
            continue;
        }
        let lsn = store.redo.end();
        if lsn != seen_lsn {
            seen_lsn = lsn;
            idle_since = now;
        }
        let idle = now.saturating_sub(idle_since) > Duration::from_secs(1);
        let sync_due = now.saturating_sub(synced_at) > SYNC_PERIOD;
        match store.clean(index, idle, sync_due) {
            Ok(synced) => {
                if synced {
                    synced_at = now;
                }
            }
            // Said by whoever poisoned; a full disk is said here, and tried again.
            Err(Error::Poisoned) => {}
            Err(error) => {
                tracing::warn!("page cleaner: {error}");
                std::thread::sleep(Duration::from_millis(200));
            }
        }
        bell.tell_progress();
    }
}

impl Store {
    /// One period of a page cleaner. True if everything written is synced.
    fn clean(&self, index: usize, idle: bool, sync_due: bool) -> Result<bool> {
        let config = self.config();
        let cleaners = self.flushers.len();
        let mut flusher = self.flushers[index].lock();

        // Frames first: a reader may be waiting for one.
        let wanted = config.lru_scan_depth.min(self.pool.frame_count() / 8).max(8);
        let mut free = flusher.refill_free(&self.pool, wanted);
        while free < wanted / 2 {
            let depth = wanted * 2;
            if flusher.step(&self.pool, Aim::Lru { depth }, usize::MAX)? == 0 {
                break;
            }
            free = flusher.refill_free(&self.pool, wanted);
            self.pool.bell().tell_progress();
        }

        let capacity = self.redo.capacity() as f64;
        let age = self.redo.age() as f64 / capacity;
        let dirty = self.pool.dirty_count() as f64 / self.pool.frame_count() as f64;
        let rate = Pace { age, dirty, idle }.pages_per_second(&config);
        let pages = rate * CLEANER_PERIOD.as_secs_f64() / cleaners as f64;
        // An infinite rate is bounded here, so that a step of the loop outside ends soon.
        let mut pages = pages.min(1024.0).ceil() as usize;
        while pages > 0 {
            let written = flusher.step(&self.pool, Aim::OlderThan(Lsn::MAX), pages)?;
            if written == 0 {
                break;
            }
            pages -= written.min(pages);
        }

        let presses = age > 0.7;
        let sync = sync_due || presses || idle;
        if sync {
            flusher.sync(&self.pool)?;
        }
        drop(flusher);
        if sync {
            let bytes_min = if presses || idle { 1 } else { self.redo.capacity() / 64 };
            checkpoint::step(&self.pool, &self.redo, bytes_min)?;
        }
        Ok(sync)
    }
}

/// Counters since start, and levels now (`_now`).
#[derive(Clone, Debug, Default)]
pub struct StoreStatus {
    pub page_read_requests: u64,
    pub page_reads: u64,
    pub pages_written: u64,
    pub pages_created: u64,
    pub data_bytes_read: u64,
    pub data_bytes_written: u64,
    pub data_fsyncs: u64,
    pub doublewrite_pages: u64,
    pub doublewrite_writes: u64,
    pub doublewrite_bytes: u64,
    pub log_write_requests: u64,
    pub log_writes: u64,
    pub log_fsyncs: u64,
    pub log_bytes_written: u64,
    pub log_waits: u64,
    pub checkpoints: u64,
    pub pool_wait_free: u64,
    pub pool_evicted: u64,
    pub pages_compressed: u64,
    pub pages_compress_failed: u64,
    pub pages_decompressed: u64,
    pub punches: u64,
    pub punches_avoided: u64,
    pub punches_failed: u64,
    pub pool_pages_total_now: u64,
    pub pool_pages_free_now: u64,
    pub pool_pages_dirty_now: u64,
    pub pool_pages_data_now: u64,
    pub page_bytes: u64,
    pub dropped_files_removed: u64,
    pub dropped_files_now: u64,
    /// By the length of the files.
    pub dropped_bytes_now: u64,
    pub lsn_current: u64,
    pub lsn_flushed: u64,
    pub lsn_checkpoint: u64,
}
