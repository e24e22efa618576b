//! Taking a backup, step by step.
//!
//! A step copies a bounded run of pages, or a piece of the log, into the sink; the caller loops, and between steps
//! checks for an interrupt and shows the progress. A simulator lets rows change between two steps.
//!
//! ```text
//! head, directories -> tablespaces, page by page -> named files -> point -> log -> end
//! ```
//!
//! Pages are read through the files, not through the pool: so a backup displaces no query's pages, and the files plus
//! the log amount to the same state.

use std::sync::Arc;
use std::time::Duration;

use format::ids::{Lsn, PageId, PageNo, SpaceId};
use rustc_hash::{FxHashMap, FxHashSet};

use super::page::{Slot, Verifier};
use super::{FileHead, FileKind, Head, Item, LogHead, POINT_FILE_NAME, Point, Sink, Totals};
use crate::buffer::PendingRedo;
use crate::config::{Config, FlushMethod};
use crate::error::{Error, Result};
use crate::io::{AlignedBuffer, Caching, Disk, File, OpenMode};
use crate::lock::BackupHold;
use crate::recovery;
use crate::redo::file::BLOCK_BYTES;
use crate::redo::{Checkpoint, LogFile};
use crate::store::{self, Store};
use crate::tablespace::page_io::Batch;
use crate::tablespace::{data_caching, doublewrite};

/// Pages read at once.
const RUN_PAGES: usize = if cfg!(test) { 3 } else { 64 };
/// Bytes of a plain file, or of the log, per step.
const PIECE_BYTES: usize = 256 << 10;

/// A page that does not verify may be in the middle of a write: it is read again this often ...
const READ_AGAIN_MAX: u32 = 1000;
/// ... at this interval.
const READ_AGAIN_AFTER: Duration = Duration::from_millis(5);

/// Where the log comes from.
enum Log {
    Running {
        store: Arc<Store>,
        /// No DDL until the end.
        _hold: BackupHold,
    },
    Stopped {
        file: LogFile,
        clean: bool,
        end: Lsn,
        /// Pages that may be torn in their places.
        copies: FxHashMap<PageId, doublewrite::Copy>,
        /// No server starts until the end.
        _claim: Box<dyn Send + Sync>,
    },
}

/// The next item to copy.
enum Stage {
    Begin,
    Files,
    Log { head: LogHead, next: Lsn },
    Ended,
}

/// See the module header.
pub struct Backup {
    disk: Arc<dyn Disk>,
    config: Config,
    checkpoint: Checkpoint,
    log: Log,
    stage: Stage,
    /// Files still to be copied, the next one last.
    waiting: Vec<Waiting>,
    current: Option<Current>,
    buffer: AlignedBuffer,
    /// A page that is decrypted to be verified.
    frame: AlignedBuffer,
    verifier: Verifier,
    totals: Totals,
    /// Bytes that the files occupied when the backup began.
    expected_bytes: u64,
    point: Option<Box<dyn Point>>,
}

struct Waiting {
    path: String,
    pages: bool,
}

/// The file that is being copied.
struct Current {
    path: String,
    file: Arc<dyn File>,
    bytes: u64,
    /// Where the next piece begins.
    offset: u64,
    /// Of a tablespace.
    space: Option<SpaceId>,
}

impl Backup {
    /// A backup of a running instance, while `hold` keeps DDL away. `named` are files in the data directory that belong
    /// to it and that the engine does not know.
    pub fn of_running(store: Arc<Store>, hold: BackupHold, named: &[&str]) -> Result<Backup> {
        let disk = store.disk().clone();
        let config = store.config();
        // A page that the log makes anew after a crash may hold anything on disk until then.
        store.apply_all_pending()?;
        let checkpoint = store.redo().begin_archive(store.scratch_disk().clone())?;
        // From here on the archive is ended by `Drop`.
        let mut backup = Backup::new(disk, config, checkpoint, Log::Running { store: store.clone(), _hold: hold });
        let mut known = FxHashSet::default();
        for space in store.spaces().into_iter().filter(|space| !space.id().is_temporary()) {
            known.insert(space.id());
            backup.waiting.push(Waiting { path: space.path(), pages: true });
        }
        // Files that could not be opened, such as those whose key is missing, belong to the instance all the same.
        for path in recovery::apply::tablespace_paths(&*backup.disk)? {
            if let Some(space) = store::probe(&*backup.disk, &path)?
                && known.insert(space)
            {
                backup.waiting.push(Waiting { path, pages: true });
            }
        }
        backup.add_named(named)?;
        Ok(backup)
    }

    /// A backup of a directory that no server uses, and none will until the backup has ended. If it was not closed, the
    /// log that recovery needs is part of the backup.
    pub fn of_stopped(disk: Arc<dyn Disk>, named: &[&str]) -> Result<Backup> {
        let claim = store::claim(&*disk)?;
        let page_bytes = LogFile::page_bytes(&*disk)?;
        let config = Config { page_bytes, flush_method: FlushMethod::Fsync, ..Config::default() };
        recovery::refuse_incomplete(&*disk)?;
        let (file, checkpoint) = LogFile::open(&*disk, &config)?;
        recovery::mismatch::refuse_older_files(&*disk, &checkpoint, page_bytes)?;
        let found = recovery::scan::scan(&file, &checkpoint, PendingRedo::default(), 0, false)?;
        let clean = checkpoint.clean && found.groups == 0;
        let mut copies = FxHashMap::default();
        if !clean {
            copies = doublewrite::read_copies(&*disk, &config)?;
            copies.retain(|_, copy| copy.complete_to >= checkpoint.lsn);
        }
        let paths = recovery::apply::tablespace_paths(&*disk)?;
        let log = Log::Stopped { file, clean, end: found.end, copies, _claim: claim };
        let mut backup = Backup::new(disk, config, checkpoint, log);
        backup.waiting.extend(paths.into_iter().map(|path| Waiting { path, pages: true }));
        backup.add_named(named)?;
        Ok(backup)
    }

    fn new(disk: Arc<dyn Disk>, config: Config, checkpoint: Checkpoint, log: Log) -> Backup {
        let buffer = AlignedBuffer::new(RUN_PAGES * config.page_bytes);
        let frame = AlignedBuffer::new(config.page_bytes);
        Backup {
            disk,
            config,
            checkpoint,
            log,
            stage: Stage::Begin,
            waiting: Vec::new(),
            current: None,
            buffer,
            frame,
            verifier: Verifier::default(),
            totals: Totals::default(),
            expected_bytes: 0,
            point: None,
        }
    }

    /// The backup shall tell this of its end. A stopped instance tells it only if it was closed: otherwise its files do not
    /// say yet where it ended.
    pub fn with_point(mut self, point: Box<dyn Point>) -> Backup {
        self.point = Some(point);
        self
    }

    fn add_named(&mut self, named: &[&str]) -> Result<()> {
        for name in named {
            if self.disk.exists(name).map_err(Error::io("look for a file"))? {
                self.waiting.push(Waiting { path: (*name).to_string(), pages: false });
            }
        }
        // The expected total, to show progress.
        for waiting in &self.waiting {
            let file = self.open(waiting);
            // A tablespace may be dropped meanwhile; the step that copies it will notice.
            if let Ok(Some(file)) = file {
                self.expected_bytes += file.allocated_bytes().map_err(Error::io("ask for a file's blocks"))?;
            }
        }
        self.waiting.reverse();
        Ok(())
    }

    /// Bytes copied, and roughly the total.
    pub fn progress(&self) -> (u64, u64) {
        let done = self.totals.stored_bytes + self.totals.log_bytes;
        (done, self.expected_bytes.max(done))
    }

    /// Runs to the end.
    pub fn run(mut self, sink: &mut dyn Sink) -> Result<Totals> {
        loop {
            if let Some(totals) = self.step(sink)? {
                return Ok(totals);
            }
        }
    }

    /// Copies the next piece. Returns the totals, if it was the last one.
    pub fn step(&mut self, sink: &mut dyn Sink) -> Result<Option<Totals>> {
        match std::mem::replace(&mut self.stage, Stage::Ended) {
            Stage::Begin => {
                self.begin(sink)?;
                self.stage = Stage::Files;
            }
            Stage::Files => {
                if let Some(current) = self.current.take() {
                    self.current = self.copy_piece(current, sink)?;
                    self.stage = Stage::Files;
                } else if let Some(waiting) = self.waiting.pop() {
                    self.current = self.begin_file(&waiting, sink)?;
                    self.stage = Stage::Files;
                } else {
                    let (head, point) = self.log_head()?;
                    if let Some(point) = point {
                        self.add_point(&point, sink)?;
                    }
                    sink.take(Item::Log(&head))?;
                    self.totals.end_lsn = head.end;
                    self.stage = Stage::Log { head, next: Lsn(head.begin.0 - head.begin.0 % BLOCK_BYTES as u64) };
                }
            }
            Stage::Log { head, next } if head.begin < head.end && next < head.end => {
                let next = self.copy_log(head, next, sink)?;
                self.stage = Stage::Log { head, next };
            }
            Stage::Log { .. } => {
                sink.take(Item::End(&self.totals))?;
                return Ok(Some(self.totals));
            }
            Stage::Ended => return Err(Error::Unsupported("a step of a backup that has failed or ended".into())),
        }
        Ok(None)
    }

    fn begin(&mut self, sink: &mut dyn Sink) -> Result<()> {
        sink.take(Item::Head(&Head {
            page_bytes: self.config.page_bytes as u32,
            created_us: self.disk.clock().wall().as_micros() as u64,
            running: matches!(self.log, Log::Running { .. }),
        }))?;
        for entry in self.disk.list("").map_err(Error::io("list the data directory"))? {
            // The root directory of a filesystem may contain `lost+found`.
            if entry.is_directory && entry.name != "lost+found" {
                sink.take(Item::Directory(&entry.name))?;
            }
        }
        Ok(())
    }

    /// Opens a file; `None` if it is missing and may be.
    fn open(&self, waiting: &Waiting) -> Result<Option<Arc<dyn File>>> {
        let caching = if waiting.pages { data_caching(&self.config) } else { Caching::Cached };
        match self.disk.open(&waiting.path, OpenMode::Read, caching) {
            Ok(file) => Ok(Some(file)),
            // A tablespace that was dropped meanwhile; its deletion is in the log.
            Err(cause) if cause.kind() == std::io::ErrorKind::NotFound && matches!(self.log, Log::Running { .. }) => {
                Ok(None)
            }
            Err(cause) => Err(Error::from_io("open a file to back up", cause)),
        }
    }

    fn begin_file(&mut self, waiting: &Waiting, sink: &mut dyn Sink) -> Result<Option<Current>> {
        let Some(file) = self.open(waiting)? else { return Ok(None) };
        let path = &waiting.path;
        let bytes = file.len().map_err(Error::io("ask for a file's length"))?;
        let allocated_bytes = file.allocated_bytes().map_err(Error::io("ask for a file's blocks"))?;
        let space = if waiting.pages { store::probe(&*self.disk, path)? } else { None };
        let kind = match space {
            Some(space) => {
                let facts = file.facts().map_err(Error::io("ask for a file's block size"))?;
                FileKind::Pages { space, block_bytes: facts.block_bytes as u32 }
            }
            // The server died between creating the file and writing its first page: recovery knows it by its name.
            None if !waiting.pages || !self.is_whole() => FileKind::Plain,
            None => return Err(Error::corrupt(format!("{path}: its first page is not that of a tablespace"))),
        };
        self.totals.files += 1;
        self.totals.logical_bytes += bytes;
        self.totals.allocated_bytes += allocated_bytes;
        sink.take(Item::File(&FileHead { path: path.clone(), bytes, allocated_bytes, kind }))?;
        Ok(Some(Current { path: path.clone(), file, bytes, offset: 0, space }))
    }

    /// Whether the previous server has written the first page of every file.
    fn is_whole(&self) -> bool {
        !matches!(self.log, Log::Stopped { clean: false, .. })
    }

    /// Copies the next pages or bytes. Returns the file, if there is more of it.
    fn copy_piece(&mut self, mut current: Current, sink: &mut dyn Sink) -> Result<Option<Current>> {
        let piece = if current.space.is_some() { self.buffer.len() } else { PIECE_BYTES.min(self.buffer.len()) };
        if current.offset >= current.bytes {
            return Ok(None);
        }
        let mut buffer = std::mem::replace(&mut self.buffer, AlignedBuffer::new(0));
        let read = current.file.read_at(current.offset, &mut buffer[..piece]);
        let copied = read.map_err(Error::io("read a file to back up")).and_then(|bytes| match current.space {
            Some(space) => self.copy_pages(&current, space, &mut buffer, sink),
            None => {
                self.totals.stored_bytes += bytes as u64;
                sink.take(Item::Bytes { offset: current.offset, bytes: &buffer[..bytes] })
            }
        });
        self.buffer = buffer;
        copied?;
        current.offset += piece as u64;
        Ok(Some(current))
    }

    fn copy_pages(&mut self, current: &Current, space: SpaceId, buffer: &mut [u8], sink: &mut dyn Sink) -> Result<()> {
        let page_bytes = self.config.page_bytes;
        let pages = current.bytes.div_ceil(page_bytes as u64);
        let first = current.offset / page_bytes as u64;
        for (index, slot) in buffer.chunks_exact_mut(page_bytes).enumerate() {
            let number = first + index as u64;
            if number >= pages {
                break;
            }
            let page =
                PageNo(u32::try_from(number).map_err(|_| Error::corrupt("more pages than a tablespace can have"))?);
            let id = PageId::new(space, page);
            let found = self.look(id, slot);
            match found.or_else(|error| self.look_again(current, id, slot, error))? {
                Slot::Hole => {}
                Slot::Page { bytes, encrypted } => {
                    sink.take(Item::Page { page, stored: &slot[..bytes] })?;
                    self.totals.pages += 1;
                    self.totals.stored_bytes += bytes as u64;
                    self.totals.pages_encrypted += u64::from(encrypted);
                }
            }
        }
        Ok(())
    }

    /// Verifies a page as far as its key is available: that of a running server.
    fn look(&mut self, id: PageId, slot: &[u8]) -> Result<Slot> {
        let found = self.verifier.look(id, slot, self.config.page_bytes)?;
        if matches!(found, Slot::Page { encrypted: true, .. }) {
            match &self.log {
                Log::Running { store, .. } => {
                    if let Some(space) = store.space(id.space) {
                        let frame = &mut self.frame[..slot.len()];
                        frame.copy_from_slice(slot);
                        space.decode(id.page, frame)?;
                    }
                }
                // It cannot be verified without its key; the doublewrite copy is whole, and as new.
                Log::Stopped { copies, .. } if copies.get(&id).is_some_and(|copy| copy.stored.is_some()) => {
                    return Err(Error::corrupt_page(id, "it may be torn"));
                }
                Log::Stopped { .. } => {}
            }
        }
        Ok(found)
    }

    /// Handles a page that does not verify: it is being written, or a crash tore it and there is a copy, or it is
    /// damaged.
    fn look_again(&mut self, current: &Current, id: PageId, slot: &mut [u8], error: Error) -> Result<Slot> {
        let at = u64::from(id.page.0) * self.config.page_bytes as u64;
        let in_file = |error: Error| match error {
            Error::Corrupt { page, what } => {
                Error::Corrupt { page, what: format!("{what} ({} at byte {at})", current.path).into() }
            }
            other => other,
        };
        match &self.log {
            Log::Stopped { copies, .. } => {
                // A doublewrite file that only detects has no copy.
                let copy = copies.get(&id).and_then(|copy| copy.stored.as_ref());
                let Some(stored) = copy else { return Err(in_file(error)) };
                slot[..stored.len()].copy_from_slice(stored);
                slot[stored.len()..].fill(0);
                self.totals.pages_read_again += 1;
                self.verifier.look(id, slot, self.config.page_bytes).map_err(in_file)
            }
            Log::Running { store, .. } => {
                let store = store.clone();
                let mut error = error;
                let mut frame = AlignedBuffer::new(slot.len());
                let offset = u64::from(id.page.0) * slot.len() as u64;
                // Without threads no cleaner is writing it.
                let times = if self.config.background_threads { READ_AGAIN_MAX } else { 0 };
                for _ in 0..times {
                    std::thread::sleep(READ_AGAIN_AFTER);
                    current.file.read_at(offset, &mut frame).map_err(Error::io("read a file to back up"))?;
                    self.totals.pages_read_again += 1;
                    match self.look(id, &frame) {
                        Ok(found) => {
                            slot.copy_from_slice(&frame);
                            return Ok(found);
                        }
                        Err(another) => error = another,
                    }
                }
                // A full disk may have interrupted the page's write: then the pool has the whole page.
                match stored_by_pool(&store, id, slot) {
                    Ok(()) => self.verifier.look(id, slot, self.config.page_bytes).map_err(in_file),
                    Err(_) => Err(in_file(error)),
                }
            }
        }
    }

    /// All pages have been read: the state of the backup is the current end of the log.
    fn log_head(&self) -> Result<(LogHead, Option<Vec<u8>>)> {
        let Checkpoint { lsn: begin, epoch, .. } = self.checkpoint;
        Ok(match &self.log {
            Log::Running { store, .. } => {
                let mut end = store.current_lsn();
                let point = match &self.point {
                    Some(point) => Some(point.take(&mut || {
                        end = store.current_lsn();
                        end
                    })?),
                    None => None,
                };
                store.flush_log(end)?;
                (LogHead { begin, end, epoch, clean: false, capacity: store.redo().capacity() }, point)
            }
            Log::Stopped { file, clean, end, .. } => {
                let point = match &self.point {
                    Some(point) if *clean => Some(point.take(&mut || *end)?),
                    _ => None,
                };
                (LogHead { begin, end: *end, epoch, clean: *clean, capacity: file.capacity() }, point)
            }
        })
    }

    fn add_point(&mut self, point: &[u8], sink: &mut dyn Sink) -> Result<()> {
        if point.is_empty() {
            return Ok(());
        }
        let bytes = point.len() as u64;
        let (path, kind) = (POINT_FILE_NAME.to_owned(), FileKind::Plain);
        sink.take(Item::File(&FileHead { path, bytes, allocated_bytes: bytes, kind }))?;
        sink.take(Item::Bytes { offset: 0, bytes: point })?;
        self.totals.files += 1;
        self.totals.logical_bytes += bytes;
        self.totals.allocated_bytes += bytes;
        self.totals.stored_bytes += bytes;
        Ok(())
    }

    /// Copies log from `next` on. Returns where to continue.
    fn copy_log(&mut self, head: LogHead, next: Lsn, sink: &mut dyn Sink) -> Result<Lsn> {
        let left = (head.end.since(next) as usize).next_multiple_of(BLOCK_BYTES);
        let wanted = left.min(PIECE_BYTES).min(self.buffer.len());
        let blocks = &mut self.buffer[..wanted];
        let bytes = match &self.log {
            Log::Running { store, .. } => store.redo().read_archived(next, blocks)?,
            Log::Stopped { file, .. } => {
                file.read(next, blocks)?;
                blocks.len()
            }
        };
        let blocks = &mut blocks[..bytes];
        // Log behind the end is not part of the backup.
        let own = (head.end.since(next) as usize).min(bytes);
        blocks[own..].fill(0);
        sink.take(Item::Redo { lsn: next, blocks })?;
        self.totals.log_bytes += own as u64;
        Ok(next + bytes as u64)
    }
}

impl Drop for Backup {
    fn drop(&mut self) {
        if let Log::Running { store, .. } = &self.log {
            store.redo().end_archive();
        }
    }
}

/// The stored form of a page as a cleaner would write it now, zeros behind it. The log that belongs to it is in the backup
/// as well, because the backup's end comes later.
fn stored_by_pool(store: &Store, id: PageId, slot: &mut [u8]) -> Result<()> {
    let space = store.space(id.space).ok_or_else(|| Error::NotFound(format!("tablespace {}", id.space).into()))?;
    let mut plain = AlignedBuffer::new(slot.len());
    plain.copy_from_slice(&store.read(id)?);
    let mut batch = Batch::new(slot.len());
    batch.add(space, &mut plain, Lsn::ZERO);
    let stored = batch.stored(&batch.pages()[0]);
    slot[..stored.len()].copy_from_slice(stored);
    slot[stored.len()..].fill(0);
    Ok(())
}
