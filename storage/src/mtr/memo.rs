//! The memo of a mini-transaction: which pages it has latched, and how.

use format::ids::PageId;

use crate::buffer::frame::{ExclusiveLatch, SharedLatch};

/// Pages in the memo before it spills to the heap: more than a split of a tree of usual height latches.
const MEMO_INLINE: usize = 12;

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
    /// The mini-transaction has kept a copy of its earlier content.
    pub kept: bool,
}

impl<'s> Entry<'s> {
    pub fn shared(page: PageId, latch: SharedLatch<'s>) -> Entry<'s> {
        Entry { page, latch: Latch::Shared(latch), changed: false, kept: false }
    }

    #[inline]
    pub fn exclusive(page: PageId, latch: ExclusiveLatch<'s>) -> Entry<'s> {
        Entry { page, latch: Latch::Exclusive(latch), changed: false, kept: false }
    }
}

/// The latched pages, in the order of latching. Released places stay empty, so that handles stay valid.
pub struct Memo<'s> {
    inline: [Option<Entry<'s>>; MEMO_INLINE],
    spilled: Vec<Option<Entry<'s>>>,
    count: usize,
}

impl<'s> Memo<'s> {
    pub fn new() -> Memo<'s> {
        Memo { inline: [const { None }; MEMO_INLINE], spilled: Vec::new(), count: 0 }
    }

    #[inline]
    pub fn push(&mut self, entry: Entry<'s>) -> PageHandle {
        let index = self.count;
        match self.inline.get_mut(index) {
            Some(place) => *place = Some(entry),
            None => self.spilled.push(Some(entry)),
        }
        self.count += 1;
        PageHandle(index as u32)
    }

    #[inline]
    pub fn place(&mut self, handle: PageHandle) -> &mut Option<Entry<'s>> {
        let index = handle.0 as usize;
        if index < MEMO_INLINE { &mut self.inline[index] } else { &mut self.spilled[index - MEMO_INLINE] }
    }

    #[inline]
    pub fn get(&self, handle: PageHandle) -> &Entry<'s> {
        let index = handle.0 as usize;
        let place = if index < MEMO_INLINE { &self.inline[index] } else { &self.spilled[index - MEMO_INLINE] };
        place.as_ref().expect("the page has not been released")
    }

    #[inline]
    pub fn entries(&mut self) -> impl Iterator<Item = &mut Option<Entry<'s>>> {
        self.inline[..self.count.min(MEMO_INLINE)].iter_mut().chain(self.spilled.iter_mut())
    }

    #[inline]
    pub fn find(&self, page: PageId) -> Option<PageHandle> {
        let inline = self.inline[..self.count.min(MEMO_INLINE)].iter().chain(self.spilled.iter());
        let at = inline.enumerate().find(|(_, entry)| entry.as_ref().is_some_and(|entry| entry.page == page));
        at.map(|(index, _)| PageHandle(index as u32))
    }
}
