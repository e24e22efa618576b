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
//! Which rights this takes below the view is in `view_rights`.

use std::rc::Rc;
use std::sync::Arc;

use storage::schema::same_name;
use storage::{Definition, ReadMode, Table};

use super::logical::{Block, Derived, Query, Source};
use super::role::Role;
use super::view_rights::{check_below, unreadable};
use super::{PlanContext, SourceKind, SubqueryPlan, rules};
use crate::accounts::Privileges;
use crate::error::{Error, Result};
use crate::expression::Expr;
use crate::parser::ast::{self, CheckOption, SelectItem};
use crate::views::View;

/// The conditions that rows written through a view must meet.
pub struct ViewCheck {
    pub database: Box<str>,
    pub name: Box<str>,
    /// Over the columns of the view's tables, one table after the other.
    pub conditions: Vec<Expr>,
    pub subqueries: Vec<SubqueryPlan>,
    /// Where the columns of the table that is changed begin.
    pub base: usize,
    /// Which columns of the view's other tables the conditions read, and where the statement's rows have them. What is
    /// inserted stands beside no rows of these tables: their columns are NULL.
    pub others: Vec<(usize, usize)>,
}

/// A view that rows are inserted into.
pub struct InsertTarget {
    pub definition: Arc<Definition>,
    pub table: Arc<Table>,
    /// The columns of the view, and which of the table each is.
    pub columns: Vec<(String, usize)>,
    /// Columns of the view that may not be read, with the refusals.
    pub unreadable: Vec<(String, Error)>,
    pub check: Option<ViewCheck>,
    /// It has other tables beside this one.
    pub is_joined: bool,
    /// All columns of the view, and whether they are this table's.
    pub names_in_order: Vec<(String, bool)>,
    /// Some are expressions.
    pub computes: bool,
}

impl InsertTarget {
    /// RETURNING with the view's columns where it says `*`, in the order in which the view has them. Of tables that the
    /// rows are not inserted into there is nothing.
    pub fn returned(&self, items: &[SelectItem], alias: &str) -> Result<Vec<SelectItem>> {
        let column = |(name, is_own): &(String, bool)| {
            let column = ast::ColumnName { database: None, table: Some(alias.into()), name: name.clone() };
            let expr = if *is_own { ast::Expr::Column(column) } else { ast::Expr::NULL };
            SelectItem::Expr { expr, alias: Some(name.clone()), text: name.clone() }
        };
        let all = || match self.computes {
            true => Err(Error::unsupported("RETURNING of rows of joined views")),
            false => Ok(self.names_in_order.iter().map(column)),
        };
        let mut out = Vec::new();
        for item in items {
            match item {
                SelectItem::All => out.extend(all()?),
                SelectItem::AllOf(table) if same_name(&table.name, alias) => out.extend(all()?),
                SelectItem::Expr { expr: ast::Expr::Column(of), alias: None, .. }
                    if of.table.as_deref().is_none_or(|table| same_name(table, alias))
                        && let Some(other) =
                            self.names_in_order.iter().find(|(own, is_own)| !is_own && same_name(own, &of.name)) =>
                {
                    out.push(column(other));
                }
                other => out.push(other.clone()),
            }
        }
        Ok(out)
    }

    /// The error of a RETURNING that cannot be bound: one that computes with columns of other tables of the view.
    pub fn refused_returning(&self, error: Error) -> Error {
        let is_other = |(name, is_own): &(String, bool)| !is_own && error.message.contains(&format!("'{name}'"));
        match error.code == 1054 && self.is_joined && self.names_in_order.iter().any(is_other) {
            true => Error::unsupported("RETURNING of rows of joined views"),
            false => error,
        }
    }

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
    let has_column = block.output.iter().any(|expr| expr.as_changed_column().is_some());
    (merges, merges && tables && has_column && rules::selects_only(&block))
}

/// Removes the conditions that CHECK OPTION does not ask for. Those of a derived table are its view's own.
fn keep_checked(block: &mut Block, check: Option<CheckOption>, cascaded: bool) {
    if check.is_none() && !cascaded {
        block.from.conditions.clear();
    }
    let cascaded = cascaded || check == Some(CheckOption::Cascaded);
    for source in &mut block.sources {
        let below = match &source.kind {
            SourceKind::Derived(derived) => Some(derived.view.as_ref().map_or(check, |view| view.check)),
            _ => None,
        };
        if let (Some(check), Some(Query::Block(inner))) = (below, source.own_query()) {
            keep_checked(inner, check, cascaded);
        }
    }
}

/// The conditions that rows written through a view must meet.
pub(super) fn check_of(context: &PlanContext<'_>, definition: &Definition) -> Result<Option<ViewCheck>> {
    Ok(conditions_of(context, definition)?.map(|(check, ..)| check))
}

/// The same of a view that joins tables, or that stands in a join: `column` is one of those that are changed, `source` its
/// table in the statement's merged query.
pub(super) fn check_in_join(
    context: &PlanContext<'_>,
    definition: &Definition,
    column: &str,
    (source, statement): (usize, &Block),
) -> Result<Option<ViewCheck>> {
    let Some((mut check, block, view)) = conditions_of(context, definition)? else { return Ok(None) };
    let position = view.columns.iter().position(|own| same_name(own, column));
    let slot = position.and_then(|at| block.output[at].as_changed_column());
    let own = block.slots[slot.ok_or_else(|| Error::column_not_updatable(column))?].0;
    check.base = block.sources[own as usize].slot_base;
    // The view's tables stand in the statement in the order in which they stand in the view.
    let there = |of: u16| source.checked_sub(own.into()).and_then(|first| statement.sources.get(first + of as usize));
    let mut read = vec![!check.subqueries.is_empty(); block.slots.len()];
    check.conditions.iter().for_each(|condition| condition.for_each_column(&mut |slot| read[slot] = true));
    for (slot, (of, column)) in block.slots.iter().enumerate().filter(|(slot, (of, _))| *of != own && read[*slot]) {
        let place = there(*of).ok_or_else(|| Error::internal("a table of a view is missing"))?;
        check.others.push((slot, place.slot_base + *column as usize));
    }
    Ok(Some(check))
}

/// The conditions of WITH CHECK OPTION, over the tables of the view that is returned, too, once it is merged.
fn conditions_of(context: &PlanContext<'_>, definition: &Definition) -> Result<Option<(ViewCheck, Block, View)>> {
    let (view, mut derived) = context.bind_view(definition, ReadMode::Consistent, Role::Changed)?;
    let Some(own) = Rc::get_mut(&mut derived) else { return Ok(None) };
    if let Query::Block(block) = own.query.get_mut() {
        keep_checked(block, view.check, false);
    }
    let Some(mut block) = merged(&mut derived) else { return Ok(None) };
    if block.from.conditions.is_empty() {
        return Ok(None);
    }
    let subqueries = context.plan_subqueries(std::mem::take(&mut block.subqueries))?;
    let check = ViewCheck {
        database: definition.database.clone(),
        name: definition.name.clone(),
        conditions: std::mem::take(&mut block.from.conditions),
        subqueries,
        base: 0,
        others: Vec::new(),
    };
    Ok(Some((check, block, view)))
}

/// A view of several tables: rows go into the one whose columns are named.
fn insert_into_join(
    context: &PlanContext<'_>,
    definition: Arc<Definition>,
    view: &View,
    block: &Block,
    given: &[String],
    unreadable: Vec<(String, Error)>,
) -> Result<InsertTarget> {
    let refused = || Error::target_not_insertable(&definition.name);
    let (database, name) = (&*definition.database, &*definition.name);
    if given.is_empty() {
        return Err(Error::view_without_fields(database, name));
    }
    let place = |expr: &Expr| expr.as_changed_column().map(|slot| block.slots[slot]);
    let mut target = None;
    for column in given {
        let at = view.columns.iter().position(|own| same_name(own, column));
        let at = at.ok_or_else(|| Error::unknown_column(column, "field list"))?;
        let (source, _) = place(&block.output[at]).ok_or_else(refused)?;
        if target.is_some_and(|known| known != source) {
            return Err(Error::view_of_many(database, name));
        }
        target = Some(source);
    }
    let source = target.ok_or_else(refused)?;
    let owner = &block.sources[source as usize];
    let table = owner.table().cloned().filter(|_| !owner.nullable).ok_or_else(refused)?;
    if block.subqueries.iter().any(|subquery| reads(&subquery.query, &table)) {
        return Err(refused());
    }
    let mut columns: Vec<(String, usize)> = Vec::new();
    for (name, expr) in view.columns.iter().zip(&block.output) {
        let Some((_, column)) = place(expr).filter(|(of, _)| *of == source) else { continue };
        if columns.iter().any(|(_, known)| *known == column as usize) {
            return Err(refused());
        }
        columns.push((name.clone(), column as usize));
    }
    if let Some(locked) = context.locked {
        locked.check(database, name, name, storage::TableUse::Write)?;
    }
    let check = check_of(context, &definition)?.map(|check| ViewCheck { base: owner.slot_base, ..check });
    let own = |name: &String| columns.iter().any(|(known, _)| known == name);
    let names_in_order = view.columns.iter().map(|name| (name.clone(), own(name))).collect();
    let computes = block.output.iter().any(|expr| expr.as_column().is_none());
    Ok(InsertTarget { definition, table, columns, unreadable, check, is_joined: true, names_in_order, computes })
}

/// Whether a query reads a table, itself or through views.
fn reads(query: &Query, table: &Table) -> bool {
    match query {
        Query::Block(block) => {
            let of_source = |source: &Source| match &source.kind {
                SourceKind::Table(own) => own.id == table.id,
                SourceKind::Derived(derived) => reads(&derived.query.borrow(), table),
                _ => false,
            };
            block.sources.iter().any(of_source) || block.subqueries.iter().any(|inner| reads(&inner.query, table))
        }
        Query::Union(union) => union.parts.iter().any(|part| reads(part, table)),
        Query::Recursive(_) | Query::Working(_) => true,
    }
}

/// A change with LIMIT picks rows: a view should have a key of its table, by which they are told apart. `columns` are
/// those of the table that the view has. Without one `updatable_views_with_limit` decides.
pub(super) fn check_limited(
    context: &PlanContext<'_>,
    shown: &str,
    table: &Table,
    columns: &[usize],
    statement: &str,
) -> Result<()> {
    let has = |column: usize| columns.contains(&column);
    let is_key = |index: &&storage::Index| {
        let parts = &index.parts;
        index.unique && !parts.is_empty() && parts.iter().all(|part| !table.columns[part.column].nullable)
    };
    let mut keys = table.indexes.iter().filter(is_key);
    let whole = |index: &storage::Index| index.parts.iter().all(|part| has(part.column));
    if keys.any(whole) || (0..table.columns.len()).all(has) {
        return Ok(());
    }
    match context.eval.session.updatable_views_with_limit() {
        true => Ok(()),
        false => Err(Error::target_not_updatable(shown, statement)),
    }
}

/// The view that an INSERT or REPLACE names, if it does; `updated` are the assignments of ON DUPLICATE KEY UPDATE.
pub fn insert_target(
    context: &PlanContext<'_>,
    name: &ast::TableName,
    given: &[String],
    updated: &[(ast::ColumnName, ast::Expr)],
    wanted: Privileges,
) -> Result<Option<InsertTarget>> {
    let Some(definition) = context.find_view(name)? else { return Ok(None) };
    context.rights.need_for_rows(wanted, &definition.database, &definition.name)?;
    let (view, mut derived) = context.bind_view(&definition, ReadMode::EXCLUSIVE, Role::Changed)?;
    let at = |name: &str| view.columns.iter().position(|own| same_name(own, name));
    let inserted = match given {
        [] => (0..view.columns.len()).collect(),
        given => given.iter().filter_map(|name| at(name)).collect::<Vec<_>>(),
    };
    check_below(context, &definition, &derived, wanted - Privileges::UPDATE, &inserted)?;
    if wanted.has(Privileges::UPDATE) {
        let updated: Vec<usize> = updated.iter().filter_map(|(name, _)| at(&name.name)).collect();
        check_below(context, &definition, &derived, Privileges::UPDATE, &updated)?;
    }
    let unreadable = unreadable(context, &definition, &view, &derived);
    let refused = || Error::target_not_insertable(&name.name);
    let block = merged(&mut derived).ok_or_else(refused)?;
    if rules::selects_only(&block) && block.sources.len() > 1 {
        return insert_into_join(context, definition, &view, &block, given, unreadable).map(Some);
    }
    if !is_table(&block) {
        return Err(refused());
    }
    let mut columns: Vec<(String, usize)> = Vec::new();
    for (name, expr) in view.columns.iter().zip(&block.output) {
        let column = expr.as_changed_column().ok_or_else(refused)?;
        if columns.iter().any(|(_, known)| *known == column) {
            return Err(refused());
        }
        columns.push((name.clone(), column));
    }
    let table = block.sources[0].table().cloned().ok_or_else(refused)?;
    // Which rows the view has would depend on those that are inserted.
    if block.subqueries.iter().any(|subquery| reads(&subquery.query, &table)) {
        return Err(refused());
    }
    if let Some(locked) = context.locked {
        locked.check(&definition.database, &definition.name, &name.name, storage::TableUse::Write)?;
    }
    let check = check_of(context, &definition)?;
    let names_in_order = columns.iter().map(|(name, _)| (name.clone(), true)).collect();
    let target = InsertTarget {
        definition,
        table,
        columns,
        unreadable,
        check,
        is_joined: false,
        names_in_order,
        computes: false,
    };
    Ok(Some(target))
}
