//! MySQL's variables that do nothing here, so that its option files can be read.

use super::*;

pub(super) const LIST: &[Variable] = &[
    v("admin_ssl_ca", Global, Text, "", "TLS for administrators").null().inert(NOT_YET),
    v("admin_ssl_capath", Global, Text, "", "TLS for administrators").null().inert(NOT_YET),
    v("admin_ssl_cert", Global, Text, "", "TLS for administrators").null().inert(NOT_YET),
    v("admin_ssl_cipher", Global, Text, "", "TLS for administrators").null().inert(NOT_YET),
    v("admin_ssl_crl", Global, Text, "", "TLS for administrators").null().inert(NOT_YET),
    v("admin_ssl_crlpath", Global, Text, "", "TLS for administrators").null().inert(NOT_YET),
    v("admin_ssl_key", Global, Text, "", "TLS for administrators").null().inert(NOT_YET),
    v("admin_tls_ciphersuites", Global, Text, "", "TLS for administrators").null().inert(NOT_YET),
    v("admin_tls_version", Global, Text, "TLSv1.2,TLSv1.3", "TLS for administrators").inert(NOT_YET),
    v("binlog_encryption", Global, Bool, "OFF", "Encrypt the binary log").inert("the binary log is not encrypted"),
    v("binlog_gtid_simple_recovery", Global, Bool, "ON", "How GTIDs are found at a start").at_start().inert(AUTOMATIC),
    v("binlog_max_flush_queue_time", Global, int(0, 100_000), "0", "Microseconds of a group commit").inert(AUTOMATIC),
    v("binlog_rotate_encryption_master_key_at_startup", Global, Bool, "OFF", "A new key of the binary log")
        .at_start()
        .inert("the binary log is not encrypted"),
    v("binlog_row_value_options", Both, Set(&["PARTIAL_JSON"]), "", "Log parts of JSON values")
        .inert("whole values are logged"),
    v("build_id", Global, Text, "", "Identity of the program").fixed(),
    v("caching_sha2_password_private_key_path", Global, Text, "private_key.pem", "File of the RSA key")
        .at_start()
        .inert(NOT_YET),
    v("caching_sha2_password_public_key_path", Global, Text, "public_key.pem", "File of the RSA key")
        .at_start()
        .inert(NOT_YET),
    v("clone_autotune_concurrency", Global, Bool, "ON", "CLONE").inert(AUTOMATIC),
    v("clone_block_ddl", Global, Bool, "OFF", "CLONE").inert(AUTOMATIC),
    v("clone_buffer_size", Global, int(1_048_576, 268_435_456), "4194304", "CLONE").inert(AUTOMATIC),
    v("clone_ddl_timeout", Global, int(0, 2_592_000), "300", "CLONE").inert(AUTOMATIC),
    v("clone_delay_after_data_drop", Global, int(0, 3600), "0", "CLONE").inert(AUTOMATIC),
    v("clone_donor_timeout_after_network_failure", Global, int(0, 30), "5", "CLONE").inert(AUTOMATIC),
    v("clone_enable_compression", Global, Bool, "OFF", "CLONE").inert(AUTOMATIC),
    v("clone_max_concurrency", Global, int(1, 128), "16", "CLONE").inert(AUTOMATIC),
    v("clone_max_data_bandwidth", Global, int(0, 1_048_576), "0", "CLONE").inert(AUTOMATIC),
    v("clone_max_network_bandwidth", Global, int(0, 1_048_576), "0", "CLONE").inert(AUTOMATIC),
    v("clone_valid_donor_list", Global, Text, "", "CLONE").null().inert("no other server is cloned"),
    v("explain_json_format_version", Both, int(1, 2), "1", "Form of EXPLAIN FORMAT=JSON").inert(NOT_YET),
    v(
        "group_replication_consistency",
        Both,
        Enumeration(&["EVENTUAL", "BEFORE_ON_PRIMARY_FAILOVER", "BEFORE", "AFTER", "BEFORE_AND_AFTER"]),
        "EVENTUAL",
        "Group replication",
    )
    .inert("there are no groups"),
    v("gtid_executed_compression_period", Global, int(0, U32), "0", "Table of GTIDs").inert("there is no such table"),
    v("innodb_api_bk_commit_interval", Global, int(1, 1_073_741_824), "5", "InnoDB for memcached").inert(GONE),
    v("innodb_api_disable_rowlock", Global, Bool, "OFF", "InnoDB for memcached").at_start().inert(GONE),
    v("innodb_api_enable_binlog", Global, Bool, "OFF", "InnoDB for memcached").at_start().inert(GONE),
    v("innodb_api_trx_level", Global, int(0, 3), "0", "InnoDB for memcached").inert(GONE),
    v("innodb_page_hash_locks", Global, int(1, 1024), "16", "Latches of the buffer pool").at_start().inert(GONE),
    v("innodb_spin_wait_pause_multiplier", Global, int(0, 100), "50", "Waiting for latches").inert(GONE),
    v("innodb_status_file", Global, Bool, "OFF", "A file with the engine's state").at_start().inert(NOT_YET),
    v("innodb_validate_tablespace_paths", Global, Bool, "ON", "Look for moved files at a start")
        .at_start()
        .inert("files are opened by their names"),
    v("log_raw", Global, Bool, "OFF", "Passwords are logged as written").inert("passwords are never logged"),
    v("log_throttle_queries_not_using_indexes", Global, int(0, U32), "0", "Such statements a minute in the slow log")
        .inert(NOT_YET),
    v("master_info_file", Global, Text, "master.info", "Where the source is kept")
        .at_start()
        .inert("what a replica knows of its source is kept with the rows that it has applied"),
    v("mysql_native_password_proxy_users", Global, Bool, "OFF", "Acting for others").inert(NOT_YET),
    v("mysqlx_bind_address", Global, Text, "*", "X protocol").at_start().inert(NO_X),
    v(
        "mysqlx_compression_algorithms",
        Global,
        Set(&["DEFLATE_STREAM", "LZ4_MESSAGE", "ZSTD_STREAM"]),
        "DEFLATE_STREAM,LZ4_MESSAGE,ZSTD_STREAM",
        "X protocol",
    )
    .inert(NO_X),
    v("mysqlx_connect_timeout", Global, int(1, 1_000_000_000), "30", "X protocol").inert(NO_X),
    v("mysqlx_deflate_default_compression_level", Global, int(1, 9), "3", "X protocol").inert(NO_X),
    v("mysqlx_deflate_max_client_compression_level", Global, int(1, 9), "5", "X protocol").inert(NO_X),
    v("mysqlx_lz4_default_compression_level", Global, int(0, 16), "2", "X protocol").inert(NO_X),
    v("mysqlx_lz4_max_client_compression_level", Global, int(0, 16), "8", "X protocol").inert(NO_X),
    v("mysqlx_zstd_default_compression_level", Global, int(-131_072, 22), "3", "X protocol").inert(NO_X),
    v("mysqlx_zstd_max_client_compression_level", Global, int(-131_072, 22), "11", "X protocol").inert(NO_X),
    v("mysqlx_document_id_unique_prefix", Global, int(0, 65_535), "0", "X protocol").inert(NO_X),
    v("mysqlx_enable_hello_notice", Global, Bool, "ON", "X protocol").inert(NO_X),
    v("mysqlx_idle_worker_thread_timeout", Global, int(0, 3600), "60", "X protocol").inert(NO_X),
    v("mysqlx_interactive_timeout", Global, int(1, 2_147_483), "28800", "X protocol").inert(NO_X),
    v("mysqlx_max_allowed_packet", Global, int(512, 1_073_741_824), "67108864", "X protocol").inert(NO_X),
    v("mysqlx_max_connections", Global, int(1, 65_535), "100", "X protocol").inert(NO_X),
    v("mysqlx_min_worker_threads", Global, int(1, 100), "2", "X protocol").inert(NO_X),
    v("mysqlx_port_open_timeout", Global, int(0, 120), "0", "X protocol").at_start().inert(NO_X),
    v("mysqlx_read_timeout", Both, int(1, 2_147_483), "30", "X protocol").inert(NO_X),
    v("mysqlx_socket", Global, Text, "", "X protocol").at_start().inert(NO_X),
    v("mysqlx_ssl_ca", Global, Text, "", "X protocol").null().at_start().inert(NO_X),
    v("mysqlx_ssl_cert", Global, Text, "", "X protocol").null().at_start().inert(NO_X),
    v("mysqlx_ssl_key", Global, Text, "", "X protocol").null().at_start().inert(NO_X),
    v("mysqlx_wait_timeout", Both, int(1, 2_147_483), "28800", "X protocol").inert(NO_X),
    v("mysqlx_write_timeout", Both, int(1, 2_147_483), "60", "X protocol").inert(NO_X),
    v("old_style_user_limits", Global, Bool, "OFF", "Limits of an account count by host").at_start().inert(NOT_YET),
    v("optimizer_max_subgraph_pairs", Both, int(1, i32::MAX as u64), "100000", "Orders of joins that are looked at")
        .inert(AUTOMATIC),
    v("persist_sensitive_variables_in_plaintext", Global, Bool, "ON", "Passwords in mysqld-auto.cnf")
        .at_start()
        .inert(ALWAYS_ON),
    v("replica_allow_batching", Global, Bool, "ON", "Of NDB").inert(GONE),
    v(
        "replica_checkpoint_group",
        Global,
        steps(32, 524_280, 8),
        "512",
        "Transactions between syncs of what was applied",
    )
    .inert(AUTOMATIC),
    v("replica_checkpoint_period", Global, int(1, U32), "300", "Milliseconds between syncs of what was applied")
        .inert(AUTOMATIC),
    v(
        "replica_max_allowed_packet",
        Global,
        steps(1024, 1 << 30, 1024),
        "1073741824",
        "Largest event that a replica takes",
    )
    .inert(NOT_YET),
    v("replica_sql_verify_checksum", Global, Bool, "ON", "Check events of the relay log").inert(ALWAYS_ON),
    v("replication_optimize_for_static_plugin_config", Global, Bool, "OFF", "Locks of plugins").inert(GONE),
    v("replication_sender_observe_commit_only", Global, Bool, "OFF", "Semi-synchronous replication").inert(AUTOMATIC),
    v("report_password", Global, Text, "", "Password that a replica tells")
        .null()
        .at_start()
        .inert("no replica tells a password"),
    v("report_user", Global, Text, "", "Account that a replica tells").null().at_start().inert(NOT_YET),
    v("restrict_fk_on_non_standard_key", Both, Bool, "ON", "Foreign keys to keys that are not unique").inert(NOT_YET),
    v("rpl_read_size", Global, steps(8192, ANY, 8192), "8192", "Bytes that are read of a log at a time")
        .inert(AUTOMATIC),
    v("rpl_stop_replica_timeout", Global, int(2, YEAR), "31536000", "Seconds that STOP REPLICA waits").inert(NOT_YET),
    v("select_into_disk_sync_delay", Both, int(0, YEAR), "0", "SELECT INTO OUTFILE").inert(NOT_YET),
    v("server_id_bits", Global, int(7, 32), "32", "Of NDB").inert(GONE),
    v("set_operations_buffer_size", Both, steps(16_384, 1 << 30, 128), "262144", "Memory of INTERSECT and EXCEPT")
        .inert("tmp table size limits it"),
    v("sha256_password_auto_generate_rsa_keys", Global, Bool, "ON", "Make an RSA key at start")
        .at_start()
        .inert(ALWAYS_ON),
    v("sha256_password_private_key_path", Global, Text, "private_key.pem", "File of the RSA key")
        .at_start()
        .inert(NOT_YET),
    v("sha256_password_proxy_users", Global, Bool, "OFF", "Acting for others").inert(NOT_YET),
    v("sha256_password_public_key_path", Global, Text, "public_key.pem", "File of the RSA key")
        .at_start()
        .inert(NOT_YET),
    v("show_old_temporals", Both, Bool, "OFF", "SHOW CREATE TABLE tells old formats").inert(GONE),
    v("temptable_use_mmap", Global, Bool, "ON", "Temporary tables in files").inert(GONE),
    v("tls_certificates_enforced_validation", Global, Bool, "OFF", "Refuse a bad certificate at the start")
        .at_start()
        .inert(NOT_YET),
    v("transaction_allow_batching", Session, Bool, "OFF", "Of NDB").not_an_option().inert(GONE),
];
