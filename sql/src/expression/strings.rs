//! Strings on their way from one character set to another, names of members, TRIM.

use std::borrow::Cow;

use format::collation::{Charset, convert};

use super::{Datum, EvalContext};
use crate::error::{Error, Result};
use crate::parser::ast::TrimSide;
use crate::types::TypeInfo;

impl<'a> Datum<'a> {
    /// A text whose characters have two bytes or more is brought to UTF-8, for what reads numbers, dates and the like.
    #[inline]
    pub fn in_utf8(self, ty: &TypeInfo) -> Datum<'a> {
        match self {
            Datum::Bytes(text) if ty.is_string() && ty.charset().is_wide() => {
                let mut converted = Vec::with_capacity(text.len());
                convert(&text, ty.charset(), Charset::Utf8mb4, &mut converted);
                Datum::bytes(converted)
            }
            value => value,
        }
    }

    /// As text; None is NULL.
    pub fn into_text_or_null(self, ty: &TypeInfo) -> Option<Cow<'a, [u8]>> {
        if self.is_null() { None } else { Some(self.into_text(ty)) }
    }
}

/// Members are kept as UTF-8; their names are in the character set of the column.
pub fn in_charset(name: Datum<'_>, charset: Charset) -> Datum<'_> {
    match name {
        Datum::Bytes(text)
            if !Charset::Utf8mb4.has_same_bytes(&text, charset) && !Charset::Utf8mb4.converts_verbatim(charset) =>
        {
            let mut converted = Vec::with_capacity(text.len());
            convert(&text, Charset::Utf8mb4, charset, &mut converted);
            Datum::bytes(converted)
        }
        name => name,
    }
}

pub fn set_names<'a>(mask: u64, members: &'a [Box<str>]) -> Datum<'a> {
    let mut names = members.iter().enumerate().filter(|(bit, _)| *bit < 64 && mask >> bit & 1 == 1);
    match (names.next(), names.next()) {
        (None, _) => Datum::Bytes(Cow::Borrowed(b"")),
        (Some((_, name)), None) => Datum::Bytes(Cow::Borrowed(name.as_bytes())),
        (Some((_, first)), Some((_, second))) => {
            let mut out = first.as_bytes().to_vec();
            for name in std::iter::once(second).chain(names.map(|(_, name)| name)) {
                out.push(b',');
                out.extend_from_slice(name.as_bytes());
            }
            Datum::bytes(out)
        }
    }
}

/// The text in another character set. From `binary` the bytes stay as they are, and must be text: with a warning, those
/// that are not are cut off, and in strict mode there is None. None, with warning 1301, also where the result would be
/// longer than a packet may be.
pub fn to_charset<'a>(
    text: Cow<'a, [u8]>,
    from: Charset,
    to: Charset,
    context: &EvalContext<'_>,
) -> Option<Cow<'a, [u8]>> {
    if from.has_same_bytes(&text, to) {
        return Some(text);
    }
    if from == Charset::Binary {
        let valid = to.well_formed_prefix(&text);
        let missing = to.missing_zeros(&text);
        if missing > 0 {
            let whole: Cow<'a, [u8]> = Cow::Owned([&[0; 3][..missing], &text[..]].concat());
            return to_charset(whole, from, to, context);
        }
        if valid < text.len() {
            let hex: String = text[valid..].iter().take(6).map(|byte| format!("\\x{byte:02X}")).collect();
            context.warn(Error::invalid_character_string(to.name(), &hex));
            return (!context.mode.is_strict()).then(|| Cow::Owned(text[..valid].to_vec()));
        }
        return Some(text);
    }
    if from.converts_verbatim(to) {
        return Some(text);
    }
    // In pieces, so that the limit is noticed before much is allocated.
    let mut out = Vec::new();
    let mut rest = &text[..];
    while !rest.is_empty() {
        let piece = match from.well_formed_prefix(&rest[..rest.len().min(CONVERTED_BYTES)]) {
            0 => rest.len().min(CONVERTED_BYTES),
            piece => piece,
        };
        convert(&rest[..piece], from, to, &mut out);
        rest = &rest[piece..];
        if out.len() as u64 > context.max_allowed_packet_bytes {
            context.warn(Error::result_too_large("convert", context.max_allowed_packet_bytes));
            return None;
        }
    }
    Some(Cow::Owned(out))
}

/// The text in another character set, all of it.
pub fn exactly_in<'a>(text: Cow<'a, [u8]>, from: Charset, to: Charset, refused: &Error) -> Result<Datum<'a>> {
    if from.has_same_bytes(&text, to) {
        return Ok(Datum::Bytes(text));
    }
    let mut converted = Vec::with_capacity(text.len());
    match convert(&text, from, to, &mut converted) {
        true => Ok(Datum::bytes(converted)),
        false => Err(refused.clone()),
    }
}

/// How much text is converted before the length of the result is looked at.
const CONVERTED_BYTES: usize = 1 << 20;

pub fn trim<'a>(text: Cow<'a, [u8]>, remove: &[u8], side: TrimSide, charset: Charset) -> Cow<'a, [u8]> {
    if remove.is_empty() {
        return text;
    }
    let (mut start, mut end) = (0, text.len());
    if side != TrimSide::Trailing {
        while text[start..end].starts_with(remove) {
            start += remove.len();
        }
    }
    if side != TrimSide::Leading {
        while text[start..end].ends_with(remove) && charset.is_char_start(&text[..end], end - remove.len()) {
            end -= remove.len();
        }
    }
    match text {
        Cow::Borrowed(text) => Cow::Borrowed(&text[start..end]),
        Cow::Owned(mut text) => {
            text.truncate(end);
            text.drain(..start);
            Cow::Owned(text)
        }
    }
}
