//! What is to be replayed behind a backup: transactions of its server's logs, up to a target.
//!
//! ```text
//!   backup ends at      target
//!       |                  |
//!   ----+------------------+---------      binlog.000007, binlog.000008, ...
//!       | these are replayed
//! ```
//!
//! The logs are read once before anything is applied, so that a gap, a log of another server or a target that does not exist
//! is found while nothing has happened. Of compressed transactions only the heads are read, unless they are to be shown.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ::binlog::log::Position;
use ::binlog::{BackupPoint, EventReader, FileName};
use format::binlog::payload::Payload;
use format::binlog::{Event, EventKind, Gtid, GtidSet, Query, TableMap, flags, gtid};
use format::value::{DateTime, Zone};
use storage::io::linux::LinuxDisk;

/// How much of a transaction is looked at to say what it changes.
const SHOWN_EVENTS_MAX: usize = 10_000;
const SHOWN_NAMES_MAX: usize = 4;
const SHOWN_CHARS_MAX: usize = 60;

/// Where the replay ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    End,
    /// Before the first transaction that was committed at this time, in microseconds since 1970, or later.
    Time(u64),
    /// Behind this transaction, or before it.
    Behind(Gtid),
    Before(Gtid),
    /// Before this place.
    Place(FileName, u64),
}

/// A file of the log.
pub struct Log {
    pub disk: Arc<LinuxDisk>,
    pub name: FileName,
    shown: PathBuf,
}

impl Log {
    pub fn open(&self) -> Result<EventReader, String> {
        EventReader::open(&*self.disk, &self.name, u64::MAX).map_err(|error| self.damaged(&error))
    }

    pub fn damaged(&self, cause: &dyn std::fmt::Display) -> String {
        format!("{}: {cause}", self.shown.display())
    }
}

/// A transaction on the way.
pub struct Transaction<'l> {
    pub file: &'l FileName,
    pub at: u64,
    pub end: u64,
    pub micros: u64,
    pub gtid: Option<Gtid>,
    /// What it does, if that is to be shown.
    pub what: String,
}

/// What is to be replayed.
#[derive(Debug, Default)]
pub struct Plan {
    pub transactions: u64,
    pub bytes: u64,
    /// When the first and the last were committed.
    pub times: Option<(u64, u64)>,
    /// Behind the last one: number of the log, and position there. `None` = there is none.
    pub end: Option<(usize, u64)>,
    /// The log ends within a transaction, which is left out.
    pub is_cut: bool,
}

/// A moment for people, UTC.
pub fn moment(micros: u64) -> String {
    let mut text = Vec::new();
    let moment = i64::try_from(micros).ok().and_then(|micros| DateTime::from_unix_micros(micros, Zone::UTC));
    moment.unwrap_or(DateTime::ZERO).write(6, &mut text);
    String::from_utf8_lossy(&text).into_owned()
}

/// Where the tables stand when the plan has been applied, `from` where they stood. `executed`: the names of all their
/// transactions.
pub fn point_behind(
    point: &BackupPoint,
    logs: &[Log],
    from: &Position,
    plan: &Plan,
    executed: GtidSet,
) -> Result<BackupPoint, String> {
    let place = match plan.end {
        Some((number, position)) => Position { file: logs[number].name.clone(), position },
        None => from.clone(),
    };
    let mut point = BackupPoint { executed, place, ..point.clone() };
    if let Some(log) = logs.iter().find(|log| log.name == point.place.file) {
        let mut reader = log.open()?;
        reader.seek(4);
        let first = reader.next_event().map_err(|error| log.damaged(&error))?;
        let (_, description) = first.ok_or_else(|| log.damaged(&"it has no beginning"))?;
        point.begun = description.header.timestamp.into();
    }
    if let Some((_, last)) = plan.times {
        point.micros = point.micros.max(last);
    }
    Ok(point)
}

/// The files that continue a backup, in their order.
pub fn logs(paths: &[PathBuf], point: &BackupPoint) -> Result<Vec<Log>, String> {
    let mut logs = Vec::new();
    for path in paths {
        let name = path.file_name().and_then(|name| FileName::parse(name.to_str()?));
        let name = name.ok_or_else(|| format!("{} has no name of a binary log", path.display()))?;
        let directory = path.parent().filter(|parent| *parent != Path::new("")).unwrap_or(Path::new("."));
        logs.push(Log { disk: Arc::new(LinuxDisk::new(directory)), name, shown: path.clone() });
    }
    logs.sort_by(|one, other| one.name.cmp(&other.name));
    logs.dedup_by(|one, other| one.name == other.name);
    let Position { file, position } = &point.place;
    let Some(first) = logs.iter().position(|log| log.name == *file) else {
        return Err(format!("the backup ends in {file} at {position}: this file is not among the logs"));
    };
    logs.drain(..first);
    for pair in logs.windows(2) {
        let next = pair[0].name.next();
        if pair[1].name != next {
            return Err(format!("{next} is missing between {} and {}", pair[0].name, pair[1].name));
        }
    }
    Ok(logs)
}

/// Refuses a target that the backup has passed.
fn check_target(target: &Target, point: &BackupPoint) -> Result<(), String> {
    let passed = |what: String| Err(format!("the backup is too new for this: {what}"));
    match target {
        Target::Time(micros) if *micros < point.micros => {
            passed(format!("it ended at {}, and {} was before", moment(point.micros), moment(*micros)))
        }
        Target::Behind(gtid) | Target::Before(gtid) if point.executed.contains(*gtid) => {
            passed(format!("it contains {gtid}"))
        }
        Target::Place(file, position) if (file, position) < (&point.place.file, &point.place.position) => {
            let Position { file: own, position: at } = &point.place;
            passed(format!("it ends at {own}:{at}, and {file}:{position} was before"))
        }
        _ => Ok(()),
    }
}

/// Reads the logs. `from`: what stands before is replayed already. `each` gets the transactions; what they do is looked
/// up if `shown`.
pub fn plan(
    logs: &[Log],
    point: &BackupPoint,
    from: &Position,
    target: &Target,
    shown: bool,
    each: &mut dyn FnMut(&Transaction<'_>) -> Result<(), String>,
) -> Result<Plan, String> {
    check_target(target, point)?;
    let mut scan = Scan { point, from, target, shown, each, plan: Plan::default(), executed: point.executed.clone() };
    for at in 0..logs.len() {
        if scan.file(logs, at)? == Ends::Here {
            return Ok(scan.plan);
        }
    }
    let last = logs.last().map_or(String::new(), |log| log.name.to_string());
    match target {
        Target::Behind(gtid) | Target::Before(gtid) => Err(format!("{gtid} is not in the logs, which end with {last}")),
        Target::Place(file, position) => Err(format!("{file}:{position} is not in the logs, which end with {last}")),
        Target::End | Target::Time(_) => Ok(scan.plan),
    }
}

#[derive(PartialEq, Eq)]
enum Ends {
    /// The target is reached.
    Here,
    Later,
}

struct Scan<'a> {
    point: &'a BackupPoint,
    from: &'a Position,
    target: &'a Target,
    shown: bool,
    each: &'a mut dyn FnMut(&Transaction<'_>) -> Result<(), String>,
    plan: Plan,
    /// The names of all transactions so far.
    executed: GtidSet,
}

impl Scan<'_> {
    fn file(&mut self, logs: &[Log], number: usize) -> Result<Ends, String> {
        let log = &logs[number];
        let mut reader = log.open()?;
        let in_use = self.head(log, &mut reader, number == 0)?;
        let mut ended = false;
        if number == 0 {
            let (ours, bytes) = (self.point.place.position, reader.limit());
            if bytes < ours {
                return Err(log.damaged(&format!("it has {bytes} bytes, and the backup ends at {ours}")));
            }
            reader.seek(ours);
            // A file that the backup has all of.
            ended = ours == bytes;
        }
        let mut open: Option<Transaction<'_>> = None;
        let mut looked_at = 0;
        loop {
            let at = reader.position();
            let is_target = |file: &FileName, place: u64| (&log.name, at) >= (file, place);
            let brief = match self.shown {
                true => reader.next_event().map(|next| next.map(|(_, event)| Some(event))),
                false => reader.next_brief().map(|next| next.map(|(_, event)| event)),
            };
            let Some(event) = brief.map_err(|error| log.damaged(&error))? else { break };
            if let Some(event) = &event {
                let named = gtid::gtid_of(event).map_err(|cause| log.damaged(&format!("{cause} at {at}")))?;
                if let Some(named) = named {
                    let Some(commit) = named.commit.filter(|commit| commit.transaction_bytes > 0) else {
                        return Err(log.damaged(&format!("the transaction at {at} does not say how long it is")));
                    };
                    if let Some(open) = &open {
                        return Err(log.damaged(&format!("the transaction at {} is not as long as it says", open.at)));
                    }
                    let ends = match self.target {
                        Target::Time(micros) => commit.immediate_micros >= *micros,
                        Target::Before(gtid) => named.gtid == Some(*gtid),
                        Target::Place(file, place) => is_target(file, *place),
                        Target::End | Target::Behind(_) => false,
                    };
                    if ends {
                        return Ok(Ends::Here);
                    }
                    let end = at + commit.transaction_bytes;
                    let micros = commit.immediate_micros;
                    let (file, gtid) = (&log.name, named.gtid);
                    open = Some(Transaction { file, at, end, micros, gtid, what: String::new() });
                    looked_at = 0;
                } else if let Some(open) = &mut open
                    && self.shown
                {
                    describe(event, open, &mut looked_at).map_err(|cause| log.damaged(&format!("{cause} at {at}")))?;
                }
                ended = matches!(event.header.kind, EventKind::ROTATE | EventKind::STOP);
                if let Target::Place(file, place) = self.target
                    && open.is_none()
                    && is_target(file, *place)
                {
                    return Ok(Ends::Here);
                }
            }
            let end = reader.position();
            let Some(done) = open.take_if(|open| end >= open.end) else { continue };
            if end > done.end {
                return Err(log.damaged(&format!("the transaction at {} is not as long as it says", done.at)));
            }
            if let Target::Place(file, place) = self.target
                && *file == log.name
                && (done.at + 1..end).contains(place)
            {
                return Err(format!("{file}:{place} is within the transaction from {} to {end}", done.at));
            }
            if let Some(gtid) = done.gtid {
                self.executed.insert(gtid);
            }
            if (&log.name, done.at) >= (&self.from.file, self.from.position) {
                self.take(number, &done)?;
            }
            if matches!(self.target, Target::Behind(gtid) if done.gtid == Some(*gtid)) {
                return Ok(Ends::Here);
            }
        }
        self.end(logs, number, &reader, in_use, ended, open.is_some())
    }

    /// Nothing of a file is left.
    fn end(
        &mut self,
        logs: &[Log],
        number: usize,
        reader: &EventReader,
        in_use: bool,
        ended: bool,
        is_open: bool,
    ) -> Result<Ends, String> {
        let (log, at) = (&logs[number], reader.position());
        if let Target::Place(file, place) = self.target
            && *file == log.name
            && *place == at
        {
            return Ok(Ends::Here);
        }
        let is_last = number + 1 == logs.len();
        let is_cut = is_open || at != reader.limit();
        if !is_last && (is_cut || !ended && !in_use) {
            let next = &logs[number + 1].name;
            return Err(log.damaged(&format!("it is cut off at {at}, and {next} follows")));
        }
        self.plan.is_cut = is_cut;
        Ok(Ends::Later)
    }

    /// Verifies that a file continues what was before. Whether its server has not closed it.
    fn head(&self, log: &Log, reader: &mut EventReader, is_first: bool) -> Result<bool, String> {
        reader.seek(4);
        let mut next = || -> Result<Option<_>, String> {
            let next = reader.next_event().map_err(|error| log.damaged(&error))?;
            let Some((_, event)) = next else { return Ok(None) };
            let header = event.header;
            let previous = match header.kind {
                EventKind::PREVIOUS_GTIDS => Some(GtidSet::decode(event.body).map_err(|cause| log.damaged(&cause))?),
                _ => None,
            };
            Ok(Some((header.kind, header.timestamp, header.flags, previous)))
        };
        let (_, begun, bits, _) = next()?.ok_or_else(|| log.damaged(&"it has no beginning"))?;
        let another = |why: &str| Err(log.damaged(&format!("this is not the log that the backup is of: {why}")));
        if is_first && u64::from(begun) != self.point.begun {
            let (own, found) = (self.point.begun * 1_000_000, u64::from(begun) * 1_000_000);
            return another(&format!("the file was begun at {}, and the backup's at {}", moment(found), moment(own)));
        }
        if let Some((_, _, _, Some(previous))) = next()? {
            if is_first && !previous.is_subset(&self.executed) {
                return another("transactions are in front of it that the backup does not contain");
            }
            if !is_first && !self.executed.is_subset(&previous) {
                return another("its server had not executed the transactions of the files before");
            }
        }
        Ok(bits & flags::IN_USE != 0)
    }

    fn take(&mut self, number: usize, done: &Transaction<'_>) -> Result<(), String> {
        (self.each)(done)?;
        let plan = &mut self.plan;
        plan.transactions += 1;
        plan.bytes += done.end - done.at;
        plan.times = Some((plan.times.map_or(done.micros, |(first, _)| first), done.micros));
        plan.end = Some((number, done.end));
        Ok(())
    }
}

/// Adds what an event changes: the first tables, or the statement.
fn describe(event: &Event<'_>, transaction: &mut Transaction<'_>, looked_at: &mut usize) -> format::Result<()> {
    *looked_at += 1;
    if *looked_at > SHOWN_EVENTS_MAX {
        return Ok(());
    }
    let what = &mut transaction.what;
    let text = match event.header.kind {
        EventKind::TABLE_MAP => {
            let map = TableMap::decode(event.body, 8)?;
            format!("{}.{}", String::from_utf8_lossy(&map.database), String::from_utf8_lossy(&map.table))
        }
        EventKind::QUERY => {
            let statement = Query::decode(event.body)?.statement;
            if statement.eq_ignore_ascii_case(b"BEGIN") || statement.eq_ignore_ascii_case(b"COMMIT") {
                return Ok(());
            }
            let text = String::from_utf8_lossy(statement).split_whitespace().collect::<Vec<_>>().join(" ");
            text.chars().take(SHOWN_CHARS_MAX).collect()
        }
        EventKind::TRANSACTION_PAYLOAD => {
            let payload = Payload::decode(event.body)?;
            let mut events = payload.events()?;
            while *looked_at < SHOWN_EVENTS_MAX
                && let Some(inner) = events.next_event()?
            {
                describe(&inner, transaction, looked_at)?;
            }
            return Ok(());
        }
        _ => return Ok(()),
    };
    if what.split(", ").any(|known| *known == text) {
        return Ok(());
    }
    match what.split(", ").count() {
        SHOWN_NAMES_MAX.. if what.ends_with(", ...") => {}
        SHOWN_NAMES_MAX.. => what.push_str(", ..."),
        _ if what.is_empty() => *what = text,
        _ => *what = format!("{what}, {text}"),
    }
    Ok(())
}
