//! One client's connection, from greeting to farewell, on a thread of its own.
//!
//! ```text
//!  connected --login--> ready --command--> busy --answer--> ready --quit, kill, silence--> gone
//!      |                  ^                                   |
//!      +--refused--> gone +-------------------<---------------+
//! ```
//!
//! The loop is: read one packet, run the command, write the answer. A point query by
//! a prepared statement comes through here with one `read`, one `write` and no
//! allocation: the payload is parsed in place, the parameters' memory belongs to
//! the statement, and the packets are built in a buffer that stays.
//!
//! Invariants:
//!
//! * Every command is answered by at least one packet, except those whose protocol
//!   has no answer (close, send long data, quit).
//! * A panic in a command ends this connection and no other; its transaction rolls
//!   back as the session is dropped.

use std::net::Shutdown;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use format::collation::{Collation, CollationId};
use format::packet::command::Command;
use format::packet::handshake::{self, CHALLENGE_BYTES, ChangeUser, Handshake, HandshakeResponse};
use format::packet::statement::{self, ParameterType};
use format::packet::{Capabilities, ColumnDefinition, ColumnKind, Malformed, response, status};
use format::value::Value;
use rustc_hash::FxHashMap;
use sql::accounts::{Account, Plugin, password};
use sql::processlist::Process;
use sql::status::{Counter, SessionStatus};
use sql::{Error, OkSummary, ResultSink, Session};
use storage::Kill;
use tracing::{debug, error};

use crate::auth;
use crate::incoming::{Ended, Incoming, Packet};
use crate::shared::Shared;
use crate::sink::{Rows, Sink};
use crate::stream::{Peer, Stream};

/// The most bytes of a packet before the client has logged in.
const LOGIN_BYTES_MAX: usize = 64 << 10;

/// What follows a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    Answer,
    NoAnswer,
    Goodbye,
}

/// Why a login failed.
enum Refused {
    /// The client is told.
    Error(Error),
    /// There is nobody to tell.
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

/// A statement that the client has prepared: what the protocol keeps of it.
#[derive(Default)]
struct Statement {
    text: Box<[u8]>,
    parameters: usize,
    types: Vec<ParameterType>,
    values: Vec<Value>,
    /// Parameters that were sent in pieces since the last execute.
    long: Vec<u16>,
    /// What went wrong when they were sent; told at the next execute.
    long_error: Option<Error>,
}

/// What reading packets and writing answers needs, before and after login.
struct Wire {
    incoming: Incoming,
    sink: Sink,
    peer: Peer,
    challenge: [u8; CHALLENGE_BYTES],
    /// The timeout that the socket has.
    read_timeout: Duration,
}

/// Serves one client until it leaves.
pub fn serve(shared: &Arc<Shared>, stream: Stream, peer: Peer) {
    let instance = &shared.instance;
    let process = instance.processes.register(&peer.host_and_port());
    let status = instance.status.register();
    if let Ok(handle) = stream.try_clone() {
        process.on_kill(Box::new(move || handle.shutdown(Shutdown::Read)));
    }
    if let Ok(handle) = stream.try_clone() {
        process.interrupt.watch(Box::new(move || handle.is_gone()));
    }
    let wire = Wire {
        incoming: Incoming::new(),
        sink: Sink::new(stream, status.clone(), process.clone()),
        peer,
        challenge: auth::challenge(),
        read_timeout: Duration::ZERO,
    };
    converse(shared, wire, &process, &status);
    instance.processes.remove(&process);
    instance.status.retire(&status);
}

fn converse(shared: &Arc<Shared>, mut wire: Wire, process: &Arc<Process>, status: &Arc<SessionStatus>) {
    let (mut session, account) = match log_in(shared, &mut wire, process, status) {
        Ok(found) => found,
        Err(refused) => {
            shared.instance.status.count_aborted_connect();
            if let Refused::Error(error) = refused {
                wire.sink.error(&error);
                wire.sink.flush();
            }
            return;
        }
    };
    session.multi_statements = wire.sink.capabilities.has(Capabilities::MULTI_STATEMENTS);
    session.found_rows = wire.sink.capabilities.has(Capabilities::FOUND_ROWS);
    process.end();
    let mut connection = Connection {
        shared: shared.clone(),
        wire,
        process: process.clone(),
        status: status.clone(),
        session,
        account,
        statements: FxHashMap::default(),
    };
    connection.run();
}

// --- Login ----------------------------------------------------------------------------------------------------------

fn log_in(
    shared: &Shared,
    wire: &mut Wire,
    process: &Arc<Process>,
    status: &Arc<SessionStatus>,
) -> Result<(Session, Account), Refused> {
    let variables = &shared.instance.variables;
    let _ = wire.sink.stream().set_read_timeout(Duration::from_secs(variables.number("connect_timeout")));
    let version = variables.text("version");
    let greeting = Handshake {
        version: &version,
        connection_id: process.id,
        challenge: wire.challenge,
        capabilities: Capabilities::SERVER,
        collation: CollationId::DEFAULT.0 as u8,
        status: status::AUTOCOMMIT,
        // The plugin that every client has built in: libmariadb loads the other from a file, and when several of its
        // threads do so at once, some fail. Accounts with the other plugin cost a switch.
        plugin: Plugin::NativePassword.name(),
    };
    wire.sink.packets.push(|out| greeting.encode(out));
    let answer = wire.reply()?;
    // Copied, for more packets may follow while we need it.
    let payload = wire.incoming.payload(&answer).to_vec();
    let answer = HandshakeResponse::decode(&payload)?;
    wire.sink.capabilities = Capabilities::SERVER & answer.capabilities;
    for (name, value) in answer.attributes.iter() {
        debug!("client attribute {} = {}", String::from_utf8_lossy(name), String::from_utf8_lossy(value));
    }
    let user = String::from_utf8_lossy(answer.user).into_owned();
    let account = authenticate(shared, wire, &user, answer.auth, answer.plugin)?;
    process.set_user(&user);
    let mut session = Session::new(shared.instance.clone(), process.clone(), status.clone());
    session.set_user(&user, &wire.peer.host());
    set_collation(&mut session, answer.collation as u16);
    if let Some(database) = answer.database {
        session.init_db(&String::from_utf8_lossy(database))?;
    }
    if answer.capabilities.has(Capabilities::INTERACTIVE) {
        let timeout = session.variables.settings.interactive_timeout_seconds;
        // The interactive timeout takes the place of the other.
        let _ = session.variables.set("wait_timeout", &Value::UInt(timeout));
    }
    wire.ok(&session);
    Ok((session, account))
}

/// The character set that the client speaks. One that we do not have leaves the server's.
fn set_collation(session: &mut Session, id: u16) {
    let Some(collation) = Collation::by_id(CollationId(id)) else {
        return;
    };
    let name = |text: &str| Value::Bytes(text.as_bytes().to_vec());
    for variable in ["character_set_client", "character_set_results", "character_set_connection"] {
        let _ = session.variables.set(variable, &name(collation.charset.name()));
    }
    let _ = session.variables.set("collation_connection", &name(collation.name));
}

/// Finds out whether the client is who it says. See the module `auth` for the steps.
fn authenticate(
    shared: &Shared,
    wire: &mut Wire,
    user: &str,
    proof: &[u8],
    plugin: Option<&[u8]>,
) -> Result<Account, Refused> {
    let host = wire.peer.host();
    let hosts: &[&str] = if wire.peer.is_local() { &[&host, "localhost"] } else { &[&host] };
    let known = shared.instance.accounts.find(user, hosts);
    let denied = |with_password| Refused::Error(Error::access_denied(user, &host, with_password));
    // caching_sha2_password sends a single zero for no password.
    let mut proof = if proof == [0] { Vec::new() } else { proof.to_vec() };
    if let Some(account) = &known
        && account.verifier.is_empty()
    {
        // An account without a password is for this machine only.
        return if proof.is_empty() && wire.peer.is_local() { usable(known) } else { Err(denied(!proof.is_empty())) };
    }
    // Strangers take the same steps; their verifier belongs to no password.
    let account = known.clone().unwrap_or_else(|| Account {
        user: user.to_owned(),
        host: host.clone(),
        plugin: Plugin::CachingSha2Password,
        verifier: shared.nobody.clone(),
        locked: false,
    });
    if plugin.is_none() && account.plugin != Plugin::NativePassword {
        let message =
            "Client does not support authentication protocol requested by server; consider upgrading MySQL client";
        return Err(Error::new(1251, b"08004", message).into());
    }
    if plugin.is_some_and(|plugin| plugin != account.plugin.name().as_bytes()) {
        wire.challenge = auth::challenge();
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
        Plugin::NativePassword => password::native_hash(&account.verifier)
            .is_some_and(|twice| auth::native_matches(&proof, &wire.challenge, &twice)),
        Plugin::CachingSha2Password => prove_sha2(shared, wire, &account, &proof)?,
    };
    if proved && known.is_some() { usable(known) } else { Err(denied(true)) }
}

fn usable(account: Option<Account>) -> Result<Account, Refused> {
    let account = account.expect("the account is known");
    if account.locked {
        let message = format!("Access denied for user '{}'@'{}'. Account is locked.", account.user, account.host);
        return Err(Error::new(3118, b"HY000", message).into());
    }
    Ok(account)
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
    let shown = if wire.peer.is_private() {
        let password = wire.incoming.payload(&answer);
        Some(password.strip_suffix(&[0]).unwrap_or(password).to_vec())
    } else {
        if wire.incoming.payload(&answer) == [auth::REQUEST_PUBLIC_KEY] {
            wire.sink.packets.push(|out| handshake::encode_auth_more(shared.key.public_pem().as_bytes(), out));
            answer = wire.reply()?;
        }
        shared.key.decrypt(wire.incoming.payload(&answer), &wire.challenge)
    };
    let proved = shown.as_ref().is_some_and(|shown| password::sha2_matches(shown, &account.verifier));
    if proved && let Some(shown) = shown {
        shared.passwords.insert(account, auth::sha2_hash(&shown));
    }
    Ok(proved)
}

impl Wire {
    /// Sends what there is and reads what the client says to it.
    fn reply(&mut self) -> Result<Packet, Ended> {
        let sequence = self.sink.packets.sequence();
        self.sink.flush();
        let packet = self.incoming.read(self.sink.stream(), sequence, LOGIN_BYTES_MAX)?;
        self.sink.restart(packet.sequence.wrapping_add(1));
        Ok(packet)
    }

    /// The answer to a command that has nothing else to say.
    fn ok(&mut self, session: &Session) {
        self.sink.ok(&OkSummary { status: session.status_flags(), ..OkSummary::default() });
        self.sink.flush();
    }
}

// --- Commands -------------------------------------------------------------------------------------------------------

struct Connection {
    shared: Arc<Shared>,
    wire: Wire,
    process: Arc<Process>,
    status: Arc<SessionStatus>,
    session: Session,
    account: Account,
    statements: FxHashMap<u32, Statement>,
}

impl Connection {
    fn run(&mut self) {
        loop {
            self.follow_timeouts();
            let bytes_max = self.session.variables.settings.max_allowed_packet_bytes as usize;
            let packet = match self.wire.incoming.read(self.wire.sink.stream(), 0, bytes_max) {
                Ok(packet) => packet,
                Err(ended) => return self.farewell(ended),
            };
            if self.process.is_killed() {
                return;
            }
            self.status.add(Counter::BytesReceived, packet.wire_bytes as u64);
            self.wire.sink.restart(packet.sequence.wrapping_add(1));
            self.process.interrupt.clear();
            self.status.set_busy(true);
            let next = catch_unwind(AssertUnwindSafe(|| self.command(&packet))).unwrap_or_else(|_| {
                error!("connection {} ends, because a command panicked", self.process.id);
                self.wire.sink.error(&Error::internal("the command failed unexpectedly; see the server's messages"));
                self.wire.sink.flush();
                Next::Goodbye
            });
            if next == Next::Answer {
                self.wire.sink.flush();
            }
            self.status.set_busy(false);
            self.process.end();
            if next == Next::Goodbye || self.wire.sink.is_broken() || self.process.is_killed() {
                return;
            }
        }
    }

    /// The session may have changed its timeouts.
    #[inline]
    fn follow_timeouts(&mut self) {
        let settings = &self.session.variables.settings;
        let read_timeout = Duration::from_secs(settings.wait_timeout_seconds);
        if read_timeout != self.wire.read_timeout {
            self.wire.read_timeout = read_timeout;
            let write_timeout = Duration::from_secs(settings.net_write_timeout_seconds);
            let _ = self.wire.sink.stream().set_read_timeout(read_timeout);
            let _ = self.wire.sink.stream().set_write_timeout(write_timeout);
        }
    }

    /// The last words, if anybody hears them.
    fn farewell(&mut self, ended: Ended) {
        let error = match ended {
            Ended::Closed => return,
            Ended::Silent => Error::new(
                4031,
                b"HY000",
                "The client was disconnected by the server because of inactivity. See wait_timeout and interactive_timeout for configuring this behavior.",
            ),
            Ended::TooLarge => Error::packet_too_large(),
            Ended::OutOfOrder => Error::new(1156, b"08S01", "Got packets out of order"),
            Ended::Broken(cause) => {
                if !self.process.is_killed() {
                    debug!("connection {}: {cause}", self.process.id);
                    self.status.add(Counter::AbortedClients, 1);
                }
                return;
            }
        };
        self.status.add(Counter::AbortedClients, 1);
        // After an answer to the command that could not be read, the client counts on; after silence it has not begun.
        let sequence = if matches!(ended, Ended::Silent) { 0 } else { 1 };
        self.wire.sink.restart(sequence);
        self.wire.sink.error(&error);
        self.wire.sink.flush();
        // The client may still be sending: closing now would throw our words away with its bytes.
        self.wire.sink.stream().shutdown(Shutdown::Write);
        let mut scrap = [0; 4096];
        let _ = self.wire.sink.stream().set_read_timeout(Duration::from_millis(200));
        for _ in 0..4096 {
            match std::io::Read::read(self.wire.sink.stream(), &mut scrap) {
                Ok(0) | Err(_) => break,
                Ok(_) => {}
            }
        }
    }

    fn command(&mut self, packet: &Packet) -> Next {
        let Self { wire, session, statements, status, process, .. } = self;
        let Wire { incoming, sink, .. } = wire;
        let payload = incoming.payload(packet);
        let command = match Command::decode(payload, sink.capabilities) {
            Ok(command) => command,
            Err(malformed) => {
                sink.error(&malformed_packet(malformed));
                return Next::Answer;
            }
        };
        status.add(Counter::Queries, 1);
        match command {
            Command::StatementExecute { statement, flags, parameters } => {
                status.add(Counter::Questions, 1);
                status.add(Counter::ComStmtExecute, 1);
                execute(session, statements, statement, flags, parameters, process, sink);
                Next::Answer
            }
            Command::Query(text) => {
                // Some clients count the end of their C string in.
                let text = text.strip_suffix(&[0]).unwrap_or(text);
                status.add(Counter::Questions, 1);
                process.begin("Query", text);
                sink.rows = Rows::Text;
                session.query(text, sink);
                Next::Answer
            }
            Command::StatementPrepare(text) => {
                status.add(Counter::ComStmtPrepare, 1);
                process.begin("Prepare", text);
                prepare(session, statements, text, sink);
                status.set_prepared_statements(statements.len());
                Next::Answer
            }
            Command::StatementSendLongData { statement, parameter, data } => {
                status.add(Counter::ComStmtSendLongData, 1);
                let bytes_max = session.variables.settings.max_allowed_packet_bytes as usize;
                send_long_data(statements, statement, parameter, data, bytes_max);
                Next::NoAnswer
            }
            Command::StatementClose(statement) => {
                status.add(Counter::ComStmtClose, 1);
                if statements.remove(&statement).is_some() {
                    session.close_statement(statement);
                    status.set_prepared_statements(statements.len());
                }
                Next::NoAnswer
            }
            Command::StatementReset(statement) => {
                status.add(Counter::ComStmtReset, 1);
                match statements.get_mut(&statement) {
                    Some(statement) => {
                        statement.long.clear();
                        statement.long_error = None;
                        ok(session, sink);
                    }
                    None => sink.error(&unknown_statement(statement, "mysqld_stmt_reset")),
                }
                Next::Answer
            }
            Command::StatementFetch { statement, .. } => {
                status.add(Counter::ComStmtFetch, 1);
                // Results go out whole, so that no cursor is ever open.
                let message = format!("The statement ({statement}) has no open cursor.");
                sink.error(&Error::new(1421, b"HY000", message));
                Next::Answer
            }
            Command::Ping => {
                status.add(Counter::ComAdminCommands, 1);
                ok(session, sink);
                Next::Answer
            }
            Command::InitDb(name) => {
                status.add(Counter::ComChangeDb, 1);
                process.begin("Init DB", name);
                match session.init_db(&String::from_utf8_lossy(name)) {
                    Ok(()) => ok(session, sink),
                    Err(error) => sink.error(&error),
                }
                Next::Answer
            }
            Command::FieldList { table, pattern } => {
                process.begin("Field List", table);
                field_list(session, table, pattern, sink);
                Next::Answer
            }
            Command::SetOption(option) => {
                match option {
                    0 => session.multi_statements = true,
                    1 => session.multi_statements = false,
                    _ => {
                        sink.error(&Error::unknown_command());
                        return Next::Answer;
                    }
                }
                end_of_rows(session, sink);
                Next::Answer
            }
            Command::Statistics => {
                let text = self.shared.statistics();
                self.wire.sink.packets.push(|out| out.extend_from_slice(text.as_bytes()));
                Next::Answer
            }
            Command::ProcessInfo => {
                session.query(b"SHOW FULL PROCESSLIST", sink);
                Next::Answer
            }
            Command::ProcessKill(id) => {
                match self.shared.instance.processes.kill(id as u64, Kill::Connection) {
                    Ok(()) => ok(session, sink),
                    Err(error) => sink.error(&error),
                }
                Next::Answer
            }
            Command::Debug => {
                end_of_rows(session, sink);
                Next::Answer
            }
            Command::Refresh(_) => {
                ok(session, sink);
                Next::Answer
            }
            Command::Shutdown => {
                end_of_rows(session, sink);
                self.wire.sink.flush();
                self.shared.request_shutdown();
                Next::Goodbye
            }
            Command::ResetConnection => {
                self.reset();
                ok(&self.session, &mut self.wire.sink);
                Next::Answer
            }
            Command::ChangeUser(payload) => {
                let payload = payload.to_vec();
                self.change_user(&payload)
            }
            Command::Quit => Next::Goodbye,
            Command::Unknown(number) => {
                debug!("connection {}: unknown command {number}", process.id);
                sink.error(&Error::unknown_command());
                Next::Answer
            }
        }
    }

    /// As after login: COM_RESET_CONNECTION, and a part of COM_CHANGE_USER.
    fn reset(&mut self) {
        self.session.reset();
        self.statements.clear();
        self.status.set_prepared_statements(0);
    }

    fn change_user(&mut self, payload: &[u8]) -> Next {
        match self.try_change_user(payload) {
            Ok(()) => {
                ok(&self.session, &mut self.wire.sink);
                Next::Answer
            }
            // As MySQL, which does not let one try password after password.
            Err(Refused::Error(error)) => {
                self.wire.sink.error(&error);
                self.wire.sink.flush();
                Next::Goodbye
            }
            Err(Refused::Gone) => Next::Goodbye,
        }
    }

    fn try_change_user(&mut self, payload: &[u8]) -> Result<(), Refused> {
        let request = ChangeUser::decode(payload, self.wire.sink.capabilities)?;
        let user = String::from_utf8_lossy(request.user).into_owned();
        // Clients do not agree on which challenge their proof is to be made for here: that of the greeting, or a later
        // one. Naming no plugin that we know makes them prove again, for a fresh one.
        let plugin = request.plugin.map(|_| &b""[..]);
        self.account = authenticate(&self.shared, &mut self.wire, &user, request.auth, plugin)?;
        self.reset();
        self.process.set_user(&user);
        self.session.set_user(&user, &self.wire.peer.host());
        if let Some(collation) = request.collation {
            set_collation(&mut self.session, collation);
        }
        match request.database {
            Some(database) => self.session.init_db(&String::from_utf8_lossy(database))?,
            None => self.process.set_database(None),
        }
        debug!("connection {} is now '{}'@'{}'", self.process.id, self.account.user, self.account.host);
        Ok(())
    }
}

#[inline]
fn ok(session: &Session, sink: &mut Sink) {
    sink.ok(&OkSummary { status: session.status_flags(), ..OkSummary::default() });
}

/// The answer of old commands that end with EOF.
fn end_of_rows(session: &Session, sink: &mut Sink) {
    let (status, capabilities) = (session.status_flags(), sink.capabilities);
    let end = response::Ok { status, ..response::Ok::default() };
    sink.packets.push(|out| end.encode_end_of_rows(capabilities, out));
}

fn malformed_packet(malformed: Malformed) -> Error {
    Error::new(1835, b"HY000", format!("Malformed communication packet ({})", malformed.what))
}

fn unknown_statement(statement: u32, doing: &str) -> Error {
    Error::unknown_prepared(&statement.to_string(), doing)
}

// --- Prepared statements --------------------------------------------------------------------------------------------

fn prepare(session: &mut Session, statements: &mut FxHashMap<u32, Statement>, text: &[u8], sink: &mut Sink) {
    let prepared = match session.prepare(text) {
        Ok(prepared) => prepared,
        Err(error) => return sink.error(&error),
    };
    let statement = Statement { text: text.into(), parameters: prepared.parameters, ..Statement::default() };
    statements.insert(prepared.id, statement);
    let (columns, parameters) = (prepared.columns.len() as u16, prepared.parameters as u16);
    sink.packets.push(|out| {
        statement::encode_prepare_ok(prepared.id, columns, parameters, prepared.warnings, out);
    });
    let status = session.status_flags();
    if parameters > 0 {
        let parameter = ColumnDefinition::new("?", ColumnKind::VarString);
        for _ in 0..parameters {
            sink.packets.push(|out| parameter.encode(out));
        }
        sink.definitions(&[], status);
    }
    if columns > 0 {
        sink.definitions(&prepared.columns, status);
    }
}

#[inline]
fn execute(
    session: &mut Session,
    statements: &mut FxHashMap<u32, Statement>,
    id: u32,
    flags: u8,
    parameters: &[u8],
    process: &Process,
    sink: &mut Sink,
) {
    let Some(statement) = statements.get_mut(&id) else {
        return sink.error(&unknown_statement(id, "mysqld_stmt_execute"));
    };
    process.begin("Execute", &statement.text);
    let Statement { types, values, long, long_error, .. } = statement;
    if let Some(error) = long_error.take() {
        long.clear();
        return sink.error(&error);
    }
    let is_long = |index: usize| !long.is_empty() && long.contains(&(index as u16));
    if let Err(malformed) =
        statement::decode_parameters(parameters, flags, sink.capabilities, statement.parameters, types, is_long, values)
    {
        return sink.error(&malformed_packet(malformed));
    }
    sink.rows = Rows::Binary;
    session.execute(id, values, sink);
    if !long.is_empty() {
        for &index in long.iter() {
            values[index as usize] = Value::Null;
        }
        long.clear();
    }
}

fn send_long_data(statements: &mut FxHashMap<u32, Statement>, id: u32, parameter: u16, data: &[u8], bytes_max: usize) {
    let Some(statement) = statements.get_mut(&id) else {
        return;
    };
    if parameter as usize >= statement.parameters {
        statement.long_error = Some(Error::wrong_arguments("mysqld_stmt_send_long_data"));
        return;
    }
    statement.values.resize(statement.parameters, Value::Null);
    let value = &mut statement.values[parameter as usize];
    if !statement.long.contains(&parameter) {
        statement.long.push(parameter);
        *value = Value::Bytes(Vec::new());
    }
    if let Value::Bytes(bytes) = value {
        if bytes.len() + data.len() > bytes_max {
            let message = "Parameter of prepared statement which is set through mysql_send_long_data() is longer than 'max_allowed_packet' bytes";
            statement.long_error = Some(Error::new(1105, b"HY000", message));
            *bytes = Vec::new();
            return;
        }
        bytes.extend_from_slice(data);
    }
}

fn field_list(session: &mut Session, table: &[u8], pattern: &[u8], sink: &mut Sink) {
    let columns = match session.columns_of(&String::from_utf8_lossy(table)) {
        Ok(columns) => columns,
        Err(error) => return sink.error(&error),
    };
    let pattern = pattern.strip_suffix(&[0]).unwrap_or(pattern);
    let names = Collation::by_id(CollationId::UTF8MB4_GENERAL_CI).expect("a collation that is built in");
    for column in columns {
        if pattern.is_empty() || names.like(column.name.as_bytes(), pattern, Some('\\' as u32)) {
            sink.packets.push(|out| {
                column.encode(out);
                out.push(0xFB); // The default: NULL, which is what clients ignore best.
            });
        }
    }
    end_of_rows(session, sink);
}
