//! Undo: rows as they were before their changes, for rollback, for readers of older versions, and for purge.
//!
//! A transaction that changes rows writes *undo records* ([`record`]) into up to two *undo logs*: one for inserts, one
//! for all else. An insert's undo record is not needed once the transaction has committed, so that log is freed at
//! once; the other stays in the *history* until no reader needs an older version, and none of its delete-marked rows is
//! left.
//!
//! ```text
//! transaction system page -> rollback segment header, several of them
//!                              slots    -> undo segments in use, or cached for the next transaction
//!                              history  -> newest log <-> ... <-> oldest log
//!
//! undo segment = list of pages; its first page has the log headers
//!    [header | log 1 | records .. | log 2 | records ..]      small logs share a page, one after the other
//!    [header | log | records ..]<->[records ..]<->[..]       a large one has its own pages
//! ```
//!
//! A clustered record's roll pointer names the undo record of the change that made it (rollback segment, page, offset),
//! and that record has the roll pointer of the version before: a chain of older and older versions.
//!
//! The life of an undo segment:
//!
//! ```text
//!            first change              commit, small                    next transaction
//!   free  ---------------> active ---------------------> cached  ---------------------------> active
//!    ^                       |   commit, large                ^
//!    |                       +--> insert: to free --+         |  its committed logs stay in the history meanwhile
//!    |                       +--> update: to purge -+
//!    +----------------------------------------------+  freed at once, or once purge has read its last log
//!
//!   active ---- XA PREPARE ---> prepared ---- XA COMMIT ---> as above
//!      ^-------- XA ROLLBACK -------+                            the header of a log with an XID has space for it
//! ```
//!
//! The first record of a transaction begins its log along with it, in one mini-transaction, if its rollback segment has
//! a cached undo segment with enough space; otherwise the change is abandoned, the log begun on its own
//! ([`UndoSpace::grow`]), and the change repeated.
//!
//! Invariants:
//!
//! * An undo record is written in the mini-transaction of the change it describes, or in one before it.
//! * The page of a rollback segment's header is latched before the pages of its logs; an undo page is latched after the
//!   index page whose record it describes.
//! * A log in the history is of a committed transaction and has its number; histories are read in the order of numbers.
//!
//! This module knows no rows and no transactions. Sources: the InnoDB internals manual on undo and history.

mod committed;
mod history;
mod log;
mod record;
mod segment;

use format::ids::{PageId, RollPtr, TrxId, UndoNo};
use format::xid::Xid;

pub use committed::{HistoryLog, LogReader};
pub use log::Survey;
pub use record::{OldField, UndoBuilder, UndoKind, UndoReader, UndoRecord};
pub use segment::{UndoSpace, UndoStatus};

/// Which of a transaction's two logs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogKind {
    Insert,
    Update,
}

/// The undo state of one transaction; only its own thread uses it.
#[derive(Debug, Default)]
pub struct TrxUndo {
    /// A transaction of the dictionary: after a crash it is rolled back before all others.
    pub dictionary: bool,
    /// The XID of a distributed transaction's branch. Known before the first change.
    pub xid: Option<Box<Xid>>,
    /// It was prepared together with an annex.
    pub annexed: bool,
    /// The rollback segment, chosen at the first change.
    segment: Option<u8>,
    insert: Option<Log>,
    update: Option<Log>,
    /// The number of undo records written so far, which is the number of the next.
    next: u64,
}

/// An undo log that is being written or rolled back.
#[derive(Clone, Debug)]
struct Log {
    slot: u16,
    /// First page of the segment, where the log header is.
    first: PageId,
    header: u16,
    /// Where records begin on the first page, behind the header.
    start: u16,
    /// The page that the next record goes to.
    last: PageId,
    /// The newest record that is not undone.
    top: Option<Top>,
    /// Whether records above `top` are still on the pages.
    untruncated: bool,
    /// The state of the segment, see `format::page::undo`.
    state: u16,
}

/// Where a log ends.
#[derive(Clone, Copy, Debug)]
struct Top {
    page: PageId,
    offset: u16,
    number: u64,
}

/// A record taken from the top of a transaction's undo.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TopRecord {
    pub kind: LogKind,
    pub number: UndoNo,
    pub roll_ptr: RollPtr,
}

/// A transaction that had not ended when the server stopped.
#[derive(Debug)]
pub struct RecoveredLog {
    pub trx_id: TrxId,
    pub dictionary: bool,
    pub prepared: bool,
    pub undo: TrxUndo,
}

impl TrxUndo {
    /// The transaction's present position: a rollback to it undoes what follows.
    #[inline]
    pub fn savepoint(&self) -> UndoNo {
        UndoNo(self.next)
    }

    /// An upper limit of the changes that are not undone: records of a statement that was rolled back had numbers, too.
    pub fn left(&self) -> u64 {
        let tops = [&self.insert, &self.update].into_iter().flatten().filter_map(|log| log.top);
        tops.map(|top| top.number + 1).max().unwrap_or(0)
    }

    /// Whether there is anything to undo or to commit.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.insert.is_none() && self.update.is_none()
    }

    /// Whether it changed rows in other ways than inserting them.
    #[inline]
    pub fn has_updates(&self) -> bool {
        self.update.is_some()
    }

    /// A log was begun.
    fn begun(&mut self, segment: &segment::RollbackSegment, kind: LogKind, log: Log) {
        self.segment = Some(segment.number);
        *self.log_mut(kind) = Some(log);
    }

    #[inline]
    fn log(&self, kind: LogKind) -> &Option<Log> {
        match kind {
            LogKind::Insert => &self.insert,
            LogKind::Update => &self.update,
        }
    }

    #[inline]
    fn log_mut(&mut self, kind: LogKind) -> &mut Option<Log> {
        match kind {
            LogKind::Insert => &mut self.insert,
            LogKind::Update => &mut self.update,
        }
    }
}
