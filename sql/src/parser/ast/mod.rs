//! What a statement says, before anything is known about tables: the tree that
//! the parser builds and the session, the planner and the binder read.
//!
//! Names are kept as they were written (comparison without case is the
//! catalog's business), string literals as bytes in the client's character set,
//! numbers as text already split into integer, decimal and float, since that
//! is what decides their type in MySQL.
//!
//! The tree holds *all* of MySQL's query syntax that the parser accepts, including
//! what is not executed yet (JSON_TABLE, say): then the planner answers 1235, and the
//! user does not have to guess what a syntax error meant.

mod administration;
mod change;
mod definition;
mod event;
mod expression;
mod files;
mod hint;
mod partition;
mod program;
mod query;
mod sequence;
mod view;
mod walk;
mod window;

pub use administration::*;
pub use change::*;
pub use definition::*;
pub use event::*;
pub use expression::*;
pub use files::*;
pub use format::value::IntervalUnit;
pub use hint::*;
pub use partition::*;
pub use program::*;
pub use query::*;
pub use sequence::*;
pub use view::*;
pub use window::*;

/// One statement.
#[derive(Debug, Clone, PartialEq)]
pub enum Statement {
    /// SELECT, VALUES, TABLE, UNION ..., WITH.
    Query(Box<Query>),
    /// INSERT and REPLACE.
    Insert(Box<Insert>),
    Update(Box<Update>),
    Delete(Box<Delete>),
    JoinedUpdate(Box<JoinedUpdate>),
    JoinedDelete(Box<JoinedDelete>),
    Load(Box<Load>),

    CreateDatabase {
        name: String,
        or_replace: bool,
        if_not_exists: bool,
        options: DatabaseOptions,
    },
    AlterDatabase {
        name: Option<String>,
        options: DatabaseOptions,
    },
    DropDatabase {
        name: String,
        if_exists: bool,
    },
    CreateTable(Box<CreateTable>),
    AlterTable(Box<AlterTable>),
    DropTables {
        tables: Vec<TableName>,
        if_exists: bool,
        temporary: bool,
    },
    RenameTables(Vec<(TableName, TableName)>),
    TruncateTable(TableName),
    CreateIndex {
        table: TableName,
        index: IndexSpec,
        algorithm: Option<String>,
        lock: Option<String>,
    },
    DropIndex {
        table: TableName,
        name: String,
        if_exists: bool,
        algorithm: Option<String>,
        lock: Option<String>,
    },
    CreateSequence(Box<CreateSequence>),
    AlterSequence(Box<AlterSequence>),
    DropSequences {
        sequences: Vec<TableName>,
        if_exists: bool,
        temporary: bool,
    },
    /// CREATE VIEW, ALTER VIEW.
    CreateView(Box<CreateView>),
    DropViews {
        views: Vec<TableName>,
        if_exists: bool,
    },

    CreateRoutine(Box<CreateRoutine>),
    AlterRoutine(Box<AlterRoutine>),
    DropRoutine {
        kind: ProgramKind,
        name: TableName,
        if_exists: bool,
    },
    CreateTrigger(Box<CreateTrigger>),
    DropTrigger {
        name: TableName,
        if_exists: bool,
    },
    CreateEvent(Box<CreateEvent>),
    AlterEvent(Box<AlterEvent>),
    DropEvent {
        name: TableName,
        if_exists: bool,
    },
    Call(Box<Call>),
    /// BEGIN NOT ATOMIC ... END, as it was written.
    Block(Vec<u8>),
    Signal(Box<Signal>),
    GetDiagnostics(Box<GetDiagnostics>),

    Begin {
        read_only: Option<bool>,
        consistent_snapshot: bool,
    },
    /// AND \[NO\] CHAIN, \[NO\] RELEASE; None: not said.
    Commit {
        chain: Option<bool>,
        release: Option<bool>,
    },
    Rollback {
        chain: Option<bool>,
        release: Option<bool>,
    },
    Savepoint(String),
    RollbackTo(String),
    ReleaseSavepoint(String),
    /// XA: branches of distributed transactions.
    Xa(Xa),
    LockTables(Vec<(TableName, Option<String>, TableLock)>),
    UnlockTables,
    /// LOCK INSTANCE FOR BACKUP.
    LockInstance,
    UnlockInstance,
    /// BACKUP STAGE, MariaDB's.
    BackupStage(BackupStage),
    /// BACKUP SERVER \[TO 'file'\]; without a file the client gets it.
    BackupServer(Option<String>),
    /// CLONE LOCAL DATA DIRECTORY = 'directory'.
    CloneLocal(String),

    /// SET a = 1, @b = 2, GLOBAL c = 3, NAMES ...: in the order written.
    Set(Vec<SetItem>),
    /// SET STATEMENT ... FOR statement, or a statement with SET_VAR hints: values of session variables for its time.
    /// `text`: the statement's.
    SetStatement {
        variables: Vec<(String, Expr)>,
        statement: Box<Statement>,
        text: String,
        by_hint: bool,
    },
    /// SET [GLOBAL|SESSION] TRANSACTION. Without a scope it is for the next transaction alone.
    SetTransaction {
        scope: Option<VariableScope>,
        isolation: Option<Isolation>,
        read_only: Option<bool>,
    },
    Show(Show),
    /// EXPLAIN of a statement. `format` is TRADITIONAL, JSON, TREE as written.
    Explain {
        format: Option<String>,
        analyze: bool,
        statement: Box<Statement>,
    },
    /// EXPLAIN FOR CONNECTION: of the statement that runs there.
    ExplainConnection {
        format: Option<String>,
        id: u64,
    },
    /// DESCRIBE t [column or pattern].
    Describe {
        table: TableName,
        column: Option<String>,
    },
    Use(String),
    Kill {
        query_only: bool,
        id: Expr,
    },
    /// ALTER INSTANCE ROTATE INNODB MASTER KEY
    RotateMasterKey,
    /// ALTER INSTANCE RELOAD TLS; `even_without`: NO ROLLBACK ON ERROR.
    ReloadTls {
        even_without: bool,
    },
    /// ALTER TABLESPACE mysql ENCRYPTION.
    EncryptSystem(bool),
    Flush {
        no_binlog: bool,
        items: Vec<FlushItem>,
    },
    Maintain {
        action: Maintenance,
        tables: Vec<TableName>,
        options: Vec<String>,
        /// What ANALYZE does to histograms, instead of taking estimates.
        histogram: Option<HistogramChange>,
        /// What it makes beside the estimates.
        persistent: Option<PersistentFor>,
        /// Without NO_WRITE_TO_BINLOG and LOCAL.
        is_logged: bool,
    },
    Do(Vec<Expr>),
    Prepare {
        name: String,
        source: PrepareSource,
    },
    Execute {
        name: String,
        using: Vec<String>,
    },
    /// EXECUTE IMMEDIATE: a statement that is a value.
    ExecuteImmediate {
        source: Expr,
        using: Vec<Expr>,
    },
    Deallocate(String),

    /// Accounts, roles, privileges.
    Account(Box<AccountStatement>),
    SetRole(RoleChoice),

    /// BINLOG: events of a log as base64 text, in one piece or several.
    Binlog(Vec<PrepareSource>),
    PurgeLogs(Purge),
    /// CHANGE REPLICATION SOURCE TO, CHANGE MASTER TO: the options' names in upper case without SOURCE_ or MASTER_.
    /// `channel`: FOR CHANNEL, here and below.
    ChangeSource {
        options: Vec<(String, SourceValue)>,
        channel: Option<String>,
    },
    ChangeFilter {
        changes: Vec<(FilterKind, Vec<FilterRule>)>,
        channel: Option<String>,
    },
    StartReplica {
        start: ReplicaStart,
        channel: Option<String>,
    },
    StopReplica {
        threads: ReplicaThreads,
        channel: Option<String>,
    },
    /// `RESET REPLICA [ALL]`
    ResetReplica {
        all: bool,
        channel: Option<String>,
    },
    /// RESET MASTER, RESET QUERY CACHE ...: the words after RESET, upper case.
    Reset(String),
    /// RESET PERSIST: one variable, or all of them.
    ResetPersist {
        name: Option<String>,
        if_exists: bool,
    },
    Shutdown,
    /// INSTALL COMPONENT, UNINSTALL COMPONENT
    Components {
        install: bool,
        urns: Vec<String>,
    },
    /// `HELP 'text'`
    Help,
    /// Known to MySQL, not to us: answered with 1235 and this name.
    Unsupported(String),
}

impl Statement {
    /// Whether the planner makes a plan of it, which a session keeps and runs again.
    #[inline]
    pub fn is_planned(&self) -> bool {
        matches!(
            self,
            Statement::Query(_)
                | Statement::Insert(_)
                | Statement::Update(_)
                | Statement::Delete(_)
                | Statement::JoinedUpdate(_)
                | Statement::JoinedDelete(_)
        )
    }
}

/// `[database.]table`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TableName {
    pub database: Option<String>,
    pub name: String,
}

/// `[[database.]table.]column`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ColumnName {
    pub database: Option<String>,
    pub table: Option<String>,
    pub name: String,
}

// ---------------------------------------------------------------- queries

// ------------------------------------------------------------ expressions

// ------------------------------------------------------- changes of rows

// ------------------------------------------------------------ definitions

// --------------------------------------------------------- administration

impl TableName {
    pub fn new(name: impl Into<String>) -> TableName {
        TableName { database: None, name: name.into() }
    }
}

impl ColumnName {
    pub fn new(name: impl Into<String>) -> ColumnName {
        ColumnName { database: None, table: None, name: name.into() }
    }
}
