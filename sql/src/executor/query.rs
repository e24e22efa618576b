//! SELECT and set operations at work.

use std::borrow::Cow;
use std::cell::RefCell;
use std::ops::Range;

use format::collation::CollationId;
use format::value::Value;
use storage::Row;

use super::grouping::Groups;
use super::join::Runner;
use super::memory::Purpose;
use super::output::{Output, Wanted};
use super::recursion::run_recursive;
use super::row::{JoinRow, put_row_as};
use super::rows::{RowMaker, Rows};
use super::sets::RowSet;
use super::window::Windows;
use super::{Environment, Level, grace};
use crate::error::{Error, Result};
use crate::expression::{AssignMode, EvalContext, Expr, Fields, NoFields};
use crate::parser::ast::SetOperator;
use crate::planner::{Derived, LimitPlan, QueryPlan, SelectPlan, SourceKind, Step, StoredOutput, UnionPlan};

/// Runs a query, calling `visit` for each row until it answers false.
pub fn run(
    environment: &Environment<'_>,
    plan: &QueryPlan,
    context: &EvalContext<'_>,
    visit: &mut dyn FnMut(&[Value]) -> Result<bool>,
) -> Result<()> {
    match environment.profile {
        None => run_unmeasured(environment, plan, context, visit),
        Some(profile) => profile
            .measure(plan, |rows| run_unmeasured(environment, plan, context, &mut |row| rows.pass(|| visit(row)))),
    }
}

fn run_unmeasured(
    environment: &Environment<'_>,
    plan: &QueryPlan,
    context: &EvalContext<'_>,
    visit: &mut dyn FnMut(&[Value]) -> Result<bool>,
) -> Result<()> {
    match plan {
        QueryPlan::Select(plan) => run_select(environment, plan, context, visit),
        QueryPlan::Union(plan) => run_union(environment, plan, context, visit),
        QueryPlan::Recursive(plan) => {
            run_recursive(environment, plan, limits(plan.limit.as_ref(), context)?, context, &run, visit)
        }
        QueryPlan::Working(_) => Err(Error::internal("the rows of a round are read outside of it")),
    }
}

/// LIMIT as numbers: rows to leave out, and rows to give.
pub fn limits(limit: Option<&LimitPlan>, context: &EvalContext<'_>) -> Result<(u64, u64)> {
    let Some(limit) = limit else { return Ok((0, u64::MAX)) };
    let number = |expr: &Expr| match expr.value(context, &NoFields)? {
        Value::Int(number) if number >= 0 => Ok(number as u64),
        Value::UInt(number) => Ok(number),
        // Client libraries emulate prepared statements with strings.
        Value::Bytes(text) => std::str::from_utf8(&text)
            .ok()
            .and_then(|text| text.parse().ok())
            .ok_or_else(|| Error::wrong_arguments("LIMIT")),
        _ => Err(Error::wrong_arguments("LIMIT")),
    };
    let offset = match &limit.offset {
        Some(offset) => number(offset)?,
        None => 0,
    };
    Ok((offset, number(&limit.count)?))
}

fn run_union(
    environment: &Environment<'_>,
    plan: &UnionPlan,
    context: &EvalContext<'_>,
    visit: &mut dyn FnMut(&[Value]) -> Result<bool>,
) -> Result<()> {
    let (offset, count) = limits(plan.limit.as_ref(), context)?;
    let collations: Vec<CollationId> = plan.columns.iter().map(|column| column.ty.collation).collect();
    let is_union = plan.links.iter().all(|link| link.operator == SetOperator::Union);
    let counts_all = plan.calc_found_rows;
    if count == 0 && !counts_all {
        return Ok(());
    }
    let wanted = Wanted { collations: &collations, order: &plan.order, offset, count, counts_all };
    let mut output = Output::new(&environment.memory, wanted, &environment.found_rows, visit);
    if !is_union {
        let mut rows = RowSet::new(&environment.memory, &plan.links, &collations, context.session);
        for (number, part) in plan.parts.iter().enumerate() {
            rows.begin_part(number)?;
            run_part(environment, plan, number, part, context, &mut |row| rows.row(row).map(|()| true))?;
        }
        rows.finish(&mut |row| output.row(row, context, row))?;
        return output.finish(context);
    }
    for (number, part) in plan.parts.iter().enumerate() {
        // Rows are unique up to the last UNION without ALL; what follows it is only appended.
        if plan.distinct_until.is_some_and(|until| number <= until) {
            output.be_distinct();
        } else {
            output.be_not_distinct()?;
        }
        let mut go_on = true;
        run_part(environment, plan, number, part, context, &mut |row| {
            go_on = output.row(row, context, row)?;
            Ok(go_on)
        })?;
        if !go_on {
            break;
        }
    }
    output.finish(context)
}

/// Runs a part of a chain of set operations; its rows have the types of the chain.
fn run_part(
    environment: &Environment<'_>,
    plan: &UnionPlan,
    number: usize,
    part: &QueryPlan,
    context: &EvalContext<'_>,
    visit: &mut dyn FnMut(&Vec<Value>) -> Result<bool>,
) -> Result<()> {
    let mut converted = Vec::new();
    let parameters = part_parameters(environment, &plan.outer[number], context.parameters);
    let part_context = EvalContext { parameters: &parameters, ..*context };
    run(environment, part, &part_context, &mut |row| {
        converted.clear();
        put_row_as(row, (part.columns(), &plan.columns), AssignMode::Lenient, context, &mut converted)?;
        visit(&converted)
    })
}

/// The statement's parameters, and behind them what a part of a union reads of the outer query.
fn part_parameters<'p>(
    environment: &Environment<'_>,
    outer: &Range<usize>,
    parameters: &'p [Value],
) -> Cow<'p, [Value]> {
    let count = environment.parameter_count;
    if outer.start == 0 {
        return Cow::Borrowed(parameters);
    }
    let mut own = parameters[..count.min(parameters.len())].to_vec();
    own.extend_from_slice(parameters.get(count + outer.start..count + outer.end).unwrap_or_default());
    Cow::Owned(own)
}

fn run_select(
    environment: &Environment<'_>,
    plan: &SelectPlan,
    outer_context: &EvalContext<'_>,
    visit: &mut dyn FnMut(&[Value]) -> Result<bool>,
) -> Result<()> {
    let level = Level::of(environment, plan);
    let context = &EvalContext { subqueries: Some(&level), lists: Some(&level.lists), ..*outer_context };
    let (offset, left) = limits(plan.limit.as_ref(), context)?;
    if left == 0 && !plan.calc_found_rows {
        environment.found_rows.set(0);
        return Ok(());
    }
    let collations: Vec<CollationId> = plan.columns.iter().map(|column| column.ty.collation).collect();
    let counts_all = plan.calc_found_rows;
    let wanted = Wanted { collations: &collations, order: &plan.order, offset, count: left, counts_all };
    let mut output = Output::new(&environment.memory, wanted, &environment.found_rows, visit);
    if plan.distinct {
        output.be_distinct();
    }
    let mut values = Vec::with_capacity(plan.output.len());
    let passes = |fields: &dyn Fields| match &plan.having {
        Some(having) => having.is_true(context, fields),
        None => Ok(true),
    };
    let mut emit = |fields: &dyn Fields, output: &mut Output<'_, '_>| -> Result<bool> {
        environment.tick(context)?;
        values.clear();
        for expr in &plan.output {
            values.push(match plan.keeps_digits {
                true => expr.with_all_digits().eval(context, fields)?.into_value(),
                false => expr.value(context, fields)?,
            });
        }
        output.row(&values, context, fields)
    };
    // What is left of the rows, or of the groups.
    let each = |visit: &mut dyn FnMut(&dyn Fields) -> Result<bool>| match &plan.group {
        None => scan(environment, plan, context, &mut |row| if passes(row)? { visit(row) } else { Ok(true) }),
        Some(group) => {
            let mut groups = Groups::new(plan, group, environment);
            scan(environment, plan, context, &mut |row| groups.add(context, row))?;
            groups.finish(context, &mut |row| if passes(row)? { visit(row) } else { Ok(true) })
        }
    };
    match &plan.windows {
        None => each(&mut |row| emit(row, &mut output))?,
        Some(windows) => {
            let mut rows = Windows::new(plan, windows, environment);
            each(&mut |row| rows.add(row, context).map(|()| true))?;
            rows.finish(context, &mut |row| emit(row, &mut output))?;
        }
    }
    output.finish(context)
}

/// Calls `visit` for each joined row that WHERE lets through.
pub fn scan(
    environment: &Environment<'_>,
    plan: &SelectPlan,
    context: &EvalContext<'_>,
    visit: &mut dyn FnMut(&mut JoinRow<'_>) -> Result<bool>,
) -> Result<()> {
    for condition in &plan.constants {
        if !condition.is_true(context, &NoFields)? {
            return Ok(());
        }
    }
    let mut row = JoinRow::new(plan, context.zone);
    for (source, slot) in plan.sources.iter().zip(&mut row.sources) {
        if let SourceKind::Table(_) = source.kind {
            slot.stored = environment.scratch.borrow_mut().rows.pop().unwrap_or_default();
        }
    }
    let derived = |derived: &Derived, lateral: &[Expr], context: &EvalContext<'_>, row: &dyn Fields| match lateral {
        [] => derived_rows(environment, derived, context),
        lateral => lateral_rows(environment, derived, lateral, context, row),
    };
    let (kept, tests) = (RefCell::default(), RefCell::default());
    let runner = Runner { environment, plan, context, derived: &derived, kept, tests };
    let result = grace::run(&runner, &mut row, visit);
    let mut scratch = environment.scratch.borrow_mut();
    row.sources.into_iter().for_each(|source| scratch.give_back_row(source.stored));
    result
}

/// The rows of a derived table: made once, and kept for other readers in the statement.
fn derived_rows(environment: &Environment<'_>, derived: &Derived, context: &EvalContext<'_>) -> Result<Rows> {
    if let Some(known) = environment.derived.borrow().get(&derived.id) {
        return Ok(known.clone());
    }
    let rows = made(environment, &derived.plan, context)?;
    environment.derived.borrow_mut().insert(derived.id, rows.clone());
    Ok(rows)
}

/// All rows of a query.
pub fn made(environment: &Environment<'_>, plan: &QueryPlan, context: &EvalContext<'_>) -> Result<Rows> {
    let mut rows = RowMaker::new(&environment.memory);
    run(environment, plan, context, &mut |row| {
        environment.tick(context)?;
        rows.push(row).map(|()| true)
    })?;
    rows.finish()
}

/// The rows of a LATERAL derived table for the current row of the tables before it.
fn lateral_rows(
    environment: &Environment<'_>,
    derived: &Derived,
    lateral: &[Expr],
    context: &EvalContext<'_>,
    row: &dyn Fields,
) -> Result<Rows> {
    let count = environment.parameter_count;
    let mut parameters = context.parameters[..count.min(context.parameters.len())].to_vec();
    parameters.resize(count, Value::Null);
    for expr in lateral {
        parameters.push(expr.eval(context, row)?.into_value());
    }
    let inner = EvalContext { parameters: &parameters, ..*context };
    made(environment, &derived.plan, &inner)
}

/// Runs a query whose rows go out as they are stored.
pub fn run_stored(
    environment: &Environment<'_>,
    plan: &SelectPlan,
    output: &StoredOutput,
    outer_context: &EvalContext<'_>,
    visit: &mut dyn FnMut(&Row),
) -> Result<()> {
    let level = Level::of(environment, plan);
    let context = &EvalContext { subqueries: Some(&level), lists: Some(&level.lists), ..*outer_context };
    let (mut offset, mut left) = limits(plan.limit.as_ref(), context)?;
    let mut found = 0;
    let Some(Step::Table(step)) = plan.steps.first() else { unreachable!("one table") };
    if left == 0 && !plan.calc_found_rows {
        environment.found_rows.set(0);
        return Ok(());
    }
    if output.order.is_empty() {
        scan(environment, plan, context, &mut |row| {
            found += 1;
            if offset > 0 {
                offset -= 1;
            } else if left > 0 {
                left -= 1;
                visit(&row.sources[step.source].stored);
            }
            Ok(left > 0 || plan.calc_found_rows)
        })?;
        environment.found_rows.set(found);
        return Ok(());
    }
    let SourceKind::Table(table) = &plan.sources[step.source].kind else { unreachable!("a stored table") };
    let mut sorter = std::mem::take(&mut environment.scratch.borrow_mut().sorter);
    sorter.clear();
    let mut account = environment.memory.account_for(Purpose::Sort);
    let mut outcome = scan(environment, plan, context, &mut |row| {
        let stored = &row.sources[step.source].stored;
        let wanted = offset.saturating_add(left);
        sorter.push(table, output, stored, wanted, &mut account, context.session).map(|()| true)
    });
    if outcome.is_ok() {
        let mut row = environment.scratch.borrow_mut().rows.pop().unwrap_or_default();
        let given = sorter.give(table, output, (offset, left), &mut row, &mut account, context.session, visit);
        outcome = given.map(|rows| found = rows);
        environment.scratch.borrow_mut().give_back_row(row);
    }
    environment.scratch.borrow_mut().give_back_sorter(sorter);
    environment.found_rows.set(found);
    outcome
}
