//! Foreign keys of a session: the tables that a change may reach, the locks on their names, and the last violation.
//!
//! A table without foreign keys pays one check of a flag. A change of one with foreign keys first collects the *key
//! graph*: the relations of the table, and of those that may be changed along with it. The transaction shares all their
//! names to its end, so no DDL statement changes what the links mean; so the key graph stays valid, and serves every
//! later change.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use format::ids::TrxId;

use super::trx::Trx;
use super::{Engine, Inner};
use crate::dictionary::Table;
use crate::error::{Error, Result};
use crate::row;
use crate::row::foreign::{Followers, Generator, Link};
use crate::schema::Row;
use crate::sync::{Mutex, Rank};
use crate::transaction::Transaction;

/// The last row that violated a foreign key, for SHOW ENGINE INNODB STATUS.
#[derive(Clone, Debug)]
pub struct ForeignKeyReport {
    pub trx: TrxId,
    /// Since the Unix epoch.
    pub at: Duration,
    pub text: Box<str>,
}

/// The engine's copy of the last report.
pub(super) struct LastViolation(Mutex<Option<ForeignKeyReport>>);

impl LastViolation {
    pub fn new() -> LastViolation {
        LastViolation(Mutex::new(Rank::Leaf, None))
    }
}

impl Engine {
    /// Says how generated columns of rows are computed that cascades change. The first one counts.
    pub fn generate_by(&self, make: impl FnOnce() -> Box<dyn Generator>) {
        self.inner.generator.get_or_init(make);
    }

    /// The last row that violated a foreign key.
    pub fn last_foreign_key_error(&self) -> Option<ForeignKeyReport> {
        self.inner.last_violation.0.lock().clone()
    }
}

impl Inner {
    fn note_violation(&self, trx: TrxId, error: &Error) {
        if let Error::ForeignKey(violation) = error {
            let at = self.store.disk().clock().wall();
            *self.last_violation.0.lock() = Some(ForeignKeyReport { trx, at, text: violation.report.clone() });
        }
    }
}

impl Trx {
    /// foreign_key_checks, from the next change on; what it was.
    pub fn set_foreign_key_checks(&mut self, on: bool) -> bool {
        std::mem::replace(&mut self.foreign_key_checks, on)
    }

    /// Whether changes of a table have to check others.
    #[inline]
    pub(super) fn looks_at_others(&self, table: &Table) -> bool {
        table.is_related() && self.foreign_key_checks
    }

    #[cold]
    pub(super) fn insert_related(&mut self, table: &Table, values: &[Option<&[u8]>]) -> Result<()> {
        self.with_key_graph(table, |context, trx, _| row::insert(context, trx, table, values))
    }

    #[cold]
    pub(super) fn update_related(
        &mut self,
        table: &Table,
        row: &Row,
        changes: &[(usize, Option<&[u8]>)],
    ) -> Result<()> {
        let changed = |column: usize| changes.iter().any(|(of, _)| *of == column);
        self.check_followers(table, &|link| {
            let columns = link.parent.as_ref().map(|parent| &parent.columns[..]).unwrap_or_default();
            link.key().on_update.changes_children() && columns.iter().any(|column| changed(*column))
        })?;
        self.with_key_graph(table, |context, trx, followers| {
            row::foreign::update(context, trx, table, row, changes, followers)
        })
    }

    #[cold]
    pub(super) fn delete_related(&mut self, table: &Table, row: &Row) -> Result<()> {
        self.check_followers(table, &|link| link.key().on_delete.changes_children())?;
        self.with_key_graph(table, |context, trx, followers| row::foreign::delete(context, trx, table, row, followers))
    }

    /// An error if rows of a READ ONLY database may have to follow a change of the table along these links. Whether there
    /// are such rows does not matter, as in MySQL.
    fn check_followers(&mut self, table: &Table, is_followed: &dyn Fn(&Link) -> bool) -> Result<()> {
        let engine = self.engine().clone();
        let dictionary = &engine.inner.dictionary;
        if self.changes_read_only || !dictionary.has_read_only() {
            return Ok(());
        }
        self.gather(table)?;
        let Some(relations) = dictionary.relations(table.id) else { return Ok(()) };
        let mut seen = vec![table.id];
        let mut waiting: Vec<_> = relations.children.iter().filter(|link| is_followed(link)).map(child_of).collect();
        while let Some(child) = waiting.pop() {
            dictionary.check_writable(&child.database)?;
            if seen.contains(&child.id) {
                continue;
            }
            seen.push(child.id);
            let Some(relations) = dictionary.relations(child.id) else { continue };
            let followed = relations.children.iter().filter(|link| link.key().changes_children());
            waiting.extend(followed.map(child_of));
        }
        Ok(())
    }

    fn with_key_graph(
        &mut self,
        table: &Table,
        act: impl FnOnce(&row::Context<'_>, &mut Transaction, &mut Followers) -> Result<()>,
    ) -> Result<()> {
        self.gather(table)?;
        let engine = self.engine().clone();
        let mut context = engine.inner.context();
        context.foreign = Some(&self.key_graph);
        let mut followers = Followers::new();
        let done = act(&context, &mut self.inner, &mut followers);
        if let Err(error) = &done {
            engine.inner.note_violation(self.inner.id, error);
            return done;
        }
        for (state, rows) in followers {
            state.modified_rows.fetch_add(1, Ordering::Relaxed);
            state.rows.fetch_add(rows as u64, Ordering::Relaxed);
            self.note_changed(&state);
        }
        Ok(())
    }

    /// Makes sure that the key graph has a table, whose name is shared already.
    fn gather(&mut self, table: &Table) -> Result<()> {
        let mut waiting = vec![table.id];
        while let Some(id) = waiting.pop() {
            if self.key_graph.contains(id) {
                continue;
            }
            let engine = self.engine().clone();
            let dictionary = &engine.inner.dictionary;
            let Some(mut relations) = dictionary.relations(id) else { continue };
            loop {
                for (lock, used) in &relations.names {
                    self.share_name(lock, *used)?;
                }
                match dictionary.relations(id) {
                    Some(now) if !Arc::ptr_eq(&now, &relations) => relations = now,
                    _ => break,
                }
            }
            let followed = |link: &&Link| link.key().changes_children();
            waiting.extend(relations.children.iter().filter(followed).map(|link| link.child.id));
            self.key_graph.add(id, relations);
        }
        Ok(())
    }
}

fn child_of(link: &Link) -> Arc<row::Table> {
    link.child.clone()
}
