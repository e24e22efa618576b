//! The names of transactions: those that were ever in the log, and those that sessions have chosen.

use std::sync::atomic::Ordering;

use format::binlog::{Gtid, GtidSet, Uuid};
use storage::Result;

use super::{BinaryLog, Order};
use crate::files;
use crate::owned::Chosen;
use crate::recovery;

/// Why gtid_purged cannot be set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PurgedRefusal {
    /// Sessions own names.
    Owned,
    /// Some of the set are executed, and were not purged.
    Overlaps,
    /// Some that were purged are not in the set.
    NoSuperset,
}

impl BinaryLog {
    /// The names of all transactions that were ever in the log.
    pub fn executed(&self) -> GtidSet {
        self.order.lock().executed.clone()
    }

    /// Whether a transaction of this name was ever in the log.
    pub fn has_executed(&self, gtid: Gtid) -> bool {
        self.order.lock().executed.contains(gtid)
    }

    /// The names of those whose files are gone, and those that were set.
    pub fn purged(&self) -> Result<GtidSet> {
        self.purged_locked(&self.order.lock())
    }

    fn purged_locked(&self, order: &Order) -> Result<GtidSet> {
        let mut purged = recovery::previous_gtids(&*self.disk, &order.files[0])?;
        purged.extend(&order.added);
        Ok(purged)
    }

    /// SET GLOBAL gtid_purged: these transactions count as executed, and are in no file. `adds`: to those that were
    /// purged; otherwise the set has these, too. The log goes on in a new file, which tells readers of them.
    pub fn set_purged(&self, set: &GtidSet, adds: bool) -> Result<std::result::Result<(), PurgedRefusal>> {
        let mut order = self.order.lock();
        self.finish_reset(&mut order)?;
        if !self.owned.is_empty() {
            return Ok(Err(PurgedRefusal::Owned));
        }
        let purged = self.purged_locked(&order)?;
        if !adds && !purged.is_subset(set) {
            return Ok(Err(PurgedRefusal::NoSuperset));
        }
        let new = if adds { set.clone() } else { set.without(&purged) };
        if new.without(&order.executed) != new {
            return Ok(Err(PurgedRefusal::Overlaps));
        }
        if new.is_empty() {
            return Ok(Ok(()));
        }
        let mut added = order.added.clone();
        added.extend(&new);
        files::write_purged(&*self.disk, &self.options.base, &added)?;
        order.added = added;
        order.executed.extend(&new);
        self.rotate_or_stay(&mut order)?;
        Ok(Ok(()))
    }

    /// A session chooses a name for what it is about to commit, and waits as long as another one has it. The name is the
    /// session's until [`BinaryLog::release_name`].
    pub fn choose_name(&self, gtid: Gtid, session: u32, is_killed: &dyn Fn() -> bool) -> Chosen {
        self.owned.choose(gtid, session, &|| self.has_executed(gtid), is_killed)
    }

    pub fn release_name(&self, gtid: Gtid) {
        self.owned.release(gtid);
    }

    /// The names that sessions own.
    pub fn owned_names(&self) -> Vec<(Gtid, u32)> {
        self.owned.list()
    }

    /// gtid_mode: whether transactions have names.
    pub fn has_gtids(&self) -> bool {
        self.gives_names.load(Ordering::Relaxed)
    }

    pub fn set_gtids(&self, given: bool) {
        self.gives_names.store(given, Ordering::Relaxed);
    }

    pub fn uuid(&self) -> Uuid {
        self.options.uuid
    }
}
