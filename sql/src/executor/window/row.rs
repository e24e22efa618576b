//! A row that is kept until all window functions have their results.
//!
//! Behind its key, which is that of the partition and that of the order, stands:
//!
//! ```text
//! 4  where in the key that of the order begins
//! 4  where the values begin
//! 4  where the table begins
//!    value         of the order, if frames are bound by it
//!    values        slots | aggregates | results of the functions of earlier passes
//!    table         4 for each value: how far behind the first it begins
//! ```

use std::cmp::Ordering;
use std::rc::Rc;

use crate::error::{Error, Result};
use crate::executor::sorter::Record;
use crate::expression::record::{Source, write_datum};
use crate::expression::{Datum, EvalContext, Expr, Fields, KeyForm, Keyed};

const HEADER_BYTES: usize = 12;

/// What the rows of a statement have in common.
pub struct Shape {
    /// slot -> place among the values
    pub slots: Vec<u16>,
    /// Where the aggregates' results begin among the values.
    pub aggregates: usize,
    /// call -> place of its result among the values
    pub windows: Vec<usize>,
}

/// How the rows of a pass compare.
pub struct Keys<'a> {
    /// What the partition and the order are by.
    by: Vec<(&'a Expr, bool)>,
    /// How many of these are the partition's.
    width: usize,
    form: KeyForm,
    /// Frames are bound by the order's value.
    has_value: bool,
}

/// Where rows are made.
#[derive(Default)]
pub struct Scratch {
    bytes: Vec<u8>,
    table: Vec<u32>,
}

#[derive(Default)]
pub struct WindowRow(Keyed);

impl WindowRow {
    fn offset(&self, number: usize) -> usize {
        u32_at(self.0.rest(), 4 * number).unwrap_or(0)
    }

    fn part(&self, start: usize, end: usize) -> &[u8] {
        self.0.rest().get(start..end).unwrap_or_default()
    }

    fn keys(&self) -> (&[u8], &[u8]) {
        self.0.key().split_at_checked(self.offset(0)).unwrap_or_default()
    }

    /// The value of the order.
    pub fn order_value(&self) -> Datum<'_> {
        Source(self.part(HEADER_BYTES, self.offset(1))).datum().unwrap_or(Datum::Null)
    }

    fn values(&self) -> &[u8] {
        self.part(self.offset(1), self.offset(2))
    }

    /// One of the values; NULL if there are not so many.
    fn value(&self, number: usize) -> Datum<'_> {
        let place = u32_at(self.0.rest(), self.offset(2) + 4 * number);
        let value = place.and_then(|place| self.values().get(place..));
        value.and_then(|value| Source(value).datum().ok()).unwrap_or(Datum::Null)
    }
}

fn u32_at(bytes: &[u8], at: usize) -> Option<usize> {
    bytes.get(at..)?.first_chunk().map(|bytes| u32::from_le_bytes(*bytes) as usize)
}

impl Record for WindowRow {
    fn bytes(&self) -> u64 {
        self.0.memory_bytes()
    }

    fn write(&self, out: &mut Vec<u8>) {
        self.0.write(out);
    }

    fn read(record: &[u8]) -> Result<WindowRow> {
        Keyed::read(record).map(WindowRow)
    }
}

impl<'a> Keys<'a> {
    pub fn new(by: Vec<(&'a Expr, bool)>, width: usize, has_value: bool) -> Keys<'a> {
        Keys { form: KeyForm::of(&by), by, width, has_value }
    }

    /// Makes a row of what `values` appends.
    pub fn row(
        &self,
        fields: &dyn Fields,
        values: impl FnOnce(&mut Vec<u8>),
        scratch: &mut Scratch,
        context: &EvalContext<'_>,
    ) -> Result<WindowRow> {
        let Scratch { bytes, table } = scratch;
        bytes.clear();
        let (mut order_at, mut order_value) = (None, None);
        for (number, (expr, descending)) in self.by.iter().enumerate() {
            if number == self.width {
                order_at = Some(bytes.len());
            }
            let value = expr.eval(context, fields)?.fit(&expr.ty);
            self.form.write(&value, expr, *descending, number + 1 == self.by.len(), bytes);
            if number == self.width && self.has_value {
                order_value = Some(value);
            }
        }
        let key_bytes = bytes.len();
        bytes.resize(key_bytes + HEADER_BYTES, 0);
        if let Some(value) = order_value {
            write_datum(&value, bytes);
        }
        let values_at = bytes.len();
        values(bytes);
        let table_at = bytes.len();
        table.clear();
        let mut source = Source(&bytes[values_at..]);
        while !source.0.is_empty() {
            table.push((table_at - values_at - source.0.len()) as u32);
            source.skip()?;
        }
        table.iter().for_each(|place| bytes.extend_from_slice(&place.to_le_bytes()));
        if u32::try_from(bytes.len()).is_err() {
            return Err(Error::memory_exceeded("a row of a window", u32::MAX.into()));
        }
        let places = [order_at.unwrap_or(key_bytes), values_at - key_bytes, table_at - key_bytes];
        for (place, header) in places.into_iter().zip(bytes[key_bytes..].chunks_exact_mut(4)) {
            header.copy_from_slice(&(place as u32).to_le_bytes());
        }
        Keyed::new(self.form, key_bytes, bytes).map(WindowRow)
    }

    pub fn compare(&self, a: &WindowRow, b: &WindowRow) -> Ordering {
        a.0.compare(&b.0, &self.by)
    }

    pub fn are_of_one_partition(&self, a: &WindowRow, b: &WindowRow) -> bool {
        self.form.compare(a.keys().0, b.keys().0, &self.by[..self.width]) == Ordering::Equal
    }

    /// Whether two rows of a partition are equal by the order.
    pub fn are_peers(&self, a: &WindowRow, b: &WindowRow) -> bool {
        self.form.compare(a.keys().1, b.keys().1, &self.by[self.width..]) == Ordering::Equal
    }
}

/// A row of a partition, wherever that is.
pub enum RowOfPartition<'p> {
    Memory(&'p WindowRow),
    /// One of a chunk's.
    File(Rc<[WindowRow]>, usize),
}

impl RowOfPartition<'_> {
    pub fn kept(&self) -> &WindowRow {
        match self {
            RowOfPartition::Memory(row) => row,
            RowOfPartition::File(rows, at) => &rows[*at],
        }
    }
}

/// The same as what expressions are evaluated on.
pub struct PartitionRow<'p> {
    pub shape: &'p Shape,
    pub row: RowOfPartition<'p>,
}

impl PartitionRow<'_> {
    pub fn kept(&self) -> &WindowRow {
        self.row.kept()
    }
}

impl Fields for PartitionRow<'_> {
    fn field(&self, slot: usize) -> Datum<'_> {
        self.kept().value(self.shape.slots[slot].into())
    }

    fn aggregate(&self, index: usize) -> Datum<'_> {
        self.kept().value(self.shape.aggregates + index)
    }

    fn window(&self, index: usize) -> Datum<'_> {
        self.kept().value(self.shape.windows[index])
    }
}

/// A row whose functions of a pass have their results, as what expressions are evaluated on.
pub struct KeptRow<'k> {
    pub shape: &'k Shape,
    pub kept: &'k WindowRow,
    /// The results, and where they begin among the values.
    pub results: &'k [Datum<'static>],
    pub results_at: usize,
}

impl KeptRow<'_> {
    /// Appends all values, the results included.
    pub fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.kept.values());
        self.results.iter().for_each(|result| write_datum(result, out));
    }
}

impl Fields for KeptRow<'_> {
    fn field(&self, slot: usize) -> Datum<'_> {
        self.kept.value(self.shape.slots[slot].into())
    }

    fn aggregate(&self, index: usize) -> Datum<'_> {
        self.kept.value(self.shape.aggregates + index)
    }

    fn window(&self, index: usize) -> Datum<'_> {
        let at = self.shape.windows[index];
        match at.checked_sub(self.results_at) {
            Some(number) => self.results.get(number).map_or(Datum::Null, Datum::by_ref),
            None => self.kept.value(at),
        }
    }
}
