//! Redo: every change of a page as a small, self-contained operation.
//!
//! A running server changes a page only by [`PageOp::apply`], and logs the operation; recovery reads the operation back
//! and applies it with the same function. So an operation must mean the same on the same page, today and after a
//! crash: it needs no dictionary, no layout and no other page.
//!
//! What an operation cannot see by itself, the caller has worked out before: where in the heap a record goes
//! ([`Place`]), how many bytes a removed record had. `apply` checks what it is given as far as the page tells, and
//! answers an error for nonsense, with the page unchanged.
//!
//! In the log, a record is a tag, the page unless it is the one of the record before, and the operands, most of them as
//! variable-length integers (7 bits per byte, lowest first):
//!
//! ```text
//! tag          1   the operation; 0x80: the same page as the record before, no ids follow
//! space, page      varints
//! operands         per operation, see `encode`
//! ```
//!
//! Inserting a record costs its own bytes and about ten more; the five bytes of the record header are not logged, since
//! the page decides them.
//!
//! Invariants:
//!
//! * `decode(encode(op)) == op`.
//! * After each operation the page is valid (`page::index::validate`), if it was before.
//! * `apply` neither allocates nor copies pages, but for [`PageOp::Reorganize`].

use crate::error::{Error, Result};
use crate::ids::{IndexId, Lsn, PageId, PageNo, SpaceId, TrxId};
use crate::page::header::{self, PageType};
use crate::page::index::{self, Place};
use crate::record::{Layout, RecordImage};

/// A change of one page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageOp<'a> {
    /// Makes an empty page of a type: zeros behind a header without neighbours.
    Init { id: PageId, page_type: PageType },
    /// Overwrites bytes anywhere on the page.
    Write { offset: u16, bytes: &'a [u8] },
    /// Sets bytes to one value.
    Fill { offset: u16, count: u16, byte: u8 },
    /// Replaces the whole page but for its checksums and LSN, which are stamped anyway.
    Image { bytes: &'a [u8] },
    /// Makes an index page without records of a page that has been allocated; neighbours stay.
    IndexInit { level: u16, index: IndexId },
    /// Removes all records of an index page and sets its level. Index id, neighbours, segment headers and the field at
    /// [`index::MAX_TRX_ID`] stay: this is what raising a root needs.
    IndexClear { level: u16 },
    /// Puts a record behind the one at `after` (or behind the infimum).
    InsertRecord { after: u16, place: Place, record: RecordImage<'a> },
    /// Puts many records, see [`RecordList`], behind the one at `after`, all at the heap's top.
    InsertRecords { after: u16, records: &'a [u8] },
    /// Takes a record out of the list into the free list. `extra` and `data` are its bytes below and above the origin.
    RemoveRecord { origin: u16, extra: u16, data: u16 },
    /// Removes the record at `origin` and all behind it; `bytes` is their size together.
    RemoveFrom { origin: u16, bytes: u16 },
    /// Removes all records before the one at `origin` (which may be the supremum); `bytes` is their size together.
    RemoveBefore { origin: u16, bytes: u16 },
    SetDeleteMark { origin: u16, deleted: bool },
    /// Marks the record as the smallest of its level, or takes the mark away.
    SetMinRecord { origin: u16, min: bool },
    /// Overwrites parts of a record's data, see [`Patches`], and sets or clears its delete mark unless `None`.
    UpdateInPlace { origin: u16, deleted: Option<bool>, patches: &'a [u8] },
    /// Writes the records in key order to the start of the heap and forgets the free list. `sizes` tells the records'
    /// sizes in key order, see [`PageOp::reorganize`].
    Reorganize { sizes: &'a [u8] },
    /// Raises the newest transaction id of a secondary leaf. A smaller one changes nothing.
    MaxTrxId { trx_id: TrxId },
    /// Appends a record to an undo page: links it and moves the free offset.
    UndoAppend { record: &'a [u8] },
}

/// A record of the redo log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Record<'a> {
    /// A page changes.
    Page { page: PageId, op: PageOp<'a> },
    /// A tablespace file comes into being. `flags` as on its page 0.
    FileCreate { space: SpaceId, flags: u32, name: &'a str },
    /// A tablespace file gets another name.
    FileRename { space: SpaceId, from: &'a str, to: &'a str },
    /// A tablespace file goes away, with all that was logged for it.
    FileDelete { space: SpaceId, name: &'a str },
    /// At the newest checkpoint this file was open: how recovery maps ids to names.
    FileOpen { space: SpaceId, name: &'a str },
    /// All changes before this LSN are in the files.
    Checkpoint { lsn: Lsn },
    /// Bytes that an upper layer wants back after a crash, in order, such as those of its own log.
    Annex { kind: u8, bytes: &'a [u8] },
}

impl<'a> Record<'a> {
    /// Appends the record. `previous` is the page of the record before in the same group, which costs nothing to repeat;
    /// it is updated.
    pub fn encode(&self, previous: &mut Option<PageId>, out: &mut Vec<u8>) {
        todo!()
    }

    /// Reads one record and advances `bytes` behind it.
    pub fn decode(bytes: &mut &'a [u8], previous: &mut Option<PageId>) -> Result<Record<'a>> {
        todo!()
    }
}

/// Appends a page record, as [`Record::encode`] does.
#[inline]
pub fn encode_page(page: PageId, op: &PageOp<'_>, previous: &mut Option<PageId>, out: &mut Vec<u8>) {
    Record::Page { page, op: *op }.encode(previous, out);
}

impl<'a> PageOp<'a> {
    /// Appends tag and operands, without the page.
    pub fn encode(&self, out: &mut Vec<u8>) {
        todo!()
    }

    /// Reads what [`PageOp::encode`] wrote and advances `bytes` behind it.
    pub fn decode(bytes: &mut &'a [u8]) -> Result<PageOp<'a>> {
        todo!()
    }

    /// Changes the page. On an error the page is as before.
    pub fn apply(&self, page: &mut [u8]) -> Result<()> {
        todo!()
    }

    /// The operation that puts `record` behind `after`, or `None` if there is no room for it as the page lies
    /// (reorganised, there may be: [`index::fit`]).
    #[inline]
    pub fn insert(page: &[u8], layout: &Layout, after: u16, record: RecordImage<'a>) -> Result<Option<PageOp<'a>>> {
        Ok(match index::fit(page, layout, record.size())? {
            index::Fit::Now(place) => Some(PageOp::InsertRecord { after, place, record }),
            _ => None,
        })
    }

    /// The operation that removes the record at `origin`.
    #[inline]
    pub fn remove(page: &[u8], layout: &Layout, origin: u16) -> Result<PageOp<'static>> {
        let size = layout.size(page, usize::from(origin))?;
        Ok(PageOp::RemoveRecord { origin, extra: size.extra as u16, data: size.data as u16 })
    }

    /// The operation that removes the record at `origin` and all behind it.
    pub fn remove_from(page: &[u8], layout: &Layout, origin: u16) -> Result<PageOp<'static>> {
        todo!()
    }

    /// The operation that removes all records before `origin`.
    pub fn remove_before(page: &[u8], layout: &Layout, origin: u16) -> Result<PageOp<'static>> {
        todo!()
    }

    /// The operation that reorganises the page. `sizes` is a buffer to build its operand in.
    pub fn reorganize(page: &[u8], layout: &Layout, sizes: &'a mut Vec<u8>) -> Result<PageOp<'a>> {
        todo!()
    }
}

/// Records one behind the other: the operand of [`PageOp::InsertRecords`].
#[derive(Clone, Debug, Default)]
pub struct RecordList {
    bytes: Vec<u8>,
    count: usize,
    record_bytes: usize,
}

impl RecordList {
    pub fn new() -> RecordList {
        RecordList::default()
    }

    pub fn clear(&mut self) {
        todo!()
    }

    pub fn push(&mut self, record: RecordImage<'_>) {
        todo!()
    }

    /// Appends the records of a page from `from` (inclusive; the first if it is the infimum) up to `to` (exclusive; the
    /// supremum for all).
    pub fn push_range(&mut self, page: &[u8], layout: &Layout, from: u16, to: u16) -> Result<()> {
        todo!()
    }

    pub fn count(&self) -> usize {
        self.count
    }

    /// Bytes the records take in a heap.
    pub fn record_bytes(&self) -> usize {
        self.record_bytes
    }

    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// Overwritten parts of a record: the operand of [`PageOp::UpdateInPlace`].
#[derive(Clone, Debug, Default)]
pub struct Patches {
    bytes: Vec<u8>,
}

impl Patches {
    pub fn new() -> Patches {
        Patches::default()
    }

    pub fn clear(&mut self) {
        self.bytes.clear();
    }

    /// `offset` counts from the record's origin.
    pub fn push(&mut self, offset: u16, bytes: &[u8]) {
        todo!()
    }

    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }
}
