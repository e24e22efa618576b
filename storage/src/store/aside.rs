//! Redo of damaged pages, kept beside the log.
//!
//! After a crash pages get their redo when they are read. A page of a user's table that cannot be read then would hold the
//! checkpoint for ever, until the log is full and all writes stop. So its redo is written to a file of its own, and the
//! log goes on without it. Nothing is lost: as long as the page may come back (an operator repairs the file, from a
//! copy or another disk), each start reads the file, and the page gets these records first, before those of the log.
//!
//! ```text
//!   log --> pending redo --- the page reads well ------------------> page, dirty
//!             ^       |
//!             |       +----- it is damaged --> aside, durably; then it no longer holds the checkpoint
//!             +------------------- next start -----+
//! ```
//!
//! The file is written anew, under another name, whenever it changes:
//!
//! ```text
//!   | magic | entries | crc32c | entry ...         entry: | space | page | why | groups | group ... |
//!                                                  group: | first LSN | LSN behind | records |
//! ```
//!
//! Invariants:
//!
//! * The redo is durable here before the checkpoint may pass it in the log.
//! * A page that is put aside is not read until the next start, even if its bytes become readable: it lacks changes.
//!   Once made anew, it is an ordinary page.
//! * Records are applied only to a page whose LSN is older. So they may be both here and in the log, and may stay here
//!   longer than needed.
//!
//! The same holds for all pages of a table whose file recovery cannot open: the file is missing, its page 0 does not
//! identify it, or its key is missing.
//!
//! A copy from which the page is repaired must not be older than the checkpoint that the log had when the page was put
//! aside: earlier changes are in no log any more, and no page shows that it lacks them.
//!
//! Not here: the tablespaces that every instance needs ([`is_vital`]). Recovery reads their pages before it serves.

use format::bytes::{get_u32, get_u64};
use format::checksum::crc32c;
use format::ids::{Lsn, PageId, PageNo, SpaceId};
use rustc_hash::FxHashMap;

use super::Store;
use crate::buffer::pending::Aside;
use crate::error::{Error, Result};
use crate::io::{Caching, Disk, OpenMode, parent};
use crate::sync::{Mutex, Rank};

pub const FILE_NAME: &str = "glassine.aside";
const NEW_FILE_NAME: &str = "glassine.aside.new";
const MAGIC: u32 = 0x6761_7331;
const HEADER_BYTES: usize = 12;

/// The tablespace of undo logs, with MySQL 8's number.
pub const UNDO_SPACE: SpaceId = SpaceId(0xFFFF_FFEF);

/// The redo that is put aside, as the file has it.
pub struct SetAside {
    entries: Mutex<Vec<Aside>>,
    /// Pages that were put aside and not reported yet.
    news: Mutex<Vec<(PageId, Box<str>)>>,
}

impl SetAside {
    pub fn new(found: Vec<Aside>) -> SetAside {
        SetAside { entries: Mutex::new(Rank::Space, found), news: Mutex::new(Rank::Leaf, Vec::new()) }
    }
}

impl Store {
    /// What earlier starts have put aside, and this one.
    pub fn set_aside(&self) -> Vec<Aside> {
        self.aside.entries.lock().clone()
    }

    /// Takes over what earlier starts have put aside.
    pub fn put_set_aside(&self, found: Vec<Aside>) {
        *self.aside.entries.lock() = found;
    }

    /// Puts a page aside that cannot be read: its redo is kept in the file, and reading the page is refused.
    pub fn put_aside(&self, aside: Aside) -> Result<()> {
        let (page, why) = (aside.page, aside.why.clone());
        self.keep_aside(vec![aside])?;
        if self.pool().damage().why_refused(page).is_some() {
            return Ok(());
        }
        self.pool().damage().refuse(page, &why);
        let path = self.space(page.space).map_or_else(String::new, |space| space.path().to_string());
        tracing::error!(
            "page {page} of {path} is damaged: {why}; its redo is kept in {FILE_NAME}, and the table is refused"
        );
        self.aside.news.lock().push((page, why));
        Ok(())
    }

    /// The same for the pages of a tablespace that is not open: recovery has reported why.
    pub fn put_closed_aside(&self, pages: Vec<Aside>) -> Result<()> {
        for aside in &pages {
            self.pool().damage().refuse(aside.page, &aside.why);
        }
        self.keep_aside(pages)
    }

    /// Makes redo durable beside the log.
    fn keep_aside(&self, pages: Vec<Aside>) -> Result<()> {
        let mut entries = self.aside.entries.lock();
        let mut after: FxHashMap<PageId, Aside> = entries.iter().map(|entry| (entry.page, entry.clone())).collect();
        for aside in pages {
            let Some(known) = after.get_mut(&aside.page) else {
                after.insert(aside.page, aside);
                continue;
            };
            // What is in the file already is older than what the log still has.
            let newest = known.groups.last().map_or(Lsn::ZERO, |(_, end, _)| *end);
            known.groups.extend(aside.groups.into_iter().filter(|(_, end, _)| *end > newest));
            known.why = aside.why;
        }
        let mut after: Vec<_> = after.into_values().collect();
        after.sort_by_key(|aside| aside.page);
        if *entries != after {
            write(&**self.disk(), &after)?;
            *entries = after;
        }
        Ok(())
    }

    /// Forgets pages that have received the redo put aside for them, or no longer exist.
    pub fn forget_aside(&self, pages: &[PageId]) -> Result<()> {
        if pages.is_empty() {
            return Ok(());
        }
        let mut entries = self.aside.entries.lock();
        let after: Vec<_> = entries.iter().filter(|entry| !pages.contains(&entry.page)).cloned().collect();
        write(&**self.disk(), &after)?;
        *entries = after;
        Ok(())
    }

    /// The pages that were put aside since the last call.
    pub fn take_damaged(&self) -> Vec<(PageId, Box<str>)> {
        std::mem::take(&mut self.aside.news.lock())
    }
}

/// Whether the instance cannot open without the tablespace.
pub fn is_vital(space: SpaceId) -> bool {
    space == SpaceId(0) || space == UNDO_SPACE
}

/// What earlier starts have put aside.
pub fn read(disk: &dyn Disk) -> Result<Vec<Aside>> {
    if !disk.exists(FILE_NAME).map_err(Error::io("look for redo that was put aside"))? {
        return Ok(Vec::new());
    }
    let doing = "read redo that was put aside";
    let file = disk.open(FILE_NAME, OpenMode::Read, Caching::Cached).map_err(Error::io(doing))?;
    let mut bytes = vec![0; file.len().map_err(Error::io(doing))? as usize];
    file.read_at(0, &mut bytes).map_err(Error::io(doing))?;
    decode(&bytes).ok_or_else(|| Error::corrupt(format!("{FILE_NAME}, the redo of damaged pages")))
}

/// Replaces the file; without entries it is removed.
pub fn write(disk: &dyn Disk, entries: &[Aside]) -> Result<()> {
    let doing = "put redo aside";
    if entries.is_empty() {
        if disk.exists(FILE_NAME).map_err(Error::io(doing))? {
            disk.remove(FILE_NAME).map_err(Error::io(doing))?;
            disk.sync_directory("").map_err(Error::io(doing))?;
        }
        return Ok(());
    }
    if disk.exists(NEW_FILE_NAME).map_err(Error::io(doing))? {
        disk.remove(NEW_FILE_NAME).map_err(Error::io(doing))?;
    }
    let file = disk.open(NEW_FILE_NAME, OpenMode::Create, Caching::Cached).map_err(Error::io(doing))?;
    file.write_at(0, &encode(entries)).map_err(Error::io(doing))?;
    file.sync().map_err(Error::io(doing))?;
    disk.rename(NEW_FILE_NAME, FILE_NAME).map_err(Error::io(doing))?;
    disk.sync_directory(parent(FILE_NAME)).map_err(Error::io(doing))
}

fn encode(entries: &[Aside]) -> Vec<u8> {
    let mut out = Vec::new();
    out.extend_from_slice(&MAGIC.to_be_bytes());
    out.extend_from_slice(&(entries.len() as u32).to_be_bytes());
    out.extend_from_slice(&[0; 4]);
    let put = |out: &mut Vec<u8>, bytes: &[u8]| {
        out.extend_from_slice(&(bytes.len() as u32).to_be_bytes());
        out.extend_from_slice(bytes);
    };
    for Aside { page, why, groups } in entries {
        out.extend_from_slice(&page.space.0.to_be_bytes());
        out.extend_from_slice(&page.page.0.to_be_bytes());
        put(&mut out, why.as_bytes());
        out.extend_from_slice(&(groups.len() as u32).to_be_bytes());
        for (start, end, records) in groups {
            out.extend_from_slice(&start.0.to_be_bytes());
            out.extend_from_slice(&end.0.to_be_bytes());
            put(&mut out, records);
        }
    }
    let checksum = crc32c(&out[HEADER_BYTES..]);
    out[8..HEADER_BYTES].copy_from_slice(&checksum.to_be_bytes());
    out
}

/// `None` if these are not the bytes that were written.
fn decode(bytes: &[u8]) -> Option<Vec<Aside>> {
    let head = bytes.get(..HEADER_BYTES)?;
    if get_u32(head, 0) != MAGIC || get_u32(head, 8) != crc32c(&bytes[HEADER_BYTES..]) {
        return None;
    }
    let mut rest = &bytes[HEADER_BYTES..];
    let mut take = |count: usize| {
        let (taken, left) = rest.split_at_checked(count)?;
        rest = left;
        Some(taken)
    };
    let mut entries = Vec::new();
    for _ in 0..get_u32(head, 4) {
        let id = take(8)?;
        let page = PageId::new(SpaceId(get_u32(id, 0)), PageNo(get_u32(id, 4)));
        let bytes = get_u32(take(4)?, 0) as usize;
        let why = std::str::from_utf8(take(bytes)?).ok()?.into();
        let mut groups = Vec::new();
        for _ in 0..get_u32(take(4)?, 0) {
            let group = take(20)?;
            let records = take(get_u32(group, 16) as usize)?;
            groups.push((Lsn(get_u64(group, 0)), Lsn(get_u64(group, 8)), records.to_vec()));
        }
        entries.push(Aside { page, why, groups });
    }
    Some(entries)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::sim::SimDisk;

    #[test]
    fn what_is_put_aside_is_found_again_or_said_to_be_damaged() {
        let disk = SimDisk::new(1);
        assert!(read(&disk).unwrap().is_empty());
        let page = |number| PageId::new(SpaceId(7), PageNo(number));
        let entry = |number, groups: &[(u64, u64, &[u8])]| Aside {
            page: page(number),
            why: "the checksum".into(),
            groups: groups.iter().map(|(start, end, bytes)| (Lsn(*start), Lsn(*end), bytes.to_vec())).collect(),
        };
        let entries = [entry(3, &[(10, 20, b"abc"), (30, 40, b"")]), entry(4, &[])];
        write(&disk, &entries).unwrap();
        assert_eq!(read(&disk).unwrap(), entries);
        write(&disk, &entries[..1]).unwrap();
        assert_eq!(read(&disk.crash()).unwrap(), entries[..1]);
        let disk = disk.duplicate();
        write(&disk, &entries).unwrap();
        assert!(disk.flip(FILE_NAME, 30, 4));
        assert!(matches!(read(&disk), Err(Error::Corrupt { .. })));
        write(&disk, &[]).unwrap();
        assert!(read(&disk.crash()).unwrap().is_empty());
        // Every proper prefix of the bytes is refused.
        let bytes = encode(&entries);
        assert!((0..bytes.len()).all(|count| decode(&bytes[..count]).is_none()));
    }
}
