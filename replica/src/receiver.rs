//! Reads the source's log into the relay log.
//!
//! ```text
//! connect --> introduce, register --> dump --> events ... connection lost --+
//!    ^                                                                       |
//!    +------------------------ SOURCE_CONNECT_RETRY seconds -----------------+   at most SOURCE_RETRY_COUNT times
//! ```
//!
//! After a lost connection the log is read on where it stopped, also within a transaction. With SOURCE_AUTO_POSITION the
//! source sends whole transactions: the last one that came is asked for again, for it may not be whole, and the applier
//! passes over what it has applied. With MASTER_USE_GTID a MariaDB source does the same by its own names.
//!
//! `rpl_semi_sync_replica_enabled`, at the moment of the connection: the source's commits wait until the receiver answers
//! that it has written their events into the relay log's file. It is not synced, and a start removes it; so an acknowledged
//! transaction outlives the source, or this server, but not both at once before it is applied.

use std::cell::RefCell;
use std::sync::Arc;
use std::time::Duration;

use binlog::stats::Follower;
use format::binlog::mariadb::MariadbGtidEvent;
use format::binlog::{
    Checksum, Control, Event, EventKind, FormatDescription, Gtid, GtidSet, Header, Uuid, flags, gtid,
};
use sql::replication::Receiving;
use storage::Result as Stored;
use tracing::{info, warn};

use crate::client::{self, Client, Failure, Login, Sent};
use crate::shared::{Shared, failed};
use crate::source::Source;

/// What MySQL calls an error that the source sends instead of events.
const SOURCE_FATAL: u16 = 13114;
/// The same on the source's side.
const SOURCE_FATAL_THERE: u16 = 1236;
/// The relay log cannot be written.
const RELAY_WRITE_FAILURE: u16 = 1595;

/// How the receiver's work ended.
enum End {
    /// It was asked to.
    Stopped,
    /// The connection was lost, or the source has left.
    Lost(Failure),
    /// Trying again does not help.
    Fatal(u16, String),
}

impl From<Failure> for End {
    fn from(failure: Failure) -> End {
        match failure {
            Failure::Unfit(why) => End::Fatal(13117, format!("Fatal error: {why}")),
            Failure::Server { code: SOURCE_FATAL_THERE, message } => {
                let text = format!("Got fatal error 1236 from source when reading data from binary log: '{message}'");
                End::Fatal(SOURCE_FATAL, text)
            }
            other => End::Lost(other),
        }
    }
}

/// The receiver's thread.
pub fn run(shared: &Arc<Shared>) {
    let outcome = Receiver { shared: shared.clone(), follower: RefCell::default() }.work();
    let mut state = shared.lock();
    let receiver = &mut state.receiver;
    (receiver.running, receiver.receiving, receiver.doing) = (false, Receiving::No, "");
    receiver.is_semi_sync = false;
    receiver.stream = None;
    if let Some((code, message)) = outcome {
        warn!("the replica's receiver stops: {message}");
        receiver.error = failed(code, message);
    }
    drop(state);
    shared.notify();
}

struct Receiver {
    shared: Arc<Shared>,
    /// Counts the transactions that come.
    follower: RefCell<Follower>,
}

impl Receiver {
    /// The error that ends it, if it was not asked to end.
    fn work(&self) -> Option<(u16, String)> {
        let mut tries = 0;
        loop {
            let source = {
                let state = self.shared.lock();
                let (user, password) = state.receiver.account.clone();
                let mut source = state.source.clone()?;
                source.user = user.unwrap_or(source.user);
                source.password = password.unwrap_or(source.password);
                source
            };
            let lost = match self.connect(&source, &mut tries) {
                End::Stopped => return None,
                End::Fatal(code, message) => return Some((code, message)),
                End::Lost(failure) => failure,
            };
            if self.shared.lock().receiver.stop {
                return None;
            }
            tries += 1;
            let account = format!("{}@{}:{}", source.user, source.host, source.port);
            let (retry, count) = (source.connect_retry, source.retry_count);
            let message = format!(
                "Error connecting to source '{account}'. This was attempt {tries}/{count}, with a delay of {retry} \
                 seconds between attempts. Message: {lost}"
            );
            warn!("{message}");
            if count > 0 && tries >= count {
                return Some((lost.code(), message));
            }
            let mut state = self.shared.lock();
            state.receiver.error = failed(lost.code(), message);
            state.receiver.receiving = Receiving::Connecting;
            state.receiver.doing = "Reconnecting after a failed source event read";
            drop(state);
            let until = crate::shared::now_micros() + retry * 1_000_000;
            self.shared.sleep_until(until, &|state| state.receiver.stop);
            if self.shared.lock().receiver.stop {
                return None;
            }
        }
    }

    /// One connection, from login to its end.
    fn connect(&self, source: &Source, tries: &mut u64) -> End {
        match self.receive(source, tries) {
            Ok(end) | Err(end) => end,
        }
    }

    fn receive(&self, source: &Source, tries: &mut u64) -> Result<End, End> {
        let variables = &self.shared.instance.variables;
        let timeout = Duration::from_secs(variables.number("replica_net_timeout").max(1));
        {
            let mut state = self.shared.lock();
            state.receiver.receiving = Receiving::Connecting;
            state.receiver.doing = "Connecting to source";
        }
        let connected = |stream| self.shared.lock().receiver.stream = Some(stream);
        let login = Login::of_source(source, &self.shared.instance.datadir);
        let mut client = Client::connect(&login, timeout, &connected)?;
        if self.shared.lock().receiver.stop {
            return Ok(End::Stopped);
        }
        let own_id = variables.number("server_id") as u32;
        self.introduce(&mut client, source, own_id, timeout)?;
        if source.use_gtid.is_some() {
            let position = {
                let mut state = self.shared.lock();
                // It may have come in part, so it is asked for again.
                state.receiver.mariadb_last = None;
                state.received_mariadb()
            };
            client.dump_behind(own_id, &position)?;
        } else if source.auto_position {
            let applied = self.shared.executed();
            let state = self.shared.lock();
            let mut known = applied.clone();
            known.extend(&state.receiver.retrieved);
            if let Some(last) = state.receiver.last {
                known = without(&known, last, &applied);
            }
            drop(state);
            client.dump_without(own_id, &known)?;
        } else {
            let state = self.shared.lock();
            let applied = (state.progress.file.clone(), state.progress.position);
            let (file, position) = state.receiver.read.clone().unwrap_or(applied);
            drop(state);
            client.dump(own_id, &file, position.max(4), 0)?;
            self.shared.lock().receiver.read = Some((file, position.max(4)));
        }
        {
            let mut state = self.shared.lock();
            state.receiver.receiving = Receiving::Yes;
            state.receiver.doing = "Waiting for source to send event";
            state.receiver.error = Default::default();
        }
        self.shared.notify();
        info!("replicating {}:{}", source.host, source.port);
        *tries = 0;
        let mut checksum = None;
        let limit = variables.number("relay_log_space_limit");
        loop {
            if limit > 0 {
                let shared = &self.shared;
                shared.relay.wait_for_room(limit, &|| shared.lock().receiver.stop);
            }
            let Some(Sent { event, more, wants_answer }) = client.next_event()? else {
                return Ok(End::Lost(Failure::Server {
                    code: 2013,
                    message: "the source has ended the dump".to_owned(),
                }));
            };
            if self.shared.lock().receiver.stop {
                return Ok(End::Stopped);
            }
            let written = self.event(event, more && !wants_answer, &mut checksum)?;
            written.map_err(|error| End::Fatal(RELAY_WRITE_FAILURE, format!("Relay log write failure: {error}")))?;
            if wants_answer {
                let (file, position) = self.shared.lock().receiver.read.clone().unwrap_or_default();
                client.answer(&file, position)?;
            }
        }
    }

    fn introduce(&self, client: &mut Client, source: &Source, own_id: u32, timeout: Duration) -> Result<(), End> {
        let unfit = |why: &str| End::from(Failure::Unfit(why.to_owned()));
        let variables = &self.shared.instance.variables;
        let is_mariadb = client.server_version.contains("MariaDB");
        let source_id: u32 = client.ask_variable("server_id")?.and_then(|id| id.parse().ok()).unwrap_or(0);
        if source_id == own_id {
            return Err(unfit(
                "The replica I/O thread stops because source and replica have equal MySQL server ids; these ids must \
                 be different for replication to work (or the --replicate-same-server-id option must be used on \
                 replica but this does not always make sense; please check the manual before using it).",
            ));
        }
        let own_uuid: Uuid = variables.text("server_uuid").parse().unwrap_or_default();
        let source_uuid = match is_mariadb {
            true => None,
            false => client.ask_variable("server_uuid")?.and_then(|uuid| uuid.parse().ok()),
        };
        if source_uuid == Some(own_uuid) {
            return Err(unfit(
                "The replica I/O thread stops because source and replica have equal MySQL server UUIDs; these UUIDs \
                 must be different for replication to work.",
            ));
        }
        if source.use_gtid.is_some() && !is_mariadb {
            return Err(unfit(
                "MASTER_USE_GTID needs a source with MariaDB's GTIDs; give SOURCE_AUTO_POSITION = 1, or SOURCE_LOG_FILE and \
                 SOURCE_LOG_POS",
            ));
        }
        if source.auto_position && is_mariadb {
            return Err(unfit(
                "SOURCE_AUTO_POSITION needs a source with MySQL's GTIDs; give MASTER_USE_GTID = slave_pos, or SOURCE_LOG_FILE \
                 and SOURCE_LOG_POS",
            ));
        }
        if source.auto_position
            && !client.ask_variable("gtid_mode")?.is_some_and(|mode| matches!(mode.as_str(), "ON" | "ON_PERMISSIVE"))
        {
            return Err(unfit("SOURCE_AUTO_POSITION needs a source with gtid_mode=ON"));
        }
        let heartbeat = source.heartbeat(timeout);
        let is_semi_sync = variables.on("rpl_semi_sync_replica_enabled") && knows_semi_sync(client)?;
        for statement in client::introduction(own_uuid, is_mariadb, is_semi_sync, heartbeat) {
            client.query(&statement)?;
        }
        if is_semi_sync {
            client.be_semi_sync();
        }
        let port = match variables.number("report_port") {
            0 => variables.number("port"),
            port => port,
        };
        client.register(own_id, &variables.text("report_host"), port as u16)?;
        let mut state = self.shared.lock();
        (state.receiver.source_id, state.receiver.source_uuid) = (source_id, source_uuid);
        state.receiver.is_semi_sync = is_semi_sync;
        Ok(())
    }

    /// An event has come. `checksum`: what the events of this dump have, as soon as that is known.
    fn event(&self, bytes: &[u8], more: bool, checksum: &mut Option<Checksum>) -> Result<Stored<()>, End> {
        let damaged = |cause: format::Error| {
            End::Lost(Failure::Server {
                code: 13121,
                message: format!("Relay log read failure: an event of the source is damaged: {cause}"),
            })
        };
        let header = Header::decode(bytes).map_err(damaged)?;
        let relay = &self.shared.relay;
        match header.kind {
            EventKind::FORMAT_DESCRIPTION => {
                *checksum = Some(FormatDescription::decode(bytes).map_err(damaged)?.0.checksum);
                let (file, position) = self.shared.lock().receiver.read.clone().unwrap_or_default();
                self.has_read(&header);
                return Ok(relay.begin(bytes, &file, position));
            }
            EventKind::ROTATE => {
                // Before the description it is not said whether there is a checksum: one that fits is one.
                let event = match checksum {
                    Some(checksum) => Event::decode(bytes, *checksum),
                    None => Event::decode(bytes, Checksum::Crc32).or_else(|_| Event::decode(bytes, Checksum::None)),
                };
                let event = event.map_err(damaged)?;
                if let Some(Control::Rotate { position, file }) = Control::decode(&event).map_err(damaged)? {
                    let file = String::from_utf8_lossy(file).into_owned();
                    self.shared.lock().receiver.read = Some((file.clone(), position));
                    return Ok(match relay.is_begun() {
                        true => relay.rotate_source(&file, position),
                        false => Ok(()),
                    });
                }
                return Ok(Ok(()));
            }
            EventKind::HEARTBEAT | EventKind::HEARTBEAT_V2 => {
                let mut state = self.shared.lock();
                state.receiver.heartbeats += 1;
                state.receiver.heartbeat_at_micros = crate::shared::now_micros();
                return Ok(Ok(()));
            }
            _ => {}
        }
        let Some(checksum) = *checksum else {
            let text = "the source sent an event before it described its log".to_owned();
            return Err(End::Lost(Failure::Server { code: 13121, message: text }));
        };
        let whole = match Follower::reads(header.kind) {
            true => Some(Event::decode(bytes, checksum).map_err(damaged)?),
            false => None,
        };
        let counts = &self.shared.instance.status.relay_log;
        self.follower.borrow_mut().see(&header, checksum, whole.as_ref(), counts);
        if let EventKind::GTID | EventKind::ANONYMOUS_GTID = header.kind {
            let event = Event::decode(bytes, checksum).map_err(damaged)?;
            let named = gtid::gtid_of(&event).map_err(damaged)?.and_then(|event| event.gtid);
            let mut state = self.shared.lock();
            state.receiver.last = named;
            if let Some(gtid) = named {
                state.receiver.retrieved.insert(gtid);
            }
        }
        if header.kind == EventKind::MARIADB_GTID {
            let event = Event::decode(bytes, checksum).map_err(damaged)?;
            let named = MariadbGtidEvent::decode(event.body, header.server_id).map_err(damaged)?.gtid;
            let receiver = &mut self.shared.lock().receiver;
            if let Some(before) = receiver.mariadb_last.replace(named) {
                receiver.mariadb.advance(before);
            }
        }
        let place = self.has_read(&header);
        let variables = &self.shared.instance.variables;
        let bytes_max = match variables.number("max_relay_log_size") {
            0 => variables.number("max_binlog_size"),
            bytes => bytes,
        };
        // The applier gives room back file by file.
        let bytes_max = match variables.number("relay_log_space_limit") {
            0 => bytes_max,
            limit => bytes_max.min(limit / 4),
        };
        Ok(relay.append(bytes, more, bytes_max, (&place.0, place.1)))
    }

    /// Notes where the source's log goes on.
    fn has_read(&self, header: &Header) -> (String, u64) {
        let mut state = self.shared.lock();
        let (file, position) = state.receiver.read.get_or_insert_default();
        if header.flags & flags::ARTIFICIAL == 0 && header.end_position != 0 {
            // The field has four bytes, also beyond 4 GiB.
            let high = *position & !0xFFFF_FFFF;
            let end = high | u64::from(header.end_position);
            *position = if end < *position { end + (1 << 32) } else { end };
        }
        (file.clone(), *position)
    }
}

/// Whether the source has semi-synchronous replication.
fn knows_semi_sync(client: &mut Client) -> Result<bool, Failure> {
    for name in ["rpl_semi_sync_source_enabled", "rpl_semi_sync_master_enabled"] {
        if client.ask_variable(name)?.is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// A set without a transaction, unless that has been applied.
fn without(known: &GtidSet, last: Gtid, applied: &GtidSet) -> GtidSet {
    if applied.contains(last) {
        return known.clone();
    }
    let mut one = GtidSet::default();
    one.insert(last);
    known.without(&one)
}
