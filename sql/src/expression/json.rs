//! JSON among SQL's types: an SQL value as a JSON value, and a JSON value as a number, a moment or a condition.
//!
//! | SQL | JSON |
//! |---|---|
//! | TRUE, FALSE, and what is true or false | a boolean |
//! | integers, doubles, decimals, dates and times | the same |
//! | a text | a string: its characters, not what they would be as a document |
//! | a geometry | the object of GeoJSON |
//! | BIT, and strings of bytes | opaque bytes |
//!
//! None of this is inlined: expressions nest, and so do the frames of those who evaluate them.
//!
//! The other way only scalars have a value. What has none is 0 or NULL, with warning 3156; in a strict change that is an
//! error.

use std::cmp::Ordering;

use format::collation::{Charset, convert};
use format::value::{Json, double_prefix, parse_datetime, parse_time};

use super::datum::Datum;
use super::{EvalContext, Expr, geojson, geometry};
use crate::error::{Error, Result};
use crate::types::{Kind, TypeInfo};

/// What opaque bytes say of where they come from: the number of a column type.
const VARBINARY: u8 = 15;
const BIT: u8 = 16;
const BLOB: u8 = 252;
const BINARY: u8 = 254;

/// Reads a document; damage is 3142.
#[inline(never)]
pub fn decode(document: &[u8]) -> Result<Json> {
    Json::decode(document).map_err(|_| Error::invalid_json_binary())
}

/// A value that is read as a document: one of type JSON, or a text. NULL is None. `argument` is counted from 1.
#[inline(never)]
pub fn document(value: Datum<'_>, ty: &TypeInfo, argument: usize, function: &str) -> Result<Option<Json>> {
    document_unless(value, ty, (argument, function), &|| false)
}

/// The same of a document that may be long: `gives_up` is asked now and then, and then the error is any.
#[inline(never)]
pub fn document_unless(
    value: Datum<'_>,
    ty: &TypeInfo,
    (argument, function): (usize, &str),
    gives_up: &dyn Fn() -> bool,
) -> Result<Option<Json>> {
    match value {
        Datum::Null => Ok(None),
        Datum::Json(document) => match Json::decode_unless(&document, gives_up) {
            Ok(document) => Ok(Some(document)),
            Err(_) => Err(Error::invalid_json_binary()),
        },
        Datum::Bytes(text) if ty.is_string() => {
            if ty.is_binary() {
                return Err(Error::json_charset("binary"));
            }
            let text = unicode(&text, ty.charset());
            let read = Json::parse_unless(text.as_bytes(), gives_up);
            read.map(Some).map_err(|error| Error::invalid_json_argument(error, argument, function))
        }
        _ => Err(Error::json_argument_type(argument, function)),
    }
}

/// The document of a value that was put together. It may have become nested too deep: 3157.
#[inline(never)]
pub fn encode<'a>(json: &Json) -> Result<Datum<'a>> {
    match json.is_too_deep() {
        true => Err(Error::json_too_deep()),
        false => Ok(Datum::Json(json.to_binary().into())),
    }
}

/// The JSON value that an SQL value is; NULL is `null`.
#[inline(never)]
pub fn of_value(value: Datum<'_>, expr: &Expr) -> Result<Json> {
    let is_condition = expr.ty == TypeInfo::boolean().nullable(expr.ty.nullable) && expr.as_column().is_none();
    match value {
        Datum::Int(truth) if is_condition => Ok(Json::Bool(truth != 0)),
        value => of_typed(value, &expr.ty),
    }
}

/// The same of a value that no expression stands for.
#[inline(never)]
pub fn of_typed(value: Datum<'_>, ty: &TypeInfo) -> Result<Json> {
    Ok(match value {
        Datum::Null => Json::Null,
        Datum::Int(number) => Json::Int(number),
        Datum::UInt(bits) if ty.kind == Kind::Bit => {
            let bytes = bits.to_be_bytes();
            let count = (ty.length.clamp(1, 64) as usize).div_ceil(8);
            Json::Opaque { code: BIT, bytes: bytes[8 - count..].to_vec() }
        }
        Datum::UInt(number) => Json::UInt(number),
        Datum::Double(number) => Json::Double(number),
        Datum::Decimal(_) => match value.fit(ty) {
            Datum::Decimal(number) => Json::Decimal(number),
            _ => Json::Null,
        },
        Datum::Bytes(bytes) if ty.is_geometry() => {
            geojson::write(&geometry::decode(&bytes, "cast_as_json")?, Default::default())
        }
        Datum::Bytes(bytes) if ty.is_string() && ty.is_binary() => {
            let code = match ty.kind {
                Kind::Char => BINARY,
                Kind::Text => BLOB,
                _ => VARBINARY,
            };
            Json::Opaque { code, bytes: bytes.into_owned() }
        }
        Datum::Bytes(text) => {
            Json::String(unicode(&text, if ty.is_string() { ty.charset() } else { Charset::Utf8mb4 }))
        }
        Datum::Date(date) => Json::Date(date),
        Datum::Time(time) => Json::Time(time),
        Datum::DateTime(moment) => Json::DateTime(moment),
        Datum::Json(document) => decode(&document)?,
    })
}

/// A text in UTF-8.
pub fn unicode(text: &[u8], charset: Charset) -> String {
    let from = if charset == Charset::Binary { Charset::Utf8mb4 } else { charset };
    if from.has_same_bytes(text, Charset::Utf8mb4) || from.converts_verbatim(Charset::Utf8mb4) {
        return String::from_utf8_lossy(text).into_owned();
    }
    let mut converted = Vec::with_capacity(text.len() * 2);
    convert(text, from, Charset::Utf8mb4, &mut converted);
    String::from_utf8_lossy(&converted).into_owned()
}

/// The SQL value of a scalar. None: `null`, an array or an object.
#[inline(never)]
pub fn plain(document: &[u8]) -> Option<Datum<'static>> {
    Some(match Json::decode(document).ok()? {
        Json::Bool(truth) => Datum::Int(i64::from(truth)),
        Json::Int(number) => Datum::Int(number),
        Json::UInt(number) => Datum::UInt(number),
        Json::Double(number) => Datum::Double(number),
        Json::Decimal(number) => Datum::Decimal(number),
        Json::String(text) => Datum::text(text),
        Json::Date(date) => Datum::Date(date),
        Json::Time(time) => Datum::Time(time),
        Json::DateTime(moment) => Datum::DateTime(moment),
        Json::Opaque { bytes, .. } => Datum::bytes(bytes),
        Json::Null | Json::Array(_) | Json::Object(_) => return None,
    })
}

/// Whether a string is a date, or a date and time, as a whole.
pub fn is_date(text: &[u8]) -> bool {
    let flags = parse_datetime(text).flags;
    !(flags.invalid || flags.truncated || flags.out_of_range)
}

/// Whether a string is a time as a whole: with a colon, as a number of seconds is none here.
pub fn is_time(text: &[u8]) -> bool {
    let flags = parse_time(text).flags;
    text.contains(&b':') && !(flags.invalid || flags.truncated || flags.out_of_range)
}

/// As a number; `kind` is what it is for: INTEGER, DOUBLE, DECIMAL.
#[inline(never)]
pub fn number(document: &[u8], kind: &str, context: &EvalContext<'_>) -> Result<Datum<'static>> {
    match plain(document) {
        Some(Datum::Bytes(text)) => {
            let (number, prefix) = double_prefix(&text);
            if prefix.truncated || prefix.consumed == 0 {
                context.doubt(Error::invalid_json_for_cast(kind))?;
                return Ok(Datum::Double(number));
            }
            Ok(Datum::Bytes(text))
        }
        // A moment is no number here, as in MySQL.
        Some(scalar @ (Datum::Int(_) | Datum::UInt(_) | Datum::Double(_) | Datum::Decimal(_))) => Ok(scalar),
        _ => {
            context.doubt(Error::invalid_json_for_cast(kind))?;
            Ok(Datum::Int(0))
        }
    }
}

/// As a condition: everything is true but the number 0, as in MySQL; `false` is, too.
#[inline(never)]
pub fn truth(document: &[u8]) -> Result<bool> {
    Ok(decode(document)?.compare(&Json::Int(0)) != Ordering::Equal)
}

/// The order of two values of which one is JSON at least.
#[inline(never)]
pub fn compare(left: &Datum<'_>, right: &Datum<'_>, context: &EvalContext<'_>) -> Result<Ordering> {
    if let (Datum::Json(left), Datum::Json(right)) = (left, right)
        && left == right
    {
        return Ok(Ordering::Equal);
    }
    // A long document is read for seconds.
    let gives_up = || context.session.is_interrupted();
    let read = |value: &Datum<'_>| match value {
        Datum::Json(document) => Json::decode_unless(document, &gives_up).map_err(|_| match gives_up() {
            true => Error::interrupted(),
            false => Error::invalid_json_binary(),
        }),
        value => of_typed(value.by_ref(), &untyped(value)),
    };
    Ok(read(left)?.compare(&read(right)?))
}

/// The type of a value whose expression is not known.
fn untyped(value: &Datum<'_>) -> TypeInfo {
    match value {
        Datum::Decimal(number) => TypeInfo::decimal(65, number.scale(), false),
        _ => TypeInfo::NULL,
    }
}
