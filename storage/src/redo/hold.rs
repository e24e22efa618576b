//! Holding the checkpoint back for a log of an upper layer.
//!
//! Some groups of the redo log have an annex: bytes that belong into a file of an upper layer, and that recovery hands
//! back if they are not durable there. So the checkpoint must not pass the first annex that is not.
//!
//! ```text
//!   checkpoint <= hold <= first annex whose bytes are not synced in the upper layer's file
//! ```
//!
//! The layer sets the hold before it appends an annex, and moves it when it has synced its file. It syncs from time to
//! time, and soon when the checkpoint waits for it: [`Hold::wait`] ends then. It also ends when the first annex is
//! outstanding, so that a thread may sleep long while there is none.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use format::ids::Lsn;

use crate::sync::{Condvar, Mutex, Rank};

/// See the module header.
pub struct Hold {
    /// [`NOTHING`] = no annex is outstanding.
    lsn: AtomicU64,
    wanted: Mutex<bool>,
    changed: Condvar,
}

const NOTHING: u64 = u64::MAX;

impl Default for Hold {
    fn default() -> Hold {
        Hold { lsn: AtomicU64::new(NOTHING), wanted: Mutex::new(Rank::Leaf, false), changed: Condvar::new() }
    }
}

impl Hold {
    /// How far the checkpoint may go.
    pub fn limit(&self, lsn: Lsn) -> Lsn {
        Lsn(lsn.0.min(self.lsn.load(Ordering::Acquire)))
    }

    /// Whether an annex is outstanding.
    pub fn is_held(&self) -> bool {
        self.lsn.load(Ordering::Acquire) != NOTHING
    }

    /// From here on the checkpoint stays before `lsn`. One thread at a time changes the hold.
    pub fn set(&self, lsn: Lsn) {
        if self.lsn.swap(lsn.0, Ordering::AcqRel) == NOTHING {
            // A thread that has looked and does not wait yet has the lock.
            drop(self.wanted.lock());
            self.changed.notify_all();
        }
    }

    /// All annexes are durable elsewhere.
    pub fn release(&self) {
        self.lsn.store(NOTHING, Ordering::Release);
    }

    /// The checkpoint could go on but for this.
    pub fn want(&self) {
        let mut wanted = self.wanted.lock();
        *wanted = true;
        drop(wanted);
        self.changed.notify_all();
    }

    /// Waits until the checkpoint waits for this, at most for `outstanding` while there is an annex and for `idle` while
    /// there is none. True if the checkpoint waits.
    pub fn wait(&self, outstanding: Duration, idle: Duration) -> bool {
        let mut wanted = self.wanted.lock();
        if !*wanted {
            let limit = if self.is_held() { outstanding } else { idle };
            self.changed.wait_for(&mut wanted, limit);
        }
        std::mem::take(&mut *wanted)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Instant;

    use super::*;

    #[test]
    fn the_first_annex_and_a_waiting_checkpoint_end_the_wait() {
        let hold = Arc::new(Hold::default());
        let long = Duration::from_secs(60);
        let began = Instant::now();
        let waits = |outstanding, idle| {
            let hold = hold.clone();
            std::thread::spawn(move || hold.wait(outstanding, idle))
        };
        let idle = waits(Duration::ZERO, long);
        while !idle.is_finished() {
            hold.release();
            hold.set(Lsn(10));
        }
        assert!(!idle.join().unwrap());
        let outstanding = waits(long, Duration::ZERO);
        hold.set(Lsn(20));
        hold.want();
        assert!(outstanding.join().unwrap());
        assert!(!hold.wait(Duration::ZERO, long), "the wish is fulfilled");
        assert!(began.elapsed() < long);
        assert_eq!(hold.limit(Lsn(30)), Lsn(20));
    }
}
