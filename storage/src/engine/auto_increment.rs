//! AUTO_INCREMENT: the next value of a table.
//!
//! The counter in memory is authoritative; its persistent copy is the last value given, in the root page of the
//! clustered index, where MariaDB keeps it, and is written (with redo) whenever a value is given. The page only accepts
//! larger values, so neither a rollback nor a restart gives a value twice.

//! Only ALTER TABLE may lower it, as far as the existing rows allow: [`after_alter`] computes the value.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use format::bytes::get_u64;
use format::ids::PageId;
use format::value::Value;

use super::{Engine, Inner};
use crate::config::AutoIncrementMode;
use crate::dictionary::LAST_GIVEN;
use crate::error::Result;
use crate::lock::Interrupt;
use crate::mtr::Mtr;
use crate::row;
use crate::schema::{ColumnSet, ReadMode, Row, ScanRange, Table};
use crate::store::Store;
use crate::transaction::{Isolation, Transaction};

fn root(table: &Table) -> PageId {
    PageId::new(table.space, table.clustered().root)
}

/// Reads the persistent copy: of a table in partitions, the largest of theirs.
pub(super) fn read_last_given(store: &Store, table: &Table) -> Result<u64> {
    let mut last = 0;
    for file in table.files() {
        last = last.max(get_u64(&store.read(root(file))?, LAST_GIVEN));
    }
    Ok(last)
}

/// Moves the persistent copy up to `value`.
pub(super) fn write_last_given(store: &Store, table: &Table, value: u64) -> Result<()> {
    // The first partition keeps it for all.
    let Some(file) = table.files().next() else { return Ok(()) };
    let mut mtr = Mtr::begin(store);
    let page = mtr.latch_exclusive(root(file))?;
    if get_u64(mtr.page(page), LAST_GIVEN) < value {
        mtr.write(page, LAST_GIVEN, &value.to_be_bytes());
    }
    mtr.commit();
    Ok(())
}

/// The first value of the series `offset, offset + step, ...` that is not below `next`.
fn in_series(next: u64, offset: u64, step: u64) -> u64 {
    let step = step.max(1);
    // As in MySQL, an offset beyond the step is ignored.
    let offset = if offset > step { 1 } else { offset.max(1) };
    if next <= offset {
        return offset;
    }
    offset.saturating_add((next - offset).div_ceil(step).saturating_mul(step))
}

impl Engine {
    /// Which statements lock the counter.
    #[inline]
    pub fn auto_increment_mode(&self) -> AutoIncrementMode {
        self.auto_increment_mode
    }

    /// The next value.
    pub fn auto_increment(&self, table: &Table) -> Result<u64> {
        let next = table.state.auto_increment_next.load(Ordering::Acquire);
        if next != 0 {
            return Ok(next);
        }
        // The table's name may not be locked.
        let _tables = self.inner.dictionary.hold_tables();
        let last = read_last_given(&self.inner.store, table)?;
        let first = last.saturating_add(1);
        // Another thread may have read it too, and advanced it.
        let state = &table.state.auto_increment_next;
        Ok(state.compare_exchange(0, first, Ordering::AcqRel, Ordering::Acquire).map_or_else(|now| now, |_| first))
    }

    /// Takes `count` values of the series offset, offset + step, ...; returns the first. At the end of the numbers it
    /// returns the largest there is, which the column's type then refuses.
    pub fn reserve_auto_increment(&self, table: &Table, count: u64, offset: u64, step: u64) -> Result<u64> {
        self.auto_increment(table)?;
        let state = &table.state.auto_increment_next;
        let mut next = state.load(Ordering::Acquire);
        loop {
            let first = in_series(next, offset, step);
            let last = first.saturating_add(count.saturating_sub(1).saturating_mul(step.max(1)));
            match state.compare_exchange_weak(next, last.saturating_add(1), Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => {
                    write_last_given(&self.inner.store, table, last)?;
                    return Ok(first);
                }
                Err(now) => next = now,
            }
        }
    }

    /// A row supplied `value` itself: the next value will be larger.
    pub fn raise_auto_increment(&self, table: &Table, value: u64) -> Result<()> {
        let next = self.auto_increment(table)?;
        if value < next {
            return Ok(());
        }
        table.state.auto_increment_next.fetch_max(value.saturating_add(1), Ordering::AcqRel);
        write_last_given(&self.inner.store, table, value)
    }
}

/// The last value given after ALTER TABLE has made `new` of `old` (the same table where no row moves): what `wanted`
/// asks for, but not below the largest value in the table. Without `wanted` the counter continues. None = the table has
/// no counter.
pub(super) fn after_alter(
    inner: &Inner,
    old: &Table,
    new: &Arc<row::Table>,
    wanted: Option<u64>,
    interrupt: &Arc<Interrupt>,
) -> Result<Option<u64>> {
    let Some(column) = new.auto_increment else { return Ok(None) };
    match (wanted, old.auto_increment) {
        (None, Some(_)) => read_last_given(&inner.store, old).map(Some),
        (wanted, _) => {
            let wanted = wanted.unwrap_or(1).saturating_sub(1);
            Ok(Some(wanted.max(largest(inner, new, column, interrupt)?)))
        }
    }
}

/// The largest AUTO_INCREMENT value among rows that were imported.
pub(super) fn after_import(inner: &Inner, new: &Arc<row::Table>, interrupt: &Arc<Interrupt>) -> Result<u64> {
    new.auto_increment.map_or(Ok(0), |column| largest(inner, new, column, interrupt))
}

/// The largest value of a column that leads an index; 0 if there is none above. No session changes the table meanwhile.
fn largest(inner: &Inner, table: &Arc<row::Table>, column: usize, interrupt: &Arc<Interrupt>) -> Result<u64> {
    let leads = |index: &crate::schema::Index| {
        !index.has_several_entries() && index.parts.first().is_some_and(|part| part.column == column)
    };
    let Some(index) = table.indexes.iter().position(leads) else { return Ok(0) };
    let of_file = |file| largest_of_file(inner, file, index, column, interrupt);
    table.files().iter().map(of_file).try_fold(0, |most, one| Ok(most.max(one?)))
}

fn largest_of_file(
    inner: &Inner,
    table: &Arc<row::Table>,
    index: usize,
    column: usize,
    interrupt: &Arc<Interrupt>,
) -> Result<u64> {
    let columns: ColumnSet = [column].into_iter().collect();
    let range = ScanRange { reverse: !table.indexes[index].parts[0].order.descends(), ..ScanRange::ALL };
    let mut trx = Transaction::new(Isolation::RepeatableRead, interrupt.clone(), std::time::Duration::ZERO);
    let mut scan = row::Scan::new(table, index, ReadMode::Consistent, &columns, &range);
    let mut row = Row::new();
    if !scan.next(&inner.context_of(table), &mut trx, table, &mut row)? {
        return Ok(0);
    }
    Ok(match row.get(column).map(|stored| table.columns[column].ty.decode(stored)) {
        Some(Value::Int(number)) => u64::try_from(number).unwrap_or(0),
        Some(Value::UInt(number)) => number,
        Some(Value::Double(number)) => number as u64,
        _ => 0,
    })
}

#[cfg(test)]
mod tests {
    use super::in_series;

    #[test]
    fn a_series_has_an_offset_and_a_step() {
        assert_eq!((in_series(1, 1, 1), in_series(7, 1, 1)), (1, 7));
        assert_eq!((in_series(1, 5, 10), in_series(6, 5, 10), in_series(15, 5, 10)), (5, 15, 15));
        assert_eq!(in_series(2, 20, 10), 11);
        assert_eq!(in_series(u64::MAX, 1, 1), u64::MAX);
    }
}
