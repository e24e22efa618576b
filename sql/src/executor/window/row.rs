//! A row that is kept until all window functions have their results.

use std::rc::Rc;

use format::value::Value;

use crate::error::Result;
use crate::executor::memory::row_bytes;
use crate::executor::sorter::Record;
use crate::expression::{Datum, Fields};
use crate::temporary::values::{Source, write_values};

#[derive(Default)]
pub struct WindowRow {
    /// The parts of its partition and of the order, of the functions that are computed next.
    pub keys: Vec<Value>,
    /// The slots that are read from here on.
    pub values: Vec<Value>,
    pub aggregates: Vec<Value>,
    /// The results of window functions.
    pub windows: Vec<Value>,
}

impl Record for WindowRow {
    fn bytes(&self) -> u64 {
        [&self.keys, &self.values, &self.aggregates, &self.windows].into_iter().map(|values| row_bytes(values)).sum()
    }

    fn write(&self, out: &mut Vec<u8>) {
        let lists = [&self.keys, &self.values, &self.aggregates, &self.windows];
        lists.into_iter().for_each(|values| write_values(values, out));
    }

    fn read(record: &[u8]) -> Result<WindowRow> {
        let mut source = Source(record);
        Ok(WindowRow {
            keys: source.new_values()?,
            values: source.new_values()?,
            aggregates: source.new_values()?,
            windows: source.new_values()?,
        })
    }
}

/// A row of a partition, wherever that is.
pub enum RowOfPartition<'p> {
    Memory(&'p WindowRow),
    /// One of a chunk's.
    File(Rc<[WindowRow]>, usize),
}

/// The same as what expressions are evaluated on.
pub struct PartitionRow<'p> {
    pub place: &'p [u16],
    pub row: RowOfPartition<'p>,
}

impl PartitionRow<'_> {
    pub fn kept(&self) -> &WindowRow {
        match &self.row {
            RowOfPartition::Memory(row) => row,
            RowOfPartition::File(rows, at) => &rows[*at],
        }
    }
}

impl Fields for PartitionRow<'_> {
    fn field(&self, slot: usize) -> Datum<'_> {
        self.kept().values.get(self.place[slot] as usize).map_or(Datum::Null, Datum::from)
    }

    fn aggregate(&self, index: usize) -> Datum<'_> {
        self.kept().aggregates.get(index).map_or(Datum::Null, Datum::from)
    }

    fn window(&self, index: usize) -> Datum<'_> {
        self.kept().windows.get(index).map_or(Datum::Null, Datum::from)
    }
}

/// The row as what expressions are evaluated on.
pub struct KeptRow<'k> {
    pub place: &'k [u16],
    pub kept: &'k WindowRow,
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
