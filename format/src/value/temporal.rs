//! Dates and times.

use std::cmp::Ordering;
use super::Decimal;

/// A date of the proleptic Gregorian calendar, or a zero date: `0000-00-00`, or with a zero month or day.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Date {
    pub year: u16,
    pub month: u8,
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

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DateTime {
    pub date: Date,
    pub hour: u8,
    pub minute: u8,
    pub second: u8,
    pub micros: u32,
}

/// A time zone that is a fixed distance from UTC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ZoneOffset {
    pub seconds: i32,
}

/// What a temporal literal was like. The caller decides by sql_mode what is an error, a warning, or nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ParseFlags {
    /// Not a date or time at all, or a part out of range: the value is zero.
    pub invalid: bool,
    /// Something follows the value, or a TIME was clipped to its range.
    pub truncated: bool,
    /// A TIME beyond +-838:59:59, clipped.
    pub out_of_range: bool,
    /// 0000-00-00.
    pub zero_date: bool,
    /// A zero month or day in a date that is not all zero (or a zero year with month and day).
    pub zero_in_date: bool,
    /// A day that its month does not have, such as 02-30 (only ALLOW_INVALID_DATES keeps it).
    pub invalid_day: bool,
    /// Digits behind the sixth were cut or rounded (a note at most).
    pub rounded: bool,
    /// A date-time literal had a time part.
    pub has_time: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parsed<T> {
    pub value: T,
    pub flags: ParseFlags,
}

pub fn parse_datetime(_text: &[u8]) -> Parsed<DateTime> {
    todo!()
}
pub fn parse_date(_text: &[u8]) -> Parsed<Date> {
    todo!()
}
/// Reads a TIME; a whole date-time literal gives its time part.
pub fn parse_time(_text: &[u8]) -> Parsed<Time> {
    todo!()
}
/// 20240102 or 20240102030405, with two-digit years too.
pub fn datetime_from_number(_number: i64, _micros: u32) -> Parsed<DateTime> {
    todo!()
}
pub fn datetime_from_decimal(_number: &Decimal) -> Parsed<DateTime> {
    todo!()
}
/// HHMMSS.
pub fn time_from_number(_number: i64, _micros: u32) -> Parsed<Time> {
    todo!()
}
pub fn time_from_decimal(_number: &Decimal) -> Parsed<Time> {
    todo!()
}

impl ZoneOffset {
    pub const UTC: ZoneOffset = ZoneOffset { seconds: 0 };
    /// `+05:30`, `-08:00`, `UTC`, `SYSTEM` (UTC).
    pub fn parse(_text: &str) -> Option<ZoneOffset> {
        todo!()
    }
}

impl Date {
    pub const ZERO: Date = Date { year: 0, month: 0, day: 0 };
    pub const MAX: Date = Date { year: 9999, month: 12, day: 31 };
    pub const fn new(year: u16, month: u8, day: u8) -> Date {
        Date { year, month, day }
    }
    pub fn is_zero(&self) -> bool {
        *self == Date::ZERO
    }
    /// Whether the month or the day is zero.
    pub fn has_zero_part(&self) -> bool {
        self.month == 0 || self.day == 0
    }
    /// Whether the month has that day.
    pub fn is_in_calendar(&self) -> bool {
        todo!()
    }
    /// TO_DAYS: days since year 0.
    pub fn to_days(&self) -> i64 {
        todo!()
    }
    /// FROM_DAYS; the zero date outside of years 0..=9999.
    pub fn from_days(_days: i64) -> Date {
        todo!()
    }
    /// 0 = Monday.
    pub fn weekday(&self) -> u8 {
        todo!()
    }
    /// 1..=366
    pub fn day_of_year(&self) -> u16 {
        todo!()
    }
    /// WEEK and YEARWEEK by mode 0..=7: the year that the week belongs to, and the week.
    pub fn week(&self, _mode: u8) -> (u16, u8) {
        todo!()
    }
    pub fn last_day(&self) -> Date {
        todo!()
    }
    /// 20240102
    pub fn to_number(&self) -> i64 {
        todo!()
    }
    pub fn at_midnight(self) -> DateTime {
        DateTime { date: self, ..DateTime::default() }
    }
    /// `2024-01-02`
    pub fn write(&self, _out: &mut Vec<u8>) {
        todo!()
    }
}

impl Time {
    pub const ZERO: Time = Time { negative: false, hours: 0, minutes: 0, seconds: 0, micros: 0 };
    pub const MAX: Time = Time { negative: false, hours: 838, minutes: 59, seconds: 59, micros: 0 };
    pub fn to_micros(&self) -> i64 {
        todo!()
    }
    /// Clipped to the range of TIME; the second is whether it was.
    pub fn from_micros(_micros: i64) -> (Time, bool) {
        todo!()
    }
    /// -123456 for -12:34:56
    pub fn to_number(&self) -> i64 {
        todo!()
    }
    /// With `fsp` digits behind the point.
    pub fn to_decimal(&self, _fsp: u8) -> Decimal {
        todo!()
    }
    pub fn round(&self, _fsp: u8) -> Time {
        todo!()
    }
    pub fn truncate(&self, _fsp: u8) -> Time {
        todo!()
    }
    /// `-12:34:56.7`
    pub fn write(&self, _fsp: u8, _out: &mut Vec<u8>) {
        todo!()
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

impl DateTime {
    pub const ZERO: DateTime = DateTime { date: Date::ZERO, hour: 0, minute: 0, second: 0, micros: 0 };
    pub fn time(&self) -> Time {
        todo!()
    }
    /// 20240102030405
    pub fn to_number(&self) -> i64 {
        todo!()
    }
    pub fn to_decimal(&self, _fsp: u8) -> Decimal {
        todo!()
    }
    /// Microseconds since the beginning of year 0.
    pub fn to_micros(&self) -> i64 {
        todo!()
    }
    /// None outside of years 0..=9999.
    pub fn from_micros(_micros: i64) -> Option<DateTime> {
        todo!()
    }
    /// Microseconds since 1970 UTC, taking `self` as local in `zone`.
    pub fn to_unix_micros(&self, _zone: ZoneOffset) -> i64 {
        todo!()
    }
    pub fn from_unix_micros(_micros: i64, _zone: ZoneOffset) -> Option<DateTime> {
        todo!()
    }
    /// None when rounding up leaves the year 9999.
    pub fn round(&self, _fsp: u8) -> Option<DateTime> {
        todo!()
    }
    pub fn truncate(&self, _fsp: u8) -> DateTime {
        todo!()
    }
    /// Adds an interval; None when the result is out of range. Days are clamped to their month.
    pub fn add(&self, _interval: &Interval) -> Option<DateTime> {
        todo!()
    }
    /// `self - other` in microseconds.
    pub fn diff_micros(&self, _other: &DateTime) -> i64 {
        todo!()
    }
    /// TIMESTAMPDIFF in whole units.
    pub fn diff(&self, _other: &DateTime, _unit: IntervalUnit) -> i64 {
        todo!()
    }
    /// `2024-01-02 03:04:05.6`
    pub fn write(&self, _fsp: u8, _out: &mut Vec<u8>) {
        todo!()
    }
}

/// The units of INTERVAL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IntervalUnit {
    Microsecond,
    Second,
    Minute,
    Hour,
    Day,
    Week,
    Month,
    Quarter,
    Year,
    SecondMicrosecond,
    MinuteMicrosecond,
    MinuteSecond,
    HourMicrosecond,
    HourSecond,
    HourMinute,
    DayMicrosecond,
    DaySecond,
    DayMinute,
    DayHour,
    YearMonth,
}

impl IntervalUnit {
    pub fn by_name(_name: &str) -> Option<IntervalUnit> {
        todo!()
    }
    pub fn name(self) -> &'static str {
        todo!()
    }
    /// Whether it touches hours or less, so that adding it to a DATE gives a DATETIME.
    pub fn has_time(self) -> bool {
        todo!()
    }
    pub fn has_micros(self) -> bool {
        todo!()
    }
}

/// A distance in time. Months are kept apart since they have no fixed length.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Interval {
    pub months: i64,
    pub days: i64,
    pub micros: i64,
}

impl Interval {
    /// `INTERVAL count unit` for the simple units; None when it overflows.
    pub fn from_count(_count: i64, _unit: IntervalUnit) -> Option<Interval> {
        todo!()
    }
    /// From text such as `1:10` MINUTE_SECOND, or `1.5` SECOND; None when it overflows.
    pub fn parse(_text: &[u8], _unit: IntervalUnit) -> Option<Interval> {
        todo!()
    }
    pub fn negate(self) -> Interval {
        Interval { months: -self.months, days: -self.days, micros: -self.micros }
    }
}
