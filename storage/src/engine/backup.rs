//! Backups of a running engine.

use super::{Engine, TrxOptions};
use crate::backup::Backup;
use crate::error::Result;
use crate::lock::BackupHold;

impl Engine {
    /// Waits for the running DDL statements and keeps new ones out until the result is dropped (LOCK INSTANCE FOR
    /// BACKUP).
    pub fn hold_ddl(&self, wait: &TrxOptions) -> Result<BackupHold> {
        self.inner.dictionary.instance_lock().hold(&wait.interrupt, wait.metadata_wait_timeout)
    }

    /// Begins a backup. Rows may change meanwhile; the backup contains the state at its end. `named` are files in the
    /// data directory that belong to the instance but not to the engine.
    pub fn backup(&self, named: &[&str], wait: &TrxOptions) -> Result<Backup> {
        Backup::of_running(self.inner.store.clone(), self.hold_ddl(wait)?, named)
    }
}
