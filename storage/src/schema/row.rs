//! A row between the trees and a statement: stored bytes by column ordinal, in one reusable buffer.
//!
//! ```text
//! fields   column 0   column 1   column 2 ...      each an offset and a length into the bytes
//! bytes    ......|........|...
//! ```
//!
//! A column that was not asked for is absent; one that is NULL has no bytes. Beside the columns a row carries what
//! identifies its version: DB_ROW_ID (if the table has one), DB_TRX_ID and DB_ROLL_PTR.

use format::ids::{PageId, RollPtr, TrxId};

use super::COLUMNS_MAX;

const WORDS: usize = COLUMNS_MAX.div_ceil(64);

/// A set of column ordinals.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ColumnSet {
    words: [u64; WORDS],
}

impl ColumnSet {
    pub const EMPTY: ColumnSet = ColumnSet { words: [0; WORDS] };

    /// The first `count` columns.
    pub fn first(count: usize) -> ColumnSet {
        let mut set = ColumnSet::EMPTY;
        for column in 0..count {
            set.insert(column);
        }
        set
    }

    #[inline]
    pub fn insert(&mut self, column: usize) {
        self.words[column / 64] |= 1 << (column % 64);
    }

    #[inline]
    pub fn remove(&mut self, column: usize) {
        self.words[column / 64] &= !(1 << (column % 64));
    }

    #[inline]
    pub fn contains(&self, column: usize) -> bool {
        self.words[column / 64] >> (column % 64) & 1 == 1
    }

    pub fn is_empty(&self) -> bool {
        self.words == [0; WORDS]
    }

    pub fn len(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }

    pub fn is_subset(&self, of: &ColumnSet) -> bool {
        self.words.iter().zip(&of.words).all(|(mine, theirs)| mine & !theirs == 0)
    }

    pub fn intersects(&self, other: &ColumnSet) -> bool {
        self.words.iter().zip(&other.words).any(|(mine, theirs)| mine & theirs != 0)
    }

    pub fn union(&self, other: &ColumnSet) -> ColumnSet {
        let mut set = *self;
        for (word, more) in set.words.iter_mut().zip(&other.words) {
            *word |= more;
        }
        set
    }

    /// The columns in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.words.iter().enumerate().flat_map(|(at, word)| {
            let mut rest = *word;
            std::iter::from_fn(move || {
                if rest == 0 {
                    return None;
                }
                let bit = rest.trailing_zeros() as usize;
                rest &= rest - 1;
                Some(at * 64 + bit)
            })
        })
    }
}

impl FromIterator<usize> for ColumnSet {
    fn from_iter<I: IntoIterator<Item = usize>>(columns: I) -> ColumnSet {
        let mut set = ColumnSet::EMPTY;
        for column in columns {
            set.insert(column);
        }
        set
    }
}

impl std::fmt::Debug for ColumnSet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

/// Length of a field that is NULL.
const NULL: u32 = u32::MAX;
/// Length of a field that was not read.
const ABSENT: u32 = u32::MAX - 1;

#[derive(Clone, Copy, Debug)]
struct Field {
    offset: u32,
    bytes: u32,
}

/// Where a locking read found a row, so that the next change need not search: valid until records
/// of the page move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowPlace {
    pub page: PageId,
    /// The frame in which the page was, and how often its records had moved.
    pub frame: u32,
    pub clock: u64,
    pub origin: u16,
}

/// A row. Reuse one for many reads: its buffers grow to the largest row and stay.
#[derive(Clone, Debug, Default)]
pub struct Row {
    bytes: Vec<u8>,
    fields: Vec<Field>,
    /// DB_ROW_ID, 0 if the table has none.
    pub row_id: u64,
    pub trx_id: TrxId,
    pub roll_ptr: RollPtr,
    /// For a row that was read under a lock by its clustered key.
    pub place: Option<RowPlace>,
    /// Which partition of its table the reader has it from; storage does not know that.
    pub partition: u32,
}

impl Row {
    pub fn new() -> Row {
        Row::default()
    }

    /// The stored bytes of a column; None = NULL. Panics if the column was not asked for.
    #[inline]
    pub fn get(&self, column: usize) -> Option<&[u8]> {
        let field = self.fields[column];
        if field.bytes >= ABSENT {
            assert!(field.bytes == NULL, "column {column} was not read");
            return None;
        }
        Some(&self.bytes[field.offset as usize..field.offset as usize + field.bytes as usize])
    }

    /// Whether the column was read.
    #[inline]
    pub fn has(&self, column: usize) -> bool {
        self.fields.get(column).is_some_and(|field| field.bytes != ABSENT)
    }

    /// Bytes of all columns that were read.
    #[inline]
    pub fn stored_bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Columns of the table, read or not.
    #[inline]
    pub fn column_count(&self) -> usize {
        self.fields.len()
    }

    /// Makes this an empty row of `columns` columns, all absent.
    #[inline]
    pub fn clear(&mut self, columns: usize) {
        self.bytes.clear();
        self.fields.clear();
        self.fields.resize(columns, Field { offset: 0, bytes: ABSENT });
        self.row_id = 0;
        self.trx_id = TrxId(0);
        self.roll_ptr = RollPtr(0);
        self.place = None;
    }

    #[inline]
    pub fn set(&mut self, column: usize, value: Option<&[u8]>) {
        match value {
            None => self.fields[column] = Field { offset: 0, bytes: NULL },
            Some(value) => {
                let offset = self.bytes.len() as u32;
                self.bytes.extend_from_slice(value);
                self.fields[column] = Field { offset, bytes: value.len() as u32 };
            }
        }
    }

    /// Sets a column to what `fill` appends to the buffer: for values read in pieces.
    pub fn set_with<E>(&mut self, column: usize, fill: impl FnOnce(&mut Vec<u8>) -> Result<(), E>) -> Result<(), E> {
        let offset = self.bytes.len();
        fill(&mut self.bytes)?;
        assert!(self.bytes.len() >= offset, "a field is appended");
        self.fields[column] = Field { offset: offset as u32, bytes: (self.bytes.len() - offset) as u32 };
        Ok(())
    }

    /// Copies another row into this one's buffers.
    pub fn copy_from(&mut self, other: &Row) {
        self.bytes.clear();
        self.bytes.extend_from_slice(&other.bytes);
        self.fields.clear();
        self.fields.extend_from_slice(&other.fields);
        self.row_id = other.row_id;
        self.trx_id = other.trx_id;
        self.roll_ptr = other.roll_ptr;
        self.place = other.place;
        self.partition = other.partition;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_set_is_a_set() {
        let mut set: ColumnSet = [3, 64, 1000].into_iter().collect();
        assert_eq!(set.iter().collect::<Vec<_>>(), [3, 64, 1000]);
        assert!(set.contains(64) && !set.contains(63));
        set.remove(64);
        assert_eq!(set.len(), 2);
        assert!(set.is_subset(&ColumnSet::first(1001)) && !set.is_subset(&ColumnSet::first(1000)));
    }

    #[test]
    fn a_row_keeps_nulls_and_absent_columns_apart() {
        let mut row = Row::new();
        row.clear(3);
        row.set(2, Some(b"abc"));
        row.set(0, None);
        assert_eq!((row.get(0), row.get(2)), (None, Some(&b"abc"[..])));
        assert!(row.has(0) && !row.has(1));
        let mut copy = Row::new();
        copy.copy_from(&row);
        assert_eq!(copy.get(2), Some(&b"abc"[..]));
    }
}
