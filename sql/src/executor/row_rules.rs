//! The rules of a table applied to a row on its way into it: computed values, and CHECK constraints.

use format::value::Zone;
use storage::{Column, Row};

use super::row::decode;
use super::stored::Stored;
use crate::error::{Error, Result};
use crate::expression::arrays;
use crate::expression::assign::Target;
use crate::expression::{AssignMode, Datum, EvalContext, Fields, assign};
use crate::planner::row_rules::{Computed, RowRules};

/// The stored values of a row's columns.
pub trait StoredValues {
    fn stored(&self, column: usize) -> Option<&[u8]>;
}

impl StoredValues for Stored {
    fn stored(&self, column: usize) -> Option<&[u8]> {
        self.get(column)
    }
}

impl StoredValues for Row {
    fn stored(&self, column: usize) -> Option<&[u8]> {
        self.get(column)
    }
}

impl StoredValues for Vec<Option<Vec<u8>>> {
    fn stored(&self, column: usize) -> Option<&[u8]> {
        self[column].as_deref()
    }
}

/// A row under construction as fields: slots are columns.
pub struct RowFields<'r, V> {
    pub columns: &'r [Column],
    pub values: &'r V,
    pub zone: Zone,
}

impl<V: StoredValues> Fields for RowFields<'_, V> {
    fn field(&self, slot: usize) -> Datum<'_> {
        match self.values.stored(slot) {
            Some(stored) => decode(&self.columns[slot].ty, stored, self.zone),
            None => Datum::Null,
        }
    }
}

/// Whom a row is for.
#[derive(Clone, Copy)]
pub struct RowTarget<'a> {
    pub columns: &'a [Column],
    pub mode: AssignMode,
    /// Rows count from 1, for messages.
    pub row: u64,
    pub context: &'a EvalContext<'a>,
}

impl RowTarget<'_> {
    /// Appends the computed value of a column.
    pub fn compute<V: StoredValues>(&self, one: &Computed, values: &V, out: &mut Stored) -> Result<()> {
        let fields = RowFields { columns: self.columns, values, zone: self.context.zone };
        let column = &self.columns[one.column];
        let named = |error| match column.name.strip_prefix("!hidden!").and_then(|rest| rest.split_once('!')) {
            Some((index, _)) => arrays::name_index(error, index),
            None => error,
        };
        let value = one.expr.eval(self.context, &fields).map_err(named)?;
        let target = Target { name: &column.name, ty: &column.ty, nullable: column.nullable };
        let value = assign(value, &one.expr.ty, &target, self.mode, self.row, self.context)?;
        out.push(value, &column.ty)
    }

    /// The first CHECK constraint that the row does not satisfy, as the error that this is.
    pub fn violated<V: StoredValues>(&self, rules: &RowRules, values: &V) -> Result<Option<Error>> {
        let fields = RowFields { columns: self.columns, values, zone: self.context.zone };
        if !self.context.session.check_constraints() {
            return Ok(None);
        }
        for check in &rules.checks {
            if check.condition.truth(self.context, &fields)? == Some(false) {
                return Ok(Some(Error::check_violated(&check.name)));
            }
        }
        Ok(None)
    }
}
