//! The pages of an index that no row of the dictionary names any more.

use format::ids::{IndexId, PageId, PageNo, SpaceId};
use format::page::header::{self, PageType};
use format::page::index;

use super::inodes::read_inodes;
use crate::btree;
use crate::error::Result;
use crate::mtr::Mtr;
use crate::segment::Segment;
use crate::store::Store;

/// Frees the pages of an index whose root is no longer known: its tablespace's segments lead to it. Does nothing if
/// there is none.
pub(super) fn drop_index_pages(store: &Store, space_id: SpaceId, id: IndexId) -> Result<()> {
    let Some(root) = find_root(store, space_id, id)? else { return Ok(()) };
    loop {
        let mut mtr = Mtr::begin(store);
        let done = btree::drop_step(&mut mtr, space_id, root)?;
        mtr.commit();
        if done {
            return Ok(());
        }
    }
}

/// The root of an index: the first page of the segment that the root names as its own.
fn find_root(store: &Store, space_id: SpaceId, id: IndexId) -> Result<Option<PageNo>> {
    for inode in read_inodes(store, space_id)? {
        let Some(&candidate) = inode.fragments.first() else { continue };
        let page = store.read(PageId::new(space_id, candidate))?;
        let is_root = header::page_type(&page) == PageType::INDEX
            && index::index_id(&page) == id
            && Segment::read(&page, index::TOP_SEGMENT) == Some(inode.segment);
        if is_root {
            return Ok(Some(candidate));
        }
    }
    Ok(None)
}
