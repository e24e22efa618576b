//! What the client is told about a result column, from its static type.
//!
//! Strings are sent in `character_set_results`, so that is the collation which their
//! definition names, and their length counts bytes of that character set. If it is
//! NULL they are sent as they are.

use format::collation::{CollationId, collation};
use format::packet::{ColumnDefinition, ColumnKind, column_flags};
use storage::{ColumnDefault, Table};

use super::OutputColumn;
use crate::types::{Kind, TypeInfo};

/// The definition of an output column.
pub fn definition(column: &OutputColumn, results: Option<CollationId>) -> ColumnDefinition {
    let mut definition = of_type(&column.name, &column.ty, results);
    if let Some(origin) = &column.origin {
        definition.schema = origin.database.clone();
        definition.table = origin.alias.clone();
        definition.org_table = origin.table.clone();
        definition.org_name = origin.column.clone();
        definition.flags |= origin.flags;
        // A JSON column says that it is binary, as in MySQL; what functions make of it is text.
        if column.ty.kind == Kind::Json {
            definition.collation = CollationId::BINARY.0;
        }
        // Connector/J takes a BIT(1) with this flag for bytes.
        if is_numeric(column.ty.kind) {
            definition.flags &= !column_flags::BINARY;
        }
        // Drivers take a column of this length for a truth value.
        if origin.boolean {
            definition.length = 1;
        }
    }
    definition
}

/// Whether columns of the kind hold numbers or bits: MySQL calls these BINARY only where an expression makes them.
fn is_numeric(kind: Kind) -> bool {
    use Kind::*;
    matches!(kind, TinyInt | SmallInt | MediumInt | Int | BigInt | Year | Bit | Float | Double | Decimal)
}

/// The definition of a column with a name and a type.
pub fn of_type(name: &str, ty: &TypeInfo, results: Option<CollationId>) -> ColumnDefinition {
    let kind = kind_of(ty);
    let mut definition = ColumnDefinition::new(name, kind);
    definition.length = ty.length;
    definition.decimals = ty.decimals;
    if !ty.nullable {
        definition.flags |= column_flags::NOT_NULL;
    }
    if ty.unsigned {
        definition.flags |= column_flags::UNSIGNED;
    }
    if ty.zerofill {
        definition.flags |= column_flags::ZEROFILL;
    }
    if ty.is_string() && ty.kind != Kind::Json {
        if ty.is_binary() {
            definition.flags |= column_flags::BINARY;
        } else {
            let sent = results.unwrap_or(ty.collation);
            let (own, sent) = (collation(ty.collation), collation(sent));
            definition.collation = sent.id.0;
            // A TEXT column's length counts bytes: what is converted may grow, as if each of them were a character.
            let bytes = match (ty.kind, results) {
                (Kind::Text, None) => ty.length as u64,
                _ => ty.length as u64 * sent.charset.bytes_max() as u64,
            };
            definition.length = bytes.min(u32::MAX as u64) as u32;
            if own.name.ends_with("_bin") {
                definition.flags |= column_flags::BINARY;
            }
        }
        definition.decimals = if matches!(ty.kind, Kind::VarChar | Kind::Parameter) { ty.decimals } else { 0 };
        if ty.kind == Kind::Text || ty.is_geometry() {
            definition.flags |= column_flags::BLOB;
        }
        if ty.kind == Kind::Enum {
            definition.flags |= column_flags::ENUM;
        }
        if ty.kind == Kind::Set {
            definition.flags |= column_flags::SET;
        }
    } else if ty.kind == Kind::Json {
        definition.collation = CollationId::UTF8MB4_BIN.0;
        definition.flags |= column_flags::BLOB | column_flags::BINARY;
    } else {
        definition.flags |= column_flags::BINARY;
    }
    definition
}

fn kind_of(ty: &TypeInfo) -> ColumnKind {
    match ty.kind {
        Kind::Null => ColumnKind::Null,
        Kind::TinyInt => ColumnKind::Tiny,
        Kind::SmallInt => ColumnKind::Short,
        Kind::MediumInt => ColumnKind::Int24,
        Kind::Int => ColumnKind::Long,
        Kind::BigInt => ColumnKind::LongLong,
        Kind::Year => ColumnKind::Year,
        Kind::Bit => ColumnKind::Bit,
        Kind::Float => ColumnKind::Float,
        Kind::Double => ColumnKind::Double,
        Kind::Decimal => ColumnKind::NewDecimal,
        Kind::Date => ColumnKind::Date,
        Kind::Time => ColumnKind::Time,
        Kind::DateTime => ColumnKind::DateTime,
        Kind::Timestamp => ColumnKind::Timestamp,
        Kind::Char | Kind::Enum | Kind::Set => ColumnKind::String,
        Kind::VarChar | Kind::Parameter => ColumnKind::VarString,
        Kind::Text => ColumnKind::Blob,
        Kind::Json => ColumnKind::Json,
        Kind::Geometry(_) => ColumnKind::Geometry,
    }
}

/// The flags of a table's column that its type does not tell: its keys and its default.
pub fn column_flags_of(table: &Table, column: usize) -> u16 {
    let described = &table.columns[column];
    let mut flags = 0;
    if described.auto_increment {
        flags |= column_flags::AUTO_INCREMENT;
    }
    if described.on_update_now {
        flags |= column_flags::ON_UPDATE_NOW | column_flags::TIMESTAMP;
    }
    if !described.nullable && described.default == ColumnDefault::None && !described.auto_increment {
        flags |= column_flags::NO_DEFAULT_VALUE;
    }
    for index in table.indexes.iter().filter(|index| !index.is_hidden()) {
        let Some(at) = index.parts.iter().position(|part| part.column == column) else { continue };
        flags |= column_flags::PART_KEY;
        if index.primary {
            flags |= column_flags::PRIMARY_KEY;
        } else if at == 0 {
            let alone = index.unique && index.parts.len() == 1;
            flags |= if alone { column_flags::UNIQUE_KEY } else { column_flags::MULTIPLE_KEY };
        }
    }
    flags
}
