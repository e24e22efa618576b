//! SELECT, VALUES, UNION: what is asked for, from where, and in which order.

use super::*;

#[derive(Debug, Clone, PartialEq)]
pub struct Query {
    pub with: Option<With>,
    pub body: Body,
    pub order_by: Vec<OrderItem>,
    pub limit: Option<Limit>,
    pub lock: Option<RowLock>,
    pub into: SelectInto,
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
    /// UNION, EXCEPT, INTERSECT: from left to right. It is a list, because such a chain may be long.
    Set {
        first: Box<Body>,
        rest: Vec<SetPart>,
    },
    /// VALUES ROW(..), ROW(..), and MariaDB's VALUES (..), (..).
    Values {
        rows: Vec<Vec<Expr>>,
        /// column_0, column_1 ...; MariaDB's are the expressions of its first row.
        names: Vec<String>,
    },
    Table(TableName),
    /// A parenthesised query with its own ORDER BY and LIMIT.
    Nested(Box<Query>),
}

/// What follows in a chain of set operations.
#[derive(Debug, Clone, PartialEq)]
pub struct SetPart {
    pub operator: SetOperator,
    pub all: bool,
    pub body: Body,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetOperator {
    Union,
    Except,
    Intersect,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Select {
    pub hints: Vec<Hint>,
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
    /// WINDOW w AS (...)
    pub windows: Vec<(String, WindowSpec)>,
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
    Table {
        name: TableName,
        /// `PARTITION (p0, p1)`; empty: all.
        partitions: Vec<String>,
        alias: Option<String>,
        hints: Vec<IndexHint>,
    },
    Derived {
        query: Box<Query>,
        alias: String,
        columns: Vec<String>,
        lateral: bool,
    },
    Join {
        left: Box<TableRef>,
        right: Box<TableRef>,
        kind: JoinKind,
        condition: JoinCondition,
    },
    JsonTable(Box<JsonTable>),
}

/// JSON_TABLE(document, path COLUMNS (...)) alias
#[derive(Debug, Clone, PartialEq)]
pub struct JsonTable {
    pub document: Expr,
    pub path: Vec<u8>,
    pub columns: Vec<JsonColumn>,
    pub alias: String,
}

#[derive(Debug, Clone, PartialEq)]
pub enum JsonColumn {
    /// FOR ORDINALITY
    Ordinality(String),
    Value(Box<JsonValueColumn>),
    Nested {
        path: Vec<u8>,
        columns: Vec<JsonColumn>,
    },
}

/// A column with a path.
#[derive(Debug, Clone, PartialEq)]
pub struct JsonValueColumn {
    pub name: String,
    pub ty: TypeSpec,
    pub exists: bool,
    pub path: Vec<u8>,
    pub on_empty: JsonOtherwise,
    pub on_error: JsonOtherwise,
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
