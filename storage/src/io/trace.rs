//! A disk that records its calls: a wrapper around any other one, for tests that show the I/O.

use std::io;
use std::sync::Arc;

use super::{Caching, Clock, DirectoryEntry, Disk, File, FileFacts, OpenMode};
use crate::sync::{Mutex, Rank};

/// Records every changing call that reaches the disk below, and every read of data, one line each.
#[derive(Clone)]
pub struct TraceDisk {
    inner: Arc<dyn Disk>,
    lines: Arc<Mutex<Vec<String>>>,
}

impl TraceDisk {
    pub fn new(inner: Arc<dyn Disk>) -> TraceDisk {
        TraceDisk { inner, lines: Arc::new(Mutex::new(Rank::Leaf, Vec::new())) }
    }

    /// The calls since the last time.
    pub fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.lines.lock())
    }

    fn note<T>(&self, result: io::Result<T>, line: String) -> io::Result<T> {
        let line = match &result {
            Ok(_) => line,
            Err(error) => format!("{line}: {error}"),
        };
        self.lines.lock().push(line);
        result
    }
}

impl Disk for TraceDisk {
    fn open(&self, path: &str, mode: OpenMode, caching: Caching) -> io::Result<Arc<dyn File>> {
        let opened = self.inner.open(path, mode, caching);
        let inner = match mode {
            OpenMode::Create => self.note(opened, format!("{path} create"))?,
            OpenMode::Read | OpenMode::ReadWrite => opened?,
        };
        Ok(Arc::new(TraceFile { disk: self.clone(), inner, name: path.into() }))
    }

    fn exists(&self, path: &str) -> io::Result<bool> {
        self.inner.exists(path)
    }

    fn remove(&self, path: &str) -> io::Result<()> {
        self.note(self.inner.remove(path), format!("{path} remove"))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.note(self.inner.rename(from, to), format!("{from} rename to {to}"))
    }

    fn create_directory(&self, path: &str) -> io::Result<()> {
        self.note(self.inner.create_directory(path), format!("{path}/ create"))
    }

    fn remove_directory(&self, path: &str) -> io::Result<()> {
        self.note(self.inner.remove_directory(path), format!("{path}/ remove"))
    }

    fn list(&self, path: &str) -> io::Result<Vec<DirectoryEntry>> {
        self.inner.list(path)
    }

    fn sync_directory(&self, path: &str) -> io::Result<()> {
        self.note(self.inner.sync_directory(path), format!("{path}/ sync"))
    }

    fn restrict(&self, path: &str) -> io::Result<()> {
        self.inner.restrict(path)
    }

    fn random(&self, bytes: &mut [u8]) -> io::Result<()> {
        self.inner.random(bytes)
    }

    fn lock(&self) -> io::Result<Box<dyn Send + Sync>> {
        self.inner.lock()
    }

    fn clock(&self) -> &dyn Clock {
        self.inner.clock()
    }
}

struct TraceFile {
    disk: TraceDisk,
    inner: Arc<dyn File>,
    name: String,
}

impl TraceFile {
    fn note<T>(&self, result: io::Result<T>, what: String) -> io::Result<T> {
        self.disk.note(result, format!("{} {what}", self.name))
    }
}

impl File for TraceFile {
    fn read_some(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let result = self.inner.read_some(offset, buffer);
        self.note(result, format!("read {offset}+{}", buffer.len()))
    }

    fn write_some(&self, offset: u64, bytes: &[u8]) -> io::Result<usize> {
        self.note(self.inner.write_some(offset, bytes), format!("write {offset}+{}", bytes.len()))
    }

    fn sync(&self) -> io::Result<()> {
        self.note(self.inner.sync(), "sync".into())
    }

    fn len(&self) -> io::Result<u64> {
        self.inner.len()
    }

    fn set_len(&self, bytes: u64) -> io::Result<()> {
        self.note(self.inner.set_len(bytes), format!("set length {bytes}"))
    }

    fn allocate(&self, offset: u64, bytes: u64) -> io::Result<()> {
        self.note(self.inner.allocate(offset, bytes), format!("allocate {offset}+{bytes}"))
    }

    fn punch_hole(&self, offset: u64, bytes: u64) -> io::Result<()> {
        self.note(self.inner.punch_hole(offset, bytes), format!("punch {offset}+{bytes}"))
    }

    fn facts(&self) -> io::Result<FileFacts> {
        self.inner.facts()
    }

    fn allocated_bytes(&self) -> io::Result<u64> {
        self.inner.allocated_bytes()
    }

    fn data_end(&self, offset: u64, bytes: u64) -> io::Result<u64> {
        self.inner.data_end(offset, bytes)
    }

    fn expect_untorn(&self, block_bytes: usize) -> io::Result<()> {
        self.inner.expect_untorn(block_bytes)
    }

    fn write_untorn(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.note(self.inner.write_untorn(offset, bytes), format!("write {offset}+{} untorn", bytes.len()))
    }

    fn write_durably(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.note(self.inner.write_durably(offset, bytes), format!("write {offset}+{}, sync", bytes.len()))
    }
}
