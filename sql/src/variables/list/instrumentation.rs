//! How much the performance schema has room for: it takes what it needs.

use super::*;

/// How many of something there is room for.
const fn room(name: &'static str, kind: Kind, default: &'static str) -> Variable {
    v(name, Global, kind, default, "Room of the performance schema").at_start().inert(AUTOMATIC)
}

pub(super) const LIST: &[Variable] = &[
    room("performance_schema_accounts_size", int(-1, 1_048_576), "-1"),
    room("performance_schema_error_size", int(0, 1_048_576), "5000"),
    room("performance_schema_events_stages_history_long_size", int(-1, 1_048_576), "-1"),
    room("performance_schema_events_stages_history_size", int(-1, 1_024), "-1"),
    room("performance_schema_events_statements_history_long_size", int(-1, 1_048_576), "-1"),
    room("performance_schema_events_transactions_history_long_size", int(-1, 1_048_576), "-1"),
    room("performance_schema_events_transactions_history_size", int(-1, 1_024), "-1"),
    room("performance_schema_events_waits_history_long_size", int(-1, 1_048_576), "-1"),
    room("performance_schema_events_waits_history_size", int(-1, 1_024), "-1"),
    room("performance_schema_hosts_size", int(-1, 1_048_576), "-1"),
    room("performance_schema_max_cond_classes", int(0, 1_024), "150"),
    room("performance_schema_max_cond_instances", int(-1, 1_048_576), "-1"),
    v(
        "performance_schema_max_digest_sample_age",
        Global,
        int(0, 1_048_576),
        "60",
        "Seconds until a digest has another sample",
    )
    .inert(AUTOMATIC),
    room("performance_schema_max_file_classes", int(0, 1_024), "80"),
    room("performance_schema_max_file_handles", int(0, 1_048_576), "32768"),
    room("performance_schema_max_file_instances", int(-1, 1_048_576), "-1"),
    room("performance_schema_max_index_stat", int(-1, 1_048_576), "-1"),
    room("performance_schema_max_memory_classes", int(0, 1_024), "450"),
    room("performance_schema_max_metadata_locks", int(-1, 104_857_600), "-1"),
    room("performance_schema_max_mutex_classes", int(0, 1_024), "350"),
    room("performance_schema_max_mutex_instances", int(-1, 104_857_600), "-1"),
    room("performance_schema_max_prepared_statements_instances", int(-1, 1_048_576), "-1"),
    room("performance_schema_max_program_instances", int(-1, 1_048_576), "-1"),
    room("performance_schema_max_rwlock_classes", int(0, 1_024), "60"),
    room("performance_schema_max_rwlock_instances", int(-1, 104_857_600), "-1"),
    room("performance_schema_max_socket_classes", int(0, 1_024), "10"),
    room("performance_schema_max_socket_instances", int(-1, 1_048_576), "-1"),
    room("performance_schema_max_stage_classes", int(0, 1_024), "175"),
    room("performance_schema_max_statement_classes", int(0, 256), "219"),
    room("performance_schema_max_statement_stack", int(1, 256), "10"),
    room("performance_schema_max_table_handles", int(-1, 1_048_576), "-1"),
    room("performance_schema_max_table_instances", int(-1, 1_048_576), "-1"),
    room("performance_schema_max_table_lock_stat", int(-1, 1_048_576), "-1"),
    room("performance_schema_max_thread_classes", int(0, 1_024), "100"),
    room("performance_schema_max_thread_instances", int(-1, 1_048_576), "-1"),
    room("performance_schema_setup_actors_size", int(-1, 1_048_576), "-1"),
    room("performance_schema_setup_objects_size", int(-1, 1_048_576), "-1"),
    v("performance_schema_show_processlist", Global, Bool, "OFF", "SHOW PROCESSLIST reads the performance schema")
        .inert("both show the same"),
    room("performance_schema_users_size", int(-1, 1_048_576), "-1"),
];
