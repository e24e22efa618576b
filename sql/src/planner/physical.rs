//! From the logical plan to the physical one: each block gets its steps, each derived table and subquery that is left a
//! plan of its own.
//!
//! Derived tables are planned before the block that reads them, whose order of tables depends on how many rows they are
//! expected to have.

use std::rc::Rc;
use std::sync::Arc;

use format::value::ColumnType;

use super::logical::{self, Block, Query};
use super::{
    Derived, Estimate, GroupPlan, PlanContext, QueryPlan, RecursivePlan, SelectPlan, Source, SourceKind, Step,
    StoredOutput, SubqueryPlan, UnionPlan, WindowPlan, WorkingPlan, join, once,
};
use crate::error::{Error, Result};
use crate::expression::{Expr, Node};
use crate::result::StoredColumn;
use crate::types::Switches;

/// What a group, or a duplicate, is taken to be of all rows.
const DISTINCT_SHARE: f64 = 0.3;

/// How many rounds a recursion is taken to have, and how many rows each reads.
const ROUNDS: f64 = 10.0;
const ROUND_ROWS: f64 = 10.0;

/// The plan of a query.
pub fn query(context: &PlanContext<'_>, query: Query) -> Result<QueryPlan> {
    estimated(context, query).map(|(plan, _)| plan)
}

fn estimated(context: &PlanContext<'_>, query: Query) -> Result<(QueryPlan, Estimate)> {
    match query {
        Query::Block(written) => {
            let (mut plan, estimate) = block(context, *written)?;
            // The largest number is no limit.
            let rows_max = context.eval.session.max_join_size();
            if rows_max != u64::MAX && join::combinations(&plan.steps) > rows_max as f64 {
                return Err(Error::too_big_select());
            }
            plan.stored = stored_output(&plan);
            Ok((QueryPlan::Select(Box::new(plan)), estimate))
        }
        Query::Union(union) => {
            let logical::Union { parts, links, outer, distinct_until, columns, order, limit, calc_found_rows } = *union;
            let mut plans = Vec::with_capacity(parts.len());
            let mut all = Estimate { rows: 0.0, cost: 0.0 };
            for part in parts {
                let (plan, estimate) = estimated(context, part)?;
                all = Estimate { rows: all.rows + estimate.rows, cost: all.cost + estimate.cost };
                plans.push(plan);
            }
            let types = columns.iter().map(|column| column.column_type.clone()).collect();
            let parts = plans;
            let subqueries = Vec::new();
            let plan = UnionPlan {
                parts,
                links,
                outer,
                distinct_until,
                columns,
                types,
                order,
                limit,
                calc_found_rows,
                subqueries,
            };
            Ok((QueryPlan::Union(Box::new(plan)), all))
        }
        Query::Recursive(recursive) => {
            let logical::Recursive { name, seed, members, distinct, working, columns, limit } = *recursive;
            let (seed, mut all) = estimated(context, seed)?;
            let mut plans = Vec::with_capacity(members.len());
            for member in members {
                let (plan, estimate) = estimated(context, member)?;
                all.rows += ROUNDS * estimate.rows;
                all.cost += ROUNDS * estimate.cost;
                plans.push(plan);
            }
            let types = columns.iter().map(|column| column.column_type.clone()).collect();
            let plan = RecursivePlan { name, seed, members: plans, distinct, working, columns, types, limit };
            Ok((QueryPlan::Recursive(Box::new(plan)), all))
        }
        Query::Working(columns) => {
            let types = columns.iter().map(|column| column.column_type.clone()).collect();
            let rows = ROUND_ROWS;
            Ok((QueryPlan::Working(WorkingPlan { columns, types }), Estimate { rows, cost: rows }))
        }
    }
}

pub fn subqueries(context: &PlanContext<'_>, subqueries: Vec<logical::Subquery>) -> Result<Vec<SubqueryPlan>> {
    let plan = |subquery: logical::Subquery| {
        let logical::Subquery { query: written, outer } = subquery;
        let is_stable = written.is_stable();
        let plan = query(context, written)?;
        let keeps = context.eval.session.optimizer_switches().has(Switches::SUBQUERY_CACHE);
        let is_kept = keeps && !outer.is_empty() && is_stable;
        Ok(SubqueryPlan { plan, is_constant: outer.is_empty(), is_kept, outer })
    };
    subqueries.into_iter().map(plan).collect()
}

/// The plan of one block. The columns that the caller needs besides those it reads itself are in its sources.
pub fn block(context: &PlanContext<'_>, mut block: Block) -> Result<(SelectPlan, Estimate)> {
    mark_needed(&mut block);
    let is_kept = block.group.is_some() || !block.windows.is_empty();
    let kept = if is_kept { block.read_by_results() } else { Vec::new() };
    let kept: Vec<usize> = (0..kept.len()).filter(|slot| kept[*slot]).collect();
    let windows = (!block.windows.is_empty()).then(|| WindowPlan {
        calls: std::mem::take(&mut block.windows),
        kept: kept.clone(),
        aggregates: block.group.as_ref().map_or(0, |group| group.aggregates.len()),
    });
    let group = block.group.take().map(|group| GroupPlan {
        keys: group.keys,
        aggregates: group.aggregates,
        rollup: group.rollup,
        kept,
        first_row_settles: false,
    });
    let mut sources = Vec::with_capacity(block.sources.len());
    for source in block.sources {
        sources.push(physical_source(context, source)?);
    }
    let mut plan = SelectPlan {
        select_number: block.select_number,
        sources,
        slots: block.slots,
        constants: Vec::new(),
        steps: Vec::new(),
        group,
        having: block.having,
        windows,
        output: block.output,
        types: block.columns.iter().map(|column| column.column_type.clone()).collect(),
        columns: block.columns,
        stored: None,
        distinct: block.distinct,
        keeps_digits: block.keeps_digits,
        order: block.order,
        limit: block.limit,
        calc_found_rows: block.calc_found_rows,
        subqueries: subqueries(context, block.subqueries)?,
        order_by_index: false,
    };
    let mut estimate = join::plan(context, &mut plan, block.from, block.straight)?;
    once::hold_constants(&mut plan);
    if plan.group.as_ref().is_some_and(|group| group.keys.is_empty()) {
        estimate.rows = 1.0;
    } else if plan.group.is_some() || plan.distinct {
        estimate.rows = (estimate.rows * DISTINCT_SHARE).max(1.0);
    }
    if let Some(limit) = &plan.limit
        && let Node::Constant(value) = &limit.count.node
    {
        let most = match value {
            format::value::Value::Int(count) => *count as f64,
            format::value::Value::UInt(count) => *count as f64,
            _ => f64::MAX,
        };
        estimate.rows = estimate.rows.min(most);
    }
    Ok((plan, estimate))
}

/// Notes which columns of its sources a block reads, by anything.
fn mark_needed(block: &mut Block) {
    let mut used = vec![false; block.slots.len()];
    block.for_each_expr(&mut |expr| {
        expr.for_each_column(&mut |slot| {
            if let Some(used) = used.get_mut(slot) {
                *used = true;
            }
        });
    });
    for (slot, _) in used.iter().enumerate().filter(|(_, used)| **used) {
        let (source, column) = block.slots[slot];
        block.sources[source as usize].needed.insert(column as usize);
    }
}

fn physical_source(context: &PlanContext<'_>, source: logical::Source) -> Result<Source> {
    let kind = match source.kind {
        SourceKind::Table(table) => SourceKind::Table(table),
        SourceKind::Virtual(table) => SourceKind::Virtual(table),
        SourceKind::JsonTable(table) => SourceKind::JsonTable(table),
        SourceKind::Derived(mut derived) => {
            if let Some(alone) = Rc::get_mut(&mut derived) {
                prune(alone.query.get_mut(), &source.needed);
            }
            SourceKind::Derived(plan_derived(context, &derived)?)
        }
    };
    Ok(Source {
        kind,
        alias: source.alias,
        database: source.database,
        columns: source.columns,
        slot_base: source.slot_base,
        needed: source.needed,
        unreadable: source.unreadable,
        read_mode: source.read_mode,
        is_changed: source.is_changed,
        hints: source.hints,
        hinted: source.hinted,
        lateral: source.lateral,
        nullable: source.nullable,
        division: source.division,
    })
}

/// The plan of a derived table: one, however many read it.
fn plan_derived(context: &PlanContext<'_>, derived: &logical::Derived) -> Result<Arc<Derived>> {
    let known = context.derived_plans.borrow().iter().find(|known| known.id == derived.id).cloned();
    if let Some(known) = known {
        return Ok(known);
    }
    let (plan, estimate) = estimated(context, derived.query.replace(Query::nothing()))?;
    let planned = Arc::new(Derived { id: derived.id, plan, estimate });
    context.derived_plans.borrow_mut().push(planned.clone());
    Ok(planned)
}

/// Leaves out the columns of a derived table that its one reader does not read.
fn prune(query: &mut Query, needed: &storage::ColumnSet) {
    let Query::Block(block) = query else { return };
    if block.distinct {
        return;
    }
    for (at, expr) in block.output.iter_mut().enumerate() {
        // An order by number or alias has its own copy of the expression.
        if !needed.contains(at) && !logical::is_volatile(expr) {
            *expr = Expr { ty: expr.ty, ..Expr::null() };
        }
    }
}

/// The output as columns of the one table, if the rows can go out as they are stored.
fn stored_output(plan: &SelectPlan) -> Option<StoredOutput> {
    if plan.group.is_some() || plan.having.is_some() || plan.windows.is_some() {
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
