//! A table that is created together with its rows: CREATE TABLE ... SELECT.
//!
//! ```text
//!   LockedTables::begin_table   file and trees beside those of named tables; a dictionary transaction stays open
//!     Trx::insert ...             rows, by a transaction of the caller's; or
//!     Trx::fill_unfinished        all rows at once, sorted, without undo and locks
//!     Trx::commit                 nobody sees them: no name leads to the table
//!   UnfinishedTable::finish     file under its name, rows of the dictionary, commit with the caller's log
//! ```
//!
//! A table that has the name already is dropped by the same commit, if it is to be replaced.
//!
//! The commit in [`UnfinishedTable::finish`] decides about the table, its rows and the log's entry at once. Without it, the
//! dictionary transaction is rolled back and takes the file with it, whatever has become of the transaction that inserted the
//! rows: in [`UnfinishedTable`]'s drop, or in recovery after a crash.
//!
//! The name is locked from the beginning: other sessions do not find the table, and wait if they are to give the name to one
//! of theirs. Rollback and purge find it by its id.
//!
//! Tests: `storage/tests/unfinished.rs` crashes a creation at each change of the disk; `sim --log` does so with a binary log.

use std::sync::Arc;

use super::build::Filling;
use super::locked::LockedTables;
use super::tables::{Names, Place};
use super::{Engine, Trx};
use crate::dictionary::{Ddl, DefinitionChanges, SuspendedDdl, Table};
use crate::error::Result;
use crate::lock::Interrupt;
use crate::row;
use crate::schema::TableDefinition;
use crate::transaction::CommitLog;

/// See the module header. Dropping it takes everything back.
pub struct UnfinishedTable {
    engine: Arc<Engine>,
    table: Arc<Table>,
    /// The table that has its name until it is finished.
    old: Option<Arc<Table>>,
    /// `None`: it is finished, or was taken back.
    ddl: Option<SuspendedDdl>,
    _locks: Names,
}

impl LockedTables<'_> {
    /// Begins to create a table. `replaces`: the table of this name, if there is one; else the name is free. `engine`: the
    /// one that the names are locked in.
    pub fn begin_table(
        self,
        engine: &Arc<Engine>,
        mut definition: TableDefinition,
        replaces: bool,
    ) -> Result<UnfinishedTable> {
        engine.settle_names(&mut definition);
        let old = match replaces {
            true => self.check_replacement(&definition)?,
            false => self.check_creation(&definition).map(|()| None)?,
        };
        let mut ddl = engine.begin_ddl()?;
        let rows = engine.make_table(&mut ddl, &definition, Place::Beside)?;
        let table = Arc::new(Table::unnamed(Arc::new(rows)));
        engine.inner.dictionary.put_unnamed(table.trees());
        Ok(UnfinishedTable { engine: engine.clone(), table, old, ddl: Some(ddl.suspend()), _locks: self.into_locks() })
    }
}

impl UnfinishedTable {
    /// The table for transactions that insert its rows, see [`super::Trx::set_unfinished_table`].
    pub fn table(&self) -> &Arc<Table> {
        &self.table
    }

    /// Gives the table its name. The transactions that have inserted its rows have committed. `log` is written along with
    /// the commit. After an error there is no table.
    pub fn finish(mut self, log: Option<&dyn CommitLog>) -> Result<Arc<Table>> {
        let engine = self.engine.clone();
        let (store, dictionary) = (&engine.inner.store, &engine.inner.dictionary);
        let suspended = self.ddl.take().expect("it is finished once");
        let mut ddl = Ddl::resume(engine.inner.context(), dictionary, suspended);
        // A commit that fails removes the file.
        let _purge = dictionary.stop_purge();
        let mut dropped = DefinitionChanges::default();
        let committed = row::Table::open(store, self.table.schema().clone()).and_then(|named| {
            let afterwards = match &self.old {
                Some(old) => {
                    dropped = engine.drop_definitions_of(&mut ddl, (&old.database, &old.name))?;
                    engine.exchange(ddl, old, &named, log)?
                }
                None => {
                    ddl.insert_table(&named)?;
                    engine.move_into_place(&mut ddl, &named)?;
                    ddl.commit(log)?
                }
            };
            Ok((named, afterwards))
        });
        self.table.set_stale();
        match committed {
            Ok((named, afterwards)) => {
                let named = dictionary.put_table(named, engine.inner.registry.next_id());
                engine.show_definitions(dropped);
                afterwards.run();
                Ok(named)
            }
            Err(error) => {
                dictionary.remove_unnamed(self.table.trees());
                Err(error)
            }
        }
    }
}

impl Drop for UnfinishedTable {
    fn drop(&mut self) {
        let Some(suspended) = self.ddl.take() else { return };
        let dictionary = &self.engine.inner.dictionary;
        self.table.set_stale();
        let _purge = dictionary.stop_purge();
        dictionary.remove_unnamed(self.table.trees());
        drop(Ddl::resume(self.engine.inner.context(), dictionary, suspended));
    }
}

/// The rows of an unfinished table, or of a temporary one, that has none yet. They are sorted for each index, and its trees are built when all are
/// there: so a key that is there twice is found in [`UnfinishedRows::finish`]. Whoever drops it before that, or gets an error,
/// drops the table too.
pub struct UnfinishedRows<'t> {
    engine: Arc<Engine>,
    interrupt: Arc<Interrupt>,
    filling: Filling<'t>,
    has_row_id: bool,
}

impl Trx {
    /// Begins to fill the table of [`Trx::set_unfinished_table`] or [`super::TemporaryTables::set_unfinished`] in bulk; `None` for
    /// any other, and for one in partitions.
    pub fn fill_unfinished<'t>(&self, table: &'t Arc<Table>) -> Option<UnfinishedRows<'t>> {
        let is_it = match table.is_temporary() {
            true => self.temporary.as_ref().is_some_and(|own| own.is_unfinished(table)),
            false => self.unfinished.as_ref().is_some_and(|unfinished| Arc::ptr_eq(unfinished, table)),
        };
        if !is_it || table.is_partitioned() {
            return None;
        }
        Some(UnfinishedRows {
            engine: self.engine().clone(),
            interrupt: self.inner.interrupt.clone(),
            filling: Filling::begin(&self.engine().inner, table, table.indexes.len()),
            has_row_id: table.has_row_id(),
        })
    }
}

impl UnfinishedRows<'_> {
    /// Takes a row: values of all columns, in table order.
    pub fn push(&mut self, values: &[Option<&[u8]>]) -> Result<()> {
        let inner = &self.engine.inner;
        let row_id = match self.has_row_id {
            true => inner.registry.next_row_id(&inner.store)?,
            false => 0,
        };
        self.filling.push(inner, values, row_id)
    }

    /// Builds the trees. [`crate::Error::DuplicateRows`] if two rows have the same key.
    pub fn finish(self, trx: &mut Trx) -> Result<()> {
        trx.counts.inserted += self.filling.rows();
        self.filling.finish(&self.engine.inner, &self.interrupt)
    }
}
