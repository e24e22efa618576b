//! Zstandard. Number 3 in the envelope, which MySQL leaves unused: its readers answer "unknown algorithm".
//!
//! A stream is a Zstandard frame of the body; or, for most index pages, of the body split by columns ([`columns`]):
//!
//! ```text
//! offset  bytes
//!      0      1  1: split by columns (a frame begins with 0x28)
//!      1      1  flags: 1 the side is a frame, 2 the text is as it is
//!      2      2  window around a record's origin: bytes before, bytes after
//!      4      2  records
//!      6      4  where the text ends in the body, where the tail begins
//!     10      4  bytes of the side, and its bytes here, m
//!     14      m  side
//!   14+m         text: a frame, or as it is
//! ```
//!
//! Level 1 of the library spends most of its time looking for repetitions. In pages of numbers, keys and random text
//! few are useful: nearly all savings come from the entropy coder. Pages of text are different. So at level 1
//! pages are encoded in one of several *strategies*, chosen by trials: from time to time a page is encoded in all of
//! them, and the pages of the same index are encoded in the quickest one that needs no more blocks than the smallest,
//! or loses almost nothing. A page that needs more blocks than expected is encoded once more, in the strategy that was
//! the smallest.
//!
//! ```text
//!            by columns    search
//!   literals yes           none: [`literals`]
//!   skimming no            long matches, big steps
//!   brisk    no            long matches, small steps
//!   thorough no            as level 1 does
//!   columns  yes           as level 1 does            for pages of narrow rows, and of words
//! ```
//!
//! A decoder has to distinguish only the split by columns. `docs/benchmarks.md` has the times of the strategies.

mod columns;
mod literals;
mod planes;

use std::collections::{HashMap, VecDeque};

use zstd::bulk::{Compressor, Decompressor};
use zstd::zstd_safe::{CParameter, ParamSwitch};

use columns::{Columns, Shape};
use literals::Literals;

use super::{Algorithm, Codec, Description, Effort};
use crate::error::{Error, Result};

pub(super) const DESCRIPTION: Description = Description {
    algorithm: Algorithm::ZSTD,
    name: "zstd",
    levels: (1, 22),
    // Higher levels cost much and save little on pages.
    usual_level: 1,
    // As seen on pages of rows, text and JSON. On rows of digits, levels 2 to 9 even lose.
    reach_percent: |level| match level {
        ..=1 => 0,
        2 => 6,
        3..10 => 14,
        _ => 20,
    },
    // The first page is tried.
    make: || Box::new(Zstd { since_trial: BETWEEN_TRIALS, ..Zstd::default() }),
};

impl Algorithm {
    pub const ZSTD: Algorithm = Algorithm(3);
}

/// The strategies, quickest first; see the module header.
const LITERALS: usize = 0;
// 1 is skimming, 2 brisk.
const THOROUGH: usize = 3;
const COLUMNS: usize = 4;
const STRATEGIES: usize = 5;

/// How large the steps of the search are; beyond the page: no search. Literals have their own coder, and this one for
/// bytes that it does not take.
const STEPS: [u32; THOROUGH] = [1 << 17, 8, 2];

/// Kinds of pages that are distinguished, by their index. The statistics of a kind take little memory.
const KINDS: usize = 4096;

/// Kinds that have a table of literals at a time: tens of kilobytes each. A kind without one builds it again.
const TABLES: usize = 128;

/// The offset of the index id in the body of an index page.
const INDEX_ID: std::ops::Range<usize> = 28..36;

/// Pages of a kind between two trials.
const TRIAL_EVERY: u32 = 256;

/// So many of them may miss a block.
const MISSES_MAX: u32 = 16;

/// ... and between two trials of whatever kinds.
const BETWEEN_TRIALS: u32 = 8;

/// A quicker strategy may lose this part: a thirty-second.
const LOSS: usize = 32;

/// The first byte of a stream that is no frame.
const TAKEN_APART: u8 = 1;
const SIDE_IS_FRAME: u8 = 1;
const TEXT_IS_PLAIN: u8 = 2;
const HEAD_BYTES: usize = 14;

/// The results of trials on the pages of an index.
struct Kind {
    id: u64,
    strategy: usize,
    /// The strategy to try when that one needs too many blocks.
    smallest: usize,
    /// How many it should need.
    blocks: usize,
    /// How often it needed more in vain, since the trial.
    misses: u32,
    /// Pages until the next trial.
    left: u32,
    shape: Shape,
    literals: Option<Box<Literals>>,
}

/// Thorough does for columns, too.
type Strategies = [Option<Compressor<'static>>; COLUMNS];

#[derive(Default)]
struct Zstd {
    compressor: Option<(i32, Compressor<'static>)>,
    /// At level 1.
    strategies: Strategies,
    kinds: Vec<Kind>,
    /// Where in `kinds` each index is.
    places: HashMap<u64, usize>,
    /// The place given to another index last.
    replaced: usize,
    /// The kinds that have a table of literals, the one that got it first in front.
    with_table: VecDeque<usize>,
    /// Pages since the last trial.
    since_trial: u32,
    columns: Columns,
    decompressor: Option<Decompressor<'static>>,
}

impl Zstd {
    /// Makes a frame at level 1, in a strategy.
    fn encode_frame(&mut self, strategy: usize, bytes: &[u8], out: &mut [u8]) -> Option<usize> {
        level_1(&mut self.strategies, strategy)?.compress_to_buffer(bytes, out).ok()
    }

    /// Encodes a page of a kind at level 1, in a strategy.
    fn encode(&mut self, strategy: usize, kind: usize, body: &[u8], out: &mut [u8]) -> Option<usize> {
        if !matches!(strategy, LITERALS | COLUMNS) {
            return self.encode_frame(strategy, body, out);
        }
        if !self.columns.split(body, self.kinds[kind].shape) {
            return None;
        }
        if strategy == COLUMNS {
            let compressor = level_1(&mut self.strategies, THOROUGH)?;
            return write_apart(&self.columns, out, Some(compressor), None);
        }
        if self.kinds[kind].literals.is_none() {
            self.give_table(kind);
        }
        let literals = self.kinds[kind].literals.as_mut()?;
        let compressor = level_1(&mut self.strategies, LITERALS)?;
        write_apart(&self.columns, out, None, Some((literals, compressor)))
    }

    /// Gives a kind a table of literals: a new one, or that of the kind that has had one for the longest time.
    fn give_table(&mut self, kind: usize) {
        let mut table = None;
        if self.with_table.len() >= TABLES {
            table = self.with_table.pop_front().and_then(|oldest| self.kinds[oldest].literals.take());
        }
        let mut table = table.unwrap_or_default();
        table.forget();
        self.kinds[kind].literals = Some(table);
        self.with_table.push_back(kind);
    }

    fn encode_adaptively(&mut self, body: &[u8], block_bytes: usize, out: &mut [u8]) -> Option<usize> {
        let id = body.get(INDEX_ID).map_or(0, |id| u64::from_be_bytes(id.try_into().expect("8 bytes")));
        let blocks = |bytes: usize| (super::BODY + bytes).div_ceil(block_bytes);
        self.since_trial += 1;
        let known = self.places.get(&id).copied();
        // Trials are expensive: if there are more indexes than places, most pages have none.
        let trial_is_due = self.since_trial >= BETWEEN_TRIALS;
        let at = match known {
            Some(at) if self.kinds[at].left > 0 || !trial_is_due => at,
            None if !trial_is_due => return self.encode_frame(THOROUGH, body, out),
            _ => {
                self.since_trial = 0;
                let at = known.unwrap_or_else(|| self.add_kind(id));
                return self.try_all(at, body, blocks, out);
            }
        };
        let kind = &mut self.kinds[at];
        kind.left = kind.left.saturating_sub(1);
        let (strategy, smallest, expected) = (kind.strategy, kind.smallest, kind.blocks);
        let bytes = self.encode(strategy, at, body, out);
        let needed = bytes.map_or(usize::MAX, blocks);
        if strategy == smallest || needed <= expected {
            return bytes.or_else(|| self.encode_frame(THOROUGH, body, out));
        }
        let second = self.encode(smallest, at, body, out);
        if bytes.is_none() && second.is_none() {
            // Cannot be split.
            return self.encode_frame(THOROUGH, body, out);
        }
        let second_needed = second.map_or(usize::MAX, blocks);
        let kind = &mut self.kinds[at];
        if second_needed < needed {
            // Pages that often lie so close to a boundary are not worth a first attempt.
            kind.misses += 1;
            if kind.misses > MISSES_MAX {
                kind.strategy = smallest;
            }
            return second;
        }
        // The page is fuller than those that were tried.
        kind.blocks = needed;
        self.encode(strategy, at, body, out)
    }

    /// The place of a kind that is new.
    fn add_kind(&mut self, id: u64) -> usize {
        let kind = Kind {
            id,
            strategy: THOROUGH,
            smallest: THOROUGH,
            blocks: usize::MAX,
            misses: 0,
            left: 0,
            shape: Shape::default(),
            literals: None,
        };
        if self.kinds.len() < KINDS {
            self.kinds.push(kind);
            self.places.insert(id, self.kinds.len() - 1);
            return self.kinds.len() - 1;
        }
        self.replaced = (self.replaced + 1) % KINDS;
        let before = std::mem::replace(&mut self.kinds[self.replaced], kind);
        self.places.remove(&before.id);
        self.places.insert(id, self.replaced);
        self.with_table.retain(|kind| *kind != self.replaced);
        self.replaced
    }

    /// Encodes in the quickest strategy that needs no more blocks than the smallest, or loses next to nothing, and
    /// remembers it.
    fn try_all(&mut self, at: usize, body: &[u8], blocks: impl Fn(usize) -> usize, out: &mut [u8]) -> Option<usize> {
        if let Some(shape) = Shape::of(body, &mut self.columns) {
            self.kinds[at].shape = shape;
        }
        let mut bytes = [None; STRATEGIES];
        for strategy in (0..STRATEGIES).rev() {
            bytes[strategy] = self.encode(strategy, at, body, out);
        }
        let size = |strategy: usize| bytes[strategy].unwrap_or(usize::MAX);
        // Of equal ones the quicker.
        let smallest = (0..STRATEGIES).min_by_key(|&strategy| size(strategy)).unwrap_or(THOROUGH);
        let least = size(smallest);
        let is_good = |bytes: usize| blocks(bytes) <= blocks(least) || bytes <= least.saturating_add(least / LOSS);
        let strategy = (0..STRATEGIES).find(|&strategy| bytes[strategy].is_some_and(is_good)).unwrap_or(THOROUGH);
        let kind = &mut self.kinds[at];
        (kind.strategy, kind.smallest, kind.misses, kind.left) = (strategy, smallest, 0, TRIAL_EVERY);
        kind.blocks = bytes[strategy].map_or(usize::MAX, blocks);
        // The quickest was the last one, and lies in `out` already.
        if strategy == 0 { bytes[0] } else { self.encode(strategy, at, body, out) }
    }

    /// Encodes at a level above 1.
    fn encode_at(&mut self, level: i32, body: &[u8], out: &mut [u8]) -> Option<usize> {
        if self.compressor.as_ref().is_none_or(|(built, _)| *built != level) {
            self.compressor = Some((level, Compressor::new(level).ok()?));
        }
        let (_, compressor) = self.compressor.as_mut()?;
        match Shape::of(body, &mut self.columns) {
            Some(shape) if self.columns.split(body, shape) => write_apart(&self.columns, out, Some(compressor), None),
            _ => compressor.compress_to_buffer(body, out).ok(),
        }
    }

    /// Decodes a body that was split.
    fn decompress_apart(&mut self, stream: &[u8], body: &mut [u8]) -> Option<()> {
        let Zstd { columns, decompressor, .. } = self;
        let decompressor = decompressor.as_mut()?;
        let (head, rest) = stream.split_at_checked(HEAD_BYTES)?;
        let number = |at: usize| usize::from(u16::from_be_bytes([head[at], head[at + 1]]));
        let flags = head[1];
        columns.shape = Shape { before: head[2], after: head[3] };
        (columns.records, columns.heap_end, columns.tail) = (number(4), number(6), number(8));
        let (side, text) = rest.split_at_checked(number(12))?;
        read_part(flags & SIDE_IS_FRAME != 0, decompressor, side, number(10), &mut columns.side)?;
        let text_bytes = columns.text_bytes(body.len())?;
        read_part(flags & TEXT_IS_PLAIN == 0, decompressor, text, text_bytes, &mut columns.text)?;
        columns.join(body)
    }
}

/// Fills `part` with so many bytes.
fn read_part(
    is_frame: bool,
    decompressor: &mut Decompressor<'static>,
    stored: &[u8],
    bytes: usize,
    part: &mut Vec<u8>,
) -> Option<()> {
    part.resize(bytes, 0);
    if is_frame {
        return (decompressor.decompress_to_buffer(stored, &mut part[..]).ok()? == bytes).then_some(());
    }
    (stored.len() == bytes).then(|| part.copy_from_slice(stored))
}

fn level_1(strategies: &mut Strategies, strategy: usize) -> Option<&mut Compressor<'static>> {
    if strategies[strategy].is_none() {
        strategies[strategy] = Some(build(strategy)?);
    }
    strategies[strategy].as_mut()
}

/// Writes a body that has been taken apart: both parts by the compressor; or the side as it is, and the text by
/// literals (or, if they do not take it, by their compressor).
fn write_apart(
    columns: &Columns,
    out: &mut [u8],
    mut both: Option<&mut Compressor<'static>>,
    literals: Option<(&mut Literals, &mut Compressor<'static>)>,
) -> Option<usize> {
    let mut flags = 0;
    let (head, rest) = out.split_at_mut_checked(HEAD_BYTES)?;
    let (side, text) = (&columns.side[..], &columns.text[..]);
    let framed = both.as_mut().and_then(|compressor| compressor.compress_to_buffer(side, rest).ok());
    let side_bytes = match framed.filter(|&bytes| bytes < side.len()) {
        Some(bytes) => {
            flags |= SIDE_IS_FRAME;
            bytes
        }
        None => {
            rest.get_mut(..side.len())?.copy_from_slice(side);
            side.len()
        }
    };
    let rest = &mut rest[side_bytes..];
    let framed = match (both, literals) {
        (Some(compressor), _) => compressor.compress_to_buffer(text, rest).ok(),
        (None, Some((literals, compressor))) if text.len() >= literals::BYTES_MIN => {
            literals.encode(text, rest).or_else(|| compressor.compress_to_buffer(text, rest).ok())
        }
        _ => None,
    };
    let text_bytes = match framed.filter(|&bytes| bytes < text.len()) {
        Some(bytes) => bytes,
        None => {
            flags |= TEXT_IS_PLAIN;
            rest.get_mut(..text.len())?.copy_from_slice(text);
            text.len()
        }
    };
    head[..4].copy_from_slice(&[TAKEN_APART, flags, columns.shape.before, columns.shape.after]);
    let numbers = [columns.records, columns.heap_end, columns.tail, side.len(), side_bytes];
    for (place, number) in head[4..].chunks_exact_mut(2).zip(numbers) {
        place.copy_from_slice(&u16::try_from(number).ok()?.to_be_bytes());
    }
    Some(HEAD_BYTES + side_bytes + text_bytes)
}

fn build(strategy: usize) -> Option<Compressor<'static>> {
    let mut compressor = Compressor::new(1).ok()?;
    if let Some(&step) = STEPS.get(strategy) {
        let parameters = [
            CParameter::MinMatch(6),
            // A small table is soon made ready for the next page.
            CParameter::HashLog(if strategy == LITERALS { 6 } else { 12 }),
            CParameter::TargetLength(step),
            // Large steps alone would also switch the entropy coder off.
            CParameter::LiteralCompressionMode(ParamSwitch::Enable),
        ];
        for parameter in parameters {
            compressor.set_parameter(parameter).ok()?;
        }
    }
    Some(compressor)
}

impl Codec for Zstd {
    fn compress(&mut self, body: &[u8], effort: Effort, block_bytes: usize, out: &mut [u8]) -> Option<usize> {
        match effort {
            Effort::Quick | Effort::Level(1) => self.encode_adaptively(body, block_bytes, out),
            Effort::Level(level) => self.encode_at(level, body, out),
        }
    }

    fn decompress(&mut self, stream: &[u8], body: &mut [u8]) -> Result<()> {
        let broken = Error::corrupt("zstd frame", super::BODY);
        if self.decompressor.is_none() {
            self.decompressor = Some(Decompressor::new().map_err(|_| broken)?);
        }
        if stream.first() == Some(&TAKEN_APART) {
            let broken = Error::corrupt("page that was taken apart", super::BODY);
            return self.decompress_apart(stream, body).ok_or(broken);
        }
        match self.decompressor.as_mut().map(|decompressor| decompressor.decompress_to_buffer(stream, body)) {
            Some(Ok(bytes)) if bytes == body.len() => Ok(()),
            _ => Err(broken),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A body of decimal digits, as random as they get, or of words.
    fn body(index: u8, digits: bool, seed: u32) -> Vec<u8> {
        let mut state = seed | 1;
        let mut body = Vec::with_capacity(16384 - 38);
        while body.len() < 16384 - 46 {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            match digits {
                true => body.push(b'0' + (state >> 24) as u8 % 10),
                // One of 64 words of five letters: only a thorough search sees them.
                false => {
                    let word = (state >> 26).wrapping_mul(2_654_435_761);
                    body.extend((0..5).map(|letter| b'a' + (word >> (letter * 6)) as u8 % 26));
                }
            }
        }
        body.truncate(16384 - 46);
        body[INDEX_ID].copy_from_slice(&u64::from(index).to_be_bytes());
        body
    }

    /// The body of an index page of records of so many bytes, more or less: an ascending number, noise, digits.
    fn index_body(index: u8, record_bytes: usize, spread: usize, seed: u32) -> Vec<u8> {
        let mut state = seed;
        let mut random = move || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 16) as usize
        };
        let mut body = vec![0; 16384 - 38];
        body[INDEX_ID].copy_from_slice(&u64::from(index).to_be_bytes());
        body[61..69].copy_from_slice(b"infimum\0");
        body[74..82].copy_from_slice(b"supremum");
        let mut origins = vec![61];
        let mut at = 82;
        while at + 5 + record_bytes + spread < body.len() - 600 {
            let origin = at + 5;
            let bytes = record_bytes + random() % (spread + 1);
            body[origin..origin + 4].copy_from_slice(&(origins.len() as u32 + 70_000).to_be_bytes());
            body[origin + 4..origin + 8].copy_from_slice(&(random() as u32).to_be_bytes());
            for letter in &mut body[origin + 8..origin + bytes] {
                *letter = b'0' + (random() % 10) as u8;
            }
            body[at + 1..at + 3].copy_from_slice(&((origins.len() as u16 + 1) << 3).to_be_bytes());
            origins.push(origin);
            at = origin + bytes;
        }
        body[4..6].copy_from_slice(&(0x8000 | (origins.len() as u16 + 1)).to_be_bytes());
        body[2..4].copy_from_slice(&(at as u16 + 38).to_be_bytes());
        // One of seven is free, the others are in order; or in none, of every second index.
        let is_free = |at: &usize| at % 7 == 3;
        let mut used: Vec<usize> = (0..origins.len()).filter(|at| !is_free(at)).map(|at| origins[at]).collect();
        let mut free: Vec<usize> = (0..origins.len()).filter(is_free).map(|at| origins[at]).collect();
        if index.is_multiple_of(2) {
            (2..used.len()).for_each(|at| used.swap(at, 1 + random() % at));
            free.reverse();
        }
        body[16..18].copy_from_slice(&(used.len() as u16 - 1).to_be_bytes());
        for (from, to) in used.iter().zip(used[1..].iter().chain([&74])) {
            body[from - 2..*from].copy_from_slice(&((*to as u16).wrapping_sub(*from as u16)).to_be_bytes());
        }
        if let Some(first) = free.first() {
            body[6..8].copy_from_slice(&(*first as u16 + 38).to_be_bytes());
            for pair in free.windows(2) {
                body[pair[0] - 2..pair[0]]
                    .copy_from_slice(&(pair[1] as u16).wrapping_sub(pair[0] as u16).to_be_bytes());
            }
        }
        let mut slot = body.len() - 8;
        let mut put_slot = |body: &mut [u8], place: usize| {
            slot -= 2;
            body[slot..slot + 2].copy_from_slice(&(place as u16 + 38).to_be_bytes());
        };
        put_slot(&mut body, 61);
        let owners: Vec<usize> = used[1..].chunks_exact(5).map(|group| group[4]).collect();
        for &owner in &owners {
            body[owner - 5] = 5;
            put_slot(&mut body, owner);
        }
        put_slot(&mut body, 74);
        body[0..2].copy_from_slice(&(owners.len() as u16 + 2).to_be_bytes());
        for byte in body.iter_mut().rev().take(8) {
            *byte = random() as u8;
        }
        body
    }

    #[test]
    fn each_index_is_encoded_in_the_strategy_that_suits_it() {
        let mut codec = Zstd::default();
        let mut out = vec![0; 16384];
        let mut back = Vec::new();
        for round in 0..100 {
            let bodies = [body(1, true, round * 7 + 1), body(2, false, round * 7 + 1), index_body(3, 190, 0, round)];
            for body in bodies {
                let bytes = codec.compress(&body, Effort::Quick, 4096, &mut out).unwrap();
                back.clear();
                back.resize(body.len(), 0);
                codec.decompress(&out[..bytes], &mut back).unwrap();
                assert_eq!(back, body);
                let level_1 = Compressor::new(1).unwrap().compress(&body).unwrap().len();
                let blocks = |bytes: usize| (bytes + 38).div_ceil(4096);
                assert!(blocks(bytes) <= blocks(level_1), "{bytes} and not {level_1}");
                // In small blocks, it matters by how much.
                let bytes = codec.compress(&body, Effort::Quick, 512, &mut out).unwrap();
                codec.decompress(&out[..bytes], &mut back).unwrap();
                assert_eq!(back, body);
            }
        }
        let strategy = |index: u64| codec.kinds.iter().find(|kind| kind.id == index).unwrap().strategy;
        assert_eq!(strategy(3), LITERALS);
        assert_ne!(strategy(1), LITERALS);
        assert_ne!(strategy(2), LITERALS);
    }

    /// The pages of many indexes are written in turn: none is forgotten in favour of another, which would send it to
    /// the thorough strategy and to trials, at three times the processor time.
    #[test]
    fn the_strategies_of_many_indexes_are_remembered() {
        let mut codec = Zstd::default();
        let mut out = vec![0; 20_000];
        let mut back = vec![0; 16384 - 38];
        let mut bodies: Vec<Vec<u8>> = (0..200).map(|index| index_body(index, 190, 0, u32::from(index))).collect();
        // One more than there are tables of literals.
        bodies.truncate(TABLES + 1);
        let mut per_page = |codec: &mut Zstd, indexes: usize, rounds: usize| {
            let begin = std::time::Instant::now();
            for _ in 0..rounds {
                for body in &bodies[..indexes] {
                    let bytes = codec.compress(body, Effort::Quick, 4096, &mut out).unwrap();
                    if rounds == 1 {
                        codec.decompress(&out[..bytes], &mut back).unwrap();
                        assert_eq!(&back, body);
                    }
                }
            }
            begin.elapsed().as_nanos() as usize / (rounds * indexes)
        };
        for indexes in [8, 70, TABLES + 1] {
            per_page(&mut codec, indexes, 1 + 64 * BETWEEN_TRIALS as usize / indexes);
            println!("{indexes} indexes: {} ns a page", per_page(&mut codec, indexes, 40));
            per_page(&mut codec, indexes, 1);
            let known = codec.kinds.iter().filter(|kind| kind.strategy == LITERALS).count();
            assert!(known >= indexes, "{known} of {indexes} indexes have a strategy of their own");
            assert!(codec.kinds.iter().filter(|kind| kind.literals.is_some()).count() <= TABLES);
        }
    }

    #[test]
    fn every_strategy_comes_back_and_damage_is_an_error_or_another_page() {
        let mut codec = Zstd::default();
        let mut out = vec![0; 20_000];
        let mut back = vec![0; 16384 - 38];
        let mut apart = 0;
        for (round, record_bytes, spread) in [(1, 190, 0), (2, 9, 0), (3, 30, 40), (4, 400, 90), (5, 2000, 0)] {
            let body = index_body(round, record_bytes, spread, u32::from(round));
            let kind = codec.add_kind(round.into());
            codec.kinds[kind].shape = Shape::of(&body, &mut codec.columns).unwrap();
            for strategy in 0..STRATEGIES {
                let bytes = codec.encode(strategy, kind, &body, &mut out).unwrap();
                codec.decompress(&out[..bytes], &mut back).unwrap();
                assert_eq!(back, body, "strategy {strategy}");
                let stream = &mut out[..bytes];
                apart += usize::from(stream[0] == TAKEN_APART);
                for at in (0..stream.len().min(400)).chain([bytes - 1]) {
                    for change in [1, 0x80, 0xFF] {
                        stream[at] ^= change;
                        let _ = codec.decompress(stream, &mut back);
                        stream[at] ^= change;
                    }
                }
                for cut in [0, 1, 13, 14, bytes / 2, bytes - 1] {
                    assert!(codec.decompress(&stream[..cut], &mut back).is_err());
                }
            }
            for level in [2, 9] {
                let bytes = codec.compress(&body, Effort::Level(level), 4096, &mut out).unwrap();
                codec.decompress(&out[..bytes], &mut back).unwrap();
                assert_eq!(back, body);
            }
        }
        assert_eq!(apart, 10, "literals and columns");
    }

    #[test]
    fn columns_win_what_the_library_does_not_see() {
        let mut codec = Zstd::default();
        let mut out = vec![0; 16384];
        let body = index_body(1, 190, 0, 5);
        // Found out by one of the first pages.
        let bytes = (0..10).map(|_| codec.compress(&body, Effort::Quick, 512, &mut out).unwrap()).min().unwrap();
        let level_1 = Compressor::new(1).unwrap().compress(&body).unwrap().len();
        assert!(bytes + bytes / 16 < level_1, "{bytes} and {level_1}");
    }

    #[test]
    fn a_broken_chain_of_records_is_no_obstacle() {
        let mut codec = Zstd::default();
        let mut out = vec![0; 20_000];
        let mut back = vec![0; 16384 - 38];
        let whole = index_body(1, 60, 5, 5);
        let end = whole.len();
        for (at, value) in (0..120).chain(end - 60..end).flat_map(|at| [(at, 1), (at, 0xFF), (at, 8)]) {
            let mut body = whole.clone();
            body[at] ^= value;
            for level in [1, 3] {
                let bytes = codec.compress(&body, Effort::Level(level), 4096, &mut out).unwrap();
                codec.decompress(&out[..bytes], &mut back).unwrap();
                assert_eq!(back, body, "{value} at {at}");
            }
        }
    }

    #[test]
    fn what_does_not_fit_is_told() {
        let mut codec = Zstd::default();
        let noise: Vec<u8> = (0..16000u32)
            .map(|at| (at.wrapping_mul(2_654_435_761) >> 13) as u8 ^ (at.wrapping_mul(at) >> 7) as u8)
            .collect();
        for _ in 0..3 {
            assert_eq!(codec.compress(&noise, Effort::Level(1), 4096, &mut [0; 8000]), None);
        }
    }
}
