//! The table of record locks.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use format::ids::{IndexId, PageNo, TrxId};
use hashbrown::HashTable;
use rustc_hash::FxHashMap;

use super::deadlock::DeadlockReport;
use super::interrupt::{Interrupt, Outcome, Waiter};
use super::owner::{Held, Owner};
use super::{LockId, LockKind, LockMode, LockRequest, conflicts, covers};
use crate::error::{Error, Result};
use crate::sync::{Mutex, Padded, Rank, assert_no_latches};

/// Shards of the table. Two statements collide in one about as often as this is small.
const SHARDS: usize = if cfg!(test) { 4 } else { 512 };

/// Counters of gap locks; an index always counts in the same one.
const GAP_COUNTERS: usize = 64;

/// All record locks of an instance.
pub struct LockTable {
    shards: Vec<Padded<Mutex<HashTable<Entry>>>>,
    /// Gap locks that are held, so that an insert into an index without any need not look for its neighbour.
    gaps: Box<[AtomicU64]>,
    /// Transactions that may hold locks, to make the implicit ones of others explicit.
    pub(super) owners: Mutex<FxHashMap<TrxId, Arc<Owner>>>,
    /// Who waits for what. Whoever begins to wait looks here for a cycle; nobody else comes here.
    pub(super) waits: Mutex<FxHashMap<TrxId, Wait>>,
    counters: Counters,
    last_deadlock: Mutex<Option<DeadlockReport>>,
    detects_deadlocks: AtomicBool,
}

/// One transaction that stands in line.
#[derive(Debug)]
pub(super) struct Wait {
    pub wanted: LockRequest,
    pub since: Instant,
    /// What rolling it back would cost.
    pub weight: u64,
    pub waiter: Arc<Waiter>,
}

#[derive(Debug)]
pub(super) struct Entry {
    pub id: LockId,
    first: Holder,
    queue: Option<Box<Queue>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Holder {
    pub owner: TrxId,
    pub mode: LockMode,
    pub kind: LockKind,
    /// Where the record was when it was locked, for those who want to see its key; it may be elsewhere by now.
    pub page: PageNo,
}

impl Holder {
    fn new(owner: TrxId, request: &LockRequest) -> Holder {
        Holder { owner, mode: request.mode, kind: request.kind, page: request.page }
    }

    /// The lock `id`, as this holder has or wants it.
    pub fn request(&self, id: LockId) -> LockRequest {
        LockRequest { id, mode: self.mode, kind: self.kind, page: self.page }
    }

    pub fn conflicts_with(&self, held: &Holder) -> bool {
        conflicts((self.mode, self.kind), (held.mode, held.kind))
    }
}

#[derive(Debug, Default)]
struct Queue {
    /// Holders beside the first.
    holders: Vec<Holder>,
    waiting: VecDeque<Waiting>,
}

#[derive(Debug)]
pub(super) struct Waiting {
    pub wanted: Holder,
    waiter: Arc<Waiter>,
}

/// Whether a lock could be had at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum TryLock {
    /// It is held now. `new` = it was not before.
    Granted { new: bool },
    /// Let go of all latches and [`LockTable::wait`].
    Conflict,
}

#[derive(Default)]
struct Counters {
    waits: AtomicU64,
    waits_now: AtomicU64,
    wait_us: AtomicU64,
    wait_us_max: AtomicU64,
    deadlocks: AtomicU64,
    timeouts: AtomicU64,
}

/// Counters since start, and levels now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LockCounters {
    pub waits: u64,
    pub waits_now: u64,
    pub wait_us: u64,
    pub wait_us_max: u64,
    pub deadlocks: u64,
    pub timeouts: u64,
}

impl Entry {
    pub fn holders(&self) -> impl Iterator<Item = &Holder> {
        std::iter::once(&self.first).chain(self.queue.iter().flat_map(|queue| queue.holders.iter()))
    }

    pub fn waiting(&self) -> impl Iterator<Item = &Waiting> {
        self.queue.iter().flat_map(|queue| queue.waiting.iter())
    }

    /// Whether a new request can be granted, standing behind `ahead` waiters.
    fn admits(&self, wanted: &Holder, ahead: usize) -> bool {
        let holds = self.holders().any(|holder| holder.owner == wanted.owner);
        let free = !self.holders().any(|holder| holder.owner != wanted.owner && wanted.conflicts_with(holder));
        // Whoever holds the lock already may strengthen it before others get it: they wait for him anyway.
        free && (holds || !self.waiting().take(ahead).any(|other| wanted.conflicts_with(&other.wanted)))
    }

    /// Adds a holder. True if its owner held nothing of this lock before.
    fn add(&mut self, holder: Holder, gaps: &AtomicU64) -> bool {
        let known = self.holders().any(|other| other.owner == holder.owner);
        // A stronger lock of the same kind takes the place of the weaker.
        let first = &mut self.first;
        let same = |other: &Holder| other.owner == holder.owner && other.kind == holder.kind;
        if same(first) {
            first.mode = first.mode.max(holder.mode);
            return false;
        }
        let queue = self.queue.get_or_insert_default();
        match queue.holders.iter_mut().find(|other| same(other)) {
            Some(other) => other.mode = other.mode.max(holder.mode),
            None => {
                queue.holders.push(holder);
                count_gap(gaps, &holder);
            }
        }
        !known
    }

    /// Takes the owner off the holders. True if nobody holds it any more (`first` is then void).
    fn remove(&mut self, owner: TrxId, gaps: &AtomicU64) -> bool {
        let gone = self.holders().filter(|holder| holder.owner == owner && holder.kind.has_gap()).count();
        if gone > 0 {
            gaps.fetch_sub(gone as u64, Ordering::Relaxed);
        }
        if let Some(queue) = &mut self.queue {
            queue.holders.retain(|holder| holder.owner != owner);
        }
        if self.first.owner == owner {
            match self.queue.as_mut().and_then(|queue| queue.holders.pop()) {
                Some(other) => self.first = other,
                None => return true,
            }
        }
        false
    }
}

/// Counts a new holder if it locks a gap. The shard is latched, and whoever cares has the leaf latched, too.
#[inline]
fn count_gap(gaps: &AtomicU64, holder: &Holder) {
    if holder.kind.has_gap() {
        gaps.fetch_add(1, Ordering::Relaxed);
    }
}

impl Default for LockTable {
    fn default() -> LockTable {
        LockTable::new()
    }
}

impl LockTable {
    pub fn new() -> LockTable {
        LockTable {
            shards: (0..SHARDS).map(|_| Padded(Mutex::new(Rank::Lock, HashTable::new()))).collect(),
            gaps: (0..GAP_COUNTERS).map(|_| AtomicU64::new(0)).collect(),
            owners: Mutex::new(Rank::Transaction, FxHashMap::default()),
            waits: Mutex::new(Rank::LockWait, FxHashMap::default()),
            counters: Counters::default(),
            last_deadlock: Mutex::new(Rank::Leaf, None),
            detects_deadlocks: AtomicBool::new(true),
        }
    }

    #[inline]
    fn gaps(&self, index: IndexId) -> &AtomicU64 {
        &self.gaps[index.0 as usize % GAP_COUNTERS]
    }

    /// Whether somebody may have locked a gap of the index. The caller has the leaf latched that he is going to change:
    /// a gap on it that is locked now was locked before.
    #[inline]
    pub fn has_gaps(&self, index: IndexId) -> bool {
        self.gaps(index).load(Ordering::Relaxed) != 0
    }

    #[inline]
    fn hash(id: LockId) -> u64 {
        // The key hash is well mixed already; the index moves it elsewhere.
        (id.key_hash ^ id.index.0.wrapping_mul(0x9E37_79B9_7F4A_7C15)).wrapping_mul(0xD6E8_FEB8_6659_FD93)
    }

    #[inline]
    fn shard(&self, hash: u64) -> &Mutex<HashTable<Entry>> {
        &self.shards[(hash >> 40) as usize % SHARDS]
    }

    /// Takes a lock if that needs no waiting. Latches may be held.
    pub fn try_lock(&self, held: &mut Held, request: LockRequest) -> TryLock {
        assert!(held.owner != TrxId(0), "a transaction has an id before it locks");
        let LockRequest { id, mode, kind, .. } = request;
        let wanted = Holder::new(held.owner, &request);
        let hash = LockTable::hash(id);
        let mut shard = self.shard(hash).lock();
        let Some(entry) = shard.find_mut(hash, |entry| entry.id == id) else {
            self.insert(&mut shard, id, wanted);
            held.ids.push(id);
            return TryLock::Granted { new: true };
        };
        if entry.holders().any(|own| own.owner == held.owner && covers((own.mode, own.kind), (mode, kind))) {
            return TryLock::Granted { new: false };
        }
        if !entry.admits(&wanted, usize::MAX) {
            return TryLock::Conflict;
        }
        let new = entry.add(wanted, self.gaps(id.index));
        if new {
            held.ids.push(id);
        }
        TryLock::Granted { new }
    }

    fn insert(&self, shard: &mut HashTable<Entry>, id: LockId, first: Holder) {
        count_gap(self.gaps(id.index), &first);
        shard.insert_unique(LockTable::hash(id), Entry { id, first, queue: None }, |entry| LockTable::hash(entry.id));
    }

    /// Whether another transaction would make this request wait. Nothing is taken.
    pub fn has_conflict(&self, owner: TrxId, request: LockRequest) -> bool {
        let wanted = Holder::new(owner, &request);
        self.with(request.id, |entry| {
            entry.is_some_and(|entry| {
                entry.holders().any(|holder| holder.owner != owner && wanted.conflicts_with(holder))
            })
        })
    }

    /// Whether anybody holds anything of a lock, or waits for it.
    pub fn is_used(&self, id: LockId) -> bool {
        self.with(id, |entry| entry.is_some())
    }

    /// Looks at a lock under its shard's latch.
    pub(super) fn with<R>(&self, id: LockId, look: impl FnOnce(Option<&Entry>) -> R) -> R {
        let hash = LockTable::hash(id);
        let shard = self.shard(hash).lock();
        look(shard.find(hash, |entry| entry.id == id))
    }

    /// Takes a lock, waiting for it if need be. `weight` is what rolling the transaction back would cost. The caller
    /// holds no latch.
    pub fn wait(
        &self,
        held: &mut Held,
        request: LockRequest,
        weight: u64,
        interrupt: &Interrupt,
        limit: Duration,
    ) -> Result<()> {
        assert_no_latches("waiting for a lock");
        let id = request.id;
        let wanted = Holder::new(held.owner, &request);
        let waiter = held.waiter.get_or_insert_with(|| Arc::new(Waiter::new())).clone();
        if !self.stand_in_line(held, id, wanted, weight, &waiter)? {
            return Ok(());
        }
        let begin = Instant::now();
        self.counters.waits.fetch_add(1, Ordering::Relaxed);
        self.counters.waits_now.fetch_add(1, Ordering::Relaxed);
        let outcome = waiter.wait(interrupt, limit);
        self.waits.lock().remove(&held.owner);
        let granted =
            outcome != Outcome::Victim && (outcome == Outcome::Granted || !self.leave_line(id, wanted.owner, &waiter));
        let waited_us = begin.elapsed().as_micros() as u64;
        self.counters.waits_now.fetch_sub(1, Ordering::Relaxed);
        self.counters.wait_us.fetch_add(waited_us, Ordering::Relaxed);
        self.counters.wait_us_max.fetch_max(waited_us, Ordering::Relaxed);
        if granted {
            // It may stand here twice if an older, weaker lock was strengthened; releasing twice is harmless.
            held.ids.push(id);
            return Ok(());
        }
        match outcome {
            Outcome::Victim => Err(Error::Deadlock),
            Outcome::Interrupted => Err(Error::Interrupted),
            _ => {
                self.counters.timeouts.fetch_add(1, Ordering::Relaxed);
                Err(Error::LockWaitTimeout)
            }
        }
    }

    /// Takes the lock or a place in its queue. False = taken. Deadlock if this closes a cycle of which it is the cheapest.
    fn stand_in_line(
        &self,
        held: &mut Held,
        id: LockId,
        wanted: Holder,
        weight: u64,
        waiter: &Arc<Waiter>,
    ) -> Result<bool> {
        let mut waits = self.waits.lock();
        let hash = LockTable::hash(id);
        {
            let mut shard = self.shard(hash).lock();
            let entry = shard.find_mut(hash, |entry| entry.id == id);
            let Some(entry) = entry else {
                self.insert(&mut shard, id, wanted);
                held.ids.push(id);
                return Ok(false);
            };
            if entry.admits(&wanted, usize::MAX) {
                if entry.add(wanted, self.gaps(id.index)) {
                    held.ids.push(id);
                }
                return Ok(false);
            }
            waiter.prepare();
            let queue = entry.queue.get_or_insert_default();
            queue.waiting.push_back(Waiting { wanted, waiter: waiter.clone() });
        }
        let wait = Wait { wanted: wanted.request(id), since: Instant::now(), weight, waiter: waiter.clone() };
        waits.insert(wanted.owner, wait);
        if self.break_cycles(&mut waits, wanted.owner) { Err(Error::Deadlock) } else { Ok(true) }
    }

    /// Breaks the cycles of waiting transactions through one of them. True if that is the victim itself, which is not
    /// wakened then.
    fn break_cycles(&self, waits: &mut FxHashMap<TrxId, Wait>, through: TrxId) -> bool {
        // Each round breaks one cycle; there may be several.
        while self.detects_deadlocks.load(Ordering::Relaxed)
            && let Some(report) = self.find_cycle(waits, through)
        {
            let victim = report.victim;
            let Some(wait) = waits.remove(&victim) else { break };
            if self.leave_line(wait.wanted.id, victim, &wait.waiter) {
                self.counters.deadlocks.fetch_add(1, Ordering::Relaxed);
                *self.last_deadlock.lock() = Some(report);
                if victim == through {
                    return true;
                }
                wait.waiter.wake(Outcome::Victim);
            }
        }
        false
    }

    /// Without it, the members of a cycle wait until their time is over.
    pub fn set_deadlock_detect(&self, detects: bool) {
        self.detects_deadlocks.store(detects, Ordering::Relaxed);
    }

    /// The last cycle that was found.
    pub fn last_deadlock(&self) -> Option<DeadlockReport> {
        self.last_deadlock.lock().clone()
    }

    /// Gives up waiting. False = too late, the lock has just been granted.
    fn leave_line(&self, id: LockId, owner: TrxId, waiter: &Arc<Waiter>) -> bool {
        let hash = LockTable::hash(id);
        let mut shard = self.shard(hash).lock();
        if waiter.is_granted() {
            return false;
        }
        // Whoever was made a victim is out of the line already.
        if let Some(entry) = shard.find_mut(hash, |entry| entry.id == id)
            && let Some(queue) = entry.queue.as_mut()
        {
            queue.waiting.retain(|waiting| waiting.wanted.owner != owner);
            self.grant_next(entry);
        }
        true
    }

    /// Gives the lock to those in line who can have it now.
    fn grant_next(&self, entry: &mut Entry) {
        let gaps = self.gaps(entry.id.index);
        let mut place = 0;
        while let Some(waiting) = entry.queue.as_ref().and_then(|queue| queue.waiting.get(place)) {
            let wanted = waiting.wanted;
            if entry.admits(&wanted, place) {
                let queue = entry.queue.as_mut().expect("somebody waits in it");
                let waiting = queue.waiting.remove(place).expect("just looked at");
                entry.add(wanted, gaps);
                waiting.waiter.wake(Outcome::Granted);
            } else {
                place += 1;
            }
        }
        if entry.queue.as_ref().is_some_and(|queue| queue.holders.is_empty() && queue.waiting.is_empty()) {
            entry.queue = None;
        }
    }

    /// Makes the implicit exclusive lock of the writer of a record explicit, so that one can wait for it. False = that
    /// transaction has ended; look at the record again.
    pub fn make_explicit(&self, owner: TrxId, id: LockId, page: PageNo) -> bool {
        self.add_for(Holder { owner, mode: LockMode::Exclusive, kind: LockKind::Record, page }, id)
    }

    /// A record goes, and its gap joins that of the next: whoever holds anything of it holds the gap there.
    pub fn inherit_all(&self, from: LockId, to: (LockId, PageNo)) {
        self.inherit(from, to, |holder| holder.kind != LockKind::InsertIntention);
    }

    /// A record came into the gap before `from`: whoever had locked that gap has both halves locked.
    pub fn inherit_gaps(&self, from: LockId, to: (LockId, PageNo)) {
        self.inherit(from, to, |holder| holder.kind.has_gap());
    }

    fn inherit(&self, from: LockId, (to, page): (LockId, PageNo), which: impl Fn(&Holder) -> bool) {
        let heirs: Vec<Holder> = self.with(from, |entry| {
            entry.map_or_else(Vec::new, |entry| entry.holders().filter(|holder| which(holder)).copied().collect())
        });
        for heir in heirs {
            // Whoever has ended in between needs nothing any more.
            self.add_for(Holder { kind: LockKind::Gap, page, ..heir }, to);
        }
    }

    /// Adds a holder on behalf of a transaction that may be another thread's. False = it has ended.
    fn add_for(&self, holder: Holder, id: LockId) -> bool {
        let hash = LockTable::hash(id);
        let mut shard = self.shard(hash).lock();
        let Some(shared) = self.owners.lock().get(&holder.owner).cloned() else { return false };
        let mut foreign = shared.foreign.lock();
        if foreign.ended {
            return false;
        }
        let mut has_line = false;
        match shard.find_mut(hash, |entry| entry.id == id) {
            None => {
                self.insert(&mut shard, id, holder);
                foreign.ids.push(id);
            }
            Some(entry) => {
                has_line = entry.waiting().next().is_some();
                if entry.add(holder, self.gaps(id.index)) {
                    foreign.ids.push(id);
                }
            }
        }
        drop(foreign);
        drop(shard);
        if has_line {
            self.close_cycles(holder.owner);
        }
        true
    }

    /// A lock was given to a transaction that perhaps waits, and others stand in line for it: they wait for it now, and no
    /// one of them notices.
    fn close_cycles(&self, owner: TrxId) {
        let mut waits = self.waits.lock();
        let Some(waiter) = waits.get(&owner).map(|wait| wait.waiter.clone()) else { return };
        if self.break_cycles(&mut waits, owner) {
            waiter.wake(Outcome::Victim);
        }
    }

    /// Releases one lock before the end of the transaction.
    pub fn unlock(&self, held: &mut Held, id: LockId) {
        if let Some(at) = held.ids.iter().rposition(|other| *other == id) {
            held.ids.swap_remove(at);
            self.release(held.owner, id);
        }
    }

    /// Releases all locks of a transaction that ends.
    pub fn release_all(&self, held: &mut Held) {
        let Some(shared) = held.shared.take() else { return };
        self.owners.lock().remove(&held.owner);
        let foreign = {
            let mut foreign = shared.foreign.lock();
            foreign.ended = true;
            std::mem::take(&mut foreign.ids)
        };
        for id in held.ids.drain(..).chain(foreign) {
            self.release(held.owner, id);
        }
        held.retire(shared);
        held.owner = TrxId(0);
    }

    fn release(&self, owner: TrxId, id: LockId) {
        let hash = LockTable::hash(id);
        let mut shard = self.shard(hash).lock();
        let Ok(mut found) = shard.find_entry(hash, |entry| entry.id == id) else { return };
        let entry = found.get_mut();
        let empty = entry.remove(owner, self.gaps(id.index));
        let Some(queue) = &mut entry.queue else {
            if empty {
                found.remove();
            }
            return;
        };
        if empty {
            // Nobody holds it: the first in line becomes the first holder.
            let Some(next) = queue.waiting.pop_front() else {
                found.remove();
                return;
            };
            entry.first = next.wanted;
            count_gap(self.gaps(id.index), &next.wanted);
            next.waiter.wake(Outcome::Granted);
        }
        self.grant_next(entry);
    }

    /// Looks at every lock, shard by shard.
    pub(super) fn each_entry(&self, mut look: impl FnMut(&Entry)) {
        for shard in &self.shards {
            shard.lock().iter().for_each(&mut look);
        }
    }

    /// Releases nothing and forgets nothing of an index that is gone: its ids are never used again.
    pub fn count(&self) -> u64 {
        self.shards.iter().map(|shard| shard.lock().len() as u64).sum()
    }

    /// Whether any lock exists in an index. For assertions and tests; looks at every lock.
    pub fn is_locked(&self, index: IndexId) -> bool {
        self.shards.iter().any(|shard| shard.lock().iter().any(|entry| entry.id.index == index))
    }

    pub fn counters(&self) -> LockCounters {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        LockCounters {
            waits: read(&self.counters.waits),
            waits_now: read(&self.counters.waits_now),
            wait_us: read(&self.counters.wait_us),
            wait_us_max: read(&self.counters.wait_us_max),
            deadlocks: read(&self.counters.deadlocks),
            timeouts: read(&self.counters.timeouts),
        }
    }
}

#[cfg(test)]
mod tests;
