//! ONLY_FULL_GROUP_BY: may an expression stand beside aggregates?
//!
//! It may if it is one of GROUP BY's expressions, or made of such and of columns that these determine:
//!
//! * Once a group fixes a table's primary key (or a unique key without NULLs), it fixes the whole row. A column that
//!   WHERE lets be no NULL counts as one that has none.
//! * Columns fix the generated columns that are computed from them; but beside an outer join that finds nothing these are
//!   NULL whatever they are computed from.
//! * `a = b` in WHERE and in the conditions of inner joins fixes b once a is fixed.
//! * In `t1 LEFT JOIN t2 ON t2.c = t1.a` the same holds once all is fixed that the condition reads of t1: then all rows of
//!   a group find the same, or all find nothing.
//! * A derived table or a view has the dependencies of its query; the keys of its GROUP BY fix its row.

use storage::Table;

use super::logical::{Nest, Query, Source, is_volatile};
use super::scope::Level;
use super::{SourceKind, WindowCall};
use crate::error::{Error, Result};
use crate::expression::stored_value::bind_to_columns;
use crate::expression::{EvalContext, Expr, Node};
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
pub fn determined_slots(eval: &EvalContext<'_>, level: &Level<'_>, keys: &[Expr], tree: &Nest) -> Vec<bool> {
    let mut fixed = key_slots(level, keys);
    close(eval, &level.sources, &level.slots, tree, &mut fixed);
    fixed
}

/// Marks what the marked slots determine.
fn close(eval: &EvalContext<'_>, sources: &[Source], slots: &[(u16, u16)], tree: &Nest, fixed: &mut [bool]) {
    let mut has_value = vec![false; fixed.len()];
    not_null(&tree.conditions, &mut has_value);
    loop {
        let before = fixed.iter().filter(|fixed| **fixed).count();
        for source in sources {
            let range = source.slot_base..source.slot_base + source.columns.len();
            match &source.kind {
                SourceKind::Table(table) => {
                    let is_row_fixed = table.indexes.iter().any(|index| {
                        let is_part_fixed = |part: &storage::IndexPart| {
                            let slot = source.slot_base + part.column;
                            let is_never_null = has_value[slot] || !table.columns[part.column].nullable;
                            part.prefix_chars.is_none() && is_never_null && fixed[slot]
                        };
                        !index.is_hidden() && index.unique && index.parts.iter().all(is_part_fixed)
                    });
                    if is_row_fixed {
                        fixed[range].fill(true);
                    } else if !source.nullable {
                        generated(eval, table, &mut fixed[range]);
                    }
                }
                // Beside an outer join that finds nothing even a constant is NULL: something of the row must be known.
                SourceKind::Derived(derived)
                    if source.lateral.is_empty() && (!source.nullable || fixed[range.clone()].contains(&true)) =>
                {
                    determine_outputs(eval, &derived.query.borrow(), &mut fixed[range]);
                }
                _ => {}
            }
        }
        equalities(&tree.conditions, fixed);
        outer_joins(tree, slots, fixed);
        if fixed.iter().filter(|fixed| **fixed).count() == before {
            return;
        }
    }
}

/// Marks the columns that are no NULL in any row for which these conditions are true.
fn not_null(conditions: &[Expr], has_value: &mut [bool]) {
    let mut mark = |expr: &Expr| {
        if let Some(slot) = expr.as_column() {
            has_value[slot] = true;
        }
    };
    let mut parts = Vec::new();
    for condition in conditions {
        match &condition.node {
            Node::And(left, right) => parts.extend([left, right]),
            Node::IsNull { expr, negated: true } => mark(expr),
            Node::Compare { op, left, right, .. } if *op != BinaryOp::NullSafeEqual => {
                mark(left);
                mark(right);
            }
            _ => {}
        }
    }
    parts.into_iter().for_each(|part| not_null(std::slice::from_ref(part), has_value));
}

/// Marks the generated columns of a table that are computed from marked ones.
fn generated(eval: &EvalContext<'_>, table: &Table, fixed: &mut [bool]) {
    for (at, column) in table.columns.iter().enumerate().take(fixed.len()) {
        let Some(generated) = column.generated.as_ref().filter(|_| !fixed[at]) else { continue };
        // What cannot be read any more determines nothing.
        let Ok(expr) = bind_to_columns(eval, &table.columns, &generated.expression) else { continue };
        let mut is_fixed = true;
        expr.for_each_column(&mut |slot| is_fixed &= fixed.get(slot).copied().unwrap_or(false));
        fixed[at] = is_fixed;
    }
}

/// Marks the columns of a derived table that its marked ones determine.
fn determine_outputs(eval: &EvalContext<'_>, query: &Query, fixed: &mut [bool]) {
    let Query::Block(block) = query else { return };
    let mut inner = vec![false; block.slots.len()];
    for (expr, _) in block.output.iter().zip(&*fixed).filter(|(_, fixed)| **fixed) {
        if let Some(slot) = expr.as_column() {
            inner[slot] = true;
        }
    }
    close(eval, &block.sources, &block.slots, &block.from, &mut inner);
    if let Some(group) = &block.group {
        let is_output =
            |key: &Expr| block.output.iter().zip(&*fixed).any(|(expr, fixed)| *fixed && expr.node == key.node);
        let is_fixed = |key: &Expr| is_output(key) || (is_pure(key) && is_fixed(key, &inner));
        if group.rollup.is_none() && group.keys.iter().all(is_fixed) {
            fixed.fill(true);
        }
        return;
    }
    for (expr, fixed) in block.output.iter().zip(fixed) {
        *fixed |= is_pure(expr) && is_fixed(expr, &inner);
    }
}

/// Marks what is equal to something that is marked.
fn equalities(conditions: &[Expr], fixed: &mut [bool]) {
    for condition in conditions {
        match &condition.node {
            Node::And(left, right) => {
                [left, right].into_iter().for_each(|side| equalities(std::slice::from_ref(side), fixed));
            }
            Node::Compare { op: BinaryOp::Equal | BinaryOp::NullSafeEqual, left, right, .. } => {
                equal(left, right, fixed);
            }
            Node::CompareRows { op: BinaryOp::Equal | BinaryOp::NullSafeEqual, left, right, .. } => {
                left.iter().zip(right).for_each(|(left, right)| equal(left, right, fixed));
            }
            _ => {}
        }
    }
}

fn equal(left: &Expr, right: &Expr, fixed: &mut [bool]) {
    for (one, other) in [(left, right), (right, left)] {
        if let Some(slot) = one.as_column()
            && is_pure(other)
            && is_fixed(other, fixed)
        {
            fixed[slot] = true;
        }
    }
}

/// The same of the conditions of outer joins.
fn outer_joins(nest: &Nest, slots: &[(u16, u16)], fixed: &mut [bool]) {
    for left in nest.lefts.iter().filter(|left| left.nest.semis.is_empty()) {
        let inner = left.nest.mask();
        let finds_the_same = left.nest.conditions.iter().all(|condition| {
            let mut all = is_pure(condition);
            condition.for_each_column(&mut |slot| all &= inner & 1 << slots[slot].0 != 0 || fixed[slot]);
            all
        });
        if finds_the_same {
            equalities(&left.nest.conditions, fixed);
            outer_joins(&left.nest, slots, fixed);
        }
    }
}

/// Whether an expression has one value where its columns have one.
fn is_pure(expr: &Expr) -> bool {
    let mut is_pure = !is_volatile(expr);
    expr.walk(&mut |expr| {
        is_pure &= expr.subquery().is_none() && !matches!(expr.node, Node::Aggregate(_) | Node::Window(_));
    });
    is_pure
}

fn is_fixed(expr: &Expr, fixed: &[bool]) -> bool {
    let mut all = true;
    expr.for_each_column(&mut |slot| all &= fixed[slot]);
    all
}

/// ANY_VALUE(): whatever row it is of will do.
fn is_any_value(expr: &Expr) -> bool {
    matches!(&expr.node, Node::Call { function, .. } if function.name == "any_value")
}

/// The first column of an expression that has more than one value per group.
fn offender(level: &Level<'_>, expr: &Expr, keys: &[Expr], fixed: &[bool]) -> Option<usize> {
    if keys.iter().any(|key| key.node == expr.node) {
        return None;
    }
    if let Some(slot) = expr.as_column() {
        return (!fixed[slot]).then_some(slot);
    }
    if is_any_value(expr) {
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

/// A column, as errors name it.
fn name_of(level: &Level<'_>, slot: usize) -> String {
    let (source, column) = level.slots[slot];
    let source = &level.sources[source as usize];
    source.column_name(column as usize)
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
    let name = |slot: usize| name_of(level, slot);
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
        if let Some(slot) = offender(level, expr, keys, fixed) {
            return Err(Error::not_in_group_by(at + 1, "ORDER BY clause", &name(slot)));
        }
    }
    Ok(())
}

/// DISTINCT: 3065 or 3066 if a row of the result may stand for several that ORDER BY would put in different places.
pub fn check_distinct(level: &Level<'_>, outputs: &[&Expr], order: &[(Expr, bool)]) -> Result<()> {
    for (at, (expr, _)) in order.iter().enumerate() {
        match unselected(expr, outputs) {
            None => {}
            Some(None) => return Err(Error::distinct_order_aggregate(at + 1)),
            Some(Some(slot)) => {
                return Err(Error::distinct_order(at + 1, &name_of(level, slot)));
            }
        }
    }
    Ok(())
}

/// What an expression reads that is not selected: a column, or an aggregate.
fn unselected(expr: &Expr, outputs: &[&Expr]) -> Option<Option<usize>> {
    // An ENUM is selected by its name and ordered by its number.
    let slot_of = |expr: &Expr| match expr.node {
        Node::Column(slot) | Node::EnumName { slot, .. } | Node::SetNames { slot, .. } => Some(slot),
        _ => None,
    };
    let slot = slot_of(expr);
    if outputs.iter().any(|output| output.node == expr.node || slot.is_some() && slot_of(output) == slot) {
        return None;
    }
    if slot.is_some() {
        return Some(slot);
    }
    if let Node::Aggregate(_) = expr.node {
        return Some(None);
    }
    if is_any_value(expr) {
        return None;
    }
    let mut found = None;
    expr.for_each_child(&mut |child| found = found.or_else(|| unselected(child, outputs)));
    found
}
