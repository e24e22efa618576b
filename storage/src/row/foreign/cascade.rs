//! The parent's side: which rows refer to a row that is deleted or changes its key, and what happens to them.

use std::sync::Arc;

use format::ids::TableId;
use format::page::index::SearchMode;
use format::record::is_deleted;
use format::value::ColumnType;

use super::check::{violation, with_gaps};
use super::{DEPTH_MAX, Link, NewValues, ParentSide, Relations};
use crate::error::{Error, ForeignKeySide, Result};
use crate::row::fill::fill;
use crate::row::write::{Changes, key_of_row};
use crate::row::{self, Context, Scan, Table};
use crate::schema::{ColumnSet, ReadMode, ReferentialAction, Row, ScanRange, TableState};
use crate::transaction::Transaction;

/// Tables that the cascades of a statement changed, and how many rows each gained.
pub type Followers = Vec<(Arc<TableState>, i64)>;

/// One operation of a cascade, and those that led to it.
struct Step<'s> {
    table: TableId,
    updates: bool,
    depth: usize,
    above: Option<&'s Step<'s>>,
}

impl<'s> Step<'s> {
    fn first(table: &Table, updates: bool) -> Step<'static> {
        Step { table: table.table_id(), updates, depth: 1, above: None }
    }

    fn next(&'s self, table: &Table, updates: bool) -> Step<'s> {
        Step { table: table.table_id(), updates, depth: self.depth + 1, above: Some(self) }
    }

    /// Whether a table is updated here or further up.
    fn is_updating(&self, table: TableId) -> bool {
        self.updates && self.table == table || self.above.is_some_and(|above| above.is_updating(table))
    }
}

/// Deletes a row and then deletes, changes or refuses its children. After an error part of it may be done: the caller
/// undoes it.
pub fn delete(
    ctx: &Context<'_>,
    trx: &mut Transaction,
    table: &Table,
    row: &Row,
    followers: &mut Followers,
) -> Result<()> {
    delete_at(ctx, trx, table, row, &Step::first(table, false), followers)
}

/// Changes a row and then deletes, changes or refuses its children. After an error part of it may be done: the caller
/// undoes it.
pub fn update(
    ctx: &Context<'_>,
    trx: &mut Transaction,
    table: &Table,
    row: &Row,
    changes: &Changes<'_>,
    followers: &mut Followers,
) -> Result<()> {
    update_at(ctx, trx, table, row, changes, &Step::first(table, true), followers)
}

fn delete_at(
    ctx: &Context<'_>,
    trx: &mut Transaction,
    table: &Table,
    row: &Row,
    step: &Step<'_>,
    followers: &mut Followers,
) -> Result<()> {
    let Some((relations, old)) = children_of(ctx, table, row, None)? else {
        return row::delete(ctx, trx, table, row);
    };
    let at = Parent { ctx, step, old: &old, changes: None };
    at.refuse_own(trx, relations)?;
    row::delete(ctx, trx, table, row)?;
    at.settle(trx, relations, followers)
}

fn update_at(
    ctx: &Context<'_>,
    trx: &mut Transaction,
    table: &Table,
    row: &Row,
    changes: &Changes<'_>,
    step: &Step<'_>,
    followers: &mut Followers,
) -> Result<()> {
    let Some((relations, old)) = children_of(ctx, table, row, Some(changes))? else {
        return row::update(ctx, trx, table, row, changes);
    };
    let at = Parent { ctx, step, old: &old, changes: Some(changes) };
    at.refuse_own(trx, relations)?;
    row::update(ctx, trx, table, row, changes)?;
    at.settle(trx, relations, followers)
}

/// The columns of a link that are changed from what the row had.
fn is_concerned(parent: &ParentSide, changes: &Changes<'_>) -> bool {
    changes.iter().any(|(column, _)| parent.columns.contains(column))
}

/// The relations of a table, and the row's referenced columns as they are before the change; None = no row can refer to
/// it. The row is locked exclusively.
fn children_of<'c>(
    ctx: &Context<'c>,
    table: &Table,
    row: &Row,
    changes: Option<&Changes<'_>>,
) -> Result<Option<(&'c Relations, Row)>> {
    let Some(relations) = ctx.foreign.and_then(|key_graph| key_graph.of(table.table_id())) else { return Ok(None) };
    let mut columns = ColumnSet::EMPTY;
    for parent in relations.children.iter().filter_map(|link| link.parent.as_ref()) {
        if changes.is_none_or(|changes| is_concerned(parent, changes)) {
            parent.columns.iter().for_each(|column| columns.insert(*column));
        }
    }
    if columns.is_empty() {
        return Ok(None);
    }
    let row_id = row.row_id.to_be_bytes();
    let key = key_of_row(table, row, &row_id);
    let (page, position) = table.rows().find(ctx.store, &key, SearchMode::LessOrEqual)?;
    if !position.matched || is_deleted(&page, usize::from(position.origin)) {
        return Err(Error::NotFound("the row to change".into()));
    }
    let mut old = Row::new();
    fill(ctx, table, &page, usize::from(position.origin), &columns, &mut old)?;
    Ok(Some((relations, old)))
}

/// A row of a parent table that is deleted or changed.
struct Parent<'p> {
    ctx: &'p Context<'p>,
    step: &'p Step<'p>,
    old: &'p Row,
    changes: Option<&'p Changes<'p>>,
}

impl Parent<'_> {
    /// The key that a link's children have; None = it does not change, or no child can have it.
    fn lost_key<'k>(&'k self, parent: &ParentSide) -> Option<Vec<Option<&'k [u8]>>> {
        if let Some(changes) = self.changes {
            let stays = |column: &usize| {
                changes
                    .iter()
                    .find(|(changed, _)| changed == column)
                    .is_none_or(|(_, new)| *new == self.old.get(*column))
            };
            if parent.columns.iter().all(stays) {
                return None;
            }
        }
        let key: Vec<Option<&[u8]>> = parent.columns.iter().map(|column| self.old.get(*column)).collect();
        key.iter().all(Option::is_some).then_some(key)
    }

    fn action(&self, link: &Link) -> ReferentialAction {
        if self.changes.is_some() { link.key().on_update } else { link.key().on_delete }
    }

    /// A row that refers to itself blocks itself, as a child would: it is checked while it still exists. If it is to get
    /// another primary key, a cascade would have to change its table while that is updated, which no cascade does.
    fn refuse_own(&self, trx: &mut Transaction, relations: &Relations) -> Result<()> {
        for link in relations.children.iter().filter(|link| link.is_own()) {
            let Some(parent) = &link.parent else { continue };
            if self.action(link).changes_children() && (self.changes.is_none() || parent.index != 0) {
                continue;
            }
            if let Some(key) = self.lost_key(parent) {
                self.refuse(trx, link, &key)?;
            }
        }
        Ok(())
    }

    /// The row is changed: handles the rows that refer to it.
    fn settle(&self, trx: &mut Transaction, relations: &Relations, followers: &mut Followers) -> Result<()> {
        for link in &relations.children {
            let Some(parent) = &link.parent else { continue };
            let Some(key) = self.lost_key(parent) else { continue };
            match self.action(link) {
                ReferentialAction::NoAction | ReferentialAction::Restrict if link.is_own() => {}
                ReferentialAction::NoAction | ReferentialAction::Restrict => self.refuse(trx, link, &key)?,
                action => self.follow(trx, link, parent, &key, action, followers)?,
            }
        }
        Ok(())
    }

    /// An error if any child has the key; otherwise none can get it, because the gap is locked.
    fn refuse(&self, trx: &mut Transaction, link: &Link, key: &[Option<&[u8]>]) -> Result<()> {
        let child = &link.child;
        let range = ScanRange::prefix(key);
        let mut scan = Scan::new(child, link.child_index, ReadMode::SHARED, &ColumnSet::EMPTY, &range);
        let mut row = Row::new();
        match with_gaps(trx, |trx| scan.next(self.ctx, trx, child, &mut row))? {
            true => Err(self.has_children(link, key, "there is a record with it")),
            false => Ok(()),
        }
    }

    /// Deletes or changes all children that have the key.
    fn follow(
        &self,
        trx: &mut Transaction,
        link: &Link,
        parent: &ParentSide,
        key: &[Option<&[u8]>],
        action: ReferentialAction,
        followers: &mut Followers,
    ) -> Result<()> {
        let child = &link.child;
        let deletes = self.changes.is_none() && action == ReferentialAction::Cascade;
        let step = self.step.next(child, !deletes);
        let values = if deletes { Ok(Vec::new()) } else { self.new_values(link, parent, key, action) };
        // Values that do not fit are an error if there is a child.
        let (values, mut unfit) = match values {
            Ok(values) => (values, None),
            Err(error) => (Vec::new(), Some(error)),
        };
        let computed = self.computed_from(child, &values).unwrap_or_else(|| {
            unfit = Some(self.has_children(link, key, "its generated columns cannot be computed"));
            Vec::new()
        });
        // What is computed may read any column.
        let read = if computed.is_empty() { ColumnSet::EMPTY } else { ColumnSet::first(child.columns.len()) };
        let range = ScanRange::prefix(key);
        // The scan also finds the row itself.
        let mut scan = Scan::new(child, link.child_index, ReadMode::EXCLUSIVE, &read, &range);
        let mut row = Row::new();
        let mut count = 0_i64;
        while with_gaps(trx, |trx| scan.next(self.ctx, trx, child, &mut row))? {
            if step.depth > DEPTH_MAX {
                return Err(Error::CascadeTooDeep { depth_max: DEPTH_MAX });
            }
            count += 1;
            if deletes {
                delete_at(self.ctx, trx, child, &row, &step, followers)?;
                continue;
            }
            if self.step.is_updating(child.table_id()) {
                return Err(self.has_children(link, key, "a cascade would update the table once more"));
            }
            if let Some(error) = unfit.take() {
                return Err(error);
            }
            let mut own = Vec::new();
            if let Some(generator) = self.ctx.generator.filter(|_| !computed.is_empty()) {
                let value = |column: usize| match values.iter().find(|(changed, _)| *changed == column) {
                    Some((_, new)) => new.clone(),
                    None => row.get(column).map(<[u8]>::to_vec),
                };
                let unfit = || self.has_children(link, key, "a generated column of the child table has no value then");
                own = generator.compute(&child.columns, &computed, &value).ok_or_else(unfit)?;
                if own.iter().any(|(column, value)| value.is_none() && !child.columns[*column].nullable) {
                    return Err(unfit());
                }
            }
            let changes: Vec<(usize, Option<&[u8]>)> =
                values.iter().chain(&own).map(|(column, value)| (*column, value.as_deref())).collect();
            // The ordinal that storage tells is one of the child's indexes: the caller knows the parent.
            update_at(self.ctx, trx, child, &row, &changes, &step, followers).map_err(|error| match error {
                Error::DuplicateKey { index } => {
                    Error::ForeignDuplicate { table: child.name.clone(), index: child.indexes[index].name.clone() }
                }
                error => error,
            })?;
        }
        if count > 0 {
            followers.push((child.state.clone(), if deletes { -count } else { 0 }));
        }
        Ok(())
    }

    /// The generated columns of a child that follow its new values.
    fn computed_from(&self, child: &Table, values: &NewValues) -> Option<Vec<usize>> {
        if values.is_empty() || child.columns.iter().all(|column| column.generated.is_none()) {
            return Some(Vec::new());
        }
        let changed: Vec<usize> = values.iter().map(|(column, _)| *column).collect();
        self.ctx.generator?.depending(&child.columns, &changed)
    }

    /// What the children's columns become.
    fn new_values(
        &self,
        link: &Link,
        parent: &ParentSide,
        key: &[Option<&[u8]>],
        action: ReferentialAction,
    ) -> Result<NewValues> {
        let child = &link.child;
        let mut values = Vec::with_capacity(link.child_columns.len());
        for (own, column) in link.child_columns.iter().zip(&parent.columns) {
            let described = &child.columns[*own];
            let new = match (action, self.changes) {
                (ReferentialAction::Cascade, Some(changes)) => {
                    let Some((_, new)) = changes.iter().find(|(changed, _)| changed == column) else { continue };
                    *new
                }
                _ => None,
            };
            let value = match new {
                None => described.nullable.then_some(None),
                Some(bytes) => converted(&parent.table.columns[*column].ty, &described.ty, bytes).map(Some),
            };
            let unfit = || self.has_children(link, key, "the new value does not fit the column of the child table");
            let value = value.ok_or_else(unfit)?;
            values.push((*own, value));
        }
        Ok(values)
    }

    fn has_children(&self, link: &Link, key: &[Option<&[u8]>], what: &str) -> Error {
        let parent = link.parent.as_ref().expect("a row of it is being changed");
        let doing = format!(
            "Trying to delete or update in parent table {}, in index {} tuple:",
            *parent.table, parent.table.indexes[parent.index].name
        );
        let index = &link.child.indexes[link.child_index].name;
        let what = format!("But in child table {}, in index {index}, {what}.", *link.child);
        violation(link, ForeignKeySide::Parent, &doing, key, &what)
    }
}

/// A parent's value as the child's column stores it; None = it does not fit.
fn converted(parent: &ColumnType, child: &ColumnType, bytes: &[u8]) -> Option<Vec<u8>> {
    let is_text = matches!(
        child,
        ColumnType::Char { .. } | ColumnType::VarChar { .. } | ColumnType::Binary { .. } | ColumnType::VarBinary { .. }
    );
    if parent == child || !is_text {
        return Some(bytes.to_vec());
    }
    let mut out = Vec::new();
    child.encode(&parent.decode(bytes), &mut out).ok()?;
    Some(out)
}
