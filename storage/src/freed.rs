//! Extents with freed pages, whose blocks are to be returned to the filesystem.
//!
//! A mini-transaction that frees pages registers them at its commit, before it unlatches them. `segment::release` takes
//! their extents from here, once the checkpoint has passed that commit, and punches their free pages.
//!
//! ```text
//!   free page 17 (LSN 8431) --> extent 0 waits for 8431
//!   free page 20 (LSN 9110) --> extent 0 waits for 9110 --> checkpoint beyond 9110? which pages are free? --> punch
//! ```
//!
//! Why wait for the checkpoint: until then recovery would apply older changes to the page, and find it empty; and until
//! the log durably says that the page is free, a crash may find it in use. From then on the log begins behind both,
//! and a page that is used again is first made anew.
//!
//! The queue lives in memory only. What a crash loses, recovery finds again in the tablespaces that the log names
//! ([`Freed::survey`]).
//!
//! Invariant: an extent with a page whose freeing the checkpoint has not passed is here. So an extent that was taken
//! and is not here when page 0 is latched has no such page, however often its pages have been used and freed again.
//!
//! Not here: whether a page is free. Only its descriptor says so, under its latch.

use std::collections::{BTreeSet, VecDeque};
use std::ops::Range;

use format::ids::{Lsn, SpaceId};
use rustc_hash::FxHashMap;

use crate::sync::{Counter, Mutex, Rank};

/// An extent of a tablespace, by the number of extents before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Extent {
    pub space: SpaceId,
    pub number: u32,
}

/// See the module header.
pub struct Freed {
    extent_pages: u32,
    waiting: Mutex<Waiting>,
    /// Bytes given back so far.
    pub bytes_released: Counter,
}

#[derive(Default)]
struct Waiting {
    /// The end of the newest mini-transaction that has freed pages there.
    extents: FxHashMap<Extent, Lsn>,
    order: BTreeSet<(Lsn, Extent)>,
    /// Tablespaces all of whose extents are examined, once the checkpoint has passed an LSN.
    surveys: VecDeque<(Lsn, SpaceId, Range<u32>)>,
}

impl Waiting {
    fn survey(&mut self, checkpoint: Lsn) -> Option<Extent> {
        while let Some((lsn, space, extents)) = self.surveys.front_mut() {
            if *lsn > checkpoint {
                return None;
            }
            let space = *space;
            let Some(number) = extents.next() else {
                self.surveys.pop_front();
                continue;
            };
            let extent = Extent { space, number };
            // Otherwise the extent is queued by itself.
            if !self.extents.contains_key(&extent) {
                return Some(extent);
            }
        }
        None
    }
}

impl Freed {
    /// For tablespaces whose extents have so many pages.
    pub fn new(extent_pages: u32) -> Freed {
        let waiting = Mutex::new(Rank::Leaf, Waiting::default());
        Freed { extent_pages, waiting, bytes_released: Counter::default() }
    }

    /// Pages freed by a mini-transaction that ended at `lsn` and still holds its latches.
    pub fn add(&self, freed: &[(SpaceId, Range<u32>)], lsn: Lsn) {
        let mut waiting = self.waiting.lock();
        for (space, pages) in freed {
            for number in pages.start / self.extent_pages..pages.end.div_ceil(self.extent_pages) {
                let extent = Extent { space: *space, number };
                if let Some(older) = waiting.extents.insert(extent, lsn) {
                    waiting.order.remove(&(older, extent));
                }
                waiting.order.insert((lsn, extent));
            }
        }
    }

    /// All pages of a tablespace: it is unknown which of them were freed before `lsn`.
    pub fn survey(&self, space: SpaceId, pages: u32, lsn: Lsn) {
        self.waiting.lock().surveys.push_back((lsn, space, 0..pages.div_ceil(self.extent_pages)));
    }

    /// The extent that has waited longest, if the checkpoint has passed all that was freed there.
    pub fn take(&self, checkpoint: Lsn) -> Option<Extent> {
        let mut waiting = self.waiting.lock();
        if let Some(extent) = waiting.survey(checkpoint) {
            return Some(extent);
        }
        let &(lsn, extent) = waiting.order.first()?;
        if lsn > checkpoint {
            return None;
        }
        waiting.order.pop_first();
        waiting.extents.remove(&extent);
        Some(extent)
    }

    /// Whether an extent that was taken is queued again.
    pub fn waits(&self, extent: Extent) -> bool {
        self.waiting.lock().extents.contains_key(&extent)
    }

    /// Whether `take` may have something to give.
    pub fn is_ready(&self, checkpoint: Lsn) -> bool {
        let waiting = self.waiting.lock();
        let oldest = waiting.order.first().map(|(lsn, _)| *lsn);
        let survey = waiting.surveys.front().map(|(lsn, ..)| *lsn);
        oldest.into_iter().chain(survey).any(|lsn| lsn <= checkpoint)
    }

    pub fn is_empty(&self) -> bool {
        let waiting = self.waiting.lock();
        waiting.order.is_empty() && waiting.surveys.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn extent(space: u32, number: u32) -> Extent {
        Extent { space: SpaceId(space), number }
    }

    #[test]
    fn an_extent_waits_for_the_newest_of_its_pages() {
        let freed = Freed::new(64);
        freed.add(&[(SpaceId(1), 5..6), (SpaceId(1), 63..65), (SpaceId(2), 7..8)], Lsn(10));
        freed.add(&[(SpaceId(2), 6..7)], Lsn(20));
        assert_eq!((freed.take(Lsn(9)), freed.is_ready(Lsn(9))), (None, false));
        assert_eq!(freed.take(Lsn(10)), Some(extent(1, 0)));
        freed.add(&[(SpaceId(1), 5..6)], Lsn(30));
        assert!(freed.waits(extent(1, 0)), "freed again since it was taken");
        assert_eq!(freed.take(Lsn(10)), Some(extent(1, 1)));
        assert_eq!((freed.take(Lsn(10)), freed.is_ready(Lsn(20))), (None, true));
        assert_eq!(freed.take(Lsn(20)), Some(extent(2, 0)));
        assert_eq!(freed.take(Lsn(30)), Some(extent(1, 0)));
        assert!(freed.is_empty());
    }

    #[test]
    fn a_survey_leaves_out_what_has_been_freed_since() {
        let freed = Freed::new(64);
        freed.survey(SpaceId(1), 129, Lsn(100));
        freed.add(&[(SpaceId(1), 70..71)], Lsn(200));
        assert_eq!(freed.take(Lsn(99)), None);
        let taken: Vec<_> = std::iter::from_fn(|| freed.take(Lsn(100))).collect();
        assert_eq!(taken, [extent(1, 0), extent(1, 2)]);
        assert_eq!(freed.take(Lsn(200)), Some(extent(1, 1)));
        assert!(freed.is_empty());
    }
}
