//! The page table: which frame holds which page.
//!
//! A lookup locks one of many shards for the time of a hash probe. What it returns may be out of date at once: the thread
//! latches the frame and compares the page id.

use std::collections::hash_map::Entry;

use format::ids::PageId;
use rustc_hash::FxHashMap;

use super::frame::ExclusiveLatch;
use crate::sync::{Mutex, Padded, Rank};

const SHARD_BITS: u32 = 6;

/// See the module header.
pub struct PageTable {
    shards: Box<[Padded<Mutex<Shard>>]>,
}

struct Shard {
    frames: FxHashMap<u64, u32>,
    /// Lookups, counted under the lock that a lookup takes anyway.
    requests: u64,
}

impl Default for PageTable {
    fn default() -> PageTable {
        let shard = || Shard { frames: FxHashMap::default(), requests: 0 };
        PageTable { shards: (0..1 << SHARD_BITS).map(|_| Padded(Mutex::new(Rank::Pool, shard()))).collect() }
    }
}

impl PageTable {
    #[inline]
    fn shard(&self, page: PageId) -> &Mutex<Shard> {
        // Multiplicative hashing: the high bits of the product depend on all bits of the id.
        let hash = page.fold().wrapping_mul(0x9E37_79B9_7F4A_7C15);
        &self.shards[(hash >> (64 - SHARD_BITS)) as usize].0
    }

    /// The frame of a page that is requested.
    #[inline]
    pub fn lookup(&self, page: PageId) -> Option<u32> {
        let mut shard = self.shard(page).lock();
        shard.requests += 1;
        shard.frames.get(&page.fold()).copied()
    }

    /// The frame of a page, without counting a request.
    pub fn peek(&self, page: PageId) -> Option<u32> {
        self.shard(page).lock().frames.get(&page.fold()).copied()
    }

    /// Gives a page the frame that is latched. False if the page has another.
    pub fn enter(&self, page: PageId, latch: &ExclusiveLatch<'_>) -> bool {
        let mut shard = self.shard(page).lock();
        let Entry::Vacant(entry) = shard.frames.entry(page.fold()) else { return false };
        entry.insert(latch.index());
        latch.set_page(Some(page));
        true
    }

    /// The page leaves its frame.
    pub fn remove(&self, page: PageId, latch: &ExclusiveLatch<'_>) {
        self.shard(page).lock().frames.remove(&page.fold());
        latch.set_page(None);
    }

    pub fn requests(&self) -> u64 {
        self.shards.iter().map(|shard| shard.lock().requests).sum()
    }

    /// How many pages have frames.
    pub fn count(&self) -> usize {
        self.shards.iter().map(|shard| shard.lock().frames.len()).sum()
    }
}
