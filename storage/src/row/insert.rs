//! Inserting a row.

use format::ids::RollPtr;
use format::page::blob::REFERENCE_BYTES;
use format::page::header;
use format::record::{FieldData, RecordBuffer, is_deleted};

use super::entry::{
    Key, LongValue, build_entry, damaged, empty_reference, hash_key, move_out, record_bytes, version_of_record,
    version_of_values,
};
use super::foreign::{Turn, check_parents};
use super::lock::{RowLock, insert_conflict, lock_row, split_gap, wait};
use super::rollback::rollback_row;
use super::{Context, Scratch, Table, secondary, update};
use crate::btree::{Aim, Change, Overflow};
use crate::error::{Error, Result};
use crate::lock::{LockId, LockKind, LockMode, LockRequest};
use crate::mtr::Mtr;
use crate::segment;
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

/// Inserts a version of a row into all indexes. On an error part of it may be there; the undo tells which. Of a row that
/// moves, `changes` is what makes it move.
pub(super) fn insert_version(
    ctx: &Context<'_>,
    trx: &mut Transaction,
    table: &Table,
    version: &[FieldData<'_>],
    changes: Option<&update::Changes<'_>>,
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
            build_entry(ctx.store, table, index, version, 0, &mut scratch.entry)?;
            secondary::insert(ctx, trx, table, index, &scratch.entry)?;
        }
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
            // A row of this key, or what is left of one. It is settled only when its writer has ended.
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
            if update::replace_deleted(ctx, trx, table, mtr, place, record, &mut pessimistic)? {
                break;
            }
            continue;
        }
        // Somebody may hold the key locked though there is no such row: he found it before its insert was rolled back.
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
        let Some(room) = ctx.undo.find_room(&mut mtr, &trx.undo, LogKind::Insert, bytes)? else {
            drop(place);
            drop(mtr);
            ctx.undo.grow(ctx.store, &mut trx.undo, LogKind::Insert, trx.id, bytes)?;
            continue;
        };
        stamp(table, record, trx, room.roll_ptr())?;
        split_gap(ctx, rows, &mtr, place.leaf, place.origin, id)?;
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

/// Writes transaction id and roll pointer into a clustered record.
pub(super) fn stamp(table: &Table, record: &mut RecordBuffer, trx: &Transaction, roll_ptr: RollPtr) -> Result<()> {
    let at = table.rows().leaf.system_fields(record.bytes(), record.origin()).map_err(damaged)?;
    let bytes = super::version::system_fields(trx.id, roll_ptr);
    record.bytes_mut()[at..at + bytes.len()].copy_from_slice(&bytes);
    Ok(())
}

/// Writes the values that were moved out of a record, a few pages at a time; the record's references grow with them. The
/// row is this transaction's, so nobody else changes it meanwhile.
pub(super) fn write_long_values(
    ctx: &Context<'_>,
    table: &Table,
    key: &[Option<&[u8]>],
    moved: &[LongValue<'_>],
) -> Result<()> {
    let rows = table.rows();
    for value in moved {
        let mut overflow = Overflow::empty(table.space);
        while (overflow.reference.bytes as usize) < value.bytes.len() {
            let left = value.bytes.len() - overflow.reference.bytes as usize;
            let pages = Overflow::page_count(ctx.store.page_bytes(), left).min(Overflow::STEP_PAGES);
            let _room = segment::reserve(ctx.store, table.space, pages as u32)?;
            let mut mtr = Mtr::begin(ctx.store);
            let place = rows.latch_leaf(&mut mtr, key)?;
            let origin = usize::from(place.origin);
            let field = rows.leaf.field(mtr.page(place.leaf), origin, value.field).map_err(damaged)?;
            if !place.matched || !field.external {
                return Err(Error::corrupt("a row that lost its long value while it was written"));
            }
            overflow.write_step(&mut mtr, rows.overflow_segment(), value.bytes)?;
            mtr.write(place.leaf, field.end() - REFERENCE_BYTES, &overflow.reference.to_bytes());
            mtr.commit();
        }
    }
    Ok(())
}

/// The version of a clustered record in a buffer, with its long values fetched, as `out` borrows them from `fetched`.
pub(super) fn whole_version<'a>(
    ctx: &Context<'_>,
    table: &Table,
    record: &'a RecordBuffer,
    fetched: &'a mut Vec<(usize, Vec<u8>)>,
    out: &mut Vec<FieldData<'a>>,
) -> Result<()> {
    let mut scratch = Scratch::take();
    table.rows().leaf.parse_into(record.bytes(), record.origin(), &mut scratch.offsets).map_err(damaged)?;
    version_of_record(record.bytes(), &scratch.offsets, out);
    fetched.clear();
    for (field, data) in out.iter().enumerate() {
        if let FieldData::External(bytes) = data {
            let reference = format::page::blob::Reference::read(bytes).map_err(damaged)?;
            let mut value = bytes[..bytes.len() - REFERENCE_BYTES].to_vec();
            crate::btree::read_overflow(ctx.store, &reference, usize::MAX, &mut value)?;
            fetched.push((field, value));
        }
    }
    for (field, value) in fetched.iter() {
        out[*field] = FieldData::Bytes(value);
    }
    Ok(())
}
