//! The history: logs of committed transactions, in the order of their numbers, until purge has read them.
//!
//! It is on disk, one list per rollback segment, and grows for as long as the oldest view stays open. Memory holds only
//! the old end of each list:
//!
//! ```text
//!   list of a rollback segment    oldest <------------------------------------------------------ newest
//!                                 | purge reads them | window, at most WINDOW logs | the rest       |
//!                                   taken              known, in order               unread: counted
//! ```
//!
//! When purge has emptied a window, the next logs are read from the list. So neither memory nor the time of a start
//! depends on how long a view has been open (`undo::a_long_history_is_read_piece_by_piece`).
//!
//! Invariants:
//!
//! * The list of a segment has `taken + window + unread` logs, in this order. The sum changes only under the exclusive
//!   latch of the segment's header page, in the mini-transaction that changes the list; reading the next logs holds
//!   that latch shared.
//! * Numbers within a list ascend, except for neighbours that committed at the same moment.

use std::collections::VecDeque;
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

/// The most logs of a rollback segment that a window takes from its list. Logs that purge puts back may exceed it.
const WINDOW: usize = if cfg!(test) { 3 } else { 64 };

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

/// The histories of all rollback segments.
pub(super) struct History {
    segments: Mutex<Vec<SegmentHistory>>,
    /// Logs in all lists. It is zero only when the last removal has been committed.
    length: AtomicU64,
    /// Held while a window is filled, so that only one thread fills windows.
    reading: Mutex<()>,
}

/// The history of one rollback segment; see the module header.
struct SegmentHistory {
    number: u8,
    /// The oldest log is first.
    window: VecDeque<Committed>,
    /// Logs that purge reads: they are in the list until they are removed.
    taken: u64,
    /// Logs of the list that are newer than the window.
    unread: u64,
}

/// What [`History::take`] found.
enum Oldest {
    /// The oldest log of all segments.
    Log(Committed),
    /// No log may be purged yet.
    None,
    /// The window of this segment is empty, and its list is not.
    Unread(u8),
}

impl History {
    /// The empty history of rollback segments with these numbers.
    pub fn new(numbers: impl Iterator<Item = u8>) -> History {
        let segment = |number| SegmentHistory { number, window: VecDeque::new(), taken: 0, unread: 0 };
        History {
            segments: Mutex::new(Rank::Undo, numbers.map(segment).collect()),
            length: AtomicU64::new(0),
            reading: Mutex::new(Rank::Index, ()),
        }
    }

    fn with<T>(&self, number: u8, change: impl FnOnce(&mut SegmentHistory) -> T) -> T {
        let mut segments = self.segments.lock();
        let at = segments.iter().position(|segment| segment.number == number);
        change(&mut segments[at.expect("a log belongs to a rollback segment")])
    }

    /// Adds a log. The caller adds it to its list, too, and holds the exclusive latch of the header page.
    pub fn push(&self, committed: Committed) {
        self.length.fetch_add(1, Ordering::Relaxed);
        self.with(committed.segment, |segment| {
            if segment.unread == 0 && segment.window.len() < WINDOW {
                segment.window.push_back(committed);
            } else {
                segment.unread += 1;
            }
        });
    }

    /// Forgets a log that was taken. The caller removes it from its list, and holds the exclusive latch of the header
    /// page.
    fn remove(&self, number: u8) {
        self.with(number, |segment| segment.taken -= 1);
    }

    pub fn length(&self) -> u64 {
        self.length.load(Ordering::Relaxed)
    }

    /// Counts the history of a rollback segment, and returns its newest number.
    pub fn load(&self, store: &Store, segment: &RollbackSegment) -> Result<TrxId> {
        let (newest, count) = {
            let page = store.read(segment.header)?;
            let Base { length, first, .. } = Base::read(&page, page::RSEG_HISTORY);
            (first, length)
        };
        self.length.fetch_add(count.into(), Ordering::Relaxed);
        self.with(segment.number, |known| known.unread = count.into());
        if newest.is_null() {
            return Ok(TrxId(0));
        }
        // Older neighbours may have a number that is a little larger: the counter that the registry stores is further
        // ahead.
        let (committed, _) = read_node(store, segment, newest)?;
        Ok(committed.number.max(committed.trx_id))
    }

    /// Takes the oldest log if its number is below `limit`.
    fn take(&self, limit: TrxId) -> Oldest {
        let mut segments = self.segments.lock();
        if let Some(segment) = segments.iter().find(|segment| segment.window.is_empty() && segment.unread > 0) {
            return Oldest::Unread(segment.number);
        }
        let oldest = |segment: &SegmentHistory| segment.window.front().map(|log| log.number);
        let with_logs = segments.iter_mut().filter(|segment| !segment.window.is_empty());
        let Some(segment) = with_logs.min_by_key(|segment| oldest(segment)) else { return Oldest::None };
        match segment.window.pop_front_if(|log| log.number < limit) {
            Some(log) => {
                segment.taken += 1;
                Oldest::Log(log)
            }
            None => Oldest::None,
        }
    }

    fn put_back(&self, log: Committed) {
        self.with(log.segment, |segment| {
            segment.taken -= 1;
            let at = segment.window.partition_point(|other| other.number < log.number);
            segment.window.insert(at, log);
        });
    }

    /// Fills the window of a segment from its list.
    fn fill_window(&self, store: &Store, rollback: &RollbackSegment) -> Result<()> {
        let _one = self.reading.lock();
        // No log is added or removed while this page is latched.
        let header = store.read(rollback.header)?;
        let (known, wanted) = self.with(rollback.number, |segment| {
            let known = segment.taken + segment.window.len() as u64;
            (known, segment.unread.min((WINDOW - segment.window.len().min(WINDOW)) as u64))
        });
        let mut address = Base::read(&header, page::RSEG_HISTORY).last;
        let mut logs = Vec::with_capacity(wanted as usize);
        for at in 0..known + wanted {
            if address.is_null() {
                return Err(Error::corrupt_page(rollback.header, "the history list is shorter than it says"));
            }
            let (log, newer) = read_node(store, rollback, address)?;
            if at >= known {
                logs.push(log);
            }
            address = newer;
        }
        self.with(rollback.number, |segment| {
            segment.unread -= wanted;
            segment.window.extend(logs);
        });
        Ok(())
    }
}

/// Reads a log of the history list, and the address of the next newer one.
fn read_node(store: &Store, rollback: &RollbackSegment, address: Address) -> Result<(Committed, Address)> {
    let first = PageId::new(rollback.header.space, address.page);
    let page = store.read(first)?;
    let node = usize::from(address.offset);
    let header = node.checked_sub(page::LOG_HISTORY_NODE).filter(|header| {
        let is_within = *header >= page::FIRST_LOG && header + page::LOG_HEADER_BYTES <= page.len();
        is_within && header::page_type(&page) == PageType::UNDO_LOG
    });
    let Some(header) = header else {
        return Err(Error::corrupt_page(rollback.header, "the history list"));
    };
    let committed = Committed {
        number: TrxId(get_u64(&page, header + page::LOG_TRX_NO)),
        trx_id: TrxId(get_u64(&page, header + page::LOG_TRX_ID)),
        segment: rollback.number,
        first,
        header: header as u16,
    };
    Ok((committed, Node::read(&page, node).prev))
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
    pub fn next_log(&self, store: &Store, limit: TrxId) -> Result<Option<HistoryLog>> {
        loop {
            match self.history.take(limit) {
                Oldest::Log(committed) => return Ok(Some(HistoryLog { committed })),
                Oldest::None => return Ok(None),
                Oldest::Unread(number) => self.history.fill_window(store, self.segment(number)?)?,
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
