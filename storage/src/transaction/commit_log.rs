//! A log of an upper layer that takes part in commits: the binary log.
//!
//! ```text
//!   commit of a transaction                        CommitLog
//!     everything that may wait is done      --->   takes its order lock, decides what is logged
//!     commit record and annex, one group    <---   append(annex)
//!     visible to new views                  --->   notes the LSN, releases its order lock
//!     locks released, log flushed                  writes its own file, any time after the flush
//! ```
//!
//! The prepare of a branch of a distributed transaction, its later commit and its later rollback take part in the same
//! way, each by itself. The branch's undo logs remember that its prepare had an annex; only then do their ends.
//!
//! The annex is in the same group of the redo log as the commit record, so after a crash both are there or neither is,
//! and one sync makes both durable. The engine does not look into it; recovery hands annexes back in their order
//! ([`crate::Annexes`]), from the newest checkpoint on. So that a checkpoint does not pass an annex that is
//! not durable in the upper layer's own file, that layer holds the checkpoint back ([`crate::redo::Hold`]).

use format::ids::Lsn;

use crate::error::Result;
use crate::mtr::Annexed;

/// See the module header.
pub trait CommitLog: Send + Sync {
    /// Calls `append` once, and returns what it returned; or returns an error without calling it, and the transaction
    /// does not commit. No page is latched. Whatever is ordered with commits happens under a lock that this takes.
    fn commit(&self, append: &mut dyn FnMut(Annexed<'_>) -> Result<Lsn>) -> Result<Lsn>;

    /// Bytes that the commit of a DDL statement leaves in the dictionary, in a slot, instead of those that were there:
    /// they are there if the statement has happened, and are not if it has not. [`crate::Engine::note`] reads them.
    fn note(&self) -> Option<(u32, Vec<u8>)> {
        None
    }
}

impl std::fmt::Debug for dyn CommitLog {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("CommitLog")
    }
}
