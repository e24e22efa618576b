//! Columns: from a written type to a stored one, and a default to its stored bytes.

use std::sync::Arc;

use format::collation::{Charset, CollationId, collation};
use format::value::{ColumnType, LobSize};
use storage::schema::{Column, ColumnDefault, Generated};

use super::{Context, check_name, check_not_reserved, computed, options};
use crate::error::{Error, Result};
use crate::expression::assign::{AssignMode, Target, assign, encode};
use crate::expression::{Binder, Datum, NoFields, NoScope};
use crate::parser::ast::{ColumnSpec, DefaultSpec, TypeSpec};

/// The most bytes of a row without its TEXT and BLOB columns; MySQL's limit above that of the engine.
const ROW_BYTES_MAX: u64 = 65535;

const CHAR_MAX: u64 = 255;
const COMMENT_CHARS_MAX: usize = 1024;

/// The stored column of a written one. `table` is the table's collation.
pub fn column(context: &Context<'_>, spec: &ColumnSpec, table: CollationId) -> Result<Column> {
    check_name(&spec.name, Error::wrong_column_name)?;
    check_not_reserved(&spec.name, Error::wrong_column_name)?;
    computed::check_generated(spec)?;
    let serial = spec.ty.name == "SERIAL";
    let ty = column_type(&spec.name, &spec.ty, table)?;
    let auto_increment = spec.auto_increment || serial;
    let nullable = spec.nullable.unwrap_or(true) && !spec.primary_key && !auto_increment;
    if auto_increment {
        if !matches!(ty, ColumnType::Int { .. } | ColumnType::Float { .. } | ColumnType::Double { .. }) {
            return Err(Error::wrong_column_specifier(&spec.name));
        }
        if spec.default.is_some() {
            return Err(Error::invalid_default(&spec.name));
        }
        if !matches!(ty, ColumnType::Int { .. }) {
            return Err(Error::unsupported("AUTO_INCREMENT of floating-point columns"));
        }
    }
    let explicit = spec.ty.collation.is_some() && crate::describe::declared_collation(&ty).is_some();
    let comment = spec.comment.clone().unwrap_or_default();
    if comment.chars().count() > COMMENT_CHARS_MAX {
        let message = format!("Comment for field '{}' is too long (max = {COMMENT_CHARS_MAX})", spec.name);
        return Err(Error::new(1629, b"HY000", message));
    }
    let on_update_now = match spec.on_update_now {
        None => false,
        Some(fsp) if fraction_of_clock(&ty) == Some(fsp) => true,
        Some(_) => {
            return Err(Error::new(1294, b"HY000", format!("Invalid ON UPDATE clause for '{}' column", spec.name)));
        }
    };
    let default = match spec.generated {
        Some(_) => ColumnDefault::None,
        None => default(context, &spec.name, spec.default.as_ref(), &ty, nullable)?,
    };
    // The text comes when all columns are known.
    let generated = spec.generated.as_ref().map(|generated| Generated {
        expression: "".into(),
        stored: generated.stored,
        hidden: false,
    });
    if spec.ty.name == "YEAR" && spec.ty.length == Some(2) {
        context.warn(1818, "YEAR(2) column type is deprecated. Creating YEAR(4) column instead.");
    }
    let zerofill = spec.ty.zerofill.then(|| zerofill_width(&ty, &spec.ty)).flatten();
    Ok(Column {
        name: spec.name.as_str().into(),
        ty,
        nullable,
        default,
        on_update_now,
        auto_increment,
        comment: comment.into(),
        invisible: spec.invisible,
        explicit_collation: explicit,
        boolean: spec.ty.name == "TINYINT" && spec.ty.length == Some(1) && !spec.ty.unsigned,
        zerofill,
        generated,
    })
}

/// To how many characters numbers of a column are filled with zeros.
fn zerofill_width(ty: &ColumnType, spec: &TypeSpec) -> Option<u8> {
    let written = spec.length.filter(|width| *width > 0).map(|width| width.min(255) as u8);
    match ty {
        ColumnType::Int { bytes, .. } => Some(written.unwrap_or(match bytes {
            1 => 3,
            2 => 5,
            3 => 8,
            4 => 10,
            _ => 20,
        })),
        ColumnType::Decimal { precision, scale, .. } => Some(precision + u8::from(*scale > 0)),
        ColumnType::Float { decimals, .. } => Some(decimals.map_or(12, |(digits, _)| digits)),
        ColumnType::Double { decimals, .. } => Some(decimals.map_or(22, |(digits, _)| digits)),
        _ => None,
    }
}

/// The fsp of types that can take the current time.
fn fraction_of_clock(ty: &ColumnType) -> Option<u8> {
    match ty {
        ColumnType::DateTime { fsp } | ColumnType::Timestamp { fsp } => Some(*fsp),
        _ => None,
    }
}

/// What a column holds when nobody says.
pub fn default(
    context: &Context<'_>,
    name: &str,
    spec: Option<&DefaultSpec>,
    ty: &ColumnType,
    nullable: bool,
) -> Result<ColumnDefault> {
    let is_lob = matches!(ty, ColumnType::Text { .. } | ColumnType::Blob { .. } | ColumnType::Json);
    match spec {
        None if nullable => Ok(ColumnDefault::Null),
        None => Ok(ColumnDefault::None),
        Some(DefaultSpec::Now { fsp }) if fraction_of_clock(ty) == Some(*fsp) => {
            Ok(ColumnDefault::CurrentTimestamp { fsp: *fsp })
        }
        Some(DefaultSpec::Now { .. }) => Err(Error::invalid_default(name)),
        // The text comes when all columns are known.
        Some(DefaultSpec::Expr(_)) => Ok(ColumnDefault::Expression("".into())),
        Some(DefaultSpec::Literal(expr)) => {
            let mut binder =
                Binder::new(&NoScope, context.eval.session, context.eval.mode, context.eval.connection, &[]);
            binder.client = context.eval.client;
            let bound = binder.bind(expr)?;
            let value = bound.eval(context.eval, &NoFields)?;
            if value.is_null() {
                return if nullable { Ok(ColumnDefault::Null) } else { Err(Error::invalid_default(name)) };
            }
            if is_lob {
                return Err(Error::blob_with_default(name));
            }
            let target = Target { name, ty, nullable };
            // A default that would be cut to fit is refused in every mode: nobody wants rows that differ from it.
            let mut strict = *context.eval;
            strict.strict_change = true;
            let stored = assign(value, &bound.ty, &target, AssignMode::Strict, 1, &strict)
                .and_then(|value| stored(&value, ty))
                .map_err(|_| Error::invalid_default(name))?;
            Ok(ColumnDefault::Literal(stored))
        }
    }
}

fn stored(value: &Datum<'_>, ty: &ColumnType) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    encode(value.clone(), ty, &mut out)?;
    Ok(out)
}

/// The stored type of a written one.
pub fn column_type(name: &str, spec: &TypeSpec, table: CollationId) -> Result<ColumnType> {
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
            character_type(name, spec, table)
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

fn character_type(name: &str, spec: &TypeSpec, table: CollationId) -> Result<ColumnType> {
    let mut id = options::collation(spec.charset.as_deref(), spec.collation.as_deref(), table)?;
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
    let own = collation(id);
    let mut members: Vec<Box<str>> = Vec::with_capacity(spec.members.len());
    for member in &spec.members {
        let text = String::from_utf8_lossy(member);
        let text = text.trim_end_matches(' ');
        if set && text.contains(',') {
            let message = format!("Illegal set '{text}' value found during parsing");
            return Err(Error::new(1367, b"22007", message));
        }
        let mut stored = Vec::new();
        format::collation::convert(text.as_bytes(), Charset::Utf8mb4, own.charset, &mut stored);
        let known = members.iter().any(|known| {
            let mut other = Vec::new();
            format::collation::convert(known.as_bytes(), Charset::Utf8mb4, own.charset, &mut other);
            own.equal(&other, &stored)
        });
        if known {
            return Err(Error::duplicate_member(name, text, if set { "SET" } else { "ENUM" }));
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

/// Whether all columns fit a row by MySQL's count, in which a TEXT or BLOB takes a few bytes.
pub fn check_row(columns: &[Column]) -> Result<()> {
    let bytes: u64 = columns.iter().map(|column| row_bytes(&column.ty)).sum();
    if bytes > ROW_BYTES_MAX { Err(Error::row_too_large(ROW_BYTES_MAX as usize)) } else { Ok(()) }
}

fn row_bytes(ty: &ColumnType) -> u64 {
    let prefixed = |bytes: u64| bytes + if bytes > 255 { 2 } else { 1 };
    let wide = |chars: u32, id: CollationId| u64::from(chars) * u64::from(collation(id).charset.bytes_max());
    match ty {
        ColumnType::Int { bytes, .. } => u64::from(*bytes),
        ColumnType::Char { chars, collation } => wide(*chars, *collation),
        ColumnType::VarChar { chars, collation } => prefixed(wide(*chars, *collation)),
        ColumnType::Binary { bytes } => u64::from(*bytes),
        ColumnType::VarBinary { bytes } => prefixed(u64::from(*bytes)),
        ColumnType::Text { size, .. } | ColumnType::Blob { size } => match size {
            LobSize::Tiny => 9,
            LobSize::Regular => 10,
            LobSize::Medium => 11,
            LobSize::Long => 12,
        },
        _ => 8,
    }
}
