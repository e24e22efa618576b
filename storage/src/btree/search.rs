//! Descending from the root to the leaf of a key: for readers, for optimistic writers, and for changes of shape.

use std::sync::atomic::Ordering;

use format::ids::{PageId, PageNo};
use format::page::index::{self, INFIMUM, Position, SUPREMUM, SearchMode};
use format::record::Tuple;

use super::{Tree, following, on, previous};
use crate::error::{Error, Result};
use crate::mtr::{Mtr, PageHandle};
use crate::schema::RowPlace;
use crate::segment::{self, Reservation};
use crate::store::{FrameHint, SharedGuard, Store};
use crate::sync::MutexGuard;

/// What a pessimistic descent prepares for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aim {
    /// A record is inserted, or one grows.
    Grow,
    /// The same when a change is undone, which a full disk should not prevent.
    Restore,
    /// The only record of a leaf is removed.
    Empty,
}

/// A place in an exclusively latched leaf.
pub struct Place<'t> {
    pub leaf: PageHandle,
    /// The record that a search by `LessOrEqual` found: a new record goes behind it.
    pub origin: u16,
    /// Whether the record at `origin` has the key.
    pub matched: bool,
    pub(super) path: Option<Path<'t>>,
}

impl Place<'_> {
    /// Whether the path is latched as well, so that every change is possible.
    #[inline]
    pub fn is_pessimistic(&self) -> bool {
        self.path.is_some()
    }
}

/// The part of the path that a change of shape may reach, exclusively latched.
pub(super) struct Path<'t> {
    /// From the top: a node page and the pointer in it that the descent followed.
    pub nodes: Vec<(PageHandle, u16)>,
    pub aim: Aim,
    pub _reservation: Reservation,
    pub _shape: MutexGuard<'t, ()>,
}

/// How a search on node pages must compare, so that the wanted record is on the leaf reached or right behind it.
#[inline]
fn node_mode(mode: SearchMode) -> SearchMode {
    match mode {
        SearchMode::Less | SearchMode::GreaterOrEqual => SearchMode::Less,
        SearchMode::LessOrEqual | SearchMode::Greater => SearchMode::LessOrEqual,
    }
}

impl Tree {
    /// The child to follow for a key, and the origin of the pointer to it.
    #[inline]
    pub(super) fn child(&self, id: PageId, page: &[u8], key: &Tuple<'_>, mode: SearchMode) -> Result<(PageNo, u16)> {
        let mut origin = on(id, index::search(page, &self.node, key, mode))?.origin;
        if origin == INFIMUM {
            origin = on(id, index::first(page))?;
        }
        self.child_of(id, page, origin)
    }

    #[inline]
    pub(super) fn child_of(&self, id: PageId, page: &[u8], origin: u16) -> Result<(PageNo, u16)> {
        if origin == SUPREMUM || origin == INFIMUM {
            return Err(Error::corrupt_page(id, "a node page without records"));
        }
        Ok((on(id, self.node.child(page, usize::from(origin)))?, origin))
    }

    /// Checks that a page is one of this tree, on this level.
    #[inline]
    pub(super) fn expect(&self, id: PageId, page: &[u8], level: u16) -> Result<()> {
        if index::level(page) != level || index::index_id(page) != self.id {
            return Err(self.not_ours(id, page, level));
        }
        Ok(())
    }

    #[cold]
    fn not_ours(&self, id: PageId, page: &[u8], level: u16) -> Error {
        let (found, of) = (index::level(page), index::index_id(page));
        Error::corrupt_page(
            id,
            format_args!("level {found} of index {of} where level {level} of index {} was expected", self.id),
        )
    }

    /// Finds the leaf and the place in it, under a shared latch.
    ///
    /// The place is that of [`index::search`]. By `GreaterOrEqual` and `Greater` it may be the supremum: then the
    /// record, if there is one, is the first of the next leaf. By `Less` and `LessOrEqual` it may be the infimum: with
    /// a whole key that only happens where the record, if there is one, is on the leaf before.
    #[inline]
    pub fn find<'s>(&self, store: &'s Store, key: &Tuple<'_>, mode: SearchMode) -> Result<(SharedGuard<'s>, Position)> {
        let above = node_mode(mode);
        let mut page = store.read(self.page_id(self.root))?;
        let mut level = index::level(&page);
        self.expect(page.page_id(), &page, level)?;
        while level > 0 {
            let (child, _) = self.child(page.page_id(), &page, key, above)?;
            level -= 1;
            page = {
                let child = store.read(self.page_id(child))?;
                self.expect(child.page_id(), &child, level)?;
                child
            };
        }
        let position = on(page.page_id(), index::search(&page, &self.leaf, key, mode))?;
        Ok((page, position))
    }

    /// The first or the last leaf, under a shared latch.
    pub fn edge<'s>(&self, store: &'s Store, last: bool) -> Result<SharedGuard<'s>> {
        let mut page = store.read(self.page_id(self.root))?;
        let mut level = index::level(&page);
        self.expect(page.page_id(), &page, level)?;
        while level > 0 {
            let id = page.page_id();
            let origin = on(id, if last { index::last(&page) } else { index::first(&page) })?;
            let (child, _) = self.child_of(id, &page, origin)?;
            level -= 1;
            let next = store.read(self.page_id(child))?;
            self.expect(next.page_id(), &next, level)?;
            page = next;
        }
        Ok(page)
    }

    /// Latches the leaf of a key exclusively, on the assumption that the change will stay within it. Nothing else is
    /// latched.
    ///
    /// `key` is a whole key; the place is that of a search by `LessOrEqual`.
    #[inline]
    pub fn latch_leaf<'t>(&'t self, mtr: &mut Mtr<'_>, key: &Tuple<'_>) -> Result<Place<'t>> {
        let store = mtr.store();
        let root = self.page_id(self.root);
        let leaf = loop {
            if self.height() == 0 {
                // A small tree. The root may have been raised a moment ago, but then it stays so for a while.
                let leaf = mtr.latch_exclusive(root)?;
                let level = index::level(mtr.page(leaf));
                if level == 0 {
                    self.expect(root, mtr.page(leaf), 0)?;
                    break leaf;
                }
                self.height.store(level, Ordering::Relaxed);
                mtr.release(leaf);
            }
            let mut page = store.read(root)?;
            let mut level = index::level(&page);
            self.expect(root, &page, level)?;
            if level == 0 {
                self.height.store(0, Ordering::Relaxed);
                continue;
            }
            loop {
                let (child, _) = self.child(page.page_id(), &page, key, SearchMode::LessOrEqual)?;
                level -= 1;
                if level == 0 {
                    // The parent is released only now, so the child cannot have moved.
                    let leaf = mtr.latch_exclusive(self.page_id(child))?;
                    drop(page);
                    self.expect(mtr.page_id(leaf), mtr.page(leaf), 0)?;
                    return self.place(mtr, leaf, key);
                }
                let next = store.read(self.page_id(child))?;
                self.expect(next.page_id(), &next, level)?;
                page = next;
            }
        };
        self.place(mtr, leaf, key)
    }

    /// [`Tree::latch_leaf`] of a key that was found a moment ago: if no record of its page has moved since, there is
    /// nothing to search.
    #[inline]
    pub fn latch_leaf_at<'t>(&'t self, mtr: &mut Mtr<'_>, at: RowPlace, key: &Tuple<'_>) -> Result<Place<'t>> {
        let hint = FrameHint { frame: at.frame, clock: at.clock };
        if at.page.space == self.space
            && let Some(leaf) = mtr.relatch_exclusive(at.page, hint)?
        {
            self.expect(at.page, mtr.page(leaf), 0)?;
            let place = Place { leaf, origin: at.origin, matched: true, path: None };
            debug_assert!(self.place(mtr, leaf, key).is_ok_and(|found| found.matched && found.origin == at.origin));
            return Ok(place);
        }
        self.latch_leaf(mtr, key)
    }

    #[inline]
    fn place<'t>(&self, mtr: &Mtr<'_>, leaf: PageHandle, key: &Tuple<'_>) -> Result<Place<'t>> {
        let position = on(mtr.page_id(leaf), index::search(mtr.page(leaf), &self.leaf, key, SearchMode::LessOrEqual))?;
        Ok(Place { leaf, origin: position.origin, matched: position.matched, path: None })
    }

    /// Takes the shape latch, reserves pages, and exclusively latches the leaf of a key and as much of the path to it
    /// as a change may reach.
    ///
    /// The mini-transaction has latched nothing in this tablespace yet. The leaf may have changed since an attempt with
    /// [`Tree::latch_leaf`]: the caller decides again.
    pub fn latch_path<'t>(&'t self, mtr: &mut Mtr<'_>, key: &Tuple<'_>, aim: Aim) -> Result<Place<'t>> {
        let store = mtr.store();
        let (shape, reservation) = loop {
            let height = self.height();
            // A new page on every level, and the level that a raised root adds.
            let pages = u32::from(height) + 3;
            let reservation = mtr.aside(|store| match aim {
                Aim::Grow => segment::reserve(store, self.space, pages),
                Aim::Restore | Aim::Empty => segment::insist(store, self.space, pages),
            })?;
            let shape = self.lock_shape();
            let level = index::level(&store.read(self.page_id(self.root))?);
            self.height.store(level, Ordering::Relaxed);
            if level <= height {
                break (shape, reservation);
            }
        };
        let (top, level) = self.lowest_safe(store, key, aim)?;
        let mut path = Path { nodes: Vec::with_capacity(4), aim, _reservation: reservation, _shape: shape };

        // From here on all latches are exclusive: top down, and each page that may split with its right neighbour.
        let mut page = mtr.latch_exclusive(self.page_id(top))?;
        for below in (0..level).rev() {
            let id = mtr.page_id(page);
            self.expect(id, mtr.page(page), below + 1)?;
            let next = following(mtr.page(page));
            if !next.is_null() && (aim == Aim::Empty || !self.is_safe(mtr.page(page), aim)) {
                mtr.latch_exclusive(self.page_id(next))?;
            }
            let (child, origin) = self.child(id, mtr.page(page), key, SearchMode::LessOrEqual)?;
            path.nodes.push((page, origin));
            if aim == Aim::Empty {
                // Every page on the path may be unlinked from its neighbours.
                let left = previous(&store.read(self.page_id(child))?);
                if !left.is_null() {
                    mtr.latch_exclusive(self.page_id(left))?;
                }
            }
            page = mtr.latch_exclusive(self.page_id(child))?;
        }
        self.expect(mtr.page_id(page), mtr.page(page), 0)?;
        match aim {
            Aim::Empty => self.latch_behind(mtr, page)?,
            // A split gives it a new neighbour. That is latched now: a writer has latched an undo page by the time of
            // the split, and a reader that has the neighbour latched may wait for that page.
            Aim::Grow | Aim::Restore => {
                let next = following(mtr.page(page));
                if !next.is_null() {
                    mtr.latch_exclusive(self.page_id(next))?;
                }
            }
        }
        let mut place = self.place(mtr, page, key)?;
        place.path = Some(path);
        Ok(place)
    }

    /// Latches the two pages behind a leaf: the next one may be merged into it, and then the one behind gets a new
    /// neighbour.
    fn latch_behind(&self, mtr: &mut Mtr<'_>, leaf: PageHandle) -> Result<()> {
        let next = following(mtr.page(leaf));
        if !next.is_null() {
            let next = mtr.latch_exclusive(self.page_id(next))?;
            let behind = following(mtr.page(next));
            if !behind.is_null() {
                mtr.latch_exclusive(self.page_id(behind))?;
            }
        }
        Ok(())
    }

    /// The lowest page that stops a change from propagating upward; the root if none does. The shape latch is held, so
    /// the answer stays true for node pages.
    fn lowest_safe(&self, store: &Store, key: &Tuple<'_>, aim: Aim) -> Result<(PageNo, u16)> {
        let mut page = store.read(self.page_id(self.root))?;
        let mut level = index::level(&page);
        let root = (self.root, level);
        let mut lowest = root;
        while level > 0 {
            if self.is_safe(&page, aim) {
                lowest = (page.page_id().page, level);
            }
            let (child, origin) = self.child(page.page_id(), &page, key, SearchMode::LessOrEqual)?;
            if aim == Aim::Empty && level > 1 && on(page.page_id(), index::first(&page))? == origin {
                // If the whole subtree below is removed, so is the first pointer of this page: that propagates further
                // up.
                lowest = root;
            }
            level -= 1;
            if level == 0 {
                break;
            }
            page = store.read(self.page_id(child))?;
            self.expect(page.page_id(), &page, level)?;
        }
        Ok(lowest)
    }

    /// Whether a change below cannot propagate beyond this node page.
    fn is_safe(&self, page: &[u8], aim: Aim) -> bool {
        match aim {
            Aim::Grow | Aim::Restore => index::reorganized_free_bytes(page, 1) >= self.node_bytes_max,
            Aim::Empty => index::record_count(page) >= 2,
        }
    }
}
