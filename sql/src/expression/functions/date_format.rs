//! DATE_FORMAT, TIME_FORMAT, STR_TO_DATE, GET_FORMAT, and the names of days and months.
//!
//! One list of specifiers serves both directions: what `%d` writes, `%d` reads.
//!
//! What is written has the names of `lc_time_names`, what is read English ones.

use std::borrow::Cow;

use format::value::{Date, DateTime, Time};

use super::string::LENGTH_MAX;
use super::{Call, Function, Typing, convert_charset, not_null};
use crate::error::{Error, Result};
use crate::expression::Datum;
use crate::expression::Node;
use crate::expression::datum::quoted;
use crate::expression::temporal::Zeros;
use crate::locales::Locale;
use crate::types::{SqlMode, TypeInfo};
use format::collation::{Charset, collation, convert};
use format::value::Value;

pub const FUNCTIONS: &[Function] = &[
    Function::new("date_format", (2, 2), format_type, date_format),
    Function::new("time_format", (2, 2), format_type, time_format),
    Function::new("str_to_date", (2, 2), str_to_date_type, str_to_date),
    Function::new("get_format", (2, 2), super::typings::text, get_format),
    Function::new("dayname", (1, 1), super::typings::text, dayname),
    Function::new("monthname", (1, 1), super::typings::text, monthname),
];

const DAYS: [&str; 7] = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];
const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
/// Characters of an abbreviated name.
const SHORT: usize = 3;

// ----------------------------------------------------------------- writing

/// A text as long as the format can make it. What a format has that is not constant makes at most ten characters of one.
pub(super) fn format_type(typing: &mut Typing<'_>) -> Result<TypeInfo> {
    let length = match &typing.args[1].node {
        Node::Constant(Value::Bytes(format)) => written_length(format),
        _ => typing.length(1).saturating_mul(10).min(LENGTH_MAX),
    };
    let charset = collation(typing.connection).charset;
    convert_charset(&mut typing.args[1], charset);
    Ok(typing.text(length))
}

/// The most characters that a format writes. Names are as long as those of the languages with the longest ones.
fn written_length(format: &[u8]) -> u32 {
    let mut bytes = format.iter();
    let mut length = 0_u32;
    while let Some(byte) = bytes.next() {
        let written = match (byte, bytes.as_slice().is_empty()) {
            (b'%', false) => match bytes.next().unwrap_or(&b'%') {
                b'M' | b'W' => 64,
                b'a' | b'b' => 32,
                b'r' => 11,
                b'T' => 8,
                b'H' | b'k' => 7,
                b'f' => 6,
                b'D' | b'Y' | b'x' | b'X' => 4,
                b'j' => 3,
                b'U' | b'u' | b'V' | b'v' | b'y' | b'm' | b'd' | b'h' | b'I' | b'i' | b'l' | b'p' | b'S' | b's'
                | b'c' | b'e' => 2,
                _ => 1,
            },
            _ => 1,
        };
        length = length.saturating_add(written);
    }
    length
}

fn date_format<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let moment = not_null!(call.datetime(0, Zeros::Parts)?);
    formatted(call, &moment)
}

/// A date and time by the format in argument 1.
pub(super) fn formatted<'a>(call: &Call<'a>, moment: &DateTime) -> Result<Datum<'a>> {
    let format = not_null!(call.text(1)?);
    if format.is_empty() {
        return Ok(Datum::Null);
    }
    let mut out = Vec::with_capacity(format.len() * 2);
    let names = Names::of(call);
    let parts = Parts { date: Some(moment.date), hours: u32::from(moment.hour), time: moment.time(), names };
    Ok(if parts.write(&format, &mut out) { Datum::Bytes(out.into()) } else { Datum::Null })
}

fn time_format<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let time = not_null!(call.time(0)?);
    let format = not_null!(call.text(1)?);
    if format.is_empty() {
        return Ok(Datum::Null);
    }
    let mut out = Vec::with_capacity(format.len() * 2);
    if time.negative {
        out.push(b'-');
    }
    let parts = Parts { date: None, hours: u32::from(time.hours), time, names: Names::of(call) };
    Ok(if parts.write(&format, &mut out) { Datum::Bytes(out.into()) } else { Datum::Null })
}

/// What is formatted: a moment, or a TIME, which has no date and possibly many hours.
struct Parts {
    date: Option<Date>,
    hours: u32,
    time: Time,
    names: Names,
}

/// The names of a language, in a character set.
#[derive(Clone, Copy)]
pub(super) struct Names {
    pub locale: &'static Locale,
    charset: Charset,
}

impl Names {
    /// Those of the session, in the character set of the result.
    pub fn of(call: &Call<'_>) -> Names {
        Names { locale: call.context.locale, charset: call.charset() }
    }

    pub fn write(self, name: &str, out: &mut Vec<u8>) {
        convert(name.as_bytes(), Charset::Utf8mb4, self.charset, out);
    }
}

impl Parts {
    /// Appends the format filled in; false if a specifier has nothing to show, which makes the whole NULL.
    fn write(&self, format: &[u8], out: &mut Vec<u8>) -> bool {
        let mut rest = format.iter().copied();
        while let Some(byte) = rest.next() {
            if byte != b'%' {
                out.push(byte);
                continue;
            }
            match rest.next() {
                None => out.push(b'%'),
                Some(specifier) => {
                    if !self.write_one(specifier, out) {
                        return false;
                    }
                }
            }
        }
        true
    }

    fn write_one(&self, specifier: u8, out: &mut Vec<u8>) -> bool {
        let date = self.date.unwrap_or(Date::ZERO);
        let hour12 = (self.hours % 24 + 11) % 12 + 1;
        let half = if self.hours % 24 < 12 { &b"AM"[..] } else { b"PM" };
        let (minutes, seconds) = (u32::from(self.time.minutes), u32::from(self.time.seconds));
        match specifier {
            b'M' | b'b' => {
                let Names { locale, .. } = self.names;
                let months = if specifier == b'b' { &locale.months_short } else { &locale.months };
                let Some(name) = usize::from(date.month).checked_sub(1).and_then(|month| months.get(month)) else {
                    return false;
                };
                self.names.write(name, out);
            }
            b'W' | b'a' => {
                if date.month == 0 && date.year == 0 {
                    return false;
                }
                let Names { locale, .. } = self.names;
                let days = if specifier == b'a' { &locale.days_short } else { &locale.days };
                self.names.write(days[usize::from(date.weekday())], out);
            }
            b'w' => {
                if date.month == 0 && date.year == 0 {
                    return false;
                }
                put(u32::from((date.weekday() + 1) % 7), 1, out);
            }
            b'D' => {
                put(u32::from(date.day), 1, out);
                out.extend_from_slice(match (date.day, date.day % 10) {
                    (11..=13, _) => b"th",
                    (_, 1) => b"st",
                    (_, 2) => b"nd",
                    (_, 3) => b"rd",
                    _ => b"th",
                });
            }
            b'Y' => put(u32::from(date.year), 4, out),
            b'y' => put(u32::from(date.year % 100), 2, out),
            b'm' => put(u32::from(date.month), 2, out),
            b'c' => put(u32::from(date.month), 1, out),
            b'd' => put(u32::from(date.day), 2, out),
            b'e' => put(u32::from(date.day), 1, out),
            b'j' => {
                if self.date.is_none() {
                    return false;
                }
                let day = date.to_days() - Date::new(date.year, 1, 1).to_days() + 1;
                put(day.max(0) as u32, 3, out);
            }
            b'f' => put(self.time.micros, 6, out),
            b'H' => put(self.hours, 2, out),
            b'k' => put(self.hours, 1, out),
            b'h' | b'I' => put(hour12, 2, out),
            b'l' => put(hour12, 1, out),
            b'i' => put(minutes, 2, out),
            b's' | b'S' => put(seconds, 2, out),
            b'p' => out.extend_from_slice(half),
            b'r' | b'T' => {
                put(if specifier == b'r' { hour12 } else { self.hours }, 2, out);
                out.push(b':');
                put(minutes, 2, out);
                out.push(b':');
                put(seconds, 2, out);
                if specifier == b'r' {
                    out.push(b' ');
                    out.extend_from_slice(half);
                }
            }
            b'U' | b'u' | b'V' | b'v' | b'X' | b'x' => {
                if self.date.is_none() {
                    return false;
                }
                // Lower case is by Monday; V and X count no week 0.
                let mode = match specifier {
                    b'U' => 0,
                    b'u' => 1,
                    b'V' | b'X' => 2,
                    _ => 3,
                };
                let (year, week) = date.week(mode);
                match specifier {
                    b'X' | b'x' => put(u32::from(year), 4, out),
                    _ => put(u32::from(week), 2, out),
                }
            }
            other => out.push(other),
        }
        true
    }
}

/// Appends a number with at least `digits` digits.
fn put(number: u32, digits: usize, out: &mut Vec<u8>) {
    let mut text = [b'0'; 10];
    let mut at = text.len();
    let mut left = number;
    while left > 0 || at > text.len() - digits {
        at -= 1;
        text[at] = b'0' + (left % 10) as u8;
        left /= 10;
    }
    out.extend_from_slice(&text[at..]);
}

fn dayname<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let date = not_null!(call.date(0, Zeros::Refused)?);
    let names = Names::of(call);
    let mut out = Vec::new();
    names.write(names.locale.days[usize::from(date.weekday())], &mut out);
    Ok(Datum::bytes(out))
}

fn monthname<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let date = not_null!(call.date(0, Zeros::Parts)?);
    let names = Names::of(call);
    let name = usize::from(date.month).checked_sub(1).and_then(|month| names.locale.months.get(month));
    Ok(name.map_or(Datum::Null, |name| {
        let mut out = Vec::new();
        names.write(name, &mut out);
        Datum::bytes(out)
    }))
}

fn get_format<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let (kind, region) = (not_null!(call.text(0)?), not_null!(call.text(1)?));
    let (kind, region) = (kind.to_ascii_uppercase(), region.to_ascii_uppercase());
    let format = match (&kind[..], &region[..]) {
        (b"DATE", b"USA") => "%m.%d.%Y",
        (b"DATE", b"JIS" | b"ISO") => "%Y-%m-%d",
        (b"DATE", b"EUR") => "%d.%m.%Y",
        (b"DATE", b"INTERNAL") => "%Y%m%d",
        (b"TIME", b"USA") => "%h:%i:%s %p",
        (b"TIME", b"JIS" | b"ISO") => "%H:%i:%s",
        (b"TIME", b"EUR") => "%H.%i.%s",
        (b"TIME", b"INTERNAL") => "%H%i%s",
        (b"DATETIME" | b"TIMESTAMP", b"USA" | b"EUR") => "%Y-%m-%d %H.%i.%s",
        (b"DATETIME" | b"TIMESTAMP", b"JIS" | b"ISO") => "%Y-%m-%d %H:%i:%s",
        (b"DATETIME" | b"TIMESTAMP", b"INTERNAL") => "%Y%m%d%H%i%s",
        _ => return Ok(Datum::Null),
    };
    Ok(Datum::Bytes(Cow::Borrowed(format.as_bytes())))
}

// ----------------------------------------------------------------- reading

/// The type follows from the specifiers of a constant format: a date, a time, or both.
fn str_to_date_type(typing: &mut Typing<'_>) -> Result<TypeInfo> {
    let Node::Constant(Value::Bytes(format)) = &typing.args[1].node else { return Ok(TypeInfo::datetime(6)) };
    let specifiers = || format.windows(2).filter(|pair| pair[0] == b'%').map(|pair| pair[1]);
    let has_date = specifiers().any(|specifier| b"MWabDYymcdejUuVvXxw".contains(&specifier));
    let has_fraction = specifiers().any(|specifier| specifier == b'f');
    let has_time = has_fraction || specifiers().any(|specifier| b"HkhIlisSprT".contains(&specifier));
    let fsp = if has_fraction { 6 } else { 0 };
    Ok(match (has_date, has_time) {
        (true, false) => TypeInfo::date(),
        (false, true) => TypeInfo::time(fsp),
        _ => TypeInfo::datetime(fsp),
    })
}

fn str_to_date<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let (text, format) = (not_null!(call.text(0)?), not_null!(call.text(1)?));
    let is_time = call.ty.kind == crate::types::Kind::Time;
    let mut reader = Reader { rest: &text, ..Reader::default() };
    let read = reader.read(&format).and_then(|()| reader.finish(is_time));
    let date = read.map_or(Date::ZERO, |moment| moment.date);
    // Days that the month does not have pass here, and fail where they are stored.
    let mode = call.context.mode;
    let refuses_zeros = mode.has(SqlMode::NO_ZERO_DATE) || mode.has(SqlMode::NO_ZERO_IN_DATE);
    let refused = !is_time && refuses_zeros && date.has_zero_part();
    let moment = match read {
        Some(moment) if !refused => moment,
        _ => {
            let kind = if is_time { "time" } else { "datetime" };
            let message = format!("Incorrect {kind} value: '{}' for function str_to_date", quoted(&text));
            call.context.doubt(Error::new(1411, b"HY000", message))?;
            return Ok(Datum::Null);
        }
    };
    if !reader.rest.trim_ascii_start().is_empty() {
        let kind = if is_time { "time" } else { "datetime" };
        call.context.doubt(Error::truncated_wrong_value(kind, &quoted(&text)))?;
    }
    Ok(match call.ty.kind {
        crate::types::Kind::Date => Datum::Date(moment.date),
        crate::types::Kind::Time => Datum::Time(moment.time()),
        _ => Datum::DateTime(moment),
    })
}

/// A week of a year as it was read, which together with a day of the week is a date.
#[derive(Clone, Copy)]
struct Week {
    number: i64,
    sunday_first: bool,
    /// %V and %v: weeks of a year of their own, %X and %x.
    strict: bool,
}

/// What STR_TO_DATE has read so far.
#[derive(Default)]
struct Reader<'a> {
    rest: &'a [u8],
    year: i64,
    month: i64,
    day: i64,
    hour: i64,
    minute: i64,
    second: i64,
    micros: i64,
    /// The hour is one of twelve.
    twelve: bool,
    afternoon: bool,
    day_of_year: Option<i64>,
    /// 1 is Monday.
    weekday: Option<i64>,
    week: Option<Week>,
    /// The year of %X (true: weeks begin on Sunday) or %x.
    week_year: Option<(i64, bool)>,
}

impl Reader<'_> {
    fn skip_spaces(&mut self) {
        self.rest = self.rest.trim_ascii_start();
    }

    /// A number of at most `limit` digits, and how many there were.
    fn number(&mut self, limit: usize) -> Option<(i64, usize)> {
        let count = self.rest.iter().take(limit).take_while(|byte| byte.is_ascii_digit()).count();
        let number = self.rest[..count].iter().fold(0, |number, digit| number * 10 + i64::from(digit - b'0'));
        self.rest = &self.rest[count..];
        (count > 0).then_some((number, count))
    }

    fn digits(&mut self, limit: usize) -> Option<i64> {
        self.number(limit).map(|(number, _)| number)
    }

    /// The index of the name that stands here.
    fn name(&mut self, names: &[&str], short: bool) -> Option<i64> {
        let end = self.rest.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
        let (word, rest) = self.rest.split_at(end);
        let names = names.iter().map(|name| if short { &name.as_bytes()[..SHORT] } else { name.as_bytes() });
        let mut found = names.enumerate().filter(|(_, name)| {
            name.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word)) && !word.is_empty()
        });
        let (index, name) = found.next()?;
        // The beginning of a name will do if no other name begins so.
        if name.len() > word.len() && found.next().is_some() {
            return None;
        }
        self.rest = rest;
        Some(index as i64)
    }

    fn skip(&mut self, what: impl Fn(&u8) -> bool) {
        let count = self.rest.iter().take_while(|byte| what(byte)).count();
        self.rest = &self.rest[count..];
    }

    /// Reads by the format as far as there is text; None if the two do not agree.
    fn read(&mut self, format: &[u8]) -> Option<()> {
        let mut format = format.iter().copied();
        loop {
            let Some(byte) = format.next() else { return Some(()) };
            self.skip_spaces();
            if self.rest.is_empty() {
                return Some(());
            }
            if byte == b'%'
                && let Some(specifier) = format.next()
            {
                self.read_one(specifier)?;
            } else if !byte.is_ascii_whitespace() {
                if self.rest[0] != byte {
                    return None;
                }
                self.rest = &self.rest[1..];
            }
        }
    }

    fn read_one(&mut self, specifier: u8) -> Option<()> {
        match specifier {
            b'Y' => {
                let (year, count) = self.number(4)?;
                self.year = if count <= 2 { full_year(year) } else { year };
            }
            b'y' => self.year = full_year(self.digits(2)?),
            b'm' | b'c' => self.month = self.digits(2)?,
            b'M' => self.month = self.name(&MONTHS, false)? + 1,
            b'b' => self.month = self.name(&MONTHS, true)? + 1,
            b'd' | b'e' => self.day = self.digits(2)?,
            b'D' => {
                self.day = self.digits(2)?;
                // st, nd, rd, th
                self.rest = &self.rest[self.rest.len().min(2)..];
            }
            b'H' | b'k' => self.hour = self.digits(2)?,
            b'h' | b'I' | b'l' => {
                self.hour = self.digits(2)?;
                self.twelve = true;
            }
            b'i' => self.minute = self.digits(2)?,
            b's' | b'S' => self.second = self.digits(2)?,
            b'f' => {
                let (number, count) = self.number(6)?;
                self.micros = number * 10_i64.pow(6 - count as u32);
            }
            b'p' => {
                if !self.twelve {
                    return None;
                }
                self.afternoon = match self.rest.get(..2)?.to_ascii_uppercase()[..] {
                    [b'A', b'M'] => false,
                    [b'P', b'M'] => true,
                    _ => return None,
                };
                self.rest = &self.rest[2..];
            }
            b'W' => self.weekday = Some(self.name(&DAYS, false)? + 1),
            b'a' => self.weekday = Some(self.name(&DAYS, true)? + 1),
            b'w' => {
                let day = self.digits(1)?;
                if day > 6 {
                    return None;
                }
                self.weekday = Some(if day == 0 { 7 } else { day });
            }
            b'j' => self.day_of_year = Some(self.digits(3)?),
            b'U' | b'u' | b'V' | b'v' => {
                let (sunday_first, strict) = (matches!(specifier, b'U' | b'V'), matches!(specifier, b'V' | b'v'));
                let number = self.digits(2)?;
                if number > 53 || (strict && number == 0) {
                    return None;
                }
                self.week = Some(Week { number, sunday_first, strict });
            }
            b'X' | b'x' => self.week_year = Some((self.digits(4)?, specifier == b'X')),
            b'r' => self.read(b"%I:%i:%S %p")?,
            b'T' => self.read(b"%H:%i:%S")?,
            b'.' => self.skip(u8::is_ascii_punctuation),
            b'@' => self.skip(u8::is_ascii_alphabetic),
            b'#' => self.skip(u8::is_ascii_digit),
            _ => return None,
        }
        Some(())
    }

    /// The moment that was read; None if it is none.
    fn finish(&self, is_time: bool) -> Option<DateTime> {
        let mut hour = self.hour;
        if self.twelve {
            if !(1..=12).contains(&hour) {
                return None;
            }
            hour = hour % 12 + if self.afternoon { 12 } else { 0 };
        }
        let mut date = if (0..=9999).contains(&self.year) && self.month <= 12 && self.day <= 31 {
            Date::new(self.year as u16, self.month as u8, self.day as u8)
        } else {
            return None;
        };
        if let Some(day) = self.day_of_year.filter(|day| *day > 0) {
            date = Date::from_days(Date::new(date.year, 1, 1).to_days() + day - 1);
            if date.is_zero() {
                return None;
            }
        }
        if let (Some(week), Some(weekday)) = (self.week, self.weekday) {
            date = self.date_of_week(week, weekday)?;
        }
        if hour > 23 || self.minute > 59 || self.second > 59 {
            return None;
        }
        let date = if is_time { Date::ZERO } else { date };
        Some(DateTime::new(date, hour as u8, self.minute as u8, self.second as u8, self.micros as u32))
    }

    /// The day of a week of a year.
    fn date_of_week(&self, week: Week, weekday: i64) -> Option<Date> {
        // %V and %X belong together, as do %v and %x; %U and %u go with %Y.
        let year = match (week.strict, self.week_year) {
            (true, Some((year, sunday_first))) if sunday_first == week.sunday_first => year,
            (false, None) => self.year,
            _ => return None,
        };
        if !(1..=9999).contains(&year) {
            return None;
        }
        let first = Date::new(year as u16, 1, 1);
        // 0 is the first day of the week.
        let first_weekday =
            if week.sunday_first { (i64::from(first.weekday()) + 1) % 7 } else { i64::from(first.weekday()) };
        let first_day = first.to_days();
        let days = if week.sunday_first {
            let start = if first_weekday == 0 { 0 } else { 7 } - first_weekday;
            first_day + start + (week.number - 1) * 7 + weekday % 7
        } else {
            let start = if first_weekday <= 3 { 0 } else { 7 } - first_weekday;
            first_day + start + (week.number - 1) * 7 + weekday - 1
        };
        let date = Date::from_days(days);
        (!date.is_zero()).then_some(date)
    }
}

/// Two digits of a year are 1970 to 2069.
pub(super) fn full_year(year: i64) -> i64 {
    match year {
        0..70 => year + 2000,
        70..100 => year + 1900,
        _ => year,
    }
}
