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

mod integers;
mod operands;

use crate::error::{Error, Result};
use crate::ids::{IndexId, PageId, PageNo, SpaceId, TrxId};
use crate::page::header::{self, PageType};
use crate::page::index::{self, Place, SUPREMUM};
use crate::page::{self, undo};
use crate::record::{self, DELETED, Layout, MIN_RECORD, RecordImage, Size};

use integers::{
    put_bytes, put_record, put_varint, take_byte, take_bytes, take_patch, take_record, take_text, take_u16, take_u32,
    take_varint,
};
use operands::Runs;
pub use operands::{Patches, RecordList};

/// A change of one page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageOp<'a> {
    /// Makes an empty page of a type: zeros behind a header without neighbours.
    Init {
        id: PageId,
        page_type: PageType,
    },
    /// Overwrites bytes anywhere on the page.
    Write {
        offset: u16,
        bytes: &'a [u8],
    },
    /// Sets bytes to one value.
    Fill {
        offset: u16,
        count: u16,
        byte: u8,
    },
    /// Makes an index page without records of a page that has been allocated; neighbours stay.
    IndexInit {
        level: u16,
        index: IndexId,
    },
    /// Removes all records of an index page and sets its level. Index id, neighbours, segment headers and the field at
    /// [`index::MAX_TRX_ID`] stay: this is what raising a root needs.
    IndexClear {
        level: u16,
    },
    /// Puts a record behind the one at `after` (or behind the infimum).
    InsertRecord {
        after: u16,
        place: Place,
        record: RecordImage<'a>,
    },
    /// Puts many records, see [`RecordList`], behind the one at `after`, all at the heap's top.
    InsertRecords {
        after: u16,
        records: &'a [u8],
    },
    /// Takes a record out of the list into the free list. `extra` and `data` are its bytes below and above the origin.
    RemoveRecord {
        origin: u16,
        extra: u16,
        data: u16,
    },
    /// Removes the record at `origin` and all behind it; `bytes` is their size together.
    RemoveFrom {
        origin: u16,
        bytes: u16,
    },
    SetDeleteMark {
        origin: u16,
        deleted: bool,
    },
    /// Marks the record as the smallest of its level, or takes the mark away.
    SetMinRecord {
        origin: u16,
        min: bool,
    },
    /// Overwrites parts of a record's data, see [`Patches`], and sets or clears its delete mark unless `None`.
    UpdateInPlace {
        origin: u16,
        deleted: Option<bool>,
        patches: &'a [u8],
    },
    /// Writes the records in key order to the start of the heap and forgets the free list. `sizes` tells the records'
    /// sizes in key order, see [`PageOp::reorganize`].
    Reorganize {
        sizes: &'a [u8],
    },
    /// Raises the newest transaction id of a secondary leaf. A smaller one changes nothing.
    MaxTrxId {
        trx_id: TrxId,
    },
    /// Appends a record to an undo page: links it and moves the free offset.
    UndoAppend {
        record: &'a [u8],
    },
}

/// A record of the redo log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Record<'a> {
    /// A page changes.
    Page { page: PageId, op: PageOp<'a> },
    /// A tablespace file comes into being. `flags` as on its page 0.
    FileCreate { space: SpaceId, flags: u32, name: &'a str },
    /// The key of a tablespace file that is about to come into being, wrapped (`transform::encryption::KeyInfo`). It
    /// stands before the file's own record.
    FileKey { space: SpaceId, info: &'a [u8] },
    /// A tablespace file gets another name.
    FileRename { space: SpaceId, from: &'a str, to: &'a str },
    /// A tablespace file goes away, with all that was logged for it.
    FileDelete { space: SpaceId, name: &'a str },
    /// Bytes that an upper layer wants back after a crash, in order, such as those of its own log.
    Annex { kind: u8, bytes: &'a [u8] },
}

impl<'a> Record<'a> {
    /// Appends the record. `previous` is the page of the record before in the same group, which costs nothing to
    /// repeat; it is updated.
    pub fn encode(&self, previous: &mut Option<PageId>, out: &mut Vec<u8>) {
        match *self {
            Record::Page { page, op } => encode_page(page, &op, previous, out),
            Record::FileCreate { space, flags, name } => {
                out.push(tag::FILE_CREATE);
                put_varint(out, space.0.into());
                put_varint(out, flags.into());
                put_bytes(out, name.as_bytes());
            }
            Record::FileKey { space, info } => {
                out.push(tag::FILE_KEY);
                put_varint(out, space.0.into());
                put_bytes(out, info);
            }
            Record::FileRename { space, from, to } => {
                out.push(tag::FILE_RENAME);
                put_varint(out, space.0.into());
                put_bytes(out, from.as_bytes());
                put_bytes(out, to.as_bytes());
            }
            Record::FileDelete { space, name } => {
                out.push(tag::FILE_DELETE);
                put_varint(out, space.0.into());
                put_bytes(out, name.as_bytes());
            }
            Record::Annex { kind, bytes } => {
                out.extend_from_slice(&[tag::ANNEX, kind]);
                put_bytes(out, bytes);
            }
        }
    }

    /// Reads one record and advances `bytes` behind it.
    pub fn decode(bytes: &mut &'a [u8], previous: &mut Option<PageId>) -> Result<Record<'a>> {
        let tag = take_byte(bytes)?;
        Ok(match tag {
            tag::FILE_CREATE => Record::FileCreate {
                space: SpaceId(take_u32(bytes)?),
                flags: take_u32(bytes)?,
                name: take_text(bytes)?,
            },
            tag::FILE_KEY => Record::FileKey { space: SpaceId(take_u32(bytes)?), info: take_bytes(bytes)? },
            tag::FILE_RENAME => {
                Record::FileRename { space: SpaceId(take_u32(bytes)?), from: take_text(bytes)?, to: take_text(bytes)? }
            }
            tag::FILE_DELETE => Record::FileDelete { space: SpaceId(take_u32(bytes)?), name: take_text(bytes)? },
            tag::ANNEX => Record::Annex { kind: take_byte(bytes)?, bytes: take_bytes(bytes)? },
            _ => {
                let page = if tag & tag::SAME_PAGE != 0 {
                    previous.ok_or(Error::corrupt("a redo record of the same page as none", 0))?
                } else {
                    PageId::new(SpaceId(take_u32(bytes)?), PageNo(take_u32(bytes)?))
                };
                *previous = Some(page);
                Record::Page { page, op: PageOp::decode_operands(tag & !tag::SAME_PAGE, bytes)? }
            }
        })
    }
}

/// Appends a page record, as [`Record::encode`] does.
#[inline]
pub fn encode_page(page: PageId, op: &PageOp<'_>, previous: &mut Option<PageId>, out: &mut Vec<u8>) {
    if *previous == Some(page) {
        out.push(op.tag() | tag::SAME_PAGE);
    } else {
        out.push(op.tag());
        put_varint(out, page.space.0.into());
        put_varint(out, page.page.0.into());
        *previous = Some(page);
    }
    op.encode_operands(out);
}

/// The first byte of a record. Part of the log's format: numbers are not reused, nor are 4, 12, 67 and 68, which
/// earlier versions knew.
mod tag {
    pub const INIT: u8 = 1;
    pub const WRITE: u8 = 2;
    pub const FILL: u8 = 3;
    pub const INDEX_INIT: u8 = 5;
    pub const INDEX_CLEAR: u8 = 6;
    pub const INSERT_TOP: u8 = 7;
    pub const INSERT_FREE: u8 = 8;
    pub const INSERT_RECORDS: u8 = 9;
    pub const REMOVE: u8 = 10;
    pub const REMOVE_FROM: u8 = 11;
    pub const SET_DELETED: u8 = 13;
    pub const CLEAR_DELETED: u8 = 14;
    pub const SET_MIN: u8 = 15;
    pub const CLEAR_MIN: u8 = 16;
    pub const UPDATE: u8 = 17;
    pub const UPDATE_SET_DELETED: u8 = 18;
    pub const UPDATE_CLEAR_DELETED: u8 = 19;
    pub const REORGANIZE: u8 = 20;
    pub const MAX_TRX_ID: u8 = 21;
    pub const UNDO_APPEND: u8 = 22;

    pub const FILE_CREATE: u8 = 64;
    pub const FILE_RENAME: u8 = 65;
    pub const FILE_DELETE: u8 = 66;
    pub const ANNEX: u8 = 69;
    pub const FILE_KEY: u8 = 70;

    /// Added to the tag of a page operation.
    pub const SAME_PAGE: u8 = 0x80;
}

impl<'a> PageOp<'a> {
    /// Whether every record stays where it is on its page, under its key.
    #[inline]
    pub fn keeps_places(&self) -> bool {
        matches!(self, PageOp::SetDeleteMark { .. } | PageOp::UpdateInPlace { .. } | PageOp::MaxTrxId { .. })
    }

    #[inline]
    fn tag(&self) -> u8 {
        match *self {
            PageOp::Init { .. } => tag::INIT,
            PageOp::Write { .. } => tag::WRITE,
            PageOp::Fill { .. } => tag::FILL,
            PageOp::IndexInit { .. } => tag::INDEX_INIT,
            PageOp::IndexClear { .. } => tag::INDEX_CLEAR,
            PageOp::InsertRecord { place: Place::Top, .. } => tag::INSERT_TOP,
            PageOp::InsertRecord { place: Place::Free { .. }, .. } => tag::INSERT_FREE,
            PageOp::InsertRecords { .. } => tag::INSERT_RECORDS,
            PageOp::RemoveRecord { .. } => tag::REMOVE,
            PageOp::RemoveFrom { .. } => tag::REMOVE_FROM,
            PageOp::SetDeleteMark { deleted: true, .. } => tag::SET_DELETED,
            PageOp::SetDeleteMark { deleted: false, .. } => tag::CLEAR_DELETED,
            PageOp::SetMinRecord { min: true, .. } => tag::SET_MIN,
            PageOp::SetMinRecord { min: false, .. } => tag::CLEAR_MIN,
            PageOp::UpdateInPlace { deleted: None, .. } => tag::UPDATE,
            PageOp::UpdateInPlace { deleted: Some(true), .. } => tag::UPDATE_SET_DELETED,
            PageOp::UpdateInPlace { deleted: Some(false), .. } => tag::UPDATE_CLEAR_DELETED,
            PageOp::Reorganize { .. } => tag::REORGANIZE,
            PageOp::MaxTrxId { .. } => tag::MAX_TRX_ID,
            PageOp::UndoAppend { .. } => tag::UNDO_APPEND,
        }
    }

    /// Appends tag and operands, without the page.
    #[inline]
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.push(self.tag());
        self.encode_operands(out);
    }

    #[inline]
    fn encode_operands(&self, out: &mut Vec<u8>) {
        match *self {
            PageOp::Init { id, page_type } => {
                put_varint(out, id.space.0.into());
                put_varint(out, id.page.0.into());
                put_varint(out, page_type.0.into());
            }
            PageOp::Write { offset, bytes } => {
                put_varint(out, offset.into());
                put_bytes(out, bytes);
            }
            PageOp::Fill { offset, count, byte } => {
                put_varint(out, offset.into());
                put_varint(out, count.into());
                out.push(byte);
            }
            PageOp::IndexInit { level, index } => {
                put_varint(out, level.into());
                put_varint(out, index.0);
            }
            PageOp::IndexClear { level } => put_varint(out, level.into()),
            PageOp::InsertRecord { after, place, record } => {
                put_varint(out, after.into());
                if let Place::Free { start } = place {
                    put_varint(out, start.into());
                }
                put_record(out, record);
            }
            PageOp::InsertRecords { after, records } => {
                put_varint(out, after.into());
                put_bytes(out, records);
            }
            PageOp::RemoveRecord { origin, extra, data } => {
                put_varint(out, origin.into());
                put_varint(out, extra.into());
                put_varint(out, data.into());
            }
            PageOp::RemoveFrom { origin, bytes } => {
                put_varint(out, origin.into());
                put_varint(out, bytes.into());
            }
            PageOp::SetDeleteMark { origin, .. } | PageOp::SetMinRecord { origin, .. } => {
                put_varint(out, origin.into());
            }
            PageOp::UpdateInPlace { origin, patches, .. } => {
                put_varint(out, origin.into());
                put_bytes(out, patches);
            }
            PageOp::Reorganize { sizes } => put_bytes(out, sizes),
            PageOp::MaxTrxId { trx_id } => put_varint(out, trx_id.0),
            PageOp::UndoAppend { record } => put_bytes(out, record),
        }
    }

    /// Reads what [`PageOp::encode`] wrote and advances `bytes` behind it.
    pub fn decode(bytes: &mut &'a [u8]) -> Result<PageOp<'a>> {
        let tag = take_byte(bytes)?;
        PageOp::decode_operands(tag, bytes)
    }

    fn decode_operands(tag: u8, bytes: &mut &'a [u8]) -> Result<PageOp<'a>> {
        Ok(match tag {
            tag::INIT => PageOp::Init {
                id: PageId::new(SpaceId(take_u32(bytes)?), PageNo(take_u32(bytes)?)),
                page_type: PageType(take_u16(bytes)?),
            },
            tag::WRITE => PageOp::Write { offset: take_u16(bytes)?, bytes: take_bytes(bytes)? },
            tag::FILL => PageOp::Fill { offset: take_u16(bytes)?, count: take_u16(bytes)?, byte: take_byte(bytes)? },
            tag::INDEX_INIT => PageOp::IndexInit { level: take_u16(bytes)?, index: IndexId(take_varint(bytes)?) },
            tag::INDEX_CLEAR => PageOp::IndexClear { level: take_u16(bytes)? },
            tag::INSERT_TOP => {
                PageOp::InsertRecord { after: take_u16(bytes)?, place: Place::Top, record: take_record(bytes)? }
            }
            tag::INSERT_FREE => PageOp::InsertRecord {
                after: take_u16(bytes)?,
                place: Place::Free { start: take_u16(bytes)? },
                record: take_record(bytes)?,
            },
            tag::INSERT_RECORDS => PageOp::InsertRecords { after: take_u16(bytes)?, records: take_bytes(bytes)? },
            tag::REMOVE => {
                PageOp::RemoveRecord { origin: take_u16(bytes)?, extra: take_u16(bytes)?, data: take_u16(bytes)? }
            }
            tag::REMOVE_FROM => PageOp::RemoveFrom { origin: take_u16(bytes)?, bytes: take_u16(bytes)? },
            tag::SET_DELETED => PageOp::SetDeleteMark { origin: take_u16(bytes)?, deleted: true },
            tag::CLEAR_DELETED => PageOp::SetDeleteMark { origin: take_u16(bytes)?, deleted: false },
            tag::SET_MIN => PageOp::SetMinRecord { origin: take_u16(bytes)?, min: true },
            tag::CLEAR_MIN => PageOp::SetMinRecord { origin: take_u16(bytes)?, min: false },
            tag::UPDATE | tag::UPDATE_SET_DELETED | tag::UPDATE_CLEAR_DELETED => PageOp::UpdateInPlace {
                origin: take_u16(bytes)?,
                deleted: match tag {
                    tag::UPDATE => None,
                    _ => Some(tag == tag::UPDATE_SET_DELETED),
                },
                patches: take_bytes(bytes)?,
            },
            tag::REORGANIZE => PageOp::Reorganize { sizes: take_bytes(bytes)? },
            tag::MAX_TRX_ID => PageOp::MaxTrxId { trx_id: TrxId(take_varint(bytes)?) },
            tag::UNDO_APPEND => PageOp::UndoAppend { record: take_bytes(bytes)? },
            _ => return Err(Error::corrupt("the tag of a redo record", usize::from(tag))),
        })
    }

    /// Changes the page. On an error the page is as before.
    #[inline]
    pub fn apply(&self, page: &mut [u8]) -> Result<()> {
        debug_assert!(page::SIZES.contains(&page.len()));
        match *self {
            PageOp::Init { id, page_type } => header::init(page, id, page_type),
            PageOp::Write { offset, bytes } => {
                let offset = usize::from(offset);
                match page.get_mut(offset..offset + bytes.len()) {
                    Some(range) => range.copy_from_slice(bytes),
                    None => return Err(Error::corrupt("a write beyond the page", offset)),
                }
            }
            PageOp::Fill { offset, count, byte } => {
                let offset = usize::from(offset);
                match page.get_mut(offset..offset + usize::from(count)) {
                    Some(range) => range.fill(byte),
                    None => return Err(Error::corrupt("a write beyond the page", offset)),
                }
            }
            PageOp::IndexInit { level, index } => index::init(page, level, index),
            PageOp::IndexClear { level } => index::clear(page, level),
            PageOp::InsertRecord { after, place, record } => {
                index::insert(page, after, place, record)?;
            }
            PageOp::InsertRecords { after, records } => {
                let mut rest = records;
                let (mut count, mut bytes) = (0, 0);
                while !rest.is_empty() {
                    bytes += take_record(&mut rest)?.size();
                    count += 1;
                }
                let mut rest = records;
                let list = std::iter::from_fn(|| take_record(&mut rest).ok());
                index::insert_list(page, after, count, bytes, list)?;
            }
            PageOp::RemoveRecord { origin, extra, data } => index::remove(page, origin, extra, data)?,
            PageOp::RemoveFrom { origin, bytes } => index::remove_from(page, origin, bytes)?,
            PageOp::SetDeleteMark { origin, deleted } => {
                let origin = index::check_user(page, origin)?;
                set_deleted(page, origin, deleted);
            }
            PageOp::SetMinRecord { origin, min } => {
                let origin = index::check_user(page, origin)?;
                let info = record::info(page, origin) & !MIN_RECORD;
                record::set_info(page, origin, if min { info | MIN_RECORD } else { info });
            }
            PageOp::UpdateInPlace { origin, deleted, patches } => {
                let origin = index::check_user(page, origin)?;
                let room = index::heap_top(page) - origin;
                let mut rest = patches;
                while !rest.is_empty() {
                    let (offset, bytes) = take_patch(&mut rest)?;
                    if offset + bytes.len() > room {
                        return Err(Error::corrupt("a change beyond the heap", origin + offset));
                    }
                }
                let mut rest = patches;
                while !rest.is_empty() {
                    let (offset, bytes) = take_patch(&mut rest)?;
                    page[origin + offset..origin + offset + bytes.len()].copy_from_slice(bytes);
                }
                if let Some(deleted) = deleted {
                    set_deleted(page, origin, deleted);
                }
            }
            PageOp::Reorganize { sizes } => index::reorganize(page, Runs::new(sizes))?,
            PageOp::MaxTrxId { trx_id } => index::set_max_trx_id(page, trx_id),
            PageOp::UndoAppend { record } => undo::append(page, record)?,
        }
        Ok(())
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
        let bytes = bytes_from(page, layout, origin)?;
        Ok(PageOp::RemoveFrom { origin, bytes })
    }

    /// The operation that reorganises the page. `sizes` is a buffer to build its operand in: runs of records of the
    /// same size, each as three integers.
    pub fn reorganize(page: &[u8], layout: &Layout, sizes: &'a mut Vec<u8>) -> Result<PageOp<'a>> {
        sizes.clear();
        let mut put = |run: u64, size: Size| {
            if run > 0 {
                put_varint(sizes, run);
                put_varint(sizes, size.extra.into());
                put_varint(sizes, size.data.into());
            }
        };
        let (mut run, mut size) = (0, Size::default());
        let mut origin = index::first(page)?;
        for _ in 0..index::record_count(page) {
            let this = layout.size(page, usize::from(origin))?;
            if this != size {
                put(run, size);
                (run, size) = (0, this);
            }
            run += 1;
            origin = index::next(page, origin)?;
        }
        put(run, size);
        Ok(PageOp::Reorganize { sizes })
    }
}

#[inline]
fn set_deleted(page: &mut [u8], origin: usize, deleted: bool) {
    let info = record::info(page, origin) & !DELETED;
    record::set_info(page, origin, if deleted { info | DELETED } else { info });
}

/// The size of the record at `from` and of all behind it.
fn bytes_from(page: &[u8], layout: &Layout, from: u16) -> Result<u16> {
    let mut bytes = 0;
    let mut origin = from;
    while origin != SUPREMUM {
        bytes += layout.size(page, usize::from(origin))?.total();
        if bytes > page.len() {
            return Err(Error::corrupt("records larger than their page", usize::from(from)));
        }
        origin = index::next(page, origin)?;
    }
    Ok(bytes as u16)
}

#[cfg(test)]
mod tests;
