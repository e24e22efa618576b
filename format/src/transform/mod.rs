//! Transparent page compression: what a compressed page looks like, and the two pure functions that make one and undo
//! it. This is InnoDB's page compression (`COMPRESSION="zlib"`), not its older `ROW_FORMAT=COMPRESSED`.
//!
//! A compressed page keeps its header readable, so that any tool can tell which page it is. Its body is a compressed
//! stream. Behind the stream there is nothing: the tablespace punches a hole there.
//!
//! ```text
//! offset  bytes
//!      0     24  checksum, page number, neighbours, LSN: as in every page
//!     24      2  page type: compressed (14)
//!     26      1  envelope version: 2; 1 is read, too
//!     27      1  algorithm: 1 zlib, 2 LZ4, and, ours alone, 3 zstd
//!     28      2  page type before compression
//!     30      2  body bytes before compression, PS - 38
//!     32      2  stream bytes, n
//!     34      4  space id: as in every page
//!     38      n  stream: the compressed body, trailer included
//!   38+n         zeros up to the next file block, then nothing: a hole
//! ```
//!
//! A codec is one file here, with a struct that implements `Codec` and a `Description`, and one line in the list
//! `CODECS`: names, numbers and levels all come from there. (`runs` shows it: a toy that only the tests know.) Codecs
//! see the body only. One that knows records ([`zstd`] takes index pages apart by columns) finds out about them from
//! the page itself and says so in the stream, so that nothing but the stream is needed to read the page back.
//!
//! Invariants:
//!
//! * `decode(encode(page)) == page`, for every page whose bytes 26 to 34 are zero, and every algorithm.
//! * The checksum is that of the plain page: sealed before [`encode`], verified after [`decode`]. So damage to the
//!   stream is detected.
//! * A higher level never gives a page more blocks than a lower one, and costs nothing where it cannot give fewer.
//! * A page is encoded only if that frees at least one file block. Readers accept plain pages among encoded ones.
//!
//! Not here: which page is compressed. Page 0 of a tablespace is always stored plain; the caller decides that.
//!
//! Sources: the fields and the rule are those of MySQL's manual, "InnoDB Page Compression", and of its public sources.

pub mod encryption;

pub mod mariadb;

mod lz4;
#[cfg(test)]
mod runs;
mod zlib;
mod zstd;

use std::fmt;

use crate::error::{Error, Result};
use crate::page::header::{self, BODY, PageType, TRANSFORM};
use crate::page::{get_u16, put_u16};

const VERSION: usize = TRANSFORM;
const ALGORITHM: usize = VERSION + 1;
const PLAIN_TYPE: usize = ALGORITHM + 1;
const PLAIN_BYTES: usize = PLAIN_TYPE + 2;
const STREAM_BYTES: usize = PLAIN_BYTES + 2;

const _: () = assert!(STREAM_BYTES + 2 == header::SPACE_ID);

/// The version we write. Version 1 is the same but for encryption.
const VERSION_WRITTEN: u8 = 2;

/// The codecs: a line each. All else about a codec is in its file.
const CODECS: &[Description] = &[
    zlib::DESCRIPTION,
    lz4::DESCRIPTION,
    zstd::DESCRIPTION,
    #[cfg(test)]
    runs::DESCRIPTION,
];

/// The properties of a codec, defined in its file.
struct Description {
    algorithm: Algorithm,
    /// As `COMPRESSION="..."` spells it.
    name: &'static str,
    /// Levels, lowest and highest; others are taken as the nearest.
    levels: (i32, i32),
    /// The default level.
    usual_level: i32,
    /// By how much a level may shorten what the quick pass has made, in percent; 0 if the quick pass is that level.
    reach_percent: fn(i32) -> usize,
    /// Creates its state, which is kept from page to page.
    make: fn() -> Box<dyn Codec>,
}

/// How a page's body is compressed, by the number in the envelope.
///
/// Each codec's file has its constant: `Algorithm::ZLIB`, `Algorithm::LZ4`, `Algorithm::ZSTD`.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Algorithm(u8);

impl Algorithm {
    pub const NONE: Algorithm = Algorithm(0);

    /// The names of all, no compression first.
    pub const NAMES: [&str; CODECS.len() + 1] = {
        let mut names = ["none"; CODECS.len() + 1];
        let mut at = 0;
        while at < CODECS.len() {
            names[at + 1] = CODECS[at].name;
            at += 1;
        }
        names
    };

    /// No compression, then all codecs.
    pub fn all() -> impl Iterator<Item = Algorithm> {
        std::iter::once(Algorithm::NONE).chain(Algorithm::codecs())
    }

    pub fn codecs() -> impl Iterator<Item = Algorithm> {
        CODECS.iter().map(|codec| codec.algorithm)
    }

    /// By the name that `COMPRESSION="..."` takes, in any case. The empty name is no compression.
    pub fn by_name(name: &str) -> Option<Algorithm> {
        if name.is_empty() {
            return Some(Algorithm::NONE);
        }
        Algorithm::all().find(|algorithm| algorithm.name().eq_ignore_ascii_case(name))
    }

    pub fn name(self) -> &'static str {
        self.description().map_or("none", |codec| codec.name)
    }

    pub const fn number(self) -> u8 {
        self.0
    }

    #[inline]
    pub fn from_number(number: u8) -> Option<Algorithm> {
        Algorithm::all().find(|algorithm| algorithm.0 == number)
    }

    /// The levels that the algorithm knows, lowest and highest; others are taken as the nearest.
    pub fn levels(self) -> (i32, i32) {
        self.description().map_or((0, 0), |codec| codec.levels)
    }

    /// The default level.
    pub fn usual_level(self) -> i32 {
        self.description().map_or(0, |codec| codec.usual_level)
    }

    /// Its place in the list; `None` for no compression.
    fn position(self) -> Option<usize> {
        CODECS.iter().position(|codec| codec.algorithm == self)
    }

    fn description(self) -> Option<&'static Description> {
        self.position().map(|position| &CODECS[position])
    }
}

impl fmt::Debug for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// How hard a codec tries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Effort {
    /// As little as it can.
    Quick,
    /// A level that it knows.
    Level(i32),
}

/// One way to compress a page's body.
trait Codec: Send {
    /// Compresses `body` into the start of `out` and answers the length, or `None` if it does not fit. What is stored,
    /// page header included, will be rounded up to `block_bytes`.
    fn compress(&mut self, body: &[u8], effort: Effort, block_bytes: usize, out: &mut [u8]) -> Option<usize>;

    /// Decompresses `stream`, which must fill `body`.
    fn decompress(&mut self, stream: &[u8], body: &mut [u8]) -> Result<()>;
}

/// Reusable state and buffers of the codecs: one per thread that encodes or decodes. Codecs are set up on first use.
#[derive(Default)]
pub struct Scratch {
    /// In the order of the list.
    codecs: [Option<Box<dyn Codec>>; CODECS.len()],
    /// Where a second attempt goes.
    second: Vec<u8>,
    /// Pages that are not checked for noise, because the last one could be compressed.
    trusted: u32,
}

impl Scratch {
    pub fn new() -> Scratch {
        Scratch::default()
    }

    #[inline]
    fn codec(&mut self, algorithm: Algorithm) -> Option<&mut dyn Codec> {
        let position = algorithm.position()?;
        Some(self.codecs[position].get_or_insert_with(CODECS[position].make).as_mut())
    }
}

/// Encodes a sealed page into `out`, which gets the stored bytes, zero-filled to a multiple of `block_bytes`.
///
/// Answers their number, or `None` if that would not free at least one block: then the page is stored as it is, and
/// what is in `out` means nothing. R-tree pages are always stored as they are.
pub fn encode(
    page: &[u8],
    algorithm: Algorithm,
    level: i32,
    block_bytes: usize,
    scratch: &mut Scratch,
    out: &mut Vec<u8>,
) -> Option<usize> {
    let description = algorithm.description()?;
    let level = level.clamp(description.levels.0, description.levels.1);
    let plain_type = header::page_type(page);
    if block_bytes == 0 || page.len() < 2 * block_bytes || matches!(plain_type, PageType::RTREE | PageType::COMPRESSED)
    {
        return None;
    }
    if page.len() - block_bytes <= BODY {
        return None;
    }
    scratch.trusted = scratch.trusted.saturating_sub(1);
    if scratch.trusted == 0 && is_noise(page, block_bytes, scratch, out) {
        return None;
    }
    let compressed = compress_to_blocks(page, description, level, block_bytes, scratch, out);
    scratch.trusted =
        if compressed.is_some() { if scratch.trusted == 0 { TRUSTED_PAGES } else { scratch.trusted } } else { 0 };
    let stream_bytes = compressed?;
    let stored_bytes = (BODY + stream_bytes).next_multiple_of(block_bytes);
    out[..BODY].copy_from_slice(&page[..BODY]);
    header::set_page_type(out, PageType::COMPRESSED);
    out[VERSION] = VERSION_WRITTEN;
    out[ALGORITHM] = algorithm.number();
    put_u16(out, PLAIN_TYPE, plain_type.0);
    put_u16(out, PLAIN_BYTES, (page.len() - BODY) as u16);
    put_u16(out, STREAM_BYTES, stream_bytes as u16);
    // A codec may have left something behind its stream.
    out[BODY + stream_bytes..stored_bytes].fill(0);
    out.truncate(stored_bytes);
    Some(stored_bytes)
}

/// Compresses a page's body to the fewest blocks in reach of the level, into `out` behind space for the header. Returns
/// the length of the stream, or `None` if no block would become free.
///
/// Bytes that rounding to blocks discards are not worth any effort. So a quick pass comes first; the level's pass
/// follows only if it may reach the next boundary below, and gets no more space than that:
///
/// ```text
///                    reach
///                  <------>
///   |---------|---------|--+------|    the quick pass ended at +: the level is tried, for the boundary on its left
///   |---------|---------|------+--|    it is not: the page needs three blocks one way or the other
/// ```
fn compress_to_blocks(
    page: &[u8],
    description: &Description,
    level: i32,
    block_bytes: usize,
    scratch: &mut Scratch,
    out: &mut Vec<u8>,
) -> Option<usize> {
    let body = &page[BODY..];
    let limit = page.len() - block_bytes;
    let reach_percent = (description.reach_percent)(level);
    out.clear();
    out.resize(page.len(), 0);
    // With small blocks a boundary is always in reach.
    if reach_percent > 0 && page.len() / 16 >= block_bytes {
        let codec = scratch.codec(description.algorithm)?;
        return codec.compress(body, Effort::Level(level), block_bytes, &mut out[BODY..limit]);
    }
    let effort = if reach_percent > 0 { Effort::Quick } else { Effort::Level(level) };
    let codec = scratch.codec(description.algorithm)?;
    let quick_bytes = codec.compress(body, effort, block_bytes, &mut out[BODY..])?;
    let quick_blocks = (BODY + quick_bytes).div_ceil(block_bytes);
    let fits = quick_blocks * block_bytes <= limit;
    let boundary = ((quick_blocks - 1) * block_bytes).min(limit);
    let best_bytes = BODY + quick_bytes - quick_bytes * reach_percent / 100;
    if best_bytes <= boundary && boundary > BODY {
        let mut shorter = std::mem::take(&mut scratch.second);
        shorter.clear();
        shorter.resize(boundary, 0);
        let codec = scratch.codec(description.algorithm)?;
        let reached = codec.compress(body, Effort::Level(level), block_bytes, &mut shorter[BODY..]);
        if reached.is_some() {
            std::mem::swap(out, &mut shorter);
        }
        scratch.second = shorter;
        if reached.is_some() {
            return reached;
        }
    }
    fits.then_some(quick_bytes)
}

/// Where pages can be compressed, the check costs more than it saves: then only some pages are checked.
const TRUSTED_PAGES: u32 = 8;

/// Bytes of a page that are sampled to detect noise: some from each part.
const SAMPLE_BYTES: usize = 2048;
const SAMPLE_RUN: usize = 64;

/// Whether no codec can make the page shorter by a block: its bytes are so evenly distributed that entropy coding
/// cannot do it, and the quickest codec finds hardly any repetitions.
fn is_noise(page: &[u8], block_bytes: usize, scratch: &mut Scratch, out: &mut Vec<u8>) -> bool {
    let limit = page.len() - block_bytes;
    let mut counts = [0_u16; 256];
    for run in page.chunks_exact(SAMPLE_RUN).step_by((page.len() / SAMPLE_BYTES).max(1)) {
        for &byte in run {
            counts[usize::from(byte)] += 1;
        }
    }
    let total: u32 = counts.iter().map(|&count| u32::from(count)).sum();
    if total == 0 {
        return false;
    }
    // The least that an ideal coder of single bytes needs for the sample (Shannon's entropy), carried over to the page.
    let bits: f32 = counts
        .iter()
        .filter(|&&count| count > 0)
        .map(|&count| f32::from(count) * (total as f32 / f32::from(count)).log2())
        .sum();
    let coded_bytes = bits / 8.0 / total as f32 * page.len() as f32;
    if coded_bytes <= limit as f32 {
        return false;
    }
    out.clear();
    out.resize(limit, 0);
    let repeats = scratch.codec(Algorithm::LZ4);
    repeats.is_some_and(|codec| codec.compress(&page[BODY..], Effort::Quick, block_bytes, &mut out[BODY..]).is_none())
}

/// Whether the bytes are those of a compressed page.
#[inline]
pub fn is_encoded(stored: &[u8]) -> bool {
    stored.len() >= BODY && header::page_type(stored) == PageType::COMPRESSED
}

/// What the envelope of a compressed page says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Envelope {
    pub version: u8,
    pub algorithm: u8,
    pub plain_type: PageType,
    pub plain_bytes: usize,
    pub stream_bytes: usize,
}

impl Envelope {
    /// Reads the envelope of a compressed page; at least 38 bytes of it must be there.
    pub fn read(stored: &[u8]) -> Result<Envelope> {
        if !is_encoded(stored) {
            return Err(Error::corrupt("not a compressed page", header::TYPE));
        }
        Ok(Envelope {
            version: stored[VERSION],
            algorithm: stored[ALGORITHM],
            plain_type: PageType(get_u16(stored, PLAIN_TYPE)),
            plain_bytes: usize::from(get_u16(stored, PLAIN_BYTES)),
            stream_bytes: usize::from(get_u16(stored, STREAM_BYTES)),
        })
    }
}

/// Bytes of an encoded page that must be there for it to be decoded: header and stream. What a compressed page occupies
/// in its file is this, rounded up to blocks.
pub fn encoded_bytes(stored: &[u8]) -> Result<usize> {
    Ok(BODY + Envelope::read(stored)?.stream_bytes)
}

/// Bytes that a stored page of ours needs in its file, compressed, encrypted or neither, from what its header says.
/// `stored` is the page with the hole behind it, or its header alone with the rest still to come: a page that is not
/// compressed needs `page_bytes` of it.
pub fn stored_bytes_of(header: &[u8], page_bytes: usize) -> usize {
    if header.len() < BODY {
        return page_bytes;
    }
    match header::page_type(header) {
        PageType::COMPRESSED => BODY + usize::from(get_u16(header, STREAM_BYTES)),
        PageType::COMPRESSED_AND_ENCRYPTED => encryption::encrypted_bytes(header),
        _ => page_bytes,
    }
}

/// The number of the codec of a stored page, encrypted or not; `None` if it is plain.
pub fn stored_algorithm(header: &[u8]) -> Option<u8> {
    let encoded = [PageType::COMPRESSED, PageType::COMPRESSED_AND_ENCRYPTED];
    (header.len() >= BODY && encoded.contains(&header::page_type(header))).then(|| header[ALGORITHM])
}

/// [`stored_bytes_of`] a whole page.
pub fn stored_bytes(stored: &[u8]) -> usize {
    stored_bytes_of(stored, stored.len())
}

/// Decodes what [`encode`] made into `out`, whose length is the page size. The checksum is not verified here.
///
/// `stored` may be longer than the stored page (a read of the hole behind it), or end with its stream.
pub fn decode(stored: &[u8], scratch: &mut Scratch, out: &mut [u8]) -> Result<()> {
    let envelope = Envelope::read(stored)?;
    if !matches!(envelope.version, 1 | 2) {
        return Err(Error::Unsupported { what: "version of a compressed page", value: envelope.version.into() });
    }
    if envelope.plain_bytes + BODY != out.len() {
        return Err(Error::corrupt("body length of a compressed page", PLAIN_BYTES));
    }
    let Some(stream) = stored.get(BODY..BODY + envelope.stream_bytes) else {
        return Err(Error::corrupt("stream length of a compressed page", STREAM_BYTES));
    };
    let Some(codec) = Algorithm::from_number(envelope.algorithm).and_then(|algorithm| scratch.codec(algorithm)) else {
        return Err(Error::Unsupported { what: "compression algorithm", value: envelope.algorithm.into() });
    };
    codec.decompress(stream, &mut out[BODY..])?;
    out[..BODY].copy_from_slice(&stored[..BODY]);
    header::set_page_type(out, envelope.plain_type);
    out[TRANSFORM..TRANSFORM + 8].fill(0);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{Lsn, PageId, PageNo, SpaceId};
    use proptest::prelude::*;

    const BLOCK: usize = 4096;

    fn page(bytes: usize, fill: impl Fn(usize) -> u8) -> Vec<u8> {
        let mut page = vec![0; bytes];
        header::init(&mut page, PageId::new(SpaceId(7), PageNo(9)), PageType::INDEX);
        for (at, byte) in page.iter_mut().enumerate().take(bytes - 8).skip(BODY) {
            *byte = fill(at);
        }
        header::seal(&mut page, Lsn(4711));
        page
    }

    #[test]
    fn what_saves_a_block_is_stored_short_and_comes_back() {
        let mut scratch = Scratch::new();
        let mut out = Vec::new();
        for algorithm in Algorithm::codecs() {
            for bytes in [8192, 16384, 32768, 65536] {
                let page = page(bytes, |at| (at / 100) as u8);
                let stored = encode(&page, algorithm, 1, BLOCK, &mut scratch, &mut out).unwrap();
                assert_eq!(stored, out.len());
                assert_eq!(stored, encoded_bytes(&out).unwrap().next_multiple_of(BLOCK));
                assert!(stored <= bytes - BLOCK);
                let mut back = vec![0xEE; bytes];
                decode(&out, &mut scratch, &mut back).unwrap();
                assert_eq!(back, page, "{algorithm:?}");
                assert_eq!(header::verify(&back, PageId::new(SpaceId(7), PageNo(9))), Ok(()));
                // A read of the whole slot, hole and all, decodes as well; and so does one that ends with the stream.
                let cut = encoded_bytes(&out).unwrap();
                out.resize(bytes, 0);
                decode(&out, &mut scratch, &mut back).unwrap();
                decode(&out[..cut], &mut scratch, &mut back).unwrap();
                assert!(decode(&out[..cut - 1], &mut scratch, &mut back).is_err());
            }
        }
    }

    #[test]
    fn what_saves_no_block_is_stored_as_it_is() {
        let mut scratch = Scratch::new();
        let mut out = Vec::new();
        let mut state = 1_u32;
        let noise: Vec<u8> = std::iter::repeat_with(|| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 24) as u8
        })
        .take(16384)
        .collect();
        let random = page(16384, |at| noise[at]);
        let simple = page(16384, |_| 1);
        let small = page(4096, |_| 1);
        for algorithm in Algorithm::codecs() {
            assert_eq!(encode(&random, algorithm, 6, BLOCK, &mut scratch, &mut out), None, "{algorithm:?}");
            assert_eq!(encode(&simple, algorithm, 6, 16384, &mut scratch, &mut out), None);
            assert_eq!(encode(&simple, algorithm, 6, 0, &mut scratch, &mut out), None);
            assert_eq!(encode(&small, algorithm, 6, BLOCK, &mut scratch, &mut out), None);
            assert_eq!(encode(&simple, algorithm, 6, BLOCK, &mut scratch, &mut out), Some(BLOCK));
        }
        assert_eq!(encode(&simple, Algorithm::NONE, 6, BLOCK, &mut scratch, &mut out), None);
    }

    #[test]
    fn every_level_works() {
        let mut scratch = Scratch::new();
        let mut out = Vec::new();
        let page = page(16384, |at| (at / 40 * (at / 1000)) as u8);
        for algorithm in Algorithm::codecs() {
            for level in -3..25 {
                let stored = encode(&page, algorithm, level, 512, &mut scratch, &mut out);
                if stored.is_some() {
                    let mut back = vec![0; 16384];
                    decode(&out, &mut scratch, &mut back).unwrap();
                    assert_eq!(back, page);
                } else {
                    assert!(level <= 0, "{algorithm:?} {level}");
                }
            }
        }
    }

    /// Rows as in a table: some fields repeat, some hardly.
    fn rows(seed: u64, digits: u64) -> Vec<u8> {
        let mut state = seed | 1;
        let mut random = move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state >> 33
        };
        let mut body = Vec::new();
        while body.len() < 16384 {
            body.extend_from_slice(format!("customer-{:06}-city-{};", random() % 900, random() % 40).as_bytes());
            for _ in 0..digits {
                body.push(b'0' + (random() % 10) as u8);
            }
        }
        body
    }

    #[test]
    fn a_higher_level_never_takes_more_blocks() {
        let mut scratch = Scratch::new();
        let mut out = Vec::new();
        let mut better = 0;
        for (seed, digits) in (0..60).map(|n| (n, n % 20 * 4)) {
            let body = rows(seed, digits);
            let page = page(16384, |at| body[at]);
            for (algorithm, levels) in [(Algorithm::ZLIB, [1, 6, 9]), (Algorithm::ZSTD, [1, 6, 22])] {
                let blocks = levels.map(|level| {
                    let stored = encode(&page, algorithm, level, BLOCK, &mut scratch, &mut out);
                    if stored.is_some() {
                        let mut back = vec![0; 16384];
                        decode(&out, &mut scratch, &mut back).unwrap();
                        assert_eq!(back, page);
                    }
                    stored.unwrap_or(16384)
                });
                assert!(blocks[0] >= blocks[1] && blocks[0] >= blocks[2], "{algorithm:?} {blocks:?}");
                better += usize::from(blocks[2] < blocks[0]);
            }
        }
        assert!(better > 0, "some page lies so that a level reaches the next boundary");
    }

    #[test]
    fn noise_is_noticed_and_what_repeats_is_none() {
        let mut scratch = Scratch::new();
        let mut out = Vec::new();
        let mut state = 9_u64;
        let noise: Vec<u8> = std::iter::repeat_with(|| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 40) as u8
        })
        .take(16384)
        .collect();
        assert!(is_noise(&noise, BLOCK, &mut scratch, &mut out));
        // Random bytes, twice: the spread of bytes is as even, and half a page is free.
        let twice = page(16384, |at| noise[at % 8000]);
        assert!(!is_noise(&twice, BLOCK, &mut scratch, &mut out));
        assert_eq!(encode(&twice, Algorithm::ZSTD, 1, BLOCK, &mut scratch, &mut out), Some(2 * BLOCK));
        // Hexadecimal digits are half noise, and compress to half.
        let digits = page(16384, |at| b"0123456789abcdef"[usize::from(noise[at] & 15)]);
        assert!(!is_noise(&digits, BLOCK, &mut scratch, &mut out));
    }

    #[test]
    fn an_envelope_of_another_kind_is_refused() {
        let mut scratch = Scratch::new();
        let mut out = Vec::new();
        encode(&page(16384, |_| 1), Algorithm::ZLIB, 6, BLOCK, &mut scratch, &mut out).unwrap();
        let mut back = vec![0; 16384];
        for (at, value) in [(VERSION, 3), (VERSION, 0), (ALGORITHM, 0), (ALGORITHM, 9)] {
            let mut other = out.clone();
            other[at] = value;
            assert!(matches!(decode(&other, &mut scratch, &mut back), Err(Error::Unsupported { .. })));
        }
        out[VERSION] = 1;
        assert_eq!(decode(&out, &mut scratch, &mut back), Ok(()));
        assert!(decode(&out, &mut scratch, &mut back[..8192]).is_err());
        assert!(decode(&out[..20], &mut scratch, &mut back).is_err());
    }

    #[test]
    fn names_and_numbers() {
        assert_eq!(Algorithm::by_name("ZSTD"), Some(Algorithm::ZSTD));
        assert_eq!(Algorithm::by_name(""), Some(Algorithm::NONE));
        assert_eq!(Algorithm::by_name("lzma"), None);
        for algorithm in Algorithm::all() {
            assert_eq!(Algorithm::by_name(algorithm.name()), Some(algorithm));
            assert_eq!(Algorithm::from_number(algorithm.number()), Some(algorithm));
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn any_body_comes_back(seed: u64, spread in 1_u64..256, level in 1..9, which in 0..CODECS.len()) {
            let mut state = seed;
            let noise: Vec<u8> = std::iter::repeat_with(|| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                ((state >> 33) % spread) as u8
            }).take(16384).collect();
            let page = page(16384, |at| noise[at]);
            let mut scratch = Scratch::new();
            let mut out = Vec::new();
            if encode(&page, Algorithm::codecs().nth(which).unwrap(), level, BLOCK, &mut scratch, &mut out).is_some() {
                let mut back = vec![0; 16384];
                prop_assert_eq!(decode(&out, &mut scratch, &mut back), Ok(()));
                prop_assert_eq!(back, page);
            }
        }

        #[test]
        fn damaged_streams_are_errors_or_other_pages(seed: u64, which in 0..CODECS.len(), damage in prop::collection::vec((26_usize..5000, any::<u8>()), 1..20)) {
            let page = page(16384, |at| ((at as u64).wrapping_mul(seed) >> 7) as u8);
            let mut scratch = Scratch::new();
            let mut out = Vec::new();
            if encode(&page, Algorithm::codecs().nth(which).unwrap(), 1, 512, &mut scratch, &mut out).is_some() {
                for (at, value) in damage {
                    if let Some(byte) = out.get_mut(at) {
                        *byte = value;
                    }
                }
                let mut back = vec![0; 16384];
                let _ = decode(&out, &mut scratch, &mut back);
            }
        }

        #[test]
        fn random_bytes_never_panic(mut bytes in prop::collection::vec(any::<u8>(), 0..300), algorithm in 0_u8..4) {
            if bytes.len() >= 38 {
                bytes[24..26].copy_from_slice(&14_u16.to_be_bytes());
                bytes[26] = 2;
                bytes[27] = algorithm;
                bytes[30..32].copy_from_slice(&(4096 - 38_u16).to_be_bytes());
                let stream = (bytes.len() - 38) as u16;
                bytes[32..34].copy_from_slice(&stream.to_be_bytes());
            }
            let _ = decode(&bytes, &mut Scratch::new(), &mut [0; 4096]);
        }
    }
}
