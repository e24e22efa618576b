//! Rows of a result set: as text for queries, in binary for prepared statements.
//!
//! A text row is a sequence of length-encoded strings; NULL is the byte 0xFB.
//!
//! A binary row:
//!
//! ```text
//! 1              0
//! (n + 9) / 8    a bit for each NULL column, column i at bit i + 2
//! ...            the other columns: numbers little-endian in the column's width,
//!                strings with their length, dates as fields (see below)
//! ```
//!
//! Dates and times begin with their length, so that trailing zero fields can be left
//! out: 0, 4 (year, month, day), 7 (and time), 11 (and microseconds); a TIME has 0, 8
//! (sign, days, time) or 12 bytes.
//!
//! The rendering of a value is the business of its type ([`ColumnType`]); this file
//! puts the fields together.

use super::reader::{Malformed, Reader};
use super::writer;
use crate::collation::{self, Charset, CollationId};
use crate::value::{ColumnType, Value, Zone};

/// The marker of NULL in a text row.
const NULL: u8 = 0xFB;

/// The character set conversion that a column of text needs on its way to the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Conversion {
    from: Charset,
    to: Charset,
}

impl Conversion {
    /// From the character set of the column's type to that of its definition: `None` if the bytes can stay.
    pub fn between(ty: &ColumnType, collation_sent: u16) -> Option<Self> {
        let from = collation::collation(ty.collation()?).charset;
        let to = collation::Collation::by_id(CollationId(collation_sent))?.charset;
        let verbatim = from == to || from == Charset::Binary || to == Charset::Binary || from.converts_verbatim(to);
        (!verbatim).then_some(Self { from, to })
    }

    /// Converts what was appended to `out` from `start` on.
    fn apply(self, out: &mut Vec<u8>, start: usize) {
        let text = out.split_off(start);
        collation::convert(&text, self.from, self.to, out);
    }
}

/// Appends a field of a text row, from its stored bytes.
#[inline]
pub fn text_stored(
    ty: &ColumnType,
    stored: Option<&[u8]>,
    zone: Zone,
    conversion: Option<Conversion>,
    out: &mut Vec<u8>,
) {
    match stored {
        None => out.push(NULL),
        Some(stored) => writer::lenenc_rendered(out, |out| {
            let start = out.len();
            ty.write_text_at(stored, zone, out);
            if let Some(conversion) = conversion {
                conversion.apply(out, start);
            }
        }),
    }
}

/// Appends a field of a text row, from a computed value.
#[inline]
pub fn text_value(ty: &ColumnType, value: &Value, conversion: Option<Conversion>, out: &mut Vec<u8>) {
    match value {
        Value::Null => out.push(NULL),
        value => writer::lenenc_rendered(out, |out| {
            let start = out.len();
            ty.write_value_text(value, out);
            if let Some(conversion) = conversion {
                conversion.apply(out, start);
            }
        }),
    }
}

/// A binary row under construction.
pub struct BinaryRow<'a> {
    out: &'a mut Vec<u8>,
    nulls_at: usize,
    column: usize,
}

impl<'a> BinaryRow<'a> {
    /// Begins a row of this many columns.
    #[inline]
    pub fn begin(out: &'a mut Vec<u8>, columns: usize) -> Self {
        out.push(0);
        let nulls_at = out.len();
        out.resize(nulls_at + (columns + 9) / 8, 0);
        Self { out, nulls_at, column: 0 }
    }

    #[inline]
    fn null(&mut self) {
        let bit = self.column + 2;
        self.out[self.nulls_at + bit / 8] |= 1 << (bit % 8);
        self.column += 1;
    }

    /// Appends the next column, from its stored bytes.
    #[inline]
    pub fn stored(&mut self, ty: &ColumnType, stored: Option<&[u8]>, zone: Zone, conversion: Option<Conversion>) {
        let Some(stored) = stored else {
            return self.null();
        };
        match conversion {
            None => ty.write_binary_at(stored, zone, self.out),
            // Only text is converted, and text looks the same in both protocols.
            Some(_) => text_stored(ty, Some(stored), zone, conversion, self.out),
        }
        self.column += 1;
    }

    /// Appends the next column, from a computed value.
    #[inline]
    pub fn value(&mut self, ty: &ColumnType, value: &Value, conversion: Option<Conversion>) {
        if value.is_null() {
            return self.null();
        }
        match conversion {
            None => ty.write_value_binary(value, self.out),
            Some(_) => text_value(ty, value, conversion, self.out),
        }
        self.column += 1;
    }
}

/// Reads a text row: a client's half, for tests and tools.
pub fn decode_text(payload: &[u8], columns: usize) -> Result<Vec<Option<Vec<u8>>>, Malformed> {
    let mut reader = Reader::new(payload);
    let mut row = Vec::with_capacity(columns);
    for _ in 0..columns {
        row.push(reader.nullable_lenenc_bytes("field")?.map(<[u8]>::to_vec));
    }
    if !reader.is_empty() {
        return Err(Malformed { what: "row with more fields than columns" });
    }
    Ok(row)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_rows_are_read_as_they_were_written() {
        let ty = ColumnType::VarBinary { bytes: 300 };
        let long = vec![b'x'; 300];
        let mut out = Vec::new();
        text_stored(&ty, Some(b"abc"), Zone::UTC, None, &mut out);
        text_stored(&ty, None, Zone::UTC, None, &mut out);
        text_value(&ty, &Value::Bytes(long.clone()), None, &mut out);
        assert_eq!(decode_text(&out, 3), Ok(vec![Some(b"abc".to_vec()), None, Some(long)]));
        assert!(decode_text(&out, 2).is_err());
        assert!(decode_text(&out, 4).is_err());
    }

    #[test]
    fn binary_rows_mark_nulls_two_bits_up() {
        let ty = ColumnType::Int { bytes: 4, unsigned: false };
        let mut out = Vec::new();
        let mut row = BinaryRow::begin(&mut out, 7);
        row.value(&ty, &Value::Int(-2), None);
        for _ in 0..5 {
            row.value(&ty, &Value::Int(1), None);
        }
        row.value(&ty, &Value::Null, None);
        assert_eq!(out[..7], [0, 0, 1, 0xFE, 0xFF, 0xFF, 0xFF]);
        assert_eq!(out.len(), 3 + 6 * 4);
    }

    #[test]
    fn text_is_converted_when_character_sets_differ() {
        let latin1 = ColumnType::VarChar { chars: 10, collation: CollationId::LATIN1_SWEDISH_CI };
        let conversion = Conversion::between(&latin1, 45);
        assert!(conversion.is_some());
        let mut out = Vec::new();
        text_stored(&latin1, Some(b"Caf\xE9"), Zone::UTC, conversion, &mut out);
        assert_eq!(out, "\x05Café".as_bytes());
        let utf8 = ColumnType::VarChar { chars: 10, collation: CollationId::UTF8MB4_BIN };
        assert_eq!(Conversion::between(&utf8, 45), None);
        assert_eq!(Conversion::between(&utf8, 63), None);
    }
}
