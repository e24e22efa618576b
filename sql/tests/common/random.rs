//! A sequence that a seed decides.

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
