//! What an ALTER TABLE makes of a table.

use storage::schema::TableDefinition;

use super::copy::Source;
use crate::parser::ast::{ForeignKeySpec, IndexSpec};

/// The definition on its way from old to new.
pub struct Change {
    pub definition: TableDefinition,
    /// Where each column comes from.
    pub sources: Vec<Source>,
    /// The rows are written anew, whatever changes: FORCE, ENGINE.
    pub force: bool,
    /// The character set of all columns is converted.
    pub converts: bool,
    pub renamed_indexes: Vec<(Box<str>, Box<str>)>,
    pub auto_increment: Option<u64>,
    /// Made when all columns and indexes are known.
    pub added_keys: Vec<ForeignKeySpec>,
    /// Indexes that columns ask for in their own definitions, made when all columns have their names.
    pub column_keys: Vec<IndexSpec>,
    /// Whether the statement adds an index: then one that was made for a foreign key may go.
    pub adds_index: bool,
    /// A temporary table has its own names.
    pub temporary: bool,
    pub rename: Option<(Box<str>, Box<str>)>,
}
