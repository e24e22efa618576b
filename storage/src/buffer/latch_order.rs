//! The order of page latches, checked in debug builds. A thread that takes a latch for which it may have to wait holds
//! none that comes later in this order. What a page is, is read from the page itself once it is latched.
//!
//! ```text
//!   tree pages     one table at a time: its secondary indexes before its clustered index
//!                  within a tree from the root down, on a level from left to right
//!   undo pages     after tree pages
//!   segment pages  after the tree pages of the tablespace: page 0, and under its latch descriptors and inodes
//! ```
//!
//! The indexes of a table have rising numbers, the clustered index the lowest.
//!
//! Pages of long values and of undo logs are reached through the row or the transaction that they belong to. A thread
//! that has latched one does not latch page 0 of the tablespace afterwards, so they may come after it.
//!
//! A page that is damaged in what it says of itself looks like another one, and the check fails: damage is tried out in
//! release builds, where the thread finds out what it has latched, and reports it.
//!
//! The order does not matter for a latch that is taken without waiting (`try_latch_*`), nor for a page that is made
//! anew: no other thread can want it.

#[cfg(debug_assertions)]
mod checked {
    use std::cell::{Cell, RefCell};

    use format::ids::{IndexId, PageId, PageNo};
    use format::page::header::{self, PageType};
    use format::page::index;

    /// What a latched page is.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    enum Place {
        Tree { index: IndexId, level: u16, prev: PageNo, next: PageNo },
        Undo,
        Segment,
        Other,
    }

    fn place(page: PageId, bytes: &[u8]) -> Place {
        match header::page_type(bytes) {
            // A damaged page, or one that was never written.
            _ if header::page_no(bytes) != page.page => Place::Other,
            PageType::INDEX => Place::Tree {
                index: index::index_id(bytes),
                level: index::level(bytes),
                prev: header::prev(bytes),
                next: header::next(bytes),
            },
            PageType::UNDO_LOG => Place::Undo,
            PageType::FSP_HDR | PageType::XDES | PageType::INODE => Place::Segment,
            _ => Place::Other,
        }
    }

    thread_local! {
        static LATCHED: RefCell<Vec<(u64, PageId, Place)>> = const { RefCell::new(Vec::new()) };
        static SERIAL: Cell<u64> = const { Cell::new(0) };
    }

    /// A page that this thread has latched; removed from the thread's list when dropped.
    #[derive(Debug)]
    pub struct Latched(u64);

    impl Latched {
        /// A page that no other thread can want, or whose content is not known yet.
        pub fn fresh() -> Latched {
            Latched(0)
        }

        /// A page that was latched without waiting.
        pub fn tried(page: PageId, bytes: &[u8]) -> Latched {
            enter(page, place(page, bytes))
        }

        /// A page for whose latch the thread may have waited.
        pub fn waited(page: PageId, bytes: &[u8]) -> Latched {
            let wanted = place(page, bytes);
            LATCHED.with_borrow(|latched| {
                for (_, held, what) in latched {
                    if let Some(broken) = broken_rule((page, wanted), (*held, *what)) {
                        panic!("latch order: {broken}: {page} {wanted:?} is latched while {held} {what:?} is");
                    }
                }
            });
            enter(page, wanted)
        }
    }

    fn enter(page: PageId, place: Place) -> Latched {
        let serial = SERIAL.get() + 1;
        SERIAL.set(serial);
        LATCHED.with_borrow_mut(|latched| latched.push((serial, page, place)));
        Latched(serial)
    }

    fn broken_rule((page, wanted): (PageId, Place), (held, what): (PageId, Place)) -> Option<&'static str> {
        let Place::Tree { index, level, next, .. } = wanted else { return None };
        match what {
            Place::Segment if page.space == held.space => Some("segment pages come after tree pages"),
            Place::Undo => Some("undo pages come after tree pages"),
            Place::Tree { .. } if page.space != held.space => Some("one table at a time"),
            Place::Tree { index: other, level: below, prev, .. } => {
                let is_left = level == below && (next == held.page || prev == page.page);
                match () {
                    () if index > other => Some("the clustered index comes after secondary ones"),
                    () if index < other => None,
                    () if level > below => Some("a tree is latched from the root down"),
                    () if is_left => Some("a level is latched from left to right"),
                    () => None,
                }
            }
            Place::Segment | Place::Other => None,
        }
    }

    impl Drop for Latched {
        fn drop(&mut self) {
            if self.0 != 0 {
                // The thread-local may be gone when a thread ends with latches in other thread-locals.
                let _ = LATCHED.try_with(|latched| {
                    let mut latched = latched.borrow_mut();
                    if let Some(at) = latched.iter().rposition(|(serial, ..)| *serial == self.0) {
                        latched.swap_remove(at);
                    }
                });
            }
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;
        use format::ids::SpaceId;

        fn tree(index: u64, level: u16, prev: u32, next: u32) -> Place {
            Place::Tree { index: IndexId(index), level, prev: PageNo(prev), next: PageNo(next) }
        }

        #[test]
        fn each_rule_is_noticed() {
            let page = |number| PageId::new(SpaceId(3), PageNo(number));
            let broken = |wanted, held| broken_rule(wanted, held).is_some();
            let root = (page(4), tree(7, 1, 0, 0));
            let (left, right) = ((page(5), tree(7, 0, 0, 6)), (page(6), tree(7, 0, 5, 0)));
            assert!(!broken(left, root) && broken(root, left));
            assert!(!broken(right, left) && broken(left, right));
            let secondary = (page(8), tree(9, 0, 0, 0));
            assert!(!broken(root, secondary) && broken(secondary, root));
            let (header, undo) = ((page(0), Place::Segment), (page(9), Place::Undo));
            assert!(!broken(header, left) && broken(left, header) && !broken((page(2), Place::Segment), header));
            assert!(!broken(undo, left) && broken(left, undo));
            let elsewhere = (PageId::new(SpaceId(8), PageNo(4)), tree(20, 1, 0, 0));
            assert!(!broken(elsewhere, header) && broken(elsewhere, left));
        }

        #[test]
        fn a_page_is_forgotten_when_its_latch_is_released() {
            let mut bytes = vec![0; 4096];
            let id = PageId::new(SpaceId(3), PageNo(0));
            header::init(&mut bytes, id, PageType::FSP_HDR);
            let held = Latched::waited(id, &bytes);
            let mut leaf = vec![0; 4096];
            let leaf_id = PageId::new(SpaceId(3), PageNo(5));
            header::init(&mut leaf, leaf_id, PageType::INDEX);
            drop(Latched::tried(leaf_id, &leaf));
            let refused = std::panic::catch_unwind(|| Latched::waited(leaf_id, &leaf));
            assert!(refused.is_err());
            drop(held);
            drop(Latched::waited(leaf_id, &leaf));
            assert!(LATCHED.with_borrow(Vec::is_empty));
        }
    }
}

#[cfg(not(debug_assertions))]
mod checked {
    use format::ids::PageId;

    #[derive(Debug)]
    pub struct Latched;

    impl Latched {
        #[inline(always)]
        pub fn fresh() -> Latched {
            Latched
        }

        #[inline(always)]
        pub fn tried(_: PageId, _: &[u8]) -> Latched {
            Latched
        }

        #[inline(always)]
        pub fn waited(_: PageId, _: &[u8]) -> Latched {
            Latched
        }
    }
}

pub(super) use checked::Latched;
