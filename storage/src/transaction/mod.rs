//! Transactions: which are active, what each sees, and in which order they end.
//!
//! A transaction begins with nothing. At its first write or lock it gets an **id** and becomes *active*; at its first
//! consistent read it gets a **read view**, see [`ReadView`]. One that only reads without locking never gets an id, and
//! shares its view with others as long as no other transaction begins or ends meanwhile: it costs two counters.
//!
//! ```text
//!               first write or lock         commit: number taken          undo state written
//!   begun  ---------------------------> active ------------> committing ------------------> ended
//!     |    id := next                      |                                  ^
//!     |                                    +---- rollback: undone, log freed -+
//!     +------------------------------------------------------- (nothing to do) ^
//! ```
//!
//! A branch of a distributed transaction may stop between active and committing: *prepared*, by the state of its undo
//! logs. It is as active as before (its rows are locked, views do not see it), but a crash no longer undoes it.
//!
//! The order of a commit: the undo logs change state in one mini-transaction (from here on recovery takes it as
//! committed); it leaves the registry (new views see it); its locks are released; the log is flushed as far as
//! `flush_log_at_commit` asks. A transaction that reads the new rows before the flush is done, and writes, cannot be
//! acknowledged before it either, because its own commit record comes later in the same log. A transaction that has a place
//! in an order of commits does not wait for the flush: the layer above does ([`crate::CommitPlace::committed`]). A
//! [`CommitLog`] orders the first two steps: commits that it takes part in become visible in the order of their records. A
//! transaction that only reads waits for the flush in SERIALIZABLE and snapshot isolation
//! ([`Registry::newest_commit`]); at lower levels it may report what a crash undoes, as in InnoDB.
//!
//! Ids and commit numbers come from one counter. Its persistent copy, on the transaction system page, is kept ahead by
//! a margin, so that one write serves many transactions; after a crash some numbers are skipped. DB_ROW_ID does the
//! same.
//!
//! Invariants:
//!
//! * An id is given once, even across crashes.
//! * A transaction leaves the registry after its undo state was written and before its locks are released.
//! * What [`Registry::oldest_view`] sees as ended, every present and future view sees so: purge relies on it.
//!
//! This module does not know how rows are undone (`row::rollback`) nor which locks exist (`lock`).

mod commit_log;
mod read_view;
mod registry;

use std::sync::Arc;
use std::time::Duration;

use format::ids::{Lsn, TrxId};

use crate::error::Result;
use crate::lock::{Held, Interrupt, LockTable, OwnerIdentity};
use crate::store::Store;
use crate::undo::{TrxUndo, UndoSpace};

pub use crate::mtr::Annexed;
pub use commit_log::CommitLog;
pub use read_view::ReadView;
pub use registry::{Registry, SYSTEM_PAGE};

/// What a transaction may see of others, as in InnoDB.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Isolation {
    ReadUncommitted,
    ReadCommitted,
    #[default]
    RepeatableRead,
    Serializable,
}

impl Isolation {
    /// As MySQL writes it.
    pub fn name(self) -> &'static str {
        match self {
            Isolation::ReadUncommitted => "READ UNCOMMITTED",
            Isolation::ReadCommitted => "READ COMMITTED",
            Isolation::RepeatableRead => "REPEATABLE READ",
            Isolation::Serializable => "SERIALIZABLE",
        }
    }

    /// The level that a number stands for, see [`OwnerIdentity`].
    pub fn of(number: u8) -> Isolation {
        match number {
            0 => Isolation::ReadUncommitted,
            1 => Isolation::ReadCommitted,
            2 => Isolation::RepeatableRead,
            _ => Isolation::Serializable,
        }
    }
}

/// The state of one transaction; only the thread that runs it uses it.
pub struct Transaction {
    /// 0 until it writes or locks.
    pub id: TrxId,
    pub isolation: Isolation,
    pub read_only: bool,
    pub undo: TrxUndo,
    /// The undo of its changes to temporary tables: a crash forgets both.
    pub temporary_undo: TrxUndo,
    /// What consistent reads see; taken at the first one (RR, SERIALIZABLE) or anew per statement (RC).
    pub view: Option<Arc<ReadView>>,
    pub locks: Held,
    pub interrupt: Arc<Interrupt>,
    /// How long it waits for a row.
    pub lock_wait_timeout: Duration,
    /// `innodb_snapshot_isolation`: a row that was changed after the read view was taken may not be locked.
    pub snapshot_isolation: bool,
}

impl Transaction {
    pub fn new(isolation: Isolation, interrupt: Arc<Interrupt>, lock_wait_timeout: Duration) -> Transaction {
        Transaction {
            id: TrxId(0),
            isolation,
            read_only: false,
            undo: TrxUndo::default(),
            temporary_undo: TrxUndo::default(),
            view: None,
            locks: Held::default(),
            interrupt,
            lock_wait_timeout,
            snapshot_isolation: false,
        }
    }

    /// Shows its session to the views of locks.
    pub fn identify(&mut self, session: u64) {
        let (isolation, read_only) = (self.isolation as u8, self.read_only);
        self.locks.identify(OwnerIdentity { session, isolation, read_only });
    }

    /// Shows the number of its changes to the views of locks.
    #[inline]
    pub fn show_changes(&self) {
        self.locks.show_changes(self.undo.savepoint().0);
    }

    /// Makes sure that it has an id, which it needs to lock and to write. The caller holds no latch.
    #[inline]
    pub fn assign_id(&mut self, store: &Store, registry: &Registry, locks: &LockTable) -> Result<TrxId> {
        if self.id == TrxId(0) {
            let id = registry.begin(store)?;
            locks.begin(&mut self.locks, id);
            self.id = id;
        }
        Ok(self.id)
    }

    /// Makes sure that it has a read view.
    #[inline]
    pub fn open_view(&mut self, registry: &Registry) -> &ReadView {
        self.view.get_or_insert_with(|| registry.view())
    }

    /// Commits. Returns the LSN up to which the log must be flushed before the commit is acknowledged; None = it
    /// changed nothing. Afterwards this may be used as a new transaction. An error leaves it active, to be rolled back.
    /// `log`: decides the place of the commit among others, and what is logged along with it.
    pub fn commit(
        &mut self,
        store: &Store,
        undo: &UndoSpace,
        registry: &Registry,
        locks: &LockTable,
        log: Option<&dyn CommitLog>,
    ) -> Result<Option<Lsn>> {
        self.view = None;
        if self.id == TrxId(0) {
            return Ok(None);
        }
        let mut lsn = None;
        if self.undo.is_empty() {
            registry.end(self.id, None);
        } else {
            let mut append = |annex: Annexed<'_>| self.append_commit(store, undo, registry, annex);
            lsn = Some(match log {
                Some(log) => log.commit(&mut append)?,
                None => append(None)?,
            });
        }
        let place = self.locks.place();
        locks.release_all(&mut self.locks);
        self.id = TrxId(0);
        if let Some(place) = place {
            place.committed(lsn);
        }
        if let Err(error) = undo.finish(store, &mut self.undo) {
            // The commit is valid; recovery frees the log.
            tracing::warn!("give back the undo log of a committed transaction: {error}");
        }
        Ok(lsn)
    }

    /// The moment of a commit: from here on recovery takes it as committed, and new views see it.
    fn append_commit(
        &mut self,
        store: &Store,
        undo: &UndoSpace,
        registry: &Registry,
        annex: Annexed<'_>,
    ) -> Result<Lsn> {
        let number = self.undo.has_updates().then(|| registry.begin_commit());
        match store.health().insist(|| undo.commit(store, &mut self.undo, self.id, number, annex)) {
            Ok(lsn) => {
                registry.note_commit(lsn);
                registry.end(self.id, number);
                Ok(lsn)
            }
            Err(error) => {
                if let Some(number) = number {
                    registry.cancel_commit(number);
                }
                Err(error)
            }
        }
    }

    /// Ends a transaction whose changes have all been undone. Afterwards this may be used as a new one. An error leaves
    /// it active, to be ended later.
    pub fn end_rollback(
        &mut self,
        store: &Store,
        undo: &UndoSpace,
        registry: &Registry,
        locks: &LockTable,
    ) -> Result<()> {
        self.view = None;
        if self.id == TrxId(0) {
            return Ok(());
        }
        undo.end_rollback(store, &mut self.undo)?;
        registry.end(self.id, None);
        locks.release_all(&mut self.locks);
        self.id = TrxId(0);
        if let Err(error) = undo.finish(store, &mut self.undo) {
            // No row has anything of it; recovery frees the log.
            tracing::warn!("give back the undo log of a transaction that was rolled back: {error}");
        }
        Ok(())
    }

    /// Prepares: from here on only [`Transaction::commit`] or a rollback after [`Transaction::unprepare`] ends it, and
    /// neither a crash nor the end of its session does. Returns the LSN up to which the log must be flushed before the
    /// client is told; None = it changed nothing, and a crash forgets it.
    pub fn prepare(&mut self, store: &Store, undo: &UndoSpace, log: Option<&dyn CommitLog>) -> Result<Option<Lsn>> {
        self.view = None;
        if self.undo.is_empty() {
            return Ok(None);
        }
        let mut append = |annex: Annexed<'_>| store.health().insist(|| undo.prepare(store, &mut self.undo, annex));
        match log {
            Some(log) => log.commit(&mut append).map(Some),
            None => append(None).map(Some),
        }
    }

    /// Makes a prepared transaction active again, to be rolled back, if need be by recovery.
    pub fn unprepare(&mut self, store: &Store, undo: &UndoSpace, log: Option<&dyn CommitLog>) -> Result<Option<Lsn>> {
        if self.undo.is_empty() {
            return Ok(None);
        }
        let mut append = |annex: Annexed<'_>| undo.unprepare(store, &self.undo, annex);
        match log {
            Some(log) => log.commit(&mut append).map(Some),
            None => append(None).map(Some),
        }
    }

    /// Whether its consistent reads see a version written by `writer`. It has a view.
    #[inline]
    pub fn sees(&self, writer: TrxId) -> bool {
        writer == self.id || self.view.as_ref().expect("a reader has a view").sees(writer)
    }

    /// Whether its snapshot lacks a change that `writer` made to a row which it locks now, at a level where that
    /// matters.
    #[inline]
    pub fn misses(&self, writer: TrxId) -> bool {
        self.snapshot_isolation
            && self.isolation >= Isolation::RepeatableRead
            && self.view.as_ref().is_some_and(|view| !view.sees(writer))
    }

    /// Whether each of its reads must see only what was and stays committed: SERIALIZABLE and snapshot isolation.
    pub fn is_strict(&self) -> bool {
        let snapshot = self.snapshot_isolation && self.isolation == Isolation::RepeatableRead;
        self.isolation == Isolation::Serializable || snapshot
    }

    /// What rolling it back would cost: changes made and locks held.
    pub fn weight(&self) -> u64 {
        self.undo.savepoint().0 + self.locks.count() as u64
    }

    /// Whether consistent reads see the newest version of each row instead.
    #[inline]
    pub fn reads_uncommitted(&self) -> bool {
        self.isolation == Isolation::ReadUncommitted
    }
}
