//! What the engine shows about itself: counters and tablespaces.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use super::Engine;
use super::rollbacks::RollbackStatus;
use super::trx::Counts;
use crate::dictionary::{Table, display_of_path};
use crate::error::Result;
use crate::recovery::{UNDO_PATH, UNDO_SPACE};
use crate::schema::Compression;
use crate::segment;
use crate::store::{PageCleanerStatus, StoreStatus};
use crate::tablespace::{CompressionStats, SpaceInfo, TornProtection};
use format::ids::SpaceId;
use format::page::space::Flags;
use rustc_hash::FxHashMap;

/// Pages of unknown state that one step examines.
const SURVEY_PAGES: usize = 256;

/// A counter that many threads add to.
#[derive(Default)]
pub(super) struct Counter(AtomicU64);

impl Counter {
    #[inline]
    pub fn add(&self, count: u64) {
        self.0.fetch_add(count, Ordering::Relaxed);
    }

    fn read(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Counters of the engine.
#[derive(Default)]
pub(super) struct Counters {
    rows_read: Counter,
    rows_inserted: Counter,
    rows_updated: Counter,
    rows_deleted: Counter,
    pub commits: Counter,
    pub rollbacks: Counter,
}

impl Counters {
    /// Adds a transaction's counts.
    #[inline]
    pub fn tell(&self, counts: &Counts) {
        let pairs = [
            (counts.read, &self.rows_read),
            (counts.inserted, &self.rows_inserted),
            (counts.updated, &self.rows_updated),
            (counts.deleted, &self.rows_deleted),
        ];
        for (count, counter) in pairs {
            if count > 0 {
                counter.add(count);
            }
        }
    }
}

/// Counters since start, and levels now. All are plain numbers.
#[derive(Clone, Debug, Default)]
pub struct EngineStatus {
    pub store: StoreStatus,
    pub rows_read: u64,
    pub rows_inserted: u64,
    pub rows_updated: u64,
    pub rows_deleted: u64,
    pub row_lock_waits: u64,
    pub row_lock_waits_now: u64,
    pub row_lock_time_us: u64,
    pub row_lock_time_max_us: u64,
    pub deadlocks: u64,
    pub lock_timeouts: u64,
    pub locks_held: u64,
    /// Memory that record locks take.
    pub lock_bytes: u64,
    pub history_list_length: u64,
    pub undo_purged: u64,
    /// How often the undo tablespace was truncated.
    pub undo_truncations: u64,
    /// Commit numbers below this one are purged, or about to be.
    pub purged_below: u64,
    pub trx_active: u64,
    pub trx_commits: u64,
    pub trx_rollbacks: u64,
    /// Transactions that are prepared (XA) and wait.
    pub trx_prepared: u64,
    /// Rollbacks that recovery or a device error left to the background.
    pub rollbacks: RollbackStatus,
    pub trx_id_next: u64,
    /// Open read views of statements and transactions.
    pub read_views: u64,
    /// Holes are punched in the system tablespace's file, and so in this data directory.
    pub punch_hole: bool,
}

/// What INNODB_TABLESPACES shows of one.
#[derive(Clone, Debug)]
pub struct TablespaceInfo {
    pub space: u32,
    /// `database/table`, `innodb_system`, `innodb_undo_001`.
    pub name: String,
    pub path: String,
    /// As in the FSP header.
    pub flags: u32,
    pub page_bytes: u64,
    /// Blocks of the filesystem.
    pub block_bytes: u64,
    /// The file's length.
    pub file_bytes: u64,
    /// What it takes on the device.
    pub allocated_bytes: u64,
    /// The current setting, never `Default`: how pages are written from now on, not how all of them are stored.
    pub compression: Compression,
    pub compression_level: u8,
    pub encrypted: bool,
    /// The kind of filesystem that it lies on.
    pub filesystem: &'static str,
    /// Pages can be stored in less than their size.
    pub shortens: bool,
    /// Whether holes are punched in this file, and why, or why not.
    pub punch: bool,
    pub punch_reason: String,
    /// How torn pages are prevented, and why that way.
    pub torn_protection: TornProtection,
    pub torn_reason: String,
    /// Not a table's file.
    pub system: bool,
}

impl Engine {
    pub fn status(&self) -> EngineStatus {
        let inner = &self.inner;
        let locks = inner.locks.counters();
        let undo = inner.undo.status();
        EngineStatus {
            store: inner.store.status(),
            rows_read: inner.counters.rows_read.read(),
            rows_inserted: inner.counters.rows_inserted.read(),
            rows_updated: inner.counters.rows_updated.read(),
            rows_deleted: inner.counters.rows_deleted.read(),
            row_lock_waits: locks.waits,
            row_lock_waits_now: locks.waits_now,
            row_lock_time_us: locks.wait_us,
            row_lock_time_max_us: locks.wait_us_max,
            deadlocks: locks.deadlocks,
            lock_timeouts: locks.timeouts,
            locks_held: inner.locks.count(),
            lock_bytes: inner.locks.bytes() as u64,
            history_list_length: undo.history_length_now,
            undo_purged: undo.logs_purged,
            undo_truncations: inner.undo_truncation.count.get(),
            purged_below: inner.purge_view.view().no_limit().0,
            trx_active: inner.registry.active_count() as u64,
            trx_commits: inner.counters.commits.read(),
            trx_rollbacks: inner.counters.rollbacks.read(),
            trx_prepared: inner.branches.prepared_count() as u64,
            rollbacks: inner.rollbacks.status(),
            trx_id_next: inner.registry.next_id().0,
            read_views: inner.registry.open_views() as u64,
            punch_hole: self.tablespace(0).is_ok_and(|space| space.is_some_and(|space| space.punch)),
        }
    }

    /// How the pages of a tablespace are stored now. Pages of unknown state are examined until `deadline`, in small
    /// steps; see `CompressionStats::pages_unknown` for the rest. None: there is no such tablespace.
    pub fn compression_stats(&self, space: u32, deadline: Instant) -> Result<Option<CompressionStats>> {
        let Some(space) = self.inner.store.space(SpaceId(space)) else { return Ok(None) };
        while Instant::now() < deadline && space.survey(SURVEY_PAGES)? {}
        Ok(Some(space.compression_stats()))
    }

    /// What each page cleaner has done.
    pub fn page_cleaners(&self) -> Vec<PageCleanerStatus> {
        self.inner.store.page_cleaners()
    }

    /// Bytes that a table's file has free for new pages (DATA_FREE).
    pub fn free_bytes(&self, table: &Table) -> u64 {
        if table.is_partitioned() {
            return table.partitions().iter().map(|partition| self.free_bytes(partition)).sum();
        }
        // A file that cannot be read has none; a statement that reads it reports the reason.
        segment::free_bytes(&self.inner.store, table.space).unwrap_or(0)
    }

    /// All tablespaces, by their number.
    pub fn tablespaces(&self) -> Result<Vec<TablespaceInfo>> {
        let names: FxHashMap<SpaceId, String> = self
            .inner
            .dictionary
            .all_files()
            .iter()
            .map(|table| (table.space, format!("{}/{}", table.database, table.file_name())))
            .collect();
        let mut all = Vec::new();
        for space in self.inner.store.spaces() {
            all.push(TablespaceInfo::new(space.info()?, |id| names.get(&id).cloned()));
        }
        all.sort_by_key(|info| info.space);
        Ok(all)
    }

    /// The tablespace of this number, if it is open.
    pub fn tablespace(&self, space: u32) -> Result<Option<TablespaceInfo>> {
        let Some(space) = self.inner.store.space(SpaceId(space)) else { return Ok(None) };
        Ok(Some(TablespaceInfo::new(space.info()?, |_| None)))
    }
}

impl TablespaceInfo {
    fn new(info: SpaceInfo, name: impl Fn(SpaceId) -> Option<String>) -> TablespaceInfo {
        let (name, system) = match info.id {
            SpaceId(0) => ("innodb_system".to_string(), true),
            SpaceId::TEMPORARY_FIRST => ("innodb_temporary".to_string(), true),
            UNDO_SPACE => (format!("innodb_{UNDO_PATH}"), true),
            // A file that a DDL statement is working on has no name yet.
            id => (name(id).unwrap_or_else(|| display_of_path(&info.path)), false),
        };
        TablespaceInfo {
            space: info.id.0,
            name,
            path: info.path,
            flags: match info.transform.encrypted {
                true => Flags(segment::space_flags(info.page_bytes)).encrypted().0,
                false => segment::space_flags(info.page_bytes),
            },
            page_bytes: info.page_bytes as u64,
            block_bytes: info.block_bytes as u64,
            file_bytes: info.file_bytes,
            allocated_bytes: info.allocated_bytes,
            compression: Compression::Codec(info.transform.algorithm),
            compression_level: info.transform.level.clamp(0, 255) as u8,
            encrypted: info.transform.encrypted,
            filesystem: info.filesystem,
            shortens: info.shortens,
            punch: info.punch,
            punch_reason: info.punch_reason,
            torn_protection: info.torn_protection,
            torn_reason: info.torn_reason,
            system,
        }
    }

    /// Why compression saves less than it could; `None` if it does not.
    pub fn why_not_compressed(&self) -> Option<String> {
        (!self.punch).then(|| self.punch_reason.clone())
    }
}
