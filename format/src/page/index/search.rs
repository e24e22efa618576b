//! Finding the place of a key on a page.
//!
//! A binary search over the directory finds the group; a walk finds the record. Several comparators are compiled
//! into the same search: for the usual integers, for other fields of fixed length, and the general one.

use std::cmp::Ordering;

use super::navigate::check;
use super::{INFIMUM, OWNED_MAX, SUPREMUM, slot, slot_count};
use crate::error::{Error, Result};
use crate::record::{self, Layout, Tuple, is_min_record, next_raw};

/// Which record of a page is looked for, seen from a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SearchMode {
    /// The last record that is smaller, at least the infimum.
    Less,
    /// The last record that is smaller or equal, at least the infimum. So inserts and descents search.
    LessOrEqual,
    /// The first record that is equal or greater, at most the supremum.
    GreaterOrEqual,
    /// The first record that is greater, at most the supremum.
    Greater,
}

/// Where a search ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    pub origin: u16,
    /// The record at `origin` equals the tuple, as far as the tuple goes.
    pub matched: bool,
}

/// Searches a page for a tuple of at most the key fields of `layout`. With a shorter tuple several records may be
/// equal; the mode then tells before or behind all of them.
#[inline]
pub fn search(page: &[u8], layout: &Layout, tuple: &Tuple<'_>, mode: SearchMode) -> Result<Position> {
    debug_assert!(tuple.len() <= layout.key_fields());
    if tuple.len() <= layout.plain_fields() {
        // Keys of fixed length need no look at the record's header, and the usual integers none at their bytes.
        let width = |fields: usize| layout.constant_start(fields).unwrap_or_default();
        return match *tuple {
            [Some(&[a, b, c, d])] if width(1) == 4 => {
                let key = u32::from_be_bytes([a, b, c, d]);
                walk(page, mode, |origin| Ok(u32::from_be_bytes(*first_chunk(page, origin)?).cmp(&key)))
            }
            [Some(&[a, b, c, d, e, f, g, h])] if width(1) == 8 => {
                let key = u64::from_be_bytes([a, b, c, d, e, f, g, h]);
                walk(page, mode, |origin| Ok(u64::from_be_bytes(*first_chunk(page, origin)?).cmp(&key)))
            }
            [Some(&[a, b, c, d]), Some(&[e, f, g, h])] if (width(1), width(2)) == (4, 8) => {
                let key = u64::from_be_bytes([a, b, c, d, e, f, g, h]);
                walk(page, mode, |origin| Ok(u64::from_be_bytes(*first_chunk(page, origin)?).cmp(&key)))
            }
            _ => walk(page, mode, |origin| compare_plain(page, layout, origin, tuple)),
        };
    }
    walk(page, mode, |origin| record::compare(page, layout, origin, tuple))
}

#[inline(always)]
fn first_chunk<const N: usize>(page: &[u8], origin: usize) -> Result<&[u8; N]> {
    page[origin..].first_chunk::<N>().ok_or(Error::corrupt("record data beyond the page", origin))
}

/// Compares fields of fixed length that are not NULL and ordered as bytes.
#[inline]
fn compare_plain(page: &[u8], layout: &Layout, origin: usize, tuple: &Tuple<'_>) -> Result<Ordering> {
    let record = &page[origin..];
    let mut start = 0;
    for (index, key) in tuple.iter().enumerate() {
        let end = layout.constant_start(index + 1).unwrap_or(start);
        let Some(stored) = record.get(start..end) else {
            return Err(Error::corrupt("record data beyond the page", origin));
        };
        // A NULL in the key stands before all that is stored.
        let order = key.map_or(Ordering::Greater, |key| stored.cmp(key));
        if order != Ordering::Equal {
            return Ok(order);
        }
        start = end;
    }
    Ok(Ordering::Equal)
}

/// The search proper; `order` tells how the user record at an origin stands to the key.
#[inline(always)]
fn walk(page: &[u8], mode: SearchMode, order: impl Fn(usize) -> Result<Ordering>) -> Result<Position> {
    // `low` is before the place looked for, `high` is behind it: whether an equal record goes to `low` depends on the
    // mode. In a level above the leaves the first record may be marked as smaller than all.
    let equal_is_low = matches!(mode, SearchMode::LessOrEqual | SearchMode::Greater);
    let order = |origin: usize| if is_min_record(page, origin) { Ok(Ordering::Less) } else { order(origin) };
    let goes_low = |order: Ordering| order == Ordering::Less || (equal_is_low && order == Ordering::Equal);

    let mut low_slot = 0;
    let mut high_slot = match slot_count(page) {
        0 | 1 => return Err(Error::corrupt("directory slots", super::SLOTS)),
        slots => slots - 1,
    };
    let mut low_matched = false;
    let mut high_matched = false;
    while high_slot - low_slot > 1 {
        let middle = low_slot.midpoint(high_slot);
        let found = order(check(page, slot(page, middle))?)?;
        if goes_low(found) {
            low_slot = middle;
            low_matched = found == Ordering::Equal;
        } else {
            high_slot = middle;
            high_matched = found == Ordering::Equal;
        }
    }

    let mut low = check(page, slot(page, low_slot))?;
    let high = check(page, slot(page, high_slot))?;
    let mut behind = high;
    for step in 0.. {
        let next = check(page, next_raw(page, low))?;
        if next == high {
            break;
        }
        if step > OWNED_MAX || next == usize::from(INFIMUM) || next == usize::from(SUPREMUM) {
            return Err(Error::corrupt("a group of records that does not end", low));
        }
        let found = order(next)?;
        if goes_low(found) {
            low = next;
            low_matched = found == Ordering::Equal;
        } else {
            behind = next;
            high_matched = found == Ordering::Equal;
            break;
        }
    }
    Ok(match mode {
        SearchMode::Less | SearchMode::LessOrEqual => Position { origin: low as u16, matched: low_matched },
        SearchMode::Greater | SearchMode::GreaterOrEqual => Position { origin: behind as u16, matched: high_matched },
    })
}
