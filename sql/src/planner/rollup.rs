//! WITH ROLLUP: besides the groups, sums over all values of the last key, of the last two, and so on.
//!
//! Each row belongs to a group of every length of the keys. What is grouped by is NULL where it is summed over, so behind
//! the grouping a key is a result of the group like an aggregate: it takes the places of the expressions that are built
//! like it. GROUPING() looks at how many keys a group has.
//!
//! ```text
//! SELECT a, GROUPING(a), SUM(b) ... GROUP BY a WITH ROLLUP        aggregates: SUM(b), a, number of keys
//!        #1 #2 <= 0      #0
//! ```

use super::logical::{Rollup, Subquery};
use super::members::by_number;
use super::window::WindowCall;
use crate::error::{Error, Result};
use crate::expression::{AggregateCall, Comparison, Expr, Node};
use crate::parser::ast::{AggregateFunction, BinaryOp};
use crate::types::TypeInfo;

/// What is evaluated on groups.
pub struct Results<'r> {
    pub output: Vec<&'r mut Expr>,
    /// Outputs that GROUP BY names, and as which key: of `SELECT a, a AS b ... GROUP BY a, b` each is its own.
    pub named: Vec<(usize, usize)>,
    pub windows: &'r mut [WindowCall],
    pub subqueries: &'r mut [Subquery],
}

/// Adds the keys to the aggregates, and puts them where they are read.
pub fn apply(
    keys: &[Expr],
    descending: Vec<bool>,
    aggregates: &mut Vec<AggregateCall>,
    results: Results<'_>,
) -> Result<Rollup> {
    let mut of_key = Vec::with_capacity(keys.len());
    // The expressions that are replaced, each with its type, and by which aggregate.
    let mut places: Vec<(Expr, usize)> = Vec::new();
    for key in keys {
        let numbered = by_number(key.clone());
        let mut forms = vec![key.clone()];
        if numbered != *key {
            forms.push(numbered);
        }
        let mut indexes = Vec::new();
        for form in forms {
            aggregates.push(result_of(form.clone()));
            indexes.push(aggregates.len() - 1);
            places.push((form, aggregates.len() - 1));
        }
        of_key.push(indexes);
    }
    aggregates.push(result_of(Expr::int(0)));
    let level = aggregates.len() - 1;
    let replace = Replace { keys, places, level };

    let Results { mut output, named, windows, subqueries } = results;
    for (at, key) in named {
        if output[at].node == keys[key].node {
            *output[at] = Expr { node: Node::Aggregate(of_key[key][0]), ty: output[at].ty.nullable(true) };
        }
    }
    let mut asked = Vec::new();
    let mut replaced = |expr: &mut Expr| -> Result<()> {
        expr.walk(&mut |expr| asked.extend(expr.subquery()));
        replace.in_expr(expr)
    };
    output.into_iter().try_for_each(&mut replaced)?;
    let mut outcome = Ok(());
    for window in windows {
        window.for_each_expr_mut(&mut |expr| {
            if outcome.is_ok() {
                outcome = replaced(expr);
            }
        });
    }
    outcome?;
    // What subqueries read of the group's row; those of WHERE read rows.
    while let Some(query) = asked.pop() {
        for expr in &mut subqueries[query].outer {
            expr.walk(&mut |expr| asked.extend(expr.subquery()));
            replace.in_expr(expr)?;
        }
    }
    Ok(Rollup { keys: of_key, level, descending })
}

/// A result of a group that is the same for all of its rows.
fn result_of(expr: Expr) -> AggregateCall {
    let ty = expr.ty.stored().nullable(true);
    AggregateCall {
        function: AggregateFunction::AnyValue,
        distinct: false,
        args: vec![expr],
        order_by: Vec::new(),
        separator: Vec::new(),
        limit: None,
        ty,
    }
}

struct Replace<'k> {
    keys: &'k [Expr],
    places: Vec<(Expr, usize)>,
    level: usize,
}

impl Replace<'_> {
    fn in_expr(&self, expr: &mut Expr) -> Result<()> {
        let mut outcome = Ok(());
        expr.walk_mut(&mut |expr| {
            if let Node::Grouping(args) = &expr.node {
                match self.grouping(args) {
                    Ok(replaced) => *expr = replaced,
                    Err(error) => outcome = Err(error),
                }
                return true;
            }
            let Some((_, index)) = self.places.iter().find(|(key, _)| key.node == expr.node) else { return false };
            *expr = Expr { node: Node::Aggregate(*index), ty: expr.ty.nullable(true) };
            true
        });
        outcome
    }

    /// The bits of GROUPING(a, b): whether a is summed over, whether b is.
    fn grouping(&self, args: &[Expr]) -> Result<Expr> {
        let count = Expr { node: Node::Aggregate(self.level), ty: TypeInfo::bigint(20).not_null() };
        let mut bits: Option<Expr> = None;
        for (number, arg) in args.iter().enumerate() {
            let key = self.keys.iter().position(|key| key.node == arg.node);
            let key = key.ok_or_else(|| Error::grouping_of_no_key(number + 1))?;
            let node = Node::Compare {
                op: BinaryOp::LessEqual,
                how: Comparison::Integer,
                left: Box::new(count.clone()),
                right: Box::new(Expr::int(key as i64)),
            };
            let bit = Expr { node, ty: TypeInfo::boolean().nullable(false) };
            let ty = TypeInfo::bigint(20).not_null();
            bits = Some(match bits {
                None => bit,
                Some(bits) => {
                    let arithmetic = |op, left, right| Expr {
                        node: Node::Arithmetic { op, left: Box::new(left), right: Box::new(right) },
                        ty,
                    };
                    arithmetic(BinaryOp::Add, arithmetic(BinaryOp::Multiply, bits, Expr::int(2)), bit)
                }
            });
        }
        Ok(bits.unwrap_or_else(|| Expr::int(0)))
    }
}
