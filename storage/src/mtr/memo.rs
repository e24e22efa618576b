//! The memo of a mini-transaction: which pages it has latched, and how.

use std::cell::Cell;

use format::ids::PageId;

use crate::buffer::frame::{ExclusiveLatch, SharedLatch};

/// A thread keeps the places of its last memo for the next one if there are not more: a split takes fewer.
const PLACES_KEPT: usize = 64;

thread_local! {
    /// The places of this thread's last memo: none is taken, only their memory is of use.
    static PLACES: Cell<Vec<Option<Entry<'static>>>> = const { Cell::new(Vec::new()) };
}

/// A page latched by a mini-transaction. Valid until it is released or the mini-transaction commits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageHandle(pub(crate) u32);

pub enum Latch<'s> {
    Shared(SharedLatch<'s>),
    Exclusive(ExclusiveLatch<'s>),
}

pub struct Entry<'s> {
    pub page: PageId,
    pub latch: Latch<'s>,
    pub changed: bool,
    /// Records may be elsewhere on it than before.
    pub moved: bool,
    /// The mini-transaction has kept a copy of its earlier content.
    pub kept: bool,
}

impl<'s> Entry<'s> {
    pub fn shared(page: PageId, latch: SharedLatch<'s>) -> Entry<'s> {
        Entry { page, latch: Latch::Shared(latch), changed: false, moved: false, kept: false }
    }

    #[inline]
    pub fn exclusive(page: PageId, latch: ExclusiveLatch<'s>) -> Entry<'s> {
        Entry { page, latch: Latch::Exclusive(latch), changed: false, moved: false, kept: false }
    }
}

/// The latched pages, in the order of latching. Released places stay empty, so that handles stay valid. They are not
/// inline, since a mini-transaction is moved when it becomes certain.
pub struct Memo<'s> {
    places: Vec<Option<Entry<'s>>>,
}

impl<'s> Memo<'s> {
    pub fn new() -> Memo<'s> {
        Memo { places: with_another_lifetime(PLACES.take()) }
    }

    #[inline]
    pub fn push(&mut self, entry: Entry<'s>) -> PageHandle {
        self.places.push(Some(entry));
        PageHandle(self.places.len() as u32 - 1)
    }

    #[inline]
    pub fn place(&mut self, handle: PageHandle) -> &mut Option<Entry<'s>> {
        &mut self.places[handle.0 as usize]
    }

    #[inline]
    pub fn get(&self, handle: PageHandle) -> &Entry<'s> {
        self.places[handle.0 as usize].as_ref().expect("the page has not been released")
    }

    #[inline]
    pub fn entries(&mut self) -> impl Iterator<Item = &mut Option<Entry<'s>>> {
        self.places.iter_mut()
    }

    #[inline]
    pub fn find(&self, page: PageId) -> Option<PageHandle> {
        let at = self.places.iter().position(|place| place.as_ref().is_some_and(|entry| entry.page == page));
        at.map(|index| PageHandle(index as u32))
    }
}

impl Drop for Memo<'_> {
    #[inline]
    fn drop(&mut self) {
        self.places.clear();
        if self.places.capacity() <= PLACES_KEPT {
            PLACES.set(with_another_lifetime(std::mem::take(&mut self.places)));
        }
    }
}

/// The memory of a vector without elements. A vector that is collected from another of the same layout takes over its
/// memory (`storage/tests/cost.rs` counts allocations).
#[inline]
fn with_another_lifetime<'b>(places: Vec<Option<Entry<'_>>>) -> Vec<Option<Entry<'b>>> {
    debug_assert!(places.is_empty());
    places.into_iter().map(|_| None).collect()
}
