//! Entries of secondary indexes: inserting, delete-marking, removing, and checking whether a value of a unique index is
//! taken.

use format::ids::TrxId;
use format::page::header;
use format::page::index::{self, SUPREMUM, SearchMode};
use format::record::{RecordBuffer, is_deleted};
use format::redo::PageOp;

use super::entry::{Key, damaged, hash_key};
use super::lock::{RowLock, gap_behind, insert_conflict, join_gap, lock_id, lock_row, split_gap, wait};
use super::needed::Needed;
use super::{Context, Table};
use crate::btree::{Aim, Change, Place, Removal, Tree};
use crate::error::{Error, Result};
use crate::lock::{LockId, LockKind, LockMode, LockRequest, TryLock};
use crate::mtr::{Changes, Mtr, PageHandle};
use crate::transaction::Transaction;

/// Notes on the leaf that `trx_id` changed it: readers whose view is older read the rows themselves.
fn touch(changes: &mut Changes<'_>, leaf: PageHandle, trx_id: TrxId) {
    if index::max_trx_id(changes.page(leaf)) < trx_id {
        changes.apply(leaf, PageOp::MaxTrxId { trx_id });
    }
}

/// Puts an entry back into a tree when a change is undone: that requests no lock, and never waits.
pub(super) fn put_back(ctx: &Context<'_>, tree: &Tree, trx_id: TrxId, entry: &RecordBuffer) -> Result<()> {
    put(ctx, Writer::Undo(trx_id), tree, entry)
}

/// Puts an entry into the tree of an index that is being built, which only its builder knows.
pub(super) fn put_built(ctx: &Context<'_>, tree: &Tree, entry: &RecordBuffer) -> Result<()> {
    put(ctx, Writer::Builder, tree, entry)
}

/// The writer of an entry.
enum Writer<'t> {
    /// No reader is older than the index.
    Builder,
    /// Waits for transactions that have locked the gap.
    Trx(&'t mut Transaction),
    Undo(TrxId),
}

/// Puts an entry into a tree. A delete-marked one with the same key is revived, with the new bytes.
fn put(ctx: &Context<'_>, mut writer: Writer<'_>, tree: &Tree, entry: &RecordBuffer) -> Result<()> {
    let key = Key::of_buffer(entry, &tree.leaf)?;
    let aim = match writer {
        Writer::Trx(_) | Writer::Builder => Aim::Grow,
        Writer::Undo(_) => Aim::Restore,
    };
    let mut pessimistic = false;
    loop {
        let mut mtr = Mtr::begin(ctx.store);
        let place = match pessimistic {
            false => tree.latch_leaf(&mut mtr, &key)?,
            true => tree.latch_path(&mut mtr, &key, aim)?,
        };
        let trx_id = match &mut writer {
            Writer::Undo(id) => *id,
            Writer::Builder => TrxId(0),
            Writer::Trx(trx) => {
                if let Some(request) = put_conflict(ctx, trx, tree, &mtr, &place)? {
                    drop(place);
                    drop(mtr);
                    wait(ctx, trx, request)?;
                    continue;
                }
                trx.id
            }
        };
        if !place.matched {
            let new = lock_id(tree, entry.bytes(), entry.origin())?;
            let gap = gap_behind(ctx, tree, &mtr, place.leaf, place.origin)?;
            split_gap(ctx, gap, new, header::page_no(mtr.page(place.leaf)));
        }
        let change = match place.matched {
            true => tree.replace(mtr, place, entry.image())?,
            false => tree.insert(mtr, place, entry.image())?,
        };
        match change {
            Change::Done(mut changes, made) => {
                touch(&mut changes, made.page, trx_id);
                changes.commit();
                return Ok(());
            }
            Change::Full => pessimistic = true,
        }
    }
}

/// Whether another transaction has locked what an entry would use: the gap, or the delete-marked entry that it would
/// revive.
fn put_conflict(
    ctx: &Context<'_>,
    trx: &Transaction,
    tree: &Tree,
    mtr: &Mtr<'_>,
    place: &Place<'_>,
) -> Result<Option<LockRequest>> {
    if !place.matched {
        return insert_conflict(ctx, trx, tree, mtr, place.leaf, place.origin);
    }
    if !ctx.locks.has_gaps(tree.id) {
        return Ok(None);
    }
    let page = mtr.page(place.leaf);
    let request = LockRequest::record(lock_id(tree, page, usize::from(place.origin))?, LockMode::Exclusive);
    let request = request.on(header::page_no(page));
    Ok(ctx.locks.has_conflict(trx.id, request).then_some(request))
}

/// Delete-marks an entry, if it is there, once no other transaction has locked it to read it.
pub(super) fn mark(ctx: &Context<'_>, trx: &mut Transaction, tree: &Tree, entry: &RecordBuffer) -> Result<()> {
    let key = Key::of_buffer(entry, &tree.leaf)?;
    loop {
        let mut mtr = Mtr::begin(ctx.store);
        let place = tree.latch_leaf(&mut mtr, &key)?;
        if !place.matched {
            return Ok(());
        }
        // Readers of entries lock their gaps as well.
        if ctx.locks.has_gaps(tree.id) {
            let page = mtr.page(place.leaf);
            let id = lock_id(tree, page, usize::from(place.origin))?;
            let request = LockRequest::new(id, LockMode::Exclusive, LockKind::Mark).on(header::page_no(page));
            if ctx.locks.has_conflict(trx.id, request) {
                drop(place);
                drop(mtr);
                wait(ctx, trx, request)?;
                continue;
            }
        }
        return mark_at(tree, mtr, &place, trx.id);
    }
}

/// Delete-marks the entry found, and commits.
fn mark_at(tree: &Tree, mtr: Mtr<'_>, place: &Place<'_>, trx_id: TrxId) -> Result<()> {
    let mut changes = match is_deleted(mtr.page(place.leaf), usize::from(place.origin)) {
        true => mtr.certain(),
        false => tree.set_delete_mark(mtr, place.leaf, place.origin, true)?,
    };
    touch(&mut changes, place.leaf, trx_id);
    changes.commit();
    Ok(())
}

/// What [`remove`] is to do with an entry that it finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unneeded {
    /// No version can need it.
    Surely,
    /// Only if it is delete-marked and no version of its row has it.
    IfDeleted,
    /// If no version of its row but the current one has it; otherwise delete-mark it.
    ButForCurrent,
}

/// Removes an entry. The clustered record is read while the leaf is latched: a thread that makes the entry needed again
/// changes that record first, and then comes here.
///
/// The caller holds the purge view for the last two.
pub(super) fn remove(
    ctx: &Context<'_>,
    table: &Table,
    index: usize,
    trx_id: TrxId,
    entry: &RecordBuffer,
    when: Unneeded,
    needed: &mut Needed,
) -> Result<()> {
    let tree = table.tree(index);
    let key = Key::of_buffer(entry, &tree.leaf)?;
    let mut pessimistic = false;
    loop {
        let mut mtr = Mtr::begin(ctx.store);
        let place = match pessimistic {
            false => tree.latch_leaf(&mut mtr, &key)?,
            true => tree.latch_path(&mut mtr, &key, Aim::Empty)?,
        };
        if !place.matched {
            return Ok(());
        }
        let deleted = is_deleted(mtr.page(place.leaf), usize::from(place.origin));
        match when {
            Unneeded::Surely => {}
            Unneeded::IfDeleted => {
                if !deleted || needed.has_entry(ctx, table, index, entry, true)? {
                    return Ok(());
                }
            }
            Unneeded::ButForCurrent => {
                if needed.has_entry(ctx, table, index, entry, false)? {
                    return mark_at(tree, mtr, &place, trx_id);
                }
            }
        }
        join_gap(ctx, tree, &mtr, place.leaf, place.origin)?;
        match tree.remove(mtr, place)? {
            Removal::Done { changes, underfull } => {
                changes.commit();
                if underfull {
                    tree.merge(ctx.store, &key)?;
                }
                return Ok(());
            }
            Removal::Last => pessimistic = true,
        }
    }
}

/// Inserts the entry of a row that this transaction has just written. In a unique index it first makes sure that no
/// other row has the value, waiting for transactions that may give it up.
pub(super) fn insert(
    ctx: &Context<'_>,
    trx: &mut Transaction,
    table: &Table,
    index: usize,
    entry: &RecordBuffer,
) -> Result<()> {
    if table.indexes[index].unique {
        check_unique(ctx, trx, table, index, entry)?;
    }
    put(ctx, Writer::Trx(trx), table.tree(index), entry)
}

fn check_unique(
    ctx: &Context<'_>,
    trx: &mut Transaction,
    table: &Table,
    index: usize,
    entry: &RecordBuffer,
) -> Result<()> {
    let of = table.index_tree(index);
    let layout = &of.tree.leaf;
    let parts = table.indexes[index].parts.len();
    let value = Key::of_record(entry.bytes(), layout, entry.origin(), parts)?;
    if value.iter().any(Option::is_none) {
        // NULLs are not equal to each other.
        return Ok(());
    }
    // From here to the end of the transaction no other inserts the value. A transaction that finds it inserted waits
    // here.
    let id = LockId { index: of.tree.id, key_hash: hash_key(layout, &value) };
    let request = LockRequest::record(id, LockMode::Exclusive);
    if ctx.locks.try_lock(&mut trx.locks, request)? == TryLock::Conflict {
        wait(ctx, trx, request)?;
    }

    // Entries with the value: of rows that were deleted or changed, or one that is alive.
    let own_key = Key::of_entry(table, index, entry.bytes(), entry.origin())?;
    let mut entries: Vec<RecordBuffer> = Vec::new();
    {
        let (mut page, position) = of.tree.find(ctx.store, &value, SearchMode::GreaterOrEqual)?;
        let mut origin = position.origin;
        loop {
            if origin == SUPREMUM {
                let Some(next) = of.tree.next_leaf(ctx.store, page)? else { break };
                page = next;
                origin = index::first(&page).map_err(damaged)?;
                continue;
            }
            let order = format::record::compare(&page, layout, usize::from(origin), &value).map_err(damaged)?;
            if order.is_ne() {
                break;
            }
            let mut found = RecordBuffer::new();
            found.copy(&page, layout, usize::from(origin)).map_err(damaged)?;
            entries.push(found);
            origin = index::next(&page, origin).map_err(damaged)?;
        }
    }
    for found in &entries {
        let key = Key::of_entry(table, index, found.bytes(), found.origin())?;
        let same_row = key
            .iter()
            .zip(own_key.iter())
            .zip(table.rows().leaf.fields())
            .all(|((left, right), field)| format::record::compare_value(field, *left, *right).is_eq());
        if !same_row && is_taken(ctx, trx, table, index, found, &key)? {
            return Err(Error::DuplicateKey { index });
        }
    }
    Ok(())
}

/// Whether the row of an entry is alive and has it, once the transaction that is changing the row has ended.
fn is_taken(
    ctx: &Context<'_>,
    trx: &mut Transaction,
    table: &Table,
    index: usize,
    found: &RecordBuffer,
    key: &Key<'_>,
) -> Result<bool> {
    let rows = table.rows();
    loop {
        let (page, position) = rows.find(ctx.store, key, SearchMode::LessOrEqual)?;
        if !position.matched {
            return Ok(false);
        }
        let origin = usize::from(position.origin);
        let writer = rows.leaf.trx_id(&page, origin).map_err(damaged)?;
        let undecided = writer != trx.id && ctx.registry.is_active(writer);
        let deleted = is_deleted(&page, origin);
        if !undecided {
            let alive = !deleted && super::version::record_has_entry(ctx, table, index, found, &page, origin)?;
            if !alive {
                return Ok(false);
            }
        }
        match lock_row(ctx, trx, table, &page, origin, LockMode::Shared, LockKind::Record)? {
            RowLock::Held { .. } | RowLock::Own => {
                return Ok(!deleted && super::version::record_has_entry(ctx, table, index, found, &page, origin)?);
            }
            RowLock::Wait(request) => {
                drop(page);
                wait(ctx, trx, request)?;
            }
        }
    }
}
