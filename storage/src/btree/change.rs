//! Changing the records of a leaf: insert, replace, patch, remove.
//!
//! Each operation first checks whether the leaf can take the change as it is, or reorganised. If not, it says so and
//! has changed nothing, unless the place was found by [`Tree::latch_path`]: then it goes on to split or to free pages.
//!
//! An operation takes the mini-transaction as one that may fail, and returns it as one that cannot: the caller writes
//! what belongs to the change (its undo record) and commits. A change that fits the leaf is one operation on one page,
//! done completely or not at all, so the page need not be copied for it.

use std::cell::Cell;

use format::page::index::{self, Fit, INFIMUM, SUPREMUM};
use format::record::{DELETED, Layout, RecordImage, VERSIONED};
use format::redo::{PageOp, Patches};

use super::search::Aim;
use super::{Place, Tree, on};
use crate::error::Result;
use crate::mtr::{Changes, Mtr, PageHandle};

thread_local! {
    /// The buffer of this thread's last [`Tree::replace`], for the next one.
    static PATCHES: Cell<Patches> = Cell::new(Patches::new());
}

/// Where a record is after a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Made {
    pub page: PageHandle,
    pub origin: u16,
}

/// The result of a change.
#[must_use]
pub enum Change<'s> {
    /// Done, and not yet committed.
    Done(Changes<'s>, Made),
    /// Not done: it needs a [`Tree::latch_path`] with [`Aim::Grow`].
    Full,
}

/// The result of a removal.
#[must_use]
pub enum Removal<'s> {
    /// Done, and not yet committed. If the leaf is now rather empty (`underfull`), [`Tree::merge`] may be worth a try
    /// after the commit.
    Done { changes: Changes<'s>, underfull: bool },
    /// Not done, since it would empty the leaf: it needs a [`Tree::latch_path`] with [`Aim::Empty`].
    Last,
}

/// Free space that inserts in ascending order leave on a leaf of a clustered index, for later updates.
#[inline]
fn reserve_bytes(page_bytes: usize) -> usize {
    page_bytes / 16
}

/// A page with fewer bytes of records than this tries to merge with a neighbour. Less than half, so that a page that
/// was just split does not.
#[inline]
pub(super) fn underfull_bytes(page_bytes: usize) -> usize {
    page_bytes * 3 / 8
}

impl Tree {
    /// Inserts a record behind the one at the place.
    pub fn insert<'s>(&self, mut mtr: Mtr<'s>, place: Place<'_>, image: RecordImage<'_>) -> Result<Change<'s>> {
        let Place { leaf, origin, path, .. } = place;
        if let Some(path) = path {
            debug_assert!(path.aim != Aim::Empty);
            let made = self.insert_or_split(&mut mtr, path.nodes, leaf, origin, image)?;
            return Ok(Change::Done(mtr.certain(), made));
        }
        let page = mtr.page(leaf);
        let sequential = index::last_insert(page) == origin
            && origin != INFIMUM
            && on(mtr.page_id(leaf), index::next(page, origin))? == SUPREMUM;
        if sequential
            && self.leaf.trx_id_field().is_some()
            && index::record_count(page) >= 2
            && index::reorganized_free_bytes(page, 1) < image.size() + reserve_bytes(page.len())
        {
            return Ok(Change::Full);
        }
        self.insert_on_leaf(mtr, leaf, origin, image)
    }

    /// Inserts a record behind another of the same leaf, if there is space.
    fn insert_on_leaf<'s>(
        &self,
        mut mtr: Mtr<'s>,
        leaf: PageHandle,
        after: u16,
        image: RecordImage<'_>,
    ) -> Result<Change<'s>> {
        let id = mtr.page_id(leaf);
        let changes = match on(id, index::fit(mtr.page(leaf), &self.leaf, image.size()))? {
            Fit::No => return Ok(Change::Full),
            Fit::Now(place) => mtr.change(leaf, PageOp::InsertRecord { after, place, record: image })?,
            Fit::Reorganized => {
                return Ok(match self.insert_on_page(&mut mtr, leaf, &self.leaf, after, image)? {
                    Some(origin) => Change::Done(mtr.certain(), Made { page: leaf, origin }),
                    None => Change::Full,
                });
            }
        };
        // The page took the record, so this is where it is.
        let origin = index::last_insert(changes.page(leaf));
        Ok(Change::Done(changes, Made { page: leaf, origin }))
    }

    /// Whether [`Tree::insert`] would succeed at this place. (The answer is valid as long as the latch is held.)
    pub fn can_insert(&self, mtr: &Mtr<'_>, place: &Place<'_>, bytes: usize) -> Result<bool> {
        if place.is_pessimistic() {
            return Ok(true);
        }
        let page = mtr.page(place.leaf);
        let id = mtr.page_id(place.leaf);
        let sequential = index::last_insert(page) == place.origin
            && place.origin != INFIMUM
            && on(id, index::next(page, place.origin))? == SUPREMUM;
        if sequential && self.leaf.trx_id_field().is_some() && index::record_count(page) >= 2 {
            return Ok(index::reorganized_free_bytes(page, 1) >= bytes + reserve_bytes(page.len()));
        }
        Ok(on(id, index::fit(page, &self.leaf, bytes))? != Fit::No)
    }

    /// Whether [`Tree::replace`] of the record at the place by one of `bytes` would succeed.
    pub fn can_replace(&self, mtr: &Mtr<'_>, place: &Place<'_>, bytes: usize) -> Result<bool> {
        if place.is_pessimistic() {
            return Ok(true);
        }
        let page = mtr.page(place.leaf);
        let old = on(mtr.page_id(place.leaf), self.leaf.size(page, usize::from(place.origin)))?.total();
        // The directory's reserve counts the old record already.
        Ok(bytes <= old || index::reorganized_free_bytes(page, 0) + old >= bytes)
    }

    /// Replaces the record found by one with the same key.
    ///
    /// If only bytes differ and no length does, it overwrites these bytes in place.
    pub fn replace<'s>(&self, mut mtr: Mtr<'s>, place: Place<'_>, image: RecordImage<'_>) -> Result<Change<'s>> {
        debug_assert!(place.matched);
        let Place { leaf, origin, path, .. } = place;
        let id = mtr.page_id(leaf);
        let old = on(id, RecordImage::of(mtr.page(leaf), &self.leaf, usize::from(origin)))?;
        // Records of different row versions have other fields, whatever their bytes are.
        let alike = (old.info ^ image.info) & VERSIONED == 0 && old.extra == image.extra;
        if alike && old.data.len() == image.data.len() {
            let mut patches = PATCHES.take();
            patches.clear();
            differences(old.data, image.data, &mut patches);
            let deleted = ((old.info ^ image.info) & DELETED != 0).then_some(image.info & DELETED != 0);
            let changes = match patches.is_empty() && deleted.is_none() {
                true => mtr.certain(),
                false => mtr.change(leaf, PageOp::UpdateInPlace { origin, deleted, patches: patches.bytes() })?,
            };
            PATCHES.set(patches);
            return Ok(Change::Done(changes, Made { page: leaf, origin }));
        }

        let old_bytes = old.size();
        let page = mtr.page(leaf);
        let fits = image.size() <= old_bytes || index::reorganized_free_bytes(page, 0) + old_bytes >= image.size();
        if !fits && path.is_none() {
            return Ok(Change::Full);
        }
        let before = on(id, index::prev(page, origin))?;
        let remove = on(id, PageOp::remove(page, &self.leaf, origin))?;
        mtr.apply(leaf, remove)?;
        let made = match path {
            None => match self.insert_on_page(&mut mtr, leaf, &self.leaf, before, image)? {
                Some(origin) => Made { page: leaf, origin },
                None => return Err(mtr.corrupt(leaf, "a leaf with less room than it says")),
            },
            Some(path) => self.insert_or_split(&mut mtr, path.nodes, leaf, before, image)?,
        };
        Ok(Change::Done(mtr.certain(), made))
    }

    /// Overwrites bytes of the record at `origin`, and its delete mark unless `None`.
    #[inline]
    pub fn patch<'s>(
        &self,
        mtr: Mtr<'s>,
        leaf: PageHandle,
        origin: u16,
        deleted: Option<bool>,
        patches: &Patches,
    ) -> Result<Changes<'s>> {
        mtr.change(leaf, PageOp::UpdateInPlace { origin, deleted, patches: patches.bytes() })
    }

    #[inline]
    pub fn set_delete_mark<'s>(
        &self,
        mtr: Mtr<'s>,
        leaf: PageHandle,
        origin: u16,
        deleted: bool,
    ) -> Result<Changes<'s>> {
        mtr.change(leaf, PageOp::SetDeleteMark { origin, deleted })
    }

    /// Removes the record found.
    pub fn remove<'s>(&self, mut mtr: Mtr<'s>, place: Place<'_>) -> Result<Removal<'s>> {
        debug_assert!(place.matched);
        let Place { leaf, origin, path, .. } = place;
        let id = mtr.page_id(leaf);
        let page = mtr.page(leaf);
        let last = index::record_count(page) == 1 && id.page != self.root;
        if last && path.is_none() {
            return Ok(Removal::Last);
        }
        let remove = on(id, PageOp::remove(page, &self.leaf, origin))?;
        if last {
            let path = path.expect("looked at a moment ago");
            debug_assert!(path.aim == Aim::Empty);
            mtr.apply(leaf, remove)?;
            self.drop_empty_leaf(&mut mtr, path.nodes, leaf)?;
            return Ok(Removal::Done { changes: mtr.certain(), underfull: false });
        }
        let changes = mtr.change(leaf, remove)?;
        let page = changes.page(leaf);
        let underfull = id.page != self.root && index::data_bytes(page) < underfull_bytes(page.len());
        Ok(Removal::Done { changes, underfull })
    }

    /// Inserts a record on a page of any level if there is space, reorganising the page if that helps. Returns its
    /// position.
    pub(super) fn insert_on_page(
        &self,
        mtr: &mut Mtr<'_>,
        page: PageHandle,
        layout: &Layout,
        after: u16,
        image: RecordImage<'_>,
    ) -> Result<Option<u16>> {
        let id = mtr.page_id(page);
        let mut after = after;
        let op = match on(id, index::fit(mtr.page(page), layout, image.size()))? {
            Fit::Now(place) => PageOp::InsertRecord { after, place, record: image },
            Fit::No => return Ok(None),
            Fit::Reorganized => {
                after = self.reorganize(mtr, page, layout, after)?;
                match on(id, PageOp::insert(mtr.page(page), layout, after, image))? {
                    Some(op) => op,
                    None => return Ok(None),
                }
            }
        };
        mtr.apply(page, op)?;
        Ok(Some(on(id, index::next(mtr.page(page), after))?))
    }

    /// Reorganises a page and returns the new position of the record that was at `origin`.
    pub(super) fn reorganize(&self, mtr: &mut Mtr<'_>, page: PageHandle, layout: &Layout, origin: u16) -> Result<u16> {
        let id = mtr.page_id(page);
        let rank = match origin {
            INFIMUM => None,
            origin => Some(on(id, index::rank(mtr.page(page), origin))?),
        };
        let mut sizes = Vec::new();
        let op = on(id, PageOp::reorganize(mtr.page(page), layout, &mut sizes))?;
        mtr.apply(page, op)?;
        match rank {
            None => Ok(INFIMUM),
            Some(rank) => on(id, index::nth(mtr.page(page), rank)),
        }
    }
}

/// The ranges in which two records' data of equal length differ. Ranges close to each other become one.
pub(super) fn differences(old: &[u8], new: &[u8], patches: &mut Patches) {
    const GAP: usize = 4;
    let mut next = first_difference(old, new, 0);
    while let Some(start) = next {
        let mut end = start + 1;
        next = loop {
            match first_difference(old, new, end) {
                Some(near) if near < end + GAP => end = near + 1,
                far => break far,
            }
        };
        patches.push(start as u16, &new[start..end]);
    }
}

/// Where two texts of equal length differ first, from a place on.
#[inline]
fn first_difference(old: &[u8], new: &[u8], from: usize) -> Option<usize> {
    let (old, new) = (old.get(from..)?, new.get(from..)?);
    let ((old_words, old_rest), (new_words, new_rest)) = (old.as_chunks(), new.as_chunks());
    for (number, (old, new)) in old_words.iter().zip(new_words).enumerate() {
        let different = u64::from_le_bytes(*old) ^ u64::from_le_bytes(*new);
        if different != 0 {
            return Some(from + number * size_of::<u64>() + different.trailing_zeros() as usize / 8);
        }
    }
    let rest = old_rest.iter().zip(new_rest).position(|(old, new)| old != new)?;
    Some(from + size_of_val(old_words) + rest)
}
