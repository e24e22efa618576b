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
//! and a replica counts the bytes of what it gets to know where it is in the source's file; so from such a transaction on,
//! events are sent as if they stood in a file of their own, a *stretch*:
//!
//! ```text
//!   binlog.000007   ...  | Gtid | Transaction_payload | Gtid | Query | ...  | Gtid
//!                        ^ 1234                                             ^ 5678
//!
//!   Rotate              to binlog.0-000007-1234, position 4
//!   Format_description
//!   Gtid, events, Gtid  their positions count from 4
//!   Rotate              to binlog.000007, position 5678
//!   Format_description
//! ```
//!
//! Its name says where it begins. So a client that lost its connection can go on there, also after the source was
//! restarted: the events since the beginning of the stretch are expanded again and counted, but not sent. A stretch ends
//! when it is long, with the file, and when the client has had everything for a moment; not after each transaction, because
//! a replica begins a new file of its relay log with each Rotate. The number in the name is 0, so functions that compare
//! files by number (MASTER_POS_WAIT) do not take a position in a stretch for a later one of the log.

use std::fmt;
use std::io::{self, BufReader, Read};
use std::sync::Arc;

use format::binlog::payload::{PayloadEvents, PayloadFields};
use format::binlog::{
    Checksum, Control, Crc, Event, EventKind, GtidSet, HEADER_BYTES, Header, Query, event, flags, gtid,
};
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

/// A stretch that is so long ends: nobody has to expand more than this to find a position in it.
const STRETCH_BYTES: u64 = 64 << 20;

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
    /// An event of so many bytes begins. `has_all`: with it the client has all that is durable, up to here.
    fn begin(&mut self, bytes: u64, has_all: Option<Reach>) -> io::Result<()>;
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
    /// In the stretch that begins at `position`.
    within: Option<u64>,
}

/// The name of a stretch.
fn stretch_name(file: &FileName, at: u64) -> String {
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
            Some(_) => stretch_name(&self.file, self.position),
            None => self.file.to_string(),
        }
    }
}

/// Events that are sent as if they stood in a file of their own.
struct Stretch {
    /// Where it begins in the file.
    at: u64,
    /// Where its next event begins.
    position: u64,
    /// The client has what is before this.
    from: u64,
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
    stretch: Option<Stretch>,
    /// The transaction that goes by is known to the client.
    skips: bool,
    /// The client counts from another position than this: something was skipped, or a stretch has ended.
    is_behind: bool,
    /// The header of the file's description.
    description: Option<Header>,
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
            stretch: place.within.map(|within| Stretch { at: place.position, position: FIRST, from: FIRST + within }),
            skips: false,
            is_behind: false,
            description: None,
            buffer: Vec::new(),
        };
        dump.check(&place)?;
        let (name, at) = match place.within {
            Some(within) => (place.name(), FIRST + within),
            None => (place.name(), place.position),
        };
        dump.rotate(&name, at, receiver)?;
        dump.describe(place.position > FIRST, None, receiver)?;
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

    /// Where the client is, as it counts.
    fn place(&self) -> (String, u64) {
        match &self.stretch {
            Some(stretch) => (stretch_name(&self.file, stretch.at), stretch.position),
            None => (self.file.to_string(), self.reader.position()),
        }
    }

    /// Sends the next event, or those of the next payload.
    pub fn step(&mut self, receiver: &mut dyn Receiver) -> Result<Step> {
        let Some(header) = self.peek()? else { return self.go_on(receiver) };
        let at = self.reader.position();
        if is_gtid(header.kind) {
            self.begin_transaction(at, receiver)?;
        }
        if matches!(header.kind, EventKind::ROTATE | EventKind::STOP | EventKind::PREVIOUS_GTIDS) {
            self.skips = false;
        }
        if self.skips {
            self.reader.seek(at + u64::from(header.bytes));
            self.is_behind = true;
        } else if self.stretch.is_none() {
            self.tell_place(receiver)?;
            self.forward(header, receiver)?;
        } else if header.kind == EventKind::TRANSACTION_PAYLOAD {
            self.expand(header, receiver)?;
        } else {
            let has_all = self.has_all(at + u64::from(header.bytes));
            let (_, event) = self.reader.next_event()?.expect("it was looked at");
            let stretch = self.stretch.as_mut().expect("it was looked at");
            stretch.send(&self.wishes, &mut self.buffer, &event, has_all, receiver)?;
        }
        Ok(Step::Sent)
    }

    /// A transaction begins with the next event: does the client have it, and does a stretch begin or end?
    fn begin_transaction(&mut self, at: u64, receiver: &mut dyn Receiver) -> Result<()> {
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
        self.reader.seek(at);
        let is_long = |stretch: &Stretch| stretch.position >= STRETCH_BYTES && stretch.position >= stretch.from;
        if self.stretch.as_ref().is_some_and(|stretch| self.skips || is_long(stretch)) {
            self.stretch = None;
            self.is_behind = true;
        }
        if self.stretch.is_none() && is_payload && !self.skips && !self.wishes.payloads {
            self.stretch = Some(Stretch { at, position: FIRST, from: FIRST });
            self.is_behind = true;
            self.tell_place(receiver)?;
        }
        Ok(())
    }

    /// Whether the client counts in a stretch.
    pub fn is_apart(&self) -> bool {
        self.stretch.is_some()
    }

    /// Ends a stretch, at the end of a transaction: the client learns where it is in the file.
    pub fn come_back(&mut self, receiver: &mut dyn Receiver) -> Result<()> {
        self.is_behind |= self.stretch.take().is_some();
        self.tell_place(receiver)
    }

    /// The client's silence is over: nothing has happened, up to this position.
    pub fn heartbeat(&mut self, receiver: &mut dyn Receiver) -> Result<()> {
        let (name, position) = self.place();
        let header = self.artificial(EventKind::HEARTBEAT, position as u32, 0);
        let file = Control::Heartbeat { file: name.as_bytes() };
        self.send(header, |out| file.encode(out), None, receiver)
    }

    /// What the client has with an event that ends here, if that is all.
    fn has_all(&self, end: u64) -> Option<Reach> {
        let reach = Reach { file: self.file.number, bytes: end, resets: self.resets, closed: false };
        (end == self.reader.limit()).then_some(reach)
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
        if self.stretch.as_ref().is_some_and(|stretch| stretch.position < stretch.from) {
            return refused(IMPOSSIBLE);
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
        (self.skips, self.is_behind, self.description) = (false, false, None);
        self.stretch = None;
        let name = self.file.to_string();
        self.rotate(&name, FIRST, receiver)?;
        self.describe(false, None, receiver)?;
        Ok(Step::Switched)
    }

    /// If the client does not know where it is, it learns it now.
    fn tell_place(&mut self, receiver: &mut dyn Receiver) -> Result<()> {
        if std::mem::take(&mut self.is_behind) {
            let ((name, told), at) = (self.place(), self.reader.position());
            self.rotate(&name, told, receiver)?;
            self.describe(true, self.has_all(at), receiver)?;
            self.reader.seek(at);
        }
        Ok(())
    }

    /// Tells the client to count from another position. Replicas take what follows for events of MySQL 4 until they get a
    /// description.
    fn rotate(&mut self, name: &str, position: u64, receiver: &mut dyn Receiver) -> Result<()> {
        let header = self.artificial(EventKind::ROTATE, 0, flags::ARTIFICIAL);
        let place = Control::Rotate { position, file: name.as_bytes() };
        self.send(header, |out| place.encode(out), None, receiver)
    }

    fn artificial(&self, kind: EventKind, end_position: u32, flags: u16) -> Header {
        Header { timestamp: 0, kind, server_id: self.server_id, bytes: 0, end_position, flags }
    }

    fn send(
        &mut self,
        header: Header,
        write: impl FnOnce(&mut Vec<u8>),
        has_all: Option<Reach>,
        receiver: &mut dyn Receiver,
    ) -> Result<()> {
        self.buffer.clear();
        event::append(&mut self.buffer, header, self.wishes.checksum, write);
        receiver.begin(self.buffer.len() as u64, has_all)?;
        receiver.put(&self.buffer)?;
        Ok(())
    }

    /// Sends the file's first event. In the middle of a file it belongs to no position, and does not say that the server
    /// has started: that would end the transaction that the client may be within. The reader stands behind it then.
    fn describe(&mut self, in_the_middle: bool, has_all: Option<Reach>, receiver: &mut dyn Receiver) -> Result<()> {
        let mut description = self.reader.description.clone();
        description.checksum = self.wishes.checksum;
        let mut header = match self.description {
            Some(header) if in_the_middle => header,
            _ => {
                self.reader.seek(FIRST);
                let Some((_, event)) = self.reader.next_event()? else { return refused(IMPOSSIBLE) };
                Header { flags: event.header.flags & !flags::IN_USE, ..event.header }
            }
        };
        self.description = Some(header);
        if in_the_middle {
            (header.end_position, description.created) = (0, 0);
        }
        self.buffer.clear();
        description.append(header, &mut self.buffer);
        receiver.begin(self.buffer.len() as u64, has_all)?;
        receiver.put(&self.buffer)?;
        Ok(())
    }

    /// Sends the next event as it is.
    fn forward(&mut self, header: Header, receiver: &mut dyn Receiver) -> Result<()> {
        let has_all = self.has_all(self.reader.position() + u64::from(header.bytes));
        if header.kind == EventKind::QUERY && !self.wishes.collations {
            let (_, event) = self.reader.next_event()?.expect("it was looked at");
            if let Some(body) = for_mariadb(event.body) {
                return self.send(header, |out| out.extend_from_slice(&body), has_all, receiver);
            }
            self.reader.seek(self.reader.position() - u64::from(header.bytes));
        }
        let mut left = u64::from(header.bytes);
        let (has, wanted) = (self.reader.description.checksum.bytes() as u64, self.wishes.checksum.bytes() as u64);
        let bare = left.checked_sub(has).filter(|bare| *bare >= HEADER_BYTES as u64);
        let Some(mut sent) = bare else {
            return Err(Error::corrupt(format!("an event in {} is shorter than its header", self.file)).into());
        };
        let mut sum = Crc::new();
        receiver.begin(sent + wanted, has_all)?;
        if has == wanted {
            sent += has;
        } else {
            let header = Header { bytes: (sent + wanted) as u32, ..header }.encode();
            receiver.put(&header)?;
            self.reader.seek(self.reader.position() + HEADER_BYTES as u64);
            (left, sent) = (left - HEADER_BYTES as u64, sent - HEADER_BYTES as u64);
            sum.update(&header);
        }
        while left > 0 {
            let piece = self.reader.next_piece(left)?;
            left -= piece.len() as u64;
            let part = piece.len().min(sent as usize);
            if has < wanted {
                sum.update(&piece[..part]);
            }
            receiver.put(&piece[..part])?;
            sent -= part as u64;
        }
        if has < wanted {
            receiver.put(&sum.sum().to_le_bytes())?;
        }
        Ok(())
    }

    /// Sends the events in the payload that comes next.
    fn expand(&mut self, header: Header, receiver: &mut dyn Receiver) -> Result<()> {
        let at = self.reader.position();
        let end = at + u64::from(header.bytes);
        let has_all = self.has_all(end);
        let file = &self.file;
        let damaged = |cause: &dyn fmt::Display| -> Ended {
            Error::corrupt(format!("the payload at {at} in {file}: {cause}")).into()
        };
        let checksum = self.reader.description.checksum.bytes() as u64;
        let body_at = at + HEADER_BYTES as u64;
        let Some(body_bytes) = end.checked_sub(body_at + checksum) else { return Err(damaged(&"it is too short")) };
        self.reader.seek(body_at);
        let mut prefix = Vec::new();
        let read = Pieces { reader: &mut self.reader, left: body_bytes.min(PayloadFields::BYTES_MAX as u64) }
            .read_to_end(&mut prefix);
        read.map_err(|cause| damaged(&cause))?;
        let mut fields = Reader::new(&prefix);
        let said = PayloadFields::decode(&mut fields).map_err(|cause| damaged(&cause))?;
        let field_bytes = (prefix.len() - fields.remaining()) as u64;
        if field_bytes + said.payload_bytes != body_bytes {
            return Err(damaged(&"another length than it says"));
        }
        self.reader.seek(body_at + field_bytes);
        let bytes = BufReader::new(Pieces { reader: &mut self.reader, left: said.payload_bytes });
        let mut events = PayloadEvents::new(said.algorithm, bytes).map_err(|cause| damaged(&cause))?;
        let stretch = self.stretch.as_mut().expect("payloads are expanded in a stretch");
        while let Some(event) = events.next_event().map_err(|cause| damaged(&cause))? {
            // A payload ends with the end of its transaction.
            let has_all = has_all.filter(|_| event.header.kind == EventKind::XID);
            stretch.send(&self.wishes, &mut self.buffer, &event, has_all, receiver)?;
        }
        drop(events);
        self.reader.seek(end);
        Ok(())
    }
}

impl Stretch {
    /// Sends an event with its position here, if the client does not have it.
    fn send(
        &mut self,
        wishes: &Wishes,
        buffer: &mut Vec<u8>,
        event: &Event<'_>,
        has_all: Option<Reach>,
        receiver: &mut dyn Receiver,
    ) -> Result<()> {
        let bytes = (HEADER_BYTES + event.body.len() + wishes.checksum.bytes()) as u64;
        let begin = self.position;
        self.position += bytes;
        if self.position <= self.from {
            return Ok(());
        }
        if begin < self.from {
            return refused(IMPOSSIBLE);
        }
        let replaced = match event.header.kind {
            EventKind::QUERY if !wishes.collations => for_mariadb(event.body),
            _ => None,
        };
        let body = replaced.as_deref().unwrap_or(event.body);
        let header = Header { end_position: self.position as u32, ..event.header };
        buffer.clear();
        event::append(buffer, header, wishes.checksum, |out| out.extend_from_slice(body));
        receiver.begin(bytes, has_all)?;
        receiver.put(buffer)?;
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

/// Statements about accounts begin so. MariaDB has other plugins for passwords, and accounts of its own.
const ACCOUNT_STATEMENTS: [&[u8]; 9] = [
    b"CREATE USER ",
    b"ALTER USER ",
    b"DROP USER ",
    b"RENAME USER ",
    b"CREATE ROLE ",
    b"DROP ROLE ",
    b"SET DEFAULT ROLE ",
    b"GRANT ",
    b"REVOKE ",
];

/// The body of a Query event as MariaDB understands it, as long as before: a statement about accounts becomes one that
/// does nothing. `None` = as it is.
fn for_mariadb(body: &[u8]) -> Option<Vec<u8>> {
    let known = with_known_collations(body);
    let mut query = Query::decode(known.as_deref().unwrap_or(body)).ok()?;
    let is_of_accounts =
        |begin: &&[u8]| query.statement.get(..begin.len()).is_some_and(|start| start.eq_ignore_ascii_case(begin));
    if !ACCOUNT_STATEMENTS.iter().any(is_of_accounts) {
        return known;
    }
    let mut nothing = b"DO 0".to_vec();
    nothing.resize(query.statement.len(), b' ');
    query.statement = &nothing;
    let mut changed = Vec::with_capacity(body.len());
    query.encode(&mut changed);
    (changed.len() == body.len()).then_some(changed)
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
    let purged = log.purged()?;
    if purged.is_subset(has) {
        for name in log.files().iter().rev() {
            if recovery::previous_gtids(&**log.disk(), name)?.is_subset(has) {
                return Ok(name.clone());
            }
        }
    }
    let missing = purged.without(has);
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
