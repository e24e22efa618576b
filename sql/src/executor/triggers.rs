//! Triggers fired for rows that are inserted, changed and removed.
//!
//! ```text
//!   row as the statement makes it, generated columns --> BEFORE triggers, one after the other --> generated columns anew,
//!       checks --> storage --> AFTER
//! ```
//!
//! A BEFORE trigger may change the new row; the next one sees that. What the row's other values decide (generated
//! columns, CHECK constraints, NOT NULL) is looked at behind them, too. Rows that a foreign key changes fire nothing.

use std::sync::Arc;

use storage::{Definition, Row, Table};

use super::row::TableRow;
use super::row_rules::{RowFields, StoredValues};
use super::stored::Stored;
use crate::error::{Error, Result};
use crate::expression::{EvalContext, Programs, TriggerRows};

/// A new row, whose values a trigger can change.
pub trait NewValues: StoredValues {
    fn assign(&mut self, column: usize, value: Option<&[u8]>);
}

impl NewValues for Stored {
    fn assign(&mut self, column: usize, value: Option<&[u8]>) {
        self.replace(column, value);
    }
}

impl NewValues for Row {
    fn assign(&mut self, column: usize, value: Option<&[u8]>) {
        self.set(column, value);
    }
}

/// The row of a table for which triggers fire.
#[derive(Clone, Copy)]
pub struct Firing<'a> {
    pub table: &'a Arc<Table>,
    pub context: &'a EvalContext<'a>,
    pub old: Option<&'a Row>,
    /// Rows count from 1, for messages.
    pub number: u64,
}

impl Firing<'_> {
    fn programs(&self) -> Result<&dyn Programs> {
        self.context.programs.ok_or_else(|| Error::unsupported("triggers here"))
    }

    /// Fires triggers that may change the new row.
    pub fn before<V: NewValues>(&self, triggers: &[Arc<Definition>], new: &mut V) -> Result<()> {
        for trigger in triggers {
            let assigned = {
                let fields = RowFields { columns: &self.table.columns, values: &*new, zone: self.context.zone };
                let old = self.old.map(|row| TableRow { table: self.table, row, zone: self.context.zone });
                let rows = TriggerRows {
                    table: self.table,
                    old: old.as_ref().map(|old| old as _),
                    new: Some(&fields),
                    number: self.number,
                };
                self.programs()?.fire(trigger, rows, self.context)?
            };
            for (column, value) in assigned {
                new.assign(column, value.as_deref());
            }
        }
        Ok(())
    }

    /// Fires triggers that see what has happened.
    pub fn after<V: StoredValues>(&self, triggers: &[Arc<Definition>], new: &V) -> Result<()> {
        for trigger in triggers {
            let fields = RowFields { columns: &self.table.columns, values: new, zone: self.context.zone };
            let old = self.old.map(|row| TableRow { table: self.table, row, zone: self.context.zone });
            let rows = TriggerRows {
                table: self.table,
                old: old.as_ref().map(|old| old as _),
                new: Some(&fields),
                number: self.number,
            };
            self.programs()?.fire(trigger, rows, self.context)?;
        }
        Ok(())
    }

    /// Fires triggers of a row that is removed.
    pub fn removed(&self, triggers: &[Arc<Definition>]) -> Result<()> {
        for trigger in triggers {
            let old = self.old.map(|row| TableRow { table: self.table, row, zone: self.context.zone });
            let rows = TriggerRows {
                table: self.table,
                old: old.as_ref().map(|old| old as _),
                new: None,
                number: self.number,
            };
            self.programs()?.fire(trigger, rows, self.context)?;
        }
        Ok(())
    }
}
