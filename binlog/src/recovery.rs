//! Opening a log after any kind of stop.
//!
//! ```text
//!   annex        name of the file, offset of the bytes, end of the transaction, bytes
//!
//!   complete     each annex is written to its place again, in order; the file is cut behind the last one; synced
//!   open_files   names of missing files leave the index, files behind the last one are removed; the last file is read
//!                for the names of its transactions, and cut behind the last whole one
//! ```
//!
//! An annex of a file that the index does not name is ignored: the file was purged, or this is a backup of the tables
//! that was restored without the log. The checkpoint passes all annexes before a log begins with its first file
//! again. Each step can be repeated.

use std::sync::Arc;

use format::binlog::{Checksum, Control, Event, EventKind, GtidSet, gtid};
use storage::io::{Caching, Disk, File, OpenMode};
use storage::{Annexes, Config, Engine, Error, Result};
use tracing::info;

use crate::files::{self, FileName, io};
use crate::reader::EventReader;

/// The kind of the annexes of this log.
pub(crate) const ANNEX: u8 = 1;

/// The beginning of an annex, with room for the bytes of the log that follow.
pub(crate) fn begin_annex(name: &FileName, offset: u64, end: u64, bytes: usize) -> Vec<u8> {
    let name = name.to_string();
    let mut out = Vec::with_capacity(1 + name.len() + 16 + bytes);
    out.push(name.len() as u8);
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(&offset.to_le_bytes());
    out.extend_from_slice(&end.to_le_bytes());
    out
}

/// A Rotate event has at most so many bytes.
const LAST_EVENT_BYTES_MAX: u64 = 4096;

struct AnnexOf<'a> {
    name: FileName,
    offset: u64,
    end: u64,
    bytes: &'a [u8],
}

fn decode_annex(annex: &[u8]) -> Option<AnnexOf<'_>> {
    let (&length, rest) = annex.split_first()?;
    let (name, rest) = rest.split_at_checked(length as usize)?;
    let (offset, rest) = rest.split_at_checked(8)?;
    let (end, bytes) = rest.split_at_checked(8)?;
    Some(AnnexOf {
        name: FileName::parse(std::str::from_utf8(name).ok()?)?,
        offset: u64::from_le_bytes(offset.try_into().ok()?),
        end: u64::from_le_bytes(end.try_into().ok()?),
        bytes,
    })
}

/// A file that annexes are written to.
struct Completed {
    name: FileName,
    /// `None` = the log does not have this file.
    file: Option<Arc<dyn File>>,
    end: u64,
}

impl Completed {
    fn open(disk: &dyn Disk, name: FileName) -> Result<Completed> {
        let known = files::read_index(disk, &name.base)?.is_some_and(|names| names.contains(&name))
            && disk.exists(&name.to_string()).map_err(io("look for a binary log"))?;
        let file = match known {
            true => Some(
                disk.open(&name.to_string(), OpenMode::ReadWrite, Caching::Cached).map_err(io("open a binary log"))?,
            ),
            false => None,
        };
        Ok(Completed { name, file, end: 0 })
    }

    fn finish(self, disk: &dyn Disk) -> Result<()> {
        let Some(file) = self.file else { return Ok(()) };
        let behind = file.len().map_err(io("read a binary log"))?.saturating_sub(self.end);
        if behind > 0 {
            // A Rotate or Stop event that may be torn, or what was written ahead for a commit that did not happen.
            let mut last = vec![0; LAST_EVENT_BYTES_MAX.min(behind) as usize];
            file.read_at(self.end, &mut last).map_err(io("read a binary log"))?;
            let checksum = EventReader::open(disk, &self.name, u64::MAX)?.description.checksum;
            let is_last = last.len() as u64 == behind && is_last_event(&last, &self.name, self.end, checksum);
            if !is_last {
                file.set_len(self.end).map_err(io("cut a binary log"))?;
            }
        }
        file.sync().map_err(io("sync a binary log"))
    }
}

/// Whether these bytes are the event that ends a file, whole. Without a checksum all that it may say is compared.
fn is_last_event(bytes: &[u8], name: &FileName, at: u64, checksum: Checksum) -> bool {
    let Ok(event) = Event::decode(bytes, checksum) else { return false };
    let is_whole = event.bytes.len() == bytes.len();
    if checksum != Checksum::None {
        return is_whole;
    }
    let mut body = Vec::new();
    match event.header.kind {
        EventKind::ROTATE => {
            Control::Rotate { position: 4, file: name.next().to_string().as_bytes() }.encode(&mut body)
        }
        EventKind::STOP => Control::Stop.encode(&mut body),
        _ => return false,
    }
    is_whole && event.body == body && u64::from(event.header.end_position) == (at + bytes.len() as u64) & 0xFFFF_FFFF
}

/// Opens an engine, and completes the files of the log from what the redo log has of them, durably, whether or not a log
/// is to be written now. Memory is bounded by the longest annex.
pub fn open_engine(disk: Arc<dyn Disk>, config: Config) -> Result<Arc<Engine>> {
    Engine::open_completing(disk, config, &mut complete)
}

fn complete(annexes: &Annexes<'_>) -> Result<()> {
    let disk = annexes.disk();
    let mut current: Option<Completed> = None;
    let mut count = 0_u64;
    annexes.read(&mut |kind, bytes| {
        if kind != ANNEX {
            return Ok(());
        }
        let damaged = || Error::Corrupt { page: None, what: "an annex of the binary log".into() };
        let annex = decode_annex(bytes).ok_or_else(damaged)?;
        if current.as_ref().is_none_or(|file| file.name != annex.name) {
            if let Some(file) = current.take() {
                file.finish(&**disk)?;
            }
            current = Some(Completed::open(&**disk, annex.name)?);
        }
        let completed = current.as_mut().expect("it was opened");
        if let Some(file) = &completed.file {
            file.write_at(annex.offset, annex.bytes).map_err(io("complete a binary log"))?;
            completed.end = annex.end;
            count += 1;
        }
        Ok(())
    })?;
    if let Some(file) = current {
        file.finish(&**disk)?;
    }
    if count > 0 {
        info!("binary log: {count} transactions of the redo log are in it");
    }
    Ok(())
}

/// The files of a log, and the names of all transactions that were ever in it.
pub(crate) fn open_files(disk: &dyn Disk, base: &str) -> Result<(Vec<FileName>, GtidSet)> {
    let reset = files::Reset::new(disk, base);
    let there = files::named_files(disk, base)?;
    let Some(mut names) = files::read_index(disk, base)? else {
        return match there.first() {
            None => {
                // So that the first file does not look like one whose index was lost, if a crash comes before its own.
                files::write_index(disk, base, &[])?;
                Ok((Vec::new(), GtidSet::default()))
            }
            Some(first) => Err(Error::Corrupt {
                page: None,
                what: format!("{base}.index is missing, but {first} is there: move the files away, or write the index")
                    .into(),
            }),
        };
    };
    let is_there = |name: &FileName| there.contains(name);
    let missing = names.iter().take_while(|name| !is_there(name)).count();
    names.drain(..missing);
    if let Some(lost) = names.iter().find(|name| !is_there(name)) {
        return Err(Error::Corrupt { page: None, what: format!("binary log {lost} is missing").into() });
    }
    let last = names.last().map_or(0, |name| name.number);
    for name in there.iter().filter(|name| name.number > last) {
        disk.remove(&name.to_string()).map_err(io("remove an unfinished binary log"))?;
    }
    if missing > 0 {
        files::write_index(disk, base, &names)?;
    }
    if names.is_empty() && reset.is_prepared()? {
        // The log was reset, and a crash came before all was removed.
        files::write_purged(disk, base, &GtidSet::default())?;
    }
    reset.forget()?;
    let mut executed = GtidSet::default();
    // A crash within a rotation may have torn the end of the file before the last.
    for name in names.iter().rev().take(2).rev() {
        executed = read_names(disk, name)?;
    }
    Ok((names, executed))
}

/// Reads the last file: the transactions up to its end. Cuts off what is behind the last whole one.
fn read_names(disk: &dyn Disk, name: &FileName) -> Result<GtidSet> {
    let mut reader = EventReader::open(disk, name, u64::MAX)?;
    let mut names = GtidSet::default();
    let mut pending = None;
    let mut whole = reader.position();
    let mut ends_at = 0;
    let path = name.to_string();
    let file = disk.open(&path, OpenMode::ReadWrite, Caching::Cached).map_err(io("open a binary log"))?;
    let bytes = file.len().map_err(io("read a binary log"))?;
    let checksum = reader.description.checksum;
    loop {
        let (at, event) = match reader.next_brief() {
            Ok(Some(next)) => next,
            Ok(None) => break,
            // A last event that is torn. Transactions are not: what is not durable of them is in the redo log.
            Err(_) if bytes - whole <= LAST_EVENT_BYTES_MAX => break,
            Err(error) => return Err(error),
        };
        if let Some(event) = event {
            let ends_file = matches!(event.header.kind, EventKind::ROTATE | EventKind::STOP);
            if ends_file && !is_last_event(event.bytes, name, at, checksum) {
                break;
            }
            if event.header.kind == EventKind::PREVIOUS_GTIDS {
                names = GtidSet::decode(event.body).map_err(|cause| damaged(name, &cause))?;
            }
            if let Some(gtid) = gtid::gtid_of(&event).map_err(|cause| damaged(name, &cause))? {
                ends_at = at + gtid.commit.map_or(0, |commit| commit.transaction_bytes);
                pending = gtid.gtid;
            }
        }
        if reader.position() >= ends_at {
            if let Some(gtid) = pending.take() {
                names.insert(gtid);
            }
            whole = reader.position();
        }
    }
    if bytes > whole {
        file.set_len(whole).map_err(io("cut a binary log"))?;
        file.sync().map_err(io("sync a binary log"))?;
    }
    Ok(names)
}

fn damaged(name: &FileName, cause: &dyn std::fmt::Display) -> Error {
    Error::Corrupt { page: None, what: format!("{name}: {cause}").into() }
}

/// The transactions of all files before this one.
pub(crate) fn previous_gtids(disk: &dyn Disk, name: &FileName) -> Result<GtidSet> {
    let mut reader = EventReader::open(disk, name, u64::MAX)?;
    // Behind the description.
    reader.next_event()?;
    match reader.next_event()? {
        Some((_, event)) if event.header.kind == EventKind::PREVIOUS_GTIDS => {
            GtidSet::decode(event.body).map_err(|cause| damaged(name, &cause))
        }
        _ => Err(damaged(name, &"no Previous_gtids")),
    }
}

/// When a file was begun, in seconds since 1970.
pub(crate) fn begun_at(disk: &dyn Disk, name: &FileName) -> Result<u64> {
    let mut reader = EventReader::open(disk, name, u64::MAX)?;
    Ok(reader.next_event()?.map_or(0, |(_, event)| u64::from(event.header.timestamp)))
}

pub(crate) fn length(disk: &dyn Disk, name: &FileName) -> Result<u64> {
    let file = disk.open(&name.to_string(), OpenMode::Read, Caching::Cached).map_err(io("open a binary log"))?;
    file.len().map_err(io("read a binary log"))
}

#[cfg(test)]
mod tests {
    use format::binlog::{Gtid, Uuid};
    use storage::io::sim::SimDisk;

    use super::*;
    use crate::files::{Head, Reset};

    const BASE: &str = "binlog";

    fn set(text: &str) -> GtidSet {
        text.parse().expect("a set")
    }

    fn head(previous: &GtidSet) -> Vec<u8> {
        Head { server: "8.0.0-test", server_id: 1, now: 1, is_first: false, checksum: Checksum::Crc32, previous }
            .encode()
    }

    /// A log of two files, with transactions in the first one, and with one that was set as purged.
    fn log() -> (SimDisk, Vec<FileName>, GtidSet, GtidSet) {
        let disk = SimDisk::new(7);
        let first = FileName { base: BASE.into(), number: 1 };
        let names = vec![first.clone(), first.next()];
        let before = set("11111111-1111-1111-1111-111111111111:1-5");
        files::create(&disk, &names[0], &head(&GtidSet::default())).expect("a file");
        files::create(&disk, &names[1], &head(&before)).expect("a file");
        files::write_index(&disk, BASE, &names).expect("an index");
        let purged = set("22222222-2222-2222-2222-222222222222:1");
        files::write_purged(&disk, BASE, &purged).expect("a purged set");
        (disk, names, before, purged)
    }

    /// What a start finds: true if the log was reset, false if nothing has happened; anything else fails.
    fn was_reset(disk: &SimDisk, names: &[FileName], before: &GtidSet, purged: &GtidSet) -> bool {
        let (found, executed) = open_files(disk, BASE).expect("it opens");
        let found_purged = files::read_purged(disk, BASE).expect("a purged set");
        let there = files::named_files(disk, BASE).expect("names");
        assert_eq!(there, found, "files that the index does not name are gone");
        let entries = disk.list("").expect("a list");
        assert!(
            !entries.iter().any(|entry| entry.name.contains("reset") || entry.name.contains("index.")),
            "{entries:?}"
        );
        if executed.contains(Gtid { source: Uuid([0x11; 16]), number: 1 }) {
            assert_eq!((&found[..], &executed, &found_purged), (names, before, purged));
            return false;
        }
        assert!(
            found.len() <= 1 && executed.is_empty() && found_purged.is_empty(),
            "{found:?} {executed} {found_purged}"
        );
        true
    }

    #[test]
    fn a_reset_that_is_interrupted_has_happened_or_has_not() {
        let mut seen = [0, 0];
        for crash_at in 1.. {
            let (disk, names, before, purged) = log();
            let changes = disk.changes();
            disk.set_faults(|faults| faults.crash_at = Some(changes + crash_at));
            let reset = Reset::new(&disk, BASE);
            let (_, decided) = reset.decide(&head(&GtidSet::default()));
            let done = decided.and_then(|()| reset.finish(&names).map(drop));
            let ended = !disk.is_crashed();
            for left in [disk.crash(), disk.duplicate()] {
                left.set_faults(|faults| faults.crash_at = None);
                let is_reset = was_reset(&left, &names, &before, &purged);
                assert!(is_reset || done.is_err(), "what was answered as done is done");
                seen[usize::from(is_reset)] += 1;
            }
            if ended {
                break;
            }
        }
        assert!(seen.iter().all(|count| *count > 4), "{seen:?}");
    }

    #[test]
    fn a_reset_that_fails_half_way_is_finished_later() {
        for failing in 1..40 {
            let (disk, names, before, purged) = log();
            let syncs = disk.syncs();
            disk.set_faults(|faults| faults.failing_sync = Some(syncs + failing));
            let reset = Reset::new(&disk, BASE);
            let (is_decided, decided) = reset.decide(&head(&GtidSet::default()));
            let done = decided.and_then(|()| reset.finish(&names).map(drop));
            disk.set_faults(|faults| faults.failing_sync = None);
            match (is_decided, done) {
                (false, _) => assert!(!was_reset(&disk, &names, &before, &purged)),
                (true, Ok(())) => return,
                (true, Err(_)) => {
                    reset.finish(&names).expect("it is finished now");
                    reset.finish(&names).expect("and once more");
                    assert!(was_reset(&disk, &names, &before, &purged));
                }
            }
        }
        panic!("there are fewer syncs");
    }

    #[test]
    fn a_reset_without_room_has_not_happened() {
        let mut refused = 0;
        for room in 0..40 {
            let (disk, names, before, purged) = log();
            let used = disk.used_blocks();
            disk.set_faults(|faults| faults.capacity_blocks = Some(used + room));
            let reset = Reset::new(&disk, BASE);
            let (is_decided, decided) = reset.decide(&head(&GtidSet::default()));
            if decided.is_err() {
                assert!(!is_decided);
                refused += 1;
                assert!(!was_reset(&disk, &names, &before, &purged));
                continue;
            }
            // Nothing that follows needs room.
            let used = disk.used_blocks();
            disk.set_faults(|faults| faults.capacity_blocks = Some(used));
            reset.finish(&names).expect("it is finished");
            assert!(was_reset(&disk, &names, &before, &purged));
        }
        assert!((1..40).contains(&refused), "{refused}");
    }
}
