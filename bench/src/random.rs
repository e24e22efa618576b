//! Choices from a seed, for generators of statements.

use rand::Rng;
use rand::rngs::StdRng;

pub struct Random(pub StdRng);

impl Random {
    pub fn pick<'a, T: ?Sized>(&mut self, all: &[&'a T]) -> &'a T {
        all[self.0.random_range(0..all.len())]
    }

    pub fn chance(&mut self, percent: u32) -> bool {
        self.0.random_range(0..100) < percent
    }
}
