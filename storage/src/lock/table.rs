//! The table of record locks: taking, waiting, granting, releasing.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use format::ids::{IndexId, PageNo, TrxId};

use super::deadlock::{self, DeadlockReport};
use super::ending::Endings;
use super::entry::{Holder, Waiting};
use super::interrupt::Interrupt;
use super::owner::{Held, OwnerInfo, Owners};
use super::shards::{PARTS, Shards};
use super::waiter::{Outcome, Waiter};
use super::waits::{Wait, Waits};
use super::{LockId, LockKind, LockMode, LockRequest};
use crate::error::{Error, Result};
use crate::gate::Health;
use crate::sync::{Mutex, Rank, assert_may_wait};

/// All record locks of an instance.
pub struct LockTable {
    shards: Shards,
    /// Transactions that may hold locks, to make the implicit ones of others explicit.
    owners: Owners,
    /// A transaction that begins to wait latches this, and searches for a cycle if it may close one.
    waits: Mutex<Waits>,
    counters: Counters,
    last_deadlock: Mutex<Option<DeadlockReport>>,
    detects_deadlocks: AtomicBool,
    /// Large transactions that have ended, whose entries are being removed.
    endings: Endings,
    /// A transaction with more locks than this is large.
    at_once: AtomicUsize,
    health: Arc<Health>,
}

/// Whether a lock could be granted at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum TryLock {
    /// It is held now. `new` = it was not before.
    Granted { new: bool },
    /// Release all latches and [`LockTable::wait`].
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
    /// Holders and waiters that deadlock searches have examined.
    deadlock_steps: AtomicU64,
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
    pub deadlock_steps: u64,
}

#[cfg(test)]
impl Default for LockTable {
    fn default() -> LockTable {
        LockTable::new(usize::MAX, Arc::default())
    }
}

impl LockTable {
    /// A table whose locks may take at most this much memory. Once the instance is poisoned, every wait ends: holders may
    /// be unable to end.
    pub fn new(limit_bytes: usize, health: Arc<Health>) -> LockTable {
        LockTable {
            shards: Shards::new(limit_bytes),
            owners: Owners::new(),
            waits: Mutex::new(Rank::LockWait, Waits::default()),
            counters: Counters::default(),
            last_deadlock: Mutex::new(Rank::Leaf, None),
            detects_deadlocks: AtomicBool::new(true),
            endings: Endings::new(),
            at_once: AtomicUsize::new(usize::MAX),
            health,
        }
    }

    pub(super) fn shards(&self) -> &Shards {
        &self.shards
    }

    /// A transaction has been given an id: from now on it may hold locks.
    pub fn begin(&self, held: &mut Held, owner: TrxId) {
        self.owners.begin(held, owner);
        if let Some(place) = &held.place {
            self.waits.lock().join(owner, place);
            // Those behind it wait for it.
            held.shared.iter().for_each(|shared| shared.note_awaited());
        }
    }

    /// All transactions that may hold locks, oldest first.
    pub fn owners(&self) -> Vec<OwnerInfo> {
        self.owners.list(&self.waits)
    }

    /// Whether a transaction may have locked a gap of the index. The caller has latched the leaf that it is going to
    /// change, so every gap on it that is locked now was locked before.
    #[inline]
    pub fn has_gaps(&self, index: IndexId) -> bool {
        self.shards.has_gaps(index)
    }

    /// A transaction that ends with more locks than this leaves them to [`LockTable::release_step`].
    pub fn release_at_once(&self, locks: usize) {
        self.at_once.store(locks, Ordering::Relaxed);
    }

    /// Tries again while the memory is full of what ended transactions held.
    #[inline]
    fn with_room<R>(&self, mut attempt: impl FnMut() -> Result<R>) -> Result<R> {
        let outcome = attempt();
        if matches!(outcome, Err(Error::LockTableFull)) { self.make_room(outcome, attempt) } else { outcome }
    }

    /// Goes through all shards, wherever other threads that do so are.
    #[cold]
    fn make_room<R>(&self, mut outcome: Result<R>, mut attempt: impl FnMut() -> Result<R>) -> Result<R> {
        let first = self.shards.next_to_reclaim();
        for part in first..first + PARTS {
            if !matches!(outcome, Err(Error::LockTableFull)) || !self.shards.reclaim(part) {
                break;
            }
            outcome = attempt();
        }
        outcome
    }

    /// Takes a lock if it can be granted at once. The caller may hold latches.
    pub fn try_lock(&self, held: &mut Held, request: LockRequest) -> Result<TryLock> {
        self.with_room(|| self.try_lock_now(held, request))
    }

    #[inline]
    fn try_lock_now(&self, held: &mut Held, request: LockRequest) -> Result<TryLock> {
        let shared = held.shared.as_ref().expect("a transaction has an id before it locks");
        let wanted = Holder::new(held.owner, &request);
        let mut latched = self.shards.latch(request.id);
        let Some(entry) = latched.find() else {
            latched.insert(wanted, false)?;
            held.ids.push(request.id);
            return Ok(TryLock::Granted { new: true });
        };
        if entry.covers(&wanted) {
            return Ok(TryLock::Granted { new: false });
        }
        if !entry.admits(&wanted, usize::MAX) {
            return Ok(TryLock::Conflict);
        }
        if entry.has_line() {
            shared.note_awaited();
        }
        let new = latched.add(wanted, false)?;
        if new {
            held.ids.push(request.id);
        }
        Ok(TryLock::Granted { new })
    }

    /// Whether another transaction would make this request wait. Nothing is taken.
    pub fn has_conflict(&self, owner: TrxId, request: LockRequest) -> bool {
        let wanted = Holder::new(owner, &request);
        self.shards.with(request.id, |entry| entry.is_some_and(|entry| entry.is_held_against(&wanted)))
    }

    /// Whether any transaction holds anything of a lock, or waits for it.
    pub fn is_used(&self, id: LockId) -> bool {
        self.shards.with(id, |entry| entry.is_some())
    }

    /// Takes a lock, waiting for it if necessary. `weight` is what rolling the transaction back would cost. The caller
    /// holds no latch.
    pub fn wait(
        &self,
        held: &mut Held,
        request: LockRequest,
        weight: u64,
        interrupt: &Interrupt,
        limit: Duration,
    ) -> Result<()> {
        assert_may_wait("waiting for a lock");
        let id = request.id;
        let waiter = held.waiter.get_or_insert_with(|| Arc::new(Waiter::new())).clone();
        if !self.with_room(|| self.stand_in_line(held, request, weight, &waiter))? {
            return Ok(());
        }
        let begin = Instant::now();
        self.counters.waits.fetch_add(1, Ordering::Relaxed);
        self.counters.waits_now.fetch_add(1, Ordering::Relaxed);
        let outcome = interrupt.wait_at(&waiter, limit, &self.health);
        self.waits.lock().remove(held.owner);
        let granted =
            outcome != Outcome::Victim && (outcome == Outcome::Granted || !self.leave_line(id, held.owner, &waiter));
        let waited_us = begin.elapsed().as_micros() as u64;
        self.counters.waits_now.fetch_sub(1, Ordering::Relaxed);
        self.counters.wait_us.fetch_add(waited_us, Ordering::Relaxed);
        self.counters.wait_us_max.fetch_max(waited_us, Ordering::Relaxed);
        if granted {
            // The id may be listed twice if an older, weaker lock was strengthened; releasing twice is harmless.
            held.ids.push(id);
            return Ok(());
        }
        match outcome {
            Outcome::Victim => Err(Error::Deadlock),
            // Poisoning ends a wait like an interrupt.
            Outcome::Interrupted => self.health.check().and(Err(Error::Interrupted)),
            _ => {
                self.counters.timeouts.fetch_add(1, Ordering::Relaxed);
                Err(Error::LockWaitTimeout)
            }
        }
    }

    /// Takes the lock or joins its queue. False = taken. Deadlock if this closes a cycle in which this transaction is
    /// the cheapest.
    fn stand_in_line(&self, held: &mut Held, request: LockRequest, weight: u64, waiter: &Arc<Waiter>) -> Result<bool> {
        let shared = held.shared.as_ref().expect("a transaction has an id before it locks");
        let wanted = Holder::new(held.owner, &request);
        let mut waits = self.waits.lock();
        if held.place.is_some() && waits.place(held.owner).is_none() {
            return Err(Error::Deadlock); // It was overtaken.
        }
        {
            let mut latched = self.shards.latch(request.id);
            let Some(entry) = latched.find() else {
                latched.insert(wanted, false)?;
                held.ids.push(request.id);
                return Ok(false);
            };
            if entry.admits(&wanted, usize::MAX) {
                if entry.has_line() {
                    shared.note_awaited();
                }
                if latched.add(wanted, false)? {
                    held.ids.push(request.id);
                }
                return Ok(false);
            }
            waiter.prepare();
            if !entry.has_line() {
                // Transactions that become holders while there is a queue are told then.
                self.owners.note_awaited(entry.holders().map(|holder| holder.owner));
            }
            entry.stand_in_line(Waiting { wanted, waiter: waiter.clone(), shared: shared.clone() });
        }
        waits.insert(held.owner, Wait { wanted: request, since: Instant::now(), weight, waiter: waiter.clone() });
        // Every cycle ends at this transaction, and so at one that waits for what it holds.
        let closes = shared.is_awaited() && self.break_cycles(&mut waits, held.owner);
        if closes { Err(Error::Deadlock) } else { Ok(true) }
    }

    /// Breaks the cycles of waiting transactions through the given one. True if the victim is that transaction itself,
    /// which is then not woken.
    fn break_cycles(&self, waits: &mut Waits, through: TrxId) -> bool {
        let mut steps = 0;
        let mut is_victim = false;
        // Each iteration breaks one cycle; there may be several.
        while !is_victim
            && (self.detects_deadlocks.load(Ordering::Relaxed) || waits.has_order())
            && let Some(cycle) = deadlock::find_cycle(&self.shards, waits, through, &mut steps)
        {
            if let Some(late) = cycle.overtaken {
                is_victim = self.overtake(waits, late, through);
                continue;
            }
            if !self.detects_deadlocks.load(Ordering::Relaxed) {
                break;
            }
            let report = deadlock::report(&self.shards, waits, &self.owners, &cycle);
            let victim = report.victim;
            let Some(wait) = waits.remove(victim) else { break };
            if self.leave_line(wait.wanted.id, victim, &wait.waiter) {
                self.counters.deadlocks.fetch_add(1, Ordering::Relaxed);
                *self.last_deadlock.lock() = Some(report);
                is_victim = victim == through;
                if !is_victim {
                    wait.waiter.wake(Outcome::Victim);
                }
            }
        }
        self.counters.deadlock_steps.fetch_add(steps, Ordering::Relaxed);
        is_victim
    }

    /// Ends the wait of a transaction for its turn to commit, and for a lock, if it waits for one. True: it is the given
    /// one, which is not woken.
    fn overtake(&self, waits: &mut Waits, late: TrxId, through: TrxId) -> bool {
        let Some(place) = waits.leave(late) else { return false };
        let mut is_through = false;
        if let Some(wait) = waits.remove(late)
            && self.leave_line(wait.wanted.id, late, &wait.waiter)
        {
            is_through = late == through;
            if !is_through {
                wait.waiter.wake(Outcome::Victim);
            }
        }
        place.overtaken();
        is_through
    }

    /// Without detection the members of a cycle wait until their lock wait timeout.
    pub fn set_deadlock_detect(&self, detects: bool) {
        self.detects_deadlocks.store(detects, Ordering::Relaxed);
    }

    /// The last cycle that was found.
    pub fn last_deadlock(&self) -> Option<DeadlockReport> {
        self.last_deadlock.lock().clone()
    }

    /// Gives up waiting. False = too late, the lock has just been granted.
    fn leave_line(&self, id: LockId, owner: TrxId, waiter: &Waiter) -> bool {
        let mut latched = self.shards.latch(id);
        if waiter.is_granted() {
            return false;
        }
        // A victim has left the queue already.
        let gaps = self.shards.gaps(id.index);
        latched.change(|entry| entry.leave_line(owner, gaps));
        true
    }

    /// Makes the implicit exclusive lock of a record's writer explicit, so that another transaction can wait for it.
    /// False = the writer has ended; look at the record again.
    pub fn make_explicit(&self, owner: TrxId, id: LockId, page: PageNo) -> Result<bool> {
        let holder = Holder { owner, mode: LockMode::Exclusive, kind: LockKind::Record, page };
        self.with_room(|| self.add_for(holder, id, false))
    }

    /// A record is removed, and its gap merges into the next one: each holder of any part of the lock gets the gap
    /// there.
    pub fn inherit_all(&self, from: LockId, to: (LockId, PageNo)) {
        self.inherit(from, to, |holder| holder.kind != LockKind::InsertIntention);
    }

    /// A record was inserted into the gap before `from`: the holders of that gap get both halves locked.
    pub fn inherit_gaps(&self, from: LockId, to: (LockId, PageNo)) {
        self.inherit(from, to, |holder| holder.kind.has_gap());
    }

    fn inherit(&self, from: LockId, (to, page): (LockId, PageNo), which: impl Fn(&Holder) -> bool) {
        let heirs: Vec<Holder> = self.shards.with(from, |entry| {
            entry.map_or_else(Vec::new, |entry| entry.holders().filter(|holder| which(holder)).copied().collect())
        });
        for heir in heirs {
            // The page is being changed, and that change can no longer fail. An heir that has ended meanwhile needs
            // nothing.
            let _ = self.add_for(Holder { kind: LockKind::Gap, page, ..heir }, to, true);
        }
    }

    /// Adds a holder on behalf of a transaction that may belong to another thread. False = it has ended. `forced`:
    /// regardless of the memory limit.
    fn add_for(&self, holder: Holder, id: LockId, forced: bool) -> Result<bool> {
        let mut latched = self.shards.latch(id);
        let Some(shared) = self.owners.get(holder.owner) else { return Ok(false) };
        let mut foreign = shared.foreign.lock();
        if foreign.ended {
            return Ok(false);
        }
        let mut has_line = false;
        match latched.find() {
            None => {
                latched.insert(holder, forced)?;
                foreign.ids.push(id);
            }
            Some(entry) => {
                has_line = entry.has_line();
                if latched.add(holder, forced)? {
                    foreign.ids.push(id);
                }
            }
        }
        drop(foreign);
        if has_line {
            shared.note_awaited();
            // If the holder waits for this lock, it is in front of the others now, and may be granted the rest.
            let gaps = self.shards.gaps(id.index);
            latched.change(|entry| entry.grant_next(gaps));
        }
        drop(latched);
        if has_line {
            self.close_cycles(holder.owner);
        }
        Ok(true)
    }

    /// A lock was granted to a transaction that may itself be waiting, while others queue for it: they wait for that
    /// transaction now, and none of them notices. So this searches for cycles.
    fn close_cycles(&self, owner: TrxId) {
        let mut waits = self.waits.lock();
        let Some(waiter) = waits.get(owner).map(|wait| wait.waiter.clone()) else { return };
        if self.break_cycles(&mut waits, owner) {
            waiter.wake(Outcome::Victim);
        }
    }

    /// Releases one lock before the end of the transaction.
    pub fn unlock(&self, held: &mut Held, id: LockId) {
        if let Some(at) = held.ids.iter().rposition(|other| *other == id) {
            held.ids.swap_remove(at);
            self.shards.latch(id).release(held.owner);
        }
    }

    /// Releases all locks of a transaction that ends. Those of a large one are removed later.
    pub fn release_all(&self, held: &mut Held) {
        let Some(shared) = held.shared.take() else { return };
        if held.place.take().is_some() {
            self.waits.lock().leave(held.owner);
        }
        let foreign = self.owners.end(held.owner, &shared);
        let is_large = held.ids.len() + foreign.len() > self.at_once.load(Ordering::Relaxed);
        if is_large {
            let mut ids = std::mem::take(&mut held.ids);
            ids.extend(foreign);
            self.endings.add(&self.shards, &self.waits, held.owner, ids);
        } else {
            for id in held.ids.drain(..).chain(foreign) {
                self.shards.latch(id).release(held.owner);
            }
        }
        held.retire(shared);
        held.owner = TrxId(0);
    }

    /// Removes a bounded part of what large transactions held that have ended. True if there was any.
    pub fn release_step(&self) -> bool {
        self.endings.step(&self.shards)
    }

    /// The number of locks.
    pub fn count(&self) -> u64 {
        self.shards.count()
    }

    /// The memory that all locks take.
    pub fn bytes(&self) -> usize {
        self.shards.bytes()
    }

    /// Whether any lock exists in an index. For assertions and tests; looks at every lock.
    pub fn is_locked(&self, index: IndexId) -> bool {
        let mut locked = false;
        self.shards.each_entry(|entry| locked |= entry.id.index == index);
        locked
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
            deadlock_steps: read(&self.counters.deadlock_steps),
        }
    }
}

#[cfg(test)]
mod tests;
