//! One SELECT bound: its clauses in MySQL's order (see [`super::bind`]).

use std::sync::Arc;

use storage::schema::same_name;
use storage::{ReadMode, Table};

use super::bind::{Item, bind_group, bind_items, bind_limit, bind_order};
use super::clause::{Clause, Lookup};
use super::evaluated_once::evaluate_once;
use super::logical::{Block, Derived, Group, Query, Source};
use super::members::by_number;
use super::role::Role;
use super::scope::Level;
use super::{Origin, OutputColumn, PlanContext, SourceKind, definition, grouping, hints, nest, rollup, rules, window};
use crate::error::{Error, Result};
use crate::expression::{Expr, Scope};
use crate::parser::ast::{self, ColumnName, Limit, OrderItem, Select};
use crate::types::SqlMode;

/// How the tables of a SELECT are read.
#[derive(Clone, Copy)]
pub struct Reading<'q> {
    pub mode: ReadMode,
    /// FOR UPDATE OF: only these are locked. Empty = all.
    pub of: &'q [ast::TableName],
    /// How those are read that are not named.
    pub others: ReadMode,
    pub role: Role,
}

impl Reading<'_> {
    fn apply(&self, level: &mut Level<'_>) -> Result<()> {
        if self.of.is_empty() {
            return Ok(());
        }
        let is_named = |source: &Source, name: &ast::TableName| source.is_called(name.database.as_deref(), &name.name);
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

pub fn bind_select(
    context: &PlanContext<'_>,
    select: &Select,
    order_by: &[OrderItem],
    limit: Option<&Limit>,
    parent: Option<&dyn Scope>,
    reading: Reading<'_>,
) -> Result<(Query, Vec<Expr>)> {
    window::check_names(&select.windows)?;
    let select_number = context.next_select_number();
    let mut level = Level::new(context, parent, reading.mode);
    level.role = reading.role;
    let tree = level.from(&select.from)?;
    reading.apply(&mut level)?;
    level.hints = hints::apply(context, &select.hints, select_number, &mut level.sources);
    bind_documents(&mut level)?;
    level.named_windows = &select.windows;
    level.rolls_up = select.rollup;
    let level = level;

    let mut items = bind_items(&level, select)?;
    let refused = refused(&mut items);
    let selects_subqueries = !level.subqueries.borrow().is_empty();
    let aliases: Vec<(Box<str>, Expr)> = items.iter().map(|item| (item.name.clone(), item.expr.clone())).collect();

    let filter = match &select.filter {
        Some(filter) => Some(context.binder(&Clause::new(&level, "where clause")).bind_number(filter)?),
        None => None,
    };

    let keys = bind_group(&level, select, &items, &aliases)?;
    let mut having = match &select.having {
        Some(having) => {
            let names = select.group_by.iter().map(|item| match &item.expr {
                ast::Expr::Column(name) => Some(name),
                _ => None,
            });
            let named: Vec<(Option<&ColumnName>, Expr)> = names.zip(keys.iter().cloned()).collect();
            let scope = Clause::aggregating(&level, "having clause", Lookup::Having(&aliases, &named));
            Some(context.binder(&scope).bind_number(having)?)
        }
        None => None,
    };

    let mut order = bind_order(&level, order_by, &items, &aliases)?;
    let mut aggregates = level.aggregates.take();
    let mut windows = level.windows.take();
    let limit = limit.map(|limit| bind_limit(context, limit)).transpose()?;

    let grouped = !keys.is_empty() || !aggregates.is_empty();
    let (from, straight) = nest::bind(&level, tree.as_ref(), filter)?;
    let straight = straight || select.straight_join || reads_earlier_tables(&level.sources);
    // All rows are one group, which has no order.
    if grouped && keys.is_empty() {
        order.clear();
    }
    if grouped && context.eval.mode.has(SqlMode::ONLY_FULL_GROUP_BY) {
        // What a key determines is not what a sum over the key has.
        let fixed = match select.rollup {
            true => grouping::key_slots(&level, &keys),
            false => grouping::determined_slots(context.eval, &level, &keys, &from),
        };
        let outputs: Vec<&Expr> = items.iter().map(|item| &item.expr).collect();
        grouping::check(&level, &keys, &fixed, &outputs, having.as_ref(), &order, &windows)?;
    }

    // Rows that have all keys of their groups are distinct.
    let has_key = |key: &Expr| items.iter().any(|item| item.expr.node == key.node);
    let has_keys = !keys.is_empty() && !select.rollup && keys.iter().all(has_key);
    let distinct = select.distinct && !has_keys;
    // A single row has no order.
    if distinct && (!grouped || !keys.is_empty()) && context.eval.mode.has(SqlMode::ONLY_FULL_GROUP_BY) {
        let outputs: Vec<&Expr> = items.iter().map(|item| &item.expr).collect();
        grouping::check_distinct(&level, &outputs, &order)?;
    }

    let rollup = match select.rollup && !keys.is_empty() {
        false => None,
        true => {
            let order = order.iter_mut().map(|(expr, _)| expr);
            let named = select.group_by.iter().enumerate().filter_map(|(key, item)| match &item.expr {
                ast::Expr::Column(name) if name.table.is_none() => {
                    Some((items.iter().position(|item| same_name(&item.name, &name.name))?, key))
                }
                _ => None,
            });
            let named = named.collect();
            let output = items.iter_mut().map(|item| &mut item.expr).chain(&mut having).chain(order).collect();
            let mut subqueries = level.subqueries.borrow_mut();
            let results = rollup::Results { output, named, windows: &mut windows, subqueries: &mut subqueries };
            let descending = select.group_by.iter().map(|item| item.descending).collect();
            Some(rollup::apply(&keys, descending, &mut aggregates, results)?)
        }
    };
    let mut columns = Vec::with_capacity(items.len());
    let mut output = Vec::with_capacity(items.len());
    for item in items {
        let origin = item.expr.as_column().and_then(|slot| origin_of(&level.sources, level.slots[slot]));
        let column_type = item.expr.ty.column_type();
        columns.push(OutputColumn { name: item.name, ty: item.expr.ty, column_type, origin });
        output.push(item.expr);
    }
    // An ENUM's error value and its member '' have one name, but two numbers.
    let keys = keys.into_iter().map(by_number).collect();
    let block = Block {
        select_number,
        sources: level.sources,
        slots: level.slots,
        from,
        straight,
        hints: level.hints,
        group: grouped.then_some(Group { keys, aggregates, rollup }),
        having,
        windows,
        output,
        columns,
        distinct,
        keeps_digits: false,
        order,
        limit,
        calc_found_rows: select.calc_found_rows,
        subqueries: level.subqueries.into_inner(),
        refused,
    };
    // Of a query that is not merged, or whose rows come in the order of its columns, all is read.
    if let Some((_, error)) = block.refused.first()
        && (selects_subqueries || !block.order.is_empty() || !rules::selects_only(&block))
    {
        return Err(error.clone());
    }
    let outer = level.outer.into_inner();
    Ok((Query::Block(Box::new(evaluate_once(context, block, &outer)?)), outer))
}

/// The items that may not be read, with the refusals that wait for who reads them.
fn refused(items: &mut [Item]) -> Vec<(usize, Error)> {
    let refused = items.iter_mut().enumerate().filter_map(|(at, item)| Some((at, item.refused.take()?)));
    refused.collect()
}

/// Whether a source is LATERAL or a JSON_TABLE: such a one reads rows of the tables written before it.
pub(super) fn reads_earlier_tables(sources: &[Source]) -> bool {
    sources.iter().any(|source| source.follows_rows() || matches!(source.kind, SourceKind::JsonTable(_)))
}

/// Binds the documents of JSON_TABLEs.
pub(super) fn bind_documents(level: &mut Level<'_>) -> Result<()> {
    for (source, document, visible) in std::mem::take(&mut level.documents) {
        let clause = Clause { visible: &visible, ..Clause::new(level, "a table function argument") };
        let bound = level.context.binder(&clause).bind(&document)?;
        if let SourceKind::JsonTable(table) = &mut level.sources[source].kind {
            table.document = bound;
        }
    }
    Ok(())
}

/// The table's column that a column of a derived table is made of, if that is not merged: as in MySQL and MariaDB it is
/// then what the table has, and otherwise an expression.
fn made_of(derived: &Derived, column: usize) -> Option<(Arc<Table>, usize)> {
    match &*derived.query.borrow() {
        Query::Block(block) if !rules::selects_only(block) => {
            derived.columns[column].origin.as_ref().and_then(|origin| origin.stored.clone())
        }
        _ => None,
    }
}

/// The column that a slot is.
pub(super) fn origin_of(sources: &[Source], slot: (u16, u16)) -> Option<Origin> {
    let source = &sources[slot.0 as usize];
    match &source.kind {
        SourceKind::Table(table) => Some(Origin {
            database: source.database.clone(),
            alias: source.alias.clone(),
            table: table.name.clone(),
            column: table.columns[slot.1 as usize].name.clone(),
            flags: definition::column_flags_of(table, slot.1 as usize),
            boolean: table.columns[slot.1 as usize].boolean,
            stored: Some((table.clone(), slot.1 as usize)),
        }),
        SourceKind::Virtual(table) => Some(Origin {
            database: source.database.clone(),
            alias: source.alias.clone(),
            table: table.name.into(),
            column: table.columns[slot.1 as usize].name.into(),
            flags: 0,
            boolean: false,
            stored: None,
        }),
        SourceKind::JsonTable(_) => None,
        // It has no database, and no name but the one that the query gives it; unless it is a view.
        SourceKind::Derived(derived) => Some(Origin {
            database: source.database.clone(),
            alias: source.alias.clone(),
            table: derived.view.as_ref().map_or("".into(), |view| view.name.clone()),
            column: match &derived.view {
                Some(_) => source.columns[slot.1 as usize].name.clone(),
                None => derived.columns[slot.1 as usize].name.clone(),
            },
            flags: 0,
            boolean: derived.columns[slot.1 as usize].origin.as_ref().is_some_and(|origin| origin.boolean),
            stored: made_of(derived, slot.1 as usize),
        }),
    }
}
