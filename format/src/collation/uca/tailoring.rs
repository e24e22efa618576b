//! How a language's collation departs from Unicode's tables: rules in the notation of the Unicode Common Locale Data
//! Repository, and what they make of weights.
//!
//! ```text
//! &N<ñ<<<Ñ        ñ follows n as a letter of its own, Ñ differs from it as capitals do
//! &H<ch           two characters that weigh as one letter: a contraction
//! &AE<<ä          ä weighs as two letters, but for an accent
//! &!T<š           š stands before t
//! &t<<<þ/h        þ weighs as t and h do
//! ;ǖü\u{304}      a letter that weighs as its parts do, after the rules
//! ```
//!
//! A rule's differences count from its reset: behind `&a<b<<<c<d` stand b with the difference 1.0.0, c with 1.0.1, d with
//! 2.0.0. What becomes of them depends on the version:
//!
//! * 4.0.0 has one level. The last weight of the reset grows by the first difference: there are gaps in the tables.
//! * 9.0.0 appends an element of weights that no character has, and the differences are added to these: `&N<ñ` makes
//!   `[1D91.0020.0002][54A5.0000.0000]` of ñ. Before a letter (`!`) the weight before the last one is reduced by one.
//!
//! Rules are applied one after the other, so that a reset to what an earlier rule has moved follows it.
//!
//! Sources: Unicode Technical Standard 35, part 5; weights observed with `WEIGHT_STRING` on servers.

use std::collections::HashMap;
use std::ops::RangeInclusive;

use super::{Element, Version};

/// What no character of 9.0.0 weighs, by level.
const EXTRA: Element = [0x54A4, 0x115, 0x20];

/// Elements of one character or contraction that count.
const ELEMENTS_MAX: usize = 8;

/// Letters whose weights lie together.
#[derive(Clone, Copy)]
pub(super) enum Script {
    Latin,
    Cyrillic,
}

/// The first primary weight of a letter in 9.0.0.
const FIRST_LETTER: u16 = 0x1C47;

impl Script {
    const fn weights(self) -> RangeInclusive<u16> {
        match self {
            Script::Latin => FIRST_LETTER..=0x1FB8,
            Script::Cyrillic => 0x2022..=0x21E4,
        }
    }
}

/// The rules of a language, and the scripts that it puts before all others.
pub(super) struct Tailoring {
    rules: &'static str,
    scripts: &'static [Script],
}

/// One step of a rule.
#[derive(Default)]
struct Step {
    base: Vec<u32>,
    /// One character, or those of a contraction.
    of: Vec<u32>,
    differences: Element,
    is_before: bool,
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
        Tailoring { rules, scripts: &[] }
    }

    pub const fn reordered(self, scripts: &'static [Script]) -> Tailoring {
        Tailoring { scripts, ..self }
    }

    /// Where primary weights move: ranges, and the first weight of each behind the move.
    pub fn moves(&self) -> Vec<(RangeInclusive<u16>, u16)> {
        let mut moves = Vec::new();
        let mut next = FIRST_LETTER;
        let mut to_next = |range: RangeInclusive<u16>| {
            let length = range.end() - range.start() + 1;
            moves.push((range, next));
            next += length;
        };
        for script in self.scripts {
            to_next(script.weights());
        }
        // What stood before and between these scripts follows.
        let mut from = FIRST_LETTER;
        let mut sorted: Vec<_> = self.scripts.iter().map(|script| script.weights()).collect();
        sorted.sort_by_key(|range| *range.start());
        for range in sorted {
            if from < *range.start() {
                to_next(from..=range.start() - 1);
            }
            from = range.end() + 1;
        }
        moves
    }

    /// The characters that the rules name or rest on.
    pub fn characters(&self) -> impl Iterator<Item = u32> {
        self.rules.chars().map(u32::from)
    }

    fn steps(&self) -> Vec<Step> {
        let (rules, composed) = self.rules.split_once(';').unwrap_or((self.rules, ""));
        let mut steps = Vec::new();
        for rule in rules.split('&').skip(1) {
            let rule: String = rule.chars().filter(|c| *c != ' ').collect();
            let (is_before, rule) = match rule.strip_prefix('!') {
                Some(rest) => (true, rest),
                None => (false, rule.as_str()),
            };
            let is_operator = |c: char| c == '<' || c == '=';
            let end = rule.find(is_operator).unwrap_or(rule.len());
            let base: Vec<u32> = rule[..end].chars().map(u32::from).collect();
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
                let base = base.iter().copied().chain(expansion.chars().map(u32::from)).collect();
                steps.push(Step { base, of: of.chars().map(u32::from).collect(), differences, is_before });
                rest = &rest[end..];
            }
        }
        for word in composed.split_whitespace() {
            let mut characters = word.chars().map(u32::from);
            let of = characters.next().into_iter().collect();
            steps.push(Step { base: characters.collect(), of, ..Step::default() });
        }
        steps
    }

    /// Applies the rules to the weights of the characters that they name.
    pub fn apply(&self, version: Version, untailored: &HashMap<u32, Vec<Element>>) -> Tailored {
        let mut tailored = Tailored::default();
        for step in self.steps() {
            let mut weights = tailored.weights(&step.base, untailored);
            match version {
                Version::V9_0_0(_) => step.append(&mut weights),
                _ => step.grow(&mut weights),
            }
            weights.truncate(ELEMENTS_MAX);
            match step.of[..] {
                [character] => drop(tailored.characters.insert(character, weights)),
                _ => tailored.contractions.push((step.of, weights)),
            }
        }
        tailored
    }
}

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
    /// 4.0.0: the last weight grows.
    fn grow(&self, weights: &mut Vec<Element>) {
        match weights.last_mut() {
            Some(last) => last[0] += self.differences[0],
            None => weights.push([self.differences[0], 0, 0]),
        }
    }

    /// 9.0.0: one more element.
    fn append(&self, weights: &mut Vec<Element>) {
        if self.differences == Element::default() {
            return;
        }
        if self.is_before
            && let Some(last) = weights.iter_mut().rev().find(|element| element[0] != 0)
        {
            last[0] -= 1;
        }
        let mut extra = Element::default();
        for ((extra, base), difference) in extra.iter_mut().zip(EXTRA).zip(self.differences) {
            *extra = if difference == 0 { 0 } else { base + difference };
        }
        weights.push(extra);
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
        assert!(steps[0].is_before && !steps[2].is_before);
    }

    #[test]
    fn scripts_move_to_the_front() {
        assert_eq!(Tailoring::NONE.moves(), []);
        let cyrillic = Tailoring::of("").reordered(&[Script::Cyrillic]).moves();
        assert_eq!(cyrillic, [(0x2022..=0x21E4, 0x1C47), (0x1C47..=0x2021, 0x1E0A)]);
        let croatian = Tailoring::of("").reordered(&[Script::Latin, Script::Cyrillic]).moves();
        assert_eq!(croatian, [(0x1C47..=0x1FB8, 0x1C47), (0x2022..=0x21E4, 0x1FB9), (0x1FB9..=0x2021, 0x217C)]);
    }
}
