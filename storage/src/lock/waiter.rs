//! Where a transaction sleeps while it waits for a record lock.

use std::time::Instant;

use super::client::LOOK;
use crate::sync::{Condvar, Mutex, Rank};

/// How a wait ended, or that it has not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Waiting,
    Granted,
    Interrupted,
    TimedOut,
    /// Another transaction closed a cycle, and this transaction is its victim.
    Victim,
}

/// Reasons to end a wait before its outcome is decided.
pub(super) trait Patience {
    /// The statement must stop.
    fn is_interrupted(&self) -> bool;

    /// Like `is_interrupted`, but asked every [`LOOK`] during a wait: it also checks whether the client is still
    /// connected.
    fn gives_up(&self) -> bool;

    /// The statement has used up its time.
    fn is_over_time(&self) -> bool;
}

/// See the module header. A transaction has one and uses it for each wait.
#[derive(Debug)]
pub(super) struct Waiter {
    outcome: Mutex<Outcome>,
    wakened: Condvar,
}

impl Waiter {
    pub fn new() -> Waiter {
        Waiter { outcome: Mutex::new(Rank::Leaf, Outcome::Waiting), wakened: Condvar::new() }
    }

    pub fn prepare(&self) {
        *self.outcome.lock() = Outcome::Waiting;
    }

    /// Ends the wait. A grant takes precedence over every other outcome: once granted, the lock is held.
    pub fn wake(&self, with: Outcome) {
        let mut outcome = self.outcome.lock();
        if *outcome != Outcome::Granted {
            *outcome = with;
        }
        self.wakened.notify_all();
    }

    pub fn outcome(&self) -> Outcome {
        *self.outcome.lock()
    }

    pub fn is_granted(&self) -> bool {
        self.outcome() == Outcome::Granted
    }

    /// Sleeps until it is woken, the deadline has passed, or `patience` ends the wait.
    pub fn sleep(&self, patience: &impl Patience, deadline: Option<Instant>) -> Outcome {
        let mut outcome = self.outcome.lock();
        // An interrupt that was set before this waiter was known to it.
        if *outcome == Outcome::Waiting && patience.is_interrupted() {
            return Outcome::Interrupted;
        }
        while *outcome == Outcome::Waiting {
            let left = deadline.map_or(LOOK, |deadline| deadline.saturating_duration_since(Instant::now()));
            if left.is_zero() {
                return if patience.is_over_time() { Outcome::Interrupted } else { Outcome::TimedOut };
            }
            if self.wakened.wait_for(&mut outcome, left.min(LOOK)) && *outcome == Outcome::Waiting {
                drop(outcome);
                let gives_up = patience.gives_up();
                outcome = self.outcome.lock();
                if gives_up && *outcome == Outcome::Waiting {
                    return Outcome::Interrupted;
                }
            }
        }
        *outcome
    }
}
