//! Logs, the binary log and replication.

use super::*;

const REPOSITORY: &str = "what a replica knows of its source is kept with the rows that it has applied";

pub(super) const LIST: &[Variable] = &[
    // --- Logs -------------------------------------------------------------------------------------------------------
    v("general_log", Global, Bool, "OFF", "Log all statements"),
    v("general_log_file", Global, Text, "", "File of all statements"),
    v("log_error", Global, Text, "stderr", "File of the server's messages").at_start().inert("messages go to stderr"),
    v("log_error_services", Global, Text, "", "How messages are written").inert(NOT_YET),
    v("log_error_suppression_list", Global, Text, "", "Messages that are left out").inert(NOT_YET),
    v("log_error_verbosity", Global, int(1, 3), "2", "1: errors, 2: and warnings, 3: and notes"),
    v("log_output", Global, Set(&["NONE", "FILE", "TABLE"]), "FILE", "Where statements are logged"),
    v("log_queries_not_using_indexes", Global, Bool, "OFF", "Such statements are slow"),
    v("log_slow_admin_statements", Global, Bool, "OFF", "Administration may be slow"),
    v("log_slow_extra", Global, Bool, "OFF", "The slow log tells more of each statement"),
    v("log_timestamps", Global, Enumeration(&["UTC", "SYSTEM"]), "UTC", "Time zone of the moments in logs"),
    v("log_warnings", Both, int(0, U32), "2", "How much is logged").inert(NOT_YET),
    v("long_query_time", Both, Real { min: 0.0, max: 31_536_000.0 }, "10", "Seconds that make a statement slow"),
    v("slow_launch_time", Global, int(0, YEAR), "2", "Seconds that make a thread's start slow").inert(NOT_YET),
    v("slow_query_log", Global, Bool, "OFF", "Log slow statements"),
    v("slow_query_log_file", Global, Text, "", "File of slow statements"),
    // --- Binary log and replication ---------------------------------------------------------------------------------
    v("binlog_cache_size", Global, steps(4096, ANY, 4096), "32768", "Bytes of a transaction's log"),
    v("binlog_checksum", Global, Enumeration(&["NONE", "CRC32"]), "CRC32", "Checksum of events"),
    v("binlog_do_db", Global, Text, "", "Databases that are logged, and no others").at_start(),
    v("binlog_direct_non_transactional_updates", Both, Bool, "OFF", "Log such updates at once")
        .inert("all tables are transactional"),
    v("binlog_dump_payloads", Global, Text, "AUTO", "Who is sent compressed transactions: AUTO, ON, OFF, user:..."),
    v(
        "binlog_error_action",
        Global,
        Enumeration(&["IGNORE_ERROR", "ABORT_SERVER"]),
        "ABORT_SERVER",
        "When the log cannot be written",
    )
    .inert("an engine that cannot write its log stops writing"),
    v("binlog_expire_logs_auto_purge", Global, Bool, "ON", "Logs that are old enough are removed"),
    v("binlog_expire_logs_seconds", Global, int(0, U32), "2592000", "Seconds that logs are kept"),
    v("binlog_format", Both, Enumeration(&["MIXED", "STATEMENT", "ROW"]), "ROW", "Form of the log"),
    v("binlog_group_commit_sync_delay", Global, int(0, 1_000_000), "0", "Microseconds to wait for others"),
    v("binlog_group_commit_sync_no_delay_count", Global, int(0, 100_000), "0", "Others that are enough"),
    v("binlog_ignore_db", Global, Text, "", "Databases that are not logged").at_start(),
    v("binlog_order_commits", Global, Bool, "ON", "Commits are in the log's order")
        .inert("commits are always in the order of the log"),
    v("binlog_row_event_max_size", Global, steps(256, U32, 256), "8192", "Bytes of a row event").at_start(),
    v("binlog_row_image", Both, Enumeration(&["MINIMAL", "NOBLOB", "FULL"]), "FULL", "Columns of row events"),
    v("binlog_row_metadata", Global, Enumeration(&["NO_LOG", "MINIMAL", "FULL"]), "MINIMAL", "Columns' metadata"),
    v("binlog_rows_query_log_events", Both, Bool, "OFF", "Log statements beside rows"),
    v("binlog_stmt_cache_size", Global, steps(4096, ANY, 4096), "32768", "Bytes of a statement's log")
        .inert("all tables are transactional"),
    v("binlog_transaction_compression", Both, Bool, "OFF", "Compress transactions in the log"),
    v("binlog_transaction_compression_level_zstd", Both, int(1, 22), "3", "Level of that"),
    v(
        "binlog_transaction_compression_session_control",
        Global,
        Bool,
        "ON",
        "Sessions may have a compression of their own",
    ),
    v(
        "binlog_transaction_dependency_history_size",
        Global,
        int(1, 1_000_000),
        "25000",
        "Keys that are remembered for that",
    ),
    v(
        "binlog_transaction_dependency_tracking",
        Global,
        Enumeration(&["COMMIT_ORDER", "WRITESET", "WRITESET_SESSION"]),
        "COMMIT_ORDER",
        "How it is found what may run in parallel",
    ),
    v("enforce_gtid_consistency", Global, Enumeration(&["OFF", "ON", "WARN"]), "OFF", "Refuse what GTIDs cannot log"),
    v("expire_logs_days", Global, int(0, 49_710), "30", "Days that logs are kept: binlog_expire_logs_seconds"),
    v("gtid_domain_id", Both, int(0, U32), "0", "Domain of MariaDB's GTIDs").inert(NOT_YET),
    v("gtid_executed", Global, Text, "", "Transactions that were executed").fixed(),
    v("gtid_mode", Global, Enumeration(&["OFF", "OFF_PERMISSIVE", "ON_PERMISSIVE", "ON"]), "OFF", "Use GTIDs"),
    v("gtid_next", Session, Text, "AUTOMATIC", "GTID of the next transaction").not_an_option(),
    v("gtid_owned", Both, Text, "", "Transactions that are being executed").fixed(),
    v("gtid_purged", Global, Text, "", "Transactions that left the log").not_an_option(),
    v("init_replica", Global, Text, "", "Statements of a replica's thread").inert(NOT_YET),
    v("log_bin", Global, Bool, "OFF", "Whether there is a binary log").fixed(),
    v("log_bin_basename", Global, Text, "", "Path of the log's files").null().fixed(),
    v("log_bin_index", Global, Text, "", "File that lists the log's files").null().at_start().inert(NOT_YET),
    v("log_bin_trust_function_creators", Global, Bool, "OFF", "Functions may be created"),
    v("log_bin_use_v1_row_events", Global, Bool, "OFF", "Old form of row events").inert(NOT_YET),
    v("log_replica_updates", Global, Bool, "ON", "A replica logs too").at_start(),
    v("source_verify_checksum", Global, Bool, "OFF", "Check events that are read").inert(NOT_YET),
    v("max_binlog_cache_size", Global, steps(4096, ANY, 4096), "18446744073709547520", "Largest transaction"),
    v("max_binlog_size", Global, steps(4096, 1 << 30, 4096), "1073741824", "Bytes of a log file"),
    v("max_binlog_stmt_cache_size", Global, steps(4096, ANY, 4096), "18446744073709547520", "Largest statement")
        .inert("all tables are transactional"),
    v("max_relay_log_size", Global, int(0, 1 << 30), "0", "Bytes of a relay log file"),
    v("rbr_exec_mode", Session, Enumeration(&["STRICT", "IDEMPOTENT"]), "STRICT", "Rows that BINLOG meets or misses")
        .not_an_option(),
    v("relay_log", Global, Text, "", "Files of the relay log").null().at_start(),
    v("relay_log_index", Global, Text, "", "List of the relay log's files").null().at_start().inert(AUTOMATIC),
    v("relay_log_info_file", Global, Text, "relay-log.info", "Where it was applied to").at_start().inert(REPOSITORY),
    v("relay_log_info_repository", Global, Enumeration(&["FILE", "TABLE"]), "TABLE", "Where it was applied to")
        .inert(REPOSITORY),
    v("master_info_repository", Global, Enumeration(&["FILE", "TABLE"]), "TABLE", "Where the source is kept")
        .inert(REPOSITORY),
    v("sync_source_info", Global, int(0, U32), "10000", "Events between syncs of what is known of the source")
        .inert(REPOSITORY),
    v("sync_relay_log_info", Global, int(0, U32), "10000", "Transactions between syncs of what was applied")
        .inert(REPOSITORY),
    v("log_slow_replica_statements", Global, Bool, "OFF", "The slow log has those of a replica").inert(NOT_YET),
    v("log_statements_unsafe_for_binlog", Global, Bool, "ON", "Warn of them").inert("rows are logged, not statements"),
    v("replica_type_conversions", Global, Text, "", "How rows of other types are taken").inert(NOT_YET),
    v("slave_rows_search_algorithms", Global, Text, "INDEX_SCAN,HASH_SCAN", "How a replica finds rows")
        .inert(AUTOMATIC),
    v("relay_log_purge", Global, Bool, "ON", "Remove what was applied").inert("what was applied is always removed"),
    v("relay_log_recovery", Global, Bool, "OFF", "Fetch again after a crash")
        .at_start()
        .inert("the relay log is fetched again after each start"),
    v("relay_log_space_limit", Global, int(0, ANY), "0", "Bytes of all relay logs").at_start(),
    v("replica_compressed_protocol", Global, Bool, "OFF", "Compress the connection").inert(NOT_YET),
    v("replica_net_timeout", Global, int(1, YEAR), "60", "Seconds a source may be silent"),
    v("replica_exec_mode", Global, Enumeration(&["STRICT", "IDEMPOTENT"]), "STRICT", "Rows that exist or are missing"),
    v("replica_parallel_workers", Global, int(0, 1024), "4", "Threads that apply; 0 means 1"),
    v(
        "replica_parallel_type",
        Global,
        Enumeration(&["DATABASE", "LOGICAL_CLOCK"]),
        "LOGICAL_CLOCK",
        "What is applied in parallel",
    ),
    v("replica_preserve_commit_order", Global, Bool, "ON", "Commits keep their order"),
    v("replica_pending_jobs_size_max", Global, steps(1024, ANY, 1024), "134217728", "Bytes of events in memory")
        .inert("workers read their events from the relay log, one at a time"),
    v("replica_skip_errors", Global, Text, "OFF", "Errors that are passed over").at_start(),
    v("replica_transaction_retries", Global, int(0, ANY), "10", "Tries of a transaction that was in the way"),
    v("report_host", Global, Text, "", "Name that a replica tells").null().at_start(),
    v("report_port", Global, int(0, 65_535), "0", "Port that a replica tells").at_start(),
    v("rpl_semi_sync_replica_enabled", Global, Bool, "OFF", "A replica answers"),
    v("rpl_semi_sync_source_enabled", Global, Bool, "OFF", "Commits wait for replicas"),
    v("rpl_semi_sync_source_timeout", Global, int(0, U32), "10000", "Milliseconds that they wait"),
    v("rpl_semi_sync_source_trace_level", Global, int(0, U32), "32", "What is told about it").inert(NOT_YET),
    v("rpl_semi_sync_source_wait_for_replica_count", Global, int(1, 65_535), "1", "Replicas that must answer"),
    v("rpl_semi_sync_source_wait_no_replica", Global, Bool, "ON", "Wait even if too few replicas are connected"),
    v(
        "rpl_semi_sync_source_wait_point",
        Global,
        Enumeration(&["AFTER_SYNC", "AFTER_COMMIT"]),
        "AFTER_COMMIT",
        "When they wait",
    )
    .inert("a commit is visible when it is in the log, so it waits after that"),
    v("sql_replica_skip_counter", Global, int(0, U32), "0", "Events that the next START REPLICA passes over")
        .not_an_option(),
    v("skip_replica_start", Global, Bool, "OFF", "Do not start to replicate").at_start(),
    v("sync_binlog", Global, int(0, U32), "1", "Commits between syncs of the log")
        .inert("transactions in the log are as durable as innodb_flush_log_at_trx_commit says"),
    v(
        "transaction_write_set_extraction",
        Both,
        Enumeration(&["OFF", "MURMUR32", "XXHASH64"]),
        "XXHASH64",
        "Hash of keys in write sets",
    )
    .inert("keys are hashed to 64 bits as binlog_transaction_dependency_tracking asks for it"),
    v("sync_relay_log", Global, int(0, U32), "10000", "Events between syncs of the relay log")
        .inert("the relay log is not synced: it is fetched again after each start"),
];
