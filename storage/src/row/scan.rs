//! Reading a range of an index, in batches.
//!
//! A consistent scan copies several rows under one latch and returns them one by one; in between nothing is latched. It
//! remembers its position: if the leaf is still in its frame and unchanged, it continues there, otherwise it searches
//! for the key of the record it read last.
//!
//! ```text
//! refill    position -> record -> record -> ... -> batch full: note page, clock, record
//!             ^                                        |
//!             +---- same frame, same clock? -----------+---- no: search the noted key
//! ```
//!
//! Through a secondary index a row is looked up by its clustered key, unless the entry alone answers. The page may tell
//! that an entry is what the reader sees (its newest writer is visible and the entry is not delete-marked); if not, the
//! version of the row that the reader sees decides: it must have this very entry.
//!
//! A scan that does not lock may have a filter of columns (`schema::RowFilter`). It is asked of a clustered record before
//! anything is copied, of an older version or what was found by another index once it is a row.
//!
//! A locking scan takes one row at a time, locks it, and then reads it as it is now; see `locking`.

use std::cell::RefCell;
use std::ops::Bound;
use std::sync::Arc;

use format::ids::PageId;
use format::page::header;
use format::page::index::{self, INFIMUM, SUPREMUM, SearchMode};
use format::record::{self, Field, Layout, RecordBuffer, is_deleted};

mod locking;
mod older;

use super::entry::{Key, damaged, prefix_of};
use super::fill::{
    Place, constant_place, constant_places, fill, fill_constant, fill_from_entry, fill_if, read_visible, with_key,
};
use super::version::{Visible, record_has_entry};
use super::{Context, Scratch, Table};
use crate::error::{Error, Result};
use crate::lock::{LockId, LockMode};
use crate::schema::{ColumnSet, ColumnTest, ReadMode, Row, RowFilter, ScanRange};
use crate::store::{FrameHint, SharedGuard};
use crate::transaction::{Isolation, Transaction};

use older::Older;

/// Rows of the first batch, so that a LIMIT 1 copies little.
const BATCH_MIN: usize = if cfg!(test) { 2 } else { 4 };
const BATCH_MAX: usize = if cfg!(test) { 4 } else { 64 };

/// Buffers of finished scans, for later ones: a short range should not cost an allocation per row.
#[derive(Default)]
struct Buffers {
    batch: Vec<Row>,
    entries: Vec<(RecordBuffer, bool)>,
    last: RecordBuffer,
    ends: [End; 2],
    places: Vec<Place>,
}

/// A batch that has any rows ends behind so many more that did not pass the filter: a LIMIT may want no others.
const PASSED_OVER: u64 = 4;

/// What rows of a batch may have: with one of more bytes it is large enough.
const LONG_BYTES: usize = 1 << 16;

/// Buffer sets that a thread keeps.
const POOL_MAX: usize = 4;
/// Rows larger than this are not kept.
const KEPT_ROW_BYTES: usize = 32 << 10;

thread_local! {
    static POOL: RefCell<Vec<Buffers>> = const { RefCell::new(Vec::new()) };
}

/// One end of a range, with its own bytes.
#[derive(Debug, Default)]
struct End {
    bytes: Vec<u8>,
    /// Ends of the parts in `bytes`; `None` = NULL.
    parts: Vec<Option<(u32, u32)>>,
    /// Whether keys that begin with the parts belong to the range.
    included: bool,
    unbounded: bool,
}

impl End {
    fn set(&mut self, table: &Table, index: usize, bound: &Bound<&[Option<&[u8]>]>) {
        let end = self;
        end.bytes.clear();
        end.parts.clear();
        let (parts, mut included) = match bound {
            Bound::Unbounded => {
                end.unbounded = true;
                return;
            }
            Bound::Included(parts) => (*parts, true),
            Bound::Excluded(parts) => (*parts, false),
        };
        for (number, part) in parts.iter().enumerate() {
            let field = &table.indexes[index].fields[number];
            // For equal prefixes it is unknown here whether the whole values are equal.
            included |= field.prefix_bytes.is_some();
            end.parts.push(part.map(|bytes| {
                let bytes = prefix_of(table, field, bytes);
                let start = end.bytes.len() as u32;
                end.bytes.extend_from_slice(bytes);
                (start, end.bytes.len() as u32)
            }));
        }
        end.included = included;
        // An empty tuple bounds nothing.
        end.unbounded = parts.is_empty() && included;
    }

    fn key(&self) -> Key<'_> {
        let mut key = Key::new();
        for part in &self.parts {
            key.push(part.map(|(start, end)| &self.bytes[start as usize..end as usize]));
        }
        key
    }
}

/// Where a scan continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Progress {
    Start,
    /// Behind the record in `last`.
    Behind,
    /// At the record in `last`, which is read once more.
    At,
    End,
}

/// What rows have to pass.
struct Filter {
    tests: Arc<RowFilter>,
    /// Tests of columns that stand at the same place in every record of the clustered index.
    by_place: Vec<(usize, Place)>,
    /// Tests of fields behind those, which records of the clustered index always hold; in the order of fields.
    by_field: Vec<(usize, usize)>,
    /// Tests that only a row can be asked, because a record may hold a part of the value.
    by_row: Vec<usize>,
}

impl Filter {
    fn new(table: &Table, index: usize, tests: &Arc<RowFilter>) -> Filter {
        let (mut by_place, mut by_field, mut by_row) = (Vec::new(), Vec::new(), Vec::new());
        let layout = &table.rows().leaf;
        for (number, test) in tests.tests().iter().enumerate() {
            let field = table.indexes[0].field_of_column.get(test.column).copied().flatten().map(usize::from);
            match (constant_place(table, test.column), field) {
                _ if index != 0 => by_row.push(number),
                (Some(place), _) => by_place.push((number, place)),
                (None, Some(field)) if !layout.fields()[field].may_be_external() => by_field.push((number, field)),
                _ => by_row.push(number),
            }
        }
        by_field.sort_by_key(|(_, field)| *field);
        Filter { tests: tests.clone(), by_place, by_field, by_row }
    }

    /// Whether the record at `origin`, of the table's own layout, passes the tests of columns at constant places.
    #[inline]
    fn passes_places(&self, page: &[u8], origin: usize) -> Result<bool> {
        for (number, place) in &self.by_place {
            if !self.tests.tests()[*number].passes(Some(place.of(page, origin)?)) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Asks the other fields of such a record, as one walks over them.
    #[inline]
    fn passes_fields<'f>(&'f self, layout: &'f Layout, page: &'f [u8]) -> impl FnMut(usize, &Field) -> bool + 'f {
        let mut left = &self.by_field[..];
        move |number, field| {
            let is_asked = left.first().is_some_and(|(_, of)| *of == number);
            !is_asked || self.passes_field(&mut left, number, field.value(layout, number, page))
        }
    }

    /// Asks one of them. Apart, so that the walk over the others is short.
    #[inline(never)]
    fn passes_field(&self, left: &mut &[(usize, usize)], number: usize, value: Option<&[u8]>) -> bool {
        while let Some(((test, of), rest)) = left.split_first()
            && *of == number
        {
            if !self.tests.tests()[*test].passes(value) {
                return false;
            }
            *left = rest;
        }
        true
    }

    /// Whether a row passes; `of_record`: its record has passed already.
    #[inline]
    fn passes_row(&self, row: &Row, of_record: bool) -> bool {
        let tests = self.tests.tests();
        let passes = |test: &ColumnTest| test.passes(row.get(test.column));
        if of_record { self.by_row.iter().all(|number| passes(&tests[*number])) } else { tests.iter().all(passes) }
    }
}

/// A scan of a range of an index.
pub struct Scan {
    index: usize,
    mode: ReadMode,
    columns: ColumnSet,
    /// Whether entries of the index answer without the row.
    covering: bool,
    /// Where the columns stand in every record of the clustered index; empty if that differs.
    places: Vec<Place>,
    lower: End,
    upper: End,
    reverse: bool,
    progress: Progress,
    /// A copy of the record that the scan continues from.
    last: RecordBuffer,
    /// Where that record was.
    place: Option<(PageId, FrameHint, u16)>,
    batch: Vec<Row>,
    /// Rows of the batch already returned, and rows in it.
    handed: usize,
    count: usize,
    batch_rows: usize,
    /// Entries whose rows are looked up when the leaf is released; whether each is surely what the reader sees.
    entries: Vec<(RecordBuffer, bool)>,
    entry_count: usize,
    /// The lock of the row returned last, if the scan took it for that.
    lock: Option<LockId>,
    /// The row returned last is a committed version that is not locked, see `IfLocked::Committed`.
    unlocked: bool,
    /// The scan must wait for the next row.
    insists: bool,
    /// The range is one whole key of a unique index: at most one row, and no gaps around it, if it is there.
    point: bool,
    /// Older versions that the scan built for rows that were changed often.
    older: Older,
    filter: Option<Filter>,
    /// Rows that the reader sees and that did not pass, since they were last asked for.
    passed_over: u64,
}

/// How often a scan that finds nothing looks whether it has seen more leaves than the file has pages.
pub const LEAVES_LOOKED_AT: u32 = 256;

impl Scan {
    pub fn new(table: &Table, index: usize, mode: ReadMode, columns: &ColumnSet, range: &ScanRange<'_>) -> Scan {
        let columns = match mode {
            ReadMode::Consistent | ReadMode::Newest | ReadMode::Source => *columns,
            _ => with_key(table, columns),
        };
        let Buffers { batch, entries, last, ends: [mut lower, mut upper], mut places } =
            POOL.with_borrow_mut(Vec::pop).unwrap_or_default();
        places.clear();
        if index == 0 {
            constant_places(table, &columns, &mut places);
        }
        lower.set(table, index, &range.lower);
        upper.set(table, index, &range.upper);
        Scan {
            index,
            mode,
            columns,
            places,
            covering: index != 0 && table.indexes[index].covers(&columns),
            lower,
            upper,
            reverse: range.reverse,
            progress: Progress::Start,
            last,
            place: None,
            batch,
            handed: 0,
            count: 0,
            batch_rows: BATCH_MIN,
            entries,
            entry_count: 0,
            lock: None,
            unlocked: false,
            insists: false,
            point: is_point(table, index, range),
            older: Older::default(),
            filter: None,
            passed_over: 0,
        }
    }

    /// Leaves out rows that do not pass; false: a locking scan gives them all.
    pub fn filter(&mut self, table: &Table, tests: &Arc<RowFilter>) -> bool {
        if !matches!(self.mode, ReadMode::Consistent | ReadMode::Newest | ReadMode::Source) {
            return false;
        }
        debug_assert!(
            tests.tests().iter().all(|test| self.columns.contains(test.column)),
            "tests of columns that are read"
        );
        self.filter = Some(Filter::new(table, self.index, tests));
        true
    }

    /// How many rows the filter has left out since this was last asked.
    #[inline]
    pub fn take_passed_over(&mut self) -> u64 {
        std::mem::take(&mut self.passed_over)
    }

    /// The next row; false = the end.
    #[inline]
    pub fn next(&mut self, ctx: &Context<'_>, trx: &mut Transaction, table: &Table, row: &mut Row) -> Result<bool> {
        loop {
            if self.handed < self.count {
                std::mem::swap(row, &mut self.batch[self.handed]);
                self.handed += 1;
                return Ok(true);
            }
            if self.progress == Progress::End {
                return Ok(false);
            }
            if trx.interrupt.is_set() {
                return Err(Error::Interrupted);
            }
            match self.mode {
                ReadMode::Consistent | ReadMode::Newest | ReadMode::Source => self.refill(ctx, trx, table)?,
                ReadMode::Shared(wait) => return self.next_locked(ctx, trx, table, (LockMode::Shared, wait), row),
                ReadMode::Exclusive(wait) => {
                    return self.next_locked(ctx, trx, table, (LockMode::Exclusive, wait), row);
                }
            }
        }
    }

    /// Releases the lock of the row returned last, where the isolation level allows that: the statement will not change
    /// it.
    pub fn unlock_row(&mut self, ctx: &Context<'_>, trx: &mut Transaction) {
        if let Some(id) = self.lock.take()
            && trx.isolation <= Isolation::ReadCommitted
        {
            ctx.locks.unlock(&mut trx.locks, id);
        }
    }

    /// Whether the row returned last is the last committed version of one that others have locked.
    #[inline]
    pub fn is_unlocked(&self) -> bool {
        self.unlocked
    }

    /// Goes back to that row, to wait for it and read it as it is then.
    pub fn insist(&mut self) {
        self.insists = true;
        self.progress = Progress::At;
    }

    /// Latches the leaf where the scan continues, and returns the record there: the supremum (or, backward, the
    /// infimum) if it is on the next leaf. `None` = there is nothing.
    fn position<'s>(&self, ctx: &Context<'s>, table: &Table) -> Result<Option<(SharedGuard<'s>, u16)>> {
        let tree = table.tree(self.index);
        let store = ctx.store;
        if self.progress != Progress::Start
            && let Some((page, hint, origin)) = self.place
            && let Some(page) = store.try_reacquire(page, hint)
        {
            let origin = match (self.progress, self.reverse) {
                (Progress::At, _) => origin,
                (_, false) => index::next(&page, origin).map_err(damaged)?,
                (_, true) => index::prev(&page, origin).map_err(damaged)?,
            };
            return Ok(Some((page, origin)));
        }
        if self.progress != Progress::Start {
            let key = Key::of_buffer(&self.last, &tree.leaf)?;
            return match (self.progress, self.reverse) {
                (Progress::At, false) => found(tree.find(store, &key, SearchMode::GreaterOrEqual)?),
                (_, false) => found(tree.find(store, &key, SearchMode::Greater)?),
                (Progress::At, true) => tree.find_up_to(store, &key),
                (_, true) => tree.find_before(store, &key),
            };
        }
        let end = if self.reverse { &self.upper } else { &self.lower };
        if end.unbounded {
            let page = tree.edge(store, self.reverse)?;
            let origin = if self.reverse { index::last(&page) } else { index::first(&page) };
            let origin = origin.map_err(damaged)?;
            return Ok(Some((page, origin)));
        }
        let key = end.key();
        match (self.reverse, end.included) {
            (false, true) => found(tree.find(store, &key, SearchMode::GreaterOrEqual)?),
            (false, false) => found(tree.find(store, &key, SearchMode::Greater)?),
            (true, true) => tree.find_up_to(store, &key),
            (true, false) => tree.find_before(store, &key),
        }
    }

    /// Goes to the leaf that follows in the direction of the scan, and returns its first record in that direction.
    fn next_leaf<'s>(
        &mut self,
        ctx: &Context<'s>,
        table: &Table,
        page: SharedGuard<'s>,
    ) -> Result<Option<(SharedGuard<'s>, u16)>> {
        let tree = table.tree(self.index);
        if !self.reverse {
            let Some(page) = tree.next_leaf(ctx.store, page)? else { return Ok(None) };
            let origin = index::first(&page).map_err(damaged)?;
            return Ok(Some((page, origin)));
        }
        if header::prev(&page).is_null() {
            return Ok(None);
        }
        // The latch order forbids moving left: release the leaf, and search for what is before its first record.
        let first = index::first(&page).map_err(damaged)?;
        if first == SUPREMUM {
            return Err(Error::corrupt_page(page.page_id(), "an empty leaf with neighbours"));
        }
        self.last.copy(&page, &tree.leaf, usize::from(first)).map_err(damaged)?;
        self.place = None;
        self.progress = Progress::Behind;
        drop(page);
        let key = Key::of_buffer(&self.last, &tree.leaf)?;
        tree.find_before(ctx.store, &key)
    }

    /// Whether a record is beyond the far end of the range.
    #[inline]
    fn is_beyond(&self, table: &Table, page: &[u8], origin: u16) -> Result<bool> {
        let end = if self.reverse { &self.lower } else { &self.upper };
        if end.unbounded {
            return Ok(false);
        }
        let order = record::compare(page, &table.tree(self.index).leaf, usize::from(origin), &end.key());
        let order = order.map_err(damaged)?;
        Ok(match (self.reverse, order) {
            (_, std::cmp::Ordering::Equal) => !end.included,
            (false, order) => order.is_gt(),
            (true, order) => order.is_lt(),
        })
    }

    /// Notes the record at `origin` as the one that the scan continues from.
    fn note(&mut self, table: &Table, page: &SharedGuard<'_>, origin: u16, progress: Progress) -> Result<()> {
        let layout = &table.tree(self.index).leaf;
        self.last.copy(page, layout, usize::from(origin)).map_err(damaged)?;
        self.place = Some((page.page_id(), page.hint(), origin));
        self.progress = progress;
        Ok(())
    }

    /// Reads the next batch of rows as the transaction's view sees them.
    fn refill(&mut self, ctx: &Context<'_>, trx: &mut Transaction, table: &Table) -> Result<()> {
        let newest = self.mode == ReadMode::Newest || trx.reads_uncommitted();
        if !newest {
            let low_limit = trx.open_view(ctx.registry).low_limit();
            if self.index != 0 && table.state.built_indexes.is_newer(table.indexes[self.index].id, low_limit) {
                return Err(Error::TableChanged);
            }
        }
        self.handed = 0;
        self.count = 0;
        self.entry_count = 0;
        let batch_rows = self.batch_rows;
        self.batch_rows = (batch_rows * 2).min(BATCH_MAX);
        if self.batch.len() < batch_rows {
            self.batch.resize_with(batch_rows, Row::new);
        }

        let passed_before = self.passed_over;
        let mut at = self.position(ctx, table)?;
        let mut noted = None;
        // Whether no record of this leaf is beyond the end, so that none need be compared.
        let mut inside = false;
        let mut entered = true;
        let mut leaves = 0_u32;
        while let Some((page, origin)) = at {
            if origin == SUPREMUM || origin == INFIMUM {
                // Rows that the view does not see are many when a snapshot is old.
                if trx.interrupt.is_set() {
                    return Err(Error::Interrupted);
                }
                leaves += 1;
                // Leaves in a circle whose rows are all invisible would be read for ever.
                if leaves.is_multiple_of(LEAVES_LOOKED_AT) && leaves > ctx.store.space_pages(table.space)?.0 {
                    return Err(Error::corrupt_page(page.page_id(), "a leaf that comes back in its own tree"));
                }
                at = self.next_leaf(ctx, table, page)?;
                noted = None;
                entered = true;
                continue;
            }
            if entered {
                entered = false;
                let far = if self.reverse { index::first(&page) } else { index::last(&page) };
                inside = !self.is_beyond(table, &page, far.map_err(damaged)?)?;
            }
            if !inside && self.is_beyond(table, &page, origin)? {
                self.progress = Progress::End;
                break;
            }
            let has_long = self.take(ctx, trx, table, &page, usize::from(origin), newest)?;
            let passed_over = self.passed_over - passed_before;
            let is_enough = self.count > 0 && passed_over >= PASSED_OVER * batch_rows as u64;
            if self.count + self.entry_count >= batch_rows || has_long || is_enough {
                // A range that ends here, as that of a key does, needs not be searched again.
                let next = if self.reverse { index::prev(&page, origin) } else { index::next(&page, origin) };
                let next = next.map_err(damaged)?;
                if !inside && next != SUPREMUM && next != INFIMUM && self.is_beyond(table, &page, next)? {
                    self.progress = Progress::End;
                    break;
                }
                self.note(table, &page, origin, Progress::Behind)?;
                noted = Some(());
                break;
            }
            let next = if self.reverse { index::prev(&page, origin) } else { index::next(&page, origin) };
            at = Some((page, next.map_err(damaged)?));
        }
        // `at` held a latch until here, unless it was moved out.
        if noted.is_none() {
            self.progress = Progress::End;
        }
        self.look_up(ctx, trx, table, newest)
    }

    /// Takes the record at `origin` into the batch if the reader sees it, or notes its entry for later. Returns whether
    /// it brought long values: then the batch is large enough.
    fn take(
        &mut self,
        ctx: &Context<'_>,
        trx: &Transaction,
        table: &Table,
        page: &[u8],
        origin: usize,
        newest: bool,
    ) -> Result<bool> {
        if self.index == 0 {
            let row = &mut self.batch[self.count];
            if (!self.places.is_empty() || self.filter.is_some())
                && table.rows().leaf.reads(page, origin)
                && (newest || trx.sees(table.rows().leaf.trx_id(page, origin).map_err(damaged)?))
            {
                if is_deleted(page, origin) {
                    return Ok(false);
                }
                let columns = &self.columns;
                let passes = match &self.filter {
                    Some(filter) if !filter.passes_places(page, origin)? => false,
                    Some(filter) if self.places.is_empty() => {
                        let passes = filter.passes_fields(&table.rows().leaf, page);
                        fill_if(ctx, table, page, origin, columns, row, passes)?
                    }
                    _ => {
                        fill_constant(table, page, origin, &self.places, row)?;
                        true
                    }
                };
                if !passes {
                    self.passed_over += 1;
                    return Ok(false);
                }
                return Ok(self.admit(true));
            }
            if read_visible(ctx, trx, table, page, origin, newest, &self.columns, row)? {
                return Ok(self.admit(false));
            }
            return Ok(false);
        }
        let deleted = is_deleted(page, origin);
        // Not only the newest writer must be visible, but every earlier writer of this page.
        let certain = newest || trx.view.as_ref().is_some_and(|view| index::max_trx_id(page) < view.up_limit());
        if certain && deleted {
            return Ok(false);
        }
        let layout = &table.tree(self.index).leaf;
        if self.covering && certain && !newest {
            let row = &mut self.batch[self.count];
            fill_from_entry(table, self.index, page, origin, &self.columns, row)?;
            self.admit(false);
            return Ok(false);
        }
        if self.covering {
            let mut scratch = Scratch::take();
            let mut entry = std::mem::take(&mut scratch.entry);
            entry.copy(page, layout, origin).map_err(damaged)?;
            if self.look_up_one(ctx, trx, table, &entry, false, newest)? {
                self.admit(false);
            }
            scratch.entry = entry;
            return Ok(false);
        }
        if self.entries.len() == self.entry_count {
            self.entries.push((RecordBuffer::new(), false));
        }
        let (entry, is_certain) = &mut self.entries[self.entry_count];
        entry.copy(page, layout, origin).map_err(damaged)?;
        // The newest version may have changed by the time it is read.
        *is_certain = certain && !newest;
        self.entry_count += 1;
        Ok(false)
    }

    /// Takes the row at the end of the batch into it, if it passes the filter; `of_record`: its record has passed what is
    /// asked of records. Returns whether it brought long values.
    #[inline]
    fn admit(&mut self, of_record: bool) -> bool {
        let row = &self.batch[self.count];
        if self.filter.as_ref().is_some_and(|filter| !filter.passes_row(row, of_record)) {
            self.passed_over += 1;
            return false;
        }
        self.count += 1;
        row.stored_bytes() > LONG_BYTES
    }

    /// Looks up the rows of the entries that were noted.
    fn look_up(&mut self, ctx: &Context<'_>, trx: &Transaction, table: &Table, newest: bool) -> Result<()> {
        let entries = std::mem::take(&mut self.entries);
        for (entry, certain) in &entries[..self.entry_count] {
            if self.look_up_one(ctx, trx, table, entry, *certain, newest)? {
                self.admit(false);
            }
        }
        self.entries = entries;
        self.entry_count = 0;
        Ok(())
    }

    /// Reads the row of an entry into the next place of the batch, if the reader sees it with this entry.
    fn look_up_one(
        &mut self,
        ctx: &Context<'_>,
        trx: &Transaction,
        table: &Table,
        entry: &RecordBuffer,
        certain: bool,
        newest: bool,
    ) -> Result<bool> {
        let rows = table.rows();
        let key = Key::of_entry(table, self.index, entry.bytes(), entry.origin())?;
        let (page, position) = rows.find(ctx.store, &key, SearchMode::LessOrEqual)?;
        if !position.matched {
            return Ok(false);
        }
        let origin = usize::from(position.origin);
        let row = &mut self.batch[self.count];
        if certain {
            return read_visible(ctx, trx, table, &page, origin, newest, &self.columns, row);
        }
        let older = &mut self.older;
        let mut scratch = Scratch::take();
        let version = match newest {
            true => Visible::Current,
            false => older.visible(ctx, trx, table, (&page, origin), &mut scratch.old)?,
        };
        let (bytes, origin) = match version {
            Visible::Current => (&*page, origin),
            Visible::Older => (scratch.old.bytes(), scratch.old.origin()),
            Visible::None => return Ok(false),
        };
        if is_deleted(bytes, origin) || !record_has_entry(ctx, table, self.index, entry, bytes, origin)? {
            return Ok(false);
        }
        fill(ctx, table, bytes, origin, &self.columns, row)?;
        Ok(true)
    }
}

impl Drop for Scan {
    fn drop(&mut self) {
        // The thread may be ending.
        let _ = POOL.try_with(|pool| {
            let mut pool = pool.borrow_mut();
            if pool.len() < POOL_MAX {
                let mut batch = std::mem::take(&mut self.batch);
                for row in batch.iter_mut().filter(|row| row.stored_bytes() > KEPT_ROW_BYTES) {
                    *row = Row::new();
                }
                pool.push(Buffers {
                    batch,
                    entries: std::mem::take(&mut self.entries),
                    last: std::mem::take(&mut self.last),
                    ends: [std::mem::take(&mut self.lower), std::mem::take(&mut self.upper)],
                    places: std::mem::take(&mut self.places),
                });
            }
        });
    }
}

/// A place found by a search upward; it always exists, if only as a supremum.
#[inline]
fn found<'s>(place: (SharedGuard<'s>, index::Position)) -> Result<Option<(SharedGuard<'s>, u16)>> {
    Ok(Some((place.0, place.1.origin)))
}

/// Whether a range is one whole key of a unique index, of which there is one entry at most.
fn is_point(table: &Table, index: usize, range: &ScanRange<'_>) -> bool {
    let of = &table.indexes[index];
    let (Bound::Included(lower), Bound::Included(upper)) = (range.lower, range.upper) else { return false };
    let parts = if index == 0 { table.key_fields() } else { of.parts.len() };
    !range.reverse
        && (index == 0 || of.unique)
        && lower.len() == parts
        && lower == upper
        && lower.iter().all(Option::is_some)
        && of.parts.iter().all(|part| part.prefix_chars.is_none())
}
