//! MySQL's binary JSON. Rows carry JSON columns in this form.
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
//! Opaque dates and times become the strings that they are printed as; other opaque bytes, too.
//!
//! Invariants: nesting ends at [`DEPTH_MAX`]. No byte of a document belongs to two values, so names, strings and values
//! have no more bytes together than the document; places that make the same bytes count many times are damage (the test
//! `places_that_meet_do_not_multiply`).

use crate::error::{Error, Result};
use crate::packet::Reader;
use crate::value::{Date, DateTime, Decimal, Json, Time};

use super::table_map::ColumnCode;

/// What MySQL allows.
const DEPTH_MAX: usize = 100;

pub(super) const LITERAL_NULL: u8 = 0;
pub(super) const LITERAL_TRUE: u8 = 1;
pub(super) const LITERAL_FALSE: u8 = 2;

const MALFORMED: Error = Error::Malformed { what: "a binary JSON value" };

/// Reads a document. No bytes stand for `null`, as MySQL reads them.
pub fn decode(document: &[u8]) -> Result<Json> {
    let Some((&ty, body)) = document.split_first() else { return Ok(Json::Null) };
    Decoder { bytes_left: document.len() }.value(ty, body, DEPTH_MAX)
}

struct Decoder {
    /// Of the document, for values that are still to come.
    bytes_left: usize,
}

impl Decoder {
    fn spend(&mut self, bytes: usize) -> Result<()> {
        self.bytes_left = self.bytes_left.checked_sub(bytes).ok_or(MALFORMED)?;
        Ok(())
    }

    fn value(&mut self, ty: u8, body: &[u8], depth: usize) -> Result<Json> {
        self.spend(1)?;
        let mut reader = Reader::new(body);
        const WHAT: &str = "a binary JSON value";
        // Numbers beyond the range of a signed one are the only ones that are kept unsigned.
        let unsigned = |number: u64| i64::try_from(number).map_or(Json::UInt(number), Json::Int);
        Ok(match ty {
            0..=3 => self.container(ty, body, depth.checked_sub(1).ok_or(MALFORMED)?)?,
            4 => match reader.u8(WHAT)? {
                LITERAL_NULL => Json::Null,
                LITERAL_TRUE => Json::Bool(true),
                LITERAL_FALSE => Json::Bool(false),
                _ => return Err(MALFORMED),
            },
            5 => Json::Int(i64::from(reader.u16(WHAT)? as i16)),
            6 => Json::Int(i64::from(reader.u16(WHAT)?)),
            7 => Json::Int(i64::from(reader.u32(WHAT)? as i32)),
            8 => Json::Int(i64::from(reader.u32(WHAT)?)),
            9 => Json::Int(reader.u64(WHAT)? as i64),
            10 => unsigned(reader.u64(WHAT)?),
            11 => {
                let number = f64::from_bits(reader.u64(WHAT)?);
                Json::Double(Some(number).filter(|number| number.is_finite()).ok_or(MALFORMED)?)
            }
            12 => Json::String(self.string(long_bytes(&mut reader)?)?),
            15 => {
                let code = ColumnCode(reader.u8(WHAT)?);
                let bytes = long_bytes(&mut reader)?;
                self.spend(bytes.len())?;
                opaque(code, bytes)?
            }
            _ => return Err(MALFORMED),
        })
    }

    fn container(&mut self, ty: u8, body: &[u8], depth: usize) -> Result<Json> {
        let (is_object, large) = (ty < 2, ty % 2 == 1);
        let word = if large { 4 } else { 2 };
        let number = |body: &[u8], at: usize| -> Result<usize> {
            let bytes = body.get(at..at + word).ok_or(MALFORMED)?;
            Ok(bytes.iter().rev().fold(0, |number, &byte| number << 8 | usize::from(byte)))
        };
        let (count, bytes) = (number(body, 0)?, number(body, word)?);
        let body = body.get(..bytes).ok_or(MALFORMED)?;
        let name_entry = if is_object { word + 2 } else { 0 };
        let entries = count.checked_mul(name_entry + 1 + word).and_then(|bytes| bytes.checked_add(2 * word));
        if entries.is_none_or(|bytes| bytes > body.len()) {
            return Err(MALFORMED);
        }
        let values_at = 2 * word + count * name_entry;
        let value = |decoder: &mut Decoder, at: usize| -> Result<Json> {
            let entry = values_at + at * (1 + word);
            let ty = body[entry];
            let is_inline = matches!(ty, 4..=6) || large && matches!(ty, 7 | 8);
            let value = match is_inline {
                true => body.get(entry + 1..entry + 1 + word),
                false => body.get(number(body, entry + 1)?..),
            };
            decoder.value(ty, value.ok_or(MALFORMED)?, depth)
        };
        if !is_object {
            return Ok(Json::Array((0..count).map(|at| value(self, at)).collect::<Result<_>>()?));
        }
        let mut members = Vec::with_capacity(count);
        for at in 0..count {
            let entry = 2 * word + at * name_entry;
            let place = number(body, entry)?;
            let length = usize::from(u16::from_le_bytes([body[entry + word], body[entry + word + 1]]));
            let name = self.string(body.get(place..place + length).ok_or(MALFORMED)?)?;
            members.push((name, value(self, at)?));
        }
        Ok(Json::object(members))
    }

    fn string(&mut self, bytes: &[u8]) -> Result<String> {
        self.spend(bytes.len())?;
        String::from_utf8(bytes.to_vec()).map_err(|_| MALFORMED)
    }
}

/// A value of a type that JSON does not have.
fn opaque(code: ColumnCode, bytes: &[u8]) -> Result<Json> {
    if let (ColumnCode::DECIMAL, [precision @ 1..=65, scale @ 0..=30, digits @ ..]) = (code, bytes)
        && scale <= precision
    {
        return match digits.len() == Decimal::stored_bytes(*precision, *scale) {
            true => Ok(Json::Decimal(Decimal::decode(digits, *precision, *scale))),
            false => Err(MALFORMED),
        };
    }
    let mut text = Vec::new();
    let packed = bytes.try_into().map(i64::from_le_bytes);
    match (code, packed) {
        (ColumnCode::DATE, Ok(packed)) => datetime(packed).date.write(&mut text),
        (ColumnCode::TIME_OLD, Ok(packed)) => time(packed).write(6, &mut text),
        (ColumnCode::DATETIME_OLD | ColumnCode::TIMESTAMP_OLD, Ok(packed)) => datetime(packed).write(6, &mut text),
        _ => {
            text.extend_from_slice(format!("opaque:type{}:0x", code.0).as_bytes());
            bytes.iter().for_each(|byte| text.extend_from_slice(format!("{byte:02X}").as_bytes()));
        }
    }
    String::from_utf8(text).map(Json::String).map_err(|_| MALFORMED)
}

/// A length of seven bits a byte, then so many bytes.
fn long_bytes<'a>(reader: &mut Reader<'a>) -> Result<&'a [u8]> {
    let mut length = 0_usize;
    for shift in [0, 7, 14, 21, 28] {
        let byte = reader.u8("a length in binary JSON")?;
        length |= usize::from(byte & 0x7F) << shift;
        if byte & 0x80 == 0 {
            return Ok(reader.bytes(length, "a text in binary JSON")?);
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
        decode(document)?.write(&mut out);
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
            let _ = decode(&damaged);
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
