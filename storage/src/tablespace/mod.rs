//! Tablespaces: pages in files.
//!
//! A [`Tablespace`] is one open file of pages, with the facts that decide how its pages are stored: page size, the
//! filesystem's block, the [`Transform`] that the dictionary attached to it, and how torn pages are prevented.
//! [`Tablespaces`] is the registry of the open ones by id.
//!
//! ```text
//!   frame --copy--> plain page --seal--> SealedPage --transform--> stored bytes --> doublewrite --> layout --> file
//!                                 page_io                          page_io         doublewrite     layout
//! ```
//!
//! Nothing here knows of frames, latches or the log; who writes has flushed the log up to the pages' LSN before.
//!
//! Invariants:
//!
//! * A page on disk is sealed, and its header names this tablespace and its own number. Reading verifies that.
//! * Page 0 is stored plain, so that any tool can tell what the file is.

pub mod doublewrite;

pub mod layout;

pub mod page_io;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use format::ids::{Lsn, PageId, PageNo, SpaceId};
use format::page::header::{self, PageType};
pub use format::transform::Algorithm;
use rustc_hash::FxHashMap;

use self::layout::Layout;
use crate::config::{Config, Doublewrite, FlushMethod};
use crate::error::{Error, Result};
use crate::io::{AlignedBuffer, Caching, Disk, File, OpenMode};
use crate::sync::{Counter, Mutex, Rank, RwLock};

/// How pages are made smaller on their way to disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transform {
    pub algorithm: Algorithm,
    /// As the codec counts them; see `Algorithm::levels`.
    pub level: i32,
}

impl Transform {
    pub const NONE: Transform = Transform { algorithm: Algorithm::None, level: 0 };

    /// A codec at its usual level.
    pub fn usual(algorithm: Algorithm) -> Transform {
        let level = match algorithm {
            Algorithm::None | Algorithm::Lz4 => 0,
            Algorithm::Zlib => 6,
            Algorithm::Zstd => 1,
        };
        Transform { algorithm, level }
    }

    /// As the log's record of a created file carries it: recovery writes pages before the dictionary is up.
    pub fn to_flags(self) -> u32 {
        self.algorithm as u32 | (self.level as u32 & 0xFF) << 8
    }

    pub fn from_flags(flags: u32) -> Transform {
        Transform { algorithm: algorithm_of(flags as u8), level: (flags >> 8 & 0xFF) as i32 }
    }

    fn pack(self) -> u64 {
        u64::from(self.algorithm as u8) << 32 | u64::from(self.level as u32)
    }

    fn unpack(packed: u64) -> Transform {
        Transform { algorithm: algorithm_of((packed >> 32) as u8), level: packed as u32 as i32 }
    }
}

/// The codec of a number in a page's envelope; unknown ones are not written any more.
pub fn algorithm_of(number: u8) -> Algorithm {
    match number {
        1 => Algorithm::Zlib,
        2 => Algorithm::Lz4,
        3 => Algorithm::Zstd,
        _ => Algorithm::None,
    }
}

/// How a file is kept from torn pages, and why that way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TornProtection {
    /// The filesystem never overwrites in place.
    CopyOnWrite,
    /// Each page is written to the doublewrite file first.
    Doublewrite,
    /// Switched off: a torn page is lost.
    Off,
}

impl TornProtection {
    /// For a human.
    pub fn reason(self) -> &'static str {
        match self {
            TornProtection::CopyOnWrite => "the filesystem copies on write",
            TornProtection::Doublewrite => "the filesystem overwrites in place",
            TornProtection::Off => "innodb_doublewrite=OFF",
        }
    }
}

/// What happened to pages on their way, all tablespaces together.
#[derive(Debug, Default)]
pub struct IoCounters {
    pub page_reads: Counter,
    pub data_bytes_read: Counter,
    pub pages_written: Counter,
    pub data_bytes_written: Counter,
    pub data_fsyncs: Counter,
    pub doublewrite_pages: Counter,
    pub doublewrite_writes: Counter,
    pub doublewrite_bytes: Counter,
    pub pages_compressed: Counter,
    pub pages_compress_failed: Counter,
    pub pages_decompressed: Counter,
    pub punches: Counter,
    pub punches_avoided: Counter,
    pub punches_failed: Counter,
}

/// One open file of pages.
pub struct Tablespace {
    id: SpaceId,
    path: Mutex<String>,
    file: Arc<dyn File>,
    page_bytes: usize,
    block_bytes: usize,
    layout: Layout,
    transform: AtomicU64,
    torn_protection: TornProtection,
    /// Pages promised to operations under way, see `segment::reserve`.
    reserved_pages: AtomicU32,
    /// The file is being removed: what is dirty need not be written.
    dropped: AtomicBool,
    counters: Arc<IoCounters>,
}

/// Facts for information_schema.
#[derive(Clone, Debug)]
pub struct SpaceInfo {
    pub id: SpaceId,
    pub path: String,
    pub page_bytes: usize,
    pub block_bytes: usize,
    pub file_bytes: u64,
    pub allocated_bytes: u64,
    pub transform: Transform,
    /// Holes can be punched here.
    pub punch: bool,
    pub torn_protection: TornProtection,
}

impl Tablespace {
    fn new(
        id: SpaceId,
        path: &str,
        file: Arc<dyn File>,
        transform: Transform,
        config: &Config,
        counters: Arc<IoCounters>,
    ) -> Result<Tablespace> {
        let facts = file.facts().map_err(Error::io("ask for a file's block size"))?;
        // A block that is no part of a page (a ZFS record of 128K) rules compression out, nothing else.
        let fits = facts.block_bytes.is_power_of_two() && facts.block_bytes <= config.page_bytes;
        let block_bytes = if fits { facts.block_bytes.max(512) } else { config.page_bytes };
        let file_bytes = file.len().map_err(Error::io("ask for a file's length"))?;
        let pages = u32::try_from(file_bytes.div_ceil(config.page_bytes as u64))
            .map_err(|_| Error::corrupt(format!("{path} has more pages than a tablespace can")))?;
        let torn_protection = match config.doublewrite {
            _ if facts.copy_on_write => TornProtection::CopyOnWrite,
            Doublewrite::On => TornProtection::Doublewrite,
            Doublewrite::Off => TornProtection::Off,
        };
        let layout = Layout::punched(file.clone(), config.page_bytes, block_bytes, pages);
        layout.set_punch(config.punch);
        Ok(Tablespace {
            id,
            path: Mutex::new(Rank::Leaf, path.into()),
            file,
            page_bytes: config.page_bytes,
            block_bytes,
            layout,
            transform: AtomicU64::new(transform.pack()),
            torn_protection,
            reserved_pages: AtomicU32::new(0),
            dropped: AtomicBool::new(false),
            counters,
        })
    }

    pub fn id(&self) -> SpaceId {
        self.id
    }

    pub fn path(&self) -> String {
        self.path.lock().clone()
    }

    pub fn page_bytes(&self) -> usize {
        self.page_bytes
    }

    pub fn block_bytes(&self) -> usize {
        self.block_bytes
    }

    pub fn transform(&self) -> Transform {
        Transform::unpack(self.transform.load(Ordering::Relaxed))
    }

    /// Takes effect for each page when it is next written.
    pub fn set_transform(&self, transform: Transform) {
        self.transform.store(transform.pack(), Ordering::Relaxed);
    }

    pub fn torn_protection(&self) -> TornProtection {
        self.torn_protection
    }

    pub fn set_punch(&self, wanted: bool) {
        self.layout.set_punch(wanted);
    }

    /// Pages the file has room for.
    pub fn pages(&self) -> u32 {
        self.layout.pages()
    }

    /// Makes room for pages up to `pages` (exclusive).
    ///
    /// A compressed tablespace grows sparsely, since nobody knows yet how much its pages will need; a plain one reserves
    /// its blocks now, while a full disk is still an ordinary error.
    pub fn extend(&self, pages: u32) -> Result<()> {
        let sparse = self.transform().algorithm != Algorithm::None && self.layout.punches();
        self.layout.extend(pages, !sparse).map_err(Error::io("extend a tablespace"))
    }

    pub fn sync(&self) -> Result<()> {
        if self.is_dropped() {
            return Ok(());
        }
        self.counters.data_fsyncs.add(1);
        self.layout.sync().map_err(Error::io("sync a tablespace"))
    }

    pub fn is_dropped(&self) -> bool {
        self.dropped.load(Ordering::Acquire)
    }

    pub fn reserved_pages(&self) -> &AtomicU32 {
        &self.reserved_pages
    }

    pub fn info(&self) -> Result<SpaceInfo> {
        Ok(SpaceInfo {
            id: self.id,
            path: self.path(),
            page_bytes: self.page_bytes,
            block_bytes: self.block_bytes,
            file_bytes: self.file.len().map_err(Error::io("ask for a file's length"))?,
            allocated_bytes: self.file.allocated_bytes().map_err(Error::io("ask for a file's blocks"))?,
            transform: self.transform(),
            punch: self.layout.punches(),
            torn_protection: self.torn_protection,
        })
    }
}

/// The open tablespaces by id.
pub struct Tablespaces {
    disk: Arc<dyn Disk>,
    open: RwLock<FxHashMap<SpaceId, Arc<Tablespace>>>,
    counters: Arc<IoCounters>,
}

impl Tablespaces {
    pub fn new(disk: Arc<dyn Disk>) -> Tablespaces {
        Tablespaces { disk, open: RwLock::new(Rank::Space, FxHashMap::default()), counters: Arc::default() }
    }

    pub fn counters(&self) -> &Arc<IoCounters> {
        &self.counters
    }

    pub fn disk(&self) -> &Arc<dyn Disk> {
        &self.disk
    }

    pub fn get(&self, id: SpaceId) -> Option<Arc<Tablespace>> {
        self.open.read().get(&id).cloned()
    }

    /// The tablespace, or NotFound.
    pub fn find(&self, id: SpaceId) -> Result<Arc<Tablespace>> {
        self.get(id).ok_or_else(|| Error::NotFound(format!("tablespace {id}").into()))
    }

    /// In the order of their ids.
    pub fn all(&self) -> Vec<Arc<Tablespace>> {
        let mut all: Vec<_> = self.open.read().values().cloned().collect();
        all.sort_by_key(|space| space.id);
        all
    }

    /// Creates a file; its name is durable on return, and so is an empty page 0. From here on the file tells whose it is,
    /// whatever a crash does to page 0: the header lies in one sector, which is always a whole one.
    pub fn create(&self, id: SpaceId, path: &str, transform: Transform, config: &Config) -> Result<Arc<Tablespace>> {
        self.add(id, path, OpenMode::Create, transform, config)
    }

    /// Opens an existing file.
    pub fn open(&self, id: SpaceId, path: &str, transform: Transform, config: &Config) -> Result<Arc<Tablespace>> {
        self.add(id, path, OpenMode::ReadWrite, transform, config)
    }

    fn add(
        &self,
        id: SpaceId,
        path: &str,
        mode: OpenMode,
        transform: Transform,
        config: &Config,
    ) -> Result<Arc<Tablespace>> {
        if self.get(id).is_some() {
            return Err(Error::Exists(format!("tablespace {id}").into()));
        }
        let file = self.disk.open(path, mode, data_caching(config)).map_err(|cause| match cause.kind() {
            std::io::ErrorKind::NotFound => Error::NotFound(path.into()),
            std::io::ErrorKind::AlreadyExists => Error::Exists(path.into()),
            _ => Error::from_io("open a tablespace", cause),
        })?;
        if mode == OpenMode::Create {
            let mut page = AlignedBuffer::new(config.page_bytes);
            header::init(&mut page, PageId::new(id, PageNo(0)), PageType::FSP_HDR);
            header::seal(&mut page, Lsn::ZERO);
            file.write_at(0, &page).map_err(Error::io("write the first page of a tablespace"))?;
            file.sync().map_err(Error::io("sync a tablespace"))?;
            self.disk.sync_directory(crate::io::parent(path)).map_err(Error::io("sync a directory"))?;
        }
        let space = Arc::new(Tablespace::new(id, path, file, transform, config, self.counters.clone())?);
        self.open.write().insert(id, space.clone());
        Ok(space)
    }

    /// Forgets a tablespace whose pages nobody uses any more; its file stays. Writes to it are skipped from here on.
    pub fn forget(&self, id: SpaceId) -> Option<Arc<Tablespace>> {
        let space = self.open.write().remove(&id)?;
        space.dropped.store(true, Ordering::Release);
        Some(space)
    }

    /// Removes a file by name, durably. A file that is not there is fine: somebody was here before.
    pub fn remove_file(&self, path: &str) -> Result<()> {
        match self.disk.remove(path) {
            Err(cause) if cause.kind() != std::io::ErrorKind::NotFound => {
                return Err(Error::from_io("remove a tablespace", cause));
            }
            _ => {}
        }
        self.disk.sync_directory(crate::io::parent(path)).map_err(Error::io("sync a directory"))
    }

    /// Gives a file another name, durably.
    pub fn rename(&self, id: SpaceId, to: &str) -> Result<()> {
        let space = self.find(id)?;
        let from = space.path();
        self.rename_file(&from, to)?;
        *space.path.lock() = to.into();
        Ok(())
    }

    /// Renames a file that may not be open, durably.
    pub fn rename_file(&self, from: &str, to: &str) -> Result<()> {
        self.disk.rename(from, to).map_err(Error::io("rename a tablespace"))?;
        let (from, to) = (crate::io::parent(from), crate::io::parent(to));
        self.disk.sync_directory(to).map_err(Error::io("sync a directory"))?;
        if from != to {
            self.disk.sync_directory(from).map_err(Error::io("sync a directory"))?;
        }
        Ok(())
    }
}

/// How files of pages are opened.
pub fn data_caching(config: &Config) -> Caching {
    match config.flush_method {
        FlushMethod::Fsync => Caching::Cached,
        FlushMethod::ODirect | FlushMethod::AllODirect => Caching::Direct,
    }
}
