//! WITH CHECK OPTION: a row that is written through a view stays visible through it.

use format::value::{Value, Zone};
use storage::Table;

use super::row::decode;
use super::{Environment, Level};
use crate::error::{Error, Result};
use crate::expression::{Datum, EvalContext, Fields};
use crate::planner::view_target::ViewCheck;

/// A row as it is going to be, by stored columns, beside the rows of the view's other tables.
struct NewRow<'r> {
    table: &'r Table,
    value: &'r dyn Fn(usize) -> Option<&'r [u8]>,
    check: &'r ViewCheck,
    others: &'r [Value],
    zone: Zone,
}

impl Fields for NewRow<'_> {
    fn field(&self, slot: usize) -> Datum<'_> {
        match slot.checked_sub(self.check.base).filter(|column| *column < self.table.columns.len()) {
            Some(column) => match (self.value)(column) {
                Some(stored) => decode(&self.table.columns[column].ty, stored, self.zone),
                None => Datum::Null,
            },
            None => {
                let at = self.check.others.iter().position(|(own, _)| *own == slot);
                at.and_then(|at| self.others.get(at)).map_or(Datum::Null, Datum::from)
            }
        }
    }
}

/// What a check reads of the other tables of a joined row.
pub fn others(check: &ViewCheck, joined: &dyn Fields) -> Vec<Value> {
    check.others.iter().map(|(_, slot)| joined.field(*slot).into_value()).collect()
}

/// An error (1369) if the row would not be visible. `value` has its stored columns, `others` is what [`others`] gave.
pub fn check<'r>(
    environment: &'r Environment<'_>,
    check: &'r ViewCheck,
    context: &EvalContext<'_>,
    table: &'r Table,
    value: &'r dyn Fn(usize) -> Option<&'r [u8]>,
    others: &'r [Value],
) -> Result<()> {
    let level = Level::new(environment, &check.subqueries);
    let context = &EvalContext { subqueries: Some(&level), lists: Some(&level.lists), ..*context };
    let row = NewRow { table, value, check, others, zone: context.zone };
    for condition in &check.conditions {
        if !condition.is_true(context, &row)? {
            return Err(Error::view_check_failed(&check.database, &check.name));
        }
    }
    Ok(())
}
