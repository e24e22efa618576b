//! The server's variables that each changing statement looks at for the binary log, without a name and without a lock.

use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU8, AtomicU64, Ordering};

use format::value::Value;

use super::settings;

/// binlog_row_metadata: what a Table_map event says of columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowMetadata {
    NoLog,
    Minimal,
    Full,
}

/// See the module header.
#[derive(Default)]
pub struct LogGlobals {
    compresses: AtomicBool,
    level: AtomicI32,
    sessions_choose: AtomicBool,
    cache_bytes: AtomicU64,
    transaction_bytes_max: AtomicU64,
    event_bytes_max: AtomicU64,
    metadata: AtomicU8,
}

impl LogGlobals {
    /// Takes over what has been set: `value` knows it by name.
    pub(super) fn refresh(&self, value: &dyn Fn(&str) -> Value) {
        let on = |name| settings::on(&value(name));
        let number = |field: &AtomicU64, name| field.store(settings::number(&value(name)), Ordering::Relaxed);
        number(&self.cache_bytes, "binlog_cache_size");
        number(&self.transaction_bytes_max, "max_binlog_cache_size");
        number(&self.event_bytes_max, "binlog_row_event_max_size");
        self.compresses.store(on("binlog_transaction_compression"), Ordering::Relaxed);
        let level = settings::number(&value("binlog_transaction_compression_level_zstd"));
        self.level.store(level as i32, Ordering::Relaxed);
        self.sessions_choose.store(on("binlog_transaction_compression_session_control"), Ordering::Relaxed);
        let metadata = match settings::text(&value("binlog_row_metadata")).as_str() {
            "NO_LOG" => 0,
            "FULL" => 2,
            _ => 1,
        };
        self.metadata.store(metadata, Ordering::Relaxed);
    }

    /// Whether a variable is one of these.
    pub(super) fn has(name: &str) -> bool {
        name.starts_with("binlog_") || name == "max_binlog_cache_size"
    }

    /// binlog_transaction_compression and its level.
    #[inline]
    pub fn compression(&self) -> (bool, i32) {
        (self.compresses.load(Ordering::Relaxed), self.level.load(Ordering::Relaxed))
    }

    /// binlog_transaction_compression_session_control: whether sessions may have a compression of their own.
    #[inline]
    pub fn sessions_choose_compression(&self) -> bool {
        self.sessions_choose.load(Ordering::Relaxed)
    }

    /// binlog_cache_size.
    #[inline]
    pub fn cache_bytes(&self) -> usize {
        self.cache_bytes.load(Ordering::Relaxed) as usize
    }

    /// max_binlog_cache_size.
    #[inline]
    pub fn transaction_bytes_max(&self) -> u64 {
        self.transaction_bytes_max.load(Ordering::Relaxed)
    }

    /// binlog_row_event_max_size.
    #[inline]
    pub fn event_bytes_max(&self) -> usize {
        self.event_bytes_max.load(Ordering::Relaxed) as usize
    }

    #[inline]
    pub fn metadata(&self) -> RowMetadata {
        match self.metadata.load(Ordering::Relaxed) {
            0 => RowMetadata::NoLog,
            2 => RowMetadata::Full,
            _ => RowMetadata::Minimal,
        }
    }
}
