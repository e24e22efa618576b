//! INSERT, REPLACE, UPDATE, DELETE.

use super::*;

#[derive(Debug, Clone, PartialEq)]
pub struct Insert {
    pub hints: Vec<Hint>,
    pub replace: bool,
    pub ignore: bool,
    pub table: TableName,
    /// `PARTITION (p0, p1)`; empty: all.
    pub partitions: Vec<String>,
    /// Empty: all columns in order. (`INSERT t () VALUES ()` has no columns and rows of no values.)
    pub columns: Vec<String>,
    pub source: InsertSource,
    /// `AS new(x, y)` after VALUES.
    pub row_alias: Option<(String, Vec<String>)>,
    /// ON DUPLICATE KEY UPDATE; empty without it.
    pub on_duplicate: Vec<(ColumnName, Expr)>,
    /// MariaDB's RETURNING; empty without it.
    pub returning: Vec<SelectItem>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum InsertSource {
    /// VALUES (..), (..) and also the SET form. A DEFAULT alone is [`Expr::Default`].
    Values(Vec<Vec<Expr>>),
    Query(Box<Query>),
}

#[derive(Debug, Clone, PartialEq)]
pub struct Update {
    pub hints: Vec<Hint>,
    pub with: Option<With>,
    pub ignore: bool,
    pub table: TableRef,
    pub assignments: Vec<(ColumnName, Expr)>,
    pub filter: Option<Expr>,
    pub order_by: Vec<OrderItem>,
    /// The count; an offset is a syntax error here.
    pub limit: Option<Expr>,
}

/// UPDATE of tables that are joined.
#[derive(Debug, Clone, PartialEq)]
pub struct JoinedUpdate {
    pub hints: Vec<Hint>,
    pub with: Option<With>,
    pub ignore: bool,
    pub tables: Vec<TableRef>,
    pub assignments: Vec<(ColumnName, Expr)>,
    pub filter: Option<Expr>,
}

/// DELETE t, u FROM ..., DELETE FROM t, u USING ...
#[derive(Debug, Clone, PartialEq)]
pub struct JoinedDelete {
    pub hints: Vec<Hint>,
    pub with: Option<With>,
    pub ignore: bool,
    pub targets: Vec<TableName>,
    pub tables: Vec<TableRef>,
    pub filter: Option<Expr>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Delete {
    pub hints: Vec<Hint>,
    pub with: Option<With>,
    pub ignore: bool,
    pub table: TableName,
    /// `PARTITION (p0, p1)`; empty: all.
    pub partitions: Vec<String>,
    pub alias: Option<String>,
    pub filter: Option<Expr>,
    pub order_by: Vec<OrderItem>,
    pub limit: Option<Expr>,
    /// MariaDB's RETURNING; empty without it.
    pub returning: Vec<SelectItem>,
}
