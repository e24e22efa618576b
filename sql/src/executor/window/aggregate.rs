//! Aggregates over frames.
//!
//! | the frames | how |
//! |---|---|
//! | begin with the partition, or grow | each row is added once |
//! | move, of COUNT, BIT_XOR, and exact SUM and AVG | rows that leave are taken out again |
//! | move, of MIN and MAX | the candidates of the frame in a queue, each better than those before it were |
//! | end with the partition, of all others | from the last row to the first |
//! | move, of all others | each frame is summed up anew |
//!
//! Sums of doubles are not taken out again: what was lost to rounding would not come back.

use std::cmp::Ordering;
use std::collections::VecDeque;
use std::ops::Range;

use format::value::Value;

use super::INTERRUPT_EVERY;
use super::frame::frames;
use super::partition::Partition;
use crate::error::{Error, Result};
use crate::expression::{Accumulator, AggregateCall, Datum, EvalContext, order};
use crate::parser::ast::AggregateFunction;
use crate::planner::WindowCall;
use crate::planner::window::Bound;

/// The results of an aggregate for the rows of a partition.
pub fn compute(
    call: &WindowCall,
    aggregate: &AggregateCall,
    partition: &Partition<'_>,
    context: &EvalContext<'_>,
) -> Result<Vec<Value>> {
    let frames = frames(call, partition, context)?;
    let mut sums = Sums { aggregate, partition, context, done: 0 };
    if matches!(aggregate.function, AggregateFunction::Min | AggregateFunction::Max) {
        return sums.extremes(&frames);
    }
    let is_suffix = call.frame.end == Bound::UnboundedFollowing && call.frame.start != Bound::UnboundedPreceding;
    // The order of its rows is the order of what it gives.
    let is_ordered = matches!(
        aggregate.function,
        AggregateFunction::JsonArrayAgg | AggregateFunction::JsonObjectAgg | AggregateFunction::Collect
    );
    if is_suffix && !aggregate.can_remove() && !is_ordered {
        return sums.backwards(&frames);
    }
    sums.forwards(&frames)
}

struct Sums<'a> {
    aggregate: &'a AggregateCall,
    partition: &'a Partition<'a>,
    context: &'a EvalContext<'a>,
    /// Rows looked at.
    done: usize,
}

impl Sums<'_> {
    fn add(&mut self, sum: &mut Accumulator, rows: Range<usize>) -> Result<()> {
        for at in rows {
            self.note_row()?;
            sum.add(self.aggregate, self.context, &self.partition.row(at))?;
        }
        Ok(())
    }

    fn note_row(&mut self) -> Result<()> {
        self.done += 1;
        match self.done.is_multiple_of(INTERRUPT_EVERY) && self.context.session.is_interrupted() {
            true => Err(Error::interrupted()),
            false => Ok(()),
        }
    }

    fn result(&self, sum: &Accumulator) -> Result<Value> {
        let result = sum.clone().finish(self.aggregate, self.context)?;
        Ok(Datum::from(result).fit(&self.aggregate.ty).into_value())
    }

    fn forwards(&mut self, frames: &[Range<usize>]) -> Result<Vec<Value>> {
        let mut results: Vec<Value> = Vec::with_capacity(frames.len());
        let mut sum = self.aggregate.start();
        let mut summed = 0..0;
        for frame in frames {
            self.note_row()?;
            if *frame == summed
                && let Some(last) = results.last()
            {
                results.push(last.clone());
                continue;
            }
            let overlaps = frame.start < summed.end && frame.end >= summed.end && frame.start >= summed.start;
            let grows = frame.start == summed.start && frame.end >= summed.end;
            if grows {
                self.add(&mut sum, summed.end..frame.end)?;
            } else if overlaps && self.aggregate.can_remove() {
                for at in summed.start..frame.start {
                    self.note_row()?;
                    sum.remove(self.aggregate, self.context, &self.partition.row(at))?;
                }
                self.add(&mut sum, summed.end..frame.end)?;
            } else {
                sum = self.aggregate.start();
                self.add(&mut sum, frame.clone())?;
            }
            summed = frame.clone();
            results.push(self.result(&sum)?);
        }
        Ok(results)
    }

    /// Frames that all end with the partition, from the shortest to the longest.
    fn backwards(&mut self, frames: &[Range<usize>]) -> Result<Vec<Value>> {
        let mut results = vec![Value::Null; frames.len()];
        let mut sum = self.aggregate.start();
        let mut begin = self.partition.len();
        for (at, frame) in frames.iter().enumerate().rev() {
            self.note_row()?;
            for row in (frame.start..begin).rev() {
                self.add(&mut sum, row..row + 1)?;
            }
            begin = begin.min(frame.start);
            results[at] = self.result(&sum)?;
        }
        Ok(results)
    }

    fn extremes(&mut self, frames: &[Range<usize>]) -> Result<Vec<Value>> {
        let arg = &self.aggregate.args[0];
        let worse = match self.aggregate.function {
            AggregateFunction::Min => Ordering::Greater,
            _ => Ordering::Less,
        };
        // The best value comes first; behind it those that are the best once it has left.
        let mut candidates: VecDeque<(usize, Value)> = VecDeque::new();
        let mut read = 0;
        let mut results = Vec::with_capacity(frames.len());
        for frame in frames {
            self.note_row()?;
            for at in read.max(frame.start)..frame.end {
                self.note_row()?;
                let row = self.partition.row(at);
                let value = arg.eval(self.context, &row)?;
                if value.is_null() {
                    continue;
                }
                let value = value.into_value();
                let is_worse = |(_, other): &(usize, Value)| {
                    order(&Datum::from(other), &Datum::from(&value), arg.ty.collation) == worse
                };
                while candidates.back().is_some_and(is_worse) {
                    candidates.pop_back();
                }
                candidates.push_back((at, value));
            }
            read = read.max(frame.end);
            while candidates.front().is_some_and(|(at, _)| *at < frame.start) {
                candidates.pop_front();
            }
            let best = candidates.front().filter(|(at, _)| frame.contains(at));
            results.push(best.map_or(Value::Null, |(_, value)| value.clone()));
        }
        Ok(results)
    }
}
