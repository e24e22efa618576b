//! Transactions that are committed and not yet durable.
//!
//! ```text
//!   worker      apply 7, commit | apply 8, commit | apply 9, commit | ...
//!   in flight                    7                 7 8               9 ...
//!   follower                     | sync: 7          | sync: 8 9 ...
//!                                                   ^ 7 is told: positions, names, files of the relay log
//! ```
//!
//! An applier need not wait until a commit is durable: how far it is commits with the data, and a crash takes both back to
//! the same place. Only what others conclude from a commit waits: the position and the names that are shown and waited
//! for, and the files of the relay log that are removed. So a thread of its own, the **follower**, makes durable what is
//! in flight, and tells it in the order of commits. A thread that is about to show how far the replica is calls
//! [`InFlight::settle`] itself: what it shows then has everything that was visible when it asked.
//!
//! [`super::PENDING_MAX`] bounds what is in flight.

use std::collections::VecDeque;
use std::sync::Arc;

use format::binlog::GtidSet;
use format::ids::Lsn;
use parking_lot::{Condvar, Mutex};

use super::{End, GLANCE};
use crate::progress::{Names, Progress};

/// What has been passed, for those who show it.
pub struct Passed {
    pub progress: Progress,
    pub end: End,
    /// The worker that has applied it; `None` = nothing was applied.
    pub worker: Option<usize>,
    /// When the source ran it, in seconds since 1970.
    pub timestamp: Option<u32>,
    /// It is durable when the redo log is, up to here; `None` = with everything before it.
    pub lsn: Option<Lsn>,
}

/// What becomes of commits: the layer above knows the engine.
pub trait Commits: Send + Sync {
    /// Makes durable what has been committed, up to here.
    fn make_durable(&self, lsn: Lsn) -> storage::Result<()>;

    /// Something is durable. Called in the order of commits.
    fn passed(&self, passed: &Passed);

    /// What was told may be sent on: waits until replicas of this replica have it, if commits are to wait for them.
    fn await_replicas(&self, gives_up: &dyn Fn() -> bool) -> storage::Result<()>;
}

#[derive(Default)]
struct Queue {
    passed: VecDeque<Arc<Passed>>,
    /// Nothing more comes.
    is_complete: bool,
}

/// See the module header.
pub struct InFlight {
    queue: Mutex<Queue>,
    /// Something came, or nothing more comes.
    came: Condvar,
    /// Held by the thread that makes durable and tells, so that the order is kept. Locked before the queue.
    telling: Mutex<()>,
    commits: Box<dyn Commits>,
}

impl InFlight {
    pub fn new(commits: Box<dyn Commits>) -> InFlight {
        let (queue, came, telling) = Default::default();
        InFlight { queue, came, telling, commits }
    }

    pub fn push(&self, passed: Passed) {
        self.queue.lock().passed.push_back(Arc::new(passed));
        self.came.notify_one();
    }

    pub fn len(&self) -> usize {
        self.queue.lock().passed.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn has(&self, names: Names) -> bool {
        self.queue.lock().passed.iter().any(|passed| passed.end.names == names)
    }

    pub fn add_names(&self, names: &mut GtidSet) {
        for gtid in self.queue.lock().passed.iter().filter_map(|passed| passed.end.names.gtid) {
            names.insert(gtid);
        }
    }

    pub fn oldest_timestamp(&self) -> Option<u32> {
        self.queue.lock().passed.iter().find_map(|passed| passed.timestamp)
    }

    /// Makes durable and tells what is in flight now.
    pub fn settle(&self) -> storage::Result<()> {
        let _one = self.telling.lock();
        let (count, lsn) = {
            let queue = self.queue.lock();
            (queue.passed.len(), queue.passed.iter().rev().find_map(|passed| passed.lsn))
        };
        if let Some(lsn) = lsn {
            self.commits.make_durable(lsn)?;
        }
        for _ in 0..count {
            // It stays here until it is told, so a name that is looked for is in one of both.
            let Some(passed) = self.queue.lock().passed.front().cloned() else { break };
            self.commits.passed(&passed);
            self.queue.lock().passed.pop_front();
        }
        Ok(())
    }

    /// Waits until something is in flight. False: nothing more comes.
    pub fn wait(&self) -> bool {
        let mut queue = self.queue.lock();
        while queue.passed.is_empty() && !queue.is_complete {
            self.came.wait_for(&mut queue, GLANCE);
        }
        !queue.passed.is_empty()
    }

    pub fn await_replicas(&self, gives_up: &dyn Fn() -> bool) -> storage::Result<()> {
        self.commits.await_replicas(gives_up)
    }

    /// Nothing more comes.
    pub fn complete(&self) {
        self.queue.lock().is_complete = true;
        self.came.notify_all();
    }
}
