//! A binary log as a stream of events, from a file or a pipe: one event in memory at a time.

use std::fmt;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;

use format::binlog::{Checksum, Event, EventKind, FormatDescription, HEADER_BYTES, Header, MAGIC};

/// How much is read ahead.
const BUFFER_BYTES: usize = 1 << 20;

/// Why a log cannot be read on.
#[derive(Debug)]
pub enum LogError {
    Io(io::Error),
    /// It does not begin as a binary log does.
    NotALog,
    /// The event there is damaged, or of a kind that cannot be read.
    Event {
        at: u64,
        cause: format::Error,
    },
    /// The file ends within the event there: the server was killed, or writes it just now.
    Cut {
        at: u64,
    },
}

impl fmt::Display for LogError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LogError::Io(error) => error.fmt(f),
            LogError::NotALog => f.write_str("this is no binary log: it does not begin with its magic number"),
            LogError::Event { at, cause } => write!(f, "the event at {at}: {cause}"),
            LogError::Cut { at } => write!(f, "the file ends within the event at {at}"),
        }
    }
}

impl std::error::Error for LogError {}

impl From<io::Error> for LogError {
    fn from(error: io::Error) -> LogError {
        LogError::Io(error)
    }
}

pub struct LogFile {
    source: Box<dyn Read>,
    /// Where the next event begins.
    position: u64,
    description: Option<FormatDescription>,
    event: Vec<u8>,
}

/// An event and where it begins.
pub struct Located<'a> {
    pub at: u64,
    pub event: Event<'a>,
    pub description: &'a FormatDescription,
}

impl LogFile {
    /// `-` is the standard input.
    pub fn open(path: &Path) -> Result<LogFile, LogError> {
        let source: Box<dyn Read> = match path.as_os_str() == "-" {
            true => Box::new(io::stdin()),
            false => Box::new(File::open(path)?),
        };
        LogFile::new(BufReader::with_capacity(BUFFER_BYTES, source))
    }

    fn new(mut source: impl Read + 'static) -> Result<LogFile, LogError> {
        let mut magic = [0; MAGIC.len()];
        match source.read_exact(&mut magic) {
            Ok(()) if magic == MAGIC => (),
            Ok(()) => return Err(LogError::NotALog),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Err(LogError::NotALog),
            Err(error) => return Err(error.into()),
        }
        Ok(LogFile { source: Box::new(source), position: MAGIC.len() as u64, description: None, event: Vec::new() })
    }

    /// The next event, its checksum verified; `None` at the end.
    pub fn next_event(&mut self) -> Result<Option<Located<'_>>, LogError> {
        let at = self.position;
        self.event.clear();
        if self.read(HEADER_BYTES)? == 0 {
            return Ok(None);
        }
        if self.event.len() < HEADER_BYTES {
            return Err(LogError::Cut { at });
        }
        let damaged = |cause| LogError::Event { at, cause };
        let header = Header::decode(&self.event).map_err(damaged)?;
        let rest = header.bytes as usize - HEADER_BYTES;
        if self.read(rest)? < rest {
            return Err(LogError::Cut { at });
        }
        self.position += u64::from(header.bytes);
        // A relay log has a description of its own, and then that of its source.
        if self.description.is_none() || header.kind == EventKind::FORMAT_DESCRIPTION {
            let (description, event) = FormatDescription::decode(&self.event).map_err(damaged)?;
            let description = &*self.description.insert(description);
            return Ok(Some(Located { at, event, description }));
        }
        let description = self.description.as_ref().expect("the first event is a description");
        let event = Event::decode(&self.event, description.checksum).map_err(damaged)?;
        if header.kind == EventKind::MARIADB_START_ENCRYPTION {
            return Err(damaged(format::Error::Unsupported { what: "an encrypted log: event kind", value: 164 }));
        }
        Ok(Some(Located { at, event, description }))
    }

    /// Whether events end with a checksum; after the first event.
    pub fn checksum(&self) -> Checksum {
        self.description.as_ref().map_or(Checksum::None, |description| description.checksum)
    }

    /// Reads so many bytes behind what there is of the event, or as many as there are. The buffer grows with what
    /// arrives, not with what a header promises.
    fn read(&mut self, bytes: usize) -> Result<usize, LogError> {
        Ok((&mut self.source).take(bytes as u64).read_to_end(&mut self.event)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_log_says_so() {
        for bytes in [&b""[..], b"\xFEbi", b"#!/bin/sh"] {
            assert!(matches!(LogFile::new(bytes), Err(LogError::NotALog)), "{bytes:?}");
        }
    }

    #[test]
    fn a_file_that_ends_within_an_event_names_its_place() {
        let header = Header { timestamp: 0, kind: EventKind::STOP, server_id: 1, bytes: 0, end_position: 0, flags: 0 };
        let mut bytes = MAGIC.to_vec();
        FormatDescription::new("8.0.40", 0, Checksum::Crc32).append(header, &mut bytes);
        let second = bytes.len() as u64;
        format::binlog::event::append(&mut bytes, header, Checksum::Crc32, |_| ());
        for missing in 1..23 {
            let cut: &'static [u8] = bytes[..bytes.len() - missing].to_vec().leak();
            let mut log = LogFile::new(cut).unwrap();
            assert!(log.next_event().unwrap().is_some());
            assert!(matches!(log.next_event(), Err(LogError::Cut { at }) if at == second), "{missing} bytes missing");
        }
        let mut log = LogFile::new(&*bytes.leak()).unwrap();
        assert!(log.next_event().unwrap().is_some() && log.next_event().unwrap().is_some());
        assert!(log.next_event().unwrap().is_none());
    }
}
