//! WITH CHECK OPTION: a row that is written through a view stays visible through it.

use format::value::Zone;
use storage::Table;

use super::row::decode;
use super::{Environment, Level};
use crate::error::{Error, Result};
use crate::expression::{Datum, EvalContext, Fields};
use crate::planner::view_target::ViewCheck;

/// A row as it is going to be, by stored columns.
struct NewRow<'r> {
    table: &'r Table,
    value: &'r dyn Fn(usize) -> Option<&'r [u8]>,
    zone: Zone,
}

impl Fields for NewRow<'_> {
    fn field(&self, slot: usize) -> Datum<'_> {
        match (self.value)(slot) {
            Some(stored) => decode(&self.table.columns[slot].ty, stored, self.zone),
            None => Datum::Null,
        }
    }
}

/// An error (1369) if the row would not be visible. `value` has its stored columns.
pub fn check<'r>(
    environment: &'r Environment<'_>,
    check: &'r ViewCheck,
    context: &EvalContext<'_>,
    table: &'r Table,
    value: &'r dyn Fn(usize) -> Option<&'r [u8]>,
) -> Result<()> {
    let level = Level::new(environment, &check.subqueries);
    let context = &EvalContext { subqueries: Some(&level), lists: Some(&level.lists), ..*context };
    let row = NewRow { table, value, zone: context.zone };
    for condition in &check.conditions {
        if !condition.is_true(context, &row)? {
            return Err(Error::view_check_failed(&check.database, &check.name));
        }
    }
    Ok(())
}
