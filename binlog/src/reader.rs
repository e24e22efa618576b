//! Reading events from a file of the log, one at a time.

use std::sync::Arc;

use format::binlog::{Checksum, Event, EventKind, FormatDescription, HEADER_BYTES, Header, MAGIC};
use storage::io::{Caching, Disk, File, OpenMode};
use storage::{Error, Result};

use crate::files::{FileName, io};

/// Bytes read at once.
const CHUNK_BYTES: usize = 64 << 10;

/// Reads the events of a file up to a limit. Memory is bounded by the longest event.
pub struct EventReader {
    file: Arc<dyn File>,
    name: FileName,
    pub description: FormatDescription,
    /// Where the next event begins.
    position: u64,
    /// Nothing from here on is read.
    limit: u64,
    buffer: Vec<u8>,
    buffer_at: u64,
}

impl EventReader {
    /// Opens a file of which only the bytes before `limit` count.
    pub fn open(disk: &dyn Disk, name: &FileName, limit: u64) -> Result<EventReader> {
        let path = name.to_string();
        let file = disk.open(&path, OpenMode::Read, Caching::Cached).map_err(io("open a binary log"))?;
        let limit = limit.min(file.len().map_err(io("read a binary log"))?);
        let mut reader = EventReader {
            file,
            name: name.clone(),
            description: FormatDescription::new("", 0, Checksum::Crc32),
            position: 0,
            limit,
            buffer: Vec::new(),
            buffer_at: 0,
        };
        if !reader.fill(MAGIC.len())? || reader.bytes(MAGIC.len()) != MAGIC {
            return Err(reader.corrupt("no binary log"));
        }
        reader.position = MAGIC.len() as u64;
        let length = reader.next_length()?.ok_or_else(|| reader.corrupt("no description"))?;
        let parsed = FormatDescription::decode(reader.bytes(length)).map(|(description, _)| description);
        reader.description = parsed.map_err(|cause| reader.corrupt(&cause.to_string()))?;
        Ok(reader)
    }

    fn corrupt(&self, what: &str) -> Error {
        Error::Corrupt { page: None, what: format!("{} at {}: {what}", self.name, self.position).into() }
    }

    pub fn position(&self) -> u64 {
        self.position
    }

    /// Goes on at this position, the beginning of an event.
    pub fn seek(&mut self, position: u64) {
        self.position = position;
    }

    /// The file has grown: what is before this limit counts too. `None` = all of the file, which is complete.
    pub fn raise_limit(&mut self, limit: Option<u64>) -> Result<()> {
        self.limit = match limit {
            Some(limit) => limit.max(self.limit),
            None => self.file.len().map_err(io("read a binary log"))?,
        };
        Ok(())
    }

    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// The header of the next event, which stays the next; `None` = the file ends here: at its limit, in the middle of an
    /// event, or where nothing was written.
    pub fn peek(&mut self) -> Result<Option<Header>> {
        if !self.fill(HEADER_BYTES)? {
            return Ok(None);
        }
        let bytes = self.bytes(HEADER_BYTES);
        if bytes.iter().all(|byte| *byte == 0) {
            return Ok(None);
        }
        let header = Header::decode(bytes).map_err(|cause| self.corrupt(&cause.to_string()))?;
        Ok((self.position + u64::from(header.bytes) <= self.limit).then_some(header))
    }

    /// Goes on by as many bytes as are at hand, at least one and at most so many, which must be before the limit.
    pub fn next_piece(&mut self, bytes_max: u64) -> Result<&[u8]> {
        let end = self.buffer_at + self.buffer.len() as u64;
        if self.position < self.buffer_at || self.position >= end {
            let wanted = bytes_max.min(CHUNK_BYTES as u64) as usize;
            if !self.fill(wanted)? {
                return Err(self.corrupt("the file is shorter than it was"));
            }
        }
        let from = (self.position - self.buffer_at) as usize;
        let count = (self.buffer.len() - from).min(usize::try_from(bytes_max).unwrap_or(usize::MAX));
        self.position += count as u64;
        Ok(&self.buffer[from..from + count])
    }

    fn bytes(&self, count: usize) -> &[u8] {
        let from = (self.position - self.buffer_at) as usize;
        &self.buffer[from..from + count]
    }

    /// Makes so many bytes at the position available. False if there are fewer.
    fn fill(&mut self, count: usize) -> Result<bool> {
        if self.position + count as u64 > self.limit {
            return Ok(false);
        }
        let end = self.buffer_at + self.buffer.len() as u64;
        if self.position >= self.buffer_at && self.position + count as u64 <= end {
            return Ok(true);
        }
        let wanted = count.max(CHUNK_BYTES).min((self.limit - self.position) as usize);
        self.buffer.resize(wanted, 0);
        self.buffer_at = self.position;
        let read = self.file.read_at(self.position, &mut self.buffer).map_err(io("read a binary log"))?;
        self.buffer.truncate(read);
        Ok(read >= count)
    }

    /// The length of the event at the position, all of which is at hand then.
    fn next_length(&mut self) -> Result<Option<usize>> {
        let Some(header) = self.peek()? else { return Ok(None) };
        let length = header.bytes as usize;
        Ok(self.fill(length)?.then_some(length))
    }

    /// The next event, with its position; `None` at the end.
    pub fn next_event(&mut self) -> Result<Option<(u64, Event<'_>)>> {
        let Some(length) = self.next_length()? else { return Ok(None) };
        let at = self.position;
        self.position += length as u64;
        let from = (at - self.buffer_at) as usize;
        // The description has a checksum whatever the other events have.
        match Event::decode(&self.buffer[from..from + length], self.description.checksum) {
            Ok(event) => Ok(Some((at, event))),
            Err(cause) => {
                self.position = at;
                Err(self.corrupt(&cause.to_string()))
            }
        }
    }

    /// The next event without the body of a payload, which may be long: only its header is looked at. `None` at the end.
    pub fn next_brief(&mut self) -> Result<Option<(u64, Option<Event<'_>>)>> {
        let Some(header) = self.peek()? else { return Ok(None) };
        if header.kind != EventKind::TRANSACTION_PAYLOAD {
            return Ok(self.next_event()?.map(|(at, event)| (at, Some(event))));
        }
        let at = self.position;
        self.position += u64::from(header.bytes);
        Ok(Some((at, None)))
    }
}
