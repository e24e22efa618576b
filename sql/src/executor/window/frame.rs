//! Frames: which rows of its partition a row's function sees.

use std::ops::Range;

use format::value::{Decimal, Value};

use super::partition::Partition;
use crate::error::{Error, Result};
use crate::expression::arithmetic::compute;
use crate::expression::datum::Number;
use crate::expression::{Datum, EvalContext, NoFields};
use crate::parser::ast::{BinaryOp, FrameUnit};
use crate::planner::WindowCall;
use crate::planner::window::{Bound, Offset};

/// The frame of each row of a partition: bounds that never move back. An empty frame begins where it ends.
pub fn frames(call: &WindowCall, partition: &Partition<'_>, context: &EvalContext<'_>) -> Result<Vec<Range<usize>>> {
    let starts = bounds(call, &call.frame.start, partition, context, true)?;
    let ends = bounds(call, &call.frame.end, partition, context, false)?;
    Ok(starts.into_iter().zip(ends).map(|(start, end)| start.min(end)..end).collect())
}

fn bounds(
    call: &WindowCall,
    bound: &Bound,
    partition: &Partition<'_>,
    context: &EvalContext<'_>,
    is_start: bool,
) -> Result<Vec<usize>> {
    let count = partition.len();
    Ok(match (bound, call.frame.unit) {
        (Bound::UnboundedPreceding, _) => vec![0; count],
        (Bound::UnboundedFollowing, _) => vec![count; count],
        (Bound::CurrentRow, FrameUnit::Rows) => (0..count).map(|at| at + usize::from(!is_start)).collect(),
        (Bound::CurrentRow, FrameUnit::Range) => {
            partition.peer_groups().flat_map(|peers| peers.clone().map(move |_| edge(&peers, is_start))).collect()
        }
        (Bound::Preceding(offset), FrameUnit::Rows) => {
            let rows = row_count(call, offset, context)?;
            (0..count).map(|at| (at + usize::from(!is_start)).saturating_sub(rows)).collect()
        }
        (Bound::Following(offset), FrameUnit::Rows) => {
            let rows = row_count(call, offset, context)?;
            (0..count).map(|at| (at + usize::from(!is_start)).saturating_add(rows).min(count)).collect()
        }
        (Bound::Preceding(offset), FrameUnit::Range) => by_value(call, offset, partition, context, true, is_start)?,
        (Bound::Following(offset), FrameUnit::Range) => by_value(call, offset, partition, context, false, is_start)?,
    })
}

fn edge(peers: &Range<usize>, is_start: bool) -> usize {
    if is_start { peers.start } else { peers.end }
}

fn row_count(call: &WindowCall, offset: &Offset, context: &EvalContext<'_>) -> Result<usize> {
    let Offset::Number(expr) = offset else { return Err(Error::window_frame_illegal(&call.window)) };
    match expr.value(context, &NoFields)? {
        Value::Int(rows) if rows >= 0 => Ok(rows as usize),
        Value::UInt(rows) => Ok(usize::try_from(rows).unwrap_or(usize::MAX)),
        _ => Err(Error::window_frame_illegal(&call.window)),
    }
}

/// The first row, or the one behind the last, whose key lies not farther away than the offset. The frame of a row whose
/// key is NULL has its peers.
fn by_value(
    call: &WindowCall,
    offset: &Offset,
    partition: &Partition<'_>,
    context: &EvalContext<'_>,
    precedes: bool,
    is_start: bool,
) -> Result<Vec<usize>> {
    let (key, descending) = &partition.order[0];
    let op = if precedes != *descending { BinaryOp::Subtract } else { BinaryOp::Add };
    let distance = match offset {
        Offset::Value(_) => None,
        Offset::Number(expr) => Some(distance(call, expr.eval(context, &NoFields)?.to_number(&expr.ty, context)?)?),
    };
    let mut bounds = Vec::with_capacity(partition.len());
    let mut at = 0;
    for peers in partition.peer_groups() {
        let current = Datum::from(partition.key(peers.start));
        let bound = if current.is_null() {
            edge(&peers, is_start)
        } else {
            let row = partition.row(peers.start);
            let value = match (offset, distance) {
                (Offset::Number(_), Some(distance)) => match current.to_number(&key.ty, context)? {
                    // What no number is large enough for lies behind all of them.
                    Some(number) => compute(op, number, distance, context).map_or(Datum::Null, Datum::from),
                    None => Datum::Null,
                },
                (Offset::Value(expr), _) => expr.eval(context, &row)?,
                (Offset::Number(_), None) => Datum::Null,
            };
            if value.is_null() {
                // Behind the last value of the type.
                if precedes { 0 } else { partition.len() }
            } else {
                let lies_before = |at: usize| match is_start {
                    true => partition.compare_key(at, &value).is_lt(),
                    false => partition.compare_key(at, &value).is_le(),
                };
                while at < partition.len() && lies_before(at) {
                    at += 1;
                }
                at
            }
        };
        bounds.extend(peers.map(|_| bound));
    }
    Ok(bounds)
}

/// A difference of keys, which does not overflow: integers become decimals.
fn distance(call: &WindowCall, number: Option<Number>) -> Result<Number> {
    let (number, is_negative) = match number {
        Some(Number::Int(number)) => (Number::Decimal(Decimal::from(number)), number < 0),
        Some(Number::UInt(number)) => (Number::Decimal(Decimal::from(number)), false),
        Some(Number::Decimal(number)) => (Number::Decimal(number), number.to_f64() < 0.0),
        Some(Number::Double(number)) => (Number::Double(number), number < 0.0),
        None => return Err(Error::window_frame_illegal(&call.window)),
    };
    if is_negative { Err(Error::window_frame_illegal(&call.window)) } else { Ok(number) }
}
