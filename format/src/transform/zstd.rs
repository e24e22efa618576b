//! Zstandard frames. Number 3 in the envelope, which MySQL leaves unused: its readers answer "unknown algorithm".
//!
//! Level 1 spends most of its time looking for repetitions. In pages of numbers, keys and random text there are few worth
//! having: nearly all is won by the entropy coder, and without the search a page costs half the time. Pages of text are
//! another matter. So at level 1 pages are encoded in one of three *manners*, and which one suits is found out by trying:
//! now and then a page is encoded in all of them, and as long as a quicker manner loses next to nothing, the pages of the
//! same index are encoded in it. A page that misses a block by the little that it loses is encoded once more, in the manner
//! that was the smallest (in pages of numbers that is not the thorough one).
//!
//! ```text
//!            search                    sysbench row   key page     source text     (us per page of 16K, ratio)
//!   skimming long matches, big steps     34  2.12     48  2.32      58  2.41
//!   brisk    long matches, small steps   46  2.20     50  2.82      72  2.99
//!   thorough as level 1 does             67  2.17     58  2.79      81  3.16
//! ```
//!
//! To a decoder they are all the same.

use zstd::bulk::{Compressor, Decompressor};
use zstd::zstd_safe::{CParameter, ParamSwitch};

use super::{Algorithm, Codec, Description, Effort};
use crate::error::{Error, Result};

pub(super) const DESCRIPTION: Description = Description {
    algorithm: Algorithm::ZSTD,
    name: "zstd",
    levels: (1, 22),
    // Levels above cost much and win little on pages.
    usual_level: 1,
    // As seen on pages of rows, text and JSON. On rows of digits, levels 2 to 9 even lose.
    reach_percent: |level| match level {
        ..=1 => 0,
        2 => 6,
        3..10 => 14,
        _ => 20,
    },
    make: || Box::new(Zstd::default()),
};

impl Algorithm {
    pub const ZSTD: Algorithm = Algorithm(3);
}

/// Skimming, brisk, thorough; see the module header.
const MANNERS: usize = 3;
const THOROUGH: usize = MANNERS - 1;

/// How large the steps of the search are, by manner.
const STEPS: [u32; THOROUGH] = [8, 2];

/// Kinds of pages that are told apart, by their index.
const KINDS: usize = 64;

/// Where the number of its index stands in the body of an index page.
const INDEX_ID: std::ops::Range<usize> = 28..36;

/// Pages of a kind between two trials.
const TRIAL_EVERY: u32 = 64;

/// So many of them may miss a block.
const MISSES_MAX: u32 = 8;

/// ... and between two trials of whatever kinds.
const BETWEEN_TRIALS: u32 = 8;

/// A quicker manner may lose this part: a thirty-second.
const LOSS: usize = 32;

/// The block to which most filesystems round.
const BLOCK: usize = 4096;

/// What has been found out about the pages of an index.
#[derive(Clone, Copy, Default)]
struct Kind {
    id: u64,
    manner: usize,
    /// What is tried when that one misses a block.
    smallest: usize,
    /// How often it has, since the trial.
    misses: u32,
    /// Pages until the next trial.
    left: u32,
}

#[derive(Default)]
struct Zstd {
    compressor: Option<(i32, Compressor<'static>)>,
    /// At level 1.
    manners: [Option<Compressor<'static>>; MANNERS],
    kinds: Vec<Kind>,
    /// The place given to another index last.
    replaced: usize,
    /// Pages since the last trial.
    since_trial: u32,
    decompressor: Option<Decompressor<'static>>,
}

impl Zstd {
    /// Encodes at level 1, in a manner.
    fn encode(&mut self, manner: usize, body: &[u8], out: &mut [u8]) -> Option<usize> {
        let compressor = match &mut self.manners[manner] {
            Some(compressor) => compressor,
            none => none.insert(build(manner)?),
        };
        compressor.compress_to_buffer(body, out).ok()
    }

    fn encode_adaptively(&mut self, body: &[u8], out: &mut [u8]) -> Option<usize> {
        let id = body.get(INDEX_ID).map_or(0, |id| u64::from_be_bytes(id.try_into().expect("8 bytes")));
        self.since_trial += 1;
        let known = self.kinds.iter().position(|kind| kind.id == id);
        let manner = match known {
            Some(at) if self.kinds[at].left > 0 => {
                self.kinds[at].left -= 1;
                self.kinds[at].manner
            }
            // Trials are dear: where there are more indexes than places, most pages go without.
            _ if self.since_trial < BETWEEN_TRIALS => known.map_or(THOROUGH, |at| self.kinds[at].manner),
            _ => {
                self.since_trial = 0;
                let (kind, bytes) = self.try_all(id, body, out);
                match known {
                    Some(at) => self.kinds[at] = kind,
                    None if self.kinds.len() < KINDS => self.kinds.push(kind),
                    None => {
                        self.replaced = (self.replaced + 1) % KINDS;
                        self.kinds[self.replaced] = kind;
                    }
                }
                return bytes;
            }
        };
        let bytes = self.encode(manner, body, out);
        let smallest = known.map_or(THOROUGH, |at| self.kinds[at].smallest);
        if manner == smallest || bytes.is_some_and(|bytes| !misses_a_block(bytes)) {
            return bytes;
        }
        // Pages that often lie so close to a boundary are not worth a first attempt.
        if let Some(kind) = known.map(|at| &mut self.kinds[at]) {
            kind.misses += 1;
            if kind.misses > MISSES_MAX {
                kind.manner = smallest;
            }
        }
        self.encode(smallest, body, out)
    }

    /// Encodes in the quickest manner that loses next to nothing, and finds out which one is the smallest.
    fn try_all(&mut self, id: u64, body: &[u8], out: &mut [u8]) -> (Kind, Option<usize>) {
        let mut bytes = [None; MANNERS];
        for manner in (0..MANNERS).rev() {
            bytes[manner] = self.encode(manner, body, out);
        }
        let size = |manner: usize| bytes[manner].unwrap_or(usize::MAX);
        // Of equals the quicker one.
        let smallest = (0..MANNERS).min_by_key(|&manner| size(manner)).unwrap_or(THOROUGH);
        let limit = size(smallest).saturating_add(size(smallest) / LOSS);
        let manner = (0..MANNERS).find(|&manner| size(manner) <= limit).unwrap_or(THOROUGH);
        let kind = Kind { id, manner, smallest, misses: 0, left: TRIAL_EVERY };
        // The quickest was the last one, and lies in `out` already.
        let bytes = if manner == 0 { bytes[0] } else { self.encode(manner, body, out) };
        (kind, bytes)
    }
}

fn build(manner: usize) -> Option<Compressor<'static>> {
    let mut compressor = Compressor::new(1).ok()?;
    if let Some(&step) = STEPS.get(manner) {
        let parameters = [
            CParameter::MinMatch(6),
            // A small table is soon made ready for the next page.
            CParameter::HashLog(12),
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

/// Whether the page would need a block less if it were shorter by what a quick manner may lose.
fn misses_a_block(bytes: usize) -> bool {
    let stored = super::BODY + bytes;
    (stored - stored / LOSS).div_ceil(BLOCK) < stored.div_ceil(BLOCK)
}

impl Codec for Zstd {
    fn compress(&mut self, body: &[u8], effort: Effort, out: &mut [u8]) -> Option<usize> {
        let level = match effort {
            Effort::Quick | Effort::Level(1) => return self.encode_adaptively(body, out),
            Effort::Level(level) => level,
        };
        if self.compressor.as_ref().is_none_or(|(built, _)| *built != level) {
            self.compressor = Some((level, Compressor::new(level).ok()?));
        }
        let (_, compressor) = self.compressor.as_mut()?;
        compressor.compress_to_buffer(body, out).ok()
    }

    fn decompress(&mut self, stream: &[u8], body: &mut [u8]) -> Result<()> {
        let broken = Error::corrupt("zstd frame", super::BODY);
        if self.decompressor.is_none() {
            self.decompressor = Some(Decompressor::new().map_err(|_| broken)?);
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

    #[test]
    fn each_index_is_encoded_in_the_manner_that_suits_it() {
        let mut codec = Zstd::default();
        let mut out = vec![0; 16384];
        let mut back = Vec::new();
        for round in 0..100 {
            for (index, digits) in [(1, true), (2, false)] {
                let body = body(index, digits, round * 7 + 1);
                let bytes = codec.compress(&body, Effort::Quick, &mut out).unwrap();
                back.clear();
                back.resize(body.len(), 0);
                codec.decompress(&out[..bytes], &mut back).unwrap();
                assert_eq!(back, body);
                let level_1 = Compressor::new(1).unwrap().compress(&body).unwrap().len();
                assert!(bytes <= level_1 + level_1 / LOSS + 64, "{bytes} and not {level_1}");
            }
        }
        let manner = |index: u64| codec.kinds.iter().find(|kind| kind.id == index).unwrap().manner;
        assert_eq!(manner(1), 0);
        assert_ne!(manner(2), 0);
    }

    #[test]
    fn what_does_not_fit_is_told() {
        let mut codec = Zstd::default();
        let noise: Vec<u8> = (0..16000u32)
            .map(|at| (at.wrapping_mul(2_654_435_761) >> 13) as u8 ^ (at.wrapping_mul(at) >> 7) as u8)
            .collect();
        for _ in 0..3 {
            assert_eq!(codec.compress(&noise, Effort::Level(1), &mut [0; 8000]), None);
        }
    }
}
