//! SELECT and UNION at work.

use std::cmp::Ordering;
use std::rc::Rc;

use format::collation::CollationId;
use format::value::Value;
use rustc_hash::{FxHashMap, FxHashSet};
use storage::{Row, ScanRange};

use super::row::JoinRow;
use super::{Environment, Level, Rows};
use crate::catalog::OrSqlError;
use crate::error::{Error, Result};
use crate::expression::assign::Target;
use crate::expression::{
    Accumulator, AssignMode, Datum, EvalContext, Expr, Fields, NoFields, assign, group_key, order,
};
use crate::parser::ast::AggregateFunction;
use crate::planner::keys::KeyRanges;
use crate::planner::{
    Access, GroupPlan, LimitPlan, QueryPlan, SelectPlan, SourceKind, Step, StoredOutput, TableStep, UnionPlan,
};

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
    let mut output = Output {
        environment,
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
    for (number, part) in plan.parts.iter().enumerate() {
        // Rows are unique up to the last UNION without ALL; what follows it is only appended.
        if plan.distinct_until.is_some_and(|until| number <= until) {
            output.seen.get_or_insert_with(FxHashSet::default);
        } else {
            output.seen = None;
        }
        let mut go_on = true;
        let mut converted = Vec::new();
        run(environment, part, context, &mut |row| {
            converted.clear();
            for (at, value) in row.iter().enumerate() {
                let (from, to) = (&part.columns()[at], &plan.columns[at]);
                converted.push(if from.column_type == to.column_type || value.is_null() {
                    value.clone()
                } else {
                    let target = Target { name: &to.name, ty: &to.column_type, nullable: true };
                    let value = assign(Datum::from(value), &from.ty, &target, AssignMode::Lenient, 1, context)?;
                    value.into_value()
                });
            }
            let fields: &Vec<Value> = &converted;
            go_on = output.row(&converted, context, fields)?;
            Ok(go_on)
        })?;
        if !go_on {
            break;
        }
    }
    output.finish()
}

/// The rows that leave a query: distinct, sorted, limited.
struct Output<'a, 'v> {
    environment: &'a Environment<'a>,
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

#[derive(Default)]
struct Sorter {
    rows: Vec<(Vec<Value>, Vec<Value>)>,
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
            self.environment.keep(values)?;
        }
        if let Some(sorter) = &mut self.sorter {
            let mut keys = Vec::with_capacity(self.order.len());
            for (expr, _) in self.order {
                keys.push(expr.value(context, fields)?);
            }
            self.environment.keep(values)?;
            self.environment.keep(&keys)?;
            sorter.rows.push((keys, values.to_vec()));
            // Only the first rows are wanted: now and then the others are dropped.
            let wanted = self.offset.saturating_add(self.left);
            if !self.counts_all && wanted < 10_000 && sorter.rows.len() as u64 > wanted * 2 + 1000 {
                sort(&mut sorter.rows, self.order);
                sorter.rows.truncate(wanted as usize);
            }
            return Ok(true);
        }
        self.give(values)
    }

    /// Applies the limit, and gives a row out.
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

    fn finish(&mut self) -> Result<()> {
        if let Some(mut sorter) = self.sorter.take() {
            sort(&mut sorter.rows, self.order);
            for (_, values) in &sorter.rows {
                if !self.give(values)? {
                    break;
                }
            }
        }
        self.environment.found_rows.set(self.found);
        Ok(())
    }
}

fn sort(rows: &mut [(Vec<Value>, Vec<Value>)], by: &[(Expr, bool)]) {
    rows.sort_by(|(a, _), (b, _)| compare_keys(a, b, by));
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
    let context = &EvalContext { subqueries: Some(&level), ..*outer_context };
    let (offset, left) = limits(plan.limit.as_ref(), context)?;
    if left == 0 && !plan.calc_found_rows {
        environment.found_rows.set(0);
        return Ok(());
    }
    let collations: Vec<CollationId> = plan.columns.iter().map(|column| column.ty.collation).collect();
    let mut output = Output {
        environment,
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
    let mut emit = |fields: &dyn Fields, output: &mut Output<'_, '_>| -> Result<bool> {
        if let Some(having) = &plan.having
            && !having.is_true(context, fields)?
        {
            return Ok(true);
        }
        values.clear();
        for expr in &plan.output {
            values.push(expr.value(context, fields)?);
        }
        output.row(&values, context, fields)
    };
    match &plan.group {
        None => {
            scan(environment, plan, context, &mut |row| emit(row, &mut output))?;
        }
        Some(group) => {
            let mut groups = Groups::new(plan, group, environment);
            scan(environment, plan, context, &mut |row| groups.add(context, row))?;
            groups.finish(context, &mut |row| emit(row, &mut output))?;
        }
    }
    output.finish()
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
        match &source.kind {
            SourceKind::Table(_) => slot.stored = environment.scratch.borrow_mut().rows.pop().unwrap_or_default(),
            SourceKind::Derived(derived) => {
                let mut rows = Vec::new();
                run(environment, derived, context, &mut |row| {
                    environment.keep(row)?;
                    rows.push(row.to_vec());
                    Ok(true)
                })?;
                slot.rows = Some(Rc::new(rows));
            }
            SourceKind::Virtual(table) => slot.rows = Some(Rc::new((table.rows)(&environment.facts))),
        }
    }
    let runner = Runner { environment, plan, context };
    let result = runner.steps(&plan.steps, &mut row, visit);
    let mut scratch = environment.scratch.borrow_mut();
    row.sources.into_iter().for_each(|source| scratch.give_back_row(source.stored));
    result.map(|_| ())
}

/// Nested loops.
struct Runner<'a> {
    environment: &'a Environment<'a>,
    plan: &'a SelectPlan,
    context: &'a EvalContext<'a>,
}

type Next<'n> = dyn FnMut(&mut JoinRow<'_>) -> Result<bool> + 'n;

impl Runner<'_> {
    /// Runs some steps for the current row; false: the consumer has enough.
    fn steps(&self, steps: &[Step], row: &mut JoinRow<'_>, next: &mut Next<'_>) -> Result<bool> {
        let Some((step, rest)) = steps.split_first() else { return next(row) };
        match step {
            Step::Table(step) if rest.is_empty() => self.table(step, row, next),
            Step::Table(step) => self.table(step, row, &mut |row| self.steps(rest, row, next)),
            Step::Left { steps: inner, sources, filters } => {
                let passes = |row: &JoinRow<'_>| -> Result<bool> {
                    for filter in filters {
                        if !filter.is_true(self.context, row)? {
                            return Ok(false);
                        }
                    }
                    Ok(true)
                };
                let mut matched = false;
                let go_on = self.steps(inner, row, &mut |row| {
                    matched = true;
                    if passes(row)? { self.steps(rest, row, next) } else { Ok(true) }
                })?;
                if matched {
                    return Ok(go_on);
                }
                sources.iter().for_each(|source| row.sources[*source].is_null = true);
                if passes(row)? { self.steps(rest, row, next) } else { Ok(true) }
            }
        }
    }

    /// Whether the row meets the conditions of a step.
    #[inline]
    fn passes(&self, step: &TableStep, row: &JoinRow<'_>, answered: bool) -> Result<bool> {
        for filter in &step.filters {
            let known = answered && filter.answered;
            if !known && !filter.expr.is_true(self.context, row)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Reads one table.
    fn table(&self, step: &TableStep, row: &mut JoinRow<'_>, next: &mut Next<'_>) -> Result<bool> {
        row.sources[step.source].is_null = false;
        match &step.access {
            Access::Rows => self.kept_rows(step, row, next),
            Access::Scan { index, reverse } => {
                let all = ScanRange { reverse: *reverse, ..ScanRange::ALL };
                self.cursor(step, *index, &all, false, None, row, next)
            }
            Access::Point { index, key } => {
                let mut ranges = self.environment.scratch.borrow_mut().ranges.pop().unwrap_or_default();
                let result = self.point(step, *index, key, &mut ranges, row, next);
                self.environment.scratch.borrow_mut().give_back_ranges(ranges);
                result
            }
            Access::Range { index, parts, reverse } => {
                let mut ranges = self.environment.scratch.borrow_mut().ranges.pop().unwrap_or_default();
                let result = self.ranges(step, *index, parts, *reverse, &mut ranges, row, next);
                self.environment.scratch.borrow_mut().give_back_ranges(ranges);
                result
            }
        }
    }

    fn kept_rows(&self, step: &TableStep, row: &mut JoinRow<'_>, next: &mut Next<'_>) -> Result<bool> {
        let rows: Rows = row.sources[step.source].rows.clone().unwrap_or_default();
        for at in 0..rows.len() {
            if at % 1024 == 1023 && self.context.session.is_interrupted() {
                return Err(Error::interrupted());
            }
            let source = &mut row.sources[step.source];
            source.at = at;
            source.is_null = false;
            if self.passes(step, row, false)? && !next(row)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn point(
        &self,
        step: &TableStep,
        index: usize,
        key: &[crate::planner::KeyExpr],
        ranges: &mut KeyRanges,
        row: &mut JoinRow<'_>,
        next: &mut Next<'_>,
    ) -> Result<bool> {
        let source = &self.plan.sources[step.source];
        let SourceKind::Table(table) = &source.kind else { unreachable!("points are of stored tables") };
        if !ranges.build_point(table, index, key, self.context, row)? {
            return Ok(true);
        }
        if !ranges.exact {
            return self.cursor(step, 0, &ScanRange::ALL, false, None, row, next);
        }
        let stored = &mut row.sources[step.source].stored;
        let found = ranges.with_point(|key| {
            self.environment.trx.borrow_mut().get(table, index, key, source.read_mode, &source.needed, stored)
        });
        if found.or_sql()? && self.passes(step, row, true)? { next(row) } else { Ok(true) }
    }

    #[expect(clippy::too_many_arguments, reason = "the parts of one range scan")]
    fn ranges(
        &self,
        step: &TableStep,
        index: usize,
        parts: &[crate::planner::PartRange],
        reverse: bool,
        ranges: &mut KeyRanges,
        row: &mut JoinRow<'_>,
        next: &mut Next<'_>,
    ) -> Result<bool> {
        let source = &self.plan.sources[step.source];
        let SourceKind::Table(table) = &source.kind else { unreachable!("ranges are of stored tables") };
        ranges.build(table, index, parts, self.context, row)?;
        for at in 0..ranges.len() {
            let at = if reverse { ranges.len() - 1 - at } else { at };
            let stop = if reverse { None } else { ranges.stop_prefix() };
            let exact = ranges.exact;
            let go_on =
                ranges.with_range(at, reverse, |range| self.cursor(step, index, range, exact, stop, row, next))?;
            if !go_on {
                return Ok(false);
            }
        }
        Ok(true)
    }

    #[expect(clippy::too_many_arguments, reason = "the parts of one range scan")]
    fn cursor(
        &self,
        step: &TableStep,
        index: usize,
        range: &ScanRange<'_>,
        answered: bool,
        stop: Option<(usize, &[u8])>,
        row: &mut JoinRow<'_>,
        next: &mut Next<'_>,
    ) -> Result<bool> {
        let source = &self.plan.sources[step.source];
        let SourceKind::Table(table) = &source.kind else { unreachable!("cursors are of stored tables") };
        let trx = self.environment.trx;
        let mut cursor = trx.borrow_mut().cursor(table, index, source.read_mode, source.needed, *range).or_sql()?;
        loop {
            let more = cursor.next(&mut trx.borrow_mut(), &mut row.sources[step.source].stored).or_sql()?;
            if !more {
                return Ok(true);
            }
            // A table further in may have been read meanwhile, this one not.
            row.sources[step.source].is_null = false;
            if self.passes(step, row, answered)? {
                if cursor.is_unlocked() {
                    // It is to be changed, so it has to be waited for; then it is looked at once more.
                    cursor.insist();
                    continue;
                }
                if !next(row)? {
                    return Ok(false);
                }
            } else {
                if source.read_mode != storage::ReadMode::Consistent {
                    cursor.unlock_row(&mut trx.borrow_mut());
                }
                if let Some((column, prefix)) = stop
                    && is_beyond(table, column, prefix, &row.sources[step.source].stored)
                {
                    return Ok(true);
                }
            }
        }
    }
}

/// Whether a row lies behind all that begin with a LIKE's prefix.
fn is_beyond(table: &storage::Table, column: usize, prefix: &[u8], row: &Row) -> bool {
    let Some(id) = table.columns[column].ty.collation() else { return false };
    let Some(value) = row.get(column) else { return false };
    let collation = format::collation::collation(id);
    let length = collation.charset.char_count(prefix);
    let beginning = collation.charset.substring(value, 0, length);
    collation.compare(beginning, prefix) == Ordering::Greater
}

/// Groups by hash; in the order in which they were first met.
struct Groups<'a> {
    plan: &'a SelectPlan,
    group: &'a GroupPlan,
    environment: &'a Environment<'a>,
    /// slot -> place in the kept values
    place: Vec<u16>,
    index: FxHashMap<Box<[u8]>, usize>,
    groups: Vec<Group>,
    key: Vec<u8>,
}

struct Group {
    kept: Vec<Value>,
    accumulators: Vec<Accumulator>,
}

/// A group as the row that output, HAVING and ORDER BY are evaluated on.
struct GroupRow<'g> {
    place: &'g [u16],
    kept: &'g [Value],
    results: &'g [Value],
}

impl Fields for GroupRow<'_> {
    fn field(&self, slot: usize) -> Datum<'_> {
        self.kept.get(self.place[slot] as usize).map_or(Datum::Null, Datum::from)
    }

    fn aggregate(&self, index: usize) -> Datum<'_> {
        Datum::from(&self.results[index])
    }
}

impl<'a> Groups<'a> {
    fn new(plan: &'a SelectPlan, group: &'a GroupPlan, environment: &'a Environment<'a>) -> Groups<'a> {
        let mut place = vec![u16::MAX; plan.slots.len()];
        for (at, slot) in group.kept.iter().enumerate() {
            place[*slot] = at as u16;
        }
        Groups { plan, group, environment, place, index: FxHashMap::default(), groups: Vec::new(), key: Vec::new() }
    }

    fn add(&mut self, context: &EvalContext<'_>, row: &JoinRow<'_>) -> Result<bool> {
        let number = if self.group.keys.is_empty() {
            if self.groups.is_empty() {
                self.start(row)?;
            }
            0
        } else {
            self.key.clear();
            for expr in &self.group.keys {
                let value = expr.eval(context, row)?;
                group_key(&value, expr.ty.collation, &mut self.key);
            }
            match self.index.get(&self.key[..]) {
                Some(number) => *number,
                None => {
                    self.start(row)?;
                    self.environment.keep_bytes(self.key.len() as u64)?;
                    self.index.insert(self.key.as_slice().into(), self.groups.len() - 1);
                    self.groups.len() - 1
                }
            }
        };
        let group = &mut self.groups[number];
        for (accumulator, call) in group.accumulators.iter_mut().zip(&self.group.aggregates) {
            accumulator.add(call, context, row)?;
        }
        if self.group.first_row_settles {
            let call = &self.group.aggregates[0];
            debug_assert!(matches!(call.function, AggregateFunction::Min | AggregateFunction::Max));
            return Ok(call.args[0].eval(context, row)?.is_null());
        }
        Ok(true)
    }

    fn start(&mut self, row: &JoinRow<'_>) -> Result<()> {
        let kept: Vec<Value> = self.group.kept.iter().map(|slot| row.field(*slot).into_value()).collect();
        self.environment.keep(&kept)?;
        let accumulators: Vec<Accumulator> = self.group.aggregates.iter().map(|call| call.start()).collect();
        self.environment.keep_bytes((accumulators.len() * size_of::<Accumulator>()) as u64)?;
        self.groups.push(Group { kept, accumulators });
        Ok(())
    }

    fn finish(mut self, context: &EvalContext<'_>, emit: &mut dyn FnMut(&dyn Fields) -> Result<bool>) -> Result<()> {
        if self.groups.is_empty() && self.group.keys.is_empty() {
            // Aggregates over nothing are a row.
            let accumulators = self.group.aggregates.iter().map(|call| call.start()).collect();
            self.groups.push(Group { kept: vec![Value::Null; self.group.kept.len()], accumulators });
        }
        debug_assert!(self.place.len() == self.plan.slots.len());
        for group in &mut self.groups {
            let mut results = Vec::with_capacity(group.accumulators.len());
            for (accumulator, call) in group.accumulators.iter_mut().zip(&self.group.aggregates) {
                results.push(accumulator.finish(call, context)?);
            }
            let row = GroupRow { place: &self.place, kept: &group.kept, results: &results };
            if !emit(&row)? {
                break;
            }
        }
        Ok(())
    }
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
    let context = &EvalContext { subqueries: Some(&level), ..*outer_context };
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
    let scanned = scan(environment, plan, context, &mut |row| {
        environment.keep_bytes(sorter.push(table, output, &row.sources[step.source].stored))?;
        Ok(true)
    });
    if scanned.is_ok() {
        let mut row = environment.scratch.borrow_mut().rows.pop().unwrap_or_default();
        found = sorter.give(table, output, offset, left, &mut row, visit);
        environment.scratch.borrow_mut().give_back_row(row);
    }
    environment.scratch.borrow_mut().give_back_sorter(sorter);
    environment.found_rows.set(found);
    scanned
}
