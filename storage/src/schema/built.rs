//! Which indexes are newer than a read view.
//!
//! An index that was built has the rows as they were when it was done, and none of the versions before. So a read view
//! that is older reads the table without it.

use std::sync::atomic::{AtomicU64, Ordering};

use format::ids::{IndexId, TrxId};

use crate::sync::{Mutex, Rank};

/// The indexes of a table that were built since the server started. Every read view is younger than the others.
#[derive(Debug)]
pub struct BuiltIndexes {
    /// The largest limit.
    newest: AtomicU64,
    limits: Mutex<Vec<(IndexId, TrxId)>>,
}

impl Default for BuiltIndexes {
    fn default() -> BuiltIndexes {
        BuiltIndexes { newest: AtomicU64::new(0), limits: Mutex::new(Rank::Leaf, Vec::new()) }
    }
}

impl BuiltIndexes {
    /// Only read views of at least this limit may use the index.
    pub fn add(&self, index: IndexId, since: TrxId) {
        self.limits.lock().push((index, since));
        self.newest.fetch_max(since.0, Ordering::Release);
    }

    /// Whether an index is newer than a read view of that limit.
    #[inline]
    pub fn is_newer(&self, index: IndexId, low_limit: TrxId) -> bool {
        low_limit.0 < self.newest.load(Ordering::Acquire) && self.is_listed(index, low_limit)
    }

    #[cold]
    fn is_listed(&self, index: IndexId, low_limit: TrxId) -> bool {
        self.limits.lock().iter().any(|(other, since)| *other == index && low_limit < *since)
    }
}
