//! When events run.
//!
//! A schedule is one moment, or a step that is repeated from a moment on, perhaps up to another. Moments are kept in
//! microseconds since 1970, and have whole seconds. Steps of days and months are made on the clock of the
//! event's time zone: what runs daily at three runs at three after the clock has been changed, too.

use format::value::{DateTime, Interval, IntervalUnit, Zone};

const SECOND_US: u64 = 1_000_000;
/// MySQL's limit for the number of a step.
const AMOUNT_MAX: u64 = 1_000_000_000;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Schedule {
    At(u64),
    Every {
        /// As INTERVAL has it: `1`, `1:30`.
        amount: String,
        unit: IntervalUnit,
        starts_us: u64,
        ends_us: Option<u64>,
    },
}

/// The step that an amount of a unit is, if it is one: positive, and not too long.
pub fn step_of(amount: &str, unit: IntervalUnit) -> Option<Interval> {
    let numbers = amount.split(|sign: char| !sign.is_ascii_digit()).filter(|digits| !digits.is_empty());
    let small = |digits: &str| digits.parse::<u64>().is_ok_and(|number| number <= AMOUNT_MAX);
    if amount.trim_start().starts_with('-') || !numbers.into_iter().all(small) {
        return None;
    }
    let step = Interval::parse(amount.as_bytes(), unit)?;
    (step.months > 0 || step.days > 0 || step.micros > 0).then_some(step)
}

impl Schedule {
    /// The last moment at which it may run.
    pub fn end_us(&self) -> Option<u64> {
        match self {
            Schedule::At(at) => Some(*at),
            Schedule::Every { ends_us, .. } => *ends_us,
        }
    }

    /// The first moment at which it is to run behind another moment; None: it has come to its end.
    pub fn next_after(&self, after_us: u64, zone: Zone) -> Option<u64> {
        match self {
            Schedule::At(at) => (*at > after_us).then_some(*at),
            Schedule::Every { amount, unit, starts_us, ends_us } => {
                let next = match *starts_us > after_us {
                    true => *starts_us,
                    false => repeated(*starts_us, &step_of(amount, *unit)?, after_us, zone)?,
                };
                ends_us.is_none_or(|ends| next <= ends).then_some(next)
            }
        }
    }
}

/// The first of the steps from `start` on that lies behind `after`.
fn repeated(start_us: u64, step: &Interval, after_us: u64, zone: Zone) -> Option<u64> {
    if step.months == 0 && step.days == 0 {
        // An hour is an hour, also where the clock shows one twice.
        let step_us = u64::try_from(step.micros).ok()?;
        return start_us.checked_add(((after_us - start_us) / step_us).checked_add(1)?.checked_mul(step_us)?);
    }
    let local = |us: u64| DateTime::from_unix_micros(i64::try_from(us).ok()?, zone);
    let (start, after) = (local(start_us)?, local(after_us)?);
    let nth = |n: i64| -> Option<u64> {
        let whole = Interval {
            months: step.months.checked_mul(n)?,
            days: step.days.checked_mul(n)?,
            micros: step.micros.checked_mul(n)?,
        };
        u64::try_from(start.add(&whole)?.to_unix_micros(zone)).ok()
    };
    // How often it fits by the clock; the clock may have been changed meanwhile.
    let passed = match step.months {
        0 => {
            let micros = i128::from(step.days) * 86_400_000_000 + i128::from(step.micros);
            i64::try_from(i128::from(after.diff_micros(&start)) / micros.max(1)).ok()?
        }
        months => after.diff(&start, IntervalUnit::Month) / months,
    };
    let mut n = passed.max(0);
    while n > 0 && nth(n).is_some_and(|at| at > after_us) {
        n -= 1;
    }
    loop {
        let at = nth(n)?;
        if at > after_us {
            return Some(at);
        }
        n += 1;
    }
}

/// Without the fraction of its second.
pub fn whole_seconds(us: u64) -> u64 {
    us - us % SECOND_US
}

#[cfg(test)]
mod tests {
    use super::*;

    fn us(text: &str, zone: Zone) -> u64 {
        format::value::parse_datetime(text.as_bytes()).value.to_unix_micros(zone) as u64
    }

    fn every(amount: &str, unit: IntervalUnit, starts_us: u64) -> Schedule {
        Schedule::Every { amount: amount.into(), unit, starts_us, ends_us: None }
    }

    #[test]
    fn steps_follow_the_clock_of_the_zone() {
        let zone = Zone::parse("Europe/Berlin").unwrap();
        let daily = every("1", IntervalUnit::Day, us("2024-03-29 03:00:00", zone));
        let mut now = us("2024-03-29 03:00:00", zone);
        for day in ["2024-03-30 03:00:00", "2024-03-31 03:00:00", "2024-04-01 03:00:00"] {
            now = daily.next_after(now, zone).unwrap();
            assert_eq!(now, us(day, zone), "{day}");
        }
        let monthly = every("1", IntervalUnit::Month, us("2024-01-31 12:00:00", zone));
        let next = monthly.next_after(us("2024-02-01 00:00:00", zone), zone).unwrap();
        assert_eq!(next, us("2024-02-29 12:00:00", zone));
        let next = monthly.next_after(next, zone).unwrap();
        assert_eq!(next, us("2024-03-31 12:00:00", zone));
    }

    #[test]
    fn the_next_moment_is_behind_the_last_and_the_first_such() {
        let zone = Zone::parse("America/New_York").unwrap();
        let mut seed = 11u64;
        let mut random = |below: u64| {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (seed >> 33) % below
        };
        for _ in 0..2000 {
            let start = whole_seconds((1_600_000_000 + random(200_000_000)) * SECOND_US);
            let (amount, unit) = [
                ("7", IntervalUnit::Second),
                ("90", IntervalUnit::Minute),
                ("1:30", IntervalUnit::HourMinute),
                ("1", IntervalUnit::Day),
                ("2", IntervalUnit::Week),
                ("1", IntervalUnit::Month),
                ("1-1", IntervalUnit::YearMonth),
            ][random(7) as usize];
            let schedule = every(amount, unit, start);
            let after = start + random(50_000_000) * SECOND_US;
            let next = schedule.next_after(after, zone).unwrap();
            assert!(next > after, "{amount} {unit:?} {start} {after}");
            // There is none between.
            assert_eq!(schedule.next_after(next - SECOND_US, zone), Some(next), "{amount} {unit:?} {start} {after}");
        }
    }

    #[test]
    fn amounts_are_positive_and_bounded() {
        for (amount, unit) in
            [("0", IntervalUnit::Day), ("-1", IntervalUnit::Day), ("1000000001", IntervalUnit::Second)]
        {
            assert_eq!(step_of(amount, unit), None, "{amount}");
        }
        assert!(step_of("1000000000", IntervalUnit::Second).is_some());
        let ended = Schedule::Every { amount: "1".into(), unit: IntervalUnit::Hour, starts_us: 0, ends_us: Some(1) };
        assert_eq!(ended.next_after(5, Zone::UTC), None);
        assert_eq!(Schedule::At(5).next_after(5, Zone::UTC), None);
        assert_eq!(Schedule::At(5).next_after(4, Zone::UTC), Some(5));
    }
}
