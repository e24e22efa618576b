//! The memory of rows that a statement keeps: groups, rows to sort, rows of joins, derived tables and subqueries.
//!
//! All sessions share one budget, `temptable_max_ram`. A statement borrows from it in parts, and each operator that keeps
//! rows has an [`Account`] with its statement:
//!
//! | the operator | its own limit | when there is no more |
//! |---|---|---|
//! | sorts | `sort_buffer_size` | sorted rows go to a file, and are merged |
//! | joins by hash | `join_buffer_size` | rows of both sides are divided among parts of a file |
//! | groups, DISTINCT, set operations | the smaller of `tmp_table_size` and `max_heap_table_size` | rows are divided likewise |
//! | rows that are made once and read often, rows that a change has found | the same | the rest of them is in a file |
//! | keys of these, and of the rows of WITH RECURSIVE | the same | they go to files by their hashes, see `executor::keys` |
//! | partitions of windows, and their results | a quarter of the budget | they are in a file |
//! | all others, and what cannot be divided | none | error 1038 |
//!
//! What an operator asks for beyond its limit, or beyond the budget, is refused, and it goes on with what it has: at least
//! [`FLOOR_BYTES`], which it gets in any case. Discarded rows are given back: those behind a LIMIT at once, the others
//! when the account ends. So a sort that keeps five rows costs five rows, however many pass through it, and a subquery
//! that runs for each of a million rows costs as much as one run.

use std::cell::Cell;
use std::sync::Arc;

use format::value::Value;

use crate::error::{Error, Result};
use crate::temporary::{Spill, Temporary};
use crate::variables::{GlobalVariables, Settings};

/// What every operator may have.
pub const FLOOR_BYTES: u64 = 16 << 10;

/// A statement keeps so much without asking the server.
const POCKET_BYTES: u64 = 16 << 10;

/// The part in which a statement borrows.
const LOAN_BYTES: u64 = 64 << 10;

/// A statement gives back once it has borrowed so much more than it keeps.
const SURPLUS_BYTES: u64 = 1 << 20;

/// The most memory of the rows of a join that cannot be divided: see `executor::divided`.
const WHOLE_JOIN_BYTES_MAX: u64 = 1 << 28;

/// What limits an operator by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    Sort,
    Join,
    /// A join whose rows are read again for each row before them if they are not kept.
    WholeJoin,
    Table,
    /// The rows of a partition of a window, and its functions' results.
    Partition,
    Other,
}

/// What a statement keeps.
pub struct Memory<'a> {
    temporary: &'a Arc<Temporary>,
    variables: &'a GlobalVariables,
    sort_bytes: u64,
    join_bytes: u64,
    table_bytes: u64,
    /// `temptable_max_ram`, as the statement has met it first.
    bytes_max: Cell<Option<u64>>,
    kept: Cell<u64>,
    lent: Cell<u64>,
    counts: Cell<Counts>,
}

/// What a statement did with files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub files: u64,
    pub tables: u64,
    pub merge_passes: u64,
}

/// A part of a statement's memory that ends with its owner.
pub struct Account<'m> {
    memory: &'m Memory<'m>,
    bytes: u64,
    bytes_max: u64,
}

/// Memory that is kept for as long as this is.
pub struct Lease {
    temporary: Arc<Temporary>,
    bytes: u64,
}

impl<'a> Memory<'a> {
    pub fn new(temporary: &'a Arc<Temporary>, variables: &'a GlobalVariables, settings: &Settings) -> Memory<'a> {
        Memory {
            temporary,
            variables,
            sort_bytes: settings.sort_buffer_bytes,
            join_bytes: settings.join_buffer_bytes,
            table_bytes: settings.tmp_table_bytes.min(settings.max_heap_table_bytes),
            bytes_max: Cell::new(None),
            kept: Cell::new(0),
            lent: Cell::new(0),
            counts: Cell::default(),
        }
    }

    /// An account that nothing but the budget limits.
    pub fn account(&self) -> Account<'_> {
        self.account_for(Purpose::Other)
    }

    pub fn account_for(&self, purpose: Purpose) -> Account<'_> {
        Account { memory: self, bytes: 0, bytes_max: self.limit_of(purpose) }
    }

    /// The most that an operator may have.
    pub fn limit_of(&self, purpose: Purpose) -> u64 {
        let bytes_max = match purpose {
            Purpose::Sort => self.sort_bytes,
            Purpose::Join => self.join_bytes,
            Purpose::WholeJoin => self.join_bytes.max(WHOLE_JOIN_BYTES_MAX),
            Purpose::Table => self.table_bytes,
            // The sorts before and behind it need some, too.
            Purpose::Partition => self.bytes_max() / 4,
            Purpose::Other => u64::MAX,
        };
        bytes_max.max(FLOOR_BYTES)
    }

    /// Adds, until the statement ends, what somebody who has kept so many bytes can do without, if it is there.
    #[must_use]
    pub fn keeps(&self, bytes_max: u64, kept: u64, bytes: u64) -> bool {
        let wanted = kept.saturating_add(bytes);
        if wanted > bytes_max {
            return false;
        }
        let is_lent = self.lend(bytes);
        if !is_lent && wanted <= FLOOR_BYTES {
            self.lend_anyway(bytes);
            return true;
        }
        is_lent
    }

    /// Adds what stays until the statement ends; 1038 when it is too much.
    pub fn keep(&self, bytes: u64) -> Result<()> {
        if self.lend(bytes) { Ok(()) } else { Err(out_of_memory()) }
    }

    /// A temporary file.
    pub fn spill(&self) -> Result<Arc<Spill>> {
        let spill = self.temporary.files.create(&|| self.variables.text("tmpdir"))?;
        self.count(|counts| counts.files += 1);
        Ok(spill)
    }

    /// Notes what is done with a file.
    pub fn count(&self, add: impl FnOnce(&mut Counts)) {
        let mut counts = self.counts.get();
        add(&mut counts);
        self.counts.set(counts);
    }

    pub fn counts(&self) -> Counts {
        self.counts.get()
    }

    fn bytes_max(&self) -> u64 {
        self.bytes_max.get().unwrap_or_else(|| {
            let bytes_max = self.variables.number("temptable_max_ram");
            self.bytes_max.set(Some(bytes_max));
            bytes_max
        })
    }

    fn missing(&self, kept: u64) -> u64 {
        kept.saturating_sub(POCKET_BYTES).saturating_sub(self.lent.get()).next_multiple_of(LOAN_BYTES)
    }

    fn lend(&self, bytes: u64) -> bool {
        let kept = self.kept.get().saturating_add(bytes);
        if kept > POCKET_BYTES + self.lent.get() {
            let missing = self.missing(kept);
            if !self.temporary.budget.lend(missing, self.bytes_max()) {
                return false;
            }
            self.lent.set(self.lent.get() + missing);
        }
        self.kept.set(kept);
        true
    }

    fn lend_anyway(&self, bytes: u64) {
        let kept = self.kept.get() + bytes;
        let missing = self.missing(kept);
        if missing > 0 {
            self.temporary.budget.lend_anyway(missing);
            self.lent.set(self.lent.get() + missing);
        }
        self.kept.set(kept);
    }

    fn give_back(&self, bytes: u64) {
        let kept = self.kept.get() - bytes;
        self.kept.set(kept);
        let needed = kept.saturating_sub(POCKET_BYTES).next_multiple_of(LOAN_BYTES);
        if self.lent.get() >= needed + SURPLUS_BYTES {
            self.temporary.budget.give_back(self.lent.get() - needed);
            self.lent.set(needed);
        }
    }
}

impl Drop for Memory<'_> {
    fn drop(&mut self) {
        self.temporary.budget.give_back(self.lent.get());
    }
}

impl<'m> Account<'m> {
    pub fn memory(&self) -> &'m Memory<'m> {
        self.memory
    }

    /// Adds what the owner cannot do without; 1038 when there is none.
    pub fn add(&mut self, bytes: u64) -> Result<()> {
        self.memory.keep(bytes)?;
        self.bytes += bytes;
        Ok(())
    }

    /// Adds what the owner can do without, if it is there.
    #[must_use]
    pub fn fits(&mut self, bytes: u64) -> bool {
        let is_kept = self.memory.keeps(self.bytes_max, self.bytes, bytes);
        self.bytes += if is_kept { bytes } else { 0 };
        is_kept
    }

    /// Adds a little that nothing can go on without: the row at hand, the buffers of files.
    pub fn add_anyway(&mut self, bytes: u64) {
        self.memory.lend_anyway(bytes);
        self.bytes += bytes;
    }

    pub fn give_back(&mut self, bytes: u64) {
        let bytes = bytes.min(self.bytes);
        self.bytes -= bytes;
        self.memory.give_back(bytes);
    }

    /// What the owner would keep now; false: it cannot.
    #[must_use]
    pub fn can_be(&mut self, bytes: u64) -> bool {
        match bytes.checked_sub(self.bytes) {
            Some(more) => self.fits(more),
            None => {
                self.give_back(self.bytes - bytes);
                true
            }
        }
    }

    /// Gives all of it back.
    pub fn clear(&mut self) {
        self.give_back(self.bytes);
    }

    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Ends the account. What it has counted is kept until the lease ends, beyond the statement if need be.
    pub fn into_lease(mut self) -> Lease {
        let bytes = self.bytes;
        self.clear();
        self.memory.temporary.budget.lend_anyway(bytes);
        Lease { temporary: self.memory.temporary.clone(), bytes }
    }
}

impl Drop for Account<'_> {
    fn drop(&mut self) {
        self.clear();
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.temporary.budget.give_back(self.bytes);
    }
}

pub fn out_of_memory() -> Error {
    Error::new(1038, b"HY001", "Out of sort memory, consider increasing server sort buffer size")
}

/// What a row takes.
pub fn row_bytes(values: &[Value]) -> u64 {
    let strings: usize = values
        .iter()
        .map(|value| match value {
            Value::Bytes(bytes) | Value::Json(bytes) => bytes.len(),
            _ => 0,
        })
        .sum();
    (strings + size_of_val(values) + 48) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(bytes_max: u64) -> (Arc<Temporary>, GlobalVariables) {
        let variables = GlobalVariables::new();
        variables.set("temptable_max_ram", &Value::UInt(bytes_max)).unwrap();
        (Arc::default(), variables)
    }

    #[test]
    fn what_is_given_back_can_be_kept_again_by_another_statement() {
        let (temporary, variables) = server(4 << 20);
        let memory = || Memory::new(&temporary, &variables, &Settings::default());
        let (one, other) = (memory(), memory());
        for _ in 0..10 {
            let mut account = one.account();
            account.add(4 << 20).unwrap();
            assert_eq!(other.account().add(1 << 20).map_err(|error| error.code), Err(1038));
            assert!(account.can_be(1));
            other.account().add(3 << 20).unwrap();
        }
        let mut account = other.account();
        account.add(3 << 20).unwrap();
        let lease = account.into_lease();
        drop((one, other));
        assert_eq!(temporary.budget.lent_bytes(), 3 << 20);
        drop(lease);
        assert_eq!(temporary.budget.lent_bytes(), 0);
    }

    #[test]
    fn an_operator_stays_within_its_own_limit_and_gets_the_floor_in_any_case() {
        let (temporary, variables) = server(2 << 20);
        let settings = Settings { sort_buffer_bytes: 32 << 10, join_buffer_bytes: 128, ..Settings::default() };
        let memory = Memory::new(&temporary, &variables, &settings);
        let mut sort = memory.account_for(Purpose::Sort);
        assert!(sort.fits(32 << 10) && !sort.fits(1));
        let mut join = memory.account_for(Purpose::Join);
        assert!(join.fits(FLOOR_BYTES) && !join.fits(1));
        let greedy = Memory::new(&temporary, &variables, &settings);
        let mut all = greedy.account();
        while all.add(LOAN_BYTES).is_ok() {}
        drop((sort, join));
        let mut sort = memory.account_for(Purpose::Sort);
        let mut bytes = 0;
        while sort.fits(1000) {
            bytes += 1000;
        }
        assert!((FLOOR_BYTES - 1000..=32 << 10).contains(&bytes), "{bytes}");
        drop((sort, all));
        drop((memory, greedy));
        assert_eq!(temporary.budget.lent_bytes(), 0);
    }
}
