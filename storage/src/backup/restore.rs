//! A sink that makes a data directory.
//!
//! Pages are written to their places, rounded up to the blocks of the target filesystem; the rest of each place was
//! never written and is a hole. So the same archive takes less on a filesystem with smaller blocks. Where they are
//! smaller than the source's, pages that saved no block there are compressed once more by their file's codec.
//!
//! ```text
//! claim, marker -> files, each synced -> log under another name -> log gets its name -> marker removed
//! ```
//!
//! Invariant: until the marker is removed, no server opens the directory
//! ([`refuse_incomplete`](crate::recovery::refuse_incomplete)); it is removed last, when all else is durable.

use std::sync::Arc;

use format::ids::Lsn;
use format::page::header;
use format::transform::{self, Algorithm, Scratch, encryption};

use super::{FileHead, FileKind, Head, Item, LogHead, Sink, Totals};
use crate::error::{Error, Result};
use crate::io::{Caching, Disk, File, OpenMode, parent};
use crate::recovery::INCOMPLETE_FILE_NAME;
use crate::redo::file::BLOCK_BYTES;
use crate::redo::{Checkpoint, LogFile};
use crate::store;

/// Adjacent pages that are stored full are written together, up to this many bytes.
const WRITE_BYTES: usize = 1 << 20;

/// The text of the marker, for an operator that finds it.
const MARKER: &[u8] = b"A restore into this directory did not end. Empty it, and restore again.\n";

/// See the module header.
pub struct Restore {
    disk: Arc<dyn Disk>,
    head: Option<Head>,
    output: Option<Output>,
    log: Option<(LogFile, LogHead)>,
    totals: Option<Totals>,
    scratch: Scratch,
    encoded: Vec<u8>,
    /// Pages that became smaller on the smaller blocks of this filesystem.
    pages_encoded: u64,
    _claim: Box<dyn Send + Sync>,
}

/// The file that is being written.
struct Output {
    head: FileHead,
    file: Arc<dyn File>,
    block_bytes: usize,
    /// Adjacent bytes to be written, and their offset.
    buffer: Vec<u8>,
    buffer_offset: u64,
    /// How this file's pages are compressed, judged by those seen so far; only where encoding again may save blocks.
    encodes: bool,
    algorithm: Option<u8>,
}

/// The result of a restore.
#[derive(Clone, Copy, Debug, Default)]
pub struct Restored {
    pub totals: Totals,
    pub pages_encoded: u64,
    /// The size of the files on this device.
    pub allocated_bytes: u64,
}

impl Restore {
    /// Restores into a directory that exists and is empty.
    pub fn begin(disk: Arc<dyn Disk>) -> Result<Restore> {
        for entry in disk.list("").map_err(Error::io("list the directory to restore into"))? {
            if entry.name != "lost+found" {
                let what = format!("{} in the directory to restore into, which must be empty:", entry.name);
                return Err(Error::Exists(what.into()));
            }
        }
        let claim = store::claim(&*disk)?;
        let doing = "mark the directory to restore into";
        let marker = disk.open(INCOMPLETE_FILE_NAME, OpenMode::Create, Caching::Cached).map_err(Error::io(doing))?;
        marker.write_at(0, MARKER).and_then(|()| marker.sync()).map_err(Error::io(doing))?;
        disk.sync_directory("").map_err(Error::io(doing))?;
        Ok(Restore {
            disk,
            head: None,
            output: None,
            log: None,
            totals: None,
            scratch: Scratch::default(),
            encoded: Vec::new(),
            pages_encoded: 0,
            _claim: claim,
        })
    }

    /// Everything has been written: makes the directory one that can be opened.
    pub fn finish(self) -> Result<Restored> {
        let Some(totals) = self.totals else {
            return Err(Error::corrupt("the backup ended before its last part"));
        };
        let doing = "complete the restored directory";
        for entry in self.disk.list("").map_err(Error::io(doing))? {
            if entry.is_directory && entry.name != "lost+found" {
                self.disk.sync_directory(&entry.name).map_err(Error::io(doing))?;
            }
        }
        LogFile::publish(&*self.disk)?;
        self.disk.remove(INCOMPLETE_FILE_NAME).map_err(Error::io(doing))?;
        self.disk.sync_directory("").map_err(Error::io(doing))?;
        let allocated_bytes = self.allocated_bytes().map_err(Error::io(doing))?;
        Ok(Restored { totals, pages_encoded: self.pages_encoded, allocated_bytes })
    }

    /// Of all files but the log, which is as long as it is.
    fn allocated_bytes(&self) -> std::io::Result<u64> {
        let mut bytes = 0;
        let mut directories = vec![String::new()];
        while let Some(directory) = directories.pop() {
            for entry in self.disk.list(&directory)? {
                if entry.name == "lost+found" || entry.name == crate::redo::file::FILE_NAME {
                    continue;
                }
                let path = if directory.is_empty() { entry.name } else { format!("{directory}/{}", entry.name) };
                if entry.is_directory {
                    directories.push(path);
                } else {
                    bytes += self.disk.open(&path, OpenMode::Read, Caching::Cached)?.allocated_bytes()?;
                }
            }
        }
        Ok(bytes)
    }

    fn begin_file(&mut self, head: &FileHead) -> Result<()> {
        self.end_file()?;
        check_path(&head.path)?;
        let doing = "create a restored file";
        let directory = parent(&head.path);
        if !directory.is_empty() && !self.disk.exists(directory).map_err(Error::io(doing))? {
            self.disk.create_directory(directory).map_err(Error::io(doing))?;
        }
        let file = self.disk.open(&head.path, OpenMode::Create, Caching::Cached).map_err(Error::io(doing))?;
        // At once: XFS preallocates behind a file that grows, and would keep these blocks where the holes are to be.
        file.set_len(head.bytes).map_err(Error::io(doing))?;
        let block_bytes = file.facts().map_err(Error::io("ask for a file's block size"))?.block_bytes.max(512);
        let encodes = match head.kind {
            FileKind::Pages { block_bytes: before, .. } => block_bytes < before as usize,
            FileKind::Plain => false,
        };
        self.output = Some(Output {
            head: head.clone(),
            file,
            block_bytes,
            buffer: Vec::new(),
            buffer_offset: 0,
            encodes,
            algorithm: None,
        });
        Ok(())
    }

    fn end_file(&mut self) -> Result<()> {
        let Some(mut output) = self.output.take() else { return Ok(()) };
        output.flush()?;
        // Once more: the last page may be cut off.
        let doing = "write a restored file";
        output.file.set_len(output.head.bytes).map_err(Error::io(doing))?;
        output.file.sync().map_err(Error::io(doing))
    }

    fn page(&mut self, page: u32, stored: &[u8]) -> Result<()> {
        let (Some(head), Some(output)) = (&self.head, &mut self.output) else {
            return Err(Error::corrupt("a page of no file"));
        };
        let page_bytes = head.page_bytes as usize;
        let offset = u64::from(page) * page_bytes as u64;
        if stored.len() > page_bytes || offset >= output.head.bytes {
            return Err(Error::corrupt(format!("page {page} of {} does not fit its file", output.head.path)));
        }
        if transform::is_encoded(stored) {
            output.algorithm = Some(stored[header::TRANSFORM + 1]);
        } else if output.encodes
            && page > 0
            && !encryption::is_encrypted(stored)
            && let Some(algorithm) = output.algorithm.and_then(Algorithm::from_number)
        {
            let (block_bytes, out) = (output.block_bytes, &mut self.encoded);
            let (level, scratch) = (algorithm.usual_level(), &mut self.scratch);
            if transform::encode(stored, algorithm, level, block_bytes, scratch, out).is_some() {
                self.pages_encoded += 1;
                return output.write(offset, out, page_bytes);
            }
        }
        output.write(offset, stored, page_bytes)
    }

    fn begin_log(&mut self, log: &LogHead) -> Result<()> {
        self.end_file()?;
        let Some(head) = &self.head else { return Err(Error::corrupt("a log without a head")) };
        // The whole log of the backup, and room for what recovery may append before it ends.
        let wanted = log.end.since(log.begin) + 16 * BLOCK_BYTES as u64;
        if log.capacity.max(wanted) > CAPACITY_MAX {
            return Err(Error::corrupt("a log larger than any"));
        }
        let capacity = log.capacity.max(wanted).next_multiple_of(BLOCK_BYTES as u64);
        let checkpoint = Checkpoint {
            number: 1,
            lsn: log.begin,
            epoch: log.epoch,
            newest_epoch: log.epoch,
            clean: log.clean,
            stamps: [].into(),
        };
        let file = LogFile::prepare(&*self.disk, head.page_bytes as usize, capacity, Caching::Cached, checkpoint)?;
        self.log = Some((file, *log));
        Ok(())
    }

    fn redo(&mut self, lsn: Lsn, blocks: &[u8]) -> Result<()> {
        let Some((file, head)) = &self.log else { return Err(Error::corrupt("log before its head")) };
        let whole = lsn.0.is_multiple_of(BLOCK_BYTES as u64) && blocks.len().is_multiple_of(BLOCK_BYTES);
        let end = lsn.0.checked_add(blocks.len() as u64);
        let fits = end.is_some_and(|end| end <= head.end.0.next_multiple_of(BLOCK_BYTES as u64));
        if !whole || !fits || lsn.0 + (BLOCK_BYTES as u64) <= head.begin.0 {
            return Err(Error::corrupt("log outside of its bounds"));
        }
        file.write(lsn, blocks, false)
    }
}

/// The upper limit of a ring's size.
const CAPACITY_MAX: u64 = 1 << 40;

impl Output {
    /// Writes a page at its place, in whole blocks (a block that is larger than a page is left to the filesystem).
    fn write(&mut self, offset: u64, stored: &[u8], page_bytes: usize) -> Result<()> {
        let joins = self.buffer_offset + self.buffer.len() as u64 == offset && self.buffer.len() < WRITE_BYTES;
        if !joins {
            self.flush()?;
            self.buffer_offset = offset;
        }
        self.buffer.extend_from_slice(stored);
        // Zeros up to the block's end: the bytes read there are defined, and the file never exceeds its length.
        let padded = stored.len().next_multiple_of(self.block_bytes).min(page_bytes);
        self.buffer.resize(self.buffer.len() + padded - stored.len(), 0);
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        if !self.buffer.is_empty() {
            self.file.write_at(self.buffer_offset, &self.buffer).map_err(Error::io("write a restored file"))?;
            self.buffer.clear();
        }
        Ok(())
    }
}

/// Whether a name from an archive stays within the directory.
fn check_path(path: &str) -> Result<()> {
    let mut parts = path.split('/');
    let good = |part: &str| !part.is_empty() && part != "." && part != ".." && !part.contains('\0');
    if parts.clone().count() <= 2 && parts.all(good) {
        Ok(())
    } else {
        Err(Error::corrupt(format!("{path:?} is no name for a file of a data directory")))
    }
}

impl Sink for Restore {
    fn take(&mut self, item: Item<'_>) -> Result<()> {
        match item {
            Item::Head(head) => self.head = Some(head.clone()),
            Item::Directory(path) => {
                check_path(path)?;
                if !self.disk.exists(path).map_err(Error::io("look for a directory"))? {
                    self.disk.create_directory(path).map_err(Error::io("create a database directory"))?;
                }
            }
            Item::File(head) => self.begin_file(head)?,
            Item::Page { page, stored } => self.page(page.0, stored)?,
            Item::Bytes { offset, bytes } => {
                let Some(output) = &mut self.output else { return Err(Error::corrupt("bytes of no file")) };
                let end = offset.checked_add(bytes.len() as u64);
                if end.is_none_or(|end| end > output.head.bytes) {
                    return Err(Error::corrupt(format!("bytes behind the end of {}", output.head.path)));
                }
                output.file.write_at(offset, bytes).map_err(Error::io("write a restored file"))?;
            }
            Item::Log(head) => self.begin_log(head)?,
            Item::Redo { lsn, blocks } => self.redo(lsn, blocks)?,
            Item::End(totals) => {
                let Some((log, _)) = &self.log else { return Err(Error::corrupt("a backup without a log")) };
                log.sync()?;
                self.totals = Some(*totals);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_within_the_directory() {
        for good in ["ibdata1", "d/t.ibd", "my@0020db/a..b.ibd"] {
            check_path(good).unwrap();
        }
        for bad in ["", "/etc/passwd", "../x", "d/../x", "d//t", "a/b/c", "d/\0", "."] {
            assert!(check_path(bad).is_err(), "{bad:?}");
        }
    }
}
