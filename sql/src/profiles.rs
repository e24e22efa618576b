//! What the last statements of a session took: SHOW PROFILES, SHOW PROFILE and `information_schema.PROFILING`.
//!
//! A session keeps its statements while `profiling` is ON, the newest `profiling_history_size` of them, by numbers that
//! count from 1. MySQL has called this deprecated for long (`performance_schema.events_statements_history` has more), but
//! people go on to time their statements by it.
//!
//! A statement has two states here, what it waited for locks and everything else, where MySQL lists each step of its own
//! server. What MySQL also counts (context switches, page faults, lines of its source) is NULL.

use std::collections::VecDeque;

use crate::statements::Timing;

/// Characters of a statement that are kept, as in MySQL.
const TEXT_CHARS_MAX: usize = 300;

/// One statement.
#[derive(Debug)]
pub struct Profile {
    pub id: u64,
    pub text: Box<str>,
    wait_nanos: u64,
    lock_nanos: u64,
}

impl Profile {
    /// How long it took.
    pub fn seconds(&self) -> f64 {
        self.wait_nanos as f64 / 1e9
    }

    /// Its states in order, each with its microseconds.
    pub fn states(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let locks = self.lock_nanos.min(self.wait_nanos);
        let waited = (locks > 0).then_some(("Waiting for locks", locks / 1000));
        waited.into_iter().chain([("executing", (self.wait_nanos - locks) / 1000)])
    }
}

/// The statements of a session that are kept, the oldest first.
#[derive(Debug, Default)]
pub struct Profiles {
    kept: VecDeque<Profile>,
    last_id: u64,
}

impl Profiles {
    /// Keeps a statement that has ended; `most` are kept.
    pub fn add(&mut self, text: &[u8], timing: &Timing, most: u64) {
        self.last_id += 1;
        let text = String::from_utf8_lossy(text).chars().take(TEXT_CHARS_MAX).collect::<String>().into();
        let (wait_nanos, lock_nanos) = (timing.wait, timing.lock);
        self.kept.push_back(Profile { id: self.last_id, text, wait_nanos, lock_nanos });
        while self.kept.len() as u64 > most {
            self.kept.pop_front();
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = &Profile> {
        self.kept.iter()
    }

    /// The statement of this number, or the last one.
    pub fn find(&self, id: Option<u64>) -> Option<&Profile> {
        match id {
            Some(id) => self.kept.iter().find(|profile| profile.id == id),
            None => self.kept.back(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_are_kept_and_numbers_go_on() {
        let mut profiles = Profiles::default();
        let timing = Timing { started: 0, wait: 5_000_000, lock: 1_000_000, cpu: 0 };
        for text in ["one", "two", "three"] {
            profiles.add(text.as_bytes(), &timing, 2);
        }
        let all: Vec<(u64, &str)> = profiles.iter().map(|profile| (profile.id, &*profile.text)).collect();
        assert_eq!(all, [(2, "two"), (3, "three")]);
        let last = profiles.find(None).unwrap();
        assert_eq!(last.states().collect::<Vec<_>>(), [("Waiting for locks", 1000), ("executing", 4000)]);
        assert!(profiles.find(Some(1)).is_none());
    }
}
