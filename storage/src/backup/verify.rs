//! A sink that keeps nothing: every page of a backup is decoded and verified.

use format::ids::{PageId, SpaceId};

use super::page::{Slot, Verifier};
use super::{FileKind, Head, Item, Sink};
use crate::error::{Error, Result};

/// See the module header.
#[derive(Default)]
pub struct Verify {
    head: Option<Head>,
    path: String,
    space: Option<SpaceId>,
    verifier: Verifier,
    pages: u64,
}

impl Verify {
    pub fn new() -> Verify {
        Verify::default()
    }

    /// The archive's description of itself.
    pub fn head(&self) -> Option<&Head> {
        self.head.as_ref()
    }

    /// Pages that were verified.
    pub fn pages(&self) -> u64 {
        self.pages
    }
}

impl Sink for Verify {
    fn take(&mut self, item: Item<'_>) -> Result<()> {
        match item {
            Item::Head(head) => self.head = Some(head.clone()),
            Item::File(file) => {
                self.path.clone_from(&file.path);
                self.space = match file.kind {
                    FileKind::Pages { space, .. } => Some(space),
                    FileKind::Plain => None,
                };
            }
            Item::Page { page, stored } => {
                let (Some(space), Some(head)) = (self.space, &self.head) else {
                    return Err(Error::corrupt(format!("a page of {}, which is no tablespace", self.path)));
                };
                let id = PageId::new(space, page);
                match self.verifier.look(id, stored, head.page_bytes as usize)? {
                    Slot::Page { bytes, .. } if bytes == stored.len() => self.pages += 1,
                    _ => return Err(Error::corrupt_page(id, "its length in the archive is wrong")),
                }
            }
            Item::Directory(_) | Item::Bytes { .. } | Item::Log(_) | Item::Redo { .. } | Item::End(_) => {}
        }
        Ok(())
    }
}
