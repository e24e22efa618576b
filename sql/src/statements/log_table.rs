//! A log of statements that is read as a table: `mysql.slow_log`, `mysql.general_log`.
//!
//! ```text
//!   NAME.CSV      one line per entry: fields in quotes, with commas between them, as MySQL's engine CSV has them
//!   NAME.CSV.old  what it was before, once it had grown to FILE_BYTES_MAX
//! ```
//!
//! So at least the newest FILE_BYTES_MAX bytes of entries are there, and what reads them has a limit. An entry is one write;
//! a line that is not whole, because the server died, is not read. A file that cannot be written is reported once, until a
//! write succeeds again; statements do not fail because of it.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use parking_lot::Mutex;
use tracing::error;

use super::log_file;

/// When a file begins anew.
const FILE_BYTES_MAX: u64 = if cfg!(test) { 256 } else { 32 << 20 };

#[derive(Debug, Default)]
struct Open {
    file: Option<File>,
    bytes: u64,
    has_failed: bool,
}

/// See the module header.
#[derive(Debug)]
pub struct LogTable {
    path: PathBuf,
    open: Mutex<Open>,
}

impl LogTable {
    /// The log of this name in a directory.
    pub fn new(directory: &Path, name: &str) -> LogTable {
        LogTable { path: directory.join(format!("{name}.CSV")), open: Mutex::default() }
    }

    fn old(&self) -> PathBuf {
        self.path.with_extension("CSV.old")
    }

    /// Appends an entry.
    pub fn append(&self, fields: &[&[u8]]) {
        let mut line = Vec::new();
        for (at, field) in fields.iter().enumerate() {
            line.extend_from_slice(if at == 0 { b"\"" } else { b",\"" });
            for byte in *field {
                match byte {
                    b'"' => line.extend_from_slice(b"\\\""),
                    b'\\' => line.extend_from_slice(b"\\\\"),
                    b'\n' => line.extend_from_slice(b"\\n"),
                    b'\r' => line.extend_from_slice(b"\\r"),
                    byte => line.push(*byte),
                }
            }
            line.push(b'"');
        }
        line.push(b'\n');
        let mut open = self.open.lock();
        match self.write(&mut open, &line) {
            Ok(()) => open.has_failed = false,
            Err(cause) => {
                if !std::mem::replace(&mut open.has_failed, true) {
                    let path = self.path.display();
                    error!("cannot write {path}: {cause}; statements are missing from it until it can be");
                }
                open.file = None;
            }
        }
    }

    fn write(&self, open: &mut Open, line: &[u8]) -> io::Result<()> {
        if open.file.is_some() && open.bytes >= FILE_BYTES_MAX {
            open.file = None;
            fs::rename(&self.path, self.old())?;
        }
        if open.file.is_none() {
            let file = log_file::open(&self.path)?;
            open.bytes = file.metadata()?.len();
            open.file = Some(file);
        }
        if let Some(file) = &mut open.file {
            file.write_all(line)?;
            open.bytes += line.len() as u64;
        }
        Ok(())
    }

    /// All entries that are there, the oldest first.
    pub fn read(&self) -> Vec<Vec<Vec<u8>>> {
        // Not while the file begins anew.
        let _open = self.open.lock();
        let mut rows = Vec::new();
        for path in [self.old(), self.path.clone()] {
            let text = fs::read(path).unwrap_or_default();
            rows.extend(text.split_inclusive(|byte| *byte == b'\n').filter_map(fields));
        }
        rows
    }

    /// Forgets all entries.
    pub fn clear(&self) {
        let mut open = self.open.lock();
        open.file = None;
        for path in [self.old(), self.path.clone()] {
            if let Err(cause) = fs::remove_file(&path)
                && cause.kind() != io::ErrorKind::NotFound
            {
                error!("cannot remove {}: {cause}", path.display());
            }
        }
    }
}

/// The fields of a whole line.
fn fields(line: &[u8]) -> Option<Vec<Vec<u8>>> {
    let line = line.strip_suffix(b"\n")?;
    let mut fields = Vec::new();
    let mut rest = line.iter();
    while let Some(b'"') = rest.next() {
        let mut field = Vec::new();
        loop {
            match rest.next()? {
                b'"' => break,
                b'\\' => field.push(match rest.next()? {
                    b'n' => b'\n',
                    b'r' => b'\r',
                    byte => *byte,
                }),
                byte => field.push(*byte),
            }
        }
        fields.push(field);
        match rest.next() {
            None => return Some(fields),
            Some(b',') => {}
            Some(_) => return None,
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_come_back_and_the_newest_stay() {
        let directory = std::env::temp_dir().join(format!("sql-log-table-{}", std::process::id()));
        fs::create_dir_all(&directory).unwrap();
        let log = LogTable::new(&directory, "slow_log");
        let odd: &[&[u8]] = &[b"", b"a \"quoted\" \\ text,\r\nin two lines", b"\xff"];
        log.append(odd);
        assert_eq!(log.read(), [odd.iter().map(|field| field.to_vec()).collect::<Vec<_>>()]);
        for number in 0..100 {
            log.append(&[format!("{number:020}").as_bytes()]);
        }
        let numbers = log.read();
        assert!(numbers.len() > 10 && numbers.len() < 40, "{}", numbers.len());
        assert_eq!(numbers.last().unwrap()[0], format!("{:020}", 99).into_bytes());
        // What a crash left of a line is no entry.
        fs::write(&log.path, b"\"whole\"\n\"broken").unwrap();
        assert_eq!(log.read().last().unwrap(), &[b"whole".to_vec()]);
        log.clear();
        assert!(log.read().is_empty());
        log.append(&[b"again"]);
        assert_eq!(log.read().len(), 1);
        fs::remove_dir_all(&directory).unwrap();
    }

    #[test]
    fn damaged_lines_are_passed_over() {
        for line in [&b"\"a\""[..], b"a\n", b"\"a\"b\n", b"\"a\\\n", b"\n", b"\"a\",\n"] {
            assert_eq!(fields(line), None, "{line:?}");
        }
    }
}
