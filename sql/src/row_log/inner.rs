//! The rows of statements inside of a statement, in stored functions and triggers: they wait until the inner statement has
//! succeeded, because one that fails may be handled, and then it has changed nothing.
//!
//! So what is in the cache of a running statement is only ever added to, and its last rows event says that it is the last.

use std::sync::Arc;

use format::binlog::rows::RowsKind;
use storage::Table;

use super::{Images, RowLog, check_flags};
use crate::error::{Error, Result};

type OwnedRow = Vec<Option<Box<[u8]>>>;

/// A row that waits.
struct Waiting {
    kind: RowsKind,
    table: Arc<Table>,
    before: Option<OwnedRow>,
    after: Option<OwnedRow>,
    changed: Vec<bool>,
    /// Those of its event.
    flags: u16,
}

/// See the module header.
#[derive(Default)]
pub struct Inner {
    depth: u32,
    /// Of the rows of the innermost statement.
    flags: u16,
    /// Those of the statements around it.
    outer_flags: Vec<u16>,
    waiting: Vec<Waiting>,
    bytes: u64,
}

impl Inner {
    pub fn is_running(&self) -> bool {
        self.depth > 0
    }

    pub fn clear(&mut self) {
        *self = Inner::default();
    }
}

impl RowLog {
    /// An inner statement begins, with these checks of foreign and unique keys: its place among the rows that wait.
    pub fn begin_inner(&mut self, (foreign, unique): (bool, bool)) -> usize {
        self.inner.depth += 1;
        self.inner.outer_flags.push(self.inner.flags);
        self.inner.flags = check_flags(foreign, unique);
        self.inner.waiting.len()
    }

    /// It has ended: its rows stay, or are forgotten.
    pub fn end_inner(&mut self, place: usize, stays: bool) -> Result<()> {
        self.inner.depth = self.inner.depth.saturating_sub(1);
        self.inner.flags = self.inner.outer_flags.pop().unwrap_or_default();
        if !stays {
            self.inner.waiting.truncate(place);
        }
        if self.inner.depth > 0 {
            return Ok(());
        }
        self.inner.bytes = 0;
        let own = self.flags;
        for row in std::mem::take(&mut self.inner.waiting) {
            let before = |column: usize| row.before.as_ref().and_then(|row| row[column].as_deref());
            let after = |column: usize| row.after.as_ref().and_then(|row| row[column].as_deref());
            let images = Images {
                before: row.before.is_some().then_some(&before as _),
                after: row.after.is_some().then_some(&after as _),
            };
            self.take_flags(row.flags)?;
            self.row_now(row.kind, &row.table, images, &|column| row.changed[column])?;
        }
        self.take_flags(own)
    }

    /// How many rows wait.
    pub fn waiting(&self) -> usize {
        self.inner.waiting.len()
    }

    /// Forgets the rows behind a place: an inner statement went back to a savepoint.
    pub fn cut_waiting(&mut self, place: usize) {
        self.inner.waiting.truncate(place);
    }

    /// Keeps a row of an inner statement.
    pub(super) fn wait(
        &mut self,
        kind: RowsKind,
        table: &Arc<Table>,
        row: Images<'_, '_>,
        changed: &dyn Fn(usize) -> bool,
    ) -> Result<()> {
        let width = table.columns.len();
        let mut bytes = 0;
        let mut owned = |values: Option<&super::Values<'_>>| {
            values.map(|values| {
                let row: OwnedRow = (0..width).map(|column| values(column).map(Box::from)).collect();
                bytes += row.iter().map(|value| 16 + value.as_ref().map_or(0, |value| value.len() as u64)).sum::<u64>();
                row
            })
        };
        let (before, after) = (owned(row.before), owned(row.after));
        self.inner.bytes += bytes;
        if self.inner.bytes > self.settings.transaction_bytes_max {
            return Err(Error::log_cache_full());
        }
        let (changed, flags) = ((0..width).map(changed).collect(), self.inner.flags);
        self.inner.waiting.push(Waiting { kind, table: table.clone(), before, after, changed, flags });
        Ok(())
    }
}
