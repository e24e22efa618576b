//! Numbers for the planner: how many rows a table has, how many a range would visit, how many distinct values an index
//! has.
//!
//! All are estimates from a few pages, and all are taken without locks.

use std::ops::Bound;

use format::page::index::{self, INFIMUM, SUPREMUM, SearchMode};
use format::record::{compare_value, is_deleted};

use super::entry::{Key, damaged};
use super::{Context, Table};
use crate::btree::Tree;
use crate::error::Result;
use crate::mtr::Mtr;
use crate::schema::ScanRange;
use crate::segment;

/// Leaves looked at per index.
const SAMPLE_LEAVES: usize = 12;

/// Statistics of a table.
#[derive(Clone, Debug, Default)]
pub struct TableStatistics {
    pub rows: u64,
    /// The indexes by their ordinals.
    pub indexes: Vec<IndexStatistics>,
}

#[derive(Clone, Debug, Default)]
pub struct IndexStatistics {
    pub leaf_pages: u64,
    /// All pages of the index, those reserved for growth and those of long values included.
    pub pages: u64,
    /// About how many different values the first 1, 2, 3 ... fields have.
    pub distinct: Vec<u64>,
}

/// Estimates from a sample of leaves of each index.
pub fn statistics(ctx: &Context<'_>, table: &Table) -> Result<TableStatistics> {
    let mut found = TableStatistics::default();
    for index in 0..table.indexes.len() {
        let tree = table.tree(index);
        let (leaves, tops) = {
            let mut mtr = Mtr::begin(ctx.store);
            (segment::pages(&mut mtr, tree.leaf_segment())?, segment::pages(&mut mtr, tree.top_segment())?)
        };
        let sample = Sample::take(ctx, tree)?;
        let mut leaf_pages = if sample.is_root { 1 } else { leaves.used.max(1) };
        if index == 0 && sample.bytes > 0 && !sample.is_root {
            // Long values lie in the leaf segment too: the node pages tell better how many leaves there are.
            leaf_pages = leaf_pages.min((tree.leaf_count(ctx.store)?).max(1));
        }
        let rows = match sample.is_whole {
            true => sample.records as u64,
            false => (leaf_pages as f64 * sample.records as f64 / sample.leaves.max(1) as f64) as u64,
        };
        if index == 0 {
            found.rows = rows;
        }
        let distinct = sample
            .distinct
            .iter()
            .map(|&distinct| match sample.records {
                0 => 0,
                // Every change of value within a leaf counts, and one more for each leaf's first.
                records => ((distinct as f64 / records as f64) * found.rows as f64).ceil().max(1.0) as u64,
            })
            .collect();
        found.indexes.push(IndexStatistics { leaf_pages, pages: leaves.reserved + tops.reserved, distinct });
    }
    Ok(found)
}

#[derive(Default)]
struct Sample {
    leaves: usize,
    records: usize,
    bytes: usize,
    distinct: Vec<usize>,
    is_root: bool,
    /// All leaves were looked at.
    is_whole: bool,
}

impl Sample {
    fn take(ctx: &Context<'_>, tree: &Tree) -> Result<Sample> {
        let layout = &tree.leaf;
        let mut sample = Sample { distinct: vec![0; layout.key_fields()], ..Sample::default() };
        let mut last = None;
        for step in 0..SAMPLE_LEAVES {
            let page = tree.leaf_at(ctx.store, step as f64 / (SAMPLE_LEAVES - 1) as f64)?;
            let id = page.page_id();
            if last == Some(id) {
                continue;
            }
            last = Some(id);
            sample.leaves += 1;
            sample.is_root = id.page == tree.root;
            sample.bytes += index::data_bytes(&page);
            let mut before: Option<usize> = None;
            let mut origin = index::first(&page).map_err(damaged)?;
            while origin != SUPREMUM {
                let at = usize::from(origin);
                if !is_deleted(&page, at) {
                    sample.records += 1;
                    let same = match before {
                        None => 0,
                        Some(before) => {
                            let left = Key::of_record(&page, layout, before, layout.key_fields())?;
                            let right = Key::of_record(&page, layout, at, layout.key_fields())?;
                            let pairs = left.iter().zip(right.iter()).zip(layout.fields());
                            pairs
                                .take_while(|((left, right), field)| compare_value(field, **left, **right).is_eq())
                                .count()
                        }
                    };
                    for distinct in &mut sample.distinct[same..] {
                        *distinct += 1;
                    }
                    before = Some(at);
                }
                origin = index::next(&page, origin).map_err(damaged)?;
            }
        }
        sample.is_whole = sample.is_root;
        Ok(sample)
    }
}

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
