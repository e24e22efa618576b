//! Putting records of one layout into key order with bounded memory: runs sorted in memory, spilled to a file, merged.
//!
//! ```text
//! memory   [records ............ | places]   full -> sorted -> a run in the file
//! file     run 1 | run 2 | run 3             a record: extra bytes (2), data bytes (4), extra, data
//! merge    the smallest of the runs' heads, again and again
//! ```
//!
//! A sort that fits in memory has no file. The file is removed when the sort ends; one that a crash left behind is
//! removed by recovery.

use std::cmp::Ordering;
use std::io;
use std::sync::Arc;

use format::record::{Layout, RecordBuffer, RecordImage, compare_records};

use crate::error::{Error, Result};
use crate::io::{Caching, Disk, File, OpenMode};

/// Memory for records while they are collected.
const MEMORY_BYTES: usize = if cfg!(test) { 4 << 10 } else { 32 << 20 };
/// Memory of a run's reader.
const READ_BYTES: usize = if cfg!(test) { 512 } else { 256 << 10 };
/// How the names of sort files begin.
pub const SORT_FILE_PREFIX: &str = "#sort-";
const RECORD_HEADER_BYTES: usize = 6;

/// Collects records in any order.
pub struct Sorter<'a> {
    layout: &'a Layout,
    disk: Arc<dyn Disk>,
    path: String,
    /// Records one behind the other, as in the file.
    bytes: Vec<u8>,
    starts: Vec<u32>,
    /// Whether the next record is known to come behind all others so far: then nothing is to be sorted.
    sorted: bool,
    last: RecordBuffer,
    spill: Option<Spill>,
}

struct Spill {
    file: Arc<dyn File>,
    /// Where each run ends.
    ends: Vec<u64>,
}

fn corrupt(cause: format::Error) -> Error {
    Error::corrupt(format!("a record to be sorted: {cause}"))
}

fn put(bytes: &mut Vec<u8>, record: RecordImage<'_>) {
    bytes.extend_from_slice(&(record.extra.len() as u16).to_le_bytes());
    bytes.extend_from_slice(&(record.data.len() as u32).to_le_bytes());
    bytes.extend_from_slice(record.extra);
    bytes.extend_from_slice(record.data);
}

/// The record at the start of `bytes`, and how many bytes it takes.
fn take(bytes: &[u8]) -> Option<(RecordImage<'_>, usize)> {
    let extra = usize::from(u16::from_le_bytes(bytes.get(..2)?.try_into().ok()?));
    let data = u32::from_le_bytes(bytes.get(2..6)?.try_into().ok()?) as usize;
    let end = RECORD_HEADER_BYTES + extra + data;
    let body = bytes.get(RECORD_HEADER_BYTES..end)?;
    Some((RecordImage { info: 0, extra: &body[..extra], data: &body[extra..] }, end))
}

impl<'a> Sorter<'a> {
    /// `path` is the name of the file that may be needed; no other file may have it.
    pub fn new(layout: &'a Layout, disk: Arc<dyn Disk>, path: String) -> Sorter<'a> {
        Sorter {
            layout,
            disk,
            path,
            bytes: Vec::new(),
            starts: Vec::new(),
            sorted: true,
            last: RecordBuffer::new(),
            spill: None,
        }
    }

    pub fn push(&mut self, record: &RecordBuffer) -> Result<()> {
        if !self.starts.is_empty() && self.bytes.len() + record.size() + RECORD_HEADER_BYTES > MEMORY_BYTES {
            self.spill()?;
        }
        if self.sorted && !self.starts.is_empty() {
            let order =
                compare_records(self.layout, self.last.bytes(), self.last.origin(), record.bytes(), record.origin());
            self.sorted = order.map_err(corrupt)? != Ordering::Greater;
        }
        if self.sorted {
            self.last.set(self.layout, record.image());
        }
        self.starts.push(self.bytes.len() as u32);
        put(&mut self.bytes, record.image());
        Ok(())
    }

    /// Sorts the records in memory.
    fn sort(&mut self) -> Result<()> {
        if self.sorted {
            return Ok(());
        }
        // Records are compared as whole records, with five bytes of header before the data, so each is unpacked once
        // into an arena.
        let mut arena = Vec::with_capacity(self.bytes.len());
        let mut records = Vec::with_capacity(self.starts.len());
        let mut buffer = RecordBuffer::new();
        for &start in &self.starts {
            let (image, _) = take(&self.bytes[start as usize..]).expect("written by put");
            buffer.set(self.layout, image);
            records.push((start, arena.len() + buffer.origin()));
            arena.extend_from_slice(buffer.bytes());
        }
        let mut failed = None;
        records.sort_by(|left, right| {
            compare_records(self.layout, &arena, left.1, &arena, right.1).unwrap_or_else(|cause| {
                failed = Some(cause);
                Ordering::Equal
            })
        });
        if let Some(cause) = failed {
            return Err(corrupt(cause));
        }
        self.starts.clear();
        self.starts.extend(records.iter().map(|(start, _)| *start));
        self.sorted = true;
        Ok(())
    }

    fn spill(&mut self) -> Result<()> {
        self.sort()?;
        if self.spill.is_none() {
            if self.disk.exists(&self.path).map_err(Error::io("look for a sort file"))? {
                self.disk.remove(&self.path).map_err(Error::io("remove an old sort file"))?;
            }
            let file = self
                .disk
                .open(&self.path, OpenMode::Create, Caching::Cached)
                .map_err(Error::io("create a sort file"))?;
            self.spill = Some(Spill { file, ends: Vec::new() });
        }
        let spill = self.spill.as_mut().expect("made above");
        let mut at = spill.ends.last().copied().unwrap_or(0);
        let mut out = Vec::with_capacity(READ_BYTES);
        for (number, &start) in self.starts.iter().enumerate() {
            let (_, bytes) = take(&self.bytes[start as usize..]).expect("written by put");
            out.extend_from_slice(&self.bytes[start as usize..start as usize + bytes]);
            if out.len() >= READ_BYTES || number + 1 == self.starts.len() {
                write_all(&*spill.file, at, &out).map_err(Error::io("write a sort file"))?;
                at += out.len() as u64;
                out.clear();
            }
        }
        spill.ends.push(at);
        self.bytes.clear();
        self.starts.clear();
        self.sorted = true;
        Ok(())
    }

    /// Calls `visit` with all records in order.
    pub fn finish(mut self, visit: &mut dyn FnMut(&RecordBuffer) -> Result<()>) -> Result<()> {
        let mut buffer = RecordBuffer::new();
        if self.spill.is_none() {
            self.sort()?;
            for &start in &self.starts {
                let (image, _) = take(&self.bytes[start as usize..]).expect("written by put");
                buffer.set(self.layout, image);
                visit(&buffer)?;
            }
            return Ok(());
        }
        if !self.starts.is_empty() {
            self.spill()?;
        }
        self.bytes = Vec::new();
        let spill = self.spill.as_ref().expect("checked above");
        let mut begin = 0;
        let mut runs = Vec::new();
        for &end in &spill.ends {
            let mut run = Run { file: &*spill.file, at: begin, end, bytes: Vec::new(), from: 0, head: None };
            run.advance(self.layout)?;
            runs.push(run);
            begin = end;
        }
        // There are few runs: comparing their heads costs less than keeping them in a heap.
        loop {
            let mut smallest: Option<usize> = None;
            for (number, run) in runs.iter().enumerate() {
                let Some(head) = &run.head else { continue };
                let smaller = match smallest.and_then(|other| runs[other].head.as_ref()) {
                    None => true,
                    Some(other) => {
                        let order =
                            compare_records(self.layout, head.bytes(), head.origin(), other.bytes(), other.origin());
                        order.map_err(corrupt)? == Ordering::Less
                    }
                };
                if smaller {
                    smallest = Some(number);
                }
            }
            let Some(smallest) = smallest else { return Ok(()) };
            visit(runs[smallest].head.as_ref().expect("it was the smallest"))?;
            runs[smallest].advance(self.layout)?;
        }
    }
}

impl Drop for Sorter<'_> {
    fn drop(&mut self) {
        if self.spill.take().is_some() {
            // A file that cannot be removed now is overwritten by the next sort.
            let _ = self.disk.remove(&self.path);
        }
    }
}

/// A run being read.
struct Run<'f> {
    file: &'f dyn File,
    /// Where the unread part of the file begins.
    at: u64,
    end: u64,
    bytes: Vec<u8>,
    /// The next record in `bytes`.
    from: usize,
    head: Option<RecordBuffer>,
}

impl Run<'_> {
    fn advance(&mut self, layout: &Layout) -> Result<()> {
        loop {
            if let Some((image, bytes)) = take(&self.bytes[self.from..]) {
                self.head.get_or_insert_default().set(layout, image);
                self.from += bytes;
                return Ok(());
            }
            if self.at == self.end {
                self.head = None;
                return Ok(());
            }
            self.bytes.drain(..self.from);
            self.from = 0;
            let old = self.bytes.len();
            let more = READ_BYTES.min((self.end - self.at) as usize);
            self.bytes.resize(old + more, 0);
            read_all(self.file, self.at, &mut self.bytes[old..]).map_err(Error::io("read a sort file"))?;
            self.at += more as u64;
        }
    }
}

fn write_all(file: &dyn File, mut offset: u64, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match file.write_some(offset, bytes)? {
            0 => return Err(io::ErrorKind::WriteZero.into()),
            written => {
                offset += written as u64;
                bytes = &bytes[written..];
            }
        }
    }
    Ok(())
}

fn read_all(file: &dyn File, mut offset: u64, mut bytes: &mut [u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match file.read_some(offset, bytes)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            read => {
                offset += read as u64;
                bytes = &mut bytes[read..];
            }
        }
    }
    Ok(())
}
