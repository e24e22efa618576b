//! UPDATE and DELETE at work, and what all changes share: column values on their way
//! to storage.

use std::sync::Arc;

use format::collation::CollationId;
use format::value::{ColumnType, DateTime, Value, Zone};
use storage::schema::{Column, IndexPart};
use storage::{Row, Table};

use super::found::{FoundRow, FoundRows};
use super::memory::Purpose;
use super::query::{limits, scan};
use super::row::TableRow;
use super::row_rules::RowTarget;
use super::sorter::Sorter;
use super::stored::Stored;
use super::triggers::Firing;
use super::{Environment, Level, elements, view_check};
use crate::catalog::{OrSqlError, storage_error};
use crate::error::{Error, Result};
use crate::expression::assign::{Target, zero_of};
use crate::expression::{AssignMode, Datum, EvalContext, Fields, KeyForm, assign};
use crate::parser::ast::TriggerEvent;
use crate::partitions::rows::{self, Division, Failure};
use crate::planner::SelectPlan;
use crate::planner::change::{Assignment, DeletePlan, UpdatePlan};
use crate::planner::defaults::DefaultValue;
use crate::planner::row_rules::RowRules;
use crate::planner::triggers::Triggers;
use crate::planner::view_target::ViewCheck;

/// What a change did.
#[derive(Debug, Default, Clone, Copy)]
pub struct Changes {
    /// Rows that matched (UPDATE), or that were given (INSERT).
    pub found: u64,
    /// Rows that are different now.
    pub changed: u64,
    pub deleted: u64,
    /// INSERT: rows that met a duplicate key.
    pub duplicates: u64,
    /// The first AUTO_INCREMENT value that was generated.
    pub generated_id: u64,
    /// The AUTO_INCREMENT value that the last row gave itself, or that of the row that ON DUPLICATE KEY UPDATE changed.
    pub explicit_id: u64,
    /// SET INSERT_ID has had its effect.
    pub used_forced_id: bool,
}

/// A column's AUTO_INCREMENT value; negative ones do not count.
pub fn auto_value(ty: &ColumnType, stored: &[u8]) -> u64 {
    match ty.decode(stored) {
        Value::Int(value) => value.max(0) as u64,
        Value::UInt(value) => value,
        Value::Double(value) if value > 0.0 => value as u64,
        _ => 0,
    }
}

/// What the client is told of a value that the statement gave: a negative one by its bits.
pub fn told_value(ty: &ColumnType, stored: &[u8]) -> u64 {
    match ty.decode(stored) {
        Value::Int(value) => value as u64,
        _ => auto_value(ty, stored),
    }
}

/// How a statement treats values that do not fit.
pub fn assign_mode(context: &EvalContext<'_>, ignore: bool) -> AssignMode {
    if context.mode.is_strict() && !ignore { AssignMode::Strict } else { AssignMode::Lenient }
}

/// The target of an assignment to a column.
pub fn target(table: &Table, column: usize) -> Target<'_> {
    let column = &table.columns[column];
    Target { name: &column.name, ty: &column.ty, nullable: column.nullable }
}

/// A row on its way into a table.
#[derive(Clone, Copy)]
pub struct Destination<'a> {
    pub table: &'a Table,
    pub mode: AssignMode,
    /// Rows count from 1, for messages.
    pub row: u64,
    pub context: &'a EvalContext<'a>,
}

/// Appends the default of a column.
pub fn push_default(to: Destination<'_>, column: usize, default: &DefaultValue, out: &mut Stored) -> Result<()> {
    let Destination { table, mode, context, .. } = to;
    let described = &table.columns[column];
    match default {
        DefaultValue::Stored(stored) => out.push_bytes(stored.as_deref()),
        DefaultValue::Now { fsp } => push_now(&described.ty, *fsp, context, out)?,
        // Computed when the rest of the row is known.
        DefaultValue::Computed => out.push_bytes(None),
        DefaultValue::AutoIncrement => out.push(Datum::Int(0), &described.ty)?,
        DefaultValue::Missing => {
            let error = Error::no_default(&described.name);
            match mode {
                AssignMode::Strict => return Err(error),
                AssignMode::Lenient => context.warn(error),
            }
            let zero = zero_of(&described.ty);
            out.push(Datum::from(&zero), &described.ty)?;
        }
    }
    Ok(())
}

/// Appends the statement's time for a column of a temporal type.
pub fn push_now(ty: &ColumnType, fsp: u8, context: &EvalContext<'_>, out: &mut Stored) -> Result<()> {
    // A TIMESTAMP is stored in UTC; a DATETIME keeps what the session's clock shows.
    let zone = if matches!(ty, ColumnType::Timestamp { .. }) { Zone::UTC } else { context.zone };
    let micros = context.now_seconds * 1_000_000 + context.now_micros as i64;
    let now = DateTime::from_unix_micros(micros, zone).unwrap_or(DateTime::ZERO).truncate(fsp);
    out.push(Datum::DateTime(now), ty)
}

/// 1062 with the values of the row that would have been a duplicate. `value` gives stored bytes by column.
pub fn duplicate_entry<'v>(
    table: &Table,
    index: usize,
    zone: Zone,
    value: &dyn Fn(usize) -> Option<&'v [u8]>,
) -> Error {
    let described = &table.indexes[index];
    let text = entry_text(&table.columns, &described.parts, zone, &|place| value(described.parts[place].column));
    let name = if described.primary { "PRIMARY" } else { &described.name };
    Error::duplicate_entry(&text, &format!("{}.{name}", table.name))
}

/// A key as messages tell it. `value` gives the stored bytes of each part.
pub fn entry_text<'v>(
    columns: &[Column],
    parts: &[IndexPart],
    zone: Zone,
    value: &dyn Fn(usize) -> Option<&'v [u8]>,
) -> String {
    let mut text = Vec::new();
    for (at, part) in parts.iter().enumerate() {
        if at > 0 {
            text.push(b'-');
        }
        let ty = &columns[part.column].ty;
        match value(at) {
            None => text.extend_from_slice(b"NULL"),
            Some(stored) => {
                let mut one = Vec::new();
                if let Some(elements) = &part.elements {
                    text.extend_from_slice(&elements::text(stored, elements));
                    continue;
                }
                ty.write_text_at(stored, zone, &mut one);
                if let (Some(prefix), Some(id)) = (part.prefix_chars, ty.collation()) {
                    let charset = format::collation::collation(id).charset;
                    one.truncate(charset.offset_of_char(&one, prefix as usize));
                }
                if let Some(id) = ty.collation().filter(|id| *id != CollationId::UTF8MB4_GENERAL_CI) {
                    let mut converted = Vec::new();
                    let from = format::collation::collation(id).charset;
                    format::collation::convert(&one, from, format::collation::Charset::Utf8mb4, &mut converted);
                    one = converted;
                }
                text.extend_from_slice(&one);
            }
        }
    }
    String::from_utf8_lossy(&text).into_owned()
}

/// What storage says about a change, as MySQL says it.
pub fn change_error<'v>(
    error: storage::Error,
    table: &Table,
    zone: Zone,
    value: &dyn Fn(usize) -> Option<&'v [u8]>,
) -> Error {
    match error {
        storage::Error::DuplicateKey { index } => duplicate_entry(table, index, zone, value),
        storage::Error::DuplicateRows(rows) => {
            let Some(index) = table.indexes.iter().position(|index| index.name == rows.index) else {
                return storage_error(storage::Error::DuplicateRows(rows));
            };
            let parts = &table.indexes[index].parts;
            let place = |column: usize| parts.iter().position(|part| part.column == column);
            duplicate_entry(table, index, zone, &|column| rows.key.get(place(column)?)?.as_deref())
        }
        storage::Error::ForeignDuplicate { table: child, index } => {
            // MySQL tells the parent's row by its first index.
            let parts = &table.indexes[0].parts;
            let row = entry_text(&table.columns, parts, zone, &|place| value(parts[place].column));
            Error::foreign_duplicate(&table.name, &row, &child, &index)
        }
        other => storage_error(other),
    }
}

/// Evaluates something on a row.
pub type Evaluate<'e> = dyn FnMut(&dyn Fields) -> Result<()> + 'e;
/// Converts a stored row to what expressions are evaluated on.
pub type WithFields<'f> = dyn FnMut(&Row, &mut Evaluate<'_>) -> Result<()> + 'f;

/// Applies assignments to rows of one table.
pub struct Updater<'a> {
    pub table: &'a Arc<Table>,
    pub assignments: &'a [Assignment],
    pub touched: &'a [usize],
    pub defaults: &'a [DefaultValue],
    pub rules: &'a RowRules,
    pub mode: AssignMode,
    pub ignore: bool,
    /// WITH CHECK OPTION.
    pub check: Option<&'a ViewCheck>,
    /// What it reads of the row's neighbours in a join.
    pub others: Vec<Value>,
    pub triggers: Option<&'a Triggers>,
    pub division: Option<&'a Division>,
    stored: Stored,
    /// The row as it becomes, assignment by assignment.
    new: Row,
}

impl<'a> Updater<'a> {
    pub fn new(
        table: &'a Arc<Table>,
        assignments: &'a [Assignment],
        touched: &'a [usize],
        (defaults, rules): (&'a [DefaultValue], &'a RowRules),
        mode: AssignMode,
        ignore: bool,
    ) -> Updater<'a> {
        let (stored, new) = (Stored::default(), Row::new());
        let (check, others, triggers, division) = (None, Vec::new(), None, None);
        Updater {
            table,
            assignments,
            touched,
            defaults,
            rules,
            mode,
            ignore,
            check,
            others,
            triggers,
            division,
            stored,
            new,
        }
    }

    /// Changes one row; false if it stays as it is. `fields` makes what the values are evaluated on from the row so
    /// far.
    pub fn update(
        &mut self,
        environment: &Environment<'_>,
        context: &EvalContext<'_>,
        row: &Row,
        number: u64,
        fields: &mut WithFields<'_>,
    ) -> Result<bool> {
        self.evaluate(context, row, number, fields)?;
        self.apply(environment, context, row, number)
    }

    /// The row as the last change left it.
    pub fn changed_row(&self, row: &Row, context: &EvalContext<'_>) -> Result<Row> {
        if self.rules.concerns_changes() || self.triggers.is_some() {
            return Ok(self.new.clone());
        }
        let mut changed = row.clone();
        for (at, assignment) in self.assignments.iter().enumerate() {
            changed.set(assignment.column, self.stored.get(at));
        }
        for column in self.touched {
            let ty = &self.table.columns[*column].ty;
            let fsp = match ty {
                ColumnType::DateTime { fsp } | ColumnType::Timestamp { fsp } => *fsp,
                _ => 0,
            };
            let mut now = Stored::default();
            push_now(ty, fsp, context, &mut now)?;
            changed.set(*column, now.get(0));
        }
        Ok(changed)
    }

    /// The values that are assigned, to be applied later.
    pub fn take_values(&mut self) -> Stored {
        std::mem::take(&mut self.stored)
    }

    pub fn give_values(&mut self, values: Stored) {
        self.stored = values;
    }

    /// Evaluates what is assigned to the columns of a row.
    pub fn evaluate(
        &mut self,
        context: &EvalContext<'_>,
        row: &Row,
        number: u64,
        fields: &mut WithFields<'_>,
    ) -> Result<()> {
        let (table, mode) = (self.table, self.mode);
        self.stored.clear();
        // A later assignment sees the earlier ones: `SET a = a + 1, b = a`.
        let follows_rules = self.rules.concerns_changes();
        let several = self.assignments.len() > 1 || follows_rules;
        let defers_nulls = self.triggers.is_some_and(|triggers| !triggers.before(TriggerEvent::Update).is_empty());
        if several {
            self.new.copy_from(row);
        }
        for (at, assignment) in self.assignments.iter().enumerate() {
            let column = assignment.column;
            let ty = &table.columns[column].ty;
            let stored = &mut self.stored;
            let seen = if several { &self.new } else { row };
            match &assignment.value {
                Some(expr) => fields(seen, &mut |fields| {
                    let value = expr.eval(context, fields)?;
                    let mut target = target(table, column);
                    // A trigger may make something of NULL.
                    target.nullable |= defers_nulls;
                    let value = assign(value, &expr.ty, &target, mode, number, context)?;
                    stored.push(value, ty)
                })?,
                None if table.columns[column].generated.is_some() => stored.push_bytes(row.get(column)),
                None => match self.rules.default_of(column) {
                    Some(default) => {
                        let columns = &table.columns;
                        RowTarget { columns, mode, row: number, context }.compute(default, seen, stored)?;
                    }
                    None => {
                        let default = &self.defaults[column];
                        push_default(Destination { table, mode, row: number, context }, column, default, stored)?;
                    }
                },
            }
            if several {
                self.new.set(column, self.stored.get(at));
            }
        }
        Ok(())
    }

    /// Assigns the values; false if the row stays as it is.
    pub fn apply(
        &mut self,
        environment: &Environment<'_>,
        context: &EvalContext<'_>,
        row: &Row,
        number: u64,
    ) -> Result<bool> {
        if let Some(triggers) = self.triggers {
            return self.apply_with(triggers, environment, context, row, number);
        }
        let (table, mode) = (self.table, self.mode);
        let several = self.assignments.len() > 1;
        // Of several assignments to one column the last counts, and only if the value differs.
        let mut changes: [(usize, Option<&[u8]>); 32] = [(0, None); 32];
        let mut more: Vec<(usize, Option<&[u8]>)> = Vec::new();
        let mut count = 0;
        for (at, assignment) in self.assignments.iter().enumerate() {
            let overwritten = several && self.assignments[at + 1..].iter().any(|a| a.column == assignment.column);
            if overwritten || self.stored.get(at) == row.get(assignment.column) {
                continue;
            }
            if count < changes.len() {
                changes[count] = (assignment.column, self.stored.get(at));
            } else {
                more.push((assignment.column, self.stored.get(at)));
            }
            count += 1;
        }
        if count == 0 {
            return Ok(false);
        }
        let mut now = Stored::default();
        for column in self.touched {
            let ty = &table.columns[*column].ty;
            let fsp = match ty {
                ColumnType::DateTime { fsp } | ColumnType::Timestamp { fsp } => *fsp,
                _ => 0,
            };
            push_now(ty, fsp, context, &mut now)?;
        }
        let mut computed = Stored::default();
        let mut computed_columns = Vec::new();
        if self.rules.concerns_changes() {
            self.new.copy_from(row);
            for (at, assignment) in self.assignments.iter().enumerate() {
                self.new.set(assignment.column, self.stored.get(at));
            }
            for (at, column) in self.touched.iter().enumerate() {
                self.new.set(*column, now.get(at));
            }
            let target = RowTarget { columns: &table.columns, mode, row: number, context };
            for one in self.rules.computed.iter().filter(|one| one.generated) {
                // What it is computed from is as it was: so is the value, also one that this session would refuse.
                let mut is_same = true;
                one.expr.for_each_column(&mut |slot| is_same &= self.new.get(slot) == row.get(slot));
                if is_same {
                    continue;
                }
                target.compute(one, &self.new, &mut computed)?;
                let at = computed_columns.len();
                self.new.set(one.column, computed.get(at));
                computed_columns.push(one.column);
            }
            if let Some(error) = target.violated(self.rules, &self.new)? {
                if !self.ignore {
                    return Err(error);
                }
                context.warn(error);
                return Ok(false);
            }
        }
        let changes = if more.is_empty() && self.touched.is_empty() && computed_columns.is_empty() {
            &changes[..count]
        } else {
            more.splice(0..0, changes[..count.min(changes.len())].iter().copied());
            more.extend(self.touched.iter().enumerate().map(|(at, column)| (*column, now.get(at))));
            let computed = computed_columns.iter().enumerate().map(|(at, column)| (*column, computed.get(at)));
            more.extend(computed.filter(|(column, value)| *value != row.get(*column)));
            &more[..]
        };
        self.write(environment, context, row, changes)
    }

    /// Gives a row its new values in storage; false if it stays as it is.
    fn write(
        &self,
        environment: &Environment<'_>,
        context: &EvalContext<'_>,
        row: &Row,
        changes: &[(usize, Option<&[u8]>)],
    ) -> Result<bool> {
        let table = self.table;
        if let Some(check) = self.check {
            let change = |column: usize| changes.iter().rev().find(|(changed, _)| *changed == column);
            let after = |column: usize| change(column).map_or_else(|| row.get(column), |(_, value)| *value);
            match view_check::check(environment, check, context, table, &after, &self.others) {
                Err(error) if self.ignore && error.code == 1369 => {
                    context.warn(error);
                    return Ok(false);
                }
                checked => checked?,
            }
        }
        let updated = rows::update(&mut environment.trx.borrow_mut(), context, self.division, table, row, changes);
        let result = match updated {
            Err(Failure::Refused(error)) if self.ignore && error.is_of_no_partition() => {
                context.warn(error);
                return Ok(false);
            }
            Err(Failure::Refused(error)) => return Err(error),
            Err(Failure::Storage(error)) => Err(error),
            Ok(()) => Ok(()),
        };
        match result {
            Ok(()) => {
                if let Some(log) = environment.log {
                    let change = |column: usize| changes.iter().rev().find(|(changed, _)| *changed == column);
                    let after = |column: usize| change(column).map_or_else(|| row.get(column), |(_, value)| *value);
                    let changed = |column: usize| change(column).is_some();
                    log.borrow_mut().update(table, &|column| row.get(column), &after, &changed)?;
                }
                // A larger AUTO_INCREMENT value advances the counter, also when it is assigned.
                if let Some(column) = table.auto_increment
                    && let Some((_, Some(stored))) = changes.iter().find(|(changed, _)| *changed == column)
                {
                    let value = auto_value(&table.columns[column].ty, stored);
                    if value > 0 {
                        environment.instance.engine.raise_auto_increment(table, value).or_sql()?;
                    }
                }
                Ok(true)
            }
            Err(error) => {
                let value = |column: usize| {
                    changes
                        .iter()
                        .find(|(changed, _)| *changed == column)
                        .map_or_else(|| if row.has(column) { row.get(column) } else { None }, |(_, value)| *value)
                };
                let ignorable = matches!(
                    error,
                    storage::Error::DuplicateKey { .. }
                        | storage::Error::ForeignDuplicate { .. }
                        | storage::Error::ForeignKey(_)
                );
                let error = change_error(error, table, context.zone, &value);
                if ignorable && self.ignore {
                    context.warn(error);
                    return Ok(false);
                }
                Err(error)
            }
        }
    }

    /// The same for a table with triggers: these fire for each row that is found, whether its values differ or not.
    #[cold]
    fn apply_with(
        &mut self,
        triggers: &Triggers,
        environment: &Environment<'_>,
        context: &EvalContext<'_>,
        row: &Row,
        number: u64,
    ) -> Result<bool> {
        let (table, mode) = (self.table, self.mode);
        let mut new = std::mem::take(&mut self.new);
        new.copy_from(row);
        for (at, assignment) in self.assignments.iter().enumerate() {
            new.set(assignment.column, self.stored.get(at));
        }
        let width = table.columns.len();
        if (0..width).any(|column| new.get(column) != row.get(column)) {
            for column in self.touched {
                let ty = &table.columns[*column].ty;
                let fsp = match ty {
                    ColumnType::DateTime { fsp } | ColumnType::Timestamp { fsp } => *fsp,
                    _ => 0,
                };
                let mut now = Stored::default();
                push_now(ty, fsp, context, &mut now)?;
                new.set(*column, now.get(0));
            }
        }
        let firing = Firing { table, context, old: Some(row), number };
        let target = RowTarget { columns: &table.columns, mode, row: number, context };
        let generate = |new: &mut Row| -> Result<()> {
            for one in self.rules.computed.iter().filter(|one| one.generated) {
                let mut computed = Stored::default();
                target.compute(one, new, &mut computed)?;
                new.set(one.column, computed.get(0));
            }
            Ok(())
        };
        let before = triggers.before(TriggerEvent::Update);
        if !before.is_empty() {
            // They see what is generated of the values so far.
            generate(&mut new)?;
            firing.before(before, &mut new)?;
        }
        generate(&mut new)?;
        for (column, described) in table.columns.iter().enumerate() {
            if !described.nullable && new.get(column).is_none() {
                mode.doubt(context, Error::null_in_not_null(&described.name))?;
                let mut zero = Stored::default();
                zero.push(Datum::from(&zero_of(&described.ty)), &described.ty)?;
                new.set(column, zero.get(0));
            }
        }
        if let Some(error) = target.violated(self.rules, &new)? {
            self.new = new;
            if !self.ignore {
                return Err(error);
            }
            context.warn(error);
            return Ok(false);
        }
        let differs = (0..width).filter(|column| new.get(*column) != row.get(*column));
        let changes: Vec<(usize, Option<&[u8]>)> = differs.map(|column| (column, new.get(column))).collect();
        let changed = !changes.is_empty();
        if changed && !self.write(environment, context, row, &changes)? {
            self.new = new;
            return Ok(false);
        }
        let fired = firing.after(triggers.after(TriggerEvent::Update), &new);
        self.new = new;
        fired.map(|()| changed)
    }
}

/// How many rows are changed before the statement looks whether it was killed.
const INTERRUPT_EVERY: usize = 256;

pub(super) fn check_interrupt(done: &mut usize, context: &EvalContext<'_>) -> Result<()> {
    *done += 1;
    match done.is_multiple_of(INTERRUPT_EVERY) && context.session.is_interrupted() {
        true => Err(Error::interrupted()),
        false => Ok(()),
    }
}

/// Runs an UPDATE.
pub fn update(environment: &Environment<'_>, plan: &UpdatePlan, outer_context: &EvalContext<'_>) -> Result<Changes> {
    let mode = assign_mode(outer_context, plan.ignore);
    let strict_change = mode == AssignMode::Strict;
    let outer_context = &EvalContext { strict_change, ignores: plan.ignore, ..*outer_context };
    let rules = (&plan.defaults[..], &plan.rules);
    let mut updater = Updater::new(&plan.table, &plan.assignments, &plan.touched, rules, mode, plan.ignore);
    updater.check = plan.check.as_ref();
    updater.division = plan.division.as_deref();
    updater.triggers = plan.triggers.as_deref();
    updater.stored = std::mem::take(&mut environment.scratch.borrow_mut().stored);
    let mut changes = Changes::default();
    let level = Level::of(environment, &plan.select);
    let context = &EvalContext { subqueries: Some(&level), lists: Some(&level.lists), ..*outer_context };
    let zone = context.zone;
    let table = &plan.table;
    if plan.collect_first && !plan.select.subqueries.is_empty() {
        // A subquery may read the table: all values are computed from the rows as they were found.
        let mut found = FoundRows::new(&environment.memory);
        for_each_row(environment, &plan.select, context, false, &mut |row| {
            let number = found.len() + 1;
            updater.evaluate(context, row, number, &mut |row, evaluate| evaluate(&TableRow { table, row, zone }))?;
            let values = updater.take_values();
            found.push(FoundRow { values, ..FoundRow::of(row.clone()) })
        })?;
        let mut done = 0;
        found.for_each(&mut |FoundRow { row, values, .. }| {
            check_interrupt(&mut done, context)?;
            changes.found += 1;
            updater.give_values(values);
            let changed = updater.apply(environment, context, &row, changes.found)?;
            changes.changed += u64::from(changed);
            Ok(())
        })?;
        environment.scratch.borrow_mut().give_back_stored(updater.stored);
        return Ok(changes);
    }
    for_each_row(environment, &plan.select, context, plan.collect_first, &mut |row| {
        changes.found += 1;
        let number = changes.found;
        let changed = updater
            .update(environment, context, row, number, &mut |row, evaluate| evaluate(&TableRow { table, row, zone }))?;
        changes.changed += changed as u64;
        Ok(())
    })?;
    environment.scratch.borrow_mut().give_back_stored(updater.stored);
    Ok(changes)
}

/// Runs a DELETE.
pub fn delete(environment: &Environment<'_>, plan: &DeletePlan, outer_context: &EvalContext<'_>) -> Result<Changes> {
    let strict_change = assign_mode(outer_context, plan.ignore) == AssignMode::Strict;
    let outer_context = &EvalContext { strict_change, ignores: plan.ignore, ..*outer_context };
    let mut changes = Changes::default();
    let level = Level::of(environment, &plan.select);
    let context = &EvalContext { subqueries: Some(&level), lists: Some(&level.lists), ..*outer_context };
    let collect_first = !plan.select.subqueries.is_empty() || plan.triggers.is_some();
    let (table, zone) = (&plan.table, context.zone);
    let mut number = 0;
    for_each_row(environment, &plan.select, context, collect_first, &mut |row| {
        number += 1;
        let fired = plan.triggers.as_deref();
        let firing = Firing { table, context, old: Some(row), number };
        if let Some(triggers) = fired {
            firing.removed(triggers.before(TriggerEvent::Delete))?;
        }
        let deleted = rows::delete(&mut environment.trx.borrow_mut(), &plan.table, row);
        match deleted {
            Ok(()) => {
                changes.deleted += 1;
                if let Some(returning) = &plan.returning {
                    environment.return_row(returning, context, &TableRow { table, row, zone })?;
                }
                if let Some(log) = environment.log {
                    log.borrow_mut().delete(&plan.table, &|column| row.get(column))?;
                }
                if let Some(triggers) = fired {
                    firing.removed(triggers.after(TriggerEvent::Delete))?;
                }
            }
            Err(error @ storage::Error::ForeignKey(_)) if plan.ignore => context.warn(storage_error(error)),
            // It was found before the change of an earlier row deleted it by a cascade.
            Err(storage::Error::NotFound(_)) if plan.table.is_related() => {}
            Err(error) => return Err(storage_error(error)),
        }
        Ok(())
    })?;
    Ok(changes)
}

/// Finds the rows of a change, in order and up to the limit, and hands them over: at once, or when all are found.
fn for_each_row(
    environment: &Environment<'_>,
    plan: &SelectPlan,
    context: &EvalContext<'_>,
    collect_first: bool,
    visit: &mut dyn FnMut(&Row) -> Result<()>,
) -> Result<()> {
    let (_, mut left) = limits(plan.limit.as_ref(), context)?;
    if left == 0 {
        return Ok(());
    }
    if !collect_first && plan.order.is_empty() {
        scan(environment, plan, context, &mut |row| {
            left -= 1;
            visit(&row.sources[0].stored)?;
            Ok(left > 0)
        })?;
        return Ok(());
    }
    if plan.order.is_empty() {
        let mut found = FoundRows::new(&environment.memory);
        scan(environment, plan, context, &mut |row| {
            found.push(FoundRow::of(row.sources[0].stored.clone()))?;
            Ok(found.len() < left)
        })?;
        return found.for_each(&mut |found| {
            environment.tick(context)?;
            visit(&found.row)
        });
    }
    let mut sorter = Sorter::new(environment.memory.account_for(Purpose::Sort));
    let (order, form) = (&plan.order[..], KeyForm::of(&plan.order));
    let compare = |a: &FoundRow, b: &FoundRow| form.compare(&a.key, &b.key, order);
    let mut key = Vec::new();
    scan(environment, plan, context, &mut |row| {
        form.write_key(order, context, row, &mut key)?;
        let found = FoundRow { key: key.as_slice().into(), ..FoundRow::of(row.sources[0].stored.clone()) };
        sorter.push(found, left, &compare, context.session)?;
        Ok(true)
    })?;
    let (mut sorted, _account, _) = sorter.finish(left, &compare, context.session)?;
    while left > 0
        && let Some(found) = sorted.next(&compare, context.session)?
    {
        left -= 1;
        environment.tick(context)?;
        visit(&found.row)?;
    }
    Ok(())
}
