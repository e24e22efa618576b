//! Undoing: a statement, a transaction, or one that a crash has left behind.
//!
//! Changes are undone from the newest to the oldest, each from its undo record: first the secondary entries, then the
//! clustered record with its roll pointer. After a crash in between, the pointer is unchanged, and the change is undone
//! again; once the pointer is another one, the undo record is known to be done.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use format::ids::{RollPtr, TrxId, UndoNo};
use format::record::compare_records;

use super::entry::{Key, build_entry, damaged, version_of_record};
use super::needed::Needed;
use super::remove::{find_version, free_long_values, remove_clustered, remove_row};
use super::secondary::Unneeded;
use super::values::{Reads, all};
use super::version::build_previous;
use super::{Buffers, Context, Lookup, Scratch, Table, entries, secondary};
use crate::btree::{Aim, Change};
use crate::error::{Error, Result};
use crate::mtr::Mtr;
use crate::transaction::Transaction;
use crate::undo::{UndoKind, UndoRecord};

/// Undoes what the transaction has done since `to` (see `TrxUndo::savepoint`); `UndoNo(0)` for all of it.
pub fn rollback(ctx: &Context<'_>, trx: &mut Transaction, lookup: Lookup<'_>, to: UndoNo) -> Result<()> {
    let mut record = Vec::new();
    while let Some(undone) = undo_newest(ctx, trx, lookup, to, &mut record)? {
        // The statements have counted their rows.
        if let Some(table) = undone.table {
            table.schema().state.rows.fetch_add(undone.rows as u64, Ordering::Relaxed);
        }
        trx.interrupt.pass();
    }
    ctx.undo.truncate(ctx.store, &mut trx.undo)
}

/// Undoes at most this many of a transaction's changes, all of which are to be undone. Returns how many; fewer = there
/// are no more.
pub fn rollback_step(
    ctx: &Context<'_>,
    trx: &mut Transaction,
    lookup: Lookup<'_>,
    records_max: usize,
) -> Result<usize> {
    let mut record = Vec::new();
    for undone in 0..records_max {
        if undo_newest(ctx, trx, lookup, UndoNo(0), &mut record)?.is_none() {
            ctx.undo.truncate(ctx.store, &mut trx.undo)?;
            return Ok(undone);
        }
    }
    Ok(records_max)
}

/// A change that was undone.
struct Undone {
    /// None: it was dropped.
    table: Option<Arc<Table>>,
    /// How many rows more it has now.
    rows: i64,
}

/// Undoes the newest change since `to`. None = there is none.
fn undo_newest(
    ctx: &Context<'_>,
    trx: &mut Transaction,
    lookup: Lookup<'_>,
    to: UndoNo,
    record: &mut Vec<u8>,
) -> Result<Option<Undone>> {
    let Some(top) = ctx.undo.top(ctx.store, &trx.undo, to, record)? else { return Ok(None) };
    let undo = UndoRecord::read(record)?;
    // The rows of a dropped table are gone, too.
    let table = lookup(undo.table);
    if let Some(table) = &table {
        undo_change(ctx, trx.id, table, &undo, top.roll_ptr)?;
    }
    ctx.undo.pop(ctx.store, &mut trx.undo, top.kind)?;
    let rows = match undo.kind {
        UndoKind::Insert | UndoKind::UpdateDeleted => -1,
        UndoKind::Delete => 1,
        UndoKind::Update => 0,
    };
    Ok(Some(Undone { table, rows }))
}

/// Undoes what has been done to a row of this one table since `to`.
pub(super) fn rollback_row(ctx: &Context<'_>, trx: &mut Transaction, table: &Table, to: UndoNo) -> Result<()> {
    let mut record = Vec::new();
    while let Some(top) = ctx.undo.top(ctx.store, &trx.undo, to, &mut record)? {
        let undo = UndoRecord::read(&record)?;
        assert!(undo.table == table.table_id(), "one row is of one table");
        undo_change(ctx, trx.id, table, &undo, top.roll_ptr)?;
        ctx.undo.pop(ctx.store, &mut trx.undo, top.kind)?;
        trx.interrupt.pass();
    }
    ctx.undo.truncate(ctx.store, &mut trx.undo)
}

fn undo_change(
    ctx: &Context<'_>,
    trx_id: TrxId,
    table: &Table,
    undo: &UndoRecord<'_>,
    roll_ptr: RollPtr,
) -> Result<()> {
    // The decision whether an entry is still needed must stay true until it is carried out.
    let _held = ctx.purge.hold();
    let mut parts = Vec::new();
    undo.key(table.key_fields(), &mut parts)?;
    let mut key = Key::new();
    for part in parts {
        key.push(part);
    }
    match undo.kind {
        UndoKind::Insert => undo_insert(ctx, trx_id, table, &key, roll_ptr),
        _ => undo_update(ctx, trx_id, table, undo, &key, roll_ptr),
    }
}

fn undo_insert(ctx: &Context<'_>, trx_id: TrxId, table: &Table, key: &Key<'_>, roll_ptr: RollPtr) -> Result<()> {
    let mut scratch = Scratch::take();
    let Buffers { record, entry, offsets, .. } = &mut *scratch;
    if !find_version(ctx, table, key, roll_ptr, record)? {
        return Ok(());
    }
    let layout = &table.rows().leaf;
    layout.parse_into(record.bytes(), record.origin(), offsets).map_err(damaged)?;
    let mut version = Vec::new();
    version_of_record(layout, record.bytes(), offsets, &mut version);
    for index in table.secondary() {
        // Before this row there was no record with its key, not even a delete-marked one: no other version needs the
        // entry.
        let how = (Unneeded::Surely, Reads::Whole);
        if table.index_tree(index).several.is_some() {
            entries::remove(ctx, trx_id, table, index, &version, &all, how, entry)?;
            continue;
        }
        build_entry(ctx.store, table, index, &version, 0, entry)?;
        secondary::remove(ctx, table, index, trx_id, entry, Unneeded::Surely, &mut Needed::default())?;
    }
    if let Some(log) = table.row_log() {
        log.note(ctx.store, Some(&version), None);
    }
    free_long_values(ctx, table, key, roll_ptr, |_, _| true)?;
    remove_clustered(ctx, table, key, roll_ptr)
}

fn undo_update(
    ctx: &Context<'_>,
    trx_id: TrxId,
    table: &Table,
    undo: &UndoRecord<'_>,
    key: &Key<'_>,
    roll_ptr: RollPtr,
) -> Result<()> {
    let rows = table.rows();
    let layout = &rows.leaf;
    let mut scratch = Scratch::take();
    let Buffers { record: new, old, entry, other_entry, offsets, .. } = &mut *scratch;
    if !find_version(ctx, table, key, roll_ptr, new)? {
        return Ok(());
    }
    build_previous(table, new.bytes(), new.origin(), undo, offsets, old)?;
    layout.parse_into(new.bytes(), new.origin(), offsets).map_err(damaged)?;
    let mut after = Vec::new();
    version_of_record(layout, new.bytes(), offsets, &mut after);
    layout.parse_into(old.bytes(), old.origin(), offsets).map_err(damaged)?;
    let mut before = Vec::new();
    version_of_record(layout, old.bytes(), offsets, &mut before);

    for index in table.secondary() {
        let tree = table.tree(index);
        if table.index_tree(index).several.is_some() {
            match undo.kind {
                UndoKind::Delete => entries::put_back(ctx, trx_id, table, index, &before, entry)?,
                UndoKind::UpdateDeleted => {
                    let how = (Unneeded::ButForCurrent, Reads::Whole);
                    entries::remove(ctx, trx_id, table, index, &after, &all, how, entry)?;
                }
                _ => entries::undo_update(ctx, trx_id, table, index, &before, &after, entry)?,
            }
            continue;
        }
        match undo.kind {
            UndoKind::Delete => {
                // Its bytes may be those of a later version that compared equal, so it is written anew.
                build_entry(ctx.store, table, index, &before, 0, entry)?;
                secondary::put_back(ctx, tree, trx_id, entry)?;
            }
            UndoKind::UpdateDeleted => {
                build_entry(ctx.store, table, index, &after, 0, entry)?;
                let mut needed = Needed::default();
                secondary::remove(ctx, table, index, trx_id, entry, Unneeded::ButForCurrent, &mut needed)?;
            }
            _ => {
                let sources = &table.index_tree(index).sources;
                if sources.iter().all(|source| before[usize::from(*source)] == after[usize::from(*source)]) {
                    continue;
                }
                build_entry(ctx.store, table, index, &before, 0, entry)?;
                build_entry(ctx.store, table, index, &after, 0, other_entry)?;
                if entry.image() == other_entry.image() {
                    continue;
                }
                let (left, right) = (&*entry, &*other_entry);
                let order = compare_records(&tree.leaf, left.bytes(), left.origin(), right.bytes(), right.origin());
                if order.map_err(damaged)?.is_ne() {
                    let (when, mut needed) = (Unneeded::ButForCurrent, Needed::default());
                    secondary::remove(ctx, table, index, trx_id, other_entry, when, &mut needed)?;
                }
                secondary::put_back(ctx, tree, trx_id, entry)?;
            }
        }
    }

    if let Some(log) = table.row_log() {
        match undo.kind {
            UndoKind::Delete => log.note(ctx.store, None, Some(&before)),
            UndoKind::UpdateDeleted => log.note(ctx.store, Some(&after), None),
            _ => log.note(ctx.store, Some(&after), Some(&before)),
        }
    }

    // Overflow chains that the new version added: no older version has them.
    free_long_values(
        ctx,
        table,
        key,
        roll_ptr,
        |field, bytes| !matches!(before[field], format::record::FieldData::External(old) if old == bytes),
    )?;

    let mut pessimistic = false;
    loop {
        let mut mtr = Mtr::begin(ctx.store);
        let place = match pessimistic {
            false => rows.latch_leaf(&mut mtr, key)?,
            true => rows.latch_path(&mut mtr, key, Aim::Restore)?,
        };
        let origin = usize::from(place.origin);
        if !place.matched || layout.roll_ptr(mtr.page(place.leaf), origin).map_err(damaged)? != roll_ptr {
            return Err(Error::corrupt("a row that changed while its change was undone"));
        }
        match rows.replace(mtr, place, old.image())? {
            Change::Done(changes, _) => {
                changes.commit();
                break;
            }
            Change::Full => pessimistic = true,
        }
    }
    if undo.kind == UndoKind::UpdateDeleted && ctx.purge.view().sees(undo.trx_id) {
        // Purge may have visited the row and found it in use: it will not come back for it.
        remove_row(ctx, table, key, undo.roll_ptr)?;
    }
    Ok(())
}
