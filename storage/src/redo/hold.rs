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
//! time, and soon when the checkpoint waits for it: [`Hold::wait`] ends then.

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
        self.lsn.store(lsn.0, Ordering::Release);
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

    /// Waits until the checkpoint waits for this, at most for so long. True if it does.
    pub fn wait(&self, timeout: Duration) -> bool {
        let mut wanted = self.wanted.lock();
        if !*wanted {
            self.changed.wait_for(&mut wanted, timeout);
        }
        std::mem::take(&mut *wanted)
    }
}
