//! WEIGHT_STRING, what a text weighs; NATURAL_SORT_KEY, by which numbers in texts sort as numbers.

use std::borrow::Cow;

use format::collation::{CollationId, collation};

use super::string::LENGTH_MAX;
use super::{Call, Function, Typing, not_null};
use crate::error::Result;
use crate::expression::Datum;
use crate::types::TypeInfo;

/// Most bytes that one character weighs in a `WEIGHT_STRING`: eight elements of three levels, two bytes each.
const WEIGHT_BYTES_MAX: u32 = 48;

/// Digits that add one to a text of this many.
const NATURAL_GROWTH: u32 = 2;

pub const FUNCTIONS: &[Function] = &[
    Function::new("weight_string", (1, 4), weight_type, weight_string).of_bytes(),
    Function::new("natural_sort_key", (1, 1), natural_type, natural_sort_key),
];

/// Of the flags: whether the result is filled up to the bytes asked for.
const FILL: u64 = 0x80;

fn weight_type(typing: &mut Typing<'_>) -> Result<TypeInfo> {
    let constant = |index| typing.constant_int(index).map_or(0, |number| number.clamp(0, i64::from(LENGTH_MAX)) as u32);
    let bytes = match constant(1) {
        0 => typing.length(0).max(constant(2)).saturating_mul(WEIGHT_BYTES_MAX).min(LENGTH_MAX),
        bytes => bytes,
    };
    // The bytes count as much as the text that they are of.
    Ok(TypeInfo::string(bytes, CollationId::BINARY, typing.args[0].ty.coercibility))
}

/// NULL for what is no text; a moment is one.
fn weight_string<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let ty = call.arg_type(0);
    let id = match ty.is_temporal() {
        true => call.context.connection,
        false => ty.collation,
    };
    if !ty.is_string() && !ty.is_temporal() {
        return Ok(Datum::Null);
    }
    let text = not_null!(call.text(0)?);
    let number = |index| if call.has(index) { call.uint(index) } else { Ok(Some(0)) };
    let (bytes, chars, flags) = (not_null!(number(1)?), not_null!(number(2)?), not_null!(number(3)?));
    let weighed = match bytes {
        0 => (text.len() as u64).max(chars).saturating_mul(u64::from(WEIGHT_BYTES_MAX)),
        bytes => bytes,
    };
    if !call.fits("weight_string", weighed) || !call.fits("weight_string", text.len() as u64) {
        return Ok(Datum::Null);
    }
    let (collation, charset) = (collation(id), collation(id).charset);
    let mut text = text;
    let mut pad = Vec::new();
    if collation.pad_space {
        charset.push_spaces(1, &mut pad);
    }
    if chars > 0 {
        // The text has so many characters; spaces stand for those that it lacks, where they weigh something.
        let cut = charset.substring(&text, 0, chars as usize);
        let missing = chars as usize - charset.char_count(cut);
        let room = if bytes == 0 { missing } else { missing.min(bytes as usize) };
        text = Cow::Owned([cut, &pad.repeat(room)].concat());
    }
    let mut out = Vec::with_capacity(text.len() * 2);
    collation.weight_string(&text, &mut out);
    if bytes > 0 {
        let mut filling = Vec::new();
        collation.weight_string(&pad, &mut filling);
        if filling.is_empty() {
            filling.push(0);
        }
        if flags & FILL != 0 && out.len() < bytes as usize {
            let missing = bytes as usize - out.len();
            out.extend(filling.iter().cycle().take(missing));
        }
        out.truncate(bytes as usize);
    }
    Ok(Datum::bytes(out))
}

fn natural_type(typing: &mut Typing<'_>) -> Result<TypeInfo> {
    let (collation, coercibility) = typing.agree(0, 1)?;
    let length = typing.length(0).saturating_mul(NATURAL_GROWTH).min(LENGTH_MAX);
    Ok(TypeInfo::string(length, collation, coercibility))
}

/// Each run of digits without its leading zeros, and before it a text that is greater the more digits there are.
fn natural_sort_key<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let text = not_null!(call.text(0)?);
    if !call.fits("natural_sort_key", text.len() as u64 * u64::from(NATURAL_GROWTH)) {
        return Ok(Datum::Null);
    }
    let charset = call.charset();
    let (mut rest, mut out) = (&text[..], Vec::with_capacity(text.len() * 2));
    while let Some(first) = rest.first() {
        if !first.is_ascii_digit() {
            let (character, behind) = rest.split_at(charset.char_bytes(rest));
            out.extend_from_slice(character);
            rest = behind;
            continue;
        }
        let (digits, behind) = rest.split_at(rest.iter().take_while(|byte| byte.is_ascii_digit()).count());
        let zeros = digits.iter().take_while(|digit| **digit == b'0').count().min(digits.len() - 1);
        put_natural(&digits[zeros..], &mut out);
        rest = behind;
    }
    Ok(Datum::bytes(out))
}

/// `0` to `8` for one to nine digits, `90` to `98` for nine more, `990` to `998`; then `999` and the number of digits but
/// one, behind the number of its own digits but one.
fn put_natural(digits: &[u8], out: &mut Vec<u8>) {
    match digits.len() - 1 {
        less @ 0..27 => {
            out.extend(std::iter::repeat_n(b'9', less / 9));
            out.push(b'0' + (less % 9) as u8);
        }
        less => {
            let number = less.to_string();
            out.extend_from_slice(b"9990");
            out.push(b'0' + (number.len() - 1).min(9) as u8);
            out.extend_from_slice(number.as_bytes());
        }
    }
    out.extend_from_slice(digits);
}
