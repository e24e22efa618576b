//! Character sets: where characters begin and end, and how to get from one set to another.

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
}

impl Charset {
    /// All, in the order of their names.
    pub const ALL: [Charset; 5] =
        [Charset::Ascii, Charset::Binary, Charset::Latin1, Charset::Utf8mb3, Charset::Utf8mb4];

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
        }
    }

    /// As SHOW CHARACTER SET shows it.
    pub const fn description(self) -> &'static str {
        match self {
            Charset::Utf8mb4 | Charset::Utf8mb3 => "UTF-8 Unicode",
            Charset::Latin1 => "cp1252 West European",
            Charset::Ascii => "US ASCII",
            Charset::Binary => "Binary pseudo charset",
        }
    }

    /// The most bytes that a character takes: 4, 3 or 1.
    #[inline]
    pub const fn bytes_max(self) -> u8 {
        match self {
            Charset::Utf8mb4 => 4,
            Charset::Utf8mb3 => 3,
            Charset::Latin1 | Charset::Ascii | Charset::Binary => 1,
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
        }
    }

    #[inline]
    const fn is_utf8(self) -> bool {
        matches!(self, Charset::Utf8mb4 | Charset::Utf8mb3)
    }

    /// The number of characters. In UTF-8 one begins at every byte that does not continue one.
    #[inline]
    pub fn char_count(self, text: &[u8]) -> usize {
        if self.is_utf8() { utf8::char_count(text) } else { text.len() }
    }

    /// The byte offset of character `index`, or the length if there are fewer.
    #[inline]
    pub fn offset_of_char(self, text: &[u8], index: usize) -> usize {
        if self.is_utf8() { utf8::offset_of_char(text, index) } else { index.min(text.len()) }
    }

    /// The bytes of at most `count` characters from character `start` on.
    pub fn substring(self, text: &[u8], start: usize, count: usize) -> &[u8] {
        let rest = &text[self.offset_of_char(text, start)..];
        &rest[..self.offset_of_char(rest, count)]
    }

    /// The length of the longest well-formed prefix; `text.len()` when all is well.
    pub fn well_formed_prefix(self, text: &[u8]) -> usize {
        match self {
            Charset::Utf8mb4 | Charset::Utf8mb3 => utf8::well_formed_prefix(text, self.bytes_max()),
            Charset::Ascii => text.iter().position(|byte| !byte.is_ascii()).unwrap_or(text.len()),
            Charset::Latin1 | Charset::Binary => text.len(),
        }
    }

    #[inline]
    pub fn is_well_formed(self, text: &[u8]) -> bool {
        self.well_formed_prefix(text) == text.len()
    }

    /// The code point at the start of `text` and its length; None at the end or where the text is ill-formed. A byte of
    /// `binary` is its own number.
    #[inline]
    pub fn decode_char(self, text: &[u8]) -> Option<(u32, usize)> {
        let first = *text.first()?;
        match self {
            Charset::Utf8mb4 => utf8::decode(text),
            Charset::Utf8mb3 => utf8::decode(text).filter(|(_, length)| *length <= 3),
            Charset::Latin1 => Some((latin1::decode(first), 1)),
            Charset::Ascii => first.is_ascii().then_some((u32::from(first), 1)),
            Charset::Binary => Some((u32::from(first), 1)),
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
        };
        out.extend(byte);
        byte.is_some()
    }

    /// Appends the text in upper case.
    pub fn upper(self, text: &[u8], out: &mut Vec<u8>) {
        match self {
            Charset::Utf8mb4 | Charset::Utf8mb3 => {
                map_utf8(text, |byte| byte.to_ascii_uppercase(), unicode::to_upper, out)
            }
            Charset::Latin1 => out.extend(text.iter().map(|byte| latin1::to_upper(*byte))),
            Charset::Ascii => out.extend(text.iter().map(u8::to_ascii_uppercase)),
            Charset::Binary => out.extend_from_slice(text),
        }
    }

    /// Appends the text in lower case.
    pub fn lower(self, text: &[u8], out: &mut Vec<u8>) {
        match self {
            Charset::Utf8mb4 | Charset::Utf8mb3 => {
                map_utf8(text, |byte| byte.to_ascii_lowercase(), unicode::to_lower, out)
            }
            Charset::Latin1 => out.extend(text.iter().map(|byte| latin1::to_lower(*byte))),
            Charset::Ascii => out.extend(text.iter().map(u8::to_ascii_lowercase)),
            Charset::Binary => out.extend_from_slice(text),
        }
    }

    /// Whether all texts of this set have the same bytes in `to`, so that they need no conversion. To and from `binary`
    /// bytes are never changed.
    pub fn converts_verbatim(self, to: Charset) -> bool {
        use Charset::{Ascii, Binary, Latin1, Utf8mb3, Utf8mb4};
        self == to
            || matches!(
                (self, to),
                (Binary, _) | (_, Binary) | (Ascii, Utf8mb4 | Utf8mb3 | Latin1) | (Utf8mb3, Utf8mb4)
            )
    }
}

fn map_utf8(text: &[u8], ascii: impl Fn(&u8) -> u8, map: impl Fn(u32) -> u32, out: &mut Vec<u8>) {
    let mut rest = text;
    while !rest.is_empty() {
        let plain = rest.iter().take_while(|byte| byte.is_ascii()).count();
        out.extend(rest[..plain].iter().map(&ascii));
        rest = &rest[plain..];
        match utf8::decode(rest) {
            Some((code_point, length)) => {
                utf8::encode(map(code_point), out);
                rest = &rest[length..];
            }
            None => {
                // The end, or a byte that is no character: it stays.
                out.extend(rest.first());
                rest = rest.get(1..).unwrap_or(&[]);
            }
        }
    }
}

/// Appends `text` in another character set. What `to` does not have, and what is ill-formed, becomes `?`; false if that
/// happened.
pub fn convert(text: &[u8], from: Charset, to: Charset, out: &mut Vec<u8>) -> bool {
    if from.converts_verbatim(to) {
        out.extend_from_slice(text);
        return true;
    }
    let mut rest = text;
    let mut lossless = true;
    loop {
        let plain = rest.iter().take_while(|byte| byte.is_ascii()).count();
        out.extend_from_slice(&rest[..plain]);
        rest = &rest[plain..];
        if rest.is_empty() {
            return lossless;
        }
        let length = match from.decode_char(rest) {
            Some((code_point, length)) if to.encode_char(code_point, out) => length,
            found => {
                out.push(b'?');
                lossless = false;
                found.map_or(1, |(_, length)| length)
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
        assert_eq!(Charset::by_name("koi8r"), None);
    }
}
