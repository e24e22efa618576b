//! ENUM and SET columns as their numbers: strings in expressions, numbers where rows are kept, sorted and grouped.

use format::value::ColumnType;

use crate::expression::{Expr, Node};
use crate::types::TypeInfo;

/// The type of an expression that is nothing but an ENUM or SET column.
pub fn member_type(expr: &Expr) -> Option<ColumnType> {
    let collation = expr.ty.collation;
    match &expr.node {
        Node::EnumName { members, .. } => Some(ColumnType::Enum { members: members.clone(), collation }),
        Node::SetNames { members, .. } => Some(ColumnType::Set { members: members.clone(), collation }),
        _ => None,
    }
}

/// ENUM and SET columns sort by their numbers.
pub fn by_number(expr: Expr) -> Expr {
    match expr.node {
        Node::EnumName { slot, .. } | Node::SetNames { slot, .. } => {
            Expr::slot(slot, TypeInfo::bigint_unsigned(20).nullable(expr.ty.nullable))
        }
        _ => expr,
    }
}
