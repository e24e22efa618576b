//! A tiny client, for tests: it speaks the client's half of the protocol, as strictly as a test should.

pub mod fixture;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;

use format::packet::column::ColumnDefinition;
use format::packet::frame::{self, Header, Packets};
use format::packet::handshake::{self, Attributes, Handshake, HandshakeResponse};
use format::packet::{Capabilities, command::number, response, row, statement, status};
use rustls::{ClientConfig, ClientConnection, StreamOwned};
use server::auth;

pub trait Socket: Read + Write {}
impl<T: Read + Write> Socket for T {}

/// An error that the server sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    pub code: u16,
    pub sqlstate: String,
    pub message: String,
}

/// One result: rows, or what a statement did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    Rows { columns: Vec<ColumnDefinition>, payloads: Vec<Vec<u8>> },
    Done { affected_rows: u64, last_insert_id: u64, warnings: u16 },
    Refused(Refusal),
}

impl Outcome {
    /// The rows of a text result.
    pub fn text(&self) -> Vec<Vec<Option<String>>> {
        let Self::Rows { columns, payloads } = self else { panic!("rows expected, not {self:?}") };
        let field = |field: Option<Vec<u8>>| field.map(|bytes| String::from_utf8(bytes).unwrap());
        payloads
            .iter()
            .map(|payload| row::decode_text(payload, columns.len()).unwrap().into_iter().map(field).collect())
            .collect()
    }

    pub fn code(&self) -> u16 {
        match self {
            Self::Refused(refusal) => refusal.code,
            other => panic!("an error was expected, not {other:?}"),
        }
    }
}

pub struct Client {
    socket: Box<dyn Socket>,
    capabilities: Capabilities,
    buffer: Vec<u8>,
    sequence: u8,
}

/// How to log in.
pub struct Login<'a> {
    pub user: &'a str,
    pub password: &'a str,
    /// What the client says first, whatever the account has.
    pub plugin: &'a str,
    pub database: Option<&'a str>,
    pub capabilities: Capabilities,
    /// What the client says of itself, encoded.
    pub attributes: &'a [u8],
    pub zstd_level: u8,
}

impl Default for Login<'_> {
    fn default() -> Self {
        Self {
            user: "root",
            password: "",
            plugin: "mysql_native_password",
            database: None,
            capabilities: Capabilities::SERVER.without(Capabilities::QUERY_ATTRIBUTES | Capabilities::SESSION_TRACK),
            attributes: &[],
            zstd_level: 3,
        }
    }
}

impl Client {
    pub fn unix(path: &Path, login: &Login<'_>) -> Result<Self, Refusal> {
        Self::log_in(Box::new(UnixStream::connect(path).unwrap()), true, login)
    }

    pub fn tcp(port: u16, login: &Login<'_>) -> Result<Self, Refusal> {
        Self::log_in(Box::new(TcpStream::connect(("127.0.0.1", port)).unwrap()), false, login)
    }

    pub fn on(socket: Box<dyn Socket>, login: &Login<'_>) -> Result<Self, Refusal> {
        Self::log_in(socket, true, login)
    }

    /// The greeting has been read.
    pub fn on_greeted(socket: Box<dyn Socket>, greeting: &[u8], login: &Login<'_>) -> Result<Self, Refusal> {
        Self::log_in_by(socket, false, login, |client| {
            client.buffer.extend_from_slice(greeting);
            client.receive()
        })
    }

    /// The error is the server's, or the connection's, which it may close at once.
    pub fn try_tcp(port: u16, login: &Login<'_>) -> Result<Self, ()> {
        let mut socket = TcpStream::connect(("127.0.0.1", port)).map_err(drop)?;
        let mut greeting = vec![0; 1000];
        match socket.read(&mut greeting) {
            Ok(bytes) if bytes > 40 => Self::on_greeted(Box::new(socket), &greeting[..bytes], login).map_err(drop),
            _ => Err(()),
        }
    }

    /// From now on it is spoken through this.
    pub fn change_socket(&mut self, socket: Box<dyn Socket>) {
        self.socket = socket;
    }

    pub fn write_raw(&mut self, bytes: &[u8]) {
        self.socket.write_all(bytes).unwrap();
    }

    /// What was written by hand was a command.
    pub fn expect_answer_to_raw(&mut self) {
        self.sequence = 1;
    }

    /// The answer to a command that was told.
    pub fn next_outcome(&mut self) -> Outcome {
        self.outcome().0
    }

    /// With TLS; `localhost` is the name that the server's certificate must have, if the configuration asks for one.
    pub fn tls(port: u16, login: &Login<'_>, config: Arc<ClientConfig>) -> Result<Self, Refusal> {
        let tcp = TcpStream::connect(("127.0.0.1", port)).unwrap();
        Self::log_in_by(Box::new(tcp.try_clone().unwrap()), true, login, |client| {
            let greeting = client.receive();
            assert!(Handshake::decode(&greeting).unwrap().capabilities.has(Capabilities::SSL));
            client.send(|out| handshake::encode_tls_request(login.capabilities, 1 << 24, 45, out));
            let connection = ClientConnection::new(config, "localhost".try_into().unwrap()).unwrap();
            client.socket = Box::new(StreamOwned::new(connection, tcp));
            greeting
        })
    }

    fn log_in(socket: Box<dyn Socket>, private: bool, login: &Login<'_>) -> Result<Self, Refusal> {
        Self::log_in_by(socket, private, login, Self::receive)
    }

    /// `greet` reads the greeting, and may change the socket.
    fn log_in_by(
        socket: Box<dyn Socket>,
        private: bool,
        login: &Login<'_>,
        greet: impl FnOnce(&mut Self) -> Vec<u8>,
    ) -> Result<Self, Refusal> {
        let mut client = Self { socket, capabilities: Capabilities::default(), buffer: Vec::new(), sequence: 0 };
        let greeting = greet(&mut client);
        if greeting[0] == response::ERROR {
            return Err(refusal(&greeting));
        }
        let greeting = Handshake::decode(&greeting).unwrap();
        let challenge = greeting.challenge;
        client.capabilities = greeting.capabilities & login.capabilities;
        let response = HandshakeResponse {
            capabilities: login.capabilities,
            packet_bytes_max: 1 << 24,
            collation: 45,
            user: login.user.as_bytes(),
            auth: &proof(login.plugin, login.password, &challenge),
            database: login.database.map(str::as_bytes),
            plugin: Some(login.plugin.as_bytes()),
            attributes: Attributes::new(login.attributes),
            zstd_level: login.zstd_level,
        };
        client.send(|out| response.encode(out));
        client.prove(private, login.password, challenge)?;
        Ok(client)
    }

    /// COM_CHANGE_USER, with a proof that is good for nothing: the server must ask for another.
    pub fn change_user(&mut self, user: &str, password: &str) -> Result<(), Refusal> {
        self.sequence = 0;
        self.send(|out| {
            out.push(number::CHANGE_USER);
            out.extend_from_slice(user.as_bytes());
            out.extend_from_slice(b"\0\x01x\0\x2d\0mysql_native_password\0");
        });
        self.prove(true, password, [0; 20])
    }

    /// Does what the server asks for until it lets us in.
    fn prove(&mut self, private: bool, password: &str, mut challenge: [u8; 20]) -> Result<(), Refusal> {
        loop {
            let answer = self.receive();
            match answer[0] {
                response::OK => return Ok(()),
                response::ERROR => return Err(refusal(&answer)),
                0xFE => {
                    let (plugin, data) = handshake::decode_auth_switch(&answer).unwrap();
                    challenge = data.try_into().unwrap();
                    let proof = proof(plugin, password, &challenge);
                    self.send(|out| out.extend_from_slice(&proof));
                }
                1 if answer[1..] == [auth::FAST_AUTH_SUCCESS] => {}
                1 if answer[1..] == [auth::PERFORM_FULL_AUTH] && private => {
                    self.send(|out| out.extend_from_slice(format!("{password}\0").as_bytes()));
                }
                1 if answer[1..] == [auth::PERFORM_FULL_AUTH] => self.send(|out| out.push(auth::REQUEST_PUBLIC_KEY)),
                1 => {
                    let key = std::str::from_utf8(&answer[1..]).unwrap();
                    let hidden = auth::ServerKey::encrypt(key, password.as_bytes(), &challenge).unwrap();
                    self.send(|out| out.extend_from_slice(&hidden));
                }
                other => panic!("unexpected answer {other}"),
            }
        }
    }

    /// Runs a text that may hold several statements.
    pub fn query_all(&mut self, text: &str) -> Vec<Outcome> {
        self.command(number::QUERY, text.as_bytes());
        let mut outcomes = Vec::new();
        loop {
            let (outcome, more) = self.outcome();
            outcomes.push(outcome);
            if !more {
                return outcomes;
            }
        }
    }

    /// Runs one statement.
    pub fn query(&mut self, text: &str) -> Outcome {
        let mut outcomes = self.query_all(text);
        assert_eq!(outcomes.len(), 1, "{outcomes:?}");
        outcomes.remove(0)
    }

    /// Runs one statement that must succeed.
    pub fn run(&mut self, text: &str) {
        if let Outcome::Refused(refusal) = self.query(text) {
            panic!("{text}: {refusal:?}");
        }
    }

    /// The statement's id, and how many columns and parameters it has.
    pub fn prepare(&mut self, text: &str) -> Result<(u32, u16, u16), Refusal> {
        self.command(number::STMT_PREPARE, text.as_bytes());
        let answer = self.receive();
        if answer[0] == response::ERROR {
            return Err(refusal(&answer));
        }
        let (id, columns, parameters) = statement::decode_prepare_ok(&answer).unwrap();
        for count in [parameters, columns] {
            for _ in 0..count {
                ColumnDefinition::decode(&self.receive()).unwrap();
            }
            if count > 0 && !self.capabilities.has(Capabilities::DEPRECATE_EOF) {
                assert!(response::is_eof(&self.receive()));
            }
        }
        Ok((id, columns, parameters))
    }

    /// Executes with the parameters' null bitmap, types and values as they are to be sent.
    pub fn execute(&mut self, id: u32, parameters: &[u8]) -> Outcome {
        let mut payload = id.to_le_bytes().to_vec();
        payload.extend_from_slice(&[0, 1, 0, 0, 0]);
        payload.extend_from_slice(parameters);
        self.command(number::STMT_EXECUTE, &payload);
        self.outcome().0
    }

    /// The same for a CALL: all that it answers.
    pub fn execute_all(&mut self, id: u32, parameters: &[u8]) -> Vec<Outcome> {
        let mut outcomes = vec![];
        let mut payload = id.to_le_bytes().to_vec();
        payload.extend_from_slice(&[0, 1, 0, 0, 0]);
        payload.extend_from_slice(parameters);
        self.command(number::STMT_EXECUTE, &payload);
        loop {
            let (outcome, more) = self.outcome();
            outcomes.push(outcome);
            if !more {
                return outcomes;
            }
        }
    }

    /// Sends a command that has no answer.
    pub fn tell(&mut self, command: u8, payload: &[u8]) {
        self.command(command, payload);
    }

    /// Sends the next packet of a conversation.
    pub fn go_on(&mut self, payload: &[u8]) {
        self.send(|out| out.extend_from_slice(payload));
    }

    /// The next packet that is sent or received has this number.
    pub fn go_on_at(&mut self, sequence: u8) {
        self.sequence = sequence;
    }

    /// Sends a command whose answer is one packet.
    pub fn ask(&mut self, command: u8, payload: &[u8]) -> Vec<u8> {
        self.command(command, payload);
        self.receive()
    }

    fn outcome(&mut self) -> (Outcome, bool) {
        let first = self.receive();
        match first[0] {
            response::ERROR => (Outcome::Refused(refusal(&first)), false),
            response::OK => {
                let ok = response::Ok::decode(&first).unwrap();
                let done = Outcome::Done {
                    affected_rows: ok.affected_rows,
                    last_insert_id: ok.last_insert_id,
                    warnings: ok.warnings,
                };
                (done, ok.status & status::MORE_RESULTS != 0)
            }
            count => {
                let columns: Vec<_> = (0..count).map(|_| ColumnDefinition::decode(&self.receive()).unwrap()).collect();
                let new_style = self.capabilities.has(Capabilities::DEPRECATE_EOF);
                if !new_style {
                    assert!(response::is_eof(&self.receive()));
                }
                let mut payloads = Vec::new();
                loop {
                    let payload = self.receive();
                    if payload[0] == response::ERROR {
                        return (Outcome::Refused(refusal(&payload)), false);
                    }
                    // A row that begins with this byte has a value of 16M, and is longer.
                    let bytes_max = if new_style { 0xFF_FFFF } else { 9 };
                    if payload[0] == response::EOF && payload.len() < bytes_max {
                        let status = if new_style {
                            response::Ok::decode(&payload).unwrap().status
                        } else {
                            u16::from_le_bytes([payload[3], payload[4]])
                        };
                        return (Outcome::Rows { columns, payloads }, status & status::MORE_RESULTS != 0);
                    }
                    payloads.push(payload);
                }
            }
        }
    }

    fn command(&mut self, command: u8, payload: &[u8]) {
        self.sequence = 0;
        self.send(|out| {
            out.push(command);
            out.extend_from_slice(payload);
        });
    }

    fn send(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        let mut packets = Packets::new();
        packets.restart(self.sequence);
        packets.push(write);
        self.sequence = packets.sequence();
        self.socket.write_all(packets.bytes()).unwrap();
    }

    /// The next payload; its number must be the one that is due.
    pub fn receive(&mut self) -> Vec<u8> {
        loop {
            if let Some((payload, sequence, taken)) = frame::join(&self.buffer) {
                let first = Header::decode(&self.buffer).unwrap().sequence;
                assert_eq!(first, self.sequence, "packets out of order");
                self.sequence = sequence.wrapping_add(1);
                self.buffer.drain(..taken);
                return payload;
            }
            let mut piece = [0; 4096];
            let count = self.socket.read(&mut piece).unwrap();
            assert!(count > 0, "the server has closed the connection");
            self.buffer.extend_from_slice(&piece[..count]);
        }
    }

    /// Whether the server has closed the connection.
    pub fn is_closed(&mut self) -> bool {
        matches!(self.socket.read(&mut [0; 1]), Ok(0) | Err(_))
    }

    /// What the server says without having been asked.
    pub fn last_words(&mut self, sequence: u8) -> Refusal {
        self.sequence = sequence;
        refusal(&self.receive())
    }
}

fn proof(plugin: &str, password: &str, challenge: &[u8; 20]) -> Vec<u8> {
    match plugin {
        "mysql_native_password" => auth::native_proof(password.as_bytes(), challenge),
        "caching_sha2_password" => auth::sha2_proof(password.as_bytes(), challenge),
        other => panic!("unknown plugin {other}"),
    }
}

pub fn refusal(payload: &[u8]) -> Refusal {
    let error = response::Error::decode(payload).unwrap();
    Refusal {
        code: error.code,
        sqlstate: String::from_utf8(error.sqlstate.to_vec()).unwrap(),
        message: error.message.to_owned(),
    }
}
