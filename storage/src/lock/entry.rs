//! One record lock: its holders and its queue of waiters.
//!
//! ```text
//! +-------------------------------+
//! | id | first holder | queue ----+--> more holders, waiters (FIFO)
//! +-------------------------------+
//! ```
//!
//! The queue exists only if more than one transaction holds or wants the lock.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use format::ids::{PageNo, TrxId};

use super::owner::Owner;
use super::waiter::{Outcome, Waiter};
use super::{LockId, LockKind, LockMode, LockRequest, conflicts, covers};

/// A lock as one transaction has it or wants it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Holder {
    pub owner: TrxId,
    pub mode: LockMode,
    pub kind: LockKind,
    /// The record's page when the record was locked, for views that show its key; the record may have moved since.
    pub page: PageNo,
}

impl Holder {
    pub fn new(owner: TrxId, request: &LockRequest) -> Holder {
        Holder { owner, mode: request.mode, kind: request.kind, page: request.page }
    }

    /// The lock `id`, as this holder has or wants it.
    pub fn request(&self, id: LockId) -> LockRequest {
        LockRequest { id, mode: self.mode, kind: self.kind, page: self.page }
    }

    pub fn conflicts_with(&self, held: &Holder) -> bool {
        conflicts((self.mode, self.kind), (held.mode, held.kind))
    }

    fn is_exclusive_record(&self) -> bool {
        self.mode == LockMode::Exclusive && self.kind.has_record()
    }
}

/// A waiter.
#[derive(Debug)]
pub(super) struct Waiting {
    pub wanted: Holder,
    pub waiter: Arc<Waiter>,
    /// Used to tell the waiter, once it holds the lock, that others wait for it.
    pub shared: Arc<Owner>,
}

#[derive(Debug, Default)]
struct Queue {
    /// Holders beside the first.
    holders: Vec<Holder>,
    waiting: VecDeque<Waiting>,
}

/// See the module header.
#[derive(Debug)]
pub(super) struct Entry {
    pub id: LockId,
    first: Holder,
    queue: Option<Box<Queue>>,
}

impl Entry {
    /// A lock that no other transaction holds or wants.
    pub fn new(id: LockId, first: Holder, gaps: &AtomicU64) -> Entry {
        count_gap(gaps, &first);
        Entry { id, first, queue: None }
    }

    pub fn holders(&self) -> impl Iterator<Item = &Holder> {
        std::iter::once(&self.first).chain(self.queue.iter().flat_map(|queue| queue.holders.iter()))
    }

    pub fn waiting(&self) -> impl Iterator<Item = &Waiting> {
        self.queue.iter().flat_map(|queue| queue.waiting.iter())
    }

    pub fn has_line(&self) -> bool {
        self.queue.as_ref().is_some_and(|queue| !queue.waiting.is_empty())
    }

    /// Holders beside the first.
    pub fn more_holders(&self) -> usize {
        self.queue.as_ref().map_or(0, |queue| queue.holders.len())
    }

    /// Whether the owner holds anything of it.
    pub fn is_held_by(&self, owner: TrxId) -> bool {
        self.holders().any(|holder| holder.owner == owner)
    }

    /// Whether the owner holds all of a request already.
    pub fn covers(&self, wanted: &Holder) -> bool {
        let mut own = self.holders().filter(|holder| holder.owner == wanted.owner);
        own.any(|own| covers((own.mode, own.kind), (wanted.mode, wanted.kind)))
    }

    /// Whether another transaction holds a lock that conflicts with the request.
    pub fn is_held_against(&self, wanted: &Holder) -> bool {
        self.holders().any(|holder| holder.owner != wanted.owner && wanted.conflicts_with(holder))
    }

    /// Whether a new request can be granted with `ahead` waiters in front of it.
    pub fn admits(&self, wanted: &Holder, ahead: usize) -> bool {
        if self.is_held_against(wanted) {
            return false;
        }
        self.overtakes(wanted) || !self.waiting().take(ahead).any(|other| wanted.conflicts_with(&other.wanted))
    }

    /// A holder may strengthen its lock before the waiters get it: they wait for it anyway.
    fn overtakes(&self, wanted: &Holder) -> bool {
        self.is_held_by(wanted.owner)
    }

    /// Holders and waiters that conflict with the waiter at `place` of the queue.
    pub fn in_the_way<'e>(&'e self, place: usize, wanted: &'e Holder) -> impl Iterator<Item = &'e Holder> {
        let ahead = self.waiting().take(if self.overtakes(wanted) { 0 } else { place }).map(|waiting| &waiting.wanted);
        self.holders().chain(ahead).filter(|other| other.owner != wanted.owner && wanted.conflicts_with(other))
    }

    /// Adds a holder. True if its owner held nothing of this lock before.
    pub fn add(&mut self, holder: Holder, gaps: &AtomicU64) -> bool {
        let known = self.is_held_by(holder.owner);
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

    /// Appends a waiter to the queue.
    pub fn stand_in_line(&mut self, waiting: Waiting) {
        self.queue.get_or_insert_default().waiting.push_back(waiting);
    }

    /// Removes a waiter from the queue.
    pub fn leave_line(&mut self, owner: TrxId, gaps: &AtomicU64) {
        if let Some(queue) = &mut self.queue {
            queue.waiting.retain(|waiting| waiting.wanted.owner != owner);
            self.grant_next(gaps);
        }
    }

    /// Removes the owner from the holders, and grants the lock to the waiters that can have it now. True if the lock
    /// has neither holders nor waiters any more: the entry is void.
    pub fn release(&mut self, owner: TrxId, gaps: &AtomicU64) -> bool {
        let gone = self.holders().filter(|holder| holder.owner == owner && holder.kind.has_gap()).count();
        if gone > 0 {
            gaps.fetch_sub(gone as u64, Ordering::Relaxed);
        }
        let Some(queue) = &mut self.queue else { return self.first.owner == owner };
        queue.holders.retain(|holder| holder.owner != owner);
        if self.first.owner == owner {
            if let Some(other) = queue.holders.pop() {
                self.first = other;
            } else if let Some(next) = queue.waiting.pop_front() {
                // There is no holder left: the first waiter becomes the first holder.
                self.first = next.wanted;
                count_gap(gaps, &next.wanted);
                grant(&next, !queue.waiting.is_empty());
            } else {
                return true;
            }
        }
        self.grant_next(gaps);
        false
    }

    /// Grants the lock to the waiters that can have it now.
    pub fn grant_next(&mut self, gaps: &AtomicU64) {
        // While one transaction holds the record exclusively no other gets it, so most of a long queue need no close
        // look.
        let alone = self.holders().find(|holder| holder.is_exclusive_record()).map(|holder| holder.owner);
        let mut place = 0;
        while let Some(queue) = &mut self.queue {
            let waits_on =
                |wanted: &Holder| alone.is_some_and(|alone| wanted.kind.has_record() && wanted.owner != alone);
            let rest = queue.waiting.iter().skip(place);
            place += rest.take_while(|waiting| waits_on(&waiting.wanted)).count();
            let Some(waiting) = queue.waiting.get(place) else { break };
            let wanted = waiting.wanted;
            if !self.admits(&wanted, place) {
                place += 1;
                continue;
            }
            let queue = self.queue.as_mut().expect("a waiter stands in it");
            let waiting = queue.waiting.remove(place).expect("just looked at");
            let others = !queue.waiting.is_empty();
            self.add(wanted, gaps);
            grant(&waiting, others);
        }
        if self.queue.as_ref().is_some_and(|queue| queue.holders.is_empty() && queue.waiting.is_empty()) {
            self.queue = None;
        }
    }
}

/// Tells a waiter that it holds the lock now.
fn grant(waiting: &Waiting, others_wait: bool) {
    if others_wait {
        // Before it wakes: when it waits again, it has to look for a cycle.
        waiting.shared.note_awaited();
    }
    waiting.waiter.wake(Outcome::Granted);
}

/// Counts a new holder if it locks a gap. The shard is latched; a thread that relies on the count has the leaf latched,
/// too.
#[inline]
fn count_gap(gaps: &AtomicU64, holder: &Holder) {
    if holder.kind.has_gap() {
        gaps.fetch_add(1, Ordering::Relaxed);
    }
}
