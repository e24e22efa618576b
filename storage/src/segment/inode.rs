//! A segment's inode: its single pages and its extents.

use format::ids::PageNo;
use format::page::space::{self as layout, Address, Base};
use format::page::{get_u32, get_u64};

use super::Direction;
use super::space::{Extent, Space};
use crate::error::Result;
use crate::list::List;
use crate::mtr::PageHandle;

/// From this many extents on, a segment takes several at a time.
const LARGE_EXTENTS: u64 = 40;

/// Extents taken then.
const EXTENTS_AT_ONCE: u32 = 4;

/// Single pages freed in one step of dropping.
const DROPPED_FRAGMENTS: usize = 16;

/// An inode, on a latched page.
#[derive(Clone, Copy, Debug)]
pub struct Inode {
    address: Address,
    page: PageHandle,
    id: u64,
}

impl Inode {
    pub fn open(space: &mut Space<'_, '_>, address: Address) -> Result<Inode> {
        let page = space.latch_page(address.page)?;
        let at = usize::from(address.offset);
        let content = space.page(page);
        let fits = at + layout::inode_bytes(space.page_bytes) <= space.page_bytes;
        if !fits || get_u32(content, at + layout::INODE_MAGIC) != layout::INODE_MAGIC_VALUE {
            return Err(space.corrupt(page, "no segment where one should be"));
        }
        let id = get_u64(content, at + layout::INODE_SEGMENT_ID);
        if id == 0 {
            return Err(space.corrupt(page, "a segment that has been dropped"));
        }
        Ok(Inode { address, page, id })
    }

    /// Makes a segment; returns where its inode is.
    pub fn create(space: &mut Space<'_, '_>) -> Result<Address> {
        let with_room = space.list(layout::INODES_FREE_LIST);
        let (page_no, page) = match with_room.first(space.mtr) {
            Some(node) => (node.page, space.latch_page(node.page)?),
            None => {
                space.add_inode_page()?;
                let node = with_room.first(space.mtr).expect("just added");
                (node.page, space.latch_page(node.page)?)
            }
        };
        let slots = layout::inodes_per_page(space.page_bytes);
        let unused: Vec<usize> = (0..slots)
            .map(|slot| layout::inode_offset(space.page_bytes, slot))
            .filter(|&at| get_u64(space.page(page), at + layout::INODE_SEGMENT_ID) == 0)
            .take(2)
            .collect();
        let Some(&at) = unused.first() else { return Err(space.corrupt(page, "an inode page with room has none")) };
        let id = space.next_segment_id();
        let mut bytes = vec![0xFF; layout::inode_bytes(space.page_bytes)];
        bytes[..8].copy_from_slice(&id.to_be_bytes());
        bytes[layout::INODE_NOT_FULL_USED..layout::INODE_FREE_LIST].fill(0);
        for list in [layout::INODE_FREE_LIST, layout::INODE_NOT_FULL_LIST, layout::INODE_FULL_LIST] {
            bytes[list..list + layout::BASE_BYTES].copy_from_slice(&Base::EMPTY.to_bytes());
        }
        bytes[layout::INODE_MAGIC..layout::INODE_FRAGMENTS].copy_from_slice(&layout::INODE_MAGIC_VALUE.to_be_bytes());
        space.write(page, at, &bytes);
        if unused.len() == 1 {
            let node = Address::new(page_no, layout::INODE_PAGE_NODE as u16);
            with_room.remove(space.mtr, node)?;
            space.list(layout::INODES_FULL_LIST).push_last(space.mtr, node)?;
        }
        Ok(Address::new(page_no, at as u16))
    }

    fn at(self, field: usize) -> usize {
        usize::from(self.address.offset) + field
    }

    fn list(self, field: usize) -> List {
        List { page: self.page, offset: self.at(field) }
    }

    fn not_full_used(self, space: &Space<'_, '_>) -> u32 {
        get_u32(space.page(self.page), self.at(layout::INODE_NOT_FULL_USED))
    }

    fn set_not_full_used(self, space: &mut Space<'_, '_>, used: u32) {
        space.write_u32(self.page, self.at(layout::INODE_NOT_FULL_USED), used);
    }

    fn fragment(self, space: &Space<'_, '_>, slot: usize) -> PageNo {
        PageNo(get_u32(space.page(self.page), self.at(layout::INODE_FRAGMENTS) + slot * 4))
    }

    fn set_fragment(self, space: &mut Space<'_, '_>, slot: usize, page: PageNo) {
        space.write_u32(self.page, self.at(layout::INODE_FRAGMENTS) + slot * 4, page.0);
    }

    fn slots(space: &Space<'_, '_>) -> std::ops::Range<usize> {
        0..layout::inode_fragments(space.page_bytes)
    }

    fn fragments(self, space: &Space<'_, '_>) -> u64 {
        Inode::slots(space).filter(|&slot| !self.fragment(space, slot).is_null()).count() as u64
    }

    fn extents(self, space: &Space<'_, '_>) -> u64 {
        [layout::INODE_FREE_LIST, layout::INODE_NOT_FULL_LIST, layout::INODE_FULL_LIST]
            .iter()
            .map(|&list| u64::from(self.list(list).length(space.mtr)))
            .sum()
    }

    pub fn used(self, space: &Space<'_, '_>) -> u64 {
        let full = u64::from(self.list(layout::INODE_FULL_LIST).length(space.mtr));
        self.fragments(space) + u64::from(self.not_full_used(space)) + full * u64::from(space.extent_pages())
    }

    pub fn reserved(self, space: &Space<'_, '_>) -> u64 {
        self.fragments(space) + self.extents(space) * u64::from(space.extent_pages())
    }

    /// Takes a page for the segment. Its number only: the page itself is not touched.
    pub fn allocate(self, space: &mut Space<'_, '_>, hint: PageNo, direction: Direction) -> Result<PageNo> {
        let extent_pages = u64::from(space.extent_pages());
        let (used, reserved) = (self.used(space), self.reserved(space));
        let hint = if hint.is_null() { PageNo(0) } else { hint };
        let hint_index = (u64::from(hint.0) % extent_pages) as usize;

        // From its own extents: the one of the hint, and there the very page of the hint if it is free.
        let own = match space.extent_of(hint)? {
            Some(extent) if self.owns(space, extent) => Some(extent),
            _ => None,
        };
        if let Some(extent) = own
            && space.is_free(extent, hint_index)
        {
            return self.take(space, extent, hint_index);
        }
        // A small segment uses single pages.
        if let Some(slot) = Inode::slots(space).find(|&slot| self.fragment(space, slot).is_null())
            && self.extents(space) == 0
        {
            let page = space.allocate_fragment(hint)?;
            self.set_fragment(space, slot, page);
            return Ok(page);
        }
        // While it grows in one direction, it gets fresh extents before its reserve is used up, so that neighbours on
        // the level stay neighbours in the file.
        let well_used = reserved - used < (reserved / 8).max(1);
        if direction != Direction::None && well_used {
            let extent = self.add_extent(space, hint)?;
            let index = if direction == Direction::Down { extent_pages as usize - 1 } else { 0 };
            return self.take(space, extent, index);
        }
        if let Some(extent) = own
            && let Some(index) = space.find_free(extent, hint_index)
        {
            return self.take(space, extent, index);
        }
        for list in [layout::INODE_NOT_FULL_LIST, layout::INODE_FREE_LIST] {
            if let Some(node) = self.list(list).first(space.mtr) {
                let extent = space.extent_at(node)?;
                let Some(index) = space.find_free(extent, 0) else {
                    return Err(space.corrupt(self.page, "a full extent in a list of those with room"));
                };
                return self.take(space, extent, index);
            }
        }
        let extent = self.add_extent(space, hint)?;
        self.take(space, extent, 0)
    }

    fn owns(self, space: &Space<'_, '_>, extent: Extent) -> bool {
        space.extent_state(extent) == layout::STATE_SEGMENT && space.extent_segment(extent) == self.id
    }

    /// Adds an extent (a large segment: several) to the segment, and returns the first.
    fn add_extent(self, space: &mut Space<'_, '_>, hint: PageNo) -> Result<Extent> {
        // The extent of the hint, or the one right behind it, if they are free.
        let near = match space.extent_of(hint)? {
            Some(extent) if space.extent_state(extent) == layout::STATE_FREE => hint,
            None => hint,
            Some(_) => PageNo((hint.0 / space.extent_pages() + 1).saturating_mul(space.extent_pages())),
        };
        let first = self.add_one_extent(space, near)?;
        if self.extents(space) > LARGE_EXTENTS {
            let mut near = first.first.0;
            for _ in 1..EXTENTS_AT_ONCE {
                near += space.extent_pages();
                let next = match space.extent_of(PageNo(near))? {
                    Some(extent) if space.extent_state(extent) == layout::STATE_FREE => PageNo(near),
                    _ => break,
                };
                self.add_one_extent(space, next)?;
            }
        }
        Ok(first)
    }

    fn add_one_extent(self, space: &mut Space<'_, '_>, hint: PageNo) -> Result<Extent> {
        let extent = space.take_extent(hint)?;
        space.assign_extent(extent, self.id);
        self.list(layout::INODE_FREE_LIST).push_last(space.mtr, extent.node())?;
        Ok(extent)
    }

    /// Takes a free page of one of the segment's extents.
    fn take(self, space: &mut Space<'_, '_>, extent: Extent, index: usize) -> Result<PageNo> {
        let mut used = self.not_full_used(space);
        if space.extent_used(extent) == 0 {
            self.list(layout::INODE_FREE_LIST).remove(space.mtr, extent.node())?;
            self.list(layout::INODE_NOT_FULL_LIST).push_last(space.mtr, extent.node())?;
        }
        space.set_free(extent, index, false);
        used += 1;
        if space.extent_used(extent) as u32 == space.extent_pages() {
            self.list(layout::INODE_NOT_FULL_LIST).remove(space.mtr, extent.node())?;
            self.list(layout::INODE_FULL_LIST).push_last(space.mtr, extent.node())?;
            used = used.saturating_sub(space.extent_pages());
        }
        self.set_not_full_used(space, used);
        Ok(PageNo(extent.first.0 + index as u32))
    }

    /// Gives a page of the segment back.
    pub fn free(self, space: &mut Space<'_, '_>, page: PageNo) -> Result<()> {
        let Some(extent) = space.extent_of(page)? else {
            return Err(space.corrupt(self.page, "a page that is freed lies behind the free limit"));
        };
        let index = (page.0 % space.extent_pages()) as usize;
        if space.extent_state(extent) != layout::STATE_SEGMENT {
            let Some(slot) = Inode::slots(space).find(|&slot| self.fragment(space, slot) == page) else {
                return Err(space.corrupt(self.page, "a page that is freed belongs to another segment"));
            };
            self.set_fragment(space, slot, PageNo::NULL);
            return space.free_fragment(extent, index);
        }
        if !self.owns(space, extent) || space.is_free(extent, index) {
            return Err(space.corrupt(self.page, "a page that is freed belongs to another segment, or to none"));
        }
        let mut used = self.not_full_used(space);
        if space.extent_used(extent) as u32 == space.extent_pages() {
            self.list(layout::INODE_FULL_LIST).remove(space.mtr, extent.node())?;
            self.list(layout::INODE_NOT_FULL_LIST).push_last(space.mtr, extent.node())?;
            used += space.extent_pages();
        }
        space.set_free(extent, index, true);
        self.set_not_full_used(space, used.saturating_sub(1));
        if space.extent_used(extent) == 0 {
            self.list(layout::INODE_NOT_FULL_LIST).remove(space.mtr, extent.node())?;
            space.release_extent(extent)?;
        }
        Ok(())
    }

    /// Frees one extent or some single pages; true when the inode is free too.
    pub fn drop_step(self, space: &mut Space<'_, '_>) -> Result<bool> {
        for list in [layout::INODE_FULL_LIST, layout::INODE_NOT_FULL_LIST, layout::INODE_FREE_LIST] {
            if let Some(node) = self.list(list).first(space.mtr) {
                let extent = space.extent_at(node)?;
                if !self.owns(space, extent) {
                    return Err(space.corrupt(self.page, "an extent of another segment"));
                }
                if list == layout::INODE_NOT_FULL_LIST {
                    let used = self.not_full_used(space).saturating_sub(space.extent_used(extent) as u32);
                    self.set_not_full_used(space, used);
                }
                self.list(list).remove(space.mtr, extent.node())?;
                space.release_extent(extent)?;
                return Ok(false);
            }
        }
        let mut freed = 0;
        for slot in Inode::slots(space) {
            let page = self.fragment(space, slot);
            if page.is_null() {
                continue;
            }
            if freed == DROPPED_FRAGMENTS {
                return Ok(false);
            }
            freed += 1;
            self.free(space, page)?;
        }
        self.release(space)?;
        Ok(true)
    }

    /// Frees the inode's slot.
    fn release(self, space: &mut Space<'_, '_>) -> Result<()> {
        let slots = layout::inodes_per_page(space.page_bytes);
        let is_used = |space: &Space<'_, '_>, slot: usize| {
            let at = layout::inode_offset(space.page_bytes, slot) + layout::INODE_SEGMENT_ID;
            get_u64(space.page(self.page), at) != 0
        };
        let node = Address::new(self.address.page, layout::INODE_PAGE_NODE as u16);
        if (0..slots).all(|slot| is_used(space, slot)) {
            space.list(layout::INODES_FULL_LIST).remove(space.mtr, node)?;
            space.list(layout::INODES_FREE_LIST).push_last(space.mtr, node)?;
        }
        space.write(self.page, self.at(layout::INODE_SEGMENT_ID), &[0; 8]);
        space.write_u32(self.page, self.at(layout::INODE_MAGIC), 0);
        // The first inode page stays for ever: tools that read the file expect it there.
        if self.address.page != layout::INODE_PAGE && !(0..slots).any(|slot| is_used(space, slot)) {
            space.list(layout::INODES_FREE_LIST).remove(space.mtr, node)?;
            let Some(extent) = space.extent_of(self.address.page)? else {
                return Err(space.corrupt(self.page, "an inode page behind the free limit"));
            };
            let index = (self.address.page.0 % space.extent_pages()) as usize;
            space.free_fragment(extent, index)?;
        }
        Ok(())
    }
}
