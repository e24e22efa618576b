//! Views, routines, triggers and events: definitions that the engine keeps and an upper layer understands.
//!
//! ```text
//!   names -- Engine::lock_names_of --> LockedDefinitions -- change(removed, added) --> one commit, with the caller's log
//!   Trx::open_definition               the name stays locked to the end of the transaction, as a table's does
//! ```
//!
//! They are rows beside those of tables, so that all that holds for CREATE TABLE holds for CREATE VIEW: it has happened
//! as a whole or not at all, a crash included, and the binary log agrees. DROP DATABASE removes them in its commit. One
//! that belongs to a table, a trigger, is dropped and renamed in the commits that drop and rename the table; so whoever
//! changes it locks the table, too.
//!
//! Tests: `storage/tests/definitions.rs`; `sim` crashes changes of them at every write.

use std::sync::Arc;

use super::tables::{Names, TableName};
use super::{Engine, Trx, TrxOptions};
use crate::dictionary::{Ddl, DefinitionChanges, Name};
use crate::error::{Error, Result};
use crate::lock::{MetadataLock, TableUse};
use crate::schema::{Definition, DefinitionKind, DefinitionName};

/// Names of definitions that one statement has locked until this is dropped.
pub struct LockedDefinitions<'e> {
    engine: &'e Engine,
    wait: &'e TrxOptions,
    names: Vec<(DefinitionKind, Name)>,
    tables: Vec<Name>,
    _locks: Names,
}

impl Engine {
    pub fn definition(&self, kind: DefinitionKind, database: &str, name: &str) -> Option<Arc<Definition>> {
        self.inner.dictionary.definitions.find((kind, database, name))
    }

    /// Those of one kind, by name.
    pub fn definitions(&self, kind: DefinitionKind, database: &str) -> Vec<Arc<Definition>> {
        self.inner.dictionary.definitions.list(kind, database)
    }

    /// Those that belong to a table.
    pub fn definitions_of_table(&self, database: &str, table: &str) -> Vec<Arc<Definition>> {
        self.inner.dictionary.definitions.of_table(database, table)
    }

    /// Rises whenever a definition is added, replaced, renamed or removed. What was made of definitions is current as
    /// long as the version is that from before they were read.
    #[inline]
    pub fn definitions_version(&self) -> u64 {
        self.inner.dictionary.definitions.version()
    }

    /// Locks names of definitions, existing or not, and of the tables that they belong to or are to belong to.
    pub fn lock_names_of<'e>(
        &'e self,
        names: &[DefinitionName<'_>],
        tables: &[TableName<'_>],
        wait: &'e TrxOptions,
    ) -> Result<LockedDefinitions<'e>> {
        let mut alone: Vec<_> = tables.iter().map(|(database, table)| (*database, *table, TableUse::Write)).collect();
        let mut others = Vec::new();
        for name in names {
            match name.0 {
                DefinitionKind::View => alone.push((name.1, name.2, TableUse::Write)),
                _ => others.push(*name),
            }
        }
        let locks = self.lock_names_and(&alone, others, wait)?;
        let owned = |(database, name): TableName<'_>| (database.into(), name.into());
        Ok(LockedDefinitions {
            engine: self,
            wait,
            names: names.iter().map(|name| (name.0, owned((name.1, name.2)))).collect(),
            tables: tables.iter().copied().map(owned).collect(),
            _locks: locks,
        })
    }

    /// The definitions of a table go with it.
    pub(super) fn drop_definitions_of(
        &self,
        ddl: &mut Ddl<'_>,
        (database, table): TableName<'_>,
    ) -> Result<DefinitionChanges> {
        let removed = self.definitions_of_table(database, table);
        removed.iter().try_for_each(|old| ddl.delete_definition(old.full_name()))?;
        Ok(DefinitionChanges { removed, added: Vec::new() })
    }

    /// A table with triggers stays in its database, as they are there, too. It is locked.
    pub(super) fn check_triggers_stay(&self, (database, table): TableName<'_>, to: &str) -> Result<()> {
        let has_triggers =
            || self.definitions_of_table(database, table).iter().any(|own| own.kind == DefinitionKind::Trigger);
        match database != to && has_triggers() {
            true => Err(Error::TriggersStay),
            false => Ok(()),
        }
    }

    /// The definitions of tables that get other names go with them. All are removed before any is added, because tables
    /// may exchange their names.
    pub(super) fn move_definitions(
        &self,
        ddl: &mut Ddl<'_>,
        moved: &[(TableName<'_>, TableName<'_>)],
    ) -> Result<DefinitionChanges> {
        let mut changes = DefinitionChanges::default();
        for (from, to) in moved {
            for old in self.definitions_of_table(from.0, from.1) {
                let new = Definition { database: to.0.into(), table: to.1.into(), ..(*old).clone() };
                changes.added.push(Arc::new(new));
                changes.removed.push(old);
            }
        }
        write(ddl, &changes)?;
        Ok(changes)
    }

    pub(super) fn show_definitions(&self, changes: DefinitionChanges) {
        self.inner.dictionary.definitions.change(changes);
    }
}

/// Changes the rows.
pub(super) fn write(ddl: &mut Ddl<'_>, changes: &DefinitionChanges) -> Result<()> {
    changes.removed.iter().try_for_each(|old| ddl.delete_definition(old.full_name()))?;
    changes.added.iter().try_for_each(|new| ddl.insert_definition(new))
}

impl LockedDefinitions<'_> {
    /// The definition that a name means.
    pub fn find(&self, kind: DefinitionKind, database: &str, name: &str) -> Option<Arc<Definition>> {
        self.engine.definition(kind, database, name)
    }

    fn check_locked(&self, (kind, database, name): DefinitionName<'_>) -> Result<()> {
        let is_it =
            |locked: &(DefinitionKind, Name)| locked.0 == kind && (&*locked.1.0, &*locked.1.1) == (database, name);
        match self.names.iter().any(is_it) {
            true => Ok(()),
            false => Err(Error::Unsupported(format!("a change of {database}.{name} without its lock").into())),
        }
    }

    /// A definition of a table needs the table's lock.
    fn check_table(&self, definition: &Definition) -> Result<()> {
        let of = (&*definition.database, &*definition.table);
        if of.1.is_empty() || self.tables.iter().any(|table| (&*table.0, &*table.1) == of) {
            return Ok(());
        }
        Err(Error::Unsupported(format!("a change of what belongs to {}.{} without its lock", of.0, of.1).into()))
    }

    /// Removes some and adds others, in one commit. A name that is added is free, or is removed by the same call.
    pub fn change(&self, removed: &[DefinitionName<'_>], added: Vec<Definition>) -> Result<()> {
        let dictionary = &self.engine.inner.dictionary;
        let mut changes = DefinitionChanges::default();
        for name in removed {
            self.check_locked(*name)?;
            let old = dictionary.definitions.find(*name);
            let old = old.ok_or_else(|| Error::NotFound(format!("{}.{}", name.1, name.2).into()))?;
            self.check_table(&old)?;
            changes.removed.push(old);
        }
        for new in added {
            let (kind, database, name) = new.full_name();
            self.check_locked(new.full_name())?;
            self.check_table(&new)?;
            dictionary.database(database).ok_or_else(|| Error::NotFound(database.into()))?;
            let stays = dictionary.definitions.find(new.full_name()).is_some() && !removed.contains(&new.full_name());
            let is_table = kind == DefinitionKind::View && dictionary.table(database, name).is_some();
            if stays || is_table {
                return Err(Error::Exists(format!("{database}.{name}").into()));
            }
            if kind == DefinitionKind::View {
                dictionary.check_usable(database, name)?;
            }
            changes.added.push(Arc::new(new));
        }
        let mut ddl = self.engine.begin_ddl()?;
        write(&mut ddl, &changes)?;
        let afterwards = ddl.commit(self.wait.log.as_deref())?;
        self.engine.show_definitions(changes);
        afterwards.run();
        Ok(())
    }

    /// Adds one, or replaces the one that has its name.
    pub fn define(&self, definition: Definition, replaces: bool) -> Result<()> {
        let (kind, database, name) = (definition.kind, definition.database.clone(), definition.name.clone());
        let name = (kind, &*database, &*name);
        let old = replaces && self.engine.inner.dictionary.definitions.find(name).is_some();
        self.change(if old { std::slice::from_ref(&name) } else { &[] }, vec![definition])
    }

    /// Removes some, all or none.
    pub fn drop_all(&self, names: &[DefinitionName<'_>]) -> Result<()> {
        self.change(names, Vec::new())
    }
}

impl Trx {
    /// The definition of a name, which stays locked to the end of the transaction.
    pub fn open_definition(
        &mut self,
        kind: DefinitionKind,
        database: &str,
        name: &str,
    ) -> Result<Option<Arc<Definition>>> {
        let engine = self.engine().clone();
        let dictionary = &engine.inner.dictionary;
        if dictionary.definitions.find((kind, database, name)).is_none() {
            return Ok(None);
        }
        let lock: Arc<MetadataLock> = dictionary.definition_lock((kind, database, name));
        self.share_name(&lock, TableUse::Read)?;
        Ok(dictionary.definitions.find((kind, database, name)))
    }
}
