//! (signatures first)
use format::value::Value;

use super::{Datum, EvalContext, Expr, Fields};
use crate::error::Result;

impl Expr {
    /// The value for a row.
    pub fn eval<'a>(&'a self, _context: &'a EvalContext<'a>, _row: &'a dyn Fields) -> Result<Datum<'a>> {
        todo!()
    }
    /// The same, owned.
    pub fn value(&self, context: &EvalContext<'_>, row: &dyn Fields) -> Result<Value> {
        Ok(self.eval(context, row)?.into_value())
    }
    /// As a condition: None is NULL.
    pub fn truth(&self, _context: &EvalContext<'_>, _row: &dyn Fields) -> Result<Option<bool>> {
        todo!()
    }
    /// As WHERE and HAVING take it: NULL is false.
    pub fn is_true(&self, context: &EvalContext<'_>, row: &dyn Fields) -> Result<bool> {
        Ok(self.truth(context, row)? == Some(true))
    }
}
