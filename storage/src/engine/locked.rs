//! The locked names of a DDL statement, and what may be done while they are locked.
//!
//! ```text
//!   names -- Engine::lock_definitions --> LockedTables -- alter(name) --> Alteration     (see `alter`)
//!                                           | find, table, create, drop; begin_table        (see `unfinished`)
//! ```
//!
//! Two DDL statements on one table each derive a new description from the present one. If one of them did so before it
//! had the table's name locked alone, it would overwrite what the other has done meanwhile: an acknowledged change
//! would be lost, or columns would no longer match stored values. So a description can be replaced only through an
//! [`Alteration`](super::Alteration), which only [`LockedTables`] creates, from the description that the table has
//! under the lock. Names that are written but were not locked are refused.
//!
//! Tests of this: `two_changes_of_one_table_are_both_kept` (storage/tests/ddl.rs), `sim --threads`, and `bench ddl`
//! against the released server.

use std::sync::Arc;

use super::tables::{Names, TableName, not_found};
use super::{Engine, TrxOptions};
use crate::dictionary::{self, Table};
use crate::error::{Error, Result};
use crate::lock::TableUse;
use crate::schema::{Database, DefinitionKind, TableDefinition};

/// Which tables' names are locked beside those that a statement changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relatives {
    /// No column and no foreign key changes.
    Alone,
    /// Tables that the named ones refer to, and tables that refer to them: they must not change while columns and keys
    /// do.
    Along,
}

/// Names of tables that one DDL statement has locked until this is dropped; no other session uses the tables or changes
/// what the names mean. Their databases cannot be dropped.
pub struct LockedTables<'e> {
    pub(super) engine: &'e Engine,
    pub(super) wait: &'e TrxOptions,
    names: Vec<dictionary::Name>,
    locks: Names,
}

impl Engine {
    /// Locks names of tables, existing or not, for a DDL statement; waits for the transactions that use them.
    pub fn lock_definitions<'e>(
        &'e self,
        names: &[TableName<'_>],
        relatives: Relatives,
        wait: &'e TrxOptions,
    ) -> Result<LockedTables<'e>> {
        self.lock_definitions_beside(names, None, relatives, wait)
    }

    /// The same; the table called `source` only keeps its description.
    pub fn lock_definitions_beside<'e>(
        &'e self,
        names: &[TableName<'_>],
        source: Option<TableName<'_>>,
        relatives: Relatives,
        wait: &'e TrxOptions,
    ) -> Result<LockedTables<'e>> {
        let wanted: Vec<dictionary::Name> = names.iter().map(|name| (name.0.into(), name.1.into())).collect();
        loop {
            let all = self.with_relatives(&wanted, relatives);
            let source = source.filter(|source| !all.iter().any(|name| (&*name.0, &*name.1) == *source));
            let mut locks: Vec<(&str, &str, TableUse)> =
                all.iter().map(|name| (&*name.0, &*name.1, TableUse::Write)).collect();
            locks.extend(source.map(|source| (source.0, source.1, TableUse::Read)));
            let locks = self.lock_names_for(&locks, wait)?;
            // A child or a parent that was created meanwhile must be locked, too.
            if self.with_relatives(&wanted, relatives).iter().all(|name| all.contains(name)) {
                return Ok(LockedTables { engine: self, wait, names: all, locks });
            }
        }
    }

    fn with_relatives(&self, names: &[dictionary::Name], relatives: Relatives) -> Vec<dictionary::Name> {
        let mut all = names.to_vec();
        if relatives == Relatives::Along {
            for (database, name) in names {
                all.extend(self.inner.dictionary.children_of(database, name));
                let table = self.inner.dictionary.table(database, name);
                let keys = table.iter().flat_map(|table| &table.foreign_keys);
                all.extend(keys.map(|key| (key.parent_database.clone(), key.parent.clone())));
            }
        }
        all.sort_unstable();
        all.dedup();
        all
    }
}

impl<'e> LockedTables<'e> {
    /// An error if a name is not locked: a mistake of the caller.
    pub(super) fn check_locked(&self, database: &str, name: &str) -> Result<()> {
        match self.names.iter().any(|locked| (&*locked.0, &*locked.1) == (database, name)) {
            true => Ok(()),
            false => Err(Error::Unsupported(format!("a change of {database}.{name} without its lock").into())),
        }
    }

    /// The database of a name; it cannot be dropped meanwhile.
    pub fn database(&self, database: &str) -> Option<Arc<Database>> {
        self.engine.inner.dictionary.database(database)
    }

    /// The table that a name means.
    pub fn find(&self, database: &str, name: &str) -> Option<Arc<Table>> {
        self.engine.inner.dictionary.table(database, name)
    }

    /// The table that a name means, or the reason why it is not available.
    pub fn table(&self, database: &str, name: &str) -> Result<Arc<Table>> {
        self.check_locked(database, name)?;
        let dictionary = &self.engine.inner.dictionary;
        dictionary.table(database, name).ok_or_else(|| dictionary.why_missing(database, name))
    }

    /// Creates a table under a name that is free.
    pub fn create(&self, mut definition: TableDefinition) -> Result<Arc<Table>> {
        self.engine.settle_names(&mut definition);
        self.check_creation(&definition)?;
        self.engine.make_and_show(&definition, self.wait)
    }

    /// Creates a table, and drops the one that has the name in the same commit.
    pub fn create_or_replace(&self, mut definition: TableDefinition) -> Result<Arc<Table>> {
        self.engine.settle_names(&mut definition);
        match self.check_replacement(&definition)? {
            Some(old) => self.engine.make_and_exchange(&old, &definition, true, self.wait),
            None => self.engine.make_and_show(&definition, self.wait),
        }
    }

    /// The table that a new one is to replace, if there is one: checks that it may be dropped, and that the foreign keys of
    /// the new one are possible.
    pub(super) fn check_replacement(&self, definition: &TableDefinition) -> Result<Option<Arc<Table>>> {
        let Some(old) = self.find(&definition.database, &definition.name) else {
            return self.check_creation(definition).map(|()| None);
        };
        self.check_locked(&definition.database, &definition.name)?;
        let checks = self.wait.foreign_key_checks;
        self.engine.check_drop(std::slice::from_ref(&old), checks)?;
        self.check_relatives(definition, Some(&old))?;
        self.engine.check_relations(definition, Some(&old), checks)?;
        Ok(Some(old))
    }

    /// Checks that the name of a new table is free, and that its foreign keys are possible.
    pub(super) fn check_creation(&self, definition: &TableDefinition) -> Result<()> {
        self.check_free((&definition.database, &definition.name))?;
        self.check_relatives(definition, None)?;
        self.engine.check_relations(definition, None, self.wait.foreign_key_checks)
    }

    /// Lets transactions use the tables while this statement works beside them; no other DDL statement does.
    pub(super) fn open(&self, readers_only: bool) {
        self.locks.open(readers_only);
    }

    /// Ends that: waits for the transactions that use the tables.
    pub(super) fn close(&self) -> Result<()> {
        self.locks.close(self.wait)
    }

    /// The locks alone: they are held longer than the engine is borrowed.
    pub(super) fn into_locks(self) -> Names {
        self.locks
    }

    /// Drops tables, all or none.
    pub fn drop_tables(&self, names: &[TableName<'_>]) -> Result<()> {
        let tables = names.iter().map(|(database, name)| self.table(database, name)).collect::<Result<Vec<_>>>()?;
        self.engine.drop_locked(&tables, self.wait)
    }

    /// Checks that the new name of a table is free.
    pub(super) fn check_free(&self, (database, name): TableName<'_>) -> Result<()> {
        self.check_locked(database, name)?;
        let dictionary = &self.engine.inner.dictionary;
        dictionary.database(database).ok_or_else(|| Error::NotFound(database.into()))?;
        let view = dictionary.definitions.find((DefinitionKind::View, database, name));
        if dictionary.table(database, name).is_some() || view.is_some() {
            return Err(Error::Exists(format!("{database}.{name}").into()));
        }
        dictionary.check_usable(database, name)
    }

    /// Checks that all tables that must not change while a table gets this description are locked.
    pub(super) fn check_relatives(
        &self,
        definition: &TableDefinition,
        old: Option<&crate::schema::Table>,
    ) -> Result<()> {
        let relatives = self.engine.relatives(definition, old);
        relatives.iter().try_for_each(|(database, name)| self.check_locked(database, name))
    }
}

impl Engine {
    /// Creates a table. The definition depends on nothing that a DDL statement could change meanwhile.
    pub fn create_table(&self, definition: TableDefinition, wait: &TrxOptions) -> Result<Arc<Table>> {
        let mut names = vec![(&*definition.database, &*definition.name)];
        names.extend(definition.foreign_keys.iter().map(|key| (&*key.parent_database, &*key.parent)));
        let locked = self.lock_definitions(&names, Relatives::Along, wait)?;
        locked.create(definition.clone())
    }

    /// Drops tables, all or none.
    pub fn drop_tables(&self, names: &[TableName<'_>], wait: &TrxOptions) -> Result<()> {
        self.lock_definitions(names, Relatives::Alone, wait)?.drop_tables(names)
    }

    /// Empties a table; its AUTO_INCREMENT begins anew.
    pub fn truncate_table(&self, database: &str, name: &str, wait: &TrxOptions) -> Result<()> {
        let locked = self.lock_definitions(&[(database, name)], Relatives::Alone, wait)?;
        let old = locked.table(database, name).map_err(|error| match error {
            Error::NotFound(_) => not_found(database, name),
            error => error,
        })?;
        self.truncate_locked(&old, wait)
    }
}
