//! (signatures first)
use super::{Datum, EvalContext, Expr, Fields};
use crate::error::Result;
use crate::types::TypeInfo;

/// A function by name.
pub struct Function {
    pub name: &'static str,
    pub args_min: usize,
    /// `usize::MAX`: any number.
    pub args_max: usize,
    /// Equal arguments give equal results, and nothing else happens.
    pub deterministic: bool,
    pub eval: for<'a> fn(&Call<'a>) -> Result<Datum<'a>>,
}

/// A call being evaluated.
pub struct Call<'a> {
    pub args: &'a [Expr],
    pub ty: &'a TypeInfo,
    pub context: &'a EvalContext<'a>,
    pub row: &'a dyn Fields,
}

impl std::fmt::Debug for Function {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}
