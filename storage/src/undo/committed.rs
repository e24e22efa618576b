//! Logs of committed transactions, for purge and for readers of older versions: purge takes them from the history in
//! their order, reads them, and removes them.

use std::sync::atomic::Ordering;

use format::bytes::get_u16;
use format::ids::{PageId, RollPtr, TrxId};
use format::page::header::{self, PageType};
use format::page::space::{Address, Node};
use format::page::undo as page;

use super::history::{Committed, Oldest};
use super::segment::{UndoSpace, free_all_but_first};
use crate::error::{Error, Result};
use crate::list::List;
use crate::mtr::Mtr;
use crate::segment::{self, Segment};
use crate::store::Store;

/// A log that purge has taken from the history. [`UndoSpace::put_back`] returns it there, [`UndoSpace::remove_log`]
/// removes it.
#[derive(Debug)]
pub struct HistoryLog {
    committed: Committed,
}

impl HistoryLog {
    /// The transaction whose log this is.
    pub fn trx_id(&self) -> TrxId {
        self.committed.trx_id
    }

    pub fn number(&self) -> TrxId {
        self.committed.number
    }
}

/// Reads the records of a log from the oldest on.
#[derive(Debug)]
pub struct LogReader {
    segment: u8,
    first: PageId,
    header: u16,
    /// The next record, or where it would be.
    page: PageId,
    offset: u16,
}

impl LogReader {
    pub fn new(log: &HistoryLog) -> LogReader {
        let Committed { segment, first, header, .. } = log.committed;
        LogReader { segment, first, header, page: first, offset: 0 }
    }

    /// Copies the next record into `record`, and returns the roll pointer that leads to it.
    pub fn next(&mut self, store: &Store, record: &mut Vec<u8>) -> Result<Option<RollPtr>> {
        loop {
            let page = store.read(self.page)?;
            let damaged = |cause: format::Error| Error::corrupt_page(self.page, cause);
            let on_first = self.page == self.first;
            if header::page_type(&page) != PageType::UNDO_LOG {
                return Err(Error::corrupt_page(self.page, "not an undo page"));
            }
            let header = usize::from(self.header);
            let next_log = if on_first { get_u16(&page, header + page::LOG_NEXT) } else { 0 };
            if self.offset == 0 {
                self.offset = if on_first { get_u16(&page, header + page::LOG_START) } else { page::BODY as u16 };
            }
            let end = if next_log != 0 { next_log } else { page::free(&page) };
            if self.offset < end {
                let bytes = page::record(&page, self.offset).map_err(damaged)?;
                record.clear();
                record.extend_from_slice(bytes);
                let roll_ptr = RollPtr::new(false, self.segment, self.page.page, self.offset);
                self.offset = get_u16(&page, usize::from(self.offset));
                return Ok(Some(roll_ptr));
            }
            let behind = Node::read(&page, page::PAGE_NODE).next;
            if next_log != 0 || behind.is_null() {
                return Ok(None);
            }
            self.page = PageId::new(self.first.space, behind.page);
            self.offset = 0;
        }
    }
}

impl UndoSpace {
    /// Takes the oldest log from the history if its number is below `limit`.
    pub fn next_log(&self, store: &Store, limit: TrxId) -> Result<Option<HistoryLog>> {
        loop {
            match self.history.take(limit) {
                Oldest::Log(committed) => return Ok(Some(HistoryLog { committed })),
                Oldest::None => return Ok(None),
                Oldest::Unread(number) => {
                    let header = self.segment(number)?.header;
                    self.history.fill_window(store, number, header)?;
                }
            }
        }
    }

    /// Puts back a log that could not be purged to its end.
    pub fn put_back(&self, log: HistoryLog) {
        self.history.put_back(log.committed);
    }

    /// Removes a purged log from the history, and frees its pages if no other log uses them.
    pub fn remove_log(&self, store: &Store, log: &HistoryLog) -> Result<()> {
        let Committed { first, header, .. } = log.committed;
        let rollback = self.segment(log.committed.segment)?;
        let is_last = |page: &[u8]| {
            get_u16(page, page::STATE) == page::STATE_TO_PURGE
                && get_u16(page, usize::from(header) + page::LOG_NEXT) == 0
        };
        // No new log is added to a segment that is to be purged, so the answer stays true.
        let frees = is_last(&store.read(first)?);
        if frees {
            free_all_but_first(store, first)?;
        }
        let mut mtr = Mtr::begin(store);
        let rollback_page = mtr.latch_exclusive(rollback.header)?;
        let page = mtr.latch_exclusive(first)?;
        let history = List { page: rollback_page, offset: page::RSEG_HISTORY };
        let node = Address::new(first.page, header + page::LOG_HISTORY_NODE as u16);
        let splice = history.prepare_remove(&mut mtr, node)?;
        if frees {
            splice.write(&mut mtr);
            let Some(segment) = Segment::read(mtr.page(page), page::SEGMENT) else {
                return Err(Error::corrupt_page(first, "an undo segment without its header"));
            };
            while !segment::drop_step(&mut mtr, segment)? {}
            self.history.remove(log.committed.segment);
            mtr.commit();
        } else {
            // Most often: then no page is copied.
            let mut changes = mtr.certain();
            splice.write(&mut changes);
            self.history.remove(log.committed.segment);
            changes.commit();
        }
        self.history.removed();
        self.counters.logs_purged.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    /// Copies the undo record behind a roll pointer into `record`. The caller knows that it has not been purged.
    pub fn read(&self, store: &Store, roll_ptr: RollPtr, record: &mut Vec<u8>) -> Result<()> {
        let segment = self.segment(roll_ptr.rollback_segment())?;
        let id = PageId::new(segment.header.space, roll_ptr.page_no());
        let page = store.read(id)?;
        if header::page_type(&page) != PageType::UNDO_LOG {
            return Err(Error::corrupt_page(id, format_args!("not the undo page of roll pointer {roll_ptr}")));
        }
        let bytes = page::record(&page, roll_ptr.offset()).map_err(|cause| Error::corrupt_page(id, cause))?;
        record.clear();
        record.extend_from_slice(bytes);
        Ok(())
    }

    /// Overwrites bytes of an undo record, `at` counted from its beginning: a reference to a long value that is being
    /// freed.
    pub fn patch(&self, mtr: &mut Mtr<'_>, roll_ptr: RollPtr, at: usize, bytes: &[u8]) -> Result<()> {
        let segment = self.segment(roll_ptr.rollback_segment())?;
        let handle = mtr.latch_exclusive(PageId::new(segment.header.space, roll_ptr.page_no()))?;
        let record = page::record(mtr.page(handle), roll_ptr.offset()).map_err(|cause| mtr.corrupt(handle, cause))?;
        if record.len() < at + bytes.len() {
            return Err(mtr.corrupt(handle, "an undo record shorter than what it refers to"));
        }
        mtr.write(handle, usize::from(roll_ptr.offset()) + 2 + at, bytes);
        Ok(())
    }
}
