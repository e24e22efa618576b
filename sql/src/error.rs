//! What a client is told when a statement fails: MySQL's number, SQLSTATE and
//! message.
//!
//! Programs match on the number and the state, people read the message, some
//! programs read the message too (ORMs look for the key's name in 1062). So the
//! three travel together, and each error that we raise has one named constructor
//! here, with the wording that MySQL's users know.
//!
//! A constructor's arguments are the facts of the message. Whoever detects the
//! fault constructs the error; nobody rewrites it on the way up, but for the row
//! number that the executor knows ([`Warning`] and data errors say "at row n").
//!
//! Sources: the server error reference of MySQL 8.0 (numbers, states, wording).

use std::fmt;

pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error of a statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    pub code: u16,
    pub sqlstate: [u8; 5],
    pub message: String,
}

/// How bad an entry of SHOW WARNINGS is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    Note,
    Warning,
    Error,
}

impl Level {
    pub fn name(self) -> &'static str {
        match self {
            Level::Note => "Note",
            Level::Warning => "Warning",
            Level::Error => "Error",
        }
    }
}

/// An entry of SHOW WARNINGS.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    pub level: Level,
    pub code: u16,
    pub message: String,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ERROR {} ({}): {}", self.code, self.state(), self.message)
    }
}

impl std::error::Error for Error {}

/// The product's name in messages.
const PRODUCT: &str = "Glassine";

impl Error {
    pub fn new(code: u16, sqlstate: &[u8; 5], message: impl Into<String>) -> Error {
        Error { code, sqlstate: *sqlstate, message: message.into() }
    }

    pub fn state(&self) -> &str {
        std::str::from_utf8(&self.sqlstate).unwrap_or("HY000")
    }

    /// The same words as a warning, for IGNORE and non-strict modes.
    pub fn into_warning(self) -> Warning {
        Warning { level: Level::Warning, code: self.code, message: self.message }
    }

    // ------------------------------------------------------------ syntax

    /// `near` is the text from the unexpected token on; `line` counts from 1.
    pub fn syntax(near: &str, line: usize) -> Error {
        let mut end = near.len().min(80);
        while !near.is_char_boundary(end) {
            end -= 1;
        }
        let near = &near[..end];
        let text = format!(
            "You have an error in your SQL syntax; check the manual that corresponds to your {PRODUCT} server version \
             for the right syntax to use near '{near}' at line {line}"
        );
        Error::new(1064, b"42000", text)
    }

    /// A reason instead of a place, as the few messages under 1064 that say more.
    pub fn parse(message: impl Into<String>) -> Error {
        Error::new(1064, b"42000", message)
    }

    pub fn empty_query() -> Error {
        Error::new(1065, b"42000", "Query was empty")
    }

    /// Known to MySQL, not yet to us.
    pub fn unsupported(what: impl fmt::Display) -> Error {
        Error::new(1235, b"42000", format!("This version of {PRODUCT} doesn't yet support '{what}'"))
    }

    /// Expressions or queries nested too deep.
    pub fn nested_too_deep() -> Error {
        Error::new(
            1436,
            b"HY000",
            "Thread stack overrun:  the statement is nested too deeply.  Use fewer levels of parentheses or subqueries.",
        )
    }

    // ------------------------------------------------------------- names

    pub fn no_database() -> Error {
        Error::new(1046, b"3D000", "No database selected")
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
        Error::new(1115, b"42000", format!("Unknown character set: '{name}'"))
    }

    pub fn unknown_collation(name: &str) -> Error {
        Error::new(1273, b"HY000", format!("Unknown collation: '{name}'"))
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

    pub fn unknown_prepared(name: &str, doing: &str) -> Error {
        Error::new(1243, b"HY000", format!("Unknown prepared statement handler ({name}) given to {doing}"))
    }

    pub fn unknown_thread(id: u64) -> Error {
        Error::new(1094, b"HY000", format!("Unknown thread id: {id}"))
    }

    // --------------------------------------------------------- variables

    pub fn unknown_variable(name: &str) -> Error {
        Error::new(1193, b"HY000", format!("Unknown system variable '{name}'"))
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

    // ------------------------------------------------------- definitions

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

    pub fn primary_key_null() -> Error {
        let text = "All parts of a PRIMARY KEY must be NOT NULL; if you need NULL in a key, use UNIQUE instead";
        Error::new(1171, b"42000", text)
    }

    pub fn no_columns() -> Error {
        Error::new(1113, b"42000", "A table must have at least 1 column")
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

    pub fn wrong_usage(one: &str, other: &str) -> Error {
        Error::new(1221, b"HY000", format!("Incorrect usage of {one} and {other}"))
    }

    pub fn illegal_create_option(engine: &str, option: &str) -> Error {
        let text = format!("Table storage engine '{engine}' does not support the create option '{option}'");
        Error::new(1478, b"HY000", text)
    }

    pub fn wrong_arguments(name: &str) -> Error {
        Error::new(1210, b"HY000", format!("Incorrect arguments to {name}"))
    }

    // ------------------------------------------------------- expressions

    pub fn wrong_argument_count(function: &str) -> Error {
        let text = format!("Incorrect parameter count in the call to native function '{function}'");
        Error::new(1582, b"42000", text)
    }

    pub fn wrong_arguments_to_native(function: &str) -> Error {
        let text = format!("Incorrect parameters in the call to native function '{function}'");
        Error::new(1583, b"42000", text)
    }

    /// `kind` is "BIGINT", "BIGINT UNSIGNED", "DECIMAL" or "DOUBLE".
    pub fn out_of_range(kind: &str, expression: &str) -> Error {
        Error::new(1690, b"22003", format!("{kind} value is out of range in '{expression}'"))
    }

    pub fn division_by_zero() -> Error {
        Error::new(1365, b"22012", "Division by 0")
    }

    pub fn invalid_group_function() -> Error {
        Error::new(1111, b"HY000", "Invalid use of group function")
    }

    /// ONLY_FULL_GROUP_BY. `place` is "SELECT list", "HAVING clause" or "ORDER BY clause".
    pub fn not_in_group_by(expression: usize, place: &str, column: &str) -> Error {
        let text = format!(
            "Expression #{expression} of {place} is not in GROUP BY clause and contains nonaggregated column '{column}' \
             which is not functionally dependent on columns in GROUP BY clause; this is incompatible with \
             sql_mode=only_full_group_by"
        );
        Error::new(1055, b"42000", text)
    }

    pub fn mix_of_group_function(expression: usize, column: &str) -> Error {
        let text = format!(
            "In aggregated query without GROUP BY, expression #{expression} of SELECT list contains nonaggregated \
             column '{column}'; this is incompatible with sql_mode=only_full_group_by"
        );
        Error::new(1140, b"42000", text)
    }

    /// Two collations of one comparison. Coercibilities are written IMPLICIT, EXPLICIT, NONE, COERCIBLE ...
    pub fn collation_mix(left: (&str, &str), right: (&str, &str), operation: &str) -> Error {
        let text = format!(
            "Illegal mix of collations ({},{}) and ({},{}) for operation '{operation}'",
            left.0, left.1, right.0, right.1
        );
        Error::new(1267, b"HY000", text)
    }

    pub fn collation_mix_of_many(operation: &str) -> Error {
        Error::new(1271, b"HY000", format!("Illegal mix of collations for operation '{operation}'"))
    }

    pub fn operand_columns(count: usize) -> Error {
        Error::new(1241, b"21000", format!("Operand should contain {count} column(s)"))
    }

    pub fn subquery_rows() -> Error {
        Error::new(1242, b"21000", "Subquery returns more than 1 row")
    }

    pub fn regexp(cause: &str) -> Error {
        Error::new(3692, b"HY000", format!("Incorrect description of a regular expression: {cause}"))
    }

    pub fn wrong_date_type(kind: &str, value: &str) -> Error {
        Error::new(1525, b"HY000", format!("Incorrect {kind} value: '{value}'"))
    }

    pub fn no_default(name: &str) -> Error {
        Error::new(1364, b"HY000", format!("Field '{name}' doesn't have a default value"))
    }

    // ---------------------------------------------------- values of rows

    pub fn duplicate_entry(value: &str, key: &str) -> Error {
        Error::new(1062, b"23000", format!("Duplicate entry '{value}' for key '{key}'"))
    }

    pub fn null_in_not_null(name: &str) -> Error {
        Error::new(1048, b"23000", format!("Column '{name}' cannot be null"))
    }

    pub fn value_count(row: u64) -> Error {
        Error::new(1136, b"21S01", format!("Column count doesn't match value count at row {row}"))
    }

    pub fn union_columns() -> Error {
        Error::new(1222, b"21000", "The used SELECT statements have a different number of columns")
    }

    pub fn column_out_of_range(name: &str, row: u64) -> Error {
        Error::new(1264, b"22003", format!("Out of range value for column '{name}' at row {row}"))
    }

    pub fn data_truncated(name: &str, row: u64) -> Error {
        Error::new(1265, b"01000", format!("Data truncated for column '{name}' at row {row}"))
    }

    pub fn data_too_long(name: &str, row: u64) -> Error {
        Error::new(1406, b"22001", format!("Data too long for column '{name}' at row {row}"))
    }

    /// `kind` is integer, decimal, double, string ...
    pub fn incorrect_value_for_column(kind: &str, value: &str, name: &str, row: u64) -> Error {
        Error::new(1366, b"HY000", format!("Incorrect {kind} value: '{value}' for column '{name}' at row {row}"))
    }

    /// `kind` is date, datetime, time.
    pub fn incorrect_temporal(kind: &str, value: &str, name: &str, row: u64) -> Error {
        Error::new(1292, b"22007", format!("Incorrect {kind} value: '{value}' for column '{name}' at row {row}"))
    }

    /// A conversion inside an expression. `kind` is INTEGER, DOUBLE, DECIMAL, date, datetime, time.
    pub fn truncated_wrong_value(kind: &str, value: &str) -> Error {
        Error::new(1292, b"22007", format!("Truncated incorrect {kind} value: '{value}'"))
    }

    pub fn incorrect_value(kind: &str, value: &str) -> Error {
        Error::new(1292, b"22007", format!("Incorrect {kind} value: '{value}'"))
    }

    pub fn invalid_character_string(charset: &str, bytes: &str) -> Error {
        Error::new(1300, b"HY000", format!("Invalid {charset} character string: '{bytes}'"))
    }

    pub fn result_too_large(function: &str, bytes_max: u64) -> Error {
        let text = format!("Result of {function}() was larger than max_allowed_packet ({bytes_max}) - truncated");
        Error::new(1301, b"HY000", text)
    }

    // ------------------------------------------------ locks, transactions

    pub fn deadlock() -> Error {
        Error::new(1213, b"40001", "Deadlock found when trying to get lock; try restarting transaction")
    }

    pub fn lock_wait_timeout() -> Error {
        Error::new(1205, b"HY000", "Lock wait timeout exceeded; try restarting transaction")
    }

    pub fn lock_nowait() -> Error {
        let text = "Statement aborted because lock(s) could not be acquired immediately and NOWAIT is set.";
        Error::new(3572, b"HY000", text)
    }

    pub fn unresolved_lock_table(name: &str) -> Error {
        Error::new(3568, b"HY000", format!("Unresolved table name `{name}` in locking clause."))
    }

    pub fn record_changed() -> Error {
        Error::new(1020, b"HY000", "Record has changed since last read; try restarting transaction")
    }

    pub fn interrupted() -> Error {
        Error::new(1317, b"70100", "Query execution was interrupted")
    }

    pub fn execution_time_exceeded() -> Error {
        let text = "Query execution was interrupted, maximum statement execution time exceeded";
        Error::new(3024, b"HY000", text)
    }

    /// MariaDB's error for `max_statement_time`.
    pub fn statement_time_exceeded() -> Error {
        Error::new(1969, b"70100", "Query execution was interrupted (max_statement_time exceeded)")
    }

    pub fn unsafe_update() -> Error {
        let text =
            "You are using safe update mode and you tried to update a table without a WHERE that uses a KEY column";
        Error::new(1175, b"HY000", text)
    }

    pub fn read_only_transaction() -> Error {
        Error::new(1792, b"25006", "Cannot execute statement in a READ ONLY transaction.")
    }

    pub fn transaction_in_progress() -> Error {
        let text = "Transaction characteristics can't be changed while a transaction is in progress";
        Error::new(1568, b"25001", text)
    }

    pub fn option_prevents(option: &str) -> Error {
        let text =
            format!("The {PRODUCT} server is running with the {option} option so it cannot execute this statement");
        Error::new(1290, b"HY000", text)
    }

    // ----------------------------------------------------------- backups

    /// `what` is what the path was given for: "DATA DIRECTORY".
    pub fn wrong_directory(what: &str, path: &str) -> Error {
        Error::new(1525, b"HY000", format!("Incorrect {what} value: '{path}'"))
    }

    pub fn file_exists(path: &str) -> Error {
        Error::new(1086, b"HY000", format!("File '{path}' already exists"))
    }

    /// `doing` names the file: "create '/dir/file'".
    pub fn file_error(doing: &str, errno: i32, cause: &str) -> Error {
        Error::new(1105, b"HY000", format!("Cannot {doing} (errno: {errno} \"{cause}\")"))
    }

    pub fn path_in_data_directory(path: &str) -> Error {
        Error::new(1105, b"HY000", format!("'{path}' lies within the data directory"))
    }

    /// `what` is in the way: another backup.
    pub fn backup_refused(what: &str) -> Error {
        Error::new(3634, b"HY000", format!("Too many concurrent clone operations. Maximum allowed - 1: {what}"))
    }

    pub fn backup_not_running() -> Error {
        Error::new(4146, b"HY000", "You must start backup with \"BACKUP STAGE START\"")
    }

    pub fn backup_wrong_stage(stage: &str, current: &str) -> Error {
        let text = format!("Backup stage '{stage}' is same or before current backup stage '{current}'");
        Error::new(4147, b"HY000", text)
    }

    pub fn backup_unknown_stage(stage: &str) -> Error {
        let text = format!(
            "Unknown backup stage: '{stage}'. Stage should be one of START, FLUSH, BLOCK_DDL, BLOCK_COMMIT or END"
        );
        Error::new(4149, b"HY000", text)
    }

    pub fn table_not_locked(name: &str) -> Error {
        Error::new(1100, b"HY000", format!("Table '{name}' was not locked with LOCK TABLES"))
    }

    pub fn table_locked_for_read(name: &str) -> Error {
        let text = format!("Table '{name}' was locked with a READ lock and can't be updated");
        Error::new(1099, b"HY000", text)
    }

    // ------------------------------------------------------------ access

    pub fn access_denied(user: &str, host: &str, with_password: bool) -> Error {
        let using = if with_password { "YES" } else { "NO" };
        Error::new(1045, b"28000", format!("Access denied for user '{user}'@'{host}' (using password: {using})"))
    }

    pub fn database_access_denied(user: &str, host: &str, database: &str) -> Error {
        Error::new(1044, b"42000", format!("Access denied for user '{user}'@'{host}' to database '{database}'"))
    }

    pub fn privilege_needed(privilege: &str) -> Error {
        let text = format!("Access denied; you need (at least one of) the {privilege} privilege(s) for this operation");
        Error::new(1227, b"42000", text)
    }

    /// `operation` is "CREATE USER", "DROP USER", "ALTER USER"; `users` like `'a'@'b','c'@'d'`.
    pub fn cannot_user(operation: &str, users: &str) -> Error {
        Error::new(1396, b"HY000", format!("Operation {operation} failed for {users}"))
    }

    // ------------------------------------------------------------ server

    pub fn too_many_connections() -> Error {
        Error::new(1040, b"08004", "Too many connections")
    }

    pub fn unknown_command() -> Error {
        Error::new(1047, b"08S01", "Unknown command")
    }

    pub fn packet_too_large() -> Error {
        Error::new(1153, b"08S01", "Got a packet bigger than 'max_allowed_packet' bytes")
    }

    pub fn too_many_placeholders() -> Error {
        Error::new(1390, b"HY000", "Prepared statement contains too many placeholders")
    }

    pub fn not_preparable() -> Error {
        Error::new(1295, b"HY000", "This command is not supported in the prepared statement protocol yet")
    }

    pub fn disk_full(what: &str) -> Error {
        Error::new(1021, b"HY000", format!("Disk full ({what}); waiting for someone to free some space..."))
    }

    /// MySQL's words, and which key of which file.
    pub fn cannot_find_key(what: &str) -> Error {
        let text = "Can't find master key from keyring, please check in the server log if a keyring is loaded and \
                    initialized successfully.";
        Error::new(3185, b"HY000", format!("{text} ({what})"))
    }

    pub fn invalid_encryption_option() -> Error {
        Error::new(3184, b"HY000", "Invalid encryption option.")
    }

    /// The transaction is over, though it may still hold its locks.
    pub fn rolling_back() -> Error {
        let why = "No space left on device, or a failed read";
        Error::new(1181, b"HY000", format!("Got error 28 \"{why}\" during ROLLBACK; it goes on when the device allows"))
    }

    pub fn table_full(name: &str) -> Error {
        Error::new(1114, b"HY000", format!("The table '{name}' is full"))
    }

    pub fn storage(code: i32, cause: &str) -> Error {
        Error::new(1030, b"HY000", format!("Got error {code} - '{cause}' from storage engine"))
    }

    /// Something that should not happen and is not the statement's fault.
    pub fn internal(cause: impl fmt::Display) -> Error {
        Error::new(1105, b"HY000", format!("Unknown error: {cause}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_syntax_error_quotes_at_most_eighty_bytes_and_whole_characters() {
        let error = Error::syntax(&"\u{e4}".repeat(60), 3);
        assert_eq!(error.code, 1064);
        assert!(error.message.ends_with(&format!("near '{}' at line 3", "\u{e4}".repeat(40))));
    }

    #[test]
    fn errors_read_as_in_the_client() {
        assert_eq!(Error::no_database().to_string(), "ERROR 1046 (3D000): No database selected");
    }
}
