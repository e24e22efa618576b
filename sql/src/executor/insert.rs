//! INSERT and REPLACE at work.
//!
//! A row is built in one reused buffer, column by column, and given to storage. If a
//! unique key is there already: an error, a warning (IGNORE), a change of the row that
//! is there (ON DUPLICATE KEY UPDATE), or its removal and another try (REPLACE).
//!
//! AUTO_INCREMENT: NULL and 0 ask for a value, which is taken from the table's counter;
//! a statement that knows how many rows it has takes as many at once, so that they
//! are consecutive. A row with an explicit value advances the counter.

use format::value::{ColumnType, Value};
use storage::config::AutoIncrementMode;
use storage::{ColumnSet, ReadMode, Row, UnfinishedRows};

use super::change::{
    Changes, Destination, Updater, assign_mode, auto_value, change_error, push_default, target, told_value,
};
use super::insert_fields::{ConflictRow, GivenRow, NewRow};
use super::row::TableRow;
use super::row_rules::RowTarget;
use super::stored::Stored;
use super::triggers::Firing;
use super::{Environment, Level, elements, query, view_check};
use crate::catalog::{OrSqlError, storage_error};
use crate::error::{Error, Result};
use crate::expression::assign::{Target, zero_of};
use crate::expression::{AssignMode, Datum, EvalContext, assign};
use crate::parser::ast::TriggerEvent;
use crate::partitions::rows::{self, Failure};
use crate::planner::change::{InsertPlan, InsertRows};
use crate::planner::defaults::DefaultValue;
use crate::types::{SqlMode, TypeInfo};

/// The series of AUTO_INCREMENT values: `auto_increment_offset` and `auto_increment_increment`.
#[derive(Debug, Clone, Copy)]
pub struct Series {
    pub offset: u64,
    pub step: u64,
    /// SET INSERT_ID: the first value that is generated, or 0.
    pub forced: u64,
    /// Affected rows count found ones: CLIENT_FOUND_ROWS.
    pub found_rows: bool,
}

/// Runs an INSERT or REPLACE.
pub fn insert(
    environment: &Environment<'_>,
    plan: &InsertPlan,
    context: &EvalContext<'_>,
    series: Series,
) -> Result<Changes> {
    with_counter(environment, plan, || insert_rows(environment, plan, context, series))
}

/// Inserts rows. Where `innodb_autoinc_lock_mode` wants it, the counter is locked meanwhile, so that the values of one
/// statement follow each other though it does not know how many rows it will have.
pub(super) fn with_counter(
    environment: &Environment<'_>,
    plan: &InsertPlan,
    insert: impl FnOnce() -> Result<Changes>,
) -> Result<Changes> {
    let table = &plan.table;
    let engine = &environment.instance.engine;
    let locks = table.auto_increment.is_some()
        && !table.is_temporary()
        && match engine.auto_increment_mode() {
            AutoIncrementMode::Traditional => true,
            // A statement of known length needs the counter for a moment only, but not in the middle of another.
            AutoIncrementMode::Consecutive => {
                !matches!(plan.source, InsertRows::Values(_)) || engine.is_auto_increment_locked(table)
            }
            AutoIncrementMode::Interleaved => false,
        };
    if !locks {
        return insert();
    }
    environment.trx.borrow_mut().lock_auto_increment(table).or_sql()?;
    let result = insert();
    environment.trx.borrow_mut().unlock_auto_increment(table);
    result
}

fn insert_rows(
    environment: &Environment<'_>,
    plan: &InsertPlan,
    outer_context: &EvalContext<'_>,
    series: Series,
) -> Result<Changes> {
    let mode = assign_mode(outer_context, plan.ignore);
    let level = Level::new(environment, &plan.subqueries);
    let strict_change = mode == AssignMode::Strict;
    let outer_context = &EvalContext { strict_change, ignores: plan.ignore, ..*outer_context };
    let context = &EvalContext { subqueries: Some(&level), lists: Some(&level.lists), ..*outer_context };
    let mut inserter = Inserter::new(environment, plan, context, mode, series);
    for (at, column) in plan.columns.iter().enumerate() {
        inserter.given[*column] = Some(at);
    }
    match &plan.source {
        InsertRows::Values(rows) => {
            for (number, row) in rows.iter().enumerate() {
                environment.tick(context)?;
                inserter.to_come = (rows.len() - number) as u64;
                inserter.begin_row();
                inserter.values.clear();
                for (value, &column) in row.iter().zip(&plan.columns) {
                    inserter.give(column, value.as_ref())?;
                }
                inserter.finish_row()?;
            }
        }
        InsertRows::Query(query) => {
            let types: Vec<TypeInfo> = query.columns().iter().map(|column| column.ty).collect();
            let mut insert = |row: &[Value], to_come: u64| {
                environment.tick(context)?;
                inserter.to_come = to_come;
                inserter.give_row(row, &types)
            };
            if plan.is_streamed {
                query::run(environment, query, context, &mut |row| insert(row, 1).map(|()| true))?;
            } else {
                // What is inserted must not meet the query, and the counter is told how many rows there are.
                let rows = query::made(environment, query, context)?;
                let mut to_come = rows.len();
                rows.for_each(&mut |row| {
                    insert(row, to_come)?;
                    to_come -= 1;
                    Ok(true)
                })?;
            }
            inserter.finish_filling()?;
        }
        InsertRows::File => return Err(Error::internal("a file is loaded")),
    }
    Ok(inserter.changes)
}

/// Builds rows column by column, and inserts them.
pub(super) struct Inserter<'a> {
    environment: &'a Environment<'a>,
    plan: &'a InsertPlan,
    context: &'a EvalContext<'a>,
    mode: AssignMode,
    series: Series,
    pub changes: Changes,
    /// The row in table order.
    row: Stored,
    /// The given values, in the order given.
    pub values: Stored,
    /// Column -> which of the given values it takes.
    pub given: Vec<Option<usize>>,
    /// The zero of each column's type, if a value reads columns of the row.
    zeros: Vec<Value>,
    /// AUTO_INCREMENT values taken and not used yet: the next, and how many.
    reserved: (u64, u64),
    /// This row and those known to follow it.
    to_come: u64,
    /// NULL was given for the AUTO_INCREMENT column.
    pub wishes: bool,
    /// The statement gives one row, without IGNORE.
    is_single: bool,
    /// One value: it may be made from the buffer of the given ones.
    scratch: Stored,
    /// The row that holds a unique key already.
    old: Row,
    /// What ON DUPLICATE KEY UPDATE reads of the tables of INSERT ... SELECT.
    source: Vec<Value>,
    /// Columns for which DEFAULT was given, where that is computed from the row.
    defaulted: Vec<usize>,
    /// A computed value on its way into the row.
    computed: Stored,
    /// A trigger sees the row before its NULLs count.
    defers_nulls: bool,
    /// The rows of a table that is created along with them, see [`storage::UnfinishedRows`].
    filling: Option<UnfinishedRows<'a>>,
}

impl<'a> Inserter<'a> {
    pub fn new(
        environment: &'a Environment<'a>,
        plan: &'a InsertPlan,
        context: &'a EvalContext<'a>,
        mode: AssignMode,
        series: Series,
    ) -> Inserter<'a> {
        Inserter {
            environment,
            plan,
            context,
            mode,
            series,
            changes: Changes::default(),
            row: Stored::default(),
            values: Stored::default(),
            given: vec![None; plan.table.columns.len()],
            zeros: match plan.reads_given {
                true => plan.table.columns.iter().map(|column| zero_of(&column.ty)).collect(),
                false => Vec::new(),
            },
            reserved: (0, 0),
            to_come: 0,
            wishes: false,
            is_single: !plan.ignore && matches!(&plan.source, InsertRows::Values(rows) if rows.len() == 1),
            scratch: Stored::default(),
            old: Row::new(),
            source: Vec::new(),
            defaulted: Vec::new(),
            computed: Stored::default(),
            defers_nulls: plan.triggers.as_ref().is_some_and(|all| !all.before(TriggerEvent::Insert).is_empty()),
            filling: match &plan.source {
                // A key that is there already is found at the end.
                InsertRows::Query(_) if !plan.ignore && !plan.replace => {
                    environment.trx.borrow().fill_unfinished(&plan.table)
                }
                _ => None,
            },
        }
    }

    /// Inserts a row of the query. The values behind those of the columns are for ON DUPLICATE KEY UPDATE.
    fn give_row(&mut self, row: &[Value], types: &[TypeInfo]) -> Result<()> {
        let plan = self.plan;
        self.source.clear();
        self.source.extend_from_slice(&row[plan.columns.len()..]);
        self.begin_row();
        self.values.clear();
        for (at, (value, &column)) in row.iter().zip(&plan.columns).enumerate() {
            if plan.members.get(at) == Some(&true) && !value.is_null() {
                self.values.push(Datum::from(value), &plan.table.columns[column].ty)?;
            } else {
                self.give_value(column, Datum::from(value), &types[at])?;
            }
        }
        self.finish_row()
    }

    /// The query has no more rows.
    fn finish_filling(&mut self) -> Result<()> {
        let Some(filling) = self.filling.take() else { return Ok(()) };
        filling
            .finish(&mut self.environment.trx.borrow_mut())
            .map_err(|error| change_error(error, &self.plan.table, self.context.zone, &|_| None))
    }

    /// What a given value is assigned to.
    fn target(&self, column: usize) -> Target<'a> {
        let target = target(&self.plan.table, column);
        Target { nullable: target.nullable || self.defers_nulls, ..target }
    }

    fn destination(&self) -> Destination<'a> {
        Destination { table: &self.plan.table, mode: self.mode, row: self.changes.found, context: self.context }
    }

    pub fn begin_row(&mut self) {
        self.changes.found += 1;
        self.defaulted.clear();
    }

    /// Takes the next given value.
    pub fn give(&mut self, column: usize, value: Option<&crate::expression::Expr>) -> Result<()> {
        let plan = self.plan;
        let Some(expr) = value else {
            let default = &plan.defaults[column];
            if matches!(default, DefaultValue::Computed) {
                self.defaulted.push(column);
            }
            return push_default(self.destination(), column, default, &mut self.values);
        };
        let (values, given, zeros) = (&self.values, &self.given, &self.zeros);
        let row = GivenRow { table: &plan.table, values, given, zeros, zone: self.context.zone };
        let value = expr.eval(self.context, &row)?;
        // An AUTO_INCREMENT column accepts NULL as a request for a value, although it is NOT NULL.
        if value.is_null() && plan.table.auto_increment == Some(column) {
            return self.wish(column);
        }
        // In a statement of one row it is an error in every mode; among several it becomes the type's zero.
        if value.is_null() && self.is_single && !self.target(column).nullable {
            return Err(Error::null_in_not_null(&plan.table.columns[column].name));
        }
        let number = self.changes.found;
        let value = assign(value, &expr.ty, &self.target(column), self.mode, number, self.context)?;
        self.scratch.clear();
        self.scratch.push(value, &plan.table.columns[column].ty)?;
        self.values.push_bytes(self.scratch.get(0));
        Ok(())
    }

    pub fn give_value(&mut self, column: usize, value: Datum<'_>, ty: &TypeInfo) -> Result<()> {
        let table = &self.plan.table;
        if value.is_null() && table.auto_increment == Some(column) {
            return self.wish(column);
        }
        let number = self.changes.found;
        let value = assign(value, ty, &self.target(column), self.mode, number, self.context)?;
        self.values.push(value, &table.columns[column].ty)
    }

    /// NULL was given for the AUTO_INCREMENT column: a request for a value even where 0 is not.
    pub fn wish(&mut self, column: usize) -> Result<()> {
        self.wishes = true;
        self.values.push(Datum::Int(0), &self.plan.table.columns[column].ty)
    }

    /// Completes the row, and inserts it.
    pub fn finish_row(&mut self) -> Result<()> {
        let plan = self.plan;
        let table = &plan.table;
        let number = self.changes.found;
        self.row.clear();
        let mut wishes = std::mem::take(&mut self.wishes);
        for column in 0..table.columns.len() {
            match self.given[column] {
                Some(at) => self.row.push_bytes(self.values.get(at)),
                None => {
                    wishes |= table.auto_increment == Some(column);
                    let default = &plan.defaults[column];
                    match default {
                        DefaultValue::Missing if self.defers_nulls => self.row.push_bytes(None),
                        // That no value is given is so for all rows of the statement, and is said once.
                        DefaultValue::Missing if self.mode == AssignMode::Lenient && self.changes.found > 1 => {
                            let ty = &table.columns[column].ty;
                            self.row.push(Datum::from(&zero_of(ty)), ty)?;
                        }
                        _ => push_default(self.destination(), column, default, &mut self.row)?,
                    }
                }
            }
        }
        if self.defers_nulls {
            self.fire_before(&mut wishes)?;
        }
        let mut explicit = 0;
        let mut told = 0;
        let mut generated = 0;
        if let Some(column) = table.auto_increment {
            let ty = &table.columns[column].ty;
            let given = self.row.get(column).map_or(0, |stored| auto_value(ty, stored));
            let zero_wishes = !self.context.mode.has(SqlMode::NO_AUTO_VALUE_ON_ZERO);
            if wishes || given == 0 && zero_wishes && self.row.get(column).is_none_or(|s| is_zero(ty, s)) {
                generated = self.next_id()?;
                // The largest number of all is never given: the counter stands there when there is nothing left.
                if generated == u64::MAX {
                    let text = "Failed to read auto-increment value from storage engine";
                    return Err(Error::new(1467, b"HY000", text));
                }
                // That of a smaller type is given again and again, as in MySQL: a unique key refuses it.
                generated = generated.min(largest(ty));
                let value = assign(
                    Datum::UInt(generated),
                    &TypeInfo::bigint_unsigned(20),
                    &target(table, column),
                    AssignMode::Strict,
                    number,
                    self.context,
                )?;
                let from = self.row.bytes.len() as u32;
                assign::encode(value, ty, &mut self.row.bytes)?;
                self.row.parts[column] = Some((from, self.row.bytes.len() as u32));
            } else {
                explicit = given;
                told = self.row.get(column).map_or(0, |stored| told_value(ty, stored));
                // Values taken before that are not above it are passed over.
                while self.series.forced == 0 && self.reserved.1 > 0 && self.reserved.0 <= explicit {
                    self.take_reserved();
                }
            }
        }
        let inserted = self.complete()? && self.store(generated)?;
        match generated {
            0 => {}
            // The value of a row that was not inserted goes to the next row.
            _ if !inserted => self.reserved = (generated, self.reserved.1.saturating_add(1)),
            _ if self.changes.generated_id == 0 && self.plan.tells_id => self.changes.generated_id = generated,
            _ => {}
        }
        if explicit > 0 {
            self.environment.instance.engine.raise_auto_increment(table, explicit).or_sql()?;
        }
        if told != 0 && inserted {
            self.changes.explicit_id = told;
        }
        Ok(())
    }

    /// Fires the triggers that may change the row, and then looks at its NULLs.
    #[cold]
    fn fire_before(&mut self, wishes: &mut bool) -> Result<()> {
        let plan = self.plan;
        let Some(triggers) = &plan.triggers else { return Ok(()) };
        let table = &plan.table;
        let firing = Firing { table, context: self.context, old: None, number: self.changes.found };
        let before = triggers.before(TriggerEvent::Insert);
        if !before.is_empty() {
            // They see what is generated of the values so far.
            let target =
                RowTarget { columns: &table.columns, mode: self.mode, row: firing.number, context: self.context };
            for one in plan.rules.computed.iter().filter(|one| one.generated) {
                self.computed.clear();
                target.compute(one, &self.row, &mut self.computed)?;
                self.row.replace(one.column, self.computed.get(0));
            }
        }
        firing.before(before, &mut self.row)?;
        for (column, described) in table.columns.iter().enumerate() {
            if table.auto_increment == Some(column) {
                let stored = self.row.get(column);
                *wishes = stored.is_none_or(|stored| *wishes && is_zero(&described.ty, stored));
                if stored.is_none() {
                    self.computed.clear();
                    self.computed.push(Datum::Int(0), &described.ty)?;
                    self.row.replace(column, self.computed.get(0));
                }
                continue;
            }
            let is_computed = plan.rules.computed.iter().any(|one| one.column == column);
            if described.nullable || is_computed || self.row.get(column).is_some() {
                continue;
            }
            let error = match self.given[column] {
                Some(_) => Error::null_in_not_null(&described.name),
                None => Error::no_default(&described.name),
            };
            if self.is_single && self.given[column].is_some() {
                return Err(error);
            }
            // That no value is given is so for all rows of the statement.
            let is_said = self.given[column].is_none() && self.changes.found > 1;
            if self.mode == AssignMode::Strict || !is_said {
                self.mode.doubt(self.context, error)?;
            }
            self.computed.clear();
            self.computed.push(Datum::from(&zero_of(&described.ty)), &described.ty)?;
            self.row.replace(column, self.computed.get(0));
        }
        Ok(())
    }

    /// Fires the triggers that see the inserted row.
    #[inline]
    fn fire_after(&self) -> Result<()> {
        let Some(triggers) = &self.plan.triggers else { return Ok(()) };
        let firing = Firing { table: &self.plan.table, context: self.context, old: None, number: self.changes.found };
        firing.after(triggers.after(TriggerEvent::Insert), &self.row)
    }

    /// Computes what the row's other values decide, and checks the constraints. False: with IGNORE the row is passed over.
    fn complete(&mut self) -> Result<bool> {
        let plan = self.plan;
        if plan.rules.is_empty() {
            return Ok(true);
        }
        let target =
            RowTarget { columns: &plan.table.columns, mode: self.mode, row: self.changes.found, context: self.context };
        for one in &plan.rules.computed {
            let is_given = self.given[one.column].is_some() && !self.defaulted.contains(&one.column)
                || self.defers_nulls && self.row.get(one.column).is_some();
            if is_given && !one.generated {
                continue;
            }
            self.computed.clear();
            target.compute(one, &self.row, &mut self.computed)?;
            self.row.replace(one.column, self.computed.get(0));
        }
        match target.violated(&plan.rules, &self.row)? {
            None => Ok(true),
            Some(error) if plan.ignore => {
                self.changes.duplicates += 1;
                self.context.warn(error);
                Ok(false)
            }
            Some(error) => Err(error),
        }
    }

    /// The next value of the series.
    fn next_id(&mut self) -> Result<u64> {
        let engine = &self.environment.instance.engine;
        let Series { offset, step, forced, .. } = self.series;
        if forced > 0 {
            // The whole statement counts on from the value that was asked for.
            if !self.changes.used_forced_id {
                self.changes.used_forced_id = true;
                self.reserved = (forced, u64::MAX);
            }
            engine.raise_auto_increment(&self.plan.table, self.reserved.0).or_sql()?;
            return Ok(self.take_reserved());
        }
        if self.reserved.1 == 0 {
            let count = self.to_come.max(1);
            let first = engine.reserve_auto_increment(&self.plan.table, count, offset, step).or_sql()?;
            self.reserved = (first, count);
        }
        Ok(self.take_reserved())
    }

    fn take_reserved(&mut self) -> u64 {
        let id = self.reserved.0;
        self.reserved = (id.saturating_add(self.series.step.max(1)), self.reserved.1 - 1);
        id
    }

    /// Inserts the row into storage, and handles duplicates. False: another row is kept instead. `generated`: the value
    /// that the counter gave it, or 0.
    fn store(&mut self, generated: u64) -> Result<bool> {
        let plan = self.plan;
        let table = &plan.table;
        let width = table.columns.len();
        if let Some(check) = &plan.check {
            match view_check::check(self.environment, check, self.context, table, &|column| self.row.get(column), &[]) {
                Err(error) if plan.ignore && error.code == 1369 => {
                    self.context.warn(error);
                    return Ok(false);
                }
                checked => checked?,
            }
        }
        if plan.is_sequence {
            let value = |column: usize| self.row.get(column).map(<[u8]>::to_vec);
            self.context.session.put_into_sequence(table, &value)?;
            self.changes.changed += 1;
            if let Some(returning) = &plan.returning {
                let row = NewRow { table, row: &self.row, zone: self.context.zone };
                self.environment.return_row(returning, self.context, &row)?;
            }
            return Ok(true);
        }
        loop {
            let result = {
                let mut few: [Option<&[u8]>; 64] = [None; 64];
                let mut many: Vec<Option<&[u8]>> = Vec::new();
                let values = if width <= few.len() {
                    for (slot, at) in few.iter_mut().zip(0..width) {
                        *slot = self.row.get(at);
                    }
                    &few[..width]
                } else {
                    many.extend((0..width).map(|at| self.row.get(at)));
                    &many[..]
                };
                match &mut self.filling {
                    Some(filling) => filling.push(values).map_err(Failure::Storage),
                    None => {
                        let division = plan.division.as_deref();
                        rows::insert(&mut self.environment.trx.borrow_mut(), self.context, division, table, values)
                    }
                }
            };
            let index = match result {
                Ok(()) => {
                    if let Some(log) = self.environment.log {
                        log.borrow_mut().insert(table, &|column| self.row.get(column))?;
                    }
                    self.changes.changed += 1;
                    self.fire_after()?;
                    if let Some(returning) = &plan.returning {
                        let row = NewRow { table, row: &self.row, zone: self.context.zone };
                        self.environment.return_row(returning, self.context, &row)?;
                    }
                    return Ok(true);
                }
                Err(Failure::Storage(storage::Error::DuplicateKey { index })) => index,
                Err(Failure::Refused(error)) if plan.ignore && error.is_of_no_partition() => {
                    self.changes.duplicates += 1;
                    self.context.warn(error);
                    return Ok(false);
                }
                Err(Failure::Storage(error @ storage::Error::ForeignKey(_))) if plan.ignore => {
                    self.changes.duplicates += 1;
                    self.context.warn(storage_error(error));
                    return Ok(false);
                }
                Err(failure) => return Err(failure.into_error()),
            };
            let row = &self.row;
            let duplicate = || {
                let value = |column: usize| row.get(column);
                change_error(storage::Error::DuplicateKey { index }, table, self.context.zone, &value)
            };
            if !plan.on_duplicate.is_empty() {
                self.changes.duplicates += 1;
                return self.update_existing(index).map(|()| false);
            }
            // A value of the counter never replaces the row that has it, which is the last one of a type.
            let is_counted = |column| table.indexes[index].parts.first().is_some_and(|part| part.column == column);
            if plan.replace && generated > 0 && table.auto_increment.is_some_and(is_counted) {
                return Err(duplicate());
            }
            if plan.replace {
                self.fetch_existing(index)?;
                if self.replaces_itself(index) {
                    self.changes.changed += 1;
                    if let Some(returning) = &plan.returning {
                        let row = NewRow { table, row: &self.row, zone: self.context.zone };
                        self.environment.return_row(returning, self.context, &row)?;
                    }
                    return Ok(true);
                }
                let firing = Firing {
                    table: &plan.table,
                    context: self.context,
                    old: Some(&self.old),
                    number: self.changes.found,
                };
                if let Some(triggers) = &plan.triggers {
                    firing.removed(triggers.before(TriggerEvent::Delete))?;
                }
                rows::delete(&mut self.environment.trx.borrow_mut(), table, &self.old).or_sql()?;
                if let Some(log) = self.environment.log {
                    log.borrow_mut().delete(table, &|column| self.old.get(column))?;
                }
                if let Some(triggers) = &plan.triggers {
                    firing.removed(triggers.after(TriggerEvent::Delete))?;
                }
                self.changes.deleted += 1;
                self.changes.duplicates += 1;
                continue;
            }
            if plan.ignore {
                self.changes.duplicates += 1;
                self.context.warn(duplicate());
                return Ok(false);
            }
            return Err(duplicate());
        }
    }

    /// Whether REPLACE has nothing to do: the row is there as it is. MySQL sees that only by the last unique key, and where
    /// no foreign key makes the removal of a row something that others notice.
    fn replaces_itself(&self, index: usize) -> bool {
        let table = &self.plan.table;
        let is_last = !table.indexes[index + 1..].iter().any(|index| index.unique);
        let fires = self.plan.triggers.as_ref().is_some_and(|triggers| triggers.has(TriggerEvent::Delete));
        is_last
            && !fires
            && (0..table.columns.len()).all(|column| self.old.get(column) == self.row.get(column))
            && !self.environment.instance.engine.is_referenced(&table.database, &table.name)
    }

    /// Reads and locks the row that has the key.
    fn fetch_existing(&mut self, index: usize) -> Result<()> {
        let table = &self.plan.table;
        let value = |column: usize| self.row.get(column);
        let mut key: [Option<&[u8]>; storage::schema::INDEX_PARTS_MAX] = [None; storage::schema::INDEX_PARTS_MAX];
        let key = &mut key[..table.indexes[index].parts.len()];
        elements::key_of_row(table, index, &value, key);
        let all = ColumnSet::first(table.columns.len());
        let mut trx = self.environment.trx.borrow_mut();
        let old = &mut self.old;
        let mut find = |key: &[Option<&[u8]>]| match &self.plan.division {
            None => trx.get(table, index, key, ReadMode::EXCLUSIVE, &all, old).or_sql(),
            Some(division) => {
                let mode = ReadMode::EXCLUSIVE;
                let found = rows::get(&mut trx, self.context, division, table, index, key, mode, &all, old);
                found.map_err(Failure::into_error)
            }
        };
        let found = match elements::array_part(table, index) {
            None => find(key)?,
            Some(at) => {
                let mut found = false;
                for element in elements::of_row(key[at]) {
                    key[at] = Some(element);
                    found = find(key)?;
                    if found {
                        break;
                    }
                }
                found
            }
        };
        if !found {
            // Removed between the two reads: its owner rolled back. The statement can be retried.
            return Err(Error::deadlock());
        }
        Ok(())
    }

    fn update_existing(&mut self, index: usize) -> Result<()> {
        self.fetch_existing(index)?;
        let plan = self.plan;
        let table = &plan.table;
        let assigned = |column: usize| plan.on_duplicate.iter().any(|assignment| assignment.column == column);
        let touched: Vec<usize> =
            (0..table.columns.len()).filter(|at| table.columns[*at].on_update_now && !assigned(*at)).collect();
        let rules = (&plan.defaults[..], &plan.rules);
        let mut updater = Updater::new(table, &plan.on_duplicate, &touched, rules, self.mode, plan.ignore);
        updater.check = plan.check.as_ref();
        updater.division = plan.division.as_deref();
        updater.triggers = plan.triggers.as_deref().filter(|triggers| triggers.has(TriggerEvent::Update));
        let (new, source, zone) = (&self.row, &self.source, self.context.zone);
        let number = self.changes.found;
        let changed = updater.update(self.environment, self.context, &self.old, number, &mut |old, evaluate| {
            evaluate(&ConflictRow { table, old, new, source, zone })
        })?;
        // A row that stays as it is has to be one of the view, too.
        if let Some(check) = plan.check.as_ref().filter(|_| !changed && !plan.ignore) {
            view_check::check(self.environment, check, self.context, table, &|column| self.old.get(column), &[])?;
        }
        if let Some(returning) = &plan.returning {
            let row = match changed {
                true => updater.changed_row(&self.old, self.context)?,
                false => self.old.clone(),
            };
            self.environment.return_row(returning, self.context, &TableRow { table, row: &row, zone })?;
        }
        // Affected rows count an update as two, and one that changes nothing as none.
        if changed {
            self.changes.deleted += 1;
            self.changes.changed += 1;
            // The client is told which row it was.
            if let Some(column) = table.auto_increment {
                let stored = self.old.get(column).filter(|_| !assigned(column));
                self.changes.explicit_id = stored.map_or(0, |stored| told_value(&table.columns[column].ty, stored));
            }
        } else if self.series.found_rows {
            self.changes.changed += 1;
        }
        Ok(())
    }
}

/// The largest value of an AUTO_INCREMENT column.
fn largest(ty: &ColumnType) -> u64 {
    match ty {
        ColumnType::Int { bytes, unsigned } => u64::MAX >> (64 - 8 * u32::from(*bytes) + u32::from(!unsigned)),
        _ => u64::MAX,
    }
}

fn is_zero(ty: &ColumnType, stored: &[u8]) -> bool {
    match ty.decode(stored) {
        Value::Int(value) => value == 0,
        Value::UInt(value) => value == 0,
        Value::Double(value) => value == 0.0,
        _ => false,
    }
}
