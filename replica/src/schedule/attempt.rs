//! One try to apply a transaction, in its place among others.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use format::ids::Lsn;
use parking_lot::Mutex;
use storage::{CommitPlace, Interrupt, Kill};

use super::Schedule;

/// See the module header.
pub struct Attempt {
    pub(super) number: u64,
    schedule: Arc<Schedule>,
    pub(super) interrupt: Arc<Interrupt>,
    is_overtaken: AtomicBool,
    /// The worker may be applying something else and is not interrupted any more.
    has_ended: Mutex<bool>,
}

impl Attempt {
    pub(super) fn new(number: u64, schedule: &Arc<Schedule>, interrupt: &Arc<Interrupt>) -> Attempt {
        Attempt {
            number,
            schedule: schedule.clone(),
            interrupt: interrupt.clone(),
            is_overtaken: AtomicBool::new(false),
            has_ended: Mutex::new(false),
        }
    }

    /// Whether an earlier transaction needs what this one has.
    pub fn is_overtaken(&self) -> bool {
        self.is_overtaken.load(Ordering::SeqCst)
    }

    /// The try is over. Whether it was overtaken; then an interrupt that came for that is forgotten.
    pub fn end(&self) -> bool {
        *self.has_ended.lock() = true;
        let was_overtaken = self.is_overtaken();
        if was_overtaken {
            self.interrupt.clear();
        }
        was_overtaken
    }
}

impl CommitPlace for Attempt {
    fn order(&self) -> u32 {
        self.schedule.order
    }

    fn number(&self) -> u64 {
        self.number
    }

    fn overtaken(&self) {
        let has_ended = self.has_ended.lock();
        if *has_ended {
            return;
        }
        self.is_overtaken.store(true, Ordering::SeqCst);
        // It may wait for something else, or for its turn.
        self.interrupt.set(Kill::Query);
        drop(has_ended);
        self.schedule.wake_turns();
    }

    fn committed(&self, lsn: Option<Lsn>) {
        self.schedule.pass(self.number, lsn);
    }
}

impl fmt::Debug for Attempt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Attempt({})", self.number)
    }
}
