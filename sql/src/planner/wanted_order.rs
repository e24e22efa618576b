//! Orders that an index yields: ORDER BY without a sort, MIN and MAX from an end of an index.

use format::value::Value;
use storage::Table;

use super::access::{Access, like_part};
use super::fulltext::slot_of;
use super::logical::Nest;
use super::range::PartRange;
use super::{SelectPlan, SourceKind, Step};
use crate::expression::{Comparison, Node};
use crate::parser::ast::{AggregateFunction, BinaryOp};

/// The order that a query of one table would like to read in.
pub struct WantedOrder {
    /// (slot, descending)
    columns: Vec<(usize, bool)>,
    pub limit: Option<f64>,
    /// Slots that WHERE makes equal to a constant: they do not count in an order.
    constant: Vec<usize>,
    /// MIN or MAX alone: the first row that is not NULL settles it.
    extreme: bool,
}

impl WantedOrder {
    pub fn of(plan: &SelectPlan, root: &Nest) -> Option<WantedOrder> {
        let constant: Vec<usize> = root
            .conditions
            .iter()
            .filter_map(|condition| match &condition.node {
                Node::Compare { op: BinaryOp::Equal, left, right, how }
                    if !matches!(how, Comparison::Double | Comparison::DoubleFixed { .. }) =>
                {
                    match (left.as_column(), right.as_column()) {
                        (Some(slot), None) if right.is_constant() => Some(slot),
                        (None, Some(slot)) if left.is_constant() => Some(slot),
                        _ => None,
                    }
                }
                _ => None,
            })
            .collect();
        if let Some(group) = &plan.group {
            // MIN(column) or MAX(column) as the only aggregate of an ungrouped query.
            let [call] = &group.aggregates[..] else { return None };
            let descending = match call.function {
                AggregateFunction::Min => false,
                AggregateFunction::Max => true,
                _ => return None,
            };
            let one_table =
                plan.windows.is_none() && plan.sources.len() == 1 && group.keys.is_empty() && group.kept.is_empty();
            let slot = call.args.first()?.as_column()?;
            let plain = matches!(call.args[0].node, Node::Column(_));
            return (one_table && plain).then(|| WantedOrder {
                columns: vec![(slot, descending)],
                limit: Some(1.0),
                constant,
                extreme: true,
            });
        }
        // Window functions sort as they need.
        if plan.order.is_empty() || plan.distinct || plan.windows.is_some() {
            return None;
        }
        let mut columns = Vec::new();
        for (expr, descending) in &plan.order {
            if expr.is_constant() {
                continue;
            }
            // ENUM and SET sort by their names' numbers in MySQL, and so do their stored bytes.
            columns.push((expr.as_column()?, *descending));
        }
        let limit = match &plan.limit {
            Some(limit) if !plan.calc_found_rows => Some(match &limit.count.node {
                Node::Constant(Value::Int(count)) => *count as f64,
                Node::Constant(Value::UInt(count)) => *count as f64,
                _ => 20.0,
            }),
            _ => None,
        };
        Some(WantedOrder { columns, limit, constant, extreme: false })
    }

    /// Whether an access yields the order: Some(reverse).
    pub fn direction(&self, table: &Table, slot_base: usize, access: &Access, fixed_parts: usize) -> Option<bool> {
        let (index, fixed) = match access {
            Access::Scan { index, .. } => (*index, 0),
            Access::Range { index, .. } => (*index, fixed_parts),
            Access::Point { .. } => return Some(false),
            Access::Rows | Access::Fulltext(_) | Access::Elements(_) | Access::Merge(_) => return None,
        };
        let index = &table.indexes[index];
        if let Access::Range { parts, .. } = access {
            // Several points in front of the order: each is in order, together they are not; but the points themselves
            // are.
            let several = parts.iter().position(|part| matches!(part, PartRange::Points(points) if points.len() > 1));
            if several.is_some_and(|at| at < fixed) {
                return None;
            }
        }
        // A scan of what follows a LIKE's beginning has its direction.
        let mut direction = match access {
            Access::Range { parts, .. } => like_part(parts).map(|at| index.parts[at].order.descends()),
            _ => None,
        };
        let mut wanted = self.columns.iter().filter(|(slot, _)| !self.constant.contains(slot)).peekable();
        // The clustered key follows the parts of a secondary index.
        let clustered = table.indexes[0].parts.iter().filter(|_| !index.clustered);
        let parts = index.parts.iter().chain(clustered).enumerate();
        for (at, part) in parts {
            let Some(&&(slot, descending)) = wanted.peek() else { break };
            if part.prefix_chars.is_some() {
                break;
            }
            if slot == slot_base + part.column {
                let backward = descending != part.order.descends();
                if direction.is_some_and(|direction| direction != backward) {
                    return None;
                }
                direction = Some(backward);
                wanted.next();
            } else if at >= fixed && !self.constant.contains(&(slot_base + part.column)) {
                return None;
            }
        }
        if wanted.peek().is_some() {
            return None;
        }
        Some(direction.unwrap_or(false))
    }
}

/// Uses the order of the first step, if it is the one that is wanted.
pub fn settle_order(plan: &mut SelectPlan, steps: &mut [Step], wanted: &WantedOrder) {
    // With several tables the first one's order is the result's only if no other table stands before it.
    let Some(Step::Table(step)) = steps.first_mut() else { return };
    let source = &plan.sources[step.source];
    let SourceKind::Table(table) = &source.kind else { return };
    let fixed = match &step.access {
        Access::Range { parts, .. } => {
            parts.iter().take_while(|part| matches!(part, PartRange::Points(points) if points.len() == 1)).count()
        }
        _ => 0,
    };
    let slots = source.slot_base..source.slot_base + source.columns.len();
    if wanted.columns.iter().any(|(slot, _)| !slots.contains(slot)) {
        return;
    }
    let Some(backward) = wanted.direction(table, source.slot_base, &step.access, fixed) else { return };
    if let Access::Point { .. } = step.access
        && plan.sources.len() > 1
        && wanted.extreme
    {
        return;
    }
    match &mut step.access {
        Access::Scan { reverse, .. } | Access::Range { reverse, .. } => *reverse = backward,
        _ => {}
    }
    if wanted.extreme {
        if let Some(group) = &mut plan.group {
            group.first_row_settles = true;
        }
    } else {
        plan.order.clear();
        plan.order_by_index = true;
    }
}

/// ORDER BY MATCH ... DESC is the order in which the rows of that search come.
pub fn settle_relevance(plan: &mut SelectPlan, steps: &[Step]) {
    let Some(Step::Table(step)) = steps.first() else { return };
    let Access::Fulltext(access) = &step.access else { return };
    let [(expr, true)] = &plan.order[..] else { return };
    let Node::Match { search, args } = &expr.node else { return };
    let source = &plan.sources[step.source];
    let own = source.slot_base..source.slot_base + source.columns.len();
    let is_own = args.iter().filter_map(slot_of).all(|slot| own.contains(&slot));
    let is_same = *search == access.search && args.last() == Some(&access.against) && is_own;
    // Below 0 come the rows that are found in spite of `~`, and rows that are not found are not here.
    if is_same && plan.group.is_none() && plan.windows.is_none() && !plan.distinct {
        plan.order.clear();
        plan.order_by_index = true;
    }
}
