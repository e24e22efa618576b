//! Scans of a table: by one cursor, or by those of its partitions.

use std::sync::Arc;

use storage::{Row, RowFilter, Trx};

use crate::partitions::Several;

/// A scan of a table, or of several partitions of one.
pub trait Scan {
    /// Leaves out rows that do not pass; false: that is left to the reader.
    fn filter(&mut self, trx: &Trx, filter: &Arc<RowFilter>) -> bool;
    fn next(&mut self, trx: &mut Trx, row: &mut Row) -> storage::Result<bool>;
    fn is_unlocked(&self) -> bool;
    fn insist(&mut self);
    fn unlock_row(&mut self, trx: &mut Trx);
}

impl Scan for storage::Cursor {
    fn filter(&mut self, _trx: &Trx, filter: &Arc<RowFilter>) -> bool {
        storage::Cursor::filter(self, filter)
    }

    #[inline]
    fn next(&mut self, trx: &mut Trx, row: &mut Row) -> storage::Result<bool> {
        storage::Cursor::next(self, trx, row)
    }

    #[inline]
    fn is_unlocked(&self) -> bool {
        storage::Cursor::is_unlocked(self)
    }

    fn insist(&mut self) {
        storage::Cursor::insist(self);
    }

    fn unlock_row(&mut self, trx: &mut Trx) {
        storage::Cursor::unlock_row(self, trx);
    }
}

impl Scan for Several<'_> {
    fn filter(&mut self, trx: &Trx, filter: &Arc<RowFilter>) -> bool {
        Several::filter(self, trx, filter)
    }

    fn next(&mut self, trx: &mut Trx, row: &mut Row) -> storage::Result<bool> {
        Several::next(self, trx, row)
    }

    fn is_unlocked(&self) -> bool {
        Several::is_unlocked(self)
    }

    fn insist(&mut self) {
        Several::insist(self);
    }

    fn unlock_row(&mut self, trx: &mut Trx) {
        Several::unlock_row(self, trx);
    }
}
