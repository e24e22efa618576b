//! The present locks and transactions, with their names and keys.
//!
//! The lock table knows indexes by number and keys by hash. Only a view of the locks pays for the rest, here: it looks
//! tables up in the dictionary, and reads keys from the pages where they were locked. Nothing of this is cached.

use std::sync::Arc;

use format::ids::{IndexId, TrxId};
use rustc_hash::FxHashMap;

use super::Engine;
use crate::lock::{DeadlockReport, LockId, LockInfo, LockMode, LockRequest, NameLock, NameLocks, OwnerInfo, address};
use crate::row::{self, StoredKey};
use crate::schema::{self, DefinitionKind};

/// What a metadata lock is of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LockedName {
    Table(String, String),
    Database(String),
    /// A routine, a trigger or an event: its database and name. A view is a [`LockedName::Table`].
    Definition(DefinitionKind, String, String),
    /// LOCK INSTANCE FOR BACKUP, which DDL statements share.
    Backup,
    /// FLUSH TABLES WITH READ LOCK.
    Global,
}

/// A snapshot of the locks and their owners.
#[derive(Clone, Debug, Default)]
pub struct LockDump {
    /// All transactions that have an id, oldest first.
    pub transactions: Vec<OwnerInfo>,
    pub tables: Vec<TableLock>,
    /// In the order of their transactions.
    pub records: Vec<RecordLock>,
}

/// An intention on a table: Shared = IS, Exclusive = IX.
#[derive(Clone, Debug)]
pub struct TableLock {
    pub trx: TrxId,
    pub table: Arc<schema::Table>,
    pub mode: LockMode,
}

/// A record lock with its names.
#[derive(Clone, Debug)]
pub struct RecordLock {
    pub lock: LockInfo,
    pub table: Arc<schema::Table>,
    /// Ordinal in the table.
    pub index: usize,
    pub key: LockedKey,
}

/// The key of a locked record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LockedKey {
    /// The end of the index.
    Supremum,
    /// Not a record: the counter of AUTO_INCREMENT.
    AutoIncrement,
    /// Fields of the index, as they are stored.
    Fields(StoredKey),
    /// The record was removed or moved.
    Unknown,
}

type Indexes = FxHashMap<IndexId, (Arc<row::Table>, usize)>;

impl Engine {
    /// All locks with their names. Looks at every lock and at the pages where they are.
    pub fn lock_dump(&self) -> LockDump {
        let locks = &self.inner.locks;
        let (list, transactions) = (locks.list(), locks.owners());
        let indexes = self.indexes();
        let mut records: Vec<RecordLock> = list.iter().filter_map(|lock| self.record_lock(&indexes, lock)).collect();
        records.sort_by_key(|record| (record.lock.owner, record.lock.waiting));
        let table_of = |trx: TrxId, (table, mode)| {
            let table = self.inner.dictionary.by_id(table)?.schema().clone();
            Some(TableLock { trx, table, mode })
        };
        let tables = transactions
            .iter()
            .flat_map(|owner| owner.tables.iter().filter_map(|table| table_of(owner.trx, *table)))
            .collect();
        LockDump { transactions, tables, records }
    }

    /// The metadata locks of connections that list them in these.
    pub fn name_locks(&self, lists: &[&NameLocks]) -> Vec<Vec<(LockedName, NameLock)>> {
        let dictionary = &self.inner.dictionary;
        // First the lists: a lock that is in one has its name.
        let lists: Vec<_> = lists.iter().map(|list| list.list()).collect();
        let names = dictionary.lock_names();
        let instance = address(&**dictionary.instance_lock());
        let definition = |name: &str| -> Option<LockedName> {
            let mut parts = name.strip_prefix('\0')?.splitn(3, '\0');
            let (database, number, name) = (parts.next()?, parts.next()?, parts.next()?);
            let kind = DefinitionKind::from_number(number.parse().ok()?)?;
            Some(LockedName::Definition(kind, database.to_owned(), name.to_owned()))
        };
        let named = |lock: NameLock| match names.get(&lock.lock).map(|name| name.split_once('/').ok_or(name)) {
            _ if let Some(name) = names.get(&lock.lock).and_then(|name| definition(name)) => (name, lock),
            Some(Ok((database, table))) => (LockedName::Table(database.to_owned(), table.to_owned()), lock),
            Some(Err(database)) => (LockedName::Database(database.to_string()), lock),
            None if lock.lock == instance => (LockedName::Backup, lock),
            None => (LockedName::Global, lock),
        };
        lists.into_iter().map(|list| list.into_iter().map(named).collect()).collect()
    }

    /// The last deadlock that was found; its members' locks get their names by [`Engine::name_lock`].
    pub fn last_deadlock(&self) -> Option<DeadlockReport> {
        self.inner.locks.last_deadlock()
    }

    /// Calls `witness` at each deadlock, once its victim is known and before it is rolled back: the others still wait. The
    /// first one counts.
    pub fn on_deadlock(&self, witness: impl FnOnce() -> Box<dyn Fn() + Send + Sync>) {
        self.inner.deadlock_witness.get_or_init(witness);
    }

    /// Names and key of one lock. None: the table is gone.
    pub fn name_lock(&self, owner: TrxId, request: LockRequest) -> Option<RecordLock> {
        let lock = LockInfo { owner, request, waiting: false, blocked_by: None };
        self.record_lock(&self.indexes(), &lock)
    }

    fn indexes(&self) -> Indexes {
        let mut indexes = Indexes::default();
        let dictionary = &self.inner.dictionary;
        // A divided table's own numbers are those of its AUTO_INCREMENT counter.
        let divided = dictionary.all_tables().into_iter().filter(|table| table.is_partitioned());
        for table in dictionary.all_files().into_iter().chain(divided) {
            for (ordinal, index) in table.indexes.iter().enumerate() {
                indexes.insert(index.id, (table.trees().clone(), ordinal));
            }
        }
        indexes
    }

    fn record_lock(&self, indexes: &Indexes, lock: &LockInfo) -> Option<RecordLock> {
        let LockRequest { id, page, .. } = lock.request;
        let (table, index) = indexes.get(&id.index)?;
        let key = if id == LockId::supremum(id.index) {
            LockedKey::Supremum
        } else if id == LockId::auto_increment(id.index) {
            LockedKey::AutoIncrement
        } else {
            // The tree must not be dropped while its page is read.
            let _gate = self.inner.dictionary.hold_tables();
            match row::locked_key(&self.inner.context(), table, *index, page, id.key_hash) {
                Ok(Some(key)) => LockedKey::Fields(key),
                // Removed, moved, or on a page that cannot be read; a statement that uses that page reports it.
                _ => LockedKey::Unknown,
            }
        };
        Some(RecordLock { lock: *lock, table: table.schema().clone(), index: *index, key })
    }
}
