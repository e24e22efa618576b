//! Holes that wait until the page before them is durable.
//!
//! ```text
//!   page written shorter --> waiting --- a sync begins ---> syncing --- it ends well ---> punching --> done
//!                              |  ^                            |  |
//!              rewritten       v  |         rewritten          v  | it fails
//!                            (nothing: the writer decides anew)   nothing
//! ```
//!
//! Invariants:
//!
//! * A page whose hole is being punched is not written: its writer waits for the punch, which is a short call.
//! * A page that is punched after a sync was written before the sync began, and not since.

use rustc_hash::FxHashMap;

use crate::sync::{Condvar, Mutex, Rank};

/// See the module header. Pages with the blocks that they need.
pub struct Late {
    state: Mutex<State>,
    punched: Condvar,
}

#[derive(Default)]
struct State {
    waiting: FxHashMap<u32, usize>,
    /// Paired with the sync that covers them.
    syncing: FxHashMap<u32, (usize, Sync)>,
    punching: FxHashMap<u32, usize>,
    syncs: u64,
}

/// Pages whose holes are being punched. After the drop, also by a panic, they may be written again.
pub struct Punching<'l> {
    late: &'l Late,
    /// In order, with the blocks that they need.
    pub pages: Vec<(u32, usize)>,
}

impl Drop for Punching<'_> {
    fn drop(&mut self) {
        if self.pages.is_empty() {
            return;
        }
        let mut state = self.late.state.lock();
        for (page, _) in &self.pages {
            state.punching.remove(page);
        }
        drop(state);
        self.late.punched.notify_all();
    }
}

/// One sync of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sync(u64);

impl Late {
    pub fn new() -> Late {
        Late { state: Mutex::new(Rank::Leaf, State::default()), punched: Condvar::new() }
    }

    /// Called before pages are written, or freed: their pending holes are obsolete.
    pub fn take_back(&self, pages: impl Iterator<Item = u32> + Clone) {
        let mut state = self.state.lock();
        while !state.punching.is_empty() && pages.clone().any(|page| state.punching.contains_key(&page)) {
            self.punched.wait(&mut state);
        }
        if state.waiting.is_empty() && state.syncing.is_empty() {
            return;
        }
        for page in pages {
            state.waiting.remove(&page);
            state.syncing.remove(&page);
        }
    }

    /// Adds pages that have been written, and are shorter now.
    pub fn wait_for_sync(&self, shorter: Vec<(u32, usize)>) {
        if !shorter.is_empty() {
            self.state.lock().waiting.extend(shorter);
        }
    }

    pub fn begin_sync(&self) -> Sync {
        let mut state = self.state.lock();
        state.syncs += 1;
        let sync = Sync(state.syncs);
        let waiting = std::mem::take(&mut state.waiting);
        state.syncing.extend(waiting.into_iter().map(|(page, blocks)| (page, (blocks, sync))));
        sync
    }

    /// The pages whose holes may be punched now. Their writers wait until the result is dropped.
    pub fn end_sync(&self, sync: Sync, durable: bool) -> Punching<'_> {
        let mut state = self.state.lock();
        let of_this = state.syncing.iter().filter(|(_, (_, taken))| *taken == sync);
        let mut pages: Vec<_> = of_this.map(|(page, (blocks, _))| (*page, *blocks)).collect();
        pages.sort_unstable();
        for (page, _) in &pages {
            state.syncing.remove(page);
        }
        if !durable {
            return Punching { late: self, pages: Vec::new() };
        }
        state.punching.extend(pages.iter().copied());
        Punching { late: self, pages }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_that_is_rewritten_keeps_its_end() {
        let late = Late::new();
        late.wait_for_sync(vec![(3, 1), (4, 2), (5, 1)]);
        late.take_back([3].into_iter());
        let first = late.begin_sync();
        late.take_back([4].into_iter());
        late.wait_for_sync(vec![(4, 1)]);
        assert_eq!(late.end_sync(first, true).pages, [(5, 1)]);
        // The punch is over: no writer waits.
        late.take_back([5].into_iter());
        let second = late.begin_sync();
        assert_eq!(late.end_sync(second, false).pages, []);
        assert_eq!(late.end_sync(late.begin_sync(), true).pages, []);
    }
}
