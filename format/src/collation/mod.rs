//! Character sets and collations.

use std::cmp::Ordering;
use std::fmt;

/// A collation by MySQL's number, as it stands in the dictionary and on the wire.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CollationId(pub u16);

impl CollationId {
    pub const LATIN1_SWEDISH_CI: CollationId = CollationId(8);
    pub const ASCII_GENERAL_CI: CollationId = CollationId(11);
    pub const UTF8MB3_GENERAL_CI: CollationId = CollationId(33);
    pub const UTF8MB4_GENERAL_CI: CollationId = CollationId(45);
    pub const UTF8MB4_BIN: CollationId = CollationId(46);
    pub const LATIN1_BIN: CollationId = CollationId(47);
    pub const LATIN1_GENERAL_CI: CollationId = CollationId(48);
    pub const BINARY: CollationId = CollationId(63);
    pub const ASCII_BIN: CollationId = CollationId(65);
    pub const UTF8MB3_BIN: CollationId = CollationId(83);
    pub const UTF8MB4_UNICODE_CI: CollationId = CollationId(224);
    pub const UTF8MB4_0900_AI_CI: CollationId = CollationId(255);
    /// What a new database has unless it says otherwise.
    pub const DEFAULT: CollationId = CollationId::UTF8MB4_GENERAL_CI;
}

impl fmt::Debug for CollationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CollationId({})", self.0)
    }
}

impl fmt::Display for CollationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// A character set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Charset {
    Utf8mb4,
    Utf8mb3,
    /// MySQL's latin1, which is Windows code page 1252.
    Latin1,
    Ascii,
    Binary,
}

impl Charset {
    pub const ALL: [Charset; 5] =
        [Charset::Utf8mb4, Charset::Utf8mb3, Charset::Latin1, Charset::Ascii, Charset::Binary];

    /// By MySQL's name, any case; `utf8` is utf8mb3.
    pub fn by_name(_name: &str) -> Option<Charset> {
        todo!()
    }
    pub const fn name(self) -> &'static str {
        todo!()
    }
    pub const fn description(self) -> &'static str {
        todo!()
    }
    /// The most bytes a character takes: 4, 3 or 1.
    pub const fn bytes_max(self) -> u8 {
        todo!()
    }
    pub fn default_collation(self) -> CollationId {
        todo!()
    }
    pub fn bin_collation(self) -> CollationId {
        todo!()
    }
    /// The number of characters. Ill-formed bytes count as one each.
    pub fn char_count(self, _text: &[u8]) -> usize {
        todo!()
    }
    /// The byte offset of character `index`, or the length when there are fewer.
    pub fn offset_of_char(self, _text: &[u8], _index: usize) -> usize {
        todo!()
    }
    /// The bytes of at most `count` characters from character `start`.
    pub fn substring(self, _text: &[u8], _start: usize, _count: usize) -> &[u8] {
        todo!()
    }
    /// The length of the longest well-formed prefix; `text.len()` when all is well.
    pub fn well_formed_prefix(self, _text: &[u8]) -> usize {
        todo!()
    }
    pub fn is_well_formed(self, text: &[u8]) -> bool {
        self.well_formed_prefix(text) == text.len()
    }
    /// The code point at the start of `text` and its length in bytes; None at the end or if ill-formed.
    pub fn decode_char(self, _text: &[u8]) -> Option<(u32, usize)> {
        todo!()
    }
    /// Appends a code point; false if the character set does not have it (nothing is appended).
    pub fn encode_char(self, _code_point: u32, _out: &mut Vec<u8>) -> bool {
        todo!()
    }
    pub fn upper(self, _text: &[u8], _out: &mut Vec<u8>) {
        todo!()
    }
    pub fn lower(self, _text: &[u8], _out: &mut Vec<u8>) {
        todo!()
    }
    /// Whether any bytes of `self` are bytes of `to` with the same meaning, so that no conversion is needed.
    pub fn converts_verbatim(self, _to: Charset) -> bool {
        todo!()
    }
}

/// Appends `text` in another character set. What cannot be represented or is ill-formed becomes `?`; the
/// result is false if that happened.
pub fn convert(_text: &[u8], _from: Charset, _to: Charset, _out: &mut Vec<u8>) -> bool {
    todo!()
}

/// A collation: how the texts of a character set compare.
#[derive(Debug)]
pub struct Collation {
    pub id: CollationId,
    pub name: &'static str,
    pub charset: Charset,
    /// Whether it is what its character set means when no collation is named.
    pub is_default: bool,
    /// Whether trailing spaces do not count: `PAD SPACE`. All but `binary`.
    pub pad_space: bool,
    /// Whether columns can have it. Others are names that a connection may ask for.
    pub is_stored: bool,
}

/// The collation of an id known to be good: from our dictionary or a constant. Panics on others.
#[inline]
pub fn collation(_id: CollationId) -> &'static Collation {
    todo!()
}

/// All collations, in the order of their ids.
pub fn collations() -> &'static [Collation] {
    todo!()
}

impl Collation {
    pub fn by_id(_id: CollationId) -> Option<&'static Collation> {
        todo!()
    }
    /// By name, any case; `utf8_general_ci` and `utf8_bin` are names too.
    pub fn by_name(_name: &str) -> Option<&'static Collation> {
        todo!()
    }
    pub fn is_binary(&self) -> bool {
        self.id == CollationId::BINARY
    }
    /// Whether equal texts have equal bytes, but for trailing spaces.
    pub fn is_bytewise(&self) -> bool {
        todo!()
    }
    pub fn compare(&self, _a: &[u8], _b: &[u8]) -> Ordering {
        todo!()
    }
    pub fn equal(&self, a: &[u8], b: &[u8]) -> bool {
        self.compare(a, b) == Ordering::Equal
    }
    /// Equal texts have equal hashes.
    pub fn hash(&self, _text: &[u8]) -> u64 {
        todo!()
    }
    /// Appends bytes that compare with memcmp as the texts compare.
    pub fn sort_key(&self, _text: &[u8], _out: &mut Vec<u8>) {
        todo!()
    }
    /// SQL's LIKE. `escape` is a code point; None when there is no escape character.
    pub fn like(&self, _text: &[u8], _pattern: &[u8], _escape: Option<u32>) -> bool {
        todo!()
    }
    /// The byte offset of the first place at or after byte `from` where `needle` is found.
    pub fn find(&self, _text: &[u8], _needle: &[u8], _from: usize) -> Option<usize> {
        todo!()
    }
}
