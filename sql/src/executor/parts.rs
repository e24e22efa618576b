//! Records divided by hash among the parts of a temporary file, so that equal ones are in one part.
//!
//! ```text
//! hash     64 bits: 4 choose the part on level 0, the next 4 on level 1, ...
//! ```
//!
//! A part that still does not fit into memory is divided again on the next level. What is equal to each other stays
//! together on every level; so the levels have an end, and behind it their reader has to do with what it has.

use super::memory::Account;
use crate::error::Result;
pub use crate::key_table::{hash, mixed};
use crate::temporary::stream::BUFFER_BYTES;
use crate::temporary::{Stream, Writer};

const PART_BITS: u32 = 4;
pub const PARTS: usize = 1 << PART_BITS;
/// Parts are divided so often.
pub const LEVELS: u32 = 6;

/// Parts that are being written.
pub struct Parts {
    writers: Vec<Writer>,
    level: u32,
    record: Vec<u8>,
}

impl Parts {
    /// Parts in a file of their own; their buffers are added to the account.
    pub fn new(account: &mut Account<'_>, level: u32) -> Result<Parts> {
        let spill = account.memory().spill()?;
        account.add_anyway(BUFFER_BYTES * PARTS as u64);
        Ok(Parts { writers: (0..PARTS).map(|_| Writer::new(&spill)).collect(), level, record: Vec::new() })
    }

    /// Appends the record that `write` makes.
    pub fn put(&mut self, hash: u64, write: impl FnOnce(&mut Vec<u8>)) -> Result<()> {
        self.record.clear();
        write(&mut self.record);
        let part = hash >> (u64::BITS - PART_BITS * (self.level + 1)) & (PARTS as u64 - 1);
        self.writers[part as usize].write(&self.record)
    }

    /// The parts that have records.
    pub fn finish(self) -> Result<Vec<Stream>> {
        let streams = self.writers.into_iter().map(Writer::finish).collect::<Result<Vec<_>>>()?;
        Ok(streams.into_iter().filter(|stream| stream.records > 0).collect())
    }

    /// All parts, in order.
    pub fn finish_all(self) -> Result<Vec<Stream>> {
        self.writers.into_iter().map(Writer::finish).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_numbers_are_spread_over_all_parts_on_all_levels() {
        for level in 0..LEVELS {
            let mut counts = [0; PARTS];
            for number in 0..16_000_u64 {
                counts[(hash(&number.to_le_bytes()) >> (60 - 4 * level) & 15) as usize] += 1;
            }
            assert!(counts.iter().all(|count| (800..1200).contains(count)), "{counts:?}");
        }
    }
}
