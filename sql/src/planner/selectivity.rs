//! The share of a table's rows that conditions are expected to let through, where no index tells.
//!
//! A histogram knows the share of a condition that compares its column with values that are known now: such a condition
//! is turned into ranges as for an index, and the histogram has the shares of those. Several conditions on one column are
//! one set of ranges (`a >= 1 AND a < 5`); those on different columns are taken to be independent of each other.
//!
//! Without a histogram shares are guesses, MySQL's where it has some: 10 % for an equality, a third for a comparison, a
//! ninth for BETWEEN. EXPLAIN shows the product as `filtered`.

use std::sync::Arc;

use format::value::Json;
use storage::schema::Histogram as Stored;
use storage::{IndexPart, Table};

use super::keys::KeyRanges;
use super::range::{PartRange, is_known_now};
use super::sargable::{Sargable, collect, merge};
use super::{PlanContext, Source};
use crate::expression::{Expr, NoFields, Node};
use crate::histograms::{Histogram, careful};
use crate::parser::ast::BinaryOp;

const EQUAL: f64 = 0.1;
const INTERVAL: f64 = 1.0 / 3.0;
const CLOSED_INTERVAL: f64 = 1.0 / 9.0;
const UNKNOWN: f64 = 0.5;

/// The histogram of a column as it is read, once; None inside: it says nothing.
fn histogram(table: &Table, stored: &Stored) -> Option<(usize, Arc<Option<Histogram>>)> {
    let column = table.column(&stored.column)?;
    let ty = &table.columns[column].ty;
    let read = || {
        let document = Json::decode(&stored.bytes).ok()?;
        Histogram::from_json(&document, ty, None).filter(|histogram| !histogram.is_empty())
    };
    Some((column, stored.derived.get_or_init(read)))
}

/// About how many values a column has, if its histogram tells.
pub fn distinct_values(source: &Source, column: usize) -> Option<f64> {
    let table = source.table()?;
    let stored = table.state.statistics.histogram(&table.columns.get(column)?.name)?;
    let (_, histogram) = histogram(table, &stored)?;
    Some((*histogram).as_ref()?.distinct())
}

/// The share of all these conditions, which are evaluated on rows of one table.
pub fn share<'e>(context: &PlanContext<'_>, source: &Source, conditions: impl Iterator<Item = &'e Expr>) -> f64 {
    let estimator = Estimator::of(context, source);
    let conditions: Vec<&Expr> = conditions.collect();
    estimator.all(&conditions)
}

/// What tells shares of conditions on one table.
struct Estimator<'a, 'c> {
    context: &'a PlanContext<'c>,
    source: &'a Source,
    table: Option<&'a Arc<Table>>,
    histograms: Vec<(usize, Arc<Option<Histogram>>)>,
}

impl<'a, 'c> Estimator<'a, 'c> {
    fn of(context: &'a PlanContext<'c>, source: &'a Source) -> Estimator<'a, 'c> {
        let table = source.table();
        let read = |table: &Arc<Table>| {
            let all = table.state.statistics.histograms();
            all.iter().filter_map(|stored| histogram(table, stored)).collect()
        };
        Estimator { context, source, table, histograms: table.map_or(Vec::new(), read) }
    }

    fn all(&self, conditions: &[&Expr]) -> f64 {
        let mut counted = vec![false; conditions.len()];
        let mut share = 1.0;
        for (column, histogram) in &self.histograms {
            let (Some(table), Some(histogram)) = (self.table, (**histogram).as_ref()) else { continue };
            let found = self.sargables(conditions, table, *column);
            let mine: Vec<&Sargable> = found.iter().collect();
            let (range, used) = match &mine[..] {
                [] => continue,
                [one] => (one.range.clone(), mine.clone()),
                _ => {
                    let (intervals, used) = merge(&mine);
                    (PartRange::Intervals(intervals), used)
                }
            };
            if let Some(own) = self.share_of(table, *column, histogram, range) {
                share *= careful(own);
                used.iter().for_each(|sargable| counted[sargable.condition] = true);
            }
        }
        let left = conditions.iter().zip(&counted).filter(|(_, counted)| !**counted);
        left.fold(share, |share, (condition, _)| share * self.one(condition, conditions.len() > 1))
    }

    /// What conditions say of a column, as far as they say nothing else.
    fn sargables(&self, conditions: &[&Expr], table: &Arc<Table>, column: usize) -> Vec<Sargable> {
        let known = |expr: &Expr| is_known_now(self.context, expr);
        let mut found = Vec::new();
        for (at, condition) in conditions.iter().enumerate() {
            collect(condition, at, self.source, table, &known, &mut found);
        }
        let is_like = |sargable: &Sargable| matches!(conditions[sargable.condition].node, Node::Like { .. });
        found.retain(|sargable| sargable.column == column && (sargable.whole || is_like(sargable)));
        found
    }

    fn share_of(&self, table: &Table, column: usize, histogram: &Histogram, range: PartRange) -> Option<f64> {
        let ty = &table.columns[column].ty;
        let mut ranges = KeyRanges::default();
        let part = IndexPart::new(column);
        ranges.build_over(&table.columns, &[part], &[range], self.context.eval, &NoFields).ok()?;
        if let Some((_, beginning)) = ranges.stop_prefix(false) {
            return Some(histogram.share_of_beginning(ty, beginning));
        }
        let one = |at: usize| ranges.with_range(at, false, |range| histogram.share(ty, range));
        ranges.exact.then(|| (0..ranges.len()).map(one).sum())
    }

    /// A condition of which the histograms do not tell as it is; `is_part`: they were asked for several together.
    fn one(&self, condition: &Expr, is_part: bool) -> f64 {
        match &condition.node {
            Node::And(left, right) => self.all(&[left, right]),
            Node::Or(left, right) => {
                let (left, right) = (self.all(&[left]), self.all(&[right]));
                left + right - left * right
            }
            Node::Not(condition) => 1.0 - self.all(&[condition]),
            _ if is_part => self.all(&[condition]),
            _ => match affirmed(condition) {
                Some(affirmed) => self.negated(&affirmed),
                None => guess(condition),
            },
        }
    }

    /// The share of the rows for which a condition is false.
    fn negated(&self, affirmed: &Expr) -> f64 {
        for (column, histogram) in &self.histograms {
            let (Some(table), Some(histogram)) = (self.table, (**histogram).as_ref()) else { continue };
            let Some(sargable) = self.sargables(&[affirmed], table, *column).pop() else { continue };
            if let Some(share) = self.share_of(table, *column, histogram, sargable.range) {
                // It is unknown for NULL.
                let is_null = matches!(affirmed.node, Node::IsNull { .. });
                let nulls = if is_null { 0.0 } else { histogram.nulls() };
                return careful(1.0 - share - nulls);
            }
        }
        1.0 - guess(affirmed)
    }
}

/// What a negated condition negates.
fn affirmed(condition: &Expr) -> Option<Expr> {
    let mut affirmed = condition.clone();
    match &mut affirmed.node {
        Node::Compare { op: op @ BinaryOp::NotEqual, .. } => *op = BinaryOp::Equal,
        Node::Between { negated, .. }
        | Node::In { negated, .. }
        | Node::Like { negated, .. }
        | Node::IsNull { negated, .. }
            if *negated =>
        {
            *negated = false;
        }
        _ => return None,
    }
    Some(affirmed)
}

/// The share of a condition of which nothing is known.
fn guess(condition: &Expr) -> f64 {
    match &condition.node {
        Node::Compare { op: BinaryOp::Equal | BinaryOp::NullSafeEqual, .. } => EQUAL,
        Node::Compare { .. } => INTERVAL,
        Node::Between { .. } | Node::Like { .. } => CLOSED_INTERVAL,
        Node::In { list, .. } => (EQUAL * list.len() as f64).min(UNKNOWN),
        Node::IsNull { .. } => EQUAL,
        _ => UNKNOWN,
    }
}
