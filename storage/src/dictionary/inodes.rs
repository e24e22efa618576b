//! The segments of a tablespace and their first pages, read from its inode pages: enough to find a root that no row of
//! the dictionary names. `segment::survey` finds more, and reads more.

use format::bytes::{get_u32, get_u64};
use format::ids::{PageId, PageNo, SpaceId};
use format::page::space;

use crate::error::{Error, Result};
use crate::segment::Segment;
use crate::store::Store;

/// A segment in use.
#[derive(Clone, Debug)]
pub struct Inode {
    pub segment: Segment,
    /// Single pages that it has in shared extents, in the order it got them.
    pub fragments: Vec<PageNo>,
}

pub fn read_inodes(store: &Store, space_id: SpaceId) -> Result<Vec<Inode>> {
    let page_bytes = store.page_bytes();
    let first = store.read(PageId::new(space_id, space::HEADER_PAGE))?;
    let lists = [space::INODES_FULL_LIST, space::INODES_FREE_LIST].map(|list| space::Base::read(&first, list));
    drop(first);
    let mut found = Vec::new();
    let mut pages = Vec::new();
    for list in lists {
        let mut address = list.first;
        for _ in 0..list.length {
            let id = PageId::new(space_id, address.page);
            if address.is_null() || pages.contains(&address.page) {
                return Err(Error::corrupt_page(PageId::new(space_id, space::HEADER_PAGE), "the list of inode pages"));
            }
            let page = store.read(id)?;
            pages.push(address.page);
            for slot in 0..space::inodes_per_page(page_bytes) {
                let at = space::inode_offset(page_bytes, slot);
                let segment_id = get_u64(&page, at + space::INODE_SEGMENT_ID);
                if segment_id == 0 {
                    continue;
                }
                if get_u32(&page, at + space::INODE_MAGIC) != space::INODE_MAGIC_VALUE {
                    return Err(Error::corrupt_page(id, format_args!("segment {segment_id} without its magic number")));
                }
                let fragments = (0..space::inode_fragments(page_bytes))
                    .map(|number| PageNo(get_u32(&page, at + space::INODE_FRAGMENTS + 4 * number)))
                    .filter(|page| !page.is_null())
                    .collect();
                let segment = Segment { space: space_id, inode_page: address.page, inode_offset: at as u16 };
                found.push(Inode { segment, fragments });
            }
            address = space::Node::read(&page, space::INODE_PAGE_NODE).next;
        }
    }
    Ok(found)
}
