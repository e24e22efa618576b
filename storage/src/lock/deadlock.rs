//! Deadlocks: finding a cycle of those who wait, and whom to send away.
//!
//! Whoever begins to wait looks from himself along "waits for": to all who hold what he wants or stand before him in line,
//! and from those who wait on. If that leads back to him, the cycle is broken at once: there is no detector that comes by
//! later. The victim is the member whose rollback is cheapest (changes made and locks held), and of equals the one who
//! closed the cycle, for he has not slept yet.

use std::time::Duration;

use format::ids::TrxId;
use rustc_hash::{FxHashMap, FxHashSet};

use super::list::in_the_way;
use super::table::Wait;
use super::{LockRequest, LockTable, OwnerIdentity};

/// A cycle that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeadlockReport {
    /// In the order of waiting: each waits for the next, the last for the first.
    pub members: Vec<DeadlockMember>,
    pub victim: TrxId,
}

/// One transaction of a cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeadlockMember {
    pub trx: TrxId,
    pub identity: OwnerIdentity,
    /// How long it has had its id.
    pub age: Duration,
    pub changes: u64,
    pub wanted: LockRequest,
    /// What the one before it in the cycle waits for: held, or wanted earlier.
    pub holds: LockRequest,
    /// Changes made and locks held.
    pub weight: u64,
}

impl LockTable {
    /// A cycle of waiting transactions through `from`, if there is one.
    pub(super) fn find_cycle(&self, waits: &FxHashMap<TrxId, Wait>, from: TrxId) -> Option<DeadlockReport> {
        let mut seen = FxHashSet::default();
        // From whom each was reached: the way back is the cycle.
        let mut reached_from: FxHashMap<TrxId, TrxId> = FxHashMap::default();
        let mut ahead = vec![from];
        while let Some(trx) = ahead.pop() {
            let Some((_, others)) = self.waits_for(waits, trx) else { continue };
            for other in others {
                if other == from {
                    return Some(self.report(waits, &reached_from, trx));
                }
                if seen.insert(other) {
                    reached_from.insert(other, trx);
                    ahead.push(other);
                }
            }
        }
        None
    }

    /// What a transaction waits for, and who is in its way. `None` if it does not wait (any more).
    fn waits_for(&self, waits: &FxHashMap<TrxId, Wait>, trx: TrxId) -> Option<(LockRequest, Vec<TrxId>)> {
        let id = waits.get(&trx)?.wanted.id;
        self.with(id, |entry| {
            let entry = entry?;
            // Not in line any more: it was granted, and is about to run.
            let (place, wanted) =
                entry.waiting().map(|waiting| waiting.wanted).enumerate().find(|(_, wanted)| wanted.owner == trx)?;
            let others = in_the_way(entry, place, &wanted).map(|other| other.owner).collect();
            Some((wanted.request(id), others))
        })
    }

    fn report(
        &self,
        waits: &FxHashMap<TrxId, Wait>,
        reached_from: &FxHashMap<TrxId, TrxId>,
        last: TrxId,
    ) -> DeadlockReport {
        let mut members: Vec<DeadlockMember> = Vec::new();
        let mut at = Some(last);
        while let Some(trx) = at {
            if let (Some(wait), Some((wanted, _))) = (waits.get(&trx), self.waits_for(waits, trx)) {
                let (identity, age, changes) = self.identity(trx).unwrap_or_default();
                let weight = wait.weight;
                members.push(DeadlockMember { trx, identity, age, changes, wanted, holds: wanted, weight });
            }
            at = reached_from.get(&trx).copied();
        }
        // Walked from the last back to the one who closed the cycle.
        members.reverse();
        for place in 0..members.len() {
            let before = members[(place + members.len() - 1) % members.len()].wanted;
            members[place].holds = self.held_by(members[place].trx, before);
        }
        let victim = members.iter().min_by_key(|member| member.weight).map_or(last, |member| member.trx);
        DeadlockReport { members, victim }
    }

    /// What a transaction has, or wants earlier, of the lock that another wants.
    fn held_by(&self, trx: TrxId, wanted: LockRequest) -> LockRequest {
        self.with(wanted.id, |entry| {
            let of = |entry: &super::table::Entry| {
                let mut all = entry.holders().chain(entry.waiting().map(|waiting| &waiting.wanted));
                all.find(|holder| holder.owner == trx).map(|holder| holder.request(wanted.id))
            };
            entry.and_then(of).unwrap_or(wanted)
        })
    }
}
