//! (signatures first)
use format::value::ColumnType;

use super::{Datum, EvalContext};
use crate::error::Result;
use crate::types::TypeInfo;

/// What happens to values that do not fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AssignMode {
    /// Errors, in strict sql_mode.
    Strict,
    /// Warnings, and the nearest value: not strict, or IGNORE.
    Lenient,
}

/// The column that a value goes to.
#[derive(Debug, Clone, Copy)]
pub struct Target<'a> {
    pub name: &'a str,
    pub ty: &'a ColumnType,
    pub nullable: bool,
}

/// Coerces a value to a column's type: the result can be [encoded](ColumnType::encode) as it is. NULL for a NOT NULL column is 1048 in
/// strict mode, and the type's zero otherwise. `source` is the type of the expression that gave the value, `row` counts from 1.
/// A TIMESTAMP comes out in UTC. Strings that need no change are passed through.
pub fn assign<'a>(
    _value: Datum<'a>,
    _source: &TypeInfo,
    _target: &Target<'_>,
    _mode: AssignMode,
    _row: u64,
    _context: &EvalContext<'_>,
) -> Result<Datum<'a>> {
    todo!()
}

/// Appends the stored bytes of an assigned value. Not for NULL.
pub fn encode(_value: &Datum<'_>, _ty: &ColumnType, _out: &mut Vec<u8>) -> Result<()> {
    todo!()
}
