//! The memory that the queries of all sessions keep together.

use std::sync::atomic::{AtomicU64, Ordering};

/// How much is lent.
#[derive(Debug, Default)]
pub struct Budget {
    lent: AtomicU64,
}

impl Budget {
    /// Lends some bytes if no more than `bytes_max` are lent then.
    pub fn lend(&self, bytes: u64, bytes_max: u64) -> bool {
        let more = |lent: u64| lent.checked_add(bytes).filter(|lent| *lent <= bytes_max);
        self.lent.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).is_ok()
    }

    /// Lends what an operator cannot do without.
    pub fn lend_anyway(&self, bytes: u64) {
        self.lent.fetch_add(bytes, Ordering::Relaxed);
    }

    pub fn give_back(&self, bytes: u64) {
        let before = self.lent.fetch_sub(bytes, Ordering::Relaxed);
        debug_assert!(before >= bytes, "no more is given back than was lent");
    }

    pub fn lent_bytes(&self) -> u64 {
        self.lent.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_is_lent_than_there_is() {
        let budget = Budget::default();
        assert!(budget.lend(600, 1000));
        assert!(!budget.lend(401, 1000));
        assert!(budget.lend(400, 1000));
        budget.lend_anyway(50);
        assert!(!budget.lend(0, 1000) && !budget.lend(u64::MAX, u64::MAX));
        budget.give_back(1050);
        assert_eq!(budget.lent_bytes(), 0);
    }

    #[test]
    fn sessions_that_ask_at_once_do_not_get_more_together() {
        let budget = Budget::default();
        let granted = std::thread::scope(|scope| {
            let ask = || (0..1000).filter(|_| budget.lend(7, 10_000)).count();
            let sessions: Vec<_> = (0..4).map(|_| scope.spawn(ask)).collect();
            sessions.into_iter().map(|session| session.join().expect("a session")).sum::<usize>()
        });
        assert_eq!(granted, 10_000 / 7);
    }
}
