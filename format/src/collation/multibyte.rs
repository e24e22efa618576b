//! Character sets of East Asia: ASCII is itself, and other characters have two or three bytes.
//!
//! ```text
//!            first byte            second byte
//! big5       A1-F9                 40-7E A1-FE
//! gbk        81-FE                 40-7E 80-FE
//! gb2312     A1-F7                 A1-FE
//! euckr      81-FE                 41-5A 61-7A 81-FE
//! sjis,      81-9F E0-FC           40-7E 80-FC          A1-DF: characters of one byte
//! cp932
//! ujis,      A1-FE                 A1-FE
//! eucjpms    8E                    A1-DF
//!            8F                    A1-FE                and a third one, A1-FE
//! ```
//!
//! So the second byte of a character may be what is a letter or a backslash by itself, and where a character begins can
//! only be told from the beginning of the text.
//!
//! What the characters are, their case, and the order of gbk, by sound, is in `charsets/multi`, a
//! Zstandard frame that is unpacked when one of these sets is first used. It has for each set, in the order of
//! [`Multibyte`], its length as u32 and
//!
//! ```text
//! counts      u32 each: characters, bytes of their steps, exceptions, letters with case
//! steps       from each character's bytes, as a number, to the next one's: u8, or FF and three bytes
//! characters  u16 each: their code points
//! exceptions  code points that lead to other bytes than the least that have them: u16 and u32
//! letters     u32 each: bytes, those of upper case, those of lower case
//! weights     u32: their number; u16 each, for all pairs of bytes that are in the table above
//! ```
//!
//! big5_chinese_ci compares by the bytes, as MySQL does and as its indexes are ordered; what MySQL sorts without an index
//! has another order, that of strokes, in which there are equal texts that are not equal.
//!
//! Numbers are little-endian. All of it was observed on MariaDB 10.11, as `single.rs` says.

use std::collections::HashMap;
use std::sync::{LazyLock, OnceLock};

use super::order::{Alphabet, Character};
use super::unicode::NO_CHARACTER;

static PACKED: &[u8] = include_bytes!("charsets/multi");
const UNPACKED_BYTES: usize = 393_168;
const SETS: usize = 8;
const NONE: u16 = 0xFFFF;

/// More than any character weighs.
const ILL_FORMED: u32 = 0xFF_0000;

/// A character set of up to three bytes for each character.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Multibyte {
    Big5,
    Cp932,
    Eucjpms,
    Euckr,
    Gb2312,
    Gbk,
    Sjis,
    Ujis,
}

use Multibyte::*;

/// What is unpacked of a set.
struct Table {
    /// By the bytes of a character of two, as a number.
    code_points: Vec<u16>,
    /// By the last two of three bytes.
    code_points_of_three: Vec<u16>,
    /// By code point.
    bytes: Vec<u32>,
    cases: HashMap<u32, (u32, u32)>,
    /// By the bytes of a character of two; none where they are the weights.
    weights: Vec<u16>,
}

/// Reads what is packed.
struct Reader(&'static [u8]);

impl Reader {
    fn take<const N: usize>(&mut self) -> [u8; N] {
        let (taken, rest) = self.0.split_first_chunk().expect("the table is whole: a test reads all of it");
        self.0 = rest;
        *taken
    }

    fn u16(&mut self) -> u16 {
        u16::from_le_bytes(self.take())
    }

    fn u32(&mut self) -> u32 {
        u32::from_le_bytes(self.take())
    }

    fn step(&mut self) -> u32 {
        match self.take() {
            [0xFF] => {
                let [low, middle, high] = self.take();
                u32::from_le_bytes([low, middle, high, 0])
            }
            [step] => u32::from(step),
        }
    }
}

impl Multibyte {
    /// MySQL's name and description, and the ids of the default collation and of the one that compares bytes.
    pub(super) const fn described(self) -> (&'static str, &'static str, u16, u16) {
        match self {
            Big5 => ("big5", "Big5 Traditional Chinese", 1, 84),
            Cp932 => ("cp932", "SJIS for Windows Japanese", 95, 96),
            Eucjpms => ("eucjpms", "UJIS for Windows Japanese", 97, 98),
            Euckr => ("euckr", "EUC-KR Korean", 19, 85),
            Gb2312 => ("gb2312", "GB2312 Simplified Chinese", 24, 86),
            Gbk => ("gbk", "GBK Simplified Chinese", 28, 87),
            Sjis => ("sjis", "Shift-JIS Japanese", 13, 88),
            Ujis => ("ujis", "EUC-JP Japanese", 12, 91),
        }
    }

    pub(super) const fn bytes_max(self) -> u8 {
        match self {
            Eucjpms | Ujis => 3,
            _ => 2,
        }
    }

    /// Whether a second byte may be ASCII.
    pub(super) const fn hides_ascii(self) -> bool {
        !matches!(self, Eucjpms | Ujis | Gb2312)
    }

    /// The bytes of the character that a text begins with. None: it is ill-formed there, or ends.
    #[inline]
    pub(super) fn length(self, text: &[u8]) -> Option<usize> {
        let first = *text.first()?;
        if first < 0x80 {
            return Some(1);
        }
        let follows = |at: usize, is_right: fn(u8) -> bool| text.get(at).is_some_and(|byte| is_right(*byte));
        let is_high = |byte: u8| matches!(byte, 0xA1..=0xFE);
        let length = match (self, first) {
            (Big5, 0xA1..=0xF9) => follows(1, |byte| matches!(byte, 0x40..=0x7E | 0xA1..=0xFE)).then_some(2),
            (Gbk, 0x81..=0xFE) => follows(1, |byte| matches!(byte, 0x40..=0x7E | 0x80..=0xFE)).then_some(2),
            (Gb2312, 0xA1..=0xF7) => follows(1, is_high).then_some(2),
            (Euckr, 0x81..=0xFE) => {
                follows(1, |byte| matches!(byte, 0x41..=0x5A | 0x61..=0x7A | 0x81..=0xFE)).then_some(2)
            }
            (Sjis | Cp932, 0xA1..=0xDF) => Some(1),
            (Sjis | Cp932, 0x81..=0x9F | 0xE0..=0xFC) => {
                follows(1, |byte| matches!(byte, 0x40..=0x7E | 0x80..=0xFC)).then_some(2)
            }
            (Ujis | Eucjpms, 0xA1..=0xFE) => follows(1, is_high).then_some(2),
            (Ujis | Eucjpms, 0x8E) => follows(1, |byte| matches!(byte, 0xA1..=0xDF)).then_some(2),
            (Ujis | Eucjpms, 0x8F) => (follows(1, is_high) && follows(2, is_high)).then_some(3),
            _ => None,
        };
        length.filter(|length| *length <= text.len())
    }

    /// The bytes of the first character, or 1 where there is none.
    #[inline]
    pub(super) fn step(self, text: &[u8]) -> usize {
        self.length(text).unwrap_or(1)
    }

    /// The byte offset of a character, or the length if there are fewer.
    pub(super) fn offset_of_char(self, text: &[u8], index: usize) -> usize {
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
        let (mut at, mut count) = (0, 0);
        while at < text.len() {
            at += self.step(&text[at..]);
            count += 1;
        }
        count
    }

    /// The start of the character that byte `at` belongs to.
    pub(super) fn char_start(self, text: &[u8], at: usize) -> usize {
        // No character begins with an ASCII byte and goes on, so one begins behind each of these.
        let before = text[..at.min(text.len())].iter().rposition(u8::is_ascii);
        let mut start = before.map_or(0, |before| before + 1);
        while start < text.len() {
            let next = start + self.step(&text[start..]);
            if next > at {
                return start;
            }
            start = next;
        }
        start.min(at)
    }

    /// The length of the longest well-formed prefix.
    pub(super) fn well_formed_prefix(self, text: &[u8]) -> usize {
        let mut at = 0;
        while let Some(length) = self.length(&text[at..]) {
            at += length;
        }
        at
    }

    fn table(self) -> &'static Table {
        static UNPACKED: LazyLock<Vec<u8>> =
            LazyLock::new(|| zstd::bulk::decompress(PACKED, UNPACKED_BYTES).expect("a frame of this build"));
        static TABLES: [OnceLock<Table>; SETS] = [const { OnceLock::new() }; SETS];
        TABLES[self as usize].get_or_init(|| {
            let mut all = Reader(&UNPACKED);
            for _ in 0..self as usize {
                let bytes = all.u32() as usize;
                all.0 = &all.0[bytes..];
            }
            all.u32();
            self.unpack(all)
        })
    }

    fn unpack(self, mut from: Reader) -> Table {
        let [characters, step_bytes, exceptions, letters] = std::array::from_fn(|_| from.u32() as usize);
        let (steps, rest) = from.0.split_at(step_bytes);
        let mut steps = Reader(steps);
        from.0 = rest;
        let three = if self.bytes_max() == 3 { 0x1_0000 } else { 0 };
        let mut table = Table {
            code_points: vec![NONE; 0x1_0000],
            code_points_of_three: vec![NONE; three],
            bytes: vec![u32::MAX; 0x1_0000],
            cases: HashMap::new(),
            weights: Vec::new(),
        };
        let mut bytes = 0x7F;
        for _ in 0..characters {
            bytes += steps.step();
            let code_point = from.u16();
            match bytes {
                0..=0xFFFF => table.code_points[bytes as usize] = code_point,
                _ => table.code_points_of_three[bytes as usize & 0xFFFF] = code_point,
            }
            let known = &mut table.bytes[usize::from(code_point)];
            *known = bytes.min(*known);
        }
        for ascii in 0..0x80 {
            table.code_points[ascii] = ascii as u16;
            table.bytes[ascii] = ascii as u32;
        }
        for _ in 0..exceptions {
            let code_point = from.u16();
            table.bytes[usize::from(code_point)] = from.u32();
        }
        for _ in 0..letters {
            let letter = from.u32();
            table.cases.insert(letter, (from.u32(), from.u32()));
        }
        if from.u32() > 0 {
            table.weights = vec![0; 0x1_0000];
            for pair in 0x8000..=0xFFFF_u16 {
                if self.length(&pair.to_be_bytes()) == Some(2) {
                    table.weights[usize::from(pair)] = from.u16();
                }
            }
        }
        table
    }

    /// The bytes of the first character, as a number, and how many there are.
    #[inline]
    fn first(self, text: &[u8]) -> Option<(u32, usize)> {
        let length = self.length(text)?;
        Some((text[..length].iter().fold(0, |number, byte| number << 8 | u32::from(*byte)), length))
    }

    /// The code point at the start of a text, and its bytes.
    pub(super) fn decode(self, text: &[u8]) -> Option<(u32, usize)> {
        let (bytes, length) = self.first(text)?;
        if bytes < 0x80 {
            return Some((bytes, 1));
        }
        let table = self.table();
        let code_point = match length {
            3 => table.code_points_of_three[bytes as usize & 0xFFFF],
            _ => table.code_points[bytes as usize],
        };
        Some((if code_point == NONE { NO_CHARACTER } else { u32::from(code_point) }, length))
    }

    pub(super) fn encode(self, code_point: u32, out: &mut Vec<u8>) -> bool {
        let bytes = self.table().bytes.get(code_point as usize).copied().unwrap_or(u32::MAX);
        let is_there = bytes != u32::MAX && code_point != u32::from(NONE);
        if is_there {
            append(bytes, out);
        }
        is_there
    }

    /// Appends a text in upper or lower case.
    pub(super) fn change_case(self, text: &[u8], is_upper: bool, out: &mut Vec<u8>) {
        let mut rest = text;
        while let Some(first) = rest.first() {
            let length = self.step(rest);
            match self.first(rest) {
                _ if first.is_ascii() => {
                    out.push(if is_upper { first.to_ascii_uppercase() } else { first.to_ascii_lowercase() })
                }
                Some((bytes, _)) => match self.table().cases.get(&bytes) {
                    Some((upper, lower)) => append(if is_upper { *upper } else { *lower }, out),
                    None => out.extend_from_slice(&rest[..length]),
                },
                None => out.push(*first),
            }
            rest = &rest[length..];
        }
    }
}

/// Appends the bytes of a character.
fn append(bytes: u32, out: &mut Vec<u8>) {
    let all = bytes.to_be_bytes();
    let zeros = (bytes.leading_zeros() as usize / 8).min(3);
    out.extend_from_slice(&all[zeros..]);
}

/// The characters of a set as a collation weighs them: ASCII, and what else is one byte, by a table.
#[derive(Clone, Copy)]
pub(super) struct Ordered {
    set: Multibyte,
    one: Option<&'static [u8; 256]>,
    two: &'static [u16],
}

impl Ordered {
    /// As the set's own collation does.
    pub fn by(set: Multibyte, one: &'static [u8; 256]) -> Ordered {
        Ordered { set, one: Some(one), two: &set.table().weights }
    }

    /// As the bytes are.
    pub fn by_bytes(set: Multibyte) -> Ordered {
        Ordered { set, one: None, two: &[] }
    }
}

impl Alphabet for Ordered {
    const WEIGHT_BYTES: usize = 3;

    #[inline]
    fn first(self, text: &[u8]) -> Character {
        let Some((code, bytes)) = self.set.first(text) else {
            return Character { code: u32::MAX, weight: ILL_FORMED + u32::from(text[0]), bytes: 1 };
        };
        // The first byte of a character decides before the second one does, whatever their number is.
        let weight = match (bytes, self.one) {
            (1, Some(one)) => u32::from(one[code as usize]) << 16,
            (1, None) => code << 16,
            (2, _) => u32::from(self.two.get(code as usize).copied().unwrap_or(code as u16)) << 8,
            _ => code,
        };
        Character { code, weight, bytes }
    }

    #[inline]
    fn char_start(self, text: &[u8], at: usize) -> usize {
        self.set.char_start(text, at)
    }

    #[inline]
    fn space(self) -> u32 {
        u32::from(b' ') << 16
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_go_to_unicode_and_back() {
        for set in [Big5, Cp932, Eucjpms, Euckr, Gb2312, Gbk, Sjis, Ujis] {
            let mut count = 0;
            for code_point in 0..=0x1_0000 {
                let mut bytes = Vec::new();
                if set.encode(code_point, &mut bytes) {
                    count += 1;
                    let found = set.decode(&bytes);
                    // Unicode's backslash is the wide one in sjis, and two characters are one in cp932.
                    if ![(Sjis, 0x5C), (Cp932, 0x6661)].contains(&(set, code_point)) {
                        assert_eq!(found, Some((code_point, bytes.len())), "{set:?}: U+{code_point:04X}");
                    }
                    assert_eq!(set.well_formed_prefix(&bytes), bytes.len());
                }
            }
            assert!(count > 7000, "{set:?}: {count}");
            assert_eq!(set.decode(b"\x80"), None);
            assert!(!set.encode(0x1F600, &mut Vec::new()));
        }
        assert_eq!(Gbk.decode(b"\xD6\xD0"), Some((0x4E2D, 2)));
        assert_eq!(Big5.decode(b"\xA4\xA4"), Some((0x4E2D, 2)));
        assert_eq!(Sjis.decode(b"\x83\x5C"), Some((0x30BD, 2)), "its second byte is a backslash");
        assert_eq!(Ujis.decode(b"\x8F\xB0\xA1"), Some((0x4E02, 3)));
    }

    #[test]
    fn where_characters_begin() {
        let text = b"a\x83\x5C\x5C\xB1b";
        assert_eq!(Sjis.well_formed_prefix(text), text.len());
        let starts: Vec<usize> = (0..=5).map(|index| Sjis.offset_of_char(text, index)).collect();
        assert_eq!(starts, [0, 1, 3, 4, 5, 6]);
        let of: Vec<usize> = (0..text.len()).map(|at| Sjis.char_start(text, at)).collect();
        assert_eq!(of, [0, 1, 1, 3, 4, 5]);
        let mut upper = Vec::new();
        Sjis.change_case(b"\x83\x61a\x82\x81", true, &mut upper);
        assert_eq!(upper, b"\x83\x61A\x82\x60");
    }
}
