//! How to read one table: which index, and which part of it.
//!
//! The conditions that compare a column of the table with something that is known
//! before the table is read (constants, parameters, tables further out) become
//! ranges of index parts:
//!
//! ```text
//! index (a, b, c)      a = 1 AND b IN (2, 3) AND c > ?
//! parts                [1]   [2, 3]          (?, ..)
//! ranges when run      (1,2,?)..(1,2]   (1,3,?)..(1,3]
//! ```
//!
//! Ranges are made of expressions, not of values, so a cached plan serves all
//! values. What a value cannot be converted to when the plan runs (a string column
//! compared with a number, say) widens the range; the condition itself is evaluated
//! on every row then. See [`super::keys`].
//!
//! The cost of an access is counted in rows read from a clustered index in order.
//! Rows come from storage's statistics, and for ranges over known values from a look
//! into the index.

use std::sync::Arc;

use storage::Table;

use super::arrays::{ElementsAccess, searches_of};
use super::fulltext::{FulltextAccess, search_of};
use super::hints::is_named;
use super::keys::KeyRanges;
use super::logical::is_volatile;
use super::range::{Interval, KeyExpr, PartRange, is_known_now};
use super::sargable::{Sargable, collect, merge};
use super::{PlanContext, Source, SourceKind, alternatives, selectivity};
use crate::expression::{Expr, NoFields};
use crate::parser::ast::IndexHintKind;
use crate::types::Switches;

/// How a table's rows are found.
#[derive(Debug)]
pub enum Access {
    /// All of an index.
    Scan { index: usize, reverse: bool },
    /// At most one row: a full key of a unique index.
    Point { index: usize, key: Vec<KeyExpr> },
    /// Parts of an index. What follows a LIKE's beginning is read upward, so that the scan can stop behind it.
    Range { index: usize, parts: Vec<PartRange>, reverse: bool },
    /// What a search finds, the most relevant first.
    Fulltext(Box<FulltextAccess>),
    /// What a multi-valued index has of some elements.
    Elements(Box<ElementsAccess>),
    /// What several conditions find, of which one has to be true.
    Merge(Vec<Alternative>),
    /// The rows of a derived or virtual table.
    Rows,
}

/// One of several conditions of which one has to be true, and how its rows are found. See [`alternatives`].
#[derive(Debug)]
pub struct Alternative {
    pub condition: Expr,
    pub access: Access,
}

impl Access {
    /// Whether it reads a range, and not one key, of one of these indexes.
    fn is_range_of(&self, indexes: u128) -> bool {
        let single = |part: &PartRange| matches!(part, PartRange::Points(points) if points.len() == 1);
        match self {
            Access::Range { index, parts, .. } => indexes >> index & 1 == 1 && !parts.iter().all(single),
            _ => false,
        }
    }

    /// The indexes that are read, and how many of their parts count.
    pub fn indexes(&self) -> Vec<(usize, usize)> {
        match self {
            Access::Scan { index, .. } => vec![(*index, 0)],
            Access::Point { index, key } => vec![(*index, key.len())],
            Access::Range { index, parts, .. } => vec![(*index, parts.len())],
            Access::Fulltext(access) => vec![(access.search.index, 0)],
            Access::Elements(access) => vec![(access.index, access.parts())],
            Access::Merge(all) => all.iter().flat_map(|one| one.access.indexes()).collect(),
            Access::Rows => vec![],
        }
    }
}

/// One way to read a table.
pub struct Choice {
    pub access: Access,
    pub rows: f64,
    pub cost: f64,
    pub covering: bool,
    /// Conditions that the access answers.
    pub answered: Vec<usize>,
    pub possible_keys: Vec<usize>,
    /// How many leading parts are fixed to one value: order starts behind them.
    pub fixed_parts: usize,
}

/// What a virtual table is taken to have.
const ROWS_OF_FACTS: f64 = 100.0;
/// What a table without statistics is taken to have.
const ROWS_UNKNOWN: f64 = 1000.0;
/// A row found through a secondary index that must be looked up in the clustered one.
const LOOKUP_COST: f64 = 3.0;
/// A table may have grown since its rows were counted: reading all of it is never taken to be cheaper than this.
pub const SCAN_ROWS_MIN: f64 = 100.0;
/// How much more reading all of a table is taken to cost where a hint says FORCE INDEX.
pub const FORCED_AWAY: f64 = 1000.0;
/// Share of the rows that a search is taken to find.
const FOUND_SHARE: f64 = 0.02;
/// Share of an interval that nothing is known about.
const OPEN_INTERVAL: f64 = 0.33;
const CLOSED_INTERVAL: f64 = 0.11;

/// The ways to read a table, given the conditions that are known to be evaluated on it. `known` tells whether an
/// expression can be evaluated before this table is read.
pub fn choices(
    context: &PlanContext<'_>,
    source: &Source,
    conditions: &[&Expr],
    known: &dyn Fn(&Expr) -> bool,
) -> Vec<Choice> {
    let Some(table) = source.table() else {
        let rows = match &source.kind {
            SourceKind::Derived(derived) => derived.estimate.rows.max(1.0),
            _ => ROWS_OF_FACTS,
        };
        let access = Access::Rows;
        return vec![Choice {
            access,
            rows,
            cost: rows,
            covering: false,
            answered: vec![],
            possible_keys: vec![],
            fixed_parts: 0,
        }];
    };
    let facts = Facts::of(context, source, table);
    let mut choices = by_index(&facts, conditions, known);
    let no_ranges = source.hinted.no_ranges;
    choices.retain(|choice| !choice.access.is_range_of(no_ranges));
    let mut possible_keys: Vec<usize> =
        choices.iter().flat_map(|choice| choice.access.indexes()).map(|(index, _)| index).collect();
    let merges = || context.eval.session.optimizer_switches().has(Switches::INDEX_MERGE);
    if source.hinted.index_merge.unwrap_or_else(merges) {
        for at in 0..conditions.len() {
            let Some(mut choice) = merge_choice(&facts, conditions, at, known) else { continue };
            if choice.access.indexes().iter().any(|(index, _)| no_ranges >> index & 1 == 1) {
                continue;
            }
            if source.hinted.index_merge == Some(true) {
                choice.cost = choice.cost.min(f64::MIN_POSITIVE);
            }
            for (index, _) in choice.access.indexes() {
                if !possible_keys.contains(&index) {
                    possible_keys.push(index);
                }
            }
            choices.push(choice);
        }
    }
    let Facts { allowed, forced, total, .. } = facts;
    for (at, condition) in conditions.iter().enumerate() {
        let Some((search, is_exact)) = search_of(condition, source, table) else { continue };
        let index = search.search.index;
        if !allowed[index] || !known(&search.against) {
            continue;
        }
        let rows = (total * FOUND_SHARE).max(1.0);
        possible_keys.push(index);
        choices.push(Choice {
            access: Access::Fulltext(Box::new(search)),
            rows,
            cost: cost(rows, index, false),
            covering: false,
            answered: if is_exact { vec![at] } else { vec![] },
            possible_keys: vec![],
            fixed_parts: 0,
        });
    }
    // Reading everything: by the clustered index, or by a smaller one that has all columns. A row that changes is
    // found in the clustered index at last, and rows that refer to each other by a foreign key can often be deleted in
    // one order only: that of the clustered index, as in MySQL.
    let mut whole: Vec<usize> = vec![0];
    let is_small = |number: &usize| !source.is_changed && allowed[*number] && is_covering(source, table, *number);
    whole.extend((1..table.indexes.len()).filter(is_small));
    let has_others = !choices.is_empty() || whole.len() > 1;
    for number in whole {
        let covering = number != 0;
        let scanned = total.max(SCAN_ROWS_MIN);
        let mut cost = if covering { scanned * 0.7 } else { scanned };
        // The first is the whole table, which may not be among the indexes that are named.
        if forced && !allowed[number] && has_others {
            cost *= FORCED_AWAY;
        }
        choices.push(Choice {
            access: Access::Scan { index: number, reverse: false },
            rows: total,
            cost: cost + 1.0,
            covering,
            answered: vec![],
            possible_keys: vec![],
            fixed_parts: 0,
        });
    }
    for choice in &mut choices {
        choice.possible_keys = possible_keys.clone();
    }
    choices
}

/// What all ways to read a table are weighed by.
struct Facts<'f, 'c> {
    context: &'f PlanContext<'c>,
    source: &'f Source,
    table: &'f Arc<Table>,
    statistics: storage::TableStatistics,
    /// Its rows.
    total: f64,
    /// Which indexes the hints leave, and whether one of them has to be used.
    allowed: Vec<bool>,
    forced: bool,
}

impl<'f, 'c> Facts<'f, 'c> {
    fn of(context: &'f PlanContext<'c>, source: &'f Source, table: &'f Arc<Table>) -> Facts<'f, 'c> {
        let statistics = context.instance.engine.table_statistics(table);
        let total = (statistics.rows as f64).max(1.0);
        let (allowed, forced) = allowed_indexes(context, source, table);
        Facts { context, source, table, statistics, total, allowed, forced }
    }
}

/// The ways that read a part of one index.
fn by_index(facts: &Facts<'_, '_>, conditions: &[&Expr], known: &dyn Fn(&Expr) -> bool) -> Vec<Choice> {
    let Facts { context, source, table, statistics, total, allowed, .. } = facts;
    let total = *total;
    let mut sargables: Vec<Sargable> = Vec::new();
    for (at, condition) in conditions.iter().enumerate() {
        collect(condition, at, source, table, known, &mut sargables);
    }

    let mut choices = Vec::new();
    for (number, index) in table.indexes.iter().enumerate() {
        if !allowed[number] || index.is_hidden() || index.has_several_entries() {
            continue;
        }
        let Some(mut choice) = match_index(context, table, number, &sargables, statistics, total) else {
            continue;
        };
        choice.covering = is_covering(source, table, number);
        choice.cost = cost(choice.rows, number, choice.covering);
        choices.push(choice);
    }
    if table.indexes.iter().any(|index| index.has_several_entries() && index.fulltext.is_none()) {
        let points = |column: usize| {
            let mut mine = sargables.iter().filter(|sargable| sargable.column == column);
            mine.find_map(|sargable| match &sargable.range {
                PartRange::Points(points) => match &points[..] {
                    [one] if !one.null_safe => Some(one.clone()),
                    _ => None,
                },
                PartRange::Intervals(_) => None,
            })
        };
        let searches = |condition: &&Expr| searches_of(context, condition, source, table, known, &points);
        for search in conditions.iter().flat_map(searches) {
            let (index, parts) = (search.index, search.parts());
            if !allowed[index] {
                continue;
            }
            let distinct = statistics.distinct.get(index).and_then(|counts| counts.get(parts - 1)).copied();
            let mut rows = (total / distinct.map_or(10.0, |distinct| (distinct as f64).max(1.0))).max(1.0);
            if table.indexes[index].unique && parts == table.indexes[index].parts.len() {
                rows = 1.0;
            }
            choices.push(Choice {
                access: Access::Elements(Box::new(search)),
                rows,
                cost: cost(rows, index, false),
                covering: false,
                answered: vec![],
                possible_keys: vec![],
                fixed_parts: 0,
            });
        }
    }
    choices
}

/// The way that finds the rows of each alternative of a condition by an index.
fn merge_choice(
    facts: &Facts<'_, '_>,
    conditions: &[&Expr],
    at: usize,
    known: &dyn Fn(&Expr) -> bool,
) -> Option<Choice> {
    let found = alternatives::of(conditions[at], facts.source, facts.table, known)?;
    if is_volatile(conditions[at]) {
        return None;
    }
    let others = conditions.iter().enumerate().filter(|(other, _)| *other != at).map(|(_, other)| *other);
    let others: Vec<&Expr> = others.collect();
    let mut merge = Vec::with_capacity(found.len());
    let (mut rows, mut cost, mut covering) = (0.0, 0.0, true);
    for condition in found {
        let mut all = alternatives::conditions(&condition);
        let own = all.len();
        all.extend(&others);
        let choices = by_index(facts, &all, known);
        // One that the alternative has no part in would find the same rows for all of them.
        let takes_part =
            |choice: &Choice| all[..own].iter().any(|condition| is_of_access(condition, facts.source, &choice.access));
        let best = choices.into_iter().filter(takes_part).min_by(|a, b| a.cost.total_cmp(&b.cost))?;
        rows += best.rows;
        cost += best.cost;
        covering &= best.covering;
        merge.push(Alternative { condition, access: best.access });
    }
    let access = Access::Merge(merge);
    let rows = f64::min(rows, facts.total);
    Some(Choice { access, rows, cost, covering, answered: vec![], possible_keys: vec![], fixed_parts: 0 })
}

/// Whether an access finds its rows by the condition, or by a column of it, so that its rows are counted with it.
pub fn is_of_access(condition: &Expr, source: &Source, access: &Access) -> bool {
    let Some(table) = source.table() else { return false };
    match access {
        Access::Fulltext(access) => {
            let is_same = |(found, _): (FulltextAccess, bool)| {
                found.search.index == access.search.index && found.against == access.against
            };
            return search_of(condition, source, table).is_some_and(is_same);
        }
        Access::Elements(access) if access.condition == *condition => return true,
        _ => {}
    }
    let indexes = access.indexes();
    let is_used = |column: usize| {
        let mut used = indexes.iter().flat_map(|(index, parts)| &table.indexes[*index].parts[..*parts]);
        used.any(|part| part.column == column)
    };
    let mut found = false;
    condition.for_each_column(&mut |slot| found |= slot.checked_sub(source.slot_base).is_some_and(is_used));
    if !found {
        // A spatial relation is a range of a hidden column that it does not name.
        let mut ranges = Vec::new();
        collect(condition, 0, source, table, &|_| true, &mut ranges);
        found = ranges.iter().any(|range| is_used(range.column));
    }
    found
}

/// About how many values a column has, if an index or a histogram tells.
pub fn distinct_values(context: &PlanContext<'_>, source: &Source, column: usize) -> Option<f64> {
    let table = source.table()?;
    let begins = |index: &storage::Index| index.parts.first().is_some_and(|part| part.column == column);
    let Some(number) = table.indexes.iter().position(|index| begins(index) && !index.is_hidden()) else {
        return selectivity::distinct_values(source, column);
    };
    let statistics = context.instance.engine.table_statistics(table);
    statistics.distinct.get(number)?.first().map(|distinct| *distinct as f64)
}

/// Whether a hint says FORCE INDEX and names this one.
pub fn is_forced(context: &PlanContext<'_>, source: &Source, table: &Table, number: usize) -> bool {
    let (allowed, forced) = allowed_indexes(context, source, table);
    forced && allowed[number]
}

/// An access that yields an index's order: `number` scanned whole.
pub fn scan_choice(context: &PlanContext<'_>, source: &Source, table: &Arc<Table>, number: usize) -> Option<Choice> {
    let (allowed, _) = allowed_indexes(context, source, table);
    if !allowed[number] || table.indexes[number].is_hidden() || table.indexes[number].has_several_entries() {
        return None;
    }
    let total = (context.instance.engine.table_statistics(table).rows as f64).max(1.0);
    let covering = is_covering(source, table, number);
    Some(Choice {
        access: Access::Scan { index: number, reverse: false },
        rows: total,
        cost: cost(total, number, covering),
        covering: covering && number != 0,
        answered: vec![],
        possible_keys: vec![],
        fixed_parts: 0,
    })
}

fn cost(rows: f64, index: usize, covering: bool) -> f64 {
    if index == 0 {
        rows
    } else if covering {
        rows * 0.9 + 0.1
    } else {
        rows * LOOKUP_COST + 0.2
    }
}

/// Whether an index has every column that the query reads.
fn is_covering(source: &Source, table: &Table, number: usize) -> bool {
    number != 0 && table.indexes[number].covers(&source.needed)
}

/// Which indexes the hints leave, and whether a hint forces one.
fn allowed_indexes(context: &PlanContext<'_>, source: &Source, table: &Table) -> (Vec<bool>, bool) {
    let invisible_too = context.eval.session.optimizer_switches().has(Switches::USE_INVISIBLE_INDEXES);
    let mut allowed: Vec<bool> = table.indexes.iter().map(|index| !index.invisible || invisible_too).collect();
    let mut forced = false;
    let uses: Vec<_> = source.hints.iter().filter(|hint| hint.kind != IndexHintKind::Ignore).collect();
    let named = |names: &[String], number: usize| names.iter().any(|name| is_named(&table.indexes[number], name));
    if !uses.is_empty() {
        forced = uses.iter().any(|hint| hint.kind == IndexHintKind::Force);
        for (number, allowed) in allowed.iter_mut().enumerate() {
            *allowed &= uses.iter().any(|hint| named(&hint.indexes, number));
        }
    }
    for hint in source.hints.iter().filter(|hint| hint.kind == IndexHintKind::Ignore) {
        for (number, allowed) in allowed.iter_mut().enumerate() {
            *allowed &= !named(&hint.indexes, number);
        }
    }
    (allowed, forced)
}

/// The ranges of an index that the conditions leave; None if they say nothing about its first part.
fn match_index(
    context: &PlanContext<'_>,
    table: &Arc<Table>,
    number: usize,
    sargables: &[Sargable],
    statistics: &storage::TableStatistics,
    total: f64,
) -> Option<Choice> {
    let index = &table.indexes[number];
    let mut parts: Vec<PartRange> = Vec::new();
    let mut answered = Vec::new();
    let mut fixed_parts = 0;
    let mut points = 1.0;
    let mut interval = None;
    for part in &index.parts {
        let mine = || sargables.iter().filter(|sargable| sargable.column == part.column);
        let whole_column = part.prefix_chars.is_none();
        let point = mine()
            .filter_map(|s| match &s.range {
                PartRange::Points(points) => Some((points, s)),
                PartRange::Intervals(_) => None,
            })
            .min_by_key(|(points, _)| points.len());
        if let Some((list, sargable)) = point {
            if whole_column {
                if list.len() == 1 && fixed_parts == parts.len() {
                    fixed_parts += 1;
                }
                points *= list.len() as f64;
                if points > 10_000.0 {
                    break;
                }
                parts.push(PartRange::Points(list.clone()));
                if sargable.whole {
                    answered.push(sargable.condition);
                }
                continue;
            }
            // A prefix: everything that begins alike.
            let list = list.iter().map(|key| Interval {
                lower: Some((key.clone(), true)),
                upper: Some((key.clone(), true)),
                like: None,
            });
            parts.push(PartRange::Intervals(list.collect()));
            interval = Some(CLOSED_INTERVAL * 0.1);
            break;
        }
        let intervals: Vec<&Sargable> = mine().collect();
        if intervals.is_empty() {
            break;
        }
        let (merged, used) = merge(&intervals);
        if whole_column {
            answered.extend(used.iter().filter(|s| s.whole).map(|s| s.condition));
        }
        let closed = merged.iter().all(|i| i.like.is_some() || i.lower.is_some() && i.upper.is_some());
        interval = Some(merged.len() as f64 * if closed { CLOSED_INTERVAL } else { OPEN_INTERVAL });
        parts.push(PartRange::Intervals(merged));
        break;
    }
    if parts.is_empty() {
        return None;
    }
    let point_parts = parts.iter().filter(|part| matches!(part, PartRange::Points(_))).count();
    let is_key = index.unique && point_parts == index.parts.len();
    let no_nulls = parts.iter().all(|part| match part {
        PartRange::Points(points) => points.iter().all(|point| !point.null_safe),
        PartRange::Intervals(_) => false,
    });
    if is_key && points == 1.0 && no_nulls {
        let key = parts.into_iter().filter_map(|part| match part {
            PartRange::Points(mut points) => points.pop(),
            PartRange::Intervals(_) => None,
        });
        return Some(Choice {
            access: Access::Point { index: number, key: key.collect() },
            rows: 1.0,
            cost: 1.0,
            covering: false,
            answered,
            possible_keys: vec![],
            fixed_parts: index.parts.len(),
        });
    }
    let distinct = |parts: usize| {
        let known = parts.checked_sub(1).and_then(|at| statistics.distinct.get(number)?.get(at));
        known.map_or((total / 10.0).max(1.0), |distinct| (*distinct as f64).max(1.0))
    };
    let mut rows = match point_parts {
        0 => total,
        _ if is_key => points,
        parts => (total / distinct(parts)).max(1.0) * points,
    };
    if let Some(share) = interval {
        rows = (rows * share.min(1.0)).max(1.0);
    }
    let reverse = like_part(&parts).is_some_and(|at| index.parts[at].order.descends());
    let access = Access::Range { index: number, parts, reverse };
    if let Some(counted) = estimate(context, table, &access) {
        rows = counted.max(1.0);
    }
    let rows = rows.min(total.max(ROWS_UNKNOWN.min(total)));
    Some(Choice { access, rows, cost: 0.0, covering: false, answered, possible_keys: vec![], fixed_parts })
}

/// Which part of an index a LIKE restricts.
pub fn like_part(parts: &[PartRange]) -> Option<usize> {
    let has_like = |part: &PartRange| match part {
        PartRange::Intervals(list) => list.iter().any(|interval| interval.like.is_some()),
        PartRange::Points(_) => false,
    };
    parts.iter().position(has_like)
}

/// Looks into the index, where the range is made of values that are known now.
fn estimate(context: &PlanContext<'_>, table: &Arc<Table>, access: &Access) -> Option<f64> {
    let Access::Range { index, parts, .. } = access else { return None };
    let constant = |expr: &Expr| is_known_now(context, expr);
    for part in parts.iter() {
        let all = match part {
            PartRange::Points(points) => points.iter().all(|point| constant(&point.expr)),
            PartRange::Intervals(intervals) => intervals.iter().all(|interval| {
                let bound = |bound: &Option<(KeyExpr, bool)>| bound.as_ref().is_none_or(|(key, _)| constant(&key.expr));
                let like = |(pattern, escape): &(Expr, Option<Expr>)| {
                    constant(pattern) && escape.as_ref().is_none_or(&constant)
                };
                interval.like.as_ref().is_none_or(like) && bound(&interval.lower) && bound(&interval.upper)
            }),
        };
        if !all {
            return None;
        }
    }
    if table.partitions().len() > ESTIMATED_PARTITIONS_MAX {
        return None;
    }
    let mut ranges = KeyRanges::to_count();
    ranges.build(table, *index, parts, context.eval, &NoFields).ok()?;
    if !ranges.exact {
        return None;
    }
    let count = ranges.len();
    let mut rows = 0.0;
    for at in 0..count.min(ESTIMATED_RANGES_MAX) {
        for file in table.files() {
            let counted = ranges.with_range(at, false, |range| context.trx.borrow_mut().estimate(file, *index, range));
            rows += counted.ok()? as f64;
        }
    }
    Some(rows * (count as f64 / count.clamp(1, ESTIMATED_RANGES_MAX) as f64))
}

/// Looking into an index costs two descents: not for every value of a long IN list.
const ESTIMATED_RANGES_MAX: usize = 20;
/// Nor in every one of many partitions.
const ESTIMATED_PARTITIONS_MAX: usize = 8;
