//! What to read and how: the types that a statement passes to the trees.

use std::ops::Bound;

/// How a read sees rows, and whether it locks them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadMode {
    /// As of the transaction's read view, without locks. (In READ UNCOMMITTED: the newest version.)
    Consistent,
    /// The newest version, without locks, at any isolation level: of tables that do not follow transactions.
    Newest,
    /// What a statement that changes rows reads beside them, so that the change can be repeated: share-locked in
    /// REPEATABLE READ and above, consistent below.
    Source,
    /// The newest version, share-locked. `LOCK IN SHARE MODE`, and the reads of a transaction in SERIALIZABLE.
    Shared(IfLocked),
    /// The newest version, exclusively locked. `FOR UPDATE`, and the rows that UPDATE and DELETE visit.
    Exclusive(IfLocked),
}

impl ReadMode {
    /// Reads to share, waiting for writers.
    pub const SHARED: ReadMode = ReadMode::Shared(IfLocked::Wait);
    /// Reads to change, waiting for others.
    pub const EXCLUSIVE: ReadMode = ReadMode::Exclusive(IfLocked::Wait);
}

/// What a locking read does about a row that another transaction has locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IfLocked {
    /// Waits, as long as the transaction waits for locks.
    Wait,
    /// `NOWAIT`: gives up with an error.
    Fail,
    /// `SKIP LOCKED`: goes on without the row.
    Skip,
    /// UPDATE in READ COMMITTED: reads the row as it was committed last, without a lock (a *semi-consistent* read). If
    /// that is to be changed, `Cursor::insist` waits for it. Elsewhere, and for a whole unique key, it waits.
    Committed,
}

/// The part of an index to scan, and the direction.
///
/// A bound is a prefix of the index's parts: `Included` takes in every key that begins with it, `Excluded` leaves all
/// of these out. The values are stored bytes; NULL sorts before everything. Both ends are in the order of the index:
/// where a part descends, the lower end has the larger value of it, and NULL sorts behind everything.
#[derive(Clone, Copy, Debug)]
pub struct ScanRange<'a> {
    pub lower: Bound<&'a [Option<&'a [u8]>]>,
    pub upper: Bound<&'a [Option<&'a [u8]>]>,
    /// From the upper end downward.
    pub reverse: bool,
}

impl ScanRange<'static> {
    /// The whole index, upward.
    pub const ALL: ScanRange<'static> = ScanRange { lower: Bound::Unbounded, upper: Bound::Unbounded, reverse: false };
}

impl<'a> ScanRange<'a> {
    /// Every key that begins with `prefix`.
    pub fn prefix(prefix: &'a [Option<&'a [u8]>]) -> ScanRange<'a> {
        ScanRange { lower: Bound::Included(prefix), upper: Bound::Included(prefix), reverse: false }
    }
}
