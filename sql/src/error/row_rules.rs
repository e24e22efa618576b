//! CHECK constraints, generated columns and defaults that are expressions.

use super::Error;

impl Error {
    pub fn check_violated(name: &str) -> Error {
        Error::new(3819, b"HY000", format!("Check constraint '{name}' is violated."))
    }

    pub fn check_not_boolean(name: &str) -> Error {
        let text = format!("An expression of non-boolean type specified to a check constraint '{name}'.");
        Error::new(3812, b"HY000", text)
    }

    pub fn check_of_other_column(name: &str) -> Error {
        Error::new(3813, b"HY000", format!("Column check constraint '{name}' references other column."))
    }

    pub fn check_not_found(name: &str) -> Error {
        Error::new(3821, b"HY000", format!("Check constraint '{name}' is not found in the table."))
    }

    pub fn duplicate_check_name(name: &str) -> Error {
        Error::new(3822, b"HY000", format!("Duplicate check constraint name '{name}'."))
    }

    pub fn check_of_referential_action(column: &str, check: &str, key: &str) -> Error {
        let text = format!(
            "Column '{column}' cannot be used in a check constraint '{check}': needed in a foreign key constraint '{key}' \
             referential action."
        );
        Error::new(3823, b"HY000", text)
    }

    pub fn several_constraints(name: &str) -> Error {
        let text = format!(
            "Table has multiple constraints with the name '{name}'. Please use constraint specific clause to alter/drop."
        );
        Error::new(3939, b"HY000", text)
    }

    pub fn constraint_not_found(name: &str) -> Error {
        Error::new(3940, b"HY000", format!("Constraint '{name}' does not exist."))
    }

    pub fn enforcement_of_key(name: &str) -> Error {
        let text = format!(
            "Altering constraint enforcement is not supported for the constraint '{name}'. Enforcement state alter is not \
             supported for the PRIMARY, UNIQUE and FOREIGN KEY type constraints."
        );
        Error::new(3941, b"HY000", text)
    }

    pub fn column_of_check(check: &str, column: &str) -> Error {
        let text =
            format!("Check constraint '{check}' uses column '{column}', hence column cannot be dropped or renamed.");
        Error::new(3959, b"HY000", text)
    }

    pub fn column_of_generated(column: &str) -> Error {
        Error::new(3108, b"HY000", format!("Column '{column}' has a generated column dependency."))
    }

    pub fn column_of_default(column: &str, table: &str) -> Error {
        let text = format!(
            "Column '{column}' of table '{table}' has a default value expression dependency and cannot be dropped or \
             renamed."
        );
        Error::new(3766, b"HY000", text)
    }

    pub fn column_of_functional_index(column: &str) -> Error {
        let text = format!("Column '{column}' has a functional index dependency and cannot be dropped or renamed.");
        Error::new(3837, b"HY000", text)
    }

    /// ER_DEPENDENT_BY_PARTITION_FUNC
    pub fn column_of_partitions(column: &str) -> Error {
        let text =
            format!("Column '{column}' has a partitioning function dependency and cannot be dropped or renamed.");
        Error::new(3885, b"HY000", text)
    }

    pub fn generated_value(column: &str, table: &str) -> Error {
        let text = format!("The value specified for generated column '{column}' in table '{table}' is not allowed.");
        Error::new(3105, b"HY000", text)
    }

    pub fn generated_value_ignored(column: &str, table: &str) -> Error {
        let text = format!("The value specified for generated column '{column}' in table '{table}' has been ignored");
        Error::new(1906, b"HY000", text)
    }

    pub fn not_for_generated(what: &str) -> Error {
        Error::new(3106, b"HY000", format!("'{what}' is not supported for generated columns."))
    }

    pub fn not_with_generated(what: &str) -> Error {
        Error::new(1221, b"HY000", format!("Incorrect usage of {what} and generated column"))
    }
}
