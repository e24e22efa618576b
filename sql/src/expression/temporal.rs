//! Values as dates and times.
//!
//! Whatever MySQL can read as a date, it does, and warns about what it did not
//! like: `'2024-02-30'` is NULL and warning 1292, `'2024-01-02 xyz'` is a date and
//! a warning. Which zero dates are welcome depends on `sql_mode`; within
//! expressions they mostly are.

use std::borrow::Cow;

use format::value::{
    Date, DateTime, Interval, IntervalUnit, ParseFlags, Parsed, Time, Zone, datetime_from_decimal,
    datetime_from_number, parse_datetime, parse_time, time_from_decimal, time_from_number,
};

use super::datum::{Datum, quoted};
use super::{EvalContext, json};
use crate::error::{Error, Result};
use crate::types::{SqlMode, TypeInfo};

/// What a caller makes of zero months and days.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Zeros {
    /// 0000-00-00 and 2024-00-00 are values: comparison.
    Allowed,
    /// As [`Zeros::AsMode`], but for numbers: 0 is the zero date in each mode. What functions take parts of dates.
    Parts,
    /// They are values in dates; a text or number that means 0000-00-00 is NULL if the mode is NO_ZERO_DATE: what
    /// functions take out of dates.
    AsMode,
    /// They are NULL: functions that compute with days.
    Refused,
}

impl EvalContext<'_> {
    /// NOW() in the session's zone.
    pub fn now(&self) -> DateTime {
        self.local(self.now_seconds, self.now_micros)
    }

    /// NOW() in UTC.
    pub fn now_utc(&self) -> DateTime {
        let micros = self.now_seconds.saturating_mul(1_000_000).saturating_add(self.now_micros as i64);
        DateTime::from_unix_micros(micros, Zone::UTC).unwrap_or(DateTime::ZERO)
    }

    /// A moment in the session's zone.
    pub fn local(&self, seconds: i64, micros: u32) -> DateTime {
        let micros = seconds.saturating_mul(1_000_000).saturating_add(micros as i64);
        DateTime::from_unix_micros(micros, self.zone).unwrap_or(DateTime::ZERO)
    }
}

impl Datum<'_> {
    /// As a date and time; a TIME is on the current day. None for NULL and for what is none, which is warned of.
    pub fn to_datetime(&self, zeros: Zeros, context: &EvalContext<'_>) -> Result<Option<DateTime>> {
        let value = match self {
            Datum::Null => return Ok(None),
            Datum::DateTime(value) => *value,
            Datum::Date(value) => value.at_midnight(),
            Datum::Time(value) => return Ok(time_to_datetime(value, context)),
            Datum::Int(number) => return number_result(datetime_from_number(*number, 0), self, zeros, context),
            Datum::UInt(number) => {
                let number = i64::try_from(*number).unwrap_or(i64::MAX);
                return number_result(datetime_from_number(number, 0), self, zeros, context);
            }
            Datum::Decimal(number) => return number_result(datetime_from_decimal(number), self, zeros, context),
            Datum::Double(_) => {
                let decimal = self.to_decimal(context)?;
                return number_result(datetime_from_decimal(&decimal), self, zeros, context);
            }
            Datum::Bytes(text) => {
                return checked(parse_datetime(text).in_zone(context.zone), zeros, context, || quoted(text));
            }
            Datum::Json(document) => {
                let Some(scalar) = json_moment(document, false, context)? else { return Ok(None) };
                return scalar.to_datetime(zeros, context);
            }
        };
        if zeros == Zeros::Refused && value.date.has_zero_part() {
            let mut text = Vec::new();
            self.write_text(&TypeInfo::datetime(0), &mut text);
            context.doubt(Error::incorrect_value("datetime", &quoted(&text)))?;
            return Ok(None);
        }
        Ok(Some(value))
    }

    pub fn to_date(&self, zeros: Zeros, context: &EvalContext<'_>) -> Result<Option<Date>> {
        Ok(self.to_datetime(zeros, context)?.map(|value| value.date))
    }

    /// As a TIME: the time of a date and time, the digits of a number.
    pub fn to_time(&self, context: &EvalContext<'_>) -> Result<Option<Time>> {
        let parsed = match self {
            Datum::Null => return Ok(None),
            Datum::Time(value) => return Ok(Some(*value)),
            Datum::DateTime(value) => return Ok(Some(value.time())),
            Datum::Date(_) => return Ok(Some(Time::ZERO)),
            Datum::Int(number) => time_from_number(*number, 0),
            Datum::UInt(number) => time_from_number(i64::try_from(*number).unwrap_or(i64::MAX), 0),
            Datum::Decimal(number) => time_from_decimal(number),
            Datum::Double(_) => time_from_decimal(&self.to_decimal(context)?),
            Datum::Bytes(text) => parse_time(text),
            Datum::Json(document) => {
                let Some(scalar) = json_moment(document, true, context)? else { return Ok(None) };
                return scalar.to_time(context);
            }
        };
        let flags = parsed.flags;
        if flags.invalid || flags.truncated || flags.out_of_range {
            let text = self.by_ref().into_text(&TypeInfo::NULL).into_owned();
            context.doubt(Error::truncated_wrong_value("time", &quoted(&text)))?;
        }
        // A text is clipped to the range of TIME, a number beyond it is none.
        let is_number = !matches!(self, Datum::Bytes(_));
        let is_none = flags.invalid || (is_number && flags.out_of_range);
        Ok((!is_none).then_some(parsed.value))
    }
}

/// What a JSON value says of a moment. A number says nothing, a time nothing of a date, nor a date of a time.
#[inline(never)]
fn json_moment(document: &[u8], is_time: bool, context: &EvalContext<'_>) -> Result<Option<Datum<'static>>> {
    match json::plain(document) {
        Some(Datum::Bytes(text)) if is_time && json::is_time(&text) || !is_time && json::is_date(&text) => {
            Ok(Some(Datum::Bytes(text)))
        }
        Some(time @ Datum::Time(_)) if is_time => Ok(Some(time)),
        Some(moment @ (Datum::Date(_) | Datum::DateTime(_))) if !is_time => Ok(Some(moment)),
        _ => {
            context.doubt(Error::invalid_json_for_cast("DATE/TIME/DATETIME/TIMESTAMP"))?;
            Ok(None)
        }
    }
}

/// A TIME on the current day, as CAST(time AS DATETIME) does.
fn time_to_datetime(time: &Time, context: &EvalContext<'_>) -> Option<DateTime> {
    let today = context.now().date.at_midnight();
    let interval = Interval { months: 0, days: 0, micros: time.to_micros() };
    today.add(&interval)
}

fn number_result(
    parsed: Parsed<DateTime>,
    datum: &Datum<'_>,
    zeros: Zeros,
    context: &EvalContext<'_>,
) -> Result<Option<DateTime>> {
    let zeros = if zeros == Zeros::Parts { Zeros::Allowed } else { zeros };
    checked(parsed, zeros, context, || quoted(&datum.by_ref().into_text(&TypeInfo::NULL)))
}

/// A text as a moment to compare with, and whether something follows it. None: it is none, or a zero date that sql_mode
/// does not admit, or has a day that its month does not have, unless sql_mode allows such days.
pub fn comparison_moment(text: &[u8], zone: Zone, mode: SqlMode) -> Option<(DateTime, bool)> {
    let parsed = parse_datetime(text).in_zone(zone);
    let flags = parsed.flags;
    let refused = flags.invalid
        || flags.out_of_range
        || (flags.invalid_day && !mode.has(SqlMode::ALLOW_INVALID_DATES))
        || (flags.zero_date && mode.has(SqlMode::NO_ZERO_DATE))
        || (flags.zero_in_date && mode.has(SqlMode::NO_ZERO_IN_DATE));
    (!refused).then_some((parsed.value, flags.truncated))
}

/// The moment that a number beside a date is. None for what is no number, and for a number that is no date: it is
/// compared as a number.
pub fn moment_of_number(value: &Datum<'_>, mode: SqlMode) -> Option<DateTime> {
    let parsed = match value {
        Datum::Int(number) => datetime_from_number(*number, 0),
        Datum::UInt(number) => datetime_from_number(i64::try_from(*number).ok()?, 0),
        Datum::Decimal(number) => datetime_from_decimal(number),
        _ => return None,
    };
    (!is_bad_date(&parsed.flags, Zeros::Allowed, mode)).then_some(parsed.value)
}

/// The same of a number beside a TIME.
pub fn time_of_number(value: &Datum<'_>) -> Option<Time> {
    let parsed = match value {
        Datum::Int(number) => time_from_number(*number, 0),
        Datum::UInt(number) => time_from_number(i64::try_from(*number).ok()?, 0),
        Datum::Decimal(number) => time_from_decimal(number),
        _ => return None,
    };
    let flags = parsed.flags;
    (!flags.invalid && !flags.truncated && !flags.out_of_range).then_some(parsed.value)
}

/// What parsing found, with its warnings.
fn checked(
    parsed: Parsed<DateTime>,
    zeros: Zeros,
    context: &EvalContext<'_>,
    text: impl Fn() -> String,
) -> Result<Option<DateTime>> {
    let flags = parsed.flags;
    if is_bad_date(&flags, zeros, context.mode) {
        context.doubt(Error::incorrect_value("datetime", &text()))?;
        return Ok(None);
    }
    if flags.truncated {
        context.doubt(Error::truncated_wrong_value("datetime", &text()))?;
    }
    Ok(Some(parsed.value))
}

/// Whether a date that was read is no date for the caller.
pub fn is_bad_date(flags: &ParseFlags, zeros: Zeros, mode: SqlMode) -> bool {
    flags.invalid
        || flags.out_of_range
        || (flags.invalid_day && !mode.has(SqlMode::ALLOW_INVALID_DATES))
        || (matches!(zeros, Zeros::AsMode | Zeros::Parts) && flags.zero_date && mode.has(SqlMode::NO_ZERO_DATE))
        || (zeros == Zeros::Refused && (flags.zero_date || flags.zero_in_date))
}

/// The distance of `INTERVAL value unit`. None for NULL and for what is too long for any date.
pub fn interval(
    value: &Datum<'_>,
    ty: &TypeInfo,
    unit: IntervalUnit,
    context: &EvalContext<'_>,
) -> Result<Option<Interval>> {
    Ok(match value {
        Datum::Null => None,
        Datum::Bytes(text) => Interval::parse(text, unit),
        // A fraction counts where the unit has one: 1.5 SECOND; elsewhere numbers are rounded.
        Datum::Decimal(_) | Datum::Double(_) if unit == IntervalUnit::Second => {
            Interval::from_seconds(&value.to_decimal(context)?)
        }
        Datum::Int(count) if !is_compound(unit) => Interval::from_count(*count, unit),
        // A compound unit reads the digits of the number as text: 1.10 MINUTE_SECOND.
        _ if is_compound(unit) => Interval::parse(&value.by_ref().into_text(ty), unit),
        _ => Interval::from_count(value.to_i64(context)?, unit),
    })
}

/// Whether a unit consists of several: DAY_HOUR.
pub fn is_compound(unit: IntervalUnit) -> bool {
    unit.name().contains('_')
}

/// A date moved by an interval, as DATE_ADD does. `ty` is the type of the result: a DATE stays one if the unit
/// allows, a TIME moves as a duration, a string becomes whichever it looks like.
pub fn date_add<'a>(
    datum: &Datum<'_>,
    interval: Interval,
    unit: IntervalUnit,
    ty: &TypeInfo,
    context: &EvalContext<'_>,
) -> Result<Datum<'a>> {
    if let (Datum::Time(time), true) = (datum, unit.has_time()) {
        let micros = interval.days.saturating_mul(86_400_000_000).saturating_add(interval.micros);
        let (sum, clipped) = Time::from_micros(time.to_micros().saturating_add(micros));
        if clipped {
            context.doubt(Error::new(1441, b"22008", "Datetime function: time field overflow"))?;
            return Ok(Datum::Null);
        }
        return Ok(Datum::Time(sum));
    }
    // Adding to 0000-00-00 or 2024-00-01 makes no sense.
    let Some(start) = datum.to_datetime(Zeros::Refused, context)? else { return Ok(Datum::Null) };
    let Some(moved) = start.add(&interval) else {
        context.doubt(Error::new(1441, b"22008", "Datetime function: datetime field overflow"))?;
        return Ok(Datum::Null);
    };
    if !ty.is_string() {
        return Ok(match ty.kind {
            crate::types::Kind::Date => Datum::Date(moved.date),
            _ => Datum::DateTime(moved),
        });
    }
    // A string: with a time if there was one or the unit brings one.
    let had_time = match datum {
        Datum::Bytes(text) => parse_datetime(text).flags.has_time,
        Datum::Date(_) => false,
        // Up to eight digits are a date.
        Datum::Int(number) => *number > 99_999_999,
        _ => true,
    };
    let mut out = Vec::with_capacity(26);
    if had_time || unit.has_time() {
        moved.write(super::datum::fsp_needed(moved.micros), &mut out);
    } else {
        moved.date.write(&mut out);
    }
    Ok(Datum::Bytes(Cow::Owned(out)))
}

/// Whether three numbers with other separators than `-` stand before a space or a T: '2000:01:01 00:00:00'.
fn has_date_of_colons(text: &[u8]) -> bool {
    let Some(end) = text.iter().position(|byte| matches!(byte, b' ' | b'T')) else { return false };
    text[..end].split(|byte| byte.is_ascii_punctuation()).filter(|part| !part.is_empty()).count() == 3
}

/// Whether a text is a date and time rather than a TIME.
pub fn looks_like_datetime(text: &[u8]) -> bool {
    let separators = text.iter().filter(|byte| matches!(byte, b'-' | b'/')).count();
    let first_digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    separators >= 2 || first_digits >= 12 || first_digits == 4 && has_date_of_colons(text)
}
