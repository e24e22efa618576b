//! Deadlocks: finding a cycle of waiting transactions, and choosing the victim.
//!
//! A transaction that begins to wait searches from itself along "waits for": to all that hold what it wants or are
//! before it in the queue, and on to what those wait for. If that leads back to it, the cycle is broken at once: there
//! is no detector thread. The victim is the member whose rollback is cheapest (changes made and locks held), and among
//! equals the one that closed the cycle, because it has not slept yet.
//!
//! The search takes at most one step for each holder and waiter of the locks it reaches, however many wait for the same
//! lock: what blocks one waiter blocks all behind it that want the same, so each part of a queue is searched once for
//! each manner of request. The table does not start a search for a transaction that no other waits for.
//!
//! A transaction that commits in a given order waits for those before it, too ([`super::order`]). A cycle over such a
//! wait is broken by the one that commits last of those that wait so in it.

use std::time::Duration;

use format::ids::TrxId;
use rustc_hash::{FxHashMap, FxHashSet};

use super::entry::Holder;
use super::owner::{OwnerIdentity, Owners};
use super::shards::Shards;
use super::waits::Waits;
use super::{LockId, LockKind, LockMode, LockRequest};

/// A cycle that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeadlockReport {
    /// In wait order: each waits for the next, the last for the first.
    pub members: Vec<DeadlockMember>,
    pub victim: TrxId,
}

/// One transaction of a cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeadlockMember {
    pub trx: TrxId,
    pub identity: OwnerIdentity,
    /// The time since it got its id.
    pub age: Duration,
    pub changes: u64,
    pub wanted: LockRequest,
    /// What the previous member of the cycle waits for: held by this one, or requested earlier.
    pub holds: LockRequest,
    /// Changes made and locks held.
    pub weight: u64,
}

/// The holders and the queue of one lock, as they were when the search first reached it.
struct Line {
    holders: Vec<Holder>,
    /// The same by owner. These overtake the queue if they want more of the lock.
    holding: FxHashSet<TrxId>,
    waiting: Vec<Holder>,
    places: FxHashMap<TrxId, usize>,
    /// For each manner of request: how far the queue was searched for conflicts.
    searched: [Option<usize>; MANNERS],
}

const MANNERS: usize = 3;

/// Requests of one manner conflict with the same others.
fn manner(wanted: &Holder) -> usize {
    match (wanted.kind, wanted.mode) {
        (LockKind::InsertIntention, _) => 0,
        (_, LockMode::Shared) => 1,
        (_, LockMode::Exclusive) => 2,
    }
}

impl Line {
    fn of(shards: &Shards, id: LockId) -> Line {
        let (holders, waiting) = shards.with(id, |entry| match entry {
            None => (Vec::new(), Vec::new()),
            Some(entry) => {
                (entry.holders().copied().collect(), entry.waiting().map(|waiting| waiting.wanted).collect::<Vec<_>>())
            }
        });
        let places =
            waiting.iter().enumerate().map(|(place, wanted): (usize, &Holder)| (wanted.owner, place)).collect();
        let holding = holders.iter().map(|holder| holder.owner).collect();
        Line { holders, holding, waiting, places, searched: [None; MANNERS] }
    }
}

/// The path from the transaction that began to wait back to itself.
pub(super) struct Cycle {
    /// Without the end, which is the beginning.
    members: Vec<TrxId>,
    /// The member that must be rolled back because another that commits before it waits for it.
    pub overtaken: Option<TrxId>,
}

/// A cycle of waiting transactions through `from`, if there is one. Adds the number of holders and waiters examined to
/// `steps`.
pub(super) fn find_cycle(shards: &Shards, waits: &Waits, from: TrxId, steps: &mut u64) -> Option<Cycle> {
    let mut lines: FxHashMap<LockId, Line> = FxHashMap::default();
    let mut seen = FxHashSet::default();
    // The predecessor of each transaction reached: following it back gives the cycle.
    let mut reached_from: FxHashMap<TrxId, Step> = FxHashMap::default();
    let mut ahead = vec![from];
    while let Some(trx) = ahead.pop() {
        for earlier in waits.before(trx) {
            let step = Step { from: trx, by_order: true };
            if earlier == from {
                return Some(cycle(waits, &reached_from, step));
            }
            if seen.insert(earlier) {
                reached_from.insert(earlier, step);
                ahead.push(earlier);
            }
        }
        let Some(wait) = waits.get(trx) else { continue };
        let line = lines.entry(wait.wanted.id).or_insert_with(|| {
            let line = Line::of(shards, wait.wanted.id);
            *steps += (line.holders.len() + line.waiting.len()) as u64;
            line
        });
        // Not in the queue any more: the lock was granted, and the transaction is about to run.
        let Some(&place) = line.places.get(&trx) else { continue };
        let wanted = line.waiting[place];
        let place = if line.holding.contains(&trx) { 0 } else { place };
        let searched = &mut line.searched[manner(&wanted)];
        let (holders, begin) = match *searched {
            None => (&line.holders[..], 0),
            Some(searched) => (&[][..], searched.min(place)),
        };
        // This search skips what `from` itself holds or wants, which would close a cycle from any other transaction: so
        // its own search does not count as one for the others.
        if trx != from {
            *searched = Some(searched.map_or(place, |searched| searched.max(place)));
        }
        let conflicting = |other: &&Holder| other.owner != trx && wanted.conflicts_with(other);
        *steps += (holders.len() + place - begin) as u64;
        for other in holders.iter().chain(&line.waiting[begin..place]).filter(conflicting) {
            let step = Step { from: trx, by_order: false };
            if other.owner == from {
                return Some(cycle(waits, &reached_from, step));
            }
            if seen.insert(other.owner) {
                reached_from.insert(other.owner, step);
                ahead.push(other.owner);
            }
        }
    }
    None
}

/// How the search came to a transaction.
#[derive(Clone, Copy)]
struct Step {
    /// The one that waits for it.
    from: TrxId,
    /// For its commit, and not for a lock of it.
    by_order: bool,
}

/// The way back from the step that closed the cycle.
fn cycle(waits: &Waits, reached_from: &FxHashMap<TrxId, Step>, last: Step) -> Cycle {
    let way: Vec<Step> = std::iter::successors(Some(last), |step| reached_from.get(&step.from).copied()).collect();
    // The last of several has another's wait for a lock before it: to roll back one between would leave the cycle.
    let by_order = way.iter().filter(|step| step.by_order).map(|step| step.from);
    let overtaken = by_order.max_by_key(|trx| waits.place(*trx));
    Cycle { members: way.iter().rev().map(|step| step.from).collect(), overtaken }
}

/// The members of a cycle of waits for locks, and which one is the victim.
pub(super) fn report(shards: &Shards, waits: &Waits, owners: &Owners, cycle: &Cycle) -> DeadlockReport {
    let cycle = &cycle.members;
    let member = |trx: &TrxId| {
        let wait = waits.get(*trx)?;
        let (identity, age, changes) = owners.identity(*trx).unwrap_or_default();
        let wanted = wait.wanted;
        Some(DeadlockMember { trx: *trx, identity, age, changes, wanted, holds: wanted, weight: wait.weight })
    };
    let mut members: Vec<DeadlockMember> = cycle.iter().filter_map(member).collect();
    for place in 0..members.len() {
        let before = members[(place + members.len() - 1) % members.len()].wanted;
        members[place].holds = held_by(shards, members[place].trx, before);
    }
    let cheapest = members.iter().min_by_key(|member| member.weight);
    let victim = cheapest.map_or(cycle[0], |member| member.trx);
    DeadlockReport { members, victim }
}

/// What a transaction holds, or requested earlier, of the lock that another wants.
fn held_by(shards: &Shards, trx: TrxId, wanted: LockRequest) -> LockRequest {
    shards.with(wanted.id, |entry| {
        let mut all =
            entry.iter().flat_map(|entry| entry.holders().chain(entry.waiting().map(|waiting| &waiting.wanted)));
        all.find(|holder| holder.owner == trx).map_or(wanted, |holder| holder.request(wanted.id))
    })
}
