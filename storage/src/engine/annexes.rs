//! Annexes of an upper layer in the redo log, see [`crate::transaction::CommitLog`].

use super::Engine;
use crate::error::Result;
use crate::mtr::Mtr;
use crate::redo::Hold;
use crate::transaction::CommitLog;

impl Engine {
    /// Logs an annex alone, which no transaction belongs to, and waits for the redo log as a commit does.
    pub fn log_alone(&self, log: &dyn CommitLog) -> Result<()> {
        let store = &self.inner.store;
        let lsn = log.commit(&mut |annex| {
            let mut changes = Mtr::begin_last(store).certain();
            if let Some((kind, bytes)) = annex {
                changes.annex(kind, bytes);
            }
            Ok(changes.commit())
        })?;
        store.commit_log(lsn)
    }

    /// What the last DDL statement with a note for this slot left, see [`crate::CommitLog::note`]. No such statement is
    /// running.
    pub fn note(&self, slot: u32) -> Result<Option<Vec<u8>>> {
        self.inner.dictionary.system.note(&self.inner.context(), slot)
    }

    /// What holds the checkpoint before the first annex that is not durable elsewhere.
    pub fn annex_hold(&self) -> &Hold {
        &self.inner.store.redo().hold
    }
}
