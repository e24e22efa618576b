//! Conditions on the rows of a derived table, evaluated where these are made.
//!
//! ```text
//! FROM (SELECT a, SUM(b) AS s FROM t GROUP BY a) d WHERE d.a = 5 AND d.s > 7
//! FROM (SELECT a, SUM(b) AS s FROM t WHERE a = 5 GROUP BY a HAVING SUM(b) > 7) d
//! ```
//!
//! Behind a grouping a condition on the columns grouped by is evaluated before it: but rows of one group may differ in
//! what a collation ignores, so strings must be compared by the collation by which they are grouped. So it is with
//! DISTINCT.

use crate::expression::{Comparison, Expr, Node};
use crate::parser::ast::SetOperator;
use crate::planner::WindowCall;
use crate::planner::logical::{Block, Mask, Nest, Query, Source, Union, is_volatile, reads};
use crate::types::Kind;

/// Pushes the conditions of a block into those of the queries that it reads which `is_wanted` names.
pub fn into_sources(parameter_count: usize, is_wanted: &dyn Fn(&Source) -> bool, block: &mut Block) {
    let mut from = std::mem::take(&mut block.from);
    into_nest(parameter_count, is_wanted, block, &mut from);
    block.from = from;
}

fn into_nest(parameter_count: usize, is_wanted: &dyn Fn(&Source) -> bool, block: &mut Block, nest: &mut Nest) {
    for table in nest.tables.clone() {
        let base = block.sources[table].slot_base;
        if block.sources[table].own_query().is_none() || !is_wanted(&block.sources[table]) {
            continue;
        }
        let mut conditions = Vec::with_capacity(nest.conditions.len());
        for condition in std::mem::take(&mut nest.conditions) {
            let is_own = reads_only(block, &condition, 1 << table) && is_closed(&condition, parameter_count);
            let is_pushed = is_own
                && block.sources[table].own_query().is_some_and(|query| {
                    let fits = accepts(query, &condition, base);
                    if fits {
                        push(query, &condition, base);
                    }
                    fits
                });
            if !is_pushed {
                conditions.push(condition);
            }
        }
        nest.conditions = conditions;
    }
    nest.lefts.iter_mut().for_each(|left| into_nest(parameter_count, is_wanted, block, &mut left.nest));
    nest.semis.iter_mut().for_each(|semi| into_nest(parameter_count, is_wanted, block, &mut semi.nest));
}

fn reads_only(block: &Block, condition: &Expr, mask: Mask) -> bool {
    reads(condition, &block.slots, &|query| &block.subqueries[query].outer) == mask
}

/// Whether a condition is the same wherever it is evaluated: a derived table sees nothing of the queries around it.
fn is_closed(condition: &Expr, parameter_count: usize) -> bool {
    let mut is_closed = !is_volatile(condition);
    condition.walk(&mut |expr| {
        is_closed &= expr.subquery().is_none();
        is_closed &= !matches!(expr.node, Node::Parameter(at) if at >= parameter_count);
    });
    is_closed
}

/// Whether a query can have a condition on its rows inside.
fn accepts(query: &Query, condition: &Expr, base: usize) -> bool {
    match query {
        Query::Block(block) => accepts_block(block, condition, base),
        Query::Union(union) => accepts_union(union, condition, base),
        // What the next round is made of is not what is asked for.
        Query::Recursive(_) | Query::Working(_) => false,
    }
}

fn accepts_block(block: &Block, condition: &Expr, base: usize) -> bool {
    if block.limit.is_some() || block.calc_found_rows || block.sources.is_empty() {
        return false;
    }
    // A user variable is set for all rows, also for those that the condition leaves out: people number rows so.
    let mut is_movable = true;
    block.for_each_expr(&mut |expr| {
        expr.walk(&mut |expr| is_movable &= !matches!(expr.node, Node::AssignVariable(..)));
    });
    condition.for_each_column(&mut |slot| {
        let selected = &block.output[slot - base];
        is_movable &= !is_volatile(selected);
        selected.walk(&mut |expr| is_movable &= expr.subquery().is_none());
    });
    // Whole partitions are left out, or none of their rows.
    condition.for_each_column(&mut |slot| {
        let selected = &block.output[slot - base];
        let parts = |window: &WindowCall| window.partition.iter().any(|part| part.node == selected.node);
        is_movable &= block.windows.iter().all(parts);
    });
    let is_alike = block.windows.is_empty() && !block.distinct || is_alike_for_equals(condition);
    is_movable && is_alike
}

fn accepts_union(union: &Union, condition: &Expr, base: usize) -> bool {
    let compares_rows = union.links.iter().any(|link| !link.all || link.operator != SetOperator::Union);
    if union.limit.is_some() || compares_rows && !is_alike_for_equals(condition) {
        return false;
    }
    let has_type = |part: &Query| {
        let mut has_type = true;
        condition.for_each_column(&mut |slot| {
            let (own, of_union) = (&part.columns()[slot - base], &union.columns[slot - base]);
            has_type &= own.column_type == of_union.column_type && own.ty.kind == of_union.ty.kind;
        });
        has_type
    };
    union.parts.iter().all(|part| has_type(part) && accepts(part, condition, base))
}

fn push(query: &mut Query, condition: &Expr, base: usize) {
    match query {
        Query::Union(union) => union.parts.iter_mut().for_each(|part| push(part, condition, base)),
        Query::Recursive(_) | Query::Working(_) => {}
        Query::Block(block) => {
            let is_before_groups = match &block.group {
                None => block.having.is_none(),
                Some(group) => {
                    let mut is_key = !group.keys.is_empty() && is_alike_for_equals(condition);
                    condition.for_each_column(&mut |slot| {
                        let selected = &block.output[slot - base];
                        is_key &= matches!(selected.node, Node::Column(_))
                            && group.keys.iter().any(|key| key.node == selected.node);
                    });
                    is_key
                }
            };
            let output = &block.output;
            let mut moved = condition.clone();
            moved.walk_mut(&mut |expr| {
                let Some(slot) = expr.as_column_mut() else { return false };
                let selected = &output[*slot - base];
                match selected.as_column() {
                    Some(inner) => *slot = inner,
                    None => expr.node = Node::Fitted(Box::new(selected.clone())),
                }
                true
            });
            if is_before_groups {
                block.from.conditions.push(moved);
            } else {
                block.having = Some(match block.having.take() {
                    None => moved,
                    Some(having) => {
                        let ty = having.ty.nullable(having.ty.nullable || moved.ty.nullable);
                        Expr { node: Node::And(Box::new(having), Box::new(moved)), ty }
                    }
                });
            }
        }
    }
}

/// Whether a condition is true of all or none of some values that are equal as GROUP BY and DISTINCT see them.
fn is_alike_for_equals(condition: &Expr) -> bool {
    let is_exact = |expr: &Expr| {
        expr.ty.is_integer() || matches!(expr.ty.kind, Kind::Date | Kind::DateTime | Kind::Timestamp | Kind::Time)
    };
    let by_collation = |how: &Comparison, expr: &Expr| {
        matches!(expr.node, Node::Column(_)) && *how == Comparison::String(expr.ty.collation)
    };
    let is_plain = match &condition.node {
        Node::Compare { how, left, right, .. } => {
            let one = |column: &Expr, other: &Expr| by_collation(how, column) && other.is_constant();
            one(left, right) || one(right, left)
        }
        Node::In { expr, list, .. } => list.iter().all(|(how, item)| by_collation(how, expr) && item.is_constant()),
        Node::Between { expr, low, high, hows, .. } => {
            hows.iter().all(|how| by_collation(how, expr)) && low.is_constant() && high.is_constant()
        }
        Node::IsNull { expr, .. } => matches!(expr.node, Node::Column(_)),
        _ => false,
    };
    let mut all_exact = true;
    condition.walk(&mut |expr| {
        if expr.as_column().is_some() {
            all_exact &= matches!(expr.node, Node::Column(_)) && is_exact(expr);
        }
    });
    is_plain || all_exact
}
