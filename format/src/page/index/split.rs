//! Where to split a full page.
//!
//! Two patterns deserve better than halves. Rows that arrive in key order would leave every page half full behind
//! them; so when the inserts go on where the last one was, the page is split right there, and what has been filled
//! stays full. The same holds downward. All else is split so that both pages get about the same bytes, the new record
//! included.

use super::navigate::{first, last, next};
use super::{
    DIRECTION, DIRECTION_LEFT, DIRECTION_RIGHT, INFIMUM, SUPREMUM, data_bytes, empty_capacity, fits_empty, last_insert,
    record_count,
};
use crate::error::{Error, Result};
use crate::page::get_u16;
use crate::page::header;
use crate::record::Layout;

/// Which of two pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    Left,
    Right,
}

/// How a page is to be split for a record that does not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Split {
    /// The first record that goes to the right page; the supremum if none does, so that the new record is alone there.
    /// The first user record, if all go right and the new record is alone on the left.
    pub first_right: u16,
    /// Where the new record goes: last on the left page, first on the right, or wherever it belongs among the others.
    pub side: Side,
    /// The split follows a run of inserts upward (right) or downward (left): the new page should lie in that direction
    /// in the file, too.
    pub direction: Option<Side>,
}

/// Inserts within this many records of the end of the last page count as going upward: several writers that take
/// ascending numbers do not arrive in order.
const DISORDER_MAX: usize = 4;

/// Chooses a split point for a record of `bytes` that belongs behind the one at `after`.
///
/// Fails with [`Error::Full`] only if the record is larger than [`insert_bytes_max`](super::insert_bytes_max).
pub fn split_point(page: &[u8], layout: &Layout, after: u16, bytes: usize) -> Result<Split> {
    let behind = next(page, after)?;
    let direction = direction(page, after, behind)?;
    if direction.is_some() {
        // Split at the insert point; the new record goes where there is more room.
        let mut left_bytes = 0;
        let mut record = first(page)?;
        while record != behind && record != SUPREMUM {
            left_bytes += layout.size(page, usize::from(record))?.total();
            record = next(page, record)?;
        }
        let right_bytes = data_bytes(page).saturating_sub(left_bytes);
        let side = if left_bytes > right_bytes { Side::Right } else { Side::Left };
        if fits_empty(page.len(), left_bytes.min(right_bytes) + bytes, record_count(page) + 1) {
            return Ok(Split { first_right: behind, side, direction });
        }
    }
    halves(page, layout, after, bytes)
}

/// Whether the inserts go upward or downward.
fn direction(page: &[u8], after: u16, behind: u16) -> Result<Option<Side>> {
    let newest = last_insert(page);
    let run = get_u16(page, DIRECTION);
    if newest != 0 && newest == after && run == DIRECTION_RIGHT {
        return Ok(Some(Side::Right));
    }
    if newest != 0 && newest == behind && run == DIRECTION_LEFT {
        return Ok(Some(Side::Left));
    }
    if header::next(page).is_null() && record_count(page) > 2 * DISORDER_MAX {
        let mut record = after;
        for _ in 0..DISORDER_MAX {
            if record == SUPREMUM || next(page, record)? == SUPREMUM {
                return Ok(Some(Side::Right));
            }
            record = next(page, record)?;
        }
    }
    if header::prev(page).is_null() && after == INFIMUM && last(page)? != INFIMUM {
        return Ok(Some(Side::Left));
    }
    Ok(None)
}

#[derive(Clone, Copy)]
struct Part {
    bytes: usize,
    records: usize,
}

/// The boundary, among those that let both sides fit, at which they differ least.
fn halves(page: &[u8], layout: &Layout, after: u16, bytes: usize) -> Result<Split> {
    let page_bytes = page.len();
    let total = Part { bytes: data_bytes(page) + bytes, records: record_count(page) + 1 };
    let mut left = Part { bytes: 0, records: 0 };
    let mut best: Option<(usize, Split)> = None;
    let mut consider = |left: Part, first_right: u16, side: Side| {
        let right = Part { bytes: total.bytes.saturating_sub(left.bytes), records: total.records - left.records };
        if left.records == 0
            || right.records == 0
            || !fits_empty(page_bytes, left.bytes, left.records)
            || !fits_empty(page_bytes, right.bytes, right.records)
        {
            return;
        }
        let difference = left.bytes.abs_diff(right.bytes);
        if best.is_none_or(|(least, _)| difference < least) {
            best = Some((difference, Split { first_right, side, direction: None }));
        }
    };
    let mut passed = after == INFIMUM;
    let mut record = first(page)?;
    if passed {
        left = Part { bytes, records: 1 };
        consider(left, record, Side::Left);
    }
    while record != SUPREMUM {
        if left.records >= total.records {
            return Err(Error::corrupt("a list of records without end", usize::from(record)));
        }
        left.bytes += layout.size(page, usize::from(record))?.total();
        left.records += 1;
        let behind = next(page, record)?;
        consider(left, behind, if passed { Side::Left } else { Side::Right });
        if record == after {
            passed = true;
            left = Part { bytes: left.bytes + bytes, records: left.records + 1 };
            consider(left, behind, Side::Left);
        }
        record = behind;
    }
    debug_assert!(bytes <= empty_capacity(page_bytes));
    best.map(|(_, split)| split).ok_or(Error::Full)
}
