//! What a client is told when a statement fails: MySQL's number, SQLSTATE and
//! message.
//!
//! Programs match on the number and the state, people read the message, some
//! programs read the message too (ORMs look for the key's name in 1062). So the
//! three travel together, and each error that we raise has one named constructor
//! here, with the wording that MySQL's users know.
//!
//! A constructor's arguments are the facts of the message. The code that detects the
//! fault constructs the error; no caller rewrites it, except that the executor adds the
//! row number ([`Warning`] and data errors say "at row n").
//!
//! Sources: the server error reference of MySQL 8.0 (numbers, states, wording).

mod definitions;
mod events;
mod files;
mod foreign_keys;
mod geometry;
mod json;
mod names;
mod partitions;
mod programs;
mod row_rules;
mod sequences;
pub mod symbols;
mod transactions;
mod values;
mod views;
mod windows;

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
        // Programs compare these words, and the manual is MySQL's.
        let text = format!(
            "You have an error in your SQL syntax; check the manual that corresponds to your MySQL server version \
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

    pub fn unknown_explain_format(name: &str) -> Error {
        Error::new(1791, b"HY000", format!("Unknown EXPLAIN format name: '{name}'"))
    }

    /// Expressions or queries nested too deep.
    pub fn nested_too_deep() -> Error {
        Error::new(
            1436,
            b"HY000",
            "Thread stack overrun:  the statement is nested too deeply.  Use fewer levels of parentheses or subqueries.",
        )
    }

    // --------------------------------------------------------- variables

    // ------------------------------------------------------- expressions

    // ------------------------------------------------ locks, transactions

    // ------------------------------------------------------------ access

    pub fn access_denied(user: &str, host: &str, with_password: bool) -> Error {
        let using = if with_password { "YES" } else { "NO" };
        Error::new(1045, b"28000", format!("Access denied for user '{user}'@'{host}' (using password: {using})"))
    }

    pub fn database_access_denied(user: &str, host: &str, database: &str) -> Error {
        Error::new(1044, b"42000", format!("Access denied for user '{user}'@'{host}' to database '{database}'"))
    }

    /// `command` names what is missing; `host` is where the client is.
    pub fn table_access_denied(command: &str, user: &str, host: &str, table: &str) -> Error {
        Error::new(1142, b"42000", format!("{command} command denied to user '{user}'@'{host}' for table '{table}'"))
    }

    pub fn column_access_denied(command: &str, user: &str, host: &str, column: &str, table: &str) -> Error {
        let text =
            format!("{command} command denied to user '{user}'@'{host}' for column '{column}' in table '{table}'");
        Error::new(1143, b"42000", text)
    }

    /// `what` names privileges of which one is enough.
    pub fn privilege_needed(what: &str) -> Error {
        let text = format!("Access denied; you need (at least one of) the {what} privilege(s) for this operation");
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

    pub fn only_rows_follow() -> Error {
        let text = "Only BINLOG INSERT, COMMIT and ROLLBACK statements are allowed after CREATE TABLE with START TRANSACTION \
                    statement.";
        Error::new(3977, b"HY000", text)
    }

    pub fn foreign_key_with_rows() -> Error {
        let text = "Foreign key creation is not allowed with CREATE TABLE as SELECT and CREATE TABLE as START TRANSACTION \
                    statement.";
        Error::new(3978, b"HY000", text)
    }

    pub fn not_with_start_transaction(what: &str) -> Error {
        Error::new(3979, b"HY000", format!("{what} is not allowed with START TRANSACTION."))
    }

    pub fn log_cache_full() -> Error {
        let text = "Multi-statement transaction required more than 'max_binlog_cache_size' bytes of storage; \
                    increase this mysqld variable and try again";
        Error::new(1197, b"HY000", text)
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
