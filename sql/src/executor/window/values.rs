//! Functions of a row's place, and those that give the value of another row.

use std::ops::Range;

use format::value::Value;

use super::Put;
use super::frame::Frames;
use super::partition::{Partition, Peers};
use crate::error::{Error, Result};
use crate::expression::{EvalContext, Expr, NoFields};
use crate::planner::WindowCall;
use crate::planner::window::Function;

/// Puts the results of one function for the rows of a partition.
pub fn compute(
    call: &WindowCall,
    partition: &Partition<'_>,
    context: &EvalContext<'_>,
    put: &mut Put<'_>,
) -> Result<()> {
    let count = partition.len();
    match &call.function {
        Function::RowNumber => each(partition, |at| put(Value::UInt(at as u64 + 1))),
        Function::Rank => by_peers(partition, put, |_, peers| Value::UInt(peers.start as u64 + 1)),
        Function::DenseRank => by_peers(partition, put, |number, _| Value::UInt(number as u64 + 1)),
        Function::PercentRank => by_peers(partition, put, |_, peers| {
            Value::Double(if count > 1 { peers.start as f64 / (count - 1) as f64 } else { 0.0 })
        }),
        Function::CumeDist => by_peers(partition, put, |_, peers| Value::Double(peers.end as f64 / count as f64)),
        Function::Ntile => {
            let Some(buckets) = argument(call, 0, "ntile", 1, context)? else {
                return each(partition, |_| put(Value::Null));
            };
            let buckets = usize::try_from(buckets).unwrap_or(usize::MAX);
            // The first ones have one row more.
            let (size, larger) = (count / buckets, count % buckets);
            let bucket = |at: usize| match at.checked_sub(larger * (size + 1)) {
                None => at / (size + 1),
                Some(rest) => larger + rest / size.max(1),
            };
            each(partition, |at| put(Value::UInt(bucket(at) as u64 + 1)))
        }
        Function::Lag | Function::Lead => shifted(call, partition, context, put),
        Function::FirstValue | Function::LastValue | Function::NthValue => framed(call, partition, context, put),
        Function::Aggregate(_) => Err(Error::internal("an aggregate has frames of its own")),
    }
}

fn each(partition: &Partition<'_>, mut visit: impl FnMut(usize) -> Result<()>) -> Result<()> {
    for at in 0..partition.len() {
        partition.look()?;
        visit(at)?;
    }
    Ok(())
}

fn by_peers(
    partition: &Partition<'_>,
    put: &mut Put<'_>,
    result: impl Fn(usize, &Range<usize>) -> Value,
) -> Result<()> {
    let mut peers = Peers::default();
    each(partition, |at| {
        let group = peers.of(at, partition)?;
        put(result(peers.number(), &group))
    })
}

/// A constant number of rows; None: it is NULL.
fn argument(call: &WindowCall, at: usize, name: &str, least: u64, context: &EvalContext<'_>) -> Result<Option<u64>> {
    let number = match call.args[at].value(context, &NoFields)? {
        Value::Int(number) => u64::try_from(number).ok(),
        Value::UInt(number) => Some(number),
        Value::Null => return Ok(None),
        _ => None,
    };
    match number {
        Some(number) if number >= least => Ok(Some(number)),
        _ => Err(Error::wrong_arguments(name)),
    }
}

/// LAG and LEAD: the value of a row so far away, or another if there is none.
fn shifted(call: &WindowCall, partition: &Partition<'_>, context: &EvalContext<'_>, put: &mut Put<'_>) -> Result<()> {
    let is_lag = call.function == Function::Lag;
    let distance = match call.args.get(1) {
        None => Some(1),
        Some(_) => argument(call, 1, if is_lag { "lag" } else { "lead" }, 0, context)?,
    };
    let Some(distance) = distance else { return each(partition, |_| put(Value::Null)) };
    let distance = usize::try_from(distance).unwrap_or(usize::MAX);
    each(partition, |at| {
        let other = if is_lag { at.checked_sub(distance) } else { at.checked_add(distance) };
        let other = other.filter(|other| *other < partition.len());
        put(match (other, call.args.get(2)) {
            (Some(other), _) => value_of(&call.args[0], call, partition, other, context)?,
            (None, Some(default)) => value_of(default, call, partition, at, context)?,
            (None, None) => Value::Null,
        })
    })
}

fn framed(call: &WindowCall, partition: &Partition<'_>, context: &EvalContext<'_>, put: &mut Put<'_>) -> Result<()> {
    let nth = match call.function {
        Function::NthValue => argument(call, 1, "nth_value", 1, context)?,
        _ => Some(1),
    };
    let Some(nth) = nth else { return each(partition, |_| put(Value::Null)) };
    let nth = usize::try_from(nth).unwrap_or(usize::MAX);
    let mut frames = Frames::new(call, partition, context)?;
    // Neighbours often see the same row.
    let mut last: Option<(usize, Value)> = None;
    each(partition, |at| {
        let frame = frames.of(at)?;
        let found = match call.function {
            Function::LastValue => frame.end.checked_sub(1),
            _ => frame.start.checked_add(nth - 1),
        };
        let value = match (found.filter(|found| frame.contains(found)), &last) {
            (Some(found), Some((known, value))) if *known == found => value.clone(),
            (Some(found), _) => {
                let value = value_of(&call.args[0], call, partition, found, context)?;
                last = Some((found, value.clone()));
                value
            }
            (None, _) => Value::Null,
        };
        put(value)
    })
}

/// The value of an expression for a row, as the function's type has it.
fn value_of(
    expr: &Expr,
    call: &WindowCall,
    partition: &Partition<'_>,
    at: usize,
    context: &EvalContext<'_>,
) -> Result<Value> {
    let row = partition.row(at)?;
    let value = expr.eval(context, &row)?.convert_to(&expr.ty, &call.ty, context)?;
    Ok(value.fit(&call.ty).into_value())
}
