//! Truncates a tablespace: removes the free extents at its end.
//!
//! ```text
//!   size   |#### used ####|.. free ..|## used ##|........ free ........|
//!                                                ^ free limit comes down to here      1  describe_less
//!                                     checkpoint passes                               2
//!                                               |  size comes down, too               3  shorten
//!                                               |  the log is flushed, the file cut
//! ```
//!
//! Between 1 and 3 the pages behind the free limit are as in a file that has just grown: allocated to no segment, and
//! without descriptors. A dirty page there was changed before 1, so once the checkpoint has passed 1 there is none, and
//! recovery will not change any. A crash at any point leaves a file that is longer than its page 0 says, or that has
//! room without descriptors; both are ordinary.
//!
//! Invariants:
//!
//! * Nothing is cut off while a reservation exists: it counts on the free extents.
//! * The file is cut only after the log record of the new size is durable: page 0 never promises pages that are gone.

use std::sync::atomic::Ordering;

use format::ids::{Lsn, PageNo, SpaceId};
use format::page::space as layout;

use super::space::Space;
use crate::error::{Error, Result};
use crate::mtr::Mtr;
use crate::store::Store;

/// Extents in one mini-transaction.
const EXTENTS_MAX: usize = if cfg!(test) { 2 } else { 32 };

/// Removes the descriptors of the free extents at the end of a tablespace. Returns how many pages have descriptors
/// then, and the LSN that the checkpoint has to pass before [`shorten`]. None = a reservation exists.
pub fn describe_less(store: &Store, id: SpaceId) -> Result<Option<(u32, Lsn)>> {
    let tablespace = store.space(id).ok_or_else(|| Error::NotFound(format!("tablespace {id}").into()))?;
    loop {
        let mut mtr = Mtr::begin(store);
        let mut space = Space::latch(&mut mtr, id)?;
        if tablespace.reserved_pages().load(Ordering::Relaxed) > 0 {
            return Ok(None);
        }
        let mut forgotten = 0;
        while forgotten < EXTENTS_MAX && space.forget_last_extent()? {
            forgotten += 1;
        }
        let limit = space.free_limit();
        let lsn = mtr.commit();
        if forgotten < EXTENTS_MAX {
            return Ok(Some((limit, lsn)));
        }
    }
}

/// Cuts the file behind `limit` pages, which [`describe_less`] returned; the checkpoint has passed the LSN that came
/// with it. Returns by how many pages; 0 if another thread has allocated or reserved pages meanwhile.
pub fn shorten(store: &Store, id: SpaceId, limit: u32) -> Result<u32> {
    let tablespace = store.space(id).ok_or_else(|| Error::NotFound(format!("tablespace {id}").into()))?;
    let (cut, lsn) = {
        let mut mtr = Mtr::begin(store);
        let mut space = Space::latch(&mut mtr, id)?;
        let reserved = tablespace.reserved_pages().load(Ordering::Relaxed) > 0;
        // A crash may have left a file that is longer than page 0 says.
        let pages = space.size().min(limit);
        if reserved || space.free_limit() != limit || tablespace.pages() <= pages {
            return Ok(0);
        }
        let cut = tablespace.pages() - pages;
        if pages < space.size() {
            let header = space.header;
            space.write_u32(header, layout::SIZE, pages);
        }
        // Under the latch, so that a thread that grows the file again begins here.
        tablespace.shrink_to(pages);
        (cut, mtr.commit())
    };
    store.flush_log(lsn)?;
    tablespace.cut()?;
    Ok(cut)
}

impl Space<'_, '_> {
    /// Removes the last described extent, if none of its pages is allocated. False = it cannot be removed.
    fn forget_last_extent(&mut self) -> Result<bool> {
        let (pages, limit) = (self.extent_pages(), self.free_limit());
        // The fixed pages are in the first one.
        if limit <= pages {
            return Ok(false);
        }
        let first = PageNo(limit - pages);
        let Some(extent) = self.extent_of(first)? else { return Ok(false) };
        let state = self.extent_state(extent);
        match first.0.is_multiple_of(self.page_bytes as u32) {
            // Its first pages hold the descriptors of itself and the removed extents behind it, and a bitmap.
            true if state == layout::STATE_FREE_FRAGMENT && self.extent_used(extent) == 2 => {
                self.list(layout::FREE_FRAGMENT_LIST).remove(self.mtr, extent.node())?;
                let used = self.fragments_used().saturating_sub(2);
                let header = self.header;
                self.write_u32(header, layout::FRAGMENT_USED, used);
            }
            false if state == layout::STATE_FREE => {
                self.list(layout::FREE_LIST).remove(self.mtr, extent.node())?;
            }
            _ => return Ok(false),
        }
        let header = self.header;
        self.write_u32(header, layout::FREE_LIMIT, first.0);
        Ok(true)
    }
}
