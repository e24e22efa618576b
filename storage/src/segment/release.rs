//! Gives the blocks of freed pages back to the filesystem, in the background.
//!
//! ```text
//!   page 0 latched:    which pages of the extent are free, and durably so?  mark it: cleaners leave it alone
//!   unlatched:         punch them
//!                      unmark
//! ```
//!
//! A free page becomes a used one only under the latch of page 0. So a thread that allocates one after the look finds
//! the mark set, and its changes wait in the pool until the punch is over; a cleaner skips the page and retries later.
//!
//! Invariants:
//!
//! * A page is punched only when its last change before it was freed is durable in the tablespace, and its freeing is
//!   durable: `freed` waits for the checkpoint. Hence no cleaner is writing a copy of it either.
//! * No latch is held while the filesystem works.
//! * Only tablespaces that are written compressed have holes: a plain one has reserved its blocks, so that a full disk is
//!   noticed when the file grows and not when a page is written.

use std::ops::Range;
use std::time::Duration;

use format::ids::{PageId, PageNo, SpaceId};
use format::page::header::{self, PageType};
use format::page::space as layout;
use format::transform::Algorithm;

use crate::error::{Error, Result};
use crate::freed::Extent;
use crate::store::Store;
use crate::store::aside::is_vital;

/// Extents looked at in one step, at most.
const EXTENTS_MAX: usize = if cfg!(test) { 4 } else { 64 };

/// Punches pages for about `limit`. True if there is more to do. For one thread at a time.
pub fn release_step(store: &Store, limit: Duration) -> Result<bool> {
    let begin = store.disk().clock().now();
    let extent_pages = layout::extent_pages(store.page_bytes()) as u32;
    for _ in 0..EXTENTS_MAX {
        let Some(extent) = store.freed().take(store.redo().checkpoint_lsn()) else { return Ok(false) };
        let first = extent.number * extent_pages;
        match release(store, extent, first..first + extent_pages) {
            // Which pages are free is unknown: the blocks stay until the table is repaired.
            Err(Error::Corrupt { .. }) if !is_vital(extent.space) => {}
            released => released?,
        }
        if store.disk().clock().now().saturating_sub(begin) >= limit {
            break;
        }
    }
    Ok(store.freed().is_ready(store.redo().checkpoint_lsn()))
}

/// Punches the free pages of an extent.
fn release(store: &Store, extent: Extent, pages: Range<u32>) -> Result<()> {
    let id = extent.space;
    // It may have been dropped since.
    let Some(space) = store.space(id) else { return Ok(()) };
    if space.transform().algorithm == Algorithm::NONE {
        return Ok(());
    }
    let runs = {
        let page_0 = store.read(PageId::new(id, layout::HEADER_PAGE))?;
        // Freed again since it was taken, and not durably yet: it is taken again later. Under the latch this is
        // certain.
        if store.freed().waits(extent) {
            return Ok(());
        }
        let runs = free_runs(store, id, &page_0, pages.clone())?;
        if runs.is_empty() {
            return Ok(());
        }
        space.begin_release(pages);
        runs
    };
    let mut outcome = Ok(0);
    for run in runs {
        outcome = space.release_pages(run);
        let Ok(bytes) = outcome else { break };
        store.freed().bytes_released.add(bytes);
    }
    space.end_release();
    outcome.map(drop)
}

/// The runs of free pages among some pages of one extent. `page_0` is latched.
fn free_runs(store: &Store, id: SpaceId, page_0: &[u8], pages: Range<u32>) -> Result<Vec<Range<u32>>> {
    // A tablespace that was just made and has no bookkeeping yet has no free pages either.
    let end =
        if header::page_type(page_0) == PageType::FSP_HDR { layout::free_limit(page_0).min(pages.end) } else { 0 };
    if pages.start >= end {
        return Ok(Vec::new());
    }
    let first = PageNo(pages.start);
    let holder = layout::descriptor_page(store.page_bytes(), first);
    let other;
    let content = match holder {
        layout::HEADER_PAGE => page_0,
        holder => {
            other = store.read(PageId::new(id, holder))?;
            &other
        }
    };
    let descriptor = layout::descriptor_offset(store.page_bytes(), first);
    let extent_pages = layout::extent_pages(store.page_bytes()) as u32;
    let mut runs: Vec<Range<u32>> = Vec::new();
    for page in pages.start..end {
        if !layout::is_page_free(content, descriptor, (page % extent_pages) as usize) {
            continue;
        }
        match runs.last_mut() {
            Some(run) if run.end == page => run.end += 1,
            _ => runs.push(page..page + 1),
        }
    }
    Ok(runs)
}

/// Whether a page is free according to its descriptor.
pub fn is_free(store: &Store, page: PageId) -> Result<bool> {
    let page_0 = store.read(PageId::new(page.space, layout::HEADER_PAGE))?;
    let runs = free_runs(store, page.space, &page_0, page.page.0..page.page.0 + 1)?;
    Ok(!runs.is_empty())
}
