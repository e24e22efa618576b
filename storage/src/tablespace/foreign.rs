//! A file of pages that is none of this instance: another server has written it, or another instance. It is only read.
//!
//! Its pages may be stored in any way that `format::transform` knows, with any page size and any checksum. Nothing of it is
//! trusted: a page counts only if its checksum is right and its header has its number.

use std::sync::Arc;

use format::ids::PageNo;
use format::page::header::{self, PageType};
use format::page::space::{self, Flags};
use format::page::{self, blob, lob};
use format::transform::encryption::{self, KeyInfo};
use format::transform::{self, Scratch, mariadb};

use super::encryption::{KeyRing, SpaceKey};
use crate::error::{Error, Result};
use crate::io::{Caching, Disk, File, OpenMode};

/// See the module header.
pub struct ForeignFile {
    path: Box<str>,
    file: Arc<dyn File>,
    flags: Flags,
    page_bytes: usize,
    pages: u32,
    /// Of a file that is encrypted by a master key which this instance has.
    key: Option<SpaceKey>,
    scratch: Scratch,
    stored: Vec<u8>,
    /// The page of a long value that was read last.
    part: Vec<u8>,
}

impl ForeignFile {
    /// Opens a file and reads what its first page says. NotFound if there is none.
    pub fn open(disk: &dyn Disk, path: &str, keys: &KeyRing) -> Result<ForeignFile> {
        let file = disk.open(path, OpenMode::Read, Caching::Cached).map_err(|cause| match cause.kind() {
            std::io::ErrorKind::NotFound => Error::NotFound(path.into()),
            _ => Error::from_io("open a file to import", cause),
        })?;
        let mut first = vec![0; page::SIZES[page::SIZES.len() - 1]];
        let read = file.read_at(0, &mut first).map_err(Error::io("read a file to import"))?;
        let flags = space::flags(&first);
        let wrong = |what: String| Err(Error::Foreign(format!("{path}: {what}").into()));
        if read < page::SIZES[0] || header::page_type(&first) != PageType::FSP_HDR {
            return wrong("page 0 is not that of a tablespace".into());
        }
        if flags.is_row_compressed() {
            return Err(Error::SchemaMismatch("the file has ROW_FORMAT=COMPRESSED, which is not read".into()));
        }
        let Some(page_bytes) = flags.page_bytes() else {
            return wrong(format!("flags {:#x} of page 0 have no meaning", flags.0));
        };
        let key = KeyInfo::read(&first[..page_bytes]).map(|info| keys.open_key(path, info)).transpose()?;
        let bytes = file.len().map_err(Error::io("read a file to import"))?;
        let mut opened = ForeignFile {
            path: path.into(),
            file,
            flags,
            page_bytes,
            pages: u32::try_from(bytes.div_ceil(page_bytes as u64)).unwrap_or(u32::MAX),
            key,
            scratch: Scratch::new(),
            stored: Vec::new(),
            part: Vec::new(),
        };
        let mut plain = Vec::new();
        opened.read(PageNo(0), &mut plain)?;
        Ok(opened)
    }

    pub fn path(&self) -> &str {
        &self.path
    }

    pub fn flags(&self) -> Flags {
        self.flags
    }

    pub fn pages(&self) -> u32 {
        self.pages
    }

    /// An error about a page of the file.
    pub fn damaged(&self, page: PageNo, what: impl std::fmt::Display) -> Error {
        Error::Foreign(format!("page {page} of {}: {what}", self.path).into())
    }

    /// Reads a page as it was before it was stored. One that was never written is an error.
    pub fn read(&mut self, number: PageNo, plain: &mut Vec<u8>) -> Result<()> {
        if number.0 >= self.pages {
            return Err(self.damaged(number, "it is behind the end"));
        }
        let mut stored = std::mem::take(&mut self.stored);
        stored.resize(self.page_bytes, 0);
        let offset = u64::from(number.0) * self.page_bytes as u64;
        let outcome = match self.file.read_at(offset, &mut stored) {
            Ok(_) => self.decode(&mut stored, plain).map_err(|error| self.damaged(number, error)),
            Err(cause) => Err(Error::from_io("read a file to import", cause)),
        };
        self.stored = stored;
        outcome?;
        match header::page_no(plain) == number {
            true => Ok(()),
            false => Err(self.damaged(number, "it says that it is another page")),
        }
    }

    fn decode(&mut self, stored: &mut [u8], plain: &mut Vec<u8>) -> format::Result<()> {
        let corrupt = |what| Err(format::Error::corrupt(what, header::TYPE));
        if header::is_zero(stored) {
            return corrupt("it was never written");
        }
        plain.resize(self.page_bytes, 0);
        let full = self.flags.is_full_crc32();
        if full && mariadb::full_crc32_bytes(stored).is_some() {
            let algorithm = self.flags.full_crc32_algorithm();
            return mariadb::decode_full_crc32(stored, algorithm, &mut self.scratch, plain);
        }
        if encryption::is_encrypted(stored) {
            let Some(key) = &self.key else { return corrupt("it is encrypted, and the file does not say by what key") };
            encryption::decrypt(stored, &key.page_key)?;
        }
        if header::page_type(stored) == PageType::MARIADB_COMPRESSED_AND_ENCRYPTED {
            return corrupt("it is encrypted in MariaDB's way");
        }
        if transform::is_encoded(stored) {
            transform::decode(stored, &mut self.scratch, plain)?;
        } else if !full && mariadb::is_encoded(stored) {
            mariadb::decode(stored, &mut self.scratch, plain)?;
        } else {
            plain.copy_from_slice(stored);
        }
        header::verify_any_checksum(plain, full)
    }

    /// Appends the rest of a value to what its record has of it: all that the reference at the end of `field` stands for.
    pub fn read_long(&mut self, field: &[u8], out: &mut Vec<u8>) -> Result<()> {
        let reference = blob::Reference::read(field).map_err(|error| Error::Foreign(error.to_string().into()))?;
        // MySQL keeps flags in the upper half of the length.
        let bytes = reference.bytes as u32 as usize;
        // Parts that follow each other in a circle must not fill the memory.
        if bytes as u64 > u64::from(self.pages) * self.page_bytes as u64 {
            return Err(self.damaged(reference.page, "a long value that is longer than the file"));
        }
        let mut page = std::mem::take(&mut self.part);
        let outcome = self.read_chain(reference.page, bytes, &mut page, out);
        self.part = page;
        outcome
    }

    fn read_chain(&mut self, first: PageNo, bytes: usize, page: &mut Vec<u8>, out: &mut Vec<u8>) -> Result<()> {
        let mut left = bytes;
        if left == 0 {
            return Ok(());
        }
        self.read(first, page)?;
        if header::page_type(page) == PageType::LOB_FIRST {
            return self.read_lob(first, left, page, out);
        }
        let mut at = first;
        loop {
            let is_part = header::page_type(page) == PageType::BLOB;
            let part =
                if is_part { blob::part(page).map_err(|error| self.damaged(at, error)) } else { Ok((&[][..], at)) };
            let (part, next) = part?;
            if part.is_empty() {
                return Err(self.damaged(at, "not a part of a long value"));
            }
            let part = &part[..part.len().min(left)];
            out.extend_from_slice(part);
            left -= part.len();
            if left == 0 {
                return Ok(());
            }
            at = next;
            self.read(at, page)?;
        }
    }

    /// The same of a value that MySQL 8.0 wrote, whose first page is `page`.
    fn read_lob(&mut self, first: PageNo, bytes: usize, page: &mut Vec<u8>, out: &mut Vec<u8>) -> Result<()> {
        let mut left = bytes;
        let mut next = lob::first_entry(page).map_err(|error| self.damaged(first, error))?;
        let mut entries = (first, page.clone());
        while left > 0 {
            if next.is_null() {
                return Err(self.damaged(first, "a long value that ends too early"));
            }
            if next.page != entries.0 {
                self.read(next.page, &mut entries.1)?;
                entries.0 = next.page;
            }
            let entry = lob::entry(&entries.1, next.offset).map_err(|error| self.damaged(next.page, error))?;
            self.read(entry.page, page)?;
            let part = lob::part(page, entry.bytes.min(left)).map_err(|error| self.damaged(entry.page, error))?;
            if part.is_empty() {
                return Err(self.damaged(entry.page, "an empty part of a long value"));
            }
            out.extend_from_slice(part);
            left -= part.len();
            next = entry.next;
        }
        Ok(())
    }
}
