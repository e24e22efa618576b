//! LIKE's escape character, and REGEXP.
//!
//! MySQL 8's syntax of regular expressions (ICU's) and MariaDB's (PCRE's) agree with that of [`super::program`].

use std::borrow::Cow;
use std::sync::Arc;

use format::collation::{Charset, CollationId, collation};

use super::Datum;
use super::program::{Options, Program};
use crate::error::{Error, Result};

/// A regular expression compiled when the plan was made, if its pattern is a constant.
#[derive(Debug, Clone, Default)]
pub struct Regex {
    pub compiled: Option<Arc<Program>>,
    pub collation: Option<CollationId>,
}

impl PartialEq for Regex {
    /// The pattern itself is the expression's beside it.
    fn eq(&self, other: &Regex) -> bool {
        self.collation == other.collation
    }
}

/// How to match, as a collation implies it: one that ignores case makes the match do so.
pub fn options_of(id: CollationId) -> Options {
    let collation = collation(id);
    Options {
        ignores_case: !collation.is_case_sensitive(),
        multiline: false,
        dot_matches_newline: false,
        unicode: !collation.is_binary(),
    }
}

/// Compiles a pattern as its collation implies.
pub fn compile(pattern: &[u8], id: CollationId) -> Result<Program> {
    compile_with(pattern, id, options_of(id))
}

/// Compiles a pattern.
pub fn compile_with(pattern: &[u8], id: CollationId, options: Options) -> Result<Program> {
    if pattern.is_empty() {
        return Err(Error::new(3685, b"HY000", "Illegal argument to a regular expression."));
    }
    let collation = collation(id);
    let text = String::from_utf8_lossy(&in_utf8(pattern, collation.charset)).into_owned();
    let text = if collation.is_binary() { text } else { unicode_classes(&text) };
    Program::compile(&text, options)
}

/// `[:alpha:]` and its like name the characters of all scripts, where the crate means those of ASCII.
fn unicode_classes(pattern: &str) -> String {
    const CLASSES: [(&str, &str); 5] = [
        ("alpha", r"\p{Alphabetic}"),
        ("lower", r"\p{Lowercase}"),
        ("upper", r"\p{Uppercase}"),
        ("alnum", r"\p{Alphabetic}\p{Nd}"),
        ("space", r"\p{White_Space}"),
    ];
    let mut out = String::with_capacity(pattern.len());
    let mut rest = pattern;
    let mut in_brackets = false;
    while let Some(first) = rest.chars().next() {
        let class = CLASSES.iter().find_map(|(name, class)| {
            let behind = rest.strip_prefix("[:")?.strip_prefix(name)?.strip_prefix(":]")?;
            Some((class, behind))
        });
        // The beginning and the end of a word, as MySQL wrote them before version 8, and MariaDB does.
        let edge = [("[[:<:]]", r"\b{start}"), ("[[:>:]]", r"\b{end}")]
            .iter()
            .find_map(|(written, edge)| rest.strip_prefix(written).map(|behind| (edge, behind)));
        if let (false, Some((edge, behind))) = (in_brackets, edge) {
            out.push_str(edge);
            rest = behind;
            continue;
        }
        if let (true, Some((class, behind))) = (in_brackets, class) {
            out.push_str(class);
            rest = behind;
            continue;
        }
        // An escaped character stands for itself; a bracket right behind the opening one does not close it.
        let length = match first {
            '\\' => 1 + rest[1..].chars().next().map_or(0, char::len_utf8),
            '[' if !in_brackets => {
                in_brackets = true;
                ["[^]", "[]", "[^"]
                    .iter()
                    .find(|opening| rest.starts_with(**opening))
                    .map_or(1, |opening| opening.len())
            }
            _ => first.len_utf8(),
        };
        in_brackets &= first != ']';
        out.push_str(&rest[..length]);
        rest = &rest[length..];
    }
    out
}

/// Whether the pattern is found anywhere in the text.
pub fn is_match(regex: &Program, text: &[u8], id: CollationId) -> Result<bool> {
    regex.is_match(&in_utf8(text, collation(id).charset))
}

/// A text as regular expressions read it: in UTF-8, or bytes.
fn in_utf8(text: &[u8], charset: Charset) -> Cow<'_, [u8]> {
    if charset.has_same_bytes(text, Charset::Utf8mb4) || charset.converts_verbatim(Charset::Utf8mb4) {
        return Cow::Borrowed(text);
    }
    let mut utf8 = Vec::new();
    format::collation::convert(text, charset, Charset::Utf8mb4, &mut utf8);
    Cow::Owned(utf8)
}

/// LIKE's escape character: the single character of ESCAPE, or none if it is empty.
pub fn escape_of(escape: &Datum<'_>, charset: Charset) -> Result<Option<u32>> {
    match escape {
        Datum::Null => Ok(Some(b'\\' as u32)),
        Datum::Bytes(text) if text.is_empty() => Ok(None),
        // Texts of one byte a character are searched by their bytes.
        Datum::Bytes(text) if charset.bytes_max() == 1 && text.len() == 1 => Ok(Some(u32::from(text[0]))),
        Datum::Bytes(text) => match charset.decode_char(text) {
            Some((character, length)) if length == text.len() => Ok(Some(character)),
            _ => Err(Error::wrong_arguments("ESCAPE")),
        },
        Datum::Int(digit @ 0..=9) => Ok(Some(b'0' as u32 + *digit as u32)),
        _ => Err(Error::wrong_arguments("ESCAPE")),
    }
}
