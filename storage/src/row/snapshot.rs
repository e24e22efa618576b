//! Reading all rows of a table as a view sees them, as records, a leaf at a time: what an index is built from.
//!
//! Others change the table meanwhile, split and merge its pages. So the scan goes on behind the last key that it has seen,
//! and not along the pages' links. The latch of a leaf is released before the caller gets its rows: it reads their long
//! values, which the view keeps from purge.

use format::page::index::{self, SUPREMUM, SearchMode};
use format::record::{RecordBuffer, compare_records, is_deleted};

use super::entry::{Key, damaged};
use super::version::{Visible, visible};
use super::{Context, Table};
use crate::error::{Error, Result};
use crate::transaction::Transaction;

/// A scan of all rows.
#[derive(Default)]
pub struct SnapshotScan {
    /// A copy of the leaf.
    page: Vec<u8>,
    rows: Vec<Place>,
    /// Versions that are not on the leaf; more than are in use.
    older: Vec<RecordBuffer>,
    /// The last record of the leaf.
    last: RecordBuffer,
    progress: Progress,
}

#[derive(Clone, Copy, Debug)]
enum Place {
    Page(usize),
    Older(usize),
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Progress {
    #[default]
    Start,
    Behind,
    End,
}

impl SnapshotScan {
    /// Reads the next leaf; the transaction has its view. False = there are no more.
    pub fn next_leaf(&mut self, ctx: &Context<'_>, trx: &Transaction, table: &Table) -> Result<bool> {
        let tree = table.rows();
        self.rows.clear();
        let (mut page, mut origin) = match self.progress {
            Progress::End => return Ok(false),
            Progress::Start => {
                let page = tree.edge(ctx.store, false)?;
                let first = index::first(&page).map_err(damaged)?;
                (page, first)
            }
            Progress::Behind => {
                let key = Key::of_buffer(&self.last, &tree.leaf)?;
                let (page, position) = tree.find(ctx.store, &key, SearchMode::Greater)?;
                (page, position.origin)
            }
        };
        // The place behind the last key of a leaf is its supremum.
        while origin == SUPREMUM {
            let Some(next) = tree.next_leaf(ctx.store, page)? else {
                self.progress = Progress::End;
                return Ok(false);
            };
            page = next;
            origin = index::first(&page).map_err(damaged)?;
            if origin == SUPREMUM {
                return Err(Error::corrupt_page(page.page_id(), "an empty leaf with neighbours"));
            }
        }
        self.page.clear();
        self.page.extend_from_slice(&page);
        let mut older = 0;
        let mut left = index::record_count(&page);
        if left == 0 {
            // It would be found again and again, because nothing of it is passed.
            return Err(Error::corrupt_page(page.page_id(), "a leaf with records that says it has none"));
        }
        while origin != SUPREMUM && left > 0 {
            let at = usize::from(origin);
            if self.older.len() == older {
                self.older.push(RecordBuffer::new());
            }
            match visible(ctx, trx, table, &page, at, &mut self.older[older])? {
                Visible::Current if !is_deleted(&page, at) => self.rows.push(Place::Page(at)),
                Visible::Older if !is_deleted(self.older[older].bytes(), self.older[older].origin()) => {
                    self.rows.push(Place::Older(older));
                    older += 1;
                }
                _ => {}
            }
            let next = index::next(&page, origin).map_err(damaged)?;
            left -= 1;
            if next == SUPREMUM || left == 0 {
                // Leaves in a circle, and leaves out of order, would be read until the sorted rows fill the disk.
                if self.progress == Progress::Behind {
                    let (last, last_at) = (self.last.bytes(), self.last.origin());
                    if compare_records(&tree.leaf, &page, at, last, last_at).map_err(damaged)?.is_le() {
                        return Err(Error::corrupt_page(page.page_id(), "a leaf whose rows were read before"));
                    }
                }
                self.last.copy(&page, &tree.leaf, at).map_err(damaged)?;
            }
            origin = next;
        }
        self.progress = Progress::Behind;
        Ok(true)
    }

    /// The rows of the leaf: bytes and origin of each record.
    pub fn rows(&self) -> impl Iterator<Item = (&[u8], usize)> {
        self.rows.iter().map(|place| match *place {
            Place::Page(origin) => (&self.page[..], origin),
            Place::Older(at) => (self.older[at].bytes(), self.older[at].origin()),
        })
    }
}
