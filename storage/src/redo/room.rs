//! Room at the end of the ring, promised to mini-transactions before they begin.
//!
//! A mini-transaction that holds page latches cannot wait for the checkpoint, which may need these pages. So it waits
//! before it begins, and then must find the room that it needs however many others begin at the same time:
//!
//! ```text
//!   checkpoint                  3/4             7/8       15/16       1   of the ring
//!   ---|-------------------------|---------------|----------|---------|
//!      all begin at once         a few at a time  none begins
//!      large ones: a few at a time
//! ```
//!
//! *Large* ones, which say how much they write, and all that begin in a *tight* log share a budget of 1/16 of the ring.
//! What lies behind 15/16 is for mini-transactions that began before the log was tight, and for the ends of
//! transactions on a full disk.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use crate::sync::{Condvar, Held, Mutex, Rank};

/// What a mini-transaction is expected to write that does not say how much.
const USUAL_BYTES: u64 = 32 << 10;

/// See the module header.
pub struct Room {
    budget: u64,
    promised: AtomicU64,
    waiting: AtomicU32,
    mutex: Mutex<()>,
    returned: Condvar,
}

/// Room for one mini-transaction, until this is dropped.
#[must_use]
pub struct Promise<'r> {
    room: &'r Room,
    bytes: u64,
    /// Whoever has a promise waits for no lock of a transaction and for no second promise.
    _held: Held,
}

impl Room {
    pub fn new(capacity: u64) -> Room {
        Room {
            budget: capacity / 16,
            promised: AtomicU64::new(0),
            waiting: AtomicU32::new(0),
            mutex: Mutex::new(Rank::Leaf, ()),
            returned: Condvar::new(),
        }
    }

    /// The most that one mini-transaction should write. Two of that size run at the same time.
    pub fn largest(&self) -> u64 {
        self.budget / 2
    }

    /// Lets a mini-transaction begin that needs no promise.
    #[inline]
    pub fn free(&self) -> Promise<'_> {
        Promise { room: self, bytes: 0, _held: Held::enter(Rank::LogRoom, false) }
    }

    /// Promises `bytes`, or the usual number, if the budget has as much. Alone, a mini-transaction may have more.
    pub fn promise(&self, bytes: Option<u64>) -> Option<Promise<'_>> {
        let bytes = bytes.unwrap_or(USUAL_BYTES);
        let fits = |promised: u64| (promised == 0 || promised + bytes <= self.budget).then_some(promised + bytes);
        self.promised.fetch_update(Ordering::SeqCst, Ordering::SeqCst, fits).ok()?;
        Some(Promise { room: self, bytes, _held: Held::enter(Rank::LogRoom, false) })
    }

    /// Waits until a promise has ended, at most for so long.
    pub fn wait(&self, timeout: Duration) {
        let mut guard = self.mutex.lock();
        self.waiting.fetch_add(1, Ordering::SeqCst);
        if self.promised.load(Ordering::SeqCst) > 0 {
            self.returned.wait_for(&mut guard, timeout);
        }
        self.waiting.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Drop for Promise<'_> {
    #[inline]
    fn drop(&mut self) {
        if self.bytes > 0 {
            self.room.promised.fetch_sub(self.bytes, Ordering::SeqCst);
            if self.room.waiting.load(Ordering::SeqCst) > 0 {
                drop(self.room.mutex.lock());
                self.room.returned.notify_all();
            }
        }
    }
}
