//! Pages on their way to disk and back: seal, encode, write | read, decode, verify.
//!
//! A batch of pages is collected in one buffer, in the very form in which the doublewrite file wants it:
//!
//! ```text
//!   | batch header | stored page | stored page | ...    one write to the doublewrite file, one sync
//!                    |             |
//!                    v             v
//!                  its place     its place              one write each, a punch where blocks became free
//! ```
//!
//! Invariants:
//!
//! * Only a sealed page gets into a [`Batch`]: [`Batch::add`] does the sealing itself.
//! * What is written where is decided once, in `add`; writing asserts what reading verifies.
//! * `read(write(page)) == page` up to checksums, for every transform.

use std::cell::RefCell;
use std::sync::Arc;

use format::ids::{Lsn, PageId, PageNo};
use format::page::header;
use format::transform::{self, Algorithm, Scratch};

use super::layout::Stored;
use super::{Tablespace, TornProtection};
use crate::error::{Error, Result};
use crate::io::{ALIGNMENT, AlignedBuffer};

/// Pages of a batch. Large enough to share the cost of the doublewrite sync, small enough to keep a latch-free copy in
/// the cache.
pub const BATCH_PAGES_MAX: usize = if cfg!(test) { 8 } else { 64 };

/// Room before the pages for the doublewrite header.
pub const BATCH_HEADER_BYTES: usize = ALIGNMENT;

/// A page of a batch: where it lies in the batch's buffer, and where it goes.
pub struct BatchPage {
    pub space: Arc<Tablespace>,
    pub page: PageNo,
    pub lsn: Lsn,
    pub offset: usize,
    pub bytes: usize,
}

/// Sealed and encoded pages, ready to be written. Reused from batch to batch.
pub struct Batch {
    buffer: AlignedBuffer,
    used: usize,
    pages: Vec<BatchPage>,
    scratch: Scratch,
    encoded: Vec<u8>,
}

impl Batch {
    pub fn new(page_bytes: usize) -> Batch {
        Batch {
            buffer: AlignedBuffer::new(BATCH_HEADER_BYTES + BATCH_PAGES_MAX * page_bytes),
            used: BATCH_HEADER_BYTES,
            pages: Vec::with_capacity(BATCH_PAGES_MAX),
            scratch: Scratch::default(),
            encoded: Vec::with_capacity(page_bytes),
        }
    }

    pub fn clear(&mut self) {
        self.used = BATCH_HEADER_BYTES;
        self.pages.clear();
    }

    pub fn pages(&self) -> &[BatchPage] {
        &self.pages
    }

    /// The newest LSN of the batch: the log must be durable up to there before [`Batch::write`].
    pub fn newest_lsn(&self) -> Lsn {
        self.pages.iter().map(|page| page.lsn).max().unwrap_or(Lsn::ZERO)
    }

    /// The buffer from the header to the last page.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        let used = self.used.next_multiple_of(ALIGNMENT);
        &mut self.buffer[..used]
    }

    pub fn stored(&self, page: &BatchPage) -> &[u8] {
        &self.buffer[page.offset..page.offset + page.bytes]
    }

    /// Whether any page wants to be in the doublewrite file first.
    pub fn wants_doublewrite(&self) -> bool {
        self.pages.iter().any(|page| page.space.torn_protection() == TornProtection::Doublewrite)
    }

    /// Seals a copy of a page, encodes it as its tablespace wants, and appends it. `plain` is left sealed.
    pub fn add(&mut self, space: Arc<Tablespace>, plain: &mut [u8]) {
        assert!(self.pages.len() < BATCH_PAGES_MAX, "a batch has room for {BATCH_PAGES_MAX} pages");
        let id = header::page_id(plain);
        assert!(id.space == space.id(), "page {id} does not belong to tablespace {}", space.id());
        let lsn = header::lsn(plain);
        header::seal(plain, lsn);

        let wanted = space.transform();
        let counters = &space.counters;
        // Page 0 stays plain; and where no hole can be punched, compressing would only cost time.
        let encodes = wanted.algorithm != Algorithm::None && id.page.0 != 0 && space.layout.punches();
        let encoded = if encodes {
            let out = &mut self.encoded;
            transform::encode(plain, wanted.algorithm, wanted.level, space.block_bytes, &mut self.scratch, out)
        } else {
            None
        };
        let stored = match encoded {
            Some(bytes) => {
                counters.pages_compressed.add(1);
                &self.encoded[..bytes]
            }
            None => {
                counters.pages_compress_failed.add(u64::from(encodes));
                &*plain
            }
        };
        let offset = self.used;
        self.buffer[offset..offset + stored.len()].copy_from_slice(stored);
        // The next page begins at a multiple of the block again: direct I/O wants its memory aligned too.
        self.used += stored.len().next_multiple_of(512);
        self.pages.push(BatchPage { bytes: stored.len(), space, page: id.page, lsn, offset });
    }

    /// Writes the pages to their places. They are durable after the tablespaces' next sync.
    pub fn write(&self) -> Result<()> {
        for page in &self.pages {
            if page.space.is_dropped() {
                continue;
            }
            let stored = Stored { page: page.page, bytes: self.stored(page) };
            page.space.layout.write(stored, &page.space.counters).map_err(Error::io("write a page"))?;
        }
        Ok(())
    }
}

/// What reading found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageRead {
    /// The page that was asked for.
    Found,
    /// All zero: never written, or not yet part of the file.
    Zero,
}

thread_local! {
    /// Where stored bytes wait while they are decoded.
    static DECODE: RefCell<(Vec<u8>, Scratch)> = RefCell::default();
}

impl Tablespace {
    /// Reads a page into a frame, decoded and verified. On an error the frame's content means nothing.
    pub fn read_page(&self, page: PageNo, frame: &mut [u8]) -> Result<PageRead> {
        assert_eq!(frame.len(), self.page_bytes, "a frame is as large as a page");
        let bytes = self.layout.read(page, frame).map_err(Error::io("read a page"))?;
        self.counters.page_reads.add(1);
        self.counters.data_bytes_read.add(bytes as u64);
        let id = PageId::new(self.id, page);
        if transform::is_encoded(frame) {
            decode_in_place(frame).map_err(|cause| Error::corrupt_page(id, cause))?;
            self.counters.pages_decompressed.add(1);
        } else if header::is_zero(frame) {
            return Ok(PageRead::Zero);
        }
        header::verify(frame, id).map_err(|cause| Error::corrupt_page(id, cause))?;
        Ok(PageRead::Found)
    }

    /// Reads the stored bytes of a page as they are, for tools.
    pub fn read_stored(&self, page: PageNo, buffer: &mut [u8]) -> Result<()> {
        self.layout.read(page, buffer).map(|_| ()).map_err(Error::io("read a page"))
    }

    /// Puts stored bytes (of the doublewrite file) to their place.
    pub fn restore(&self, page: PageNo, stored: &[u8]) -> Result<()> {
        // Direct I/O takes aligned memory only.
        let mut aligned = AlignedBuffer::new(stored.len());
        aligned[..stored.len()].copy_from_slice(stored);
        self.layout
            .write(Stored { page, bytes: &aligned[..stored.len()] }, &self.counters)
            .map_err(Error::io("restore a page"))
    }
}

/// Replaces an encoded page by what it encodes.
pub fn decode_in_place(frame: &mut [u8]) -> format::Result<()> {
    DECODE.with_borrow_mut(|(stored, scratch)| {
        let bytes = transform::encoded_bytes(frame)?;
        stored.clear();
        // A length that is a lie is found here: no more than the frame has is there.
        let Some(encoded) = frame.get(..bytes) else {
            return Err(format::Error::corrupt("length of a compressed page", header::TRANSFORM));
        };
        stored.extend_from_slice(encoded);
        transform::decode(stored, scratch, frame)
    })
}
