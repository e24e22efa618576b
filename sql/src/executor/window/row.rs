//! A row that is kept until all window functions have their results.
//!
//! Behind its key, which is that of the partition and that of the order, stands:
//!
//! ```text
//! 4  where in the key that of the order begins
//! 4  where the table ends
//!    table    4 for each value: where it begins, counted from behind the key
//!    value    of the order, if frames are bound by it
//!    values   slots | aggregates | results of the functions of earlier passes
//! ```

use std::cmp::Ordering;
use std::rc::Rc;

use crate::error::{Error, Result};
use crate::executor::sorter::Record;
use crate::expression::record::{Source, write_datum};
use crate::expression::{Datum, EvalContext, Expr, Fields, KeyForm, Keyed};

const HEADER_BYTES: usize = 8;
const PLACE_BYTES: usize = 4;

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

#[derive(Default)]
pub struct WindowRow(Keyed);

impl WindowRow {
    fn keys(&self) -> (&[u8], &[u8]) {
        let order_at = u32_at(self.0.rest(), 0).unwrap_or(0);
        self.0.key().split_at_checked(order_at).unwrap_or_default()
    }

    fn table_end(&self) -> usize {
        u32_at(self.0.rest(), PLACE_BYTES).unwrap_or(0)
    }

    /// The value of the order.
    pub fn order_value(&self) -> Datum<'_> {
        self.datum_at(self.table_end())
    }

    /// One of the values; NULL if there are not so many.
    fn value(&self, number: usize) -> Datum<'_> {
        let place_at = HEADER_BYTES + PLACE_BYTES * number;
        match u32_at(self.0.rest(), place_at) {
            Some(place) if place_at < self.table_end() => self.datum_at(place),
            _ => Datum::Null,
        }
    }

    fn datum_at(&self, place: usize) -> Datum<'_> {
        let value = self.0.rest().get(place..);
        value.and_then(|value| Source(value).datum().ok()).unwrap_or(Datum::Null)
    }
}

fn u32_at(bytes: &[u8], at: usize) -> Option<usize> {
    bytes.get(at..)?.first_chunk().map(|bytes| u32::from_le_bytes(*bytes) as usize)
}

/// Appends values to a row that is made.
pub struct Values<'v> {
    bytes: &'v mut Vec<u8>,
    key_bytes: usize,
    /// Where the place of the next value goes.
    next: usize,
}

impl Values<'_> {
    pub fn push(&mut self, value: &Datum<'_>) {
        self.put_place(self.bytes.len() - self.key_bytes);
        write_datum(value, self.bytes);
    }

    /// Appends all values of another row.
    pub fn extend(&mut self, row: &WindowRow) {
        let rest = row.0.rest();
        let table = rest.get(HEADER_BYTES..row.table_end()).unwrap_or_default();
        let Some(first) = u32_at(table, 0) else { return };
        let begin = self.bytes.len() - self.key_bytes;
        for place in table.as_chunks().0 {
            let behind_first = (u32::from_le_bytes(*place) as usize).saturating_sub(first);
            self.put_place(begin + behind_first);
        }
        self.bytes.extend_from_slice(rest.get(first..).unwrap_or_default());
    }

    fn put_place(&mut self, place: usize) {
        if let Some(slot) = self.bytes.get_mut(self.next..).and_then(<[u8]>::first_chunk_mut) {
            *slot = (place as u32).to_le_bytes();
        }
        self.next += PLACE_BYTES;
    }
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

    /// Makes a row in `bytes`, of `count` values that `fill` appends.
    pub fn row(
        &self,
        fields: &dyn Fields,
        count: usize,
        fill: impl FnOnce(&mut Values<'_>),
        bytes: &mut Vec<u8>,
        context: &EvalContext<'_>,
    ) -> Result<WindowRow> {
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
        let next = key_bytes + HEADER_BYTES;
        let table_end = HEADER_BYTES + PLACE_BYTES * count;
        bytes.resize(key_bytes + table_end, 0);
        let header = [order_at.unwrap_or(key_bytes), table_end];
        for (place, header) in header.into_iter().zip(bytes[key_bytes..].as_chunks_mut().0) {
            *header = (place as u32).to_le_bytes();
        }
        if let Some(value) = order_value {
            write_datum(&value, bytes);
        }
        fill(&mut Values { bytes, key_bytes, next });
        if u32::try_from(bytes.len()).is_err() {
            return Err(Error::memory_exceeded("a row of a window", u32::MAX.into()));
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
    pub fn write(&self, out: &mut Values<'_>) {
        out.extend(self.kept);
        self.results.iter().for_each(|result| out.push(result));
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
