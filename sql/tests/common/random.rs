//! A sequence that a seed decides.

use std::time::{SystemTime, UNIX_EPOCH};

use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};

pub struct Random(StdRng);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(StdRng::seed_from_u64(seed))
    }

    pub fn below(&mut self, limit: usize) -> usize {
        self.0.random_range(0..limit)
    }

    pub fn one<'t>(&mut self, of: &[&'t str]) -> &'t str {
        of.choose(&mut self.0).expect("there is a choice")
    }
}

/// Where the seeds of this run begin: `GLASSINE_SEED`, which `./test` takes from the commit, or the clock.
pub fn first_seed() -> u64 {
    let given = std::env::var("GLASSINE_SEED").ok().and_then(|seed| seed.parse().ok());
    let clock = || SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |since| since.as_millis() as u64);
    given.unwrap_or_else(clock)
}
