//! Errors of LOAD DATA, SELECT ... INTO OUTFILE and the files that they name.

use std::io;
use std::path::Path;

use super::Error;

impl Error {
    pub fn too_few_fields(row: u64) -> Error {
        Error::new(1261, b"01000", format!("Row {row} doesn't contain data for all columns"))
    }

    pub fn too_many_fields(row: u64) -> Error {
        let text = format!("Row {row} was truncated; it contained more data than there were input columns");
        Error::new(1262, b"01000", text)
    }

    /// The field of a file was NULL.
    pub fn null_to_not_null(name: &str, row: u64) -> Error {
        let text = format!("Column set to default value; NULL supplied to NOT NULL column '{name}' at row {row}");
        Error::new(1263, b"22004", text)
    }

    pub fn wrong_field_terminators() -> Error {
        Error::new(1083, b"42000", "Field separator argument is not what is expected; check the manual")
    }

    pub fn blobs_without_terminator() -> Error {
        let text = "You can't use fixed rowlength with BLOBs; please use 'fields terminated by'";
        Error::new(1084, b"42000", text)
    }

    pub fn fixed_rows_to_variable() -> Error {
        Error::new(1409, b"HY000", "Can't load value from file with fixed size rows to variable")
    }

    pub fn ambiguous_field_terminator() -> Error {
        let text = "First character of the FIELDS TERMINATED string is ambiguous; please use non-optional and non-empty FIELDS ENCLOSED BY";
        Error::new(1475, b"HY000", text)
    }

    pub fn non_ascii_separator() -> Error {
        Error::new(1638, b"HY000", "Non-ASCII separator arguments are not fully supported")
    }

    pub fn multiple_into() -> Error {
        Error::new(3953, b"HY000", "Multiple INTO clauses in one query block.")
    }

    pub fn misplaced_into() -> Error {
        let text =
            "Misplaced INTO clause, INTO is not allowed inside subqueries, and must be placed at end of UNION clauses.";
        Error::new(3954, b"HY000", text)
    }

    pub fn local_files_disabled() -> Error {
        let text = "Loading local data is disabled; this must be enabled on both the client and server sides";
        Error::new(3948, b"42000", text)
    }

    pub fn more_than_one_row() -> Error {
        Error::new(1172, b"42000", "Result consisted of more than one row")
    }

    /// `Can't get stat of`: the file is not there.
    pub fn no_file(path: &Path, cause: &io::Error) -> Error {
        Error::new(13, b"HY000", format!("Can't get stat of '{}' ({})", path.display(), os_error(cause)))
    }

    pub fn cannot_open_file(path: &Path, cause: &io::Error) -> Error {
        Error::new(29, b"HY000", format!("File '{}' not found ({})", path.display(), os_error(cause)))
    }

    pub fn cannot_create_file(path: &Path, cause: &io::Error) -> Error {
        Error::new(1, b"HY000", format!("Can't create/write to file '{}' ({})", path.display(), os_error(cause)))
    }

    pub fn cannot_read_file(path: &Path, cause: &io::Error) -> Error {
        Error::new(2, b"HY000", format!("Error reading file '{}' ({})", path.display(), os_error(cause)))
    }

    pub fn cannot_write_file(path: &Path, cause: &io::Error) -> Error {
        Error::new(3, b"HY000", format!("Error writing file '{}' ({})", path.display(), os_error(cause)))
    }

    /// The rows of a table were discarded.
    pub fn tablespace_discarded(table: &str) -> Error {
        Error::new(1814, b"HY000", format!("Tablespace has been discarded for table '{table}'"))
    }

    pub fn tablespace_exists(database: &str, table: &str) -> Error {
        Error::new(1813, b"HY000", format!("Tablespace '{database}/{table}' exists."))
    }

    pub fn tablespace_missing(database: &str, table: &str) -> Error {
        Error::new(1812, b"HY000", format!("Tablespace is missing for table `{database}`.`{table}`."))
    }

    /// A file to import does not fit the definition of its table.
    pub fn schema_mismatch(what: &str) -> Error {
        Error::new(1808, b"HY000", format!("Schema mismatch ({what})"))
    }

    pub fn not_a_text_file(path: &Path) -> Error {
        let text = format!("The file '{}' must be in the database directory or be readable by all", path.display());
        Error::new(1085, b"HY000", text)
    }
}

fn os_error(cause: &io::Error) -> String {
    let text = cause.to_string();
    let text = text.split(" (os error").next().unwrap_or_default();
    format!("OS errno {} - {text}", cause.raw_os_error().unwrap_or_default())
}
