//! INTERVAL: distances in time, and moving by them.

use super::{Date, DateTime, MICROS_PER_DAY, MICROS_PER_HOUR, MICROS_PER_MINUTE, MICROS_PER_SECOND, calendar};
use crate::value::{Decimal, i64_prefix};

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

use IntervalUnit::*;

const NAMES: [(IntervalUnit, &str); 20] = [
    (Microsecond, "MICROSECOND"),
    (Second, "SECOND"),
    (Minute, "MINUTE"),
    (Hour, "HOUR"),
    (Day, "DAY"),
    (Week, "WEEK"),
    (Month, "MONTH"),
    (Quarter, "QUARTER"),
    (Year, "YEAR"),
    (SecondMicrosecond, "SECOND_MICROSECOND"),
    (MinuteMicrosecond, "MINUTE_MICROSECOND"),
    (MinuteSecond, "MINUTE_SECOND"),
    (HourMicrosecond, "HOUR_MICROSECOND"),
    (HourSecond, "HOUR_SECOND"),
    (HourMinute, "HOUR_MINUTE"),
    (DayMicrosecond, "DAY_MICROSECOND"),
    (DaySecond, "DAY_SECOND"),
    (DayMinute, "DAY_MINUTE"),
    (DayHour, "DAY_HOUR"),
    (YearMonth, "YEAR_MONTH"),
];

impl IntervalUnit {
    /// By name, any case; also `SQL_TSI_DAY` and its kin.
    pub fn by_name(name: &str) -> Option<IntervalUnit> {
        let plain = match name.get(..8) {
            Some(prefix) if prefix.eq_ignore_ascii_case("SQL_TSI_") => &name[8..],
            _ => name,
        };
        NAMES.iter().find(|(_, known)| known.eq_ignore_ascii_case(plain)).map(|(unit, _)| *unit)
    }

    pub fn name(self) -> &'static str {
        NAMES.iter().find(|(unit, _)| *unit == self).map_or("", |(_, name)| name)
    }

    /// Whether it touches hours or less, so that a DATE moved by it becomes a DATETIME.
    pub fn has_time(self) -> bool {
        !matches!(self, Day | Week | Month | Quarter | Year | YearMonth)
    }

    /// Whether it touches microseconds.
    pub fn has_micros(self) -> bool {
        matches!(self, Microsecond | SecondMicrosecond | MinuteMicrosecond | HourMicrosecond | DayMicrosecond)
    }

    /// What the numbers in the text of a compound unit count, from left to right.
    fn parts(self) -> &'static [IntervalUnit] {
        match self {
            SecondMicrosecond => &[Second, Microsecond],
            MinuteMicrosecond => &[Minute, Second, Microsecond],
            MinuteSecond => &[Minute, Second],
            HourMicrosecond => &[Hour, Minute, Second, Microsecond],
            HourSecond => &[Hour, Minute, Second],
            HourMinute => &[Hour, Minute],
            DayMicrosecond => &[Day, Hour, Minute, Second, Microsecond],
            DaySecond => &[Day, Hour, Minute, Second],
            DayMinute => &[Day, Hour, Minute],
            DayHour => &[Day, Hour],
            YearMonth => &[Year, Month],
            _ => &[],
        }
    }
}

/// A distance in time. Months are kept apart, since they have no fixed length.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Interval {
    pub months: i64,
    pub days: i64,
    pub micros: i64,
}

impl Interval {
    /// `INTERVAL count unit`; None when it is too long for any date. For a compound unit, `count` is its last part.
    pub fn from_count(count: i64, unit: IntervalUnit) -> Option<Interval> {
        let none = Interval::default();
        Some(match unit {
            Microsecond => Interval { micros: count, ..none },
            Second => Interval { micros: count.checked_mul(MICROS_PER_SECOND)?, ..none },
            Minute => Interval { micros: count.checked_mul(MICROS_PER_MINUTE)?, ..none },
            Hour => Interval { micros: count.checked_mul(MICROS_PER_HOUR)?, ..none },
            Day => Interval { days: count, ..none },
            Week => Interval { days: count.checked_mul(7)?, ..none },
            Month => Interval { months: count, ..none },
            Quarter => Interval { months: count.checked_mul(3)?, ..none },
            Year => Interval { months: count.checked_mul(12)?, ..none },
            compound => return Interval::from_count(count, *compound.parts().last()?),
        })
    }

    /// `INTERVAL 'text' unit`: for compound units the numbers of the text, whatever separates them; fewer numbers than
    /// parts are the last parts. None when there are more, or when it is too long for any date.
    pub fn parse(text: &[u8], unit: IntervalUnit) -> Option<Interval> {
        if unit == Second {
            return Interval::from_seconds(&Decimal::parse_prefix(text).0);
        }
        let parts = unit.parts();
        if parts.is_empty() {
            return Interval::from_count(i64_prefix(text).0, unit);
        }
        let start = text.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        let negative = text.get(start) == Some(&b'-');
        let mut numbers = [0_i64; 5];
        let mut count = 0;
        let mut last_digits = 0;
        let mut rest = &text[start..];
        while count < parts.len() {
            let skipped = rest.iter().take_while(|byte| !byte.is_ascii_digit()).count();
            rest = &rest[skipped..];
            if rest.is_empty() {
                break;
            }
            last_digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
            numbers[count] = i64_prefix(&rest[..last_digits]).0;
            rest = &rest[last_digits..];
            count += 1;
        }
        if rest.iter().any(u8::is_ascii_digit) {
            return None;
        }
        if unit.has_micros() && (1..6).contains(&last_digits) && count > 0 {
            // What stands for microseconds is a fraction: '1.5' is one second and a half.
            numbers[count - 1] *= 10_i64.pow(6 - last_digits as u32);
        }
        let mut interval = Interval::default();
        for (number, part) in numbers[..count].iter().zip(&parts[parts.len() - count..]) {
            interval = interval.plus(&Interval::from_count(*number, *part)?)?;
        }
        Some(if negative { interval.negate() } else { interval })
    }

    /// Seconds with a fraction; digits behind the sixth are cut.
    pub fn from_seconds(seconds: &Decimal) -> Option<Interval> {
        let micros = seconds.mul(&Decimal::from(MICROS_PER_SECOND)).ok()?.to_i128_truncated()?;
        Some(Interval { micros: i64::try_from(micros).ok()?, ..Interval::default() })
    }

    pub fn negate(self) -> Interval {
        Interval {
            months: self.months.saturating_neg(),
            days: self.days.saturating_neg(),
            micros: self.micros.saturating_neg(),
        }
    }

    fn plus(&self, other: &Interval) -> Option<Interval> {
        Some(Interval {
            months: self.months.checked_add(other.months)?,
            days: self.days.checked_add(other.days)?,
            micros: self.micros.checked_add(other.micros)?,
        })
    }
}

impl DateTime {
    /// Moves by an interval; None when that leaves the years 1 to 9999. A day that the new month does not have becomes
    /// its last: January 31 and a month is February 28 or 29.
    pub fn add(&self, interval: &Interval) -> Option<DateTime> {
        let mut moment = *self;
        if interval.months != 0 {
            let months = i64::from(self.date.year) * 12 + i64::from(self.date.month) - 1;
            let months = months.checked_add(interval.months).filter(|months| (0..120_000).contains(months))?;
            let (year, month) = ((months / 12) as u16, (months % 12 + 1) as u8);
            let day = self.date.day.min(calendar::days_in_month(year, month));
            moment.date = Date::new(year, month, day);
        }
        if interval.days == 0 && interval.micros == 0 {
            return Some(moment);
        }
        let micros = i128::from(moment.to_micros())
            + i128::from(interval.days) * i128::from(MICROS_PER_DAY)
            + i128::from(interval.micros);
        DateTime::from_micros(i64::try_from(micros).ok()?)
    }

    /// TIMESTAMPDIFF: how many whole units lie from `other` to `self`.
    pub fn diff(&self, other: &DateTime, unit: IntervalUnit) -> i64 {
        let micros = self.diff_micros(other);
        match unit {
            Microsecond => micros,
            Minute => micros / MICROS_PER_MINUTE,
            Hour => micros / MICROS_PER_HOUR,
            Day => micros / MICROS_PER_DAY,
            Week => micros / (7 * MICROS_PER_DAY),
            Month => self.diff_months(other),
            Quarter => self.diff_months(other) / 3,
            Year => self.diff_months(other) / 12,
            _ => micros / MICROS_PER_SECOND,
        }
    }

    fn diff_months(&self, other: &DateTime) -> i64 {
        if self < other {
            return -other.diff_months(self);
        }
        let months = |moment: &DateTime| i64::from(moment.date.year) * 12 + i64::from(moment.date.month);
        let within = |moment: &DateTime| (moment.date.day, moment.time().to_micros());
        months(self) - months(other) - (within(self) < within(other)) as i64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::parse_datetime;

    fn moved(from: &str, text: &str, unit: IntervalUnit) -> String {
        let moment = parse_datetime(from.as_bytes()).value;
        match Interval::parse(text.as_bytes(), unit).and_then(|interval| moment.add(&interval)) {
            None => "NULL".into(),
            Some(moment) => {
                let mut out = Vec::new();
                moment.write(if moment.micros > 0 { 6 } else { 0 }, &mut out);
                String::from_utf8(out).unwrap()
            }
        }
    }

    #[test]
    fn moving() {
        for (from, text, unit, to) in [
            ("2024-01-31", "1", Month, "2024-02-29 00:00:00"),
            ("2023-01-31", "1", Month, "2023-02-28 00:00:00"),
            ("2024-02-29", "-1", Year, "2023-02-28 00:00:00"),
            ("2024-01-01", "1:10", MinuteSecond, "2024-01-01 00:01:10"),
            ("2024-01-01", "-1 10:11:12", DaySecond, "2023-12-30 13:48:48"),
            ("2024-01-01", "10", DaySecond, "2024-01-01 00:00:10"),
            ("2024-01-01", "1.5", SecondMicrosecond, "2024-01-01 00:00:01.500000"),
            ("2024-01-01", "1.5", Second, "2024-01-01 00:00:01.500000"),
            ("2024-01-01", "-0.25", Second, "2023-12-31 23:59:59.750000"),
            ("2024-01-01", "2-3", YearMonth, "2026-04-01 00:00:00"),
            ("2024-01-01", "1:2:3", HourMinute, "NULL"),
            ("2024-01-01", "2", Quarter, "2024-07-01 00:00:00"),
            ("9999-12-31", "1", Day, "NULL"),
            ("9999-12-31", "1", Month, "NULL"),
            ("0001-01-01", "-1", Second, "NULL"),
            ("2024-01-01", "9223372036854775807", Hour, "NULL"),
        ] {
            assert_eq!(moved(from, text, unit), to, "{from} + {text} {unit:?}");
        }
    }

    #[test]
    fn differences() {
        let diff =
            |a: &str, b: &str, unit| parse_datetime(b.as_bytes()).value.diff(&parse_datetime(a.as_bytes()).value, unit);
        assert_eq!(diff("2024-01-31", "2024-02-29", Month), 0);
        assert_eq!(diff("2024-01-29", "2024-02-29", Month), 1);
        assert_eq!(diff("2024-02-29", "2024-01-29", Month), -1);
        assert_eq!(diff("2020-02-29", "2024-02-28 23:59:59", Year), 3);
        assert_eq!(diff("2024-01-01", "2023-12-31 00:00:01", Day), 0);
        assert_eq!(diff("2024-01-01 00:00:00.5", "2024-01-01 00:01:00", Second), 59);
    }

    #[test]
    fn names() {
        for (unit, name) in NAMES {
            assert_eq!(IntervalUnit::by_name(&name.to_lowercase()), Some(unit));
            assert_eq!(unit.name(), name);
        }
        assert_eq!(IntervalUnit::by_name("sql_tsi_week"), Some(Week));
        assert_eq!(IntervalUnit::by_name("FORTNIGHT"), None);
    }
}
