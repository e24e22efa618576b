//! Locks: what a transaction holds until it ends, so that others wait. This module knows transactions only by id.
//!
//! A **record lock** is named by an index and a hash of the record's key ([`LockId`]), not by a position on a page:
//! when rows move and pages split, the locks stay as they are. Two keys with the same hash share a lock, which can
//! cause a needless wait and nothing worse. An owner is a transaction id. The rows that a transaction wrote carry that
//! id and are locked *implicitly*, without an entry here, until another transaction wants one of them and makes the
//! lock explicit.
//!
//! ```text
//! shard = hash & mask          entry of one lock                        transaction
//! +--------+   lookup    +-------------------------------+        +----------------------+
//! | mutex  | ----------> | id | first holder | queue ----+--+     | Held: ids of its     |
//! +--------+                       more holders, waiters <--+     +----------------------+
//! +--------+                       more holders, waiters <---+     +----------------------+
//! ```
//!
//! The queue exists only where two transactions meet: a lock without contention takes one latch, one lookup and no
//! allocation. The queue is FIFO: a later request does not overtake an earlier one that it conflicts with, except that
//! a transaction that already holds the lock may strengthen it.
//!
//! Releasing the locks of a large transaction is declared at its end and done behind it (`ending`), so that COMMIT takes as
//! long for a million rows as for one.
//!
//! The memory of all record locks has a limit. A request beyond it is refused ([`crate::error::Error::LockTableFull`]),
//! and its transaction is rolled back; the table gives the memory back as locks are released.
//!
//! A **metadata lock** ([`MetadataLock`]) is one per table name: transactions share it, a DDL statement takes it alone,
//! and LOCK TABLES keeps out other sessions' writes or all their accesses.
//! The **backup lock** ([`InstanceLock`]) is one per instance: it keeps DDL statements and backups apart.
//!
//! Modes and kinds, as in InnoDB. Held | wanted; `-` = compatible:
//!
//! ```text
//!                      record/next-key S   record/next-key X   gap   insert intention   mark
//! record S                     -                wait            -           -           wait
//! record X                   wait               wait            -           -           wait
//! gap (S or X)                 -                  -             -          wait           -
//! next-key S                   -                wait            -          wait         wait
//! next-key X                 wait               wait            -          wait         wait
//! entry S                      -                wait            -          wait           -
//! insert intention             -                  -             -           -             -
//! mark                       wait               wait            -           -           wait
//! ```
//!
//! The last two kinds are of entries of secondary indexes. Who locks rows through one locks them in the clustered index,
//! and of each entry only that it is not revived (*entry*). Who reads the entry alone locks it as a record, so that
//! its row does not give it up (*mark*).
//!
//! Invariants:
//!
//! * A thread that waits holds no latch.
//! * A transaction waits for at most one lock at a time.
//! * A cycle of waiting transactions is found when it closes; the victim is the one that is cheapest to roll back, or the
//!   one that waits for its turn to commit (`order`).
//! * A gap belongs to the record behind it. When that record is removed, its gap merges into the next one, and every
//!   lock on the record or its gap becomes a lock on that next gap. When a record is inserted into a locked gap, both
//!   halves stay locked.
//!
//! Sources: Gray & Reuter, "Transaction Processing", ch. 8; the locking chapter of the InnoDB manual.

mod scheduler;

mod stage;

mod deadline;

mod client;

mod waiter;

mod order;

mod names;

mod interrupt;

mod waits;

mod owner;

mod entry;

mod shards;

mod deadlock;

mod ending;

mod table;

mod list;

mod metadata;

mod instance;

use format::ids::{IndexId, PageNo};

pub use deadlock::{DeadlockMember, DeadlockReport};
pub use instance::{BackupHold, DdlPass, InstanceLock};
pub use interrupt::{Interrupt, Kill};
pub use list::LockInfo;
pub use metadata::{GrantOf, MetadataGrant, MetadataHeld, MetadataLock, TableUse};
pub use names::{NameLock, NameLockMode, NameLocks, Pending, address};
pub use order::CommitPlace;
pub use owner::{Held, OwnerIdentity, OwnerInfo};
pub use scheduler::Scheduler;
pub use stage::{Entered, Stage};
pub use table::{LockCounters, LockTable, TryLock};

/// What a record lock locks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LockId {
    pub index: IndexId,
    /// Hash of the key's fields that make it unique. Equal for keys that compare equal.
    pub key_hash: u64,
}

/// The bits in which the hashes of neighbouring keys differ, if they do not in others.
pub const NEAR_KEYS: u64 = 7;

impl LockId {
    /// The lock of the gap behind the last record of an index.
    pub const fn supremum(index: IndexId) -> LockId {
        LockId { index, key_hash: u64::MAX }
    }

    /// The lock of a table's AUTO_INCREMENT counter, under the name of its clustered index.
    pub const fn auto_increment(index: IndexId) -> LockId {
        LockId { index, key_hash: u64::MAX - 1 }
    }
}

/// Whether others may read what is locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LockMode {
    Shared,
    Exclusive,
}

/// What of a record is locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LockKind {
    /// The record alone.
    Record,
    /// The gap before it: no other transaction inserts there.
    Gap,
    /// Both.
    NextKey,
    /// The gap before an entry of a secondary index, and that it is not revived: its row may give it up, unless that is
    /// locked.
    Entry,
    /// The request to delete-mark an entry of a secondary index.
    Mark,
    /// The request to insert into the gap before it.
    InsertIntention,
}

impl LockKind {
    /// Whether it covers the record, and not only the gap before it.
    pub fn has_record(self) -> bool {
        matches!(self, LockKind::Record | LockKind::NextKey | LockKind::Entry)
    }

    fn has_gap(self) -> bool {
        matches!(self, LockKind::Gap | LockKind::NextKey | LockKind::Entry)
    }
}

/// A lock that a transaction wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LockRequest {
    pub id: LockId,
    pub mode: LockMode,
    pub kind: LockKind,
    /// The record's page now; 0 = not known. Only for the views of locks, which begin there to look for its key.
    pub page: PageNo,
}

impl LockRequest {
    pub const fn new(id: LockId, mode: LockMode, kind: LockKind) -> LockRequest {
        LockRequest { id, mode, kind, page: PageNo(0) }
    }

    /// To read a record, or to change it.
    pub const fn record(id: LockId, mode: LockMode) -> LockRequest {
        LockRequest::new(id, mode, LockKind::Record)
    }

    /// To keep others from inserting before a record.
    pub const fn gap(id: LockId, mode: LockMode) -> LockRequest {
        LockRequest::new(id, mode, LockKind::Gap)
    }

    /// To insert before a record.
    pub const fn insert(id: LockId) -> LockRequest {
        LockRequest::new(id, LockMode::Exclusive, LockKind::InsertIntention)
    }

    /// The same of a record that is on this page.
    #[inline]
    pub const fn on(self, page: PageNo) -> LockRequest {
        LockRequest { page, ..self }
    }
}

/// Whether a request must wait for a lock that another has. See the picture in the module header.
fn conflicts(wanted: (LockMode, LockKind), held: (LockMode, LockKind)) -> bool {
    if wanted.1 == LockKind::InsertIntention {
        return held.1.has_gap();
    }
    let both_record = match (wanted.1, held.1) {
        (LockKind::Mark, other) | (other, LockKind::Mark) => {
            matches!(other, LockKind::Record | LockKind::NextKey | LockKind::Mark)
        }
        (one, other) => one.has_record() && other.has_record(),
    };
    both_record && (wanted.0 == LockMode::Exclusive || held.0 == LockMode::Exclusive)
}

/// Whether the holder of `held` need not request `wanted`.
fn covers(held: (LockMode, LockKind), wanted: (LockMode, LockKind)) -> bool {
    let kind = held.1 == wanted.1 || held.1 == LockKind::NextKey && wanted.1 != LockKind::InsertIntention;
    kind && held.0 >= wanted.0
}
