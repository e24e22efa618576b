//! InnoDB: what counts here.

use super::*;

pub(super) const LIST: &[Variable] = &[
    v("innodb_adaptive_flushing", Global, Bool, "ON", "Flush by the age of the log, not only when it is nearly full"),
    v("innodb_autoinc_lock_mode", Global, int(0, 2), "2", "How AUTO_INCREMENT is locked").at_start(),
    v("innodb_buffer_pool_size", Global, steps(5 << 20, 1 << 45, 1 << 20), "134217728", "Bytes of the buffer pool")
        .at_start(),
    v(
        "innodb_compression_algorithm",
        Global,
        Enumeration(&Algorithm::NAMES),
        "zstd",
        "Codec of PAGE_COMPRESSED tables, and of new ones by default",
    ),
    v(
        "innodb_system_compression_algorithm",
        Global,
        Enumeration(&Algorithm::NAMES),
        "lz4",
        "Codec of the system and undo tablespaces",
    ),
    v("innodb_compression_default", Both, Bool, "ON", "New tables are page-compressed"),
    v("innodb_compression_level", Global, int(0, 9), "6", "Effort of the zlib codec"),
    v("innodb_data_home_dir", Global, Text, "", "Directory of the system tablespace")
        .null()
        .at_start()
        .inert("it lies in the data directory"),
    v(
        "innodb_doublewrite",
        Global,
        Enumeration(&["OFF", "ON", "DETECT_AND_RECOVER", "DETECT_ONLY"]),
        "ON",
        "Keep a second copy of pages while they are written, where the filesystem can tear them",
    )
    .at_start(),
    v("innodb_fast_shutdown", Global, int(0, 3), "1", "0: purge all; 1: flush; 2: flush only the log")
        .inert("a stop flushes all pages, and purges no history"),
    v("innodb_file_per_table", Global, Bool, "ON", "Each table has its file").inert(ALWAYS_ON),
    v("innodb_flush_log_at_timeout", Global, int(0, 2700), "1", "Seconds between syncs of the log, if not at commit")
        .inert(AUTOMATIC),
    v(
        "innodb_flush_log_at_trx_commit",
        Global,
        int(0, 3),
        "1",
        "At commit the log is 1 and, as MariaDB has it, 3: written and synced; 2: written; 0: neither",
    ),
    v(
        "innodb_flush_method",
        Global,
        Enumeration(&["fsync", "O_DSYNC", "littlesync", "nosync", "O_DIRECT", "O_DIRECT_NO_FSYNC", "ALL_O_DIRECT"]),
        "O_DIRECT",
        "How files are written",
    )
    .at_start(),
    v("innodb_flush_neighbors", Global, int(0, 2), "0", "Flush dirty pages of the same extent along"),
    v("innodb_ft_enable_stopword", Both, Bool, "ON", "New full-text indexes leave out stop words"),
    v("innodb_ft_max_token_size", Global, int(10, 84), "84", "Characters of the longest word of new full-text indexes")
        .at_start(),
    v("innodb_ft_min_token_size", Global, int(0, 16), "3", "Characters of the shortest word of new full-text indexes")
        .at_start(),
    v("innodb_ft_server_stopword_table", Global, Text, "", "database/table of stop words for new full-text indexes")
        .null(),
    v("innodb_ft_user_stopword_table", Both, Text, "", "The session's database/table of stop words").null(),
    v("ngram_token_size", Global, int(1, 10), "2", "Characters of a token of new indexes WITH PARSER ngram").at_start(),
    v("innodb_io_capacity", Global, int(100, U32), "2000", "Pages flushed each second in the background"),
    v("innodb_io_capacity_max", Global, int(100, U32), "20000", "The same under pressure"),
    v("innodb_lock_wait_timeout", Both, int(0, 1_073_741_824), "50", "Seconds to wait for a row lock; 0: not at all"),
    v("innodb_log_buffer_size", Global, int(262_144, U32), "16777216", "Bytes of the log's buffer").at_start(),
    v("innodb_log_file_size", Global, int(1 << 20, 1 << 39), "268435456", "Bytes of the log").at_start(),
    v("innodb_log_files_in_group", Global, int(1, 100), "1", "Files of the log")
        .at_start()
        .inert("the log is one file"),
    v("innodb_log_group_home_dir", Global, Text, "./", "Directory of the log")
        .at_start()
        .inert("it lies in the data directory"),
    v("innodb_lru_scan_depth", Global, int(100, ANY), "1024", "Pages looked at for free frames"),
    v("innodb_max_dirty_pages_pct", Global, Real { min: 0.0, max: 99.999 }, "90", "Most dirty pages, in per cent"),
    v(
        "innodb_max_dirty_pages_pct_lwm",
        Global,
        Real { min: 0.0, max: 99.999 },
        "0",
        "Dirty pages, in per cent, from which on they are flushed ahead",
    ),
    v("innodb_old_blocks_pct", Global, int(5, 95), "37", "Part of the LRU list that is old, in per cent"),
    v("innodb_old_blocks_time", Global, int(0, U32), "1000", "Milliseconds before an old page becomes young"),
    v("innodb_page_cleaners", Global, int(1, 64), "2", "Threads that flush pages"),
    v("innodb_page_size", Global, int(1, ANY), "16384", "Bytes of a page, from `init` on").at_start(),
    v("innodb_print_all_deadlocks", Global, Bool, "OFF", "Log deadlocks"),
    v("innodb_purge_threads", Global, int(1, 32), "1", "Threads that remove old versions").at_start(),
    v("innodb_read_only", Global, Bool, "OFF", "Open the files for reading only").at_start().inert(NOT_YET),
    v("innodb_rollback_on_timeout", Global, Bool, "OFF", "A lock wait's end rolls the transaction back").at_start(),
    v("innodb_stats_persistent", Global, Bool, "ON", "Statistics survive a restart"),
    v("innodb_strict_mode", Both, Bool, "ON", "Wrong table options are errors"),
    v("innodb_table_locks", Both, Bool, "ON", "LOCK TABLES locks in InnoDB too")
        .inert("a table's metadata lock always does it"),
    v("innodb_deadlock_detect", Global, Bool, "ON", "Look for deadlocks"),
    v(
        "innodb_default_row_format",
        Global,
        Enumeration(&["redundant", "compact", "dynamic"]),
        "dynamic",
        "Row format of new tables",
    )
    .inert("it is always dynamic"),
    v("innodb_redo_log_capacity", Global, steps(8 << 20, 1 << 39, 1 << 20), "268435456", "Bytes of the log")
        .inert("innodb_log_file_size sets it"),
    v("innodb_version", Global, Text, "8.0.36", "Version of the file format").fixed(),
    v("innodb_directories", Global, Text, "", "Directories of tablespaces").at_start().inert(NOT_YET),
    v("innodb_force_recovery", Global, int(0, 6), "0", "Start in spite of damage").at_start().inert(NOT_YET),
];
