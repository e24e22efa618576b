//! About how many rows a range has: from the places of its ends on each level of the tree, without locks.

use std::ops::Bound;

use format::page::index::{self, INFIMUM, SearchMode};

use super::{Context, Table};
use crate::btree::Tree;
use crate::error::Result;
use crate::schema::ScanRange;

/// Where an end of a range lies: for each level from the root the rank of the record and the page's record count.
struct Path {
    levels: Vec<(u32, usize, usize)>,
}

/// About how many rows a scan of this range would visit.
pub fn estimate(ctx: &Context<'_>, table: &Table, index: usize, range: &ScanRange<'_>) -> Result<u64> {
    let tree = table.tree(index);
    let lower = match range.lower {
        Bound::Unbounded => path(ctx, tree, None, false)?,
        Bound::Included(key) => path(ctx, tree, Some((key, SearchMode::Less)), false)?,
        Bound::Excluded(key) => path(ctx, tree, Some((key, SearchMode::LessOrEqual)), false)?,
    };
    let upper = match range.upper {
        Bound::Unbounded => path(ctx, tree, None, true)?,
        Bound::Included(key) => path(ctx, tree, Some((key, SearchMode::LessOrEqual)), true)?,
        Bound::Excluded(key) => path(ctx, tree, Some((key, SearchMode::Less)), true)?,
    };
    if lower.levels.len() != upper.levels.len() {
        // The tree grew or shrank meanwhile; any estimate will do.
        return Ok(1);
    }
    // The number of records between the ends on each level: those between the ends above, filled, and the remainders of
    // the two.
    let mut rows = 0.0;
    let mut diverged = false;
    let last = lower.levels.len() - 1;
    for level in 0..=last {
        let (low_page, low_rank, low_count) = lower.levels[level];
        let (high_page, high_rank, high_count) = upper.levels[level];
        let average = (low_count + high_count) as f64 / 2.0;
        if !diverged {
            if low_page != high_page {
                return Ok(1);
            }
            rows = high_rank as f64 - low_rank as f64;
            diverged = low_rank != high_rank;
        } else {
            // So many whole children lie between, and parts of the two at the ends.
            rows = (rows - 1.0) * average + (low_count as f64 - low_rank as f64) + high_rank as f64;
        }
    }
    Ok(rows.max(0.0) as u64)
}

/// The way to the last record before an end of a range; ranks count from 1, 0 is before the first record.
fn path(ctx: &Context<'_>, tree: &Tree, key: Option<(&[Option<&[u8]>], SearchMode)>, last: bool) -> Result<Path> {
    let mut levels = Vec::new();
    tree.descend(ctx.store, &mut |page, layout| {
        let is_leaf = index::level(page) == 0;
        let origin = match key {
            Some((key, mode)) => index::search(page, layout, key, mode)?.origin,
            None if last => index::last(page)?,
            None if is_leaf => INFIMUM,
            None => index::first(page)?,
        };
        let origin = if origin == INFIMUM && !is_leaf { index::first(page)? } else { origin };
        let rank = if origin == INFIMUM { 0 } else { index::rank(page, origin)? + 1 };
        levels.push((format::page::header::page_no(page).0, rank, index::record_count(page)));
        Ok(origin)
    })?;
    Ok(Path { levels })
}
