//! Scans as a session uses them, and the entries of full-text indexes.

use std::ops::Bound;
use std::sync::Arc;

use super::Trx;
use crate::dictionary::Table;
use crate::error::Result;
use crate::row;
use crate::row::{Posting, Wanted};
use crate::schema::{ColumnSet, ReadMode, Row, RowFilter, ScanRange};

/// A scan of a part of an index, a row at a time. Holds no latch between calls.
pub struct Cursor {
    table: Arc<Table>,
    scan: row::Scan,
    /// None: it walks over the whole table.
    index: Option<usize>,
    rows: u64,
}

impl Drop for Cursor {
    fn drop(&mut self) {
        self.table.reads().add(self.index, self.rows);
    }
}

impl Trx {
    /// A scan of a part of an index.
    pub fn cursor(
        &mut self,
        table: &Arc<Table>,
        index: usize,
        mode: ReadMode,
        columns: ColumnSet,
        range: ScanRange<'_>,
    ) -> Result<Cursor> {
        self.check_present(table)?;
        let mode = self.effective(mode);
        let scan = row::Scan::new(table, index, mode, &columns, &range);
        let is_whole = index == 0 && matches!((&range.lower, &range.upper), (Bound::Unbounded, Bound::Unbounded));
        Ok(Cursor { table: table.clone(), scan, index: Some(index).filter(|_| !is_whole), rows: 0 })
    }
}

impl Trx {
    /// Calls the closure with the entries of a full-text index, see [`row::postings`].
    pub fn postings(
        &mut self,
        table: &Arc<Table>,
        index: usize,
        wanted: Wanted<'_>,
        each: &mut dyn FnMut(&Posting<'_>) -> Result<()>,
    ) -> Result<()> {
        let read = self.on(table, |context, inner| row::postings(context, inner, table, index, wanted, each));
        read.map_err(|error| self.scan_failed(error))
    }
}

impl Cursor {
    /// Leaves out rows that do not pass; false: the scan locks what it reads, and leaves that to its reader.
    pub fn filter(&mut self, filter: &Arc<RowFilter>) -> bool {
        self.scan.filter(&self.table, filter)
    }

    /// The next row; false = the end. `trx` is the transaction that made the cursor.
    #[inline]
    pub fn next(&mut self, trx: &mut Trx, row: &mut Row) -> Result<bool> {
        match trx.on(&self.table, |context, inner| self.scan.next(context, inner, &self.table, row)) {
            Ok(found) => {
                let read = u64::from(found) + self.scan.take_passed_over();
                trx.counts.read += read;
                self.rows += read;
                Ok(found)
            }
            Err(error) => Err(trx.scan_failed(error)),
        }
    }

    /// Whether the row last read is the last committed version of one that others have locked (see
    /// `IfLocked::Committed`).
    #[inline]
    pub fn is_unlocked(&self) -> bool {
        self.scan.is_unlocked()
    }

    /// The statement wants the row last read after all: the next row is that one again, locked, as it is by then, or
    /// its successor.
    pub fn insist(&mut self) {
        self.scan.insist();
    }

    /// Releases the lock of the row last read, where the isolation level allows that (READ COMMITTED: it did not
    /// match).
    pub fn unlock_row(&mut self, trx: &mut Trx) {
        trx.on(&self.table, |context, inner| self.scan.unlock_row(context, inner));
    }
}
