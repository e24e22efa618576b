//! The open tablespaces, by id.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use format::ids::{Lsn, PageId, PageNo, SpaceId};
use format::page::header::{self, PageType};
use rustc_hash::FxHashMap;

use super::encryption::{self, KeyInfo, KeyRing, SpaceKey};
use super::open_files::OpenFiles;
use super::space::Tablespace;
use super::statistics::IoCounters;
use super::transform::Transform;
use crate::config::{Config, FlushMethod};
use crate::error::{Error, Result};
use crate::io::{AlignedBuffer, Caching, Disk, File, OpenMode};
use crate::sync::{Rank, RwLock};

/// The open tablespaces by id.
pub struct Tablespaces {
    disk: Arc<dyn Disk>,
    open: RwLock<FxHashMap<SpaceId, Arc<Tablespace>>>,
    files: Arc<OpenFiles>,
    key_ring: KeyRing,
    /// End of the redo log at the start, see `future`.
    log_end: Lsn,
    counters: Arc<IoCounters>,
}

impl Tablespaces {
    /// `log_end`: the end of the redo log. Pages found on the disk with a newer LSN are refused.
    pub fn new(disk: Arc<dyn Disk>, config: &Config, log_end: Lsn) -> Tablespaces {
        let key_ring = KeyRing::new(disk.clone(), config);
        let files = OpenFiles::new(disk.clone());
        let open = RwLock::new(Rank::Space, FxHashMap::default());
        Tablespaces { disk, open, files, key_ring, log_end, counters: Arc::default() }
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

    /// Creates a file; its name is durable on return, and so is an empty page 0. From here on the file identifies its
    /// tablespace, whatever a crash does to page 0: the header lies in one sector, which is always a whole one.
    ///
    /// A file with a `key` is encrypted; page 0 says so from the beginning.
    pub fn create(
        &self,
        id: SpaceId,
        path: &str,
        transform: Transform,
        key: Option<SpaceKey>,
        config: &Config,
    ) -> Result<Arc<Tablespace>> {
        let made = self.add(id, path, OpenMode::Create, transform, key, config)?;
        if !id.is_temporary()
            && let Err(error) = self.sync_new(std::slice::from_ref(&made))
        {
            self.forget(id);
            return Err(error);
        }
        Ok(made)
    }

    /// The same for several files: all or none of them are known afterwards. Syncs that follow each other cost less than
    /// those between which files are made, and a directory is synced once.
    pub fn create_several(
        &self,
        files: Vec<(SpaceId, &str, Transform, Option<SpaceKey>)>,
        config: &Config,
    ) -> Result<Vec<Arc<Tablespace>>> {
        let mut made = Vec::with_capacity(files.len());
        let done = files.into_iter().try_for_each(|(id, path, transform, key)| {
            made.push(self.add(id, path, OpenMode::Create, transform, key, config)?);
            Ok(())
        });
        match done.and_then(|()| self.sync_new(&made)) {
            Ok(()) => Ok(made),
            Err(error) => {
                for space in made {
                    self.forget(space.id);
                }
                Err(error)
            }
        }
    }

    /// Makes new files durable, and their names.
    fn sync_new(&self, made: &[Arc<Tablespace>]) -> Result<()> {
        let mut directories: Vec<&str> = Vec::new();
        let paths: Vec<Box<str>> = made.iter().map(|space| space.path().into()).collect();
        for (space, path) in made.iter().zip(&paths) {
            space.file.sync().map_err(Error::io("sync a tablespace"))?;
            let directory = crate::io::parent(path);
            if !directories.contains(&directory) {
                directories.push(directory);
            }
        }
        directories
            .into_iter()
            .try_for_each(|directory| self.disk.sync_directory(directory).map_err(Error::io("sync a directory")))
    }

    /// Opens an existing file. Its page 0 says whether it is encrypted, and by what key; if that page was never
    /// written, `logged`, the log's record of it, does.
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
        }
        let space = Arc::new(Tablespace::new(
            id,
            path,
            self.disk.clone(),
            file,
            transform,
            key,
            config,
            self.log_end,
            self.counters.clone(),
        )?);
        self.open.write().insert(id, space.clone());
        Ok(space)
    }

    /// Forgets a tablespace whose pages are not used any more; its file stays. Writes to it are skipped from here on.
    pub fn forget(&self, id: SpaceId) -> Option<Arc<Tablespace>> {
        // I/O in progress must find the file when its name is gone.
        self.get(id)?.file.pin();
        let space = self.open.write().remove(&id)?;
        space.dropped.store(true, Ordering::Release);
        Some(space)
    }

    /// Removes a file by name, durably. A missing file is fine: it may have been removed before.
    pub fn remove_file(&self, path: &str) -> Result<()> {
        match self.disk.remove(path) {
            Err(cause) if cause.kind() != std::io::ErrorKind::NotFound => {
                return Err(Error::from_io("remove a tablespace", cause));
            }
            _ => {}
        }
        self.disk.sync_directory(crate::io::parent(path)).map_err(Error::io("sync a directory"))
    }

    /// Renames a file, durably.
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

/// How files of pages are opened.
pub fn data_caching(config: &Config) -> Caching {
    match config.flush_method {
        FlushMethod::Fsync => Caching::Cached,
        FlushMethod::ODirect | FlushMethod::AllODirect => Caching::Direct,
    }
}
