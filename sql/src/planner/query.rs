//! Queries: WITH, VALUES, set operations, parentheses, and how their tables are locked. What stands between them is a SELECT.
//!
//! A statement cannot make planning endless: a table of WITH is bound and planned once however often it is named, queries are not
//! nested deeper than `DEPTH_MAX` nor more than `QUERIES_MAX`, and each looks whether the statement was killed.
//!
//! Each part of a UNION numbers the values that it reads of the outer query from 0; the union has them all, one part's
//! behind the other's.

use std::ops::Range;

use storage::{IfLocked, ReadMode};

use super::bind::{bind_limit, check_ordinal, ordinal};
use super::clause::Clause;
use super::logical::{self, Block};
use super::members::by_number;
use super::role::Role;
use super::scope::{JoinTree, Level};
use super::select::{Reading, bind_select};
use super::{OutputColumn, PlanContext, SetLink, nest};
use crate::error::{Error, Result};
use crate::expression::{Expr, Scope, common_type};
use crate::parser::ast::{self, Body, ColumnName, Limit, OrderItem, Query, Select, SelectItem, SetOperator, SetPart};
use crate::types::{Coercibility, TypeInfo};

/// How deep queries may be nested: each level takes stack.
const DEPTH_MAX: usize = 60;

/// The most queries in one statement: each is kept.
const QUERIES_MAX: usize = 1 << 16;

/// Binds a query. The second is what it reads of the outer query: expressions of the parent's scope.
pub fn bind_query(
    context: &PlanContext<'_>,
    query: &Query,
    parent: Option<&dyn Scope>,
    read_mode: ReadMode,
    role: Role,
) -> Result<(logical::Query, Vec<Expr>)> {
    if context.depth.get() >= DEPTH_MAX || context.next_select.get() >= QUERIES_MAX {
        return Err(Error::nested_too_deep());
    }
    if context.eval.session.is_interrupted() {
        return Err(Error::interrupted());
    }
    context.depth.set(context.depth.get() + 1);
    let result = bind_query_inner(context, query, parent, read_mode, role);
    context.depth.set(context.depth.get() - 1);
    result
}

fn bind_query_inner(
    context: &PlanContext<'_>,
    query: &Query,
    parent: Option<&dyn Scope>,
    read_mode: ReadMode,
    role: Role,
) -> Result<(logical::Query, Vec<Expr>)> {
    context.with_tables(query.with.as_ref(), || bind_body_of(context, query, parent, read_mode, role))
}

/// A query whose WITH is in sight.
fn bind_body_of(
    context: &PlanContext<'_>,
    query: &Query,
    parent: Option<&dyn Scope>,
    read_mode: ReadMode,
    role: Role,
) -> Result<(logical::Query, Vec<Expr>)> {
    let reading = match &query.lock {
        None => Reading { mode: read_mode, of: &[], others: read_mode, role },
        Some(lock) => {
            let if_locked = match lock.wait {
                ast::LockWait::Wait => IfLocked::Wait,
                ast::LockWait::NoWait => IfLocked::Fail,
                ast::LockWait::SkipLocked => IfLocked::Skip,
            };
            let mode = match (lock.exclusive, read_mode) {
                (true, _) => ReadMode::Exclusive(if_locked),
                (false, ReadMode::Exclusive(_)) => read_mode,
                (false, _) => ReadMode::Shared(if_locked),
            };
            Reading { mode, of: &lock.of, others: read_mode, role }
        }
    };
    bind_body(context, &query.body, &query.order_by, query.limit.as_ref(), parent, reading)
}

fn bind_body(
    context: &PlanContext<'_>,
    body: &Body,
    order_by: &[OrderItem],
    limit: Option<&Limit>,
    parent: Option<&dyn Scope>,
    reading: Reading<'_>,
) -> Result<(logical::Query, Vec<Expr>)> {
    match body {
        Body::Select(select) => bind_select(context, select, order_by, limit, parent, reading),
        Body::Table(name) => {
            let table =
                ast::TableRef::Table { name: name.clone(), partitions: Vec::new(), alias: None, hints: Vec::new() };
            let select = Select { items: vec![SelectItem::All], from: vec![table], ..Select::default() };
            bind_select(context, &select, order_by, limit, parent, reading)
        }
        Body::Values { rows, names } => {
            let parts = bind_values(context, rows, names, parent, reading)?;
            finish_union(context, parts, order_by, limit, parent)
        }
        Body::Nested(query) if !query.into.is_client() => Err(Error::misplaced_into()),
        Body::Nested(query) if order_by.is_empty() && limit.is_none() => {
            bind_query(context, query, parent, reading.mode, reading.role)
        }
        // Parentheses around a query without an order of its own change nothing.
        Body::Nested(query) if is_bare(query) && matches!(query.body, Body::Select(_) | Body::Nested(_)) => {
            bind_body(context, &query.body, order_by, limit, parent, reading)
        }
        Body::Nested(query) => {
            let mut parts = Parts::default();
            parts.add(bind_query(context, query, parent, reading.mode, reading.role.of_part())?, None);
            finish_union(context, parts, order_by, limit, parent)
        }
        Body::Set { first, rest } => {
            let reading = Reading { role: reading.role.of_part(), ..reading };
            let parts = bind_chain(context, first, rest, parent, reading)?;
            finish_union(context, parts, order_by, limit, parent)
        }
    }
}

/// Whether a query is nothing but its body.
pub(super) fn is_bare(query: &Query) -> bool {
    let Query { with, body: _, order_by, limit, lock, into } = query;
    with.is_none() && order_by.is_empty() && limit.is_none() && lock.is_none() && into.is_client()
}

/// The parts of a chain of set operations.
#[derive(Default)]
pub(super) struct Parts {
    queries: Vec<logical::Query>,
    links: Vec<SetLink>,
    /// What all of them read of the outer query, and which of it each part reads: a part numbers its own from 0.
    outer: Vec<Expr>,
    outer_of: Vec<Range<usize>>,
}

impl Parts {
    /// Adds one; `link` is how it joins those before it.
    pub fn add(&mut self, (query, reads): (logical::Query, Vec<Expr>), link: Option<SetLink>) {
        self.links.extend(link);
        let first = self.outer.len();
        self.outer.extend(reads);
        self.outer_of.push(first..self.outer.len());
        self.queries.push(query);
    }
}

/// A part that stands alone.
pub(super) fn bind_part(context: &PlanContext<'_>, body: &Body) -> Result<(logical::Query, Vec<Expr>)> {
    let mode = context.plain_reads;
    bind_body(context, body, &[], None, None, Reading { mode, of: &[], others: mode, role: Role::Read })
}

/// The rows of VALUES: each is a query without tables.
fn bind_values(
    context: &PlanContext<'_>,
    rows: &[Vec<ast::Expr>],
    names: &[String],
    parent: Option<&dyn Scope>,
    reading: Reading<'_>,
) -> Result<Parts> {
    let mut parts = Parts::default();
    for (number, row) in rows.iter().enumerate() {
        if row.len() != names.len() {
            return Err(Error::value_count(number as u64 + 1));
        }
        if context.next_select.get() >= QUERIES_MAX {
            return Err(Error::nested_too_deep());
        }
        let items = row.iter().zip(names).map(|(expr, name)| SelectItem::Expr {
            expr: expr.clone(),
            alias: Some(name.clone()),
            text: name.clone(),
        });
        let select = Select { items: items.collect(), ..Select::default() };
        let link = SetLink { operator: SetOperator::Union, all: true };
        parts.add(bind_select(context, &select, &[], None, parent, reading)?, (number > 0).then_some(link));
    }
    Ok(parts)
}

/// Binds the parts of a chain of set operations, left to right.
fn bind_chain(
    context: &PlanContext<'_>,
    first: &Body,
    rest: &[SetPart],
    parent: Option<&dyn Scope>,
    reading: Reading<'_>,
) -> Result<Parts> {
    let mut parts = Parts::default();
    parts.add(bind_body(context, first, &[], None, parent, reading)?, None);
    for SetPart { operator, all, body } in rest {
        if context.next_select.get() >= QUERIES_MAX {
            return Err(Error::nested_too_deep());
        }
        if context.eval.session.is_interrupted() {
            return Err(Error::interrupted());
        }
        // What binds tighter is a query of its own.
        let link = SetLink { operator: *operator, all: *all };
        parts.add(bind_body(context, body, &[], None, parent, reading)?, Some(link));
    }
    Ok(parts)
}

/// The scope of a union's ORDER BY: its columns by name.
struct UnionScope<'a> {
    columns: &'a [OutputColumn],
}

impl Scope for UnionScope<'_> {
    fn column(&self, name: &ColumnName) -> Result<Expr> {
        let found = self.columns.iter().position(|column| storage::same_name(&column.name, &name.name));
        match found {
            Some(at) if name.table.is_none() => Ok(Expr::slot(at, self.columns[at].ty)),
            _ => Err(Error::unknown_column(&super::scope::display(name), "order clause")),
        }
    }
}

pub(super) fn finish_union(
    context: &PlanContext<'_>,
    parts: Parts,
    order_by: &[OrderItem],
    limit: Option<&Limit>,
    parent: Option<&dyn Scope>,
) -> Result<(logical::Query, Vec<Expr>)> {
    if order_by.iter().any(|item| item.expr.asks_query()) {
        let (union, outer) = finish_union(context, parts, &[], None, parent)?;
        return ordered_by_query(context, union, outer, order_by, limit, parent);
    }
    let Parts { queries: mut parts, links, outer, outer_of } = parts;
    let distinct_until = links.iter().rposition(|link| !link.all).map(|last| last + 1);
    // SQL_CALC_FOUND_ROWS in the first SELECT is about the limit of all.
    let calc_found_rows = match &mut parts[0] {
        logical::Query::Block(first) => std::mem::take(&mut first.calc_found_rows),
        _ => false,
    };
    let width = parts[0].columns().len();
    if parts.iter().any(|part| part.columns().len() != width) {
        return Err(Error::union_columns());
    }
    let mut columns = parts[0].columns().to_vec();
    if parts.len() > 1 {
        for (at, column) in columns.iter_mut().enumerate() {
            let types: Vec<TypeInfo> = parts.iter().map(|part| part.columns()[at].ty).collect();
            column.ty = common_type(&types, context.eval.connection, "UNION")?;
            if column.ty.is_string() && column.ty.coercibility == Coercibility::None {
                return Err(Error::collation_mix(&[], "UNION"));
            }
            column.column_type = column.ty.column_type();
            column.origin = None;
        }
    }
    let scope = UnionScope { columns: &columns };
    let mut order = Vec::new();
    for item in order_by {
        let expr = match ordinal(&item.expr) {
            Some(number) => {
                let at = check_ordinal(number, columns.len(), "order clause")?;
                Expr::slot(at, columns[at].ty)
            }
            None => context.binder(&scope).bind(&item.expr)?,
        };
        order.push((expr, item.descending));
    }
    let limit = limit.map(|limit| bind_limit(context, limit)).transpose()?;
    let union =
        logical::Union { parts, links, outer: outer_of, distinct_until, columns, order, limit, calc_found_rows };
    Ok((logical::Query::Union(Box::new(union)), outer))
}

/// A chain of set operations whose rows are ordered by a subquery: a SELECT of all of them.
fn ordered_by_query(
    context: &PlanContext<'_>,
    mut union: logical::Query,
    outer: Vec<Expr>,
    order_by: &[OrderItem],
    limit: Option<&Limit>,
    parent: Option<&dyn Scope>,
) -> Result<(logical::Query, Vec<Expr>)> {
    let calc_found_rows = match &mut union {
        logical::Query::Union(union) => std::mem::take(&mut union.calc_found_rows),
        _ => false,
    };
    let columns = union.columns().to_vec();
    // Of columns with one name the first is meant.
    let is_first = |at: usize| !columns[..at].iter().any(|other| storage::same_name(&other.name, &columns[at].name));
    let names = columns.iter().enumerate().map(|(at, column)| match is_first(at) {
        true => column.name.to_string(),
        false => format!("{at}. {}", column.name),
    });
    let names: Vec<String> = names.collect();
    let mut level = Level::new(context, parent, context.plain_reads);
    let source = level.add_inner(union, &names, &outer)?;
    level.outer.replace(outer);
    let mut order = Vec::with_capacity(order_by.len());
    for item in order_by {
        let expr = match ordinal(&item.expr) {
            Some(number) => level.expr(check_ordinal(number, columns.len(), "order clause")?),
            None => context.binder(&Clause::new(&level, "order clause")).bind(&item.expr)?,
        };
        order.push((by_number(expr), item.descending));
    }
    let output = (0..columns.len()).map(|slot| level.expr(slot)).collect();
    let nest = nest::bind(&level, Some(&JoinTree::Leaf(source)), None)?;
    let limit = limit.map(|limit| bind_limit(context, limit)).transpose()?;
    let outer = level.outer.take();
    let block = level.into_block(context.next_select_number(), nest, output);
    let block = Block { columns, order, limit, calc_found_rows, ..block };
    Ok((logical::Query::Block(Box::new(block)), outer))
}
