//! One open file of pages.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use format::ids::{Lsn, PageNo, SpaceId};

use super::encryption::SpaceKey;
use super::future::FuturePages;
use super::layout::Layout;
use super::layout::pages::{Form, PageState, stored_state};
use super::open_files::OnDemandFile;
use super::statistics::{self, CompressionStats, IoCounters, SpaceCounters};
use super::torn::{self, Choice, LockRequests, TornProtection};
use super::transform::{Algorithm, Transform};
use crate::config::Config;
use crate::error::{Error, Result};
use crate::io::{ALIGNMENT, AlignedBuffer, Disk, File, FileFacts};
use crate::schema::AtomicWrites;
use crate::sync::{Mutex, Rank};

/// One open file of pages.
pub struct Tablespace {
    pub(super) id: SpaceId,
    pub(super) path: Mutex<String>,
    pub(super) disk: Arc<dyn Disk>,
    pub(super) file: Arc<OnDemandFile>,
    pub(super) facts: FileFacts,
    pub(super) page_bytes: usize,
    pub(super) layout: Layout,
    pub(super) future: FuturePages,
    /// As [`Transform::to_flags`] has it.
    pub(super) transform: AtomicU32,
    /// Of an encrypted file.
    pub(super) key: OnceLock<SpaceKey>,
    /// Its blocks are reserved when it grows (`Config::reserve_blocks`).
    pub(super) reserve_blocks: bool,
    /// A [`TornProtection`], for writers.
    pub(super) protection: AtomicU8,
    pub(super) torn: Mutex<Torn>,
    /// Pages reserved for operations in progress, see `segment::reserve`.
    pub(super) reserved_pages: AtomicU32,
    /// Pages that are being punched, as (first, end): dirty ones among them are written later. 0 = none.
    pub(super) releasing: AtomicU64,
    /// The file is being removed: dirty pages need not be written.
    pub(super) dropped: AtomicBool,
    pub(super) counters: SpaceCounters,
}

/// What a tablespace that grows does on a full disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Growth {
    /// It does not grow.
    Reserved,
    /// It grows without blocks.
    Sparse,
}

/// How the protection from torn pages was chosen.
pub(super) struct Torn {
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
    /// The unit in which the filesystem allocates and frees, even if it is larger than a page.
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
    pub(super) fn new(
        id: SpaceId,
        path: &str,
        disk: Arc<dyn Disk>,
        file: Arc<OnDemandFile>,
        transform: Transform,
        key: Option<SpaceKey>,
        config: &Config,
        log_end: Lsn,
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
            future: FuturePages::new(log_end),
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

    /// The unit of a stored page's length; the page size if the filesystem's block does not divide it.
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

    /// Gives a key to a file that was plain so far, durable on its page 0: its pages may be encrypted from here on.
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

    /// An untorn write has failed. The file switches to other means.
    pub(super) fn refuse_atomic_writes(&self, cause: &std::io::Error) {
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
    /// A compressed tablespace grows sparsely, because it is unknown how much its pages will need; a plain one reserves
    /// its blocks now, while a full disk is still an ordinary error.
    pub fn extend(&self, pages: u32, growth: Growth) -> Result<()> {
        let sparse = self.transform().algorithm != Algorithm::NONE && self.layout.shortens();
        let extended = self.layout.extend(pages, self.reserve_blocks && !sparse, growth == Growth::Sparse);
        extended.map_err(Error::io("extend a tablespace"))
    }

    /// Sets the smaller number of pages. Page 0 is latched and says so, and no page behind them is dirty.
    pub fn shrink_to(&self, pages: u32) {
        self.layout.shrink_to(pages);
    }

    /// Truncates the file to its number of pages. The log has the new size durably.
    pub fn cut(&self) -> Result<()> {
        self.layout.cut().map_err(Error::io("cut a tablespace"))
    }

    pub fn sync(&self) -> Result<()> {
        // A temporary file need not be durable.
        if self.is_dropped() || self.id.is_temporary() {
            return Ok(());
        }
        self.counters.total.data_fsyncs.add(1);
        self.layout.sync(&self.counters).map_err(Error::io("sync a tablespace"))
    }

    /// From here on these pages are not written, until [`Tablespace::end_release`]. Page 0 is latched, and no copy of
    /// any free one among them is being written.
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

    /// Frees the blocks of free pages; from here on they read as zero. Their content is not needed any more, not even
    /// by recovery. Returns the bytes that were freed.
    pub fn release_pages(&self, pages: std::ops::Range<u32>) -> Result<u64> {
        self.layout.release(pages, &self.counters).map_err(Error::io("ask for a page's blocks"))
    }

    /// How the pages are stored now, as far as known: [`Tablespace::survey`] completes it.
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

    /// Examines up to `pages_max` pages of unknown form, by their first bytes on disk. Returns whether there are more.
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
                    self.future.note(page, &start, || self.layout.known(page).state().is_none());
                    // A page that makes no sense counts as plain, with the blocks that it occupies.
                    stored_state(&start, self.page_bytes).unwrap_or(PageState::plain(self.page_bytes))
                }
            };
            self.layout.learn_blocks(page, known, state).map_err(Error::io("ask for a page's blocks"))?;
        }
        Ok(more)
    }
}

/// Whether a tablespace is shared by all tables: the system tablespace, and those of undo logs.
fn is_shared(id: SpaceId) -> bool {
    id == SpaceId(0) || id.0 >= 0xF000_0000
}

/// Allocates no more than a block per copy on write in a file that is about to be written untorn.
fn prepare(file: &dyn File, facts: &FileFacts, protection: TornProtection) {
    if protection == TornProtection::AtomicWrites
        && let Err(error) = file.expect_untorn(facts.block_bytes)
    {
        // A failure only costs space, and only for a while.
        tracing::debug!("a file's copies on write stay as large as the filesystem makes them: {error}");
    }
}
