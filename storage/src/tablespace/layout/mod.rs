//! How the stored pages of a tablespace lie in its file: the only mapping from "page n of this tablespace" to bytes at
//! offsets.
//!
//! * [`punched`]: InnoDB's. Page n begins at n x page size; the part that its stored form does not need is a hole.
//!   MySQL's tools can read the file, and it can be exported and imported.
//! * [`pages`]: what is known in memory of each page.
//!
//! A *packed* layout (images appended to segments, found through a logged page map, so that nothing is torn or rounded)
//! is to follow as another arm of [`Layout`]; code above this module does not depend on a file's layout.

mod late;

pub mod pages;

pub mod punched;

use std::io;
use std::ops::Range;
use std::sync::Arc;

use format::ids::PageNo;

use self::pages::{Known, PageState};
use self::punched::Punched;
use super::SpaceCounters;
use crate::io::{File, FileFacts};

/// A page to be stored: where its bytes are, rounded up to whole blocks, and how it is stored.
#[derive(Clone, Debug)]
pub struct Stored {
    pub page: PageNo,
    /// In the buffer that is passed with it.
    pub bytes: Range<usize>,
    pub state: PageState,
    /// In one write that happens as a whole or not at all.
    pub untorn: bool,
}

/// See the module header.
pub enum Layout {
    Punched(Punched),
}

impl Layout {
    /// `pages_found`: pages of an existing file, of unknown form.
    pub fn punched(file: Arc<dyn File>, facts: &FileFacts, page_bytes: usize, pages_found: u32) -> Layout {
        Layout::Punched(Punched::new(file, facts, page_bytes, pages_found))
    }

    /// The unit of a page's length on the device; the page size if there is no smaller one.
    pub fn block_bytes(&self) -> usize {
        match self {
            Layout::Punched(layout) => layout.block_bytes(),
        }
    }

    /// Bytes at the start of a page's place that hold all of its stored form; the page size if that is not known.
    pub fn stored_bytes(&self, page: PageNo) -> usize {
        match self {
            Layout::Punched(layout) => layout.stored_bytes(page),
        }
    }

    /// Reads the first bytes of a page's place, zeros behind the end of the file. Returns the bytes that came from the
    /// file.
    pub fn read(&self, page: PageNo, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Layout::Punched(layout) => layout.read(page, buffer),
        }
    }

    /// Writes pages from `buffer`, in ascending order of their numbers. They are not durable before [`Layout::sync`].
    /// `copied`: a durable copy of them lies elsewhere.
    pub fn write(&self, pages: &[Stored], buffer: &[u8], copied: bool, counters: &SpaceCounters) -> io::Result<()> {
        match self {
            Layout::Punched(layout) => layout.write(pages, buffer, copied, counters),
        }
    }

    /// Extends the file to `pages` pages (exclusive). With `reserve`, on the device and not only in the file's length.
    pub fn extend(&self, pages: u32, reserve: bool, insist: bool) -> io::Result<()> {
        match self {
            Layout::Punched(layout) => layout.extend(pages, reserve, insist),
        }
    }

    /// Frees the blocks of free pages: from here on they read as zero. Returns the bytes that were freed.
    pub fn release(&self, pages: Range<u32>, counters: &SpaceCounters) -> io::Result<u64> {
        match self {
            Layout::Punched(layout) => layout.release(pages, counters),
        }
    }

    /// Sets the smaller number of pages; [`Layout::cut`] truncates the file.
    pub fn shrink_to(&self, pages: u32) {
        match self {
            Layout::Punched(layout) => layout.shrink_to(pages),
        }
    }

    /// Truncates the file behind its last page.
    pub fn cut(&self) -> io::Result<()> {
        match self {
            Layout::Punched(layout) => layout.cut(),
        }
    }

    /// The file's size in pages.
    pub fn pages(&self) -> u32 {
        match self {
            Layout::Punched(layout) => layout.pages(),
        }
    }

    pub fn sync(&self, counters: &SpaceCounters) -> io::Result<()> {
        match self {
            Layout::Punched(layout) => layout.sync(counters),
        }
    }

    /// Whether a page may be stored in less than its size.
    pub fn shortens(&self) -> bool {
        match self {
            Layout::Punched(layout) => layout.shortens(),
        }
    }

    /// Why holes are not punched; `None` if they are.
    pub fn why_not_punched(&self) -> Option<String> {
        match self {
            Layout::Punched(layout) => layout.why_not_punched(),
        }
    }

    pub fn set_punch(&self, wanted: bool) {
        match self {
            Layout::Punched(layout) => layout.set_punch(wanted),
        }
    }

    pub fn known(&self, page: PageNo) -> Known {
        match self {
            Layout::Punched(layout) => layout.known(page),
        }
    }

    /// Records what was seen when a page was read; `before` is what was known then.
    pub fn learn(&self, page: PageNo, before: Known, state: PageState) {
        match self {
            Layout::Punched(layout) => layout.learn(page, before, state),
        }
    }

    /// As `learn`, and asks the filesystem for the blocks.
    pub fn learn_blocks(&self, page: PageNo, before: Known, state: PageState) -> io::Result<()> {
        match self {
            Layout::Punched(layout) => layout.learn_blocks(page, before, state),
        }
    }

    /// Visits what is known of the pages from `first` on.
    pub fn each(&self, first: u32, visit: impl FnMut(u32, Known) -> bool) {
        match self {
            Layout::Punched(layout) => layout.each(first, visit),
        }
    }
}
