//! Transactions as a session uses them.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use format::ids::{Lsn, UndoNo};

use super::changed_tables::ChangedTables;
use super::prepared::Prepared;
use super::rollbacks::Waiting;
use super::{Engine, TemporaryTables};
use crate::dictionary::Table;
use crate::error::{Error, Result};
use crate::lock::{CommitPlace, Interrupt, LockId, MetadataGrant, MetadataHeld, MetadataLock, TableUse};
use crate::row;
use crate::row::foreign::KeyGraph;
use crate::schema::{ColumnSet, ReadMode, Row, ScanRange, TableState};
use crate::transaction::{CommitLog, Isolation, Transaction};

/// How a transaction behaves.
#[derive(Clone, Debug)]
pub struct TrxOptions {
    pub isolation: Isolation,
    pub read_only: bool,
    /// KILL sets it; long scans and waits check it.
    pub interrupt: Arc<Interrupt>,
    /// innodb_lock_wait_timeout: how long it waits for a row.
    pub lock_wait_timeout: Duration,
    /// lock_wait_timeout: how long it waits for a table's metadata.
    pub metadata_wait_timeout: Duration,
    /// Whether the session has the backup lock itself, which then does not stop its own DDL statements.
    pub holds_backup_lock: bool,
    /// innodb_snapshot_isolation: in REPEATABLE READ, a row that was changed since the snapshot may not be locked.
    pub snapshot_isolation: bool,
    /// The connection, for views of locks; 0 = the engine's own.
    pub session: u64,
    /// The session's own tables, which hide others of their names.
    pub temporary: Option<Arc<TemporaryTables>>,
    /// The transaction is one statement, under autocommit.
    pub single_statement: bool,
    /// Tables that the session has by LOCK TABLES: its transactions and DDL statements do not request them again.
    pub locked_tables: Option<Arc<MetadataGrant>>,
    /// foreign_key_checks: whether changes, and DDL statements, check the tables that a table refers to and those that
    /// refer to it.
    pub foreign_key_checks: bool,
    /// The log that a DDL statement's commit goes through.
    pub log: Option<Arc<dyn CommitLog>>,
    /// READ ONLY databases are changed all the same: by what a source has done, and by the scheduler of events.
    pub changes_read_only: bool,
    /// The transaction commits in an order that was decided before, and not before the caller's layer says so.
    pub place: Option<Arc<dyn CommitPlace>>,
}

impl TrxOptions {
    /// The session's own table of this name.
    pub fn temporary_table(&self, database: &str, name: &str) -> Option<Arc<Table>> {
        self.temporary.as_ref()?.table(database, name)
    }

    /// For work that cannot be interrupted, and that need not wait for long.
    pub fn patient() -> TrxOptions {
        TrxOptions { metadata_wait_timeout: Duration::from_secs(60), ..TrxOptions::default() }
    }
}

impl Default for TrxOptions {
    fn default() -> TrxOptions {
        TrxOptions {
            isolation: Isolation::RepeatableRead,
            read_only: false,
            interrupt: Arc::new(Interrupt::new()),
            lock_wait_timeout: Duration::from_secs(50),
            metadata_wait_timeout: Duration::from_secs(365 * 24 * 3600),
            holds_backup_lock: false,
            snapshot_isolation: false,
            session: 0,
            temporary: None,
            single_statement: false,
            locked_tables: None,
            foreign_key_checks: true,
            log: None,
            changes_read_only: false,
            place: None,
        }
    }
}

/// A point to which a transaction can be rolled back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Savepoint {
    permanent: UndoNo,
    temporary: UndoNo,
}

/// A transaction. Dropping it without a commit rolls it back.
pub struct Trx {
    engine: Arc<Engine>,
    pub(super) inner: Transaction,
    metadata: MetadataHeld,
    single_statement: bool,
    locked_tables: Option<Arc<MetadataGrant>>,
    metadata_wait_timeout: Duration,
    pub(super) changes_read_only: bool,
    pub(super) counts: Counts,
    pub(super) temporary: Option<Arc<TemporaryTables>>,
    /// A table that is being created, which no name leads other sessions to yet.
    pub(super) unfinished: Option<Arc<Table>>,
    pub(super) foreign_key_checks: bool,
    /// The foreign keys that changes of the tables changed so far must check, see `foreign`.
    pub(super) key_graph: KeyGraph,
}

/// Rows touched, added to the engine's counters at the end, so that a row costs no shared cache line.
#[derive(Default)]
pub(super) struct Counts {
    pub read: u64,
    pub inserted: u64,
    pub updated: u64,
    pub deleted: u64,
    changed: ChangedTables,
}

impl Engine {
    /// Whether a statement holds or wants the lock of a table's AUTO_INCREMENT counter.
    pub fn is_auto_increment_locked(&self, table: &Table) -> bool {
        self.inner.locks.is_used(LockId::auto_increment(table.clustered().id))
    }

    /// Begins a transaction. Costs nothing until it is used.
    #[inline]
    pub fn begin(self: &Arc<Self>, options: TrxOptions) -> Trx {
        let mut inner = Transaction::new(options.isolation, options.interrupt, options.lock_wait_timeout);
        inner.read_only = options.read_only;
        inner.snapshot_isolation = options.snapshot_isolation;
        inner.identify(options.session);
        inner.locks.order(options.place);
        Trx {
            engine: self.clone(),
            inner,
            metadata: MetadataHeld::beside(options.locked_tables.clone()),
            single_statement: options.single_statement,
            locked_tables: options.locked_tables,
            metadata_wait_timeout: options.metadata_wait_timeout,
            changes_read_only: options.changes_read_only,
            counts: Counts::default(),
            temporary: options.temporary,
            unfinished: None,
            foreign_key_checks: options.foreign_key_checks,
            key_graph: KeyGraph::default(),
        }
    }

    /// Called after a commit: flushes the log as `innodb_flush_log_at_trx_commit` asks.
    pub(super) fn committed(&self, lsn: Lsn, changed: &ChangedTables) -> Result<()> {
        self.count_commit(changed);
        self.inner.store.commit_log(lsn)
    }

    fn count_commit(&self, changed: &ChangedTables) {
        self.inner.counters.commits.add(1);
        changed.stamp(self.inner.store.disk().clock().wall().as_micros() as u64);
    }
}

impl Trx {
    #[inline]
    pub(super) fn context(&self) -> row::Context<'_> {
        self.engine.inner.context()
    }

    /// Gives the session its own tables from here on.
    pub fn set_temporary_tables(&mut self, tables: Arc<TemporaryTables>) {
        self.temporary = Some(tables);
    }

    /// From here on the table's name means this table, to fill it.
    pub fn set_unfinished_table(&mut self, table: &Arc<Table>) {
        self.unfinished = Some(table.clone());
    }

    /// Runs an operation on the rows of a table.
    #[inline]
    pub(super) fn on<T>(&mut self, table: &Table, run: impl FnOnce(&row::Context<'_>, &mut Transaction) -> T) -> T {
        let inner = &self.engine.inner;
        if table.is_temporary() {
            return inner.on_temporary(&mut self.inner, run);
        }
        run(&inner.context(), &mut self.inner)
    }

    // Tables

    /// The current description of a table, whose metadata stays locked to the end of the transaction; its rows may be read
    /// and changed.
    pub fn open_table(&mut self, database: &str, name: &str) -> Result<Arc<Table>> {
        self.open_table_to(TableUse::Write, database, name)
    }

    /// Whether a name means one of the session's own tables.
    pub fn has_temporary(&self, database: &str, name: &str) -> bool {
        self.temporary.as_ref().is_some_and(|tables| tables.table(database, name).is_some())
    }

    /// The same, to read it or to change its rows. LOCK TABLES tells these apart, and so does a statement that copies the
    /// rows: whoever opens a table to read it and changes it all the same loses what it changes.
    pub fn open_table_to(&mut self, wanted: TableUse, database: &str, name: &str) -> Result<Arc<Table>> {
        if let Some(table) = self.temporary.as_ref().and_then(|tables| tables.table(database, name)) {
            return Ok(table);
        }
        if let Some(table) = &self.unfinished
            && (&*table.database, &*table.name) == (database, name)
        {
            return Ok(table.clone());
        }
        loop {
            let dictionary = &self.engine.inner.dictionary;
            let table = dictionary.table(database, name).ok_or_else(|| dictionary.why_missing(database, name))?;
            if self.lock_table(&table, wanted)? {
                return Ok(table);
            }
        }
    }

    /// The same for a table that the caller still has from an earlier statement. False = it was changed or dropped;
    /// open it again. Neither looks anything up nor allocates.
    #[inline]
    pub fn lock_table(&mut self, table: &Arc<Table>, wanted: TableUse) -> Result<bool> {
        if table.is_temporary() {
            return Ok(!table.is_stale());
        }
        let lock = table.metadata();
        let has = self.locked_tables.as_ref().and_then(|locked| locked.allows(lock));
        if has == Some(TableUse::Read) && wanted == TableUse::Write {
            // The session would wait for itself.
            return Err(Error::Deadlock);
        }
        if has.is_none() {
            self.metadata.share(lock, wanted, &self.inner.interrupt, self.metadata_wait_timeout)?;
        }
        if wanted == TableUse::Write {
            self.check_writable(table)?;
        }
        if table.is_stale() {
            return Ok(false);
        }
        match &self.inner.view {
            Some(view) if !table.is_known_to(view) => Err(Error::TableChanged),
            _ => Ok(true),
        }
    }

    /// An error if the table's database is read only. The table's name is locked.
    #[inline]
    pub(super) fn check_writable(&self, table: &Table) -> Result<()> {
        match self.changes_read_only {
            true => Ok(()),
            false => self.engine.inner.dictionary.check_writable(&table.database),
        }
    }

    /// Shares a name to the end of the transaction, unless the session holds it by LOCK TABLES.
    pub(super) fn share_name(&mut self, lock: &Arc<MetadataLock>, used: TableUse) -> Result<()> {
        if self.locked_tables.as_ref().is_some_and(|locked| locked.allows(lock).is_some()) {
            return Ok(());
        }
        self.metadata.share(lock, used, &self.inner.interrupt, self.metadata_wait_timeout)
    }

    /// For tables that are changed along with others.
    pub(super) fn note_changed(&mut self, state: &Arc<TableState>) {
        self.counts.changed.note(state);
    }

    // Statements and savepoints

    /// A statement begins: in READ COMMITTED it gets a view of its own. Returns the savepoint to roll back to if it
    /// fails.
    #[inline]
    pub fn statement_begin(&mut self) -> Savepoint {
        if self.inner.isolation <= Isolation::ReadCommitted {
            self.inner.view = None;
        }
        self.savepoint()
    }

    /// START TRANSACTION WITH CONSISTENT SNAPSHOT: the view is taken now.
    pub fn take_snapshot(&mut self) {
        if self.inner.isolation >= Isolation::RepeatableRead {
            self.inner.open_view(&self.engine.inner.registry);
        }
    }

    #[inline]
    pub fn savepoint(&mut self) -> Savepoint {
        Savepoint { permanent: self.inner.undo.savepoint(), temporary: self.inner.temporary_undo.savepoint() }
    }

    /// Undoes what was done since. Locks stay, as in InnoDB.
    pub fn rollback_to(&mut self, savepoint: Savepoint) -> Result<()> {
        if self.savepoint() == savepoint {
            return Ok(());
        }
        let inner = &self.engine.inner;
        let undone = inner.store.health().insist(|| {
            inner.roll_back_temporary(&mut self.inner, savepoint.temporary)?;
            if self.inner.undo.savepoint() > savepoint.permanent {
                let lookup = &|id| inner.dictionary.by_id(id);
                row::rollback(&inner.context(), &mut self.inner, lookup, savepoint.permanent)?;
            }
            Ok(())
        });
        undone.map_err(|error| self.cannot_undo(error))
    }

    /// Whether its place among the commits of others was decided before it began.
    pub fn has_place(&self) -> bool {
        self.inner.locks.place().is_some()
    }

    /// Commits, and waits for the log as `innodb_flush_log_at_trx_commit` asks, unless it has a place
    /// ([`CommitPlace::committed`]).
    pub fn commit(self) -> Result<()> {
        self.commit_with(None)
    }

    /// The same, together with a log of an upper layer. A transaction without changes to permanent tables does not
    /// reach that log.
    pub fn commit_with(mut self, log: Option<&dyn CommitLog>) -> Result<()> {
        let changed = std::mem::take(&mut self.counts.changed);
        self.tell_counts();
        let inner = &self.engine.inner;
        let (id, has_place) = (self.inner.id, self.has_place());
        let committed = self.inner.commit(&inner.store, &inner.undo, &inner.registry, &inner.locks, log);
        let lsn = match committed {
            Ok(lsn) => lsn,
            Err(error) => {
                self.undo_all();
                return Err(error);
            }
        };
        inner.commit_temporary(&mut self.inner, id);
        self.metadata.release_all();
        match lsn {
            Some(_) if has_place => {
                self.engine.count_commit(&changed);
                Ok(())
            }
            Some(lsn) => self.engine.committed(lsn, &changed),
            // Other transactions see a commit before its log is durable. Where transactions are promised to be
            // serializable, a transaction that only reads must not report more than a crash leaves; the other levels
            // are as in InnoDB.
            None if self.inner.is_strict() => inner.store.commit_log(inner.registry.newest_commit()),
            None => Ok(()),
        }
    }

    /// The remains of a transaction that has been prepared.
    pub(super) fn into_prepared(mut self, attached: bool) -> Prepared {
        let changed = std::mem::take(&mut self.counts.changed);
        self.tell_counts();
        let trx = self.take_inner();
        let metadata = std::mem::take(&mut self.metadata);
        Prepared { trx, metadata, changed, attached, unreadable: None }
    }

    /// The opposite: makes a transaction of it, to end it.
    pub(super) fn of_prepared(engine: &Arc<Engine>, prepared: Prepared) -> Trx {
        let Prepared { trx: inner, metadata, changed, .. } = prepared;
        let counts = Counts { changed, ..Counts::default() };
        let timeout = Duration::ZERO;
        Trx {
            engine: engine.clone(),
            inner,
            metadata,
            single_statement: false,
            locked_tables: None,
            metadata_wait_timeout: timeout,
            changes_read_only: true,
            counts,
            temporary: None,
            unfinished: None,
            foreign_key_checks: true,
            key_graph: KeyGraph::default(),
        }
    }

    /// Replaces this transaction by one that has not begun.
    fn take_inner(&mut self) -> Transaction {
        let (isolation, timeout) = (self.inner.isolation, self.inner.lock_wait_timeout);
        let mut next = Transaction::new(isolation, self.inner.interrupt.clone(), timeout);
        next.read_only = self.inner.read_only;
        std::mem::replace(&mut self.inner, next)
    }

    /// Rolls back. Changes that cannot be undone now because of the device are undone in the background.
    pub fn rollback(mut self) -> Result<()> {
        self.undo_all();
        if self.engine.inner.store.is_poisoned() { Err(Error::Poisoned) } else { Ok(()) }
    }

    /// Undoes everything and ends, leaving a new transaction that has not begun.
    fn undo_all(&mut self) {
        self.tell_counts();
        if self.inner.id.0 != 0 {
            self.inner.locks.show_rollback();
            if !self.inner.undo.is_empty() {
                self.engine.inner.counters.rollbacks.add(1);
            }
            if let Err(error) = self.engine.inner.roll_back(&mut self.inner) {
                self.cannot_undo(error);
            }
        }
        self.inner.view = None;
        self.key_graph = KeyGraph::default();
        self.metadata.release_all();
    }

    /// A rollback that fails leaves changes that must not be seen. After a full disk or a failed read the engine
    /// continues it in the background; after any other failure the engine stops until recovery has undone them.
    fn cannot_undo(&mut self, error: Error) -> Error {
        match error {
            Error::Poisoned => error,
            error if error.is_of_the_moment() && !self.engine.inner.store.is_poisoned() => {
                tracing::warn!("transaction {} cannot be rolled back now, and is tried again: {error}", self.inner.id);
                let trx = self.take_inner();
                let metadata = std::mem::take(&mut self.metadata);
                self.key_graph = KeyGraph::default();
                self.engine.inner.rollbacks.push(Waiting::new(trx, metadata));
                Error::RollingBack
            }
            error if self.engine.inner.is_left_out(&error) => {
                tracing::error!("transaction {} cannot be rolled back before the next start: {error}", self.inner.id);
                let trx = self.take_inner();
                let metadata = std::mem::take(&mut self.metadata);
                self.key_graph = KeyGraph::default();
                self.engine.inner.rollbacks.put_stuck(Waiting::new(trx, metadata));
                Error::RollingBack
            }
            error => {
                tracing::error!("roll back transaction {}: {error}", self.inner.id);
                self.engine.inner.store.poison("a transaction could not be rolled back");
                error
            }
        }
    }

    /// What an error of a row operation means for the transaction.
    #[cold]
    fn failed(&mut self, error: Error, before: Savepoint) -> Error {
        self.engine.inner.store.pool().report_damage(&error);
        if error.rolls_back_transaction() {
            if let (Error::Deadlock, Some(witness)) = (&error, self.engine.inner.deadlock_witness.get()) {
                witness();
            }
            self.undo_all();
            return error;
        }
        // The row may have been changed in some of its indexes.
        match self.rollback_to(before) {
            Ok(()) => error,
            Err(worse) => worse,
        }
    }

    /// Rows that it has read so far.
    #[inline]
    pub fn rows_read(&self) -> u64 {
        self.counts.read
    }

    fn tell_counts(&mut self) {
        let counts = std::mem::take(&mut self.counts);
        self.engine.inner.counters.tell(&counts);
    }

    /// Whether there is something to commit.
    #[inline]
    pub fn has_changes(&self) -> bool {
        !self.inner.undo.is_empty() || !self.inner.temporary_undo.is_empty()
    }

    /// Whether it has done nothing but begin: it uses no table, and has neither a view nor an id.
    pub fn is_untouched(&self) -> bool {
        self.inner.id.0 == 0 && self.inner.view.is_none() && self.metadata.is_empty()
    }

    /// 0 until it writes or locks.
    #[inline]
    pub fn id(&self) -> u64 {
        self.inner.id.0
    }

    #[inline]
    pub fn isolation(&self) -> Isolation {
        self.inner.isolation
    }

    #[inline]
    pub fn is_read_only(&self) -> bool {
        self.inner.read_only
    }

    /// Sets how long it waits from now on for a row, and for a table.
    #[inline]
    pub fn set_wait_timeouts(&mut self, row: Duration, metadata: Duration) {
        self.inner.lock_wait_timeout = row;
        self.metadata_wait_timeout = metadata;
    }

    #[inline]
    pub fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }

    // Rows

    /// Inserts a row: values of all columns, in table order. After an error nothing of it remains.
    pub fn insert(&mut self, table: &Table, values: &[Option<&[u8]>]) -> Result<()> {
        self.writable(table)?;
        let before = self.savepoint();
        let done = match self.looks_at_others(table) {
            false => self.on(table, |context, trx| row::insert(context, trx, table, values)),
            true => self.insert_related(table, values),
        };
        match done {
            Ok(()) => {
                self.counts.inserted += 1;
                self.inner.show_changes();
                self.counts.changed.note(&table.state);
                count_change(table, 0, 1);
                Ok(())
            }
            Err(error) => Err(self.failed(error, before)),
        }
    }

    /// Changes columns of a row that was read in this transaction under an exclusive lock.
    pub fn update(&mut self, table: &Table, row: &Row, changes: &[(usize, Option<&[u8]>)]) -> Result<()> {
        self.writable(table)?;
        let before = self.savepoint();
        let done = match self.looks_at_others(table) {
            false => self.on(table, |context, trx| row::update(context, trx, table, row, changes)),
            true => self.update_related(table, row, changes),
        };
        match done {
            Ok(()) => {
                self.counts.updated += 1;
                self.inner.show_changes();
                self.counts.changed.note(&table.state);
                count_change(table, 1, 0);
                Ok(())
            }
            Err(error) => Err(self.failed(error, before)),
        }
    }

    /// Deletes a row that was read in this transaction under an exclusive lock.
    pub fn delete(&mut self, table: &Table, row: &Row) -> Result<()> {
        self.writable(table)?;
        let before = self.savepoint();
        let done = match self.looks_at_others(table) {
            false => self.on(table, |context, trx| row::delete(context, trx, table, row)),
            true => self.delete_related(table, row),
        };
        match done {
            Ok(()) => {
                self.counts.deleted += 1;
                self.inner.show_changes();
                self.counts.changed.note(&table.state);
                count_change(table, 2, -1);
                Ok(())
            }
            Err(error) => Err(self.failed(error, before)),
        }
    }

    /// What was discarded has no rows, and gets none.
    #[inline]
    pub(super) fn check_present(&self, table: &Table) -> Result<()> {
        match table.discarded {
            true => Err(Error::Discarded(table.name.clone())),
            false => Ok(()),
        }
    }

    #[inline]
    fn writable(&self, table: &Table) -> Result<()> {
        self.engine.inner.purging.hold_up();
        self.check_present(table)?;
        if self.inner.read_only && !table.is_temporary() { Err(Error::ReadOnly) } else { Ok(()) }
    }

    /// The row with this full key of a unique index; false = there is none. No allocation once `row` has grown.
    #[inline]
    pub fn get(
        &mut self,
        table: &Table,
        index: usize,
        key: &[Option<&[u8]>],
        mode: ReadMode,
        columns: &ColumnSet,
        row: &mut Row,
    ) -> Result<bool> {
        self.check_present(table)?;
        let mode = self.effective(mode);
        match self.on(table, |context, trx| row::get(context, trx, table, index, key, mode, columns, row)) {
            Ok(found) => {
                self.counts.read += u64::from(found);
                table.reads().add(Some(index), u64::from(found));
                Ok(found)
            }
            Err(error) => {
                let here = self.savepoint();
                Err(self.failed(error, here))
            }
        }
    }

    /// Whether a read in this mode takes no locks.
    pub fn reads_consistently(&self, mode: ReadMode) -> bool {
        matches!(self.effective(mode), ReadMode::Consistent | ReadMode::Newest)
    }

    /// About how many rows a scan would visit.
    pub fn estimate(&mut self, table: &Table, index: usize, range: &ScanRange<'_>) -> Result<u64> {
        row::estimate(&self.context(), table, index, range)
    }

    /// In SERIALIZABLE every read locks, except a query that is a transaction by itself: that is as if it ran at the
    /// moment of its view.
    #[inline]
    pub(super) fn effective(&self, mode: ReadMode) -> ReadMode {
        let isolation = self.inner.isolation;
        match mode {
            ReadMode::Consistent if isolation == Isolation::Serializable && !self.single_statement => ReadMode::SHARED,
            ReadMode::Source if isolation >= Isolation::RepeatableRead => ReadMode::SHARED,
            ReadMode::Source => ReadMode::Consistent,
            mode => mode,
        }
    }

    /// Whether scans in a mode lock their rows.
    pub fn locks_what_it_reads(&self, mode: ReadMode) -> bool {
        !matches!(self.effective(mode), ReadMode::Consistent | ReadMode::Newest | ReadMode::Source)
    }

    /// The lock of a table's AUTO_INCREMENT counter: its holder takes the next values. For one statement, which
    /// releases it by [`Trx::unlock_auto_increment`].
    pub fn lock_auto_increment(&mut self, table: &Table) -> Result<()> {
        let locked = self.on(table, |context, trx| row::lock_auto_increment(context, trx, table));
        locked.map_err(|error| self.scan_failed(error))
    }

    pub fn unlock_auto_increment(&mut self, table: &Table) {
        let id = LockId::auto_increment(table.clustered().id);
        self.engine.inner.locks.unlock(&mut self.inner.locks, id);
    }

    /// An error of a scan, see [`Trx::failed`].
    pub(super) fn scan_failed(&mut self, error: Error) -> Error {
        let here = self.savepoint();
        self.failed(error, here)
    }
}

/// Keeps the estimate of a table's rows approximately right between two samplings of its trees.
#[inline]
fn count_change(table: &Table, change: usize, rows: i64) {
    let state = &table.state;
    state.changes[change].fetch_add(1, Ordering::Relaxed);
    state.modified_rows.fetch_add(1, Ordering::Relaxed);
    if rows != 0 {
        state.rows.fetch_add(rows as u64, Ordering::Relaxed);
    }
}

impl Drop for Trx {
    fn drop(&mut self) {
        self.undo_all();
    }
}
