//! Records: how a row, or a pointer to a child page, lies on an index page.
//!
//! A record is addressed by its *origin*. Data grows upward from there, in index field order; what is needed to parse
//! the data grows downward. This is InnoDB's COMPACT and DYNAMIC format (the two differ only in how much of a long
//! value stays in the record: DYNAMIC keeps just the 20-byte reference).
//!
//! ```text
//!                                            origin
//!                                              |
//!   ... length 2 | length 1 | NULL bitmap | header | field 0 | field 1 | ...
//!       \___ first field's nearest ___/     5 bytes
//!
//! header, from the origin downward
//!   -5      info bits (high half): 0x10 smallest of its level, 0x20 delete-marked, 0x40 has a row version
//!           records owned by this one (low half), see the directory in `page::index`
//!   -4 -3   heap number (13 bits), status (3 bits): 0 leaf, 1 node pointer, 2 infimum, 3 supremum
//!   -2 -1   distance to the next record in key order, signed, modulo 65536; 0 at the end
//!
//! NULL bitmap   one bit per nullable field, the first in the lowest bit of the byte nearest the header, 1 = NULL
//! lengths       one entry per field of variable length that is not NULL:
//!                 1 byte  if the field's maximum is at most 255 and it is no BLOB, or the length is at most 127
//!                 2 bytes else; nearest the origin 0x80 | 0x40 if external | length >> 8, below it the low byte
//! ```
//!
//! Fixed fields have no length entry and NULLs have neither length nor data. The order of fields:
//!
//! ```text
//! clustered leaf     key fields, transaction id (6), roll pointer (7), the other columns
//! secondary leaf     index fields, then those key fields of the clustered index that are missing
//! node pointer       the fields that decide the order, child page number (4)
//! ```
//!
//! A node pointer carries the whole NULL bitmap of its index, even when no nullable field is among its own.
//!
//! # Row versions
//!
//! Columns come and go without a change of any row, as in MySQL from 8.0.29 on ([`RowVersions`]). Each such change gives
//! the table another *row version*; a row is parsed by the one that it was written in. A clustered leaf record of a version
//! other than 0 has it in a byte of its own:
//!
//! ```text
//!   ... lengths | NULL bitmap | version 1 | header 5 | fields of that version ...
//! ```
//!
//! Fields are numbered for all versions together, in record order, dropped ones included: so numbers that undo records
//! keep stay right. Those of the key, the transaction id and the roll pointer are in every version. The NULL bitmap has the
//! nullable fields of the record's version; a node pointer has that of version 0.
//!
//! [`Layout`] is all that is needed to parse and compare: there is no dictionary here. A search key is a *tuple*: a
//! slice with the stored bytes of the leading fields, `None` for NULL.

mod build;
mod compare;
mod layout;
mod parse;
mod versions;

pub use build::{FieldData, RecordBuffer, RecordImage};
pub use compare::{OrderPrefix, compare, compare_fields, compare_records, compare_value, order_prefix};
pub use layout::{Compare, FieldLayout, Kind, Layout, Length, Size};
pub use parse::{Field, Fields, Offsets};
pub use versions::{FieldSpan, NEVER, ROW_VERSIONS_MAX, RowVersions};

use crate::bytes::{get_u16, put_u16};

/// The stored bytes of the leading fields of a key; `None` is NULL.
pub type Tuple<'a> = [Option<&'a [u8]>];

/// Bytes of the record header.
pub const HEADER_BYTES: usize = 5;

/// Info bit: the first record of the leftmost page of a level above the leaves. Its key is smaller than all keys.
pub const MIN_RECORD: u8 = 0x10;
/// Info bit: deleted; purge removes the record once no read view can see it.
pub const DELETED: u8 = 0x20;
/// Info bit of MySQL 8.0.29 and later: written after an instant ALTER.
pub const VERSIONED: u8 = 0x40;
/// Info bit of MySQL 8.0.12 to 8.0.28: written after an instant ADD COLUMN.
pub const INSTANT: u8 = 0x80;

/// The row version of a record, which is within the slice from its NULL bitmap on.
#[inline]
pub fn row_version(page: &[u8], origin: usize) -> u8 {
    if info(page, origin) & VERSIONED == 0 { 0 } else { page[origin - HEADER_BYTES - 1] }
}

/// Status of the records of a leaf, and so on.
pub const STATUS_LEAF: u8 = 0;
pub const STATUS_NODE: u8 = 1;
pub const STATUS_INFIMUM: u8 = 2;
pub const STATUS_SUPREMUM: u8 = 3;

/// The largest data length a 2-byte length entry can hold.
pub const FIELD_BYTES_MAX: usize = 0x3FFF;

/// The info bits of the record at `origin` (in the high half of the byte; the low half is 0).
#[inline]
pub fn info(page: &[u8], origin: usize) -> u8 {
    page[origin - 5] & 0xF0
}

#[inline]
pub fn set_info(page: &mut [u8], origin: usize, info: u8) {
    page[origin - 5] = page[origin - 5] & 0x0F | info & 0xF0;
}

#[inline]
pub fn is_deleted(page: &[u8], origin: usize) -> bool {
    page[origin - 5] & DELETED != 0
}

#[inline]
pub fn is_min_record(page: &[u8], origin: usize) -> bool {
    page[origin - 5] & MIN_RECORD != 0
}

/// How many records this one owns in the directory; 0 unless it is the last of its group.
#[inline]
pub fn owned(page: &[u8], origin: usize) -> u8 {
    page[origin - 5] & 0x0F
}

#[inline]
pub fn set_owned(page: &mut [u8], origin: usize, owned: u8) {
    debug_assert!(owned <= 0x0F);
    page[origin - 5] = page[origin - 5] & 0xF0 | owned;
}

#[inline]
pub fn heap_no(page: &[u8], origin: usize) -> u16 {
    get_u16(page, origin - 4) >> 3
}

#[inline]
pub fn status(page: &[u8], origin: usize) -> u8 {
    page[origin - 3] & 7
}

#[inline]
pub fn set_heap_no_status(page: &mut [u8], origin: usize, heap_no: u16, status: u8) {
    put_u16(page, origin - 4, heap_no << 3 | u16::from(status));
}

/// Origin of the next record in key order as the header says, unchecked; 0 at the end of a list.
#[inline]
pub fn next_raw(page: &[u8], origin: usize) -> usize {
    match get_u16(page, origin - 2) {
        0 => 0,
        distance => (origin as u16).wrapping_add(distance) as usize,
    }
}

#[inline]
pub fn set_next(page: &mut [u8], origin: usize, next: usize) {
    let distance = if next == 0 { 0 } else { (next as u16).wrapping_sub(origin as u16) };
    put_u16(page, origin - 2, distance);
}
