//! Partitions.

use super::Error;

impl Error {
    pub fn unknown_partition(name: &str, table: &str) -> Error {
        Error::new(1735, b"HY000", format!("Unknown partition '{name}' in table '{table}'"))
    }

    /// Names in ALTER TABLE, where MySQL does not tell which.
    pub fn no_such_partition(action: &str) -> Error {
        Error::new(1507, b"HY000", format!("Error in list of partitions to {action}"))
    }

    pub fn row_not_in_partitions() -> Error {
        Error::new(1748, b"HY000", "Found a row not matching the given partition set")
    }

    pub fn no_partition_for_value(value: &str) -> Error {
        Error::new(1526, b"HY000", format!("Table has no partition for value {value}"))
    }

    pub fn no_partition_for_columns() -> Error {
        Error::no_partition_for_value("from column_list")
    }

    /// The row has no partition, or none of those that the statement names.
    pub fn is_of_no_partition(&self) -> bool {
        matches!(self.code, 1526 | 1748)
    }

    pub fn partition_field_not_found() -> Error {
        Error::new(1488, b"HY000", "Field in list of fields for partition function not found in table")
    }

    pub fn partition_requires_values(kind: &str, values: &str) -> Error {
        let text =
            format!("Syntax error: {kind} PARTITIONING requires definition of VALUES {values} for each partition");
        Error::new(1479, b"HY000", text)
    }

    pub fn null_in_values_less_than() -> Error {
        Error::new(1566, b"HY000", "Not allowed to use NULL value in VALUES LESS THAN")
    }

    pub fn partition_column_list() -> Error {
        Error::new(1653, b"HY000", "Inconsistency in usage of column lists for partitioning")
    }

    pub fn row_single_partition_field() -> Error {
        Error::new(1658, b"HY000", "Row expressions in VALUES IN only allowed for multi-field column partitioning")
    }

    pub fn multiple_definition_in_list() -> Error {
        Error::new(1495, b"HY000", "Multiple definition of same constant in list partitioning")
    }

    pub fn partition_management_on_plain() -> Error {
        Error::new(1505, b"HY000", "Partition management on a not partitioned table is not possible")
    }

    pub fn partition_clause_on_plain() -> Error {
        Error::new(1747, b"HY000", "PARTITION () clause on non partitioned table")
    }

    pub fn same_name_partition(name: &str) -> Error {
        Error::new(1517, b"HY000", format!("Duplicate partition name {name}"))
    }

    pub fn not_with_partitioning(feature: &str) -> Error {
        let text = match feature {
            "FOREIGN KEY" => "Foreign keys are not yet supported in conjunction with partitioning",
            _ => "Cannot create temporary table with partitions",
        };
        Error::new(if feature == "FOREIGN KEY" { 1506 } else { 1562 }, b"HY000", text)
    }
}
