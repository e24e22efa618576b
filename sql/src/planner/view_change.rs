//! UPDATE and DELETE, of tables and of views.
//!
//! Those of a view bind their clauses over the view and merge it, as the rule for derived tables does; what they assign
//! stands in the output meanwhile, so that it is rewritten along.

use std::sync::Arc;

use storage::{ColumnSet, Definition, IfLocked, ReadMode, Table};

use super::change::{
    self, Assignment, DeletePlan, RowsQuery, UpdatePlan, reads_what_changes, refuse_sequence, rows_of, rules_of_update,
    single_table,
};
use super::clause::Clause;
use super::defaults::defaults;
use super::joined_change::JoinedUpdatePlan;
use super::logical::Block;
use super::returning::bind_returning;
use super::role::Role;
use super::scope::Level;
use super::target_reads::{self, Target};
use super::triggers::Triggers;
use super::view_rights::check_below;
use super::view_target::{check_columns, check_limited, check_of};
use super::{PlanContext, SelectPlan, SourceKind, joined_view, physical, rules};
use crate::accounts::Privileges;
use crate::error::{Error, Result};
use crate::expression::Expr;
use crate::parser::ast::{self, TriggerEvent};

/// A table, or a view that joins several.
pub enum Updating {
    Table(Box<UpdatePlan>),
    Joined(Box<JoinedUpdatePlan>),
}

pub fn plan_update(context: &PlanContext<'_>, update: &ast::Update) -> Result<Updating> {
    let (name, alias, _) = single_table(&update.table)?;
    context.check_is_no_query(name, "UPDATE")?;
    match context.find_view(name)? {
        Some(view) => update_view(context, update, &view, alias),
        None => change::plan_update(context, update).map(|plan| Updating::Table(Box::new(plan))),
    }
}

pub fn plan_delete(context: &PlanContext<'_>, delete: &ast::Delete) -> Result<DeletePlan> {
    context.check_is_no_query(&delete.table, "DELETE")?;
    match context.find_view(&delete.table)? {
        Some(view) => delete_from_view(context, delete, &view),
        None => change::plan_delete(context, delete),
    }
}

/// What an UPDATE or DELETE does to a view.
struct Change<'d> {
    definition: &'d Definition,
    alias: Option<&'d str>,
    read_mode: ReadMode,
    wanted: Privileges,
    statement: &'static str,
}

/// The rows of an UPDATE or DELETE of a view, as a query of its table. `bind` gives the expressions over the view's columns
/// that are needed beside, and the columns that it assigns; the expressions are returned over the table's. No table: there
/// are several to be updated.
fn rows(
    context: &PlanContext<'_>,
    change: &Change<'_>,
    query: &RowsQuery<'_>,
    bind: impl FnOnce(&Level<'_>) -> Result<(Vec<Expr>, Vec<usize>)>,
) -> Result<(Block, Option<Arc<Table>>)> {
    let Change { definition, alias, read_mode, wanted, statement } = *change;
    let shown = alias.unwrap_or(&definition.name);
    let mut level = Level::new(context, None, read_mode);
    level.role = Role::Changed;
    level.add_view(definition, alias)?;
    let level = level;
    let (output, assigned) = bind(&level)?;
    if let SourceKind::Derived(derived) = &level.sources[0].kind {
        check_below(context, definition, derived, wanted, &assigned)?;
    }
    let mut block = rows_of(context, level, query)?;
    block.output = output;
    let refused = || Error::target_not_updatable(shown, statement);
    let apart = |block: &Block| {
        block.sources.iter().any(|source| matches!(&source.kind, SourceKind::Derived(d) if d.stays_apart()))
    };
    if apart(&block) {
        return Err(refused());
    }
    let own = block.subqueries.len();
    rules::merge_all(&mut block);
    if block.sources.len() > 1 {
        return match statement {
            "DELETE" => Err(Error::view_delete_join(&definition.database, &definition.name)),
            _ => Ok((block, None)),
        };
    }
    let table = match &block.sources[..] {
        [source] => source.table().cloned().ok_or_else(refused)?,
        _ => return Err(refused()),
    };
    // Behind the statement's subqueries stand those of the view.
    let target = Target { table: &table, alias: shown, view: Some(definition), read_as: None };
    target_reads::check(&block.subqueries[..own], &target, statement)?;
    target_reads::check(&block.subqueries[own..], &target, statement).map_err(|_| refused())?;
    Ok((block, Some(table)))
}

/// Plans how the rows are found. The log, and the check, have whole rows.
fn select(context: &PlanContext<'_>, mut block: Block) -> Result<SelectPlan> {
    let width = block.slots.len();
    block.sources[0].needed = ColumnSet::first(width);
    physical::block(context, rules::apply_to_rows(context, block)).map(|(plan, _)| plan)
}

fn update_view(
    context: &PlanContext<'_>,
    update: &ast::Update,
    definition: &Arc<Definition>,
    alias: Option<&str>,
) -> Result<Updating> {
    context.rights.need_for_rows(Privileges::UPDATE, &definition.database, &definition.name)?;
    let query = RowsQuery { filter: update.filter.as_ref(), order_by: &update.order_by, limit: update.limit.as_ref() };
    let mut names = Vec::new();
    let bind = |level: &Level<'_>| {
        let mut output = Vec::new();
        let mut assigned = Vec::new();
        for (name, value) in &update.assignments {
            let column = level
                .find(name, &level.all, "field list")?
                .ok_or_else(|| Error::unknown_column(&super::scope::display(name), "field list"))?;
            names.push(level.sources[0].columns[column].name.clone());
            assigned.push(column);
            output.push(level.expr(column));
            output.push(match value {
                // In its place: the column that gets its default.
                ast::Expr::Default => level.expr(column),
                value => context.binder(&Clause::new(level, "field list")).bind(value)?,
            });
        }
        output.extend((0..level.sources[0].columns.len()).map(|column| level.expr(column)));
        Ok((output, assigned))
    };
    let change = Change {
        definition,
        alias,
        read_mode: ReadMode::Exclusive(IfLocked::Committed),
        wanted: Privileges::UPDATE,
        statement: "UPDATE",
    };
    let (mut block, table) = rows(context, &change, &query, bind)?;
    let Some(table) = table else {
        if !update.order_by.is_empty() {
            return Err(Error::wrong_usage("UPDATE", "ORDER BY"));
        }
        if update.limit.is_some() {
            return Err(Error::wrong_usage("UPDATE", "LIMIT"));
        }
        let update = ast::JoinedUpdate {
            hints: update.hints.clone(),
            with: None,
            ignore: update.ignore,
            tables: vec![update.table.clone()],
            assignments: update.assignments.clone(),
            filter: update.filter.clone(),
        };
        return joined_view::plan_update(context, &update).map(|plan| Updating::Joined(Box::new(plan)));
    };
    check_columns(context, definition, Privileges::UPDATE, names.iter().map(|name| &**name))?;
    let mut output = std::mem::take(&mut block.output).into_iter();
    let mut assignments = Vec::new();
    for ((_, written), name) in update.assignments.iter().zip(&names) {
        let (Some(target), Some(value)) = (output.next(), output.next()) else { break };
        let column = target.as_changed_column().ok_or_else(|| Error::column_not_updatable(name))?;
        let value = (!matches!(written, ast::Expr::Default)).then_some(value);
        if value.is_some() && table.columns[column].generated.is_some() {
            return Err(Error::generated_value(&table.columns[column].name, &table.name));
        }
        assignments.push(Assignment { column, value });
    }
    if update.limit.is_some() {
        let columns: Vec<usize> = output.filter_map(|expr| expr.as_column()).collect();
        check_limited(context, alias.unwrap_or(&definition.name), &table, &columns, "UPDATE")?;
    }
    let assigned = |column: usize| assignments.iter().any(|assignment| assignment.column == column);
    let touched: Vec<usize> =
        (0..table.columns.len()).filter(|at| table.columns[*at].on_update_now && !assigned(*at)).collect();
    let select = select(context, block)?;
    let changed =
        |column: usize| assigned(column) || touched.contains(&column) || table.columns[column].generated.is_some();
    let collect_first = reads_what_changes(&select, &table, &changed);
    let defaults = defaults(&table)?;
    let rules = rules_of_update(context, &table, &assignments)?;
    let check = check_of(context, definition)?;
    let triggers = Triggers::of(context, &table, &[TriggerEvent::Update])?;
    let division = select.sources.first().and_then(|source| source.division.clone());
    let collect_first = collect_first || check.is_some() || triggers.is_some() || division.is_some();
    Ok(Updating::Table(Box::new(UpdatePlan {
        table,
        ignore: update.ignore,
        select,
        assignments,
        touched,
        collect_first,
        defaults,
        rules,
        check,
        triggers,
        division,
    })))
}

fn delete_from_view(
    context: &PlanContext<'_>,
    delete: &ast::Delete,
    definition: &Arc<Definition>,
) -> Result<DeletePlan> {
    context.rights.need_for_rows(Privileges::DELETE, &definition.database, &definition.name)?;
    let query = RowsQuery { filter: delete.filter.as_ref(), order_by: &delete.order_by, limit: delete.limit.as_ref() };
    let alias = delete.alias.as_deref();
    let mut returning = None;
    // What is returned becomes an expression over the table's columns along with those of the view.
    let all = |level: &Level<'_>| {
        let mut columns: Vec<Expr> = (0..level.sources[0].columns.len()).map(|column| level.expr(column)).collect();
        returning = bind_returning(level, &delete.returning)?;
        if let Some(returning) = &mut returning {
            columns.append(&mut returning.output);
        }
        Ok((columns, Vec::new()))
    };
    let change =
        Change { definition, alias, read_mode: ReadMode::EXCLUSIVE, wanted: Privileges::DELETE, statement: "DELETE" };
    let (mut block, table) = rows(context, &change, &query, all)?;
    let table = table.ok_or_else(|| Error::view_delete_join(&definition.database, &definition.name))?;
    let mut columns = std::mem::take(&mut block.output);
    if let Some(returning) = &mut returning {
        returning.output = columns.split_off(columns.len() - returning.columns.len());
    }
    if delete.limit.is_some() {
        let columns: Vec<usize> = columns.iter().filter_map(|expr| expr.as_column()).collect();
        check_limited(context, alias.unwrap_or(&definition.name), &table, &columns, "DELETE")?;
    }
    refuse_sequence(&table)?;
    let triggers = Triggers::of(context, &table, &[TriggerEvent::Delete])?;
    Ok(DeletePlan { table, ignore: delete.ignore, select: select(context, block)?, returning, triggers })
}
