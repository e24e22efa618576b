//! Values as the client protocol shows them, as text and in the binary rows of prepared statements.
//!
//! This is the last step of every result row, so it goes straight from stored bytes to the packet buffer: no [`Value`]
//! in between, no allocation but the growth of the buffer.
//!
//! ```text
//! binary row field
//!
//! integers, YEAR, FLOAT, DOUBLE   1, 2, 4 or 8 bytes, little-endian
//! DATE, DATETIME, TIMESTAMP       length 0, 4, 7 or 11; year 2, month, day, hour, minute, second, micros 4
//! TIME                            length 0, 8 or 12; negative, days 4, hour, minute, second, micros 4
//! all others                      length-encoded: the text
//! ```

use super::number::{write_double, write_double_fixed, write_float, write_i64, write_padded, write_u64};
use super::stored::{double_of, float_of, signed_of, unsigned_of, year_of};
use super::{ColumnType, Date, DateTime, Decimal, Json, Time, Value, Zone};
use crate::collation::{Charset, CollationId, collation, convert};

/// Appends a length-encoded integer of the client protocol.
#[inline]
fn write_length(length: u64, out: &mut Vec<u8>) {
    match length {
        0..=0xFA => out.push(length as u8),
        0xFB..=0xFFFF => {
            out.push(0xFC);
            out.extend_from_slice(&(length as u16).to_le_bytes());
        }
        0x1_0000..=0xFF_FFFF => {
            out.push(0xFD);
            out.extend_from_slice(&length.to_le_bytes()[..3]);
        }
        _ => {
            out.push(0xFE);
            out.extend_from_slice(&length.to_le_bytes());
        }
    }
}

/// Appends bytes behind their length.
#[inline]
fn write_counted(text: &[u8], out: &mut Vec<u8>) {
    write_length(text.len() as u64, out);
    out.extend_from_slice(text);
}

/// Appends what `render` appends, behind its length. A byte is set aside for the length; a text too long for that
/// moves.
#[inline]
fn write_rendered(out: &mut Vec<u8>, render: impl FnOnce(&mut Vec<u8>)) {
    let length_at = out.len();
    out.push(0);
    render(out);
    let bytes = out.len() - length_at - 1;
    if bytes <= 0xFA {
        out[length_at] = bytes as u8;
        return;
    }
    let text = out.split_off(length_at + 1);
    out.pop();
    write_counted(&text, out);
}

/// A member's name in the character set of its column.
fn write_member(member: &str, id: CollationId, out: &mut Vec<u8>) {
    match collation(id).charset {
        Charset::Utf8mb4 | Charset::Utf8mb3 => out.extend_from_slice(member.as_bytes()),
        charset => {
            convert(member.as_bytes(), Charset::Utf8mb4, charset, out);
        }
    }
}

fn write_enum(members: &[Box<str>], id: CollationId, index: u64, out: &mut Vec<u8>) {
    if let Some(member) = index.checked_sub(1).and_then(|index| members.get(index as usize)) {
        write_member(member, id, out);
    }
}

fn write_set(members: &[Box<str>], id: CollationId, mask: u64, out: &mut Vec<u8>) {
    let mut first = true;
    for (index, member) in members.iter().enumerate().take(64) {
        if mask >> index & 1 != 0 {
            if !first {
                collation(id).charset.encode_char(b','.into(), out);
            }
            first = false;
            write_member(member, id, out);
        }
    }
}

fn write_bits(number: u64, bits: u8, out: &mut Vec<u8>) {
    out.extend_from_slice(&number.to_be_bytes()[8 - bits.div_ceil(8).min(8) as usize..]);
}

fn write_date_binary(date: Date, out: &mut Vec<u8>) {
    if date.is_zero() {
        return out.push(0);
    }
    out.push(4);
    out.extend_from_slice(&date.year.to_le_bytes());
    out.extend_from_slice(&[date.month, date.day]);
}

fn write_datetime_binary(moment: &DateTime, out: &mut Vec<u8>) {
    let length_at = out.len();
    write_date_binary(moment.date, out);
    if moment.hour == 0 && moment.minute == 0 && moment.second == 0 && moment.micros == 0 {
        return;
    }
    if out[length_at] == 0 {
        out.extend_from_slice(&[0; 4]);
    }
    out[length_at] = 7;
    out.extend_from_slice(&[moment.hour, moment.minute, moment.second]);
    if moment.micros != 0 {
        out[length_at] = 11;
        out.extend_from_slice(&moment.micros.to_le_bytes());
    }
}

fn write_time_binary(time: &Time, out: &mut Vec<u8>) {
    if *time == Time::ZERO {
        return out.push(0);
    }
    out.push(if time.micros == 0 { 8 } else { 12 });
    out.push(time.negative as u8);
    out.extend_from_slice(&u32::from(time.hours / 24).to_le_bytes());
    out.extend_from_slice(&[(time.hours % 24) as u8, time.minutes, time.seconds]);
    if time.micros != 0 {
        out.extend_from_slice(&time.micros.to_le_bytes());
    }
}

/// Bytes of an integer in a binary row: MEDIUMINT travels as INT.
#[inline]
fn binary_bytes(bytes: u8) -> usize {
    if bytes == 3 { 4 } else { bytes as usize }
}

impl ColumnType {
    /// Appends the text of stored bytes; a TIMESTAMP in UTC.
    #[inline]
    pub fn write_text(&self, stored: &[u8], out: &mut Vec<u8>) {
        self.write_text_at(stored, Zone::UTC, out)
    }

    /// Appends the text of stored bytes; a TIMESTAMP in `zone`.
    pub fn write_text_at(&self, stored: &[u8], zone: Zone, out: &mut Vec<u8>) {
        match self {
            ColumnType::Int { unsigned: false, .. } => write_i64(signed_of(stored), out),
            ColumnType::Int { unsigned: true, .. } => write_u64(unsigned_of(stored), out),
            ColumnType::VarChar { .. }
            | ColumnType::Binary { .. }
            | ColumnType::VarBinary { .. }
            | ColumnType::Text { .. }
            | ColumnType::Blob { .. }
            | ColumnType::Geometry { .. }
            | ColumnType::Bit { .. } => out.extend_from_slice(stored),
            ColumnType::Json => Json::write_stored(stored, out),
            ColumnType::Char { collation: id, .. } => {
                out.extend_from_slice(collation(*id).charset.without_spaces(stored))
            }
            ColumnType::Decimal { precision, scale, .. } => Decimal::write_stored(stored, *precision, *scale, out),
            ColumnType::Date => Date::decode(stored).write(out),
            ColumnType::Time { fsp } => Time::decode(stored, *fsp).write(*fsp, out),
            ColumnType::DateTime { fsp } => DateTime::decode(stored, *fsp).write(*fsp, out),
            ColumnType::Timestamp { fsp } => DateTime::decode_timestamp(stored, *fsp, zone).write(*fsp, out),
            ColumnType::Year => write_padded(year_of(stored) as u32, 4, out),
            ColumnType::Float { decimals: None, .. } => write_float(float_of(stored), out),
            ColumnType::Double { decimals: None, .. } => write_double(double_of(stored), out),
            ColumnType::Float { decimals: Some((_, decimals)), .. } => {
                write_double_fixed(f64::from(float_of(stored)), *decimals, out)
            }
            ColumnType::Double { decimals: Some((_, decimals)), .. } => {
                write_double_fixed(double_of(stored), *decimals, out)
            }
            ColumnType::Enum { members, collation } => write_enum(members, *collation, unsigned_of(stored), out),
            ColumnType::Set { members, collation } => write_set(members, *collation, unsigned_of(stored), out),
        }
    }

    /// Appends the field of a binary row for stored bytes, with its length where it has one; a TIMESTAMP in `zone`.
    pub fn write_binary_at(&self, stored: &[u8], zone: Zone, out: &mut Vec<u8>) {
        match self {
            ColumnType::Int { bytes, unsigned } => {
                let number = if *unsigned { unsigned_of(stored) } else { signed_of(stored) as u64 };
                out.extend_from_slice(&number.to_le_bytes()[..binary_bytes(*bytes)]);
            }
            ColumnType::Year => out.extend_from_slice(&(year_of(stored) as u16).to_le_bytes()),
            ColumnType::Float { .. } => out.extend_from_slice(&float_of(stored).to_le_bytes()),
            ColumnType::Double { .. } => out.extend_from_slice(&double_of(stored).to_le_bytes()),
            ColumnType::Date => write_date_binary(Date::decode(stored), out),
            ColumnType::Time { fsp } => write_time_binary(&Time::decode(stored, *fsp), out),
            ColumnType::DateTime { fsp } => write_datetime_binary(&DateTime::decode(stored, *fsp), out),
            ColumnType::Timestamp { fsp } => {
                write_datetime_binary(&DateTime::decode_timestamp(stored, *fsp, zone), out)
            }
            ColumnType::Char { collation: id, .. } => write_counted(collation(*id).charset.without_spaces(stored), out),
            ColumnType::VarChar { .. }
            | ColumnType::Binary { .. }
            | ColumnType::VarBinary { .. }
            | ColumnType::Text { .. }
            | ColumnType::Blob { .. }
            | ColumnType::Geometry { .. }
            | ColumnType::Bit { .. } => write_counted(stored, out),
            ColumnType::Json | ColumnType::Decimal { .. } | ColumnType::Enum { .. } | ColumnType::Set { .. } => {
                write_rendered(out, |out| self.write_text_at(stored, zone, out))
            }
        }
    }

    /// Appends the text of a computed value whose static type this is. Dates and times are local already. Nothing is
    /// appended for NULL.
    pub fn write_value_text(&self, value: &Value, out: &mut Vec<u8>) {
        match value {
            Value::Null => {}
            Value::Int(number) => match self {
                ColumnType::Bit { bits } => write_bits(*number as u64, *bits, out),
                _ => write_i64(*number, out),
            },
            Value::UInt(number) => match self {
                ColumnType::Bit { bits } => write_bits(*number, *bits, out),
                ColumnType::Year => write_padded(*number as u32, 4, out),
                ColumnType::Enum { members, collation } => write_enum(members, *collation, *number, out),
                ColumnType::Set { members, collation } => write_set(members, *collation, *number, out),
                _ => write_u64(*number, out),
            },
            Value::Double(number) => match self {
                ColumnType::Float { decimals: Some((_, decimals)), .. }
                | ColumnType::Double { decimals: Some((_, decimals)), .. } => {
                    write_double_fixed(*number, *decimals, out)
                }
                ColumnType::Float { .. } => write_float(*number as f32, out),
                _ => write_double(*number, out),
            },
            Value::Decimal(number) => match self {
                ColumnType::Decimal { scale, .. } if *scale != number.scale() => {
                    match number.round(i32::from(*scale)) {
                        Ok(rounded) => rounded.write(out),
                        Err(_) => number.write(out),
                    }
                }
                _ => number.write(out),
            },
            Value::Bytes(text) => out.extend_from_slice(text),
            Value::Json(document) => Json::write_stored(document, out),
            Value::Date(date) => match self {
                ColumnType::DateTime { fsp } | ColumnType::Timestamp { fsp } => date.at_midnight().write(*fsp, out),
                _ => date.write(out),
            },
            Value::Time(time) => time.write(self.fsp_of(time.micros), out),
            Value::DateTime(moment) => match self {
                ColumnType::Date => moment.date.write(out),
                _ => moment.write(self.fsp_of(moment.micros), out),
            },
        }
    }

    /// The digits of a second to show: the type's, or without one all if there are any.
    fn fsp_of(&self, micros: u32) -> u8 {
        match self {
            ColumnType::Time { fsp } | ColumnType::DateTime { fsp } | ColumnType::Timestamp { fsp } => *fsp,
            _ => 6 * (micros != 0) as u8,
        }
    }

    /// Appends the field of a binary row for a computed value whose static type this is, with its length where it has
    /// one. The client decodes by the type that it was told, so the value is converted where the two differ.
    pub fn write_value_binary(&self, value: &Value, out: &mut Vec<u8>) {
        match (self, value) {
            (_, Value::Null) => {}
            (ColumnType::Int { bytes, unsigned }, _) => {
                let number = integer_of(value, *unsigned);
                out.extend_from_slice(&number.to_le_bytes()[..binary_bytes(*bytes)]);
            }
            (ColumnType::Year, _) => out.extend_from_slice(&(integer_of(value, true) as u16).to_le_bytes()),
            (ColumnType::Float { .. }, _) => out.extend_from_slice(&(double_value(value) as f32).to_le_bytes()),
            (ColumnType::Double { .. }, _) => out.extend_from_slice(&double_value(value).to_le_bytes()),
            (ColumnType::Date, Value::Date(date)) => write_date_binary(*date, out),
            (ColumnType::Date, Value::DateTime(moment)) => write_date_binary(moment.date, out),
            (ColumnType::DateTime { .. } | ColumnType::Timestamp { .. }, Value::Date(date)) => {
                write_datetime_binary(&date.at_midnight(), out)
            }
            (ColumnType::DateTime { fsp } | ColumnType::Timestamp { fsp }, Value::DateTime(moment)) => {
                write_datetime_binary(&moment.truncate(*fsp), out)
            }
            (ColumnType::Time { fsp }, Value::Time(time)) => write_time_binary(&time.truncate(*fsp), out),
            (ColumnType::Date | ColumnType::DateTime { .. } | ColumnType::Timestamp { .. }, Value::Bytes(text)) => {
                write_datetime_binary(&super::parse_datetime(text).value, out)
            }
            (ColumnType::Time { .. }, Value::Bytes(text)) => write_time_binary(&super::parse_time(text).value, out),
            // A type of dates and a value of another kind: zero, which has no bytes.
            (
                ColumnType::Date | ColumnType::Time { .. } | ColumnType::DateTime { .. } | ColumnType::Timestamp { .. },
                _,
            ) => out.push(0),
            (_, Value::Bytes(text)) => write_counted(text, out),
            _ => write_rendered(out, |out| self.write_value_text(value, out)),
        }
    }
}

fn integer_of(value: &Value, unsigned: bool) -> u64 {
    match value {
        Value::Int(number) => *number as u64,
        Value::UInt(number) => *number,
        Value::Double(number) if unsigned && *number >= 0.0 => number.round_ties_even() as u64,
        Value::Double(number) => number.round_ties_even() as i64 as u64,
        Value::Decimal(number) if unsigned => number.to_u64().unwrap_or_else(|nearest| nearest),
        Value::Decimal(number) => number.to_i64().unwrap_or_else(|nearest| nearest) as u64,
        Value::Bytes(text) if unsigned => super::u64_prefix(text).0,
        Value::Bytes(text) => super::i64_prefix(text).0 as u64,
        Value::Date(date) => date.to_number() as u64,
        Value::Time(time) => time.to_number() as u64,
        Value::DateTime(moment) => moment.to_number() as u64,
        Value::Json(_) if unsigned => super::u64_prefix(&json_text(value)).0,
        Value::Json(_) => super::i64_prefix(&json_text(value)).0 as u64,
        Value::Null => 0,
    }
}

fn double_value(value: &Value) -> f64 {
    match value {
        Value::Double(number) => *number,
        Value::Int(number) => *number as f64,
        Value::UInt(number) => *number as f64,
        Value::Decimal(number) => number.to_f64(),
        Value::Bytes(text) => super::double_prefix(text).0,
        Value::Time(time) => time.to_decimal(6).to_f64(),
        Value::DateTime(moment) => moment.to_decimal(6).to_f64(),
        Value::Date(date) => date.to_number() as f64,
        Value::Json(_) => super::double_prefix(&json_text(value)).0,
        Value::Null => 0.0,
    }
}

fn json_text(value: &Value) -> Vec<u8> {
    let mut text = Vec::new();
    ColumnType::Json.write_value_text(value, &mut text);
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    fn shown(ty: &ColumnType, stored: &[u8]) -> String {
        let mut out = Vec::new();
        ty.write_text(stored, &mut out);
        String::from_utf8(out).unwrap()
    }

    fn members(names: &[&str]) -> Arc<[Box<str>]> {
        names.iter().map(|name| Box::from(*name)).collect()
    }

    #[test]
    fn stored_bytes_as_text() {
        assert_eq!(shown(&ColumnType::Int { bytes: 1, unsigned: false }, &[0x7B]), "-5");
        assert_eq!(shown(&ColumnType::Int { bytes: 8, unsigned: true }, &[0xFF; 8]), "18446744073709551615");
        assert_eq!(shown(&ColumnType::Year, &[0]), "0000");
        assert_eq!(shown(&ColumnType::Year, &[0x7C]), "2024");
        assert_eq!(shown(&ColumnType::Date, &[0x8F, 0xD0, 0x5D]), "2024-02-29");
        assert_eq!(shown(&ColumnType::Time { fsp: 1 }, &[0x7F, 0xFF, 0xFE, 0xCE]), "-00:00:01.5");
        let decimal = ColumnType::Decimal { precision: 10, scale: 3, unsigned: false };
        assert_eq!(shown(&decimal, &[0x7F, 0xED, 0x29, 0x78, 0xFC, 0x84]), "-1234567.891");
        let set = ColumnType::Set { members: members(&["a", "b", "c"]), collation: CollationId::DEFAULT };
        assert_eq!(shown(&set, &[5]), "a,c");
        let float = ColumnType::Float { unsigned: false, decimals: None };
        assert_eq!(shown(&float, &0.1_f32.to_le_bytes()), "0.1");
        let fixed = ColumnType::Float { unsigned: false, decimals: Some((7, 3)) };
        assert_eq!(shown(&fixed, &1.5_f32.to_le_bytes()), "1.500");
        let char = ColumnType::Char { chars: 4, collation: CollationId::DEFAULT };
        assert_eq!(shown(&char, b"ab  "), "ab");
        let color = ColumnType::Enum { members: members(&["grün"]), collation: CollationId::LATIN1_BIN };
        let mut out = Vec::new();
        color.write_text(&[1], &mut out);
        assert_eq!(out, b"gr\xFCn");
        assert_eq!(shown(&color, &[9]), "");
    }

    #[test]
    fn timestamps_are_shown_in_their_zone() {
        let mut out = Vec::new();
        ColumnType::Timestamp { fsp: 0 }.write_text_at(&[0, 0, 0, 1], Zone::Fixed(3600), &mut out);
        assert_eq!(out, b"1970-01-01 01:00:01");
    }

    #[test]
    fn binary_rows() {
        let field = |ty: &ColumnType, stored: &[u8]| {
            let mut out = Vec::new();
            ty.write_binary_at(stored, Zone::UTC, &mut out);
            out
        };
        assert_eq!(field(&ColumnType::Int { bytes: 3, unsigned: false }, &[0x7F, 0xFF, 0xFF]), [0xFF; 4]);
        assert_eq!(field(&ColumnType::Date, &[0x8F, 0xD0, 0x5D]), [4, 0xE8, 0x07, 2, 29]);
        assert_eq!(field(&ColumnType::Date, &[0x80, 0, 0]), [0]);
        assert_eq!(
            field(&ColumnType::Time { fsp: 1 }, &[0x7F, 0xFF, 0xFE, 0xCE]),
            [12, 1, 0, 0, 0, 0, 0, 0, 1, 0x20, 0xA1, 7, 0]
        );
        let mut stored = Vec::new();
        DateTime::new(Date::new(2024, 2, 29), 1, 2, 3, 0).encode(0, &mut stored);
        assert_eq!(field(&ColumnType::DateTime { fsp: 0 }, &stored), [7, 0xE8, 0x07, 2, 29, 1, 2, 3]);
        let decimal = ColumnType::Decimal { precision: 4, scale: 4, unsigned: false };
        assert_eq!(field(&decimal, &[0x84, 0xD2]), *b"\x060.1234");
        let blob = field(&ColumnType::VarBinary { bytes: 1000 }, &[7; 300]);
        assert_eq!((&blob[..3], blob.len()), (&[0xFC, 0x2C, 0x01][..], 303));
    }

    #[test]
    fn computed_values_go_out_as_their_static_type() {
        let int = ColumnType::Int { bytes: 8, unsigned: false };
        let mut out = Vec::new();
        int.write_value_binary(&Value::Decimal(Decimal::from(7_u64)), &mut out);
        assert_eq!(out, 7_u64.to_le_bytes());
        let quotient = ColumnType::Decimal { precision: 5, scale: 4, unsigned: false };
        let third = Decimal::from(1_u64).div(&Decimal::from(3_u64), 4).unwrap();
        let mut out = Vec::new();
        quotient.write_value_text(&Value::Decimal(third), &mut out);
        assert_eq!(out, b"0.3333");
    }
}
