//! Turning records into rows: the columns that were asked for.

use format::ids::{RollPtr, TrxId};
use format::page::blob::{REFERENCE_BYTES, Reference};
use format::record::{Field, Fields, is_deleted};

use super::entry::damaged;
use super::version::{Visible, visible};
use super::{Context, Scratch, Table};
use crate::btree;
use crate::error::Result;
use crate::schema::{ColumnSet, FieldSource, Row};
use crate::transaction::Transaction;

/// Reads the version that the transaction sees of the clustered record at `origin`. False = it sees no row.
#[inline]
#[allow(clippy::too_many_arguments)]
pub(super) fn read_visible(
    ctx: &Context<'_>,
    trx: &Transaction,
    table: &Table,
    page: &[u8],
    origin: usize,
    newest: bool,
    columns: &ColumnSet,
    row: &mut Row,
) -> Result<bool> {
    if newest || trx.sees(table.rows().leaf.trx_id(page, origin).map_err(damaged)?) {
        if is_deleted(page, origin) {
            return Ok(false);
        }
        fill(ctx, table, page, origin, columns, row)?;
        return Ok(true);
    }
    let mut scratch = Scratch::take();
    match visible(ctx, trx, table, page, origin, &mut scratch.old)? {
        Visible::Older if !is_deleted(scratch.old.bytes(), scratch.old.origin()) => {
            fill(ctx, table, scratch.old.bytes(), scratch.old.origin(), columns, row)?;
            Ok(true)
        }
        _ => Ok(false),
    }
}

/// The columns asked for, and those of the clustered key: a read that precedes a write needs them.
pub(super) fn with_key(table: &Table, columns: &ColumnSet) -> ColumnSet {
    let mut all = *columns;
    for field in &table.indexes[0].fields[..table.key_fields()] {
        if let FieldSource::Column(column) = field.source {
            all.insert(usize::from(column));
        }
    }
    all
}

/// A column that stands at the same place in every clustered record.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    column: u16,
    start: u16,
    end: u16,
}

impl Place {
    /// The column's bytes in the record at `origin`.
    #[inline]
    pub(super) fn of<'p>(&self, page: &'p [u8], origin: usize) -> Result<&'p [u8]> {
        let bytes = page.get(origin + usize::from(self.start)..origin + usize::from(self.end));
        bytes.ok_or_else(|| damaged(format::Error::corrupt("record data beyond the page", origin)))
    }
}

/// The place of a column, if it is the same in every clustered record, of whatever row version.
pub(super) fn constant_place(table: &Table, column: usize) -> Option<Place> {
    let (clustered, layout) = (&table.indexes[0], &table.rows().leaf);
    let has_row_id = matches!(clustered.fields[0].source, FieldSource::RowId);
    if has_row_id || clustered.unique_fields + 1 >= layout.constant_fields() {
        return None;
    }
    let field = usize::from(clustered.field_of_column.get(column).copied().flatten()?);
    if field >= layout.constant_fields() {
        return None;
    }
    let (start, end) = (layout.constant_start(field)?, layout.constant_start(field + 1)?);
    Some(Place { column: column as u16, start: start as u16, end: end as u16 })
}

/// Finds the places of columns, if they are the same in every clustered record; no places: they are not.
pub(super) fn constant_places(table: &Table, columns: &ColumnSet, places: &mut Vec<Place>) {
    places.clear();
    for column in columns.iter() {
        match constant_place(table, column) {
            Some(place) => places.push(place),
            None => return places.clear(),
        }
    }
}

/// Copies columns that stand at constant places into a row.
#[inline]
pub(super) fn fill_constant(table: &Table, page: &[u8], origin: usize, places: &[Place], row: &mut Row) -> Result<()> {
    let (clustered, layout) = (&table.indexes[0], &table.rows().leaf);
    row.clear(table.columns.len());
    let end = layout.constant_start(layout.constant_fields()).unwrap_or(0);
    let Some(record) = page.get(origin..origin + end) else {
        return Err(damaged(format::Error::corrupt("record data beyond the page", origin)));
    };
    for place in places {
        row.set(usize::from(place.column), Some(&record[usize::from(place.start)..usize::from(place.end)]));
    }
    let system = layout.constant_start(clustered.unique_fields).unwrap_or(0);
    row.trx_id = TrxId::read(&record[system..]);
    row.roll_ptr = RollPtr::read(&record[system + TrxId::BYTES..]);
    Ok(())
}

/// Copies the columns of the clustered record at `origin` into a row.
#[inline]
pub(super) fn fill(
    ctx: &Context<'_>,
    table: &Table,
    page: &[u8],
    origin: usize,
    columns: &ColumnSet,
    row: &mut Row,
) -> Result<()> {
    fill_if(ctx, table, page, origin, columns, row, |_, _| true).map(|_| ())
}

/// The same, unless `passes` is false for a field, whose number it gets; false: it was.
#[inline]
pub(super) fn fill_if(
    ctx: &Context<'_>,
    table: &Table,
    page: &[u8],
    origin: usize,
    columns: &ColumnSet,
    row: &mut Row,
    passes: impl FnMut(usize, &Field) -> bool,
) -> Result<bool> {
    let layout = &table.rows().leaf;
    match layout.versions() {
        None => {
            let fields = layout.parse_plain(page, origin).map_err(damaged)?;
            fill_of(ctx, table, page, fields, columns, row, passes)
        }
        Some(_) => fill_versioned(ctx, table, page, origin, columns, row, passes),
    }
}

/// Of a table with row versions: out of the way of those without.
#[inline(never)]
fn fill_versioned(
    ctx: &Context<'_>,
    table: &Table,
    page: &[u8],
    origin: usize,
    columns: &ColumnSet,
    row: &mut Row,
    passes: impl FnMut(usize, &Field) -> bool,
) -> Result<bool> {
    let fields = table.rows().leaf.parse(page, origin).map_err(damaged)?;
    fill_of(ctx, table, page, fields, columns, row, passes)
}

#[inline(always)]
fn fill_of<const VERSIONS: bool>(
    ctx: &Context<'_>,
    table: &Table,
    page: &[u8],
    mut fields: Fields<'_, VERSIONS>,
    columns: &ColumnSet,
    row: &mut Row,
    mut passes: impl FnMut(usize, &Field) -> bool,
) -> Result<bool> {
    let clustered = &table.indexes[0];
    row.clear(table.columns.len());
    let mut left = columns.len();
    let key_fields = clustered.unique_fields;
    // Not by `enumerate`, which hands over each field in memory.
    loop {
        let number = fields.index();
        let Some(field) = fields.next() else { break };
        // Behind the system fields there is nothing but columns.
        if left == 0 && number > key_fields + 1 {
            break;
        }
        let field = field.map_err(damaged)?;
        if !passes(number, &field) {
            return Ok(false);
        }
        match clustered.fields[number].source {
            FieldSource::Column(column) => {
                let column = usize::from(column);
                if columns.contains(column) && clustered.field_of_column[column] == Some(number as u16) {
                    match VERSIONS && field.absent {
                        false => set(ctx, page, &field, column, row)?,
                        true => row.set(column, table.rows().leaf.absent_value(number)),
                    }
                    left -= 1;
                }
            }
            FieldSource::RowId => row.row_id = row_id(&field, page),
            FieldSource::TrxId => row.trx_id = TrxId::read(&page[field.start as usize..]),
            FieldSource::RollPtr => row.roll_ptr = RollPtr::read(&page[field.start as usize..]),
            FieldSource::Word | FieldSource::Frequency | FieldSource::Element(_) | FieldSource::Dropped(_) => {}
        }
    }
    Ok(true)
}

/// Copies the columns of a secondary entry into a row. The index has all that are asked for.
pub(super) fn fill_from_entry(
    table: &Table,
    index: usize,
    page: &[u8],
    origin: usize,
    columns: &ColumnSet,
    row: &mut Row,
) -> Result<()> {
    let of = &table.indexes[index];
    row.clear(table.columns.len());
    for (number, field) in table.tree(index).leaf.parse_plain(page, origin).map_err(damaged)?.enumerate() {
        let field = field.map_err(damaged)?;
        match of.fields[number].source {
            FieldSource::Column(column) => {
                let column = usize::from(column);
                if columns.contains(column) && of.field_of_column[column] == Some(number as u16) {
                    row.set(column, field.of(page));
                }
            }
            FieldSource::RowId => row.row_id = row_id(&field, page),
            _ => {}
        }
    }
    Ok(())
}

fn row_id(field: &Field, page: &[u8]) -> u64 {
    field.of(page).map_or(0, |bytes| bytes.iter().fold(0, |id, byte| id << 8 | u64::from(*byte)))
}

#[inline(always)]
fn set(ctx: &Context<'_>, page: &[u8], field: &Field, column: usize, row: &mut Row) -> Result<()> {
    if !field.external {
        row.set(column, field.of(page));
        return Ok(());
    }
    let bytes = &page[field.start as usize..field.end()];
    let reference = Reference::read(bytes).map_err(damaged)?;
    row.set_with(column, |out| {
        out.extend_from_slice(&bytes[..bytes.len() - REFERENCE_BYTES]);
        btree::read_overflow(ctx.store, &reference, usize::MAX, out)
    })
}
