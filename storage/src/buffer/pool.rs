//! The buffer pool as a whole: pages are looked up, latched, made anew and discarded.
//!
//! A lookup locks one shard of the page table for the time of a hash probe, then latches the frame and compares the page
//! id. For a resident page it takes no other lock and allocates nothing. Misses are in [`super::load`].

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use format::ids::{Lsn, PageId, SpaceId};
use format::page::header;
use format::page::space::extent_pages;

use super::cleaner_signals::CleanerSignals;
use super::compressed_cache::CompressedCache;
use super::damage::Damage;
use super::flush_list::FlushList;
use super::frame::{ExclusiveLatch, Frames, SharedLatch};
use super::guard::FrameHint;
use super::lru::Lru;
use super::page_table::PageTable;
use super::pending::Unapplied;
use super::read_ahead::ReadAhead;
use super::turns::FRAMES_OF_A_TURN;
use crate::config::Config;
use crate::error::{Error, Result};
use crate::gate::Health;
use crate::redo::Redo;
use crate::sync::{Counter, Mutex, Padded, Rank};
use crate::tablespace::Tablespaces;

/// No more of the pool than this part is kept free.
const FREE_SHARE: usize = 32;

/// No more of the pool than this part holds pages that were read ahead.
const COMPRESSED_CACHE_SHARE: usize = 16;

/// The fewest frames of a pool, whatever its configuration says: those of one thread that holds latches.
pub(super) const FRAMES_MIN: usize = FRAMES_OF_A_TURN;

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
    pub(super) table: PageTable,
    pub(super) lru: Lru,
    pub(super) compressed_cache: CompressedCache,
    /// Pages that left the compressed cache unused, as far as read-ahead has counted them.
    regretted: AtomicU64,
    pub(super) read_ahead: Arc<ReadAhead>,
    pub(super) flush_list: Padded<Mutex<FlushList>>,
    /// Of the flush list.
    pub(super) dirty: Arc<AtomicUsize>,
    /// Redo that recovery has read and not applied.
    pub(super) unapplied: Unapplied,
    pub(super) damage: Damage,
    pub(super) spaces: Arc<Tablespaces>,
    pub(super) redo: Arc<Redo>,
    pub(super) health: Arc<Health>,
    pub(super) signals: Arc<CleanerSignals>,
    /// One round of syncs at a time.
    pub(super) syncing: Mutex<()>,
    /// `Config::flush_neighbors`.
    flush_neighbors: AtomicU8,
    /// Below this number of free frames the cleaners are woken.
    pub(super) free_low: AtomicUsize,
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
        Ok(Pool {
            frames: Frames::new(count, config.page_bytes)?,
            table: PageTable::default(),
            lru: Lru::new(count, config.old_blocks_pct, config.old_blocks_ms),
            compressed_cache: CompressedCache::new(count / COMPRESSED_CACHE_SHARE),
            regretted: AtomicU64::new(0),
            read_ahead: Arc::new(ReadAhead::new(config, extent_pages(config.page_bytes) as u32)),
            dirty: flush_list.count(),
            flush_list: Padded(Mutex::new(Rank::FlushList, flush_list)),
            unapplied: Unapplied::default(),
            damage: Damage::default(),
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

    /// Which pages are damaged.
    pub fn damage(&self) -> &Damage {
        &self.damage
    }

    /// Reports a damaged page in the error log, once, with its file.
    pub fn report_damage(&self, error: &Error) {
        self.damage.report(error, &self.spaces);
    }

    pub fn cleaner_signals(&self) -> &Arc<CleanerSignals> {
        &self.signals
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

    /// The frame of a page, if it has one; the frame may get another page at any moment.
    pub(super) fn peek(&self, page: PageId) -> Option<u32> {
        self.table.peek(page)
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
            match self.table.lookup(page) {
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
            match self.table.lookup(page) {
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
        let latch = match self.table.lookup(page) {
            Some(index) => self.frames.try_latch_exclusive(index).filter(|latch| latch.frame().holds(page)),
            None => self.load(page)?,
        };
        Ok(latch.map(|mut latch| {
            latch.enter_order(page, false);
            latch
        }))
    }

    /// Whether a frame still has the page of the hint, with its records where they were. It may get another page at any
    /// moment.
    #[inline]
    fn has_same_places(&self, page: PageId, hint: FrameHint) -> bool {
        if hint.frame as usize >= self.frames.count() {
            return false;
        }
        let frame = self.frames.header(hint.frame);
        frame.holds(page) && frame.clock() == hint.clock
    }

    /// Latches the page in the frame of the hint, if it is there and its records are where they were.
    #[inline]
    pub fn reacquire(&self, page: PageId, hint: FrameHint) -> Option<SharedLatch<'_>> {
        if !self.has_same_places(page, hint) {
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
        if !self.has_same_places(page, hint) {
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
            let (latch, was_resident) = match self.table.lookup(page) {
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
                self.damage.made_anew(page);
                return Ok(Created { latch, was_resident });
            }
        }
    }

    /// Reverts [`Pool::create`] of a page that was not resident and has not been changed since.
    pub fn uncreate(&self, page: PageId, latch: ExclusiveLatch<'_>) {
        self.expel(page, latch);
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
        self.table.requests()
    }

    /// Frames that hold a page.
    pub fn resident_count(&self) -> usize {
        self.table.count()
    }
}
