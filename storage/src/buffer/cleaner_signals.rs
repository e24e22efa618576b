//! Signals between page cleaners and other threads: requests for work, and notices of progress.
//!
//! The first cleaner checks for work by itself every few milliseconds. The others sleep until it finds more than it can
//! do and requests help.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::gate::Waiters;
use crate::sync::{Condvar, Mutex, Rank};

/// See the module header.
#[derive(Debug)]
pub struct CleanerSignals {
    state: Mutex<SignalState>,
    work: Condvar,
    help: Condvar,
    sync: Condvar,
    progress: Condvar,
    closed: Condvar,
    /// Cleaner threads that run; without any, a thread that needs clean pages writes them itself.
    cleaners: AtomicUsize,
}

#[derive(Debug, Default)]
struct SignalState {
    /// A thread waits for the cleaners.
    wanted: bool,
    /// Requests for help that no cleaner has answered yet.
    calls: usize,
    /// A sync is wanted soon.
    sync_wanted: bool,
    closing: bool,
}

impl Default for CleanerSignals {
    fn default() -> CleanerSignals {
        CleanerSignals {
            state: Mutex::new(Rank::Leaf, SignalState::default()),
            work: Condvar::new(),
            help: Condvar::new(),
            sync: Condvar::new(),
            progress: Condvar::new(),
            closed: Condvar::new(),
            cleaners: AtomicUsize::new(0),
        }
    }
}

impl CleanerSignals {
    /// Wakes the first cleaner.
    pub fn wake(&self) {
        let mut state = self.state.lock();
        if !state.wanted {
            state.wanted = true;
            self.work.notify_one();
        }
    }

    /// Wakes another cleaner.
    pub fn request_help(&self) {
        let mut state = self.state.lock();
        if state.calls == 0 {
            state.calls = 1;
            self.help.notify_one();
        }
    }

    /// Wakes the checkpointer.
    pub fn request_sync(&self) {
        let mut state = self.state.lock();
        if !state.sync_wanted {
            state.sync_wanted = true;
            self.sync.notify_one();
        }
    }

    /// The first cleaner waits for a request, or for the time to pass. True if the instance closes.
    pub fn wait_for_work(&self, limit: Duration) -> bool {
        let mut state = self.state.lock();
        if !state.wanted && !state.closing {
            self.work.wait_for(&mut state, limit);
        }
        state.wanted = false;
        state.closing
    }

    /// The other cleaners wait for a request. True if the instance closes.
    pub fn wait_for_help_request(&self, limit: Duration) -> bool {
        let mut state = self.state.lock();
        if state.calls == 0 && !state.closing {
            self.help.wait_for(&mut state, limit);
        }
        state.calls = state.calls.saturating_sub(1);
        state.closing
    }

    /// Waits for a sync to be wanted, or for the time to pass. True if the instance closes.
    pub fn wait_for_sync_request(&self, limit: Duration) -> bool {
        let mut state = self.state.lock();
        if !state.sync_wanted && !state.closing {
            self.sync.wait_for(&mut state, limit);
        }
        state.sync_wanted = false;
        state.closing
    }

    /// Waits for the instance to close; false if the time is over first.
    pub fn wait_until_closing(&self, limit: Duration) -> bool {
        let mut state = self.state.lock();
        if !state.closing {
            self.closed.wait_for(&mut state, limit);
        }
        state.closing
    }

    /// Whether there are cleaner threads.
    #[inline]
    pub fn has_cleaners(&self) -> bool {
        self.cleaners.load(Ordering::Relaxed) != 0
    }

    pub fn is_closing(&self) -> bool {
        self.state.lock().closing
    }

    pub fn notify_progress(&self) {
        self.progress.notify_all();
    }

    /// Waits until a cleaner reports progress. False at once if there are no cleaners.
    pub fn wait_for_progress(&self, limit: Duration) -> bool {
        if !self.has_cleaners() {
            return false;
        }
        let mut state = self.state.lock();
        state.wanted = true;
        self.work.notify_one();
        self.progress.wait_for(&mut state, limit);
        true
    }

    pub fn add_cleaner(&self) {
        self.cleaners.fetch_add(1, Ordering::Relaxed);
    }

    pub fn remove_cleaner(&self) {
        self.cleaners.fetch_sub(1, Ordering::Relaxed);
        self.progress.notify_all();
    }

    pub fn close(&self) {
        self.state.lock().closing = true;
        for waiting in [&self.work, &self.help, &self.sync, &self.progress, &self.closed] {
            waiting.notify_all();
        }
    }
}

impl Waiters for CleanerSignals {
    fn wake_all(&self) {
        drop(self.state.lock());
        for waiting in [&self.work, &self.help, &self.sync, &self.progress] {
            waiting.notify_all();
        }
    }
}
