//! DDL on tables: each statement locks its names, makes its changes inside one [`Ddl`], commits, and then shows the new
//! descriptions.
//!
//! ```text
//! CREATE     file and trees under the table's name -> rows -> commit
//! DROP       rows -> commit -> file
//! RENAME     file, rows -> commit
//! REBUILD    a new file beside the old, filled -> old file aside, new file in its place -> rows -> commit -> old file
//! TRUNCATE   a rebuild that copies nothing
//! CREATE INDEX   tree in the table's file, filled -> rows -> commit
//! ```

use std::sync::Arc;

use format::ids::{IndexId, PageNo, SpaceId};

use super::{Engine, RowMap, TrxOptions, auto_increment};
use crate::btree;
use crate::dictionary::{self, Action, Ddl, Identity, Table};
use crate::error::{Error, Result};
use crate::lock::{DdlPass, MetadataGrant, MetadataHeld, MetadataLock, TableUse};
use crate::mtr::Mtr;
use crate::row;
use crate::schema::{self, Column, ForeignKey, IndexDefinition, TableDefinition, TableOptions, same_name};
use crate::segment;

/// Database and table.
pub type TableName<'a> = (&'a str, &'a str);

/// Pages that an empty table has beside its roots.
const FIXED_PAGES: u32 = 3;

/// The path of a table's file.
pub(super) fn path_of(table: &schema::Table) -> String {
    dictionary::table_path(&table.database, &table.name)
}

pub(super) fn not_found(database: &str, name: &str) -> Error {
    Error::NotFound(format!("{database}.{name}").into())
}

/// The names of a DDL statement, locked until this is dropped: databases shared, tables alone.
pub(super) struct Names {
    _databases: MetadataHeld,
    _tables: MetadataGrant,
    _pass: Option<DdlPass>,
}

impl Engine {
    /// Lets a DDL statement begin: not while a backup holds the instance.
    pub(super) fn pass_backups(&self, wait: &TrxOptions) -> Result<Option<DdlPass>> {
        if wait.holds_backup_lock {
            return Ok(None);
        }
        self.inner.dictionary.instance_lock().pass(&wait.interrupt, wait.metadata_wait_timeout).map(Some)
    }

    /// Locks names in the one order that all statements keep: databases, then tables, each by name.
    pub(super) fn lock_names(&self, tables: &[(&str, &str)], wait: &TrxOptions) -> Result<Names> {
        let dictionary = &self.inner.dictionary;
        let pass = self.pass_backups(wait)?;
        let mut tables = tables.to_vec();
        tables.sort_unstable();
        tables.dedup();
        let mut databases = MetadataHeld::default();
        let mut last = None;
        for (database, _) in &tables {
            if last.replace(*database) != Some(*database) {
                let lock = dictionary.database_lock(database);
                databases.share(&lock, TableUse::Read, &wait.interrupt, wait.metadata_wait_timeout)?;
            }
        }
        let locks = tables.iter().map(|(database, name)| dictionary.table_lock(database, name));
        // What the session has alone already, it need not wait for.
        let has = |lock: &MetadataLock| {
            wait.locked_tables.as_ref().is_some_and(|locked| locked.allows(lock) == Some(TableUse::Write))
        };
        let locks = locks.filter(|lock| !has(lock)).collect();
        let tables = MetadataGrant::take(locks, &wait.interrupt, wait.metadata_wait_timeout)?;
        Ok(Names { _databases: databases, _tables: tables, _pass: pass })
    }

    /// LOCK TABLES: these tables stay as they are, or are nobody else's, until the answer is dropped.
    pub fn lock_tables(&self, tables: &[(&str, &str, TableUse)], wait: &TrxOptions) -> Result<MetadataGrant> {
        let mut tables = tables.to_vec();
        // The stronger request for a name comes first, and is the one that is kept.
        tables.sort_unstable_by(|a, b| (a.0, a.1, b.2).cmp(&(b.0, b.1, a.2)));
        tables.dedup_by_key(|(database, name, _)| (*database, *name));
        let dictionary = &self.inner.dictionary;
        let locks = tables.iter().map(|(database, name, wanted)| (dictionary.table_lock(database, name), *wanted));
        MetadataGrant::take_for(locks.collect(), &wait.interrupt, wait.metadata_wait_timeout)
    }

    /// Locks the name of a table that gets a description, and those of its relatives.
    fn lock_related(
        &self,
        definition: &TableDefinition,
        old: Option<&schema::Table>,
        wait: &TrxOptions,
    ) -> Result<Names> {
        loop {
            let relatives = self.relatives(definition, old);
            let mut names = vec![(&*definition.database, &*definition.name)];
            names.extend(relatives.iter().map(|(database, name)| (&**database, &**name)));
            let locked = self.lock_names(&names, wait)?;
            // A child that came meanwhile is one more to be locked.
            if self.relatives(definition, old).iter().all(|name| relatives.contains(name)) {
                return Ok(locked);
            }
        }
    }

    pub(super) fn begin_ddl(&self) -> Result<Ddl<'_>> {
        Ddl::begin(self.inner.context(), &self.inner.dictionary)
    }

    fn existing(&self, database: &str, name: &str) -> Result<Arc<Table>> {
        let dictionary = &self.inner.dictionary;
        dictionary.table(database, name).ok_or_else(|| dictionary.why_missing(database, name))
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

    pub fn create_table(&self, mut definition: TableDefinition, wait: &TrxOptions) -> Result<Arc<Table>> {
        self.settle_names(&mut definition);
        let dictionary = &self.inner.dictionary;
        let (database, name) = (&*definition.database, &*definition.name);
        let _names = self.lock_related(&definition, None, wait)?;
        dictionary.database(database).ok_or_else(|| Error::NotFound(database.into()))?;
        if dictionary.table(database, name).is_some() {
            return Err(Error::Exists(format!("{database}.{name}").into()));
        }
        dictionary.check_usable(database, name)?;
        self.check_relations(&definition, None, wait.foreign_key_checks)?;
        let mut ddl = self.begin_ddl()?;
        let table = self.make_table(&mut ddl, &definition, |_| dictionary::table_path(database, name))?;
        ddl.insert_table(&table)?;
        ddl.commit()?.run();
        Ok(dictionary.put_table(table, self.inner.registry.next_id()))
    }

    /// Makes the file of a table and its empty trees. Nobody knows of it yet.
    fn make_table(
        &self,
        ddl: &mut Ddl<'_>,
        definition: &TableDefinition,
        path: impl FnOnce(SpaceId) -> String,
    ) -> Result<row::Table> {
        let store = &self.inner.store;
        let indexes = dictionary::index_order(definition).len();
        let mut identity = Identity {
            id: Default::default(),
            space: SpaceId(0),
            created_us: store.disk().clock().wall().as_micros() as u64,
            indexes: vec![(IndexId(0), PageNo(0)); indexes],
        };
        // A definition that cannot be a table fails before it has cost anything.
        dictionary::describe(definition, &identity)?;
        let ids = dictionary::new_ids(store, indexes)?;
        let path = path(ids.space);
        ddl.will_take_back(Action::DropSpace { space: ids.space, path: path.as_str().into() })?;
        let space =
            store.create_space(ids.space, &path, dictionary::transform(&definition.options, &store.config()))?;
        space.set_atomic_writes(definition.options.atomic_writes);
        store.check_headroom()?;
        let mut mtr = Mtr::begin(store);
        segment::init_space(&mut mtr, ids.space, segment::space_flags(store.page_bytes()))?;
        mtr.commit();
        let room = segment::reserve(store, ids.space, FIXED_PAGES + indexes as u32)?;
        identity.id = ids.table;
        identity.space = ids.space;
        for (position, index) in identity.indexes.iter_mut().enumerate() {
            let id = IndexId(ids.index.0 + position as u64);
            store.check_headroom()?;
            let mut mtr = Mtr::begin(store);
            *index = (id, btree::create(&mut mtr, ids.space, id)?);
            mtr.commit();
        }
        drop(room);
        let table = Arc::new(dictionary::describe(definition, &identity)?);
        if definition.auto_increment_start > 1 {
            auto_increment::write_last_given(store, &table, definition.auto_increment_start - 1)?;
        }
        row::Table::open(store, table)
    }

    /// All or none.
    pub fn drop_tables(&self, names: &[(&str, &str)], wait: &TrxOptions) -> Result<()> {
        let dictionary = &self.inner.dictionary;
        let _names = self.lock_names(names, wait)?;
        let tables = names.iter().map(|(database, name)| self.existing(database, name)).collect::<Result<Vec<_>>>()?;
        self.check_drop(&tables, wait.foreign_key_checks)?;
        let mut ddl = self.begin_ddl()?;
        for table in &tables {
            ddl.delete_table(table)?;
            ddl.will_do_afterwards(Action::DropSpace { space: table.space, path: path_of(table).into() })?;
        }
        let afterwards = ddl.commit()?;
        let _purge = dictionary.stop_purge();
        for table in &tables {
            dictionary.remove_table(&table.database, &table.name);
        }
        afterwards.run();
        Ok(())
    }

    /// Renames a tablespace's file now; a rollback renames it back.
    pub(super) fn move_file(&self, ddl: &mut Ddl<'_>, space: SpaceId, from: &str, to: &str) -> Result<()> {
        ddl.will_take_back(Action::RenameSpace { space, path: from.into() })?;
        self.inner.store.rename_space(space, to)
    }

    /// The same table with a changed description that leaves its trees as they are.
    pub(super) fn redescribe(
        &self,
        table: &schema::Table,
        change: impl FnOnce(&mut TableDefinition),
    ) -> Result<schema::Table> {
        let mut definition = table.definition();
        change(&mut definition);
        let identity = Identity {
            id: table.id,
            space: table.space,
            created_us: table.created_us,
            indexes: table.indexes.iter().map(|index| (index.id, index.root)).collect(),
        };
        let mut changed = dictionary::describe(&definition, &identity)?;
        changed.state = table.state.clone();
        Ok(changed)
    }

    // Changing descriptions

    /// Locks a table, changes its description, and shows the new one.
    fn alter_description(
        &self,
        database: &str,
        name: &str,
        wait: &TrxOptions,
        change: &mut dyn FnMut(&mut TableDefinition) -> Result<()>,
    ) -> Result<Arc<Table>> {
        let dictionary = &self.inner.dictionary;
        // Once without the lock, to know whose names are concerned.
        let seen = self.existing(database, name)?;
        let mut definition = seen.definition();
        change(&mut definition)?;
        let _names = self.lock_related(&definition, Some(&seen), wait)?;
        let table = self.existing(database, name)?;
        let mut definition = table.definition();
        change(&mut definition)?;
        self.settle_names(&mut definition);
        self.check_relations(&definition, Some(&table), wait.foreign_key_checks)?;
        let changed = self.redescribe(&table, |own| *own = definition.clone())?;
        let changed = Arc::new(row::Table::open(&self.inner.store, Arc::new(changed))?);
        if wait.foreign_key_checks {
            self.check_rows(&changed, Some(&table), &wait.interrupt)?;
        }
        let mut ddl = self.begin_ddl()?;
        ddl.delete_table(&table)?;
        ddl.insert_table(&changed)?;
        let followed = self.follow_columns(&mut ddl, &definition)?;
        let changed = Arc::into_inner(changed).expect("nobody else has it yet");
        let afterwards = ddl.commit()?;
        let _purge = dictionary.stop_purge();
        // Nothing but words has changed.
        let shown = dictionary.put_table(changed, table.since());
        self.show_followed(followed);
        afterwards.run();
        if let Some(space) = self.inner.store.space(shown.space) {
            space.set_transform(dictionary::transform(&shown.options, &self.config()));
            space.set_atomic_writes(shown.options.atomic_writes);
        }
        Ok(shown)
    }

    /// A change of options that touches no row: pages take the new form when they are next written.
    pub fn alter_table_options(
        &self,
        database: &str,
        name: &str,
        wait: &TrxOptions,
        change: &mut dyn FnMut(&mut TableOptions),
    ) -> Result<Arc<Table>> {
        self.alter_description(database, name, wait, &mut |definition| {
            change(&mut definition.options);
            Ok(())
        })
    }

    /// Changes descriptions of columns in ways that leave every stored byte and every index as it is: default, comment,
    /// name, members added at the end of an ENUM of the same width ... The caller knows. Number and order stay.
    pub fn alter_columns(
        &self,
        database: &str,
        name: &str,
        wait: &TrxOptions,
        change: &mut dyn FnMut(&mut Vec<Column>),
    ) -> Result<Arc<Table>> {
        self.alter_description(database, name, wait, &mut |definition| {
            let before: Vec<Box<str>> = definition.columns.iter().map(|column| column.name.clone()).collect();
            change(&mut definition.columns);
            assert_eq!(definition.columns.len(), before.len(), "columns keep their number");
            let now = definition.columns.iter().map(|column| column.name.clone());
            definition.renamed_columns = before.into_iter().zip(now).filter(|(old, new)| old != new).collect();
            Ok(())
        })
    }

    /// Gives a table other foreign keys. Rows are looked at for those that it did not have.
    pub fn alter_foreign_keys(
        &self,
        database: &str,
        name: &str,
        keys: &[ForeignKey],
        wait: &TrxOptions,
    ) -> Result<Arc<Table>> {
        self.alter_description(database, name, wait, &mut |definition| {
            definition.foreign_keys = keys.to_vec();
            Ok(())
        })
    }

    pub fn rename_index(
        &self,
        database: &str,
        name: &str,
        from: &str,
        to: &str,
        wait: &TrxOptions,
    ) -> Result<Arc<Table>> {
        self.alter_description(database, name, wait, &mut |definition| {
            let found = definition.indexes.iter_mut().find(|index| same_name(&index.name, from));
            found.ok_or_else(|| Error::NotFound(format!("index {from}").into()))?.name = to.into();
            Ok(())
        })
    }

    // Indexes

    /// Adds a secondary index, filled by sorting. DuplicateKey { index }: the ordinal that it would have had.
    pub fn create_index(
        &self,
        database: &str,
        name: &str,
        index: IndexDefinition,
        wait: &TrxOptions,
    ) -> Result<Arc<Table>> {
        let dictionary = &self.inner.dictionary;
        let store = &self.inner.store;
        let _names = self.lock_names(&[(database, name)], wait)?;
        let table = self.existing(database, name)?;
        let mut definition = table.definition();
        definition.indexes.push(index);
        // The clustered index stays: a new one means that the rows move.
        if dictionary::index_order(&definition).first() != dictionary::index_order(&table.definition()).first() {
            return Err(Error::Unsupported("a new clustered index without a rebuild".into()));
        }
        let ids = dictionary::new_ids(store, 1)?;
        let mut ddl = self.begin_ddl()?;
        ddl.will_take_back(Action::DropIndex { space: table.space, index: ids.index })?;
        let room = segment::reserve(store, table.space, FIXED_PAGES)?;
        store.check_headroom()?;
        let mut mtr = Mtr::begin(store);
        let root = btree::create(&mut mtr, table.space, ids.index)?;
        mtr.commit();
        drop(room);
        let mut identity = Identity {
            id: table.id,
            space: table.space,
            created_us: table.created_us,
            indexes: table.indexes.iter().map(|index| (index.id, index.root)).collect(),
        };
        identity.indexes.push((ids.index, root));
        let mut changed = dictionary::describe(&definition, &identity)?;
        changed.state = table.state.clone();
        let changed = row::Table::open(store, Arc::new(changed))?;
        // The leaves are read without a transaction: purge might merge them on the way.
        let _purge = dictionary.stop_purge();
        self.inner.fill_index(&changed, changed.indexes.len() - 1, &wait.interrupt)?;
        ddl.delete_table(&table)?;
        ddl.insert_table(&changed)?;
        let afterwards = ddl.commit()?;
        let shown = dictionary.put_table(changed, self.inner.registry.next_id());
        afterwards.run();
        Ok(shown)
    }

    /// Takes a secondary index away.
    pub fn drop_index(&self, database: &str, name: &str, index: &str, wait: &TrxOptions) -> Result<Arc<Table>> {
        let dictionary = &self.inner.dictionary;
        let _names = self.lock_names(&[(database, name)], wait)?;
        let table = self.existing(database, name)?;
        let missing = || Error::NotFound(format!("index {index}").into());
        let position = table.index(index).filter(|at| !table.indexes[*at].is_hidden()).ok_or_else(missing)?;
        if position == 0 {
            return Err(Error::Unsupported("dropping the clustered index without a rebuild".into()));
        }
        let mut definition = table.definition();
        definition.indexes.retain(|other| !same_name(&other.name, index));
        self.check_relations(&definition, Some(&table), wait.foreign_key_checks)?;
        let mut identity = Identity {
            id: table.id,
            space: table.space,
            created_us: table.created_us,
            indexes: table.indexes.iter().map(|index| (index.id, index.root)).collect(),
        };
        let (dropped, _) = identity.indexes.remove(position);
        let mut changed = dictionary::describe(&definition, &identity)?;
        changed.state = table.state.clone();
        let changed = row::Table::open(&self.inner.store, Arc::new(changed))?;
        let mut ddl = self.begin_ddl()?;
        ddl.delete_table(&table)?;
        ddl.insert_table(&changed)?;
        ddl.will_do_afterwards(Action::DropIndex { space: table.space, index: dropped })?;
        let afterwards = ddl.commit()?;
        let _purge = dictionary.stop_purge();
        let shown = dictionary.put_table(changed, self.inner.registry.next_id());
        afterwards.run();
        Ok(shown)
    }

    // Rebuilding

    /// Copies a table into a new file by `definition` (same database and name) and puts it in place of the old one (ALTER
    /// TABLE, OPTIMIZE TABLE). Without a `map` the columns are the same. Returns the new table and its number of rows.
    pub fn rebuild_table(
        &self,
        database: &str,
        name: &str,
        mut definition: TableDefinition,
        map: Option<&mut RowMap<'_>>,
        wait: &TrxOptions,
    ) -> Result<(Arc<Table>, u64)> {
        assert!(&*definition.database == database && &*definition.name == name, "a rebuilt table keeps its name");
        self.settle_names(&mut definition);
        let seen = self.existing(database, name)?;
        let _names = self.lock_related(&definition, Some(&seen), wait)?;
        let old = self.existing(database, name)?;
        self.check_relations(&definition, Some(&old), wait.foreign_key_checks)?;
        self.replace(&old, &definition, |new| {
            let count = self.inner.copy_rows(&old, new, map, &wait.interrupt)?;
            if wait.foreign_key_checks {
                self.check_rows(new, Some(&old), &wait.interrupt)?;
            }
            Ok(count)
        })
    }

    /// Empties a table; its AUTO_INCREMENT begins anew.
    pub fn truncate_table(&self, database: &str, name: &str, wait: &TrxOptions) -> Result<()> {
        let _names = self.lock_names(&[(database, name)], wait)?;
        let old = self.existing(database, name)?;
        self.check_truncate(&old, wait.foreign_key_checks)?;
        self.replace_empty(&old)?;
        Ok(())
    }

    fn replace_empty(&self, old: &Arc<Table>) -> Result<(Arc<Table>, u64)> {
        let mut ddl = self.begin_ddl()?;
        let new =
            self.make_table(&mut ddl, &old.definition(), |space| dictionary::temporary_path(&old.database, space.0))?;
        self.put_in_place(ddl, old, new).map(|table| (table, 0))
    }

    fn replace(
        &self,
        old: &Arc<Table>,
        definition: &TableDefinition,
        fill: impl FnOnce(&Arc<row::Table>) -> Result<u64>,
    ) -> Result<(Arc<Table>, u64)> {
        let mut ddl = self.begin_ddl()?;
        let new = self.make_table(&mut ddl, definition, |space| dictionary::temporary_path(&old.database, space.0))?;
        let new = Arc::new(new);
        let count = fill(&new)?;
        let new = Arc::into_inner(new).expect("nobody else has it yet");
        // The new counter is not behind the old one.
        if new.auto_increment.is_some() {
            let given = auto_increment::read_last_given(&self.inner.store, old)?;
            auto_increment::write_last_given(&self.inner.store, &new, given)?;
        }
        new.state.rows.store(count, std::sync::atomic::Ordering::Relaxed);
        let followed = self.follow_columns(&mut ddl, definition)?;
        let table = self.put_in_place(ddl, old, new)?;
        self.show_followed(followed);
        Ok((table, count))
    }

    /// Exchanges the files of a table and its successor, and commits.
    fn put_in_place(&self, mut ddl: Ddl<'_>, old: &Arc<Table>, new: row::Table) -> Result<Arc<Table>> {
        let dictionary = &self.inner.dictionary;
        let path = path_of(&new);
        let beside = dictionary::temporary_path(&old.database, new.space.0);
        let aside = dictionary::temporary_path(&old.database, old.space.0);
        ddl.delete_table(old)?;
        ddl.insert_table(&new)?;
        self.move_file(&mut ddl, old.space, &path_of(old), &aside)?;
        self.move_file(&mut ddl, new.space, &beside, &path)?;
        ddl.will_do_afterwards(Action::DropSpace { space: old.space, path: aside.into() })?;
        let afterwards = ddl.commit()?;
        let _purge = dictionary.stop_purge();
        let shown = dictionary.put_table(new, self.inner.registry.next_id());
        afterwards.run();
        Ok(shown)
    }
}
