//! UPDATE and DELETE of tables that are joined.
//!
//! First all rows are found, and the values that they get; then they are changed, table by table in the order of FROM. So
//! the join sees no row that the statement has changed, and a row that it gives twice is changed once.

use format::collation::collation;
use format::value::Zone;
use storage::schema::INDEX_PARTS_MAX;
use storage::{ColumnSet, ReadMode, Row, Table};

use super::change::{Changes, Updater, assign_mode, check_interrupt};
use super::found::{FoundRow, FoundRows};
use super::keys::KeySet;
use super::memory::Memory;
use super::query::scan;
use super::row::{JoinRow, decode};
use super::triggers::Firing;
use super::view_check;
use super::{Environment, Level};
use crate::catalog::{OrSqlError, storage_error};
use crate::error::Result;
use crate::expression::{AssignMode, Datum, EvalContext, Fields};
use crate::parser::ast::TriggerEvent;
use crate::partitions::rows::{self, Division};
use crate::planner::SelectPlan;
use crate::planner::joined_change::{JoinedDeletePlan, JoinedUpdatePlan};

/// The rows of one target: each once.
struct Found<'m> {
    rows: FoundRows<'m>,
    seen: KeySet<'m>,
}

impl<'m> Found<'m> {
    fn new(memory: &'m Memory<'m>) -> Found<'m> {
        Found { rows: FoundRows::new(memory), seen: KeySet::new(memory) }
    }
}

/// The joined row, with one table's as it becomes.
struct TargetRow<'r> {
    joined: &'r JoinRow<'r>,
    base: usize,
    table: &'r Table,
    row: &'r Row,
    zone: Zone,
}

impl Fields for TargetRow<'_> {
    fn field(&self, slot: usize) -> Datum<'_> {
        match slot.checked_sub(self.base).filter(|column| *column < self.table.columns.len()) {
            None => self.joined.field(slot),
            Some(column) => match self.row.get(column) {
                Some(stored) => decode(&self.table.columns[column].ty, stored, self.zone),
                None => Datum::Null,
            },
        }
    }
}

/// Runs an UPDATE of joined tables.
pub fn update(
    environment: &Environment<'_>,
    plan: &JoinedUpdatePlan,
    outer_context: &EvalContext<'_>,
) -> Result<Changes> {
    let mode = assign_mode(outer_context, plan.ignore);
    let strict_change = mode == AssignMode::Strict;
    let level = Level::of(environment, &plan.select);
    let context = &EvalContext {
        subqueries: Some(&level),
        lists: Some(&level.lists),
        strict_change,
        ignores: plan.ignore,
        ..*outer_context
    };
    let zone = context.zone;
    let mut updaters: Vec<Updater<'_>> = plan
        .targets
        .iter()
        .map(|target| {
            let (assignments, touched) = (&target.assignments[..], &target.touched[..]);
            let rules = (&target.defaults[..], &target.rules);
            let mut updater = Updater::new(&target.table, assignments, touched, rules, mode, plan.ignore);
            updater.triggers = target.triggers.as_deref();
            updater.check = target.check.as_ref();
            updater.division = plan.select.sources[target.source].division.as_deref();
            updater
        })
        .collect();
    let mut found: Vec<Found<'_>> = plan.targets.iter().map(|_| Found::new(&environment.memory)).collect();
    let mut changes = Changes::default();
    scan(environment, &plan.select, context, &mut |joined| {
        let joined: &JoinRow<'_> = joined;
        for ((target, updater), found) in plan.targets.iter().zip(&mut updaters).zip(&mut found) {
            let Some(row) = new_row(&plan.select, target.source, joined, &target.table, found, context)? else {
                continue;
            };
            changes.found += 1;
            let base = plan.select.sources[target.source].slot_base;
            updater.evaluate(context, &row, changes.found, &mut |row, evaluate| {
                evaluate(&TargetRow { joined, base, table: &target.table, row, zone })
            })?;
            let values = updater.take_values();
            let others = target.check.as_ref().map_or(Vec::new(), |check| view_check::others(check, joined));
            found.rows.push(FoundRow { values, others, ..FoundRow::of(row) })?;
        }
        Ok(true)
    })?;
    let mut done = 0;
    for ((target, updater), found) in plan.targets.iter().zip(&mut updaters).zip(found) {
        let mut number = 0;
        found.rows.for_each(&mut |FoundRow { row, values, others, .. }| {
            check_interrupt(&mut done, context)?;
            number += 1;
            updater.others = others;
            updater.give_values(values);
            let changed = match target.reads_again {
                false => updater.apply(environment, context, &row, number)?,
                true => match read_again(environment, context, updater.division, &target.table, &row)? {
                    Some(row) => updater.apply(environment, context, &row, number)?,
                    None => false,
                },
            };
            changes.changed += u64::from(changed);
            Ok(())
        })?;
    }
    Ok(changes)
}

/// Runs a DELETE of joined tables.
pub fn delete(
    environment: &Environment<'_>,
    plan: &JoinedDeletePlan,
    outer_context: &EvalContext<'_>,
) -> Result<Changes> {
    let strict_change = assign_mode(outer_context, plan.ignore) == AssignMode::Strict;
    let level = Level::of(environment, &plan.select);
    let context = &EvalContext {
        subqueries: Some(&level),
        lists: Some(&level.lists),
        strict_change,
        ignores: plan.ignore,
        ..*outer_context
    };
    let mut found: Vec<Found<'_>> = plan.targets.iter().map(|_| Found::new(&environment.memory)).collect();
    scan(environment, &plan.select, context, &mut |joined| {
        let joined: &JoinRow<'_> = joined;
        for (target, found) in plan.targets.iter().zip(&mut found) {
            if let Some(row) = new_row(&plan.select, target.source, joined, &target.table, found, context)? {
                found.rows.push(FoundRow::of(row))?;
            }
        }
        Ok(true)
    })?;
    let mut changes = Changes::default();
    let mut done = 0;
    for (target, found) in plan.targets.iter().zip(found) {
        let table = &target.table;
        let mut number = 0;
        found.rows.for_each(&mut |FoundRow { row, .. }| {
            check_interrupt(&mut done, context)?;
            number += 1;
            let row = match target.reads_again {
                false => Some(row),
                true => {
                    let division = plan.select.sources[target.source].division.as_deref();
                    read_again(environment, context, division, table, &row)?
                }
            };
            // A cascade was faster.
            let Some(row) = row else { return Ok(()) };
            let fired = target.triggers.as_deref();
            let firing = Firing { table, context, old: Some(&row), number };
            if let Some(triggers) = fired {
                firing.removed(triggers.before(TriggerEvent::Delete))?;
            }
            let deleted = rows::delete(&mut environment.trx.borrow_mut(), table, &row);
            match deleted {
                Ok(()) => {
                    changes.deleted += 1;
                    if let Some(log) = environment.log {
                        log.borrow_mut().delete(table, &|column| row.get(column))?;
                    }
                    if let Some(triggers) = fired {
                        firing.removed(triggers.after(TriggerEvent::Delete))?;
                    }
                }
                Err(error @ storage::Error::ForeignKey(_)) if plan.ignore => context.warn(storage_error(error)),
                Err(storage::Error::NotFound(_)) if table.is_related() => {}
                Err(error) => return Err(storage_error(error)),
            }
            Ok(())
        })?;
    }
    Ok(changes)
}

/// The current row of a target, if there is one that was not found before.
fn new_row(
    plan: &SelectPlan,
    source: usize,
    joined: &JoinRow<'_>,
    table: &Table,
    found: &mut Found<'_>,
    context: &EvalContext<'_>,
) -> Result<Option<Row>> {
    debug_assert!(plan.sources[source].table().is_some());
    let current = &joined.sources[source];
    if current.is_null {
        return Ok(None);
    }
    let row = &current.stored;
    let mut key = row.row_id.to_le_bytes().to_vec();
    for part in &table.indexes[0].parts {
        let stored = row.get(part.column).unwrap_or_default();
        key.extend_from_slice(&(stored.len() as u32).to_le_bytes());
        key.extend_from_slice(stored);
    }
    Ok(found.seen.insert(&key, context.session)?.then(|| row.clone()))
}

/// The bytes of a hidden key.
const ROW_ID_BYTES: usize = 6;

/// A row as it is now; None: it is there no more.
fn read_again(
    environment: &Environment<'_>,
    context: &EvalContext<'_>,
    division: Option<&Division>,
    table: &Table,
    row: &Row,
) -> Result<Option<Row>> {
    let mut key: [Option<&[u8]>; INDEX_PARTS_MAX] = [None; INDEX_PARTS_MAX];
    let parts = &table.indexes[0].parts;
    for (slot, part) in key.iter_mut().zip(parts) {
        let stored = row.get(part.column);
        *slot = match (stored, part.prefix_chars) {
            (Some(stored), Some(prefix)) => {
                let kept = match table.columns[part.column].ty.collation() {
                    Some(id) => collation(id).charset.offset_of_char(stored, prefix as usize),
                    None => stored.len().min(prefix as usize),
                };
                Some(&stored[..kept])
            }
            (stored, _) => stored,
        };
    }
    let all = ColumnSet::first(table.columns.len());
    let mut now = Row::new();
    let mut trx = environment.trx.borrow_mut();
    let row_id = row.row_id.to_be_bytes();
    let hidden_key = [Some(&row_id[row_id.len() - ROW_ID_BYTES..])];
    let key = match table.indexes[0].is_hidden() {
        true => &hidden_key,
        false => &key[..parts.len()],
    };
    let found = match division {
        None => trx.get(table, 0, key, ReadMode::EXCLUSIVE, &all, &mut now).or_sql()?,
        Some(division) => {
            let mode = ReadMode::EXCLUSIVE;
            let found = rows::get(&mut trx, context, division, table, 0, key, mode, &all, &mut now);
            found.map_err(rows::Failure::into_error)?
        }
    };
    Ok(found.then_some(now))
}
