//! A file of statements that is appended to: the slow query log, the general log.
//!
//! It is opened with the first entry, and again when its name has changed or when it was closed, which FLUSH LOGS does
//! after logrotate has renamed it. An entry is one write, so entries of sessions do not mix. A file that cannot be
//! written is reported once, until a write succeeds again; statements do not fail because of it.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use format::value::{DateTime, Zone};
use parking_lot::Mutex;
use tracing::error;

/// A moment as logs have it: `2026-11-21T07:20:00.123456Z`, or in another zone with its distance from UTC,
/// `2026-11-21T08:20:00.123456+01:00`.
pub fn moment(micros: u64, zone: Zone) -> String {
    let micros = i64::try_from(micros).unwrap_or(i64::MAX);
    let local = DateTime::from_unix_micros(micros, zone).unwrap_or(DateTime::ZERO);
    let mut text = Vec::new();
    local.write(6, &mut text);
    let text = String::from_utf8_lossy(&text).replace(' ', "T");
    if zone == Zone::UTC {
        return text + "Z";
    }
    let minutes = (local.to_unix_micros(Zone::UTC) - micros).div_euclid(60_000_000);
    let (sign, minutes) = (if minutes < 0 { '-' } else { '+' }, minutes.abs());
    format!("{text}{sign}{:02}:{:02}", minutes / 60, minutes % 60)
}

#[derive(Debug, Default)]
struct Open {
    file: Option<(PathBuf, File)>,
    /// The database of the last entry.
    database: Option<String>,
    has_failed: bool,
}

/// See the module header.
#[derive(Debug, Default)]
pub struct LogFile(Mutex<Open>);

/// Opens such a file, to be appended to.
pub fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().create(true).append(true).open(path)
}

impl LogFile {
    /// Appends an entry. `header` is written first whenever the file is opened, `entry` is made from whether the
    /// database is another than that of the entry before.
    pub fn append(
        &self,
        path: &Path,
        header: impl FnOnce() -> String,
        database: Option<&str>,
        entry: impl FnOnce(bool) -> Vec<u8>,
    ) {
        let mut open = self.0.lock();
        let open = &mut *open;
        let outcome = (|| {
            if open.file.as_ref().is_none_or(|(opened, _)| opened != path) {
                let mut file = self::open(path)?;
                file.write_all(header().as_bytes())?;
                open.file = Some((path.to_owned(), file));
                open.database = None;
            }
            let Some((_, file)) = &mut open.file else { return Ok(()) };
            let is_other = open.database.as_deref() != database;
            if is_other {
                open.database = database.map(str::to_owned);
            }
            file.write_all(&entry(is_other))
        })();
        match outcome {
            Ok(()) => open.has_failed = false,
            Err(cause) => {
                if !std::mem::replace(&mut open.has_failed, true) {
                    error!("cannot write {}: {cause}; statements are missing from it until it can be", path.display());
                }
                open.file = None;
            }
        }
    }

    /// The next entry opens the file again.
    pub fn close(&self) {
        self.0.lock().file = None;
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn moments_tell_their_zone() {
        let micros = 1_795_243_200_000_001;
        assert_eq!(moment(micros, Zone::UTC), "2026-11-21T06:40:00.000001Z");
        assert_eq!(moment(micros, Zone::Fixed(3600)), "2026-11-21T07:40:00.000001+01:00");
        assert_eq!(moment(micros, Zone::Fixed(-12_600)), "2026-11-21T03:10:00.000001-03:30");
        assert_eq!(moment(0, Zone::UTC), "1970-01-01T00:00:00.000000Z");
    }

    #[test]
    fn a_file_that_was_renamed_is_written_anew_after_it_was_closed() {
        let directory = std::env::temp_dir().join(format!("sql-log-file-{}", std::process::id()));
        fs::create_dir_all(&directory).unwrap();
        let (path, rotated) = (directory.join("slow.log"), directory.join("slow.log.1"));
        let log = LogFile::default();
        let append = |database, text: &str| {
            log.append(
                &path,
                || "header\n".to_owned(),
                Some(database),
                |is_other| format!("{}{text}\n", if is_other { "use " } else { "" }).into_bytes(),
            );
        };
        append("a", "one");
        append("a", "two");
        append("b", "three");
        fs::rename(&path, &rotated).unwrap();
        append("b", "four");
        log.close();
        append("b", "five");
        assert_eq!(fs::read_to_string(&rotated).unwrap(), "header\nuse one\ntwo\nuse three\nfour\n");
        assert_eq!(fs::read_to_string(&path).unwrap(), "header\nuse five\n");
        // A directory that is gone loses entries, not statements.
        fs::remove_dir_all(&directory).unwrap();
        log.close();
        append("b", "six");
        fs::create_dir_all(&directory).unwrap();
        append("b", "seven");
        assert_eq!(fs::read_to_string(&path).unwrap(), "header\nuse seven\n");
        fs::remove_dir_all(&directory).unwrap();
    }
}
