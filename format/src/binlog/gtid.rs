//! Names of transactions, sets of them, and the events that carry them.
//!
//! A GTID is the UUID of the server where the transaction was committed first, and a number that counts its commits
//! from
//! 1. As text `3E11FA47-71CA-11E1-9E33-C80AA9429562:23`, a set of them `UUID:1-5:7, UUID:...`.
//!
//! ```text
//! a set                                     a Gtid event's body
//! 8  count of UUIDs                         offset bytes
//! each:                                          0     1  flags: 1 may hold statements
//!   16  UUID                                     1    16  UUID (zeros: anonymous)
//!    8  count of intervals                      17     8  number (0: anonymous)
//!    each:                                      25     1  2: a logical clock follows
//!      8  first                                 26     8  last_committed
//!      8  behind the last                       34     8  sequence_number
//!                                               42     7  microseconds of the commit here; bit 55: the next follows
//!                                               49   0|7  microseconds of the first commit
//!                                                    1-9  bytes of the transaction, this event included
//!                                                      4  version of the server here; bit 31: the next follows
//!                                                    0|4  version of the first server
//! ```
//!
//! Older servers end the event after 25 bytes (5.6) or after 42 (5.7).

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use super::event::{Checksum, Event, EventKind, HEADER_BYTES, Header, append};
use crate::error::{Error, Result};
use crate::packet::{Malformed, Reader, writer};

/// The number that says that a logical clock follows.
const LOGICAL_CLOCK: u8 = 2;
/// Bytes of a timestamp.
const MICROS_BYTES: usize = 7;
/// In the seven bytes: the original timestamp follows.
const MICROS_FOLLOW: u64 = 1 << 55;
/// In a version: the original one follows.
const VERSION_FOLLOWS: u32 = 1 << 31;
/// The flag: the transaction may hold statements.
const MAY_HAVE_STATEMENTS: u8 = 1;

/// The largest number of a transaction.
pub const NUMBER_MAX: u64 = i64::MAX as u64 - 1;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Uuid(pub [u8; 16]);

impl fmt::Display for Uuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, byte) in self.0.iter().enumerate() {
            let dash = if matches!(at, 4 | 6 | 8 | 10) { "-" } else { "" };
            write!(f, "{dash}{byte:02x}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Uuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A text that is no GTID and no set of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MalformedGtid;

impl fmt::Display for MalformedGtid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("malformed GTID")
    }
}

impl std::error::Error for MalformedGtid {}

impl FromStr for Uuid {
    type Err = MalformedGtid;

    /// 32 hexadecimal digits, dashes at their places or nowhere, braces around it or not.
    fn from_str(text: &str) -> std::result::Result<Uuid, MalformedGtid> {
        let text = text.strip_prefix('{').and_then(|text| text.strip_suffix('}')).unwrap_or(text);
        let dashed = text.len() == 36;
        let mut digits = [0; 32];
        let mut count = 0;
        for (at, byte) in text.bytes().enumerate() {
            if dashed && matches!(at, 8 | 13 | 18 | 23) {
                if byte != b'-' {
                    return Err(MalformedGtid);
                }
                continue;
            }
            let digit = (byte as char).to_digit(16).ok_or(MalformedGtid)?;
            *digits.get_mut(count).ok_or(MalformedGtid)? = digit as u8;
            count += 1;
        }
        if count != digits.len() {
            return Err(MalformedGtid);
        }
        Ok(Uuid(std::array::from_fn(|at| digits[2 * at] << 4 | digits[2 * at + 1])))
    }
}

/// A transaction's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Gtid {
    pub source: Uuid,
    /// From 1.
    pub number: u64,
}

impl fmt::Display for Gtid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.source, self.number)
    }
}

impl FromStr for Gtid {
    type Err = MalformedGtid;

    fn from_str(text: &str) -> std::result::Result<Gtid, MalformedGtid> {
        let (source, number) = text.split_once(':').ok_or(MalformedGtid)?;
        Ok(Gtid { source: source.trim().parse()?, number: parse_number(number)? })
    }
}

fn parse_number(text: &str) -> std::result::Result<u64, MalformedGtid> {
    let text = text.trim();
    if !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(MalformedGtid);
    }
    text.parse().ok().filter(|number| (1..=NUMBER_MAX).contains(number)).ok_or(MalformedGtid)
}

/// Numbers from `first` to before `end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Interval {
    first: u64,
    end: u64,
}

/// A set of transactions: per server, intervals in ascending order that neither touch nor overlap.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GtidSet {
    sources: BTreeMap<Uuid, Vec<Interval>>,
}

impl GtidSet {
    pub fn is_empty(&self) -> bool {
        self.sources.is_empty()
    }

    pub fn contains(&self, gtid: Gtid) -> bool {
        self.sources.get(&gtid.source).is_some_and(|intervals| {
            let at = intervals.partition_point(|interval| interval.end <= gtid.number);
            intervals.get(at).is_some_and(|interval| interval.first <= gtid.number)
        })
    }

    /// False if it was in the set.
    pub fn insert(&mut self, gtid: Gtid) -> bool {
        if self.contains(gtid) {
            return false;
        }
        self.insert_interval(gtid.source, Interval { first: gtid.number, end: gtid.number + 1 });
        true
    }

    fn insert_interval(&mut self, source: Uuid, new: Interval) {
        let intervals = self.sources.entry(source).or_default();
        let from = intervals.partition_point(|interval| interval.end < new.first);
        let to = intervals.partition_point(|interval| interval.first <= new.end);
        let merged = intervals[from..to].iter().fold(new, |merged, interval| Interval {
            first: merged.first.min(interval.first),
            end: merged.end.max(interval.end),
        });
        intervals.splice(from..to, [merged]);
    }

    /// Adds another set.
    pub fn extend(&mut self, other: &GtidSet) {
        for (source, intervals) in &other.sources {
            for interval in intervals {
                self.insert_interval(*source, *interval);
            }
        }
    }

    /// What is here and not there.
    pub fn without(&self, other: &GtidSet) -> GtidSet {
        let mut left = GtidSet::default();
        for (source, intervals) in &self.sources {
            let taken = other.sources.get(source).map_or(&[][..], Vec::as_slice);
            let mut rest = Vec::new();
            for interval in intervals {
                let mut first = interval.first;
                for gone in taken.iter().filter(|gone| gone.end > interval.first && gone.first < interval.end) {
                    if gone.first > first {
                        rest.push(Interval { first, end: gone.first });
                    }
                    first = gone.end;
                }
                if first < interval.end {
                    rest.push(Interval { first, end: interval.end });
                }
            }
            if !rest.is_empty() {
                left.sources.insert(*source, rest);
            }
        }
        left
    }

    pub fn is_subset(&self, other: &GtidSet) -> bool {
        self.without(other).is_empty()
    }

    /// The transactions of one server.
    pub fn of_source(&self, source: Uuid) -> GtidSet {
        let sources = self.sources.get(&source).map(|intervals| (source, intervals.clone()));
        GtidSet { sources: sources.into_iter().collect() }
    }

    /// How many transactions are in the set.
    pub fn count(&self) -> u64 {
        self.sources.values().flatten().map(|interval| interval.end - interval.first).sum()
    }

    /// The smallest number of a source that is not in the set.
    pub fn next_number(&self, source: Uuid) -> u64 {
        match self.sources.get(&source).and_then(|intervals| intervals.first()) {
            Some(interval) if interval.first == 1 => interval.end,
            _ => 1,
        }
    }

    pub fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&(self.sources.len() as u64).to_le_bytes());
        for (source, intervals) in &self.sources {
            out.extend_from_slice(&source.0);
            out.extend_from_slice(&(intervals.len() as u64).to_le_bytes());
            for interval in intervals {
                out.extend_from_slice(&interval.first.to_le_bytes());
                out.extend_from_slice(&interval.end.to_le_bytes());
            }
        }
    }

    pub fn decode(bytes: &[u8]) -> Result<GtidSet> {
        let mut reader = Reader::new(bytes);
        let sources = reader.u64("the count of servers in a set of GTIDs")?;
        if sources >> 56 != 0 {
            return Err(Error::Unsupported { what: "a set of GTIDs of form", value: (sources >> 56) as u32 });
        }
        let mut set = GtidSet::default();
        for _ in 0..sources {
            let source = uuid(reader.bytes(16, "a UUID in a set of GTIDs")?);
            let intervals = reader.u64("the count of intervals in a set of GTIDs")?;
            for _ in 0..intervals {
                let first = reader.u64("an interval of GTIDs")?;
                let end = reader.u64("an interval of GTIDs")?;
                if first == 0 || end <= first || end > NUMBER_MAX + 1 {
                    return Err(Error::corrupt("an interval of GTIDs", bytes.len() - reader.remaining()));
                }
                set.insert_interval(source, Interval { first, end });
            }
        }
        match reader.is_empty() {
            true => Ok(set),
            false => Err(Error::corrupt("bytes behind a set of GTIDs", bytes.len() - reader.remaining())),
        }
    }
}

fn uuid(bytes: &[u8]) -> Uuid {
    Uuid(bytes.try_into().expect("16 bytes"))
}

impl fmt::Display for GtidSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, (source, intervals)) in self.sources.iter().enumerate() {
            if at > 0 {
                f.write_str(",\n")?;
            }
            write!(f, "{source}")?;
            for interval in intervals {
                match interval.end - interval.first {
                    1 => write!(f, ":{}", interval.first)?,
                    _ => write!(f, ":{}-{}", interval.first, interval.end - 1)?,
                }
            }
        }
        Ok(())
    }
}

impl FromStr for GtidSet {
    type Err = MalformedGtid;

    /// Sets by commas, of which empty ones are left out.
    fn from_str(text: &str) -> std::result::Result<GtidSet, MalformedGtid> {
        let mut set = GtidSet::default();
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let mut fields = part.split(':');
            let source = fields.next().ok_or(MalformedGtid)?.trim().parse()?;
            let mut any = false;
            for field in fields {
                let (first, last) = match field.split_once('-') {
                    Some((first, last)) => (parse_number(first)?, parse_number(last)?),
                    None => (parse_number(field)?, parse_number(field)?),
                };
                // As in MySQL, an interval that ends before it begins is empty.
                if first <= last {
                    set.insert_interval(source, Interval { first, end: last + 1 });
                }
                any = true;
            }
            if !any {
                return Err(MalformedGtid);
            }
        }
        Ok(set)
    }
}

/// Gtid and Anonymous_gtid: the beginning of a transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GtidEvent {
    /// None: anonymous.
    pub gtid: Option<Gtid>,
    /// It may hold statements rather than rows.
    pub may_have_statements: bool,
    pub clock: Option<LogicalClock>,
    pub commit: Option<CommitInfo>,
}

/// Which transactions a replica may run at the same time: this one beside all whose number is above `last_committed`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct LogicalClock {
    pub last_committed: u64,
    pub sequence_number: u64,
}

/// What MySQL 8.0 tells of a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct CommitInfo {
    /// Microseconds since 1970, at the server that wrote this log.
    pub immediate_micros: u64,
    /// The same at the server that committed first.
    pub original_micros: u64,
    /// Bytes of the transaction in the log, the Gtid event included.
    pub transaction_bytes: u64,
    pub immediate_version: u32,
    pub original_version: u32,
}

impl GtidEvent {
    pub fn decode(body: &[u8]) -> Result<GtidEvent> {
        let mut reader = Reader::new(body);
        let flags = reader.u8("the flags of a Gtid event")?;
        let source = uuid(reader.bytes(16, "the UUID of a Gtid event")?);
        let number = reader.u64("the number of a Gtid event")?;
        let gtid = (number != 0).then_some(Gtid { source, number });
        let mut event =
            GtidEvent { gtid, may_have_statements: flags & MAY_HAVE_STATEMENTS != 0, clock: None, commit: None };
        if reader.remaining() >= 17 && reader.u8("the clock of a Gtid event")? == LOGICAL_CLOCK {
            event.clock = Some(LogicalClock {
                last_committed: reader.u64("last_committed")?,
                sequence_number: reader.u64("sequence_number")?,
            });
            if !reader.is_empty() {
                event.commit = Some(decode_commit(&mut reader)?);
            }
        }
        Ok(event)
    }

    fn encode(&self, transaction_bytes: u64, out: &mut Vec<u8>) {
        let gtid = self.gtid.unwrap_or(Gtid { source: Uuid::default(), number: 0 });
        out.push(if self.may_have_statements { MAY_HAVE_STATEMENTS } else { 0 });
        out.extend_from_slice(&gtid.source.0);
        out.extend_from_slice(&gtid.number.to_le_bytes());
        let Some(clock) = self.clock else { return };
        out.push(LOGICAL_CLOCK);
        out.extend_from_slice(&clock.last_committed.to_le_bytes());
        out.extend_from_slice(&clock.sequence_number.to_le_bytes());
        let Some(commit) = self.commit else { return };
        let moved = commit.original_micros != commit.immediate_micros;
        put_micros(commit.immediate_micros | if moved { MICROS_FOLLOW } else { 0 }, out);
        if moved {
            put_micros(commit.original_micros, out);
        }
        writer::lenenc(out, transaction_bytes);
        let moved = commit.original_version != commit.immediate_version;
        out.extend_from_slice(&(commit.immediate_version | if moved { VERSION_FOLLOWS } else { 0 }).to_le_bytes());
        if moved {
            out.extend_from_slice(&commit.original_version.to_le_bytes());
        }
    }

    /// Appends the event in front of a transaction whose other events have `rest_bytes`. The length of the whole stands
    /// in the event and counts itself, so it is found by trying.
    pub fn append(&self, header: Header, checksum: Checksum, rest_bytes: u64, out: &mut Vec<u8>) {
        let kind = if self.gtid.is_some() { EventKind::GTID } else { EventKind::ANONYMOUS_GTID };
        let mut body = Vec::with_capacity(96);
        let mut total = 0;
        loop {
            body.clear();
            self.encode(total, &mut body);
            let whole = rest_bytes + (HEADER_BYTES + body.len() + checksum.bytes()) as u64;
            if whole == total {
                break;
            }
            total = whole;
        }
        append(out, Header { kind, ..header }, checksum, |out| out.extend_from_slice(&body));
    }
}

fn decode_commit(reader: &mut Reader<'_>) -> std::result::Result<CommitInfo, Malformed> {
    let micros = |reader: &mut Reader<'_>| {
        let bytes = reader.bytes(MICROS_BYTES, "the time of a commit")?;
        Ok::<u64, Malformed>(bytes.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte)))
    };
    let first = micros(reader)?;
    let immediate_micros = first & (MICROS_FOLLOW - 1);
    let original_micros = if first & MICROS_FOLLOW != 0 { micros(reader)? } else { immediate_micros };
    let transaction_bytes = reader.lenenc("the length of a transaction")?;
    let mut info =
        CommitInfo { immediate_micros, original_micros, transaction_bytes, immediate_version: 0, original_version: 0 };
    // Versions came with 8.0.14.
    if !reader.is_empty() {
        let version = reader.u32("the version of a server")?;
        info.immediate_version = version & (VERSION_FOLLOWS - 1);
        info.original_version = match version & VERSION_FOLLOWS {
            0 => info.immediate_version,
            _ => reader.u32("the version of the first server")?,
        };
    }
    Ok(info)
}

fn put_micros(micros: u64, out: &mut Vec<u8>) {
    out.extend_from_slice(&micros.to_le_bytes()[..MICROS_BYTES]);
}

/// Appends Previous_gtids.
pub fn append_previous(set: &GtidSet, header: Header, checksum: Checksum, out: &mut Vec<u8>) {
    append(out, Header { kind: EventKind::PREVIOUS_GTIDS, ..header }, checksum, |out| set.encode(out));
}

/// The transaction's name that an event carries, if it begins one under MySQL's rules.
pub fn gtid_of(event: &Event<'_>) -> Result<Option<GtidEvent>> {
    match event.header.kind {
        EventKind::GTID | EventKind::ANONYMOUS_GTID => GtidEvent::decode(event.body).map(Some),
        EventKind::GTID_TAGGED => Err(Error::Unsupported { what: "event kind", value: 42 }),
        _ => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use proptest::prelude::*;

    fn source(n: u8) -> Uuid {
        Uuid([n; 16])
    }

    #[test]
    fn texts_of_sets_come_back_in_their_normal_form() {
        let text = "3e11fa47-71ca-11e1-9e33-c80aa9429562:11:1-5:3-7:7-6, 3E11FA4771CA11E19E33C80AA9429563 : 1";
        let set: GtidSet = text.parse().unwrap();
        assert_eq!(
            set.to_string(),
            "3e11fa47-71ca-11e1-9e33-c80aa9429562:1-7:11,\n3e11fa47-71ca-11e1-9e33-c80aa9429563:1"
        );
        assert_eq!(set.to_string().parse::<GtidSet>(), Ok(set));
        for bad in ["x", "3e11fa47-71ca-11e1-9e33-c80aa9429562", "3e11fa47-71ca-11e1-9e33-c80aa9429562:0", ":1"] {
            assert!(bad.parse::<GtidSet>().is_err(), "{bad}");
        }
        assert!("".parse::<GtidSet>().unwrap().is_empty());
    }

    proptest! {
        /// Sets behave as sets of numbers do.
        #[test]
        fn sets_agree_with_sets_of_numbers(
            a in prop::collection::vec((0_u8..2, 1_u64..40, 1_u64..6), 0..12),
            b in prop::collection::vec((0_u8..2, 1_u64..40, 1_u64..6), 0..12),
        ) {
            let build = |parts: &[(u8, u64, u64)]| {
                let (mut set, mut model) = (GtidSet::default(), BTreeSet::new());
                for &(who, first, count) in parts {
                    set.insert_interval(source(who), Interval { first, end: first + count });
                    model.extend((first..first + count).map(|number| (who, number)));
                }
                (set, model)
            };
            let ((a, model_a), (b, model_b)) = (build(&a), build(&b));
            let numbers = |set: &GtidSet| -> BTreeSet<(u8, u64)> {
                (0..2).flat_map(|who| (1..60).map(move |number| (who, number)))
                    .filter(|&(who, number)| set.contains(Gtid { source: source(who), number }))
                    .collect()
            };
            prop_assert_eq!(numbers(&a), model_a.clone());
            prop_assert_eq!(a.count(), model_a.len() as u64);
            let left: BTreeSet<_> = model_a.difference(&model_b).copied().collect();
            prop_assert_eq!(numbers(&a.without(&b)), left);
            prop_assert_eq!(a.is_subset(&b), model_a.is_subset(&model_b));
            let mut both = a.clone();
            both.extend(&b);
            prop_assert_eq!(numbers(&both), model_a.union(&model_b).copied().collect::<BTreeSet<_>>());
            let mut bytes = Vec::new();
            a.encode(&mut bytes);
            prop_assert_eq!(GtidSet::decode(&bytes), Ok(a.clone()));
            prop_assert_eq!(a.to_string().parse::<GtidSet>(), Ok(a));
        }
    }

    #[test]
    fn an_event_counts_its_own_length_at_every_size() {
        for rest in [0, 200, 65_400, 65_450, 65_500, 16_777_100, 16_777_216, 5_000_000_000] {
            for original_micros in [1_700_000_000_000_000, 1_600_000_000_000_000] {
                let mut event = GtidEvent {
                    gtid: Some(Gtid { source: source(7), number: 42 }),
                    may_have_statements: false,
                    clock: Some(LogicalClock { last_committed: 3, sequence_number: 5 }),
                    commit: Some(CommitInfo {
                        immediate_micros: 1_700_000_000_000_000,
                        original_micros,
                        transaction_bytes: 0,
                        immediate_version: 80_040,
                        original_version: 80_040,
                    }),
                };
                let header =
                    Header { timestamp: 0, kind: EventKind::GTID, server_id: 1, bytes: 0, end_position: 0, flags: 0 };
                let mut bytes = Vec::new();
                event.append(header, Checksum::Crc32, rest, &mut bytes);
                let read = GtidEvent::decode(Event::decode(&bytes, Checksum::Crc32).unwrap().body).unwrap();
                event.commit.as_mut().unwrap().transaction_bytes = rest + bytes.len() as u64;
                assert_eq!(read, event);
            }
        }
    }
}
