//! Free space on a page: what fits, and where it goes.
//!
//! The directory needs two bytes for at most every four records, and these functions reserve them in advance: a record
//! that fits also finds space for its slot.

use super::{HEAP, LAST_INSERT, SLOT_BYTES, free_list, garbage_bytes, heap_count, heap_top, record_count};
use crate::error::{Error, Result};
use crate::page::header::TRAILER_BYTES;
use crate::record::{Layout, Size};

/// Where in the heap a new record goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// At the top, with a new heap number.
    Top,
    /// Over the first free record, whose bytes start here.
    Free { start: u16 },
}

/// Whether a record fits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fit {
    /// As the page lies.
    Now(Place),
    /// Once the page is reorganised.
    Reorganized,
    /// Only on another page.
    No,
}

/// Directory bytes to be kept for this many user records, beyond the two slots of an empty page.
#[inline]
fn directory_reserve(records: usize) -> usize {
    (SLOT_BYTES * records).div_ceil(4)
}

/// Bytes an empty page has for records and the directory's growth.
#[inline]
pub fn empty_capacity(page_bytes: usize) -> usize {
    page_bytes - HEAP - TRAILER_BYTES - 2 * SLOT_BYTES
}

/// Bytes between heap and directory that records at the heap's top could take, if `more` records came.
#[inline]
pub fn free_bytes(page: &[u8], more: usize) -> usize {
    // Free records keep their heap numbers, so all of the heap counts.
    let records = heap_count(page).saturating_sub(2) + more;
    (empty_capacity(page.len()) + HEAP).saturating_sub(heap_top(page) + directory_reserve(records))
}

/// As [`free_bytes`], once the page is reorganised.
#[inline]
pub fn reorganized_free_bytes(page: &[u8], more: usize) -> usize {
    let records = record_count(page) + more;
    empty_capacity(page.len()).saturating_sub(data_bytes(page) + directory_reserve(records))
}

/// Bytes that the records in the list take.
#[inline]
pub fn data_bytes(page: &[u8]) -> usize {
    heap_top(page).saturating_sub(HEAP + garbage_bytes(page))
}

/// The largest record that an empty page of an index could hold so that two fit: larger ones need overflow pages.
#[inline]
pub fn insert_bytes_max(page_bytes: usize) -> usize {
    // As InnoDB: half of what an empty page has, and no more than a record's 14 bits of field lengths can tell.
    ((empty_capacity(page_bytes) - directory_reserve(2)) / 2).min(16383)
}

/// Whether records of `bytes` in total, `records` of them, fit an empty page.
#[inline]
pub fn fits_empty(page_bytes: usize, bytes: usize, records: usize) -> bool {
    bytes + directory_reserve(records) <= empty_capacity(page_bytes)
}

/// Whether, and where, a record of `bytes` (header and all) fits the page.
#[inline]
pub fn fit(page: &[u8], layout: &Layout, bytes: usize) -> Result<Fit> {
    let free = free_list(page);
    if free != 0 && garbage_bytes(page) >= bytes {
        let size = free_size(page, layout, free)?;
        if size.total() >= bytes {
            return Ok(Fit::Now(Place::Free { start: (free - size.extra as usize) as u16 }));
        }
    }
    if free_bytes(page, 1) >= bytes {
        Ok(Fit::Now(Place::Top))
    } else if reorganized_free_bytes(page, 1) >= bytes {
        Ok(Fit::Reorganized)
    } else {
        Ok(Fit::No)
    }
}

/// The size of a free record.
#[inline]
fn free_size(page: &[u8], layout: &Layout, free: usize) -> Result<Size> {
    if free <= HEAP || free >= page.len() - TRAILER_BYTES {
        return Err(Error::corrupt("the free list", LAST_INSERT - 4));
    }
    let size = layout.size(page, free)?;
    if free < HEAP + size.extra as usize || free + size.data as usize > heap_top(page) {
        return Err(Error::corrupt("a free record outside the heap", free));
    }
    Ok(size)
}
