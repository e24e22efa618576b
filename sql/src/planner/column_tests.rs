//! Conditions that a scan decides by the stored bytes of a column, see [`storage::RowFilter`].
//!
//! ```text
//! shipped < ? AND brand <> 'Brand#45' AND size IN (1, 2) AND name LIKE '%x%'
//! tests      shipped in [.., ?)    brand not in ['Brand#45']    size in [1], [2]
//! filters    name LIKE '%x%'
//! ```
//!
//! They are those that an index on the column would answer, and their negations. As with an index, what a value cannot be
//! converted to when the plan runs leaves the condition to be evaluated on every row. Of a condition with OR, what all of its
//! alternatives say about one column is tested before it:
//!
//! ```text
//! brand = 'A' AND size < 5 OR brand = 'B' AND size < 9         brand in ['A'], ['B']    size in [.., 5), [.., 9)
//! ```

use std::ops::Bound;

use format::record::Compare;
use storage::schema::Interval as StoredInterval;
use storage::{ColumnTest, RowFilter, Table};

use super::keys::{Conversion, convert};
use super::logical::is_volatile;
use super::range::{Interval, KeyExpr, PartRange};
use super::{Filter, Source, sargable};
use crate::expression::{EvalContext, Expr, NoFields, Node, Warnings};
use crate::parser::ast::BinaryOp;

/// More values than these are found by hash.
const VALUES_MAX: usize = 16;
/// Fewer rows are not worth the conversion of the values.
pub const ROWS_MIN: f64 = 8.0;

/// A condition on a column and constants.
#[derive(Debug)]
pub struct TestPlan {
    /// Which of the step's filters it decides, if it does.
    filter: Option<usize>,
    column: usize,
    range: PartRange,
    negated: bool,
}

/// The tests among the conditions of a step, up to the first one whose evaluations can be told apart.
///
/// `known` tells of an expression whether it is the same for all rows.
pub fn of(filters: &[Filter], source: &Source, known: &dyn Fn(&Expr) -> bool) -> Vec<TestPlan> {
    let Some(table) = source.table() else { return Vec::new() };
    let scope = Scope { source, table, known };
    let filters = filters.iter().enumerate().take(u64::BITS as usize);
    let steady = filters.take_while(|(_, filter)| !is_volatile(&filter.expr));
    let candidates = steady.filter(|(_, filter)| filter.is_local && !filter.answered);
    let mut tests = Vec::new();
    for (number, filter) in candidates {
        match scope.test(number, &filter.expr) {
            Some(test) => tests.push(test),
            None => scope.implied(&filter.expr, &mut tests),
        }
    }
    tests
}

/// The table whose columns are tested.
struct Scope<'s> {
    source: &'s Source,
    table: &'s Table,
    known: &'s dyn Fn(&Expr) -> bool,
}

impl Scope<'_> {
    fn whole(&self, condition: &Expr) -> Option<(usize, PartRange)> {
        sargable::whole(condition, self.source, self.table, self.known)
    }

    /// The test that is a condition.
    fn test(&self, filter: usize, condition: &Expr) -> Option<TestPlan> {
        let positive = positive(condition);
        let negated = positive.is_some();
        let (column, range) = self.whole(positive.as_ref().unwrap_or(condition))?;
        self.is_usable(column, &range).then_some(TestPlan { filter: Some(filter), column, range, negated })
    }

    /// What all alternatives of a condition say about single columns.
    fn implied(&self, condition: &Expr, out: &mut Vec<TestPlan>) {
        if !matches!(condition.node, Node::Or(..)) {
            return;
        }
        let mut columns = Vec::new();
        condition.for_each_column(&mut |slot| {
            if let Some(column) = slot.checked_sub(self.source.slot_base).filter(|column| !columns.contains(column)) {
                columns.push(column);
            }
        });
        for column in columns {
            if let Some(intervals) = self.intervals_of(condition, column) {
                let range = PartRange::Intervals(intervals);
                if self.is_usable(column, &range) {
                    out.push(TestPlan { filter: None, column, range, negated: false });
                }
            }
        }
    }

    /// Intervals in which a column lies where a condition is true.
    fn intervals_of(&self, condition: &Expr, column: usize) -> Option<Vec<Interval>> {
        match &condition.node {
            Node::Or(left, right) => {
                let mut all = self.intervals_of(left, column)?;
                all.extend(self.intervals_of(right, column)?);
                Some(all)
            }
            Node::And(left, right) => {
                // Two sides of one interval are one.
                let of_all = self.whole(condition);
                let of_all = of_all.filter(|(of, _)| *of == column).map(|(_, range)| range.into_intervals());
                of_all.or_else(|| self.intervals_of(left, column)).or_else(|| self.intervals_of(right, column))
            }
            _ => {
                let (of, range) = self.whole(condition)?;
                (of == column).then(|| range.into_intervals())
            }
        }
    }

    fn is_usable(&self, column: usize, range: &PartRange) -> bool {
        let is_null_safe = |key: &KeyExpr| key.null_safe;
        let is_short = match range {
            PartRange::Points(points) => points.len() <= VALUES_MAX && !points.iter().any(is_null_safe),
            PartRange::Intervals(list) => {
                let mut bounds = list.iter().flat_map(|interval| [&interval.lower, &interval.upper]).flatten();
                list.len() <= VALUES_MAX && !bounds.any(|(key, _)| is_null_safe(key))
            }
        };
        let is_number = matches!(self.table.columns[column].ty.layout(false).compare, Compare::Float | Compare::Double);
        is_short && !is_number
    }
}

/// What a condition is the negation of.
fn positive(condition: &Expr) -> Option<Expr> {
    let mut positive = condition.clone();
    match &mut positive.node {
        Node::Compare { op, .. } if *op == BinaryOp::NotEqual => *op = BinaryOp::Equal,
        Node::In { negated, .. } | Node::Between { negated, .. } if *negated => *negated = false,
        _ => return None,
    }
    Some(positive)
}

/// The filter of an execution, and which of the step's conditions it decides.
pub fn build(plans: &[TestPlan], table: &Table, context: &EvalContext<'_>) -> (RowFilter, u64) {
    let (mut tests, mut decided) = (Vec::new(), 0);
    for plan in plans {
        if let Some(intervals) = intervals(plan, table, context) {
            let layout = table.columns[plan.column].ty.layout(false);
            tests.push(ColumnTest::new(plan.column, layout, intervals, plan.negated));
            decided |= plan.filter.map_or(0, |filter| 1 << filter);
        }
    }
    (RowFilter::new(tests), decided)
}

/// The intervals that a condition, or what it negates, leaves. None: the condition itself has to be evaluated.
fn intervals(plan: &TestPlan, table: &Table, context: &EvalContext<'_>) -> Option<Vec<StoredInterval>> {
    let mut out = Vec::new();
    match &plan.range {
        PartRange::Points(points) => {
            for point in points {
                match value(point, plan, table, context)? {
                    (Conversion::Exact, bytes) => out.push((Bound::Included(bytes.clone()), Bound::Included(bytes))),
                    // Whatever is not in a list with NULL may be equal to it.
                    (Conversion::Null, _) if plan.negated => return Some(vec![(Bound::Unbounded, Bound::Unbounded)]),
                    _ => {}
                }
            }
        }
        PartRange::Intervals(list) => {
            for interval in list {
                match bounds(interval, plan, table, context)? {
                    Some(interval) => out.push(interval),
                    // NOT BETWEEN may be true of NULL and a value.
                    None if plan.negated => return None,
                    None => {}
                }
            }
        }
    }
    Some(out)
}

/// Some(None): nothing lies between them.
fn bounds(
    interval: &Interval,
    plan: &TestPlan,
    table: &Table,
    context: &EvalContext<'_>,
) -> Option<Option<StoredInterval>> {
    let (mut lower, mut upper) = (Bound::Unbounded, Bound::Unbounded);
    if let Some((key, included)) = &interval.lower {
        lower = match value(key, plan, table, context)? {
            (Conversion::Exact, bytes) if *included => Bound::Included(bytes),
            (Conversion::Exact | Conversion::Floor, bytes) => Bound::Excluded(bytes),
            (Conversion::BelowAll, _) => Bound::Unbounded,
            _ => return Some(None),
        };
    }
    if let Some((key, included)) = &interval.upper {
        upper = match value(key, plan, table, context)? {
            (Conversion::Exact, bytes) if !*included => Bound::Excluded(bytes),
            (Conversion::Exact | Conversion::Floor, bytes) => Bound::Included(bytes),
            (Conversion::AboveAll, _) => Bound::Unbounded,
            _ => return Some(None),
        };
    }
    Some(Some((lower, upper)))
}

/// A value as stored bytes of the column. None: it has none that compare as it does, or is not to be had in silence.
fn value(key: &KeyExpr, plan: &TestPlan, table: &Table, context: &EvalContext<'_>) -> Option<(Conversion, Box<[u8]>)> {
    let unheard = Warnings::default();
    let quiet = EvalContext { warnings: &unheard, ..*context };
    let value = key.expr.eval(&quiet, &NoFields).ok()?;
    let mut bytes = Vec::new();
    let conversion = convert(&value, &table.columns[plan.column].ty, context.zone, &mut bytes);
    (conversion != Conversion::Unusable && unheard.count() == 0).then(|| (conversion, bytes.into()))
}
