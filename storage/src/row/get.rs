//! Reading one row by a whole key.

use format::page::index::SearchMode;
use format::record::is_deleted;

use super::fill::{fill, read_visible, with_key};
use super::lock::{RowLock, lock_gap_behind, lock_row, scan_kind, wait_or_skip};
use super::{Context, Scan, Table};
use crate::error::Result;
use crate::lock::{LockKind, LockMode};
use crate::schema::{ColumnSet, IfLocked, ReadMode, Row, ScanRange};
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
        // The branch above has decided which of the two a source is.
        ReadMode::Consistent | ReadMode::Source => {
            let newest = trx.reads_uncommitted();
            get_consistent(ctx, trx, table, key, newest, columns, row)
        }
        ReadMode::Newest => get_consistent(ctx, trx, table, key, true, columns, row),
        ReadMode::Shared(wait) => get_locked(ctx, trx, table, key, (LockMode::Shared, wait), columns, row),
        ReadMode::Exclusive(wait) => get_locked(ctx, trx, table, key, (LockMode::Exclusive, wait), columns, row),
    }
}

fn get_consistent(
    ctx: &Context<'_>,
    trx: &mut Transaction,
    table: &Table,
    key: &[Option<&[u8]>],
    newest: bool,
    columns: &ColumnSet,
    row: &mut Row,
) -> Result<bool> {
    let rows = table.rows();
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
            // No other transaction inserts the key that was looked for.
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
                // A transaction that would insert the key again has to lock the row's remains.
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
