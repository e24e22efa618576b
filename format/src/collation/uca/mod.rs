//! The Unicode Collation Algorithm, as far as MySQL's `unicode_ci` (tables of Unicode 4.0.0), `unicode_520_ci` (5.2.0) and
//! `0900_ai_ci`, `0900_as_ci`, `0900_as_cs` (9.0.0) follow it: a character has any number of primary weights, and texts
//! compare by the weights of their characters.
//!
//! ```text
//! a      0E33                    A, á and ª weigh the same
//! ß      0FEA 0FEA               as ss does
//! U+0001                         nothing: it counts nowhere but in LIKE
//! 中     FB40 CE2D               not in the table: derived from the code point
//! ```
//!
//! Where accents or case count, texts of the same primary weights compare by all their secondary weights, and then by all
//! their tertiary ones:
//!
//! ```text
//!          primary           secondary              tertiary
//! a       1C47              0020                   0002
//! Á       1C47              0020 0024              0008 0002
//! ```
//!
//! The collation of a language takes one of these tables and changes what its letters weigh: `tailoring.rs` applies rules,
//! `rules.rs` has those of each language. Sequences of characters that weigh together are `contraction.rs`. A table is made
//! when it is first needed.
//!
//! The Japanese collation that tells kana apart has a fourth level, where hiragana weigh 2 and katakana 8; a text without kana
//! does not have it.
//!
//! The collations of 4.0.0 and 5.2.0 pad texts with spaces, those of 9.0.0 do not, nor MariaDB's `nopad` ones. A character
//! beyond the Basic Multilingual Plane weighs FFFD in 4.0.0. At most eight elements of a character count. A Hangul syllable
//! weighs in 9.0.0 as its letters do.
//!
//! LIKE compares character by character: two are alike if all their weights are, so `ß` is not like `ss`, though equal, and
//! a contraction is nothing to it.
//!
//! `bench/tests/collations.rs` compares the weights of all code points with a server's, where there is a server that has the
//! version. `format/examples/weights.rs` makes the tables and describes their form.

mod contraction;
mod rules;
mod tailoring;

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};
use std::sync::OnceLock;

use super::order::{self, Alphabet, Character};
use super::unicode;
use super::wide::Encoding;
use contraction::{Contraction, Contractions};
use tailoring::{Language, Move, Tailoring, capitals_first, in_chinese};

/// What weighs more than any character.
const ILL_FORMED_WEIGHT: u16 = 0xFFFF;

/// The weight of all characters beyond the plane, where the table has none.
const SUPPLEMENTARY_WEIGHT: u16 = 0xFFFD;

/// The secondary and the tertiary weight of most characters.
const COMMON: [u16; 2] = [0x20, 2];

/// Levels of weights: primary, secondary, tertiary.
const LEVELS: usize = 3;

/// The level that tells kana apart: what hiragana and katakana weigh there.
const KANA: usize = LEVELS;
const HIRAGANA_WEIGHT: u16 = 2;
const KATAKANA_WEIGHT: u16 = 8;

/// A collation element: a weight of each level.
type Element = [u16; LEVELS];

const PAGE: usize = 256;
const PAGES: usize = 0x1100;
const NO_PAGE: u16 = u16::MAX;

/// An entry: of a character that is not in the table.
const DERIVED: u32 = u32::MAX;

/// An entry has the number of primary weights in these bits, and above them where they begin.
const COUNT_BITS: u32 = 5;

/// Marks what LIKE knows of a character that is not in the table: its code point.
const UNLISTED: u32 = 1 << 31;

/// What LIKE knows of bytes that are no character.
const ILL_FORMED: u32 = UNLISTED | 0x11_0000;

/// The syllables that are written as one character, and where their letters begin: the leading ones, the vowels and the
/// trailing ones.
const SYLLABLES: std::ops::RangeInclusive<u32> = 0xAC00..=0xD7AF;
const JAMO: [u32; 3] = [0x1100, 0x1161, 0x11A7];
const VOWELS: u32 = 21;
const TRAILING: u32 = 28;

/// The weights of one version of Unicode, up to a level, as a language has them.
pub(super) struct Table {
    pages: Vec<u16>,
    /// Of the characters of each page. Characters of the same weights have the same entry.
    entries: Vec<u32>,
    /// Of each entry the primary weights; behind them for each further level the number of weights, and these.
    weights: Vec<u16>,
    contractions: Option<Contractions>,
    space: u16,
    version: Version,
    language: Language,
    pads: bool,
}

/// Which of Unicode's tables a collation has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Version {
    V4_0_0,
    V5_2_0,
    /// With so many levels.
    V9_0_0(u8),
}

impl Version {
    fn packed(self) -> &'static [u8] {
        match self {
            Version::V4_0_0 => include_bytes!("../weights/4.0.0"),
            Version::V5_2_0 => include_bytes!("../weights/5.2.0"),
            Version::V9_0_0(_) => include_bytes!("../weights/9.0.0"),
        }
    }

    const fn levels(self) -> usize {
        match self {
            Version::V9_0_0(levels) => levels as usize,
            _ => 1,
        }
    }
}

/// What the texts of a collation weigh: which table it is, made when it is first asked for.
pub(super) struct Uca {
    version: Version,
    tailoring: Tailoring,
    /// Whether texts compare as if the shorter had spaces behind it.
    pub pads: bool,
    table: OnceLock<Table>,
}

impl std::fmt::Debug for Uca {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.version.fmt(f)
    }
}

impl Uca {
    const fn of(version: Version, tailoring: Tailoring) -> Uca {
        let pads = !matches!(version, Version::V9_0_0(_));
        Uca { version, tailoring, pads, table: OnceLock::new() }
    }

    const fn unpadded(version: Version) -> Uca {
        Uca { version, tailoring: Tailoring::NONE, pads: false, table: OnceLock::new() }
    }

    #[inline]
    pub fn table(&'static self) -> &'static Table {
        self.table.get_or_init(|| Table::build(self))
    }

    pub const fn is_new(&self) -> bool {
        matches!(self.version, Version::V9_0_0(_))
    }

    pub const fn levels(&self) -> usize {
        self.version.levels()
    }

    /// The letters that got their case after the version; None: it is that of an older table.
    pub const fn case_of_unicode(&self) -> Option<unicode::Later> {
        match self.version {
            Version::V4_0_0 => None,
            Version::V5_2_0 => Some(unicode::AFTER_5_2_0),
            Version::V9_0_0(_) => Some(unicode::AFTER_9_0_0),
        }
    }
}

pub(super) static V4_0_0: Uca = Uca::of(Version::V4_0_0, Tailoring::NONE);
pub(super) static V5_2_0: Uca = Uca::of(Version::V5_2_0, Tailoring::NONE);
pub(super) static V4_0_0_NOPAD: Uca = Uca::unpadded(Version::V4_0_0);
pub(super) static V5_2_0_NOPAD: Uca = Uca::unpadded(Version::V5_2_0);
pub(super) static AI_CI: Uca = Uca::of(Version::V9_0_0(1), Tailoring::NONE);
pub(super) static AS_CI: Uca = Uca::of(Version::V9_0_0(2), Tailoring::NONE);
pub(super) static AS_CS: Uca = Uca::of(Version::V9_0_0(3), Tailoring::NONE);

/// The collations of languages, with a module of statics for each version.
macro_rules! languages {
    ($module:ident, $version:expr, $rules:ident: $($language:ident = $rule:ident),*) => {
        pub(super) mod $module {
            use super::{Uca, Version, rules::$rules};
            $(pub static $language: Uca = Uca::of($version, $rules::$rule);)*
        }
    };
    ($module:ident, $version:expr, $rules:ident: $($language:ident),*) => {
        languages!($module, $version, $rules: $($language = $language),*);
    };
}

languages!(v4, Version::V4_0_0, v4: CROATIAN, CZECH, DANISH, ESPERANTO, ESTONIAN, GERMAN2, HUNGARIAN, ICELANDIC, LATVIAN,
    LITHUANIAN, PERSIAN, POLISH, ROMAN, ROMANIAN, SINHALA, SLOVAK, SLOVENIAN, SPANISH, SPANISH2, SWEDISH, TURKISH,
    VIETNAMESE);
languages!(ai_ci, Version::V9_0_0(1), v9: CS, CYRILLIC, DA, DE_PB, EO, ES, ES_TRAD, ET, HR, HU, IS, LA, LT, LV, PL, RO, SK,
    SL, SV, TR, VI);
languages!(as_cs, Version::V9_0_0(3), v9: CS, CYRILLIC, DA, DA_UPPER_FIRST, DE_PB, EO, ES, ES_TRAD, ET, HR, HU, IS, JA, LA, LT,
    LV, PL, RO, SK, SL, SV, TR, VI, ZH);
languages!(as_cs_ks, Version::V9_0_0(4), v9: JA);

/// The weights of one character at a level.
#[derive(Clone, Copy)]
struct Weighs {
    listed: &'static [u16],
    /// Up to three more, behind those.
    derived: [u16; 3],
    derived_count: u8,
}

impl Weighs {
    fn nothing() -> Weighs {
        Weighs::listed(&[])
    }

    fn listed(listed: &'static [u16]) -> Weighs {
        Weighs { listed, derived: [0; 3], derived_count: 0 }
    }

    fn these(weights: &[u16]) -> Weighs {
        let mut derived = [0; 3];
        derived[..weights.len()].copy_from_slice(weights);
        Weighs { derived, derived_count: weights.len() as u8, ..Weighs::nothing() }
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
        let [first, second, third] = self.derived;
        self.derived = [second, third, 0];
        Some(first)
    }
}

/// Reads a packed table.
struct Packed<'p>(&'p [u8]);

impl Packed<'_> {
    fn u8(&mut self) -> Option<u8> {
        let (&first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(first)
    }

    fn u16(&mut self) -> u16 {
        u16::from_le_bytes([self.u8().unwrap_or(0), self.u8().unwrap_or(0)])
    }

    fn code_point(&mut self, last: u32) -> Option<u32> {
        let step = match self.u8()? {
            0 => u32::from(self.u16()) | u32::from(self.u8().unwrap_or(0)) << 16,
            step => u32::from(step),
        };
        Some(last.wrapping_add(step))
    }

    /// The weights of the next collation element, by level.
    fn element(&mut self, has_levels: bool) -> [u16; LEVELS] {
        let primary = self.u16();
        let [mut secondary, mut tertiary] = COMMON;
        if has_levels && let Some(kind) = self.u8().filter(|kind| *kind != 0) {
            tertiary = u16::from(kind) - 1;
            secondary = self.u16();
        }
        [primary, secondary, tertiary]
    }
}

/// Calls `take` with each character of a packed table, and its elements.
fn for_each_character(version: Version, mut take: impl FnMut(u32, &[Element])) {
    let mut packed = Packed(version.packed());
    let has_levels = matches!(version, Version::V9_0_0(_));
    let mut elements = Vec::new();
    let mut code = u32::MAX;
    while let Some(next) = packed.code_point(code) {
        code = next;
        elements.clear();
        for _ in 0..packed.u8().unwrap_or(0) {
            elements.push(packed.element(has_levels));
        }
        take(code, &elements);
    }
}

/// Makes a table, character by character.
struct Builder {
    table: Table,
    /// The entries by their weights, which the number of primary ones ends: weights are the same only if it is, too.
    known: HashMap<Vec<u16>, u32>,
    moves: Vec<Move>,
}

impl Builder {
    fn entry(&mut self, elements: &[Element]) -> u32 {
        let table = &mut self.table;
        let mut key: Vec<u16> = Vec::new();
        for weight in elements.iter().map(|one| one[0]).filter(|weight| *weight != 0) {
            match self.moves.iter().find(|one| one.from.contains(&weight)) {
                Some(Move { from, to, behind }) => {
                    key.extend(behind.iter().copied().chain([weight - from.start() + to]))
                }
                None => key.push(weight),
            }
        }
        let count = key.len();
        for level in 1..table.version.levels().min(LEVELS) {
            let from = key.len();
            key.push(0);
            key.extend(elements.iter().map(|one| one[level]).filter(|weight| *weight != 0));
            if table.language == Language::Danish && level == LEVELS - 1 {
                key[from + 1..].iter_mut().for_each(|weight| *weight = capitals_first(*weight));
            }
            key[from] = (key.len() - from - 1) as u16;
        }
        key.push(count as u16);
        if let Some(entry) = self.known.get(&key) {
            return *entry;
        }
        let entry = (table.weights.len() as u32) << COUNT_BITS | count as u32;
        table.weights.extend_from_slice(&key[..key.len() - 1]);
        self.known.insert(key, entry);
        entry
    }

    fn character(&mut self, code: u32, elements: &[Element]) {
        let entry = self.entry(elements);
        let (page, at) = (code as usize / PAGE, code as usize % PAGE);
        let table = &mut self.table;
        if table.pages[page] == NO_PAGE {
            table.pages[page] = (table.entries.len() / PAGE) as u16;
            table.entries.resize(table.entries.len() + PAGE, DERIVED);
        }
        table.entries[usize::from(table.pages[page]) * PAGE + at] = entry;
    }
}

impl Table {
    fn build(of: &Uca) -> Table {
        let ideographs = of.tailoring.ideographs();
        let of_ideograph = |weight: u16| vec![[weight, COMMON[0], COMMON[1]]];
        let wanted: HashSet<u32> = of.tailoring.characters().collect();
        let mut untailored = HashMap::new();
        if !wanted.is_empty() {
            for_each_character(of.version, |code, elements| {
                if wanted.contains(&code) {
                    untailored.insert(code, of.tailoring.before_rules(elements, &ideographs));
                }
            });
            for (code, weight) in ideographs.iter().filter(|(code, _)| wanted.contains(code)) {
                untailored.insert(*code, of_ideograph(*weight));
            }
        }
        let tailored = of.tailoring.apply(of.version, &untailored);
        let (pages, entries, weights) = (vec![NO_PAGE; PAGES], Vec::new(), Vec::new());
        let (version, language, pads) = (of.version, of.tailoring.language(), of.pads);
        let table = Table { pages, entries, weights, contractions: None, space: 0, version, language, pads };
        let mut builder = Builder { table, known: HashMap::new(), moves: of.tailoring.moves() };
        for_each_character(of.version, |code, elements| match language {
            Language::Chinese => builder.character(code, &of.tailoring.before_rules(elements, &ideographs)),
            _ => builder.character(code, elements),
        });
        for (code, weight) in &ideographs {
            builder.character(*code, &of_ideograph(*weight));
        }
        for (code, elements) in &tailored.characters {
            builder.character(*code, elements);
        }
        let of_contraction = |(characters, elements): (Vec<u32>, Vec<Element>)| {
            let entry = builder.entry(&elements);
            Contraction { alike: characters.iter().map(|code| builder.table.alike(*code)).collect(), characters, entry }
        };
        let contractions = tailored.contractions.into_iter().map(of_contraction).collect();
        let mut table = builder.table;
        table.contractions = Contractions::of(contractions);
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

    /// What a character of the table weighs at a level.
    #[inline]
    fn listed(&self, entry: u32, level: usize) -> &[u16] {
        let mut from = (entry >> COUNT_BITS) as usize;
        let mut count = (entry & ((1 << COUNT_BITS) - 1)) as usize;
        for _ in 0..level {
            from += count + 1;
            count = self.weights[from - 1].into();
        }
        &self.weights[from..from + count]
    }

    #[inline]
    fn contraction(&self, encoding: impl Encoding, code: u32, rest: &[u8]) -> Option<(u32, usize)> {
        self.contractions.as_ref().and_then(|contractions| contractions.find(encoding, code, rest))
    }

    pub fn has_contractions(&self) -> bool {
        self.contractions.is_some()
    }

    /// The bytes of the longest beginning of `prefix` whose weights begin those of all texts that are LIKE it and more.
    pub fn plain_prefix(&self, encoding: impl Encoding, prefix: &[u8]) -> usize {
        let Some(contractions) = &self.contractions else { return prefix.len() };
        let (mut at, mut alike, mut starts) = (0, Vec::new(), Vec::new());
        while let Some((code, bytes)) = encoding.code_point(&prefix[at..]) {
            alike.push(self.alike(code));
            starts.push(at);
            at += bytes;
        }
        starts.get(contractions.plain_prefix(&alike)).copied().unwrap_or(prefix.len())
    }

    /// What a character is to LIKE: the same for two whose weights are.
    #[inline]
    fn alike(&self, code: u32) -> u32 {
        match self.entry(code) {
            DERIVED if code > 0xFFFF && self.version == Version::V4_0_0 => UNLISTED | u32::from(SUPPLEMENTARY_WEIGHT),
            DERIVED => UNLISTED | code,
            entry => entry,
        }
    }

    #[inline]
    fn weighs(&'static self, code: u32, level: usize) -> Weighs {
        if level == KANA {
            return Weighs::these(kana(code).as_slice());
        }
        match self.entry(code) {
            DERIVED => self.derived(code, level),
            entry => Weighs::listed(self.listed(entry, level)),
        }
    }

    /// What a character weighs that the table has not.
    fn derived(&self, code: u32, level: usize) -> Weighs {
        if self.version == Version::V4_0_0 && code > 0xFFFF {
            return Weighs::these(&[SUPPLEMENTARY_WEIGHT]);
        }
        let is_new = matches!(self.version, Version::V9_0_0(_));
        if is_new && SYLLABLES.contains(&code) {
            let syllable = code - SYLLABLES.start();
            let letters = [syllable / (VOWELS * TRAILING), syllable / TRAILING % VOWELS, syllable % TRAILING];
            let mut weights = [0; 3];
            for ((letter, from), weight) in letters.iter().zip(JAMO).zip(&mut weights) {
                let listed = self.listed(self.entry(from + letter), level).first();
                *weight = listed.copied().unwrap_or(0) + u16::from(level == LEVELS - 1);
            }
            // The trailing letters begin at 1: 0 is none.
            return Weighs::these(&weights[..if letters[2] == 0 { 2 } else { 3 }]);
        }
        if level > 0 {
            return Weighs::these(&COMMON[level - 1..level]);
        }
        let (base, low) = match code {
            0x17000..=0x18AFF if is_new => (0xFB00_u16.wrapping_sub((code >> 15) as u16), code - 0x17000),
            0x20000..=0x2A6D6 | 0x2A700..=0x2B734 | 0x2B740..=0x2B81D | 0x2B820..=0x2CEA1 if is_new => (0xFB80, code),
            0x9FA6..=0x9FD5 | 0xFA0E..=0xFA29 if is_new => (0xFB40, code),
            0x3400..=0x4DB5 => (0xFB80, code),
            0x4E00..=0x9FA5 => (0xFB40, code),
            _ => (0xFBC0, code),
        };
        let first = base.wrapping_add((code >> 15) as u16);
        let first = if self.language == Language::Chinese { in_chinese(first) } else { first };
        Weighs::these(&[first, (low & 0x7FFF) as u16 | 0x8000])
    }

    /// The weights of a level, without those that are zero.
    pub fn weights<E: Encoding>(&'static self, encoding: E, text: &[u8], level: usize) -> impl Iterator<Item = u32> {
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
                (current, bytes) = match encoding.code_point(rest) {
                    Some((code, bytes)) => match self.contraction(encoding, code, &rest[bytes..]) {
                        // A mark behind a kana is of its kind.
                        Some((_, more)) if level == KANA => {
                            (Weighs::these(&kana(code).map_or([0; 2], |of| [of; 2])), bytes + more)
                        }
                        Some((entry, more)) => (Weighs::listed(self.listed(entry, level)), bytes + more),
                        None => (self.weighs(code, level), bytes),
                    },
                    None => (Weighs::these(&[ILL_FORMED_WEIGHT]), encoding.skipped(rest)),
                };
                rest = &rest[bytes..];
            }
        })
    }

    /// The weights of all levels, with a zero between two levels.
    pub fn all_weights(&'static self, encoding: impl Encoding, text: &[u8]) -> Vec<u32> {
        let mut all: Vec<u32> = self.weights(encoding, text, 0).collect();
        for level in 1..self.version.levels() {
            let mut weights = self.weights(encoding, text, level).peekable();
            if level == KANA && weights.peek().is_none() {
                break;
            }
            all.push(0);
            all.extend(weights);
        }
        all
    }

    pub fn compare(&'static self, encoding: impl Encoding, a: &[u8], b: &[u8]) -> Ordering {
        let common = order::common_prefix(a, b);
        if common == a.len() && common == b.len() {
            return Ordering::Equal;
        }
        // Equal characters weigh the same, but the first difference may lie within one, or within a contraction.
        let start = match self.contractions {
            None => encoding.start(a, common).min(encoding.start(b, common)),
            Some(_) => 0,
        };
        let (a, b) = (&a[start..], &b[start..]);
        if self.pads {
            return self.compare_padded(encoding, a, b);
        }
        let by_level = |level| self.weights(encoding, a, level).cmp(self.weights(encoding, b, level));
        let mut by_level = (0..self.version.levels()).map(by_level);
        by_level.find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
    }

    fn compare_padded(&'static self, encoding: impl Encoding, a: &[u8], b: &[u8]) -> Ordering {
        let (mut a, mut b) = (self.weights(encoding, a, 0), self.weights(encoding, b, 0));
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

    /// As [`super::like::find`]: texts are the same if their weights are, so `ss` is found in `ß`.
    pub fn find(&'static self, encoding: impl Encoding, text: &[u8], needle: &[u8], from: usize) -> Option<usize> {
        super::like::find_by(Alike(self, encoding), text, needle, from, |part, needle| {
            (0..self.version.levels())
                .all(|level| self.weights(encoding, part, level).eq(self.weights(encoding, needle, level)))
        })
    }

    pub fn hash(&'static self, encoding: impl Encoding, text: &[u8]) -> u64 {
        let of_level = |level| self.weights(encoding, text, level);
        match self.pads {
            true => order::hash_of(of_level(0), Some(self.space.into())),
            false => order::hash_of((0..self.version.levels()).flat_map(of_level), None),
        }
    }

    pub fn sort_key(&'static self, encoding: impl Encoding, text: &[u8], out: &mut Vec<u8>) {
        if self.pads {
            return order::sort_key_of(self.weights(encoding, text, 0), self.space.into(), size_of::<u16>(), out);
        }
        for level in 0..self.version.levels() {
            let weights = self.weights(encoding, text, level);
            weights.for_each(|weight| out.extend_from_slice(&(weight as u16).to_be_bytes()));
            // Less than any weight.
            out.extend_from_slice(&[0, 0]);
        }
    }

    /// Whether a text lies behind all texts whose weights begin with those of `prefix`.
    pub fn is_behind(&'static self, encoding: impl Encoding, text: &[u8], prefix: &[u8]) -> bool {
        let pad = if self.pads { u32::from(self.space) } else { 0 };
        let mut weights = self.weights(encoding, text, 0);
        let difference = self.weights(encoding, prefix, 0).find_map(|wanted| {
            let found = weights.next().unwrap_or(pad);
            (found != wanted).then_some(found > wanted)
        });
        difference == Some(true)
    }
}

/// What a character weighs at the level that tells kana apart.
fn kana(code: u32) -> Option<u16> {
    match code {
        0x3041..=0x3096 | 0x309D | 0x309E => Some(HIRAGANA_WEIGHT),
        0x30A1..=0x30FA | 0x30FC..=0x30FE | 0xFF66..=0xFF9D => Some(KATAKANA_WEIGHT),
        _ => None,
    }
}

/// Characters as LIKE compares them: their weights are the same if all their weights in the table are.
#[derive(Clone, Copy)]
pub(super) struct Alike<E>(pub &'static Table, pub E);

impl<E: Encoding> Alphabet for Alike<E> {
    const WEIGHT_BYTES: usize = 4;

    #[inline]
    fn first(self, text: &[u8]) -> Character {
        let Some((code, bytes)) = self.1.code_point(text) else {
            return Character { code: u32::MAX, weight: ILL_FORMED, bytes: self.1.skipped(text) };
        };
        Character { code, weight: self.0.alike(code), bytes }
    }

    #[inline]
    fn char_start(self, text: &[u8], at: usize) -> usize {
        self.1.start(text, at)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::wide::Utf8;
    use super::*;

    static TABLES: [&Uca; 17] = [
        &V4_0_0,
        &V5_2_0,
        &V4_0_0_NOPAD,
        &AI_CI,
        &AS_CI,
        &AS_CS,
        &v4::CZECH,
        &v4::DANISH,
        &v4::PERSIAN,
        &ai_ci::HU,
        &as_cs::HU,
        &as_cs::LT,
        &as_cs::HR,
        &as_cs::DA_UPPER_FIRST,
        &as_cs::JA,
        &as_cs_ks::JA,
        &as_cs::ZH,
    ];

    fn weights(of: &'static Uca, text: &str) -> Vec<u32> {
        of.table().all_weights(Utf8, text.as_bytes())
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
            assert_eq!(weights(&V4_0_0, text), old, "{text:?}");
            assert_eq!(weights(&V5_2_0, text), new, "{text:?}");
        }
        for version in [&V4_0_0, &V5_2_0] {
            for (one, other) in [("ß", "SS"), ("é", "E"), ("a\u{1}b", "ab"), ("x\u{A0}", "x"), ("é", "e\u{301}")] {
                let order = version.table().compare(Utf8, one.as_bytes(), other.as_bytes());
                assert_eq!(order, Ordering::Equal, "{version:?}: {one:?} and {other:?}");
            }
        }
    }

    #[test]
    fn what_characters_weigh_at_three_levels() {
        for (text, weights_of_9) in [
            ("a", &[0x1C47, 0, 0x20, 0, 2][..]),
            ("Á", &[0x1C47, 0, 0x20, 0x24, 0, 8, 2]),
            (" ", &[0x209, 0, 0x20, 0, 2]),
            ("\u{1}", &[0, 0]),
            ("\u{301}", &[0, 0x24, 0, 2]),
            ("ß", &[0x1E71, 0x1E71, 0, 0x20, 0x110, 0x20, 0, 4, 4, 4]),
            ("中", &[0xFB40, 0xCE2D, 0, 0x20, 0, 2]),
            ("㐀", &[0xFB80, 0xB400, 0, 0x20, 0, 2]),
            ("\u{20000}", &[0xFB84, 0x8000, 0, 0x20, 0, 2]),
            ("\u{17000}", &[0xFB00, 0x8000, 0, 0x20, 0, 2]),
            ("\u{E000}", &[0xFBC1, 0xE000, 0, 0x20, 0, 2]),
            // The letters of which it is: U+1100 and U+1161, U+11A8 behind them.
            ("가", &[0x3BF5, 0x3C73, 0, 0x20, 0x20, 0, 3, 3]),
            ("각", &[0x3BF5, 0x3C73, 0x3CD1, 0, 0x20, 0x20, 0x20, 0, 3, 3, 3]),
        ] {
            assert_eq!(weights(&AS_CS, text), weights_of_9, "{text:?}");
            let ends: Vec<usize> =
                (0..weights_of_9.len()).filter(|at| weights_of_9[*at] == 0).chain([weights_of_9.len()]).collect();
            for (of, end) in [&AI_CI, &AS_CI].into_iter().zip(&ends) {
                assert_eq!(weights(of, text), weights_of_9[..*end], "{text:?}");
            }
        }
        let first_different_level = |one: &str, other: &str| {
            let differ = |of: &'static Uca| of.table().compare(Utf8, one.as_bytes(), other.as_bytes()).is_ne();
            [&AI_CI, &AS_CI, &AS_CS].into_iter().position(differ).map(|at| at + 1)
        };
        for (one, other, level) in [
            ("a", "b", Some(1)),
            ("a", "a ", Some(1)),
            ("é", "E", Some(2)),
            ("ß", "ss", Some(2)),
            ("e", "E", Some(3)),
            ("あ", "ア", Some(3)),
            ("é", "e\u{301}", None),
            ("a\u{1}b", "ab", None),
        ] {
            assert_eq!(first_different_level(one, other), level, "{one:?} and {other:?}");
        }
        // An accent counts where nothing differs without accents.
        let order = |one: &str, other: &str| AS_CS.table().compare(Utf8, one.as_bytes(), other.as_bytes());
        for sorted in [["cote", "côte"], ["côte", "cotf"], ["ab", "Ab"], ["Ab", "aC"], ["a", "Á"]] {
            assert_eq!(order(sorted[0], sorted[1]), Ordering::Less, "{sorted:?}");
        }
    }

    #[test]
    fn what_danish_japanese_and_chinese_weigh() {
        for (of, text, wanted) in [
            (&as_cs::DA_UPPER_FIRST, "aA", &[0x1C47, 0x1C47, 0, 0x20, 0x20, 0, 0x302, 0x108][..]),
            (&as_cs::JA, "aぁア", &[0x1C47, 0x1FB6, 0x1FB6, 0, 0x20, 0x20, 0x20, 0, 2, 0xD, 0xE]),
            // The first, the last and another one of JIS X 0208, and one that it does not have.
            (
                &as_cs::JA,
                "亜熙憐㐀",
                &[0x54A4, 0x6D76, 0x6000, 0xFB80, 0xB400, 0, 0x20, 0x20, 0x20, 0x20, 0, 2, 2, 2, 2],
            ),
            (&as_cs::JA, "αа", &[0xFB86, 0x1FB9, 0xFB86, 0x2022, 0, 0x20, 0x20, 0, 2, 2]),
            // Marks that make the kana before them long, or say it again, voiced.
            (&as_cs::JA, "さー", &[0x1FC1, 0x1FB6, 0, 0x20, 0x20, 0, 0xE, 0xC, 0x21]),
            (&as_cs::JA, "へゞ", &[0x1FD3, 0x1FD3, 0, 0x20, 0x20, 0x37, 0, 0xE, 0xE, 1, 0x21]),
            (&as_cs_ks::JA, "サー", &[0x1FC1, 0x1FB6, 0, 0x20, 0x20, 0, 0xE, 0xC, 0x21, 0, 8, 8]),
            (&as_cs_ks::JA, "aぁ", &[0x1C47, 0x1FB6, 0, 0x20, 0x20, 0, 2, 0xD, 0, 2]),
            (&as_cs_ks::JA, "a", &[0x1C47, 0, 0x20, 0, 2]),
            // The first and the last one that have a sound, and one without.
            (&as_cs::ZH, "阿咗\u{2CEA1}", &[0x1C47, 0xBDBE, 0xBDC3, 0xCEA1, 0, 0x20, 0x20, 0x20, 0, 2, 2, 2]),
            (&as_cs::ZH, "āab", &[0xBDC4, 0xBDC4, 0xBDDD, 0, 0x1F, 0x116, 0x20, 0x20, 0, 2, 2, 2]),
            (&as_cs::ZH, "\u{14646}\u{171A0}", &[0xF620, 0xF621, 0x81A0, 0, 0x20, 0x20, 0, 2, 2]),
            // A word whose first ideograph has another sound than alone.
            (
                &as_cs::ZH,
                "𣐯重庆𨛱",
                &[0x2AD7, 0x2AD7, 0x7BC5, 0xF645, 0x2AD8, 0, 0x20, 0x20, 0x20, 0x20, 0, 2, 2, 2, 2],
            ),
        ] {
            let found = weights(of, text);
            assert_eq!(found, wanted, "{text}: {found:X?}");
        }
        let order =
            |of: &'static Uca, one: &str, other: &str| of.table().compare(Utf8, one.as_bytes(), other.as_bytes());
        assert_eq!(order(&as_cs::DA_UPPER_FIRST, "A", "a"), Ordering::Less);
        assert_eq!(order(&as_cs::JA, "にほんご", "ニホンゴ"), Ordering::Equal);
        for sorted in ["はは", "はハ", "ハは", "ハハ"].windows(2) {
            assert_eq!(order(&as_cs::JA, sorted[0], sorted[1]), Ordering::Equal);
            assert_eq!(order(&as_cs_ks::JA, sorted[0], sorted[1]), Ordering::Less);
        }
        for sorted in ["安", "北京", "春江", "上海", "中"].windows(2) {
            assert_eq!(order(&as_cs::ZH, sorted[0], sorted[1]), Ordering::Less);
        }
    }

    /// The definition: both texts as weights, the shorter one padded where spaces do not count.
    fn compare_slowly(table: &'static Table, a: &[u8], b: &[u8]) -> Ordering {
        let (mut a, mut b) = (table.all_weights(Utf8, a), table.all_weights(Utf8, b));
        if table.pads {
            let length = a.len().max(b.len());
            a.resize(length, table.space.into());
            b.resize(length, table.space.into());
        }
        a.cmp(&b)
    }

    proptest! {
        #[test]
        fn like_knows_what_weighs_the_same(a: char, b: char) {
            for version in TABLES {
                let first = |c: char| Alike(version.table(), Utf8).first(c.to_string().as_bytes()).weight;
                let same = weights(version, &a.to_string()) == weights(version, &b.to_string());
                prop_assert_eq!(first(a) == first(b), same, "{:?}: {:?} and {:?}", version, a, b);
                prop_assert_eq!(first(a), first(a));
            }
        }
    }

    proptest! {
        #[test]
        fn order_key_hash_and_prefix_agree(
            a in "[aAåcCdhzsyßS€中가😀かカガーゝヾ重庆\t\u{1}\u{A0}\u{301}\u{307} !]{0,10}",
            b in "[aAåcCdhzsyßS€中가😀かカガーゝヾ重庆\t\u{1}\u{A0}\u{301}\u{307} !]{0,10}",
            bytes in proptest::collection::vec(any::<u8>(), 0..10),
        ) {
            for version in TABLES {
                let table = version.table();
                for (a, b) in [(a.as_bytes(), b.as_bytes()), (&bytes, a.as_bytes())] {
                    let order = compare_slowly(table, a, b);
                    let (mut first, mut second) = (Vec::new(), Vec::new());
                    table.sort_key(Utf8, a, &mut first);
                    table.sort_key(Utf8, b, &mut second);
                    prop_assert_eq!(first.cmp(&second), order);
                    prop_assert!(order == Ordering::Equal || !(first.starts_with(&second) || second.starts_with(&first)));
                    prop_assert!(order != Ordering::Equal || table.hash(Utf8, a) == table.hash(Utf8, b));
                    if std::str::from_utf8(a).is_ok() {
                        prop_assert_eq!(table.compare(Utf8, a, b), order);
                        // Nothing that begins with b follows what lies behind such texts.
                        let longer = [b, a].concat();
                        let b = &b[..table.plain_prefix(Utf8, b)];
                        prop_assert!(!table.is_behind(Utf8, a, b) || table.compare(Utf8, a, &longer) == Ordering::Greater);
                        prop_assert!(!table.is_behind(Utf8, &longer, b));
                    }
                }
            }
        }
    }
}
