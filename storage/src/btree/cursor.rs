//! Going along the leaves, under shared latches.
//!
//! To the right a reader latches the next leaf while it holds the one it comes from, in the order in which all latches of
//! a level are taken. To the left that order is against it: it lets go, latches the left leaf and then its own again,
//! and looks whether they are still neighbours.

use format::page::index::{self, INFIMUM, SearchMode};
use format::record::Tuple;

use super::{Tree, following, on, previous};
use crate::error::Result;
use crate::store::{SharedGuard, Store};

/// How often a reader on its way to the left tries to find two neighbours in peace before it starts from the root.
const NEIGHBOUR_TRIES: usize = 3;

impl Tree {
    /// The leaf to the right.
    #[inline]
    pub fn next_leaf<'s>(&self, store: &'s Store, leaf: SharedGuard<'s>) -> Result<Option<SharedGuard<'s>>> {
        let next = following(&leaf);
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
        'again: loop {
            let (mut page, position) = self.find(store, key, mode)?;
            if position.origin != INFIMUM {
                return Ok(Some((page, position.origin)));
            }
            // All records of the leaf are behind the key, so the one looked for is on the leaf before.
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

}
