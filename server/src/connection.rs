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
use format::packet::command::{Command, query_attributes};
use format::packet::handshake::ChangeUser;
use format::packet::{Capabilities, response};
use sql::accounts::admission::Admission;
use sql::accounts::{Account, Privileges};
use sql::processlist::Process;
use sql::status::{Counter, SessionStatus};
use sql::{Error, ResultSink, Session};
use storage::Kill;
use tracing::{debug, error};

use crate::auth;
use crate::dump::{self, Talk};
use crate::hosts::Event;
use crate::incoming::{Ended, Incoming, Packet};
use crate::login::{Refused, Wire, attributes_of, authenticate, hosts_of, log_in, run_first_statements, set_collation};
use crate::prepared::{self, Statements};
use crate::shared::{Live, Shared};
use crate::sink::{Rows, Sink};
use crate::socket::Peer;
use crate::stream::Stream;

/// What follows a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    Answer,
    NoAnswer,
    Goodbye,
}

/// Serves one client until it leaves.
pub fn serve(mut live: Live, stream: Stream, peer: Peer) {
    let shared = live.shared().clone();
    let instance = &shared.instance;
    let process = instance.processes.register(&peer.host_and_port());
    let status = instance.status.register();
    if let Ok(handle) = stream.socket().try_clone() {
        process.on_kill(Box::new(move || handle.shutdown(Shutdown::Read)));
    }
    if let Ok(handle) = stream.socket().try_clone() {
        process.interrupt.watch(Box::new(move || handle.is_gone()));
    }
    let wire = Wire {
        incoming: Incoming::new(),
        sink: Sink::new(stream, status.clone(), process.clone()),
        peer,
        challenge: auth::challenge(),
        attributes: Vec::new(),
        timeouts: [0; 3],
    };
    converse(&mut live, wire, &process, &status);
    instance.dumps.forget(process.id);
    instance.processes.remove(&process);
    instance.status.retire(&status);
}

fn converse(live: &mut Live, mut wire: Wire, process: &Arc<Process>, status: &Arc<SessionStatus>) {
    let shared = &live.shared().clone();
    let (mut session, account) = match log_in(live, &mut wire, process, status) {
        Ok(found) => found,
        Err(refused) => {
            shared.instance.status.count_aborted_connect();
            let event = if matches!(refused, Refused::Gone) { Event::Broken } else { Event::Denied };
            note_host(shared, &wire, event);
            if let Refused::Error(error) = refused {
                wire.sink.error(&error);
                wire.sink.flush();
            }
            return;
        }
    };
    note_host(shared, &wire, Event::LoggedIn);
    if wire.sink.capabilities.has(Capabilities::SESSION_TRACK) {
        session.track_changes();
    }
    session.multi_statements = wire.sink.capabilities.has(Capabilities::MULTI_STATEMENTS);
    session.multi_results = wire.sink.capabilities.has(Capabilities::MULTI_RESULTS);
    session.out_parameters = wire.sink.capabilities.has(Capabilities::PS_MULTI_RESULTS);
    session.found_rows = wire.sink.capabilities.has(Capabilities::FOUND_ROWS);
    process.end();
    let on = session.database().map_or_else(String::new, |database| format!(" on {database}"));
    let how = if wire.sink.stream().is_encrypted() { "SSL/TLS" } else { wire.peer.kind() };
    let who = format!("{}@{}{on} using {how}", session.user(), process.host());
    session.log_command("Connect", who.as_bytes());
    let mut connection = Connection {
        shared: shared.clone(),
        wire,
        process: process.clone(),
        status: status.clone(),
        session,
        account,
        statements: Statements::default(),
    };
    connection.run();
}

/// What happens before a login counts for the client's address.
fn note_host(shared: &Shared, wire: &Wire, event: Event) {
    if let Some(address) = wire.peer.address() {
        let size = shared.instance.variables.number("host_cache_size") as usize;
        shared.tls.hosts.note(address, event, size);
    }
}

struct Connection {
    shared: Arc<Shared>,
    wire: Wire,
    process: Arc<Process>,
    status: Arc<SessionStatus>,
    session: Session,
    account: Account,
    statements: Statements,
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
            self.wire.sink.is_pipelined = self.wire.incoming.has_rest();
            let next = catch_unwind(AssertUnwindSafe(|| self.command(&packet))).unwrap_or_else(|_| {
                error!("connection {} ends, because a command panicked", self.process.id);
                self.wire.sink.error(&Error::internal("the command failed unexpectedly; see the server's messages"));
                self.wire.sink.flush();
                Next::Goodbye
            });
            if next == Next::Answer {
                self.wire.sink.flush();
            }
            if let Some(rest) = self.wire.sink.take_file() {
                self.wire.incoming.put_back(&rest);
                // The file had timeouts of its own.
                self.wire.timeouts = [0; 3];
            }
            self.status.set_busy(false);
            self.process.end();
            if self.session.wants_shutdown() {
                return self.shared.request_shutdown();
            }
            if next == Next::Goodbye || self.wire.sink.is_broken() || self.process.is_killed() {
                return;
            }
        }
    }

    /// The session may have changed its timeouts.
    #[inline]
    fn follow_timeouts(&mut self) {
        let settings = &self.session.variables.settings;
        let seconds =
            [settings.wait_timeout_seconds, settings.net_read_timeout_seconds, settings.net_write_timeout_seconds];
        if seconds != self.wire.timeouts || self.wire.sink.stream().has_awaited_rest() {
            self.wire.timeouts = seconds;
            let [packet, rest, write] = seconds.map(Duration::from_secs);
            let stream = self.wire.sink.stream();
            stream.set_read_timeouts(packet, rest);
            let _ = stream.socket().set_write_timeout(write);
        }
    }

    /// Sends a last error, if the client still reads.
    fn farewell(&mut self, ended: Ended) {
        let error = match ended {
            Ended::Closed => return,
            Ended::Silent => Error::new(
                4031,
                b"HY000",
                "The client was disconnected by the server because of inactivity. See wait_timeout and interactive_timeout for configuring this behavior.",
            ),
            Ended::Interrupted => Error::new(1159, b"08S01", "Got timeout reading communication packets"),
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
        if sequence == 0 {
            self.wire.sink.stream().begin_unasked();
        }
        self.wire.sink.error(&error);
        self.wire.sink.flush();
        self.wire.sink.linger();
    }

    fn command(&mut self, packet: &Packet) -> Next {
        let Self { wire, session, statements, status, process, .. } = self;
        let Wire { incoming, sink, .. } = wire;
        sink.answer_in(session.results_charset());
        let payload = incoming.payload(packet);
        let command = match Command::decode(payload, sink.capabilities) {
            Ok(command) => command,
            Err(malformed) => {
                sink.error(&prepared::malformed_packet(malformed));
                return Next::Answer;
            }
        };
        status.add(Counter::Queries, 1);
        match command {
            Command::StatementExecute { statement, flags, parameters } => {
                status.add(Counter::Questions, 1);
                let directory = &self.shared.instance.datadir;
                prepared::execute(session, statements, statement, flags, parameters, process, directory, sink);
                session.set_query_attributes(Vec::new());
                Next::Answer
            }
            Command::Query(text) => {
                // Some clients count the end of their C string in.
                let text = text.strip_suffix(&[0]).unwrap_or(text);
                status.add(Counter::Questions, 1);
                process.begin("Query", text);
                session.log_command("Query", text);
                sink.rows = Rows::Text;
                let has_attributes =
                    sink.capabilities.has(Capabilities::QUERY_ATTRIBUTES) && payload.get(1) != Some(&0);
                if has_attributes {
                    session.set_query_attributes(query_attributes(payload).unwrap_or_default());
                }
                session.query(text, sink);
                if has_attributes {
                    session.set_query_attributes(Vec::new());
                }
                Next::Answer
            }
            Command::StatementPrepare(text) => {
                process.begin("Prepare", text);
                session.log_command("Prepare", text);
                let statements_max = self.shared.instance.variables.number("max_prepared_stmt_count");
                if self.shared.instance.status.prepared_statements() >= statements_max {
                    let message = format!(
                        "Can't create more than max_prepared_stmt_count statements (current value: {statements_max})"
                    );
                    sink.error(&Error::new(1461, b"42000", message));
                    return Next::Answer;
                }
                prepared::prepare(session, statements, text, sink);
                status.set_prepared_statements(statements.len());
                Next::Answer
            }
            Command::StatementSendLongData { statement, parameter, data } => {
                status.add(Counter::ComStmtSendLongData, 1);
                let bytes_max = session.variables.settings.max_allowed_packet_bytes as usize;
                prepared::send_long_data(statements, statement, parameter, data, bytes_max);
                Next::NoAnswer
            }
            Command::StatementClose(statement) => {
                if statements.remove(&statement).is_some() {
                    session.close_statement(statement);
                    status.set_prepared_statements(statements.len());
                }
                Next::NoAnswer
            }
            Command::StatementReset(statement) => {
                status.add(Counter::ComStmtReset, 1);
                prepared::reset(session, statements, statement, sink);
                Next::Answer
            }
            Command::StatementFetch { statement, rows } => {
                status.add(Counter::ComStmtFetch, 1);
                process.begin("Fetch", b"");
                prepared::fetch(session, statements, statement, rows, sink);
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
                session.log_command("Init DB", name);
                match session.init_db(&String::from_utf8_lossy(name)) {
                    Ok(()) => ok(session, sink),
                    Err(error) => sink.error(&error),
                }
                Next::Answer
            }
            Command::FieldList { table, pattern } => {
                process.begin("Field List", table);
                session.log_command("Field List", table);
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
                let id = u64::from(id);
                let killed =
                    session.check_kill(id).and_then(|()| self.shared.instance.processes.kill(id, Kill::Connection));
                match killed {
                    Ok(()) => ok(session, sink),
                    Err(error) => sink.error(&error),
                }
                Next::Answer
            }
            Command::Debug => {
                match session.rights().need(Privileges::SUPER) {
                    Ok(()) => end_of_rows(session, sink),
                    Err(error) => sink.error(&error),
                }
                Next::Answer
            }
            Command::Refresh(_) => {
                match session.rights().need(Privileges::RELOAD) {
                    Ok(()) => ok(session, sink),
                    Err(error) => sink.error(&error),
                }
                Next::Answer
            }
            Command::Shutdown => {
                if let Err(error) = session.rights().need(Privileges::SHUTDOWN) {
                    sink.error(&error);
                    return Next::Answer;
                }
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
            Command::RegisterReplica(registration) => {
                status.add(Counter::ComAdminCommands, 1);
                match session.rights().need(Privileges::REPLICATION_SLAVE) {
                    Ok(()) => {
                        dump::register(&self.shared, session, process, &registration);
                        ok(session, sink);
                    }
                    Err(error) => sink.error(&error),
                }
                Next::Answer
            }
            Command::BinlogDump(_) | Command::BinlogDumpGtid { .. } => {
                if let Err(error) = session.rights().need(Privileges::REPLICATION_SLAVE) {
                    sink.error(&error);
                    return Next::Answer;
                }
                let payload = payload.to_vec();
                self.dump(&payload)
            }
            Command::Quit => {
                session.log_command("Quit", b"");
                Next::Goodbye
            }
            Command::Unknown(number) => {
                debug!("connection {}: unknown command {number}", process.id);
                sink.error(&Error::unknown_command());
                Next::Answer
            }
        }
    }

    /// Sends the binary log until the client leaves.
    fn dump(&mut self, request: &[u8]) -> Next {
        let Self { shared, wire, process, status, session, .. } = self;
        let talk = Talk { shared, session, process, status };
        match Command::decode(request, wire.sink.capabilities) {
            Ok(Command::BinlogDump(dump)) => talk.dump(wire, &dump, None),
            Ok(Command::BinlogDumpGtid { dump, gtids }) => talk.dump(wire, &dump, Some(gtids)),
            _ => unreachable!("it was decoded before"),
        }
        Next::Goodbye
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
            // As MySQL, which does not allow many passwords to be tried.
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
        self.wire.begin_login(&self.shared);
        let (account, admission) = authenticate(&self.shared, &mut self.wire, &user, request.auth, plugin)?;
        self.wire.sink.stream().set_deadline(None);
        // The connection counts for its new account alone.
        self.session.admitted(admission, None);
        let connections_max = self.shared.instance.variables.number("max_user_connections").min(u64::from(u32::MAX));
        let share = self.shared.instance.usage.enter(&account, connections_max as u32)?;
        self.account = account;
        self.reset();
        self.process.set_user(&user);
        let host = self.wire.peer.host();
        self.session.log_in(&user, &self.account, &hosts_of(&host, self.wire.peer.is_local()));
        self.session.admitted(admission, share);
        if let Some(collation) = request.collation {
            set_collation(&mut self.session, collation);
        }
        match request.database {
            Some(database) => self.session.init_db(&String::from_utf8_lossy(database))?,
            None => self.process.set_database(None),
        }
        if admission != Admission::Expired {
            run_first_statements(&self.shared, &mut self.session, &self.account)?;
        }
        let attributes = attributes_of(&self.shared, &request.attributes);
        self.process.set_attributes(attributes);
        debug!("connection {} is now '{}'@'{}'", self.process.id, self.account.user, self.account.host);
        Ok(())
    }
}

#[inline]
fn ok(session: &Session, sink: &mut Sink) {
    session.answer_ok(sink);
}

/// The answer of old commands that end with EOF.
fn end_of_rows(session: &Session, sink: &mut Sink) {
    let (status, capabilities) = (session.status_flags(), sink.capabilities);
    let end = response::Ok { status, ..response::Ok::default() };
    sink.packets.push(|out| end.encode_end_of_rows(capabilities, out));
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
            let charset = sink.charset;
            sink.packets.push(|out| {
                column.encode_in(charset, out);
                out.push(0xFB); // The default: NULL, which is what clients ignore best.
            });
        }
    }
    end_of_rows(session, sink);
}
