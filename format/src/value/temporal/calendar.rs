//! The calendar: days since year 0, weeks, UNIX time.
//!
//! Day 1 is the 1st of January of year 0, so that 1970-01-01 is day 719528, as `TO_DAYS` has it. Year 0 is not a leap
//! year in MySQL.

use super::{Date, DateTime, MICROS_PER_DAY, MICROS_PER_SECOND, Moment, Zone};

/// 1970-01-01.
const UNIX_EPOCH_DAYS: i64 = 719_528;
/// 9999-12-31.
const DAYS_MAX: i64 = 3_652_424;

const DAYS_BEFORE_MONTH: [u16; 13] = [0, 0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334];
const DAYS_IN_MONTH: [u8; 13] = [0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

#[inline]
fn is_leap_year(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || (year % 400 == 0 && year != 0))
}

#[inline]
pub(super) fn days_in_month(year: u16, month: u8) -> u8 {
    if month == 2 && is_leap_year(i64::from(year)) { 29 } else { DAYS_IN_MONTH[(month as usize).min(12)] }
}

/// The first day of a year.
#[inline]
fn days_before_year(year: i64) -> i64 {
    if year <= 0 {
        return year * 365;
    }
    // Leap years before this one, without year 0.
    let last = year - 1;
    year * 365 + last / 4 - last / 100 + last / 400
}

impl Date {
    /// Whether the month has that day. Not so for dates with zero parts.
    pub fn is_in_calendar(&self) -> bool {
        (1..=12).contains(&self.month) && (1..=days_in_month(self.year, self.month)).contains(&self.day)
    }

    /// TO_DAYS: days since year 0. A date with zero parts counts from the end of the month or year before.
    #[inline]
    pub fn to_days(&self) -> i64 {
        if self.month == 0 {
            // The zero month ends a day before January; MySQL gives it 31 days, but year 0 none.
            let before = if self.year == 0 { 0 } else { days_before_year(i64::from(self.year)) - 31 };
            return before + i64::from(self.day);
        }
        let leap_day = (self.month > 2 && is_leap_year(i64::from(self.year))) as i64;
        days_before_year(i64::from(self.year))
            + i64::from(DAYS_BEFORE_MONTH[(self.month as usize).min(12)])
            + leap_day
            + i64::from(self.day)
    }

    /// FROM_DAYS. Days of year 0 and beyond 9999-12-31 give the zero date.
    pub fn from_days(days: i64) -> Date {
        if !(366..=DAYS_MAX).contains(&days) {
            return Date::ZERO;
        }
        // Count in years that begin in March, so that the leap day is the last of its year. (Howard Hinnant,
        // "chrono-Compatible Low-Level Date Algorithms".)
        let days = days - 60;
        let era = days / 146_097;
        let day_of_era = days % 146_097;
        let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let month_from_march = (5 * day_of_year + 2) / 153;
        let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
        let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
        let year = year_of_era + era * 400 + (month <= 2) as i64;
        Date::new(year as u16, month as u8, day as u8)
    }

    /// 0 is Monday.
    pub fn weekday(&self) -> u8 {
        (self.to_days() + 5).rem_euclid(7) as u8
    }

    /// 1..=366
    pub fn day_of_year(&self) -> u16 {
        (self.to_days() - days_before_year(i64::from(self.year))) as u16
    }

    /// WEEK and YEARWEEK: the year that the week belongs to, and its number. The bits of the mode:
    ///
    /// * 1: weeks begin on Monday, else on Sunday.
    /// * 2: the days before week 1 belong to the last week of the year before, else to week 0.
    /// * 4: with Sunday, week 1 is the first that has four days in the year; with Monday, the first that begins in it.
    ///   Without the bit the other way round.
    pub fn week(&self, mode: u8) -> (u16, u8) {
        let monday_first = mode & 1 != 0;
        let belongs_to_year = mode & 2 != 0;
        let begins_in_year = monday_first == (mode & 4 != 0);
        let week_one = |year: i64| {
            let first = days_before_year(year) + 1;
            // 0 is the first day of the week.
            let weekday = (first + if monday_first { 5 } else { 6 }).rem_euclid(7);
            let is_first_week = if begins_in_year { weekday == 0 } else { weekday < 4 };
            if is_first_week { first - weekday } else { first - weekday + 7 }
        };
        let (year, day) = (i64::from(self.year), self.to_days());
        let week_of = |year: i64| (year.max(0) as u16, ((day - week_one(year)) / 7 + 1) as u8);
        if day < week_one(year) {
            return if belongs_to_year { week_of(year - 1) } else { (self.year, 0) };
        }
        if belongs_to_year && day >= week_one(year + 1) { week_of(year + 1) } else { week_of(year) }
    }

    /// The last day of the month.
    pub fn last_day(&self) -> Date {
        Date { day: days_in_month(self.year, self.month), ..*self }
    }
}

impl DateTime {
    /// Microseconds since the beginning of day 0.
    pub fn to_micros(&self) -> i64 {
        self.date.to_days() * MICROS_PER_DAY + self.time().to_micros()
    }

    /// None before year 1 and after year 9999.
    pub fn from_micros(micros: i64) -> Option<DateTime> {
        let date = Date::from_days(micros.div_euclid(MICROS_PER_DAY));
        if date.is_zero() {
            return None;
        }
        let micros = micros.rem_euclid(MICROS_PER_DAY);
        let seconds = micros / MICROS_PER_SECOND;
        Some(DateTime {
            date,
            hour: (seconds / 3600) as u8,
            minute: (seconds / 60 % 60) as u8,
            second: (seconds % 60) as u8,
            micros: (micros % MICROS_PER_SECOND) as u32,
            is_second: false,
        })
    }

    /// Microseconds since 1970 UTC; `self` is the local time of a zone.
    #[inline]
    pub fn to_unix_micros(&self, zone: Zone) -> i64 {
        let local = self.to_micros() - UNIX_EPOCH_DAYS * MICROS_PER_DAY;
        match zone {
            Zone::Fixed(seconds) => local - i64::from(seconds) * MICROS_PER_SECOND,
            zone => {
                let seconds = match self.moment(zone) {
                    Moment::Once(unix) | Moment::Never(unix) => unix,
                    Moment::Twice(first, second) => {
                        if self.is_second {
                            second
                        } else {
                            first
                        }
                    }
                };
                seconds * MICROS_PER_SECOND + local.rem_euclid(MICROS_PER_SECOND)
            }
        }
    }

    /// When a zone's clock shows this time, but for the microseconds.
    pub fn moment(&self, zone: Zone) -> Moment {
        zone.moment((self.to_micros() - UNIX_EPOCH_DAYS * MICROS_PER_DAY).div_euclid(MICROS_PER_SECOND))
    }

    /// The local time of a zone; None before year 1 and after year 9999.
    #[inline]
    pub fn from_unix_micros(micros: i64, zone: Zone) -> Option<DateTime> {
        let unix = micros.div_euclid(MICROS_PER_SECOND);
        let local = micros.checked_add(zone.offset_at(unix) * MICROS_PER_SECOND)?;
        let shown = DateTime::from_micros(local.checked_add(UNIX_EPOCH_DAYS * MICROS_PER_DAY)?)?;
        Some(DateTime { is_second: zone.shows_again(unix), ..shown })
    }

    /// `self - other` in microseconds.
    pub fn diff_micros(&self, other: &DateTime) -> i64 {
        self.to_micros() - other.to_micros()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_since_year_0() {
        for (date, days) in [
            (Date::new(0, 1, 1), 1),
            (Date::new(0, 2, 28), 59),
            (Date::new(0, 3, 1), 60),
            (Date::new(1, 1, 1), 366),
            (Date::new(1970, 1, 1), UNIX_EPOCH_DAYS),
            (Date::new(2024, 2, 29), 739_310),
            (Date::new(1900, 3, 1), 694_020),
            (Date::MAX, DAYS_MAX),
            (Date::ZERO, 0),
        ] {
            assert_eq!(date.to_days(), days, "{date:?}");
        }
    }

    #[test]
    fn every_day_is_found_again() {
        let mut before = Date::new(0, 12, 31);
        for days in 366..=DAYS_MAX {
            let date = Date::from_days(days);
            assert!(date > before && date.is_in_calendar());
            assert_eq!(date.to_days(), days);
            before = date;
        }
        assert_eq!(before, Date::MAX);
        assert_eq!(Date::from_days(365), Date::ZERO);
        assert_eq!(Date::from_days(DAYS_MAX + 1), Date::ZERO);
    }

    #[test]
    fn weeks_of_all_modes() {
        // Observed on a server: YEARWEEK or WEEK by mode 0..=7.
        for (date, weeks) in [
            (
                Date::new(2008, 2, 20),
                [(2008, 7), (2008, 8), (2008, 7), (2008, 8), (2008, 8), (2008, 7), (2008, 8), (2008, 7)],
            ),
            (
                Date::new(2000, 1, 1),
                [(2000, 0), (2000, 0), (1999, 52), (1999, 52), (2000, 0), (2000, 0), (1999, 52), (1999, 52)],
            ),
            (
                Date::new(2008, 12, 31),
                [(2008, 52), (2008, 53), (2008, 52), (2009, 1), (2008, 53), (2008, 52), (2008, 53), (2008, 52)],
            ),
        ] {
            for (mode, week) in weeks.into_iter().enumerate() {
                assert_eq!(date.week(mode as u8), week, "{date:?} mode {mode}");
            }
        }
    }

    #[test]
    fn days_of_week_and_year() {
        assert_eq!(Date::new(2024, 1, 1).weekday(), 0);
        assert_eq!(Date::new(2024, 12, 31).day_of_year(), 366);
        assert_eq!(Date::new(2023, 2, 1).last_day(), Date::new(2023, 2, 28));
        assert!(!Date::new(2023, 2, 29).is_in_calendar());
        assert!(!Date::new(2023, 0, 1).is_in_calendar());
    }

    #[test]
    fn unix_time() {
        let moment = DateTime::new(Date::new(2024, 1, 2), 3, 4, 5, 6);
        assert_eq!(moment.to_unix_micros(Zone::UTC), 1_704_164_645_000_006);
        let east = Zone::Fixed(3600);
        assert_eq!(moment.to_unix_micros(east), 1_704_161_045_000_006);
        assert_eq!(DateTime::from_unix_micros(1_704_161_045_000_006, east), Some(moment));
        assert_eq!(DateTime::from_unix_micros(-1, Zone::UTC).unwrap().date, Date::new(1969, 12, 31));
        assert_eq!(DateTime::from_unix_micros(i64::MAX, east), None);
    }
}
