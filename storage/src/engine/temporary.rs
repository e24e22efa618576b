//! Temporary tables: private to one session, unknown to the log, the dictionary and other sessions.
//!
//! ```text
//!   session                        engine                             files
//!   TemporaryTables                Temporary
//!     (database, name) -> Table      id -> Table   (for purge, views)   #innodb_temp/temp_N.ibt   one for each table
//!                                    undo                               ibtmp1                    of all of them
//! ```
//!
//! A temporary table is a table like any other, with a tablespace of its own, so its pages are pages like any other:
//! they are compressed, punched and encrypted as its options say. What is missing is everything that makes changes
//! survive a restart: no redo (see `mtr`), no doublewrite, no sync, no rows in the dictionary. Its changes can be
//! rolled back all the same; their undo is in a temporary tablespace too, beside the transaction's usual undo:
//!
//! ```text
//!   Transaction   undo            -> undo tablespace     (logged: recovery needs it)
//!                 temporary_undo  -> ibtmp1              (a crash forgets both the change and its undo)
//! ```
//!
//! An operation on a temporary table runs with the two swapped; the row operations know nothing of this.
//!
//! Invariants:
//!
//! * A name leads here only through the session's own [`TemporaryTables`]: no other session waits for these tables, and
//!   no metadata lock is taken.
//! * The permanent changes of a transaction commit first. The commit of the temporary ones follows, and cannot fail in
//!   a way that the client would have to know.
//! * A table is removed only while the threads that find it by its id are stopped: purge, and a rollback that waits for
//!   the device.
//!
//! Files that a server leaves behind when it is killed are removed by the next start.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use format::ids::{IndexId, PageNo, SpaceId, TableId, TrxId, UndoNo};
use rustc_hash::FxHashMap;

use super::build::reader;
use super::{Engine, Inner, RowMap, auto_increment};
use crate::btree;
use crate::dictionary::{self, Identity, Table};
use crate::error::{Error, Result};
use crate::io::Disk;
use crate::lock::Interrupt;
use crate::mtr::Mtr;
use crate::row;
use crate::schema::{Check, TableDefinition};
use crate::segment;
use crate::store::Transform;
use crate::sync::{Mutex, Rank};
use crate::transaction::Transaction;
use crate::undo::UndoSpace;

/// Undo records that a step of purge reads.
const PURGE_BATCH: usize = if cfg!(test) { 3 } else { 128 };

/// The directory of the tables' files, as MySQL calls it.
pub const DIRECTORY: &str = "#innodb_temp";

/// The file of their undo, as MySQL calls it.
pub const UNDO_PATH: &str = "ibtmp1";

/// Ids of temporary tables and of their indexes begin here: no permanent one comes so far.
const FIRST_ID: u64 = 1 << 56;

/// Pages that an empty table has beside its roots.
const FIXED_PAGES: u32 = 3;

/// What all sessions share.
pub struct Temporary {
    /// Counts tablespaces, tables and indexes.
    next: AtomicU64,
    undo: OnceLock<UndoSpace>,
    pub(super) purger: Mutex<row::Purger>,
    tables: Mutex<BTreeMap<TableId, Arc<Table>>>,
    /// Held while the undo tablespace is made.
    making: Mutex<()>,
}

impl Temporary {
    pub fn new() -> Temporary {
        Temporary {
            next: AtomicU64::new(1),
            undo: OnceLock::new(),
            purger: Mutex::new(Rank::Instance, row::Purger::new()),
            tables: Mutex::new(Rank::Leaf, BTreeMap::new()),
            making: Mutex::new(Rank::Instance, ()),
        }
    }

    fn take_number(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }
}

/// Database and table.
type Name = (Box<str>, Box<str>);

/// The temporary tables of a session. They are dropped with the last reference to this.
pub struct TemporaryTables {
    engine: Arc<Engine>,
    tables: Mutex<FxHashMap<Name, Arc<Table>>>,
    /// One that may be filled in bulk.
    unfinished: Mutex<Option<Arc<Table>>>,
}

impl std::fmt::Debug for TemporaryTables {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.all()).finish()
    }
}

/// Removes the files that an earlier run of the server left.
pub(crate) fn remove_leftovers(disk: &dyn Disk) -> Result<()> {
    let remove = |path: &str| match disk.remove(path) {
        Err(cause) if cause.kind() != std::io::ErrorKind::NotFound => {
            Err(Error::from_io("remove a temporary tablespace", cause))
        }
        _ => Ok(()),
    };
    remove(UNDO_PATH)?;
    if disk.exists(DIRECTORY).map_err(Error::io("look for temporary tablespaces"))? {
        for entry in disk.list(DIRECTORY).map_err(Error::io("list temporary tablespaces"))? {
            if !entry.is_directory {
                remove(&format!("{DIRECTORY}/{}", entry.name))?;
            }
        }
    }
    Ok(())
}

impl Inner {
    /// The context for operations on the rows of this table.
    #[inline]
    pub(super) fn context_of(&self, table: &row::Table) -> row::Context<'_> {
        if table.space.is_temporary() { self.temporary_context() } else { self.context() }
    }

    fn temporary_context(&self) -> row::Context<'_> {
        let undo = self.temporary.undo.get().expect("the first temporary table has made it");
        row::Context { undo, ..self.context() }
    }

    /// Runs an operation on temporary tables: meanwhile the transaction's undo is the temporary one.
    #[cold]
    pub(super) fn on_temporary<T>(
        &self,
        trx: &mut Transaction,
        run: impl FnOnce(&row::Context<'_>, &mut Transaction) -> T,
    ) -> T {
        let context = self.temporary_context();
        std::mem::swap(&mut trx.undo, &mut trx.temporary_undo);
        let outcome = run(&context, trx);
        std::mem::swap(&mut trx.undo, &mut trx.temporary_undo);
        outcome
    }

    /// Makes the undo tablespace unless it is there.
    fn make_temporary_undo(&self) -> Result<()> {
        let _one = self.temporary.making.lock();
        if self.temporary.undo.get().is_some() {
            return Ok(());
        }
        let store = &self.store;
        let id = SpaceId::TEMPORARY_FIRST;
        if store.space(id).is_some() {
            // An earlier attempt failed half way.
            store.drop_temporary_space(id)?;
        }
        let config = store.config();
        let transform = Transform { encrypted: config.encrypt_undo, ..Transform::usual(config.system_compression) };
        store.create_temporary_space(id, UNDO_PATH, transform)?;
        let mut mtr = Mtr::begin(store);
        segment::init_space(&mut mtr, id, segment::space_flags(store.page_bytes()))?;
        mtr.commit();
        let undo = UndoSpace::create_temporary(store, id)?;
        assert!(self.temporary.undo.set(undo).is_ok(), "made by one at a time");
        Ok(())
    }

    /// Creates a table's file and its empty trees. No other thread knows of it yet.
    fn make_temporary_table(&self, definition: &TableDefinition) -> Result<Arc<Table>> {
        self.make_temporary_undo()?;
        let store = &self.store;
        let number = self.temporary.take_number();
        let space = u32::try_from(number).ok().and_then(|number| SpaceId::TEMPORARY_FIRST.0.checked_add(number));
        let space = space.map(SpaceId).filter(|space| space.is_temporary());
        let space = space.ok_or_else(|| Error::Unsupported("so many temporary tables since the start".into()))?;
        let mut identity = Identity {
            id: TableId(FIRST_ID + number),
            space,
            created_us: store.disk().clock().wall().as_micros() as u64,
            indexes: dictionary::index_order(definition).iter().map(|_| (IndexId(0), PageNo(0))).collect(),
            row_versions: None,
            partitions: Vec::new(),
        };
        dictionary::describe(definition, &identity)?;
        let disk = store.disk();
        if !disk.exists(DIRECTORY).map_err(Error::io("look for temporary tablespaces"))? {
            match disk.create_directory(DIRECTORY) {
                Err(cause) if cause.kind() != std::io::ErrorKind::AlreadyExists => {
                    return Err(Error::from_io("create the directory of temporary tablespaces", cause));
                }
                _ => {}
            }
        }
        let path = format!("{DIRECTORY}/temp_{number}.ibt");
        store.create_temporary_space(space, &path, dictionary::transform(&definition.options, &store.config()))?;
        match self.make_trees(definition, &mut identity) {
            Ok(table) => Ok(Arc::new(Table::unnamed(Arc::new(table)))),
            Err(error) => {
                store.drop_temporary_space(space)?;
                Err(error)
            }
        }
    }

    fn make_trees(&self, definition: &TableDefinition, identity: &mut Identity) -> Result<row::Table> {
        let store = &self.store;
        let space = identity.space;
        let mut mtr = Mtr::begin(store);
        segment::init_space(&mut mtr, space, segment::space_flags(store.page_bytes()))?;
        mtr.commit();
        let room = segment::reserve(store, space, FIXED_PAGES + identity.indexes.len() as u32)?;
        for index in &mut identity.indexes {
            let id = IndexId(FIRST_ID + self.temporary.take_number());
            let mut mtr = Mtr::begin(store);
            *index = (id, btree::create(&mut mtr, space, id)?);
            mtr.commit();
        }
        drop(room);
        let table = Arc::new(dictionary::describe(definition, identity)?);
        if definition.auto_increment_start > 1 {
            auto_increment::write_last_given(store, &table, definition.auto_increment_start - 1)?;
        }
        row::Table::open(store, table)
    }

    fn show_temporary(&self, table: &Arc<Table>) {
        self.dictionary.put_unnamed(table.trees());
        self.temporary.tables.lock().insert(table.id, table.clone());
    }

    fn drop_temporary(&self, table: &Table) -> Result<()> {
        table.set_stale();
        self.temporary.tables.lock().remove(&table.id);
        let _purge = self.dictionary.stop_purge();
        self.dictionary.remove_unnamed(table.trees());
        self.store.drop_temporary_space(table.space)
    }

    /// Undoes what the transaction did to temporary tables since `to`.
    pub(super) fn roll_back_temporary(&self, trx: &mut Transaction, to: UndoNo) -> Result<()> {
        if trx.temporary_undo.savepoint() <= to {
            return Ok(());
        }
        self.on_temporary(trx, |context, trx| row::rollback(context, trx, &|id| self.dictionary.by_id(id), to))
    }

    /// Ends the undo of temporary tables of a transaction of which everything has been undone.
    pub(super) fn end_temporary_rollback(&self, trx: &mut Transaction) -> Result<()> {
        let Some(undo) = self.temporary.undo.get().filter(|_| !trx.temporary_undo.is_empty()) else { return Ok(()) };
        undo.end_rollback(&self.store, &mut trx.temporary_undo)?;
        undo.finish(&self.store, &mut trx.temporary_undo)
    }

    /// Commits the changes to temporary tables of a transaction that had this id and has committed. It cannot fail any
    /// more: at worst a log stays active, which costs its pages until the server stops.
    pub(super) fn commit_temporary(&self, trx: &mut Transaction, id: TrxId) {
        let Some(undo) = self.temporary.undo.get().filter(|_| !trx.temporary_undo.is_empty()) else { return };
        let log = &mut trx.temporary_undo;
        let number = log.has_updates().then(|| self.registry.begin_commit());
        let committed = undo.commit(&self.store, log, id, number, None).and_then(|_| undo.finish(&self.store, log));
        if let Some(number) = number {
            // Purge may read up to it now: it is in the history.
            self.registry.cancel_commit(number);
        }
        if let Err(error) = committed {
            tracing::warn!("commit changes of temporary tables: {error}");
            trx.temporary_undo = Default::default();
        }
    }

    /// Purges a bounded part of the history of temporary tables.
    pub(super) fn purge_temporary(&self) -> Result<bool> {
        if self.temporary.undo.get().is_none() {
            return Ok(false);
        }
        let mut purger = self.temporary.purger.lock();
        let _gate = self.dictionary.hold_tables();
        let step = purger.step(&self.temporary_context(), &|id| self.dictionary.by_id(id), PURGE_BATCH)?;
        Ok(!step.is_idle())
    }

    /// Removes everything temporary: the engine closes.
    pub(super) fn close_temporary(&self) -> Result<()> {
        let tables = std::mem::take(&mut *self.temporary.tables.lock());
        for table in tables.values() {
            self.drop_temporary(table)?;
        }
        if self.store.space(SpaceId::TEMPORARY_FIRST).is_some() {
            self.store.drop_temporary_space(SpaceId::TEMPORARY_FIRST)?;
        }
        Ok(())
    }
}

impl Engine {
    /// The temporary tables of a new session: none yet.
    pub fn temporary_tables(self: &Arc<Self>) -> Arc<TemporaryTables> {
        Arc::new(TemporaryTables {
            engine: self.clone(),
            tables: Mutex::new(Rank::Leaf, FxHashMap::default()),
            unfinished: Mutex::new(Rank::Leaf, None),
        })
    }

    /// The temporary tables of all sessions.
    pub fn all_temporary_tables(&self) -> Vec<Arc<Table>> {
        self.inner.temporary.tables.lock().values().cloned().collect()
    }
}

impl TemporaryTables {
    pub fn table(&self, database: &str, name: &str) -> Option<Arc<Table>> {
        self.tables.lock().get(&(Box::from(database), Box::from(name))).cloned()
    }

    pub fn all(&self) -> Vec<Arc<Table>> {
        self.tables.lock().values().cloned().collect()
    }

    pub fn is_empty(&self) -> bool {
        self.tables.lock().is_empty()
    }

    fn existing(&self, database: &str, name: &str) -> Result<Arc<Table>> {
        self.table(database, name).ok_or_else(|| Error::NotFound(format!("{database}.{name}").into()))
    }

    /// Adds a table, replacing an older one of its name.
    fn put(&self, table: Arc<Table>) -> Option<Arc<Table>> {
        self.engine.inner.show_temporary(&table);
        self.tables.lock().insert((table.database.clone(), table.name.clone()), table)
    }

    pub fn create(&self, definition: TableDefinition) -> Result<Arc<Table>> {
        if self.table(&definition.database, &definition.name).is_some() {
            return Err(Error::Exists(format!("{}.{}", definition.database, definition.name).into()));
        }
        let table = self.engine.inner.make_temporary_table(&definition)?;
        self.put(table.clone());
        Ok(table)
    }

    /// A table may be filled in bulk, see [`super::Trx::fill_unfinished`], until this is said of another or of none. No
    /// rollback takes these rows back: so it is a new table, which goes if the statement that fills it fails, and no
    /// transaction is open that could be rolled back later.
    pub fn set_unfinished(&self, table: Option<Arc<Table>>) {
        *self.unfinished.lock() = table;
    }

    /// Whether that was said of a table.
    pub(super) fn is_unfinished(&self, table: &Arc<Table>) -> bool {
        self.unfinished.lock().as_ref().is_some_and(|unfinished| Arc::ptr_eq(unfinished, table))
    }

    /// Renames a table; the new name is free.
    pub fn rename(&self, (database, from): (&str, &str), to: &str) -> Result<Arc<Table>> {
        let old = self.existing(database, from)?;
        if self.table(database, to).is_some() {
            return Err(Error::Exists(format!("{database}.{to}").into()));
        }
        let mut definition = TableDefinition { name: to.into(), ..old.definition() };
        Check::rename_with_table(&mut definition.checks, from, to);
        let mut renamed = dictionary::describe(&definition, &Identity::of(&old))?;
        renamed.state = old.state.clone();
        let rows = row::Table::open(&self.engine.inner.store, Arc::new(renamed))?;
        let table = Arc::new(Table::unnamed(Arc::new(rows)));
        old.set_stale();
        self.tables.lock().remove(&(Box::from(database), Box::from(from)));
        self.put(table.clone());
        Ok(table)
    }

    pub fn drop_table(&self, database: &str, name: &str) -> Result<()> {
        let table = self.existing(database, name)?;
        self.tables.lock().remove(&(Box::from(database), Box::from(name)));
        self.engine.inner.drop_temporary(&table)
    }

    /// Empties a table; its AUTO_INCREMENT begins anew.
    pub fn truncate(&self, database: &str, name: &str) -> Result<()> {
        let old = self.existing(database, name)?;
        let new = self.engine.inner.make_temporary_table(&old.definition())?;
        self.put(new);
        self.engine.inner.drop_temporary(&old)
    }

    /// Copies a table by `definition`, which may have another name, and replaces the old one. No transaction of the
    /// session is open. Without a `map` the columns are the same; `auto_increment` is the next value if it is given.
    /// Returns the new table and its number of rows.
    pub fn rebuild(
        &self,
        database: &str,
        name: &str,
        definition: TableDefinition,
        auto_increment: Option<u64>,
        map: Option<&mut RowMap<'_>>,
        interrupt: &Arc<Interrupt>,
    ) -> Result<(Arc<Table>, u64)> {
        let inner = &self.engine.inner;
        let old = self.existing(database, name)?;
        let is_renamed = (&*definition.database, &*definition.name) != (database, name);
        if is_renamed && self.table(&definition.database, &definition.name).is_some() {
            return Err(Error::Exists(format!("{}.{}", definition.database, definition.name).into()));
        }
        let mut definition = definition;
        Check::rename_with_table(&mut definition.checks, name, &definition.name.clone());
        let new = inner.make_temporary_table(&definition)?;
        let mut trx = reader(interrupt);
        let look = || if interrupt.is_set() { Err(Error::Interrupted) } else { Ok(()) };
        let old_files = std::slice::from_ref(&old);
        let filled =
            inner.copy_rows(old_files, &mut trx, new.trees(), &[0], map, None, &look, interrupt).and_then(|count| {
                let last = auto_increment::after_alter(inner, &old, new.trees(), auto_increment, interrupt)?;
                if let Some(last) = last {
                    auto_increment::write_last_given(&inner.store, &new, last)?;
                }
                Ok(count)
            });
        match filled {
            Ok(count) => {
                new.state.rows.store(count, Ordering::Relaxed);
                if is_renamed {
                    self.tables.lock().remove(&(Box::from(database), Box::from(name)));
                }
                self.put(new.clone());
                inner.drop_temporary(&old)?;
                Ok((new, count))
            }
            Err(error) => {
                inner.store.drop_temporary_space(new.space)?;
                Err(error)
            }
        }
    }
}

impl Drop for TemporaryTables {
    fn drop(&mut self) {
        let tables = std::mem::take(&mut *self.tables.lock());
        for table in tables.into_values().filter(|table| !table.is_stale()) {
            if self.engine.inner.store.is_poisoned() {
                // The next start removes the files.
                return;
            }
            if let Err(error) = self.engine.inner.drop_temporary(&table) {
                tracing::warn!("remove the temporary table {table:?}: {error}");
            }
        }
    }
}
