//! Dirty pages: what may become dirty, what waits to be written, and the syncs that make it durable.
//!
//! Not all frames may become dirty: on a full disk dirty pages cannot be written, and reading has to go on
//! ([`Pool::may_dirty`]).

use std::sync::atomic::Ordering;

use format::ids::{Lsn, SpaceId};

use super::frame::ExclusiveLatch;
use super::pool::{FRAMES_MIN, Pool};
use crate::error::{Error, Result};

/// While the disk is full, no mini-transaction may make pages dirty if that would leave less than this part of the pool
/// to readers. Statements are refused earlier (`Store::check_headroom`).
const READERS_SHARE: usize = 16;

impl Pool {
    /// DiskFull while pages cannot be written: the cleaners cannot help until an operator frees disk space.
    pub fn check_disk(&self) -> Result<()> {
        match self.signals.has_cleaners() && self.is_disk_full() {
            true => Err(Error::DiskFull { doing: "write pages" }),
            false => Ok(()),
        }
    }

    /// Whether the last batch of a cleaner found the disk full.
    pub fn is_disk_full(&self) -> bool {
        self.disk_full.load(Ordering::Relaxed)
    }

    /// Whether a mini-transaction may make more pages dirty; if not, its thread waits for the cleaners, or fails
    /// because the disk is full. A few frames are always left, so that reading goes on when it turns out that nothing
    /// can be written.
    #[inline]
    pub fn may_dirty(&self) -> bool {
        let left = self.frames.count().saturating_sub(self.dirty_count());
        left > match self.is_disk_full() {
            true => self.readers_share(),
            // Mini-transactions under way when it turns out take frames as well.
            false => self.free_low.load(Ordering::Relaxed).clamp(self.readers_share() / 2, self.readers_share()),
        }
    }

    fn readers_share(&self) -> usize {
        (self.frames.count() / READERS_SHARE).max(FRAMES_MIN / 6)
    }

    /// Enters a page that was clean into the flush list, as of a mini-transaction that begins at `start`. The caller
    /// has it exclusively and holds the log's mutex.
    #[inline]
    pub fn mark_dirty(&self, latch: &ExclusiveLatch<'_>, start: Lsn) {
        if latch.frame().is_dirty() {
            return;
        }
        if self.has_pending() && self.mark_brought_up(latch) {
            return;
        }
        // Not yet known: a cleaner that could not write the page puts it back without a latch. The list decides.
        self.flush_list.lock().push(&self.frames, latch.index(), start);
    }

    /// Start of the oldest mini-transaction with unwritten pages.
    pub fn oldest_dirty_lsn(&self) -> Option<Lsn> {
        self.flush_list.lock().oldest_listed(&self.frames)
    }

    /// Whether the tablespace has dirty pages.
    pub fn is_space_dirty(&self, space: SpaceId) -> bool {
        self.flush_list.lock().has_space(space)
    }

    /// Start of the oldest mini-transaction whose pages are not all in the tablespaces; `None` if there is none.
    pub fn oldest_lsn(&self) -> Option<Lsn> {
        // In this order: a page is in the flush list before it stops waiting for redo.
        let pending = self.pending().filter(|(redo, _)| redo.holds_checkpoint()).map(|(_, checkpoint)| checkpoint);
        let dirty = self.flush_list.lock().oldest_lsn(&self.frames);
        pending.into_iter().chain(dirty).min()
    }

    /// Makes durable what all flushers have written so far.
    pub fn sync_written(&self) -> Result<()> {
        let _turn = self.syncing.lock();
        self.health.check()?;
        // Rounds run one at a time, so one that has not ended has failed.
        let round = self.flush_list.lock().begin_sync().ok_or(Error::Poisoned)?;
        if !round.spaces.is_empty() {
            let begin = self.now();
            for space in &round.spaces {
                // After a failed sync it is unknown what is durable, whatever the reason was.
                space.sync().inspect_err(|error| self.health.poison(error))?;
            }
            self.counters.syncs.add(1);
            self.counters.spaces_synced.add(round.spaces.len() as u64);
            self.counters.sync_us.add(self.now().saturating_sub(begin).as_micros() as u64);
        }
        self.flush_list.lock().end_sync(round);
        self.health.check()
    }

    /// Whether pages have been written that are not synced.
    pub fn owes_sync(&self) -> bool {
        self.flush_list.lock().owes_sync()
    }
}
