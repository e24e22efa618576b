//! CAST(... AS type ARRAY): the elements of a JSON array as values of a column type, for a multi-valued index.
//!
//! What an element becomes depends on its value alone, and elements that are equal as JSON values become equal: so whoever
//! looks for a value finds among the rows with what it becomes all those that have it. An element of another kind than the
//! index is an error, as in MySQL.
//!
//! | type | elements |
//! |---|---|
//! | SIGNED, UNSIGNED | integers, also as doubles and decimals, booleans, texts of digits |
//! | DECIMAL | numbers, rounded to its digits; texts of numbers |
//! | CHAR, BINARY | strings; numbers and booleans as the text of a double |
//! | DATE, TIME, DATETIME | the same, and texts of them |

use std::borrow::Cow;

use format::collation::CollationId;
use format::value::{
    ColumnType, DateTime, Decimal, Json, Parsed, Time, Value, array, parse_date, parse_datetime, parse_time,
};

use crate::error::{Error, Result};
use crate::parser::ast::CastType;

/// Why a value cannot be an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    Invalid,
    OutOfRange,
    TooLong,
}

impl Refused {
    /// MySQL's error. The name of the index is known further up, see [`name_index`].
    pub fn error(self) -> Error {
        let (code, state, text) = match self {
            Refused::Invalid => (3903, b"22018", "Invalid JSON value for CAST for functional index ''."),
            Refused::OutOfRange => (3904, b"22003", "Out of range JSON value for CAST for functional index ''."),
            Refused::TooLong => (3907, b"22001", "Data too long for functional index ''."),
        };
        Error::new(code, state, text.to_owned())
    }
}

/// Puts the name of an index into one of these errors.
pub fn name_index(mut error: Error, name: &str) -> Error {
    if matches!(error.code, 3903 | 3904 | 3907) {
        error.message = error.message.replace("''", &format!("'{name}'"));
    }
    error
}

/// The type of the elements of an array; None: there are no such arrays.
pub fn element_type(to: &CastType) -> Option<ColumnType> {
    Some(match to {
        CastType::Signed => ColumnType::Int { bytes: 8, unsigned: false },
        CastType::Unsigned => ColumnType::Int { bytes: 8, unsigned: true },
        CastType::Decimal { precision, scale } => {
            ColumnType::Decimal { precision: *precision, scale: *scale, unsigned: false }
        }
        // As JSON compares strings: by their bytes, spaces included.
        CastType::Char { chars: Some(chars), .. } => {
            ColumnType::VarChar { chars: *chars, collation: CollationId::UTF8MB4_0900_BIN }
        }
        CastType::Binary { bytes: Some(bytes) } => ColumnType::VarBinary { bytes: *bytes },
        CastType::Date => ColumnType::Date,
        CastType::Time { fsp } => ColumnType::Time { fsp: *fsp },
        CastType::DateTime { fsp } => ColumnType::DateTime { fsp: *fsp },
        _ => return None,
    })
}

/// The array that a column stores of a document: of an array its elements, of anything else the one value.
pub fn array_of(document: &Json, ty: &ColumnType) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    let elements = match document {
        Json::Array(elements) => &elements[..],
        one => std::slice::from_ref(one),
    };
    for element in elements {
        array::push(&mut out, &element_of(element, ty).map_err(Refused::error)?);
    }
    Ok(out)
}

/// The stored bytes of an element.
pub fn element_of(element: &Json, ty: &ColumnType) -> std::result::Result<Vec<u8>, Refused> {
    let value = match ty {
        ColumnType::Int { .. } => integer(element)?,
        ColumnType::Decimal { precision, scale, .. } => {
            Value::Decimal(decimal(element)?.fit(*precision, *scale).map_err(|_| Refused::OutOfRange)?)
        }
        ColumnType::VarChar { chars, .. } => match text(element)? {
            text if text.chars().count() > *chars as usize => return Err(Refused::TooLong),
            text => Value::Bytes(text.into_owned().into_bytes()),
        },
        ColumnType::VarBinary { bytes } => match text(element)? {
            text if text.len() > *bytes as usize => return Err(Refused::TooLong),
            text => Value::Bytes(text.into_owned().into_bytes()),
        },
        ColumnType::Date => match element {
            Json::Date(date) => Value::Date(*date),
            Json::DateTime(moment) => Value::Date(moment.date),
            Json::String(text) => Value::Date(whole(parse_date(text.as_bytes()))?),
            _ => return Err(Refused::Invalid),
        },
        ColumnType::Time { fsp } => match element {
            Json::Time(time) => Value::Time(rounded_time(*time, *fsp)),
            Json::String(text) => Value::Time(rounded_time(whole(parse_time(text.as_bytes()))?, *fsp)),
            _ => return Err(Refused::Invalid),
        },
        ColumnType::DateTime { fsp } => match element {
            Json::Date(date) => Value::DateTime(DateTime { date: *date, ..DateTime::ZERO }),
            Json::DateTime(moment) => Value::DateTime(moment.truncate(*fsp)),
            Json::String(text) => Value::DateTime(whole(parse_datetime(text.as_bytes()))?.truncate(*fsp)),
            _ => return Err(Refused::Invalid),
        },
        _ => return Err(Refused::Invalid),
    };
    let mut out = Vec::new();
    ty.encode(&value, &mut out).map_err(|_| Refused::OutOfRange)?;
    Ok(out)
}

/// A string, or what else has a text. Numbers that are equal are one double, so they have one text, whatever their kinds.
fn text(element: &Json) -> std::result::Result<Cow<'_, str>, Refused> {
    Ok(match element {
        Json::String(text) => Cow::Borrowed(text),
        Json::Bool(truth) => Cow::Borrowed(if *truth { "true" } else { "false" }),
        Json::Int(number) => Cow::Owned(shorter(*number as f64)),
        Json::UInt(number) => Cow::Owned(shorter(*number as f64)),
        Json::Double(number) => Cow::Owned(shorter(*number)),
        Json::Decimal(number) => Cow::Owned(shorter(number.to_f64())),
        _ => return Err(Refused::Invalid),
    })
}

/// With an exponent or without; the two zeros are one.
fn shorter(number: f64) -> String {
    let number = number + 0.0;
    let (plain, power) = (format!("{number}"), format!("{number:e}"));
    if power.len() < plain.len() { power } else { plain }
}

fn rounded_time(time: Time, fsp: u8) -> Time {
    time.truncate(fsp)
}

/// A moment that a text is as a whole.
fn whole<T>(parsed: Parsed<T>) -> std::result::Result<T, Refused> {
    let flags = parsed.flags;
    match flags.invalid || flags.invalid_day || flags.truncated || flags.out_of_range || flags.zero_in_date {
        true => Err(Refused::Invalid),
        false => Ok(parsed.value),
    }
}

fn integer(element: &Json) -> std::result::Result<Value, Refused> {
    match element {
        Json::Int(number) => Ok(Value::Int(*number)),
        Json::UInt(number) => Ok(Value::UInt(*number)),
        Json::Bool(truth) => Ok(Value::Int(i64::from(*truth))),
        _ => {
            let number = decimal(element)?;
            if number.truncate(0).sub(&number).map_or(true, |rest| !rest.is_zero()) {
                return Err(Refused::Invalid);
            }
            let number = number.to_i128_truncated().ok_or(Refused::OutOfRange)?;
            match (i64::try_from(number), u64::try_from(number)) {
                (Ok(number), _) => Ok(Value::Int(number)),
                (_, Ok(number)) => Ok(Value::UInt(number)),
                _ => Err(Refused::OutOfRange),
            }
        }
    }
}

fn decimal(element: &Json) -> std::result::Result<Decimal, Refused> {
    match element {
        Json::Int(number) => Ok(Decimal::from_i128(i128::from(*number), 0)),
        Json::UInt(number) => Ok(Decimal::from_i128(i128::from(*number), 0)),
        Json::Bool(truth) => Ok(Decimal::from_i128(i128::from(*truth), 0)),
        Json::Double(number) => Decimal::from_f64(*number).map_err(|_| Refused::OutOfRange),
        Json::Decimal(number) => Ok(*number),
        Json::String(text) => Decimal::parse(text.trim().as_bytes()).map_err(|_| Refused::Invalid),
        _ => Err(Refused::Invalid),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(document: &str, ty: &ColumnType) -> std::result::Result<usize, u16> {
        let json = Json::parse(document.as_bytes()).unwrap();
        array_of(&json, ty).map(|bytes| array::elements(&bytes).count()).map_err(|error| error.code)
    }

    #[test]
    fn elements_are_of_the_kind_of_the_index() {
        let unsigned = ColumnType::Int { bytes: 8, unsigned: true };
        assert_eq!(of("[1, 2.0, \"3\", true, 18446744073709551615]", &unsigned), Ok(5));
        assert_eq!(of("7", &unsigned), Ok(1));
        assert_eq!(of("[]", &unsigned), Ok(0));
        assert_eq!(of("[-1]", &unsigned), Err(3904));
        for wrong in ["[1.5]", "[\"x\"]", "[null]", "[[1]]", "{}"] {
            assert_eq!(of(wrong, &unsigned), Err(3903), "{wrong}");
        }
        let text = element_type(&CastType::Char { chars: Some(3), charset: None, binary: false }).unwrap();
        assert_eq!(of("[\"abc\", \"\"]", &text), Ok(2));
        assert_eq!(of("[\"abcd\"]", &text), Err(3907));
        assert_eq!(of("[1, 1.5, true]", &text), Err(3907));
        assert_eq!(of("[1, 1.5]", &text), Ok(2));
        let one = element_of(&Json::Int(1), &text).unwrap();
        assert_eq!(element_of(&Json::Double(1.0), &text).unwrap(), one);
        assert_eq!(element_of(&Json::Decimal(Decimal::parse(b"1.00").unwrap()), &text).unwrap(), one);
        assert_eq!(of("[null]", &text), Err(3903));
        assert_eq!(of("[\"2020-02-29\"]", &ColumnType::Date), Ok(1));
        assert_eq!(of("[\"2020-02-30\"]", &ColumnType::Date), Err(3903));
    }
}
