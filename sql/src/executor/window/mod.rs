//! Window functions at work.
//!
//! All rows that HAVING lets through are kept, as far as anything reads them. For each order that a window asks for they
//! are sorted once, partition by partition the functions of that order get their results, and the rows go on in the order
//! of the last sort:
//!
//! ```text
//! rows -> kept -> sort by (partition, order) -> partition [ peers, frames -> results ] -> output
//! ```
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
use self::row::{Kept, KeptRow};
use super::Environment;
use super::memory::{Account, row_bytes};
use super::sort::sort_by;
use crate::error::{Error, Result};
use crate::expression::{Datum, EvalContext, Expr, Fields, order};
use crate::planner::window::Function;
use crate::planner::{SelectPlan, WindowCall, WindowPlan};

/// How many rows are looked at before the statement looks whether it was killed.
const INTERRUPT_EVERY: usize = 1024;

/// The rows of a query with window functions.
pub struct Windows<'a> {
    plan: &'a WindowPlan,
    /// slot -> place in the kept values
    place: Vec<u16>,
    rows: Vec<Kept>,
    account: Account<'a>,
}

impl<'a> Windows<'a> {
    pub fn new(plan: &'a SelectPlan, windows: &'a WindowPlan, environment: &'a Environment<'a>) -> Windows<'a> {
        let mut place = vec![u16::MAX; plan.slots.len()];
        for (at, slot) in windows.kept.iter().enumerate() {
            place[*slot] = at as u16;
        }
        Windows { plan: windows, place, rows: Vec::new(), account: environment.memory.account() }
    }

    /// Takes a row.
    pub fn add(&mut self, fields: &dyn Fields) -> Result<()> {
        let values: Vec<Value> = self.plan.kept.iter().map(|slot| fields.field(*slot).into_value()).collect();
        let aggregates: Vec<Value> =
            (0..self.plan.aggregates).map(|index| fields.aggregate(index).into_value()).collect();
        self.account.add(row_bytes(&values) + row_bytes(&aggregates))?;
        self.rows.push(Kept { values, aggregates, windows: Vec::new() });
        Ok(())
    }

    /// Computes all functions, and gives each row.
    pub fn finish(
        mut self,
        context: &EvalContext<'_>,
        emit: &mut dyn FnMut(&dyn Fields) -> Result<bool>,
    ) -> Result<()> {
        let calls = &self.plan.calls;
        for row in &mut self.rows {
            row.windows = vec![Value::Null; calls.len()];
        }
        self.account.add((self.rows.len() * calls.len() * size_of::<Value>()) as u64)?;
        let mut sequence: Vec<u32> = (0..self.rows.len() as u32).collect();
        let mut is_done = vec![false; calls.len()];
        for first in 0..calls.len() {
            if is_done[first] {
                continue;
            }
            let same =
                |at: &usize| calls[*at].partition == calls[first].partition && calls[*at].order == calls[first].order;
            let group: Vec<usize> = (first..calls.len()).filter(same).collect();
            group.iter().for_each(|at| is_done[*at] = true);
            self.one_order(&group, &mut sequence, context)?;
        }
        for (number, at) in sequence.iter().enumerate() {
            if number % INTERRUPT_EVERY == INTERRUPT_EVERY - 1 && context.session.is_interrupted() {
                return Err(Error::interrupted());
            }
            if !emit(&KeptRow { place: &self.place, kept: &self.rows[*at as usize] })? {
                break;
            }
        }
        Ok(())
    }

    /// Sorts the rows as some functions want them, and computes these.
    fn one_order(&mut self, group: &[usize], sequence: &mut [u32], context: &EvalContext<'_>) -> Result<()> {
        let calls = &self.plan.calls;
        let call = &calls[group[0]];
        let width = call.partition.len();
        let by: Vec<(&Expr, bool)> = call
            .partition
            .iter()
            .map(|expr| (expr, false))
            .chain(call.order.iter().map(|(expr, descending)| (expr, *descending)))
            .collect();
        let mut keys: Vec<(Vec<Value>, u32)> = Vec::with_capacity(sequence.len());
        let mut bytes = 0;
        for (number, at) in sequence.iter().enumerate() {
            if number % INTERRUPT_EVERY == INTERRUPT_EVERY - 1 && context.session.is_interrupted() {
                return Err(Error::interrupted());
            }
            let row = KeptRow { place: &self.place, kept: &self.rows[*at as usize] };
            let key = by.iter().map(|(expr, _)| expr.value(context, &row)).collect::<Result<Vec<_>>>()?;
            let key_bytes = row_bytes(&key);
            self.account.add(key_bytes)?;
            bytes += key_bytes;
            keys.push((key, *at));
        }
        if !by.is_empty() {
            sort_by(&mut keys, || context.session.is_interrupted(), |(a, _), (b, _)| compare(a, b, &by))?;
        }
        for (place, (_, at)) in sequence.iter_mut().zip(&keys) {
            *place = *at;
        }
        let mut from = 0;
        while from < keys.len() {
            let first = &keys[from].0[..width];
            let same = |(key, _): &&(Vec<Value>, u32)| compare(&key[..width], first, &by[..width]) == Ordering::Equal;
            let to = from + keys[from..].iter().take_while(same).count();
            let partition = Partition::new(&keys[from..to], width, &call.order, &self.rows, &self.place);
            let mut results = Vec::with_capacity(group.len());
            for at in group {
                results.push(compute(&calls[*at], &partition, context)?);
            }
            for (at, results) in group.iter().zip(results) {
                for (value, (_, row)) in results.into_iter().zip(&keys[from..to]) {
                    self.account.add(row_bytes(std::slice::from_ref(&value)))?;
                    self.rows[*row as usize].windows[*at] = value;
                }
            }
            from = to;
        }
        drop(keys);
        self.account.give_back(bytes);
        Ok(())
    }
}

fn compute(call: &WindowCall, partition: &Partition<'_>, context: &EvalContext<'_>) -> Result<Vec<Value>> {
    match &call.function {
        Function::Aggregate(aggregate) => aggregate::compute(call, aggregate, partition, context),
        _ => values::compute(call, partition, context),
    }
}

fn compare(a: &[Value], b: &[Value], by: &[(&Expr, bool)]) -> Ordering {
    for ((a, b), (expr, descending)) in a.iter().zip(b).zip(by) {
        let compared = order(&Datum::from(a), &Datum::from(b), expr.ty.collation);
        if compared != Ordering::Equal {
            return if *descending { compared.reverse() } else { compared };
        }
    }
    Ordering::Equal
}
