//! From the greeting to a session: authentication.
//!
//! ```text
//!  server                               client
//!    greeting with a challenge  -->
//!                               <--      user, proof, plugin
//!   [another plugin, challenge  -->
//!                               <--      proof]
//!   [more steps, see `auth`     <->]
//!    OK, or why not             -->
//! ```
//!
//! COM_CHANGE_USER takes the same steps from the proof on. Unknown users take the same steps as known ones, so that a
//! client cannot learn which users exist.

use std::sync::Arc;
use std::time::{Duration, Instant};

use format::collation::{Collation, CollationId};
use format::packet::handshake::{self, Attributes, CHALLENGE_BYTES, Handshake, HandshakeResponse};
use format::packet::{Capabilities, Malformed, status};
use format::value::Value;
use sql::accounts::admission::{self, Admission};
use sql::accounts::{Account, Plugin, password};
use sql::processlist::Process;
use sql::result::Unread;
use sql::status::SessionStatus;
use sql::transport::ConnectionFacts;
use sql::{Error, Session};
use tracing::{debug, warn};

use crate::auth;
use crate::compression::{Algorithm, ZLIB_LEVEL};
use crate::hosts::Event;
use crate::incoming::{Ended, Incoming, Packet};
use crate::proxy::{self, Header};
use crate::shared::{Live, Shared};
use crate::sink::Sink;
use crate::socket::Peer;

/// The most bytes of a packet before the client has logged in.
const LOGIN_BYTES_MAX: usize = 64 << 10;

/// Why a login failed.
pub enum Refused {
    /// The client is told.
    Error(Error),
    /// The connection is gone: the error cannot be sent.
    Gone,
}

impl From<Error> for Refused {
    fn from(error: Error) -> Self {
        Self::Error(error)
    }
}

impl From<Malformed> for Refused {
    fn from(malformed: Malformed) -> Self {
        debug!("{malformed}");
        Self::Error(Error::new(1043, b"08S01", "Bad handshake"))
    }
}

impl From<Ended> for Refused {
    fn from(_: Ended) -> Self {
        Self::Gone
    }
}

/// What reading packets and writing answers needs, before and after login.
pub struct Wire {
    pub incoming: Incoming,
    pub sink: Sink,
    pub peer: Peer,
    pub challenge: [u8; CHALLENGE_BYTES],
    /// What the client says of itself.
    pub attributes: Vec<(String, String)>,
    /// The timeouts in seconds that the socket has once the client has logged in: for packets, their rest, and writes.
    pub timeouts: [u64; 3],
}

impl Wire {
    /// The client has `connect_timeout` from here on to log in: for all of it, not for each packet.
    pub fn begin_login(&mut self, shared: &Shared) {
        let timeout = Duration::from_secs(shared.instance.variables.number("connect_timeout"));
        self.sink.stream().set_deadline(Some(Instant::now() + timeout));
        // The session's own timeouts are set again when it waits for its first command.
        self.timeouts = [0; 3];
        let _ = self.sink.stream().socket().set_write_timeout(timeout);
    }

    /// Sends what there is and reads what the client says to it.
    fn reply(&mut self) -> Result<Packet, Ended> {
        let sequence = self.sink.packets.sequence();
        self.sink.flush();
        let packet = self.incoming.read(self.sink.stream(), sequence, LOGIN_BYTES_MAX)?;
        self.sink.restart(packet.sequence.wrapping_add(1));
        Ok(packet)
    }

    /// Whether what the client sends cannot be overheard.
    fn is_private(&mut self) -> bool {
        self.peer == Peer::Socket || self.sink.stream().is_encrypted()
    }

    /// Begins TLS, as the client's first packet asked for, and reads the answer to the greeting again: now it is whole.
    fn begin_tls(&mut self, shared: &Shared) -> Result<Packet, Refused> {
        let Some(config) = shared.tls.config() else { return Err(Malformed { what: "TLS was not offered" }.into()) };
        shared.tls.count_accept();
        let received = self.incoming.take_rest();
        if let Err(cause) = self.sink.stream().begin_tls(config, &received) {
            debug!("no TLS with {}: {cause}", self.peer.host_and_port());
            return Err(Refused::Gone);
        }
        if let Some(facts) = self.sink.stream().tls_facts() {
            shared.tls.count_finished(&facts);
        }
        self.reply().map_err(Refused::from)
    }

    /// The answer to a command that has nothing else to say.
    fn ok(&mut self, session: &Session) {
        session.answer_ok(&mut self.sink);
        self.sink.flush();
    }
}

pub fn log_in(
    live: &mut Live,
    wire: &mut Wire,
    process: &Arc<Process>,
    status: &Arc<SessionStatus>,
) -> Result<(Session, Account), Refused> {
    let shared = &live.shared().clone();
    let variables = &shared.instance.variables;
    wire.begin_login(shared);
    let version = variables.text("version");
    refuse_blocked(shared, wire)?;
    let mut offered = Capabilities::SERVER;
    if shared.tls.config().is_some() {
        offered = offered | Capabilities::SSL;
    }
    let algorithms = variables.text("protocol_compression_algorithms");
    let may_use = |name: &str| algorithms.split(',').any(|one| one.trim().eq_ignore_ascii_case(name));
    for (name, flag) in [("zlib", Capabilities::COMPRESS), ("zstd", Capabilities::ZSTD_COMPRESSION)] {
        if may_use(name) {
            offered = offered | flag;
        }
    }
    let greeting = Handshake {
        version: &version,
        connection_id: process.id,
        challenge: wire.challenge,
        capabilities: offered,
        collation: CollationId::DEFAULT.0 as u8,
        status: status::AUTOCOMMIT,
        // The plugin that every client has built in: libmariadb loads the other from a file, and when several of its
        // threads do so at once, some fail. Accounts with the other plugin cost a switch.
        plugin: Plugin::NativePassword.name(),
    };
    wire.sink.packets.push(|out| greeting.encode(out));
    wire.sink.flush();
    let is_forwarded = read_proxy_header(shared, wire, process)?;
    let mut answer = wire.reply()?;
    if is_forwarded {
        refuse_blocked(shared, wire)?;
    }
    if handshake::asks_for_tls(wire.incoming.payload(&answer)) {
        answer = wire.begin_tls(shared)?;
    } else if variables.on("require_secure_transport") && wire.peer != Peer::Socket {
        let message = "Connections using insecure transport are prohibited while --require_secure_transport=ON.";
        return Err(Error::new(3159, b"HY000", message).into());
    }
    // Copied, for more packets may follow while we need it.
    let payload = wire.incoming.payload(&answer).to_vec();
    let answer = HandshakeResponse::decode(&payload)?;
    wire.sink.capabilities = offered & answer.capabilities;
    let compression = match wire.sink.capabilities {
        flags if flags.has(Capabilities::COMPRESS) => Some((Algorithm::Zlib, ZLIB_LEVEL)),
        flags if flags.has(Capabilities::ZSTD_COMPRESSION) => {
            let level = i32::from(answer.zstd_level);
            if !(1..=22).contains(&level) {
                let message = format!("Invalid compression level {level} for connection.");
                return Err(Error::new(3923, b"HY000", message).into());
            }
            Some((Algorithm::Zstd, level))
        }
        _ if may_use("uncompressed") => None,
        _ => {
            let message = "Specified compression algorithm 'uncompressed' is not among protocol_compression_algorithms";
            return Err(Error::new(3922, b"HY000", message).into());
        }
    };
    wire.attributes = attributes_of(shared, &answer.attributes);
    process.set_attributes(wire.attributes.clone());
    let user = String::from_utf8_lossy(answer.user).into_owned();
    let (account, admission) = authenticate(shared, wire, &user, answer.auth, answer.plugin)?;
    if variables.on("offline_mode") && !account.may_administrate() {
        return Err(Error::new(3032, b"HY000", "The server is currently in offline mode").into());
    }
    if !live.begin_session(variables.number("max_connections") as usize, account.may_administrate()) {
        shared.instance.status.count_refused_connection();
        return Err(Error::too_many_connections().into());
    }
    let connections_max = variables.number("max_user_connections").min(u64::from(u32::MAX)) as u32;
    let share = shared.instance.usage.enter(&account, connections_max)?;
    process.set_user(&user);
    let mut session = Session::new(shared.instance.clone(), process.clone(), status.clone());
    session.log_in(&user, &account, &hosts_of(&wire.peer.host(), wire.peer.is_local()));
    session.admitted(admission, share);
    set_collation(&mut session, answer.collation as u16);
    if let Some(database) = answer.database {
        session.init_db(&String::from_utf8_lossy(database))?;
    }
    if admission != Admission::Expired {
        run_first_statements(shared, &mut session, &account)?;
    }
    if answer.capabilities.has(Capabilities::INTERACTIVE) {
        let timeout = session.variables.settings.interactive_timeout_seconds;
        // The interactive timeout takes the place of the other.
        let _ = session.variables.set("wait_timeout", &Value::UInt(timeout));
    }
    status.set_connection(ConnectionFacts {
        id: process.id,
        tls: wire.sink.stream().tls_facts(),
        compression: compression.map(|(algorithm, level)| (algorithm.name(), level)),
    });
    wire.ok(&session);
    // The OK was the last packet that is not compressed.
    if let Some((algorithm, level)) = compression {
        wire.sink.stream().begin_compression(algorithm, level);
    }
    wire.sink.stream().set_deadline(None);
    Ok((session, account))
}

/// What the client says of itself, as much as is kept.
pub fn attributes_of(shared: &Shared, attributes: &Attributes<'_>) -> Vec<(String, String)> {
    let said = shared.instance.variables.integer("performance_schema_session_connect_attrs_size");
    let mut left = usize::try_from(said).unwrap_or(512);
    let mut kept = Vec::new();
    for (name, value) in attributes.iter() {
        let bytes = name.len() + value.len();
        if bytes > left {
            kept.push(("_truncated".to_owned(), bytes.to_string()));
            break;
        }
        left -= bytes;
        kept.push((lossy(name), lossy(value)));
    }
    kept
}

/// Too many handshakes from the client's address broke off.
fn refuse_blocked(shared: &Shared, wire: &Wire) -> Result<(), Refused> {
    let variables = &shared.instance.variables;
    let Some(address) = wire.peer.address() else { return Ok(()) };
    if !shared.tls.hosts.is_blocked(address, variables.number("max_connect_errors")) {
        return Ok(());
    }
    shared.tls.hosts.note(address, Event::Blocked, variables.number("host_cache_size") as usize);
    let message =
        format!("Host '{address}' is blocked because of many connection errors; unblock with 'mysqladmin flush-hosts'");
    Err(Error::new(1129, b"HY000", message).into())
}

/// A proxy says where its client is, in front of the client's first packet. Whether it did.
fn read_proxy_header(shared: &Shared, wire: &mut Wire, process: &Process) -> Result<bool, Refused> {
    let networks = shared.instance.variables.text("proxy_protocol_networks");
    if networks.is_empty() || proxy::is_proxy(&networks, wire.peer.address()) != Ok(true) {
        return Ok(false);
    }
    let mut wanted = 4;
    loop {
        let come = wire.incoming.peek(wire.sink.stream(), wanted)?;
        match proxy::header(come) {
            Header::None => return Ok(false),
            Header::Partial => wanted = come.len() + 1,
            Header::Malformed => return Err(Malformed { what: "header of the proxy protocol" }.into()),
            Header::Whole { bytes, client } => {
                wire.incoming.skip(bytes);
                if let Some(client) = client {
                    wire.peer = Peer::Tcp(client);
                    process.set_host(&wire.peer.host_and_port());
                }
                return Ok(client.is_some());
            }
        }
    }
}

/// The names of the place that a client comes from.
pub fn hosts_of(host: &str, is_local: bool) -> Vec<&str> {
    if is_local && host != "localhost" { vec![host, "localhost"] } else { vec![host] }
}

pub fn lossy(text: &[u8]) -> String {
    String::from_utf8_lossy(text).into_owned()
}

/// `init_connect`: what the server runs first for each client that is no administrator.
pub fn run_first_statements(shared: &Shared, session: &mut Session, account: &Account) -> Result<(), Error> {
    let statements = shared.instance.variables.text("init_connect");
    if statements.is_empty() || account.may_administrate() {
        return Ok(());
    }
    let several = std::mem::replace(&mut session.multi_statements, true);
    let mut answer = Unread::default();
    session.query(statements.as_bytes(), &mut answer);
    session.multi_statements = several;
    let Some(failure) = answer.error else { return Ok(()) };
    warn!("init_connect failed for '{}'@'{}': {}", account.user, account.host, failure.message);
    let text = format!(
        "Aborted connection to db: '{}' user: '{}' (init_connect command failed)",
        session.database().unwrap_or("unconnected"),
        account.user
    );
    Err(Error::new(1184, b"08S01", text))
}

/// The character set that the client speaks. One that we do not have leaves the server's, and so does one in which no
/// statement can be.
pub fn set_collation(session: &mut Session, id: u16) {
    // With --skip-character-set-client-handshake the server says what its clients speak.
    let id = session.variables.clients_collation(id);
    let Some(collation) = Collation::by_id(CollationId(id)).filter(|known| !known.charset.is_wide()) else {
        return;
    };
    let name = |text: &str| Value::Bytes(text.as_bytes().to_vec());
    for variable in ["character_set_client", "character_set_results", "character_set_connection"] {
        let _ = session.variables.set(variable, &name(collation.charset.name()));
    }
    session.variables.set_results_collation(collation.id);
    let _ = session.variables.set("collation_connection", &name(collation.name));
}

/// Checks the identity of the client. See the module `auth` for the steps.
pub fn authenticate(
    shared: &Shared,
    wire: &mut Wire,
    user: &str,
    proof: &[u8],
    plugin: Option<&[u8]>,
) -> Result<(Account, Admission), Refused> {
    let host = wire.peer.host();
    let known = shared.instance.accounts.find(user, &hosts_of(&host, wire.peer.is_local()));
    let denied = |with_password| Refused::Error(Error::access_denied(user, &host, with_password));
    // caching_sha2_password sends a single zero for no password.
    let mut proof = if proof == [0] { Vec::new() } else { proof.to_vec() };
    if let Some(account) = known.as_ref().filter(|account| account.plugin == Plugin::Socket) {
        let wanted = if account.verifier.is_empty() { &account.user } else { &account.verifier };
        let peer = wire.sink.stream().socket().peer_uid().and_then(auth::name_of);
        if peer.as_ref() == Some(wanted) {
            return usable(shared, wire, known);
        }
    }
    // To everybody else it is as if the account were not there.
    let known = known.filter(|account| account.plugin != Plugin::Socket);
    let is_open = known.as_ref().is_some_and(|account| account.verifier.is_empty());
    if is_open && proof.is_empty() && wire.peer.is_local() {
        // An account without a password is for this machine only.
        return usable(shared, wire, known);
    }
    // Unknown users take the same steps, and accounts without a password from elsewhere; no password is theirs.
    let known = known.filter(|account| !account.verifier.is_empty());
    let account = known.clone().unwrap_or_else(|| shared.stranger(user, &host));
    if plugin.is_none() && account.plugin != Plugin::NativePassword {
        let message =
            "Client does not support authentication protocol requested by server; consider upgrading MySQL client";
        return Err(Error::new(1251, b"08004", message).into());
    }
    if plugin.is_some_and(|plugin| plugin != account.plugin.name().as_bytes()) {
        // The greeting's challenge again: there are clients that hide the password with that one, whatever they are told
        // here (sqlx 0.8). The proofs of two plugins are made in different ways, so that one tells nothing of the other.
        let challenge = wire.challenge;
        wire.sink.packets.push(|out| handshake::encode_auth_switch(account.plugin.name(), &challenge, out));
        let answer = wire.reply()?;
        proof = wire.incoming.payload(&answer).to_vec();
        if proof == [0] {
            proof.clear();
        }
    }
    if proof.is_empty() {
        return Err(denied(false));
    }
    let proved = match account.plugin {
        Plugin::NativePassword => {
            let mut verifiers = std::iter::once(&account.verifier).chain(&account.attributes.second_verifier);
            verifiers.any(|verifier| {
                password::native_hash(verifier)
                    .is_some_and(|twice| auth::native_matches(&proof, &wire.challenge, &twice))
            })
        }
        Plugin::CachingSha2Password => prove_sha2(shared, wire, &account, &proof)?,
        Plugin::Sha256Password => prove_sha256(shared, wire, &account, proof)?,
        Plugin::Socket => false,
    };
    if !proved {
        shared.instance.usage.count_failure(&account);
    }
    if proved && known.is_some() { usable(shared, wire, known) } else { Err(denied(true)) }
}

/// Whether a client that has proved its password may come in. What keeps it out is told to it alone: a wrong password is
/// refused before, so that strangers do not learn of accounts and their state.
fn usable(shared: &Shared, wire: &mut Wire, account: Option<Account>) -> Result<(Account, Admission), Refused> {
    let account = account.expect("the account is known");
    let host = wire.peer.host();
    shared.instance.usage.check_failures(&account, &host)?;
    let variables = &shared.instance.variables;
    let tls = wire.sink.stream().tls_facts();
    let admission = admission::admit(&account, tls.as_ref(), &host, variables.number("default_password_lifetime"))?;
    let handles = wire.sink.capabilities.has(Capabilities::CAN_HANDLE_EXPIRED_PASSWORDS);
    if admission == Admission::Expired && !handles && variables.on("disconnect_on_expired_password") {
        let message =
            "Your password has expired. To log in you must change it using a client that supports expired passwords.";
        return Err(Error::new(1862, b"HY000", message).into());
    }
    Ok((account, admission))
}

fn prove_sha2(shared: &Shared, wire: &mut Wire, account: &Account, proof: &[u8]) -> Result<bool, Refused> {
    if let Some(hash) = shared.passwords.get(account)
        && auth::sha2_matches_hash(proof, &wire.challenge, &hash)
    {
        wire.sink.packets.push(|out| handshake::encode_auth_more(&[auth::FAST_AUTH_SUCCESS], out));
        return Ok(true);
    }
    wire.sink.packets.push(|out| handshake::encode_auth_more(&[auth::PERFORM_FULL_AUTH], out));
    let mut answer = wire.reply()?;
    let mut asked = None;
    let shown = if wire.is_private() {
        let password = wire.incoming.payload(&answer);
        Some(password.strip_suffix(&[0]).unwrap_or(password).to_vec())
    } else {
        if wire.incoming.payload(&answer) == [auth::REQUEST_PUBLIC_KEY] {
            wire.sink.packets.push(|out| handshake::encode_auth_more(shared.key.public_pem().as_bytes(), out));
            answer = wire.reply()?;
        }
        asked = Some(Instant::now());
        shared.key.decrypt(wire.incoming.payload(&answer), &wire.challenge)
    };
    let first = shown.as_ref().is_some_and(|shown| password::sha2_matches(shown, &account.verifier));
    if first && let Some(shown) = &shown {
        shared.passwords.insert(account, auth::sha2_hash(shown));
    }
    // A password that was retained is not cached: it is to go out of use.
    let second = account.attributes.second_verifier.as_ref();
    let proved =
        first || shown.is_some_and(|shown| second.is_some_and(|verifier| password::sha2_matches(&shown, verifier)));
    if let Some(asked) = asked {
        auth::wait_for_beat(asked);
    }
    Ok(proved)
}

/// The client shows its password: as it is on TLS, and on the socket if it likes; else encrypted, and before that it may ask
/// for the key.
fn prove_sha256(shared: &Shared, wire: &mut Wire, account: &Account, mut answer: Vec<u8>) -> Result<bool, Refused> {
    let asks_for_key = answer == [auth::SHA256_REQUEST_PUBLIC_KEY];
    let mut asked = None;
    let shown = if wire.is_private() && !asks_for_key {
        Some(answer.strip_suffix(&[0]).unwrap_or(&answer).to_vec())
    } else {
        if asks_for_key {
            wire.sink.packets.push(|out| handshake::encode_auth_more(shared.key.public_pem().as_bytes(), out));
            let packet = wire.reply()?;
            answer = wire.incoming.payload(&packet).to_vec();
        }
        asked = Some(Instant::now());
        shared.key.decrypt(&answer, &wire.challenge)
    };
    let verifiers = std::iter::once(&account.verifier).chain(&account.attributes.second_verifier);
    let proved = shown.is_some_and(|shown| {
        // Each is tried, so that the time does not tell which one it was.
        verifiers.fold(false, |found, verifier| password::sha256_matches(&shown, verifier) | found)
    });
    if let Some(asked) = asked {
        auth::wait_for_beat(asked);
    }
    Ok(proved)
}
