//! A compiled regular expression.
//!
//! Most patterns run in linear time, on the `regex` crate. What that crate refuses, because no automaton can do it
//! (look-around, back-references, atomic groups, possessive quantifiers), runs by backtracking, whose steps are limited:
//! 3699 beyond that, as in MySQL.

use std::sync::Arc;

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
pub enum Program {
    Linear(regex::bytes::Regex),
    Backtracking(Arc<fancy_regex::Regex>),
}

/// Where a group has matched.
pub type Span = (usize, usize);

impl Program {
    pub fn compile(pattern: &str, options: Options) -> Result<Program> {
        if has_possessive(pattern) {
            return Program::backtracking(pattern, options)
                .map_err(|error| Error::regexp(error.to_string().lines().last().unwrap_or("")));
        }
        let linear = regex::bytes::RegexBuilder::new(pattern)
            .unicode(options.unicode)
            .case_insensitive(options.ignores_case)
            .multi_line(options.multiline)
            .dot_matches_new_line(options.dot_matches_newline)
            .size_limit(PROGRAM_BYTES_MAX)
            .build();
        let error = match linear {
            Ok(regex) => return Ok(Program::Linear(regex)),
            Err(regex::Error::Syntax(text)) => text,
            Err(other) => return Err(Error::regexp(&other.to_string())),
        };
        // If neither takes it, what the first one says is about the pattern as it was written.
        Program::backtracking(pattern, options).map_err(|_| Error::regexp(error.lines().last().unwrap_or("")))
    }

    fn backtracking(pattern: &str, options: Options) -> std::result::Result<Program, Box<fancy_regex::Error>> {
        let regex = fancy_regex::RegexBuilder::new(pattern)
            .case_insensitive(options.ignores_case)
            .multi_line(options.multiline)
            .dot_matches_new_line(options.dot_matches_newline)
            .delegate_size_limit(PROGRAM_BYTES_MAX)
            .backtrack_limit(BACKTRACKS_MAX)
            .build();
        Ok(Program::Backtracking(Arc::new(regex.map_err(Box::new)?)))
    }

    pub fn is_match(&self, text: &[u8]) -> Result<bool> {
        match self {
            Program::Linear(regex) => Ok(regex.is_match(text)),
            Program::Backtracking(regex) => regex.is_match(text).map_err(|_| Error::regexp_timeout()),
        }
    }

    /// The first match from an offset on; what stands before it counts for look-behind and anchors.
    pub fn find_at(&self, text: &[u8], at: usize) -> Result<Option<Span>> {
        match self {
            Program::Linear(regex) => Ok(regex.find_at(text, at).map(|found| (found.start(), found.end()))),
            Program::Backtracking(regex) => {
                let found = regex.find_from_pos(text, at).map_err(|_| Error::regexp_timeout())?;
                Ok(found.map(|found| (found.start(), found.end())))
            }
        }
    }

    /// The same with its groups; the first is the whole match.
    pub fn captures_at(&self, text: &[u8], at: usize) -> Result<Option<Vec<Option<Span>>>> {
        match self {
            Program::Linear(regex) => Ok(regex.captures_at(text, at).map(|captures| {
                captures.iter().map(|group| group.map(|found| (found.start(), found.end()))).collect()
            })),
            Program::Backtracking(regex) => {
                let captures = regex.captures_from_pos(text, at).map_err(|_| Error::regexp_timeout())?;
                Ok(captures.map(|captures| {
                    let group = |number| captures.get(number).map(|found| (found.start(), found.end()));
                    (0..captures.len()).map(group).collect()
                }))
            }
        }
    }
}

/// Whether a quantifier has a plus behind it, which the linear engine would take for another quantifier: `a++a` matches
/// nothing.
fn has_possessive(pattern: &str) -> bool {
    let mut characters = pattern.chars();
    let (mut in_class, mut is_quantified) = (false, false);
    let mut bounds = None;
    while let Some(character) = characters.next() {
        if character == '+' && is_quantified && !in_class {
            return true;
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
            '*' | '+' | '?' if !in_class => is_quantified = true,
            '{' if !in_class => bounds = Some(0),
            '0'..='9' | ',' => bounds = bounds.map(|digits: usize| digits + 1),
            '}' => is_quantified = bounds.take().is_some_and(|digits| digits > 0) && !in_class,
            _ => bounds = None,
        }
    }
    false
}
