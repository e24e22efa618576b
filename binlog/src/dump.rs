//! What a replica is sent: the events of the log's files, one file after the other, and then those that come.
//!
//! ```text
//!   Rotate (artificial)        file and position that the dump begins at
//!   Format_description
//!   events ...                 as they stand in the file
//!   Rotate                     end of the file; the next one begins in the same way
//! ```
//!
//! Only what is durable is sent ([`crate::end`]). Memory is bounded by a piece of an event, or by one event of a payload
//! that is expanded.
//!
//! **Payloads.** A client that cannot read a Transaction_payload gets the events in it. They are longer than the payload,
//! and a replica counts the bytes of what it gets to know where it is in the source's file; so such a transaction is
//! sent as if it stood in a file of its own:
//!
//! ```text
//!   binlog.000007   ...  | Gtid | Transaction_payload |  ...
//!                        ^ 1234                       ^ 5678
//!
//!   Rotate              to binlog.0-000007-1234, position 4
//!   Gtid, events        their positions count from 4
//!   Rotate              to binlog.000007, position 5678
//! ```
//!
//! The name says where the transaction is, so a client that lost its connection in the middle of it can go on there, also
//! after the source was restarted. Its number is 0, so functions that compare files by number (MASTER_POS_WAIT) do not take
//! a position in it for a later one of the log.

use std::fmt;
use std::io::{self, BufReader, Read};
use std::sync::Arc;

use format::binlog::payload::{PayloadEvents, PayloadFields};
use format::binlog::{Checksum, Control, Event, EventKind, GtidSet, HEADER_BYTES, Header, Query, event, flags, gtid};
use format::packet::Reader;
use storage::Error;

use crate::end::Reach;
use crate::files::FileName;
use crate::log::BinaryLog;
use crate::reader::EventReader;
use crate::readers::Reading;
use crate::recovery;

/// Where the first event of a file stands.
const FIRST: u64 = 4;

/// How a client wants the events.
#[derive(Clone, Debug)]
pub struct Wishes {
    pub checksum: Checksum,
    /// It reads Transaction_payload.
    pub payloads: bool,
    /// It knows the collations of MySQL 8.0.
    pub collations: bool,
    /// Auto-position: the transactions that it has.
    pub has: Option<GtidSet>,
}

/// Why a dump ends.
#[derive(Debug)]
pub enum Ended {
    /// The client does not take any more.
    Client(io::Error),
    /// The log cannot be read.
    Log(Error),
    /// What was asked for is not there.
    Refused(String),
}

impl From<io::Error> for Ended {
    fn from(cause: io::Error) -> Ended {
        Ended::Client(cause)
    }
}

impl From<Error> for Ended {
    fn from(cause: Error) -> Ended {
        Ended::Log(cause)
    }
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Ended::Client(cause) => write!(f, "the client: {cause}"),
            Ended::Log(cause) => write!(f, "{cause}"),
            Ended::Refused(why) => f.write_str(why),
        }
    }
}

type Result<T> = std::result::Result<T, Ended>;

fn refused<T>(why: impl Into<String>) -> Result<T> {
    Err(Ended::Refused(why.into()))
}

const IMPOSSIBLE: &str = "Client requested source to start replication from impossible position";
const NO_FILE: &str = "Could not find first log file name in binary log index file";

/// Where events go.
pub trait Receiver {
    /// An event of so many bytes begins. `is_last`: with it the client has all that is durable.
    fn begin(&mut self, bytes: u64, is_last: bool) -> io::Result<()>;
    /// Bytes of the event.
    fn put(&mut self, bytes: &[u8]) -> io::Result<()>;
}

/// What a step did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    Sent,
    /// The next file begins.
    Switched,
    /// There is nothing more than this yet.
    AtEnd(Reach),
}

/// A position that a client may be at.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Place {
    file: FileName,
    position: u64,
    /// In the expanded transaction that begins at `position`.
    within: Option<u64>,
}

/// The name of the file that a transaction would stand in if it were expanded.
fn expanded_name(file: &FileName, at: u64) -> String {
    format!("{}.0-{:06}-{at}", file.base, file.number)
}

impl Place {
    fn parse(base: &str, name: &str, position: u64) -> Option<Place> {
        let place =
            name.strip_prefix(base).and_then(|rest| rest.strip_prefix(".0-")).and_then(|rest| rest.split_once('-'));
        match place {
            Some((number, at)) => Some(Place {
                file: FileName { base: base.into(), number: number.parse().ok()? },
                position: at.parse().ok()?,
                within: Some(position.checked_sub(FIRST)?),
            }),
            None => Some(Place { file: FileName::parse(name)?, position, within: None }),
        }
    }

    fn name(&self) -> String {
        match self.within {
            Some(_) => expanded_name(&self.file, self.position),
            None => self.file.to_string(),
        }
    }
}

/// See the module header.
pub struct Dump {
    log: Arc<BinaryLog>,
    wishes: Wishes,
    server_id: u32,
    file: FileName,
    reader: EventReader,
    _reading: Reading,
    resets: u64,
    /// Bytes that the client has of the next transaction, if that is to be expanded.
    within: Option<u64>,
    /// The transaction that goes by is known to the client.
    skips: bool,
    /// Something was skipped since the client last learned its position.
    is_behind: bool,
    buffer: Vec<u8>,
}

impl Dump {
    /// Begins at a place, or with auto-position at the first transaction that the client does not have. The client
    /// learns where it is and how events are written.
    pub fn begin(
        log: &Arc<BinaryLog>,
        file: &str,
        position: u64,
        wishes: Wishes,
        receiver: &mut dyn Receiver,
    ) -> Result<Dump> {
        let place = match &wishes.has {
            Some(has) => Place { file: first_file(log, file, has)?, position: FIRST, within: None },
            None if position < FIRST => {
                return refused("Client requested source to start replication from position < 4");
            }
            None if file.is_empty() => Place { file: log.first(), position, within: None },
            None => match Place::parse(log.base(), file, position) {
                Some(place) => place,
                None => return refused(NO_FILE),
            },
        };
        let resets = log.end().get().resets;
        let Some((reader, reading)) = log.follow(&place.file)? else { return refused(NO_FILE) };
        let mut dump = Dump {
            log: log.clone(),
            wishes,
            server_id: log.header(EventKind::ROTATE, 0, 0).server_id,
            file: place.file.clone(),
            reader,
            _reading: reading,
            resets,
            within: place.within,
            skips: false,
            is_behind: false,
            buffer: Vec::new(),
        };
        dump.check(&place)?;
        let (name, at) = match place.within {
            Some(within) => (place.name(), FIRST + within),
            None => (place.name(), place.position),
        };
        dump.rotate(&name, at, false, receiver)?;
        dump.describe(place.position > FIRST, receiver)?;
        if place.position > FIRST {
            dump.reader.seek(place.position);
        }
        Ok(dump)
    }

    /// Whether an event begins at the place.
    fn check(&mut self, place: &Place) -> Result<()> {
        let limit = self.reader.limit();
        if place.position > limit {
            return refused("Client requested source to start replication from position > file size");
        }
        if place.position == limit && place.within.is_none() {
            return Ok(());
        }
        self.reader.seek(place.position);
        let header = match self.reader.peek() {
            Ok(Some(header)) => header,
            _ => return refused(IMPOSSIBLE),
        };
        let fits = header.end_position == (place.position + u64::from(header.bytes)) as u32;
        let begins = place.within.is_none() || is_gtid(header.kind);
        self.reader.seek(FIRST);
        if fits && begins { Ok(()) } else { refused(IMPOSSIBLE) }
    }

    /// The file that is sent, and where the next event of it begins.
    pub fn place(&self) -> (String, u64) {
        (self.file.to_string(), self.reader.position())
    }

    /// Sends the next event, or the next transaction if it is expanded.
    pub fn step(&mut self, receiver: &mut dyn Receiver) -> Result<Step> {
        let Some(header) = self.peek()? else { return self.go_on(receiver) };
        let at = self.reader.position();
        if is_gtid(header.kind) {
            let (_, event) = self.reader.next_event()?.expect("it was looked at");
            if let Some(has) = &self.wishes.has {
                let file = &self.file;
                let damaged = |cause| Error::corrupt(format!("{file} at {at}: {cause}"));
                self.skips = match gtid::gtid_of(&event).map_err(damaged)?.and_then(|named| named.gtid) {
                    Some(gtid) => has.contains(gtid),
                    None => {
                        return refused(format!(
                            "Cannot replicate anonymous transaction when AUTO_POSITION = 1, at file {file}, position {at}."
                        ));
                    }
                };
            }
            let is_payload = self.peek()?.is_some_and(|next| next.kind == EventKind::TRANSACTION_PAYLOAD);
            if is_payload && !self.skips && (!self.wishes.payloads || self.within.unwrap_or(0) > 0) {
                return self.expand(at, receiver);
            }
            match self.within.take() {
                Some(0) => self.is_behind = true,
                Some(_) => return refused(IMPOSSIBLE),
                None => {}
            }
            self.reader.seek(at);
        }
        if matches!(header.kind, EventKind::ROTATE | EventKind::STOP | EventKind::PREVIOUS_GTIDS) {
            self.skips = false;
        }
        if self.skips {
            self.reader.seek(at + u64::from(header.bytes));
            self.is_behind = true;
            return Ok(Step::Sent);
        }
        self.tell_place(receiver)?;
        self.forward(header, receiver)?;
        Ok(Step::Sent)
    }

    /// The client's silence is over: nothing has happened, up to this position.
    pub fn heartbeat(&mut self, receiver: &mut dyn Receiver) -> Result<()> {
        let (name, position) = self.place();
        let header = self.artificial(EventKind::HEARTBEAT, position as u32, 0);
        let file = Control::Heartbeat { file: name.as_bytes() };
        self.send(header, |out| file.encode(out), false, receiver)
    }

    /// The header of the next event, once more of the file is durable or the file is complete.
    fn peek(&mut self) -> Result<Option<Header>> {
        if let Some(header) = self.reader.peek()? {
            return Ok(Some(header));
        }
        let reach = self.log.end().get();
        if reach.resets == self.resets {
            let limit = (reach.file == self.file.number).then_some(reach.bytes);
            self.reader.raise_limit(limit)?;
        }
        Ok(self.reader.peek()?)
    }

    /// Nothing more can be read here: the next file, or the end.
    fn go_on(&mut self, receiver: &mut dyn Receiver) -> Result<Step> {
        let reach = self.log.end().get();
        if reach.resets != self.resets {
            return refused("could not find next log: all binary logs were removed");
        }
        if reach.file == self.file.number {
            self.tell_place(receiver)?;
            return match reach.bytes > self.reader.limit() {
                // It has grown since it was looked at.
                true => Ok(Step::Sent),
                false => Ok(Step::AtEnd(reach)),
            };
        }
        // The next file was begun after this one was complete, so it is complete now.
        self.reader.raise_limit(None)?;
        if self.reader.peek()?.is_some() {
            return Ok(Step::Sent);
        }
        let next = self.file.next();
        let Some((reader, reading)) = self.log.follow(&next)? else {
            return refused(format!("could not find next log; {} is missing", next));
        };
        (self.file, self.reader, self._reading) = (next, reader, reading);
        (self.skips, self.is_behind, self.within) = (false, false, None);
        let name = self.file.to_string();
        self.rotate(&name, FIRST, false, receiver)?;
        self.describe(false, receiver)?;
        Ok(Step::Switched)
    }

    /// If something was skipped, the client learns where it is now.
    fn tell_place(&mut self, receiver: &mut dyn Receiver) -> Result<()> {
        if std::mem::take(&mut self.is_behind) {
            let (name, at) = self.place();
            self.rotate(&name, at, false, receiver)?;
        }
        Ok(())
    }

    /// Tells the client to count from another position.
    fn rotate(&mut self, name: &str, position: u64, is_last: bool, receiver: &mut dyn Receiver) -> Result<()> {
        let header = self.artificial(EventKind::ROTATE, 0, flags::ARTIFICIAL);
        let place = Control::Rotate { position, file: name.as_bytes() };
        self.send(header, |out| place.encode(out), is_last, receiver)
    }

    fn artificial(&self, kind: EventKind, end_position: u32, flags: u16) -> Header {
        Header { timestamp: 0, kind, server_id: self.server_id, bytes: 0, end_position, flags }
    }

    fn send(
        &mut self,
        header: Header,
        write: impl FnOnce(&mut Vec<u8>),
        is_last: bool,
        receiver: &mut dyn Receiver,
    ) -> Result<()> {
        self.buffer.clear();
        event::append(&mut self.buffer, header, self.wishes.checksum, write);
        receiver.begin(self.buffer.len() as u64, is_last)?;
        receiver.put(&self.buffer)?;
        Ok(())
    }

    /// Sends the file's first event. In the middle of a file it belongs to no position, and does not say that the server
    /// has started: that would end the transaction that the client may be within.
    fn describe(&mut self, in_the_middle: bool, receiver: &mut dyn Receiver) -> Result<()> {
        self.reader.seek(FIRST);
        let mut description = self.reader.description.clone();
        description.checksum = self.wishes.checksum;
        let Some((_, event)) = self.reader.next_event()? else { return refused(IMPOSSIBLE) };
        let mut header = Header { flags: event.header.flags & !flags::IN_USE, ..event.header };
        if in_the_middle {
            (header.end_position, description.created) = (0, 0);
        }
        self.buffer.clear();
        description.append(header, &mut self.buffer);
        receiver.begin(self.buffer.len() as u64, false)?;
        receiver.put(&self.buffer)?;
        Ok(())
    }

    /// Sends the next event as it is.
    fn forward(&mut self, header: Header, receiver: &mut dyn Receiver) -> Result<()> {
        let is_last = self.reader.position() + u64::from(header.bytes) == self.reader.limit();
        if header.kind == EventKind::QUERY && !self.wishes.collations {
            let (_, event) = self.reader.next_event()?.expect("it was looked at");
            if let Some(body) = with_known_collations(event.body) {
                return self.send(header, |out| out.extend_from_slice(&body), is_last, receiver);
            }
            self.reader.seek(self.reader.position() - u64::from(header.bytes));
        }
        let mut left = u64::from(header.bytes);
        let stripped = self.reader.description.checksum.bytes() - self.wishes.checksum.bytes();
        let mut sent = left - stripped as u64;
        receiver.begin(sent, is_last)?;
        if stripped > 0 {
            let header = Header { bytes: sent as u32, ..header };
            receiver.put(&header.encode())?;
            self.reader.seek(self.reader.position() + HEADER_BYTES as u64);
            (left, sent) = (left - HEADER_BYTES as u64, sent - HEADER_BYTES as u64);
        }
        while left > 0 {
            let piece = self.reader.next_piece(left)?;
            left -= piece.len() as u64;
            let part = piece.len().min(sent as usize);
            receiver.put(&piece[..part])?;
            sent -= part as u64;
        }
        Ok(())
    }

    /// Sends the transaction whose Gtid event stands at `at` and was read, with a payload behind it, event by event.
    fn expand(&mut self, at: u64, receiver: &mut dyn Receiver) -> Result<Step> {
        let name = expanded_name(&self.file, at);
        let known = self.within.take();
        if known.is_none() {
            self.is_behind = false;
            self.rotate(&name, FIRST, false, receiver)?;
        }
        let mut expanded = Expanded {
            wishes: &self.wishes,
            buffer: &mut self.buffer,
            position: FIRST,
            begin: FIRST + known.unwrap_or(0),
            receiver,
        };
        self.reader.seek(at);
        let (_, gtid) = self.reader.next_event()?.expect("it was read before");
        expanded.event(&gtid)?;
        let header = self.reader.peek()?.expect("it was looked at");
        let checksum = self.reader.description.checksum.bytes() as u64;
        let body_at = self.reader.position() + HEADER_BYTES as u64;
        let end = self.reader.position() + u64::from(header.bytes);
        let damaged = |cause: &dyn fmt::Display| -> Ended {
            Error::corrupt(format!("the transaction at {at} of the binary log: {cause}")).into()
        };
        self.reader.seek(body_at);
        let mut prefix = Vec::new();
        let prefix_bytes = (PayloadFields::BYTES_MAX as u64).min(end - checksum - body_at);
        Pieces { reader: &mut self.reader, left: prefix_bytes }
            .read_to_end(&mut prefix)
            .map_err(|cause| damaged(&cause))?;
        let mut reader = Reader::new(&prefix);
        let fields = PayloadFields::decode(&mut reader).map_err(|cause| damaged(&cause))?;
        let payload_at = body_at + (prefix.len() - reader.remaining()) as u64;
        if payload_at + fields.payload_bytes + checksum != end {
            return Err(damaged(&"a payload of another length than it says"));
        }
        self.reader.seek(payload_at);
        let bytes = BufReader::new(Pieces { reader: &mut self.reader, left: fields.payload_bytes });
        let mut events = PayloadEvents::new(fields.algorithm, bytes).map_err(|cause| damaged(&cause))?;
        while let Some(event) = events.next_event().map_err(|cause| damaged(&cause))? {
            expanded.event(&event)?;
        }
        if expanded.begin > expanded.position {
            return refused(IMPOSSIBLE);
        }
        drop(events);
        self.reader.seek(end);
        let (name, is_last) = (self.file.to_string(), end == self.reader.limit());
        self.rotate(&name, end, is_last, receiver)?;
        Ok(Step::Sent)
    }
}

/// A transaction that is sent in a file of its own.
struct Expanded<'d> {
    wishes: &'d Wishes,
    buffer: &'d mut Vec<u8>,
    position: u64,
    /// What is before this the client has.
    begin: u64,
    receiver: &'d mut dyn Receiver,
}

impl Expanded<'_> {
    fn event(&mut self, event: &Event<'_>) -> Result<()> {
        let bytes = (HEADER_BYTES + event.body.len() + self.wishes.checksum.bytes()) as u64;
        let start = self.position;
        self.position += bytes;
        if self.position <= self.begin {
            return Ok(());
        }
        if start < self.begin {
            return refused(IMPOSSIBLE);
        }
        let replaced = match event.header.kind {
            EventKind::QUERY if !self.wishes.collations => with_known_collations(event.body),
            _ => None,
        };
        let body = replaced.as_deref().unwrap_or(event.body);
        let header = Header { end_position: self.position as u32, ..event.header };
        self.buffer.clear();
        event::append(self.buffer, header, self.wishes.checksum, |out| out.extend_from_slice(body));
        self.receiver.begin(bytes, false)?;
        self.receiver.put(self.buffer)?;
        Ok(())
    }
}

/// So many bytes of a file, from where its reader stands.
struct Pieces<'r> {
    reader: &'r mut EventReader,
    left: u64,
}

impl Read for Pieces<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let wanted = self.left.min(buffer.len() as u64);
        if wanted == 0 {
            return Ok(0);
        }
        let piece = self.reader.next_piece(wanted).map_err(io::Error::other)?;
        buffer[..piece.len()].copy_from_slice(piece);
        self.left -= piece.len() as u64;
        Ok(piece.len())
    }
}

fn is_gtid(kind: EventKind) -> bool {
    matches!(kind, EventKind::GTID | EventKind::ANONYMOUS_GTID)
}

/// The collations that came with MySQL 8.0, and what stands for them where they are unknown.
const MYSQL_8_COLLATIONS: std::ops::RangeInclusive<u16> = 255..=323;
const UTF8MB4_UNICODE_520_CI: u16 = 246;

/// The body of a Query event that names a collation of MySQL 8.0, with another in its place; rows do not depend on it.
/// It is as long as before. `None` = it names none, or cannot be changed.
fn with_known_collations(body: &[u8]) -> Option<Vec<u8>> {
    let mut query = Query::decode(body).ok()?;
    let named = query.vars.charset.iter_mut().flatten().chain(&mut query.vars.database_collation);
    let mut is_changed = false;
    for collation in named.filter(|collation| MYSQL_8_COLLATIONS.contains(collation)) {
        *collation = UTF8MB4_UNICODE_520_CI;
        is_changed = true;
    }
    let mut changed = Vec::with_capacity(body.len());
    query.encode(&mut changed);
    (is_changed && changed.len() == body.len()).then_some(changed)
}

/// The file that has the first transaction which the client does not have.
fn first_file(log: &BinaryLog, file: &str, has: &GtidSet) -> Result<FileName> {
    if !log.has_gtids() {
        return refused(
            "The replication sender thread cannot start in AUTO_POSITION mode: this server has GTID_MODE = OFF instead of ON.",
        );
    }
    if !file.is_empty() {
        return match FileName::parse(file) {
            Some(name) => Ok(name),
            None => refused(NO_FILE),
        };
    }
    let own = has.of_source(log.uuid());
    if !own.is_subset(&log.executed()) {
        return refused(
            "Replica has more GTIDs than the source has, using the source's SERVER_UUID. The end of the source's binary log \
             may be lost.",
        );
    }
    let files = log.files();
    for name in files.iter().rev() {
        if recovery::previous_gtids(&**log.disk(), name)?.is_subset(has) {
            return Ok(name.clone());
        }
    }
    let missing = recovery::previous_gtids(&**log.disk(), &files[0])?.without(has);
    let on_one_line = |set: &GtidSet| set.to_string().replace('\n', "");
    refused(format!(
        "Cannot replicate because the source purged required binary logs. The GTID set sent by the replica is '{}', and the \
         missing transactions are '{}'",
        on_one_line(has),
        on_one_line(&missing)
    ))
}

#[cfg(test)]
mod tests;
