//! What a statement says, before anything is known about tables: the tree that
//! the parser builds and the session, the planner and the binder read.
//!
//! Names are kept as they were written (comparison without case is the
//! catalog's business), string literals as bytes in the client's character set,
//! numbers as text already split into integer, decimal and float, since that
//! is what decides their type in MySQL.
//!
//! The tree holds the *whole* of MySQL's query syntax that the parser accepts,
//! also what nobody executes yet (windows, common table expressions): then the
//! planner answers 1235 and nobody has to guess what a syntax error meant.

pub use format::value::IntervalUnit;

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

/// One statement.
#[derive(Debug, Clone, PartialEq)]
pub enum Statement {
    /// SELECT, VALUES, TABLE, UNION ..., WITH.
    Query(Box<Query>),
    /// INSERT and REPLACE.
    Insert(Box<Insert>),
    Update(Box<Update>),
    Delete(Box<Delete>),

    CreateDatabase {
        name: String,
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
    },
    DropIndex {
        table: TableName,
        name: String,
    },
    /// DROP VIEW, which has nothing to drop yet.
    DropViews {
        views: Vec<TableName>,
        if_exists: bool,
    },

    Begin {
        read_only: Option<bool>,
        consistent_snapshot: bool,
    },
    Commit {
        chain: bool,
        release: bool,
    },
    Rollback {
        chain: bool,
        release: bool,
    },
    Savepoint(String),
    RollbackTo(String),
    ReleaseSavepoint(String),
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
    /// SET [GLOBAL|SESSION] TRANSACTION. Without a scope it is for the next transaction alone.
    SetTransaction {
        scope: Option<VariableScope>,
        isolation: Option<Isolation>,
        read_only: Option<bool>,
    },
    SetPassword {
        user: Option<UserName>,
        password: Vec<u8>,
    },

    Show(Show),
    /// EXPLAIN of a statement. `format` is TRADITIONAL, JSON, TREE as written.
    Explain {
        format: Option<String>,
        analyze: bool,
        statement: Box<Statement>,
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
    Flush {
        no_binlog: bool,
        items: Vec<FlushItem>,
    },
    Maintain {
        action: Maintenance,
        tables: Vec<TableName>,
        options: Vec<String>,
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
    Deallocate(String),

    CreateUser {
        if_not_exists: bool,
        users: Vec<UserSpec>,
    },
    AlterUser {
        if_exists: bool,
        users: Vec<UserSpec>,
    },
    DropUser {
        if_exists: bool,
        users: Vec<UserName>,
    },
    Grant {
        privileges: Vec<Privilege>,
        level: GrantLevel,
        users: Vec<UserSpec>,
        grant_option: bool,
    },
    Revoke {
        privileges: Vec<Privilege>,
        level: GrantLevel,
        users: Vec<UserName>,
    },

    /// RESET MASTER, RESET QUERY CACHE ...: the words after RESET, upper case.
    Reset(String),
    /// RESET PERSIST: one variable, or all of them.
    ResetPersist {
        name: Option<String>,
        if_exists: bool,
    },
    Shutdown,
    /// Known to MySQL, not to us: answered with 1235 and this name.
    Unsupported(String),
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

#[derive(Debug, Clone, PartialEq)]
pub struct Query {
    pub with: Option<With>,
    pub body: Body,
    pub order_by: Vec<OrderItem>,
    pub limit: Option<Limit>,
    pub lock: Option<RowLock>,
    /// SELECT ... INTO @a, @b.
    pub into_variables: Vec<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct With {
    pub recursive: bool,
    pub tables: Vec<CommonTable>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct CommonTable {
    pub name: String,
    pub columns: Vec<String>,
    pub query: Query,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Body {
    Select(Box<Select>),
    /// UNION, EXCEPT, INTERSECT: `left` and `right` in the order written.
    Set {
        operator: SetOperator,
        all: bool,
        left: Box<Body>,
        right: Box<Body>,
    },
    Values(Vec<Vec<Expr>>),
    Table(TableName),
    /// A parenthesised query with its own ORDER BY and LIMIT.
    Nested(Box<Query>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetOperator {
    Union,
    Except,
    Intersect,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Select {
    pub distinct: bool,
    pub straight_join: bool,
    pub calc_found_rows: bool,
    pub items: Vec<SelectItem>,
    /// FROM a, b: more than one is a cross join. Empty: no FROM, or FROM DUAL.
    pub from: Vec<TableRef>,
    pub filter: Option<Expr>,
    pub group_by: Vec<OrderItem>,
    pub rollup: bool,
    pub having: Option<Expr>,
    /// WINDOW w AS (...): kept to be refused by name.
    pub windows: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub enum SelectItem {
    /// `*`
    All,
    /// `t.*`, `db.t.*`
    AllOf(TableName),
    Expr {
        expr: Expr,
        alias: Option<String>,
        /// The expression as it was written: the name of the column without an alias.
        text: String,
    },
}

#[derive(Debug, Clone, PartialEq)]
pub enum TableRef {
    Table { name: TableName, alias: Option<String>, hints: Vec<IndexHint> },
    Derived { query: Box<Query>, alias: String, columns: Vec<String>, lateral: bool },
    Join { left: Box<TableRef>, right: Box<TableRef>, kind: JoinKind, condition: JoinCondition },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JoinKind {
    /// JOIN, INNER JOIN, CROSS JOIN, and a comma inside parentheses.
    Inner,
    /// STRAIGHT_JOIN: inner, left table first.
    Straight,
    Left,
    Right,
}

#[derive(Debug, Clone, PartialEq)]
pub enum JoinCondition {
    None,
    On(Expr),
    Using(Vec<String>),
    Natural,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexHint {
    pub kind: IndexHintKind,
    pub purpose: IndexHintPurpose,
    /// Empty for `USE INDEX ()`: no index at all.
    pub indexes: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IndexHintKind {
    Use,
    Force,
    Ignore,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IndexHintPurpose {
    Any,
    Join,
    OrderBy,
    GroupBy,
}

#[derive(Debug, Clone, PartialEq)]
pub struct OrderItem {
    pub expr: Expr,
    pub descending: bool,
}

/// LIMIT. Both are integer literals or parameters (or local variables later).
#[derive(Debug, Clone, PartialEq)]
pub struct Limit {
    pub offset: Option<Expr>,
    pub count: Expr,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowLock {
    /// FOR UPDATE rather than FOR SHARE.
    pub exclusive: bool,
    pub of: Vec<TableName>,
    pub wait: LockWait,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LockWait {
    Wait,
    NoWait,
    SkipLocked,
}

// ------------------------------------------------------------ expressions

#[derive(Debug, Clone, PartialEq)]
pub enum Expr {
    Literal(Literal),
    Column(ColumnName),
    /// The n-th `?`, from 0.
    Parameter(usize),
    /// `@name`
    UserVariable(String),
    /// `@name := expr`
    Assign(String, Box<Expr>),
    /// `@@[scope.]name`
    SystemVariable {
        scope: Option<VariableScope>,
        name: String,
    },
    Unary {
        op: UnaryOp,
        expr: Box<Expr>,
    },
    Binary {
        op: BinaryOp,
        left: Box<Expr>,
        right: Box<Expr>,
    },
    /// `expr IS [NOT] NULL`
    IsNull {
        expr: Box<Expr>,
        negated: bool,
    },
    /// `expr IS [NOT] TRUE|FALSE|UNKNOWN`; UNKNOWN is `None`.
    IsTruth {
        expr: Box<Expr>,
        truth: Option<bool>,
        negated: bool,
    },
    Between {
        expr: Box<Expr>,
        low: Box<Expr>,
        high: Box<Expr>,
        negated: bool,
    },
    InList {
        expr: Box<Expr>,
        list: Vec<Expr>,
        negated: bool,
    },
    InQuery {
        expr: Box<Expr>,
        query: Box<Query>,
        negated: bool,
    },
    Like {
        expr: Box<Expr>,
        pattern: Box<Expr>,
        escape: Option<Box<Expr>>,
        negated: bool,
    },
    Regexp {
        expr: Box<Expr>,
        pattern: Box<Expr>,
        negated: bool,
    },
    /// `CASE [operand] WHEN .. THEN .. [ELSE ..] END`
    Case {
        operand: Option<Box<Expr>>,
        whens: Vec<(Expr, Expr)>,
        otherwise: Option<Box<Expr>>,
    },
    /// A call by name: also those with a syntax of their own (`TRIM(LEADING x FROM y)` is
    /// `ltrim`-like with [`Expr::Trim`]); `name` in lower case. LEFT, IF, MOD, YEAR ... are all here.
    Function {
        name: String,
        args: Vec<Expr>,
    },
    /// `schema.name(args)`: a stored function.
    StoredFunction {
        database: String,
        name: String,
        args: Vec<Expr>,
    },
    Aggregate(Box<Aggregate>),
    Cast {
        expr: Box<Expr>,
        to: CastType,
    },
    /// CONVERT(expr USING charset)
    ConvertUsing {
        expr: Box<Expr>,
        charset: String,
    },
    /// expr COLLATE name
    Collate {
        expr: Box<Expr>,
        collation: String,
    },
    /// `BINARY expr`
    Binarily(Box<Expr>),
    Trim {
        side: TrimSide,
        remove: Option<Box<Expr>>,
        expr: Box<Expr>,
    },
    Extract {
        unit: IntervalUnit,
        expr: Box<Expr>,
    },
    /// `expr ± INTERVAL n unit`, DATE_ADD, DATE_SUB, ADDDATE, SUBDATE with INTERVAL.
    DateAdd {
        expr: Box<Expr>,
        interval: Box<Expr>,
        unit: IntervalUnit,
        subtract: bool,
    },
    TimestampAdd {
        unit: IntervalUnit,
        interval: Box<Expr>,
        expr: Box<Expr>,
    },
    TimestampDiff {
        unit: IntervalUnit,
        from: Box<Expr>,
        to: Box<Expr>,
    },
    /// CHAR(n, ... [USING charset])
    Char {
        args: Vec<Expr>,
        charset: Option<String>,
    },
    /// `(a, b)` or ROW(a, b): at least two.
    Row(Vec<Expr>),
    Subquery(Box<Query>),
    Exists(Box<Query>),
    /// `expr op ALL|ANY (query)`
    Quantified {
        expr: Box<Expr>,
        op: BinaryOp,
        all: bool,
        query: Box<Query>,
    },
    /// DEFAULT(column)
    DefaultOf(ColumnName),
    /// DEFAULT alone: a value in INSERT and UPDATE.
    Default,
    /// VALUES(column) in ON DUPLICATE KEY UPDATE
    ValuesOf(ColumnName),
    /// MATCH ... AGAINST, window functions ...: answered with 1235 and this name.
    Unsupported(String),
}

#[derive(Debug, Clone, PartialEq)]
pub enum Literal {
    Null,
    Bool(bool),
    /// Digits only: without sign. Fits in u64, otherwise it is a `Decimal`.
    Integer(u64),
    /// `1.50`, or an integer too large: digits, at most one point.
    Decimal(String),
    /// With an exponent.
    Float(f64),
    /// Unescaped bytes; adjacent literals are joined. `charset` is the introducer: `_latin1'x'`, N'x' (utf8mb3).
    String {
        bytes: Vec<u8>,
        charset: Option<String>,
    },
    /// x'4142', 0x4142: binary string, or a number in numeric context.
    Hex {
        bytes: Vec<u8>,
        charset: Option<String>,
    },
    /// b'0101', 0b0101: likewise.
    Bit {
        bytes: Vec<u8>,
        charset: Option<String>,
    },
    /// DATE '2020-01-01', TIME '..', TIMESTAMP '..', and {d '..'}.
    Date(Vec<u8>),
    Time(Vec<u8>),
    Timestamp(Vec<u8>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnaryOp {
    Minus,
    Plus,
    /// NOT and !
    Not,
    /// `~`
    BitNot,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BinaryOp {
    Or,
    Xor,
    And,
    Equal,
    /// `<=>`
    NullSafeEqual,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    BitOr,
    BitAnd,
    BitXor,
    ShiftLeft,
    ShiftRight,
    Add,
    Subtract,
    Multiply,
    /// `/`
    Divide,
    /// DIV
    IntegerDivide,
    /// MOD, %
    Modulo,
    /// `||` under PIPES_AS_CONCAT
    Concat,
    /// a SOUNDS LIKE b
    SoundsLike,
    /// `->`
    JsonExtract,
    /// `->>`
    JsonUnquote,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Aggregate {
    pub function: AggregateFunction,
    pub distinct: bool,
    /// Empty for COUNT(*).
    pub args: Vec<Expr>,
    /// GROUP_CONCAT's.
    pub order_by: Vec<OrderItem>,
    pub separator: Option<Vec<u8>>,
    /// OVER (...): refused with 1235.
    pub window: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AggregateFunction {
    Count,
    Sum,
    Avg,
    Min,
    Max,
    GroupConcat,
    BitAnd,
    BitOr,
    BitXor,
    /// STD, STDDEV, STDDEV_POP
    StddevPop,
    StddevSamp,
    /// VARIANCE, VAR_POP
    VarPop,
    VarSamp,
    AnyValue,
    JsonArrayAgg,
    JsonObjectAgg,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrimSide {
    Both,
    Leading,
    Trailing,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CastType {
    Signed,
    Unsigned,
    Binary { bytes: Option<u32> },
    Char { chars: Option<u32>, charset: Option<String> },
    Date,
    Time { fsp: u8 },
    DateTime { fsp: u8 },
    Decimal { precision: u8, scale: u8 },
    Float,
    Double,
    Year,
    Json,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum VariableScope {
    Global,
    Session,
    Persist,
    PersistOnly,
}

// ------------------------------------------------------- changes of rows

#[derive(Debug, Clone, PartialEq)]
pub struct Insert {
    pub replace: bool,
    pub ignore: bool,
    pub table: TableName,
    /// Empty: all columns in order. (`INSERT t () VALUES ()` has no columns and rows of no values.)
    pub columns: Vec<String>,
    pub source: InsertSource,
    /// `AS new(x, y)` after VALUES.
    pub row_alias: Option<(String, Vec<String>)>,
    /// ON DUPLICATE KEY UPDATE; empty without it.
    pub on_duplicate: Vec<(ColumnName, Expr)>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum InsertSource {
    /// VALUES (..), (..) and also the SET form. A DEFAULT alone is [`Expr::Default`].
    Values(Vec<Vec<Expr>>),
    Query(Box<Query>),
}

#[derive(Debug, Clone, PartialEq)]
pub struct Update {
    pub ignore: bool,
    pub table: TableRef,
    pub assignments: Vec<(ColumnName, Expr)>,
    pub filter: Option<Expr>,
    pub order_by: Vec<OrderItem>,
    /// The count; an offset is a syntax error here.
    pub limit: Option<Expr>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Delete {
    pub ignore: bool,
    pub table: TableName,
    pub alias: Option<String>,
    pub filter: Option<Expr>,
    pub order_by: Vec<OrderItem>,
    pub limit: Option<Expr>,
}

// ------------------------------------------------------------ definitions

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DatabaseOptions {
    pub charset: Option<String>,
    pub collation: Option<String>,
    pub encryption: Option<String>,
    pub read_only: Option<bool>,
    pub comment: Option<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct CreateTable {
    pub temporary: bool,
    pub if_not_exists: bool,
    pub or_replace: bool,
    pub table: TableName,
    /// CREATE TABLE t LIKE other.
    pub like: Option<TableName>,
    pub columns: Vec<ColumnSpec>,
    pub indexes: Vec<IndexSpec>,
    pub foreign_keys: Vec<ForeignKeySpec>,
    /// CHECK constraints: (name, source text of the condition).
    pub checks: Vec<(Option<String>, String)>,
    pub options: Vec<TableOption>,
    /// PARTITION BY ...: its source text.
    pub partition_by: Option<String>,
    /// `CREATE TABLE ... [AS] SELECT`.
    pub query: Option<Box<Query>>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ColumnSpec {
    pub name: String,
    pub ty: TypeSpec,
    /// None: not said.
    pub nullable: Option<bool>,
    pub default: Option<DefaultSpec>,
    /// ON UPDATE CURRENT_TIMESTAMP[(fsp)]
    pub on_update_now: Option<u8>,
    pub auto_increment: bool,
    pub primary_key: bool,
    pub unique: bool,
    /// KEY alone: an index, which in a column definition means PRIMARY KEY.
    pub comment: Option<String>,
    pub invisible: bool,
    /// CHECK (...) texts.
    pub checks: Vec<String>,
    /// REFERENCES ...: parsed and ignored by MySQL here.
    pub references: bool,
    /// GENERATED ALWAYS AS (...): its text. Answered with 1235.
    pub generated: Option<String>,
    /// MariaDB's COMPRESSED, MySQL's COLUMN_FORMAT, STORAGE, ENGINE_ATTRIBUTE: accepted, ignored.
    pub attributes: Vec<(String, String)>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum DefaultSpec {
    /// A literal, possibly signed.
    Literal(Expr),
    /// CURRENT_TIMESTAMP, NOW(), LOCALTIME...
    Now { fsp: u8 },
    /// DEFAULT (expr), with its source text.
    Expr { expr: Expr, text: String },
}

/// A type as written: `name` is canonical upper case: TINYINT SMALLINT MEDIUMINT INT BIGINT
/// DECIMAL FLOAT DOUBLE BIT BOOL YEAR DATE TIME DATETIME TIMESTAMP CHAR VARCHAR BINARY VARBINARY TINYTEXT TEXT
/// MEDIUMTEXT LONGTEXT TINYBLOB BLOB MEDIUMBLOB LONGBLOB JSON ENUM SET SERIAL, others as written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TypeSpec {
    pub name: String,
    /// The number in parentheses: display width, characters, bytes, digits, fsp.
    pub length: Option<u64>,
    pub decimals: Option<u8>,
    pub unsigned: bool,
    pub zerofill: bool,
    pub charset: Option<String>,
    pub collation: Option<String>,
    /// The BINARY attribute: the _bin collation of the character set.
    pub binary: bool,
    /// ENUM's and SET's.
    pub members: Vec<Vec<u8>>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct IndexSpec {
    /// None: to be invented from the first column.
    pub name: Option<String>,
    pub kind: IndexKind,
    pub parts: Vec<IndexPartSpec>,
    pub comment: Option<String>,
    pub invisible: bool,
    /// BTREE, HASH as written.
    pub algorithm: Option<String>,
    pub if_not_exists: bool,
    pub key_block_size: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IndexKind {
    Primary,
    Unique,
    Plain,
    FullText,
    Spatial,
}

#[derive(Debug, Clone, PartialEq)]
pub struct IndexPartSpec {
    pub column: String,
    pub prefix: Option<u32>,
    pub descending: bool,
    /// A functional part `(expr)`: its text; `column` is empty. 1235.
    pub expression: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForeignKeySpec {
    pub name: Option<String>,
    pub columns: Vec<String>,
    pub table: TableName,
    pub references: Vec<String>,
    pub on_delete: Option<String>,
    pub on_update: Option<String>,
}

/// `name` is canonical: upper case with underscores (ENGINE, CHARSET, COLLATE, AUTO_INCREMENT, COMMENT,
/// COMPRESSION, PAGE_COMPRESSED, PAGE_COMPRESSION_LEVEL, ROW_FORMAT, KEY_BLOCK_SIZE, "DATA DIRECTORY" ...).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableOption {
    pub name: String,
    pub value: OptionValue,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OptionValue {
    Default,
    Number(u64),
    /// An identifier or keyword, as written.
    Word(String),
    /// A quoted string.
    Text(String),
}

#[derive(Debug, Clone, PartialEq)]
pub struct AlterTable {
    pub table: TableName,
    pub if_exists: bool,
    pub actions: Vec<AlterAction>,
    /// ALGORITHM=, as written.
    pub algorithm: Option<String>,
    /// LOCK=, as written.
    pub lock: Option<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum AlterAction {
    AddColumn {
        column: ColumnSpec,
        position: ColumnPosition,
        if_not_exists: bool,
    },
    DropColumn {
        name: String,
        if_exists: bool,
    },
    /// MODIFY (old name == column.name) and CHANGE.
    ChangeColumn {
        old: String,
        column: ColumnSpec,
        position: ColumnPosition,
        if_exists: bool,
    },
    RenameColumn {
        old: String,
        new: String,
    },
    SetDefault {
        column: String,
        default: Option<DefaultSpec>,
    },
    SetColumnVisible {
        column: String,
        visible: bool,
    },
    AddIndex(IndexSpec),
    DropIndex {
        name: String,
        if_exists: bool,
    },
    DropPrimaryKey,
    RenameIndex {
        old: String,
        new: String,
    },
    SetIndexVisible {
        name: String,
        visible: bool,
    },
    AddForeignKey(ForeignKeySpec),
    DropForeignKey {
        name: String,
    },
    AddCheck {
        name: Option<String>,
        text: String,
    },
    DropConstraint {
        name: String,
    },
    Rename(TableName),
    Options(Vec<TableOption>),
    /// CONVERT TO CHARACTER SET
    ConvertCharset {
        charset: Option<String>,
        collation: Option<String>,
    },
    /// FORCE, and ENGINE=InnoDB alone is an `Options` that the executor treats likewise.
    Force,
    OrderBy(Vec<OrderItem>),
    DisableKeys,
    EnableKeys,
    DiscardTablespace,
    ImportTablespace,
    /// Partitioning and the like: answered with 1235 and this name.
    Unsupported(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ColumnPosition {
    Last,
    First,
    After(String),
}

// --------------------------------------------------------- administration

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
    Grants {
        user: Option<UserName>,
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
    /// SHOW SLAVE|REPLICA STATUS, SLAVE HOSTS, REPLICAS, BINLOG EVENTS, PROFILES ...: the words, upper case.
    Other(String),
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

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserSpec {
    pub name: UserName,
    /// IDENTIFIED WITH
    pub plugin: Option<String>,
    /// IDENTIFIED [WITH p] BY 'password'
    pub password: Option<Vec<u8>>,
    /// IDENTIFIED WITH p AS 'hash', IDENTIFIED BY PASSWORD 'hash'
    pub hash: Option<Vec<u8>>,
    /// REQUIRE, WITH limits, PASSWORD EXPIRE, ACCOUNT LOCK ...: the words, upper case.
    pub options: Vec<String>,
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
}

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

impl Expr {
    pub const NULL: Expr = Expr::Literal(Literal::Null);

    pub fn string(text: &str) -> Expr {
        Expr::Literal(Literal::String { bytes: text.as_bytes().to_vec(), charset: None })
    }
}

impl ShowFilter {
    pub const NONE: ShowFilter = ShowFilter { like: None, filter: None };
}
