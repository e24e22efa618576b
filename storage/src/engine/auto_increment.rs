//! AUTO_INCREMENT: the next value of a table.
//!
//! The counter in memory is the truth; its persistent copy is the last value given, in the root page of the clustered index
//! where MariaDB keeps it, and is written (with redo) whenever a value is given. It never goes back, for the page
//! only takes larger values: neither a rollback nor a restart gives a value twice.

use format::bytes::get_u64;
use format::ids::PageId;
use format::page::index::MAX_TRX_ID;
use std::sync::atomic::Ordering;

use super::Engine;
use crate::config::AutoIncrementMode;
use crate::error::Result;
use crate::mtr::Mtr;
use crate::schema::Table;
use crate::store::Store;

/// Where the last value given stands on the root page: the field has no other use there.
const LAST_GIVEN: usize = MAX_TRX_ID;

fn root(table: &Table) -> PageId {
    PageId::new(table.space, table.clustered().root)
}

/// Reads the persistent copy.
pub(super) fn read_last_given(store: &Store, table: &Table) -> Result<u64> {
    Ok(get_u64(&store.read(root(table))?, LAST_GIVEN))
}

/// Moves the persistent copy up to `value`.
pub(super) fn write_last_given(store: &Store, table: &Table, value: u64) -> Result<()> {
    let mut mtr = Mtr::begin(store);
    let page = mtr.latch_exclusive(root(table))?;
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
        // Somebody else may have read it too, and gone on.
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

    /// A row took `value` itself: the next will be larger.
    pub fn raise_auto_increment(&self, table: &Table, value: u64) -> Result<()> {
        let next = self.auto_increment(table)?;
        if value < next {
            return Ok(());
        }
        table.state.auto_increment_next.fetch_max(value.saturating_add(1), Ordering::AcqRel);
        write_last_given(&self.inner.store, table, value)
    }

    /// ALTER TABLE ... AUTO_INCREMENT = n. It may go down; the caller looked at the largest value in the table.
    pub fn set_auto_increment(&self, table: &Table, next: u64) -> Result<()> {
        let next = next.max(1);
        let mut mtr = Mtr::begin(&self.inner.store);
        let page = mtr.latch_exclusive(root(table))?;
        mtr.write(page, LAST_GIVEN, &(next - 1).to_be_bytes());
        table.state.auto_increment_next.store(next, Ordering::Release);
        let lsn = mtr.commit();
        self.inner.store.flush_log(lsn)
    }
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
