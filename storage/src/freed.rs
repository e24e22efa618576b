//! Pages that were freed inside a tablespace, and wait to give their blocks back.
//!
//! A mini-transaction that frees pages tells so when it commits; `segment::release` takes them from here, once the
//! checkpoint has passed that commit, and punches them.
//!
//! ```text
//!   free page 17 (LSN 8431) --> queue --> checkpoint beyond 8431? free still? --> punch
//! ```
//!
//! Why wait for the checkpoint: until then recovery would apply the changes of before to the page, and find it empty.
//! From then on the log begins behind them, and a page that is used again is first made anew.
//!
//! The queue lives in memory only. What a crash makes it forget, a recovery finds again in the tablespaces that the log
//! speaks of ([`Freed::survey`]).
//!
//! Not here: whether a page is free. Only its descriptor knows, under its latch.

use std::collections::VecDeque;
use std::ops::Range;

use format::ids::{Lsn, SpaceId};

use crate::sync::{Counter, Mutex, Rank};

/// Pages of a tablespace that were free at some time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FreedPages {
    pub space: SpaceId,
    pub pages: Range<u32>,
    /// The end of the mini-transaction that freed them.
    pub lsn: Lsn,
}

/// See the module header.
pub struct Freed {
    queue: Mutex<VecDeque<FreedPages>>,
    /// Bytes given back so far.
    pub bytes_released: Counter,
}

impl Default for Freed {
    fn default() -> Freed {
        Freed { queue: Mutex::new(Rank::Leaf, VecDeque::new()), bytes_released: Counter::default() }
    }
}

impl Freed {
    /// Pages freed by a mini-transaction that ended at `lsn`.
    pub fn add(&self, freed: &[(SpaceId, Range<u32>)], lsn: Lsn) {
        let mut queue = self.queue.lock();
        for (space, pages) in freed {
            // A tree that shrinks frees neighbours, one after the other.
            if let Some(last) = queue.back_mut()
                && last.space == *space
                && (last.pages.end == pages.start || pages.end == last.pages.start)
            {
                last.pages = last.pages.start.min(pages.start)..last.pages.end.max(pages.end);
                last.lsn = last.lsn.max(lsn);
                continue;
            }
            queue.push_back(FreedPages { space: *space, pages: pages.clone(), lsn });
        }
    }

    /// All pages of a tablespace: nobody knows which of them were freed before `lsn`.
    pub fn survey(&self, space: SpaceId, pages: u32, lsn: Lsn) {
        self.queue.lock().push_back(FreedPages { space, pages: 0..pages, lsn });
    }

    /// The oldest, if the checkpoint has passed it.
    pub fn take(&self, checkpoint: Lsn) -> Option<FreedPages> {
        let mut queue = self.queue.lock();
        if queue.front()?.lsn <= checkpoint { queue.pop_front() } else { None }
    }

    /// What is left of one that was taken.
    pub fn put_back(&self, rest: FreedPages) {
        self.queue.lock().push_front(rest);
    }

    /// Whether `take` has something to give.
    pub fn is_ready(&self, checkpoint: Lsn) -> bool {
        self.queue.lock().front().is_some_and(|freed| freed.lsn <= checkpoint)
    }

    pub fn waiting(&self) -> usize {
        self.queue.lock().len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_become_one_and_wait_for_the_newest() {
        let freed = Freed::default();
        freed.add(&[(SpaceId(1), 5..6), (SpaceId(1), 6..7), (SpaceId(2), 7..8)], Lsn(10));
        freed.add(&[(SpaceId(2), 6..7)], Lsn(20));
        assert_eq!(freed.take(Lsn(9)), None);
        assert_eq!(freed.take(Lsn(10)), Some(FreedPages { space: SpaceId(1), pages: 5..7, lsn: Lsn(10) }));
        assert_eq!(freed.take(Lsn(10)), None);
        assert_eq!(freed.take(Lsn(20)), Some(FreedPages { space: SpaceId(2), pages: 6..8, lsn: Lsn(20) }));
        assert_eq!(freed.waiting(), 0);
    }
}
