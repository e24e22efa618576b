//! A row that is kept until all window functions have their results.

use format::value::Value;

use crate::expression::{Datum, Fields};

pub struct Kept {
    /// The slots that are read from here on.
    pub values: Vec<Value>,
    pub aggregates: Vec<Value>,
    /// The results of window functions.
    pub windows: Vec<Value>,
}

/// The row as what expressions are evaluated on.
pub struct KeptRow<'k> {
    pub place: &'k [u16],
    pub kept: &'k Kept,
}

impl Fields for KeptRow<'_> {
    fn field(&self, slot: usize) -> Datum<'_> {
        self.kept.values.get(self.place[slot] as usize).map_or(Datum::Null, Datum::from)
    }

    fn aggregate(&self, index: usize) -> Datum<'_> {
        self.kept.aggregates.get(index).map_or(Datum::Null, Datum::from)
    }

    fn window(&self, index: usize) -> Datum<'_> {
        self.kept.windows.get(index).map_or(Datum::Null, Datum::from)
    }
}
