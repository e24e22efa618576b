//! What a transaction waits for before it is begun.
//!
//! A transaction **must** wait for statements of definition, and a statement of definition for all before it. It **may**
//! conflict with what the source says it does: that counts only for the next [`CAREFUL`] transactions after one had to be
//! begun again.
//!
//! A Gtid event says `last_committed` and `sequence_number`: the transaction held all its locks at the source when those
//! after `last_committed` had not committed, so it conflicts with none of them. Numbers begin again with each file of the
//! source, and what is in earlier files is waited for: an *epoch* is what has comparable numbers. MariaDB gives transactions
//! that were committed together the same commit id: they do not conflict with each other. A transaction of which the source
//! says nothing waits for all before it.

use super::Job;

/// Transactions that wait for those that they may conflict with, after one that did.
const CAREFUL: u64 = 16;

/// What a source says about the transactions that one may run beside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// It is a statement of definition: beside none.
    Alone,
    /// Nothing.
    Unknown,
    /// Beside those behind `last_committed`.
    Logical { last_committed: u64, sequence: u64 },
    /// Beside those with the same number.
    Group(u64),
}

/// What one transaction waits for.
#[derive(Clone, Copy, Debug)]
pub struct Waits {
    /// All up to this number commit before it begins.
    must: u64,
    /// It may conflict with some up to this number.
    pub(super) may: u64,
    clock: Clock,
    epoch: u64,
}

/// See the module header.
pub struct Dependencies {
    epoch: u64,
    /// All up to this number belong to earlier epochs.
    before_epoch: u64,
    last_clock: Clock,
    last_may: u64,
    /// The last statement of definition.
    last_alone: u64,
    /// What is before this number waits for what it may conflict with.
    careful_until: u64,
}

impl Dependencies {
    pub fn new() -> Dependencies {
        Dependencies {
            epoch: 0,
            before_epoch: 0,
            last_clock: Clock::Unknown,
            last_may: 0,
            last_alone: 0,
            careful_until: 0,
        }
    }

    /// What transaction `number` waits for. `newest_first`: the transactions before it that have not committed.
    pub fn of<'j>(&mut self, number: u64, clock: Clock, newest_first: impl Iterator<Item = &'j Job>) -> Waits {
        let may = self.may_wait_for(number, clock, newest_first);
        let mut must = self.last_alone;
        if clock == Clock::Alone {
            (must, self.last_alone) = (number - 1, number);
        }
        Waits { must, may, clock, epoch: self.epoch }
    }

    fn may_wait_for<'j>(&mut self, number: u64, clock: Clock, mut newest_first: impl Iterator<Item = &'j Job>) -> u64 {
        let may = match (clock, self.last_clock) {
            (Clock::Logical { last_committed, sequence }, Clock::Logical { sequence: last, .. })
                if last < sequence && last_committed < sequence =>
            {
                // The newest of those that it does not run beside. One that is gone has committed.
                let has_committed_there = |job: &&Job| match job.waits.clock {
                    Clock::Logical { sequence, .. } => sequence <= last_committed,
                    _ => false,
                };
                let mut of_epoch = newest_first.by_ref().take_while(|job| job.waits.epoch == self.epoch);
                let newest = of_epoch.find(has_committed_there).map_or(0, |job| job.number);
                newest.max(self.before_epoch)
            }
            (Clock::Group(group), Clock::Group(last)) if group == last => self.last_may,
            _ => {
                (self.epoch, self.before_epoch) = (self.epoch + 1, number - 1);
                number - 1
            }
        };
        (self.last_clock, self.last_may) = (clock, may);
        may
    }

    /// A transaction had to be begun again: those up to `next` and some behind it wait for what they may conflict with.
    pub fn be_careful(&mut self, next: u64) {
        self.careful_until = next + CAREFUL;
    }

    /// Whether a transaction may begin. `first`: the first that has not committed.
    pub fn allow(&self, job: &Job, first: u64) -> bool {
        job.waits.must < first && (job.number >= self.careful_until || job.waits.may < first)
    }
}
