//! What a change of a view changes: its table, the rights that it takes, and WITH CHECK OPTION.
//!
//! A view that only selects from one table is that table under other names, with conditions. An INSERT gives the table's
//! columns the view's names; UPDATE and DELETE are in `view_change`.
//!
//! WITH CHECK OPTION: the conditions of the view, and of the views below it where they count, must hold of every row that
//! is written. They come from binding the view once more, without the conditions that do not count:
//!
//! ```text
//!            v has            conditions of v     below, of u
//!   CASCADED, or asked for    count               count
//!   LOCAL                     count               as u says
//!   nothing                   do not              as u says
//! ```
//!
//! Each view's definer needs on what it names what the statement does; the session needs it on the view alone.

use std::borrow::Cow;
use std::rc::Rc;
use std::sync::Arc;

use storage::schema::same_name;
use storage::{Definition, DefinitionKind, ReadMode, Table};

use super::logical::{Block, Derived, Query};
use super::view::{rights_of, told_of};
use super::{PlanContext, SourceKind, SubqueryPlan, rules};
use crate::accounts::{Privileges, Rights};
use crate::error::{Error, Result};
use crate::expression::Expr;
use crate::parser::ast::{self, CheckOption};
use crate::views::View;

/// The conditions that rows written through a view must meet.
pub struct ViewCheck {
    pub database: Box<str>,
    pub name: Box<str>,
    /// Over the columns of the table.
    pub conditions: Vec<Expr>,
    pub subqueries: Vec<SubqueryPlan>,
}

/// A view that rows are inserted into.
pub struct InsertTarget {
    pub definition: Arc<Definition>,
    pub table: Arc<Table>,
    /// The columns of the view, and which of the table each is.
    pub columns: Vec<(String, usize)>,
    pub check: Option<ViewCheck>,
}

impl InsertTarget {
    pub fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().find(|(own, _)| same_name(own, name)).map(|(_, column)| *column)
    }

    /// What each column of the table is called through the view.
    pub fn names(&self) -> Vec<Option<&str>> {
        let name = |at: usize| self.columns.iter().find(|(_, column)| *column == at).map(|(name, _)| name.as_str());
        (0..self.table.columns.len()).map(name).collect()
    }

    pub fn check_columns(&self, context: &PlanContext<'_>, wanted: Privileges, columns: &[usize]) -> Result<()> {
        check_columns(context, &self.definition, wanted, columns.iter().filter_map(|at| self.names()[*at]))
    }
}

pub(super) fn check_columns<'n>(
    context: &PlanContext<'_>,
    view: &Definition,
    wanted: Privileges,
    mut names: impl Iterator<Item = &'n str>,
) -> Result<()> {
    if !context.rights.depends_on_columns(wanted, &view.database, &view.name) {
        return Ok(());
    }
    names.try_for_each(|name| context.rights.need_column(wanted, &view.database, &view.name, name))
}

/// Whether a query is one table that can be changed through it, once its views are merged.
fn is_table(block: &Block) -> bool {
    rules::selects_only(block)
        && matches!(&block.sources[..], [source] if matches!(source.kind, SourceKind::Table(_)))
        && block.from.semis.is_empty()
}

/// Takes the query out of a view that was just bound, as one block of tables; None: it is something else.
fn merged(derived: &mut Rc<Derived>) -> Option<Block> {
    let derived = Rc::get_mut(derived)?;
    if derived.stays_apart() {
        return None;
    }
    let Query::Block(block) = derived.query.get_mut() else { return None };
    let mut block = std::mem::replace(&mut **block, Block::nothing());
    rules::merge_all(&mut block);
    Some(block)
}

/// Whether a query can be merged, and whether rows can be changed through it: what CREATE VIEW wants to know.
pub fn kind_of(query: Query) -> (bool, bool) {
    let Query::Block(mut block) = query else { return (false, false) };
    let merges = rules::selects_only(&block);
    rules::merge_all(&mut block);
    let tables = block.sources.iter().all(|source| matches!(source.kind, SourceKind::Table(_)));
    let has_column = block.output.iter().any(|expr| expr.as_column().is_some());
    (merges, merges && tables && has_column && rules::selects_only(&block))
}

/// Every view from one on down to its table needs the privileges, each with the rights of the one above.
pub(super) fn check_rights(context: &PlanContext<'_>, definition: &Definition, wanted: Privileges) -> Result<()> {
    let by_column = wanted & Privileges::COLUMN;
    let need = |rights: &Rights, database: &str, name: &str| {
        rights.need_some(by_column, database, name)?;
        rights.need_table(wanted - by_column, database, name)
    };
    need(context.rights, &definition.database, &definition.name)?;
    let engine = &context.instance.engine;
    let mut rights = Cow::Borrowed(context.rights);
    let mut view = View::decode(&definition.bytes)?;
    // Views below a view were there when it was bound; a chain has an end, because it is not recursive.
    loop {
        rights = Cow::Owned(rights_of(context.instance, &rights, &view)?.into_owned());
        let [(database, name)] = &view.tables[..] else { return Ok(()) };
        need(&rights, database, name).map_err(|error| told_of(definition, error))?;
        let Some(below) = engine.definition(DefinitionKind::View, database, name) else { return Ok(()) };
        view = View::decode(&below.bytes)?;
    }
}

/// Removes the conditions that CHECK OPTION does not ask for.
fn keep_checked(block: &mut Block, check: Option<CheckOption>, cascaded: bool) {
    if check.is_none() && !cascaded {
        block.from.conditions.clear();
    }
    let cascaded = cascaded || check == Some(CheckOption::Cascaded);
    for source in &mut block.sources {
        let below = match &source.kind {
            SourceKind::Derived(derived) => derived.view.as_ref().map(|view| view.check),
            _ => None,
        };
        if let (Some(check), Some(Query::Block(inner))) = (below, source.own_query()) {
            keep_checked(inner, check, cascaded);
        }
    }
}

/// The conditions that rows written through a view must meet.
pub(super) fn check_of(context: &PlanContext<'_>, definition: &Definition) -> Result<Option<ViewCheck>> {
    let (view, mut derived) = context.bind_view(definition, ReadMode::Consistent)?;
    let Some(own) = Rc::get_mut(&mut derived) else { return Ok(None) };
    if let Query::Block(block) = own.query.get_mut() {
        keep_checked(block, view.check, false);
    }
    let Some(block) = merged(&mut derived) else { return Ok(None) };
    if block.from.conditions.is_empty() {
        return Ok(None);
    }
    let subqueries = context.plan_subqueries(block.subqueries)?;
    Ok(Some(ViewCheck {
        database: definition.database.clone(),
        name: definition.name.clone(),
        conditions: block.from.conditions,
        subqueries,
    }))
}

/// The view that an INSERT or REPLACE names, if it does.
pub fn insert_target(
    context: &PlanContext<'_>,
    name: &ast::TableName,
    wanted: Privileges,
) -> Result<Option<InsertTarget>> {
    let Some(definition) = context.find_view(name)? else { return Ok(None) };
    check_rights(context, &definition, wanted)?;
    let (view, mut derived) = context.bind_view(&definition, ReadMode::EXCLUSIVE)?;
    let refused = || Error::target_not_insertable(&name.name);
    let block = merged(&mut derived).ok_or_else(refused)?;
    if rules::selects_only(&block) && block.sources.len() > 1 {
        return Err(Error::unsupported("INSERT into a view of several tables"));
    }
    if !is_table(&block) {
        return Err(refused());
    }
    let mut columns: Vec<(String, usize)> = Vec::new();
    for (name, expr) in view.columns.iter().zip(&block.output) {
        let column = expr.as_column().ok_or_else(refused)?;
        if columns.iter().any(|(_, known)| *known == column) {
            return Err(refused());
        }
        columns.push((name.clone(), column));
    }
    let table = block.sources[0].table().cloned().ok_or_else(refused)?;
    if let Some(locked) = context.locked {
        locked.check(&definition.database, &definition.name, &name.name, storage::TableUse::Write)?;
    }
    let check = check_of(context, &definition)?;
    Ok(Some(InsertTarget { definition, table, columns, check }))
}
