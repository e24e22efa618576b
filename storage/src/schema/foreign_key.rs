//! Foreign keys: what a table requires of the rows of another one.
//!
//! ```text
//!   child (pid, ...)  FOREIGN KEY (pid) REFERENCES parent (id)         every pid is some parent's id, or NULL
//! ```
//!
//! A foreign key belongs to its child and stores names only: its columns, its parent, the parent's columns. So a child
//! can exist before its parent does, columns can move, and a table that is dropped and created again is the parent
//! again. A change of a description finds out which indexes and columns the names mean at present (see
//! `dictionary::links`).
//!
//! Both sides need an index that begins with the columns, whole and in the order of the foreign key: the child's finds
//! the rows that refer to a parent, the parent's tells whether there is one.

use format::value::ColumnType;

use super::{Column, IndexDefinition, IndexPart, same_name};

/// What happens to the rows that refer to one that is deleted or changes its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum ReferentialAction {
    /// The change is refused; not written, or written like this. Checked row by row, as RESTRICT is.
    #[default]
    NoAction,
    /// The change is refused.
    Restrict,
    /// They are deleted or changed, too.
    Cascade,
    /// Their columns become NULL.
    SetNull,
}

impl ReferentialAction {
    pub fn name(self) -> &'static str {
        match self {
            ReferentialAction::NoAction => "NO ACTION",
            ReferentialAction::Restrict => "RESTRICT",
            ReferentialAction::Cascade => "CASCADE",
            ReferentialAction::SetNull => "SET NULL",
        }
    }

    /// Whether child rows are changed.
    pub fn changes_children(self) -> bool {
        matches!(self, ReferentialAction::Cascade | ReferentialAction::SetNull)
    }
}

/// A foreign key of a child table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForeignKey {
    /// Unique within the database, in any case.
    pub name: Box<str>,
    /// Columns of the child.
    pub columns: Vec<Box<str>>,
    pub parent_database: Box<str>,
    pub parent: Box<str>,
    /// As many columns of the parent.
    pub parent_columns: Vec<Box<str>>,
    pub on_delete: ReferentialAction,
    pub on_update: ReferentialAction,
}

impl ForeignKey {
    /// As SHOW CREATE TABLE and messages write it; the parent's database only if it is not the child's.
    pub fn text(&self, database: &str) -> String {
        let list = |names: &[Box<str>]| names.iter().map(|name| quoted(name)).collect::<Vec<_>>().join(", ");
        let parent = match *self.parent_database == *database {
            true => quoted(&self.parent),
            false => format!("{}.{}", quoted(&self.parent_database), quoted(&self.parent)),
        };
        let mut text = format!(
            "CONSTRAINT {} FOREIGN KEY ({}) REFERENCES {parent} ({})",
            quoted(&self.name),
            list(&self.columns),
            list(&self.parent_columns)
        );
        for (event, action) in [("DELETE", self.on_delete), ("UPDATE", self.on_update)] {
            if action != ReferentialAction::NoAction {
                text += &format!(" ON {event} {}", action.name());
            }
        }
        text
    }

    pub fn refers_to(&self, database: &str, table: &str) -> bool {
        *self.parent_database == *database && *self.parent == *table
    }

    /// Whether a change of the parent's rows changes the child's.
    pub fn changes_children(&self) -> bool {
        self.on_delete.changes_children() || self.on_update.changes_children()
    }

    /// The number in a name that was generated for a table of this name: `t_ibfk_3`.
    pub fn generated_number(&self, table: &str) -> Option<u32> {
        let number = self.name.strip_prefix(table)?.strip_prefix("_ibfk_")?;
        number.parse().ok().filter(|_| !number.starts_with('0') && !number.starts_with('+'))
    }
}

fn quoted(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

/// The ordinals of columns by their names, or the name that does not exist.
pub fn ordinals<'n>(columns: &[Column], names: &'n [Box<str>]) -> Result<Vec<usize>, &'n str> {
    let find = |name: &'n str| columns.iter().position(|column| same_name(&column.name, name)).ok_or(name);
    names.iter().map(|name| find(name)).collect()
}

/// Whether an index of these parts begins with these columns, whole and in order.
pub fn begins_with(parts: &[IndexPart], columns: &[usize]) -> bool {
    parts.len() >= columns.len()
        && parts.iter().zip(columns).all(|(part, column)| part.column == *column && part.prefix_chars.is_none())
}

/// Whether a definition has an index that serves a foreign key on these columns.
pub fn is_served(indexes: &[IndexDefinition], columns: &[usize]) -> bool {
    indexes.iter().any(|index| !index.has_several_entries() && begins_with(&index.parts, columns))
}

/// Whether stored values of the two types can be compared as they are: numbers need the same width and sign, texts the
/// same collation, in whatever length. Long texts and blobs have no index on their whole values.
pub fn comparable(child: &ColumnType, parent: &ColumnType) -> bool {
    use ColumnType::{Binary, Blob, Char, Double, Enum, Float, Geometry, Json, Set, Text, VarBinary, VarChar};
    match (child, parent) {
        (Text { .. } | Blob { .. } | Json | Geometry { .. }, _) => false,
        (Char { collation: left, .. } | VarChar { collation: left, .. }, Char { collation: right, .. })
        | (Char { collation: left, .. } | VarChar { collation: left, .. }, VarChar { collation: right, .. }) => {
            left == right
        }
        (VarBinary { .. }, VarBinary { .. }) => true,
        (Binary { bytes: left }, Binary { bytes: right }) => left == right,
        (Float { .. }, Float { .. }) | (Double { .. }, Double { .. }) => true,
        (Enum { members: left, .. }, Enum { members: right, .. }) => (left.len() > 255) == (right.len() > 255),
        (Set { members: left, .. }, Set { members: right, .. }) => left.len().div_ceil(8) == right.len().div_ceil(8),
        (left, right) => left == right,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_foreign_key_is_written_as_it_is_read() {
        let mut key = ForeignKey {
            name: "t_ibfk_12".into(),
            columns: vec!["a".into(), "b`c".into()],
            parent_database: "d".into(),
            parent: "p".into(),
            parent_columns: vec!["x".into(), "y".into()],
            on_delete: ReferentialAction::SetNull,
            on_update: ReferentialAction::NoAction,
        };
        let text = "CONSTRAINT `t_ibfk_12` FOREIGN KEY (`a`, `b``c`) REFERENCES `p` (`x`, `y`) ON DELETE SET NULL";
        assert_eq!(key.text("d"), text);
        key.on_update = ReferentialAction::Cascade;
        assert!(key.text("e").ends_with("REFERENCES `d`.`p` (`x`, `y`) ON DELETE SET NULL ON UPDATE CASCADE"));
        assert_eq!((key.generated_number("t"), key.generated_number("u")), (Some(12), None));
    }

    #[test]
    fn numbers_need_one_width_and_texts_one_collation() {
        let int = |bytes, unsigned| ColumnType::Int { bytes, unsigned };
        assert!(comparable(&int(4, false), &int(4, false)));
        assert!(!comparable(&int(4, false), &int(8, false)));
        assert!(!comparable(&int(4, false), &int(4, true)));
        let text = |chars, id| ColumnType::VarChar { chars, collation: format::collation::CollationId(id) };
        assert!(comparable(&text(10, 45), &text(20, 45)));
        assert!(!comparable(&text(10, 45), &text(10, 46)));
    }
}
