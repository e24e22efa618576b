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

use format::value::Value;

use self::file::{FileRows, FileWriter};
use self::partition::{Partition, Place};
use self::results::Results;
use self::row::{KeptRow, Keys, Shape, Values, WindowRow};
use super::Environment;
use super::memory::{Account, Purpose};
use super::sorter::{Record, Sorted, Sorter};
use crate::error::{Error, Result};
use crate::expression::{Datum, EvalContext, Fields};
use crate::parser::ast::FrameUnit;
use crate::planner::window::{Bound, Function};
use crate::planner::{SelectPlan, WindowCall, WindowPlan};
use crate::temporary::Pile;

/// How many rows are looked at before the statement looks whether it was killed.
const INTERRUPT_EVERY: usize = 1024;

/// The rows of a query with window functions.
pub struct Windows<'a> {
    environment: &'a Environment<'a>,
    plan: &'a WindowPlan,
    shape: Shape,
    passes: Vec<Pass<'a>>,
    sorter: Sorter<'a, WindowRow>,
    /// Where rows are made.
    scratch: Vec<u8>,
}

/// Functions that want the rows in one order.
struct Pass<'a> {
    /// Their numbers.
    calls: Vec<usize>,
    keys: Keys<'a>,
    /// Where their results are among the values of a row.
    results_at: usize,
}

impl<'a> Windows<'a> {
    pub fn new(plan: &'a SelectPlan, windows: &'a WindowPlan, environment: &'a Environment<'a>) -> Windows<'a> {
        let mut slots = vec![u16::MAX; plan.slots.len()];
        for (at, slot) in windows.kept.iter().enumerate() {
            slots[*slot] = at as u16;
        }
        let calls = &windows.calls;
        let mut groups: Vec<Vec<usize>> = Vec::new();
        for (at, call) in calls.iter().enumerate() {
            let is_same = |group: &&mut Vec<usize>| {
                let first = &calls[group[0]];
                first.partition == call.partition && first.order == call.order
            };
            match groups.iter_mut().find(is_same) {
                Some(group) => group.push(at),
                None => groups.push(vec![at]),
            }
        }
        let mut shape = Shape { slots, aggregates: windows.kept.len(), windows: vec![0; calls.len()] };
        let mut results_at = shape.aggregates + windows.aggregates;
        let mut passes = Vec::new();
        for group in groups {
            for (number, at) in group.iter().enumerate() {
                shape.windows[*at] = results_at + number;
            }
            let first = &calls[group[0]];
            let order = first.order.iter().map(|(expr, descending)| (expr, *descending));
            let by = first.partition.iter().map(|expr| (expr, false)).chain(order).collect();
            let has_value = group.iter().any(|at| is_bound_by_value(&calls[*at]));
            let keys = Keys::new(by, first.partition.len(), has_value);
            let next_at = results_at + group.len();
            passes.push(Pass { calls: group, keys, results_at });
            results_at = next_at;
        }
        let sorter = Sorter::new(environment.memory.account_for(Purpose::Table));
        Windows { environment, plan: windows, shape, passes, sorter, scratch: Vec::new() }
    }

    /// Takes a row.
    pub fn add(&mut self, fields: &dyn Fields, context: &EvalContext<'_>) -> Result<()> {
        let Some(pass) = self.passes.first() else { return Err(Error::internal("a window without a function")) };
        let plan = self.plan;
        let fill = |out: &mut Values<'_>| {
            plan.kept.iter().for_each(|slot| out.push(&fields.field(*slot)));
            (0..plan.aggregates).for_each(|index| out.push(&fields.aggregate(index)));
        };
        let row = pass.keys.row(fields, pass.results_at, fill, &mut self.scratch, context)?;
        self.sorter.push(row, u64::MAX, &|a, b| pass.keys.compare(a, b), context.session)
    }

    /// Computes all functions, and gives each row.
    pub fn finish(self, context: &EvalContext<'_>, emit: &mut dyn FnMut(&dyn Fields) -> Result<bool>) -> Result<()> {
        let Windows { environment, plan, shape, passes, mut sorter, mut scratch } = self;
        for (number, pass) in passes.iter().enumerate() {
            let compare = |a: &WindowRow, b: &WindowRow| pass.keys.compare(a, b);
            let (mut sorted, _account, _) = sorter.finish(u64::MAX, &compare, context.session)?;
            let next = passes.get(number + 1);
            let mut next_sorter = Sorter::new(environment.memory.account_for(Purpose::Table));
            let account = environment.memory.account_for(Purpose::Partition);
            let mut partitions = Partitions { pass, first: None, rows: Pile::default(), account };
            let mut results: Vec<Results> = pass.calls.iter().map(|_| Results::default()).collect();
            let mut go_on = true;
            let mut of_row: Vec<Datum<'static>> = Vec::new();
            let mut take = |row: WindowRow, results: &mut [Results]| -> Result<bool> {
                environment.tick(context)?;
                of_row.clear();
                for result in results {
                    of_row.push(result.next()?.into());
                }
                let row = KeptRow { shape: &shape, kept: &row, results: &of_row, results_at: pass.results_at };
                let Some(next) = next else { return emit(&row) };
                let row = next.keys.row(&row, next.results_at, |out| row.write(out), &mut scratch, context)?;
                next_sorter.push(row, u64::MAX, &|a, b| next.keys.compare(a, b), context.session)?;
                Ok(true)
            };
            while go_on {
                environment.tick(context)?;
                let (in_file, is_last) = partitions.next(&mut sorted, context)?;
                let rows = match &in_file {
                    None if partitions.rows.is_empty() => break,
                    None => Place::Memory(&partitions.rows),
                    Some(rows) => Place::File(rows),
                };
                pass.compute(plan, rows, &shape, &mut results, &mut partitions.account, context)?;
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
        let keys = &self.pass.keys;
        let compare = |a: &WindowRow, b: &WindowRow| keys.compare(a, b);
        // What was never in a file is accounted for by the sort.
        let is_counted = matches!(sorted, Sorted::Merge(_));
        let mut writer: Option<(FileWriter, WindowRow)> = None;
        self.rows.extend(self.first.take());
        let mut is_last = true;
        let mut number = 0_usize;
        while let Some(row) = sorted.next(&compare, context.session)? {
            number += 1;
            if number.is_multiple_of(INTERRUPT_EVERY) && context.session.is_interrupted() {
                return Err(Error::interrupted());
            }
            let first = self.rows.first().or(writer.as_ref().map(|(_, first)| first));
            if first.is_some_and(|first| !keys.are_of_one_partition(first, &row)) {
                self.first = Some(row);
                is_last = false;
                break;
            }
            if let Some((writer, _)) = &mut writer {
                writer.push(&row)?;
            } else if !is_counted || self.account.fits(row.bytes()) {
                self.rows.push(row);
            } else {
                self.account.clear();
                let mut in_file = FileWriter::new(&mut self.account)?;
                for row in self.rows.iter() {
                    in_file.push(row)?;
                }
                in_file.push(&row)?;
                writer = Some((in_file, row));
                self.rows = Pile::default();
            }
        }
        Ok((writer.map(|(writer, _)| writer.finish()).transpose()?, is_last))
    }
}

impl Pass<'_> {
    /// Computes the functions for the rows of a partition.
    fn compute(
        &self,
        plan: &WindowPlan,
        rows: Place<'_>,
        shape: &Shape,
        results: &mut [Results],
        account: &mut Account<'_>,
        context: &EvalContext<'_>,
    ) -> Result<()> {
        for (at, results) in self.calls.iter().zip(results) {
            let call = &plan.calls[*at];
            let partition = Partition::new(rows, &self.keys, &call.order, shape, context.session);
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

/// Whether a frame of it ends at a distance of the order's value.
fn is_bound_by_value(call: &WindowCall) -> bool {
    let is_distance = |bound: &Bound| matches!(bound, Bound::Preceding(_) | Bound::Following(_));
    call.frame.unit == FrameUnit::Range && (is_distance(&call.frame.start) || is_distance(&call.frame.end))
}
