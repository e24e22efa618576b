//! The system variables, by subject, a line or two for each.
//!
//! `default` is what an option file would say. Variables that the server fills in
//! at start (`port`, `datadir`, `version`) stand here with a placeholder.

mod galera;
mod innodb;
mod innodb_names;
mod instrumentation;
mod logs;
mod mariadb;
mod mysql;
mod others;
mod server;
mod statements;

use format::transform::Algorithm;

use super::kind::Kind;
use super::variable::{Reach, Variable};
use Kind::{Bool, Enumeration, Real, Set, Switches, Text};
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

    /// Cannot be set.
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
const AUTOMATIC: &str = "the server decides this by itself";
const ALWAYS_ON: &str = "this is always so here";
const NO_X: &str = "there is no X protocol";
const GALERA: &str = "there is no replication of that kind";
const NOT_YET: &str = "it is kept, but not obeyed yet";
const TABLES_ONLY: &str = "tables, undo and the system tablespace can be encrypted, the redo log is not";

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

/// The families of variables, in the order in which they are listed.
const FAMILIES: [&[Variable]; 10] = [
    server::LIST,
    statements::LIST,
    logs::LIST,
    innodb::LIST,
    innodb_names::LIST,
    others::LIST,
    instrumentation::LIST,
    mysql::LIST,
    mariadb::LIST,
    galera::LIST,
];

const COUNT: usize = {
    let (mut count, mut family) = (0, 0);
    while family < FAMILIES.len() {
        count += FAMILIES[family].len();
        family += 1;
    }
    count
};

static ALL: [Variable; COUNT] = {
    let mut all = [FAMILIES[0][0]; COUNT];
    let (mut at, mut family) = (0, 0);
    while family < FAMILIES.len() {
        let mut index = 0;
        while index < FAMILIES[family].len() {
            all[at] = FAMILIES[family][index];
            at += 1;
            index += 1;
        }
        family += 1;
    }
    all
};

pub static LIST: &[Variable] = &ALL;

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
    ("slave_pending_jobs_size_max", "replica_pending_jobs_size_max"),
    ("slave_preserve_commit_order", "replica_preserve_commit_order"),
    ("slave_skip_errors", "replica_skip_errors"),
    ("slave_exec_mode", "replica_exec_mode"),
    ("slave_transaction_retries", "replica_transaction_retries"),
    ("slave_type_conversions", "replica_type_conversions"),
    ("log_slow_slave_statements", "log_slow_replica_statements"),
    ("sync_master_info", "sync_source_info"),
    ("skip_slave_start", "skip_replica_start"),
    ("replica_load_tmpdir", "slave_load_tmpdir"),
    ("pseudo_replica_mode", "pseudo_slave_mode"),
    ("rpl_semi_sync_slave_enabled", "rpl_semi_sync_replica_enabled"),
    ("rpl_semi_sync_master_enabled", "rpl_semi_sync_source_enabled"),
    ("rpl_semi_sync_master_timeout", "rpl_semi_sync_source_timeout"),
    ("rpl_semi_sync_master_trace_level", "rpl_semi_sync_source_trace_level"),
    ("rpl_semi_sync_master_wait_for_slave_count", "rpl_semi_sync_source_wait_for_replica_count"),
    ("rpl_semi_sync_master_wait_no_slave", "rpl_semi_sync_source_wait_no_replica"),
    ("rpl_semi_sync_master_wait_point", "rpl_semi_sync_source_wait_point"),
    ("innodb_purge_thread", "innodb_purge_threads"),
    ("innodb_compress_algorithm", "innodb_compression_algorithm"),
    ("innodb_compression_method", "innodb_compression_algorithm"),
    ("language", "lc_messages_dir"),
    ("sql_max_join_size", "max_join_size"),
    ("log_slow_query", "slow_query_log"),
    ("log_slow_query_file", "slow_query_log_file"),
    ("log_slow_query_time", "long_query_time"),
    ("log_slow_min_examined_row_limit", "min_examined_row_limit"),
    ("slave_allow_batching", "replica_allow_batching"),
    ("slave_checkpoint_group", "replica_checkpoint_group"),
    ("slave_checkpoint_period", "replica_checkpoint_period"),
    ("slave_max_allowed_packet", "replica_max_allowed_packet"),
    ("slave_sql_verify_checksum", "replica_sql_verify_checksum"),
    ("rpl_stop_slave_timeout", "rpl_stop_replica_timeout"),
    ("sql_slave_skip_counter", "sql_replica_skip_counter"),
];
