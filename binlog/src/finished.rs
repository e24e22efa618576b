//! A transaction's events on their way from its cache into the log, where they get their places and checksums.

use std::io::{BufReader, Read};

use format::binlog::payload::{self, Algorithm};
use format::binlog::{Checksum, Crc, EventKind, HEADER_BYTES, Header, event, flags};
use storage::{Error, Result};

use crate::files::io;
use crate::spill::{CHUNK_BYTES, Files, Spill, Spilled, damaged, place, put_checksum, read_event, spill};

/// A transaction's events, ready for the log.
pub struct Finished {
    pub(crate) is_payload: bool,
    pub(crate) events: u64,
    pub(crate) plain_bytes: u64,
    /// What follows the bytes in the file: packed bytes, or events without places.
    pub(crate) memory: Vec<u8>,
    pub(crate) spill: Option<Spill>,
    /// Of the packed bytes in the file and the first `summed` bytes in memory.
    pub(crate) crc: Crc,
    pub(crate) summed: usize,
}

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
        event::append(&mut memory, header, Checksum::None, write);
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

    /// Bytes that it takes in the log, behind its Gtid event, in a file of events with this checksum.
    pub fn log_bytes(&self, checksum: Checksum) -> u64 {
        let checksum = checksum.bytes() as u64;
        match self.is_payload {
            true => (HEADER_BYTES + self.fields().len()) as u64 + self.packed_bytes() + checksum,
            false => self.plain_bytes + self.events * checksum,
        }
    }

    /// What stands before the packed bytes of a payload that ends at `end`. `header`: of the Gtid event in front of it.
    fn payload_head(&self, header: Header, end: u64, checksum: Checksum) -> Vec<u8> {
        let header = Header {
            kind: EventKind::TRANSACTION_PAYLOAD,
            bytes: self.log_bytes(checksum) as u32,
            end_position: end as u32,
            flags: 0,
            ..header
        };
        let mut head = header.encode().to_vec();
        head.extend_from_slice(&self.fields());
        head
    }

    /// Appends it as it stands at its place in the log. `header`: of the Gtid event in front of it.
    pub fn append(&self, position: u64, header: Header, checksum: Checksum, out: &mut Vec<u8>) -> Result<()> {
        if self.is_payload {
            let start = out.len();
            out.extend_from_slice(&self.payload_head(header, position + self.log_bytes(checksum), checksum));
            if let Some(spill) = &self.spill {
                spill.reader().read_to_end(out).map_err(io("read a transaction's events"))?;
            }
            out.extend_from_slice(&self.memory);
            put_checksum(start, checksum, out);
            return Ok(());
        }
        let mut position = position;
        if let Some(spill) = &self.spill {
            // They have places in that file.
            let mut source = BufReader::with_capacity(CHUNK_BYTES, spill.reader());
            let mut event = Vec::new();
            for _ in 0..spill.events {
                let header = read_event(&mut source, &mut event)?;
                let bare = &event[..event.len() - spill.checksum.bytes()];
                position += (bare.len() + checksum.bytes()) as u64;
                place(bare, header, position, checksum, out);
            }
        }
        let mut rest = &self.memory[..];
        while !rest.is_empty() {
            let header = Header::decode(rest).map_err(damaged)?;
            let (event, behind) = rest.split_at(header.bytes as usize);
            position += (event.len() + checksum.bytes()) as u64;
            place(event, header, position, checksum, out);
            rest = behind;
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

    /// What the events of its file have, if it needed one.
    pub fn file_checksum(&self) -> Option<Checksum> {
        self.spill.as_ref().map(|spill| spill.checksum)
    }

    /// The file, if [`Finished::settle`] has brought everything into it.
    pub fn settled(&self) -> Option<&Spilled> {
        self.spill.as_ref().filter(|_| self.memory.is_empty()).map(|spill| &*spill.place)
    }

    /// Makes the settled file one of the log: `head` stands at its beginning, and the Gtid event, which has `gtid_bytes`,
    /// is all that it lacks. Durable. `header`: of the Gtid event.
    pub fn begin_file(&self, head: &[u8], gtid_bytes: u64, header: Header) -> Result<Begun> {
        let spill = self.spill.as_ref().expect("it was settled");
        let checksum = spill.checksum;
        let end = spill.room + spill.bytes + if self.is_payload { checksum.bytes() as u64 } else { 0 };
        let payload = if self.is_payload { self.payload_head(header, end, checksum) } else { Vec::new() };
        let body_at = spill.room - payload.len() as u64;
        let too_long = || Error::Unsupported("more names of transactions than a binary log file has room for".into());
        let gtid_at = body_at.checked_sub(gtid_bytes).ok_or_else(too_long)?;
        let fixed = (HEADER_BYTES + checksum.bytes()) as u64;
        let filler = gtid_at.checked_sub(head.len() as u64 + fixed).ok_or_else(too_long)?;
        let mut front = head.to_vec();
        let header =
            Header { kind: EventKind::IGNORABLE, flags: flags::IGNORABLE, end_position: gtid_at as u32, ..header };
        event::append(&mut front, header, checksum, |out| {
            out.resize(out.len() + filler as usize, 0);
        });
        front.resize(body_at as usize, 0);
        front.extend_from_slice(&payload);
        let file = &spill.place.file;
        file.write_at(0, &front).map_err(io("write the head of a binary log"))?;
        if self.is_payload && checksum == Checksum::Crc32 {
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
