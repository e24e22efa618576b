//! How often a word occurs, and in which column, as the last field of an entry.

use crate::error::{Error, Result};

/// The most bytes that it takes.
pub const FREQUENCY_BYTES_MAX: usize = 8;

/// See the module header of [`super`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Frequency(pub u64);

impl Frequency {
    /// Of a word that occurs `count` times, at least once, in this one of the index's columns.
    #[inline]
    pub fn new(count: u32, column: usize, columns: usize) -> Frequency {
        debug_assert!(count > 0 && column < columns, "an occurrence in one of the columns");
        Frequency(u64::from(count.max(1) - 1) * columns as u64 + column as u64)
    }

    #[inline]
    pub fn count(self, columns: usize) -> u32 {
        u32::try_from(self.0 / columns.max(1) as u64).unwrap_or(u32::MAX).saturating_add(1)
    }

    #[inline]
    pub fn column(self, columns: usize) -> usize {
        (self.0 % columns.max(1) as u64) as usize
    }

    /// The stored bytes are the end of what this returns, from the offset on.
    #[inline]
    pub fn to_bytes(self) -> ([u8; FREQUENCY_BYTES_MAX], usize) {
        (self.0.to_be_bytes(), self.0.leading_zeros() as usize / 8)
    }

    #[inline]
    pub fn read(stored: &[u8]) -> Result<Frequency> {
        if stored.len() > FREQUENCY_BYTES_MAX || stored.first() == Some(&0) {
            return Err(Error::Malformed { what: "the frequency of a word" });
        }
        Ok(Frequency(stored.iter().fold(0, |number, byte| number << 8 | u64::from(*byte))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_occurs_once_takes_nothing() {
        let (bytes, from) = Frequency::new(1, 0, 3).to_bytes();
        assert!(bytes[from..].is_empty());
    }

    #[test]
    fn a_leading_zero_is_malformed() {
        assert!(Frequency::read(&[0]).is_err() && Frequency::read(&[1; 9]).is_err());
    }

    proptest::proptest! {
        #[test]
        fn it_comes_back(count in 1_u32.., columns in 1_usize..17, column in 0_usize..16) {
            let column = column % columns;
            let frequency = Frequency::new(count, column, columns);
            let (bytes, from) = frequency.to_bytes();
            proptest::prop_assert_eq!(Frequency::read(&bytes[from..]).unwrap(), frequency);
            proptest::prop_assert_eq!((frequency.count(columns), frequency.column(columns)), (count, column));
        }
    }
}
