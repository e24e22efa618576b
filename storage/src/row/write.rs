//! What inserts, updates and deletes of rows have in common: the undo record of a change, the system fields of a
//! record, and the pages of long values.

use format::ids::{RollPtr, UndoNo};
use format::page::blob::{REFERENCE_BYTES, Reference};
use format::record::{FieldData, RecordBuffer};

use super::entry::{Key, LongValue, damaged, leave_dropped, prefix_of, version_of_record};
use super::version::system_fields;
use super::{Buffers, Context, Scratch, Table};
use crate::btree::{self, Change, Overflow, Place};
use crate::error::{Error, Result};
use crate::mtr::Mtr;
use crate::schema::{FieldSource, Row};
use crate::segment;
use crate::transaction::Transaction;
use crate::undo::{LogKind, UndoBuilder, UndoKind, UndoSpace};

/// New values of some columns, by their ordinals.
pub(super) type Changes<'a> = [(usize, Option<&'a [u8]>)];

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

/// Builds the undo record of a change: what differs between `before` and `after`, and, if that concerns a secondary
/// index, what else its entries are made from. Without `after` the row is deleted.
///
/// If an index contains a long value, the undo record keeps as much of it as the index has, before the reference: by
/// the time of purge the overflow pages may be gone.
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
        FieldData::Bytes(bytes) => RollPtr::read(bytes),
        _ => unreachable!("system fields are plain"),
    };
    let info = format::record::info(old.bytes(), old.origin());
    let row_version = format::record::row_version(old.bytes(), old.origin());
    undo.change(kind, number, table.table_id(), info, row_version, trx_id, roll_ptr);
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
        touches_index |= table.is_needed_beside(field);
        put_field(ctx, table, undo, field, before[field])?;
    }
    // The purge of this record removes several entries then, see `several`.
    let frees_array = (0..before.len()).any(|field| {
        table.is_computed_from(field) && differs(&field) && matches!(before[field], FieldData::External(_))
    });
    let needed = |field: &usize| {
        let of_index = if after.is_none() { table.is_indexed(*field) } else { table.is_needed_beside(*field) };
        touches_index
            && (kind != UndoKind::UpdateDeleted || frees_array)
            && *field >= key_fields
            && of_index
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

/// Writes a new row over a delete-marked one with the same key: an update. False = try again, after the obstacle has
/// been dealt with.
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
    version_of_record(layout, old.bytes(), offsets, &mut before);
    layout.parse_into(record.bytes(), record.origin(), offsets).map_err(damaged)?;
    let mut after = Vec::new();
    version_of_record(layout, record.bytes(), offsets, &mut after);
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

/// Writes transaction id and roll pointer into a clustered record.
pub(super) fn stamp(table: &Table, record: &mut RecordBuffer, trx: &Transaction, roll_ptr: RollPtr) -> Result<()> {
    let at = table.rows().leaf.system_fields(record.bytes(), record.origin()).map_err(damaged)?;
    let bytes = system_fields(trx.id, roll_ptr);
    record.bytes_mut()[at..at + bytes.len()].copy_from_slice(&bytes);
    Ok(())
}

/// Writes the values that were moved out of a record, a few pages at a time; the record's references grow with them.
/// The row belongs to this transaction, so no other changes it meanwhile.
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
            let pages = overflow.step_pages(ctx.store, value.bytes);
            let _room = segment::reserve(ctx.store, table.space, pages as u32)?;
            let mut mtr = Mtr::begin_large(ctx.store, pages);
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

/// The version of a clustered record in a buffer, as it is written anew, with its long values fetched; `out` borrows them
/// from `fetched`.
pub(super) fn whole_version<'a>(
    ctx: &Context<'_>,
    table: &'a Table,
    record: &'a RecordBuffer,
    fetched: &'a mut Vec<(usize, Vec<u8>)>,
    out: &mut Vec<FieldData<'a>>,
) -> Result<()> {
    let mut scratch = Scratch::take();
    let layout = &table.rows().leaf;
    layout.parse_into(record.bytes(), record.origin(), &mut scratch.offsets).map_err(damaged)?;
    version_of_record(layout, record.bytes(), &scratch.offsets, out);
    leave_dropped(table, out);
    fetched.clear();
    for (field, data) in out.iter().enumerate() {
        if let FieldData::External(bytes) = data {
            let reference = Reference::read(bytes).map_err(damaged)?;
            let mut value = bytes[..bytes.len() - REFERENCE_BYTES].to_vec();
            btree::read_overflow(ctx.store, &reference, usize::MAX, &mut value)?;
            fetched.push((field, value));
        }
    }
    for (field, value) in fetched.iter() {
        out[*field] = FieldData::Bytes(value);
    }
    Ok(())
}
