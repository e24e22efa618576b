//! Removes what is left of a row from the clustered index: its record and its long values. Rollback removes inserted
//! rows, purge removes deleted ones. Both identify the version by its roll pointer, and do nothing if the record has
//! another one.

use format::ids::RollPtr;
use format::page::blob::{REFERENCE_BYTES, Reference};
use format::record::{RecordBuffer, is_deleted};

use super::entry::{Key, damaged};
use super::lock::join_gap;
use super::{Context, Scratch, Table};
use crate::btree::{self, Aim, Removal};
use crate::error::Result;
use crate::mtr::Mtr;

/// Copies the clustered record of a key if it is the one that the roll pointer belongs to.
pub(super) fn find_version(
    ctx: &Context<'_>,
    table: &Table,
    key: &Key<'_>,
    roll_ptr: RollPtr,
    out: &mut RecordBuffer,
) -> Result<bool> {
    let rows = table.rows();
    let (page, position) = rows.find(ctx.store, key, format::page::index::SearchMode::LessOrEqual)?;
    let origin = usize::from(position.origin);
    if !position.matched || rows.leaf.roll_ptr(&page, origin).map_err(damaged)? != roll_ptr {
        return Ok(false);
    }
    out.copy(&page, &rows.leaf, origin).map_err(damaged)?;
    Ok(true)
}

/// Whether a record in a buffer is delete-marked.
pub(super) fn is_marked(record: &RecordBuffer) -> bool {
    is_deleted(record.bytes(), record.origin())
}

/// Frees the overflow chains of those of a row's long values that `which` selects (by field and reference), a few pages
/// at a time.
pub(super) fn free_long_values(
    ctx: &Context<'_>,
    table: &Table,
    key: &Key<'_>,
    roll_ptr: RollPtr,
    which: impl Fn(usize, &[u8]) -> bool,
) -> Result<()> {
    let rows = table.rows();
    let layout = &rows.leaf;
    if !layout
        .fields()
        .iter()
        .any(|field| matches!(field.length, format::record::Length::Variable { max, blob } if blob || max > 255))
    {
        return Ok(());
    }
    loop {
        let mut mtr = Mtr::begin(ctx.store);
        let place = rows.latch_leaf(&mut mtr, key)?;
        let origin = usize::from(place.origin);
        let page = mtr.page(place.leaf);
        if !place.matched || layout.roll_ptr(page, origin).map_err(damaged)? != roll_ptr {
            return Ok(());
        }
        let mut found = None;
        for (number, field) in layout.parse(page, origin).map_err(damaged)?.enumerate() {
            let field = field.map_err(damaged)?;
            if field.external {
                let bytes = &page[field.start as usize..field.end()];
                let reference = Reference::read(bytes).map_err(damaged)?;
                if !reference.page.is_null() && reference.is_owner() && which(number, bytes) {
                    found = Some((field.end() - REFERENCE_BYTES, reference));
                    break;
                }
            }
        }
        let Some((at, reference)) = found else { return Ok(()) };
        let rest = btree::free_overflow_step(&mut mtr, rows.overflow_segment(), &reference)?;
        mtr.write(place.leaf, at, &rest.to_bytes());
        mtr.commit();
    }
}

/// Removes the clustered record of a key if it is the one that the roll pointer belongs to.
pub(super) fn remove_clustered(ctx: &Context<'_>, table: &Table, key: &Key<'_>, roll_ptr: RollPtr) -> Result<()> {
    let rows = table.rows();
    let mut pessimistic = false;
    loop {
        let mut mtr = Mtr::begin(ctx.store);
        let place = match pessimistic {
            false => rows.latch_leaf(&mut mtr, key)?,
            true => rows.latch_path(&mut mtr, key, Aim::Empty)?,
        };
        let origin = usize::from(place.origin);
        if !place.matched || rows.leaf.roll_ptr(mtr.page(place.leaf), origin).map_err(damaged)? != roll_ptr {
            return Ok(());
        }
        join_gap(ctx, rows, &mtr, place.leaf, place.origin)?;
        match rows.remove(mtr, place)? {
            Removal::Done { changes, underfull } => {
                changes.commit();
                if underfull {
                    rows.merge(ctx.store, key)?;
                }
                return Ok(());
            }
            Removal::Last => pessimistic = true,
        }
    }
}

/// Removes a delete-marked row, if its record still shows the deletion of this roll pointer.
pub(super) fn remove_row(ctx: &Context<'_>, table: &Table, key: &Key<'_>, roll_ptr: RollPtr) -> Result<()> {
    {
        let mut scratch = Scratch::take();
        let record = &mut scratch.record;
        if !find_version(ctx, table, key, roll_ptr, record)? || !is_marked(record) {
            return Ok(());
        }
    }
    free_long_values(ctx, table, key, roll_ptr, |_, _| true)?;
    remove_clustered(ctx, table, key, roll_ptr)
}
