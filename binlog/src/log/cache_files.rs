//! Where the caches of transactions have their files and threads.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use format::binlog::Checksum;
use storage::io::Disk;
use storage::sync::Mutex;
use storage::{Engine, Result};

use crate::compressors::Compressors;
use crate::files::io;
use crate::spill::{Files, Spilled};
use crate::workers::Workers;

/// Files of transactions that are too long for memory begin so.
const CACHE_PREFIX: &str = "#binlog_cache_";

/// Room in front of a long transaction, beside what the head of a file needs now.
const ROOM_BYTES: u64 = 8 << 10;

/// The files of long transactions, in the directory of the log.
pub(super) struct CacheFiles {
    pub engine: Arc<Engine>,
    pub number: AtomicU64,
    /// Bytes that the newest file of the log has before its transactions.
    pub head_bytes: AtomicU64,
    /// binlog_checksum.
    pub has_checksums: AtomicBool,
    pub unsynced: Mutex<Vec<Arc<Spilled>>>,
    /// Empty: sessions pack their events themselves.
    pub workers: OnceLock<Arc<Workers>>,
    pub compressors: Compressors,
}

impl Drop for CacheFiles {
    fn drop(&mut self) {
        // A worker may be the last to drop it, so nobody waits here.
        if let Some(workers) = self.workers.get() {
            workers.stop();
        }
    }
}

impl CacheFiles {
    /// The transaction hears of an error when it syncs.
    pub(super) fn sync(&self) {
        let files = std::mem::take(&mut *self.unsynced.lock());
        for file in files {
            let _ = file.sync();
        }
    }
}

impl Files for CacheFiles {
    fn create(&self) -> Result<(Spilled, u64)> {
        let number = self.number.fetch_add(1, Ordering::Relaxed);
        let disk = self.engine.store().scratch_disk().clone();
        // Names of other sources' transactions may come meanwhile.
        let room = (2 * self.head_bytes.load(Ordering::Relaxed)).next_multiple_of(4096) + ROOM_BYTES;
        Ok((Spilled::create(disk, format!("{CACHE_PREFIX}{number}"))?, room))
    }

    fn sync_soon(&self, file: &Arc<Spilled>) {
        {
            let mut unsynced = self.unsynced.lock();
            if unsynced.iter().any(|other| Arc::ptr_eq(other, file)) {
                return;
            }
            unsynced.push(file.clone());
        }
        self.engine.annex_hold().want();
    }

    fn workers(&self) -> Option<&Arc<Workers>> {
        self.workers.get()
    }

    fn checksum(&self) -> Checksum {
        match self.has_checksums.load(Ordering::Relaxed) {
            true => Checksum::Crc32,
            false => Checksum::None,
        }
    }

    fn compressors(&self) -> &Compressors {
        &self.compressors
    }
}

/// Removes what a crash left of transactions' caches.
pub(super) fn remove_caches(disk: &dyn Disk) -> Result<()> {
    for entry in disk.list("").map_err(io("list the data directory"))? {
        if !entry.is_directory && entry.name.starts_with(CACHE_PREFIX) {
            disk.remove(&entry.name).map_err(io("remove the cache of a transaction's events"))?;
        }
    }
    Ok(())
}
