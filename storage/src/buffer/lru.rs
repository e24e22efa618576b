//! The eviction order: a least-recently-used list with a midpoint.
//!
//! ```text
//!    young (most used)                midpoint        old                     tail
//!   |<------------------------------------|--------------------------------------|  --> evicted
//!                                         ^ loaded pages enter here
//! ```
//!
//! A page read once by a scan enters at the midpoint and leaves by the tail, and the working set stays. A page that is
//! used again some time after it was loaded (`old_blocks_ms`, so that the many rows a scan reads from it do not count)
//! becomes young.
//!
//! A reader does not touch the lists. It sets a mark on the frame ([`Lru::touch`], mostly a single load), and the lists
//! are reordered when frames are needed: at the tail a marked page is moved to the front instead of evicted, at the
//! midpoint a marked page stays young. So each part works as a clock, and misses pay its cost.
//!
//! In a large, busy pool nearly all pages are marked, and thousands would be moved before a victim is found. So the
//! mutex is held for a bounded number of looks ([`LOOKS_MAX`]): the lists are reordered over several calls.
//!
//! Page cleaners take the tail in chunks, from a common cursor that moves up the list: no two get the same chunk.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use super::frame::{Frame, Frames};
use crate::sync::{Mutex, Rank};

const NONE: u32 = u32::MAX;
/// The cursor has reached the midpoint.
const TOP: u32 = u32::MAX - 1;

/// Pages that are examined, or moved, while the mutex is held. For more victims than a half of this, twice as many as
/// requested.
const LOOKS_MAX: usize = 512;

/// A tick of the LRU's coarse clock.
const TICK: Duration = Duration::from_millis(64);

/// Lists of all frames: free, young, old.
pub struct Lru {
    lists: Mutex<Lists>,
    free: Mutex<Vec<u32>>,
    tick: AtomicU32,
    /// Ticks between loading a page and the first use that makes it young.
    old_ticks: AtomicU32,
}

struct Lists {
    links: Vec<Link>,
    young: List,
    old: List,
    old_pct: u32,
    /// Where in the old part the next chunk begins; NONE for the tail.
    cursor: u32,
}

#[derive(Clone, Copy)]
struct Link {
    prev: u32,
    next: u32,
    place: Place,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Place {
    Nowhere,
    Young,
    Old,
}

#[derive(Clone, Copy)]
struct List {
    head: u32,
    tail: u32,
    count: usize,
}

impl List {
    const EMPTY: List = List { head: NONE, tail: NONE, count: 0 };

    fn push_front(&mut self, links: &mut [Link], index: u32, place: Place) {
        links[index as usize] = Link { prev: NONE, next: self.head, place };
        match self.head {
            NONE => self.tail = index,
            head => links[head as usize].prev = index,
        }
        self.head = index;
        self.count += 1;
    }

    fn remove(&mut self, links: &mut [Link], index: u32) {
        let Link { prev, next, .. } = links[index as usize];
        match prev {
            NONE => self.head = next,
            prev => links[prev as usize].next = next,
        }
        match next {
            NONE => self.tail = prev,
            next => links[next as usize].prev = prev,
        }
        links[index as usize].place = Place::Nowhere;
        self.count -= 1;
    }
}

impl Lru {
    /// All frames are free.
    pub fn new(count: usize, old_pct: u32, old_ms: u32) -> Lru {
        let lists = Lists {
            links: vec![Link { prev: NONE, next: NONE, place: Place::Nowhere }; count],
            young: List::EMPTY,
            old: List::EMPTY,
            old_pct,
            cursor: NONE,
        };
        let lru = Lru {
            lists: Mutex::new(Rank::Lru, lists),
            free: Mutex::new(Rank::Leaf, (0..count as u32).rev().collect()),
            tick: AtomicU32::new(1),
            old_ticks: AtomicU32::new(0),
        };
        lru.configure(old_pct, old_ms);
        lru
    }

    pub fn configure(&self, old_pct: u32, old_ms: u32) {
        self.lists.lock().old_pct = old_pct.clamp(5, 95);
        self.old_ticks.store(old_ms.div_ceil(TICK.as_millis() as u32), Ordering::Relaxed);
    }

    /// Sets the coarse clock.
    pub fn set_time(&self, now: Duration) {
        self.tick.store((now.as_millis() / TICK.as_millis()) as u32 + 1, Ordering::Relaxed);
    }

    /// Marks a use. On the hot path.
    #[inline]
    pub fn touch(&self, frame: &Frame) {
        if frame.used.load(Ordering::Relaxed) == 0 {
            self.touch_unmarked(frame);
        }
    }

    fn touch_unmarked(&self, frame: &Frame) {
        let loaded = frame.loaded_tick.load(Ordering::Relaxed);
        let age = self.tick.load(Ordering::Relaxed).wrapping_sub(loaded);
        if loaded == 0 || age >= self.old_ticks.load(Ordering::Relaxed) {
            frame.used.store(1, Ordering::Relaxed);
        }
    }

    /// A free frame, and how many are left.
    #[inline]
    pub fn pop_free(&self) -> Option<(u32, usize)> {
        let mut free = self.free.lock();
        let index = free.pop()?;
        Some((index, free.len()))
    }

    pub fn push_free(&self, index: u32) {
        self.free.lock().push(index);
    }

    pub fn free_count(&self) -> usize {
        self.free.lock().len()
    }

    /// Enters a loaded page at the midpoint.
    pub fn add(&self, frames: &Frames, index: u32) {
        let frame = frames.header(index);
        frame.used.store(0, Ordering::Relaxed);
        frame.loaded_tick.store(self.tick.load(Ordering::Relaxed), Ordering::Relaxed);
        let mut lists = self.lists.lock();
        let Lists { links, old, .. } = &mut *lists;
        old.push_front(links, index, Place::Old);
    }

    /// Removes a page from its list.
    pub fn remove(&self, index: u32) {
        self.lists.lock().remove(index);
    }

    /// Removes pages from their lists; their frames are free.
    pub fn release(&self, frames: &[u32]) {
        if frames.is_empty() {
            return;
        }
        {
            let mut lists = self.lists.lock();
            for &index in frames {
                lists.remove(index);
            }
        }
        self.free.lock().extend_from_slice(frames);
    }

    /// The next frames of the old part, from the tail up, that were not used lately: at most `count`, and none that
    /// another call received since the last [`Lru::rewind`]. Empty at the end of the old part; then the next call
    /// begins at the tail again.
    pub fn next_chunk(&self, frames: &Frames, count: usize, chunk: &mut Vec<u32>) {
        chunk.clear();
        self.lists.lock().balance(frames, LOOKS_MAX);
        loop {
            let mut lists = self.lists.lock();
            let mut at = match lists.cursor {
                NONE => lists.old.tail,
                TOP => NONE,
                cursor => cursor,
            };
            at = lists.look_at_many(frames, at, count, chunk);
            lists.cursor = match at {
                NONE if chunk.is_empty() => NONE,
                NONE => TOP,
                at => at,
            };
            if at == NONE || !chunk.is_empty() {
                return;
            }
        }
    }

    /// The next chunk begins at the tail.
    pub fn rewind(&self) {
        self.lists.lock().cursor = NONE;
    }

    /// The frames to evict next, at most `count` of them, in order. They stay in the list: the thread that evicts one
    /// removes it. False: these are all there are.
    pub fn victims(&self, frames: &Frames, count: usize, victims: &mut Vec<u32>) -> bool {
        victims.clear();
        let mut lists = self.lists.lock();
        lists.balance(frames, LOOKS_MAX.max(2 * count));
        let tail = lists.old.tail;
        let rest = lists.look_at_many(frames, tail, count, victims);
        let mut at = lists.young.tail;
        while at != NONE && victims.len() < count {
            victims.push(at);
            at = lists.links[at as usize].prev;
        }
        rest != NONE || at != NONE
    }
}

impl Lists {
    /// Examines a page of the old part: a marked one becomes young and unmarked (so this ends), another one a victim.
    /// Returns the one before it.
    fn look(&mut self, frames: &Frames, at: u32, victims: &mut Vec<u32>) -> u32 {
        let prev = self.links[at as usize].prev;
        let frame = frames.header(at);
        if frame.used.load(Ordering::Relaxed) != 0 {
            frame.used.store(0, Ordering::Relaxed);
            frame.loaded_tick.store(0, Ordering::Relaxed);
            self.remove(at);
            self.young.push_front(&mut self.links, at, Place::Young);
        } else {
            victims.push(at);
        }
        prev
    }

    /// Examines pages of the old part from `at` on, until there are `count` victims, or for as long as the mutex may be
    /// held. Returns the next one to examine.
    fn look_at_many(&mut self, frames: &Frames, mut at: u32, count: usize, victims: &mut Vec<u32>) -> u32 {
        let mut looks = LOOKS_MAX.max(2 * count);
        while at != NONE && victims.len() < count && looks > 0 {
            at = self.look(frames, at, victims);
            looks -= 1;
        }
        at
    }

    fn remove(&mut self, index: u32) {
        if self.cursor == index {
            let prev = self.links[index as usize].prev;
            self.cursor = if prev == NONE { TOP } else { prev };
        }
        match self.links[index as usize].place {
            Place::Young => self.young.remove(&mut self.links, index),
            Place::Old => self.old.remove(&mut self.links, index),
            Place::Nowhere => {}
        }
    }

    /// Moves the end of the young part behind the midpoint until the old part has its share, with at most so many
    /// looks.
    fn balance(&mut self, frames: &Frames, looks_max: usize) {
        let Lists { links, young, old, old_pct, .. } = self;
        let wanted = (young.count + old.count) * *old_pct as usize / 100;
        // Every young page is examined once at most: marked ones go to the front, unmarked.
        let mut looks = young.count.min(looks_max);
        while old.count < wanted && looks > 0 {
            looks -= 1;
            let index = young.tail;
            young.remove(links, index);
            let frame = frames.header(index);
            if frame.used.load(Ordering::Relaxed) != 0 {
                frame.used.store(0, Ordering::Relaxed);
                young.push_front(links, index, Place::Young);
            } else {
                old.push_front(links, index, Place::Old);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn victims(lru: &Lru, frames: &Frames, count: usize) -> Vec<u32> {
        let mut victims = Vec::new();
        lru.victims(frames, count, &mut victims);
        victims
    }

    #[test]
    fn a_page_used_again_later_outlives_a_scan() {
        let frames = Frames::new(10, 4096).unwrap();
        let lru = Lru::new(10, 40, 1000);
        for index in 0..4 {
            assert_eq!(lru.pop_free().map(|(frame, _)| frame), Some(index));
            lru.add(&frames, index);
            lru.touch(frames.header(index)); // The use it was loaded for does not count.
        }
        lru.set_time(Duration::from_secs(2));
        lru.touch(frames.header(1));
        for index in 4..8 {
            assert_eq!(lru.pop_free().map(|(frame, _)| frame), Some(index));
            lru.add(&frames, index);
            lru.touch(frames.header(index));
        }
        assert_eq!(victims(&lru, &frames, 3), [0, 2, 3]);
        for index in [0, 2, 3] {
            lru.remove(index);
            lru.push_free(index);
        }
        assert_eq!(victims(&lru, &frames, 10), [4, 5, 6, 7, 1]);
        assert_eq!(lru.free_count(), 5);
    }

    #[test]
    fn young_pages_that_are_not_used_grow_old() {
        let frames = Frames::new(10, 4096).unwrap();
        let lru = Lru::new(10, 40, 0);
        for _ in 0..10 {
            let (index, _) = lru.pop_free().unwrap();
            lru.add(&frames, index);
            lru.touch(frames.header(index));
        }
        assert_eq!(victims(&lru, &frames, 1), [0]); // All are marked: all become young, the first loaded is last.
        for index in 0..5 {
            lru.touch(frames.header(index));
        }
        assert_eq!(victims(&lru, &frames, 4), [5, 6, 7, 8]);
    }
    #[test]
    fn chunks_do_not_overlap_and_begin_at_the_tail_again() {
        let frames = Frames::new(10, 4096).unwrap();
        let lru = Lru::new(10, 95, 0);
        for _ in 0..8 {
            let (index, _) = lru.pop_free().unwrap();
            lru.add(&frames, index);
        }
        let chunk = |count: usize| {
            let mut chunk = Vec::new();
            lru.next_chunk(&frames, count, &mut chunk);
            chunk
        };
        assert_eq!(chunk(3), [0, 1, 2]);
        lru.touch(frames.header(4)); // Used meanwhile.
        lru.release(&[0, 3]); // 3 was the next one.
        assert_eq!(chunk(2), [5, 6]);
        assert_eq!(chunk(3), [7]);
        assert_eq!(chunk(3), [0; 0]);
        assert_eq!(chunk(2), [1, 2]);
        lru.rewind();
        assert_eq!(chunk(1), [1]);
        assert_eq!(lru.free_count(), 4);
    }

    /// All pages are marked, as in a pool that holds the whole working set: victims are found without examining every
    /// page.
    #[test]
    fn a_search_for_victims_moves_a_bounded_number_of_pages() {
        const PAGES: usize = 20 * LOOKS_MAX;
        let frames = Frames::new(PAGES, 4096).unwrap();
        let lru = Lru::new(PAGES, 40, 0);
        let marked = || (0..PAGES as u32).filter(|at| frames.header(*at).used.load(Ordering::Relaxed) != 0).count();
        for _ in 0..PAGES {
            let (index, _) = lru.pop_free().unwrap();
            lru.add(&frames, index);
        }
        (0..PAGES as u32).for_each(|index| lru.touch(frames.header(index)));
        for _ in 0..60 {
            let before = marked();
            assert_eq!(victims(&lru, &frames, 4).len(), 4);
            assert!(before - marked() <= 2 * LOOKS_MAX, "{} pages were moved", before - marked());
        }
        // In the end all have been looked at, and the old part has its share again.
        assert_eq!(marked(), 0);
        assert_eq!(lru.lists.lock().old.count, PAGES * 40 / 100);
    }
}
