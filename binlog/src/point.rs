//! Where a backup stands in the binary log: a text file of the backup, and of the directory that is restored from it.
//!
//! ```text
//! log_file=binlog.000007          the log goes on at this place with what the backup does not have
//! log_position=1234
//! log_begun=1700000000            when that file was begun: another server's file of this name was not
//! gtid_executed=...               all transactions with names that are in the backup
//! server_uuid=...
//! server_id=1
//! time=1700000123.456789          of the backup's end, seconds since 1970
//! ```

use std::fmt;
use std::sync::Arc;

use format::binlog::{EventKind, GtidSet, Uuid, gtid};
use format::ids::Lsn;
use storage::backup::Point;
use storage::io::{Caching, Disk, OpenMode};
use storage::{Error, Result};

use crate::files::{self, FileName, io};
use crate::log::{BinaryLog, Position};
use crate::reader::EventReader;
use crate::recovery;

const INDEX_SUFFIX: &str = ".index";

/// See the module header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackupPoint {
    pub place: Position,
    pub begun: u64,
    pub executed: GtidSet,
    pub server_uuid: Uuid,
    pub server_id: u32,
    /// Microseconds since 1970.
    pub micros: u64,
}

impl fmt::Display for BackupPoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Position { file, position } = &self.place;
        writeln!(f, "log_file={file}\nlog_position={position}\nlog_begun={}", self.begun)?;
        writeln!(f, "gtid_executed={}", self.executed.to_string().replace('\n', ""))?;
        writeln!(f, "server_uuid={}\nserver_id={}", self.server_uuid, self.server_id)?;
        writeln!(f, "time={}.{:06}", self.micros / 1_000_000, self.micros % 1_000_000)
    }
}

impl BackupPoint {
    /// Reads the text; `None` = it is another.
    pub fn parse(text: &str) -> Option<BackupPoint> {
        let value = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
        let (seconds, micros) = value("time")?.split_once('.')?;
        let (seconds, micros): (u64, u64) = (seconds.parse().ok()?, micros.parse().ok()?);
        Some(BackupPoint {
            place: Position {
                file: FileName::parse(value("log_file")?)?,
                position: value("log_position")?.parse().ok()?,
            },
            begun: value("log_begun")?.parse().ok()?,
            executed: value("gtid_executed")?.parse().ok()?,
            server_uuid: value("server_uuid")?.parse().ok()?,
            server_id: value("server_id")?.parse().ok()?,
            micros: seconds.checked_mul(1_000_000)?.checked_add(micros)?,
        })
    }
}

/// The end of a running server's log.
pub struct Running(pub Arc<BinaryLog>);

impl Point for Running {
    fn take(&self, end: &mut dyn FnMut() -> Lsn) -> Result<Vec<u8>> {
        let log = &self.0;
        let (place, executed) = log.position_at(end);
        let disk = log.disk();
        let point = BackupPoint {
            begun: recovery::begun_at(&**disk, &place.file)?,
            place,
            executed,
            server_uuid: log.uuid(),
            server_id: log.server_id(),
            micros: disk.clock().wall().as_micros() as u64,
        };
        Ok(point.to_string().into_bytes())
    }
}

/// The end of the log in the directory of a server that was closed; nothing if it has none, or several.
pub struct Stopped {
    pub disk: Arc<dyn Disk>,
    pub server_uuid: Uuid,
}

impl Point for Stopped {
    fn take(&self, end: &mut dyn FnMut() -> Lsn) -> Result<Vec<u8>> {
        end();
        let disk = &*self.disk;
        let mut bases = Vec::new();
        for entry in disk.list("").map_err(io("list the data directory"))? {
            if let Some(base) = entry.name.strip_suffix(INDEX_SUFFIX)
                && files::is_base_name(base)
                && let Ok(Some(names)) = files::read_index(disk, base)
            {
                bases.extend(names.last().cloned());
            }
        }
        let [file] = &bases[..] else { return Ok(Vec::new()) };
        let (position, executed, server_id) = end_of(disk, file)?;
        let place = Position { file: file.clone(), position };
        let micros = disk.clock().wall().as_micros() as u64;
        let begun = recovery::begun_at(disk, file)?;
        let point = BackupPoint { place, begun, executed, server_uuid: self.server_uuid, server_id, micros };
        Ok(point.to_string().into_bytes())
    }
}

/// Where a file ends, the transactions up to there, and its server.
fn end_of(disk: &dyn Disk, name: &FileName) -> Result<(u64, GtidSet, u32)> {
    let mut reader = EventReader::open(disk, name, u64::MAX)?;
    let (mut executed, mut server_id) = (GtidSet::default(), 0);
    reader.seek(4);
    let damaged = |cause: format::Error| Error::Corrupt { page: None, what: format!("{name}: {cause}").into() };
    while let Some((_, event)) = reader.next_brief()? {
        let Some(event) = event else { continue };
        match event.header.kind {
            EventKind::FORMAT_DESCRIPTION => server_id = event.header.server_id,
            EventKind::PREVIOUS_GTIDS => executed = GtidSet::decode(event.body).map_err(damaged)?,
            _ => {}
        }
        if let Some(gtid) = gtid::gtid_of(&event).map_err(damaged)?.and_then(|event| event.gtid) {
            executed.insert(gtid);
        }
    }
    let file = disk.open(&name.to_string(), OpenMode::Read, Caching::Cached).map_err(io("open a binary log"))?;
    if file.len().map_err(io("read a binary log"))? != reader.position() {
        return Err(Error::Corrupt { page: None, what: format!("{name} ends within an event").into() });
    }
    Ok((reader.position(), executed, server_id))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_comes_back() {
        let point = BackupPoint {
            place: Position { file: FileName { base: "binlog".into(), number: 7 }, position: 1 << 33 },
            begun: 1_700_000_000,
            executed: "3E11FA47-71CA-11E1-9E33-C80AA9429562:1-5:7,4E11FA47-71CA-11E1-9E33-C80AA9429562:1"
                .parse()
                .unwrap(),
            server_uuid: "3E11FA47-71CA-11E1-9E33-C80AA9429562".parse().unwrap(),
            server_id: 9,
            micros: 1_700_000_000_000_007,
        };
        assert_eq!(BackupPoint::parse(&point.to_string()), Some(point.clone()));
        let none = BackupPoint { executed: GtidSet::default(), ..point };
        assert_eq!(BackupPoint::parse(&none.to_string()), Some(none));
        assert_eq!(BackupPoint::parse("log_file=binlog.000001"), None);
    }
}
