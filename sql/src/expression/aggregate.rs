//! (signatures first)
use format::value::Value;

use super::{EvalContext, Expr, Fields};
use crate::error::Result;
use crate::parser::ast::AggregateFunction;
use crate::types::TypeInfo;

/// One aggregate of a query, collected by the binder; its results are the group row's [`Fields::aggregate`].
#[derive(Debug, Clone)]
pub struct AggregateCall {
    pub function: AggregateFunction,
    pub distinct: bool,
    /// Empty for COUNT(*).
    pub args: Vec<Expr>,
    /// GROUP_CONCAT's: expression, descending.
    pub order_by: Vec<(Expr, bool)>,
    pub separator: Vec<u8>,
    pub ty: TypeInfo,
}

/// The state of one aggregate over the rows of a group so far.
#[derive(Debug, Clone)]
pub struct Accumulator {}

impl AggregateCall {
    pub fn start(&self) -> Accumulator {
        todo!()
    }
}

impl Accumulator {
    pub fn add(&mut self, _call: &AggregateCall, _context: &EvalContext<'_>, _row: &dyn Fields) -> Result<()> {
        todo!()
    }
    /// The result over the rows so far; may be called once.
    pub fn finish(&mut self, _call: &AggregateCall, _context: &EvalContext<'_>) -> Result<Value> {
        todo!()
    }
}
