//! The background threads: page cleaners, the checkpointer, readers, the log's once-a-second flush.
//!
//! ```text
//!   first cleaner   every 50 ms, or called by a reader: sweep the LRU's tail if free frames are few,
//!        |          take a share of the pace, write it; more than it can do -> calls the others
//!        v
//!   other cleaners  the same, and back to sleep when there is nothing left
//!   checkpointer    sync what they wrote, once for all of them; move the checkpoint
//!   readers         read ahead what is asked for
//! ```
//!
//! Every thread is a loop around a bounded step and holds no reference to the store while it waits. How many cleaners
//! there are may change at any time: the first starts others, and those above the number end.
//!
//! A sync costs the device more than many writes, so there is one per second. There are more only when a thread needs
//! the checkpoint (the log is nearly full) or a cleaner needs its doublewrite file.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use format::ids::Lsn;

use super::Store;
use crate::buffer::cleaner_signals::CleanerSignals;
use crate::buffer::flush::{Aim, Flusher, FlusherCounters};
use crate::buffer::pace::{Grants, Pace};
use crate::buffer::read_ahead::ReadAhead;
use crate::buffer::reader::Reader;
use crate::checkpoint;
use crate::error::{Error, Result};
use crate::sync::{Mutex, Rank, RwLock};
use crate::tablespace::page_io::BATCH_PAGES_MAX;

/// How often the first cleaner checks whether there is work.
pub(super) const CLEANER_PERIOD: Duration = Duration::from_millis(50);

/// How often the other cleaners check whether they are still needed.
const HELPER_PERIOD: Duration = Duration::from_secs(1);

/// How often the checkpointer checks whether there is work.
const CHECKPOINT_PERIOD: Duration = Duration::from_millis(100);

/// The longest that written pages stay unsynced, and the checkpoint behind them.
const SYNC_PERIOD: Duration = Duration::from_secs(1);

/// The shortest time between syncs, however urgent they are.
const SYNC_PERIOD_MIN: Duration = Duration::from_millis(20);

/// The age of the log from which a checkpoint is worth a sync at any time.
const AGE_PRESSING: f64 = 0.7;

/// The pages by which a cleaner finds out whether a full disk has space again.
const PROBE_PAGES: usize = 8;

/// How long nothing is logged before the server counts as idle.
const IDLE_AFTER: Duration = Duration::from_secs(1);

/// A page cleaner: its flusher, its counters, whether a thread runs it.
pub(super) struct Cleaner {
    pub flusher: Mutex<Flusher>,
    counters: Arc<FlusherCounters>,
    running: AtomicBool,
}

/// All page cleaners, and their shared state.
pub(super) struct Cleaners {
    all: RwLock<Vec<Arc<Cleaner>>>,
    grants: Mutex<Grants>,
    idle: AtomicBool,
}

/// What a page cleaner has done since the start.
#[derive(Clone, Debug, Default)]
pub struct PageCleanerStatus {
    pub cleaner: usize,
    /// A thread runs it; without one, other threads use its flusher (a shutdown, an instance without threads).
    pub running: bool,
    /// Batches.
    pub steps: u64,
    /// Pages written.
    pub pages: u64,
    /// ... because they were to leave the pool; the others because their changes were old.
    pub lru_pages: u64,
    /// Clean pages made free.
    pub evicted: u64,
    /// Bytes written to tablespaces, without the doublewrite file.
    pub bytes: u64,
    pub punches: u64,
    /// Copying, sealing, compressing, encrypting.
    pub encode_us: u64,
    /// Waiting for the redo log.
    pub log_us: u64,
    pub doublewrite_us: u64,
    /// Writing to tablespaces, punching included.
    pub write_us: u64,
    /// Waiting for a sync, because both doublewrite files were in use.
    pub sync_us: u64,
}

impl Cleaners {
    pub fn new(first: Flusher) -> Cleaners {
        let cleaners = Cleaners {
            all: RwLock::new(Rank::Leaf, Vec::new()),
            grants: Mutex::new(Rank::Leaf, Grants::default()),
            idle: AtomicBool::new(false),
        };
        cleaners.add(first);
        cleaners
    }

    pub fn add(&self, flusher: Flusher) {
        let counters = flusher.counters().clone();
        let flusher = Mutex::new(Rank::Cleaner, flusher);
        self.all.write().push(Arc::new(Cleaner { flusher, counters, running: AtomicBool::new(false) }));
    }

    pub fn all(&self) -> Vec<Arc<Cleaner>> {
        self.all.read().clone()
    }

    pub fn first(&self) -> Arc<Cleaner> {
        self.all.read()[0].clone()
    }

    pub fn count(&self) -> usize {
        self.all.read().len()
    }

    pub fn status(&self) -> Vec<PageCleanerStatus> {
        let status = |(cleaner, known): (usize, &Arc<Cleaner>)| {
            let counters = &known.counters;
            PageCleanerStatus {
                cleaner,
                running: known.running.load(Ordering::Relaxed),
                steps: counters.steps.get(),
                pages: counters.list_pages.get() + counters.lru_pages.get(),
                lru_pages: counters.lru_pages.get(),
                evicted: counters.evicted.get(),
                bytes: counters.bytes.get(),
                punches: counters.punches.get(),
                encode_us: counters.encode_us.get(),
                log_us: counters.log_us.get(),
                doublewrite_us: counters.doublewrite_us.get(),
                write_us: counters.write_us.get(),
                sync_us: counters.sync_us.get(),
            }
        };
        self.all.read().iter().enumerate().map(status).collect()
    }
}

/// Signs a cleaner off, however it ends: no thread waits for a cleaner that has ended.
struct Leaving {
    signals: Arc<CleanerSignals>,
    cleaner: Arc<Cleaner>,
}

impl Drop for Leaving {
    fn drop(&mut self) {
        self.cleaner.running.store(false, Ordering::Relaxed);
        self.signals.remove_cleaner();
    }
}

impl Store {
    /// Starts page cleaners, the checkpointer and the log flusher, if the configuration wants them.
    pub fn start_threads(self: &Arc<Self>) {
        if !self.config().background_threads || !self.threads.lock().is_empty() {
            return;
        }
        self.start_cleaners(&Arc::downgrade(self));
        let store = Arc::downgrade(self);
        let signals = self.pool.cleaner_signals().clone();
        let checkpointer = self.health.spawn("checkpointer", move || run_checkpointer(&store, &signals));
        let store = Arc::downgrade(self);
        let signals = self.pool.cleaner_signals().clone();
        let log_flusher = self.health.spawn("log-flusher", move || {
            while !signals.wait_until_closing(Duration::from_secs(1)) {
                let Some(store) = store.upgrade() else { return };
                // A failure has poisoned the store, which the next commit reports.
                let _ = store.redo.flush_until(store.redo.end());
            }
        });
        self.threads.lock().extend([checkpointer, log_flusher]);
        for index in 0..self.config().read_io_threads {
            let store = Arc::downgrade(self);
            let read_ahead = self.pool.read_ahead().clone();
            let reader = self.health.spawn(&format!("reader-{index}"), move || run_reader(&store, &read_ahead));
            self.threads.lock().push(reader);
        }
    }

    /// Starts the cleaners that are configured and do not run.
    fn start_cleaners(&self, store: &Weak<Store>) {
        let wanted = self.config().page_cleaners.max(1);
        while self.cleaners.count() < wanted {
            match Flusher::new(&self.config(), &self.pool) {
                Ok(flusher) => self.cleaners.add(flusher),
                Err(error) => {
                    tracing::warn!("no more than {} page cleaners: {error}", self.cleaners.count());
                    self.config.write().page_cleaners = self.cleaners.count();
                    break;
                }
            }
        }
        for (index, cleaner) in self.cleaners.all().into_iter().enumerate().take(wanted) {
            if cleaner.running.swap(true, Ordering::Relaxed) {
                continue;
            }
            let signals = self.pool.cleaner_signals().clone();
            signals.add_cleaner();
            let leaving = Leaving { signals, cleaner };
            let store = store.clone();
            let thread = self.health.spawn(&format!("cleaner-{index}"), move || match index {
                0 => run_first_cleaner(&store, &leaving),
                _ => run_cleaner(&store, &leaving, index),
            });
            self.threads.lock().push(thread);
        }
    }

    pub(super) fn stop_threads(&self) {
        self.pool.cleaner_signals().close();
        self.pool.read_ahead().close();
        loop {
            let threads = std::mem::take(&mut *self.threads.lock());
            if threads.is_empty() {
                return;
            }
            for thread in threads {
                // A cleaner that panicked has logged it; closing goes on and finds out what is left.
                let _ = thread.join();
            }
        }
    }

    fn pace(&self) -> Pace {
        Pace {
            age: self.redo.age() as f64 / self.redo.capacity() as f64,
            dirty: self.pool.dirty_count() as f64 / self.pool.frame_count() as f64,
            idle: self.cleaners.idle.load(Ordering::Relaxed),
        }
    }

    /// One round of a page cleaner: works until nothing is urgent.
    fn clean(&self, cleaner: &Cleaner) -> Result<()> {
        let signals = self.pool.cleaner_signals();
        let mut looked_at = 0;
        loop {
            let config = self.config();
            let mut busy = false;
            // Frames first: a reader may be waiting for one.
            let wanted = self.pool.free_wanted(&config);
            let free = self.pool.free_count();
            if free >= wanted {
                self.pool.rewind_sweep();
                looked_at = 0;
            } else if looked_at < config.lru_scan_depth {
                if free < wanted / 2 {
                    signals.request_help();
                }
                let swept = cleaner.flusher.lock().sweep(&self.pool)?;
                looked_at += swept.looked_at;
                if swept.freed > 0 {
                    signals.notify_progress();
                }
                busy = swept.looked_at > 0;
            }
            let rate = self.pace().pages_per_second(&config);
            let (granted, left) = {
                let mut grants = self.cleaners.grants.lock();
                (grants.take(rate, self.disk().clock().now(), BATCH_PAGES_MAX), grants.left())
            };
            // Statements are refused until a batch succeeds, so one is tried in every round, whatever the pace.
            let granted = if self.pool.is_disk_full() { granted.max(PROBE_PAGES) } else { granted };
            if granted > 0 {
                if left >= BATCH_PAGES_MAX || rate.is_infinite() {
                    signals.request_help();
                }
                let written = cleaner.flusher.lock().step(&self.pool, Aim::OlderThan(Lsn::MAX), granted)?;
                busy |= written > 0;
            }
            if !busy || signals.is_closing() {
                return Ok(());
            }
        }
    }

    /// Syncs and moves the checkpoint, if that is due.
    fn sync_if_due(&self, synced_at: &mut Duration) -> Result<()> {
        let now = self.disk().clock().now();
        let since = now.saturating_sub(*synced_at);
        let pace = self.pace();
        let presses = pace.age > AGE_PRESSING || pace.idle;
        if since < SYNC_PERIOD_MIN || !presses && since < SYNC_PERIOD {
            return Ok(());
        }
        *synced_at = now;
        self.pool.sync_written()?;
        let bytes_min = if presses { 1 } else { self.redo.capacity() / 64 };
        if checkpoint::step(&self.pool, &self.redo, bytes_min)? {
            self.pool.cleaner_signals().notify_progress();
        }
        Ok(())
    }
}

/// Logs an error of a background thread, such as a full disk; its work is tried again. Poisoning has been logged already.
fn report(result: Result<()>, thread: &str) {
    match result {
        Ok(()) | Err(Error::Poisoned) => {}
        Err(error) => {
            tracing::warn!("{thread}: {error}");
            std::thread::sleep(Duration::from_millis(200));
        }
    }
}

fn run_first_cleaner(store: &Weak<Store>, me: &Leaving) {
    let mut idle_since = Duration::ZERO;
    let mut seen_lsn = Lsn::ZERO;
    while !me.signals.wait_for_work(CLEANER_PERIOD) {
        let Some(strong) = store.upgrade() else { return };
        let now = strong.disk().clock().now();
        strong.pool.set_time(now);
        if strong.health.is_poisoned() {
            me.signals.notify_progress();
            continue;
        }
        let lsn = strong.redo.end();
        if lsn != seen_lsn {
            seen_lsn = lsn;
            idle_since = now;
        }
        strong.cleaners.idle.store(now.saturating_sub(idle_since) > IDLE_AFTER, Ordering::Relaxed);
        strong.start_cleaners(store);
        strong.pool.tend_compressed_cache();
        report(strong.clean(&me.cleaner), "page cleaner");
        me.signals.notify_progress();
    }
}

fn run_cleaner(store: &Weak<Store>, me: &Leaving, index: usize) {
    while !me.signals.wait_for_help_request(HELPER_PERIOD) {
        let Some(strong) = store.upgrade() else { return };
        if index >= strong.config().page_cleaners {
            return;
        }
        if !strong.health.is_poisoned() {
            report(strong.clean(&me.cleaner), "page cleaner");
        }
        me.signals.notify_progress();
    }
}

fn run_checkpointer(store: &Weak<Store>, signals: &CleanerSignals) {
    let mut synced_at = Duration::ZERO;
    while !signals.wait_for_sync_request(CHECKPOINT_PERIOD) {
        let Some(strong) = store.upgrade() else { return };
        if !strong.health.is_poisoned() {
            report(strong.sync_if_due(&mut synced_at), "checkpoint");
        }
    }
}

fn run_reader(store: &Weak<Store>, read_ahead: &ReadAhead) {
    let mut reader = Reader::default();
    while !read_ahead.wait_for_work(HELPER_PERIOD) {
        let Some(strong) = store.upgrade() else { return };
        while !strong.health.is_poisoned() && reader.step(&strong.pool) {}
    }
}
