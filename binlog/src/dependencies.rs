//! Which transactions may run at the same time on a replica, by the keys that they wrote
//! (`binlog_transaction_dependency_tracking=WRITESET`).
//!
//! ```text
//!   history        key 17 -> transaction 40        the newest transaction that wrote each key
//!                  key 52 -> transaction 38
//!                  start  = 31                     of transactions up to here nothing is known
//!
//!   transaction 41 writes 52, 90    depends on 38: last_committed = 38, sequence_number = 41
//! ```
//!
//! A key is the hash of a row's value in a unique index, which is equal for values that compare equal. So what two
//! transactions with the same key do is never declared independent; that two keys have the same hash costs parallelism
//! and nothing else. A NULL in a unique index collides with nothing and is no key. A transaction that cannot tell all
//! that it touches is *not known*: a statement of definition, rows without a key, rows of tables with foreign keys
//! (storage changes and checks rows in other tables because of them), more keys than the history holds. It depends on
//! what the order of commits says, and everything behind it depends on it.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// The keys that a transaction wrote, as hashes.
#[derive(Clone, Debug, Default)]
pub struct WriteSet {
    /// `None` = not known.
    keys: Option<Vec<u64>>,
    keys_max: usize,
}

impl WriteSet {
    /// Of a transaction that changes something else than rows with keys.
    pub const UNKNOWN: WriteSet = WriteSet { keys: None, keys_max: 0 };

    /// Of a transaction that has changed nothing yet. 0: it is not asked what it changes.
    pub fn new(keys_max: usize) -> WriteSet {
        WriteSet { keys: (keys_max > 0).then(Vec::new), keys_max }
    }

    /// Whether it is worth while to tell more keys.
    #[inline]
    pub fn is_known(&self) -> bool {
        self.keys.is_some()
    }

    #[inline]
    pub fn add(&mut self, key: u64) {
        match &mut self.keys {
            Some(keys) if keys.len() < self.keys_max => keys.push(key),
            _ => self.keys = None,
        }
    }

    /// Something changed that has no key.
    pub fn forget(&mut self) {
        self.keys = None;
    }

    /// As [`WriteSet::new`], with the memory of the last transaction.
    pub fn begin(&mut self, keys_max: usize) {
        let mut keys = self.keys.take().unwrap_or_default();
        keys.clear();
        *self = WriteSet { keys: (keys_max > 0).then_some(keys), keys_max };
    }
}

/// Keys are hashes already.
#[derive(Default)]
struct AsItIs(u64);

impl Hasher for AsItIs {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _: &[u8]) {
        unreachable!("keys are whole numbers")
    }

    fn write_u64(&mut self, key: u64) {
        self.0 = key;
    }
}

/// The transactions that wrote the keys of late.
#[derive(Default)]
pub struct History {
    newest: HashMap<u64, u64, BuildHasherDefault<AsItIs>>,
    start: u64,
    /// The newest transaction that was told.
    told: u64,
}

impl History {
    /// Transaction `number`, which comes behind all that were told before, wrote these keys. Returns the newest one that
    /// it depends on. `commit_order`: the newest one that had committed before this one had all its locks. The number of a
    /// transaction whose commit failed is told again, of another one.
    pub fn depends_on(&mut self, number: u64, commit_order: u64, writes: &WriteSet, keys_max: usize) -> u64 {
        if number <= self.told {
            // What the failed one wrote hides who wrote it before.
            self.begin_behind(number - 1);
        }
        self.told = number;
        let Some(keys) = &writes.keys else {
            self.begin_behind(number);
            return commit_order;
        };
        let overflows = self.newest.len() + keys.len() > keys_max;
        let mut newest = self.start;
        for key in keys {
            if overflows {
                newest = newest.max(self.newest.get(key).copied().unwrap_or(0));
            } else if let Some(other) = self.newest.insert(*key, number) {
                newest = newest.max(if other < number { other } else { 0 });
            }
        }
        if overflows {
            self.begin_behind(number);
        }
        newest.min(commit_order)
    }

    fn begin_behind(&mut self, number: u64) {
        self.start = number;
        // An empty table costs nothing, which is what a server has that does not ask for keys.
        if !self.newest.is_empty() {
            self.newest.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrote(keys: &[u64]) -> WriteSet {
        let mut writes = WriteSet::new(8);
        keys.iter().for_each(|key| writes.add(*key));
        writes
    }

    #[test]
    fn a_transaction_depends_on_the_newest_that_wrote_one_of_its_keys() {
        let mut history = History::default();
        assert_eq!(history.depends_on(1, 0, &wrote(&[1, 2]), 8), 0);
        assert_eq!(history.depends_on(2, 1, &wrote(&[3]), 8), 0);
        assert_eq!(history.depends_on(3, 2, &wrote(&[2, 2]), 8), 1);
        assert_eq!(history.depends_on(4, 3, &wrote(&[3, 2, 1]), 8), 3);
        // The order of commits may know better.
        assert_eq!(history.depends_on(5, 2, &wrote(&[1]), 8), 2);
    }

    #[test]
    fn what_is_not_known_is_a_wall() {
        let mut history = History::default();
        history.depends_on(1, 0, &wrote(&[1]), 8);
        assert_eq!(history.depends_on(2, 1, &WriteSet::UNKNOWN, 8), 1);
        assert_eq!(history.depends_on(3, 2, &wrote(&[5]), 8), 2);
        let mut writes = wrote(&[6]);
        writes.forget();
        assert_eq!(history.depends_on(4, 3, &writes, 8), 3);
        assert_eq!(history.depends_on(5, 4, &WriteSet::new(0), 8), 4);
        assert_eq!(history.depends_on(6, 5, &wrote(&[7]), 8), 5);
    }

    #[test]
    fn a_failed_commit_hides_nothing() {
        let mut history = History::default();
        history.depends_on(1, 0, &wrote(&[1]), 8);
        history.depends_on(2, 1, &wrote(&[2]), 8);
        history.depends_on(3, 2, &wrote(&[1]), 8);
        assert_eq!(history.depends_on(3, 2, &wrote(&[1]), 8), 2);
        assert_eq!(history.depends_on(4, 3, &wrote(&[1]), 8), 3);
    }

    #[test]
    fn the_history_is_bounded() {
        let mut history = History::default();
        for number in 1..=8 {
            assert_eq!(history.depends_on(number, number - 1, &wrote(&[number]), 8), 0);
        }
        // The ninth key has no room: it still sees what there was, and the history begins behind it.
        assert_eq!(history.depends_on(9, 8, &wrote(&[5, 100]), 8), 5);
        assert_eq!(history.newest.len(), 0);
        assert_eq!(history.depends_on(10, 9, &wrote(&[200]), 8), 9);
        // A transaction of more keys than there may be is not known.
        assert!(!wrote(&[1, 2, 3, 4, 5, 6, 7, 8, 9]).is_known());
    }
}
