//! The least client that a command needs to ask a running server on this machine: log in over its socket, send one
//! statement, take the rows as they come.
//!
//! ```text
//! greeting -> answer with a proof of the password -> (another plugin, the password itself: the socket is private) -> OK
//! statement -> columns, rows ... -> OK or error
//! ```

use std::fmt;
use std::io::{self, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;

use format::packet::handshake::{self, Attributes, Handshake, HandshakeResponse};
use format::packet::reader::Malformed;
use format::packet::response;
use format::packet::row;
use format::packet::{Capabilities, frame};
use server::auth::{native_proof, sha2_proof};
use sql::accounts::Plugin;

/// Why there is no answer.
#[derive(Debug)]
pub enum Refused {
    /// The server says so: its number, state and words.
    Server(String),
    Connection(io::Error),
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refused::Server(text) => f.write_str(text),
            Refused::Connection(cause) => write!(f, "connection to the server: {cause}"),
        }
    }
}

impl From<io::Error> for Refused {
    fn from(cause: io::Error) -> Refused {
        Refused::Connection(cause)
    }
}

impl From<Malformed> for Refused {
    fn from(malformed: Malformed) -> Refused {
        Refused::Connection(io::Error::new(io::ErrorKind::InvalidData, malformed.to_string()))
    }
}

/// A connection that has been let in.
pub struct Client {
    reader: BufReader<UnixStream>,
    writer: UnixStream,
    sequence: u8,
    payload: Vec<u8>,
}

const COM_QUIT: u8 = 1;
const COM_QUERY: u8 = 3;
/// utf8mb4_general_ci, which every server knows.
const COLLATION: u8 = 45;

/// What we can do: nothing that a backup does not need. Without DEPRECATE_EOF, rows end as they always did.
const WANTED: Capabilities = Capabilities(
    Capabilities::PROTOCOL_41.0
        | Capabilities::SECURE_CONNECTION.0
        | Capabilities::PLUGIN_AUTH.0
        | Capabilities::PLUGIN_AUTH_LENENC.0
        | Capabilities::TRANSACTIONS.0,
);

impl Client {
    pub fn connect(socket: &Path, user: &str, password: &str) -> Result<Client, Refused> {
        let stream = UnixStream::connect(socket)?;
        let writer = stream.try_clone()?;
        let reader = BufReader::with_capacity(1 << 18, stream);
        let mut client = Client { reader, writer, sequence: 0, payload: Vec::new() };
        client.log_in(user, password)?;
        Ok(client)
    }

    fn log_in(&mut self, user: &str, password: &str) -> Result<(), Refused> {
        self.read()?;
        self.check_error()?;
        let (capabilities, challenge, plugin) = {
            let greeting = Handshake::decode(&self.payload)?;
            (greeting.capabilities & WANTED, greeting.challenge, Plugin::by_name(greeting.plugin))
        };
        let mut plugin = plugin.unwrap_or(Plugin::CachingSha2Password);
        let mut answer = Vec::new();
        HandshakeResponse {
            capabilities,
            packet_bytes_max: u32::MAX,
            collation: COLLATION,
            user: user.as_bytes(),
            auth: &proof(plugin, password, &challenge),
            database: None,
            plugin: Some(plugin.name().as_bytes()),
            attributes: Attributes::default(),
            zstd_level: 0,
        }
        .encode(&mut answer);
        self.write(&answer)?;
        loop {
            self.read()?;
            self.check_error()?;
            match self.payload.first() {
                Some(0x00) => return Ok(()),
                Some(0xFE) => {
                    let (name, data) = handshake::decode_auth_switch(&self.payload)?;
                    let wanted = Plugin::by_name(name)
                        .ok_or_else(|| Refused::Server(format!("the account's plugin {name} is not known here")))?;
                    let challenge: [u8; handshake::CHALLENGE_BYTES] =
                        data.try_into().map_err(|_| Malformed { what: "challenge" })?;
                    plugin = wanted;
                    self.write(&proof(plugin, password, &challenge))?;
                }
                // caching_sha2_password: 3, the proof was enough; 4, it wants the password, which a socket does not
                // show.
                Some(0x01) if self.payload.get(1) == Some(&3) => {}
                Some(0x01) if self.payload.get(1) == Some(&4) => {
                    let mut text = password.as_bytes().to_vec();
                    text.push(0);
                    self.write(&text)?;
                }
                _ => return Err(Malformed { what: "answer to a login" }.into()),
            }
        }
    }

    /// Runs a statement. How many columns its rows have.
    fn ask(&mut self, statement: &str) -> Result<u8, Refused> {
        self.sequence = 0;
        let mut command = vec![COM_QUERY];
        command.extend_from_slice(statement.as_bytes());
        self.write(&command)?;
        self.read()?;
        self.check_error()?;
        match self.payload.as_slice() {
            [width] => Ok(*width),
            _ => Err(Malformed { what: "number of columns" }.into()),
        }
    }

    /// Runs a statement whose answer is rows of one column, which then come one after the other.
    pub fn query_column(mut self, statement: &str) -> Result<Column, Refused> {
        if self.ask(statement)? != 1 {
            return Err(Malformed { what: "number of columns" }.into());
        }
        self.read()?; // The column.
        self.read()?; // Its end.
        Ok(Column { client: self, field: Vec::new(), at: 0, ended: false })
    }

    /// Runs a statement, and takes all its rows; NULL is empty. For answers that are small.
    pub fn rows(&mut self, statement: &str) -> Result<Vec<Vec<String>>, Refused> {
        let width = self.ask(statement)?;
        // The columns, and their end.
        for _ in 0..=width {
            self.read()?;
        }
        let mut rows = Vec::new();
        loop {
            self.read()?;
            self.check_error()?;
            if response::is_eof(&self.payload) {
                return Ok(rows);
            }
            let fields = row::decode_text(&self.payload, width.into())?;
            let text = |field: Option<Vec<u8>>| String::from_utf8_lossy(&field.unwrap_or_default()).into_owned();
            rows.push(fields.into_iter().map(text).collect());
        }
    }

    /// The number of the process at the other end.
    pub fn server_process(&self) -> Option<i32> {
        rustix::net::sockopt::socket_peercred(&self.writer).ok().map(|peer| peer.pid.as_raw_nonzero().get())
    }

    fn check_error(&self) -> Result<(), Refused> {
        if self.payload.first() != Some(&0xFF) {
            return Ok(());
        }
        let error = response::Error::decode(&self.payload)?;
        let state = String::from_utf8_lossy(&error.sqlstate).into_owned();
        Err(Refused::Server(format!("ERROR {} ({state}): {}", error.code, error.message)))
    }

    /// Reads a payload, which may come in several packets.
    fn read(&mut self) -> io::Result<()> {
        self.payload.clear();
        loop {
            let mut head = [0; frame::HEADER_BYTES];
            self.reader.read_exact(&mut head)?;
            let header = frame::Header::decode(&head).expect("as many bytes as a head has");
            let start = self.payload.len();
            self.payload.resize(start + header.bytes, 0);
            self.reader.read_exact(&mut self.payload[start..])?;
            self.sequence = header.sequence.wrapping_add(1);
            if !header.continues() {
                return Ok(());
            }
        }
    }

    fn write(&mut self, payload: &[u8]) -> io::Result<()> {
        let mut packets = frame::Packets::new();
        packets.restart(self.sequence);
        packets.push(|out| out.extend_from_slice(payload));
        self.sequence = packets.sequence();
        self.writer.write_all(packets.bytes())
    }
}

/// The rows of an answer, read as one stream of bytes.
pub struct Column {
    client: Client,
    field: Vec<u8>,
    /// Bytes of the field that have been read.
    at: usize,
    ended: bool,
}

impl Column {
    fn next(&mut self) -> Result<(), Refused> {
        self.client.read()?;
        self.client.check_error()?;
        self.ended = response::is_eof(&self.client.payload);
        self.at = 0;
        self.field.clear();
        if !self.ended {
            for field in row::decode_text(&self.client.payload, 1)?.into_iter().flatten() {
                self.field = field;
            }
        }
        Ok(())
    }
}

impl Read for Column {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.at == self.field.len() && !self.ended {
            self.next().map_err(|refused| match refused {
                Refused::Server(text) => io::Error::other(text),
                Refused::Connection(cause) => cause,
            })?;
        }
        let bytes = (self.field.len() - self.at).min(buffer.len());
        buffer[..bytes].copy_from_slice(&self.field[self.at..self.at + bytes]);
        self.at += bytes;
        Ok(bytes)
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.sequence = 0;
        // The server may be gone; then the command is not needed.
        let _ = self.write(&[COM_QUIT]);
    }
}

fn proof(plugin: Plugin, password: &str, challenge: &[u8; handshake::CHALLENGE_BYTES]) -> Vec<u8> {
    if password.is_empty() {
        return Vec::new();
    }
    match plugin {
        Plugin::NativePassword => native_proof(password.as_bytes(), challenge),
        Plugin::CachingSha2Password => sha2_proof(password.as_bytes(), challenge),
        // The password itself: nobody overhears the socket.
        Plugin::Sha256Password => [password.as_bytes(), &[0]].concat(),
        Plugin::Socket => Vec::new(),
    }
}
