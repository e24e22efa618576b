//! Moving along the leaves, under shared latches.
//!
//! To the right a reader latches the next leaf while it holds the present one, in the order in which all latches of a
//! level are taken. To the left that would violate the order: the reader releases its leaf, latches the left one and
//! then its own again, and checks whether they are still neighbours.

use format::page::index::{self, INFIMUM, SearchMode};
use format::record::{Layout, Tuple};

use super::{Tree, following, on, previous};
use crate::error::{Error, Result};
use crate::store::{SharedGuard, Store};

/// How often a reader moving left tries to latch two neighbours before it starts from the root.
const NEIGHBOUR_TRIES: usize = 3;

/// How often it starts from the root before the tree is taken for damaged: other threads do not change it so often.
const ROUNDS_MAX: usize = 10_000;

impl Tree {
    /// The leaf to the right.
    #[inline]
    pub fn next_leaf<'s>(&self, store: &'s Store, leaf: SharedGuard<'s>) -> Result<Option<SharedGuard<'s>>> {
        self.leaf_behind(store, &leaf)
    }

    /// The leaf to the right of one that stays latched.
    pub fn leaf_behind<'s>(&self, store: &'s Store, leaf: &SharedGuard<'_>) -> Result<Option<SharedGuard<'s>>> {
        let next = following(leaf);
        if next.is_null() {
            return Ok(None);
        }
        let page = store.read(self.page_id(next))?;
        self.expect(page.page_id(), &page, 0)?;
        Ok(Some(page))
    }

    /// The last record smaller than the tuple (which may be the beginning of a key), and its leaf.
    pub fn find_before<'s>(&self, store: &'s Store, key: &Tuple<'_>) -> Result<Option<(SharedGuard<'s>, u16)>> {
        self.find_left(store, key, SearchMode::Less)
    }

    /// The last record that is smaller than the tuple or begins with it, and its leaf.
    pub fn find_up_to<'s>(&self, store: &'s Store, key: &Tuple<'_>) -> Result<Option<(SharedGuard<'s>, u16)>> {
        self.find_left(store, key, SearchMode::LessOrEqual)
    }

    fn find_left<'s>(
        &self,
        store: &'s Store,
        key: &Tuple<'_>,
        mode: SearchMode,
    ) -> Result<Option<(SharedGuard<'s>, u16)>> {
        let mut rounds = 0;
        'again: loop {
            let (mut page, position) = self.find(store, key, mode)?;
            if position.origin != INFIMUM {
                return Ok(Some((page, position.origin)));
            }
            rounds += 1;
            if rounds == ROUNDS_MAX {
                return Err(Error::corrupt_page(page.page_id(), "a leaf whose neighbours do not lead to it"));
            }
            // All records of the leaf are behind the key, so the record is on the leaf before.
            let mut tries = 0;
            loop {
                let left = previous(&page);
                if left.is_null() {
                    return Ok(None);
                }
                let here = page.page_id();
                drop(page);
                let before = store.read(self.page_id(left))?;
                let is_ours = index::index_id(&before) == self.id && index::level(&before) == 0;
                if is_ours && following(&before) == here.page {
                    page = store.read(here)?;
                    let position = on(here, index::search(&page, &self.leaf, key, mode))?;
                    if position.origin != INFIMUM {
                        return Ok(Some((page, position.origin)));
                    }
                    let origin = on(before.page_id(), index::last(&before))?;
                    if origin != INFIMUM {
                        return Ok(Some((before, origin)));
                    }
                    continue 'again;
                }
                tries += 1;
                if tries == NEIGHBOUR_TRIES {
                    continue 'again;
                }
                drop(before);
                page = store.read(here)?;
                if index::index_id(&page) != self.id || index::level(&page) != 0 {
                    continue 'again;
                }
            }
        }
    }

    /// Descends from the root; `choose` gets each page, the leaf too, and returns the record to follow.
    pub fn descend(&self, store: &Store, choose: &mut dyn FnMut(&[u8], &Layout) -> format::Result<u16>) -> Result<()> {
        let mut page = store.read(self.page_id(self.root))?;
        loop {
            let level = index::level(&page);
            let id = page.page_id();
            let origin = on(id, choose(&page, self.layout(level)))?;
            if level == 0 {
                return Ok(());
            }
            let (child, _) = self.child_of(id, &page, origin)?;
            let below = store.read(self.page_id(child))?;
            self.expect(below.page_id(), &below, level - 1)?;
            page = below;
        }
    }

    /// The approximate number of leaves, from the records of the node pages on one path down.
    pub fn leaf_count(&self, store: &Store) -> Result<u64> {
        let mut count = 1_u64;
        for fraction in [0.25, 0.5, 0.75] {
            let mut leaves = 1_u64;
            let mut rest: f64 = fraction;
            self.descend(store, &mut |page, _| {
                let records = index::record_count(page);
                if index::level(page) == 0 {
                    return Ok(INFIMUM);
                }
                leaves *= records as u64;
                let place = rest * records as f64;
                rest = place.fract();
                index::nth(page, (place as usize).min(records.saturating_sub(1)))
            })?;
            count = count.max(leaves);
        }
        Ok(count)
    }
}
