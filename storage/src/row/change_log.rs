//! Where a table has the log of its changes while somebody builds something from its rows: see [`super::RowLog`].

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use format::record::FieldData;

use crate::store::Store;
use crate::sync::{Mutex, Rank};

/// Is told of the changes of a table's rows.
pub trait ChangeLog: Send + Sync {
    /// Notes a change of a row, or the undoing of one: from the version `before` to the version `after`. None = there is no
    /// row.
    fn note(&self, store: &Store, before: Option<&[FieldData<'_>]>, after: Option<&[FieldData<'_>]>);
}

/// The place of a table's log.
pub struct ChangeLogPlace {
    is_open: AtomicBool,
    log: Mutex<Option<Arc<dyn ChangeLog>>>,
}

impl Default for ChangeLogPlace {
    fn default() -> ChangeLogPlace {
        ChangeLogPlace { is_open: AtomicBool::new(false), log: Mutex::new(Rank::Leaf, None) }
    }
}

impl std::fmt::Debug for ChangeLogPlace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ChangeLogPlace").field("is_open", &self.is_open).finish_non_exhaustive()
    }
}

impl ChangeLogPlace {
    /// The log, if there is one: it was begun while no transaction used the table, so whoever has the table's name sees it.
    #[inline]
    pub fn get(&self) -> Option<Arc<dyn ChangeLog>> {
        if !self.is_open.load(Ordering::Relaxed) {
            return None;
        }
        self.log.lock().clone()
    }

    /// Begins a log. The table's name is the caller's alone.
    pub fn begin(&self, log: Arc<dyn ChangeLog>) {
        *self.log.lock() = Some(log);
        self.is_open.store(true, Ordering::Release);
    }

    /// Ends it. Writers may be in the middle of a change: what they still append is lost, and nobody wants it.
    pub fn end(&self) {
        self.is_open.store(false, Ordering::Release);
        *self.log.lock() = None;
    }
}
