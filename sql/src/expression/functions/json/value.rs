//! JSON_VALUE: a scalar out of a document, as a value of an SQL type.
//!
//! The binder calls [`JSON_VALUE`] with the document, the path, and what to return instead if there is none (ON EMPTY) and
//! if it cannot be converted (ON ERROR): a constant, NULL, or the text `ERROR` as a marker of its own type, which no value
//! has.

use format::collation::CollationId;
use format::value::{ColumnType, Json, Value};

use super::arguments::{document, single_path};
use super::{Call, Function, Typing, not_null};
use crate::error::{Error, Result};
use crate::expression::{AssignMode, Datum, EvalContext, Expr, Node, assign, json};
use crate::types::{Coercibility, Kind, TypeInfo};

/// As the binder calls it: document, path, on empty, on error. No text of a statement can: its name has a space.
pub const JSON_VALUE: &str = "json value";

pub const FUNCTIONS: &[Function] = &[
    Function::new("json_value", (2, 2), value_type, |call| value(call, None, None)),
    Function::new(JSON_VALUE, (4, 4), value_type, |call| value(call, Some(2), Some(3))),
];

/// CHAR(512), unless RETURNING says something else.
fn value_type(_: &mut Typing<'_>) -> Result<TypeInfo> {
    Ok(TypeInfo::string(512, CollationId::UTF8MB4_GENERAL_CI, Coercibility::Implicit))
}

fn value<'a>(call: &Call<'a>, on_empty: Option<usize>, on_error: Option<usize>) -> Result<Datum<'a>> {
    let root = not_null!(document(call, 0)?);
    let path = not_null!(single_path(call, 1)?);
    let instead = |index: Option<usize>, error: Error| -> Result<Datum<'a>> {
        let Some(index) = index else { return Ok(Datum::Null) };
        match call.args[index].ty.kind {
            Kind::Parameter => Err(error),
            _ => call.arg(index)?.convert_to(call.arg_type(index), call.ty, call.context),
        }
    };
    match path.find(&root).first() {
        None => instead(on_empty, Error::missing_json_value("json_value")),
        Some(Json::Null) => Ok(Datum::Null),
        Some(found) => match json_as_column(found, &call.ty.column_type(), call.name, call.context) {
            Ok(value) => Ok(value.into()),
            Err(error) => instead(on_error, error),
        },
    }
}

/// What stands for ERROR among the arguments.
pub fn json_error_marker() -> Expr {
    Expr { node: Node::Constant(Value::Null), ty: TypeInfo::parameter(CollationId::BINARY) }
}

/// A value as one of a column's type, or why it is none. `name` is what wants it: a function, or a column.
pub fn json_as_column(found: &Json, column: &ColumnType, name: &str, context: &EvalContext<'_>) -> Result<Value> {
    if *column == ColumnType::Json {
        return Ok(json::encode(found)?.into_value());
    }
    let Some(scalar) = json::plain(&found.to_binary()) else {
        return match found {
            Json::Null => Ok(Value::Null),
            _ if name == "json_value" || name == JSON_VALUE => Err(Error::no_scalar_json_value("json_value")),
            _ => {
                let text = format!("Can't store an array or an object in the scalar JSON_TABLE column '{name}'");
                Err(Error::new(3666, b"2203F", text))
            }
        };
    };
    let is_text = matches!(column, ColumnType::Char { .. } | ColumnType::VarChar { .. } | ColumnType::Text { .. });
    let source = match found {
        Json::Bool(truth) if is_text => return Ok(Value::Bytes(truth.to_string().into_bytes())),
        Json::Opaque { .. } => TypeInfo::binary_string(u32::MAX),
        Json::Decimal(number) => TypeInfo::decimal(65, number.scale(), false),
        Json::String(_) => TypeInfo::string(u32::MAX, CollationId::UTF8MB4_BIN, Coercibility::Implicit),
        Json::Time(_) => TypeInfo::time(6),
        Json::DateTime(_) => TypeInfo::datetime(6),
        _ => TypeInfo::NULL,
    };
    let target = assign::Target { name, ty: column, nullable: true };
    Ok(assign(scalar, &source, &target, AssignMode::Strict, 1, context)?.into_value())
}
