//! Column types as bytes in the dictionary.
//!
//! ```text
//! 1     kind, see the constants
//!       then, by kind: sizes and flags of one byte, lengths and SRIDs of four, collations of two, big-endian;
//!       ENUM and SET: count 2, then each member as length 2 and UTF-8
//! ```
//!
//! Kinds are never renumbered: old dictionaries stay readable.

use std::sync::Arc;

use super::{ColumnType, DECIMAL_PRECISION_MAX, DECIMAL_SCALE_MAX, GeometryType, LobSize};
use crate::collation::{Collation, CollationId};
use crate::error::{Error, Result};

const INT: u8 = 1;
const YEAR: u8 = 2;
const BIT: u8 = 3;
const FLOAT: u8 = 4;
const DOUBLE: u8 = 5;
const DECIMAL: u8 = 6;
const DATE: u8 = 7;
const TIME: u8 = 8;
const DATETIME: u8 = 9;
const TIMESTAMP: u8 = 10;
const CHAR: u8 = 11;
const VARCHAR: u8 = 12;
const BINARY: u8 = 13;
const VARBINARY: u8 = 14;
const TEXT: u8 = 15;
const BLOB: u8 = 16;
const JSON: u8 = 17;
const ENUM: u8 = 18;
const SET: u8 = 19;
const GEOMETRY: u8 = 20;

/// In place of the digits of a FLOAT or DOUBLE that has none.
const NO_DECIMALS: u8 = 0xFF;

impl ColumnType {
    /// Appends the definition.
    pub fn write_definition(&self, out: &mut Vec<u8>) {
        match self {
            ColumnType::Int { bytes, unsigned } => out.extend_from_slice(&[INT, *bytes, *unsigned as u8]),
            ColumnType::Year => out.push(YEAR),
            ColumnType::Bit { bits } => out.extend_from_slice(&[BIT, *bits]),
            ColumnType::Float { unsigned, decimals } => write_floating(FLOAT, *unsigned, *decimals, out),
            ColumnType::Double { unsigned, decimals } => write_floating(DOUBLE, *unsigned, *decimals, out),
            ColumnType::Decimal { precision, scale, unsigned } => {
                out.extend_from_slice(&[DECIMAL, *precision, *scale, *unsigned as u8]);
            }
            ColumnType::Date => out.push(DATE),
            ColumnType::Time { fsp } => out.extend_from_slice(&[TIME, *fsp]),
            ColumnType::DateTime { fsp } => out.extend_from_slice(&[DATETIME, *fsp]),
            ColumnType::Timestamp { fsp } => out.extend_from_slice(&[TIMESTAMP, *fsp]),
            ColumnType::Char { chars, collation } => write_text_type(CHAR, *chars, *collation, out),
            ColumnType::VarChar { chars, collation } => write_text_type(VARCHAR, *chars, *collation, out),
            ColumnType::Binary { bytes } => write_sized(BINARY, *bytes, out),
            ColumnType::VarBinary { bytes } => write_sized(VARBINARY, *bytes, out),
            ColumnType::Text { size, collation } => {
                out.extend_from_slice(&[TEXT, size_number(*size)]);
                out.extend_from_slice(&collation.0.to_be_bytes());
            }
            ColumnType::Blob { size } => out.extend_from_slice(&[BLOB, size_number(*size)]),
            ColumnType::Json => out.push(JSON),
            ColumnType::Geometry { kind, srid } => {
                out.extend_from_slice(&[GEOMETRY, *kind as u8, srid.is_some() as u8]);
                out.extend_from_slice(&srid.unwrap_or(0).to_be_bytes());
            }
            ColumnType::Enum { members, collation } => write_members(ENUM, members, *collation, out),
            ColumnType::Set { members, collation } => write_members(SET, members, *collation, out),
        }
    }

    /// Reads a definition and moves `bytes` behind it.
    pub fn read_definition(bytes: &mut &[u8]) -> Result<ColumnType> {
        let ty = match u8::from_be_bytes(take(bytes)?) {
            INT => {
                let [size, unsigned] = take(bytes)?;
                expect(matches!(size, 1..=4 | 8))?;
                ColumnType::Int { bytes: size, unsigned: unsigned != 0 }
            }
            YEAR => ColumnType::Year,
            BIT => {
                let [bits] = take(bytes)?;
                expect((1..=64).contains(&bits))?;
                ColumnType::Bit { bits }
            }
            FLOAT => {
                let (unsigned, decimals) = read_floating(bytes)?;
                ColumnType::Float { unsigned, decimals }
            }
            DOUBLE => {
                let (unsigned, decimals) = read_floating(bytes)?;
                ColumnType::Double { unsigned, decimals }
            }
            DECIMAL => {
                let [precision, scale, unsigned] = take(bytes)?;
                expect((1..=DECIMAL_PRECISION_MAX).contains(&precision))?;
                expect(scale <= precision.min(DECIMAL_SCALE_MAX))?;
                ColumnType::Decimal { precision, scale, unsigned: unsigned != 0 }
            }
            DATE => ColumnType::Date,
            TIME => ColumnType::Time { fsp: read_fsp(bytes)? },
            DATETIME => ColumnType::DateTime { fsp: read_fsp(bytes)? },
            TIMESTAMP => ColumnType::Timestamp { fsp: read_fsp(bytes)? },
            CHAR => {
                let chars = u32::from_be_bytes(take(bytes)?);
                expect(chars <= 255)?;
                ColumnType::Char { chars, collation: read_collation(bytes)? }
            }
            VARCHAR => {
                let chars = u32::from_be_bytes(take(bytes)?);
                ColumnType::VarChar { chars, collation: read_collation(bytes)? }
            }
            BINARY => {
                let size = u32::from_be_bytes(take(bytes)?);
                expect(size <= 255)?;
                ColumnType::Binary { bytes: size }
            }
            VARBINARY => ColumnType::VarBinary { bytes: u32::from_be_bytes(take(bytes)?) },
            TEXT => {
                let size = read_size(bytes)?;
                ColumnType::Text { size, collation: read_collation(bytes)? }
            }
            BLOB => ColumnType::Blob { size: read_size(bytes)? },
            JSON => ColumnType::Json,
            GEOMETRY => {
                let [kind, has_srid] = take(bytes)?;
                let srid = u32::from_be_bytes(take(bytes)?);
                let kind = GeometryType::from_number(kind.into()).ok_or(Error::corrupt("column type", 0))?;
                ColumnType::Geometry { kind, srid: (has_srid != 0).then_some(srid) }
            }
            ENUM => {
                let (members, collation) = read_members(bytes)?;
                ColumnType::Enum { members, collation }
            }
            SET => {
                let (members, collation) = read_members(bytes)?;
                expect(members.len() <= 64)?;
                ColumnType::Set { members, collation }
            }
            kind => return Err(Error::Unsupported { what: "column type", value: u32::from(kind) }),
        };
        Ok(ty)
    }
}

fn expect(holds: bool) -> Result<()> {
    if holds { Ok(()) } else { Err(Error::corrupt("column type", 0)) }
}

fn take<const N: usize>(bytes: &mut &[u8]) -> Result<[u8; N]> {
    let (taken, rest) = bytes.split_first_chunk().ok_or(Error::corrupt("column type ends early", 0))?;
    *bytes = rest;
    Ok(*taken)
}

fn write_floating(kind: u8, unsigned: bool, decimals: Option<(u8, u8)>, out: &mut Vec<u8>) {
    let (digits, decimals) = decimals.unwrap_or((0, NO_DECIMALS));
    out.extend_from_slice(&[kind, unsigned as u8, digits, decimals]);
}

fn read_floating(bytes: &mut &[u8]) -> Result<(bool, Option<(u8, u8)>)> {
    let [unsigned, digits, decimals] = take(bytes)?;
    expect(decimals == NO_DECIMALS || decimals <= DECIMAL_SCALE_MAX)?;
    Ok((unsigned != 0, (decimals != NO_DECIMALS).then_some((digits, decimals))))
}

fn read_fsp(bytes: &mut &[u8]) -> Result<u8> {
    let [fsp] = take(bytes)?;
    expect(fsp <= 6)?;
    Ok(fsp)
}

fn write_sized(kind: u8, size: u32, out: &mut Vec<u8>) {
    out.push(kind);
    out.extend_from_slice(&size.to_be_bytes());
}

fn write_text_type(kind: u8, chars: u32, collation: CollationId, out: &mut Vec<u8>) {
    write_sized(kind, chars, out);
    out.extend_from_slice(&collation.0.to_be_bytes());
}

fn read_collation(bytes: &mut &[u8]) -> Result<CollationId> {
    let id = CollationId(u16::from_be_bytes(take(bytes)?));
    match Collation::by_id(id) {
        Some(_) => Ok(id),
        None => Err(Error::Unsupported { what: "collation", value: u32::from(id.0) }),
    }
}

fn size_number(size: LobSize) -> u8 {
    match size {
        LobSize::Tiny => 1,
        LobSize::Regular => 2,
        LobSize::Medium => 3,
        LobSize::Long => 4,
    }
}

fn read_size(bytes: &mut &[u8]) -> Result<LobSize> {
    let [size] = take(bytes)?;
    Ok(match size {
        1 => LobSize::Tiny,
        2 => LobSize::Regular,
        3 => LobSize::Medium,
        4 => LobSize::Long,
        _ => return Err(Error::corrupt("column type", 0)),
    })
}

fn write_members(kind: u8, members: &[Box<str>], collation: CollationId, out: &mut Vec<u8>) {
    out.push(kind);
    out.extend_from_slice(&collation.0.to_be_bytes());
    out.extend_from_slice(&(members.len() as u16).to_be_bytes());
    for member in members {
        out.extend_from_slice(&(member.len() as u16).to_be_bytes());
        out.extend_from_slice(member.as_bytes());
    }
}

fn read_members(bytes: &mut &[u8]) -> Result<(Arc<[Box<str>]>, CollationId)> {
    let collation = read_collation(bytes)?;
    let count = u16::from_be_bytes(take(bytes)?);
    let mut members = Vec::new();
    for _ in 0..count {
        let length = u16::from_be_bytes(take(bytes)?) as usize;
        let (member, rest) = bytes.split_at_checked(length).ok_or(Error::corrupt("column type ends early", 0))?;
        *bytes = rest;
        let member = std::str::from_utf8(member).map_err(|_| Error::corrupt("name of a member", 0))?;
        members.push(Box::from(member));
    }
    Ok((members.into(), collation))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definitions_are_read_as_written() {
        let members: Arc<[Box<str>]> = [Box::from("a"), Box::from("ü"), Box::from("")].into();
        let collation = CollationId::UTF8MB4_BIN;
        let types = [
            ColumnType::Int { bytes: 3, unsigned: true },
            ColumnType::Year,
            ColumnType::Bit { bits: 64 },
            ColumnType::Float { unsigned: false, decimals: None },
            ColumnType::Double { unsigned: true, decimals: Some((10, 0)) },
            ColumnType::Decimal { precision: 65, scale: 30, unsigned: false },
            ColumnType::Date,
            ColumnType::Time { fsp: 6 },
            ColumnType::DateTime { fsp: 0 },
            ColumnType::Timestamp { fsp: 3 },
            ColumnType::Char { chars: 255, collation },
            ColumnType::VarChar { chars: 16_000, collation: CollationId::LATIN1_SWEDISH_CI },
            ColumnType::Binary { bytes: 0 },
            ColumnType::VarBinary { bytes: 65_000 },
            ColumnType::Text { size: LobSize::Medium, collation },
            ColumnType::Blob { size: LobSize::Tiny },
            ColumnType::Json,
            ColumnType::Geometry { kind: GeometryType::Geometry, srid: None },
            ColumnType::Geometry { kind: GeometryType::MultiPolygon, srid: Some(4326) },
            ColumnType::Enum { members: members.clone(), collation },
            ColumnType::Set { members, collation },
        ];
        let mut all = Vec::new();
        for ty in &types {
            ty.write_definition(&mut all);
        }
        let mut rest = &all[..];
        for ty in &types {
            assert_eq!(ColumnType::read_definition(&mut rest).as_ref(), Ok(ty));
        }
        assert!(rest.is_empty());
        for ty in &types {
            let mut bytes = Vec::new();
            ty.write_definition(&mut bytes);
            for cut in 0..bytes.len() {
                assert!(ColumnType::read_definition(&mut &bytes[..cut]).is_err(), "{ty:?} cut at {cut}");
            }
        }
        assert!(ColumnType::read_definition(&mut &[99][..]).is_err());
    }
}
