//! Inserting a row.

use format::page::header;
use format::record::{FieldData, is_deleted};

use super::entry::{Key, LongValue, build_entry, empty_reference, hash_key, move_out, record_bytes, version_of_values};
use super::foreign::{Turn, check_parents};
use super::lock::{RowLock, gap_behind, insert_conflict, lock_row, split_gap, wait};
use super::rollback::rollback_row;
use super::write::{Changes, replace_deleted, stamp, write_long_values};
use super::{Context, Scratch, Table, entries, secondary};
use crate::btree::{Aim, Change};
use crate::error::{Error, Result};
use crate::lock::{LockId, LockKind, LockMode, LockRequest};
use crate::mtr::Mtr;
use crate::transaction::Transaction;
use crate::undo::{LogKind, UndoSpace};

/// Inserts a row: its values in table order, stored bytes. On an error nothing of the row is left.
pub fn insert(ctx: &Context<'_>, trx: &mut Transaction, table: &Table, values: &[Option<&[u8]>]) -> Result<()> {
    assert!(values.len() == table.columns.len(), "a value for every column");
    ctx.store.check_headroom()?;
    trx.assign_id(ctx.store, ctx.registry, ctx.locks)?;
    trx.locks.intend(table.id, LockMode::Exclusive);
    let row_id = match table.has_row_id() {
        true => ctx.registry.next_row_id(ctx.store)?.to_be_bytes(),
        false => [0; 8],
    };
    let mut version = Vec::with_capacity(table.indexes[0].fields.len());
    version_of_values(table, values, &row_id[2..], &mut version);
    let savepoint = trx.undo.savepoint();
    match insert_version(ctx, trx, table, &version, None) {
        Ok(()) => Ok(()),
        Err(error) => {
            rollback_row(ctx, trx, table, savepoint)?;
            Err(error)
        }
    }
}

/// Inserts a version of a row into all indexes. After an error part of it may be there; the undo tells which. For a row
/// that moves, `changes` is what makes it move.
pub(super) fn insert_version(
    ctx: &Context<'_>,
    trx: &mut Transaction,
    table: &Table,
    version: &[FieldData<'_>],
    changes: Option<&Changes<'_>>,
) -> Result<()> {
    if ctx.foreign.is_some() {
        check_parents(ctx, trx, table, Turn::BeforeRow, version, changes)?;
    }
    insert_clustered(ctx, trx, table, version)?;
    if ctx.foreign.is_some() {
        check_parents(ctx, trx, table, Turn::AfterRow, version, changes)?;
    }
    if table.indexes.len() > 1 {
        let mut scratch = Scratch::take();
        for index in table.secondary() {
            trx.interrupt.pass();
            if ctx.foreign.is_some() {
                check_parents(ctx, trx, table, Turn::Entry(index), version, changes)?;
            }
            if table.index_tree(index).several.is_some() {
                entries::insert(ctx, trx, table, index, version, &mut scratch.entry)?;
                continue;
            }
            build_entry(ctx.store, table, index, version, 0, &mut scratch.entry)?;
            secondary::insert(ctx, trx, table, index, &scratch.entry)?;
        }
    }
    if let Some(log) = table.row_log() {
        log.note(ctx.store, None, Some(version));
    }
    Ok(())
}

fn insert_clustered(ctx: &Context<'_>, trx: &mut Transaction, table: &Table, version: &[FieldData<'_>]) -> Result<()> {
    let rows = table.rows();
    let layout = &rows.leaf;
    let mut scratch = Scratch::take();
    let scratch = &mut *scratch;

    // What goes into the record, and what into pages of its own.
    let empty = empty_reference(table);
    let mut stored;
    let mut moved: Vec<LongValue<'_>> = Vec::new();
    let mut version = version;
    if record_bytes(layout, version) > format::page::index::insert_bytes_max(ctx.store.page_bytes()) {
        stored = version.to_vec();
        move_out(layout, ctx.store.page_bytes(), &mut stored, &empty, &mut moved)?;
        version = &stored;
    }
    scratch.record.build(layout, 0, version.iter().copied());
    let record = &mut scratch.record;
    let mut pessimistic = false;
    loop {
        let key = Key::of_buffer(record, layout)?;
        let mut mtr = Mtr::begin(ctx.store);
        let place = match pessimistic {
            false => rows.latch_leaf(&mut mtr, &key)?,
            true => rows.latch_path(&mut mtr, &key, Aim::Grow)?,
        };
        if place.matched {
            // A row with this key, or its remains. Only the end of its writer decides whether it stays.
            let origin = usize::from(place.origin);
            let deleted = is_deleted(mtr.page(place.leaf), origin);
            let mode = if deleted { LockMode::Exclusive } else { LockMode::Shared };
            match lock_row(ctx, trx, table, mtr.page(place.leaf), origin, mode, LockKind::Record)? {
                RowLock::Wait(request) => {
                    drop(place);
                    drop(mtr);
                    wait(ctx, trx, request)?;
                    continue;
                }
                RowLock::Held { .. } | RowLock::Own if !deleted => {
                    return Err(Error::DuplicateKey { index: 0 });
                }
                RowLock::Held { .. } | RowLock::Own => {}
            }
            if replace_deleted(ctx, trx, table, mtr, place, record, &mut pessimistic)? {
                break;
            }
            continue;
        }
        // Another transaction may hold the key locked though there is no such row: it found the row before the insert
        // was rolled back.
        let id = LockId { index: rows.id, key_hash: hash_key(layout, &key) };
        let row = LockRequest::record(id, LockMode::Exclusive).on(header::page_no(mtr.page(place.leaf)));
        let conflict = match ctx.locks.has_conflict(trx.id, row) {
            true => Some(row),
            false => insert_conflict(ctx, trx, rows, &mtr, place.leaf, place.origin)?,
        };
        if let Some(request) = conflict {
            drop(place);
            drop(mtr);
            wait(ctx, trx, request)?;
            continue;
        }
        if !rows.can_insert(&mtr, &place, record.size())? {
            pessimistic = true;
            continue;
        }
        scratch.undo.insert(UndoSpace::next_number(&trx.undo), table.table_id());
        for part in key.iter() {
            scratch.undo.value(FieldData::from(*part));
        }
        let bytes = scratch.undo.bytes().len();
        let gap = gap_behind(ctx, rows, &mtr, place.leaf, place.origin)?;
        let Some(room) = ctx.undo.find_room(&mut mtr, &trx.undo, LogKind::Insert, bytes)? else {
            drop(place);
            drop(mtr);
            ctx.undo.grow(ctx.store, &mut trx.undo, LogKind::Insert, trx.id, bytes)?;
            continue;
        };
        stamp(table, record, trx, room.roll_ptr())?;
        split_gap(ctx, gap, id, header::page_no(mtr.page(place.leaf)));
        let Change::Done(mut changes, _) = rows.insert(mtr, place, record.image())? else {
            return Err(Error::corrupt("a leaf with less room than it had"));
        };
        ctx.undo.append(&mut changes, &mut trx.undo, room, trx.id, scratch.undo.bytes());
        changes.commit();
        break;
    }
    if !moved.is_empty() {
        let key = Key::of_buffer(record, layout)?;
        write_long_values(ctx, table, &key, &moved)?;
    }
    Ok(())
}
