//! The full check of an index page: all invariants of the module's head, one by one.

use std::cmp::Ordering;

use super::{
    HEAP, HEAP_COUNT, INFIMUM, LAST_INSERT, OWNED_MAX, OWNED_MIN, RECORDS, SLOTS, SUPREMUM, data_bytes,
    directory_start, free_list, garbage_bytes, heap_count, heap_top, is_compact, is_leaf, record_count, slot,
    slot_count,
};
use crate::error::{Error, Result};
use crate::page::{get_u16, header};
use crate::record::{self, HEADER_BYTES, Layout, STATUS_INFIMUM, STATUS_LEAF, STATUS_NODE, STATUS_SUPREMUM};

/// Checks the structure of an index page; with a layout also sizes, places and order of its records.
///
/// The layout must be that of the page's level.
pub fn validate(page: &[u8], layout: Option<&Layout>) -> Result<()> {
    if !is_compact(page) {
        return Err(Error::Unsupported { what: "row format REDUNDANT, heap count", value: heap_count(page) as u32 });
    }
    if slot_count(page) < 2 || slot_count(page) != usize::from(get_u16(page, SLOTS)) {
        return Err(Error::corrupt("directory slots", SLOTS));
    }
    if heap_top(page) < HEAP || heap_top(page) > directory_start(page) {
        return Err(Error::corrupt("heap and directory overlap", super::HEAP_TOP));
    }
    if garbage_bytes(page) > heap_top(page) - HEAP {
        return Err(Error::corrupt("more garbage than heap", super::GARBAGE));
    }
    bounds(page)?;

    let mut seen = Seen { numbers: vec![0; heap_count(page).div_ceil(64)], spans: Vec::new() };
    let list_bytes = list(page, layout, &mut seen)?;
    let free = free(page, layout, &mut seen)?;

    if record_count(page) + free.records + 2 != heap_count(page) {
        return Err(Error::corrupt("records in list and free list are not those of the heap", HEAP_COUNT));
    }
    if layout.is_some() {
        if list_bytes != data_bytes(page) {
            return Err(Error::corrupt("the records' bytes and the garbage are not the heap", super::GARBAGE));
        }
        if free.bytes > garbage_bytes(page) {
            return Err(Error::corrupt("free records larger than the garbage", super::GARBAGE));
        }
        seen.spans.sort_unstable();
        for pair in seen.spans.windows(2) {
            if pair[0].1 > pair[1].0 {
                return Err(Error::corrupt("records overlap", usize::from(pair[1].0)));
            }
        }
    }
    Ok(())
}

/// Infimum and supremum are what they always are.
fn bounds(page: &[u8]) -> Result<()> {
    let (infimum, supremum) = (usize::from(INFIMUM), usize::from(SUPREMUM));
    if &page[infimum..infimum + 8] != b"infimum\0"
        || record::status(page, infimum) != STATUS_INFIMUM
        || record::heap_no(page, infimum) != 0
        || record::owned(page, infimum) != 1
    {
        return Err(Error::corrupt("infimum", infimum));
    }
    if &page[supremum..supremum + 8] != b"supremum"
        || record::status(page, supremum) != STATUS_SUPREMUM
        || record::heap_no(page, supremum) != 1
        || record::next_raw(page, supremum) != 0
    {
        return Err(Error::corrupt("supremum", supremum));
    }
    Ok(())
}

/// Heap numbers and byte ranges met so far.
struct Seen {
    numbers: Vec<u64>,
    spans: Vec<(u16, u16)>,
}

impl Seen {
    /// Checks one record by itself. Answers its bytes, if the layout is known.
    fn record(&mut self, page: &[u8], layout: Option<&Layout>, origin: usize) -> Result<usize> {
        if origin < HEAP + HEADER_BYTES || origin > heap_top(page) {
            return Err(Error::corrupt("a record outside the heap", origin));
        }
        let number = usize::from(record::heap_no(page, origin));
        if number < 2 || number >= heap_count(page) {
            return Err(Error::corrupt("a heap number beyond the heap", origin));
        }
        if self.numbers[number / 64] >> (number % 64) & 1 == 1 {
            return Err(Error::corrupt("a heap number twice", origin));
        }
        self.numbers[number / 64] |= 1 << (number % 64);
        let status = record::status(page, origin);
        if status != if is_leaf(page) { STATUS_LEAF } else { STATUS_NODE } {
            return Err(Error::corrupt("a record of another level", origin));
        }
        let Some(layout) = layout else { return Ok(0) };
        let size = layout.size(page, origin)?;
        let (start, end) = (origin.saturating_sub(size.extra as usize), origin + size.data as usize);
        if start < HEAP || end > heap_top(page) {
            return Err(Error::corrupt("a record's bytes outside the heap", origin));
        }
        self.spans.push((start as u16, end as u16));
        Ok(size.total())
    }
}

/// Walks the list: directory, groups, order. Answers the bytes of its records.
fn list(page: &[u8], layout: Option<&Layout>, seen: &mut Seen) -> Result<usize> {
    let supremum = usize::from(SUPREMUM);
    let slots = slot_count(page);
    if slot(page, 0) != usize::from(INFIMUM) || slot(page, slots - 1) != supremum {
        return Err(Error::corrupt("the directory's ends", SLOTS));
    }
    let leftmost = header::prev(page).is_null();
    let mut group = 1;
    let mut members = 0_u8;
    let mut count = 0;
    let mut bytes = 0;
    let mut before: Option<usize> = None;
    let mut newest_found = super::last_insert(page) == 0;
    let mut origin = record::next_raw(page, usize::from(INFIMUM));
    loop {
        members += 1;
        if origin != supremum {
            count += 1;
            if count > record_count(page) {
                return Err(Error::corrupt("more records than counted", RECORDS));
            }
            bytes += seen.record(page, layout, origin)?;
            newest_found |= origin == usize::from(super::last_insert(page));
            let min = record::is_min_record(page, origin);
            // MariaDB also marks the hidden record of an instant ALTER, on a leaf.
            if min && (before.is_some() || !leftmost) || (!min && !is_leaf(page) && leftmost && before.is_none()) {
                return Err(Error::corrupt("the mark of the smallest record", origin));
            }
            if let (Some(layout), Some(before)) = (layout, before)
                && record::compare_records(layout, page, before, page, origin)? != Ordering::Less
            {
                return Err(Error::corrupt("records out of order", origin));
            }
            before = Some(origin);
        }
        match record::owned(page, origin) {
            0 if origin == supremum || members > OWNED_MAX => {
                return Err(Error::corrupt("a group of records without an owner", origin));
            }
            0 => {}
            owned => {
                if owned != members || group >= slots || slot(page, group) != origin {
                    return Err(Error::corrupt("a group that is not as the directory says", origin));
                }
                let last = group == slots - 1;
                if last != (origin == supremum) || owned > OWNED_MAX || (!last && owned < OWNED_MIN) {
                    return Err(Error::corrupt("a group of too many or too few records", origin));
                }
                group += 1;
                members = 0;
            }
        }
        if origin == supremum {
            break;
        }
        origin = record::next_raw(page, origin);
    }
    if count != record_count(page) {
        return Err(Error::corrupt("fewer records than counted", RECORDS));
    }
    if group != slots {
        return Err(Error::corrupt("directory slots without a group", SLOTS));
    }
    if !newest_found {
        return Err(Error::corrupt("the record inserted last is not in the list", LAST_INSERT));
    }
    Ok(bytes)
}

struct Free {
    records: usize,
    bytes: usize,
}

fn free(page: &[u8], layout: Option<&Layout>, seen: &mut Seen) -> Result<Free> {
    let mut free = Free { records: 0, bytes: 0 };
    let mut origin = free_list(page);
    while origin != 0 {
        // A circle would meet a heap number twice.
        free.bytes += seen.record(page, layout, origin)?;
        free.records += 1;
        origin = record::next_raw(page, origin);
    }
    Ok(free)
}
