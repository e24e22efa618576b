//! The clock of the simulated world: it advances a little at each reading, and as its owner sets it.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use crate::io::Clock;

/// The simulated world begins on 2024-01-01.
const BEGIN: Duration = Duration::from_secs(1_704_067_200);

/// Microseconds between two readings.
const TICK: u64 = 10;

pub struct SimClock {
    micros: AtomicU64,
    /// Readings at which no time passes: a virtual machine that is paused.
    stalled: AtomicU64,
    /// The offset of the wall clock from the time that has passed.
    wall_offset_seconds: AtomicI64,
}

impl SimClock {
    pub fn new() -> SimClock {
        SimClock { micros: AtomicU64::new(1), stalled: AtomicU64::new(0), wall_offset_seconds: AtomicI64::new(0) }
    }

    pub fn pass(&self, time: Duration) {
        self.micros.fetch_add(time.as_micros() as u64, Ordering::Relaxed);
    }

    pub fn stall(&self, looks: u64) {
        self.stalled.store(looks, Ordering::Relaxed);
    }

    pub fn set_wall(&self, offset_seconds: i64) {
        self.wall_offset_seconds.store(offset_seconds, Ordering::Relaxed);
    }
}

impl Clock for SimClock {
    fn now(&self) -> Duration {
        let stalls = |looks: u64| looks.checked_sub(1);
        if self.stalled.fetch_update(Ordering::Relaxed, Ordering::Relaxed, stalls).is_ok() {
            return Duration::from_micros(self.micros.load(Ordering::Relaxed));
        }
        Duration::from_micros(self.micros.fetch_add(TICK, Ordering::Relaxed))
    }

    fn wall(&self) -> Duration {
        let offset = self.wall_offset_seconds.load(Ordering::Relaxed);
        let seconds = Duration::from_secs(offset.unsigned_abs());
        let now = BEGIN + self.now();
        if offset < 0 { now.saturating_sub(seconds) } else { now + seconds }
    }
}
