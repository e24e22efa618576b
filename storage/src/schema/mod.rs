//! Databases, tables, columns and indexes: plain descriptions that the dictionary builds and every layer reads.
//!
//! A `...Definition` is what a user asks for. A [`Table`] is what exists: it has ids, a file and root pages, and it is
//! immutable; a change of the table makes a new `Table`. What changes while the table exists (the AUTO_INCREMENT
//! counter, statistics) is in its [`TableState`], which the old and the new description share.
//!
//! How a table becomes records, in InnoDB's order of fields:
//!
//! ```text
//! clustered leaf       key columns (or DB_ROW_ID), DB_TRX_ID, DB_ROLL_PTR, the other columns in table order; columns that
//!                      came later behind them, and those that are gone in their places (see [`RowVersions`])
//! clustered node       key columns (or DB_ROW_ID), child page
//! secondary leaf       index columns, then the key columns of the clustered index that are not among them
//! secondary node       all fields of the secondary leaf, child page
//! full-text leaf       word, the key columns of the clustered index, frequency and column (see `format::fulltext`)
//! multi-valued leaf    as a secondary leaf, with one element of the array in place of the column that holds it
//! ```
//!
//! Of the last two a row has *several entries*, and maybe none: [`Index::has_several_entries`].
//!
//! Invariants:
//!
//! * `table.indexes[0]` is the clustered index; there always is one.
//! * A column's ordinal is its position in `table.columns`; DB_ROW_ID, DB_TRX_ID and DB_ROLL_PTR have none.
//! * Two tables never share a table id, index id or space id, not even over time.

mod built;
mod check;
mod definition;
mod filter;
pub mod foreign_key;
pub mod partitions;
mod row;
mod row_versions;
mod scan;
mod statistics;

use std::any::Any;
use std::fmt;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, OnceLock};

use format::collation::CollationId;
use format::fulltext::Tokenizer;
use format::ids::{IndexId, PageNo, SpaceId, TableId};
use format::transform::Algorithm;
use format::value::ColumnType;

pub use built::BuiltIndexes;
pub use check::Check;
pub use definition::{Definition, DefinitionKind, DefinitionName};
pub use filter::{ColumnTest, Interval, RowFilter};
pub use foreign_key::{ForeignKey, ReferentialAction};
pub use partitions::{PartitionDefinition, Partitioning};
pub use row::{ColumnSet, Row, RowPlace};
pub use row_versions::{ColumnSource, FieldColumn, NotInstant, RowVersions, SHORT_BYTES, VersionedField};
pub use scan::{IfLocked, ReadMode, ScanRange};
pub use statistics::{
    Distinct, Estimates, Histogram, Histograms, IndexEstimates, Statistics, StatisticsOptions, statistics_changes,
};

/// The most columns of a table, as in InnoDB.
pub const COLUMNS_MAX: usize = 1017;
/// The most parts of an index.
pub const INDEX_PARTS_MAX: usize = 16;
/// The most secondary indexes of a table.
pub const INDEXES_MAX: usize = 64;
/// The name of every primary key.
pub const PRIMARY: &str = "PRIMARY";
/// The name of the clustered index of a table without a usable unique key, as in InnoDB.
pub const ROW_ID_INDEX: &str = "GEN_CLUST_INDEX";

/// A database: a name for a set of tables, and a directory of their files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Database {
    pub id: u64,
    pub name: Box<str>,
    /// What its new tables have unless they say otherwise.
    pub collation: CollationId,
    /// READ ONLY = 1: nothing in it changes.
    pub read_only: bool,
}

/// A table that exists.
#[derive(Debug)]
pub struct Table {
    pub id: TableId,
    pub database: Box<str>,
    pub name: Box<str>,
    pub space: SpaceId,
    pub columns: Vec<Column>,
    /// The clustered index first, then the others in order of creation.
    pub indexes: Vec<Index>,
    /// The foreign keys that its rows must satisfy.
    pub foreign_keys: Vec<ForeignKey>,
    /// The conditions that each of its rows must satisfy, by name.
    pub checks: Vec<Check>,
    pub options: TableOptions,
    /// Its rows, or those of one of its partitions, were discarded.
    pub discarded: bool,
    /// If columns have come or gone and its rows stayed. Each partition has its own.
    pub row_versions: Option<Box<RowVersions>>,
    /// How its rows are divided among `partitions`, if they are: see [`partitions`].
    pub partitioning: Option<Box<Partitioning>>,
    pub partitions: Vec<Arc<Table>>,
    /// Which partition of the table of its name it is itself.
    pub partition: Option<Box<PartitionDefinition>>,
    /// Ordinal of the AUTO_INCREMENT column.
    pub auto_increment: Option<usize>,
    /// When it was created, as microseconds of the Unix epoch.
    pub created_us: u64,
    /// What changes while the table exists.
    pub state: Arc<TableState>,
    /// What an upper layer has worked out about this description, and about its partitions.
    pub derived: Derived,
    pub routing: Derived,
}

/// A place for what an upper layer works out once about a table's description, and all its sessions use.
#[derive(Debug, Default)]
pub struct Derived(OnceLock<Arc<dyn Any + Send + Sync>>);

impl Derived {
    /// The value that is kept, or a new one. There is one type of values: another one is not kept.
    pub fn get_or_init<T: Any + Send + Sync>(&self, make: impl Fn() -> T) -> Arc<T> {
        let kept = self.0.get_or_init(|| Arc::new(make()));
        Arc::clone(kept).downcast().unwrap_or_else(|_| Arc::new(make()))
    }
}

/// What changes while a table exists. Successive descriptions of one table share it.
#[derive(Debug, Default)]
pub struct TableState {
    /// The next AUTO_INCREMENT value; 0 = not read from the clustered root yet.
    pub auto_increment_next: AtomicU64,
    /// Rows inserted, updated and deleted since the statistics were taken.
    pub modified_rows: AtomicU64,
    /// Estimated rows.
    pub rows: AtomicU64,
    pub statistics: Statistics,
    /// Indexes that were built since the server started, see there.
    pub built_indexes: BuiltIndexes,
    /// When a row last changed, as microseconds of the Unix epoch; 0 = not since the server started.
    pub updated_us: AtomicU64,
    /// Rows inserted, updated and deleted since the server started.
    pub changes: [AtomicU64; 3],
    /// What an upper layer keeps in memory beside the rows: of a sequence, the values that are to be given next.
    pub kept: Derived,
}

/// A column of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    pub name: Box<str>,
    pub ty: ColumnType,
    pub nullable: bool,
    pub default: ColumnDefault,
    /// ON UPDATE CURRENT_TIMESTAMP.
    pub on_update_now: bool,
    pub auto_increment: bool,
    pub comment: Box<str>,
    /// Not shown by `SELECT *`.
    pub invisible: bool,
    /// COLLATE or CHARACTER SET was written, so SHOW CREATE TABLE writes both.
    pub explicit_collation: bool,
    /// BOOL or TINYINT(1) was written. It holds what a TINYINT holds; but object mappers take it for a truth value, so that
    /// it is described with its width, which no other integer is.
    pub boolean: bool,
    /// ZEROFILL, and the width to which numbers are shown with zeros.
    pub zerofill: Option<u8>,
    /// GENERATED ALWAYS AS (expression).
    pub generated: Option<Generated>,
}

/// How a generated column comes by its values. The expression is a text that upper layers read; to storage the column is
/// one like all others, whose values come with the row: also those of a VIRTUAL one. So an index on it is kept right by
/// what keeps all indexes right, through rollback, purge and older versions, none of which can evaluate an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Generated {
    pub expression: Box<str>,
    /// STORED, not VIRTUAL, was written.
    pub stored: bool,
    /// Made for a functional part of an index: nobody sees or names it. Such columns are the last ones.
    pub hidden: bool,
}

impl Column {
    /// A column with defaults for everything else.
    pub fn new(name: &str, ty: ColumnType, nullable: bool) -> Column {
        Column {
            name: name.into(),
            ty,
            nullable,
            default: ColumnDefault::None,
            on_update_now: false,
            auto_increment: false,
            comment: "".into(),
            invisible: false,
            explicit_collation: false,
            boolean: false,
            zerofill: None,
            generated: None,
        }
    }

    /// Whether it was made for a functional part of an index.
    pub fn is_hidden(&self) -> bool {
        self.generated.as_ref().is_some_and(|generated| generated.hidden)
    }
}

/// What a column takes when an INSERT does not name it.
#[derive(Clone, Debug, PartialEq)]
pub enum ColumnDefault {
    /// NOT NULL without DEFAULT: an error in strict mode.
    None,
    Null,
    /// Stored bytes, see `ColumnType::encode`.
    Literal(Vec<u8>),
    CurrentTimestamp {
        fsp: u8,
    },
    /// Text of `DEFAULT (expression)`.
    Expression(Box<str>),
}

/// One column of an index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexPart {
    /// Ordinal in the table.
    pub column: usize,
    /// Only the first characters (bytes, for binary types) are in the index.
    pub prefix_chars: Option<u32>,
    pub order: PartOrder,
    /// The column holds arrays of values of this type (see `format::value::array`), and each element has an entry. At
    /// most one part of an index is such a part.
    pub elements: Option<ColumnType>,
}

impl IndexPart {
    /// A whole column, ascending.
    pub fn new(column: usize) -> IndexPart {
        IndexPart { column, prefix_chars: None, order: PartOrder::Ascending, elements: None }
    }
}

/// How the entries of an index follow each other where a part of it tells them apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum PartOrder {
    #[default]
    Ascending,
    /// Larger values come first, and NULL last.
    Descending,
    /// Declared as DESC by a version that made ascending trees only. The index stays so until it is made anew.
    DescendingInName,
}

impl PartOrder {
    /// The order of a new index.
    pub fn of(descending: bool) -> PartOrder {
        if descending { PartOrder::Descending } else { PartOrder::Ascending }
    }

    /// Whether the definition says DESC.
    pub fn is_declared_descending(self) -> bool {
        self != PartOrder::Ascending
    }

    /// Whether the tree has larger values first.
    pub fn descends(self) -> bool {
        self == PartOrder::Descending
    }
}

/// An index that a user asks for.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct IndexDefinition {
    pub name: Box<str>,
    pub unique: bool,
    pub primary: bool,
    pub parts: Vec<IndexPart>,
    pub comment: Box<str>,
    /// `USING BTREE` or `USING HASH` as written; every index is a B+tree.
    pub algorithm: Option<Box<str>>,
    pub invisible: bool,
    /// Generated for a foreign key without an index; a declared index replaces it.
    pub generated: bool,
    /// A full-text index, and how it cuts texts. Its parts are columns of one collation.
    pub fulltext: Option<Tokenizer>,
}

impl IndexDefinition {
    /// An index on whole columns, by their ordinals. The name says whether it is the primary key, as in MySQL.
    pub fn new(name: &str, unique: bool, columns: &[usize]) -> IndexDefinition {
        let part = |column: &usize| IndexPart::new(*column);
        IndexDefinition {
            name: name.into(),
            unique,
            primary: name == PRIMARY,
            parts: columns.iter().map(part).collect(),
            ..IndexDefinition::default()
        }
    }

    /// See [`Index::has_several_entries`].
    pub fn has_several_entries(&self) -> bool {
        self.fulltext.is_some() || self.parts.iter().any(|part| part.elements.is_some())
    }
}

/// An index that exists: a B+tree.
#[derive(Debug)]
pub struct Index {
    pub id: IndexId,
    pub name: Box<str>,
    pub unique: bool,
    pub primary: bool,
    /// What the user declared. Empty in a clustered index on DB_ROW_ID.
    pub parts: Vec<IndexPart>,
    pub comment: Box<str>,
    pub algorithm: Option<Box<str>>,
    pub invisible: bool,
    pub generated: bool,
    pub fulltext: Option<Tokenizer>,
    pub space: SpaceId,
    pub root: PageNo,
    pub clustered: bool,
    /// The fields of a leaf record, in record order.
    pub fields: Vec<IndexField>,
    /// How many fields, from the left, order the records and tell any two apart.
    pub unique_fields: usize,
    /// Where each column of the table lies in this index whole, not as a prefix: position in `fields`. An index of which a
    /// row has several entries stands for no column.
    pub field_of_column: Vec<Option<u16>>,
}

/// One field of an index's leaf records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IndexField {
    pub source: FieldSource,
    /// At most this many bytes of the column are in the index; `prefix_chars` times the charset's longest character.
    pub prefix_bytes: Option<u32>,
    pub prefix_chars: Option<u32>,
    /// Larger values first.
    pub descending: bool,
}

impl IndexField {
    /// Whether it holds all of what another field holds a part of, or all of, too.
    pub fn is_whole(&self, source: FieldSource) -> bool {
        self.source == source && self.prefix_bytes.is_none()
    }
}

/// Where a field of an index comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldSource {
    /// Ordinal in the table.
    Column(u16),
    /// DB_ROW_ID, 6 bytes.
    RowId,
    /// DB_TRX_ID, 6 bytes.
    TrxId,
    /// DB_ROLL_PTR, 7 bytes.
    RollPtr,
    /// One element of the array that this column holds.
    Element(u16),
    /// A word of one of the columns of a full-text index.
    Word,
    /// How often that word occurs, and in which column.
    Frequency,
    /// What is left of a dropped column: position in [`RowVersions::fields`].
    Dropped(u16),
}

/// How the pages of a table are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Compression {
    /// What the server is configured to do with new tables.
    #[default]
    Default,
    Codec(Algorithm),
}

impl Compression {
    pub const NONE: Compression = Compression::Codec(Algorithm::NONE);
    pub const ZLIB: Compression = Compression::Codec(Algorithm::ZLIB);
    pub const LZ4: Compression = Compression::Codec(Algorithm::LZ4);
    pub const ZSTD: Compression = Compression::Codec(Algorithm::ZSTD);

    /// The name as in `COMPRESSION="..."`; empty for the default.
    pub fn name(self) -> &'static str {
        match self {
            Compression::Default => "",
            Compression::Codec(algorithm) => algorithm.name(),
        }
    }
}

/// ROW_FORMAT as written. All tables have DYNAMIC rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum RowFormat {
    #[default]
    Default,
    Dynamic,
    Compact,
    Redundant,
    Compressed,
    /// MyISAM's: what is written, and no more.
    Fixed,
}

/// ATOMIC_WRITES, MariaDB's attribute of a table: whether its pages are written in single untorn writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum AtomicWrites {
    /// As the server is configured (`innodb_use_atomic_writes`).
    #[default]
    Default,
    On,
    Off,
}

/// What may be changed without touching a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableOptions {
    /// How pages are stored from their next write on.
    pub compression: Compression,
    /// None = the server's innodb_compression_level at the time the page is written.
    pub compression_level: Option<u8>,
    pub row_format: RowFormat,
    /// KEY_BLOCK_SIZE in KiB as written, 0 = not given. Accepted, without effect.
    pub key_block_size: u32,
    pub atomic_writes: AtomicWrites,
    /// ENCRYPTION='Y': a file is encrypted or plain for its whole life, so a change of this is a rebuild.
    pub encrypted: bool,
    /// DISCARD TABLESPACE: the rows are gone, and the name of the file is free for one that is to be imported. What the table
    /// has until then is an empty file under another name; nobody reads or writes it.
    pub discarded: bool,
    pub collation: CollationId,
    pub comment: Box<str>,
    /// Options as given, in order, for SHOW CREATE TABLE: (`COMPRESSION`, `zlib`), (`PAGE_COMPRESSED`, `1`) ...
    pub create_options: Vec<(Box<str>, Box<str>)>,
}

impl Default for TableOptions {
    fn default() -> TableOptions {
        TableOptions {
            compression: Compression::Default,
            compression_level: None,
            row_format: RowFormat::Default,
            key_block_size: 0,
            atomic_writes: AtomicWrites::Default,
            encrypted: false,
            discarded: false,
            collation: CollationId::DEFAULT,
            comment: "".into(),
            create_options: Vec::new(),
        }
    }
}

/// A table that a user asks for.
///
/// At most one index may be `primary`. Without one the first unique index whose columns are all NOT NULL (and whole)
/// becomes the clustered index, and without that a hidden one on DB_ROW_ID: `table.indexes[0]` is then an index that
/// the user did not declare, see [`Index::is_hidden`].
#[derive(Clone, Debug, Default)]
pub struct TableDefinition {
    pub database: Box<str>,
    pub name: Box<str>,
    pub columns: Vec<Column>,
    pub indexes: Vec<IndexDefinition>,
    pub foreign_keys: Vec<ForeignKey>,
    pub checks: Vec<Check>,
    pub options: TableOptions,
    pub partitioning: Option<Box<Partitioning>>,
    /// AUTO_INCREMENT=n of CREATE TABLE; 0 = start at 1.
    pub auto_increment_start: u64,
    /// When a table is changed: columns that get another name, (old, new). Foreign keys follow.
    pub renamed_columns: Vec<(Box<str>, Box<str>)>,
}

impl Table {
    /// The ordinal of a column by its name, in any case.
    pub fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| same_name(&column.name, name))
    }

    /// The ordinal of an index by its name, in any case.
    pub fn index(&self, name: &str) -> Option<usize> {
        self.indexes.iter().position(|index| same_name(&index.name, name))
    }

    #[inline]
    pub fn clustered(&self) -> &Index {
        &self.indexes[0]
    }

    /// Whether the rows are ordered by the hidden DB_ROW_ID.
    #[inline]
    pub fn has_row_id(&self) -> bool {
        self.indexes[0].is_hidden()
    }

    /// `database.table`, for messages.
    pub fn full_name(&self) -> String {
        format!("{}.{}", self.database, self.name)
    }

    /// This table as a definition: what a user would ask for to get the same table.
    pub fn definition(&self) -> TableDefinition {
        TableDefinition {
            database: self.database.clone(),
            name: self.name.clone(),
            columns: self.columns.clone(),
            indexes: self.indexes.iter().filter(|index| !index.is_hidden()).map(Index::definition).collect(),
            foreign_keys: self.foreign_keys.clone(),
            checks: self.checks.clone(),
            options: self.options.clone(),
            partitioning: self.partitioning.clone(),
            auto_increment_start: 0,
            renamed_columns: Vec::new(),
        }
    }
}

impl Index {
    /// The clustered index on DB_ROW_ID, which no user declared and no statement names.
    #[inline]
    pub fn is_hidden(&self) -> bool {
        self.parts.is_empty()
    }

    /// Whether a row has an entry for each of several values, or none: in a full-text or multi-valued index. The entries
    /// tell nothing of a row but that it has this value: such an index gives no order and no column of the row.
    #[inline]
    pub fn has_several_entries(&self) -> bool {
        self.fulltext.is_some() || self.parts.iter().any(|part| part.elements.is_some())
    }

    /// Whether a column is one of the declared parts.
    pub fn has_part(&self, column: usize) -> bool {
        self.parts.iter().any(|part| part.column == column)
    }

    /// Whether a lookup by all `parts` finds at most one row, whatever the values.
    pub fn is_unique_not_null(&self, table: &Table) -> bool {
        self.unique && !self.has_several_entries() && self.parts.iter().all(|part| !table.columns[part.column].nullable)
    }

    /// Whether every column of `columns` can be read from this index without visiting the clustered one.
    pub fn covers(&self, columns: &ColumnSet) -> bool {
        self.clustered
            || !self.has_several_entries() && columns.iter().all(|column| self.field_of_column[column].is_some())
    }

    pub fn definition(&self) -> IndexDefinition {
        IndexDefinition {
            name: self.name.clone(),
            unique: self.unique,
            primary: self.primary,
            parts: self.parts.clone(),
            comment: self.comment.clone(),
            algorithm: self.algorithm.clone(),
            invisible: self.invisible,
            generated: self.generated,
            fulltext: self.fulltext.clone(),
        }
    }
}

/// Whether two names of columns or indexes are the same: their case does not matter.
pub fn same_name(a: &str, b: &str) -> bool {
    if a.is_ascii() && b.is_ascii() {
        return a.eq_ignore_ascii_case(b);
    }
    a.chars().flat_map(char::to_lowercase).eq(b.chars().flat_map(char::to_lowercase))
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`.`{}`", self.database, self.name)
    }
}
