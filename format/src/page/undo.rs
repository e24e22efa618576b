//! Undo pages, rollback segments and the transaction system page: where their fields are.
//!
//! A transaction's undo records lie in an undo log, the log in a segment of undo pages. A rollback segment's header
//! page has a slot per segment in use and the history list of committed logs that purge has still to read. The
//! transaction system page has a slot per rollback segment. The fields stand where InnoDB has them.
//!
//! ```text
//! every undo page                                 first page of an undo segment, also
//!     38  2  kind: 1 insert, 2 update                 56  2  state
//!     40  2  first record of the newest log           58  2  newest log header on this page
//!     42  2  first free byte                          60 10  segment header
//!     44 12  list node of the segment's pages         70 16  list of the segment's pages
//!                                                     86     undo log headers, records
//!
//! undo log header (offsets from its start)
//!      0  8  transaction id                           20  1  flags: 1 XID exists
//!      8  8  transaction number, at commit            21  1  1 if of a dictionary transaction
//!     16  2  1 if delete marks were set               22  8  table id, for dictionary transactions
//!     18  2  first record of the log                  30  2  next log header on the page, 0 none
//!                                                     32  2  previous log header, 0 none
//!     34 12  list node of the history
//!     46  4  XID format                               50  4  gtrid length
//!     54  4  bqual length                             58 128 XID data
//!
//! undo record on its page
//!      0  2  offset of the next record, 0 or the first free byte if none
//!      2     content, opaque here
//!     -2  2  offset of this record's start (so that the page can be read backward)
//!
//! rollback segment header page                    transaction system page (space 0, page 5)
//!     38  4  largest size in pages                    38  8  next transaction id to give, rounded up
//!     42  4  history: pages                           46 10  segment header
//!     46 16  history list of undo log headers         56     128 slots: space id 4, page 4
//!     62 10  segment header                         PS-200   doublewrite area of MySQL 5.7, see formats
//!     72     slots, PS/16 of them: 4 bytes each, first page of an undo segment or NULL
//! ```
//!
//! Invariant: records of a page lie between [`START`] of its newest log and [`FREE`], and each one's last two bytes
//! point at its first.

use super::{get_u16, put_u16};
use crate::error::{Error, Result};
use crate::page::header::TRAILER_BYTES;

// Every undo page.

pub const KIND: usize = 38;
pub const START: usize = 40;
pub const FREE: usize = 42;
/// List node: the pages of a segment are a list.
pub const PAGE_NODE: usize = 44;
/// Where records may begin on pages other than the first of a segment.
pub const BODY: usize = 56;

/// Values of [`KIND`].
pub const KIND_INSERT: u16 = 1;
pub const KIND_UPDATE: u16 = 2;

// First page of an undo segment.

pub const STATE: usize = 56;
pub const LAST_LOG: usize = 58;
pub const SEGMENT: usize = 60;
pub const PAGE_LIST: usize = 70;
/// Where the first log header of a segment begins.
pub const FIRST_LOG: usize = 86;

/// Values of [`STATE`].
pub const STATE_ACTIVE: u16 = 1;
/// Kept for the next transaction: one page, not in the history.
pub const STATE_CACHED: u16 = 2;
/// An insert log of a committed transaction, to be freed.
pub const STATE_TO_FREE: u16 = 3;
/// An update log of a committed transaction, in the history.
pub const STATE_TO_PURGE: u16 = 4;
pub const STATE_PREPARED: u16 = 5;

// Undo log header, offsets from its start.

pub const LOG_TRX_ID: usize = 0;
pub const LOG_TRX_NO: usize = 8;
pub const LOG_DELETE_MARKS: usize = 16;
pub const LOG_START: usize = 18;
pub const LOG_FLAGS: usize = 20;
pub const LOG_DICTIONARY: usize = 21;
pub const LOG_TABLE_ID: usize = 22;
pub const LOG_NEXT: usize = 30;
pub const LOG_PREV: usize = 32;
pub const LOG_HISTORY_NODE: usize = 34;
/// Bytes of a log header without XID.
pub const LOG_HEADER_BYTES: usize = 46;
pub const LOG_XID_FORMAT: usize = 46;
pub const LOG_XID_GTRID_BYTES: usize = 50;
pub const LOG_XID_BQUAL_BYTES: usize = 54;
pub const LOG_XID_DATA: usize = 58;
/// Bytes of a log header with room for an XID.
pub const LOG_HEADER_XID_BYTES: usize = 186;

/// Values of [`LOG_FLAGS`].
pub const LOG_FLAG_XID: u8 = 1;
/// The transaction was prepared together with an annex: an upper layer's log has it, and has to have its end, too.
/// InnoDB does not use this bit.
pub const LOG_FLAG_ANNEXED: u8 = 0x80;

// Rollback segment header page.

pub const RSEG_MAX_PAGES: usize = 38;
pub const RSEG_HISTORY_PAGES: usize = 42;
pub const RSEG_HISTORY: usize = 46;
pub const RSEG_SEGMENT: usize = 62;
pub const RSEG_SLOTS: usize = 72;

/// Undo segments that a rollback segment can have.
#[inline]
pub const fn rseg_slot_count(page_bytes: usize) -> usize {
    page_bytes / 16
}

// Transaction system page.

pub const TRX_SYS_PAGE: u32 = 5;
pub const TRX_SYS_NEXT_ID: usize = 38;
pub const TRX_SYS_SEGMENT: usize = 46;
pub const TRX_SYS_RSEGS: usize = 56;
pub const TRX_SYS_RSEG_BYTES: usize = 8;
pub const TRX_SYS_RSEG_COUNT: usize = 128;

const _: () = assert!(PAGE_NODE + 12 == BODY && BODY == STATE && PAGE_LIST + 16 == FIRST_LOG);
const _: () = assert!(LOG_HISTORY_NODE + 12 == LOG_HEADER_BYTES && LOG_XID_DATA + 128 == LOG_HEADER_XID_BYTES);
const _: () = assert!(RSEG_SEGMENT + 10 == RSEG_SLOTS && TRX_SYS_SEGMENT + 10 == TRX_SYS_RSEGS);

/// Bytes that a record takes on a page beyond its content: the two offsets around it.
pub const RECORD_FRAME_BYTES: usize = 4;

/// The first byte of the page that is free for records.
#[inline]
pub fn free(page: &[u8]) -> u16 {
    get_u16(page, FREE)
}

/// Bytes of content that the next record may have on this page.
#[inline]
pub fn room(page: &[u8]) -> usize {
    (page.len() - TRAILER_BYTES).saturating_sub(usize::from(free(page)) + RECORD_FRAME_BYTES)
}

/// Appends a record: the change behind `redo::PageOp::UndoAppend`.
pub(crate) fn append(page: &mut [u8], record: &[u8]) -> Result<()> {
    let start = usize::from(free(page));
    if start < BODY || start > page.len() - TRAILER_BYTES {
        return Err(Error::corrupt("the free offset of an undo page", FREE));
    }
    let end = start + record.len() + RECORD_FRAME_BYTES;
    if end > page.len() - TRAILER_BYTES {
        return Err(Error::Full);
    }
    put_u16(page, start, end as u16);
    page[start + 2..end - 2].copy_from_slice(record);
    put_u16(page, end - 2, start as u16);
    put_u16(page, FREE, end as u16);
    Ok(())
}

/// The content of the record that starts at `start`.
#[inline]
pub fn record(page: &[u8], start: u16) -> Result<&[u8]> {
    let start = usize::from(start);
    if start < BODY || start + RECORD_FRAME_BYTES > page.len() {
        return Err(Error::corrupt("an undo record outside its page", start));
    }
    let end = usize::from(get_u16(page, start));
    if end < start + RECORD_FRAME_BYTES || end > page.len() - TRAILER_BYTES {
        return Err(Error::corrupt("the end of an undo record", start));
    }
    if usize::from(get_u16(page, end - 2)) != start {
        return Err(Error::corrupt("an undo record's way back", end - 2));
    }
    Ok(&page[start + 2..end - 2])
}

/// The start of the record behind the one at `start`, if there is one. `log_end` is where the log of that record ends
/// on this page: the header of the next log, or [`free`].
#[inline]
pub fn next_record(page: &[u8], start: u16, log_end: u16) -> Result<Option<u16>> {
    record(page, start)?;
    let next = get_u16(page, usize::from(start));
    Ok((next < log_end).then_some(next))
}

/// The start of the record before the one at `start`, if there is one. `log_start` is where the records of that log
/// begin on this page.
#[inline]
pub fn prev_record(page: &[u8], start: u16, log_start: u16) -> Result<Option<u16>> {
    if start <= log_start {
        return Ok(None);
    }
    if usize::from(start) < BODY + 2 || usize::from(start) > page.len() - TRAILER_BYTES {
        return Err(Error::corrupt("an undo record outside its page", usize::from(start)));
    }
    let prev = get_u16(page, usize::from(start) - 2);
    if prev >= start || prev < log_start {
        return Err(Error::corrupt("an undo record's way back", usize::from(start) - 2));
    }
    Ok(Some(prev))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_read_both_ways() {
        let mut page = vec![0; 4096];
        put_u16(&mut page, FREE, 100);
        for record in [&b"first"[..], b"", b"third"] {
            append(&mut page, record).unwrap();
        }
        let end = free(&page);
        assert_eq!(end, 100 + 9 + 4 + 9);
        let second = next_record(&page, 100, end).unwrap().unwrap();
        let third = next_record(&page, second, end).unwrap().unwrap();
        assert_eq!(record(&page, 100), Ok(&b"first"[..]));
        assert_eq!(record(&page, second), Ok(&b""[..]));
        assert_eq!(record(&page, third), Ok(&b"third"[..]));
        assert_eq!(next_record(&page, third, end), Ok(None));
        assert_eq!(prev_record(&page, end, 100), Ok(Some(third)));
        assert_eq!(prev_record(&page, third, 100), Ok(Some(second)));
        assert_eq!(prev_record(&page, second, 100), Ok(Some(100)));
        assert_eq!(prev_record(&page, 100, 100), Ok(None));
        let whole = vec![1; room(&page)];
        append(&mut page, &whole).unwrap();
        assert_eq!(room(&page), 0);
        assert_eq!(append(&mut page, b"x"), Err(Error::Full));
    }

    #[test]
    fn nonsense_is_an_error() {
        let page = vec![0xFF; 4096];
        assert!(record(&page, 100).is_err());
        assert!(record(&page, 0).is_err());
        assert!(prev_record(&page, 100, 60).is_err());
        assert_eq!(room(&page), 0);
        assert_eq!(append(&mut page.clone(), b""), Err(Error::corrupt("the free offset of an undo page", FREE)));
    }
}
