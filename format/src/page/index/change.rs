//! The changes that the operations of `redo` are made of.
//!
//! Each checks what it is given before it touches the page: on an error the page is as it was. They work without a
//! layout, so the sizes of records come from the caller.
//!
//! Unused bytes are kept zero (the data of a removed record, slots given up, the heap of a cleared page): no code reads
//! them, but zeros compress to nothing.

use super::navigate::{check, group_of, prev};
use super::room::{Place, fits_empty, free_bytes};
use super::{
    COMPACT, DIRECTION, DIRECTION_COUNT, DIRECTION_LEFT, DIRECTION_NONE, DIRECTION_RIGHT, FREE, GARBAGE, HEAP,
    HEAP_COUNT, HEAP_TOP, INDEX_ID, INFIMUM, LAST_INSERT, LEVEL, MAX_TRX_ID, OWNED_MAX, OWNED_MIN, RECORDS, SLOT_BYTES,
    SLOTS, SUPREMUM, TOP_SEGMENT, directory_start, free_list, garbage_bytes, heap_count, heap_top, is_compact, is_leaf,
    last_insert, max_trx_id, record_count, slot, slot_at, slot_count,
};
use crate::error::{Error, Result};
use crate::ids::{IndexId, TrxId};
use crate::page::header::{self, BODY, PageType, TRAILER_BYTES};
use crate::page::{get_u16, put_u16, put_u64};
use crate::record::{
    self, HEADER_BYTES, RecordImage, STATUS_INFIMUM, STATUS_LEAF, STATUS_NODE, STATUS_SUPREMUM, next_raw, owned,
    set_next, set_owned,
};

/// Bytes 94..120 of every COMPACT index page without records: infimum and supremum with their headers.
const BOUNDS: [u8; HEAP - 94] = *b"\x01\x00\x02\x00\x0Dinfimum\0\x01\x00\x0B\x00\x00supremum";

/// Writes an index page without records; only the first 38 bytes keep what they were, but for the type.
pub fn init(page: &mut [u8], level: u16, index: IndexId) {
    let end = page.len() - TRAILER_BYTES;
    page[BODY..end].fill(0);
    header::set_page_type(page, PageType::INDEX);
    put_u16(page, LEVEL, level);
    put_u64(page, INDEX_ID, index.0);
    put_empty(page);
}

/// Removes all records. Index id, segment headers and the field at [`MAX_TRX_ID`] stay.
pub fn clear(page: &mut [u8], level: u16) {
    let end = page.len() - TRAILER_BYTES;
    // Between heap top and directory there are only zeros already, on a page that was always ours; others are cleaned
    // here for good.
    page[HEAP..end].fill(0);
    put_u16(page, LEVEL, level);
    put_empty(page);
}

fn put_empty(page: &mut [u8]) {
    let page_bytes = page.len();
    put_u16(page, SLOTS, 2);
    put_u16(page, HEAP_TOP, HEAP as u16);
    put_u16(page, HEAP_COUNT, COMPACT | 2);
    put_u16(page, FREE, 0);
    put_u16(page, GARBAGE, 0);
    put_u16(page, LAST_INSERT, 0);
    put_u16(page, DIRECTION, DIRECTION_NONE);
    put_u16(page, DIRECTION_COUNT, 0);
    put_u16(page, RECORDS, 0);
    page[TOP_SEGMENT + 10..HEAP].copy_from_slice(&BOUNDS);
    put_u16(page, slot_at(page_bytes, 0), INFIMUM);
    put_u16(page, slot_at(page_bytes, 1), SUPREMUM);
}

/// Checks what every change relies on: a COMPACT page with heap and directory in their places.
#[inline]
fn check_page(page: &[u8]) -> Result<()> {
    if slot_count(page) < 2 || slot_count(page) != usize::from(get_u16(page, SLOTS)) {
        return Err(Error::corrupt("directory slots", SLOTS));
    }
    if !is_compact(page) || heap_top(page) < HEAP || heap_top(page) > directory_start(page) {
        return Err(Error::corrupt("heap top", HEAP_TOP));
    }
    Ok(())
}

/// Checks that the place is one that a user record's origin can have.
#[inline]
pub(crate) fn check_user(page: &[u8], origin: u16) -> Result<usize> {
    let origin = usize::from(origin);
    if origin < HEAP + HEADER_BYTES || origin > heap_top(page) || heap_top(page) > page.len() - TRAILER_BYTES {
        return Err(Error::corrupt("a user record's place", origin));
    }
    Ok(origin)
}

/// The owner of the group of `record` (itself, if it owns).
#[inline]
fn owner_of(page: &[u8], record: usize) -> Result<usize> {
    let mut owner = record;
    for _ in 0..=OWNED_MAX {
        if owned(page, owner) != 0 {
            return Ok(owner);
        }
        owner = check(page, next_raw(page, owner))?;
    }
    Err(Error::corrupt("a group of records without an owner", record))
}

/// Puts a record behind the one at `after`. Answers its origin.
#[inline]
pub fn insert(page: &mut [u8], after: u16, place: Place, record: RecordImage<'_>) -> Result<u16> {
    check_page(page)?;
    let after = usize::from(after);
    if after != usize::from(INFIMUM) {
        check_user(page, after as u16)?;
    }
    let next = check(page, next_raw(page, after))?;
    let owner = owner_of(page, next)?;
    let members = owned(page, owner);
    if members > OWNED_MAX {
        return Err(Error::corrupt("a group of too many records", owner));
    }
    // Nothing fails behind this call but a directory that contradicts the records, which is looked at first, too.
    let split = if members == OWNED_MAX { Some(super::navigate::slot_of(page, owner)?) } else { None };
    if let Some(slot) = split {
        check_group(page, slot)?;
    }

    let size = record.size();
    let limit = directory_start(page) - if split.is_some() { SLOT_BYTES } else { 0 };
    let (start, heap_no) = match place {
        Place::Top => {
            let start = heap_top(page);
            let heap_no = heap_count(page);
            // The reserve for the directory is kept even if no slot is needed now: else reorganising could fail.
            if size > free_bytes(page, 1) || start + size > limit || heap_no >= 0x1FFF {
                return Err(Error::Full);
            }
            put_u16(page, HEAP_TOP, (start + size) as u16);
            put_u16(page, HEAP_COUNT, COMPACT | (heap_no + 1) as u16);
            (start, heap_no as u16)
        }
        Place::Free { start } => {
            let start = usize::from(start);
            let free = free_list(page);
            if free == 0 || size > garbage_bytes(page) || (split.is_some() && heap_top(page) > limit) {
                return Err(Error::Full);
            }
            if start < HEAP || free < start + HEADER_BYTES || free > heap_top(page) || start + size > heap_top(page) {
                return Err(Error::corrupt("the place of a free record", start));
            }
            let rest = match next_raw(page, free) {
                0 => 0,
                rest => check_user(page, rest as u16)?,
            };
            let heap_no = record::heap_no(page, free);
            put_u16(page, FREE, rest as u16);
            put_u16(page, GARBAGE, (garbage_bytes(page) - size) as u16);
            (start, heap_no)
        }
    };

    let origin = start + record.extra.len() + HEADER_BYTES;
    page[start..origin - HEADER_BYTES].copy_from_slice(record.extra);
    page[origin..origin + record.data.len()].copy_from_slice(record.data);
    page[origin - HEADER_BYTES] = record.info & 0xF0;
    let status = if is_leaf(page) { STATUS_LEAF } else { STATUS_NODE };
    record::set_heap_no_status(page, origin, heap_no, status);
    set_next(page, origin, next);
    set_next(page, after, origin);
    put_u16(page, RECORDS, record_count(page) as u16 + 1);
    note_direction(page, after, origin, next);

    set_owned(page, owner, members + 1);
    if let Some(slot) = split {
        split_group(page, slot);
    }
    Ok(origin as u16)
}

/// Keeps track of runs of inserts, by which a full page is split.
#[inline]
fn note_direction(page: &mut [u8], after: usize, origin: usize, next: usize) {
    let last = usize::from(last_insert(page));
    let direction = get_u16(page, DIRECTION);
    let (direction, count) = if last == 0 {
        (DIRECTION_NONE, 0)
    } else if last == after && direction != DIRECTION_LEFT {
        (DIRECTION_RIGHT, get_u16(page, DIRECTION_COUNT).saturating_add(1))
    } else if last == next && direction != DIRECTION_RIGHT {
        (DIRECTION_LEFT, get_u16(page, DIRECTION_COUNT).saturating_add(1))
    } else {
        (DIRECTION_NONE, 0)
    };
    put_u16(page, DIRECTION, direction);
    put_u16(page, DIRECTION_COUNT, count);
    put_u16(page, LAST_INSERT, origin as u16);
}

/// Checks that the group of a slot hangs together: walking from its predecessor leads to its owner.
fn check_group(page: &[u8], group: usize) -> Result<()> {
    if group == 0 {
        return Err(Error::corrupt("a record in the infimum's group", SLOTS));
    }
    let owner = slot(page, group);
    let mut record = check(page, slot(page, group - 1))?;
    for _ in 0..owned(page, owner) {
        record = check(page, next_raw(page, record))?;
    }
    if record == owner { Ok(()) } else { Err(Error::corrupt("a group of records of another length", owner)) }
}

/// Splits a group of nine: the first four get a slot of their own before this one.
fn split_group(page: &mut [u8], group: usize) {
    let page_bytes = page.len();
    let owner = slot(page, group);
    let members = owned(page, owner);
    let lower = members / 2;
    let mut record = slot(page, group - 1);
    for _ in 0..lower {
        record = next_raw(page, record);
    }
    let start = directory_start(page);
    let end = slot_at(page_bytes, group) + SLOT_BYTES;
    page.copy_within(start..end, start - SLOT_BYTES);
    put_u16(page, slot_at(page_bytes, group), record as u16);
    put_u16(page, SLOTS, slot_count(page) as u16 + 1);
    set_owned(page, record, lower);
    set_owned(page, owner, members - lower);
}

/// Removes `count` slots, beginning with slot `first`.
fn remove_slots(page: &mut [u8], first: usize, count: usize) {
    let page_bytes = page.len();
    let start = directory_start(page);
    let end = slot_at(page_bytes, first + count - 1);
    let bytes = count * SLOT_BYTES;
    page.copy_within(start..end, start + bytes);
    page[start..start + bytes].fill(0);
    put_u16(page, SLOTS, (slot_count(page) - count) as u16);
}

/// Gives a group that has become too small some of the next group's records, or joins them.
fn balance(page: &mut [u8], group: usize) {
    if group == 0 || group + 1 >= slot_count(page) {
        return; // The supremum's group may have any size up to eight.
    }
    let page_bytes = page.len();
    let owner = slot(page, group);
    let members = owned(page, owner);
    if members >= OWNED_MIN {
        return;
    }
    let upper = slot(page, group + 1);
    let wanted = OWNED_MIN - members;
    let upper_members = owned(page, upper);
    set_owned(page, owner, 0);
    if upper_members >= OWNED_MIN + wanted {
        let mut record = owner;
        for _ in 0..wanted {
            record = next_raw(page, record);
        }
        set_owned(page, record, OWNED_MIN);
        set_owned(page, upper, upper_members - wanted);
        put_u16(page, slot_at(page_bytes, group), record as u16);
    } else {
        set_owned(page, upper, upper_members + members);
        remove_slots(page, group, 1);
    }
}

/// Takes a record, of `extra` bytes below its origin and `data` above, out of the list into the free list.
pub fn remove(page: &mut [u8], origin: u16, extra: u16, data: u16) -> Result<()> {
    check_page(page)?;
    let record = check_user(page, origin)?;
    let (extra, data) = (usize::from(extra), usize::from(data));
    if extra < HEADER_BYTES
        || record < HEAP + extra
        || record + data > heap_top(page)
        || garbage_bytes(page) + extra + data > heap_top(page) - HEAP
    {
        return Err(Error::corrupt("the size of a record", record));
    }
    let group = group_of(page, record)?;
    check_group(page, group)?;
    if group + 1 < slot_count(page) {
        check(page, slot(page, group + 1))?;
        if owned(page, slot(page, group)) < 2 {
            return Err(Error::corrupt("a group of too few records", record));
        }
        check_group(page, group + 1)?;
    }
    let before = usize::from(prev(page, origin)?);
    let next = check(page, next_raw(page, record))?;
    if record_count(page) <= 1 {
        let level = super::level(page);
        clear(page, level);
        return Ok(());
    }

    set_next(page, before, next);
    let owner = slot(page, group);
    let members = owned(page, owner) - 1;
    if owner == record {
        set_owned(page, record, 0);
        put_u16(page, slot_at(page.len(), group), before as u16);
        set_owned(page, before, members);
    } else {
        set_owned(page, owner, members);
    }
    balance(page, group);

    page[record..record + data].fill(0);
    set_next(page, record, free_list(page));
    put_u16(page, FREE, record as u16);
    put_u16(page, GARBAGE, (garbage_bytes(page) + extra + data) as u16);
    put_u16(page, RECORDS, record_count(page) as u16 - 1);
    put_u16(page, LAST_INSERT, 0);
    Ok(())
}

/// What a walk over part of the list found.
struct Chain {
    count: usize,
    /// The last record of the part.
    last: usize,
}

/// Walks from `first` to just before `end`, checking all origins.
fn chain(page: &[u8], first: usize, end: usize) -> Result<Chain> {
    let mut found = Chain { count: 0, last: first };
    let mut record = first;
    while record != end {
        check_user(page, record as u16)?;
        found.count += 1;
        if found.count > record_count(page) {
            return Err(Error::corrupt("a list of records without end", first));
        }
        found.last = record;
        record = check(page, next_raw(page, record))?;
    }
    Ok(found)
}

/// Moves a part of the list, already unlinked, to the front of the free list.
fn free_chain(page: &mut [u8], first: usize, part: &Chain, bytes: usize) {
    let mut record = first;
    for _ in 0..part.count {
        set_owned(page, record, 0);
        record = next_raw(page, record);
    }
    set_next(page, part.last, free_list(page));
    put_u16(page, FREE, first as u16);
    put_u16(page, GARBAGE, (garbage_bytes(page) + bytes) as u16);
    put_u16(page, RECORDS, (record_count(page) - part.count) as u16);
    put_u16(page, LAST_INSERT, 0);
}

/// Removes the record at `origin` and all behind it; their size together is `bytes`.
pub fn remove_from(page: &mut [u8], origin: u16, bytes: u16) -> Result<()> {
    check_page(page)?;
    let first = check_user(page, origin)?;
    let bytes = usize::from(bytes);
    if garbage_bytes(page) + bytes > heap_top(page) - HEAP {
        return Err(Error::corrupt("the size of records", first));
    }
    let part = chain(page, first, usize::from(SUPREMUM))?;
    let group = group_of(page, first)?;
    check_group(page, group)?;
    let before = usize::from(prev(page, origin)?);
    if before == usize::from(INFIMUM) {
        let level = super::level(page);
        clear(page, level);
        return Ok(());
    }
    if part.count >= record_count(page) {
        return Err(Error::corrupt("fewer records than counted", RECORDS));
    }

    // What remains of the group becomes the supremum's.
    let mut kept = 0;
    let mut record = slot(page, group - 1);
    while record != before {
        record = next_raw(page, record);
        kept += 1;
    }
    let last_slot = slot_count(page) - 1;
    if group < last_slot {
        remove_slots(page, group, last_slot - group);
    }
    set_next(page, before, usize::from(SUPREMUM));
    free_chain(page, first, &part, bytes);
    set_owned(page, usize::from(SUPREMUM), kept + 1);
    Ok(())
}

/// Puts `records`, of `bytes` in total, behind the one at `after`, all at the heap's top.
pub fn insert_list<'r>(
    page: &mut [u8],
    after: u16,
    count: usize,
    bytes: usize,
    records: impl Iterator<Item = RecordImage<'r>>,
) -> Result<()> {
    check_page(page)?;
    if free_bytes(page, count) < bytes || heap_count(page) + count > 0x1FFF {
        return Err(Error::Full);
    }
    if count > 0 {
        // All of them come into one group, or into those that it is split into.
        if after != INFIMUM {
            check_user(page, after)?;
        }
        let owner = owner_of(page, check(page, next_raw(page, usize::from(after)))?)?;
        if owned(page, owner) > OWNED_MAX {
            return Err(Error::corrupt("a group of too many records", owner));
        }
        check_group(page, super::navigate::slot_of(page, owner)?)?;
        // The group is split when it gets its ninth member, and five of them stay.
        let splits = (usize::from(owned(page, owner)) + count).saturating_sub(5) / 4;
        if heap_top(page) + bytes + splits * SLOT_BYTES > directory_start(page) {
            return Err(Error::corrupt("a directory larger than its records need", SLOTS));
        }
    }
    // The checks above do not see all damage.
    let old = page.to_vec();
    let mut after = after;
    for record in records {
        after = insert(page, after, Place::Top, record).inspect_err(|_| page.copy_from_slice(&old))?;
    }
    // The run of inserts that went on before is over, and this was none.
    put_u16(page, LAST_INSERT, 0);
    put_u16(page, DIRECTION, DIRECTION_NONE);
    put_u16(page, DIRECTION_COUNT, 0);
    Ok(())
}

/// Writes the records in key order to the start of the heap and forgets the free list. `sizes` are the records' bytes
/// below and above their origins, in key order.
pub fn reorganize(page: &mut [u8], sizes: impl Iterator<Item = Result<(u16, u16)>> + Clone) -> Result<()> {
    check_page(page)?;
    let mut record = check(page, next_raw(page, usize::from(INFIMUM)))?;
    let mut bytes = 0;
    let mut count = 0;
    for size in sizes.clone() {
        let (extra, data) = size?;
        let (extra, data) = (usize::from(extra), usize::from(data));
        check_user(page, record as u16)?;
        if extra < HEADER_BYTES || record < HEAP + extra || record + data > heap_top(page) {
            return Err(Error::corrupt("the size of a record", record));
        }
        bytes += extra + data;
        count += 1;
        record = check(page, next_raw(page, record))?;
    }
    if record != usize::from(SUPREMUM) || count != record_count(page) || bytes > heap_top(page) - HEAP {
        return Err(Error::corrupt("the sizes of a page's records", record));
    }
    if !fits_empty(page.len(), bytes, count) {
        return Err(Error::Full);
    }

    let old = page.to_vec();
    let rewritten = rewrite(page, &old, sizes);
    if rewritten.is_err() {
        page.copy_from_slice(&old);
    }
    rewritten
}

/// Writes the records of `old`, whose sizes have been checked, to the start of the heap.
fn rewrite(page: &mut [u8], old: &[u8], sizes: impl Iterator<Item = Result<(u16, u16)>>) -> Result<()> {
    let level = super::level(page);
    let mut newest = 0;
    clear(page, level);
    let mut after = INFIMUM;
    let mut record = next_raw(old, usize::from(INFIMUM));
    for size in sizes {
        let (extra, data) = size?;
        let (extra, data) = (usize::from(extra), usize::from(data));
        let image = RecordImage {
            info: record::info(old, record),
            extra: &old[record - extra..record - HEADER_BYTES],
            data: &old[record..record + data],
        };
        after = insert(page, after, Place::Top, image)?;
        if record == usize::from(last_insert(old)) {
            newest = after;
        }
        record = next_raw(old, record);
    }
    // A run of inserts goes on as if nothing had happened.
    put_u16(page, LAST_INSERT, newest);
    put_u16(page, DIRECTION, get_u16(old, DIRECTION));
    put_u16(page, DIRECTION_COUNT, get_u16(old, DIRECTION_COUNT));
    Ok(())
}

/// Raises the newest transaction id of the page; a smaller one changes nothing.
#[inline]
pub fn set_max_trx_id(page: &mut [u8], trx_id: TrxId) {
    if trx_id > max_trx_id(page) {
        put_u64(page, MAX_TRX_ID, trx_id.0);
    }
}

const _: () = assert!(BOUNDS[3] == 0 && BOUNDS[4] == (SUPREMUM - INFIMUM) as u8);
const _: () = assert!(BOUNDS[2] & 7 == STATUS_INFIMUM && BOUNDS[15] & 7 == STATUS_SUPREMUM);
