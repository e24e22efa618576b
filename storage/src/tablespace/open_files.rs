//! Files that are open only while they are used, for a server with more tables than a process may have descriptors.
//!
//! An [`OnDemandFile`] is a `File` like any other to its users. It opens the underlying file at the first call, and
//! [`OpenFiles`] closes the least recently used ones when more are open than the limit (`innodb_open_files`).
//!
//! ```text
//!   tablespace --> OnDemandFile --> open file
//!                      |  ^ opens          ^ closes the least recently used
//!                      v  |                |
//!                   OpenFiles: how many are open, when each was used
//! ```
//!
//! Invariants:
//!
//! * A file that was changed and not synced since stays open: the kernel reports a failed write-back only to those that
//!   have the file open.
//! * A call keeps the file open to its end, even if another thread closes it meanwhile.
//! * A file that is about to lose its name ([`OnDemandFile::pin`]) is open and stays so.
//!
//! The limit is soft: where all files are in use or unsynced, more are open for a while.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

use crate::io::{Caching, Disk, File, FileFacts, OpenMode, Write};
use crate::sync::{Mutex, Rank, RwLock};

/// The files that may be open; see the module header.
pub struct OpenFiles {
    disk: Arc<dyn Disk>,
    limit: AtomicUsize,
    open: AtomicUsize,
    /// A thread is closing files.
    closing: AtomicBool,
    /// Counts uses: the time of the least-recently-used order.
    clock: AtomicU64,
    files: Mutex<Vec<Weak<OnDemandFile>>>,
}

/// A file that is open while it is used.
pub struct OnDemandFile {
    owner: Arc<OpenFiles>,
    caching: Caching,
    state: RwLock<State>,
    used: AtomicU64,
    /// Changed since the last sync.
    unsynced: AtomicBool,
    pinned: AtomicBool,
}

struct State {
    path: String,
    file: Option<Arc<dyn File>>,
}

impl OpenFiles {
    pub fn new(disk: Arc<dyn Disk>) -> Arc<OpenFiles> {
        Arc::new(OpenFiles {
            disk,
            limit: AtomicUsize::new(usize::MAX),
            open: AtomicUsize::new(0),
            closing: AtomicBool::new(false),
            clock: AtomicU64::new(0),
            files: Mutex::new(Rank::Leaf, Vec::new()),
        })
    }

    pub fn set_limit(&self, files: usize) {
        self.limit.store(files.max(1), Ordering::Relaxed);
    }

    /// Files that are open now.
    pub fn count(&self) -> usize {
        self.open.load(Ordering::Relaxed)
    }

    /// Opens or creates a file, which from here on is open on demand.
    pub fn open(self: &Arc<Self>, path: &str, mode: OpenMode, caching: Caching) -> io::Result<Arc<OnDemandFile>> {
        self.make_room();
        let file = self.disk.open(path, mode, caching)?;
        self.open.fetch_add(1, Ordering::Relaxed);
        let file = Arc::new(OnDemandFile {
            owner: self.clone(),
            caching,
            state: RwLock::new(Rank::File, State { path: path.into(), file: Some(file) }),
            used: AtomicU64::new(self.now()),
            unsynced: AtomicBool::new(mode == OpenMode::Create),
            pinned: AtomicBool::new(false),
        });
        let mut files = self.files.lock();
        if files.len() == files.capacity() {
            files.retain(|file| file.strong_count() > 0);
        }
        files.push(Arc::downgrade(&file));
        Ok(file)
    }

    fn now(&self) -> u64 {
        self.clock.fetch_add(1, Ordering::Relaxed)
    }

    /// Closes some of the least recently used files, if the limit is reached. The caller holds no file's lock.
    fn make_room(&self) {
        let limit = self.limit.load(Ordering::Relaxed);
        // One thread at a time is enough: several would each close the surplus.
        if self.count() < limit || self.closing.swap(true, Ordering::Acquire) {
            return;
        }
        let mut files: Vec<Arc<OnDemandFile>> = self.files.lock().iter().filter_map(Weak::upgrade).collect();
        files.sort_by_key(|file| file.used.load(Ordering::Relaxed));
        // A sixteenth more than necessary, so that not every opening has to search.
        let mut wanted = (self.count() + 1 + limit / 16).saturating_sub(limit);
        for file in files {
            if wanted == 0 {
                break;
            }
            wanted -= usize::from(file.close());
        }
        self.closing.store(false, Ordering::Release);
    }
}

impl OnDemandFile {
    /// The file, opened if need be.
    fn get(&self) -> io::Result<Arc<dyn File>> {
        self.used.store(self.owner.now(), Ordering::Relaxed);
        if let Some(file) = &self.state.read().file {
            return Ok(file.clone());
        }
        self.owner.make_room();
        let mut state = self.state.write();
        if let Some(file) = &state.file {
            return Ok(file.clone());
        }
        let file = self.owner.disk.open(&state.path, OpenMode::ReadWrite, self.caching)?;
        self.owner.open.fetch_add(1, Ordering::Relaxed);
        state.file = Some(file.clone());
        Ok(file)
    }

    /// The file, to be changed.
    fn get_to_change(&self) -> io::Result<Arc<dyn File>> {
        // Before the file is looked up: a thread that wants to close it sees either the flag or the use.
        self.unsynced.store(true, Ordering::SeqCst);
        self.get()
    }

    /// Closes it, unless it is in use, unsynced or pinned. True if it was open.
    fn close(&self) -> bool {
        let Some(mut state) = self.state.try_write() else { return false };
        if self.unsynced.load(Ordering::SeqCst) || self.pinned.load(Ordering::SeqCst) || state.file.take().is_none() {
            return false;
        }
        self.owner.open.fetch_sub(1, Ordering::Relaxed);
        true
    }

    /// Keeps the file open from here on, because its name will belong to another file or to none.
    pub fn pin(&self) {
        self.pinned.store(true, Ordering::SeqCst);
        // A file that cannot be opened cannot be written either.
        let _ = self.get();
    }

    /// Runs an operation that renames the file; no thread opens it meanwhile.
    pub fn rename<E>(&self, to: &str, rename: impl FnOnce() -> Result<(), E>) -> Result<(), E> {
        let mut state = self.state.write();
        rename()?;
        state.path = to.into();
        if let Some(file) = &state.file {
            file.set_name(to);
        }
        Ok(())
    }
}

impl Drop for OnDemandFile {
    fn drop(&mut self) {
        if self.state.get_mut().file.is_some() {
            self.owner.open.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

impl File for OnDemandFile {
    fn read_some(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        self.get()?.read_some(offset, buffer)
    }

    fn write_some(&self, offset: u64, bytes: &[u8]) -> io::Result<usize> {
        self.get_to_change()?.write_some(offset, bytes)
    }

    fn sync(&self) -> io::Result<()> {
        let file = self.get()?;
        self.unsynced.store(false, Ordering::SeqCst);
        file.sync().inspect_err(|_| self.unsynced.store(true, Ordering::SeqCst))
    }

    fn len(&self) -> io::Result<u64> {
        self.get()?.len()
    }

    fn set_len(&self, bytes: u64) -> io::Result<()> {
        self.get_to_change()?.set_len(bytes)
    }

    fn allocate(&self, offset: u64, bytes: u64) -> io::Result<()> {
        self.get_to_change()?.allocate(offset, bytes)
    }

    fn punch_hole(&self, offset: u64, bytes: u64) -> io::Result<()> {
        // Losing a hole does no harm: it needs no sync, so the file may be closed after it.
        self.get()?.punch_hole(offset, bytes)
    }

    fn facts(&self) -> io::Result<FileFacts> {
        self.get()?.facts()
    }

    fn allocated_bytes(&self) -> io::Result<u64> {
        self.get()?.allocated_bytes()
    }

    fn data_end(&self, offset: u64, bytes: u64) -> io::Result<u64> {
        self.get()?.data_end(offset, bytes)
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        self.get()?.read_at(offset, buffer)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.get_to_change()?.write_at(offset, bytes)
    }

    fn write_untorn(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.get_to_change()?.write_untorn(offset, bytes)
    }

    fn expect_untorn(&self, block_bytes: usize) -> io::Result<()> {
        // Changes no byte: nothing needs a sync.
        self.get()?.expect_untorn(block_bytes)
    }

    fn write_all(&self, writes: &[Write<'_>]) -> io::Result<()> {
        self.get_to_change()?.write_all(writes)
    }

    fn write_durably(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.get_to_change()?.write_durably(offset, bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::sim::SimDisk;

    #[test]
    fn the_least_recently_used_is_closed_unless_it_is_unsynced() {
        let disk = SimDisk::new(1);
        let files = OpenFiles::new(Arc::new(disk.clone()));
        files.set_limit(10);
        let open: Vec<_> = (0..30)
            .map(|index| {
                let file = files.open(&format!("{index}"), OpenMode::Create, Caching::Cached).unwrap();
                file.write_at(0, &[index; 512]).unwrap();
                if index != 3 {
                    file.sync().unwrap();
                }
                file
            })
            .collect();
        assert!(files.count() <= 10, "{} are open", files.count());
        let is_open = |index: usize| open[index].state.read().file.is_some();
        assert!(is_open(3) && is_open(29) && !is_open(4));
        // Opened again when it is used, under the name that it has by then.
        open[4].rename("renamed", || disk.rename("4", "renamed")).unwrap();
        let mut bytes = [0; 512];
        for index in [0, 4, 29] {
            open[index].read_at(0, &mut bytes).unwrap();
            assert_eq!(bytes, [index as u8; 512]);
        }
        // A pinned file outlives its name.
        open[5].pin();
        disk.remove("5").unwrap();
        for file in &open[6..20] {
            file.read_at(0, &mut bytes).unwrap();
        }
        assert!(is_open(5));
        open[5].write_at(0, &[1; 512]).unwrap();
        drop(open);
        assert_eq!(files.count(), 0);
    }
}
