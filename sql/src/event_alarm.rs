//! Wakes the thread that runs events: an event has been made or changed, `event_scheduler` was set, the server ends.

use std::time::Duration;

use parking_lot::{Condvar, Mutex};

#[derive(Default)]
pub struct EventAlarm {
    state: Mutex<State>,
    rung: Condvar,
}

#[derive(Default)]
struct State {
    rings: u64,
    is_over: bool,
}

impl EventAlarm {
    pub fn ring(&self) {
        self.state.lock().rings += 1;
        self.rung.notify_all();
    }

    /// The server ends.
    pub fn end(&self) {
        self.state.lock().is_over = true;
        self.rung.notify_all();
    }

    pub fn is_over(&self) -> bool {
        self.state.lock().is_over
    }

    /// Waits for a ring behind those that are known, for a while.
    pub fn wait(&self, known: &mut u64, at_most: Duration) {
        let mut state = self.state.lock();
        if state.rings == *known && !state.is_over {
            self.rung.wait_for(&mut state, at_most);
        }
        *known = state.rings;
    }
}
