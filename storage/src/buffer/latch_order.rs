//! The order of page latches, checked in debug builds: a thread that takes a latch for which it may have to wait holds none
//! to the right of it on the same level of the same tree. What a page is, is read from the page itself, once it is latched.
//!
//! A latch that is taken without waiting (`try_latch`), or of a page that is made anew and that nobody else can want, needs
//! no order.

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
        Other,
    }

    fn place(page: PageId, bytes: &[u8]) -> Place {
        match header::page_type(bytes) {
            // What was here before has gone, or comes first.
            _ if header::page_no(bytes) != page.page => Place::Other,
            PageType::INDEX => Place::Tree {
                index: index::index_id(bytes),
                level: index::level(bytes),
                prev: header::prev(bytes),
                next: header::next(bytes),
            },
            _ => Place::Other,
        }
    }

    thread_local! {
        static LATCHED: RefCell<Vec<(u64, PageId, Place)>> = const { RefCell::new(Vec::new()) };
        static SERIAL: Cell<u64> = const { Cell::new(0) };
    }

    /// A page that this thread has latched; forgotten when dropped.
    #[derive(Debug)]
    pub struct Latched(u64);

    impl Latched {
        /// A page that nobody else can want, or whose content is not known yet.
        pub fn fresh() -> Latched {
            Latched(0)
        }

        /// A page that was latched without waiting.
        pub fn tried(page: Option<PageId>, bytes: &[u8]) -> Latched {
            page.map_or(Latched(0), |page| enter(page, place(page, bytes)))
        }

        /// A page whose latch may have been waited for.
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
        if page == held {
            return None;
        }
        match (wanted, what) {
            (Place::Tree { index, level, next, .. }, Place::Tree { index: other, level: below, prev, .. })
                if (index, level, page.space) == (other, below, held.space) =>
            {
                let is_left = next == held.page || prev == page.page;
                is_left.then_some("a level is latched from left to right")
            }
            _ => None,
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

        fn tree(level: u16, prev: u32, next: u32) -> Place {
            Place::Tree { index: IndexId(7), level, prev: PageNo(prev), next: PageNo(next) }
        }

        #[test]
        fn a_latch_from_right_to_left_is_noticed() {
            let page = |number| PageId::new(SpaceId(3), PageNo(number));
            let broken = |wanted, held| broken_rule(wanted, held).is_some();
            let (root, left, right) = ((page(4), tree(1, 0, 0)), (page(5), tree(0, 0, 6)), (page(6), tree(0, 5, 0)));
            assert!(!broken(left, root) && !broken(right, left) && broken(left, right));
            // Elsewhere: another tablespace.
            assert!(!broken((PageId::new(SpaceId(8), PageNo(5)), tree(0, 0, 6)), right));
        }

        #[test]
        fn a_page_is_forgotten_when_its_latch_goes() {
            let leaf = |number: u32, prev: u32, next: u32| {
                let mut bytes = vec![0; 4096];
                let id = PageId::new(SpaceId(3), PageNo(number));
                header::init(&mut bytes, id, PageType::INDEX);
                bytes[8..12].copy_from_slice(&prev.to_be_bytes());
                bytes[12..16].copy_from_slice(&next.to_be_bytes());
                (id, bytes)
            };
            let ((left, left_bytes), (right, right_bytes)) = (leaf(5, u32::MAX, 6), leaf(6, 5, u32::MAX));
            let held = Latched::waited(right, &right_bytes);
            drop(Latched::tried(Some(left), &left_bytes));
            let refused = std::panic::catch_unwind(|| Latched::waited(left, &left_bytes));
            assert!(refused.is_err());
            drop(held);
            drop(Latched::waited(left, &left_bytes));
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
        pub fn tried(_: Option<PageId>, _: &[u8]) -> Latched {
            Latched
        }

        #[inline(always)]
        pub fn waited(_: PageId, _: &[u8]) -> Latched {
            Latched
        }
    }
}

pub(super) use checked::Latched;
