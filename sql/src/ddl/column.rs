//! Columns: from a written type to a stored one, and a default to its stored bytes.

use format::collation::{CollationId, collation};
use format::value::{ColumnType, LobSize};
use storage::schema::{Column, ColumnDefault, Generated};

use super::{Context, check_name, check_not_reserved, computed};
use crate::column_types::{ROW_BYTES_MAX, column_type_repeating, repeated_member};
use crate::error::{Error, Result};
use crate::expression::assign::{AssignMode, Target, assign, encode};
use crate::expression::{Binder, Datum, NoFields, NoScope, geometry};
use crate::parser::ast::{ColumnSpec, DefaultSpec, Expr, Literal, TypeSpec};
use crate::types::{SqlMode, TypeInfo};

const COMMENT_CHARS_MAX: usize = 1024;

/// The stored column of a written one. `table` is the table's collation.
pub fn column(context: &Context<'_>, spec: &ColumnSpec, table: CollationId) -> Result<Column> {
    check_name(&spec.name, Error::wrong_column_name)?;
    check_not_reserved(&spec.name, Error::wrong_column_name)?;
    computed::check_generated(spec)?;
    let serial = spec.ty.name == "SERIAL";
    let ty = match (column_type_repeating(&spec.name, &spec.ty, table, context.eval.utf8mb4), longer(&spec.ty)) {
        // Outside of the strict modes a VARCHAR that is too long is a TEXT.
        (Err(error), Some(longer)) if error.code == 1074 && !context.eval.mode.is_strict() => {
            let ty = column_type_repeating(&spec.name, &longer, table, context.eval.utf8mb4)?;
            let to = if spec.ty.name == "VARBINARY" { "BLOB" } else { "TEXT" };
            context.note(1246, format!("Converting column '{}' from {} to {to}", spec.name, spec.ty.name));
            ty
        }
        (ty, _) => ty?,
    };
    if spec.ty.national {
        context.warn(
            3720,
            "NATIONAL/NCHAR/NVARCHAR implies the character set UTF8MB3, which will be replaced by UTF8MB4 in a future release. \
             Please consider using CHAR(x) CHARACTER SET UTF8MB4 in order to be unambiguous.",
        );
    } else if !spec.ty.made {
        context.warn_of_old_unicode(spec.ty.charset.as_deref(), spec.ty.collation.as_deref());
    }
    if let ColumnType::Geometry { srid: Some(srid), .. } = ty {
        geometry::check_system(srid)?;
    }
    if let Some(error) = repeated_member(&spec.name, &ty) {
        if context.eval.mode.is_strict() {
            return Err(error);
        }
        context.note(error.code, error.message);
    }
    let auto_increment = spec.auto_increment || serial;
    let nullable = spec.nullable.unwrap_or(true) && !spec.primary_key && !auto_increment;
    if auto_increment {
        if !matches!(ty, ColumnType::Int { .. } | ColumnType::Float { .. } | ColumnType::Double { .. }) {
            return Err(Error::wrong_column_specifier(&spec.name));
        }
        // NULL asks for the next value, and is no contradiction of NOT NULL.
        if spec.default.as_ref().is_some_and(|default| !is_null(default)) {
            return Err(Error::invalid_default(&spec.name));
        }
        if !matches!(ty, ColumnType::Int { .. }) {
            return Err(Error::unsupported("AUTO_INCREMENT of floating-point columns"));
        }
    }
    let is_written = spec.ty.collation.is_some() || spec.ty.charset.is_some() && !spec.ty.made;
    let explicit = is_written && crate::describe::declared_collation(&ty).is_some();
    let comment = spec.comment.clone().unwrap_or_default();
    let comment = comment_of(context, comment, COMMENT_CHARS_MAX, || {
        let message = format!("Comment for field '{}' is too long (max = {COMMENT_CHARS_MAX})", spec.name);
        Error::new(1629, b"HY000", message)
    })?;
    let on_update_now = match spec.on_update_now {
        None => false,
        Some(fsp) if fraction_of_clock(&ty) == Some(fsp) => true,
        Some(_) => {
            return Err(Error::new(1294, b"HY000", format!("Invalid ON UPDATE clause for '{}' column", spec.name)));
        }
    };
    let default = match spec.generated {
        Some(_) => ColumnDefault::None,
        None if auto_increment => default(context, &spec.name, None, &ty, nullable)?,
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

/// The type that takes what is too long for a column of a row's own.
fn longer(spec: &TypeSpec) -> Option<TypeSpec> {
    let name = match spec.name.as_str() {
        "VARCHAR" => "TEXT",
        "VARBINARY" => "BLOB",
        _ => return None,
    };
    Some(TypeSpec { name: name.into(), ..spec.clone() })
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

fn is_null(default: &DefaultSpec) -> bool {
    matches!(default, DefaultSpec::Literal(Expr::Literal(Literal::Null)))
}

/// A comment of at most so many characters; outside of the strict modes a longer one is cut, with a warning.
pub fn comment_of(
    context: &Context<'_>,
    comment: String,
    chars_max: usize,
    too_long: impl FnOnce() -> Error,
) -> Result<String> {
    let Some((cut, _)) = comment.char_indices().nth(chars_max) else { return Ok(comment) };
    let error = too_long();
    if context.eval.mode.is_strict() {
        return Err(error);
    }
    context.warn(error.code, error.message);
    Ok(comment[..cut].to_string())
}

/// What a column holds when nobody says.
pub fn default(
    context: &Context<'_>,
    name: &str,
    spec: Option<&DefaultSpec>,
    ty: &ColumnType,
    nullable: bool,
) -> Result<ColumnDefault> {
    let is_lob = matches!(
        ty,
        ColumnType::Text { .. } | ColumnType::Blob { .. } | ColumnType::Json | ColumnType::Geometry { .. }
    );
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
            binder.utf8mb4 = context.eval.utf8mb4;
            let bound = binder.bind(expr)?;
            let value = bound.eval(context.eval, &NoFields)?;
            if value.is_null() {
                return if nullable { Ok(ColumnDefault::Null) } else { Err(Error::invalid_default(name)) };
            }
            if is_lob {
                let error = Error::blob_with_default(name);
                // Outside of the strict modes an empty text is taken, and forgotten.
                let is_empty = matches!(&value, Datum::Bytes(text) if text.is_empty());
                if context.eval.mode.is_strict() || !is_empty {
                    return Err(error);
                }
                context.warn(error.code, error.message);
                return if nullable { Ok(ColumnDefault::Null) } else { Ok(ColumnDefault::None) };
            }
            if let ColumnType::Enum { members, .. } | ColumnType::Set { members, .. } = ty {
                check_member(members, &value, &bound.ty).map_err(|()| Error::invalid_default(name))?;
            }
            let target = Target { name, ty, nullable };
            // A default that would be cut to fit is refused in every mode: nobody wants rows that differ from it.
            let mut strict = *context.eval;
            strict.strict_change = true;
            // But a zero date is one that only the strict modes refuse.
            if !strict.mode.is_strict() {
                strict.mode = strict.mode.without(SqlMode::NO_ZERO_DATE).without(SqlMode::NO_ZERO_IN_DATE);
            }
            let stored = assign(value, &bound.ty, &target, AssignMode::Strict, 1, &strict)
                .and_then(|value| stored(&value, ty))
                .map_err(|_| Error::invalid_default(name))?;
            Ok(ColumnDefault::Literal(stored))
        }
    }
}

/// A number, be it a text or none, says a member only if that is its name, too.
fn check_member(members: &[Box<str>], value: &Datum<'_>, ty: &TypeInfo) -> std::result::Result<(), ()> {
    let text = value.clone().into_text(ty);
    let text = String::from_utf8_lossy(&text);
    let is_number = text.trim().parse::<f64>().is_ok();
    if is_number && !members.iter().any(|member| **member == *text) { Err(()) } else { Ok(()) }
}

/// The default of a column whose texts get another character set.
pub fn convert_default(context: &Context<'_>, column: &mut Column, to: &ColumnType) -> Result<()> {
    let (ColumnType::Char { .. } | ColumnType::VarChar { .. }, ColumnDefault::Literal(default)) =
        (&column.ty, &column.default)
    else {
        return Ok(());
    };
    let value = column.ty.decode(default);
    let target = Target { name: &column.name, ty: to, nullable: true };
    let mut strict = *context.eval;
    strict.strict_change = true;
    let converted =
        assign(Datum::from(&value), &TypeInfo::of_column(&column.ty, true), &target, AssignMode::Strict, 1, &strict)
            .and_then(|value| stored(&value, to))
            .map_err(|_| Error::invalid_default(&column.name))?;
    column.default = ColumnDefault::Literal(converted);
    Ok(())
}

fn stored(value: &Datum<'_>, ty: &ColumnType) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    encode(value.clone(), ty, &mut out)?;
    Ok(out)
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
