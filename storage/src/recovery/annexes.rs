//! Annexes of an upper layer in the redo log, see [`crate::transaction::CommitLog`], while an instance is opened.
//!
//! The layer completes its own files from them between the two halves of recovery: the second half changes pages, and a
//! redo log that is full up to its reserve has no room for that while the checkpoint stays before the first annex.
//! `storage/tests/annexes.rs` opens such a log.

use std::sync::Arc;

use format::redo::Record;

use super::PageRecovery;
use crate::error::{Error, Result};
use crate::io::Disk;
use crate::redo::Reader;
use crate::store::Store;

/// The annexes that the redo log has from its checkpoint on.
pub struct Annexes<'a> {
    store: &'a Store,
    found: &'a PageRecovery,
}

/// Makes durable elsewhere what the annexes have.
pub type Complete<'a> = &'a mut dyn FnMut(&Annexes<'_>) -> Result<()>;

impl Annexes<'_> {
    /// Where the instance is.
    pub fn disk(&self) -> &Arc<dyn Disk> {
        self.store.disk()
    }

    /// Hands them back in their order, each with its kind. An error of `visit` ends it.
    pub fn read(&self, visit: &mut dyn FnMut(u8, &[u8]) -> Result<()>) -> Result<()> {
        let Some(first) = self.found.first_annex else { return Ok(()) };
        let redo = self.store.redo();
        let mut reader = Reader::new(redo.file(), first, redo.checkpoint().epoch);
        while reader.position() < self.found.end_lsn {
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
}

/// Lets the upper layer complete its files. From here on the checkpoint may pass the annexes.
pub(super) fn complete(store: &Store, found: &PageRecovery, complete: Complete<'_>) -> Result<()> {
    complete(&Annexes { store, found })?;
    store.redo().hold.release();
    Ok(())
}
