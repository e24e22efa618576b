//! Frames: which rows of its partition a row's function sees.

use std::ops::Range;

use format::value::{Decimal, Value};

use super::partition::{Partition, Peers};
use crate::error::{Error, Result};
use crate::expression::arithmetic::compute;
use crate::expression::datum::Number;
use crate::expression::{Datum, EvalContext, NoFields};
use crate::parser::ast::{BinaryOp, FrameUnit};
use crate::planner::WindowCall;
use crate::planner::window::{Bound, Offset};

/// The frames of one row after the other: bounds that never move back.
pub struct Frames<'c> {
    partition: &'c Partition<'c>,
    context: &'c EvalContext<'c>,
    peers: Peers,
    start: Edge<'c>,
    end: Edge<'c>,
}

/// One bound of the frames.
enum Edge<'c> {
    First,
    Last,
    /// So many rows before the current one, or behind it.
    Before(usize),
    Behind(usize),
    Peers,
    Value(ByValue<'c>),
}

/// A bound that is a value at a distance of the current row's.
struct ByValue<'c> {
    call: &'c WindowCall,
    offset: &'c Offset,
    distance: Option<Number>,
    precedes: bool,
    /// The first row that may be the bound of the next.
    next: usize,
    /// The first row of the peers for which it was found, and the bound.
    known: Option<(usize, usize)>,
}

impl<'c> Frames<'c> {
    pub fn new(call: &'c WindowCall, partition: &'c Partition<'c>, context: &'c EvalContext<'c>) -> Result<Frames<'c>> {
        let (start, end) = (edge(call, &call.frame.start, context)?, edge(call, &call.frame.end, context)?);
        Ok(Frames { partition, context, peers: Peers::default(), start, end })
    }

    /// The frame of the next row. An empty one begins where it ends.
    pub fn of(&mut self, at: usize) -> Result<Range<usize>> {
        let start = bound(&mut self.start, at, &mut self.peers, self.partition, self.context, true)?;
        let end = bound(&mut self.end, at, &mut self.peers, self.partition, self.context, false)?;
        Ok(start.min(end)..end)
    }
}

fn edge<'c>(call: &'c WindowCall, bound: &'c Bound, context: &EvalContext<'_>) -> Result<Edge<'c>> {
    Ok(match (bound, call.frame.unit) {
        (Bound::UnboundedPreceding, _) => Edge::First,
        (Bound::UnboundedFollowing, _) => Edge::Last,
        (Bound::CurrentRow, FrameUnit::Rows) => Edge::Before(0),
        (Bound::CurrentRow, FrameUnit::Range) => Edge::Peers,
        (Bound::Preceding(offset), FrameUnit::Rows) => Edge::Before(row_count(call, offset, context)?),
        (Bound::Following(offset), FrameUnit::Rows) => Edge::Behind(row_count(call, offset, context)?),
        (Bound::Preceding(offset), FrameUnit::Range) => Edge::Value(by_value(call, offset, context, true)?),
        (Bound::Following(offset), FrameUnit::Range) => Edge::Value(by_value(call, offset, context, false)?),
    })
}

fn bound(
    edge: &mut Edge<'_>,
    at: usize,
    peers: &mut Peers,
    partition: &Partition<'_>,
    context: &EvalContext<'_>,
    is_start: bool,
) -> Result<usize> {
    Ok(match edge {
        Edge::First => 0,
        Edge::Last => partition.len(),
        Edge::Before(rows) => (at + usize::from(!is_start)).saturating_sub(*rows),
        Edge::Behind(rows) => (at + usize::from(!is_start)).saturating_add(*rows).min(partition.len()),
        Edge::Peers => edge_of(&peers.of(at, partition)?, is_start),
        Edge::Value(value) => {
            let peers = peers.of(at, partition)?;
            match value.known {
                Some((first, bound)) if first == peers.start => bound,
                _ => {
                    let bound = value.find(&peers, partition, context, is_start)?;
                    value.known = Some((peers.start, bound));
                    bound
                }
            }
        }
    })
}

fn edge_of(peers: &Range<usize>, is_start: bool) -> usize {
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

fn by_value<'c>(
    call: &'c WindowCall,
    offset: &'c Offset,
    context: &EvalContext<'_>,
    precedes: bool,
) -> Result<ByValue<'c>> {
    let distance = match offset {
        Offset::Value(_) => None,
        Offset::Number(expr) => Some(distance(call, expr.eval(context, &NoFields)?.to_number(&expr.ty, context)?)?),
    };
    Ok(ByValue { call, offset, distance, precedes, next: 0, known: None })
}

impl ByValue<'_> {
    /// The first row, or the one behind the last, whose key lies not farther away than the offset. The frame of a row
    /// whose key is NULL has its peers.
    fn find(
        &mut self,
        peers: &Range<usize>,
        partition: &Partition<'_>,
        context: &EvalContext<'_>,
        is_start: bool,
    ) -> Result<usize> {
        let (key, descending) = &self.call.order[0];
        let op = if self.precedes != *descending { BinaryOp::Subtract } else { BinaryOp::Add };
        let row = partition.row(peers.start)?;
        let current = partition.key(&row);
        if current.is_null() {
            return Ok(edge_of(peers, is_start));
        }
        let value = match (self.offset, self.distance) {
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
            return Ok(if self.precedes { 0 } else { partition.len() });
        }
        while self.next < partition.len() {
            let compared = partition.compare_key(self.next, &value)?;
            let lies_before = if is_start { compared.is_lt() } else { compared.is_le() };
            if !lies_before {
                break;
            }
            self.next += 1;
        }
        Ok(self.next)
    }
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
