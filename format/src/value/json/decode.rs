//! MySQL's binary JSON: what a column stores and rows of the binary log carry.
//!
//! ```text
//! value      1  type, then by type:
//!   0, 1       object, small and large     2, 3  array, small and large
//!   4          literal: 1 byte, 0 null, 1 true, 2 false
//!   5 .. 10    int16, uint16, int32, uint32, int64, uint64
//!   11         double
//!   12         string: length (7 bits a byte, low ones first), UTF-8
//!   15         opaque: 1 column type, length, bytes: decimals, dates, times
//!
//! object     n  count, n  bytes of the whole        (n: 2 if small, 4 if large)
//!            per member: n  place of the key, 2  its bytes
//!            per member: 1  type, n  place of the value, or the value itself if it is a literal or fits n bytes
//!            keys, values
//! array      the same without keys
//! ```
//!
//! Places count from the first byte behind the type of the object or array. All numbers are little-endian.
//!
//! Invariants: nesting ends at [`DEPTH_MAX`]. No byte of a document belongs to two values, so names, strings and values
//! have no more bytes together than the document; places that make the same bytes count many times are damage (the test
//! `places_that_meet_do_not_multiply`).

use super::tree::{DEPTH_MAX, Json};
use crate::error::{Error, Result};
use crate::value::{Date, DateTime, Decimal, Time};

/// The numbers of column types that opaque values have.
pub(super) mod code {
    pub const TIMESTAMP: u8 = 7;
    pub const DATE: u8 = 10;
    pub const TIME: u8 = 11;
    pub const DATETIME: u8 = 12;
    pub const DECIMAL: u8 = 246;
}

pub(super) const LITERAL_NULL: u8 = 0;
pub(super) const LITERAL_TRUE: u8 = 1;
pub(super) const LITERAL_FALSE: u8 = 2;

const MALFORMED: Error = Error::Malformed { what: "a binary JSON value" };

impl Json {
    /// Reads a binary document. No bytes stand for `null`, as MySQL reads them.
    pub fn decode(document: &[u8]) -> Result<Json> {
        Json::decode_unless(document, &|| false)
    }

    /// The same of a document that may be long: now and then it is asked whether to give up. Then it ends as with damage.
    pub fn decode_unless(document: &[u8], gives_up: &dyn Fn() -> bool) -> Result<Json> {
        let Some((&ty, body)) = document.split_first() else { return Ok(Json::Null) };
        Decoder { bytes_left: document.len(), values: 0, gives_up }.value(ty, body, DEPTH_MAX)
    }
}

/// An object or array in a document, whose parts are read one by one.
pub(super) struct Container<'d> {
    body: &'d [u8],
    is_large: bool,
    pub is_object: bool,
    pub count: usize,
}

impl<'d> Container<'d> {
    /// The type is one of 0 to 3.
    pub fn read(ty: u8, body: &'d [u8]) -> Result<Container<'d>> {
        let mut container = Container { body, is_large: ty % 2 == 1, is_object: ty < 2, count: 0 };
        container.count = container.number(0)?;
        container.body = body.get(..container.number(container.word())?).ok_or(MALFORMED)?;
        let word = container.word();
        let entries = container.count.checked_mul(container.name_entry() + 1 + word);
        match entries.and_then(|bytes| bytes.checked_add(2 * word)) {
            Some(bytes) if bytes <= container.body.len() => Ok(container),
            _ => Err(MALFORMED),
        }
    }

    fn word(&self) -> usize {
        if self.is_large { 4 } else { 2 }
    }

    fn name_entry(&self) -> usize {
        if self.is_object { self.word() + 2 } else { 0 }
    }

    fn number(&self, at: usize) -> Result<usize> {
        let bytes = self.body.get(at..at + self.word()).ok_or(MALFORMED)?;
        Ok(bytes.iter().rev().fold(0, |number, &byte| number << 8 | usize::from(byte)))
    }

    /// The name of a member; `at` is below the count.
    pub fn name(&self, at: usize) -> Result<&'d [u8]> {
        let entry = 2 * self.word() + at * self.name_entry();
        let place = self.number(entry)?;
        let length: [u8; 2] = fixed(self.body.get(entry + self.word()..).ok_or(MALFORMED)?)?;
        self.body.get(place..place + usize::from(u16::from_le_bytes(length))).ok_or(MALFORMED)
    }

    /// The type and the bytes of a part; `at` is below the count. Other parts may follow the bytes.
    pub fn part(&self, at: usize) -> Result<(u8, &'d [u8])> {
        let word = self.word();
        let entry = 2 * word + self.count * self.name_entry() + at * (1 + word);
        let ty = *self.body.get(entry).ok_or(MALFORMED)?;
        let is_inline = matches!(ty, 4..=6) || self.is_large && matches!(ty, 7 | 8);
        let body = match is_inline {
            true => self.body.get(entry + 1..entry + 1 + word),
            false => self.body.get(self.number(entry + 1)?..),
        };
        Ok((ty, body.ok_or(MALFORMED)?))
    }

    /// The number of the member with a name.
    pub fn find(&self, name: &[u8]) -> Result<Option<usize>> {
        let (mut low, mut high) = (0, self.count);
        while low < high {
            let middle = low + (high - low) / 2;
            let other = self.name(middle)?;
            match (other.len(), other).cmp(&(name.len(), name)) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Equal => return Ok(Some(middle)),
                std::cmp::Ordering::Greater => high = middle,
            }
        }
        Ok(None)
    }
}

/// The value of a part.
pub(super) fn part_value(ty: u8, body: &[u8]) -> Result<Json> {
    Decoder { bytes_left: body.len() + 1, values: 0, gives_up: &|| false }.value(ty, body, DEPTH_MAX)
}

struct Decoder<'g> {
    /// Of the document, for values that are still to come.
    bytes_left: usize,
    /// Those that were read.
    values: u32,
    gives_up: &'g dyn Fn() -> bool,
}

impl Decoder<'_> {
    fn spend(&mut self, bytes: usize) -> Result<()> {
        self.bytes_left = self.bytes_left.checked_sub(bytes).ok_or(MALFORMED)?;
        Ok(())
    }

    fn value(&mut self, ty: u8, body: &[u8], depth: usize) -> Result<Json> {
        self.spend(1)?;
        self.values = self.values.wrapping_add(1);
        if self.values.is_multiple_of(super::tree::VALUES_BETWEEN) && (self.gives_up)() {
            return Err(MALFORMED);
        }
        Ok(match ty {
            0..=3 => self.container(ty, body, depth.checked_sub(1).ok_or(MALFORMED)?)?,
            4 => match fixed::<1>(body)?[0] {
                LITERAL_NULL => Json::Null,
                LITERAL_TRUE => Json::Bool(true),
                LITERAL_FALSE => Json::Bool(false),
                _ => return Err(MALFORMED),
            },
            5 => Json::Int(i16::from_le_bytes(fixed(body)?).into()),
            6 => Json::UInt(u16::from_le_bytes(fixed(body)?).into()),
            7 => Json::Int(i32::from_le_bytes(fixed(body)?).into()),
            8 => Json::UInt(u32::from_le_bytes(fixed(body)?).into()),
            9 => Json::Int(i64::from_le_bytes(fixed(body)?)),
            10 => Json::UInt(u64::from_le_bytes(fixed(body)?)),
            11 => {
                let number = f64::from_le_bytes(fixed(body)?);
                Json::Double(Some(number).filter(|number| number.is_finite()).ok_or(MALFORMED)?)
            }
            12 => Json::String(self.string(long_bytes(body)?)?),
            15 => {
                let (&code, body) = body.split_first().ok_or(MALFORMED)?;
                let bytes = long_bytes(body)?;
                self.spend(bytes.len())?;
                opaque(code, bytes)?
            }
            _ => return Err(MALFORMED),
        })
    }

    fn container(&mut self, ty: u8, body: &[u8], depth: usize) -> Result<Json> {
        let container = Container::read(ty, body)?;
        let value = |decoder: &mut Decoder<'_>, at: usize| -> Result<Json> {
            let (ty, body) = container.part(at)?;
            decoder.value(ty, body, depth)
        };
        if !container.is_object {
            return Ok(Json::Array((0..container.count).map(|at| value(self, at)).collect::<Result<_>>()?));
        }
        let mut members = Vec::with_capacity(container.count);
        for at in 0..container.count {
            let name = self.string(container.name(at)?)?;
            members.push((name, value(self, at)?));
        }
        Ok(Json::object(members))
    }

    fn string(&mut self, bytes: &[u8]) -> Result<String> {
        self.spend(bytes.len())?;
        String::from_utf8(bytes.to_vec()).map_err(|_| MALFORMED)
    }
}

/// The first bytes.
fn fixed<const N: usize>(body: &[u8]) -> Result<[u8; N]> {
    body.first_chunk().copied().ok_or(MALFORMED)
}

/// A value of a type that JSON does not have.
fn opaque(code: u8, bytes: &[u8]) -> Result<Json> {
    if let (code::DECIMAL, [precision @ 1..=65, scale @ 0..=30, digits @ ..]) = (code, bytes)
        && scale <= precision
    {
        return match digits.len() == Decimal::stored_bytes(*precision, *scale) {
            true => Ok(Json::Decimal(Decimal::decode(digits, *precision, *scale))),
            false => Err(MALFORMED),
        };
    }
    Ok(match (code, bytes.try_into().map(i64::from_le_bytes)) {
        (code::DATE, Ok(packed)) => Json::Date(datetime(packed).date),
        (code::TIME, Ok(packed)) => Json::Time(time(packed)),
        (code::DATETIME | code::TIMESTAMP, Ok(packed)) => Json::DateTime(datetime(packed)),
        _ => Json::Opaque { code, bytes: bytes.to_vec() },
    })
}

/// A length of seven bits a byte, then so many bytes.
fn long_bytes(body: &[u8]) -> Result<&[u8]> {
    let mut length = 0_usize;
    for (at, shift) in [0, 7, 14, 21, 28].into_iter().enumerate() {
        let byte = *body.get(at).ok_or(MALFORMED)?;
        length |= usize::from(byte & 0x7F) << shift;
        if byte & 0x80 == 0 {
            return body[at + 1..].get(..length).ok_or(MALFORMED);
        }
    }
    Err(MALFORMED)
}

/// MySQL's packed form: 24 bits of microseconds below hours, minutes and seconds, these below the date.
fn datetime(packed: i64) -> DateTime {
    let (whole, micros) = (packed.unsigned_abs() >> 24, packed.unsigned_abs() & 0xFF_FFFF);
    let (ymd, hms) = (whole >> 17, whole & 0x1_FFFF);
    let months = ymd >> 5;
    DateTime {
        date: Date::new((months / 13) as u16, (months % 13) as u8, (ymd & 31) as u8),
        hour: (hms >> 12) as u8,
        minute: (hms >> 6 & 63) as u8,
        second: (hms & 63) as u8,
        micros: micros.min(999_999) as u32,
        is_second: false,
    }
}

fn time(packed: i64) -> Time {
    let (whole, micros) = (packed.unsigned_abs() >> 24, packed.unsigned_abs() & 0xFF_FFFF);
    Time {
        negative: packed < 0,
        hours: (whole >> 12) as u16 & 0x3FF,
        minutes: (whole >> 6 & 63) as u8,
        seconds: (whole & 63) as u8,
        micros: micros.min(999_999) as u32,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(document: &[u8]) -> Result<String> {
        let mut out = Vec::new();
        Json::decode(document)?.write(&mut out);
        Ok(String::from_utf8(out).unwrap())
    }

    /// {"a": [1, "x"], "b": null}, laid out as MySQL does.
    const DOCUMENT: [u8; 37] = [
        0, 2, 0, 36, 0, // a small object of two members, 36 bytes
        18, 0, 1, 0, 19, 0, 1, 0, // keys at 18 and 19
        2, 20, 0, 4, 0, 0, // an array at 20, a literal
        b'a', b'b', // keys
        2, 0, 12, 0, 5, 1, 0, 12, 10, 0, 1, b'x', // two values, 12 bytes
        0, 0, 0, 0,
    ];

    #[test]
    fn a_document_reads_as_its_text() {
        assert_eq!(text(&DOCUMENT).unwrap(), r#"{"a": [1, "x"], "b": null}"#);
        assert_eq!(text(&[]).unwrap(), "null");
        assert_eq!(text(&[11, 0, 0, 0, 0, 0, 0, 0xF0, 0x3F]).unwrap(), "1.0");
        assert_eq!(text(&[12, 4, b'"', b'\n', 1, b'z']).unwrap(), r#""\"\n\u0001z""#);
    }

    #[test]
    fn damage_is_an_error_or_another_text() {
        for length in 1..DOCUMENT.len() {
            let _ = text(&DOCUMENT[..length]);
        }
        for bit in 0..8 * DOCUMENT.len() {
            let mut damaged = DOCUMENT;
            damaged[bit / 8] ^= 1 << (bit % 8);
            let _ = Json::decode(&damaged);
        }
    }

    /// An array of four that each contain the array itself would be 4^100 values.
    #[test]
    fn places_that_meet_do_not_multiply() {
        let mut document = vec![2, 4, 0, 16, 0];
        for _ in 0..4 {
            document.extend_from_slice(&[2, 0, 0]);
        }
        assert_eq!(text(&document), Err(MALFORMED));
        // Two elements are one string.
        let shared = [2, 2, 0, 13, 0, 12, 10, 0, 12, 10, 0, 2, b'a', b'b'];
        assert_eq!(text(&shared[..]).unwrap(), "[\"ab\", \"ab\"]");
        let long = [&[2, 3, 0, 200, 0, 12, 13, 0, 12, 13, 0, 12, 13, 0, 100][..], &[b'a'; 186]].concat();
        assert_eq!(text(&long), Err(MALFORMED));
    }
}
