//! Character sets whose characters are units of two or four bytes: no byte of them is ASCII by itself.
//!
//! ```text
//!           units                a space        characters beyond the Basic Multilingual Plane
//! ucs2      2 bytes, big-endian  00 20          none
//! utf16     2 bytes, big-endian  00 20          two units: D800-DBFF and DC00-DFFF
//! utf16le   2 bytes              20 00          the same
//! utf32     4 bytes, big-endian  00 00 00 20    one unit, up to 0010FFFF
//! ```
//!
//! In ucs2 and utf32 the numbers D800 to DFFF are characters like others, as in MySQL, though no other set has them. In
//! utf16 half of a pair is ill-formed, and so is less than a unit at the end of a text. What is ill-formed is one unit, or
//! what there is of it.

use super::order::{Alphabet, Character};
use super::unicode;

/// One of these sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Wide {
    Ucs2,
    Utf16,
    Utf16le,
    Utf32,
}

use Wide::*;

/// Halves of a pair.
const HIGH: std::ops::RangeInclusive<u32> = 0xD800..=0xDBFF;
const LOW: std::ops::RangeInclusive<u32> = 0xDC00..=0xDFFF;

const LAST: u32 = 0x10_FFFF;

impl Wide {
    /// MySQL's name and description, and the ids of the default collation and of the one that compares bytes.
    pub(super) const fn described(self) -> (&'static str, &'static str, u16, u16) {
        match self {
            Ucs2 => ("ucs2", "UCS-2 Unicode", 35, 90),
            Utf16 => ("utf16", "UTF-16 Unicode", 54, 55),
            Utf16le => ("utf16le", "UTF-16LE Unicode", 56, 62),
            Utf32 => ("utf32", "UTF-32 Unicode", 60, 61),
        }
    }

    /// Bytes of a unit: the fewest that a character has.
    #[inline]
    pub(super) const fn unit(self) -> usize {
        match self {
            Utf32 => 4,
            _ => 2,
        }
    }

    pub(super) const fn bytes_max(self) -> u8 {
        match self {
            Ucs2 => 2,
            _ => 4,
        }
    }

    pub(super) const fn space(self) -> &'static [u8] {
        match self {
            Ucs2 | Utf16 => b"\0 ",
            Utf16le => b" \0",
            Utf32 => b"\0\0\0 ",
        }
    }

    /// The unit at the start of a text; None if there is less than one.
    #[inline]
    fn unit_at(self, text: &[u8]) -> Option<u32> {
        Some(match self {
            Ucs2 | Utf16 => u32::from(u16::from_be_bytes(*text.first_chunk()?)),
            Utf16le => u32::from(u16::from_le_bytes(*text.first_chunk()?)),
            Utf32 => u32::from_be_bytes(*text.first_chunk()?),
        })
    }

    /// The code point at the start of a text, and its bytes. None: the text is ill-formed there, or ends.
    #[inline]
    pub(super) fn decode(self, text: &[u8]) -> Option<(u32, usize)> {
        let first = self.unit_at(text)?;
        match self {
            Ucs2 => Some((first, 2)),
            Utf32 => (first <= LAST).then_some((first, 4)),
            Utf16 | Utf16le if HIGH.contains(&first) => {
                let second = self.unit_at(&text[2..]).filter(|second| LOW.contains(second))?;
                Some((0x1_0000 + ((first & 0x3FF) << 10 | second & 0x3FF), 4))
            }
            Utf16 | Utf16le => (!LOW.contains(&first)).then_some((first, 2)),
        }
    }

    /// Appends a code point; false if the set does not have it.
    pub(super) fn encode(self, code_point: u32, out: &mut Vec<u8>) -> bool {
        let mut put = |unit: u32| match self {
            Ucs2 | Utf16 => out.extend_from_slice(&(unit as u16).to_be_bytes()),
            Utf16le => out.extend_from_slice(&(unit as u16).to_le_bytes()),
            Utf32 => out.extend_from_slice(&unit.to_be_bytes()),
        };
        match self {
            Ucs2 if code_point > 0xFFFF => return false,
            Utf32 if code_point > LAST => return false,
            Ucs2 | Utf32 => put(code_point),
            Utf16 | Utf16le => match code_point {
                0..0xD800 | 0xE000..0x1_0000 => put(code_point),
                0x1_0000..=LAST => {
                    let beyond = code_point - 0x1_0000;
                    put(HIGH.start() | beyond >> 10);
                    put(LOW.start() | beyond & 0x3FF);
                }
                _ => return false,
            },
        }
        true
    }

    /// The bytes of the first character of a text that is not empty, or of what is ill-formed there.
    #[inline]
    pub(super) fn step(self, text: &[u8]) -> usize {
        self.decode(text).map_or(self.unit().min(text.len()), |(_, length)| length)
    }

    /// Whether all characters have as many bytes.
    const fn is_fixed(self) -> bool {
        matches!(self, Ucs2 | Utf32)
    }

    /// The byte offset of a character, or the length if there are fewer.
    pub(super) fn offset_of_char(self, text: &[u8], index: usize) -> usize {
        if self.is_fixed() {
            return index.saturating_mul(self.unit()).min(text.len());
        }
        let mut at = 0;
        for _ in 0..index {
            if at == text.len() {
                break;
            }
            at += self.step(&text[at..]);
        }
        at
    }

    pub(super) fn char_count(self, text: &[u8]) -> usize {
        if self.is_fixed() {
            return text.len().div_ceil(self.unit());
        }
        let (mut at, mut count) = (0, 0);
        while at < text.len() {
            at += self.step(&text[at..]);
            count += 1;
        }
        count
    }

    /// The start of the character that byte `at` belongs to.
    #[inline]
    pub(super) fn char_start(self, text: &[u8], at: usize) -> usize {
        let at = at.min(text.len());
        let start = at - at % self.unit();
        // Whether a unit is the second half of a pair is known from it and the one before.
        let is_second = start >= 2 && matches!(self.decode(&text[start - 2..]), Some((_, 4))) && !self.is_fixed();
        if is_second { start - 2 } else { start }
    }

    /// The length of the longest well-formed prefix.
    pub(super) fn well_formed_prefix(self, text: &[u8]) -> usize {
        let mut at = 0;
        while let Some((_, length)) = self.decode(&text[at..]) {
            at += length;
        }
        at
    }

    /// Without trailing spaces.
    #[inline]
    pub(super) fn without_spaces(self, text: &[u8]) -> &[u8] {
        // Less than a unit at the end is no space, and spaces before it are not at the end.
        if !text.len().is_multiple_of(self.unit()) {
            return text;
        }
        let mut kept = text;
        while let Some(before) = kept.strip_suffix(self.space()) {
            kept = before;
        }
        kept
    }

    /// Appends a text with each character mapped; what is ill-formed stays.
    pub(super) fn map(self, text: &[u8], map: impl Fn(u32) -> u32, out: &mut Vec<u8>) {
        let mut rest = text;
        while !rest.is_empty() {
            let (character, behind) = rest.split_at(self.step(rest));
            match self.decode(rest).map(|(code_point, _)| (code_point, map(code_point))) {
                Some((code_point, mapped)) if mapped != code_point && self.encode(mapped, out) => {}
                _ => out.extend_from_slice(character),
            }
            rest = behind;
        }
    }
}

/// How the code points of a text are told, where these and UTF-8 have collations in common.
pub(super) trait Encoding: Copy {
    /// The code point at the start of a text, and its bytes. None: the text is ill-formed there, or ends.
    fn code_point(self, text: &[u8]) -> Option<(u32, usize)>;

    /// The bytes that are skipped where a text that is not empty is ill-formed.
    fn skipped(self, text: &[u8]) -> usize;

    /// The start of the character that byte `at` belongs to.
    fn start(self, text: &[u8], at: usize) -> usize;
}

#[derive(Clone, Copy)]
pub(super) struct Utf8;

impl Encoding for Utf8 {
    #[inline]
    fn code_point(self, text: &[u8]) -> Option<(u32, usize)> {
        super::utf8::decode(text)
    }

    #[inline]
    fn skipped(self, _text: &[u8]) -> usize {
        1
    }

    #[inline]
    fn start(self, text: &[u8], at: usize) -> usize {
        super::order::utf8_char_start(text, at)
    }
}

impl Encoding for Wide {
    #[inline]
    fn code_point(self, text: &[u8]) -> Option<(u32, usize)> {
        self.decode(text)
    }

    #[inline]
    fn skipped(self, text: &[u8]) -> usize {
        self.unit().min(text.len())
    }

    #[inline]
    fn start(self, text: &[u8], at: usize) -> usize {
        self.char_start(text, at)
    }
}

/// With the weights of the general collation.
#[derive(Clone, Copy)]
pub(super) struct GeneralWide(pub Wide);

/// The same as MySQL had it before version 5.1.24: ß weighs itself.
#[derive(Clone, Copy)]
pub(super) struct OldWide(pub Wide);

/// Characters weigh their code points.
#[derive(Clone, Copy)]
pub(super) struct PlainWide(pub Wide);

/// More than any character weighs in a general collation.
const ILL_FORMED_GENERAL: u32 = 0xFFFF;

/// The first character, with what `weigh` says of its code point; `ill_formed` if it is none.
#[inline]
fn weighed(set: Wide, text: &[u8], weigh: impl Fn(u32) -> u32, ill_formed: impl Fn(u8) -> u32) -> Character {
    match set.decode(text) {
        Some((code, bytes)) => Character { code, weight: weigh(code), bytes },
        None => Character { code: u32::MAX, weight: ill_formed(text[0]), bytes: set.skipped(text) },
    }
}

macro_rules! wide_alphabet {
    ($name:ident, $bytes:expr, $weigh:expr, $ill_formed:expr) => {
        impl Alphabet for $name {
            const WEIGHT_BYTES: usize = $bytes;

            #[inline]
            fn first(self, text: &[u8]) -> Character {
                weighed(self.0, text, $weigh, $ill_formed)
            }

            #[inline]
            fn char_start(self, text: &[u8], at: usize) -> usize {
                self.0.char_start(text, at)
            }

            #[inline]
            fn without_spaces(self, text: &[u8]) -> &[u8] {
                self.0.without_spaces(text)
            }
        }
    };
}

wide_alphabet!(GeneralWide, 2, |code| u32::from(unicode::general_weight(code)), |_| ILL_FORMED_GENERAL);
wide_alphabet!(OldWide, 2, |code| u32::from(unicode::old_weight(code)), |_| ILL_FORMED_GENERAL);
wide_alphabet!(PlainWide, 3, |code| code, |first| LAST + 1 + u32::from(first));

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ALL: [Wide; 4] = [Ucs2, Utf16, Utf16le, Utf32];

    #[test]
    fn characters_go_to_unicode_and_back() {
        for set in ALL {
            for code_point in 0..=LAST + 1 {
                let mut bytes = Vec::new();
                let is_there = set.encode(code_point, &mut bytes);
                let is_half = (0xD800..=0xDFFF).contains(&code_point);
                let wanted = match set {
                    Ucs2 => code_point <= 0xFFFF,
                    Utf32 => code_point <= LAST,
                    _ => code_point <= LAST && !is_half,
                };
                assert_eq!(is_there, wanted, "{set:?}: {code_point:X}");
                assert_eq!(
                    set.decode(&bytes),
                    is_there.then_some((code_point, bytes.len())),
                    "{set:?}: {code_point:X}"
                );
            }
            let mut space = Vec::new();
            assert!(set.encode(0x20, &mut space));
            assert_eq!(space, set.space());
        }
    }

    #[test]
    fn what_is_ill_formed() {
        for (set, text, valid) in [
            (Ucs2, &b"\xD8\0\0"[..], 2),
            (Utf16, b"\0a\xD8\0", 2),
            (Utf16, b"\xD8\0\0a", 0),
            (Utf16, b"\xDC\0\0a", 0),
            (Utf16, b"\xD8\x3D\xDE\0\0", 4),
            (Utf16le, b"\x3D\xD8\0\xDE", 4),
            (Utf16le, b"a\0\0\xD8", 2),
            (Utf32, b"\0\0\0a\0\x11\0\0", 4),
            (Utf32, b"\0\0\0", 0),
        ] {
            assert_eq!(set.well_formed_prefix(text), valid, "{set:?}: {text:X?}");
        }
        // Half of a pair is one character, and so is a byte too many.
        assert_eq!(Utf16.char_count(b"\xD8\0\0a\0"), 3);
        assert_eq!(Utf16.char_start(b"\xD8\x3D\xDE\0\0a", 3), 0);
        assert_eq!(Utf16.char_start(b"\0\xD8\x3D\xDE\0\0", 4), 4);
    }

    proptest! {
        #[test]
        fn any_bytes_are_characters(bytes in proptest::collection::vec(
            prop_oneof![Just(0_u8), Just(b' '), Just(0xD8), Just(0xDC), any::<u8>()], 0..16)) {
            for set in ALL {
                let mut starts = Vec::new();
                let mut at = 0;
                while at < bytes.len() {
                    starts.push(at);
                    let step = set.step(&bytes[at..]);
                    prop_assert!(step > 0 && at + step <= bytes.len());
                    at += step;
                }
                prop_assert_eq!(set.char_count(&bytes), starts.len());
                for (index, start) in starts.iter().enumerate() {
                    prop_assert_eq!(set.offset_of_char(&bytes, index), *start);
                    let end = starts.get(index + 1).copied().unwrap_or(bytes.len());
                    for within in *start..end {
                        prop_assert_eq!(set.char_start(&bytes, within), *start, "{:?}: {:X?} {}", set, bytes, within);
                    }
                }
                let valid = set.well_formed_prefix(&bytes);
                prop_assert!(valid == bytes.len() || set.decode(&bytes[valid..]).is_none());
                let mut same = Vec::new();
                set.map(&bytes, |code_point| code_point, &mut same);
                prop_assert_eq!(&same, &bytes);
            }
        }
    }
}
