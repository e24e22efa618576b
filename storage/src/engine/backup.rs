//! Backups of a running engine.

use super::{Engine, TrxOptions};
use crate::backup::Backup;
use crate::error::Result;
use crate::lock::BackupHold;

impl Engine {
    /// Waits for the DDL statements under way and keeps new ones out until the result is dropped (LOCK INSTANCE FOR BACKUP).
    pub fn hold_ddl(&self, wait: &TrxOptions) -> Result<BackupHold> {
        self.inner.dictionary.instance_lock().hold(&wait.interrupt, wait.metadata_wait_timeout)
    }

    /// Begins a backup. Rows go on changing meanwhile; what it holds in the end is the state at its end. `named` are files
    /// in the data directory that belong to the instance without being the engine's.
    pub fn backup(&self, named: &[&str], wait: &TrxOptions) -> Result<Backup> {
        Backup::of_running(self.inner.store.clone(), self.hold_ddl(wait)?, named)
    }
}
