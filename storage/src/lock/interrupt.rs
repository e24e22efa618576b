//! How a statement is told to stop.
//!
//! A connection has one [`Interrupt`]. Its thread checks it between rows and while it waits; KILL sets it and wakes the
//! thread. A statement with a time limit ([`Deadline`]) counts as interrupted from its deadline on, so no thread has to
//! watch the clock for it. A waiting thread also checks its client ([`ClientWatch`]), and shows what it waits for
//! ([`Stage`]).

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{Duration, Instant};

use super::client::ClientWatch;
use super::deadline::Deadline;
use super::names::NameLocks;
use super::scheduler::Scheduler;
use super::stage::{Entered, Stage, StageCell};
use super::waiter::{Outcome, Patience, Waiter};
use crate::gate::Health;
use crate::sync::{Mutex, Rank};

/// What must stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kill {
    /// The statement that runs now.
    Query,
    /// The whole connection.
    Connection,
}

const NONE: u8 = 0;
const QUERY: u8 = 1;
const CONNECTION: u8 = 2;

/// See the module header.
#[derive(Debug)]
pub struct Interrupt {
    kill: AtomicU8,
    deadline: Deadline,
    client: ClientWatch,
    stage: StageCell,
    /// Where the connection's thread sleeps, if it waits for a record lock.
    waiting: Mutex<Option<Arc<Waiter>>>,
    scheduler: Option<Arc<dyn Scheduler>>,
    names: Arc<NameLocks>,
}

impl Default for Interrupt {
    fn default() -> Interrupt {
        Interrupt {
            kill: AtomicU8::new(NONE),
            deadline: Deadline::none(),
            client: ClientWatch::none(),
            stage: StageCell::new(),
            waiting: Mutex::new(Rank::Leaf, None),
            scheduler: None,
            names: Arc::default(),
        }
    }
}

impl Interrupt {
    pub fn new() -> Interrupt {
        Interrupt::default()
    }

    /// For a transaction whose thread a scheduler runs.
    pub fn scheduled(scheduler: Arc<dyn Scheduler>) -> Interrupt {
        Interrupt { scheduler: Some(scheduler), ..Interrupt::default() }
    }

    /// Other threads may run here: no latch is held. Does nothing outside of a simulator.
    #[inline]
    pub fn pass(&self) {
        if let Some(scheduler) = &self.scheduler {
            scheduler.pass();
        }
    }

    /// Who decides about waits, in a simulator.
    pub(super) fn scheduler(&self) -> Option<&Arc<dyn Scheduler>> {
        self.scheduler.as_ref()
    }

    /// The metadata locks of the connection.
    #[inline]
    pub fn names(&self) -> &Arc<NameLocks> {
        &self.names
    }

    /// Tells the statement or connection to stop, and wakes it if it waits.
    pub fn set(&self, kill: Kill) {
        let value = if kill == Kill::Query { QUERY } else { CONNECTION };
        self.kill.fetch_max(value, Ordering::SeqCst);
        let waiter = self.waiting.lock().clone();
        if let Some(waiter) = waiter {
            waiter.wake(Outcome::Interrupted);
        }
    }

    /// A new statement begins: forgets a KILL QUERY that came too late for the last one.
    #[inline]
    pub fn clear(&self) {
        if self.kill.load(Ordering::Relaxed) == QUERY {
            let _ = self.kill.compare_exchange(QUERY, NONE, Ordering::SeqCst, Ordering::SeqCst);
        }
    }

    #[inline]
    pub fn is_set(&self) -> bool {
        self.kill.load(Ordering::Relaxed) != NONE || self.deadline.is_over()
    }

    /// What was told to stop, if anything was.
    pub fn kind(&self) -> Option<Kill> {
        match self.kill.load(Ordering::SeqCst) {
            NONE => None,
            QUERY => Some(Kill::Query),
            _ => Some(Kill::Connection),
        }
    }

    /// Gives the statement that begins a time limit, or none.
    pub fn limit(&self, limit: Option<Duration>) {
        self.deadline.set(limit);
    }

    /// Whether the statement has used up its time.
    #[inline]
    pub fn is_over_time(&self) -> bool {
        self.deadline.is_over()
    }

    /// Sets the function that tells whether the client has gone. A waiting thread calls it now and then.
    pub fn watch(&self, is_gone: Box<dyn Fn() -> bool + Send>) {
        self.client.set(is_gone);
    }

    /// Whether a waiting thread must stop: interrupted, over time, or without a client.
    pub fn ends_wait(&self) -> bool {
        if self.is_set() {
            return true;
        }
        let gone = self.client.is_gone(self.deadline.now_us());
        if gone {
            self.kill.fetch_max(CONNECTION, Ordering::SeqCst);
        }
        gone
    }

    /// Shows the stage until the returned value is dropped.
    pub fn enter(&self, stage: Stage) -> Entered<'_> {
        self.stage.enter(stage)
    }

    /// How long the thread has waited for locks so far.
    #[inline]
    pub fn waited_nanos(&self) -> u64 {
        self.stage.waited_nanos()
    }

    /// What the thread waits for now.
    pub fn stage(&self) -> Stage {
        self.stage.get()
    }

    /// Sleeps until the waiter is woken, the time is over, or the instance is poisoned.
    pub(super) fn wait_at(&self, waiter: &Arc<Waiter>, limit: Duration, health: &Health) -> Outcome {
        *self.waiting.lock() = Some(waiter.clone());
        let _stage = self.enter(Stage::Row);
        let outcome = match &self.scheduler {
            None => {
                // The lock's limit and the statement's, whichever is over first.
                let lock = Instant::now().checked_add(limit);
                let deadline = match (lock, self.deadline.instant()) {
                    (Some(lock), Some(statement)) => Some(lock.min(statement)),
                    (one, other) => one.or(other),
                };
                waiter.sleep(&Waiting { interrupt: self, health }, deadline)
            }
            Some(scheduler) => {
                let ready = &mut || waiter.outcome() != Outcome::Waiting || health.is_poisoned();
                match (scheduler.wait(ready), waiter.outcome()) {
                    (true, Outcome::Waiting) => Outcome::Interrupted,
                    (true, outcome) => outcome,
                    (false, _) => Outcome::TimedOut,
                }
            }
        };
        *self.waiting.lock() = None;
        outcome
    }

    /// Sleeps for the time given, or until the statement must stop; true if it must. A KILL wakes the thread, so that
    /// who killed the statement does not meet it again.
    pub fn sleep(&self, duration: Duration) -> bool {
        let waiter = Arc::new(Waiter::new());
        *self.waiting.lock() = Some(waiter.clone());
        let end = Instant::now().checked_add(duration);
        let deadline = match (end, self.deadline.instant()) {
            (Some(end), Some(statement)) => Some(end.min(statement)),
            (one, other) => one.or(other),
        };
        let outcome = waiter.sleep(&Sleeping(self), deadline);
        *self.waiting.lock() = None;
        outcome == Outcome::Interrupted
    }
}

/// A statement that waits for nothing but time.
struct Sleeping<'i>(&'i Interrupt);

impl Patience for Sleeping<'_> {
    fn is_interrupted(&self) -> bool {
        self.0.is_set()
    }

    fn gives_up(&self) -> bool {
        // As with locks, the sleep itself looks at the clock.
        self.0.ends_wait() && self.0.kind().is_some()
    }

    fn is_over_time(&self) -> bool {
        self.0.is_over_time()
    }
}

/// A statement that waits for a record lock of an instance.
struct Waiting<'w> {
    interrupt: &'w Interrupt,
    health: &'w Health,
}

impl Patience for Waiting<'_> {
    fn is_interrupted(&self) -> bool {
        self.interrupt.is_set() || self.health.is_poisoned()
    }

    fn gives_up(&self) -> bool {
        // A deadline alone does not end the wait here: the sleep looks at the clock itself.
        self.interrupt.ends_wait() && self.interrupt.kind().is_some() || self.health.is_poisoned()
    }

    fn is_over_time(&self) -> bool {
        self.interrupt.is_over_time()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kill_wakes_who_sleeps() {
        let interrupt = Arc::new(Interrupt::new());
        assert!(!interrupt.sleep(Duration::from_millis(1)));
        let sleeper = interrupt.clone();
        let sleeping = std::thread::spawn(move || {
            let begin = Instant::now();
            (sleeper.sleep(Duration::from_secs(600)), begin.elapsed())
        });
        while interrupt.waiting.lock().is_none() {
            std::thread::yield_now();
        }
        interrupt.set(Kill::Query);
        let (killed, elapsed) = sleeping.join().unwrap();
        assert!(killed && elapsed < Duration::from_secs(300), "{elapsed:?}");
        // It is not forgotten before the next statement.
        assert!(interrupt.sleep(Duration::from_secs(600)));
        interrupt.clear();
        interrupt.limit(Some(Duration::from_millis(1)));
        assert!(interrupt.sleep(Duration::from_secs(600)));
    }
}
