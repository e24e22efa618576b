//! Which partitions of a table a step has to read: what the conditions say about the columns of its partitioning functions.
//!
//! The ranges are those that an index on these columns would have (see [`super::access`]): expressions, so that a plan that
//! is kept serves all values, and a table further in is pruned for each row of the tables before it.

use storage::{IndexPart, Table};

use super::keys::KeyRanges;
use super::range::{KeyExpr, PartRange};
use super::sargable::{Sargable, collect, merge};
use super::{Source, SourceKind};
use crate::error::Result;
use crate::expression::{EvalContext, Expr, Fields, Node};
use crate::partitions::rows::Division;
use crate::partitions::{Function, PartitionSet, VisitRange};

/// How many points a list of conditions may be multiplied out to.
const POINTS_MAX: usize = 1000;

/// Ranges of the columns of a table's partitioning functions.
#[derive(Debug)]
pub struct Pruning {
    upper: Option<Ranges>,
    lower: Option<Ranges>,
}

#[derive(Debug)]
struct Ranges {
    columns: Vec<IndexPart>,
    parts: Vec<PartRange>,
}

/// What is known of the partitions of a source before a step reads it. None: nothing is left out.
pub fn pruning(source: &Source, conditions: &[&Expr], known: &dyn Fn(&Expr) -> bool) -> Option<Box<Pruning>> {
    let (SourceKind::Table(table), Some(division)) = (&source.kind, &source.division) else { return None };
    let mut sargables = Vec::new();
    for (at, condition) in conditions.iter().enumerate() {
        collect(condition, at, source, table, known, &mut sargables);
    }
    let upper = Ranges::of(&division.routing.upper, &sargables);
    let lower = division.routing.lower.as_ref().and_then(|(function, _)| Ranges::of(function, &sargables));
    (upper.is_some() || lower.is_some()).then(|| Box::new(Pruning { upper, lower }))
}

impl Pruning {
    /// Whether all values are known without a row.
    pub fn is_constant(&self) -> bool {
        let is_known = |key: &KeyExpr| {
            let mut known = true;
            key.expr.for_each_column(&mut |_| known = false);
            key.expr.walk(&mut |expr| known &= !matches!(expr.node, Node::Parameter(_)));
            known
        };
        let bound = |bound: &Option<(KeyExpr, bool)>| bound.as_ref().is_none_or(|(key, _)| is_known(key));
        let part = |part: &PartRange| match part {
            PartRange::Points(points) => points.iter().all(is_known),
            PartRange::Intervals(intervals) => intervals
                .iter()
                .all(|interval| interval.like.is_none() && bound(&interval.lower) && bound(&interval.upper)),
        };
        self.upper.iter().chain(&self.lower).flat_map(|ranges| &ranges.parts).all(part)
    }
}

impl Ranges {
    fn of(function: &Function, sargables: &[Sargable]) -> Option<Ranges> {
        let mut parts: Vec<PartRange> = Vec::new();
        let mut points = 1;
        let columns = function.columns();
        for column in &columns {
            let mine: Vec<&Sargable> = sargables.iter().filter(|sargable| sargable.column == *column).collect();
            let lists = mine.iter().filter_map(|sargable| match &sargable.range {
                PartRange::Points(list) => Some(list),
                PartRange::Intervals(_) => None,
            });
            if let Some(list) = lists.min_by_key(|list| list.len()) {
                let list: &Vec<KeyExpr> = list;
                points *= list.len();
                if points > POINTS_MAX {
                    break;
                }
                parts.push(PartRange::Points(list.clone()));
                continue;
            }
            if !mine.is_empty() {
                parts.push(PartRange::Intervals(merge(&mine).0));
            }
            break;
        }
        let part = |column: &usize| IndexPart::new(*column);
        (!parts.is_empty()).then(|| Ranges { columns: columns.iter().map(part).collect(), parts })
    }

    fn visit(
        &self,
        table: &Table,
        context: &EvalContext<'_>,
        row: &dyn Fields,
        visit: &mut VisitRange<'_>,
    ) -> Result<()> {
        let mut ranges = KeyRanges::default();
        ranges.build_over(&table.columns, &self.columns, &self.parts, context, row)?;
        (0..ranges.len()).try_for_each(|at| ranges.with_range(at, false, |range| visit(range)))
    }
}

/// The partitions that a read of a source looks at.
pub fn partitions(
    division: &Division,
    pruning: Option<&Pruning>,
    table: &Table,
    context: &EvalContext<'_>,
    row: &dyn Fields,
) -> Result<PartitionSet> {
    let Some(pruning) = pruning else { return Ok(division.all()) };
    let upper = |visit: &mut VisitRange<'_>| match &pruning.upper {
        Some(ranges) => ranges.visit(table, context, row, visit),
        None => Ok(()),
    };
    let lower = |visit: &mut VisitRange<'_>| match &pruning.lower {
        Some(ranges) => ranges.visit(table, context, row, visit),
        None => Ok(()),
    };
    let mut set = division.routing.leaves(
        context,
        &table.columns,
        pruning.upper.as_ref().map(|_| &upper as _),
        pruning.lower.as_ref().map(|_| &lower as _),
    )?;
    if let Some(chosen) = &division.chosen {
        set.intersect(chosen);
    }
    Ok(set)
}

/// The names of the partitions that a step is known to read without running anything, for EXPLAIN.
pub fn names(table: &Table, set: &PartitionSet) -> String {
    let name = |at: usize| match &table.partitions()[at].partition {
        Some(part) => match &part.subpartition {
            Some(sub) => format!("{}_{sub}", part.name),
            None => part.name.to_string(),
        },
        None => String::new(),
    };
    set.iter().map(name).collect::<Vec<_>>().join(",")
}
