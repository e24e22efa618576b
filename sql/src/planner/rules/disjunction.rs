//! What all branches of an OR have in common, and what they say of a single table.
//!
//! ```text
//! (p AND q) OR (p AND r)                      p AND (q OR r)
//! (a.x = 1 AND b.y = 2) OR (a.x = 3 AND b.y = 4)   the same, AND (a.x = 1 OR a.x = 3) AND (b.y = 2 OR b.y = 4)
//! ```
//!
//! So an equality between two tables that stands in each branch joins them, and a table is filtered before it is joined.

use crate::expression::{Expr, Node};
use crate::planner::logical::{Block, Mask, Nest, is_volatile, reads};
use crate::planner::nest::split;

/// An OR of more branches than this is left as it is written.
const BRANCHES_MAX: usize = 64;

pub fn factor(block: &mut Block) {
    let slots = &block.slots;
    let subqueries = &block.subqueries;
    let read = |expr: &Expr| reads(expr, slots, &|query| &subqueries[query].outer);
    factor_nest(&mut block.from, &read);
}

fn factor_nest(nest: &mut Nest, read: &dyn Fn(&Expr) -> Mask) {
    if nest.conditions.iter().any(|condition| matches!(condition.node, Node::Or(..))) {
        let mut conditions = Vec::with_capacity(nest.conditions.len());
        for condition in nest.conditions.drain(..) {
            match condition.node {
                Node::Or(..) => disjunction(condition, &nest.tables, read, &mut conditions),
                _ => conditions.push(condition),
            }
        }
        nest.conditions = conditions;
    }
    nest.lefts.iter_mut().for_each(|left| factor_nest(&mut left.nest, read));
}

fn branches_of<'e>(expr: &'e Expr, out: &mut Vec<&'e Expr>) {
    match &expr.node {
        Node::Or(left, right) => {
            branches_of(left, out);
            branches_of(right, out);
        }
        _ => out.push(expr),
    }
}

fn joined(parts: Vec<Expr>, make: fn(Box<Expr>, Box<Expr>) -> Node) -> Option<Expr> {
    parts.into_iter().reduce(|left, right| {
        let ty = left.ty.nullable(left.ty.nullable || right.ty.nullable);
        Expr { node: make(Box::new(left), Box::new(right)), ty }
    })
}

fn disjunction(written: Expr, tables: &[usize], read: &dyn Fn(&Expr) -> Mask, out: &mut Vec<Expr>) {
    let mut branches = Vec::new();
    branches_of(&written, &mut branches);
    if branches.len() > BRANCHES_MAX || is_volatile(&written) {
        out.push(written);
        return;
    }
    let ty = written.ty;
    let mut branches: Vec<Vec<Expr>> = branches
        .into_iter()
        .map(|branch| {
            let mut parts = Vec::new();
            split(branch.clone(), &mut parts);
            parts
        })
        .collect();
    let (first, others) = branches.split_at_mut(1);
    let mut common = Vec::new();
    first[0].retain(|part| {
        let is_common = others.iter().all(|other| other.contains(part));
        if is_common && !common.contains(part) {
            common.push(part.clone());
        }
        !is_common
    });
    for other in others {
        other.retain(|part| !common.contains(part));
    }
    let is_changed = !common.is_empty();
    out.extend(common);
    // (p) OR (p AND q) is p.
    if branches.iter().any(Vec::is_empty) {
        return;
    }
    let all: Mask = branches.iter().flatten().fold(0, |mask, part| mask | read(part));
    if all.count_ones() > 1 {
        for table in tables.iter().filter(|table| all >> **table & 1 == 1) {
            let own = |part: &&Expr| read(part) == 1 << table && !has_subquery(part);
            let of_table = branches.iter().map(|branch| {
                let parts: Vec<Expr> = branch.iter().filter(own).cloned().collect();
                joined(parts, Node::And)
            });
            if let Some(parts) = of_table.collect::<Option<Vec<Expr>>>() {
                out.extend(joined(parts, Node::Or));
            }
        }
    }
    if is_changed {
        let parts = branches.into_iter().filter_map(|branch| joined(branch, Node::And)).collect();
        out.extend(joined(parts, Node::Or).map(|expr| Expr { ty, ..expr }));
    } else {
        out.push(written);
    }
}

fn has_subquery(expr: &Expr) -> bool {
    let mut found = false;
    expr.walk(&mut |expr| found |= expr.subquery().is_some());
    found
}
