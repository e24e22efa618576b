//! UPDATE and DELETE of tables that are joined: which rows of which tables.
//!
//! The query that finds the rows is a join whose targets are read under exclusive locks, the other tables as every
//! change reads its sources. A row that the join gives several times is changed once, as its first time says. Values are
//! evaluated on the rows as they were found: an assignment sees earlier ones of its own row, but none of other rows.

use std::sync::Arc;

use storage::{ColumnSet, ReadMode, Table};

use super::change::{Assignment, check_columns, open_stored, refuse_sequence, rules_of_update};
use super::clause::Clause;
use super::defaults::{DefaultValue, defaults};
use super::logical::{Block, Source};
use super::role::Role;
use super::row_rules::RowRules;
use super::scope::{JoinTree, Level, display};
use super::select::{bind_documents, reads_earlier_tables};
use super::target_reads::{self, Target};
use super::triggers::Triggers;
use super::view_target::ViewCheck;
use super::{PlanContext, SelectPlan, hints, nest, physical, rules};
use crate::accounts::Privileges;
use crate::error::{Error, Result};
use crate::expression::Expr;
use crate::parser::ast::{self, TableName, TriggerEvent};

pub struct JoinedUpdatePlan {
    pub ignore: bool,
    /// The joined rows: a query without output.
    pub select: SelectPlan,
    pub targets: Vec<UpdateTarget>,
}

/// A table of the join whose rows change.
pub struct UpdateTarget {
    /// Its number in the join.
    pub source: usize,
    pub table: Arc<Table>,
    pub assignments: Vec<Assignment>,
    /// Columns with ON UPDATE CURRENT_TIMESTAMP that are not assigned.
    pub touched: Vec<usize>,
    pub defaults: Vec<DefaultValue>,
    pub rules: RowRules,
    pub reads_again: bool,
    pub triggers: Option<Box<Triggers>>,
    /// WITH CHECK OPTION of the view through which it is changed.
    pub check: Option<ViewCheck>,
}

pub struct JoinedDeletePlan {
    pub ignore: bool,
    pub select: SelectPlan,
    pub targets: Vec<DeleteTarget>,
}

pub struct DeleteTarget {
    pub source: usize,
    pub table: Arc<Table>,
    /// A row may have changed since it was found, through another target or by a cascade.
    pub reads_again: bool,
    pub triggers: Option<Box<Triggers>>,
}

pub fn plan_joined_update(context: &PlanContext<'_>, update: &ast::JoinedUpdate) -> Result<JoinedUpdatePlan> {
    let mut level = Level::new(context, None, context.plain_reads);
    level.role = Role::Joined;
    let tree = level.from(&update.tables)?;
    level.hints = hints::apply(context, &update.hints, 1, &mut level.sources);
    bind_documents(&mut level)?;
    // Which table each column is of decides which tables are locked.
    let mut assigned: Vec<(usize, usize, &ast::Expr)> = Vec::with_capacity(update.assignments.len());
    for (name, value) in &update.assignments {
        let slot = level
            .find(name, &level.all, "field list")?
            .ok_or_else(|| Error::unknown_column(&display(name), "field list"))?;
        let (source, column) = level.slots[slot];
        assigned.push((source as usize, column as usize, value));
    }
    let mut numbers: Vec<usize> = assigned.iter().map(|(source, ..)| *source).collect();
    numbers.sort_unstable();
    numbers.dedup();
    let tables = open_targets(context, &mut level, &numbers, Privileges::UPDATE, "UPDATE")?;
    let level = level;
    let places: Vec<(usize, usize)> = assigned.iter().map(|(source, column, _)| (*source, *column)).collect();
    check_keys(&level.sources, &numbers, &tables, &places)?;

    let mut targets = Vec::with_capacity(numbers.len());
    for (source, table) in numbers.iter().zip(&tables) {
        let mut assignments = Vec::new();
        for (_, column, value) in assigned.iter().filter(|(of, ..)| of == source) {
            check_columns(context, &name_of(table), table, Privileges::UPDATE, &[*column])?;
            let value = match value {
                ast::Expr::Default => None,
                _ if table.columns[*column].generated.is_some() => {
                    return Err(Error::generated_value(&table.columns[*column].name, &table.name));
                }
                value => Some(context.binder(&Clause::new(&level, "field list")).bind(value)?),
            };
            assignments.push(Assignment { column: *column, value });
        }
        targets.push(update_target(context, &tables, *source, table, assignments)?);
    }
    let values = targets.iter().flat_map(|target| &target.assignments);
    let values: Vec<Expr> = values.filter_map(|assignment| assignment.value.clone()).collect();
    let needed: Vec<_> = targets.iter().map(|target| needed_for_update(context, target)).collect();
    // It is told of the table that stands first, as in MySQL.
    let first = level.sources[0].alias.clone();
    let read = tables.iter().map(|table| (&**table, &*first));
    let read = Changed { targets: read.collect(), statement: "UPDATE" };
    let select = plan_rows(context, level, tree.as_ref(), update.filter.as_ref(), &values, &needed, &read)?;
    Ok(JoinedUpdatePlan { ignore: update.ignore, select, targets })
}

pub fn plan_joined_delete(context: &PlanContext<'_>, delete: &ast::JoinedDelete) -> Result<JoinedDeletePlan> {
    let mut level = Level::new(context, None, context.plain_reads);
    let tree = level.from(&delete.tables)?;
    level.hints = hints::apply(context, &delete.hints, 1, &mut level.sources);
    bind_documents(&mut level)?;
    let numbers = target_numbers(&level, delete)?;
    let tables = open_targets(context, &mut level, &numbers, Privileges::DELETE, "DELETE")?;
    let mut targets = Vec::with_capacity(numbers.len());
    for (source, table) in numbers.iter().zip(&tables) {
        targets.push(delete_target(context, &tables, *source, table)?);
    }
    let needed: Vec<_> = targets.iter().map(|target| needed_for_delete(context, target)).collect();
    let aliases: Vec<Box<str>> = numbers.iter().map(|number| level.sources[*number].alias.clone()).collect();
    let read = tables.iter().zip(&aliases).map(|(table, alias)| (&**table, &**alias));
    let read = Changed { targets: read.collect(), statement: "DELETE" };
    let select = plan_rows(context, level, tree.as_ref(), delete.filter.as_ref(), &[], &needed, &read)?;
    Ok(JoinedDeletePlan { ignore: delete.ignore, select, targets })
}

/// The tables that a DELETE names, by their numbers in the join. One with an alias has no other name; a bare name of
/// another is that of a table of the current database, so that nothing is deleted in a database that was not named.
///
/// # Errors
/// 1109 for a table that is not there, 1046 if there is no current database, 1066 for a name of two.
pub(super) fn target_numbers(level: &Level<'_>, delete: &ast::JoinedDelete) -> Result<Vec<usize>> {
    let mut has_alias = Vec::with_capacity(level.sources.len());
    delete.tables.iter().for_each(|tables| aliases(tables, &mut has_alias));
    let mut numbers: Vec<usize> = Vec::with_capacity(delete.targets.len());
    for name in &delete.targets {
        let database = name.database.as_deref().or(level.context.database);
        let is_meant = |at: &usize| {
            let source = &level.sources[*at];
            match has_alias.get(*at) {
                Some(true) => name.database.is_none() && source.is_called(None, &name.name),
                _ => database.is_some() && source.is_called(database, &name.name),
            }
        };
        let mut found = (0..level.sources.len()).filter(is_meant);
        let number = found.next().ok_or_else(|| match database {
            None => Error::no_database(),
            Some(_) => Error::unknown_table_in(&name.name, "MULTI DELETE"),
        })?;
        if numbers.contains(&number) || found.next().is_some() {
            return Err(Error::not_unique_table(&name.name));
        }
        numbers.push(number);
    }
    numbers.sort_unstable();
    Ok(numbers)
}

/// Of each table of a join, whether it has an alias.
fn aliases(tables: &ast::TableRef, out: &mut Vec<bool>) {
    match tables {
        ast::TableRef::Table { alias, .. } => out.push(alias.is_some()),
        ast::TableRef::Derived { .. } | ast::TableRef::JsonTable(_) => out.push(true),
        ast::TableRef::Join { left, right, .. } => {
            aliases(left, out);
            aliases(right, out);
        }
    }
}

/// A table whose rows are updated, by its number in the join.
pub(super) fn update_target(
    context: &PlanContext<'_>,
    tables: &[Arc<Table>],
    source: usize,
    table: &Arc<Table>,
    assignments: Vec<Assignment>,
) -> Result<UpdateTarget> {
    let rules = rules_of_update(context, table, &assignments)?;
    let is_assigned = |column: usize| assignments.iter().any(|assignment| assignment.column == column);
    let touched = (0..table.columns.len()).filter(|at| table.columns[*at].on_update_now && !is_assigned(*at)).collect();
    Ok(UpdateTarget {
        source,
        table: table.clone(),
        assignments,
        touched,
        defaults: defaults(table)?,
        rules,
        reads_again: reads_again(tables, table)?,
        triggers: Triggers::of(context, table, &[TriggerEvent::Update])?,
        check: None,
    })
}

pub(super) fn needed_for_update(context: &PlanContext<'_>, target: &UpdateTarget) -> (usize, ColumnSet) {
    let assigned = target.assignments.iter().map(|assignment| assignment.column);
    let columns = assigned.chain(target.touched.iter().copied());
    let has_default = target.assignments.iter().any(|assignment| assignment.value.is_none());
    // A row that moves to another partition moves as a whole.
    let moves = target.table.is_partitioned();
    let as_a_whole = has_default || target.triggers.is_some() || target.check.is_some() || moves;
    let columns = match target.rules.concerns_changes() || as_a_whole {
        true => ColumnSet::first(target.table.columns.len()),
        false => needed_columns(context, &target.table, columns),
    };
    (target.source, columns)
}

/// A table whose rows are deleted, by its number in the join.
pub(super) fn delete_target(
    context: &PlanContext<'_>,
    tables: &[Arc<Table>],
    source: usize,
    table: &Arc<Table>,
) -> Result<DeleteTarget> {
    refuse_sequence(table)?;
    let reads_again = reads_again(tables, table)?;
    let triggers = Triggers::of(context, table, &[TriggerEvent::Delete])?;
    Ok(DeleteTarget { source, table: table.clone(), reads_again, triggers })
}

pub(super) fn needed_for_delete(context: &PlanContext<'_>, target: &DeleteTarget) -> (usize, ColumnSet) {
    let columns = match target.triggers.is_some() {
        true => ColumnSet::first(target.table.columns.len()),
        false => needed_columns(context, &target.table, std::iter::empty()),
    };
    (target.source, columns)
}

pub(super) fn name_of(table: &Table) -> TableName {
    TableName { database: Some(table.database.to_string()), name: table.name.to_string() }
}

/// Opens the targets to be changed; their rows are locked as they are read.
fn open_targets(
    context: &PlanContext<'_>,
    level: &mut Level<'_>,
    numbers: &[usize],
    wanted: Privileges,
    statement: &str,
) -> Result<Vec<Arc<Table>>> {
    let mut tables = Vec::with_capacity(numbers.len());
    for number in numbers {
        let source = &mut level.sources[*number];
        let Some(table) = source.table().cloned() else {
            return Err(Error::not_updatable(&source.alias, statement));
        };
        let opened = open_stored(context, &name_of(&table), Some(&source.alias), wanted)?;
        source.read_mode = ReadMode::EXCLUSIVE;
        source.is_changed = true;
        tables.push(opened);
    }
    Ok(tables)
}

/// A table that is changed under two names keeps its keys: each row is found again by its key.
pub(super) fn check_keys(
    sources: &[Source],
    numbers: &[usize],
    tables: &[Arc<Table>],
    assigned: &[(usize, usize)],
) -> Result<()> {
    for (at, table) in tables.iter().enumerate() {
        let Some(other) = (0..tables.len()).find(|other| *other != at && Arc::ptr_eq(&tables[*other], table)) else {
            continue;
        };
        let is_key = |column: usize| table.indexes[0].parts.iter().any(|part| part.column == column);
        if assigned.iter().any(|(source, column)| *source == numbers[at] && is_key(*column)) {
            let alias = |at: usize| &sources[numbers[at]].alias;
            return Err(Error::multi_update_key_conflict(alias(at.min(other)), alias(at.max(other))));
        }
    }
    Ok(())
}

/// Whether the rows of a target may be changed by something else in the statement.
fn reads_again(tables: &[Arc<Table>], table: &Arc<Table>) -> Result<bool> {
    let is_twice = tables.iter().filter(|other| Arc::ptr_eq(other, table)).count() > 1;
    let is_meant = is_twice || table.is_related();
    // A row that moves to another partition has a new hidden key there.
    if is_meant && table.indexes[0].is_hidden() && !table.partitions().is_empty() {
        return Err(Error::unsupported("changes of a partitioned table under two names, without a primary key"));
    }
    Ok(is_meant)
}

/// The columns of a target that its change needs: the log has whole rows.
fn needed_columns(context: &PlanContext<'_>, table: &Table, changed: impl Iterator<Item = usize>) -> ColumnSet {
    if context.instance.log.is_some() {
        return ColumnSet::first(table.columns.len());
    }
    changed.chain(table.indexes[0].parts.iter().map(|part| part.column)).collect()
}

/// The tables that a statement changes, and what errors call them.
struct Changed<'a> {
    targets: Vec<(&'a Table, &'a str)>,
    statement: &'a str,
}

fn plan_rows(
    context: &PlanContext<'_>,
    level: Level<'_>,
    tree: Option<&JoinTree<'_>>,
    filter: Option<&ast::Expr>,
    also: &[Expr],
    needed: &[(usize, ColumnSet)],
    changed: &Changed<'_>,
) -> Result<SelectPlan> {
    let filter = match filter {
        Some(filter) => Some(context.binder(&Clause::new(&level, "where clause")).bind_number(filter)?),
        None => None,
    };
    for (table, alias) in &changed.targets {
        let target = Target { table, alias, view: None, read_as: None };
        target_reads::check(&level.subqueries.borrow(), &target, changed.statement)?;
    }
    let (from, straight) = nest::bind(&level, tree, filter)?;
    let straight = straight || reads_earlier_tables(&level.sources);
    let (mut sources, slots) = (level.sources, level.slots);
    for (source, columns) in needed {
        columns.iter().for_each(|column| sources[*source].needed.insert(column));
    }
    for expr in also {
        expr.for_each_column(&mut |slot| {
            let (source, column) = slots[slot];
            sources[source as usize].needed.insert(column as usize);
        });
    }
    let block = Block {
        select_number: context.next_select_number(),
        sources,
        slots,
        from,
        straight,
        subqueries: level.subqueries.into_inner(),
        ..Block::nothing()
    };
    physical::block(context, rules::apply_to_joined_rows(context, block)).map(|(plan, _)| plan)
}
