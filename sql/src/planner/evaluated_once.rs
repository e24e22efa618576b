//! Items of the select list that give another value each time, where HAVING or ORDER BY names them.
//!
//! An alias stands for its expression, which is evaluated where it is used. Of RAND() or a stored function that would be
//! a second value: rows would be let through, or sorted, by something else than what they show. Such a query becomes two:
//!
//! ```text
//! SELECT RAND() AS r, a FROM t HAVING r > 0.5 ORDER BY r
//! SELECT r, a FROM (SELECT RAND() AS r, a FROM t) WHERE r > 0.5 ORDER BY r
//! ```
//!
//! What else HAVING and ORDER BY read of a row is selected by the inner one, too. Window functions are computed behind
//! HAVING, so a query that has both stays one.

use storage::ReadMode;

use super::logical::{Block, Query};
use super::scope::{JoinTree, Level};
use super::{OutputColumn, PlanContext, nest};
use crate::error::Result;
use crate::expression::{Expr, Node};

/// The block, or the outer one of the two that it becomes. `outer` is what it reads of the query around it.
pub(super) fn evaluate_once(context: &PlanContext<'_>, mut block: Block, outer: &[Expr]) -> Result<Block> {
    let names = |expr: &Expr| {
        let mut names = false;
        expr.walk(&mut |part| names |= item_of(&block.output, part).is_some());
        names
    };
    let in_having = block.having.as_ref().is_some_and(names);
    if !in_having && !block.order.iter().any(|(expr, _)| names(expr)) || in_having && !block.windows.is_empty() {
        return Ok(block);
    }
    // HAVING stays where it is if it can: it may read less than all rows.
    let mut having = if in_having { block.having.take() } else { None };
    let mut order = std::mem::take(&mut block.order);
    let width = block.output.len();
    let results = having.iter_mut().chain(order.iter_mut().map(|(expr, _)| expr));
    results.for_each(|expr| select_parts(&mut block.output, width, expr));

    let columns = block.columns.clone();
    block.columns = block.output.iter().enumerate().map(|(at, expr)| numbered(at, expr)).collect();
    let select_number = std::mem::replace(&mut block.select_number, context.next_select_number());
    let (distinct, limit) = (std::mem::take(&mut block.distinct), block.limit.take());
    let (calc_found_rows, keeps_digits) = (std::mem::take(&mut block.calc_found_rows), block.keeps_digits);
    block.keeps_digits = true;

    let mut level = Level::new(context, None, ReadMode::Consistent);
    let source = level.add_inner(Query::Block(Box::new(block)), &[], outer)?;
    let output = (0..width).map(|slot| level.expr(slot)).collect();
    let nest = nest::bind(&level, Some(&JoinTree::Leaf(source)), having)?;
    let block = level.into_block(select_number, nest, output);
    Ok(Block { columns, distinct, keeps_digits, order, limit, calc_found_rows, ..block })
}

/// Whether two evaluations on one row may give two values. What variables hold is the business of who sets them.
fn gives_another(expr: &Expr) -> bool {
    let mut another = false;
    expr.walk(&mut |part| match &part.node {
        Node::Call { function, .. } => another |= !function.deterministic,
        Node::Stored { .. } | Node::Sequence(_) => another = true,
        _ => {}
    });
    another
}

/// The item that an expression is, if that gives another value each time.
fn item_of(items: &[Expr], expr: &Expr) -> Option<usize> {
    items.iter().position(|item| item.node == expr.node && gives_another(item))
}

/// Turns an expression over the rows into one over what is selected, and selects what it reads of them.
fn select_parts(output: &mut Vec<Expr>, items: usize, expr: &mut Expr) {
    expr.walk_mut(&mut |part| {
        let at = item_of(&output[..items], part).or_else(|| {
            let reads = part.as_column().is_some()
                || part.subquery().is_some()
                || matches!(part.node, Node::Aggregate(_) | Node::Window(_) | Node::Grouping(_));
            reads.then(|| {
                output.push(part.clone());
                output.len() - 1
            })
        });
        if let Some(at) = at {
            *part = Expr::slot(at, output[at].ty);
        }
        at.is_some()
    });
}

/// A column of the inner query. Nobody sees its name, but no two have the same.
fn numbered(at: usize, expr: &Expr) -> OutputColumn {
    OutputColumn { name: at.to_string().into(), ty: expr.ty, column_type: expr.ty.column_type(), origin: None }
}
