//! How a language's collation departs from Unicode's tables: rules in the notation of the Unicode Common Locale Data
//! Repository, and what they make of weights.
//!
//! ```text
//! &N<ñ<<<Ñ        ñ follows n as a letter of its own, Ñ differs from it as capitals do
//! &H<ch           two characters that weigh as one letter: a contraction
//! &AE<<ä          ä weighs as two letters, but for an accent
//! &!T<š           š stands before t
//! &t<<<þ/h        þ weighs as t and h do
//! &!!!ぁ<<<かが|ー  ー behind か or が weighs as ぁ does, but less at the third level
//! ;ǖü\u{304}      a letter that weighs as its parts do, after the rules; ␣ is a space
//! ```
//!
//! A rule's differences count from its reset: behind `&a<b<<<c<d` stand b with the difference 1.0.0, c with 1.0.1, d with
//! 2.0.0. What becomes of them depends on the version:
//!
//! * 4.0.0 has one level. The last weight of the reset grows by the first difference: there are gaps in the tables.
//! * 14.0.0 follows the same rules, and the last weights of all levels grow by their differences.
//! * 9.0.0 appends an element of weights that no character has, and the differences are added to these: `&N<ñ` makes
//!   `[1D91.0020.0002][54A5.0000.0000]` of ñ. Before a letter (`!`) the weight before the last one is reduced by one.
//!
//! Rules are applied one after the other, so that a reset to what an earlier rule has moved follows it.
//!
//! What is beyond rules, all of it of 9.0.0 ([`Language`]):
//!
//! ```text
//! Danish     capitals first: the third weights of capitals, of both and of small letters get 0100, 0200 and 0300 more
//! Japanese   Latin, kana, the 6,355 ideographs of JIS X 0208 in its order, from 54A4 on, other ideographs, all else;
//!            what is behind ideographs has FB86 before each primary weight
//! Chinese    41,336 ideographs by their sounds, from 1C47 on; other ideographs BDBF to BDC3; all else from BDC4 on
//! ```
//!
//! Sources: Unicode Technical Standard 35, part 5; weights observed with `WEIGHT_STRING` on servers.

use std::collections::HashMap;
use std::ops::RangeInclusive;

use super::super::multibyte::Multibyte;
use super::super::unicode::NO_CHARACTER;
use super::{Element, Version};

/// What no character of 9.0.0 weighs, by level.
const EXTRA: Element = [0x54A4, 0x115, 0x20];

/// The same primary weight, where Chinese ideographs have that one.
const CHINESE_EXTRA: u16 = 0xF644;

/// The last primary weight of a character that is in the table, and no ideograph.
const LAST_LETTER: u16 = 0x54A3;

/// The least primary weight of characters whose weights are derived.
const FIRST_DERIVED: u16 = 0xFB00;

/// The weights of the first ideograph in the order of a language.
const JAPANESE_IDEOGRAPHS: u16 = LAST_LETTER + 1;
const CHINESE_IDEOGRAPHS: u16 = FIRST_LETTER;

/// Where Chinese has what is no ideograph.
const BEHIND_CHINESE: u16 = 0xBDC4;

/// Before a primary weight that Japanese has behind all ideographs.
const BEHIND_JAPANESE: u16 = 0xFB86;

/// Ideographs by the sounds of Chinese.
const CHINESE: &str = include_str!("../weights/zh");

/// Elements of one character or contraction that count.
const ELEMENTS_MAX: usize = 8;

/// Letters whose weights lie together.
#[derive(Clone, Copy)]
pub(super) enum Script {
    Latin,
    Cyrillic,
    Kana,
}

/// Languages that change more than their rules say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Language {
    /// Any other.
    Other,
    Danish,
    Japanese,
    Chinese,
}

/// The first primary weight of a letter in 9.0.0.
const FIRST_LETTER: u16 = 0x1C47;

impl Script {
    const fn weights(self) -> RangeInclusive<u16> {
        match self {
            Script::Latin => FIRST_LETTER..=0x1FB5,
            Script::Cyrillic => 0x2022..=0x21E1,
            Script::Kana => 0x3D5A..=0x3D8B,
        }
    }
}

/// The rules of a language, and the scripts that it puts before all others.
#[derive(Clone, Copy)]
pub(super) struct Tailoring {
    rules: &'static str,
    scripts: &'static [Script],
    language: Language,
}

/// Where primary weights go.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Move {
    pub from: RangeInclusive<u16>,
    /// Where the first of them goes.
    pub to: u16,
    /// Another weight that stands before each.
    pub behind: Option<u16>,
}

/// One step of a rule.
#[derive(Default)]
struct Step {
    base: Vec<u32>,
    /// The character that stands before, and keeps its weights.
    context: Option<u32>,
    /// One character, or those of a contraction.
    of: Vec<u32>,
    differences: Element,
    /// The level at which it stands before the base; 0 = behind.
    before: usize,
}

/// What characters and contractions weigh other than in Unicode's table.
#[derive(Default)]
pub(super) struct Tailored {
    pub characters: HashMap<u32, Vec<Element>>,
    pub contractions: Vec<(Vec<u32>, Vec<Element>)>,
}

impl Tailoring {
    pub const NONE: Tailoring = Tailoring::of("");

    pub const fn of(rules: &'static str) -> Tailoring {
        Tailoring { rules, scripts: &[], language: Language::Other }
    }

    pub const fn reordered(self, scripts: &'static [Script]) -> Tailoring {
        Tailoring { scripts, ..self }
    }

    pub const fn of_language(self, language: Language) -> Tailoring {
        Tailoring { language, ..self }
    }

    pub const fn language(&self) -> Language {
        self.language
    }

    /// Where primary weights move once the rules are applied.
    pub fn moves(&self) -> Vec<Move> {
        let (mut moves, mut next) = (Vec::new(), FIRST_LETTER);
        let mut to_next = |from: RangeInclusive<u16>| {
            let to = next;
            next += from.end() - from.start() + 1;
            moves.push(Move { from, to, behind: None });
        };
        for script in self.scripts {
            to_next(script.weights());
        }
        // What stood before and between these scripts follows.
        let mut gaps = Vec::new();
        let mut from = FIRST_LETTER;
        let mut sorted: Vec<_> = self.scripts.iter().map(|script| script.weights()).collect();
        sorted.sort_by_key(|range| *range.start());
        for range in sorted {
            if from < *range.start() {
                gaps.push(from..=range.start() - 1);
            }
            from = range.end() + 1;
        }
        if self.language == Language::Japanese {
            gaps.push(from..=LAST_LETTER);
            moves.extend(gaps.into_iter().map(|gap| {
                let to = *gap.start();
                Move { from: gap, to, behind: Some(BEHIND_JAPANESE) }
            }));
            return moves;
        }
        gaps.into_iter().for_each(to_next);
        moves
    }

    /// The ideographs that a language puts into an order of its own, and their primary weights.
    pub fn ideographs(&self) -> HashMap<u32, u16> {
        match self.language {
            Language::Japanese => {
                // The two levels of JIS X 0208 as EUC has them, row by row.
                let rows = (0xB0..=0xF4).flat_map(|row| (0xA1..=0xFE).map(move |cell| [row, cell]));
                let decoded = rows.filter_map(|bytes| Multibyte::Ujis.decode(&bytes));
                let ideographs = decoded.map(|(code, _)| code).filter(|code| *code != NO_CHARACTER);
                ideographs.zip(JAPANESE_IDEOGRAPHS..).collect()
            }
            Language::Chinese => CHINESE.chars().map(u32::from).zip(CHINESE_IDEOGRAPHS..).collect(),
            _ => HashMap::new(),
        }
    }

    /// What a character of the table weighs before any rule: Chinese makes room for its ideographs.
    pub fn before_rules(&self, elements: &[Element], ideographs: &HashMap<u32, u16>) -> Vec<Element> {
        let mut elements = elements.to_vec();
        if self.language != Language::Chinese {
            return elements;
        }
        let mut at = 0;
        while at < elements.len() {
            let primary = elements[at][0];
            if (FIRST_LETTER..=LAST_LETTER).contains(&primary) {
                elements[at][0] = primary - FIRST_LETTER + BEHIND_CHINESE;
            } else if primary >= FIRST_DERIVED {
                // An ideograph in another form: the second element has the rest of its code point.
                let second = elements.get(at + 1).map_or(0, |element| element[0]);
                let block = [0xFBC0, 0xFB80, 0xFB40].into_iter().find(|block| *block <= primary);
                let code = block.map(|block| u32::from(primary - block) << 15 | u32::from(second & 0x7FFF));
                match code.and_then(|code| ideographs.get(&code)) {
                    Some(weight) => {
                        elements[at][0] = *weight;
                        if let Some(second) = elements.get_mut(at + 1) {
                            second[0] = 0;
                        }
                    }
                    None => elements[at][0] = in_chinese(primary),
                }
                at += 1;
            }
            at += 1;
        }
        elements
    }

    /// The characters that the rules name or rest on.
    pub fn characters(&self) -> impl Iterator<Item = u32> {
        self.rules.chars().map(|c| if c == SPACE { ' ' } else { c }).map(u32::from)
    }

    fn steps(&self) -> Vec<Step> {
        let code_points = |text: &str| text.chars().map(u32::from).collect::<Vec<u32>>();
        let (rules, composed) = self.rules.split_once(';').unwrap_or((self.rules, ""));
        let mut steps = Vec::new();
        for rule in rules.split('&').skip(1) {
            let rule: String = rule.chars().filter(|c| *c != ' ').collect();
            let before = rule.len() - rule.trim_start_matches('!').len();
            let rule = &rule[before..];
            let is_operator = |c: char| c == '<' || c == '=';
            let end = rule.find(is_operator).unwrap_or(rule.len());
            let base = code_points(&rule[..end]);
            let (mut rest, mut differences) = (&rule[end..], Element::default());
            while !rest.is_empty() {
                let operator = rest.len() - rest.trim_start_matches(is_operator).len();
                if !rest.starts_with('=') {
                    differences[operator - 1] += 1;
                    differences[operator..].fill(0);
                }
                rest = &rest[operator..];
                let end = rest.find(is_operator).unwrap_or(rest.len());
                let (of, expansion) = rest[..end].split_once('/').unwrap_or((&rest[..end], ""));
                let base: Vec<u32> = base.iter().copied().chain(expansion.chars().map(u32::from)).collect();
                let (contexts, of) = match of.split_once('|') {
                    Some((contexts, of)) => (contexts.chars().map(|c| Some(u32::from(c))).collect(), of),
                    None => (vec![None], of),
                };
                steps.extend(contexts.into_iter().map(|context| Step {
                    base: base.clone(),
                    context,
                    of: code_points(of),
                    differences,
                    before,
                }));
                rest = &rest[end..];
            }
        }
        for word in composed.split(' ').filter(|word| !word.is_empty()) {
            let mut characters = word.chars();
            let of = characters.next().map(u32::from).into_iter().collect();
            let base = characters.map(|c| if c == SPACE { ' ' } else { c }).map(u32::from).collect();
            steps.push(Step { base, of, ..Step::default() });
        }
        steps
    }

    /// Applies the rules to the weights of the characters that they name.
    pub fn apply(&self, version: Version, untailored: &HashMap<u32, Vec<Element>>) -> Tailored {
        let (mut tailored, mut behind_others) = (Tailored::default(), Vec::new());
        let mut extra = EXTRA;
        if self.language == Language::Chinese {
            extra[0] = CHINESE_EXTRA;
        }
        for step in self.steps() {
            let mut weights = tailored.weights(&step.base, untailored);
            match version {
                Version::V9_0_0(_) => step.append(&mut weights, extra),
                Version::V14_0_0(_) => step.grow(&mut weights, 3),
                _ => step.grow(&mut weights, 1),
            }
            weights.truncate(ELEMENTS_MAX);
            if self.language == Language::Danish {
                step.put_capitals_first(&mut weights, untailored);
            }
            match (step.context, &step.of[..]) {
                (Some(context), of) => behind_others.push((context, of.to_vec(), weights)),
                (None, [character]) => drop(tailored.characters.insert(*character, weights)),
                (None, of) => tailored.contractions.push((of.to_vec(), weights)),
            }
        }
        // What stands before a character may get its own weights by any rule.
        for (context, of, weights) in behind_others {
            let mut all = tailored.weights(&[context], untailored);
            all.extend(weights);
            tailored.contractions.push(([vec![context], of].concat(), all));
        }
        tailored
    }
}

/// Stands for a space, which rules do not count.
const SPACE: char = '␣';

/// The first weight of what is derived, as Chinese has it.
pub(super) fn in_chinese(derived: u16) -> u16 {
    match derived {
        0xFB00 => 0xF621,
        0xFB40 => 0xBDBF,
        0xFB41 => 0xBDC0,
        0xFB80 => 0xBDC1,
        0xFB84 => 0xBDC2,
        0xFB85 => 0xBDC3,
        other => other.wrapping_sub(0xFBC0).wrapping_add(0xF622),
    }
}

/// What the third weight of a letter gets where capitals come first.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Case {
    Upper = 0x100,
    Mixed = 0x200,
    Lower = 0x300,
}

impl Case {
    /// By a third weight of the table.
    fn of(tertiary: u16) -> Case {
        match tertiary {
            0x08..=0x0C | 0x0E | 0x11 | 0x12 | 0x1D => Case::Upper,
            _ => Case::Lower,
        }
    }
}

/// A third weight where capitals come first.
pub(super) fn capitals_first(tertiary: u16) -> u16 {
    match tertiary {
        1..EXTRA_TERTIARY => tertiary | Case::of(tertiary) as u16,
        _ => tertiary,
    }
}

const EXTRA_TERTIARY: u16 = EXTRA[2];

impl Tailored {
    /// What a text weighs, as far as the rules have come.
    fn weights(&self, text: &[u32], untailored: &HashMap<u32, Vec<Element>>) -> Vec<Element> {
        let (mut rest, mut weights) = (text, Vec::new());
        while let Some(first) = rest.first() {
            let longest = self
                .contractions
                .iter()
                .filter(|(characters, _)| rest.starts_with(characters))
                .max_by_key(|(characters, _)| characters.len());
            let (taken, elements) = match longest {
                Some((characters, elements)) => (characters.len(), Some(elements)),
                None => (1, self.characters.get(first).or_else(|| untailored.get(first))),
            };
            weights.extend(elements.into_iter().flatten());
            rest = &rest[taken..];
        }
        weights
    }
}

impl Step {
    /// 4.0.0 and 14.0.0: the last weight of each level grows.
    fn grow(&self, weights: &mut Vec<Element>, levels: usize) {
        if weights.is_empty() {
            weights.push(Element::default());
        }
        for level in 0..levels {
            if let Some(last) = weights.last_mut() {
                last[level] += self.differences[level];
            }
        }
    }

    /// 9.0.0: one more element.
    fn append(&self, weights: &mut Vec<Element>, extra: Element) {
        if self.differences == Element::default() {
            return;
        }
        if let Some(level) = self.before.checked_sub(1)
            && let Some(last) = weights.iter_mut().rev().find(|element| element[level] != 0)
        {
            last[level] -= 1;
        }
        let mut added = Element::default();
        for ((added, base), difference) in added.iter_mut().zip(extra).zip(self.differences) {
            *added = if difference == 0 { 0 } else { base + difference };
        }
        weights.push(added);
    }

    /// Gives third weights the case of the characters that they belong to, as Unicode's table has them. If these have more
    /// letters than there are weights, the last weight has the case of all that are left.
    fn put_capitals_first(&self, weights: &mut [Element], untailored: &HashMap<u32, Vec<Element>>) {
        if weights.iter().any(|element| element[2] > Case::Upper as u16) {
            // A rule before this one has done it.
            return spread_case(weights, 0);
        }
        let has_extra = self.before == 1 || self.differences[0] > 0;
        let letters = weights.iter().filter(|element| element[0] != 0).count().saturating_sub(has_extra.into());
        let cases: Vec<Vec<Case>> = self
            .of
            .iter()
            .map(|code| {
                let elements = untailored.get(code).map_or(&[][..], |elements| elements);
                elements.iter().filter(|element| element[0] != 0).map(|element| Case::of(element[2])).collect()
            })
            .collect();
        let count: usize = cases.iter().map(Vec::len).sum();
        let mut to_copy = if count <= letters { count } else { letters.saturating_sub(1) };
        let (mut left, mut mask, mut behind) = (Vec::new(), 0, 0);
        for case in &cases {
            behind = 0;
            for case in case {
                if to_copy == 0 {
                    left.push(*case);
                    continue;
                }
                to_copy -= 1;
                mask = *case as u16;
                let at = weights[behind..].iter().position(|element| element[0] != 0).unwrap_or(0) + behind;
                weights[at][2] |= mask;
                behind = at + 1;
            }
        }
        let is_letter = |element: &Element| element[0] != 0 && element[0] < EXTRA[0];
        if count <= letters {
            if count < letters
                && let Some(element) = weights.get_mut(behind).filter(|element| is_letter(element))
            {
                element[2] = 0;
            }
        } else {
            let all = |wanted| left.iter().all(|case| *case == wanted);
            let case = match (left.is_empty() || all(Case::Lower), all(Case::Upper)) {
                (true, _) => Case::Lower,
                (_, true) => Case::Upper,
                _ => Case::Mixed,
            };
            mask = case as u16;
            let mut candidates = weights.iter_mut().rev().filter(|element| is_letter(element));
            let skipped = usize::from(has_extra);
            if let Some(element) = candidates.nth(skipped) {
                element[2] |= mask;
            }
        }
        spread_case(weights, mask);
    }
}

/// Weights without a case have that of the last one before them, or else `mask`.
fn spread_case(weights: &mut [Element], mut mask: u16) {
    for element in weights {
        match element[2] {
            tertiary if tertiary > Case::Upper as u16 => mask = tertiary & 0xFF00,
            0 => {}
            _ => element[2] |= mask,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_become_steps() {
        let of = |text: &str| text.chars().map(u32::from).collect::<Vec<u32>>();
        let steps = Tailoring::of("&!b<á<<<Á &t<<<þ/h=x<ch<<y ;ǖü\u{304}").steps();
        let found: Vec<_> = steps.iter().map(|step| (&step.base[..], &step.of[..], step.differences)).collect();
        assert_eq!(
            found,
            [
                (&of("b")[..], &of("á")[..], [1, 0, 0]),
                (&of("b"), &of("Á"), [1, 0, 1]),
                (&of("th"), &of("þ"), [0, 0, 1]),
                (&of("t"), &of("x"), [0, 0, 1]),
                (&of("t"), &of("ch"), [1, 0, 0]),
                (&of("t"), &of("y"), [1, 1, 0]),
                (&of("ü\u{304}"), &of("ǖ"), [0, 0, 0]),
            ]
        );
        assert!(steps[0].before == 1 && steps[2].before == 0);
    }

    #[test]
    fn scripts_move_to_the_front() {
        let moves = |tailoring: Tailoring| -> Vec<_> {
            tailoring.moves().into_iter().map(|one| (one.from, one.to, one.behind)).collect()
        };
        assert_eq!(moves(Tailoring::NONE), []);
        let cyrillic = moves(Tailoring::of("").reordered(&[Script::Cyrillic]));
        assert_eq!(cyrillic, [(0x2022..=0x21E1, 0x1C47, None), (0x1C47..=0x2021, 0x1E07, None)]);
        let croatian = moves(Tailoring::of("").reordered(&[Script::Latin, Script::Cyrillic]));
        let of_croatian =
            [(0x1C47..=0x1FB5, 0x1C47, None), (0x2022..=0x21E1, 0x1FB6, None), (0x1FB6..=0x2021, 0x2176, None)];
        assert_eq!(croatian, of_croatian);
    }
}
