//! Types as they are written, and the stored types that they mean: of columns, of variables and parameters of programs.

use std::sync::Arc;

use format::collation::{Charset, Collation, CollationId, collation};
use format::value::{ColumnType, GeometryType, LobSize};

use crate::error::{Error, Result};
use crate::parser::ast::TypeSpec;

/// The most bytes of a row without its TEXT and BLOB columns; MySQL's limit above that of the engine.
pub const ROW_BYTES_MAX: u64 = 65535;

const CHAR_MAX: u64 = 255;

/// The collation of a name, where a short one (`uca1400_ai_ci`) is that of a character set. 1253: that has none.
pub fn named_in(name: &str, charset: Charset) -> Result<&'static Collation> {
    Collation::by_name_in(name, charset).ok_or_else(|| match Collation::is_short(name) {
        true => Error::collation_charset_mismatch(name, charset.name()),
        false => Error::unknown_collation(name),
    })
}

/// The collation that a character set and a collation name mean together. `utf8mb4`: what that means alone.
pub fn collation_of(
    charset: Option<&str>,
    name: Option<&str>,
    otherwise: CollationId,
    utf8mb4: CollationId,
) -> Result<CollationId> {
    let charset = match charset {
        None => None,
        Some(word) if word.eq_ignore_ascii_case("default") => None,
        Some(word) => Some(Charset::by_name(word).ok_or_else(|| Error::unknown_charset(word))?),
    };
    let Some(name) = name.filter(|word| !word.eq_ignore_ascii_case("default")) else {
        return Ok(charset.map_or(otherwise, |charset| charset.collation_given(utf8mb4)));
    };
    let found = named_in(name, charset.unwrap_or(collation(otherwise).charset))?;
    if charset.is_some_and(|charset| charset != found.charset) {
        let charset = charset.map_or("", |charset| charset.name());
        return Err(Error::collation_charset_mismatch(found.name, charset));
    }
    Ok(found.id)
}

/// The stored type of a written one. `table`: the collation where nothing is said, `utf8mb4`: where that is said alone.
pub fn column_type(name: &str, spec: &TypeSpec, table: CollationId, utf8mb4: CollationId) -> Result<ColumnType> {
    let ty = column_type_repeating(name, spec, table, utf8mb4)?;
    repeated_member(name, &ty).map_or(Ok(ty), Err)
}

/// 1291 if two members of an ENUM or SET are equal. Outside of the strict modes a column may have them; a value is the first
/// of the two then.
pub fn repeated_member(name: &str, ty: &ColumnType) -> Option<Error> {
    let (members, id, kind) = match ty {
        ColumnType::Enum { members, collation } => (members, *collation, "ENUM"),
        ColumnType::Set { members, collation } => (members, *collation, "SET"),
        _ => return None,
    };
    let own = collation(id);
    let mut known: Vec<Vec<u8>> = Vec::with_capacity(members.len());
    for member in members.iter() {
        let mut stored = Vec::new();
        format::collation::convert(member.as_bytes(), Charset::Utf8mb4, own.charset, &mut stored);
        if known.iter().any(|known| own.equal(known, &stored)) {
            return Some(Error::duplicate_member(name, member, kind));
        }
        known.push(stored);
    }
    None
}

/// As [`column_type`], of an ENUM or SET that may have a member twice.
pub fn column_type_repeating(
    name: &str,
    spec: &TypeSpec,
    table: CollationId,
    utf8mb4: CollationId,
) -> Result<ColumnType> {
    let geometry = GeometryType::by_name(&spec.name);
    if let Some(kind) = geometry {
        return Ok(ColumnType::Geometry { kind, srid: spec.srid });
    }
    if spec.srid.is_some() {
        return Err(Error::new(1221, b"HY000", "Incorrect usage of SRID and non-geometry column"));
    }
    let unsigned = spec.unsigned || spec.zerofill;
    let int = |bytes: u8| -> Result<ColumnType> {
        if spec.length.is_some_and(|width| width > 255) {
            return Err(Error::display_width_out_of_range(name, 255));
        }
        Ok(ColumnType::Int { bytes, unsigned })
    };
    let fsp = || -> Result<u8> {
        match spec.length.unwrap_or(0) {
            fsp @ 0..=6 => Ok(fsp as u8),
            fsp => Err(Error::too_big_precision(fsp, name, 6)),
        }
    };
    match spec.name.as_str() {
        "BOOL" | "BOOLEAN" => Ok(ColumnType::Int { bytes: 1, unsigned: false }),
        "TINYINT" => int(1),
        "SMALLINT" => int(2),
        "MEDIUMINT" => int(3),
        "INT" | "INTEGER" => int(4),
        "BIGINT" => int(8),
        "SERIAL" => Ok(ColumnType::Int { bytes: 8, unsigned: true }),
        "YEAR" => match spec.length {
            None | Some(2 | 4) => Ok(ColumnType::Year),
            Some(_) => Err(Error::new(1818, b"HY000", "Supports only YEAR or YEAR(4) column.")),
        },
        "BIT" => match spec.length.unwrap_or(1) {
            bits @ 1..=64 => Ok(ColumnType::Bit { bits: bits as u8 }),
            0 => Err(Error::new(3013, b"HY000", format!("Invalid size for column '{name}'."))),
            _ => Err(Error::display_width_out_of_range(name, 64)),
        },
        "DECIMAL" => decimal(name, spec),
        "FLOAT" => floating(name, spec),
        "DOUBLE" | "REAL" => Ok(ColumnType::Double { unsigned, decimals: digits(name, spec)? }),
        "DATE" => Ok(ColumnType::Date),
        "TIME" => Ok(ColumnType::Time { fsp: fsp()? }),
        "DATETIME" => Ok(ColumnType::DateTime { fsp: fsp()? }),
        "TIMESTAMP" => Ok(ColumnType::Timestamp { fsp: fsp()? }),
        "BINARY" => match spec.length.unwrap_or(1) {
            bytes @ 0..=CHAR_MAX => Ok(ColumnType::Binary { bytes: bytes as u32 }),
            _ => Err(Error::column_length_too_big(name, CHAR_MAX)),
        },
        "VARBINARY" => match spec.length.ok_or_else(|| Error::syntax("VARBINARY", 1))? {
            bytes @ 0..=ROW_BYTES_MAX => Ok(ColumnType::VarBinary { bytes: bytes as u32 }),
            _ => Err(Error::column_length_too_big(name, ROW_BYTES_MAX)),
        },
        "TINYBLOB" => Ok(ColumnType::Blob { size: LobSize::Tiny }),
        "BLOB" => Ok(ColumnType::Blob { size: spec.length.map_or(LobSize::Regular, lob_size) }),
        "MEDIUMBLOB" => Ok(ColumnType::Blob { size: LobSize::Medium }),
        "LONGBLOB" => Ok(ColumnType::Blob { size: LobSize::Long }),
        "JSON" => Ok(ColumnType::Json),
        "CHAR" | "VARCHAR" | "TINYTEXT" | "TEXT" | "MEDIUMTEXT" | "LONGTEXT" | "ENUM" | "SET" => {
            character_type(name, spec, table, utf8mb4)
        }
        other => Err(Error::unsupported(format!("columns of type {other}"))),
    }
}

fn lob_size(bytes: u64) -> LobSize {
    match bytes {
        0..=0xFF => LobSize::Tiny,
        0x100..=0xFFFF => LobSize::Regular,
        0x1_0000..=0xFF_FFFF => LobSize::Medium,
        _ => LobSize::Long,
    }
}

fn decimal(name: &str, spec: &TypeSpec) -> Result<ColumnType> {
    let precision = match spec.length {
        None | Some(0) => 10,
        Some(precision) => precision,
    };
    let scale = spec.decimals.unwrap_or(0);
    if scale > 30 {
        return Err(Error::too_big_scale(u64::from(scale), name, 30));
    }
    if precision > 65 {
        return Err(Error::too_big_precision(precision, name, 65));
    }
    if u64::from(scale) > precision {
        return Err(Error::precision_below_scale(name));
    }
    Ok(ColumnType::Decimal { precision: precision as u8, scale, unsigned: spec.unsigned || spec.zerofill })
}

/// The (m, d) of FLOAT(m, d) and DOUBLE(m, d).
fn digits(name: &str, spec: &TypeSpec) -> Result<Option<(u8, u8)>> {
    let (Some(length), Some(decimals)) = (spec.length, spec.decimals) else { return Ok(None) };
    if length > 255 {
        return Err(Error::display_width_out_of_range(name, 255));
    }
    if decimals > 30 {
        return Err(Error::too_big_scale(u64::from(decimals), name, 30));
    }
    if u64::from(decimals) > length {
        return Err(Error::precision_below_scale(name));
    }
    Ok(Some((length as u8, decimals)))
}

fn floating(name: &str, spec: &TypeSpec) -> Result<ColumnType> {
    let unsigned = spec.unsigned || spec.zerofill;
    match (spec.length, spec.decimals) {
        // FLOAT(p): the precision chooses the width.
        (Some(25..=53), None) => Ok(ColumnType::Double { unsigned, decimals: None }),
        (Some(bits), None) if bits > 53 => {
            Err(Error::new(1063, b"42000", format!("Incorrect column specifier for column '{name}'")))
        }
        _ => Ok(ColumnType::Float { unsigned, decimals: digits(name, spec)? }),
    }
}

fn character_type(name: &str, spec: &TypeSpec, table: CollationId, utf8mb4: CollationId) -> Result<ColumnType> {
    let mut id = collation_of(spec.charset.as_deref(), spec.collation.as_deref(), table, utf8mb4)?;
    if spec.binary {
        id = collation(id).charset.bin_collation();
    }
    let charset = collation(id).charset;
    let binary = charset == Charset::Binary;
    let width = u64::from(charset.bytes_max());
    let text =
        |size: LobSize| if binary { ColumnType::Blob { size } } else { ColumnType::Text { size, collation: id } };
    match spec.name.as_str() {
        "CHAR" => match spec.length.unwrap_or(1) {
            chars @ 0..=CHAR_MAX if binary => Ok(ColumnType::Binary { bytes: chars as u32 }),
            chars @ 0..=CHAR_MAX => Ok(ColumnType::Char { chars: chars as u32, collation: id }),
            _ => Err(Error::column_length_too_big(name, CHAR_MAX)),
        },
        "VARCHAR" => {
            let chars = spec.length.ok_or_else(|| Error::syntax("VARCHAR", 1))?;
            if chars * width > ROW_BYTES_MAX {
                return Err(Error::column_length_too_big(name, ROW_BYTES_MAX / width));
            }
            let chars = chars as u32;
            Ok(if binary {
                ColumnType::VarBinary { bytes: chars }
            } else {
                ColumnType::VarChar { chars, collation: id }
            })
        }
        "TINYTEXT" => Ok(text(LobSize::Tiny)),
        "TEXT" => Ok(text(spec.length.map_or(LobSize::Regular, |chars| lob_size(chars.saturating_mul(width))))),
        "MEDIUMTEXT" => Ok(text(LobSize::Medium)),
        "LONGTEXT" => Ok(text(LobSize::Long)),
        kind => members(name, spec, id, kind == "SET"),
    }
}

fn members(name: &str, spec: &TypeSpec, id: CollationId, set: bool) -> Result<ColumnType> {
    let mut members: Vec<Box<str>> = Vec::with_capacity(spec.members.len());
    for (member, as_bits) in &spec.members {
        let mut converted = Vec::new();
        if *as_bits {
            format::collation::convert(member, collation(id).charset, Charset::Utf8mb4, &mut converted);
        }
        let text = String::from_utf8_lossy(if *as_bits { &converted } else { member });
        let text = text.trim_end_matches(' ');
        if set && text.contains(',') {
            let message = format!("Illegal set '{text}' value found during parsing");
            return Err(Error::new(1367, b"22007", message));
        }
        members.push(text.into());
    }
    let members_max = if set { 64 } else { 65535 };
    if members.len() > members_max {
        let kind = if set { "set" } else { "enum" };
        return Err(Error::new(
            1097,
            b"HY000",
            format!("Too many strings for column {name} and {}", kind.to_uppercase()),
        ));
    }
    let members: Arc<[Box<str>]> = members.into();
    Ok(if set { ColumnType::Set { members, collation: id } } else { ColumnType::Enum { members, collation: id } })
}
