//! FROM and WHERE as nests: tables and conditions without order.
//!
//! Inner joins are flattened. A LEFT JOIN keeps its inner side as a nest of its own; one whose inner side must not be
//! NULL by the conditions around it is an inner join.
//!
//! ```text
//! FROM a JOIN b ON p LEFT JOIN (c JOIN d ON q) ON r WHERE s
//! nest   tables a b   conditions p s   lefts [ nest: tables c d, conditions q r ]
//! ```

use format::value::{ColumnType, Date, DateTime, Value};

use super::clause::Clause;
use super::logical::{Left, Mask, Nest, TABLES_MAX, reads};
use super::scope::{JoinTree, Level};
use crate::error::{Error, Result};
use crate::expression::{Expr, Node, comparison_of};
use crate::parser::ast::BinaryOp;
use crate::types::TypeInfo;

/// Binds the conditions of FROM, and joins WHERE to them. The second: whether STRAIGHT_JOIN keeps the order written.
pub fn bind(level: &Level<'_>, tree: Option<&JoinTree<'_>>, filter: Option<Expr>) -> Result<(Nest, bool)> {
    if level.sources.len() > TABLES_MAX {
        return Err(Error::new(1116, b"HY000", "Too many tables; MySQL can only use 61 tables in a join"));
    }
    let mut root = Nest::default();
    let mut straight = level.hints.fixed_order;
    if let Some(tree) = tree {
        build(level, tree, &mut root, &mut straight)?;
    }
    if let Some(filter) = filter {
        split(zero_dates(level, filter)?, &mut root.conditions);
    }
    simplify(&level.slots, &mut root);
    Ok((root, straight))
}

fn build(level: &Level<'_>, tree: &JoinTree<'_>, nest: &mut Nest, any_straight: &mut bool) -> Result<Mask> {
    match tree {
        JoinTree::Leaf(source) => {
            nest.tables.push(*source);
            Ok(1 << source)
        }
        JoinTree::Join { left, right, outer, straight, on, using, visible } => {
            *any_straight |= straight;
            let mut conditions = Vec::new();
            if let Some(on) = on {
                let mut scope = Clause::new(level, "on clause");
                scope.visible = visible;
                split(level.context.binder(&scope).bind_number(on)?, &mut conditions);
            }
            for (a, b) in using {
                level.check_read(*a)?;
                level.check_read(*b)?;
                let scope = Clause::new(level, "on clause");
                let mut binder = level.context.binder(&scope);
                conditions.push(binder.compare_bound(BinaryOp::Equal, level.expr(*a), level.expr(*b))?);
            }
            let left_mask = build(level, left, nest, any_straight)?;
            if *outer {
                let mut inner = Nest::default();
                let right_mask = build(level, right, &mut inner, any_straight)?;
                inner.conditions.extend(conditions);
                // What is LATERAL in it may read tables beyond the outer side.
                let read = |expr: &Expr| reads(expr, &level.slots, &|_| &[]);
                let lateral = level.sources.iter().enumerate().filter(|(at, _)| right_mask >> at & 1 == 1);
                let lateral = lateral.flat_map(|(_, source)| &source.lateral).fold(0, |mask, expr| mask | read(expr));
                nest.lefts.push(Left { nest: inner, requires: left_mask | lateral & !right_mask });
                Ok(left_mask | right_mask)
            } else {
                let right_mask = build(level, right, nest, any_straight)?;
                nest.conditions.extend(conditions);
                Ok(left_mask | right_mask)
            }
        }
    }
}

/// What `column IS NULL` finds besides NULL, among the alternatives of a condition of WHERE: the zero date in a DATE or DATETIME
/// that is NOT NULL, and once, if `sql_auto_is_null` wants it, the row that the session inserted last.
fn zero_dates(level: &Level<'_>, condition: Expr) -> Result<Expr> {
    let Expr { node, ty } = condition;
    let node = match node {
        Node::And(left, right) => Node::And(Box::new(zero_dates(level, *left)?), Box::new(zero_dates(level, *right)?)),
        Node::Or(left, right) => Node::Or(Box::new(zero_dates(level, *left)?), Box::new(zero_dates(level, *right)?)),
        Node::IsNull { expr, negated: false } => {
            let Some(found) = expr.as_column().and_then(|slot| found_by_null(level, slot)) else {
                return Ok(Expr { node: Node::IsNull { expr, negated: false }, ty });
            };
            let how = comparison_of(&expr.ty, &found.ty, "=")?;
            let equal = Node::Compare { op: BinaryOp::Equal, how, left: expr.clone(), right: Box::new(found) };
            if !expr.ty.nullable {
                equal
            } else {
                let is_null = Expr { node: Node::IsNull { expr, negated: false }, ty };
                Node::Or(Box::new(is_null), Box::new(Expr { node: equal, ty: ty.nullable(true) }))
            }
        }
        node => node,
    };
    Ok(Expr { node, ty })
}

/// The value that `IS NULL` finds in a column that has no NULL.
fn found_by_null(level: &Level<'_>, slot: usize) -> Option<Expr> {
    let (source, at) = level.slots[slot];
    let source = &level.sources[source as usize];
    let column = &source.columns[at as usize];
    if column.info.nullable {
        return None;
    }
    match column.ty {
        ColumnType::Date => Some(Expr::constant(Value::Date(Date::ZERO), TypeInfo::date().not_null())),
        ColumnType::DateTime { .. } => {
            Some(Expr::constant(Value::DateTime(DateTime::ZERO), TypeInfo::datetime(0).not_null()))
        }
        _ if source.table().is_some_and(|table| table.auto_increment == Some(at as usize)) => {
            let id = level.context.eval.session.id_found_by_null()?;
            Some(Expr::constant(Value::UInt(id), TypeInfo::bigint_unsigned(20).not_null()))
        }
        _ => None,
    }
}

/// Takes a conjunction apart.
pub fn split(expr: Expr, out: &mut Vec<Expr>) {
    match expr.node {
        Node::And(left, right) => {
            split(*left, out);
            split(*right, out);
        }
        node => out.push(Expr { node, ty: expr.ty }),
    }
}

/// Turns outer joins into inner ones where a condition on the result rejects their NULLs.
pub fn simplify(slots: &[(u16, u16)], nest: &mut Nest) {
    let mut at = 0;
    while at < nest.lefts.len() {
        let mask = nest.lefts[at].nest.mask();
        let rejected = nest.conditions.iter().any(|condition| rejects_null(slots, condition, mask));
        if rejected {
            let left = nest.lefts.remove(at);
            // Those inside keep their own outer side, which is now part of this nest.
            nest.absorb(left.nest);
            at = 0;
        } else {
            at += 1;
        }
    }
    nest.lefts.iter_mut().for_each(|left| simplify(slots, &mut left.nest));
}

/// Whether a condition is never true when all columns of some sources are NULL.
fn rejects_null(slots: &[(u16, u16)], condition: &Expr, mask: Mask) -> bool {
    let column_of = |expr: &Expr| expr.as_column().is_some_and(|slot| mask >> slots[slot].0 & 1 == 1);
    match &condition.node {
        Node::Compare { op, left, right, .. } => {
            *op != BinaryOp::NullSafeEqual && (column_of(left) || column_of(right))
        }
        Node::Between { expr, negated: false, .. } => column_of(expr),
        Node::In { expr, negated: false, .. } => column_of(expr),
        Node::Like { expr, .. } => column_of(expr),
        Node::IsNull { expr, negated: true } => column_of(expr),
        _ => false,
    }
}
