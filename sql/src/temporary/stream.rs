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
    stream: Stream,
}

/// Records that were written.
pub struct Stream {
    spill: Arc<Spill>,
    places: Vec<u64>,
    pub records: u64,
    /// Of the records, without their lengths.
    pub bytes: u64,
}

/// Reads a stream from its beginning.
pub struct Reader {
    spill: Arc<Spill>,
    places: std::vec::IntoIter<u64>,
    payload: Vec<u8>,
    at: usize,
}

/// What a writer and a reader need in memory.
pub const BUFFER_BYTES: u64 = 16 << 10;

impl Writer {
    pub fn new(spill: &Arc<Spill>) -> Writer {
        let stream = Stream { spill: spill.clone(), places: Vec::new(), records: 0, bytes: 0 };
        Writer { spill: spill.clone(), block: Vec::new(), stream }
    }

    /// A stream in the file of another one.
    pub fn beside(other: &Stream) -> Writer {
        Writer::new(&other.spill)
    }

    pub fn write(&mut self, record: &[u8]) -> Result<()> {
        self.append(&(record.len() as u32).to_le_bytes())?;
        self.append(record)?;
        self.stream.records += 1;
        self.stream.bytes += record.len() as u64;
        Ok(())
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
        self.stream.places.push(self.spill.append(&mut self.block)?);
        self.block.clear();
        Ok(())
    }

    pub fn finish(mut self) -> Result<Stream> {
        if !self.block.is_empty() {
            self.end_block()?;
        }
        Ok(self.stream)
    }
}

impl Stream {
    pub fn reader(&self) -> Reader {
        let places = self.places.clone().into_iter();
        Reader { spill: self.spill.clone(), places, payload: Vec::new(), at: 0 }
    }
}

impl Reader {
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
        let Some(place) = self.places.next() else { return Ok(false) };
        self.spill.read(place, &mut self.payload)?;
        self.at = 0;
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
        for number in 0..600 {
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
            }
        }
        let empty = Writer::new(&spill).finish().unwrap();
        assert!(!empty.reader().next(&mut Vec::new()).unwrap());
    }
}
