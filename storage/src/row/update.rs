//! Changing a row where it lies, or moving it when its key changes.

use format::ids::UndoNo;
use format::page::blob::{REFERENCE_BYTES, Reference};
use format::record::{FieldData, RecordBuffer, compare_value, is_deleted};

use super::entry::{
    Key, LongValue, build_entry, damaged, empty_reference, move_out, prefix_of, record_bytes, version_of_record,
};
use super::foreign::{Turn, check_parents};
use super::insert::{insert_version, stamp, whole_version, write_long_values};
use super::lock::{RowLock, lock_row, wait};
use super::rollback::rollback_row;
use super::{Buffers, Context, Scratch, Table, Version, delete, emptied, secondary};
use crate::btree::{self, Aim, Change, Place};
use crate::error::{Error, Result};
use crate::lock::{LockKind, LockMode};
use crate::mtr::Mtr;
use crate::schema::{FieldSource, Row, RowPlace};
use crate::transaction::Transaction;
use crate::undo::{LogKind, UndoBuilder, UndoKind, UndoSpace};

/// New values of some columns, by their ordinals.
pub(super) type Changes<'a> = [(usize, Option<&'a [u8]>)];

/// Gives a row new values in some columns. `row` has at least the columns of the clustered key, as a locking read found
/// them. On an error the row is as it was.
pub fn update(ctx: &Context<'_>, trx: &mut Transaction, table: &Table, row: &Row, changes: &Changes<'_>) -> Result<()> {
    ctx.store.check_headroom()?;
    trx.assign_id(ctx.store, ctx.registry, ctx.locks)?;
    trx.locks.intend(table.id, LockMode::Exclusive);
    let savepoint = trx.undo.savepoint();
    let row_id = row.row_id.to_be_bytes();
    let key = key_of_row(table, row, &row_id);
    let done = match changes_key(table, &key, changes) {
        false => change(ctx, trx, table, &key, row.place, changes),
        true => move_row(ctx, trx, table, &key, changes),
    };
    match done {
        Ok(()) => Ok(()),
        Err(error) => {
            rollback_row(ctx, trx, table, savepoint)?;
            Err(error)
        }
    }
}

/// The clustered key of a row that has been read.
pub(super) fn key_of_row<'a>(table: &Table, row: &'a Row, row_id: &'a [u8; 8]) -> Key<'a> {
    let mut key = Key::new();
    for field in &table.indexes[0].fields[..table.key_fields()] {
        key.push(match field.source {
            FieldSource::Column(column) => row.get(usize::from(column)).map(|bytes| prefix_of(table, field, bytes)),
            _ => Some(&row_id[2..]),
        });
    }
    key
}

/// Whether the changes move the row to another place in the order.
fn changes_key(table: &Table, key: &Key<'_>, changes: &Changes<'_>) -> bool {
    let fields = table.indexes[0].fields[..table.key_fields()].iter();
    fields.zip(key.iter()).zip(table.rows().leaf.fields()).any(|((field, old), layout)| {
        changes.iter().any(|(column, new)| {
            field.source == FieldSource::Column(*column as u16) && {
                let new = new.map(|bytes| prefix_of(table, field, bytes));
                compare_value(layout, *old, new).is_ne()
            }
        })
    })
}

/// Changes a row under its key. `place` is where it was found, if it is worth looking there first.
fn change(
    ctx: &Context<'_>,
    trx: &mut Transaction,
    table: &Table,
    key: &Key<'_>,
    mut place: Option<RowPlace>,
    changes: &Changes<'_>,
) -> Result<()> {
    let rows = table.rows();
    let layout = &rows.leaf;
    let mut scratch = Scratch::take();
    let Buffers { record, old, entry, other_entry, undo, offsets, before: kept_before, after: kept_after, .. } =
        &mut *scratch;
    let empty = empty_reference(table);
    let mut pessimistic = false;
    loop {
        let mut mtr = Mtr::begin(ctx.store);
        let place = match pessimistic {
            false => match place.take() {
                Some(place) => rows.latch_leaf_at(&mut mtr, place, key)?,
                None => rows.latch_leaf(&mut mtr, key)?,
            },
            true => rows.latch_path(&mut mtr, key, Aim::Grow)?,
        };
        let origin = usize::from(place.origin);
        if !place.matched || is_deleted(mtr.page(place.leaf), origin) {
            return Err(Error::NotFound("the row to update".into()));
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
        let mut before: Version<'_> = std::mem::take(kept_before);
        version_of_record(old.bytes(), offsets, &mut before);
        let mut after: Version<'_> = std::mem::take(kept_after);
        after.extend_from_slice(&before);
        for (field, place) in table.indexes[0].fields.iter().zip(&mut after) {
            let FieldSource::Column(column) = field.source else { continue };
            if let Some((_, value)) = changes.iter().find(|(changed, _)| *changed == usize::from(column)) {
                *place = FieldData::from(value.map(|bytes| prefix_of(table, field, bytes)));
            }
        }
        if before == after {
            return Ok(());
        }
        let mut moved: Vec<LongValue<'_>> = Vec::new();
        let mut shortened: Version<'_> = Vec::new();
        let mut stored = &after;
        if record_bytes(layout, stored) > format::page::index::insert_bytes_max(ctx.store.page_bytes()) {
            shortened.extend_from_slice(&after);
            move_out(layout, ctx.store.page_bytes(), &mut shortened, &empty, &mut moved)?;
            stored = &shortened;
        }
        record.build(layout, 0, stored.iter().copied());
        if !rows.can_replace(&mtr, &place, record.size())? {
            pessimistic = true;
            continue;
        }
        let number = UndoSpace::next_number(&trx.undo);
        write_undo(ctx, table, undo, UndoKind::Update, number, old, &before, Some(stored))?;
        let Some(room) = ctx.undo.find_room(&mut mtr, &trx.undo, LogKind::Update, undo.bytes().len())? else {
            drop(place);
            drop(mtr);
            ctx.undo.grow(ctx.store, &mut trx.undo, LogKind::Update, trx.id, undo.bytes().len())?;
            continue;
        };
        stamp(table, record, trx, room.roll_ptr())?;
        let Change::Done(mut mtr, _) = rows.replace(mtr, place, record.image())? else {
            return Err(Error::corrupt("a leaf with less room than it had"));
        };
        ctx.undo.append(&mut mtr, &mut trx.undo, room, trx.id, undo.bytes());
        mtr.commit();
        if !moved.is_empty() {
            write_long_values(ctx, table, key, &moved)?;
        }

        for index in table.secondary() {
            let sources = &table.index_tree(index).sources;
            if sources.iter().all(|source| before[usize::from(*source)] == after[usize::from(*source)]) {
                continue;
            }
            if ctx.foreign.is_some() {
                check_parents(ctx, trx, table, Turn::Entry(index), &after, Some(changes))?;
            }
            build_entry(ctx.store, table, index, &before, 0, entry)?;
            build_entry(ctx.store, table, index, &after, 0, other_entry)?;
            if entry.image() != other_entry.image() {
                trx.interrupt.pass();
                secondary::mark(ctx, table.tree(index), trx.id, entry)?;
                trx.interrupt.pass();
                secondary::insert(ctx, trx, table, index, other_entry)?;
            }
        }
        *kept_before = emptied(before);
        *kept_after = emptied(after);
        return Ok(());
    }
}

/// The key changes: the row is deleted here and inserted there.
fn move_row(
    ctx: &Context<'_>,
    trx: &mut Transaction,
    table: &Table,
    key: &Key<'_>,
    changes: &Changes<'_>,
) -> Result<()> {
    let mut old = RecordBuffer::new();
    delete::delete_key(ctx, trx, table, key, None, &mut old)?;
    // Long values are copied: the old row keeps its own until purge.
    let mut fetched = Vec::new();
    let mut version = Vec::new();
    whole_version(ctx, table, &old, &mut fetched, &mut version)?;
    for (field, place) in table.indexes[0].fields.iter().zip(&mut version) {
        let FieldSource::Column(column) = field.source else { continue };
        if let Some((_, value)) = changes.iter().find(|(changed, _)| *changed == usize::from(column)) {
            *place = FieldData::from(value.map(|bytes| prefix_of(table, field, bytes)));
        }
    }
    insert_version(ctx, trx, table, &version, Some(changes))
}

/// Builds the undo record of a change: what differs between `before` and `after`, and, if that concerns a secondary
/// index, what else its entries are made from. Without `after` the row is deleted.
///
/// Of a long value that is in an index the record keeps as much as the index has, before the reference: by the time of
/// purge its pages may be gone.
#[allow(clippy::too_many_arguments)]
pub(super) fn write_undo(
    ctx: &Context<'_>,
    table: &Table,
    undo: &mut UndoBuilder,
    kind: UndoKind,
    number: UndoNo,
    old: &RecordBuffer,
    before: &[FieldData<'_>],
    after: Option<&[FieldData<'_>]>,
) -> Result<()> {
    let key_fields = table.key_fields();
    let system = key_fields..key_fields + 2;
    let trx_id = match before[key_fields] {
        FieldData::Bytes(bytes) => format::ids::TrxId::read(bytes),
        _ => unreachable!("system fields are plain"),
    };
    let roll_ptr = match before[key_fields + 1] {
        FieldData::Bytes(bytes) => format::ids::RollPtr::read(bytes),
        _ => unreachable!("system fields are plain"),
    };
    let info = format::record::info(old.bytes(), old.origin());
    undo.change(kind, number, table.table_id(), info, trx_id, roll_ptr);
    for part in &before[..key_fields] {
        undo.value(*part);
    }
    let differs = |field: &usize| {
        // A reference without pages is a new value whose pages are yet to be written.
        let differ = |after: &[FieldData<'_>]| before[*field] != after[*field] || is_empty_reference(after[*field]);
        !system.contains(field) && after.is_some_and(differ)
    };
    let changed = (0..before.len()).filter(differs);
    undo.list(changed.clone().count());
    let mut touches_index = after.is_none();
    for field in changed {
        touches_index |= table.is_indexed(field);
        put_field(ctx, table, undo, field, before[field])?;
    }
    let needed = |field: &usize| {
        touches_index
            && kind != UndoKind::UpdateDeleted
            && *field >= key_fields
            && table.is_indexed(*field)
            && !differs(field)
    };
    let others = (0..before.len()).filter(needed);
    undo.list(others.clone().count());
    for field in others {
        put_field(ctx, table, undo, field, before[field])?;
    }
    Ok(())
}

fn is_empty_reference(value: FieldData<'_>) -> bool {
    match value {
        FieldData::External(bytes) => Reference::read(bytes).is_ok_and(|reference| reference.page.is_null()),
        _ => false,
    }
}

fn put_field(
    ctx: &Context<'_>,
    table: &Table,
    undo: &mut UndoBuilder,
    field: usize,
    value: FieldData<'_>,
) -> Result<()> {
    match value {
        FieldData::External(bytes) if table.indexed_bytes(field) > 0 => {
            let mut whole = Vec::new();
            let reference = Reference::read(bytes).map_err(damaged)?;
            btree::read_overflow(ctx.store, &reference, table.indexed_bytes(field), &mut whole)?;
            whole.extend_from_slice(&bytes[bytes.len() - REFERENCE_BYTES..]);
            undo.field(field, FieldData::External(&whole));
        }
        value => undo.field(field, value),
    }
    Ok(())
}

/// Puts a new row where a delete-marked one of the same key lies: an update of that. False = try again, after what stood in
/// the way has been dealt with.
pub(super) fn replace_deleted(
    ctx: &Context<'_>,
    trx: &mut Transaction,
    table: &Table,
    mut mtr: Mtr<'_>,
    place: Place<'_>,
    record: &mut RecordBuffer,
    pessimistic: &mut bool,
) -> Result<bool> {
    let rows = table.rows();
    let layout = &rows.leaf;
    if !rows.can_replace(&mtr, &place, record.size())? {
        *pessimistic = true;
        return Ok(false);
    }
    let mut scratch = Scratch::take();
    let Buffers { old, undo, offsets, .. } = &mut *scratch;
    old.copy(mtr.page(place.leaf), layout, usize::from(place.origin)).map_err(damaged)?;
    layout.parse_into(old.bytes(), old.origin(), offsets).map_err(damaged)?;
    let mut before = Vec::new();
    version_of_record(old.bytes(), offsets, &mut before);
    layout.parse_into(record.bytes(), record.origin(), offsets).map_err(damaged)?;
    let mut after = Vec::new();
    version_of_record(record.bytes(), offsets, &mut after);
    let number = UndoSpace::next_number(&trx.undo);
    write_undo(ctx, table, undo, UndoKind::UpdateDeleted, number, old, &before, Some(&after))?;
    let Some(room) = ctx.undo.find_room(&mut mtr, &trx.undo, LogKind::Update, undo.bytes().len())? else {
        drop(place);
        drop(mtr);
        ctx.undo.grow(ctx.store, &mut trx.undo, LogKind::Update, trx.id, undo.bytes().len())?;
        return Ok(false);
    };
    drop(after);
    stamp(table, record, trx, room.roll_ptr())?;
    let Change::Done(mut changes, _) = rows.replace(mtr, place, record.image())? else {
        return Err(Error::corrupt("a leaf with less room than it had"));
    };
    ctx.undo.append(&mut changes, &mut trx.undo, room, trx.id, undo.bytes());
    changes.commit();
    Ok(true)
}
