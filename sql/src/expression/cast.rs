//! Conversions that a statement writes: CAST, and EXTRACT, which takes a part out of a moment.
//!
//! A value that does not fit becomes the nearest one, or NULL, with a warning; in a strict change some of these are
//! errors ([`EvalContext::doubt`]).

use std::borrow::Cow;

use format::collation::Charset;
use format::value::{DateTime, Decimal, IntervalUnit, Json, Time};

use super::datum::quoted;
use super::numbers::f64_to_i64;
use super::strings::to_charset;
use super::temporal::{Zeros, looks_like_datetime};
use super::{Datum, EvalContext, Expr, json};
use crate::error::{Error, Result};
use crate::parser::ast::CastType;
use crate::types::{Kind, SqlMode, TypeInfo};

/// CAST(value AS to); `ty` is the type of the result.
#[inline(never)]
pub(super) fn cast<'a>(
    value: Datum<'a>,
    expr: &Expr,
    to: &CastType,
    ty: &TypeInfo,
    context: &EvalContext<'_>,
) -> Result<Datum<'a>> {
    let from = &expr.ty;
    let value = match (value, to) {
        (Datum::Null, _) => return Ok(Datum::Null),
        (value, CastType::Json) => return document(value, expr, context),
        (Datum::Json(document), CastType::Signed | CastType::Unsigned | CastType::Year) => {
            json::number(&document, "INTEGER", context)?
        }
        (value, _) => value,
    };
    Ok(match to {
        CastType::Signed => match value {
            Datum::Double(number) if !(-9.3e18..1.85e19).contains(&number) => {
                context.warn(Error::truncated_wrong_value("INTEGER", &text_of(&value, from)));
                Datum::Int(f64_to_i64(number))
            }
            other => Datum::Int(other.to_i64(context)?),
        },
        CastType::Unsigned => match value {
            Datum::Decimal(number) if number.is_negative() => {
                // The bits of the integer, as for an integer.
                Datum::UInt(number.to_i64().unwrap_or_else(|nearest| {
                    context.warn(Error::truncated_wrong_value("DECIMAL", &number.to_string()));
                    nearest
                }) as u64)
            }
            other => Datum::UInt(other.to_u64(context)?),
        },
        CastType::Char { chars, .. } => {
            let source = if from.is_string() { from.charset() } else { Charset::Ascii };
            let charset = ty.charset();
            let Some(text) = to_charset(value.into_text(from), source, charset, context) else {
                return Ok(Datum::Null);
            };
            match chars {
                Some(chars) if charset.char_count(&text) > *chars as usize => {
                    let kept = charset.offset_of_char(&text, *chars as usize);
                    context.doubt(Error::truncated_wrong_value(&format!("CHAR({chars})"), &quoted(&text)))?;
                    Datum::Bytes(cut(text, kept))
                }
                // A connection of bytes: CHAR is BINARY.
                Some(chars) if charset == Charset::Binary => zero_filled(text, *chars, context),
                _ => Datum::Bytes(text),
            }
        }
        CastType::Binary { bytes } => {
            let text = value.into_text(from);
            match bytes {
                Some(bytes) if text.len() > *bytes as usize => {
                    context.doubt(Error::truncated_wrong_value(&format!("BINARY({bytes})"), &quoted(&text)))?;
                    Datum::Bytes(cut(text, *bytes as usize))
                }
                Some(bytes) => zero_filled(text, *bytes, context),
                None => Datum::Bytes(text),
            }
        }
        CastType::Date => cast_moment(&value, context)?.map_or(Datum::Null, |moment| Datum::Date(moment.date)),
        CastType::Time { fsp } => {
            value.to_time(context)?.map_or(Datum::Null, |time| Datum::Time(context.round_time(time, *fsp)))
        }
        CastType::DateTime { fsp } => {
            let moment = cast_moment(&value, context)?.and_then(|moment| context.round_datetime(moment, *fsp));
            moment.map_or(Datum::Null, Datum::DateTime)
        }
        CastType::Decimal { precision, scale } => {
            let decimal = value.to_decimal(context)?;
            match decimal.fit(*precision, *scale) {
                Ok(decimal) => Datum::Decimal(decimal),
                Err(_) => {
                    context.doubt(Error::column_out_of_range("CAST", 1))?;
                    let largest = Decimal::max(*precision, *scale);
                    Datum::Decimal(if decimal.is_negative() { largest.neg() } else { largest })
                }
            }
        }
        CastType::Float => {
            let double = value.to_f64(context)?;
            let float = double as f32;
            if float.is_infinite() && double.is_finite() {
                return Err(Error::out_of_range("FLOAT", &format!("cast({double:e} as float)")));
            }
            Datum::Double(float.into())
        }
        CastType::Double => Datum::Double(value.to_f64(context)?),
        CastType::Year => {
            let year = match &value {
                Datum::Date(date) => date.year as i64,
                Datum::DateTime(moment) => moment.date.year as i64,
                Datum::Time(_) => context.now().date.year as i64,
                Datum::Bytes(text) => match year_of_text(text, context)? {
                    Some(year) => year,
                    None => return Ok(Datum::Null),
                },
                other => other.to_i64(context)?,
            };
            match year {
                0 => Datum::UInt(0),
                1..=69 => Datum::UInt(year as u64 + 2000),
                70..=99 => Datum::UInt(year as u64 + 1900),
                1901..=2155 => Datum::UInt(year as u64),
                _ => {
                    context.doubt(Error::truncated_wrong_value("YEAR", &year.to_string()))?;
                    Datum::Null
                }
            }
        }
        CastType::Json => return Err(Error::internal("a cast to JSON")),
        CastType::Geometry(_) => return Err(Error::internal("a cast to a geometry")),
    })
}

/// The digits in front of a text; up to three zeros mean 2000, as in a column of YEAR.
fn year_of_text(text: &[u8], context: &EvalContext<'_>) -> Result<Option<i64>> {
    let shown = || String::from_utf8_lossy(text).into_owned();
    let trimmed = text.trim_ascii();
    let count = trimmed.iter().take_while(|byte| byte.is_ascii_digit()).count();
    if count == 0 {
        context.doubt(Error::wrong_date_type("YEAR", &shown()))?;
        return Ok(None);
    }
    if count < trimmed.len() {
        context.doubt(Error::truncated_wrong_value("YEAR", &shown()))?;
    }
    let year = std::str::from_utf8(&trimmed[..count]).ok().and_then(|digits| digits.parse().ok()).unwrap_or(i64::MAX);
    Ok(Some(if year == 0 && count < 4 { 2000 } else { year }))
}

/// Whether it is of ENUM or SET: the names of members are no documents.
fn is_member(expr: &Expr) -> bool {
    matches!(expr.ty.kind, Kind::Enum | Kind::Set)
}

/// CAST(value AS JSON): a text is read as a document, all else is a value of its kind.
#[inline(never)]
fn document<'a>(value: Datum<'a>, expr: &Expr, context: &EvalContext<'_>) -> Result<Datum<'a>> {
    match value {
        Datum::Json(document) => Ok(Datum::Json(document)),
        Datum::Bytes(text) if expr.ty.is_string() && !expr.ty.is_binary() && !is_member(expr) => {
            let text = json::unicode(&text, expr.ty.charset());
            let json =
                Json::parse(text.as_bytes()).map_err(|error| Error::invalid_json_argument(error, 1, "cast_as_json"))?;
            if json.is_too_deep() {
                return Err(Error::json_too_deep());
            }
            let binary = json.to_binary();
            if binary.len() as u64 > context.max_allowed_packet_bytes {
                context.warn(Error::result_too_large("cast_as_json", context.max_allowed_packet_bytes));
                return Ok(Datum::Null);
            }
            Ok(Datum::Json(binary.into()))
        }
        value => json::encode(&json::of_value(value, expr)?),
    }
}

/// An explicit cast heeds NO_ZERO_DATE and NO_ZERO_IN_DATE.
fn cast_moment(value: &Datum<'_>, context: &EvalContext<'_>) -> Result<Option<DateTime>> {
    let Some(moment) = value.to_datetime(Zeros::Allowed, context)? else { return Ok(None) };
    let refused = if moment.date.is_zero() {
        context.mode.has(SqlMode::NO_ZERO_DATE)
    } else {
        moment.date.has_zero_part() && context.mode.has(SqlMode::NO_ZERO_IN_DATE)
    };
    if refused {
        context.doubt(Error::incorrect_value("datetime", &text_of(value, &TypeInfo::NULL)))?;
        return Ok(None);
    }
    Ok(Some(moment))
}

fn text_of(value: &Datum<'_>, ty: &TypeInfo) -> String {
    quoted(&value.by_ref().into_text(ty))
}

/// Bytes that are no longer than this, with zeros up to it.
pub fn zero_filled<'a>(text: Cow<'a, [u8]>, length: u32, context: &EvalContext<'_>) -> Datum<'a> {
    if text.len() == length as usize {
        return Datum::Bytes(text);
    }
    if u64::from(length) > context.max_allowed_packet_bytes {
        context.warn(Error::result_too_large("cast_as_binary", context.max_allowed_packet_bytes));
        return Datum::Null;
    }
    let mut text = text.into_owned();
    text.resize(length as usize, 0);
    Datum::bytes(text)
}

fn cut(text: Cow<'_, [u8]>, length: usize) -> Cow<'_, [u8]> {
    match text {
        Cow::Borrowed(text) => Cow::Borrowed(&text[..length]),
        Cow::Owned(mut text) => {
            text.truncate(length);
            Cow::Owned(text)
        }
    }
}

/// EXTRACT(unit FROM value).
pub(super) fn extract<'a>(
    value: &Datum<'_>,
    ty: &TypeInfo,
    unit: IntervalUnit,
    context: &EvalContext<'_>,
) -> Result<Datum<'a>> {
    use IntervalUnit::*;
    // Days and less can come from a TIME, which may be long and negative.
    if unit.has_time() && !ty.has_date() {
        let has_date = matches!(value, Datum::Bytes(text) if looks_like_datetime(text));
        if !has_date {
            let Some(time) = value.to_time(context)? else { return Ok(Datum::Null) };
            return Ok(Datum::Int(time_part(&time, unit)));
        }
    }
    let Some(moment) = value.to_datetime(Zeros::AsMode, context)? else { return Ok(Datum::Null) };
    let date = moment.date;
    let (year, month, day) = (date.year as i64, date.month as i64, date.day as i64);
    Ok(Datum::Int(match unit {
        Year => year,
        YearMonth => year * 100 + month,
        Quarter => (month + 2) / 3,
        Month => month,
        Week => date.week(context.default_week_format).1 as i64,
        Day => day,
        DayHour | DayMinute | DaySecond | DayMicrosecond => {
            let time = time_part(&moment.time(), unit);
            day * days_unit(unit) + time
        }
        _ => time_part(&moment.time(), unit),
    }))
}

/// What a day is worth in front of the digits of a compound unit.
fn days_unit(unit: IntervalUnit) -> i64 {
    match unit {
        IntervalUnit::DayHour => 100,
        IntervalUnit::DayMinute => 10_000,
        IntervalUnit::DaySecond => 1_000_000,
        _ => 1_000_000_000_000,
    }
}

fn time_part(time: &Time, unit: IntervalUnit) -> i64 {
    use IntervalUnit::*;
    let (hour, minute, second, micros) =
        (time.hours as i64, time.minutes as i64, time.seconds as i64, time.micros as i64);
    let part = match unit {
        Hour | DayHour => hour,
        HourMinute | DayMinute => hour * 100 + minute,
        HourSecond | DaySecond => hour * 10_000 + minute * 100 + second,
        HourMicrosecond | DayMicrosecond => (hour * 10_000 + minute * 100 + second) * 1_000_000 + micros,
        Minute => minute,
        MinuteSecond => minute * 100 + second,
        MinuteMicrosecond => (minute * 100 + second) * 1_000_000 + micros,
        Second => second,
        SecondMicrosecond => second * 1_000_000 + micros,
        _ => micros,
    };
    if time.negative { -part } else { part }
}
