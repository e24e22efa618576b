//! Functions of a row's place, and those that give the value of another row.

use format::value::Value;

use super::INTERRUPT_EVERY;
use super::frame::frames;
use super::partition::Partition;
use crate::error::{Error, Result};
use crate::expression::{EvalContext, Expr, NoFields};
use crate::planner::WindowCall;
use crate::planner::window::Function;

/// The results of one function for the rows of a partition.
pub fn compute(call: &WindowCall, partition: &Partition<'_>, context: &EvalContext<'_>) -> Result<Vec<Value>> {
    let count = partition.len();
    Ok(match &call.function {
        Function::RowNumber => (1..=count as u64).map(Value::UInt).collect(),
        Function::Rank => by_peers(partition, |_, peers| Value::UInt(peers.start as u64 + 1)),
        Function::DenseRank => by_peers(partition, |number, _| Value::UInt(number as u64 + 1)),
        Function::PercentRank => by_peers(partition, |_, peers| {
            Value::Double(if count > 1 { peers.start as f64 / (count - 1) as f64 } else { 0.0 })
        }),
        Function::CumeDist => by_peers(partition, |_, peers| Value::Double(peers.end as f64 / count as f64)),
        Function::Ntile => {
            let Some(buckets) = argument(call, 0, "ntile", 1, context)? else { return Ok(vec![Value::Null; count]) };
            let buckets = usize::try_from(buckets).unwrap_or(usize::MAX);
            // The first ones have one row more.
            let (size, larger) = (count / buckets, count % buckets);
            let bucket = |at: usize| match at.checked_sub(larger * (size + 1)) {
                None => at / (size + 1),
                Some(rest) => larger + rest / size.max(1),
            };
            (0..count).map(|at| Value::UInt(bucket(at) as u64 + 1)).collect()
        }
        Function::Lag | Function::Lead => shifted(call, partition, context)?,
        Function::FirstValue | Function::LastValue | Function::NthValue => framed(call, partition, context)?,
        Function::Aggregate(_) => return Err(Error::internal("an aggregate has frames of its own")),
    })
}

fn by_peers(partition: &Partition<'_>, result: impl Fn(usize, &std::ops::Range<usize>) -> Value) -> Vec<Value> {
    let mut results = Vec::with_capacity(partition.len());
    for (number, peers) in partition.peer_groups().enumerate() {
        let value = result(number, &peers);
        results.extend(peers.map(|_| value.clone()));
    }
    results
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
fn shifted(call: &WindowCall, partition: &Partition<'_>, context: &EvalContext<'_>) -> Result<Vec<Value>> {
    let is_lag = call.function == Function::Lag;
    let distance = match call.args.get(1) {
        None => Some(1),
        Some(_) => argument(call, 1, if is_lag { "lag" } else { "lead" }, 0, context)?,
    };
    let Some(distance) = distance else { return Ok(vec![Value::Null; partition.len()]) };
    let distance = usize::try_from(distance).unwrap_or(usize::MAX);
    let mut results = Vec::with_capacity(partition.len());
    for at in 0..partition.len() {
        check_interrupt(at, context)?;
        let other = if is_lag { at.checked_sub(distance) } else { at.checked_add(distance) };
        let other = other.filter(|other| *other < partition.len());
        results.push(match (other, call.args.get(2)) {
            (Some(other), _) => value_of(&call.args[0], call, partition, other, context)?,
            (None, Some(default)) => value_of(default, call, partition, at, context)?,
            (None, None) => Value::Null,
        });
    }
    Ok(results)
}

fn framed(call: &WindowCall, partition: &Partition<'_>, context: &EvalContext<'_>) -> Result<Vec<Value>> {
    let nth = match call.function {
        Function::NthValue => argument(call, 1, "nth_value", 1, context)?,
        _ => Some(1),
    };
    let Some(nth) = nth else { return Ok(vec![Value::Null; partition.len()]) };
    let nth = usize::try_from(nth).unwrap_or(usize::MAX);
    let mut results: Vec<Value> = Vec::with_capacity(partition.len());
    let mut last = None;
    for (at, frame) in frames(call, partition, context)?.into_iter().enumerate() {
        check_interrupt(at, context)?;
        let found = match call.function {
            Function::LastValue => frame.end.checked_sub(1),
            _ => frame.start.checked_add(nth - 1),
        };
        let found = found.filter(|found| frame.contains(found));
        // Neighbours often see the same row.
        let value = match (found, results.last()) {
            (Some(found), Some(value)) if last == Some(found) => value.clone(),
            (Some(found), _) => value_of(&call.args[0], call, partition, found, context)?,
            (None, _) => Value::Null,
        };
        last = found;
        results.push(value);
    }
    Ok(results)
}

/// The value of an expression for a row, as the function's type has it.
fn value_of(
    expr: &Expr,
    call: &WindowCall,
    partition: &Partition<'_>,
    at: usize,
    context: &EvalContext<'_>,
) -> Result<Value> {
    let row = partition.row(at);
    let value = expr.eval(context, &row)?.convert_to(&expr.ty, &call.ty, context)?;
    Ok(value.fit(&call.ty).into_value())
}

fn check_interrupt(at: usize, context: &EvalContext<'_>) -> Result<()> {
    match at % INTERRUPT_EVERY == INTERRUPT_EVERY - 1 && context.session.is_interrupted() {
        true => Err(Error::interrupted()),
        false => Ok(()),
    }
}
