//! How much the performance schema has room for: it takes what it needs.

use super::*;

pub(super) const LIST: &[Variable] = &[
    v("performance_schema_accounts_size", Global, int(-1, 1_048_576), "-1", "Room of the performance schema")
        .at_start()
        .inert(AUTOMATIC),
    v("performance_schema_error_size", Global, int(0, 1_048_576), "5000", "Room of the performance schema")
        .at_start()
        .inert(AUTOMATIC),
    v(
        "performance_schema_events_stages_history_long_size",
        Global,
        int(-1, 1_048_576),
        "-1",
        "Room of the performance schema",
    )
    .at_start()
    .inert(AUTOMATIC),
    v("performance_schema_events_stages_history_size", Global, int(-1, 1_024), "-1", "Room of the performance schema")
        .at_start()
        .inert(AUTOMATIC),
    v(
        "performance_schema_events_statements_history_long_size",
        Global,
        int(-1, 1_048_576),
        "-1",
        "Room of the performance schema",
    )
    .at_start()
    .inert(AUTOMATIC),
    v(
        "performance_schema_events_transactions_history_long_size",
        Global,
        int(-1, 1_048_576),
        "-1",
        "Room of the performance schema",
    )
    .at_start()
    .inert(AUTOMATIC),
    v(
        "performance_schema_events_transactions_history_size",
        Global,
        int(-1, 1_024),
        "-1",
        "Room of the performance schema",
    )
    .at_start()
    .inert(AUTOMATIC),
    v(
        "performance_schema_events_waits_history_long_size",
        Global,
        int(-1, 1_048_576),
        "-1",
        "Room of the performance schema",
    )
    .at_start()
    .inert(AUTOMATIC),
    v("performance_schema_events_waits_history_size", Global, int(-1, 1_024), "-1", "Room of the performance schema")
        .at_start()
        .inert(AUTOMATIC),
    v("performance_schema_hosts_size", Global, int(-1, 1_048_576), "-1", "Room of the performance schema")
        .at_start()
        .inert(AUTOMATIC),
    v("performance_schema_max_cond_classes", Global, int(0, 1_024), "150", "Room of the performance schema")
        .at_start()
        .inert(AUTOMATIC),
    v("performance_schema_max_cond_instances", Global, int(-1, 1_048_576), "-1", "Room of the performance schema")
        .at_start()
        .inert(AUTOMATIC),
    v(
        "performance_schema_max_digest_sample_age",
        Global,
        int(0, 1_048_576),
        "60",
        "Seconds until a digest has another sample",
    )
    .inert(AUTOMATIC),
    v("performance_schema_max_file_classes", Global, int(0, 1_024), "80", "Room of the performance schema")
        .at_start()
        .inert(AUTOMATIC),
    v("performance_schema_max_file_handles", Global, int(0, 1_048_576), "32768", "Room of the performance schema")
        .at_start()
        .inert(AUTOMATIC),
    v("performance_schema_max_file_instances", Global, int(-1, 1_048_576), "-1", "Room of the performance schema")
        .at_start()
        .inert(AUTOMATIC),
    v("performance_schema_max_index_stat", Global, int(-1, 1_048_576), "-1", "Room of the performance schema")
        .at_start()
        .inert(AUTOMATIC),
    v("performance_schema_max_memory_classes", Global, int(0, 1_024), "450", "Room of the performance schema")
        .at_start()
        .inert(AUTOMATIC),
    v("performance_schema_max_metadata_locks", Global, int(-1, 104_857_600), "-1", "Room of the performance schema")
        .at_start()
        .inert(AUTOMATIC),
    v("performance_schema_max_mutex_classes", Global, int(0, 1_024), "350", "Room of the performance schema")
        .at_start()
        .inert(AUTOMATIC),
    v("performance_schema_max_mutex_instances", Global, int(-1, 104_857_600), "-1", "Room of the performance schema")
        .at_start()
        .inert(AUTOMATIC),
    v(
        "performance_schema_max_prepared_statements_instances",
        Global,
        int(-1, 1_048_576),
        "-1",
        "Room of the performance schema",
    )
    .at_start()
    .inert(AUTOMATIC),
    v("performance_schema_max_program_instances", Global, int(-1, 1_048_576), "-1", "Room of the performance schema")
        .at_start()
        .inert(AUTOMATIC),
    v("performance_schema_max_rwlock_classes", Global, int(0, 1_024), "60", "Room of the performance schema")
        .at_start()
        .inert(AUTOMATIC),
    v("performance_schema_max_rwlock_instances", Global, int(-1, 104_857_600), "-1", "Room of the performance schema")
        .at_start()
        .inert(AUTOMATIC),
    v("performance_schema_max_socket_classes", Global, int(0, 1_024), "10", "Room of the performance schema")
        .at_start()
        .inert(AUTOMATIC),
    v("performance_schema_max_socket_instances", Global, int(-1, 1_048_576), "-1", "Room of the performance schema")
        .at_start()
        .inert(AUTOMATIC),
    v("performance_schema_max_stage_classes", Global, int(0, 1_024), "175", "Room of the performance schema")
        .at_start()
        .inert(AUTOMATIC),
    v("performance_schema_max_statement_classes", Global, int(0, 256), "219", "Room of the performance schema")
        .at_start()
        .inert(AUTOMATIC),
    v("performance_schema_max_statement_stack", Global, int(1, 256), "10", "Room of the performance schema")
        .at_start()
        .inert(AUTOMATIC),
    v("performance_schema_max_table_handles", Global, int(-1, 1_048_576), "-1", "Room of the performance schema")
        .at_start()
        .inert(AUTOMATIC),
    v("performance_schema_max_table_instances", Global, int(-1, 1_048_576), "-1", "Room of the performance schema")
        .at_start()
        .inert(AUTOMATIC),
    v("performance_schema_max_table_lock_stat", Global, int(-1, 1_048_576), "-1", "Room of the performance schema")
        .at_start()
        .inert(AUTOMATIC),
    v("performance_schema_max_thread_classes", Global, int(0, 1_024), "100", "Room of the performance schema")
        .at_start()
        .inert(AUTOMATIC),
    v("performance_schema_max_thread_instances", Global, int(-1, 1_048_576), "-1", "Room of the performance schema")
        .at_start()
        .inert(AUTOMATIC),
    v("performance_schema_setup_actors_size", Global, int(-1, 1_048_576), "-1", "Room of the performance schema")
        .at_start()
        .inert(AUTOMATIC),
    v("performance_schema_setup_objects_size", Global, int(-1, 1_048_576), "-1", "Room of the performance schema")
        .at_start()
        .inert(AUTOMATIC),
    v("performance_schema_show_processlist", Global, Bool, "OFF", "SHOW PROCESSLIST reads the performance schema")
        .inert("both show the same"),
    v("performance_schema_users_size", Global, int(-1, 1_048_576), "-1", "Room of the performance schema")
        .at_start()
        .inert(AUTOMATIC),
];
