//! Several entries of a row: inserting, delete-marking and removing them, and what differs between two versions; see
//! `several`.

use std::cmp::Ordering;

use format::ids::TrxId;
use format::record::{FieldData, RecordBuffer};

use super::needed::Needed;
use super::secondary::{self, Unneeded};
use super::several::NO_SOURCE;
use super::values::{Reads, Values, entry_of, for_each_entry, values_of};
use super::{Context, Table};
use crate::error::{Error, Result};
use crate::store::Store;
use crate::transaction::Transaction;

/// Values between two looks at the interrupt.
const LOOK_VALUES: usize = 64;

/// Inserts the entries of a row that this transaction has just written.
pub(super) fn insert(
    ctx: &Context<'_>,
    trx: &mut Transaction,
    table: &Table,
    index: usize,
    version: &[FieldData<'_>],
    entry: &mut RecordBuffer,
) -> Result<()> {
    let mut number = 0;
    for_each_entry(ctx.store, table, index, version, entry, &mut |entry| {
        look(trx, number)?;
        number += 1;
        secondary::insert(ctx, trx, table, index, entry)
    })
}

fn look(trx: &Transaction, number: usize) -> Result<()> {
    trx.interrupt.pass();
    if number % LOOK_VALUES == LOOK_VALUES - 1 && trx.interrupt.is_set() { Err(Error::Interrupted) } else { Ok(()) }
}

/// Delete-marks the entries of a row that this transaction has just deleted.
pub(super) fn mark(
    ctx: &Context<'_>,
    trx: &mut Transaction,
    table: &Table,
    index: usize,
    version: &[FieldData<'_>],
    entry: &mut RecordBuffer,
) -> Result<()> {
    let mut number = 0;
    for_each_entry(ctx.store, table, index, version, entry, &mut |entry| {
        look(trx, number)?;
        number += 1;
        secondary::mark(ctx, trx, table.tree(index), entry)
    })
}

/// The values of two versions of a row, and in which they differ.
struct Difference {
    before: Values,
    after: Values,
    /// Of `before` those that `after` does not have, and the other way around.
    gone: Vec<usize>,
    new: Vec<usize>,
}

impl Difference {
    fn of(
        store: &Store,
        table: &Table,
        index: usize,
        before: &[FieldData<'_>],
        after: &[FieldData<'_>],
    ) -> Result<Option<Difference>> {
        let of = table.index_tree(index);
        let Some(several) = &of.several else { return Ok(None) };
        let differs = |field: usize| before[field] != after[field];
        // Another part of the index: every entry is another one.
        let mut sources = of.sources.iter().enumerate();
        let moves =
            sources.any(|(at, source)| at != several.at() && *source != NO_SOURCE && differs(usize::from(*source)));
        let wanted = |field: usize| moves || differs(field);
        if !moves && !several.fields().iter().any(|field| differs(usize::from(*field))) {
            return Ok(None);
        }
        let before = values_of(store, table, index, before, &wanted, Reads::Whole)?;
        let after = values_of(store, table, index, after, &wanted, Reads::Whole)?;
        let (mut gone, mut new) = (Vec::new(), Vec::new());
        if moves {
            gone.extend(0..before.len());
            new.extend(0..after.len());
            return Ok(Some(Difference { before, after, gone, new }));
        }
        let field = &of.tree.leaf.fields()[several.at()];
        let (mut left, mut right) = (0, 0);
        loop {
            let order = match (before.items.get(left), after.items.get(right)) {
                (None, None) => break,
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some(one), Some(other)) => before.compare(field, one, after.value(other), other.frequency),
            };
            match order {
                Ordering::Less => gone.push(left),
                Ordering::Greater => new.push(right),
                Ordering::Equal => {}
            }
            left += usize::from(order.is_le());
            right += usize::from(order.is_ge());
        }
        Ok(Some(Difference { before, after, gone, new }))
    }
}

/// Shows what a change of a row does to its entries, those that go (false) before those that come (true). None = there is
/// no row.
pub(super) fn for_each_change(
    store: &Store,
    table: &Table,
    index: usize,
    before: Option<&[FieldData<'_>]>,
    after: Option<&[FieldData<'_>]>,
    entry: &mut RecordBuffer,
    visit: &mut dyn FnMut(bool, &RecordBuffer) -> Result<()>,
) -> Result<()> {
    let (Some(before), Some(after)) = (before, after) else {
        let (version, comes) = (before.or(after).unwrap_or_default(), after.is_some());
        return for_each_entry(store, table, index, version, entry, &mut |entry| visit(comes, entry));
    };
    let Some(difference) = Difference::of(store, table, index, before, after)? else { return Ok(()) };
    for &at in &difference.gone {
        entry_of(store, table, index, before, &difference.before, &difference.before.items[at], entry)?;
        visit(false, entry)?;
    }
    for &at in &difference.new {
        entry_of(store, table, index, after, &difference.after, &difference.after.items[at], entry)?;
        visit(true, entry)?;
    }
    Ok(())
}

/// Brings the entries of a row up to date that this transaction has just changed.
pub(super) fn update(
    ctx: &Context<'_>,
    trx: &mut Transaction,
    table: &Table,
    index: usize,
    before: &[FieldData<'_>],
    after: &[FieldData<'_>],
    entry: &mut RecordBuffer,
) -> Result<()> {
    let Some(difference) = Difference::of(ctx.store, table, index, before, after)? else { return Ok(()) };
    for (number, &at) in difference.gone.iter().enumerate() {
        look(trx, number)?;
        entry_of(ctx.store, table, index, before, &difference.before, &difference.before.items[at], entry)?;
        secondary::mark(ctx, trx, table.tree(index), entry)?;
    }
    for (number, &at) in difference.new.iter().enumerate() {
        look(trx, number)?;
        entry_of(ctx.store, table, index, after, &difference.after, &difference.after.items[at], entry)?;
        secondary::insert(ctx, trx, table, index, entry)?;
    }
    Ok(())
}

/// Undoes what [`update`] did. The clustered record is still the changed one; the caller holds the purge view.
pub(super) fn undo_update(
    ctx: &Context<'_>,
    trx_id: TrxId,
    table: &Table,
    index: usize,
    before: &[FieldData<'_>],
    after: &[FieldData<'_>],
    entry: &mut RecordBuffer,
) -> Result<()> {
    let Some(difference) = Difference::of(ctx.store, table, index, before, after)? else { return Ok(()) };
    let mut needed = Needed::default();
    for &at in &difference.new {
        entry_of(ctx.store, table, index, after, &difference.after, &difference.after.items[at], entry)?;
        secondary::remove(ctx, table, index, trx_id, entry, Unneeded::ButForCurrent, &mut needed)?;
    }
    for &at in &difference.gone {
        entry_of(ctx.store, table, index, before, &difference.before, &difference.before.items[at], entry)?;
        secondary::put_back(ctx, table.tree(index), trx_id, entry)?;
    }
    Ok(())
}

/// Puts back the entries of a row whose deletion is undone.
pub(super) fn put_back(
    ctx: &Context<'_>,
    trx_id: TrxId,
    table: &Table,
    index: usize,
    version: &[FieldData<'_>],
    entry: &mut RecordBuffer,
) -> Result<()> {
    for_each_entry(ctx.store, table, index, version, entry, &mut |entry| {
        secondary::put_back(ctx, table.tree(index), trx_id, entry)
    })
}

/// Removes the entries of a version, see [`secondary::remove`]: of the fields that `wanted` names.
#[expect(clippy::too_many_arguments, reason = "what is removed, of what, and how")]
pub(super) fn remove(
    ctx: &Context<'_>,
    trx_id: TrxId,
    table: &Table,
    index: usize,
    version: &[FieldData<'_>],
    wanted: &dyn Fn(usize) -> bool,
    (when, reads): (Unneeded, Reads),
    entry: &mut RecordBuffer,
) -> Result<()> {
    let values = values_of(ctx.store, table, index, version, wanted, reads)?;
    let mut needed = Needed::default();
    for item in &values.items {
        entry_of(ctx.store, table, index, version, &values, item, entry)?;
        secondary::remove(ctx, table, index, trx_id, entry, when, &mut needed)?;
    }
    Ok(())
}
