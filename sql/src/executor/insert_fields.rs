//! What expressions of an INSERT read: the values given so far, and, for ON DUPLICATE KEY UPDATE, the row that is there.

use format::value::{Value, Zone};
use storage::{Row, Table};

use super::row::decode;
use super::stored::Stored;
use crate::expression::{Datum, Fields};

/// Values given so far as fields, for `VALUES (1, a + 1)`.
pub struct GivenRow<'r> {
    pub table: &'r Table,
    pub values: &'r Stored,
    pub given: &'r [Option<usize>],
    /// What columns without a value show that must have one.
    pub zeros: &'r [Value],
    pub zone: Zone,
}

impl Fields for GivenRow<'_> {
    fn field(&self, slot: usize) -> Datum<'_> {
        let ty = &self.table.columns[slot].ty;
        match self.given[slot] {
            Some(at) if at < self.values.parts.len() => match self.values.get(at) {
                Some(stored) => decode(ty, stored, self.zone),
                None => Datum::Null,
            },
            _ => match &self.table.columns[slot].default {
                storage::ColumnDefault::Literal(stored) => decode(ty, stored, self.zone),
                _ if !self.table.columns[slot].nullable => Datum::from(&self.zeros[slot]),
                _ => Datum::Null,
            },
        }
    }
}

/// A row that was inserted.
pub struct NewRow<'r> {
    pub table: &'r Table,
    pub row: &'r Stored,
    pub zone: Zone,
}

impl Fields for NewRow<'_> {
    fn field(&self, slot: usize) -> Datum<'_> {
        match self.row.get(slot) {
            Some(stored) => decode(&self.table.columns[slot].ty, stored, self.zone),
            None => Datum::Null,
        }
    }
}

/// The row that is there, behind it the one that was to be inserted, and columns of the query that it came from.
pub struct ConflictRow<'r> {
    pub table: &'r Table,
    pub old: &'r Row,
    pub new: &'r Stored,
    pub source: &'r [Value],
    pub zone: Zone,
}

impl Fields for ConflictRow<'_> {
    fn field(&self, slot: usize) -> Datum<'_> {
        let width = self.table.columns.len();
        if let Some(at) = slot.checked_sub(2 * width) {
            return self.source.get(at).map_or(Datum::Null, Datum::from);
        }
        let column = slot % width;
        let stored = if slot < width { self.old.get(column) } else { self.new.get(column) };
        match stored {
            Some(stored) => decode(&self.table.columns[column].ty, stored, self.zone),
            None => Datum::Null,
        }
    }
}
