//! Page stamps: they tell tablespaces that are older than the redo log.
//!
//! A checkpoint contains the LSNs that some pages have in their tablespaces. A page's LSN never falls, so a page that is
//! found with a smaller one comes from an earlier time: somebody has put files of an older backup under this log. The
//! log before the checkpoint, which could bring them up to date, is gone. The stamped pages are those that most
//! transactions change: of the transaction system and of the rollback segments (`recovery::mismatch`).
//!
//! Which LSN does a page have on disk? A checkpoint at LSN c says that every change that begins before c is in the
//! tablespaces. A page's LSN is the end of its last change. So a page that was seen with LSN p in the buffer pool is on
//! disk with p, or with more, when c >= p:
//!
//! ```text
//!   page:         seen at p1              seen at p2
//!   checkpoints:      c1 < p1      c2 >= p1          c3 < p2
//!   stamp:            older        p1, look again    p1
//! ```
//!
//! A page that changes all the time is stamped as well, one or two checkpoints late. The first change of each run is to a
//! stamped page, and its LSN is told at once ([`Stamps::saw`]), even if the page leaves the pool before a checkpoint:
//! either the first checkpoint behind it tells tablespaces of earlier runs, or the log still has all changes of this run.

use std::sync::Arc;

use format::ids::{Lsn, PageId};

use crate::sync::{Mutex, Rank};

/// A page has this LSN on disk, or a larger one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageStamp {
    pub page: PageId,
    pub lsn: Lsn,
}

/// The most stamps that a checkpoint has room for; each of 128 rollback segments has one.
pub const STAMPS_MAX: usize = 200;

/// The stamped pages of an open instance. See the module header.
pub struct Stamps {
    pages: Mutex<Vec<Tracked>>,
}

#[derive(Clone, Copy)]
struct Tracked {
    page: PageId,
    durable: Lsn,
    /// The LSN that the page had when it was last looked at: `durable`, once a checkpoint has reached it.
    seen: Lsn,
}

impl Stamps {
    /// Continues with the stamps of a checkpoint.
    pub fn new(found: &[PageStamp]) -> Stamps {
        let tracked = found.iter().map(|stamp| Tracked { page: stamp.page, durable: stamp.lsn, seen: stamp.lsn });
        Stamps { pages: Mutex::new(Rank::Leaf, tracked.collect()) }
    }

    /// Stamps these pages, too.
    pub fn track(&self, pages: &[PageId]) {
        let mut tracked = self.pages.lock();
        for &page in pages {
            if tracked.len() < STAMPS_MAX && tracked.iter().all(|known| known.page != page) {
                tracked.push(Tracked { page, durable: Lsn::ZERO, seen: Lsn::ZERO });
            }
        }
    }

    /// A stamped page has been changed, and has this LSN now.
    pub fn saw(&self, page: PageId, lsn: Lsn) {
        for tracked in self.pages.lock().iter_mut().filter(|tracked| tracked.page == page) {
            // An LSN that no checkpoint has reached yet comes first.
            if tracked.seen == tracked.durable {
                tracked.seen = tracked.seen.max(lsn);
            }
        }
    }

    /// Every change that begins before `checkpoint` is in the tablespaces. `lsn_of`: the present LSN of a page, if it
    /// is known.
    pub fn advance(&self, checkpoint: Lsn, lsn_of: impl Fn(PageId) -> Option<Lsn>) {
        let pages: Vec<PageId> = self.pages.lock().iter().map(|tracked| tracked.page).collect();
        let looks: Vec<Option<Lsn>> = pages.into_iter().map(lsn_of).collect();
        for (tracked, look) in self.pages.lock().iter_mut().zip(looks) {
            if tracked.seen > checkpoint {
                continue;
            }
            // Another thread may have looked later.
            let seen = tracked.seen.max(look.unwrap_or(Lsn::ZERO));
            tracked.durable = if seen <= checkpoint { seen } else { tracked.seen };
            tracked.seen = seen;
        }
    }

    /// What the next checkpoint contains.
    pub fn durable(&self) -> Arc<[PageStamp]> {
        let tracked = self.pages.lock();
        let known = tracked.iter().filter(|tracked| tracked.durable > Lsn::ZERO);
        known.map(|tracked| PageStamp { page: tracked.page, lsn: tracked.durable }).collect()
    }
}

#[cfg(test)]
mod tests {
    use format::ids::{PageNo, SpaceId};

    use super::*;

    #[test]
    fn a_page_is_stamped_with_an_lsn_that_a_checkpoint_has_passed() {
        let page = PageId::new(SpaceId(0), PageNo(5));
        let stamps = Stamps::new(&[]);
        stamps.track(&[page, page]);
        let mut seen = Vec::new();
        for (checkpoint, lsn) in [(100, None), (100, Some(150)), (140, Some(160)), (155, Some(300)), (400, Some(390))] {
            stamps.advance(Lsn(checkpoint), |_| lsn.map(Lsn));
            seen.push(stamps.durable().iter().map(|stamp| stamp.lsn.0).collect::<Vec<_>>());
        }
        assert_eq!(seen, [vec![], vec![], vec![], vec![150], vec![390]]);
    }

    #[test]
    fn the_first_change_of_a_run_is_stamped_even_if_its_page_is_not_resident() {
        let page = PageId::new(SpaceId(0), PageNo(5));
        let stamps = Stamps::new(&[PageStamp { page, lsn: Lsn(50) }]);
        let durable = || stamps.durable()[0].lsn.0;
        stamps.saw(page, Lsn(120));
        stamps.saw(page, Lsn(180));
        stamps.advance(Lsn(100), |_| None);
        assert_eq!(durable(), 50);
        stamps.advance(Lsn(130), |_| None);
        assert_eq!(durable(), 120);
    }
}
