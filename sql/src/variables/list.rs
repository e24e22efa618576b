//! The system variables, by subject, a line or two for each.
//!
//! `default` is what an option file would say. Variables that the server fills in
//! at start (`port`, `datadir`, `version`) stand here with a placeholder.

use format::transform::Algorithm;

use super::kind::Kind;
use super::variable::{Reach, Variable};
use Kind::{Bool, Enumeration, Real, Set, Text};
use Reach::{Both, Global, Session};

/// A variable that SET and options may change: the common case.
const fn v(name: &'static str, reach: Reach, kind: Kind, default: &'static str, help: &'static str) -> Variable {
    Variable {
        name,
        reach,
        kind,
        default: Some(default),
        dynamic: true,
        option: true,
        computed: false,
        no_effect: None,
        help,
    }
}

impl Variable {
    /// Options at start may set it, SET may not.
    const fn at_start(self) -> Self {
        Self { dynamic: false, ..self }
    }

    /// Nobody may set it.
    const fn fixed(self) -> Self {
        Self { dynamic: false, option: false, ..self }
    }

    /// The session knows its value.
    const fn computed(self) -> Self {
        Self { computed: true, option: false, ..self }
    }

    const fn not_an_option(self) -> Self {
        Self { option: false, ..self }
    }

    /// NULL unless set.
    const fn null(self) -> Self {
        Self { default: None, ..self }
    }

    const fn inert(self, reason: &'static str) -> Self {
        Self { no_effect: Some(reason), ..self }
    }
}

const fn int(min: i64, max: u64) -> Kind {
    Kind::Integer { min, max, step: 1 }
}

const fn steps(min: i64, max: u64, step: u64) -> Kind {
    Kind::Integer { min, max, step }
}

const ANY: u64 = u64::MAX;
const U32: u64 = u32::MAX as u64;
/// A day in a year, in seconds: the largest timeout.
const YEAR: u64 = 31_536_000;

const GONE: &str = "the machinery that it tuned does not exist here";
const NO_LOG: &str = "there is no binary log yet";
const NO_REPLICA: &str = "there is no replication yet";
const AUTOMATIC: &str = "the server decides this by itself";
const ALWAYS_ON: &str = "this is always so here";
const NOT_YET: &str = "it is kept, but not obeyed yet";
const TABLES_ONLY: &str = "tables are encrypted; the redo log, undo and the system tablespace are not";

pub const ISOLATION_LEVELS: &[&str] = &["READ-UNCOMMITTED", "READ-COMMITTED", "REPEATABLE-READ", "SERIALIZABLE"];

/// In the order of their bits: see [`super::SqlMode`].
pub const SQL_MODES: &[&str] = &[
    "REAL_AS_FLOAT",
    "PIPES_AS_CONCAT",
    "ANSI_QUOTES",
    "IGNORE_SPACE",
    "IGNORE_BAD_TABLE_OPTIONS",
    "ONLY_FULL_GROUP_BY",
    "NO_UNSIGNED_SUBTRACTION",
    "NO_DIR_IN_CREATE",
    "POSTGRESQL",
    "ORACLE",
    "MSSQL",
    "DB2",
    "MAXDB",
    "NO_KEY_OPTIONS",
    "NO_TABLE_OPTIONS",
    "NO_FIELD_OPTIONS",
    "MYSQL323",
    "MYSQL40",
    "ANSI",
    "NO_AUTO_VALUE_ON_ZERO",
    "NO_BACKSLASH_ESCAPES",
    "STRICT_TRANS_TABLES",
    "STRICT_ALL_TABLES",
    "NO_ZERO_IN_DATE",
    "NO_ZERO_DATE",
    "ALLOW_INVALID_DATES",
    "ERROR_FOR_DIVISION_BY_ZERO",
    "TRADITIONAL",
    "NO_AUTO_CREATE_USER",
    "HIGH_NOT_PRECEDENCE",
    "NO_ENGINE_SUBSTITUTION",
    "PAD_CHAR_TO_FULL_LENGTH",
    "TIME_TRUNCATE_FRACTIONAL",
];

pub static LIST: &[Variable] = &[
    // --- Server -----------------------------------------------------------------------------------------------------
    v("basedir", Global, Text, "", "Directory of the installation").at_start(),
    v("bind_address", Global, Text, "127.0.0.1", "Addresses to listen on, separated by commas; * for all").at_start(),
    v("datadir", Global, Text, "./data", "Directory of the databases").at_start(),
    v("hostname", Global, Text, "localhost", "Name of this machine").fixed(),
    v("license", Global, Text, "Apache-2.0", "Licence of the server").fixed(),
    v("lower_case_file_system", Global, Bool, "OFF", "Whether file names ignore case").fixed(),
    v("lower_case_table_names", Global, int(0, 2), "0", "How table names are stored and compared; only 0")
        .at_start()
        .inert("names are always stored and compared as given"),
    v("pid_file", Global, Text, "", "File that holds the process id").at_start(),
    v("plugin_dir", Global, Text, "", "Directory of plugins").at_start().inert("there are no plugins"),
    v("port", Global, int(0, 65_535), "3306", "TCP port to listen on").at_start(),
    v("protocol_version", Global, int(0, 255), "10", "Version of the client protocol").fixed(),
    v("server_id", Both, int(0, U32), "1", "Number of this server in replication").inert(NO_LOG),
    v("server_uuid", Global, Text, "", "Identity of this server, from auto.cnf in the data directory").fixed(),
    v("skip_networking", Global, Bool, "OFF", "Listen on the socket only").at_start(),
    v("skip_name_resolve", Global, Bool, "ON", "Do not ask DNS for the names of clients")
        .at_start()
        .inert("names of clients are never asked for"),
    v("skip_external_locking", Global, Bool, "ON", "Do not lock files for other servers").at_start().inert(ALWAYS_ON),
    v("skip_show_database", Global, Bool, "OFF", "Hide the list of databases").at_start().inert(NOT_YET),
    v("socket", Global, Text, "glassine.sock", "Unix socket to listen on").at_start(),
    v("system_time_zone", Global, Text, "UTC", "The machine's time zone").fixed(),
    v("tmpdir", Global, Text, "/tmp", "Directory of temporary files").at_start(),
    v("slave_load_tmpdir", Global, Text, "/tmp", "Directory of temporary files of replication").at_start(),
    v("user", Global, Text, "", "Account to run as").at_start().inert("start the server as that account"),
    v("version", Global, Text, "8.0.36-glassine", "Version of the server, as clients see it").at_start(),
    v("version_comment", Global, Text, "Glassine", "Name of the server").fixed(),
    v("version_compile_machine", Global, Text, std::env::consts::ARCH, "Machine it was built for").fixed(),
    v("version_compile_os", Global, Text, std::env::consts::OS, "System it was built for").fixed(),
    v("version_compile_zlib", Global, Text, "libdeflate", "Library of the zlib codec").fixed(),
    v("core_file", Global, Bool, "OFF", "Write a core file on a crash").at_start().inert(NOT_YET),
    v("external_user", Session, Text, "", "Name that an authentication plugin saw").null().fixed(),
    v("proxy_user", Session, Text, "", "Account that is acted for").null().fixed(),
    v("large_page_size", Global, int(0, ANY), "0", "Bytes of a huge page").fixed(),
    v("large_pages", Global, Bool, "OFF", "Use huge pages").at_start().inert(NOT_YET),
    v("locked_in_memory", Global, Bool, "OFF", "Whether the server is locked in memory").fixed(),
    v("have_compress", Global, Text, "YES", "Whether COMPRESS() exists").fixed(),
    v("have_dynamic_loading", Global, Text, "NO", "Whether plugins can be loaded").fixed(),
    v("have_geometry", Global, Text, "NO", "Whether there are spatial types").fixed(),
    v("have_openssl", Global, Text, "DISABLED", "Whether there is TLS").fixed(),
    v("have_profiling", Global, Text, "NO", "Whether SHOW PROFILE exists").fixed(),
    v("have_query_cache", Global, Text, "NO", "Whether results are cached").fixed(),
    v("have_rtree_keys", Global, Text, "NO", "Whether there are spatial indexes").fixed(),
    v("have_ssl", Global, Text, "DISABLED", "Whether there is TLS").fixed(),
    v("have_statement_timeout", Global, Text, "YES", "Whether statements can be limited in time").fixed(),
    v("have_symlink", Global, Text, "DISABLED", "Whether tables may be links").fixed(),
    // --- Connections ------------------------------------------------------------------------------------------------
    v("back_log", Global, int(1, 65_535), "128", "Connections that may wait to be accepted").at_start(),
    v("connect_timeout", Global, int(2, YEAR), "10", "Seconds for a client to log in"),
    v(
        "default_authentication_plugin",
        Global,
        Enumeration(&["mysql_native_password", "caching_sha2_password"]),
        "caching_sha2_password",
        "Plugin of new accounts",
    )
    .at_start(),
    v("authentication_policy", Global, Text, "*,,", "Plugins of new accounts").inert(NOT_YET),
    v("caching_sha2_password_auto_generate_rsa_keys", Global, Bool, "ON", "Make an RSA key at start")
        .at_start()
        .inert(ALWAYS_ON),
    v("disconnect_on_expired_password", Global, Bool, "ON", "Refuse clients whose password expired")
        .at_start()
        .inert("passwords do not expire"),
    v("init_connect", Global, Text, "", "Statements run for each new client").inert(NOT_YET),
    v("interactive_timeout", Both, int(1, YEAR), "28800", "Seconds an interactive client may be silent"),
    v("max_allowed_packet", Both, steps(1024, 1 << 30, 1024), "67108864", "Most bytes of a statement or value"),
    v("max_connect_errors", Global, int(1, ANY), "100", "Errors after which a host is refused").inert(NOT_YET),
    v("max_connections", Global, int(1, 100_000), "151", "Most clients at once"),
    v("max_user_connections", Both, int(0, U32), "0", "Most clients of one account at once").inert(NOT_YET),
    v("mysqlx_port", Global, int(0, 65_535), "33060", "Port of the X protocol")
        .at_start()
        .inert("there is no X protocol"),
    v("net_buffer_length", Both, steps(1024, 1 << 20, 1024), "16384", "Bytes of a connection's first buffer"),
    v("net_read_timeout", Both, int(1, YEAR), "30", "Seconds to wait for the rest of a packet"),
    v("net_retry_count", Both, int(1, ANY), "10", "How often a broken read is tried again").inert(GONE),
    v("net_write_timeout", Both, int(1, YEAR), "60", "Seconds to wait for a client to take data"),
    v("pseudo_thread_id", Session, int(0, ANY), "0", "Number of this connection").computed(),
    v("pseudo_slave_mode", Session, Bool, "OFF", "Used by replayed binary logs").not_an_option(),
    v("require_secure_transport", Global, Bool, "OFF", "Accept TLS and sockets only").inert(NOT_YET),
    v("secure_auth", Global, Bool, "ON", "Refuse passwords of version 4.0").inert(ALWAYS_ON),
    v("secure_file_priv", Global, Text, "", "Directory that files may be read from and written to").null().at_start(),
    v("session_track_gtids", Both, Enumeration(&["OFF", "OWN_GTID", "ALL_GTIDS"]), "OFF", "Report transactions' GTIDs"),
    v("session_track_schema", Both, Bool, "ON", "Report changes of the database").inert(NOT_YET),
    v("session_track_state_change", Both, Bool, "OFF", "Report changes of the session").inert(NOT_YET),
    v(
        "session_track_system_variables",
        Both,
        Text,
        "time_zone,autocommit,character_set_client,character_set_results,character_set_connection",
        "Variables whose changes are reported",
    ),
    v(
        "session_track_transaction_info",
        Both,
        Enumeration(&["OFF", "STATE", "CHARACTERISTICS"]),
        "OFF",
        "Report the state of the transaction",
    ),
    v("ssl_ca", Global, Text, "", "File of certificates").null().at_start().inert("there is no TLS yet"),
    v("ssl_cert", Global, Text, "", "File of the server's certificate").null().at_start().inert("there is no TLS yet"),
    v("ssl_cipher", Global, Text, "", "Ciphers that may be used").null().at_start().inert("there is no TLS yet"),
    v("ssl_key", Global, Text, "", "File of the server's key").null().at_start().inert("there is no TLS yet"),
    v("tls_version", Global, Text, "", "Versions of TLS that may be used").inert("there is no TLS yet"),
    v("thread_cache_size", Global, int(0, 16_384), "9", "Idle threads that are kept").inert(AUTOMATIC),
    v(
        "thread_handling",
        Global,
        Enumeration(&["one-thread-per-connection", "no-threads", "pool-of-threads"]),
        "one-thread-per-connection",
        "How connections are served",
    )
    .at_start()
    .inert(AUTOMATIC),
    v("thread_stack", Global, steps(131_072, ANY, 1024), "1048576", "Bytes of a connection's stack")
        .at_start()
        .inert(AUTOMATIC),
    v("wait_timeout", Both, int(1, YEAR), "28800", "Seconds a client may be silent"),
    // --- Character sets, time, language -----------------------------------------------------------------------------
    v("character_set_client", Both, Text, "utf8mb4", "Character set of statements").not_an_option(),
    v("character_set_connection", Both, Text, "utf8mb4", "Character set of literals").not_an_option(),
    v("character_set_database", Both, Text, "utf8mb4", "Character set of the current database").not_an_option(),
    v("character_set_filesystem", Both, Text, "binary", "Character set of file names"),
    v("character_set_results", Both, Text, "utf8mb4", "Character set of results; NULL: as stored").not_an_option(),
    v("character_set_server", Both, Text, "utf8mb4", "Character set of new databases"),
    v("character_set_system", Global, Text, "utf8mb3", "Character set of names").fixed(),
    v("character_sets_dir", Global, Text, "", "Directory of character sets").at_start().inert("they are built in"),
    v("collation_connection", Both, Text, "utf8mb4_general_ci", "Collation of literals").not_an_option(),
    v("collation_database", Both, Text, "utf8mb4_general_ci", "Collation of the current database").not_an_option(),
    v("collation_server", Both, Text, "utf8mb4_general_ci", "Collation of new databases"),
    v("default_collation_for_utf8mb4", Both, Text, "utf8mb4_general_ci", "Collation that utf8mb4 stands for")
        .not_an_option(),
    v("date_format", Global, Text, "%Y-%m-%d", "Format of dates").fixed(),
    v("datetime_format", Global, Text, "%Y-%m-%d %H:%i:%s", "Format of dates with time").fixed(),
    v("time_format", Global, Text, "%H:%i:%s", "Format of times").fixed(),
    v("default_week_format", Both, int(0, 7), "0", "What WEEK() counts"),
    v("explicit_defaults_for_timestamp", Both, Bool, "ON", "TIMESTAMP columns have no magic defaults"),
    v("lc_messages", Both, Text, "en_US", "Language of messages").inert("messages are English"),
    v("lc_messages_dir", Global, Text, "", "Directory of messages").at_start().inert("messages are English"),
    v("lc_time_names", Both, Text, "en_US", "Language of day and month names").inert("names are English"),
    v("time_zone", Both, Text, "SYSTEM", "Time zone of this session").not_an_option(),
    v("default_time_zone", Global, Text, "SYSTEM", "Time zone of new sessions").at_start(),
    v("timestamp", Session, Real { min: 0.0, max: 4_294_967_295.0 }, "0", "What NOW() answers; 0: the time").computed(),
    // --- Statements -------------------------------------------------------------------------------------------------
    v("auto_increment_increment", Both, int(1, 65_535), "1", "Step of AUTO_INCREMENT"),
    v("auto_increment_offset", Both, int(1, 65_535), "1", "Start of AUTO_INCREMENT"),
    v("autocommit", Both, Bool, "ON", "Each statement is a transaction"),
    v("big_tables", Both, Bool, "OFF", "Temporary tables go to disk").inert(AUTOMATIC),
    v("block_encryption_mode", Both, Text, "aes-128-ecb", "Mode of AES_ENCRYPT()").inert(NOT_YET),
    v("bulk_insert_buffer_size", Both, int(0, ANY), "8388608", "Bytes of MyISAM's insert buffer").inert(GONE),
    v("completion_type", Both, Enumeration(&["NO_CHAIN", "CHAIN", "RELEASE"]), "NO_CHAIN", "What follows a COMMIT"),
    v("concurrent_insert", Global, Enumeration(&["NEVER", "AUTO", "ALWAYS"]), "AUTO", "MyISAM's inserts at the end")
        .inert(GONE),
    v("cte_max_recursion_depth", Both, int(0, U32), "1000", "Rounds of a recursive WITH"),
    v("default_storage_engine", Both, Text, "InnoDB", "Engine of new tables"),
    v("default_tmp_storage_engine", Both, Text, "InnoDB", "Engine of temporary tables"),
    v("default_table_encryption", Both, Bool, "OFF", "New tables are encrypted if they do not say ENCRYPTION='N'"),
    v("disabled_storage_engines", Global, Text, "", "Engines that may not be used").at_start(),
    v("div_precision_increment", Both, int(0, 30), "4", "Digits that a division adds"),
    v("end_markers_in_json", Both, Bool, "OFF", "Form of EXPLAIN FORMAT=JSON").inert(NOT_YET),
    v("enforce_storage_engine", Both, Text, "", "Engine of all new tables").null(),
    v("eq_range_index_dive_limit", Both, int(0, U32), "200", "Ranges that are estimated one by one").inert(AUTOMATIC),
    v("error_count", Session, int(0, 65_535), "0", "Errors of the last statement").computed().fixed(),
    v("event_scheduler", Global, Enumeration(&["OFF", "ON", "DISABLED"]), "OFF", "Whether events run")
        .inert("there are no events yet"),
    v("flush", Global, Bool, "OFF", "Flush tables after each statement").inert(GONE),
    v("flush_time", Global, int(0, U32), "0", "Seconds between flushes of all tables").inert(GONE),
    v("foreign_key_checks", Both, Bool, "ON", "Check foreign keys"),
    v("group_concat_max_len", Both, int(4, ANY), "1024", "Most bytes of GROUP_CONCAT()"),
    v("histogram_generation_max_mem_size", Both, int(1_000_000, ANY), "20000000", "Memory of histograms").inert(GONE),
    v("identity", Session, int(0, ANY), "0", "The last AUTO_INCREMENT value").computed(),
    v("insert_id", Session, int(0, ANY), "0", "The next AUTO_INCREMENT value").computed(),
    v(
        "internal_tmp_mem_storage_engine",
        Both,
        Enumeration(&["MEMORY", "TempTable"]),
        "TempTable",
        "Engine of internal temporary tables",
    )
    .inert(AUTOMATIC),
    v("join_buffer_size", Both, steps(128, ANY, 128), "262144", "Bytes of a join's buffer").inert(AUTOMATIC),
    v("join_cache_level", Both, int(0, 8), "2", "Algorithms of joins").inert(AUTOMATIC),
    v("last_insert_id", Session, int(0, ANY), "0", "The last AUTO_INCREMENT value").computed(),
    v("local_infile", Global, Bool, "OFF", "LOAD DATA LOCAL is allowed"),
    v("lock_wait_timeout", Both, int(0, YEAR), "31536000", "Seconds to wait for a metadata lock"),
    v("low_priority_updates", Both, Bool, "OFF", "Readers come before writers").inert(GONE),
    v("sql_low_priority_updates", Both, Bool, "OFF", "Readers come before writers").inert(GONE),
    v("max_delayed_threads", Both, int(0, 16_384), "20", "Threads of INSERT DELAYED").inert(GONE),
    v("max_digest_length", Global, int(0, 1 << 20), "1024", "Bytes of a statement's digest").at_start().inert(NOT_YET),
    v("max_error_count", Both, int(0, 65_535), "1024", "Warnings that are kept"),
    v("max_execution_time", Both, int(0, U32), "0", "Milliseconds that a SELECT may take; 0: no limit"),
    v("max_heap_table_size", Both, steps(16_384, ANY, 1024), "16777216", "Bytes of a MEMORY table").inert(GONE),
    v("max_insert_delayed_threads", Both, int(0, 16_384), "0", "Threads of INSERT DELAYED").inert(GONE),
    v("max_join_size", Both, int(1, ANY), "18446744073709551615", "Rows that a join may look at").inert(NOT_YET),
    v("max_length_for_sort_data", Both, int(4, 8_388_608), "4096", "Bytes of a row in a sort").inert(AUTOMATIC),
    v("max_points_in_geometry", Both, int(3, 1_048_576), "65536", "Points of a geometry").inert(GONE),
    v("max_prepared_stmt_count", Global, int(0, 4_194_304), "16382", "Prepared statements of all clients"),
    v("max_recursive_iterations", Both, int(0, U32), "1000", "Rounds of a recursive WITH"),
    v("max_seeks_for_key", Both, int(1, ANY), "18446744073709551615", "Cost of an index look-up").inert(AUTOMATIC),
    v("max_sort_length", Both, int(4, 8_388_608), "1024", "Bytes that a sort compares").inert("sorts compare all"),
    v("max_sp_recursion_depth", Both, int(0, 255), "0", "Depth of procedures").inert("there are no procedures yet"),
    v(
        "max_statement_time",
        Both,
        Real { min: 0.0, max: 31_536_000.0 },
        "0",
        "Seconds that a statement may take; 0: no limit",
    ),
    v("max_tmp_tables", Both, int(1, ANY), "32", "Temporary tables").inert(GONE),
    v("max_write_lock_count", Global, int(1, ANY), "18446744073709551615", "Writers before a reader").inert(GONE),
    v("min_examined_row_limit", Both, int(0, ANY), "0", "Rows that make a statement slow").inert(NOT_YET),
    v("new", Both, Bool, "OFF", "Behave as version 4.1").inert(GONE),
    v("old", Global, Bool, "OFF", "Behave as old versions").at_start().inert(GONE),
    v("old_alter_table", Both, Bool, "OFF", "ALTER TABLE copies").inert(AUTOMATIC),
    v("old_mode", Both, Text, "", "Behave as old versions").inert(GONE),
    v("old_passwords", Both, int(0, 2), "0", "Form of PASSWORD()").inert(GONE),
    v("open_files_limit", Global, int(0, U32), "65535", "Files that may be open").at_start().inert(AUTOMATIC),
    v("optimizer_prune_level", Both, int(0, 2), "1", "Plans that are left out").inert(AUTOMATIC),
    v("optimizer_search_depth", Both, int(0, 62), "62", "Tables whose orders are tried").inert(AUTOMATIC),
    v(
        "optimizer_switch",
        Both,
        Text,
        "index_merge=on,mrr=on,index_condition_pushdown=on,derived_merge=on",
        "Ways of the planner",
    )
    .inert(AUTOMATIC),
    v("optimizer_trace", Both, Text, "enabled=off,one_line=off", "Write down how a plan was found").inert(NOT_YET),
    v("optimizer_use_condition_selectivity", Both, int(1, 5), "4", "Statistics of the planner").inert(AUTOMATIC),
    v("preload_buffer_size", Both, int(1024, 1 << 30), "32768", "Bytes of LOAD INDEX").inert(GONE),
    v("print_identified_with_as_hex", Both, Bool, "OFF", "SHOW CREATE USER prints hex").inert(NOT_YET),
    v("profiling", Both, Bool, "OFF", "Measure statements").inert(NOT_YET),
    v("profiling_history_size", Both, int(0, 100), "15", "Statements that are measured").inert(NOT_YET),
    v("query_alloc_block_size", Both, steps(1024, U32, 1024), "8192", "Bytes of a statement's memory").inert(AUTOMATIC),
    v("query_cache_limit", Global, int(0, ANY), "1048576", "Largest cached result").inert(GONE),
    v("query_cache_min_res_unit", Global, int(0, ANY), "4096", "Blocks of the query cache").inert(GONE),
    v("query_cache_size", Global, int(0, ANY), "0", "Bytes of the query cache").inert(GONE),
    v("query_cache_type", Both, Enumeration(&["OFF", "ON", "DEMAND"]), "OFF", "Cache results").inert(GONE),
    v("query_cache_wlock_invalidate", Both, Bool, "OFF", "Locks empty the query cache").inert(GONE),
    v("query_prealloc_size", Both, steps(8192, ANY, 1024), "8192", "Bytes of a statement's memory").inert(AUTOMATIC),
    v("rand_seed1", Session, int(0, ANY), "0", "Seed of RAND()").not_an_option(),
    v("rand_seed2", Session, int(0, ANY), "0", "Seed of RAND()").not_an_option(),
    v("range_alloc_block_size", Both, steps(4096, U32, 1024), "4096", "Bytes of a range's memory").inert(AUTOMATIC),
    v("range_optimizer_max_mem_size", Both, int(0, ANY), "8388608", "Memory of ranges").inert(AUTOMATIC),
    v("read_buffer_size", Both, steps(8192, 1 << 31, 4096), "131072", "Bytes of a scan's buffer").inert(AUTOMATIC),
    v("read_only", Global, Bool, "OFF", "Refuse writes of all accounts but root"),
    v("read_rnd_buffer_size", Both, int(1, 1 << 31), "262144", "Bytes of a sorted read's buffer").inert(AUTOMATIC),
    v("resultset_metadata", Session, Enumeration(&["NONE", "FULL"]), "FULL", "Send column definitions").not_an_option(),
    v("schema_definition_cache", Global, int(256, 524_288), "256", "Databases in memory").inert(AUTOMATIC),
    v("show_create_table_verbosity", Both, Bool, "OFF", "SHOW CREATE TABLE prints defaults").inert(NOT_YET),
    v("sort_buffer_size", Both, int(32_768, ANY), "262144", "Bytes of a sort's buffer").inert(AUTOMATIC),
    v("sql_auto_is_null", Both, Bool, "OFF", "id IS NULL finds the last inserted row").inert(NOT_YET),
    v("sql_big_selects", Both, Bool, "ON", "Large joins are allowed").inert(NOT_YET),
    v("sql_buffer_result", Both, Bool, "OFF", "Results go through a temporary table").inert(NOT_YET),
    v("sql_generate_invisible_primary_key", Both, Bool, "OFF", "Tables get a primary key").inert(NOT_YET),
    v("sql_if_exists", Both, Bool, "OFF", "DROP means DROP IF EXISTS").inert(NOT_YET),
    v("sql_log_bin", Session, Bool, "ON", "This session's changes are logged").not_an_option(),
    v("sql_log_off", Both, Bool, "OFF", "This session's statements are not logged").not_an_option(),
    v(
        "sql_mode",
        Both,
        Set(SQL_MODES),
        "ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION",
        "What is accepted and how it is read",
    ),
    v("sql_notes", Both, Bool, "ON", "Notes count as warnings"),
    v("sql_quote_show_create", Both, Bool, "ON", "SHOW CREATE quotes names"),
    v("sql_require_primary_key", Both, Bool, "OFF", "Tables must have a primary key"),
    v("sql_safe_updates", Both, Bool, "OFF", "UPDATE and DELETE need a key or LIMIT"),
    v("sql_select_limit", Both, int(0, ANY), "18446744073709551615", "Most rows of a SELECT without LIMIT"),
    v("sql_warnings", Both, Bool, "OFF", "INSERT tells about its warnings"),
    v("standard_compliant_cte", Both, Bool, "ON", "WITH as the standard has it").inert(NOT_YET),
    v("stored_program_cache", Global, int(16, 524_288), "256", "Procedures in memory").inert(GONE),
    v("super_read_only", Global, Bool, "OFF", "Refuse writes of all accounts"),
    v("table_definition_cache", Global, int(400, 524_288), "2000", "Tables in memory").inert(AUTOMATIC),
    v("table_open_cache", Global, int(1, 1_048_576), "4000", "Open tables").inert(AUTOMATIC),
    v("table_open_cache_instances", Global, int(1, 64), "16", "Parts of the cache of tables")
        .at_start()
        .inert(AUTOMATIC),
    v("tablespace_definition_cache", Global, int(256, 524_288), "256", "Tablespaces in memory").inert(AUTOMATIC),
    v("temptable_max_mmap", Global, int(0, ANY), "1073741824", "Bytes of temporary tables in files").inert(GONE),
    v("temptable_max_ram", Global, int(2_097_152, ANY), "1073741824", "Bytes of temporary tables").inert(AUTOMATIC),
    v("tmp_table_size", Both, int(1024, ANY), "16777216", "Bytes of a temporary table").inert(AUTOMATIC),
    v("transaction_alloc_block_size", Both, steps(1024, 131_072, 1024), "8192", "Memory of a transaction")
        .inert(AUTOMATIC),
    v("transaction_isolation", Both, Enumeration(ISOLATION_LEVELS), "REPEATABLE-READ", "Isolation of transactions"),
    v("transaction_prealloc_size", Both, steps(1024, 131_072, 1024), "4096", "Memory of a transaction")
        .inert(AUTOMATIC),
    v("transaction_read_only", Both, Bool, "OFF", "Transactions do not write"),
    v("unique_checks", Both, Bool, "ON", "Check unique secondary indexes").inert("they are always checked"),
    v("updatable_views_with_limit", Both, Bool, "ON", "LIMIT on views without a key").inert(NOT_YET),
    v("use_secondary_engine", Session, Enumeration(&["OFF", "ON", "FORCED"]), "ON", "Use a second engine").inert(GONE),
    v("warning_count", Session, int(0, 65_535), "0", "Warnings of the last statement").computed().fixed(),
    v("windowing_use_high_precision", Both, Bool, "ON", "Windows are computed exactly").inert(NOT_YET),
    v("check_constraint_checks", Both, Bool, "ON", "Check constraints").inert(NOT_YET),
    v("column_compression_threshold", Both, int(0, U32), "100", "Bytes of a column to be compressed").inert(GONE),
    v(
        "use_stat_tables",
        Both,
        Enumeration(&["NEVER", "COMPLEMENTARY", "PREFERABLY", "COMPLEMENTARY_FOR_QUERIES", "PREFERABLY_FOR_QUERIES"]),
        "PREFERABLY_FOR_QUERIES",
        "Statistics that are used",
    )
    .inert(AUTOMATIC),
    v("wsrep_on", Both, Bool, "OFF", "Galera replication").not_an_option(),
    v("last_gtid", Session, Text, "", "GTID of the last transaction").fixed(),
    v("in_transaction", Session, Bool, "OFF", "Whether a transaction is open").computed().fixed(),
    // --- Logs -------------------------------------------------------------------------------------------------------
    v("general_log", Global, Bool, "OFF", "Log all statements").inert(NOT_YET),
    v("general_log_file", Global, Text, "", "File of all statements").inert(NOT_YET),
    v("log_error", Global, Text, "stderr", "File of the server's messages").at_start().inert("messages go to stderr"),
    v("log_error_services", Global, Text, "", "How messages are written").inert(NOT_YET),
    v("log_error_suppression_list", Global, Text, "", "Messages that are left out").inert(NOT_YET),
    v("log_error_verbosity", Global, int(1, 3), "2", "1: errors, 2: and warnings, 3: and notes"),
    v("log_output", Global, Set(&["NONE", "FILE", "TABLE"]), "FILE", "Where statements are logged").inert(NOT_YET),
    v("log_queries_not_using_indexes", Global, Bool, "OFF", "Such statements are slow").inert(NOT_YET),
    v("log_slow_admin_statements", Global, Bool, "OFF", "Administration may be slow").inert(NOT_YET),
    v("log_timestamps", Global, Enumeration(&["UTC", "SYSTEM"]), "UTC", "Time zone of messages").inert(NOT_YET),
    v("log_warnings", Both, int(0, U32), "2", "How much is logged").inert(NOT_YET),
    v("long_query_time", Both, Real { min: 0.0, max: 31_536_000.0 }, "10", "Seconds that make a statement slow"),
    v("slow_launch_time", Global, int(0, YEAR), "2", "Seconds that make a thread's start slow").inert(NOT_YET),
    v("slow_query_log", Both, Bool, "OFF", "Log slow statements").inert(NOT_YET),
    v("slow_query_log_file", Global, Text, "", "File of slow statements").inert(NOT_YET),
    // --- Binary log and replication ---------------------------------------------------------------------------------
    v("binlog_cache_size", Global, steps(4096, ANY, 4096), "32768", "Bytes of a transaction's log").inert(NO_LOG),
    v("binlog_checksum", Global, Enumeration(&["NONE", "CRC32"]), "CRC32", "Checksum of events").inert(NO_LOG),
    v("binlog_direct_non_transactional_updates", Both, Bool, "OFF", "Log such updates at once").inert(NO_LOG),
    v(
        "binlog_error_action",
        Global,
        Enumeration(&["IGNORE_ERROR", "ABORT_SERVER"]),
        "ABORT_SERVER",
        "When the log cannot be written",
    )
    .inert(NO_LOG),
    v("binlog_expire_logs_seconds", Global, int(0, U32), "2592000", "Seconds that logs are kept").inert(NO_LOG),
    v("binlog_format", Both, Enumeration(&["MIXED", "STATEMENT", "ROW"]), "ROW", "Form of the log").inert(NO_LOG),
    v("binlog_group_commit_sync_delay", Global, int(0, 1_000_000), "0", "Microseconds to wait for others")
        .inert(NO_LOG),
    v("binlog_group_commit_sync_no_delay_count", Global, int(0, 100_000), "0", "Others that are enough").inert(NO_LOG),
    v("binlog_order_commits", Global, Bool, "ON", "Commits are in the log's order").inert(NO_LOG),
    v("binlog_row_event_max_size", Global, steps(256, U32, 256), "8192", "Bytes of a row event")
        .at_start()
        .inert(NO_LOG),
    v("binlog_row_image", Both, Enumeration(&["MINIMAL", "NOBLOB", "FULL"]), "FULL", "Columns of row events")
        .inert(NO_LOG),
    v("binlog_row_metadata", Global, Enumeration(&["NO_LOG", "MINIMAL", "FULL"]), "MINIMAL", "Columns' metadata")
        .inert(NO_LOG),
    v("binlog_rows_query_log_events", Both, Bool, "OFF", "Log statements beside rows").inert(NO_LOG),
    v("binlog_stmt_cache_size", Global, steps(4096, ANY, 4096), "32768", "Bytes of a statement's log").inert(NO_LOG),
    v("binlog_transaction_compression", Both, Bool, "OFF", "Compress transactions in the log").inert(NO_LOG),
    v("binlog_transaction_compression_level_zstd", Both, int(1, 22), "3", "Level of that").inert(NO_LOG),
    v(
        "binlog_transaction_dependency_tracking",
        Global,
        Enumeration(&["COMMIT_ORDER", "WRITESET", "WRITESET_SESSION"]),
        "COMMIT_ORDER",
        "What may run in parallel",
    )
    .inert(NO_LOG),
    v("enforce_gtid_consistency", Global, Enumeration(&["OFF", "ON", "WARN"]), "OFF", "Refuse what GTIDs cannot log")
        .inert(NO_LOG),
    v("expire_logs_days", Global, int(0, 99), "0", "Days that logs are kept").inert(NO_LOG),
    v("gtid_domain_id", Both, int(0, U32), "0", "Domain of MariaDB's GTIDs").inert(NO_LOG),
    v("gtid_executed", Global, Text, "", "Transactions that were executed").fixed(),
    v("gtid_mode", Global, Enumeration(&["OFF", "OFF_PERMISSIVE", "ON_PERMISSIVE", "ON"]), "OFF", "Use GTIDs")
        .inert(NO_LOG),
    v("gtid_next", Session, Text, "AUTOMATIC", "GTID of the next transaction").not_an_option().inert(NO_LOG),
    v("gtid_owned", Both, Text, "", "Transactions that are being executed").fixed(),
    v("gtid_purged", Global, Text, "", "Transactions that left the log").not_an_option().inert(NO_LOG),
    v("init_replica", Global, Text, "", "Statements of a replica's thread").inert(NO_REPLICA),
    v("log_bin", Global, Bool, "OFF", "Whether there is a binary log").fixed(),
    v("log_bin_basename", Global, Text, "", "Path of the log's files").null().fixed(),
    v("log_bin_index", Global, Text, "", "File that lists the log's files").null().at_start().inert(NO_LOG),
    v("log_bin_trust_function_creators", Global, Bool, "OFF", "Functions may be created").inert(NO_LOG),
    v("log_bin_use_v1_row_events", Global, Bool, "OFF", "Old form of row events").inert(NO_LOG),
    v("log_replica_updates", Global, Bool, "ON", "A replica logs too").at_start().inert(NO_LOG),
    v("source_verify_checksum", Global, Bool, "OFF", "Check events that are read").inert(NO_LOG),
    v("max_binlog_cache_size", Global, steps(4096, ANY, 4096), "18446744073709547520", "Largest transaction")
        .inert(NO_LOG),
    v("max_binlog_size", Global, steps(4096, 1 << 30, 4096), "1073741824", "Bytes of a log file").inert(NO_LOG),
    v("max_binlog_stmt_cache_size", Global, steps(4096, ANY, 4096), "18446744073709547520", "Largest statement")
        .inert(NO_LOG),
    v("max_relay_log_size", Global, int(0, 1 << 30), "0", "Bytes of a relay log file").inert(NO_REPLICA),
    v("relay_log", Global, Text, "", "Files of the relay log").null().at_start().inert(NO_REPLICA),
    v("relay_log_purge", Global, Bool, "ON", "Remove what was applied").inert(NO_REPLICA),
    v("relay_log_recovery", Global, Bool, "OFF", "Fetch again after a crash").at_start().inert(NO_REPLICA),
    v("relay_log_space_limit", Global, int(0, ANY), "0", "Bytes of all relay logs").at_start().inert(NO_REPLICA),
    v("replica_compressed_protocol", Global, Bool, "OFF", "Compress the connection").inert(NO_REPLICA),
    v("replica_net_timeout", Global, int(1, YEAR), "60", "Seconds a source may be silent").inert(NO_REPLICA),
    v("replica_parallel_workers", Global, int(0, 1024), "4", "Threads that apply").inert(NO_REPLICA),
    v(
        "replica_parallel_type",
        Global,
        Enumeration(&["DATABASE", "LOGICAL_CLOCK"]),
        "LOGICAL_CLOCK",
        "What is applied in parallel",
    )
    .inert(NO_REPLICA),
    v("replica_preserve_commit_order", Global, Bool, "ON", "Commits keep their order").inert(NO_REPLICA),
    v("replica_skip_errors", Global, Text, "OFF", "Errors that are passed over").at_start().inert(NO_REPLICA),
    v("report_host", Global, Text, "", "Name that a replica tells").null().at_start().inert(NO_REPLICA),
    v("report_port", Global, int(0, 65_535), "0", "Port that a replica tells").at_start().inert(NO_REPLICA),
    v("skip_replica_start", Global, Bool, "OFF", "Do not start to replicate").at_start().inert(NO_REPLICA),
    v("sync_binlog", Global, int(0, U32), "1", "Commits between syncs of the log").inert(NO_LOG),
    v("sync_relay_log", Global, int(0, U32), "10000", "Events between syncs of the relay log").inert(NO_REPLICA),
    // --- InnoDB: what counts ----------------------------------------------------------------------------------------
    v("innodb_adaptive_flushing", Global, Bool, "ON", "Flush by the age of the log, not only when it is nearly full"),
    v("innodb_autoinc_lock_mode", Global, int(0, 2), "2", "How AUTO_INCREMENT is locked")
        .at_start()
        .inert("it is always interleaved"),
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
    v("innodb_fast_shutdown", Global, int(0, 2), "1", "0: purge all; 1: flush; 2: flush only the log"),
    v("innodb_file_per_table", Global, Bool, "ON", "Each table has its file").inert(ALWAYS_ON),
    v("innodb_flush_log_at_timeout", Global, int(0, 2700), "1", "Seconds between syncs of the log, if not at commit"),
    v(
        "innodb_flush_log_at_trx_commit",
        Global,
        int(0, 2),
        "1",
        "At commit the log is 1: written and synced; 2: written; 0: neither",
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
    v("innodb_io_capacity", Global, int(100, U32), "2000", "Pages flushed each second in the background"),
    v("innodb_io_capacity_max", Global, int(100, U32), "20000", "The same under pressure"),
    v("innodb_lock_wait_timeout", Both, int(1, 1_073_741_824), "50", "Seconds to wait for a row lock"),
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
    v("innodb_page_size", Global, steps(4096, 65_536, 4096), "16384", "Bytes of a page, from `init` on").at_start(),
    v("innodb_print_all_deadlocks", Global, Bool, "OFF", "Log deadlocks").inert(NOT_YET),
    v("innodb_purge_threads", Global, int(1, 32), "1", "Threads that remove old versions").at_start().inert(AUTOMATIC),
    v("innodb_read_only", Global, Bool, "OFF", "Open the files for reading only").at_start().inert(NOT_YET),
    v("innodb_rollback_on_timeout", Global, Bool, "OFF", "A lock wait's end rolls the transaction back").at_start(),
    v("innodb_stats_persistent", Global, Bool, "ON", "Statistics survive a restart").inert(NOT_YET),
    v("innodb_strict_mode", Both, Bool, "ON", "Wrong table options are errors"),
    v("innodb_table_locks", Both, Bool, "ON", "LOCK TABLES locks in InnoDB too").inert(NOT_YET),
    v("innodb_deadlock_detect", Global, Bool, "ON", "Look for deadlocks").inert(ALWAYS_ON),
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
    // --- InnoDB: names that configuration files carry ---------------------------------------------------------------
    v("innodb_adaptive_flushing_lwm", Global, Real { min: 0.0, max: 70.0 }, "10", "Log per cent to flush from"),
    v("innodb_adaptive_hash_index", Global, Bool, "OFF", "Hash index over hot pages").inert(GONE),
    v("innodb_adaptive_hash_index_parts", Global, int(1, 512), "8", "Parts of it").at_start().inert(GONE),
    v("innodb_adaptive_max_sleep_delay", Global, int(0, 1_000_000), "150000", "Waiting of threads").inert(GONE),
    v("innodb_api_enable_mdl", Global, Bool, "OFF", "memcached interface").at_start().inert(GONE),
    v("innodb_autoextend_increment", Global, int(1, 1000), "64", "MB by which a tablespace grows").inert(AUTOMATIC),
    v("innodb_buffer_pool_chunk_size", Global, int(1 << 20, ANY), "134217728", "Steps of its size")
        .at_start()
        .inert(AUTOMATIC),
    v("innodb_buffer_pool_dump_at_shutdown", Global, Bool, "OFF", "Remember the pages in memory").inert(NOT_YET),
    v("innodb_buffer_pool_dump_now", Global, Bool, "OFF", "Remember them now").inert(NOT_YET),
    v("innodb_buffer_pool_dump_pct", Global, int(1, 100), "25", "How many of them").inert(NOT_YET),
    v("innodb_buffer_pool_filename", Global, Text, "ib_buffer_pool", "Where").inert(NOT_YET),
    v("innodb_buffer_pool_instances", Global, int(1, 64), "1", "Parts of the buffer pool").at_start().inert(AUTOMATIC),
    v("innodb_buffer_pool_load_at_startup", Global, Bool, "OFF", "Read them back").at_start().inert(NOT_YET),
    v("innodb_change_buffer_max_size", Global, int(0, 50), "25", "Part of the change buffer").inert(GONE),
    v(
        "innodb_change_buffering",
        Global,
        Enumeration(&["none", "inserts", "deletes", "changes", "purges", "all"]),
        "none",
        "Buffered changes",
    )
    .inert(GONE),
    v(
        "innodb_checksum_algorithm",
        Global,
        Enumeration(&["crc32", "strict_crc32", "innodb", "strict_innodb", "none", "strict_none", "full_crc32"]),
        "crc32",
        "Checksum of pages",
    )
    .inert("it is always CRC-32C"),
    v("innodb_checksums", Global, Bool, "ON", "Pages have checksums").at_start().inert(ALWAYS_ON),
    v("innodb_cmp_per_index_enabled", Global, Bool, "OFF", "Count ROW_FORMAT=COMPRESSED").inert(GONE),
    v("innodb_commit_concurrency", Global, int(0, 1000), "0", "Commits at once").inert(AUTOMATIC),
    v("innodb_compression_failure_threshold_pct", Global, int(0, 100), "5", "Of ROW_FORMAT=COMPRESSED").inert(GONE),
    v("innodb_compression_pad_pct_max", Global, int(0, 75), "50", "Of ROW_FORMAT=COMPRESSED").inert(GONE),
    v("innodb_concurrency_tickets", Global, int(1, U32), "5000", "Of innodb_thread_concurrency").inert(GONE),
    v("innodb_data_file_path", Global, Text, "ibdata1:12M:autoextend", "Files of the system tablespace")
        .at_start()
        .inert(AUTOMATIC),
    v("innodb_ddl_buffer_size", Both, int(65_536, U32), "1048576", "Memory of index builds").inert(AUTOMATIC),
    v("innodb_ddl_threads", Both, int(1, 64), "4", "Threads of index builds").inert(AUTOMATIC),
    v("innodb_dedicated_server", Global, Bool, "OFF", "Take the machine's memory").at_start().inert(NOT_YET),
    v("innodb_doublewrite_dir", Global, Text, "", "Directory of the doublewrite files")
        .null()
        .at_start()
        .inert("they lie in the data directory"),
    v("innodb_doublewrite_files", Global, int(2, 256), "2", "Doublewrite files").at_start().inert(AUTOMATIC),
    v("innodb_doublewrite_pages", Global, int(4, 512), "4", "Pages of each").at_start().inert(AUTOMATIC),
    v("innodb_fill_factor", Global, int(10, 100), "100", "How full index builds leave pages").inert(NOT_YET),
    v("innodb_file_format", Global, Text, "Barracuda", "Format of tablespaces").inert("it is always Barracuda"),
    v("innodb_file_format_check", Global, Bool, "ON", "Check it").at_start().inert(GONE),
    v("innodb_file_format_max", Global, Text, "Barracuda", "Newest format").inert(GONE),
    v("innodb_flush_sync", Global, Bool, "ON", "Checkpoints ignore innodb_io_capacity").inert(ALWAYS_ON),
    v("innodb_flushing_avg_loops", Global, int(1, 1000), "30", "Memory of adaptive flushing").inert(AUTOMATIC),
    v("innodb_force_load_corrupted", Global, Bool, "OFF", "Open damaged tables").at_start().inert(NOT_YET),
    v("innodb_force_primary_key", Global, Bool, "OFF", "Tables must have a primary key")
        .inert("sql_require_primary_key does this"),
    v("innodb_fsync_threshold", Global, int(0, ANY), "0", "Bytes between syncs of a new file").inert(AUTOMATIC),
    v("innodb_ft_cache_size", Global, int(1_600_000, 80_000_000), "8000000", "Full-text search").at_start().inert(GONE),
    v("innodb_ft_max_token_size", Global, int(10, 84), "84", "Full-text search").at_start().inert(GONE),
    v("innodb_ft_min_token_size", Global, int(0, 16), "3", "Full-text search").at_start().inert(GONE),
    v("innodb_idle_flush_pct", Global, int(0, 100), "100", "Flushing when idle").inert(AUTOMATIC),
    v("innodb_large_prefix", Global, Bool, "ON", "Index prefixes up to 3072 bytes").inert(ALWAYS_ON),
    v("innodb_locks_unsafe_for_binlog", Global, Bool, "OFF", "No gap locks").at_start().inert(GONE),
    v("innodb_log_checksums", Global, Bool, "ON", "The log has checksums").inert(ALWAYS_ON),
    v("innodb_log_compressed_pages", Global, Bool, "ON", "Of ROW_FORMAT=COMPRESSED").inert(GONE),
    v("innodb_log_spin_cpu_abs_lwm", Global, int(0, U32), "80", "Waiting for the log").inert(GONE),
    v("innodb_log_write_ahead_size", Global, steps(512, 65_536, 512), "8192", "Blocks of the log").inert(AUTOMATIC),
    v("innodb_log_writer_threads", Global, Bool, "ON", "Threads that write the log").inert(AUTOMATIC),
    v("innodb_max_purge_lag", Global, int(0, U32), "0", "Old versions that slow writers down").inert(NOT_YET),
    v("innodb_max_purge_lag_delay", Global, int(0, 10_000_000), "0", "By how much").inert(NOT_YET),
    v("innodb_max_undo_log_size", Global, int(10 << 20, ANY), "1073741824", "Bytes of an undo tablespace")
        .inert(NOT_YET),
    v("innodb_monitor_enable", Global, Text, "", "Counters to turn on").null().inert("all counters are on"),
    v("innodb_monitor_disable", Global, Text, "", "Counters to turn off").null().inert("all counters are on"),
    v("innodb_mtflush_threads", Global, int(0, 64), "8", "Threads that flush pages with innodb_use_mtflush=ON"),
    v("innodb_numa_interleave", Global, Bool, "OFF", "Memory of all nodes").at_start().inert(NOT_YET),
    v("innodb_online_alter_log_max_size", Global, int(65_536, ANY), "134217728", "Changes during ALTER TABLE")
        .inert(NOT_YET),
    v("innodb_open_files", Global, int(10, U32), "4000", "Tablespace files that are open at a time").at_start(),
    v("innodb_optimize_fulltext_only", Global, Bool, "OFF", "Of OPTIMIZE TABLE").inert(GONE),
    v("innodb_parallel_read_threads", Both, int(1, 256), "4", "Threads of a count").inert(NOT_YET),
    v("innodb_print_ddl_logs", Global, Bool, "OFF", "Log how tables change").inert(NOT_YET),
    v("innodb_purge_batch_size", Global, int(1, 5000), "300", "Old versions at once").inert(AUTOMATIC),
    v("innodb_purge_rseg_truncate_frequency", Global, int(1, 128), "128", "Rounds of purge").inert(AUTOMATIC),
    v("innodb_random_read_ahead", Global, Bool, "OFF", "Read the rest of an extent that is much used"),
    v(
        "innodb_read_ahead_threshold",
        Global,
        int(0, 64),
        "56",
        "Pages of an extent read in order that begin a read-ahead; 0 is off",
    ),
    v("innodb_read_io_threads", Global, int(1, 64), "4", "Threads that read ahead").at_start(),
    v("innodb_replication_delay", Global, int(0, U32), "0", "Of innodb_thread_concurrency").inert(GONE),
    v("innodb_rollback_segments", Global, int(1, 128), "128", "Rollback segments").inert(AUTOMATIC),
    v("innodb_sort_buffer_size", Global, int(65_536, 64 << 20), "1048576", "Memory of index builds")
        .at_start()
        .inert(AUTOMATIC),
    v("innodb_spin_wait_delay", Global, int(0, 1000), "6", "Waiting for latches").inert(GONE),
    v("innodb_stats_auto_recalc", Global, Bool, "ON", "Keep statistics up to date").inert(ALWAYS_ON),
    v("innodb_stats_include_delete_marked", Global, Bool, "OFF", "Count deleted rows").inert(NOT_YET),
    v(
        "innodb_stats_method",
        Global,
        Enumeration(&["nulls_equal", "nulls_unequal", "nulls_ignored"]),
        "nulls_equal",
        "How statistics see NULL",
    )
    .inert(NOT_YET),
    v("innodb_stats_on_metadata", Global, Bool, "OFF", "Fresh statistics for SHOW").inert(GONE),
    v("innodb_stats_persistent_sample_pages", Global, int(1, ANY), "20", "Pages looked at").inert(NOT_YET),
    v("innodb_stats_transient_sample_pages", Global, int(1, ANY), "8", "Pages looked at").inert(NOT_YET),
    v("innodb_status_output", Global, Bool, "OFF", "Log the engine's state").inert(NOT_YET),
    v("innodb_status_output_locks", Global, Bool, "OFF", "And its locks").inert(NOT_YET),
    v("innodb_support_xa", Both, Bool, "ON", "Two-phase commit").inert(GONE),
    v("innodb_sync_array_size", Global, int(1, 1024), "1", "Waiting for latches").at_start().inert(GONE),
    v("innodb_sync_spin_loops", Global, int(0, U32), "30", "Waiting for latches").inert(GONE),
    v("innodb_temp_data_file_path", Global, Text, "ibtmp1:12M:autoextend", "Files of temporary tables")
        .at_start()
        .inert(NOT_YET),
    v("innodb_thread_concurrency", Global, int(0, 1000), "0", "Threads in the engine at once").inert(AUTOMATIC),
    v("innodb_thread_sleep_delay", Global, int(0, 1_000_000), "10000", "Of innodb_thread_concurrency").inert(GONE),
    v("innodb_tmpdir", Both, Text, "", "Directory of index builds").null().inert(NOT_YET),
    v("innodb_undo_directory", Global, Text, "./", "Directory of undo tablespaces").at_start().inert(NOT_YET),
    v("innodb_undo_log_truncate", Global, Bool, "OFF", "Shrink undo tablespaces").inert(NOT_YET),
    v("innodb_undo_logs", Global, int(0, 128), "128", "Rollback segments").inert(AUTOMATIC),
    v("innodb_undo_tablespaces", Global, int(0, 127), "0", "Undo tablespaces").inert(NOT_YET),
    v("innodb_use_atomic_writes", Global, Bool, "ON", "Write pages untorn where the kernel promises it").at_start(),
    v("innodb_use_fallocate", Global, Bool, "ON", "Reserve the blocks of uncompressed tables as they grow").at_start(),
    v("innodb_use_fdatasync", Global, Bool, "ON", "Sync data, not times").inert(ALWAYS_ON),
    v("innodb_use_lz4", Global, Bool, "OFF", "Sets innodb_compression_algorithm to lz4").at_start(),
    v("innodb_use_mtflush", Global, Bool, "OFF", "innodb_mtflush_threads flush, not innodb_page_cleaners"),
    v("innodb_use_native_aio", Global, Bool, "ON", "The system's asynchronous I/O").at_start().inert(AUTOMATIC),
    v("innodb_use_trim", Global, Bool, "ON", "Give unused blocks back to the filesystem").at_start(),
    v("innodb_write_io_threads", Global, int(1, 64), "4", "Threads that write")
        .at_start()
        .inert("innodb_page_cleaners sets their number"),
    v("innodb_buffer_pool_in_core_file", Global, Bool, "ON", "Core files have the pool").inert(NOT_YET),
    v("innodb_encrypt_tables", Global, Enumeration(&["OFF", "ON", "FORCE"]), "OFF", "New tables are encrypted"),
    v("innodb_encrypt_log", Global, Bool, "OFF", "Encrypt the log").at_start().inert(TABLES_ONLY),
    v("innodb_redo_log_encrypt", Global, Bool, "OFF", "Encrypt the log").inert(TABLES_ONLY),
    v("innodb_undo_log_encrypt", Global, Bool, "OFF", "Encrypt undo").inert(TABLES_ONLY),
    v("keyring_file_data", Global, Text, "keyring", "File with the master keys of encrypted tables").at_start(),
    v("innodb_defragment", Global, Bool, "OFF", "OPTIMIZE TABLE in place").inert(GONE),
    v("innodb_scrub_log", Global, Bool, "OFF", "Overwrite the log").at_start().inert(GONE),
    v("innodb_immediate_scrub_data_uncompressed", Global, Bool, "OFF", "Overwrite deleted rows").inert(NOT_YET),
    v("innodb_prefix_index_cluster_optimization", Global, Bool, "OFF", "Prefix indexes alone").inert(AUTOMATIC),
    v(
        "innodb_instant_alter_column_allowed",
        Global,
        Enumeration(&["never", "add_last", "add_drop_reorder"]),
        "add_drop_reorder",
        "ALTER TABLE without copying",
    )
    .inert(NOT_YET),
    v("innodb_snapshot_isolation", Both, Bool, "OFF", "Refuse to write over what a snapshot does not see"),
    v("ignore_builtin_innodb", Global, Bool, "OFF", "Do not use InnoDB").at_start().inert(GONE),
    // --- Other engines and interfaces -------------------------------------------------------------------------------
    v("delay_key_write", Global, Enumeration(&["OFF", "ON", "ALL"]), "ON", "MyISAM").inert(GONE),
    v("ft_boolean_syntax", Global, Text, "+ -><()~*:\"\"&|", "Full-text search").inert(GONE),
    v("ft_max_word_len", Global, int(10, 84), "84", "Full-text search").at_start().inert(GONE),
    v("ft_min_word_len", Global, int(1, 84), "4", "Full-text search").at_start().inert(GONE),
    v("ft_query_expansion_limit", Global, int(0, 1000), "20", "Full-text search").at_start().inert(GONE),
    v("ft_stopword_file", Global, Text, "(built-in)", "Full-text search").at_start().inert(GONE),
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
    v("performance_schema", Global, Bool, "OFF", "Measure everything").at_start().inert(NOT_YET),
    v("symbolic_links", Global, Bool, "OFF", "Tables may be links").at_start().inert(GONE),
    v("safe_user_create", Global, Bool, "OFF", "Who may create accounts").at_start().inert(NOT_YET),
    v("automatic_sp_privileges", Global, Bool, "ON", "Rights on procedures").inert(NOT_YET),
    v("activate_all_roles_on_login", Global, Bool, "OFF", "Roles").inert("there are no roles yet"),
    v("mandatory_roles", Global, Text, "", "Roles").inert("there are no roles yet"),
    v("default_password_lifetime", Global, int(0, 65_535), "0", "Days that a password lives")
        .inert("passwords do not expire"),
    v("password_history", Global, int(0, U32), "0", "Passwords not to be used again").inert(NOT_YET),
    v("password_reuse_interval", Global, int(0, U32), "0", "Days before a password may be used again").inert(NOT_YET),
    v("password_require_current", Global, Bool, "OFF", "A change needs the old password").inert(NOT_YET),
    v("check_proxy_users", Global, Bool, "OFF", "Acting for others").inert(NOT_YET),
    v("metadata_locks_cache_size", Global, int(1, 1_048_576), "1024", "Metadata locks").at_start().inert(GONE),
    v("metadata_locks_hash_instances", Global, int(1, 1024), "8", "Metadata locks").at_start().inert(GONE),
    v("multi_range_count", Both, int(1, U32), "256", "Ranges at once").inert(GONE),
    v("sync_frm", Global, Bool, "ON", "Sync definitions").inert(ALWAYS_ON),
    v("timed_mutexes", Global, Bool, "OFF", "Measure latches").inert(GONE),
    v("offline_mode", Global, Bool, "OFF", "Refuse ordinary accounts").inert(NOT_YET),
    v("thread_pool_size", Global, int(1, 128), "2", "Groups of the pool of threads").inert(GONE),
    v("thread_pool_max_threads", Global, int(1, 65_536), "65536", "Threads of the pool").inert(GONE),
    v("gtid_strict_mode", Global, Bool, "OFF", "MariaDB's GTIDs in order").inert(NO_LOG),
    v("gtid_binlog_pos", Global, Text, "", "MariaDB's last GTIDs in the log").fixed(),
    v("gtid_current_pos", Global, Text, "", "MariaDB's last GTIDs").fixed(),
    v("gtid_slave_pos", Global, Text, "", "MariaDB's last replicated GTIDs").not_an_option().inert(NO_REPLICA),
    v("skip_parallel_replication", Session, Bool, "OFF", "Do not apply in parallel").not_an_option(),
    v("skip_replication", Session, Bool, "OFF", "Do not replicate").not_an_option(),
    v("server_uid", Global, Text, "", "Identity of this server, as MariaDB calls it").fixed(),
    v("analyze_sample_percentage", Both, Real { min: 0.0, max: 100.0 }, "100", "Rows that ANALYZE reads").inert(GONE),
    v("idle_transaction_timeout", Both, int(0, YEAR), "0", "Seconds a transaction may be silent").inert(NOT_YET),
    v("tmp_disk_table_size", Both, int(1024, ANY), "18446744073709551615", "Bytes of a table on disk").inert(GONE),
    v("tmp_memory_table_size", Both, int(1024, ANY), "16777216", "Bytes of a table in memory").inert(GONE),
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
        .not_an_option(),
    v("select_into_buffer_size", Both, int(8192, ANY), "131072", "SELECT INTO OUTFILE").inert(NOT_YET),
    v("select_into_disk_sync", Both, Bool, "OFF", "SELECT INTO OUTFILE").inert(NOT_YET),
    v("generated_random_password_length", Both, int(5, 255), "20", "Random passwords").inert(NOT_YET),
    v("immediate_server_version", Session, int(0, 999_999), "999999", "Version of the source").not_an_option(),
    v("original_server_version", Session, int(0, 999_999), "999999", "Version of the first source").not_an_option(),
    v("original_commit_timestamp", Session, int(0, ANY), "36028797018963968", "Time of the first commit")
        .not_an_option(),
    v(
        "transaction_write_set_extraction",
        Both,
        Enumeration(&["OFF", "MURMUR32", "XXHASH64"]),
        "XXHASH64",
        "Hashes of changed rows",
    )
    .inert(NO_LOG),
    v("transaction_allow_batching", Session, Bool, "OFF", "NDB").not_an_option(),
    v("show_old_temporals", Both, Bool, "OFF", "SHOW CREATE TABLE tells old formats").inert(GONE),
    v("avoid_temporal_upgrade", Global, Bool, "OFF", "ALTER TABLE keeps old formats").inert(GONE),
];

/// Other names of the variables above: former ones, MariaDB's, and both vocabularies of replication.
pub static ALIASES: &[(&str, &str)] = &[
    ("tx_isolation", "transaction_isolation"),
    ("tx_read_only", "transaction_read_only"),
    ("storage_engine", "default_storage_engine"),
    ("table_cache", "table_open_cache"),
    ("key_buffer", "key_buffer_size"),
    ("sort_buffer", "sort_buffer_size"),
    ("log_slow_queries", "slow_query_log"),
    ("log_slave_updates", "log_replica_updates"),
    ("master_verify_checksum", "source_verify_checksum"),
    ("init_slave", "init_replica"),
    ("slave_compressed_protocol", "replica_compressed_protocol"),
    ("slave_net_timeout", "replica_net_timeout"),
    ("slave_parallel_workers", "replica_parallel_workers"),
    ("slave_parallel_threads", "replica_parallel_workers"),
    ("slave_parallel_type", "replica_parallel_type"),
    ("slave_preserve_commit_order", "replica_preserve_commit_order"),
    ("slave_skip_errors", "replica_skip_errors"),
    ("skip_slave_start", "skip_replica_start"),
    ("replica_load_tmpdir", "slave_load_tmpdir"),
    ("pseudo_replica_mode", "pseudo_slave_mode"),
    ("innodb_purge_thread", "innodb_purge_threads"),
    ("innodb_compress_algorithm", "innodb_compression_algorithm"),
    ("innodb_compression_method", "innodb_compression_algorithm"),
    ("language", "lc_messages_dir"),
    ("sql_max_join_size", "max_join_size"),
];
