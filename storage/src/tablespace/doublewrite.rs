//! The doublewrite files: pages are written here before they are written to their places, so that a page torn by a
//! crash can be restored.
//!
//! Each page cleaner has a file of its own, so that batches do not wait for each other. Pages lie in it in their stored
//! form: a page that compresses to a quarter costs a quarter here too. Batches are appended until the file is full; then
//! the tablespaces are synced, which makes the copies superfluous, and it starts again at 0.
//!
//! ```text
//! batch, at a multiple of 4096:
//! offset  bytes
//!      0      8  magic "GLASSDBW"
//!      8      8  batch number, rising over the file's whole life
//!     16      4  pages, n
//!     20      4  bytes of the batch, header included, a multiple of 4096
//!     24      4  CRC-32C of this header with zero here
//!     28   28 n  per page: space 4, page 4, complete to LSN 8, offset in the batch 4, bytes 4, CRC-32C 4
//!   4096         stored pages
//! ```
//!
//! A copy has every change of its page before the LSN it is *complete to*: the page's own LSN, or, if that is newer, the
//! LSN as of which the page is dirty. The second matters for a page that is rewritten without a change (encryption
//! switched on, see `Store::rewrite_space`): its own LSN may be older than the checkpoint, which says nothing about whether
//! its write was durable.
//!
//! A page that has no copy here (`innodb_doublewrite=DETECT_ONLY`) has an entry all the same, with offset 0.
//!
//! Invariants:
//!
//! * A batch is durable here before the first of its pages is written to its place, and stays until the tablespaces
//!   have been synced after that.
//! * A batch that is not whole is not needed: none of its pages had been written to its place, so their old images are
//!   whole, and the redo log has the rest.
//! * The checkpoint is not newer than the LSN that a copy is complete to until the page is durable in its place. So the
//!   log can bring a copy that is complete to the checkpoint up to date, and any other copy is not needed.
//! * The log is durable up to where a copy is complete before the copy is written: no later run assigns that LSN again.
//! * Batches from 0 on with rising numbers are the newest ones; the first that does not rise ends them.
//!
//! Not here: deciding whether a page is torn; recovery does that.

use std::sync::Arc;

use format::checksum::crc32c;
use format::ids::{Lsn, PageId, PageNo, SpaceId};
use rustc_hash::FxHashMap;

use super::page_io::{BATCH_HEADER_BYTES, BATCH_PAGES_MAX, Batch};
use super::{IoCounters, data_caching};
use crate::config::Config;
use crate::error::{Error, Result};
use crate::io::{AlignedBuffer, Disk, File, OpenMode};

const MAGIC: [u8; 8] = *b"GLASSDBW";
const BATCH_NO: usize = 8;
const COUNT: usize = 16;
const BYTES: usize = 20;
const CRC: usize = 24;
const ENTRIES: usize = 28;
const ENTRY_BYTES: usize = 28;

const _: () = assert!(ENTRIES + BATCH_PAGES_MAX * ENTRY_BYTES <= BATCH_HEADER_BYTES);

/// Batches of full pages that fit in a file; of compressed pages, more fit.
const FULL_BATCHES: usize = if cfg!(test) { 2 } else { 8 };

/// One cleaner's file.
pub struct DoublewriteFile {
    file: Arc<dyn File>,
    capacity_bytes: u64,
    /// Where the next batch goes.
    next_offset: u64,
    batch_no: u64,
    counters: Arc<IoCounters>,
}

/// The name of the `index`-th file.
pub fn file_name(page_bytes: usize, index: usize) -> String {
    format!("#ib_{page_bytes}_{index}.dblwr")
}

/// Whether a name in the data directory is a doublewrite file of this page size.
fn is_file_name(name: &str, page_bytes: usize) -> bool {
    name.strip_prefix(&format!("#ib_{page_bytes}_")).is_some_and(|rest| rest.ends_with(".dblwr"))
}

impl DoublewriteFile {
    /// Opens the file, or creates it. Its old content must not be needed any more; its batch numbers continue.
    pub fn open(disk: &dyn Disk, index: usize, config: &Config, counters: Arc<IoCounters>) -> Result<DoublewriteFile> {
        let name = file_name(config.page_bytes, index);
        let capacity_bytes = (FULL_BATCHES * (BATCH_HEADER_BYTES + BATCH_PAGES_MAX * config.page_bytes)) as u64;
        let exists = disk.exists(&name).map_err(Error::io("look for the doublewrite file"))?;
        let mode = if exists { OpenMode::ReadWrite } else { OpenMode::Create };
        let file = disk.open(&name, mode, data_caching(config)).map_err(Error::io("open the doublewrite file"))?;
        let mut batch_no = 0;
        if exists {
            batch_no = read_batches(&*file, config.page_bytes, &mut |_, _, _| {})?;
        } else {
            disk.sync_directory("").map_err(Error::io("sync a directory"))?;
        }
        if file.len().map_err(Error::io("ask for a file's length"))? < capacity_bytes {
            // Reserved now, so that a full disk cannot stop the cleaners later.
            file.allocate(0, capacity_bytes).map_err(Error::io("allocate the doublewrite file"))?;
            file.sync().map_err(Error::io("sync the doublewrite file"))?;
        }
        Ok(DoublewriteFile { file, capacity_bytes, next_offset: 0, batch_no, counters })
    }

    /// Whether a batch of this size can be appended before a [`DoublewriteFile::restart`].
    pub fn has_room(&self, bytes: usize) -> bool {
        self.next_offset + bytes as u64 <= self.capacity_bytes
    }

    /// Writes a batch, durably.
    pub fn append(&mut self, batch: &mut Batch) -> Result<()> {
        self.batch_no += 1;
        write_header(batch, self.batch_no);
        let pages = batch.pages().iter().filter(|page| page.is_noted()).count() as u64;
        let bytes = batch.doublewrite_image();
        assert!(self.has_room(bytes.len()), "the doublewrite file is restarted before it overflows");
        self.file.write_durably(self.next_offset, bytes).map_err(Error::io("write the doublewrite file"))?;
        self.next_offset += bytes.len() as u64;
        self.counters.doublewrite_pages.add(pages);
        self.counters.doublewrite_writes.add(1);
        self.counters.doublewrite_bytes.add(bytes.len() as u64);
        Ok(())
    }

    /// Restarts at 0. All pages of the batches so far are durable in their places.
    pub fn restart(&mut self) {
        self.next_offset = 0;
    }
}

fn write_header(batch: &mut Batch, batch_no: u64) {
    let mut header = [0; BATCH_HEADER_BYTES];
    header[..8].copy_from_slice(&MAGIC);
    header[BATCH_NO..BATCH_NO + 8].copy_from_slice(&batch_no.to_be_bytes());
    let noted = || batch.pages().iter().filter(|page| page.is_noted());
    header[COUNT..COUNT + 4].copy_from_slice(&(noted().count() as u32).to_be_bytes());
    for (index, page) in noted().enumerate() {
        let entry = &mut header[ENTRIES + index * ENTRY_BYTES..][..ENTRY_BYTES];
        entry[..4].copy_from_slice(&page.space.id().0.to_be_bytes());
        entry[4..8].copy_from_slice(&page.page.0.to_be_bytes());
        entry[8..16].copy_from_slice(&page.complete_to.0.to_be_bytes());
        let stored = batch.stored(page);
        entry[16..20].copy_from_slice(&(batch.offset_in_image(page) as u32).to_be_bytes());
        entry[20..24].copy_from_slice(&(stored.len() as u32).to_be_bytes());
        entry[24..28].copy_from_slice(&crc32c(stored).to_be_bytes());
    }
    let bytes = batch.doublewrite_image();
    header[BYTES..BYTES + 4].copy_from_slice(&(bytes.len() as u32).to_be_bytes());
    let crc = crc32c(&header);
    header[CRC..CRC + 4].copy_from_slice(&crc.to_be_bytes());
    bytes[..BATCH_HEADER_BYTES].copy_from_slice(&header);
}

/// A doublewrite file's entry for a page that was being written, found after a crash.
pub struct Copy {
    /// It has every change of the page before this one.
    pub complete_to: Lsn,
    /// In the stored form; `None` if there is only an entry without a copy.
    pub stored: Option<Vec<u8>>,
}

/// Reads the newest whole copy of each page from all doublewrite files, and which other pages were being written.
pub fn read_copies(disk: &dyn Disk, config: &Config) -> Result<FxHashMap<PageId, Copy>> {
    let mut copies: FxHashMap<PageId, Copy> = FxHashMap::default();
    for entry in disk.list("").map_err(Error::io("list the data directory"))? {
        if !is_file_name(&entry.name, config.page_bytes) {
            continue;
        }
        let file = disk
            .open(&entry.name, OpenMode::Read, data_caching(config))
            .map_err(Error::io("open the doublewrite file"))?;
        read_batches(&*file, config.page_bytes, &mut |page, complete_to, stored| {
            // An older copy is better than a newer entry without one: the log brings it up to date.
            let rank = (stored.is_some(), complete_to);
            if copies.get(&page).is_none_or(|known| (known.stored.is_some(), known.complete_to) < rank) {
                copies.insert(page, Copy { complete_to, stored: stored.map(<[u8]>::to_vec) });
            }
        })?;
    }
    Ok(copies)
}

/// Receives each page of a batch: the LSN it is complete to, and its stored bytes if the file has a copy.
type Visit<'a> = dyn FnMut(PageId, Lsn, Option<&[u8]>) + 'a;

/// Visits the whole batches of a file from 0 on. Returns the last one's number.
fn read_batches(file: &dyn File, page_bytes: usize, visit: &mut Visit<'_>) -> Result<u64> {
    let bytes_max = BATCH_HEADER_BYTES + BATCH_PAGES_MAX * page_bytes;
    let mut buffer = AlignedBuffer::new(bytes_max);
    let mut offset = 0;
    let mut last = 0;
    loop {
        file.read_at(offset, &mut buffer).map_err(Error::io("read the doublewrite file"))?;
        let Some((batch_no, bytes)) = check_batch(&mut buffer, visit, last) else { return Ok(last) };
        last = batch_no;
        offset += bytes as u64;
    }
}

/// Visits the pages of the batch at the start of the buffer if all of it is whole and newer than `last`.
fn check_batch(buffer: &mut [u8], visit: &mut Visit<'_>, last: u64) -> Option<(u64, usize)> {
    let u32_at = |bytes: &[u8], at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().expect("4 bytes"));
    let u64_at = |bytes: &[u8], at: usize| u64::from_be_bytes(bytes[at..at + 8].try_into().expect("8 bytes"));
    if buffer[..8] != MAGIC {
        return None;
    }
    let crc = u32_at(buffer, CRC);
    buffer[CRC..CRC + 4].fill(0);
    if crc32c(&buffer[..BATCH_HEADER_BYTES]) != crc {
        return None;
    }
    let (batch_no, count) = (u64_at(buffer, BATCH_NO), u32_at(buffer, COUNT) as usize);
    let bytes = u32_at(buffer, BYTES) as usize;
    if batch_no <= last || count > BATCH_PAGES_MAX || bytes > buffer.len() || bytes < BATCH_HEADER_BYTES {
        return None;
    }
    let entries: Vec<_> = (0..count).map(|index| &buffer[ENTRIES + index * ENTRY_BYTES..][..ENTRY_BYTES]).collect();
    let is_copied = |entry: &[u8]| u32_at(entry, 16) != 0;
    let stored = |entry: &[u8]| {
        let offset = u32_at(entry, 16) as usize;
        buffer.get(offset..offset.checked_add(u32_at(entry, 20) as usize)?)
    };
    // The whole batch or nothing: if a batch is torn, none of its pages has been written to its place.
    let is_whole = |entry: &[u8]| stored(entry).is_some_and(|bytes| crc32c(bytes) == u32_at(entry, 24));
    if !entries.iter().all(|entry| !is_copied(entry) || is_whole(entry)) {
        return None;
    }
    for entry in &entries {
        let page = PageId::new(SpaceId(u32_at(entry, 0)), PageNo(u32_at(entry, 4)));
        visit(page, Lsn(u64_at(entry, 8)), stored(entry).filter(|_| is_copied(entry)));
    }
    Some((batch_no, bytes))
}
