//! Changes of joined tables of which some are views, and of views that join tables.
//!
//! The statement is bound over the views and all of them are merged; what it assigns stands in the output meanwhile, so
//! that it is rewritten along. Then each assigned column is one of a table, and the rest is as for tables.
//!
//! A view gives one of its tables to a statement (1393).

use std::sync::Arc;

use storage::{Definition, DefinitionKind, ReadMode, Table, TableUse};

use super::change::Assignment;
use super::clause::Clause;
use super::joined_change::{
    JoinedDeletePlan, JoinedUpdatePlan, check_keys, delete_target, name_of, needed_for_delete, needed_for_update,
    plan_joined_delete, plan_joined_update, target_numbers, update_target,
};
use super::logical::{Block, Source};
use super::role::Role;
use super::scope::{JoinTree, Level, display};
use super::select::{bind_documents, reads_earlier_tables};
use super::target_reads::{self, Target};
use super::view_rights::check_below;
use super::view_target::{check_columns, check_in_join};
use super::{PlanContext, SourceKind, change, hints, nest, physical, rules};
use crate::accounts::Privileges;
use crate::error::{Error, Result};
use crate::expression::Expr;
use crate::parser::ast;
use crate::views::View;

/// What a table of the statement is.
struct Owner {
    alias: Box<str>,
    view: Option<Arc<Definition>>,
}

/// Whether a table of a statement is a view.
fn names_view(context: &PlanContext<'_>, table: &ast::TableRef) -> Result<bool> {
    Ok(match table {
        ast::TableRef::Table { name, .. } => context.find_view(name)?.is_some(),
        ast::TableRef::Join { left, right, .. } => names_view(context, left)? || names_view(context, right)?,
        _ => false,
    })
}

fn name_views(context: &PlanContext<'_>, tables: &[ast::TableRef]) -> Result<bool> {
    tables.iter().try_fold(false, |found, table| Ok(found || names_view(context, table)?))
}

/// UPDATE of joined tables, be they views or not.
pub fn plan_update(context: &PlanContext<'_>, update: &ast::JoinedUpdate) -> Result<JoinedUpdatePlan> {
    match name_views(context, &update.tables)? {
        true => update_views(context, update),
        false => plan_joined_update(context, update),
    }
}

/// DELETE of joined tables, be they views or not.
pub fn plan_delete(context: &PlanContext<'_>, delete: &ast::JoinedDelete) -> Result<JoinedDeletePlan> {
    match name_views(context, &delete.tables)? {
        true => delete_views(context, delete),
        false => plan_joined_delete(context, delete),
    }
}

fn owner_of(context: &PlanContext<'_>, source: &Source) -> Owner {
    let view = match &source.kind {
        SourceKind::Derived(derived) => derived
            .view
            .as_ref()
            .and_then(|view| context.instance.engine.definition(DefinitionKind::View, &view.database, &view.name)),
        _ => None,
    };
    Owner { alias: source.alias.clone(), view }
}

/// Opens the table below a view to be changed.
fn open_below(
    context: &PlanContext<'_>,
    alias: &str,
    definition: &Arc<Definition>,
    table: &Table,
    wanted: Privileges,
) -> Result<Arc<Table>> {
    context.rights.need_for_rows(wanted, &definition.database, &definition.name)?;
    if let Some(locked) = context.locked {
        locked.check(&definition.database, &definition.name, alias, TableUse::Write)?;
    }
    let view = View::decode(&definition.bytes)?;
    context.inside(&view, |inner| inner.open(&table.database, &table.name, &table.name, TableUse::Write))
}

/// Opens the targets to be changed, by their numbers in the merged query; their rows are locked as they are read.
fn open_targets(
    context: &PlanContext<'_>,
    block: &mut Block,
    numbers: &[(usize, &Owner)],
    wanted: Privileges,
    statement: &str,
) -> Result<Vec<Arc<Table>>> {
    let mut tables = Vec::with_capacity(numbers.len());
    for (number, owner) in numbers {
        let source = &mut block.sources[*number];
        let table = source.table().cloned().ok_or_else(|| Error::not_updatable(&owner.alias, statement))?;
        tables.push(match &owner.view {
            None => change::open_stored(context, &name_of(&table), Some(&owner.alias), wanted)?,
            Some(definition) => open_below(context, &owner.alias, definition, &table, wanted)?,
        });
        source.read_mode = ReadMode::EXCLUSIVE;
        source.is_changed = true;
    }
    Ok(tables)
}

/// Joins and merges; `output` is over the tables of the merged query then. With the number of the statement's own
/// subqueries, which stand before those of views.
fn merged(
    context: &PlanContext<'_>,
    level: Level<'_>,
    tree: Option<&JoinTree<'_>>,
    filter: Option<&ast::Expr>,
    output: Vec<Expr>,
) -> Result<(Block, usize)> {
    let filter = match filter {
        Some(filter) => Some(context.binder(&Clause::new(&level, "where clause")).bind_number(filter)?),
        None => None,
    };
    let nest = nest::bind(&level, tree, filter)?;
    let mut block = level.into_block(context.next_select_number(), nest, output);
    let own = block.subqueries.len();
    rules::merge_all(&mut block);
    block.straight |= reads_earlier_tables(&block.sources);
    Ok((block, own))
}

fn update_views(context: &PlanContext<'_>, update: &ast::JoinedUpdate) -> Result<JoinedUpdatePlan> {
    let mut level = Level::new(context, None, context.plain_reads);
    level.role = Role::Joined;
    let tree = level.from(&update.tables)?;
    level.hints = hints::apply(context, &update.hints, 1, &mut level.sources);
    bind_documents(&mut level)?;
    let level = level;
    let mut output = Vec::with_capacity(2 * update.assignments.len());
    let mut names = Vec::with_capacity(update.assignments.len());
    let mut named = Vec::with_capacity(update.assignments.len());
    for (name, value) in &update.assignments {
        let slot = level
            .find(name, &level.all, "field list")?
            .ok_or_else(|| Error::unknown_column(&display(name), "field list"))?;
        let (source, column) = level.slots[slot];
        names.push((source as usize, level.sources[source as usize].columns[column as usize].name.clone()));
        named.push((source as usize, column as usize));
        output.push(level.expr(slot));
        output.push(match value {
            // In its place: the column that gets its default.
            ast::Expr::Default => level.expr(slot),
            value => context.binder(&Clause::new(&level, "field list")).bind(value)?,
        });
    }
    let owners: Vec<Owner> = level.sources.iter().map(|source| owner_of(context, source)).collect();
    for (number, owner) in owners.iter().enumerate() {
        let columns: Vec<usize> = named.iter().filter(|(of, _)| *of == number).map(|(_, column)| *column).collect();
        if let (Some(view), false, SourceKind::Derived(derived)) =
            (&owner.view, columns.is_empty(), &level.sources[number].kind)
        {
            check_below(context, view, derived, Privileges::UPDATE, &columns)?;
        }
    }
    let (mut block, own) = merged(context, level, tree.as_ref(), update.filter.as_ref(), output)?;
    let mut output = std::mem::take(&mut block.output).into_iter();
    // The number of the table, the column, the value, and what the statement calls the table.
    let mut assigned: Vec<(usize, usize, Option<Expr>, usize)> = Vec::new();
    for ((_, written), (owner, name)) in update.assignments.iter().zip(&names) {
        let (Some(target), Some(value)) = (output.next(), output.next()) else { break };
        let slot = target.as_changed_column().ok_or_else(|| Error::column_not_updatable(name))?;
        let (source, column) = block.slots[slot];
        let (source, column) = (source as usize, column as usize);
        let other = assigned.iter().any(|(of, .., known)| known == owner && *of != source);
        if let Some(view) = owners[*owner].view.as_ref().filter(|_| other) {
            return Err(Error::view_of_many(&view.database, &view.name));
        }
        let value = (!matches!(written, ast::Expr::Default)).then_some(value);
        assigned.push((source, column, value, *owner));
    }
    for (owner, known) in owners.iter().enumerate() {
        let Some(view) = &known.view else { continue };
        let columns = names.iter().filter(|(of, _)| *of == owner).map(|(_, name)| &**name);
        check_columns(context, view, Privileges::UPDATE, columns)?;
    }
    let mut numbers: Vec<(usize, usize)> = assigned.iter().map(|(source, .., owner)| (*source, *owner)).collect();
    numbers.sort_unstable();
    numbers.dedup();
    let of_owners: Vec<(usize, &Owner)> = numbers.iter().map(|(source, owner)| (*source, &owners[*owner])).collect();
    let tables = open_targets(context, &mut block, &of_owners, Privileges::UPDATE, "UPDATE")?;
    for table in &tables {
        // It is told of the table that stands first, as in MySQL.
        let target = Target { table, alias: &owners[0].alias, view: owners[0].view.as_deref(), read_as: None };
        target_reads::check(&block.subqueries[..own], &target, "UPDATE")?;
    }
    let sources: Vec<usize> = numbers.iter().map(|(source, _)| *source).collect();
    let places: Vec<(usize, usize)> = assigned.iter().map(|(source, column, ..)| (*source, *column)).collect();
    check_keys(&block.sources, &sources, &tables, &places)?;
    let mut targets = Vec::with_capacity(numbers.len());
    for ((source, table), (_, owner)) in sources.iter().zip(&tables).zip(&numbers) {
        let mut assignments = Vec::new();
        for (_, column, value, _) in assigned.iter_mut().filter(|(of, ..)| of == source) {
            if owners[*owner].view.is_none() {
                change::check_columns(context, &name_of(table), table, Privileges::UPDATE, &[*column])?;
            }
            if value.is_some() && table.columns[*column].generated.is_some() {
                return Err(Error::generated_value(&table.columns[*column].name, &table.name));
            }
            assignments.push(Assignment { column: *column, value: value.take() });
        }
        let mut target = update_target(context, &tables, *source, table, assignments)?;
        let changed = names.iter().find(|(of, _)| of == owner);
        if let (Some(view), Some((_, column))) = (&owners[*owner].view, changed) {
            target.check = check_in_join(context, view, column, (*source, &block))?;
        }
        targets.push(target);
    }
    let values: Vec<&Expr> =
        targets.iter().flat_map(|target| &target.assignments).filter_map(|one| one.value.as_ref()).collect();
    let needed: Vec<_> = targets.iter().map(|target| needed_for_update(context, target)).collect();
    for (_, slot) in targets.iter().filter_map(|target| target.check.as_ref()).flat_map(|check| &check.others) {
        let (source, column) = block.slots[*slot];
        block.sources[source as usize].needed.insert(column as usize);
    }
    need(&mut block, &needed, &values);
    let select = physical::block(context, rules::apply_to_joined_rows(context, block)).map(|(plan, _)| plan)?;
    Ok(JoinedUpdatePlan { ignore: update.ignore, select, targets })
}

/// The columns that a change needs of its tables.
fn need(block: &mut Block, needed: &[(usize, storage::ColumnSet)], also: &[&Expr]) {
    for (source, columns) in needed {
        columns.iter().for_each(|column| block.sources[*source].needed.insert(column));
    }
    for expr in also {
        expr.for_each_column(&mut |slot| {
            let (source, column) = block.slots[slot];
            block.sources[source as usize].needed.insert(column as usize);
        });
    }
}

fn delete_views(context: &PlanContext<'_>, delete: &ast::JoinedDelete) -> Result<JoinedDeletePlan> {
    let mut level = Level::new(context, None, context.plain_reads);
    let tree = level.from(&delete.tables)?;
    level.hints = hints::apply(context, &delete.hints, 1, &mut level.sources);
    bind_documents(&mut level)?;
    let level = level;
    let numbers = target_numbers(&level, delete)?;
    let owners: Vec<Owner> = level.sources.iter().map(|source| owner_of(context, source)).collect();
    for number in &numbers {
        if let (Some(view), SourceKind::Derived(derived)) = (&owners[*number].view, &level.sources[*number].kind) {
            check_below(context, view, derived, Privileges::DELETE, &[])?;
        }
    }
    // The columns of a target tell which table it is.
    let mut output = Vec::new();
    let mut widths = Vec::new();
    for number in &numbers {
        let source = &level.sources[*number];
        widths.push(source.columns.len());
        output.extend((0..source.columns.len()).map(|column| level.expr(source.slot_base + column)));
    }
    let (mut block, own) = merged(context, level, tree.as_ref(), delete.filter.as_ref(), output)?;
    let mut output = std::mem::take(&mut block.output).into_iter();
    let mut found: Vec<(usize, &Owner)> = Vec::new();
    for (number, width) in numbers.iter().zip(widths) {
        let owner = &owners[*number];
        let slots = output.by_ref().take(width).filter_map(|expr| expr.as_column());
        let mut sources: Vec<usize> = slots.map(|slot| block.slots[slot].0 as usize).collect();
        sources.dedup();
        match (&sources[..], &owner.view) {
            ([source], _) => found.push((*source, owner)),
            ([], _) | (_, None) => return Err(Error::not_updatable(&owner.alias, "DELETE")),
            (_, Some(view)) => return Err(Error::view_delete_join(&view.database, &view.name)),
        }
    }
    found.sort_by_key(|(source, _)| *source);
    let tables = open_targets(context, &mut block, &found, Privileges::DELETE, "DELETE")?;
    for (table, (_, owner)) in tables.iter().zip(&found) {
        let target = Target { table, alias: &owner.alias, view: owner.view.as_deref(), read_as: None };
        target_reads::check(&block.subqueries[..own], &target, "DELETE")?;
    }
    let mut targets = Vec::with_capacity(found.len());
    for ((source, _), table) in found.iter().zip(&tables) {
        targets.push(delete_target(context, &tables, *source, table)?);
    }
    let needed: Vec<_> = targets.iter().map(|target| needed_for_delete(context, target)).collect();
    need(&mut block, &needed, &[]);
    let select = physical::block(context, rules::apply_to_joined_rows(context, block)).map(|(plan, _)| plan)?;
    Ok(JoinedDeletePlan { ignore: delete.ignore, select, targets })
}
