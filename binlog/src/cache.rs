//! The events of a transaction until it commits.
//!
//! ```text
//!              packed: compressed, or as they are                       tail: events as they came
//!   |---------------------------|---------------------------|----------------------------------------|
//!            in the file                  in memory           at most binlog_cache_size, then packed
//!
//!   mark: where a statement or a savepoint begins. The tail is packed up to each mark that still counts, and the
//!   compressor flushed there, so that the stream can be cut.
//! ```
//!
//! With compression, events go through the compressor while the statement runs, so that COMMIT has to compress only the
//! tail. Memory is twice `memory_bytes` and what the compressor needs.
//!
//! The file is the transaction's own, and is removed when the transaction ends; but if the transaction is long, the file
//! becomes one of the log ([`Finished::begin_file`]), so that COMMIT copies nothing. It is laid out for that:
//!
//! ```text
//!   0                                                       room
//!   |  nothing, for: magic number, description,              |  events with places and checksums, or
//!   |  previous GTIDs, filler, Gtid, head of the payload     |  the packed bytes of the payload, checksum
//! ```
//!
//! It is written back and synced while the statement runs, a few megabytes behind ([`Files::sync_soon`]).
//!
//! Elsewhere events have no checksum and no end position; [`Finished`] gives them both on their way into the log.

use std::io::{self, BufReader, Cursor, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use format::binlog::payload::{self, Algorithm, Compressor};
use format::binlog::{Checksum, Crc, EventKind, HEADER_BYTES, Header, flags};
use storage::io::{Caching, Disk, File, OpenMode};
use storage::sync::{Mutex, Rank};
use storage::{Error, Result};

use crate::files::io;

/// Payloads may be at most so long, as MySQL's replicas accept them. A transaction that needs more goes on as plain events.
pub const PAYLOAD_BYTES_MAX: u64 = (1 << 30) - (64 << 10);

/// Bytes that are copied at once.
const CHUNK_BYTES: usize = 64 << 10;

/// Bytes of a transaction's file that may wait to be synced.
const SYNC_BYTES: u64 = 4 << 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheSettings {
    /// binlog_cache_size.
    pub memory_bytes: usize,
    /// The level of Zstandard; `None` = events stay as they are.
    pub compression: Option<i32>,
    pub payload_bytes_max: u64,
}

/// Where the files of long transactions are.
pub trait Files: Send + Sync {
    /// Creates a file, which has its name and this much room before the events.
    fn create(&self) -> Result<(Spilled, u64)>;

    /// A few megabytes of the file were written: another thread should sync it.
    fn sync_soon(&self, file: &Arc<Spilled>);
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
struct Spill {
    place: Arc<Spilled>,
    room: u64,
    /// Bytes behind the room, and the events that they are if they have places.
    bytes: u64,
    events: u64,
    synced: u64,
}

impl Spill {
    fn write(&mut self, bytes: &[u8], files: &dyn Files) -> Result<()> {
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
    fn write_placed(&mut self, events: &[u8], files: &dyn Files) -> Result<()> {
        let (bytes, count) = (self.bytes, self.events);
        self.write_each_placed(events, files).inspect_err(|_| self.cut(bytes, count))
    }

    fn write_each_placed(&mut self, mut events: &[u8], files: &dyn Files) -> Result<()> {
        let checksum = Checksum::Crc32.bytes() as u64;
        while !events.is_empty() {
            let mut placed = Vec::with_capacity(CHUNK_BYTES + CHUNK_BYTES / 4);
            let mut count = 0;
            while placed.len() < CHUNK_BYTES && !events.is_empty() {
                let header = Header::decode(events).map_err(damaged)?;
                let (event, rest) = events.split_at(header.bytes as usize);
                events = rest;
                let end = self.room + self.bytes + placed.len() as u64 + event.len() as u64 + checksum;
                place(event, header, end, &mut placed);
                count += 1;
            }
            self.write(&placed, files)?;
            self.events += count;
        }
        Ok(())
    }

    fn cut(&mut self, bytes: u64, events: u64) {
        (self.bytes, self.events, self.synced) = (bytes, events, self.synced.min(bytes));
    }

    fn reader(&self) -> SpillReader<'_> {
        SpillReader { file: &*self.place.file, at: self.room, end: self.room + self.bytes }
    }
}

/// Appends an event that has no checksum, with one, for its place.
fn place(event: &[u8], header: Header, end: u64, out: &mut Vec<u8>) {
    let bytes = event.len() + Checksum::Crc32.bytes();
    let start = out.len();
    // As in MySQL the field has four bytes, also beyond 4 GiB.
    let header = Header { bytes: bytes as u32, end_position: end as u32, ..header };
    out.extend_from_slice(&header.encode());
    out.extend_from_slice(&event[HEADER_BYTES..]);
    let sum = format::binlog::event::crc32(&out[start..]);
    out.extend_from_slice(&sum.to_le_bytes());
}

/// A place to which the cache can be cut.
struct Mark {
    bytes: u64,
    events: u64,
    /// The same place in the packed stream; known once it was packed.
    packed: Option<Packed>,
}

/// A place in the compressed stream.
#[derive(Clone)]
struct Packed {
    at: u64,
    /// Whether a frame is open there.
    in_frame: bool,
    crc: Crc,
}

/// See the module header.
pub struct Cache {
    files: Arc<dyn Files>,
    settings: CacheSettings,
    /// Of the transaction that is in here: it may go on as plain events.
    compression: Option<i32>,
    /// Events, and their bytes.
    events: u64,
    bytes: u64,
    tail: Vec<u8>,
    /// Compressed bytes that follow those in the file.
    packed: Vec<u8>,
    /// Of all compressed bytes.
    crc: Crc,
    spill: Option<Spill>,
    compressor: Option<Compressor>,
    /// In the order of their places: where the current statement begins, and savepoints.
    marks: Vec<Mark>,
}

impl Cache {
    pub fn new(files: Arc<dyn Files>, settings: CacheSettings) -> Cache {
        Cache {
            files,
            settings,
            compression: settings.compression,
            events: 0,
            bytes: 0,
            tail: Vec::new(),
            packed: Vec::new(),
            crc: Crc::new(),
            spill: None,
            compressor: None,
            marks: Vec::new(),
        }
    }

    /// Empties the cache. The next transaction has these settings.
    pub fn reset(&mut self, settings: CacheSettings) {
        (self.events, self.bytes) = (0, 0);
        self.tail.clear();
        self.packed.clear();
        self.tail.shrink_to(settings.memory_bytes);
        self.packed.shrink_to(settings.memory_bytes);
        self.crc = Crc::new();
        self.spill = None;
        self.marks.clear();
        self.settings = settings;
        self.compression = settings.compression;
        match &mut self.compressor {
            Some(compressor) if Some(compressor.level()) == settings.compression => compressor.reset(),
            _ => self.compressor = None,
        }
    }

    pub fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    /// Bytes of the events so far.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Appends an event whose body `write` appends.
    pub fn append(&mut self, header: Header, write: impl FnOnce(&mut Vec<u8>)) -> Result<()> {
        let before = self.tail.len();
        format::binlog::event::append(&mut self.tail, header, Checksum::None, write);
        self.events += 1;
        self.bytes += (self.tail.len() - before) as u64;
        if self.tail.len() > self.settings.memory_bytes { self.pack() } else { Ok(()) }
    }

    /// Sets a mark at the end, to be cut off from. The same place is marked once.
    pub fn mark(&mut self) -> u64 {
        if self.marks.last().is_none_or(|mark| mark.bytes < self.bytes) {
            self.marks.push(Mark { bytes: self.bytes, events: self.events, packed: None });
        }
        self.bytes
    }

    /// Forgets a mark.
    pub fn forget_mark(&mut self, place: u64) {
        self.marks.retain(|mark| mark.bytes != place);
    }

    /// Forgets all marks but these.
    pub fn keep_marks(&mut self, kept: impl Fn(u64) -> bool) {
        self.marks.retain(|mark| kept(mark.bytes));
    }

    /// Removes everything behind a mark.
    pub fn cut(&mut self, place: u64) {
        if place >= self.bytes {
            return;
        }
        if place == 0 {
            // Needs no mark: nothing is left.
            self.reset(self.settings);
            self.mark();
            return;
        }
        let at = self.marks.iter().position(|mark| mark.bytes == place).expect("a cut is at a mark");
        self.marks.truncate(at + 1);
        let mark = &self.marks[at];
        let fed = self.bytes - self.tail.len() as u64;
        (self.bytes, self.events) = (place, mark.events);
        if place >= fed {
            self.tail.truncate((place - fed) as usize);
            return;
        }
        self.tail.clear();
        if self.compression.is_none() {
            let spill = self.spill.as_mut().expect("plain events that are not in the tail are in a file");
            spill.cut(place + mark.events * Checksum::Crc32.bytes() as u64, mark.events);
            return;
        }
        let Packed { at, in_frame, crc } = mark.packed.clone().expect("a mark before the tail has been packed");
        let in_file = self.spill.as_ref().map_or(0, |spill| spill.bytes);
        self.crc = crc;
        match &mut self.spill {
            Some(spill) if at < in_file => {
                self.packed.clear();
                spill.cut(at, 0);
            }
            _ => self.packed.truncate((at - in_file) as usize),
        }
        if let Some(compressor) = &mut self.compressor {
            let before = self.packed.len();
            compressor.cut(in_frame, &mut self.packed);
            self.crc.update(&self.packed[before..]);
        }
    }

    /// Moves the tail on: through the compressor, or as it is into the file. After an error everything is still there.
    fn pack(&mut self) -> Result<()> {
        if self.compression.is_some() && self.may_be_too_long() {
            self.go_on_plain()?;
        }
        match self.compression {
            Some(level) => {
                let mut tail = std::mem::take(&mut self.tail);
                self.compress(&tail, level);
                tail.clear();
                self.tail = tail;
                if self.packed.len() <= self.settings.memory_bytes {
                    return Ok(());
                }
                spill(&mut self.spill, &*self.files)?.write(&self.packed, &*self.files)?;
                self.packed.clear();
            }
            None => {
                spill(&mut self.spill, &*self.files)?.write_placed(&self.tail, &*self.files)?;
                self.tail.clear();
            }
        }
        Ok(())
    }

    fn compress(&mut self, tail: &[u8], level: i32) {
        let mut fed = self.bytes - tail.len() as u64;
        let mut rest = tail;
        let compressor = self.compressor.get_or_insert_with(|| Compressor::new(level));
        let in_file = self.spill.as_ref().map_or(0, |spill| spill.bytes);
        let mut summed = self.packed.len();
        for mark in self.marks.iter_mut().filter(|mark| mark.packed.is_none()) {
            let (before, behind) = rest.split_at((mark.bytes - fed) as usize);
            (fed, rest) = (mark.bytes, behind);
            compressor.write(before, &mut self.packed);
            compressor.flush(&mut self.packed);
            self.crc.update(&self.packed[summed..]);
            summed = self.packed.len();
            let at = in_file + summed as u64;
            mark.packed = Some(Packed { at, in_frame: compressor.is_in_frame(), crc: self.crc.clone() });
        }
        compressor.write(rest, &mut self.packed);
        self.crc.update(&self.packed[summed..]);
    }

    /// Whether the payload could pass its limit if the tail went into it.
    fn may_be_too_long(&self) -> bool {
        let packed = self.spill.as_ref().map_or(0, |spill| spill.bytes) + self.packed.len() as u64;
        // What does not become shorter becomes a little longer; and a frame ends with a few bytes.
        packed + (self.tail.len() + self.tail.len() / 128 + CHUNK_BYTES) as u64 > self.settings.payload_bytes_max
    }

    /// Everything before the tail becomes plain events in a new file, and so does the rest of the transaction.
    fn go_on_plain(&mut self) -> Result<()> {
        let fed = self.bytes - self.tail.len() as u64;
        if fed > 0 {
            let before = self.packed.len();
            if let Some(compressor) = &mut self.compressor {
                compressor.finish(&[], &mut self.packed);
                self.crc.update(&self.packed[before..]);
            }
            let mut new = create(&*self.files)?;
            let in_file: Box<dyn Read + '_> = match &self.spill {
                Some(spill) => Box::new(spill.reader()),
                None => Box::new(io::empty()),
            };
            let source = BufReader::new(in_file.chain(Cursor::new(&self.packed[..])));
            let mut plain = payload::decompress(source).map_err(damaged)?;
            let (mut left, mut event) = (fed, Vec::new());
            while left > 0 {
                read_event(&mut plain, &mut event)?;
                new.write_placed(&event, &*self.files)?;
                left = left.saturating_sub(event.len() as u64);
            }
            drop(plain);
            self.spill = Some(new);
            self.packed.clear();
        }
        self.compression = None;
        Ok(())
    }

    /// The whole transaction. The cache is to be reset afterwards.
    pub fn finish(&mut self) -> Result<Finished> {
        if self.compression.is_some() && self.may_be_too_long() {
            self.go_on_plain()?;
        }
        let summed = self.packed.len();
        let (memory, is_payload) = match self.compression {
            Some(level) => {
                let compressor = self.compressor.get_or_insert_with(|| Compressor::new(level));
                compressor.finish(&self.tail, &mut self.packed);
                (&mut self.packed, true)
            }
            None => (&mut self.tail, false),
        };
        Ok(Finished {
            is_payload,
            events: self.events,
            plain_bytes: self.bytes,
            memory: std::mem::take(memory),
            spill: self.spill.take(),
            crc: std::mem::take(&mut self.crc),
            summed,
        })
    }
}

/// The file of a transaction, which is created if need be.
fn spill<'s>(spill: &'s mut Option<Spill>, files: &dyn Files) -> Result<&'s mut Spill> {
    match spill {
        Some(spill) => Ok(spill),
        none => Ok(none.insert(create(files)?)),
    }
}

fn create(files: &dyn Files) -> Result<Spill> {
    let (place, room) = files.create()?;
    Ok(Spill { place: Arc::new(place), room, bytes: 0, events: 0, synced: 0 })
}

/// A transaction's events, ready for the log.
pub struct Finished {
    is_payload: bool,
    events: u64,
    plain_bytes: u64,
    /// What follows the bytes in the file: packed bytes, or events without places.
    memory: Vec<u8>,
    spill: Option<Spill>,
    /// Of the packed bytes in the file and the first `summed` bytes in memory.
    crc: Crc,
    summed: usize,
}

/// Where bytes of the log go, in their order.
pub type Sink<'s> = dyn FnMut(&[u8]) -> Result<()> + 's;

/// Where a transaction is in the file that it begins: its Gtid event, what follows that, and its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Begun {
    pub gtid_at: u64,
    pub body_at: u64,
    pub end: u64,
}

impl Finished {
    /// One event that is a transaction by itself.
    pub fn single(header: Header, write: impl FnOnce(&mut Vec<u8>)) -> Finished {
        let mut memory = Vec::new();
        format::binlog::event::append(&mut memory, header, Checksum::None, write);
        Finished {
            is_payload: false,
            events: 1,
            plain_bytes: memory.len() as u64,
            memory,
            spill: None,
            crc: Crc::new(),
            summed: 0,
        }
    }

    fn in_file(&self) -> u64 {
        self.spill.as_ref().map_or(0, |spill| spill.bytes)
    }

    pub(crate) fn packed_bytes(&self) -> u64 {
        self.in_file() + self.memory.len() as u64
    }

    fn fields(&self) -> Vec<u8> {
        let mut fields = Vec::new();
        payload::Payload::encode_fields(Algorithm::Zstd, self.plain_bytes, self.packed_bytes(), &mut fields);
        fields
    }

    pub fn is_payload(&self) -> bool {
        self.is_payload
    }

    /// Bytes of its events before they were compressed.
    pub fn plain_bytes(&self) -> u64 {
        self.plain_bytes
    }

    /// Whether a part of it was in a file.
    pub fn needed_file(&self) -> bool {
        self.spill.is_some()
    }

    /// Bytes that it takes in the log, behind its Gtid event.
    pub fn log_bytes(&self) -> u64 {
        let checksum = Checksum::Crc32.bytes() as u64;
        match self.is_payload {
            true => (HEADER_BYTES + self.fields().len()) as u64 + self.packed_bytes() + checksum,
            false => self.plain_bytes + self.events * checksum,
        }
    }

    /// What stands before the packed bytes of a payload that ends at `end`. `header`: of the Gtid event in front of it.
    fn payload_head(&self, header: Header, end: u64) -> Vec<u8> {
        let header = Header {
            kind: EventKind::TRANSACTION_PAYLOAD,
            bytes: self.log_bytes() as u32,
            end_position: end as u32,
            flags: 0,
            ..header
        };
        let mut head = header.encode().to_vec();
        head.extend_from_slice(&self.fields());
        head
    }

    /// Writes it for its place in the log. `header`: of the Gtid event in front of it.
    pub fn write(&self, position: u64, header: Header, sink: &mut Sink<'_>) -> Result<()> {
        let in_file: Box<dyn Read + '_> = match &self.spill {
            Some(spill) => Box::new(BufReader::with_capacity(CHUNK_BYTES, spill.reader())),
            None => Box::new(io::empty()),
        };
        if self.is_payload {
            let head = self.payload_head(header, position + self.log_bytes());
            let mut crc = Crc::new();
            crc.update(&head);
            sink(&head)?;
            let mut packed = in_file.chain(Cursor::new(&self.memory[..]));
            copy(&mut packed, self.packed_bytes(), &mut crc, sink)?;
            return sink(&crc.sum().to_le_bytes());
        }
        // Those in the file have places in that file.
        let placed = self.spill.as_ref().map_or(0, |spill| spill.events);
        let checksum = Checksum::Crc32.bytes();
        let mut source = in_file.chain(Cursor::new(&self.memory[..]));
        let (mut position, mut event, mut out) = (position, Vec::new(), Vec::new());
        for number in 0..self.events {
            let header = read_event(&mut source, &mut event)?;
            if number < placed {
                event.truncate(event.len() - checksum);
            }
            position += (event.len() + checksum) as u64;
            out.clear();
            place(&event, header, position, &mut out);
            sink(&out)?;
        }
        Ok(())
    }

    /// Brings everything into the transaction's file and makes it durable, so that the file can become one of the log.
    pub fn settle(&mut self, files: &dyn Files) -> Result<()> {
        let spill = spill(&mut self.spill, files)?;
        if self.is_payload {
            self.crc.update(&self.memory[self.summed..]);
            spill.write(&self.memory, files)?;
        } else {
            spill.write_placed(&self.memory, files)?;
        }
        (self.memory, self.summed) = (Vec::new(), 0);
        spill.place.sync()
    }

    /// The file, if [`Finished::settle`] has brought everything into it.
    pub fn settled(&self) -> Option<&Spilled> {
        self.spill.as_ref().filter(|_| self.memory.is_empty()).map(|spill| &*spill.place)
    }

    /// Makes the settled file one of the log: `head` stands at its beginning, and the Gtid event, which has `gtid_bytes`,
    /// is all that it lacks. Durable. `header`: of the Gtid event.
    pub fn begin_file(&self, head: &[u8], gtid_bytes: u64, header: Header) -> Result<Begun> {
        let spill = self.spill.as_ref().expect("it was settled");
        let checksum = if self.is_payload { Checksum::Crc32.bytes() as u64 } else { 0 };
        let end = spill.room + spill.bytes + checksum;
        let payload = if self.is_payload { self.payload_head(header, end) } else { Vec::new() };
        let body_at = spill.room - payload.len() as u64;
        let too_long = || Error::Unsupported("more names of transactions than a binary log file has room for".into());
        let gtid_at = body_at.checked_sub(gtid_bytes).ok_or_else(too_long)?;
        let fixed = (HEADER_BYTES + Checksum::Crc32.bytes()) as u64;
        let filler = gtid_at.checked_sub(head.len() as u64 + fixed).ok_or_else(too_long)?;
        let mut front = head.to_vec();
        let header =
            Header { kind: EventKind::IGNORABLE, flags: flags::IGNORABLE, end_position: gtid_at as u32, ..header };
        format::binlog::event::append(&mut front, header, Checksum::Crc32, |out| {
            out.resize(out.len() + filler as usize, 0);
        });
        front.resize(body_at as usize, 0);
        front.extend_from_slice(&payload);
        let file = &spill.place.file;
        file.write_at(0, &front).map_err(io("write the head of a binary log"))?;
        if self.is_payload {
            let mut crc = Crc::new();
            crc.update(&payload);
            crc.join(&self.crc);
            let sum = crc.sum().to_le_bytes();
            file.write_at(spill.room + spill.bytes, &sum).map_err(io("write a transaction to the binary log"))?;
        }
        file.set_len(end).map_err(io("write a transaction to the binary log"))?;
        spill.place.sync()?;
        Ok(Begun { gtid_at, body_at, end })
    }
}

fn read_event(source: &mut dyn Read, event: &mut Vec<u8>) -> Result<Header> {
    event.resize(HEADER_BYTES, 0);
    source.read_exact(event).map_err(io("read a transaction's events"))?;
    let header = Header::decode(event).map_err(damaged)?;
    event.resize(header.bytes as usize, 0);
    source.read_exact(&mut event[HEADER_BYTES..]).map_err(io("read a transaction's events"))?;
    Ok(header)
}

fn damaged(cause: impl std::fmt::Display) -> Error {
    Error::Corrupt { page: None, what: format!("the cache of a transaction's events: {cause}").into() }
}

fn copy(source: &mut dyn Read, bytes: u64, crc: &mut Crc, sink: &mut Sink<'_>) -> Result<()> {
    let mut buffer = vec![0; CHUNK_BYTES.min(bytes as usize)];
    let mut left = bytes;
    while left > 0 {
        let part = &mut buffer[..CHUNK_BYTES.min(left as usize)];
        source.read_exact(part).map_err(io("read a transaction's events"))?;
        crc.update(part);
        sink(part)?;
        left -= part.len() as u64;
    }
    Ok(())
}

/// The bytes of a transaction in its file.
struct SpillReader<'s> {
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

#[cfg(test)]
mod tests;
