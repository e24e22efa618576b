//! MySQL's binary JSON, read as text. Rows carry JSON columns in this form.
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
//! Invariants: nesting ends at [`DEPTH_MAX`]. Each value takes some bytes of the document, so there are no more values
//! than bytes; places that make the same bytes count many times are damage (the test
//! `places_that_meet_do_not_multiply`).

use crate::error::{Error, Result};
use crate::packet::Reader;
use crate::value::{Date, DateTime, Decimal, Time, write_double, write_i64, write_u64};

use super::table_map::ColumnCode;

/// What MySQL allows.
pub const DEPTH_MAX: usize = 100;

const MALFORMED: Error = Error::Malformed { what: "a binary JSON value" };

/// Appends the text of a document. No bytes stand for `null`, as MySQL reads them.
pub fn write_text(document: &[u8], out: &mut Vec<u8>) -> Result<()> {
    let Some((&ty, body)) = document.split_first() else {
        out.extend_from_slice(b"null");
        return Ok(());
    };
    Writer { values_left: document.len(), out }.value(ty, body, DEPTH_MAX)
}

struct Writer<'o> {
    values_left: usize,
    out: &'o mut Vec<u8>,
}

impl Writer<'_> {
    fn value(&mut self, ty: u8, body: &[u8], depth: usize) -> Result<()> {
        self.values_left = self.values_left.checked_sub(1).ok_or(MALFORMED)?;
        let mut reader = Reader::new(body);
        const WHAT: &str = "a binary JSON value";
        match ty {
            0..=3 => self.container(ty, body, depth.checked_sub(1).ok_or(MALFORMED)?)?,
            4 => self.literal(reader.u8(WHAT)?)?,
            5 => write_i64(i64::from(reader.u16(WHAT)? as i16), self.out),
            6 => write_u64(u64::from(reader.u16(WHAT)?), self.out),
            7 => write_i64(i64::from(reader.u32(WHAT)? as i32), self.out),
            8 => write_u64(u64::from(reader.u32(WHAT)?), self.out),
            9 => write_i64(reader.u64(WHAT)? as i64, self.out),
            10 => write_u64(reader.u64(WHAT)?, self.out),
            11 => self.double(f64::from_bits(reader.u64(WHAT)?)),
            12 => {
                let text = long_bytes(&mut reader)?;
                self.string(text);
            }
            15 => {
                let code = ColumnCode(reader.u8(WHAT)?);
                let bytes = long_bytes(&mut reader)?;
                self.opaque(code, bytes)?;
            }
            _ => return Err(MALFORMED),
        }
        Ok(())
    }

    fn container(&mut self, ty: u8, body: &[u8], depth: usize) -> Result<()> {
        let (is_object, large) = (ty < 2, ty % 2 == 1);
        let word = if large { 4 } else { 2 };
        let number = |at: usize| -> Result<usize> {
            let bytes = body.get(at..at + word).ok_or(MALFORMED)?;
            Ok(bytes.iter().rev().fold(0, |number, &byte| number << 8 | usize::from(byte)))
        };
        let (count, bytes) = (number(0)?, number(word)?);
        let body_end = Some(bytes).filter(|&bytes| bytes <= body.len()).ok_or(MALFORMED)?;
        let body = &body[..body_end];
        let key_entry = if is_object { word + 2 } else { 0 };
        let values_at = count.checked_mul(key_entry).and_then(|keys| keys.checked_add(2 * word)).ok_or(MALFORMED)?;
        self.out.push(if is_object { b'{' } else { b'[' });
        for at in 0..count {
            if at > 0 {
                self.out.extend_from_slice(b", ");
            }
            if is_object {
                let entry = 2 * word + at * key_entry;
                let place = number(entry)?;
                let length = body.get(entry + word..entry + word + 2).ok_or(MALFORMED)?;
                let length = usize::from(u16::from_le_bytes([length[0], length[1]]));
                self.string(body.get(place..place + length).ok_or(MALFORMED)?);
                self.out.extend_from_slice(b": ");
            }
            let entry = at.checked_mul(1 + word).and_then(|at| at.checked_add(values_at)).ok_or(MALFORMED)?;
            let &ty = body.get(entry).ok_or(MALFORMED)?;
            let is_inline = matches!(ty, 4..=6) || large && matches!(ty, 7 | 8);
            let value = match is_inline {
                true => body.get(entry + 1..entry + 1 + word),
                false => body.get(number(entry + 1)?..),
            };
            self.value(ty, value.ok_or(MALFORMED)?, depth)?;
        }
        self.out.push(if is_object { b'}' } else { b']' });
        Ok(())
    }

    fn literal(&mut self, number: u8) -> Result<()> {
        let text: &[u8] = match number {
            0 => b"null",
            1 => b"true",
            2 => b"false",
            _ => return Err(MALFORMED),
        };
        self.out.extend_from_slice(text);
        Ok(())
    }

    /// A double that is a whole number is told from an integer by its fraction.
    fn double(&mut self, number: f64) {
        let start = self.out.len();
        write_double(number, self.out);
        if !self.out[start..].iter().any(|byte| matches!(byte, b'.' | b'e' | b'n' | b'i')) {
            self.out.extend_from_slice(b".0");
        }
    }

    fn string(&mut self, text: &[u8]) {
        self.out.push(b'"');
        for &byte in text {
            match byte {
                b'"' | b'\\' => self.out.extend_from_slice(&[b'\\', byte]),
                8 => self.out.extend_from_slice(b"\\b"),
                9 => self.out.extend_from_slice(b"\\t"),
                10 => self.out.extend_from_slice(b"\\n"),
                12 => self.out.extend_from_slice(b"\\f"),
                13 => self.out.extend_from_slice(b"\\r"),
                0..32 => self.out.extend_from_slice(format!("\\u{byte:04x}").as_bytes()),
                _ => self.out.push(byte),
            }
        }
        self.out.push(b'"');
    }

    fn opaque(&mut self, code: ColumnCode, bytes: &[u8]) -> Result<()> {
        match (code, bytes) {
            (ColumnCode::DECIMAL, [precision @ 1..=65, scale @ 0..=30, digits @ ..]) if scale <= precision => {
                if digits.len() != Decimal::stored_bytes(*precision, *scale) {
                    return Err(MALFORMED);
                }
                Decimal::decode(digits, *precision, *scale).write(self.out);
                return Ok(());
            }
            _ => (),
        }
        self.out.push(b'"');
        let packed = bytes.try_into().map(i64::from_le_bytes);
        match (code, packed) {
            (ColumnCode::DATE, Ok(packed)) => datetime(packed).date.write(self.out),
            (ColumnCode::TIME_OLD, Ok(packed)) => time(packed).write(6, self.out),
            (ColumnCode::DATETIME_OLD | ColumnCode::TIMESTAMP_OLD, Ok(packed)) => datetime(packed).write(6, self.out),
            _ => {
                self.out.extend_from_slice(format!("opaque:type{}:0x", code.0).as_bytes());
                bytes.iter().for_each(|byte| self.out.extend_from_slice(format!("{byte:02X}").as_bytes()));
            }
        }
        self.out.push(b'"');
        Ok(())
    }
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
        write_text(document, &mut out)?;
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
            let mut out = Vec::new();
            let _ = write_text(&damaged, &mut out);
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
    }
}
