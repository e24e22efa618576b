//! The operands of a written expression, to be looked at and changed.

use super::{Expr, JsonOtherwise};
use crate::error::Result;

impl Expr {
    /// Calls `change` with this expression and then with all below it; subqueries are not entered.
    pub fn walk_mut(&mut self, change: &mut dyn FnMut(&mut Expr) -> Result<()>) -> Result<()> {
        change(self)?;
        self.for_each_operand_mut(&mut |operand| operand.walk_mut(change))
    }

    /// Whether a subquery is part of the expression.
    pub fn asks_query(&self) -> bool {
        let mut asks = false;
        // It fails nowhere: nothing is changed.
        let _ = self.clone().walk_mut(&mut |expr| {
            asks |=
                matches!(expr, Expr::Subquery(_) | Expr::Exists(_) | Expr::InQuery { .. } | Expr::Quantified { .. });
            Ok(())
        });
        asks
    }

    /// The operands, in the order written.
    pub fn for_each_operand_mut(&mut self, visit: &mut dyn FnMut(&mut Expr) -> Result<()>) -> Result<()> {
        match self {
            Expr::Literal(_)
            | Expr::Column(_)
            | Expr::Parameter(_)
            | Expr::UserVariable(_)
            | Expr::SystemVariable { .. }
            | Expr::Subquery(_)
            | Expr::Exists(_)
            | Expr::DefaultOf(_)
            | Expr::Default
            | Expr::ValuesOf(_)
            | Expr::Sequence(_)
            | Expr::Unsupported(_) => Ok(()),
            Expr::Assign(_, expr)
            | Expr::Unary { expr, .. }
            | Expr::IsNull { expr, .. }
            | Expr::IsTruth { expr, .. }
            | Expr::InQuery { expr, .. }
            | Expr::Quantified { expr, .. }
            | Expr::Cast { expr, .. }
            | Expr::CastArray { expr, .. }
            | Expr::ConvertUsing { expr, .. }
            | Expr::Collate { expr, .. }
            | Expr::Binarily(expr)
            | Expr::Extract { expr, .. } => visit(expr),
            Expr::Binary { left, right, .. }
            | Expr::Regexp { expr: left, pattern: right, .. }
            | Expr::DateAdd { expr: left, interval: right, .. }
            | Expr::TimestampAdd { interval: left, expr: right, .. }
            | Expr::TimestampDiff { from: left, to: right, .. } => {
                visit(left)?;
                visit(right)
            }
            Expr::Between { expr, low, high, .. } => {
                visit(expr)?;
                visit(low)?;
                visit(high)
            }
            Expr::InList { expr, list, .. } => {
                visit(expr)?;
                list.iter_mut().try_for_each(visit)
            }
            Expr::Like { expr, pattern, escape, .. } => {
                visit(expr)?;
                visit(pattern)?;
                escape.as_deref_mut().map_or(Ok(()), visit)
            }
            Expr::Case { operand, whens, otherwise } => {
                operand.as_deref_mut().map_or(Ok(()), &mut *visit)?;
                for (when, then) in whens {
                    visit(when)?;
                    visit(then)?;
                }
                otherwise.as_deref_mut().map_or(Ok(()), visit)
            }
            Expr::Function { args, .. }
            | Expr::StoredFunction { args, .. }
            | Expr::Char { args, .. }
            | Expr::Grouping(args)
            | Expr::Row(args) => args.iter_mut().try_for_each(visit),
            Expr::Match(search) => {
                search.columns.iter_mut().try_for_each(&mut *visit)?;
                visit(&mut search.against)
            }
            Expr::JsonValue(value) => {
                visit(&mut value.document)?;
                visit(&mut value.path)?;
                for otherwise in [&mut value.on_empty, &mut value.on_error] {
                    if let JsonOtherwise::Default(expr) = otherwise {
                        visit(expr)?;
                    }
                }
                Ok(())
            }
            // The windows are no operands, but parts of the query.
            Expr::Window(call) => call.args.iter_mut().try_for_each(visit),
            Expr::Aggregate(aggregate) => aggregate.args.iter_mut().try_for_each(visit),
            Expr::Trim { remove, expr, .. } => {
                remove.as_deref_mut().map_or(Ok(()), &mut *visit)?;
                visit(expr)
            }
        }
    }
}
