//! What the tests of the engine's public face share: describing tables.

use format::value::ColumnType;
use storage::{Column, ColumnDefault, IndexDefinition, IndexPart};

pub fn column(name: &str, ty: ColumnType, nullable: bool) -> Column {
    Column {
        name: name.into(),
        ty,
        nullable,
        default: ColumnDefault::None,
        on_update_now: false,
        auto_increment: false,
        comment: "".into(),
        invisible: false,
    }
}

/// An index on whole columns, by their ordinals.
pub fn index(name: &str, unique: bool, columns: &[usize]) -> IndexDefinition {
    let part = |column: &usize| IndexPart { column: *column, prefix_chars: None, descending: false };
    IndexDefinition {
        name: name.into(),
        unique,
        primary: name == "PRIMARY",
        parts: columns.iter().map(part).collect(),
        ..IndexDefinition::default()
    }
}
