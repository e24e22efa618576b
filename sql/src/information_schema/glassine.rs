//! Views of our own: how pages are stored, and what the page cleaners do.
//!
//! The server knows how a file's pages are stored from reading and writing them, so not right
//! after a start: then a query surveys the first bytes of each page on disk, for [`SURVEY_TIME`]
//! at most and in small slices, so that a large instance answers at once and the next
//! query continues the survey; PAGES_UNKNOWN counts the remaining pages.
//!
//! Not here: what a file takes on the device, which INNODB_TABLESPACES asks of the
//! filesystem.

use std::time::{Duration, Instant};

use format::value::Value;
use storage::TablespaceInfo;

use super::innodb::compression;
use super::{Facts, VirtualTable, int, number, optional, string, text, yes};

/// How long a query may survey pages whose stored form is unknown.
const SURVEY_TIME: Duration = Duration::from_secs(2);

pub const GLASSINE_TABLESPACE_COMPRESSION: VirtualTable = VirtualTable {
    name: "GLASSINE_TABLESPACE_COMPRESSION",
    columns: &[
        number("SPACE"),
        text("NAME", 655),
        text("COMPRESSION", 12),
        int("COMPRESSION_LEVEL"),
        text("FILESYSTEM", 32),
        number("FS_BLOCK_SIZE"),
        number("PAGES"),
        number("PAGES_UNWRITTEN"),
        number("PAGES_PLAIN"),
        number("PAGES_ZLIB"),
        number("PAGES_LZ4"),
        number("PAGES_ZSTD"),
        number("PAGES_ENCRYPTED"),
        number("PAGES_INCOMPRESSIBLE"),
        number("PAGES_UNKNOWN"),
        number("STORED_BYTES"),
        number("EXACT_BYTES"),
        number("BOUNDARY_MISSES"),
        number("PUNCHES_ISSUED"),
        number("PUNCHES_AVOIDED"),
        number("PUNCHES_FAILED"),
        text("PUNCH_STATE", 3),
        text("PUNCH_REASON", 512),
        text("TORN_PROTECTION", 20),
        text("TORN_REASON", 512),
        number("COMPRESS_TIME"),
        number("DECOMPRESS_TIME"),
        text("REMARK", 512),
    ],
    rows: |facts| {
        let deadline = Instant::now() + SURVEY_TIME;
        let engine = &facts.instance.engine;
        // A file that vanished between listing and asking has no facts; the error log has the reason.
        let spaces = engine.tablespaces().unwrap_or_default();
        spaces.iter().filter_map(|space| compression_row(facts, space, deadline)).collect()
    },
};

fn compression_row(facts: &Facts<'_>, space: &TablespaceInfo, deadline: Instant) -> Option<Vec<Value>> {
    let stats = facts.instance.engine.compression_stats(space.space, deadline).ok().flatten()?;
    let known = stats.pages_plain + stats.pages_zlib + stats.pages_lz4 + stats.pages_zstd + stats.pages_unwritten;
    let asks = !matches!(space.compression.name(), "" | "none");
    Some(vec![
        Value::UInt(u64::from(space.space)),
        string(&space.name),
        string(compression(space.compression)),
        Value::Int(i64::from(space.compression_level)),
        string(space.filesystem),
        Value::UInt(space.block_bytes),
        Value::UInt(known + stats.pages_unknown),
        Value::UInt(stats.pages_unwritten),
        Value::UInt(stats.pages_plain),
        Value::UInt(stats.pages_zlib),
        Value::UInt(stats.pages_lz4),
        Value::UInt(stats.pages_zstd),
        Value::UInt(stats.pages_encrypted),
        Value::UInt(stats.pages_incompressible),
        Value::UInt(stats.pages_unknown),
        Value::UInt(stats.stored_bytes),
        Value::UInt(stats.exact_bytes),
        Value::UInt(stats.boundary_misses),
        Value::UInt(stats.punches_issued),
        Value::UInt(stats.punches_avoided),
        Value::UInt(stats.punches_failed),
        string(if space.punch { "ON" } else { "OFF" }),
        string(&space.punch_reason),
        string(space.torn_protection.name()),
        string(&space.torn_reason),
        Value::UInt(stats.compress_us),
        Value::UInt(stats.decompress_us),
        optional(space.why_not_compressed().filter(|_| asks)),
    ])
}

pub const GLASSINE_PAGE_CLEANERS: VirtualTable = VirtualTable {
    name: "GLASSINE_PAGE_CLEANERS",
    columns: &[
        int("CLEANER"),
        text("RUNNING", 3),
        number("STEPS"),
        number("PAGES"),
        number("LRU_PAGES"),
        number("EVICTED"),
        number("BYTES"),
        number("PUNCHES"),
        number("ENCODE_TIME"),
        number("LOG_TIME"),
        number("DOUBLEWRITE_TIME"),
        number("WRITE_TIME"),
        number("SYNC_TIME"),
    ],
    rows: |facts| {
        let cleaners = facts.instance.engine.page_cleaners();
        let row = |cleaner: &storage::PageCleanerStatus| {
            vec![
                Value::Int(cleaner.cleaner as i64),
                yes(cleaner.running),
                Value::UInt(cleaner.steps),
                Value::UInt(cleaner.pages),
                Value::UInt(cleaner.lru_pages),
                Value::UInt(cleaner.evicted),
                Value::UInt(cleaner.bytes),
                Value::UInt(cleaner.punches),
                Value::UInt(cleaner.encode_us),
                Value::UInt(cleaner.log_us),
                Value::UInt(cleaner.doublewrite_us),
                Value::UInt(cleaner.write_us),
                Value::UInt(cleaner.sync_us),
            ]
        };
        cleaners.iter().map(row).collect()
    },
};
