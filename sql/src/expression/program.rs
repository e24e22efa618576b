//! A compiled regular expression.
//!
//! Most patterns run in linear time, on the `regex` crate. What that crate refuses, because no automaton can do it
//! (look-around, back-references, atomic groups, possessive quantifiers), runs by backtracking, whose steps are limited:
//! 3699 beyond that, as in MySQL.

use std::sync::{Arc, OnceLock};

use crate::error::{Error, Result};

/// Compiled programs larger than this are refused.
const PROGRAM_BYTES_MAX: usize = 4 << 20;

/// How often a match may go back: some hundred milliseconds.
const BACKTRACKS_MAX: usize = 1_000_000;

/// How to match: REGEXP_LIKE's match type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    pub ignores_case: bool,
    /// `^` and `$` match at every line.
    pub multiline: bool,
    /// `.` matches a line's end.
    pub dot_matches_newline: bool,
    /// Characters are those of Unicode, and not bytes.
    pub unicode: bool,
}

#[derive(Debug, Clone)]
pub struct Program {
    engine: Engine,
    /// `$` is true before a line's end that ends the text, too. Only such texts need it.
    before_line_end: Option<Arc<BeforeLineEnd>>,
}

#[derive(Debug)]
struct BeforeLineEnd {
    pattern: String,
    options: Options,
    marks: Marks,
    /// With look-ahead, to tell where a match ends.
    exact: OnceLock<Option<Engine>>,
    /// Without, to tell whether there is one: None = something follows a `$` in the pattern.
    linear: OnceLock<Option<Engine>>,
}

impl BeforeLineEnd {
    fn concerns(&self, text: &[u8]) -> bool {
        match text {
            [.., b'\n' | 0x0B | 0x0C | b'\r'] => true,
            [.., 0xC2, 0x85] | [.., 0xE2, 0x80, 0xA8 | 0xA9] => self.options.unicode,
            _ => false,
        }
    }

    fn exact(&self) -> Option<&Engine> {
        let compile = || Engine::backtracking(&self.marks.replaced(&self.pattern, END), self.options).ok();
        self.exact.get_or_init(compile).as_ref()
    }

    fn linear(&self) -> Option<&Engine> {
        let compile = || {
            let pattern = self.marks.are_last.then(|| self.marks.replaced(&self.pattern, END_TAKEN))?;
            Engine::compile(&pattern, self.options).ok()
        };
        self.linear.get_or_init(compile).as_ref()
    }
}

#[derive(Debug, Clone)]
enum Engine {
    Linear(regex::bytes::Regex),
    Backtracking(Arc<fancy_regex::Regex>),
}

/// The end of the text, or of the line that ends it. Between a carriage return and its line feed no line ends.
const END: &str = r"(?=(?:\r\n|(?<!\r)\n|[\x0B\x0C\r\x{85}\x{2028}\x{2029}])?\z)";

/// The same as part of the match, for a text that does not end in both.
const END_TAKEN: &str = r"(?:[\n\x0B\x0C\r\x{85}\x{2028}\x{2029}]?\z)";

/// Where a group has matched.
pub type Span = (usize, usize);

impl Program {
    pub fn compile(pattern: &str, options: Options) -> Result<Program> {
        let marks = Marks::of(pattern);
        let engine = match marks.is_possessive {
            true => Engine::backtracking(pattern, options)
                .map_err(|error| Error::regexp(error.to_string().lines().last().unwrap_or("")))?,
            false => Engine::compile(pattern, options)?,
        };
        let before_line_end = (!marks.ends.is_empty() && !options.multiline).then(|| {
            let (exact, linear) = (OnceLock::new(), OnceLock::new());
            Arc::new(BeforeLineEnd { pattern: pattern.to_string(), options, marks, exact, linear })
        });
        Ok(Program { engine, before_line_end })
    }

    fn engine_for(&self, text: &[u8]) -> &Engine {
        let other = self.before_line_end.as_ref().filter(|other| other.concerns(text));
        other.and_then(|other| other.exact()).unwrap_or(&self.engine)
    }

    pub fn is_match(&self, text: &[u8]) -> Result<bool> {
        let other = self.before_line_end.as_ref().filter(|other| other.concerns(text) && !text.ends_with(b"\r\n"));
        match other.and_then(|other| other.linear()) {
            Some(linear) => linear.is_match(text),
            None => self.engine_for(text).is_match(text),
        }
    }

    /// The first match from an offset on; what stands before it counts for look-behind and anchors.
    pub fn find_at(&self, text: &[u8], at: usize) -> Result<Option<Span>> {
        self.engine_for(text).find_at(text, at)
    }

    /// The same with its groups; the first is the whole match.
    pub fn captures_at(&self, text: &[u8], at: usize) -> Result<Option<Vec<Option<Span>>>> {
        self.engine_for(text).captures_at(text, at)
    }
}

impl Engine {
    fn compile(pattern: &str, options: Options) -> Result<Engine> {
        let linear = regex::bytes::RegexBuilder::new(pattern)
            .unicode(options.unicode)
            .case_insensitive(options.ignores_case)
            .multi_line(options.multiline)
            .dot_matches_new_line(options.dot_matches_newline)
            .size_limit(PROGRAM_BYTES_MAX)
            .build();
        let error = match linear {
            Ok(regex) => return Ok(Engine::Linear(regex)),
            Err(regex::Error::Syntax(text)) => text,
            Err(other) => return Err(Error::regexp(&other.to_string())),
        };
        // If neither takes it, what the first one says is about the pattern as it was written.
        Engine::backtracking(pattern, options).map_err(|_| Error::regexp(error.lines().last().unwrap_or("")))
    }

    fn backtracking(pattern: &str, options: Options) -> std::result::Result<Engine, Box<fancy_regex::Error>> {
        let regex = fancy_regex::RegexBuilder::new(pattern)
            .case_insensitive(options.ignores_case)
            .multi_line(options.multiline)
            .dot_matches_new_line(options.dot_matches_newline)
            .delegate_size_limit(PROGRAM_BYTES_MAX)
            .backtrack_limit(BACKTRACKS_MAX)
            .build();
        Ok(Engine::Backtracking(Arc::new(regex.map_err(Box::new)?)))
    }

    fn is_match(&self, text: &[u8]) -> Result<bool> {
        match self {
            Engine::Linear(regex) => Ok(regex.is_match(text)),
            Engine::Backtracking(regex) => regex.is_match(text).map_err(|_| Error::regexp_timeout()),
        }
    }

    fn find_at(&self, text: &[u8], at: usize) -> Result<Option<Span>> {
        match self {
            Engine::Linear(regex) => Ok(regex.find_at(text, at).map(|found| (found.start(), found.end()))),
            Engine::Backtracking(regex) => {
                let found = regex.find_from_pos(text, at).map_err(|_| Error::regexp_timeout())?;
                Ok(found.map(|found| (found.start(), found.end())))
            }
        }
    }

    fn captures_at(&self, text: &[u8], at: usize) -> Result<Option<Vec<Option<Span>>>> {
        match self {
            Engine::Linear(regex) => Ok(regex.captures_at(text, at).map(|captures| {
                captures.iter().map(|group| group.map(|found| (found.start(), found.end()))).collect()
            })),
            Engine::Backtracking(regex) => {
                let captures = regex.captures_from_pos(text, at).map_err(|_| Error::regexp_timeout())?;
                Ok(captures.map(|captures| {
                    let group = |number| captures.get(number).map(|found| (found.start(), found.end()));
                    (0..captures.len()).map(group).collect()
                }))
            }
        }
    }
}

/// What of a pattern the engines take otherwise than MySQL.
#[derive(Debug)]
struct Marks {
    /// A quantifier has a plus behind it, which the linear engine would take for another quantifier: `a++a` matches
    /// nothing.
    is_possessive: bool,
    /// Where a `$` stands for the end, unless the pattern itself switches to lines.
    ends: Vec<usize>,
    /// Nothing follows any of them: each ends the pattern, or an alternative of the whole.
    are_last: bool,
}

impl Marks {
    fn of(pattern: &str) -> Marks {
        let mut marks = Marks { is_possessive: false, ends: Vec::new(), are_last: true };
        let mut characters = pattern.char_indices();
        let (mut in_class, mut is_quantified, mut switches) = (false, false, false);
        let mut depth = 0;
        let mut bounds = None;
        while let Some((at, character)) = characters.next() {
            if character == '+' && is_quantified && !in_class {
                marks.is_possessive = true;
            }
            is_quantified = false;
            match character {
                '\\' => {
                    characters.next();
                    bounds = None;
                }
                '[' => {
                    in_class = true;
                    bounds = None;
                }
                ']' => in_class = false,
                '(' if !in_class => {
                    let flags = pattern[at..].strip_prefix("(?").unwrap_or("");
                    switches |= flags.chars().take_while(|flag| flag.is_ascii_alphabetic()).any(|flag| flag == 'm');
                    depth += 1;
                    bounds = None;
                }
                ')' if !in_class => {
                    depth -= 1;
                    bounds = None;
                }
                '$' if !in_class => {
                    marks.ends.push(at);
                    marks.are_last &= depth == 0 && matches!(pattern[at + 1..].chars().next(), None | Some('|'));
                    bounds = None;
                }
                '*' | '+' | '?' if !in_class => is_quantified = true,
                '{' if !in_class => bounds = Some(0),
                '0'..='9' | ',' => bounds = bounds.map(|digits: usize| digits + 1),
                '}' => is_quantified = bounds.take().is_some_and(|digits| digits > 0) && !in_class,
                _ => bounds = None,
            }
        }
        if switches {
            marks.ends.clear();
        }
        marks
    }

    fn replaced(&self, pattern: &str, end: &str) -> String {
        let mut out = String::with_capacity(pattern.len() + end.len() * self.ends.len());
        let mut written = 0;
        for &at in &self.ends {
            out.push_str(&pattern[written..at]);
            out.push_str(end);
            written = at + 1;
        }
        out.push_str(&pattern[written..]);
        out
    }
}
