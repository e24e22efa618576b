//! Rollbacks that wait for the device: for room, or for a read that succeeds.
//!
//! Undoing mostly makes room, but not always: a row that becomes longer again may split a page, and nothing can be
//! changed while the log is full of pages that cannot be written. A rollback that meets a full disk, or a page that the
//! device does not give now, is therefore not the end of the engine. The transaction is taken from its client, keeps its locks and its undo, and is tried again, from
//! where it stopped, by the background's every step.
//!
//! ```text
//!   client: statement fails, or ROLLBACK
//!              | undo ... DiskFull, Io
//!              v
//!      Waiting --- step: undo ... the same ---> Waiting (tried again)
//!              --- step: undone --------------> ended, locks released
//!              --- crash, close --------------> recovery undoes it
//! ```
//!
//! Each undo record may be undone any number of times (recovery relies on that), so nothing is remembered but the
//! transaction itself.

use format::ids::UndoNo;

use super::Inner;
use crate::dictionary;
use crate::error::{Error, Result};
use crate::lock::MetadataHeld;
use crate::row;
use crate::sync::{Mutex, Rank};
use crate::transaction::Transaction;

/// A transaction whose client has been told that it is rolled back.
pub struct Waiting {
    trx: Transaction,
    /// Its tables keep their shape until it has ended.
    metadata: MetadataHeld,
}

impl Waiting {
    pub fn new(mut trx: Transaction, metadata: MetadataHeld) -> Waiting {
        // It reads no more, and purge need not wait for it.
        trx.view = None;
        Waiting { trx, metadata }
    }
}

/// All that wait, oldest first.
pub struct Rollbacks {
    waiting: Mutex<Vec<Waiting>>,
}

impl Rollbacks {
    pub fn new() -> Rollbacks {
        Rollbacks { waiting: Mutex::new(Rank::Instance, Vec::new()) }
    }

    pub fn push(&self, waiting: Waiting, why: &Error) {
        tracing::warn!("transaction {} cannot be rolled back now, and is tried again: {why}", waiting.trx.id);
        self.waiting.lock().push(waiting);
    }
}

impl Inner {
    /// Undoes a transaction and ends it. After an error it goes on from there when it is called again.
    pub fn roll_back(&self, trx: &mut Transaction) -> Result<()> {
        row::rollback(&self.context(), trx, &|id| self.dictionary.by_id(id), UndoNo(0))?;
        trx.end_rollback(&self.store, &self.undo, &self.registry, &self.locks)
    }

    /// Tries those that wait again, DDL statements first. That they still have to is no error.
    pub fn go_on_rolling_back(&self) -> Result<()> {
        if self.store.is_poisoned() {
            return Ok(());
        }
        match dictionary::finish_leftovers(&self.context(), &self.dictionary) {
            Err(error) if !error.is_of_the_moment() => return Err(error),
            _ => {}
        }
        let mut waiting = self.rollbacks.waiting.lock();
        while let Some(mut one) = waiting.pop() {
            let id = one.trx.id;
            match self.roll_back(&mut one.trx) {
                Ok(()) => {
                    one.metadata.release_all();
                    tracing::info!("transaction {id} is rolled back at last");
                }
                Err(error) if error.is_of_the_moment() && !self.store.is_poisoned() => {
                    waiting.push(one);
                    break;
                }
                Err(error) => {
                    if !matches!(error, Error::Poisoned) {
                        self.store.poison("a transaction could not be rolled back");
                    }
                    return Err(error);
                }
            }
        }
        Ok(())
    }
}
