//! Filling trees in bulk: an index that is created, a table that is rebuilt, or created with its rows (`unfinished`).
//!
//! The rows that are there are read as a view sees them, without locks and without undo; no other thread knows the trees that
//! are filled. If this fails or the server stops, they are dropped (see `dictionary::ddl_log`). What others change meanwhile is
//! in a log (see `beside`).
//!
//! ```text
//! scan of the old rows, or those of a query -> records of each index -> (sorted) -> bulk load
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

/// Tells which partition of a new table a row belongs to: its place among `files`. The values are those of all columns.
pub type RowRoute<'a> = dyn FnMut(&[Option<&[u8]>]) -> Result<usize> + 'a;

/// Rows between two looks at what may stop the work.
pub(super) const LOOK_ROWS: u64 = 64;

/// A transaction that reads a table for a DDL statement.
pub(super) fn reader(interrupt: &Arc<Interrupt>) -> Transaction {
    Transaction::new(Isolation::RepeatableRead, interrupt.clone(), Duration::ZERO)
}

/// One row as the values of its clustered record, and its secondary entries.
pub(super) struct Rows<'t> {
    table: &'t row::Table,
    pub(super) record: RecordBuffer,
    entry: RecordBuffer,
    offsets: Offsets,
}

impl<'t> Rows<'t> {
    pub(super) fn new(table: &'t row::Table) -> Rows<'t> {
        Rows { table, record: RecordBuffer::new(), entry: RecordBuffer::new(), offsets: Offsets::default() }
    }

    /// Builds the clustered record of a row without history; long values go to overflow pages at once.
    pub(super) fn set_values(&mut self, inner: &Inner, values: &[Option<&[u8]>], row_id: u64) -> Result<()> {
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

    /// Gives the entries of a secondary index for a record that was taken to a sorter.
    fn sort_entries_of(&mut self, inner: &Inner, index: usize, record: &[u8], sorter: &mut Sorter<'_>) -> Result<()> {
        let mut version: Vec<FieldData<'_>> = Vec::with_capacity(self.offsets.fields().len());
        row::version_of_record(&self.table.tree(0).leaf, record, &self.offsets, &mut version);
        if self.table.index_tree(index).several.is_some() {
            return row::for_each_entry(&inner.store, self.table, index, &version, &mut self.entry, &mut |entry| {
                sorter.push(entry)
            });
        }
        row::build_entry(&inner.store, self.table, index, &version, 0, &mut self.entry)?;
        sorter.push(&self.entry)
    }

    /// The same for the record set last.
    fn sort_entries(&mut self, inner: &Inner, index: usize, sorter: &mut Sorter<'_>) -> Result<()> {
        let record = std::mem::take(&mut self.record);
        self.take(record.bytes(), record.origin())?;
        self.sort_entries_of(inner, index, record.bytes(), sorter)?;
        self.record = record;
        Ok(())
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
        let mut others = self.layout.parse_keys(self.last.bytes(), self.last.origin())?;
        let fields = self.layout.parse_keys(record.bytes(), record.origin())?.take(self.unique_fields);
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
        // Many sorts share less each: a table may have thousands of partitions.
        let least = if count > 64 { SORT_MEMORY_BYTES / 256 } else { SORT_MEMORY_BYTES / 32 };
        let memory_bytes = (SORTS_BYTES / count.max(1)).clamp(least, SORT_MEMORY_BYTES);
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
    /// others know it; its rows are those of `new`. `look` is called now and then, and may stop it.
    pub fn fill_indexes(
        &self,
        old: &row::Table,
        new: &row::Table,
        ordinals: &[usize],
        trx: &Transaction,
        look: &dyn Fn() -> Result<()>,
        interrupt: &Interrupt,
    ) -> Result<()> {
        let count = ordinals.len();
        let mut sorters: Vec<Sorter<'_>> = ordinals.iter().map(|at| self.sorter(new, *at, count)).collect();
        let mut rows = Rows::new(new);
        let mut scan = row::SnapshotScan::default();
        let context = self.context();
        while scan.next_leaf(&context, trx, old)? {
            look()?;
            for (record, origin) in scan.rows() {
                rows.take(record, origin)?;
                for (sorter, ordinal) in sorters.iter_mut().zip(ordinals) {
                    rows.sort_entries_of(self, *ordinal, record, sorter)?;
                }
            }
            interrupt.pass();
        }
        for (sorter, ordinal) in sorters.into_iter().zip(ordinals) {
            self.load_sorted(new, *ordinal, sorter, interrupt)?;
        }
        Ok(())
    }

    /// Fills the files `targets` of a new table with the rows of old files that the reader sees; returns their number. `route`
    /// tells the place of a row's file in `new.files()`, where there is a choice. `look` is called now and then, and may stop
    /// it.
    #[expect(clippy::too_many_arguments, reason = "what is read, how it becomes what is written, and where")]
    pub fn copy_rows(
        &self,
        sources: &[Arc<Table>],
        trx: &mut Transaction,
        new: &Arc<row::Table>,
        targets: &[usize],
        mut map: Option<&mut RowMap<'_>>,
        mut route: Option<&mut RowRoute<'_>>,
        look: &dyn Fn() -> Result<()>,
        interrupt: &Interrupt,
    ) -> Result<u64> {
        let files = new.files();
        if route.is_none() && files.len() > 1 && !targets.is_empty() {
            return Err(Error::Unsupported("rows without a rule that tells their partitions".into()));
        }
        // All indexes are sorted; rows that arrive in the order of the new key are recognised as sorted, and cost only
        // a comparison each.
        let sorters_count = new.indexes.len() * targets.len();
        let mut filling: Vec<Option<Filling<'_>>> = files.iter().map(|_| None).collect();
        for at in targets {
            filling[*at] = Some(Filling::begin(self, &files[*at], sorters_count));
        }
        let mut row = Row::new();
        let mut count = 0_u64;
        for old in sources {
            let columns = ColumnSet::first(old.columns.len());
            let mut scan = row::Scan::new(old, 0, ReadMode::Consistent, &columns, &ScanRange::ALL);
            while scan.next(&self.context_of(old), trx, old, &mut row)? {
                interrupt.pass();
                if count.is_multiple_of(LOOK_ROWS) {
                    look()?;
                }
                let mapped = match &mut map {
                    None => None,
                    Some(map) => match map(&row)? {
                        None => continue,
                        mapped => mapped,
                    },
                };
                let values: Vec<Option<&[u8]>> = match &mapped {
                    None => (0..old.columns.len()).map(|column| row.get(column)).collect(),
                    Some(mapped) => mapped.iter().map(|value| value.as_deref()).collect(),
                };
                let at = match &mut route {
                    Some(route) => route(&values)?,
                    None => targets[0],
                };
                let file = filling.get_mut(at).and_then(Option::as_mut);
                let file = file.ok_or_else(|| Error::Unsupported("a row of a partition that stays".into()))?;
                let row_id = match new.clustered().is_hidden() {
                    // Kept where the old table has them, so that the order is too.
                    true if old.has_row_id() => row.row_id,
                    true => self.registry.next_row_id(&self.store)?,
                    false => 0,
                };
                file.push(self, &values, row_id)?;
                count += 1;
            }
        }
        for file in filling.into_iter().flatten() {
            file.finish(self, interrupt)?;
        }
        Ok(count)
    }
}

/// A file that is filled with rows: one sort for each of its indexes.
pub(super) struct Filling<'t> {
    rows: Rows<'t>,
    sorters: Vec<Sorter<'t>>,
    count: u64,
}

impl<'t> Filling<'t> {
    /// `sorters`: how many sorts run side by side, in all files.
    pub(super) fn begin(inner: &Inner, table: &'t row::Table, sorters: usize) -> Filling<'t> {
        let sorter = |ordinal| inner.sorter(table, ordinal, sorters);
        Filling { rows: Rows::new(table), sorters: (0..table.indexes.len()).map(sorter).collect(), count: 0 }
    }

    pub(super) fn push(&mut self, inner: &Inner, values: &[Option<&[u8]>], row_id: u64) -> Result<()> {
        self.rows.set_values(inner, values, row_id)?;
        self.count += 1;
        for (ordinal, sorter) in self.sorters.iter_mut().enumerate() {
            match ordinal {
                0 => sorter.push(&self.rows.record)?,
                _ => self.rows.sort_entries(inner, ordinal, sorter)?,
            }
        }
        Ok(())
    }

    /// How many rows it has been given.
    pub(super) fn rows(&self) -> u64 {
        self.count
    }

    pub(super) fn finish(self, inner: &Inner, interrupt: &Interrupt) -> Result<()> {
        let table = self.rows.table;
        for (ordinal, sorter) in self.sorters.into_iter().enumerate() {
            inner.load_sorted(table, ordinal, sorter, interrupt)?;
        }
        table.state.rows.store(self.count, std::sync::atomic::Ordering::Relaxed);
        Ok(())
    }
}
