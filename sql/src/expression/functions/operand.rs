//! Constants beside a column: what the binder puts around them, so that they are compared as the column's type. And what
//! is put around columns themselves.
//!
//! | the constant stands beside | it becomes |
//! |---|---|
//! | a YEAR, and has one or two digits | a year of 1970 to 2069 |
//! | a column of integers or decimals, and is a text that is a number | that number, exactly |
//! | a DATE, DATETIME or TIMESTAMP, and is a text | the moment; 1525 if it is none, but among several of IN and in BETWEEN a warning and the zero date |
//! | a YEAR, and is a date | itself: the year becomes the moment before its first day |
//! | a TIME, and is a text | the time |
//! | a text that decides the character set, as the first of REPLACE | a text of that set |
//! | JSON, constant or not | a JSON value of its kind |
//!
//! A text beside a number would be compared as a double, in which `102935229216544094` is also its neighbours. A key is
//! looked up with the value that comes out of here, and a condition is evaluated with it, so an index and a scan find the
//! same rows (kept by `sql/tests/relations.rs`).
//!
//! No text of a statement can call these functions: their names have spaces.

use format::collation::{Charset, convert};
use format::value::{Date, DateTime, Decimal, Time};

use super::{Call, Function, Typing, typings};
use crate::error::{Error, Result};
use crate::expression::datum::quoted;
use crate::expression::temporal::comparison_moment;
use crate::expression::{Datum, json};
use crate::types::{Kind, TypeInfo};

pub const YEAR_OPERAND: &str = "year operand";
/// Around a YEAR beside a date.
pub const YEAR_MOMENT: &str = "year moment";
pub const NUMBER_OPERAND: &str = "number operand";
pub const TIME_OPERAND: &str = "time operand";
pub const JSON_OPERAND: &str = "json operand";
/// Around each CHAR column in the mode PAD_CHAR_TO_FULL_LENGTH.
pub const PADDED: &str = "padded char";
/// Around a text where another one decides the character set.
pub const TEXT_OF: &str = "text of";
/// A text among several that stand beside a date.
pub const LISTED_MOMENT: &str = "listed moment";
/// By the kind of the column.
pub const MOMENT_OPERANDS: [(Kind, &str); 3] =
    [(Kind::Date, "date operand"), (Kind::DateTime, "datetime operand"), (Kind::Timestamp, "timestamp operand")];

pub const FUNCTIONS: &[Function] = &[
    Function::new(YEAR_OPERAND, (1, 1), typings::bigint, year_operand).operand(),
    Function::new(YEAR_MOMENT, (1, 1), moment_type, year_moment).operand(),
    Function::new(NUMBER_OPERAND, (1, 1), same_type, number_operand).operand(),
    Function::new(TIME_OPERAND, (1, 1), same_type, time_operand).operand(),
    Function::new(JSON_OPERAND, (1, 1), json_type, json_operand).operand(),
    Function::new(PADDED, (1, 1), same_type, padded).of_any_text(),
    Function::new(TEXT_OF, (1, 1), same_type, text_of).of_any_text(),
    Function::new(LISTED_MOMENT, (1, 1), same_type, |call| moment_operand(call, None)).operand(),
    Function::new(MOMENT_OPERANDS[0].1, (1, 1), same_type, |call| moment_operand(call, Some("DATE"))).operand(),
    Function::new(MOMENT_OPERANDS[1].1, (1, 1), same_type, |call| moment_operand(call, Some("DATETIME"))).operand(),
    Function::new(MOMENT_OPERANDS[2].1, (1, 1), same_type, |call| moment_operand(call, Some("TIMESTAMP"))).operand(),
];

/// The type stays that of the constant: it decides how other operands of an IN or BETWEEN are compared with it.
fn same_type(typing: &mut Typing<'_>) -> Result<TypeInfo> {
    Ok(typing.args[0].ty)
}

fn moment_type(typing: &mut Typing<'_>) -> Result<TypeInfo> {
    Ok(TypeInfo::datetime(0).nullable(typing.any_nullable()))
}

fn json_type(typing: &mut Typing<'_>) -> Result<TypeInfo> {
    Ok(TypeInfo::json().nullable(typing.any_nullable()))
}

fn json_operand<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    match call.arg(0)? {
        Datum::Null => Ok(Datum::Null),
        value => json::encode(&json::of_value(value, &call.args[0])?),
    }
}

/// A CHAR with the spaces behind it that are not stored.
fn padded<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let mut text = match call.arg(0)? {
        Datum::Bytes(text) => text.into_owned(),
        other => return Ok(other),
    };
    let charset = call.ty.charset();
    charset.push_spaces((call.ty.length as usize).saturating_sub(charset.char_count(&text)), &mut text);
    Ok(Datum::bytes(text))
}

/// A text in the character set of the result. One that has none there, and bytes that are no text, are an error.
fn text_of<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let Some(text) = call.text(0)? else { return Ok(Datum::Null) };
    let (from, to) = (call.charset_of(0), call.charset());
    if from == Charset::Binary && to.well_formed_prefix(&text) == text.len() {
        return Ok(Datum::Bytes(text));
    }
    let mut converted = Vec::new();
    if convert(&text, from, to, &mut converted) && to.well_formed_prefix(&converted) == converted.len() {
        return Ok(Datum::bytes(converted));
    }
    Err(Error::cannot_convert_string(&text, from.name(), to.name()))
}

fn year_moment<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let value = call.arg(0)?;
    if value.is_null() {
        return Ok(Datum::Null);
    }
    let date = Date { year: value.to_i64(call.context)? as u16, month: 0, day: 0 };
    Ok(Datum::DateTime(DateTime { date, ..DateTime::ZERO }))
}

/// A year of one or two digits is one of 1970 to 2069; the number 0 is the year 0000, the text '0' is 2000.
fn year_operand<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let value = call.arg(0)?;
    let is_short_text = matches!(&value, Datum::Bytes(text) if text.trim_ascii().len() < 3);
    Ok(match value {
        Datum::Null => Datum::Null,
        Datum::UInt(year) => Datum::UInt(year),
        value => match number_of(value, call)? {
            Datum::Int(0) if is_short_text => Datum::Int(2000),
            Datum::Int(year @ 1..=69) => Datum::Int(year + 2000),
            Datum::Int(year @ 70..=99) => Datum::Int(year + 1900),
            number => number,
        },
    })
}

/// A text that is a number and nothing else is that number. Any other is the double that it begins with, as everywhere.
fn number_operand<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    number_of(call.arg(0)?, call)
}

fn number_of<'a>(value: Datum<'a>, call: &Call<'_>) -> Result<Datum<'a>> {
    let Datum::Bytes(text) = &value else { return Ok(value) };
    Ok(match exact_number(text) {
        Some(number) => number,
        None => Datum::Double(value.to_f64(call.context)?),
    })
}

/// The number that a text is, spaces around it allowed; an integer if it has no fraction. None for anything else, and for
/// numbers of more digits than a DECIMAL has.
pub fn exact_number(text: &[u8]) -> Option<Datum<'static>> {
    // The common text: few digits.
    if text.len() <= 18 && !text.is_empty() && text.iter().all(u8::is_ascii_digit) {
        return Some(Datum::Int(text.iter().fold(0, |number, digit| number * 10 + i64::from(digit - b'0'))));
    }
    let number = Decimal::parse(text).ok()?;
    if number.truncate(0) != number || number.precision() > 65 {
        return (number.precision() <= 65).then_some(Datum::Decimal(number));
    }
    Some(match (number.to_i64(), number.to_u64()) {
        (Ok(number), _) => Datum::Int(number),
        (_, Ok(number)) => Datum::UInt(number),
        _ => Datum::Decimal(number),
    })
}

/// A text beside a TIME is one. What is none has been warned of, and is 00:00:00.
fn time_operand<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let value = call.arg(0)?;
    Ok(match &value {
        Datum::Bytes(_) => Datum::Time(value.to_time(call.context)?.unwrap_or(Time::ZERO)),
        _ => value,
    })
}

/// A text beside a date is one. A day that its month does not have, where sql_mode allows such, is compared as it is
/// written, behind the month's last.
fn moment_operand<'a>(call: &Call<'a>, kind: Option<&str>) -> Result<Datum<'a>> {
    let value = call.arg(0)?;
    let Datum::Bytes(text) = &value else { return Ok(value) };
    let moment: DateTime = match comparison_moment(text, call.context.zone, call.context.mode) {
        Some((moment, truncated)) => {
            if truncated {
                call.context.doubt(Error::truncated_wrong_value("datetime", &quoted(text)))?;
            }
            moment
        }
        None => match kind {
            // What a variable of the session has is no constant of the statement.
            Some(kind) if !call.args[0].reads_user_variable() => {
                return Err(Error::wrong_date_type(kind, &quoted(text)));
            }
            _ => {
                call.context.doubt(Error::incorrect_value("datetime", &quoted(text)))?;
                DateTime::ZERO
            }
        },
    };
    Ok(Datum::DateTime(moment))
}
