//! Dates and times.
//!
//! Three types: [`Date`], [`Time`] (a signed duration, as TIME columns hold it) and [`DateTime`]. They are plain
//! fields, as MySQL's are, since MySQL allows what no calendar has: `0000-00-00`, `2024-00-00` and, in one SQL mode,
//! `2024-02-30`. Whether such a value is welcome is a matter of `sql_mode`, so readers return what they saw
//! ([`Parsed`], [`ParseFlags`]) and the caller decides what is an error, a warning or nothing.
//!
//! ```text
//! parse.rs      MySQL's many forms of literals and numbers -> values
//! calendar.rs   days since year 0, weeks, UNIX time
//! interval.rs   INTERVAL n unit: addition, differences
//! stored.rs     the bytes of InnoDB, and from them the text
//! zone.rs       local times and moments
//! ```
//!
//! Fractions of a second are microseconds everywhere; a column's `fsp` says how many of the six digits it keeps.
//! MySQL rounds the rest (half up), it does not cut.
//!
//! A [`Zone`] has UTC's moments as local times, and the other way.
//!
//! Sources: the MySQL manual, "Date and Time Data Types" and "Date and Time Functions"; behaviour observed on a
//! running server.

mod calendar;
mod interval;
mod parse;
mod stored;
mod zone;

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

use super::Decimal;

pub use interval::{Interval, IntervalUnit};
pub use parse::{
    ParseFlags, Parsed, datetime_from_decimal, datetime_from_number, parse_date, parse_datetime, parse_time,
    parse_time_in, time_from_decimal, time_from_number,
};
pub use zone::{Moment, Zone};

const MICROS_PER_SECOND: i64 = 1_000_000;
const MICROS_PER_MINUTE: i64 = 60 * MICROS_PER_SECOND;
const MICROS_PER_HOUR: i64 = 60 * MICROS_PER_MINUTE;
const MICROS_PER_DAY: i64 = 24 * MICROS_PER_HOUR;

/// 10^(6 - fsp): microseconds of the last digit that an fsp keeps.
const FRACTION_UNIT: [u32; 7] = [1_000_000, 100_000, 10_000, 1_000, 100, 10, 1];

/// A date of the Gregorian calendar, extended to year 0, or a date with zero parts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Date {
    /// 0..=9999
    pub year: u16,
    /// 0..=12
    pub month: u8,
    /// 0..=31
    pub day: u8,
}

/// A signed duration of up to 838:59:59.999999. Zero is not negative.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Time {
    pub negative: bool,
    pub hours: u16,
    pub minutes: u8,
    pub seconds: u8,
    pub micros: u32,
}

/// A date with a time of day. Two of them are equal if their clocks show the same.
#[derive(Clone, Copy, Debug, Default)]
pub struct DateTime {
    pub date: Date,
    pub hour: u8,
    pub minute: u8,
    pub second: u8,
    pub micros: u32,
    /// It was made of a moment at which the zone's clock showed this for the second time.
    pub is_second: bool,
}

impl Date {
    pub const ZERO: Date = Date { year: 0, month: 0, day: 0 };
    pub const MAX: Date = Date { year: 9999, month: 12, day: 31 };

    pub const fn new(year: u16, month: u8, day: u8) -> Date {
        Date { year, month, day }
    }

    /// 0000-00-00.
    #[inline]
    pub fn is_zero(&self) -> bool {
        *self == Date::ZERO
    }

    /// Whether the month or the day is zero.
    #[inline]
    pub fn has_zero_part(&self) -> bool {
        self.month == 0 || self.day == 0
    }

    /// 20240102
    pub fn to_number(&self) -> i64 {
        i64::from(self.year) * 10_000 + i64::from(self.month) * 100 + i64::from(self.day)
    }

    #[inline]
    pub fn at_midnight(self) -> DateTime {
        DateTime { date: self, ..DateTime::default() }
    }

    /// Appends `2024-01-02`.
    #[inline]
    pub fn write(&self, out: &mut Vec<u8>) {
        let mut text = *b"0000-00-00";
        self.put(&mut text);
        out.extend_from_slice(&text);
    }

    #[inline]
    fn put(&self, text: &mut [u8]) {
        put_pair(&mut text[0..2], (self.year / 100) as u8);
        put_pair(&mut text[2..4], (self.year % 100) as u8);
        put_pair(&mut text[5..7], self.month);
        put_pair(&mut text[8..10], self.day);
    }
}

/// Writes two digits.
#[inline]
fn put_pair(text: &mut [u8], number: u8) {
    text[0] = b'0' + number / 10 % 10;
    text[1] = b'0' + number % 10;
}

/// Appends `.678` with `fsp` digits; nothing for fsp 0.
#[inline]
fn write_fraction(micros: u32, fsp: u8, out: &mut Vec<u8>) {
    if fsp == 0 {
        return;
    }
    let mut text = *b".000000";
    put_pair(&mut text[1..3], (micros / 10_000) as u8);
    put_pair(&mut text[3..5], (micros / 100 % 100) as u8);
    put_pair(&mut text[5..7], (micros % 100) as u8);
    out.extend_from_slice(&text[..1 + fsp.min(6) as usize]);
}

/// Microseconds rounded half up to `fsp` digits: up to and including a whole second.
#[inline]
fn round_micros(micros: u32, fsp: u8) -> u32 {
    let unit = FRACTION_UNIT[fsp.min(6) as usize];
    (micros + unit / 2) / unit * unit
}

#[inline]
fn truncate_micros(micros: u32, fsp: u8) -> u32 {
    micros - micros % FRACTION_UNIT[fsp.min(6) as usize]
}

/// A number with microseconds as a fraction of `fsp` digits.
fn decimal_of(negative: bool, whole: i64, micros: u32, fsp: u8) -> Decimal {
    let fsp = fsp.min(6);
    let unit = FRACTION_UNIT[fsp as usize];
    let coefficient = i128::from(whole.unsigned_abs()) * i128::from(1_000_000 / unit) + i128::from(micros / unit);
    Decimal::from_i128(if negative { -coefficient } else { coefficient }, fsp)
}

impl Time {
    pub const ZERO: Time = Time { negative: false, hours: 0, minutes: 0, seconds: 0, micros: 0 };
    pub const MAX: Time = Time { negative: false, hours: 838, minutes: 59, seconds: 59, micros: 0 };

    /// The signed duration in microseconds.
    #[inline]
    pub fn to_micros(&self) -> i64 {
        let magnitude = i64::from(self.hours) * MICROS_PER_HOUR
            + i64::from(self.minutes) * MICROS_PER_MINUTE
            + i64::from(self.seconds) * MICROS_PER_SECOND
            + i64::from(self.micros);
        if self.negative { -magnitude } else { magnitude }
    }

    /// Of a signed duration, clipped to +-838:59:59; the second part is whether it was.
    pub fn from_micros(micros: i64) -> (Time, bool) {
        let magnitude = micros.unsigned_abs();
        let limit = Time::MAX.to_micros() as u64;
        let clipped = magnitude > limit;
        let magnitude = magnitude.min(limit);
        let seconds = magnitude / MICROS_PER_SECOND as u64;
        let time = Time {
            negative: micros < 0,
            hours: (seconds / 3600) as u16,
            minutes: (seconds / 60 % 60) as u8,
            seconds: (seconds % 60) as u8,
            micros: (magnitude % MICROS_PER_SECOND as u64) as u32,
        };
        (time, clipped)
    }

    /// -123456 for -12:34:56.7
    pub fn to_number(&self) -> i64 {
        let number = i64::from(self.hours) * 10_000 + i64::from(self.minutes) * 100 + i64::from(self.seconds);
        if self.negative { -number } else { number }
    }

    /// The number with `fsp` digits behind the point.
    pub fn to_decimal(&self, fsp: u8) -> Decimal {
        decimal_of(self.negative, self.to_number(), self.micros, fsp)
    }

    /// Rounded half away from zero to `fsp` digits, clipped to the range.
    pub fn round(&self, fsp: u8) -> Time {
        let micros = round_micros(self.micros, fsp);
        if micros < 1_000_000 {
            return Time { micros, ..*self }.unsigned_zero();
        }
        let second = Time { micros: 0, ..*self };
        let magnitude = second.to_micros().abs() + MICROS_PER_SECOND;
        Time::from_micros(if self.negative { -magnitude } else { magnitude }).0
    }

    /// Without the digits behind `fsp`.
    pub fn truncate(&self, fsp: u8) -> Time {
        Time { micros: truncate_micros(self.micros, fsp), ..*self }.unsigned_zero()
    }

    /// Zero is not negative.
    fn unsigned_zero(mut self) -> Time {
        self.negative &= self.to_micros() != 0;
        self
    }

    /// Appends `-12:34:56.7` with `fsp` digits behind the point.
    pub fn write(&self, fsp: u8, out: &mut Vec<u8>) {
        if self.negative {
            out.push(b'-');
        }
        let mut text = *b"00:00:00";
        if self.hours >= 100 {
            out.push(b'0' + (self.hours / 100) as u8);
        }
        put_pair(&mut text[0..2], (self.hours % 100) as u8);
        put_pair(&mut text[3..5], self.minutes);
        put_pair(&mut text[6..8], self.seconds);
        out.extend_from_slice(&text);
        write_fraction(self.micros, fsp, out);
    }
}

impl PartialOrd for Time {
    fn partial_cmp(&self, other: &Time) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Time {
    fn cmp(&self, other: &Time) -> Ordering {
        self.to_micros().cmp(&other.to_micros())
    }
}

impl PartialEq for DateTime {
    fn eq(&self, other: &DateTime) -> bool {
        self.shown() == other.shown()
    }
}

impl Eq for DateTime {}

impl PartialOrd for DateTime {
    fn partial_cmp(&self, other: &DateTime) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for DateTime {
    fn cmp(&self, other: &DateTime) -> Ordering {
        self.shown().cmp(&other.shown())
    }
}

impl Hash for DateTime {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.shown().hash(state);
    }
}

impl DateTime {
    pub const ZERO: DateTime = DateTime::new(Date::ZERO, 0, 0, 0, 0);

    pub const fn new(date: Date, hour: u8, minute: u8, second: u8, micros: u32) -> DateTime {
        DateTime { date, hour, minute, second, micros, is_second: false }
    }

    fn shown(&self) -> (Date, u8, u8, u8, u32) {
        (self.date, self.hour, self.minute, self.second, self.micros)
    }

    /// The time of day.
    #[inline]
    pub fn time(&self) -> Time {
        Time {
            negative: false,
            hours: u16::from(self.hour),
            minutes: self.minute,
            seconds: self.second,
            micros: self.micros,
        }
    }

    /// 20240102030405
    pub fn to_number(&self) -> i64 {
        self.date.to_number() * 1_000_000 + self.time().to_number()
    }

    /// The number with `fsp` digits behind the point.
    pub fn to_decimal(&self, fsp: u8) -> Decimal {
        decimal_of(false, self.to_number(), self.micros, fsp)
    }

    /// Rounded half up to `fsp` digits; None when that leaves the year 9999. A date with zero parts cannot move to the
    /// next day, so there the digits are cut instead if they would.
    pub fn round(&self, fsp: u8) -> Option<DateTime> {
        let micros = round_micros(self.micros, fsp);
        if micros < 1_000_000 {
            return Some(DateTime { micros, ..*self });
        }
        let (hour, minute, second) = (self.hour, self.minute, self.second);
        if (hour, minute, second) == (23, 59, 59) && self.date.has_zero_part() {
            return Some(self.truncate(fsp));
        }
        match (hour, minute, second) {
            (23, 59, 59) => {
                let next = Date::from_days(self.date.to_days() + 1);
                if next.is_zero() { None } else { Some(next.at_midnight()) }
            }
            (hour, 59, 59) => Some(DateTime::new(self.date, hour + 1, 0, 0, 0)),
            (_, minute, 59) => Some(DateTime { minute: minute + 1, second: 0, micros: 0, ..*self }),
            (.., second) => Some(DateTime { second: second + 1, micros: 0, ..*self }),
        }
    }

    /// Without the digits behind `fsp`.
    pub fn truncate(&self, fsp: u8) -> DateTime {
        DateTime { micros: truncate_micros(self.micros, fsp), ..*self }
    }

    /// Appends `2024-01-02 03:04:05.6` with `fsp` digits behind the point.
    #[inline]
    pub fn write(&self, fsp: u8, out: &mut Vec<u8>) {
        let mut text = *b"0000-00-00 00:00:00";
        self.date.put(&mut text);
        put_pair(&mut text[11..13], self.hour);
        put_pair(&mut text[14..16], self.minute);
        put_pair(&mut text[17..19], self.second);
        out.extend_from_slice(&text);
        write_fraction(self.micros, fsp, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(write: impl Fn(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        write(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn texts() {
        assert_eq!(text(|out| Date::new(24, 1, 2).write(out)), "0024-01-02");
        let time = Time { negative: true, hours: 838, minutes: 5, seconds: 9, micros: 120_000 };
        assert_eq!(text(|out| time.write(0, out)), "-838:05:09");
        assert_eq!(text(|out| time.write(3, out)), "-838:05:09.120");
        let moment = DateTime::new(Date::MAX, 23, 59, 59, 1);
        assert_eq!(text(|out| moment.write(6, out)), "9999-12-31 23:59:59.000001");
    }

    #[test]
    fn numbers() {
        let time = Time { negative: true, hours: 12, minutes: 34, seconds: 56, micros: 780_000 };
        assert_eq!(time.to_number(), -123_456);
        assert_eq!(time.to_decimal(3).to_string(), "-123456.780");
        let moment = DateTime::new(Date::new(2024, 1, 2), 3, 4, 5, 600_000);
        assert_eq!(moment.to_number(), 20_240_102_030_405);
        assert_eq!(moment.to_decimal(1).to_string(), "20240102030405.6");
    }

    #[test]
    fn seconds_round_half_up() {
        let moment = DateTime::new(Date::new(2023, 12, 31), 23, 59, 59, 999_500);
        assert_eq!(moment.round(3), Some(Date::new(2024, 1, 1).at_midnight()));
        assert_eq!(moment.round(4).unwrap().micros, 999_500);
        assert_eq!(moment.truncate(0).micros, 0);
        assert_eq!(DateTime::new(Date::MAX, 23, 59, 59, 500_000).round(0), None);
        let time = Time { negative: true, hours: 0, minutes: 59, seconds: 59, micros: 950_000 };
        assert_eq!(time.round(1), Time { negative: true, hours: 1, ..Time::ZERO });
        let tiny = Time { negative: true, micros: 4, ..Time::ZERO };
        assert_eq!(tiny.round(5), Time::ZERO);
        assert_eq!(Time { micros: 999_999, ..Time::MAX }.round(0), Time::MAX);
    }

    #[test]
    fn durations_are_clipped() {
        assert_eq!(Time::from_micros(-1).0.to_micros(), -1);
        assert_eq!(Time::from_micros(i64::MIN), (Time { negative: true, ..Time::MAX }, true));
    }
}
