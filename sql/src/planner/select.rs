//! SELECT and UNION: clauses bound in MySQL's order, then handed to the join planner.
//!
//! What each clause sees:
//!
//! | clause | names |
//! |---|---|
//! | ON | the tables of its join |
//! | WHERE, select list | all tables; subqueries of the select list: aliases before them, too |
//! | GROUP BY | tables, then aliases; a number is an item of the select list |
//! | HAVING | what is grouped by and what is selected; in aggregates: tables, then aliases |
//! | ORDER BY | a bare name: aliases first; in expressions: tables, then aliases; a number is an item |
//!
//! An alias stands for its expression, which is then evaluated where it is used.
//!
//! A statement cannot make planning endless: a table of WITH is planned once however often it is named, queries are not
//! nested deeper than `DEPTH_MAX` nor more than `QUERIES_MAX`, and each looks whether the statement was killed.

use std::sync::Arc;

use format::value::ColumnType;
use storage::{IfLocked, ReadMode};

use super::clause::{Aliases, Clause, Lookup};
use super::scope::Level;
use super::{
    CommonTable, Derived, GroupPlan, LimitPlan, Origin, OutputColumn, PlanContext, QueryPlan, SelectPlan, SourceKind,
    Step, StoredOutput, UnionPlan, definition, grouping, join,
};
use crate::error::{Error, Result};
use crate::expression::{Expr, Node, Scope, common_type};
use crate::parser::ast::{self, Body, ColumnName, Limit, OrderItem, Query, Select, SelectItem, SetOperator};
use crate::result::StoredColumn;
use crate::types::{SqlMode, TypeInfo};

/// How deep queries may be nested: each level takes stack.
const DEPTH_MAX: usize = 60;

/// The most queries in one statement: a plan of each is kept.
const QUERIES_MAX: usize = 1 << 16;

/// Plans a query. The second is what it reads of the outer query: expressions of the parent's scope.
pub fn plan_query(
    context: &PlanContext<'_>,
    query: &Query,
    parent: Option<&dyn Scope>,
    read_mode: ReadMode,
) -> Result<(QueryPlan, Vec<Expr>)> {
    if context.depth.get() >= DEPTH_MAX || context.next_select.get() >= QUERIES_MAX {
        return Err(Error::nested_too_deep());
    }
    if context.eval.session.is_interrupted() {
        return Err(Error::interrupted());
    }
    context.depth.set(context.depth.get() + 1);
    let result = plan_query_inner(context, query, parent, read_mode);
    context.depth.set(context.depth.get() - 1);
    result
}

/// Plans a table of WITH: it sees those that stand before it. None: there is no such table.
pub fn plan_common_table(context: &PlanContext<'_>, name: &str) -> Result<Option<(Arc<Derived>, Vec<String>)>> {
    let found = context.common_tables.borrow().iter().rposition(|table| table.written.name == name);
    let Some(at) = found else { return Ok(None) };
    let mut hidden = context.common_tables.borrow_mut().split_off(at);
    let table = &mut hidden[0];
    let planned = match &table.planned {
        Some(planned) => Ok(planned.clone()),
        None => plan_query(context, &table.written.query, None, context.plain_reads).map(|(plan, _)| {
            let planned = context.derived(plan);
            table.planned = Some(planned.clone());
            planned
        }),
    };
    let columns = table.written.columns.clone();
    context.common_tables.borrow_mut().extend(hidden);
    Ok(Some((planned?, columns)))
}

fn plan_query_inner(
    context: &PlanContext<'_>,
    query: &Query,
    parent: Option<&dyn Scope>,
    read_mode: ReadMode,
) -> Result<(QueryPlan, Vec<Expr>)> {
    let Some(with) = &query.with else { return plan_body_of(context, query, parent, read_mode) };
    if with.recursive {
        return Err(Error::unsupported("WITH RECURSIVE"));
    }
    let known = context.common_tables.borrow().len();
    let tables = with.tables.iter().cloned().map(|written| CommonTable { written, planned: None });
    context.common_tables.borrow_mut().extend(tables);
    let result = plan_body_of(context, query, parent, read_mode);
    context.common_tables.borrow_mut().truncate(known);
    result
}

/// How the tables of a SELECT are read.
#[derive(Clone, Copy)]
struct Reading<'q> {
    mode: ReadMode,
    /// FOR UPDATE OF: only these are locked. Empty = all.
    of: &'q [ast::TableName],
    /// How those are read that are not named.
    others: ReadMode,
}

impl Reading<'_> {
    fn apply(&self, level: &mut Level<'_>) -> Result<()> {
        if self.of.is_empty() {
            return Ok(());
        }
        let is_named =
            |source: &super::Source, name: &ast::TableName| source.is_called(name.database.as_deref(), &name.name);
        if let Some(name) = self.of.iter().find(|name| !level.sources.iter().any(|source| is_named(source, name))) {
            return Err(Error::unresolved_lock_table(&name.name));
        }
        for source in &mut level.sources {
            if !self.of.iter().any(|name| is_named(source, name)) {
                source.read_mode = self.others;
            }
        }
        Ok(())
    }
}

/// A query whose WITH is in sight.
fn plan_body_of(
    context: &PlanContext<'_>,
    query: &Query,
    parent: Option<&dyn Scope>,
    read_mode: ReadMode,
) -> Result<(QueryPlan, Vec<Expr>)> {
    let reading = match &query.lock {
        None => Reading { mode: read_mode, of: &[], others: read_mode },
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
            Reading { mode, of: &lock.of, others: read_mode }
        }
    };
    plan_body(context, &query.body, &query.order_by, query.limit.as_ref(), parent, reading)
}

fn plan_body(
    context: &PlanContext<'_>,
    body: &Body,
    order_by: &[OrderItem],
    limit: Option<&Limit>,
    parent: Option<&dyn Scope>,
    reading: Reading<'_>,
) -> Result<(QueryPlan, Vec<Expr>)> {
    match body {
        Body::Select(select) => plan_select(context, select, order_by, limit, parent, reading),
        Body::Table(name) => {
            let table = ast::TableRef::Table { name: name.clone(), alias: None, hints: Vec::new() };
            let select = Select { items: vec![SelectItem::All], from: vec![table], ..Select::default() };
            plan_select(context, &select, order_by, limit, parent, reading)
        }
        Body::Values(_) => Err(Error::unsupported("VALUES as a query")),
        Body::Nested(query) if order_by.is_empty() && limit.is_none() => {
            plan_query(context, query, parent, reading.mode)
        }
        // Parentheses around a query without an order of its own change nothing.
        Body::Nested(query) if is_bare(query) && matches!(query.body, Body::Select(_) | Body::Nested(_)) => {
            plan_body(context, &query.body, order_by, limit, parent, reading)
        }
        Body::Nested(query) => {
            let (plan, outer) = plan_query(context, query, parent, reading.mode)?;
            finish_union(context, vec![plan], None, order_by, limit, outer)
        }
        Body::Set { .. } => {
            let mut parts = Vec::new();
            let mut distinct_until = None;
            let mut outer = Vec::new();
            flatten(context, body, parent, reading, &mut parts, &mut distinct_until, &mut outer)?;
            // Each part numbers its outer columns from the statement's parameters on.
            if !outer.is_empty() {
                return Err(Error::unsupported("outer references in a UNION"));
            }
            finish_union(context, parts, distinct_until, order_by, limit, outer)
        }
    }
}

/// Whether a query is nothing but its body.
fn is_bare(query: &Query) -> bool {
    let Query { with, body: _, order_by, limit, lock, into_variables } = query;
    with.is_none() && order_by.is_empty() && limit.is_none() && lock.is_none() && into_variables.is_empty()
}

/// The parts of a chain of UNIONs, left to right.
fn flatten(
    context: &PlanContext<'_>,
    body: &Body,
    parent: Option<&dyn Scope>,
    reading: Reading<'_>,
    parts: &mut Vec<QueryPlan>,
    distinct_until: &mut Option<usize>,
    outer: &mut Vec<Expr>,
) -> Result<()> {
    let Body::Set { operator, all, left, right } = body else {
        let (plan, reads) = plan_body(context, body, &[], None, parent, reading)?;
        outer.extend(reads);
        parts.push(plan);
        return Ok(());
    };
    if *operator != SetOperator::Union {
        return Err(Error::unsupported("EXCEPT and INTERSECT"));
    }
    flatten(context, left, parent, reading, parts, distinct_until, outer)?;
    if matches!(**right, Body::Set { .. }) {
        return Err(Error::unsupported("nested UNION"));
    }
    let (plan, reads) = plan_body(context, right, &[], None, parent, reading)?;
    outer.extend(reads);
    parts.push(plan);
    if !*all {
        *distinct_until = Some(parts.len() - 1);
    }
    Ok(())
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

fn finish_union(
    context: &PlanContext<'_>,
    parts: Vec<QueryPlan>,
    distinct_until: Option<usize>,
    order_by: &[OrderItem],
    limit: Option<&Limit>,
    outer: Vec<Expr>,
) -> Result<(QueryPlan, Vec<Expr>)> {
    let width = parts[0].columns().len();
    if parts.iter().any(|part| part.columns().len() != width) {
        return Err(Error::union_columns());
    }
    let mut columns = parts[0].columns().to_vec();
    if parts.len() > 1 {
        for (at, column) in columns.iter_mut().enumerate() {
            let types: Vec<TypeInfo> = parts.iter().map(|part| part.columns()[at].ty).collect();
            column.ty = common_type(&types, context.eval.connection, "UNION")?;
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
    let types = columns.iter().map(|column| column.column_type.clone()).collect();
    let plan = UnionPlan { parts, distinct_until, columns, types, order, limit, subqueries: Vec::new() };
    Ok((QueryPlan::Union(Box::new(plan)), outer))
}

fn bind_limit(context: &PlanContext<'_>, limit: &Limit) -> Result<LimitPlan> {
    let scope = crate::expression::NoScope;
    let offset = limit.offset.as_ref().map(|offset| context.binder(&scope).bind(offset)).transpose()?;
    Ok(LimitPlan { offset, count: context.binder(&scope).bind(&limit.count)? })
}

/// The number of a bare integer in GROUP BY or ORDER BY.
fn ordinal(expr: &ast::Expr) -> Option<u64> {
    match expr {
        ast::Expr::Literal(ast::Literal::Integer(number)) => Some(*number),
        _ => None,
    }
}

fn check_ordinal(number: u64, count: usize, clause: &str) -> Result<usize> {
    match number {
        1.. if number <= count as u64 => Ok(number as usize - 1),
        _ => Err(Error::unknown_column(&number.to_string(), clause)),
    }
}

fn plan_select(
    context: &PlanContext<'_>,
    select: &Select,
    order_by: &[OrderItem],
    limit: Option<&Limit>,
    parent: Option<&dyn Scope>,
    reading: Reading<'_>,
) -> Result<(QueryPlan, Vec<Expr>)> {
    if select.rollup {
        return Err(Error::unsupported("WITH ROLLUP"));
    }
    if select.windows {
        return Err(Error::unsupported("window functions"));
    }
    let select_number = context.next_select_number();
    let mut level = Level::new(context, parent, reading.mode);
    let tree = level.from(&select.from)?;
    reading.apply(&mut level)?;
    let level = level;

    let items = bind_items(&level, select)?;
    let aliases: Vec<(Box<str>, Expr)> = items.iter().map(|item| (item.name.clone(), item.expr.clone())).collect();

    let filter = match &select.filter {
        Some(filter) => Some(context.binder(&Clause::new(&level, "where clause")).bind(filter)?),
        None => None,
    };

    let keys = bind_group(&level, select, &items, &aliases)?;
    let having = match &select.having {
        Some(having) => {
            let names = select.group_by.iter().map(|item| match &item.expr {
                ast::Expr::Column(name) => Some(name),
                _ => None,
            });
            let named: Vec<(Option<&ColumnName>, Expr)> = names.zip(keys.iter().cloned()).collect();
            let scope = Clause::aggregating(&level, "having clause", Lookup::Having(&aliases, &named));
            Some(context.binder(&scope).bind(having)?)
        }
        None => None,
    };

    let order = bind_order(&level, order_by, &items, &aliases)?;
    let aggregates: Vec<_> = level.aggregates.take().into_iter().map(|(_, call)| call).collect();
    let limit = limit.map(|limit| bind_limit(context, limit)).transpose()?;

    let grouped = !keys.is_empty() || !aggregates.is_empty();
    let tree = join::bind(&level, tree.as_ref(), filter)?;
    if grouped && context.eval.mode.has(SqlMode::ONLY_FULL_GROUP_BY) {
        let fixed = grouping::determined_slots(&level, &keys, &tree);
        let outputs: Vec<&Expr> = items.iter().map(|item| &item.expr).collect();
        grouping::check(&level, &keys, &fixed, &outputs, having.as_ref(), &order)?;
    }

    // Which columns are read, by anything.
    let mut used = vec![false; level.slots.len()];
    let mut mark = |slot: usize| used[slot] = true;
    items.iter().for_each(|item| item.expr.for_each_column(&mut mark));
    keys.iter().chain(&having).for_each(|expr| expr.for_each_column(&mut mark));
    order.iter().for_each(|(expr, _)| expr.for_each_column(&mut mark));
    for call in &aggregates {
        call.args.iter().for_each(|expr| expr.for_each_column(&mut mark));
        call.order_by.iter().for_each(|(expr, _)| expr.for_each_column(&mut mark));
    }
    let subqueries = level.subqueries.take();
    subqueries.iter().flat_map(|subquery| &subquery.outer).for_each(|expr| expr.for_each_column(&mut mark));
    tree.for_each_condition(&mut |expr| expr.for_each_column(&mut mark));
    let mut sources = level.sources;
    let outer = level.outer.into_inner();
    let slots = level.slots;
    for (slot, _) in used.iter().enumerate().filter(|(_, used)| **used) {
        let (source, column) = slots[slot];
        sources[source as usize].needed.insert(column as usize);
    }

    // What the group's row must keep: everything evaluated behind the grouping.
    let group = grouped.then(|| {
        let mut kept = vec![false; slots.len()];
        let mut keep = |slot: usize| kept[slot] = true;
        items.iter().for_each(|item| item.expr.for_each_column(&mut keep));
        having.iter().for_each(|expr| expr.for_each_column(&mut keep));
        order.iter().for_each(|(expr, _)| expr.for_each_column(&mut keep));
        subqueries.iter().flat_map(|subquery| &subquery.outer).for_each(|expr| expr.for_each_column(&mut keep));
        let kept = (0..slots.len()).filter(|slot| kept[*slot]).collect();
        // An ENUM's error value and its member '' have one name, but two numbers.
        let keys = keys.into_iter().map(by_number).collect();
        GroupPlan { keys, aggregates, kept, first_row_settles: false }
    });

    let mut columns = Vec::with_capacity(items.len());
    let mut output = Vec::with_capacity(items.len());
    for item in items {
        let origin = item.expr.as_column().and_then(|slot| origin_of(&sources, slots[slot]));
        let column_type = item.expr.ty.column_type();
        columns.push(OutputColumn { name: item.name, ty: item.expr.ty, column_type, origin });
        output.push(item.expr);
    }

    let mut plan = SelectPlan {
        select_number,
        sources,
        slots,
        constants: Vec::new(),
        steps: Vec::new(),
        group,
        having,
        output,
        types: columns.iter().map(|column| column.column_type.clone()).collect(),
        columns,
        stored: None,
        distinct: select.distinct,
        keeps_digits: false,
        order,
        limit,
        calc_found_rows: select.calc_found_rows,
        subqueries,
        order_by_index: false,
    };
    join::plan(context, &mut plan, tree, select.straight_join)?;
    if join::combinations(&plan.steps) > context.eval.session.max_join_size() as f64 {
        return Err(Error::too_big_select());
    }
    plan.stored = stored_output(&plan);
    Ok((QueryPlan::Select(Box::new(plan)), outer))
}

/// The output as columns of the one table, if the rows can go out as they are stored.
fn stored_output(plan: &SelectPlan) -> Option<StoredOutput> {
    if plan.group.is_some() || plan.having.is_some() {
        return None;
    }
    let [Step::Table(step)] = &plan.steps[..] else { return None };
    let source = &plan.sources[step.source];
    let table = source.table()?;
    let mut columns = Vec::with_capacity(plan.output.len());
    for expr in &plan.output {
        let column = plan.slots[expr.as_column()?].1 as usize;
        columns.push(StoredColumn { column, ty: source.columns[column].ty.clone() });
    }
    let mut order = Vec::with_capacity(plan.order.len());
    for (expr, descending) in &plan.order {
        let column = plan.slots[expr.as_column()?].1 as usize;
        if matches!(table.columns[column].ty, ColumnType::Json) {
            return None;
        }
        order.push((column, *descending));
    }
    if (plan.distinct || !order.is_empty()) && plan.calc_found_rows {
        return None;
    }
    // Equal rows stand together only if the order tells all columns apart.
    let in_order = |column: &StoredColumn| order.iter().any(|(by, _)| *by == column.column);
    let in_output = |by: &(usize, bool)| columns.iter().any(|column| column.column == by.0);
    if plan.distinct && !(columns.iter().all(in_order) && order.iter().all(in_output)) {
        return None;
    }
    Some(StoredOutput { columns, order, distinct: plan.distinct })
}

fn origin_of(sources: &[super::Source], slot: (u16, u16)) -> Option<Origin> {
    let source = &sources[slot.0 as usize];
    match &source.kind {
        SourceKind::Table(table) => Some(Origin {
            database: source.database.clone(),
            alias: source.alias.clone(),
            table: table.name.clone(),
            column: table.columns[slot.1 as usize].name.clone(),
            flags: definition::column_flags_of(table, slot.1 as usize),
        }),
        SourceKind::Virtual(table) => Some(Origin {
            database: source.database.clone(),
            alias: source.alias.clone(),
            table: table.name.into(),
            column: table.columns[slot.1 as usize].name.into(),
            flags: 0,
        }),
        SourceKind::Derived(_) => None,
    }
}

/// ENUM and SET columns sort by their numbers.
pub fn by_number(expr: Expr) -> Expr {
    match expr.node {
        Node::EnumName { slot, .. } | Node::SetNames { slot, .. } => {
            Expr::slot(slot, TypeInfo::bigint_unsigned(20).nullable(expr.ty.nullable))
        }
        _ => expr,
    }
}

struct Item {
    name: Box<str>,
    expr: Expr,
}

fn bind_items(level: &Level<'_>, select: &Select) -> Result<Vec<Item>> {
    let mut items = Vec::new();
    // Named items, for the subqueries of those that follow.
    let mut aliases: Vec<(Box<str>, Expr)> = Vec::new();
    for item in &select.items {
        match item {
            SelectItem::All => {
                if level.sources.is_empty() {
                    return Err(Error::new(1096, b"HY000", "No tables used"));
                }
                for slot in &level.all.slots {
                    push_slot(level, *slot, &mut items);
                }
            }
            SelectItem::AllOf(table) => {
                let source = level
                    .sources
                    .iter()
                    .find(|source| source.is_called(table.database.as_deref(), &table.name))
                    .ok_or_else(|| Error::unknown_table(&table.name))?;
                for at in 0..source.columns.len() {
                    push_slot(level, source.slot_base + at, &mut items);
                }
            }
            SelectItem::Expr { expr, alias, text } => {
                let scope = Clause::aggregating(level, "field list", Lookup::Selecting(&aliases));
                let bound = level.context.binder(&scope).bind(expr)?;
                if let Some(alias) = alias {
                    aliases.push((alias.as_str().into(), bound.clone()));
                }
                let name = match (alias, expr) {
                    (Some(alias), _) => alias.as_str(),
                    (None, ast::Expr::Column(column)) => &column.name,
                    (None, ast::Expr::Literal(ast::Literal::String { bytes, .. })) => {
                        items.push(Item { name: String::from_utf8_lossy(bytes).into_owned().into(), expr: bound });
                        continue;
                    }
                    (None, _) => text,
                };
                items.push(Item { name: name.into(), expr: bound });
            }
        }
    }
    Ok(items)
}

fn push_slot(level: &Level<'_>, slot: usize, items: &mut Vec<Item>) {
    let (source, column) = level.slots[slot];
    let column = &level.sources[source as usize].columns[column as usize];
    if !column.invisible {
        items.push(Item { name: column.name.clone(), expr: level.expr(slot) });
    }
}

/// GROUP BY: by expressions, names and numbers of what is selected.
fn bind_group(level: &Level<'_>, select: &Select, items: &[Item], aliases: &Aliases) -> Result<Vec<Expr>> {
    let mut keys = Vec::new();
    for item in &select.group_by {
        let expr = match ordinal(&item.expr) {
            Some(number) => items[check_ordinal(number, items.len(), "group statement")?].expr.clone(),
            None => {
                let lookup = match &item.expr {
                    ast::Expr::Column(_) => Lookup::GroupedColumn(aliases),
                    _ => Lookup::ColumnsFirst(aliases),
                };
                let scope = Clause { lookup, ..Clause::new(level, "group statement") };
                level.context.binder(&scope).bind(&item.expr)?
            }
        };
        let mut aggregated = false;
        expr.walk(&mut |expr| aggregated |= matches!(expr.node, Node::Aggregate(_)));
        if aggregated {
            return Err(Error::new(1056, b"42000", "Can't group on an aggregate"));
        }
        keys.push(expr);
    }
    Ok(keys)
}

/// ORDER BY, and whether each is descending.
fn bind_order(
    level: &Level<'_>,
    order_by: &[OrderItem],
    items: &[Item],
    aliases: &Aliases,
) -> Result<Vec<(Expr, bool)>> {
    let mut order = Vec::new();
    for item in order_by {
        let expr = match ordinal(&item.expr) {
            Some(number) => items[check_ordinal(number, items.len(), "order clause")?].expr.clone(),
            None => {
                let lookup = match &item.expr {
                    ast::Expr::Column(_) => Lookup::AliasesFirst(aliases),
                    _ => Lookup::ColumnsFirst(aliases),
                };
                level.context.binder(&Clause::aggregating(level, "order clause", lookup)).bind(&item.expr)?
            }
        };
        order.push((by_number(expr), item.descending));
    }
    Ok(order)
}
