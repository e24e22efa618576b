//! MariaDB's sequences: the numbers and texts are MariaDB's.

use super::Error;

impl Error {
    pub fn option_twice(word: &str) -> Error {
        Error::new(1225, b"HY000", format!("Option '{word}' used twice in statement"))
    }

    /// A statement about rows that sequences do not take.
    pub fn not_of_sequences(database: &str, name: &str) -> Error {
        let text = format!("Storage engine SEQUENCE of the table `{database}`.`{name}` doesn't have this option");
        Error::new(1031, b"HY000", text)
    }

    pub fn is_a_view(database: &str, name: &str) -> Error {
        Error::new(1965, b"42S02", format!("'{database}.{name}' is a view"))
    }

    pub fn sequence_run_out(database: &str, name: &str) -> Error {
        Error::new(4084, b"HY000", format!("Sequence '{database}.{name}' has run out"))
    }

    pub fn sequence_out_of_range(database: &str, name: &str) -> Error {
        Error::new(4085, b"HY000", format!("Sequence '{database}.{name}' has out of range value for options"))
    }

    pub fn sequence_structure(database: &str, name: &str, what: &str) -> Error {
        Error::new(4086, b"HY000", format!("Sequence '{database}.{name}' table structure is invalid ({what})"))
    }

    pub fn not_a_sequence(database: &str, name: &str) -> Error {
        Error::new(4089, b"42S02", format!("'{database}.{name}' is not a SEQUENCE"))
    }

    pub fn not_a_sequence_to_drop(database: &str, name: &str) -> Error {
        Error { code: 4090, ..Error::not_a_sequence(database, name) }
    }

    /// `names`: with their databases where they are dropped, without where they are used, as in MariaDB.
    pub fn unknown_sequence(names: &str) -> Error {
        Error::new(4091, b"42S02", format!("Unknown SEQUENCE: '{names}'"))
    }
}
