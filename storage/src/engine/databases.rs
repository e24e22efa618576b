//! Databases: names, and directories for the files of their tables.

use std::sync::Arc;

use format::collation::CollationId;

use super::{Engine, TrxOptions, definitions};
use crate::dictionary::{self, Action, Ddl, DefinitionChanges};
use crate::error::{Error, Result};
use crate::lock::MetadataGrant;
use crate::schema::{Database, DefinitionKind};

impl Engine {
    /// All databases, by name.
    pub fn databases(&self) -> Vec<Arc<Database>> {
        self.inner.dictionary.databases()
    }

    pub fn database(&self, name: &str) -> Option<Arc<Database>> {
        self.inner.dictionary.database(name)
    }

    fn lock_database(&self, name: &str, wait: &TrxOptions) -> Result<MetadataGrant> {
        let lock = self.inner.dictionary.database_lock(name);
        MetadataGrant::take(vec![lock], &wait.interrupt, wait.metadata_wait_timeout)
    }

    pub fn create_database(&self, name: &str, collation: CollationId, wait: &TrxOptions) -> Result<()> {
        let dictionary = &self.inner.dictionary;
        let _pass = self.pass_backups(wait)?;
        let _name = self.lock_database(name, wait)?;
        if dictionary.database(name).is_some() {
            return Err(Error::Exists(name.into()));
        }
        let id = dictionary::new_ids(&self.inner.store, 0)?.table.0;
        let database = Database { id, name: name.into(), collation, read_only: false };
        let path = dictionary::directory_name(name);
        let disk = self.inner.store.disk();
        let there = disk.exists(&path).map_err(Error::io("look for a database directory"))?;
        let mut ddl = Ddl::begin(self.inner.context(), dictionary)?;
        if !there {
            ddl.will_take_back(Action::RemoveDirectory { path: path.clone().into() })?;
            disk.create_directory(&path).map_err(Error::io("create a database directory"))?;
            disk.sync_directory("").map_err(Error::io("sync the data directory"))?;
        }
        ddl.insert_database(&database)?;
        ddl.commit(wait.log.as_deref())?.run();
        dictionary.put_database(database);
        Ok(())
    }

    /// Changes what is given. A database that is read only stays as it is, but for that.
    ///
    /// The transactions that have changed its tables end before it becomes read only.
    pub fn alter_database(
        &self,
        name: &str,
        collation: Option<CollationId>,
        read_only: Option<bool>,
        wait: &TrxOptions,
    ) -> Result<()> {
        let dictionary = &self.inner.dictionary;
        let _pass = self.pass_backups(wait)?;
        let _name = self.lock_database(name, wait)?;
        let old = dictionary.database(name).ok_or_else(|| Error::NotFound(name.into()))?;
        let stays = old.read_only && read_only != Some(false);
        if stays && (collation.is_some() || read_only.is_none()) && !wait.changes_read_only {
            return Err(Error::ReadOnlyDatabase(name.into()));
        }
        let _tables = match read_only == Some(true) && !old.read_only {
            true => {
                let locks = dictionary.tables(name).iter().map(|table| table.metadata().clone()).collect();
                Some(MetadataGrant::take(locks, &wait.interrupt, wait.metadata_wait_timeout)?)
            }
            false => None,
        };
        let database = Database {
            collation: collation.unwrap_or(old.collation),
            read_only: read_only.unwrap_or(old.read_only),
            ..(*old).clone()
        };
        let mut ddl = Ddl::begin(self.inner.context(), dictionary)?;
        ddl.delete_database(name)?;
        ddl.insert_database(&database)?;
        ddl.commit(wait.log.as_deref())?.run();
        dictionary.put_database(database);
        Ok(())
    }

    /// Drops a database with its tables and definitions; returns the number of tables and views.
    pub fn drop_database(&self, name: &str, wait: &TrxOptions) -> Result<u64> {
        let dictionary = &self.inner.dictionary;
        let _pass = self.pass_backups(wait)?;
        // First prevent new tables in it, then wait for the users of the existing ones.
        let _name = self.lock_database(name, wait)?;
        dictionary.database(name).ok_or_else(|| Error::NotFound(name.into()))?;
        if !wait.changes_read_only {
            dictionary.check_writable(name)?;
        }
        dictionary.check_all_usable(name)?;
        let tables = dictionary.tables(name);
        let definitions = dictionary.definitions.of_database(name);
        let mut locks: Vec<_> = tables.iter().map(|table| table.metadata().clone()).collect();
        locks.extend(definitions.iter().map(|definition| dictionary.definition_lock(definition.full_name())));
        let _tables = MetadataGrant::take(locks, &wait.interrupt, wait.metadata_wait_timeout)?;
        self.check_drop(&tables, wait.foreign_key_checks)?;
        let mut ddl = Ddl::begin(self.inner.context(), dictionary)?;
        ddl.delete_database(name)?;
        let views = definitions.iter().filter(|definition| definition.kind == DefinitionKind::View).count();
        let dropped = DefinitionChanges { removed: definitions, added: Vec::new() };
        definitions::write(&mut ddl, &dropped)?;
        // The newest entry is executed first: the directory is empty when its turn comes.
        ddl.will_do_afterwards(Action::RemoveDirectory { path: dictionary::directory_name(name).into() })?;
        for table in &tables {
            ddl.delete_table(table)?;
            for file in table.schema().files() {
                ddl.will_do_afterwards(Action::DropSpace {
                    space: file.space,
                    path: dictionary::file_path(file).into(),
                })?;
                match file.options.discarded {
                    true => self.drop_source(&mut ddl, file)?,
                    false => self.drop_stale_description(&mut ddl, file)?,
                }
            }
        }
        let afterwards = ddl.commit(wait.log.as_deref())?;
        let _purge = dictionary.stop_purge();
        for table in &tables {
            dictionary.remove_table(name, &table.name);
        }
        self.show_definitions(dropped);
        dictionary.remove_database(name);
        afterwards.run();
        Ok((tables.len() + views) as u64)
    }
}
