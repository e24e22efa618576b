//! A set of keys that may be more than there is memory for.
//!
//! ```text
//! key -> memory, full: -> run 1   keys in the order of their hashes, in a temporary file
//!                         run 2   ...
//!                         run MERGED -> merged into one run of the next level, MERGED of which are merged ...
//!
//! in memory, per run      filter: 16 bits for a key; index: for each block of the file, where its first key begins
//! ```
//!
//! A key that is not in memory is looked for in each run whose filter may have it: the index leads to the block. Since
//! few runs have a filter that is wrong, a new key costs hardly any read, and one that there was before about one
//! (`sql/tests/spilling.rs`).

use std::cmp::Ordering;

use super::memory::{Account, Memory, Purpose, out_of_memory};
use super::sorter::{Merge, Record};
use crate::error::Result;
use crate::expression::SessionState;
use crate::expression::record::Source;
use crate::key_table::{KeyTable, hash};
use crate::temporary::sort::sort_by;
use crate::temporary::stream::BUFFER_BYTES;
use crate::temporary::{Position, Reader, Stream, Writer};

/// How many runs of a level become one of the next.
const MERGED: usize = 8;

/// What a key takes in memory beside its bytes.
const ENTRY_BYTES: u64 = 40;

/// See the module header.
pub struct KeySet<'m> {
    memory: KeyTable,
    account: Account<'m>,
    levels: Vec<Vec<Run>>,
    /// Of filters and indexes.
    guides: Account<'m>,
    record: Vec<u8>,
}

/// Keys in a file.
struct Run {
    stream: Stream,
    reader: Reader,
    filter: Filter,
    /// The hash of the first key that begins in a block, and where.
    index: Vec<(u64, Position)>,
}

/// A key on its way to a file or from it.
struct Hashed {
    hash: u64,
    key: Box<[u8]>,
}

/// Which hashes a run may have: five bits in one word for each.
struct Filter {
    words: Vec<u64>,
}

impl Record for Hashed {
    fn bytes(&self) -> u64 {
        self.key.len() as u64 + ENTRY_BYTES
    }

    fn write(&self, out: &mut Vec<u8>) {
        out.extend(self.hash.to_le_bytes());
        out.extend_from_slice(&self.key);
    }

    fn read(record: &[u8]) -> Result<Hashed> {
        let mut source = Source(record);
        Ok(Hashed { hash: source.u64()?, key: source.0.into() })
    }
}

fn compare(one: &Hashed, other: &Hashed) -> Ordering {
    one.hash.cmp(&other.hash)
}

impl Filter {
    fn new(keys: usize) -> Filter {
        Filter { words: vec![0; keys / 4 + 1] }
    }

    fn place(&self, hash: u64) -> (usize, u64) {
        let word = ((hash >> 32) * self.words.len() as u64) >> 32;
        let bits = (0..5).fold(0, |bits, part| bits | 1 << (hash >> (6 * part) & 63));
        (word as usize, bits)
    }

    fn insert(&mut self, hash: u64) {
        let (word, bits) = self.place(hash);
        self.words[word] |= bits;
    }

    fn may_have(&self, hash: u64) -> bool {
        let (word, bits) = self.place(hash);
        self.words[word] & bits == bits
    }
}

impl Run {
    /// What it takes in memory.
    fn guide_bytes(&self) -> u64 {
        (size_of_val(&self.filter.words[..]) + size_of_val(&self.index[..])) as u64
    }

    fn has(&mut self, hash: u64, key: &[u8], record: &mut Vec<u8>) -> Result<bool> {
        if !self.filter.may_have(hash) {
            return Ok(false);
        }
        // Keys of one hash may begin in the block before.
        let at = self.index.partition_point(|(first, _)| *first < hash).saturating_sub(1);
        let Some((_, position)) = self.index.get(at) else { return Ok(false) };
        self.reader.seek(*position)?;
        while self.reader.next(record)? {
            let mut source = Source(record);
            match source.u64()? {
                other if other > hash => break,
                other if other == hash && source.0 == key => return Ok(true),
                _ => {}
            }
        }
        Ok(false)
    }
}

impl<'m> KeySet<'m> {
    pub fn new(memory: &'m Memory<'m>) -> KeySet<'m> {
        KeySet {
            memory: KeyTable::default(),
            account: memory.account_for(Purpose::Table),
            levels: Vec::new(),
            guides: memory.account(),
            record: Vec::new(),
        }
    }

    /// Whether the key is new.
    pub fn insert(&mut self, key: &[u8], session: &dyn SessionState) -> Result<bool> {
        if !self.levels.is_empty() {
            let hash = hash(key);
            for run in self.levels.iter_mut().flatten() {
                if run.has(hash, key, &mut self.record)? {
                    return Ok(false);
                }
            }
        }
        let (_, is_new) = self.memory.insert(key);
        if !is_new {
            return Ok(false);
        }
        if !self.account.fits(key.len() as u64 + ENTRY_BYTES) {
            self.end_run(session)?;
        }
        Ok(true)
    }

    /// Writes the keys in memory as a run.
    fn end_run(&mut self, session: &dyn SessionState) -> Result<()> {
        let keys = std::mem::take(&mut self.memory);
        let mut order: Vec<(u64, usize)> = (0..keys.len()).map(|number| (hash(keys.key(number)), number)).collect();
        sort_by(&mut order, || session.is_interrupted(), |one, other| one.0.cmp(&other.0))?;
        let mut order = order.into_iter();
        let run = self.write(keys.len(), &mut || {
            Ok(order.next().map(|(hash, number)| Hashed { hash, key: keys.key(number).into() }))
        })?;
        self.account.clear();
        self.add(0, run)?;
        let mut level = 0;
        while self.levels[level].len() == MERGED {
            let memory = self.account.memory();
            memory.count(|counts| counts.merge_passes += 1);
            let mut buffers = memory.account();
            buffers.add_anyway(MERGED as u64 * BUFFER_BYTES);
            let (mut streams, mut count) = (Vec::new(), 0);
            for run in self.levels[level].drain(..) {
                self.guides.give_back(run.guide_bytes());
                count += run.stream.records as usize;
                streams.push(run.stream);
            }
            let mut merge = Merge::new(&streams, &compare)?;
            let run = self.write(count, &mut || merge.next(&compare, session))?;
            level += 1;
            self.add(level, run)?;
        }
        Ok(())
    }

    fn add(&mut self, level: usize, run: Run) -> Result<()> {
        if !self.guides.fits(run.guide_bytes()) {
            return Err(out_of_memory());
        }
        if self.levels.len() == level {
            self.levels.push(Vec::new());
        }
        self.levels[level].push(run);
        Ok(())
    }

    /// A run of keys that are given in the order of their hashes.
    fn write(&self, count: usize, next: &mut dyn FnMut() -> Result<Option<Hashed>>) -> Result<Run> {
        let (mut filter, mut index) = (Filter::new(count), Vec::<(u64, Position)>::new());
        let mut writer = Writer::new(&self.account.memory().spill()?);
        let mut record = Vec::new();
        while let Some(key) = next()? {
            filter.insert(key.hash);
            let position = writer.position();
            if index.last().is_none_or(|(_, last)| last.block != position.block) {
                index.push((key.hash, position));
            }
            record.clear();
            key.write(&mut record);
            writer.write(&record)?;
        }
        let stream = writer.finish()?;
        Ok(Run { reader: stream.reader(), stream, filter, index })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_is_seldom_wrong() {
        let mut filter = Filter::new(10_000);
        let hash = |number: u64| hash(&number.to_be_bytes());
        (0..10_000).for_each(|number| filter.insert(hash(number)));
        assert!((0..10_000).all(|number| filter.may_have(hash(number))));
        let wrong = (10_000..110_000).filter(|number| filter.may_have(hash(*number))).count();
        assert!(wrong < 2_000, "{wrong} of 100,000");
    }
}
