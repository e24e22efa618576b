//! Estimates of a table: how many rows it has, how many pages its indexes have, and how many values their prefixes have.
//!
//! The records of an index are in order, so the values of a prefix (the first field, the first two ...) are as many as
//! the places where it *changes* from one record to the next, and one more. Counting all changes would read all leaves; the
//! nodes above them tell where there are any:
//!
//! ```text
//! level 1     a ->   b ->   b ->   b ->   c ->        5 leaves; the prefix changes between a|b and b|c
//! level 0    aab    bbb    bbb    bbc    ccc          and within the first and the fourth, and in no other
//! ```
//!
//! Only a leaf whose key differs from that of the next one can have a change in it. Some of those, at even distances, are
//! looked at, and the others are taken to be like them. If a level has many changes, those of its subtrees tell enough, and
//! the levels below need not be read: so the work does not grow with the table. With few leaves, all are counted.
//!
//! InnoDB's persistent statistics are taken so, too (`dict0stats.cc` explains it), but from random places; here, the same
//! pages give the same estimates.

use format::ids::PageNo;
use format::page::index::{self, SUPREMUM};
use format::record::{FieldLayout, Layout, compare_value, is_deleted};

use super::entry::{Key, damaged};
use super::{Context, Table};
use crate::btree::Tree;
use crate::config::StatisticsMethod;
use crate::error::{Error, Result};
use crate::lock::Interrupt;
use crate::mtr::Mtr;
use crate::schema::{Distinct, Estimates, IndexEstimates};
use crate::segment;
use crate::store::SharedGuard;

/// A level that has so many changes for each leaf that is to be looked at tells enough.
const CHANGES_PER_SAMPLE: u64 = 10;
/// The most places that are remembered of one prefix: then every other one is forgotten.
const PLACES_MAX: usize = 4096;

/// How much is looked at, and what counts.
#[derive(Clone, Copy, Debug)]
pub struct Sampling {
    /// Leaves for each prefix of an index.
    pub pages: u64,
    pub method: StatisticsMethod,
    /// Rows that were deleted, but not purged, count.
    pub delete_marked: bool,
}

/// Takes the estimates of a table with a file. `taken_us`: the time now.
pub fn statistics(
    ctx: &Context<'_>,
    table: &Table,
    sampling: Sampling,
    taken_us: u64,
    interrupt: &Interrupt,
) -> Result<Estimates> {
    let mut found = Estimates { rows: 0, taken_us, indexes: Vec::with_capacity(table.indexes.len()) };
    for (number, index) in table.indexes.iter().enumerate() {
        let tree = table.tree(number);
        let (leaf_pages, pages) = index_pages(ctx, tree)?;
        let sample = Sampler { ctx, tree, sampling, prefixes: tree.key_fields(), interrupt }.take(leaf_pages)?;
        if number == 0 {
            found.rows = sample.records;
        }
        found.indexes.push(IndexEstimates {
            index: index.id,
            leaf_pages: sample.leaves,
            pages,
            distinct: sample.distinct,
        });
    }
    Ok(found)
}

/// Pages of an index that its leaves and long values use, and all that it has.
pub fn index_pages(ctx: &Context<'_>, tree: &Tree) -> Result<(u64, u64)> {
    let mut mtr = Mtr::begin(ctx.store);
    let leaves = segment::pages(&mut mtr, tree.leaf_segment())?;
    let tops = segment::pages(&mut mtr, tree.top_segment())?;
    Ok((leaves.used, leaves.reserved + tops.reserved))
}

/// What was found in one index.
struct Sample {
    records: u64,
    leaves: u64,
    distinct: Vec<Distinct>,
}

struct Sampler<'a> {
    ctx: &'a Context<'a>,
    tree: &'a Tree,
    sampling: Sampling,
    prefixes: usize,
    interrupt: &'a Interrupt,
}

/// What was counted in some leaves.
#[derive(Default)]
struct Counted {
    leaves: u64,
    records: u64,
    /// For each prefix: how often it changes.
    changes: Vec<u64>,
}

/// Where a prefix changes on a level: pages of the level below, each the last one before a change.
#[derive(Default)]
struct Places {
    count: u64,
    stride: u64,
    pages: Vec<PageNo>,
}

impl Places {
    fn add(&mut self, page: PageNo) {
        if self.count.is_multiple_of(self.stride.max(1)) {
            self.pages.push(page);
        }
        self.count += 1;
        if self.pages.len() == PLACES_MAX {
            let mut number = 0;
            self.pages.retain(|_| {
                number += 1;
                number % 2 == 1
            });
            self.stride = self.stride.max(1) * 2;
        }
    }

    /// At most so many of them, at even distances.
    fn some(&self, wanted: u64) -> Vec<PageNo> {
        let wanted = (wanted as usize).clamp(1, self.pages.len().max(1));
        let all = self.pages.len();
        (0..wanted.min(all)).map(|number| self.pages[(number * 2 + 1) * all / (wanted * 2)]).collect()
    }
}

/// The changes of one level above the leaves.
struct Level {
    records: u64,
    places: Vec<Places>,
}

impl Sampler<'_> {
    /// `leaf_segment_pages`: those in the segment of the leaves, where long values are, too.
    fn take(&self, leaf_segment_pages: u64) -> Result<Sample> {
        let root = self.tree.root_level(self.ctx.store)?;
        let wanted = self.sampling.pages.max(1);
        if root == 0 || leaf_segment_pages <= wanted * self.prefixes as u64 {
            let all = self.all_leaves()?;
            let values = |changes: &u64| if all.records == 0 { 0 } else { changes + 1 };
            let distinct = all.changes.iter().map(values);
            let distinct = distinct.map(|values| Distinct { values, sampled_pages: all.leaves }).collect();
            return Ok(Sample { records: all.records, leaves: all.leaves.max(1), distinct });
        }
        let mut distinct = vec![None; self.prefixes];
        let mut sample = Sample { records: 0, leaves: leaf_segment_pages, distinct: Vec::new() };
        for number in (1..=root).rev() {
            let level = self.level(number)?;
            // Of level 1 the records are the leaves.
            let leaves = match number {
                1 => level.records,
                _ => self.tree.leaf_count(self.ctx.store)?.min(leaf_segment_pages).max(level.records),
            };
            for prefix in (0..self.prefixes).rev().filter(|prefix| distinct[*prefix].is_none()).collect::<Vec<_>>() {
                let places = &level.places[prefix];
                if number > 1 && places.count < wanted * CHANGES_PER_SAMPLE {
                    continue;
                }
                let counted = self.counted_below(&places.some(wanted), number - 1)?;
                let looked_at = counted.leaves.max(1) as f64;
                let share = places.count as f64 / level.records.max(1) as f64;
                let changes = counted.changes[prefix] as f64 / looked_at * share * leaves as f64;
                // A share of the leaves times their number may be a little less than the whole number that it is.
                distinct[prefix] = Some(Distinct { values: changes.round() as u64 + 1, sampled_pages: counted.leaves });
                if prefix == self.prefixes - 1 {
                    // All leaves have changes of the whole key: these stand for all.
                    sample.records = (counted.records as f64 / looked_at * leaves as f64) as u64;
                    sample.leaves = leaves;
                }
            }
            if distinct.iter().all(Option::is_some) {
                break;
            }
        }
        sample.distinct = distinct.into_iter().map(Option::unwrap_or_default).collect();
        Ok(sample)
    }

    /// Asked before each page.
    fn look(&self) -> Result<()> {
        if self.interrupt.is_set() { Err(Error::Interrupted) } else { Ok(()) }
    }

    /// Where prefixes change on a level of nodes.
    fn level(&self, number: u16) -> Result<Level> {
        let (store, layout) = (self.ctx.store, self.tree.layout_of_level(number));
        let mut level = Level { records: 0, places: Vec::new() };
        level.places.resize_with(self.prefixes, Places::default);
        let mut before: Option<(SharedGuard<'_>, u16)> = None;
        let mut page = self.tree.first_of_level(store, number)?;
        while let Some(here) = page {
            self.look()?;
            let mut last = None;
            let mut origin = index::first(&here).map_err(damaged)?;
            while origin != SUPREMUM {
                level.records += 1;
                let left = last.map(|last| (&here, last)).or(before.as_ref().map(|(page, last)| (page, *last)));
                if let Some((left, at)) = left {
                    let same = self.same_fields(layout, (left, at), (&here, origin))?;
                    if same < self.prefixes {
                        let child = self.tree.child_at(left, at)?;
                        level.places[same..].iter_mut().for_each(|places| places.add(child));
                    }
                }
                last = Some(origin);
                origin = index::next(&here, origin).map_err(damaged)?;
            }
            page = self.tree.page_behind(store, &here)?;
            if let Some(last) = last {
                before = Some((here, last));
            }
        }
        if let Some((page, last)) = before {
            // What is below the last one may change as well.
            let child = self.tree.child_at(&page, last)?;
            level.places.iter_mut().for_each(|places| places.add(child));
        }
        Ok(level)
    }

    /// How many leading fields two records have in common.
    fn same_fields(
        &self,
        layout: &Layout,
        (left, left_at): (&[u8], u16),
        (right, right_at): (&[u8], u16),
    ) -> Result<usize> {
        let left = Key::of_record(left, layout, usize::from(left_at), self.prefixes)?;
        let right = Key::of_record(right, layout, usize::from(right_at), self.prefixes)?;
        let nulls_differ = self.sampling.method == StatisticsMethod::NullsUnequal;
        let is_same = |field: &FieldLayout, left: Option<&[u8]>, right: Option<&[u8]>| {
            !(nulls_differ && left.is_none() && right.is_none()) && compare_value(field, left, right).is_eq()
        };
        let pairs = left.iter().zip(right.iter()).zip(layout.fields());
        Ok(pairs.take_while(|((left, right), field)| is_same(field, **left, **right)).count())
    }

    /// The first field of a record that is NULL.
    fn first_null(&self, page: &[u8], origin: u16) -> Result<usize> {
        let key = Key::of_record(page, &self.tree.leaf, usize::from(origin), self.prefixes)?;
        Ok(key.iter().position(Option::is_none).unwrap_or(self.prefixes))
    }

    fn counts(&self, page: &[u8], origin: u16) -> bool {
        self.sampling.delete_marked || !is_deleted(page, usize::from(origin))
    }

    /// Counts every leaf.
    fn all_leaves(&self) -> Result<Counted> {
        let store = self.ctx.store;
        let mut counted = Counted { changes: vec![0; self.prefixes], ..Counted::default() };
        let mut page = self.tree.first_of_level(store, 0)?;
        let mut before: Option<(SharedGuard<'_>, u16)> = None;
        while let Some(here) = page {
            self.look()?;
            counted.leaves += 1;
            let last = self.count(&here, before.as_ref().map(|(page, last)| (&**page, *last)), &mut counted)?;
            page = self.tree.page_behind(store, &here)?;
            if let Some(last) = last {
                before = Some((here, last));
            }
        }
        Ok(counted)
    }

    /// Counts a leaf below each of these pages, which are of this level, and the changes to the leaf behind it.
    fn counted_below(&self, pages: &[PageNo], level: u16) -> Result<Counted> {
        let store = self.ctx.store;
        let mut counted = Counted { changes: vec![0; self.prefixes], ..Counted::default() };
        for page in pages {
            self.look()?;
            let Some(leaf) = self.tree.leaf_below(store, *page, level)? else { continue };
            counted.leaves += 1;
            let Some(last) = self.count(&leaf, None, &mut counted)? else { continue };
            let Some(behind) = self.tree.page_behind(store, &leaf)? else { continue };
            let mut origin = index::first(&behind).map_err(damaged)?;
            while origin != SUPREMUM && !self.counts(&behind, origin) {
                origin = index::next(&behind, origin).map_err(damaged)?;
            }
            if origin != SUPREMUM {
                self.count_change((&leaf, last), (&behind, origin), &mut counted)?;
            }
        }
        Ok(counted)
    }

    /// Counts the records of a leaf, and the changes between them, and from one before. Returns the last one.
    fn count(&self, page: &[u8], before: Option<(&[u8], u16)>, counted: &mut Counted) -> Result<Option<u16>> {
        let (mut before, mut last) = (before, None);
        let mut origin = index::first(page).map_err(damaged)?;
        while origin != SUPREMUM {
            if self.counts(page, origin) {
                counted.records += 1;
                if let Some(before) = before {
                    self.count_change(before, (page, origin), counted)?;
                }
                (before, last) = (Some((page, origin)), Some(origin));
            }
            origin = index::next(page, origin).map_err(damaged)?;
        }
        Ok(last)
    }

    fn count_change(&self, left: (&[u8], u16), right: (&[u8], u16), counted: &mut Counted) -> Result<()> {
        let same = self.same_fields(&self.tree.leaf, left, right)?;
        let end = match self.sampling.method {
            // A prefix with NULL in it is none.
            StatisticsMethod::NullsIgnored => self.first_null(right.0, right.1)?,
            _ => self.prefixes,
        };
        if same < end {
            counted.changes[same..end].iter_mut().for_each(|changes| *changes += 1);
        }
        Ok(())
    }
}
