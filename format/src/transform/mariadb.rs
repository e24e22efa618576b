//! MariaDB's page compression (`PAGE_COMPRESSED=1`), for reading its files. We never write it.
//!
//! It compresses the whole page, header and all, and has two forms:
//!
//! ```text
//! files with crc32 checksums                      files with full_crc32 checksums (MariaDB 10.5 and later)
//!      0  4  0xDEADBEEF                                0 24  as in the page
//!      4 20  as in the page                           24  2  0x8000 | S / 256; S bytes are stored
//!     24  2  34354                                    26     stream
//!     26  8  algorithm                               S-5  1  LZ4 and others: low byte of where the stream ends, + 5
//!     34  4  space id                                S-4  4  CRC-32C of the bytes before
//!     38  2  stream bytes, n
//!     40  n  stream
//! ```
//!
//! The algorithm of the second form stands in the tablespace's flags. Of MariaDB's algorithms, zlib and LZ4 are read
//! here; LZO, LZMA, bzip2 and snappy are not.

use super::{Algorithm, Scratch};
use crate::checksum::crc32c;
use crate::error::{Error, Result};
use crate::page::header::{self, BODY, PageType};
use crate::page::{get_u16, get_u32, get_u64};

const STREAM_BYTES: usize = 38;
const STREAM: usize = 40;
const FULL_STREAM: usize = 26;

/// Whether the bytes are a compressed page of a file with crc32 checksums.
pub fn is_encoded(stored: &[u8]) -> bool {
    stored.len() > STREAM && header::page_type(stored) == PageType::MARIADB_COMPRESSED
}

/// The algorithm of a page for which [`is_encoded`] holds, by MariaDB's numbers.
pub fn algorithm(stored: &[u8]) -> u64 {
    get_u64(stored, header::TRANSFORM)
}

/// Bytes that such a page needs in its file.
pub fn encoded_bytes(stored: &[u8]) -> usize {
    STREAM + usize::from(get_u16(stored, STREAM_BYTES))
}

/// Decodes such a page into `out`, whose length is the page size.
pub fn decode(stored: &[u8], scratch: &mut Scratch, out: &mut [u8]) -> Result<()> {
    if !is_encoded(stored) {
        return Err(Error::corrupt("not a compressed page", header::TYPE));
    }
    let Some(stream) = stored.get(STREAM..encoded_bytes(stored)) else {
        return Err(Error::corrupt("stream length of a compressed page", STREAM_BYTES));
    };
    decompress(algorithm(stored), stream, scratch, out)
}

/// The stored bytes of a compressed page of a full_crc32 file; `None` if the page is not compressed.
pub fn full_crc32_bytes(stored: &[u8]) -> Option<usize> {
    if stored.len() < BODY {
        return None;
    }
    // The size is in units of 256 bytes; 0 means all of 64 KiB, which no page is that is worth compressing.
    let page_type = header::page_type(stored).0;
    (page_type & 0x8000 != 0).then(|| usize::from(page_type & 0xFF) << 8)
}

/// Decodes a page for which [`full_crc32_bytes`] is something, whose checksum is that of the stored bytes. The algorithm is that
/// of the tablespace's flags.
pub fn decode_full_crc32(stored: &[u8], algorithm: u8, scratch: &mut Scratch, out: &mut [u8]) -> Result<()> {
    let bytes = full_crc32_bytes(stored).unwrap_or_default();
    if bytes < FULL_STREAM + 5 || bytes > stored.len() {
        return Err(Error::corrupt("length of a compressed page", header::TYPE));
    }
    if get_u32(stored, bytes - 4) != crc32c(&stored[..bytes - 4]) {
        return Err(Error::corrupt("checksum", bytes - 4));
    }
    // zlib finds its own end; a raw LZ4 block has to be cut to it.
    let end = match algorithm {
        1 => bytes - 4,
        _ => {
            let end = match usize::from(stored[bytes - 5]) {
                0 => bytes,
                low => bytes - 256 + low,
            };
            end.saturating_sub(5)
        }
    };
    let Some(stream) = stored.get(FULL_STREAM..end) else {
        return Err(Error::corrupt("stream length of a compressed page", bytes - 5));
    };
    decompress(algorithm.into(), stream, scratch, out)
}

fn decompress(algorithm: u64, stream: &[u8], scratch: &mut Scratch, out: &mut [u8]) -> Result<()> {
    let codec = match algorithm {
        1 => scratch.codec(Algorithm::ZLIB),
        2 => scratch.codec(Algorithm::LZ4),
        _ => None,
    };
    match codec {
        Some(codec) => codec.decompress(stream, out),
        None => Err(Error::Unsupported { what: "MariaDB compression algorithm", value: algorithm as u32 }),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Effort;
    use super::*;
    use crate::page::{put_u16, put_u64};
    use proptest::prelude::*;

    /// A page, and its streams by zlib and LZ4.
    fn page() -> Vec<u8> {
        (0..4096).map(|at| (at / 50) as u8).collect()
    }

    fn stream(scratch: &mut Scratch, algorithm: Algorithm) -> Vec<u8> {
        let mut out = vec![0; 4096];
        let bytes = scratch
            .codec(algorithm)
            .and_then(|codec| codec.compress(&page(), Effort::Level(6), 4096, &mut out))
            .unwrap();
        out.truncate(bytes);
        out
    }

    #[test]
    fn both_forms_are_decoded() {
        let mut scratch = Scratch::new();
        for (number, algorithm) in [(1, Algorithm::ZLIB), (2, Algorithm::LZ4)] {
            let stream = stream(&mut scratch, algorithm);
            let mut out = vec![0; 4096];

            let mut stored = vec![0; STREAM + stream.len()];
            put_u16(&mut stored, header::TYPE, PageType::MARIADB_COMPRESSED.0);
            put_u64(&mut stored, header::TRANSFORM, number);
            put_u16(&mut stored, STREAM_BYTES, stream.len() as u16);
            stored[STREAM..].copy_from_slice(&stream);
            assert_eq!(encoded_bytes(&stored), stored.len());
            decode(&stored, &mut scratch, &mut out).unwrap();
            assert_eq!(out, page());
            assert!(decode(&stored[..stored.len() - 1], &mut scratch, &mut out).is_err());

            let end = FULL_STREAM + stream.len();
            let bytes = (end + 5).next_multiple_of(256);
            let mut stored = vec![0; bytes];
            put_u16(&mut stored, header::TYPE, 0x8000 | (bytes >> 8) as u16);
            stored[FULL_STREAM..end].copy_from_slice(&stream);
            stored[bytes - 5] = (end + 5) as u8;
            let sum = crc32c(&stored[..bytes - 4]);
            stored[bytes - 4..].copy_from_slice(&sum.to_be_bytes());
            out.fill(0);
            assert_eq!(full_crc32_bytes(&stored), Some(bytes));
            decode_full_crc32(&stored, number as u8, &mut scratch, &mut out).unwrap();
            assert_eq!(out, page());
            // What the codec does not notice, the checksum does.
            for at in 0..bytes {
                stored[at] ^= 1;
                assert!(decode_full_crc32(&stored, number as u8, &mut scratch, &mut out).is_err(), "byte {at}");
                stored[at] ^= 1;
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn random_bytes_never_panic(mut bytes in prop::collection::vec(any::<u8>(), 0..600), algorithm in 0_u8..4) {
            let mut scratch = Scratch::new();
            let mut out = [0; 4096];
            for page_type in [0x8001_u16, 0x8002, 0x80FF, PageType::MARIADB_COMPRESSED.0] {
                if bytes.len() > 34 {
                    put_u16(&mut bytes, header::TYPE, page_type);
                    put_u64(&mut bytes, header::TRANSFORM, algorithm.into());
                }
                let _ = decode(&bytes, &mut scratch, &mut out);
                let _ = decode_full_crc32(&bytes, algorithm, &mut scratch, &mut out);
            }
        }
    }
}
