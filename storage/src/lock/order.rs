//! Transactions that commit in an order which was decided before they began: those of a replica.
//!
//! ```text
//!   order of the source      1            2            3
//!   at work               changes a    changes b    changes c, wants a     (waits for 1 by a lock)
//!                         wants c                                          (1 waits for 3 by a lock, 3 for 1 by the order)
//! ```
//!
//! A transaction with a place waits for all with lower numbers from its beginning, whether or not it has come to its
//! commit: it keeps its locks until they have committed. So the search for deadlocks follows these waits as it follows
//! those for locks. A cycle that contains one cannot be broken by letting the earlier transaction go first later; the
//! later one is *overtaken*: it gives up its locks, and its layer begins it again.
//!
//! There may be several such orders, one for each source of a replica. Transactions of different orders wait for each other
//! by locks alone.

use std::fmt::Debug;

use format::ids::Lsn;

/// A transaction's place in the order. The layer that keeps the order implements this.
pub trait CommitPlace: Debug + Send + Sync {
    /// The order that it is in.
    fn order(&self) -> u32;

    /// Lower numbers of an order commit earlier.
    fn number(&self) -> u64;

    /// A transaction with a lower number waits for this one: it must be rolled back. The lock table's waits are latched;
    /// a wait for a record lock has been ended already.
    fn overtaken(&self);

    /// It is committed and visible, and its locks are released. It is durable when the redo log is, up to `lsn`: the commit
    /// does not wait for that, the layer that keeps the order does (`None` = it changed nothing). So one transaction after
    /// the other can be applied by one thread, and a sync serves all that have committed meanwhile.
    fn committed(&self, lsn: Option<Lsn>);
}
