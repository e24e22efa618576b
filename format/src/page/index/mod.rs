//! Index pages: records in key order, and how to find one.
//!
//! ```text
//! offset  bytes
//!     38      2  directory slots
//!     40      2  heap top: first byte that no record was ever put on
//!     42      2  records in the heap, infimum and supremum included; 0x8000 = COMPACT format
//!     44      2  origin of the first free record, 0 if none
//!     46      2  garbage: bytes of the heap that belong to free records
//!     48      2  origin of the record inserted last, 0 if unknown
//!     50      2  direction of the last inserts: 1 left, 2 right, 5 none
//!     52      2  how many inserts went in that direction
//!     54      2  user records in the list, delete-marked ones included
//!     56      8  secondary leaf: newest transaction that changed the page; clustered root: last AUTO_INCREMENT value
//!     64      2  level, 0 = leaf
//!     66      8  index id
//!     74     10  root only: header of the leaf segment
//!     84     10  root only: header of the segment of all other pages
//!     94      5  infimum's header
//!     99      8  "infimum\0"
//!    107      5  supremum's header
//!    112      8  "supremum"
//!    120         heap: records in the order of their insertion ...
//!    heap top    ... free space ...
//!                directory, growing down from the trailer: slot 0 at PS-10, slot 1 at PS-12, ...
//!   PS-8      8  trailer
//! ```
//!
//! The records form one list in key order, from the infimum to the supremum. The list is cut into groups; the last
//! record of a group owns it (keeps its count) and the group's directory slot holds that record's origin. Slot 0 is the
//! infimum alone, the last slot belongs to the supremum. So a search is a binary search over the slots and then a walk
//! over at most eight records.
//!
//! Invariants, all checked by [`validate`]:
//!
//! * The infimum owns 1, the supremum 1 to 8, every other owner 4 to 8.
//! * Records ascend strictly by the fields that decide the order.
//! * Heap numbers are unique, below the heap count; the bytes of two records never overlap; free records are in the
//!   heap, not in the list, and their bytes are the garbage.
//! * Heap and directory never meet.
//!
//! Free space is reused in one way only: if the first free record is large enough, a new record takes its place (and
//! its heap number). All else is left to reorganising the page.

mod change;
mod navigate;
mod room;
mod search;
mod split;
mod validate;

pub(crate) use change::check_user;
pub use change::{clear, init, insert, insert_list, remove, remove_from, reorganize, set_max_trx_id};
pub use navigate::{first, last, next, nth, prev, rank};
pub use room::{
    Fit, Place, data_bytes, empty_capacity, fit, fits_empty, free_bytes, insert_bytes_max, reorganized_free_bytes,
};
pub use search::{Position, SearchMode, search};
pub use split::{Side, Split, split_point};
pub use validate::validate;

use super::{get_u16, get_u64};
use crate::ids::{IndexId, TrxId};

pub const SLOTS: usize = 38;
pub const HEAP_TOP: usize = 40;
pub const HEAP_COUNT: usize = 42;
pub const FREE: usize = 44;
pub const GARBAGE: usize = 46;
pub const LAST_INSERT: usize = 48;
pub const DIRECTION: usize = 50;
pub const DIRECTION_COUNT: usize = 52;
pub const RECORDS: usize = 54;
pub const MAX_TRX_ID: usize = 56;
/// On the root of a clustered index: the last AUTO_INCREMENT value given out.
pub const ROOT_AUTO_INCREMENT: usize = MAX_TRX_ID;
pub const LEVEL: usize = 64;
pub const INDEX_ID: usize = 66;
/// Segment headers, on the root.
pub const LEAF_SEGMENT: usize = 74;
pub const TOP_SEGMENT: usize = 84;

/// Origins of the two records that every page has.
pub const INFIMUM: u16 = 99;
pub const SUPREMUM: u16 = 112;
/// Where the heap of user records begins.
pub const HEAP: usize = 120;

const COMPACT: u16 = 0x8000;
const SLOT_BYTES: usize = 2;
const OWNED_MIN: u8 = 4;
const OWNED_MAX: u8 = 8;

const DIRECTION_LEFT: u16 = 1;
const DIRECTION_RIGHT: u16 = 2;
const DIRECTION_NONE: u16 = 5;

const _: () = assert!(TOP_SEGMENT + 10 + 5 == INFIMUM as usize);
const _: () = assert!(INFIMUM as usize + 8 + 5 == SUPREMUM as usize);
const _: () = assert!(SUPREMUM as usize + 8 == HEAP);

/// Number of directory slots; where the page claims more than it could hold, that many.
#[inline]
pub fn slot_count(page: &[u8]) -> usize {
    usize::from(get_u16(page, SLOTS)).min((page.len() - HEAP - super::header::TRAILER_BYTES) / SLOT_BYTES)
}

#[inline]
pub fn heap_top(page: &[u8]) -> usize {
    usize::from(get_u16(page, HEAP_TOP))
}

/// Records in the heap: user records, free records, infimum and supremum.
#[inline]
pub fn heap_count(page: &[u8]) -> usize {
    usize::from(get_u16(page, HEAP_COUNT) & !COMPACT)
}

#[inline]
pub fn is_compact(page: &[u8]) -> bool {
    get_u16(page, HEAP_COUNT) & COMPACT != 0
}

/// Origin of the first free record, 0 if none.
#[inline]
pub fn free_list(page: &[u8]) -> usize {
    usize::from(get_u16(page, FREE))
}

#[inline]
pub fn garbage_bytes(page: &[u8]) -> usize {
    usize::from(get_u16(page, GARBAGE))
}

/// Origin of the record inserted last, 0 if unknown.
#[inline]
pub fn last_insert(page: &[u8]) -> u16 {
    get_u16(page, LAST_INSERT)
}

/// User records in the list.
#[inline]
pub fn record_count(page: &[u8]) -> usize {
    usize::from(get_u16(page, RECORDS))
}

#[inline]
pub fn max_trx_id(page: &[u8]) -> TrxId {
    TrxId(get_u64(page, MAX_TRX_ID))
}

#[inline]
pub fn level(page: &[u8]) -> u16 {
    get_u16(page, LEVEL)
}

#[inline]
pub fn is_leaf(page: &[u8]) -> bool {
    level(page) == 0
}

#[inline]
pub fn index_id(page: &[u8]) -> IndexId {
    IndexId(get_u64(page, INDEX_ID))
}

/// Where a slot's two bytes are. Slot 0 is the infimum's.
#[inline]
pub(crate) fn slot_at(page_bytes: usize, slot: usize) -> usize {
    page_bytes - super::header::TRAILER_BYTES - SLOT_BYTES * (slot + 1)
}

/// The first byte of the directory, that is, where its last slot is.
#[inline]
pub(crate) fn directory_start(page: &[u8]) -> usize {
    page.len() - super::header::TRAILER_BYTES - SLOT_BYTES * slot_count(page)
}

/// The origin in a slot, unchecked.
#[inline]
pub(crate) fn slot(page: &[u8], slot: usize) -> usize {
    usize::from(get_u16(page, slot_at(page.len(), slot)))
}
