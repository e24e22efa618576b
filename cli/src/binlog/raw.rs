//! `--raw`: files of a server's log, byte by byte.
//!
//! A file is complete with its Rotate or Stop event, and is synced then. If it is there already, it is replaced as soon as
//! the server has begun to send it.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use ::binlog::FileName;
use format::binlog::{EventKind, MAGIC};

use super::remote::{Next, Options, Remote};

/// Writes the files of these names, and those behind them if that is wanted. Their paths begin with `prefix`.
pub fn save(options: &Options, names: &[String], prefix: Option<&Path>) -> io::Result<()> {
    for (number, name) in names.iter().enumerate() {
        let mut remote = Remote::new(options, name, 0, number + 1 == names.len());
        let mut copy: Option<Copy> = None;
        loop {
            match remote.next()? {
                Next::File(name) => {
                    finish(copy.take())?;
                    copy = Some(Copy { path: path_of(name, prefix)?, file: None, bytes: 0 });
                }
                Next::Event { located, more } => {
                    let copy = copy.as_mut().expect("a file begins with its name");
                    copy.append(located.at, located.event.header.kind, located.event.bytes)?;
                    if let (false, Some(file)) = (more, &mut copy.file) {
                        file.flush()?;
                    }
                }
                Next::End => break,
            }
        }
        finish(copy)?;
    }
    Ok(())
}

/// A name from a server is not a path into other directories.
fn path_of(name: &str, prefix: Option<&Path>) -> io::Result<PathBuf> {
    if FileName::parse(name).is_none() || name.starts_with('.') {
        let why = "the server sends plain events for compressed transactions (binlog_dump_payloads), which are no file \
                   of its log";
        return Err(io::Error::other(format!("{name}: {why}")));
    }
    let mut path = prefix.map(|prefix| prefix.as_os_str().to_owned()).unwrap_or_default();
    path.push(name);
    Ok(path.into())
}

struct Copy {
    path: PathBuf,
    /// From the first event on.
    file: Option<BufWriter<File>>,
    bytes: u64,
}

impl Copy {
    fn append(&mut self, at: u64, kind: EventKind, event: &[u8]) -> io::Result<()> {
        let named = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", self.path.display()));
        let file = match &mut self.file {
            Some(file) => file,
            None if kind == EventKind::FORMAT_DESCRIPTION => {
                let file = self.file.insert(BufWriter::new(File::create(&self.path).map_err(named)?));
                file.write_all(&MAGIC).map_err(named)?;
                self.bytes = MAGIC.len() as u64;
                file
            }
            None => return Err(named(io::Error::other("the server does not begin with the file's description"))),
        };
        if at != self.bytes {
            let gap = format!("the server has sent {} bytes, and goes on at {at}", self.bytes);
            return Err(named(io::Error::other(gap)));
        }
        self.bytes += event.len() as u64;
        file.write_all(event).map_err(named)
    }
}

/// The file is complete, or is not continued.
fn finish(copy: Option<Copy>) -> io::Result<()> {
    let Some(Copy { path, file: Some(file), .. }) = copy else { return Ok(()) };
    let synced = file.into_inner().map_err(io::IntoInnerError::into_error).and_then(|file| file.sync_all());
    synced.map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", path.display())))
}
