//! Turns: how many threads may hold page latches at a time in a small pool.
//!
//! A thread that waits for a free frame holds latches. If waiting threads hold the latches of all frames, no page can
//! be evicted, and they wait for ever. So in a small pool a thread takes a turn before it latches its first page, and
//! ends it when it has released its last one; there are so few turns that each has [`FRAMES_OF_A_TURN`] frames.
//!
//! ```text
//!   no latch --- begin: waits for a turn ---> latch, latch, unlatch ... --- last unlatch ---> no latch
//!                                             never waits for a turn
//! ```
//!
//! This adds no deadlock. A thread that waits for a turn holds no latch, and only locks of ranks below [`Rank::Page`];
//! a thread in its turn waits for none of those (debug builds check the ranks), so every turn ends.
//!
//! In a large pool, which would have more turns than a server has busy threads, none of this happens.
//!
//! [`Rank::Page`]: crate::sync::Rank::Page

use std::cell::Cell;

use crate::sync::{self, Condvar, Mutex, Rank};

/// The frames that one thread may need at a time: the deepest mini-transactions free sixteen pages and latch the pages
/// of the tablespace that account for them.
pub const FRAMES_OF_A_TURN: usize = 24;

/// A pool with so many turns does not count them.
const TURNS_MAX: usize = 256;

thread_local! {
    /// Page latches that this thread holds in small pools, and whether it has a turn.
    static HELD: Cell<(u32, bool)> = const { Cell::new((0, false)) };
}

/// See the module header. A thread holds latches of one small pool at a time.
pub struct Turns {
    /// Turns are counted.
    is_small: bool,
    free: Mutex<usize>,
    ended: Condvar,
}

impl Turns {
    /// For a pool of `frames` frames.
    pub fn new(frames: usize) -> Turns {
        let turns = (frames / FRAMES_OF_A_TURN).max(1);
        Turns { is_small: turns < TURNS_MAX, free: Mutex::new(Rank::Leaf, turns), ended: Condvar::new() }
    }

    /// Takes a turn for a thread that holds no latch. The thread keeps it for as long as it holds latches or the
    /// result.
    #[inline]
    pub fn begin(&self) -> Beginning<'_> {
        if self.is_small && HELD.get() == (0, false) {
            self.take();
        }
        Beginning(self)
    }

    #[cold]
    fn take(&self) {
        sync::assert_no_latches("waiting for a turn in the pool");
        let mut free = self.free.lock();
        while *free == 0 {
            self.ended.wait(&mut free);
        }
        *free -= 1;
        HELD.set((0, true));
    }

    /// This thread has taken a latch.
    #[inline]
    pub fn add_latch(&self) {
        if self.is_small {
            let (latches, turn) = HELD.get();
            HELD.set((latches + 1, turn));
        }
    }

    /// This thread has released a latch.
    #[inline]
    pub fn remove_latch(&self) {
        if self.is_small {
            let (latches, turn) = HELD.get();
            debug_assert!(latches > 0, "a latch is released by the thread that took it");
            HELD.set((latches - 1, turn));
            self.end_if_idle();
        }
    }

    #[inline]
    fn end_if_idle(&self) {
        if HELD.get() == (0, true) {
            HELD.set((0, false));
            *self.free.lock() += 1;
            self.ended.notify_one();
        }
    }
}

/// A thread in its turn that may not hold a latch yet.
pub struct Beginning<'t>(&'t Turns);

impl Drop for Beginning<'_> {
    #[inline]
    fn drop(&mut self) {
        if self.0.is_small {
            self.0.end_if_idle();
        }
    }
}
