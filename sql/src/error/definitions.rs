//! Definitions of tables, columns and indexes that cannot be.

use super::Error;

impl Error {
    pub fn multiple_primary_key() -> Error {
        Error::new(1068, b"42000", "Multiple primary key defined")
    }

    pub fn key_column_missing(name: &str) -> Error {
        Error::new(1072, b"42000", format!("Key column '{name}' doesn't exist in table"))
    }

    pub fn key_too_long(bytes_max: usize) -> Error {
        Error::new(1071, b"42000", format!("Specified key was too long; max key length is {bytes_max} bytes"))
    }

    pub fn too_many_key_parts(max: usize) -> Error {
        Error::new(1070, b"42000", format!("Too many key parts specified; max {max} parts allowed"))
    }

    pub fn blob_key_without_length(name: &str) -> Error {
        Error::new(1170, b"42000", format!("BLOB/TEXT column '{name}' used in key specification without a key length"))
    }

    pub fn wrong_prefix_key() -> Error {
        let text = "Incorrect prefix key; the used key part isn't a string, the used length is longer than the key \
                    part, or the storage engine doesn't support unique prefix keys";
        Error::new(1089, b"HY000", text)
    }

    pub fn wrong_auto_key() -> Error {
        let text = "Incorrect table definition; there can be only one auto column and it must be defined as a key";
        Error::new(1075, b"42000", text)
    }

    pub fn wrong_column_specifier(name: &str) -> Error {
        Error::new(1063, b"42000", format!("Incorrect column specifier for column '{name}'"))
    }

    pub fn invalid_default(name: &str) -> Error {
        Error::new(1067, b"42000", format!("Invalid default value for '{name}'"))
    }

    pub fn blob_with_default(name: &str) -> Error {
        Error::new(1101, b"42000", format!("BLOB, TEXT, GEOMETRY or JSON column '{name}' can't have a default value"))
    }

    pub fn no_columns() -> Error {
        Error::new(1113, b"42000", "A table must have at least 1 column")
    }

    pub fn no_visible_column() -> Error {
        Error::new(4028, b"HY000", "A table must have at least one visible column.")
    }

    pub fn too_many_columns() -> Error {
        Error::new(1117, b"HY000", "Too many columns")
    }

    pub fn table_definition_changed() -> Error {
        Error::new(1412, b"HY000", "Table definition has changed, please retry transaction".to_string())
    }

    pub fn row_too_large(bytes_max: usize) -> Error {
        let text = format!(
            "Row size too large. The maximum row size for the used table type, not counting BLOBs, is {bytes_max}. \
             This includes storage overhead, check the manual. You have to change some columns to TEXT or BLOBs"
        );
        Error::new(1118, b"42000", text)
    }

    pub fn column_length_too_big(name: &str, max: u64) -> Error {
        let text = format!("Column length too big for column '{name}' (max = {max}); use BLOB or TEXT instead");
        Error::new(1074, b"42000", text)
    }

    pub fn display_width_out_of_range(name: &str, max: u64) -> Error {
        Error::new(1439, b"42000", format!("Display width out of range for column '{name}' (max = {max})"))
    }

    pub fn too_big_precision(precision: u64, name: &str, max: u64) -> Error {
        let text = format!("Too-big precision {precision} specified for '{name}'. Maximum is {max}.");
        Error::new(1426, b"42000", text)
    }

    pub fn too_big_scale(scale: u64, name: &str, max: u64) -> Error {
        Error::new(1425, b"42000", format!("Too big scale {scale} specified for column '{name}'. Maximum is {max}."))
    }

    pub fn precision_below_scale(name: &str) -> Error {
        let text = format!("For float(M,D), double(M,D) or decimal(M,D), M must be >= D (column '{name}').");
        Error::new(1427, b"42000", text)
    }

    pub fn duplicate_member(name: &str, member: &str, kind: &str) -> Error {
        Error::new(1291, b"HY000", format!("Column '{name}' has duplicated value '{member}' in {kind}"))
    }

    pub fn cant_drop_key(name: &str) -> Error {
        Error::new(1091, b"42000", format!("Can't DROP '{name}'; check that column/key exists"))
    }

    pub fn cant_remove_all_columns() -> Error {
        Error::new(1090, b"42000", "You can't delete all columns with ALTER TABLE; use DROP TABLE instead")
    }

    pub fn key_does_not_exist(key: &str, table: &str) -> Error {
        Error::new(1176, b"42000", format!("Key '{key}' doesn't exist in table '{table}'"))
    }

    pub fn illegal_create_option(engine: &str, option: &str) -> Error {
        let text = format!("Table storage engine '{engine}' does not support the create option '{option}'");
        Error::new(1478, b"HY000", text)
    }

    pub fn without_this_option(table: &str) -> Error {
        Error::new(1031, b"HY000", format!("Table storage engine for '{table}' doesn't have this option"))
    }

    /// CAST ... AS ... ARRAY where it may not stand.
    pub fn array_outside_of_index() -> Error {
        Error::unsupported(
            "Use of CAST( .. AS .. ARRAY) outside of functional index in CREATE(non-SELECT)/ALTER TABLE or in general \
             expressions",
        )
    }

    pub fn no_fulltext_index() -> Error {
        Error::new(1191, b"HY000", "Can't find FULLTEXT index matching the column list".to_owned())
    }

    /// A search that is not well-formed.
    pub fn fulltext_syntax(what: &str) -> Error {
        Error::new(1064, b"42000", what.to_owned())
    }

    pub fn wrong_arguments(name: &str) -> Error {
        Error::new(1210, b"HY000", format!("Incorrect arguments to {name}"))
    }
}
