//! Stored bytes of columns as the log has them.
//!
//! Records keep numbers so that they compare byte by byte: big-endian, with a flipped sign. The log has them
//! little-endian. Times, decimals, floating point numbers and bits are the same in both.

use super::json_text;
use super::table_map::{Column, ColumnCode, ColumnSize};
use crate::collation::{CollationId, collation};
use crate::error::Result;
use crate::record::Length;
use crate::value::{ColumnType, LobSize};

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
    column
}

/// Appends a value that is not NULL, from its stored bytes.
pub fn append_stored(ty: &ColumnType, stored: &[u8], out: &mut Vec<u8>) -> Result<()> {
    match ty {
        ColumnType::Int { unsigned, .. } => {
            let start = out.len();
            out.extend(stored.iter().rev());
            if !unsigned && let Some(top) = out[start..].last_mut() {
                *top ^= 0x80;
            }
        }
        ColumnType::Date => {
            let start = out.len();
            out.extend(stored.iter().rev());
            if let Some(top) = out[start..].last_mut() {
                *top ^= 0x80;
            }
        }
        ColumnType::Enum { .. } | ColumnType::Set { .. } => out.extend(stored.iter().rev()),
        ColumnType::Year
        | ColumnType::Bit { .. }
        | ColumnType::Float { .. }
        | ColumnType::Double { .. }
        | ColumnType::Decimal { .. }
        | ColumnType::Time { .. }
        | ColumnType::DateTime { .. }
        | ColumnType::Timestamp { .. } => out.extend_from_slice(stored),
        ColumnType::Char { chars, collation: id } => {
            let spaces = stored.iter().rev().take_while(|byte| **byte == b' ').count();
            let bytes_max = chars * u32::from(collation(*id).charset.bytes_max());
            put_text(&stored[..stored.len() - spaces], bytes_max, out);
        }
        // MySQL's rows have BINARY without the zeros at its end.
        ColumnType::Binary { bytes } => {
            let zeros = stored.iter().rev().take_while(|byte| **byte == 0).count();
            put_text(&stored[..stored.len() - zeros], *bytes, out);
        }
        ColumnType::VarChar { chars, collation: id } => {
            put_text(stored, chars * u32::from(collation(*id).charset.bytes_max()), out);
        }
        ColumnType::VarBinary { bytes } => put_text(stored, *bytes, out),
        ColumnType::Text { size, .. } | ColumnType::Blob { size } => {
            out.extend_from_slice(&(stored.len() as u32).to_le_bytes()[..length_bytes(*size) as usize]);
            out.extend_from_slice(stored);
        }
        ColumnType::Json => {
            let start = out.len();
            out.extend_from_slice(&[0; 4]);
            json_text::from_text(stored, out)?;
            let bytes = (out.len() - start - 4) as u32;
            out[start..start + 4].copy_from_slice(&bytes.to_le_bytes());
        }
    }
    Ok(())
}

fn put_text(text: &[u8], bytes_max: u32, out: &mut Vec<u8>) {
    let length_bytes = if bytes_max > 255 { 2 } else { 1 };
    out.extend_from_slice(&(text.len() as u16).to_le_bytes()[..length_bytes]);
    out.extend_from_slice(text);
}
