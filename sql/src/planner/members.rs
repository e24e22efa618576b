//! ENUM and SET columns as their numbers: strings in expressions, numbers where rows are kept, sorted and grouped.

use format::value::ColumnType;

pub use crate::expression::functions::by_number;
use crate::expression::{Expr, Node};

/// The type of an expression that is nothing but an ENUM or SET column.
pub fn member_type(expr: &Expr) -> Option<ColumnType> {
    let collation = expr.ty.collation;
    match &expr.node {
        Node::EnumName { members, .. } => Some(ColumnType::Enum { members: members.clone(), collation }),
        Node::SetNames { members, .. } => Some(ColumnType::Set { members: members.clone(), collation }),
        _ => None,
    }
}
