//! The store: pool, redo log and tablespaces as one thing that mini-transactions run on.
//!
//! ```text
//!    Mtr ----> Store ----> Pool ------> Tablespaces ---> files
//!                |           |  Flushers     ^
//!                |           v       |       |
//!                +--------> Redo <---+-------+
//! ```
//!
//! It also owns the background threads, as threads around steps ([`cleaners`]): page cleaners (each a [`Flusher`]),
//! checkpoints, and the log's once-a-second flush. In an instance without threads (a simulator, a test) the thread that
//! reserves room runs the same steps, in [`Store::reserve_log`].
//!
//! Creating, renaming and removing a tablespace's file is logged first, so that recovery replays file operations like
//! page changes.
//!
//! Invariants:
//!
//! * A thread that waits here (for log, for frames) holds no latch.
//! * After [`Store::poison`], nothing is written any more (`gate`).

mod cleaners;

mod status;

pub mod aside;

use std::sync::{Arc, Weak};
use std::thread::JoinHandle;
use std::time::Duration;

use format::ids::{Lsn, PageId, PageNo, SpaceId};
use format::page::header::{self, PageType};
use format::redo::Record;

use self::aside::SetAside;
pub use self::cleaners::PageCleanerStatus;
use self::cleaners::{CLEANER_PERIOD, Cleaners};
pub use self::status::StoreStatus;
use crate::buffer::Pool;
use crate::buffer::cleaner_signals::CleanerSignals;
use crate::buffer::flush::{Aim, Flusher};
pub use crate::buffer::guard::{FrameHint, SharedGuard};
use crate::buffer::reader::Reader;
use crate::checkpoint;
use crate::config::{Config, FlushLogAtCommit};
use crate::error::{Error, Result};
use crate::freed::Freed;
use crate::gate::Health;
use crate::io::counted::FileCounts;
use crate::io::{Caching, Disk, OpenMode};
use crate::redo::{LogFile, Promise, Redo};
use crate::sync::{self, Mutex, Rank, RwLock};
use crate::tablespace::Tablespaces;
use crate::tablespace::encryption::KeyRing;
pub use crate::tablespace::{SpaceInfo, Tablespace, TornProtection, Transform};
use crate::trash::{self, Trash};

/// Frames that a mini-transaction may take: those of a split up to the root, and of the pages that it allocates.
const MTR_FRAMES: usize = 10;

/// Pages that a thread without cleaners writes at once when frames or log space run short.
const INLINE_PAGES: usize = 16;

/// The data directory.
pub struct Disks {
    /// Behind the gate.
    pub gated: Arc<dyn Disk>,
    /// The same, without a gate: for files that recovery never reads.
    pub scratch: Arc<dyn Disk>,
    /// What was done to the files of both.
    pub file_counts: Arc<FileCounts>,
}

/// See the module header.
pub struct Store {
    config: RwLock<Config>,
    disks: Disks,
    health: Arc<Health>,
    redo: Arc<Redo>,
    spaces: Arc<Tablespaces>,
    pool: Pool,
    trash: Trash,
    cleaners: Cleaners,
    freed: Freed,
    aside: SetAside,
    threads: Mutex<Vec<JoinHandle<()>>>,
    /// Held as long as the instance is open; another server finds the directory locked.
    _claim: Box<dyn Send + Sync>,
}

impl Store {
    /// Makes the files of a new instance: an empty redo log. Tablespaces are made by `create_space`, first of all 0.
    pub fn create(disk: &dyn Disk, config: &Config) -> Result<()> {
        let _claim = claim(disk)?;
        LogFile::create(disk, config)
    }

    /// A store on an open log, for `recovery`, which opens instances.
    pub fn assemble(
        disks: Disks,
        claim: Box<dyn Send + Sync>,
        config: Config,
        redo: Redo,
        spaces: Arc<Tablespaces>,
        health: Arc<Health>,
    ) -> Result<Store> {
        let redo = Arc::new(redo);
        let pool = Pool::new(&config, spaces.clone(), redo.clone(), health.clone())?;
        let cleaners = Cleaners::new(Flusher::new(&config, &pool)?);
        let waiters: Weak<Redo> = Arc::downgrade(&redo);
        health.register(waiters);
        let waiters: Weak<CleanerSignals> = Arc::downgrade(pool.cleaner_signals());
        health.register(waiters);
        for _ in 1..config.page_cleaners {
            cleaners.add(Flusher::new(&config, &pool)?);
        }
        Ok(Store {
            freed: Freed::new(format::page::space::extent_pages(config.page_bytes) as u32),
            aside: SetAside::new(Vec::new()),
            trash: Trash::new(disks.gated.clone(), config.drop_slice_bytes),
            config: RwLock::new(Rank::Leaf, config),
            disks,
            health,
            redo,
            spaces,
            pool,
            cleaners,
            threads: Mutex::new(Rank::Instance, Vec::new()),
            _claim: claim,
        })
    }

    pub fn config(&self) -> Config {
        self.config.read().clone()
    }

    /// Changes the options that may change at run time.
    pub fn set_config(&self, change: impl FnOnce(&mut Config)) {
        let config = {
            let mut config = self.config.write();
            change(&mut config);
            config.clone()
        };
        self.pool.configure(&config);
        for space in self.spaces.all() {
            space.set_punch(config.punch);
        }
        self.pool.cleaner_signals().wake();
    }

    pub fn disk(&self) -> &Arc<dyn Disk> {
        &self.disks.gated
    }

    /// The disk for files that recovery never reads, such as the runs of a sort: their failure affects only the
    /// statement that writes them.
    pub fn scratch_disk(&self) -> &Arc<dyn Disk> {
        &self.disks.scratch
    }

    /// What was done to the files of the data directory since the start.
    pub fn file_counts(&self) -> &FileCounts {
        &self.disks.file_counts
    }

    pub fn redo(&self) -> &Redo {
        &self.redo
    }

    pub fn pool(&self) -> &Pool {
        &self.pool
    }

    pub fn page_bytes(&self) -> usize {
        self.pool.frames_page_bytes()
    }

    // Pages

    /// Reads a page under a shared latch, without a mini-transaction. A thread latches a page once at a time: a second
    /// guard of the same page would wait for a writer that waits for the first.
    #[inline]
    pub fn read(&self, page: PageId) -> Result<SharedGuard<'_>> {
        Ok(SharedGuard::new(page, self.pool.fetch_shared(page)?))
    }

    /// Latches the page again if it is still in the same frame and has not changed since the hint was taken.
    #[inline]
    pub fn try_reacquire(&self, page: PageId, hint: FrameHint) -> Option<SharedGuard<'_>> {
        Some(SharedGuard::new(page, self.pool.reacquire(page, hint)?))
    }

    // Log

    /// Waits until the log has room for the changes to come. `Mtr::begin` does it. The caller has no latch and no
    /// other promise.
    #[inline]
    pub fn reserve_log(&self) -> Result<Promise<'_>> {
        self.health.check()?;
        if self.redo.is_tight() || self.redo.is_behind() || self.is_short_of_frames() || !self.pool.may_dirty() {
            self.wait_for_room(None)
        } else {
            Ok(self.redo.room().free())
        }
    }

    /// The same before a mini-transaction that writes about so many bytes, which are many.
    pub fn reserve_log_for(&self, bytes: u64) -> Result<Promise<'_>> {
        self.health.check()?;
        self.wait_for_room(Some(bytes))
    }

    /// Whether a statement may change one more row. Undoing the row and committing it takes frames and room in the log
    /// as well, so a full disk refuses the statement while there is some of both left. The caller holds no latch.
    #[inline]
    pub fn check_headroom(&self) -> Result<()> {
        let has_cleaners = self.pool.cleaner_signals().has_cleaners();
        match self.pool.check_disk() {
            // The cleaners write what they can.
            Ok(()) if has_cleaners => Ok(()),
            full => self.make_headroom(full),
        }
    }

    fn make_headroom(&self, full: Result<()>) -> Result<()> {
        let (dirty, frames) = (self.pool.dirty_count(), self.pool.frame_count());
        // Without cleaners mini-transactions stop at half of the frames, see `is_short_of_frames`.
        let frames_kept = if full.is_err() { frames / 4 } else { frames / 8 * 5 };
        if !self.redo.is_filling() && dirty < frames - frames_kept {
            return Ok(());
        }
        full?;
        self.flush_step(INLINE_PAGES).map(drop)
    }

    /// Without cleaners the calling thread itself provides frames for a mini-transaction.
    #[inline]
    fn is_short_of_frames(&self) -> bool {
        !self.pool.cleaner_signals().has_cleaners() && self.pool.dirty_count() > self.pool.frame_count() / 2
    }

    #[cold]
    fn wait_for_room(&self, bytes: Option<u64>) -> Result<Promise<'_>> {
        sync::assert_may_wait("waiting for room in the log");
        let room = self.redo.room();
        loop {
            self.make_room()?;
            if bytes.is_none() && !self.redo.is_tight() {
                return Ok(room.free());
            }
            match room.promise(bytes) {
                // Others may have filled the log meanwhile.
                Some(promise) if !self.redo.is_crowded() => return Ok(promise),
                Some(_) => {}
                None => room.wait(CLEANER_PERIOD),
            }
            self.health.check()?;
        }
    }

    /// Waits until the log and the pool have room, or makes it.
    fn make_room(&self) -> Result<()> {
        if self.redo.is_behind() {
            self.redo.write_until(self.redo.end())?;
        }
        let mut counted = false;
        while self.redo.is_crowded() {
            // Without cleaners no other thread applies what recovery left.
            if !self.pool.cleaner_signals().has_cleaners()
                && (self.apply_pending(INLINE_PAGES)? > 0 || self.pool.pending_redo().is_some_and(|redo| redo.let_go()))
            {
                continue;
            }
            if !std::mem::replace(&mut counted, true) {
                self.redo.counters.waits.add(1);
            }
            self.health.check()?;
            self.pool.check_disk()?;
            self.pool.cleaner_signals().request_sync();
            if !self.pool.cleaner_signals().wait_for_progress(CLEANER_PERIOD) {
                // Flush down to half of the ring, so that not every mini-transaction pays.
                let target = Lsn(self.redo.end().0 - self.redo.capacity() / 2);
                let first = self.cleaners.first();
                let written = first.flusher.lock().step(&self.pool, Aim::OlderThan(target), INLINE_PAGES)?;
                if written == 0 {
                    self.pool.sync_written()?;
                    if !checkpoint::step(&self.pool, &self.redo, 1)? && self.redo.is_held_back() {
                        return Err(Error::Io {
                            doing: "make room in the redo log",
                            cause: Arc::new(std::io::Error::other("it is full of what belongs to another log")),
                        });
                    }
                }
            }
        }
        while !self.pool.may_dirty() && self.pool.cleaner_signals().has_cleaners() {
            self.health.check()?;
            self.pool.check_disk()?;
            self.pool.cleaner_signals().wait_for_progress(CLEANER_PERIOD);
        }
        self.reserve_frames()
    }

    /// Without cleaners: writes pages until there are enough free frames. On a full disk the frames that statements
    /// leave (`check_headroom`) are for undoing and committing. The caller holds no latch.
    fn reserve_frames(&self) -> Result<()> {
        while self.is_short_of_frames() {
            match self.flush_step(INLINE_PAGES) {
                Err(Error::DiskFull { .. }) if self.has_frames_for_undo() => return Ok(()),
                written => drop(written?),
            }
        }
        Ok(())
    }

    /// Whether a full disk leaves frames and room in the log for the last mini-transaction of a transaction.
    pub fn may_end(&self) -> bool {
        self.pool.may_dirty() && !self.redo.is_full()
    }

    fn has_frames_for_undo(&self) -> bool {
        let frames = self.pool.frame_count();
        frames - self.pool.dirty_count() > (frames / 4).max(MTR_FRAMES)
    }

    /// Applies the redo that recovery left to the next pages. Returns how many; 0: other threads work on the rest, or
    /// none is left.
    pub fn apply_pending(&self, pages: usize) -> Result<usize> {
        self.health.check()?;
        self.reserve_frames()?;
        let room = self.pool.frame_count() / 4;
        let error = match self.pool.apply_pending(pages.min(room)) {
            Err(error) => error,
            applied => return applied,
        };
        // A table's page is skipped, and its redo kept. Recovery may not skip any other page that it cannot read.
        if let Error::Corrupt { page: Some(page), what } = &error
            && !aside::is_vital(page.space)
            && let Some(redo) = self.pool.pending_redo().filter(|redo| redo.wants(*page))
        {
            self.put_aside(redo.take_out(*page, what))?;
            redo.set_done(*page);
            return Ok(1);
        }
        // The page stays in the queue: the operator may free disk space, or the next read may succeed.
        if !error.is_of_the_moment() {
            self.health.poison(&error);
        }
        Err(error)
    }

    /// Applies all of it, together with other threads that do. The pages are dirty then, or as they were written.
    pub fn apply_all_pending(&self) -> Result<()> {
        while self.pool.pending_pages() > 0 {
            if self.apply_pending(INLINE_PAGES)? == 0 {
                std::thread::sleep(Duration::from_micros(100));
            }
        }
        Ok(())
    }

    /// Makes the log durable up to `lsn`; one leader syncs for all waiters.
    #[inline]
    pub fn flush_log(&self, lsn: Lsn) -> Result<()> {
        self.redo.flush_until(lsn)
    }

    /// What a commit at `lsn` waits for, by `flush_log_at_commit`.
    pub fn commit_log(&self, lsn: Lsn) -> Result<()> {
        let policy = self.config.read().flush_log_at_commit;
        match policy {
            FlushLogAtCommit::Sync => {
                if self.redo.flushed() < lsn {
                    self.redo.gathering.wait();
                }
                self.redo.flush_until(lsn)
            }
            FlushLogAtCommit::Write => self.redo.write_until(lsn),
            FlushLogAtCommit::EverySecond => self.health.check(),
        }
    }

    pub fn current_lsn(&self) -> Lsn {
        self.redo.end()
    }

    pub fn flushed_lsn(&self) -> Lsn {
        self.redo.flushed()
    }

    /// Logs records that change no page, all or none, and makes them durable.
    fn log_durably(&self, records: &[Record<'_>]) -> Result<Lsn> {
        let mut bytes = Vec::with_capacity(128);
        for record in records {
            record.encode(&mut None, &mut bytes);
        }
        let _room = match records.len() {
            0..4 => self.reserve_log()?,
            _ => self.reserve_log_for(bytes.len() as u64)?,
        };
        let (_, end) = self.redo.append(&bytes, |_, _| ());
        self.redo.flush_until(end)?;
        Ok(end)
    }

    // Tablespaces

    /// Creates the file `path` (relative to the data directory) and logs that. It has no pages yet:
    /// `segment::init_space` makes them. Exists if path or id are taken.
    pub fn create_space(&self, id: SpaceId, path: &str, transform: Transform) -> Result<Arc<Tablespace>> {
        let mut made = self.create_spaces(&[(id, path, transform)])?;
        Ok(made.remove(0))
    }

    /// The same for several files, all or none: they are logged and synced together.
    pub fn create_spaces(&self, files: &[(SpaceId, &str, Transform)]) -> Result<Vec<Arc<Tablespace>>> {
        for (id, path, _) in files {
            let taken = self.disks.gated.exists(path).map_err(Error::io("look for a tablespace"))?;
            if taken || self.spaces.get(*id).is_some() {
                return Err(Error::Exists((*path).into()));
            }
        }
        // First the log, then the files: so no file is there that the log does not know.
        let mut keyed = Vec::with_capacity(files.len());
        for (id, path, transform) in files {
            let key = transform.encrypted.then(|| self.spaces.key_ring().make_key(path)).transpose()?;
            keyed.push((*id, *path, *transform, key));
        }
        let infos: Vec<_> = keyed.iter().map(|(.., key)| key.as_ref().map(|key| key.info().to_bytes())).collect();
        // The key with the file: recovery may have to make both.
        let mut records = Vec::new();
        for ((id, path, transform), info) in files.iter().zip(&infos) {
            records.extend(info.as_ref().map(|info| Record::FileKey { space: *id, info }));
            records.push(Record::FileCreate { space: *id, flags: transform.to_flags(), name: path });
        }
        self.log_durably(&records)?;
        let created = self.health.judge(self.spaces.create_several(keyed, &self.config()));
        if created.is_err() && !self.health.is_poisoned() {
            let gone: Vec<_> = files.iter().map(|(id, path, _)| (*id, path.to_string())).collect();
            self.log_deletions(&gone)?;
            gone.iter().try_for_each(|(_, path)| self.spaces.remove_file(path))?;
        }
        created
    }

    fn log_deletions(&self, gone: &[(SpaceId, String)]) -> Result<Lsn> {
        let records: Vec<Record<'_>> =
            gone.iter().map(|(id, path)| Record::FileDelete { space: *id, name: path }).collect();
        self.log_durably(&records)
    }

    /// Creates the file of a temporary tablespace, which is not logged and unknown at the next start.
    pub fn create_temporary_space(&self, id: SpaceId, path: &str, transform: Transform) -> Result<Arc<Tablespace>> {
        assert!(id.is_temporary(), "tablespace {id} is to survive a restart");
        let key = transform.encrypted.then(|| self.spaces.key_ring().make_key(path)).transpose()?;
        let created = self.spaces.create(id, path, transform, key, &self.config());
        if created.is_err() {
            // An incomplete file would be removed only at the next start.
            let _ = self.disks.gated.remove(path);
        }
        created
    }

    /// Forgets a temporary tablespace, and removes its file.
    pub fn drop_temporary_space(&self, id: SpaceId) -> Result<()> {
        let path = self.spaces.find(id)?.path();
        self.spaces.forget(id);
        self.trash.throw(id, &path)
    }

    /// Opens the existing file of a tablespace. One that is open already is returned as it is.
    pub fn open_space(&self, id: SpaceId, path: &str, transform: Transform) -> Result<Arc<Tablespace>> {
        if let Some(space) = self.spaces.get(id) {
            space.set_transform(transform);
            return Ok(space);
        }
        self.spaces.open(id, path, transform, None, &self.config())
    }

    /// Where the master keys of encrypted tablespaces are.
    pub fn key_ring(&self) -> &KeyRing {
        self.spaces.key_ring()
    }

    /// The space id that a file carries; `None` if it is no tablespace.
    pub fn probe_space(&self, path: &str) -> Result<Option<SpaceId>> {
        probe(&*self.disks.gated, path)
    }

    /// Logs the deletion durably, forgets the tablespace, and removes its file. [`Store::trash_step`] removes the rest
    /// of a large file and its pages in the pool in the background. The caller guarantees that its pages are
    /// unused.
    pub fn drop_space(&self, id: SpaceId) -> Result<()> {
        let space = self.spaces.find(id)?;
        self.drop_spaces(&[(id, &space.path())])
    }

    /// The same for several tablespaces, which need not be open: then their files are at these paths. They are logged
    /// together, and a directory is synced once.
    pub fn drop_spaces(&self, gone: &[(SpaceId, &str)]) -> Result<()> {
        let open: Vec<(SpaceId, String)> = gone
            .iter()
            .filter_map(|(id, _)| self.spaces.get(*id))
            .map(|space| (space.id(), space.path().to_string()))
            .collect();
        if !open.is_empty() {
            self.log_deletions(&open)?;
        }
        for (id, _) in &open {
            self.spaces.forget(*id);
        }
        let is_open = |id: SpaceId| open.iter().find(|(open, _)| *open == id);
        let files: Vec<(SpaceId, &str)> =
            gone.iter().map(|(id, path)| (*id, is_open(*id).map_or(*path, |(_, path)| path.as_str()))).collect();
        self.trash.throw_several(&files)
    }

    /// Dropped tablespaces that are not removed entirely.
    pub fn trash(&self) -> &Trash {
        &self.trash
    }

    /// Extents with freed pages.
    pub fn freed(&self) -> &Freed {
        &self.freed
    }

    /// One bounded step of removing dropped tablespaces. True if there is more to do.
    pub fn trash_step(&self) -> Result<bool> {
        self.trash.step(&self.pool, trash::STEP_TIME)
    }

    /// Logs and performs the rename of a tablespace's file. The new name must be free.
    pub fn rename_space(&self, id: SpaceId, path: &str) -> Result<()> {
        let from = self.spaces.find(id)?.path();
        if self.disks.gated.exists(path).map_err(Error::io("look for a tablespace"))? {
            return Err(Error::Exists(path.into()));
        }
        self.log_durably(&[Record::FileRename { space: id, from: &from, to: path }])?;
        // The log says that the rename has happened, so from here on it must succeed.
        self.health.judge(self.spaces.rename(id, path))
    }

    /// Renames a file that is no tablespace of this instance, durably, if it is there and the new name is free.
    pub fn rename_file(&self, from: &str, to: &str) -> Result<()> {
        let is_there = |path: &str| self.disks.gated.exists(path).map_err(Error::io("look for a file"));
        match is_there(from)? && !is_there(to)? {
            true => self.spaces.rename_file(from, to),
            false => Ok(()),
        }
    }

    pub fn space(&self, id: SpaceId) -> Option<Arc<Tablespace>> {
        self.spaces.get(id)
    }

    /// The open tablespaces, in the order of their ids.
    pub fn spaces(&self) -> Vec<Arc<Tablespace>> {
        self.spaces.all()
    }

    /// Pages that the tablespace's file has room for.
    pub fn space_pages(&self, id: SpaceId) -> Result<PageNo> {
        Ok(PageNo(self.spaces.find(id)?.pages()))
    }

    // Close and flush

    /// Writes all dirty pages of one tablespace and syncs it (FLUSH TABLES ... FOR EXPORT, OPTIMIZE).
    pub fn flush_space(&self, id: SpaceId) -> Result<()> {
        self.apply_all_pending()?;
        let space = self.spaces.find(id)?;
        self.flush_all(Aim::Space(id), || self.pool.is_space_dirty(id))?;
        space.sync()?;
        self.health.check()
    }

    /// Rewrites all pages of a tablespace, durably: each in the form that its transform has now.
    pub fn rewrite_space(&self, id: SpaceId) -> Result<()> {
        for number in 1..self.space_pages(id)?.0 {
            let page = PageId::new(id, PageNo(number));
            let _room = self.reserve_log()?;
            let latch = match self.pool.fetch_exclusive(page) {
                // A free page may hold anything.
                Err(Error::Corrupt { .. }) => continue,
                other => other?,
            };
            // The content does not change, so nothing is logged.
            if !header::is_zero(&latch) {
                self.redo.at_rest(|end| self.pool.mark_dirty(&latch, end));
            }
        }
        self.flush_space(id)
    }

    /// Writes all dirty pages and a checkpoint. Under load: those that are dirty at the call.
    pub fn checkpoint(&self) -> Result<()> {
        self.apply_all_pending()?;
        let target = self.redo.end();
        let is_older = |lsn: Option<Lsn>| lsn.is_some_and(|lsn| lsn < target);
        self.flush_all(Aim::OlderThan(target), || is_older(self.pool.oldest_dirty_lsn()))?;
        self.pool.sync_written()?;
        checkpoint::step(&self.pool, &self.redo, 1)?;
        self.pool.cleaner_signals().notify_progress();
        self.health.check()
    }

    /// Moves the checkpoint as far as it may go.
    pub fn checkpoint_step(&self) -> Result<bool> {
        checkpoint::step(&self.pool, &self.redo, 1)
    }

    /// Writes pages with all flushers at once (without threads: with one) until there are no more.
    fn flush_all(&self, aim: Aim, more: impl Fn() -> bool + Sync) -> Result<()> {
        sync::assert_no_latches("flushing");
        let mut cleaners = self.cleaners.all();
        if !self.config().background_threads {
            cleaners.truncate(1);
        }
        let results = sync::in_parallel(&cleaners, |cleaner| {
            while more() {
                let written = cleaner.flusher.lock().step(&self.pool, aim, usize::MAX)?;
                if written == 0 {
                    // The rest is latched, or another cleaner is writing it.
                    std::thread::sleep(Duration::from_micros(100));
                }
            }
            Ok(())
        });
        results.into_iter().collect::<Result<()>>()?;
        // The pages that other cleaners have taken are written when their steps are over.
        for cleaner in self.cleaners.all() {
            drop(cleaner.flusher.lock());
        }
        Ok(())
    }

    /// Stops the threads, writes everything, and marks the log clean. The store answers Poisoned afterwards.
    pub fn close(&self) -> Result<()> {
        self.stop_threads();
        self.health.check()?;
        self.checkpoint()?;
        let end = self.redo.end();
        self.redo.flush_until(end)?;
        // An annex that is needed after the next start is only in the log.
        if !self.redo.hold.is_held() {
            // The next start compares exactly. A page that cannot be read keeps its older stamp.
            self.redo.stamps.advance(end, |page| Some(header::lsn(&self.pool.fetch_shared(page).ok()?)));
            self.redo.write_checkpoint(end, true)?;
        }
        if !self.redo.hold.is_held() && self.redo.file().wants_resize(&self.config()) {
            LogFile::resize(&*self.disks.gated, &self.config(), self.redo.checkpoint())?;
        }
        self.health.close();
        Ok(())
    }

    /// Ends all writing; every change answers Poisoned from then on.
    pub fn poison(&self, reason: &str) {
        self.health.poison(&reason);
    }

    pub fn is_poisoned(&self) -> bool {
        self.health.is_poisoned()
    }

    pub fn health(&self) -> &Arc<Health> {
        &self.health
    }

    /// Serves one read-ahead request, for a simulator without threads. False if there was none.
    pub fn read_ahead_step(&self) -> bool {
        self.pool.tend_compressed_cache();
        Reader::default().step(&self.pool)
    }

    /// One bounded batch of page cleaning, for a simulator without threads. Returns pages written.
    pub fn flush_step(&self, pages_max: usize) -> Result<usize> {
        sync::assert_no_latches("flushing");
        self.pool.set_time(self.disks.gated.clock().now());
        let first = self.cleaners.first();
        let written = first.flusher.lock().step(&self.pool, Aim::OlderThan(Lsn::MAX), pages_max)?;
        if written < pages_max {
            self.pool.sync_written()?;
        }
        checkpoint::step(&self.pool, &self.redo, self.redo.capacity() / 16)?;
        Ok(written)
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        // Without a close the instance is left as a crash would leave it. The threads hold no reference while they wait,
        // and end by themselves.
        self.pool.cleaner_signals().close();
        self.pool.read_ahead().close();
    }
}

/// Claims the data directory for this process.
pub fn claim(disk: &dyn Disk) -> Result<Box<dyn Send + Sync>> {
    disk.lock().map_err(|cause| match cause.kind() {
        std::io::ErrorKind::WouldBlock => Error::Exists("another server on this data directory".into()),
        _ => Error::from_io("lock the data directory", cause),
    })
}

/// The space id that a file carries in the header of its page 0. The page need not be whole: the header lies in one
/// sector.
pub fn probe(disk: &dyn Disk, path: &str) -> Result<Option<SpaceId>> {
    let file = disk.open(path, OpenMode::Read, Caching::Cached).map_err(Error::io("open a tablespace"))?;
    let mut start = [0; header::BODY];
    file.read_at(0, &mut start).map_err(Error::io("read a page"))?;
    let is_first = header::page_no(&start) == PageNo(0) && header::page_type(&start) == PageType::FSP_HDR;
    Ok(is_first.then(|| header::space_id(&start)))
}
