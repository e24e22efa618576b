//! A row that is kept until all window functions have their results.
//!
//! It is one piece of memory, whose copy is what files have:
//!
//! ```text
//! 4  where the part of the key that the order makes begins
//! 4  where the key ends
//! 4  where the values begin
//!    key           of the partition, and of the order, see [`KeyForm`]
//!    value         of the order, if frames are bound by it
//!    values        slots | aggregates | results of the functions of earlier passes
//! ```

use std::cmp::Ordering;
use std::rc::Rc;

use crate::error::{Error, Result};
use crate::executor::sorter::Record;
use crate::expression::record::{Source, write_datum};
use crate::expression::{Datum, EvalContext, Expr, Fields, KeyForm};

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
    pub by: Vec<(&'a Expr, bool)>,
    /// How many of these are the partition's.
    pub width: usize,
    form: KeyForm,
    /// Frames are bound by the order's value.
    pub has_value: bool,
}

#[derive(Default)]
pub struct WindowRow {
    /// The beginning of the key, by which most rows are told apart.
    head: u128,
    bytes: Box<[u8]>,
}

impl WindowRow {
    fn offset(&self, number: usize) -> usize {
        let bytes = self.bytes.get(4 * number..).and_then(<[u8]>::first_chunk);
        bytes.map_or(0, |bytes| u32::from_le_bytes(*bytes) as usize)
    }

    fn part(&self, start: usize, end: usize) -> &[u8] {
        self.bytes.get(start..end).unwrap_or_default()
    }

    fn key(&self) -> &[u8] {
        self.part(HEADER_BYTES, self.offset(1))
    }

    fn key_of_partition(&self) -> &[u8] {
        self.part(HEADER_BYTES, self.offset(0))
    }

    fn key_of_order(&self) -> &[u8] {
        self.part(self.offset(0), self.offset(1))
    }

    /// The value of the order.
    pub fn order_value(&self) -> Datum<'_> {
        Source(self.part(self.offset(1), self.offset(2))).datum().unwrap_or(Datum::Null)
    }

    pub fn values(&self) -> &[u8] {
        self.part(self.offset(2), self.bytes.len())
    }

    /// One of the values; NULL if there are not so many.
    fn value(&self, number: usize) -> Datum<'_> {
        let mut source = Source(self.values());
        for _ in 0..number {
            if source.skip().is_err() {
                return Datum::Null;
            }
        }
        source.datum().unwrap_or(Datum::Null)
    }
}

impl Record for WindowRow {
    fn bytes(&self) -> u64 {
        (self.bytes.len() + size_of::<WindowRow>() + 16) as u64
    }

    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.head.to_le_bytes());
        out.extend_from_slice(&self.bytes);
    }

    fn read(record: &[u8]) -> Result<WindowRow> {
        let mut source = Source(record);
        let row = WindowRow { head: source.u128()?, bytes: source.0.into() };
        let offsets = [HEADER_BYTES, row.offset(0), row.offset(1), row.offset(2), row.bytes.len()];
        match offsets.is_sorted() {
            true => Ok(row),
            false => Err(Error::internal("a row of a window's file is damaged")),
        }
    }
}

impl<'a> Keys<'a> {
    pub fn new(by: Vec<(&'a Expr, bool)>, width: usize, has_value: bool) -> Keys<'a> {
        Keys { form: KeyForm::of(&by), by, width, has_value }
    }

    /// Makes a row of values.
    pub fn row(
        &self,
        fields: &dyn Fields,
        values: impl FnOnce(&mut Vec<u8>),
        scratch: &mut Vec<u8>,
        context: &EvalContext<'_>,
    ) -> Result<WindowRow> {
        scratch.clear();
        scratch.resize(HEADER_BYTES, 0);
        let mut order_at = 0;
        let mut order_value = None;
        for (number, (expr, descending)) in self.by.iter().enumerate() {
            if number == self.width {
                order_at = scratch.len();
            }
            let value = expr.eval(context, fields)?.fit(&expr.ty);
            self.form.write(&value, expr, *descending, number + 1 == self.by.len(), scratch);
            if number == self.width && self.has_value {
                order_value = Some(value);
            }
        }
        let key_end = scratch.len();
        if let Some(value) = order_value {
            write_datum(&value, scratch);
        }
        let values_at = scratch.len();
        values(scratch);
        let order_at = if order_at == 0 { key_end } else { order_at };
        for (number, offset) in [order_at, key_end, values_at].into_iter().enumerate() {
            scratch[4 * number..4 * (number + 1)].copy_from_slice(&(offset as u32).to_le_bytes());
        }
        if u32::try_from(scratch.len()).is_err() {
            return Err(Error::memory_exceeded("a row of a window", u64::from(u32::MAX)));
        }
        Ok(WindowRow { head: self.form.head(&scratch[HEADER_BYTES..key_end]), bytes: scratch.as_slice().into() })
    }

    pub fn compare(&self, a: &WindowRow, b: &WindowRow) -> Ordering {
        a.head.cmp(&b.head).then_with(|| self.form.compare(a.key(), b.key(), &self.by))
    }

    pub fn are_of_one_partition(&self, a: &WindowRow, b: &WindowRow) -> bool {
        let by = &self.by[..self.width];
        self.form.compare(a.key_of_partition(), b.key_of_partition(), by) == Ordering::Equal
    }

    /// Whether two rows of a partition are equal by the order.
    pub fn are_peers(&self, a: &WindowRow, b: &WindowRow) -> bool {
        self.form.compare(a.key_of_order(), b.key_of_order(), &self.by[self.width..]) == Ordering::Equal
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
