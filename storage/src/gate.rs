//! The gate: every write and sync passes it, and the first failure ends all writing.
//!
//! After a failed write or sync it is unknown which bytes are durable, and a retry does not tell ("Can Applications
//! Recover from fsync Failures?", USENIX ATC 2020): the kernel reports the error once and then marks the page clean. So
//! the engine is *poisoned*: from then on it only reads; a restart recovers.
//!
//! This is enforced below the engine. [`Gate`] is a [`Disk`] around the real one; the log, the tablespaces, the
//! doublewrite files and the checkpoint have no other access to a file.
//!
//! ```text
//!   cleaner      log writer     checkpoint            each call:   poisoned? -> refused
//!      \             |             /                               the system call
//!       v            v            v                                failed?   -> poison, then return the error
//!   Gate: write, sync, rename, ... with one Health                 poisoned meanwhile? -> no success
//!      |             |            |
//!      v             v            v
//!    files of the Disk below
//! ```
//!
//! Invariants:
//!
//! * A call that begins after the first failure is refused and does not reach the disk.
//! * A call that ends after the first failure is not reported as a success, though it may have been one.
//! * Poisoning comes before the failure is returned to a caller, and before another sync of the same file begins: the
//!   kernel reports an error to only one of two concurrent syncs, and the other one must not pass for a success.
//! * A thread that waits for an event which will never come is woken ([`Waiters`]). A thread that waits for a lock of a
//!   transaction looks at the health in the intervals at which it looks at its client.
//! * A thread that sees a page under a latch also sees every poisoning that came before the latch was released. So no
//!   copy of a page that a panic has left half changed can be written.
//!
//! A full disk is no failure here: nothing was lost, the caller reverts its change. A failed sync always poisons: what
//! it covered is in doubt whatever the reason was.
//!
//! Not here: files that recovery never reads, such as the runs of a sort. Their owner uses the disk below
//! (`Store::scratch_disk`), and their failure is an error of one statement.

use std::fmt;
use std::io::{self, ErrorKind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;

use crate::error::{Error, Refused, Result};
use crate::io::{Caching, Clock, DirectoryEntry, Disk, File, FileFacts, OpenMode, Write};
use crate::sync::{self, Mutex, Rank};

/// Threads that wait for an event that never comes once the instance is poisoned.
pub trait Waiters: Send + Sync {
    /// Wakes all of them; each checks the [`Health`] again. The caller may hold locks below [`Rank::LogFlush`].
    fn wake_all(&self);
}

/// Whether the instance may still write. Shared by all writers; once poisoned, for ever.
pub struct Health {
    poisoned: AtomicBool,
    waiters: Mutex<Vec<Weak<dyn Waiters>>>,
}

impl Default for Health {
    fn default() -> Health {
        Health { poisoned: AtomicBool::new(false), waiters: Mutex::new(Rank::Leaf, Vec::new()) }
    }
}

impl fmt::Debug for Health {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Health").field("poisoned", &self.is_poisoned()).finish()
    }
}

impl Health {
    #[inline]
    pub fn check(&self) -> Result<()> {
        if self.is_poisoned() { Err(Error::Poisoned) } else { Ok(()) }
    }

    #[inline]
    pub fn is_poisoned(&self) -> bool {
        self.poisoned.load(Ordering::SeqCst)
    }

    /// These waiters are woken when the instance is poisoned.
    pub fn register(&self, waiters: Weak<dyn Waiters>) {
        self.waiters.lock().push(waiters);
    }

    /// Ends all writing and wakes every waiting thread. The first reason is logged; later failures are consequences.
    pub fn poison(&self, reason: &dyn fmt::Display) {
        if self.stop_writing(reason) {
            self.wake_waiters();
        }
    }

    /// The first half of [`Health::poison`], for callers that hold a lock which a waiter needs. True if this was the first
    /// failure: then [`Health::wake_waiters`] has to follow.
    pub fn stop_writing(&self, reason: &dyn fmt::Display) -> bool {
        let first = !self.poisoned.swap(true, Ordering::SeqCst);
        if first {
            tracing::error!("nothing is written any more, restart to recover: {reason}");
        }
        first
    }

    pub fn wake_waiters(&self) {
        let waiters: Vec<_> = self.waiters.lock().iter().filter_map(Weak::upgrade).collect();
        waiters.iter().for_each(|waiters| waiters.wake_all());
    }

    /// Ends writing because the instance closes.
    pub fn close(&self) {
        self.poisoned.store(true, Ordering::SeqCst);
        self.wake_waiters();
    }

    /// Runs an undo of changes, and once more if a page could not be read: the next read may succeed, and no client
    /// should lose its transaction to a read that failed once.
    pub fn insist<T>(&self, mut undo: impl FnMut() -> Result<T>) -> Result<T> {
        match undo() {
            Err(Error::Io { .. }) if !self.is_poisoned() => undo(),
            done => done,
        }
    }

    /// Poisons if an operation on names has failed (creating, renaming), so that the log and the directory disagree. A full
    /// disk, or a name that is taken, is an ordinary error. The [`Gate`] judges writes and syncs.
    pub fn judge<T>(&self, result: Result<T>) -> Result<T> {
        if let Err(error) = &result
            && matches!(error, Error::Io { .. })
        {
            self.poison(error);
        }
        result
    }

    /// Poisons if the thread unwinds while the guard is alive: other threads may wait for its work.
    pub fn poison_on_panic<'h>(&'h self, doing: &'h str) -> PanicGuard<'h> {
        PanicGuard { health: self, doing }
    }

    /// Starts a thread of the engine. If it panics, the instance is poisoned: no thread waits for one that has ended.
    pub fn spawn(self: &Arc<Self>, name: &str, body: impl FnOnce() + Send + 'static) -> JoinHandle<()> {
        let (health, doing) = (self.clone(), name.to_owned());
        sync::spawn(name, move || {
            let _guard = health.poison_on_panic(&doing);
            body();
        })
    }
}

/// See [`Health::poison_on_panic`].
pub struct PanicGuard<'h> {
    health: &'h Health,
    doing: &'h str,
}

impl Drop for PanicGuard<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.health.poison(&format_args!("a panic in {}", self.doing));
        }
    }
}

/// See the module header.
pub struct Gate {
    disk: Arc<dyn Disk>,
    health: Arc<Health>,
}

impl Gate {
    pub fn new(disk: Arc<dyn Disk>, health: Arc<Health>) -> Gate {
        Gate { disk, health }
    }

    fn named<T>(&self, path: &str, result: io::Result<T>) -> io::Result<T> {
        result.map_err(|cause| named(path, cause))
    }

    /// Changes names, unless the instance is poisoned.
    fn change<T>(&self, path: &str, change: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        self.health.refuse()?;
        let result = self.named(path, change());
        self.health.refuse()?;
        result
    }
}

/// An error that names its file.
fn named(path: &str, cause: io::Error) -> io::Error {
    io::Error::new(cause.kind(), format!("{path}: {cause}"))
}

/// Whether a failed write leaves nothing in doubt: the disk was full, or the file cannot be written that way.
fn is_ordinary(cause: &io::Error, untorn: bool) -> bool {
    match cause.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => true,
        ErrorKind::InvalidInput | ErrorKind::Unsupported => untorn,
        _ => false,
    }
}

impl Health {
    fn refuse(&self) -> io::Result<()> {
        if self.is_poisoned() { Err(io::Error::other(Refused)) } else { Ok(()) }
    }
}

impl Disk for Gate {
    fn open(&self, path: &str, mode: OpenMode, caching: Caching) -> io::Result<Arc<dyn File>> {
        if mode == OpenMode::Create {
            self.health.refuse()?;
        }
        let file = self.disk.open(path, mode, caching)?;
        Ok(Arc::new(GatedFile {
            file,
            path: Mutex::new(Rank::Leaf, path.into()),
            health: self.health.clone(),
            syncing: Mutex::new(Rank::FileSync, ()),
        }))
    }

    fn exists(&self, path: &str) -> io::Result<bool> {
        self.disk.exists(path)
    }

    fn remove(&self, path: &str) -> io::Result<()> {
        self.change(path, || self.disk.remove(path))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.change(from, || self.disk.rename(from, to))
    }

    fn create_directory(&self, path: &str) -> io::Result<()> {
        self.change(path, || self.disk.create_directory(path))
    }

    fn remove_directory(&self, path: &str) -> io::Result<()> {
        self.change(path, || self.disk.remove_directory(path))
    }

    fn list(&self, path: &str) -> io::Result<Vec<DirectoryEntry>> {
        self.disk.list(path)
    }

    fn sync_directory(&self, path: &str) -> io::Result<()> {
        self.health.refuse()?;
        match self.disk.sync_directory(path) {
            Ok(()) => self.health.refuse(),
            Err(cause) if cause.kind() == ErrorKind::NotFound => Err(cause),
            Err(cause) => {
                let error = named(path, cause);
                self.health.poison(&format_args!("sync the directory: {error}"));
                Err(error)
            }
        }
    }

    fn restrict(&self, path: &str) -> io::Result<()> {
        self.change(path, || self.disk.restrict(path))
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

/// A file behind the gate.
struct GatedFile {
    file: Arc<dyn File>,
    /// For messages.
    path: Mutex<String>,
    health: Arc<Health>,
    /// One sync of a file at a time, including the check of its result.
    syncing: Mutex<()>,
}

impl GatedFile {
    fn named<T>(&self, result: io::Result<T>) -> io::Result<T> {
        result.map_err(|cause| named(&self.path.lock(), cause))
    }

    fn write(&self, untorn: bool, write: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
        self.health.refuse()?;
        match write() {
            Ok(()) => self.health.refuse(),
            Err(cause) if is_ordinary(&cause, untorn) => self.named(Err(cause)),
            Err(cause) => {
                let error = named(&self.path.lock(), cause);
                self.health.poison(&format_args!("write {error}"));
                Err(error)
            }
        }
    }

    fn sync_with(
        &self,
        sync: impl FnOnce() -> io::Result<()>,
        is_ordinary: impl FnOnce(&io::Error) -> bool,
    ) -> io::Result<()> {
        let syncing = self.syncing.lock();
        self.health.refuse()?;
        let cause = match sync() {
            Ok(()) => return self.health.refuse(),
            Err(cause) => cause,
        };
        let ordinary = is_ordinary(&cause);
        let first = !ordinary && self.health.stop_writing(&format_args!("sync {}: {cause}", *self.path.lock()));
        drop(syncing);
        if first {
            self.health.wake_waiters();
        }
        self.named(Err(cause))
    }
}

impl File for GatedFile {
    fn read_some(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        self.file.read_some(offset, buffer)
    }

    fn write_some(&self, offset: u64, bytes: &[u8]) -> io::Result<usize> {
        let mut written = 0;
        self.write(false, || {
            written = self.file.write_some(offset, bytes)?;
            Ok(())
        })?;
        Ok(written)
    }

    fn sync(&self) -> io::Result<()> {
        self.sync_with(|| self.file.sync(), |_| false)
    }

    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }

    fn set_len(&self, bytes: u64) -> io::Result<()> {
        self.health.refuse()?;
        self.named(self.file.set_len(bytes))
    }

    fn allocate(&self, offset: u64, bytes: u64) -> io::Result<()> {
        self.health.refuse()?;
        self.named(self.file.allocate(offset, bytes))
    }

    fn punch_hole(&self, offset: u64, bytes: u64) -> io::Result<()> {
        self.health.refuse()?;
        self.named(self.file.punch_hole(offset, bytes))
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
        *self.path.lock() = path.into();
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        self.named(self.file.read_at(offset, buffer))
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.write(false, || self.file.write_at(offset, bytes))
    }

    fn write_untorn(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.write(true, || self.file.write_untorn(offset, bytes))
    }

    fn expect_untorn(&self, block_bytes: usize) -> io::Result<()> {
        self.file.expect_untorn(block_bytes)
    }

    fn write_all(&self, writes: &[Write<'_>]) -> io::Result<()> {
        self.write(writes.iter().any(|write| write.untorn), || self.file.write_all(writes))
    }

    fn write_durably(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.sync_with(|| self.file.write_durably(offset, bytes), |cause| is_ordinary(cause, false))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::io::sim::SimDisk;

    fn file(disk: &SimDisk, name: &str) -> (Gate, Arc<dyn File>) {
        let gate = Gate::new(Arc::new(disk.clone()), Arc::default());
        let file = gate.open(name, OpenMode::Create, Caching::Cached).unwrap();
        (gate, file)
    }

    #[test]
    fn after_the_first_failure_nothing_reaches_the_disk() {
        let disk = SimDisk::new(1);
        let (gate, file) = file(&disk, "a");
        let other = gate.open("b", OpenMode::Create, Caching::Cached).unwrap();
        file.write_at(0, &[1; 512]).unwrap();
        let failing = disk.syncs() + 1;
        disk.set_faults(|faults| faults.failing_sync = Some(failing));
        let error = file.sync().unwrap_err();
        assert!(error.to_string().starts_with("a: "), "{error}");
        assert!(gate.health.is_poisoned());
        let changes = disk.changes();
        let is_refused = |result: io::Result<()>| matches!(Error::from_io("", result.unwrap_err()), Error::Poisoned);
        assert!(is_refused(file.sync()) && is_refused(other.sync()) && is_refused(gate.sync_directory("")));
        assert!(is_refused(other.write_at(0, &[2; 512])) && is_refused(other.write_durably(0, &[2; 512])));
        assert!(is_refused(other.write_all(&[])) && is_refused(other.set_len(0)) && is_refused(other.allocate(0, 1)));
        assert!(is_refused(gate.rename("a", "c")) && is_refused(gate.remove("a")));
        assert!(is_refused(gate.open("d", OpenMode::Create, Caching::Cached).map(drop)));
        assert_eq!(disk.changes(), changes);
        let mut bytes = [0; 512];
        assert_eq!(file.read_at(0, &mut bytes).unwrap(), 512, "reading goes on");
    }

    #[test]
    fn what_ends_after_the_first_failure_is_no_success() {
        let disk = SimDisk::new(1);
        let (gate, file) = file(&disk, "a");
        disk.set_faults(|faults| faults.hold_syncs = true);
        let syncing = std::thread::spawn(move || file.sync());
        std::thread::sleep(Duration::from_millis(30));
        gate.health.poison(&"somebody else's write has failed");
        disk.set_faults(|faults| faults.hold_syncs = false);
        assert!(syncing.join().unwrap().is_err());
    }

    #[test]
    fn of_two_syncs_of_a_file_none_passes_when_one_fails() {
        // The kernel reports the error to one of them; the other one waits for it.
        let disk = SimDisk::new(1);
        let (_gate, file) = file(&disk, "a");
        file.write_at(0, &[1; 512]).unwrap();
        let failing = disk.syncs() + 1;
        disk.set_faults(|faults| {
            faults.hold_syncs = true;
            faults.failing_sync = Some(failing);
        });
        let syncing: Vec<_> = (0..2)
            .map(|_| {
                let file = file.clone();
                std::thread::spawn(move || file.sync())
            })
            .collect();
        std::thread::sleep(Duration::from_millis(30));
        disk.set_faults(|faults| faults.hold_syncs = false);
        assert!(syncing.into_iter().all(|thread| thread.join().unwrap().is_err()));
    }

    #[test]
    fn a_full_disk_and_a_refused_untorn_write_are_ordinary() {
        let disk = SimDisk::new(1);
        let (gate, file) = file(&disk, "a");
        let used = disk.used_blocks();
        disk.set_faults(|faults| faults.capacity_blocks = Some(used));
        let error = file.write_at(0, &[1; 4096]).unwrap_err();
        assert!(matches!(Error::from_io("write", error), Error::DiskFull { .. }));
        assert_eq!(file.write_untorn(0, &[1; 4096]).unwrap_err().kind(), ErrorKind::Unsupported);
        assert!(!gate.health.is_poisoned());
    }

    #[test]
    fn a_thread_that_panics_poisons() {
        let health = Arc::new(Health::default());
        assert!(health.spawn("a test", || panic!("as it should")).join().is_err());
        assert!(health.is_poisoned());
    }
}
