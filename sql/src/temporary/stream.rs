//! Records one behind the other in a temporary file.
//!
//! ```text
//! record   length (4), bytes; it goes on in the stream's next block where one ends
//! stream   the places of its blocks, which may lie between those of other streams
//! ```

use std::sync::Arc;

use super::file::{PAYLOAD_BYTES_MAX, Spill};
use crate::error::{Error, Result};

/// Writes a stream.
pub struct Writer {
    spill: Arc<Spill>,
    block: Vec<u8>,
    places: Vec<u64>,
    records: u64,
    bytes: u64,
}

/// Records that were written.
pub struct Stream {
    spill: Arc<Spill>,
    places: Arc<[u64]>,
    pub records: u64,
    /// Of the records, without their lengths.
    pub bytes: u64,
}

/// Where a record begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Position {
    /// The number of the block in its stream.
    pub block: u32,
    /// The place in the block's payload.
    pub at: u32,
}

/// Reads a stream, from its beginning unless it is sought elsewhere.
pub struct Reader {
    spill: Arc<Spill>,
    places: Arc<[u64]>,
    /// The block that is read next; the payload is of the one before it.
    next: usize,
    payload: Vec<u8>,
    at: usize,
}

/// What a writer and a reader need in memory.
pub const BUFFER_BYTES: u64 = 16 << 10;

impl Writer {
    pub fn new(spill: &Arc<Spill>) -> Writer {
        Writer { spill: spill.clone(), block: Vec::new(), places: Vec::new(), records: 0, bytes: 0 }
    }

    /// A stream in the file of another one.
    pub fn beside(other: &Stream) -> Writer {
        Writer::new(&other.spill)
    }

    pub fn write(&mut self, record: &[u8]) -> Result<()> {
        self.append(&(record.len() as u32).to_le_bytes())?;
        self.append(record)?;
        self.records += 1;
        self.bytes += record.len() as u64;
        Ok(())
    }

    /// Where the next record will begin.
    pub fn position(&self) -> Position {
        let at = if self.block.is_empty() { 0 } else { Spill::payload_bytes(&self.block) };
        Position { block: self.places.len() as u32, at: at as u32 }
    }

    fn append(&mut self, mut bytes: &[u8]) -> Result<()> {
        while !bytes.is_empty() {
            if self.block.is_empty() {
                Spill::begin_block(&mut self.block);
            }
            let room = PAYLOAD_BYTES_MAX - Spill::payload_bytes(&self.block);
            let (now, later) = bytes.split_at(room.min(bytes.len()));
            self.block.extend_from_slice(now);
            bytes = later;
            if now.len() == room {
                self.end_block()?;
            }
        }
        Ok(())
    }

    fn end_block(&mut self) -> Result<()> {
        self.places.push(self.spill.append(&mut self.block)?);
        self.block.clear();
        Ok(())
    }

    pub fn finish(mut self) -> Result<Stream> {
        if !self.block.is_empty() {
            self.end_block()?;
        }
        Ok(Stream { spill: self.spill, places: self.places.into(), records: self.records, bytes: self.bytes })
    }
}

impl Stream {
    pub fn reader(&self) -> Reader {
        Reader { spill: self.spill.clone(), places: self.places.clone(), next: 0, payload: Vec::new(), at: 0 }
    }
}

impl Reader {
    /// Goes to where a record begins. A block that was read last is not read again.
    pub fn seek(&mut self, to: Position) -> Result<()> {
        let block = to.block as usize;
        if self.next != block + 1 || self.payload.is_empty() {
            self.next = block;
            self.next_block()?;
        }
        self.at = (to.at as usize).min(self.payload.len());
        Ok(())
    }

    /// The next record; false: there is none.
    pub fn next(&mut self, record: &mut Vec<u8>) -> Result<bool> {
        record.clear();
        if self.at == self.payload.len() && !self.next_block()? {
            return Ok(false);
        }
        self.take(4, record)?;
        let length = record.as_slice().try_into().map_or(0, u32::from_le_bytes) as usize;
        record.clear();
        self.take(length, record)?;
        Ok(true)
    }

    fn take(&mut self, mut count: usize, out: &mut Vec<u8>) -> Result<()> {
        while count > 0 {
            if self.at == self.payload.len() && !self.next_block()? {
                return Err(Error::internal("a temporary file ends within a record"));
            }
            let now = count.min(self.payload.len() - self.at);
            out.extend_from_slice(&self.payload[self.at..self.at + now]);
            self.at += now;
            count -= now;
        }
        Ok(())
    }

    fn next_block(&mut self) -> Result<bool> {
        let Some(place) = self.places.get(self.next) else { return Ok(false) };
        self.payload.clear();
        self.at = 0;
        self.spill.read(*place, &mut self.payload)?;
        self.next += 1;
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::super::file::SpillFiles;
    use super::*;

    #[test]
    fn streams_that_are_written_in_turn_keep_apart() {
        let files = SpillFiles::default();
        let spill = files.create(&|| std::env::temp_dir().display().to_string()).unwrap();
        let mut writers: Vec<Writer> = (0..3).map(|_| Writer::new(&spill)).collect();
        let text = |number: usize| format!("{number}").repeat(number * 7 % 9000).into_bytes();
        let mut positions = Vec::new();
        for number in 0..600 {
            positions.push(writers[number % 3].position());
            writers[number % 3].write(&text(number)).unwrap();
        }
        let streams: Vec<Stream> = writers.into_iter().map(|writer| writer.finish().unwrap()).collect();
        for (part, stream) in streams.iter().enumerate() {
            assert_eq!(stream.records, 200);
            for _ in 0..2 {
                let (mut reader, mut record) = (stream.reader(), Vec::new());
                for number in (part..600).step_by(3) {
                    assert!(reader.next(&mut record).unwrap());
                    assert_eq!(record, text(number));
                }
                assert!(!reader.next(&mut record).unwrap());
                for number in (part..600).step_by(3).rev().step_by(7) {
                    for number in [number, number, number.saturating_sub(3).max(part)] {
                        reader.seek(positions[number]).unwrap();
                        assert!(reader.next(&mut record).unwrap());
                        assert_eq!(record, text(number));
                    }
                }
                reader.seek(Position::default()).unwrap();
            }
        }
        let empty = Writer::new(&spill).finish().unwrap();
        assert!(!empty.reader().next(&mut Vec::new()).unwrap());
    }
}
