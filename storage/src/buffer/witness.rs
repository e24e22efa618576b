//! What a thread latches, for tests that bound the cost of an operation. Debug builds only.

use format::ids::PageId;

#[cfg(debug_assertions)]
thread_local! {
    static SEEN: std::cell::RefCell<Option<Vec<PageId>>> = const { std::cell::RefCell::new(None) };
}

/// A latch of a resident page was taken.
#[inline(always)]
pub(super) fn note(_page: PageId) {
    #[cfg(debug_assertions)]
    SEEN.with_borrow_mut(|seen| {
        if let Some(seen) = seen {
            seen.push(_page);
        }
    });
}

/// Runs something and tells which pages this thread latched meanwhile, each as often as it was latched, in order.
#[cfg(debug_assertions)]
pub fn latched_by<T>(run: impl FnOnce() -> T) -> (T, Vec<PageId>) {
    SEEN.set(Some(Vec::new()));
    let result = run();
    (result, SEEN.take().unwrap_or_default())
}
