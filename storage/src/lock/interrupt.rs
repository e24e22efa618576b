//! How a statement is told to stop, and how somebody who waits hears of it.

use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use crate::sync::{Condvar, Mutex, Rank};

/// Lets threads run one at a time, in an order of its own: a simulator. Where a transaction would sleep, it is asked
/// instead of the clock. Whoever calls it holds no latch.
pub trait Scheduler: Send + Sync + std::fmt::Debug {
    /// Comes back when `ready` says so, or with false: the time is over.
    fn wait(&self, ready: &mut dyn FnMut() -> bool) -> bool;

    /// Between two mini-transactions of one row operation, where others may come in.
    fn pass(&self);
}

/// What is to stop.
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

/// What somebody waits for, as far as others want to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Stage {
    /// It runs, or has nothing to do.
    Runs,
    Row,
    Metadata,
    AutoIncrement,
    GlobalReadLock,
    Commit,
    UserLock,
}

impl Stage {
    const ALL: [Stage; 7] = [
        Stage::Runs,
        Stage::Row,
        Stage::Metadata,
        Stage::AutoIncrement,
        Stage::GlobalReadLock,
        Stage::Commit,
        Stage::UserLock,
    ];
}

/// Somebody who waits looks after his client this often.
const LOOK: Duration = Duration::from_millis(500);

/// Whether the client is gone.
struct Watch(Box<dyn Fn() -> bool + Send>);

impl std::fmt::Debug for Watch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Watch")
    }
}

/// Where deadlines are counted from.
static EPOCH: LazyLock<Instant> = LazyLock::new(Instant::now);

/// A flag that a connection's thread looks at, and that wakes it where it waits for a lock.
///
/// A statement with a time limit has a deadline here: from then on the flag counts as set. So nobody has to watch the
/// clock for those who look at the flag anyway.
#[derive(Debug)]
pub struct Interrupt {
    kill: AtomicU8,
    /// Microseconds behind `EPOCH`; 0 = no limit.
    deadline_us: AtomicU64,
    stage: AtomicU8,
    /// Tells whether the client is gone, for those who wait; and when it was asked last, in microseconds behind `EPOCH`.
    watch: Mutex<Option<Watch>>,
    watched_us: AtomicU64,
    waiting: Mutex<Option<Arc<Waiter>>>,
    scheduler: Option<Arc<dyn Scheduler>>,
}

impl Default for Interrupt {
    fn default() -> Interrupt {
        Interrupt {
            kill: AtomicU8::new(NONE),
            deadline_us: AtomicU64::new(0),
            stage: AtomicU8::new(Stage::Runs as u8),
            watch: Mutex::new(Rank::Leaf, None),
            watched_us: AtomicU64::new(0),
            waiting: Mutex::new(Rank::Leaf, None),
            scheduler: None,
        }
    }
}

impl Interrupt {
    pub fn new() -> Interrupt {
        Interrupt::default()
    }

    /// Of a transaction whose thread is told when to run.
    pub fn scheduled(scheduler: Arc<dyn Scheduler>) -> Interrupt {
        Interrupt { scheduler: Some(scheduler), ..Interrupt::default() }
    }

    /// Others may run here: no latch is held. Nothing happens outside of a simulator, where threads need no such offer.
    #[inline]
    pub fn pass(&self) {
        if let Some(scheduler) = &self.scheduler {
            scheduler.pass();
        }
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
        self.kill.load(Ordering::Relaxed) != NONE || self.is_over_time()
    }

    /// Leaves a way to find out that the client has gone: whoever waits for others asks now and then.
    pub fn watch(&self, is_gone: Box<dyn Fn() -> bool + Send>) {
        *self.watch.lock() = Some(Watch(is_gone));
    }

    /// Whether somebody who waits is to stop: told so, over time, or without a client.
    pub fn ends_wait(&self) -> bool {
        if self.is_set() {
            return true;
        }
        let now = EPOCH.elapsed().as_micros() as u64;
        if now.saturating_sub(self.watched_us.load(Ordering::Relaxed)) < LOOK.as_micros() as u64 {
            return false;
        }
        self.watched_us.store(now, Ordering::Relaxed);
        let gone = self.watch.lock().as_ref().is_some_and(|Watch(is_gone)| is_gone());
        if gone {
            self.kill.fetch_max(CONNECTION, Ordering::SeqCst);
        }
        gone
    }

    /// Gives the statement that begins a time limit, or none.
    pub fn limit(&self, limit: Option<Duration>) {
        let deadline = limit.map_or(0, |limit| (EPOCH.elapsed() + limit).as_micros().max(1) as u64);
        self.deadline_us.store(deadline, Ordering::Relaxed);
    }

    /// Whether the statement has used up its time.
    #[inline]
    pub fn is_over_time(&self) -> bool {
        match self.deadline_us.load(Ordering::Relaxed) {
            0 => false,
            deadline => EPOCH.elapsed().as_micros() as u64 >= deadline,
        }
    }

    fn deadline(&self) -> Option<Instant> {
        match self.deadline_us.load(Ordering::Relaxed) {
            0 => None,
            deadline => EPOCH.checked_add(Duration::from_micros(deadline)),
        }
    }

    /// Shows what is waited for until the answer is dropped.
    pub fn enter(&self, stage: Stage) -> Entered<'_> {
        self.stage.store(stage as u8, Ordering::Relaxed);
        Entered(self)
    }

    /// What is waited for now.
    pub fn stage(&self) -> Stage {
        Stage::ALL[usize::from(self.stage.load(Ordering::Relaxed))]
    }

    pub fn kind(&self) -> Option<Kill> {
        match self.kill.load(Ordering::SeqCst) {
            NONE => None,
            QUERY => Some(Kill::Query),
            _ => Some(Kill::Connection),
        }
    }
}

/// Somebody waits.
#[must_use]
pub struct Entered<'i>(&'i Interrupt);

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        self.0.stage.store(Stage::Runs as u8, Ordering::Relaxed);
    }
}

/// How a wait ended, or that it has not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Waiting,
    Granted,
    Interrupted,
    TimedOut,
    /// Somebody closed a cycle, and this transaction is the one to be rolled back.
    Victim,
}

/// Where one transaction sleeps while it waits.
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

    /// A grant stands over everything: a lock that was given is held.
    pub fn wake(&self, with: Outcome) {
        let mut outcome = self.outcome.lock();
        if *outcome != Outcome::Granted {
            *outcome = with;
        }
        self.wakened.notify_all();
    }

    pub fn is_granted(&self) -> bool {
        *self.outcome.lock() == Outcome::Granted
    }

    fn is_over(&self) -> bool {
        *self.outcome.lock() != Outcome::Waiting
    }

    /// Sleeps until it is wakened or the time is over.
    pub fn wait(self: &Arc<Self>, interrupt: &Interrupt, limit: Duration) -> Outcome {
        *interrupt.waiting.lock() = Some(self.clone());
        let _stage = interrupt.enter(Stage::Row);
        let outcome = match &interrupt.scheduler {
            None => self.sleep(interrupt, limit),
            Some(scheduler) => match scheduler.wait(&mut || self.is_over()) {
                true => *self.outcome.lock(),
                false => Outcome::TimedOut,
            },
        };
        *interrupt.waiting.lock() = None;
        outcome
    }

    fn sleep(&self, interrupt: &Interrupt, limit: Duration) -> Outcome {
        // The lock's limit and the statement's, whichever is over first.
        let lock = Instant::now().checked_add(limit);
        let deadline = match (lock, interrupt.deadline()) {
            (Some(lock), Some(statement)) => Some(lock.min(statement)),
            (one, other) => one.or(other),
        };
        let mut outcome = self.outcome.lock();
        // Set before this waiter was known to the interrupt.
        if interrupt.is_set() && *outcome == Outcome::Waiting {
            return Outcome::Interrupted;
        }
        while *outcome == Outcome::Waiting {
            let left = deadline.map_or(LOOK, |deadline| deadline.saturating_duration_since(Instant::now()));
            if left.is_zero() {
                let statement = interrupt.is_over_time();
                return if statement { Outcome::Interrupted } else { Outcome::TimedOut };
            }
            if self.wakened.wait_for(&mut outcome, left.min(LOOK)) && *outcome == Outcome::Waiting {
                drop(outcome);
                // A rollback, and all that waits behind it, does not wait for a client that is gone.
                let ends = interrupt.ends_wait();
                outcome = self.outcome.lock();
                if ends && *outcome == Outcome::Waiting && interrupt.kind().is_some() {
                    return Outcome::Interrupted;
                }
            }
        }
        *outcome
    }
}
