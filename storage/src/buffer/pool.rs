//! The page table: which frame holds which page, and what happens when none does.
//!
//! A lookup locks one of many shards for the time of a hash probe, then latches the frame and compares the page id. For
//! a resident page it takes no other lock and allocates nothing. A miss takes a free frame under its exclusive latch,
//! enters it into the table, and reads: other threads that want the page wait for the latch.
//!
//! The page cleaners keep some frames free. Only when they cannot keep up, a reader evicts a clean page itself; only
//! when there is none, it waits, and that is counted.
//!
//! Not all frames may become dirty: on a full disk dirty pages cannot be written, and reading has to go on
//! ([`Pool::may_dirty`]).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use format::ids::{Lsn, PageId, PageNo, SpaceId};
use format::page::header::{self, PageType};
use format::page::space::extent_pages;
use rustc_hash::{FxHashMap, FxHashSet};

use super::cleaner_signals::CleanerSignals;
use super::compressed_cache::CompressedCache;
use super::flush_list::FlushList;
use super::frame::{ExclusiveLatch, Frames, SharedLatch};
use super::guard::FrameHint;
use super::lru::Lru;
use super::pending::PendingRedo;
use super::read_ahead::{Loaded, ReadAhead};
use super::turns::FRAMES_OF_A_TURN;
use crate::config::Config;
use crate::error::{Error, Result};
use crate::gate::Health;
use crate::redo::Redo;
use crate::sync::{Counter, Mutex, Padded, Rank, RwLock};
use crate::tablespace::page_io::PageRead;
use crate::tablespace::{Tablespace, Tablespaces};

const SHARD_BITS: u32 = 6;

/// Frames at the tail that a reader examines first to evict one itself.
const VICTIMS_MAX: usize = 32;

/// ... and with active cleaners, which free frames faster than a search passes a tail full of dirty pages.
const VICTIMS_MAX_HELPED: usize = 256;

/// While the disk is full, no mini-transaction may make pages dirty if that would leave less than this part of the pool
/// to readers. Statements are refused earlier (`Store::check_headroom`).
const READERS_SHARE: usize = 16;

/// How long a reader searches for a frame on a full disk: the clean ones may all be in use for a moment.
const FULL_DISK_WAIT: Duration = Duration::from_secs(1);

/// Damaged pages that are reported one by one.
const REPORTS_MAX: usize = 1000;

/// How long a reader waits for the cleaners before it searches again.
const FREE_WAIT: Duration = Duration::from_millis(10);

/// No more of the pool than this part is kept free.
const FREE_SHARE: usize = 32;

/// No more of the pool than this part holds pages that were read ahead.
const COMPRESSED_CACHE_SHARE: usize = 16;

/// The fewest frames of a pool, whatever its configuration says: those of one thread that holds latches.
const FRAMES_MIN: usize = FRAMES_OF_A_TURN;

/// How long a thread waits for a frame before it gives up: so long only if other threads in their turns hold more
/// latches than expected, or the device does not answer.
const FRAME_WAIT: Duration = Duration::from_secs(60);

struct Shard {
    frames: FxHashMap<u64, u32>,
    /// Lookups, counted under the lock that a lookup takes anyway.
    requests: u64,
}

#[derive(Debug, Default)]
pub struct PoolCounters {
    pub pages_created: Counter,
    /// How often a reader had to wait for a frame, and how long.
    pub wait_free: Counter,
    pub wait_free_us: Counter,
    /// Pages that readers evicted themselves.
    pub evicted_by_reader: Counter,
    pub evicted: Counter,
    /// Rounds of syncs, tablespaces synced in them, and how long they took.
    pub syncs: Counter,
    pub spaces_synced: Counter,
    pub sync_us: Counter,
}

/// See the module header.
pub struct Pool {
    pub(super) frames: Frames,
    shards: Box<[Padded<Mutex<Shard>>]>,
    pub(super) lru: Lru,
    pub(super) compressed_cache: CompressedCache,
    /// Pages that left the compressed cache unused, as far as read-ahead has counted them.
    regretted: AtomicU64,
    pub(super) read_ahead: Arc<ReadAhead>,
    pub(super) flush_list: Padded<Mutex<FlushList>>,
    /// Of the flush list.
    dirty: Arc<AtomicUsize>,
    /// Redo that recovery has read and not applied; and a flag whether there is any, for threads that miss a page.
    pending: RwLock<Option<(Arc<PendingRedo>, Lsn)>>,
    has_pending: AtomicBool,
    /// Pages that could not be read and lack redo, and why: reading them is refused.
    damaged: RwLock<FxHashMap<u64, Box<str>>>,
    has_damaged: AtomicBool,
    /// Pages whose damage is in the error log already.
    reported: Mutex<FxHashSet<u64>>,
    pub(super) spaces: Arc<Tablespaces>,
    pub(super) redo: Arc<Redo>,
    pub(super) health: Arc<Health>,
    signals: Arc<CleanerSignals>,
    /// One round of syncs at a time.
    syncing: Mutex<()>,
    /// `Config::flush_neighbors`.
    flush_neighbors: AtomicU8,
    /// Below this number of free frames the cleaners are woken.
    free_low: AtomicUsize,
    /// The last write of a page failed because the device is full.
    pub(super) disk_full: AtomicBool,
    pub counters: PoolCounters,
}

/// A page that was made anew.
pub struct Created<'p> {
    pub latch: ExclusiveLatch<'p>,
    pub was_resident: bool,
}

impl Pool {
    pub fn new(config: &Config, spaces: Arc<Tablespaces>, redo: Arc<Redo>, health: Arc<Health>) -> Result<Pool> {
        let count = ((config.pool_bytes / config.page_bytes as u64) as usize).max(FRAMES_MIN);
        let flush_list = FlushList::new(count);
        let shard = || Shard { frames: FxHashMap::default(), requests: 0 };
        Ok(Pool {
            frames: Frames::new(count, config.page_bytes)?,
            shards: (0..1 << SHARD_BITS).map(|_| Padded(Mutex::new(Rank::Pool, shard()))).collect(),
            lru: Lru::new(count, config.old_blocks_pct, config.old_blocks_ms),
            compressed_cache: CompressedCache::new(count / COMPRESSED_CACHE_SHARE),
            regretted: AtomicU64::new(0),
            read_ahead: Arc::new(ReadAhead::new(config, extent_pages(config.page_bytes) as u32)),
            dirty: flush_list.count(),
            flush_list: Padded(Mutex::new(Rank::FlushList, flush_list)),
            pending: RwLock::new(Rank::Leaf, None),
            has_pending: AtomicBool::new(false),
            damaged: RwLock::new(Rank::Leaf, FxHashMap::default()),
            has_damaged: AtomicBool::new(false),
            reported: Mutex::new(Rank::Leaf, FxHashSet::default()),
            spaces,
            redo,
            health,
            signals: Arc::default(),
            syncing: Mutex::new(Rank::Sync, ()),
            flush_neighbors: AtomicU8::new(config.flush_neighbors),
            free_low: AtomicUsize::new(0),
            disk_full: AtomicBool::new(false),
            counters: PoolCounters::default(),
        })
    }

    pub fn cleaner_signals(&self) -> &Arc<CleanerSignals> {
        &self.signals
    }

    /// DiskFull while pages cannot be written: the cleaners cannot help until an operator frees disk space.
    pub fn check_disk(&self) -> Result<()> {
        match self.signals.has_cleaners() && self.is_disk_full() {
            true => Err(Error::DiskFull { doing: "write pages" }),
            false => Ok(()),
        }
    }

    /// Whether the last batch of a cleaner found the disk full.
    pub fn is_disk_full(&self) -> bool {
        self.disk_full.load(Ordering::Relaxed)
    }

    /// Whether a mini-transaction may make more pages dirty; if not, its thread waits for the cleaners, or fails
    /// because the disk is full. A few frames are always left, so that reading goes on when it turns out that nothing
    /// can be written.
    #[inline]
    pub fn may_dirty(&self) -> bool {
        let left = self.frames.count().saturating_sub(self.dirty_count());
        left > match self.is_disk_full() {
            true => self.readers_share(),
            // Mini-transactions under way when it turns out take frames as well.
            false => self.free_low.load(Ordering::Relaxed).clamp(self.readers_share() / 2, self.readers_share()),
        }
    }

    fn readers_share(&self) -> usize {
        (self.frames.count() / READERS_SHARE).max(FRAMES_MIN / 6)
    }

    pub fn configure(&self, config: &Config) {
        self.lru.configure(config.old_blocks_pct, config.old_blocks_ms);
        self.flush_neighbors.store(config.flush_neighbors, Ordering::Relaxed);
        self.read_ahead.configure(config);
    }

    pub fn read_ahead(&self) -> &Arc<ReadAhead> {
        &self.read_ahead
    }

    pub fn compressed_cache(&self) -> &CompressedCache {
        &self.compressed_cache
    }

    /// Expires old entries of the compressed cache, and reports them to read-ahead as unused.
    pub fn tend_compressed_cache(&self) {
        self.compressed_cache.expire(self.now(), &self.lru);
        let evicted = self.compressed_cache.counters.evicted.get();
        let known = self.regretted.swap(evicted, Ordering::Relaxed);
        if evicted > known {
            self.read_ahead.regret((evicted - known) as u32);
        }
    }

    /// Wakes the cleaners if free frames are few.
    pub(super) fn wake_cleaners_if_low(&self) {
        if self.lru.free_count() <= self.free_low.load(Ordering::Relaxed) {
            self.signals.wake();
        }
    }

    pub(super) fn flush_neighbors(&self) -> u8 {
        self.flush_neighbors.load(Ordering::Relaxed)
    }

    /// Frames that cleaners keep free, so that no reader has to evict a page itself.
    pub fn free_wanted(&self, config: &Config) -> usize {
        let wanted = config.lru_scan_depth.min(self.frames.count() / FREE_SHARE).max(8);
        self.free_low.store(wanted / 2, Ordering::Relaxed);
        wanted
    }

    /// The next sweep begins at the LRU's tail.
    pub fn rewind_sweep(&self) {
        self.lru.rewind();
    }

    /// Time, for measuring.
    pub(super) fn now(&self) -> Duration {
        self.spaces.disk().clock().now()
    }

    /// Sets the coarse clock by which pages age.
    pub fn set_time(&self, now: Duration) {
        self.lru.set_time(now);
    }

    #[inline]
    fn shard(&self, page: PageId) -> &Mutex<Shard> {
        // Multiplicative hashing: the high bits of the product depend on all bits of the id.
        let hash = page.fold().wrapping_mul(0x9E37_79B9_7F4A_7C15);
        &self.shards[(hash >> (64 - SHARD_BITS)) as usize].0
    }

    #[inline]
    fn lookup(&self, page: PageId) -> Option<u32> {
        let mut shard = self.shard(page).lock();
        shard.requests += 1;
        shard.frames.get(&page.fold()).copied()
    }

    /// The frame of a page, if it has one; the frame may get another page at any moment.
    pub(super) fn peek(&self, page: PageId) -> Option<u32> {
        self.shard(page).lock().frames.get(&page.fold()).copied()
    }

    /// The LSN of a page, if it is resident and no thread is changing it.
    pub fn resident_lsn(&self, page: PageId) -> Option<Lsn> {
        let latch = self.frames.try_latch_shared(self.peek(page)?)?;
        latch.frame().holds(page).then(|| header::lsn(&latch))
    }

    /// Latches a page shared; reads it if it is not resident.
    #[inline]
    pub fn fetch_shared(&self, page: PageId) -> Result<SharedLatch<'_>> {
        let _turn = self.frames.turns.begin();
        loop {
            match self.lookup(page) {
                Some(index) => {
                    if let Some(latch) = self.frames.latch_shared(index, page) {
                        self.lru.touch(latch.frame());
                        return Ok(latch);
                    }
                    // The page was evicted between lookup and latch.
                }
                None => {
                    if let Some(mut latch) = self.load(page)? {
                        latch.enter_order(page, true);
                        return Ok(latch.into_shared());
                    }
                }
            }
        }
    }

    /// Latches a page exclusively; reads it if it is not resident.
    #[inline]
    pub fn fetch_exclusive(&self, page: PageId) -> Result<ExclusiveLatch<'_>> {
        let _turn = self.frames.turns.begin();
        loop {
            match self.lookup(page) {
                Some(index) => {
                    if let Some(latch) = self.frames.latch_exclusive(index, page) {
                        self.lru.touch(latch.frame());
                        return Ok(latch);
                    }
                }
                None => {
                    if let Some(mut latch) = self.load(page)? {
                        latch.enter_order(page, true);
                        return Ok(latch);
                    }
                }
            }
        }
    }

    /// Latches a page exclusively, unless another thread has it. A page that is not resident is read.
    pub fn try_fetch_exclusive(&self, page: PageId) -> Result<Option<ExclusiveLatch<'_>>> {
        let _turn = self.frames.turns.begin();
        let latch = match self.lookup(page) {
            Some(index) => self.frames.try_latch_exclusive(index).filter(|latch| latch.frame().holds(page)),
            None => self.load(page)?,
        };
        Ok(latch.map(|mut latch| {
            latch.enter_order(page, false);
            latch
        }))
    }

    /// Whether a frame still has the page of the hint, unchanged. It may get another page at any moment.
    #[inline]
    fn is_unchanged(&self, page: PageId, hint: FrameHint) -> bool {
        if hint.frame as usize >= self.frames.count() {
            return false;
        }
        let frame = self.frames.header(hint.frame);
        frame.holds(page) && frame.clock() == hint.clock
    }

    /// Latches the page in the frame of the hint, if it is there and has not changed.
    #[inline]
    pub fn reacquire(&self, page: PageId, hint: FrameHint) -> Option<SharedLatch<'_>> {
        if !self.is_unchanged(page, hint) {
            return None;
        }
        let _turn = self.frames.turns.begin();
        let latch = self.frames.latch_shared(hint.frame, page)?;
        self.lru.touch(latch.frame());
        (latch.frame().clock() == hint.clock).then_some(latch)
    }

    /// The same, exclusively.
    #[inline]
    pub fn reacquire_exclusive(&self, page: PageId, hint: FrameHint) -> Option<ExclusiveLatch<'_>> {
        if !self.is_unchanged(page, hint) {
            return None;
        }
        let _turn = self.frames.turns.begin();
        let latch = self.frames.latch_exclusive(hint.frame, page)?;
        self.lru.touch(latch.frame());
        (latch.frame().clock() == hint.clock).then_some(latch)
    }

    /// Latches exclusively a page that is to be made anew, without reading it. A page that was not resident is zero; of
    /// one that was, the caller sees the old content.
    pub fn create(&self, page: PageId) -> Result<Created<'_>> {
        self.counters.pages_created.add(1);
        let _turn = self.frames.turns.begin();
        loop {
            let (latch, was_resident) = match self.lookup(page) {
                Some(index) => (self.frames.latch_new(index, page), true),
                None => {
                    self.spaces.find(page.space)?;
                    let latch = self.take_frame()?;
                    let mut latch = self.enter(page, latch);
                    if let Some(latch) = &mut latch {
                        // The page's old stored form is obsolete.
                        self.compressed_cache.take(&self.frames, &self.lru, page, latch.bytes_mut());
                        latch.bytes_mut().fill(0);
                    }
                    (latch, false)
                }
            };
            if let Some(latch) = latch {
                latch.advance_clock();
                if self.has_damaged.load(Ordering::Acquire) {
                    // The redo that it lacked no longer matters.
                    self.damaged.write().remove(&page.fold());
                }
                return Ok(Created { latch, was_resident });
            }
        }
    }

    /// Reverts [`Pool::create`] of a page that was not resident and has not been changed since.
    pub fn uncreate(&self, page: PageId, latch: ExclusiveLatch<'_>) {
        self.expel(page, latch);
    }

    /// Reads a page into a free frame. `None` if another thread was faster.
    #[cold]
    fn load(&self, page: PageId) -> Result<Option<ExclusiveLatch<'_>>> {
        let space = self.spaces.find(page.space)?;
        if let Some(why) = self.why_damaged(page) {
            return Err(Error::corrupt_page(page, why));
        }
        let latch = self.take_frame()?;
        let Some(latch) = self.enter(page, latch) else { return Ok(None) };
        let mut loading = Loading { pool: self, page, latch: Some(latch) };
        let latch = loading.latch.as_mut().expect("it is loading");
        // Only now, with the page in the table: it cannot be put into the compressed cache any more.
        let ahead = self.compressed_cache.take(&self.frames, &self.lru, page, latch.bytes_mut());
        let pending = self.pending().filter(|(redo, _)| redo.wants(page));
        let read = match ahead {
            _ if pending.as_ref().is_some_and(|(redo, _)| redo.makes_anew(page)) => {
                latch.bytes_mut().fill(0);
                Ok(PageRead::Zero)
            }
            // A page that cannot be decoded may have been read while it was being written.
            Some(_) => match space.decode(page.page, latch.bytes_mut()) {
                Err(_) => space.read_page(page.page, latch.bytes_mut()),
                decoded => decoded,
            },
            None => space.read_page(page.page, latch.bytes_mut()),
        };
        let read = match pending {
            Some((redo, _)) => self.apply(&redo, page, &space, read, latch.bytes_mut()),
            None => read,
        };
        match read {
            Ok(PageRead::Found) => self.watch(page, latch, ahead.is_some()),
            Ok(PageRead::Zero) => {}
            Err(error) => {
                drop(loading);
                self.report_damage(&error);
                return Err(error);
            }
        }
        Ok(loading.latch.take())
    }

    /// Reports a damaged page in the error log, once, with its file.
    pub fn report_damage(&self, error: &Error) {
        let Error::Corrupt { page: Some(page), .. } = error else { return };
        let mut reported = self.reported.lock();
        if reported.len() >= REPORTS_MAX || !reported.insert(page.fold()) {
            return;
        }
        let is_last = reported.len() == REPORTS_MAX;
        drop(reported);
        let path = self.spaces.get(page.space).map_or_else(|| "a dropped file".into(), |space| space.path());
        tracing::error!("{path}: {error}");
        if is_last {
            tracing::error!("so many pages are damaged that further ones are not named here");
        }
    }

    /// Applies pending redo to a page that was read.
    fn apply(
        &self,
        redo: &PendingRedo,
        page: PageId,
        space: &Tablespace,
        read: Result<PageRead>,
        bytes: &mut [u8],
    ) -> Result<PageRead> {
        match read {
            // It was being punched: a free page, whose content is gone.
            Err(Error::Corrupt { .. }) if space.has_lost_its_head(page.page, bytes)? => bytes.fill(0),
            read => drop(read?),
        }
        let changed = redo.apply(page, bytes)?;
        if header::is_zero(bytes) {
            return Ok(PageRead::Zero);
        }
        if !changed {
            // The disk has all its changes, durably: recovery syncs what it finds.
            redo.set_done(page);
        }
        Ok(PageRead::Found)
    }

    // Recovery

    /// The pending redo, and the checkpoint that it begins at.
    fn pending(&self) -> Option<(Arc<PendingRedo>, Lsn)> {
        if !self.has_pending.load(Ordering::Acquire) {
            return None;
        }
        self.pending.read().clone()
    }

    /// Sets the pending redo, from a checkpoint on. Resident pages get theirs at once. No other thread uses the pool
    /// yet.
    pub fn set_pending(&self, redo: Arc<PendingRedo>, checkpoint: Lsn) -> Result<()> {
        *self.pending.write() = Some((redo.clone(), checkpoint));
        self.has_pending.store(true, Ordering::Release);
        for page in redo.pages().filter(|page| self.peek(*page).is_some()) {
            self.bring_up(&redo, page)?;
        }
        Ok(())
    }

    /// Whether recovery is not over: [`Pool::end_pending`] is still to come.
    pub fn has_pending(&self) -> bool {
        self.has_pending.load(Ordering::Acquire)
    }

    /// Pages that wait for redo.
    pub fn pending_pages(&self) -> usize {
        self.pending().map_or(0, |(redo, _)| redo.left())
    }

    /// The pending redo, for recovery's decisions about single pages.
    pub fn pending_redo(&self) -> Option<Arc<PendingRedo>> {
        self.pending().map(|(redo, _)| redo)
    }

    /// Drops the pending redo, all of which has been applied. False if another thread was faster.
    pub fn end_pending(&self) -> bool {
        debug_assert_eq!(self.pending_pages(), 0, "every page has its redo");
        self.has_pending.store(false, Ordering::Release);
        self.pending.write().take().is_some()
    }

    /// From here on reading the page is refused, until it is made anew.
    pub fn set_damaged(&self, page: PageId, why: &str) {
        self.damaged.write().insert(page.fold(), why.into());
        self.has_damaged.store(true, Ordering::Release);
    }

    /// Why reading the page is refused, if so.
    pub fn why_damaged(&self, page: PageId) -> Option<Box<str>> {
        if !self.has_damaged.load(Ordering::Acquire) {
            return None;
        }
        self.damaged.read().get(&page.fold()).cloned()
    }

    /// Applies the redo of the next `count` pages, in order. Returns how many that were; 0: other threads work on the
    /// last ones, or there are none.
    pub fn apply_pending(&self, count: usize) -> Result<usize> {
        let Some((redo, _)) = self.pending() else { return Ok(0) };
        let pages = redo.claim(count);
        for (at, page) in pages.iter().enumerate() {
            self.bring_up(&redo, *page).inspect_err(|_| redo.unclaim(&pages[at..]))?;
        }
        Ok(pages.len())
    }

    /// Brings a page to the end of the log, and makes it dirty.
    fn bring_up(&self, redo: &PendingRedo, page: PageId) -> Result<()> {
        if !redo.wants(page) {
            return Ok(());
        }
        if self.spaces.get(page.space).is_none() {
            // Dropped since.
            redo.set_done(page);
            return Ok(());
        }
        let mut latch = self.fetch_exclusive(page)?;
        if redo.apply(page, latch.bytes_mut())? {
            // It was resident when the redo was set.
            latch.advance_clock();
        }
        if header::is_zero(&latch) {
            redo.set_done(page);
        } else {
            self.mark_brought_up(&latch);
        }
        Ok(())
    }

    /// Informs read-ahead of a page that was loaded.
    fn watch(&self, page: PageId, bytes: &[u8], was_ahead: bool) {
        // Only the pages of a tree are linked; others are assumed to be sequential.
        let (prev, next) = match header::page_type(bytes) {
            PageType::INDEX => (header::prev(bytes), header::next(bytes)),
            _ => (PageNo(page.page.0.saturating_sub(1)), PageNo(page.page.0.saturating_add(1))),
        };
        self.read_ahead.watch(&Loaded { page, prev, next, was_ahead }, |first| {
            let pages = extent_pages(self.frames.page_bytes()) as u32;
            let is_used = |page: u32| {
                self.peek(PageId::new(first.space, PageNo(page))).is_some_and(|index| {
                    let frame = self.frames.header(index);
                    frame.used.load(Ordering::Relaxed) != 0 || frame.loaded_tick.load(Ordering::Relaxed) == 0
                })
            };
            (first.page.0..first.page.0 + pages).filter(|&page| is_used(page)).count() as u32
        });
    }

    /// Assigns a free frame to a page, in table and LRU. `None` (and the frame is free again) if the page has one.
    fn enter<'p>(&'p self, page: PageId, latch: ExclusiveLatch<'p>) -> Option<ExclusiveLatch<'p>> {
        let index = latch.index();
        {
            let mut shard = self.shard(page).lock();
            match shard.frames.entry(page.fold()) {
                std::collections::hash_map::Entry::Occupied(_) => {
                    drop(shard);
                    drop(latch);
                    self.lru.push_free(index);
                    return None;
                }
                std::collections::hash_map::Entry::Vacant(entry) => entry.insert(index),
            };
            latch.set_page(Some(page));
        }
        self.lru.add(&self.frames, index);
        Some(latch)
    }

    /// Removes a clean page from its frame, and makes the frame free.
    fn expel(&self, page: PageId, latch: ExclusiveLatch<'_>) {
        let index = latch.index();
        self.forget(page, &latch);
        drop(latch);
        self.lru.release(&[index]);
    }

    /// Removes the page from the table. Its frame is still in the LRU.
    fn forget(&self, page: PageId, latch: &ExclusiveLatch<'_>) {
        debug_assert!(!latch.frame().is_dirty(), "a dirty page does not leave");
        self.shard(page).lock().frames.remove(&page.fold());
        latch.set_page(None);
    }

    /// A free frame, latched.
    fn take_frame(&self) -> Result<ExclusiveLatch<'_>> {
        let mut waiting_since = None;
        loop {
            if let Some((index, left)) = self.lru.pop_free() {
                if left == self.free_low.load(Ordering::Relaxed) {
                    self.signals.wake();
                }
                if let Some(begin) = waiting_since {
                    self.counters.wait_free_us.add(self.now().saturating_sub(begin).as_micros() as u64);
                }
                return Ok(self.frames.latch_free(index));
            }
            if let Some(latch) = self.evict_one() {
                self.counters.evicted_by_reader.add(1);
                self.signals.wake();
                return Ok(latch);
            }
            self.health.check()?;
            let begin = *waiting_since.get_or_insert_with(|| {
                self.counters.wait_free.add(1);
                self.now()
            });
            let waited = self.now().saturating_sub(begin);
            if waited > FULL_DISK_WAIT {
                self.check_disk()?;
            }
            // Without cleaners the caller may hold latches, so it cannot clean here: single-threaded users keep enough
            // frames clean between operations (`Store::reserve_log`).
            if !self.signals.wait_for_progress(FREE_WAIT) || waited > FRAME_WAIT {
                return Err(Error::Io {
                    doing: "find a free frame",
                    cause: Arc::new(std::io::Error::other("all pages of the pool are dirty or in use")),
                });
            }
        }
    }

    /// Evicts the page that should leave next, and keeps its frame latched.
    fn evict_one(&self) -> Option<ExclusiveLatch<'_>> {
        let mut victims = Vec::with_capacity(VICTIMS_MAX);
        let mut wanted = VICTIMS_MAX;
        // Cleaners that cannot write are no help.
        let helped = self.signals.has_cleaners() && !self.is_disk_full();
        let limit = if helped { VICTIMS_MAX_HELPED } else { self.frames.count() };
        loop {
            let more = self.lru.victims(&self.frames, wanted, &mut victims);
            for &index in &victims {
                if let Some((latch, page)) = self.latch_victim(index) {
                    self.forget(page, &latch);
                    self.lru.remove(index);
                    self.counters.evicted.add(1);
                    return Some(latch);
                }
            }
            if !more || wanted >= limit {
                return None;
            }
            // Behind dirty pages there may be clean ones.
            wanted *= 8;
        }
    }

    /// Latches the frame of a page that can be evicted without writing or waiting.
    fn latch_victim(&self, index: u32) -> Option<(ExclusiveLatch<'_>, PageId)> {
        let frame = self.frames.header(index);
        let is_busy = || frame.is_dirty() || frame.writing.load(Ordering::Acquire);
        if is_busy() {
            return None;
        }
        let latch = self.frames.try_latch_exclusive(index)?;
        let page = frame.page()?;
        (!is_busy()).then_some((latch, page))
    }

    /// Evicts the pages of these frames that are clean and not latched. Returns how many frames became
    /// free.
    pub(super) fn evict(&self, frames: &[u32]) -> usize {
        let mut freed = Vec::with_capacity(frames.len());
        for &index in frames {
            if let Some((latch, page)) = self.latch_victim(index) {
                self.forget(page, &latch);
                freed.push(index);
            }
        }
        self.lru.release(&freed);
        self.counters.evicted.add(freed.len() as u64);
        freed.len()
    }

    /// Makes durable what all flushers have written so far.
    pub fn sync_written(&self) -> Result<()> {
        let _turn = self.syncing.lock();
        self.health.check()?;
        // Rounds run one at a time, so one that has not ended has failed.
        let round = self.flush_list.lock().begin_sync().ok_or(Error::Poisoned)?;
        if !round.spaces.is_empty() {
            let begin = self.now();
            for space in &round.spaces {
                // After a failed sync it is unknown what is durable, whatever the reason was.
                space.sync().inspect_err(|error| self.health.poison(error))?;
            }
            self.counters.syncs.add(1);
            self.counters.spaces_synced.add(round.spaces.len() as u64);
            self.counters.sync_us.add(self.now().saturating_sub(begin).as_micros() as u64);
        }
        self.flush_list.lock().end_sync(round);
        self.health.check()
    }

    /// Whether pages have been written that are not synced.
    pub fn owes_sync(&self) -> bool {
        self.flush_list.lock().owes_sync()
    }

    /// Discards all pages of a tablespace, dirty or not. They are not used any more.
    pub fn discard_space(&self, space: SpaceId) {
        self.discard_frames(space, 0..self.frames.count());
    }

    /// `discard_space`, for a range of frames.
    pub fn discard_frames(&self, space: SpaceId, frames: std::ops::Range<usize>) {
        self.compressed_cache.discard_space(space, &self.lru);
        for index in frames.start as u32..frames.end as u32 {
            let frame = self.frames.header(index);
            while let Some(page) = frame.page().filter(|page| page.space == space) {
                let Some(latch) = self.frames.latch_exclusive(index, page) else { continue };
                if self.health.is_poisoned() {
                    // The cleaner that writes it may have ended, and the frame is not needed.
                    return;
                }
                if frame.writing.load(Ordering::Acquire) {
                    // A cleaner has a copy of it; the write is skipped or harmless, but has to finish first.
                    drop(latch);
                    std::thread::yield_now();
                    continue;
                }
                self.flush_list.lock().remove(&self.frames, index);
                self.expel(page, latch);
                break;
            }
        }
    }

    /// Enters a page that was clean into the flush list, as of a mini-transaction that begins at `start`. The caller
    /// has it exclusively and holds the log's mutex.
    #[inline]
    pub fn mark_dirty(&self, latch: &ExclusiveLatch<'_>, start: Lsn) {
        if latch.frame().is_dirty() {
            return;
        }
        if self.has_pending() && self.mark_brought_up(latch) {
            return;
        }
        // Not yet known: a cleaner that could not write the page puts it back without a latch. The list decides.
        self.flush_list.lock().push(&self.frames, latch.index(), start);
    }

    /// A resident page has its pending redo applied. At its first change it is marked done: it is dirty as of the log's
    /// checkpoint. False if no redo is pending for it.
    #[cold]
    fn mark_brought_up(&self, latch: &ExclusiveLatch<'_>) -> bool {
        let (Some((redo, checkpoint)), Some(page)) = (self.pending(), latch.frame().page()) else { return false };
        if !redo.wants(page) {
            return false;
        }
        self.flush_list.lock().put_first(&self.frames, latch.index(), checkpoint);
        redo.set_done(page);
        true
    }

    /// Start of the oldest mini-transaction with unwritten pages.
    pub fn oldest_dirty_lsn(&self) -> Option<Lsn> {
        self.flush_list.lock().oldest_listed(&self.frames)
    }

    /// Whether the tablespace has dirty pages.
    pub fn is_space_dirty(&self, space: SpaceId) -> bool {
        self.flush_list.lock().has_space(space)
    }

    /// Start of the oldest mini-transaction whose pages are not all in the tablespaces; `None` if there is none.
    pub fn oldest_lsn(&self) -> Option<Lsn> {
        // In this order: a page is in the flush list before it stops waiting for redo.
        let pending = self.pending().filter(|(redo, _)| redo.holds_checkpoint()).map(|(_, checkpoint)| checkpoint);
        let dirty = self.flush_list.lock().oldest_lsn(&self.frames);
        pending.into_iter().chain(dirty).min()
    }

    pub fn frames_page_bytes(&self) -> usize {
        self.frames.page_bytes()
    }

    pub fn frame_count(&self) -> usize {
        self.frames.count()
    }

    pub fn free_count(&self) -> usize {
        self.lru.free_count()
    }

    pub fn dirty_count(&self) -> usize {
        self.dirty.load(Ordering::Relaxed)
    }

    pub fn requests(&self) -> u64 {
        self.shards.iter().map(|shard| shard.lock().requests).sum()
    }

    /// Frames that hold a page.
    pub fn resident_count(&self) -> usize {
        self.shards.iter().map(|shard| shard.lock().frames.len()).sum()
    }
}

/// A page that is being read into its frame. Unless the latch is taken out of here, the page leaves the table again,
/// also when the reading thread panics: a thread that waits for the latch must not take the frame's content for the
/// page.
struct Loading<'p> {
    pool: &'p Pool,
    page: PageId,
    latch: Option<ExclusiveLatch<'p>>,
}

impl Drop for Loading<'_> {
    fn drop(&mut self) {
        if let Some(latch) = self.latch.take() {
            self.pool.expel(self.page, latch);
        }
    }
}
