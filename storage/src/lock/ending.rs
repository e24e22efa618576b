//! Releasing the locks of a large transaction behind its end.
//!
//! A transaction that changed a million rows has a million locks, and removing them one by one takes as long as a short
//! statement does per row. So COMMIT and ROLLBACK only declare that they count for nothing any more:
//!
//! ```text
//!   COMMIT                        other transactions                     background, some shards at a time
//!   owner ended  ------------>  latch a shard: its entry for the  ---->  remove the entries
//!   waiters are granted           lock wanted is removed                 forget the owner
//! ```
//!
//! Invariants:
//!
//! * After the end of the owner no request is refused, and no transaction waits, because of its entries.
//! * A transaction that waits for one of them at that moment is granted it then. It is listed in [`Waits`] before it can
//!   miss the end: it joins the queue and the list under the latch of the list, and the end takes that latch after it has
//!   declared the owner ended.
//! * The owner is forgotten after its last entry is gone; an id is never given twice.

use std::collections::VecDeque;

use format::ids::TrxId;

use super::LockId;
use super::shards::{SHARDS, Shards};
use super::waits::Waits;
use crate::sync::{Mutex, Rank};

/// What one step does.
const STEP_SHARDS: usize = SHARDS.div_ceil(32);
const STEP_LOCKS: usize = 4096;

/// Transactions that have ended, and what is left of them.
pub(super) struct Endings(Mutex<VecDeque<Ending>>);

struct Ending {
    owner: TrxId,
    rest: Rest,
}

enum Rest {
    /// Most locks are its own: go through all, from this shard on. The list of its locks is not needed.
    Shards {
        next: usize,
        _ids: Vec<LockId>,
    },
    Locks(Vec<LockId>),
}

impl Endings {
    pub fn new() -> Endings {
        Endings(Mutex::new(Rank::Leaf, VecDeque::new()))
    }

    /// Ends an owner that holds these locks. Nothing is added to them any more.
    pub fn add(&self, shards: &Shards, waits: &Mutex<Waits>, owner: TrxId, ids: Vec<LockId>) {
        shards.end(owner);
        let wanted: Vec<LockId> = waits.lock().wanted().collect();
        for id in wanted {
            // Removes the owner, and grants the lock to others.
            drop(shards.latch(id));
        }
        let rest = match shards.is_large_part(ids.len()) {
            true => Rest::Shards { next: 0, _ids: ids },
            false => Rest::Locks(ids),
        };
        self.0.lock().push_back(Ending { owner, rest });
    }

    /// Removes a bounded number of entries. True if there was anything to do.
    pub fn step(&self, shards: &Shards) -> bool {
        let Some(mut ending) = self.0.lock().pop_front() else { return false };
        let is_done = match &mut ending.rest {
            Rest::Shards { next, .. } => {
                *next = shards.sweep(*next..*next + STEP_SHARDS);
                *next == SHARDS
            }
            Rest::Locks(ids) => {
                let kept = ids.len().saturating_sub(STEP_LOCKS);
                ids.drain(kept..).for_each(|id| shards.latch(id).release(ending.owner));
                ids.is_empty()
            }
        };
        match is_done {
            true => shards.forget(ending.owner),
            false => self.0.lock().push_front(ending),
        }
        true
    }
}
