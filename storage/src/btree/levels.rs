//! Walking over one level of a tree, under shared latches, for who wants to know how a tree is filled.
//!
//! A page's number stays valid only as long as its neighbour or parent is latched. Who keeps it longer asks by
//! [`Tree::leaf_below`], which tells whether there is still such a page.

use format::ids::PageNo;
use format::page::header::{self, PageType};
use format::page::index;
use format::record::Layout;

use super::{Tree, following, on};
use crate::error::Result;
use crate::store::{SharedGuard, Store};

impl Tree {
    /// The root's level now.
    pub fn root_level(&self, store: &Store) -> Result<u16> {
        Ok(index::level(&store.read(self.page_id(self.root))?))
    }

    /// The first page of a level; None = the tree is lower by now.
    pub fn first_of_level<'s>(&self, store: &'s Store, level: u16) -> Result<Option<SharedGuard<'s>>> {
        let mut page = store.read(self.page_id(self.root))?;
        loop {
            let here = index::level(&page);
            if here <= level {
                return Ok((here == level).then_some(page));
            }
            let id = page.page_id();
            let (child, _) = self.child_of(id, &page, on(id, index::first(&page))?)?;
            let below = store.read(self.page_id(child))?;
            self.expect(below.page_id(), &below, here - 1)?;
            page = below;
        }
    }

    /// The page to the right of one that stays latched, on its level.
    pub fn page_behind<'s>(&self, store: &'s Store, page: &SharedGuard<'_>) -> Result<Option<SharedGuard<'s>>> {
        let next = following(page);
        if next.is_null() {
            return Ok(None);
        }
        let behind = store.read(self.page_id(next))?;
        self.expect(behind.page_id(), &behind, index::level(page))?;
        Ok(Some(behind))
    }

    /// How the records of a level are read.
    pub fn layout_of_level(&self, level: u16) -> &Layout {
        self.layout(level)
    }

    /// The page that a node record leads to.
    pub fn child_at(&self, page: &SharedGuard<'_>, origin: u16) -> Result<PageNo> {
        Ok(self.child_of(page.page_id(), page, origin)?.0)
    }

    /// A leaf in the middle of what is below a page of this level; None = the page is no such page any more.
    pub fn leaf_below<'s>(&self, store: &'s Store, page: PageNo, level: u16) -> Result<Option<SharedGuard<'s>>> {
        let mut page = store.read(self.page_id(page))?;
        let is_ours = header::page_type(&page) == PageType::INDEX && index::index_id(&page) == self.id;
        if !is_ours || index::level(&page) != level {
            return Ok(None);
        }
        for below in (0..level).rev() {
            let id = page.page_id();
            let middle = index::record_count(&page) / 2;
            let (child, _) = self.child_of(id, &page, on(id, index::nth(&page, middle))?)?;
            let child = store.read(self.page_id(child))?;
            self.expect(child.page_id(), &child, below)?;
            page = child;
        }
        Ok(Some(page))
    }
}
