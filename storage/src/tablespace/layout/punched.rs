//! InnoDB's layout: page n at n x page size, and a hole behind its stored form.
//!
//! ```text
//!        page n                          page n+1
//!   |####|####|....|....|  |####|....|....|....|  |####|####|####|####|
//!    stored    hole         stored                 stored plain
//!    2 blocks               1 block                4 blocks
//! ```
//!
//! Pages are written in batches: those that are adjacent in the file and in memory become one write, and all writes of
//! a batch are submitted together. Punching costs as much as writing, so a hole is punched only where a page occupied
//! blocks that it no longer needs, after the writes, and adjacent holes in one call. Therefore the number of blocks of
//! each page is kept in memory (`pages`). After an open it is unknown, and the filesystem is asked when the page is
//! first written; behind the old end of the file all is a hole.
//!
//! Whether holes are punched at all depends on the filesystem (it must free whole blocks that are smaller than a page),
//! on the option (`innodb_use_trim`), and on the last call's success. Without holes pages are still written in their
//! stored length: the bytes behind it are then older than the page, and are never read.
//!
//! A hole is as durable as a write, and may become so before it: where no copy of the page is kept elsewhere, a crash
//! that keeps the punch and loses the shorter page would leave the longer, older one without its end. There the punch
//! waits for the file's next sync (`late`). Where copies are kept, the new end of a page that grows is written first:
//! if the disk becomes full before the rest, the old page is still whole. (Elsewhere its write must
//! stay one.)
//!
//! Invariants:
//!
//! * No punch is issued that frees nothing, and none under a lock.
//! * One page has one writer at a time; the pool guarantees that.

use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use format::ids::PageNo;

use super::Stored;
use super::late::Late;
use super::pages::{BLOCKS_MAX, Form, Known, PageState, Pages};
use crate::io::{File, FileFacts, Punching, Write};
use crate::sync::{Mutex, Rank};
use crate::tablespace::SpaceCounters;

/// See the module header.
pub struct Punched {
    file: Arc<dyn File>,
    page_bytes: usize,
    block_bytes: usize,
    known: Pages,
    /// Holes that wait for a sync.
    late: Late,
    /// The file's size in pages.
    pages: AtomicU32,
    extending: Mutex<()>,
    /// Why this file cannot have holes, from the start.
    cannot: Option<String>,
    /// The option: holes are wanted.
    wanted: AtomicBool,
    /// The last punch did not fail.
    works: AtomicBool,
    /// The error of the last punch, if it failed.
    failure: Mutex<String>,
}

/// A write of one page, or of several adjacent ones.
struct Merged {
    offset: u64,
    bytes: Range<usize>,
    untorn: bool,
}

impl Punched {
    pub fn new(file: Arc<dyn File>, facts: &FileFacts, page_bytes: usize, pages_found: u32) -> Punched {
        let said = facts.block_bytes;
        // A block that does not divide a page (a ZFS record of 128K) rules holes out, nothing else.
        let divides = said.is_power_of_two() && (512..page_bytes).contains(&said);
        let cannot = match facts.punching {
            Punching::Unsupported => Some(format!("{} does not punch holes", facts.filesystem)),
            Punching::FreesNothing => Some(format!("{} frees nothing when a hole is punched", facts.filesystem)),
            Punching::Frees if !divides || page_bytes / said > BLOCKS_MAX => {
                Some(format!("{} frees blocks of {said} bytes, and a page has {page_bytes}", facts.filesystem))
            }
            Punching::Frees => None,
        };
        Punched {
            file,
            page_bytes,
            block_bytes: if divides { said } else { page_bytes },
            known: Pages::new(pages_found),
            late: Late::new(),
            pages: AtomicU32::new(pages_found),
            extending: Mutex::new(Rank::Space, ()),
            cannot,
            wanted: AtomicBool::new(true),
            works: AtomicBool::new(true),
            failure: Mutex::new(Rank::Leaf, String::new()),
        }
    }

    pub fn block_bytes(&self) -> usize {
        self.block_bytes
    }

    pub fn stored_bytes(&self, page: PageNo) -> usize {
        let known = self.known(page);
        match known.state() {
            Some(PageState { form: Form::Encoded(_), exact_bytes, .. }) => {
                exact_bytes.next_multiple_of(self.block_bytes).min(self.page_bytes)
            }
            // The reserved part reads as zero; the rest is a hole.
            Some(PageState { form: Form::Unwritten, .. }) => 0,
            Some(PageState { form: Form::Plain, .. }) | None => self.page_bytes,
        }
    }

    pub fn read(&self, page: PageNo, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() { Ok(0) } else { self.file.read_at(self.offset(page.0), buffer) }
    }

    pub fn write(&self, pages: &[Stored], buffer: &[u8], copied: bool, counters: &SpaceCounters) -> io::Result<()> {
        self.late.take_back(pages.iter().map(|page| page.page.0));
        let mut merged: Vec<Merged> = Vec::with_capacity(pages.len());
        let mut ends: Vec<Merged> = Vec::new();
        let mut holes: Vec<Range<u64>> = Vec::new();
        let mut shorter: Vec<(u32, usize)> = Vec::new();
        let mut bytes = 0;
        for page in pages {
            assert!(page.bytes.len() <= self.page_bytes, "a stored page is never larger than a page");
            let blocks = page.bytes.len().div_ceil(self.block_bytes);
            let before = self.occupied(page.page)?;
            // Recorded before the write, and never less than may be there, so that after a failure in between the
            // number is too large and not too small.
            self.known.set(page.page.0, Known::new(page.state, Some(before.max(blocks))));
            if blocks < before {
                let start = self.offset(page.page.0);
                let hole = (blocks * self.block_bytes) as u64..(before * self.block_bytes) as u64;
                holes.push(start + hole.start..start + hole.end);
                shorter.push((page.page.0, blocks));
            } else if page.bytes.len() < self.page_bytes {
                counters.punches_avoided(1);
            }
            bytes += page.bytes.len();
            let old_bytes = before * self.block_bytes;
            if copied && before > 0 && old_bytes < page.bytes.len() {
                let offset = self.offset(page.page.0);
                let cut = page.bytes.start + old_bytes;
                ends.push(Merged { offset: offset + old_bytes as u64, bytes: cut..page.bytes.end, untorn: false });
                self.append(&mut merged, offset, page.bytes.start..cut, false);
            } else {
                self.append(&mut merged, self.offset(page.page.0), page.bytes.clone(), page.untorn);
            }
        }
        let write = |merged: &Merged| Write {
            offset: merged.offset,
            bytes: &buffer[merged.bytes.clone()],
            untorn: merged.untorn,
        };
        let ends: Vec<_> = ends.iter().map(write).collect();
        let writes: Vec<_> = merged.iter().map(write).collect();
        let mut written = Ok(());
        if !ends.is_empty() {
            written = self.file.write_all(&ends);
        }
        let written = written.and_then(|()| self.file.write_all(&writes));
        if written.is_err() {
            pages.iter().for_each(|page| self.known.forget(page.page.0));
        }
        written?;
        counters.written(pages.len(), bytes, ends.len() + writes.len());
        if let Some(last) = pages.last() {
            self.pages.fetch_max(last.page.0 + 1, Ordering::Relaxed);
        }
        if !copied {
            self.late.wait_for_sync(shorter);
            return Ok(());
        }
        if self.punch(&mut holes, counters) {
            for page in pages {
                let blocks = page.bytes.len().div_ceil(self.block_bytes);
                self.known.set(page.page.0, Known::new(page.state, Some(blocks)));
            }
        }
        Ok(())
    }

    /// Adds a page's write, or extends the last one if the page follows it in the file and in memory.
    fn append(&self, writes: &mut Vec<Merged>, offset: u64, bytes: Range<usize>, untorn: bool) {
        if let Some(last) = writes.last_mut()
            && last.offset + last.bytes.len() as u64 == offset
            && last.bytes.end == bytes.start
            && !(last.untorn || untorn)
        {
            last.bytes.end = bytes.end;
            return;
        }
        writes.push(Merged { offset, bytes, untorn });
    }

    /// Punches what can be punched. False if a hole stays filled.
    fn punch(&self, holes: &mut Vec<Range<u64>>, counters: &SpaceCounters) -> bool {
        if holes.is_empty() {
            return true;
        }
        if self.why_not_punched().is_some() {
            return false;
        }
        holes.sort_unstable_by_key(|hole| hole.start);
        holes.dedup_by(|next, hole| {
            let adjacent = next.start == hole.end;
            if adjacent {
                hole.end = next.end;
            }
            adjacent
        });
        for hole in holes {
            match self.file.punch_hole(hole.start, hole.end - hole.start) {
                Ok(()) => counters.punched(1),
                // The pages are written; only their tails stay allocated. Report it once, and go on without holes.
                Err(error) => {
                    counters.punch_failed();
                    if self.works.swap(false, Ordering::Relaxed) {
                        tracing::error!("punching holes fails, switched off for this file: {error}");
                        *self.failure.lock() = error.to_string();
                    }
                    return false;
                }
            }
        }
        true
    }

    pub fn release(&self, pages: Range<u32>, counters: &SpaceCounters) -> io::Result<u64> {
        self.late.take_back(pages.clone());
        let mut holes: Vec<Range<u64>> = Vec::new();
        let mut bytes = 0;
        for page in pages.clone() {
            let occupied = self.occupied(PageNo(page))?;
            if occupied > 0 {
                // To the page's end: a crash may restore blocks that an earlier punch freed there, and half of a page
                // is damage.
                holes.push(self.offset(page)..self.offset(page + 1));
                bytes += (occupied * self.block_bytes) as u64;
            }
        }
        if !self.punch(&mut holes, counters) {
            return Ok(0);
        }
        for page in pages {
            self.known.set(page, Known::new(PageState::UNWRITTEN, Some(0)));
        }
        Ok(bytes)
    }

    /// `reserve`: with blocks. `insist`: without, if the disk is too full for that.
    pub fn extend(&self, pages: u32, reserve: bool, insist: bool) -> io::Result<()> {
        let _extending = self.extending.lock();
        let before = self.pages.load(Ordering::Relaxed);
        if pages <= before {
            return Ok(());
        }
        let (from, to) = (self.offset(before), self.offset(pages));
        if reserve {
            match self.file.allocate(from, to - from) {
                Err(cause) if insist && cause.kind() == io::ErrorKind::StorageFull => self.file.set_len(to)?,
                allocated => allocated?,
            }
            // After a full disk some pages have their blocks, and which ones is unknown.
            let full = self.page_bytes / self.block_bytes;
            for page in before..pages {
                self.known.set(page, Known::new(PageState::UNWRITTEN, Some(full)));
            }
        } else if self.file.len()? < to {
            self.file.set_len(to)?;
        }
        self.pages.fetch_max(pages, Ordering::Relaxed);
        Ok(())
    }

    /// Sets the smaller number of pages; no page behind them is dirty. [`Punched::cut`] truncates the file.
    pub fn shrink_to(&self, pages: u32) {
        let _extending = self.extending.lock();
        let before = self.pages.load(Ordering::Relaxed);
        for page in pages..before {
            self.known.set(page, Known::new(PageState::UNWRITTEN, Some(0)));
        }
        self.pages.fetch_min(pages, Ordering::Relaxed);
    }

    /// Truncates the file to its number of pages, if it is longer. It may have grown again meanwhile.
    pub fn cut(&self) -> io::Result<()> {
        let _extending = self.extending.lock();
        let to = self.offset(self.pages.load(Ordering::Relaxed));
        if self.file.len()? > to { self.file.set_len(to) } else { Ok(()) }
    }

    pub fn pages(&self) -> u32 {
        self.pages.load(Ordering::Relaxed)
    }

    pub fn sync(&self, counters: &SpaceCounters) -> io::Result<()> {
        let sync = self.late.begin_sync();
        let synced = self.file.sync();
        // Pages that were rewritten meanwhile are no longer among them.
        let punching = self.late.end_sync(sync, synced.is_ok());
        let shorter = &punching.pages;
        synced?;
        if shorter.is_empty() {
            return Ok(());
        }
        let mut holes = Vec::with_capacity(shorter.len());
        for &(page, blocks) in shorter {
            let start = self.offset(page);
            let before = self.occupied(PageNo(page)).unwrap_or(blocks);
            if blocks < before {
                holes.push(start + (blocks * self.block_bytes) as u64..start + (before * self.block_bytes) as u64);
            }
        }
        if self.punch(&mut holes, counters) {
            for &(page, blocks) in shorter {
                let known = self.known.get(page);
                if let Some(state) = known.state() {
                    self.known.learn(page, known, Known::new(state, Some(blocks)));
                }
            }
        }
        Ok(())
    }

    pub fn shortens(&self) -> bool {
        self.cannot.is_none()
    }

    pub fn why_not_punched(&self) -> Option<String> {
        if self.cannot.is_some() {
            return self.cannot.clone();
        }
        if !self.wanted.load(Ordering::Relaxed) {
            return Some("innodb_use_trim=OFF".into());
        }
        (!self.works.load(Ordering::Relaxed)).then(|| format!("punching has failed: {}", *self.failure.lock()))
    }

    pub fn set_punch(&self, wanted: bool) {
        self.wanted.store(wanted, Ordering::Relaxed);
    }

    pub fn known(&self, page: PageNo) -> Known {
        self.known.get(page.0)
    }

    pub fn learn(&self, page: PageNo, before: Known, state: PageState) {
        self.known.learn(page.0, before, Known::new(state, before.blocks()));
    }

    pub fn learn_blocks(&self, page: PageNo, before: Known, state: PageState) -> io::Result<()> {
        let blocks = self.occupied(page)?;
        self.known.learn(page.0, before, Known::new(state, Some(blocks)));
        Ok(())
    }

    pub fn each(&self, first: u32, visit: impl FnMut(u32, Known) -> bool) {
        self.known.each(first, self.pages(), visit);
    }

    fn offset(&self, page: u32) -> u64 {
        u64::from(page) * self.page_bytes as u64
    }

    /// Blocks the page occupies; asks the filesystem if that is not known.
    fn occupied(&self, page: PageNo) -> io::Result<usize> {
        if let Some(blocks) = self.known(page).blocks() {
            return Ok(blocks);
        }
        let offset = self.offset(page.0);
        let end = self.file.data_end(offset, self.page_bytes as u64)?;
        Ok(((end - offset) as usize).div_ceil(self.block_bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::sim::SimDisk;
    use crate::io::{Caching, Disk, OpenMode};

    struct World {
        layout: Punched,
        file: Arc<dyn File>,
        counters: SpaceCounters,
        /// A copy of each page is kept elsewhere.
        copied: bool,
    }

    fn world(disk: &SimDisk, mode: OpenMode) -> World {
        let file = disk.open("a.ibd", mode, Caching::Cached).unwrap();
        let pages = (file.len().unwrap() / 16384) as u32;
        let facts = file.facts().unwrap();
        let layout = Punched::new(file.clone(), &facts, 16384, pages);
        World { layout, file, counters: SpaceCounters::default(), copied: true }
    }

    impl World {
        /// Writes pages of so many blocks.
        fn write(&self, pages: &[(u32, usize)]) {
            let buffer = vec![7; 1 << 20];
            let mut at = 0;
            let stored: Vec<_> = pages
                .iter()
                .map(|&(page, blocks)| {
                    let bytes = at..at + blocks * 4096;
                    at = bytes.end;
                    let state = match blocks {
                        4 => PageState::plain(16384),
                        _ => PageState::encoded(3, blocks * 4096 - 10),
                    };
                    Stored { page: PageNo(page), bytes, state, untorn: false }
                })
                .collect();
            self.layout.write(&stored, &buffer, self.copied, &self.counters).unwrap();
        }

        fn blocks(&self) -> u64 {
            self.file.allocated_bytes().unwrap() / 4096
        }

        fn punches(&self) -> (u64, u64, u64) {
            let counters = &self.counters;
            (counters.punches_issued.get(), counters.punches_avoided.get(), counters.punches_failed.get())
        }
    }

    #[test]
    fn only_blocks_that_were_occupied_are_punched() {
        let world = world(&SimDisk::new(1), OpenMode::Create);
        let write = |blocks: usize| {
            world.write(&[(3, blocks)]);
            (world.punches().0, world.blocks())
        };
        assert_eq!(write(2), (0, 2)); // Never written before: behind it there is nothing.
        assert_eq!(write(1), (1, 1));
        assert_eq!(write(1), (1, 1));
        assert_eq!(write(4), (1, 4));
        assert_eq!(write(3), (2, 3));
        assert_eq!(world.punches(), (2, 2, 0));
    }

    #[test]
    fn neighbours_are_one_write_and_holes_side_by_side_one_punch() {
        let world = world(&SimDisk::new(1), OpenMode::Create);
        world.write(&[(0, 4), (1, 4), (2, 4), (4, 4), (5, 1), (6, 4)]);
        // 0 to 2, 4 with the start of 5, and 6.
        assert_eq!(world.counters.writes.get(), 3);
        assert_eq!(world.layout.release(1..6, &world.counters).unwrap(), (4 + 4 + 4 + 1) * 4096);
        // Page 3 was never written: so 1 and 2, and 4 with 5.
        assert_eq!((world.punches().0, world.blocks()), (2, 8));
        assert_eq!(world.layout.release(1..6, &world.counters).unwrap(), 0);
        assert_eq!(world.punches().0, 2);
    }

    #[test]
    fn after_an_open_the_filesystem_is_asked() {
        let disk = SimDisk::new(1);
        world(&disk, OpenMode::Create).write(&[(1, 4), (2, 1)]);
        let second = world(&disk, OpenMode::ReadWrite);
        second.write(&[(0, 1), (1, 1), (2, 1)]);
        assert_eq!((second.punches().0, second.blocks()), (1, 3));
    }

    #[test]
    fn a_filesystem_that_fails_to_punch_is_asked_once() {
        let disk = SimDisk::new(1);
        disk.set_faults(|faults| faults.no_punch = true);
        let world = world(&disk, OpenMode::Create);
        assert_eq!(world.layout.why_not_punched(), None);
        for blocks in [4, 1, 4, 1] {
            world.write(&[(0, blocks)]);
        }
        assert_eq!(world.punches(), (0, 0, 1));
        assert!(world.layout.why_not_punched().unwrap().starts_with("punching has failed: "));
        // A failed punch leaves the blocks recorded as occupied.
        assert_eq!(world.layout.known(PageNo(0)).blocks(), Some(4));
    }

    #[test]
    fn where_nothing_is_freed_nothing_is_punched() {
        for (change, reason) in [
            ((4096, Punching::FreesNothing), "sim frees nothing when a hole is punched"),
            ((4096, Punching::Unsupported), "sim does not punch holes"),
            ((16384, Punching::Frees), "sim frees blocks of 16384 bytes, and a page has 16384"),
            ((131_072, Punching::Frees), "sim frees blocks of 131072 bytes, and a page has 16384"),
        ] {
            let disk = SimDisk::with_blocks(1, change.0);
            disk.set_facts(|facts| facts.punching = change.1);
            let file = disk.open("b", OpenMode::Create, Caching::Cached).unwrap();
            let layout = Punched::new(file.clone(), &file.facts().unwrap(), 16384, 0);
            assert_eq!((layout.shortens(), layout.why_not_punched().as_deref()), (false, Some(reason)));
            disk.remove("b").unwrap();
        }
    }

    #[test]
    fn without_a_copy_the_punch_waits_for_the_sync() {
        let disk = SimDisk::new(1);
        let world = World { copied: false, ..world(&disk, OpenMode::Create) };
        world.write(&[(0, 4), (1, 4), (2, 4)]);
        world.write(&[(0, 1), (1, 1), (2, 4)]);
        assert_eq!(world.file.allocated_bytes().unwrap(), 12 * 4096);
        world.write(&[(1, 3)]);
        world.layout.sync(&world.counters).unwrap();
        assert_eq!(world.file.allocated_bytes().unwrap(), (1 + 3 + 4) * 4096);
    }

    #[test]
    fn of_a_released_page_a_crash_leaves_all_or_nothing() {
        let (mut whole, mut gone) = (0, 0);
        for seed in 0..100 {
            let disk = SimDisk::new(seed);
            let world = World { copied: false, ..world(&disk, OpenMode::Create) };
            disk.sync_directory("").unwrap();
            for blocks in [4, 1] {
                world.write(&[(0, blocks)]);
                world.layout.sync(&world.counters).unwrap();
            }
            // The punch behind the first block and this one may each be lost.
            world.layout.release(0..1, &world.counters).unwrap();
            let mut page = [0; 16384];
            disk.crash().open("a.ibd", OpenMode::Read, Caching::Cached).unwrap().read_at(0, &mut page).unwrap();
            let (first, rest) = page.split_at(4096);
            whole += usize::from(first.iter().all(|&byte| byte == 7));
            gone += usize::from(first.iter().chain(rest).all(|&byte| byte == 0));
        }
        assert_eq!((whole + gone, whole > 10, gone > 10), (100, true, true));
    }

    #[test]
    fn a_page_that_grows_into_a_full_disk_stays_whole() {
        let disk = SimDisk::new(1);
        let world = world(&disk, OpenMode::Create);
        world.write(&[(0, 1), (1, 4)]);
        disk.set_faults(|faults| faults.capacity_blocks = Some(7));
        let stored = Stored { page: PageNo(0), bytes: 0..16384, state: PageState::plain(16384), untorn: false };
        let full = world.layout.write(&[stored], &[9; 16384], true, &world.counters).unwrap_err();
        assert_eq!(full.kind(), io::ErrorKind::StorageFull);
        let mut block = [0; 4096];
        world.file.read_at(0, &mut block).unwrap();
        assert!(block.iter().all(|&byte| byte == 7), "the old page is as it was");
    }
}
