//! Deletes a row by delete-marking it and its entries; purge removes them once no view can see them.

use format::record::{RecordBuffer, is_deleted};

use super::entry::{Key, build_entry, damaged, version_of_record};
use super::lock::{RowLock, lock_row, wait};
use super::rollback::rollback_row;
use super::version::system_fields;
use super::write::{key_of_row, write_undo};
use super::{Buffers, Context, Scratch, Table, Version, emptied, entries, secondary};
use crate::error::{Error, Result};
use crate::lock::{LockKind, LockMode};
use crate::mtr::Mtr;
use crate::schema::{Row, RowPlace};
use crate::transaction::Transaction;
use crate::undo::{LogKind, UndoKind, UndoSpace};

/// Deletes a row. `row` has at least the columns of the clustered key, as a locking read found them.
pub fn delete(ctx: &Context<'_>, trx: &mut Transaction, table: &Table, row: &Row) -> Result<()> {
    ctx.store.check_headroom()?;
    trx.assign_id(ctx.store, ctx.registry, ctx.locks)?;
    trx.locks.intend(table.id, LockMode::Exclusive);
    let savepoint = trx.undo.savepoint();
    let row_id = row.row_id.to_be_bytes();
    let key = key_of_row(table, row, &row_id);
    let mut scratch = Scratch::take();
    match delete_key(ctx, trx, table, &key, row.place, &mut scratch.old) {
        Ok(()) => Ok(()),
        Err(error) => {
            rollback_row(ctx, trx, table, savepoint)?;
            Err(error)
        }
    }
}

/// Deletes the row with a key; `old` is what it was, and `place` is where it was found, if it is worth looking there
/// first.
pub(super) fn delete_key(
    ctx: &Context<'_>,
    trx: &mut Transaction,
    table: &Table,
    key: &Key<'_>,
    mut place: Option<RowPlace>,
    old: &mut RecordBuffer,
) -> Result<()> {
    let rows = table.rows();
    let layout = &rows.leaf;
    let mut scratch = Scratch::take();
    let Buffers { entry, undo, offsets, patches, before: kept_before, .. } = &mut *scratch;
    let mut before: Version<'_> = std::mem::take(kept_before);
    loop {
        let mut mtr = Mtr::begin(ctx.store);
        let place = match place.take() {
            Some(place) => rows.latch_leaf_at(&mut mtr, place, key)?,
            None => rows.latch_leaf(&mut mtr, key)?,
        };
        let origin = usize::from(place.origin);
        if !place.matched || is_deleted(mtr.page(place.leaf), origin) {
            return Err(Error::NotFound("the row to delete".into()));
        }
        if let RowLock::Wait(request) =
            lock_row(ctx, trx, table, mtr.page(place.leaf), origin, LockMode::Exclusive, LockKind::Record)?
        {
            drop(place);
            drop(mtr);
            wait(ctx, trx, request)?;
            continue;
        }
        old.copy(mtr.page(place.leaf), layout, origin).map_err(damaged)?;
        layout.parse_into(old.bytes(), old.origin(), offsets).map_err(damaged)?;
        version_of_record(layout, old.bytes(), offsets, &mut before);
        let number = UndoSpace::next_number(&trx.undo);
        write_undo(ctx, table, undo, UndoKind::Delete, number, old, &before, None)?;
        let Some(room) = ctx.undo.find_room(&mut mtr, &trx.undo, LogKind::Update, undo.bytes().len())? else {
            drop(place);
            drop(mtr);
            ctx.undo.grow(ctx.store, &mut trx.undo, LogKind::Update, trx.id, undo.bytes().len())?;
            before = Vec::new();
            continue;
        };
        let at = layout.system_fields(mtr.page(place.leaf), origin).map_err(damaged)? - origin;
        patches.clear();
        patches.push(at as u16, &system_fields(trx.id, room.roll_ptr()));
        let mut changes = rows.patch(mtr, place.leaf, place.origin, Some(true), patches)?;
        ctx.undo.append(&mut changes, &mut trx.undo, room, trx.id, undo.bytes());
        changes.commit();
        break;
    }
    for index in table.secondary() {
        trx.interrupt.pass();
        if table.index_tree(index).several.is_some() {
            entries::mark(ctx, trx, table, index, &before, entry)?;
            continue;
        }
        build_entry(ctx.store, table, index, &before, 0, entry)?;
        secondary::mark(ctx, trx, table.tree(index), entry)?;
    }
    if let Some(log) = table.row_log() {
        log.note(ctx.store, Some(&before), None);
    }
    *kept_before = emptied(before);
    Ok(())
}
