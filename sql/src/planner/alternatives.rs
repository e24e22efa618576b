//! A condition with OR, as alternatives each of which finds its rows by an index of its own: MySQL's index merge.
//!
//! ```text
//! a = 1 OR b = 2 OR a = 3
//!
//! alternative 0    a = 1 OR a = 3      rows of index (a)
//! alternative 1    b = 2               rows of index (b) for which alternative 0 is not true
//! ```
//!
//! A row belongs to the first alternative that is true for it, so no row is given twice, and nothing is remembered of the
//! rows that were given. What an index gives covers all rows for which its alternative is true.
//!
//! What it does not do: conditions with AND use one index of a table, never several.

use super::Source;
use super::sargable::is_of_one_column;
use crate::expression::{Expr, Node};
use storage::Table;

/// More alternatives than this are not looked at: each row is compared with those before its own.
const ALTERNATIVES_MAX: usize = 32;

/// Nor conditions of more parts than this.
const PARTS_MAX: usize = 256;

/// The alternatives of a condition; None: it is no OR, or has too many.
pub fn of(condition: &Expr, source: &Source, table: &Table, known: &dyn Fn(&Expr) -> bool) -> Option<Vec<Expr>> {
    if !matches!(condition.node, Node::Or(..)) {
        return None;
    }
    let mut parts = Vec::new();
    split(condition, &mut parts);
    if parts.len() > PARTS_MAX || is_of_one_column(condition, source, table, known) {
        return None;
    }
    let mut found: Vec<Expr> = Vec::new();
    for part in parts {
        let joined = found.iter().position(|one| is_of_one_column(&or(one, part), source, table, known));
        match joined {
            Some(at) => found[at] = or(&found[at], part),
            None if found.len() == ALTERNATIVES_MAX => return None,
            None => found.push(part.clone()),
        }
    }
    (found.len() > 1).then_some(found)
}

fn split<'e>(condition: &'e Expr, out: &mut Vec<&'e Expr>) {
    match &condition.node {
        Node::Or(left, right) => {
            split(left, out);
            split(right, out);
        }
        _ => out.push(condition),
    }
}

/// The conditions that an AND is made of.
pub fn conditions(alternative: &Expr) -> Vec<&Expr> {
    match &alternative.node {
        Node::And(left, right) => {
            let mut all = conditions(left);
            all.extend(conditions(right));
            all
        }
        _ => vec![alternative],
    }
}

fn or(left: &Expr, right: &Expr) -> Expr {
    Expr { node: Node::Or(Box::new(left.clone()), Box::new(right.clone())), ty: left.ty }
}
