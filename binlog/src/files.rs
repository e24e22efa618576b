//! The files of a log: their names, their index, and the head of each.
//!
//! ```text
//! binlog.index       the names of the files, oldest first, a line each: ./binlog.000001
//! binlog.purged      transactions that SET GLOBAL gtid_purged has added
//! binlog.000001      magic number, Format_description, Previous_gtids, transactions, Rotate
//! binlog.000002      ...
//! ```
//!
//! A file belongs to the log if the index names it. A new file is whole and durable before the index names it, and the
//! index is replaced by renaming, so each crash leaves the log with or without the file. Files with a higher number than
//! the last of the index are left from such a crash; they have no transaction, and are removed.

use std::fmt;

use format::binlog::{Checksum, EventKind, FormatDescription, GtidSet, Header, MAGIC, flags, gtid};
use storage::io::{Caching, Disk, OpenMode};
use storage::{Error, Result};

/// A file of a log: its base name and number.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FileName {
    pub base: Box<str>,
    pub number: u32,
}

impl fmt::Display for FileName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:06}", self.base, self.number)
    }
}

impl FileName {
    /// The name that a text means, with or without `./`.
    pub fn parse(text: &str) -> Option<FileName> {
        let (base, number) = text.strip_prefix("./").unwrap_or(text).rsplit_once('.')?;
        let is_number = number.len() >= 6 && number.bytes().all(|digit| digit.is_ascii_digit());
        let valid = is_number && is_base_name(base);
        valid.then(|| number.parse().ok()).flatten().map(|number| FileName { base: base.into(), number })
    }

    pub fn next(&self) -> FileName {
        FileName { base: self.base.clone(), number: self.number + 1 }
    }
}

/// Whether files can be called so: a name in the data directory.
pub fn is_base_name(base: &str) -> bool {
    !base.is_empty() && base.len() <= 200 && !base.contains(['/', '\\', '\0', '\n']) && !base.starts_with('.')
}

/// A file as SHOW BINARY LOGS lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    pub name: FileName,
    pub bytes: u64,
}

pub(crate) fn io(doing: &'static str) -> impl FnOnce(std::io::Error) -> Error {
    Error::io(doing)
}

fn index_path(base: &str) -> String {
    format!("{base}.index")
}

/// The files that the index names, oldest first; `None` = there is no index.
pub fn read_index(disk: &dyn Disk, base: &str) -> Result<Option<Vec<FileName>>> {
    let path = index_path(base);
    if !disk.exists(&path).map_err(io("look for the index of the binary log"))? {
        return Ok(None);
    }
    let bytes = read_whole(disk, &path)?;
    let text = String::from_utf8_lossy(&bytes);
    let mut names = Vec::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let name = FileName::parse(line.trim()).filter(|name| *name.base == *base);
        names.push(name.ok_or_else(|| Error::Corrupt { page: None, what: format!("{path}: {line}").into() })?);
    }
    Ok(Some(names))
}

/// Replaces the index, durably.
pub fn write_index(disk: &dyn Disk, base: &str, names: &[FileName]) -> Result<()> {
    let beside = format!("{}.new", index_path(base));
    write_beside(disk, &beside, index_text(names).as_bytes())?;
    replace_index(disk, base, &beside)
}

fn index_text(names: &[FileName]) -> String {
    names.iter().map(|name| format!("./{name}\n")).collect()
}

/// A file that is to get the name of another one, durably.
fn write_beside(disk: &dyn Disk, path: &str, bytes: &[u8]) -> Result<()> {
    remove_if_there(disk, path)?;
    let file = disk.open(path, OpenMode::Create, Caching::Cached).map_err(io("create an index of the binary log"))?;
    file.write_durably(0, bytes).map_err(io("write the index of the binary log"))
}

fn replace_index(disk: &dyn Disk, base: &str, by: &str) -> Result<()> {
    disk.rename(by, &index_path(base)).map_err(io("replace the index of the binary log"))?;
    disk.sync_directory("").map_err(io("sync the directory of the binary log"))
}

fn remove_if_there(disk: &dyn Disk, path: &str) -> Result<()> {
    match disk.exists(path).map_err(io("look for a file of the binary log"))? {
        true => disk.remove(path).map_err(io("remove a file of the binary log")),
        false => Ok(()),
    }
}

/// What a reset of the log needs room for, written before anything else is changed.
///
/// ```text
///   binlog.reset        the head of the first file
///   binlog.index.none   an index without files
///   binlog.index.first  an index with the first file
/// ```
///
/// With the second one in the place of the index the log is reset, whatever happens: a start removes the files that the
/// index does not name. All that is left then is removing and renaming, which needs no room and can be repeated.
pub struct Reset<'d> {
    disk: &'d dyn Disk,
    first: FileName,
}

impl<'d> Reset<'d> {
    pub fn new(disk: &'d dyn Disk, base: &str) -> Reset<'d> {
        Reset { disk, first: FileName { base: base.into(), number: 1 } }
    }

    fn paths(&self) -> [String; 3] {
        let base = &self.first.base;
        [format!("{base}.reset"), format!("{base}.index.none"), format!("{base}.index.first")]
    }

    /// Whether a reset has been prepared, and if it was decided, has not removed all yet.
    pub fn is_prepared(&self) -> Result<bool> {
        self.disk.exists(&self.paths()[0]).map_err(io("look for a binary log"))
    }

    /// Decides that the log is reset; or nothing has happened. True: it is decided, and an error only means that it is not
    /// known to be durable.
    pub fn decide(&self, head: &[u8]) -> (bool, Result<()>) {
        let [reset, none, first] = &self.paths();
        let prepared = write_beside(self.disk, reset, head)
            .and_then(|()| write_beside(self.disk, first, index_text(std::slice::from_ref(&self.first)).as_bytes()))
            .and_then(|()| write_beside(self.disk, none, b""));
        let renamed = prepared.and_then(|()| {
            let index = index_path(&self.first.base);
            self.disk.rename(none, &index).map_err(io("replace the index of the binary log"))
        });
        if renamed.is_err() {
            let _ = self.forget();
            return (false, renamed);
        }
        (true, self.disk.sync_directory("").map_err(io("sync the directory of the binary log")))
    }

    /// Removes the old files, and begins with the first one again. Can be repeated.
    pub fn finish(&self, old: &[FileName]) -> Result<std::sync::Arc<dyn storage::io::File>> {
        let [reset, _, first] = &self.paths();
        if self.is_prepared()? {
            self.disk.sync_directory("").map_err(io("sync the directory of the binary log"))?;
            write_purged(self.disk, &self.first.base, &GtidSet::default())?;
            for name in old {
                remove_if_there(self.disk, &name.to_string())?;
            }
            self.disk.rename(reset, &self.first.to_string()).map_err(io("begin the first binary log"))?;
            self.disk.sync_directory("").map_err(io("sync the directory of the binary log"))?;
        }
        if self.disk.exists(first).map_err(io("look for the index of the binary log"))? {
            replace_index(self.disk, &self.first.base, first)?;
        }
        let path = self.first.to_string();
        self.disk.open(&path, OpenMode::ReadWrite, Caching::Cached).map_err(io("open a binary log"))
    }

    /// Removes what a reset has prepared that did not take place, or that a crash has interrupted.
    pub fn forget(&self) -> Result<()> {
        self.paths().iter().try_for_each(|path| remove_if_there(self.disk, path))
    }
}

fn purged_path(base: &str) -> String {
    format!("{base}.purged")
}

/// The names of transactions that SET GLOBAL gtid_purged has added: they were in no file of this log.
pub fn read_purged(disk: &dyn Disk, base: &str) -> Result<GtidSet> {
    let path = purged_path(base);
    if !disk.exists(&path).map_err(io("look for the purged GTIDs"))? {
        return Ok(GtidSet::default());
    }
    let bytes = read_whole(disk, &path)?;
    let text = String::from_utf8_lossy(&bytes);
    text.trim().parse().map_err(|_| Error::Corrupt { page: None, what: format!("{path}: no set of GTIDs").into() })
}

/// Replaces them, durably; an empty set removes the file.
pub fn write_purged(disk: &dyn Disk, base: &str, set: &GtidSet) -> Result<()> {
    let path = purged_path(base);
    let beside = format!("{path}.new");
    for stale in [&beside, &path].into_iter().take(if set.is_empty() { 2 } else { 1 }) {
        if disk.exists(stale).map_err(io("look for the purged GTIDs"))? {
            disk.remove(stale).map_err(io("remove the purged GTIDs"))?;
        }
    }
    if !set.is_empty() {
        let file = disk.open(&beside, OpenMode::Create, Caching::Cached).map_err(io("create the purged GTIDs"))?;
        let text = format!("{set}\n");
        file.write_durably(0, text.as_bytes()).map_err(io("write the purged GTIDs"))?;
        disk.rename(&beside, &path).map_err(io("replace the purged GTIDs"))?;
    }
    disk.sync_directory("").map_err(io("sync the directory of the binary log"))
}

fn read_whole(disk: &dyn Disk, path: &str) -> Result<Vec<u8>> {
    let file = disk.open(path, OpenMode::Read, Caching::Cached).map_err(io("open the index of the binary log"))?;
    let mut bytes = vec![0; file.len().map_err(io("read the index of the binary log"))? as usize];
    let read = file.read_at(0, &mut bytes).map_err(io("read the index of the binary log"))?;
    bytes.truncate(read);
    Ok(bytes)
}

/// All files in the directory that have a name of this log, whether or not the index knows them.
pub fn named_files(disk: &dyn Disk, base: &str) -> Result<Vec<FileName>> {
    let entries = disk.list("").map_err(io("list the data directory"))?;
    let names = entries.iter().filter(|entry| !entry.is_directory).filter_map(|entry| FileName::parse(&entry.name));
    let mut names: Vec<FileName> = names.filter(|name| *name.base == *base).collect();
    names.sort();
    Ok(names)
}

/// What the head of a file says.
pub struct Head<'a> {
    pub server: &'a str,
    pub server_id: u32,
    /// Seconds since 1970.
    pub now: u32,
    /// The first file since the server started.
    pub is_first: bool,
    /// What the events behind the description have.
    pub checksum: Checksum,
    pub previous: &'a GtidSet,
}

impl Head<'_> {
    pub fn encode(&self) -> Vec<u8> {
        let mut out = MAGIC.to_vec();
        let header = |kind, flags| Header {
            timestamp: self.now,
            kind,
            server_id: self.server_id,
            bytes: 0,
            end_position: 0,
            flags,
        };
        let created = if self.is_first { self.now } else { 0 };
        let description = FormatDescription::new(self.server, created, self.checksum);
        let start = out.len();
        description.append(header(EventKind::FORMAT_DESCRIPTION, flags::IN_USE), &mut out);
        // The description has a checksum in any case.
        place_last(&mut out, start, Checksum::Crc32);
        let start = out.len();
        let previous = header(EventKind::PREVIOUS_GTIDS, flags::IGNORABLE);
        gtid::append_previous(self.previous, previous, self.checksum, &mut out);
        place_last(&mut out, start, self.checksum);
        out
    }
}

/// Sets the end of the event that begins at `start`, in bytes that begin a file.
fn place_last(out: &mut [u8], start: usize, checksum: Checksum) {
    let end = out.len() as u32;
    format::binlog::event::place(&mut out[start..], end, checksum);
}

/// Where the flags of a file's description are; they say whether the file is in use.
pub const DESCRIPTION_FLAGS: u64 = 4 + 17;

/// Creates a file with this head, durably.
pub fn create(disk: &dyn Disk, name: &FileName, head: &[u8]) -> Result<std::sync::Arc<dyn storage::io::File>> {
    let path = name.to_string();
    let file = disk.open(&path, OpenMode::Create, Caching::Cached).map_err(io("create a binary log"))?;
    let written = file.write_durably(0, head).map_err(io("write the head of a binary log"));
    let named = written.and_then(|()| disk.sync_directory("").map_err(io("sync the directory of the binary log")));
    match named {
        Ok(()) => Ok(file),
        Err(error) => {
            let _ = disk.remove(&path);
            Err(error)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use storage::io::sim::SimDisk;

    #[test]
    fn names_come_back() {
        let name = FileName { base: "my.log".into(), number: 1_234_567 };
        assert_eq!(FileName::parse(&format!("./{name}")), Some(name));
        for other in ["binlog", "binlog.12345", "binlog.00000a", ".000001", "a/b.000001"] {
            assert_eq!(FileName::parse(other), None, "{other}");
        }
    }

    #[test]
    fn purged_names_come_back() {
        let disk = SimDisk::new(1);
        let set: GtidSet = "3E11FA47-71CA-11E1-9E33-C80AA9429562:1-5:7".parse().unwrap();
        assert_eq!(read_purged(&disk, "binlog").unwrap(), GtidSet::default());
        write_purged(&disk, "binlog", &set).unwrap();
        write_purged(&disk, "binlog", &set).unwrap();
        assert_eq!(read_purged(&disk, "binlog").unwrap(), set);
        write_purged(&disk, "binlog", &GtidSet::default()).unwrap();
        assert_eq!(read_purged(&disk, "binlog").unwrap(), GtidSet::default());
    }

    #[test]
    fn an_index_comes_back_and_one_that_names_something_else_is_an_error() {
        let disk = SimDisk::new(1);
        assert_eq!(read_index(&disk, "binlog").unwrap(), None);
        let first = FileName { base: "binlog".into(), number: 7 };
        let names = [first.clone(), first.next()];
        write_index(&disk, "binlog", &names).unwrap();
        write_index(&disk, "binlog", &names).unwrap();
        assert_eq!(read_index(&disk, "binlog").unwrap(), Some(names.to_vec()));
        write_index(&disk, "other", &names).unwrap();
        assert!(read_index(&disk, "other").is_err());
    }
}
