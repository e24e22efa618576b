//! From record to record.
//!
//! Origins are checked to lie where records can be, so that a damaged page leads to an error and not out
//! of the page. [`validate`](super::validate) finds lists with a cycle; the walks here that could
//! follow one are bounded.

use super::{HEAP, INFIMUM, OWNED_MAX, SUPREMUM, directory_start, record_count, slot, slot_count};
use crate::error::{Error, Result};
use crate::record::{next_raw, owned};

/// Checks that an origin can be that of a user record, the infimum or the supremum.
#[inline]
pub(super) fn check(page: &[u8], origin: usize) -> Result<usize> {
    if (origin > HEAP && origin < directory_start(page))
        || origin == usize::from(SUPREMUM)
        || origin == usize::from(INFIMUM)
    {
        Ok(origin)
    } else {
        Err(Error::corrupt("a record's place", origin))
    }
}

/// The record behind the one at `origin`: at last the supremum, which has none behind it.
#[inline]
pub fn next(page: &[u8], origin: u16) -> Result<u16> {
    Ok(check(page, next_raw(page, usize::from(origin)))? as u16)
}

/// The first user record, or the supremum if there is none.
#[inline]
pub fn first(page: &[u8]) -> Result<u16> {
    next(page, INFIMUM)
}

/// The last user record, or the infimum if there is none.
#[inline]
pub fn last(page: &[u8]) -> Result<u16> {
    prev(page, SUPREMUM)
}

/// The directory slot of the group that the record belongs to.
#[inline]
pub(super) fn group_of(page: &[u8], origin: usize) -> Result<usize> {
    let mut owner = origin;
    for _ in 0..=OWNED_MAX {
        if owned(page, owner) != 0 {
            return slot_of(page, owner);
        }
        owner = check(page, next_raw(page, owner))?;
    }
    Err(Error::corrupt("a group of records without an owner", origin))
}

/// The slot that holds the origin of an owner.
#[inline]
pub(super) fn slot_of(page: &[u8], owner: usize) -> Result<usize> {
    let end = page.len() - super::super::header::TRAILER_BYTES;
    let start = directory_start(page).max(HEAP);
    let wanted = (owner as u16).to_be_bytes();
    // Slots grow downward, so their bytes are searched from the front for the highest slot first.
    match page[start..end].chunks_exact(2).position(|bytes| bytes == wanted) {
        Some(position) => Ok(slot_count(page) - 1 - position),
        None => Err(Error::corrupt("an owner that is not in the directory", owner)),
    }
}

/// The record before the one at `origin`, at last the infimum, which has none before it.
pub fn prev(page: &[u8], origin: u16) -> Result<u16> {
    let origin = usize::from(origin);
    let group = group_of(page, origin)?;
    if group == 0 {
        return Err(Error::corrupt("nothing before the infimum", origin));
    }
    let mut record = check(page, slot(page, group - 1))?;
    for _ in 0..=OWNED_MAX {
        let next = check(page, next_raw(page, record))?;
        if next == origin {
            return Ok(record as u16);
        }
        record = next;
    }
    Err(Error::corrupt("a record that its group does not lead to", origin))
}

/// The user record number `index`, counted from 0; the supremum behind the last.
pub fn nth(page: &[u8], index: usize) -> Result<u16> {
    if index >= record_count(page) {
        return Ok(SUPREMUM);
    }
    // Skip whole groups, then walk. The infimum counts as number 0 here.
    let mut skipped = 1;
    for group in 1..slot_count(page) {
        let owner = check(page, slot(page, group))?;
        let count = usize::from(owned(page, owner));
        if skipped + count > index + 1 {
            let mut record = check(page, slot(page, group - 1))?;
            for _ in skipped..=index + 1 {
                record = check(page, next_raw(page, record))?;
            }
            return Ok(record as u16);
        }
        skipped += count;
    }
    Err(Error::corrupt("fewer records than counted", super::RECORDS))
}

/// How many user records come before the one at `origin`, which may be the supremum.
pub fn rank(page: &[u8], origin: u16) -> Result<usize> {
    let origin = usize::from(origin);
    let group = group_of(page, origin)?;
    if group == 0 {
        return Ok(0);
    }
    let mut before = 0;
    for group in 1..group {
        before += usize::from(owned(page, check(page, slot(page, group))?));
    }
    let mut record = check(page, slot(page, group - 1))?;
    for _ in 0..=OWNED_MAX {
        record = check(page, next_raw(page, record))?;
        if record == origin {
            return Ok(before);
        }
        before += 1;
    }
    Err(Error::corrupt("a record that its group does not lead to", origin))
}
