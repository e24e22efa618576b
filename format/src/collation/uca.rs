//! The Unicode Collation Algorithm, as far as MySQL's `unicode_ci` (tables of Unicode 4.0.0) and `unicode_520_ci` (5.2.0)
//! follow it: a character has any number of primary weights, and texts compare by the weights of their characters.
//!
//! ```text
//! a      0E33                    A, á and ª weigh the same
//! ß      0FEA 0FEA               as ss does
//! U+0001                         nothing: it counts nowhere but in LIKE
//! 中     FB40 CE2D               not in the table: derived from the code point
//! ```
//!
//! Sequences of characters that weigh together (contractions) are not looked for. A character beyond the Basic
//! Multilingual Plane weighs FFFD in 4.0.0. At most eight weights of a character count.
//!
//! LIKE compares character by character: two are alike if all their weights are, so `ß` is not like `ss`, though equal.
//!
//! `bench/tests/collations.rs` compares the weights of all code points with a server's. `format/examples/weights.rs` makes
//! the tables and describes their form.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::sync::LazyLock;

use super::order::{self, Alphabet, Character};
use super::utf8;

/// Weights of one character.
pub(super) const WEIGHTS_MAX: usize = 8;

/// What weighs more than any character.
const ILL_FORMED_WEIGHT: u16 = 0xFFFF;

/// The weight of all characters beyond the plane, where the table has none.
const SUPPLEMENTARY_WEIGHT: u16 = 0xFFFD;

const PAGE: usize = 256;
const PAGES: usize = 0x1100;
const NO_PAGE: u16 = u16::MAX;

/// An entry: of a character that is not in the table.
const DERIVED: u32 = u32::MAX;

/// An entry has the number of weights in these bits, and above them where the weights begin.
const COUNT_BITS: u32 = 4;

/// Marks what LIKE knows of a character that is not in the table: its code point.
const UNLISTED: u32 = 1 << 31;

/// What LIKE knows of bytes that are no character.
const ILL_FORMED: u32 = UNLISTED | 0x11_0000;

/// The weights of one version of Unicode.
pub(super) struct Table {
    pages: Vec<u16>,
    /// Of the characters of each page. Characters of the same weights have the same entry.
    entries: Vec<u32>,
    weights: Vec<u16>,
    space: u16,
    has_supplementary: bool,
}

/// Which table a collation has.
#[derive(Clone, Copy, Debug)]
pub(super) enum Version {
    V4_0_0,
    V5_2_0,
}

impl Version {
    #[inline]
    pub fn table(self) -> &'static Table {
        static V4_0_0: LazyLock<Table> = LazyLock::new(|| Table::unpack(include_bytes!("weights/4.0.0"), false));
        static V5_2_0: LazyLock<Table> = LazyLock::new(|| Table::unpack(include_bytes!("weights/5.2.0"), true));
        match self {
            Version::V4_0_0 => &V4_0_0,
            Version::V5_2_0 => &V5_2_0,
        }
    }
}

/// The weights of one character.
#[derive(Clone, Copy)]
struct Weighs {
    listed: &'static [u16],
    /// Up to two more, behind those.
    derived: [u16; 2],
    derived_count: u8,
}

impl Weighs {
    fn nothing() -> Weighs {
        Weighs { listed: &[], derived: [0; 2], derived_count: 0 }
    }

    fn one(weight: u16) -> Weighs {
        Weighs { derived: [weight, 0], derived_count: 1, ..Weighs::nothing() }
    }

    /// What a character weighs that no table has.
    fn derived(code: u32) -> Weighs {
        let base = match code {
            0x3400..=0x4DB5 => 0xFB80,
            0x4E00..=0x9FA5 => 0xFB40,
            _ => 0xFBC0,
        };
        Weighs {
            derived: [base + (code >> 15) as u16, (code & 0x7FFF) as u16 | 0x8000],
            derived_count: 2,
            ..Weighs::nothing()
        }
    }

    #[inline]
    fn next(&mut self) -> Option<u16> {
        if let Some((&first, rest)) = self.listed.split_first() {
            self.listed = rest;
            return Some(first);
        }
        if self.derived_count == 0 {
            return None;
        }
        self.derived_count -= 1;
        let [first, second] = self.derived;
        self.derived = [second, 0];
        Some(first)
    }
}

impl Table {
    fn unpack(mut packed: &[u8], has_supplementary: bool) -> Table {
        let mut take = || {
            let (&first, rest) = packed.split_first()?;
            packed = rest;
            Some(first)
        };
        let mut table = Table {
            pages: vec![NO_PAGE; PAGES],
            entries: Vec::new(),
            weights: Vec::new(),
            space: 0,
            has_supplementary,
        };
        let mut known: HashMap<Vec<u16>, u32> = HashMap::new();
        let mut code = u32::MAX;
        while let Some(step) = take() {
            let step = match step {
                0 => u32::from_le_bytes([take().unwrap_or(0), take().unwrap_or(0), take().unwrap_or(0), 0]),
                _ => u32::from(step),
            };
            code = code.wrapping_add(step);
            let count = take().unwrap_or(0);
            let mut weights = Vec::with_capacity(count.into());
            for _ in 0..count {
                weights.push(u16::from_le_bytes([take().unwrap_or(0), take().unwrap_or(0)]));
            }
            let place = (table.weights.len() as u32) << COUNT_BITS | u32::from(count);
            let entry = *known.entry(weights).or_insert_with_key(|weights| {
                table.weights.extend_from_slice(weights);
                place
            });
            let (page, at) = (code as usize / PAGE, code as usize % PAGE);
            if table.pages[page] == NO_PAGE {
                table.pages[page] = (table.entries.len() / PAGE) as u16;
                table.entries.resize(table.entries.len() + PAGE, DERIVED);
            }
            table.entries[usize::from(table.pages[page]) * PAGE + at] = entry;
        }
        let space = table.entry(u32::from(b' '));
        table.space = table.weights[(space >> COUNT_BITS) as usize];
        table
    }

    #[inline]
    fn entry(&self, code: u32) -> u32 {
        match self.pages[code as usize / PAGE] {
            NO_PAGE => DERIVED,
            page => self.entries[usize::from(page) * PAGE + code as usize % PAGE],
        }
    }

    #[inline]
    fn weighs(&'static self, code: u32) -> Weighs {
        match self.entry(code) {
            DERIVED if code > 0xFFFF && !self.has_supplementary => Weighs::one(SUPPLEMENTARY_WEIGHT),
            DERIVED => Weighs::derived(code),
            entry => {
                let from = (entry >> COUNT_BITS) as usize;
                let count = (entry & ((1 << COUNT_BITS) - 1)) as usize;
                Weighs { listed: &self.weights[from..from + count], ..Weighs::nothing() }
            }
        }
    }

    pub fn weights(&'static self, text: &[u8]) -> impl Iterator<Item = u32> {
        let (mut rest, mut current) = (text, Weighs::nothing());
        std::iter::from_fn(move || {
            loop {
                if let Some(weight) = current.next() {
                    return Some(u32::from(weight));
                }
                if rest.is_empty() {
                    return None;
                }
                let bytes;
                (current, bytes) = match utf8::decode(rest) {
                    Some((code, bytes)) => (self.weighs(code), bytes),
                    None => (Weighs::one(ILL_FORMED_WEIGHT), 1),
                };
                rest = &rest[bytes..];
            }
        })
    }

    /// Compares, padding with spaces.
    pub fn compare(&'static self, a: &[u8], b: &[u8]) -> Ordering {
        let common = order::common_prefix(a, b);
        if common == a.len() && common == b.len() {
            return Ordering::Equal;
        }
        // Equal characters weigh the same, but the first difference may lie within one.
        let start = order::utf8_char_start(a, common).min(order::utf8_char_start(b, common));
        let (mut a, mut b) = (self.weights(&a[start..]), self.weights(&b[start..]));
        let space = u32::from(self.space);
        loop {
            let (x, y) = match (a.next(), b.next()) {
                (None, None) => return Ordering::Equal,
                (x, y) => (x.unwrap_or(space), y.unwrap_or(space)),
            };
            if x != y {
                return x.cmp(&y);
            }
        }
    }

    pub fn hash(&'static self, text: &[u8]) -> u64 {
        order::hash_of(self.weights(text), self.space.into())
    }

    pub fn sort_key(&'static self, text: &[u8], out: &mut Vec<u8>) {
        order::sort_key_of(self.weights(text), self.space.into(), size_of::<u16>(), out);
    }

    /// Whether a text lies behind all texts whose weights begin with those of `prefix`.
    pub fn is_behind(&'static self, text: &[u8], prefix: &[u8]) -> bool {
        let mut weights = self.weights(text);
        let difference = self.weights(prefix).find_map(|wanted| {
            let found = weights.next().unwrap_or(self.space.into());
            (found != wanted).then_some(found > wanted)
        });
        difference == Some(true)
    }
}

/// Characters as LIKE compares them: their weights are the same if all their weights in the table are.
#[derive(Clone, Copy)]
pub(super) struct Alike(pub &'static Table);

impl Alphabet for Alike {
    const WEIGHT_BYTES: usize = 4;

    #[inline]
    fn first(self, text: &[u8]) -> Character {
        let Some((code, bytes)) = utf8::decode(text) else {
            return Character { code: u32::MAX, weight: ILL_FORMED, bytes: 1 };
        };
        let weight = match self.0.entry(code) {
            DERIVED if code > 0xFFFF && !self.0.has_supplementary => UNLISTED | u32::from(SUPPLEMENTARY_WEIGHT),
            DERIVED => UNLISTED | code,
            entry => entry,
        };
        Character { code, weight, bytes }
    }

    #[inline]
    fn char_start(self, text: &[u8], at: usize) -> usize {
        order::utf8_char_start(text, at)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TABLES: [Version; 2] = [Version::V4_0_0, Version::V5_2_0];

    fn weights(version: Version, text: &str) -> Vec<u32> {
        version.table().weights(text.as_bytes()).collect()
    }

    #[test]
    fn what_characters_weigh() {
        for (text, old, new) in [
            (" ", &[0x209][..], &[0x20A][..]),
            ("\t", &[0x201], &[0x201]),
            ("a", &[0xE33], &[0x120F]),
            ("\u{1}", &[], &[]),
            ("中", &[0xFB40, 0xCE2D], &[0xFB40, 0xCE2D]),
            ("\u{20000}", &[0xFFFD], &[0xFBC4, 0x8000]),
            ("\u{FDFA}", &[0xFBC1, 0xFDFA], &[0x18FC, 0x192B, 0x194F, 0x20A, 0x18AD, 0x192B, 0x192B, 0x193D]),
        ] {
            assert_eq!(weights(Version::V4_0_0, text), old, "{text:?}");
            assert_eq!(weights(Version::V5_2_0, text), new, "{text:?}");
        }
        for version in TABLES {
            for (one, other) in [("ß", "SS"), ("é", "E"), ("a\u{1}b", "ab"), ("x\u{A0}", "x"), ("é", "e\u{301}")] {
                let order = version.table().compare(one.as_bytes(), other.as_bytes());
                assert_eq!(order, Ordering::Equal, "{version:?}: {one:?} and {other:?}");
            }
        }
    }

    /// The definition: both texts as weights, padded to the same number.
    fn compare_slowly(table: &'static Table, a: &[u8], b: &[u8]) -> Ordering {
        let (mut a, mut b): (Vec<u32>, Vec<u32>) = (table.weights(a).collect(), table.weights(b).collect());
        let length = a.len().max(b.len());
        a.resize(length, table.space.into());
        b.resize(length, table.space.into());
        a.cmp(&b)
    }

    proptest! {
        #[test]
        fn order_key_hash_and_prefix_agree(
            a in "[aAbäßsS€中😀\t\u{1}\u{A0}\u{301} !]{0,10}",
            b in "[aAbäßsS€中😀\t\u{1}\u{A0}\u{301} !]{0,10}",
            bytes in proptest::collection::vec(any::<u8>(), 0..10),
        ) {
            for version in TABLES {
                let table = version.table();
                for (a, b) in [(a.as_bytes(), b.as_bytes()), (&bytes, a.as_bytes())] {
                    let order = compare_slowly(table, a, b);
                    let (mut first, mut second) = (Vec::new(), Vec::new());
                    table.sort_key(a, &mut first);
                    table.sort_key(b, &mut second);
                    prop_assert_eq!(first.cmp(&second), order);
                    prop_assert!(order == Ordering::Equal || !(first.starts_with(&second) || second.starts_with(&first)));
                    prop_assert!(order != Ordering::Equal || table.hash(a) == table.hash(b));
                    if std::str::from_utf8(a).is_ok() {
                        prop_assert_eq!(table.compare(a, b), order);
                        // Nothing that begins with b follows what lies behind such texts.
                        let longer = [b, a].concat();
                        prop_assert!(!table.is_behind(a, b) || table.compare(a, &longer) == Ordering::Greater);
                        prop_assert!(!table.is_behind(&longer, b));
                    }
                }
            }
        }
    }
}
