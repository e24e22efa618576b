//! What DDL statements have left for later, because the device had no room. [`super::finish_leftovers`] finishes it.

use super::ddl_log::Action;
use crate::sync::{Mutex, Rank};
use crate::transaction::Transaction;

/// What a statement could not finish for lack of space on the device: its rollback, or its actions.
pub struct Leftover {
    pub trx: Option<Transaction>,
    /// To be executed when the transaction has ended.
    pub actions: Vec<(u64, Action)>,
}

/// Of all statements, the oldest first.
pub struct Leftovers(Mutex<Vec<Leftover>>);

impl Leftovers {
    pub fn new() -> Leftovers {
        Leftovers(Mutex::new(Rank::Leaf, Vec::new()))
    }

    pub fn push(&self, leftover: Leftover) {
        self.0.lock().push(leftover);
    }

    /// Takes the newest.
    pub fn pop(&self) -> Option<Leftover> {
        self.0.lock().pop()
    }
}
