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
//!
//! Sums from the last row to the first come in the wrong order. Of a partition in a file, the sum at the beginning of each
//! block of rows is kept, and the block is summed up again when its results are due.

use std::cmp::Ordering;
use std::collections::VecDeque;
use std::ops::Range;

use format::value::Value;

use super::Put;
use super::frame::Frames;
use super::partition::Partition;
use crate::error::Result;
use crate::expression::{Accumulator, AggregateCall, Datum, EvalContext, order};
use crate::parser::ast::AggregateFunction;
use crate::planner::WindowCall;
use crate::planner::window::Bound;

/// The rows of a block of a partition in a file.
const BLOCK_ROWS: usize = 1024;

/// Bytes that a result is made of before the statement looks whether it was killed, as after a row.
const LOOK_BYTES: u64 = 1 << 10;

/// Puts the results of an aggregate for the rows of a partition.
pub fn compute(
    call: &WindowCall,
    aggregate: &AggregateCall,
    partition: &Partition<'_>,
    context: &EvalContext<'_>,
    put: &mut Put<'_>,
) -> Result<()> {
    let frames = Frames::new(call, partition, context)?;
    let sums = Sums { aggregate, partition, context };
    let begins = call.frame.start == Bound::UnboundedPreceding;
    if matches!(aggregate.function, AggregateFunction::Min | AggregateFunction::Max) && !begins {
        return sums.extremes(frames, put);
    }
    let is_suffix = call.frame.end == Bound::UnboundedFollowing && !begins;
    // The order of its rows is the order of what it gives.
    let is_ordered = matches!(
        aggregate.function,
        AggregateFunction::JsonArrayAgg | AggregateFunction::JsonObjectAgg | AggregateFunction::Collect
    );
    if is_suffix && !aggregate.can_remove() && !is_ordered {
        return sums.backwards(frames, put);
    }
    sums.forwards(frames, put)
}

struct Sums<'a> {
    aggregate: &'a AggregateCall,
    partition: &'a Partition<'a>,
    context: &'a EvalContext<'a>,
}

impl Sums<'_> {
    fn add(&self, sum: &mut Accumulator, rows: Range<usize>) -> Result<()> {
        for at in rows {
            sum.add(self.aggregate, self.context, &self.partition.row(at)?)?;
        }
        Ok(())
    }

    fn result(&self, sum: &Accumulator) -> Result<Value> {
        for _ in 0..sum.kept_bytes() / LOOK_BYTES {
            self.partition.look()?;
        }
        let result = sum.clone().finish(self.aggregate, self.context)?;
        Ok(Datum::from(result).fit(&self.aggregate.ty).into_value())
    }

    fn forwards(&self, mut frames: Frames<'_>, put: &mut Put<'_>) -> Result<()> {
        let mut sum = self.aggregate.start();
        let mut summed = 0..0;
        let mut last: Option<Value> = None;
        for at in 0..self.partition.len() {
            self.partition.look()?;
            let frame = frames.of(at)?;
            if frame == summed
                && let Some(last) = &last
            {
                put(last.clone())?;
                continue;
            }
            let overlaps = frame.start < summed.end && frame.end >= summed.end && frame.start >= summed.start;
            let grows = frame.start == summed.start && frame.end >= summed.end;
            if grows {
                self.add(&mut sum, summed.end..frame.end)?;
            } else if overlaps && self.aggregate.can_remove() {
                for at in summed.start..frame.start {
                    sum.remove(self.aggregate, self.context, &self.partition.row(at)?)?;
                }
                self.add(&mut sum, summed.end..frame.end)?;
            } else {
                sum = self.aggregate.start();
                self.add(&mut sum, frame.clone())?;
            }
            summed = frame;
            let result = self.result(&sum)?;
            put(result.clone())?;
            last = Some(result);
        }
        Ok(())
    }

    /// Frames that all end with the partition.
    fn backwards(&self, mut frames: Frames<'_>, put: &mut Put<'_>) -> Result<()> {
        let count = self.partition.len();
        let length = if self.partition.is_in_memory() { count.max(1) } else { BLOCK_ROWS };
        // Of the rows from the end of each block on, the last block's first.
        let mut sums = vec![self.aggregate.start()];
        for block in (1..count.div_ceil(length)).rev() {
            let mut sum = sums[sums.len() - 1].clone();
            self.add_backwards(&mut sum, block * length..count.min((block + 1) * length), &mut |_| Ok(()))?;
            sums.push(sum);
        }
        let nothing = self.result(&self.aggregate.start())?;
        // The results of the block at hand, from its last row to its first.
        let (mut block, mut results) = (0..0, Vec::new());
        for at in 0..count {
            self.partition.look()?;
            let start = frames.of(at)?.start;
            if start == count {
                put(nothing.clone())?;
                continue;
            }
            while start >= block.end {
                block = block.end..count.min(block.end + length);
                let sum = sums.pop();
                results.clear();
                if start < block.end {
                    let mut sum = sum.unwrap_or_else(|| self.aggregate.start());
                    let first = start;
                    self.add_backwards(&mut sum, first..block.end, &mut |sum| {
                        results.push(self.result(sum)?);
                        Ok(())
                    })?;
                }
            }
            put(results.get(block.end - 1 - start).cloned().unwrap_or(Value::Null))?;
        }
        Ok(())
    }

    fn add_backwards(
        &self,
        sum: &mut Accumulator,
        rows: Range<usize>,
        visit: &mut dyn FnMut(&Accumulator) -> Result<()>,
    ) -> Result<()> {
        for at in rows.rev() {
            self.add(sum, at..at + 1)?;
            visit(sum)?;
        }
        Ok(())
    }

    fn extremes(&self, mut frames: Frames<'_>, put: &mut Put<'_>) -> Result<()> {
        let arg = &self.aggregate.args[0];
        let worse = match self.aggregate.function {
            AggregateFunction::Min => Ordering::Greater,
            _ => Ordering::Less,
        };
        let value_at =
            |at: usize| -> Result<Value> { Ok(arg.eval(self.context, &self.partition.row(at)?)?.into_value()) };
        // The best value comes first; behind it those that are the best once it has left. Those of rows in a file are
        // read again.
        let mut candidates: VecDeque<(usize, Option<Value>)> = VecDeque::new();
        let mut read = 0;
        let mut best: Option<(usize, Value)> = None;
        for at in 0..self.partition.len() {
            self.partition.look()?;
            let frame = frames.of(at)?;
            for at in read.max(frame.start)..frame.end {
                let value = value_at(at)?;
                if value.is_null() {
                    continue;
                }
                while let Some((other, known)) = candidates.back() {
                    let is_worse =
                        |other: &Value| order(&Datum::from(other), &Datum::from(&value), arg.ty.collation) == worse;
                    if !known.as_ref().map_or_else(|| Ok(is_worse(&value_at(*other)?)), |known| Ok(is_worse(known)))? {
                        break;
                    }
                    candidates.pop_back();
                }
                candidates.push_back((at, self.partition.is_in_memory().then_some(value)));
            }
            read = read.max(frame.end);
            while candidates.front().is_some_and(|(at, _)| *at < frame.start) {
                candidates.pop_front();
            }
            let result = match candidates.front().filter(|(at, _)| frame.contains(at)) {
                None => Value::Null,
                Some((_, Some(value))) => value.clone(),
                Some((at, None)) => match &best {
                    Some((known, value)) if known == at => value.clone(),
                    _ => best.insert((*at, value_at(*at)?)).1.clone(),
                },
            };
            put(result)?;
        }
        Ok(())
    }
}
