//! Errors of foreign keys: rows at odds with one, and descriptions that cannot go together.

use storage::{ForeignKeyRefusal, ForeignKeySide, ForeignKeyViolation};

use super::Error;

impl Error {
    pub fn foreign_key(violation: &ForeignKeyViolation) -> Error {
        let constraint = &violation.constraint;
        let (code, doing) = match violation.side {
            ForeignKeySide::Child => (1452, "Cannot add or update a child row"),
            ForeignKeySide::Parent => (1451, "Cannot delete or update a parent row"),
        };
        Error::new(code, b"23000", format!("{doing}: a foreign key constraint fails ({constraint})"))
    }

    pub fn cascade_too_deep(depth_max: usize) -> Error {
        let text = format!("Foreign key cascade delete/update exceeds max depth of {depth_max}.");
        Error::new(3008, b"HY000", text)
    }

    pub fn foreign_duplicate(parent: &str, row: &str, child: &str, index: &str) -> Error {
        let text = format!(
            "Foreign key constraint for table '{parent}', record '{row}' would lead to a duplicate entry in table '{child}', \
             key '{index}'"
        );
        Error::new(1761, b"23000", text)
    }

    pub fn cannot_add_foreign_key() -> Error {
        Error::new(1215, b"HY000", "Cannot add foreign key constraint")
    }

    pub fn wrong_foreign_key(name: &str) -> Error {
        let text =
            format!("Incorrect foreign key definition for '{name}': Key reference and table reference don't match");
        Error::new(1239, b"42000", text)
    }

    pub fn foreign_key_of_virtual_column(key: &str, column: &str) -> Error {
        let text = format!("Foreign key '{key}' uses virtual column '{column}' which is not supported.");
        Error::new(3733, b"HY000", text)
    }

    pub fn foreign_key_refused(refusal: &ForeignKeyRefusal) -> Error {
        use ForeignKeyRefusal as Refusal;
        let (code, text) = match refusal {
            Refusal::DuplicateName { constraint } => {
                (1826, format!("Duplicate foreign key constraint name '{constraint}'"))
            }
            Refusal::DuplicateCheckName { constraint } => return Error::duplicate_check_name(constraint),
            Refusal::Partitioned => return Error::not_with_partitioning("FOREIGN KEY"),
            Refusal::NoParentTable { parent } => (1824, format!("Failed to open the referenced table '{parent}'")),
            Refusal::NoParentColumn { column, constraint, parent } => (
                3734,
                format!(
                    "Failed to add the foreign key constraint. Missing column '{column}' for constraint '{constraint}' in \
                     the referenced table '{parent}'"
                ),
            ),
            Refusal::NoParentIndex { constraint, parent } => (
                1822,
                format!(
                    "Failed to add the foreign key constraint. Missing index for constraint '{constraint}' in the \
                     referenced table '{parent}'"
                ),
            ),
            Refusal::NotComparable { column, parent_column, constraint } => (
                3780,
                format!(
                    "Referencing column '{column}' and referenced column '{parent_column}' in foreign key constraint \
                     '{constraint}' are incompatible."
                ),
            ),
            Refusal::NoChildIndex { constraint } => (
                1821,
                format!(
                    "Failed to add the foreign key constaint. Missing index for constraint '{constraint}' in the foreign \
                     table"
                ),
            ),
            Refusal::NotNull { column, constraint } => (
                1830,
                format!(
                    "Column '{column}' cannot be NOT NULL: needed in a foreign key constraint '{constraint}' SET NULL"
                ),
            ),
            Refusal::DropColumn { column, constraint, of: None } => {
                (1828, format!("Cannot drop column '{column}': needed in a foreign key constraint '{constraint}'"))
            }
            Refusal::DropColumn { column, constraint, of: Some(of) } => (
                1829,
                format!(
                    "Cannot drop column '{column}': needed in a foreign key constraint '{constraint}' of table '{of}'"
                ),
            ),
            Refusal::ChangeColumn { column, constraint, of: None } => {
                (1832, format!("Cannot change column '{column}': used in a foreign key constraint '{constraint}'"))
            }
            Refusal::ChangeColumn { column, constraint, of: Some(of) } => (
                1833,
                format!(
                    "Cannot change column '{column}': used in a foreign key constraint '{constraint}' of table '{of}'"
                ),
            ),
            Refusal::DropIndex { index } => {
                (1553, format!("Cannot drop index '{index}': needed in a foreign key constraint"))
            }
            Refusal::DropTable { table, constraint, child } => (
                3730,
                format!(
                    "Cannot drop table '{table}' referenced by a foreign key constraint '{constraint}' on table '{child}'."
                ),
            ),
            Refusal::Truncate { constraint } => {
                let text = format!("Cannot truncate a table referenced in a foreign key constraint ({constraint})");
                return Error::new(1701, b"42000", text);
            }
        };
        Error::new(code, b"HY000", text)
    }
}
