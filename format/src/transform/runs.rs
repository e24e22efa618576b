//! A toy: run lengths, for the tests. It stands here to show, and to prove, what a new codec takes: this file, and its
//! line in the list.

use super::{Algorithm, Codec, Description, Effort};
use crate::error::{Error, Result};

pub(super) const DESCRIPTION: Description = Description {
    algorithm: Algorithm::RUNS,
    name: "runs",
    levels: (0, 0),
    usual_level: 0,
    reach_percent: |_| 0,
    make: || Box::new(Runs),
};

impl Algorithm {
    pub const RUNS: Algorithm = Algorithm(200);
}

/// Pairs of a length and a byte.
struct Runs;

impl Codec for Runs {
    fn compress(&mut self, body: &[u8], _effort: Effort, _block_bytes: usize, out: &mut [u8]) -> Option<usize> {
        let mut used = 0;
        for run in body.chunk_by(|a, b| a == b).flat_map(|run| run.chunks(255)) {
            out.get_mut(used..used + 2)?.copy_from_slice(&[run.len() as u8, run[0]]);
            used += 2;
        }
        Some(used)
    }

    fn decompress(&mut self, stream: &[u8], body: &mut [u8]) -> Result<()> {
        let broken = Error::corrupt("run lengths", super::BODY);
        let mut rest = body;
        for pair in stream.chunks(2) {
            let &[length, byte] = pair else { return Err(broken) };
            let (run, behind) = rest.split_at_mut_checked(length.into()).ok_or(broken)?;
            run.fill(byte);
            rest = behind;
        }
        if rest.is_empty() { Ok(()) } else { Err(broken) }
    }
}
