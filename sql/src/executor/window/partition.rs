//! The rows of one partition in their order, and which of them are peers: equal by that order.
//!
//! Rows are in memory, or in a file, of which the parts that were read last are in memory. Functions go through a partition
//! with a few rows in view at a time (the current one, the ends of its frame, one at a distance), so each reads the file once
//! or twice.

use std::cell::Cell;
use std::cmp::Ordering;
use std::ops::Range;

use super::file::FileRows;
use super::row::{Keys, PartitionRow, RowOfPartition, Shape, WindowRow};
use crate::error::{Error, Result};
use crate::expression::{Datum, Expr, SessionState, order};

/// Where the rows are.
#[derive(Clone, Copy)]
pub enum Place<'p> {
    Memory(&'p [WindowRow]),
    File(&'p FileRows),
}

/// How many rows are looked at before the statement looks whether it was killed.
const INTERRUPT_EVERY: u32 = 64;

pub struct Partition<'p> {
    rows: Place<'p>,
    keys: &'p Keys<'p>,
    pub order: &'p [(Expr, bool)],
    shape: &'p Shape,
    session: &'p dyn SessionState,
    looked_at: Cell<u32>,
}

/// The peers of one row after the other.
#[derive(Default)]
pub struct Peers {
    group: Range<usize>,
    /// Groups before this one.
    number: usize,
}

impl<'p> Partition<'p> {
    pub fn new(
        rows: Place<'p>,
        keys: &'p Keys<'p>,
        order: &'p [(Expr, bool)],
        shape: &'p Shape,
        session: &'p dyn SessionState,
    ) -> Partition<'p> {
        Partition { rows, keys, order, shape, session, looked_at: Cell::new(0) }
    }

    pub fn len(&self) -> usize {
        match self.rows {
            Place::Memory(rows) => rows.len(),
            Place::File(rows) => rows.len(),
        }
    }

    pub fn is_in_memory(&self) -> bool {
        matches!(self.rows, Place::Memory(_))
    }

    /// Called for each row that is looked at.
    pub fn look(&self) -> Result<()> {
        let looked_at = self.looked_at.get().wrapping_add(1);
        self.looked_at.set(looked_at);
        match looked_at.is_multiple_of(INTERRUPT_EVERY) && self.session.is_interrupted() {
            true => Err(Error::interrupted()),
            false => Ok(()),
        }
    }

    pub fn row(&self, at: usize) -> Result<PartitionRow<'p>> {
        self.look()?;
        let row = match self.rows {
            Place::Memory(rows) => RowOfPartition::Memory(&rows[at]),
            Place::File(rows) => rows.row(at)?,
        };
        Ok(PartitionRow { shape: self.shape, row })
    }

    /// The value of the only expression of the order.
    pub fn key<'r>(&self, row: &'r PartitionRow<'_>) -> Datum<'r> {
        row.kept().order_value()
    }

    /// How the key of a row compares with a value, in the order's direction.
    pub fn compare_key(&self, at: usize, value: &Datum<'_>) -> Result<Ordering> {
        let (expr, descending) = &self.order[0];
        let compared = order(&self.key(&self.row(at)?), value, expr.ty.collation);
        Ok(if *descending { compared.reverse() } else { compared })
    }

    fn are_peers(&self, a: &PartitionRow<'_>, b: &PartitionRow<'_>) -> bool {
        self.keys.are_peers(a.kept(), b.kept())
    }
}

impl Peers {
    /// The peers of the next row, or of the same.
    pub fn of(&mut self, at: usize, partition: &Partition<'_>) -> Result<Range<usize>> {
        if !self.group.contains(&at) {
            self.number += usize::from(at > 0);
            let mut end = at + 1;
            if partition.order.is_empty() {
                end = partition.len();
            } else if end < partition.len() {
                let mut last = partition.row(at)?;
                while end < partition.len() {
                    let next = partition.row(end)?;
                    if !partition.are_peers(&last, &next) {
                        break;
                    }
                    last = next;
                    end += 1;
                }
            }
            self.group = at..end;
        }
        Ok(self.group.clone())
    }

    /// How many groups of peers there are before the current one.
    pub fn number(&self) -> usize {
        self.number
    }
}
