//! How purge is run: its threads, the size of their batches, and how it slows writers when it falls behind.
//!
//! One thread keeps up with a few writers; several take different logs from the history, oldest first. Purging a record
//! twice, or in another order than it was written, does no harm (see `row::purge`), so they need no coordination.
//!
//! If the history grows beyond `innodb_max_purge_lag`, each change of a row is delayed a little, the more the longer it
//! is:
//!
//! ```text
//!   microseconds = (history / max_purge_lag - 0.9995) * 10000, at most max_purge_lag_delay
//! ```

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use super::Inner;
use crate::config::Config;
use crate::error::Result;
use crate::row;
use crate::sync::{Mutex, Rank};

/// See the module header.
pub(super) struct Purging {
    /// One per thread.
    purgers: Vec<Mutex<row::Purger>>,
    /// Undo records that a step reads.
    batch: AtomicUsize,
    lag_max: AtomicU64,
    delay_max_us: AtomicU64,
    /// The present delay of each change.
    delay_us: AtomicU64,
    /// Who wants it to stand still: exports.
    stops: AtomicUsize,
}

impl Purging {
    pub fn new(config: &Config) -> Purging {
        let purger = |_| Mutex::new(Rank::Instance, row::Purger::new());
        let purging = Purging {
            purgers: (0..config.purge_threads.max(1)).map(purger).collect(),
            batch: AtomicUsize::new(1),
            lag_max: AtomicU64::new(0),
            delay_max_us: AtomicU64::new(0),
            delay_us: AtomicU64::new(0),
            stops: AtomicUsize::new(0),
        };
        purging.configure(config);
        purging
    }

    pub fn configure(&self, config: &Config) {
        self.batch.store(config.purge_batch.max(1), Ordering::Relaxed);
        self.lag_max.store(config.max_purge_lag, Ordering::Relaxed);
        self.delay_max_us.store(config.max_purge_lag_delay_us, Ordering::Relaxed);
        if config.max_purge_lag == 0 {
            self.delay_us.store(0, Ordering::Relaxed);
        }
    }

    /// It stands still, from the end of the present steps on, until each such call is taken back.
    pub fn stop(&self) {
        self.stops.fetch_add(1, Ordering::AcqRel);
    }

    pub fn go_on(&self) {
        self.stops.fetch_sub(1, Ordering::AcqRel);
    }

    pub fn threads(&self) -> usize {
        self.purgers.len()
    }

    /// Sets the delay for this length of the history.
    fn observe(&self, history: u64) {
        let lag_max = self.lag_max.load(Ordering::Relaxed);
        let delay = delay_us(history, lag_max, self.delay_max_us.load(Ordering::Relaxed));
        if delay != self.delay_us.load(Ordering::Relaxed) {
            self.delay_us.store(delay, Ordering::Relaxed);
        }
    }

    /// Called before each change of a row: delays the caller if purge has fallen behind.
    #[inline]
    pub fn hold_up(&self) {
        let delay = self.delay_us.load(Ordering::Relaxed);
        if delay > 0 {
            std::thread::sleep(Duration::from_micros(delay));
        }
    }
}

fn delay_us(history: u64, lag_max: u64, delay_max_us: u64) -> u64 {
    if lag_max == 0 || history <= lag_max {
        return 0;
    }
    let delay = (history.saturating_mul(10_000) / lag_max).saturating_sub(9_995);
    if delay_max_us > 0 { delay.min(delay_max_us) } else { delay }
}

impl Inner {
    /// Purges a bounded part of the history, as thread `number`. True if there was something to do.
    pub fn purge_step(&self, number: usize) -> Result<bool> {
        if self.store.is_poisoned() {
            return Ok(false);
        }
        let temporary = number == 0 && self.purge_temporary()?;
        let mut purger = self.purging.purgers[number].lock();
        // No table or index is dropped meanwhile.
        let _gate = self.dictionary.hold_tables();
        if self.purging.stops.load(Ordering::Acquire) > 0 {
            return Ok(temporary);
        }
        let batch = self.purging.batch.load(Ordering::Relaxed);
        let step = purger.step(&self.context(), &|id| self.dictionary.by_id_to_purge(id), batch)?;
        if number == 0 {
            self.purging.observe(self.undo.status().history_length_now);
        }
        Ok(temporary || !step.is_idle())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writers_wait_the_longer_the_more_there_is_to_purge() {
        assert_eq!(delay_us(1_000_000, 0, 0), 0);
        assert_eq!(delay_us(1000, 1000, 0), 0);
        assert_eq!(delay_us(2000, 1000, 0), 10_005);
        assert_eq!(delay_us(3000, 1000, 0), 20_005);
        assert_eq!(delay_us(3000, 1000, 500), 500);
        let purging = Purging::new(&Config { max_purge_lag: 100, ..Config::tiny() });
        purging.observe(300);
        assert!(purging.delay_us.load(Ordering::Relaxed) > 0);
        purging.configure(&Config { max_purge_lag: 0, ..Config::tiny() });
        assert_eq!(purging.delay_us.load(Ordering::Relaxed), 0);
    }
}
