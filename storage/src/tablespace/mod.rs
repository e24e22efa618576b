//! Tablespaces: pages in files.
//!
//! A [`Tablespace`] is one open file of pages, with the facts that decide how its pages are stored: page size, the
//! filesystem's block, the [`Transform`] that the dictionary attached to it, and how torn pages are prevented.
//! [`Tablespaces`] is the registry of them by id; of their files no more are open than [`open_files`] allows.
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
//! * A table's file is encrypted or plain for its whole life; those of the system and of undo logs may change over. What
//!   is encrypted has its key from before the first page of it is written.
//! * Page 0 is stored plain, so that any tool can tell what the file is.

pub mod torn;

pub mod statistics;

pub mod encryption;

pub mod open_files;

pub mod layout;

pub mod page_io;

pub mod doublewrite;

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use format::ids::{Lsn, PageId, PageNo, SpaceId};
use format::page::header::{self, PageType};
pub use format::transform::Algorithm;
use rustc_hash::FxHashMap;

use self::encryption::{KeyInfo, KeyRing, SpaceKey};
use self::layout::Layout;
use self::layout::pages::{Form, PageState};
use self::open_files::{OnDemandFile, OpenFiles};
use self::page_io::stored_state;
pub use self::statistics::{CompressionStats, IoCounters, SpaceCounters};
pub use self::torn::TornProtection;
use self::torn::{Choice, LockRequests};
use crate::config::{Config, FlushMethod};
use crate::error::{Error, Result};
use crate::io::{ALIGNMENT, AlignedBuffer, Caching, Disk, File, FileFacts, OpenMode};
use crate::schema::AtomicWrites;
use crate::sync::{Mutex, Rank, RwLock};

/// How pages are made smaller on their way to disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transform {
    pub algorithm: Algorithm,
    /// As the codec counts them; see `Algorithm::levels`.
    pub level: i32,
    /// Whether pages are encrypted then. That is decided when the file is made, and for its whole life.
    pub encrypted: bool,
}

impl Transform {
    pub const NONE: Transform = Transform::new(Algorithm::NONE, 0);

    pub const fn new(algorithm: Algorithm, level: i32) -> Transform {
        Transform { algorithm, level, encrypted: false }
    }

    /// A codec at its usual level.
    pub fn usual(algorithm: Algorithm) -> Transform {
        Transform::new(algorithm, algorithm.usual_level())
    }

    /// As the log's record of a created file carries it: recovery writes pages before the dictionary is up.
    pub fn to_flags(self) -> u32 {
        u32::from(self.algorithm.number()) | (self.level as u32 & 0xFF) << 8 | u32::from(self.encrypted) << 16
    }

    pub fn from_flags(flags: u32) -> Transform {
        Transform { algorithm: known(flags as u8), level: (flags >> 8 & 0xFF) as i32, encrypted: flags >> 16 & 1 == 1 }
    }
}

/// The codec of a number that was written by us or an older us; one that is gone is not written any more.
fn known(number: u8) -> Algorithm {
    Algorithm::from_number(number).unwrap_or(Algorithm::NONE)
}

/// One open file of pages.
pub struct Tablespace {
    id: SpaceId,
    path: Mutex<String>,
    disk: Arc<dyn Disk>,
    file: Arc<OnDemandFile>,
    facts: FileFacts,
    page_bytes: usize,
    layout: Layout,
    /// As [`Transform::to_flags`] has it.
    transform: AtomicU32,
    /// Of an encrypted file.
    key: OnceLock<SpaceKey>,
    /// The option.
    reserve_blocks: bool,
    /// A [`TornProtection`], for those who write.
    protection: AtomicU8,
    torn: Mutex<Torn>,
    /// Pages promised to operations under way, see `segment::reserve`.
    reserved_pages: AtomicU32,
    /// Pages that are being punched, as (first, end): what is dirty there waits. 0 = none.
    releasing: AtomicU64,
    /// The file is being removed: what is dirty need not be written.
    dropped: AtomicBool,
    counters: SpaceCounters,
}

/// How the protection from torn pages was chosen.
struct Torn {
    requests: LockRequests,
    reason: String,
}

/// Facts for information_schema.
#[derive(Clone, Debug)]
pub struct SpaceInfo {
    pub id: SpaceId,
    pub path: String,
    pub page_bytes: usize,
    /// The filesystem's kind, see [`FileFacts::filesystem`].
    pub filesystem: &'static str,
    /// The pieces in which the filesystem allocates and frees, even if they are larger than a page.
    pub block_bytes: usize,
    pub file_bytes: u64,
    pub allocated_bytes: u64,
    pub transform: Transform,
    /// Pages may be stored in less than their size.
    pub shortens: bool,
    /// Holes are punched here.
    pub punch: bool,
    /// Why, or why not.
    pub punch_reason: String,
    pub torn_protection: TornProtection,
    /// Why this one, and why no better one.
    pub torn_reason: String,
}

impl Tablespace {
    #[expect(clippy::too_many_arguments, reason = "what a file is, and what it is to become")]
    fn new(
        id: SpaceId,
        path: &str,
        disk: Arc<dyn Disk>,
        file: Arc<OnDemandFile>,
        transform: Transform,
        key: Option<SpaceKey>,
        config: &Config,
        counters: Arc<IoCounters>,
    ) -> Result<Tablespace> {
        let facts = file.facts().map_err(Error::io("ask for a file's block size"))?;
        let file_bytes = file.len().map_err(Error::io("ask for a file's length"))?;
        let pages = u32::try_from(file_bytes.div_ceil(config.page_bytes as u64))
            .map_err(|_| Error::corrupt(format!("{path} has more pages than a tablespace can")))?;
        let layout = Layout::punched(file.clone(), &facts, config.page_bytes, pages);
        layout.set_punch(config.punch);
        let requests = LockRequests::new(config);
        let Choice { protection, reason } = match id.is_temporary() {
            true => torn::temporary(),
            false => torn::choose(&facts, config.page_bytes, requests),
        };
        prepare(&*file, &facts, protection);
        Ok(Tablespace {
            id,
            path: Mutex::new(Rank::Leaf, path.into()),
            disk,
            file,
            facts,
            page_bytes: config.page_bytes,
            layout,
            transform: AtomicU32::new(Transform { encrypted: key.is_some(), ..transform }.to_flags()),
            key: key.map(OnceLock::from).unwrap_or_default(),
            reserve_blocks: config.reserve_blocks,
            protection: AtomicU8::new(protection as u8),
            torn: Mutex::new(Rank::Space, Torn { requests, reason }),
            reserved_pages: AtomicU32::new(0),
            releasing: AtomicU64::new(0),
            dropped: AtomicBool::new(false),
            counters: SpaceCounters::new(counters),
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

    /// What a stored page's length is rounded to; the page size if the filesystem's block is no part of it.
    pub fn block_bytes(&self) -> usize {
        self.layout.block_bytes()
    }

    pub fn transform(&self) -> Transform {
        Transform::from_flags(self.transform.load(Ordering::Relaxed))
    }

    /// Takes effect for each page when it is next written. A table's file stays encrypted, or plain.
    pub fn set_transform(&self, transform: Transform) {
        let wanted = transform.encrypted || !is_shared(self.id);
        let transform = Transform { encrypted: self.key.get().is_some() && wanted, ..transform };
        self.transform.store(transform.to_flags(), Ordering::Relaxed);
    }

    /// The key, if the file is encrypted.
    pub fn key(&self) -> Option<&SpaceKey> {
        self.key.get()
    }

    /// A file that was plain so far has a key, which stands durably on its page 0: its pages may be encrypted from here on.
    pub fn add_key(&self, key: SpaceKey) {
        assert!(is_shared(self.id), "a table's file is encrypted or plain for its whole life");
        assert!(self.key.set(key).is_ok(), "a file has one key");
    }

    pub fn torn_protection(&self) -> TornProtection {
        TornProtection::from_number(self.protection.load(Ordering::Relaxed))
    }

    /// ATOMIC_WRITES of the table; takes effect for each page when it is next written.
    pub fn set_atomic_writes(&self, table: AtomicWrites) {
        self.choose_protection(|requests| requests.table = table);
    }

    /// An untorn write did not work. The file goes on with other means.
    fn refuse_atomic_writes(&self, cause: &std::io::Error) {
        if self.torn_protection() == TornProtection::AtomicWrites {
            self.choose_protection(|requests| requests.refused = true);
            let instead = self.torn_protection();
            tracing::error!("{}: an untorn write is refused ({cause}); {instead} from here on", self.path());
        }
    }

    fn choose_protection(&self, change: impl FnOnce(&mut LockRequests)) {
        if self.id.is_temporary() {
            return;
        }
        let mut torn = self.torn.lock();
        change(&mut torn.requests);
        let choice = torn::choose(&self.facts, self.page_bytes, torn.requests);
        torn.reason = choice.reason;
        prepare(&*self.file, &self.facts, choice.protection);
        self.protection.store(choice.protection as u8, Ordering::Relaxed);
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
        let sparse = self.transform().algorithm != Algorithm::NONE && self.layout.shortens();
        self.layout.extend(pages, self.reserve_blocks && !sparse).map_err(Error::io("extend a tablespace"))
    }

    /// From here on there are only so many pages. Page 0 is latched and says so, and none of those behind is dirty.
    pub fn shrink_to(&self, pages: u32) {
        self.layout.shrink_to(pages);
    }

    /// Makes the file as short as it has become. What page 0 says is durable in the log.
    pub fn cut(&self) -> Result<()> {
        self.layout.cut().map_err(Error::io("cut a tablespace"))
    }

    pub fn sync(&self) -> Result<()> {
        // What is temporary need not be durable.
        if self.is_dropped() || self.id.is_temporary() {
            return Ok(());
        }
        self.counters.total.data_fsyncs.add(1);
        self.layout.sync(&self.counters).map_err(Error::io("sync a tablespace"))
    }

    /// From here on nobody writes these pages, to [`Tablespace::end_release`]. Page 0 is latched, and no copy of any free
    /// one among them is on its way.
    pub fn begin_release(&self, pages: std::ops::Range<u32>) {
        self.releasing.store(u64::from(pages.start) << 32 | u64::from(pages.end), Ordering::Release);
    }

    pub fn end_release(&self) {
        self.releasing.store(0, Ordering::Release);
    }

    /// Whether the page is among those being punched.
    #[inline]
    pub fn releases(&self, page: PageNo) -> bool {
        let packed = self.releasing.load(Ordering::Acquire);
        ((packed >> 32) as u32..packed as u32).contains(&page.0)
    }

    pub fn is_dropped(&self) -> bool {
        self.dropped.load(Ordering::Acquire)
    }

    pub fn reserved_pages(&self) -> &AtomicU32 {
        &self.reserved_pages
    }

    pub fn info(&self) -> Result<SpaceInfo> {
        let why_not_punched = self.layout.why_not_punched();
        Ok(SpaceInfo {
            id: self.id,
            path: self.path(),
            page_bytes: self.page_bytes,
            filesystem: self.facts.filesystem,
            block_bytes: self.facts.block_bytes,
            file_bytes: self.file.len().map_err(Error::io("ask for a file's length"))?,
            allocated_bytes: self.file.allocated_bytes().map_err(Error::io("ask for a file's blocks"))?,
            transform: self.transform(),
            shortens: self.layout.shortens(),
            punch: why_not_punched.is_none(),
            punch_reason: why_not_punched.unwrap_or_else(|| {
                format!("{} frees blocks of {} bytes", self.facts.filesystem, self.facts.block_bytes)
            }),
            torn_protection: self.torn_protection(),
            torn_reason: self.torn.lock().reason.clone(),
        })
    }

    /// Gives back what free pages occupy; from here on they read as zero. Nobody needs their content any more, not even
    /// recovery. Returns the bytes that were freed.
    pub fn release_pages(&self, pages: std::ops::Range<u32>) -> Result<u64> {
        self.layout.release(pages, &self.counters).map_err(Error::io("ask for a page's blocks"))
    }

    /// How the pages are stored now, as far as that is known: [`Tablespace::survey`] makes it known.
    pub fn compression_stats(&self) -> CompressionStats {
        let counters = &self.counters;
        let mut stats = CompressionStats {
            punches_issued: counters.punches_issued.get(),
            punches_avoided: counters.punches_avoided.get(),
            punches_failed: counters.punches_failed.get(),
            compress_us: counters.compress_nanos.get() / 1000,
            decompress_us: counters.decompress_nanos.get() / 1000,
            ..CompressionStats::default()
        };
        let block = self.block_bytes();
        self.layout.each(0, |_, known| {
            let (Some(state), Some(blocks)) = (known.state(), known.blocks()) else {
                stats.pages_unknown += 1;
                return true;
            };
            match state.form {
                Form::Unwritten => stats.pages_unwritten += 1,
                Form::Plain => stats.pages_plain += 1,
                Form::Encoded(number) => match Algorithm::from_number(number) {
                    Some(Algorithm::ZLIB) => stats.pages_zlib += 1,
                    Some(Algorithm::LZ4) => stats.pages_lz4 += 1,
                    Some(Algorithm::ZSTD) => stats.pages_zstd += 1,
                    _ => stats.pages_unknown += 1,
                },
            }
            stats.pages_encrypted += u64::from(state.encrypted);
            stats.pages_incompressible += u64::from(state.incompressible);
            stats.stored_bytes += (blocks * block) as u64;
            stats.exact_bytes += state.exact_bytes as u64;
            let behind_boundary = state.exact_bytes % block;
            let misses = state.exact_bytes > block && (1..=statistics::BOUNDARY_MISS_BYTES).contains(&behind_boundary);
            stats.boundary_misses += u64::from(misses);
            true
        });
        stats
    }

    /// Looks at up to `pages_max` pages of which nothing is known, by their first bytes on disk. Returns whether there
    /// are more.
    pub fn survey(&self, pages_max: usize) -> Result<bool> {
        let mut start = AlignedBuffer::new(ALIGNMENT);
        let mut unknown = Vec::new();
        self.layout.each(0, |page, known| {
            if known.state().is_none() || known.blocks().is_none() {
                unknown.push((PageNo(page), known));
            }
            unknown.len() <= pages_max
        });
        let more = unknown.len() > pages_max;
        for &(page, known) in unknown.iter().take(pages_max) {
            let state = match known.state() {
                Some(state) => state,
                None => {
                    self.layout.read(page, &mut start).map_err(Error::io("read a page"))?;
                    // What makes no sense is no page of ours: it counts as what it occupies.
                    stored_state(&start, self.page_bytes).unwrap_or(PageState::plain(self.page_bytes))
                }
            };
            self.layout.learn_blocks(page, known, state).map_err(Error::io("ask for a page's blocks"))?;
        }
        Ok(more)
    }
}

/// The open tablespaces by id.
pub struct Tablespaces {
    disk: Arc<dyn Disk>,
    open: RwLock<FxHashMap<SpaceId, Arc<Tablespace>>>,
    files: Arc<OpenFiles>,
    key_ring: KeyRing,
    counters: Arc<IoCounters>,
}

impl Tablespaces {
    pub fn new(disk: Arc<dyn Disk>, config: &Config) -> Tablespaces {
        let key_ring = KeyRing::new(disk.clone(), config);
        let files = OpenFiles::new(disk.clone());
        let open = RwLock::new(Rank::Space, FxHashMap::default());
        Tablespaces { disk, open, files, key_ring, counters: Arc::default() }
    }

    pub fn key_ring(&self) -> &KeyRing {
        &self.key_ring
    }

    pub fn counters(&self) -> &Arc<IoCounters> {
        &self.counters
    }

    pub fn disk(&self) -> &Arc<dyn Disk> {
        &self.disk
    }

    /// The files that are open at the moment.
    pub fn open_files(&self) -> usize {
        self.files.count()
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
    ///
    /// A file with a `key` is encrypted; page 0 says that, too, from the beginning.
    pub fn create(
        &self,
        id: SpaceId,
        path: &str,
        transform: Transform,
        key: Option<SpaceKey>,
        config: &Config,
    ) -> Result<Arc<Tablespace>> {
        self.add(id, path, OpenMode::Create, transform, key, config)
    }

    /// Opens an existing file. Whether it is encrypted, and by what key, is told by its page 0; if that page was never
    /// written, by `logged`, what the log says of it.
    pub fn open(
        &self,
        id: SpaceId,
        path: &str,
        transform: Transform,
        logged: Option<KeyInfo>,
        config: &Config,
    ) -> Result<Arc<Tablespace>> {
        let info = match encryption::read_info(&*self.disk, path, config.page_bytes) {
            Err(Error::Io { cause, .. }) if cause.kind() == std::io::ErrorKind::NotFound => {
                return Err(Error::NotFound(path.into()));
            }
            other => other?.or(logged),
        };
        let key = info.map(|info| self.key_ring.open_key(path, info)).transpose()?;
        self.add(id, path, OpenMode::ReadWrite, transform, key, config)
    }

    fn add(
        &self,
        id: SpaceId,
        path: &str,
        mode: OpenMode,
        transform: Transform,
        key: Option<SpaceKey>,
        config: &Config,
    ) -> Result<Arc<Tablespace>> {
        if self.get(id).is_some() {
            return Err(Error::Exists(format!("tablespace {id}").into()));
        }
        self.files.set_limit(config.open_files);
        let file = self.files.open(path, mode, data_caching(config)).map_err(|cause| match cause.kind() {
            std::io::ErrorKind::NotFound => Error::NotFound(path.into()),
            std::io::ErrorKind::AlreadyExists => Error::Exists(path.into()),
            _ => Error::from_io("open a tablespace", cause),
        })?;
        if mode == OpenMode::Create {
            let mut page = AlignedBuffer::new(config.page_bytes);
            header::init(&mut page, PageId::new(id, PageNo(0)), PageType::FSP_HDR);
            if let Some(key) = &key {
                encryption::mark(&mut page, &key.info());
            }
            header::seal(&mut page, Lsn::ZERO);
            file.write_at(0, &page).map_err(Error::io("write the first page of a tablespace"))?;
            if !id.is_temporary() {
                file.sync().map_err(Error::io("sync a tablespace"))?;
                self.disk.sync_directory(crate::io::parent(path)).map_err(Error::io("sync a directory"))?;
            }
        }
        let space = Arc::new(Tablespace::new(
            id,
            path,
            self.disk.clone(),
            file,
            transform,
            key,
            config,
            self.counters.clone(),
        )?);
        self.open.write().insert(id, space.clone());
        Ok(space)
    }

    /// Forgets a tablespace whose pages nobody uses any more; its file stays. Writes to it are skipped from here on.
    pub fn forget(&self, id: SpaceId) -> Option<Arc<Tablespace>> {
        // What is under way to it must find the file when its name is gone.
        self.get(id)?.file.pin();
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
        space.file.rename(to, || self.rename_file(&from, to))?;
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

/// Whether a tablespace is not a table's own: that of the system, and those of undo logs.
fn is_shared(id: SpaceId) -> bool {
    id == SpaceId(0) || id.0 >= 0xF000_0000
}

/// Before a file is written that way.
fn prepare(file: &dyn File, facts: &FileFacts, protection: TornProtection) {
    if protection == TornProtection::AtomicWrites
        && let Err(error) = file.expect_untorn(facts.block_bytes)
    {
        // It only costs space, and only for a while.
        tracing::debug!("a file's copies on write stay as large as the filesystem makes them: {error}");
    }
}

/// How files of pages are opened.
pub fn data_caching(config: &Config) -> Caching {
    match config.flush_method {
        FlushMethod::Fsync => Caching::Cached,
        FlushMethod::ODirect | FlushMethod::AllODirect => Caching::Direct,
    }
}
