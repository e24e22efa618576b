//! The metadata locks of one connection, as other threads see them.
//!
//! A [`MetadataLock`](super::MetadataLock) counts its holders and does not know them, so that taking it is one
//! compare-and-swap. So each connection lists its own: what it holds, and what it waits for. Only its own thread writes
//! the list. Names are looked up when somebody asks: the list has the locks' addresses, which stay as long as they are
//! held or awaited.

use std::sync::Arc;

use crate::sync::{Mutex, Rank};

/// How a name is held, in MySQL's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameLockMode {
    SharedRead,
    SharedWrite,
    /// LOCK TABLES ... READ
    SharedReadOnly,
    /// LOCK TABLES ... WRITE
    SharedNoReadWrite,
    /// A DDL statement builds something while others read and write.
    SharedUpgradable,
    /// The same while others read.
    SharedNoWrite,
    /// A DDL statement changes what has this name.
    Exclusive,
    /// A database in which a DDL statement changes something; the backup lock of a DDL statement.
    IntentionExclusive,
    /// The backup lock of a backup; FLUSH TABLES WITH READ LOCK.
    Shared,
}

impl NameLockMode {
    pub fn name(self) -> &'static str {
        match self {
            NameLockMode::SharedRead => "SHARED_READ",
            NameLockMode::SharedWrite => "SHARED_WRITE",
            NameLockMode::SharedReadOnly => "SHARED_READ_ONLY",
            NameLockMode::SharedNoReadWrite => "SHARED_NO_READ_WRITE",
            NameLockMode::SharedUpgradable => "SHARED_UPGRADABLE",
            NameLockMode::SharedNoWrite => "SHARED_NO_WRITE",
            NameLockMode::Exclusive => "EXCLUSIVE",
            NameLockMode::IntentionExclusive => "INTENTION_EXCLUSIVE",
            NameLockMode::Shared => "SHARED",
        }
    }
}

/// One lock in the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NameLock {
    /// The address of the lock.
    pub lock: usize,
    pub mode: NameLockMode,
    pub is_granted: bool,
}

/// See the module header.
#[derive(Debug)]
pub struct NameLocks(Mutex<Vec<NameLock>>);

impl Default for NameLocks {
    fn default() -> NameLocks {
        NameLocks(Mutex::new(Rank::Leaf, Vec::new()))
    }
}

/// The address of a lock.
pub fn address<T>(lock: &T) -> usize {
    std::ptr::from_ref(lock).addr()
}

impl NameLocks {
    pub fn list(&self) -> Vec<NameLock> {
        self.0.lock().clone()
    }

    pub fn add(&self, lock: usize, mode: NameLockMode) {
        self.0.lock().push(NameLock { lock, mode, is_granted: true });
    }

    /// A wait begins; it ends when the returned value is dropped.
    pub fn wait(self: &Arc<Self>, lock: usize, mode: NameLockMode) -> Pending {
        let entry = NameLock { lock, mode, is_granted: false };
        self.0.lock().push(entry);
        Pending { locks: self.clone(), entry }
    }

    pub(super) fn change(&self, lock: usize, from: NameLockMode, to: NameLockMode) {
        let mut all = self.0.lock();
        if let Some(entry) = all.iter_mut().find(|entry| entry.lock == lock && entry.mode == from && entry.is_granted) {
            entry.mode = to;
        }
    }

    pub fn remove(&self, lock: usize, mode: NameLockMode) {
        self.remove_entry(NameLock { lock, mode, is_granted: true });
    }

    fn remove_entry(&self, entry: NameLock) {
        let mut all = self.0.lock();
        if let Some(at) = all.iter().rposition(|other| *other == entry) {
            all.swap_remove(at);
        }
    }
}

/// A wait that is listed.
#[derive(Debug)]
pub struct Pending {
    locks: Arc<NameLocks>,
    entry: NameLock,
}

impl Drop for Pending {
    fn drop(&mut self) {
        self.locks.remove_entry(self.entry);
    }
}
