//! Opening an instance, and recovering its pages when it was not closed.
//!
//! ```text
//!   claim the directory, open the log
//!     | clean                      | not clean
//!     |                            |  scan: end of the log, fate of files
//!     |                            |  files: delete, create, rename as the log says
//!     |                            |  torn pages: put back from the doublewrite files; sync what the log touches
//!     |                            |  redo: by page, in memory; each page gets its own when it is read
//!     +-------------> a new epoch begins at the end of the log <
//!                                  |
//!   it serves; meanwhile           |  the background reads the remaining pages, and all are written (`step`)
//! ```
//!
//! So the instance serves once the log has been read; that takes as long as its bytes, not as its pages. A log that is
//! too long for memory is applied in parts first, except for the last part.
//!
//! The states of a page, and what recovery does:
//!
//! ```text
//!  on disk                 in the log                 becomes
//!  whole, newer or equal   anything                   unchanged: its LSN says it has the change
//!  whole, behind the log   anything                   damaged: the log has lost its end (`tablespace::future`)
//!  whole, older            changes                    the changes are applied
//!  anything                first an initialisation    made anew; what is on disk is not even read
//!  torn, copy exists       changes                    the copy, then the changes
//!  torn, no copy           changes, no initialisation damaged: put aside
//!  zero                    changes, no initialisation damaged, unless it is free in the end: it was punched
//!  zero                    changes, initialisation    made anew: it was punched, and used again later
//!  in a file that is gone, damaged in page 0, or without its key
//!                          anything                   put aside, all of it
//! ```
//!
//! Invariants:
//!
//! * The checkpoint stays until all pages have their redo and are written; so after an interrupted recovery the next
//!   one finds the same log, with later records behind it, and page LSNs prevent applying a record twice.
//! * A damaged page of a table does not hold the checkpoint: its redo is kept in a file of its own (`store::aside`),
//!   the table is refused, all else goes on. The pages of the system and the undo tablespace that need redo are read
//!   before the instance serves: if one is damaged, it does not open.
//! * The log is synced before the first page is written: what was read from it may have been in the page cache only.

use std::ops::RangeInclusive;
use std::sync::Arc;

use format::bytes::get_u32;
use format::ids::{Lsn, PageId, SpaceId};
use format::page::header;
use format::page::space as layout;
use format::redo::Record;
use format::transform::Envelope;
use rustc_hash::{FxHashMap, FxHashSet};

use super::mismatch;
use super::scan::{Scan, for_each_record, scan};
use crate::buffer::PendingRedo;
use crate::config::Config;
use crate::dictionary::waits_for_import;
use crate::error::{Error, Result};
use crate::gate::{Gate, Health};
use crate::io::counted::CountedDisk;
use crate::io::{AlignedBuffer, Disk};
use crate::redo::{Checkpoint, LogFile, Reader, Redo};
use crate::segment;
use crate::store::{self, Disks, Store, aside};
use crate::sync;
use crate::tablespace::{Algorithm, Growth, Tablespaces, Transform, doublewrite};
use crate::trash;

/// What the page part of recovery found and did.
#[derive(Clone, Debug, Default)]
pub struct PageRecovery {
    /// The instance was closed; there was nothing to do.
    pub was_clean: bool,
    pub checkpoint_lsn: Lsn,
    pub end_lsn: Lsn,
    /// Page records in the log, and the pages that they change.
    pub records: u64,
    pub pages: u64,
    pub torn_pages_restored: u64,
    /// Torn pages of which there is no copy (`innodb_doublewrite=DETECT_ONLY`).
    pub torn_pages_detected: u64,
    /// Tablespaces whose deletion is in the log; their files are gone.
    pub dropped_spaces: Vec<SpaceId>,
    /// Tablespaces that the log changes, and whose file is missing or cannot be opened.
    pub missing_spaces: Vec<SpaceId>,
    /// All tablespaces found in the data directory, with their path. Filled only after a crash.
    pub spaces: Vec<(SpaceId, String)>,
    /// The group of the first annex in the log since the checkpoint; the checkpoint is held before it.
    pub first_annex: Option<Lsn>,
}

/// The most bytes of log that are kept in memory until their pages are read.
fn kept_bytes_max(config: &Config) -> usize {
    if cfg!(test) { 16 << 10 } else { config.pool_bytes.clamp(64 << 20, 1 << 30) as usize }
}

/// Threads that apply the parts of the log that are not kept, if the configuration allows threads.
const WORKERS: usize = 4;

/// Pages that a thread applies at once.
const STEP_PAGES: usize = 32;

/// Opens the instance in `disk`: locks the directory, restores torn pages, reads the redo log. When it returns, every page
/// that is read from the pool is as it was at the end of the log. No threads are started yet (`Store::start_threads`);
/// [`step`] applies the rest.
pub fn open(disk: Arc<dyn Disk>, config: Config) -> Result<(Arc<Store>, PageRecovery)> {
    let claim = store::claim(&*disk)?;
    let health = Arc::new(Health::default());
    let counted = CountedDisk::new(disk);
    let file_counts = counted.counts().clone();
    let scratch: Arc<dyn Disk> = Arc::new(counted);
    let disk: Arc<dyn Disk> = Arc::new(Gate::new(scratch.clone(), health.clone()));
    super::refuse_incomplete(&*disk)?;
    let (log, checkpoint) = LogFile::open(&*disk, &config)?;
    mismatch::refuse_older_files(&*disk, &checkpoint, config.page_bytes)?;
    let set_aside = aside::read(&*disk)?;
    let first = || {
        let mut first = PendingRedo::default();
        set_aside.iter().for_each(|aside| first.add_aside(aside));
        first
    };
    let mut found = scan(&log, &checkpoint, first(), kept_bytes_max(&config), config.background_threads)?;
    let mut ends = set_aside.iter().flat_map(|aside| &aside.groups).map(|(_, end, _)| *end);
    if ends.any(|end| end > found.end) {
        // Otherwise pages would get LSNs that are not in the log.
        return Err(Error::corrupt(format!("{} has redo of pages behind the end of the log", aside::FILE_NAME)));
    }
    let spaces = Arc::new(Tablespaces::new(disk.clone(), &config, found.end));
    let mut report = PageRecovery {
        was_clean: checkpoint.clean && found.groups == 0,
        checkpoint_lsn: checkpoint.lsn,
        end_lsn: found.end,
        ..PageRecovery::default()
    };
    // Also after a close that was killed between renaming the log and syncing the directory: otherwise a power loss
    // could bring the old log back later, without the records about to be written to the new one.
    sync_names(&*disk)?;
    let mut closed = Closed::default();
    if !report.was_clean {
        log.sync()?;
        closed = restore_files(&*disk, &spaces, &config, &found, &mut report)?;
        let written = restore_torn_pages(&*disk, &spaces, &config, checkpoint.lsn..=found.end, &mut report)?;
        sync_written(&spaces, &found, &written)?;
    }

    // A log of another size can only begin when the old one is not needed.
    let newest_epoch = found.epoch.max(checkpoint.newest_epoch) + 1;
    let next = match report.was_clean {
        true => Checkpoint { lsn: found.end, epoch: newest_epoch, newest_epoch, clean: false, ..checkpoint.clone() },
        false => Checkpoint { newest_epoch, clean: false, ..checkpoint.clone() },
    };
    let log = if report.was_clean && log.wants_resize(&config) {
        drop(log);
        LogFile::resize(&*disk, &config, next.clone())?;
        LogFile::open(&*disk, &config)?.0
    } else {
        log
    };
    let redo = Redo::new(log, next, found.end, config.log_buffer_bytes, health.clone())?;
    if let Some(first) = found.first_annex {
        redo.hold.set(first);
    }
    let threads = config.background_threads;
    let store = Store::assemble(Disks { gated: disk, scratch, file_counts }, claim, config, redo, spaces, health)?;
    store.put_set_aside(set_aside.clone());
    if !report.was_clean {
        let redo = match found.redo.take() {
            Some(redo) => redo,
            None => apply_log(&store, &checkpoint, first(), &found, &closed, threads)?,
        };
        put_closed_aside(&store, &redo, &closed)?;
        report.records = redo.record_count() as u64;
        report.pages = redo.page_count() as u64;
        store.pool().set_pending(Arc::new(redo), checkpoint.lsn)?;
        restore_sizes(&store, &found)?;
        // Pages that were freed and not punched are among these.
        for space in store.spaces().iter().filter(|space| found.touched.contains(&space.id())) {
            store.freed().survey(space.id(), space.pages(), found.end);
        }
        read_vital(&store)?;
    } else if let Some(redo) = found.redo.take().filter(|_| !set_aside.is_empty()) {
        store.pool().set_pending(Arc::new(redo), found.end)?;
    }
    store.redo().begin_epoch()?;
    report.first_annex = found.first_annex;
    report.dropped_spaces = found.deleted.into_iter().collect();
    report.dropped_spaces.sort();
    Ok((Arc::new(store), report))
}

/// Whether a file may be a tablespace, by its name.
fn is_tablespace_name(name: &str) -> bool {
    name.ends_with(".ibd") || name.starts_with("ibdata") || name.starts_with("undo_")
}

/// Paths of all files that may be tablespaces of this instance.
pub fn tablespace_paths(disk: &dyn Disk) -> Result<Vec<String>> {
    let mut paths = Vec::new();
    for entry in disk.list("").map_err(Error::io("list the data directory"))? {
        if !entry.is_directory {
            if is_tablespace_name(&entry.name) {
                paths.push(entry.name);
            }
            continue;
        }
        let files = disk.list(&entry.name).map_err(Error::io("list a database directory"))?;
        let is_there = |name: &str| files.binary_search_by(|file| (*file.name).cmp(name)).is_ok();
        for file in &files {
            let is_ours = is_tablespace_name(&file.name) && !waits_for_import(&file.name, is_there);
            if !file.is_directory && is_ours {
                paths.push(format!("{}/{}", entry.name, file.name));
            }
        }
    }
    Ok(paths)
}

/// Makes the visible names durable: a killed server may have left some in memory only, and recovery does not repeat an
/// operation whose result is visible.
fn sync_names(disk: &dyn Disk) -> Result<()> {
    disk.sync_directory("").map_err(Error::io("sync a directory"))?;
    for entry in disk.list("").map_err(Error::io("list the data directory"))? {
        if entry.is_directory {
            disk.sync_directory(&entry.name).map_err(Error::io("sync a directory"))?;
        }
    }
    Ok(())
}

/// Tablespaces that the log changes and that cannot be opened, with the reason.
type Closed = FxHashMap<SpaceId, String>;

/// Puts the redo of tables that cannot be opened aside, so that the others go on without them.
fn put_closed_aside(store: &Store, redo: &PendingRedo, closed: &Closed) -> Result<()> {
    if closed.is_empty() {
        return Ok(());
    }
    let pages = redo.pages().filter_map(|page| Some((page, closed.get(&page.space)?)));
    let pages: Vec<_> = pages.map(|(page, why)| redo.take_out(page, why)).collect();
    for aside in &pages {
        redo.set_done(aside.page);
    }
    store.put_closed_aside(pages)
}

/// Replays the log's file operations, and opens the files. Returns those that the log changes and that stay closed.
fn restore_files(
    disk: &dyn Disk,
    spaces: &Tablespaces,
    config: &Config,
    found: &Scan,
    report: &mut PageRecovery,
) -> Result<Closed> {
    // Identifies each file: by its page 0, and a file without a valid one by the names in the log.
    let mut paths: FxHashMap<SpaceId, String> = FxHashMap::default();
    let mut nameless = Vec::new();
    for path in tablespace_paths(disk)? {
        match store::probe(disk, &path)? {
            Some(space) if !paths.contains_key(&space) => {
                paths.insert(space, path);
            }
            Some(space) => {
                // A damaged page 0 may name any tablespace.
                let other = paths[&space].clone();
                match (is_first_page(disk, &path, config)?, is_first_page(disk, &other, config)?) {
                    (true, false) => nameless.extend(paths.insert(space, path)),
                    (false, true) => nameless.push(path),
                    _ => return Err(Error::corrupt(format!("{path} and {other} are both tablespace {space}"))),
                }
            }
            None => nameless.push(path),
        }
    }
    for path in nameless {
        let had_name = |space: &&SpaceId| found.files[space].names.contains(&path);
        let candidates = found.files.keys().filter(had_name).filter(|space| !paths.contains_key(space));
        // Of several that had the name in turn, the newest one owns it.
        if let Some(&space) = candidates.max() {
            paths.insert(space, path);
        }
    }

    for space in &found.deleted {
        if let Some(path) = paths.remove(space) {
            // A large one is found by its name and truncated once the instance is up.
            trash::put_aside(disk, *space, &path, config.drop_slice_bytes)?;
        }
    }
    restore_names(spaces, found, &mut paths)?;

    let mut closed = Closed::default();
    for (&space, history) in &found.files {
        let Some(transform) = history.created else { continue };
        if paths.contains_key(&space) || found.deleted.contains(&space) {
            continue;
        }
        let path = found.final_name(space).expect("a created file has a name");
        ensure_directory(disk, path)?;
        if disk.exists(path).map_err(Error::io("look for a tablespace"))? {
            closed.insert(space, format!("{path} ought to be tablespace {space}, and says it is another one"));
            continue;
        }
        let key = history.key.map(|info| spaces.key_ring().open_key(path, info)).transpose()?;
        spaces.create(space, path, transform, key, config)?;
        report.spaces.push((space, path.into()));
    }
    for (space, path) in paths {
        let transform = match found.files.get(&space).and_then(|history| history.created) {
            Some(transform) => transform,
            None => probe_transform(disk, &path, config.page_bytes)?,
        };
        let key = found.files.get(&space).and_then(|history| history.key);
        match spaces.open(space, &path, transform, key, config) {
            Ok(_) => {}
            // It can wait until an operator provides the key, or repairs the file.
            Err(error @ (Error::KeyUnavailable(_) | Error::Corrupt { .. } | Error::Io { .. }))
                if !aside::is_vital(space) =>
            {
                if found.touched.contains(&space) {
                    closed.insert(space, error.to_string());
                } else {
                    tracing::error!("{error}");
                }
                continue;
            }
            Err(error) => return Err(error),
        }
        report.spaces.push((space, path));
    }
    report.spaces.sort();
    for &space in &found.touched {
        if spaces.get(space).is_none() && !found.deleted.contains(&space) && !closed.contains_key(&space) {
            let name = found.final_name(space).map_or_else(String::new, |name| format!(" ({name})"));
            let why = format!("the redo log changes tablespace {space}{name}, which has no file");
            if aside::is_vital(space) {
                return Err(Error::corrupt(why));
            }
            closed.insert(space, why);
        }
    }
    report.missing_spaces.extend(closed.keys());
    report.missing_spaces.sort();
    for why in closed.values() {
        tracing::error!("{why}; its redo is kept in {}, and the table is refused", aside::FILE_NAME);
    }
    Ok(closed)
}

/// Whether the first page of a file is whole.
fn is_first_page(disk: &dyn Disk, path: &str, config: &Config) -> Result<bool> {
    let file = disk
        .open(path, crate::io::OpenMode::Read, crate::io::Caching::Cached)
        .map_err(Error::io("open a tablespace"))?;
    let mut page = vec![0; config.page_bytes];
    file.read_at(0, &mut page).map_err(Error::io("read a page"))?;
    // The checksum leaves out the number in the page's header; the body repeats it, once the first page has been
    // written.
    let id = header::page_id(&page);
    let number = get_u32(&page, layout::SPACE);
    Ok(header::verify(&page, id).is_ok() && (number == id.space.0 || number == 0))
}

/// Renames files to the last name that the log knows. Only the final state counts: names may have been swapped in
/// between.
fn restore_names(spaces: &Tablespaces, found: &Scan, paths: &mut FxHashMap<SpaceId, String>) -> Result<()> {
    let mut moves: Vec<(SpaceId, String)> = Vec::new();
    for (&space, path) in paths.iter() {
        if let Some(name) = found.final_name(space)
            && name != path
        {
            moves.push((space, name.into()));
        }
    }
    moves.sort();
    // All to temporary names first, because two files may have exchanged names.
    for (space, name) in &moves {
        let aside = format!("{name}.{space}.ibd");
        ensure_directory(&**spaces.disk(), name)?;
        spaces.rename_file(&paths[space], &aside)?;
        paths.insert(*space, aside);
    }
    for (space, name) in moves {
        spaces.rename_file(&paths[&space], &name)?;
        paths.insert(space, name);
    }
    Ok(())
}

/// The directory of a file that the log created: it existed then, and its creation may not have been durable.
fn ensure_directory(disk: &dyn Disk, path: &str) -> Result<()> {
    let directory = crate::io::parent(path);
    if !directory.is_empty() && !disk.exists(directory).map_err(Error::io("look for a database directory"))? {
        disk.create_directory(directory).map_err(Error::io("create a database directory"))?;
        disk.sync_directory("").map_err(Error::io("sync a directory"))?;
    }
    Ok(())
}

/// Pages examined to find out how a file's pages are stored.
const PROBED_PAGES: u64 = 16;

/// How a tablespace's pages have been stored, so that recovered pages are stored alike.
fn probe_transform(disk: &dyn Disk, path: &str, page_bytes: usize) -> Result<Transform> {
    let doing = "read a page";
    let file = disk
        .open(path, crate::io::OpenMode::Read, crate::io::Caching::Cached)
        .map_err(Error::io("open a tablespace"))?;
    let mut start = [0; header::BODY];
    for index in 1..PROBED_PAGES {
        if file.read_at(index * page_bytes as u64, &mut start).map_err(Error::io(doing))? == 0 {
            break;
        }
        if format::transform::is_encoded(&start) {
            let algorithm = Envelope::read(&start).ok().and_then(|envelope| Algorithm::from_number(envelope.algorithm));
            return Ok(algorithm.map_or(Transform::NONE, Transform::usual));
        }
    }
    Ok(Transform::NONE)
}

/// Restores pages that a crash tore while they were written. Returns the tablespaces that were being written.
fn restore_torn_pages(
    disk: &dyn Disk,
    spaces: &Tablespaces,
    config: &Config,
    log: RangeInclusive<Lsn>,
    report: &mut PageRecovery,
) -> Result<FxHashSet<SpaceId>> {
    let mut page = AlignedBuffer::new(config.page_bytes);
    let mut copies: Vec<_> = doublewrite::read_copies(disk, config)?.into_iter().collect();
    // What had been written when the checkpoint was taken was durable in its place; the log could not bring an older
    // copy up to date. A copy from behind the end of the log is from the future (`tablespace::future`).
    copies.retain(|(_, copy)| log.contains(&copy.complete_to));
    copies.sort_by_key(|(id, _)| *id);
    let written = copies.iter().map(|(id, _)| id.space).collect();
    for (id, copy) in copies {
        let Some(space) = spaces.get(id.space) else { continue };
        match space.read_page(id.page, &mut page) {
            Ok(_) => {}
            Err(Error::Corrupt { .. }) => match &copy.stored {
                Some(stored) => {
                    tracing::info!("page {id} is torn; restored from its copy of LSN {}", copy.complete_to);
                    space.restore(id.page, stored)?;
                    report.torn_pages_restored += 1;
                }
                // The log may still make the page anew. If not, the page is found damaged later.
                None => {
                    tracing::error!(
                        "page {id} of {} is torn, and innodb_doublewrite=DETECT_ONLY has no copy",
                        space.path()
                    );
                    report.torn_pages_detected += 1;
                }
            },
            Err(error) => return Err(error),
        }
    }
    Ok(written)
}

/// Makes the previous server's writes durable. A page that reads whole and new may be so only in the page cache of a
/// system that outlived the server: recovery finds nothing to do for it and would move the checkpoint past its changes,
/// and the copies in the doublewrite files are overwritten from here on. After a power loss the page would be torn, or
/// old. `written`: tablespaces with pages that were written without a change in the log.
fn sync_written(spaces: &Tablespaces, found: &Scan, written: &FxHashSet<SpaceId>) -> Result<()> {
    for space in spaces.all() {
        if found.touched.contains(&space.id()) || written.contains(&space.id()) {
            space.sync()?;
        }
    }
    Ok(())
}

/// Applies a log that is too long for memory, in parts, up to the last part, which it returns.
fn apply_log(
    store: &Store,
    checkpoint: &Checkpoint,
    first: PendingRedo,
    found: &Scan,
    closed: &Closed,
    threads: bool,
) -> Result<PendingRedo> {
    let kept_bytes_max = kept_bytes_max(&store.config());
    let mut part = first;
    let mut reader = Reader::new(store.redo().file(), checkpoint.lsn, checkpoint.epoch);
    while let Some(group) = reader.next_group()? {
        if part.bytes() > 0 && part.bytes() + group.records.len() > kept_bytes_max {
            part.finish(true);
            put_closed_aside(store, &part, closed)?;
            store.pool().set_pending(Arc::new(std::mem::take(&mut part)), checkpoint.lsn)?;
            let workers = if threads { WORKERS } else { 1 };
            let results = sync::in_parallel(&vec![(); workers], |()| while_pending(store));
            results.into_iter().collect::<Result<()>>()?;
            let empty = store.pool().pending_redo().map_or(Vec::new(), |redo| redo.empty());
            store.pool().end_pending();
            part.add_empty(empty);
        }
        part.begin_group(group.start, group.end, group.records);
        for_each_record(&group, |record, behind| {
            if let Record::Page { page, .. } = record {
                part.add(*page, behind);
            }
        })?;
    }
    debug_assert!(reader.position() == found.end, "the log reads the same twice");
    part.finish(false);
    Ok(part)
}

fn while_pending(store: &Store) -> Result<()> {
    while store.apply_pending(STEP_PAGES)? > 0 {}
    Ok(())
}

/// Applies redo to a few pages that have not been read yet. False when nothing is left to do for this thread.
pub fn step(store: &Store) -> Result<bool> {
    if !store.pool().has_pending() {
        return Ok(false);
    }
    let pages = store.apply_pending(STEP_PAGES)?;
    if store.pool().pending_pages() == 0 {
        finish(store)?;
    }
    Ok(pages > 0)
}

/// All redo has been applied, except to pages that are still zero: they are free, or lost.
fn finish(store: &Store) -> Result<()> {
    let Some(redo) = store.pool().pending_redo() else { return Ok(()) };
    for lost in redo.empty() {
        let page = lost.page;
        let Some(space) = store.space(page.space) else { continue };
        match is_lost(store, page) {
            // Of several punches some may have been lost.
            Ok(false) if header::is_zero(&store.read(page)?) => {
                space.release_pages(page.page.0..page.page.0 + 1)?;
            }
            Ok(false) => {}
            Ok(true) | Err(Error::Corrupt { .. }) if !aside::is_vital(page.space) => store.put_aside(lost)?,
            Ok(true) => {
                let error = Error::corrupt_page(page, lost.why);
                store.health().poison(&error);
                return Err(error);
            }
            Err(error) => return Err(error),
        }
    }
    if store.pool().end_pending() {
        tracing::info!("all pages are as the redo log left them");
    }
    Ok(())
}

/// Whether a page that the log changes and does not make reads as zero, and is not free.
fn is_lost(store: &Store, page: PageId) -> Result<bool> {
    Ok(header::is_zero(&store.read(page)?) && !segment::is_free(store, page)?)
}

/// Reads the pages that every instance needs: if one is damaged, the instance does not open. They are few, because most
/// pages of undo logs are made anew in the log.
fn read_vital(store: &Store) -> Result<()> {
    let Some(redo) = store.pool().pending_redo() else { return Ok(()) };
    for page in redo.pages().filter(|page| aside::is_vital(page.space) && !redo.makes_anew(*page)) {
        if store.space(page.space).is_some() && is_lost(store, page)? {
            return Err(Error::corrupt_page(page, "the redo log changes it, but it was never written"));
        }
    }
    Ok(())
}

/// Handles a page that cannot be read: its redo is put aside.
fn leave_out(store: &Store, page: PageId, why: &str) -> Result<()> {
    let Some(redo) = store.pool().pending_redo() else { return Ok(()) };
    store.put_aside(redo.take_out(page, why))?;
    redo.set_done(page);
    Ok(())
}

/// Extends files to the size on their page 0: extending is logged there before it is durable. A tablespace that the log
/// does not touch has not grown; its page 0 may not even have been written. A size that is neither the file's nor in the
/// log is damage (test: `a_size_that_nobody_logged_is_damage`).
fn restore_sizes(store: &Store, found: &Scan) -> Result<()> {
    for space in store.spaces().iter().filter(|space| found.touched.contains(&space.id())) {
        let page = PageId::new(space.id(), layout::HEADER_PAGE);
        let size = match store.read(page) {
            Ok(guard) if header::page_type(&guard) == header::PageType::FSP_HDR => layout::size(&guard),
            Ok(_) => 0,
            Err(Error::Corrupt { what, .. }) if !aside::is_vital(space.id()) => {
                leave_out(store, page, &what)?;
                0
            }
            Err(error) => return Err(error),
        };
        if size > space.pages() {
            if found.sizes.get(&space.id()).is_none_or(|&logged| logged < size) {
                let what = format!("page 0 counts {size} pages, but the file has {}", space.pages());
                if aside::is_vital(space.id()) {
                    return Err(Error::corrupt_page(page, what));
                }
                leave_out(store, page, &what)?;
                continue;
            }
            space.extend(size, Growth::Sparse)?;
            // Its pages may have been written and synced already, so no other thread would do it.
            space.sync()?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
