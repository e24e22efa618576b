//! A small MySQL client: text protocol, Unix socket, user root without password.
//!
//! Just enough to ask any MySQL-compatible server a question and to know for
//! certain whether a COMMIT was acknowledged.

use std::fmt;
use std::io::{self, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

const CLIENT_LONG_PASSWORD: u32 = 1;
const CLIENT_FOUND_ROWS_OFF: u32 = 0;
const CLIENT_LONG_FLAG: u32 = 4;
const CLIENT_PROTOCOL_41: u32 = 0x200;
const CLIENT_TRANSACTIONS: u32 = 0x2000;
const CLIENT_SECURE_CONNECTION: u32 = 0x8000;
const CLIENT_MULTI_RESULTS: u32 = 0x2_0000;
const CLIENT_PLUGIN_AUTH: u32 = 0x8_0000;

const COM_QUIT: u8 = 1;
const COM_QUERY: u8 = 3;

/// Why a statement has no answer.
#[derive(Debug)]
pub enum Error {
    /// The server answered with an error packet.
    Server { code: u16, state: String, message: String },
    /// The connection is gone, or never was.
    Io(io::Error),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Server { code, state, message } => write!(f, "ERROR {code} ({state}): {message}"),
            Error::Io(cause) => write!(f, "connection: {cause}"),
        }
    }
}

impl std::error::Error for Error {}

impl From<io::Error> for Error {
    fn from(cause: io::Error) -> Self {
        Error::Io(cause)
    }
}

impl Error {
    /// The server's error code, if it was the server that refused.
    pub fn code(&self) -> Option<u16> {
        match self {
            Error::Server { code, .. } => Some(*code),
            Error::Io(_) => None,
        }
    }
}

/// What one statement answered.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Answer {
    pub columns: Vec<String>,
    /// Protocol type codes of the columns.
    pub types: Vec<u8>,
    /// Cells as text; `None` is NULL.
    pub rows: Vec<Vec<Option<String>>>,
    pub affected: u64,
    pub last_insert_id: u64,
    pub warnings: u16,
    pub info: String,
}

impl Answer {
    /// The first cell of the first row.
    pub fn cell(&self) -> Option<&str> {
        self.rows.first()?.first()?.as_deref()
    }

    /// The first cell as a number; zero if there is none.
    pub fn number(&self) -> i64 {
        self.cell().and_then(|cell| cell.parse().ok()).unwrap_or(0)
    }
}

/// One connection.
pub struct Client {
    reader: BufReader<UnixStream>,
    writer: UnixStream,
    sequence: u8,
    packet: Vec<u8>,
}

impl Client {
    pub fn connect(socket: &Path) -> Result<Client, Error> {
        let stream = UnixStream::connect(socket)?;
        stream.set_read_timeout(Some(Duration::from_secs(120)))?;
        let writer = stream.try_clone()?;
        let mut client =
            Client { reader: BufReader::with_capacity(1 << 16, stream), writer, sequence: 0, packet: Vec::new() };
        client.handshake()?;
        Ok(client)
    }

    fn handshake(&mut self) -> Result<(), Error> {
        self.read_packet()?;
        if self.packet.first() == Some(&0xff) {
            return Err(self.error());
        }
        let flags = CLIENT_LONG_PASSWORD
            | CLIENT_FOUND_ROWS_OFF
            | CLIENT_LONG_FLAG
            | CLIENT_PROTOCOL_41
            | CLIENT_TRANSACTIONS
            | CLIENT_SECURE_CONNECTION
            | CLIENT_MULTI_RESULTS
            | CLIENT_PLUGIN_AUTH;
        let mut body = Vec::new();
        body.extend_from_slice(&flags.to_le_bytes());
        body.extend_from_slice(&(64u32 << 20).to_le_bytes());
        body.push(45); // utf8mb4_general_ci
        body.extend_from_slice(&[0; 23]);
        body.extend_from_slice(b"root\0");
        body.push(0); // An empty password has an empty answer.
        body.extend_from_slice(b"mysql_native_password\0");
        self.write_packet(&body)?;
        loop {
            self.read_packet()?;
            match self.packet.first() {
                Some(0x00) => return Ok(()),
                Some(0xfe) => self.write_packet(&[])?, // Another plugin: the empty password is empty there too.
                Some(0x01) => {}                       // caching_sha2: "fast path accepted"; OK follows.
                _ => return Err(self.error()),
            }
        }
    }

    /// Runs one statement and reads its whole answer.
    pub fn query(&mut self, statement: &str) -> Result<Answer, Error> {
        self.sequence = 0;
        let mut body = Vec::with_capacity(statement.len() + 1);
        body.push(COM_QUERY);
        body.extend_from_slice(statement.as_bytes());
        self.write_packet(&body)?;
        self.read_packet()?;
        match self.packet.first() {
            Some(0x00) => return self.ok(),
            Some(0xff) => return Err(self.error()),
            Some(0xfb) => return Err(truncated()),
            _ => {}
        }
        let (count, _) = length(&self.packet).ok_or_else(truncated)?;
        let mut answer = Answer::default();
        for _ in 0..count {
            self.read_packet()?;
            let mut rest = &self.packet[..];
            let mut name = String::new();
            for field in 0..6 {
                let text = string(&mut rest).ok_or_else(truncated)?;
                if field == 4 {
                    name = String::from_utf8_lossy(text).into_owned();
                }
            }
            answer.columns.push(name);
            answer.types.push(*rest.get(7).ok_or_else(truncated)?);
        }
        self.read_packet()?; // EOF after the definitions
        loop {
            self.read_packet()?;
            match self.packet.first() {
                Some(0xfe) if self.packet.len() < 9 => {
                    answer.warnings = u16::from_le_bytes([self.packet[1], self.packet[2]]);
                    return Ok(answer);
                }
                Some(0xff) => return Err(self.error()),
                _ => {}
            }
            let mut rest = &self.packet[..];
            let mut row = Vec::with_capacity(count as usize);
            for _ in 0..count {
                if rest.first() == Some(&0xfb) {
                    rest = &rest[1..];
                    row.push(None);
                } else {
                    let text = string(&mut rest).ok_or_else(truncated)?;
                    row.push(Some(String::from_utf8_lossy(text).into_owned()));
                }
            }
            answer.rows.push(row);
        }
    }

    fn ok(&self) -> Result<Answer, Error> {
        let mut rest = &self.packet[1..];
        let mut next = || -> Option<u64> {
            let (number, bytes) = length(rest)?;
            rest = &rest[bytes..];
            Some(number)
        };
        let affected = next().ok_or_else(truncated)?;
        let last_insert_id = next().ok_or_else(truncated)?;
        let warnings = rest.get(2..4).map_or(0, |two| u16::from_le_bytes([two[0], two[1]]));
        let info = String::from_utf8_lossy(rest.get(4..).unwrap_or_default()).into_owned();
        Ok(Answer { affected, last_insert_id, warnings, info, ..Answer::default() })
    }

    fn error(&self) -> Error {
        let packet = &self.packet;
        if packet.len() < 3 || packet[0] != 0xff {
            return truncated();
        }
        let code = u16::from_le_bytes([packet[1], packet[2]]);
        let text = String::from_utf8_lossy(&packet[3..]).into_owned();
        match text.strip_prefix('#') {
            Some(text) if text.is_char_boundary(5) && text.len() >= 5 => {
                Error::Server { code, state: text[..5].to_string(), message: text[5..].to_string() }
            }
            _ => Error::Server { code, state: String::new(), message: text },
        }
    }

    fn read_packet(&mut self) -> Result<(), Error> {
        self.packet.clear();
        loop {
            let mut head = [0; 4];
            self.reader.read_exact(&mut head)?;
            let bytes = u32::from_le_bytes([head[0], head[1], head[2], 0]) as usize;
            self.sequence = head[3].wrapping_add(1);
            let start = self.packet.len();
            self.packet.resize(start + bytes, 0);
            self.reader.read_exact(&mut self.packet[start..])?;
            if bytes < 0xff_ffff {
                return Ok(());
            }
        }
    }

    fn write_packet(&mut self, body: &[u8]) -> Result<(), Error> {
        assert!(body.len() < 0xff_ffff, "a statement of the tests fits one packet");
        let mut packet = Vec::with_capacity(body.len() + 4);
        packet.extend_from_slice(&(body.len() as u32).to_le_bytes()[..3]);
        packet.push(self.sequence);
        packet.extend_from_slice(body);
        self.sequence = self.sequence.wrapping_add(1);
        self.writer.write_all(&packet)?;
        Ok(())
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.sequence = 0;
        let _ = self.write_packet(&[COM_QUIT]); // The server may be dead already; then there is nobody to tell.
    }
}

fn truncated() -> Error {
    Error::Io(io::Error::new(io::ErrorKind::InvalidData, "the server's packet is not what the protocol allows"))
}

/// A length-encoded integer and the bytes it took.
fn length(bytes: &[u8]) -> Option<(u64, usize)> {
    let take = |count: usize| -> Option<(u64, usize)> {
        let mut number = [0; 8];
        number[..count].copy_from_slice(bytes.get(1..1 + count)?);
        Some((u64::from_le_bytes(number), 1 + count))
    };
    match *bytes.first()? {
        small @ 0..=0xfa => Some((u64::from(small), 1)),
        0xfc => take(2),
        0xfd => take(3),
        0xfe => take(8),
        _ => None,
    }
}

/// A length-encoded string, taken off the front of `rest`.
fn string<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (bytes, head) = length(rest)?;
    let end = head.checked_add(usize::try_from(bytes).ok()?)?;
    let text = rest.get(head..end)?;
    *rest = &rest[end..];
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_decoded_and_bounded() {
        assert_eq!(length(&[5]), Some((5, 1)));
        assert_eq!(length(&[0xfc, 1, 2]), Some((0x201, 3)));
        assert_eq!(length(&[0xfd, 1, 2, 3]), Some((0x03_0201, 4)));
        assert_eq!(length(&[0xfc, 1]), None);
        assert_eq!(string(&mut &[3, b'a', b'b'][..]), None);
    }
}
