//! The record locks in shards by hash, and the memory that they take.
//!
//! Memory is reserved from a common limit when a shard grows, in units of a hash table's size, so taking a lock touches
//! no shared counter. A shard gives memory back when most of its locks are gone.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use format::ids::{IndexId, TrxId};
use hashbrown::HashTable;

use super::LockId;
use super::entry::{Entry, Holder};
use crate::error::{Error, Result};
use crate::sync::{Mutex, MutexGuard, Padded, Rank};

/// Two statements collide in a shard with a probability of about one in this many.
const SHARDS: usize = if cfg!(test) { 4 } else { 512 };

/// The number of gap lock counters; an index always uses the same one.
const GAP_COUNTERS: usize = 64;

/// The memory of a lock in its owner's list of locks, which grows by doubling.
const OWNER_BYTES: usize = 2 * size_of::<LockId>();

/// The memory of a holder beside the first, in lists that grow by doubling.
const HOLDER_BYTES: usize = 2 * size_of::<Holder>() + OWNER_BYTES;

/// Holders beside the first are accounted for in steps of this many.
const HOLDER_STEP: usize = 64;

/// A shard keeps capacity for this many locks, however few it has.
const KEPT: usize = 7;

/// All record locks. See the module header.
pub(super) struct Shards {
    shards: Vec<Padded<Mutex<Shard>>>,
    /// Gap locks that are held: an insert into an index without any need not look for its neighbour.
    gaps: Box<[AtomicU64]>,
    memory: Memory,
}

/// Memory that all shards have reserved.
struct Memory {
    used: AtomicUsize,
    limit: AtomicUsize,
}

/// The locks of one hash range.
pub(super) struct Shard {
    entries: HashTable<Entry>,
    /// Holders of these locks beside the first of each.
    more_holders: usize,
    reserved: usize,
}

/// A shard that is latched, for the lock that hashes into it.
pub(super) struct Latched<'s> {
    shard: MutexGuard<'s, Shard>,
    memory: &'s Memory,
    gaps: &'s AtomicU64,
    id: LockId,
}

#[inline]
fn hash(id: LockId) -> u64 {
    // The key hash is well mixed already; the index spreads equal keys of different indexes.
    (id.key_hash ^ id.index.0.wrapping_mul(0x9E37_79B9_7F4A_7C15)).wrapping_mul(0xD6E8_FEB8_6659_FD93)
}

impl Memory {
    /// Reserves memory, if the limit allows. `forced`: regardless of the limit.
    fn reserve(&self, bytes: usize, forced: bool) -> Result<()> {
        let limit = self.limit.load(Ordering::Relaxed);
        let fits = |used: usize| Some(used + bytes).filter(|used| forced || *used <= limit);
        match self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits) {
            Ok(_) => Ok(()),
            Err(_) => Err(Error::LockTableFull),
        }
    }

    fn give_back(&self, bytes: usize) {
        self.used.fetch_sub(bytes, Ordering::Relaxed);
    }
}

impl Shard {
    fn bytes(&self) -> usize {
        let steps = self.more_holders.div_ceil(HOLDER_STEP);
        self.entries.allocation_size() + self.entries.capacity() * OWNER_BYTES + steps * HOLDER_STEP * HOLDER_BYTES
    }

    /// Accounts for the shard's present memory.
    fn settle(&mut self, memory: &Memory) {
        let bytes = self.bytes();
        match bytes.checked_sub(self.reserved) {
            Some(more) => {
                // It was reserved before, or may exceed the limit.
                let _ = memory.reserve(more, true);
            }
            None => memory.give_back(self.reserved - bytes),
        }
        self.reserved = bytes;
    }
}

impl Latched<'_> {
    pub fn find(&mut self) -> Option<&mut Entry> {
        let id = self.id;
        self.shard.entries.find_mut(hash(id), |entry| entry.id == id)
    }

    /// Adds the lock, which has no holder. `forced`: it may exceed the limit.
    pub fn insert(&mut self, first: Holder, forced: bool) -> Result<()> {
        let (capacity, bytes) = (self.shard.entries.capacity(), self.shard.entries.allocation_size());
        let grows = self.shard.entries.len() == capacity;
        if grows && !forced {
            // The table is about to double.
            let more = bytes.max(size_of::<Entry>() * 4) + capacity.max(3) * OWNER_BYTES;
            self.memory.reserve(more, false)?;
            self.memory.give_back(more);
        }
        let entry = Entry::new(self.id, first, self.gaps);
        self.shard.entries.insert_unique(hash(self.id), entry, |entry| hash(entry.id));
        if grows {
            self.shard.settle(self.memory);
        }
        Ok(())
    }

    /// Adds a holder to the lock, which exists. True if its owner held nothing of it before. `forced`: it may exceed
    /// the limit.
    pub fn add(&mut self, holder: Holder, forced: bool) -> Result<bool> {
        if self.shard.more_holders.is_multiple_of(HOLDER_STEP) && !forced {
            let more = HOLDER_STEP * HOLDER_BYTES;
            self.memory.reserve(more, false)?;
            self.memory.give_back(more);
        }
        let gaps = self.gaps;
        Ok(self.change(|entry| entry.add(holder, gaps)).expect("the lock exists"))
    }

    /// Changes the lock, if it exists, and updates the count of its holders.
    pub fn change<R>(&mut self, change: impl FnOnce(&mut Entry) -> R) -> Option<R> {
        let entry = self.find()?;
        let before = entry.more_holders();
        let result = change(entry);
        let after = entry.more_holders();
        if before != after {
            self.count_holders(before, after);
        }
        Some(result)
    }

    fn count_holders(&mut self, before: usize, after: usize) {
        let steps = self.shard.more_holders.div_ceil(HOLDER_STEP);
        self.shard.more_holders = self.shard.more_holders + after - before;
        if self.shard.more_holders.div_ceil(HOLDER_STEP) != steps {
            self.shard.settle(self.memory);
        }
    }

    /// Removes an owner from the lock, and the lock from the shard if it has no owner left.
    pub fn release(&mut self, owner: TrxId) {
        let (id, gaps) = (self.id, self.gaps);
        let shard = &mut *self.shard;
        let Ok(mut found) = shard.entries.find_entry(hash(id), |entry| entry.id == id) else { return };
        let entry = found.get_mut();
        let before = entry.more_holders();
        let void = entry.release(owner, gaps);
        let after = entry.more_holders();
        if void {
            found.remove();
            if shard.entries.len() < shard.entries.capacity() / 8 && shard.entries.capacity() > KEPT {
                // Half full: neither the next lock nor the next release moves everything again.
                let kept = (shard.entries.len() * 2).max(KEPT);
                shard.entries.shrink_to(kept, |entry| hash(entry.id));
                shard.settle(self.memory);
            }
        }
        if before != after {
            self.count_holders(before, after);
        }
    }
}

impl Shards {
    /// An empty set of locks that may take at most this many bytes.
    pub fn new(limit: usize) -> Shards {
        let shard = || Shard { entries: HashTable::new(), more_holders: 0, reserved: 0 };
        Shards {
            shards: (0..SHARDS).map(|_| Padded(Mutex::new(Rank::Lock, shard()))).collect(),
            gaps: (0..GAP_COUNTERS).map(|_| AtomicU64::new(0)).collect(),
            memory: Memory { used: AtomicUsize::new(0), limit: AtomicUsize::new(limit) },
        }
    }

    /// Counts the gap locks of an index.
    #[inline]
    pub fn gaps(&self, index: IndexId) -> &AtomicU64 {
        &self.gaps[index.0 as usize % GAP_COUNTERS]
    }

    /// Whether some transaction may have locked a gap of the index.
    #[inline]
    pub fn has_gaps(&self, index: IndexId) -> bool {
        self.gaps(index).load(Ordering::Relaxed) != 0
    }

    /// Latches the shard of a lock.
    #[inline]
    pub fn latch(&self, id: LockId) -> Latched<'_> {
        let shard = self.shards[(hash(id) >> 40) as usize % SHARDS].lock();
        Latched { shard, memory: &self.memory, gaps: self.gaps(id.index), id }
    }

    /// Calls `look` with a lock under its shard's latch.
    pub fn with<R>(&self, id: LockId, look: impl FnOnce(Option<&Entry>) -> R) -> R {
        look(self.latch(id).find().map(|entry| &*entry))
    }

    /// Calls `look` with every lock, shard by shard.
    pub fn each_entry(&self, mut look: impl FnMut(&Entry)) {
        for shard in &self.shards {
            shard.lock().entries.iter().for_each(&mut look);
        }
    }

    /// The number of locks.
    pub fn count(&self) -> u64 {
        self.shards.iter().map(|shard| shard.lock().entries.len() as u64).sum()
    }

    /// The memory that all locks take.
    pub fn bytes(&self) -> usize {
        self.memory.used.load(Ordering::Relaxed)
    }
}
