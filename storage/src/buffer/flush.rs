//! How dirty pages reach the disk: the steps that a page cleaner repeats.
//!
//! ```text
//!  step:  choose dirty frames         (from the flush list's head or the LRU's tail; `writing` set)
//!         for each: copy under a shared latch, leave the flush list, unlatch
//!                   seal, encode into the batch
//!         redo log durable up to the batch's newest LSN          -- the WAL rule
//!         doublewrite file: one write, one sync
//!         write each page to its place, punch what it no longer needs
//!  sync:  every tablespace written since the last time, once, for all cleaners together; then the copies in their
//!         doublewrite files are superfluous, and the checkpoint may pass
//! ```
//!
//! After the copy the flusher holds only its own latches and locks. A page may change again while its copy is being
//! written: it is then dirty with a new oldest LSN, and is flushed in a later batch because `writing` is set.
//!
//! Two cleaners do not examine the same frames: a frame that one has chosen has left the flush list, and at the LRU's
//! tail a common cursor gives each cleaner a chunk of its own ([`super::lru`]).
//!
//! Invariants:
//!
//! * A batch that fails leaves its pages dirty, whatever the reason; on a full disk only the pages that did not fit.
//!   `gate` has decided by then whether anything may be
//!   written again. The flusher need not check before it writes: it sees a page that a panic left half changed only
//!   under the page's latch, which was released after the poisoning, so the write is refused.
//! * Every change not durable in its tablespace is covered by the flush list's accounts; see [`super::flush_list`].
//! * A flusher latches frames by trying only: the thread that holds the latch may be waiting for a free frame.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use format::ids::{Lsn, PageId, PageNo, SpaceId};

use super::pool::Pool;
use crate::config::{Config, Doublewrite};
use crate::error::{Error, Result};
use crate::io::AlignedBuffer;
use crate::sync::Counter;
use crate::tablespace::doublewrite::DoublewriteFile;
use crate::tablespace::page_io::{BATCH_PAGES_MAX, Batch, Written};

/// Pages around a dirty one that `innodb_flush_neighbors` looks at: those of its extent.
const NEIGHBOURHOOD_BYTES: usize = 1 << 20;

/// What a step is to write.
#[derive(Clone, Copy, Debug)]
pub enum Aim {
    /// The oldest changes, as far as they are older than the LSN.
    OlderThan(Lsn),
    /// One tablespace.
    Space(SpaceId),
}

/// The result of a scan at the tail of the LRU.
#[derive(Clone, Copy, Debug, Default)]
pub struct Swept {
    /// Frames looked at; 0 if the tail has been gone through.
    pub looked_at: usize,
    /// Frames that are free now.
    pub freed: usize,
}

/// What a page cleaner has done since the start. Only the cleaner writes it; any thread may read it.
#[derive(Debug, Default)]
pub struct FlusherCounters {
    pub steps: Counter,
    /// Pages written because their changes were old.
    pub list_pages: Counter,
    /// Pages written because they were to leave the pool.
    pub lru_pages: Counter,
    /// Pages made free without writing.
    pub evicted: Counter,
    /// Bytes written to tablespaces, after encoding.
    pub bytes: Counter,
    pub punches: Counter,
    pub encode_us: Counter,
    pub log_us: Counter,
    pub doublewrite_us: Counter,
    pub write_us: Counter,
    /// Waiting for a sync because both doublewrite files were full.
    pub sync_us: Counter,
}

/// A page chosen for a batch.
struct Candidate {
    frame: u32,
    fold: u64,
}

/// One page cleaner's tools.
pub struct Flusher {
    index: usize,
    /// Written in turn; see [`super::flush_list`].
    doublewrite: Option<[DoublewriteFile; 2]>,
    batch: Batch,
    /// The copy of the page being prepared.
    plain: AlignedBuffer,
    candidates: Vec<Candidate>,
    /// Frames of the batch, with the oldest LSN they had.
    taken: Vec<(u32, Lsn)>,
    /// Pages at the head of the flush list that did not fit on a full disk. The next step looks behind them, so that
    /// they hold back no page that needs no room. After a batch that fits, and behind the last page, the head is tried
    /// again.
    passed: usize,
    victims: Vec<u32>,
    counters: Arc<FlusherCounters>,
}

impl Flusher {
    pub fn new(config: &Config, pool: &Pool) -> Result<Flusher> {
        let index = pool.flush_list.lock().add_flusher();
        let doublewrite = match config.doublewrite {
            Doublewrite::On | Doublewrite::DetectOnly => {
                let open = |half: usize| {
                    let counters = pool.spaces.counters().clone();
                    DoublewriteFile::open(&**pool.spaces.disk(), 2 * index + half, config, counters)
                };
                Some([open(0)?, open(1)?])
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
            passed: 0,
            victims: Vec::new(),
            counters: Arc::default(),
        })
    }

    pub fn counters(&self) -> &Arc<FlusherCounters> {
        &self.counters
    }

    /// Writes one bounded batch. Returns the pages written; 0 if there was nothing to do or all of it was latched.
    pub fn step(&mut self, pool: &Pool, aim: Aim, pages_max: usize) -> Result<usize> {
        pool.health.check()?;
        self.choose_listed(pool, aim, pages_max.min(BATCH_PAGES_MAX));
        if self.candidates.is_empty() && self.passed > 0 {
            self.passed = 0;
            self.choose_listed(pool, aim, pages_max.min(BATCH_PAGES_MAX));
        }
        let is_head = self.passed == 0 && matches!(aim, Aim::OlderThan(_)) && !self.candidates.is_empty();
        let written = self.write_chosen(pool);
        // If nothing is dirty, nothing needs room.
        if written.is_ok() && (is_head && !self.taken.is_empty() || pool.dirty_count() == 0) {
            pool.disk_full.store(false, Ordering::Relaxed);
        }
        match &written {
            Err(Error::DiskFull { .. }) => self.passed += self.batch.left(),
            _ => self.passed = 0,
        }
        self.counters.list_pages.add(*written.as_ref().unwrap_or(&0) as u64);
        written
    }

    /// Makes frames free at the tail of the LRU, one chunk of them: clean ones at once, dirty ones after writing.
    pub fn sweep(&mut self, pool: &Pool) -> Result<Swept> {
        pool.health.check()?;
        pool.lru.next_chunk(&pool.frames, BATCH_PAGES_MAX, &mut self.victims);
        if self.victims.is_empty() {
            return Ok(Swept::default());
        }
        let looked_at = self.victims.len();
        self.candidates.clear();
        for &index in &self.victims {
            if pool.frames.header(index).is_dirty() {
                choose(pool, index, &mut self.candidates);
            }
        }
        let mut freed = pool.evict(&self.victims);
        self.counters.evicted.add(freed as u64);
        if !self.candidates.is_empty() {
            self.candidates.sort_unstable_by_key(|candidate| candidate.fold);
            let written = self.write_chosen(pool);
            self.victims.clear();
            self.victims.extend(self.taken.iter().map(|&(frame, _)| frame));
            // On a full disk some of them are clean now.
            freed += pool.evict(&self.victims);
            self.counters.lru_pages.add(written? as u64);
        }
        Ok(Swept { looked_at, freed })
    }

    /// Writes the candidates as one batch.
    fn write_chosen(&mut self, pool: &Pool) -> Result<usize> {
        if self.candidates.is_empty() {
            return Ok(0);
        }
        let begin = pool.now();
        self.collect(pool);
        self.counters.encode_us.add(since(pool, begin));
        let result = self.write(pool);
        let failed = result.is_err();
        let disk_full = matches!(result, Ok(Written::Partly) | Err(Error::DiskFull { .. }));
        // Only the oldest pages show that there is room again (`step`): others may need none, and the log fills up because
        // of the oldest.
        if disk_full {
            pool.disk_full.store(true, Ordering::Relaxed);
        }
        let is_written = |frame: u32| match &result {
            Ok(Written::Partly) => pool.frames.header(frame).page().is_none_or(|page| !self.batch.is_left(page)),
            result => result.is_ok(),
        };
        let mut list = pool.flush_list.lock();
        // The other pages are dirty as before: they are not evicted, and no checkpoint passes them. The device may have
        // room later; after any other failure nothing is written any more.
        for &(frame, oldest) in self.taken.iter().filter(|(frame, _)| !is_written(*frame)) {
            list.put_back(&pool.frames, frame, oldest);
        }
        list.end_batch(self.index, self.batch.pages().iter().map(|page| &page.space), failed);
        drop(list);
        for &(frame, _) in &self.taken {
            pool.frames.header(frame).writing.store(false, Ordering::Release);
        }
        if result? == Written::Partly {
            return Err(Error::DiskFull { doing: "write a page" });
        }
        self.counters.steps.add(1);
        Ok(self.taken.len())
    }

    /// Chooses from the flush list, oldest first.
    fn choose_listed(&mut self, pool: &Pool, aim: Aim, pages_max: usize) {
        self.candidates.clear();
        let neighbours = pool.flush_neighbors();
        // With neighbours, some of the batch is reserved for them.
        let seeds_max = if neighbours == 0 { pages_max } else { pages_max.div_ceil(4) };
        {
            let list = pool.flush_list.lock();
            let is_older =
                |index: u32, lsn: Lsn| pool.frames.header(index).oldest_lsn().is_some_and(|oldest| oldest < lsn);
            let mut choose_some = |listed: &mut dyn Iterator<Item = u32>| {
                for index in listed {
                    choose(pool, index, &mut self.candidates);
                    if self.candidates.len() >= seeds_max {
                        break;
                    }
                }
            };
            match aim {
                Aim::OlderThan(lsn) => {
                    choose_some(&mut list.oldest_first().skip(self.passed).take_while(|index| is_older(*index, lsn)))
                }
                Aim::Space(space) => choose_some(&mut list.of_space(space)),
            }
        }
        if neighbours != 0 {
            self.choose_neighbours(pool, neighbours == 1, pages_max);
        }
        // In disk order, so that neighbours follow each other.
        self.candidates.sort_unstable_by_key(|candidate| candidate.fold);
    }

    /// Adds dirty pages of the same extents: all of them, or those that adjoin without a gap.
    fn choose_neighbours(&mut self, pool: &Pool, contiguous: bool, pages_max: usize) {
        let extent = (NEIGHBOURHOOD_BYTES / pool.frames_page_bytes()).max(1) as u32;
        for seed in 0..self.candidates.len() {
            let fold = self.candidates[seed].fold;
            let (space, page) = (SpaceId((fold >> 32) as u32), fold as u32);
            let first = page / extent * extent;
            let before = (first..page).rev();
            let after = page + 1..first + extent;
            let mut add = |page: u32| {
                let known = self.candidates.len();
                if known < pages_max
                    && let Some(index) = pool.peek(PageId::new(space, PageNo(page)))
                    && pool.frames.header(index).is_dirty()
                {
                    choose(pool, index, &mut self.candidates);
                }
                self.candidates.len() > known || !contiguous
            };
            for page in before {
                if !add(page) {
                    break;
                }
            }
            for page in after {
                if !add(page) {
                    break;
                }
            }
        }
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
            // Free pages there are being punched: the page is flushed in a later batch.
            let releasing = |page: &PageId| pool.spaces.get(page.space).is_some_and(|space| space.releases(page.page));
            let page =
                frame.page().filter(|page| page.fold() == candidate.fold && frame.is_dirty() && !releasing(page));
            let Some(page) = page else {
                frame.writing.store(false, Ordering::Release);
                continue;
            };
            self.plain.copy_from_slice(&latch);
            // Under the latch, so that no change is lost between the copy and the page becoming clean.
            let oldest = pool.flush_list.lock().take(&pool.frames, candidate.frame, self.index);
            let oldest = oldest.expect("the frame is dirty");
            self.taken.push((candidate.frame, oldest));
            drop(latch);
            // Its tablespace is being dropped: the page counts as clean.
            if let Some(space) = pool.spaces.get(page.space) {
                self.batch.add(space, &mut self.plain, oldest);
            }
        }
    }

    /// Never [`Written::Refused`].
    fn write(&mut self, pool: &Pool) -> Result<Written> {
        if self.batch.pages().is_empty() {
            return Ok(Written::All);
        }
        let begin = pool.now();
        pool.redo.flush_until(self.batch.newest_lsn())?;
        self.counters.log_us.add(since(pool, begin));
        loop {
            if self.batch.wants_doublewrite() && self.doublewrite.is_some() {
                let file = self.reserve_doublewrite(pool)?;
                let begin = pool.now();
                self.doublewrite.as_mut().expect("checked above")[file].append(&mut self.batch)?;
                self.counters.doublewrite_us.add(since(pool, begin));
            }
            let begin = pool.now();
            let punches = &pool.spaces.counters().punches;
            // Concurrent punches of other cleaners are counted here too.
            let punched = punches.get();
            let written = self.batch.write()?;
            self.counters.punches.add(punches.get() - punched);
            self.counters.write_us.add(since(pool, begin));
            self.counters.bytes.add(self.batch.pages().iter().map(|page| page.stored_bytes() as u64).sum());
            if written != Written::Refused {
                return Ok(written);
            }
            // Once in a file's life: it has refused to be written untorn. The doublewrite copies of the pages written
            // so far may be overwritten by the next ones.
            let mut synced = None;
            for space in self.batch.pages().iter().map(|page| &page.space) {
                if synced.replace(space.id()) != Some(space.id()) {
                    space.sync()?;
                }
            }
        }
    }

    /// The doublewrite file with room for the batch. Waits for a sync if both are full.
    fn reserve_doublewrite(&mut self, pool: &Pool) -> Result<usize> {
        let bytes = self.batch.doublewrite_image().len();
        let files = self.doublewrite.as_mut().expect("there are doublewrite files");
        loop {
            let (file, is_clean) = pool.flush_list.lock().begin_batch(self.index);
            if is_clean {
                files[file].restart();
            }
            if files[file].has_room(bytes) {
                return Ok(file);
            }
            pool.flush_list.lock().leave_file(self.index);
            let begin = pool.now();
            pool.sync_written()?;
            self.counters.sync_us.add(since(pool, begin));
        }
    }
}

/// Marks a frame as being written, unless another cleaner has.
fn choose(pool: &Pool, index: u32, candidates: &mut Vec<Candidate>) {
    let frame = pool.frames.header(index);
    // A dirty frame keeps its page, so the id is right.
    if let Some(page) = frame.page()
        && !frame.writing.swap(true, Ordering::AcqRel)
    {
        candidates.push(Candidate { frame: index, fold: page.fold() });
    }
}

fn since(pool: &Pool, begin: Duration) -> u64 {
    pool.now().saturating_sub(begin).as_micros() as u64
}
