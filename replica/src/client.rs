//! A client connection to the source: login, questions, and the dump of its log.
//!
//! ```text
//! replica                                      source
//! [a request for TLS                  --->      and its handshake]
//! answer to the greeting              --->
//!                                     <---     OK, or another plugin
//! SELECT, SET                         --->
//!                                     <---     rows, OK
//! COM_REGISTER_SLAVE                  --->
//!                                     <---     OK
//! COM_BINLOG_DUMP[_GTID]              --->
//!                                     <---     0, event      as long as both live
//!                                              0, 0xEF, whether it is to be answered, event    if semi-synchronous
//! 0xEF, position, file                --->
//! ```
//!
//! Libraries for clients of MySQL exist; those that can read a log bring decimals and a parser of events of their own, and
//! hand events out parsed, while a relay log wants their bytes.

use std::fmt;
use std::fs;
use std::io::{self, BufReader, Read, Write};
use std::path::Path;
use std::time::Duration;

use format::binlog::mariadb::MariadbPosition;
use format::binlog::{GtidSet, Uuid};
use format::packet::handshake::{self, CHALLENGE_BYTES, Handshake};
use format::packet::{Capabilities, Reader, writer};
use rsa::pkcs8::DecodePublicKey;
use rsa::{Oaep, RsaPublicKey};
use sha1::Sha1;
use sha2::{Digest, Sha256};
use sql::transport::TlsSettings;

use crate::link::{Address, Link};
use crate::source::Source;
use crate::tls::{self, Channel, Mode};

const COM_QUIT: u8 = 1;
const COM_QUERY: u8 = 3;
const COM_BINLOG_DUMP: u8 = 18;
const COM_REGISTER_SLAVE: u8 = 21;
const COM_BINLOG_DUMP_GTID: u8 = 30;

const NATIVE: &str = "mysql_native_password";
const SHA2: &str = "caching_sha2_password";

/// What is asked of the server: nothing that reading its log does not need.
const LOGIN_FLAGS: Capabilities = Capabilities(
    Capabilities::LONG_PASSWORD.0
        | Capabilities::LONG_FLAG.0
        | Capabilities::PROTOCOL_41.0
        | Capabilities::TRANSACTIONS.0
        | Capabilities::SECURE_CONNECTION.0
        | Capabilities::PLUGIN_AUTH.0,
);
/// utf8mb4_general_ci, which every server knows.
const COLLATION: u8 = 45;

/// STOP REPLICA cannot end a connection that is being made, so this is not as long as other waits.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// What is read from the source at once.
const READ_BYTES: usize = 256 << 10;

/// What a packet can hold at most; a longer payload goes on in the next one.
const PACKET_BYTES_MAX: usize = 0xFF_FFFF;
/// What the source may send in one event: 1 GiB and its frame.
const EVENT_BYTES_MAX: usize = (1 << 30) + (1 << 20);

/// Why there is no connection, or no answer.
#[derive(Debug)]
pub enum Failure {
    Io(io::Error),
    /// The source refused.
    Server {
        code: u16,
        message: String,
    },
    /// The source, or the configuration, is not what replication needs.
    Unfit(String),
}

impl Failure {
    /// The number by which MySQL calls it.
    pub fn code(&self) -> u16 {
        match self {
            Failure::Io(cause) if cause.kind() == io::ErrorKind::ConnectionRefused => 2003,
            Failure::Io(_) => 2013,
            Failure::Server { code, .. } => *code,
            Failure::Unfit(_) => 13117,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Io(cause) => write!(f, "{cause}"),
            Failure::Server { message, .. } => f.write_str(message),
            Failure::Unfit(why) => f.write_str(why),
        }
    }
}

impl From<io::Error> for Failure {
    fn from(cause: io::Error) -> Failure {
        Failure::Io(cause)
    }
}

impl From<tls::Failure> for Failure {
    fn from(failure: tls::Failure) -> Failure {
        match failure {
            tls::Failure::Io(cause) => Failure::Io(cause),
            tls::Failure::Tls(why) => Failure::Server { code: 2026, message: format!("SSL connection error: {why}") },
        }
    }
}

impl From<format::packet::Malformed> for Failure {
    fn from(cause: format::packet::Malformed) -> Failure {
        Failure::Io(io::Error::new(io::ErrorKind::InvalidData, format!("{cause:?}")))
    }
}

pub type Result<T> = std::result::Result<T, Failure>;

/// An event of a dump.
pub struct Sent<'c> {
    /// With its checksum.
    pub event: &'c [u8],
    /// Another has begun to arrive.
    pub more: bool,
    /// The source waits until it hears that the event has come.
    pub wants_answer: bool,
}

/// The first byte of what belongs to semi-synchronous replication.
const SEMI_SYNC: u8 = 0xEF;

/// Where a server is, and who logs in.
#[derive(Clone, Copy, Debug)]
pub struct Login<'a> {
    pub address: Address<'a>,
    pub user: &'a str,
    pub password: &'a str,
    /// The server may be asked for its public key, by which the password is sent.
    pub get_public_key: bool,
    /// A file that holds that key; empty: there is none.
    pub public_key_path: &'a str,
    pub mode: Mode,
    pub tls: &'a TlsSettings,
    /// Relative paths count from here.
    pub directory: &'a Path,
}

impl<'a> Login<'a> {
    /// As CHANGE REPLICATION SOURCE TO said.
    pub fn of_source(source: &'a Source, directory: &'a Path) -> Login<'a> {
        Login {
            address: Address::Tcp(&source.host, source.port),
            user: &source.user,
            password: &source.password,
            get_public_key: source.get_public_key,
            public_key_path: &source.public_key_path,
            mode: source.tls_mode(),
            tls: &source.tls,
            directory,
        }
    }
}

/// How a source sends its log.
pub mod dump_flags {
    /// It ends the dump when everything has been sent, instead of waiting for more.
    pub const NON_BLOCKING: u16 = 1;
    /// MariaDB: with the statements that rows are of.
    pub const MARIADB_ANNOTATIONS: u16 = 2;
}

/// One connection.
pub struct Client {
    reader: BufReader<Channel>,
    sequence: u8,
    packet: Vec<u8>,
    pub server_version: String,
    is_semi_sync: bool,
}

impl Client {
    /// Connects and logs in. Reads and writes give up after `timeout`. `connected` gets a handle by which another thread
    /// ends the connection.
    pub fn connect(login: &Login<'_>, timeout: Duration, connected: &dyn Fn(Link)) -> Result<Client> {
        let link = Link::connect(login.address, timeout.min(CONNECT_TIMEOUT))?;
        connected(link.try_clone()?);
        link.set_timeout(timeout)?;
        let reader = BufReader::with_capacity(READ_BYTES, Channel::Plain(link));
        let mut client =
            Client { reader, sequence: 0, packet: Vec::new(), server_version: String::new(), is_semi_sync: false };
        client.log_in(login)?;
        Ok(client)
    }

    fn log_in(&mut self, login: &Login<'_>) -> Result<()> {
        self.read_packet()?;
        if self.packet.first() == Some(&0xFF) {
            return Err(self.error());
        }
        let greeting = Handshake::decode(&self.packet)?;
        let mut challenge = greeting.challenge;
        let mut plugin = if greeting.plugin == SHA2 { SHA2 } else { NATIVE };
        self.server_version = greeting.version.to_owned();
        let offered = greeting.capabilities.has(Capabilities::SSL);
        let flags = LOGIN_FLAGS | self.begin_tls(login, offered)?;
        let mut answer = (flags.0 as u32).to_le_bytes().to_vec();
        answer.extend_from_slice(&(1_u32 << 30).to_le_bytes());
        answer.push(COLLATION);
        answer.extend_from_slice(&[0; 23]);
        writer::zero_terminated(&mut answer, login.user.as_bytes());
        let proof = proof_of(plugin, login.password.as_bytes(), &challenge);
        answer.push(proof.len() as u8);
        answer.extend_from_slice(&proof);
        writer::zero_terminated(&mut answer, plugin.as_bytes());
        self.write_packet(&answer)?;
        loop {
            self.read_packet()?;
            match self.packet.first() {
                Some(0x00) => return Ok(()),
                Some(0xFF) => return Err(self.error()),
                Some(0xFE) => {
                    let mut reader = Reader::new(&self.packet[1..]);
                    let name = reader.until_zero("the name of a plugin")?;
                    plugin = match name {
                        name if name == NATIVE.as_bytes() => NATIVE,
                        name if name == SHA2.as_bytes() => SHA2,
                        name => {
                            let name = String::from_utf8_lossy(name);
                            return Err(Failure::Server {
                                code: 2059,
                                message: format!("Authentication plugin '{name}' cannot be loaded"),
                            });
                        }
                    };
                    challenge.copy_from_slice(reader.bytes(CHALLENGE_BYTES, "a challenge")?);
                    let proof = proof_of(plugin, login.password.as_bytes(), &challenge);
                    self.write_packet(&proof)?;
                }
                // caching_sha2_password: 3 = the proof was right, OK follows; 4 = the password itself is wanted.
                Some(0x01) if self.packet.get(1) == Some(&3) => {}
                Some(0x01) if self.packet.get(1) == Some(&4) => self.send_password(login, &challenge)?,
                _ => return Err(unexpected("an answer to a login")),
            }
        }
    }

    /// Encrypts the connection if that is wanted. The flag that says so.
    fn begin_tls(&mut self, login: &Login<'_>, offered: bool) -> Result<Capabilities> {
        let host = match login.address {
            Address::Tcp(host, _) => host,
            // Nobody can listen to a socket, so there it must be asked for by name.
            Address::Socket(_) if login.mode == Mode::Preferred => return Ok(Capabilities::default()),
            Address::Socket(_) => "localhost",
        };
        match login.mode {
            Mode::Disabled => return Ok(Capabilities::default()),
            Mode::Preferred if !offered => return Ok(Capabilities::default()),
            _ if !offered => {
                return Err(tls::Failure::Tls("SSL is required but the server doesn't support it".to_owned()).into());
            }
            _ => {}
        }
        let mut request = Vec::new();
        handshake::encode_tls_request(LOGIN_FLAGS, 1 << 30, COLLATION, &mut request);
        self.write_packet(&request)?;
        let Channel::Plain(link) = self.reader.get_ref() else { unreachable!("TLS begins once") };
        let channel = tls::begin(link.try_clone()?, host, login.mode, login.tls, login.directory)?;
        self.reader = BufReader::with_capacity(READ_BYTES, channel);
        Ok(Capabilities::SSL)
    }

    /// The password: as it is where nobody else can listen, otherwise encrypted with the source's public key.
    fn send_password(&mut self, login: &Login<'_>, challenge: &[u8; CHALLENGE_BYTES]) -> Result<()> {
        let mut masked = login.password.as_bytes().to_vec();
        masked.push(0);
        if self.reader.get_ref().is_private() {
            return self.write_packet(&masked);
        }
        let pem = if !login.public_key_path.is_empty() {
            let path = login.directory.join(login.public_key_path);
            fs::read_to_string(&path).map_err(|cause| secure_only(format_args!("{}: {cause}", path.display())))?
        } else if login.get_public_key {
            self.write_packet(&[2])?;
            self.read_packet()?;
            if self.packet.first() != Some(&0x01) {
                return Err(unexpected("a public key"));
            }
            String::from_utf8_lossy(&self.packet[1..]).into_owned()
        } else {
            let ways = "SOURCE_SSL = 1 encrypts it; GET_SOURCE_PUBLIC_KEY = 1 lets the source hand out its key";
            return Err(secure_only(ways));
        };
        let key = RsaPublicKey::from_public_key_pem(pem.trim_end()).map_err(|_| unexpected("a public key"))?;
        for (byte, mask) in masked.iter_mut().zip(challenge.iter().cycle()) {
            *byte ^= mask;
        }
        let encrypted = key.encrypt(&mut rsa::rand_core::OsRng, Oaep::new::<Sha1>(), &masked);
        self.write_packet(&encrypted.map_err(|_| unexpected("a public key that is long enough"))?)
    }

    /// Runs a statement. The cells of its rows, NULL as `None`.
    pub fn query(&mut self, statement: &str) -> Result<Vec<Vec<Option<String>>>> {
        self.command(COM_QUERY, statement.as_bytes())?;
        self.read_packet()?;
        match self.packet.first() {
            Some(0x00) => return Ok(Vec::new()),
            Some(0xFF) => return Err(self.error()),
            _ => {}
        }
        let columns = Reader::new(&self.packet).lenenc("the count of columns")?;
        for _ in 0..=columns {
            self.read_packet()?; // Definitions, and their end.
        }
        let mut rows = Vec::new();
        loop {
            self.read_packet()?;
            match self.packet.first() {
                Some(0xFE) if self.packet.len() < 9 => return Ok(rows),
                Some(0xFF) => return Err(self.error()),
                _ => {}
            }
            let mut reader = Reader::new(&self.packet);
            let mut row = Vec::new();
            for _ in 0..columns {
                if reader.clone().u8("a cell")? == 0xFB {
                    reader.u8("a cell")?;
                    row.push(None);
                    continue;
                }
                let bytes = reader.lenenc("a cell")? as usize;
                row.push(Some(String::from_utf8_lossy(reader.bytes(bytes, "a cell")?).into_owned()));
            }
            rows.push(row);
        }
    }

    /// The first cell of a statement's first row.
    pub fn ask(&mut self, statement: &str) -> Result<Option<String>> {
        Ok(self.query(statement)?.into_iter().next().and_then(|row| row.into_iter().next()).flatten())
    }

    /// The same, `None` if the source does not know the variable.
    pub fn ask_variable(&mut self, name: &str) -> Result<Option<String>> {
        match self.ask(&format!("SELECT @@GLOBAL.{name}")) {
            Err(Failure::Server { code: 1193, .. }) => Ok(None),
            other => other,
        }
    }

    /// Tells the source who reads.
    pub fn register(&mut self, server_id: u32, host: &str, port: u16) -> Result<()> {
        let mut body = server_id.to_le_bytes().to_vec();
        let host = &host.as_bytes()[..host.len().min(60)];
        body.push(host.len() as u8);
        body.extend_from_slice(host);
        body.extend_from_slice(&[0, 0]); // No account.
        body.extend_from_slice(&port.to_le_bytes());
        body.extend_from_slice(&[0; 8]);
        self.command(COM_REGISTER_SLAVE, &body)?;
        self.read_packet()?;
        match self.packet.first() {
            Some(0x00) => Ok(()),
            _ => Err(self.error()),
        }
    }

    /// Asks for all events from a place on. Flags: [`dump_flags`].
    pub fn dump(&mut self, server_id: u32, file: &str, position: u64, flags: u16) -> Result<()> {
        let position = u32::try_from(position)
            .map_err(|_| Failure::Unfit("a position beyond 4 GiB needs SOURCE_AUTO_POSITION".to_owned()))?;
        let mut body = position.to_le_bytes().to_vec();
        body.extend_from_slice(&flags.to_le_bytes());
        body.extend_from_slice(&server_id.to_le_bytes());
        body.extend_from_slice(file.as_bytes());
        self.command(COM_BINLOG_DUMP, &body)
    }

    /// Asks for all transactions but these.
    pub fn dump_without(&mut self, server_id: u32, known: &GtidSet) -> Result<()> {
        const THROUGH_GTID: u16 = 4;
        let mut set = Vec::new();
        known.encode(&mut set);
        let mut body = THROUGH_GTID.to_le_bytes().to_vec();
        body.extend_from_slice(&server_id.to_le_bytes());
        body.extend_from_slice(&0_u32.to_le_bytes()); // No file.
        body.extend_from_slice(&4_u64.to_le_bytes());
        body.extend_from_slice(&(set.len() as u32).to_le_bytes());
        body.extend_from_slice(&set);
        self.command(COM_BINLOG_DUMP_GTID, &body)
    }

    /// Asks a MariaDB source for all transactions behind these, in each of its domains.
    pub fn dump_behind(&mut self, server_id: u32, known: &MariadbPosition) -> Result<()> {
        self.query(&format!("SET @slave_connect_state = '{known}'"))?;
        self.query("SET @slave_gtid_strict_mode = 0, @slave_gtid_ignore_duplicates = 0")?;
        self.dump(server_id, "", 4, 0)
    }

    /// The next event of a dump. `None` = the source has no more, and will not have.
    pub fn next_event(&mut self) -> Result<Option<Sent<'_>>> {
        self.read_packet()?;
        match self.packet.first() {
            Some(0x00) => {
                let more = !self.reader.buffer().is_empty();
                match self.packet.get(1..) {
                    Some([SEMI_SYNC, asks, event @ ..]) if self.is_semi_sync => {
                        Ok(Some(Sent { event, more, wants_answer: *asks != 0 }))
                    }
                    Some(event) if !self.is_semi_sync => Ok(Some(Sent { event, more, wants_answer: false })),
                    _ => Err(unexpected("an event of semi-synchronous replication")),
                }
            }
            Some(0xFE) if self.packet.len() < 9 => Ok(None),
            Some(0xFF) => Err(self.error()),
            _ => Err(unexpected("an event")),
        }
    }

    /// The event that came last; its checksum is part of it.
    pub fn last_event(&self) -> &[u8] {
        let head = if self.is_semi_sync { 3 } else { 1 };
        self.packet.get(head..).unwrap_or_default()
    }

    /// From now on events say whether they are to be answered.
    pub fn be_semi_sync(&mut self) {
        self.is_semi_sync = true;
    }

    /// Everything before this place of the source's log has come.
    pub fn answer(&mut self, file: &str, position: u64) -> Result<()> {
        let body = [&[SEMI_SYNC][..], &position.to_le_bytes(), file.as_bytes()].concat();
        self.sequence = 0;
        self.write_packet(&body)
    }

    fn error(&self) -> Failure {
        let packet = &self.packet;
        if packet.len() < 3 || packet[0] != 0xFF {
            return unexpected("an answer");
        }
        let code = u16::from_le_bytes([packet[1], packet[2]]);
        let text = &packet[3..];
        // A marker and the state stand in front of the text.
        let text = if text.first() == Some(&b'#') { text.get(6..).unwrap_or_default() } else { text };
        Failure::Server { code, message: String::from_utf8_lossy(text).into_owned() }
    }

    fn read_packet(&mut self) -> Result<()> {
        self.packet.clear();
        loop {
            let mut head = [0; 4];
            self.reader.read_exact(&mut head)?;
            let bytes = u32::from_le_bytes([head[0], head[1], head[2], 0]) as usize;
            self.sequence = head[3].wrapping_add(1);
            let start = self.packet.len();
            if start + bytes > EVENT_BYTES_MAX {
                return Err(unexpected("a packet of this length"));
            }
            self.packet.resize(start + bytes, 0);
            self.reader.read_exact(&mut self.packet[start..])?;
            if bytes < PACKET_BYTES_MAX {
                return Ok(());
            }
        }
    }

    fn command(&mut self, command: u8, body: &[u8]) -> Result<()> {
        self.sequence = 0;
        let mut packet = vec![command];
        packet.extend_from_slice(body);
        self.write_packet(&packet)
    }

    fn write_packet(&mut self, body: &[u8]) -> Result<()> {
        if body.len() >= PACKET_BYTES_MAX {
            return Err(Failure::Unfit("a command that is longer than a packet".to_owned()));
        }
        let mut packet = (body.len() as u32).to_le_bytes();
        packet[3] = self.sequence;
        self.sequence = self.sequence.wrapping_add(1);
        let bytes = [&packet[..], body].concat();
        Ok(self.reader.get_mut().write_all(&bytes)?)
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // The source may be gone already; then it is not needed.
        let _ = self.command(COM_QUIT, &[]);
        self.reader.get_ref().link().close();
    }
}

/// The password cannot be sent.
fn secure_only(why: impl fmt::Display) -> Failure {
    let message = format!(
        "Authentication plugin 'caching_sha2_password' reported error: Authentication requires secure connection. ({why})"
    );
    Failure::Server { code: 2061, message }
}

fn unexpected(what: &str) -> Failure {
    Failure::Io(io::Error::new(io::ErrorKind::InvalidData, format!("the source did not send {what}")))
}

/// What a client sends for its password, see the server's side in `server::auth::proof`.
fn proof_of(plugin: &str, password: &[u8], challenge: &[u8; CHALLENGE_BYTES]) -> Vec<u8> {
    if password.is_empty() {
        return Vec::new();
    }
    if plugin == NATIVE {
        let once = Sha1::digest(password);
        let mask = Sha1::new().chain_update(challenge).chain_update(Sha1::digest(once)).finalize();
        return once.iter().zip(mask).map(|(a, b)| a ^ b).collect();
    }
    let once = Sha256::digest(password);
    let mask = Sha256::new().chain_update(Sha256::digest(once)).chain_update(challenge).finalize();
    once.iter().zip(mask).map(|(a, b)| a ^ b).collect()
}

/// The statements by which a replica says who it is.
pub fn introduction(uuid: Uuid, is_mariadb: bool, is_semi_sync: bool, heartbeat: Duration) -> Vec<String> {
    let nanos = heartbeat.as_nanos();
    let mut statements = vec![
        format!("SET @master_heartbeat_period = {nanos}, @source_heartbeat_period = {nanos}"),
        "SET @master_binlog_checksum = @@global.binlog_checksum, @source_binlog_checksum = @@global.binlog_checksum"
            .to_owned(),
        format!("SET @slave_uuid = '{uuid}', @replica_uuid = '{uuid}'"),
        // Glassine as a source sends compressed transactions to who says so; others do not ask.
        "SET @replica_reads_payloads = 1".to_owned(),
    ];
    if is_mariadb {
        // Its own GTIDs and its compressed events are understood.
        statements.push("SET @mariadb_slave_capability = 4".to_owned());
    }
    if is_semi_sync {
        statements.push("SET @rpl_semi_sync_replica = 1, @rpl_semi_sync_slave = 1".to_owned());
    }
    statements
}
