//! Reading dates and times from MySQL's many forms of literals, and from numbers.
//!
//! ```text
//! 2024-01-02 03:04:05.678     any punctuation separates: 2024/1/2 3.4.5, 24-1-2; T before the time
//! 20240102030405.678          no separators: fields of two digits, the year of two or four
//! 240102                      two digits of a year are 1970 to 2069
//! 20240102, 240102030405      the same as numbers
//!
//! 12:34:56.7   12:34          a TIME: hours first
//! 1 12:34:56   1 12           days and hours
//! 123456       56             HHMMSS from the right
//! ```
//!
//! Reading never fails: the value is zero if there is none, and the flags tell what was strange.

use super::{Date, DateTime, MICROS_PER_DAY, Time, Zone, calendar};
use crate::value::Decimal;

/// What a literal was like. The caller decides by `sql_mode` what is an error, a warning, or nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ParseFlags {
    /// Not a date or time, or a field out of range. The value is zero.
    pub invalid: bool,
    /// Something that is no space follows the value.
    pub truncated: bool,
    /// A TIME beyond 838:59:59, which was clipped, or a moment that rounding moved behind the year 9999.
    pub out_of_range: bool,
    /// 0000-00-00.
    pub zero_date: bool,
    /// A zero month or day in a date that is not zero.
    pub zero_in_date: bool,
    /// A day that the month does not have, such as February 30. The value has it nevertheless.
    pub invalid_day: bool,
    /// There were digits behind the sixth, and they were rounded.
    pub rounded: bool,
    /// A literal of a date had a time as well.
    pub has_time: bool,
    /// Digits behind the point, at most 6.
    pub fraction_digits: u8,
    /// The literal names its zone, and the value is local there. It counts as truncated until [`Parsed::in_zone`]
    /// has brought it to the session's.
    pub zone: Option<Zone>,
}

/// A value and what its literal was like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parsed<T> {
    pub value: T,
    pub flags: ParseFlags,
}

impl<T: Default> Parsed<T> {
    fn invalid() -> Parsed<T> {
        Parsed { value: T::default(), flags: ParseFlags { invalid: true, ..ParseFlags::default() } }
    }
}

impl Parsed<DateTime> {
    /// Brings a value that names its own zone to `session`'s.
    pub fn in_zone(mut self, session: Zone) -> Parsed<DateTime> {
        let Some(zone) = self.flags.zone.take() else { return self };
        if self.value.date.has_zero_part() {
            return Parsed::invalid();
        }
        match DateTime::from_unix_micros(self.value.to_unix_micros(zone), session) {
            Some(value) => {
                self.value = value;
                self.flags.truncated = false;
                self
            }
            None => Parsed::invalid(),
        }
    }
}

impl<T> Parsed<T> {
    fn map<U>(self, map: impl FnOnce(T) -> U) -> Parsed<U> {
        Parsed { value: map(self.value), flags: self.flags }
    }
}

/// Two digits of a year: 00-69 are 2000-2069.
const fn century(year: u64) -> u64 {
    if year < 70 { 2000 } else { 1900 }
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t'..=b'\r')
}

/// A text and how far it has been read.
struct Cursor<'a> {
    rest: &'a [u8],
}

impl<'a> Cursor<'a> {
    fn peek(&self) -> Option<u8> {
        self.rest.first().copied()
    }

    fn at_digit(&self) -> bool {
        self.peek().is_some_and(|byte| byte.is_ascii_digit())
    }

    fn skip(&mut self, accept: impl Fn(u8) -> bool) -> usize {
        let count = self.rest.iter().take_while(|byte| accept(**byte)).count();
        self.rest = &self.rest[count..];
        count
    }

    /// At most `limit` digits: their number and how many there were. Too large a number is `u64::MAX`.
    fn digits(&mut self, limit: usize) -> (u64, usize) {
        let count = self.rest.iter().take(limit).take_while(|byte| byte.is_ascii_digit()).count();
        let number = self.rest[..count]
            .iter()
            .fold(0_u64, |number, digit| number.saturating_mul(10).saturating_add(u64::from(digit - b'0')));
        self.rest = &self.rest[count..];
        (number, count)
    }

    /// The digits behind a point that has been read: microseconds, whether the seventh digit rounds up, and the count.
    fn fraction(&mut self) -> (u32, bool, usize) {
        let (number, count) = self.digits(6);
        let micros = number as u32 * 10_u32.pow(6 - count as u32);
        let rounds_up = self.peek().is_some_and(|byte| (b'5'..=b'9').contains(&byte));
        let more = self.skip(|byte| byte.is_ascii_digit());
        (micros, rounds_up && more > 0, count + more)
    }

    fn only_spaces_left(&self) -> bool {
        self.rest.iter().all(|byte| is_space(*byte))
    }
}

/// Fields of a date and time as they were read: year, month, day, hour, minute, second.
struct Fields {
    numbers: [u64; 6],
    count: usize,
    year_digits: usize,
    micros: u32,
    rounds_up: bool,
    fraction_digits: usize,
}

/// Reads a DATETIME. A date alone is midnight.
pub fn parse_datetime(text: &[u8]) -> Parsed<DateTime> {
    match read_datetime(text) {
        Some(parsed) => parsed,
        None => Parsed::invalid(),
    }
}

/// None if this is no date.
fn read_datetime(text: &[u8]) -> Option<Parsed<DateTime>> {
    let mut cursor = Cursor { rest: text };
    cursor.skip(is_space);
    if !cursor.at_digit() {
        return None;
    }
    let fields = read_fields(&mut cursor)?;
    let [mut year, month, day, hour, minute, second] = fields.numbers;
    let is_zero = fields.numbers == [0; 6] && fields.micros == 0;
    if fields.year_digits == 2 && !is_zero {
        year += century(year);
    }
    let in_range = year <= 9999 && month <= 12 && day <= 31 && hour <= 23 && minute <= 59 && second <= 59;
    if fields.count < 3 || !in_range {
        return None;
    }
    let zone = if fields.count == 6 { read_zone(&mut cursor) } else { None };
    let date = Date::new(year as u16, month as u8, day as u8);
    let moment = DateTime::new(date, hour as u8, minute as u8, second as u8, fields.micros);
    let mut parsed = check(moment);
    parsed.flags.truncated = !cursor.only_spaces_left() || zone.is_some();
    parsed.flags.zone = zone;
    parsed.flags.has_time = fields.count > 3;
    parsed.flags.fraction_digits = fields.fraction_digits.min(6) as u8;
    parsed.flags.rounded = fields.fraction_digits > 6;
    if fields.rounds_up {
        round_up(&mut parsed);
    }
    Some(parsed)
}

/// Reads `+05:30` behind a time, from -13:59 to +14:00. None, and nothing read, if there is none.
fn read_zone<'a>(cursor: &mut Cursor<'a>) -> Option<Zone> {
    let length = cursor.rest.iter().take_while(|byte| matches!(byte, b'+' | b'-' | b':' | b'0'..=b'9')).count();
    let text = std::str::from_utf8(&cursor.rest[..length]).ok()?;
    // Hours and minutes have two digits each.
    let zone = if text.len() == 6 { Zone::parse(text)? } else { return None };
    let behind = Cursor { rest: &cursor.rest[length..] };
    if !behind.only_spaces_left() {
        return None;
    }
    *cursor = behind;
    Some(zone)
}

fn read_fields(cursor: &mut Cursor) -> Option<Fields> {
    // Without separators (up to a fraction), fields have fixed widths.
    let run = cursor.rest.iter().take_while(|byte| byte.is_ascii_digit() || **byte == b'T').count();
    let compact = matches!(cursor.rest.get(run), None | Some(b'.'));
    let compact_year = if run == 4 || run == 8 || run >= 14 { 4 } else { 2 };
    let mut fields =
        Fields { numbers: [0; 6], count: 0, year_digits: 0, micros: 0, rounds_up: false, fraction_digits: 0 };
    while fields.count < 6 && cursor.at_digit() {
        let field = fields.count;
        let width = match (compact, field) {
            (true, 0) => compact_year,
            (true, _) => 2,
            (false, _) => usize::MAX,
        };
        let (number, digits) = cursor.digits(width);
        if number > 999_999 {
            return None;
        }
        fields.numbers[field] = number;
        if field == 0 {
            fields.year_digits = if compact { compact_year } else { digits };
        }
        fields.count += 1;
        match (field, cursor.peek()) {
            (_, None) => break,
            (2, Some(b'T')) => {
                cursor.rest = &cursor.rest[1..];
                continue;
            }
            (5, Some(b'.')) => {
                cursor.rest = &cursor.rest[1..];
                let (micros, rounds_up, digits) = cursor.fraction();
                (fields.micros, fields.rounds_up, fields.fraction_digits) = (micros, rounds_up, digits);
                break;
            }
            (5, _) => break,
            _ => {}
        }
        // Also where nothing follows: '2020-01-01 10:' is ten o'clock.
        while let Some(byte) = cursor.peek() {
            if is_space(byte) {
                // Only between date and time.
                if field != 2 && !cursor.only_spaces_left() {
                    return None;
                }
            } else if !byte.is_ascii_punctuation() {
                break;
            }
            cursor.rest = &cursor.rest[1..];
        }
    }
    Some(fields)
}

/// The flags of a date that is in the range of its fields.
fn check(moment: DateTime) -> Parsed<DateTime> {
    let date = moment.date;
    let mut flags = ParseFlags::default();
    if date.is_zero() {
        flags.zero_date = true;
    } else if date.has_zero_part() {
        flags.zero_in_date = true;
    } else if date.day > calendar::days_in_month(date.year, date.month) {
        flags.invalid_day = true;
    }
    Parsed { value: moment, flags }
}

/// Adds a microsecond.
fn round_up(parsed: &mut Parsed<DateTime>) {
    parsed.flags.rounded = true;
    let moment = &mut parsed.value;
    moment.micros += 1;
    if moment.micros < 1_000_000 {
        return;
    }
    moment.micros = 999_999;
    match moment.round(0) {
        Some(rounded) => *moment = rounded,
        None => {
            *parsed = Parsed::invalid();
            parsed.flags.out_of_range = true;
        }
    }
}

/// Reads a DATE; the time of a whole literal is dropped.
pub fn parse_date(text: &[u8]) -> Parsed<Date> {
    parse_datetime(text).map(|moment| moment.date)
}

/// Reads a TIME. A whole literal of a date and time gives its time of day.
pub fn parse_time(text: &[u8]) -> Parsed<Time> {
    let mut cursor = Cursor { rest: text };
    cursor.skip(is_space);
    let negative = cursor.peek() == Some(b'-');
    if negative {
        cursor.rest = &cursor.rest[1..];
    }
    if cursor.rest.is_empty() {
        return Parsed::invalid();
    }
    if !negative
        && cursor.rest.len() >= 12
        && let Some(parsed) = read_datetime(cursor.rest)
        && parsed.flags.has_time
        && is_whole_moment(cursor.rest)
    {
        return parsed.map(|moment| moment.time());
    }
    read_time(cursor, negative).unwrap_or_else(Parsed::invalid)
}

/// The same, where a text that has a date as well may name its own zone: its time is that of `session`'s.
pub fn parse_time_in(text: &[u8], session: Zone) -> Parsed<Time> {
    let parsed = parse_time(text);
    match parsed.flags.zone {
        Some(_) => parse_datetime(text).in_zone(session).map(|moment| moment.time()),
        None => parsed,
    }
}

/// Whether a text that reads as a date and time is meant as one: digits and a separator other than a colon behind the
/// year, or 14 digits.
fn is_whole_moment(text: &[u8]) -> bool {
    let mut cursor = Cursor { rest: text };
    let (_, digits) = cursor.digits(usize::MAX);
    match cursor.peek() {
        None | Some(b'.') => digits >= 12,
        Some(b'T') => digits == 8 || digits == 6,
        Some(b':') | Some(b' ') => false,
        Some(_) => true,
    }
}

fn read_time(mut cursor: Cursor, negative: bool) -> Option<Parsed<Time>> {
    let (first, digits) = cursor.digits(usize::MAX);
    if first > u64::from(u32::MAX) {
        return None;
    }
    let spaces = {
        let before = cursor.rest;
        let count = cursor.skip(is_space);
        if count > 0 && !cursor.at_digit() {
            cursor.rest = before;
        }
        count
    };
    let colon_and_digit =
        |cursor: &Cursor| cursor.peek() == Some(b':') && cursor.rest.get(1).is_some_and(|byte| byte.is_ascii_digit());
    let [days, hours, minutes, seconds];
    // A single digit behind the days is no hour, says MySQL.
    if spaces > 0 && digits > 0 && cursor.at_digit() && cursor.rest.len() > 1 {
        // Days, then hours and what follows.
        let mut numbers = [0; 3];
        for (index, number) in numbers.iter_mut().enumerate() {
            *number = cursor.digits(usize::MAX).0;
            if index == 2 || !colon_and_digit(&cursor) {
                break;
            }
            cursor.rest = &cursor.rest[1..];
        }
        [days, hours, minutes, seconds] = [first, numbers[0], numbers[1], numbers[2]];
    } else if colon_and_digit(&cursor) {
        let mut numbers = [first, 0, 0];
        for number in &mut numbers[1..] {
            if !colon_and_digit(&cursor) {
                break;
            }
            cursor.rest = &cursor.rest[1..];
            *number = cursor.digits(usize::MAX).0;
        }
        [days, hours, minutes, seconds] = [0, numbers[0], numbers[1], numbers[2]];
    } else {
        if digits == 0 && !matches!(cursor.rest, [b'.', b'0'..=b'9', ..]) {
            return None;
        }
        [days, hours, minutes, seconds] = [0, first / 10_000, first / 100 % 100, first % 100];
    }
    let (mut micros, mut rounds_up, mut fraction_digits) = (0, false, 0);
    if cursor.peek() == Some(b'.') {
        if cursor.rest.get(1).is_some_and(|byte| byte.is_ascii_digit()) {
            cursor.rest = &cursor.rest[1..];
            (micros, rounds_up, fraction_digits) = cursor.fraction();
        } else if cursor.rest.len() == 1 {
            cursor.rest = &[];
        }
    }
    if let [b'e' | b'E', rest @ ..] = cursor.rest {
        // 1e5 is a number of another kind; MySQL takes it for no time at all.
        let digits = if let [b'+' | b'-', rest @ ..] = rest { rest } else { rest };
        if digits.first().is_some_and(u8::is_ascii_digit) {
            return None;
        }
    }
    let mut parsed = time_of(negative, days, hours, minutes, seconds, micros)?;
    parsed.flags.truncated = !cursor.only_spaces_left();
    parsed.flags.rounded = fraction_digits > 6;
    parsed.flags.fraction_digits = fraction_digits.min(6) as u8;
    if rounds_up && !parsed.flags.out_of_range {
        let micros = parsed.value.to_micros();
        (parsed.value, parsed.flags.out_of_range) = Time::from_micros(if negative { micros - 1 } else { micros + 1 });
    }
    Some(parsed)
}

/// None if the minutes or seconds are out of range; too many hours are clipped.
fn time_of(negative: bool, days: u64, hours: u64, minutes: u64, seconds: u64, micros: u32) -> Option<Parsed<Time>> {
    if minutes > 59 || seconds > 59 {
        return None;
    }
    let hours = days.saturating_mul(24).saturating_add(hours).min(100_000) as i64;
    let magnitude = ((hours * 60 + minutes as i64) * 60 + seconds as i64) * 1_000_000 + i64::from(micros);
    let (value, out_of_range) = Time::from_micros(if negative { -magnitude } else { magnitude });
    Some(Parsed { value, flags: ParseFlags { out_of_range, ..ParseFlags::default() } })
}

/// The date and time of a number: 20240102, 240102, 20240102030405, 240102030405.
pub fn datetime_from_number(number: i64, micros: u32) -> Parsed<DateTime> {
    let full = match number {
        0 => 0,
        101..=691_231 => (number + 20_000_000) * 1_000_000,
        700_101..=991_231 => (number + 19_000_000) * 1_000_000,
        10_000_101..=99_991_231 => number * 1_000_000,
        101_000_000..=691_231_235_959 => number + 20_000_000_000_000,
        700_101_000_000..=991_231_235_959 => number + 19_000_000_000_000,
        // What is no year of two digits is one of three or four.
        991_231_235_960..=99_991_231_235_959 => number,
        _ => return Parsed::invalid(),
    };
    let has_time = !matches!(number, 1..=99_991_231);
    let (date, time) = (full / 1_000_000, full % 1_000_000);
    let (month, day) = (date / 100 % 100, date % 100);
    let (hour, minute, second) = (time / 10_000, time / 100 % 100, time % 100);
    if month > 12 || day > 31 || hour > 23 || minute > 59 || second > 59 {
        return Parsed::invalid();
    }
    let date = Date::new((date / 10_000) as u16, month as u8, day as u8);
    let mut parsed = check(DateTime::new(date, hour as u8, minute as u8, second as u8, micros));
    parsed.flags.has_time = has_time;
    parsed
}

/// The date and time of a number with a fraction of a second.
pub fn datetime_from_decimal(number: &Decimal) -> Parsed<DateTime> {
    let Some((whole, micros, rounds_up)) = split(number) else { return Parsed::invalid() };
    if number.is_negative() {
        return Parsed::invalid();
    }
    let mut parsed = datetime_from_number(whole, micros);
    if parsed.flags.invalid {
        return parsed;
    }
    // A number of a date has no time, and no part of it: 20241231.9 is the day.
    if !parsed.flags.has_time && (parsed.value.micros != 0 || rounds_up) {
        return datetime_from_number(whole, 0);
    }
    parsed.flags.fraction_digits = number.scale().min(6);
    parsed.flags.rounded = number.scale() > 6;
    if rounds_up {
        round_up(&mut parsed);
    }
    parsed
}

/// The TIME of a number HHMMSS. A number of a date and time gives its time of day.
pub fn time_from_number(number: i64, micros: u32) -> Parsed<Time> {
    let magnitude = number.unsigned_abs();
    if number >= 10_000_000_000 {
        // The time of a moment, if its day is one.
        let parsed = datetime_from_number(number, micros);
        let ParseFlags { invalid, zero_date, zero_in_date, invalid_day, .. } = parsed.flags;
        if !(invalid || zero_date || zero_in_date || invalid_day) {
            return parsed.map(|moment| moment.time());
        }
    }
    if magnitude > 8_385_959 {
        let (value, _) = Time::from_micros(if number < 0 { i64::MIN } else { i64::MAX });
        return Parsed { value, flags: ParseFlags { out_of_range: true, ..ParseFlags::default() } };
    }
    let (hours, minutes, seconds) = (magnitude / 10_000, magnitude / 100 % 100, magnitude % 100);
    time_of(number < 0, 0, hours, minutes, seconds, micros).unwrap_or_else(Parsed::invalid)
}

/// The TIME of a number with a fraction of a second.
pub fn time_from_decimal(number: &Decimal) -> Parsed<Time> {
    let Some((whole, micros, rounds_up)) = split(number) else {
        let limit = if number.is_negative() { -MICROS_PER_DAY * 100 } else { MICROS_PER_DAY * 100 };
        let flags = ParseFlags { out_of_range: true, ..ParseFlags::default() };
        return Parsed { value: Time::from_micros(limit).0, flags };
    };
    let mut parsed = time_from_number(whole, micros);
    if parsed.flags.invalid || parsed.flags.out_of_range {
        return parsed;
    }
    parsed.flags.fraction_digits = number.scale().min(6);
    parsed.flags.rounded = number.scale() > 6;
    let mut signed = parsed.value.to_micros().abs() + i64::from(rounds_up);
    if number.is_negative() {
        signed = -signed;
    }
    (parsed.value, parsed.flags.out_of_range) = Time::from_micros(signed);
    parsed
}

/// The integer part, the microseconds, and whether the seventh digit rounds up.
fn split(number: &Decimal) -> Option<(i64, u32, bool)> {
    let whole = number.truncate(0);
    let integer = i64::try_from(whole.to_i128_truncated()?).ok()?;
    let fraction = number.sub(&whole).ok()?.abs();
    let shifted = |digits: u32| {
        let scaled = fraction.mul(&Decimal::from(10_u64.pow(digits))).ok()?;
        scaled.to_i128_truncated()
    };
    let seven = shifted(7)?;
    Some((integer, (seven / 10) as u32, seven % 10 >= 5))
}

#[cfg(test)]
mod tests;
