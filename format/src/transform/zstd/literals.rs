//! Frames without repetitions: Zstandard as a pure entropy coder, for bytes without repetitions.
//!
//! The library cannot be limited to this: it counts all bytes of every page again, and builds a table for each. Rows of
//! one index are much alike, so here a table serves for many pages, and so it may be a large one, that has the codes of
//! two bytes at once: what is left is a look-up and two shifts per two bytes. The result is an ordinary frame of one
//! block, and the library decodes it.
//!
//! ```text
//! offset  bytes
//!      0      4  magic
//!      4      1  0x60: one segment, two bytes of content length
//!      5      2  content length - 256
//!      7      3  block header: last, compressed, length << 3
//!     10      5  literals header: compressed in four streams, length before, length after
//!     15      w  the table: 127 + n, and n weights of four bits
//!   15+w      6  lengths of the first three streams
//!              four streams, each read from its end
//!              0: no sequences
//! ```
//!
//! Bytes below 128 only: the weights of more symbols need a coder of their own, and that is the library's business.
//!
//! Source: RFC 8878, sections 3.1.1 and 4.2.

/// Symbols that a table of plain weights may have.
const SYMBOLS: usize = 128;
/// The longest code.
const BITS_MAX: u32 = 11;
/// How many pages a table serves.
const TABLE_PAGES: u32 = 64;
/// What is shorter is not worth four streams.
pub(super) const BYTES_MIN: usize = 1024;
pub(super) const BYTES_MAX: usize = 256 + 0xFFFF;

const MAGIC: [u8; 4] = 0xFD2F_B528_u32.to_le_bytes();
/// In a table's entry: the length of the code, which stands below.
const LENGTH: u32 = 24;
/// ... and that there is none.
const UNKNOWN: u32 = 1 << 31;

const CODE: u32 = (1 << LENGTH) - 1;

// Two codes stand below their length; and two pairs, with the 7 bits that may be left, fit a word.
const _: () = assert!(2 * BITS_MAX <= LENGTH && 4 * BITS_MAX + 7 < 64);

pub(super) struct Literals {
    /// By symbol.
    table: [u32; SYMBOLS],
    /// By two symbols, the first one in the lower seven bits. The codes in the order in which they are written, from
    /// the last symbol to the first.
    pairs: Vec<u32>,
    /// The table as the frame has it.
    weights: Vec<u8>,
    /// Pages that the table may still serve.
    left: u32,
    streams: [Vec<u8>; 4],
}

impl Default for Literals {
    fn default() -> Literals {
        let table = [UNKNOWN; SYMBOLS];
        Literals { table, pairs: Vec::new(), weights: Vec::new(), left: 0, streams: Default::default() }
    }
}

impl Literals {
    /// The table is for other pages now; its memory is kept.
    pub fn forget(&mut self) {
        self.left = 0;
    }

    /// Encodes into the start of `out`. `None` if it does not fit, or is nothing for this coder.
    pub fn encode(&mut self, text: &[u8], out: &mut [u8]) -> Option<usize> {
        if !(BYTES_MIN..=BYTES_MAX).contains(&text.len()) || !text.is_ascii() {
            return None;
        }
        let fresh = self.left == 0;
        if fresh {
            self.build(text)?;
        }
        self.left -= 1;
        if !self.encode_streams(text) {
            // A byte that no page has had since the table was built.
            if fresh {
                return None;
            }
            self.build(text)?;
            if !self.encode_streams(text) {
                return None;
            }
        }
        self.assemble(text.len(), out)
    }

    fn assemble(&self, text_bytes: usize, out: &mut [u8]) -> Option<usize> {
        let streams: usize = self.streams.iter().map(Vec::len).sum();
        let literals = self.weights.len() + 6 + streams;
        let block = 5 + literals + 1;
        let out = out.get_mut(..10 + block)?;
        out[..4].copy_from_slice(&MAGIC);
        out[4] = 0x60;
        out[5..7].copy_from_slice(&((text_bytes - 256) as u16).to_le_bytes());
        let header = 1 | (2 << 1) | ((block as u32) << 3);
        out[7..10].copy_from_slice(&header.to_le_bytes()[..3]);
        // Two bits each for the kind and the format, 18 for each length.
        let header = 2 | (3 << 2) | ((text_bytes as u64) << 4) | ((literals as u64) << 22);
        out[10..15].copy_from_slice(&header.to_le_bytes()[..5]);
        let mut at = 15;
        let mut append = |bytes: &[u8]| {
            out[at..at + bytes.len()].copy_from_slice(bytes);
            at += bytes.len();
        };
        append(&self.weights);
        for stream in &self.streams[..3] {
            append(&u16::try_from(stream.len()).ok()?.to_le_bytes());
        }
        self.streams.iter().for_each(|stream| append(stream));
        append(&[0]);
        Some(10 + block)
    }

    /// False if the table lacks a byte: then the streams mean nothing.
    fn encode_streams(&mut self, text: &[u8]) -> bool {
        let parts = text.chunks(text.len().div_ceil(4));
        let mut seen = 0;
        for (part, stream) in parts.zip(&mut self.streams) {
            seen |= encode_stream(&self.table, &self.pairs, part, stream);
        }
        seen & UNKNOWN == 0
    }

    /// Makes a table for pages like this one.
    fn build(&mut self, text: &[u8]) -> Option<()> {
        self.left = 0;
        let mut counts = [0_u32; SYMBOLS];
        for &byte in text {
            counts[usize::from(byte) % SYMBOLS] += 1;
        }
        // What earlier pages had may come again.
        for (count, entry) in counts.iter_mut().zip(&self.table) {
            if *entry != UNKNOWN {
                *count = (*count).max(1);
            }
        }
        let lengths = code_lengths(&counts)?;
        let longest = u32::from(*lengths.iter().max()?);
        let last = lengths.iter().rposition(|&length| length > 0)?;
        let weight = |symbol: usize| match lengths[symbol] {
            0 => 0,
            length => (longest + 1) as u8 - length,
        };
        // The last symbol's weight follows from the others.
        self.weights.clear();
        self.weights.push((127 + last) as u8);
        self.weights.extend((0..last).step_by(2).map(|symbol| {
            let second = if symbol + 1 < last { weight(symbol + 1) } else { 0 };
            (weight(symbol) << 4) | second
        }));
        // Codes rise from the longest on, and with the symbol.
        let mut next = [0_u32; BITS_MAX as usize + 1];
        let mut code = 0;
        for length in (1..=longest).rev() {
            next[length as usize] = code;
            code += lengths.iter().filter(|&&known| u32::from(known) == length).count() as u32;
            code >>= 1;
        }
        self.table = [UNKNOWN; SYMBOLS];
        for (symbol, &length) in lengths.iter().enumerate().filter(|(_, length)| **length > 0) {
            let code = &mut next[usize::from(length)];
            self.table[symbol] = *code | (u32::from(length) << LENGTH);
            *code += 1;
        }
        self.pairs.clear();
        for &second in &self.table {
            let length = second >> LENGTH & 15;
            // Both lengths add up, and both codes stand below them.
            let pair = |first: &u32| {
                let codes = (first & CODE) << length;
                codes | ((first & !CODE) + (second & !UNKNOWN)) | (second & UNKNOWN)
            };
            self.pairs.extend(self.table.iter().map(pair));
        }
        self.left = TABLE_PAGES;
        Some(())
    }
}

/// Encodes a stream. Answers what the tables said of all symbols together.
fn encode_stream(table: &[u32; SYMBOLS], pairs: &[u32], text: &[u8], stream: &mut Vec<u8>) -> u32 {
    let pairs: &[u32; SYMBOLS * SYMBOLS] = pairs.try_into().expect("a pair of symbols each");
    // Not cleared: all that counts is written.
    stream.resize(text.len() * BITS_MAX as usize / 8 + 16, 0);
    // The first bits lowest.
    let (mut bits, mut count, mut at) = (0_u64, 0_u32, 0);
    let mut seen = 0;
    let mut flush = |bits: &mut u64, count: &mut u32| {
        stream[at..at + 8].copy_from_slice(&bits.to_le_bytes());
        at += (*count >> 3) as usize;
        *bits >>= *count & 56;
        *count &= 7;
    };
    // The last byte comes first, since a stream is read from its end.
    let (front, chunks) = text.as_rchunks::<4>();
    for chunk in chunks.iter().rev() {
        let four = u32::from_le_bytes(*chunk) as usize;
        for two in [four >> 16, four] {
            let entry = pairs[(two & 0x7F) | (two >> 1 & 0x3F80)];
            seen |= entry;
            bits |= u64::from(entry & CODE) << (count & 63);
            count += entry >> LENGTH & 31;
        }
        flush(&mut bits, &mut count);
    }
    // At the very end a bit that says where it is.
    let end = 1 | (1 << LENGTH);
    for entry in front.iter().rev().map(|&byte| table[usize::from(byte) % SYMBOLS]).chain([end]) {
        seen |= entry;
        bits |= u64::from(entry & CODE) << (count & 63);
        count += entry >> LENGTH & 31;
        flush(&mut bits, &mut count);
    }
    let bytes = at + usize::from(count > 0);
    stream.truncate(bytes);
    seen
}

/// Lengths of a complete prefix code, none longer than `BITS_MAX`; `None` for fewer than two symbols.
fn code_lengths(counts: &[u32; SYMBOLS]) -> Option<[u8; SYMBOLS]> {
    let mut symbols: Vec<(u32, u8)> = Vec::with_capacity(SYMBOLS);
    symbols.extend((0..SYMBOLS).filter(|&symbol| counts[symbol] > 0).map(|symbol| (counts[symbol], symbol as u8)));
    if symbols.len() < 2 {
        return None;
    }
    symbols.sort_unstable();
    // Huffman's algorithm with two queues: the symbols in order, and the nodes, which come about in order.
    let leaves = symbols.len();
    let mut nodes: Vec<u32> = Vec::with_capacity(leaves);
    let mut parents = vec![0_usize; 2 * leaves - 1];
    let (mut leaf, mut node) = (0, 0);
    for parent in leaves..2 * leaves - 1 {
        let mut sum = 0;
        for _ in 0..2 {
            let take_leaf = leaf < leaves && nodes.get(node).is_none_or(|&weight| symbols[leaf].0 <= weight);
            if take_leaf {
                sum += symbols[leaf].0;
                parents[leaf] = parent;
                leaf += 1;
            } else {
                sum += nodes[node];
                parents[leaves + node] = parent;
                node += 1;
            }
        }
        nodes.push(sum);
    }
    let mut depths = vec![0_u32; 2 * leaves - 1];
    for at in (0..2 * leaves - 2).rev() {
        depths[at] = depths[parents[at]] + 1;
    }
    depths.truncate(leaves);
    // Too long ones are cut off; for that others get longer, rare ones first, and then shorter again if there is room.
    let room = |depth: u32| 1_u32 << (BITS_MAX - depth);
    depths.iter_mut().for_each(|depth| *depth = (*depth).min(BITS_MAX));
    let mut used: u32 = depths.iter().map(|&depth| room(depth)).sum();
    while used > 1 << BITS_MAX {
        let depth = depths.iter_mut().find(|depth| **depth < BITS_MAX)?;
        *depth += 1;
        used -= room(*depth);
    }
    while used < 1 << BITS_MAX {
        let left = (1 << BITS_MAX) - used;
        // There is one: all that is used is a multiple of the least.
        let depth = depths.iter_mut().rev().find(|depth| **depth > 1 && room(**depth) <= left)?;
        used += room(*depth);
        *depth -= 1;
    }
    let mut lengths = [0; SYMBOLS];
    for (&(_, symbol), depth) in symbols.iter().zip(depths) {
        lengths[usize::from(symbol)] = depth as u8;
    }
    Some(lengths)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noise(bytes: usize, seed: u64, letter: impl Fn(u64) -> u8) -> Vec<u8> {
        let mut state = seed;
        std::iter::repeat_with(|| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            letter(state >> 33)
        })
        .take(bytes)
        .collect()
    }

    fn encode_and_decode(literals: &mut Literals, text: &[u8]) -> usize {
        let mut out = vec![0; 1 << 17];
        let bytes = literals.encode(text, &mut out).unwrap();
        assert_eq!(zstd::bulk::decompress(&out[..bytes], text.len()).unwrap(), text);
        assert!(literals.left > 0);
        assert_eq!(literals.encode(text, &mut out[..bytes]), Some(bytes));
        assert_eq!(literals.encode(text, &mut out[..bytes - 1]), None);
        bytes
    }

    #[test]
    fn the_library_decodes_it() {
        let mut literals = Literals::default();
        for bytes in [1024, 1025, 1026, 1027, 1039, 13_700, 16_346, 65_498] {
            // Digits need 3.32 bits, as long as nothing else has been seen.
            let digits = noise(bytes, 1, |n| b'0' + (n % 10) as u8);
            let length = encode_and_decode(&mut Literals::default(), &digits);
            assert!(length < bytes * 43 / 100 + 80, "{length} of {bytes}");
            // Symbols that the table has not seen, rarer and rarer ones: codes of more than 11 bits would be the best.
            let rare = noise(bytes, 2, |n| (n.trailing_zeros() * 6 % 128) as u8);
            encode_and_decode(&mut literals, &rare);
            encode_and_decode(&mut literals, &noise(bytes.max(2000), 3, |n| (n % 128) as u8));
            encode_and_decode(&mut Literals::default(), &noise(bytes, 4, |n| (n % 2) as u8));
        }
    }

    #[test]
    fn what_it_cannot_is_told() {
        let mut literals = Literals::default();
        let mut out = vec![0; 4096];
        assert_eq!(literals.encode(&[7; 2000], &mut out), None, "a code needs two symbols");
        assert_eq!(literals.encode(&noise(2000, 1, |n| n as u8), &mut out), None, "symbols of 128 and more");
        assert_eq!(literals.encode(b"too short", &mut out), None);
        assert!(literals.encode(&noise(2000, 1, |n| n as u8 & 15), &mut out).is_some());
        assert_eq!(literals.encode(&noise(2000, 1, |n| n as u8), &mut out), None);
        assert!(literals.encode(&noise(2000, 1, |n| n as u8 & 31), &mut out).is_some());
    }
}
