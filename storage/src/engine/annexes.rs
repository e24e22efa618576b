//! Annexes of an upper layer in the redo log, see [`crate::transaction::CommitLog`].

use format::redo::Record;

use super::Engine;
use crate::error::{Error, Result};
use crate::mtr::Mtr;
use crate::redo::{Hold, Reader};
use crate::transaction::CommitLog;

impl Engine {
    /// Hands back the annexes that were in the redo log when the instance was opened, from the checkpoint on, in their
    /// order; each with its kind. An upper layer completes its own file from them, makes that durable, and releases the
    /// [`Engine::annex_hold`], which is held until then if there is any.
    pub fn read_annexes(&self, visit: &mut dyn FnMut(u8, &[u8]) -> Result<()>) -> Result<()> {
        let found = &self.inner.report.pages;
        let Some(first) = found.first_annex else { return Ok(()) };
        let redo = self.inner.store.redo();
        let mut reader = Reader::new(redo.file(), first, redo.checkpoint().epoch);
        while reader.position() < found.end_lsn {
            let Some(group) = reader.next_group()? else { break };
            let (mut records, mut previous) = (group.records, None);
            while !records.is_empty() {
                let record = Record::decode(&mut records, &mut previous)
                    .map_err(|cause| Error::corrupt(format!("the redo log at {}: {cause}", group.start)))?;
                if let Record::Annex { kind, bytes } = record {
                    visit(kind, bytes)?;
                }
            }
        }
        Ok(())
    }

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
