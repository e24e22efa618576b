//! The relay log: events of the source, from when they come until they have been applied.
//!
//! ```text
//! relay-bin.000003      magic number
//!                       Format_description      the source's
//!                       Rotate                  made here: file and position at the source of what follows
//!                       events                  as the source sent them, payloads compressed
//! relay-bin.000004      ...                     a new file begins with each Format_description, and when one is full
//! ```
//!
//! Nothing is synced. A start removes all files: what has been applied is known elsewhere, and the rest is fetched again.
//! A file is removed when the applier needs it no longer.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use binlog::{EventReader, FileName};
use format::binlog::{Checksum, Control, Event, EventKind, FormatDescription, Header, MAGIC, event, flags};
use parking_lot::{Condvar, Mutex};
use storage::io::{Caching, Disk, File, OpenMode};
use storage::{Error, Result};

/// What is written at once.
const CHUNK_BYTES: usize = 256 << 10;

/// A place in the relay log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    pub file: FileName,
    pub position: u64,
}

/// See the module header.
pub struct RelayLog {
    disk: Arc<dyn Disk>,
    base: String,
    files: Mutex<Files>,
    /// Something was written, or removed.
    changed: Condvar,
}

struct Written {
    name: FileName,
    /// Bytes that the applier may read.
    bytes: u64,
}

struct Files {
    /// Oldest first; the last one is written.
    files: VecDeque<Written>,
    current: Option<Arc<dyn File>>,
    /// What is not written yet.
    pending: Vec<u8>,
    description: Option<(Header, FormatDescription)>,
    number: u32,
}

impl Files {
    fn checksum(&self) -> Checksum {
        self.description.as_ref().map_or(Checksum::None, |(_, description)| description.checksum)
    }
}

impl RelayLog {
    /// Removes what an earlier run left.
    pub fn open(disk: Arc<dyn Disk>, base: &str) -> Result<RelayLog> {
        for name in binlog::files::named_files(&*disk, base)? {
            disk.remove(&name.to_string()).map_err(Error::io("remove an old relay log"))?;
        }
        let files = Files { files: VecDeque::new(), current: None, pending: Vec::new(), description: None, number: 0 };
        Ok(RelayLog { disk, base: base.to_owned(), files: Mutex::new(files), changed: Condvar::new() })
    }

    /// Removes everything: another source follows, or another place.
    pub fn clear(&self) -> Result<()> {
        let mut files = self.files.lock();
        files.current = None;
        files.pending.clear();
        files.description = None;
        while let Some(file) = files.files.pop_front() {
            self.disk.remove(&file.name.to_string()).map_err(Error::io("remove a relay log"))?;
        }
        self.changed.notify_all();
        Ok(())
    }

    pub fn bytes(&self) -> u64 {
        self.files.lock().files.iter().map(|file| file.bytes).sum()
    }

    /// Begins a file with this description of the source's, whose events come from this place.
    pub fn begin(&self, description: &[u8], source_file: &str, source_position: u64) -> Result<()> {
        let mut files = self.files.lock();
        let (decoded, event) = FormatDescription::decode(description).map_err(|cause| damaged(&cause))?;
        let header = event.header;
        self.write_locked(&mut files)?;
        files.description = Some((header, decoded));
        self.begin_locked(&mut files, source_file, source_position)?;
        // The next file goes on in the middle of the source's.
        if let Some((_, description)) = &mut files.description {
            description.created = 0;
        }
        Ok(())
    }

    fn begin_locked(&self, files: &mut Files, source_file: &str, source_position: u64) -> Result<()> {
        self.write_locked(files)?;
        files.number += 1;
        let name = FileName { base: self.base.as_str().into(), number: files.number };
        let opened = self.disk.open(&name.to_string(), OpenMode::Create, Caching::Cached);
        files.current = Some(opened.map_err(Error::io("create a relay log"))?);
        files.files.push_back(Written { name, bytes: 0 });
        files.pending.extend_from_slice(&MAGIC);
        if let Some((header, description)) = &files.description {
            description.append(*header, &mut files.pending);
        }
        self.note_place(files, source_file, source_position);
        self.write_locked(files)
    }

    fn note_place(&self, files: &mut Files, source_file: &str, source_position: u64) {
        let rotate = Control::Rotate { position: source_position, file: source_file.as_bytes() };
        let header = Header {
            timestamp: 0,
            kind: EventKind::ROTATE,
            server_id: 0,
            bytes: 0,
            end_position: 0,
            flags: flags::ARTIFICIAL | flags::RELAY_LOG,
        };
        let checksum = files.checksum();
        event::append(&mut files.pending, header, checksum, |out| rotate.encode(out));
    }

    /// Whether a description has been written, without which no event can be.
    pub fn is_begun(&self) -> bool {
        self.files.lock().current.is_some()
    }

    /// Appends an event as the source sent it. `more`: others follow at once. A file that is longer than `bytes_max`
    /// is ended behind it; what follows then comes from this place of the source.
    pub fn append(&self, event: &[u8], more: bool, bytes_max: u64, place: (&str, u64)) -> Result<()> {
        let mut files = self.files.lock();
        files.pending.extend_from_slice(event);
        let written = files.files.back().map_or(0, |file| file.bytes);
        if written + files.pending.len() as u64 >= bytes_max {
            return self.begin_locked(&mut files, place.0, place.1);
        }
        if more && files.pending.len() < CHUNK_BYTES {
            return Ok(());
        }
        self.write_locked(&mut files)
    }

    /// What follows comes from another place of the source.
    pub fn rotate_source(&self, file: &str, position: u64) -> Result<()> {
        let mut files = self.files.lock();
        self.note_place(&mut files, file, position);
        self.write_locked(&mut files)
    }

    fn write_locked(&self, files: &mut Files) -> Result<()> {
        let Some(file) = files.current.clone() else { return Ok(()) };
        let Files { files: written, pending, .. } = files;
        let Some(last) = written.back_mut() else { return Ok(()) };
        file.write_at(last.bytes, pending).map_err(Error::io("write a relay log"))?;
        last.bytes += pending.len() as u64;
        pending.clear();
        self.changed.notify_all();
        Ok(())
    }

    /// Waits until the log is shorter than this.
    pub fn wait_for_room(&self, bytes_max: u64, is_over: &dyn Fn() -> bool) {
        let mut files = self.files.lock();
        // The applier frees a file when it has left it, and so needs a second one to leave it for.
        while files.files.len() > 1 && files.files.iter().map(|file| file.bytes).sum::<u64>() > bytes_max && !is_over()
        {
            self.changed.wait_for(&mut files, Duration::from_millis(200));
        }
    }

    /// Removes the files before this one.
    pub fn purge_before(&self, name: &FileName) -> Result<()> {
        let mut files = self.files.lock();
        while files.files.front().is_some_and(|file| file.name < *name) {
            let Some(file) = files.files.pop_front() else { break };
            self.disk.remove(&file.name.to_string()).map_err(Error::io("remove a relay log"))?;
        }
        self.changed.notify_all();
        Ok(())
    }

    /// Wakes who waits.
    pub fn wake(&self) {
        self.changed.notify_all();
    }

    /// The bytes of a file that can be read, and the file behind it.
    fn extent(&self, name: &FileName) -> Option<(u64, Option<FileName>)> {
        let files = self.files.lock();
        let at = files.files.iter().position(|file| file.name == *name)?;
        Some((files.files[at].bytes, files.files.get(at + 1).map(|file| file.name.clone())))
    }

    fn first(&self) -> Option<FileName> {
        self.files.lock().files.front().map(|file| file.name.clone())
    }

    /// Waits for events behind a place, for a while.
    pub fn wait_behind(&self, place: Option<&Place>, at_most: Duration) {
        let mut files = self.files.lock();
        let has_more = match place {
            None => files.files.front().is_some_and(|file| file.bytes > 0),
            Some(place) => files.files.iter().any(|file| {
                file.name == place.file && file.bytes > place.position || file.name > place.file && file.bytes > 0
            }),
        };
        if !has_more {
            self.changed.wait_for(&mut files, at_most);
        }
    }
}

fn damaged(cause: &dyn std::fmt::Display) -> Error {
    Error::Corrupt { page: None, what: format!("an event of the source: {cause}").into() }
}

/// An event of the relay log.
pub struct Received<'r> {
    /// The description of the event's file, if that has just been opened.
    pub description: Option<FormatDescription>,
    pub event: Event<'r>,
    /// Where it begins.
    pub from: Place,
    /// Where the next one does.
    pub behind: Place,
}

/// Reads the relay log behind the receiver.
pub struct RelayReader {
    log: Arc<RelayLog>,
    open: Option<(FileName, EventReader)>,
    /// The next event.
    place: Option<Place>,
}

impl RelayReader {
    /// Reads from a place, or from the first file.
    pub fn new(log: Arc<RelayLog>, place: Option<Place>) -> RelayReader {
        RelayReader { log, open: None, place }
    }

    pub fn place(&self) -> Option<&Place> {
        self.place.as_ref()
    }

    /// Goes on at another place.
    pub fn seek(&mut self, place: Option<Place>) {
        if let (Some((file, reader)), Some(place)) = (&mut self.open, &place)
            && *file == place.file
            && place.position > MAGIC.len() as u64
        {
            reader.seek(place.position);
        } else {
            self.open = None;
        }
        self.place = place;
    }

    /// The next event, if there is one; does not wait.
    pub fn next_event(&mut self) -> Result<Option<Received<'_>>> {
        let mut description = None;
        loop {
            let place = match &self.place {
                Some(place) => place.clone(),
                None => match self.log.first() {
                    Some(file) => Place { file, position: 4 },
                    None => return Ok(None),
                },
            };
            let Some((bytes, next)) = self.log.extent(&place.file) else {
                return Err(damaged(&format!("relay log {} is gone", place.file)));
            };
            if self.open.is_none() {
                if bytes == 0 {
                    return Ok(None);
                }
                let mut reader = EventReader::open(&*self.log.disk, &place.file, bytes)?;
                if place.position > 4 {
                    reader.seek(place.position);
                }
                description = Some(reader.description.clone());
                self.place = Some(Place { position: reader.position(), ..place.clone() });
                self.open = Some((place.file.clone(), reader));
            }
            let Some((_, reader)) = self.open.as_mut() else { return Ok(None) };
            reader.raise_limit(Some(bytes))?;
            if reader.position() >= bytes {
                let Some(next) = next else { return Ok(None) };
                self.seek(Some(Place { file: next, position: 4 }));
                continue;
            }
            break;
        }
        let (Some((_, reader)), Some(place)) = (self.open.as_mut(), self.place.as_mut()) else { return Ok(None) };
        let Some((at, event)) = reader.next_event()? else { return Ok(None) };
        let from = Place { file: place.file.clone(), position: at };
        place.position = at + event.bytes.len() as u64;
        Ok(Some(Received { description, event, from, behind: place.clone() }))
    }
}
