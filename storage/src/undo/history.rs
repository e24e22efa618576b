//! The history: logs of committed transactions, in the order of their numbers, until purge has read them.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::atomic::{AtomicU64, Ordering};

use format::bytes::{get_u16, get_u64};
use format::ids::{PageId, RollPtr, TrxId};
use format::page::header::{self, PageType};
use format::page::space::{Address, Base, Node};
use format::page::undo as page;

use super::segment::{RollbackSegment, UndoSpace, free_all_but_first};
use crate::error::{Error, Result};
use crate::list::List;
use crate::mtr::Mtr;
use crate::segment::{self, Segment};
use crate::store::Store;
use crate::sync::{Mutex, Rank};

/// A log in the history.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Committed {
    /// The order of purge.
    pub number: TrxId,
    pub trx_id: TrxId,
    pub segment: u8,
    pub first: PageId,
    pub header: u16,
}

/// The histories of all rollback segments as one queue.
pub(super) struct HistoryQueue {
    queue: Mutex<BinaryHeap<Reverse<Committed>>>,
    /// Logs in the queue or taken by purge.
    length: AtomicU64,
}

impl HistoryQueue {
    pub fn new() -> HistoryQueue {
        HistoryQueue { queue: Mutex::new(Rank::Undo, BinaryHeap::new()), length: AtomicU64::new(0) }
    }

    pub fn push(&self, committed: Committed) {
        self.length.fetch_add(1, Ordering::Relaxed);
        self.queue.lock().push(Reverse(committed));
    }

    pub fn length(&self) -> u64 {
        self.length.load(Ordering::Relaxed)
    }

    /// Adds the history of a rollback segment, and returns its newest number.
    pub fn load(&self, store: &Store, segment: &RollbackSegment) -> Result<TrxId> {
        let (mut address, count) = {
            let page = store.read(segment.header)?;
            let Base { length, last, .. } = Base::read(&page, page::RSEG_HISTORY);
            (last, length)
        };
        let mut newest = TrxId(0);
        let mut seen = 0;
        while !address.is_null() {
            let first = PageId::new(segment.header.space, address.page);
            let page = store.read(first)?;
            let node = usize::from(address.offset);
            seen += 1;
            let header = node.checked_sub(page::LOG_HISTORY_NODE).filter(|header| {
                *header >= page::FIRST_LOG && header + page::LOG_HEADER_BYTES <= page.len() && seen <= count
            });
            let Some(header) = header else {
                return Err(Error::corrupt_page(segment.header, "the history list"));
            };
            let committed = Committed {
                number: TrxId(get_u64(&page, header + page::LOG_TRX_NO)),
                trx_id: TrxId(get_u64(&page, header + page::LOG_TRX_ID)),
                segment: segment.number,
                first,
                header: header as u16,
            };
            newest = newest.max(committed.number).max(committed.trx_id);
            address = Node::read(&page, node).prev;
            drop(page);
            self.push(committed);
        }
        Ok(newest)
    }
}

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
    pub fn next_log(&self, limit: TrxId) -> Option<HistoryLog> {
        let mut queue = self.history.queue.lock();
        if queue.peek()?.0.number >= limit {
            return None;
        }
        queue.pop().map(|Reverse(committed)| HistoryLog { committed })
    }

    /// Puts back a log that could not be purged to its end.
    pub fn put_back(&self, log: HistoryLog) {
        self.history.queue.lock().push(Reverse(log.committed));
    }

    /// Removes a purged log from the history, and frees its pages if no other log uses them.
    pub fn remove_log(&self, store: &Store, log: HistoryLog) -> Result<()> {
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
        history.remove(&mut mtr, Address::new(first.page, header + page::LOG_HISTORY_NODE as u16))?;
        if frees {
            let Some(segment) = Segment::read(mtr.page(page), page::SEGMENT) else {
                return Err(Error::corrupt_page(first, "an undo segment without its header"));
            };
            while !segment::drop_step(&mut mtr, segment)? {}
        }
        mtr.commit();
        self.history.length.fetch_sub(1, Ordering::Relaxed);
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
