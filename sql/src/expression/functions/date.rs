//! Dates and times: their parts, the days between them, UNIX time.
//!
//! The clock is in [`clock`](super::clock), formats are in [`date_format`](super::date_format). DATE_ADD,
//! EXTRACT, TIMESTAMPDIFF and CAST have a syntax of their own and are nodes.
//!
//! Functions that take a date apart accept zero parts (`YEAR('0000-00-00')` is 0); functions that count days do
//! not, and give NULL.

use format::value::{Date, DateTime, Decimal, Interval, Time, Value, Zone, parse_datetime, parse_time};

use super::{Call, Function, Typing, date_format, not_null, typings};
use crate::error::{Error, Result};
use crate::expression::Datum;
use crate::expression::datum::{fsp_needed, quoted};
use crate::expression::temporal::Zeros;
use crate::expression::temporal::looks_like_datetime;
use crate::expression::{Expr, Node};
use crate::types::{Kind, TypeInfo};

pub const FUNCTIONS: &[Function] = &[
    Function::new("date", (1, 1), typings::date, date),
    Function::new("time", (1, 1), time_type, time),
    Function::new("timestamp", (1, 2), timestamp_type, timestamp),
    Function::new("year", (1, 1), year_type, year),
    Function::new("month", (1, 1), two_digits, month),
    Function::new("day", (1, 1), two_digits, day),
    Function::new("dayofmonth", (1, 1), two_digits, day),
    Function::new("quarter", (1, 1), two_digits, quarter),
    Function::new("hour", (1, 1), three_digits, hour),
    Function::new("minute", (1, 1), two_digits, minute),
    Function::new("second", (1, 1), two_digits, second),
    Function::new("microsecond", (1, 1), six_digits, microsecond),
    Function::new("dayofweek", (1, 1), two_digits, dayofweek),
    Function::new("weekday", (1, 1), two_digits, weekday),
    Function::new("dayofyear", (1, 1), three_digits, dayofyear),
    Function::new("week", (1, 2), two_digits, week),
    Function::new("weekofyear", (1, 1), two_digits, weekofyear),
    Function::new("yearweek", (1, 2), six_digits, yearweek),
    Function::new("last_day", (1, 1), typings::date, last_day),
    Function::new("to_days", (1, 1), seven_digits, to_days),
    Function::new("from_days", (1, 1), typings::date, from_days),
    Function::new("to_seconds", (1, 1), typings::bigint_or_null, to_seconds),
    Function::new("datediff", (2, 2), seven_digits, datediff),
    Function::new("timediff", (2, 2), timediff_type, timediff),
    Function::new("addtime", (2, 2), addtime_type, addtime),
    Function::new(MOMENT_NUMBER, (1, 1), typings::double, moment_number),
    Function::new("subtime", (2, 2), addtime_type, subtime),
    Function::new("unix_timestamp", (0, 1), unix_timestamp_type, unix_timestamp),
    Function::new("from_unixtime", (1, 2), from_unixtime_type, from_unixtime),
    Function::new("convert_tz", (3, 3), convert_tz_type, convert_tz),
    Function::new("at time zone", (1, 1), at_time_zone_type, at_time_zone),
    Function::new("makedate", (2, 2), typings::date, makedate),
    Function::new("maketime", (3, 3), maketime_type, maketime),
    Function::new("sec_to_time", (1, 1), sec_to_time_type, sec_to_time),
    Function::new("time_to_sec", (1, 1), typings::bigint_or_null, time_to_sec),
    Function::new("period_add", (2, 2), six_digits, period_add),
    Function::new("period_diff", (2, 2), six_digits, period_diff),
];

const MICROS_PER_SECOND: i64 = 1_000_000;

/// The last second that UNIX_TIMESTAMP and FROM_UNIXTIME know: 3001-01-18 23:59:59 UTC.
const UNIX_SECONDS_MAX: i64 = 32_536_771_199;

// ----------------------------------------------------------------- typing

fn two_digits(_: &mut Typing<'_>) -> Result<TypeInfo> {
    Ok(TypeInfo::int(2))
}

fn three_digits(_: &mut Typing<'_>) -> Result<TypeInfo> {
    Ok(TypeInfo::int(3))
}

fn year_type(_: &mut Typing<'_>) -> Result<TypeInfo> {
    Ok(TypeInfo::int(4))
}

fn six_digits(_: &mut Typing<'_>) -> Result<TypeInfo> {
    Ok(TypeInfo::int(6))
}

fn seven_digits(_: &mut Typing<'_>) -> Result<TypeInfo> {
    Ok(TypeInfo::int(8))
}

/// The digits of a second that an argument can have: those of its type; of a literal those that it shows, if it shows a
/// moment; all six of other strings and doubles.
pub(super) fn fsp_of(arg: &Expr) -> u8 {
    match &arg.node {
        Node::Constant(Value::Bytes(text)) => {
            let point = text.iter().rposition(|byte| *byte == b'.');
            let count = point.map_or(0, |point| text[point + 1..].iter().take_while(|b| b.is_ascii_digit()).count());
            match parse_datetime(text).flags.invalid && parse_time(text).flags.invalid {
                true => 6,
                false => count.min(6) as u8,
            }
        }
        _ if arg.ty.is_temporal() => arg.ty.decimals.min(6),
        _ => match arg.ty.kind {
            Kind::TinyInt | Kind::SmallInt | Kind::MediumInt | Kind::Int | Kind::BigInt | Kind::Year | Kind::Null => 0,
            Kind::Decimal => arg.ty.decimals.min(6),
            _ => 6,
        },
    }
}

fn time_type(typing: &mut Typing<'_>) -> Result<TypeInfo> {
    Ok(TypeInfo::time(fsp_of(&typing.args[0])))
}

fn timestamp_type(typing: &mut Typing<'_>) -> Result<TypeInfo> {
    Ok(TypeInfo::datetime(typing.args.iter().map(fsp_of).max().unwrap_or(0)))
}

fn timediff_type(typing: &mut Typing<'_>) -> Result<TypeInfo> {
    Ok(TypeInfo::time(typing.args.iter().map(fsp_of).max().unwrap_or(0)))
}

/// A TIME stays one, a date becomes a date and time, and a string stays a string.
fn addtime_type(typing: &mut Typing<'_>) -> Result<TypeInfo> {
    let fsp = typing.args.iter().map(fsp_of).max().unwrap_or(0);
    Ok(match typing.args[0].ty.kind {
        Kind::Time => TypeInfo::time(fsp),
        Kind::DateTime | Kind::Timestamp | Kind::Date => TypeInfo::datetime(fsp),
        _ => typing.text(29),
    })
}

fn unix_timestamp_type(typing: &mut Typing<'_>) -> Result<TypeInfo> {
    let nullable = typing.any_nullable();
    Ok(match typing.args.first().map_or(0, fsp_of) {
        0 => TypeInfo::bigint(12).nullable(nullable),
        fsp => TypeInfo::decimal(12 + fsp, fsp, false).nullable(nullable),
    })
}

fn from_unixtime_type(typing: &mut Typing<'_>) -> Result<TypeInfo> {
    if typing.args.len() == 2 {
        return date_format::format_type(typing);
    }
    Ok(TypeInfo::datetime(fsp_of_seconds(&typing.args[0])))
}

/// The digits of a number of seconds; a string can have all, whatever it shows.
fn fsp_of_seconds(arg: &Expr) -> u8 {
    match arg.ty.is_bit_literal() {
        true => 0,
        false if arg.ty.is_string() => 6,
        false => fsp_of(arg),
    }
}

fn maketime_type(typing: &mut Typing<'_>) -> Result<TypeInfo> {
    Ok(TypeInfo::time(fsp_of_seconds(&typing.args[2])))
}

fn sec_to_time_type(typing: &mut Typing<'_>) -> Result<TypeInfo> {
    Ok(TypeInfo::time(fsp_of_seconds(&typing.args[0])))
}

// ------------------------------------------------------------- their parts

fn int<'a>(number: impl Into<i64>) -> Result<Datum<'a>> {
    Ok(Datum::Int(number.into()))
}

fn date<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    Ok(Datum::Date(not_null!(call.date(0, Zeros::AsMode)?)))
}

fn time<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    Ok(Datum::Time(call.context.round_time(not_null!(call.time(0)?), call.ty.decimals)))
}

fn timestamp<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let moment = not_null!(call.datetime(0, Zeros::AsMode)?);
    if !call.has(1) {
        return Ok(call.context.round_datetime(moment, call.ty.decimals).map_or(Datum::Null, Datum::DateTime));
    }
    let Point::Time(time) = not_null!(point(call, 1)?) else { return Ok(Datum::Null) };
    moved(call, moment, time.to_micros())
}

/// A date and time moved by microseconds.
fn moved<'a>(call: &Call<'a>, moment: DateTime, micros: i64) -> Result<Datum<'a>> {
    if moment.date.has_zero_part() {
        return Ok(Datum::Null);
    }
    match moment.add(&Interval { months: 0, days: 0, micros }) {
        Some(sum) => Ok(Datum::DateTime(sum)),
        None => overflow(call),
    }
}

fn overflow<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    call.context.doubt(Error::datetime_overflow())?;
    Ok(Datum::Null)
}

fn year<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    int(not_null!(call.date(0, Zeros::Parts)?).year)
}

fn month<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    int(not_null!(call.date(0, Zeros::Parts)?).month)
}

fn day<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    int(not_null!(call.date(0, Zeros::Parts)?).day)
}

fn quarter<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    int(not_null!(call.date(0, Zeros::Parts)?).month.div_ceil(3))
}

fn hour<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    int(not_null!(call.time(0)?).hours)
}

fn minute<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    int(not_null!(call.time(0)?).minutes)
}

fn second<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    int(not_null!(call.time(0)?).seconds)
}

fn microsecond<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    int(not_null!(call.time(0)?).micros)
}

fn dayofweek<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    int((not_null!(call.date(0, Zeros::Refused)?).weekday() + 1) % 7 + 1)
}

fn weekday<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    int(not_null!(call.date(0, Zeros::Refused)?).weekday())
}

fn dayofyear<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    int(not_null!(call.date(0, Zeros::Refused)?).day_of_year())
}

fn week<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let date = not_null!(call.date(0, Zeros::Refused)?);
    let mode = match call.has(1) {
        true => call.int(1)?.unwrap_or(0) as u8 & 7,
        false => call.context.default_week_format,
    };
    int(date.week(mode).1)
}

fn weekofyear<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    int(not_null!(call.date(0, Zeros::Refused)?).week(3).1)
}

fn yearweek<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let date = not_null!(call.date(0, Zeros::Refused)?);
    let mode = if call.has(1) { call.int(1)?.unwrap_or(0) as u8 & 7 } else { 0 };
    // A week of YEARWEEK belongs to some year, so there is no week 0.
    let (year, week) = date.week(mode | 2);
    int(i64::from(year) * 100 + i64::from(week))
}

// -------------------------------------------------------- days and seconds

fn last_day<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let date = not_null!(call.date(0, Zeros::AsMode)?);
    if date.month == 0 {
        let mut text = Vec::new();
        date.write(&mut text);
        call.context.doubt(Error::incorrect_value("datetime", &quoted(&text)))?;
        return Ok(Datum::Null);
    }
    Ok(Datum::Date(date.last_day()))
}

fn to_days<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    int(not_null!(call.date(0, Zeros::Refused)?).to_days())
}

fn from_days<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    Ok(Datum::Date(Date::from_days(not_null!(call.int(0)?))))
}

fn to_seconds<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    int(not_null!(call.datetime(0, Zeros::Refused)?).to_micros() / MICROS_PER_SECOND)
}

fn datediff<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let to = not_null!(call.date(0, Zeros::Refused)?);
    let from = not_null!(call.date(1, Zeros::Refused)?);
    int(to.to_days() - from.to_days())
}

/// What TIMEDIFF and its kin take: a duration or a moment.
enum Point {
    Time(Time),
    Moment(DateTime),
}

fn point(call: &Call<'_>, index: usize) -> Result<Option<Point>> {
    let value = call.arg(index)?;
    let is_moment = match &value {
        Datum::Date(_) | Datum::DateTime(_) => true,
        // A date alone is too short, and reads as a TIME.
        Datum::Bytes(text) => text.trim_ascii().len() >= 12 && looks_like_datetime(text),
        Datum::Int(number) => *number >= 10_000_000_000,
        Datum::UInt(number) => *number >= 10_000_000_000,
        _ => false,
    };
    if is_moment {
        return Ok(value.to_datetime(Zeros::Allowed, call.context)?.map(Point::Moment));
    }
    Ok(value.to_time(call.context)?.map(Point::Time))
}

/// A TIME of microseconds; one out of range is clipped and warned of.
fn time_of<'a>(call: &Call<'a>, micros: i64) -> Result<Datum<'a>> {
    let (time, clipped) = Time::from_micros(micros);
    if clipped {
        let mut text = Vec::new();
        let (hours, rest) = (micros.unsigned_abs() / 3_600_000_000, micros.unsigned_abs() / 1_000_000 % 3600);
        text.extend_from_slice(if micros < 0 { b"-" } else { b"" });
        text.extend_from_slice(format!("{hours:02}:{:02}:{:02}", rest / 60, rest % 60).as_bytes());
        call.context.doubt(Error::truncated_wrong_value("time", &quoted(&text)))?;
    }
    Ok(Datum::Time(time))
}

fn timediff<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    match (not_null!(point(call, 0)?), not_null!(point(call, 1)?)) {
        (Point::Time(to), Point::Time(from)) => time_of(call, to.to_micros() - from.to_micros()),
        (Point::Moment(to), Point::Moment(from)) => time_of(call, to.diff_micros(&from)),
        _ => Ok(Datum::Null),
    }
}

fn addtime<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    add_time(call, 1)
}

fn subtime<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    add_time(call, -1)
}

fn add_time<'a>(call: &Call<'a>, sign: i64) -> Result<Datum<'a>> {
    let start = not_null!(point(call, 0)?);
    let Point::Time(distance) = not_null!(point(call, 1)?) else { return Ok(Datum::Null) };
    let micros = sign * distance.to_micros();
    let sum = match start {
        Point::Time(time) => time_of(call, time.to_micros() + micros)?,
        Point::Moment(moment) => moved(call, moment, micros)?,
    };
    if !call.ty.is_string() {
        return Ok(sum);
    }
    let mut text = Vec::with_capacity(26);
    match sum {
        Datum::Time(time) => time.write(fsp_needed(time.micros), &mut text),
        Datum::DateTime(moment) => moment.write(fsp_needed(moment.micros), &mut text),
        _ => return Ok(Datum::Null),
    }
    Ok(Datum::Bytes(text.into()))
}

/// The number of a moment or time that a function gives as text. No name that SQL can write.
pub const MOMENT_NUMBER: &str = "moment number";

fn moment_number<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let value = call.arg(0)?;
    let text = match &value {
        Datum::Null => return Ok(Datum::Null),
        Datum::Bytes(text) => &text[..],
        other => return Ok(Datum::Double(other.to_f64(call.context)?)),
    };
    let number = match text.iter().skip(1).any(|byte| *byte == b'-') {
        true => {
            let parsed = parse_datetime(text);
            match (parsed.flags.invalid, parsed.flags.has_time) {
                (true, _) => None,
                (false, false) => Some(Datum::Date(parsed.value.date)),
                (false, true) => Some(Datum::DateTime(parsed.value)),
            }
        }
        false => {
            let parsed = parse_time(text);
            (!parsed.flags.invalid).then_some(Datum::Time(parsed.value))
        }
    };
    let number = match number {
        Some(number) => number.to_f64(call.context)?,
        None => value.to_f64(call.context)?,
    };
    Ok(Datum::Double(number))
}

// --------------------------------------------------------------- UNIX time

fn unix_timestamp<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    if !call.has(0) {
        return int(call.context.now_seconds);
    }
    let value = call.arg(0)?;
    if value.is_null() {
        return Ok(Datum::Null);
    }
    // What is no date, and what is out of range, is second 0.
    let micros = match value.to_datetime(Zeros::Allowed, call.context)? {
        Some(moment) if !moment.date.has_zero_part() => moment.to_unix_micros(call.context.zone),
        _ => 0,
    };
    let in_range = (0..(UNIX_SECONDS_MAX + 1) * MICROS_PER_SECOND).contains(&micros);
    let micros = if in_range { micros } else { 0 };
    Ok(match call.ty.decimals {
        0 => Datum::Int(micros / MICROS_PER_SECOND),
        fsp => Datum::Decimal(Decimal::from_i128(i128::from(micros), 6).truncate(i32::from(fsp))),
    })
}

/// The moment of a number of seconds since 1970, in the session's zone.
pub(super) fn moment_of_unix(call: &Call<'_>, index: usize) -> Result<Option<DateTime>> {
    let Some(seconds) = call.decimal(index)? else { return Ok(None) };
    let micros = seconds.mul(&Decimal::from(MICROS_PER_SECOND)).ok().and_then(|micros| micros.to_i64().ok());
    let Some(micros) = micros.filter(|micros| (0..(UNIX_SECONDS_MAX + 1) * MICROS_PER_SECOND).contains(micros)) else {
        return Ok(None);
    };
    Ok(DateTime::from_unix_micros(micros, call.context.zone))
}

fn from_unixtime<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let moment = not_null!(moment_of_unix(call, 0)?);
    if call.has(1) {
        return date_format::formatted(call, &moment);
    }
    Ok(call.context.round_datetime(moment, call.ty.decimals).map_or(Datum::Null, Datum::DateTime))
}

fn convert_tz_type(typing: &mut Typing<'_>) -> Result<TypeInfo> {
    Ok(TypeInfo::datetime(fsp_of(&typing.args[0])))
}

/// NULL for a zone that is not known.
fn convert_tz<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let moment = not_null!(call.datetime(0, Zeros::Refused)?);
    let zone = |index: usize| -> Result<Option<Zone>> {
        let Some(name) = call.text(index)? else { return Ok(None) };
        let name = String::from_utf8_lossy(&name);
        Ok(if name.eq_ignore_ascii_case("SYSTEM") { Some(call.context.system_zone) } else { Zone::parse(&name) })
    };
    let (from, to) = (not_null!(zone(1)?), not_null!(zone(2)?));
    let micros = moment.to_unix_micros(from);
    // What is out of the range of seconds since 1970 stays as it is.
    if !(MICROS_PER_SECOND..(UNIX_SECONDS_MAX + 1) * MICROS_PER_SECOND).contains(&micros) {
        return Ok(Datum::DateTime(moment));
    }
    Ok(DateTime::from_unix_micros(micros, to).map_or(Datum::Null, Datum::DateTime))
}

/// Takes moments: columns of that type, and literals.
fn at_time_zone_type(typing: &mut Typing<'_>) -> Result<TypeInfo> {
    let moment = &typing.args[0];
    let is_literal = matches!(moment.node, Node::Constant(Value::DateTime(_)));
    if !is_literal && !matches!(moment.ty.kind, Kind::Timestamp | Kind::Null) {
        return Err(Error::new(3998, b"22018", "Cannot cast value to TIMESTAMP WITH TIME ZONE.".to_owned()));
    }
    Ok(TypeInfo::datetime(fsp_of(moment)))
}

/// A moment as UTC. The zero timestamp has no zone.
fn at_time_zone<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let moment = not_null!(call.datetime(0, Zeros::Allowed)?);
    if moment.date.has_zero_part() {
        return Ok(Datum::DateTime(moment));
    }
    let micros = moment.to_unix_micros(call.context.zone);
    if !(0..(UNIX_SECONDS_MAX + 1) * MICROS_PER_SECOND).contains(&micros) {
        return Ok(Datum::Null);
    }
    Ok(DateTime::from_unix_micros(micros, Zone::UTC).map_or(Datum::Null, Datum::DateTime))
}

// ------------------------------------------------------------ making dates

fn makedate<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let year = date_format::full_year(not_null!(call.int(0)?));
    let day = not_null!(call.int(1)?);
    if !(0..=9999).contains(&year) || day <= 0 {
        return Ok(Datum::Null);
    }
    let date = Date::from_days((Date::new(year as u16, 1, 1).to_days() - 1).saturating_add(day));
    Ok(if date.is_zero() { Datum::Null } else { Datum::Date(date) })
}

fn maketime<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let hours = not_null!(call.int(0)?);
    let minutes = not_null!(call.int(1)?);
    let seconds = not_null!(call.decimal(2)?);
    // Below 60 before it is rounded to microseconds: 59.9999996 is a minute.
    if seconds.is_negative() || seconds >= Decimal::from(60_i64) {
        return Ok(Datum::Null);
    }
    let micros = seconds.mul(&Decimal::from(MICROS_PER_SECOND)).ok().and_then(|micros| micros.to_i64().ok());
    let micros = not_null!(micros);
    if !(0..60).contains(&minutes) {
        return Ok(Datum::Null);
    }
    let magnitude =
        i128::from(hours.unsigned_abs()) * 3_600_000_000 + i128::from(minutes) * 60_000_000 + i128::from(micros);
    let magnitude = i64::try_from(magnitude).unwrap_or(i64::MAX);
    time_of(call, if hours < 0 { -magnitude } else { magnitude })
}

fn sec_to_time<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let seconds = not_null!(call.decimal(0)?);
    let bound = if seconds.is_negative() { i64::MIN + 1 } else { i64::MAX };
    let micros =
        seconds.mul(&Decimal::from(MICROS_PER_SECOND)).map_or(bound, |micros| micros.to_i64().unwrap_or(bound));
    time_of(call, micros)
}

fn time_to_sec<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    int(not_null!(call.time(0)?).to_micros() / MICROS_PER_SECOND)
}

/// The months of a period YYMM or YYYYMM.
fn months_of(period: i64, name: &str) -> Result<i64> {
    let (year, month) = (period / 100, period % 100);
    if period <= 0 || !(1..=12).contains(&month) {
        return Err(Error::wrong_arguments(name));
    }
    Ok(date_format::full_year(year).saturating_mul(12).saturating_add(month - 1))
}

fn period_add<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let period = not_null!(call.int(0)?);
    let months = not_null!(call.int(1)?);
    let sum = months_of(period, "period_add")?.saturating_add(months).max(0);
    int((sum / 12).saturating_mul(100).saturating_add(sum % 12 + 1))
}

fn period_diff<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let to = not_null!(call.int(0)?);
    let from = not_null!(call.int(1)?);
    int(months_of(to, "period_diff")?.saturating_sub(months_of(from, "period_diff")?))
}
