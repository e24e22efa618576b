//! A small MySQL client: text protocol, Unix socket, root or another user without a password.
//!
//! Just enough to ask any MySQL-compatible server a question and to know for
//! certain whether a COMMIT was acknowledged.

use std::fmt;
use std::io::{self, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

const CLIENT_LONG_PASSWORD: u32 = 1;
const CLIENT_FOUND_ROWS_OFF: u32 = 0;
const CLIENT_LONG_FLAG: u32 = 4;
const CLIENT_CONNECT_WITH_DB: u32 = 8;
const CLIENT_PROTOCOL_41: u32 = 0x200;
const CLIENT_TRANSACTIONS: u32 = 0x2000;
const CLIENT_SECURE_CONNECTION: u32 = 0x8000;
const CLIENT_MULTI_STATEMENTS: u32 = 0x1_0000;
const CLIENT_MULTI_RESULTS: u32 = 0x2_0000;
const CLIENT_PLUGIN_AUTH: u32 = 0x8_0000;

const COM_QUIT: u8 = 1;
const COM_QUERY: u8 = 3;

/// The answer is not the last one of its command.
const SERVER_MORE_RESULTS_EXISTS: u16 = 8;
/// What a packet can hold at most; a longer command goes on in the next one.
const PACKET_BYTES_MAX: usize = 0xff_ffff;

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
    /// Cells as text, or as `0x...` where the bytes are no UTF-8; `None` is NULL.
    pub rows: Vec<Vec<Option<String>>>,
    /// Rows that came after [`Login::rows_max`] and were counted only.
    pub rows_beyond: u64,
    pub affected: u64,
    pub last_insert_id: u64,
    pub warnings: u16,
    pub info: String,
    /// Another answer of the same command follows.
    pub more: bool,
}

/// What the answers of one command may take.
#[derive(Debug, Clone, Copy)]
pub struct Bound {
    /// How long they may take, and after that, how long the server may take to hear that it is to end them.
    pub patience: Duration,
    /// How many packets: each row is one.
    pub packets: u64,
}

/// How a command that was given a bound ended.
#[derive(Debug)]
pub enum Ending {
    Answered(Vec<Answer>),
    Refused(Error),
    /// It took too long, or too much, and was ended by KILL QUERY. The connection is ready for the next command.
    Killed,
    /// Not even that helped, or the connection is gone.
    Gone(String),
}

/// How a command stands to its bound.
#[derive(Debug, Clone, Copy)]
enum Course {
    Unbounded,
    Bounded {
        until: Instant,
        packets: u64,
        patience: Duration,
    },
    /// Its packets are read and dropped until it ends.
    Killed {
        until: Instant,
    },
}

/// How a connection presents itself.
#[derive(Debug, Clone)]
pub struct Login<'a> {
    /// An account without a password.
    pub user: &'a str,
    pub database: Option<&'a str>,
    /// The collation's number in the handshake.
    pub collation: u8,
    /// Whether a command may hold several statements.
    pub several_statements: bool,
    /// Rows of one answer that are kept.
    pub rows_max: usize,
}

impl Default for Login<'_> {
    fn default() -> Self {
        // utf8mb4_general_ci
        Login { user: "root", database: None, collation: 45, several_statements: false, rows_max: usize::MAX }
    }
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
    rows_max: usize,
    socket: PathBuf,
    /// The connection's number, which KILL names.
    id: u32,
    course: Course,
}

impl Client {
    pub fn connect(socket: &Path) -> Result<Client, Error> {
        Client::log_in(socket, &Login::default())
    }

    pub fn log_in(socket: &Path, login: &Login<'_>) -> Result<Client, Error> {
        Client::log_in_within(socket, login, Duration::from_secs(120))
    }

    /// `patience` is how long each packet may take.
    fn log_in_within(socket: &Path, login: &Login<'_>, patience: Duration) -> Result<Client, Error> {
        let stream = UnixStream::connect(socket)?;
        stream.set_read_timeout(Some(patience))?;
        stream.set_write_timeout(Some(patience))?;
        let writer = stream.try_clone()?;
        let mut client = Client {
            reader: BufReader::with_capacity(1 << 16, stream),
            writer,
            sequence: 0,
            packet: Vec::new(),
            rows_max: login.rows_max,
            socket: socket.into(),
            id: 0,
            course: Course::Unbounded,
        };
        client.handshake(login)?;
        Ok(client)
    }

    /// How long each packet may take.
    pub fn set_patience(&self, patience: Duration) -> io::Result<()> {
        self.reader.get_ref().set_read_timeout(Some(patience))
    }

    fn handshake(&mut self, login: &Login<'_>) -> Result<(), Error> {
        self.read_packet()?;
        if self.packet.first() == Some(&0xff) {
            return Err(self.error());
        }
        // A byte for the protocol, the version up to a zero, the number.
        let version = self.packet.iter().skip(1).position(|&byte| byte == 0).ok_or_else(truncated)?;
        let id = self.packet.get(version + 2..version + 6).ok_or_else(truncated)?;
        self.id = u32::from_le_bytes(id.try_into().expect("four bytes"));
        let mut flags = CLIENT_LONG_PASSWORD
            | CLIENT_FOUND_ROWS_OFF
            | CLIENT_LONG_FLAG
            | CLIENT_PROTOCOL_41
            | CLIENT_TRANSACTIONS
            | CLIENT_SECURE_CONNECTION
            | CLIENT_MULTI_RESULTS
            | CLIENT_PLUGIN_AUTH;
        if login.several_statements {
            flags |= CLIENT_MULTI_STATEMENTS;
        }
        if login.database.is_some() {
            flags |= CLIENT_CONNECT_WITH_DB;
        }
        let mut body = Vec::new();
        body.extend_from_slice(&flags.to_le_bytes());
        body.extend_from_slice(&(64u32 << 20).to_le_bytes());
        body.push(login.collation);
        body.extend_from_slice(&[0; 23]);
        body.extend_from_slice(login.user.as_bytes());
        body.push(0);
        body.push(0); // An empty password has an empty answer.
        if let Some(database) = login.database {
            body.extend_from_slice(database.as_bytes());
            body.push(0);
        }
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
        self.send(statement.as_bytes())?;
        self.receive()
    }

    /// Sends a statement, whose answers [`Client::receive`] reads.
    pub fn send(&mut self, statement: &[u8]) -> Result<(), Error> {
        self.sequence = 0;
        let mut body = Vec::with_capacity(statement.len() + 1);
        body.push(COM_QUERY);
        body.extend_from_slice(statement);
        self.write_packet(&body)
    }

    /// The events of the binary log from a place up to its end, as a replica is sent them.
    pub fn binlog(&mut self, file: &str, position: u32) -> Result<Vec<Vec<u8>>, Error> {
        const COM_BINLOG_DUMP: u8 = 18;
        const NON_BLOCKING: u16 = 1;
        self.sequence = 0;
        let mut body = vec![COM_BINLOG_DUMP];
        body.extend_from_slice(&position.to_le_bytes());
        body.extend_from_slice(&NON_BLOCKING.to_le_bytes());
        // A client that is no replica.
        body.extend_from_slice(&[0; 4]);
        body.extend_from_slice(file.as_bytes());
        self.write_packet(&body)?;
        let mut events = Vec::new();
        loop {
            self.read_packet()?;
            match self.packet.first() {
                Some(0x00) => events.push(self.packet[1..].to_vec()),
                Some(0xfe) => return Ok(events),
                _ => return Err(self.error()),
            }
        }
    }

    /// Waits until an answer begins to arrive; false if none does within `patience`.
    pub fn is_answered_within(&self, patience: Duration) -> Result<bool, Error> {
        if !self.reader.buffer().is_empty() {
            return Ok(true);
        }
        let mut sockets = [PollFd::new(self.reader.get_ref(), PollFlags::IN)];
        let timeout = Timespec { tv_sec: patience.as_secs() as i64, tv_nsec: i64::from(patience.subsec_nanos()) };
        let ready = poll(&mut sockets, Some(&timeout)).map_err(io::Error::from)?;
        Ok(ready > 0)
    }

    /// Reads all answers of the command that was sent, and ends it where they are more than `bound` allows.
    pub fn receive_within(&mut self, bound: Bound) -> Ending {
        let until = Instant::now() + bound.patience;
        self.course = Course::Bounded { until, packets: bound.packets, patience: bound.patience };
        let mut answers = Vec::new();
        let result = loop {
            match self.receive() {
                Ok(answer) => {
                    let more = answer.more;
                    if !matches!(self.course, Course::Killed { .. }) {
                        answers.push(answer);
                    }
                    if !more {
                        break Ok(answers);
                    }
                }
                Err(error) => break Err(error),
            }
        };
        let killed = matches!(self.course, Course::Killed { .. });
        self.course = Course::Unbounded;
        match result {
            Err(Error::Io(error)) => Ending::Gone(error.to_string()),
            _ if killed => Ending::Killed,
            Ok(answers) => Ending::Answered(answers),
            Err(error) => Ending::Refused(error),
        }
    }

    /// Waits for the next packet of a command that has a bound, and kills the command where it exceeds that.
    fn stay_within_bound(&mut self) -> Result<(), Error> {
        loop {
            let (until, packets) = match self.course {
                Course::Unbounded => return Ok(()),
                Course::Bounded { until, packets, .. } => (until, packets),
                Course::Killed { until } => (until, u64::MAX),
            };
            let left = until.saturating_duration_since(Instant::now());
            let is_within = packets > 0 && !left.is_zero() && self.is_answered_within(left)?;
            match &mut self.course {
                Course::Bounded { packets, .. } if is_within => {
                    *packets -= 1;
                    return Ok(());
                }
                _ if is_within => return Ok(()),
                Course::Bounded { patience, .. } => {
                    let patience = *patience;
                    self.course = Course::Killed { until: Instant::now() + patience };
                    self.kill_query(patience)?;
                }
                _ => return Err(io::Error::new(io::ErrorKind::TimedOut, "does not hear KILL QUERY").into()),
            }
        }
    }

    /// Ends, over another connection, what this one is doing.
    fn kill_query(&self, patience: Duration) -> Result<(), Error> {
        let mut other = Client::log_in_within(&self.socket, &Login::default(), patience)?;
        other.query(&format!("KILL QUERY {}", self.id))?;
        Ok(())
    }

    /// Reads one whole answer of the statement that was sent.
    pub fn receive(&mut self) -> Result<Answer, Error> {
        self.read_packet()?;
        if self.packet.first() == Some(&0xfb) {
            // The server asks for a file of the client: it is empty.
            self.write_packet(&[])?;
            self.read_packet()?;
        }
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
                    if let [_, low, high, status_low, status_high, ..] = self.packet[..] {
                        answer.warnings = u16::from_le_bytes([low, high]);
                        answer.more = u16::from_le_bytes([status_low, status_high]) & SERVER_MORE_RESULTS_EXISTS != 0;
                    }
                    return Ok(answer);
                }
                Some(0xff) => return Err(self.error()),
                _ => {}
            }
            if answer.rows.len() >= self.rows_max || matches!(self.course, Course::Killed { .. }) {
                answer.rows_beyond += 1;
                continue;
            }
            let mut rest = &self.packet[..];
            let mut row = Vec::with_capacity(count as usize);
            for _ in 0..count {
                if rest.first() == Some(&0xfb) {
                    rest = &rest[1..];
                    row.push(None);
                } else {
                    let text = string(&mut rest).ok_or_else(truncated)?;
                    row.push(Some(readable(text)));
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
        let two = |at: usize| rest.get(at..at + 2).map_or(0, |two| u16::from_le_bytes([two[0], two[1]]));
        let more = two(0) & SERVER_MORE_RESULTS_EXISTS != 0;
        let warnings = two(2);
        let info = String::from_utf8_lossy(rest.get(4..).unwrap_or_default()).into_owned();
        Ok(Answer { affected, last_insert_id, warnings, info, more, ..Answer::default() })
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
        self.stay_within_bound()?;
        self.packet.clear();
        loop {
            let mut head = [0; 4];
            self.reader.read_exact(&mut head)?;
            let bytes = u32::from_le_bytes([head[0], head[1], head[2], 0]) as usize;
            self.sequence = head[3].wrapping_add(1);
            let start = self.packet.len();
            self.packet.resize(start + bytes, 0);
            self.reader.read_exact(&mut self.packet[start..])?;
            if bytes < PACKET_BYTES_MAX {
                return Ok(());
            }
        }
    }

    fn write_packet(&mut self, body: &[u8]) -> Result<(), Error> {
        let mut packets = Vec::with_capacity(body.len() + 4);
        let mut rest = body;
        loop {
            let (part, remaining) = rest.split_at(rest.len().min(PACKET_BYTES_MAX));
            packets.extend_from_slice(&(part.len() as u32).to_le_bytes()[..3]);
            packets.push(self.sequence);
            packets.extend_from_slice(part);
            self.sequence = self.sequence.wrapping_add(1);
            rest = remaining;
            if part.len() < PACKET_BYTES_MAX {
                break;
            }
        }
        self.writer.write_all(&packets)?;
        Ok(())
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.sequence = 0;
        let _ = self.write_packet(&[COM_QUIT]); // The server may be dead already; then it is not needed.
    }
}

fn truncated() -> Error {
    Error::Io(io::Error::new(io::ErrorKind::InvalidData, "the server's packet is not what the protocol allows"))
}

/// Text as it is, other bytes in hexadecimal: two different cells never look the same.
fn readable(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.to_string(),
        Err(_) => bytes.iter().fold(String::from("0x"), |text, byte| text + &format!("{byte:02x}")),
    }
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
    use std::os::unix::net::UnixListener;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;

    use super::*;

    /// What a server sends for `SELECT 1` and says that more follows.
    const ANSWER: [&[u8]; 5] = [
        &[1],
        b"\x03def\0\0\0\x01a\0\x0c\x08\0\x01\0\0\0\x03\0\0\0\0\0",
        &[0xfe, 0, 0, SERVER_MORE_RESULTS_EXISTS as u8, 0],
        &[1, b'1'],
        &[0xfe, 0, 0, SERVER_MORE_RESULTS_EXISTS as u8, 0],
    ];
    const KILLED: &[u8] = b"\xff\x25\x05#70100Query execution was interrupted";
    const OK: &[u8] = &[0, 0, 0, 2, 0, 0, 0];

    /// A server that answers `quick` once, anything else without end or not at all, until another connection says KILL
    /// QUERY and its number, which is 7 for the first one.
    fn serve(socket: &Path, hears_kill: bool) {
        let listener = UnixListener::bind(socket).expect("a new socket");
        let kills = Arc::new(AtomicBool::new(false));
        thread::spawn(move || {
            for (id, stream) in (7u8..).zip(listener.incoming()) {
                let mut stream = stream.expect("a client");
                let kills = Arc::clone(&kills);
                thread::spawn(move || -> io::Result<()> {
                    let say = |sequence: u8, body: &[u8], stream: &mut UnixStream| {
                        let head = [body.len() as u8, 0, 0, sequence];
                        stream.write_all(&[&head, body].concat())
                    };
                    let hear = |stream: &mut UnixStream| -> io::Result<Vec<u8>> {
                        let mut head = [0; 4];
                        stream.read_exact(&mut head)?;
                        let mut body = vec![0; usize::from(head[0])];
                        stream.read_exact(&mut body)?;
                        Ok(body)
                    };
                    say(0, &[b"\x0a8.0\0", &[id, 0, 0, 0][..]].concat(), &mut stream)?;
                    hear(&mut stream)?;
                    say(2, OK, &mut stream)?;
                    loop {
                        let command = hear(&mut stream)?;
                        match &command[1..] {
                            _ if command[0] == COM_QUIT => return Ok(()),
                            b"quick" => say(1, OK, &mut stream)?,
                            b"KILL QUERY 7" => {
                                kills.store(hears_kill, Ordering::SeqCst);
                                say(1, OK, &mut stream)?;
                            }
                            text => {
                                while !kills.swap(false, Ordering::SeqCst) {
                                    match text {
                                        b"silent" => thread::sleep(Duration::from_millis(1)),
                                        _ => {
                                            for packet in ANSWER {
                                                say(1, packet, &mut stream)?;
                                            }
                                        }
                                    }
                                }
                                say(1, KILLED, &mut stream)?;
                            }
                        }
                    }
                });
            }
        });
    }

    fn bound(milliseconds: u64, packets: u64) -> Bound {
        Bound { patience: Duration::from_millis(milliseconds), packets }
    }

    #[test]
    fn a_command_that_answers_without_end_is_killed_and_the_connection_goes_on() {
        let directory = crate::process::Scratch::new("client-bound").expect("a scratch directory");
        let socket = directory.0.join("s.sock");
        serve(&socket, true);
        let mut client = Client::connect(&socket).expect("it listens");
        for (command, bound) in [
            ("endless", bound(60_000, 1000)), // Too much.
            ("endless", bound(50, u64::MAX)), // Too long, though something arrives all the time.
            ("silent", bound(50, u64::MAX)),
        ] {
            client.send(command.as_bytes()).unwrap();
            let ending = client.receive_within(bound);
            assert!(matches!(ending, Ending::Killed), "{command}: {ending:?}");
            client.send(b"quick").unwrap();
            assert!(matches!(client.receive_within(bound), Ending::Answered(answers) if answers.len() == 1));
        }
    }

    #[test]
    fn a_command_that_does_not_hear_kill_is_given_up() {
        let directory = crate::process::Scratch::new("client-deaf").expect("a scratch directory");
        let socket = directory.0.join("s.sock");
        serve(&socket, false);
        for command in ["endless", "silent"] {
            let mut client = Client::connect(&socket).expect("it listens");
            client.id = 7;
            client.send(command.as_bytes()).unwrap();
            assert!(matches!(client.receive_within(bound(50, 1000)), Ending::Gone(why) if why.contains("KILL")));
        }
    }

    #[test]
    fn lengths_are_decoded_and_bounded() {
        assert_eq!(length(&[5]), Some((5, 1)));
        assert_eq!(length(&[0xfc, 1, 2]), Some((0x201, 3)));
        assert_eq!(length(&[0xfd, 1, 2, 3]), Some((0x03_0201, 4)));
        assert_eq!(length(&[0xfc, 1]), None);
        assert_eq!(string(&mut &[3, b'a', b'b'][..]), None);
    }
}
