//! SET, SHOW, FLUSH, users: what is neither a query nor a change nor a definition.

use format::xid::Xid;

use super::*;

/// The stages of MariaDB's BACKUP STAGE, in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum BackupStage {
    Start,
    Flush,
    BlockDdl,
    BlockCommit,
    End,
}

impl BackupStage {
    const ALL: [BackupStage; 5] =
        [BackupStage::Start, BackupStage::Flush, BackupStage::BlockDdl, BackupStage::BlockCommit, BackupStage::End];

    pub fn name(self) -> &'static str {
        match self {
            BackupStage::Start => "START",
            BackupStage::Flush => "FLUSH",
            BackupStage::BlockDdl => "BLOCK_DDL",
            BackupStage::BlockCommit => "BLOCK_COMMIT",
            BackupStage::End => "END",
        }
    }

    /// `name` is in upper case.
    pub fn by_name(name: &str) -> Option<BackupStage> {
        BackupStage::ALL.into_iter().find(|stage| stage.name() == name)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Isolation {
    ReadUncommitted,
    ReadCommitted,
    RepeatableRead,
    Serializable,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TableLock {
    Read,
    ReadLocal,
    Write,
}

#[derive(Debug, Clone, PartialEq)]
pub enum SetItem {
    /// `SET [scope] name = value`. A bare identifier as value (`SET sql_mode = ANSI`) arrives as [`Expr::Column`]
    /// without table; DEFAULT as [`Expr::Default`]; ON as a column named `ON`.
    System {
        scope: Option<VariableScope>,
        name: String,
        value: Expr,
    },
    User {
        name: String,
        value: Expr,
    },
    /// SET NAMES charset [COLLATE collation]; `charset` None = DEFAULT.
    Names {
        charset: Option<String>,
        collation: Option<String>,
    },
    /// SET CHARACTER SET charset
    Charset(Option<String>),
}

#[derive(Debug, Clone, PartialEq)]
pub struct ShowFilter {
    pub like: Option<Vec<u8>>,
    pub filter: Option<Expr>,
}

/// What SHOW PROFILE tells beside durations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProfileKind {
    All,
    BlockIo,
    ContextSwitches,
    Cpu,
    Ipc,
    Memory,
    PageFaults,
    Source,
    Swaps,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Show {
    Databases(ShowFilter),
    Tables {
        full: bool,
        database: Option<String>,
        filter: ShowFilter,
    },
    Columns {
        full: bool,
        table: TableName,
        filter: ShowFilter,
    },
    Index {
        table: TableName,
        filter: Option<Expr>,
    },
    CreateTable(TableName),
    CreateDatabase {
        name: String,
        if_not_exists: bool,
    },
    CreateView(TableName),
    CreateSequence(TableName),
    /// SHOW CREATE PROCEDURE, FUNCTION, TRIGGER
    CreateProgram {
        kind: ProgramKind,
        name: TableName,
    },
    CreateUser(UserName),
    TableStatus {
        database: Option<String>,
        filter: ShowFilter,
    },
    OpenTables {
        database: Option<String>,
        filter: ShowFilter,
    },
    Variables {
        scope: Option<VariableScope>,
        filter: ShowFilter,
    },
    Status {
        scope: Option<VariableScope>,
        filter: ShowFilter,
    },
    Warnings {
        limit: Option<Limit>,
        count: bool,
    },
    Errors {
        limit: Option<Limit>,
        count: bool,
    },
    /// SHOW PROFILES
    Profiles,
    /// `SHOW PROFILE [kinds] [FOR QUERY number] [LIMIT ...]`
    Profile {
        kinds: Vec<ProfileKind>,
        query: Option<u64>,
        limit: Option<Limit>,
    },
    Engines,
    /// SHOW ENGINE name STATUS|MUTEX|LOGS
    Engine {
        name: String,
        what: String,
    },
    ProcessList {
        full: bool,
    },
    Charset(ShowFilter),
    Collation(ShowFilter),
    Plugins,
    Privileges,
    /// SHOW GRANTS [FOR user [USING roles]]
    Grants {
        user: Option<UserName>,
        using: Vec<UserName>,
    },
    Events {
        database: Option<String>,
        filter: ShowFilter,
    },
    Triggers {
        database: Option<String>,
        filter: ShowFilter,
    },
    /// SHOW FUNCTION|PROCEDURE|PACKAGE|PACKAGE BODY STATUS: `kind` upper case.
    RoutineStatus {
        kind: String,
        filter: ShowFilter,
    },
    /// SHOW MASTER STATUS, BINARY LOG STATUS.
    BinaryLogStatus,
    BinaryLogs,
    BinaryLogEvents(LogPlace),
    /// SHOW REPLICA STATUS, SHOW SLAVE STATUS.
    ReplicaStatus {
        old_names: bool,
        channel: Option<String>,
    },
    /// SHOW SLAVE HOSTS, REPLICAS, PROFILES ...: the words, upper case.
    Other(String),
}

/// The value of an option of CHANGE REPLICATION SOURCE TO.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SourceValue {
    Text(String),
    /// A number as written, or a word in upper case, such as NULL.
    Word(String),
    List(Vec<String>),
}

/// The filters of CHANGE REPLICATION FILTER.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FilterKind {
    DoDb,
    IgnoreDb,
    DoTable,
    IgnoreTable,
    WildDoTable,
    WildIgnoreTable,
    RewriteDb,
}

impl FilterKind {
    /// In the order of their columns in SHOW REPLICA STATUS.
    pub const ALL: [FilterKind; 7] = [
        FilterKind::DoDb,
        FilterKind::IgnoreDb,
        FilterKind::DoTable,
        FilterKind::IgnoreTable,
        FilterKind::WildDoTable,
        FilterKind::WildIgnoreTable,
        FilterKind::RewriteDb,
    ];

    pub fn name(self) -> &'static str {
        match self {
            FilterKind::DoDb => "REPLICATE_DO_DB",
            FilterKind::IgnoreDb => "REPLICATE_IGNORE_DB",
            FilterKind::DoTable => "REPLICATE_DO_TABLE",
            FilterKind::IgnoreTable => "REPLICATE_IGNORE_TABLE",
            FilterKind::WildDoTable => "REPLICATE_WILD_DO_TABLE",
            FilterKind::WildIgnoreTable => "REPLICATE_WILD_IGNORE_TABLE",
            FilterKind::RewriteDb => "REPLICATE_REWRITE_DB",
        }
    }

    /// The option that adds a rule at the start, with underscores.
    pub fn option(self) -> &'static str {
        match self {
            FilterKind::DoDb => "replicate_do_db",
            FilterKind::IgnoreDb => "replicate_ignore_db",
            FilterKind::DoTable => "replicate_do_table",
            FilterKind::IgnoreTable => "replicate_ignore_table",
            FilterKind::WildDoTable => "replicate_wild_do_table",
            FilterKind::WildIgnoreTable => "replicate_wild_ignore_table",
            FilterKind::RewriteDb => "replicate_rewrite_db",
        }
    }
}

/// One of the names that a filter lists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FilterRule {
    Database(String),
    /// Database and table; for REPLICATE_REWRITE_DB the names there and here.
    Pair(String, String),
    /// What `database.table` is like.
    Pattern(String),
}

/// What START REPLICA says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplicaStart {
    pub threads: ReplicaThreads,
    pub until: Option<Until>,
    /// Instead of what CHANGE REPLICATION SOURCE TO says, until the receiver stops.
    pub user: Option<String>,
    pub password: Option<String>,
}

/// Where START REPLICA UNTIL ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Until {
    SourcePosition {
        file: String,
        position: u64,
    },
    RelayPosition {
        file: String,
        position: u64,
    },
    /// A set of GTIDs as text.
    BeforeGtids(String),
    AfterGtids(String),
    AfterGaps,
}

/// Which of a replica's threads a statement is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReplicaThreads {
    /// What reads the source's log.
    pub receiver: bool,
    /// What applies it.
    pub applier: bool,
}

/// `[IN 'file'] [FROM position] [LIMIT [skip,] rows]`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogPlace {
    pub file: Option<String>,
    pub position: Option<u64>,
    pub skip: u64,
    pub rows: u64,
}

/// PURGE BINARY LOGS
#[derive(Debug, Clone, PartialEq)]
pub enum Purge {
    To(String),
    Before(Expr),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FlushItem {
    /// `TABLES [names] [WITH READ LOCK | FOR EXPORT]`
    Tables { tables: Vec<TableName>, read_lock: bool, for_export: bool },
    /// STATUS, LOGS, PRIVILEGES, BINARY LOGS, ...: upper case.
    Other(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Maintenance {
    Optimize,
    Analyze,
    Check,
    Repair,
    Checksum,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PrepareSource {
    Text(Vec<u8>),
    Variable(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserName {
    pub user: String,
    /// `%` when not said. CURRENT_USER is user "" and host "" with `current` set.
    pub host: String,
    pub current: bool,
}

/// How IDENTIFIED gives a password.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Identified {
    /// Not at all; a plugin may have been named.
    #[default]
    Nothing,
    By(Vec<u8>),
    /// BY RANDOM PASSWORD
    ByRandom,
    /// AS 'verifier', BY PASSWORD 'verifier'
    As(Vec<u8>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserSpec {
    pub name: UserName,
    /// IDENTIFIED WITH
    pub plugin: Option<String>,
    pub identified: Identified,
    /// REPLACE 'the current password'
    pub replaces: Option<Vec<u8>>,
    pub old: OldPassword,
}

/// REQUIRE
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Requirement {
    None,
    Ssl,
    X509,
    Specified { cipher: Option<String>, issuer: Option<String>, subject: Option<String> },
}

/// PASSWORD EXPIRE
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expiry {
    Now,
    Default,
    Never,
    Days(u32),
}

/// What CREATE USER and ALTER USER say of all users that they name; `None` is not said.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AccountOptions {
    pub requirement: Option<Requirement>,
    /// MAX_QUERIES_PER_HOUR and the like.
    pub limits: Vec<(&'static str, u32)>,
    pub expiry: Option<Expiry>,
    /// `Some(None)` is DEFAULT.
    pub history: Option<Option<u32>>,
    pub reuse_days: Option<Option<u32>>,
    pub requires_current: Option<Option<bool>>,
    pub failed_attempts: Option<u32>,
    /// `Some(None)` is UNBOUNDED.
    pub lock_days: Option<Option<u32>>,
    pub locked: Option<bool>,
    pub comment: Option<String>,
    /// ATTRIBUTE: a JSON object as text.
    pub attribute: Option<String>,
    /// DEFAULT ROLE of CREATE USER.
    pub default_roles: Vec<UserName>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Privilege {
    /// SELECT, ALL, LOCK TABLES ...: upper case, words parted by one space.
    pub name: String,
    pub columns: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GrantLevel {
    Global,
    /// db.*; `None` is the current one (`ON *`).
    Database(Option<String>),
    Table(TableName),
    /// FUNCTION or PROCEDURE, and its name.
    Routine(&'static str, TableName),
}

/// GRANT and REVOKE of privileges.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    pub privileges: Vec<Privilege>,
    pub level: GrantLevel,
    pub users: Vec<UserSpec>,
    /// REQUIRE and the limits that MariaDB has here: they become the accounts'.
    pub options: AccountOptions,
    /// WITH GRANT OPTION
    pub grant_option: bool,
    /// AS: whose partial revokes count, with these roles; its default roles if none are named.
    pub grantor: Option<(UserName, RoleChoice)>,
}

/// What REVOKE passes over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Lenience {
    pub if_exists: bool,
    pub ignore_unknown_user: bool,
}

/// SET ROLE, and the roles of SET DEFAULT ROLE.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RoleChoice {
    None,
    All,
    AllExcept(Vec<UserName>),
    Default,
    Some(Vec<UserName>),
}

/// Statements about accounts, roles and privileges.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AccountStatement {
    CreateUser {
        if_not_exists: bool,
        users: Vec<UserSpec>,
        options: AccountOptions,
    },
    AlterUser {
        if_exists: bool,
        users: Vec<UserSpec>,
        options: AccountOptions,
    },
    DropUser {
        if_exists: bool,
        users: Vec<UserName>,
    },
    RenameUser(Vec<(UserName, UserName)>),
    SetPassword {
        user: Option<UserName>,
        identified: Identified,
        replaces: Option<Vec<u8>>,
        old: OldPassword,
    },
    Grant(Grant),
    /// REVOKE ... ON ... FROM
    Revoke {
        grant: Grant,
        lenience: Lenience,
    },
    /// REVOKE ALL PRIVILEGES, GRANT OPTION FROM
    RevokeAll {
        users: Vec<UserName>,
        lenience: Lenience,
    },
    CreateRole {
        if_not_exists: bool,
        roles: Vec<UserName>,
    },
    DropRole {
        if_exists: bool,
        roles: Vec<UserName>,
    },
    GrantRoles {
        roles: Vec<UserName>,
        users: Vec<UserName>,
        admin_option: bool,
    },
    RevokeRoles {
        roles: Vec<UserName>,
        users: Vec<UserName>,
        lenience: Lenience,
    },
    SetDefaultRole {
        choice: RoleChoice,
        users: Vec<UserName>,
    },
}

impl ShowFilter {
    pub const NONE: ShowFilter = ShowFilter { like: None, filter: None };
}

/// XA, by its verbs.
#[derive(Debug, Clone, PartialEq)]
pub enum Xa {
    Start { xid: Xid, mode: StartMode },
    End { xid: Xid, suspend: bool },
    Prepare(Xid),
    Commit { xid: Xid, one_phase: bool },
    Rollback(Xid),
    Recover(XidShape),
}

/// What XA START begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StartMode {
    New,
    Join,
    Resume,
}

/// How XA RECOVER shows names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum XidShape {
    /// Both parts as they are.
    Raw,
    /// Both parts, CONVERT XID.
    Hexadecimal,
    /// As XA COMMIT wants them, FORMAT='SQL'.
    Sql,
    /// A format of this name is not known.
    Unknown(String),
}

/// What becomes of the password that an account has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OldPassword {
    /// It is replaced; one that was retained before stays.
    #[default]
    Replaced,
    /// RETAIN CURRENT PASSWORD: it may be used beside the new one.
    Retained,
    /// DISCARD OLD PASSWORD: the one that was retained may not be used any more.
    Discarded,
}

/// UPDATE HISTOGRAM ON columns, DROP HISTOGRAM ON columns.
#[derive(Debug, Clone, PartialEq)]
pub enum HistogramChange {
    Update {
        columns: Vec<String>,
        /// WITH n BUCKETS
        buckets: Option<u64>,
        /// USING DATA 'json'
        data: Option<String>,
    },
    Drop {
        columns: Vec<String>,
    },
}

/// MariaDB's PERSISTENT FOR: the columns and indexes that it names; None = all.
#[derive(Debug, Clone, PartialEq)]
pub struct PersistentFor {
    pub columns: Option<Vec<String>>,
    pub indexes: Option<Vec<String>>,
}
