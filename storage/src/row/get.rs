//! Reading one row by a whole key, and turning records into rows.

use format::ids::{RollPtr, TrxId};
use format::page::blob::{REFERENCE_BYTES, Reference};
use format::page::index::SearchMode;
use format::record::{Field, is_deleted};

use super::entry::damaged;
use super::lock::{RowLock, lock_gap_behind, lock_row, scan_kind, wait_or_skip};
use super::version::{Visible, visible};
use super::{Context, Scan, Scratch, Table};
use crate::btree;
use crate::error::Result;
use crate::lock::{LockKind, LockMode};
use crate::schema::{ColumnSet, FieldSource, IfLocked, ReadMode, Row, ScanRange};
use crate::transaction::Transaction;

/// Reads the row with this full key of a unique index. False = there is none.
///
/// In an index on prefixes of columns the row found has the key's prefixes: the caller compares the whole values.
#[allow(clippy::too_many_arguments)]
pub fn get(
    ctx: &Context<'_>,
    trx: &mut Transaction,
    table: &Table,
    index: usize,
    key: &[Option<&[u8]>],
    mode: ReadMode,
    columns: &ColumnSet,
    row: &mut Row,
) -> Result<bool> {
    let has_prefix = || table.indexes[index].parts.iter().any(|part| part.prefix_chars.is_some());
    if index != 0 || key.len() != table.key_fields() || has_prefix() {
        let mut scan = Scan::new(table, index, mode, columns, &ScanRange::prefix(key));
        return scan.next(ctx, trx, table, row);
    }
    match mode {
        // Which of the two a source is has been decided above.
        ReadMode::Consistent | ReadMode::Source => get_consistent(ctx, trx, table, key, columns, row),
        ReadMode::Shared(wait) => get_locked(ctx, trx, table, key, (LockMode::Shared, wait), columns, row),
        ReadMode::Exclusive(wait) => get_locked(ctx, trx, table, key, (LockMode::Exclusive, wait), columns, row),
    }
}

fn get_consistent(
    ctx: &Context<'_>,
    trx: &mut Transaction,
    table: &Table,
    key: &[Option<&[u8]>],
    columns: &ColumnSet,
    row: &mut Row,
) -> Result<bool> {
    let rows = table.rows();
    let newest = trx.reads_uncommitted();
    if !newest {
        trx.open_view(ctx.registry);
    }
    let (page, position) = rows.find(ctx.store, key, SearchMode::LessOrEqual)?;
    if !position.matched {
        return Ok(false);
    }
    let origin = usize::from(position.origin);
    read_visible(ctx, trx, table, &page, origin, newest, columns, row)
}

/// Reads the version that the transaction sees of the clustered record at `origin`. False = it sees no row.
#[inline]
#[allow(clippy::too_many_arguments)]
pub(super) fn read_visible(
    ctx: &Context<'_>,
    trx: &Transaction,
    table: &Table,
    page: &[u8],
    origin: usize,
    newest: bool,
    columns: &ColumnSet,
    row: &mut Row,
) -> Result<bool> {
    if newest || trx.sees(table.rows().leaf.trx_id(page, origin).map_err(damaged)?) {
        if is_deleted(page, origin) {
            return Ok(false);
        }
        fill(ctx, table, page, origin, columns, row)?;
        return Ok(true);
    }
    let mut scratch = Scratch::take();
    match visible(ctx, trx, table, page, origin, &mut scratch.old)? {
        Visible::Older if !is_deleted(scratch.old.bytes(), scratch.old.origin()) => {
            fill(ctx, table, scratch.old.bytes(), scratch.old.origin(), columns, row)?;
            Ok(true)
        }
        _ => Ok(false),
    }
}

fn get_locked(
    ctx: &Context<'_>,
    trx: &mut Transaction,
    table: &Table,
    key: &[Option<&[u8]>],
    (mode, if_locked): (LockMode, IfLocked),
    columns: &ColumnSet,
    row: &mut Row,
) -> Result<bool> {
    trx.assign_id(ctx.store, ctx.registry, ctx.locks)?;
    trx.locks.intend(table.id, mode);
    let rows = table.rows();
    let gaps = scan_kind(trx) == LockKind::NextKey;
    loop {
        let (page, position) = rows.find(ctx.store, key, SearchMode::LessOrEqual)?;
        if !position.matched {
            // Nobody inserts the key that was looked for.
            if gaps {
                lock_gap_behind(ctx, trx, rows, &page, position.origin, mode)?;
            }
            return Ok(false);
        }
        let origin = usize::from(position.origin);
        match lock_row(ctx, trx, table, &page, origin, mode, LockKind::Record)? {
            RowLock::Wait(request) => {
                drop(page);
                if wait_or_skip(ctx, trx, request, if_locked)? {
                    return Ok(false);
                }
            }
            held => {
                if !is_deleted(&page, origin) {
                    fill(ctx, table, &page, origin, &with_key(table, columns), row)?;
                    row.place = Some(page.place_of(position.origin));
                    return Ok(true);
                }
                drop(page);
                // Whoever would insert the key again has to lock what is left of the row.
                if let RowLock::Held { id, new: true } = held
                    && !gaps
                {
                    ctx.locks.unlock(&mut trx.locks, id);
                }
                return Ok(false);
            }
        }
    }
}

/// The columns asked for, and those of the clustered key: whoever reads to write needs them.
pub(super) fn with_key(table: &Table, columns: &ColumnSet) -> ColumnSet {
    let mut all = *columns;
    for field in &table.indexes[0].fields[..table.key_fields()] {
        if let FieldSource::Column(column) = field.source {
            all.insert(usize::from(column));
        }
    }
    all
}

/// Copies the columns of the clustered record at `origin` into a row.
#[inline]
pub(super) fn fill(
    ctx: &Context<'_>,
    table: &Table,
    page: &[u8],
    origin: usize,
    columns: &ColumnSet,
    row: &mut Row,
) -> Result<()> {
    let clustered = &table.indexes[0];
    row.clear(table.columns.len());
    let mut left = columns.len();
    let key_fields = clustered.unique_fields;
    for (number, field) in table.rows().leaf.parse(page, origin).map_err(damaged)?.enumerate() {
        // Behind the system fields there is nothing but columns.
        if left == 0 && number > key_fields + 1 {
            break;
        }
        let field = field.map_err(damaged)?;
        match clustered.fields[number].source {
            FieldSource::Column(column) => {
                let column = usize::from(column);
                if columns.contains(column) && clustered.field_of_column[column] == Some(number as u16) {
                    set(ctx, page, &field, column, row)?;
                    left -= 1;
                }
            }
            FieldSource::RowId => row.row_id = row_id(&field, page),
            FieldSource::TrxId => row.trx_id = TrxId::read(&page[field.start as usize..]),
            FieldSource::RollPtr => row.roll_ptr = RollPtr::read(&page[field.start as usize..]),
        }
    }
    Ok(())
}

/// Copies the columns of a secondary entry into a row. The index has all that are asked for.
pub(super) fn fill_from_entry(
    table: &Table,
    index: usize,
    page: &[u8],
    origin: usize,
    columns: &ColumnSet,
    row: &mut Row,
) -> Result<()> {
    let of = &table.indexes[index];
    row.clear(table.columns.len());
    for (number, field) in table.tree(index).leaf.parse(page, origin).map_err(damaged)?.enumerate() {
        let field = field.map_err(damaged)?;
        match of.fields[number].source {
            FieldSource::Column(column) => {
                let column = usize::from(column);
                if columns.contains(column) && of.field_of_column[column] == Some(number as u16) {
                    row.set(column, field.of(page));
                }
            }
            FieldSource::RowId => row.row_id = row_id(&field, page),
            _ => {}
        }
    }
    Ok(())
}

fn row_id(field: &Field, page: &[u8]) -> u64 {
    field.of(page).map_or(0, |bytes| bytes.iter().fold(0, |id, byte| id << 8 | u64::from(*byte)))
}

#[inline]
fn set(ctx: &Context<'_>, page: &[u8], field: &Field, column: usize, row: &mut Row) -> Result<()> {
    if !field.external {
        row.set(column, field.of(page));
        return Ok(());
    }
    let bytes = &page[field.start as usize..field.end()];
    let reference = Reference::read(bytes).map_err(damaged)?;
    row.set_with(column, |out| {
        out.extend_from_slice(&bytes[..bytes.len() - REFERENCE_BYTES]);
        btree::read_overflow(ctx.store, &reference, usize::MAX, out)
    })
}
