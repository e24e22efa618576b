//! INNODB_METRICS: the engine's counters under InnoDB's names for them, for programs that collect these.
//!
//! All are counted from the server's start on, and cannot be switched: what can be counted anew is so since the start.

use format::value::{DateTime, Value};
use storage::EngineStatus;

use super::{VirtualTable, number, string, text, time};

struct Metric {
    name: &'static str,
    subsystem: &'static str,
    kind: &'static str,
    comment: &'static str,
    read: fn(&EngineStatus) -> u64,
}

const METRICS: &[Metric] = &[
    Metric {
        name: "buffer_pool_size",
        subsystem: "server",
        kind: "value",
        comment: "bytes of the buffer pool",
        read: |now| now.store.pool_pages_total_now * now.store.page_bytes,
    },
    Metric {
        name: "buffer_pool_reads",
        subsystem: "buffer",
        kind: "status_counter",
        comment: "pages that were read from disk",
        read: |now| now.store.page_reads,
    },
    Metric {
        name: "buffer_pool_read_requests",
        subsystem: "buffer",
        kind: "status_counter",
        comment: "pages that were asked for",
        read: |now| now.store.page_read_requests,
    },
    Metric {
        name: "buffer_pool_wait_free",
        subsystem: "buffer",
        kind: "status_counter",
        comment: "waits for a free frame",
        read: |now| now.store.pool_wait_free,
    },
    Metric {
        name: "buffer_pool_pages_total",
        subsystem: "buffer",
        kind: "value",
        comment: "frames of the pool",
        read: |now| now.store.pool_pages_total_now,
    },
    Metric {
        name: "buffer_pool_pages_data",
        subsystem: "buffer",
        kind: "value",
        comment: "frames with pages",
        read: |now| now.store.pool_pages_data_now,
    },
    Metric {
        name: "buffer_pool_pages_dirty",
        subsystem: "buffer",
        kind: "value",
        comment: "frames with pages that are not written",
        read: |now| now.store.pool_pages_dirty_now,
    },
    Metric {
        name: "buffer_pool_pages_free",
        subsystem: "buffer",
        kind: "value",
        comment: "free frames",
        read: |now| now.store.pool_pages_free_now,
    },
    Metric {
        name: "buffer_pages_created",
        subsystem: "buffer",
        kind: "status_counter",
        comment: "pages created",
        read: |now| now.store.pages_created,
    },
    Metric {
        name: "buffer_pages_written",
        subsystem: "buffer",
        kind: "status_counter",
        comment: "pages written",
        read: |now| now.store.pages_written,
    },
    Metric {
        name: "buffer_pages_read",
        subsystem: "buffer",
        kind: "status_counter",
        comment: "pages read",
        read: |now| now.store.page_reads,
    },
    Metric {
        name: "buffer_data_reads",
        subsystem: "buffer",
        kind: "status_counter",
        comment: "bytes read",
        read: |now| now.store.data_bytes_read,
    },
    Metric {
        name: "buffer_data_written",
        subsystem: "buffer",
        kind: "status_counter",
        comment: "bytes written",
        read: |now| now.store.data_bytes_written,
    },
    Metric {
        name: "os_data_writes",
        subsystem: "os",
        kind: "status_counter",
        comment: "writes of pages",
        read: |now| now.store.data_writes,
    },
    Metric {
        name: "os_data_fsyncs",
        subsystem: "os",
        kind: "status_counter",
        comment: "syncs of tablespaces",
        read: |now| now.store.data_fsyncs,
    },
    Metric {
        name: "os_log_bytes_written",
        subsystem: "os",
        kind: "status_counter",
        comment: "bytes written to the redo log",
        read: |now| now.store.log_bytes_written,
    },
    Metric {
        name: "os_log_fsyncs",
        subsystem: "os",
        kind: "status_counter",
        comment: "syncs of the redo log",
        read: |now| now.store.log_fsyncs,
    },
    Metric {
        name: "trx_active_transactions",
        subsystem: "transaction",
        kind: "value",
        comment: "open transactions",
        read: |now| now.trx_active,
    },
    Metric {
        name: "trx_rw_commits",
        subsystem: "transaction",
        kind: "counter",
        comment: "commits",
        read: |now| now.trx_commits,
    },
    Metric {
        name: "trx_rollbacks",
        subsystem: "transaction",
        kind: "counter",
        comment: "rollbacks",
        read: |now| now.trx_rollbacks,
    },
    Metric {
        name: "trx_rseg_history_len",
        subsystem: "transaction",
        kind: "value",
        comment: "undo logs that purge has to read",
        read: |now| now.history_list_length,
    },
    Metric {
        name: "lock_deadlocks",
        subsystem: "lock",
        kind: "counter",
        comment: "deadlocks",
        read: |now| now.deadlocks,
    },
    Metric {
        name: "lock_timeouts",
        subsystem: "lock",
        kind: "counter",
        comment: "waits for rows that took too long",
        read: |now| now.lock_timeouts,
    },
    Metric {
        name: "lock_row_lock_current_waits",
        subsystem: "lock",
        kind: "status_counter",
        comment: "transactions that wait for a row",
        read: |now| now.row_lock_waits_now,
    },
    Metric {
        name: "lock_row_lock_waits",
        subsystem: "lock",
        kind: "status_counter",
        comment: "waits for rows",
        read: |now| now.row_lock_waits,
    },
    Metric {
        name: "lock_row_lock_time",
        subsystem: "lock",
        kind: "status_counter",
        comment: "milliseconds of waits for rows",
        read: |now| now.row_lock_time_us / 1000,
    },
    Metric {
        name: "lock_row_lock_time_max",
        subsystem: "lock",
        kind: "value",
        comment: "the longest of them, in milliseconds",
        read: |now| now.row_lock_time_max_us / 1000,
    },
    Metric {
        name: "log_lsn_current",
        subsystem: "log",
        kind: "value",
        comment: "the end of the redo log",
        read: |now| now.store.lsn_current,
    },
    Metric {
        name: "log_lsn_last_flush",
        subsystem: "log",
        kind: "value",
        comment: "what of it is durable",
        read: |now| now.store.lsn_flushed,
    },
    Metric {
        name: "log_lsn_last_checkpoint",
        subsystem: "log",
        kind: "value",
        comment: "the last checkpoint",
        read: |now| now.store.lsn_checkpoint,
    },
    Metric {
        name: "log_lsn_checkpoint_age",
        subsystem: "log",
        kind: "value",
        comment: "bytes between the checkpoint and the end",
        read: |now| now.store.lsn_current.saturating_sub(now.store.lsn_checkpoint),
    },
    Metric {
        name: "log_waits",
        subsystem: "log",
        kind: "status_counter",
        comment: "waits for room in the log",
        read: |now| now.store.log_waits,
    },
    Metric {
        name: "log_write_requests",
        subsystem: "log",
        kind: "status_counter",
        comment: "mini-transactions",
        read: |now| now.store.log_write_requests,
    },
    Metric {
        name: "log_writes",
        subsystem: "log",
        kind: "status_counter",
        comment: "writes of the log",
        read: |now| now.store.log_writes,
    },
    Metric {
        name: "log_checkpoints",
        subsystem: "log",
        kind: "counter",
        comment: "checkpoints",
        read: |now| now.store.checkpoints,
    },
    Metric {
        name: "compress_pages_page_compressed",
        subsystem: "compression",
        kind: "counter",
        comment: "pages compressed when written",
        read: |now| now.store.pages_compressed,
    },
    Metric {
        name: "compress_pages_page_decompressed",
        subsystem: "compression",
        kind: "counter",
        comment: "pages decompressed when read",
        read: |now| now.store.pages_decompressed,
    },
    Metric {
        name: "dml_reads",
        subsystem: "dml",
        kind: "status_counter",
        comment: "rows read",
        read: |now| now.rows_read,
    },
    Metric {
        name: "dml_inserts",
        subsystem: "dml",
        kind: "status_counter",
        comment: "rows inserted",
        read: |now| now.rows_inserted,
    },
    Metric {
        name: "dml_deletes",
        subsystem: "dml",
        kind: "status_counter",
        comment: "rows deleted",
        read: |now| now.rows_deleted,
    },
    Metric {
        name: "dml_updates",
        subsystem: "dml",
        kind: "status_counter",
        comment: "rows updated",
        read: |now| now.rows_updated,
    },
    Metric {
        name: "innodb_page_size",
        subsystem: "server",
        kind: "value",
        comment: "bytes of a page",
        read: |now| now.store.page_bytes,
    },
    Metric {
        name: "innodb_dblwr_writes",
        subsystem: "server",
        kind: "status_counter",
        comment: "writes to the doublewrite files",
        read: |now| now.store.doublewrite_writes,
    },
    Metric {
        name: "innodb_dblwr_pages_written",
        subsystem: "server",
        kind: "status_counter",
        comment: "pages in them",
        read: |now| now.store.doublewrite_pages,
    },
];

pub const INNODB_METRICS: VirtualTable = VirtualTable {
    name: "INNODB_METRICS",
    columns: &[
        text("NAME", 193),
        text("SUBSYSTEM", 193),
        number("COUNT"),
        number("MAX_COUNT"),
        number("MIN_COUNT"),
        number("AVG_COUNT"),
        number("COUNT_RESET"),
        number("MAX_COUNT_RESET"),
        number("MIN_COUNT_RESET"),
        number("AVG_COUNT_RESET"),
        time("TIME_ENABLED"),
        time("TIME_DISABLED"),
        number("TIME_ELAPSED"),
        time("TIME_RESET"),
        text("STATUS", 193),
        text("TYPE", 193),
        text("COMMENT", 193),
    ],
    rows: |facts| {
        let (instance, now) = (facts.instance, facts.instance.engine.status());
        let started = instance.started_wall.duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        let started = started.as_secs() as i64 * 1_000_000;
        let started = DateTime::from_unix_micros(started, facts.zone).map_or(Value::Null, Value::DateTime);
        let row = |metric: &Metric| {
            let count = Value::UInt((metric.read)(&now));
            let mut row = vec![string(metric.name), string(metric.subsystem), count.clone()];
            row.extend([const { Value::Null }; 3]);
            row.push(count);
            row.extend([const { Value::Null }; 3]);
            row.extend([started.clone(), Value::Null, Value::UInt(instance.status.uptime_seconds()), Value::Null]);
            row.extend(["enabled", metric.kind, metric.comment].map(string));
            row
        };
        METRICS.iter().map(row).collect()
    },
};
