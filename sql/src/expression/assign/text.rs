//! Texts on their way into a column: in its character set, well-formed, and no longer than it; ENUM and SET.

use std::borrow::Cow;

use format::collation::{Charset, CollationId, collation, convert};
use format::value::ColumnType;

use super::{AssignMode, Assignment};
use crate::error::{Error, Result};
use crate::expression::Datum;
use crate::types::{Kind, TypeInfo};

impl Assignment<'_, '_> {
    /// The text in the column's character set, well-formed.
    pub(super) fn text<'a>(&self, value: Datum<'a>, source: &TypeInfo, id: CollationId) -> Result<Cow<'a, [u8]>> {
        let to = collation(id).charset;
        let is_string = matches!(value, Datum::Bytes(_)) && source.is_string();
        let from = match (is_string, source.is_string()) {
            (true, _) => source.charset(),
            (false, _) => Charset::Ascii,
        };
        let text = match &value {
            // All digits, those beyond its type, too: `1 / 3`.
            Datum::Decimal(number) => {
                let source = TypeInfo { decimals: source.decimals.max(number.scale()), ..*source };
                value.into_text(&source)
            }
            _ => value.into_text(source),
        };
        if to == Charset::Binary || (text.is_ascii() && from.has_same_bytes(&text, to)) {
            return Ok(text);
        }
        let text = if from == to || from == Charset::Binary || from.converts_verbatim(to) {
            match from == Charset::Binary && to.missing_zeros(&text) > 0 {
                true => self.whole_units(text, to),
                false => text,
            }
        } else {
            let mut converted = Vec::with_capacity(text.len() * 2);
            if !convert(&text, from, to, &mut converted) {
                self.incorrect_string(&text, from.well_formed_prefix(&text).min(first_lost(&text, from, to)))?;
            }
            Cow::Owned(converted)
        };
        let valid = to.well_formed_prefix(&text);
        if valid < text.len() {
            self.incorrect_string(&text, valid)?;
            return Ok(truncate(text, valid));
        }
        Ok(text)
    }

    /// Bytes that are no text yet, with zeros in front, so that they are units of the column's character set.
    fn whole_units<'a>(&self, bytes: Cow<'a, [u8]>, to: Charset) -> Cow<'a, [u8]> {
        let mut whole = Vec::with_capacity(bytes.len() + 4);
        convert(&bytes, Charset::Binary, to, &mut whole);
        Cow::Owned(whole)
    }

    fn incorrect_string(&self, text: &[u8], at: usize) -> Result<()> {
        let mut shown: String = text[at.min(text.len())..].iter().take(6).map(shown_byte).collect();
        if text.len() > at + 6 {
            shown.push_str("...");
        }
        self.doubt(Error::incorrect_value_for_column("string", &shown, self.target.name, self.row))
    }

    /// At most so many characters; spaces beyond do not count.
    pub(super) fn fit_chars<'a>(&self, text: Cow<'a, [u8]>, chars: u32, id: CollationId) -> Result<Cow<'a, [u8]>> {
        // Fewer bytes than characters allowed: no need to count.
        if text.len() <= chars as usize {
            return Ok(text);
        }
        let charset = collation(id).charset;
        let end = charset.offset_of_char(&text, chars as usize);
        if end >= text.len() {
            return Ok(text);
        }
        self.too_long(text, end)
    }

    pub(super) fn fit_bytes<'a>(&self, text: Cow<'a, [u8]>, bytes: usize, charset: Charset) -> Result<Cow<'a, [u8]>> {
        if text.len() <= bytes {
            return Ok(text);
        }
        let end = match charset {
            Charset::Binary => bytes,
            _ => charset.well_formed_prefix(&text[..bytes]),
        };
        if charset == Charset::Binary {
            self.doubt_too_long()?;
            return Ok(truncate(text, end));
        }
        self.too_long(text, end)
    }

    fn too_long<'a>(&self, text: Cow<'a, [u8]>, end: usize) -> Result<Cow<'a, [u8]>> {
        let charset = self.target.ty.collation().map_or(Charset::Binary, |id| collation(id).charset);
        // Tabs and ends of lines are spaces here, but not where a character has several bytes at least.
        let lost = &text[end..];
        let lost_nothing = match charset.is_wide() {
            true => charset.without_spaces(lost).is_empty(),
            false => lost.iter().all(|byte| matches!(byte, b'\t'..=b'\r' | b' ')),
        };
        if lost_nothing {
            let is_char = matches!(self.target.ty, ColumnType::Char { .. });
            if !is_char {
                let note = Error::data_truncated(self.target.name, self.row).message;
                self.context.warnings.note(1265, note);
            }
        } else {
            self.doubt_too_long()?;
        }
        Ok(truncate(text, end))
    }

    fn doubt_too_long(&self) -> Result<()> {
        match self.mode {
            AssignMode::Strict => Err(Error::data_too_long(self.target.name, self.row)),
            AssignMode::Lenient => self.truncated(),
        }
    }

    // --------------------------------------------------------- ENUM and SET

    pub(super) fn enumeration<'a>(
        &self,
        value: Datum<'_>,
        source: &TypeInfo,
        members: usize,
        id: CollationId,
    ) -> Result<Datum<'a>> {
        if let Datum::Bytes(_) = &value {
            let charset = collation(id).charset;
            let text = trim_spaces(self.text(value, source, id)?, charset);
            if let Some(index) = self.target.ty.enum_index(&text) {
                return Ok(Datum::UInt(index as u64));
            }
            // A number written as text is an index, if no member is called so.
            let index = number_of(&text, charset).and_then(|index| usize::try_from(index).ok());
            if let Some(index) = index.filter(|index| (1..=members).contains(index)) {
                return Ok(Datum::UInt(index as u64));
            }
            self.truncated()?;
            return Ok(Datum::UInt(0));
        }
        let index = self.integer(value, source, i128::MIN, i128::MAX)?;
        if index < 1 || index > members as i128 {
            self.truncated()?;
            return Ok(Datum::UInt(0));
        }
        Ok(Datum::UInt(index as u64))
    }

    pub(super) fn set<'a>(
        &self,
        value: Datum<'_>,
        source: &TypeInfo,
        members: usize,
        id: CollationId,
    ) -> Result<Datum<'a>> {
        let all = if members >= 64 { u64::MAX } else { (1 << members) - 1 };
        if let Datum::Bytes(_) = &value {
            let charset = collation(id).charset;
            let text = trim_spaces(self.text(value, source, id)?, charset);
            if let Some(mask) = self.target.ty.set_mask(&text) {
                return Ok(Datum::UInt(mask));
            }
            let mask = number_of(&text, charset);
            if let Some(mask) = mask.filter(|mask| *mask <= all) {
                return Ok(Datum::UInt(mask));
            }
            self.truncated()?;
            // Those that are members are kept.
            let known = charset.split(&text, b',').filter_map(|name| self.target.ty.set_mask(name));
            return Ok(Datum::UInt(known.fold(0, |mask, bit| mask | bit)));
        }
        let mask = match value {
            Datum::Int(mask) => mask as u64,
            Datum::UInt(mask) => mask,
            other => self.integer(other, source, 0, u64::MAX as i128)? as u64,
        };
        if mask & !all != 0 {
            self.truncated()?;
        }
        Ok(Datum::UInt(mask & all))
    }
}

/// A double whose text is longer than a CHAR or VARCHAR has room for is written with the digits that fit: 123456.789 is
/// `1.2e5` in a CHAR(5). Whatever has no such text stays as it is.
pub(super) fn shortened<'a>(value: Datum<'a>, source: &TypeInfo, chars: u32, mode: AssignMode) -> Datum<'a> {
    match &value {
        Datum::Double(number) if source.kind == Kind::Double && number.is_finite() => {
            let fits = |text: &Vec<u8>| text.len() <= chars as usize;
            let mut whole = Vec::new();
            value.write_text(source, &mut whole);
            if fits(&whole) {
                return Datum::bytes(whole);
            }
            let says_something = |text: &Vec<u8>| digits(text) > 0 || *number == 0.0;
            let mut plain = (0..=15).rev().map(|decimals| plain_text(format!("{number:.decimals$}")));
            let plain = plain.find(|text| fits(text) && says_something(text));
            // MySQL leaves room for a point where digits are lost.
            let one_digit =
                digits(&scientific_text(&format!("{number:.decimals$e}", decimals = chars.min(20) as usize))) == 1;
            let scientific = (0..17)
                .rev()
                .map(|decimals| scientific_text(&format!("{number:.decimals$e}")))
                .find(|text| fits(text) && (one_digit || digits(text) > 1 || text.len() < chars as usize));
            match (plain, scientific) {
                (Some(plain), Some(scientific)) if digits(&plain) < digits(&scientific) => Datum::bytes(scientific),
                (Some(text), _) | (None, Some(text)) => Datum::bytes(text),
                // One digit, which may be cut itself; in strict mode the whole number is too long.
                (None, None) if mode == AssignMode::Lenient => Datum::bytes(scientific_text(&format!("{number:.0e}"))),
                (None, None) => value,
            }
        }
        _ => value,
    }
}

/// Without the zeros at the end of a fraction.
fn plain_text(text: String) -> Vec<u8> {
    let kept = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    let kept = if kept == "-0" { "0" } else { kept };
    kept.as_bytes().to_vec()
}

fn scientific_text(text: &str) -> Vec<u8> {
    let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
    let mut out = plain_text(mantissa.to_owned());
    out.push(b'e');
    out.extend_from_slice(exponent.as_bytes());
    out
}

/// How many digits of a number's text count.
fn digits(text: &[u8]) -> usize {
    let mantissa = text.split(|byte| *byte == b'e').next().unwrap_or(text);
    let digits = mantissa.iter().filter(|byte| byte.is_ascii_digit());
    digits.skip_while(|byte| **byte == b'0').count()
}

fn shown_byte(byte: &u8) -> String {
    if byte.is_ascii_graphic() || *byte == b' ' { (*byte as char).to_string() } else { format!("\\x{byte:02X}") }
}

/// The offset of the first character that `to` does not have.
fn first_lost(text: &[u8], from: Charset, to: Charset) -> usize {
    let mut at = 0;
    let mut scratch = Vec::new();
    while let Some((character, length)) = from.decode_char(&text[at..]) {
        if !to.encode_char(character, &mut scratch) {
            return at;
        }
        scratch.clear();
        at += length;
    }
    at
}

/// The number that a text is, and nothing else.
fn number_of(text: &[u8], charset: Charset) -> Option<u64> {
    let mut utf8 = Vec::new();
    convert(text, charset, Charset::Utf8mb4, &mut utf8);
    std::str::from_utf8(&utf8).ok()?.parse().ok()
}

pub(super) fn trim_spaces(text: Cow<'_, [u8]>, charset: Charset) -> Cow<'_, [u8]> {
    let kept = charset.without_spaces(&text).len();
    truncate(text, kept)
}

fn truncate(text: Cow<'_, [u8]>, length: usize) -> Cow<'_, [u8]> {
    if length >= text.len() {
        return text;
    }
    match text {
        Cow::Borrowed(text) => Cow::Borrowed(&text[..length]),
        Cow::Owned(mut text) => {
            text.truncate(length);
            Cow::Owned(text)
        }
    }
}
