//! SELECT and set operations at work.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::cmp::Ordering;
use std::ops::Range;
use std::rc::Rc;

use format::collation::CollationId;
use format::value::Value;
use rustc_hash::FxHashSet;
use storage::Row;

use super::grouping::Groups;
use super::join::Runner;
use super::memory::{Account, row_bytes};
use super::recursion::run_recursive;
use super::row::{JoinRow, put_row_as};
use super::sets::{Counts, RowSet};
use super::sort::sort_by;
use super::window::Windows;
use super::{Environment, Level, Rows};
use crate::error::{Error, Result};
use crate::expression::{AssignMode, Datum, EvalContext, Expr, Fields, NoFields, SessionState, group_key, order};
use crate::parser::ast::SetOperator;
use crate::planner::{Derived, LimitPlan, QueryPlan, SelectPlan, SourceKind, Step, StoredOutput, UnionPlan};

/// Runs a query, calling `visit` for each row until it answers false.
pub fn run(
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
    let mut output = Output {
        account: environment.memory.account(),
        found_rows: &environment.found_rows,
        seen: None,
        collations: &collations,
        sorter: (!plan.order.is_empty()).then(Sorter::default),
        order: &plan.order,
        offset,
        left: count,
        found: 0,
        counts_all: false,
        visit,
    };
    if count == 0 {
        return Ok(());
    }
    if !is_union {
        let mut rows = RowSet::new(environment.memory.account(), &collations, context.session);
        for (number, part) in plan.parts.iter().enumerate() {
            let link = number.checked_sub(1).map(|before| plan.links[before]);
            let mut counts = Counts::default();
            run_part(environment, plan, number, part, context, &mut |row| {
                match link {
                    Some(link) if link.operator != SetOperator::Union => rows.count(row, &mut counts)?,
                    _ => rows.add(row)?,
                }
                Ok(true)
            })?;
            if let Some(link) = link {
                rows.apply(link, counts)?;
            }
        }
        for row in rows.into_rows() {
            if !output.row(&row, context, &row)? {
                break;
            }
        }
        return output.finish(context);
    }
    for (number, part) in plan.parts.iter().enumerate() {
        // Rows are unique up to the last UNION without ALL; what follows it is only appended.
        if plan.distinct_until.is_some_and(|until| number <= until) {
            output.seen.get_or_insert_with(FxHashSet::default);
        } else {
            output.seen = None;
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

/// The rows that leave a query: distinct, sorted, limited.
struct Output<'a, 'v> {
    account: Account<'a>,
    found_rows: &'a Cell<u64>,
    seen: Option<FxHashSet<Box<[u8]>>>,
    collations: &'a [CollationId],
    sorter: Option<Sorter>,
    order: &'a [(Expr, bool)],
    offset: u64,
    left: u64,
    found: u64,
    /// SQL_CALC_FOUND_ROWS: rows behind the limit are counted, too.
    counts_all: bool,
    visit: &'v mut dyn FnMut(&[Value]) -> Result<bool>,
}

/// Rows to sort, with their keys. From time to time, rows that cannot be among the first wanted ones are discarded.
#[derive(Default)]
struct Sorter {
    rows: Vec<(Vec<Value>, Vec<Value>)>,
    /// This many rows are the first ones so far, in order: a row that does not sort before the last of them is
    /// discarded.
    settled: Option<usize>,
    thrown_away: u64,
}

impl Sorter {
    /// Rows beyond the wanted ones that are kept before they are discarded.
    const SPARE: u64 = 1000;

    fn push(
        &mut self,
        keys: Vec<Value>,
        values: &[Value],
        by: &[(Expr, bool)],
        wanted: u64,
        account: &mut Account<'_>,
        session: &dyn SessionState,
    ) -> Result<()> {
        let last = self.settled.and_then(|count| self.rows.get(count.wrapping_sub(1)));
        if last.is_some_and(|(last, _)| compare_keys(&keys, last, by) != Ordering::Less) {
            self.thrown_away += 1;
            return Ok(());
        }
        account.add(row_bytes(values) + row_bytes(&keys))?;
        self.rows.push((keys, values.to_vec()));
        if self.rows.len() as u64 > wanted.saturating_mul(2).saturating_add(Self::SPARE) {
            sort(&mut self.rows, by, session)?;
            for (keys, values) in self.rows.drain(wanted as usize..) {
                self.thrown_away += 1;
                account.give_back(row_bytes(&values) + row_bytes(&keys));
            }
            self.settled = Some(wanted as usize);
        }
        Ok(())
    }
}

impl Output<'_, '_> {
    /// Takes a row; `fields` is what ORDER BY is evaluated on.
    fn row(&mut self, values: &[Value], context: &EvalContext<'_>, fields: &dyn Fields) -> Result<bool> {
        if let Some(seen) = &mut self.seen {
            let mut key = Vec::new();
            for (value, collation) in values.iter().zip(self.collations) {
                group_key(&Datum::from(value), *collation, &mut key);
            }
            if !seen.insert(key.into()) {
                return Ok(true);
            }
            self.account.add(row_bytes(values))?;
        }
        if let Some(sorter) = &mut self.sorter {
            let mut keys = Vec::with_capacity(self.order.len());
            for (expr, _) in self.order {
                keys.push(expr.value(context, fields)?);
            }
            let wanted = self.offset.saturating_add(self.left);
            sorter.push(keys, values, self.order, wanted, &mut self.account, context.session)?;
            return Ok(true);
        }
        self.give(values)
    }

    /// Applies the limit, and emits a row.
    fn give(&mut self, values: &[Value]) -> Result<bool> {
        self.found += 1;
        if self.offset > 0 {
            self.offset -= 1;
            return Ok(true);
        }
        if self.left == 0 {
            return Ok(self.counts_all);
        }
        self.left -= 1;
        if !(self.visit)(values)? {
            return Ok(false);
        }
        Ok(self.left > 0 || self.counts_all)
    }

    fn finish(&mut self, context: &EvalContext<'_>) -> Result<()> {
        if let Some(mut sorter) = self.sorter.take() {
            sort(&mut sorter.rows, self.order, context.session)?;
            for (_, values) in &sorter.rows {
                if !self.give(values)? {
                    break;
                }
            }
            if self.counts_all {
                self.found += sorter.thrown_away;
            }
        }
        self.found_rows.set(self.found);
        Ok(())
    }
}

fn sort(rows: &mut [(Vec<Value>, Vec<Value>)], by: &[(Expr, bool)], session: &dyn SessionState) -> Result<()> {
    sort_by(rows, || session.is_interrupted(), |(a, _), (b, _)| compare_keys(a, b, by))
}

/// The order of two lists of sort keys.
pub fn compare_keys(a: &[Value], b: &[Value], by: &[(Expr, bool)]) -> Ordering {
    for ((a, b), (expr, descending)) in a.iter().zip(b).zip(by) {
        let compared = order(&Datum::from(a), &Datum::from(b), expr.ty.collation);
        if compared != Ordering::Equal {
            return if *descending { compared.reverse() } else { compared };
        }
    }
    Ordering::Equal
}

fn run_select(
    environment: &Environment<'_>,
    plan: &SelectPlan,
    outer_context: &EvalContext<'_>,
    visit: &mut dyn FnMut(&[Value]) -> Result<bool>,
) -> Result<()> {
    let level = Level::new(environment, &plan.subqueries);
    let context = &EvalContext { subqueries: Some(&level), lists: Some(&level.lists), ..*outer_context };
    let (offset, left) = limits(plan.limit.as_ref(), context)?;
    if left == 0 && !plan.calc_found_rows {
        environment.found_rows.set(0);
        return Ok(());
    }
    let collations: Vec<CollationId> = plan.columns.iter().map(|column| column.ty.collation).collect();
    let mut output = Output {
        account: environment.memory.account(),
        found_rows: &environment.found_rows,
        seen: plan.distinct.then(FxHashSet::default),
        collations: &collations,
        sorter: (!plan.order.is_empty()).then(Sorter::default),
        order: &plan.order,
        offset,
        left,
        found: 0,
        counts_all: plan.calc_found_rows,
        visit,
    };
    let mut values = Vec::with_capacity(plan.output.len());
    let passes = |fields: &dyn Fields| match &plan.having {
        Some(having) => having.is_true(context, fields),
        None => Ok(true),
    };
    let mut emit = |fields: &dyn Fields, output: &mut Output<'_, '_>| -> Result<bool> {
        values.clear();
        for expr in &plan.output {
            let value = expr.eval(context, fields)?;
            values.push(if plan.keeps_digits { value } else { value.fit(&expr.ty) }.into_value());
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
            each(&mut |row| rows.add(row).map(|()| true))?;
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
    let runner = Runner { environment, plan, context, derived: &derived, kept: RefCell::default() };
    let result = runner.steps(&plan.steps, &mut row, visit);
    let mut scratch = environment.scratch.borrow_mut();
    row.sources.into_iter().for_each(|source| scratch.give_back_row(source.stored));
    result.map(|_| ())
}

/// The rows of a derived table: made once, and kept for other readers in the statement.
fn derived_rows(environment: &Environment<'_>, derived: &Derived, context: &EvalContext<'_>) -> Result<Rows> {
    if let Some(known) = environment.derived.borrow().get(&derived.id) {
        return Ok(known.clone());
    }
    let mut rows = Vec::new();
    let mut account = environment.memory.account();
    run(environment, &derived.plan, context, &mut |row| {
        account.add(row_bytes(row))?;
        rows.push(row.to_vec());
        Ok(true)
    })?;
    account.leave_to_statement();
    let rows: Rows = Rc::new(rows);
    environment.derived.borrow_mut().insert(derived.id, rows.clone());
    Ok(rows)
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
    let mut rows = Vec::new();
    let mut account = environment.memory.account();
    run(environment, &derived.plan, &inner, &mut |row| {
        account.add(row_bytes(row))?;
        rows.push(row.to_vec());
        Ok(true)
    })?;
    Ok(Rc::new(rows))
}

/// Runs a query whose rows go out as they are stored.
pub fn run_stored(
    environment: &Environment<'_>,
    plan: &SelectPlan,
    output: &StoredOutput,
    outer_context: &EvalContext<'_>,
    visit: &mut dyn FnMut(&Row),
) -> Result<()> {
    let level = Level::new(environment, &plan.subqueries);
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
    let mut account = environment.memory.account();
    let mut outcome = scan(environment, plan, context, &mut |row| {
        let stored = &row.sources[step.source].stored;
        sorter.push(table, output, stored, offset.saturating_add(left), context.session)?;
        account.set(sorter.kept_bytes())?;
        Ok(true)
    });
    if outcome.is_ok() {
        let mut row = environment.scratch.borrow_mut().rows.pop().unwrap_or_default();
        let given = sorter.give(table, output, (offset, left), &mut row, context.session, visit);
        outcome = given.map(|rows| found = rows);
        environment.scratch.borrow_mut().give_back_row(row);
    }
    environment.scratch.borrow_mut().give_back_sorter(sorter);
    environment.found_rows.set(found);
    outcome
}
