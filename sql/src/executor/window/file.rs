//! The rows of a partition that do not fit into memory: in a file, found by their numbers.
//!
//! ```text
//! stream   chunk of rows | chunk of rows | ...        a chunk is a record
//! chunks   number of its first row, place of the record
//! recent   the rows of the chunks that were read last
//! ```

use std::cell::RefCell;
use std::rc::Rc;

use super::row::{RowOfPartition, WindowRow};
use crate::error::{Error, Result};
use crate::executor::memory::Account;
use crate::executor::sorter::Record;
use crate::expression::record::{Source, write_bytes};
use crate::temporary::stream::BUFFER_BYTES;
use crate::temporary::{Position, Reader, Stream, Writer};

/// A chunk ends once it has so many bytes.
const CHUNK_BYTES: usize = 8 << 10;
/// How many chunks are kept: those of the current row, of both ends of a frame, and of a row at a distance, each with the
/// next one.
const RECENT: usize = 8;

/// Rows that are being written.
pub struct FileWriter {
    writer: Writer,
    chunks: Vec<(usize, Position)>,
    /// The chunk that is being filled, and how many rows there are up to its end.
    chunk: Vec<u8>,
    rows: usize,
    scratch: Vec<u8>,
}

/// See the module header.
pub struct FileRows {
    stream: Stream,
    chunks: Vec<(usize, Position)>,
    rows: usize,
    /// The number of a chunk's first row, and its rows; the one that was used last comes first.
    recent: RefCell<Vec<(usize, Rc<[WindowRow]>)>>,
    /// Reads a chunk, into the buffer beside it.
    reader: RefCell<(Reader, Vec<u8>)>,
}

impl FileWriter {
    /// Rows in a file of their own. What is needed to read and write it is added to the account.
    pub fn new(account: &mut Account<'_>) -> Result<FileWriter> {
        account.memory().count(|counts| counts.tables += 1);
        let writer = Writer::new(&account.memory().spill()?);
        account.add_anyway(BUFFER_BYTES * (RECENT as u64 + 2));
        Ok(FileWriter { writer, chunks: Vec::new(), chunk: Vec::new(), rows: 0, scratch: Vec::new() })
    }

    pub fn push(&mut self, row: &WindowRow) -> Result<()> {
        if self.chunk.is_empty() {
            self.chunks.push((self.rows, self.writer.position()));
        }
        self.scratch.clear();
        row.write(&mut self.scratch);
        write_bytes(&self.scratch, &mut self.chunk);
        self.rows += 1;
        if self.chunk.len() >= CHUNK_BYTES { self.end_chunk() } else { Ok(()) }
    }

    fn end_chunk(&mut self) -> Result<()> {
        self.writer.write(&self.chunk)?;
        self.chunk.clear();
        Ok(())
    }

    pub fn finish(mut self) -> Result<FileRows> {
        if !self.chunk.is_empty() {
            self.end_chunk()?;
        }
        let FileWriter { writer, chunks, rows, .. } = self;
        let stream = writer.finish()?;
        let reader = RefCell::new((stream.reader(), Vec::new()));
        Ok(FileRows { stream, chunks, rows, recent: RefCell::default(), reader })
    }
}

impl FileRows {
    pub fn len(&self) -> usize {
        self.rows
    }

    /// A row by its number.
    pub fn row(&self, at: usize) -> Result<RowOfPartition<'static>> {
        let mut recent = self.recent.borrow_mut();
        let found = recent.iter().position(|(first, rows)| (*first..first + rows.len()).contains(&at));
        match found {
            Some(0) => {}
            Some(place) => recent[..=place].rotate_right(1),
            None => {
                let chunk = self.chunks.partition_point(|(first, _)| *first <= at).wrapping_sub(1);
                let read = self.read(chunk)?;
                recent.truncate(RECENT - 1);
                recent.insert(0, read);
            }
        }
        let (first, rows) = &recent[0];
        if at - first >= rows.len() {
            return Err(Error::internal("a chunk of a partition lacks a row"));
        }
        Ok(RowOfPartition::File(rows.clone(), at - first))
    }

    /// Takes all rows apart, in order, until `visit` answers false.
    pub fn for_each(self, visit: &mut dyn FnMut(WindowRow) -> Result<bool>) -> Result<()> {
        let (mut reader, mut record) = (self.stream.reader(), Vec::new());
        while reader.next(&mut record)? {
            let mut source = Source(&record);
            while !source.0.is_empty() {
                if !visit(WindowRow::read(source.bytes()?)?)? {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    fn read(&self, chunk: usize) -> Result<(usize, Rc<[WindowRow]>)> {
        let Some((first, place)) = self.chunks.get(chunk) else {
            return Err(Error::internal("a row behind the end of a partition"));
        };
        let (reader, record) = &mut *self.reader.borrow_mut();
        reader.seek(*place)?;
        if !reader.next(record)? {
            return Err(Error::internal("a partition lacks a chunk"));
        }
        let mut source = Source(record);
        let mut rows = Vec::new();
        while !source.0.is_empty() {
            rows.push(WindowRow::read(source.bytes()?)?);
        }
        Ok((*first, rows.into()))
    }
}
