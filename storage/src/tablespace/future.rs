//! Pages from the future: their LSN lies behind the end that the redo log had when the server started.
//!
//! A page is written only after the log is durable up to its LSN. So such a page proves that the log has lost its end: a
//! bit in it has flipped, or it is an older log. What else those lost groups changed is unknown, so the page does not
//! fit the others any more, and reading it is an error. MySQL says that such a page is in the future, and uses it.
//!
//! New groups get LSNs from that same end on, so an LSN alone does not tell a page that this server has written from
//! one that it has found. A page of unknown form (`layout::pages`) was found. As soon as its form is known, it is
//! remembered here if it is from the future, until it is written anew.

use std::sync::atomic::{AtomicBool, Ordering};

use format::ids::{Lsn, PageId, PageNo};
use format::page::header;
use rustc_hash::FxHashSet;

use crate::error::{Error, Result};
use crate::sync::{Mutex, Rank};

/// The pages of one file. See the module header.
pub struct FuturePages {
    /// End of the log at the start.
    log_end: Lsn,
    found: Mutex<FxHashSet<PageNo>>,
    /// Whether `found` has any.
    any: AtomicBool,
}

impl FuturePages {
    pub fn new(log_end: Lsn) -> FuturePages {
        FuturePages { log_end, found: Mutex::new(Rank::Space, FxHashSet::default()), any: AtomicBool::new(false) }
    }

    /// The first bytes of a page whose form was unknown when they were read: remembers it if it is from the future.
    /// `is_unknown`: whether its form still is; otherwise the bytes may be those that a cleaner has just written.
    pub fn note(&self, page: PageNo, start: &[u8], is_unknown: impl FnOnce() -> bool) {
        if header::lsn(start) <= self.log_end {
            return;
        }
        // A writer sets the form first, and calls `forget` then.
        let mut found = self.found.lock();
        if is_unknown() {
            found.insert(page);
            self.any.store(true, Ordering::Release);
        }
    }

    /// Refuses a page that is from the future.
    #[inline]
    pub fn refuse(&self, page: PageId, bytes: &[u8]) -> Result<()> {
        if !self.any.load(Ordering::Acquire) || !self.found.lock().contains(&page.page) {
            return Ok(());
        }
        let (lsn, end) = (header::lsn(bytes), self.log_end);
        let what = format!(
            "its LSN {lsn} is in the future: the redo log ended at {end} when the server started; \
             the log is older than the tablespaces, or has lost its end"
        );
        Err(Error::corrupt_page(page, what))
    }

    /// These pages were written, and their form is known.
    pub fn forget(&self, pages: impl Iterator<Item = PageNo>) {
        let mut found = self.found.lock();
        if !found.is_empty() {
            pages.for_each(|page| {
                found.remove(&page);
            });
        }
    }
}
