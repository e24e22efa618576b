//! The time limit of a statement.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// When the statement of a connection has used up its time. One thread sets it; any thread may read it.
#[derive(Debug)]
pub(super) struct Deadline {
    /// The origin of deadlines: the beginning of the connection.
    epoch: Instant,
    /// Microseconds behind `epoch`; 0 = no limit.
    at_us: AtomicU64,
}

impl Deadline {
    pub fn none() -> Deadline {
        Deadline { epoch: Instant::now(), at_us: AtomicU64::new(0) }
    }

    /// Microseconds since the connection began.
    pub fn now_us(&self) -> u64 {
        self.epoch.elapsed().as_micros() as u64
    }

    /// Gives the statement that begins now this time limit.
    pub fn set(&self, limit: Option<Duration>) {
        let at = limit.map_or(0, |limit| (self.epoch.elapsed() + limit).as_micros().max(1) as u64);
        self.at_us.store(at, Ordering::Relaxed);
    }

    #[inline]
    pub fn is_over(&self) -> bool {
        match self.at_us.load(Ordering::Relaxed) {
            0 => false,
            at => self.now_us() >= at,
        }
    }

    pub fn instant(&self) -> Option<Instant> {
        match self.at_us.load(Ordering::Relaxed) {
            0 => None,
            at => self.epoch.checked_add(Duration::from_micros(at)),
        }
    }
}
