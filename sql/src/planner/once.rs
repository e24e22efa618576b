//! Constant parts of expressions: an execution works them out when they are first wanted, and not for each row.
//!
//! ```text
//! shipped < DATE '1994-01-01' + INTERVAL 1 YEAR      ->      shipped < once(...)
//! ```
//!
//! A plan holds no value of an execution, so a part stays an expression, and [`crate::expression::lists::Lists`] keeps its
//! value. Only operands of comparisons and arithmetic are held: some functions look at how their arguments are written.

use super::{SelectPlan, Step};
use crate::expression::{Expr, Node};

/// Holds the constant parts of what a query evaluates for its rows.
pub fn hold_constants(plan: &mut SelectPlan) {
    steps(&mut plan.steps);
    plan.having.iter_mut().for_each(hold);
    plan.output.iter_mut().for_each(hold);
    if let Some(group) = &mut plan.group {
        group.keys.iter_mut().for_each(hold);
        group.aggregates.iter_mut().flat_map(|call| &mut call.args).for_each(hold);
    }
}

fn steps(list: &mut [Step]) {
    for step in list {
        match step {
            Step::Table(step) => step.filters.iter_mut().for_each(|filter| hold(&mut filter.expr)),
            Step::Semi { steps: inner, .. } => steps(inner),
            Step::Left { steps: inner, filters, .. } => {
                steps(inner);
                filters.iter_mut().for_each(hold);
            }
        }
    }
}

fn hold(expr: &mut Expr) {
    hold_within(expr);
}

/// Holds the constant operands within an expression; whether all of it is constant.
fn hold_within(expr: &mut Expr) -> bool {
    let mut constant = Vec::new();
    expr.for_each_child_mut(&mut |child| constant.push(hold_within(child)));
    if constant.iter().all(|constant| *constant) {
        return expr.is_constant_of_operands();
    }
    if !matches!(expr.node, Node::Compare { .. } | Node::Between { .. } | Node::Arithmetic { .. }) {
        return false;
    }
    let mut constant = constant.into_iter();
    expr.for_each_child_mut(&mut |child| {
        if constant.next() == Some(true) && is_work(child) {
            let inner = std::mem::replace(child, Expr { ty: child.ty, ..Expr::null() });
            child.node = Node::Once(Box::new(inner));
        }
    });
    false
}

/// Whether it takes longer to evaluate it than to look its value up.
fn is_work(expr: &Expr) -> bool {
    matches!(
        expr.node,
        Node::DateAdd { .. }
            | Node::Arithmetic { .. }
            | Node::Minus(_)
            | Node::Call { .. }
            | Node::Cast { .. }
            | Node::Extract { .. }
            | Node::TimestampDiff { .. }
    )
}
