//! Shrinking: neighbours that are rather empty merge into one page, an empty leaf is freed, and the only child of a
//! root replaces it.
//!
//! Two pages merge only if they have the same parent, and always into the left one. So the removed pointer is never the
//! first of its page, and nothing further up has to change:
//!
//! ```text
//!        parent (.. p  q ..)               parent (.. p ..)
//!                   |  |                               |
//!              [a b]<->[c]<->[d         becomes   [a b c]<->[d
//! ```
//!
//! A merge is never necessary: it is tried after the change that made a page small has committed, in a mini-transaction
//! of its own, and abandoned if another change of shape is in progress.
//!
//! No leaf may stay empty. It is merged with a sibling. If it has none its parent is freed too, and so on upward until
//! a page has another pointer; if the removed one was the first there, the pointers above are set to the new first
//! record.

use std::sync::atomic::Ordering;

use format::ids::PageNo;
use format::page::header;
use format::page::index::{self, INFIMUM, SUPREMUM, SearchMode};
use format::record::{RecordBuffer, Tuple};
use format::redo::{PageOp, RecordList};

use super::change::underfull_bytes;
use super::{Tree, following, on, previous};
use crate::error::{Error, Result};
use crate::mtr::{Mtr, PageHandle};
use crate::segment;
use crate::store::Store;

impl Tree {
    /// Merges the leaf of a key with a neighbour if that is worth it, and so on upward. The caller holds no latch.
    pub fn merge(&self, store: &Store, key: &Tuple<'_>) -> Result<()> {
        let mut level = Some(0);
        while let Some(at) = level {
            level = self.merge_level(store, key, at)?;
        }
        Ok(())
    }

    /// Returns the level to examine next.
    fn merge_level(&self, store: &Store, key: &Tuple<'_>, level: u16) -> Result<Option<u16>> {
        let Some(_shape) = self.shape.try_lock() else {
            return Ok(None);
        };
        let mut mtr = Mtr::begin(store);
        let mut page = store.read(self.page_id(self.root))?;
        let mut above = index::level(&page);
        if above <= level {
            return Ok(None);
        }
        while above > level + 1 {
            let (child, _) = self.child(page.page_id(), &page, key, SearchMode::LessOrEqual)?;
            page = store.read(self.page_id(child))?;
            above -= 1;
        }
        let id = page.page_id();
        drop(page);

        // No other thread changes node pages now; but readers are kept out from the parent on.
        let parent = mtr.latch_exclusive(id)?;
        let (child, origin) = self.child(id, mtr.page(parent), key, SearchMode::LessOrEqual)?;
        if index::record_count(mtr.page(parent)) == 1 {
            if id.page == self.root {
                self.lift(&mut mtr, parent, child)?;
                mtr.commit();
            }
            return Ok(None);
        }
        let Some((left, right, right_pointer)) = self.choose(store, mtr.page(parent), id.page, child, origin)? else {
            return Ok(None);
        };
        let left = mtr.latch_exclusive(self.page_id(left))?;
        let right = mtr.latch_exclusive(self.page_id(right))?;
        let behind = following(mtr.page(right));
        if !behind.is_null() {
            mtr.latch_exclusive(self.page_id(behind))?;
        }
        // Writers of leaves need no shape latch, so check again.
        if !joinable(mtr.page(left), mtr.page(right)) {
            return Ok(None);
        }
        self.absorb(&mut mtr, left, right, parent, right_pointer)?;
        let page = mtr.page(parent);
        let next = if id.page == self.root {
            (index::record_count(page) == 1).then_some(level)
        } else {
            (index::data_bytes(page) < underfull_bytes(page.len())).then_some(level + 1)
        };
        mtr.commit();
        Ok(next)
    }

    /// The two children of a parent to merge, the child or its left neighbour first, and the pointer to the second.
    fn choose(
        &self,
        store: &Store,
        parent: &[u8],
        parent_no: PageNo,
        child: PageNo,
        origin: u16,
    ) -> Result<Option<(PageNo, PageNo, u16)>> {
        let id = self.page_id(parent_no);
        let mine = Room::of(&store.read(self.page_id(child))?);
        if mine.bytes >= underfull_bytes(parent.len()) {
            return Ok(None);
        }
        let next = on(id, index::next(parent, origin))?;
        if next != SUPREMUM {
            let (right, _) = self.child_of(id, parent, next)?;
            if mine.joins(Room::of(&store.read(self.page_id(right))?)) {
                return Ok(Some((child, right, next)));
            }
        }
        let before = on(id, index::prev(parent, origin))?;
        if before != INFIMUM {
            let (left, _) = self.child_of(id, parent, before)?;
            if mine.joins(Room::of(&store.read(self.page_id(left))?)) {
                return Ok(Some((left, child, origin)));
            }
        }
        Ok(None)
    }

    /// Moves all records of `right` behind those of `left`, frees `right` and removes the pointer to it. The three, and
    /// the page behind `right`, are latched.
    fn absorb(
        &self,
        mtr: &mut Mtr<'_>,
        left: PageHandle,
        right: PageHandle,
        parent: PageHandle,
        right_pointer: u16,
    ) -> Result<()> {
        let right_id = mtr.page_id(right);
        let left_id = mtr.page_id(left);
        let level = index::level(mtr.page(right));
        let layout = self.layout(level);
        let mut list = RecordList::new();
        on(right_id, list.push_range(mtr.page(right), layout, INFIMUM, SUPREMUM))?;
        if index::free_bytes(mtr.page(left), list.count()) < list.record_bytes() {
            self.reorganize(mtr, left, layout, INFIMUM)?;
        }
        let after = on(left_id, index::last(mtr.page(left)))?;
        if list.count() > 0 {
            mtr.apply(left, PageOp::InsertRecords { after, records: list.bytes() })?;
        }
        if level == 0 && self.leaf.trx_id_field().is_none() {
            let trx_id = index::max_trx_id(mtr.page(right));
            mtr.apply(left, PageOp::MaxTrxId { trx_id })?;
        }
        self.unlink_and_free(mtr, right)?;
        let remove = on(mtr.page_id(parent), PageOp::remove(mtr.page(parent), &self.node, right_pointer))?;
        mtr.apply(parent, remove)
    }

    /// Unlinks a page from its level and frees it. The neighbours are latched.
    fn unlink_and_free(&self, mtr: &mut Mtr<'_>, page: PageHandle) -> Result<()> {
        let id = mtr.page_id(page);
        let level = index::level(mtr.page(page));
        let (prev, next) = (previous(mtr.page(page)), following(mtr.page(page)));
        if !prev.is_null() {
            let prev = mtr.latch_exclusive(self.page_id(prev))?;
            mtr.write(prev, header::NEXT, &next.0.to_be_bytes());
        }
        if !next.is_null() {
            let next = mtr.latch_exclusive(self.page_id(next))?;
            mtr.write(next, header::PREV, &prev.0.to_be_bytes());
            if prev.is_null() && level > 0 {
                // The next page is the leftmost of its level now.
                let first = on(mtr.page_id(next), index::first(mtr.page(next)))?;
                mtr.apply(next, PageOp::SetMinRecord { origin: first, min: true })?;
            }
        }
        // The page changes, so that a thread that remembers its position does not trust it.
        mtr.apply(page, PageOp::IndexClear { level })?;
        segment::free_page(mtr, self.segment(level), id.page)
    }

    /// Replaces the root's contents by those of its only child.
    fn lift(&self, mtr: &mut Mtr<'_>, root: PageHandle, child: PageNo) -> Result<()> {
        let child = mtr.latch_exclusive(self.page_id(child))?;
        let id = mtr.page_id(child);
        let page = mtr.page(child);
        if !previous(page).is_null() || !following(page).is_null() {
            return Err(Error::corrupt_page(id, "an only child with neighbours"));
        }
        let level = index::level(page);
        let trx_id = index::max_trx_id(page);
        let mut list = RecordList::new();
        on(id, list.push_range(page, self.layout(level), INFIMUM, SUPREMUM))?;
        mtr.apply(root, PageOp::IndexClear { level })?;
        if list.count() > 0 {
            mtr.apply(root, PageOp::InsertRecords { after: INFIMUM, records: list.bytes() })?;
        }
        if level == 0 && self.leaf.trx_id_field().is_none() {
            mtr.apply(root, PageOp::MaxTrxId { trx_id })?;
        }
        self.unlink_and_free(mtr, child)?;
        self.height.store(level, Ordering::Relaxed);
        Ok(())
    }

    /// Frees a leaf that has lost its last record. `nodes` is the path to it; see [`Tree::latch_path`] for what is
    /// latched.
    pub(super) fn drop_empty_leaf(
        &self,
        mtr: &mut Mtr<'_>,
        mut nodes: Vec<(PageHandle, u16)>,
        leaf: PageHandle,
    ) -> Result<()> {
        let mut doomed = leaf;
        while let Some((parent, origin)) = nodes.pop() {
            let id = mtr.page_id(parent);
            let page = mtr.page(parent);
            if index::record_count(page) == 1 {
                self.unlink_and_free(mtr, doomed)?;
                if id.page == self.root {
                    mtr.apply(parent, PageOp::IndexClear { level: 0 })?;
                    self.height.store(0, Ordering::Relaxed);
                    return Ok(());
                }
                doomed = parent;
                continue;
            }
            let next = on(id, index::next(page, origin))?;
            if doomed == leaf && next != SUPREMUM {
                let (right, _) = self.child_of(id, page, next)?;
                let right = mtr.latch_exclusive(self.page_id(right))?;
                return self.absorb(mtr, leaf, right, parent, next);
            }
            let is_first = on(id, index::first(page))? == origin;
            let is_leftmost = previous(page).is_null();
            self.unlink_and_free(mtr, doomed)?;
            let remove = on(id, PageOp::remove(mtr.page(parent), &self.node, origin))?;
            mtr.apply(parent, remove)?;
            if !is_first {
                return Ok(());
            }
            if is_leftmost {
                let first = on(id, index::first(mtr.page(parent)))?;
                return mtr.apply(parent, PageOp::SetMinRecord { origin: first, min: true });
            }
            return self.agree_above(mtr, nodes, parent);
        }
        unreachable!("a leaf that is not the root has a parent")
    }

    /// Sets the pointers above a page to its new first record.
    fn agree_above(&self, mtr: &mut Mtr<'_>, mut nodes: Vec<(PageHandle, u16)>, page: PageHandle) -> Result<()> {
        // Up to the first pointer that is not the first of its own page. From there downward, so that a page that
        // splits finds the path above it in order.
        let mut top = nodes.len() - 1;
        while top > 0 {
            let (node, origin) = nodes[top];
            if on(mtr.page_id(node), index::first(mtr.page(node)))? != origin || previous(mtr.page(node)).is_null() {
                break;
            }
            top -= 1;
        }
        let mut pointer = RecordBuffer::new();
        for at in top..nodes.len() {
            let (node, origin) = nodes[at];
            let id = mtr.page_id(node);
            let (child, _) = self.child_of(id, mtr.page(node), origin)?;
            let first = on(mtr.page_id(page), index::first(mtr.page(page)))?;
            on(
                mtr.page_id(page),
                pointer.build_node_pointer(&self.node, &self.node, mtr.page(page), usize::from(first), child),
            )?;
            let before = on(id, index::prev(mtr.page(node), origin))?;
            let remove = on(id, PageOp::remove(mtr.page(node), &self.node, origin))?;
            mtr.apply(node, remove)?;
            let above = nodes[..at].to_vec();
            let made = self.insert_or_split(mtr, above, node, before, pointer.image())?;
            nodes[at] = (made.page, made.origin);
        }
        Ok(())
    }
}

/// How full a page is.
#[derive(Clone, Copy)]
struct Room {
    page_bytes: usize,
    bytes: usize,
    records: usize,
}

impl Room {
    fn of(page: &[u8]) -> Room {
        Room { page_bytes: page.len(), bytes: index::data_bytes(page), records: index::record_count(page) }
    }

    /// Whether two pages fit into one with some space left, so that it need not split again at once.
    fn joins(self, other: Room) -> bool {
        index::fits_empty(self.page_bytes, self.bytes + other.bytes + self.page_bytes / 8, self.records + other.records)
    }
}

fn joinable(left: &[u8], right: &[u8]) -> bool {
    Room::of(left).joins(Room::of(right))
}
