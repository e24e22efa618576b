//! The compressed cache: pages in memory in their stored form that no thread has requested yet.
//!
//! Read-ahead puts pages here as they came from the disk, still compressed (and encrypted). The first use takes a page
//! out and decodes it into a frame. So an unneeded read-ahead costs no decoding and evicts no page from the pool, and
//! a page that is used later occupies a quarter or half of its size until then.
//!
//! The memory is the pool's own: a small share of its frames, each packed with stored pages one behind the other.
//!
//! ```text
//!   entries: page -> slab, offset, bytes          slabs, oldest first; the last one is filled
//!                                                 | [p 64][p 65][p 66].. | [p 70][p 71].... |
//!                                                   frame 812              frame 77
//! ```
//!
//! Invariants:
//!
//! * A page that is in the page table is not in the compressed cache, so nothing here is older than the disk. Two steps
//!   ensure that: a reader that wants to put a page announces it first and then checks whether the page is resident; a
//!   thread that enters a page into the table removes it (or its announcement) from the compressed cache afterwards.
//!   One of the two sees the other.
//! * Nothing here has been verified. A page that cannot be decoded is read again from the disk.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use format::ids::{PageId, SpaceId};
use rustc_hash::FxHashMap;

use super::frame::Frames;
use super::lru::Lru;
use crate::sync::{Counter, Mutex, Rank};

/// How long a page stays here unused before it expires.
const PATIENCE: Duration = Duration::from_secs(10);

#[derive(Debug, Default)]
pub struct CompressedCacheCounters {
    pub put: Counter,
    pub used: Counter,
    /// Evicted before any thread requested them.
    pub evicted: Counter,
}

/// See the module header.
pub struct CompressedCache {
    inner: Mutex<Inner>,
    /// Number of entries, for callers that need not be exact: most misses find the compressed cache empty.
    count: AtomicUsize,
    slabs_max: usize,
    pub counters: CompressedCacheCounters,
}

struct Inner {
    entries: FxHashMap<u64, Entry>,
    slabs: VecDeque<Slab>,
    /// The number of the first of them.
    first_slab: u64,
    last_ticket: u64,
    bytes: usize,
}

enum Entry {
    /// A reader is reading it.
    Announced(Ticket),
    Here {
        slab: u64,
        offset: usize,
        bytes: usize,
    },
}

/// An announcement: only the thread that made it may put the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ticket(u64);

struct Slab {
    /// `None`: all its pages are gone.
    frame: Option<u32>,
    used: usize,
    live: usize,
    pages: Vec<u64>,
    filled_at: Duration,
}

impl CompressedCache {
    pub fn new(slabs_max: usize) -> CompressedCache {
        let inner =
            Inner { entries: FxHashMap::default(), slabs: VecDeque::new(), first_slab: 0, last_ticket: 0, bytes: 0 };
        CompressedCache {
            inner: Mutex::new(Rank::Lru, inner),
            count: AtomicUsize::new(0),
            slabs_max: slabs_max.max(1),
            counters: CompressedCacheCounters::default(),
        }
    }

    /// Pages here or on their way.
    pub fn count(&self) -> usize {
        self.count.load(Ordering::Acquire)
    }

    /// Frames used, and bytes in them.
    pub fn size(&self) -> (usize, usize) {
        let inner = self.inner.lock();
        (inner.slabs.iter().filter(|slab| slab.frame.is_some()).count(), inner.bytes)
    }

    /// Announces that a page will be read. `None` if it is here already, or on its way.
    pub fn announce(&self, page: PageId) -> Option<Ticket> {
        let mut inner = self.inner.lock();
        if inner.entries.contains_key(&page.fold()) {
            return None;
        }
        inner.last_ticket += 1;
        let ticket = Ticket(inner.last_ticket);
        inner.entries.insert(page.fold(), Entry::Announced(ticket));
        self.count.store(inner.entries.len(), Ordering::Release);
        Some(ticket)
    }

    /// Takes an announcement back.
    pub fn withdraw(&self, page: PageId, ticket: Ticket) {
        let mut inner = self.inner.lock();
        if matches!(inner.entries.get(&page.fold()), Some(Entry::Announced(known)) if *known == ticket) {
            inner.entries.remove(&page.fold());
            self.count.store(inner.entries.len(), Ordering::Release);
        }
    }

    /// Puts a page that was announced. False if another thread has read it meanwhile, or the cache is full.
    pub fn put(&self, frames: &Frames, lru: &Lru, now: Duration, page: PageId, ticket: Ticket, stored: &[u8]) -> bool {
        let mut inner = self.inner.lock();
        let inner = &mut *inner;
        match inner.entries.get(&page.fold()) {
            Some(Entry::Announced(known)) if *known == ticket => {}
            _ => return false,
        }
        let entry = self.append(inner, frames, lru, now, page, stored);
        let has_room = entry.is_some();
        match entry {
            Some(entry) => {
                inner.entries.insert(page.fold(), entry);
                inner.bytes += stored.len();
                self.counters.put.add(1);
            }
            None => {
                inner.entries.remove(&page.fold());
            }
        }
        self.count.store(inner.entries.len(), Ordering::Release);
        has_room
    }

    fn append(
        &self,
        inner: &mut Inner,
        frames: &Frames,
        lru: &Lru,
        now: Duration,
        page: PageId,
        stored: &[u8],
    ) -> Option<Entry> {
        let page_bytes = frames.page_bytes();
        let has_room = |slab: &Slab| slab.frame.is_some() && slab.used + stored.len() <= page_bytes;
        if !inner.slabs.back().is_some_and(has_room) {
            while inner.slabs.iter().filter(|slab| slab.frame.is_some()).count() >= self.slabs_max {
                self.drop_oldest(inner, lru);
            }
            let (frame, _) = lru.pop_free()?;
            let slab = Slab { frame: Some(frame), used: 0, live: 0, pages: Vec::new(), filled_at: now };
            inner.slabs.push_back(slab);
        }
        let number = inner.first_slab + inner.slabs.len() as u64 - 1;
        let slab = inner.slabs.back_mut()?;
        let offset = slab.used;
        // No other thread has this frame; the latch gives access to its bytes.
        frames.latch_free(slab.frame?).bytes_mut()[offset..offset + stored.len()].copy_from_slice(stored);
        slab.used += stored.len();
        slab.live += 1;
        slab.pages.push(page.fold());
        slab.filled_at = now;
        Some(Entry::Here { slab: number, offset, bytes: stored.len() })
    }

    /// Takes a page out, to `stored`, which is as large as a page. `None` if it is not here. An announcement of the
    /// page is withdrawn.
    pub fn take(&self, frames: &Frames, lru: &Lru, page: PageId, stored: &mut [u8]) -> Option<usize> {
        if self.count() == 0 {
            return None;
        }
        let mut inner = self.inner.lock();
        let entry = inner.entries.remove(&page.fold())?;
        self.count.store(inner.entries.len(), Ordering::Release);
        let Entry::Here { slab, offset, bytes } = entry else { return None };
        let frame = inner.slab(slab).frame.expect("a slab with a page has a frame");
        stored[..bytes].copy_from_slice(&frames.latch_free(frame)[offset..offset + bytes]);
        inner.leave(slab, bytes, lru);
        self.counters.used.add(1);
        Some(bytes)
    }

    /// Forgets the pages of a tablespace.
    pub fn discard_space(&self, space: SpaceId, lru: &Lru) {
        self.retain(lru, |fold| (fold >> 32) as u32 != space.0);
    }

    fn retain(&self, lru: &Lru, keep: impl Fn(u64) -> bool) {
        if self.count() == 0 {
            return;
        }
        let mut inner = self.inner.lock();
        let leaving: Vec<u64> = inner.entries.keys().copied().filter(|&fold| !keep(fold)).collect();
        for fold in leaving {
            if let Some(Entry::Here { slab, bytes, .. }) = inner.entries.remove(&fold) {
                inner.leave(slab, bytes, lru);
            }
        }
        self.count.store(inner.entries.len(), Ordering::Release);
    }

    /// Evicts pages that have waited too long. Returns how many.
    pub fn expire(&self, now: Duration, lru: &Lru) -> usize {
        if self.count() == 0 {
            return 0;
        }
        let mut inner = self.inner.lock();
        let mut expired = 0;
        while inner.slabs.front().is_some_and(|slab| slab.filled_at + PATIENCE < now) {
            expired += self.drop_oldest(&mut inner, lru);
        }
        self.count.store(inner.entries.len(), Ordering::Release);
        expired
    }

    fn drop_oldest(&self, inner: &mut Inner, lru: &Lru) -> usize {
        let number = inner.first_slab;
        let Some(slab) = inner.slabs.pop_front() else { return 0 };
        inner.first_slab += 1;
        let mut dropped = 0;
        for fold in slab.pages {
            if let Some(&Entry::Here { slab, bytes, .. }) = inner.entries.get(&fold)
                && slab == number
            {
                inner.entries.remove(&fold);
                inner.bytes -= bytes;
                dropped += 1;
            }
        }
        if let Some(frame) = slab.frame {
            lru.push_free(frame);
        }
        self.counters.evicted.add(dropped as u64);
        dropped
    }
}

impl Inner {
    fn slab(&mut self, number: u64) -> &mut Slab {
        &mut self.slabs[(number - self.first_slab) as usize]
    }

    /// A page has left its slab. One without pages gives its frame back.
    fn leave(&mut self, number: u64, bytes: usize, lru: &Lru) {
        self.bytes -= bytes;
        let slab = self.slab(number);
        slab.live -= 1;
        if slab.live == 0
            && let Some(frame) = slab.frame.take()
        {
            lru.push_free(frame);
        }
        while self.slabs.front().is_some_and(|slab| slab.frame.is_none()) {
            self.slabs.pop_front();
            self.first_slab += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use format::ids::PageNo;

    struct World {
        frames: Frames,
        lru: Lru,
        compressed_cache: CompressedCache,
    }

    impl World {
        fn new() -> World {
            World {
                frames: Frames::new(8, 4096).unwrap(),
                lru: Lru::new(8, 40, 0),
                compressed_cache: CompressedCache::new(2),
            }
        }

        fn put(&self, page: u32, bytes: usize) -> bool {
            let id = PageId::new(SpaceId(1), PageNo(page));
            let ticket = self.compressed_cache.announce(id).unwrap();
            self.compressed_cache.put(&self.frames, &self.lru, Duration::ZERO, id, ticket, &vec![page as u8; bytes])
        }

        fn take(&self, page: u32) -> Option<Vec<u8>> {
            let mut stored = [0; 4096];
            let id = PageId::new(SpaceId(1), PageNo(page));
            self.compressed_cache.take(&self.frames, &self.lru, id, &mut stored).map(|bytes| stored[..bytes].to_vec())
        }
    }

    #[test]
    fn several_pages_share_a_frame_and_an_empty_one_is_given_back() {
        let world = World::new();
        for page in 1..=3 {
            assert!(world.put(page, 1300));
        }
        assert_eq!((world.lru.free_count(), world.compressed_cache.size()), (7, (1, 3900)));
        assert!(world.put(4, 1300));
        assert_eq!(world.lru.free_count(), 6);
        assert_eq!(world.take(2), Some(vec![2; 1300]));
        assert_eq!(world.take(2), None);
        assert_eq!(world.take(1), Some(vec![1; 1300]));
        assert_eq!(world.take(3), Some(vec![3; 1300]));
        assert_eq!((world.lru.free_count(), world.compressed_cache.count()), (7, 1));
        assert_eq!(world.take(4), Some(vec![4; 1300]));
        assert_eq!((world.lru.free_count(), world.compressed_cache.size()), (8, (0, 0)));
        assert!(world.put(5, 4096));
    }

    #[test]
    fn the_oldest_leave_first_when_the_share_is_full_and_all_when_nobody_comes() {
        let world = World::new();
        for page in 1..=5 {
            assert!(world.put(page, 2048));
        }
        assert_eq!(world.compressed_cache.counters.evicted.get(), 2);
        assert_eq!((world.take(1), world.take(2)), (None, None));
        assert!(world.take(3).is_some());
        assert_eq!(world.compressed_cache.expire(PATIENCE, &world.lru), 0);
        assert_eq!(world.compressed_cache.expire(PATIENCE * 2, &world.lru), 2);
        assert_eq!((world.lru.free_count(), world.compressed_cache.count()), (8, 0));
    }

    #[test]
    fn who_enters_the_page_first_makes_the_announcement_void() {
        let world = World::new();
        let id = PageId::new(SpaceId(1), PageNo(7));
        let ticket = world.compressed_cache.announce(id).unwrap();
        assert!(world.compressed_cache.announce(id).is_none());
        assert_eq!(world.take(7), None);
        assert!(!world.compressed_cache.put(&world.frames, &world.lru, Duration::ZERO, id, ticket, &[1; 100]));
        // A later announcement is another one.
        let later = world.compressed_cache.announce(id).unwrap();
        assert!(!world.compressed_cache.put(&world.frames, &world.lru, Duration::ZERO, id, ticket, &[1; 100]));
        world.compressed_cache.withdraw(id, ticket);
        assert!(world.compressed_cache.put(&world.frames, &world.lru, Duration::ZERO, id, later, &[2; 100]));
        world.compressed_cache.discard_space(SpaceId(1), &world.lru);
        assert_eq!((world.take(7), world.lru.free_count()), (None, 8));
    }
}
