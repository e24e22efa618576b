//! Filling trees in bulk: an index that is created, a table that is rebuilt.
//!
//! The rows are read as a view sees them, without locks and without undo; no other thread knows the trees that are filled.
//! If this fails or the server stops, they are dropped (see `dictionary::ddl_log`). What others change while an index is
//! built is in the [`RowLog`](crate::row::RowLog); a table that is rebuilt is not changed meanwhile.
//!
//! ```text
//! scan of the old rows -> records of each index -> (sorted) -> bulk load
//! ```
//!
//! The rows of a rebuilt table have no history: every read view sees them.

use std::cmp::Ordering;
use std::sync::Arc;
use std::time::Duration;

use format::ids::RollPtr;
use format::page::blob::REFERENCE_BYTES;
use format::record::{FieldData, Layout, Offsets, RecordBuffer, compare_value};

use super::Inner;
use crate::btree::{BulkLoad, Overflow, SORT_MEMORY_BYTES, Sorter};
use crate::dictionary::Table;
use crate::error::{Error, Result};
use crate::lock::Interrupt;
use crate::mtr::Mtr;
use crate::row;
use crate::schema::{ColumnSet, FieldSource, ReadMode, Row, ScanRange};
use crate::scratch::SCRATCH_FILE_PREFIX;
use crate::segment;
use crate::transaction::{Isolation, Transaction};

/// Memory for the records that all sorts of a table collect.
const SORTS_BYTES: usize = 2 * SORT_MEMORY_BYTES;

/// `rebuild_table` calls this for each row of the old table: it returns the stored bytes of each column of the new one.
/// None = leave the row out.
pub type RowMap<'a> = dyn FnMut(&Row) -> Result<Option<Vec<Option<Vec<u8>>>>> + 'a;

/// Rows between two checks of the interrupt.
const INTERRUPT_ROWS: u64 = 1024;

/// A transaction that reads a table for a DDL statement.
pub(super) fn reader(interrupt: &Arc<Interrupt>) -> Transaction {
    Transaction::new(Isolation::RepeatableRead, interrupt.clone(), Duration::ZERO)
}

fn look_at(interrupt: &Interrupt, rows: u64) -> Result<()> {
    if rows.is_multiple_of(INTERRUPT_ROWS) && interrupt.is_set() { Err(Error::Interrupted) } else { Ok(()) }
}

/// One row as the values of its clustered record, and its secondary entries.
struct Rows<'t> {
    table: &'t row::Table,
    record: RecordBuffer,
    entry: RecordBuffer,
    offsets: Offsets,
}

impl<'t> Rows<'t> {
    fn new(table: &'t row::Table) -> Rows<'t> {
        Rows { table, record: RecordBuffer::new(), entry: RecordBuffer::new(), offsets: Offsets::default() }
    }

    /// Builds the clustered record of a row without history; long values go to overflow pages at once.
    fn set_values(&mut self, inner: &Inner, values: &[Option<&[u8]>], row_id: u64) -> Result<()> {
        let store = &inner.store;
        let table = self.table;
        let layout = &table.tree(0).leaf;
        let row_id = row_id.to_be_bytes();
        let roll_ptr = RollPtr::NO_HISTORY.to_bytes();
        let mut version = Vec::with_capacity(layout.fields().len());
        row::version_of_values(table, values, &row_id[2..], &mut version);
        for (field, data) in table.indexes[0].fields.iter().zip(&mut version) {
            if field.source == FieldSource::RollPtr {
                *data = FieldData::Bytes(&roll_ptr);
            }
        }
        let empty = row::empty_reference(table);
        let mut moved = Vec::new();
        row::move_out(layout, store.page_bytes(), &mut version, &empty, &mut moved)?;
        let mut references = Vec::new();
        for long in &moved {
            references.push((long.field, write_long(inner, table, long.bytes)?));
        }
        for (field, reference) in &references {
            version[*field] = FieldData::External(reference);
        }
        self.record.build(layout, 0, version.iter().copied());
        Ok(())
    }

    /// Takes a clustered record that is elsewhere.
    fn take(&mut self, record: &[u8], origin: usize) -> Result<()> {
        let parsed = self.table.tree(0).leaf.parse_into(record, origin, &mut self.offsets);
        parsed.map_err(|cause| Error::corrupt(cause.to_string()))
    }

    /// The entry of a secondary index for a record that was taken.
    fn entry_of(&mut self, inner: &Inner, index: usize, record: &[u8]) -> Result<&RecordBuffer> {
        let mut version: Vec<FieldData<'_>> = Vec::with_capacity(self.offsets.fields().len());
        row::version_of_record(record, &self.offsets, &mut version);
        row::build_entry(&inner.store, self.table, index, &version, 0, &mut self.entry)?;
        Ok(&self.entry)
    }

    /// The entry of a secondary index for the record set last.
    fn entry(&mut self, inner: &Inner, index: usize) -> Result<&RecordBuffer> {
        let record = std::mem::take(&mut self.record);
        self.take(record.bytes(), record.origin())?;
        self.entry_of(inner, index, record.bytes())?;
        self.record = record;
        Ok(&self.entry)
    }
}

/// Writes a long value to overflow pages.
fn write_long(inner: &Inner, table: &row::Table, value: &[u8]) -> Result<[u8; REFERENCE_BYTES]> {
    let store = &inner.store;
    let mut chain = Overflow::empty(table.space);
    while (chain.reference.bytes as usize) < value.len() {
        let pages = chain.step_pages(store, value);
        let _room = segment::reserve(store, table.space, pages as u32)?;
        store.check_headroom()?;
        let mut mtr = Mtr::begin_large(store, pages);
        chain.write_step(&mut mtr, table.tree(0).overflow_segment(), value)?;
        mtr.commit();
    }
    Ok(chain.reference.to_bytes())
}

/// Loads the records of one index in their order, and refuses duplicate keys in a unique index.
struct Load<'t> {
    table: &'t row::Table,
    load: BulkLoad<'t>,
    layout: &'t Layout,
    /// Leading fields that no two records may share, unless one of them is NULL and the index is secondary.
    unique_fields: usize,
    clustered: bool,
    ordinal: usize,
    last: RecordBuffer,
}

impl<'t> Load<'t> {
    fn begin(inner: &'t Inner, table: &'t row::Table, ordinal: usize) -> Load<'t> {
        let index = &table.indexes[ordinal];
        let tree = table.tree(ordinal);
        let unique_fields = match (index.clustered, index.unique) {
            (true, _) => index.unique_fields,
            (false, true) => index.parts.len(),
            (false, false) => 0,
        };
        Load {
            table,
            load: BulkLoad::begin(tree, &inner.store),
            layout: &tree.leaf,
            unique_fields,
            clustered: index.clustered,
            ordinal,
            last: RecordBuffer::new(),
        }
    }

    fn push(&mut self, record: &RecordBuffer) -> Result<()> {
        if self.unique_fields > 0 {
            if self.load.records() > 0 && self.is_duplicate(record).map_err(|e| Error::corrupt(e.to_string()))? {
                return Err(row::duplicate_rows(self.table, self.ordinal, record)?);
            }
            self.last.set(self.layout, record.image());
        }
        self.load.push(record.image())
    }

    fn is_duplicate(&self, record: &RecordBuffer) -> format::Result<bool> {
        let mut others = self.layout.parse(self.last.bytes(), self.last.origin())?;
        let fields = self.layout.parse(record.bytes(), record.origin())?.take(self.unique_fields);
        for (number, field) in fields.enumerate() {
            let Some(other) = others.next() else { break };
            let (mine, other) = (field?.of(record.bytes()), other?.of(self.last.bytes()));
            if mine.is_none() && !self.clustered {
                return Ok(false);
            }
            if compare_value(&self.layout.fields()[number], mine, other) != Ordering::Equal {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

impl Inner {
    /// A sorter for an index, under a name that no other sort uses. `count` sorters run side by side and share the
    /// memory.
    fn sorter<'t>(&self, table: &'t row::Table, ordinal: usize, count: usize) -> Sorter<'t> {
        let memory_bytes = (SORTS_BYTES / count).clamp(SORT_MEMORY_BYTES / 32, SORT_MEMORY_BYTES);
        let path = format!("{SCRATCH_FILE_PREFIX}{}", table.indexes[ordinal].id);
        Sorter::new(&table.tree(ordinal).leaf, self.store.scratch_disk().clone(), path, memory_bytes)
    }

    fn load_sorted(
        &self,
        table: &row::Table,
        ordinal: usize,
        sorter: Sorter<'_>,
        interrupt: &Interrupt,
    ) -> Result<u64> {
        let mut load = Load::begin(self, table, ordinal);
        let look = || if interrupt.is_set() { Err(Error::Interrupted) } else { Ok(()) };
        sorter.finish(&look, &mut |record| load.push(record))?;
        load.load.finish()
    }

    /// Fills the empty trees of new secondary indexes with the rows that the reader's view sees. `old` is the table as
    /// others know it; its rows are those of `new`.
    pub fn fill_indexes(
        &self,
        old: &row::Table,
        new: &row::Table,
        ordinals: &[usize],
        trx: &Transaction,
        interrupt: &Interrupt,
    ) -> Result<()> {
        let count = ordinals.len();
        let mut sorters: Vec<Sorter<'_>> = ordinals.iter().map(|at| self.sorter(new, *at, count)).collect();
        let mut rows = Rows::new(new);
        let mut scan = row::SnapshotScan::default();
        let context = self.context();
        while scan.next_leaf(&context, trx, old)? {
            if interrupt.is_set() {
                return Err(Error::Interrupted);
            }
            for (record, origin) in scan.rows() {
                rows.take(record, origin)?;
                for (sorter, ordinal) in sorters.iter_mut().zip(ordinals) {
                    sorter.push(rows.entry_of(self, *ordinal, record)?)?;
                }
            }
            interrupt.pass();
        }
        for (sorter, ordinal) in sorters.into_iter().zip(ordinals) {
            self.load_sorted(new, *ordinal, sorter, interrupt)?;
        }
        Ok(())
    }

    /// Fills a new table with the rows of an old one; returns their number.
    pub fn copy_rows(
        &self,
        old: &Arc<Table>,
        new: &row::Table,
        mut map: Option<&mut RowMap<'_>>,
        interrupt: &Arc<Interrupt>,
    ) -> Result<u64> {
        let columns = ColumnSet::first(old.columns.len());
        let mut trx = reader(interrupt);
        let mut scan = row::Scan::new(old, 0, ReadMode::Consistent, &columns, &ScanRange::ALL);
        // All indexes are sorted; rows that arrive in the order of the new key are recognised as sorted, and cost only
        // a comparison each.
        let count = new.indexes.len();
        let mut sorters: Vec<Sorter<'_>> = (0..count).map(|ordinal| self.sorter(new, ordinal, count)).collect();
        let mut rows = Rows::new(new);
        let mut row = Row::new();
        let mut count = 0;
        while scan.next(&self.context_of(old), &mut trx, old, &mut row)? {
            look_at(interrupt, count)?;
            let row_id = match new.has_row_id() {
                // Kept where the old table has them, so that the order is too.
                true if old.has_row_id() => row.row_id,
                true => self.registry.next_row_id(&self.store)?,
                false => 0,
            };
            match &mut map {
                None => {
                    let values: Vec<Option<&[u8]>> = (0..old.columns.len()).map(|column| row.get(column)).collect();
                    rows.set_values(self, &values, row_id)?;
                }
                Some(map) => {
                    let Some(values) = map(&row)? else { continue };
                    let values: Vec<Option<&[u8]>> = values.iter().map(|value| value.as_deref()).collect();
                    rows.set_values(self, &values, row_id)?;
                }
            }
            count += 1;
            for (ordinal, sorter) in sorters.iter_mut().enumerate() {
                match ordinal {
                    0 => sorter.push(&rows.record)?,
                    _ => sorter.push(rows.entry(self, ordinal)?)?,
                }
            }
        }
        for (ordinal, sorter) in sorters.into_iter().enumerate() {
            self.load_sorted(new, ordinal, sorter, interrupt)?;
        }
        Ok(count)
    }
}
