//! What a query asks of the parts of an index: ranges made of expressions.

use super::PlanContext;
use crate::expression::{Expr, Node};

/// A value that a key part is compared with.
#[derive(Debug, Clone)]
pub struct KeyExpr {
    pub expr: Expr,
    /// `<=>`, IS NULL: NULL is a value like any other.
    pub null_safe: bool,
}

/// What is asked of one part of an index.
#[derive(Debug, Clone)]
pub enum PartRange {
    /// Equal to one of these.
    Points(Vec<KeyExpr>),
    /// In one of these; nothing can follow it.
    Intervals(Vec<Interval>),
}

#[derive(Debug, Clone)]
pub struct Interval {
    /// The bound, and whether it belongs to the interval.
    pub lower: Option<(KeyExpr, bool)>,
    pub upper: Option<(KeyExpr, bool)>,
    /// Begins as this LIKE pattern does, up to its first wildcard; the other bounds are empty then.
    pub like: Option<(Expr, Option<Expr>)>,
}

impl PartRange {
    /// The same as intervals, a point as one from itself to itself.
    pub fn into_intervals(self) -> Vec<Interval> {
        match self {
            PartRange::Intervals(list) => list,
            PartRange::Points(points) => points
                .into_iter()
                .map(|key| Interval { lower: Some((key.clone(), true)), upper: Some((key, true)), like: None })
                .collect(),
        }
    }
}

/// Whether an expression has its value now: it is a constant, or a parameter of this execution.
pub fn is_known_now(context: &PlanContext<'_>, expr: &Expr) -> bool {
    let mut plain = expr.is_constant();
    expr.walk(&mut |expr| {
        if let Node::Parameter(at) = expr.node {
            plain &= at < context.eval.parameters.len().min(context.parameter_count);
        }
    });
    plain
}
