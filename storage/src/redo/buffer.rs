//! Groups in memory that are not on disk yet.
//!
//! There are two buffers: one is appended to, the other is being written. They change roles at the beginning of each write
//! cycle, so that appending and writing do not wait for each other:
//!
//! ```text
//!   base (start of a block)             end
//!    |== written already ==|== new ======|  0000 |
//!                          to be written: whole blocks, the last one padded with zeros;
//!                          it begins the next buffer again, and is then written once more
//! ```

use format::ids::Lsn;

use super::file::{BLOCK_BYTES, LogFile};
use crate::error::Result;
use crate::io::AlignedBuffer;

/// Log bytes from a block boundary on.
pub struct LogBuffer {
    /// LSN of the first byte, a multiple of [`BLOCK_BYTES`].
    base: Lsn,
    bytes: AlignedBuffer,
    used: usize,
}

impl LogBuffer {
    pub fn new(bytes: usize) -> LogBuffer {
        LogBuffer { base: Lsn::ZERO, bytes: AlignedBuffer::new(bytes.max(2 * BLOCK_BYTES)), used: 0 }
    }

    pub fn base(&self) -> Lsn {
        self.base
    }

    pub fn end(&self) -> Lsn {
        self.base + self.used as u64
    }

    /// Bytes waiting.
    pub fn used(&self) -> usize {
        self.used
    }

    /// Makes room for `count` more bytes. Growing is the exception: it happens when the disk is much slower than the
    /// appenders, which must not wait.
    #[inline]
    pub fn reserve(&mut self, count: usize) {
        if self.used + count > self.bytes.len() {
            self.grow(count);
        }
    }

    #[cold]
    fn grow(&mut self, count: usize) {
        let mut larger = AlignedBuffer::new((self.used + count).max(self.bytes.len() * 2));
        larger[..self.used].copy_from_slice(&self.bytes[..self.used]);
        self.bytes = larger;
    }

    #[inline]
    pub fn append(&mut self, bytes: &[u8]) {
        self.bytes[self.used..self.used + bytes.len()].copy_from_slice(bytes);
        self.used += bytes.len();
    }

    /// Restarts the buffer where `previous` ends, with the filled part of its last block.
    pub fn follow(&mut self, previous: &LogBuffer) {
        let kept = previous.used % BLOCK_BYTES;
        self.base = previous.base + (previous.used - kept) as u64;
        self.bytes[..kept].copy_from_slice(&previous.bytes[previous.used - kept..previous.used]);
        self.used = kept;
    }

    /// Restarts the buffer at any LSN, behind the log that is already in its block: recovery may read it again.
    pub fn begin(&mut self, lsn: Lsn, file: &LogFile) -> Result<()> {
        let kept = (lsn.0 % BLOCK_BYTES as u64) as usize;
        self.base = Lsn(lsn.0 - kept as u64);
        file.read(self.base, &mut self.bytes[..BLOCK_BYTES])?;
        self.used = kept;
        Ok(())
    }

    /// All bytes as whole blocks, the last one padded with zeros.
    pub fn blocks(&mut self) -> &[u8] {
        let end = self.used.next_multiple_of(BLOCK_BYTES);
        self.reserve(end - self.used);
        self.bytes[self.used..end].fill(0);
        &self.bytes[..end]
    }
}
