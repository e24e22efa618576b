//! A search as steps, and a row's answer.

use std::cell::OnceCell;

use format::collation::Collation;
use format::fulltext::Analyzer;
use regex::bytes::Regex;

use super::syntax::{List, Node, Operator, SyntaxError, Token, parse};
use crate::error::Result;
use crate::parser::ast::MatchMode;

/// What is counted in a row: a word, or all words that begin alike.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    pub word: Box<[u8]>,
    pub prefix: bool,
    /// The word as written, whose rows are counted together: `ice` and `ice*` are one.
    word_number: usize,
}

/// Of more words than this the letters are not looked for.
const SPELLED_WORDS_MAX: usize = 64;

struct Phrase {
    /// Its tokens from the first one on that is a word of the index.
    tokens: Vec<Box<[u8]>>,
    /// Those that are words of the index: their sources.
    sources: Vec<usize>,
    /// Within how many words they must stand, in any order. None: one behind the other.
    distance: Option<u64>,
}

enum Item {
    Source(usize),
    Phrase(usize),
    Group(Vec<Step>),
}

struct Step {
    operator: Operator,
    /// No part that must be there stands before it: it begins a new set.
    first: bool,
    item: Item,
}

/// A compiled search.
pub struct Query {
    sources: Vec<Source>,
    phrases: Vec<Phrase>,
    steps: Vec<Step>,
    /// For each word as written its sources, in the order in which they are first looked for.
    words: Vec<Vec<usize>>,
    /// The sources in the order in which they are looked for, each as often as that is.
    looked_for: Vec<usize>,
    /// See [`Query::has_a_word`].
    spelled: OnceCell<Option<Regex>>,
}

/// How often a row has the words of a source, and how many of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Of the first word that it has.
    pub frequency: u32,
    pub words: u32,
}

/// A row that is asked.
pub trait Document {
    fn counts(&mut self, source: usize) -> Counts;
    /// The texts of the index's columns, to look for phrases.
    fn texts(&mut self) -> Result<&[Option<Vec<u8>>]>;
}

/// How much each word counts: the square of its inverse document frequency is worked out once.
#[derive(Clone, Debug, Default)]
pub struct Relevance {
    weights: Vec<f64>,
}

/// A row on its way through the steps.
#[derive(Default)]
struct State {
    is_member: bool,
    rank: f32,
    words: Vec<bool>,
}

impl State {
    fn leave(&mut self) {
        self.is_member = false;
        self.words.fill(false);
    }

    fn add(&mut self, rank: f32) {
        if !self.is_member {
            *self = State { is_member: true, rank, words: std::mem::take(&mut self.words) };
        }
    }

    fn shift(&mut self, by: f32) {
        if self.is_member {
            self.rank = (self.rank + by).clamp(-1.0, 1.0);
        }
    }
}

impl Query {
    pub fn compile(text: &[u8], mode: MatchMode, analyzer: &Analyzer) -> Result<Query, SyntaxError> {
        let mut list = parse(text, mode.boolean, analyzer)?;
        let mut query = Query {
            sources: Vec::new(),
            phrases: Vec::new(),
            steps: Vec::new(),
            words: Vec::new(),
            looked_for: Vec::new(),
            spelled: OnceCell::new(),
        };
        let mut steps = Steps { steps: Vec::new(), has_exist: false };
        query.visit(Operator::Union, &mut list, &mut steps, analyzer);
        query.steps = steps.steps;
        Ok(query)
    }

    pub fn sources(&self) -> &[Source] {
        &self.sources
    }

    fn source(&mut self, word: &[u8], prefix: bool, analyzer: &Analyzer) -> usize {
        let collation = analyzer.collation();
        let is_it = |source: &Source| source.prefix == prefix && collation.equal(&source.word, word);
        let number = match self.sources.iter().position(is_it) {
            Some(number) => number,
            None => {
                let same = self.sources.iter().find(|source| collation.equal(&source.word, word));
                let word_number = same.map_or(self.words.len(), |source| source.word_number);
                if word_number == self.words.len() {
                    self.words.push(Vec::new());
                }
                self.words[word_number].push(self.sources.len());
                self.sources.push(Source { word: word.into(), prefix, word_number });
                self.sources.len() - 1
            }
        };
        self.looked_for.push(number);
        number
    }

    /// Puts the parts of a list into the order of the steps. Whether something was left for a later pass.
    fn visit(&mut self, operator: Operator, list: &mut List, out: &mut Steps, analyzer: &Analyzer) -> bool {
        use Operator::{Exist, ExistLater, Ignore, IgnoreLater};
        let pass = operator;
        let is_first_pass = !matches!(pass, ExistLater | IgnoreLater);
        let mut operator = operator;
        let mut has_later = false;
        let mut revisit = false;
        // Of each list the operator that stood before it.
        let mut before: Vec<Operator> = vec![Operator::Union; list.nodes.len()];
        let mut done = vec![false; list.nodes.len()];
        for (at, node) in list.nodes.iter_mut().enumerate() {
            match node {
                Node::List(inner) => {
                    if is_first_pass {
                        revisit |= self.visit(operator, inner, out, analyzer);
                        if revisit {
                            before[at] = operator;
                        }
                    }
                }
                Node::Operator(own) => {
                    operator = *own;
                    match operator {
                        Exist => *own = ExistLater,
                        Ignore => *own = IgnoreLater,
                        _ => {}
                    }
                }
                _ => {
                    let now = match (operator, pass) {
                        (Exist | Ignore, _) => {
                            has_later = true;
                            continue;
                        }
                        (ExistLater, ExistLater) => Exist,
                        (IgnoreLater, IgnoreLater) => Ignore,
                        _ if is_first_pass => operator,
                        _ => continue,
                    };
                    self.step(now, node, out, analyzer);
                    done[at] = true;
                }
            }
        }
        if revisit {
            for (at, node) in list.nodes.iter_mut().enumerate() {
                if let Node::List(inner) = node
                    && before[at] != Ignore
                {
                    self.visit(ExistLater, inner, out, analyzer);
                }
            }
            for node in &mut list.nodes {
                if let Node::List(inner) = node {
                    self.visit(IgnoreLater, inner, out, analyzer);
                }
            }
        }
        // What has become a step is no step again.
        let mut at = 0;
        list.nodes.retain(|_| {
            at += 1;
            !done[at - 1]
        });
        has_later
    }

    fn step(&mut self, operator: Operator, node: &mut Node, out: &mut Steps, analyzer: &Analyzer) {
        let item = match node {
            Node::Word { word, prefix } => Item::Source(self.source(word, *prefix, analyzer)),
            Node::Phrase { tokens, distance } => Item::Phrase(self.phrase(tokens, *distance, analyzer)),
            Node::Group(list) => {
                let mut inner = Steps { steps: Vec::new(), has_exist: false };
                self.visit(Operator::Union, list, &mut inner, analyzer);
                Item::Group(inner.steps)
            }
            Node::List(_) | Node::Operator(_) => return,
        };
        out.steps.push(Step { operator, first: !out.has_exist, item });
        out.has_exist |= operator == Operator::Exist;
    }

    fn phrase(&mut self, written: &[Token], distance: Option<u64>, analyzer: &Analyzer) -> usize {
        let mut phrase =
            Phrase { tokens: Vec::new(), sources: Vec::new(), distance: distance.filter(|words| *words > 0) };
        for token in written {
            if analyzer.takes_length(token.chars) && !analyzer.is_stopword(&token.text) {
                let source = self.source(&token.text, false, analyzer);
                phrase.sources.push(source);
            }
            if !phrase.sources.is_empty() {
                phrase.tokens.push(token.text.as_slice().into());
            }
        }
        self.phrases.push(phrase);
        self.phrases.len() - 1
    }

    /// WITH QUERY EXPANSION: also looks for words that the rows found so far have, which come in the collation's order.
    pub fn expand(&mut self, words: &[Vec<u8>], analyzer: &Analyzer) {
        self.spelled = OnceCell::new();
        let known = self.sources.clone();
        for word in words {
            let is_known = |source: &Source| match source.prefix {
                true => analyzer.begins_with(word, &source.word),
                false => analyzer.collation().equal(word, &source.word),
            };
            if !known.iter().any(is_known) {
                let source = self.source(word, false, analyzer);
                self.steps.push(Step { operator: Operator::Union, first: false, item: Item::Source(source) });
            }
        }
    }

    /// How much each word counts, of so many rows, where each source has so many words in all rows.
    pub fn relevance(&self, rows: u64, words: &dyn Fn(usize) -> u64) -> Relevance {
        let mut counts = vec![0_u64; self.words.len()];
        for &source in &self.looked_for {
            counts[self.sources[source].word_number] += words(source);
        }
        // Statistics may not know of the first row yet, which is found all the same.
        let rows = rows.max(1);
        let weight = |count: &u64| match *count {
            0 => 0.0,
            // A word that all rows have counts for little, and not for nothing.
            count if count == rows => 1.0001_f64.log10(),
            count => (rows as f64 / count as f64).log10(),
        };
        Relevance { weights: counts.iter().map(weight).collect() }
    }

    /// How well a row matches; None: it does not.
    pub fn rank(&self, document: &mut dyn Document, relevance: &Relevance, analyzer: &Analyzer) -> Result<Option<f32>> {
        let mut state = State { words: vec![false; self.words.len()], ..State::default() };
        self.run(&self.steps, &mut state, document, analyzer)?;
        if !state.is_member {
            return Ok(None);
        }
        let mut rank = state.rank;
        for (number, sources) in self.words.iter().enumerate() {
            if !state.words[number] {
                continue;
            }
            let frequencies = sources.iter().map(|source| document.counts(*source).frequency);
            let frequency = { frequencies }.find(|frequency| *frequency > 0).unwrap_or(0);
            let idf = relevance.weights[number];
            rank += (f64::from(frequency) * idf * idf) as f32;
        }
        Ok(Some(rank))
    }

    fn run(&self, steps: &[Step], state: &mut State, document: &mut dyn Document, analyzer: &Analyzer) -> Result<()> {
        for step in steps {
            let mut found = State::default();
            match &step.item {
                Item::Source(source) => found.is_member = document.counts(*source).frequency > 0,
                Item::Phrase(phrase) => {
                    found.is_member = self.has_phrase(&self.phrases[*phrase], document, analyzer)?
                }
                Item::Group(inner) => {
                    found.words = vec![false; self.words.len()];
                    self.run(inner, &mut found, document, analyzer)?;
                }
            }
            match (step.operator, found.is_member) {
                (Operator::Exist | Operator::ExistLater, false) => state.leave(),
                (Operator::Exist | Operator::ExistLater, true) if state.is_member => state.shift(found.rank),
                (Operator::Exist | Operator::ExistLater, true) if step.first => state.add(found.rank),
                (Operator::Ignore | Operator::IgnoreLater, true) => state.leave(),
                (Operator::Union, true) => state.add(found.rank),
                (Operator::Negate, true) => state.shift(-1.0),
                (Operator::Lower, true) => {
                    state.add(found.rank);
                    state.shift(-1.0);
                }
                (Operator::Raise, true) => {
                    state.add(found.rank);
                    state.shift(1.0);
                }
                _ => {}
            }
            if !(found.is_member && state.is_member) {
                continue;
            }
            let mut note = |source: usize| state.words[self.sources[source].word_number] = true;
            match &step.item {
                Item::Source(source) => note(*source),
                Item::Phrase(phrase) => self.phrases[*phrase].sources.iter().for_each(|source| note(*source)),
                Item::Group(_) => {
                    state.words.iter_mut().zip(&found.words).for_each(|(own, found)| *own |= found);
                }
            }
        }
        Ok(())
    }

    fn has_phrase(&self, phrase: &Phrase, document: &mut dyn Document, analyzer: &Analyzer) -> Result<bool> {
        if phrase.sources.is_empty() || !phrase.sources.iter().all(|source| document.counts(*source).frequency > 0) {
            return Ok(false);
        }
        if phrase.tokens.len() == 1 {
            return Ok(true);
        }
        let texts = document.texts()?;
        match phrase.distance {
            None => Ok(texts.iter().flatten().any(|text| follow_each_other(text, &phrase.tokens, analyzer))),
            Some(distance) => {
                let words: Vec<&[u8]> = phrase.sources.iter().map(|source| &*self.sources[*source].word).collect();
                Ok(stand_within(texts, &words, distance, analyzer))
            }
        }
    }

    /// Whether some word of the search may be in a text. False only where letters can tell: a word without accents is in a
    /// text without accents if its letters are.
    fn has_a_word(&self, text: &[u8], analyzer: &Analyzer) -> bool {
        let spelled = self.spelled.get_or_init(|| {
            let words = || self.sources.iter().map(|source| &*source.word);
            let tells = has_plain_letters(analyzer.collation()) && words().all(<[u8]>::is_ascii);
            if !tells || self.sources.len() > SPELLED_WORDS_MAX {
                return None;
            }
            let words: Vec<String> = words().map(|word| regex::escape(&String::from_utf8_lossy(word))).collect();
            Regex::new(&format!("(?i-u:{})", words.join("|"))).ok()
        });
        !text.is_ascii() || spelled.as_ref().is_none_or(|spelled| spelled.is_match(text))
    }

    /// The counts of a row by its texts.
    pub fn count(&self, texts: &[Option<Vec<u8>>], analyzer: &Analyzer) -> Vec<Counts> {
        let mut counts = vec![Counts::default(); self.sources.len()];
        if !texts.iter().flatten().any(|text| self.has_a_word(text, analyzer)) {
            return counts;
        }
        match self.is_spelled_in(texts) {
            true => self.count_spelled(texts, analyzer, &mut counts),
            false => self.count_words(texts, analyzer, &mut counts),
        }
        counts
    }

    fn count_words(&self, texts: &[Option<Vec<u8>>], analyzer: &Analyzer, counts: &mut [Counts]) {
        let collation = analyzer.collation();
        let mut exact: Vec<usize> = (0..self.sources.len()).filter(|at| !self.sources[*at].prefix).collect();
        exact.sort_by(|a, b| collation.compare(&self.sources[*a].word, &self.sources[*b].word));
        let prefixes: Vec<usize> = (0..self.sources.len()).filter(|at| self.sources[*at].prefix).collect();
        let mut beginning: Vec<Vec<(Vec<u8>, u32)>> = vec![Vec::new(); prefixes.len()];
        for text in texts.iter().flatten() {
            analyzer.count(text, &mut |word, count| {
                let found = exact.binary_search_by(|at| collation.compare(&self.sources[*at].word, word));
                if let Ok(place) = found {
                    let counts = &mut counts[exact[place]];
                    *counts = Counts { frequency: counts.frequency.saturating_add(count), words: 1 };
                }
                for (place, &at) in prefixes.iter().enumerate() {
                    if analyzer.begins_with(word, &self.sources[at].word) {
                        beginning[place].push((word.to_vec(), count));
                    }
                }
            });
        }
        for (&at, mut words) in prefixes.iter().zip(beginning) {
            words.sort_by(|(a, _), (b, _)| collation.compare(a, b));
            words.dedup_by(|(next, more), (word, count)| {
                let same = collation.equal(word, next);
                *count = if same { count.saturating_add(*more) } else { *count };
                same
            });
            let frequency = words.first().map_or(0, |(_, count)| *count);
            counts[at] = Counts { frequency, words: words.len() as u32 };
        }
    }

    /// Whether [`Query::count_spelled`] counts right.
    fn is_spelled_in(&self, texts: &[Option<Vec<u8>>]) -> bool {
        let is_spelled = self.spelled.get().is_some_and(Option::is_some);
        is_spelled
            && !self.sources.iter().any(|source| source.prefix)
            && texts.iter().flatten().all(|text| text.is_ascii())
    }

    /// Counts words that are equal if their letters are, but for their case: the texts' other words need no order.
    fn count_spelled(&self, texts: &[Option<Vec<u8>>], analyzer: &Analyzer, counts: &mut [Counts]) {
        let by_case = analyzer.collation().is_bytewise();
        for text in texts.iter().flatten() {
            for token in analyzer.tokens(text).filter(|token| analyzer.takes_length(token.chars)) {
                let word = token.of(text);
                for (source, counts) in self.sources.iter().zip(&mut *counts) {
                    let is_it = if by_case { word == &*source.word } else { word.eq_ignore_ascii_case(&source.word) };
                    if is_it {
                        *counts = Counts { frequency: counts.frequency.saturating_add(1), words: 1 };
                    }
                }
            }
        }
        for (source, counts) in self.sources.iter().zip(counts) {
            if counts.words > 0 && analyzer.is_stopword(&source.word) {
                *counts = Counts::default();
            }
        }
    }
}

/// Whether the letters of ASCII are equal to each other in no other way than by case, alone and in sequences. Languages
/// have other rules: in Lithuanian y is i.
fn has_plain_letters(collation: &Collation) -> bool {
    let rules = collation.name.split_once('_').map_or("", |(_, rules)| rules);
    !collation.charset.is_wide()
        && (collation.name == "latin1_swedish_ci"
            || matches!(
                rules,
                "bin"
                    | "general_ci"
                    | "general_cs"
                    | "unicode_ci"
                    | "unicode_520_ci"
                    | "0900_ai_ci"
                    | "0900_as_ci"
                    | "0900_as_cs"
            ))
}

struct Steps {
    steps: Vec<Step>,
    has_exist: bool,
}

/// Whether the tokens of a phrase stand one behind the other in a text.
fn follow_each_other(text: &[u8], phrase: &[Box<[u8]>], analyzer: &Analyzer) -> bool {
    let collation = analyzer.collation();
    // How far each beginning of the phrase has come that is still possible.
    let mut begun: Vec<usize> = Vec::new();
    for token in analyzer.tokens(text) {
        let token = analyzer.fold(token.of(text));
        begun.push(0);
        begun.retain_mut(|matched| {
            let goes_on = collation.equal(&token, &phrase[*matched]);
            *matched += 1;
            goes_on
        });
        if begun.contains(&phrase.len()) {
            return true;
        }
    }
    false
}

/// Whether all words stand somewhere within so many words of the texts, in any order.
fn stand_within(texts: &[Option<Vec<u8>>], words: &[&[u8]], distance: u64, analyzer: &Analyzer) -> bool {
    let collation = analyzer.collation();
    // Where each word was met last.
    let mut last: Vec<Option<u64>> = vec![None; words.len()];
    let mut at = 0_u64;
    for text in texts.iter().flatten() {
        for token in analyzer.tokens(text) {
            let folded = analyzer.fold(token.of(text));
            let mut met = false;
            for (word, last) in words.iter().zip(&mut last) {
                if collation.equal(&folded, word) {
                    *last = Some(at);
                    met = true;
                }
            }
            let first = last.iter().copied().min().flatten();
            if met && first.is_some_and(|first| at - first < distance) {
                return true;
            }
            at += 1;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use format::collation::Collation;
    use format::fulltext::Tokenizer;
    use proptest::prelude::*;

    use super::*;

    fn texts(max: usize) -> impl Strategy<Value = String> {
        let word = "red|Red|blue|BLUE|blues|the|The|a|to|green_1|don't|white";
        prop::collection::vec(word, 0..max).prop_map(|words| words.join(" "))
    }

    proptest! {
        #[test]
        fn letters_tell_how_often_a_word_is_there(
            texts in prop::collection::vec(texts(9), 1..3),
            search in texts(4),
            name in prop::sample::select(vec!["utf8mb4_bin", "utf8mb4_general_ci", "utf8mb4_0900_as_cs", "latin1_swedish_ci"]),
        ) {
            let analyzer = Analyzer::new(&Tokenizer::default(), Collation::by_name(name).unwrap().id);
            let Ok(query) = Query::compile(search.as_bytes(), MatchMode { boolean: false, expansion: false }, &analyzer) else { return Ok(()) };
            let texts: Vec<_> = texts.into_iter().map(|text| Some(text.into_bytes())).collect();
            let mut counts = vec![Counts::default(); query.sources.len()];
            query.count_words(&texts, &analyzer, &mut counts);
            prop_assert_eq!(query.count(&texts, &analyzer), counts);
            let has_some = texts.iter().flatten().any(|text| query.has_a_word(text, &analyzer));
            prop_assert!(!has_some || query.is_spelled_in(&texts));
        }
    }
}
