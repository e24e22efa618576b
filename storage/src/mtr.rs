//! Mini-transactions: latched pages and redo records, applied as one.
//!
//! A mini-transaction collects latches in its *memo* and redo records in a buffer. A page is changed only through it, by an
//! operation that is applied and logged in the same call; so recovery repeats exactly what has happened. At the commit
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
//! There are two types, so that the compiler knows which of them an error can interrupt half-way:
//!
//! ```text
//!   Mtr       may fail      latches, reads, allocates; keeps each page as it was before its first change.
//!    |                      Dropped, it puts these pages back: an error leaves no trace, in memory or in the log.
//!    |  certain(), or change() with the last operation that can fail
//!    v
//!   Changes   cannot fail   writes to pages that are latched already; keeps nothing, and has no way to return an error.
//! ```
//!
//! The hot paths of a statement (changing a record on its leaf, writing its undo record, the commit) latch all they
//! need and go on as [`Changes`], so that they copy no page. A change to the shape of a tree or a tablespace may meet a
//! damaged neighbour or a full disk half-way, whatever was checked before; it stays an [`Mtr`] and pays for a copy of
//! each page.
//!
//! Invariants:
//!
//! * After a crash a group is applied whole or not at all; the pages of one mini-transaction agree with each other.
//! * An error in a mini-transaction fails one statement only: no change of the mini-transaction stays
//!   (`an_mtr_that_is_dropped_leaves_no_trace`).
//! * A changed page stays latched to the commit: no thread sees it half changed, and no copy of it is written before
//!   its redo.
//! * Pages of temporary tablespaces are changed in the same way, but not logged: their LSN stays zero, and recovery
//!   does not need them. They are written when the flush list reaches them.
//! * In the steady state nothing is allocated: memo, log buffer and page copies belong to the thread.
//!
//! Not here: undo of what a transaction has done in mini-transactions that were committed.

mod memo;

use std::cell::{Cell, RefCell};
use std::marker::PhantomData;
use std::ops::Range;

use format::ids::{Lsn, PageId, SpaceId};
use format::page::header;
use format::redo::{PageOp, Record, encode_page};

pub use self::memo::PageHandle;
use self::memo::{Entry, Latch, Memo};
use crate::error::{Error, Result};
use crate::redo::Promise;
use crate::store::{FrameHint, Store};

/// What an upper layer logs in the group of a mini-transaction: its kind and its bytes.
pub type Annexed<'a> = Option<(u8, &'a [u8])>;

/// Log buffers that grew beyond this are not kept by their thread.
const LOG_KEPT_BYTES: usize = 256 << 10;

/// Page copies that a thread keeps for its next mini-transactions: as many as a split takes.
const COPIES_KEPT: usize = 8;

thread_local! {
    /// The log buffer of this thread's last mini-transaction, for the next one.
    static LOG: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
    /// Buffers for copies of pages.
    static COPIES: RefCell<Vec<Box<[u8]>>> = const { RefCell::new(Vec::new()) };
}

/// A mini-transaction that may fail, see the module header.
pub struct Mtr<'s, P = MayFail> {
    core: Core<'s>,
    phase: PhantomData<P>,
}

/// A mini-transaction that cannot fail any more, see the module header.
pub type Changes<'s> = Mtr<'s, Certain>;

/// The phase of a mini-transaction that may be given up.
pub enum MayFail {}

/// The phase of a mini-transaction that will be committed.
pub enum Certain {}

/// One of the two phases: what can be written can be written in both, so helpers that only write take any.
pub trait Phase {
    /// Whether pages are kept as they were before.
    const KEEPS: bool;
}

impl Phase for MayFail {
    const KEEPS: bool = true;
}

impl Phase for Certain {
    const KEEPS: bool = false;
}

/// What both phases have.
struct Core<'s> {
    store: &'s Store,
    memo: Memo<'s>,
    log: Vec<u8>,
    /// The page of the last record: the next one need not name it again.
    logged_page: Option<PageId>,
    /// A page of a temporary tablespace was changed, without redo.
    changed_unlogged: bool,
    /// It must be committed: its pages' earlier contents have not been kept.
    certain: bool,
    /// The pages that it may have to restore: their earlier contents, or `None` if their frames held no page.
    before: Vec<(PageHandle, Option<Box<[u8]>>)>,
    /// Pages that it has freed.
    freed: Vec<(SpaceId, Range<u32>)>,
    /// The log has no room for changes: the mini-transaction may only read.
    refused: Option<Error>,
    promise: Option<Promise<'s>>,
}

/// A page that is changed without being made anew must have been written before: if it is zero, the device has lost it.
#[inline]
fn is_a_page(page: PageId, bytes: &[u8]) -> Result<()> {
    if header::is_zero(bytes) {
        return Err(Error::corrupt_page(page, "it is empty, and ought to have been written"));
    }
    Ok(())
}

/// A copy of a page.
fn copy_of(bytes: &[u8]) -> Box<[u8]> {
    let kept = COPIES.with_borrow_mut(Vec::pop).filter(|copy| copy.len() == bytes.len());
    match kept {
        Some(mut copy) => {
            copy.copy_from_slice(bytes);
            copy
        }
        None => bytes.into(),
    }
}

impl<'s> Core<'s> {
    fn new(store: &'s Store) -> Core<'s> {
        Core {
            store,
            memo: Memo::new(),
            log: LOG.take(),
            logged_page: None,
            changed_unlogged: false,
            certain: false,
            before: Vec::new(),
            freed: Vec::new(),
            refused: None,
            promise: None,
        }
    }

    /// Reading is possible even if the log has no room; the first latch for a change tells the reason.
    #[inline]
    fn accept(&mut self, promise: Result<Promise<'s>>) {
        match promise {
            Ok(promise) => (self.promise, self.refused) = (Some(promise), None),
            Err(refused) => self.refused = Some(refused),
        }
    }

    #[inline]
    fn has_changes(&self) -> bool {
        !self.log.is_empty() || self.changed_unlogged
    }

    /// Keeps a page as it is, once.
    fn keep(&mut self, page: PageHandle) {
        let entry = self.memo.place(page).as_mut().expect("the page has not been released");
        if let Latch::Exclusive(latch) = &entry.latch
            && !entry.kept
        {
            entry.kept = true;
            self.before.push((page, Some(copy_of(latch))));
        }
    }

    /// Changes a page, logged.
    #[inline]
    fn apply(&mut self, page: PageHandle, op: PageOp<'_>) -> format::Result<()> {
        let entry = self.memo.place(page).as_mut().expect("the page has not been released");
        let Latch::Exclusive(latch) = &mut entry.latch else { panic!("page {} is latched shared", entry.page) };
        op.apply(latch.bytes_mut())?;
        entry.changed = true;
        entry.moved |= !op.keeps_places();
        if entry.page.space.is_temporary() {
            self.changed_unlogged = true;
            return Ok(());
        }
        encode_page(entry.page, &op, &mut self.logged_page, &mut self.log);
        Ok(())
    }

    /// Drops the copies, which are not needed any more.
    #[inline]
    fn forget_before(&mut self) {
        if !self.before.is_empty() {
            COPIES.with_borrow_mut(|copies| {
                copies.extend(self.before.drain(..).filter_map(|(_, copy)| copy));
                copies.truncate(COPIES_KEPT);
            });
        }
    }

    /// Restores all pages.
    #[cold]
    fn put_back(&mut self) {
        for (page, before) in std::mem::take(&mut self.before) {
            let place = self.memo.place(page);
            match before {
                Some(before) => {
                    if let Some(Entry { latch: Latch::Exclusive(latch), .. }) = place {
                        latch.bytes_mut().copy_from_slice(&before);
                        latch.advance_clock();
                    }
                }
                None => {
                    if let Some(Entry { latch: Latch::Exclusive(latch), page, .. }) = place.take() {
                        self.store.pool().uncreate(page, latch);
                    }
                }
            }
        }
    }
}

impl Drop for Core<'_> {
    fn drop(&mut self) {
        if !self.before.is_empty() {
            self.put_back();
        }
        if self.certain && self.has_changes() {
            self.store.health().poison(&"a mini-transaction that cannot fail was not committed");
        }
        let mut log = std::mem::take(&mut self.log);
        if log.capacity() <= LOG_KEPT_BYTES {
            log.clear();
            LOG.set(log);
        }
    }
}

impl<'s> Mtr<'s> {
    /// Begins a mini-transaction. May wait for room in the log, so the caller holds no page latch.
    #[inline]
    pub fn begin(store: &'s Store) -> Mtr<'s> {
        Mtr::begin_with(store, store.reserve_log())
    }

    /// Begins a mini-transaction that writes so many whole pages. May wait, too.
    pub fn begin_large(store: &'s Store, pages: usize) -> Mtr<'s> {
        Mtr::begin_with(store, store.reserve_log_for((pages * store.page_bytes()) as u64))
    }

    /// How many whole pages a mini-transaction should write at most.
    pub fn pages_max(store: &Store) -> usize {
        (store.redo().room().largest() / store.page_bytes() as u64).max(1) as usize
    }

    #[inline]
    fn begin_with(store: &'s Store, promise: Result<Promise<'s>>) -> Mtr<'s> {
        let mut mtr = Mtr { core: Core::new(store), phase: PhantomData };
        mtr.core.accept(promise);
        mtr
    }

    /// Does something that runs mini-transactions of its own. This one has latched nothing yet.
    pub fn aside<T>(&mut self, run: impl FnOnce(&'s Store) -> Result<T>) -> Result<T> {
        self.core.promise = None;
        let outcome = run(self.core.store)?;
        self.core.accept(self.core.store.reserve_log());
        Ok(outcome)
    }

    /// Begins the last mini-transaction of a transaction: a commit, a prepare, the end of a rollback. It changes a few
    /// pages only, and a full disk refuses it as late as possible.
    pub fn begin_last(store: &'s Store) -> Mtr<'s> {
        let mut mtr = Mtr::begin(store);
        if matches!(mtr.core.refused, Some(Error::DiskFull { .. })) && store.may_end() {
            mtr.core.refused = None;
        }
        mtr
    }

    /// Ends the phase that may fail: from here on pages are only written.
    #[inline]
    pub fn certain(mut self) -> Changes<'s> {
        self.core.forget_before();
        self.core.certain = true;
        Mtr { core: self.core, phase: PhantomData }
    }

    /// Applies the last operation that may fail. If the page does not accept it, everything is as before the
    /// mini-transaction.
    #[inline]
    pub fn change(mut self, page: PageHandle, op: PageOp<'_>) -> Result<Changes<'s>> {
        match self.core.apply(page, op) {
            Ok(()) => Ok(self.certain()),
            Err(cause) => Err(self.corrupt(page, cause)),
        }
    }

    /// Applies an operation to an exclusively latched page and logs it. If the page is damaged and does not accept it,
    /// the page is unchanged and nothing is logged.
    pub fn apply(&mut self, page: PageHandle, op: PageOp<'_>) -> Result<()> {
        self.core.keep(page);
        self.core.apply(page, op).map_err(|cause| self.corrupt(page, cause))
    }

    /// Latches a page shared; if it is in the memo already, in whatever mode, returns that handle.
    pub fn latch_shared(&mut self, page: PageId) -> Result<PageHandle> {
        if let Some(handle) = self.core.memo.find(page) {
            return Ok(handle);
        }
        let latch = self.core.store.pool().fetch_shared(page)?;
        Ok(self.core.memo.push(Entry::shared(page, latch)))
    }

    /// Latches a page exclusively; if this mini-transaction has it exclusively already, returns that handle. A shared
    /// latch cannot be upgraded: that would be a mistake of the caller.
    pub fn latch_exclusive(&mut self, page: PageId) -> Result<PageHandle> {
        if let Some(handle) = self.find_exclusive(page) {
            return Ok(handle);
        }
        self.check_room()?;
        let latch = self.core.store.pool().fetch_exclusive(page)?;
        is_a_page(page, &latch)?;
        Ok(self.core.memo.push(Entry::exclusive(page, latch)))
    }

    /// Latches a page exclusively in the frame where it was seen, if it is still there and has not changed since.
    pub fn relatch_exclusive(&mut self, page: PageId, hint: FrameHint) -> Result<Option<PageHandle>> {
        debug_assert!(self.core.memo.find(page).is_none(), "page {page} is latched already");
        self.check_room()?;
        let Some(latch) = self.core.store.pool().reacquire_exclusive(page, hint) else { return Ok(None) };
        Ok(Some(self.core.memo.push(Entry::exclusive(page, latch))))
    }

    /// `latch_exclusive` that gives up (None) when another thread holds the latch: for latching against the order.
    pub fn try_latch_exclusive(&mut self, page: PageId) -> Result<Option<PageHandle>> {
        if let Some(handle) = self.find_exclusive(page) {
            return Ok(Some(handle));
        }
        self.check_room()?;
        let Some(latch) = self.core.store.pool().try_fetch_exclusive(page)? else { return Ok(None) };
        is_a_page(page, &latch)?;
        Ok(Some(self.core.memo.push(Entry::exclusive(page, latch))))
    }

    /// Latches exclusively a page that will be made anew: nothing is read from disk, its content is zero. The next
    /// operation must initialise the whole page.
    pub fn latch_new(&mut self, page: PageId) -> Result<PageHandle> {
        self.check_room()?;
        if let Some(handle) = self.find_exclusive(page) {
            self.core.keep(handle);
            if let Some(Entry { latch: Latch::Exclusive(latch), .. }) = self.core.memo.place(handle) {
                latch.bytes_mut().fill(0);
            }
            return Ok(handle);
        }
        let created = self.core.store.pool().create(page)?;
        let mut entry = Entry::exclusive(page, created.latch);
        entry.kept = true;
        let before = match &mut entry.latch {
            Latch::Exclusive(latch) if created.was_resident => {
                let before = copy_of(latch);
                latch.bytes_mut().fill(0);
                Some(before)
            }
            _ => None,
        };
        let handle = self.core.memo.push(entry);
        self.core.before.push((handle, before));
        Ok(handle)
    }

    #[inline]
    fn check_room(&self) -> Result<()> {
        match &self.core.refused {
            Some(error) => Err(error.clone()),
            None => self.core.store.health().check(),
        }
    }

    fn find_exclusive(&self, page: PageId) -> Option<PageHandle> {
        let handle = self.core.memo.find(page)?;
        assert!(self.is_exclusive(handle), "page {page} is latched shared and cannot be upgraded");
        Some(handle)
    }

    /// Unlatches a page that this mini-transaction has not changed. Does nothing for a changed page, which stays
    /// latched to the commit.
    pub fn release(&mut self, page: PageHandle) {
        let place = self.core.memo.place(page);
        if place.as_ref().is_some_and(|entry| !entry.changed && !entry.kept) {
            *place = None;
        }
    }
}

impl Changes<'_> {
    /// Applies an operation to an exclusively latched page and logs it. The caller has checked that the page accepts
    /// it.
    #[inline]
    pub fn apply(&mut self, page: PageHandle, op: PageOp<'_>) {
        if let Err(cause) = self.core.apply(page, op) {
            panic!("page {} does not take an operation that was checked before: {cause}", self.page_id(page));
        }
    }
}

impl<'s, P: Phase> Mtr<'s, P> {
    #[inline]
    pub fn store(&self) -> &'s Store {
        self.core.store
    }

    /// The handle of a page in the memo.
    pub fn find(&self, page: PageId) -> Option<PageHandle> {
        self.core.memo.find(page)
    }

    #[inline]
    pub fn is_exclusive(&self, page: PageHandle) -> bool {
        matches!(self.core.memo.get(page).latch, Latch::Exclusive(_))
    }

    #[inline]
    pub fn page_id(&self, page: PageHandle) -> PageId {
        self.core.memo.get(page).page
    }

    #[inline]
    pub fn page(&self, page: PageHandle) -> &[u8] {
        match &self.core.memo.get(page).latch {
            Latch::Shared(latch) => latch,
            Latch::Exclusive(latch) => latch,
        }
    }

    /// Writes bytes into an exclusively latched page and logs them.
    #[inline]
    pub fn write(&mut self, page: PageHandle, offset: usize, bytes: &[u8]) {
        if P::KEEPS {
            self.core.keep(page);
        }
        let op = PageOp::Write { offset: offset as u16, bytes };
        self.core.apply(page, op).expect("the bytes lie within the page");
    }

    /// Notes that pages have been freed: once the checkpoint has passed the commit, their blocks are released.
    pub fn note_freed(&mut self, space: SpaceId, pages: Range<u32>) {
        self.core.freed.push((space, pages));
    }

    /// Logs bytes of an upper layer that belong to this mini-transaction; recovery hands them back in order.
    pub fn annex(&mut self, kind: u8, bytes: &[u8]) {
        Record::Annex { kind, bytes }.encode(&mut self.core.logged_page, &mut self.core.log);
    }

    /// Whether anything was changed so far.
    #[inline]
    pub fn has_changes(&self) -> bool {
        self.core.has_changes()
    }

    /// Appends the redo, stamps the LSN on the changed pages, makes them dirty, unlatches all. Returns the LSN up to
    /// which the log must be flushed for this to be durable (the current LSN if nothing changed).
    pub fn commit(mut self) -> Lsn {
        let core = &mut self.core;
        core.forget_before();
        if !core.has_changes() {
            return core.store.redo().end();
        }
        let pool = core.store.pool();
        let memo = &mut core.memo;
        let mut mark_dirty = |start: Lsn| {
            for entry in memo.entries().flatten() {
                if let Latch::Exclusive(latch) = &entry.latch
                    && entry.changed
                {
                    pool.mark_dirty(latch, start);
                }
            }
        };
        let end = match core.log.is_empty() {
            false => core.store.redo().append(&core.log, |start, _| mark_dirty(start)).1,
            // Only temporary pages: they enter the flush list as of the current end of the log.
            true => core.store.redo().at_rest(|end| {
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
                if entry.moved {
                    latch.advance_clock();
                }
            }
        }
        if !core.freed.is_empty() {
            core.store.freed().add(&core.freed, end);
        }
        core.log.clear();
        core.changed_unlogged = false;
        end
    }

    /// The error of a page that does not hold what it should.
    pub fn corrupt(&self, page: PageHandle, what: impl std::fmt::Display) -> Error {
        Error::corrupt_page(self.page_id(page), what)
    }
}

#[cfg(test)]
mod tests;
