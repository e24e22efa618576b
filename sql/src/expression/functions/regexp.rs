//! REGEXP_LIKE, REGEXP_INSTR, REGEXP_SUBSTR, REGEXP_REPLACE.
//!
//! The operator REGEXP is a node; what both match with is in [`pattern`](crate::expression::pattern).
//!
//! Matching happens in UTF-8: a latin1 text is converted first, and the result back. Positions count characters.

use std::borrow::Cow;
use std::cell::RefCell;

use format::collation::{Charset, CollationId, convert};

use super::{Call, Function, Typing, not_null, typings};
use crate::error::{Error, Result};
use crate::expression::Datum;
use crate::expression::pattern::{compile_with, options_of};
use crate::expression::program::{Options, Program, Span};
use crate::types::TypeInfo;

pub const FUNCTIONS: &[Function] = &[
    Function::new("regexp_like", (2, 3), like_type, regexp_like),
    Function::new("regexp_instr", (2, 6), instr_type, regexp_instr),
    Function::new("regexp_substr", (2, 5), substr_type, regexp_substr),
    Function::new("regexp_replace", (3, 6), replace_type, regexp_replace),
];

// ----------------------------------------------------------------- typing

fn like_type(typing: &mut Typing<'_>) -> Result<TypeInfo> {
    typing.agree_to_compare(0, 2)?;
    typings::truth(typing)
}

fn instr_type(typing: &mut Typing<'_>) -> Result<TypeInfo> {
    typing.agree_to_compare(0, 2)?;
    typings::int(typing)
}

fn substr_type(typing: &mut Typing<'_>) -> Result<TypeInfo> {
    typing.agree_to_compare(0, 2)?;
    let (id, coercibility) = typing.agree(0, 2)?;
    Ok(TypeInfo::string(typing.length(0), id, coercibility))
}

fn replace_type(typing: &mut Typing<'_>) -> Result<TypeInfo> {
    typing.agree_to_compare(0, 2)?;
    let (id, coercibility) = typing.agree(0, 3)?;
    // At worst something is put between all characters.
    let length = (u64::from(typing.length(0)) + 1) * (u64::from(typing.length(2)) + 1);
    Ok(TypeInfo::string(length.min(u64::from(u32::MAX / 4)) as u32, id, coercibility))
}

// ---------------------------------------------------------------- patterns

/// A pattern with all that its program depends on.
#[derive(Clone, PartialEq)]
struct Key {
    pattern: Vec<u8>,
    collation: CollationId,
    options: Options,
}

/// How many compiled patterns a thread keeps.
const CACHED_MAX: usize = 8;

thread_local! {
    /// The latest patterns, the last used at the end: most statements have one, for all rows.
    static COMPILED: RefCell<Vec<(Key, Program)>> = const { RefCell::new(Vec::new()) };
}

fn compiled(key: Key) -> Result<Program> {
    COMPILED.with_borrow_mut(|cache| {
        if let Some(at) = cache.iter().position(|(known, _)| *known == key) {
            // To the end, unless it is there.
            if at + 1 < cache.len() {
                let entry = cache.remove(at);
                cache.push(entry);
            }
        } else {
            let regex = compile_with(&key.pattern, key.collation, key.options)?;
            if cache.len() == CACHED_MAX {
                cache.remove(0);
            }
            cache.push((key, regex));
        }
        Ok(cache[cache.len() - 1].1.clone())
    })
}

/// A text to search and what to search for.
struct Search<'a> {
    /// In UTF-8, or the bytes of a binary string.
    text: Cow<'a, [u8]>,
    charset: Charset,
    regex: Program,
}

impl<'a> Search<'a> {
    /// Reads the first two arguments and the match type; None if one is NULL.
    fn read(call: &Call<'a>, match_type: usize) -> Result<Option<Search<'a>>> {
        let (Some(text), Some(pattern)) = (call.text(0)?, call.text(1)?) else { return Ok(None) };
        let types = [*call.arg_type(0), *call.arg_type(1)];
        let id = match types.iter().any(TypeInfo::is_string) {
            true => super::aggregate_collations(&types, "regexp_like")?.0,
            false => call.context.connection,
        };
        let charset = format::collation::collation(id).charset;
        let mut options = options_of(id);
        if call.has(match_type) {
            let Some(letters) = call.text(match_type)? else { return Ok(None) };
            for letter in letters.iter() {
                match letter {
                    b'c' => options.ignores_case = false,
                    b'i' => options.ignores_case = true,
                    b'm' => options.multiline = true,
                    b'n' => options.dot_matches_newline = true,
                    // Only a line feed ends a line, which is so anyway.
                    b'u' => {}
                    _ => return Err(Error::wrong_arguments("regexp_like")),
                }
            }
        }
        let regex = compiled(Key { pattern: pattern.into_owned(), collation: id, options })?;
        Ok(Some(Search {
            text: in_utf8(text, charset),
            charset: if charset == Charset::Binary { charset } else { Charset::Utf8mb4 },
            regex,
        }))
    }

    /// The byte offset of a position that counts characters from 1.
    fn offset(&self, position: i64) -> Result<usize> {
        let chars = self.charset.char_count(&self.text) as i64;
        if position < 1 || position > chars + 1 {
            return Err(Error::new(3686, b"HY000", "Index out of bounds in regular expression search."));
        }
        Ok(self.charset.offset_of_char(&self.text, position as usize - 1))
    }

    /// The occurrence from an offset on; 1 is the first.
    fn occurrence(&self, call: &Call<'_>, from: usize, occurrence: i64) -> Result<Option<Span>> {
        let mut at = from;
        let mut left = occurrence.max(1);
        loop {
            let Some((start, end)) = self.regex.find_at(&self.text, at)? else { return Ok(None) };
            left -= 1;
            if left == 0 {
                return Ok(Some((start, end)));
            }
            at = self.behind(start, end);
            if at > self.text.len() {
                return Ok(None);
            }
            look(call, left)?;
        }
    }

    /// Where to search on behind a match: an empty one would be found again.
    fn behind(&self, start: usize, end: usize) -> usize {
        if end > start {
            return end;
        }
        end + self.charset.decode_char(&self.text[end..]).map_or(1, |(_, length)| length)
    }
}

/// Looks now and then whether the statement was killed: a long text has many matches, each of which may take many steps.
fn look(call: &Call<'_>, number: i64) -> Result<()> {
    match number % 64 == 0 && call.context.session.is_interrupted() {
        true => Err(Error::interrupted()),
        false => Ok(()),
    }
}

fn in_utf8(text: Cow<'_, [u8]>, charset: Charset) -> Cow<'_, [u8]> {
    if charset.has_same_bytes(&text, Charset::Utf8mb4) || charset.converts_verbatim(Charset::Utf8mb4) {
        return text;
    }
    let mut utf8 = Vec::with_capacity(text.len() * 2);
    convert(&text, charset, Charset::Utf8mb4, &mut utf8);
    Cow::Owned(utf8)
}

/// A result in the character set of its type.
fn result<'a>(call: &Call<'a>, text: Vec<u8>) -> Datum<'a> {
    let charset = call.charset();
    if matches!(charset, Charset::Utf8mb3 | Charset::Binary) || Charset::Utf8mb4.has_same_bytes(&text, charset) {
        return Datum::bytes(text);
    }
    let mut out = Vec::with_capacity(text.len());
    convert(&text, Charset::Utf8mb4, charset, &mut out);
    Datum::bytes(out)
}

/// An optional integer argument; the outer None is NULL.
fn optional(call: &Call<'_>, index: usize, default: i64) -> Result<Option<i64>> {
    if call.has(index) { call.int(index) } else { Ok(Some(default)) }
}

// --------------------------------------------------------------- functions

fn regexp_like<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let search = not_null!(Search::read(call, 2)?);
    Ok(Datum::Int(i64::from(search.regex.is_match(&search.text)?)))
}

fn regexp_instr<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let search = not_null!(Search::read(call, 5)?);
    let position = not_null!(optional(call, 2, 1)?);
    let occurrence = not_null!(optional(call, 3, 1)?);
    let behind = match not_null!(optional(call, 4, 0)?) {
        0 => false,
        1 => true,
        _ => return Err(Error::wrong_arguments("regexp_instr")),
    };
    let found = search.occurrence(call, search.offset(position)?, occurrence)?;
    Ok(Datum::Int(found.map_or(0, |(start, end)| {
        let at = if behind { end } else { start };
        search.charset.char_count(&search.text[..at]) as i64 + 1
    })))
}

fn regexp_substr<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let search = not_null!(Search::read(call, 4)?);
    let position = not_null!(optional(call, 2, 1)?);
    let occurrence = not_null!(optional(call, 3, 1)?);
    let found = search.occurrence(call, search.offset(position)?, occurrence)?;
    Ok(found.map_or(Datum::Null, |(start, end)| result(call, search.text[start..end].to_vec())))
}

fn regexp_replace<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let search = not_null!(Search::read(call, 5)?);
    let replacement = in_utf8(not_null!(call.text(2)?), call.charset());
    let position = not_null!(optional(call, 3, 1)?);
    // 0 replaces all.
    let occurrence = not_null!(optional(call, 4, 0)?);
    let mut at = search.offset(position)?;
    let mut out = search.text[..at].to_vec();
    let mut number = 0;
    while let Some(captures) = search.regex.captures_at(&search.text, at)? {
        let Some(Some((start, end))) = captures.first().copied() else { break };
        number += 1;
        look(call, number)?;
        out.extend_from_slice(&search.text[at..start]);
        if occurrence <= 0 || number == occurrence {
            expand(&replacement, &search.text, &captures, call.context.max_allowed_packet_bytes, &mut out)?;
            if !call.fits("regexp_replace", out.len() as u64) {
                return Ok(Datum::Null);
            }
        } else {
            out.extend_from_slice(&search.text[start..end]);
        }
        at = search.behind(start, end);
        if start == end {
            // The character that was stepped over.
            out.extend_from_slice(&search.text[end.min(search.text.len())..at.min(search.text.len())]);
        }
        if number == occurrence || at > search.text.len() {
            break;
        }
    }
    out.extend_from_slice(search.text.get(at..).unwrap_or(&[]));
    Ok(if call.fits("regexp_replace", out.len() as u64) { result(call, out) } else { Datum::Null })
}

/// Appends the replacement, where `$1` is what the first group matched and a backslash takes the next character as it is.
/// It stops behind the first group that makes the text longer than it may be.
fn expand(replacement: &[u8], text: &[u8], captures: &[Option<Span>], bytes_max: u64, out: &mut Vec<u8>) -> Result<()> {
    let mut rest = replacement;
    while let [first, tail @ ..] = rest {
        if out.len() as u64 > bytes_max {
            break;
        }
        rest = tail;
        match first {
            b'\\' => {
                if let [escaped, tail @ ..] = rest {
                    out.push(*escaped);
                    rest = tail;
                }
            }
            b'$' => {
                let mut group = None;
                while let [digit @ b'0'..=b'9', tail @ ..] = rest {
                    // As many digits as name a group.
                    let next = group.unwrap_or(0) * 10 + usize::from(digit - b'0');
                    if next >= captures.len() {
                        break;
                    }
                    group = Some(next);
                    rest = tail;
                }
                let Some(group) = group else {
                    return Err(Error::new(3686, b"HY000", "Index out of bounds in regular expression search."));
                };
                let found = captures.get(group).copied().flatten();
                out.extend_from_slice(found.map_or(&[][..], |(start, end)| &text[start..end]));
            }
            _ => out.push(*first),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replacements() {
        let captures = [Some((0, 2)), Some((0, 1)), Some((1, 2))];
        let expanded = |replacement: &str| {
            let mut out = Vec::new();
            expand(replacement.as_bytes(), b"ab", &captures, u64::MAX, &mut out)
                .map(|()| String::from_utf8(out).unwrap())
        };
        assert_eq!(expanded("[$2$1]").unwrap(), "[ba]");
        assert_eq!(expanded("$11").unwrap(), "a1");
        assert_eq!(expanded("\\$1").unwrap(), "$1");
        assert!(expanded("$x").is_err());
    }
}
