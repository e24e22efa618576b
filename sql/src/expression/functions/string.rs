//! Strings: cutting, joining, padding. What looks for texts is in `search`, what makes numbers of them in `bytes`.
//!
//! Positions count characters from 1, negative ones from the end. Arguments that meet in one result have been brought to
//! one character set by the typing ([`Typing::agree_on_text`]; in REPLACE, INSERT, LPAD and RPAD the first decides), so
//! evaluation works on bytes of [`Call::charset`].
//!
//! REPLACE and SUBSTRING_INDEX compare bytes, as MySQL's do.

use std::borrow::Cow;

use format::collation::{Charset, CollationId, collation};

use super::{Call, Function, MANY, Typing, not_null};
use crate::error::Result;
use crate::expression::Datum;
use crate::types::{Coercibility, TypeInfo};

pub const FUNCTIONS: &[Function] = &[
    Function::new("concat", (1, MANY), concat_type, concat).of_any_text(),
    Function::new("concat_ws", (2, MANY), concat_ws_type, concat_ws).of_any_text(),
    Function::new("substring", (2, 3), first_type, substring).of_any_text(),
    Function::new("substr", (2, 3), first_type, substring).of_any_text(),
    Function::new("mid", (2, 3), first_type, substring).of_any_text(),
    Function::new("left", (2, 2), first_type, left).of_any_text(),
    Function::new("right", (2, 2), first_type, right).of_any_text(),
    Function::new("substring_index", (3, 3), first_two_type, substring_index).of_any_text(),
    Function::new("upper", (1, 1), first_type, upper).of_any_text(),
    Function::new("ucase", (1, 1), first_type, upper).of_any_text(),
    Function::new("lower", (1, 1), first_type, lower).of_any_text(),
    Function::new("lcase", (1, 1), first_type, lower).of_any_text(),
    Function::new("ltrim", (1, 1), first_type, ltrim),
    Function::new("rtrim", (1, 1), first_type, rtrim),
    Function::new("reverse", (1, 1), first_type, reverse).of_any_text(),
    Function::new("lpad", (3, 3), pad_type, lpad).of_any_text(),
    Function::new("rpad", (3, 3), pad_type, rpad).of_any_text(),
    Function::new("repeat", (2, 2), repeat_type, repeat).of_any_text(),
    Function::new("space", (1, 1), space_type, space),
    Function::new("replace", (3, 3), replace_type, replace).of_any_text(),
    Function::new("insert", (4, 4), insert_type, insert).of_any_text(),
    Function::new("elt", (2, MANY), elt_type, elt).of_any_text(),
    Function::new("make_set", (2, MANY), make_set_type, make_set),
    Function::new("export_set", (3, 5), export_set_type, export_set),
    Function::new("quote", (1, 1), quote_type, quote),
    Function::new("soundex", (1, 1), soundex_type, soundex),
];

// ----------------------------------------------------------------- typing

/// The longest string that a type admits to, in characters.
pub(super) const LENGTH_MAX: u32 = u32::MAX / 4;

fn string_type(typing: &Typing<'_>, agreed: (CollationId, Coercibility), length: u64) -> TypeInfo {
    let length = length.min(u64::from(LENGTH_MAX)) as u32;
    TypeInfo::string(length, agreed.0, agreed.1).nullable(typing.any_nullable())
}

/// The same for a function whose result may be too long, which is NULL.
fn grown_type(typing: &Typing<'_>, agreed: (CollationId, Coercibility), length: u64) -> TypeInfo {
    typing.grown(string_type(typing, agreed, length))
}

/// The first argument's kind of string, not longer than it.
fn first_type(typing: &mut Typing<'_>) -> Result<TypeInfo> {
    let agreed = typing.agree(0, 1)?;
    let mut length = u64::from(typing.length(0));
    let count = match typing.name {
        "left" | "right" => typing.constant_int(1),
        "substring" | "substr" | "mid" if typing.args.len() == 3 => typing.constant_int(2),
        _ => None,
    };
    if let Some(count) = count {
        length = length.min(count.max(0) as u64);
    }
    Ok(string_type(typing, agreed, length))
}

fn first_two_type(typing: &mut Typing<'_>) -> Result<TypeInfo> {
    let agreed = typing.agree_on_text(0, 2)?;
    Ok(string_type(typing, agreed, u64::from(typing.length(0))))
}

fn lengths(typing: &Typing<'_>) -> u64 {
    typing.args.iter().map(|arg| u64::from(arg.ty.length)).sum()
}

fn concat_type(typing: &mut Typing<'_>) -> Result<TypeInfo> {
    let agreed = typing.agree_on_text(0, typing.args.len())?;
    Ok(grown_type(typing, agreed, lengths(typing)))
}

/// NULL is left out, but for the separator.
fn concat_ws_type(typing: &mut Typing<'_>) -> Result<TypeInfo> {
    let agreed = typing.agree_on_text(0, typing.args.len())?;
    let separator = u64::from(typing.length(0));
    // One separator less than there are texts, and the first argument is no text.
    let length = lengths(typing) - separator + separator * (typing.args.len() as u64 - 2);
    Ok(typing.grown(string_type(typing, agreed, length).nullable(typing.args[0].ty.nullable)))
}

/// A length that is a constant, or as much as there may be.
fn constant_length(typing: &Typing<'_>, index: usize) -> u64 {
    typing.constant_int(index).map_or(u64::from(LENGTH_MAX), |length| length.max(0) as u64)
}

fn pad_type(typing: &mut Typing<'_>) -> Result<TypeInfo> {
    let agreed = typing.decided_by(0, &[2])?;
    // Too long a result is NULL.
    Ok(string_type(typing, agreed, constant_length(typing, 1)).nullable(true))
}

fn repeat_type(typing: &mut Typing<'_>) -> Result<TypeInfo> {
    let agreed = typing.agree(0, 1)?;
    let length = u64::from(typing.length(0)).saturating_mul(constant_length(typing, 1));
    Ok(string_type(typing, agreed, length).nullable(true))
}

fn space_type(typing: &mut Typing<'_>) -> Result<TypeInfo> {
    let length = constant_length(typing, 0).min(u64::from(LENGTH_MAX)) as u32;
    Ok(typing.text(length))
}

fn replace_type(typing: &mut Typing<'_>) -> Result<TypeInfo> {
    let agreed = typing.decided_by(0, &[1, 2])?;
    let length = u64::from(typing.length(0));
    // At worst each character is replaced.
    let grown = length.saturating_mul(u64::from(typing.length(2)).max(1));
    Ok(string_type(typing, agreed, grown).nullable(true))
}

fn insert_type(typing: &mut Typing<'_>) -> Result<TypeInfo> {
    let agreed = typing.decided_by(0, &[3])?;
    let length = u64::from(typing.length(0)) + u64::from(typing.length(3));
    Ok(grown_type(typing, agreed, length))
}

fn elt_type(typing: &mut Typing<'_>) -> Result<TypeInfo> {
    let agreed = typing.agree_on_text(1, typing.args.len())?;
    let longest = typing.args[1..].iter().map(|arg| u64::from(arg.ty.length)).max().unwrap_or(0);
    Ok(string_type(typing, agreed, longest).nullable(true))
}

fn make_set_type(typing: &mut Typing<'_>) -> Result<TypeInfo> {
    let agreed = typing.agree_on_text(1, typing.args.len())?;
    let length = lengths(typing) + typing.args.len() as u64;
    Ok(typing.grown(string_type(typing, agreed, length).nullable(typing.args[0].ty.nullable)))
}

fn export_set_type(typing: &mut Typing<'_>) -> Result<TypeInfo> {
    let agreed = typing.agree_on_text(1, typing.args.len().min(4))?;
    let longest = u64::from(typing.length(1).max(typing.length(2)));
    let separator = if typing.args.len() > 3 { u64::from(typing.length(3)) } else { 1 };
    Ok(grown_type(typing, agreed, longest * 64 + separator * 63))
}

fn quote_type(typing: &mut Typing<'_>) -> Result<TypeInfo> {
    let agreed = typing.agree(0, 1)?;
    Ok(typing.grown(string_type(typing, agreed, u64::from(typing.length(0)) * 2 + 2).not_null()))
}

fn soundex_type(typing: &mut Typing<'_>) -> Result<TypeInfo> {
    let agreed = typing.agree(0, 1)?;
    Ok(string_type(typing, agreed, u64::from(typing.length(0)).max(4)))
}

// --------------------------------------------------------------- joining

fn empty<'a>() -> Datum<'a> {
    Datum::Bytes(Cow::Borrowed(b""))
}

fn concat<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    if call.args.len() == 1 {
        return Ok(Datum::Bytes(not_null!(call.text(0)?)));
    }
    let mut out = Vec::new();
    for index in 0..call.args.len() {
        let text = not_null!(call.text(index)?);
        if !append(call, "concat", &[&text], &mut out) {
            return Ok(Datum::Null);
        }
    }
    Ok(Datum::bytes(out))
}

/// Appends texts, if the result may become as long as that.
fn append(call: &Call<'_>, name: &str, texts: &[&[u8]], out: &mut Vec<u8>) -> bool {
    let more: usize = texts.iter().map(|text| text.len()).sum();
    let fits = call.fits(name, (out.len() + more) as u64);
    if fits {
        texts.iter().for_each(|text| out.extend_from_slice(text));
    }
    fits
}

fn concat_ws<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let separator = not_null!(call.text(0)?);
    let mut out = Vec::new();
    let mut first = true;
    for index in 1..call.args.len() {
        let Some(text) = call.text(index)? else { continue };
        let between: &[u8] = if first { b"" } else { &separator };
        first = false;
        if !append(call, "concat_ws", &[between, &text], &mut out) {
            return Ok(Datum::Null);
        }
    }
    Ok(Datum::bytes(out))
}

fn repeat<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let text = not_null!(call.text(0)?);
    let count = not_null!(call.int(1)?);
    if count <= 0 || text.is_empty() {
        return Ok(empty());
    }
    let bytes = (text.len() as u64).saturating_mul(count as u64);
    Ok(if call.fits("repeat", bytes) { Datum::bytes(text.repeat(count as usize)) } else { Datum::Null })
}

fn space<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let count = not_null!(call.int(0)?).max(0) as u64;
    Ok(if call.fits("space", count) { Datum::bytes(vec![b' '; count as usize]) } else { Datum::Null })
}

fn lpad<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    pad(call, "lpad", true)
}

fn rpad<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    pad(call, "rpad", false)
}

fn pad<'a>(call: &Call<'a>, name: &str, in_front: bool) -> Result<Datum<'a>> {
    let text = not_null!(call.text(0)?);
    let length = not_null!(call.int(1)?);
    let padding = not_null!(call.text(2)?);
    if length < 0 {
        return Ok(Datum::Null);
    }
    let charset = call.charset();
    let chars = charset.char_count(&text);
    if length as u64 <= chars as u64 {
        return Ok(Datum::Bytes(sliced(text, charset, 0, length as usize)));
    }
    if !call.fits(name, (length as u64).saturating_mul(u64::from(charset.bytes_max()))) {
        return Ok(Datum::Null);
    }
    let padding_chars = charset.char_count(&padding);
    if padding_chars == 0 {
        return Ok(empty());
    }
    let missing = length as usize - chars;
    let mut out = Vec::with_capacity(text.len() + missing);
    if !in_front {
        out.extend_from_slice(&text);
    }
    for _ in 0..missing / padding_chars {
        out.extend_from_slice(&padding);
    }
    out.extend_from_slice(charset.substring(&padding, 0, missing % padding_chars));
    if in_front {
        out.extend_from_slice(&text);
    }
    Ok(Datum::bytes(out))
}

fn elt<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let index = not_null!(call.int(0)?);
    if index < 1 || index >= call.args.len() as i64 {
        return Ok(Datum::Null);
    }
    Ok(Datum::Bytes(not_null!(call.text(index as usize)?)))
}

fn make_set<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let bits = not_null!(call.uint(0)?);
    let mut out = Vec::new();
    let mut first = true;
    for index in (1..call.args.len()).take(64).filter(|index| bits >> (index - 1) & 1 != 0) {
        let Some(text) = call.text(index)? else { continue };
        let between: &[u8] = if first { b"" } else { b"," };
        first = false;
        if !append(call, "make_set", &[between, &text], &mut out) {
            return Ok(Datum::Null);
        }
    }
    Ok(Datum::bytes(out))
}

fn export_set<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let bits = not_null!(call.uint(0)?);
    let (on, off) = (not_null!(call.text(1)?), not_null!(call.text(2)?));
    let separator = if call.has(3) { not_null!(call.text(3)?) } else { Cow::Borrowed(&b","[..]) };
    let count = match call.has(4) {
        true => not_null!(call.int(4)?),
        false => 64,
    };
    let count = if (0..=64).contains(&count) { count } else { 64 };
    let mut out = Vec::new();
    for bit in 0..count {
        let between: &[u8] = if bit > 0 { &separator } else { b"" };
        if !append(call, "export_set", &[between, if bits >> bit & 1 != 0 { &on } else { &off }], &mut out) {
            return Ok(Datum::Null);
        }
    }
    Ok(Datum::bytes(out))
}

// --------------------------------------------------------------- cutting

/// Some characters of a text, borrowed if the text is.
fn sliced(text: Cow<'_, [u8]>, charset: Charset, start: usize, count: usize) -> Cow<'_, [u8]> {
    match text {
        Cow::Borrowed(text) => Cow::Borrowed(charset.substring(text, start, count)),
        Cow::Owned(text) => Cow::Owned(charset.substring(&text, start, count).to_vec()),
    }
}

fn substring<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let text = not_null!(call.text(0)?);
    let position = not_null!(call.int(1)?);
    let count = if call.has(2) { not_null!(call.int(2)?) } else { i64::MAX };
    if position == 0 || count <= 0 {
        return Ok(empty());
    }
    let charset = call.charset();
    let start = match position {
        1.. => (position - 1) as usize,
        _ => {
            let chars = charset.char_count(&text) as u64;
            match chars.checked_sub(position.unsigned_abs()) {
                Some(start) => start as usize,
                None => return Ok(empty()),
            }
        }
    };
    Ok(Datum::Bytes(sliced(text, charset, start, count as usize)))
}

fn left<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let text = not_null!(call.text(0)?);
    let count = not_null!(call.int(1)?).max(0) as usize;
    Ok(Datum::Bytes(sliced(text, call.charset(), 0, count)))
}

fn right<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let text = not_null!(call.text(0)?);
    let count = not_null!(call.int(1)?).max(0) as usize;
    let charset = call.charset();
    let start = charset.char_count(&text).saturating_sub(count);
    Ok(Datum::Bytes(sliced(text, charset, start, usize::MAX)))
}

/// The byte offsets at which `needle` stands, from left to right, not overlapping, and only where characters begin.
fn occurrences<'t>(text: &'t [u8], needle: &'t [u8], charset: Charset) -> impl Iterator<Item = usize> + 't {
    let starts_character = move |at: usize| charset.is_char_start(text, at);
    let mut at = 0;
    std::iter::from_fn(move || {
        if needle.is_empty() {
            return None;
        }
        while at + needle.len() <= text.len() {
            // Look for the first byte first; it is rarely there.
            let step = text[at..=text.len() - needle.len()].iter().position(|byte| *byte == needle[0])?;
            at += step;
            if text[at..].starts_with(needle) && starts_character(at) {
                let found = at;
                at += needle.len();
                return Some(found);
            }
            at += 1;
        }
        None
    })
}

fn substring_index<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let text = not_null!(call.text(0)?);
    let delimiter = not_null!(call.text(1)?);
    let count = not_null!(call.int(2)?);
    if count == 0 || delimiter.is_empty() {
        return Ok(empty());
    }
    let charset = call.charset();
    let (start, end) = if count > 0 {
        (0, occurrences(&text, &delimiter, charset).nth(count as usize - 1).unwrap_or(text.len()))
    } else {
        let found: Vec<usize> =
            occurrences_from_right(&text, &delimiter, charset).take(count.unsigned_abs() as usize).collect();
        let start = match found.last() {
            Some(at) if found.len() as u64 == count.unsigned_abs() => at + delimiter.len(),
            _ => 0,
        };
        (start, text.len())
    };
    Ok(Datum::Bytes(match text {
        Cow::Borrowed(text) => Cow::Borrowed(&text[start..end]),
        Cow::Owned(text) => Cow::Owned(text[start..end].to_vec()),
    }))
}

/// The same from right to left.
fn occurrences_from_right<'t>(text: &'t [u8], needle: &'t [u8], charset: Charset) -> impl Iterator<Item = usize> + 't {
    let starts_character = move |at: usize| charset.is_char_start(text, at);
    let mut end = text.len();
    std::iter::from_fn(move || {
        while end >= needle.len() {
            let at = end - needle.len();
            if text[at..end] == *needle && starts_character(at) {
                end = at;
                return Some(at);
            }
            end -= 1;
        }
        None
    })
}

fn ltrim<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let text = not_null!(call.text(0)?);
    let spaces = text.iter().take_while(|byte| **byte == b' ').count();
    Ok(Datum::Bytes(match text {
        Cow::Borrowed(text) => Cow::Borrowed(&text[spaces..]),
        Cow::Owned(text) => Cow::Owned(text[spaces..].to_vec()),
    }))
}

fn rtrim<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let text = not_null!(call.text(0)?);
    let length = text.len() - text.iter().rev().take_while(|byte| **byte == b' ').count();
    Ok(Datum::Bytes(match text {
        Cow::Borrowed(text) => Cow::Borrowed(&text[..length]),
        Cow::Owned(mut text) => {
            text.truncate(length);
            Cow::Owned(text)
        }
    }))
}

// -------------------------------------------------------------- changing

fn upper<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let text = not_null!(call.text(0)?);
    let mut out = Vec::with_capacity(text.len());
    collation(call.ty.collation).upper(&text, &mut out);
    Ok(Datum::bytes(out))
}

fn lower<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let text = not_null!(call.text(0)?);
    let mut out = Vec::with_capacity(text.len());
    collation(call.ty.collation).lower(&text, &mut out);
    Ok(Datum::bytes(out))
}

fn reverse<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let text = not_null!(call.text(0)?);
    let charset = call.charset();
    let mut out = vec![0; text.len()];
    let (mut rest, mut end) = (&text[..], text.len());
    while !rest.is_empty() {
        let length = charset.char_bytes(rest);
        out[end - length..end].copy_from_slice(&rest[..length]);
        end -= length;
        rest = &rest[length..];
    }
    Ok(Datum::bytes(out))
}

fn replace<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let text = not_null!(call.text(0)?);
    let (from, to) = (not_null!(call.text(1)?), not_null!(call.text(2)?));
    let mut out = Vec::new();
    let mut behind = 0;
    for at in occurrences(&text, &from, call.charset()) {
        if !append(call, "replace", &[&text[behind..at], &to], &mut out) {
            return Ok(Datum::Null);
        }
        behind = at + from.len();
    }
    if behind == 0 {
        return Ok(Datum::Bytes(text));
    }
    Ok(if append(call, "replace", &[&text[behind..]], &mut out) { Datum::bytes(out) } else { Datum::Null })
}

fn insert<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let text = not_null!(call.text(0)?);
    let (position, count) = (not_null!(call.int(1)?), not_null!(call.int(2)?));
    let new = not_null!(call.text(3)?);
    let charset = call.charset();
    let chars = charset.char_count(&text) as i64;
    if position < 1 || position > chars {
        return Ok(Datum::Bytes(text));
    }
    let start = position - 1;
    let count = if count < 0 { i64::MAX } else { count };
    let from = charset.offset_of_char(&text, start as usize);
    let to = charset.offset_of_char(&text, start.saturating_add(count).min(chars) as usize);
    let mut out = Vec::new();
    let parts: [&[u8]; 3] = [&text[..from], &new, &text[to..]];
    Ok(if append(call, "insert", &parts, &mut out) { Datum::bytes(out) } else { Datum::Null })
}

fn quote<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let Some(text) = call.text(0)? else { return Ok(Datum::Bytes(Cow::Borrowed(b"NULL"))) };
    let escaped = text.iter().filter(|byte| matches!(byte, 0 | 0x1A | b'\'' | b'\\')).count();
    if !call.fits("quote", (text.len() + escaped + 2) as u64) {
        return Ok(Datum::Null);
    }
    let mut out = Vec::with_capacity(text.len() + escaped + 2);
    out.push(b'\'');
    let (charset, mut rest) = (call.charset(), &text[..]);
    while !rest.is_empty() {
        let (character, behind) = rest.split_at(charset.char_bytes(rest));
        match character {
            [0] => out.extend_from_slice(b"\\0"),
            [0x1A] => out.extend_from_slice(b"\\Z"),
            [b'\'' | b'\\'] => out.extend_from_slice(&[b'\\', character[0]]),
            _ => out.extend_from_slice(character),
        }
        rest = behind;
    }
    out.push(b'\'');
    Ok(Datum::bytes(out))
}

/// The sound of an English word: its first letter, and the classes of the consonants that follow, at least three. Letters
/// that are not English have no sound, but may come first. As in the original Soundex, letters without a sound are
/// dropped before equal neighbours are.
fn soundex<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let text = not_null!(call.text(0)?);
    let charset = call.charset();
    let mut out = Vec::with_capacity(4);
    let (mut last, mut sounds) = (b'0', 0);
    let mut rest = &text[..];
    while let Some(byte) = rest.first() {
        let (code_point, length) = charset.decode_char(rest).unwrap_or((0, 1));
        let letter = byte.to_ascii_uppercase();
        let sound = match letter {
            b'A'..=b'Z' => b"01230120022455012623010202"[(letter - b'A') as usize],
            _ if code_point >= 0xC0 => b'0',
            _ => {
                rest = &rest[length..];
                continue;
            }
        };
        if out.is_empty() {
            out.push(letter);
            out.extend_from_slice(&rest[1..length]);
            last = sound;
        } else if sound != b'0' && sound != last {
            out.push(sound);
            sounds += 1;
            last = sound;
        }
        rest = &rest[length..];
    }
    if !out.is_empty() {
        out.resize(out.len() + 3_usize.saturating_sub(sounds), b'0');
    }
    Ok(Datum::bytes(out))
}
