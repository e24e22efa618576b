//! The record locks in shards by hash, and the memory that they take.
//!
//! Memory is reserved from a common limit when a shard grows, in units of a hash table's size, so taking a lock touches
//! no shared counter. A shard gives memory back when most of its locks are gone.
//!
//! An owner may end before its entries are removed ([`Shards::end`]). From then on they count for nothing: whoever
//! latches a shard for a lock finds that lock without them, because latching removes them, and whoever looks at a whole
//! shard removes all of them first.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use format::ids::{IndexId, TrxId};
use hashbrown::HashTable;

use super::entry::{Entry, Holder};
use super::{LockId, NEAR_KEYS};
use crate::error::{Error, Result};
use crate::sync::{Mutex, MutexGuard, Padded, Rank, RwLock};

/// Two statements collide in a shard with a probability of about one in this many.
pub(super) const SHARDS: usize = if cfg!(test) { 4 } else { 512 };

/// A request that finds the memory full sweeps one of so many parts of the shards before it tries again: a caller may
/// have latched a page meanwhile.
pub(super) const PARTS: usize = if cfg!(test) { 4 } else { 64 };

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
    ended: Ended,
    /// See [`Shards::next_to_reclaim`].
    reclaimed: AtomicUsize,
}

/// Owners that have ended while entries of theirs may be left. Mostly there are none, and that is all a lock asks.
struct Ended {
    count: AtomicUsize,
    owners: RwLock<Vec<TrxId>>,
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

/// Locks of neighbouring keys come into one shard, side by side: who locks one row after the other, as scans do, finds
/// most of them in the processor's cache. The table compares the uppermost bits before the locks, so these differ, too.
#[inline]
fn hash(id: LockId) -> u64 {
    const TAG_SHIFT: u32 = 57;
    let near = id.key_hash & NEAR_KEYS;
    // The key hash is well mixed already; the index spreads equal keys of different indexes.
    let group = (id.key_hash & !NEAR_KEYS) ^ id.index.0.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let mixed = group.wrapping_mul(0xD6E8_FEB8_6659_FD93);
    let mixed = mixed ^ mixed >> 32;
    (mixed & !NEAR_KEYS | near) ^ near << TAG_SHIFT
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

impl Ended {
    fn list(&self) -> Vec<TrxId> {
        match self.count.load(Ordering::Acquire) {
            0 => Vec::new(),
            _ => self.owners.read().clone(),
        }
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

    /// Gives memory back if most locks are gone.
    fn shrink(&mut self, memory: &Memory) {
        if self.entries.len() < self.entries.capacity() / 8 && self.entries.capacity() > KEPT {
            // Half full: neither the next lock nor the next release moves everything again.
            let kept = (self.entries.len() * 2).max(KEPT);
            self.entries.shrink_to(kept, |entry| hash(entry.id));
            self.settle(memory);
        }
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
            shard.shrink(self.memory);
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
            ended: Ended { count: AtomicUsize::new(0), owners: RwLock::new(Rank::Leaf, Vec::new()) },
            reclaimed: AtomicUsize::new(0),
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

    /// Latches the shard of a lock. Owners that have ended hold nothing of it any more.
    #[inline]
    pub fn latch(&self, id: LockId) -> Latched<'_> {
        let shard = self.shards[(hash(id) >> 40) as usize % SHARDS].lock();
        let mut latched = Latched { shard, memory: &self.memory, gaps: self.gaps(id.index), id };
        if self.ended.count.load(Ordering::Acquire) != 0 {
            self.remove_ended(&mut latched);
        }
        latched
    }

    #[cold]
    fn remove_ended(&self, latched: &mut Latched<'_>) {
        for owner in self.ended.list() {
            if latched.find().is_some_and(|entry| entry.is_held_by(owner)) {
                latched.release(owner);
            }
        }
    }

    /// An owner ends: from now on its entries count for nothing. No other is added. They are to be removed by
    /// [`Shards::sweep`] or one by one, and then forgotten by [`Shards::forget`].
    pub fn end(&self, owner: TrxId) {
        let mut owners = self.ended.owners.write();
        owners.push(owner);
        self.ended.count.store(owners.len(), Ordering::Release);
    }

    /// Nothing is left of an owner that has ended.
    pub fn forget(&self, owner: TrxId) {
        let mut owners = self.ended.owners.write();
        owners.retain(|other| *other != owner);
        self.ended.count.store(owners.len(), Ordering::Release);
    }

    /// Owners that are not forgotten yet.
    #[cfg(test)]
    pub fn ended_count(&self) -> usize {
        self.ended.list().len()
    }

    /// Removes what ended owners hold in some shards. Returns where to go on, until that is the number of shards.
    pub fn sweep(&self, shards: Range<usize>) -> usize {
        let owners = self.ended.list();
        let end = shards.end.min(SHARDS);
        for shard in &self.shards[shards.start..end] {
            self.sweep_shard(&mut shard.lock(), &owners);
        }
        end
    }

    /// Removes what ended owners hold in one of [`PARTS`] parts of the shards (the number is taken modulo that), and gives
    /// back all the memory that this frees. False = no owner has ended.
    pub fn reclaim(&self, part: usize) -> bool {
        let owners = self.ended.list();
        if owners.is_empty() {
            return false;
        }
        let part = part % PARTS;
        for shard in &self.shards[part * SHARDS / PARTS..(part + 1) * SHARDS / PARTS] {
            let mut shard = shard.lock();
            self.sweep_shard(&mut shard, &owners);
            let kept = shard.entries.len().max(KEPT);
            shard.entries.shrink_to(kept, |entry| hash(entry.id));
            shard.settle(&self.memory);
        }
        self.reclaimed.store(part + 1, Ordering::Relaxed);
        true
    }

    /// The part behind the one that was reclaimed last: it is the most likely one to have something to remove.
    pub fn next_to_reclaim(&self) -> usize {
        self.reclaimed.load(Ordering::Relaxed)
    }

    fn sweep_shard(&self, shard: &mut Shard, owners: &[TrxId]) {
        if owners.is_empty() {
            return;
        }
        let (mut before, mut after) = (0, 0);
        shard.entries.retain(|entry| {
            before += entry.more_holders();
            for &owner in owners {
                if entry.is_held_by(owner) && entry.release(owner, self.gaps(entry.id.index)) {
                    return false;
                }
            }
            after += entry.more_holders();
            true
        });
        shard.more_holders = shard.more_holders + after - before;
        shard.shrink(&self.memory);
        shard.settle(&self.memory);
    }

    /// Calls `look` with a lock under its shard's latch.
    pub fn with<R>(&self, id: LockId, look: impl FnOnce(Option<&Entry>) -> R) -> R {
        look(self.latch(id).find().map(|entry| &*entry))
    }

    /// Calls `look` with every lock, shard by shard.
    pub fn each_entry(&self, mut look: impl FnMut(&Entry)) {
        self.each_shard(|shard| shard.entries.iter().for_each(&mut look));
    }

    fn each_shard(&self, mut look: impl FnMut(&Shard)) {
        for shard in &self.shards {
            let mut shard = shard.lock();
            self.sweep_shard(&mut shard, &self.ended.list());
            look(&shard);
        }
    }

    /// The number of locks.
    pub fn count(&self) -> u64 {
        let mut count = 0;
        self.each_shard(|shard| count += shard.entries.len() as u64);
        count
    }

    /// Whether so many locks of one owner are a large part of all.
    pub fn is_large_part(&self, locks: usize) -> bool {
        const PART: usize = 4;
        locks * PART * (size_of::<Entry>() + OWNER_BYTES) >= self.bytes()
    }

    /// The memory that all locks take.
    pub fn bytes(&self) -> usize {
        self.memory.used.load(Ordering::Relaxed)
    }
}
