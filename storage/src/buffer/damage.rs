//! Damaged pages: those that are not read any more, and those that the error log has named.

use std::sync::atomic::{AtomicBool, Ordering};

use format::ids::PageId;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::error::Error;
use crate::sync::{Mutex, Rank, RwLock};
use crate::tablespace::Tablespaces;

/// Damaged pages that are reported one by one.
const REPORTS_MAX: usize = 1000;

/// See the module header.
pub struct Damage {
    /// Pages that could not be read and lack redo, and why: reading them is refused.
    refused: RwLock<FxHashMap<u64, Box<str>>>,
    any_refused: AtomicBool,
    reported: Mutex<FxHashSet<u64>>,
}

impl Default for Damage {
    fn default() -> Damage {
        Damage {
            refused: RwLock::new(Rank::Leaf, FxHashMap::default()),
            any_refused: AtomicBool::new(false),
            reported: Mutex::new(Rank::Leaf, FxHashSet::default()),
        }
    }
}

impl Damage {
    /// From here on reading the page is refused, until it is made anew.
    pub fn refuse(&self, page: PageId, why: &str) {
        self.refused.write().insert(page.fold(), why.into());
        self.any_refused.store(true, Ordering::Release);
    }

    /// Why reading the page is refused, if so.
    pub fn why_refused(&self, page: PageId) -> Option<Box<str>> {
        if !self.any_refused.load(Ordering::Acquire) {
            return None;
        }
        self.refused.read().get(&page.fold()).cloned()
    }

    /// The page is made anew: the redo that it lacked no longer matters.
    pub fn made_anew(&self, page: PageId) {
        if self.any_refused.load(Ordering::Acquire) {
            self.refused.write().remove(&page.fold());
        }
    }

    /// Reports a damaged page in the error log, once, with its file.
    pub fn report(&self, error: &Error, spaces: &Tablespaces) {
        let Error::Corrupt { page: Some(page), .. } = error else { return };
        let mut reported = self.reported.lock();
        if reported.len() >= REPORTS_MAX || !reported.insert(page.fold()) {
            return;
        }
        let is_last = reported.len() == REPORTS_MAX;
        drop(reported);
        let path = spaces.get(page.space).map_or_else(|| "a dropped file".into(), |space| space.path());
        tracing::error!("{path}: {error}");
        if is_last {
            tracing::error!("so many pages are damaged that further ones are not named here");
        }
    }
}
