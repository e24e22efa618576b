//! JSON_VALUE: what is at a path of a document, as a value of an SQL type. An array or an object is one only as a text.
//!
//! The binder calls [`JSON_VALUE`] with the document, the path, and what to return instead if there is none (ON EMPTY) and
//! if it cannot be converted (ON ERROR): a constant, NULL, or the text `ERROR` as a marker of its own type, which no value
//! has.

use format::collation::CollationId;
use format::value::{ColumnType, Decimal, Json, Value, double_prefix, parse_datetime};

use super::arguments::path;
use super::{Call, Function, Typing, not_null};
use crate::error::{Error, Result};
use crate::expression::cast::zero_filled;
use crate::expression::datum::quoted;
use crate::expression::{AssignMode, Datum, EvalContext, Expr, Node, assign, json};
use crate::types::{Coercibility, Kind, TypeInfo};

/// As the binder calls it: document, path, on empty, on error. No text of a statement can: its name has a space.
pub const JSON_VALUE: &str = "json value";

/// As errors call it.
const NAME: &str = "json_value";

/// The error of a text that is no document.
const INVALID_TEXT: u16 = 3141;

pub const FUNCTIONS: &[Function] = &[
    Function::new("json_value", (2, 2), value_type, |call| value(call, None, None)),
    Function::new(JSON_VALUE, (4, 4), value_type, |call| value(call, Some(2), Some(3))),
];

/// CHAR(512), unless RETURNING says something else.
fn value_type(_: &mut Typing<'_>) -> Result<TypeInfo> {
    Ok(TypeInfo::string(512, CollationId::UTF8MB4_GENERAL_CI, Coercibility::Implicit))
}

fn value<'a>(call: &Call<'a>, on_empty: Option<usize>, on_error: Option<usize>) -> Result<Datum<'a>> {
    // A default that is none of the type is an error, whether it is needed or not.
    let on_empty = Otherwise::new(call, on_empty)?;
    let on_error = Otherwise::new(call, on_error)?;
    let root = match json::document(call.arg(0)?, call.arg_type(0), 1, NAME) {
        Ok(root) => not_null!(root),
        Err(error) if error.code == INVALID_TEXT => {
            if !matches!(on_error, Otherwise::Error) {
                call.context.warn(error.clone());
            }
            return on_error.instead_of(error);
        }
        Err(error) => return Err(error),
    };
    let path = not_null!(path(call, 1)?);
    match path.find(&root).as_slice() {
        [] => on_empty.instead_of(Error::missing_json_value(NAME)),
        [Json::Null] => Ok(Datum::Null),
        [found] => match converted(found, call.ty, call.context) {
            Some(value) => Ok(value),
            None => on_error.instead_of(Error::out_of_range(type_name(call.ty), NAME)),
        },
        _ => on_error.instead_of(Error::several_json_values(NAME)),
    }
}

/// What is returned where there is no value, or none of the type.
enum Otherwise<'a> {
    Null,
    Error,
    Default(Datum<'a>),
}

impl<'a> Otherwise<'a> {
    fn new(call: &Call<'a>, index: Option<usize>) -> Result<Otherwise<'a>> {
        let Some(index) = index else { return Ok(Otherwise::Null) };
        if call.args[index].ty.kind == Kind::Parameter {
            return Ok(Otherwise::Error);
        }
        match call.arg(index)? {
            Datum::Null => Ok(Otherwise::Null),
            value => default(value, call.arg_type(index), call.ty, call.context).map(Otherwise::Default),
        }
    }

    fn instead_of(self, error: Error) -> Result<Datum<'a>> {
        match self {
            Otherwise::Null => Ok(Datum::Null),
            Otherwise::Error => Err(error),
            Otherwise::Default(value) => Ok(value),
        }
    }
}

/// The name of a type in errors.
fn type_name(ty: &TypeInfo) -> &'static str {
    match ty.kind {
        Kind::Year => "YEAR",
        Kind::Float => "FLOAT",
        Kind::Double => "DOUBLE",
        Kind::Decimal => "DECIMAL",
        Kind::Date => "DATE",
        Kind::Time => "TIME",
        Kind::DateTime => "DATETIME",
        Kind::Json => "JSON",
        _ if ty.is_string() => "STRING",
        _ if ty.unsigned => "UNSIGNED",
        _ => "SIGNED",
    }
}

/// A default as a value of the type that is returned.
fn default<'a>(value: Datum<'a>, from: &TypeInfo, ty: &TypeInfo, context: &EvalContext<'_>) -> Result<Datum<'a>> {
    let out_of_range = |kind: &str| Error::out_of_range(kind, NAME);
    let text = value.by_ref().into_text(from).into_owned();
    let no_value = |kind: &str| Error::truncated_wrong_value(kind, &quoted(&text));
    let (kind, wrong) = match ty.kind {
        Kind::Json => {
            let json = json::document(value, from, 1, NAME)?;
            return json.map_or(Ok(Datum::Null), |json| json::encode(&json));
        }
        _ if ty.is_string() => ("CHAR DEFAULT", None),
        Kind::Date | Kind::DateTime => ("TIME DEFAULT", Some(Error::incorrect_value("datetime", &quoted(&text)))),
        Kind::Time => ("TIME DEFAULT", Some(no_value("time"))),
        Kind::Decimal => ("DECIMAL DEFAULT", (!is_number(&text)).then(|| no_value("DECIMAL"))),
        Kind::Float => ("FLOAT DEFAULT", (!is_number(&text)).then(|| no_value("DOUBLE"))),
        Kind::Double => ("DOUBLE DEFAULT", (!is_number(&text)).then(|| no_value("DOUBLE"))),
        Kind::Year => match integer(&text) {
            Some(0 | 1901..=2155) => ("YEAR", None),
            Some(_) => return Err(out_of_range("YEAR")),
            None => return Err(no_value("YEAR")),
        },
        _ if ty.unsigned => ("UNSIGNED DEFAULT", integer(&text).is_none().then(|| no_value("INTEGER UNSIGNED"))),
        _ => ("SIGNED DEFAULT", integer(&text).is_none().then(|| no_value("INTEGER SIGNED"))),
    };
    if let Some(wrong) = wrong {
        // No zero date is a default, and no day that its month does not have, whatever sql_mode says.
        let flags = parse_datetime(&text).flags;
        let is_no_day = flags.zero_date || flags.zero_in_date || flags.invalid_day;
        if !ty.is_temporal() || ty.kind != Kind::Time && is_no_day {
            return Err(wrong);
        }
        // A moment may be wrong in two ways: it is none, or it has more digits behind the point than the type.
        let whole = assigned(value.by_ref(), from, &TypeInfo { decimals: 6, ..*ty }, context).map_err(|_| wrong)?;
        let fitting = assigned(value, from, ty, context)?;
        return if fitting == whole { Ok(fitting) } else { Err(out_of_range(kind)) };
    }
    if ty.kind == Kind::Decimal && Decimal::parse(&text).is_ok_and(|number| number.scale() > ty.decimals) {
        return Err(out_of_range(kind));
    }
    assigned(value, from, ty, context).map_err(|_| out_of_range(kind))
}

fn assigned(value: Datum<'_>, from: &TypeInfo, ty: &TypeInfo, context: &EvalContext<'_>) -> Result<Datum<'static>> {
    let column = ty.column_type();
    let target = assign::Target { name: NAME, ty: &column, nullable: true };
    Ok(assign(value, from, &target, AssignMode::Strict, 1, context)?.into_value().into())
}

fn is_number(text: &[u8]) -> bool {
    let (_, prefix) = double_prefix(text);
    !prefix.truncated && prefix.consumed > 0
}

fn integer(text: &[u8]) -> Option<i128> {
    std::str::from_utf8(text).ok()?.trim().parse().ok()
}

/// What was found as a value of the type that is returned. None: it is none of that type.
fn converted(found: &Json, ty: &TypeInfo, context: &EvalContext<'_>) -> Option<Datum<'static>> {
    match (found, ty.kind) {
        (_, Kind::Json) => return json::encode(found).ok(),
        _ if ty.is_string() => {
            let mut text = Vec::new();
            found.write_bare(&mut text);
            let source = TypeInfo::string(u32::MAX, CollationId::UTF8MB4_BIN, Coercibility::Implicit);
            return assigned(Datum::bytes(text), &source, ty, context).ok();
        }
        // Years are written with four digits.
        (found, Kind::Year) => {
            let wide = json_as_column(found, &ColumnType::Int { bytes: 8, unsigned: false }, NAME, context).ok()?;
            return match wide {
                Value::Int(year @ (0 | 1901..=2155)) => Some(Datum::UInt(year as u64)),
                _ => None,
            };
        }
        // The nearest double of a number that is too small is the smallest integer.
        (Json::Double(number), Kind::BigInt) if !ty.unsigned && *number <= i64::MIN as f64 => return None,
        _ => {}
    }
    json_as_column(found, &ty.column_type(), NAME, context).ok().map(Datum::from)
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
    if matches!(found, Json::Array(_) | Json::Object(_)) {
        let text = format!("Can't store an array or an object in the scalar JSON_TABLE column '{name}'");
        return Err(Error::new(3666, b"2203F", text));
    }
    let is_text = matches!(
        column,
        ColumnType::Char { .. }
            | ColumnType::VarChar { .. }
            | ColumnType::Text { .. }
            | ColumnType::Binary { .. }
            | ColumnType::VarBinary { .. }
            | ColumnType::Blob { .. }
    );
    let (value, source) = match found {
        Json::Null => return Ok(Value::Null),
        _ if is_text => {
            let mut text = Vec::new();
            found.write_bare(&mut text);
            (Datum::bytes(text), TypeInfo::string(u32::MAX, CollationId::UTF8MB4_BIN, Coercibility::Implicit))
        }
        _ => (Datum::Json(found.to_binary().into()), TypeInfo::json()),
    };
    let target = assign::Target { name, ty: column, nullable: true };
    let value = assign(value, &source, &target, AssignMode::Strict, 1, context)?;
    Ok(match (value, column) {
        // A column of a table gets its zeros when it is stored.
        (Datum::Bytes(bytes), ColumnType::Binary { bytes: length }) => {
            zero_filled(bytes, *length, context).into_value()
        }
        (value, _) => value.into_value(),
    })
}
