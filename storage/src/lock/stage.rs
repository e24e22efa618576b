//! What a connection's thread waits for, as other threads see it.

use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::time::Instant;

/// What a thread waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Stage {
    /// It runs, or has nothing to do.
    Runs,
    Row,
    Metadata,
    AutoIncrement,
    GlobalReadLock,
    Commit,
    UserLock,
}

impl Stage {
    const ALL: [Stage; 7] = [
        Stage::Runs,
        Stage::Row,
        Stage::Metadata,
        Stage::AutoIncrement,
        Stage::GlobalReadLock,
        Stage::Commit,
        Stage::UserLock,
    ];
}

/// The stage of one thread, and how long it has waited for locks so far. Only the thread writes it; any thread may read
/// it.
#[derive(Debug)]
pub(super) struct StageCell {
    stage: AtomicU8,
    waited_nanos: AtomicU64,
}

impl StageCell {
    pub const fn new() -> StageCell {
        StageCell { stage: AtomicU8::new(Stage::Runs as u8), waited_nanos: AtomicU64::new(0) }
    }

    pub fn enter(&self, stage: Stage) -> Entered<'_> {
        self.stage.store(stage as u8, Ordering::Relaxed);
        Entered { cell: self, since: (stage != Stage::UserLock).then(Instant::now) }
    }

    pub fn get(&self) -> Stage {
        Stage::ALL[usize::from(self.stage.load(Ordering::Relaxed))]
    }

    /// In all stages but `UserLock`, which waits because it was asked to.
    pub fn waited_nanos(&self) -> u64 {
        self.waited_nanos.load(Ordering::Relaxed)
    }
}

/// A stage that lasts until this is dropped.
#[must_use]
pub struct Entered<'i> {
    cell: &'i StageCell,
    since: Option<Instant>,
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        self.cell.stage.store(Stage::Runs as u8, Ordering::Relaxed);
        if let Some(since) = self.since {
            let waited = since.elapsed().as_nanos() as u64;
            self.cell.waited_nanos.fetch_add(waited, Ordering::Relaxed);
        }
    }
}
