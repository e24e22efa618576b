//! Rows of tables that may be partitioned: each operation of a transaction finds the partition, and goes to it.
//!
//! A table without partitions costs one comparison. A row that was read has the number of its partition with it
//! (`Row::partition`).

use std::sync::Arc;

use storage::{ColumnSet, ReadMode, Row, Savepoint, Table, Trx};

use super::{PartitionSet, Routing};
use crate::catalog::storage_error;
use crate::error::{Error, Result};
use crate::expression::EvalContext;

/// What becomes of an operation: storage's own errors, which the caller describes, or one of this layer.
pub enum Failure {
    Storage(storage::Error),
    Refused(Error),
}

impl From<storage::Error> for Failure {
    fn from(error: storage::Error) -> Failure {
        Failure::Storage(error)
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        Failure::Refused(error)
    }
}

impl Failure {
    /// The error that a client gets, where the caller has nothing to say about the row.
    pub fn into_error(self) -> Error {
        match self {
            Failure::Storage(error) => storage_error(error),
            Failure::Refused(error) => error,
        }
    }
}

/// The routing of a table and the partitions that a statement names.
#[derive(Debug, Clone)]
pub struct Division {
    pub routing: Arc<Routing>,
    /// `PARTITION (p0, p1)`; None: all.
    pub chosen: Option<PartitionSet>,
}

impl Division {
    /// None: the table has no partitions. `names`: those that the statement names; 1747 if there are none to name.
    pub fn of(eval: &EvalContext<'_>, table: &Table, names: &[String]) -> Result<Option<Division>> {
        let Some(routing) = Routing::of(eval, table)? else {
            return if names.is_empty() { Ok(None) } else { Err(Error::partition_clause_on_plain()) };
        };
        let chosen = if names.is_empty() { None } else { Some(routing.named(table, names)?) };
        Ok(Some(Division { routing, chosen }))
    }

    /// All partitions that the statement may look at.
    pub fn all(&self) -> PartitionSet {
        self.chosen.clone().unwrap_or_else(|| PartitionSet::all(self.routing.count))
    }

    /// The partition of a new row: 1526 if there is none, 1748 if it is not among those that the statement names.
    pub fn partition_of<'v>(
        &self,
        eval: &EvalContext<'_>,
        table: &'v Table,
        value: &'v dyn Fn(usize) -> Option<&'v [u8]>,
    ) -> Result<usize> {
        let at = self.routing.partition_of(eval, &table.columns, value)?;
        match &self.chosen {
            Some(chosen) if !chosen.contains(at) => Err(Error::row_not_in_partitions()),
            _ => Ok(at),
        }
    }

    /// The one partition in which a full key of a unique index can be; None: none has such rows.
    fn partition_of_key(
        &self,
        eval: &EvalContext<'_>,
        table: &Table,
        index: usize,
        key: &[Option<&[u8]>],
    ) -> Result<Option<usize>> {
        let parts = &table.indexes[index].parts;
        let value = |column: usize| parts.iter().position(|part| part.column == column).and_then(|at| key[at]);
        match self.routing.partition_of(eval, &table.columns, &value) {
            Ok(at) => Ok(Some(at)),
            Err(error) if error.is_of_no_partition() => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// See [`Trx::get`]: the row with a full key of a unique index.
#[expect(clippy::too_many_arguments, reason = "the parts of one look-up")]
pub fn get(
    trx: &mut Trx,
    eval: &EvalContext<'_>,
    division: &Division,
    table: &Table,
    index: usize,
    key: &[Option<&[u8]>],
    mode: ReadMode,
    columns: &ColumnSet,
    row: &mut Row,
) -> Result<bool, Failure> {
    let Some(at) = division.partition_of_key(eval, table, index, key)? else { return Ok(false) };
    if division.chosen.as_ref().is_some_and(|chosen| !chosen.contains(at)) {
        return Ok(false);
    }
    let found = trx.get(&table.partitions()[at], index, key, mode, columns, row)?;
    row.partition = at as u32;
    Ok(found)
}

/// See [`Trx::insert`].
pub fn insert(
    trx: &mut Trx,
    eval: &EvalContext<'_>,
    division: Option<&Division>,
    table: &Table,
    values: &[Option<&[u8]>],
) -> Result<(), Failure> {
    let Some(division) = division else { return Ok(trx.insert(table, values)?) };
    let at = division.partition_of(eval, table, &|column| values[column])?;
    Ok(trx.insert(&table.partitions()[at], values)?)
}

/// See [`Trx::update`]. A row whose partition changes is inserted there and deleted here; it has all of its columns then.
pub fn update(
    trx: &mut Trx,
    eval: &EvalContext<'_>,
    division: Option<&Division>,
    table: &Table,
    row: &Row,
    changes: &[(usize, Option<&[u8]>)],
) -> Result<(), Failure> {
    let Some(division) = division else { return Ok(trx.update(table, row, changes)?) };
    let here = row.partition as usize;
    let partition = &table.partitions()[here];
    if !changes.iter().any(|(column, _)| division.routing.columns.contains(column)) {
        return Ok(trx.update(partition, row, changes)?);
    }
    let new = |column: usize| {
        let change = changes.iter().rev().find(|(changed, _)| *changed == column);
        change.map_or_else(|| row.get(column), |(_, value)| *value)
    };
    let there = division.partition_of(eval, table, &new)?;
    if there == here {
        return Ok(trx.update(partition, row, changes)?);
    }
    let values: Vec<Option<&[u8]>> = (0..table.columns.len()).map(new).collect();
    let before: Savepoint = trx.savepoint();
    trx.insert(&table.partitions()[there], &values)?;
    if let Err(error) = trx.delete(partition, row) {
        trx.rollback_to(before)?;
        return Err(error.into());
    }
    Ok(())
}

/// See [`Trx::delete`].
pub fn delete(trx: &mut Trx, table: &Table, row: &Row) -> storage::Result<()> {
    match table.is_partitioned() {
        false => trx.delete(table, row),
        true => trx.delete(&table.partitions()[row.partition as usize], row),
    }
}
