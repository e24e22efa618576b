//! Damage to files at rest: bits flip, a write went to another place or was lost, an old file comes back, one is
//! missing. All of it on a copy of the disk, which is then read completely.
//!
//! The result is an error that names what is damaged, or it is right. Only damage behind the last checkpoint of the log
//! may also lose the newest commits: the log ends where no valid record follows, and a flipped bit can make that
//! earlier.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use format::ids::{PageId, PageNo, SpaceId};
use format::page::header;
use storage::io::sim::SimDisk;
use storage::io::{Caching, Disk, OpenMode};
use storage::{Config, Engine, Error};

use crate::model::Model;
use crate::run::Run;
use crate::workload;

const LOG: &str = "glassine.redo";

/// Bytes in front of the log's ring: its header and its checkpoints.
const LOG_HEADER_BYTES: u64 = 4 * 4096;

/// Where a bit may flip.
const STRUCTURES: [&str; 7] =
    ["page header", "page body", "page trailer", "page 0", "doublewrite", "redo header", "redo body"];

/// What was done to the disk, and what the result must be.
struct Damage {
    what: String,
    /// For the report.
    kind: &'static str,
    /// Recent commits may be lost.
    may_lose: bool,
    /// What an error must name: a file or a page.
    path: Option<String>,
}

impl Run {
    /// Damages a copy of the disk, and reads everything.
    pub fn damage(&mut self) -> Result<(), String> {
        if !self.random.chance(2) {
            return Ok(());
        }
        let mut disk = self.disk.duplicate();
        let paths = tablespaces(&disk).map_err(|error| error.to_string())?;
        let damage = match self.random.below(11) {
            0..=5 => self.flip(&disk, &paths),
            6 => self.misplace(&disk, &paths),
            7 => self.erase(&disk, &paths),
            8 => self.lose(&disk, &paths),
            9 => self.old_doublewrite(&disk),
            _ => self.old_tablespaces(&mut disk),
        };
        let Some(damage) = damage else { return Ok(()) };
        self.say(|| format!("at rest: {}", damage.what));
        let outcome = catch_unwind(AssertUnwindSafe(|| read_damaged(&disk, &self.config)));
        let outcome = outcome.map_err(|_| format!("a panic over damage: {}", damage.what))?;
        self.say(|| format!("over that: {:?}", outcome.as_ref().map(|_| "no error")));
        let kind = damage.kind;
        match outcome {
            Err(error) => {
                let text = error.to_string();
                if let Some(path) = &damage.path
                    && !names(&error, &text, path)
                    && !self.names_missing(path, &text)
                {
                    return Err(format!("{}: the error names neither page nor file: {text}", damage.what));
                }
                match error {
                    Error::Corrupt { .. } | Error::NotFound(_) | Error::Unsupported(_) | Error::KeyUnavailable(_) => {
                        self.report.count(format!("damage found: {kind}"));
                    }
                    error => return Err(format!("{}: {error}", damage.what)),
                }
            }
            // Any other state would be a result made of damaged data.
            Ok(found) => match self.allowed.iter().find(|model| model.difference(&found).is_none()) {
                Some(_) => self.report.count(format!("damage harmless: {kind}")),
                // Commits from the end on, but none from the middle.
                None if damage.may_lose && self.history.iter().any(|model| model.difference(&found).is_none()) => {
                    self.report.count(format!("damage cost commits: {kind}"));
                }
                None => {
                    let why = self.model().difference(&found).unwrap_or_default();
                    return Err(format!("a wrong answer after {}: {why}", damage.what));
                }
            },
        }
        Ok(())
    }

    /// A file that a DDL statement was about to rename when the machine stopped is missed under its new name, which the
    /// DDL log has. Under that name no file was there before, either.
    fn names_missing(&self, path: &str, text: &str) -> bool {
        let missed = text.split(" does not exist").next().and_then(|text| text.rsplit(' ').next()).unwrap_or("");
        path.contains("#sql") && missed.ends_with(".ibd") && self.disk.exists(missed).is_ok_and(|there| !there)
    }

    fn pick<'p>(&mut self, paths: &'p [String]) -> &'p str {
        &paths[self.random.below(paths.len() as u64) as usize]
    }

    /// A page of a file that was written, if there is one; not page 0.
    fn pick_page(&mut self, disk: &SimDisk, path: &str) -> Option<u64> {
        let page_bytes = self.config.page_bytes as u64;
        let mut pages: Vec<u64> = disk.written_blocks(path).iter().map(|block| block / page_bytes).collect();
        pages.dedup();
        pages.retain(|&page| page > 0);
        (!pages.is_empty()).then(|| pages[self.random.below(pages.len() as u64) as usize])
    }

    fn flip(&mut self, disk: &SimDisk, paths: &[String]) -> Option<Damage> {
        let page_bytes = self.config.page_bytes as u64;
        let kind = STRUCTURES[self.random.below(STRUCTURES.len() as u64) as usize];
        let (path, offset) = match kind {
            "doublewrite" => {
                let path = format!("#ib_{page_bytes}_0.dblwr");
                let blocks = disk.written_blocks(&path);
                let block = *blocks.get(self.random.below(blocks.len().max(1) as u64) as usize)?;
                (path, block + self.random.below(512))
            }
            "redo header" => (LOG.to_string(), self.random.below(LOG_HEADER_BYTES)),
            "redo body" => {
                let ring = disk.file_bytes(LOG) - LOG_HEADER_BYTES;
                (LOG.to_string(), LOG_HEADER_BYTES + self.random.below(ring))
            }
            _ => {
                let path = self.pick(paths).to_string();
                let page = if kind == "page 0" { 0 } else { self.pick_page(disk, &path)? };
                let within = match kind {
                    "page header" => self.random.below(38),
                    "page trailer" => page_bytes - 1 - self.random.below(8),
                    _ => self.random.below(page_bytes),
                };
                (path, page * page_bytes + within)
            }
        };
        let mask = 1 << self.random.below(8);
        if !disk.flip(&path, offset, mask) {
            return None;
        }
        Some(Damage {
            what: format!("bit {mask:#x} of {path} at {offset} ({kind}) flips"),
            kind,
            may_lose: path == LOG,
            path: Some(path).filter(|path| path != LOG),
        })
    }

    /// One page is at the position of another.
    fn misplace(&mut self, disk: &SimDisk, paths: &[String]) -> Option<Damage> {
        let page_bytes = self.config.page_bytes as u64;
        let path = self.pick(paths).to_string();
        let (from, to) = (self.pick_page(disk, &path)?, self.pick_page(disk, &path)?);
        if from == to {
            return None;
        }
        disk.misplace(&path, from * page_bytes, to * page_bytes, self.config.page_bytes);
        let what = format!("page {from} of {path} was written over page {to}");
        Some(Damage { what, kind: "misdirected write", may_lose: false, path: Some(path) })
    }

    /// A lost write: the page was never written, though the device reported success.
    fn erase(&mut self, disk: &SimDisk, paths: &[String]) -> Option<Damage> {
        let page_bytes = self.config.page_bytes as u64;
        let path = self.pick(paths).to_string();
        let page = self.pick_page(disk, &path)?;
        disk.erase(&path, page * page_bytes, page_bytes);
        let what = format!("page {page} of {path} is a hole");
        Some(Damage { what, kind: "lost page", may_lose: false, path: Some(path) })
    }

    fn lose(&mut self, disk: &SimDisk, paths: &[String]) -> Option<Damage> {
        let path = self.pick(paths).to_string();
        disk.lose_file(&path);
        let what = format!("{path} is gone");
        Some(Damage { what, kind: "lost file", may_lose: false, path: Some(path) })
    }

    /// The doublewrite file of an earlier life comes back: its copies are older than the pages, and it lacks the
    /// newest.
    fn old_doublewrite(&mut self, disk: &SimDisk) -> Option<Damage> {
        let path = format!("#ib_{}_0.dblwr", self.config.page_bytes);
        let copied = self.earlier.as_ref().is_some_and(|earlier| disk.copy_file(earlier, &path));
        copied.then(|| Damage {
            what: format!("{path} is that of an earlier life"),
            kind: "stale doublewrite file",
            may_lose: false,
            path: None,
        })
    }

    /// All files but the log are those of an earlier life.
    fn old_tablespaces(&mut self, disk: &mut SimDisk) -> Option<Damage> {
        *disk = self.earlier.as_ref()?.duplicate();
        disk.copy_file(&self.disk, LOG).then(|| Damage {
            what: "all files but the log are those of an earlier life".into(),
            kind: "old tablespaces",
            may_lose: false,
            path: None,
        })
    }
}

/// Whether a failure names damaged pages, and each of them is one whose write was interrupted.
pub fn names_torn_pages(disk: &SimDisk, page_bytes: usize, failure: &str) -> bool {
    let named: Vec<Option<PageId>> = failure
        .match_indices(" is damaged")
        .map(|(at, _)| {
            let (space, page) = failure[..at].rsplit(' ').next()?.split_once(':')?;
            Some(PageId::new(SpaceId(space.parse().ok()?), PageNo(page.parse().ok()?)))
        })
        .collect();
    let is_torn = |page| was_in_flight(disk, page_bytes as u64, page).unwrap_or(false);
    !named.is_empty() && named.iter().all(|page| page.is_some_and(is_torn))
}

fn was_in_flight(disk: &SimDisk, page_bytes: u64, page: PageId) -> std::io::Result<bool> {
    // The header of page 0 lies in one sector, so it names the tablespace even if the rest is torn.
    let mut first = [0; header::BODY];
    for path in tablespaces(disk)? {
        disk.open(&path, OpenMode::Read, Caching::Cached)?.read_at(0, &mut first)?;
        if header::page_id(&first).space == page.space {
            let start = u64::from(page.page.0) * page_bytes;
            return Ok(disk.was_in_flight(&path, start..start + page_bytes));
        }
    }
    Ok(false)
}

/// Whether an error tells the operator where to look.
fn names(error: &Error, text: &str, path: &str) -> bool {
    let table = path.rsplit('/').next().unwrap_or(path).trim_end_matches(".ibd");
    matches!(error, Error::Corrupt { page: Some(_), .. })
        || text.contains(path)
        || text.contains(table)
        || text.contains("page")
        || text.contains("tablespace")
}

/// Paths of all files of pages.
fn tablespaces(disk: &SimDisk) -> std::io::Result<Vec<String>> {
    let mut paths: Vec<String> = Vec::new();
    for entry in disk.list("")? {
        if entry.is_directory {
            let files = disk.list(&entry.name)?;
            paths.extend(files.into_iter().map(|file| format!("{}/{}", entry.name, file.name)));
        } else {
            paths.push(entry.name);
        }
    }
    paths.retain(|path| path.ends_with(".ibd") || path.starts_with("ibdata") || path.starts_with("undo_"));
    Ok(paths)
}

/// All that can be read of a damaged instance.
fn read_damaged(disk: &SimDisk, config: &Config) -> Result<Model, Error> {
    let engine = Engine::open(Arc::new(disk.clone()), config.clone())?;
    if let Some(damaged) = engine.recovery_report().damaged.first() {
        return Err(Error::corrupt(damaged.as_str()));
    }
    let model = workload::everything(&engine)?;
    // Damage may be where the reads did not reach.
    let report = engine.check()?;
    for _ in 0..20 {
        engine.step()?;
    }
    match report.errors.first() {
        Some(error) => Err(Error::corrupt(error.as_str())),
        None => Ok(model),
    }
}

/// Compares the pages' stored sizes known in memory with what the files really occupy.
pub fn check_blocks(engine: &Engine) -> Result<(), String> {
    for space in engine.store().spaces() {
        let path = space.path();
        let failed = |error: Error| format!("{path}: {error}");
        while space.survey(1000).map_err(failed)? {}
        let (known, found) = (space.compression_stats().stored_bytes, space.info().map_err(failed)?.allocated_bytes);
        // The known size may be larger if a write or a punch failed half way; a smaller one would leak blocks for ever.
        if known < found {
            return Err(format!("{path} occupies {found} bytes, and is believed to occupy {known}"));
        }
    }
    Ok(())
}

/// Every page that is on the device: its checksum, its number, and that the log knows its LSN.
pub fn check_pages(engine: &Engine) -> Result<u64, String> {
    let store = engine.store();
    let mut frame = storage::io::AlignedBuffer::new(store.page_bytes());
    let mut count = 0;
    for space in store.spaces() {
        for number in 0..space.pages() {
            let read = space.read_page(PageNo(number), &mut frame[..store.page_bytes()]);
            read.map_err(|error| format!("{} on the device: {error}", space.path()))?;
            let lsn = header::lsn(&frame);
            if lsn > store.flushed_lsn() {
                return Err(format!(
                    "page {number} of {} has LSN {lsn}, the log is durable up to {} only",
                    space.path(),
                    store.flushed_lsn()
                ));
            }
            count += 1;
        }
    }
    Ok(count)
}
