//! The file of a transaction whose events are too long for memory.
//!
//! It is the transaction's own, and is removed when the transaction ends; but if the transaction is long, the file becomes
//! one of the log ([`crate::Finished::begin_file`]), so that COMMIT copies nothing. It is laid out for that:
//!
//! ```text
//!   0                                                       room
//!   |  nothing, for: magic number, description,              |  events with places and checksums, or
//!   |  previous GTIDs, filler, Gtid, head of the payload     |  the packed bytes of the payload, its checksum
//! ```
//!
//! It is written back and synced while the statement runs, a few megabytes behind ([`Files::sync_soon`]).

use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use format::binlog::{Checksum, HEADER_BYTES, Header};
use storage::io::{Caching, Disk, File, OpenMode};
use storage::sync::{Mutex, Rank};
use storage::{Error, Result};

use crate::compressors::Compressors;
use crate::files::io;
use crate::workers::Workers;

/// Bytes that are copied at once.
pub(crate) const CHUNK_BYTES: usize = 64 << 10;

/// Bytes of a transaction's file that may wait to be synced.
const SYNC_BYTES: u64 = 4 << 20;

/// Where the files of long transactions are.
pub trait Files: Send + Sync {
    /// Creates a file, which has its name and this much room before the events.
    fn create(&self) -> Result<(Spilled, u64)>;

    /// A few megabytes of the file were written: another thread should sync it.
    fn sync_soon(&self, file: &Arc<Spilled>);

    /// Threads that pack events beside their statements. `None`: each session packs its own, when it has collected some,
    /// so that a simulation always does the same.
    fn workers(&self) -> Option<&Arc<Workers>>;

    /// What events get in the log: a transaction's file keeps what it has begun with.
    fn checksum(&self) -> Checksum;

    /// For transactions that are packed as a whole.
    fn compressors(&self) -> &Compressors;
}

/// A file that is removed when this is dropped, unless it was kept.
///
/// After a failed sync the file is of no use, and another sync does not tell: the kernel reports an error once and marks
/// the pages clean. So all syncs pass [`Spilled::sync`], one at a time (test:
/// `a_file_whose_sync_has_failed_begins_no_log`).
pub struct Spilled {
    disk: Arc<dyn Disk>,
    pub path: String,
    pub file: Arc<dyn File>,
    kept: AtomicBool,
    sync_failed: Mutex<bool>,
}

impl Spilled {
    pub fn create(disk: Arc<dyn Disk>, path: String) -> Result<Spilled> {
        let file = disk.open(&path, OpenMode::Create, Caching::Cached);
        let file = file.map_err(io("create a file for a transaction's events"))?;
        let sync_failed = Mutex::new(Rank::CommitLog, false);
        Ok(Spilled { disk, path, file, kept: AtomicBool::new(false), sync_failed })
    }

    /// Makes durable what was written.
    pub fn sync(&self) -> Result<()> {
        let doing = "sync a transaction's events";
        let mut failed = self.sync_failed.lock();
        if *failed {
            return Err(io(doing)(io::Error::other("an earlier sync of the file has failed")));
        }
        self.file.sync().inspect_err(|_| *failed = true).map_err(io(doing))
    }

    /// The file has another name now, and stays.
    pub fn keep(&self) {
        self.kept.store(true, Ordering::Relaxed);
    }
}

impl Drop for Spilled {
    fn drop(&mut self) {
        if self.kept.load(Ordering::Relaxed) {
            return;
        }
        if let Err(cause) = self.disk.remove(&self.path) {
            tracing::warn!("cannot remove {}, the next start will: {cause}", self.path);
        }
    }
}

/// The bytes that a transaction has in its file.
pub(crate) struct Spill {
    pub place: Arc<Spilled>,
    pub room: u64,
    /// What the events have, and all of the log's file that it may become.
    pub checksum: Checksum,
    /// Bytes behind the room, and the events that they are if they have places.
    pub bytes: u64,
    pub events: u64,
    synced: u64,
    /// A buffer for events that get their places.
    placed: Vec<u8>,
}

impl Spill {
    pub fn write(&mut self, bytes: &[u8], files: &dyn Files) -> Result<()> {
        let written = self.place.file.write_at(self.room + self.bytes, bytes);
        written.map_err(io("write a transaction's events to a file"))?;
        self.bytes += bytes.len() as u64;
        if self.bytes >= self.synced + SYNC_BYTES {
            self.synced = self.bytes;
            files.sync_soon(&self.place);
        }
        Ok(())
    }

    /// Appends events as they will be in the log if the file becomes one of it.
    pub fn write_placed(&mut self, events: &[u8], files: &dyn Files) -> Result<()> {
        let (bytes, count) = (self.bytes, self.events);
        self.write_each_placed(events, files).inspect_err(|_| self.cut(bytes, count))
    }

    fn write_each_placed(&mut self, mut events: &[u8], files: &dyn Files) -> Result<()> {
        let checksum = self.checksum;
        while !events.is_empty() {
            let mut placed = std::mem::take(&mut self.placed);
            placed.clear();
            let mut count = 0;
            while placed.len() < CHUNK_BYTES && !events.is_empty() {
                let header = Header::decode(events).map_err(damaged)?;
                let (event, rest) = events.split_at(header.bytes as usize);
                events = rest;
                let end = self.room + self.bytes + placed.len() as u64 + (event.len() + checksum.bytes()) as u64;
                place(event, header, end, checksum, &mut placed);
                count += 1;
            }
            self.write(&placed, files)?;
            self.placed = placed;
            self.events += count;
        }
        Ok(())
    }

    pub fn cut(&mut self, bytes: u64, events: u64) {
        (self.bytes, self.events, self.synced) = (bytes, events, self.synced.min(bytes));
    }

    pub fn reader(&self) -> SpillReader<'_> {
        SpillReader { file: &*self.place.file, at: self.room, end: self.room + self.bytes }
    }
}

/// Appends an event that has no checksum as it is at its place.
pub(crate) fn place(event: &[u8], header: Header, end: u64, checksum: Checksum, out: &mut Vec<u8>) {
    let bytes = event.len() + checksum.bytes();
    let start = out.len();
    // As in MySQL the field has four bytes, also beyond 4 GiB.
    let header = Header { bytes: bytes as u32, end_position: end as u32, ..header };
    out.extend_from_slice(&header.encode());
    out.extend_from_slice(&event[HEADER_BYTES..]);
    put_checksum(start, checksum, out);
}

/// Appends the checksum of the event that begins at `start`, if it gets one.
pub(crate) fn put_checksum(start: usize, checksum: Checksum, out: &mut Vec<u8>) {
    if checksum == Checksum::Crc32 {
        let sum = format::binlog::event::crc32(&out[start..]);
        out.extend_from_slice(&sum.to_le_bytes());
    }
}

/// The file of a transaction, which is created if need be.
pub(crate) fn spill<'s>(spill: &'s mut Option<Spill>, files: &dyn Files) -> Result<&'s mut Spill> {
    match spill {
        Some(spill) => Ok(spill),
        none => Ok(none.insert(create(files)?)),
    }
}

pub(crate) fn create(files: &dyn Files) -> Result<Spill> {
    let (place, room) = files.create()?;
    let checksum = files.checksum();
    Ok(Spill { place: Arc::new(place), room, checksum, bytes: 0, events: 0, synced: 0, placed: Vec::new() })
}

pub(crate) fn read_event(source: &mut dyn Read, event: &mut Vec<u8>) -> Result<Header> {
    event.resize(HEADER_BYTES, 0);
    source.read_exact(event).map_err(io("read a transaction's events"))?;
    let header = Header::decode(event).map_err(damaged)?;
    event.resize(header.bytes as usize, 0);
    source.read_exact(&mut event[HEADER_BYTES..]).map_err(io("read a transaction's events"))?;
    Ok(header)
}

pub(crate) fn damaged(cause: impl std::fmt::Display) -> Error {
    Error::Corrupt { page: None, what: format!("the cache of a transaction's events: {cause}").into() }
}

/// The bytes of a transaction in its file.
pub(crate) struct SpillReader<'s> {
    file: &'s dyn File,
    at: u64,
    end: u64,
}

impl Read for SpillReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let wanted = buffer.len().min((self.end - self.at) as usize);
        if wanted == 0 {
            return Ok(0);
        }
        let read = self.file.read_some(self.at, &mut buffer[..wanted])?;
        self.at += read as u64;
        Ok(read)
    }
}
