//! A disk that counts: a wrapper around any other one, which knows how often, how long and how many bytes each file was
//! read and written since the server's start.
//!
//! ```text
//!   CountedDisk --open--> CountedFile --the call--> file of the disk below
//!        |                     |
//!        +---- FileCounts -----+   path -> Counts, for as long as the file exists
//! ```
//!
//! A file that is closed and opened again goes on counting, and one that is renamed keeps its counts. Times are those of the
//! machine on a simulated disk, too: they are shown, and nothing depends on them.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use rustc_hash::FxHashMap;

use super::{Caching, Clock, DirectoryEntry, Disk, File, FileFacts, OpenMode, Write};
use crate::sync::{Mutex, Rank};

/// Calls of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Calls {
    pub count: u64,
    pub bytes: u64,
    pub nanos: u64,
    /// 0 if there was none.
    pub nanos_min: u64,
    pub nanos_max: u64,
}

impl Calls {
    pub fn add(&mut self, other: &Calls) {
        self.nanos_min = match (self.count, other.count) {
            (_, 0) => self.nanos_min,
            (0, _) => other.nanos_min,
            _ => self.nanos_min.min(other.nanos_min),
        };
        self.nanos_max = self.nanos_max.max(other.nanos_max);
        self.count += other.count;
        self.bytes += other.bytes;
        self.nanos += other.nanos;
    }
}

/// What was done to one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileCalls {
    /// Below the data directory.
    pub path: String,
    /// Handles that are open now.
    pub open: u64,
    pub reads: Calls,
    /// Also those that are durable when they return.
    pub writes: Calls,
    /// Opening, syncing, reserving, punching, changing the length.
    pub others: Calls,
}

#[derive(Default)]
struct Tally {
    count: AtomicU64,
    bytes: AtomicU64,
    nanos: AtomicU64,
    /// One more than the least, so that 0 means none.
    nanos_min: AtomicU64,
    nanos_max: AtomicU64,
}

impl Tally {
    fn add(&self, bytes: u64, since: Instant) {
        let nanos = since.elapsed().as_nanos() as u64;
        self.count.fetch_add(1, Ordering::Relaxed);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        self.nanos.fetch_add(nanos, Ordering::Relaxed);
        let least = self.nanos_min.load(Ordering::Relaxed);
        if least == 0 || nanos < least - 1 {
            self.nanos_min.store(nanos + 1, Ordering::Relaxed);
        }
        self.nanos_max.fetch_max(nanos, Ordering::Relaxed);
    }

    fn read(&self) -> Calls {
        let read = |of: &AtomicU64| of.load(Ordering::Relaxed);
        Calls {
            count: read(&self.count),
            bytes: read(&self.bytes),
            nanos: read(&self.nanos),
            nanos_min: read(&self.nanos_min).saturating_sub(1),
            nanos_max: read(&self.nanos_max),
        }
    }

    fn clear(&self) {
        for of in [&self.count, &self.bytes, &self.nanos, &self.nanos_min, &self.nanos_max] {
            of.store(0, Ordering::Relaxed);
        }
    }
}

#[derive(Default)]
struct Counts {
    open: AtomicU64,
    reads: Tally,
    writes: Tally,
    others: Tally,
}

/// The counts of all files that were used and still exist.
pub struct FileCounts(Mutex<FxHashMap<Box<str>, Arc<Counts>>>);

impl Default for FileCounts {
    fn default() -> FileCounts {
        FileCounts(Mutex::new(Rank::Leaf, FxHashMap::default()))
    }
}

impl FileCounts {
    fn of(&self, path: &str) -> Arc<Counts> {
        let mut files = self.0.lock();
        match files.get(path) {
            Some(known) => known.clone(),
            None => files.entry(path.into()).or_default().clone(),
        }
    }

    fn removed(&self, path: &str) {
        self.0.lock().remove(path);
    }

    fn renamed(&self, from: &str, to: &str) {
        let mut files = self.0.lock();
        if let Some(counts) = files.remove(from) {
            files.insert(to.into(), counts);
        }
    }

    /// By path.
    pub fn read(&self) -> Vec<FileCalls> {
        let mut files: Vec<FileCalls> = self.0.lock().iter().map(|(path, counts)| counts.read(path)).collect();
        files.sort_unstable_by(|one, other| one.path.cmp(&other.path));
        files
    }

    /// Counts begin anew.
    pub fn clear(&self) {
        for counts in self.0.lock().values() {
            [&counts.reads, &counts.writes, &counts.others].into_iter().for_each(Tally::clear);
        }
    }
}

impl Counts {
    fn read(&self, path: &str) -> FileCalls {
        FileCalls {
            path: path.to_owned(),
            open: self.open.load(Ordering::Relaxed),
            reads: self.reads.read(),
            writes: self.writes.read(),
            others: self.others.read(),
        }
    }
}

/// See the module header.
pub struct CountedDisk {
    disk: Arc<dyn Disk>,
    counts: Arc<FileCounts>,
}

impl CountedDisk {
    pub fn new(disk: Arc<dyn Disk>) -> CountedDisk {
        CountedDisk { disk, counts: Arc::default() }
    }

    pub fn counts(&self) -> &Arc<FileCounts> {
        &self.counts
    }
}

impl Disk for CountedDisk {
    fn open(&self, path: &str, mode: OpenMode, caching: Caching) -> io::Result<Arc<dyn File>> {
        let since = Instant::now();
        let file = self.disk.open(path, mode, caching)?;
        let counts = self.counts.of(path);
        counts.others.add(0, since);
        counts.open.fetch_add(1, Ordering::Relaxed);
        Ok(Arc::new(CountedFile { file, counts }))
    }

    fn exists(&self, path: &str) -> io::Result<bool> {
        self.disk.exists(path)
    }

    fn remove(&self, path: &str) -> io::Result<()> {
        self.disk.remove(path)?;
        self.counts.removed(path);
        Ok(())
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.disk.rename(from, to)?;
        self.counts.renamed(from, to);
        Ok(())
    }

    fn create_directory(&self, path: &str) -> io::Result<()> {
        self.disk.create_directory(path)
    }

    fn remove_directory(&self, path: &str) -> io::Result<()> {
        self.disk.remove_directory(path)
    }

    fn list(&self, path: &str) -> io::Result<Vec<DirectoryEntry>> {
        self.disk.list(path)
    }

    fn sync_directory(&self, path: &str) -> io::Result<()> {
        self.disk.sync_directory(path)
    }

    fn restrict(&self, path: &str) -> io::Result<()> {
        self.disk.restrict(path)
    }

    fn random(&self, bytes: &mut [u8]) -> io::Result<()> {
        self.disk.random(bytes)
    }

    fn lock(&self) -> io::Result<Box<dyn Send + Sync>> {
        self.disk.lock()
    }

    fn clock(&self) -> &dyn Clock {
        self.disk.clock()
    }
}

struct CountedFile {
    file: Arc<dyn File>,
    counts: Arc<Counts>,
}

impl Drop for CountedFile {
    fn drop(&mut self) {
        self.counts.open.fetch_sub(1, Ordering::Relaxed);
    }
}

impl CountedFile {
    fn wrote(&self, bytes: usize, write: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
        let since = Instant::now();
        write()?;
        self.counts.writes.add(bytes as u64, since);
        Ok(())
    }

    fn did(&self, call: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
        let since = Instant::now();
        call()?;
        self.counts.others.add(0, since);
        Ok(())
    }

    fn read(&self, read: impl FnOnce() -> io::Result<usize>) -> io::Result<usize> {
        let since = Instant::now();
        let bytes = read()?;
        self.counts.reads.add(bytes as u64, since);
        Ok(bytes)
    }
}

impl File for CountedFile {
    fn read_some(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        self.read(|| self.file.read_some(offset, buffer))
    }

    fn write_some(&self, offset: u64, bytes: &[u8]) -> io::Result<usize> {
        let since = Instant::now();
        let written = self.file.write_some(offset, bytes)?;
        self.counts.writes.add(written as u64, since);
        Ok(written)
    }

    fn sync(&self) -> io::Result<()> {
        self.did(|| self.file.sync())
    }

    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }

    fn set_len(&self, bytes: u64) -> io::Result<()> {
        self.did(|| self.file.set_len(bytes))
    }

    fn allocate(&self, offset: u64, bytes: u64) -> io::Result<()> {
        self.did(|| self.file.allocate(offset, bytes))
    }

    fn punch_hole(&self, offset: u64, bytes: u64) -> io::Result<()> {
        self.did(|| self.file.punch_hole(offset, bytes))
    }

    fn facts(&self) -> io::Result<FileFacts> {
        self.file.facts()
    }

    fn allocated_bytes(&self) -> io::Result<u64> {
        self.file.allocated_bytes()
    }

    fn data_end(&self, offset: u64, bytes: u64) -> io::Result<u64> {
        self.file.data_end(offset, bytes)
    }

    fn set_name(&self, path: &str) {
        self.file.set_name(path);
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        self.read(|| self.file.read_at(offset, buffer))
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.wrote(bytes.len(), || self.file.write_at(offset, bytes))
    }

    fn write_untorn(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.wrote(bytes.len(), || self.file.write_untorn(offset, bytes))
    }

    fn expect_untorn(&self, block_bytes: usize) -> io::Result<()> {
        self.file.expect_untorn(block_bytes)
    }

    fn write_all(&self, writes: &[Write<'_>]) -> io::Result<()> {
        let bytes = writes.iter().map(|write| write.bytes.len()).sum();
        self.wrote(bytes, || self.file.write_all(writes))
    }

    fn write_durably(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.wrote(bytes.len(), || self.file.write_durably(offset, bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::sim::SimDisk;

    #[test]
    fn a_file_is_counted_under_its_name_and_keeps_its_counts_when_it_is_renamed() {
        let disk = CountedDisk::new(Arc::new(SimDisk::new(1)));
        let file = disk.open("a", OpenMode::Create, Caching::Cached).unwrap();
        file.write_at(0, &[1; 4096]).unwrap();
        file.sync().unwrap();
        file.read_at(0, &mut [0; 512]).unwrap();
        drop(file);
        disk.rename("a", "b").unwrap();
        let file = disk.open("b", OpenMode::ReadWrite, Caching::Cached).unwrap();
        file.write_durably(0, &[2; 512]).unwrap();
        let [counted] = &disk.counts().read()[..] else { panic!("one file") };
        assert_eq!((counted.path.as_str(), counted.open), ("b", 1));
        assert_eq!((counted.reads.count, counted.reads.bytes), (1, 512));
        assert_eq!((counted.writes.count, counted.writes.bytes), (2, 4608));
        assert_eq!(counted.others.count, 3);
        assert!(counted.writes.nanos_min <= counted.writes.nanos_max);
        disk.counts().clear();
        assert_eq!(disk.counts().read()[0].writes, Calls::default());
        disk.remove("b").unwrap();
        assert_eq!(disk.counts().read(), []);
    }

    #[test]
    fn calls_of_several_files_add_up() {
        let mut sum = Calls::default();
        sum.add(&Calls { count: 2, bytes: 10, nanos: 30, nanos_min: 10, nanos_max: 20 });
        sum.add(&Calls::default());
        sum.add(&Calls { count: 1, bytes: 1, nanos: 5, nanos_min: 5, nanos_max: 5 });
        assert_eq!(sum, Calls { count: 3, bytes: 11, nanos: 35, nanos_min: 5, nanos_max: 20 });
    }
}
