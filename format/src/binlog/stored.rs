//! Stored bytes of columns as the log has them.
//!
//! Records keep numbers so that they compare byte by byte: big-endian, with a flipped sign. The log has them
//! little-endian. Times, decimals, floating point numbers and bits are the same in both.

use super::table_map::{Column, ColumnCode, ColumnSize};
use crate::collation::{Charset, CollationId, collation};
use crate::error::Result;
use crate::record::Length;
use crate::value::{ColumnType, Json, LobSize};

/// The collation of columns without characters.
const BINARY: CollationId = CollationId::BINARY;

fn length_bytes(size: LobSize) -> u8 {
    match size {
        LobSize::Tiny => 1,
        LobSize::Regular => 2,
        LobSize::Medium => 3,
        LobSize::Long => 4,
    }
}

fn set_bytes(ty: &ColumnType) -> u8 {
    match ty.layout(false).length {
        Length::Fixed(bytes) => bytes as u8,
        Length::Variable { .. } => unreachable!("a SET has a fixed length"),
    }
}

fn chars_max(chars: u32, id: CollationId) -> ColumnSize {
    ColumnSize::BytesMax((chars * u32::from(collation(id).charset.bytes_max())).min(0xFFFF) as u16)
}

/// How the log describes a column of this type: with its sign and collation, without name and members.
pub fn column_of(ty: &ColumnType, nullable: bool) -> Column {
    let (code, size) = match ty {
        ColumnType::Int { bytes, .. } => {
            let code = match bytes {
                1 => ColumnCode::TINY,
                2 => ColumnCode::SHORT,
                3 => ColumnCode::INT24,
                4 => ColumnCode::LONG,
                _ => ColumnCode::LONGLONG,
            };
            (code, ColumnSize::Fixed)
        }
        ColumnType::Year => (ColumnCode::YEAR, ColumnSize::Fixed),
        ColumnType::Bit { bits } => (ColumnCode::BIT, ColumnSize::Bits(*bits)),
        ColumnType::Float { .. } => (ColumnCode::FLOAT, ColumnSize::Bytes(4)),
        ColumnType::Double { .. } => (ColumnCode::DOUBLE, ColumnSize::Bytes(8)),
        ColumnType::Decimal { precision, scale, .. } => {
            (ColumnCode::DECIMAL, ColumnSize::Decimal { precision: *precision, scale: *scale })
        }
        ColumnType::Date => (ColumnCode::DATE, ColumnSize::Fixed),
        ColumnType::Time { fsp } => (ColumnCode::TIME, ColumnSize::Fraction(*fsp)),
        ColumnType::DateTime { fsp } => (ColumnCode::DATETIME, ColumnSize::Fraction(*fsp)),
        ColumnType::Timestamp { fsp } => (ColumnCode::TIMESTAMP, ColumnSize::Fraction(*fsp)),
        ColumnType::Char { chars, collation } => (ColumnCode::STRING, chars_max(*chars, *collation)),
        ColumnType::VarChar { chars, collation } => (ColumnCode::VARCHAR, chars_max(*chars, *collation)),
        ColumnType::Binary { bytes } => (ColumnCode::STRING, ColumnSize::BytesMax(*bytes as u16)),
        ColumnType::VarBinary { bytes } => (ColumnCode::VARCHAR, ColumnSize::BytesMax((*bytes).min(0xFFFF) as u16)),
        ColumnType::Text { size, .. } | ColumnType::Blob { size } => {
            (ColumnCode::BLOB, ColumnSize::Bytes(length_bytes(*size)))
        }
        ColumnType::Json => (ColumnCode::JSON, ColumnSize::Bytes(4)),
        ColumnType::Geometry { .. } => (ColumnCode::GEOMETRY, ColumnSize::Bytes(4)),
        ColumnType::Enum { members, .. } => {
            (ColumnCode::ENUM, ColumnSize::Bytes(if members.len() <= 255 { 1 } else { 2 }))
        }
        ColumnType::Set { .. } => (ColumnCode::SET, ColumnSize::Bytes(set_bytes(ty))),
    };
    let mut column = Column::new(code, size, nullable);
    column.unsigned = match ty {
        ColumnType::Int { unsigned, .. }
        | ColumnType::Float { unsigned, .. }
        | ColumnType::Double { unsigned, .. }
        | ColumnType::Decimal { unsigned, .. } => Some(*unsigned),
        ColumnType::Year => Some(true),
        _ => None,
    };
    column.collation = match ty {
        ColumnType::Binary { .. } | ColumnType::VarBinary { .. } | ColumnType::Blob { .. } => Some(BINARY),
        ty => ty.collation(),
    }
    .map(|id| u32::from(id.0));
    if let ColumnType::Geometry { kind, .. } = ty {
        column.geometry_type = Some(*kind as u64);
    }
    column
}

/// How values of a column get from their stored bytes into the log: found out once for many rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueFormat {
    /// Little-endian; `signed`: with the top bit flipped.
    Number {
        signed: bool,
    },
    AsStored,
    /// Bytes of length before it, and what is not kept at its end.
    Text {
        length_bytes: u8,
        padding: Padding,
    },
    Long {
        length_bytes: u8,
    },
    Json,
}

/// What fills up a value of fixed length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Padding {
    None,
    Zeros,
    Spaces(Charset),
}

impl ValueFormat {
    pub fn of(ty: &ColumnType) -> ValueFormat {
        let text =
            |bytes_max: u32, padding| ValueFormat::Text { length_bytes: if bytes_max > 255 { 2 } else { 1 }, padding };
        let chars_bytes = |chars: u32, id: CollationId| chars * u32::from(collation(id).charset.bytes_max());
        match ty {
            ColumnType::Int { unsigned, .. } => ValueFormat::Number { signed: !unsigned },
            ColumnType::Date => ValueFormat::Number { signed: true },
            ColumnType::Enum { .. } | ColumnType::Set { .. } => ValueFormat::Number { signed: false },
            ColumnType::Year
            | ColumnType::Bit { .. }
            | ColumnType::Float { .. }
            | ColumnType::Double { .. }
            | ColumnType::Decimal { .. }
            | ColumnType::Time { .. }
            | ColumnType::DateTime { .. }
            | ColumnType::Timestamp { .. } => ValueFormat::AsStored,
            ColumnType::Char { chars, collation: id } => {
                text(chars_bytes(*chars, *id), Padding::Spaces(collation(*id).charset))
            }
            // MySQL's rows have BINARY without the zeros at its end.
            ColumnType::Binary { bytes } => text(*bytes, Padding::Zeros),
            ColumnType::VarChar { chars, collation: id } => text(chars_bytes(*chars, *id), Padding::None),
            ColumnType::VarBinary { bytes } => text(*bytes, Padding::None),
            ColumnType::Text { size, .. } | ColumnType::Blob { size } => {
                ValueFormat::Long { length_bytes: length_bytes(*size) }
            }
            ColumnType::Geometry { .. } => ValueFormat::Long { length_bytes: 4 },
            ColumnType::Json => ValueFormat::Json,
        }
    }

    /// Appends a value that is not NULL, from its stored bytes.
    #[inline]
    pub fn append(self, stored: &[u8], out: &mut Vec<u8>) -> Result<()> {
        match self {
            ValueFormat::Number { signed } => {
                let sign = if signed { 0x80 } else { 0 };
                if let Ok(bytes) = <[u8; 4]>::try_from(stored) {
                    let number = u32::from_be_bytes(bytes) ^ u32::from(sign) << 24;
                    out.extend_from_slice(&number.to_le_bytes());
                    return Ok(());
                }
                out.extend(stored.iter().rev());
                if !stored.is_empty()
                    && let Some(top) = out.last_mut()
                {
                    *top ^= sign;
                }
            }
            ValueFormat::AsStored => out.extend_from_slice(stored),
            ValueFormat::Text { length_bytes, padding } => {
                let text = match padding {
                    Padding::None => stored,
                    Padding::Zeros => {
                        &stored[..stored.len() - stored.iter().rev().take_while(|byte| **byte == 0).count()]
                    }
                    Padding::Spaces(charset) => charset.without_spaces(stored),
                };
                out.extend_from_slice(&(text.len() as u16).to_le_bytes()[..usize::from(length_bytes)]);
                out.extend_from_slice(text);
            }
            ValueFormat::Long { length_bytes } => {
                out.extend_from_slice(&(stored.len() as u32).to_le_bytes()[..usize::from(length_bytes)]);
                out.extend_from_slice(stored);
            }
            ValueFormat::Json => {
                let start = out.len();
                out.extend_from_slice(&[0; 4]);
                out.extend_from_slice(&Json::binary_of_stored(stored));
                let bytes = (out.len() - start - 4) as u32;
                out[start..start + 4].copy_from_slice(&bytes.to_le_bytes());
            }
        }
        Ok(())
    }
}
