//! Changing a row where it lies, or moving it when its key changes.

use format::record::{FieldData, RecordBuffer, compare_value, is_deleted};

use super::entry::{
    Key, LongValue, build_entry, damaged, empty_reference, leave_dropped, move_out, prefix_of, record_bytes,
    version_of_record,
};
use super::foreign::{Turn, check_parents};
use super::insert::insert_version;
use super::lock::{RowLock, lock_row, wait};
use super::rollback::rollback_row;
use super::write::{Changes, key_of_row, stamp, whole_version, write_long_values, write_undo};
use super::{Buffers, Context, Scratch, Table, Version, delete, emptied, entries, secondary};
use crate::btree::{Aim, Change};
use crate::error::{Error, Result};
use crate::lock::{LockKind, LockMode};
use crate::mtr::Mtr;
use crate::schema::{FieldSource, Row, RowPlace};
use crate::transaction::Transaction;
use crate::undo::{LogKind, UndoKind, UndoSpace};

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
        version_of_record(layout, old.bytes(), offsets, &mut before);
        let mut after: Version<'_> = std::mem::take(kept_after);
        after.extend_from_slice(&before);
        let mut differs = false;
        for (field, place) in table.indexes[0].fields.iter().zip(&mut after) {
            let FieldSource::Column(column) = field.source else { continue };
            if let Some((_, value)) = changes.iter().find(|(changed, _)| *changed == usize::from(column)) {
                let value = FieldData::from(value.map(|bytes| prefix_of(table, field, bytes)));
                differs |= *place != value;
                *place = value;
            }
        }
        if !differs {
            return Ok(());
        }
        leave_dropped(table, &mut after);
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
            let of = table.index_tree(index);
            if of.several.is_some() {
                entries::update(ctx, trx, table, index, &before, &after, entry)?;
                continue;
            }
            let sources = &of.sources;
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
                secondary::mark(ctx, trx, table.tree(index), entry)?;
                trx.interrupt.pass();
                secondary::insert(ctx, trx, table, index, other_entry)?;
            }
        }
        if let Some(log) = table.row_log() {
            log.note(ctx.store, Some(&before), Some(&after));
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
