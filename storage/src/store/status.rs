//! Status and statistics of the store.

use super::Store;
use super::cleaners::PageCleanerStatus;

impl Store {
    /// Counters since start.
    pub fn status(&self) -> StoreStatus {
        let (io, log, pool) = (self.spaces.counters(), &self.redo.counters, &self.pool.counters);
        let cleaners = self.page_cleaners();
        let (ahead, compressed_cache) = (&self.pool.read_ahead().counters, self.pool.compressed_cache());
        let (compressed_cache_frames, compressed_cache_bytes) = compressed_cache.size();
        let dropped = self.trash.waiting();
        StoreStatus {
            page_read_requests: self.pool.requests(),
            page_reads: io.page_reads.get(),
            pages_written: io.pages_written.get(),
            pages_created: pool.pages_created.get(),
            data_bytes_read: io.data_bytes_read.get(),
            data_bytes_written: io.data_bytes_written.get(),
            data_writes: io.data_writes.get(),
            data_fsyncs: io.data_fsyncs.get(),
            untorn_pages: io.untorn_pages.get(),
            doublewrite_pages: io.doublewrite_pages.get(),
            doublewrite_writes: io.doublewrite_writes.get(),
            doublewrite_bytes: io.doublewrite_bytes.get(),
            log_write_requests: log.write_requests.get(),
            log_writes: log.writes.get(),
            log_fsyncs: log.fsyncs.get(),
            log_bytes_written: log.bytes_written.get(),
            log_waits: log.waits.get(),
            checkpoints: log.checkpoints.get(),
            pool_wait_free: pool.wait_free.get(),
            pool_wait_free_us: pool.wait_free_us.get(),
            pool_evicted_by_readers: pool.evicted_by_reader.get(),
            pool_pages_flushed_lru: cleaners.iter().map(|cleaner| cleaner.lru_pages).sum(),
            read_ahead_linear: ahead.linear.get(),
            read_ahead_random: ahead.random.get(),
            read_ahead_reads: ahead.reads.get(),
            read_ahead_throttled: ahead.throttled.get(),
            read_ahead_used: compressed_cache.counters.used.get(),
            read_ahead_evicted: compressed_cache.counters.evicted.get(),
            compressed_cache_pages_now: compressed_cache.count() as u64,
            compressed_cache_frames_now: compressed_cache_frames as u64,
            compressed_cache_bytes_now: compressed_cache_bytes as u64,
            sync_rounds: pool.syncs.get(),
            sync_us: pool.sync_us.get(),
            pool_evicted: pool.evicted.get(),
            pages_compressed: io.pages_compressed.get(),
            pages_compress_failed: io.pages_compress_failed.get(),
            pages_decompressed: io.pages_decompressed.get(),
            pages_encrypted: io.pages_encrypted.get(),
            pages_decrypted: io.pages_decrypted.get(),
            punches: io.punches.get(),
            punches_avoided: io.punches_avoided.get(),
            punches_failed: io.punches_failed.get(),
            pool_pages_total_now: self.pool.frame_count() as u64,
            pool_pages_free_now: self.pool.free_count() as u64,
            pool_pages_dirty_now: self.pool.dirty_count() as u64,
            pool_pages_data_now: self.pool.resident_count() as u64,
            page_bytes: self.page_bytes() as u64,
            dropped_files_removed: self.trash.files_removed.get(),
            dropped_files_now: dropped.iter().filter(|dropped| dropped.path.is_some()).count() as u64,
            dropped_bytes_now: dropped.iter().map(|dropped| dropped.file_bytes).sum(),
            recovery_pages_left: self.pool.pending_pages() as u64,
            log_capacity_bytes: self.redo.capacity(),
            open_files_now: self.spaces.open_files() as u64,
            freed_bytes_released: self.freed.bytes_released.get(),
            lsn_current: self.redo.end().0,
            lsn_flushed: self.redo.flushed().0,
            lsn_checkpoint: self.redo.checkpoint_lsn().0,
        }
    }

    /// Each page cleaner that was ever started.
    pub fn page_cleaners(&self) -> Vec<PageCleanerStatus> {
        self.cleaners.status()
    }
}

/// Counters since start, and levels now (`_now`).
#[derive(Clone, Debug, Default)]
pub struct StoreStatus {
    pub page_read_requests: u64,
    pub page_reads: u64,
    pub pages_written: u64,
    pub pages_created: u64,
    pub data_bytes_read: u64,
    pub data_bytes_written: u64,
    /// Calls that wrote to tablespaces: neighbours are written together.
    pub data_writes: u64,
    pub data_fsyncs: u64,
    /// Pages that were written untorn.
    pub untorn_pages: u64,
    pub doublewrite_pages: u64,
    pub doublewrite_writes: u64,
    pub doublewrite_bytes: u64,
    pub log_write_requests: u64,
    pub log_writes: u64,
    pub log_fsyncs: u64,
    pub log_bytes_written: u64,
    pub log_waits: u64,
    pub checkpoints: u64,
    /// How often a reader waited for a free frame, and how long all together.
    pub pool_wait_free: u64,
    pub pool_wait_free_us: u64,
    /// Pages that readers evicted themselves.
    pub pool_evicted_by_readers: u64,
    /// Pages written because they were to be evicted.
    pub pool_pages_flushed_lru: u64,
    /// Pages read ahead, by kind; the reads that brought them; requests not served because earlier ones
    /// were of no use.
    pub read_ahead_linear: u64,
    pub read_ahead_random: u64,
    pub read_ahead_reads: u64,
    pub read_ahead_throttled: u64,
    /// Of the pages read ahead, those that were used later, and those that expired unused.
    pub read_ahead_used: u64,
    pub read_ahead_evicted: u64,
    /// Pages in the compressed cache, the frames they take, their bytes.
    pub compressed_cache_pages_now: u64,
    pub compressed_cache_frames_now: u64,
    pub compressed_cache_bytes_now: u64,
    /// Rounds of syncs of tablespaces, and how long they took.
    pub sync_rounds: u64,
    pub sync_us: u64,
    pub pool_evicted: u64,
    pub pages_compressed: u64,
    pub pages_compress_failed: u64,
    pub pages_decompressed: u64,
    pub pages_encrypted: u64,
    pub pages_decrypted: u64,
    pub punches: u64,
    pub punches_avoided: u64,
    pub punches_failed: u64,
    pub pool_pages_total_now: u64,
    pub pool_pages_free_now: u64,
    pub pool_pages_dirty_now: u64,
    pub pool_pages_data_now: u64,
    pub page_bytes: u64,
    pub dropped_files_removed: u64,
    pub dropped_files_now: u64,
    /// By the length of the files.
    pub dropped_bytes_now: u64,
    /// Pages that the log changes and that have not been read since a crash.
    pub recovery_pages_left: u64,
    /// Distance from the checkpoint that the log has room for.
    pub log_capacity_bytes: u64,
    pub open_files_now: u64,
    /// Bytes that freed pages inside of tablespaces occupied.
    pub freed_bytes_released: u64,
    pub lsn_current: u64,
    pub lsn_flushed: u64,
    pub lsn_checkpoint: u64,
}
