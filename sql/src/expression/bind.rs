//! (signatures first)
use format::collation::CollationId;
use format::value::Value;

use super::{AggregateCall, Expr, SessionState};
use crate::error::{Error, Result};
use crate::parser::ast::{self, ColumnName, Query};
use crate::types::{SqlMode, TypeInfo};

/// A planned subquery: its number, by which [`Subqueries`](super::Subqueries) knows it, and its columns.
#[derive(Debug, Clone)]
pub struct Subquery {
    pub id: usize,
    pub columns: Vec<TypeInfo>,
}

/// What names mean where an expression stands.
pub trait Scope {
    /// Usually [`Expr::column`]; a select item's expression for an alias in HAVING. Errors: 1054, 1052.
    fn column(&self, name: &ColumnName) -> Result<Expr>;
    /// Plans a subquery.
    fn subquery(&self, _query: &Query) -> Result<Subquery> {
        Err(Error::unsupported("subquery"))
    }
    /// DEFAULT(column): its default as an expression.
    fn default_of(&self, name: &ColumnName) -> Result<Expr> {
        Err(Error::unknown_column(&name.name, "field list"))
    }
    /// VALUES(column) in ON DUPLICATE KEY UPDATE: the slot of the new row.
    fn values_of(&self, name: &ColumnName) -> Result<Expr> {
        Err(Error::unknown_column(&name.name, "field list"))
    }
    /// "field list", "where clause" ...: for the error of an unknown column, where the scope does not know better.
    fn clause(&self) -> &str {
        "field list"
    }
}

/// No names at all: SET, DO, DEFAULT (expr).
pub struct NoScope;

impl Scope for NoScope {
    fn column(&self, name: &ColumnName) -> Result<Expr> {
        Err(Error::unknown_column(&name.name, "field list"))
    }
}

/// Turns the parser's expressions into bound ones.
pub struct Binder<'a> {
    pub scope: &'a dyn Scope,
    pub session: &'a dyn SessionState,
    pub mode: SqlMode,
    /// `collation_connection`: that of literals and of numbers as text.
    pub connection: CollationId,
    pub div_precision_increment: u8,
    /// The types of the `?`, as far as known; see [`parameter_type`]. A missing one is unknown.
    pub parameters: &'a [TypeInfo],
    /// Where aggregates are allowed: those found so far. None: they are 1111.
    pub aggregates: Option<Vec<AggregateCall>>,
}

impl<'a> Binder<'a> {
    pub fn new(
        _scope: &'a dyn Scope,
        _session: &'a dyn SessionState,
        _mode: SqlMode,
        _connection: CollationId,
        _parameters: &'a [TypeInfo],
    ) -> Binder<'a> {
        todo!()
    }
    /// Binds an expression with one column.
    pub fn bind(&mut self, _expr: &ast::Expr) -> Result<Expr> {
        todo!()
    }
}

/// The type of a parameter by its value: bind again when the kinds of the values change.
pub fn parameter_type(_value: &Value, _connection: CollationId) -> TypeInfo {
    todo!()
}

/// The common type of the columns of a UNION, of CASE's branches, of IFNULL's arguments.
pub fn common_type(_types: &[TypeInfo]) -> Result<TypeInfo> {
    todo!()
}
