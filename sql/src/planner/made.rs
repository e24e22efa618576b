//! The columns that a table made of a query has, or a view: CREATE TABLE ... SELECT and what information_schema tells.

use storage::{Column, ColumnDefault};

use super::OutputColumn;
use crate::expression::assign::stored_zero;
use crate::expression::{Expr, Node};
use crate::types::{Kind, TypeInfo};
use format::value::ColumnType;

/// The column for one of a query's, whose type is `ty`. What is nothing but a table's column keeps its default, ON UPDATE
/// and comment. It is no longer generated, invisible, or AUTO_INCREMENT: for that, 0 is the default.
pub fn column(name: &str, output: &OutputColumn, ty: ColumnType) -> Column {
    let nullable = output.ty.nullable;
    let stored = output.origin.as_ref().and_then(|origin| origin.stored.as_ref());
    if let Some((table, ordinal)) = stored {
        let own = &table.columns[*ordinal];
        let default = match &own.default {
            _ if own.auto_increment => stored_zero(&own.ty).map_or(ColumnDefault::None, ColumnDefault::Literal),
            _ if own.generated.is_some() => no_default(nullable),
            ColumnDefault::None | ColumnDefault::Null => no_default(nullable),
            default => default.clone(),
        };
        return Column {
            name: name.into(),
            nullable,
            default,
            auto_increment: false,
            invisible: false,
            explicit_collation: false,
            generated: None,
            ..own.clone()
        };
    }
    let ty = type_of(&output.ty, ty);
    let zerofill = (output.ty.zerofill && output.origin.is_some() && output.ty.kind != Kind::Year)
        .then_some(output.ty.length.min(255) as u8);
    let boolean = output.origin.as_ref().is_some_and(|origin| origin.boolean);
    let default = if nullable { ColumnDefault::Null } else { zero(&ty) };
    Column { default, zerofill, boolean, ..Column::new(name, ty, nullable) }
}

/// A table gets an INT for numbers that are computed of others and have few digits, as for a literal, while results have
/// BIGINTs. A column of another query keeps its type.
pub fn small_integer(expr: &Expr) -> Option<ColumnType> {
    if expr.ty.kind != Kind::BigInt || expr.ty.length >= DIGITS_OF_INT || matches!(expr.node, Node::Column(_)) {
        return None;
    }
    // How many characters a text has says nothing of the number that is made of it.
    let mut has_text = false;
    expr.walk(&mut |part| has_text |= part.ty.is_string());
    (!has_text).then_some(ColumnType::Int { bytes: 4, unsigned: expr.ty.unsigned })
}

/// With a sign, an INT holds all numbers of fewer characters.
const DIGITS_OF_INT: u32 = 10;

fn no_default(nullable: bool) -> ColumnDefault {
    if nullable { ColumnDefault::Null } else { ColumnDefault::None }
}

/// What is computed and never NULL has the zero of its type as its default, as in MySQL. TEXT, BLOB, JSON and geometries
/// have none; nor have dates here, because the default mode refuses 0000-00-00 where the statement is repeated.
fn zero(ty: &ColumnType) -> ColumnDefault {
    match ty {
        ColumnType::Text { .. } | ColumnType::Blob { .. } | ColumnType::Json | ColumnType::Geometry { .. } => {
            ColumnDefault::None
        }
        ColumnType::Date | ColumnType::DateTime { .. } | ColumnType::Timestamp { .. } => ColumnDefault::None,
        ty => stored_zero(ty).map_or(ColumnDefault::None, ColumnDefault::Literal),
    }
}

/// A result's TIMESTAMP is computed and rendered as a DATETIME; a column of it is a TIMESTAMP.
fn type_of(info: &TypeInfo, ty: ColumnType) -> ColumnType {
    match (info.kind, ty) {
        (Kind::Timestamp, ColumnType::DateTime { fsp }) => ColumnType::Timestamp { fsp },
        (_, ty) => ty,
    }
}
