//! Frames: memory for pages, each under a latch.
//!
//! The memory is one anonymous mapping, so the allocator never sees it, direct I/O can use it, and the kernel may back
//! it with huge pages. Headers lie apart from pages, so that walking them touches little.
//!
//! The latch is the only way to a page's bytes: [`SharedLatch`] reads, [`ExclusiveLatch`] writes. Both are plain values
//! that unlatch when dropped, and may be kept in any order.
//!
//! A thread wants to latch a *page*, but latches a *frame*, which may have changed its page while the thread waited. So
//! the page id is compared once the latch is acquired. And the wait is sliced: a thread that waits for a frame which
//! now holds another page would wait outside the latch order.

use std::ffi::c_void;
use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use format::ids::{Lsn, PageId, PageNo, SpaceId};
use parking_lot::RawRwLock;
use parking_lot::lock_api::{RawRwLock as _, RawRwLockDowngrade as _, RawRwLockTimed as _};
use rustix::mm::{Advice, MapFlags, ProtFlags};

use super::latch_order::Latched;
use super::turns::Turns;
use super::witness;
use crate::error::{Error, Result};
use crate::sync::{Held, Rank};

/// How long to wait for a frame's latch before checking whether it still holds the page.
const PATIENCE: Duration = Duration::from_millis(5);

/// The id of a frame without a page. No page folds to it: page numbers stop before.
const NO_PAGE: u64 = u64::MAX;

/// The header of a frame.
#[repr(align(64))]
pub struct Frame {
    latch: RawRwLock,
    page: AtomicU64,
    /// Grows with every change of the content or of the page.
    clock: AtomicU64,
    /// Start of the first mini-transaction that is not on disk; 0 if the page is clean. Changed under the flush list's
    /// mutex.
    oldest_lsn: AtomicU64,
    /// A copy is being written to disk.
    pub writing: AtomicBool,
    /// Used since the LRU last looked, see `lru`.
    pub used: AtomicU8,
    /// When it was loaded, in ticks of the LRU; 0 for a young page.
    pub loaded_tick: AtomicU32,
}

impl Frame {
    #[inline]
    pub fn holds(&self, page: PageId) -> bool {
        self.page.load(Ordering::Acquire) == page.fold()
    }

    pub fn page(&self) -> Option<PageId> {
        let fold = self.page.load(Ordering::Acquire);
        (fold != NO_PAGE).then_some(PageId::new(SpaceId((fold >> 32) as u32), PageNo(fold as u32)))
    }

    #[inline]
    pub fn clock(&self) -> u64 {
        self.clock.load(Ordering::Acquire)
    }

    #[inline]
    pub fn is_dirty(&self) -> bool {
        self.oldest_lsn.load(Ordering::Acquire) != 0
    }

    /// `None` if the page is clean.
    pub fn oldest_lsn(&self) -> Option<Lsn> {
        let lsn = self.oldest_lsn.load(Ordering::Acquire);
        (lsn != 0).then_some(Lsn(lsn))
    }

    /// Only the flush list does this.
    pub fn set_oldest_lsn(&self, lsn: Option<Lsn>) {
        self.oldest_lsn.store(lsn.map_or(0, |lsn| lsn.0), Ordering::Release);
    }
}

/// All frames of a pool.
pub struct Frames {
    memory: NonNull<u8>,
    memory_bytes: usize,
    page_bytes: usize,
    headers: Box<[Frame]>,
    /// Of the threads that hold latches.
    pub turns: Turns,
}

// SAFETY: the mapping is owned by this value and lives as long; its bytes are reached through latches only.
unsafe impl Send for Frames {}
// SAFETY: as above.
unsafe impl Sync for Frames {}

impl Frames {
    pub fn new(count: usize, page_bytes: usize) -> Result<Frames> {
        let memory_bytes = count * page_bytes;
        // SAFETY: a fresh private mapping at an address of the kernel's choice overlaps no other memory in use.
        let mapping = unsafe {
            rustix::mm::mmap_anonymous(
                std::ptr::null_mut(),
                memory_bytes,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::PRIVATE | MapFlags::NORESERVE,
            )
        };
        let mapping = mapping.map_err(|cause| Error::from_io("map the buffer pool", cause.into()))?;
        // Only advice; without huge pages the pool works, but slower.
        // SAFETY: the range is the mapping just made; the advice changes no content.
        let _ = unsafe { rustix::mm::madvise(mapping, memory_bytes, Advice::LinuxHugepage) };
        let header = |_| Frame {
            latch: RawRwLock::INIT,
            page: AtomicU64::new(NO_PAGE),
            clock: AtomicU64::new(0),
            oldest_lsn: AtomicU64::new(0),
            writing: AtomicBool::new(false),
            used: AtomicU8::new(0),
            loaded_tick: AtomicU32::new(0),
        };
        let memory = NonNull::new(mapping.cast::<u8>()).expect("mmap does not return null");
        Ok(Frames {
            memory,
            memory_bytes,
            page_bytes,
            headers: (0..count).map(header).collect(),
            turns: Turns::new(count),
        })
    }

    pub fn count(&self) -> usize {
        self.headers.len()
    }

    pub fn page_bytes(&self) -> usize {
        self.page_bytes
    }

    #[inline]
    pub fn header(&self, index: u32) -> &Frame {
        &self.headers[index as usize]
    }

    #[inline]
    fn bytes(&self, index: u32) -> *mut u8 {
        debug_assert!((index as usize) < self.headers.len());
        // SAFETY: the index is below the count (`header` has checked it), so the result is within the mapping.
        unsafe { self.memory.as_ptr().add(index as usize * self.page_bytes) }
    }

    /// Latches a frame shared, if it (still) holds the page.
    #[inline]
    pub fn latch_shared(&self, index: u32, page: PageId) -> Option<SharedLatch<'_>> {
        let frame = self.header(index);
        let held = Held::enter(Rank::Page, true);
        while !frame.latch.try_lock_shared() {
            if frame.latch.try_lock_shared_for(PATIENCE) {
                break;
            }
            if !frame.holds(page) {
                return None;
            }
        }
        let mut latch = SharedLatch::new(self, index, held);
        witness::note(page);
        if !frame.holds(page) {
            return None;
        }
        latch._order = Latched::waited(page, &latch);
        Some(latch)
    }

    /// Latches a frame exclusively, if it (still) holds the page.
    #[inline]
    pub fn latch_exclusive(&self, index: u32, page: PageId) -> Option<ExclusiveLatch<'_>> {
        let mut latch = self.latch_new(index, page)?;
        latch._order = Latched::waited(page, &latch);
        Some(latch)
    }

    /// The same for a page that will be made anew: no other thread can want it, so it has no place in the order of
    /// latches.
    #[inline]
    pub fn latch_new(&self, index: u32, page: PageId) -> Option<ExclusiveLatch<'_>> {
        let frame = self.header(index);
        let held = Held::enter(Rank::Page, true);
        while !frame.latch.try_lock_exclusive() {
            if frame.latch.try_lock_exclusive_for(PATIENCE) {
                break;
            }
            if !frame.holds(page) {
                return None;
            }
        }
        let latch = ExclusiveLatch::new(self, index, held);
        witness::note(page);
        frame.holds(page).then_some(latch)
    }

    /// Never waits.
    #[inline]
    pub fn try_latch_shared(&self, index: u32) -> Option<SharedLatch<'_>> {
        let taken = self.header(index).latch.try_lock_shared();
        taken.then(|| SharedLatch::new(self, index, Held::enter(Rank::Page, false)))
    }

    /// Never waits.
    #[inline]
    pub fn try_latch_exclusive(&self, index: u32) -> Option<ExclusiveLatch<'_>> {
        let taken = self.header(index).latch.try_lock_exclusive();
        taken.then(|| ExclusiveLatch::new(self, index, Held::enter(Rank::Page, false)))
    }

    /// Latches a free frame: other threads hold its latch only briefly, to find out that their page is gone.
    pub fn latch_free(&self, index: u32) -> ExclusiveLatch<'_> {
        let held = Held::enter(Rank::Page, false);
        self.header(index).latch.lock_exclusive();
        ExclusiveLatch::new(self, index, held)
    }
}

impl Drop for Frames {
    fn drop(&mut self) {
        // SAFETY: the mapping of `new`; latches borrow `self`, so no reference into it is left.
        let _ = unsafe { rustix::mm::munmap(self.memory.as_ptr().cast::<c_void>(), self.memory_bytes) };
    }
}

/// A frame latched for reading.
pub struct SharedLatch<'p> {
    frames: &'p Frames,
    index: u32,
    _held: Held,
    _order: Latched,
}

impl<'p> SharedLatch<'p> {
    /// The frame has been latched.
    #[inline]
    fn new(frames: &'p Frames, index: u32, held: Held) -> SharedLatch<'p> {
        frames.turns.add_latch();
        SharedLatch { frames, index, _held: held, _order: Latched::fresh() }
    }

    #[inline]
    pub fn index(&self) -> u32 {
        self.index
    }

    #[inline]
    pub fn frame(&self) -> &'p Frame {
        self.frames.header(self.index)
    }
}

impl Deref for SharedLatch<'_> {
    type Target = [u8];
    #[inline]
    fn deref(&self) -> &[u8] {
        // SAFETY: the latch keeps writers out as long as `self` lives, and the frame lies in the mapping.
        unsafe { std::slice::from_raw_parts(self.frames.bytes(self.index), self.frames.page_bytes) }
    }
}

impl Drop for SharedLatch<'_> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: this value is the proof that the latch is held shared, by this thread.
        unsafe { self.frame().latch.unlock_shared() };
        self.frames.turns.remove_latch();
    }
}

/// A frame latched for writing.
pub struct ExclusiveLatch<'p> {
    frames: &'p Frames,
    index: u32,
    _held: Held,
    _order: Latched,
}

impl<'p> ExclusiveLatch<'p> {
    /// The frame has been latched.
    #[inline]
    fn new(frames: &'p Frames, index: u32, held: Held) -> ExclusiveLatch<'p> {
        frames.turns.add_latch();
        ExclusiveLatch { frames, index, _held: held, _order: Latched::fresh() }
    }

    #[inline]
    pub fn index(&self) -> u32 {
        self.index
    }

    #[inline]
    pub fn frame(&self) -> &'p Frame {
        self.frames.header(self.index)
    }

    #[inline]
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: the latch excludes all other threads as long as `self` lives, and the frame lies in the mapping.
        unsafe { std::slice::from_raw_parts_mut(self.frames.bytes(self.index), self.frames.page_bytes) }
    }

    /// The page has been read into the frame. From here on the latch has its place in the order of latches; `waited`:
    /// the thread would have waited for it if the page had been resident.
    #[inline]
    pub fn enter_order(&mut self, page: PageId, waited: bool) {
        self._order = if waited { Latched::waited(page, self) } else { Latched::tried(page, self) };
    }

    /// Invalidates the hints of those who saw a record in a place where it may not be any more.
    #[inline]
    pub fn advance_clock(&self) {
        let clock = &self.frame().clock;
        clock.store(clock.load(Ordering::Relaxed) + 1, Ordering::Release);
    }

    /// Gives the frame to a page, or takes it from one.
    pub fn set_page(&self, page: Option<PageId>) {
        self.frame().page.store(page.map_or(NO_PAGE, PageId::fold), Ordering::Release);
        self.advance_clock();
    }

    /// Downgrades the latch, so that other readers may enter.
    pub fn into_shared(mut self) -> SharedLatch<'p> {
        let (frames, index) = (self.frames, self.index);
        // The drop would unlatch; the debug entry of the rank is created anew.
        let held = Held::enter(Rank::Page, false);
        let order = std::mem::replace(&mut self._order, Latched::fresh());
        // SAFETY: the latch is held exclusively, by this thread; from here on it is held shared.
        unsafe { self.frame().latch.downgrade() };
        let mut this = std::mem::ManuallyDrop::new(self);
        // SAFETY: `this` is never used or dropped again; only its debug entry has to go.
        unsafe { std::ptr::drop_in_place(&mut this._held) };
        SharedLatch { frames, index, _held: held, _order: order }
    }
}

impl Deref for ExclusiveLatch<'_> {
    type Target = [u8];
    #[inline]
    fn deref(&self) -> &[u8] {
        // SAFETY: as for `bytes_mut`.
        unsafe { std::slice::from_raw_parts(self.frames.bytes(self.index), self.frames.page_bytes) }
    }
}

impl Drop for ExclusiveLatch<'_> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: this value is the proof that the latch is held exclusively, by this thread.
        unsafe { self.frame().latch.unlock_exclusive() };
        self.frames.turns.remove_latch();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_latch_is_for_a_page_and_not_for_a_frame() {
        let frames = Frames::new(2, 4096).unwrap();
        let page = PageId::new(SpaceId(1), PageNo(2));
        let mut latch = frames.latch_free(0);
        latch.set_page(Some(page));
        latch.bytes_mut()[7] = 9;
        assert!(frames.try_latch_shared(0).is_none());
        let shared = latch.into_shared();
        assert_eq!(shared[7], 9);
        assert!(frames.try_latch_shared(0).is_some() && frames.try_latch_exclusive(0).is_none());
        drop(shared);
        assert!(frames.latch_shared(0, PageId::new(SpaceId(1), PageNo(3))).is_none());
        let clock = frames.header(0).clock();
        frames.latch_exclusive(0, page).unwrap().set_page(None);
        assert!(frames.latch_shared(0, page).is_none());
        assert!(frames.header(0).clock() > clock);
        assert!(frames.try_latch_exclusive(0).is_some());
    }
}
