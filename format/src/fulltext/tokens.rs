//! Cutting a text into tokens.

use super::characters::is_of_word;
use crate::collation::Charset;

/// How a text is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parser {
    /// Words as they are written.
    Words,
    /// Every run of so many characters.
    Ngram(u8),
}

/// A part of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token {
    pub start: usize,
    pub end: usize,
    pub chars: usize,
}

impl Token {
    #[inline]
    pub fn of<'t>(&self, text: &'t [u8]) -> &'t [u8] {
        &text[self.start..self.end]
    }
}

/// The tokens of a text in their order, of whatever length.
#[derive(Clone, Debug)]
pub struct Tokens<'t> {
    text: &'t [u8],
    charset: Charset,
    parser: Parser,
    /// Where the next token is looked for.
    at: usize,
    /// Of the ngram parser: the characters from `at` on that are known not to be spaces, and their end.
    ready: usize,
    end: usize,
}

impl<'t> Tokens<'t> {
    pub fn new(text: &'t [u8], charset: Charset, parser: Parser) -> Tokens<'t> {
        Tokens { text, charset, parser, at: 0, ready: 0, end: 0 }
    }

    /// The character at an offset, None where there is no whole one, and its bytes.
    #[inline]
    fn character(&self, at: usize) -> (Option<u32>, usize) {
        match self.text[at] {
            byte if byte.is_ascii() => (Some(u32::from(byte)), 1),
            _ => match self.charset.decode_char(&self.text[at..]) {
                Some((code_point, bytes)) => (Some(code_point), bytes),
                None => (None, 1),
            },
        }
    }

    fn word(&mut self) -> Option<Token> {
        let mut at = self.at;
        let mut start = None;
        let mut chars = 0;
        while at < self.text.len() {
            let (character, bytes) = self.character(at);
            match (character.is_some_and(is_of_word), start) {
                (true, None) => (start, chars) = (Some(at), 1),
                (true, Some(_)) => chars += 1,
                (false, None) => {}
                (false, Some(_)) => break,
            }
            at += bytes;
        }
        self.at = at;
        start.map(|start| Token { start, end: at, chars })
    }

    fn ngram(&mut self, chars: usize) -> Option<Token> {
        self.end = self.end.max(self.at);
        while self.ready < chars {
            if self.end >= self.text.len() {
                return None;
            }
            let (character, bytes) = self.character(self.end);
            self.end += bytes;
            match character {
                Some(character) if character != u32::from(b' ') => self.ready += 1,
                _ => (self.at, self.ready) = (self.end, 0),
            }
        }
        let token = Token { start: self.at, end: self.end, chars };
        self.at += self.character(self.at).1;
        self.ready -= 1;
        Some(token)
    }
}

impl Iterator for Tokens<'_> {
    type Item = Token;

    fn next(&mut self) -> Option<Token> {
        match self.parser {
            Parser::Words => self.word(),
            Parser::Ngram(chars) => self.ngram(usize::from(chars.max(1))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn cut(text: &str, parser: Parser) -> Vec<&str> {
        Tokens::new(text.as_bytes(), Charset::Utf8mb4, parser).map(|token| &text[token.start..token.end]).collect()
    }

    #[test]
    fn words() {
        let text = "  It's a \u{d6}tzi-man, no_1!\u{1f600}x";
        assert_eq!(cut(text, Parser::Words), ["It", "s", "a", "\u{d6}tzi", "man", "no_1", "x"]);
        assert_eq!(cut("", Parser::Words), [""; 0]);
    }

    #[test]
    fn ngrams_do_not_reach_over_spaces() {
        assert_eq!(cut("ab\u{4e2d}d x yz", Parser::Ngram(2)), ["ab", "b\u{4e2d}", "\u{4e2d}d", "yz"]);
        assert_eq!(cut("a,b", Parser::Ngram(2)), ["a,", ",b"]);
        assert_eq!(cut("abc", Parser::Ngram(1)), ["a", "b", "c"]);
    }

    proptest! {
        #[test]
        fn any_bytes_have_tokens_in_their_order(
            text in proptest::collection::vec(prop_oneof![any::<u8>(), Just(b' '), Just(b'a'), Just(0xC3), Just(0xA4)], 0..60),
            ngram in 0_u8..4,
        ) {
            let parser = if ngram == 0 { Parser::Words } else { Parser::Ngram(ngram) };
            for charset in Charset::ALL.into_iter().filter(|charset| !charset.hides_ascii()) {
                let mut last = 0;
                for token in Tokens::new(&text, charset, parser) {
                    prop_assert!(token.start >= last && token.start < token.end && token.end <= text.len());
                    prop_assert_eq!(charset.char_count(token.of(&text)), token.chars);
                    last = if ngram == 0 { token.end } else { token.start + 1 };
                }
            }
        }
    }
}
