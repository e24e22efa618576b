//! The table of record locks.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use format::ids::{IndexId, TrxId};
use hashbrown::HashTable;
use rustc_hash::{FxHashMap, FxHashSet};

use super::interrupt::{Interrupt, Outcome, Waiter};
use super::{LockId, LockKind, LockMode, conflicts, covers};
use crate::error::{Error, Result};
use crate::sync::{Mutex, Padded, Rank, assert_no_latches};

/// Shards of the table. Two statements collide in one about as often as this is small.
const SHARDS: usize = if cfg!(test) { 4 } else { 512 };

/// All record locks of an instance.
pub struct LockTable {
    shards: Vec<Padded<Mutex<HashTable<Entry>>>>,
    /// Transactions that may hold locks, to make the implicit ones of others explicit.
    owners: Mutex<FxHashMap<TrxId, Arc<Owner>>>,
    /// Who waits for what. Whoever begins to wait looks here for a cycle; nobody else comes here.
    waits: Mutex<FxHashMap<TrxId, LockId>>,
    counters: Counters,
}

#[derive(Debug)]
struct Entry {
    id: LockId,
    first: Holder,
    queue: Option<Box<Queue>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Holder {
    owner: TrxId,
    mode: LockMode,
    kind: LockKind,
}

#[derive(Debug, Default)]
struct Queue {
    /// Holders beside the first.
    holders: Vec<Holder>,
    waiting: VecDeque<Waiting>,
}

#[derive(Debug)]
struct Waiting {
    wanted: Holder,
    waiter: Arc<Waiter>,
}

/// The part of a transaction that others may reach: locks that they made explicit for it.
#[derive(Debug)]
struct Owner {
    foreign: Mutex<Foreign>,
}

#[derive(Debug, Default)]
struct Foreign {
    ended: bool,
    ids: Vec<LockId>,
}

/// The locks of one transaction, in its own hands.
#[derive(Debug, Default)]
pub struct Held {
    owner: TrxId,
    shared: Option<Arc<Owner>>,
    ids: Vec<LockId>,
    waiter: Option<Arc<Waiter>>,
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

impl Held {
    /// The transaction whose locks these are; 0 before it was given an id.
    #[inline]
    pub fn owner(&self) -> TrxId {
        self.owner
    }

    /// How many locks it took itself.
    #[inline]
    pub fn count(&self) -> usize {
        self.ids.len()
    }
}

impl Entry {
    fn holders(&self) -> impl Iterator<Item = &Holder> {
        std::iter::once(&self.first).chain(self.queue.iter().flat_map(|queue| queue.holders.iter()))
    }

    fn waiting(&self) -> impl Iterator<Item = &Waiting> {
        self.queue.iter().flat_map(|queue| queue.waiting.iter())
    }

    /// Whether a new request can be granted, standing behind `ahead` waiters.
    fn admits(&self, wanted: &Holder, ahead: usize) -> bool {
        let wish = (wanted.mode, wanted.kind);
        let holds = self.holders().any(|holder| holder.owner == wanted.owner);
        let free =
            !self.holders().any(|holder| holder.owner != wanted.owner && conflicts(wish, (holder.mode, holder.kind)));
        // Whoever holds the lock already may strengthen it before others get it: they wait for him anyway.
        free && (holds
            || !self.waiting().take(ahead).any(|other| conflicts(wish, (other.wanted.mode, other.wanted.kind))))
    }

    fn add(&mut self, holder: Holder) -> bool {
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
            None => queue.holders.push(holder),
        }
        !known
    }

    /// Takes the owner off the holders. True if nobody holds it any more (`first` is then void).
    fn remove(&mut self, owner: TrxId) -> bool {
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

impl Default for LockTable {
    fn default() -> LockTable {
        LockTable::new()
    }
}

impl LockTable {
    pub fn new() -> LockTable {
        LockTable {
            shards: (0..SHARDS).map(|_| Padded(Mutex::new(Rank::Lock, HashTable::new()))).collect(),
            owners: Mutex::new(Rank::Transaction, FxHashMap::default()),
            waits: Mutex::new(Rank::LockWait, FxHashMap::default()),
            counters: Counters::default(),
        }
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

    /// A transaction has been given an id: from now on it may hold locks.
    pub fn begin(&self, held: &mut Held, owner: TrxId) {
        assert!(held.ids.is_empty() && held.shared.is_none(), "locks of an earlier transaction are released");
        let shared = Arc::new(Owner { foreign: Mutex::new(Rank::Leaf, Foreign::default()) });
        self.owners.lock().insert(owner, shared.clone());
        held.owner = owner;
        held.shared = Some(shared);
    }

    /// Takes a lock if that needs no waiting. Latches may be held.
    pub fn try_lock(&self, held: &mut Held, id: LockId, mode: LockMode, kind: LockKind) -> TryLock {
        assert!(held.owner != TrxId(0), "a transaction has an id before it locks");
        let wanted = Holder { owner: held.owner, mode, kind };
        let hash = LockTable::hash(id);
        let mut shard = self.shard(hash).lock();
        let Some(entry) = shard.find_mut(hash, |entry| entry.id == id) else {
            shard.insert_unique(hash, Entry { id, first: wanted, queue: None }, |entry| LockTable::hash(entry.id));
            held.ids.push(id);
            return TryLock::Granted { new: true };
        };
        if entry.holders().any(|own| own.owner == held.owner && covers((own.mode, own.kind), (mode, kind))) {
            return TryLock::Granted { new: false };
        }
        if !entry.admits(&wanted, usize::MAX) {
            return TryLock::Conflict;
        }
        let new = entry.add(wanted);
        if new {
            held.ids.push(id);
        }
        TryLock::Granted { new }
    }

    /// Whether another transaction would make this request wait. Nothing is taken.
    pub fn has_conflict(&self, owner: TrxId, id: LockId, mode: LockMode, kind: LockKind) -> bool {
        let hash = LockTable::hash(id);
        let shard = self.shard(hash).lock();
        let wish = (mode, kind);
        shard.find(hash, |entry| entry.id == id).is_some_and(|entry| {
            entry.holders().any(|holder| holder.owner != owner && conflicts(wish, (holder.mode, holder.kind)))
        })
    }

    /// Takes a lock, waiting for it if need be. The caller holds no latch.
    pub fn wait(
        &self,
        held: &mut Held,
        id: LockId,
        mode: LockMode,
        kind: LockKind,
        interrupt: &Interrupt,
        limit: Duration,
    ) -> Result<()> {
        assert_no_latches("waiting for a lock");
        let wanted = Holder { owner: held.owner, mode, kind };
        let waiter = held.waiter.get_or_insert_with(|| Arc::new(Waiter::new())).clone();
        if !self.stand_in_line(held, id, wanted, &waiter)? {
            return Ok(());
        }
        let begin = Instant::now();
        self.counters.waits.fetch_add(1, Ordering::Relaxed);
        self.counters.waits_now.fetch_add(1, Ordering::Relaxed);
        let outcome = waiter.wait(interrupt, limit);
        self.waits.lock().remove(&held.owner);
        let granted = outcome == Outcome::Granted || !self.leave_line(id, wanted.owner, &waiter);
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
            Outcome::Interrupted => Err(Error::Interrupted),
            _ => {
                self.counters.timeouts.fetch_add(1, Ordering::Relaxed);
                Err(Error::LockWaitTimeout)
            }
        }
    }

    /// Takes the lock or a place in its queue. False = taken. Deadlock if waiting would close a cycle.
    fn stand_in_line(&self, held: &mut Held, id: LockId, wanted: Holder, waiter: &Arc<Waiter>) -> Result<bool> {
        let mut waits = self.waits.lock();
        let hash = LockTable::hash(id);
        {
            let mut shard = self.shard(hash).lock();
            let entry = shard.find_mut(hash, |entry| entry.id == id);
            let Some(entry) = entry else {
                shard.insert_unique(hash, Entry { id, first: wanted, queue: None }, |entry| LockTable::hash(entry.id));
                held.ids.push(id);
                return Ok(false);
            };
            if entry.admits(&wanted, usize::MAX) {
                if entry.add(wanted) {
                    held.ids.push(id);
                }
                return Ok(false);
            }
            waiter.prepare();
            let queue = entry.queue.get_or_insert_default();
            queue.waiting.push_back(Waiting { wanted, waiter: waiter.clone() });
        }
        waits.insert(wanted.owner, id);
        if self.closes_cycle(&waits, wanted.owner) && self.leave_line(id, wanted.owner, waiter) {
            waits.remove(&wanted.owner);
            self.counters.deadlocks.fetch_add(1, Ordering::Relaxed);
            return Err(Error::Deadlock);
        }
        Ok(true)
    }

    /// Whether somebody that `from` waits for, directly or not, waits for `from`.
    fn closes_cycle(&self, waits: &FxHashMap<TrxId, LockId>, from: TrxId) -> bool {
        let mut seen = FxHashSet::default();
        let mut ahead = vec![from];
        while let Some(trx) = ahead.pop() {
            let Some(&id) = waits.get(&trx) else { continue };
            let hash = LockTable::hash(id);
            let shard = self.shard(hash).lock();
            let Some(entry) = shard.find(hash, |entry| entry.id == id) else { continue };
            // Not in line any more: it was granted, and is about to run.
            let Some(place) = entry.waiting().position(|other| other.wanted.owner == trx) else { continue };
            let wish = entry.waiting().nth(place).map(|own| (own.wanted.mode, own.wanted.kind)).expect("just found");
            let others = entry.holders().chain(entry.waiting().take(place).map(|other| &other.wanted));
            for other in others {
                if other.owner == trx || !conflicts(wish, (other.mode, other.kind)) {
                    continue;
                }
                if other.owner == from {
                    return true;
                }
                if seen.insert(other.owner) {
                    ahead.push(other.owner);
                }
            }
        }
        false
    }

    /// Gives up waiting. False = too late, the lock has just been granted.
    fn leave_line(&self, id: LockId, owner: TrxId, waiter: &Arc<Waiter>) -> bool {
        let hash = LockTable::hash(id);
        let mut shard = self.shard(hash).lock();
        if waiter.is_granted() {
            return false;
        }
        let entry = shard.find_mut(hash, |entry| entry.id == id).expect("a lock that is waited for exists");
        let queue = entry.queue.as_mut().expect("a lock that is waited for has a queue");
        queue.waiting.retain(|waiting| waiting.wanted.owner != owner);
        LockTable::grant_next(entry);
        true
    }

    /// Gives the lock to those in line who can have it now.
    fn grant_next(entry: &mut Entry) {
        let mut place = 0;
        while let Some(waiting) = entry.queue.as_ref().and_then(|queue| queue.waiting.get(place)) {
            let wanted = waiting.wanted;
            if entry.admits(&wanted, place) {
                let queue = entry.queue.as_mut().expect("somebody waits in it");
                let waiting = queue.waiting.remove(place).expect("just looked at");
                entry.add(wanted);
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
    pub fn make_explicit(&self, owner: TrxId, id: LockId) -> bool {
        let hash = LockTable::hash(id);
        let mut shard = self.shard(hash).lock();
        let Some(shared) = self.owners.lock().get(&owner).cloned() else { return false };
        let mut foreign = shared.foreign.lock();
        if foreign.ended {
            return false;
        }
        let holder = Holder { owner, mode: LockMode::Exclusive, kind: LockKind::Record };
        match shard.find_mut(hash, |entry| entry.id == id) {
            None => {
                shard.insert_unique(hash, Entry { id, first: holder, queue: None }, |entry| LockTable::hash(entry.id));
                foreign.ids.push(id);
            }
            Some(entry) => {
                if entry.add(holder) {
                    foreign.ids.push(id);
                }
            }
        }
        true
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
        held.owner = TrxId(0);
    }

    fn release(&self, owner: TrxId, id: LockId) {
        let hash = LockTable::hash(id);
        let mut shard = self.shard(hash).lock();
        let Ok(mut found) = shard.find_entry(hash, |entry| entry.id == id) else { return };
        let entry = found.get_mut();
        let empty = entry.remove(owner);
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
            next.waiter.wake(Outcome::Granted);
        }
        LockTable::grant_next(entry);
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
mod tests {
    use super::*;
    use crate::lock::Kill;
    use LockKind::{Gap, InsertIntention, NextKey, Record};
    use LockMode::{Exclusive, Shared};

    const LONG: Duration = Duration::from_secs(20);

    fn id(key_hash: u64) -> LockId {
        LockId { index: IndexId(1), key_hash }
    }

    fn begin(table: &LockTable, trx: u64) -> Held {
        let mut held = Held::default();
        table.begin(&mut held, TrxId(trx));
        held
    }

    fn granted(outcome: TryLock) -> bool {
        matches!(outcome, TryLock::Granted { .. })
    }

    #[test]
    fn readers_share_and_writers_do_not() {
        let table = LockTable::new();
        let (mut a, mut b) = (begin(&table, 1), begin(&table, 2));
        assert_eq!(table.try_lock(&mut a, id(7), Shared, Record), TryLock::Granted { new: true });
        assert!(granted(table.try_lock(&mut b, id(7), Shared, Record)));
        assert_eq!(table.try_lock(&mut a, id(7), Exclusive, Record), TryLock::Conflict);
        table.release_all(&mut b);
        assert_eq!(table.try_lock(&mut a, id(7), Exclusive, Record), TryLock::Granted { new: false });
        table.release_all(&mut a);
        assert_eq!(table.count(), 0);
    }

    #[test]
    fn gaps_stop_inserters_only() {
        let table = LockTable::new();
        let (mut a, mut b) = (begin(&table, 1), begin(&table, 2));
        assert!(granted(table.try_lock(&mut a, id(7), Shared, Gap)));
        assert!(granted(table.try_lock(&mut b, id(7), Exclusive, NextKey)));
        assert_eq!(table.try_lock(&mut a, id(7), Exclusive, InsertIntention), TryLock::Conflict);
        table.release_all(&mut b);
        assert!(granted(table.try_lock(&mut a, id(7), Exclusive, InsertIntention)));
    }

    #[test]
    fn a_waiter_is_wakened_in_turn() {
        let table = Arc::new(LockTable::new());
        let mut a = begin(&table, 1);
        assert!(granted(table.try_lock(&mut a, id(7), Exclusive, Record)));
        let threads: Vec<_> = (2..6)
            .map(|trx| {
                let table = table.clone();
                std::thread::spawn(move || {
                    let mut held = begin(&table, trx);
                    table.wait(&mut held, id(7), Exclusive, Record, &Interrupt::new(), LONG).unwrap();
                    table.release_all(&mut held);
                })
            })
            .collect();
        while table.counters().waits_now < 4 {
            std::thread::yield_now();
        }
        table.release_all(&mut a);
        for thread in threads {
            thread.join().unwrap();
        }
        assert_eq!((table.count(), table.counters().waits), (0, 4));
    }

    #[test]
    fn a_deadlock_is_found_when_it_closes() {
        let table = Arc::new(LockTable::new());
        let (mut a, mut b) = (begin(&table, 1), begin(&table, 2));
        assert!(granted(table.try_lock(&mut a, id(1), Exclusive, Record)));
        assert!(granted(table.try_lock(&mut b, id(2), Exclusive, Record)));
        let other = {
            let table = table.clone();
            std::thread::spawn(move || {
                table.wait(&mut a, id(2), Exclusive, Record, &Interrupt::new(), LONG).unwrap();
                table.release_all(&mut a);
            })
        };
        while table.counters().waits_now < 1 {
            std::thread::yield_now();
        }
        let outcome = table.wait(&mut b, id(1), Exclusive, Record, &Interrupt::new(), LONG);
        assert!(matches!(outcome, Err(Error::Deadlock)));
        table.release_all(&mut b);
        other.join().unwrap();
        assert_eq!((table.count(), table.counters().deadlocks), (0, 1));
    }

    #[test]
    fn waiting_ends_by_time_and_by_kill() {
        let table = Arc::new(LockTable::new());
        let (mut a, mut b) = (begin(&table, 1), begin(&table, 2));
        assert!(granted(table.try_lock(&mut a, id(1), Exclusive, Record)));
        let outcome = table.wait(&mut b, id(1), Shared, Record, &Interrupt::new(), Duration::from_millis(5));
        assert!(matches!(outcome, Err(Error::LockWaitTimeout)));
        let interrupt = Arc::new(Interrupt::new());
        let waiting = {
            let (table, interrupt) = (table.clone(), interrupt.clone());
            std::thread::spawn(move || {
                let outcome = table.wait(&mut b, id(1), Shared, Record, &interrupt, LONG);
                table.release_all(&mut b);
                outcome
            })
        };
        while table.counters().waits_now < 1 {
            std::thread::yield_now();
        }
        interrupt.set(Kill::Query);
        assert!(matches!(waiting.join().unwrap(), Err(Error::Interrupted)));
        interrupt.clear();
        assert!(!interrupt.is_set());
        table.release_all(&mut a);
        assert_eq!(table.count(), 0);
    }

    #[test]
    fn an_implicit_lock_becomes_explicit_while_its_owner_lives() {
        let table = LockTable::new();
        let (mut a, mut b) = (begin(&table, 1), begin(&table, 2));
        assert!(table.make_explicit(TrxId(1), id(9)));
        assert_eq!(table.try_lock(&mut b, id(9), Shared, Record), TryLock::Conflict);
        table.release_all(&mut a);
        assert!(granted(table.try_lock(&mut b, id(9), Shared, Record)));
        assert!(!table.make_explicit(TrxId(1), id(9)));
    }
}
