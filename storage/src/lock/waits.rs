//! Which transaction waits for which lock, and which for their turn to commit.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use format::ids::TrxId;
use rustc_hash::FxHashMap;

use super::order::CommitPlace;
use super::waiter::Waiter;
use super::{LockId, LockRequest};

/// One waiting transaction.
#[derive(Debug)]
pub(super) struct Wait {
    pub wanted: LockRequest,
    pub since: Instant,
    /// What rolling it back would cost.
    pub weight: u64,
    pub waiter: Arc<Waiter>,
}

/// The waiting transactions; each waits for one lock, and for all before it if it has a place in the order of commits.
#[derive(Debug, Default)]
pub(super) struct Waits {
    waiting: FxHashMap<TrxId, Wait>,
    /// As many as a replica has workers. By order and number.
    ordered: BTreeMap<(u32, u64), (TrxId, Arc<dyn CommitPlace>)>,
}

impl Waits {
    pub fn get(&self, trx: TrxId) -> Option<&Wait> {
        self.waiting.get(&trx)
    }

    pub fn insert(&mut self, trx: TrxId, wait: Wait) {
        self.waiting.insert(trx, wait);
    }

    /// The locks that are waited for.
    pub fn wanted(&self) -> impl Iterator<Item = LockId> {
        self.waiting.values().map(|wait| wait.wanted.id)
    }

    pub fn remove(&mut self, trx: TrxId) -> Option<Wait> {
        self.waiting.remove(&trx)
    }

    /// A transaction begins that commits in its turn.
    pub fn join(&mut self, trx: TrxId, place: &Arc<dyn CommitPlace>) {
        self.ordered.insert((place.order(), place.number()), (trx, place.clone()));
    }

    /// It ends, or does not wait for its turn any more.
    pub fn leave(&mut self, trx: TrxId) -> Option<Arc<dyn CommitPlace>> {
        let place = self.place(trx)?;
        self.ordered.remove(&place).map(|(_, place)| place)
    }

    /// Its order, and its number there.
    pub fn place(&self, trx: TrxId) -> Option<(u32, u64)> {
        self.ordered.iter().find(|(_, (owner, _))| *owner == trx).map(|(place, _)| *place)
    }

    pub fn has_order(&self) -> bool {
        !self.ordered.is_empty()
    }

    /// The transactions that commit before this one.
    pub fn before(&self, trx: TrxId) -> Vec<TrxId> {
        match self.place(trx) {
            Some((order, number)) => {
                self.ordered.range((order, 0)..(order, number)).map(|(_, (owner, _))| *owner).collect()
            }
            None => Vec::new(),
        }
    }
}
