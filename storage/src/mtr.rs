//! Mini-transactions: latched pages and redo records, applied as one.
//!
//! An [`Mtr`] collects latches in its *memo* and redo records in a buffer. A page is changed only through it, by an
//! operation that is applied and logged in the same call; so what recovery repeats is what has happened. At the commit
//! the records become one group of the log, the changed pages get its LSN and enter the flush list, and all latches are
//! released.
//!
//! ```text
//!   begin     latch pages, apply operations ...        commit
//!     |          memo: [S 3] [X 17*] [X 18*]             |  append group -> LSN 8431
//!     |          log:  insert 17, write 18               |  pages 17, 18: LSN 8431, dirty
//!     v                                                  v  unlatch all
//!   room in the log is reserved               nothing waits for the disk
//! ```
//!
//! Invariants:
//!
//! * After a crash a group is applied whole or not at all; the pages of one mini-transaction agree with each other.
//! * A changed page stays latched to the commit: nobody sees half of it, and no copy of it is written before its redo.
//! * Pages of temporary tablespaces are changed in the same way, but not logged: their LSN stays zero, and no recovery
//!   will ask for them. They are written when their turn in the flush list comes.
//! * In the steady state nothing is allocated: the memo is inline, the log buffer belongs to the thread.
//!
//! Not here: undo. A mini-transaction that changed pages and cannot be completed leaves them half changed, which only a
//! recovery can mend; so dropping one poisons the store. Whatever can fail is done before the first change.

use std::cell::Cell;
use std::ops::Range;

use format::ids::{Lsn, PageId, SpaceId};
use format::page::header;
use format::redo::{PageOp, Record, encode_page};

use crate::buffer::frame::{ExclusiveLatch, SharedLatch};
use crate::error::{Error, Result};
use crate::store::{FrameHint, Store};
use crate::sync;

/// Pages in the memo before it spills to the heap: more than a split of a tree of usual height latches.
const MEMO_INLINE: usize = 12;

/// Log buffers that grew beyond this are not kept by their thread.
const LOG_KEPT_BYTES: usize = 256 << 10;

thread_local! {
    /// The log buffer of this thread's last mini-transaction, for the next one.
    static LOG: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

enum Latch<'s> {
    Shared(SharedLatch<'s>),
    Exclusive(ExclusiveLatch<'s>),
}

struct Entry<'s> {
    page: PageId,
    latch: Latch<'s>,
    changed: bool,
}

/// The latched pages, in the order of latching. Released places stay empty, so that handles stay valid.
struct Memo<'s> {
    inline: [Option<Entry<'s>>; MEMO_INLINE],
    spilled: Vec<Option<Entry<'s>>>,
    count: usize,
}

impl<'s> Memo<'s> {
    #[inline]
    fn push(&mut self, entry: Entry<'s>) -> PageHandle {
        let index = self.count;
        match self.inline.get_mut(index) {
            Some(place) => *place = Some(entry),
            None => self.spilled.push(Some(entry)),
        }
        self.count += 1;
        PageHandle(index as u32)
    }

    #[inline]
    fn place(&mut self, handle: PageHandle) -> &mut Option<Entry<'s>> {
        let index = handle.0 as usize;
        if index < MEMO_INLINE { &mut self.inline[index] } else { &mut self.spilled[index - MEMO_INLINE] }
    }

    #[inline]
    fn get(&self, handle: PageHandle) -> &Entry<'s> {
        let index = handle.0 as usize;
        let place = if index < MEMO_INLINE { &self.inline[index] } else { &self.spilled[index - MEMO_INLINE] };
        place.as_ref().expect("the page has not been released")
    }

    #[inline]
    fn entries(&mut self) -> impl Iterator<Item = &mut Option<Entry<'s>>> {
        self.inline[..self.count.min(MEMO_INLINE)].iter_mut().chain(self.spilled.iter_mut())
    }

    #[inline]
    fn find(&self, page: PageId) -> Option<PageHandle> {
        let inline = self.inline[..self.count.min(MEMO_INLINE)].iter().chain(self.spilled.iter());
        let at = inline.enumerate().find(|(_, entry)| entry.as_ref().is_some_and(|entry| entry.page == page));
        at.map(|(index, _)| PageHandle(index as u32))
    }
}

/// See the module header.
pub struct Mtr<'s> {
    store: &'s Store,
    memo: Memo<'s>,
    log: Vec<u8>,
    /// The page of the last record: the next one need not name it again.
    logged_page: Option<PageId>,
    /// A page of a temporary tablespace was changed, of which the log knows nothing.
    changed_unlogged: bool,
    /// Pages that it has freed.
    freed: Vec<(SpaceId, Range<u32>)>,
    /// There was no room for changes: reading is all that it may do.
    refused: Option<Error>,
}

/// A page latched by a mini-transaction. Valid until it is released or the mini-transaction commits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageHandle(pub(crate) u32);

/// A page that is to be changed and not made anew has been written some time: if it is zero, the device has lost it.
#[inline]
fn is_a_page(page: PageId, bytes: &[u8]) -> Result<()> {
    if header::is_zero(bytes) {
        return Err(Error::corrupt_page(page, "it is empty, and ought to have been written"));
    }
    Ok(())
}

impl<'s> Mtr<'s> {
    /// Begins a mini-transaction. May wait for room in the log, so the caller holds no page latch.
    #[inline]
    pub fn begin(store: &'s Store) -> Mtr<'s> {
        sync::assert_no_latches("beginning a mini-transaction");
        // Reading is possible even if the log has no room; the first latch for a change tells the reason.
        let refused = store.reserve_log().err();
        let mut mtr = Mtr::begin_nested(store);
        mtr.refused = refused;
        mtr
    }

    /// Begins a mini-transaction while another of this thread, or a guard, is open. Does not wait for the log: the outer
    /// one did.
    #[inline]
    pub fn begin_nested(store: &'s Store) -> Mtr<'s> {
        let memo = Memo { inline: [const { None }; MEMO_INLINE], spilled: Vec::new(), count: 0 };
        Mtr {
            store,
            memo,
            log: LOG.take(),
            logged_page: None,
            changed_unlogged: false,
            freed: Vec::new(),
            refused: None,
        }
    }

    #[inline]
    pub fn store(&self) -> &'s Store {
        self.store
    }

    /// Latches a page shared; if it is in the memo already, in whatever mode, returns that handle.
    pub fn latch_shared(&mut self, page: PageId) -> Result<PageHandle> {
        if let Some(handle) = self.memo.find(page) {
            return Ok(handle);
        }
        let latch = Latch::Shared(self.store.pool().fetch_shared(page)?);
        Ok(self.memo.push(Entry { page, latch, changed: false }))
    }

    /// Latches a page exclusively; if this mini-transaction has it exclusively already, returns that handle. A page that
    /// it has shared cannot be upgraded: that is a mistake of the caller.
    pub fn latch_exclusive(&mut self, page: PageId) -> Result<PageHandle> {
        if let Some(handle) = self.find_exclusive(page) {
            return Ok(handle);
        }
        self.check_room()?;
        let latch = self.store.pool().fetch_exclusive(page)?;
        is_a_page(page, &latch)?;
        Ok(self.memo.push(Entry { page, latch: Latch::Exclusive(latch), changed: false }))
    }

    /// Latches a page exclusively where it was seen, if it is there still and has not changed since.
    pub fn relatch_exclusive(&mut self, page: PageId, hint: FrameHint) -> Result<Option<PageHandle>> {
        debug_assert!(self.memo.find(page).is_none(), "page {page} is latched already");
        self.check_room()?;
        let Some(latch) = self.store.pool().reacquire_exclusive(page, hint) else { return Ok(None) };
        Ok(Some(self.memo.push(Entry { page, latch: Latch::Exclusive(latch), changed: false })))
    }

    /// `latch_exclusive` that gives up (None) when somebody else holds the latch: for latching against the order.
    pub fn try_latch_exclusive(&mut self, page: PageId) -> Result<Option<PageHandle>> {
        if let Some(handle) = self.find_exclusive(page) {
            return Ok(Some(handle));
        }
        self.check_room()?;
        let Some(latch) = self.store.pool().try_fetch_exclusive(page)? else { return Ok(None) };
        is_a_page(page, &latch)?;
        Ok(Some(self.memo.push(Entry { page, latch: Latch::Exclusive(latch), changed: false })))
    }

    /// Latches exclusively a page that will be made anew: nothing is read from disk, its content is zero. The next thing
    /// must be an operation that initialises the whole page.
    pub fn latch_new(&mut self, page: PageId) -> Result<PageHandle> {
        self.check_room()?;
        if let Some(handle) = self.find_exclusive(page) {
            match &mut self.memo.place(handle).as_mut().expect("just found").latch {
                Latch::Exclusive(latch) => latch.bytes_mut().fill(0),
                Latch::Shared(_) => unreachable!("find_exclusive"),
            }
            return Ok(handle);
        }
        let latch = Latch::Exclusive(self.store.pool().create(page)?);
        Ok(self.memo.push(Entry { page, latch, changed: false }))
    }

    #[inline]
    fn check_room(&self) -> Result<()> {
        match &self.refused {
            Some(error) => Err(error.clone()),
            None => self.store.health().check(),
        }
    }

    fn find_exclusive(&self, page: PageId) -> Option<PageHandle> {
        let handle = self.memo.find(page)?;
        assert!(self.is_exclusive(handle), "page {page} is latched shared and cannot be upgraded");
        Some(handle)
    }

    /// The handle of a page in the memo.
    pub fn find(&self, page: PageId) -> Option<PageHandle> {
        self.memo.find(page)
    }

    #[inline]
    pub fn is_exclusive(&self, page: PageHandle) -> bool {
        matches!(self.memo.get(page).latch, Latch::Exclusive(_))
    }

    #[inline]
    pub fn page_id(&self, page: PageHandle) -> PageId {
        self.memo.get(page).page
    }

    #[inline]
    pub fn page(&self, page: PageHandle) -> &[u8] {
        match &self.memo.get(page).latch {
            Latch::Shared(latch) => latch,
            Latch::Exclusive(latch) => latch,
        }
    }

    /// Applies an operation to an exclusively latched page and logs it. If the operation does not apply, the page is
    /// unchanged and nothing is logged.
    #[inline]
    pub fn apply(&mut self, page: PageHandle, op: PageOp<'_>) -> format::Result<()> {
        let entry = self.memo.place(page).as_mut().expect("the page has not been released");
        let Latch::Exclusive(latch) = &mut entry.latch else { panic!("page {} is latched shared", entry.page) };
        op.apply(latch.bytes_mut())?;
        entry.changed = true;
        if entry.page.space.is_temporary() {
            self.changed_unlogged = true;
            return Ok(());
        }
        encode_page(entry.page, &op, &mut self.logged_page, &mut self.log);
        Ok(())
    }

    /// Writes bytes into an exclusively latched page and logs them.
    #[inline]
    pub fn write(&mut self, page: PageHandle, offset: usize, bytes: &[u8]) {
        let op = PageOp::Write { offset: offset as u16, bytes };
        self.apply(page, op).expect("the bytes lie within the page");
    }

    /// Tells that pages have been freed: when this is committed and of no use to recovery any more, their blocks go back.
    pub fn note_freed(&mut self, space: SpaceId, pages: Range<u32>) {
        self.freed.push((space, pages));
    }

    /// Logs bytes of an upper layer that belong to this mini-transaction; recovery hands them back in order.
    pub fn annex(&mut self, kind: u8, bytes: &[u8]) {
        Record::Annex { kind, bytes }.encode(&mut self.logged_page, &mut self.log);
    }

    /// Unlatches a page that this mini-transaction has not changed. A changed page stays latched to the commit: then this
    /// does nothing.
    pub fn release(&mut self, page: PageHandle) {
        let place = self.memo.place(page);
        if place.as_ref().is_some_and(|entry| !entry.changed) {
            *place = None;
        }
    }

    /// Whether anything was changed so far.
    #[inline]
    pub fn has_changes(&self) -> bool {
        !self.log.is_empty() || self.changed_unlogged
    }

    /// Appends the redo, stamps the LSN on the changed pages, makes them dirty, unlatches all. Returns the LSN up to
    /// which the log must be flushed for this to be durable (the current LSN if nothing changed).
    ///
    /// Dropping an `Mtr` that changed nothing is the same. Dropping one that changed pages (an error on the way) poisons
    /// the store, for the pages are half changed: where what was done so far is consistent, commit it.
    pub fn commit(mut self) -> Lsn {
        if !self.has_changes() {
            return self.store.redo().end();
        }
        let pool = self.store.pool();
        let memo = &mut self.memo;
        let mut mark_dirty = |start: Lsn| {
            for entry in memo.entries().flatten() {
                if let Latch::Exclusive(latch) = &entry.latch
                    && entry.changed
                {
                    pool.mark_dirty(latch, start);
                }
            }
        };
        let end = match self.log.is_empty() {
            false => self.store.redo().append(&self.log, |start, _| mark_dirty(start)).1,
            // Nothing but temporary pages: they take their place among those that are dirty now.
            true => self.store.redo().at_rest(|end| {
                mark_dirty(end);
                end
            }),
        };
        for entry in memo.entries().flatten() {
            if let Latch::Exclusive(latch) = &mut entry.latch
                && entry.changed
            {
                if !entry.page.space.is_temporary() {
                    header::set_lsn(latch.bytes_mut(), end);
                }
                latch.advance_clock();
            }
        }
        if !self.freed.is_empty() {
            self.store.freed().add(&self.freed, end);
        }
        self.log.clear();
        self.changed_unlogged = false;
        end
    }
}

impl Drop for Mtr<'_> {
    fn drop(&mut self) {
        if self.has_changes() {
            self.store.health().poison(&"an operation failed between its changes");
        }
        let mut log = std::mem::take(&mut self.log);
        if log.capacity() <= LOG_KEPT_BYTES {
            log.clear();
            LOG.set(log);
        }
    }
}

impl Mtr<'_> {
    /// The error of a page that does not hold what it should.
    pub fn corrupt(&self, page: PageHandle, what: impl std::fmt::Display) -> Error {
        Error::corrupt_page(self.page_id(page), what)
    }
}
