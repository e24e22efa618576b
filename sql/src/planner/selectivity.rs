//! The share of rows that a condition is expected to let through, where no index tells.

use crate::expression::{Expr, Node};
use crate::parser::ast::BinaryOp;

const EQUAL: f64 = 0.1;
const INTERVAL: f64 = 0.33;
const CLOSED_INTERVAL: f64 = 0.11;
const UNKNOWN: f64 = 0.5;

/// The share of a condition.
pub fn share(condition: &Expr) -> f64 {
    let of = |share: f64, negated: bool| if negated { 1.0 - share } else { share };
    match &condition.node {
        Node::Compare { op: BinaryOp::Equal | BinaryOp::NullSafeEqual, .. } => EQUAL,
        Node::Compare { op: BinaryOp::NotEqual, .. } => 1.0 - EQUAL,
        Node::Compare { .. } => INTERVAL,
        Node::Between { negated, .. } => of(CLOSED_INTERVAL, *negated),
        Node::In { list, negated, .. } => of((EQUAL * list.len() as f64).min(UNKNOWN), *negated),
        Node::Like { negated, .. } => of(CLOSED_INTERVAL, *negated),
        Node::IsNull { negated, .. } => of(EQUAL, *negated),
        Node::And(left, right) => share(left) * share(right),
        Node::Or(left, right) => {
            let (left, right) = (share(left), share(right));
            left + right - left * right
        }
        Node::Not(condition) => 1.0 - share(condition),
        _ => UNKNOWN,
    }
}
