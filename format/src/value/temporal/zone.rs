//! Time zones: a fixed distance from UTC, or the rules of a place.
//!
//! ```text
//! Europe/Berlin, autumn:  local    01:59:59  02:00:00 .. 02:59:59  02:00:00 .. 02:59:59  03:00:00
//!                         UTC      23:59:59  00:00:00 .. 00:59:59  01:00:00 .. 01:59:59  02:00:00
//!                                            first time            second time
//! spring:                 local    01:59:59  (02:00:00 .. 02:59:59 does not exist)       03:00:00
//!                         UTC      00:59:59                                              01:00:00
//! ```
//!
//! A local time that a clock shows twice means the first time, as in MySQL, unless the value says that it is the second:
//! one that was made of UTC does ([`DateTime::is_second`]), so it comes back to the moment that it was. A local time that
//! no clock shows means the moment of the change.
//!
//! The rules are those of the IANA database, compiled in: a server needs no files, and has no tables to be filled.

use chrono::{Offset, TimeZone};
use chrono_tz::Tz;

/// A time zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Zone {
    /// Seconds to the east of Greenwich.
    Fixed(i32),
    Named(Tz),
}

/// What a local time is in UTC, in seconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    Once(i64),
    /// The clock was put back: it shows the local time twice.
    Twice(i64, i64),
    /// The clock was put forward over it, at this moment.
    Never(i64),
}

/// No zone is that far from UTC, and no two of its clock's changes are that close.
const DAY: i64 = 86_400;

impl Zone {
    pub const UTC: Zone = Zone::Fixed(0);

    /// `+05:30`, `-8:00` (from -13:59 to +14:00), or a name of the IANA database in any case.
    pub fn parse(text: &str) -> Option<Zone> {
        let (sign, rest) = match text.as_bytes().first()? {
            b'+' => (1, &text[1..]),
            b'-' => (-1, &text[1..]),
            _ => return Zone::named(text),
        };
        let (hours, minutes) = rest.split_once(':')?;
        let number = |text: &str| -> Option<i32> {
            let plain = (1..=2).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
            if plain { text.parse().ok() } else { None }
        };
        let (hours, minutes) = (number(hours)?, number(minutes)?);
        let seconds = sign * (hours * 3600 + minutes * 60);
        let in_range = minutes <= 59 && (-(13 * 3600 + 59 * 60)..=14 * 3600).contains(&seconds);
        in_range.then_some(Zone::Fixed(seconds))
    }

    fn named(text: &str) -> Option<Zone> {
        match Tz::from_str_insensitive(text).ok()? {
            Tz::UTC | Tz::Etc__UTC => Some(Zone::UTC),
            zone => Some(Zone::Named(zone)),
        }
    }

    /// Seconds to the east of Greenwich, at a moment in seconds since 1970.
    #[inline]
    pub fn offset_at(self, unix: i64) -> i64 {
        match self {
            Zone::Fixed(seconds) => i64::from(seconds),
            Zone::Named(zone) => named_offset(zone, unix),
        }
    }

    /// The moments at which a clock shows a local time, which is given as the seconds to it from 1970 on the same clock.
    pub fn moment(self, local: i64) -> Moment {
        let zone = match self {
            Zone::Fixed(seconds) => return Moment::Once(local - i64::from(seconds)),
            Zone::Named(zone) => zone,
        };
        let shown = |unix: i64| unix + named_offset(zone, unix);
        let (before, after) = (named_offset(zone, local - DAY), named_offset(zone, local + DAY));
        let (first, second) = (local - before, local - after);
        match (shown(first) == local, shown(second) == local) {
            (true, true) if first < second => Moment::Twice(first, second),
            (true, _) => Moment::Once(first),
            (false, true) => Moment::Once(second),
            (false, false) => {
                // The clock shows less until the change, and more from then on.
                let (mut less, mut more) = (local - DAY, local + DAY);
                while more - less > 1 {
                    let middle = less + (more - less) / 2;
                    if shown(middle) < local { less = middle } else { more = middle }
                }
                if shown(more) == local { Moment::Once(more) } else { Moment::Never(more) }
            }
        }
    }

    /// Whether a clock shows at a moment what it has shown before.
    #[inline]
    pub fn shows_again(self, unix: i64) -> bool {
        let Zone::Named(zone) = self else { return false };
        let offset = named_offset(zone, unix);
        // Only behind a change that put the clock back is there anything to look for.
        named_offset(zone, unix - DAY) > offset
            && matches!(self.moment(unix + offset), Moment::Twice(_, second) if second == unix)
    }

    /// The names of all zones.
    pub fn names() -> impl Iterator<Item = &'static str> {
        chrono_tz::TZ_VARIANTS.iter().map(|zone| zone.name())
    }

    /// Appends `+05:30`, or the name.
    pub fn write(&self, out: &mut Vec<u8>) {
        match self {
            Zone::Fixed(seconds) => {
                out.push(if *seconds < 0 { b'-' } else { b'+' });
                let minutes = seconds.unsigned_abs() / 60;
                super::super::number::write_pair((minutes / 60) as u8, out);
                out.push(b':');
                super::super::number::write_pair((minutes % 60) as u8, out);
            }
            Zone::Named(zone) => out.extend_from_slice(zone.name().as_bytes()),
        }
    }

    /// What the zone's clocks call their time at a moment: `CET`, `-03`.
    pub fn abbreviation(self, unix: i64) -> String {
        let Zone::Named(zone) = self else {
            return "UTC".to_owned();
        };
        use chrono_tz::OffsetName;
        let offset = zone.offset_from_utc_datetime(&naive(unix));
        offset.abbreviation().unwrap_or(zone.name()).to_owned()
    }
}

fn naive(unix: i64) -> chrono::NaiveDateTime {
    chrono::DateTime::from_timestamp(unix, 0).unwrap_or_default().naive_utc()
}

fn named_offset(zone: Tz, unix: i64) -> i64 {
    i64::from(zone.offset_from_utc_datetime(&naive(unix)).fix().local_minus_utc())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::DateTime;

    fn moment(zone: &str, text: &str) -> Moment {
        let local = crate::value::parse_datetime(text.as_bytes()).value;
        Zone::parse(zone).unwrap().moment(local.to_unix_micros(Zone::UTC) / 1_000_000)
    }

    /// The numbers are those of MariaDB's UNIX_TIMESTAMP.
    #[test]
    fn local_times_are_moments() {
        assert_eq!(moment("Europe/Berlin", "2024-10-27 01:59:59"), Moment::Once(1_729_987_199));
        assert_eq!(moment("Europe/Berlin", "2024-10-27 02:30:00"), Moment::Twice(1_729_989_000, 1_729_992_600));
        assert_eq!(moment("Europe/Berlin", "2024-10-27 03:00:00"), Moment::Once(1_729_994_400));
        assert_eq!(moment("Europe/Berlin", "2024-03-31 02:30:00"), Moment::Never(1_711_846_800));
        assert_eq!(moment("Europe/Berlin", "2024-03-31 03:00:00"), Moment::Once(1_711_846_800));
        assert_eq!(moment("america/NEW_YORK", "2024-11-03 01:30:00"), Moment::Twice(1_730_611_800, 1_730_615_400));
        assert_eq!(moment("Australia/Lord_Howe", "2024-04-07 01:45:00"), Moment::Twice(1_712_414_700, 1_712_416_500));
        assert_eq!(moment("+05:30", "2024-04-07 01:45:00"), Moment::Once(1_712_434_500));
        // Samoa left out a whole day.
        assert_eq!(moment("Pacific/Apia", "2011-12-30 12:00:00"), Moment::Never(1_325_239_200));
    }

    #[test]
    fn a_moment_comes_back_from_its_local_time() {
        for name in
            ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu", "Pacific/Apia", "-03:30"]
        {
            let zone = Zone::parse(name).unwrap();
            for unix in (1_300_000_000..1_400_000_000).step_by(1200 * 7) {
                let local = DateTime::from_unix_micros(unix * 1_000_000, zone).unwrap();
                assert_eq!(local.to_unix_micros(zone), unix * 1_000_000, "{name} {unix}");
            }
        }
    }

    #[test]
    fn names_are_known_in_any_case() {
        assert_eq!(Zone::parse("europe/berlin"), Zone::parse("Europe/Berlin"));
        assert_eq!(Zone::parse("UTC"), Some(Zone::UTC));
        assert_eq!(Zone::parse("+05:30"), Some(Zone::Fixed(19_800)));
        assert_eq!(Zone::parse("-8:00"), Some(Zone::Fixed(-28_800)));
        for text in ["", "+14:01", "-14:00", "+1", "+1:60", "05:30", "+a:00", "Mars/Base", "Z", "SYSTEM"] {
            assert_eq!(Zone::parse(text), None, "{text}");
        }
        let mut out = Vec::new();
        Zone::Fixed(-12_600).write(&mut out);
        Zone::parse("asia/kathmandu").unwrap().write(&mut out);
        assert_eq!(out, b"-03:30Asia/Kathmandu");
        assert_eq!(Zone::parse("Europe/Berlin").unwrap().abbreviation(1_729_989_000), "CEST");
    }
}
