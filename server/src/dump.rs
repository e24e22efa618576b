//! A replica's connection once it has asked for the binary log: events go out, nothing else comes in.
//!
//! ```text
//!   COM_REGISTER_SLAVE     who the replica is, for SHOW REPLICAS
//!   SET @...               what it understands
//!   COM_BINLOG_DUMP[_GTID]
//!      <--  events, each in a packet (or several) behind a byte 0
//!      <--  heartbeats while nothing happens
//!      <--  error 1236: what was asked for is not there; or the end, if the client does not wait for more
//! ```
//!
//! With semi-synchronous replication each event has two more bytes in front, and the replica answers those that ask for
//! it: `0xEF`, the position and the file up to which it has everything. A second thread reads these answers.
//!
//! The connection ends with the dump. A thread that waits for events sleeps on a condition variable; it looks once a
//! second whether its client has gone.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::net::Shutdown;
use std::sync::Arc;
use std::time::{Duration, Instant};

use binlog::dump::{Ended, Receiver, Step, Wishes};
use binlog::end::Reach;
use binlog::{BinaryLog, Dump};
use format::binlog::{Checksum, GtidSet};
use format::packet::command::{self, Registration};
use format::packet::frame::{Header, PAYLOAD_BYTES_MAX};
use format::packet::response;
use format::value::Value;
use parking_lot::Mutex;
use sql::dumps::Replica;
use sql::processlist::Process;
use sql::status::{Counter, SessionStatus};
use sql::variables::PayloadRules;
use sql::{Error, ResultSink, Session};

use crate::incoming::Incoming;
use crate::login::{Wire, lossy};
use crate::shared::Shared;
use crate::stream::Stream;

/// Events are sent when they have grown to this size, or when there are no more.
const FLUSH_BYTES: usize = 64 << 10;

/// How often a waiting dump looks for its client.
const WATCH_PERIOD: Duration = Duration::from_secs(1);

/// What events and answers begin with in semi-synchronous replication.
const SEMI_SYNC: u8 = 0xEF;

/// An answer is not longer.
const ANSWER_BYTES_MAX: usize = 1024;

/// How long a client that has everything does not know its position in the source's file.
const APART_PERIOD: Duration = Duration::from_secs(1);

const SENDING: &str = "Sending binlog event to replica";
const SWITCHING: &str = "Finished reading one binlog; switching to next binlog";
const WAITING: &str = "Source has sent all binlog to replica; waiting for more updates";

/// COM_REGISTER_SLAVE.
pub fn register(shared: &Shared, session: &Session, process: &Process, registration: &Registration<'_>) {
    let replica = Replica {
        server_id: registration.server_id,
        host: lossy(registration.host),
        port: registration.port,
        source_id: shared.instance.variables.number("server_id") as u32,
        uuid: uuid(session),
    };
    shared.instance.dumps.register(process.id, replica);
}

fn text(session: &Session, names: [&str; 2]) -> Option<String> {
    match names.iter().find_map(|name| session.user_variable(name))? {
        Value::Null => None,
        Value::Bytes(bytes) => Some(lossy(&bytes)),
        Value::Int(number) => Some(number.to_string()),
        Value::UInt(number) => Some(number.to_string()),
        Value::Decimal(number) => Some(number.to_f64().to_string()),
        Value::Double(number) => Some(number.to_string()),
        _ => Some(String::new()),
    }
}

fn uuid(session: &Session) -> String {
    text(session, ["replica_uuid", "slave_uuid"]).unwrap_or_default()
}

/// The client's silence after which it wants to hear something.
fn heartbeat_period(session: &Session) -> Option<Duration> {
    let nanos = text(session, ["source_heartbeat_period", "master_heartbeat_period"])?.parse::<f64>().ok()?;
    (nanos >= 1.0).then(|| Duration::from_nanos(nanos as u64))
}

/// Whether the client takes compressed transactions as they are: what is set for its account, what it says itself, or
/// what is known of its kind. A client that says nothing gets plain events, which every one reads.
fn reads_payloads(shared: &Shared, session: &Session, wire: &Wire) -> bool {
    let rules = PayloadRules::parse(&shared.instance.variables.text("binlog_dump_payloads")).unwrap_or_default();
    if let Some(chosen) = rules.of(session.user()) {
        return chosen;
    }
    if let Some(said) = text(session, ["replica_reads_payloads"; 2]) {
        return matches!(said.to_ascii_uppercase().as_str(), "1" | "ON");
    }
    let attribute =
        |name: &str| wire.attributes.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str());
    let is_listener = attribute("_client_role") == Some("binary_log_listener");
    is_listener && attribute("_client_name") == Some("libmysql") && attribute("_client_version").is_some_and(is_8_0_20)
}

fn is_8_0_20(version: &str) -> bool {
    let mut numbers = version.split(|c: char| !c.is_ascii_digit()).map(|number| number.parse().unwrap_or(0));
    let mut next = || numbers.next().unwrap_or(0);
    (next(), next(), next()) >= (8_u32, 0, 20)
}

/// The connection that a dump is sent over.
pub struct Talk<'c> {
    pub shared: &'c Shared,
    pub session: &'c Session,
    pub process: &'c Arc<Process>,
    pub status: &'c SessionStatus,
}

/// A dump as it was asked for.
struct Order {
    log: Arc<BinaryLog>,
    file: String,
    position: u64,
    wishes: Wishes,
    heartbeat: Option<Duration>,
    /// It does not end where the log ends.
    waits: bool,
    /// The client answers: semi-synchronous replication.
    answers: bool,
}

impl Talk<'_> {
    fn order(&self, wire: &Wire, request: &command::Dump<'_>, gtids: Option<&[u8]>) -> Result<Order, Ended> {
        let refused = |why: String| Err(Ended::Refused(why));
        let Some(log) = &self.shared.instance.log else { return refused("Binary log is not open".to_owned()) };
        let has = match gtids.map(GtidSet::decode).transpose() {
            Ok(has) => has,
            Err(cause) => return refused(format!("Malformed set of GTIDs: {cause}")),
        };
        let Some(checksum) = text(self.session, ["source_binlog_checksum", "master_binlog_checksum"]) else {
            let why = "Replica can not handle replication events with the checksum that source is configured to log";
            return refused(why.to_owned());
        };
        let wishes = Wishes {
            checksum: if checksum.eq_ignore_ascii_case("CRC32") { Checksum::Crc32 } else { Checksum::None },
            payloads: reads_payloads(self.shared, self.session, wire),
            collations: self.session.user_variable("mariadb_slave_capability").is_none(),
            has,
        };
        let answers = text(self.session, ["rpl_semi_sync_replica", "rpl_semi_sync_slave"]);
        Ok(Order {
            log: log.clone(),
            file: lossy(request.file),
            position: request.position,
            wishes,
            heartbeat: heartbeat_period(self.session),
            waits: request.flags & command::Dump::NON_BLOCKING == 0,
            answers: answers.is_some_and(|said| said != "0"),
        })
    }

    /// COM_BINLOG_DUMP, and with `gtids` COM_BINLOG_DUMP_GTID. The connection is to end afterwards.
    pub fn dump(&self, wire: &mut Wire, request: &command::Dump<'_>, gtids: Option<&[u8]>) {
        let process = self.process;
        process.begin(if gtids.is_some() { "Binlog Dump GTID" } else { "Binlog Dump" }, b"");
        let identity = match (uuid(self.session), request.server_id) {
            (uuid, _) if !uuid.is_empty() => uuid,
            (_, 0) => String::new(),
            (_, id) => id.to_string(),
        };
        let _dumping = self.shared.instance.dumps.begin(&identity, process);
        let mut sequence = wire.sink.packets.sequence();
        let ended = match self.order(wire, request, gtids) {
            Ok(order) => self.send(wire, &order, &mut sequence),
            Err(refused) => Err(refused),
        };
        wire.sink.restart(sequence);
        match ended {
            Ok(()) => wire.sink.packets.push(|out| response::encode_eof(0, self.session.status_flags(), out)),
            Err(Ended::Client(_)) => return,
            Err(ended) => wire.sink.error(&Error::new(1236, b"HY000", ended.to_string())),
        }
        wire.sink.flush();
    }

    fn send(&self, wire: &mut Wire, order: &Order, sequence: &mut u8) -> Result<(), Ended> {
        let Wire { incoming, sink, .. } = wire;
        wake_on_kill(&order.log, self.process, sink.stream());
        if !order.answers {
            return self.transmit(sink.stream(), order, None, sequence);
        }
        let asked = Asked::default();
        // The replica is silent while nothing happens.
        let _ = sink.stream().socket().set_read_timeout(Duration::ZERO);
        let mut answering = sink.stream().reader()?;
        let (semi_sync, connection) = (order.log.semi_sync(), self.process.id);
        semi_sync.attach(connection);
        let ended = std::thread::scope(|scope| {
            scope.spawn(|| read_answers(&order.log, connection, incoming, &mut answering, &asked));
            let ended = self.transmit(sink.stream(), order, Some(&asked), sequence);
            sink.stream().socket().shutdown(Shutdown::Read);
            ended
        });
        semi_sync.detach(connection);
        ended
    }

    fn transmit(
        &self,
        stream: &mut Stream,
        order: &Order,
        asked: Option<&Asked>,
        sequence: &mut u8,
    ) -> Result<(), Ended> {
        let (log, process) = (&order.log, self.process);
        let mut out = Out::new(stream, process, self.status, asked, sequence);
        process.set_state(SENDING);
        let mut dump = Dump::begin(log, &order.file, order.position, order.wishes.clone(), &mut out)?;
        let mut came_back = Instant::now();
        loop {
            match dump.step(&mut out)? {
                Step::Sent => {}
                Step::Switched => process.set_state(SWITCHING),
                Step::AtEnd(reach) => {
                    out.flush()?;
                    if order.answers && !out.has_asked {
                        // The client has everything, as it said itself by where it begins.
                        log.semi_sync().acknowledge(process.id, reach, reach);
                    }
                    if !order.waits {
                        dump.come_back(&mut out)?;
                        return Ok(out.flush()?);
                    }
                    if dump.is_apart() && came_back.elapsed() >= APART_PERIOD {
                        dump.come_back(&mut out)?;
                        out.flush()?;
                        came_back = Instant::now();
                    }
                    process.set_state(WAITING);
                    self.wait(order, reach, &mut dump, &mut out)?;
                    process.set_state(SENDING);
                }
            }
        }
    }

    /// Waits until there is more than this. The client hears a heartbeat now and then.
    fn wait(&self, order: &Order, known: Reach, dump: &mut Dump, out: &mut Out<'_>) -> Result<(), Ended> {
        let began = Instant::now();
        let mut heard = began;
        loop {
            let limit = order.heartbeat.map_or(WATCH_PERIOD, |period| period.saturating_sub(heard.elapsed()));
            if order.log.wait_beyond(known, limit.min(WATCH_PERIOD))? != known {
                return Ok(());
            }
            if self.process.interrupt.ends_wait() {
                return Err(killed().into());
            }
            if dump.is_apart() && began.elapsed() >= APART_PERIOD {
                dump.come_back(out)?;
                out.flush()?;
            }
            if order.heartbeat.is_some_and(|period| heard.elapsed() >= period) {
                dump.heartbeat(out)?;
                out.flush()?;
                heard = Instant::now();
            }
        }
    }
}

/// The answers of a replica, until it has no more. They come in the order of the questions, so the position in them, which
/// may be one of a stretch, is not needed.
fn read_answers(log: &BinaryLog, connection: u32, incoming: &mut Incoming, stream: &mut Stream, asked: &Asked) {
    while let Ok(packet) = incoming.read(stream, 0, ANSWER_BYTES_MAX) {
        if incoming.payload(&packet).first() != Some(&SEMI_SYNC) {
            return;
        }
        let Some(has) = asked.lock().pop_front() else { return };
        log.semi_sync().acknowledge(connection, has, log.end().get());
    }
}

/// KILL wakes the dump.
fn wake_on_kill(log: &Arc<BinaryLog>, process: &Process, stream: &Stream) {
    if let Ok(handle) = stream.socket().try_clone() {
        let end = log.end().clone();
        process.on_kill(Box::new(move || {
            handle.shutdown(Shutdown::Read);
            end.wake();
        }));
    }
}

fn killed() -> io::Error {
    io::Error::new(io::ErrorKind::ConnectionAborted, "the connection was killed")
}

/// What a replica was asked to answer for, in this order.
type Asked = Mutex<VecDeque<Reach>>;

/// Packets of events on their way to the client.
struct Out<'c> {
    stream: &'c mut Stream,
    process: &'c Process,
    status: &'c SessionStatus,
    /// What the client was asked to answer for, if it answers at all, and whether it was asked.
    answers: Option<&'c Asked>,
    has_asked: bool,
    /// The event under way asks for an answer.
    asks: bool,
    buffer: Vec<u8>,
    /// The number of the next packet.
    sequence: &'c mut u8,
    /// Bytes of the payload that are missing, and how many of them belong into the packet that was begun.
    left: u64,
    room: usize,
    /// A full packet has another behind it, even if that is empty.
    continues: bool,
}

impl<'c> Out<'c> {
    fn new(
        stream: &'c mut Stream,
        process: &'c Process,
        status: &'c SessionStatus,
        answers: Option<&'c Asked>,
        sequence: &'c mut u8,
    ) -> Out<'c> {
        Out {
            stream,
            process,
            status,
            answers,
            has_asked: false,
            asks: false,
            buffer: Vec::new(),
            sequence,
            left: 0,
            room: 0,
            continues: false,
        }
    }

    fn begin_packet(&mut self) {
        self.room = self.left.min(PAYLOAD_BYTES_MAX as u64) as usize;
        let header = Header { bytes: self.room, sequence: *self.sequence };
        self.continues = header.continues();
        self.buffer.extend_from_slice(&header.encode());
        *self.sequence = self.sequence.wrapping_add(1);
    }

    fn flush(&mut self) -> io::Result<()> {
        self.status.add(Counter::BytesSent, self.buffer.len() as u64);
        let sent = self.stream.write_all(&self.buffer);
        self.buffer.clear();
        sent
    }
}

impl Receiver for Out<'_> {
    fn begin(&mut self, bytes: u64, has_all: Option<Reach>) -> io::Result<()> {
        if self.process.interrupt.is_set() {
            return Err(killed());
        }
        let head = [0, SEMI_SYNC, u8::from(has_all.is_some())];
        let head = if self.answers.is_some() { &head[..] } else { &head[..1] };
        self.left = head.len() as u64 + bytes;
        self.begin_packet();
        self.asks = self.answers.is_some() && has_all.is_some();
        if let (Some(answers), Some(reach)) = (self.answers, has_all) {
            answers.lock().push_back(reach);
            self.has_asked = true;
        }
        self.put(head)
    }

    fn put(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        loop {
            let (part, rest) = bytes.split_at(bytes.len().min(self.room));
            self.buffer.extend_from_slice(part);
            self.room -= part.len();
            self.left -= part.len() as u64;
            bytes = rest;
            if self.room == 0 && self.continues {
                self.begin_packet();
            }
            if self.left == 0 && self.asks {
                // The answer's packet has number 0, and what follows it number 1.
                *self.sequence = 1;
            }
            if self.buffer.len() >= FLUSH_BYTES {
                self.flush()?;
            }
            if bytes.is_empty() {
                return Ok(());
            }
            assert!(self.room > 0, "an event is as long as it was said to be");
        }
    }
}
