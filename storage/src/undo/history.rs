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

use format::bytes::get_u64;
use format::ids::{PageId, TrxId};
use format::page::header::{self, PageType};
use format::page::space::{Address, Base, Node};
use format::page::undo as page;

use crate::error::{Error, Result};
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
pub(super) enum Oldest {
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
    pub fn remove(&self, number: u8) {
        self.with(number, |segment| segment.taken -= 1);
    }

    /// The removal of a log has been committed.
    pub fn removed(&self) {
        self.length.fetch_sub(1, Ordering::Relaxed);
    }

    pub fn length(&self) -> u64 {
        self.length.load(Ordering::Relaxed)
    }

    /// Counts the history of a rollback segment with this header page, and returns its newest number.
    pub fn load(&self, store: &Store, number: u8, header: PageId) -> Result<TrxId> {
        let (newest, count) = {
            let page = store.read(header)?;
            let Base { length, first, .. } = Base::read(&page, page::RSEG_HISTORY);
            (first, length)
        };
        self.length.fetch_add(count.into(), Ordering::Relaxed);
        self.with(number, |known| known.unread = count.into());
        if newest.is_null() {
            return Ok(TrxId(0));
        }
        // Older neighbours may have a number that is a little larger: the counter that the registry stores is further
        // ahead.
        let (committed, _) = read_node(store, number, header, newest)?;
        Ok(committed.number.max(committed.trx_id))
    }

    /// Takes the oldest log if its number is below `limit`.
    pub fn take(&self, limit: TrxId) -> Oldest {
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

    pub fn put_back(&self, log: Committed) {
        self.with(log.segment, |segment| {
            segment.taken -= 1;
            let at = segment.window.partition_point(|other| other.number < log.number);
            segment.window.insert(at, log);
        });
    }

    /// Fills the window of a segment from its list.
    pub fn fill_window(&self, store: &Store, number: u8, header: PageId) -> Result<()> {
        let _one = self.reading.lock();
        // No log is added or removed while this page is latched.
        let header_page = store.read(header)?;
        let (known, wanted) = self.with(number, |segment| {
            let known = segment.taken + segment.window.len() as u64;
            (known, segment.unread.min((WINDOW - segment.window.len().min(WINDOW)) as u64))
        });
        let mut address = Base::read(&header_page, page::RSEG_HISTORY).last;
        let mut logs = Vec::with_capacity(wanted as usize);
        for at in 0..known + wanted {
            if address.is_null() {
                return Err(Error::corrupt_page(header, "the history list is shorter than it says"));
            }
            let (log, newer) = read_node(store, number, header, address)?;
            if at >= known {
                logs.push(log);
            }
            address = newer;
        }
        self.with(number, |segment| {
            segment.unread -= wanted;
            segment.window.extend(logs);
        });
        Ok(())
    }
}

/// Reads a log of the history list of a rollback segment, and the address of the next newer one.
fn read_node(store: &Store, number: u8, rollback: PageId, address: Address) -> Result<(Committed, Address)> {
    let first = PageId::new(rollback.space, address.page);
    let page = store.read(first)?;
    let node = usize::from(address.offset);
    let header = node.checked_sub(page::LOG_HISTORY_NODE).filter(|header| {
        let is_within = *header >= page::FIRST_LOG && header + page::LOG_HEADER_BYTES <= page.len();
        is_within && header::page_type(&page) == PageType::UNDO_LOG
    });
    let Some(header) = header else {
        return Err(Error::corrupt_page(rollback, "the history list"));
    };
    let id = |offset: usize| {
        let id = TrxId::checked(get_u64(&page, header + offset));
        id.ok_or_else(|| Error::corrupt_page(first, "a transaction id of more than 48 bits"))
    };
    let committed = Committed {
        number: id(page::LOG_TRX_NO)?,
        trx_id: id(page::LOG_TRX_ID)?,
        segment: number,
        first,
        header: header as u16,
    };
    Ok((committed, Node::read(&page, node).prev))
}
