//! Stops a statement in the middle of its work.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex};
use std::time::Duration;

use storage::Scheduler;

/// What a session that can be held waits with.
#[derive(Debug, Default)]
pub struct Hold {
    state: Mutex<State>,
    changed: Condvar,
    /// For a lock.
    waits: AtomicBool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Runs,
    /// It will hold where others may run.
    Wanted,
    Holds,
}

impl Hold {
    pub fn begin(&self) {
        *self.state.lock().unwrap() = State::Wanted;
    }

    pub fn end(&self) {
        *self.state.lock().unwrap() = State::Runs;
        self.changed.notify_all();
    }

    pub fn holds(&self) -> bool {
        *self.state.lock().unwrap() == State::Holds
    }

    pub fn waits(&self) -> bool {
        self.waits.load(Ordering::Relaxed)
    }
}

impl Scheduler for Hold {
    fn wait(&self, ready: &mut dyn FnMut() -> bool) -> bool {
        self.waits.store(true, Ordering::Relaxed);
        while !ready() {
            std::thread::sleep(Duration::from_millis(1));
        }
        self.waits.store(false, Ordering::Relaxed);
        true
    }

    fn pass(&self) {
        let mut state = self.state.lock().unwrap();
        if *state == State::Wanted {
            *state = State::Holds;
            while *state == State::Holds {
                state = self.changed.wait(state).unwrap();
            }
        }
    }
}
