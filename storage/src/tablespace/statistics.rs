//! Statistics: events since the start, and the current state of a tablespace's pages.
//!
//! The second kind is not a counter that has to be kept right, but a sum over what is known of each page (see
//! `layout::pages`): it equals a recount of the file.

use std::sync::Arc;
use std::time::Duration;

use crate::sync::Counter;

/// Events of pages being written and read, all tablespaces together.
#[derive(Debug, Default)]
pub struct IoCounters {
    pub page_reads: Counter,
    pub data_bytes_read: Counter,
    pub pages_written: Counter,
    pub data_bytes_written: Counter,
    /// Calls: adjacent pages are written together.
    pub data_writes: Counter,
    pub data_fsyncs: Counter,
    pub doublewrite_pages: Counter,
    pub doublewrite_writes: Counter,
    pub doublewrite_bytes: Counter,
    /// Pages that were written untorn.
    pub untorn_pages: Counter,
    pub pages_compressed: Counter,
    pub pages_compress_failed: Counter,
    pub pages_decompressed: Counter,
    pub pages_encrypted: Counter,
    pub pages_decrypted: Counter,
    pub punches: Counter,
    pub punches_avoided: Counter,
    pub punches_failed: Counter,
}

/// The same for one tablespace, as far as it is reported; adds to the totals as well.
#[derive(Debug, Default)]
pub struct SpaceCounters {
    pub total: Arc<IoCounters>,
    pub writes: Counter,
    pub punches_issued: Counter,
    pub punches_avoided: Counter,
    pub punches_failed: Counter,
    pub compress_nanos: Counter,
    pub decompress_nanos: Counter,
}

impl SpaceCounters {
    pub fn new(total: Arc<IoCounters>) -> SpaceCounters {
        SpaceCounters { total, ..SpaceCounters::default() }
    }

    pub fn written(&self, pages: usize, bytes: usize, writes: usize) {
        self.writes.add(writes as u64);
        self.total.data_writes.add(writes as u64);
        self.total.pages_written.add(pages as u64);
        self.total.data_bytes_written.add(bytes as u64);
    }

    pub fn punched(&self, count: u64) {
        self.punches_issued.add(count);
        self.total.punches.add(count);
    }

    pub fn punches_avoided(&self, count: u64) {
        self.punches_avoided.add(count);
        self.total.punches_avoided.add(count);
    }

    pub fn punch_failed(&self) {
        self.punches_failed.add(1);
        self.total.punches_failed.add(1);
    }

    pub fn compressed(&self, took: Duration) {
        self.compress_nanos.add(took.as_nanos() as u64);
    }

    pub fn decompressed(&self, took: Duration) {
        self.decompress_nanos.add(took.as_nanos() as u64);
        self.total.pages_decompressed.add(1);
    }
}

/// How the pages of a tablespace are stored now, and its events since the file was opened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CompressionStats {
    pub pages_plain: u64,
    pub pages_zlib: u64,
    pub pages_lz4: u64,
    pub pages_zstd: u64,
    /// The encrypted ones among all of these.
    pub pages_encrypted: u64,
    /// All zero.
    pub pages_unwritten: u64,
    /// Of unknown form, because they have not been read or written since the start; see `Tablespace::survey`.
    pub pages_unknown: u64,
    /// Bytes that the known pages occupy, in whole blocks.
    pub stored_bytes: u64,
    /// Bytes that they need, exactly.
    pub exact_bytes: u64,
    /// Pages that exceed the end of a block by at most [`BOUNDARY_MISS_BYTES`].
    pub boundary_misses: u64,
    /// Pages that no codec shortened by a block when they were last written.
    pub pages_incompressible: u64,
    pub punches_issued: u64,
    pub punches_avoided: u64,
    pub punches_failed: u64,
    pub compress_us: u64,
    pub decompress_us: u64,
}

/// A page that exceeds a block's end by no more than this narrowly missed it.
pub const BOUNDARY_MISS_BYTES: usize = 128;
