//! Character sets: where characters begin and end, and how to get from one set to another.

use std::borrow::Cow;

use super::multibyte::Multibyte;
use super::single::Single;
use super::unicode::NO_CHARACTER;
use super::wide::Wide;
use super::{CollationId, latin1, unicode, utf8};

/// A character set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Charset {
    Utf8mb4,
    /// UTF-8 with at most three bytes.
    Utf8mb3,
    /// MySQL's latin1, which is Windows code page 1252.
    Latin1,
    Ascii,
    /// Bytes that are no characters.
    Binary,
    /// One byte for each character.
    Single(Single),
    /// Those of East Asia.
    Multi(Multibyte),
    /// Units of two or four bytes.
    Wide(Wide),
}

impl Charset {
    /// All, in the order of their names.
    #[rustfmt::skip]
    pub const ALL: [Charset; 40] = {
        use {Multibyte::*, Single::*, Wide::*};
        [
            Charset::Single(Armscii8), Charset::Ascii, Charset::Multi(Big5), Charset::Binary, Charset::Single(Cp1250),
            Charset::Single(Cp1251), Charset::Single(Cp1256), Charset::Single(Cp1257), Charset::Single(Cp850),
            Charset::Single(Cp852), Charset::Single(Cp866), Charset::Multi(Cp932), Charset::Single(Dec8),
            Charset::Multi(Eucjpms), Charset::Multi(Euckr), Charset::Multi(Gb2312), Charset::Multi(Gbk),
            Charset::Single(Geostd8), Charset::Single(Greek), Charset::Single(Hebrew), Charset::Single(Hp8),
            Charset::Single(Keybcs2), Charset::Single(Koi8r), Charset::Single(Koi8u), Charset::Latin1,
            Charset::Single(Latin2), Charset::Single(Latin5), Charset::Single(Latin7), Charset::Single(Macce),
            Charset::Single(Macroman), Charset::Multi(Sjis), Charset::Single(Swe7), Charset::Single(Tis620),
            Charset::Wide(Ucs2), Charset::Multi(Ujis), Charset::Wide(Utf16), Charset::Wide(Utf16le), Charset::Wide(Utf32),
            Charset::Utf8mb3, Charset::Utf8mb4,
        ]
    };

    /// By MySQL's name, any case; `utf8` is utf8mb3.
    pub fn by_name(name: &str) -> Option<Charset> {
        if name.eq_ignore_ascii_case("utf8") {
            return Some(Charset::Utf8mb3);
        }
        Charset::ALL.into_iter().find(|charset| charset.name().eq_ignore_ascii_case(name))
    }

    pub const fn name(self) -> &'static str {
        match self {
            Charset::Utf8mb4 => "utf8mb4",
            Charset::Utf8mb3 => "utf8mb3",
            Charset::Latin1 => "latin1",
            Charset::Ascii => "ascii",
            Charset::Binary => "binary",
            Charset::Single(set) => set.described().0,
            Charset::Multi(set) => set.described().0,
            Charset::Wide(set) => set.described().0,
        }
    }

    /// As SHOW CHARACTER SET shows it.
    pub const fn description(self) -> &'static str {
        match self {
            Charset::Utf8mb4 | Charset::Utf8mb3 => "UTF-8 Unicode",
            Charset::Latin1 => "cp1252 West European",
            Charset::Ascii => "US ASCII",
            Charset::Binary => "Binary pseudo charset",
            Charset::Single(set) => set.described().1,
            Charset::Multi(set) => set.described().1,
            Charset::Wide(set) => set.described().1,
        }
    }

    /// The most bytes that a character takes.
    #[inline]
    pub const fn bytes_max(self) -> u8 {
        match self {
            Charset::Utf8mb4 => 4,
            Charset::Utf8mb3 => 3,
            Charset::Latin1 | Charset::Ascii | Charset::Binary | Charset::Single(_) => 1,
            Charset::Multi(set) => set.bytes_max(),
            Charset::Wide(set) => set.bytes_max(),
        }
    }

    /// The fewest bytes that a character takes.
    #[inline]
    pub const fn bytes_min(self) -> u8 {
        match self {
            Charset::Wide(set) => set.unit() as u8,
            _ => 1,
        }
    }

    /// Whether characters have two bytes or more, ASCII's too: a text in such a set is no number and no date until it is
    /// converted.
    #[inline]
    pub const fn is_wide(self) -> bool {
        matches!(self, Charset::Wide(_))
    }

    /// The bytes of a space.
    #[inline]
    pub const fn space(self) -> &'static [u8] {
        match self {
            Charset::Wide(set) => set.space(),
            _ => b" ",
        }
    }

    /// A text without the spaces at its end.
    #[inline]
    pub fn without_spaces(self, text: &[u8]) -> &[u8] {
        match self {
            Charset::Wide(set) => set.without_spaces(text),
            _ => super::without_spaces(text),
        }
    }

    /// Makes a text longer by so many spaces.
    pub fn push_spaces(self, count: usize, out: &mut Vec<u8>) {
        match self {
            Charset::Wide(set) => (0..count).for_each(|_| out.extend_from_slice(set.space())),
            _ => out.resize(out.len() + count, b' '),
        }
    }

    /// The parts of a text between characters of ASCII that part them.
    pub fn split(self, text: &[u8], separator: u8) -> impl Iterator<Item = &[u8]> {
        let mut rest = Some(text);
        std::iter::from_fn(move || {
            let part = rest?;
            let mut at = match self.hides_ascii() {
                false => part.iter().position(|byte| *byte == separator).unwrap_or(part.len()),
                true => 0,
            };
            while at < part.len() {
                match self.decode_char(&part[at..]) {
                    Some((code, length)) if code == u32::from(separator) => {
                        rest = Some(&part[at + length..]);
                        return Some(&part[..at]);
                    }
                    _ => at += self.char_bytes(&part[at..]),
                }
            }
            rest = None;
            Some(part)
        })
    }

    /// The zeros that bytes which are no text yet get in front to become whole units.
    #[inline]
    pub fn missing_zeros(self, bytes: &[u8]) -> usize {
        bytes.len().next_multiple_of(usize::from(self.bytes_min())) - bytes.len()
    }

    /// The default collation where a session says which one utf8mb4 stands for (`default_collation_for_utf8mb4`).
    pub const fn collation_given(self, utf8mb4: CollationId) -> CollationId {
        match self {
            Charset::Utf8mb4 => utf8mb4,
            other => other.default_collation(),
        }
    }

    /// What the character set means when no collation is named.
    pub const fn default_collation(self) -> CollationId {
        match self {
            Charset::Utf8mb4 => CollationId::UTF8MB4_GENERAL_CI,
            Charset::Utf8mb3 => CollationId::UTF8MB3_GENERAL_CI,
            Charset::Latin1 => CollationId::LATIN1_SWEDISH_CI,
            Charset::Ascii => CollationId::ASCII_GENERAL_CI,
            Charset::Binary => CollationId::BINARY,
            Charset::Single(set) => CollationId(set.described().2),
            Charset::Multi(set) => CollationId(set.described().2),
            Charset::Wide(set) => CollationId(set.described().2),
        }
    }

    /// The collation that compares bytes.
    pub const fn bin_collation(self) -> CollationId {
        match self {
            Charset::Utf8mb4 => CollationId::UTF8MB4_BIN,
            Charset::Utf8mb3 => CollationId::UTF8MB3_BIN,
            Charset::Latin1 => CollationId::LATIN1_BIN,
            Charset::Ascii => CollationId::ASCII_BIN,
            Charset::Binary => CollationId::BINARY,
            Charset::Single(set) => CollationId(set.described().3),
            Charset::Multi(set) => CollationId(set.described().3),
            Charset::Wide(set) => CollationId(set.described().3),
        }
    }

    /// Whether a byte of a character may look like ASCII, so that a backslash or a quote is not always one.
    #[inline]
    pub const fn hides_ascii(self) -> bool {
        match self {
            Charset::Multi(set) => set.hides_ascii(),
            Charset::Wide(_) | Charset::Single(Single::Swe7) => true,
            _ => false,
        }
    }

    /// Whether ASCII is the same bytes as in Unicode. In sjis the byte of the backslash is that of another character for
    /// what comes from Unicode, and in swe7 those of brackets are letters.
    #[inline]
    pub const fn keeps_ascii(self) -> bool {
        !matches!(self, Charset::Multi(Multibyte::Sjis) | Charset::Single(Single::Swe7) | Charset::Wide(_))
    }

    /// The number of characters. In UTF-8 one begins at every byte that does not continue one.
    #[inline]
    pub fn char_count(self, text: &[u8]) -> usize {
        match self {
            Charset::Utf8mb4 | Charset::Utf8mb3 => utf8::char_count(text),
            Charset::Multi(set) => set.char_count(text),
            Charset::Wide(set) => set.char_count(text),
            _ => text.len(),
        }
    }

    /// The byte offset of character `index`, or the length if there are fewer.
    #[inline]
    pub fn offset_of_char(self, text: &[u8], index: usize) -> usize {
        match self {
            Charset::Utf8mb4 | Charset::Utf8mb3 => utf8::offset_of_char(text, index),
            Charset::Multi(set) => set.offset_of_char(text, index),
            Charset::Wide(set) => set.offset_of_char(text, index),
            _ => index.min(text.len()),
        }
    }

    /// The bytes of at most `count` characters from character `start` on.
    pub fn substring(self, text: &[u8], start: usize, count: usize) -> &[u8] {
        let rest = &text[self.offset_of_char(text, start)..];
        &rest[..self.offset_of_char(rest, count)]
    }

    /// Whether a character begins at a byte of a well-formed text.
    #[inline]
    pub fn is_char_start(self, text: &[u8], at: usize) -> bool {
        match self {
            Charset::Utf8mb4 | Charset::Utf8mb3 => text.get(at).is_none_or(|byte| !utf8::is_continuation(*byte)),
            Charset::Multi(set) => set.char_start(text, at) == at,
            Charset::Wide(set) => set.char_start(text, at) == at,
            _ => true,
        }
    }

    /// The length of the longest well-formed prefix; `text.len()` when all is well.
    pub fn well_formed_prefix(self, text: &[u8]) -> usize {
        match self {
            Charset::Utf8mb4 | Charset::Utf8mb3 => utf8::well_formed_prefix(text, self.bytes_max()),
            Charset::Ascii => text.iter().position(|byte| !byte.is_ascii()).unwrap_or(text.len()),
            Charset::Latin1 | Charset::Binary | Charset::Single(_) => text.len(),
            Charset::Multi(set) => set.well_formed_prefix(text),
            Charset::Wide(set) => set.well_formed_prefix(text),
        }
    }

    #[inline]
    pub fn is_well_formed(self, text: &[u8]) -> bool {
        self.well_formed_prefix(text) == text.len()
    }

    /// The code point at the start of `text` and its length; None at the end or where the text is ill-formed. A byte of
    /// `binary` is its own number. What is well-formed but no character is [`NO_CHARACTER`].
    #[inline]
    pub fn decode_char(self, text: &[u8]) -> Option<(u32, usize)> {
        let first = *text.first()?;
        match self {
            Charset::Utf8mb4 => utf8::decode(text),
            Charset::Utf8mb3 => utf8::decode(text).filter(|(_, length)| *length <= 3),
            Charset::Latin1 => Some((latin1::decode(first), 1)),
            Charset::Ascii => first.is_ascii().then_some((u32::from(first), 1)),
            Charset::Binary => Some((u32::from(first), 1)),
            Charset::Single(set) => Some((set.decode(first).unwrap_or(NO_CHARACTER), 1)),
            Charset::Multi(set) => set.decode(text),
            Charset::Wide(set) => set.decode(text),
        }
    }

    /// The bytes of the first character of a text that is not empty; 1 where it is ill-formed.
    #[inline]
    pub fn char_bytes(self, text: &[u8]) -> usize {
        match self {
            Charset::Utf8mb4 | Charset::Utf8mb3 => utf8::decode(text).map_or(1, |(_, length)| length),
            Charset::Multi(set) => set.step(text),
            Charset::Wide(set) => set.step(text),
            _ => 1,
        }
    }

    /// Appends a code point; false, with nothing appended, if the character set does not have it.
    #[inline]
    pub fn encode_char(self, code_point: u32, out: &mut Vec<u8>) -> bool {
        let byte = match self {
            Charset::Utf8mb4 => return utf8::encode(code_point, out),
            Charset::Utf8mb3 => return code_point <= 0xFFFF && utf8::encode(code_point, out),
            Charset::Latin1 => latin1::encode(code_point),
            Charset::Ascii => u8::try_from(code_point).ok().filter(u8::is_ascii),
            Charset::Binary => u8::try_from(code_point).ok(),
            Charset::Single(set) => set.encode(code_point),
            Charset::Multi(set) => return set.encode(code_point, out),
            Charset::Wide(set) => return set.encode(code_point, out),
        };
        out.extend(byte);
        byte.is_some()
    }

    /// Appends the text in upper case.
    pub fn upper(self, text: &[u8], out: &mut Vec<u8>) {
        match self {
            Charset::Utf8mb4 | Charset::Utf8mb3 => map_utf8(text, unicode::to_upper, out),
            Charset::Latin1 => out.extend(text.iter().map(|byte| latin1::to_upper(*byte))),
            Charset::Ascii => out.extend(text.iter().map(u8::to_ascii_uppercase)),
            Charset::Single(set) => out.extend(text.iter().map(|byte| set.to_upper(*byte))),
            Charset::Multi(set) => set.change_case(text, true, out),
            Charset::Wide(set) => set.map(text, unicode::to_upper, out),
            Charset::Binary => out.extend_from_slice(text),
        }
    }

    /// Appends the text in lower case.
    pub fn lower(self, text: &[u8], out: &mut Vec<u8>) {
        match self {
            Charset::Utf8mb4 | Charset::Utf8mb3 => map_utf8(text, unicode::to_lower, out),
            Charset::Latin1 => out.extend(text.iter().map(|byte| latin1::to_lower(*byte))),
            Charset::Ascii => out.extend(text.iter().map(u8::to_ascii_lowercase)),
            Charset::Single(set) => out.extend(text.iter().map(|byte| set.to_lower(*byte))),
            Charset::Multi(set) => set.change_case(text, false, out),
            Charset::Wide(set) => set.map(text, unicode::to_lower, out),
            Charset::Binary => out.extend_from_slice(text),
        }
    }

    /// Whether all texts of this set have the same bytes in `to`, so that they need no conversion. To and from `binary`
    /// bytes are never changed.
    pub fn converts_verbatim(self, to: Charset) -> bool {
        use Charset::{Ascii, Binary, Utf8mb3, Utf8mb4};
        self == to
            || matches!((self, to), (Binary, _) | (_, Binary) | (Utf8mb3, Utf8mb4))
            || self == Ascii && to.keeps_ascii()
    }

    /// Whether this text has the same bytes in `to`, as ASCII has in most sets.
    #[inline]
    pub fn has_same_bytes(self, text: &[u8], to: Charset) -> bool {
        self == to || to == Charset::Binary || self.keeps_ascii() && to.keeps_ascii() && text.is_ascii()
    }
}

/// Appends a text with each character mapped; bytes that are none stay.
pub(super) fn map_utf8(text: &[u8], map: impl Fn(u32) -> u32, out: &mut Vec<u8>) {
    let mut rest = text;
    while let Some(first) = rest.first() {
        let taken = match utf8::decode(rest) {
            Some((code_point, length)) => {
                match map(code_point) {
                    ascii @ 0..0x80 => out.push(ascii as u8),
                    other => {
                        utf8::encode(other, out);
                    }
                }
                length
            }
            None => {
                out.push(*first);
                1
            }
        };
        rest = &rest[taken..];
    }
}

/// A text of our own in a character set of the client's; `None`: in UTF-8.
pub fn in_charset(text: &str, charset: Option<Charset>) -> Cow<'_, [u8]> {
    match charset {
        Some(charset) if !Charset::Utf8mb4.has_same_bytes(text.as_bytes(), charset) => {
            let mut out = Vec::with_capacity(text.len());
            convert(text.as_bytes(), Charset::Utf8mb4, charset, &mut out);
            Cow::Owned(out)
        }
        _ => Cow::Borrowed(text.as_bytes()),
    }
}

/// Appends `text` in another character set. What `to` does not have, and what is ill-formed, becomes `?`; false if that
/// happened. Bytes that are no text get zeros in front where `to` has units of several bytes.
pub fn convert(text: &[u8], from: Charset, to: Charset, out: &mut Vec<u8>) -> bool {
    if from.converts_verbatim(to) {
        if from == Charset::Binary {
            out.resize(out.len() + to.missing_zeros(text), 0);
        }
        out.extend_from_slice(text);
        return true;
    }
    let mut rest = text;
    let mut lossless = true;
    let is_plain = from.keeps_ascii() && to.keeps_ascii();
    loop {
        let plain = if is_plain { rest.iter().take_while(|byte| byte.is_ascii()).count() } else { 0 };
        out.extend_from_slice(&rest[..plain]);
        rest = &rest[plain..];
        if rest.is_empty() {
            return lossless;
        }
        let length = match from.decode_char(rest) {
            Some((code_point, length)) if to.encode_char(code_point, out) => length,
            found => {
                to.encode_char(b'?'.into(), out);
                lossless = false;
                found.map_or_else(|| from.char_bytes(rest), |(_, length)| length)
            }
        };
        rest = &rest[length..];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn converted(text: &[u8], from: Charset, to: Charset) -> (Vec<u8>, bool) {
        let mut out = Vec::new();
        let lossless = convert(text, from, to, &mut out);
        (out, lossless)
    }

    #[test]
    fn conversions() {
        use Charset::*;
        assert_eq!(converted("a€é".as_bytes(), Utf8mb4, Latin1), (b"a\x80\xE9".to_vec(), true));
        assert_eq!(converted(b"a\x80\xE9", Latin1, Utf8mb4), ("a€é".into(), true));
        assert_eq!(converted("中a😀".as_bytes(), Utf8mb4, Latin1), (b"?a?".to_vec(), false));
        assert_eq!(converted("é😀".as_bytes(), Utf8mb4, Utf8mb3), ("é?".into(), false));
        assert_eq!(converted(b"a\xFFb", Ascii, Utf8mb4), (b"a\xFFb".to_vec(), true));
        assert_eq!(converted(b"\xC3", Utf8mb4, Latin1), (b"?".to_vec(), false));
        assert_eq!(converted(b"\xC3\xFF", Binary, Utf8mb4), (b"\xC3\xFF".to_vec(), true));
        assert_eq!(converted("é".as_bytes(), Utf8mb4, Ascii), (b"?".to_vec(), false));
        let (gbk, sjis) = (Multi(Multibyte::Gbk), Multi(Multibyte::Sjis));
        assert_eq!(converted("a中é".as_bytes(), Utf8mb4, gbk), (b"a\xD6\xD0\xA8\xA6".to_vec(), true));
        assert_eq!(converted(b"a\xD6\xD0\x80", gbk, Utf8mb4), ("a中?".into(), false));
        assert_eq!(converted(b"\x83\x5C", sjis, Utf8mb4), ("ソ".into(), true));
        assert_eq!(converted(b"\\", Utf8mb4, sjis), (b"\x81\x5F".to_vec(), true));
        let (cyrillic, greek) = (Single(super::Single::Cp1251), Single(super::Single::Greek));
        assert_eq!(converted(b"\xC0", cyrillic, Utf8mb4), ("А".into(), true));
        assert_eq!(converted("Αж".as_bytes(), Utf8mb4, greek), (b"\xC1?".to_vec(), false));
        assert_eq!(converted(b"\x98", cyrillic, Utf8mb4), (b"?".to_vec(), false), "no character");
        let [ucs2, utf16, utf32] = [super::Wide::Ucs2, super::Wide::Utf16, super::Wide::Utf32].map(Wide);
        assert_eq!(converted("a😀".as_bytes(), Utf8mb4, utf16), (b"\0a\xD8\x3D\xDE\0".to_vec(), true));
        assert_eq!(converted("a😀".as_bytes(), Utf8mb4, ucs2), (b"\0a\0?".to_vec(), false));
        assert_eq!(converted(b"\0a\xD8\0\0b", utf16, Utf8mb4), (b"a?b".to_vec(), false), "half of a pair");
        assert_eq!(converted(b"a", Ascii, utf32), (b"\0\0\0a".to_vec(), true));
        assert_eq!(converted(b"\0\0\0a", utf32, utf16), (b"\0a".to_vec(), true));
        assert_eq!(converted(b"abc", Binary, ucs2), (b"\0abc".to_vec(), true));
    }

    #[test]
    fn characters() {
        let text = "aé中😀b".as_bytes();
        assert_eq!(Charset::Utf8mb4.char_count(text), 5);
        assert_eq!(Charset::Binary.char_count(text), 11);
        assert_eq!(Charset::Utf8mb4.substring(text, 1, 2), "é中".as_bytes());
        assert_eq!(Charset::Utf8mb4.substring(text, 4, 10), b"b");
        assert_eq!(Charset::Utf8mb4.substring(text, 9, 1), b"");
        assert!(!Charset::Utf8mb3.is_well_formed(text));
        assert_eq!(Charset::Ascii.well_formed_prefix(text), 1);
    }

    #[test]
    fn cases() {
        let upper = |charset: Charset, text: &[u8]| {
            let mut out = Vec::new();
            charset.upper(text, &mut out);
            out
        };
        assert_eq!(upper(Charset::Utf8mb4, "straße ıéя😀".as_bytes()), "STRAßE IÉЯ😀".as_bytes());
        assert_eq!(upper(Charset::Latin1, b"\xE9\xFF\xF7\x9A"), b"\xC9\xFF\xF7\x9A");
        let mut lower = Vec::new();
        Charset::Utf8mb4.lower("İÉA\u{1E9E}".as_bytes(), &mut lower);
        assert_eq!(lower, "iéa\u{1E9E}".as_bytes());
    }

    #[test]
    fn names() {
        for charset in Charset::ALL {
            assert_eq!(Charset::by_name(&charset.name().to_uppercase()), Some(charset));
        }
        assert_eq!(Charset::by_name("UTF8"), Some(Charset::Utf8mb3));
        assert_eq!(Charset::by_name("koi8r"), Some(Charset::Single(Single::Koi8r)));
        assert_eq!(Charset::by_name("gb18030"), None);
        assert!(Charset::ALL.is_sorted_by_key(|charset| charset.name()));
    }
}
