//! Background rollbacks: of transactions that recovery found open, and of client transactions that could not be undone
//! because of a device error.
//!
//! After a crash the server accepts statements at once. Transactions that had not ended are active again, under their
//! old ids: the ids lock their rows, no view sees them, and their tables' definitions cannot change; a transaction that
//! wants such a row waits, as for any other. The background undoes one transaction after the other, a bounded number of
//! changes per step.
//!
//! The undo records of a transaction tell which tables it has changed. Recovery reads a bounded number of them; the
//! rest of a long transaction is read here, before anything is undone. Until then no table's definition can change, and
//! DDL waits (`recovered::a_long_transaction_is_read_in_the_background`).
//!
//! Undoing mostly frees space, but not always: a row that becomes longer again may split a page, and nothing can be
//! changed while the log is full of pages that cannot be written. So a full disk, or a page that the device cannot read
//! now, does not stop the engine. The transaction is detached from its client, keeps its locks and its undo, and its
//! rollback is retried from where it stopped.
//!
//! ```text
//!   recovery: found active, not prepared
//!   client: statement fails, or ROLLBACK
//!              | undo ... DiskFull, Io
//!              v
//!      Waiting --- step: records read --------> Waiting    (only if recovery has not read all)
//!              --- step: unreadable table ----> stuck
//!              --- step: records undone ------> Waiting
//!              --- step: DiskFull, Io --------> Waiting (retried)
//!              --- step: damaged page --------> stuck, locks kept, to the next start
//!              --- step: nothing left --------> ended, locks released
//!              --- crash, close --------------> recovery finds it
//! ```
//!
//! Each undo record may be undone any number of times (recovery relies on that), so only the transaction itself is
//! remembered.

use std::collections::VecDeque;
use std::sync::Arc;

use format::ids::TableId;
use rustc_hash::FxHashMap;

use super::prepared::Prepared;
use super::{Engine, Inner};
use crate::dictionary;
use crate::error::{Error, Result};
use crate::lock::{Interrupt, MetadataHeld};
use crate::recovery::{Unfinished, Unsurveyed};
use crate::row;
use crate::store::aside::is_vital;
use crate::sync::{Mutex, Rank};
use crate::transaction::Transaction;

/// Changes undone in one step; then another transaction's turn may come, or the server's shutdown.
const STEP_RECORDS: usize = if cfg!(test) { 2 } else { 64 };

/// Undo records read in one step, of a transaction whose tables are not all known.
const SURVEY_RECORDS: u64 = 1024;

/// Changes between two log messages about a long rollback.
const WORD_RECORDS: u64 = 100_000;

/// A transaction whose rollback is left to the background.
pub struct Waiting {
    trx: Transaction,
    /// Locks its tables' definitions until it has ended.
    metadata: MetadataHeld,
    /// Changes undone so far, and at most how many there are.
    undone: u64,
    records: u64,
    /// Set while its tables are not all known.
    survey: Option<Unsurveyed>,
}

impl Waiting {
    pub fn new(mut trx: Transaction, metadata: MetadataHeld) -> Waiting {
        // It reads no more, so purge need not wait for it. And no session can interrupt it any more.
        trx.view = None;
        trx.interrupt = Arc::new(Interrupt::new());
        let records = trx.undo.left();
        Waiting { trx, metadata, undone: 0, records, survey: None }
    }

    fn left(&self) -> u64 {
        self.records.saturating_sub(self.undone)
    }
}

/// All that wait; the next one is first.
pub struct Rollbacks {
    queue: Mutex<Queue>,
    /// Tables that recovery could not read.
    unreadable: FxHashMap<TableId, String>,
}

#[derive(Default)]
struct Queue {
    waiting: VecDeque<Waiting>,
    /// Those that recovery found and that cannot be rolled back, because one of their tables cannot be read. The next
    /// start tries again; until then they stay as they are.
    stuck: Vec<Waiting>,
    /// How many a step is working on.
    stepping: usize,
    records_undone: u64,
}

/// What status views show of the rollbacks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RollbackStatus {
    /// Transactions that are rolled back in the background now.
    pub transactions: u64,
    /// Their changes that are not undone yet.
    pub records_left: u64,
    /// Changes undone in the background since the start.
    pub records_undone: u64,
    /// Transactions that wait until one of their tables can be read again.
    pub stuck: u64,
}

impl Rollbacks {
    pub fn new(unreadable: FxHashMap<TableId, String>) -> Rollbacks {
        Rollbacks { queue: Mutex::new(Rank::Instance, Queue::default()), unreadable }
    }

    pub fn push(&self, waiting: Waiting) {
        self.queue.lock().waiting.push_back(waiting);
    }

    /// It waits for its table until the next start.
    pub fn put_stuck(&self, waiting: Waiting) {
        self.queue.lock().stuck.push(waiting);
    }

    fn take(&self) -> Option<Waiting> {
        let mut queue = self.queue.lock();
        // A transaction whose tables are not known keeps DDL from all tables, so it comes first.
        let unknown = queue.waiting.iter().position(|waiting| waiting.survey.is_some());
        let waiting = queue.waiting.remove(unknown.unwrap_or(0))?;
        queue.stepping += 1;
        Some(waiting)
    }

    /// Ends what [`Rollbacks::take`] began: the rollback continues later, or (None) has ended.
    fn put_back(&self, waiting: Option<Waiting>, undone: usize) {
        let mut queue = self.queue.lock();
        queue.stepping -= 1;
        queue.records_undone += undone as u64;
        if let Some(waiting) = waiting {
            queue.waiting.push_front(waiting);
        }
    }

    pub fn status(&self) -> RollbackStatus {
        let queue = self.queue.lock();
        RollbackStatus {
            transactions: (queue.waiting.len() + queue.stepping) as u64,
            records_left: queue.waiting.iter().map(Waiting::left).sum(),
            records_undone: queue.records_undone,
            stuck: queue.stuck.len() as u64,
        }
    }
}

impl Engine {
    /// Finishes all background rollbacks at once, for callers that need an instance at rest.
    pub fn finish_rollbacks(&self) -> Result<()> {
        while self.inner.rollback_step()? {}
        Ok(())
    }
}

impl Inner {
    /// Adopts the transactions that recovery found.
    pub fn take_in(&self, unfinished: Vec<Unfinished>) {
        for Unfinished { mut trx, metadata, prepared, records, survey, unreadable } in unfinished {
            let id = trx.id;
            if prepared && let Some(xid) = trx.undo.xid.as_deref().cloned() {
                tracing::info!("transaction {id} is prepared as {}, and waits", xid.to_sql());
                trx.view = None;
                let changed = Default::default();
                self.branches.put(xid, Prepared { trx, metadata, changed, attached: false, unreadable });
                continue;
            }
            let waiting = Waiting { records, survey, ..Waiting::new(trx, metadata) };
            match unreadable {
                Some(table) => {
                    tracing::error!("transaction {id} cannot be rolled back before table {table} can be read");
                    self.rollbacks.queue.lock().stuck.push(waiting);
                }
                None => {
                    tracing::info!(
                        "transaction {id} had not ended; it is rolled back in the background, {records} changes"
                    );
                    self.rollbacks.push(waiting);
                }
            }
        }
    }

    /// Undoes a transaction and ends it. After an error the next call continues where it stopped.
    pub fn roll_back(&self, trx: &mut Transaction) -> Result<()> {
        self.store.health().insist(|| {
            self.roll_back_temporary(trx, format::ids::UndoNo(0))?;
            self.end_temporary_rollback(trx)?;
            row::rollback(&self.context(), trx, &|id| self.dictionary.by_id(id), format::ids::UndoNo(0))?;
            trx.end_rollback(&self.store, &self.undo, &self.registry, &self.locks)
        })
    }

    /// Undoes a bounded number of changes of the first waiting transaction, DDL statements before all others. True if
    /// there is more to do at once; it is no error if the device does not allow it.
    pub fn rollback_step(&self) -> Result<bool> {
        if self.store.is_poisoned() {
            return Ok(false);
        }
        match dictionary::finish_leftovers(&self.context(), &self.dictionary) {
            Err(error) if !error.is_of_the_moment() => return Err(error),
            _ => {}
        }
        let Some(mut one) = self.rollbacks.take() else { return Ok(false) };
        let (id, before) = (one.trx.id, one.undone);
        if one.survey.is_some() {
            return self.survey_some(one);
        }
        let step = self.undo_some(&mut one);
        let undone = (one.undone - before) as usize;
        match step {
            Ok(false) => {
                if one.undone / WORD_RECORDS != before / WORD_RECORDS {
                    let left = one.left();
                    tracing::info!("transaction {id}: {} changes undone, {left} to go", one.undone);
                }
                self.rollbacks.put_back(Some(one), undone);
                Ok(true)
            }
            Ok(true) => {
                one.metadata.release_all();
                tracing::info!("transaction {id} has been rolled back, {} changes undone", one.undone);
                self.rollbacks.put_back(None, undone);
                Ok(true)
            }
            Err(error) if self.is_left_out(&error) => {
                tracing::error!("transaction {id} cannot be rolled back before the next start: {error}");
                self.rollbacks.put_back(None, undone);
                self.rollbacks.put_stuck(one);
                Ok(true)
            }
            Err(error) => {
                self.rollbacks.put_back(Some(one), undone);
                self.stop_or_retry(error)
            }
        }
    }

    /// Handles an error that is not of one table: the step is retried later if the error may pass, or the engine stops.
    fn stop_or_retry(&self, error: Error) -> Result<bool> {
        if error.is_of_the_moment() && !self.store.is_poisoned() {
            return Ok(false);
        }
        if !matches!(error, Error::Poisoned) {
            self.store.poison("a transaction could not be rolled back");
        }
        Err(error)
    }

    /// Whether an error comes from a page of a table: that table's rows cannot be undone until it is repaired, and all
    /// others go on.
    pub fn is_left_out(&self, error: &Error) -> bool {
        matches!(error, Error::Corrupt { page: Some(page), .. } if !is_vital(page.space)) && !self.store.is_poisoned()
    }

    /// Reads the next part of a transaction's undo to learn which tables it has changed.
    fn survey_some(&self, mut one: Waiting) -> Result<bool> {
        let id = one.trx.id;
        let Some(Unsurveyed { mut survey, mut tables }) = one.survey.take() else { return Ok(false) };
        match self.undo.survey(&self.store, &one.trx.undo, &mut survey, SURVEY_RECORDS) {
            Ok(true) => {
                one.records = survey.records;
                tables.retain(|(table, _)| survey.tables.contains(table));
                tables.into_iter().for_each(|(_, held)| one.metadata.take_over(held));
                let unreadable = survey.tables.iter().find_map(|table| self.rollbacks.unreadable.get(table));
                match unreadable {
                    None => self.rollbacks.put_back(Some(one), 0),
                    Some(table) => {
                        tracing::error!("transaction {id} cannot be rolled back before table {table} can be read");
                        self.rollbacks.put_back(None, 0);
                        self.rollbacks.put_stuck(one);
                    }
                }
                Ok(true)
            }
            other => {
                one.survey = Some(Unsurveyed { survey, tables });
                self.rollbacks.put_back(Some(one), 0);
                match other {
                    Ok(_) => Ok(true),
                    Err(error) => self.stop_or_retry(error),
                }
            }
        }
    }

    /// One step of one transaction. True = it has ended.
    fn undo_some(&self, one: &mut Waiting) -> Result<bool> {
        {
            // The session has lost its transaction, and may drop its tables meanwhile.
            let _tables = self.dictionary.hold_tables();
            self.roll_back_temporary(&mut one.trx, format::ids::UndoNo(0))?;
            self.end_temporary_rollback(&mut one.trx)?;
        }
        let lookup = |id| self.dictionary.by_id(id);
        let undone = row::rollback_step(&self.context(), &mut one.trx, &lookup, STEP_RECORDS)?;
        one.undone += undone as u64;
        if undone == STEP_RECORDS {
            return Ok(false);
        }
        one.trx.end_rollback(&self.store, &self.undo, &self.registry, &self.locks)?;
        Ok(true)
    }
}
