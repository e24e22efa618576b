//! The memory of rows that a statement keeps: groups, rows to sort, rows of derived tables and subqueries.
//!
//! A statement has one sum, and each operator that keeps rows has an [`Account`] of it. Discarded rows are subtracted:
//! those behind a LIMIT at once, the others when the account is dropped. So a sort that keeps five rows costs five
//! rows, however many pass through it, and a subquery that runs for each of a million rows costs as much as one run.

use std::cell::Cell;

use format::value::Value;

use crate::error::{Error, Result};

/// The most memory that one statement's kept rows may take.
const KEPT_BYTES_MAX: u64 = 1 << 30;

/// The most memory of the rows that one statement keeps for its joins.
const JOIN_BYTES_MAX: u64 = 1 << 28;

/// What a statement keeps.
pub struct Memory {
    kept_bytes: Cell<u64>,
    bytes_max: u64,
}

impl Default for Memory {
    fn default() -> Memory {
        Memory::of(KEPT_BYTES_MAX)
    }
}

/// A part of it that ends with its owner.
pub struct Account<'m> {
    memory: &'m Memory,
    bytes: u64,
}

impl Memory {
    /// Memory of its own for rows that need not be kept: what joins keep never makes a statement fail.
    pub fn for_joins() -> Memory {
        Memory::of(JOIN_BYTES_MAX)
    }

    /// Memory of this size.
    pub fn of(bytes_max: u64) -> Memory {
        Memory { kept_bytes: Cell::new(0), bytes_max }
    }

    /// Adds what stays until the statement ends; 1038 when it is too much.
    pub fn keep(&self, bytes: u64) -> Result<()> {
        let kept = self.kept_bytes.get() + bytes;
        if kept > self.bytes_max {
            return Err(Error::new(1038, b"HY001", "Out of sort memory, consider increasing server sort buffer size"));
        }
        self.kept_bytes.set(kept);
        Ok(())
    }

    pub fn account(&self) -> Account<'_> {
        Account { memory: self, bytes: 0 }
    }
}

impl Account<'_> {
    pub fn add(&mut self, bytes: u64) -> Result<()> {
        self.memory.keep(bytes)?;
        self.bytes += bytes;
        Ok(())
    }

    pub fn give_back(&mut self, bytes: u64) {
        let bytes = bytes.min(self.bytes);
        self.bytes -= bytes;
        self.memory.kept_bytes.set(self.memory.kept_bytes.get() - bytes);
    }

    /// What the owner keeps now.
    pub fn set(&mut self, bytes: u64) -> Result<()> {
        match bytes.checked_sub(self.bytes) {
            Some(more) => self.add(more),
            None => {
                self.give_back(self.bytes - bytes);
                Ok(())
            }
        }
    }

    /// Ends the account and leaves what it counted to the statement.
    pub fn leave_to_statement(mut self) {
        self.bytes = 0;
    }
}

impl Drop for Account<'_> {
    fn drop(&mut self) {
        self.give_back(self.bytes);
    }
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

    #[test]
    fn what_is_given_back_can_be_kept_again() {
        let memory = Memory::default();
        for _ in 0..10 {
            let mut account = memory.account();
            account.add(KEPT_BYTES_MAX / 2).unwrap();
            account.set(KEPT_BYTES_MAX).unwrap();
            assert_eq!(memory.account().add(1).map_err(|error| error.code), Err(1038));
            account.set(1).unwrap();
            memory.account().add(KEPT_BYTES_MAX - 1).unwrap();
        }
        let mut account = memory.account();
        account.add(KEPT_BYTES_MAX).unwrap();
        account.leave_to_statement();
        assert_eq!(memory.account().add(1).map_err(|error| error.code), Err(1038));
    }
}
