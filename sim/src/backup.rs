//! Backups during the workload: begun at any moment, a step between any two operations, restored to a disk of another
//! block size, recovered there, and compared with the database at the moment that determined the backup's state.

use std::sync::Arc;

use storage::backup::{Backup, Item, Restore, Sink};
use storage::io::sim::SimDisk;
use storage::io::{Caching, Disk, OpenMode};
use storage::{Engine, Error};

use crate::model::Model;
use crate::run::{End, Run};
use crate::workload;

/// A backup in progress.
pub struct Taking {
    backup: Backup,
    restore: Restore,
    target: SimDisk,
    /// What it must contain, once that is determined.
    state: Option<Model>,
}

/// Detects when the backup's state is determined: when the end of its log is.
struct Watch<'a> {
    restore: &'a mut Restore,
    decided: bool,
}

impl Sink for Watch<'_> {
    fn take(&mut self, item: Item<'_>) -> storage::Result<()> {
        self.decided |= matches!(item, Item::Log(_));
        self.restore.take(item)
    }
}

impl Run {
    pub fn begin_backup(&mut self, engine: &Arc<Engine>) -> Result<Option<Taking>, End> {
        self.doing = "backup";
        let begun = engine.backup(&[], &self.options());
        let Some(backup) = self.judge(begun, "backup")? else { return Ok(None) };
        let block_bytes = [512, 1024, 4096][self.random.below(3) as usize];
        let target = SimDisk::with_blocks(self.random.next(), block_bytes);
        let restore = Restore::begin(Arc::new(target.clone()));
        let restore = restore.map_err(|error| End::Failure(format!("a directory for a backup: {error}")))?;
        self.say(|| format!("a backup begins, to blocks of {block_bytes}"));
        Ok(Some(Taking { backup, restore, target, state: None }))
    }

    /// One step, or a few. Returns the backup if there is more to do.
    pub fn step_backup(&mut self, mut taking: Taking) -> Result<Option<Taking>, End> {
        for _ in 0..1 + self.random.below(4) {
            self.doing = "backup";
            let mut watch = Watch { restore: &mut taking.restore, decided: false };
            let step = taking.backup.step(&mut watch);
            if watch.decided {
                taking.state = Some(self.model().clone());
            }
            match self.judge(step, "backup")? {
                // The disk is full; the server goes on without this backup.
                None => return Ok(None),
                Some(None) => {}
                Some(Some(totals)) => {
                    self.report.count("backups");
                    self.report.add("pages backed up", totals.pages);
                    drop(taking.backup);
                    let state = taking.state.ok_or_else(|| End::Failure("a backup without a state".into()))?;
                    let restored = taking.restore.finish().map_err(|error| error.to_string());
                    restored
                        .and_then(|_| self.compare_backup(&taking.target, &state))
                        .map_err(|failure| End::Failure(format!("a restored backup: {failure}")))?;
                    return Ok(None);
                }
            }
        }
        Ok(Some(taking))
    }

    fn compare_backup(&mut self, target: &SimDisk, state: &Model) -> Result<(), String> {
        // What it has reported done survives a power failure.
        let target = if self.random.chance(2) { target.crash() } else { target.duplicate() };
        let told = |error: Error| error.to_string();
        // A backup contains no keys; the operator who restores one supplies them.
        bring_keys(&self.disk.duplicate(), &target).map_err(|error| format!("the key ring: {error}"))?;
        let engine = Engine::open(Arc::new(target), self.config.clone()).map_err(told)?;
        let report = engine.check().map_err(told)?;
        if let Some(error) = report.errors.first() {
            return Err(format!("check: {error}"));
        }
        let found = workload::everything(&engine).map_err(told)?;
        match state.difference(&found) {
            Some(difference) => Err(difference),
            None => engine.close().map_err(told),
        }
    }
}

/// Copies the key ring, if there is one.
fn bring_keys(from: &SimDisk, to: &SimDisk) -> std::io::Result<()> {
    const KEY_RING: &str = "keyring";
    if !from.exists(KEY_RING)? || to.exists(KEY_RING)? {
        return Ok(());
    }
    let source = from.open(KEY_RING, OpenMode::Read, Caching::Cached)?;
    let mut bytes = vec![0; source.len()? as usize];
    source.read_at(0, &mut bytes)?;
    let target = to.open(KEY_RING, OpenMode::Create, Caching::Cached)?;
    target.write_at(0, &bytes)?;
    target.sync()?;
    to.sync_directory("")
}
