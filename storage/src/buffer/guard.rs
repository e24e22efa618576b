//! What a reader holds: a page under a shared latch.

use std::ops::Deref;

use format::ids::PageId;

use super::frame::SharedLatch;
use crate::schema::RowPlace;

/// A page under a shared latch. Unlatches when dropped.
pub struct SharedGuard<'s> {
    page: PageId,
    latch: SharedLatch<'s>,
}

/// Where a page was last seen, to return to it without a search: see `Store::try_reacquire`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameHint {
    pub frame: u32,
    /// The frame's modify clock when it was seen.
    pub clock: u64,
}

impl<'s> SharedGuard<'s> {
    pub fn new(page: PageId, latch: SharedLatch<'s>) -> SharedGuard<'s> {
        SharedGuard { page, latch }
    }

    #[inline]
    pub fn page_id(&self) -> PageId {
        self.page
    }

    /// Remembers the page as it is now: the hint is good until the page changes or leaves.
    #[inline]
    pub fn hint(&self) -> FrameHint {
        FrameHint { frame: self.latch.index(), clock: self.latch.frame().clock() }
    }

    /// The same for a record.
    #[inline]
    pub fn place_of(&self, origin: u16) -> RowPlace {
        let FrameHint { frame, clock } = self.hint();
        RowPlace { page: self.page, frame, clock, origin }
    }
}

impl Deref for SharedGuard<'_> {
    type Target = [u8];
    #[inline]
    fn deref(&self) -> &[u8] {
        &self.latch
    }
}
