//! The Unicode Collation Algorithm, as far as MySQL's `unicode_ci` (tables of Unicode 4.0.0), `unicode_520_ci` (5.2.0),
//! `0900_ai_ci`, `0900_as_ci`, `0900_as_cs` (9.0.0) and MariaDB's `uca1400` (14.0.0) follow it: a character has any number of
//! primary weights, and texts compare by the weights of their characters.
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
//! Of 14.0.0 a collation may leave out the accents and keep the case (`ai_cs`). There the sequences of characters that
//! Unicode's table itself lists weigh together, in every language: Thai vowels with the consonant behind them, `l·`.
//!
//! The collations of 4.0.0, 5.2.0 and 14.0.0 pad texts with spaces, those of 9.0.0 do not, nor MariaDB's `nopad` ones. Where
//! 14.0.0 has further levels, the shorter text is padded there with what a space weighs, in the `nopad` ones, too. A character
//! beyond the Basic Multilingual Plane weighs FFFD in 4.0.0. At most eight elements of a character count. A Hangul syllable
//! weighs in 9.0.0 as its letters do; in 14.0.0 its weights are derived, as those of what the table has not.
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
    V14_0_0(Sensitive),
}

/// What else than letters a collation of 14.0.0 tells apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sensitive {
    pub accents: bool,
    pub case: bool,
}

impl Version {
    fn packed(self) -> &'static [u8] {
        match self {
            Version::V4_0_0 => include_bytes!("../weights/4.0.0"),
            Version::V5_2_0 => include_bytes!("../weights/5.2.0"),
            Version::V9_0_0(_) => include_bytes!("../weights/9.0.0"),
            Version::V14_0_0(_) => include_bytes!("../weights/14.0.0"),
        }
    }

    /// The number of levels that count.
    const fn levels(self) -> usize {
        match self {
            Version::V9_0_0(levels) => levels as usize,
            Version::V14_0_0(Sensitive { accents, case }) => 1 + accents as usize + case as usize,
            _ => 1,
        }
    }

    /// Which weight of an element counts at a level.
    #[inline]
    const fn weight_at(self, level: usize) -> usize {
        match self {
            Version::V14_0_0(Sensitive { accents: false, .. }) if level > 0 => level + 1,
            _ => level,
        }
    }

    const fn is_new(self) -> bool {
        matches!(self, Version::V9_0_0(_))
    }

    const fn is_mariadbs(self) -> bool {
        matches!(self, Version::V14_0_0(_))
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
        Uca { version, tailoring, pads: !version.is_new(), table: OnceLock::new() }
    }

    const fn unpadded(version: Version, tailoring: Tailoring) -> Uca {
        Uca { version, tailoring, pads: false, table: OnceLock::new() }
    }

    #[inline]
    pub fn table(&'static self) -> &'static Table {
        self.table.get_or_init(|| Table::build(self))
    }

    pub const fn is_new(&self) -> bool {
        self.version.is_new()
    }

    pub const fn levels(&self) -> usize {
        self.version.levels()
    }

    /// Whether i and ı are two letters, which differ in upper case, too.
    pub fn is_turkish(&self) -> bool {
        std::ptr::eq(self, &v4::TURKISH) || V14_0_0[TURKISH].iter().any(|one| std::ptr::eq(self, one))
    }

    /// Whether letters have the case of Unicode 14.0.0.
    pub const fn is_latest(&self) -> bool {
        self.version.is_mariadbs()
    }

    /// The letters that got their case after the version; None: it is that of an older table.
    pub const fn case_of_unicode(&self) -> Option<unicode::Later> {
        match self.version {
            Version::V4_0_0 => None,
            Version::V5_2_0 => Some(unicode::AFTER_5_2_0),
            Version::V9_0_0(_) => Some(unicode::AFTER_9_0_0),
            Version::V14_0_0(_) => Some(&[]),
        }
    }
}

pub(super) static V4_0_0: Uca = Uca::of(Version::V4_0_0, Tailoring::NONE);
pub(super) static V5_2_0: Uca = Uca::of(Version::V5_2_0, Tailoring::NONE);
pub(super) static V4_0_0_NOPAD: Uca = Uca::unpadded(Version::V4_0_0, Tailoring::NONE);
pub(super) static V5_2_0_NOPAD: Uca = Uca::unpadded(Version::V5_2_0, Tailoring::NONE);
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

/// How many collations of a language MariaDB has: with accents and without, with case and without, padded and not.
pub(super) const KINDS: usize = 8;

/// All of 14.0.0, by language and kind in the order of MariaDB's ids.
pub(super) static V14_0_0: [[Uca; KINDS]; LANGUAGES] = {
    use rules::{v4, v14::CROATIAN};
    [
        kinds(Tailoring::NONE),
        kinds(v4::ICELANDIC),
        kinds(v4::LATVIAN),
        kinds(v4::ROMANIAN),
        kinds(v4::SLOVENIAN),
        kinds(v4::POLISH),
        kinds(v4::ESTONIAN),
        kinds(v4::SPANISH),
        kinds(v4::SWEDISH),
        kinds(v4::TURKISH),
        kinds(v4::CZECH),
        kinds(v4::DANISH),
        kinds(v4::LITHUANIAN),
        kinds(v4::SLOVAK),
        kinds(v4::SPANISH2),
        kinds(v4::ROMAN),
        kinds(v4::PERSIAN),
        kinds(v4::ESPERANTO),
        kinds(v4::HUNGARIAN),
        kinds(v4::SINHALA),
        kinds(v4::GERMAN2),
        kinds(v4::VIETNAMESE),
        kinds(CROATIAN),
    ]
};
pub(super) const LANGUAGES: usize = 23;
/// The place of Turkish among them.
const TURKISH: usize = 9;

const fn kinds(tailoring: Tailoring) -> [Uca; KINDS] {
    const fn of(tailoring: Tailoring, accents: bool, case: bool, pads: bool) -> Uca {
        Uca { version: Version::V14_0_0(Sensitive { accents, case }), tailoring, pads, table: OnceLock::new() }
    }
    [
        of(tailoring, false, false, true),
        of(tailoring, false, true, true),
        of(tailoring, true, false, true),
        of(tailoring, true, true, true),
        of(tailoring, false, false, false),
        of(tailoring, false, true, false),
        of(tailoring, true, false, false),
        of(tailoring, true, true, false),
    ]
}

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

    fn u24(&mut self) -> u32 {
        u32::from(self.u16()) | u32::from(self.u8().unwrap_or(0)) << 16
    }

    /// None: no character is left, but perhaps sequences.
    fn code_point(&mut self, last: u32) -> Option<u32> {
        let step = match self.u8()? {
            0 => self.u24(),
            step => u32::from(step),
        };
        (step != 0).then(|| last.wrapping_add(step))
    }

    fn elements(&mut self, has_levels: bool, elements: &mut Vec<Element>) {
        elements.clear();
        for _ in 0..self.u8().unwrap_or(0) {
            elements.push(self.element(has_levels));
        }
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

/// Calls `take` with each character of a packed table, and its elements. Gives the sequences that it lists.
fn for_each_character(version: Version, mut take: impl FnMut(u32, &[Element])) -> Vec<(Vec<u32>, Vec<Element>)> {
    let mut packed = Packed(version.packed());
    let has_levels = matches!(version, Version::V9_0_0(_) | Version::V14_0_0(_));
    let mut elements = Vec::new();
    let mut code = u32::MAX;
    while let Some(next) = packed.code_point(code) {
        code = next;
        packed.elements(has_levels, &mut elements);
        take(code, &elements);
    }
    let mut sequences = Vec::new();
    while let Some(length) = packed.u8() {
        let characters = (0..length).map(|_| packed.u24()).collect();
        packed.elements(has_levels, &mut elements);
        sequences.push((characters, elements.clone()));
    }
    sequences
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
            let (from, at) = (key.len(), table.version.weight_at(level));
            key.push(0);
            key.extend(elements.iter().map(|one| one[at]).filter(|weight| *weight != 0));
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
        let mut sequences = for_each_character(of.version, |code, elements| match language {
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
        // Those of the language come last, and so before the table's.
        sequences.extend(tailored.contractions);
        let contractions = sequences.into_iter().map(of_contraction).collect();
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
        let is_new = self.version.is_new();
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
            let at = self.version.weight_at(level);
            return Weighs::these(&COMMON[at - 1..at]);
        }
        let latest = self.version.is_mariadbs();
        let (base, low) = match code {
            0x17000..=0x18AFF | 0x18D00..=0x18D7F if latest => (base_before(0xFB00, code), code - 0x17000),
            0x18B00..=0x18CFF if latest => (base_before(0xFB02, code), code - 0x18B00),
            0x1B170..=0x1B2FF if latest => (base_before(0xFB01, code), code - 0x1B170),
            0x20000..=0x2A6DF | 0x2A700..=0x2B738 | 0x2CEB0..=0x2EBE0 | 0x30000..=0x3134A if latest => (0xFB80, code),
            0x2B740..=0x2B81D | 0x2B820..=0x2CEA1 | 0x3400..=0x4DBF if latest => (0xFB80, code),
            0x4E00..=0x9FFF | 0xFA0E..=0xFA29 if latest => (0xFB40, code),
            0x17000..=0x18AFF if is_new => (base_before(0xFB00, code), code - 0x17000),
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

    /// What pads the shorter text at a level, if anything does.
    #[inline]
    fn padding(&self, level: usize) -> Option<u32> {
        match level {
            0 => self.pads.then_some(self.space.into()),
            // The further levels of 14.0.0 are padded even where the first one is not.
            _ if self.version.is_mariadbs() => Some(COMMON[self.version.weight_at(level) - 1].into()),
            _ => None,
        }
    }

    /// The weights of all levels, in 9.0.0 with a zero between two levels.
    pub fn all_weights(&'static self, encoding: impl Encoding, text: &[u8]) -> Vec<u32> {
        let mut all: Vec<u32> = self.weights(encoding, text, 0).collect();
        for level in 1..self.version.levels() {
            let mut weights = self.weights(encoding, text, level).peekable();
            if level == KANA && weights.peek().is_none() {
                break;
            }
            if self.version.is_new() {
                all.push(0);
            }
            all.extend(weights);
        }
        all
    }

    pub fn compare(&'static self, encoding: impl Encoding, a: &[u8], b: &[u8]) -> Ordering {
        let common = order::common_prefix(a, b);
        if common == a.len() && common == b.len() {
            return Ordering::Equal;
        }
        let start = encoding.start(a, common).min(encoding.start(b, common));
        let start = match &self.contractions {
            None => start,
            Some(contractions) => contractions.boundary(encoding, a, start),
        };
        let (a, b) = (&a[start..], &b[start..]);
        let by_level = |level| match self.padding(level) {
            Some(space) => self.compare_padded(encoding, a, b, level, space),
            None => self.weights(encoding, a, level).cmp(self.weights(encoding, b, level)),
        };
        let mut by_level = (0..self.version.levels()).map(by_level);
        by_level.find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
    }

    fn compare_padded(
        &'static self,
        encoding: impl Encoding,
        a: &[u8],
        b: &[u8],
        level: usize,
        space: u32,
    ) -> Ordering {
        let (mut a, mut b) = (self.weights(encoding, a, level), self.weights(encoding, b, level));
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
        match self.padding(0) {
            _ if self.version.is_mariadbs() => (0..self.version.levels()).fold(0, |hash, level| {
                let of_level = order::hash_of(of_level(level), self.padding(level));
                hash.rotate_left(5) ^ of_level
            }),
            Some(space) => order::hash_of(of_level(0), Some(space)),
            None => order::hash_of((0..self.version.levels()).flat_map(of_level), None),
        }
    }

    pub fn sort_key(&'static self, encoding: impl Encoding, text: &[u8], out: &mut Vec<u8>) {
        for level in 0..self.version.levels() {
            let weights = self.weights(encoding, text, level);
            if let Some(space) = self.padding(level) {
                order::sort_key_of(weights, space, size_of::<u16>(), out);
                continue;
            }
            weights.for_each(|weight| out.extend_from_slice(&(weight as u16).to_be_bytes()));
            // Less than any weight.
            out.extend_from_slice(&[0, 0]);
        }
    }

    /// Whether a text lies behind all texts whose weights begin with those of `prefix`.
    pub fn is_behind(&'static self, encoding: impl Encoding, text: &[u8], prefix: &[u8]) -> bool {
        let pad = self.padding(0).unwrap_or(0);
        let mut weights = self.weights(encoding, text, 0);
        let difference = self.weights(encoding, prefix, 0).find_map(|wanted| {
            let found = weights.next().unwrap_or(pad);
            (found != wanted).then_some(found > wanted)
        });
        difference == Some(true)
    }
}

/// What becomes `base` when the first bits of a code point are added to it.
fn base_before(base: u16, code: u32) -> u16 {
    base.wrapping_sub((code >> 15) as u16)
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

    static TABLES: [&Uca; 23] = [
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
        &V14_0_0[0][0],
        &V14_0_0[0][1],
        &V14_0_0[0][3],
        &V14_0_0[0][5],
        &V14_0_0[0][7],
        &V14_0_0[11][3],
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

    #[test]
    fn what_characters_weigh_in_14() {
        let [[ai_ci, ai_cs, as_ci, as_cs, .., unpadded], ..] = &V14_0_0;
        for (text, fully) in [
            ("a", &[0x2075, 0x20, 2][..]),
            ("Á", &[0x2075, 0x20, 0x24, 8, 2]),
            ("\u{1}", &[]),
            // What weighs together.
            ("l·", &[0x21B0, 0x20, 0x118, 2, 2]),
            ("เก", &[0x3339, 0x3373, 0x20, 0x20, 2, 2]),
            ("가", &[0xFBC1, 0xAC00, 0x20, 2]),
            ("\u{18B00}", &[0xFB02, 0x8000, 0x20, 2]),
            ("\u{30000}", &[0xFB86, 0x8000, 0x20, 2]),
        ] {
            assert_eq!(weights(as_cs, text), fully, "{text:?}");
            let primary = |weight: &u32| *weight >= 0x200;
            let of =
                |keeps: fn(&u32) -> bool| fully.iter().copied().filter(|w| primary(w) || keeps(w)).collect::<Vec<_>>();
            assert_eq!(weights(ai_ci, text), of(|_| false), "{text:?}");
            assert_eq!(weights(ai_cs, text), of(|weight| *weight < 0x20), "{text:?}");
            assert_eq!(weights(as_ci, text), of(|weight| *weight >= 0x20), "{text:?}");
        }
        let order =
            |of: &'static Uca, one: &str, other: &str| of.table().compare(Utf8, one.as_bytes(), other.as_bytes());
        // The accent has a weight of case, too, and stands before that of the next letter.
        assert_eq!(order(ai_cs, "a", "á"), Ordering::Equal);
        assert_eq!(order(ai_cs, "aB", "áB"), Ordering::Greater);
        assert_eq!(order(as_cs, "a", "a "), Ordering::Equal);
        assert_eq!(order(unpadded, "a", "a "), Ordering::Less);
    }

    /// The definition: both texts as weights, level by level, the shorter one padded where spaces do not count.
    fn compare_slowly(table: &'static Table, a: &[u8], b: &[u8]) -> Ordering {
        let at_level = |level| {
            let [mut a, mut b] = [a, b].map(|text| table.weights(Utf8, text, level).collect::<Vec<u32>>());
            if let Some(space) = table.padding(level) {
                let length = a.len().max(b.len());
                a.resize(length, space);
                b.resize(length, space);
            }
            a.cmp(&b)
        };
        (0..table.version.levels()).map(at_level).find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
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
            a in "[aAåcCdhzsyßSl·เก€中가😀かカガーゝヾ重庆\t\u{1}\u{A0}\u{301}\u{307} !]{0,10}",
            b in "[aAåcCdhzsyßSl·เก€中가😀かカガーゝヾ重庆\t\u{1}\u{A0}\u{301}\u{307} !]{0,10}",
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
