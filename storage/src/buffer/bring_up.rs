//! Redo that recovery has read and not applied: the pool applies it to a page when the page is read, or in the background.
//!
//! A page to which nothing new was applied is done: the disk has all its changes. A page that was changed is dirty as of
//! the checkpoint from which recovery began, so that the next checkpoint does not pass it before it is written.

use std::sync::Arc;

use format::ids::{Lsn, PageId};
use format::page::header;

use super::frame::ExclusiveLatch;
use super::pending::PendingRedo;
use super::pool::Pool;
use crate::error::{Error, Result};
use crate::tablespace::Tablespace;
use crate::tablespace::page_io::PageRead;

impl Pool {
    /// The pending redo, and the checkpoint that it begins at.
    pub(super) fn pending(&self) -> Option<(Arc<PendingRedo>, Lsn)> {
        self.unapplied.get()
    }

    /// Sets the pending redo, from a checkpoint on. Resident pages get theirs at once. No other thread uses the pool
    /// yet.
    pub fn set_pending(&self, redo: Arc<PendingRedo>, checkpoint: Lsn) -> Result<()> {
        self.unapplied.set(redo.clone(), checkpoint);
        for page in redo.pages().filter(|page| self.peek(*page).is_some()) {
            self.bring_up(&redo, page)?;
        }
        Ok(())
    }

    /// Whether recovery is not over: [`Pool::end_pending`] is still to come.
    pub fn has_pending(&self) -> bool {
        self.unapplied.is_any()
    }

    /// Pages that wait for redo.
    pub fn pending_pages(&self) -> usize {
        self.pending().map_or(0, |(redo, _)| redo.left())
    }

    /// The pending redo, for recovery's decisions about single pages.
    pub fn pending_redo(&self) -> Option<Arc<PendingRedo>> {
        self.pending().map(|(redo, _)| redo)
    }

    /// Drops the pending redo, all of which has been applied. False if another thread was faster.
    pub fn end_pending(&self) -> bool {
        debug_assert_eq!(self.pending_pages(), 0, "every page has its redo");
        self.unapplied.end()
    }

    /// Applies the redo of the next `count` pages, in order. Returns how many that were; 0: other threads work on the
    /// last ones, or there are none.
    pub fn apply_pending(&self, count: usize) -> Result<usize> {
        let Some((redo, _)) = self.pending() else { return Ok(0) };
        let pages = redo.claim(count);
        for (at, page) in pages.iter().enumerate() {
            self.bring_up(&redo, *page).inspect_err(|_| redo.unclaim(&pages[at..]))?;
        }
        Ok(pages.len())
    }

    /// Brings a page to the end of the log, and makes it dirty.
    fn bring_up(&self, redo: &PendingRedo, page: PageId) -> Result<()> {
        if !redo.wants(page) {
            return Ok(());
        }
        if self.spaces.get(page.space).is_none() {
            // Dropped since.
            redo.set_done(page);
            return Ok(());
        }
        let mut latch = self.fetch_exclusive(page)?;
        if redo.apply(page, latch.bytes_mut())? {
            // It was resident when the redo was set.
            latch.advance_clock();
        }
        if header::is_zero(&latch) {
            redo.set_done(page);
        } else {
            self.mark_brought_up(&latch);
        }
        Ok(())
    }

    /// Applies pending redo to a page that was read.
    pub(super) fn apply(
        &self,
        redo: &PendingRedo,
        page: PageId,
        space: &Tablespace,
        read: Result<PageRead>,
        bytes: &mut [u8],
    ) -> Result<PageRead> {
        match read {
            // It was being punched: a free page, whose content is gone.
            Err(Error::Corrupt { .. }) if space.has_lost_its_head(page.page, bytes)? => bytes.fill(0),
            read => drop(read?),
        }
        let changed = redo.apply(page, bytes)?;
        if header::is_zero(bytes) {
            return Ok(PageRead::Zero);
        }
        if !changed {
            // The disk has all its changes, durably: recovery syncs what it finds.
            redo.set_done(page);
        }
        Ok(PageRead::Found)
    }

    /// A resident page has its pending redo applied. At its first change it is marked done: it is dirty as of the log's
    /// checkpoint. False if no redo is pending for it.
    #[cold]
    pub(super) fn mark_brought_up(&self, latch: &ExclusiveLatch<'_>) -> bool {
        let (Some((redo, checkpoint)), Some(page)) = (self.pending(), latch.frame().page()) else { return false };
        if !redo.wants(page) {
            return false;
        }
        self.flush_list.lock().put_first(&self.frames, latch.index(), checkpoint);
        redo.set_done(page);
        true
    }
}
