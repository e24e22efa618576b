//! The variables that the storage engine obeys: MySQL's spelling on one side, the
//! engine's plain options on the other.

use format::transform::Algorithm;
use storage::Config;
use storage::config::{AutoIncrementMode, Doublewrite, FlushLogAtCommit, FlushMethod, StatisticsMethod};

use super::global::GlobalVariables;

/// The engine's options at start.
pub fn engine_config(globals: &GlobalVariables) -> Config {
    let mut config = Config {
        page_bytes: globals.number("innodb_page_size") as usize,
        pool_bytes: globals.number("innodb_buffer_pool_size"),
        // As in MySQL, a larger pool leaves room for more locks. A small one does not keep a statement from
        // locking a few million rows.
        lock_bytes: globals.number("innodb_buffer_pool_size").max(1 << 30),
        log_bytes: globals.number("innodb_log_file_size"),
        log_buffer_bytes: globals.number("innodb_log_buffer_size") as usize,
        flush_method: match globals.text("innodb_flush_method").as_str() {
            "O_DIRECT" | "O_DIRECT_NO_FSYNC" => FlushMethod::ODirect,
            "ALL_O_DIRECT" => FlushMethod::AllODirect,
            _ => FlushMethod::Fsync,
        },
        read_io_threads: globals.number("innodb_read_io_threads") as usize,
        doublewrite: match globals.text("innodb_doublewrite").as_str() {
            "OFF" => Doublewrite::Off,
            "DETECT_ONLY" => Doublewrite::DetectOnly,
            _ => Doublewrite::On,
        },
        use_atomic_writes: globals.on("innodb_use_atomic_writes"),
        reserve_blocks: globals.on("innodb_use_fallocate"),
        open_files: globals.number("innodb_open_files") as usize,
        punch: globals.on("innodb_use_trim"),
        auto_increment_mode: match globals.number("innodb_autoinc_lock_mode") {
            0 => AutoIncrementMode::Traditional,
            1 => AutoIncrementMode::Consecutive,
            _ => AutoIncrementMode::Interleaved,
        },
        purge_threads: globals.number("innodb_purge_threads") as usize,
        keyring_file: globals.text("keyring_file_data"),
        server_uuid: globals.text("server_uuid"),
        ..Config::default()
    };
    reconfigure(globals, &mut config);
    config
}

/// The options that may change while the engine runs.
pub fn reconfigure(globals: &GlobalVariables, config: &mut Config) {
    config.flush_log_at_commit = match globals.number("innodb_flush_log_at_trx_commit") {
        0 => FlushLogAtCommit::EverySecond,
        2 => FlushLogAtCommit::Write,
        _ => FlushLogAtCommit::Sync,
    };
    // Where MariaDB 10.1 had a switch for several cleaners, it also has a number of its own.
    config.page_cleaners = match globals.on("innodb_use_mtflush") {
        true => globals.number("innodb_mtflush_threads").max(1) as usize,
        false => globals.number("innodb_page_cleaners") as usize,
    };
    config.adaptive_flushing = globals.on("innodb_adaptive_flushing");
    config.adaptive_flushing_lwm = globals.real("innodb_adaptive_flushing_lwm");
    config.flush_neighbors = globals.number("innodb_flush_neighbors") as u8;
    config.read_ahead_threshold = globals.number("innodb_read_ahead_threshold") as u32;
    config.random_read_ahead = globals.on("innodb_random_read_ahead");
    config.io_capacity = globals.number("innodb_io_capacity") as u32;
    // As in MySQL, the one pulls the other up.
    config.io_capacity_max = (globals.number("innodb_io_capacity_max") as u32).max(config.io_capacity);
    config.max_dirty_pages_pct = globals.real("innodb_max_dirty_pages_pct");
    config.max_dirty_pages_pct_lwm = globals.real("innodb_max_dirty_pages_pct_lwm");
    config.lru_scan_depth = globals.number("innodb_lru_scan_depth") as usize;
    config.old_blocks_pct = globals.number("innodb_old_blocks_pct") as u32;
    if let Some(algorithm) = Algorithm::by_name(&globals.text("innodb_compression_algorithm")) {
        config.compression = algorithm;
    }
    if let Some(algorithm) = Algorithm::by_name(&globals.text("innodb_system_compression_algorithm")) {
        config.system_compression = algorithm;
    }
    config.stats_persistent = globals.on("innodb_stats_persistent");
    config.stats_auto_recalc = globals.on("innodb_stats_auto_recalc");
    config.stats_persistent_sample_pages = globals.number("innodb_stats_persistent_sample_pages");
    config.stats_transient_sample_pages = globals.number("innodb_stats_transient_sample_pages");
    config.stats_method = match globals.text("innodb_stats_method").as_str() {
        "nulls_unequal" => StatisticsMethod::NullsUnequal,
        "nulls_ignored" => StatisticsMethod::NullsIgnored,
        _ => StatisticsMethod::NullsEqual,
    };
    config.stats_include_delete_marked = globals.on("innodb_stats_include_delete_marked");
    config.undo_log_truncate = globals.on("innodb_undo_log_truncate");
    config.undo_log_bytes_max = globals.number("innodb_max_undo_log_size");
    config.online_log_bytes_max = globals.number("innodb_online_alter_log_max_size");
    config.encrypt_undo = globals.on("innodb_undo_log_encrypt");
    config.deadlock_detect = globals.on("innodb_deadlock_detect");
    config.purge_batch = globals.number("innodb_purge_batch_size") as usize;
    config.max_purge_lag = globals.number("innodb_max_purge_lag");
    config.max_purge_lag_delay_us = globals.number("innodb_max_purge_lag_delay");
    config.compression_level = globals.number("innodb_compression_level") as u8;
    config.old_blocks_ms = globals.number("innodb_old_blocks_time") as u32;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_defaults_are_the_engines_defaults() {
        assert_eq!(format!("{:?}", engine_config(&GlobalVariables::new())), format!("{:?}", Config::default()));
    }
}
