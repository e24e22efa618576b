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
//! tail. Memory is twice `memory_bytes` and what the compressor needs; the file is one of its own, and is removed when
//! the transaction ends.
//!
//! Events in here have no checksum and no end position; [`Finished`] gives them both on their way into the log.

use std::io::{self, BufReader, Cursor, Read};
use std::sync::Arc;

use format::binlog::payload::{self, Algorithm, Compressor};
use format::binlog::{Checksum, Crc, EventKind, HEADER_BYTES, Header};
use storage::io::{Caching, Disk, File, OpenMode};
use storage::{Error, Result};

use crate::files::io;

/// Payloads may be at most so long, as MySQL's replicas accept them; what would be longer is written as plain events.
pub const PAYLOAD_BYTES_MAX: u64 = (1 << 30) - (64 << 10);

/// Bytes that are copied at once.
const CHUNK_BYTES: usize = 64 << 10;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheSettings {
    /// binlog_cache_size.
    pub memory_bytes: usize,
    /// The level of Zstandard; `None` = events stay as they are.
    pub compression: Option<i32>,
    pub payload_bytes_max: u64,
}

/// A place to which the cache can be cut.
struct Mark {
    bytes: u64,
    events: u64,
    /// The same place in the packed stream, and whether a frame is open there; known once it was packed.
    packed: Option<(u64, bool)>,
}

/// A file that is removed when this is dropped.
struct Spill {
    disk: Arc<dyn Disk>,
    path: String,
    file: Arc<dyn File>,
}

impl Drop for Spill {
    fn drop(&mut self) {
        if let Err(cause) = self.disk.remove(&self.path) {
            tracing::warn!("cannot remove {}, the next start will: {cause}", self.path);
        }
    }
}

/// See the module header.
pub struct Cache {
    disk: Arc<dyn Disk>,
    path: String,
    settings: CacheSettings,
    /// Events, and their bytes.
    events: u64,
    bytes: u64,
    tail: Vec<u8>,
    packed: Vec<u8>,
    spill: Option<Spill>,
    /// Packed bytes in the file.
    in_file: u64,
    compressor: Option<Compressor>,
    /// In the order of their places: where the current statement begins, and savepoints.
    marks: Vec<Mark>,
}

impl Cache {
    /// `path`: of the file that a large transaction gets on `disk`.
    pub fn new(disk: Arc<dyn Disk>, path: String, settings: CacheSettings) -> Cache {
        Cache {
            disk,
            path,
            settings,
            events: 0,
            bytes: 0,
            tail: Vec::new(),
            packed: Vec::new(),
            spill: None,
            in_file: 0,
            compressor: None,
            marks: Vec::new(),
        }
    }

    /// Empties the cache. The next transaction has these settings.
    pub fn reset(&mut self, settings: CacheSettings) {
        (self.events, self.bytes, self.in_file) = (0, 0, 0);
        self.tail.clear();
        self.packed.clear();
        self.tail.shrink_to(settings.memory_bytes);
        self.packed.shrink_to(settings.memory_bytes);
        self.spill = None;
        self.marks.clear();
        self.settings = settings;
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
        if place >= fed {
            self.tail.truncate((place - fed) as usize);
        } else {
            let (packed, in_frame) = mark.packed.expect("a mark before the tail has been packed");
            self.tail.clear();
            if packed >= self.in_file {
                self.packed.truncate((packed - self.in_file) as usize);
            } else {
                self.packed.clear();
                self.in_file = packed;
            }
            if let Some(compressor) = &mut self.compressor {
                compressor.cut(in_frame, &mut self.packed);
            }
        }
        (self.bytes, self.events) = (place, mark.events);
    }

    /// Packs the tail.
    fn pack(&mut self) -> Result<()> {
        let tail = std::mem::take(&mut self.tail);
        let mut fed = self.bytes - tail.len() as u64;
        let mut rest = &tail[..];
        if let Some(level) = self.settings.compression {
            self.compressor.get_or_insert_with(|| Compressor::new(level));
        }
        for at in 0..self.marks.len() {
            let mark = &self.marks[at];
            if mark.packed.is_some() {
                continue;
            }
            let (before, behind) = rest.split_at((mark.bytes - fed) as usize);
            (fed, rest) = (mark.bytes, behind);
            let in_frame = match &mut self.compressor {
                Some(compressor) => {
                    compressor.write(before, &mut self.packed);
                    compressor.flush(&mut self.packed);
                    compressor.is_in_frame()
                }
                None => {
                    self.packed.extend_from_slice(before);
                    false
                }
            };
            self.marks[at].packed = Some((self.in_file + self.packed.len() as u64, in_frame));
        }
        match &mut self.compressor {
            Some(compressor) => compressor.write(rest, &mut self.packed),
            None => self.packed.extend_from_slice(rest),
        }
        self.tail = tail;
        self.tail.clear();
        if self.packed.len() > self.settings.memory_bytes { self.spill() } else { Ok(()) }
    }

    fn spill(&mut self) -> Result<()> {
        let spill = match &self.spill {
            Some(spill) => spill,
            None => {
                let opened = self.disk.open(&self.path, OpenMode::Create, Caching::Cached);
                let file = opened.map_err(io("create a file for a transaction's events"))?;
                self.spill.insert(Spill { disk: self.disk.clone(), path: self.path.clone(), file })
            }
        };
        spill.file.write_at(self.in_file, &self.packed).map_err(io("write a transaction's events to a file"))?;
        self.in_file += self.packed.len() as u64;
        self.packed.clear();
        Ok(())
    }

    /// The whole transaction. The cache is to be reset afterwards.
    pub fn finish(&mut self) -> Finished {
        let algorithm = match self.settings.compression {
            Some(level) => {
                let compressor = self.compressor.get_or_insert_with(|| Compressor::new(level));
                compressor.finish(&self.tail, &mut self.packed);
                Algorithm::Zstd
            }
            None => {
                self.packed.extend_from_slice(&self.tail);
                Algorithm::None
            }
        };
        Finished {
            algorithm,
            events: self.events,
            plain_bytes: self.bytes,
            payload_bytes_max: self.settings.payload_bytes_max,
            memory: std::mem::take(&mut self.packed),
            spill: self.spill.take(),
            in_file: self.in_file,
        }
    }
}

/// A transaction's events, ready for the log.
pub struct Finished {
    algorithm: Algorithm,
    events: u64,
    plain_bytes: u64,
    payload_bytes_max: u64,
    /// What follows the bytes in the file.
    memory: Vec<u8>,
    spill: Option<Spill>,
    in_file: u64,
}

/// Where bytes of the log go, in their order.
pub type Sink<'s> = dyn FnMut(&[u8]) -> Result<()> + 's;

impl Finished {
    /// One event that is a transaction by itself.
    pub fn single(header: Header, write: impl FnOnce(&mut Vec<u8>)) -> Finished {
        let mut memory = Vec::new();
        format::binlog::event::append(&mut memory, header, Checksum::None, write);
        Finished {
            algorithm: Algorithm::None,
            events: 1,
            plain_bytes: memory.len() as u64,
            payload_bytes_max: 0,
            memory,
            spill: None,
            in_file: 0,
        }
    }

    fn packed_bytes(&self) -> u64 {
        self.in_file + self.memory.len() as u64
    }

    fn is_payload(&self) -> bool {
        self.algorithm == Algorithm::Zstd && self.packed_bytes() <= self.payload_bytes_max
    }

    fn fields(&self) -> Vec<u8> {
        let mut fields = Vec::new();
        payload::Payload::encode_fields(Algorithm::Zstd, self.plain_bytes, self.packed_bytes(), &mut fields);
        fields
    }

    /// Bytes that it takes in the log, behind its Gtid event.
    pub fn log_bytes(&self) -> u64 {
        let checksum = Checksum::Crc32.bytes() as u64;
        match self.is_payload() {
            true => (HEADER_BYTES + self.fields().len()) as u64 + self.packed_bytes() + checksum,
            false => self.plain_bytes + self.events * checksum,
        }
    }

    /// Writes it for its place in the log. `header`: of the Gtid event in front of it.
    pub fn write(&self, position: u64, header: Header, sink: &mut Sink<'_>) -> Result<()> {
        let packed = PackedReader { spill: self.spill.as_ref(), left: self.in_file, at: 0 };
        let mut packed = packed.chain(Cursor::new(&self.memory[..]));
        if self.is_payload() {
            let fields = self.fields();
            let bytes = self.log_bytes();
            let header = Header {
                kind: EventKind::TRANSACTION_PAYLOAD,
                bytes: bytes as u32,
                end_position: (position + bytes) as u32,
                flags: 0,
                ..header
            };
            let mut crc = Crc::new();
            for part in [&header.encode()[..], &fields] {
                crc.update(part);
                sink(part)?;
            }
            copy(&mut packed, self.packed_bytes(), &mut crc, sink)?;
            return sink(&crc.sum().to_le_bytes());
        }
        match self.algorithm {
            Algorithm::None => self.write_plain(position, &mut packed, sink),
            Algorithm::Zstd => {
                let mut plain = payload::decompress(BufReader::new(packed)).map_err(damaged)?;
                self.write_plain(position, &mut plain, sink)
            }
        }
    }

    fn write_plain(&self, mut position: u64, source: &mut dyn Read, sink: &mut Sink<'_>) -> Result<()> {
        for _ in 0..self.events {
            let mut header = [0; HEADER_BYTES];
            source.read_exact(&mut header).map_err(io("read a transaction's events"))?;
            let header = Header::decode(&header).map_err(damaged)?;
            let body = u64::from(header.bytes) - HEADER_BYTES as u64;
            let bytes = u64::from(header.bytes) + Checksum::Crc32.bytes() as u64;
            position += bytes;
            // As in MySQL the field has four bytes, also beyond 4 GiB.
            let header = Header { bytes: bytes as u32, end_position: position as u32, ..header }.encode();
            let mut crc = Crc::new();
            crc.update(&header);
            sink(&header)?;
            copy(source, body, &mut crc, sink)?;
            sink(&crc.sum().to_le_bytes())?;
        }
        Ok(())
    }
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

/// The packed bytes in the file.
struct PackedReader<'s> {
    spill: Option<&'s Spill>,
    at: u64,
    left: u64,
}

impl Read for PackedReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let wanted = buffer.len().min(self.left as usize);
        let Some(spill) = self.spill.filter(|_| wanted > 0) else { return Ok(0) };
        let read = spill.file.read_some(self.at, &mut buffer[..wanted])?;
        self.at += read as u64;
        self.left -= read as u64;
        Ok(read)
    }
}

#[cfg(test)]
mod tests;
