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
//! Sorts write to files what does not fit into memory; so does a partition ([`file`]), and the results of its functions
//! ([`results`]), which are computed one after the other.
//!
//! A frame's bounds never move back from one row to the next, so the bounds of a whole partition take one pass, and an
//! aggregate over them takes what enters a frame in and what leaves it out again ([`aggregate`]).

mod aggregate;
mod file;
mod frame;
mod partition;
mod results;
mod row;
mod values;

use std::cmp::Ordering;

use format::value::Value;

use self::file::{FileRows, FileWriter};
use self::partition::{Partition, Place};
use self::results::Results;
use self::row::{KeptRow, WindowRow};
use super::Environment;
use super::memory::{Account, Purpose};
use super::sorter::{Record, Sorted, Sorter};
use crate::error::{Error, Result};
use crate::expression::{Datum, EvalContext, Expr, Fields, order};
use crate::planner::window::Function;
use crate::planner::{SelectPlan, WindowCall, WindowPlan};
use crate::temporary::Pile;

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
            let account = environment.memory.account_for(Purpose::Partition);
            let mut partitions = Partitions { pass, first: None, rows: Pile::default(), account };
            let mut results: Vec<Results> = pass.calls.iter().map(|_| Results::default()).collect();
            let mut go_on = true;
            let mut take = |mut row: WindowRow, results: &mut [Results]| -> Result<bool> {
                environment.tick(context)?;
                for (result, call) in results.iter_mut().zip(&pass.calls) {
                    row.windows[*call] = result.next()?;
                }
                match next {
                    Some(next) => next.push(row, &place, &mut next_sorter, context).map(|()| true),
                    None => emit(&KeptRow { place: &place, kept: &row }),
                }
            };
            while go_on {
                environment.tick(context)?;
                let (in_file, is_last) = partitions.next(&mut sorted, context)?;
                let rows = match &in_file {
                    None if partitions.rows.is_empty() => break,
                    None => Place::Memory(&partitions.rows),
                    Some(rows) => Place::File(rows),
                };
                pass.compute(plan, rows, &place, &mut results, &mut partitions.account, context)?;
                match in_file {
                    None => {
                        for row in partitions.rows.iter_mut() {
                            if !take(std::mem::take(row), &mut results)? {
                                return Ok(());
                            }
                        }
                        partitions.rows.clear();
                    }
                    Some(rows) => rows.for_each(&mut |row| {
                        go_on = take(row, &mut results)?;
                        Ok(go_on)
                    })?,
                }
                results.iter_mut().for_each(Results::clear);
                partitions.account.clear();
                go_on &= !is_last;
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
    /// The rows of the partition, if they fit into memory.
    rows: Pile<Vec<WindowRow>>,
    account: Account<'a>,
}

impl Partitions<'_> {
    /// Fetches the rows of the next partition, which are in a file if there is no memory for them. True: it is the last.
    fn next(&mut self, sorted: &mut Sorted<WindowRow>, context: &EvalContext<'_>) -> Result<(Option<FileRows>, bool)> {
        let width = self.pass.width;
        let compare = self.pass.compare();
        // What was never in a file is accounted for by the sort.
        let is_counted = matches!(sorted, Sorted::Merge(_));
        let mut writer: Option<FileWriter> = None;
        let mut keys: Vec<Value> = Vec::new();
        self.rows.extend(self.first.take());
        let mut is_last = true;
        let mut number = 0_usize;
        while let Some(row) = sorted.next(&compare, context.session)? {
            number += 1;
            if number.is_multiple_of(INTERRUPT_EVERY) && context.session.is_interrupted() {
                return Err(Error::interrupted());
            }
            let first = self.rows.first().map(|first| &first.keys).or(writer.as_ref().map(|_| &keys));
            let is_other = first.is_some_and(|first| {
                compare_keys(&first[..width], &row.keys[..width], &self.pass.by[..width]) != Ordering::Equal
            });
            if is_other {
                self.first = Some(row);
                is_last = false;
                break;
            }
            if let Some(writer) = &mut writer {
                writer.push(&row)?;
            } else if !is_counted || self.account.fits(row.bytes()) {
                self.rows.push(row);
            } else {
                self.account.clear();
                keys.clone_from(&row.keys);
                let writer = writer.insert(FileWriter::new(&mut self.account)?);
                for row in self.rows.iter() {
                    writer.push(row)?;
                }
                writer.push(&row)?;
                self.rows = Pile::default();
            }
        }
        Ok((writer.map(FileWriter::finish).transpose()?, is_last))
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
        rows: Place<'_>,
        place: &[u16],
        results: &mut [Results],
        account: &mut Account<'_>,
        context: &EvalContext<'_>,
    ) -> Result<()> {
        for (at, results) in self.calls.iter().zip(results) {
            let call = &plan.calls[*at];
            let partition = Partition::new(rows, self.width, &call.order, place, context.session);
            compute(call, &partition, context, &mut |value| results.push(value, account))?;
            results.finish()?;
        }
        Ok(())
    }
}

/// Takes the result of the next row.
type Put<'p> = dyn FnMut(Value) -> Result<()> + 'p;

fn compute(call: &WindowCall, partition: &Partition<'_>, context: &EvalContext<'_>, put: &mut Put<'_>) -> Result<()> {
    match &call.function {
        Function::Aggregate(aggregate) => aggregate::compute(call, aggregate, partition, context, put),
        _ => values::compute(call, partition, context, put),
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
