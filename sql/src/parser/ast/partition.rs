//! Partitions: PARTITION BY, and what ALTER TABLE does with them.

use super::*;

/// `PARTITION BY ... [SUBPARTITION BY ...] [(PARTITION ..., ...)]`
#[derive(Debug, Clone, PartialEq)]
pub struct PartitionBy {
    pub method: PartitionMethod,
    /// PARTITIONS n
    pub count: Option<u64>,
    pub subpartition: Option<SubpartitionBy>,
    pub definitions: Vec<PartitionSpec>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum PartitionMethod {
    Hash {
        linear: bool,
        expr: Expr,
    },
    /// Without columns: those of the primary key.
    Key {
        linear: bool,
        algorithm: Option<u64>,
        columns: Vec<String>,
    },
    Range(Expr),
    List(Expr),
    RangeColumns(Vec<String>),
    ListColumns(Vec<String>),
}

#[derive(Debug, Clone, PartialEq)]
pub struct SubpartitionBy {
    /// HASH or KEY.
    pub method: PartitionMethod,
    /// SUBPARTITIONS n
    pub count: Option<u64>,
}

/// `PARTITION name [VALUES ...] [options] [(SUBPARTITION ..., ...)]`
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PartitionSpec {
    pub name: String,
    pub values: Option<PartitionValues>,
    /// VALUES IN was written with rows, be they of one value.
    pub has_rows: bool,
    pub options: PartitionOptions,
    pub subpartitions: Vec<PartitionSpec>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum PartitionValues {
    /// Below a value of each column.
    LessThan(Vec<PartitionValue>),
    /// One of these: each has a value of each column.
    In(Vec<Vec<PartitionValue>>),
}

#[derive(Debug, Clone, PartialEq)]
pub enum PartitionValue {
    MaxValue,
    Expr(Expr),
}

/// Those that have an effect; the others are read and forgotten.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PartitionOptions {
    pub comment: Option<String>,
    pub engine: Option<String>,
    pub compression: Option<String>,
    pub data_directory: bool,
    pub index_directory: bool,
}

/// Which partitions a statement is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PartitionNames {
    All,
    These(Vec<String>),
}

/// What is done with the file of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transfer {
    Discard,
    Import,
}

/// What ALTER TABLE does with partitions that exist.
#[derive(Debug, Clone, PartialEq)]
pub enum PartitionAction {
    By(Box<PartitionBy>),
    Remove,
    Add {
        definitions: Vec<PartitionSpec>,
        /// ADD PARTITION PARTITIONS n
        count: Option<u64>,
        if_not_exists: bool,
    },
    Drop {
        names: Vec<String>,
        if_exists: bool,
    },
    /// `REORGANIZE PARTITION a, b INTO (...)`; without names: as many as the nodes of a cluster, which changes nothing here.
    Reorganize {
        names: Vec<String>,
        definitions: Vec<PartitionSpec>,
    },
    Coalesce(u64),
    Exchange {
        name: String,
        table: TableName,
        validation: bool,
    },
    Truncate(PartitionNames),
    Rebuild(PartitionNames),
    Maintain(Maintenance, PartitionNames),
    /// DISCARD and IMPORT PARTITION ... TABLESPACE.
    Tablespace(Transfer, PartitionNames),
}
