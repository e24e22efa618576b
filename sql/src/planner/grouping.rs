//! ONLY_FULL_GROUP_BY: may an expression stand beside aggregates?
//!
//! It may if it is one of GROUP BY's expressions, or made of such and of columns that
//! these determine: once a group fixes a table's primary key (or a unique key without
//! NULLs), it fixes the whole row; and `a = b` in WHERE fixes b once a is fixed.

use super::WindowCall;
use super::logical::Nest;
use super::scope::Level;
use crate::error::{Error, Result};
use crate::expression::{Expr, Node};
use crate::parser::ast::BinaryOp;

/// The slots that are grouped by.
pub fn key_slots(level: &Level<'_>, keys: &[Expr]) -> Vec<bool> {
    let mut fixed = vec![false; level.slots.len()];
    for slot in keys.iter().filter_map(Expr::as_column) {
        fixed[slot] = true;
    }
    fixed
}

/// Which slots have one value per group.
pub fn determined_slots(level: &Level<'_>, keys: &[Expr], tree: &Nest) -> Vec<bool> {
    let mut fixed = key_slots(level, keys);
    loop {
        let before = fixed.iter().filter(|fixed| **fixed).count();
        for source in &level.sources {
            let Some(table) = source.table() else { continue };
            let all_fixed = table.indexes.iter().any(|index| {
                !index.is_hidden()
                    && index.is_unique_not_null(table)
                    && index
                        .parts
                        .iter()
                        .all(|part| part.prefix_chars.is_none() && fixed[source.slot_base + part.column])
            });
            if all_fixed {
                fixed[source.slot_base..source.slot_base + source.columns.len()].fill(true);
            }
        }
        // Those of outer joins do not hold for every row.
        tree.conditions.iter().for_each(|condition| {
            if let Node::Compare { op: BinaryOp::Equal, left, right, .. } = &condition.node {
                for (one, other) in [(left, right), (right, left)] {
                    if let Some(slot) = one.as_column()
                        && is_fixed(other, &fixed)
                    {
                        fixed[slot] = true;
                    }
                }
            }
        });
        if fixed.iter().filter(|fixed| **fixed).count() == before {
            return fixed;
        }
    }
}

fn is_fixed(expr: &Expr, fixed: &[bool]) -> bool {
    let mut all = true;
    expr.for_each_column(&mut |slot| all &= fixed[slot]);
    all
}

/// The first column of an expression that has more than one value per group.
fn offender(level: &Level<'_>, expr: &Expr, keys: &[Expr], fixed: &[bool]) -> Option<usize> {
    if keys.iter().any(|key| key.node == expr.node) {
        return None;
    }
    if let Some(slot) = expr.as_column() {
        return (!fixed[slot]).then_some(slot);
    }
    if let Node::Call { function, .. } = &expr.node
        && function.name.eq_ignore_ascii_case("any_value")
    {
        return None;
    }
    let mut found = None;
    expr.for_each_child(&mut |child| {
        if found.is_none() {
            found = offender(level, child, keys, fixed);
        }
    });
    // What a subquery reads of the group's row.
    if let Node::ScalarQuery { query, .. }
    | Node::Exists { query }
    | Node::InQuery { query, .. }
    | Node::Quantified { query, .. } = &expr.node
    {
        let subqueries = level.subqueries.borrow();
        let outer = subqueries.get(*query).map(|subquery| &subquery.outer[..]).unwrap_or_default();
        found = found.or_else(|| outer.iter().find_map(|outer| offender(level, outer, keys, fixed)));
    }
    found
}

/// 1055, or 1140 where there is no GROUP BY.
pub fn check(
    level: &Level<'_>,
    keys: &[Expr],
    fixed: &[bool],
    outputs: &[&Expr],
    having: Option<&Expr>,
    order: &[(Expr, bool)],
    windows: &[WindowCall],
) -> Result<()> {
    // Of window functions, what these read.
    let offender = |level: &Level<'_>, expr: &Expr, keys: &[Expr], fixed: &[bool]| {
        let mut found = offender(level, expr, keys, fixed);
        expr.walk(&mut |part| {
            if let Node::Window(at) = part.node {
                windows[at].for_each_expr(&mut |expr| found = found.or_else(|| offender(level, expr, keys, fixed)));
            }
        });
        found
    };
    let name = |slot: usize| {
        let (source, column) = level.slots[slot];
        let source = &level.sources[source as usize];
        format!("{}.{}.{}", source.database, source.alias, source.columns[column as usize].name)
    };
    for (at, expr) in outputs.iter().enumerate() {
        if let Some(slot) = offender(level, expr, keys, fixed) {
            return Err(if keys.is_empty() {
                Error::mix_of_group_function(at + 1, &name(slot))
            } else {
                Error::not_in_group_by(at + 1, "SELECT list", &name(slot))
            });
        }
    }
    if let Some(slot) = having.and_then(|having| offender(level, having, keys, fixed)) {
        return Err(Error::not_in_group_by(1, "HAVING clause", &name(slot)));
    }
    for (at, (expr, _)) in order.iter().enumerate() {
        let mut aggregates = false;
        expr.walk(&mut |expr| aggregates |= matches!(expr.node, Node::Aggregate(_)));
        if keys.is_empty() && !aggregates {
            continue; // One row needs no order.
        }
        if let Some(slot) = offender(level, expr, keys, fixed) {
            if keys.is_empty() {
                return Err(Error::mix_of_group_function(outputs.len() + at + 1, &name(slot)));
            }
            return Err(Error::not_in_group_by(at + 1, "ORDER BY clause", &name(slot)));
        }
    }
    Ok(())
}
