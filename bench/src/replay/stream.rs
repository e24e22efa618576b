//! A recorded stream: what the connections of one test file said, in the order in which the server heard it.
//!
//! One event per line, so that a stream can be read with a pager:
//!
//! ```text
//! O 1 8 test          connection 1 logs in: collation 8, default database test
//! S 1 SELECT 1        it sends a statement
//! A 1 0               its answer begins: 0, or the error's number
//! C 1                 it leaves
//! ```
//!
//! A statement whose answer follows at once ran alone. Where other lines stand between the two, it ran beside
//! what they say, and a replay sends it, goes on, and reads its answer where it was read before.

use std::fs;
use std::io;
use std::path::Path;

/// What happened on one connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    Open { connection: u32, collation: u8, database: String },
    Statement { connection: u32, text: Vec<u8> },
    Answer { connection: u32, code: u16 },
    Close { connection: u32 },
}

impl Event {
    pub fn connection(&self) -> u32 {
        match *self {
            Event::Open { connection, .. }
            | Event::Statement { connection, .. }
            | Event::Answer { connection, .. }
            | Event::Close { connection } => connection,
        }
    }

    /// The line that [`Event::parse`] reads, without its end.
    pub fn line(&self) -> String {
        match self {
            Event::Open { connection, collation, database } => {
                format!("O {connection} {collation} {}", escape(database.as_bytes()))
            }
            Event::Statement { connection, text } => format!("S {connection} {}", escape(text)),
            Event::Answer { connection, code } => format!("A {connection} {code}"),
            Event::Close { connection } => format!("C {connection}"),
        }
    }

    pub fn parse(line: &str) -> Option<Event> {
        let (kind, rest) = line.split_once(' ')?;
        let (connection, rest) = rest.split_once(' ').unwrap_or((rest, ""));
        let connection = connection.parse().ok()?;
        Some(match kind {
            "O" => {
                let (collation, database) = rest.split_once(' ')?;
                let database = String::from_utf8(unescape(database)?).ok()?;
                Event::Open { connection, collation: collation.parse().ok()?, database }
            }
            "S" => Event::Statement { connection, text: unescape(rest)? },
            "A" => Event::Answer { connection, code: rest.parse().ok()? },
            "C" => Event::Close { connection },
            _ => return None,
        })
    }
}

/// Reads a whole stream.
pub fn read(path: &Path) -> io::Result<Vec<Event>> {
    let text = fs::read_to_string(path)?;
    let wrong = |number: usize| io::Error::other(format!("{}:{}: not an event", path.display(), number + 1));
    text.lines().enumerate().map(|(number, line)| Event::parse(line).ok_or_else(|| wrong(number))).collect()
}

fn escape(bytes: &[u8]) -> String {
    let mut line = String::with_capacity(bytes.len());
    for &byte in bytes {
        match byte {
            b'\\' => line.push_str("\\\\"),
            b'\n' => line.push_str("\\n"),
            b' '..=b'~' => line.push(char::from(byte)),
            _ => line.push_str(&format!("\\x{byte:02x}")),
        }
    }
    line
}

fn unescape(line: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(line.len());
    let mut rest = line.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        match rest.next()? {
            b'\\' => bytes.push(b'\\'),
            b'n' => bytes.push(b'\n'),
            b'x' => {
                let digit = |byte: u8| char::from(byte).to_digit(16);
                let value = digit(rest.next()?)? * 16 + digit(rest.next()?)?;
                bytes.push(value as u8);
            }
            _ => return None,
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_survive_their_lines() {
        let text = b"SELECT '\\n',\n\t'\xff' -- \x00".to_vec();
        for event in [
            Event::Open { connection: 3, collation: 8, database: String::new() },
            Event::Open { connection: 3, collation: 45, database: "a b".into() },
            Event::Statement { connection: 12, text },
            Event::Statement { connection: 12, text: Vec::new() },
            Event::Answer { connection: 12, code: 1064 },
            Event::Close { connection: 3 },
        ] {
            let line = event.line();
            assert!(!line.contains('\n'));
            assert_eq!(Event::parse(&line), Some(event));
        }
        assert_eq!(Event::parse("S 1 \\q"), None);
        assert_eq!(Event::parse("X 1"), None);
    }
}
