//! Databases, tables, columns and indexes: CREATE and ALTER.

use super::*;

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
    /// CHECK constraints, those of columns among them, in the order written.
    pub checks: Vec<CheckSpec>,
    pub options: Vec<TableOption>,
    pub partition_by: Option<Box<PartitionBy>>,
    /// `CREATE TABLE ... [IGNORE | REPLACE] [AS] SELECT`.
    pub query: Option<Box<Query>>,
    pub ignore: bool,
    pub replace: bool,
    /// START TRANSACTION: the rows follow as events of a binary log, and COMMIT ends the statement.
    pub start_transaction: bool,
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
    /// Those that a column of CREATE TABLE has are the statement's.
    pub checks: Vec<CheckSpec>,
    /// REFERENCES ... behind the column: a foreign key of it alone.
    pub references: Option<Box<ForeignKeySpec>>,
    /// GENERATED ALWAYS AS (...)
    pub generated: Option<GeneratedSpec>,
    /// MariaDB's COMPRESSED, MySQL's COLUMN_FORMAT, STORAGE, ENGINE_ATTRIBUTE: accepted, ignored.
    pub attributes: Vec<(String, String)>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct GeneratedSpec {
    pub expr: Expr,
    /// STORED, or MariaDB's PERSISTENT.
    pub stored: bool,
}

/// `[CONSTRAINT [name]] CHECK (condition) [[NOT] ENFORCED]`
#[derive(Debug, Clone, PartialEq)]
pub struct CheckSpec {
    pub name: Option<String>,
    pub condition: Expr,
    pub enforced: bool,
    /// The column behind which it stands.
    pub column: Option<String>,
    /// MariaDB's.
    pub if_not_exists: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub enum DefaultSpec {
    /// A literal, possibly signed.
    Literal(Expr),
    /// CURRENT_TIMESTAMP, NOW(), LOCALTIME...
    Now { fsp: u8 },
    /// DEFAULT (expr)
    Expr(Expr),
}

/// A type as written: `name` is canonical upper case: TINYINT SMALLINT MEDIUMINT INT BIGINT
/// DECIMAL FLOAT DOUBLE BIT BOOL YEAR DATE TIME DATETIME TIMESTAMP CHAR VARCHAR BINARY VARBINARY TINYTEXT TEXT
/// MEDIUMTEXT LONGTEXT TINYBLOB BLOB MEDIUMBLOB LONGBLOB JSON ENUM SET SERIAL, those of geometries, others as written.
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
    /// NATIONAL, NCHAR, NVARCHAR: these say the character set.
    pub national: bool,
    /// Nobody wrote the character set: the column is made of a query's result.
    pub made: bool,
    /// The BINARY attribute: the _bin collation of the character set.
    pub binary: bool,
    /// ENUM's and SET's, and whether they are written as bits, which are bytes of the column's character set.
    pub members: Vec<(Vec<u8>, bool)>,
    /// SRID, which stands among the attributes of a column.
    pub srid: Option<u32>,
}

#[derive(Debug, Clone, PartialEq, Default)]
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
    /// WITH PARSER
    pub parser: Option<String>,
    /// How many columns stand before it in CREATE TABLE.
    pub behind: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum IndexKind {
    Primary,
    Unique,
    #[default]
    Plain,
    FullText,
    Spatial,
}

#[derive(Debug, Clone, PartialEq)]
pub struct IndexPartSpec {
    pub column: String,
    pub prefix: Option<u32>,
    pub descending: bool,
    /// A functional part `(expr)`; `column` is empty.
    pub expression: Option<Expr>,
    /// Of a part whose column holds arrays: the type of their elements.
    pub elements: Option<format::value::ColumnType>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForeignKeySpec {
    /// How many keys a CREATE TABLE has before it.
    pub behind: usize,
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

impl AlterTable {
    /// The table, and the one that a partition is exchanged with.
    pub fn tables(&self) -> impl Iterator<Item = &TableName> {
        let exchanged = self.actions.iter().filter_map(|action| match action {
            AlterAction::Partitions(PartitionAction::Exchange { table, .. }) => Some(table),
            _ => None,
        });
        std::iter::once(&self.table).chain(exchanged)
    }
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
        if_exists: bool,
    },
    AddCheck(CheckSpec),
    /// DROP CHECK, which means no other constraint.
    DropCheck {
        name: String,
        if_exists: bool,
    },
    /// ALTER CHECK or CONSTRAINT name `[NOT]` ENFORCED.
    SetEnforced {
        name: String,
        enforced: bool,
        /// CHECK was said.
        is_check: bool,
    },
    DropConstraint {
        name: String,
        if_exists: bool,
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
    /// DISCARD or IMPORT TABLESPACE.
    Tablespace(Transfer),
    Partitions(PartitionAction),
    /// Answered with 1235 and this name.
    Unsupported(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ColumnPosition {
    Last,
    First,
    After(String),
}
