//! The row of a query while it runs: one row per table of FROM, read by slots.
//!
//! The row of a stored table stays as storage gave it; a slot is decoded when an
//! expression asks for it, and strings are borrowed. TIMESTAMPs are stored in UTC and
//! are the session's local time from here on.

use format::value::{Value, Zone};
use storage::{Row, Table};

use super::rows::Rows;
use crate::error::Result;
use crate::expression::assign::Target;
pub use crate::expression::stored_value::{decode, to_local};
use crate::expression::{AssignMode, Datum, EvalContext, Fields, assign};
use crate::planner::{OutputColumn, SelectPlan, SourceColumn, SourceKind};

/// A stored row of one table as fields: slots are columns.
pub struct TableRow<'r> {
    pub table: &'r Table,
    pub row: &'r Row,
    pub zone: Zone,
}

impl Fields for TableRow<'_> {
    fn field(&self, slot: usize) -> Datum<'_> {
        match self.row.get(slot) {
            Some(stored) => decode(&self.table.columns[slot].ty, stored, self.zone),
            None => Datum::Null,
        }
    }
}

/// One joined row.
pub struct JoinRow<'p> {
    slots: &'p [(u16, u16)],
    pub sources: Vec<SourceRow<'p>>,
    zone: Zone,
}

/// The current row of one table.
pub struct SourceRow<'p> {
    columns: &'p [SourceColumn],
    /// An outer join found nothing: all columns are NULL.
    pub is_null: bool,
    pub stored: Row,
    /// Derived and virtual tables: the rows, and which of those in memory is the current one.
    pub rows: Option<Rows>,
    pub at: usize,
    /// The current row, if `at` is [`IN_VALUES`].
    pub values: Vec<Value>,
}

/// The current row is none of those in memory.
pub const IN_VALUES: usize = usize::MAX;

impl SourceRow<'_> {
    /// The current row of a derived or virtual table.
    pub fn derived(&self) -> &[Value] {
        let row = self.rows.as_ref().and_then(|rows| rows.in_memory().get(self.at));
        row.unwrap_or(&self.values)
    }
}

impl<'p> JoinRow<'p> {
    pub fn new(plan: &'p SelectPlan, zone: Zone) -> JoinRow<'p> {
        let sources = plan.sources.iter().map(|source| SourceRow {
            columns: &source.columns,
            is_null: !matches!(source.kind, SourceKind::Table(_)),
            stored: Row::new(),
            rows: None,
            at: 0,
            values: Vec::new(),
        });
        JoinRow { slots: &plan.slots, sources: sources.collect(), zone }
    }
}

impl Fields for JoinRow<'_> {
    #[inline]
    fn field(&self, slot: usize) -> Datum<'_> {
        let (source, column) = self.slots[slot];
        let source = &self.sources[source as usize];
        if source.is_null {
            return Datum::Null;
        }
        match &source.rows {
            Some(rows) => {
                let row = rows.in_memory().get(source.at).unwrap_or(&source.values);
                Datum::from(&row[column as usize])
            }
            None => match source.stored.get(column as usize) {
                Some(stored) => decode(&source.columns[column as usize].ty, stored, self.zone),
                None => Datum::Null,
            },
        }
    }
}

/// Appends a row of a part of a query with the types of the columns of the whole.
pub fn put_row_as(
    row: &[Value],
    (from, to): (&[OutputColumn], &[OutputColumn]),
    mode: AssignMode,
    context: &EvalContext<'_>,
    out: &mut Vec<Value>,
) -> Result<()> {
    for (value, (from, to)) in row.iter().zip(from.iter().zip(to)) {
        out.push(if from.column_type == to.column_type || value.is_null() {
            value.clone()
        } else {
            let target = Target { name: &to.name, ty: &to.column_type, nullable: true };
            assign(Datum::from(value), &from.ty, &target, mode, 1, context)?.into_value()
        });
    }
    Ok(())
}
