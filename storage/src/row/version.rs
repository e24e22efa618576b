//! Older versions of rows: rebuilt from the clustered record by following its roll pointer.
//!
//! ```text
//! clustered record          undo record            undo record
//! trx 9, ptr  ------------> trx 7, ptr ----------> trx 4, ptr (insert)
//! k a=3 b=x                 a was 2                a was 1, b was w
//!
//! version of 9: a=3 b=x     of 7: a=2 b=x          of 4: a=1 b=w       before: no row
//! ```
//!
//! A reader stops at the first version that its view sees. The undo up to there exists, because the purge view is at
//! least as old. Code without a view of its own ([`has_entry`]) stops where the purge view begins, and holds that view
//! in place.

use format::ids::{RollPtr, TrxId};
use format::page::blob::REFERENCE_BYTES;
use format::page::index::SearchMode;
use format::record::{FieldData, Offsets, RecordBuffer, compare_records, is_deleted};

use super::entry::{Key, build_entry, damaged, version_of_record};
use super::values::version_has_entry;
use super::{Buffers, Context, Scratch, Table};
use crate::error::{Error, Result};
use crate::transaction::Transaction;
use crate::undo::{UndoKind, UndoRecord};

/// Which version of a row a reader sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Visible {
    /// The one on the page.
    Current,
    /// An older one, which has been built.
    Older,
    /// The row did not exist yet.
    None,
}

/// Builds the version before the record at `origin` of `bytes` into `older`. False = there was none.
pub(super) fn previous(
    ctx: &Context<'_>,
    table: &Table,
    bytes: &[u8],
    origin: usize,
    older: &mut RecordBuffer,
) -> Result<bool> {
    let layout = &table.rows().leaf;
    let roll_ptr = layout.roll_ptr(bytes, origin).map_err(damaged)?;
    if roll_ptr.is_insert() {
        return Ok(false);
    }
    let mut scratch = Scratch::take();
    let mut record = std::mem::take(&mut scratch.undo_record);
    ctx.undo.read(ctx.store, roll_ptr, &mut record)?;
    let undo = UndoRecord::read(&record)?;
    build_previous(table, bytes, origin, &undo, &mut scratch.offsets, older)?;
    scratch.undo_record = record;
    Ok(true)
}

/// Builds the version that `undo` describes from the version that followed it.
pub(super) fn build_previous(
    table: &Table,
    bytes: &[u8],
    origin: usize,
    undo: &UndoRecord<'_>,
    offsets: &mut Offsets,
    older: &mut RecordBuffer,
) -> Result<()> {
    let layout = &table.rows().leaf;
    if undo.table != table.table_id() || undo.kind == UndoKind::Insert {
        return Err(Error::corrupt(format!("a roll pointer of {table} that leads to another table's undo")));
    }
    layout.parse_into(bytes, origin, offsets).map_err(damaged)?;
    let mut version = Vec::new();
    version_of_record(layout, bytes, offsets, &mut version);
    let (mut changed, mut others) = (Vec::new(), Vec::new());
    undo.fields(layout.key_fields(), &mut changed, &mut others)?;
    for old in &changed {
        let Some(field) = version.get_mut(old.field) else {
            return Err(Error::corrupt(format!("undo of {table} for a column that it does not have")));
        };
        *field = match old.value {
            // An index stores a long value's prefix before the reference; a record stores the reference alone.
            FieldData::External(bytes) => match bytes.len().checked_sub(REFERENCE_BYTES) {
                Some(at) => FieldData::External(&bytes[at..]),
                None => return Err(Error::corrupt("undo with a reference that is too short")),
            },
            value => value,
        };
        if !layout.fields()[old.field].takes(*field) {
            return Err(Error::corrupt(format!("undo of {table} with a value that its column cannot have")));
        }
    }
    let (trx_id, roll_ptr) = (undo.trx_id.to_bytes(), undo.roll_ptr.to_bytes());
    version[layout.key_fields()] = FieldData::Bytes(&trx_id);
    version[layout.key_fields() + 1] = FieldData::Bytes(&roll_ptr);
    older.try_build_version(layout, undo.row_version, undo.info, version.iter().copied()).map_err(damaged)?;
    Ok(())
}

/// Finds the version that the transaction's view sees of the record at `origin`. The page stays latched meanwhile.
pub(super) fn visible(
    ctx: &Context<'_>,
    trx: &Transaction,
    table: &Table,
    bytes: &[u8],
    origin: usize,
    older: &mut RecordBuffer,
) -> Result<Visible> {
    Ok(visible_and_steps(ctx, trx, table, bytes, origin, older)?.0)
}

/// The same, and the number of undo records read for it.
pub(super) fn visible_and_steps(
    ctx: &Context<'_>,
    trx: &Transaction,
    table: &Table,
    bytes: &[u8],
    origin: usize,
    older: &mut RecordBuffer,
) -> Result<(Visible, usize)> {
    let layout = &table.rows().leaf;
    if trx.sees(layout.trx_id(bytes, origin).map_err(damaged)?) {
        return Ok((Visible::Current, 0));
    }
    if !previous(ctx, table, bytes, origin, older)? {
        return Ok((Visible::None, 0));
    }
    let mut steps = 1;
    let mut newer = RecordBuffer::new();
    while !trx.sees(layout.trx_id(older.bytes(), older.origin()).map_err(damaged)?) {
        if trx.interrupt.is_set() {
            return Err(Error::Interrupted);
        }
        std::mem::swap(&mut newer, older);
        if !previous(ctx, table, newer.bytes(), newer.origin(), older)? {
            return Ok((Visible::None, steps));
        }
        steps += 1;
    }
    Ok((Visible::Older, steps))
}

/// Whether the clustered record at `origin` is that of a row whose entry in `index` is `entry`.
pub(super) fn record_has_entry(
    ctx: &Context<'_>,
    table: &Table,
    index: usize,
    entry: &RecordBuffer,
    bytes: &[u8],
    origin: usize,
) -> Result<bool> {
    let mut scratch = Scratch::take();
    let Buffers { offsets, other_entry, .. } = &mut *scratch;
    let layout = &table.rows().leaf;
    layout.parse_into(bytes, origin, offsets).map_err(damaged)?;
    let mut version = Vec::new();
    version_of_record(layout, bytes, offsets, &mut version);
    if table.index_tree(index).several.is_some() {
        return version_has_entry(ctx.store, table, index, &version, entry, other_entry);
    }
    build_entry(ctx.store, table, index, &version, 0, other_entry)?;
    let layout = &table.tree(index).leaf;
    let order = compare_records(layout, entry.bytes(), entry.origin(), other_entry.bytes(), other_entry.origin());
    Ok(order.map_err(damaged)?.is_eq())
}

/// Whether a version of the entry's row that some view may still see has the entry: one that is not deleted, and the
/// current one only if `with_current`.
///
/// The caller holds the purge view in place.
pub(super) fn has_entry(
    ctx: &Context<'_>,
    table: &Table,
    index: usize,
    entry: &RecordBuffer,
    with_current: bool,
) -> Result<bool> {
    let rows = table.rows();
    let key = Key::of_entry(table, index, entry.bytes(), entry.origin())?;
    let (page, position) = rows.find(ctx.store, &key, SearchMode::LessOrEqual)?;
    if !position.matched {
        return Ok(false);
    }
    let origin = usize::from(position.origin);
    if with_current && !is_deleted(&page, origin) && record_has_entry(ctx, table, index, entry, &page, origin)? {
        return Ok(true);
    }
    let view = ctx.purge.view();
    let layout = &rows.leaf;
    let mut writer = layout.trx_id(&page, origin).map_err(damaged)?;
    let (mut older, mut newer) = (RecordBuffer::new(), RecordBuffer::new());
    newer.copy(&page, layout, origin).map_err(damaged)?;
    // The page stays latched: the versions behind it are those of this very record.
    while !view.sees(writer) && previous(ctx, table, newer.bytes(), newer.origin(), &mut older)? {
        if !is_deleted(older.bytes(), older.origin())
            && record_has_entry(ctx, table, index, entry, older.bytes(), older.origin())?
        {
            return Ok(true);
        }
        writer = layout.trx_id(older.bytes(), older.origin()).map_err(damaged)?;
        std::mem::swap(&mut newer, &mut older);
    }
    Ok(false)
}

/// The transaction id and the roll pointer of a clustered record, as they are patched into it.
pub(super) fn system_fields(trx_id: TrxId, roll_ptr: RollPtr) -> [u8; TrxId::BYTES + RollPtr::BYTES] {
    let mut bytes = [0; TrxId::BYTES + RollPtr::BYTES];
    bytes[..TrxId::BYTES].copy_from_slice(&trx_id.to_bytes());
    bytes[TrxId::BYTES..].copy_from_slice(&roll_ptr.to_bytes());
    bytes
}
