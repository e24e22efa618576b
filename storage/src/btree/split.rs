//! Growing: a full page moves its upper records to a new right neighbour, and the level above, which may be full as
//! well, gets a pointer to that.
//!
//! ```text
//!        parent (.. p ..)                parent (.. p  q ..)
//!               |                               |  |
//!       [a b c d e f]  + x      becomes    [a b c] [d e x f]
//! ```
//!
//! The new page is always the right one. A run of ascending inserts moves nothing: the new record starts the new page
//! alone, and the full page stays full. A descending run moves everything.
//!
//! The root keeps its page: its records move down into a new page, and it becomes the page above. See `raise_root`.
//!
//! [`Tree::latch_path`] latches the path and reserves the new pages; an operation that fails all the same is undone
//! with its mini-transaction.

use std::sync::atomic::Ordering;

use format::page::header;
use format::page::index::{self, INFIMUM, SUPREMUM, Side};
use format::record::{self, MIN_RECORD, RecordBuffer, RecordImage};
use format::redo::{PageOp, RecordList};

use super::{Made, Tree, following, on};
use crate::error::{Error, Result};
use crate::mtr::{Mtr, PageHandle};
use crate::segment::Direction;

impl Tree {
    /// Inserts a record behind `after` on a page of any level, splitting the page if necessary. `nodes` is the path
    /// from the top to the page's parent.
    pub(super) fn insert_or_split(
        &self,
        mtr: &mut Mtr<'_>,
        mut nodes: Vec<(PageHandle, u16)>,
        page: PageHandle,
        after: u16,
        image: RecordImage<'_>,
    ) -> Result<Made> {
        let level = index::level(mtr.page(page));
        let layout = self.layout(level);
        if let Some(origin) = self.insert_on_page(mtr, page, layout, after, image)? {
            return Ok(Made { page, origin });
        }
        let (page, after) = if mtr.page_id(page).page == self.root {
            assert!(nodes.is_empty(), "nothing is above the root");
            let (below, after, pointer) = self.raise_root(mtr, page, after)?;
            nodes.push((page, pointer));
            (below, after)
        } else {
            (page, after)
        };
        let id = mtr.page_id(page);
        let next = following(mtr.page(page));
        let behind = match next.is_null() {
            true => None,
            false => Some(mtr.latch_exclusive(self.page_id(next))?),
        };

        let split = on(id, index::split_point(mtr.page(page), layout, after, image.size()))?;
        let direction = match split.direction {
            Some(Side::Right) => Direction::Up,
            Some(Side::Left) => Direction::Down,
            None => Direction::None,
        };
        let right = self.new_page(mtr, level, id.page, direction)?;
        let right_no = mtr.page_id(right).page;

        // The neighbours. The new page is empty, so a reader that follows the leaves behind us sees a complete list.
        mtr.write(right, header::PREV, &id.page.0.to_be_bytes());
        mtr.write(right, header::NEXT, &next.0.to_be_bytes());
        mtr.write(page, header::NEXT, &right_no.0.to_be_bytes());
        if let Some(behind) = behind {
            mtr.write(behind, header::PREV, &right_no.0.to_be_bytes());
        }

        let after_right = self.move_upper(mtr, page, right, split.first_right, after)?;
        let (target, after) = match split.side {
            Side::Left => (page, after),
            Side::Right => (right, after_right),
        };
        let Some(origin) = self.insert_on_page(mtr, target, layout, after, image)? else {
            return Err(Error::corrupt_page(id, "a record that does not fit half a page"));
        };

        // A pointer to the new page, behind the one to the old.
        let first = on(mtr.page_id(right), index::first(mtr.page(right)))?;
        let mut pointer = RecordBuffer::new();
        on(
            mtr.page_id(right),
            pointer.build_node_pointer(&self.node, layout, mtr.page(right), usize::from(first), right_no),
        )?;
        let (parent, pointer_before) = nodes.pop().expect("the way down is latched from a page that has room");
        self.insert_or_split(mtr, nodes, parent, pointer_before, pointer.image())?;
        Ok(Made { page: target, origin })
    }

    /// Moves the records from `first_right` on to the empty page `right`. Returns the position of `after` there: the
    /// infimum if it stayed.
    fn move_upper(
        &self,
        mtr: &mut Mtr<'_>,
        page: PageHandle,
        right: PageHandle,
        first_right: u16,
        after: u16,
    ) -> Result<u16> {
        let id = mtr.page_id(page);
        let level = index::level(mtr.page(page));
        let layout = self.layout(level);
        if level == 0 && self.leaf.trx_id_field().is_none() {
            let trx_id = index::max_trx_id(mtr.page(page));
            mtr.apply(right, PageOp::MaxTrxId { trx_id })?;
        }
        if first_right == SUPREMUM {
            return Ok(INFIMUM);
        }
        let split_rank = on(id, index::rank(mtr.page(page), first_right))?;
        let after_rank = match after {
            INFIMUM => None,
            after => on(id, index::rank(mtr.page(page), after))?.checked_sub(split_rank),
        };
        let mut list = RecordList::new();
        on(id, list.push_range(mtr.page(page), layout, first_right, SUPREMUM))?;
        mtr.apply(right, PageOp::InsertRecords { after: INFIMUM, records: list.bytes() })?;
        let remove = on(id, PageOp::remove_from(mtr.page(page), layout, first_right))?;
        mtr.apply(page, remove)?;
        match after_rank {
            None => Ok(INFIMUM),
            Some(rank) => on(id, index::nth(mtr.page(right), rank)),
        }
    }

    /// Moves the root's records into a new page below it. Returns that page, the position of `after` on it, and the
    /// origin of the only record of the root, the pointer to it.
    fn raise_root(&self, mtr: &mut Mtr<'_>, root: PageHandle, after: u16) -> Result<(PageHandle, u16, u16)> {
        let id = mtr.page_id(root);
        let level = index::level(mtr.page(root));
        let layout = self.layout(level);
        let rank = match after {
            INFIMUM => None,
            after => Some(on(id, index::rank(mtr.page(root), after))?),
        };
        let below = self.new_page(mtr, level, id.page, Direction::None)?;
        let below_no = mtr.page_id(below).page;

        let mut list = RecordList::new();
        on(id, list.push_range(mtr.page(root), layout, INFIMUM, SUPREMUM))?;
        mtr.apply(below, PageOp::InsertRecords { after: INFIMUM, records: list.bytes() })?;
        if level == 0 && self.leaf.trx_id_field().is_none() {
            let trx_id = index::max_trx_id(mtr.page(root));
            mtr.apply(below, PageOp::MaxTrxId { trx_id })?;
        }

        let first = on(id, index::first(mtr.page(below)))?;
        let mut pointer = RecordBuffer::new();
        on(id, pointer.build_node_pointer(&self.node, layout, mtr.page(below), usize::from(first), below_no))?;
        let origin = pointer.origin();
        record::set_info(pointer.bytes_mut(), origin, MIN_RECORD);

        mtr.apply(root, PageOp::IndexClear { level: level + 1 })?;
        let Some(pointer) = self.insert_on_page(mtr, root, &self.node, INFIMUM, pointer.image())? else {
            return Err(Error::corrupt_page(id, "a node pointer that does not fit an empty page"));
        };
        self.height.store(level + 1, Ordering::Relaxed);
        let after = match rank {
            None => INFIMUM,
            Some(rank) => on(id, index::nth(mtr.page(below), rank))?,
        };
        Ok((below, after, pointer))
    }
}
