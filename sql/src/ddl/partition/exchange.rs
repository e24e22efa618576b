//! EXCHANGE PARTITION: which tables may trade places with a partition.

use std::sync::Arc;

use storage::{ColumnSet, ReadMode, Relatives, Row, ScanRange, Table};

use super::super::{Context, Outcome};
use crate::catalog::{check_not_discarded, storage_error};
use crate::error::{Error, Result};
use crate::parser::ast::TableName;
use crate::partitions::Routing;

/// Rows between two looks whether the statement is to end.
const INTERRUPT_EVERY: u64 = 256;

pub fn exchange(
    context: &Context<'_>,
    (database, name): (&str, &str),
    partition: &str,
    other: &TableName,
    validation: bool,
) -> Result<Outcome> {
    let (other_database, other_name) = context.resolve(other)?;
    let engine = &context.instance.engine;
    let seen = context.existing(other_database, other_name)?;
    let refused = |code, text: String| Err(Error::new(code, b"HY000", text));
    if seen.is_temporary() {
        return refused(1733, format!("Table to exchange with partition is temporary: '{other_name}'"));
    }
    let names = [(database, name), (other_database, other_name)];
    let locked = engine.lock_definitions(&names, Relatives::Along, &context.wait).map_err(storage_error)?;
    let table = locked.table(database, name).map_err(storage_error)?;
    let other = locked.table(other_database, other_name).map_err(storage_error)?;
    if other.is_partitioned() {
        return refused(1732, format!("Table to exchange with partition is partitioned: '{other_name}'"));
    }
    let routing = Routing::of(context.eval, &table)?.ok_or_else(Error::partition_management_on_plain)?;
    let set = routing.named(&table, std::slice::from_ref(&partition.to_owned()))?;
    let at: Vec<usize> = set.iter().collect();
    let [at] = at[..] else {
        return refused(1734, format!("Subpartitioned table, use subpartition instead of partition: '{partition}'"));
    };
    if !other.foreign_keys.is_empty() || engine.is_referenced(&other.database, &other.name) {
        return refused(1740, format!("Table to exchange with partition has foreign key references: '{other_name}'"));
    }
    check_not_discarded(&other)?;
    check_alike(&table, at, &other)?;
    if validation {
        check_rows(context, &routing, &table, at, &other)?;
    }
    locked.exchange_partition(&table, at, &other).map_err(storage_error)?;
    Outcome::nothing()
}

/// 1736 unless the two have the same columns and indexes, 1731 if their files differ.
fn check_alike(table: &Table, at: usize, other: &Table) -> Result<()> {
    let differs = || Error::new(1736, b"HY000", "Tables have different definitions");
    let same_columns = table.columns.len() == other.columns.len()
        && table.columns.iter().zip(&other.columns).all(|(own, other)| {
            storage::same_name(&own.name, &other.name)
                && own.ty == other.ty
                && own.nullable == other.nullable
                && own.auto_increment == other.auto_increment
                && own.generated == other.generated
        });
    let same_indexes = table.indexes.len() == other.indexes.len()
        && table.indexes.iter().all(|own| {
            // As in MySQL, which looks for the name as it is written.
            other.indexes.iter().any(|other| {
                own.name == other.name
                    && own.parts == other.parts
                    && own.unique == other.unique
                    && own.primary == other.primary
            })
        })
        && table.indexes[0].parts == other.indexes[0].parts;
    if !same_columns || !same_indexes || table.options.collation != other.options.collation {
        return Err(differs());
    }
    let differ =
        |what: &str| Error::new(1731, b"HY000", format!("Non matching attribute '{what}' between partition and table"));
    let partition = &table.partitions()[at];
    if partition.options.encrypted != other.options.encrypted {
        return Err(differ("ENCRYPTION"));
    }
    // Rows that satisfy one table's constraints need not satisfy the other's.
    let checks = |of: &Table| {
        let mut checks: Vec<_> = of.checks.iter().map(|check| (check.condition.clone(), check.enforced)).collect();
        checks.sort();
        checks
    };
    if checks(table) != checks(other) {
        return Err(differs());
    }
    Ok(())
}

/// 1737 if a row of the other table is not one of the partition.
fn check_rows(context: &Context<'_>, routing: &Routing, table: &Table, at: usize, other: &Arc<Table>) -> Result<()> {
    let mut trx = context.instance.engine.begin(context.wait.clone());
    let columns: ColumnSet = routing.columns.iter().copied().collect();
    let mut cursor = trx.cursor(other, 0, ReadMode::Consistent, columns, ScanRange::ALL).map_err(storage_error)?;
    let mut row = Row::new();
    let mut count = 0_u64;
    while cursor.next(&mut trx, &mut row).map_err(storage_error)? {
        count += 1;
        if count.is_multiple_of(INTERRUPT_EVERY) && context.eval.session.is_interrupted() {
            return Err(Error::interrupted());
        }
        let place = routing.partition_of(context.eval, &table.columns, &|column| row.get(column));
        if !matches!(place, Ok(place) if place == at) {
            return Err(Error::new(1737, b"HY000", "Found a row that does not match the partition"));
        }
    }
    Ok(())
}
