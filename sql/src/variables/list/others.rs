//! Other engines and interfaces.

use super::*;

pub(super) const LIST: &[Variable] = &[
    v("delay_key_write", Global, Enumeration(&["OFF", "ON", "ALL"]), "ON", "MyISAM").inert(GONE),
    v("ft_boolean_syntax", Global, Text, "+ -><()~*:\"\"&|", "Full-text search").inert(GONE),
    v("ft_max_word_len", Global, int(10, 84), "84", "Full-text search").at_start().inert(GONE),
    v("ft_min_word_len", Global, int(1, 84), "4", "Full-text search").at_start().inert(GONE),
    v("ft_query_expansion_limit", Global, int(0, 1000), "20", "Full-text search").at_start().inert(GONE),
    v("ft_stopword_file", Global, Text, "(built-in)", "Full-text search").at_start().inert(GONE),
    v("delayed_insert_limit", Global, int(1, ANY), "100", "INSERT DELAYED").inert(GONE),
    v("delayed_insert_timeout", Global, int(1, YEAR), "300", "INSERT DELAYED").inert(GONE),
    v("delayed_queue_size", Global, int(1, ANY), "1000", "INSERT DELAYED").inert(GONE),
    v("large_files_support", Global, Bool, "ON", "Files of more than 2 GB").fixed(),
    v("keyring_operations", Global, Bool, "ON", "Keys may be changed").inert(NOT_YET),
    v("create_admin_listener_thread", Global, Bool, "OFF", "A thread for administrators").at_start().inert(AUTOMATIC),
    v("caching_sha2_password_digest_rounds", Global, int(5000, 4_095_000), "5000", "Rounds that hash a password")
        .at_start()
        .inert(NOT_YET),
    v("key_buffer_size", Global, int(0, ANY), "8388608", "MyISAM").inert(GONE),
    v("key_cache_age_threshold", Global, int(100, ANY), "300", "MyISAM").inert(GONE),
    v("key_cache_block_size", Global, int(512, 16_384), "1024", "MyISAM").inert(GONE),
    v("key_cache_division_limit", Global, int(1, 100), "100", "MyISAM").inert(GONE),
    v("keep_files_on_create", Both, Bool, "OFF", "MyISAM").inert(GONE),
    v("aria_pagecache_buffer_size", Global, int(0, ANY), "134217728", "Aria").at_start().inert(GONE),
    v("myisam_data_pointer_size", Global, int(2, 7), "6", "MyISAM").inert(GONE),
    v("myisam_max_sort_file_size", Global, int(0, ANY), "9223372036853727232", "MyISAM").inert(GONE),
    v("myisam_mmap_size", Global, int(7, ANY), "18446744073709551615", "MyISAM").at_start().inert(GONE),
    v("myisam_recover_options", Global, Text, "OFF", "MyISAM").at_start().inert(GONE),
    v("myisam_repair_threads", Both, int(1, ANY), "1", "MyISAM").inert(GONE),
    v("myisam_sort_buffer_size", Both, int(4096, ANY), "8388608", "MyISAM").inert(GONE),
    v(
        "myisam_stats_method",
        Both,
        Enumeration(&["nulls_unequal", "nulls_equal", "nulls_ignored"]),
        "nulls_unequal",
        "MyISAM",
    )
    .inert(GONE),
    v("myisam_use_mmap", Global, Bool, "OFF", "MyISAM").inert(GONE),
    v("performance_schema", Global, Bool, "ON", "Collect what statements do").at_start(),
    v("performance_schema_digests_size", Global, int(-1, 1_048_576), "10000", "Digests that are counted").at_start(),
    v("performance_schema_events_statements_history_size", Global, int(-1, 1024), "10", "Statements kept per session")
        .at_start(),
    v("performance_schema_max_digest_length", Global, int(0, 1_048_576), "1024", "Bytes of a digest's text").at_start(),
    v("performance_schema_max_sql_text_length", Global, int(0, 1_048_576), "1024", "Bytes of a statement's text")
        .at_start(),
    v("symbolic_links", Global, Bool, "OFF", "Tables may be links").at_start().inert(GONE),
    v("safe_user_create", Global, Bool, "OFF", "Who may create accounts").at_start().inert(NOT_YET),
    v("automatic_sp_privileges", Global, Bool, "ON", "Rights on procedures"),
    v("activate_all_roles_on_login", Global, Bool, "OFF", "All roles of an account are active after login"),
    v("mandatory_roles", Global, Text, "", "Roles that every account has"),
    v("partial_revokes", Global, Bool, "OFF", "Global privileges can be revoked for single databases"),
    v("default_password_lifetime", Global, int(0, 65_535), "0", "Days that a password lives"),
    v("password_history", Global, int(0, U32), "0", "Passwords not to be used again"),
    v("password_reuse_interval", Global, int(0, U32), "0", "Days before a password may be used again"),
    v("password_require_current", Global, Bool, "OFF", "A change needs the old password"),
    v("check_proxy_users", Global, Bool, "OFF", "Acting for others").inert(NOT_YET),
    v("metadata_locks_cache_size", Global, int(1, 1_048_576), "1024", "Metadata locks").at_start().inert(GONE),
    v("metadata_locks_hash_instances", Global, int(1, 1024), "8", "Metadata locks").at_start().inert(GONE),
    v("multi_range_count", Both, int(1, U32), "256", "Ranges at once").inert(GONE),
    v("sync_frm", Global, Bool, "ON", "Sync definitions").inert(ALWAYS_ON),
    v("timed_mutexes", Global, Bool, "OFF", "Measure latches").inert(GONE),
    v("offline_mode", Global, Bool, "OFF", "Only administrators may be connected"),
    v("thread_pool_size", Global, int(1, 128), "2", "Groups of the pool of threads").inert(GONE),
    v("thread_pool_max_threads", Global, int(1, 65_536), "65536", "Threads of the pool").inert(GONE),
    v("gtid_strict_mode", Global, Bool, "OFF", "MariaDB's GTIDs in order").inert(NOT_YET),
    v("gtid_binlog_pos", Global, Text, "", "MariaDB's last GTIDs in the log").fixed(),
    v("gtid_current_pos", Global, Text, "", "MariaDB's last GTIDs").fixed(),
    v("gtid_slave_pos", Global, Text, "", "MariaDB's last replicated GTIDs").not_an_option(),
    v("skip_parallel_replication", Session, Bool, "OFF", "Do not apply in parallel").not_an_option().inert(NOT_YET),
    v("skip_replication", Session, Bool, "OFF", "Do not replicate").not_an_option().inert(NOT_YET),
    v("server_uid", Global, Text, "", "Identity of this server, as MariaDB calls it").fixed(),
    v("analyze_sample_percentage", Both, Real { min: 0.0, max: 100.0 }, "100", "Rows that ANALYZE reads").inert(GONE),
    v("idle_transaction_timeout", Both, int(0, YEAR), "0", "Seconds a transaction may be silent").inert(NOT_YET),
    v("tmp_disk_table_size", Both, int(1024, ANY), "18446744073709551615", "Bytes of a table on disk").inert(GONE),
    v("tmp_memory_table_size", Both, int(1024, ANY), "16777216", "Bytes of a table in memory").inert(GONE),
    v("system_versioning_insert_history", Both, Bool, "OFF", "Versioned rows may be inserted").inert(GONE),
    v("system_versioning_alter_history", Both, Enumeration(&["ERROR", "KEEP"]), "ERROR", "Versioned tables")
        .inert(GONE),
    v("userstat", Global, Bool, "OFF", "Count by account").inert(NOT_YET),
    v("ndb_force_send", Both, Bool, "ON", "NDB").inert(GONE),
    v("admin_address", Global, Text, "", "Address for administrators").at_start().null().inert(NOT_YET),
    v("admin_port", Global, int(0, 65_535), "33062", "Port for administrators").at_start().inert(NOT_YET),
    v("persist_only_admin_x509_subject", Global, Text, "", "Remote SET PERSIST").at_start().inert(NOT_YET),
    v("persisted_globals_load", Global, Bool, "ON", "Read mysqld-auto.cnf").at_start(),
    v("super_large_pages", Global, Bool, "OFF", "Use larger huge pages").at_start().inert(GONE),
    v("secondary_engine_cost_threshold", Session, Real { min: 0.0, max: 1e15 }, "100000", "Use a second engine")
        .not_an_option()
        .inert(GONE),
    v("select_into_buffer_size", Both, int(8192, ANY), "131072", "SELECT INTO OUTFILE").inert(NOT_YET),
    v("select_into_disk_sync", Both, Bool, "OFF", "SELECT INTO OUTFILE").inert(NOT_YET),
    v("generated_random_password_length", Both, int(5, 255), "20", "Characters of random passwords"),
    v("immediate_server_version", Session, int(0, 999_999), "999999", "Version of the source")
        .not_an_option()
        .inert("an event says it itself"),
    v("original_server_version", Session, int(0, 999_999), "999999", "Version of the first source")
        .not_an_option()
        .inert("an event says it itself"),
    v("original_commit_timestamp", Session, int(0, ANY), "36028797018963968", "Time of the first commit")
        .not_an_option(),
    v("avoid_temporal_upgrade", Global, Bool, "OFF", "ALTER TABLE keeps old formats").inert(GONE),
];
