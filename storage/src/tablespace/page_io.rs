//! Pages on their way to disk and back: seal, encode, write | read, decode, verify.
//!
//! A batch of pages is collected in one buffer, in the format of the doublewrite file. Pages that need no copy there
//! are collected in a second one:
//!
//! ```text
//!   copied   | batch header | stored page | stored page | ...    one write to the doublewrite file, one sync
//!                             |             |
//!                             v             v
//!                           its place     its place              side by side: one write; then the punches
//!                             ^             ^
//!                             |             |
//!   direct   | stored page | stored page | ...
//! ```
//!
//! The length of a stored page depends on how its file is protected from torn pages: whole blocks, or, for untorn
//! writes, a power of two. A page that does not become shorter that way is stored plain.
//!
//! Invariants:
//!
//! * Only a sealed page gets into a [`Batch`]: [`Batch::add`] does the sealing itself.
//! * What is written where is decided once, in `add`; writing asserts what reading verifies.
//! * One page that does not fit on a full disk does not keep the others of its batch from being written.
//! * `read(write(page)) == page` up to checksums, for every transform.

use std::cell::RefCell;
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use format::ids::{Lsn, PageId, PageNo};
use format::page::header;
use format::transform::{self, Algorithm, Scratch, encryption};

use super::layout::Stored;
use super::layout::pages::{PageState, stored_state};
use super::space::Tablespace;
use super::torn::TornProtection;
use super::transform::Transform;
use crate::error::{Error, Result};
use crate::io::{ALIGNMENT, AlignedBuffer};

/// Pages of a batch. Large enough to share the cost of the doublewrite sync, small enough to keep a latch-free copy in
/// the cache.
pub const BATCH_PAGES_MAX: usize = if cfg!(test) { 8 } else { 64 };

/// Space before the pages for the doublewrite header.
pub const BATCH_HEADER_BYTES: usize = ALIGNMENT;

/// A page of a batch: where it lies in the batch's buffer, and where it goes.
pub struct BatchPage {
    pub space: Arc<Tablespace>,
    pub page: PageNo,
    /// The page has every change before this LSN. Not older than the checkpoint while the page is not durable.
    pub complete_to: Lsn,
    pub protection: TornProtection,
    /// In the buffer that `protection` selects.
    bytes: Range<usize>,
    state: PageState,
}

impl BatchPage {
    pub fn stored_bytes(&self) -> usize {
        self.bytes.len()
    }

    /// The doublewrite file keeps its bytes.
    pub fn is_copied(&self) -> bool {
        self.protection == TornProtection::Doublewrite
    }

    /// The kernel has promised to write it as a whole.
    fn is_untorn(&self) -> bool {
        self.protection == TornProtection::AtomicWrites
    }

    /// The doublewrite file has an entry for it.
    pub fn is_noted(&self) -> bool {
        matches!(self.protection, TornProtection::Doublewrite | TornProtection::DetectOnly)
    }
}

/// Stored pages one behind the other.
struct Region {
    buffer: AlignedBuffer,
    used: usize,
}

impl Region {
    fn new(bytes: usize) -> Region {
        Region { buffer: AlignedBuffer::new(bytes), used: 0 }
    }

    fn append(&mut self, stored: &[u8]) -> Range<usize> {
        let start = self.used;
        self.buffer[start..start + stored.len()].copy_from_slice(stored);
        // The next page begins at a multiple of the smallest block again: direct I/O needs aligned memory too.
        self.used += stored.len().next_multiple_of(512);
        start..start + stored.len()
    }
}

/// Sealed and encoded pages, ready to be written. Reused from batch to batch.
pub struct Batch {
    copied: Region,
    direct: Region,
    pages: Vec<BatchPage>,
    /// The pages of one tablespace, while they are written.
    stored: Vec<Stored>,
    /// Pages that the last write had no room for.
    left: Vec<PageId>,
    scratch: Scratch,
    encoded: Vec<u8>,
}

/// The result of [`Batch::write`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Written {
    All,
    /// The disk is full: the pages for which [`Batch::is_left`] is true have to be written again, the others are done.
    Partly,
    /// A file has refused an untorn write, and is protected by other means from now on: the batch has to be
    /// appended to the doublewrite file if the file needs that now, and written again.
    Refused,
}

impl Batch {
    pub fn new(page_bytes: usize) -> Batch {
        let pages_bytes = BATCH_PAGES_MAX * page_bytes;
        let mut batch = Batch {
            copied: Region::new(BATCH_HEADER_BYTES + pages_bytes),
            direct: Region::new(pages_bytes),
            pages: Vec::with_capacity(BATCH_PAGES_MAX),
            stored: Vec::with_capacity(BATCH_PAGES_MAX),
            left: Vec::new(),
            scratch: Scratch::default(),
            encoded: Vec::with_capacity(page_bytes),
        };
        batch.clear();
        batch
    }

    pub fn clear(&mut self) {
        self.left.clear();
        self.copied.used = BATCH_HEADER_BYTES;
        self.direct.used = 0;
        self.pages.clear();
    }

    pub fn pages(&self) -> &[BatchPage] {
        &self.pages
    }

    /// The newest LSN of the batch: the log must be durable up to there before [`Batch::write`].
    pub fn newest_lsn(&self) -> Lsn {
        self.pages.iter().map(|page| page.complete_to).max().unwrap_or(Lsn::ZERO)
    }

    /// Whether any page needs an entry in the doublewrite file first.
    pub fn wants_doublewrite(&self) -> bool {
        self.pages.iter().any(BatchPage::is_noted)
    }

    /// The bytes for the doublewrite file: from the header to the last page that has a copy there.
    pub fn doublewrite_image(&mut self) -> &mut [u8] {
        let used = self.copied.used.next_multiple_of(ALIGNMENT);
        &mut self.copied.buffer[..used]
    }

    /// The stored bytes of a page.
    pub fn stored(&self, page: &BatchPage) -> &[u8] {
        &self.region(page.protection).buffer[page.bytes.clone()]
    }

    /// Where the page lies in the doublewrite image; 0 if it has no copy there.
    pub fn offset_in_image(&self, page: &BatchPage) -> usize {
        if page.is_copied() { page.bytes.start } else { 0 }
    }

    fn region(&self, protection: TornProtection) -> &Region {
        if protection == TornProtection::Doublewrite { &self.copied } else { &self.direct }
    }

    /// Seals a copy of a page, encodes it as its tablespace requires, and appends it. `plain` is left sealed. `oldest`
    /// is the LSN as of which the page is dirty: a page that is rewritten without a change has an older LSN of its own.
    pub fn add(&mut self, space: Arc<Tablespace>, plain: &mut [u8], oldest: Lsn) {
        assert!(self.pages.len() < BATCH_PAGES_MAX, "a batch has room for {BATCH_PAGES_MAX} pages");
        let id = header::page_id(plain);
        assert!(id.space == space.id(), "page {id} does not belong to tablespace {}", space.id());
        let lsn = header::lsn(plain);
        header::seal(plain, lsn);
        let protection = space.torn_protection();
        let (stored, mut state) = match self.encode(&space, plain, protection) {
            Some(state) => (&self.encoded[..], state),
            None => {
                // Page 0 is never encoded, which is no failure.
                let incompressible = space.encodes(id.page);
                space.counters.total.pages_compress_failed.add(u64::from(incompressible));
                (&*plain, PageState { incompressible, ..PageState::plain(plain.len()) })
            }
        };
        let region = if protection == TornProtection::Doublewrite { &mut self.copied } else { &mut self.direct };
        let bytes = region.append(stored);
        // Compress, then encrypt: encrypted bytes cannot be compressed.
        if let Some(key) = space.key().filter(|_| id.page.0 != 0 && space.transform().encrypted) {
            let stored = &mut region.buffer[bytes.clone()];
            encryption::encrypt(stored, &key.page_key);
            state = PageState { encrypted: true, exact_bytes: transform::stored_bytes(stored), ..state };
            space.counters.total.pages_encrypted.add(1);
        }
        self.pages.push(BatchPage { space, page: id.page, complete_to: lsn.max(oldest), protection, bytes, state });
    }

    /// Encodes a sealed page into `self.encoded`, in its length on disk. `None` if it is to be stored
    /// plain.
    fn encode(&mut self, space: &Tablespace, plain: &[u8], protection: TornProtection) -> Option<PageState> {
        if !space.encodes(header::page_no(plain)) {
            return None;
        }
        let Transform { algorithm, level, .. } = space.transform();
        let started = space.now();
        let rounding = space.rounding(protection);
        let out = &mut self.encoded;
        let encoded = transform::encode(plain, algorithm, level, rounding.unit_bytes(), &mut self.scratch, out);
        space.counters.compressed(space.now().saturating_sub(started));
        encoded?;
        let exact = transform::encoded_bytes(out).expect("just encoded");
        let stored_bytes = rounding.stored_bytes(exact);
        if stored_bytes >= plain.len() {
            return None;
        }
        // Of a power of two less may be there than it takes.
        out.resize(stored_bytes, 0);
        space.counters.total.pages_compressed.add(1);
        Some(PageState::encoded(algorithm.number(), exact))
    }

    /// Writes the pages to their places. They are durable after the tablespaces' next sync. On a full disk the pages that
    /// need no more room are written all the same, see [`Written::Partly`].
    pub fn write(&mut self) -> Result<Written> {
        let mut refused = false;
        self.left.clear();
        // Up to here pages are written one by one, because a write of several has met the full disk.
        let mut singly = 0;
        let mut start = 0;
        while start < self.pages.len() {
            let end = if start < singly { start + 1 } else { self.run_end(start) };
            match self.write_run(start..end) {
                Ok(()) => start = end,
                Err(cause) if self.pages[start].is_untorn() && is_refusal(&cause) => {
                    self.pages[start].space.refuse_atomic_writes(&cause);
                    refused = true;
                    start = end;
                }
                Err(cause) if is_full(&cause) && end - start > 1 => singly = end,
                Err(cause) if is_full(&cause) => {
                    let BatchPage { space, page, .. } = &self.pages[start];
                    self.left.push(PageId::new(space.id(), *page));
                    start = end;
                }
                Err(cause) => return Err(Error::from_io("write a page", cause)),
            }
        }
        if refused {
            self.protect_again();
            return Ok(Written::Refused);
        }
        Ok(if self.left.is_empty() { Written::All } else { Written::Partly })
    }

    /// The pages for which the last [`Batch::write`] had no room.
    pub fn left(&self) -> usize {
        self.left.len()
    }

    /// Whether the last [`Batch::write`] had no room for a page.
    pub fn is_left(&self, page: PageId) -> bool {
        self.left.contains(&page)
    }

    /// The end of the pages from `start` on that are of one tablespace and protected in one way.
    fn run_end(&self, start: usize) -> usize {
        let first = &self.pages[start];
        let same = |page: &BatchPage| Arc::ptr_eq(&page.space, &first.space) && page.protection == first.protection;
        start + self.pages[start..].iter().take_while(|page| same(page)).count()
    }

    /// Writes pages of one tablespace that are protected in one way.
    fn write_run(&mut self, run: Range<usize>) -> io::Result<()> {
        let run = &self.pages[run];
        let BatchPage { space, protection, .. } = &run[0];
        if space.is_dropped() {
            return Ok(());
        }
        let untorn = run[0].is_untorn();
        self.stored.clear();
        self.stored.extend(run.iter().map(|page| Stored {
            page: page.page,
            bytes: page.bytes.clone(),
            state: page.state,
            untorn,
        }));
        let region = &self.region(*protection).buffer;
        space.layout.write(&self.stored, region, run[0].is_copied(), &space.counters)?;
        space.counters.total.untorn_pages.add(if untorn { run.len() as u64 } else { 0 });
        space.future.forget(run.iter().map(|page| page.page));
        Ok(())
    }

    /// Moves pages to the buffers that their tablespaces now require.
    fn protect_again(&mut self) {
        for page in &mut self.pages {
            let protection = page.space.torn_protection();
            if page.protection == TornProtection::AtomicWrites && protection == TornProtection::Doublewrite {
                page.bytes = self.copied.append(&self.direct.buffer[page.bytes.clone()]);
            }
            if page.protection == TornProtection::AtomicWrites {
                page.protection = protection;
            }
        }
    }
}

/// Whether the error means that the kernel or the filesystem cannot write this untorn after all.
fn is_refusal(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported)
}

fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

/// How a stored page's length is rounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rounding {
    /// Multiples of a block.
    Blocks(usize),
    /// Powers of two, from the smallest untorn write on.
    PowersOfTwo(usize),
}

impl Rounding {
    // The unit in which the codec counts savings. Powers of two are not left to it: a page that saves a block, but
    // reaches none of the few lengths that it would try, would count as incompressible.
    fn unit_bytes(self) -> usize {
        match self {
            Rounding::Blocks(bytes) | Rounding::PowersOfTwo(bytes) => bytes,
        }
    }

    fn stored_bytes(self, exact_bytes: usize) -> usize {
        match self {
            Rounding::Blocks(block) => exact_bytes.next_multiple_of(block),
            Rounding::PowersOfTwo(smallest) => exact_bytes.next_power_of_two().max(smallest),
        }
    }
}

/// What a device writes at least.
const SECTOR_BYTES: usize = 512;

/// The result of reading a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageRead {
    /// The requested page.
    Found,
    /// All zero: never written, or not yet part of the file.
    Zero,
}

/// Buffers for stored bytes while they are decoded.
struct Decoding {
    stored: AlignedBuffer,
    scratch: Scratch,
}

thread_local! {
    static DECODING: RefCell<Decoding> =
        RefCell::new(Decoding { stored: AlignedBuffer::new(ALIGNMENT), scratch: Scratch::default() });
}

impl Tablespace {
    /// Reads a page into a frame, decoded and verified. On an error the frame's content is undefined.
    pub fn read_page(&self, page: PageNo, frame: &mut [u8]) -> Result<PageRead> {
        assert_eq!(frame.len(), self.page_bytes, "a frame is as large as a page");
        let stored_bytes = self.layout.stored_bytes(page);
        if stored_bytes == 0 || stored_bytes == frame.len() {
            self.read_stored(page, frame)?;
            return self.decode(page, frame);
        }
        // Known to be shorter than a page: it is read into the decoding buffer, and decoded straight into the frame.
        DECODING.with_borrow_mut(|Decoding { stored, scratch }| {
            if stored.len() < stored_bytes {
                *stored = AlignedBuffer::new(frame.len());
            }
            let stored = &mut stored[..stored_bytes];
            self.read_bytes(page, stored)?;
            self.decrypt(page, stored)?;
            if !transform::is_encoded(stored) {
                return Err(Error::corrupt_page(self.page_id(page), "not the compressed page that was written"));
            }
            self.decode_into(page, stored, scratch, frame)?;
            self.verify(page, frame)
        })
    }

    /// Reads the stored form of a page, zeros behind it; [`Tablespace::decode`] decodes it.
    pub fn read_stored(&self, page: PageNo, buffer: &mut [u8]) -> Result<()> {
        let (stored, hole) = buffer.split_at_mut(self.layout.stored_bytes(page).min(buffer.len()));
        hole.fill(0);
        self.read_bytes(page, stored)
    }

    /// Whether the first sector of a page reads as zero, whatever follows it. `scratch` is as large as a page.
    pub fn has_lost_its_head(&self, page: PageNo, scratch: &mut [u8]) -> Result<bool> {
        self.read_stored(page, scratch)?;
        Ok(scratch[..SECTOR_BYTES].iter().all(|byte| *byte == 0))
    }

    fn read_bytes(&self, page: PageNo, buffer: &mut [u8]) -> Result<()> {
        let bytes = self.layout.read(page, buffer).map_err(Error::io("read a page"))?;
        self.counters.total.page_reads.add(1);
        self.counters.total.data_bytes_read.add(bytes as u64);
        Ok(())
    }

    /// Decodes the stored form of a page in place, and verifies it.
    pub fn decode(&self, page: PageNo, frame: &mut [u8]) -> Result<PageRead> {
        let known = self.layout.known(page);
        if known.state().is_none()
            && let Some(state) = stored_state(frame, frame.len())
        {
            self.future.note(page, frame, || self.layout.known(page).state().is_none());
            self.layout.learn(page, known, state);
        }
        self.decrypt(page, frame)?;
        if transform::is_encoded(frame) {
            DECODING.with_borrow_mut(|Decoding { stored, scratch }| {
                // A false length is detected here: no more is there than the frame has.
                let bytes = transform::encoded_bytes(frame)
                    .ok()
                    .filter(|&bytes| bytes <= frame.len())
                    .ok_or_else(|| Error::corrupt_page(self.page_id(page), "length of a compressed page"))?;
                if stored.len() < bytes {
                    *stored = AlignedBuffer::new(frame.len());
                }
                stored[..bytes].copy_from_slice(&frame[..bytes]);
                self.decode_into(page, &stored[..bytes], scratch, frame)
            })?;
        } else if header::is_zero(frame) {
            return Ok(PageRead::Zero);
        }
        self.verify(page, frame)
    }

    /// Decrypts a stored page in place, if it is encrypted.
    fn decrypt(&self, page: PageNo, stored: &mut [u8]) -> Result<()> {
        if !encryption::is_encrypted(stored) {
            return Ok(());
        }
        let id = self.page_id(page);
        let Some(key) = self.key() else {
            let what = format!("it is encrypted, but page 0 of {} has no key", self.path());
            return Err(Error::corrupt_page(id, what));
        };
        encryption::decrypt(stored, &key.page_key).map_err(|cause| Error::corrupt_page(id, cause))?;
        self.counters.total.pages_decrypted.add(1);
        Ok(())
    }

    fn decode_into(&self, page: PageNo, stored: &[u8], scratch: &mut Scratch, frame: &mut [u8]) -> Result<()> {
        let started = self.now();
        transform::decode(stored, scratch, frame).map_err(|cause| Error::corrupt_page(self.page_id(page), cause))?;
        self.counters.decompressed(self.now().saturating_sub(started));
        Ok(())
    }

    fn verify(&self, page: PageNo, frame: &[u8]) -> Result<PageRead> {
        let id = self.page_id(page);
        header::verify(frame, id).map_err(|cause| Error::corrupt_page(id, cause))?;
        self.future.refuse(id, frame)?;
        Ok(PageRead::Found)
    }

    fn page_id(&self, page: PageNo) -> PageId {
        PageId::new(self.id, page)
    }

    /// Whether a page is to be encoded: page 0 stays plain, and where pages cannot become shorter it would only cost
    /// time.
    fn encodes(&self, page: PageNo) -> bool {
        self.transform().algorithm != Algorithm::NONE && page.0 != 0 && self.layout.shortens()
    }

    fn rounding(&self, protection: TornProtection) -> Rounding {
        match (protection, self.facts.atomic_write) {
            (TornProtection::AtomicWrites, Some((min, _))) => Rounding::PowersOfTwo(min.max(self.block_bytes())),
            _ => Rounding::Blocks(self.block_bytes()),
        }
    }

    fn now(&self) -> Duration {
        self.disk.clock().now()
    }

    /// Reads adjacent pages with one read, each in its stored form at its multiple of the page size: for read-ahead.
    pub fn read_run(&self, first: PageNo, buffer: &mut [u8]) -> Result<()> {
        let bytes = self.layout.read(first, buffer).map_err(Error::io("read ahead"))?;
        self.counters.total.data_bytes_read.add(bytes as u64);
        Ok(())
    }

    /// Writes stored bytes (of the doublewrite file) to their place.
    pub fn restore(&self, page: PageNo, stored: &[u8]) -> Result<()> {
        // Direct I/O needs aligned memory.
        let mut aligned = AlignedBuffer::new(stored.len());
        aligned[..stored.len()].copy_from_slice(stored);
        let state = stored_state(stored, self.page_bytes).unwrap_or(PageState::plain(self.page_bytes));
        let stored = Stored { page, bytes: 0..stored.len(), state, untorn: false };
        self.layout.write(&[stored], &aligned, true, &self.counters).map_err(Error::io("restore a page"))?;
        self.future.forget([page].into_iter());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use format::ids::SpaceId;
    use format::page::header::PageType;

    use super::*;
    use crate::config::Config;
    use crate::io::sim::SimDisk;
    use crate::tablespace::Tablespaces;

    const PATH: &str = "t.ibd";
    const PAGE: PageNo = PageNo(3);
    const LOG_END: Lsn = Lsn(5000);

    /// One flipped bit of a stored page: either reading fails, or the page is the same all the same.
    #[test]
    fn every_byte_that_is_stored_is_judged() {
        let config = Config::tiny();
        let mut plain = AlignedBuffer::new(config.page_bytes);
        header::init(&mut plain, PageId::new(SpaceId(7), PAGE), PageType::INDEX);
        for (at, byte) in plain[header::BODY..config.page_bytes - header::TRAILER_BYTES].iter_mut().enumerate() {
            *byte = (at / 40) as u8;
        }
        header::set_lsn(&mut plain, Lsn(4711));
        for (algorithm, encrypted) in Algorithm::all().flat_map(|algorithm| [(algorithm, false), (algorithm, true)]) {
            let disk = SimDisk::new(1);
            let spaces = Tablespaces::new(Arc::new(disk.clone()), &config, LOG_END);
            let key = encrypted.then(|| spaces.key_ring().make_key(PATH).unwrap());
            let transform = Transform { encrypted, ..Transform::usual(algorithm) };
            let space = spaces.create(SpaceId(7), PATH, transform, key, &config).unwrap();
            let mut batch = Batch::new(config.page_bytes);
            let mut good = AlignedBuffer::new(config.page_bytes);
            good.copy_from_slice(&plain);
            batch.add(space.clone(), &mut good, Lsn::ZERO);
            let stored_bytes = batch.pages()[0].stored_bytes();
            assert_eq!(batch.write().unwrap(), Written::All);
            let mut frame = AlignedBuffer::new(config.page_bytes);
            let mut judge = |space: &Tablespace, at: usize| match space.read_page(PAGE, &mut frame) {
                Ok(found) => {
                    let same = found == PageRead::Found && frame[..] == good[..];
                    assert!(same, "{algorithm:?}, encrypted {encrypted}, byte {at}: another page is read");
                }
                Err(error) => assert!(matches!(error, Error::Corrupt { .. }), "{error}"),
            };
            judge(&space, 0);
            let flip = |at: usize, bit: usize| {
                assert!(disk.flip(PATH, (PAGE.0 as usize * config.page_bytes + at) as u64, 1 << bit));
            };
            for at in 0..header::BODY {
                for bit in 0..8 {
                    flip(at, bit);
                    judge(&space, at);
                    // Also for a reader that does not know how it was stored.
                    let fresh = Tablespaces::new(Arc::new(disk.clone()), &config, LOG_END);
                    judge(&fresh.open(SpaceId(7), PATH, transform, None, &config).unwrap(), at);
                    flip(at, bit);
                }
            }
            for at in (header::BODY..stored_bytes).step_by(13) {
                flip(at, at % 8);
                judge(&space, at);
                flip(at, at % 8);
            }
            judge(&space, 0);
        }
    }
}
