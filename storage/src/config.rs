//! Options of the engine: plain values with their unit in the name, set by the layer that knows MySQL's spelling.
//!
//! The defaults are those of a fresh install. Options in the first half take effect when the engine opens; those in the
//! second half may change at run time through `Store::set_config`.

use format::transform::Algorithm;

/// One struct, so that a tiny simulated instance and a large server differ only in numbers.
#[derive(Clone, Debug)]
pub struct Config {
    // Fixed when the data directory is created.
    /// Bytes per page (`innodb_page_size`): 4096, 8192, 16384, 32768 or 65536.
    pub page_bytes: usize,

    // Fixed while open.
    /// Memory for pages (`innodb_buffer_pool_size`).
    pub pool_bytes: u64,
    /// Memory that all record locks may take. A statement that wants more is refused.
    pub lock_bytes: u64,
    /// A transaction that ends with more record locks than this leaves them to the background, and so does not take longer.
    pub locks_released_at_once: usize,
    /// Size of the redo log on disk (`innodb_log_file_size` x files in group). A changed size takes effect at the next
    /// clean start.
    pub log_bytes: u64,
    /// Redo that may wait in memory before it is written (`innodb_log_buffer_size`).
    pub log_buffer_bytes: usize,
    /// How files are opened and made durable (`innodb_flush_method`).
    pub flush_method: FlushMethod,
    /// Threads that read ahead (`innodb_read_io_threads`).
    pub read_io_threads: usize,
    /// Protection against torn pages (`innodb_doublewrite`), where the filesystem has nothing better.
    pub doublewrite: Doublewrite,
    /// Tablespace files that are open at a time (`innodb_open_files`).
    pub open_files: usize,
    /// Bytes cut from the file of a dropped table at a time; a smaller file is removed at once. In the worst case, four
    /// megabytes in four-kilobyte fragments, a cut frees a thousand extents, which takes a few milliseconds.
    pub drop_slice_bytes: u64,
    /// Write pages untorn where the kernel promises that (`innodb_use_atomic_writes`).
    pub use_atomic_writes: bool,
    /// Reserve the blocks of a plain tablespace when it grows (`innodb_use_fallocate`), so that a full disk is noticed
    /// then and not when pages are written.
    pub reserve_blocks: bool,
    /// The file with the master keys of encrypted tables (`keyring_file_data`), relative to the data directory.
    pub keyring_file: String,
    /// The server's name in the ids of new master keys (`server_uuid`).
    pub server_uuid: String,
    /// How AUTO_INCREMENT values are given (`innodb_autoinc_lock_mode`).
    pub auto_increment_mode: AutoIncrementMode,
    /// Threads that remove row versions that no transaction can see any more (`innodb_purge_threads`).
    pub purge_threads: usize,
    /// Start background threads. The simulator sets false and drives the steps itself.
    pub background_threads: bool,

    // May change at run time.
    /// What a commit waits for (`innodb_flush_log_at_trx_commit`).
    pub flush_log_at_commit: FlushLogAtCommit,
    /// Threads that write dirty pages (`innodb_page_cleaners`).
    pub page_cleaners: usize,
    /// Follow the age of the log, and not only the share of dirty pages (`innodb_adaptive_flushing`).
    pub adaptive_flushing: bool,
    /// Share of the log, in percent, up to which its age does not count (`innodb_adaptive_flushing_lwm`).
    pub adaptive_flushing_lwm: f64,
    /// Write dirty pages of the same extent along: 0 none, 1 those that adjoin, 2 all (`innodb_flush_neighbors`).
    pub flush_neighbors: u8,
    /// Pages that cleaners may write per second in the background (`innodb_io_capacity`).
    pub io_capacity: u32,
    /// ... and when the log or the pool runs short (`innodb_io_capacity_max`).
    pub io_capacity_max: u32,
    /// Share of dirty pages above which cleaners write at full rate (`innodb_max_dirty_pages_pct`).
    pub max_dirty_pages_pct: f64,
    /// Share of dirty pages from which cleaners write at all while there is load (`innodb_max_dirty_pages_pct_lwm`).
    pub max_dirty_pages_pct_lwm: f64,
    /// Frames kept free for readers, per pool (`innodb_lru_scan_depth`).
    pub lru_scan_depth: usize,
    /// Pages of an extent that are read in order before the next extent is read ahead; 0 switches that off
    /// (`innodb_read_ahead_threshold`).
    pub read_ahead_threshold: u32,
    /// Read the rest of an extent of which many pages are in use (`innodb_random_read_ahead`).
    pub random_read_ahead: bool,
    /// Share of the pool behind the midpoint (`innodb_old_blocks_pct`).
    pub old_blocks_pct: u32,
    /// How long a page must have been in the old part before another use makes it young (`innodb_old_blocks_time`).
    pub old_blocks_ms: u32,
    /// Compression of tables that do not specify it (`innodb_compression_default`).
    pub compression: Algorithm,
    /// Compression of the system and the undo tablespace (`innodb_system_compression_algorithm`). Their pages are
    /// written often and are short-lived: a light codec suits them.
    pub system_compression: Algorithm,
    /// Truncate the undo tablespace when possible (`innodb_undo_log_truncate`) ...
    pub undo_log_truncate: bool,
    /// ... and it is longer than this (`innodb_max_undo_log_size`).
    pub undo_log_bytes_max: u64,
    /// The most bytes of changes that are logged while an index is built (`innodb_online_alter_log_max_size`).
    pub online_log_bytes_max: u64,
    /// Estimates of tables outlast the server (`innodb_stats_persistent`).
    pub stats_persistent: bool,
    /// They are taken anew when a tenth of a table's rows has changed (`innodb_stats_auto_recalc`).
    pub stats_auto_recalc: bool,
    /// Leaves that are looked at for each prefix of an index (`innodb_stats_persistent_sample_pages`) ...
    pub stats_persistent_sample_pages: u64,
    /// ... and those of a table whose estimates do not outlast the server (`innodb_stats_transient_sample_pages`).
    pub stats_transient_sample_pages: u64,
    /// What NULL is to estimates (`innodb_stats_method`).
    pub stats_method: StatisticsMethod,
    /// Deleted rows that are not purged count (`innodb_stats_include_delete_marked`).
    pub stats_include_delete_marked: bool,
    /// Undo logs are encrypted (`innodb_undo_log_encrypt`).
    pub encrypt_undo: bool,
    /// Effort of zlib for tables that do not specify it (`innodb_compression_level`).
    pub compression_level: u8,
    /// Whether holes are punched (`innodb_use_trim`).
    pub punch: bool,
    /// Undo records that a step of purge reads (`innodb_purge_batch_size`).
    pub purge_batch: usize,
    /// Undo logs that may wait for purge before writers are delayed (`innodb_max_purge_lag`); 0 = any number.
    pub max_purge_lag: u64,
    /// How long each change is delayed at most (`innodb_max_purge_lag_delay`); 0 = no limit.
    pub max_purge_lag_delay_us: u64,
    /// Search for cycles of lock waiters (`innodb_deadlock_detect`); otherwise their waits end by timeout.
    pub deadlock_detect: bool,
}

/// `innodb_autoinc_lock_mode`: which statements lock the counter to their end, so that their values follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AutoIncrementMode {
    /// 0: all that insert rows.
    Traditional,
    /// 1: those that do not know in advance how many rows they will insert.
    Consecutive,
    /// 2: none.
    Interleaved,
}

/// `innodb_flush_method`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlushMethod {
    /// Through the page cache, then fsync.
    Fsync,
    /// Data files and the log bypass the page cache.
    ODirect,
    /// As `ODirect`; MariaDB's and Percona's name.
    AllODirect,
}

/// `innodb_flush_log_at_trx_commit`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlushLogAtCommit {
    /// 0: write and sync once per second.
    EverySecond,
    /// 1: durable at commit.
    Sync,
    /// 2: handed to the operating system at commit, synced once per second.
    Write,
}

/// `innodb_doublewrite`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doublewrite {
    /// ON, DETECT_AND_RECOVER.
    On,
    /// DETECT_ONLY: which pages were being written is kept, but not their bytes.
    DetectOnly,
    Off,
}

/// How estimates of different values take NULL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum StatisticsMethod {
    /// All are one value.
    #[default]
    NullsEqual,
    /// Each is a value of its own.
    NullsUnequal,
    /// They are not counted.
    NullsIgnored,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            page_bytes: 16384,
            pool_bytes: 128 << 20,
            lock_bytes: 1 << 30,
            locks_released_at_once: 2000,
            log_bytes: 256 << 20,
            log_buffer_bytes: 16 << 20,
            flush_method: FlushMethod::ODirect,
            read_io_threads: 4,
            doublewrite: Doublewrite::On,
            open_files: 4000,
            drop_slice_bytes: 4 << 20,
            use_atomic_writes: true,
            reserve_blocks: true,
            keyring_file: "keyring".into(),
            server_uuid: String::new(),
            auto_increment_mode: AutoIncrementMode::Interleaved,
            purge_threads: 1,
            background_threads: true,
            flush_log_at_commit: FlushLogAtCommit::Sync,
            page_cleaners: 2,
            adaptive_flushing: true,
            adaptive_flushing_lwm: 10.0,
            flush_neighbors: 0,
            io_capacity: 2000,
            io_capacity_max: 20000,
            max_dirty_pages_pct: 90.0,
            max_dirty_pages_pct_lwm: 0.0,
            lru_scan_depth: 1024,
            read_ahead_threshold: 56,
            random_read_ahead: false,
            old_blocks_pct: 37,
            old_blocks_ms: 1000,
            compression: Algorithm::ZSTD,
            system_compression: Algorithm::LZ4,
            undo_log_truncate: true,
            undo_log_bytes_max: 1 << 30,
            online_log_bytes_max: 128 << 20,
            stats_persistent: true,
            stats_auto_recalc: true,
            stats_persistent_sample_pages: 20,
            stats_transient_sample_pages: 8,
            stats_method: StatisticsMethod::NullsEqual,
            stats_include_delete_marked: false,
            encrypt_undo: false,
            compression_level: 6,
            punch: true,
            purge_batch: 300,
            max_purge_lag: 0,
            max_purge_lag_delay_us: 0,
            deadlock_detect: true,
        }
    }
}

impl Config {
    /// A tiny instance for tests: limits are reached within a few operations, and nothing runs in the background.
    pub fn tiny() -> Config {
        Config {
            pool_bytes: 64 * 16384,
            log_bytes: 1 << 20,
            log_buffer_bytes: 64 << 10,
            flush_method: FlushMethod::Fsync,
            page_cleaners: 1,
            open_files: 3,
            drop_slice_bytes: 128 << 10,
            background_threads: false,
            lru_scan_depth: 4,
            ..Config::default()
        }
    }
}
