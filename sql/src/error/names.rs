//! Names that are not there, or there twice; variables that cannot be set so.

use super::Error;

/// Character sets of MySQL and MariaDB that are not here.
const ABSENT_CHARSETS: [&str; 1] = ["gb18030"];

/// Collations of theirs that are not here, though their character sets are.
const ABSENT_COLLATIONS: [&str; 2] = ["cp1250_czech_cs", "latin2_czech_cs"];

impl Error {
    /// What MySQL warns of where a character set or a collation is said: utf8 will mean something else one day, and the
    /// character set that it is now will go.
    pub fn old_unicode(charset: Option<&str>, collation: Option<&str>) -> Vec<Error> {
        let mut told = Vec::new();
        match charset.map(str::to_ascii_lowercase).as_deref() {
            Some("utf8") => told.push(Error::new(
                3719,
                b"HY000",
                "'utf8' is currently an alias for the character set UTF8MB3, but will be an alias for UTF8MB4 in a future \
                 release. Please consider using UTF8MB4 in order to be unambiguous.",
            )),
            Some("utf8mb3") => told.push(Error::new(
                1287,
                b"HY000",
                "'utf8mb3' is deprecated and will be removed in a future release. Please use utf8mb4 instead",
            )),
            _ => {}
        }
        let collation = collation.map(str::to_ascii_lowercase);
        let rest = collation.as_deref().and_then(|name| name.strip_prefix("utf8mb3_").or(name.strip_prefix("utf8_")));
        told.extend(rest.map(|rest| {
            let text = format!(
                "'utf8mb3_{rest}' is a collation of the deprecated character set UTF8MB3. Please consider using UTF8MB4 with \
                 an appropriate collation instead."
            );
            Error::new(3778, b"HY000", text)
        }));
        told
    }

    /// Warnings of optimizer hints.
    pub fn hint_syntax(near: &str) -> Error {
        Error::new(1064, b"42000", format!("Optimizer hint syntax error near '{near}' at line 1"))
    }

    pub fn conflicting_hint(name: &str) -> Error {
        Error::new(3126, b"HY000", format!("Hint {name} is ignored as conflicting/duplicated"))
    }

    pub fn unresolved_hint(what: &str, name: &str) -> Error {
        Error::new(3128, b"HY000", format!("Unresolved name {what} for {name} hint"))
    }

    pub fn unknown_hint_block(block: &str, name: &str) -> Error {
        Error::new(3127, b"HY000", format!("Query block name `{block}` is not found for {name} hint"))
    }

    pub fn hint_of_top_query() -> Error {
        let text = "MAX_EXECUTION_TIME hint is supported by top-level standalone SELECT statements only";
        Error::new(3125, b"HY000", text)
    }

    pub fn unknown_time_zone(name: &str) -> Error {
        Error::new(1298, b"HY000", format!("Unknown or incorrect time zone: '{name}'"))
    }

    pub fn not_set_by_hint(name: &str) -> Error {
        Error::new(3637, b"HY000", format!("Variable '{name}' cannot be set using SET_VAR hint."))
    }

    pub fn no_database() -> Error {
        Error::new(1046, b"3D000", "No database selected")
    }

    pub fn read_only_database(name: &str) -> Error {
        Error::new(3989, b"HY000", format!("Schema '{name}' is in read only mode."))
    }

    pub fn conflicting_read_only(first: bool) -> Error {
        let (first, second) = (u8::from(first), u8::from(!first));
        let text = format!("Conflicting declarations: 'READ ONLY={first}' and 'READ ONLY={second}'");
        Error::new(1302, b"HY000", text)
    }

    pub fn unknown_database(name: &str) -> Error {
        Error::new(1049, b"42000", format!("Unknown database '{name}'"))
    }

    pub fn database_exists(name: &str) -> Error {
        Error::new(1007, b"HY000", format!("Can't create database '{name}'; database exists"))
    }

    pub fn no_database_to_drop(name: &str) -> Error {
        Error::new(1008, b"HY000", format!("Can't drop database '{name}'; database doesn't exist"))
    }

    pub fn table_exists(name: &str) -> Error {
        Error::new(1050, b"42S01", format!("Table '{name}' already exists"))
    }

    /// DROP TABLE of something that is not there; `names` like `db.t,db.u`.
    pub fn unknown_table(names: &str) -> Error {
        Error::new(1051, b"42S02", format!("Unknown table '{names}'"))
    }

    pub fn no_such_table(database: &str, name: &str) -> Error {
        Error::new(1146, b"42S02", format!("Table '{database}.{name}' doesn't exist"))
    }

    /// A qualifier that names no table of the statement.
    pub fn unknown_table_in(name: &str, clause: &str) -> Error {
        Error::new(1109, b"42S02", format!("Unknown table '{name}' in {clause}"))
    }

    /// `clause` is "field list", "where clause", "order clause", "group statement", "having clause", "on clause".
    pub fn unknown_column(name: &str, clause: &str) -> Error {
        Error::new(1054, b"42S22", format!("Unknown column '{name}' in '{clause}'"))
    }

    pub fn ambiguous_column(name: &str, clause: &str) -> Error {
        Error::new(1052, b"23000", format!("Column '{name}' in {clause} is ambiguous"))
    }

    pub fn not_unique_table(alias: &str) -> Error {
        Error::new(1066, b"42000", format!("Not unique table/alias: '{alias}'"))
    }

    pub fn target_is_read(table: &str) -> Error {
        Error::new(1093, b"HY000", format!("You can't specify target table '{table}' for update in FROM clause"))
    }

    pub fn not_updatable(table: &str, statement: &str) -> Error {
        Error::new(1288, b"HY000", format!("The target table {table} of the {statement} is not updatable"))
    }

    pub fn wrong_usage(one: &str, other: &str) -> Error {
        Error::new(1221, b"HY000", format!("Incorrect usage of {one} and {other}"))
    }

    pub fn multi_update_key_conflict(one: &str, other: &str) -> Error {
        let text = format!(
            "Primary key/partition key update is not allowed since the table is updated both as '{one}' and '{other}'."
        );
        Error::new(1706, b"HY000", text)
    }

    pub fn column_list_counts() -> Error {
        let text = "In definition of view, derived table or common table expression, SELECT list and column \
                    names list have different column counts";
        Error::new(1353, b"HY000", text)
    }

    pub fn duplicate_column_name(name: &str) -> Error {
        Error::new(1060, b"42S21", format!("Duplicate column name '{name}'"))
    }

    pub fn duplicate_key_name(name: &str) -> Error {
        Error::new(1061, b"42000", format!("Duplicate key name '{name}'"))
    }

    pub fn column_specified_twice(name: &str) -> Error {
        Error::new(1110, b"42000", format!("Column '{name}' specified twice"))
    }

    pub fn wrong_database_name(name: &str) -> Error {
        Error::new(1102, b"42000", format!("Incorrect database name '{name}'"))
    }

    pub fn wrong_table_name(name: &str) -> Error {
        Error::new(1103, b"42000", format!("Incorrect table name '{name}'"))
    }

    pub fn file_name_too_long(name: &str) -> Error {
        let message = "Long database name and identifier for object resulted in path length exceeding 255 characters.";
        Error::new(1860, b"HY000", format!("{message} Path: '{name}'"))
    }

    pub fn wrong_column_name(name: &str) -> Error {
        Error::new(1166, b"42000", format!("Incorrect column name '{name}'"))
    }

    pub fn wrong_index_name(name: &str) -> Error {
        Error::new(1280, b"42000", format!("Incorrect index name '{name}'"))
    }

    pub fn identifier_too_long(name: &str) -> Error {
        Error::new(1059, b"42000", format!("Identifier name '{name}' is too long"))
    }

    pub fn unknown_charset(name: &str) -> Error {
        if ABSENT_CHARSETS.iter().any(|absent| name.eq_ignore_ascii_case(absent)) {
            return Error::unsupported(format!("CHARACTER SET {}", name.to_ascii_lowercase()));
        }
        Error::new(1115, b"42000", format!("Unknown character set: '{name}'"))
    }

    pub fn unknown_collation(name: &str) -> Error {
        let lower = name.to_ascii_lowercase();
        let charset = lower.split('_').next().unwrap_or_default();
        if ABSENT_CHARSETS.contains(&charset) || ABSENT_COLLATIONS.contains(&&lower[..]) {
            return Error::unsupported(format!("COLLATE {lower}"));
        }
        Error::new(1273, b"HY000", format!("Unknown collation: '{name}'"))
    }

    pub fn unknown_locale(name: &str) -> Error {
        Error::new(1649, b"HY000", format!("Unknown locale: '{name}'"))
    }

    pub fn collation_charset_mismatch(collation: &str, charset: &str) -> Error {
        let text = format!("COLLATION '{collation}' is not valid for CHARACTER SET '{charset}'");
        Error::new(1253, b"42000", text)
    }

    pub fn unknown_engine(name: &str) -> Error {
        Error::new(1286, b"42000", format!("Unknown storage engine '{name}'"))
    }

    pub fn unknown_savepoint(name: &str) -> Error {
        Error::new(1305, b"42000", format!("SAVEPOINT {name} does not exist"))
    }

    pub fn unknown_function(name: &str) -> Error {
        Error::new(1305, b"42000", format!("FUNCTION {name} does not exist"))
    }

    /// There is no stored function of this name, which is that of one of the server's own where it is written otherwise.
    pub fn name_of_native_function(unknown: &Error) -> Error {
        let place = "Check the 'Function Name Parsing and Resolution' section in the Reference Manual";
        Error::new(1630, b"42000", format!("{}. {place}", unknown.message))
    }

    pub fn unknown_prepared(name: &str, doing: &str) -> Error {
        Error::new(1243, b"HY000", format!("Unknown prepared statement handler ({name}) given to {doing}"))
    }

    pub fn explains_no_such_statement() -> Error {
        let text = "EXPLAIN FOR CONNECTION command is supported only for SELECT/UPDATE/INSERT/DELETE/REPLACE";
        Error::new(3012, b"HY000", text)
    }

    pub fn unknown_thread(id: u64) -> Error {
        Error::new(1094, b"HY000", format!("Unknown thread id: {id}"))
    }

    pub fn unknown_variable(name: &str) -> Error {
        Error::new(1193, b"HY000", format!("Unknown system variable '{name}'"))
    }

    /// Each session has its own, which is the server's for as long as it lasts.
    pub fn read_only_in_sessions(name: &str) -> Error {
        let text = format!("SESSION variable '{name}' is read-only. Use SET GLOBAL to assign the value");
        Error::new(1621, b"HY000", text)
    }

    pub fn global_variable(name: &str) -> Error {
        let text = format!("Variable '{name}' is a GLOBAL variable and should be set with SET GLOBAL");
        Error::new(1229, b"HY000", text)
    }

    pub fn session_variable(name: &str) -> Error {
        let text = format!("Variable '{name}' is a SESSION variable and can't be used with SET GLOBAL");
        Error::new(1228, b"HY000", text)
    }

    pub fn wrong_value_for_variable(name: &str, value: &str) -> Error {
        Error::new(1231, b"42000", format!("Variable '{name}' can't be set to the value of '{value}'"))
    }

    pub fn wrong_type_for_variable(name: &str) -> Error {
        Error::new(1232, b"42000", format!("Incorrect argument type to variable '{name}'"))
    }

    /// `reason` is "read only", "GLOBAL", "SESSION" or "non-SETtable".
    pub fn wrong_kind_of_variable(name: &str, reason: &str) -> Error {
        Error::new(1238, b"HY000", format!("Variable '{name}' is a {reason} variable"))
    }
}
