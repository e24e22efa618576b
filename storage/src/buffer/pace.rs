//! How fast the page cleaners should go.
//!
//! A page that is written late is written once for many changes, so as little as possible is written unless there is
//! pressure. Three things create it:
//!
//! * the log: all writers wait when the ring is full, so the rate rises with its age, late but steeply;
//! * the share of dirty pages: when the pool is full of them, a reader has to wait for a write;
//! * idleness: a server without work cleans all pages, so that a restart finds little to do.
//!
//! Each gives a rate, and the largest counts. All rise without a step (except idleness), so that the rate settles where it
//! equals the load: a fixed threshold would make the load oscillate.
//!
//! Not here: free frames. They are made in any case, at the LRU's tail, whatever the pace is.

use std::time::Duration;

use crate::config::Config;

/// The age of the log at which cleaners go as fast as allowed; beyond it without limit.
const AGE_MAX: f64 = 0.75;

/// The longest period since the last grant that counts: a cleaner that was busy does not catch up in one burst.
const GRANT_PERIOD_MAX: Duration = Duration::from_millis(200);

/// The sources of pressure.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// Share of the log that recovery would need, 0 to 1.
    pub age: f64,
    /// Share of dirty pages, 0 to 1.
    pub dirty: f64,
    /// Nothing was written to the log for a while.
    pub idle: bool,
}

impl Pace {
    /// Pages per second, for all cleaners together.
    pub fn pages_per_second(self, config: &Config) -> f64 {
        let slow = f64::from(config.io_capacity);
        let fast = f64::from(config.io_capacity_max).max(slow);
        let by_age = if self.age > AGE_MAX {
            f64::INFINITY
        } else if config.adaptive_flushing {
            let from = (config.adaptive_flushing_lwm / 100.0).clamp(0.0, 0.7);
            fast * ((self.age - from) / (AGE_MAX - from)).max(0.0).powi(4)
        } else {
            0.0
        };
        let limit = (config.max_dirty_pages_pct / 100.0).clamp(1e-6, 1.0); // 0 wants every page written.
        let lwm = config.max_dirty_pages_pct_lwm / 100.0;
        // The last tenth before the limit raises the rate gradually, up to io_capacity: a pool under load is full of
        // dirty pages. Those at the LRU's tail are written there anyway; any other would be written once too often.
        let by_limit = slow * ((self.dirty / limit - 0.9) * 10.0).clamp(0.0, 1.0);
        let by_lwm = if lwm > 0.0 && self.dirty > lwm { slow * (self.dirty / limit).min(1.0) } else { 0.0 };
        let by_idleness = if self.idle { fast } else { 0.0 };
        by_age.max(by_limit).max(by_lwm).max(by_idleness)
    }
}

/// Shares the pace out among the cleaners: pages granted and not yet taken, like tokens in a bucket.
#[derive(Debug, Default)]
pub struct Grants {
    pages: f64,
    at: Duration,
}

impl Grants {
    /// Takes up to `pages_max` of what the rate has granted up to now.
    pub fn take(&mut self, rate: f64, now: Duration, pages_max: usize) -> usize {
        let elapsed = now.saturating_sub(self.at).min(GRANT_PERIOD_MAX).as_secs_f64();
        self.at = now;
        if rate.is_infinite() {
            return pages_max;
        }
        self.pages = (self.pages + rate * elapsed).min(rate * GRANT_PERIOD_MAX.as_secs_f64() + 1.0);
        let taken = (self.pages as usize).min(pages_max);
        self.pages -= taken as f64;
        taken
    }

    /// Pages that are granted now.
    pub fn left(&self) -> usize {
        self.pages as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pace_rises_with_what_presses() {
        let config = Config {
            io_capacity: 100,
            io_capacity_max: 1000,
            max_dirty_pages_pct: 80.0,
            max_dirty_pages_pct_lwm: 10.0,
            ..Config::default()
        };
        let pace = |age, dirty, idle| Pace { age, dirty, idle }.pages_per_second(&config);
        assert_eq!(pace(0.1, 0.05, false), 0.0);
        assert_eq!(pace(0.1, 0.05, true), 1000.0);
        assert!((1.0..100.0).contains(&pace(0.35, 0.05, false)));
        assert!((100.0..300.0).contains(&pace(0.5, 0.05, false)));
        assert_eq!(pace(0.75, 0.05, false), 1000.0);
        assert!(pace(0.8, 0.05, false).is_infinite());
        assert_eq!(pace(0.1, 0.4, false), 50.0);
        assert!((94.0..96.0).contains(&pace(0.1, 0.76, false)));
        assert_eq!(pace(0.1, 0.9, false), 100.0);
        let lazy = Config { adaptive_flushing: false, max_dirty_pages_pct_lwm: 0.0, ..config.clone() };
        assert_eq!(Pace { age: 0.7, dirty: 0.6, idle: false }.pages_per_second(&lazy), 0.0);
        assert!(Pace { age: 0.8, dirty: 0.6, idle: false }.pages_per_second(&lazy).is_infinite());
    }

    #[test]
    fn grants_follow_the_rate_and_do_not_pile_up() {
        let mut grants = Grants::default();
        let ms = Duration::from_millis;
        grants.take(100.0, ms(1000), 0);
        assert_eq!(grants.take(100.0, ms(1100), 64), 10 + 11); // The first call found the longest period.
        assert_eq!(grants.take(100.0, ms(1150), 64), 5);
        assert_eq!(grants.take(100.0, ms(1200), 3), 3);
        assert_eq!(grants.left(), 2);
        assert_eq!(grants.take(100.0, ms(9000), 64), 21);
        assert_eq!(grants.take(f64::INFINITY, ms(9000), 64), 64);
    }
}
