//! How the stored pages of a tablespace lie in its file: the one seam between "page n of this tablespace" and bytes at
//! offsets.
//!
//! * [`punched`]: InnoDB's. Page n begins at n x page size; what its stored form does not need is a hole. The file can
//!   be read by MySQL's tools, and moved in and out.
//!
//! A *packed* layout (images appended to segments, found through a logged page map, so that nothing is torn or rounded)
//! is to follow as another arm of [`Layout`]; above this module nobody knows which one a file has.

pub mod punched;

use std::io;
use std::sync::Arc;

use format::ids::PageNo;

use self::punched::Punched;
use super::IoCounters;
use crate::io::File;

/// A page as it is to be stored: its bytes, rounded up to whole blocks.
#[derive(Clone, Copy, Debug)]
pub struct Stored<'a> {
    pub page: PageNo,
    pub bytes: &'a [u8],
}

/// See the module header.
pub enum Layout {
    Punched(Punched),
}

impl Layout {
    /// `pages_written`: pages of an existing file, whose stored lengths are not known yet.
    pub fn punched(file: Arc<dyn File>, page_bytes: usize, block_bytes: usize, pages_written: u32) -> Layout {
        Layout::Punched(Punched::new(file, page_bytes, block_bytes, pages_written))
    }

    /// Reads the stored bytes of a page into `buffer` (of page size), zeros behind them. Returns the bytes that came from
    /// the file.
    pub fn read(&self, page: PageNo, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Layout::Punched(layout) => layout.read(page, buffer),
        }
    }

    /// Writes a page. It is not durable before [`Layout::sync`].
    pub fn write(&self, page: Stored<'_>, counters: &IoCounters) -> io::Result<()> {
        match self {
            Layout::Punched(layout) => layout.write(page, counters),
        }
    }

    /// Makes room for pages up to `pages` (exclusive). With `reserve`, on the device and not only in the file's length.
    pub fn extend(&self, pages: u32, reserve: bool) -> io::Result<()> {
        match self {
            Layout::Punched(layout) => layout.extend(pages, reserve),
        }
    }

    /// Pages the file has room for.
    pub fn pages(&self) -> u32 {
        match self {
            Layout::Punched(layout) => layout.pages(),
        }
    }

    pub fn sync(&self) -> io::Result<()> {
        match self {
            Layout::Punched(layout) => layout.sync(),
        }
    }

    /// Whether holes can be punched, and have been wanted so far.
    pub fn punches(&self) -> bool {
        match self {
            Layout::Punched(layout) => layout.punches(),
        }
    }

    pub fn set_punch(&self, wanted: bool) {
        match self {
            Layout::Punched(layout) => layout.set_punch(wanted),
        }
    }
}
