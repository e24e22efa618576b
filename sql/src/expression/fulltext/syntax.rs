//! The language of searches.
//!
//! ```text
//! query   (item | group)*
//! item    [+ - ~ < >] [*] word [*]      [+ - ~ < >] "phrase" [@ distance]
//! group   [+ - ~ < >] ( query )
//! ```
//!
//! In natural language mode only phrases and `*` between spaces mean something. A word as written may be several of the
//! index (`ice-cream`). Nesting follows InnoDB's grammar, because its order of steps depends on it: what stands before a
//! group is a list of its own.

use format::fulltext::{Analyzer, Parser};

/// The most groups within groups.
const DEPTH_MAX: usize = 32;

/// Where a search is not well-formed: what was met, and what is expected there if that is little.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyntaxError(pub String);

/// What an operator in front of a part means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    /// None: rows with it are added.
    Union,
    /// `+`: only rows with it are kept.
    Exist,
    /// `-`: rows with it are dropped.
    Ignore,
    /// `~`: rows with it that are there count for less.
    Negate,
    /// `<`, `>`: rows with it are added, and count for less, or more.
    Lower,
    Raise,
    /// An `Exist` or `Ignore` that was met in an earlier pass.
    ExistLater,
    IgnoreLater,
}

/// A part of a search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Node {
    /// A folded word.
    Word {
        word: Vec<u8>,
        prefix: bool,
    },
    /// Folded tokens, those that the index does not have included.
    Phrase {
        tokens: Vec<Token>,
        distance: Option<u64>,
    },
    List(List),
    Group(List),
    /// Of what follows it in its list.
    Operator(Operator),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Token {
    pub text: Vec<u8>,
    pub chars: usize,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct List {
    pub nodes: Vec<Node>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lexeme<'t> {
    Symbol(u8),
    Number(&'t [u8]),
    Word(&'t [u8]),
    Text(&'t [u8]),
    End,
}

impl Lexeme<'_> {
    fn name(self) -> String {
        match self {
            Lexeme::Symbol(symbol) => format!("'{}'", char::from(symbol)),
            Lexeme::Number(_) => "FTS_NUMB".into(),
            Lexeme::Word(_) => "FTS_TERM".into(),
            Lexeme::Text(_) => "FTS_TEXT".into(),
            Lexeme::End => "$end".into(),
        }
    }
}

/// Reads a search.
pub(super) fn parse(text: &[u8], boolean: bool, analyzer: &Analyzer) -> Result<List, SyntaxError> {
    if let (Parser::Ngram(_), false) = (analyzer.parser(), boolean) {
        let tokens = analyzer.tokens(text);
        let word =
            |token: format::fulltext::Token| Node::Word { word: analyzer.fold(token.of(text)).into(), prefix: false };
        return Ok(List { nodes: tokens.map(word).collect() });
    }
    let mut reader = Reader { rest: text, boolean, analyzer, depth: 0 };
    let list = reader.list()?;
    match reader.peek() {
        Lexeme::End => Ok(list.unwrap_or_default()),
        other => Err(unexpected(other, " expecting $end")),
    }
}

fn unexpected(found: Lexeme<'_>, expecting: &str) -> SyntaxError {
    let comma = if expecting.is_empty() { "" } else { "," };
    SyntaxError(format!("syntax error, unexpected {}{comma}{expecting}", found.name()))
}

struct Reader<'t> {
    rest: &'t [u8],
    boolean: bool,
    analyzer: &'t Analyzer,
    depth: usize,
}

impl<'t> Reader<'t> {
    fn peek(&self) -> Lexeme<'t> {
        self.lexeme().0
    }

    fn advance(&mut self) {
        self.rest = self.lexeme().1;
    }

    /// The next lexeme, and what follows it.
    fn lexeme(&self) -> (Lexeme<'t>, &'t [u8]) {
        let mut rest = self.rest;
        loop {
            let Some(first) = rest.first() else { return (Lexeme::End, rest) };
            match first {
                b' ' | b'\t' | b'\n' | b'%' => rest = &rest[1..],
                b'"' => {
                    let inner = &rest[1..];
                    match inner.iter().position(|byte| matches!(byte, b'"' | b'\n')) {
                        Some(end) if inner[end] == b'"' => return (Lexeme::Text(&inner[..end]), &inner[end + 1..]),
                        // A quote without its other half is nothing.
                        _ => rest = inner,
                    }
                }
                _ => break,
            }
        }
        let symbols: &[u8] = if self.boolean { b"*()+-<>~@" } else { b"" };
        if symbols.contains(&rest[0]) {
            return (Lexeme::Symbol(rest[0]), &rest[1..]);
        }
        let ends = |byte: &u8| matches!(byte, b'"' | b' ' | b'\n' | b'%') || symbols.contains(byte);
        let end = rest.iter().position(ends).unwrap_or(rest.len());
        let (word, behind) = rest.split_at(end);
        let lexeme = match word {
            b"*" => Lexeme::Symbol(b'*'),
            _ if self.boolean && word.iter().all(u8::is_ascii_digit) => Lexeme::Number(word),
            _ => Lexeme::Word(word),
        };
        (lexeme, behind)
    }

    /// Items and groups up to what can be neither. None: there are none.
    fn list(&mut self) -> Result<Option<List>, SyntaxError> {
        let mut list: Option<List> = None;
        loop {
            let operator = match self.peek() {
                Lexeme::Symbol(b'+') => Some(Operator::Exist),
                Lexeme::Symbol(b'-') => Some(Operator::Ignore),
                Lexeme::Symbol(b'~') => Some(Operator::Negate),
                Lexeme::Symbol(b'<') => Some(Operator::Lower),
                Lexeme::Symbol(b'>') => Some(Operator::Raise),
                _ => None,
            };
            if operator.is_some() {
                self.advance();
            }
            if self.peek() == Lexeme::Symbol(b'(') {
                let group = self.group()?.map(|inner| Node::Group(List { nodes: vec![Node::List(inner)] }));
                let node = match operator {
                    None => group,
                    Some(operator) => {
                        let nodes = std::iter::once(Node::Operator(operator)).chain(group).collect();
                        Some(Node::List(List { nodes }))
                    }
                };
                let before = list.take().map(Node::List);
                list = Some(List { nodes: before.into_iter().chain(node).collect() });
                continue;
            }
            let item = match self.peek() {
                Lexeme::Word(_) | Lexeme::Number(_) | Lexeme::Symbol(b'*') => self.word()?,
                Lexeme::Text(text) => {
                    self.advance();
                    self.phrase(text)?
                }
                other if operator.is_some() => return Err(unexpected(other, "")),
                _ => return Ok(list),
            };
            let node = match operator {
                None => item,
                Some(operator) => {
                    let nodes = std::iter::once(Node::Operator(operator)).chain(item).collect();
                    Some(Node::List(List { nodes }))
                }
            };
            list.get_or_insert_default().nodes.extend(node);
        }
    }

    fn group(&mut self) -> Result<Option<List>, SyntaxError> {
        self.advance();
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(SyntaxError("syntax error, too many groups within groups".into()));
        }
        let inner = self.list()?;
        self.depth -= 1;
        match self.peek() {
            Lexeme::Symbol(b')') => self.advance(),
            other => return Err(unexpected(other, "")),
        }
        Ok(inner)
    }

    /// A word as written: none, one or several of the index.
    fn word(&mut self) -> Result<Option<Node>, SyntaxError> {
        while self.peek() == Lexeme::Symbol(b'*') {
            self.advance();
            if !matches!(self.peek(), Lexeme::Word(_) | Lexeme::Number(_) | Lexeme::Symbol(b'*')) {
                return Err(unexpected(self.peek(), " expecting FTS_TERM or FTS_NUMB or '*'"));
            }
        }
        let (Lexeme::Word(written) | Lexeme::Number(written)) = self.peek() else {
            return Err(unexpected(self.peek(), ""));
        };
        self.advance();
        let is_prefix = self.peek() == Lexeme::Symbol(b'*');
        if is_prefix {
            self.advance();
        }
        if let Parser::Ngram(chars) = self.analyzer.parser() {
            return Ok(self.ngrams(written, is_prefix, usize::from(chars)));
        }
        let (chars_min, chars_max) = self.analyzer.lengths();
        let mut nodes = Vec::new();
        for token in self.analyzer.tokens(written) {
            if token.chars > chars_max || !nodes.is_empty() && token.chars < chars_min {
                continue;
            }
            nodes.push(Node::Word { word: self.analyzer.fold(token.of(written)).into(), prefix: false });
        }
        if is_prefix && let Some(Node::Word { prefix, .. }) = nodes.last_mut() {
            *prefix = true;
        }
        Ok(match nodes.len() {
            0 | 1 => nodes.pop(),
            _ => Some(Node::List(List { nodes })),
        })
    }

    /// With the ngram parser a word is a phrase of ngrams; what is shorter than one, with `*`, is the beginning of one.
    fn ngrams(&self, written: &[u8], is_prefix: bool, chars: usize) -> Option<Node> {
        let charset = self.analyzer.collation().charset;
        if is_prefix && charset.char_count(written) < chars {
            return Some(Node::Word { word: self.analyzer.fold(written).into(), prefix: true });
        }
        Some(Node::Phrase { tokens: self.tokens(written), distance: None })
    }

    fn tokens(&self, text: &[u8]) -> Vec<Token> {
        let token = |token: format::fulltext::Token| Token {
            text: self.analyzer.fold(token.of(text)).into(),
            chars: token.chars,
        };
        self.analyzer.tokens(text).map(token).collect()
    }

    fn phrase(&mut self, text: &[u8]) -> Result<Option<Node>, SyntaxError> {
        let mut distance = None;
        if self.peek() == Lexeme::Symbol(b'@') {
            self.advance();
            let Lexeme::Number(digits) = self.peek() else {
                return Err(unexpected(self.peek(), " expecting FTS_NUMB"));
            };
            self.advance();
            let number = |number: u64, digit: &u8| number.saturating_mul(10).saturating_add(u64::from(digit - b'0'));
            distance = Some(digits.iter().fold(0, number));
        }
        Ok((!text.is_empty()).then(|| Node::Phrase { tokens: self.tokens(text), distance }))
    }
}
