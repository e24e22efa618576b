//! One SELECT: its clauses are bound in MySQL's order (see [`super::bind`]), then the tables are put in order.

use format::value::ColumnType;
use storage::ReadMode;

use super::bind::{bind_group, bind_items, bind_limit, bind_order};
use super::clause::{Clause, Lookup};
use super::members::by_number;
use super::scope::Level;
use super::{
    GroupPlan, Origin, OutputColumn, PlanContext, QueryPlan, SelectPlan, SourceKind, Step, StoredOutput, definition,
    grouping, join, nest,
};
use crate::error::{Error, Result};
use crate::expression::{Expr, Scope};
use crate::parser::ast::{self, ColumnName, Limit, OrderItem, Select};
use crate::result::StoredColumn;
use crate::types::SqlMode;

/// How the tables of a SELECT are read.
#[derive(Clone, Copy)]
pub struct Reading<'q> {
    pub mode: ReadMode,
    /// FOR UPDATE OF: only these are locked. Empty = all.
    pub of: &'q [ast::TableName],
    /// How those are read that are not named.
    pub others: ReadMode,
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

pub fn plan_select(
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
        Some(filter) => Some(context.binder(&Clause::new(&level, "where clause")).bind_number(filter)?),
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
            Some(context.binder(&scope).bind_number(having)?)
        }
        None => None,
    };

    let order = bind_order(&level, order_by, &items, &aliases)?;
    let aggregates: Vec<_> = level.aggregates.take().into_iter().map(|(_, call)| call).collect();
    let limit = limit.map(|limit| bind_limit(context, limit)).transpose()?;

    let grouped = !keys.is_empty() || !aggregates.is_empty();
    let tree = nest::bind(&level, tree.as_ref(), filter)?;
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
    // The largest number is no limit.
    let rows_max = context.eval.session.max_join_size();
    if rows_max != u64::MAX && join::combinations(&plan.steps) > rows_max as f64 {
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
        // It has no database, and no name but the one that the query gives it.
        SourceKind::Derived(derived) => Some(Origin {
            database: "".into(),
            alias: source.alias.clone(),
            table: "".into(),
            column: derived.plan.columns()[slot.1 as usize].name.clone(),
            flags: 0,
        }),
    }
}
