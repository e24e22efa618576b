//! The words of a text, counted.

use std::borrow::Cow;

use super::{Parser, Token, Tokens, WORD_CHARS_MAX};
use crate::collation::{Charset, Collation, CollationId, collation, convert};

/// The words that an index leaves out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stopwords {
    None,
    /// [`DEFAULT_STOPWORDS`].
    Default,
    /// Of a table when the index was created, in UTF-8.
    Listed(Box<[Box<str>]>),
}

/// InnoDB's own list.
pub const DEFAULT_STOPWORDS: [&str; 36] = [
    "a", "about", "an", "are", "as", "at", "be", "by", "com", "de", "en", "for", "from", "how", "i", "in", "is", "it",
    "la", "of", "on", "or", "that", "the", "this", "to", "was", "what", "when", "where", "who", "will", "with", "und",
    "the", "www",
];

/// What a full-text index does with texts, fixed when it is created.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tokenizer {
    pub parser: Parser,
    /// Shorter words are left out, and longer ones; the ngram parser does not look.
    pub chars_min: u8,
    pub chars_max: u8,
    pub stopwords: Stopwords,
}

impl Default for Tokenizer {
    fn default() -> Tokenizer {
        let stopwords = Stopwords::Default;
        Tokenizer { parser: Parser::Words, chars_min: 3, chars_max: WORD_CHARS_MAX, stopwords }
    }
}

/// A tokenizer for texts of one collation.
#[derive(Clone, Debug)]
pub struct Analyzer {
    parser: Parser,
    chars_min: usize,
    chars_max: usize,
    collation: &'static Collation,
    /// Folded, in the order of the collation.
    stopwords: Vec<Box<[u8]>>,
}

impl Analyzer {
    pub fn new(tokenizer: &Tokenizer, id: CollationId) -> Analyzer {
        let collation = collation(id);
        let mut analyzer = Analyzer {
            parser: tokenizer.parser,
            chars_min: usize::from(tokenizer.chars_min),
            chars_max: usize::from(tokenizer.chars_max.min(WORD_CHARS_MAX)),
            collation,
            stopwords: Vec::new(),
        };
        let mut add = |word: &str| {
            let mut own = Vec::new();
            // A word that the character set cannot express occurs in no text.
            if convert(word.as_bytes(), Charset::Utf8mb4, collation.charset, &mut own) && !own.is_empty() {
                let folded = analyzer.fold(&own).into();
                analyzer.stopwords.push(folded);
            }
        };
        match &tokenizer.stopwords {
            Stopwords::None => {}
            Stopwords::Default => DEFAULT_STOPWORDS.into_iter().for_each(&mut add),
            Stopwords::Listed(words) => words.iter().for_each(|word| add(word)),
        }
        analyzer.stopwords.sort_by(|a, b| collation.compare(a, b));
        analyzer
    }

    #[inline]
    pub fn collation(&self) -> &'static Collation {
        self.collation
    }

    #[inline]
    pub fn parser(&self) -> Parser {
        self.parser
    }

    /// The tokens of a text, whether they are words of the index or not.
    #[inline]
    pub fn tokens<'t>(&self, text: &'t [u8]) -> Tokens<'t> {
        Tokens::new(text, self.collation.charset, self.parser)
    }

    /// As the index spells a token: in lower case, unless its collation compares bytes.
    pub fn fold<'t>(&self, token: &'t [u8]) -> Cow<'t, [u8]> {
        if self.collation.is_bytewise() {
            return Cow::Borrowed(token);
        }
        let mut folded = Vec::with_capacity(token.len());
        self.collation.charset.lower(token, &mut folded);
        Cow::Owned(folded)
    }

    /// Whether the index has words of so many characters.
    #[inline]
    pub fn takes_length(&self, chars: usize) -> bool {
        match self.parser {
            Parser::Words => (self.chars_min..=self.chars_max).contains(&chars),
            Parser::Ngram(_) => true,
        }
    }

    /// The bounds of [`Self::takes_length`].
    pub fn lengths(&self) -> (usize, usize) {
        match self.parser {
            Parser::Words => (self.chars_min, self.chars_max),
            Parser::Ngram(chars) => (usize::from(chars), usize::from(chars)),
        }
    }

    /// Whether the index leaves out a folded token.
    pub fn is_stopword(&self, folded: &[u8]) -> bool {
        match self.parser {
            Parser::Words => self.stopwords.binary_search_by(|word| self.collation.compare(word, folded)).is_ok(),
            Parser::Ngram(_) => self.stopwords.iter().any(|word| self.collation.find(folded, word, 0).is_some()),
        }
    }

    /// Calls the closure with each word of a text and how often it occurs, in the order of the collation.
    pub fn count(&self, text: &[u8], each: &mut dyn FnMut(&[u8], u32)) {
        // All tokens one behind the other, then in the order of their bytes.
        let mut folded = Vec::with_capacity(text.len());
        let mut places: Vec<(usize, u16)> = Vec::new();
        let folds = !self.collation.is_bytewise();
        for Token { start, end, chars } in self.tokens(text) {
            if !self.takes_length(chars) {
                continue;
            }
            let at = folded.len();
            match folds {
                true => self.collation.charset.lower(&text[start..end], &mut folded),
                false => folded.extend_from_slice(&text[start..end]),
            }
            places.push((at, (folded.len() - at) as u16));
        }
        let of = |(start, bytes): (usize, u16)| &folded[start..start + usize::from(bytes)];
        places.sort_unstable_by(|a, b| of(*a).cmp(of(*b)));
        let mut words: Vec<((usize, u16), u32)> = Vec::new();
        for place in places {
            match words.last_mut() {
                Some((last, count)) if of(*last) == of(place) => *count = count.saturating_add(1),
                _ => words.push((place, 1)),
            }
        }
        // A stable sort: of equal words the first in bytes stays in front.
        words.sort_by(|(a, _), (b, _)| self.collation.compare(of(*a), of(*b)));
        let mut left = words.into_iter().peekable();
        while let Some((word, mut count)) = left.next() {
            while let Some((_, more)) = left.next_if(|(next, _)| self.collation.equal(of(word), of(*next))) {
                count = count.saturating_add(more);
            }
            if !self.is_stopword(of(word)) {
                each(of(word), count);
            }
        }
    }

    /// Whether a folded word begins with a folded prefix.
    pub fn begins_with(&self, word: &[u8], prefix: &[u8]) -> bool {
        let mut pattern = Vec::with_capacity(prefix.len() + 1);
        for byte in prefix {
            if matches!(byte, b'%' | b'_' | b'\\') {
                pattern.push(b'\\');
            }
            pattern.push(*byte);
        }
        pattern.push(b'%');
        self.collation.like(word, &pattern, Some(u32::from(b'\\')))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn words(analyzer: &Analyzer, text: &[u8]) -> Vec<(String, u32)> {
        let mut words = Vec::new();
        analyzer.count(text, &mut |word, count| words.push((String::from_utf8_lossy(word).into_owned(), count)));
        words
    }

    fn pairs(expected: &[(&str, u32)]) -> Vec<(String, u32)> {
        expected.iter().map(|(word, count)| (word.to_string(), *count)).collect()
    }

    #[test]
    fn the_picture_of_the_module() {
        let general = Analyzer::new(&Tokenizer::default(), CollationId::UTF8MB4_GENERAL_CI);
        let text = "The \u{d6}tzi, the \u{f6}tzi and 3 ice-men".as_bytes();
        assert_eq!(words(&general, text), pairs(&[("and", 1), ("ice", 1), ("men", 1), ("\u{f6}tzi", 2)]));
        let bin = Analyzer::new(&Tokenizer::default(), CollationId::UTF8MB4_BIN);
        let expected = [("The", 1), ("and", 1), ("ice", 1), ("men", 1), ("\u{d6}tzi", 1), ("\u{f6}tzi", 1)];
        assert_eq!(words(&bin, text), pairs(&expected));
    }

    #[test]
    fn words_that_the_collation_takes_for_equal_are_one() {
        let general = Analyzer::new(&Tokenizer::default(), CollationId::UTF8MB4_GENERAL_CI);
        assert_eq!(words(&general, "na\u{ef}ve NAIVE naive".as_bytes()), pairs(&[("naive", 3)]));
    }

    #[test]
    fn lengths_and_stopwords() {
        let listed = Stopwords::Listed(["Eggs".into()].into());
        let tokenizer = Tokenizer { parser: Parser::Words, chars_min: 2, chars_max: 4, stopwords: listed };
        let analyzer = Analyzer::new(&tokenizer, CollationId::LATIN1_SWEDISH_CI);
        assert_eq!(words(&analyzer, b"a of eggs bacon spam"), pairs(&[("of", 1), ("spam", 1)]));
        let ngrams =
            Tokenizer { parser: Parser::Ngram(2), stopwords: Stopwords::Listed([",".into()].into()), ..tokenizer };
        let analyzer = Analyzer::new(&ngrams, CollationId::UTF8MB4_GENERAL_CI);
        assert_eq!(words(&analyzer, b"ab,bab"), pairs(&[("ab", 2), ("ba", 1)]));
    }

    #[test]
    fn prefixes() {
        let general = Analyzer::new(&Tokenizer::default(), CollationId::UTF8MB4_GENERAL_CI);
        assert!(general.begins_with("\u{e9}t\u{e9}".as_bytes(), b"et"));
        assert!(!general.begins_with(b"axb", b"a_b") && general.begins_with(b"a_b", b"a_"));
    }

    proptest! {
        #[test]
        fn words_are_in_order_and_counted(
            tokens in proptest::collection::vec("[aAbB\u{e4}\u{c4}\u{df}s]{1,4}", 0..40),
            ill in proptest::collection::vec(any::<u8>(), 0..6),
        ) {
            let mut text = tokens.join(" ").into_bytes();
            text.extend_from_slice(b" ");
            text.extend_from_slice(&ill);
            for known in crate::collation::collations().iter().filter(|known| !known.charset.hides_ascii()) {
                let tokenizer = Tokenizer { chars_min: 1, stopwords: Stopwords::None, ..Tokenizer::default() };
                let analyzer = Analyzer::new(&tokenizer, known.id);
                let mut found: Vec<(Vec<u8>, u32)> = Vec::new();
                analyzer.count(&text, &mut |word, count| found.push((word.to_vec(), count)));
                prop_assert!(found.is_sorted_by(|(a, _), (b, _)| known.compare(a, b).is_lt()));
                for (word, count) in &found {
                    let same = |token: &Token| known.equal(&analyzer.fold(token.of(&text)), word);
                    prop_assert_eq!(analyzer.tokens(&text).filter(same).count(), *count as usize);
                }
                let total: u32 = found.iter().map(|(_, count)| *count).sum();
                let long = analyzer.tokens(&text).filter(|token| token.chars > usize::from(WORD_CHARS_MAX)).count();
                prop_assert_eq!(total as usize + long, analyzer.tokens(&text).count());
            }
        }
    }
}
