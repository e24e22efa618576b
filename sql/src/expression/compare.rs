//! (signatures first)
use std::cmp::Ordering;

use format::collation::CollationId;

use super::Datum;
use crate::error::Result;
use crate::types::TypeInfo;

/// As what two values compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Comparison {
    /// Both are integers, signed or not.
    Integer,
    Decimal,
    Double,
    /// Both are strings.
    String(CollationId),
    /// One of them is a DATE or DATETIME and the other can be read as one.
    DateTime,
    /// One of them is a TIME.
    Time,
}

/// The rule for a comparison between expressions of two types. 1267 for strings of collations that do not mix.
/// An index on a column can be used for `column op value` if the rule with the value's type is also the rule of the column with itself.
pub fn comparison_of(_left: &TypeInfo, _right: &TypeInfo, _operation: &str) -> Result<Comparison> {
    todo!()
}

/// The order of two values of the same type, as in ORDER BY: NULLs first.
pub fn order(_a: &Datum<'_>, _b: &Datum<'_>, _collation: CollationId) -> Ordering {
    todo!()
}

/// Appends bytes which are equal for equal values of one type and different for different ones: GROUP BY, DISTINCT, hash joins.
pub fn group_key(_value: &Datum<'_>, _collation: CollationId, _out: &mut Vec<u8>) {
    todo!()
}
