//! Window functions at work.
//!
//! All rows that HAVING lets through are kept, as far as anything reads them. For each order that a window asks for they
//! are sorted once, partition by partition the functions of that order get their results, and the rows go on in the order
//! of the last sort:
//!
//! ```text
//! rows -> sort by (partition, order) -> partition [ peers, frames -> results ] -> sort by the next -> ... -> output
//! ```
//!
//! Sorts write to files what does not fit into memory; a partition is in memory as a whole (1038 if it cannot be).
//!
//! A frame's bounds never move back from one row to the next, so the bounds of a whole partition take one pass, and an
//! aggregate over them takes what enters a frame in and what leaves it out again ([`aggregate`]).

mod aggregate;
mod frame;
mod partition;
mod row;
mod values;

use std::cmp::Ordering;

use format::value::Value;

use self::partition::Partition;
use self::row::{KeptRow, WindowRow};
use super::Environment;
use super::memory::{Account, Purpose, row_bytes};
use super::sorter::{Record, Sorted, Sorter};
use crate::error::{Error, Result};
use crate::expression::{Datum, EvalContext, Expr, Fields, order};
use crate::planner::window::Function;
use crate::planner::{SelectPlan, WindowCall, WindowPlan};

/// How many rows are looked at before the statement looks whether it was killed.
const INTERRUPT_EVERY: usize = 1024;

/// The rows of a query with window functions.
pub struct Windows<'a> {
    environment: &'a Environment<'a>,
    plan: &'a WindowPlan,
    /// slot -> place in the kept values
    place: Vec<u16>,
    passes: Vec<Pass<'a>>,
    sorter: Sorter<'a, WindowRow>,
}

/// Functions that want the rows in one order.
struct Pass<'a> {
    /// Their numbers.
    calls: Vec<usize>,
    /// What the partition and the order are by.
    by: Vec<(&'a Expr, bool)>,
    /// How many of these are the partition's.
    width: usize,
}

impl<'a> Windows<'a> {
    pub fn new(plan: &'a SelectPlan, windows: &'a WindowPlan, environment: &'a Environment<'a>) -> Windows<'a> {
        let mut place = vec![u16::MAX; plan.slots.len()];
        for (at, slot) in windows.kept.iter().enumerate() {
            place[*slot] = at as u16;
        }
        let calls = &windows.calls;
        let mut passes: Vec<Pass<'_>> = Vec::new();
        for (at, call) in calls.iter().enumerate() {
            let same = |pass: &&mut Pass<'_>| {
                let first = &calls[pass.calls[0]];
                first.partition == call.partition && first.order == call.order
            };
            match passes.iter_mut().find(same) {
                Some(pass) => pass.calls.push(at),
                None => {
                    let order = call.order.iter().map(|(expr, descending)| (expr, *descending));
                    let by = call.partition.iter().map(|expr| (expr, false)).chain(order).collect();
                    passes.push(Pass { calls: vec![at], by, width: call.partition.len() });
                }
            }
        }
        let sorter = Sorter::new(environment.memory.account_for(Purpose::Table));
        Windows { environment, plan: windows, place, passes, sorter }
    }

    /// Takes a row.
    pub fn add(&mut self, fields: &dyn Fields, context: &EvalContext<'_>) -> Result<()> {
        let values: Vec<Value> = self.plan.kept.iter().map(|slot| fields.field(*slot).into_value()).collect();
        let aggregates: Vec<Value> =
            (0..self.plan.aggregates).map(|index| fields.aggregate(index).into_value()).collect();
        let windows = vec![Value::Null; self.plan.calls.len()];
        let row = WindowRow { keys: Vec::new(), values, aggregates, windows };
        let Some(pass) = self.passes.first() else { return Err(Error::internal("a window without a function")) };
        pass.push(row, &self.place, &mut self.sorter, context)
    }

    /// Computes all functions, and gives each row.
    pub fn finish(self, context: &EvalContext<'_>, emit: &mut dyn FnMut(&dyn Fields) -> Result<bool>) -> Result<()> {
        let Windows { environment, plan, place, passes, mut sorter } = self;
        for (number, pass) in passes.iter().enumerate() {
            let (mut sorted, _account, _) = sorter.finish(u64::MAX, &pass.compare(), context.session)?;
            let next = passes.get(number + 1);
            let mut next_sorter = Sorter::new(environment.memory.account_for(Purpose::Table));
            let mut partitions = Partitions { pass, first: None, account: environment.memory.account() };
            let mut rows = Vec::new();
            loop {
                environment.tick(context)?;
                let is_last = partitions.next(&mut sorted, &mut rows, context)?;
                if rows.is_empty() {
                    break;
                }
                pass.compute(plan, &mut rows, &place, &mut partitions.account, context)?;
                for row in rows.drain(..) {
                    environment.tick(context)?;
                    match next {
                        Some(next) => next.push(row, &place, &mut next_sorter, context)?,
                        None if !emit(&KeptRow { place: &place, kept: &row })? => return Ok(()),
                        None => {}
                    }
                }
                partitions.account.clear();
                if is_last {
                    break;
                }
            }
            sorter = next_sorter;
        }
        Ok(())
    }
}

/// Takes sorted rows apart.
struct Partitions<'a> {
    pass: &'a Pass<'a>,
    /// The first row of the next partition.
    first: Option<WindowRow>,
    account: Account<'a>,
}

impl Partitions<'_> {
    /// Appends the rows of the next partition; true: it is the last.
    fn next(
        &mut self,
        sorted: &mut Sorted<WindowRow>,
        rows: &mut Vec<WindowRow>,
        context: &EvalContext<'_>,
    ) -> Result<bool> {
        let width = self.pass.width;
        let compare = self.pass.compare();
        // What was never in a file is accounted for by the sort.
        let is_counted = matches!(sorted, Sorted::Merge(_));
        rows.extend(self.first.take());
        while let Some(row) = sorted.next(&compare, context.session)? {
            if rows.len() % INTERRUPT_EVERY == INTERRUPT_EVERY - 1 && context.session.is_interrupted() {
                return Err(Error::interrupted());
            }
            let is_other = rows.first().is_some_and(|first: &WindowRow| {
                compare_keys(&first.keys[..width], &row.keys[..width], &self.pass.by[..width]) != Ordering::Equal
            });
            if is_other {
                self.first = Some(row);
                return Ok(false);
            }
            if is_counted {
                self.account.add(row.bytes())?;
            }
            rows.push(row);
        }
        Ok(true)
    }
}

impl Pass<'_> {
    fn compare(&self) -> impl Fn(&WindowRow, &WindowRow) -> Ordering {
        |a, b| compare_keys(&a.keys, &b.keys, &self.by)
    }

    /// Gives a row to the sort of this order.
    fn push(
        &self,
        mut row: WindowRow,
        place: &[u16],
        sorter: &mut Sorter<'_, WindowRow>,
        context: &EvalContext<'_>,
    ) -> Result<()> {
        let fields = KeptRow { place, kept: &row };
        row.keys = self.by.iter().map(|(expr, _)| expr.value(context, &fields)).collect::<Result<Vec<_>>>()?;
        sorter.push(row, u64::MAX, &self.compare(), context.session)
    }

    /// Computes the functions for the rows of a partition.
    fn compute(
        &self,
        plan: &WindowPlan,
        rows: &mut [WindowRow],
        place: &[u16],
        account: &mut Account<'_>,
        context: &EvalContext<'_>,
    ) -> Result<()> {
        for at in &self.calls {
            let call = &plan.calls[*at];
            let results = compute(call, &Partition::new(rows, self.width, &call.order, place), context)?;
            for (value, row) in results.into_iter().zip(rows.iter_mut()) {
                account.add(row_bytes(std::slice::from_ref(&value)))?;
                row.windows[*at] = value;
            }
        }
        Ok(())
    }
}

fn compute(call: &WindowCall, partition: &Partition<'_>, context: &EvalContext<'_>) -> Result<Vec<Value>> {
    match &call.function {
        Function::Aggregate(aggregate) => aggregate::compute(call, aggregate, partition, context),
        _ => values::compute(call, partition, context),
    }
}

fn compare_keys(a: &[Value], b: &[Value], by: &[(&Expr, bool)]) -> Ordering {
    for ((a, b), (expr, descending)) in a.iter().zip(b).zip(by) {
        let compared = order(&Datum::from(a), &Datum::from(b), expr.ty.collation);
        if compared != Ordering::Equal {
            return if *descending { compared.reverse() } else { compared };
        }
    }
    Ordering::Equal
}
