//! InnoDB's layout: page n at n x page size, and a hole where its stored form has nothing.
//!
//! ```text
//!        page n                          page n+1
//!   |####|####|....|....|  |####|....|....|....|  |####|####|####|####|
//!    stored    hole         stored                 stored plain
//!    2 blocks               1 block                4 blocks
//! ```
//!
//! Punching costs as much as writing, so a hole is punched only where the page occupied blocks before that it no longer
//! needs. For that, the blocks each page occupies are known in memory, one byte per page. After an open they are unknown,
//! and asked of the filesystem when the page is first written; behind the old end of the file all is a hole.
//!
//! Invariants:
//!
//! * The number in memory is never smaller than what the page occupies on the device.
//! * No punch is issued that frees nothing, and none under a lock.
//! * One page has one writer at a time (the pool sees to that), so its byte needs no lock.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, Ordering};

use format::ids::PageNo;

use super::Stored;
use crate::io::File;
use crate::sync::{Mutex, Rank, RwLock};
use crate::tablespace::IoCounters;

/// Blocks of a page whose occupation has not been asked for yet.
const UNKNOWN: u8 = u8::MAX;

/// See the module header.
pub struct Punched {
    file: Arc<dyn File>,
    page_bytes: usize,
    block_bytes: usize,
    /// Blocks each page occupies. Pages behind the end occupy none.
    occupied: RwLock<Vec<AtomicU8>>,
    /// Pages the file has room for.
    pages: AtomicU32,
    extending: Mutex<()>,
    /// Holes are wanted: the option.
    wanted: AtomicBool,
    /// Punching works here, as far as is known.
    works: AtomicBool,
}

impl Punched {
    pub fn new(file: Arc<dyn File>, page_bytes: usize, block_bytes: usize, pages_written: u32) -> Punched {
        let blocks = page_bytes / block_bytes.max(1);
        Punched {
            file,
            page_bytes,
            block_bytes,
            occupied: RwLock::new(Rank::Leaf, (0..pages_written).map(|_| AtomicU8::new(UNKNOWN)).collect()),
            pages: AtomicU32::new(pages_written),
            extending: Mutex::new(Rank::Space, ()),
            wanted: AtomicBool::new(true),
            // A page of one block cannot lose one, and more than fit the byte are no filesystem's.
            works: AtomicBool::new((2..usize::from(UNKNOWN)).contains(&blocks)),
        }
    }

    pub fn read(&self, page: PageNo, buffer: &mut [u8]) -> io::Result<usize> {
        let known = self.occupied.read().get(page.0 as usize).map_or(UNKNOWN, |blocks| blocks.load(Ordering::Relaxed));
        // What the page does not occupy is a hole, and need not be read to know that it is zero.
        let bytes = match known {
            UNKNOWN => buffer.len(),
            blocks => (usize::from(blocks) * self.block_bytes).min(buffer.len()),
        };
        let (stored, hole) = buffer.split_at_mut(bytes);
        hole.fill(0);
        self.file.read_at(self.offset(page), stored)
    }

    pub fn write(&self, page: Stored<'_>, counters: &IoCounters) -> io::Result<()> {
        assert!(page.bytes.len() <= self.page_bytes, "a stored page is never larger than a page");
        let offset = self.offset(page.page);
        let blocks = page.bytes.len().div_ceil(self.block_bytes).min(usize::from(UNKNOWN)) as u8;
        let before = self.occupied(page.page)?;
        // Remembered before the write, and never less than what may be there, so that a failure in between leaves the
        // number too large and not too small.
        self.set_occupied(page.page, before.max(blocks));
        self.file.write_at(offset, page.bytes)?;
        counters.pages_written.add(1);
        counters.data_bytes_written.add(page.bytes.len() as u64);
        self.pages.fetch_max(page.page.0 + 1, Ordering::Relaxed);

        if blocks < before {
            if !self.punches() {
                return Ok(());
            }
            let hole = page.bytes.len().next_multiple_of(self.block_bytes) as u64;
            let end = usize::from(before) * self.block_bytes;
            match self.file.punch_hole(offset + hole, end as u64 - hole) {
                Ok(()) => counters.punches.add(1),
                // The page is written; only its tail stays allocated. Say it once, and go on without holes.
                Err(error) => {
                    counters.punches_failed.add(1);
                    if self.works.swap(false, Ordering::Relaxed) {
                        tracing::error!("punching holes fails, switched off for this file: {error}");
                    }
                    return Ok(());
                }
            }
        } else if page.bytes.len() < self.page_bytes {
            counters.punches_avoided.add(1);
        }
        self.set_occupied(page.page, blocks);
        Ok(())
    }

    pub fn extend(&self, pages: u32, reserve: bool) -> io::Result<()> {
        let _extending = self.extending.lock();
        let before = self.pages.load(Ordering::Relaxed);
        if pages <= before {
            return Ok(());
        }
        let (from, to) = (self.offset(PageNo(before)), self.offset(PageNo(pages)));
        if reserve {
            self.file.allocate(from, to - from)?;
            let full = (self.page_bytes / self.block_bytes).min(usize::from(UNKNOWN)) as u8;
            for page in before..pages {
                self.set_occupied(PageNo(page), full);
            }
        } else if self.file.len()? < to {
            self.file.set_len(to)?;
        }
        self.pages.fetch_max(pages, Ordering::Relaxed);
        Ok(())
    }

    pub fn pages(&self) -> u32 {
        self.pages.load(Ordering::Relaxed)
    }

    pub fn sync(&self) -> io::Result<()> {
        self.file.sync()
    }

    pub fn punches(&self) -> bool {
        self.wanted.load(Ordering::Relaxed) && self.works.load(Ordering::Relaxed)
    }

    pub fn set_punch(&self, wanted: bool) {
        self.wanted.store(wanted, Ordering::Relaxed);
    }

    fn offset(&self, page: PageNo) -> u64 {
        u64::from(page.0) * self.page_bytes as u64
    }

    /// Blocks the page occupies; asks the filesystem if that is not known.
    fn occupied(&self, page: PageNo) -> io::Result<u8> {
        let known = self.occupied.read().get(page.0 as usize).map_or(0, |blocks| blocks.load(Ordering::Relaxed));
        if known != UNKNOWN {
            return Ok(known);
        }
        let offset = self.offset(page);
        let end = self.file.data_end(offset, self.page_bytes as u64)?;
        Ok(((end - offset) as usize).div_ceil(self.block_bytes).min(usize::from(UNKNOWN - 1)) as u8)
    }

    fn set_occupied(&self, page: PageNo, blocks: u8) {
        let index = page.0 as usize;
        if let Some(known) = self.occupied.read().get(index) {
            known.store(blocks, Ordering::Relaxed);
            return;
        }
        let mut occupied = self.occupied.write();
        if occupied.len() <= index {
            occupied.resize_with(index + 1, || AtomicU8::new(0));
        }
        occupied[index].store(blocks, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::sim::SimDisk;
    use crate::io::{Caching, Disk, OpenMode};

    fn layout(disk: &SimDisk, mode: OpenMode) -> (Punched, Arc<dyn File>) {
        let file = disk.open("a.ibd", mode, Caching::Cached).unwrap();
        let pages = (file.len().unwrap() / 16384) as u32;
        (Punched::new(file.clone(), 16384, 4096, pages), file)
    }

    #[test]
    fn only_blocks_that_were_occupied_are_punched() {
        let disk = SimDisk::new(1);
        let (layout, file) = layout(&disk, OpenMode::Create);
        let counters = IoCounters::default();
        let write = |blocks: usize| {
            layout.write(Stored { page: PageNo(3), bytes: &vec![7; blocks * 4096] }, &counters).unwrap();
            (counters.punches.get(), file.allocated_bytes().unwrap() / 4096)
        };
        assert_eq!(write(2), (0, 2)); // Never written before: behind it there is nothing.
        assert_eq!(write(1), (1, 1));
        assert_eq!(write(1), (1, 1));
        assert_eq!(write(4), (1, 4));
        assert_eq!(write(3), (2, 3));
    }

    #[test]
    fn after_an_open_the_filesystem_is_asked() {
        let disk = SimDisk::new(1);
        let counters = IoCounters::default();
        let (first, _) = layout(&disk, OpenMode::Create);
        first.write(Stored { page: PageNo(1), bytes: &[7; 16384] }, &counters).unwrap();
        first.write(Stored { page: PageNo(2), bytes: &[7; 4096] }, &counters).unwrap();
        let (second, file) = layout(&disk, OpenMode::ReadWrite);
        second.write(Stored { page: PageNo(1), bytes: &[7; 4096] }, &counters).unwrap();
        second.write(Stored { page: PageNo(2), bytes: &[7; 4096] }, &counters).unwrap();
        second.write(Stored { page: PageNo(0), bytes: &[7; 4096] }, &counters).unwrap();
        assert_eq!(counters.punches.get(), 1);
        assert_eq!(file.allocated_bytes().unwrap(), 3 * 4096);
    }

    #[test]
    fn a_filesystem_that_cannot_punch_is_asked_once() {
        let disk = SimDisk::new(1);
        disk.set_faults(|faults| faults.no_punch = true);
        let (layout, _) = layout(&disk, OpenMode::Create);
        let counters = IoCounters::default();
        for blocks in [4, 1, 4, 1] {
            layout.write(Stored { page: PageNo(0), bytes: &vec![7; blocks * 4096] }, &counters).unwrap();
        }
        assert_eq!((counters.punches.get(), counters.punches_failed.get()), (0, 1));
        assert!(!layout.punches());
    }
}
