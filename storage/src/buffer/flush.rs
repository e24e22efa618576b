//! The way of dirty pages to disk: the flush list, and the step that a page cleaner repeats.
//!
//! ```text
//!  step:  choose dirty frames         (flush list, `writing` set)
//!         for each: copy under a shared latch, leave the flush list, unlatch
//!                   seal, encode into the batch
//!         redo log durable up to the batch's newest LSN          -- the WAL rule
//!         doublewrite file: one write, one sync
//!         write each page to its place, punch what it no longer needs
//!  sync:  every tablespace written since the last time; then the copies in the doublewrite file are superfluous, and
//!         the checkpoint may pass
//! ```
//!
//! From the copy on no latch and no lock is held but the flusher's own. A page may be changed again while its copy is
//! under way: it is dirty again then, with a new oldest LSN, and waits for its next turn because `writing` is set.
//!
//! Invariants:
//!
//! * Every change not durable in its tablespace is covered by the flush list or by a flusher's `unsynced` LSN; the
//!   checkpoint is the smallest of them.
//! * A flusher latches frames by trying only: who holds the latch may be waiting for a free frame.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use format::ids::{Lsn, SpaceId};

use super::frame::Frames;
use super::pool::Pool;
use crate::config::{Config, Doublewrite};
use crate::error::{Error, Result};
use crate::io::AlignedBuffer;
use crate::tablespace::Tablespace;
use crate::tablespace::doublewrite::DoublewriteFile;
use crate::tablespace::page_io::{BATCH_PAGES_MAX, Batch};

const NONE: u32 = u32::MAX;

/// The dirty frames in the order of their oldest LSN, and what is on its way.
pub struct FlushList {
    links: Vec<(u32, u32)>,
    head: u32,
    tail: u32,
    count: usize,
    /// Per flusher: the oldest LSN of what it has taken and not synced.
    unsynced: Vec<Unsynced>,
}

#[derive(Clone, Copy)]
struct Unsynced {
    /// Of the batch under way.
    batch: Lsn,
    /// Of batches written since the last sync.
    written: Lsn,
}

const NOTHING: Unsynced = Unsynced { batch: Lsn::MAX, written: Lsn::MAX };

impl FlushList {
    pub fn new(frames: usize, flushers: usize) -> FlushList {
        FlushList {
            links: vec![(NONE, NONE); frames],
            head: NONE,
            tail: NONE,
            count: 0,
            unsynced: vec![NOTHING; flushers],
        }
    }

    /// Appends a clean frame. LSNs rise, so the tail is its place.
    pub fn push(&mut self, frames: &Frames, index: u32, oldest: Lsn) {
        debug_assert!(!frames.header(index).is_dirty(), "a frame is in the list once");
        self.insert_after(self.tail, index);
        frames.header(index).set_oldest_lsn(Some(oldest));
    }

    /// Puts a frame back whose page could not be written.
    fn put_back(&mut self, frames: &Frames, index: u32, oldest: Lsn) {
        self.remove(frames, index);
        let mut after = NONE;
        let mut next = self.head;
        while next != NONE && frames.header(next).oldest_lsn().is_some_and(|lsn| lsn < oldest) {
            after = next;
            next = self.links[next as usize].1;
        }
        self.insert_after(after, index);
        frames.header(index).set_oldest_lsn(Some(oldest));
    }

    fn insert_after(&mut self, after: u32, index: u32) {
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
        self.count += 1;
    }

    /// Takes a frame out, if it is in: it is clean then. Returns its oldest LSN.
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
        self.count -= 1;
        frames.header(index).set_oldest_lsn(None);
        Some(oldest)
    }

    pub fn count(&self) -> usize {
        self.count
    }

    /// Of the frames in the list, the oldest LSN.
    pub fn oldest_listed(&self, frames: &Frames) -> Option<Lsn> {
        (self.head != NONE).then(|| frames.header(self.head).oldest_lsn().expect("listed frames are dirty"))
    }

    /// The oldest LSN that is not durable in its tablespace.
    pub fn oldest_lsn(&self, frames: &Frames) -> Option<Lsn> {
        let listed = self.oldest_listed(frames);
        let under_way = self.unsynced.iter().map(|unsynced| unsynced.batch.min(unsynced.written)).min();
        listed.into_iter().chain(under_way).min().filter(|&lsn| lsn != Lsn::MAX)
    }
}

/// What a step is to write.
#[derive(Clone, Copy, Debug)]
pub enum Aim {
    /// The oldest changes, as far as they are older than the LSN.
    OlderThan(Lsn),
    /// Pages that leave the pool next.
    Lru { depth: usize },
    /// One tablespace.
    Space(SpaceId),
}

/// A page chosen for a batch.
struct Candidate {
    frame: u32,
    fold: u64,
}

/// One page cleaner's tools and obligations.
pub struct Flusher {
    index: usize,
    doublewrite: Option<DoublewriteFile>,
    batch: Batch,
    /// The copy of the page being prepared.
    plain: AlignedBuffer,
    candidates: Vec<Candidate>,
    /// Frames of the batch, with the oldest LSN they had.
    taken: Vec<(u32, Lsn)>,
    victims: Vec<u32>,
    /// Tablespaces written since the last sync.
    unsynced: Vec<Arc<Tablespace>>,
}

impl Flusher {
    pub fn new(index: usize, config: &Config, pool: &Pool) -> Result<Flusher> {
        let doublewrite = match config.doublewrite {
            Doublewrite::On => {
                let counters = pool.spaces.counters().clone();
                Some(DoublewriteFile::open(&**pool.spaces.disk(), index, config, counters)?)
            }
            Doublewrite::Off => None,
        };
        Ok(Flusher {
            index,
            doublewrite,
            batch: Batch::new(config.page_bytes),
            plain: AlignedBuffer::new(config.page_bytes),
            candidates: Vec::new(),
            taken: Vec::new(),
            victims: Vec::new(),
            unsynced: Vec::new(),
        })
    }

    /// Whether pages have been written that are not synced.
    pub fn owes_sync(&self) -> bool {
        !self.unsynced.is_empty()
    }

    /// Writes one bounded batch. Returns the pages written; 0 if there was nothing to do or all of it was latched.
    pub fn step(&mut self, pool: &Pool, aim: Aim, pages_max: usize) -> Result<usize> {
        pool.health.check()?;
        self.choose(pool, aim, pages_max.min(BATCH_PAGES_MAX));
        self.collect(pool);
        let result = self.write(pool);
        let mut list = pool.flush_list.lock();
        let disk_full = matches!(result, Err(Error::DiskFull { .. }));
        if disk_full || !self.taken.is_empty() {
            pool.disk_full.store(disk_full, Ordering::Relaxed);
        }
        if disk_full {
            // Nothing is lost: the pages are dirty as before, and the device may have room later.
            for &(frame, oldest) in &self.taken {
                list.put_back(&pool.frames, frame, oldest);
            }
        } else {
            let unsynced = &mut list.unsynced[self.index];
            unsynced.written = unsynced.written.min(unsynced.batch);
        }
        list.unsynced[self.index].batch = Lsn::MAX;
        drop(list);
        for &(frame, _) in &self.taken {
            pool.frames.header(frame).writing.store(false, Ordering::Release);
        }
        pool.health.judge(result)?;
        Ok(self.taken.len())
    }

    /// Makes durable what the steps so far have written.
    pub fn sync(&mut self, pool: &Pool) -> Result<()> {
        if !self.unsynced.is_empty() {
            pool.health.check()?;
        }
        for space in self.unsynced.drain(..) {
            // After a failed sync nobody knows what is durable, whatever the reason was.
            space.sync().inspect_err(|error| pool.health.poison(error))?;
        }
        if let Some(doublewrite) = &mut self.doublewrite {
            doublewrite.restart();
        }
        pool.flush_list.lock().unsynced[self.index].written = Lsn::MAX;
        Ok(())
    }

    /// Evicts clean pages until `wanted` frames are free, as far as they go.
    pub fn refill_free(&mut self, pool: &Pool, wanted: usize) -> usize {
        pool.refill_free(wanted, &mut self.victims)
    }

    /// Marks frames as being written.
    fn choose(&mut self, pool: &Pool, aim: Aim, pages_max: usize) {
        self.candidates.clear();
        if let Aim::Lru { depth } = aim {
            pool.lru.victims(&pool.frames, depth, &mut self.victims);
        }
        let list = pool.flush_list.lock();
        let candidates = &mut self.candidates;
        let mut choose = |index: u32| {
            let frame = pool.frames.header(index);
            // A dirty frame keeps its page: so the id is right.
            if let Some(page) = frame.page()
                && !frame.writing.swap(true, Ordering::AcqRel)
            {
                candidates.push(Candidate { frame: index, fold: page.fold() });
            }
            candidates.len() < pages_max
        };
        match aim {
            Aim::Lru { .. } => {
                let dirty = |&&index: &&u32| pool.frames.header(index).is_dirty();
                for &index in self.victims.iter().filter(dirty) {
                    if !choose(index) {
                        break;
                    }
                }
            }
            Aim::OlderThan(_) | Aim::Space(_) => {
                let mut next = list.head;
                while next != NONE {
                    let index = next;
                    next = list.links[index as usize].1;
                    let frame = pool.frames.header(index);
                    let wanted = match aim {
                        Aim::OlderThan(lsn) if frame.oldest_lsn().is_some_and(|oldest| oldest >= lsn) => break,
                        Aim::Space(space) => frame.page().is_some_and(|page| page.space == space),
                        _ => true,
                    };
                    if wanted && !choose(index) {
                        break;
                    }
                }
            }
        }
        drop(list);
        // Neighbours on disk one after the other.
        self.candidates.sort_unstable_by_key(|candidate| candidate.fold);
    }

    /// Copies the chosen pages into the batch, sealed and encoded.
    fn collect(&mut self, pool: &Pool) {
        self.batch.clear();
        self.taken.clear();
        for candidate in &self.candidates {
            let frame = pool.frames.header(candidate.frame);
            let Some(latch) = pool.frames.try_latch_shared(candidate.frame) else {
                frame.writing.store(false, Ordering::Release);
                continue;
            };
            let page = frame.page().filter(|page| page.fold() == candidate.fold && frame.is_dirty());
            let Some(page) = page else {
                frame.writing.store(false, Ordering::Release);
                continue;
            };
            self.plain.copy_from_slice(&latch);
            {
                // Under the latch, so that no change gets lost between the copy and the page being clean.
                let mut list = pool.flush_list.lock();
                let oldest = list.remove(&pool.frames, candidate.frame).expect("the frame is dirty");
                let unsynced = &mut list.unsynced[self.index];
                unsynced.batch = unsynced.batch.min(oldest);
                self.taken.push((candidate.frame, oldest));
            }
            drop(latch);
            // Without its tablespace, which is being dropped, a page is clean as it is.
            if let Some(space) = pool.spaces.get(page.space) {
                self.batch.add(space, &mut self.plain);
            }
        }
    }

    fn write(&mut self, pool: &Pool) -> Result<()> {
        if self.batch.pages().is_empty() {
            return Ok(());
        }
        pool.redo.flush_until(self.batch.newest_lsn())?;
        if self.batch.wants_doublewrite() && self.doublewrite.is_some() {
            let bytes = self.batch.bytes_mut().len();
            if self.doublewrite.as_ref().is_some_and(|file| !file.has_room(bytes)) {
                self.sync(pool)?;
            }
            self.doublewrite.as_mut().expect("checked above").append(&mut self.batch)?;
        }
        for page in self.batch.pages() {
            if !self.unsynced.iter().any(|space| Arc::ptr_eq(space, &page.space)) {
                self.unsynced.push(page.space.clone());
            }
        }
        self.batch.write()
    }
}

/// How fast the cleaners should go.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// Share of the log that recovery would need, 0 to 1.
    pub age: f64,
    /// Share of dirty pages, 0 to 1.
    pub dirty: f64,
    /// Nothing was written to the log for a while.
    pub idle: bool,
}

impl Pace {
    /// Pages per second, for all cleaners together.
    ///
    /// The rate grows with the square of what presses, so that it rises early but gently and settles where it equals
    /// the load: a fixed threshold would make the load see-saw.
    pub fn pages_per_second(self, config: &Config) -> f64 {
        let slow = f64::from(config.io_capacity);
        let fast = f64::from(config.io_capacity_max).max(slow);
        // From a quarter of the log on; at three quarters as fast as allowed, and beyond that without limit, for behind
        // it everybody waits.
        let by_age = match (self.age - 0.25) / 0.5 {
            pressure if pressure > 1.0 => f64::INFINITY,
            pressure => fast * pressure.max(0.0).powi(2),
        };
        let limit = (config.max_dirty_pages_pct / 100.0).clamp(0.01, 1.0);
        let by_dirty = match self.dirty {
            dirty if dirty > limit => fast,
            dirty if dirty > config.max_dirty_pages_pct_lwm / 100.0 => slow * (dirty / limit),
            _ => 0.0,
        };
        let by_idleness = if self.idle { fast } else { 0.0 };
        by_age.max(by_dirty).max(by_idleness)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pace_rises_with_what_presses() {
        let config = Config { io_capacity: 100, io_capacity_max: 1000, ..Config::default() };
        let pace = |age, dirty, idle| Pace { age, dirty, idle }.pages_per_second(&config);
        assert_eq!(pace(0.1, 0.05, false), 0.0);
        assert_eq!(pace(0.1, 0.05, true), 1000.0);
        assert_eq!(pace(0.5, 0.05, false), 250.0);
        assert_eq!(pace(0.75, 0.05, false), 1000.0);
        assert!(pace(0.8, 0.05, false).is_infinite());
        assert_eq!(pace(0.1, 0.9, false), 1000.0);
        assert!((10.0..100.0).contains(&pace(0.1, 0.2, false)));
    }

    #[test]
    fn the_flush_list_keeps_the_order_of_lsns() {
        let frames = Frames::new(5, 4096).unwrap();
        let mut list = FlushList::new(5, 1);
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
        while list.head != NONE {
            order.push(list.head);
            list.remove(&frames, list.head);
        }
        assert_eq!(order, [0, 1, 4, 3]);
        list.unsynced[0].batch = Lsn(7);
        assert_eq!(list.oldest_lsn(&frames), Some(Lsn(7)));
    }
}
