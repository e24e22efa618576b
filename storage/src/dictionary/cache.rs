//! The cache of descriptions, by name and by id.

use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use format::ids::{TableId, TrxId};
use format::transform::Algorithm;
use rustc_hash::{FxHashMap, FxHashSet};

use super::definitions::Definitions;
use super::leftovers::Leftovers;
use super::links::{Links, Name, Names};
use super::rows::SystemRows;
use crate::config::Config;
use crate::error::{Error, Result};
use crate::gate::Health;
use crate::lock::{InstanceLock, MetadataLock, address};
use crate::row;
use crate::row::foreign::Relations;
use crate::schema::{Compression, Database, DefinitionKind, DefinitionName, TableOptions};
use crate::store::Transform;
use crate::sync::{Mutex, Rank, ReadGuard, RwLock, WriteGuard};
use crate::transaction::ReadView;

/// A table as statements see it: its description, its trees, and the lock of its name.
pub struct Table {
    rows: Arc<row::Table>,
    metadata: Arc<MetadataLock>,
    stale: AtomicBool,
    /// Read views that are older than this know the table as it was before a DDL, and may not read it: rows and entries
    /// that they would need were not copied.
    since: TrxId,
    /// Whether it refers to tables, or is referred to: only then row operations look for its relations.
    related: AtomicBool,
    /// Where the rows of a table that is divided are: tables that only it names.
    partitions: Vec<Arc<Table>>,
    reads: Reads,
}

/// How many rows were found in a table since it has this description.
pub struct Reads {
    /// By walking over all of it.
    whole: AtomicU64,
    /// By each index.
    by_index: Box<[AtomicU64]>,
}

impl Reads {
    fn of(table: &row::Table) -> Reads {
        Reads { whole: AtomicU64::new(0), by_index: table.indexes.iter().map(|_| AtomicU64::new(0)).collect() }
    }

    #[inline]
    fn counter(&self, index: Option<usize>) -> Option<&AtomicU64> {
        index.map_or(Some(&self.whole), |index| self.by_index.get(index))
    }

    /// Rows were found by an index, or, without one, by walking over the whole table.
    #[inline]
    pub fn add(&self, index: Option<usize>, rows: u64) {
        if rows > 0
            && let Some(counter) = self.counter(index)
        {
            counter.fetch_add(rows, Ordering::Relaxed);
        }
    }

    pub fn get(&self, index: Option<usize>) -> u64 {
        self.counter(index).map_or(0, |counter| counter.load(Ordering::Relaxed))
    }

    /// All of them.
    pub fn sum(&self) -> u64 {
        self.by_index.iter().chain([&self.whole]).map(|counter| counter.load(Ordering::Relaxed)).sum()
    }

    pub fn clear(&self) {
        self.by_index.iter().chain([&self.whole]).for_each(|counter| counter.store(0, Ordering::Relaxed));
    }
}

impl Deref for Table {
    type Target = row::Table;
    #[inline]
    fn deref(&self) -> &row::Table {
        &self.rows
    }
}

impl std::fmt::Debug for Table {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.full_name())
    }
}

impl Table {
    /// A temporary or unfinished table: no name leads other sessions to it, so nobody waits for its lock.
    pub fn unnamed(rows: Arc<row::Table>) -> Table {
        Table::new(rows, Arc::new(MetadataLock::new(Arc::default())), TrxId(0))
    }

    fn new(rows: Arc<row::Table>, metadata: Arc<MetadataLock>, since: TrxId) -> Table {
        let partition = |rows: &Arc<row::Table>| Arc::new(Table::new(rows.clone(), metadata.clone(), since));
        Table {
            reads: Reads::of(&rows),
            partitions: rows.partitions().iter().map(partition).collect(),
            rows,
            metadata,
            stale: AtomicBool::new(false),
            since,
            related: AtomicBool::new(false),
        }
    }

    /// Where the rows of a table that is divided are: reads and changes go to these. The table's own lock protects them.
    #[inline]
    pub fn partitions(&self) -> &[Arc<Table>] {
        &self.partitions
    }

    /// What has a file: the partitions, or the table itself.
    pub fn files(self: &Arc<Table>) -> &[Arc<Table>] {
        if self.is_partitioned() { &self.partitions } else { std::slice::from_ref(self) }
    }

    #[inline]
    pub fn is_temporary(&self) -> bool {
        self.space.is_temporary()
    }

    /// What the row operations take.
    #[inline]
    pub fn trees(&self) -> &Arc<row::Table> {
        &self.rows
    }

    /// The lock of its name.
    #[inline]
    pub fn metadata(&self) -> &Arc<MetadataLock> {
        &self.metadata
    }

    pub fn since(&self) -> TrxId {
        self.since
    }

    /// Whether a read view of that limit may read the table.
    #[inline]
    pub fn is_known_to(&self, view: &ReadView) -> bool {
        view.low_limit() >= self.since
    }

    /// Whether a later description has replaced it.
    #[inline]
    pub fn is_stale(&self) -> bool {
        self.stale.load(Ordering::Acquire)
    }

    /// A hash of a row's key in a unique index, equal for rows whose keys compare equal. `None`: several rows may have the
    /// key, because the index is not unique or the key has a NULL.
    pub fn unique_key_hash<'v>(&self, index: usize, value: &dyn Fn(usize) -> Option<&'v [u8]>) -> Option<u64> {
        // A key is in one partition; the first one's numbers stand for all.
        row::unique_key_hash(self.rows.partitions().first().unwrap_or(&self.rows), index, value)
    }

    /// Whether there are foreign keys from or to it.
    #[inline]
    pub fn is_related(&self) -> bool {
        self.related.load(Ordering::Relaxed)
    }

    /// How its rows were found.
    #[inline]
    pub fn reads(&self) -> &Reads {
        &self.reads
    }

    /// From here on no statement takes this for the table of its name.
    pub fn set_stale(&self) {
        self.stale.store(true, Ordering::Release);
    }
}

/// See the module header.
pub struct Dictionary {
    pub system: SystemRows,
    pub definitions: Definitions,
    cache: RwLock<Cache>,
    /// How many databases are read only: mostly none, and then no name is looked up.
    read_only_databases: AtomicUsize,
    /// Locks of names, of tables and views (`d/t`), databases (`d`), and other definitions (a NUL, `d`, the kind, and the
    /// name, each behind a NUL). A name keeps its lock while the server runs.
    names: Mutex<FxHashMap<Box<str>, Arc<MetadataLock>>>,
    /// Shared by purge while it works on tables without locking their names; exclusive for a DDL that removes trees or
    /// files.
    purge_gate: RwLock<()>,
    /// Keeps DDL statements and backups apart.
    instance: Arc<InstanceLock>,
    health: Arc<Health>,
    pub(super) leftovers: Leftovers,
}

#[derive(Default)]
struct Cache {
    databases: FxHashMap<Box<str>, Entry>,
    by_id: FxHashMap<TableId, Arc<row::Table>>,
    /// Those that were found damaged. They have no name any more.
    refused: FxHashSet<TableId>,
    links: Links,
}

impl Cache {
    fn remember(&mut self, rows: &Arc<row::Table>) {
        self.by_id.insert(rows.id, rows.clone());
        self.by_id.extend(rows.partitions().iter().map(|partition| (partition.id, partition.clone())));
    }

    fn forget(&mut self, rows: &row::Table) {
        self.by_id.remove(&rows.id);
        for partition in rows.partitions() {
            self.by_id.remove(&partition.id);
        }
    }

    /// A description was added, removed, or replaced another.
    fn relate(
        &mut self,
        old: Option<&Arc<row::Table>>,
        new: Option<&Arc<row::Table>>,
        lock: &dyn Fn(&str, &str) -> Arc<MetadataLock>,
    ) {
        let databases = &self.databases;
        let entry = |database: &str, name: &str| databases.get(database).and_then(|entry| entry.tables.get(name));
        let table = |database: &str, name: &str| entry(database, name).map(|table| table.rows.clone());
        let changed = self.links.replace(old, new, Names { table: &table, lock });
        for (table, is_related) in changed {
            if let Some(table) = entry(&table.database, &table.name) {
                table.related.store(is_related, Ordering::Relaxed);
            }
        }
    }
}

struct Entry {
    database: Arc<Database>,
    tables: FxHashMap<Box<str>, Arc<Table>>,
    /// Tables that are described, but cannot be used, and the reason.
    unavailable: FxHashMap<Box<str>, Error>,
}

impl Dictionary {
    pub fn new(system: SystemRows, health: Arc<Health>) -> Dictionary {
        let by_id = system.all().iter().map(|table| (table.id, table.clone())).collect();
        Dictionary {
            system,
            definitions: Definitions::new(),
            cache: RwLock::new(Rank::Dictionary, Cache { by_id, ..Cache::default() }),
            read_only_databases: AtomicUsize::new(0),
            names: Mutex::new(Rank::Leaf, FxHashMap::default()),
            purge_gate: RwLock::new(Rank::Metadata, ()),
            instance: Arc::new(InstanceLock::new(health.clone())),
            health,
            leftovers: Leftovers::new(),
        }
    }

    // Names

    fn name_lock(&self, name: String) -> Arc<MetadataLock> {
        let new = || Arc::new(MetadataLock::new(self.health.clone()));
        self.names.lock().entry(name.into_boxed_str()).or_insert_with(new).clone()
    }

    /// What the locks at these addresses are of: see [`Dictionary::names`].
    pub fn lock_names(&self) -> FxHashMap<usize, Box<str>> {
        let names = self.names.lock();
        names.iter().map(|(name, lock)| (address(&**lock), name.clone())).collect()
    }

    pub fn database_lock(&self, name: &str) -> Arc<MetadataLock> {
        self.name_lock(name.to_string())
    }

    pub fn table_lock(&self, database: &str, name: &str) -> Arc<MetadataLock> {
        self.name_lock(format!("{database}/{name}"))
    }

    pub fn definition_lock(&self, (kind, database, name): DefinitionName<'_>) -> Arc<MetadataLock> {
        match kind {
            DefinitionKind::View => self.table_lock(database, name),
            kind => self.name_lock(format!("\0{database}\0{}\0{name}", kind as u32)),
        }
    }

    /// The backup lock, which a DDL statement takes before it locks names.
    pub fn instance_lock(&self) -> &Arc<InstanceLock> {
        &self.instance
    }

    // Looking

    pub fn databases(&self) -> Vec<Arc<Database>> {
        let cache = self.cache.read();
        let mut databases: Vec<_> = cache.databases.values().map(|entry| entry.database.clone()).collect();
        databases.sort_by(|a, b| a.name.cmp(&b.name));
        databases
    }

    pub fn database(&self, name: &str) -> Option<Arc<Database>> {
        self.cache.read().databases.get(name).map(|entry| entry.database.clone())
    }

    #[inline]
    pub fn table(&self, database: &str, name: &str) -> Option<Arc<Table>> {
        self.cache.read().databases.get(database)?.tables.get(name).cloned()
    }

    /// Why there is no such table: it does not exist, or it cannot be used.
    pub fn why_missing(&self, database: &str, name: &str) -> Error {
        let cache = self.cache.read();
        let unavailable = cache.databases.get(database).and_then(|entry| entry.unavailable.get(name));
        unavailable.cloned().unwrap_or_else(|| Error::NotFound(format!("{database}.{name}").into()))
    }

    /// The same for a name that is to be given to a new table: an error if a table has it that cannot be used.
    pub fn check_usable(&self, database: &str, name: &str) -> Result<()> {
        match self.why_missing(database, name) {
            Error::NotFound(_) => Ok(()),
            error => Err(error),
        }
    }

    /// The same for all tables of a database.
    pub fn check_all_usable(&self, database: &str) -> Result<()> {
        let cache = self.cache.read();
        let first = cache.databases.get(database).and_then(|entry| entry.unavailable.values().next());
        first.map_or(Ok(()), |error| Err(error.clone()))
    }

    /// The tables of a database, by name.
    pub fn tables(&self, database: &str) -> Vec<Arc<Table>> {
        let cache = self.cache.read();
        let Some(entry) = cache.databases.get(database) else { return Vec::new() };
        let mut tables: Vec<_> = entry.tables.values().cloned().collect();
        tables.sort_by(|a, b| a.name.cmp(&b.name));
        tables
    }

    pub fn all_tables(&self) -> Vec<Arc<Table>> {
        self.databases().iter().flat_map(|database| self.tables(&database.name)).collect()
    }

    /// The same for what has a file: the partitions of a table, or the table itself.
    pub fn all_files(&self) -> Vec<Arc<Table>> {
        self.all_tables().iter().flat_map(|table| table.files().to_vec()).collect()
    }

    /// Users' and system tables.
    pub fn by_id(&self, id: TableId) -> Option<Arc<row::Table>> {
        self.cache.read().by_id.get(&id).cloned()
    }

    /// The foreign keys from and to a table, with the tables that they refer to; None = there are none.
    pub fn relations(&self, table: TableId) -> Option<Arc<Relations>> {
        self.cache.read().links.relations(table).cloned()
    }

    /// The names of the tables that refer to one of this name, whether it exists or not.
    pub fn children_of(&self, database: &str, name: &str) -> Vec<Name> {
        self.cache.read().links.children_of(database, name)
    }

    // Changing, after the rows were committed

    pub fn put_database(&self, database: Database) {
        let database = Arc::new(database);
        let mut cache = self.cache.write();
        let before = cache.databases.get(&database.name).is_some_and(|entry| entry.database.read_only);
        self.count_read_only(before, database.read_only);
        match cache.databases.get_mut(&database.name) {
            Some(entry) => entry.database = database,
            None => {
                let entry = Entry {
                    database: database.clone(),
                    tables: FxHashMap::default(),
                    unavailable: FxHashMap::default(),
                };
                cache.databases.insert(database.name.clone(), entry);
            }
        }
    }

    /// Records a table that is described, but cannot be used.
    pub fn put_unavailable(&self, database: &str, name: &str, why: Error) {
        if let Some(entry) = self.cache.write().databases.get_mut(database) {
            entry.unavailable.insert(name.into(), why);
        }
    }

    /// Refuses a table that was found damaged: statements cannot open it any more. A rollback of its changes still
    /// finds it, purge does not.
    pub fn refuse(&self, database: &str, name: &str, why: Error) {
        let mut cache = self.cache.write();
        let Some(entry) = cache.databases.get_mut(database) else { return };
        entry.unavailable.entry(name.into()).or_insert(why);
        if let Some(table) = entry.tables.remove(name) {
            table.set_stale();
            cache.refused.insert(table.id);
            cache.refused.extend(table.partitions.iter().map(|partition| partition.id));
        }
    }

    /// The table, unless it is refused.
    pub fn by_id_to_purge(&self, id: TableId) -> Option<Arc<row::Table>> {
        let cache = self.cache.read();
        cache.by_id.get(&id).filter(|_| !cache.refused.contains(&id)).cloned()
    }

    pub fn remove_database(&self, name: &str) {
        let removed = self.cache.write().databases.remove(name);
        self.count_read_only(removed.is_some_and(|entry| entry.database.read_only), false);
    }

    fn count_read_only(&self, before: bool, after: bool) {
        match (before, after) {
            (false, true) => drop(self.read_only_databases.fetch_add(1, Ordering::Relaxed)),
            (true, false) => drop(self.read_only_databases.fetch_sub(1, Ordering::Relaxed)),
            _ => {}
        }
    }

    #[inline]
    pub fn has_read_only(&self) -> bool {
        self.read_only_databases.load(Ordering::Relaxed) > 0
    }

    /// An error if nothing in a database may change. Who asks holds a lock that ALTER DATABASE waits for.
    #[inline]
    pub fn check_writable(&self, database: &str) -> Result<()> {
        if !self.has_read_only() {
            return Ok(());
        }
        match self.database(database).is_some_and(|database| database.read_only) {
            true => Err(Error::ReadOnlyDatabase(database.into())),
            false => Ok(()),
        }
    }

    /// Adds a table, or replaces the older description of this name. Read views taken before `since` may not read it.
    pub fn put_table(&self, rows: row::Table, since: TrxId) -> Arc<Table> {
        let table = self.new_table(rows, since);
        self.put(&mut self.cache.write(), &table);
        table
    }

    pub fn remove_table(&self, database: &str, name: &str) {
        self.remove(&mut self.cache.write(), database, name);
    }

    /// Removes names and adds tables in one step: no other thread sees a table under both of its names, or under none.
    pub fn replace_tables<'n>(
        &self,
        names: impl Iterator<Item = (&'n str, &'n str)>,
        tables: Vec<row::Table>,
        since: TrxId,
    ) -> Vec<Arc<Table>> {
        let tables: Vec<_> = tables.into_iter().map(|rows| self.new_table(rows, since)).collect();
        let mut cache = self.cache.write();
        for (database, name) in names {
            self.remove(&mut cache, database, name);
        }
        for table in &tables {
            self.put(&mut cache, table);
        }
        tables
    }

    fn new_table(&self, rows: row::Table, since: TrxId) -> Arc<Table> {
        let metadata = self.table_lock(&rows.database, &rows.name);
        Arc::new(Table::new(Arc::new(rows), metadata, since))
    }

    fn put(&self, cache: &mut Cache, table: &Arc<Table>) {
        let rows = &table.rows;
        let entry = cache.databases.get_mut(&*rows.database).expect("a table's database exists");
        let older = entry.tables.insert(rows.name.clone(), table.clone());
        if let Some(older) = &older {
            older.set_stale();
            cache.forget(&older.rows);
        }
        cache.remember(rows);
        let lock = |database: &str, name: &str| self.table_lock(database, name);
        cache.relate(older.as_ref().map(|older| &older.rows), Some(rows), &lock);
    }

    fn remove(&self, cache: &mut Cache, database: &str, name: &str) {
        let Some(entry) = cache.databases.get_mut(database) else { return };
        if let Some(older) = entry.tables.remove(name) {
            older.set_stale();
            cache.forget(&older.rows);
            cache.relate(Some(&older.rows), None, &|database, name| self.table_lock(database, name));
        }
    }

    // Tables without a name here

    /// Registers a table for the threads that find it by its id: rollback and purge.
    pub fn put_unnamed(&self, rows: &Arc<row::Table>) {
        self.cache.write().remember(rows);
    }

    pub fn remove_unnamed(&self, rows: &row::Table) {
        self.cache.write().forget(rows);
    }

    // Purge and DDL

    /// While this is held no tree or file is removed.
    pub fn hold_tables(&self) -> ReadGuard<'_, ()> {
        self.purge_gate.read()
    }

    /// While this is held purge is stopped.
    pub fn stop_purge(&self) -> WriteGuard<'_, ()> {
        self.purge_gate.write()
    }
}

/// How the pages of a table are stored.
pub fn transform(options: &TableOptions, config: &Config) -> Transform {
    let algorithm = match options.compression {
        Compression::Default => config.compression,
        Compression::Codec(algorithm) => algorithm,
    };
    let level = match options.compression_level {
        Some(level) => i32::from(level),
        None if algorithm == Algorithm::ZLIB => i32::from(config.compression_level),
        None => algorithm.usual_level(),
    };
    // The level was chosen for one codec and may be used with another, when the server's codec changes.
    let (lowest, highest) = algorithm.levels();
    Transform { algorithm, level: level.clamp(lowest, highest), encrypted: options.encrypted }
}
