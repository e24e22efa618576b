//! Compressors of short transactions.
//!
//! A transaction that its session packs at COMMIT needs a compressor for some microseconds. So all sessions share a few of
//! them, and the one that was used last is taken first: its tables are still in the processor's caches, and a thousand
//! idle connections have none. Long transactions have one each until they end (`packer.rs`).

use format::binlog::payload::WholeCompressor;
use storage::sync::{Mutex, Rank};

/// More idle ones are not kept.
const IDLE_MAX: usize = 16;

pub struct Compressors {
    idle: Mutex<Vec<WholeCompressor>>,
}

impl Default for Compressors {
    fn default() -> Compressors {
        Compressors { idle: Mutex::new(Rank::Leaf, Vec::new()) }
    }
}

impl Compressors {
    /// Appends the bytes to `out`, compressed as one frame.
    pub fn compress(&self, level: i32, bytes: &[u8], out: &mut Vec<u8>) {
        let known = {
            let mut idle = self.idle.lock();
            let at = idle.iter().rposition(|compressor| compressor.level() == level);
            at.map(|at| idle.remove(at))
        };
        let mut compressor = known.unwrap_or_else(|| WholeCompressor::new(level));
        compressor.compress(bytes, out);
        let mut idle = self.idle.lock();
        if idle.len() == IDLE_MAX {
            // It may be of a level that nobody uses any more.
            idle.remove(0);
        }
        idle.push(compressor);
    }
}

#[cfg(test)]
mod tests {
    use format::binlog::payload::decompress;
    use std::io::Read;

    use super::*;

    #[test]
    fn any_level_is_given_and_few_are_kept() {
        let compressors = Compressors::default();
        let bytes: Vec<u8> = (0..100_000_u32).flat_map(|number| (number % 1000).to_le_bytes()).collect();
        for round in 0..3 {
            for level in 1..=22 {
                for length in [0, 1, 100, 4096, 4097, 40_000] {
                    let mut out = vec![7];
                    compressors.compress(level, &bytes[..length], &mut out);
                    let mut plain = Vec::new();
                    decompress(&out[1..]).unwrap().read_to_end(&mut plain).unwrap();
                    assert_eq!(plain, &bytes[..length], "round {round}, level {level}");
                }
            }
        }
        assert_eq!(compressors.idle.lock().len(), IDLE_MAX);
    }
}
