//! Misses: a page gets a frame, and is read; another page is evicted for it if no frame is free.
//!
//! A miss takes a free frame under its exclusive latch, enters it into the table, and reads: other threads that want the
//! page wait for the latch.
//!
//! The page cleaners keep some frames free. Only when they cannot keep up, a reader evicts a clean page itself; only
//! when there is none, it waits, and that is counted.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use format::ids::{PageId, PageNo};
use format::page::header::{self, PageType};
use format::page::space::extent_pages;

use super::frame::ExclusiveLatch;
use super::pool::Pool;
use super::read_ahead::Loaded;
use crate::error::{Error, Result};
use crate::tablespace::page_io::PageRead;

/// Frames at the tail that a reader examines first to evict one itself.
const VICTIMS_MAX: usize = 32;

/// ... and with active cleaners, which free frames faster than a search passes a tail full of dirty pages.
const VICTIMS_MAX_HELPED: usize = 256;

/// How long a reader searches for a frame on a full disk: the clean ones may all be in use for a moment.
const FULL_DISK_WAIT: Duration = Duration::from_secs(1);

/// How long a reader waits for the cleaners before it searches again.
const FREE_WAIT: Duration = Duration::from_millis(10);

/// How long a thread waits for a frame before it gives up: so long only if other threads in their turns hold more
/// latches than expected, or the device does not answer.
const FRAME_WAIT: Duration = Duration::from_secs(60);

impl Pool {
    /// Reads a page into a free frame. `None` if another thread was faster.
    #[cold]
    pub(super) fn load(&self, page: PageId) -> Result<Option<ExclusiveLatch<'_>>> {
        let space = self.spaces.find(page.space)?;
        if let Some(why) = self.damage.why_refused(page) {
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
    pub(super) fn enter<'p>(&'p self, page: PageId, latch: ExclusiveLatch<'p>) -> Option<ExclusiveLatch<'p>> {
        let index = latch.index();
        if !self.table.enter(page, &latch) {
            drop(latch);
            self.lru.push_free(index);
            return None;
        }
        self.lru.add(&self.frames, index);
        Some(latch)
    }

    /// Removes a clean page from its frame, and makes the frame free.
    pub(super) fn expel(&self, page: PageId, latch: ExclusiveLatch<'_>) {
        let index = latch.index();
        self.forget(page, &latch);
        drop(latch);
        self.lru.release(&[index]);
    }

    /// Removes the page from the table. Its frame is still in the LRU.
    fn forget(&self, page: PageId, latch: &ExclusiveLatch<'_>) {
        debug_assert!(!latch.frame().is_dirty(), "a dirty page does not leave");
        self.table.remove(page, latch);
    }

    /// A free frame, latched.
    pub(super) fn take_frame(&self) -> Result<ExclusiveLatch<'_>> {
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
