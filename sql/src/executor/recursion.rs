//! WITH RECURSIVE at work: rounds, until one gives no row.
//!
//! ```text
//! seed -> rows of round 0 -> members -> rows of round 1 -> members -> ... -> no rows
//! ```
//!
//! Only the rows of the last round are kept here, and with UNION (DISTINCT) a key of each row that there was: in files, if
//! there is no memory for them.

use format::collation::CollationId;
use format::value::Value;

use super::Environment;
use super::keys::KeySet;
use super::row::put_row_as;
use super::rows::RowMaker;
use crate::error::{Error, Result};
use crate::expression::{AssignMode, Datum, EvalContext, group_key};
use crate::planner::{QueryPlan, RecursivePlan};

/// Runs a query.
type Run =
    dyn Fn(&Environment<'_>, &QueryPlan, &EvalContext<'_>, &mut dyn FnMut(&[Value]) -> Result<bool>) -> Result<()>;

/// Calls `visit` for the rows of all rounds, from LIMIT's offset on, and for so many.
pub fn run_recursive(
    environment: &Environment<'_>,
    plan: &RecursivePlan,
    (mut offset, mut left): (u64, u64),
    context: &EvalContext<'_>,
    run: &Run,
    visit: &mut dyn FnMut(&[Value]) -> Result<bool>,
) -> Result<()> {
    if left == 0 {
        return Ok(());
    }
    let rounds_max = match context.session.system_variable(None, "cte_max_recursion_depth")? {
        Value::UInt(rounds) => rounds,
        Value::Int(rounds) => rounds.max(0) as u64,
        _ => u64::MAX,
    };
    let collations: Vec<CollationId> = plan.columns.iter().map(|column| column.ty.collation).collect();
    let mut seen = plan.distinct.then(|| KeySet::new(&environment.memory));
    let mut go_on = true;
    // Takes a row into the round, unless it was there before.
    let mut take = |row: Vec<Value>, round: &mut RowMaker<'_>| -> Result<bool> {
        environment.tick(context)?;
        if let Some(seen) = &mut seen {
            let mut key = Vec::new();
            for (value, collation) in row.iter().zip(&collations) {
                group_key(&Datum::from(value), *collation, &mut key);
            }
            if !seen.insert(&key, context.session)? {
                return Ok(true);
            }
        }
        if offset > 0 {
            offset -= 1;
        } else {
            left -= 1;
            go_on = visit(&row)? && left > 0;
        }
        round.push(&row)?;
        Ok(go_on)
    };

    // What does not fit the seed's columns is an error in strict mode.
    let mode = if context.mode.is_strict() { AssignMode::Strict } else { AssignMode::Lenient };
    let mut round = RowMaker::new(&environment.memory);
    let mut has_enough = false;
    run(environment, &plan.seed, context, &mut |row| {
        let mut converted = Vec::with_capacity(row.len());
        put_row_as(row, (plan.seed.columns(), &plan.columns), mode, context, &mut converted)?;
        has_enough = !take(converted, &mut round)?;
        Ok(!has_enough)
    })?;
    let mut number = 0;
    while !round.is_empty() && !has_enough {
        number += 1;
        if number > rounds_max {
            let text = format!(
                "Recursive query aborted after {number} iterations. Try increasing @@cte_max_recursion_depth to a \
                 larger value."
            );
            return Err(Error::new(3636, b"HY000", text));
        }
        if context.session.is_interrupted() {
            return Err(Error::interrupted());
        }
        let rows = std::mem::replace(&mut round, RowMaker::new(&environment.memory)).finish()?;
        environment.derived.borrow_mut().insert(plan.working, rows);
        for member in &plan.members {
            if has_enough {
                break;
            }
            run(environment, member, context, &mut |row| {
                let mut converted = Vec::with_capacity(row.len());
                put_row_as(row, (member.columns(), &plan.columns), mode, context, &mut converted)?;
                has_enough = !take(converted, &mut round)?;
                Ok(!has_enough)
            })?;
        }
    }
    environment.derived.borrow_mut().remove(&plan.working);
    Ok(())
}
