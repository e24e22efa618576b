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

use format::value::ColumnType;
use storage::Table;

use super::keys::KeyRanges;
use super::{PlanContext, Source};
use crate::expression::{Comparison, Expr, NoFields, Node};
use crate::parser::ast::{BinaryOp, IndexHintKind};

/// How a table's rows are found.
#[derive(Debug)]
pub enum Access {
    /// All of an index.
    Scan { index: usize, reverse: bool },
    /// At most one row: a full key of a unique index.
    Point { index: usize, key: Vec<KeyExpr> },
    /// Parts of an index.
    Range { index: usize, parts: Vec<PartRange>, reverse: bool },
    /// The rows of a derived or virtual table.
    Rows,
}

/// A value that a key part is compared with.
#[derive(Debug, Clone)]
pub struct KeyExpr {
    pub expr: Expr,
    /// `<=>`, IS NULL: NULL is a value like any other.
    pub null_safe: bool,
}

/// What is asked of one part of an index.
#[derive(Debug, Clone)]
pub enum PartRange {
    /// Equal to one of these.
    Points(Vec<KeyExpr>),
    /// In one of these; nothing can follow it.
    Intervals(Vec<Interval>),
}

#[derive(Debug, Clone)]
pub struct Interval {
    /// The bound, and whether it belongs to the interval.
    pub lower: Option<(KeyExpr, bool)>,
    pub upper: Option<(KeyExpr, bool)>,
    /// Begins as this LIKE pattern does, up to its first wildcard; the other bounds are empty then.
    pub like: Option<(Expr, Option<Expr>)>,
}

/// A condition on one column that an index can answer.
struct Sargable {
    column: usize,
    range: PartRange,
    /// Which of the conditions it comes from.
    condition: usize,
    /// The range says all that the condition says.
    whole: bool,
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

/// What a table without statistics is taken to have.
const ROWS_UNKNOWN: f64 = 1000.0;
/// A row found through a secondary index that must be looked up in the clustered one.
const LOOKUP_COST: f64 = 3.0;
/// A table may have grown since its rows were counted: reading all of it is never taken to be cheaper than this.
const SCAN_ROWS_MIN: f64 = 100.0;
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
        let rows = 100.0;
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
    let statistics = context.instance.engine.table_statistics(table);
    let total = (statistics.rows as f64).max(1.0);
    let mut sargables: Vec<Sargable> = Vec::new();
    for (at, condition) in conditions.iter().enumerate() {
        collect(condition, at, source, table, known, &mut sargables);
    }

    let (allowed, forced) = allowed_indexes(source, table);
    let mut choices = Vec::new();
    let mut possible_keys = Vec::new();
    for (number, index) in table.indexes.iter().enumerate() {
        if !allowed[number] || index.is_hidden() {
            continue;
        }
        let Some(mut choice) = match_index(context, table, number, &sargables, &statistics, total) else {
            continue;
        };
        possible_keys.push(number);
        choice.covering = is_covering(source, table, number);
        choice.cost = cost(choice.rows, number, choice.covering);
        choices.push(choice);
    }
    // Reading everything: by the clustered index, or by a smaller one that has all columns.
    let mut whole: Vec<usize> = vec![0];
    whole.extend((1..table.indexes.len()).filter(|number| allowed[*number] && is_covering(source, table, *number)));
    for number in whole {
        let covering = number != 0;
        let scanned = total.max(SCAN_ROWS_MIN);
        let mut cost = if covering { scanned * 0.7 } else { scanned };
        if forced && !(choices.is_empty() && number == 0) {
            cost *= 1000.0;
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

/// An access that yields an index's order: `number` scanned whole.
pub fn scan_choice(context: &PlanContext<'_>, source: &Source, table: &Arc<Table>, number: usize) -> Option<Choice> {
    let (allowed, _) = allowed_indexes(source, table);
    if !allowed[number] || table.indexes[number].is_hidden() {
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
fn allowed_indexes(source: &Source, table: &Table) -> (Vec<bool>, bool) {
    let mut allowed: Vec<bool> = table.indexes.iter().map(|index| !index.invisible).collect();
    let mut forced = false;
    let uses: Vec<_> = source.hints.iter().filter(|hint| hint.kind != IndexHintKind::Ignore).collect();
    let named = |names: &[String], number: usize| {
        names.iter().any(|name| {
            storage::same_name(name, &table.indexes[number].name)
                || table.indexes[number].primary && name.eq_ignore_ascii_case("PRIMARY")
        })
    };
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
    let access = Access::Range { index: number, parts, reverse: false };
    if let Some(counted) = estimate(context, table, &access) {
        rows = counted.max(1.0);
    }
    let rows = rows.min(total.max(ROWS_UNKNOWN.min(total)));
    Some(Choice { access, rows, cost: 0.0, covering: false, answered, possible_keys: vec![], fixed_parts })
}

/// Looks into the index, where the range is made of values that are known now.
fn estimate(context: &PlanContext<'_>, table: &Arc<Table>, access: &Access) -> Option<f64> {
    let Access::Range { index, parts, .. } = access else { return None };
    let constant = |expr: &Expr| {
        let mut plain = expr.is_constant();
        expr.walk(&mut |expr| {
            if let Node::Parameter(at) = expr.node {
                plain &= at < context.eval.parameters.len().min(context.parameter_count);
            }
        });
        plain
    };
    for part in parts.iter() {
        let all = match part {
            PartRange::Points(points) => points.iter().all(|point| constant(&point.expr)),
            PartRange::Intervals(intervals) => intervals.iter().all(|interval| {
                let bound = |bound: &Option<(KeyExpr, bool)>| bound.as_ref().is_none_or(|(key, _)| constant(&key.expr));
                interval.like.is_none() && bound(&interval.lower) && bound(&interval.upper)
            }),
        };
        if !all {
            return None;
        }
    }
    let mut ranges = KeyRanges::default();
    ranges.build(table, *index, parts, context.eval, &NoFields).ok()?;
    if !ranges.exact {
        return None;
    }
    let count = ranges.len();
    let mut rows = 0.0;
    for at in 0..count.min(ESTIMATED_RANGES_MAX) {
        let counted = ranges.with_range(at, false, |range| context.trx.borrow_mut().estimate(table, *index, range));
        rows += counted.ok()? as f64;
    }
    Some(rows * (count as f64 / count.clamp(1, ESTIMATED_RANGES_MAX) as f64))
}

/// Looking into an index costs two descents: not for every value of a long IN list.
const ESTIMATED_RANGES_MAX: usize = 20;

/// All of the intervals' bounds on one column made one list. ANDed lists cannot be multiplied out here: the most
/// telling one is taken, and single intervals are cut with each other.
fn merge<'s>(sargables: &[&'s Sargable]) -> (Vec<Interval>, Vec<&'s Sargable>) {
    let mut best: Option<(Vec<Interval>, Vec<&'s Sargable>)> = None;
    for sargable in sargables {
        let list: Vec<Interval> = match &sargable.range {
            PartRange::Intervals(list) => list.clone(),
            PartRange::Points(points) => points
                .iter()
                .map(|key| Interval { lower: Some((key.clone(), true)), upper: Some((key.clone(), true)), like: None })
                .collect(),
        };
        match &mut best {
            None => best = Some((list, vec![sargable])),
            Some((kept, used)) if kept.len() == 1 && list.len() == 1 => {
                let (old, new) = (&mut kept[0], &list[0]);
                if old.like.is_some() || new.like.is_some() {
                    continue;
                }
                // A second bound on the same side is left to the condition itself.
                let fits = (new.lower.is_none() || old.lower.is_none()) && (new.upper.is_none() || old.upper.is_none());
                if fits {
                    old.lower = old.lower.take().or_else(|| new.lower.clone());
                    old.upper = old.upper.take().or_else(|| new.upper.clone());
                    used.push(sargable);
                }
            }
            Some((kept, used)) => {
                let open = |list: &[Interval]| list.iter().filter(|i| i.lower.is_none() || i.upper.is_none()).count();
                if open(&list) < open(kept) {
                    *kept = list;
                    *used = vec![sargable];
                }
            }
        }
    }
    best.unwrap_or_default()
}

/// What one condition says about columns of the source.
fn collect(
    condition: &Expr,
    number: usize,
    source: &Source,
    table: &Table,
    known: &dyn Fn(&Expr) -> bool,
    out: &mut Vec<Sargable>,
) {
    let Some((column, range, whole)) = sargable(condition, source, table, known) else { return };
    out.push(Sargable { column, range, condition: number, whole });
}

/// The column of this source that an expression is, if an index on it orders values as the comparison does.
fn indexable(expr: &Expr, how: Comparison, source: &Source, table: &Table, equality: bool) -> Option<usize> {
    let slot = expr.as_column()?;
    let column = slot.checked_sub(source.slot_base)?;
    let ty = &table.columns.get(column)?.ty;
    let fits = match ty {
        ColumnType::Char { collation, .. }
        | ColumnType::VarChar { collation, .. }
        | ColumnType::Text { collation, .. } => how == Comparison::String(*collation),
        ColumnType::Binary { .. } | ColumnType::VarBinary { .. } | ColumnType::Blob { .. } => {
            how == Comparison::String(format::collation::CollationId::BINARY)
        }
        // Members compare as strings, but are stored in the order of their definition.
        ColumnType::Enum { collation, .. } => equality && how == Comparison::String(*collation),
        ColumnType::Set { .. } | ColumnType::Json | ColumnType::Bit { .. } => false,
        ColumnType::Date | ColumnType::DateTime { .. } | ColumnType::Timestamp { .. } => how == Comparison::DateTime,
        ColumnType::Time { .. } => how == Comparison::Time,
        _ => matches!(
            how,
            Comparison::Integer | Comparison::Decimal | Comparison::Double | Comparison::DoubleFixed { .. }
        ),
    };
    fits.then_some(column)
}

fn key(expr: &Expr) -> KeyExpr {
    KeyExpr { expr: expr.clone(), null_safe: false }
}

fn sargable(
    condition: &Expr,
    source: &Source,
    table: &Table,
    known: &dyn Fn(&Expr) -> bool,
) -> Option<(usize, PartRange, bool)> {
    let interval = |lower, upper| PartRange::Intervals(vec![Interval { lower, upper, like: None }]);
    match &condition.node {
        Node::Compare { op, how, left, right } => {
            let equality = matches!(op, BinaryOp::Equal | BinaryOp::NullSafeEqual);
            let (column, value, op) = match indexable(left, *how, source, table, equality) {
                Some(column) if known(right) => (column, right, *op),
                _ => (indexable(right, *how, source, table, equality).filter(|_| known(left))?, left, turned(*op)),
            };
            let range = match op {
                BinaryOp::Equal => PartRange::Points(vec![key(value)]),
                BinaryOp::NullSafeEqual => {
                    PartRange::Points(vec![KeyExpr { expr: (**value).clone(), null_safe: true }])
                }
                BinaryOp::Less => interval(None, Some((key(value), false))),
                BinaryOp::LessEqual => interval(None, Some((key(value), true))),
                BinaryOp::Greater => interval(Some((key(value), false)), None),
                BinaryOp::GreaterEqual => interval(Some((key(value), true)), None),
                _ => return None,
            };
            Some((column, range, true))
        }
        Node::Between { expr, low, high, hows, negated: false } => {
            let column = indexable(expr, hows[0], source, table, false)?;
            if hows[0] != hows[1] && indexable(expr, hows[1], source, table, false).is_none() {
                return None;
            }
            if !known(low) || !known(high) {
                return None;
            }
            Some((column, interval(Some((key(low), true)), Some((key(high), true))), true))
        }
        Node::In { expr, list, negated: false } => {
            let mut column = None;
            let mut points = Vec::with_capacity(list.len());
            for (how, item) in list {
                let this = indexable(expr, *how, source, table, true)?;
                if !known(item) {
                    return None;
                }
                column = Some(this);
                points.push(key(item));
            }
            Some((column?, PartRange::Points(points), true))
        }
        Node::IsNull { expr, negated: false } => {
            let slot = expr.as_column()?;
            let column = slot.checked_sub(source.slot_base).filter(|column| *column < table.columns.len())?;
            // The inner side of an outer join has NULLs that no index knows; such a condition stands behind the join.
            let null = KeyExpr { expr: Expr::null(), null_safe: true };
            Some((column, PartRange::Points(vec![null]), true))
        }
        Node::Like { expr, pattern, escape, collation, negated: false } => {
            let column = indexable(expr, Comparison::String(*collation), source, table, false)?;
            if !known(pattern) || escape.as_ref().is_some_and(|escape| !known(escape)) {
                return None;
            }
            let like = Some(((**pattern).clone(), escape.as_ref().map(|escape| (**escape).clone())));
            Some((column, PartRange::Intervals(vec![Interval { lower: None, upper: None, like }]), false))
        }
        Node::Or(left, right) => {
            let (column, one, one_whole) = sargable(left, source, table, known)?;
            let (other, two, two_whole) = sargable(right, source, table, known)?;
            if column != other {
                return None;
            }
            let whole = one_whole && two_whole;
            if let (PartRange::Points(a), PartRange::Points(b)) = (&one, &two) {
                return Some((column, PartRange::Points(a.iter().chain(b).cloned().collect()), whole));
            }
            let mut all = intervals(one);
            all.extend(intervals(two));
            Some((column, PartRange::Intervals(all), whole))
        }
        // Inside OR: (a >= 1 AND a < 5) OR ...
        Node::And(left, right) => {
            let mut found = Vec::new();
            collect(left, 0, source, table, known, &mut found);
            collect(right, 0, source, table, known, &mut found);
            let first = found.first()?.column;
            let mine: Vec<&Sargable> = found.iter().filter(|s| s.column == first).collect();
            let (merged, used) = merge(&mine);
            let whole = found.len() == 2 && used.len() == 2 && used.iter().all(|s| s.whole);
            Some((first, PartRange::Intervals(merged), whole))
        }
        _ => None,
    }
}

fn intervals(range: PartRange) -> Vec<Interval> {
    match range {
        PartRange::Intervals(list) => list,
        PartRange::Points(points) => points
            .into_iter()
            .map(|key| Interval { lower: Some((key.clone(), true)), upper: Some((key, true)), like: None })
            .collect(),
    }
}

/// The comparison with its sides exchanged.
fn turned(op: BinaryOp) -> BinaryOp {
    match op {
        BinaryOp::Less => BinaryOp::Greater,
        BinaryOp::LessEqual => BinaryOp::GreaterEqual,
        BinaryOp::Greater => BinaryOp::Less,
        BinaryOp::GreaterEqual => BinaryOp::LessEqual,
        other => other,
    }
}
