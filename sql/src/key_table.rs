//! Byte strings, each once, numbered in the order in which they came: the keys of groups, of distinct rows and values.
//!
//! ```text
//! bytes    the keys, one behind the other
//! ends     number -> where its key ends
//! slots    place by the upper bits of the hash, and the places behind it -> (upper half of the hash, number + 1)
//! ```
//!
//! No key has an allocation of its own, so that millions of them are freed at once: a statement that was killed ends then.
//! A table that grows reads its slots in order and writes them in order, because a place is the beginning of a hash; the keys
//! are not looked at.

use std::hash::Hasher;

use rustc_hash::FxHasher;

/// A table begins with so many slots.
const SLOTS_MIN: usize = 16;

/// See the module header.
#[derive(Clone, Debug, Default)]
pub struct KeyTable {
    bytes: Vec<u8>,
    ends: Vec<usize>,
    slots: Vec<(u32, u32)>,
}

/// A hash whose bits are all equally good.
pub fn hash(key: &[u8]) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write(key);
    mixed(hasher.finish())
}

/// The same of a hash that is good enough for a table only.
pub fn mixed(hash: u64) -> u64 {
    let hash = (hash ^ hash >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let hash = (hash ^ hash >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    hash ^ hash >> 31
}

impl KeyTable {
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Of all keys together.
    pub fn bytes(&self) -> usize {
        self.bytes.len()
    }

    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The key of a number.
    pub fn key(&self, number: usize) -> &[u8] {
        let start = number.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.bytes[start..self.ends[number]]
    }

    /// The number of a key.
    #[inline]
    pub fn find(&self, key: &[u8]) -> Option<usize> {
        if self.slots.is_empty() {
            return None;
        }
        self.look(tag(key), key).ok()
    }

    pub fn contains(&self, key: &[u8]) -> bool {
        self.find(key).is_some()
    }

    /// The number of a key, which is added if it is not there; and whether it was not.
    pub fn insert(&mut self, key: &[u8]) -> (usize, bool) {
        // At most five of eight slots are taken.
        if (self.ends.len() + 1) * 8 > self.slots.len() * 5 {
            self.grow();
        }
        let tag = tag(key);
        match self.look(tag, key) {
            Ok(number) => (number, false),
            Err(place) => {
                let number = self.ends.len();
                self.slots[place] = (tag, number as u32 + 1);
                self.bytes.extend_from_slice(key);
                self.ends.push(self.bytes.len());
                (number, true)
            }
        }
    }

    /// The number of a key, or the place where it would be.
    #[inline]
    fn look(&self, tag: u32, key: &[u8]) -> Result<usize, usize> {
        let mut place = place(tag, self.slots.len());
        loop {
            match self.slots[place] {
                (_, 0) => return Err(place),
                (other, number) if other == tag && self.key(number as usize - 1) == key => {
                    return Ok(number as usize - 1);
                }
                _ => place = (place + 1) & (self.slots.len() - 1),
            }
        }
    }

    #[cold]
    fn grow(&mut self) {
        let count = (self.slots.len() * 2).max(SLOTS_MIN);
        let before = std::mem::replace(&mut self.slots, vec![(0, 0); count]);
        for (tag, number) in before.into_iter().filter(|(_, number)| *number != 0) {
            let mut place = place(tag, count);
            while self.slots[place].1 != 0 {
                place = (place + 1) & (count - 1);
            }
            self.slots[place] = (tag, number);
        }
    }
}

fn tag(key: &[u8]) -> u32 {
    (hash(key) >> 32) as u32
}

/// Where a hash's search begins among a power of two of slots.
fn place(tag: u32, slots: usize) -> usize {
    ((u64::from(tag) * slots as u64) >> 32) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_keep_their_numbers_while_the_table_grows() {
        let mut table = KeyTable::default();
        assert_eq!(table.find(b""), None);
        let key = |number: usize| format!("{number}").repeat(number % 5).into_bytes();
        let mut expected: Vec<Vec<u8>> = Vec::new();
        for number in 0..5000 {
            let key = key(number);
            let known = expected.iter().position(|other| *other == key);
            assert_eq!(table.find(&key), known);
            assert_eq!(table.insert(&key), (known.unwrap_or(expected.len()), known.is_none()));
            if known.is_none() {
                expected.push(key);
            }
        }
        assert_eq!(table.len(), expected.len());
        for (number, key) in expected.iter().enumerate() {
            assert_eq!((table.key(number), table.find(key)), (key.as_slice(), Some(number)));
        }
        assert_eq!(table.find(b"not there"), None);
    }

    #[test]
    fn searches_are_short() {
        let mut table = KeyTable::default();
        (0..100_000_u64).for_each(|number| _ = table.insert(&number.to_be_bytes()));
        let (mut longest, mut length) = (0, 0);
        for (_, number) in &table.slots {
            length = if *number == 0 { 0 } else { length + 1 };
            longest = longest.max(length);
        }
        assert!(longest < 200, "{longest} slots in a row are taken");
    }
}
