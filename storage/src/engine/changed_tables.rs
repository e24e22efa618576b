//! The tables that a transaction has changed, for the time of their last change.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::schema::TableState;

/// The tables that a transaction has changed: mostly one, which costs no memory.
#[derive(Default)]
pub(super) struct ChangedTables {
    first: Option<Arc<TableState>>,
    others: Vec<Arc<TableState>>,
}

impl ChangedTables {
    #[inline]
    pub fn note(&mut self, state: &Arc<TableState>) {
        match &self.first {
            Some(first) if Arc::ptr_eq(first, state) => {}
            Some(_) if self.others.iter().any(|other| Arc::ptr_eq(other, state)) => {}
            Some(_) => self.others.push(state.clone()),
            None => self.first = Some(state.clone()),
        }
    }

    /// Records the time of their last change.
    pub fn stamp(&self, now_us: u64) {
        for state in self.first.iter().chain(&self.others) {
            state.updated_us.store(now_us, Ordering::Relaxed);
        }
    }
}
