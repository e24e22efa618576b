//! (drawn below soon)
use crate::error::Result;

/// A codec by its number in the envelope.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Algorithm {
    None = 0,
    Zlib = 1,
    Lz4 = 2,
    Zstd = 3,
}

/// Reusable state and buffers of the codecs: one per thread that encodes or decodes.
#[derive(Default)]
pub struct Scratch {}

/// Encodes a sealed page into `out`, which gets the stored bytes, zero-filled to a multiple of `block_bytes`.
/// Returns their number, or `None` if that would not free at least one block: then the page is stored as it is.
pub fn encode(
    page: &[u8], algorithm: Algorithm, level: i32, block_bytes: usize, scratch: &mut Scratch, out: &mut Vec<u8>,
) -> Option<usize> { todo!() }

/// Whether the bytes are those of a compressed page.
pub fn is_encoded(stored: &[u8]) -> bool { todo!() }

/// Bytes of an encoded page that have to be there for it to be decoded (header and stream).
pub fn encoded_bytes(stored: &[u8]) -> Result<usize> { todo!() }

/// Decodes what `encode` made into `out`, whose length is the page size. The checksum is not verified here.
pub fn decode(stored: &[u8], scratch: &mut Scratch, out: &mut [u8]) -> Result<()> { todo!() }
