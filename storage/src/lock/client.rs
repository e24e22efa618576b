//! Whether a connection's client is still connected, for a thread that waits on its behalf.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::sync::{Mutex, Rank};

/// A waiting thread checks its client at this interval.
pub(super) const LOOK: Duration = Duration::from_millis(500);

/// Checks whether the client is gone, at most every [`LOOK`].
pub(super) struct ClientWatch {
    is_gone: Mutex<Option<Box<dyn Fn() -> bool + Send>>>,
    /// When the client was last checked.
    looked_us: AtomicU64,
}

impl std::fmt::Debug for ClientWatch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ClientWatch")
    }
}

impl ClientWatch {
    /// A connection without a client of its own: it is never gone.
    pub const fn none() -> ClientWatch {
        ClientWatch { is_gone: Mutex::new(Rank::Leaf, None), looked_us: AtomicU64::new(0) }
    }

    pub fn set(&self, is_gone: Box<dyn Fn() -> bool + Send>) {
        *self.is_gone.lock() = Some(is_gone);
    }

    /// Checks the client, unless the last check is less than [`LOOK`] ago.
    pub fn is_gone(&self, now_us: u64) -> bool {
        if now_us.saturating_sub(self.looked_us.load(Ordering::Relaxed)) < LOOK.as_micros() as u64 {
            return false;
        }
        self.looked_us.store(now_us, Ordering::Relaxed);
        self.is_gone.lock().as_ref().is_some_and(|is_gone| is_gone())
    }
}
