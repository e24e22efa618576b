//! The flush list: which frames are dirty, which pages are being written, and which are written but not durable yet.
//!
//! ```text
//!   listed (oldest LSN first)        batches              written             syncing
//!   head [12] [15] [15] [20] tail    cleaner 0: 11        cleaner 0: 8        7
//!                                    cleaner 1: -         cleaner 1: 9
//!          \______________________________\___________________\_________________/
//!                         the checkpoint is the smallest of all: 7
//! ```
//!
//! A sync covers the pages of all cleaners, so that each tablespace is synced once however many cleaners wrote to it,
//! and no cleaner stops writing meanwhile. Pages written before it begins move from `written` to `syncing`, and are
//! durable when it ends. A round of syncs that fails never ends: the pages that it covers hold the checkpoint for ever.
//!
//! Each cleaner has two doublewrite files. Batches go to one of them until a sync begins; then batches go to the other
//! (if it is clean), and the first may be overwritten when the sync is over. Only a cleaner whose files are both in use
//! waits.
//!
//! Invariants:
//!
//! * The list holds exactly the dirty frames, in the order of their oldest LSN.
//! * A doublewrite file is clean only if a sync has covered all its batches *and* none can be appended to it meanwhile.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use format::ids::{Lsn, SpaceId};
use rustc_hash::FxHashMap;

use super::frame::Frames;
use crate::tablespace::Tablespace;

const NONE: u32 = u32::MAX;

/// The dirty frames in the order of their oldest LSN, and the pages being written or synced.
pub struct FlushList {
    links: Vec<(u32, u32)>,
    head: u32,
    tail: u32,
    /// Other threads read it without the list's mutex.
    count: Arc<AtomicUsize>,
    /// The listed frames of each tablespace, in no order: to write one tablespace without scanning the whole list.
    of_space: FxHashMap<SpaceId, u32>,
    space_links: Vec<SpaceLink>,
    unsynced_of: Vec<Unsynced>,
    /// The oldest LSN of the pages that the current round of syncs covers; `None` if there is no round.
    syncing: Option<Lsn>,
}

/// A round of syncs. The next one cannot begin before [`FlushList::end_sync`].
#[must_use]
pub struct SyncRound {
    /// Each once.
    pub spaces: Vec<Arc<Tablespace>>,
}

/// A listed frame among those of its tablespace.
#[derive(Clone, Copy)]
struct SpaceLink {
    space: SpaceId,
    prev: u32,
    next: u32,
}

/// The tablespace of frames that are not listed.
const NO_SPACE: SpaceId = SpaceId(u32::MAX);

/// Pages that one flusher has taken from the list and no sync has covered.
struct Unsynced {
    /// The oldest LSN of the batch being written.
    batch: Lsn,
    /// The doublewrite file of the batch being written.
    batch_file: Option<usize>,
    /// The oldest LSN of the batches written.
    written: Lsn,
    /// The tablespaces that they were written to.
    spaces: Vec<Arc<Tablespace>>,
    files: [FileState; 2],
    /// The doublewrite file that batches go to.
    current: usize,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum FileState {
    /// Its content is not needed.
    Clean,
    /// It holds copies of pages that are not synced.
    Needed,
    /// As `Needed`; the current sync makes it clean.
    Syncing,
}

impl Unsynced {
    fn none() -> Unsynced {
        Unsynced {
            batch: Lsn::MAX,
            batch_file: None,
            written: Lsn::MAX,
            spaces: Vec::new(),
            files: [FileState::Clean; 2],
            current: 0,
        }
    }
}

impl FlushList {
    pub fn new(frames: usize) -> FlushList {
        FlushList {
            links: vec![(NONE, NONE); frames],
            head: NONE,
            tail: NONE,
            count: Arc::default(),
            of_space: FxHashMap::default(),
            space_links: vec![SpaceLink { space: NO_SPACE, prev: NONE, next: NONE }; frames],
            unsynced_of: Vec::new(),
            syncing: None,
        }
    }

    /// Registers another flusher; returns its number.
    pub fn add_flusher(&mut self) -> usize {
        self.unsynced_of.push(Unsynced::none());
        self.unsynced_of.len() - 1
    }

    /// Appends a clean frame. LSNs rise, so it belongs at the tail. A frame that a failed batch has put back meanwhile
    /// stays where it is, with its older LSN (`a_frame_put_back_is_not_listed_twice`).
    pub fn push(&mut self, frames: &Frames, index: u32, oldest: Lsn) {
        if frames.header(index).is_dirty() {
            return;
        }
        self.insert_after(frames, self.tail, index);
        frames.header(index).set_oldest_lsn(Some(oldest));
    }

    /// Puts a frame, dirty or not, in front of all: a page that recovery brought up is as old as the checkpoint.
    pub fn put_first(&mut self, frames: &Frames, index: u32, oldest: Lsn) {
        debug_assert!(self.oldest_listed(frames).is_none_or(|first| oldest <= first), "nothing is older");
        self.remove(frames, index);
        self.insert_after(frames, NONE, index);
        frames.header(index).set_oldest_lsn(Some(oldest));
    }

    /// Puts a frame back whose page could not be written.
    pub fn put_back(&mut self, frames: &Frames, index: u32, oldest: Lsn) {
        self.remove(frames, index);
        let mut after = NONE;
        let mut next = self.head;
        while next != NONE && frames.header(next).oldest_lsn().is_some_and(|lsn| lsn < oldest) {
            after = next;
            next = self.links[next as usize].1;
        }
        self.insert_after(frames, after, index);
        frames.header(index).set_oldest_lsn(Some(oldest));
    }

    fn insert_after(&mut self, frames: &Frames, after: u32, index: u32) {
        self.link_to_space(frames.header(index).page().map_or(NO_SPACE, |page| page.space), index);
        let next = if after == NONE { self.head } else { self.links[after as usize].1 };
        self.links[index as usize] = (after, next);
        match after {
            NONE => self.head = index,
            after => self.links[after as usize].1 = index,
        }
        match next {
            NONE => self.tail = index,
            next => self.links[next as usize].0 = index,
        }
        self.count.fetch_add(1, Ordering::Relaxed);
    }

    fn link_to_space(&mut self, space: SpaceId, index: u32) {
        let next = self.of_space.insert(space, index).unwrap_or(NONE);
        self.space_links[index as usize] = SpaceLink { space, prev: NONE, next };
        if next != NONE {
            self.space_links[next as usize].prev = index;
        }
    }

    fn unlink_from_space(&mut self, index: u32) {
        let SpaceLink { space, prev, next } = self.space_links[index as usize];
        if next != NONE {
            self.space_links[next as usize].prev = prev;
        }
        if prev != NONE {
            self.space_links[prev as usize].next = next;
        } else if next != NONE {
            self.of_space.insert(space, next);
        } else {
            self.of_space.remove(&space);
        }
    }

    /// Whether a frame of the tablespace is listed.
    pub fn has_space(&self, space: SpaceId) -> bool {
        self.of_space.contains_key(&space)
    }

    /// The listed frames of a tablespace, in no order.
    pub fn of_space(&self, space: SpaceId) -> impl Iterator<Item = u32> {
        let listed = |index: u32| (index != NONE).then_some(index);
        let first = self.of_space.get(&space).copied();
        std::iter::successors(first, move |index| listed(self.space_links[*index as usize].next))
    }

    /// The listed frames, the one with the oldest LSN first.
    pub fn oldest_first(&self) -> impl Iterator<Item = u32> {
        std::iter::successors(self.first(), |index| self.next(*index))
    }

    /// Removes a frame, if it is listed: it is clean then. Returns its oldest LSN.
    pub fn remove(&mut self, frames: &Frames, index: u32) -> Option<Lsn> {
        let oldest = frames.header(index).oldest_lsn()?;
        let (prev, next) = self.links[index as usize];
        match prev {
            NONE => self.head = next,
            prev => self.links[prev as usize].1 = next,
        }
        match next {
            NONE => self.tail = prev,
            next => self.links[next as usize].0 = prev,
        }
        self.count.fetch_sub(1, Ordering::Relaxed);
        self.unlink_from_space(index);
        frames.header(index).set_oldest_lsn(None);
        Some(oldest)
    }

    /// How many frames are listed, for readers that need not be exact.
    pub fn count(&self) -> Arc<AtomicUsize> {
        self.count.clone()
    }

    /// The first frame that is listed.
    pub fn first(&self) -> Option<u32> {
        (self.head != NONE).then_some(self.head)
    }

    /// The frame behind a listed one.
    pub fn next(&self, index: u32) -> Option<u32> {
        let next = self.links[index as usize].1;
        (next != NONE).then_some(next)
    }

    /// The oldest LSN of the listed frames.
    pub fn oldest_listed(&self, frames: &Frames) -> Option<Lsn> {
        (self.head != NONE).then(|| frames.header(self.head).oldest_lsn().expect("listed frames are dirty"))
    }

    /// The oldest LSN that is not durable in its tablespace.
    pub fn oldest_lsn(&self, frames: &Frames) -> Option<Lsn> {
        let listed = self.oldest_listed(frames).unwrap_or(Lsn::MAX);
        let owed = self.unsynced_of.iter().map(|unsynced| unsynced.batch.min(unsynced.written));
        owed.chain([listed, self.syncing.unwrap_or(Lsn::MAX)]).min().filter(|&lsn| lsn != Lsn::MAX)
    }

    // Batches

    /// Removes a dirty frame for a flusher's batch. Returns its oldest LSN.
    pub fn take(&mut self, frames: &Frames, index: u32, flusher: usize) -> Option<Lsn> {
        let oldest = self.remove(frames, index)?;
        let batch = &mut self.unsynced_of[flusher].batch;
        *batch = (*batch).min(oldest);
        Some(oldest)
    }

    /// Which doublewrite file the flusher's batch goes to, and whether it is clean so far. From here on the file is
    /// needed, up to the sync after [`FlushList::end_batch`].
    pub fn begin_batch(&mut self, flusher: usize) -> (usize, bool) {
        let unsynced = &mut self.unsynced_of[flusher];
        let was_clean = unsynced.files[unsynced.current] == FileState::Clean;
        unsynced.files[unsynced.current] = FileState::Needed;
        unsynced.batch_file = Some(unsynced.current);
        (unsynced.current, was_clean)
    }

    /// The file that `begin_batch` named is full: the batch waits for a sync, and then goes to the other file.
    pub fn leave_file(&mut self, flusher: usize) {
        self.unsynced_of[flusher].batch_file = None;
    }

    /// The batch has been written, or part of it: `failed` if all of its frames have been put back into the list.
    pub fn end_batch<'a>(&mut self, flusher: usize, spaces: impl Iterator<Item = &'a Arc<Tablespace>>, failed: bool) {
        let unsynced = &mut self.unsynced_of[flusher];
        if !failed {
            unsynced.written = unsynced.written.min(unsynced.batch);
        }
        unsynced.batch = Lsn::MAX;
        unsynced.batch_file = None;
        for space in spaces {
            if !unsynced.spaces.iter().any(|known| Arc::ptr_eq(known, space)) {
                unsynced.spaces.push(space.clone());
            }
        }
    }

    // Rounds of syncs, one at a time

    /// The tablespaces to sync. Pages written later belong to the next round. `None` while a round has not ended,
    /// because it still runs or has failed.
    pub fn begin_sync(&mut self) -> Option<SyncRound> {
        if self.syncing.is_some() {
            return None;
        }
        let mut spaces: Vec<Arc<Tablespace>> = Vec::new();
        let mut oldest = Lsn::MAX;
        for unsynced in &mut self.unsynced_of {
            oldest = oldest.min(unsynced.written);
            unsynced.written = Lsn::MAX;
            for space in unsynced.spaces.drain(..) {
                if !spaces.iter().any(|known| Arc::ptr_eq(known, &space)) {
                    spaces.push(space);
                }
            }
            if unsynced.files[unsynced.current ^ 1] == FileState::Clean
                && unsynced.files[unsynced.current] == FileState::Needed
            {
                unsynced.current ^= 1;
            }
            for (index, file) in unsynced.files.iter_mut().enumerate() {
                let may_grow = index == unsynced.current || unsynced.batch_file == Some(index);
                if *file == FileState::Needed && !may_grow {
                    *file = FileState::Syncing;
                }
            }
        }
        self.syncing = Some(oldest);
        Some(SyncRound { spaces })
    }

    /// All tablespaces of the round are synced.
    pub fn end_sync(&mut self, _: SyncRound) {
        self.syncing = None;
        for unsynced in &mut self.unsynced_of {
            for file in &mut unsynced.files {
                if *file == FileState::Syncing {
                    *file = FileState::Clean;
                }
            }
        }
    }

    /// Whether any page is written and not synced.
    pub fn owes_sync(&self) -> bool {
        self.unsynced_of.iter().any(|unsynced| !unsynced.spaces.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use format::ids::{PageId, PageNo};

    use super::*;

    #[test]
    fn the_flush_list_keeps_the_order_of_lsns() {
        let frames = Frames::new(5, 4096).unwrap();
        let mut list = FlushList::new(5);
        list.add_flusher();
        assert_eq!(list.oldest_lsn(&frames), None);
        for (index, lsn) in [(3, 10), (1, 20), (4, 20), (0, 30)] {
            list.push(&frames, index, Lsn(lsn));
        }
        assert_eq!(list.remove(&frames, 3), Some(Lsn(10)));
        assert_eq!(list.remove(&frames, 3), None);
        assert_eq!(list.oldest_lsn(&frames), Some(Lsn(20)));
        list.put_back(&frames, 3, Lsn(25));
        list.put_back(&frames, 0, Lsn(5));
        assert_eq!(list.oldest_lsn(&frames), Some(Lsn(5)));
        let mut order = Vec::new();
        while let Some(first) = list.first() {
            order.push(first);
            list.remove(&frames, first);
        }
        assert_eq!(order, [0, 1, 4, 3]);
    }

    #[test]
    fn a_frame_put_back_is_not_listed_twice() {
        let frames = Frames::new(2, 4096).unwrap();
        let mut list = FlushList::new(2);
        let flusher = list.add_flusher();
        list.push(&frames, 0, Lsn(10));
        list.push(&frames, 1, Lsn(20));
        list.take(&frames, 0, flusher);
        // A mini-transaction has found the frame clean; before it enters the frame, the batch fails.
        list.put_back(&frames, 0, Lsn(10));
        list.push(&frames, 0, Lsn(30));
        assert_eq!(list.oldest_first().take(5).collect::<Vec<_>>(), [0, 1]);
        assert_eq!((list.oldest_lsn(&frames), list.count().load(Ordering::Relaxed)), (Some(Lsn(10)), 2));
    }

    #[test]
    fn the_frames_of_a_tablespace_are_found_without_the_others() {
        let frames = Frames::new(6, 4096).unwrap();
        let mut list = FlushList::new(6);
        for index in 0..6 {
            let page = PageId::new(SpaceId(index % 3), PageNo(index));
            frames.latch_free(index).set_page(Some(page));
            list.push(&frames, index, Lsn(10 + u64::from(index)));
        }
        let of = |list: &FlushList, space| {
            let mut frames: Vec<u32> = list.of_space(SpaceId(space)).collect();
            frames.sort_unstable();
            frames
        };
        assert_eq!((of(&list, 0), of(&list, 1), of(&list, 7)), (vec![0, 3], vec![1, 4], vec![]));
        list.remove(&frames, 3);
        list.put_first(&frames, 1, Lsn(1));
        assert_eq!((of(&list, 0), of(&list, 1)), (vec![0], vec![1, 4]));
        list.remove(&frames, 0);
        assert!(!list.has_space(SpaceId(0)) && list.has_space(SpaceId(1)));
        list.put_back(&frames, 0, Lsn(10));
        assert_eq!(of(&list, 0), [0]);
    }

    #[test]
    fn what_is_taken_holds_the_checkpoint_back_until_a_sync_that_began_later_is_over() {
        let frames = Frames::new(4, 4096).unwrap();
        let mut list = FlushList::new(4);
        let (one, two) = (list.add_flusher(), list.add_flusher());
        for (index, lsn) in [(0, 10), (1, 20), (2, 30)] {
            list.push(&frames, index, Lsn(lsn));
        }
        list.take(&frames, 0, one);
        list.take(&frames, 1, two);
        assert_eq!(list.oldest_lsn(&frames), Some(Lsn(10)));
        list.end_batch(one, std::iter::empty(), false);
        let round = list.begin_sync().unwrap();
        list.end_batch(two, std::iter::empty(), false);
        assert_eq!(list.oldest_lsn(&frames), Some(Lsn(10)));
        list.end_sync(round);
        assert_eq!(list.oldest_lsn(&frames), Some(Lsn(20)));
        let round = list.begin_sync().unwrap();
        list.end_sync(round);
        assert_eq!(list.oldest_lsn(&frames), Some(Lsn(30)));
    }

    #[test]
    fn a_doublewrite_file_is_overwritten_only_when_all_of_it_is_synced() {
        let mut list = FlushList::new(1);
        let flusher = list.add_flusher();
        let batch = |list: &mut FlushList| {
            let begun = list.begin_batch(flusher);
            list.end_batch(flusher, std::iter::empty(), false);
            begun
        };
        assert_eq!(batch(&mut list), (0, true));
        assert_eq!(batch(&mut list), (0, false));
        // While a sync runs, batches go to the other file, and stay there.
        let round = list.begin_sync().unwrap();
        assert_eq!(batch(&mut list), (1, true));
        list.end_sync(round);
        assert_eq!(batch(&mut list), (1, false));
        // A batch that was being written when the sync began is not covered: its file stays needed ...
        assert_eq!(list.begin_batch(flusher), (1, false));
        let round = list.begin_sync().unwrap();
        list.end_batch(flusher, std::iter::empty(), false);
        list.end_sync(round);
        assert_eq!(batch(&mut list), (0, true));
        // ... also when the next sync begins, which covers it, but not what goes to the current file.
        let round = list.begin_sync().unwrap();
        list.end_sync(round);
        assert_eq!(batch(&mut list), (0, false));
        let _round = list.begin_sync().unwrap();
        assert_eq!(batch(&mut list), (1, true));
    }

    #[test]
    fn a_round_of_syncs_that_fails_holds_the_checkpoint_for_ever() {
        let frames = Frames::new(2, 4096).unwrap();
        let mut list = FlushList::new(2);
        let flusher = list.add_flusher();
        list.push(&frames, 0, Lsn(10));
        list.take(&frames, 0, flusher);
        list.end_batch(flusher, std::iter::empty(), false);
        drop(list.begin_sync().unwrap());
        assert!(list.begin_sync().is_none(), "what the failed round took is not in the next one's list");
        assert_eq!(list.oldest_lsn(&frames), Some(Lsn(10)));
    }
}
