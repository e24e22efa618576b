//! DDL on tables whose names are locked (see `locked`): each statement makes its changes inside one [`Ddl`], commits,
//! and then publishes the new descriptions.
//!
//! ```text
//! CREATE     file and trees under the table's name -> rows -> commit
//! DROP       rows -> commit -> file
//! RENAME     file, rows -> commit
//! TRUNCATE   an empty file beside the old -> old file aside, new file in its place -> rows -> commit -> old file
//! ALTER      see `alter`
//! ```

use std::cell::RefCell;
use std::sync::Arc;

use format::ids::{IndexId, PageNo, SpaceId};

use super::{Engine, TrxOptions, auto_increment};
use crate::btree;
use crate::dictionary::{self, Action, Ddl, DefinitionChanges, FILES_AT_ONCE, Identity, Table, file_path};
use crate::error::{Error, Result};
use crate::lock::{DdlPass, GrantOf, MetadataGrant, MetadataHeld, MetadataLock, TableUse};
use crate::mtr::Mtr;
use crate::row;
use crate::schema::partitions::NO_SPACE;
use crate::schema::{self, DefinitionName, PartitionDefinition, TableDefinition, TableOptions};
use crate::segment;

/// Database and table.
pub type TableName<'a> = (&'a str, &'a str);

/// Pages that an empty table has beside its roots.
pub(super) const FIXED_PAGES: u32 = 3;

/// Where the files of a new table are made.
#[derive(Clone, Copy)]
pub(super) enum Place {
    /// Under the table's name.
    Named,
    /// Beside the tables that have names.
    Beside,
}

pub(super) fn not_found(database: &str, name: &str) -> Error {
    Error::NotFound(format!("{database}.{name}").into())
}

/// The names of a DDL statement, locked until this is dropped: databases shared, tables alone.
pub(super) struct Names {
    _databases: MetadataHeld,
    tables: RefCell<MetadataGrant>,
    _pass: Option<DdlPass>,
}

impl Names {
    /// Lets transactions use the tables, to read and, unless `readers_only`, to write; see [`MetadataGrant::open`].
    pub fn open(&self, readers_only: bool) {
        self.tables.borrow_mut().open(readers_only);
    }

    /// Has the tables alone again.
    pub fn close(&self, wait: &TrxOptions) -> Result<()> {
        self.tables.borrow_mut().close(&wait.interrupt, wait.metadata_wait_timeout)
    }
}

impl Engine {
    /// Admits a DDL statement: not while a backup holds the instance.
    pub(super) fn pass_backups(&self, wait: &TrxOptions) -> Result<Option<DdlPass>> {
        if wait.holds_backup_lock {
            return Ok(None);
        }
        self.inner.dictionary.instance_lock().pass(&wait.interrupt, wait.metadata_wait_timeout).map(Some)
    }

    /// Locks names in the one order that all statements keep: databases, then tables, each by name.
    pub(super) fn lock_names(&self, tables: &[(&str, &str)], wait: &TrxOptions) -> Result<Names> {
        let tables: Vec<_> = tables.iter().map(|(database, name)| (*database, *name, TableUse::Write)).collect();
        self.lock_names_for(&tables, wait)
    }

    /// The same; a name that is only to be read keeps its table unchanged, and other sessions may read it too.
    pub(super) fn lock_names_for(&self, tables: &[(&str, &str, TableUse)], wait: &TrxOptions) -> Result<Names> {
        self.lock_names_and(tables, Vec::new(), wait)
    }

    /// The same with names of definitions other than views, which come last.
    pub(super) fn lock_names_and(
        &self,
        tables: &[(&str, &str, TableUse)],
        mut definitions: Vec<DefinitionName<'_>>,
        wait: &TrxOptions,
    ) -> Result<Names> {
        let dictionary = &self.inner.dictionary;
        let pass = self.pass_backups(wait)?;
        let mut tables = tables.to_vec();
        tables.sort_unstable_by(|a, b| (a.0, a.1, b.2).cmp(&(b.0, b.1, a.2)));
        tables.dedup_by_key(|(database, name, _)| (*database, *name));
        definitions.sort_unstable();
        definitions.dedup();
        let mut names: Vec<&str> = tables.iter().map(|table| table.0).collect();
        names.extend(definitions.iter().map(|definition| definition.1));
        names.sort_unstable();
        names.dedup();
        let mut databases = MetadataHeld::default();
        for database in names {
            let lock = dictionary.database_lock(database);
            databases.share(&lock, TableUse::Read, &wait.interrupt, wait.metadata_wait_timeout)?;
        }
        if !wait.changes_read_only {
            let changed = tables.iter().filter(|(.., wanted)| *wanted == TableUse::Write).map(|table| table.0);
            changed
                .chain(definitions.iter().map(|definition| definition.1))
                .try_for_each(|database| dictionary.check_writable(database))?;
        }
        let tables = tables.into_iter().map(|(database, name, wanted)| (dictionary.table_lock(database, name), wanted));
        let definitions = definitions.into_iter().map(|name| (dictionary.definition_lock(name), TableUse::Write));
        let mut locks: Vec<(Arc<MetadataLock>, TableUse)> = Vec::new();
        for (lock, wanted) in tables.chain(definitions) {
            match wait.locked_tables.as_ref().and_then(|locked| locked.allows(&lock)) {
                // The session holds it already, so it need not wait.
                Some(has) if has >= wanted => {}
                // The session would wait for itself.
                Some(_) => return Err(Error::Deadlock),
                None => locks.push((lock, wanted)),
            }
        }
        let (beside, timeout) = (wait.locked_tables.clone(), wait.metadata_wait_timeout);
        let tables = MetadataGrant::take_beside(beside, GrantOf::Definition, locks, &wait.interrupt, timeout)?;
        Ok(Names { _databases: databases, tables: RefCell::new(tables), _pass: pass })
    }

    /// LOCK TABLES: until the result is dropped, these tables do not change, or other sessions cannot use them at all.
    pub fn lock_tables(&self, tables: &[(&str, &str, TableUse)], wait: &TrxOptions) -> Result<MetadataGrant> {
        let mut tables = tables.to_vec();
        // The stronger request for a name comes first, and is the one that is kept.
        tables.sort_unstable_by(|a, b| (a.0, a.1, b.2).cmp(&(b.0, b.1, a.2)));
        tables.dedup_by_key(|(database, name, _)| (*database, *name));
        let dictionary = &self.inner.dictionary;
        let locks = tables.iter().map(|(database, name, wanted)| (dictionary.table_lock(database, name), *wanted));
        let (interrupt, timeout) = (&wait.interrupt, wait.metadata_wait_timeout);
        let grant = MetadataGrant::take_for(GrantOf::LockTables, locks.collect(), interrupt, timeout)?;
        let changed = tables.iter().filter(|(.., wanted)| *wanted == TableUse::Write && !wait.changes_read_only);
        changed.clone().try_for_each(|(database, ..)| dictionary.check_writable(database))?;
        Ok(grant)
    }

    /// LOCK TABLES gets more names alone, beside those that it has. After an error it has a part of them.
    pub fn lock_more_tables(&self, grant: &mut MetadataGrant, names: &[(&str, &str)], wait: &TrxOptions) -> Result<()> {
        let mut names = names.to_vec();
        names.sort_unstable();
        names.dedup();
        let locks = names.iter().map(|(database, name)| self.inner.dictionary.table_lock(database, name));
        let new = locks.filter(|lock| grant.allows(lock).is_none()).map(|lock| (lock, TableUse::Write)).collect();
        grant.extend(GrantOf::LockTables, new, &wait.interrupt, wait.metadata_wait_timeout)
    }

    /// A name that LOCK TABLES has locked is locked no longer.
    pub fn unlock_table(&self, grant: &mut MetadataGrant, database: &str, name: &str) {
        grant.release(&self.inner.dictionary.table_lock(database, name));
    }

    pub(super) fn begin_ddl(&self) -> Result<Ddl<'_>> {
        Ddl::begin(self.inner.context(), &self.inner.dictionary)
    }

    // Looking

    pub fn table(&self, database: &str, name: &str) -> Option<Arc<Table>> {
        self.inner.dictionary.table(database, name)
    }

    /// The tables of a database, by name.
    pub fn tables(&self, database: &str) -> Vec<Arc<Table>> {
        self.inner.dictionary.tables(database)
    }

    // Making and taking away

    /// Creates a table and publishes it. Its name is locked and free.
    pub(super) fn make_and_show(&self, definition: &TableDefinition, wait: &TrxOptions) -> Result<Arc<Table>> {
        let mut ddl = self.begin_ddl()?;
        let table = self.make_table(&mut ddl, definition, Place::Named)?;
        ddl.insert_table(&table)?;
        ddl.commit(wait.log.as_deref())?.run();
        Ok(self.inner.dictionary.put_table(table, self.inner.registry.next_id()))
    }

    /// Creates the files of a table and its empty trees. No other thread knows of it yet.
    pub(super) fn make_table(
        &self,
        ddl: &mut Ddl<'_>,
        definition: &TableDefinition,
        place: Place,
    ) -> Result<row::Table> {
        self.make_table_with(ddl, definition, place, &[])
    }

    /// The same; the partitions for which `kept` has a description have their files already.
    pub(super) fn make_table_with(
        &self,
        ddl: &mut Ddl<'_>,
        definition: &TableDefinition,
        place: Place,
        kept: &[Option<&schema::Table>],
    ) -> Result<row::Table> {
        let store = &self.inner.store;
        let indexes = dictionary::index_order(definition).len();
        let created_us = store.disk().clock().wall().as_micros() as u64;
        let none = Identity {
            id: Default::default(),
            space: NO_SPACE,
            created_us,
            indexes: vec![(IndexId(0), PageNo(0)); indexes],
            row_versions: None,
            partitions: Vec::new(),
        };
        let parts = definition.partitioning.as_ref().map(|partitioning| &partitioning.parts[..]);
        let mut identity = none.clone();
        identity.partitions = vec![none.clone(); parts.map_or(0, <[_]>::len)];
        // An impossible definition fails before any work is done.
        dictionary::describe(definition, &identity)?;
        match parts {
            None => self.make_file(ddl, definition, place, std::iter::once((None, &mut identity)))?,
            Some(parts) => {
                let ids = dictionary::new_ids(store, indexes)?;
                identity.id = ids.table;
                for (position, index) in identity.indexes.iter_mut().enumerate() {
                    index.0 = IndexId(ids.index.0 + position as u64);
                }
                let mut made = Vec::new();
                for (at, (part, identity)) in parts.iter().zip(&mut identity.partitions).enumerate() {
                    match kept.get(at).copied().flatten() {
                        Some(kept) => *identity = Identity::of(kept),
                        None => made.push((Some(part), identity)),
                    }
                }
                self.make_file(ddl, definition, place, made.into_iter())?;
            }
        }
        let mut table = dictionary::describe(definition, &identity)?;
        for (partition, kept) in table.partitions.iter_mut().zip(kept) {
            if let (Some(partition), Some(kept)) = (Arc::get_mut(partition), kept) {
                partition.state = kept.state.clone();
            }
        }
        let table = Arc::new(table);
        if definition.auto_increment_start > 1 {
            auto_increment::write_last_given(store, &table, definition.auto_increment_start - 1)?;
        }
        row::Table::open(store, table)
    }

    /// Creates files with empty trees, and fills in their numbers.
    fn make_file<'i>(
        &self,
        ddl: &mut Ddl<'_>,
        definition: &TableDefinition,
        place: Place,
        files: impl Iterator<Item = (Option<&'i PartitionDefinition>, &'i mut Identity)>,
    ) -> Result<()> {
        let store = &self.inner.store;
        let (database, name) = (&definition.database, &definition.name);
        let mut made = Vec::new();
        for (part, identity) in files {
            let ids = dictionary::new_ids(store, identity.indexes.len())?;
            (identity.id, identity.space) = (ids.table, ids.space);
            let path = match (place, part) {
                (Place::Beside, _) => dictionary::temporary_path(database, ids.space.0),
                (Place::Named, None) => dictionary::table_path(database, name),
                (Place::Named, Some(part)) => dictionary::partition_path(database, name, part),
            };
            let options = part.map_or_else(|| definition.options.clone(), |part| part.options(&definition.options));
            made.push((ids.index, path, options, identity));
        }
        let drop_again = |(_, path, _, identity): &(_, String, _, &mut Identity)| Action::DropSpace {
            space: identity.space,
            path: path.as_str().into(),
        };
        ddl.will_take_all_back(made.iter().map(drop_again).collect())?;
        let config = store.config();
        for portion in made.chunks_mut(FILES_AT_ONCE) {
            let file = |(_, path, options, identity): &'_ (_, String, TableOptions, &mut Identity)| {
                (identity.space, path.clone(), dictionary::transform(options, &config))
            };
            let files: Vec<_> = portion.iter().map(file).collect();
            let files: Vec<_> = files.iter().map(|(id, path, transform)| (*id, path.as_str(), *transform)).collect();
            let spaces = store.create_spaces(&files)?;
            for ((first_index, _, options, identity), space) in portion.iter_mut().zip(spaces) {
                space.set_atomic_writes(options.atomic_writes);
                self.make_trees(*first_index, identity)?;
            }
        }
        Ok(())
    }

    /// Makes the first pages of a new file, and its empty trees.
    fn make_trees(&self, first_index: IndexId, identity: &mut Identity) -> Result<()> {
        let store = &self.inner.store;
        store.check_headroom()?;
        let mut mtr = Mtr::begin(store);
        segment::init_space(&mut mtr, identity.space, segment::space_flags(store.page_bytes()))?;
        mtr.commit();
        let room = segment::reserve(store, identity.space, FIXED_PAGES + identity.indexes.len() as u32)?;
        for (position, index) in identity.indexes.iter_mut().enumerate() {
            let id = IndexId(first_index.0 + position as u64);
            store.check_headroom()?;
            let mut mtr = Mtr::begin(store);
            *index = (id, btree::create(&mut mtr, identity.space, id)?);
            mtr.commit();
        }
        drop(room);
        Ok(())
    }

    /// Drops tables whose names are locked, all or none.
    pub(super) fn drop_locked(&self, tables: &[Arc<Table>], wait: &TrxOptions) -> Result<()> {
        let dictionary = &self.inner.dictionary;
        self.check_drop(tables, wait.foreign_key_checks)?;
        let mut ddl = self.begin_ddl()?;
        let mut dropped = Vec::new();
        for table in tables {
            dropped.push(self.drop_definitions_of(&mut ddl, (&table.database, &table.name))?);
            ddl.delete_table(table)?;
            for file in table.schema().files() {
                ddl.will_do_afterwards(Action::DropSpace { space: file.space, path: file_path(file).into() })?;
                match file.options.discarded {
                    true => self.drop_source(&mut ddl, file)?,
                    false => self.drop_stale_description(&mut ddl, file)?,
                }
            }
        }
        let afterwards = ddl.commit(wait.log.as_deref())?;
        let _purge = dictionary.stop_purge();
        for table in tables {
            dictionary.remove_table(&table.database, &table.name);
        }
        dropped.into_iter().for_each(|changes| self.show_definitions(changes));
        afterwards.run();
        Ok(())
    }

    /// Renames tablespaces' files now, in this order; a rollback renames them back.
    pub(super) fn move_files(&self, ddl: &mut Ddl<'_>, moves: &[(SpaceId, String, String)]) -> Result<()> {
        if moves.is_empty() {
            return Ok(());
        }
        let back = |(space, from, _): &(SpaceId, String, String)| Action::RenameSpace {
            space: *space,
            path: from.as_str().into(),
        };
        ddl.will_take_all_back(moves.iter().map(back).collect())?;
        moves.iter().try_for_each(|(space, _, to)| self.inner.store.rename_space(*space, to))
    }

    /// The same for all files of a table that gets another name.
    pub(super) fn move_to_name(&self, ddl: &mut Ddl<'_>, from: &schema::Table, to: &schema::Table) -> Result<()> {
        let files = from.files().zip(to.files());
        let moves: Vec<_> = files.map(|(from, to)| (from.space, file_path(from), file_path(to))).collect();
        let aside = self.take_sources_aside(ddl, from, to)?;
        self.move_files(ddl, &moves)?;
        aside.into_iter().try_for_each(|(from, to)| self.move_source(ddl, from, to))
    }

    /// The same table with a changed description that leaves its trees as they are.
    pub(super) fn redescribe(
        &self,
        table: &schema::Table,
        change: impl FnOnce(&mut TableDefinition),
    ) -> Result<schema::Table> {
        let mut definition = table.definition();
        change(&mut definition);
        let mut changed = dictionary::describe(&definition, &Identity::of(table))?;
        changed.keep_state(table);
        Ok(changed)
    }

    /// Empties a table whose name is locked.
    pub(super) fn truncate_locked(&self, old: &Arc<Table>, wait: &TrxOptions) -> Result<()> {
        self.check_truncate(old, wait.foreign_key_checks)?;
        self.make_and_exchange(old, &old.definition(), false, wait).map(drop)
    }

    /// Creates a table in the place of another one, whose name it has and which is dropped. `anew`: what belonged to the
    /// other one is dropped with it.
    pub(super) fn make_and_exchange(
        &self,
        old: &Arc<Table>,
        definition: &TableDefinition,
        anew: bool,
        wait: &TrxOptions,
    ) -> Result<Arc<Table>> {
        let mut ddl = self.begin_ddl()?;
        let new = self.make_table(&mut ddl, definition, Place::Beside)?;
        let dropped = match anew {
            true => self.drop_definitions_of(&mut ddl, (&old.database, &old.name))?,
            false => {
                new.state.statistics.set_histograms(old.histograms_for(&new, None));
                DefinitionChanges::default()
            }
        };
        let afterwards = self.exchange(ddl, old, &new, wait.log.as_deref())?;
        let _purge = self.inner.dictionary.stop_purge();
        self.show_definitions(dropped);
        let new = self.inner.dictionary.put_table(new, self.inner.registry.next_id());
        afterwards.run();
        Ok(new)
    }
}
