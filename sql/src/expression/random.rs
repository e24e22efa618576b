//! The numbers of RAND().
//!
//! The generator is MySQL's, so that RAND(3) gives the numbers that people know, and so does RAND() behind
//! `SET rand_seed1 = 1, rand_seed2 = 2`. It is no source of secrets.

use std::hash::{BuildHasher, RandomState};

/// Two numbers, each computed from both.
#[derive(Clone, Copy)]
pub struct Generator {
    one: u32,
    two: u32,
}

impl Generator {
    const MAX: u32 = 0x3FFF_FFFF;

    /// RAND(seed).
    pub fn new(seed: u32) -> Generator {
        let one = seed.wrapping_mul(0x10001).wrapping_add(55_555_555) % Generator::MAX;
        let two = seed.wrapping_mul(0x1000_0001) % Generator::MAX;
        Generator { one, two }
    }

    /// One that nobody can foretell.
    pub fn unseeded() -> Generator {
        let random = RandomState::new().hash_one(0_u8);
        Generator { one: random as u32 % Generator::MAX, two: (random >> 32) as u32 % Generator::MAX }
    }

    /// SET rand_seed1.
    pub fn set_first(&mut self, seed: u64) {
        self.one = (seed % u64::from(Generator::MAX)) as u32;
    }

    /// SET rand_seed2.
    pub fn set_second(&mut self, seed: u64) {
        self.two = (seed % u64::from(Generator::MAX)) as u32;
    }

    /// The next number, from 0 to less than 1.
    pub fn number(&mut self) -> f64 {
        let max = u64::from(Generator::MAX);
        self.one = ((u64::from(self.one) * 3 + u64::from(self.two)) % max) as u32;
        self.two = ((u64::from(self.one) + u64::from(self.two) + 33) % max) as u32;
        f64::from(self.one) / f64::from(Generator::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_follow_from_the_seeds() {
        let mut generator = Generator::unseeded();
        generator.set_first(1);
        generator.set_second(2);
        let max = f64::from(Generator::MAX);
        assert_eq!([generator.number(), generator.number()], [5.0 / max, 55.0 / max]);
    }
}
