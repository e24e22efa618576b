//! Which transaction waits for which lock.

use std::sync::Arc;
use std::time::Instant;

use format::ids::TrxId;
use rustc_hash::FxHashMap;

use super::LockRequest;
use super::waiter::Waiter;

/// One waiting transaction.
#[derive(Debug)]
pub(super) struct Wait {
    pub wanted: LockRequest,
    pub since: Instant,
    /// What rolling it back would cost.
    pub weight: u64,
    pub waiter: Arc<Waiter>,
}

/// The waiting transactions; each waits for one lock.
#[derive(Debug, Default)]
pub(super) struct Waits(FxHashMap<TrxId, Wait>);

impl Waits {
    pub fn get(&self, trx: TrxId) -> Option<&Wait> {
        self.0.get(&trx)
    }

    pub fn insert(&mut self, trx: TrxId, wait: Wait) {
        self.0.insert(trx, wait);
    }

    pub fn remove(&mut self, trx: TrxId) -> Option<Wait> {
        self.0.remove(&trx)
    }
}
