//! Virtual tables: information_schema, and what of performance_schema, mysql and
//! sys stock tools insist on.
//!
//! A [`VirtualTable`] is a name, columns and a function that makes all its rows
//! from [`Facts`]. The planner scans one like any other table: filters, joins,
//! ORDER BY and GROUP BY over it are the executor's, and SHOW statements are
//! filters over rows made here, too.
//!
//! Columns stand in MySQL 8.0's order, for clients read `SELECT *` by position.
//! A table that exists only so that tools find it (TABLESPACES ...) has its
//! columns and no rows: there are none of these here, so that is the truth.
//!
//! A table shows what the session may know of: databases, tables and columns on which it has any privilege, and of
//! connections its own, unless it has PROCESS.

mod binary_log;
mod by_account;
mod catalog;
mod connections;
mod constraints;
mod features;
mod files;
mod glassine;
mod grants;
mod innodb;
mod innodb_columns;
mod innodb_metrics;
mod locks;
pub mod log_tables;
mod memory;
mod mysql;
mod name_locks;
mod partitions;
pub mod programs;
mod replication;
mod server;
mod setup;
mod statements;
mod sys;
mod sys_texts;
mod sys_views;
pub mod table_io;
mod table_statistics;
mod views;
mod wanted;

use std::sync::Arc;

use format::collation::CollationId;
use format::value::{ColumnType, LobSize, Value, Zone};

use storage::{Table, TemporaryTables};

use crate::accounts::Rights;
use crate::instance::Instance;
use crate::processlist::Process;
use crate::profiles::Profiles;
use crate::status::SessionStatus;
use crate::variables::SessionVariables;

pub use catalog::moment;
pub use memory::schema_memory;
pub use statements::is_timed_instrument;
pub use sys_views::{built_in, built_in_view};
pub use views::{DescribeViews, find_view};
pub use wanted::{Named, Wanted, name_columns};

/// What rows are made of.
#[derive(Clone, Copy)]
pub struct Facts<'a> {
    pub instance: &'a Instance,
    pub variables: &'a SessionVariables,
    pub status: &'a SessionStatus,
    /// Who asks.
    pub process: &'a Process,
    /// What the session may see.
    pub rights: &'a Rights,
    /// The session's own tables, which are listed nowhere but have columns and keys to show.
    pub temporary: Option<&'a TemporaryTables>,
    /// The one table that is asked for, if it is such a one.
    pub only: Option<&'a Arc<Table>>,
    /// Of which tables rows are wanted; None: of all.
    pub wanted: Option<&'a dyn Wanted>,
    /// Who can tell the columns of views; None: they are not listed.
    pub views: Option<&'a dyn DescribeViews>,
    /// The session's statements that `profiling` keeps.
    pub profiles: &'a Profiles,
    /// The session's zone, for CREATE_TIME and the like.
    pub zone: Zone,
    pub state: SessionValues,
}

/// Values of variables that the session's statements give them.
#[derive(Clone, Copy)]
pub struct SessionValues {
    pub last_insert_id: u64,
    pub insert_id: u64,
    pub warning_count: u64,
    pub error_count: u64,
    /// Seconds and microseconds.
    pub timestamp: (i64, u32),
}

/// One column of a virtual table.
#[derive(Debug)]
pub struct VirtualColumn {
    pub name: &'static str,
    pub ty: ColumnType,
    pub nullable: bool,
}

/// A table without a file.
pub struct VirtualTable {
    pub name: &'static str,
    pub columns: &'static [VirtualColumn],
    pub rows: fn(&Facts<'_>) -> Vec<Vec<Value>>,
}

/// Tables of information_schema that MySQL 8 makes when they are read, beside those of InnoDB. The others are views.
const MADE: [&str; 10] = [
    "COLUMN_PRIVILEGES",
    "ENGINES",
    "OPTIMIZER_TRACE",
    "PLUGINS",
    "PROCESSLIST",
    "PROFILING",
    "SCHEMA_PRIVILEGES",
    "TABLESPACES",
    "TABLE_PRIVILEGES",
    "USER_PRIVILEGES",
];

/// Whether a table of information_schema is a view in MySQL 8.
pub fn is_view(table: &VirtualTable) -> bool {
    !MADE.contains(&table.name) && !table.name.starts_with("INNODB_")
}

/// The databases that hold virtual tables only.
pub const DATABASES: [&str; 4] = ["information_schema", "mysql", "performance_schema", "sys"];

/// Whether a name is one of [`DATABASES`] (names of these are never case-sensitive).
pub fn is_virtual(database: &str) -> bool {
    DATABASES.iter().any(|name| name.eq_ignore_ascii_case(database))
}

/// Whether a statement that names this table means a virtual one. The database `mysql` also has stored tables, which the
/// server's own sessions make.
pub fn is_virtual_table(instance: &Instance, rights: &Rights, database: &str, name: &str) -> bool {
    let is_stored = || {
        database.eq_ignore_ascii_case("mysql")
            && table(database, name).is_none()
            && (rights.is_internal() || instance.engine.table("mysql", name).is_some())
    };
    is_virtual(database) && !is_stored()
}

/// Whether a table shows the storage engine from inside, whoever's tables are in it: that takes PROCESS.
pub fn tells_of_the_engine(database: &str, table: &str) -> bool {
    let begins = |start: &str| table.get(..start.len()).is_some_and(|head| head.eq_ignore_ascii_case(start));
    database.eq_ignore_ascii_case("information_schema") && (begins("INNODB_") || begins("GLASSINE_"))
}

/// The tables of a virtual database.
pub fn tables(database: &str) -> &'static [VirtualTable] {
    if database.eq_ignore_ascii_case("information_schema") {
        INFORMATION_SCHEMA
    } else if database.eq_ignore_ascii_case("performance_schema") {
        PERFORMANCE_SCHEMA
    } else if database.eq_ignore_ascii_case("sys") {
        SYS
    } else if database.eq_ignore_ascii_case("mysql") {
        MYSQL
    } else {
        &[]
    }
}

/// A table of a virtual database, by its name in any case.
pub fn table(database: &str, name: &str) -> Option<&'static VirtualTable> {
    tables(database).iter().find(|table| table.name.eq_ignore_ascii_case(name))
}

static INFORMATION_SCHEMA: &[VirtualTable] = &[
    grants::APPLICABLE_ROLES,
    server::CHARACTER_SETS,
    constraints::CHECK_CONSTRAINTS,
    server::COLLATIONS,
    server::COLLATION_CHARACTER_SET_APPLICABILITY,
    catalog::COLUMNS,
    catalog::COLUMNS_EXTENSIONS,
    table_statistics::COLUMN_STATISTICS,
    grants::COLUMN_PRIVILEGES,
    grants::ENABLED_ROLES,
    grants::ADMINISTRABLE_ROLE_AUTHORIZATIONS,
    grants::ROLE_COLUMN_GRANTS,
    grants::ROLE_ROUTINE_GRANTS,
    grants::ROLE_TABLE_GRANTS,
    server::ENGINES,
    programs::EVENTS,
    catalog::FILES,
    server::GLOBAL_STATUS,
    server::GLOBAL_VARIABLES,
    innodb::GLASSINE_DROPPED_FILES,
    glassine::GLASSINE_PAGE_CLEANERS,
    glassine::GLASSINE_TABLESPACE_COMPRESSION,
    innodb::INNODB_CMP,
    innodb::INNODB_CMPMEM,
    innodb_columns::INNODB_COLUMNS,
    innodb::INNODB_DATAFILES,
    innodb::INNODB_FT_DEFAULT_STOPWORD,
    locks::INNODB_LOCKS,
    locks::INNODB_LOCK_WAITS,
    constraints::INNODB_FOREIGN,
    constraints::INNODB_FOREIGN_COLS,
    innodb_metrics::INNODB_METRICS,
    constraints::INNODB_SYS_FOREIGN,
    constraints::INNODB_SYS_FOREIGN_COLS,
    innodb::INNODB_SYS_TABLESPACES,
    innodb::INNODB_TABLES,
    innodb::INNODB_TABLESPACES,
    innodb::INNODB_TABLESPACES_BRIEF,
    innodb::INNODB_TEMP_TABLE_INFO,
    locks::INNODB_TRX,
    constraints::KEY_COLUMN_USAGE,
    server::KEYWORDS,
    features::OPTIMIZER_TRACE,
    features::PROFILING,
    features::RESOURCE_GROUPS,
    catalog::ST_GEOMETRY_COLUMNS,
    features::ST_SPATIAL_REFERENCE_SYSTEMS,
    features::ST_UNITS_OF_MEASURE,
    features::TABLESPACES,
    features::TABLESPACES_EXTENSIONS,
    features::VIEW_ROUTINE_USAGE,
    views::VIEW_TABLE_USAGE,
    partitions::PARTITIONS,
    server::PLUGINS,
    server::PROCESSLIST,
    constraints::REFERENTIAL_CONSTRAINTS,
    programs::ROUTINES,
    programs::PARAMETERS,
    catalog::SCHEMATA,
    catalog::SCHEMATA_EXTENSIONS,
    grants::SCHEMA_PRIVILEGES,
    server::SESSION_STATUS,
    server::SESSION_VARIABLES,
    catalog::STATISTICS,
    catalog::TABLES,
    catalog::TABLES_EXTENSIONS,
    constraints::TABLE_CONSTRAINTS,
    constraints::TABLE_CONSTRAINTS_EXTENSIONS,
    grants::TABLE_PRIVILEGES,
    programs::TRIGGERS,
    grants::USER_ATTRIBUTES,
    grants::USER_PRIVILEGES,
    views::VIEWS,
];

static PERFORMANCE_SCHEMA: &[VirtualTable] = &[
    by_account::ACCOUNTS,
    by_account::ERRORS_BY_ACCOUNT,
    by_account::ERRORS_BY_HOST,
    by_account::ERRORS_BY_THREAD,
    by_account::ERRORS_BY_USER,
    by_account::ERRORS_OF_ALL,
    setup::STAGES_CURRENT,
    setup::STAGES_HISTORY,
    setup::STAGES_HISTORY_LONG,
    by_account::EVENTS_BY_ACCOUNT,
    by_account::EVENTS_BY_HOST,
    by_account::EVENTS_BY_THREAD,
    by_account::EVENTS_BY_USER,
    by_account::EVENTS_OF_ALL,
    setup::TRANSACTIONS_CURRENT,
    setup::TRANSACTIONS_HISTORY,
    setup::TRANSACTIONS_HISTORY_LONG,
    setup::WAITS_CURRENT,
    setup::WAITS_HISTORY,
    setup::WAITS_HISTORY_LONG,
    files::WAITS_BY_EVENT,
    files::FILE_INSTANCES,
    files::FILE_SUMMARY_BY_EVENT,
    files::FILE_SUMMARY_BY_INSTANCE,
    by_account::HOSTS,
    memory::MEMORY_BY_EVENT,
    table_io::OBJECTS_SUMMARY,
    setup::PERFORMANCE_TIMERS,
    server::PERFORMANCE_PROCESSLIST,
    setup::GROUP_MEMBER_STATS,
    setup::GROUP_MEMBERS,
    setup::SETUP_ACTORS,
    setup::SETUP_OBJECTS,
    setup::SETUP_THREADS,
    by_account::STATUS_BY_ACCOUNT,
    by_account::STATUS_BY_HOST,
    by_account::STATUS_BY_USER,
    table_io::TABLE_IO_BY_INDEX,
    table_io::TABLE_IO_BY_TABLE,
    setup::TABLE_LOCK_WAITS,
    by_account::USERS,
    by_account::VARIABLES_BY_THREAD,
    binary_log::TRANSACTION_COMPRESSION_STATS,
    locks::DATA_LOCKS,
    locks::DATA_LOCK_WAITS,
    statements::STATEMENTS_CURRENT,
    statements::STATEMENTS_HISTORY,
    statements::STATEMENTS_BY_DIGEST,
    connections::HOST_CACHE,
    connections::SESSION_ACCOUNT_CONNECT_ATTRS,
    connections::SESSION_CONNECT_ATTRS,
    name_locks::METADATA_LOCKS,
    server::PERFORMANCE_GLOBAL_STATUS,
    server::PERFORMANCE_GLOBAL_VARIABLES,
    server::PERFORMANCE_SESSION_STATUS,
    server::PERFORMANCE_SESSION_VARIABLES,
    server::PERSISTED_VARIABLES,
    server::VARIABLES_INFO,
    replication::APPLIER_CONFIGURATION,
    replication::APPLIER_FILTERS,
    replication::APPLIER_GLOBAL_FILTERS,
    replication::APPLIER_STATUS,
    replication::APPLIER_STATUS_BY_COORDINATOR,
    replication::APPLIER_STATUS_BY_WORKER,
    replication::CONNECTION_CONFIGURATION,
    replication::CONNECTION_STATUS,
    statements::SETUP_CONSUMERS,
    statements::SETUP_INSTRUMENTS,
    statements::STATUS_BY_THREAD,
    statements::THREADS,
];

static MYSQL: &[VirtualTable] = &[
    mysql::COLUMNS_PRIV,
    mysql::DB,
    mysql::DEFAULT_ROLES,
    log_tables::GENERAL_LOG,
    mysql::GLOBAL_GRANTS,
    table_statistics::INNODB_INDEX_STATS,
    table_statistics::INNODB_TABLE_STATS,
    mysql::PASSWORD_HISTORY,
    mysql::PLUGIN,
    mysql::PROCS_PRIV,
    mysql::PROXIES_PRIV,
    mysql::ROLE_EDGES,
    log_tables::SLOW_LOG,
    mysql::TABLES_PRIV,
    mysql::TIME_ZONE,
    mysql::TIME_ZONE_NAME,
    mysql::COMPONENT,
    mysql::USER,
];

static SYS: &[VirtualTable] = &[
    locks::SYS_INNODB_LOCK_WAITS,
    sys::PROCESSLIST,
    name_locks::SCHEMA_TABLE_LOCK_WAITS,
    sys::SCHEMA_UNUSED_INDEXES,
    sys::SESSION,
    sys::SYS_CONFIG,
    sys::VERSION,
    sys::X_INNODB_LOCK_WAITS,
    sys::X_PROCESSLIST,
    name_locks::X_SCHEMA_TABLE_LOCK_WAITS,
    sys::X_SESSION,
];

/// How the names of databases and tables compare.
pub const TABLE_NAMES: CollationId = CollationId::UTF8MB3_BIN;

/// How other names compare, if nothing else is said.
pub const NAMES: CollationId = CollationId::UTF8MB3_GENERAL_CI;

/// A column of at most `chars` characters.
const fn text(name: &'static str, chars: u32) -> VirtualColumn {
    VirtualColumn { name, ty: ColumnType::VarChar { chars, collation: NAMES }, nullable: true }
}

const fn long_text(name: &'static str) -> VirtualColumn {
    VirtualColumn { name, ty: ColumnType::Text { size: LobSize::Long, collation: NAMES }, nullable: true }
}

/// A column whose texts compare byte by byte, as in MySQL what its tables of definitions hold: the names of databases and
/// tables, because there are files of these names, and words like VARCHAR.
const fn exact(name: &'static str, chars: u32) -> VirtualColumn {
    VirtualColumn { name, ty: ColumnType::VarChar { chars, collation: TABLE_NAMES }, nullable: true }
}

const fn long_exact(name: &'static str) -> VirtualColumn {
    VirtualColumn { name, ty: ColumnType::Text { size: LobSize::Long, collation: TABLE_NAMES }, nullable: true }
}

/// A column of names of columns, indexes and constraints: small and capital letters are the same, accents count.
const fn small(name: &'static str, chars: u32) -> VirtualColumn {
    let collation = CollationId::UTF8MB3_TOLOWER_CI;
    VirtualColumn { name, ty: ColumnType::VarChar { chars, collation }, nullable: true }
}

/// A BIGINT UNSIGNED column.
const fn number(name: &'static str) -> VirtualColumn {
    VirtualColumn { name, ty: ColumnType::Int { bytes: 8, unsigned: true }, nullable: true }
}

const fn int(name: &'static str) -> VirtualColumn {
    VirtualColumn { name, ty: ColumnType::Int { bytes: 4, unsigned: false }, nullable: true }
}

const fn time(name: &'static str) -> VirtualColumn {
    VirtualColumn { name, ty: ColumnType::DateTime { fsp: 0 }, nullable: true }
}

fn string(text: impl AsRef<str>) -> Value {
    Value::Bytes(text.as_ref().as_bytes().to_vec())
}

fn optional(text: Option<impl AsRef<str>>) -> Value {
    text.map_or(Value::Null, string)
}

fn yes(yes: bool) -> Value {
    string(if yes { "YES" } else { "NO" })
}

fn no_rows(_: &Facts<'_>) -> Vec<Vec<Value>> {
    Vec::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_in_capitals_or_lower_case_and_once() {
        for database in DATABASES {
            let mut names: Vec<_> = tables(database).iter().map(|table| table.name).collect();
            names.sort_unstable();
            let count = names.len();
            names.dedup();
            assert_eq!(names.len(), count, "{database} has a name twice");
            for table in tables(database) {
                assert!(!table.columns.is_empty(), "{} has no columns", table.name);
            }
        }
        assert!(table("INFORMATION_SCHEMA", "tables").is_some());
    }
}
