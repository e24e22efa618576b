//! The archive: a backup as one stream of bytes, written and read from front to back, so that it may be a pipe.
//!
//! ```text
//! offset  bytes
//!      0     16  "GLASSINE BACKUP\n"
//!     16         chunks
//!
//! chunk:
//!      0      4  kind
//!      4      4  bytes of content, n
//!      8      8  chunk number, from 0
//!     16      4  CRC-32C of the 16 bytes before and the content
//!     20      n  content
//!
//! kind  content
//! HEAD  archive version 4, page bytes 4, created 8, running 1
//! DIRY  path
//! FILE  length 8, allocated bytes 8, kind 1 (1 pages, 0 plain), space 4, block bytes 4, path
//! PAGE  one or more of: page number 4, bytes 4, stored page
//! BYTE  offset 8, bytes
//! LOGS  begin 8, end 8, capacity 8, epoch 4, clean 1
//! REDO  LSN 8, blocks of log
//! DONE  CRC-32C of the CRCs of all chunks before 4, then the totals, 8 each
//! ```
//!
//! All numbers are big-endian. Pages and bytes belong to the last FILE.
//!
//! Invariants:
//!
//! * No part of a chunk is passed on before its checksum is verified.
//! * DONE is the last chunk, and nothing follows. Its CRC covers the number and order of all others.

use std::io::{self, Read, Write};

use format::checksum::{crc32c, crc32c_append};
use format::ids::{Lsn, PageNo, SpaceId};

use super::{FileHead, FileKind, Head, Item, LogHead, Sink, Totals};
use crate::error::{Error, Result};

const MAGIC: &[u8; 16] = b"GLASSINE BACKUP\n";
const VERSION: u32 = 1;
const CHUNK_HEADER_BYTES: usize = 20;
/// Pages are collected into a chunk up to this size.
const CHUNK_BYTES: usize = if cfg!(test) { 40 << 10 } else { 256 << 10 };
/// No LSN is that large.
const LSN_MAX: u64 = 1 << 62;
/// A chunk with a greater length is damaged.
const CHUNK_BYTES_MAX: usize = 16 << 20;
const PAGE_ENTRY_BYTES: usize = 8;

const HEAD: [u8; 4] = *b"HEAD";
const DIRECTORY: [u8; 4] = *b"DIRY";
const FILE: [u8; 4] = *b"FILE";
const PAGES: [u8; 4] = *b"PAGE";
const BYTES: [u8; 4] = *b"BYTE";
const LOG: [u8; 4] = *b"LOGS";
const REDO: [u8; 4] = *b"REDO";
const DONE: [u8; 4] = *b"DONE";

/// Writes an archive.
pub struct ArchiveWriter<W: Write> {
    out: W,
    number: u64,
    /// CRC over the CRCs of all chunks.
    chain: u32,
    bytes: u64,
    /// Pages collected until their chunk is full.
    pages: Vec<u8>,
    content: Vec<u8>,
}

fn failed(cause: io::Error) -> Error {
    Error::from_io("write the archive", cause)
}

impl<W: Write> ArchiveWriter<W> {
    pub fn new(mut out: W) -> Result<ArchiveWriter<W>> {
        out.write_all(MAGIC).map_err(failed)?;
        let bytes = MAGIC.len() as u64;
        Ok(ArchiveWriter { out, number: 0, chain: 0, bytes, pages: Vec::new(), content: Vec::new() })
    }

    /// Bytes written so far.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the underlying writer; everything has been written to it.
    pub fn finish(mut self) -> Result<W> {
        self.out.flush().map_err(failed)?;
        Ok(self.out)
    }

    fn chunk(&mut self, kind: [u8; 4], content: &[u8]) -> Result<()> {
        let mut header = [0; CHUNK_HEADER_BYTES];
        header[..4].copy_from_slice(&kind);
        header[4..8].copy_from_slice(&(content.len() as u32).to_be_bytes());
        header[8..16].copy_from_slice(&self.number.to_be_bytes());
        let crc = crc32c_append(crc32c(&header[..16]), content).to_be_bytes();
        header[16..].copy_from_slice(&crc);
        self.out.write_all(&header).and_then(|()| self.out.write_all(content)).map_err(failed)?;
        self.number += 1;
        self.chain = crc32c_append(self.chain, &crc);
        self.bytes += (CHUNK_HEADER_BYTES + content.len()) as u64;
        Ok(())
    }

    fn end_pages(&mut self) -> Result<()> {
        if self.pages.is_empty() {
            return Ok(());
        }
        let mut pages = std::mem::take(&mut self.pages);
        let written = self.chunk(PAGES, &pages);
        pages.clear();
        self.pages = pages;
        written
    }

    fn add(&mut self, page: PageNo, stored: &[u8]) -> Result<()> {
        if self.pages.len() + PAGE_ENTRY_BYTES + stored.len() > CHUNK_BYTES {
            self.end_pages()?;
        }
        self.pages.extend_from_slice(&page.0.to_be_bytes());
        self.pages.extend_from_slice(&(stored.len() as u32).to_be_bytes());
        self.pages.extend_from_slice(stored);
        Ok(())
    }
}

impl<W: Write> Sink for ArchiveWriter<W> {
    fn take(&mut self, item: Item<'_>) -> Result<()> {
        if let Item::Page { page, stored } = item {
            return self.add(page, stored);
        }
        self.end_pages()?;
        let mut content = std::mem::take(&mut self.content);
        content.clear();
        let kind = match item {
            Item::Page { .. } => unreachable!("taken above"),
            Item::Head(head) => {
                content.extend_from_slice(&VERSION.to_be_bytes());
                content.extend_from_slice(&head.page_bytes.to_be_bytes());
                content.extend_from_slice(&head.created_us.to_be_bytes());
                content.push(u8::from(head.running));
                HEAD
            }
            Item::Directory(path) => {
                content.extend_from_slice(path.as_bytes());
                DIRECTORY
            }
            Item::File(file) => {
                content.extend_from_slice(&file.bytes.to_be_bytes());
                content.extend_from_slice(&file.allocated_bytes.to_be_bytes());
                let (kind, space, block_bytes) = match file.kind {
                    FileKind::Pages { space, block_bytes } => (1, space.0, block_bytes),
                    FileKind::Plain => (0, 0, 0),
                };
                content.push(kind);
                content.extend_from_slice(&space.to_be_bytes());
                content.extend_from_slice(&block_bytes.to_be_bytes());
                content.extend_from_slice(file.path.as_bytes());
                FILE
            }
            Item::Bytes { offset, bytes } => {
                content.extend_from_slice(&offset.to_be_bytes());
                content.extend_from_slice(bytes);
                BYTES
            }
            Item::Log(log) => {
                for number in [log.begin.0, log.end.0, log.capacity] {
                    content.extend_from_slice(&number.to_be_bytes());
                }
                content.extend_from_slice(&log.epoch.to_be_bytes());
                content.push(u8::from(log.clean));
                LOG
            }
            Item::Redo { lsn, blocks } => {
                content.extend_from_slice(&lsn.0.to_be_bytes());
                content.extend_from_slice(blocks);
                REDO
            }
            Item::End(totals) => {
                content.extend_from_slice(&self.chain.to_be_bytes());
                for number in totals.numbers() {
                    content.extend_from_slice(&number.to_be_bytes());
                }
                DONE
            }
        };
        let written = self.chunk(kind, &content);
        self.content = content;
        written
    }
}

impl Totals {
    const NUMBERS: usize = 9;

    fn numbers(&self) -> [u64; Totals::NUMBERS] {
        [
            self.files,
            self.pages,
            self.logical_bytes,
            self.allocated_bytes,
            self.stored_bytes,
            self.log_bytes,
            self.end_lsn.0,
            self.pages_read_again,
            self.pages_encrypted,
        ]
    }

    fn of_numbers(numbers: [u64; Totals::NUMBERS]) -> Totals {
        let [files, pages, logical, allocated, stored, log, end, again, encrypted] = numbers;
        Totals {
            files,
            pages,
            logical_bytes: logical,
            allocated_bytes: allocated,
            stored_bytes: stored,
            log_bytes: log,
            end_lsn: Lsn(end),
            pages_read_again: again,
            pages_encrypted: encrypted,
        }
    }
}

/// Reads an archive to its end and passes its items to `sink`. An error names the position in the archive, and the
/// file.
pub fn read_archive(from: &mut dyn Read, sink: &mut dyn Sink) -> Result<Totals> {
    let mut reader = ArchiveReader { from, offset: 0, number: 0, chain: 0, file: String::new(), content: Vec::new() };
    let mut magic = [0; MAGIC.len()];
    reader.fill(&mut magic, true)?;
    if &magic != MAGIC {
        return Err(Error::corrupt("this is no archive of glassine backup"));
    }
    loop {
        let (at, kind) = reader.chunk()?;
        if let Some(totals) = reader.give(at, kind, sink)? {
            return reader.expect_end().map(|()| totals);
        }
    }
}

struct ArchiveReader<'r> {
    from: &'r mut dyn Read,
    offset: u64,
    number: u64,
    chain: u32,
    /// The file that pages belong to, for messages.
    file: String,
    content: Vec<u8>,
}

impl ArchiveReader<'_> {
    fn damaged(&self, at: u64, what: &str) -> Error {
        let file = if self.file.is_empty() { String::new() } else { format!(", in {}", self.file) };
        Error::corrupt(format!("the archive at byte {at} (chunk {}{file}): {what}", self.number))
    }

    /// Fills a buffer; an archive that ends in it was cut off.
    fn fill(&mut self, buffer: &mut [u8], begins: bool) -> Result<()> {
        let mut done = 0;
        while done < buffer.len() {
            match self.from.read(&mut buffer[done..]) {
                Ok(0) if begins && done == 0 => return Err(Error::corrupt("the archive is empty")),
                Ok(0) => return Err(self.damaged(self.offset + done as u64, "it ends here, before its last chunk")),
                Ok(count) => done += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(Error::from_io("read the archive", error)),
            }
        }
        self.offset += buffer.len() as u64;
        Ok(())
    }

    /// Reads the next chunk; its content is in `content`.
    fn chunk(&mut self) -> Result<(u64, [u8; 4])> {
        let at = self.offset;
        let mut header = [0; CHUNK_HEADER_BYTES];
        self.fill(&mut header, false)?;
        let mut fields = Fields(&header);
        let kind = fields.take::<4>()?;
        let bytes = u32::from_be_bytes(fields.take()?) as usize;
        let number = u64::from_be_bytes(fields.take()?);
        let crc: [u8; 4] = fields.take()?;
        // Before the length is trusted: the checksum covers it, but it has to be read first.
        if bytes > CHUNK_BYTES_MAX || number != self.number {
            return Err(self.damaged(at, "the head of a chunk is damaged, or a chunk is missing"));
        }
        let mut content = std::mem::take(&mut self.content);
        content.resize(bytes, 0);
        let filled = self.fill(&mut content, false);
        self.content = content;
        filled?;
        if crc32c_append(crc32c(&header[..16]), &self.content) != u32::from_be_bytes(crc) {
            return Err(self.damaged(at, "the checksum of a chunk is wrong"));
        }
        self.number += 1;
        if kind != DONE {
            self.chain = crc32c_append(self.chain, &crc);
        }
        Ok((at, kind))
    }

    /// Passes the chunk that was read to the sink. Returns the totals, if it was the last one.
    fn give(&mut self, at: u64, kind: [u8; 4], sink: &mut dyn Sink) -> Result<Option<Totals>> {
        let content = std::mem::take(&mut self.content);
        let given = self.give_content(kind, &content, sink);
        self.content = content;
        // Content that makes no sense under a right checksum was written by another version.
        given.map_err(|error| match error {
            Error::Corrupt { page: None, what } => self.damaged(at, &what),
            other => other,
        })
    }

    fn give_content(&mut self, kind: [u8; 4], content: &[u8], sink: &mut dyn Sink) -> Result<Option<Totals>> {
        let mut fields = Fields(content);
        if (self.number == 1) != (kind == HEAD) {
            return Err(Error::corrupt("an archive begins with its head, and has one"));
        }
        match kind {
            HEAD => {
                let version = u32::from_be_bytes(fields.take()?);
                if version != VERSION {
                    return Err(Error::Unsupported(format!("an archive of version {version}").into()));
                }
                let page_bytes = u32::from_be_bytes(fields.take()?);
                let created_us = u64::from_be_bytes(fields.take()?);
                let running = fields.take::<1>()? == [1];
                if !format::page::SIZES.contains(&(page_bytes as usize)) {
                    return Err(Error::corrupt("a page size that there is not"));
                }
                sink.take(Item::Head(&Head { page_bytes, created_us, running }))?;
            }
            DIRECTORY => sink.take(Item::Directory(fields.text()?))?,
            FILE => {
                let bytes = u64::from_be_bytes(fields.take()?);
                let allocated_bytes = u64::from_be_bytes(fields.take()?);
                let pages = fields.take::<1>()? == [1];
                let space = SpaceId(u32::from_be_bytes(fields.take()?));
                let block_bytes = u32::from_be_bytes(fields.take()?);
                let kind = if pages { FileKind::Pages { space, block_bytes } } else { FileKind::Plain };
                let path = fields.text()?.to_string();
                self.file.clone_from(&path);
                sink.take(Item::File(&FileHead { path, bytes, allocated_bytes, kind }))?;
            }
            PAGES => {
                while !fields.0.is_empty() {
                    let page = PageNo(u32::from_be_bytes(fields.take()?));
                    let bytes = u32::from_be_bytes(fields.take()?) as usize;
                    sink.take(Item::Page { page, stored: fields.bytes(bytes)? })?;
                }
            }
            BYTES => {
                let offset = u64::from_be_bytes(fields.take()?);
                sink.take(Item::Bytes { offset, bytes: fields.0 })?;
            }
            LOG => {
                self.file = "the redo log".into();
                let (begin, end) = (u64::from_be_bytes(fields.take()?), u64::from_be_bytes(fields.take()?));
                let capacity = u64::from_be_bytes(fields.take()?);
                let epoch = u32::from_be_bytes(fields.take()?);
                let clean = fields.take::<1>()? == [1];
                if begin > end || end > LSN_MAX || epoch > u32::MAX / 2 {
                    return Err(Error::corrupt("a log that ends before it begins, or after every other"));
                }
                sink.take(Item::Log(&LogHead { begin: Lsn(begin), end: Lsn(end), epoch, clean, capacity }))?;
            }
            REDO => {
                let lsn = Lsn(u64::from_be_bytes(fields.take()?));
                sink.take(Item::Redo { lsn, blocks: fields.0 })?;
            }
            DONE => {
                if u32::from_be_bytes(fields.take()?) != self.chain {
                    return Err(Error::corrupt("the checksum of the whole archive is wrong"));
                }
                let mut numbers = [0; Totals::NUMBERS];
                for number in &mut numbers {
                    *number = u64::from_be_bytes(fields.take()?);
                }
                let totals = Totals::of_numbers(numbers);
                sink.take(Item::End(&totals))?;
                return Ok(Some(totals));
            }
            _ => return Err(Error::corrupt("a chunk of no known kind")),
        }
        Ok(None)
    }

    fn expect_end(&mut self) -> Result<()> {
        loop {
            match self.from.read(&mut [0]) {
                Ok(0) => return Ok(()),
                Ok(_) => return Err(self.damaged(self.offset, "something follows the last chunk")),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(Error::from_io("read the archive", error)),
            }
        }
    }
}

/// Content that is parsed from its front.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn bytes(&mut self, count: usize) -> Result<&'a [u8]> {
        let (taken, rest) =
            self.0.split_at_checked(count).ok_or_else(|| Error::corrupt("a chunk is shorter than it says"))?;
        self.0 = rest;
        Ok(taken)
    }

    fn take<const N: usize>(&mut self) -> Result<[u8; N]> {
        Ok(self.bytes(N)?.try_into().expect("as many as asked for"))
    }

    fn text(&mut self) -> Result<&'a str> {
        let bytes = std::mem::take(&mut self.0);
        std::str::from_utf8(bytes).map_err(|_| Error::corrupt("a name that is no text"))
    }
}
