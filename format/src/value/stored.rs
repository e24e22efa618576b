//! Values as stored bytes: what InnoDB keeps of a column in a record.
//!
//! ```text
//! integers          big-endian; signed ones with the sign bit flipped
//! YEAR              1 byte, year - 1900; 0 is the year 0000
//! FLOAT, DOUBLE     IEEE, little-endian (the only ones that memcmp does not order)
//! DECIMAL           see decimal/stored.rs
//! DATE ... TIMESTAMP see temporal/stored.rs
//! CHAR(n)           n bytes padded with spaces; in UTF-8 trimmed, then padded to n bytes at least
//! BINARY(n)         n bytes padded with zeros
//! VARCHAR, TEXT ... the bytes
//! JSON              MySQL's binary form, see json/
//! ENUM              1 or 2 bytes: the number of the member, from 1; 0 is the error value ''
//! SET               1, 2, 3, 4 or 8 bytes: a bit per member
//! BIT(n)            n/8 bytes, big-endian
//! ```
//!
//! `decode(encode(value)) == value` for every value of the type, and the bytes order as the values do, under
//! [`Compare`]. CHAR loses its trailing spaces on the way, as in MySQL.

use super::{ColumnType, Date, DateTime, Decimal, Json, JsonError, Time, Value, Zone};
use crate::collation::{Charset, CollationId, collation, convert};
use crate::record::{Compare, FieldLayout, Length};

/// The value cannot be a value of the column. SQL coerces before it stores, so this is a limit or a mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EncodeError {
    /// NULL, or a kind of value that the type does not take.
    WrongKind,
    OutOfRange,
    TooLong,
    /// Not a JSON text.
    InvalidJson(JsonError),
}

impl std::fmt::Display for EncodeError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            EncodeError::WrongKind => f.write_str("a value of another kind"),
            EncodeError::OutOfRange => f.write_str("a value out of range"),
            EncodeError::TooLong => f.write_str("a value too long"),
            EncodeError::InvalidJson(error) => write!(f, "invalid JSON text: {error}"),
        }
    }
}

impl std::error::Error for EncodeError {}

/// Bytes of an ENUM with so many members.
#[inline]
pub(super) const fn enum_bytes(members: usize) -> usize {
    if members <= 255 { 1 } else { 2 }
}

/// Bytes of a SET with so many members.
#[inline]
pub(super) const fn set_bytes(members: usize) -> usize {
    match members.div_ceil(8) {
        0 => 1,
        bytes @ 1..=4 => bytes,
        _ => 8,
    }
}

/// A big-endian number of up to eight bytes.
#[inline]
pub fn unsigned_of(stored: &[u8]) -> u64 {
    // The lengths that most columns have, without a loop.
    if let Ok(bytes) = <[u8; 4]>::try_from(stored) {
        return u64::from(u32::from_be_bytes(bytes));
    }
    if let Ok(bytes) = <[u8; 8]>::try_from(stored) {
        return u64::from_be_bytes(bytes);
    }
    stored.iter().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

/// A big-endian number with a flipped sign bit.
#[inline]
pub fn signed_of(stored: &[u8]) -> i64 {
    let bits = 8 * stored.len().min(8) as u32;
    if bits == 0 {
        return 0;
    }
    // Move the number to the top of a word, so that its sign is the word's.
    let top = unsigned_of(stored) << (64 - bits);
    ((top ^ (1 << 63)) as i64) >> (64 - bits)
}

#[inline]
pub(super) fn float_of(stored: &[u8]) -> f32 {
    stored.first_chunk().map_or(0.0, |bytes| f32::from_le_bytes(*bytes))
}

/// The number that a DOUBLE is stored as.
#[inline]
pub fn double_of(stored: &[u8]) -> f64 {
    stored.first_chunk().map_or(0.0, |bytes| f64::from_le_bytes(*bytes))
}

/// Appends the last `bytes` bytes of a number.
#[inline]
fn put_number(number: u64, bytes: usize, out: &mut Vec<u8>) {
    out.extend_from_slice(&number.to_be_bytes()[8 - bytes..]);
}

fn double_value(value: &Value) -> Option<f64> {
    Some(match value {
        Value::Double(number) => *number,
        Value::Int(number) => *number as f64,
        Value::UInt(number) => *number as f64,
        Value::Decimal(number) => number.to_f64(),
        _ => return None,
    })
}

fn unsigned_value(value: &Value) -> Option<u64> {
    match value {
        Value::UInt(number) => Some(*number),
        Value::Int(number) => u64::try_from(*number).ok(),
        _ => None,
    }
}

impl ColumnType {
    /// Appends the stored bytes of a value that has been coerced to this type. Fractions of seconds and decimals beyond
    /// the type's are cut.
    pub fn encode(&self, value: &Value, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        use EncodeError::{OutOfRange, TooLong, WrongKind};
        match (self, value) {
            (_, Value::Null) => return Err(WrongKind),
            (ColumnType::Int { bytes, unsigned: false }, _) => {
                let number = match value {
                    Value::Int(number) => *number,
                    Value::UInt(number) => i64::try_from(*number).map_err(|_| OutOfRange)?,
                    _ => return Err(WrongKind),
                };
                let limit = 1_i128 << (8 * u32::from(*bytes) - 1);
                if !(-limit..limit).contains(&i128::from(number)) {
                    return Err(OutOfRange);
                }
                put_number((number as u64) ^ (1 << (8 * u32::from(*bytes) - 1)), *bytes as usize, out);
            }
            (ColumnType::Int { bytes, unsigned: true }, Value::Int(_) | Value::UInt(_)) => {
                let number = unsigned_value(value).ok_or(OutOfRange)?;
                if *bytes < 8 && number >> (8 * u32::from(*bytes)) != 0 {
                    return Err(OutOfRange);
                }
                put_number(number, *bytes as usize, out);
            }
            (ColumnType::Year, Value::Int(_) | Value::UInt(_)) => match unsigned_value(value) {
                Some(0) => out.push(0),
                Some(year @ 1901..=2155) => out.push((year - 1900) as u8),
                _ => return Err(OutOfRange),
            },
            (ColumnType::Bit { bits }, Value::Int(_) | Value::UInt(_)) => {
                let number = match value {
                    Value::Int(number) => *number as u64,
                    _ => unsigned_value(value).ok_or(OutOfRange)?,
                };
                if *bits < 64 && number >> bits != 0 {
                    return Err(OutOfRange);
                }
                put_number(number, bits.div_ceil(8) as usize, out);
            }
            (ColumnType::Float { .. }, _) => {
                let number = double_value(value).ok_or(WrongKind)? as f32;
                if !number.is_finite() {
                    return Err(OutOfRange);
                }
                // One zero, so that equal numbers have equal bytes.
                out.extend_from_slice(&(number + 0.0).to_le_bytes());
            }
            (ColumnType::Double { .. }, _) => {
                let number = double_value(value).ok_or(WrongKind)?;
                if !number.is_finite() {
                    return Err(OutOfRange);
                }
                out.extend_from_slice(&(number + 0.0).to_le_bytes());
            }
            (ColumnType::Decimal { precision, scale, .. }, _) => {
                let number = match value {
                    Value::Decimal(number) => *number,
                    Value::Int(number) => Decimal::from(*number),
                    Value::UInt(number) => Decimal::from(*number),
                    _ => return Err(WrongKind),
                };
                if number.integer_digits() > precision.saturating_sub(*scale) {
                    return Err(OutOfRange);
                }
                number.encode(*precision, *scale, out);
            }
            (ColumnType::Date, Value::Date(date)) => date.encode(out),
            (ColumnType::Date, Value::DateTime(moment)) => moment.date.encode(out),
            (ColumnType::Time { fsp }, Value::Time(time)) => time.truncate(*fsp).encode(*fsp, out),
            (ColumnType::DateTime { fsp }, Value::DateTime(moment)) => moment.encode(*fsp, out),
            (ColumnType::DateTime { fsp }, Value::Date(date)) => date.at_midnight().encode(*fsp, out),
            (ColumnType::Timestamp { fsp }, Value::DateTime(moment)) => {
                if !moment.encode_timestamp(*fsp, out) {
                    return Err(OutOfRange);
                }
            }
            (ColumnType::Char { chars, collation: id }, Value::Bytes(text)) => {
                let charset = collation(*id).charset;
                let text = charset.without_spaces(text);
                if charset.char_count(text) > *chars as usize {
                    return Err(TooLong);
                }
                out.extend_from_slice(text);
                // Spaces fill up the fewest bytes that so many characters have.
                let unit = usize::from(charset.bytes_min());
                let padding = (*chars as usize * unit).saturating_sub(text.len());
                charset.push_spaces(padding / unit, out);
            }
            (ColumnType::VarChar { chars, collation: id }, Value::Bytes(text)) => {
                if text.len() > *chars as usize && collation(*id).charset.char_count(text) > *chars as usize {
                    return Err(TooLong);
                }
                out.extend_from_slice(text);
            }
            (ColumnType::Binary { bytes }, Value::Bytes(text)) => {
                let padding = (*bytes as usize).checked_sub(text.len()).ok_or(TooLong)?;
                out.extend_from_slice(text);
                out.resize(out.len() + padding, 0);
            }
            (ColumnType::VarBinary { bytes }, Value::Bytes(text)) => {
                if text.len() > *bytes as usize {
                    return Err(TooLong);
                }
                out.extend_from_slice(text);
            }
            (ColumnType::Text { size, .. } | ColumnType::Blob { size }, Value::Bytes(text)) => {
                if text.len() > size.bytes_max() as usize {
                    return Err(TooLong);
                }
                out.extend_from_slice(text);
            }
            (ColumnType::Geometry { .. }, Value::Bytes(geometry)) => out.extend_from_slice(geometry),
            (ColumnType::Json, Value::Json(document)) => out.extend_from_slice(document),
            (ColumnType::Json, Value::Bytes(text)) => {
                Json::parse_stored(text).map_err(EncodeError::InvalidJson)?.encode(out);
            }
            (ColumnType::Enum { members, .. }, _) => {
                let index = match value {
                    Value::Bytes(name) => u64::from(self.enum_index(name).ok_or(OutOfRange)?),
                    _ => unsigned_value(value).ok_or(WrongKind)?,
                };
                if index > members.len() as u64 {
                    return Err(OutOfRange);
                }
                put_number(index, enum_bytes(members.len()), out);
            }
            (ColumnType::Set { members, .. }, _) => {
                let mask = match value {
                    Value::Bytes(names) => self.set_mask(names).ok_or(OutOfRange)?,
                    Value::Int(mask) => *mask as u64,
                    _ => unsigned_value(value).ok_or(WrongKind)?,
                };
                if members.len() < 64 && mask >> members.len() != 0 {
                    return Err(OutOfRange);
                }
                put_number(mask, set_bytes(members.len()), out);
            }
            _ => return Err(WrongKind),
        }
        Ok(())
    }

    /// The value of stored bytes; a TIMESTAMP in UTC. Bytes that no value has (from a damaged disk) give some value of
    /// the type.
    pub fn decode(&self, stored: &[u8]) -> Value {
        match self {
            ColumnType::Int { unsigned: false, .. } => Value::Int(signed_of(stored)),
            ColumnType::Int { unsigned: true, .. } => Value::UInt(unsigned_of(stored)),
            ColumnType::Year => Value::UInt(year_of(stored)),
            ColumnType::Bit { .. } | ColumnType::Enum { .. } | ColumnType::Set { .. } => {
                Value::UInt(unsigned_of(stored))
            }
            ColumnType::Float { .. } => Value::Double(f64::from(float_of(stored))),
            ColumnType::Double { .. } => Value::Double(double_of(stored)),
            ColumnType::Decimal { precision, scale, .. } => Value::Decimal(Decimal::decode(stored, *precision, *scale)),
            ColumnType::Date => Value::Date(Date::decode(stored)),
            ColumnType::Time { fsp } => Value::Time(Time::decode(stored, *fsp)),
            ColumnType::DateTime { fsp } => Value::DateTime(DateTime::decode(stored, *fsp)),
            ColumnType::Timestamp { fsp } => Value::DateTime(DateTime::decode_timestamp(stored, *fsp, Zone::UTC)),
            ColumnType::Char { collation: id, .. } => {
                Value::Bytes(collation(*id).charset.without_spaces(stored).to_vec())
            }
            ColumnType::VarChar { .. }
            | ColumnType::Binary { .. }
            | ColumnType::VarBinary { .. }
            | ColumnType::Text { .. }
            | ColumnType::Blob { .. }
            | ColumnType::Geometry { .. } => Value::Bytes(stored.to_vec()),
            ColumnType::Json => Value::Json(Json::binary_of_stored(stored).into_owned()),
        }
    }

    /// Whether the stored values of another type are values of this one as they are, in records and in indexes: a longer
    /// VARCHAR whose lengths take as many bytes, an ENUM or a SET with more members at its end.
    pub fn keeps_values_of(&self, old: &ColumnType) -> bool {
        self.keeps(old, |old, own| old == own)
    }

    /// The same of columns whose texts are not compared: of another collation, or in a character set that has the characters
    /// of the old one in the same bytes.
    pub fn keeps_texts_of(&self, old: &ColumnType) -> bool {
        self.keeps(old, |old, own| {
            let (old, own) = (collation(old).charset, collation(own).charset);
            old == own || (old, own) == (Charset::Utf8mb3, Charset::Utf8mb4)
        })
    }

    fn keeps(&self, old: &ColumnType, alike: fn(CollationId, CollationId) -> bool) -> bool {
        let is_wider = match (old, self) {
            (ColumnType::VarChar { chars: was, collation: old }, ColumnType::VarChar { chars, collation }) => {
                alike(*old, *collation) && was <= chars
            }
            (ColumnType::Char { chars: was, collation: old }, ColumnType::Char { chars, collation }) => {
                alike(*old, *collation) && was == chars
            }
            (ColumnType::Text { size: was, collation: old }, ColumnType::Text { size, collation }) => {
                alike(*old, *collation) && was == size
            }
            (ColumnType::VarBinary { bytes: was }, ColumnType::VarBinary { bytes }) => was <= bytes,
            (ColumnType::Enum { members: were, collation: old }, ColumnType::Enum { members, collation })
            | (ColumnType::Set { members: were, collation: old }, ColumnType::Set { members, collation }) => {
                alike(*old, *collation) && members.starts_with(were)
            }
            _ => old == self,
        };
        is_wider
            && match (old.layout(false).length, self.layout(false).length) {
                (Length::Fixed(was), Length::Fixed(is)) => was == is,
                // Records write one byte of length up to 255, see `record`.
                (Length::Variable { max: was, blob: old }, Length::Variable { max, blob }) => {
                    old == blob && (was > 255) == (max > 255)
                }
                _ => false,
            }
    }

    /// What a record needs to know of a column of this type.
    pub fn layout(&self, nullable: bool) -> FieldLayout {
        let layout = match self {
            ColumnType::Int { bytes, .. } => FieldLayout::fixed(u16::from(*bytes)),
            ColumnType::Year => FieldLayout::fixed(1),
            ColumnType::Bit { bits } => FieldLayout::fixed(u16::from(bits.div_ceil(8))),
            ColumnType::Float { .. } => FieldLayout::fixed(4).compared(Compare::Float),
            ColumnType::Double { .. } => FieldLayout::fixed(8).compared(Compare::Double),
            ColumnType::Decimal { precision, scale, .. } => {
                FieldLayout::fixed(Decimal::stored_bytes(*precision, *scale) as u16)
            }
            ColumnType::Date => FieldLayout::fixed(3),
            ColumnType::Time { fsp } => FieldLayout::fixed(3 + u16::from(fsp.div_ceil(2))),
            ColumnType::DateTime { fsp } => FieldLayout::fixed(5 + u16::from(fsp.div_ceil(2))),
            ColumnType::Timestamp { fsp } => FieldLayout::fixed(4 + u16::from(fsp.div_ceil(2))),
            ColumnType::Char { chars, collation: id } => {
                let charset = collation(*id).charset;
                let bytes = *chars * u32::from(charset.bytes_max());
                // Characters of as many bytes each make a field of fixed length, up to a limit of InnoDB's.
                match charset.bytes_min() == charset.bytes_max() && bytes <= FIXED_BYTES_MAX {
                    true => FieldLayout::fixed(bytes as u16).compared(compare_char(*id)),
                    false => FieldLayout::variable(bytes, false).compared(compare_char(*id)),
                }
            }
            ColumnType::VarChar { chars, collation: id } => {
                let bytes = u32::from(collation(*id).charset.bytes_max());
                FieldLayout::variable(chars.saturating_mul(bytes), false).compared(compare_of(*id))
            }
            ColumnType::Binary { bytes } => FieldLayout::fixed(*bytes as u16),
            ColumnType::VarBinary { bytes } => FieldLayout::variable(*bytes, false),
            ColumnType::Text { size, collation: id } => {
                FieldLayout::variable(size.bytes_max(), true).compared(compare_of(*id))
            }
            ColumnType::Blob { size } => FieldLayout::variable(size.bytes_max(), true),
            ColumnType::Json | ColumnType::Geometry { .. } => FieldLayout::variable(u32::MAX, true),
            ColumnType::Enum { members, .. } => FieldLayout::fixed(enum_bytes(members.len()) as u16),
            ColumnType::Set { members, .. } => FieldLayout::fixed(set_bytes(members.len()) as u16),
        };
        layout.nullable(nullable)
    }

    /// The collation of a type that holds text; also of ENUM and SET, whose members are text.
    pub fn collation(&self) -> Option<CollationId> {
        match self {
            ColumnType::Char { collation, .. }
            | ColumnType::VarChar { collation, .. }
            | ColumnType::Text { collation, .. }
            | ColumnType::Enum { collation, .. }
            | ColumnType::Set { collation, .. } => Some(*collation),
            _ => None,
        }
    }

    /// The number, from 1, of the member of an ENUM that equals `name` in its collation. The name is in the column's
    /// character set. The empty name that is no member has number 0 in MySQL; here that is for the caller to decide.
    pub fn enum_index(&self, name: &[u8]) -> Option<u16> {
        let ColumnType::Enum { members, collation: id } = self else { return None };
        member_index(members, *id, name).map(|index| index as u16 + 1)
    }

    /// The bits of a comma-separated list of members of a SET; None if one is no member.
    pub fn set_mask(&self, names: &[u8]) -> Option<u64> {
        let ColumnType::Set { members, collation: id } = self else { return None };
        if names.is_empty() {
            return Some(0);
        }
        let charset = collation(*id).charset;
        let mut mask = 0;
        for name in charset.split(names, b',') {
            // Members end in no space, and one behind a name is not overlooked.
            if name.ends_with(charset.space()) {
                return None;
            }
            mask |= 1 << member_index(members, *id, name)?;
        }
        Some(mask)
    }
}

fn member_index(members: &[Box<str>], id: CollationId, name: &[u8]) -> Option<usize> {
    let collation = collation(id);
    if collation.charset == Charset::Utf8mb4 || collation.charset == Charset::Utf8mb3 {
        return members.iter().position(|member| collation.equal(member.as_bytes(), name));
    }
    // Members are kept as UTF-8 whatever the column's character set.
    let mut text = Vec::new();
    members.iter().position(|member| {
        text.clear();
        convert(member.as_bytes(), Charset::Utf8mb4, collation.charset, &mut text);
        collation.equal(&text, name)
    })
}

/// The bytes of the longest field of fixed length.
const FIXED_BYTES_MAX: u32 = 768;

fn compare_of(id: CollationId) -> Compare {
    if id == CollationId::BINARY { Compare::Bytes } else { Compare::Collation(id) }
}

fn compare_char(id: CollationId) -> Compare {
    if collation(id).pad_space { Compare::Collation(id) } else { Compare::Char(id) }
}

#[inline]
pub(super) fn year_of(stored: &[u8]) -> u64 {
    match stored.first() {
        None | Some(0) => 0,
        Some(years) => 1900 + u64::from(*years),
    }
}

#[cfg(test)]
mod tests {
    use super::super::LobSize;
    use super::*;
    use proptest::prelude::*;
    use std::sync::Arc;

    fn stored(ty: &ColumnType, value: Value) -> Vec<u8> {
        let mut out = Vec::new();
        ty.encode(&value, &mut out).unwrap();
        out
    }

    fn members(names: &[&str]) -> Arc<[Box<str>]> {
        names.iter().map(|name| Box::from(*name)).collect()
    }

    const LATIN1: CollationId = CollationId::LATIN1_SWEDISH_CI;
    const UTF8: CollationId = CollationId::UTF8MB4_GENERAL_CI;

    #[test]
    fn chars_of_several_bytes_are_filled_up_with_their_own_spaces() {
        let char_of = |name, chars| {
            let collation = crate::collation::Collation::by_name(name).unwrap().id;
            ColumnType::Char { chars, collation }
        };
        for (name, text, wanted, length) in [
            ("ucs2_general_ci", &b"\0a"[..], &b"\0a\0 \0 "[..], Length::Fixed(6)),
            ("utf32_bin", b"\0\0 \x20", b"\0\0 \x20\0\0\0 \0\0\0 ", Length::Fixed(12)),
            ("utf16_general_ci", b"\xD8\x3D\xDE\0", b"\xD8\x3D\xDE\0\0 ", Length::Variable { max: 12, blob: false }),
            ("utf16le_general_ci", b"", b" \0 \0 \0", Length::Variable { max: 12, blob: false }),
        ] {
            let ty = char_of(name, 3);
            assert_eq!(stored(&ty, Value::Bytes(text.to_vec())), wanted, "{name}");
            assert_eq!(ty.decode(wanted), Value::Bytes(text.to_vec()), "{name}");
            assert_eq!(ty.layout(true).length, length, "{name}");
        }
        assert_eq!(char_of("utf32_bin", 192).layout(true).length, Length::Fixed(768));
        assert_eq!(char_of("utf32_bin", 193).layout(true).length, Length::Variable { max: 772, blob: false });
        let set = ColumnType::Set {
            members: members(&["a", "ü"]),
            collation: crate::collation::Collation::by_name("utf16_general_ci").unwrap().id,
        };
        assert_eq!(set.set_mask(b"\0U\x03\x08\0,\0A"), None);
        assert_eq!(set.set_mask(b"\0\xDC\0,\0A"), Some(3));
        let mut names = Vec::new();
        set.write_text(&[3], &mut names);
        assert_eq!(names, b"\0a\0,\0\xFC");
    }

    #[test]
    fn bytes_are_innodbs() {
        let int = |bytes, unsigned| ColumnType::Int { bytes, unsigned };
        assert_eq!(stored(&int(1, false), Value::Int(-5)), [0x7B]);
        assert_eq!(stored(&int(3, false), Value::Int(1)), [0x80, 0, 1]);
        assert_eq!(stored(&int(8, false), Value::Int(i64::MIN)), [0; 8]);
        assert_eq!(stored(&int(4, true), Value::UInt(0xDEAD_BEEF)), [0xDE, 0xAD, 0xBE, 0xEF]);
        assert_eq!(stored(&ColumnType::Year, Value::UInt(1901)), [1]);
        assert_eq!(stored(&ColumnType::Year, Value::UInt(2024)), [0x7C]);
        assert_eq!(stored(&ColumnType::Bit { bits: 12 }, Value::UInt(0xABC)), [0x0A, 0xBC]);
        let double = ColumnType::Double { unsigned: false, decimals: None };
        assert_eq!(stored(&double, Value::Double(1.5)), 1.5_f64.to_le_bytes());
        assert_eq!(stored(&double, Value::Double(-0.0)), [0; 8]);
        assert_eq!(stored(&ColumnType::Char { chars: 5, collation: LATIN1 }, Value::Bytes(b"ab ".to_vec())), *b"ab   ");
        let char_utf8 = ColumnType::Char { chars: 3, collation: UTF8 };
        assert_eq!(stored(&char_utf8, Value::Bytes("a ".into())), *b"a  ");
        assert_eq!(stored(&char_utf8, Value::Bytes("äöü".into())), "äöü".as_bytes());
        assert_eq!(stored(&char_utf8, Value::Bytes("äö ".into())), "äö".as_bytes());
        assert_eq!(stored(&ColumnType::Binary { bytes: 4 }, Value::Bytes(b"ab ".to_vec())), *b"ab \0");
        let set = ColumnType::Set { members: members(&["a", "b", "c"]), collation: UTF8 };
        assert_eq!(stored(&set, Value::Bytes(b"C,a".to_vec())), [5]);
        let color = ColumnType::Enum { members: members(&["red", "grün"]), collation: LATIN1 };
        assert_eq!(stored(&color, Value::Bytes(b"gr\xFCn".to_vec())), [2]);
        assert_eq!(stored(&color, Value::UInt(0)), [0]);
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let refused = |ty: ColumnType, value: Value| ty.encode(&value, &mut Vec::new()).unwrap_err();
        use EncodeError::*;
        assert_eq!(refused(ColumnType::Int { bytes: 1, unsigned: false }, Value::Int(128)), OutOfRange);
        assert_eq!(refused(ColumnType::Int { bytes: 1, unsigned: true }, Value::Int(-1)), OutOfRange);
        assert_eq!(refused(ColumnType::Int { bytes: 4, unsigned: true }, Value::Bytes(vec![])), WrongKind);
        assert_eq!(refused(ColumnType::Year, Value::UInt(1900)), OutOfRange);
        assert_eq!(refused(ColumnType::Date, Value::Null), WrongKind);
        assert_eq!(refused(ColumnType::Char { chars: 2, collation: UTF8 }, Value::Bytes("äöü".into())), TooLong);
        assert_eq!(refused(ColumnType::VarBinary { bytes: 2 }, Value::Bytes(vec![1, 2, 3])), TooLong);
        assert_eq!(
            refused(ColumnType::Text { size: LobSize::Tiny, collation: UTF8 }, Value::Bytes(vec![b'x'; 256])),
            TooLong
        );
        assert_eq!(
            refused(ColumnType::Json, Value::Bytes(b"{".to_vec())),
            InvalidJson(JsonError::Invalid { reason: "Missing a name for object member.", at: 1 })
        );
        let five = Decimal::from(100_u64);
        assert_eq!(
            refused(ColumnType::Decimal { precision: 4, scale: 2, unsigned: false }, Value::Decimal(five)),
            OutOfRange
        );
    }

    #[test]
    fn layouts() {
        let char_utf8 = ColumnType::Char { chars: 3, collation: UTF8 };
        assert_eq!(
            char_utf8.layout(true),
            FieldLayout::variable(12, false).compared(Compare::Collation(UTF8)).nullable(true)
        );
        let char_latin1 = ColumnType::Char { chars: 3, collation: LATIN1 };
        assert_eq!(char_latin1.layout(false), FieldLayout::fixed(3).compared(Compare::Collation(LATIN1)));
        assert_eq!(ColumnType::DateTime { fsp: 3 }.layout(false), FieldLayout::fixed(7));
        assert_eq!(
            ColumnType::Decimal { precision: 10, scale: 3, unsigned: false }.layout(false),
            FieldLayout::fixed(6)
        );
    }

    /// An integer type with two of its values, whose order must be that of the bytes.
    fn integers() -> impl Strategy<Value = (u8, i64, i64)> {
        prop_oneof![Just(1_u8), Just(2), Just(3), Just(4), Just(8)].prop_flat_map(|bytes| {
            let shift = 64 - 8 * u32::from(bytes);
            let number = any::<i64>().prop_map(move |number| number >> shift);
            (Just(bytes), number.clone(), number)
        })
    }

    proptest! {
        #[test]
        fn integers_keep_value_and_order((bytes, a, b) in integers()) {
            let ty = ColumnType::Int { bytes, unsigned: false };
            let (first, second) = (stored(&ty, Value::Int(a)), stored(&ty, Value::Int(b)));
            prop_assert_eq!(ty.decode(&first), Value::Int(a));
            prop_assert_eq!(first.cmp(&second), a.cmp(&b));
            let ty = ColumnType::Int { bytes, unsigned: true };
            let mask = u64::MAX >> (64 - 8 * u32::from(bytes));
            let (a, b) = (a as u64 & mask, b as u64 & mask);
            let (first, second) = (stored(&ty, Value::UInt(a)), stored(&ty, Value::UInt(b)));
            prop_assert_eq!(ty.decode(&first), Value::UInt(a));
            prop_assert_eq!(first.cmp(&second), a.cmp(&b));
        }

        #[test]
        fn texts_keep_their_characters(text in "[a-zA-Zäöü€ ]{0,20}") {
            let varchar = ColumnType::VarChar { chars: 20, collation: UTF8 };
            prop_assert_eq!(varchar.decode(&stored(&varchar, Value::Bytes(text.clone().into()))), Value::Bytes(text.clone().into()));
            let char = ColumnType::Char { chars: 20, collation: UTF8 };
            let bytes = stored(&char, Value::Bytes(text.clone().into()));
            prop_assert!(bytes.len() >= 20);
            prop_assert_eq!(char.decode(&bytes), Value::Bytes(text.trim_end_matches(' ').into()));
        }

        #[test]
        fn any_bytes_decode(bytes in proptest::collection::vec(any::<u8>(), 0..12)) {
            for ty in [
                ColumnType::Int { bytes: 4, unsigned: false }, ColumnType::Year, ColumnType::Bit { bits: 9 },
                ColumnType::Float { unsigned: false, decimals: None }, ColumnType::Double { unsigned: true, decimals: Some((5, 2)) },
                ColumnType::Decimal { precision: 20, scale: 7, unsigned: false }, ColumnType::Date, ColumnType::Time { fsp: 4 },
                ColumnType::DateTime { fsp: 6 }, ColumnType::Timestamp { fsp: 1 }, ColumnType::Char { chars: 3, collation: UTF8 },
                ColumnType::Json, ColumnType::Enum { members: members(&["a"]), collation: UTF8 },
                ColumnType::Set { members: members(&["a", "b"]), collation: LATIN1 },
            ] {
                ty.decode(&bytes);
                ty.write_text(&bytes, &mut Vec::new());
                ty.write_binary_at(&bytes, Zone::UTC, &mut Vec::new());
            }
        }
    }
}
