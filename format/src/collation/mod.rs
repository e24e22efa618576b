//! Character sets and collations: which characters bytes are, and how texts compare.
//!
//! This belongs to the format, since the order of texts is part of every index on disk: were a weight to change, rows
//! would be where no search looks for them. So the weights here are MySQL's, letter by letter, and stay.
//!
//! A [`Charset`] knows characters: count them, cut them, convert them, change their case. A [`Collation`] belongs to a
//! character set and knows order. There are few families, and each is one alphabet of weights (`order.rs`):
//!
//! ```text
//! utf8mb4_general_ci, utf8mb3_general_ci     a character weighs as its base letter in upper case; unicode.rs
//! latin1_swedish_ci, latin1_general_ci,
//! latin1_general_cs, ascii_general_ci        a byte weighs by a table; latin1.rs
//! utf8mb4_unicode_ci, utf8mb3_unicode_ci,
//! utf8mb4_unicode_520_ci, utf8mb3_..._520_ci any number of weights each: Unicode's tables; uca.rs
//! utf8mb4_0900_ai_ci, _as_ci, _as_cs         the same, not padded; accents and case at levels of their own
//! utf8mb4_uca1400_ai_ci, _ai_cs and others   MariaDB's: padded, and yet with levels
//! utf8mb4_czech_ci, utf8mb4_cs_0900_ai_ci... the same as a language has them: rules on those tables, and for Chinese and
//!                                            Japanese an order of ideographs
//! cp1251_general_ci and others of one byte   a byte weighs by a table that a server has shown; single.rs
//! tis620_thai_ci                             vowels behind consonants, marks last; thai.rs
//! latin1_german2_ci                          ä weighs as ae, ß as ss; latin1.rs
//! gbk_chinese_ci and others of East Asia     characters of one to three bytes by tables; multibyte.rs
//! ucs2_general_ci, utf16_czech_ci and others
//! of ucs2, utf16, utf16le, utf32             the same weights of the same code points; wide.rs
//! utf8mb4_bin, utf8mb3_bin,
//! latin1_bin, ascii_bin, cp1251_bin...       bytes, padded
//! utf8mb4_0900_bin, binary                   bytes
//! ```
//!
//! All but `binary`, those of Unicode 9.0.0 and MariaDB's `nopad` ones are PAD SPACE: trailing spaces do not count, so `'a' = 'a  '`, and
//! `'a\t' < 'a'`. LIKE does not pad.
//!
//! Invariants, for every collation and every two texts:
//!
//! * `compare` is a total order; `hash` is the same for equal texts; sort keys order with memcmp as the texts do, and
//!   none is the beginning of another, so that they can be strung together.
//! * No bytes make a panic: what is ill-formed has some place in the order.
//!
//! Sources: the MySQL manual, "Character Sets, Collations, Unicode"; weights observed on a running server.

mod charset;
mod latin1;
mod like;
mod list;
mod multibyte;
mod order;
mod single;
mod thai;
mod uca;
mod unicode;
mod utf8;
mod wide;

use std::cmp::Ordering;
use std::fmt;

use list::{COLLATIONS, NOWHERE, PLACES};
use multibyte::Ordered;
use order::{Alphabet, Character, GeneralUtf8, OldUtf8, PlainBytes, PlainUtf8, SmallUtf8, Tabled, Weighed};
use uca::{Alike, Uca};
use wide::{GeneralWide, OldWide, PlainWide, Utf8};

pub use charset::{Charset, convert, in_charset};
pub use multibyte::Multibyte;
pub use order::without_spaces;
pub use unicode::NO_CHARACTER;
pub use wide::Wide;

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
    pub const LATIN1_GENERAL_CS: CollationId = CollationId(49);
    pub const BINARY: CollationId = CollationId(63);
    pub const ASCII_BIN: CollationId = CollationId(65);
    pub const UTF8MB3_TOLOWER_CI: CollationId = CollationId(76);
    pub const UTF8MB3_BIN: CollationId = CollationId(83);
    pub const UTF8MB3_UNICODE_CI: CollationId = CollationId(192);
    pub const UTF8MB3_UNICODE_520_CI: CollationId = CollationId(214);
    pub const UTF8MB4_UNICODE_CI: CollationId = CollationId(224);
    pub const UTF8MB4_UNICODE_520_CI: CollationId = CollationId(246);
    pub const UTF8MB4_0900_AI_CI: CollationId = CollationId(255);
    pub const UTF8MB4_0900_AS_CS: CollationId = CollationId(278);
    pub const UTF8MB4_0900_AS_CI: CollationId = CollationId(305);
    pub const UTF8MB4_0900_BIN: CollationId = CollationId(309);
    /// What a new database has unless it says otherwise.
    pub const DEFAULT: CollationId = CollationId::UTF8MB4_GENERAL_CI;
}

impl fmt::Debug for CollationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match Collation::by_id(*self) {
            Some(collation) => f.write_str(collation.name),
            None => write!(f, "CollationId({})", self.0),
        }
    }
}

impl fmt::Display for CollationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// The alphabet of a collation, and whether it pads.
#[derive(Clone, Copy, Debug)]
enum Rule {
    General,
    /// The same, not padded.
    GeneralUnpadded,
    /// Nearly the same, padded: ß is no s.
    OldUtf8,
    /// By the code points of small letters, padded.
    SmallUtf8,
    Table(&'static [u8; 256]),
    /// The same, where the space may weigh anything, and others as much.
    Tabled(&'static [u8; 256]),
    /// Other bytes, which come of a text's, padded.
    Rewritten(Rewriting),
    /// The characters of a set of several bytes, with what those of one weigh.
    Multi(&'static [u8; 256]),
    Unicode(&'static Uca),
    /// As `General`, `GeneralUnpadded` and `Unicode` are, in units of several bytes.
    GeneralWide(Wide),
    GeneralWideUnpadded(Wide),
    UnicodeWide(Wide, &'static Uca),
    /// Nearly as `GeneralWide`: ß is no s.
    OldWide(Wide),
    /// Code points, padded.
    BinWide(Wide),
    /// Code points, not padded.
    CodePointsWide(Wide),
    /// Bytes, padded; the characters are UTF-8.
    BinUtf8,
    /// Bytes, padded; the characters are bytes.
    BinBytes,
    /// Bytes, padded; the characters are those of a set of several bytes.
    BinMulti,
    /// Bytes, not padded; the characters are UTF-8.
    BytesUtf8,
    /// Bytes, not padded.
    Binary,
}

/// How the bytes that are compared come of a text's.
#[derive(Clone, Copy, Debug)]
enum Rewriting {
    /// Put into order.
    Thai,
    /// Some letters are two.
    German,
}

impl Rewriting {
    fn weights(self, text: &[u8]) -> Vec<u8> {
        match self {
            Rewriting::Thai => thai::weights(text),
            Rewriting::German => latin1::german2_weights(text),
        }
    }

    /// What bytes weigh to LIKE, which knows them one by one.
    fn alike(self) -> &'static [u8; 256] {
        match self {
            Rewriting::Thai => &thai::WITHOUT_CASE,
            Rewriting::German => &latin1::GERMAN2_ALIKE,
        }
    }

    /// Whether a byte may weigh as several.
    fn expands(self) -> bool {
        matches!(self, Rewriting::German)
    }
}

/// How the texts of a character set compare.
#[derive(Clone, Copy, Debug)]
pub struct Collation {
    pub id: CollationId,
    pub name: &'static str,
    pub charset: Charset,
    /// Whether it is what its character set means when no collation is named.
    pub is_default: bool,
    /// `PAD SPACE`: trailing spaces do not count.
    pub pad_space: bool,
    rule: Rule,
}

/// The collation of an id that is known to be good: of our dictionary, or a constant.
#[inline]
pub fn collation(id: CollationId) -> &'static Collation {
    match Collation::by_id(id) {
        Some(collation) => collation,
        None => panic!("collation {} was checked when it was read", id.0),
    }
}

/// All collations, in the order of their ids.
pub fn collations() -> &'static [Collation] {
    &COLLATIONS
}

impl Collation {
    #[inline]
    pub fn by_id(id: CollationId) -> Option<&'static Collation> {
        match PLACES.get(id.0 as usize) {
            None | Some(&NOWHERE) => None,
            Some(&place) => Some(&COLLATIONS[place as usize]),
        }
    }

    /// By name, any case; utf8 stands for utf8mb3.
    pub fn by_name(name: &str) -> Option<&'static Collation> {
        let is_old = name.get(..5).is_some_and(|start| start.eq_ignore_ascii_case("utf8_"));
        COLLATIONS.iter().find(|collation| match collation.name.strip_prefix("utf8mb3_") {
            Some(own) if is_old => own.eq_ignore_ascii_case(&name[5..]),
            _ => collation.name.eq_ignore_ascii_case(name),
        })
    }

    /// By name, where MariaDB's short names stand for the collation of a character set: `uca1400_ai_ci` is
    /// `utf8mb4_uca1400_ai_ci` in utf8mb4. A set that has none of that name gives None.
    pub fn by_name_in(name: &str, charset: Charset) -> Option<&'static Collation> {
        match Collation::is_short(name) {
            true => Collation::by_name(&format!("{}_{name}", charset.name())),
            false => Collation::by_name(name),
        }
    }

    /// Whether a name is one that stands for the collations of several character sets.
    pub fn is_short(name: &str) -> bool {
        let is_of_mariadb = name.get(..8).is_some_and(|start| start.eq_ignore_ascii_case("uca1400_"));
        is_of_mariadb && Collation::by_name(&format!("utf8mb4_{name}")).is_some()
    }

    /// Whether it is `binary`, which compares bytes and not characters.
    #[inline]
    pub fn is_binary(&self) -> bool {
        matches!(self.rule, Rule::Binary)
    }

    /// Whether texts are equal only if their bytes are, but for trailing spaces.
    #[inline]
    pub fn is_bytewise(&self) -> bool {
        use Rule::{BinBytes, BinMulti, BinUtf8, BinWide, Binary, BytesUtf8, CodePointsWide};
        matches!(self.rule, Binary | BytesUtf8 | BinBytes | BinMulti | BinUtf8 | BinWide(_) | CodePointsWide(_))
    }

    /// Whether letters of different case differ.
    pub fn is_case_sensitive(&self) -> bool {
        self.is_bytewise() || self.name.ends_with("_cs")
    }

    /// The alphabet of a set of several bytes.
    #[inline]
    fn multibyte(&self, one: Option<&'static [u8; 256]>) -> Ordered {
        match (self.charset, one) {
            (Charset::Multi(set), Some(one)) => Ordered::by(set, one),
            (Charset::Multi(set), None) => Ordered::by_bytes(set),
            _ => panic!("{}: its character set has several bytes", self.name),
        }
    }

    /// Whether i and ı are two letters, which differ in upper case, too.
    fn is_turkish(&self) -> bool {
        matches!(self.rule, Rule::Unicode(of) | Rule::UnicodeWide(_, of) if of.is_turkish())
    }

    /// Whether letters have the case of Unicode 14.0.0.
    fn has_latest_case(&self) -> bool {
        matches!(self.rule, Rule::Unicode(of) | Rule::UnicodeWide(_, of) if of.is_latest())
    }

    /// Maps the letters of Unicode 14.0.0, of which Turkish has one of its own.
    fn map_latest(&self, text: &[u8], (own, turkish): (u8, fn(u32) -> u32), latest: fn(u32) -> u32, out: &mut Vec<u8>) {
        let is_turkish = self.is_turkish();
        let map = |letter| match is_turkish && letter == u32::from(own) {
            true => turkish(letter),
            false => latest(letter),
        };
        match self.charset {
            Charset::Wide(set) => set.map(text, map, out),
            _ => charset::map_utf8(text, map, out),
        }
    }

    /// Letters have the case that Unicode gives them, but for these later ones. None: that of an older table.
    fn case_of_unicode(&self) -> Option<unicode::Later> {
        match self.rule {
            Rule::Unicode(of) | Rule::UnicodeWide(_, of) => of.case_of_unicode(),
            _ if self.id == CollationId::UTF8MB4_0900_BIN => Some(unicode::AFTER_9_0_0),
            _ => None,
        }
    }

    /// The collation of utf8mb4 that compares as this one does, where this one's characters have two bytes or more: what
    /// reads only ASCII and UTF-8 reads such texts when they are converted.
    pub fn in_utf8(&self) -> CollationId {
        if !self.charset.is_wide() {
            return self.id;
        }
        let suffix = self.name.strip_prefix(self.charset.name()).unwrap_or_default();
        let same = COLLATIONS
            .iter()
            .find(|known| known.charset == Charset::Utf8mb4 && known.name.strip_prefix("utf8mb4") == Some(suffix));
        same.map_or(CollationId::UTF8MB4_GENERAL_CI, |known| known.id)
    }

    /// Appends the text in upper case.
    pub fn upper(&self, text: &[u8], out: &mut Vec<u8>) {
        if self.has_latest_case() {
            return self.map_latest(text, (b'i', unicode::to_upper_turkish), unicode::to_upper_of_14_0_0, out);
        }
        match (self.is_turkish(), self.charset) {
            (true, Charset::Wide(set)) => set.map(text, unicode::to_upper_turkish, out),
            (true, _) => charset::map_utf8(text, unicode::to_upper_turkish, out),
            (false, charset) => match (self.case_of_unicode(), charset) {
                (Some(later), Charset::Wide(set)) => {
                    set.map(text, |letter| unicode::to_upper_of_unicode(letter, later), out)
                }
                (Some(later), _) => charset::map_utf8(text, |letter| unicode::to_upper_of_unicode(letter, later), out),
                (None, charset) => charset.upper(text, out),
            },
        }
    }

    /// Appends the text in lower case.
    pub fn lower(&self, text: &[u8], out: &mut Vec<u8>) {
        if self.has_latest_case() {
            return self.map_latest(text, (b'I', unicode::to_lower_turkish), unicode::to_lower_of_14_0_0, out);
        }
        match (self.is_turkish(), self.charset) {
            (true, Charset::Wide(set)) => set.map(text, unicode::to_lower_turkish, out),
            (true, _) => charset::map_utf8(text, unicode::to_lower_turkish, out),
            (false, charset) => match (self.case_of_unicode(), charset) {
                (Some(later), Charset::Wide(set)) => {
                    set.map(text, |letter| unicode::to_lower_of_unicode(letter, later), out)
                }
                (Some(later), _) => charset::map_utf8(text, |letter| unicode::to_lower_of_unicode(letter, later), out),
                (None, charset) => charset.lower(text, out),
            },
        }
    }

    /// Whether texts have the order of their beginnings. They do not where what differs at a further level counts only if
    /// nothing differs at the first one, and where characters weigh together with those behind them.
    pub fn orders_beginnings(&self) -> bool {
        match self.rule {
            Rule::Rewritten(Rewriting::Thai) => false,
            Rule::Unicode(of) | Rule::UnicodeWide(_, of) => of.levels() == 1 && !of.table().has_contractions(),
            _ => true,
        }
    }

    /// The bytes of the longest beginning of a LIKE's prefix that [`Collation::is_behind`] and the order of texts know:
    /// all of it, unless characters of it may weigh together with others.
    pub fn plain_prefix(&self, prefix: &[u8]) -> usize {
        match self.rule {
            Rule::Rewritten(Rewriting::Thai) => prefix.iter().position(|byte| !byte.is_ascii()).unwrap_or(prefix.len()),
            Rule::Unicode(of) => of.table().plain_prefix(Utf8, prefix),
            Rule::UnicodeWide(set, of) => of.table().plain_prefix(set, prefix),
            _ => prefix.len(),
        }
    }

    #[inline]
    pub fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        match self.rule {
            Rule::General => order::compare_padded(GeneralUtf8, a, b),
            Rule::GeneralUnpadded => order::compare_unpadded(GeneralUtf8, a, b),
            Rule::Table(weights) => order::compare_padded(Weighed(weights), a, b),
            Rule::Tabled(weights) => order::compare_padded(Tabled(weights), a, b),
            Rule::Multi(one) => order::compare_padded(self.multibyte(Some(one)), a, b),
            Rule::Unicode(of) => of.table().compare(Utf8, a, b),
            Rule::UnicodeWide(set, of) => of.table().compare(set, a, b),
            Rule::GeneralWide(set) => order::compare_padded(GeneralWide(set), a, b),
            Rule::GeneralWideUnpadded(set) => order::compare_unpadded(GeneralWide(set), a, b),
            Rule::OldWide(set) => order::compare_padded(OldWide(set), a, b),
            Rule::OldUtf8 => order::compare_padded(OldUtf8, a, b),
            Rule::SmallUtf8 => order::compare_padded(SmallUtf8, a, b),
            Rule::Rewritten(how) => order::compare_padded(PlainBytes, &how.weights(a), &how.weights(b)),
            Rule::BinWide(set) => order::compare_padded(PlainWide(set), a, b),
            Rule::CodePointsWide(set) => order::compare_unpadded(PlainWide(set), a, b),
            Rule::BinUtf8 | Rule::BinBytes | Rule::BinMulti => order::compare_bytes_padded(a, b),
            Rule::Binary | Rule::BytesUtf8 => a.cmp(b),
        }
    }

    #[inline]
    pub fn equal(&self, a: &[u8], b: &[u8]) -> bool {
        self.compare(a, b) == Ordering::Equal
    }

    /// Equal texts have equal hashes.
    #[inline]
    pub fn hash(&self, text: &[u8]) -> u64 {
        match self.rule {
            Rule::General => order::hash_weights(GeneralUtf8, text),
            Rule::GeneralUnpadded => order::hash_unpadded(GeneralUtf8, text),
            Rule::Table(weights) => order::hash_weights(Weighed(weights), text),
            Rule::Tabled(weights) => order::hash_weights(Tabled(weights), text),
            Rule::Multi(one) => order::hash_weights(self.multibyte(Some(one)), text),
            Rule::Unicode(of) => of.table().hash(Utf8, text),
            Rule::UnicodeWide(set, of) => of.table().hash(set, text),
            Rule::GeneralWide(set) => order::hash_weights(GeneralWide(set), text),
            Rule::GeneralWideUnpadded(set) => order::hash_unpadded(GeneralWide(set), text),
            Rule::OldWide(set) => order::hash_weights(OldWide(set), text),
            Rule::OldUtf8 => order::hash_weights(OldUtf8, text),
            Rule::SmallUtf8 => order::hash_weights(SmallUtf8, text),
            Rule::Rewritten(how) => order::hash_weights(PlainBytes, &how.weights(text)),
            Rule::BinWide(set) => order::hash_weights(PlainWide(set), text),
            Rule::CodePointsWide(set) => order::hash_unpadded(PlainWide(set), text),
            Rule::BinUtf8 | Rule::BinBytes | Rule::BinMulti => order::hash_bytes(without_spaces(text)),
            Rule::Binary | Rule::BytesUtf8 => order::hash_bytes(text),
        }
    }

    /// Appends bytes that compare with memcmp as the texts compare. No key is the beginning of another.
    pub fn sort_key(&self, text: &[u8], out: &mut Vec<u8>) {
        match self.rule {
            Rule::General => order::sort_key_padded(GeneralUtf8, text, out),
            Rule::GeneralUnpadded => order::sort_key_unpadded(GeneralUtf8, text, out),
            Rule::Table(weights) => order::sort_key_padded(Weighed(weights), text, out),
            Rule::Tabled(weights) => order::sort_key_padded(Tabled(weights), text, out),
            Rule::Multi(one) => order::sort_key_padded(self.multibyte(Some(one)), text, out),
            Rule::Unicode(of) => of.table().sort_key(Utf8, text, out),
            Rule::UnicodeWide(set, of) => of.table().sort_key(set, text, out),
            Rule::GeneralWide(set) => order::sort_key_padded(GeneralWide(set), text, out),
            Rule::GeneralWideUnpadded(set) => order::sort_key_unpadded(GeneralWide(set), text, out),
            Rule::OldWide(set) => order::sort_key_padded(OldWide(set), text, out),
            Rule::OldUtf8 => order::sort_key_padded(OldUtf8, text, out),
            Rule::SmallUtf8 => order::sort_key_padded(SmallUtf8, text, out),
            Rule::Rewritten(how) => order::sort_key_padded(PlainBytes, &how.weights(text), out),
            Rule::BinWide(set) => order::sort_key_padded(PlainWide(set), text, out),
            Rule::CodePointsWide(set) => order::sort_key_unpadded(PlainWide(set), text, out),
            Rule::BinUtf8 | Rule::BinBytes | Rule::BinMulti => order::sort_key_padded(PlainBytes, text, out),
            Rule::Binary | Rule::BytesUtf8 => order::sort_key_bytes(text, out),
        }
    }

    /// SQL's LIKE: `%` is any text, `_` any character. `escape` is the code point that makes them stand for themselves;
    /// None when there is none.
    pub fn like(&self, text: &[u8], pattern: &[u8], escape: Option<u32>) -> bool {
        match self.rule {
            Rule::General | Rule::GeneralUnpadded => like::like(GeneralUtf8, text, pattern, escape),
            Rule::Table(weights) | Rule::Tabled(weights) => like::like(Weighed(weights), text, pattern, escape),
            Rule::Multi(one) => like::like(self.multibyte(Some(one)), text, pattern, escape),
            Rule::BinMulti => like::like(self.multibyte(None), text, pattern, escape),
            Rule::Unicode(of) => like::like(Alike(of.table(), Utf8), text, pattern, escape),
            Rule::UnicodeWide(set, of) => like::like(Alike(of.table(), set), text, pattern, escape),
            Rule::GeneralWide(set) | Rule::GeneralWideUnpadded(set) => {
                like::like(GeneralWide(set), text, pattern, escape)
            }
            Rule::OldWide(set) => like::like(OldWide(set), text, pattern, escape),
            Rule::OldUtf8 => like::like(OldUtf8, text, pattern, escape),
            Rule::SmallUtf8 => like::like(SmallUtf8, text, pattern, escape),
            Rule::Rewritten(how) => like::like(Weighed(how.alike()), text, pattern, escape),
            Rule::BinWide(set) | Rule::CodePointsWide(set) => like::like(PlainWide(set), text, pattern, escape),
            Rule::BinUtf8 | Rule::BytesUtf8 => like::like(PlainUtf8, text, pattern, escape),
            Rule::BinBytes | Rule::Binary => like::like(PlainBytes, text, pattern, escape),
        }
    }

    /// Whether a text lies behind all texts that begin with `prefix`, a [`Collation::plain_prefix`].
    pub fn is_behind(&self, text: &[u8], prefix: &[u8]) -> bool {
        match self.rule {
            Rule::Unicode(of) => return of.table().is_behind(Utf8, text, prefix),
            Rule::UnicodeWide(set, of) => return of.table().is_behind(set, text, prefix),
            Rule::Rewritten(how) => {
                let (weights, prefix) = (how.weights(text), how.weights(prefix));
                let beginning = &weights[..prefix.len().min(weights.len())];
                return order::compare_padded(PlainBytes, beginning, &prefix) == Ordering::Greater;
            }
            _ => {}
        }
        let beginning = self.charset.substring(text, 0, self.charset.char_count(prefix));
        self.compare(beginning, prefix) == Ordering::Greater
    }

    /// The character, of ASCII, that texts have behind a prefix if nothing that begins with it precedes them. None:
    /// nothing precedes the prefix itself.
    pub fn least(&self) -> Option<u8> {
        match self.rule {
            _ if !self.pad_space => None,
            // What is less than a tab counts nowhere, and a text that ends is as if it had spaces.
            Rule::Unicode(_) | Rule::UnicodeWide(..) => Some(b'\t'),
            _ => Some(0),
        }
    }

    /// A character of which many behind a prefix stand behind nearly all texts that begin with it: good for estimates. None:
    /// no one knows.
    pub fn greatest(&self) -> Option<u32> {
        /// What weighs most, or may: the last character, the last of the plane that most texts keep to, and the one that
        /// stands for what is unknown, which Unicode's own order has last.
        const CANDIDATES: [u32; 3] = [0xFFFD, 0xFFFF, 0x10_FFFF];
        let encoded = |code_point: u32| {
            let mut bytes = Vec::new();
            self.charset.encode_char(code_point, &mut bytes).then_some(bytes)
        };
        let heaviest =
            |a: &u32, b: &u32| self.compare(&encoded(*a).unwrap_or_default(), &encoded(*b).unwrap_or_default());
        match self.rule {
            Rule::Rewritten(_) | Rule::Multi(_) | Rule::BinMulti => None,
            Rule::Table(_) | Rule::Tabled(_) => (0..=0xFF).max_by(heaviest),
            Rule::BinBytes | Rule::Binary => Some(0xFF),
            _ => CANDIDATES.into_iter().filter(|code_point| encoded(*code_point).is_some()).max_by(heaviest),
        }
    }

    /// Whether a character may have several weights.
    pub fn expands(&self) -> bool {
        match self.rule {
            Rule::Unicode(_) | Rule::UnicodeWide(..) => true,
            Rule::Rewritten(how) => how.expands(),
            _ => false,
        }
    }

    /// How often a text's bytes its sort key may have, as MySQL's catalogue says it: 0 of the collations of Unicode 9.0.0.
    pub fn sort_length(&self) -> u64 {
        match self.rule {
            Rule::Unicode(of) | Rule::UnicodeWide(_, of) if of.is_new() => 0,
            Rule::Unicode(_) | Rule::UnicodeWide(..) => 8,
            Rule::Rewritten(Rewriting::Thai) => 4,
            Rule::Rewritten(Rewriting::German) => 2,
            _ => 1,
        }
    }

    /// The weights of a text, with a zero between two levels, where a collation has Unicode's tables.
    pub fn unicode_weights(&self, text: &[u8]) -> Option<Vec<u32>> {
        match self.rule {
            Rule::Unicode(of) => Some(of.table().all_weights(Utf8, text)),
            Rule::UnicodeWide(set, of) => Some(of.table().all_weights(set, text)),
            _ => None,
        }
    }

    /// Appends what a text weighs, as MySQL's WEIGHT_STRING shows it: character by character, and level by level.
    pub fn weight_string(&self, text: &[u8], out: &mut Vec<u8>) {
        fn append<A: Alphabet>(alphabet: A, text: &[u8], put: impl Fn(Character, &mut Vec<u8>), out: &mut Vec<u8>) {
            let mut rest = text;
            while !rest.is_empty() {
                let first = alphabet.first(rest);
                put(first, out);
                rest = &rest[first.bytes..];
            }
        }
        let last = |bytes: usize| {
            move |character: Character, out: &mut Vec<u8>| {
                out.extend_from_slice(&character.weight.to_be_bytes()[4 - bytes..]);
            }
        };
        match self.rule {
            Rule::General | Rule::GeneralUnpadded => append(GeneralUtf8, text, last(2), out),
            Rule::Table(weights) | Rule::Tabled(weights) => append(Weighed(weights), text, last(1), out),
            Rule::GeneralWide(set) | Rule::GeneralWideUnpadded(set) => append(GeneralWide(set), text, last(2), out),
            Rule::OldWide(set) => append(OldWide(set), text, last(2), out),
            Rule::OldUtf8 => append(OldUtf8, text, last(2), out),
            Rule::SmallUtf8 => append(SmallUtf8, text, last(2), out),
            Rule::Rewritten(how) => out.extend_from_slice(&how.weights(text)),
            Rule::BinWide(set) | Rule::CodePointsWide(set) => {
                append(PlainWide(set), text, last(if set == Wide::Ucs2 { 2 } else { 3 }), out);
            }
            Rule::Unicode(_) | Rule::UnicodeWide(..) => {
                let weights = self.unicode_weights(text).unwrap_or_default();
                weights.iter().for_each(|weight| out.extend_from_slice(&(*weight as u16).to_be_bytes()));
            }
            // As many bytes as the character has, from the first of the weight on.
            Rule::Multi(one) => {
                let put = |character: Character, out: &mut Vec<u8>| {
                    out.extend_from_slice(&character.weight.to_be_bytes()[1..1 + character.bytes]);
                };
                append(self.multibyte(Some(one)), text, put, out);
            }
            Rule::BinUtf8 if self.charset == Charset::Utf8mb3 => append(PlainUtf8, text, last(2), out),
            Rule::BinUtf8 => append(PlainUtf8, text, last(3), out),
            Rule::BinBytes | Rule::BinMulti | Rule::BytesUtf8 | Rule::Binary => out.extend_from_slice(text),
        }
    }

    /// The byte offset of the first character at or behind byte `from` where `needle` stands, in as many bytes as it has.
    pub fn find(&self, text: &[u8], needle: &[u8], from: usize) -> Option<usize> {
        match self.rule {
            Rule::General | Rule::GeneralUnpadded => like::find(GeneralUtf8, text, needle, from),
            Rule::Table(weights) | Rule::Tabled(weights) => like::find(Weighed(weights), text, needle, from),
            Rule::Multi(one) => like::find(self.multibyte(Some(one)), text, needle, from),
            Rule::BinMulti => like::find(self.multibyte(None), text, needle, from),
            Rule::Unicode(of) => of.table().find(Utf8, text, needle, from),
            Rule::UnicodeWide(set, of) => of.table().find(set, text, needle, from),
            Rule::GeneralWide(set) | Rule::GeneralWideUnpadded(set) => like::find(GeneralWide(set), text, needle, from),
            Rule::OldWide(set) => like::find(OldWide(set), text, needle, from),
            Rule::OldUtf8 => like::find(OldUtf8, text, needle, from),
            Rule::SmallUtf8 => like::find(SmallUtf8, text, needle, from),
            Rule::Rewritten(how) => like::find(Weighed(how.alike()), text, needle, from),
            Rule::BinWide(set) | Rule::CodePointsWide(set) => like::find(PlainWide(set), text, needle, from),
            Rule::BinUtf8 | Rule::BytesUtf8 => like::find(PlainUtf8, text, needle, from),
            Rule::BinBytes | Rule::Binary => like::find(PlainBytes, text, needle, from),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_and_names() {
        assert!(collations().is_sorted_by_key(|collation| collation.id));
        for known in collations() {
            assert!(std::ptr::eq(collation(known.id), known));
            assert!(std::ptr::eq(Collation::by_name(&known.name.to_uppercase()).unwrap(), known));
        }
        assert_eq!(Collation::by_name("utf8_bin").unwrap().id, CollationId::UTF8MB3_BIN);
        assert_eq!(Collation::by_name("UTF8_unicode_CI").unwrap().id, CollationId::UTF8MB3_UNICODE_CI);
        assert!(Collation::by_id(CollationId(2)).is_none());
        assert!(Collation::by_id(CollationId(400)).is_none());
        for charset in Charset::ALL {
            let default = collation(charset.default_collation());
            assert!(default.is_default && default.charset == charset);
            assert_eq!(collation(charset.bin_collation()).charset, charset);
        }
    }

    #[test]
    fn trailing_spaces_count_where_nothing_is_padded() {
        for known in collations() {
            let pads = !(known.is_binary() || known.name.contains("_0900_") || known.name.contains("nopad"));
            assert_eq!(known.pad_space, pads, "{}", known.name);
            let order = if pads { Ordering::Equal } else { Ordering::Less };
            let [a, spaced, tabbed] = ["a", "a  ", "a\t"].map(|text| {
                let mut own = Vec::new();
                convert(text.as_bytes(), Charset::Ascii, known.charset, &mut own);
                own
            });
            assert_eq!(known.compare(&a, &spaced), order, "{}", known.name);
            if !matches!(known.rule, Rule::Tabled(_)) {
                let less = if pads { Ordering::Less } else { Ordering::Greater };
                assert_eq!(known.compare(&tabbed, &a), less, "{}", known.name);
            }
        }
    }

    #[test]
    fn letters() {
        let general = collation(CollationId::UTF8MB4_GENERAL_CI);
        assert!(general.equal("Straße".as_bytes(), "STRASE".as_bytes()));
        assert!(general.equal("😀".as_bytes(), "😎".as_bytes()), "all beyond the plane weigh the same");
        assert!(!collation(CollationId::UTF8MB4_BIN).equal("😀".as_bytes(), "😎".as_bytes()));
        let swedish = collation(CollationId::LATIN1_SWEDISH_CI);
        assert_eq!(swedish.compare(b"z", b"\xE4"), Ordering::Less, "ä follows z");
        assert!(swedish.equal(b"\xFC", b"Y"));
    }
}
