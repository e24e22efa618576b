//! Indexes: names, parts and lengths as MySQL allows them.

use format::collation::collation;
use format::record::Length;
use format::value::{ColumnType, GeometryType};
use storage::Table;
use storage::schema::foreign_key::begins_with;
use storage::schema::{Column, ColumnDefault, IndexDefinition, IndexPart, PartOrder, same_name};

use super::column::comment_of;
use super::copy::Source;
use super::{Context, check_name, check_not_reserved, computed, fulltext};
use crate::error::{Error, Result};
use crate::parser::ast::{IndexKind, IndexSpec};

const PARTS_MAX: usize = 16;

/// A POINT as it is stored.
const POINT_BYTES: u32 = 25;

/// The index that a specification asks for, on these columns and beside these indexes.
///
/// A primary key makes its columns NOT NULL, which is why they are changed here.
pub fn index(
    context: &Context<'_>,
    spec: &IndexSpec,
    columns: &mut [Column],
    others: &[IndexDefinition],
) -> Result<IndexDefinition> {
    let primary = spec.kind == IndexKind::Primary;
    if primary && others.iter().any(|other| other.primary) {
        return Err(Error::multiple_primary_key());
    }
    if primary && spec.invisible {
        return Err(invisible_primary_key());
    }
    if spec.parts.len() > PARTS_MAX {
        return Err(Error::too_many_key_parts(PARTS_MAX));
    }
    let is_fulltext = spec.kind == IndexKind::FullText;
    let mut parts: Vec<IndexPart> = if is_fulltext { fulltext::parts(spec, columns)? } else { Vec::new() };
    for part in spec.parts.iter().filter(|_| !is_fulltext) {
        let ordinal = columns
            .iter()
            .position(|column| same_name(&column.name, &part.column))
            .ok_or_else(|| Error::key_column_missing(&part.column))?;
        if parts.iter().any(|known| known.column == ordinal) {
            return Err(Error::duplicate_column_name(&part.column));
        }
        let column = &columns[ordinal];
        let prefix_chars = if part.elements.is_some() { None } else { prefix(column, part.prefix)? };
        if primary && column.generated.as_ref().is_some_and(|generated| !generated.stored) {
            return Err(computed::virtual_primary_key());
        }
        if primary && column.nullable {
            // Written as NULL it would be a contradiction; unsaid, it becomes NOT NULL.
            make_not_null(&mut columns[ordinal]);
        }
        let elements = part.elements.clone();
        parts.push(IndexPart { column: ordinal, prefix_chars, order: PartOrder::of(part.descending), elements });
    }
    if !is_fulltext {
        check_length(context, columns, &parts)?;
    }
    let name = if primary { "PRIMARY".to_string() } else { name(spec, columns, &parts, others)? };
    let comment = comment_of(context, spec.comment.clone().unwrap_or_default(), 1024, || {
        Error::new(1688, b"HY000", format!("Comment for index '{name}' is too long (max = 1024)"))
    })?;
    let algorithm = spec.algorithm.as_deref().map(str::to_ascii_uppercase);
    if algorithm.as_deref() == Some("HASH") {
        context.note(
            3502,
            "This storage engine does not support the HASH index algorithm, storage engine default was used instead.",
        );
    }
    Ok(IndexDefinition {
        name: name.into(),
        unique: primary || spec.kind == IndexKind::Unique,
        primary,
        parts,
        comment: comment.into(),
        algorithm: algorithm.filter(|word| word == "BTREE").map(Into::into),
        invisible: spec.invisible,
        generated: false,
        fulltext: if is_fulltext { Some(fulltext::tokenizer(context, spec)?) } else { None },
    })
}

/// A warning if another index has the same parts and is of the same kind: it costs space and time and serves nothing. Beside
/// the primary key MySQL and MariaDB let a unique one pass.
pub fn warn_of_duplicate(
    context: &Context<'_>,
    table: (&str, &str),
    made: &IndexDefinition,
    others: &[IndexDefinition],
) {
    let same = |other: &IndexDefinition| {
        !other.generated
            && !other.primary
            && other.algorithm == made.algorithm
            && other.unique == made.unique
            && other.fulltext.is_some() == made.fulltext.is_some()
            && other.parts == made.parts
    };
    if !made.primary && others.iter().any(same) {
        let (database, table) = table;
        let name = &made.name;
        context.warn(
            1831,
            format!(
                "Duplicate index '{name}' defined on the table '{database}.{table}'. This is deprecated and will be \
                 disallowed in a future release."
            ),
        );
    }
}

/// A column of the primary key.
pub fn make_not_null(column: &mut Column) {
    column.nullable = false;
    if column.default == ColumnDefault::Null {
        column.default = ColumnDefault::None;
    }
}

/// Columns have other types now: what their indexes hold of them, and whether it still fits.
pub fn settle_again(
    context: &Context<'_>,
    table: &Table,
    sources: &[Source],
    columns: &[Column],
    indexes: &mut [IndexDefinition],
) -> Result<()> {
    let before = |ordinal: usize| match sources.get(ordinal) {
        Some(Source::Old(old)) => Some(&table.columns[*old].ty),
        _ => None,
    };
    for index in indexes.iter_mut().filter(|index| index.fulltext.is_none()) {
        let is_changed = |part: &IndexPart| before(part.column).is_none_or(|ty| *ty != columns[part.column].ty);
        let shown = |part: &IndexPart| part.elements.is_none() && !columns[part.column].is_hidden();
        if !index.parts.iter().any(|part| is_changed(part) && shown(part)) {
            continue;
        }
        for part in index.parts.iter_mut().filter(|part| shown(part)) {
            if before(part.column).is_some_and(|ty| *ty == columns[part.column].ty) {
                continue;
            }
            // A prefix stays where both types have prefixes and the new one is longer than that.
            let column = &columns[part.column];
            let had_prefixes = before(part.column).is_none_or(has_prefixes);
            let kept = part.prefix_chars.filter(|chars| {
                had_prefixes && has_prefixes(&column.ty) && chars_max(&column.ty).is_none_or(|max| *chars <= max)
            });
            part.prefix_chars = prefix(column, kept)?;
        }
        check_length(context, columns, &index.parts)?;
    }
    Ok(())
}

/// Whether an index may hold the first characters alone.
fn has_prefixes(ty: &ColumnType) -> bool {
    chars_max(ty).is_some()
        || matches!(ty, ColumnType::Text { .. } | ColumnType::Blob { .. } | ColumnType::Geometry { .. })
}

/// The length of a string type that has one of its own.
fn chars_max(ty: &ColumnType) -> Option<u32> {
    match ty {
        ColumnType::Char { chars, .. } | ColumnType::VarChar { chars, .. } => Some(*chars),
        ColumnType::Binary { bytes } | ColumnType::VarBinary { bytes } => Some(*bytes),
        _ => None,
    }
}

fn prefix(column: &Column, written: Option<u32>) -> Result<Option<u32>> {
    let chars_max = match &column.ty {
        ty if chars_max(ty).is_some() => chars_max(ty),
        // The bytes of a POINT all have one length.
        ColumnType::Geometry { kind: GeometryType::Point, .. } if written.is_none() => return Ok(Some(POINT_BYTES)),
        ColumnType::Text { .. } | ColumnType::Blob { .. } | ColumnType::Geometry { .. } => {
            return match written {
                Some(0) => Err(Error::new(1391, b"HY000", format!("Key part '{}' length cannot be 0", column.name))),
                Some(chars) => Ok(Some(chars)),
                None => Err(Error::blob_key_without_length(&column.name)),
            };
        }
        ColumnType::Json => {
            let message = format!(
                "JSON column '{}' supports indexing only via generated columns on a specified JSON path.",
                column.name
            );
            return Err(Error::new(3152, b"42000", message));
        }
        _ => None,
    };
    match (written, chars_max) {
        (None, Some(0)) => {
            let message = format!("The used storage engine can't index column '{}'", column.name);
            Err(Error::new(1167, b"42000", message))
        }
        (None, _) => Ok(None),
        (Some(0), _) => Err(Error::new(1391, b"HY000", format!("Key part '{}' length cannot be 0", column.name))),
        (Some(_), None) => Err(Error::wrong_prefix_key()),
        (Some(chars), Some(max)) if chars > max => Err(Error::wrong_prefix_key()),
        (Some(chars), Some(max)) if chars == max => Ok(None),
        (Some(chars), Some(_)) => Ok(Some(chars)),
    }
}

/// A key may take 3072 bytes on pages of 16 KiB, less on smaller ones.
fn check_length(context: &Context<'_>, columns: &[Column], parts: &[IndexPart]) -> Result<()> {
    let bytes_max: u64 = match context.instance.engine.config().page_bytes {
        4096 => 768,
        8192 => 1536,
        _ => 3072,
    };
    let bytes: u64 = parts
        .iter()
        .map(|part| {
            let width = |chars: u32, id| u64::from(chars) * u64::from(collation(id).charset.bytes_max());
            match (part.elements.as_ref().unwrap_or(&columns[part.column].ty), part.prefix_chars) {
                (ColumnType::Char { collation, .. } | ColumnType::VarChar { collation, .. }, Some(chars)) => {
                    width(chars, *collation)
                }
                (ColumnType::Text { collation, .. }, Some(chars)) => width(chars, *collation),
                (ColumnType::Char { chars, collation } | ColumnType::VarChar { chars, collation }, None) => {
                    width(*chars, *collation)
                }
                (ColumnType::Binary { bytes } | ColumnType::VarBinary { bytes }, None) => u64::from(*bytes),
                (_, Some(bytes)) => u64::from(bytes),
                (ty, None) => match ty.layout(false).length {
                    Length::Fixed(bytes) => u64::from(bytes),
                    Length::Variable { .. } => 8,
                },
            }
        })
        .sum();
    if bytes > bytes_max { Err(Error::key_too_long(bytes_max as usize)) } else { Ok(()) }
}

/// The name given, or the first column's with a number behind it if that is taken.
fn name(spec: &IndexSpec, columns: &[Column], parts: &[IndexPart], others: &[IndexDefinition]) -> Result<String> {
    let taken = |name: &str| others.iter().any(|other| same_name(&other.name, name));
    if let Some(name) = &spec.name {
        check_name(name, Error::wrong_index_name)?;
        check_not_reserved(name, Error::wrong_index_name)?;
        if name.eq_ignore_ascii_case("PRIMARY") {
            return Err(Error::wrong_index_name(name));
        }
        return if taken(name) { Err(Error::duplicate_key_name(name)) } else { Ok(name.clone()) };
    }
    let first = &columns[parts[0].column].name;
    let candidates = std::iter::once(first.to_string()).chain((2..100).map(|number| format!("{first}_{number}")));
    let free = candidates.into_iter().find(|name| !taken(name) && !name.eq_ignore_ascii_case("PRIMARY"));
    free.ok_or_else(|| Error::duplicate_key_name(first))
}

/// Whether one index does the work of another that was made for a foreign key: it begins with the same ascending columns.
pub fn serves(index: &IndexDefinition, generated: &IndexDefinition) -> bool {
    let columns: Vec<usize> = generated.parts.iter().map(|part| part.column).collect();
    !index.has_several_entries()
        && begins_with(&index.parts, &columns)
        && index.parts[..columns.len()].iter().all(|part| !part.order.is_declared_descending())
}

/// An index that was made for a foreign key is dropped when a statement adds one that can replace it, as in MySQL.
pub fn drop_superseded(indexes: &mut Vec<IndexDefinition>) {
    let asked: Vec<IndexDefinition> = indexes.iter().filter(|index| !index.generated).cloned().collect();
    indexes.retain(|index| !index.generated || !asked.iter().any(|other| serves(other, index)));
}

/// There is at most one AUTO_INCREMENT column, and some index leads with it.
pub fn check_auto_increment(columns: &[Column], indexes: &[IndexDefinition]) -> Result<()> {
    let mut automatic = columns.iter().enumerate().filter(|(_, column)| column.auto_increment);
    let Some((ordinal, _)) = automatic.next() else { return Ok(()) };
    let leads = indexes
        .iter()
        .any(|index| !index.has_several_entries() && index.parts.first().is_some_and(|part| part.column == ordinal));
    if automatic.next().is_some() || !leads { Err(Error::wrong_auto_key()) } else { Ok(()) }
}

/// Without a primary key the first unique index whose columns are NOT NULL stands for it, and has to be visible, too.
pub fn check_visible(columns: &[Column], indexes: &[IndexDefinition]) -> Result<()> {
    if indexes.iter().any(|index| index.primary) {
        return Ok(());
    }
    let is_whole = |part: &IndexPart| {
        let column = &columns[part.column];
        !column.nullable && !column.is_hidden() && part.prefix_chars.is_none() && part.elements.is_none()
    };
    match indexes.iter().find(|index| index.unique && index.parts.iter().all(is_whole)) {
        Some(index) if index.invisible => Err(invisible_primary_key()),
        _ => Ok(()),
    }
}

pub fn invisible_primary_key() -> Error {
    Error::new(3522, b"HY000", "A primary key index cannot be invisible")
}

/// An index of the kind that is made for foreign keys.
pub fn is_plain(index: &IndexDefinition) -> bool {
    !index.primary && !index.unique && index.fulltext.is_none()
}

/// MySQL keeps the primary key first, then unique keys (those that can have no NULL before the others, and of these those
/// of whole columns), then the rest; full-text ones stand last.
pub fn in_order(mut indexes: Vec<IndexDefinition>, columns: &[Column]) -> Vec<IndexDefinition> {
    indexes.sort_by_key(|index| match (index.primary, index.unique, index.fulltext.is_some()) {
        (true, ..) => (0, false, false),
        (false, true, _) => {
            let nulls = index.parts.iter().any(|part| columns[part.column].nullable);
            (1, nulls, index.parts.iter().any(|part| part.prefix_chars.is_some()))
        }
        (false, false, false) => (2, false, false),
        (false, false, true) => (3, false, false),
    });
    indexes
}
