//! Character sets of one byte for each character, and orders of 256 bytes, as a server has them.
//!
//! `charsets/single` has one record for each set, in the order of [`Single`]; all of them but swe7, which has Swedish letters
//! where ASCII has brackets, have ASCII in their lower half:
//!
//! ```text
//! 256 code points          u16 each, little-endian; FFFF where the set has no character
//! 256 bytes                upper case
//! 256 bytes                lower case
//! ```
//!
//! `charsets/orders` has 256 weights for each order that a collation of such a set has. `list.rs` names them by number.
//!
//! These are facts observed on MariaDB 10.11, byte by byte, with CONVERT, UPPER, LOWER and `WEIGHT_STRING`, and they stay:
//! the order of texts is part of every index on disk. `bench/tests/collations.rs` compares them with a server's.

use std::sync::OnceLock;

const RECORD: usize = 1024;
const SETS: usize = 23;
const UPPER: usize = 512;
const LOWER: usize = 768;
const NONE: u16 = 0xFFFF;

static TABLES: &[u8; RECORD * SETS] = include_bytes!("charsets/single");
static ORDERS: &[u8] = include_bytes!("charsets/orders");

/// The weights of bytes in an order.
pub(super) const fn order(number: usize) -> &'static [u8; 256] {
    match ORDERS.split_at(number * 256).1.first_chunk() {
        Some(weights) => weights,
        None => panic!("there is no such order"),
    }
}

/// A character set of one byte for each character.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Single {
    Dec8,
    Cp850,
    Hp8,
    Koi8r,
    Latin2,
    Hebrew,
    Koi8u,
    Greek,
    Cp1250,
    Latin5,
    Armscii8,
    Cp866,
    Keybcs2,
    Macce,
    Macroman,
    Cp852,
    Latin7,
    Cp1251,
    Cp1256,
    Cp1257,
    Geostd8,
    Tis620,
    Swe7,
}

use Single::*;

impl Single {
    /// MySQL's name and description, and the ids of the default collation and of the one that compares bytes.
    #[rustfmt::skip]
    pub(super) const fn described(self) -> (&'static str, &'static str, u16, u16) {
        match self {
            Dec8 => ("dec8", "DEC West European", 3, 69),
            Cp850 => ("cp850", "DOS West European", 4, 80),
            Hp8 => ("hp8", "HP West European", 6, 72),
            Koi8r => ("koi8r", "KOI8-R Relcom Russian", 7, 74),
            Latin2 => ("latin2", "ISO 8859-2 Central European", 9, 77),
            Hebrew => ("hebrew", "ISO 8859-8 Hebrew", 16, 71),
            Koi8u => ("koi8u", "KOI8-U Ukrainian", 22, 75),
            Greek => ("greek", "ISO 8859-7 Greek", 25, 70),
            Cp1250 => ("cp1250", "Windows Central European", 26, 66),
            Latin5 => ("latin5", "ISO 8859-9 Turkish", 30, 78),
            Armscii8 => ("armscii8", "ARMSCII-8 Armenian", 32, 64),
            Cp866 => ("cp866", "DOS Russian", 36, 68),
            Keybcs2 => ("keybcs2", "DOS Kamenicky Czech-Slovak", 37, 73),
            Macce => ("macce", "Mac Central European", 38, 43),
            Macroman => ("macroman", "Mac West European", 39, 53),
            Cp852 => ("cp852", "DOS Central European", 40, 81),
            Latin7 => ("latin7", "ISO 8859-13 Baltic", 41, 79),
            Cp1251 => ("cp1251", "Windows Cyrillic", 51, 50),
            Cp1256 => ("cp1256", "Windows Arabic", 57, 67),
            Cp1257 => ("cp1257", "Windows Baltic", 59, 58),
            Geostd8 => ("geostd8", "GEOSTD8 Georgian", 92, 93),
            Tis620 => ("tis620", "TIS620 Thai", 18, 89),
            Swe7 => ("swe7", "7bit Swedish", 10, 82),
        }
    }

    fn record(self) -> &'static [u8] {
        &TABLES[self as usize * RECORD..][..RECORD]
    }

    #[inline]
    pub(super) fn decode(self, byte: u8) -> Option<u32> {
        let at = usize::from(byte) * 2;
        let code_point = u16::from_le_bytes([self.record()[at], self.record()[at + 1]]);
        (code_point != NONE).then_some(u32::from(code_point))
    }

    /// The byte of a character: the least one, where several stand for it.
    pub(super) fn encode(self, code_point: u32) -> Option<u8> {
        static REVERSED: [OnceLock<Vec<(u32, u8)>>; SETS] = [const { OnceLock::new() }; SETS];
        let bytes = REVERSED[self as usize].get_or_init(|| {
            let mut bytes: Vec<(u32, u8)> =
                (0..=u8::MAX).filter_map(|byte| self.decode(byte).map(|code_point| (code_point, byte))).collect();
            bytes.sort_unstable();
            bytes
        });
        let at = bytes.partition_point(|(known, _)| *known < code_point);
        bytes.get(at).filter(|(known, _)| *known == code_point).map(|(_, byte)| *byte)
    }

    #[inline]
    pub(super) fn to_upper(self, byte: u8) -> u8 {
        self.record()[UPPER + usize::from(byte)]
    }

    #[inline]
    pub(super) fn to_lower(self, byte: u8) -> u8 {
        self.record()[LOWER + usize::from(byte)]
    }
}

#[cfg(test)]
mod tests {
    use super::super::Charset;
    use super::*;

    #[test]
    fn characters_go_to_unicode_and_back() {
        let sets: Vec<Single> = Charset::ALL
            .into_iter()
            .filter_map(|charset| if let Charset::Single(set) = charset { Some(set) } else { None })
            .collect();
        assert_eq!(sets.len(), SETS);
        for set in sets {
            for byte in 0..=u8::MAX {
                match set.decode(byte) {
                    Some(code_point) => {
                        let back = set.encode(code_point).expect("it came from a byte");
                        assert_eq!(set.decode(back), Some(code_point), "{set:?}: {byte:02X}");
                        let is_itself = code_point == u32::from(byte) && back == byte;
                        assert!(!byte.is_ascii() || is_itself || set == Swe7 && !byte.is_ascii_alphanumeric());
                    }
                    None => assert!(!byte.is_ascii() || (set, byte) == (Swe7, 0x7F)),
                }
            }
            assert_eq!(set.encode(0x4E2D), None);
        }
        assert_eq!(Cp1251.decode(0xC0), Some(0x410));
        assert_eq!(Koi8r.encode(0x410), Some(0xE1));
        assert_eq!((Latin2.to_upper(0xB1), Latin2.to_lower(0xA1)), (0xA1, 0xB1), "ą");
    }
}
