//! Comparing, hashing and sort keys, generic over what a character weighs.
//!
//! An [`Alphabet`] cuts a text into characters and weighs each. Texts compare by the weights of their characters from
//! left to right; with PAD SPACE, as if the shorter had spaces behind it.
//!
//! A sort key turns that order into memcmp. It is also free of prefixes: no key is the beginning of another, so that
//! keys of several columns can stand behind each other. Weights are written as they are; what is hard is the pad:
//!
//! ```text
//! 'a\t' < 'a' = 'a  ' < 'a!'       a text ends with endless spaces
//!
//! a run of spaces       key
//! to the end            SPACE 1
//! then less             SPACE 0 n      the shorter the run, the sooner comes what is less
//! then more             SPACE 2 ~n     the longer the run, the later comes what is more
//!
//! where n is one byte below 255, or 255 and four bytes
//! ```

use std::cmp::Ordering;

use super::{unicode, utf8};

/// A character, as far as comparing needs to know it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Character {
    /// The code point, or for characters that are bytes the byte. Only LIKE looks at it, for ASCII and its escape.
    pub code: u32,
    pub weight: u32,
    pub bytes: usize,
}

/// How texts are cut into characters, and what these weigh.
pub(super) trait Alphabet: Copy {
    /// Bytes of a weight in a sort key.
    const WEIGHT_BYTES: usize;

    /// The first character of a text that is not empty. Ill-formed bytes are characters too.
    fn first(self, text: &[u8]) -> Character;

    /// The start of the character that byte `at` belongs to.
    fn char_start(self, text: &[u8], at: usize) -> usize;

    /// What a space weighs. No other character does, unless [`Alphabet::has_more_spaces`].
    #[inline]
    fn space(self) -> u32 {
        SPACE_WEIGHT
    }

    /// Whether other characters weigh as a space does.
    #[inline]
    fn has_more_spaces(self) -> bool {
        false
    }

    /// Without trailing spaces.
    #[inline]
    fn without_spaces(self, text: &[u8]) -> &[u8] {
        without_spaces(text)
    }
}

/// UTF-8 with the weights of the general collation.
#[derive(Clone, Copy)]
pub(super) struct GeneralUtf8;

/// The same as MySQL had them before version 5.1.24: ß weighs itself.
#[derive(Clone, Copy)]
pub(super) struct OldUtf8;

/// UTF-8 where a character weighs the code point of its small letter: how MySQL orders the names of columns.
#[derive(Clone, Copy)]
pub(super) struct SmallUtf8;

/// UTF-8 where a character weighs its code point.
#[derive(Clone, Copy)]
pub(super) struct PlainUtf8;

/// Characters that are bytes, with a table of weights.
#[derive(Clone, Copy)]
pub(super) struct Weighed(pub &'static [u8; 256]);

/// Characters that are bytes and weigh their number.
#[derive(Clone, Copy)]
pub(super) struct PlainBytes;

/// More than any weight of a character.
const ILL_FORMED_WEIGHT: u32 = 0xFFFF;

impl Alphabet for GeneralUtf8 {
    const WEIGHT_BYTES: usize = 2;

    // More than one alphabet reads it, and a call for each letter of ASCII costs as much as its weight (`bench sysbench`).
    #[inline(always)]
    fn first(self, text: &[u8]) -> Character {
        let first = text[0];
        if first < 0x80 {
            return Character { code: u32::from(first), weight: u32::from(unicode::ascii_weight(first)), bytes: 1 };
        }
        general_character(text)
    }

    #[inline]
    fn char_start(self, text: &[u8], at: usize) -> usize {
        utf8_char_start(text, at)
    }
}

/// A character beyond ASCII.
fn general_character(text: &[u8]) -> Character {
    match utf8::decode(text) {
        Some((code, bytes)) => Character { code, weight: u32::from(unicode::general_weight(code)), bytes },
        None => Character { code: u32::MAX, weight: ILL_FORMED_WEIGHT, bytes: 1 },
    }
}

impl Alphabet for PlainUtf8 {
    const WEIGHT_BYTES: usize = 3;

    #[inline]
    fn first(self, text: &[u8]) -> Character {
        match utf8::decode(text) {
            Some((code, bytes)) => Character { code, weight: code, bytes },
            // Behind all code points, each byte by itself.
            None => Character { code: u32::MAX, weight: 0x11_0000 + u32::from(text[0]), bytes: 1 },
        }
    }

    #[inline]
    fn char_start(self, text: &[u8], at: usize) -> usize {
        utf8_char_start(text, at)
    }
}

impl Alphabet for OldUtf8 {
    const WEIGHT_BYTES: usize = 2;

    #[inline]
    fn first(self, text: &[u8]) -> Character {
        match GeneralUtf8.first(text) {
            sharp @ Character { code: 0xDF, .. } => Character { weight: u32::from(unicode::old_weight(0xDF)), ..sharp },
            other => other,
        }
    }

    #[inline]
    fn char_start(self, text: &[u8], at: usize) -> usize {
        utf8_char_start(text, at)
    }
}

impl Alphabet for SmallUtf8 {
    const WEIGHT_BYTES: usize = 2;

    #[inline]
    fn first(self, text: &[u8]) -> Character {
        match utf8::decode(text) {
            Some((code, bytes)) => Character { code, weight: unicode::small_weight(code).into(), bytes },
            None => Character { code: u32::MAX, weight: ILL_FORMED_WEIGHT, bytes: 1 },
        }
    }

    #[inline]
    fn char_start(self, text: &[u8], at: usize) -> usize {
        utf8_char_start(text, at)
    }
}

pub(super) fn utf8_char_start(text: &[u8], mut at: usize) -> usize {
    while at > 0 && text.get(at).is_some_and(|byte| utf8::is_continuation(*byte)) {
        at -= 1;
    }
    at
}

impl Alphabet for Weighed {
    const WEIGHT_BYTES: usize = 1;

    #[inline]
    fn first(self, text: &[u8]) -> Character {
        Character { code: u32::from(text[0]), weight: u32::from(self.0[text[0] as usize]), bytes: 1 }
    }

    #[inline]
    fn char_start(self, _text: &[u8], at: usize) -> usize {
        at
    }
}

/// Characters that are bytes, with a table of weights in which the space may be anywhere.
#[derive(Clone, Copy)]
pub(super) struct Tabled(pub &'static [u8; 256]);

impl Alphabet for Tabled {
    const WEIGHT_BYTES: usize = 1;

    #[inline]
    fn first(self, text: &[u8]) -> Character {
        Weighed(self.0).first(text)
    }

    #[inline]
    fn char_start(self, _text: &[u8], at: usize) -> usize {
        at
    }

    #[inline]
    fn space(self) -> u32 {
        u32::from(self.0[usize::from(b' ')])
    }

    #[inline]
    fn has_more_spaces(self) -> bool {
        true
    }
}

impl Alphabet for PlainBytes {
    const WEIGHT_BYTES: usize = 1;

    #[inline]
    fn first(self, text: &[u8]) -> Character {
        Character { code: u32::from(text[0]), weight: u32::from(text[0]), bytes: 1 }
    }

    #[inline]
    fn char_start(self, _text: &[u8], at: usize) -> usize {
        at
    }
}

/// The weight of a space in most alphabets.
const SPACE_WEIGHT: u32 = 0x20;

/// The length of the longest common prefix.
#[inline]
pub(super) fn common_prefix(a: &[u8], b: &[u8]) -> usize {
    let length = a.len().min(b.len());
    let (a, b) = (&a[..length], &b[..length]);
    let mut at = 0;
    for (x, y) in a.chunks_exact(8).zip(b.chunks_exact(8)) {
        let word = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().unwrap_or_default());
        let difference = word(x) ^ word(y);
        if difference != 0 {
            return at + difference.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    while at < length && a[at] == b[at] {
        at += 1;
    }
    at
}

/// Compares by weights, padding with spaces.
#[inline]
pub(super) fn compare_padded<A: Alphabet>(alphabet: A, a: &[u8], b: &[u8]) -> Ordering {
    let common = common_prefix(a, b);
    if common == a.len() && common == b.len() {
        return Ordering::Equal;
    }
    // Equal bytes weigh the same, but the first difference may lie within a character.
    let start = alphabet.char_start(a, common).min(alphabet.char_start(b, common));
    let (mut a, mut b) = (&a[start..], &b[start..]);
    while !a.is_empty() && !b.is_empty() {
        let (x, y) = (alphabet.first(a), alphabet.first(b));
        if x.weight != y.weight {
            return x.weight.cmp(&y.weight);
        }
        a = &a[x.bytes..];
        b = &b[y.bytes..];
    }
    if b.is_empty() { compare_to_spaces(alphabet, a) } else { compare_to_spaces(alphabet, b).reverse() }
}

/// Compares a text to endless spaces.
fn compare_to_spaces<A: Alphabet>(alphabet: A, mut text: &[u8]) -> Ordering {
    while !text.is_empty() {
        let first = alphabet.first(text);
        if first.weight != alphabet.space() {
            return first.weight.cmp(&alphabet.space());
        }
        text = &text[first.bytes..];
    }
    Ordering::Equal
}

/// Compares by weights. A text that ends is less than one that goes on.
#[inline]
pub(super) fn compare_unpadded<A: Alphabet>(alphabet: A, a: &[u8], b: &[u8]) -> Ordering {
    let common = common_prefix(a, b);
    let start = alphabet.char_start(a, common).min(alphabet.char_start(b, common));
    weights(alphabet, &a[start..]).cmp(weights(alphabet, &b[start..]))
}

/// What the characters of a text weigh.
#[inline]
fn weights<A: Alphabet>(alphabet: A, mut rest: &[u8]) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        let first = (!rest.is_empty()).then(|| alphabet.first(rest))?;
        rest = &rest[first.bytes..];
        Some(first.weight)
    })
}

/// The hash of all weights.
pub(super) fn hash_unpadded<A: Alphabet>(alphabet: A, text: &[u8]) -> u64 {
    hash_of(weights(alphabet, text), None)
}

/// Appends the sort key of a text that is not padded: its weights and one, behind them less than any of these.
pub(super) fn sort_key_unpadded<A: Alphabet>(alphabet: A, text: &[u8], out: &mut Vec<u8>) {
    for weight in weights(alphabet, text) {
        out.extend_from_slice(&(weight + 1).to_be_bytes()[1..]);
    }
    out.extend_from_slice(&[0; 3]);
}

/// Compares bytes, padding with spaces. For well-formed UTF-8 this is also the order of code points.
#[inline]
pub(super) fn compare_bytes_padded(a: &[u8], b: &[u8]) -> Ordering {
    let length = a.len().min(b.len());
    a[..length].cmp(&b[..length]).then_with(|| {
        if a.len() == b.len() {
            Ordering::Equal
        } else if a.len() > b.len() {
            compare_to_spaces(PlainBytes, &a[length..])
        } else {
            compare_to_spaces(PlainBytes, &b[length..]).reverse()
        }
    })
}

/// Without trailing spaces.
#[inline]
pub fn without_spaces(text: &[u8]) -> &[u8] {
    let mut length = text.len();
    while length > 0 && text[length - 1] == b' ' {
        length -= 1;
    }
    &text[..length]
}

/// An odd number with well-spread bits: 2^64 divided by the golden ratio.
const HASH_MULTIPLIER: u64 = 0x9E37_79B9_7F4A_7C15;

#[inline]
fn mix(hash: u64, word: u64) -> u64 {
    (hash.rotate_left(23) ^ word).wrapping_mul(HASH_MULTIPLIER)
}

/// Spreads the entropy, which multiplication carries upwards only, over all bits.
#[inline]
fn finish(hash: u64) -> u64 {
    let hash = (hash ^ hash >> 32).wrapping_mul(HASH_MULTIPLIER);
    hash ^ hash >> 29
}

/// The hash of the weights, without trailing spaces.
#[inline]
pub(super) fn hash_weights<A: Alphabet>(alphabet: A, text: &[u8]) -> u64 {
    let mut rest = alphabet.without_spaces(text);
    if alphabet.has_more_spaces() {
        return hash_of(weights(alphabet, rest), Some(alphabet.space()));
    }
    let mut hash = 0;
    while !rest.is_empty() {
        let first = alphabet.first(rest);
        hash = mix(hash, u64::from(first.weight));
        rest = &rest[first.bytes..];
    }
    finish(hash)
}

/// The hash of weights; without those of spaces at the end, where there are such that do not count.
#[inline]
pub(super) fn hash_of(weights: impl Iterator<Item = u32>, space: Option<u32>) -> u64 {
    let (mut hash, mut spaces) = (0, 0_u32);
    for weight in weights {
        if Some(weight) == space {
            spaces += 1;
            continue;
        }
        for _ in 0..std::mem::take(&mut spaces) {
            hash = mix(hash, space.map_or(0, u64::from));
        }
        hash = mix(hash, weight.into());
    }
    finish(hash)
}

/// The hash of bytes.
#[inline]
pub(super) fn hash_bytes(text: &[u8]) -> u64 {
    let mut hash = text.len() as u64;
    let mut chunks = text.chunks_exact(8);
    for chunk in &mut chunks {
        hash = mix(hash, u64::from_le_bytes(chunk.try_into().unwrap_or_default()));
    }
    let mut last = [0; 8];
    last[..chunks.remainder().len()].copy_from_slice(chunks.remainder());
    finish(mix(hash, u64::from_le_bytes(last)))
}

/// Appends the sort key of a text that is padded with spaces.
pub(super) fn sort_key_padded<A: Alphabet>(alphabet: A, text: &[u8], out: &mut Vec<u8>) {
    sort_key_of(weights(alphabet, alphabet.without_spaces(text)), alphabet.space(), A::WEIGHT_BYTES, out);
}

/// Appends the sort key of weights that are padded with the weight of a space; each takes so many bytes.
#[inline]
pub(super) fn sort_key_of(weights: impl Iterator<Item = u32>, space: u32, bytes: usize, out: &mut Vec<u8>) {
    let mut spaces = 0_u32;
    let append = |weight: u32, out: &mut Vec<u8>| out.extend_from_slice(&weight.to_be_bytes()[4 - bytes..]);
    for weight in weights {
        if weight == space {
            spaces += 1;
            continue;
        }
        if spaces > 0 {
            append(space, out);
            let start = out.len() + 1;
            out.push(if weight < space { 0 } else { 2 });
            match spaces {
                0..=254 => out.push(spaces as u8),
                _ => {
                    out.push(255);
                    out.extend_from_slice(&spaces.to_be_bytes());
                }
            }
            if weight > space {
                out[start..].iter_mut().for_each(|byte| *byte = !*byte);
            }
            spaces = 0;
        }
        append(weight, out);
    }
    append(space, out);
    out.push(1);
}

/// Appends the sort key of bytes that are not padded: as they are, a zero byte marked, and an end that is less than any
/// byte.
pub(super) fn sort_key_bytes(text: &[u8], out: &mut Vec<u8>) {
    for byte in text {
        out.push(*byte);
        if *byte == 0 {
            out.push(0xFF);
        }
    }
    out.extend_from_slice(&[0, 0]);
}

#[cfg(test)]
mod tests {
    use super::super::multibyte;
    use super::*;
    use proptest::prelude::*;

    /// The definition: both texts as weights, padded to the same number of characters.
    fn compare_slowly<A: Alphabet>(alphabet: A, a: &[u8], b: &[u8]) -> Ordering {
        let weights = |mut text: &[u8]| {
            let mut weights = Vec::new();
            while !text.is_empty() {
                let first = alphabet.first(text);
                weights.push(first.weight);
                text = &text[first.bytes..];
            }
            weights
        };
        let (mut a, mut b) = (weights(a), weights(b));
        let length = a.len().max(b.len());
        a.resize(length, alphabet.space());
        b.resize(length, alphabet.space());
        a.cmp(&b)
    }

    fn check<A: Alphabet>(alphabet: A, a: &[u8], b: &[u8]) -> Result<(), TestCaseError> {
        let order = compare_slowly(alphabet, a, b);
        prop_assert_eq!(compare_padded(alphabet, a, b), order);
        let (mut first, mut second) = (Vec::new(), Vec::new());
        sort_key_padded(alphabet, a, &mut first);
        sort_key_padded(alphabet, b, &mut second);
        prop_assert_eq!(first.cmp(&second), order);
        prop_assert!(order == Ordering::Equal || !(first.starts_with(&second) || second.starts_with(&first)));
        if order == Ordering::Equal {
            prop_assert_eq!(hash_weights(alphabet, a), hash_weights(alphabet, b));
        }
        Ok(())
    }

    proptest! {
        #[test]
        fn order_key_and_hash_agree(a in "[aAbÄä€中😀\t !]{0,12}", b in "[aAbÄä€中😀\t !]{0,12}") {
            check(GeneralUtf8, a.as_bytes(), b.as_bytes())?;
            check(PlainUtf8, a.as_bytes(), b.as_bytes())?;
            check(Weighed(&super::super::latin1::SWEDISH_WEIGHTS), a.as_bytes(), b.as_bytes())?;
            check(PlainBytes, a.as_bytes(), b.as_bytes())?;
            prop_assert_eq!(compare_bytes_padded(a.as_bytes(), b.as_bytes()), compare_slowly(PlainUtf8, a.as_bytes(), b.as_bytes()));
            let unpadded = weights(GeneralUtf8, a.as_bytes()).cmp(weights(GeneralUtf8, b.as_bytes()));
            prop_assert_eq!(compare_unpadded(GeneralUtf8, a.as_bytes(), b.as_bytes()), unpadded);
            let (mut first, mut second) = (Vec::new(), Vec::new());
            sort_key_unpadded(GeneralUtf8, a.as_bytes(), &mut first);
            sort_key_unpadded(GeneralUtf8, b.as_bytes(), &mut second);
            prop_assert_eq!(first.cmp(&second), unpadded);
            let (mut first, mut second) = (Vec::new(), Vec::new());
            sort_key_bytes(a.as_bytes(), &mut first);
            sort_key_bytes(b.as_bytes(), &mut second);
            prop_assert_eq!(first.cmp(&second), a.cmp(&b));
        }

        #[test]
        fn orders_of_bytes(a in proptest::collection::vec(prop_oneof![Just(b' '), Just(0xA0), Just(b'`'), any::<u8>()], 0..8),
                           b in proptest::collection::vec(prop_oneof![Just(b' '), Just(0xA0), Just(b'`'), any::<u8>()], 0..8)) {
            for known in super::super::collations() {
                if let super::super::Rule::Tabled(weights) = known.rule {
                    check(Tabled(weights), &a, &b)?;
                }
            }
        }

        #[test]
        fn characters_of_east_asia(a in "[aAbÄ中ソ表\t !]{0,8}", b in "[aAbÄ中ソ表\t !]{0,8}",
                                   bytes in proptest::collection::vec(any::<u8>(), 0..10)) {
            use super::super::{Charset, Rule, collations, convert};
            for known in collations() {
                let Charset::Multi(set) = known.charset else { continue };
                let alphabet = match known.rule {
                    Rule::Multi(one) => multibyte::Ordered::by(set, one),
                    _ => multibyte::Ordered::by_bytes(set),
                };
                let [a, b] = [&a, &b].map(|text| {
                    let mut converted = Vec::new();
                    convert(text.as_bytes(), Charset::Utf8mb4, known.charset, &mut converted);
                    converted
                });
                check(alphabet, &a, &b)?;
                prop_assert_eq!(known.compare(&a, &b), compare_slowly(alphabet, &a, &b), "{}", known.name);
                // No panic.
                known.compare(&bytes, &a);
                known.hash(&bytes);
                known.sort_key(&bytes, &mut Vec::new());
                known.like(&bytes, &a, None);
            }
        }

        #[test]
        fn characters_of_wide_units(a in "[aAbÄ中ソ\u{2020}😀\u{FFFF}\t !]{0,8}", b in "[aAbÄ中ソ\u{2020}😀\u{FFFF}\t !]{0,8}",
                                    bytes in proptest::collection::vec(any::<u8>(), 0..10)) {
            use super::super::wide::{GeneralWide, OldWide, PlainWide};
            use super::super::{Charset, collations, convert};
            for known in collations() {
                let Charset::Wide(set) = known.charset else { continue };
                let [a, b] = [&a, &b].map(|text| {
                    let mut converted = Vec::new();
                    convert(text.as_bytes(), Charset::Utf8mb4, known.charset, &mut converted);
                    converted
                });
                check(GeneralWide(set), &a, &b)?;
                check(OldWide(set), &a, &b)?;
                check(PlainWide(set), &a, &b)?;
                for text in [&b, &bytes] {
                    let order = known.compare(&a, text);
                    let (mut first, mut second) = (Vec::new(), Vec::new());
                    known.sort_key(&a, &mut first);
                    known.sort_key(text, &mut second);
                    prop_assert_eq!(first.cmp(&second), order, "{}", known.name);
                    prop_assert!(order.is_ne() || known.hash(&a) == known.hash(text), "{}", known.name);
                    prop_assert_eq!(known.compare(text, &a), order.reverse());
                }
                // No panic.
                known.like(&bytes, &a, None);
                known.find(&bytes, &a, 0);
                known.is_behind(&bytes, &a);
                known.upper(&bytes, &mut Vec::new());
                known.weight_string(&bytes, &mut Vec::new());
            }
        }

        #[test]
        fn ill_formed_bytes_have_an_order(a in proptest::collection::vec(prop_oneof![Just(b' '), Just(b'a'), any::<u8>()], 0..10),
                                          b in proptest::collection::vec(prop_oneof![Just(b' '), Just(b'a'), any::<u8>()], 0..10)) {
            check(PlainBytes, &a, &b)?;
            check(GeneralUtf8, &a, &a)?;
            // No panic; bytes that are no characters need no more.
            compare_padded(GeneralUtf8, &a, &b);
            compare_padded(PlainUtf8, &a, &b);
        }
    }

    #[test]
    fn long_runs_of_spaces() {
        let spaces = |count: usize, last: &str| [" ".repeat(count), last.into()].concat();
        let texts = [
            spaces(1, "\t"),
            spaces(254, "\t"),
            spaces(255, "\t"),
            spaces(1000, "\t"),
            spaces(3, ""),
            spaces(1000, "a"),
            spaces(255, "a"),
            spaces(254, "a"),
            spaces(1, "a"),
        ];
        for (i, a) in texts.iter().enumerate() {
            for (j, b) in texts.iter().enumerate() {
                let (mut first, mut second) = (Vec::new(), Vec::new());
                sort_key_padded(GeneralUtf8, a.as_bytes(), &mut first);
                sort_key_padded(GeneralUtf8, b.as_bytes(), &mut second);
                assert_eq!(compare_padded(GeneralUtf8, a.as_bytes(), b.as_bytes()), i.cmp(&j), "{i} {j}");
                assert_eq!(first.cmp(&second), i.cmp(&j), "{i} {j}");
            }
        }
    }
}
