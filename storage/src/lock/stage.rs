//! What a connection's thread waits for, as other threads see it.

use std::sync::atomic::{AtomicU8, Ordering};

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

/// The stage of one thread. Only the thread writes it; any thread may read it.
#[derive(Debug)]
pub(super) struct StageCell(AtomicU8);

impl StageCell {
    pub const fn new() -> StageCell {
        StageCell(AtomicU8::new(Stage::Runs as u8))
    }

    pub fn enter(&self, stage: Stage) -> Entered<'_> {
        self.0.store(stage as u8, Ordering::Relaxed);
        Entered(self)
    }

    pub fn get(&self) -> Stage {
        Stage::ALL[usize::from(self.0.load(Ordering::Relaxed))]
    }
}

/// A stage that lasts until this is dropped.
#[must_use]
pub struct Entered<'i>(&'i StageCell);

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        self.0.0.store(Stage::Runs as u8, Ordering::Relaxed);
    }
}
