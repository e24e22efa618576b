//! What the sessions of each account have done: statements by their kind, and errors.
//!
//! A session collects this for itself, and hands it over when it ends or logs in anew ([`super::Own`]). So the sums of an
//! account are those that its sessions have left, and those of the sessions that are there.

use rustc_hash::FxHashMap;

use super::sums::{Sums, Work};

/// The user, and the host that it came from.
pub type AccountName = (String, String);

/// Statements of one kind. Times are in nanoseconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventSums {
    pub count: u64,
    pub wait: u64,
    pub wait_min: u64,
    pub wait_max: u64,
    pub lock: u64,
    pub cpu: u64,
    pub work: Work,
}

impl Default for EventSums {
    fn default() -> EventSums {
        EventSums { count: 0, wait: 0, wait_min: u64::MAX, wait_max: 0, lock: 0, cpu: 0, work: Work::default() }
    }
}

impl EventSums {
    fn add(&mut self, other: &EventSums) {
        self.count += other.count;
        self.wait += other.wait;
        self.wait_min = self.wait_min.min(other.wait_min);
        self.wait_max = self.wait_max.max(other.wait_max);
        self.lock += other.lock;
        self.cpu += other.cpu;
        self.work.add(&other.work);
    }

    /// Those of one digest.
    pub fn of(sums: &Sums) -> EventSums {
        let Sums { count, wait, wait_min, wait_max, lock, cpu, work, .. } = sums;
        let (count, wait, wait_min, wait_max) = (*count, *wait, *wait_min, *wait_max);
        EventSums { count, wait, wait_min, wait_max, lock: *lock, cpu: *cpu, work: *work }
    }
}

/// How often an error was the answer to a statement. Moments are nanoseconds since the server's start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ErrorSum {
    pub sqlstate: [u8; 5],
    pub raised: u64,
    pub first_seen: u64,
    pub last_seen: u64,
}

/// What the sessions of one account, or one of them, have done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Deeds {
    /// By the names of [`super::event_names`].
    pub events: FxHashMap<&'static str, EventSums>,
    /// By code.
    pub errors: FxHashMap<u16, ErrorSum>,
}

impl Deeds {
    pub fn add_event(&mut self, name: &'static str, sums: &EventSums) {
        self.events.entry(name).or_default().add(sums);
    }

    pub fn add_error(&mut self, code: u16, seen: &ErrorSum) {
        let sum = self.errors.entry(code).or_insert(ErrorSum { raised: 0, ..*seen });
        sum.raised += seen.raised;
        sum.first_seen = sum.first_seen.min(seen.first_seen);
        sum.last_seen = sum.last_seen.max(seen.last_seen);
    }

    pub fn add(&mut self, other: &Deeds) {
        other.events.iter().for_each(|(name, sums)| self.add_event(name, sums));
        other.errors.iter().for_each(|(code, sum)| self.add_error(*code, sum));
    }
}
