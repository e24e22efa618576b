//! A tablespace's own part: its size, its extents, and the single pages of shared extents.

use std::sync::atomic::Ordering;

use format::ids::{PageId, PageNo, SpaceId};
use format::page::header::PageType;
use format::page::space::{self as layout, Address, Base, Flags};
use format::page::{get_u32, get_u64};
use format::redo::PageOp;
use format::transform::encryption::KeyInfo;

use super::FIXED_TYPES;
use crate::error::{Error, Result};
use crate::list::List;
use crate::mtr::{Mtr, PageHandle};
use crate::store::Tablespace;
use crate::tablespace::Growth;

/// Pages of a fresh file.
const INITIAL_PAGES: u32 = 6;

/// Extents that get their descriptors at once.
const EXTENTS_AT_ONCE: u32 = 4;

/// From this many extents on, a file grows by several at a time.
const LARGE_EXTENTS: u32 = 32;

/// A tablespace under its latch: page 0 is exclusively latched by the mini-transaction.
pub struct Space<'m, 's> {
    pub mtr: &'m mut Mtr<'s>,
    pub id: SpaceId,
    pub header: PageHandle,
    pub page_bytes: usize,
}

/// An extent: its first page, and where its descriptor lies.
#[derive(Clone, Copy, Debug)]
pub struct Extent {
    pub first: PageNo,
    /// The page with its descriptor.
    holder: PageNo,
    pub page: PageHandle,
    pub descriptor: usize,
}

impl<'m, 's> Space<'m, 's> {
    /// Latches page 0. `Corrupt` if what it counts cannot be: otherwise a damaged number would make the file grow to
    /// terabytes.
    pub fn latch(mtr: &'m mut Mtr<'s>, id: SpaceId) -> Result<Space<'m, 's>> {
        let header = mtr.latch_exclusive(PageId::new(id, layout::HEADER_PAGE))?;
        let page_bytes = mtr.store().page_bytes();
        let space = Space { mtr, id, header, page_bytes };
        space.check_counts()?;
        Ok(space)
    }

    /// Test: `page_0_that_counts_too_much_is_damaged`.
    fn check_counts(&self) -> Result<()> {
        let (size, free_limit) = (self.size(), self.free_limit());
        let in_file = self.mtr.store().space(self.id).map_or(0, |tablespace| tablespace.pages());
        if size > in_file {
            return Err(self.corrupt(self.header, "page 0 counts more pages than the file has"));
        }
        // The first extent has its descriptor before it has all its pages.
        if u64::from(free_limit) > u64::from(size).next_multiple_of(u64::from(self.extent_pages())) {
            return Err(self.corrupt(self.header, "the free limit is behind the end of the file"));
        }
        if self.list(layout::FREE_LIST).length(self.mtr) > free_limit / self.extent_pages() {
            return Err(self.corrupt(self.header, "more extents are free than there are"));
        }
        Ok(())
    }

    /// See [`super::init_space`].
    pub fn init(mtr: &'m mut Mtr<'s>, id: SpaceId, flags: u32) -> Result<()> {
        let page_bytes = mtr.store().page_bytes();
        let tablespace = mtr.store().space(id).ok_or_else(|| Error::NotFound(format!("tablespace {id}").into()))?;
        tablespace.extend(INITIAL_PAGES, Growth::Reserved)?;
        let header = mtr.latch_new(PageId::new(id, layout::HEADER_PAGE))?;
        let mut space = Space { mtr, id, header, page_bytes };
        space.init_page(header, FIXED_TYPES[0]);
        space.write(header, layout::SPACE, &id.0.to_be_bytes());
        space.write_u32(header, layout::SIZE, INITIAL_PAGES);
        match tablespace.key() {
            Some(key) => {
                space.write_u32(header, layout::FLAGS, Flags(flags).encrypted().0);
                space.write(header, KeyInfo::offset(page_bytes), &key.info().to_bytes());
            }
            None => space.write_u32(header, layout::FLAGS, flags),
        }
        space.write(header, layout::NEXT_SEGMENT_ID, &1u64.to_be_bytes());
        for list in [
            layout::FREE_LIST,
            layout::FREE_FRAGMENT_LIST,
            layout::FULL_FRAGMENT_LIST,
            layout::INODES_FULL_LIST,
            layout::INODES_FREE_LIST,
        ] {
            space.write(header, list, &Base::EMPTY.to_bytes());
        }
        let bitmap = space.latch_fresh(layout::BITMAP_PAGE)?;
        space.init_page(bitmap, FIXED_TYPES[1]);

        // The first extent is shared from the beginning: the fixed pages are in it.
        let extent = space.init_extent(PageNo(0), layout::STATE_FREE_FRAGMENT)?;
        space.write_u32(header, layout::FREE_LIMIT, space.extent_pages());
        space.list(layout::FREE_FRAGMENT_LIST).push_last(space.mtr, extent.node())?;
        for page in [layout::HEADER_PAGE, layout::BITMAP_PAGE] {
            space.take_fragment(extent, page.0 as usize)?;
        }
        space.add_inode_page().map(|_| ())
    }

    pub fn extent_pages(&self) -> u32 {
        layout::extent_pages(self.page_bytes) as u32
    }

    pub fn page(&self, page: PageHandle) -> &[u8] {
        self.mtr.page(page)
    }

    pub fn write(&mut self, page: PageHandle, offset: usize, bytes: &[u8]) {
        self.mtr.write(page, offset, bytes);
    }

    pub fn write_u32(&mut self, page: PageHandle, offset: usize, value: u32) {
        self.mtr.write(page, offset, &value.to_be_bytes());
    }

    pub fn corrupt(&self, page: PageHandle, what: &str) -> Error {
        self.mtr.corrupt(page, what)
    }

    /// Latches a page of this tablespace.
    pub fn latch_page(&mut self, page: PageNo) -> Result<PageHandle> {
        self.mtr.latch_exclusive(PageId::new(self.id, page))
    }

    /// Latches a page that is to be made anew.
    pub fn latch_fresh(&mut self, page: PageNo) -> Result<PageHandle> {
        self.mtr.latch_new(PageId::new(self.id, page))
    }

    pub fn init_page(&mut self, page: PageHandle, page_type: PageType) {
        let id = self.mtr.page_id(page);
        self.mtr.apply(page, PageOp::Init { id, page_type }).expect("any page can be initialised");
    }

    fn header_u32(&self, offset: usize) -> u32 {
        get_u32(self.page(self.header), offset)
    }

    pub fn size(&self) -> u32 {
        self.header_u32(layout::SIZE)
    }

    /// Pages that have descriptors; behind them the file is as growing left it.
    pub fn free_limit(&self) -> u32 {
        self.header_u32(layout::FREE_LIMIT)
    }

    pub fn fragments_used(&self) -> u32 {
        self.header_u32(layout::FRAGMENT_USED)
    }

    pub fn list(&self, offset: usize) -> List {
        List { page: self.header, offset }
    }

    /// The next segment's id, counted up.
    pub fn next_segment_id(&mut self) -> u64 {
        let id = get_u64(self.page(self.header), layout::NEXT_SEGMENT_ID);
        self.write(self.header, layout::NEXT_SEGMENT_ID, &(id + 1).to_be_bytes());
        id
    }

    // Extents

    /// The extent that a page lies in; `None` behind the free limit, where no descriptor has been made yet.
    pub fn extent_of(&mut self, page: PageNo) -> Result<Option<Extent>> {
        if page.0 >= self.header_u32(layout::FREE_LIMIT) {
            return Ok(None);
        }
        self.extent(page).map(Some)
    }

    /// The extent that a page lies in, whether its descriptor has been made or not.
    fn extent(&mut self, page: PageNo) -> Result<Extent> {
        let holder = layout::descriptor_page(self.page_bytes, page);
        let first = PageNo(page.0 - page.0 % self.extent_pages());
        let descriptor = layout::descriptor_offset(self.page_bytes, page);
        Ok(Extent { first, holder, page: self.latch_page(holder)?, descriptor })
    }

    /// The extent whose list node is at `node`.
    pub fn extent_at(&mut self, node: Address) -> Result<Extent> {
        let Some(first) = layout::extent_of_node(self.page_bytes, node.page, node.offset) else {
            return Err(self.corrupt(self.header, "a list of extents leads to none"));
        };
        let extent = self.extent_of(first)?;
        extent.ok_or_else(|| self.corrupt(self.header, "a list of extents leads behind the free limit"))
    }

    pub fn extent_state(&self, extent: Extent) -> u32 {
        get_u32(self.page(extent.page), extent.descriptor + layout::EXTENT_STATE)
    }

    pub fn extent_segment(&self, extent: Extent) -> u64 {
        get_u64(self.page(extent.page), extent.descriptor + layout::EXTENT_SEGMENT)
    }

    pub fn extent_used(&self, extent: Extent) -> usize {
        layout::used_pages(self.page(extent.page), extent.descriptor, self.page_bytes)
    }

    pub fn find_free(&self, extent: Extent, from: usize) -> Option<usize> {
        layout::find_free(self.page(extent.page), extent.descriptor, self.page_bytes, from)
    }

    pub fn is_free(&self, extent: Extent, index: usize) -> bool {
        layout::is_page_free(self.page(extent.page), extent.descriptor, index)
    }

    pub fn set_free(&mut self, extent: Extent, index: usize, free: bool) {
        let (byte, mask) = layout::free_bit(index);
        let at = extent.descriptor + byte;
        let before = self.page(extent.page)[at];
        debug_assert!((before & mask == 0) == free, "page {} of extent {} changes hands twice", index, extent.first);
        self.write(extent.page, at, &[before ^ mask]);
        if free {
            let page = extent.first.0 + index as u32;
            self.mtr.note_freed(self.id, page..page + 1);
        }
    }

    fn set_state(&mut self, extent: Extent, state: u32) {
        self.write_u32(extent.page, extent.descriptor + layout::EXTENT_STATE, state);
    }

    /// Writes a fresh descriptor: all pages free, in no list.
    fn init_extent(&mut self, first: PageNo, state: u32) -> Result<Extent> {
        let extent = self.extent(first)?;
        let mut bytes = vec![0xFF; layout::descriptor_bytes(self.page_bytes)];
        bytes[..layout::EXTENT_NODE].fill(0);
        bytes[layout::EXTENT_NODE..layout::EXTENT_STATE]
            .copy_from_slice(&layout::Node { prev: Address::NULL, next: Address::NULL }.to_bytes());
        bytes[layout::EXTENT_STATE..layout::EXTENT_BITMAP].copy_from_slice(&state.to_be_bytes());
        self.write(extent.page, extent.descriptor, &bytes);
        Ok(extent)
    }

    /// Gives the next extents of the file descriptors, so that they can be allocated.
    fn describe_more(&mut self) -> Result<()> {
        let pages = self.extent_pages();
        let mut free_limit = self.header_u32(layout::FREE_LIMIT);
        for _ in 0..EXTENTS_AT_ONCE {
            if free_limit + pages > self.size() {
                break;
            }
            let first = PageNo(free_limit);
            let holds_descriptors = free_limit.is_multiple_of(self.page_bytes as u32);
            if holds_descriptors {
                let descriptors = self.latch_fresh(first)?;
                self.init_page(descriptors, PageType::XDES);
                let bitmap = self.latch_fresh(PageNo(free_limit + 1))?;
                self.init_page(bitmap, PageType::IBUF_BITMAP);
            }
            free_limit += pages;
            self.write_u32(self.header, layout::FREE_LIMIT, free_limit);
            if holds_descriptors {
                let extent = self.init_extent(first, layout::STATE_FREE_FRAGMENT)?;
                self.list(layout::FREE_FRAGMENT_LIST).push_last(self.mtr, extent.node())?;
                self.take_fragment(extent, 0)?;
                self.take_fragment(extent, 1)?;
            } else {
                let extent = self.init_extent(first, layout::STATE_FREE)?;
                self.list(layout::FREE_LIST).push_last(self.mtr, extent.node())?;
            }
        }
        Ok(())
    }

    /// Takes an extent out of the free list: the one with `hint`, or any. It is in no list then.
    pub fn take_extent(&mut self, hint: PageNo) -> Result<Extent> {
        let free = self.list(layout::FREE_LIST);
        if free.first(self.mtr).is_none() {
            self.describe_more()?;
        }
        if free.first(self.mtr).is_none() {
            self.grow(self.size() + 1, Growth::Reserved)?;
            self.describe_more()?;
        }
        let wanted = match self.extent_of(hint)? {
            Some(extent) if self.extent_state(extent) == layout::STATE_FREE => Some(extent),
            _ => None,
        };
        let extent = match (wanted, free.first(self.mtr)) {
            (Some(extent), _) => extent,
            (None, Some(node)) => self.extent_at(node)?,
            (None, None) => return Err(Error::DiskFull { doing: "allocate an extent" }),
        };
        free.remove(self.mtr, extent.node())?;
        Ok(extent)
    }

    /// Gives an extent to a segment (by its id).
    pub fn assign_extent(&mut self, extent: Extent, segment: u64) {
        self.write(extent.page, extent.descriptor + layout::EXTENT_SEGMENT, &segment.to_be_bytes());
        self.set_state(extent, layout::STATE_SEGMENT);
    }

    /// Puts an extent that is in no list back to the free ones, all its pages free.
    pub fn release_extent(&mut self, extent: Extent) -> Result<()> {
        let extent = self.init_extent(extent.first, layout::STATE_FREE)?;
        let first = extent.first.0;
        self.mtr.note_freed(self.id, first..first + self.extent_pages());
        self.list(layout::FREE_LIST).push_last(self.mtr, extent.node())
    }

    // Single pages

    /// Takes a single page, near `hint` if that is possible.
    pub fn allocate_fragment(&mut self, hint: PageNo) -> Result<PageNo> {
        let shared = self.list(layout::FREE_FRAGMENT_LIST);
        let near = match self.extent_of(hint)? {
            Some(extent) if self.extent_state(extent) == layout::STATE_FREE_FRAGMENT => Some(extent),
            _ => None,
        };
        let extent = match (near, shared.first(self.mtr)) {
            (Some(extent), _) => extent,
            (None, Some(node)) => self.extent_at(node)?,
            (None, None) => {
                let extent = self.take_extent(hint)?;
                self.set_state(extent, layout::STATE_FREE_FRAGMENT);
                shared.push_last(self.mtr, extent.node())?;
                extent
            }
        };
        let from = if near.is_some() { (hint.0 % self.extent_pages()) as usize } else { 0 };
        let Some(mut index) = self.find_free(extent, from) else {
            return Err(self.corrupt(extent.page, "a shared extent with room has none"));
        };
        // A small file stays as short as possible: the lowest free page, unless the hint is in the file.
        if extent.first.0 + index as u32 >= self.size() {
            index = self.find_free(extent, 0).expect("it has a free page");
            let page = extent.first.0 + index as u32;
            if page >= self.size() {
                self.grow(page + 1, Growth::Reserved)?;
            }
        }
        self.take_fragment(extent, index)?;
        Ok(PageNo(extent.first.0 + index as u32))
    }

    fn take_fragment(&mut self, extent: Extent, index: usize) -> Result<()> {
        self.set_free(extent, index, false);
        let used = self.header_u32(layout::FRAGMENT_USED) + 1;
        if self.extent_used(extent) as u32 == self.extent_pages() {
            self.list(layout::FREE_FRAGMENT_LIST).remove(self.mtr, extent.node())?;
            self.set_state(extent, layout::STATE_FULL_FRAGMENT);
            self.list(layout::FULL_FRAGMENT_LIST).push_last(self.mtr, extent.node())?;
            self.write_u32(self.header, layout::FRAGMENT_USED, used.saturating_sub(self.extent_pages()));
        } else {
            self.write_u32(self.header, layout::FRAGMENT_USED, used);
        }
        Ok(())
    }

    /// Gives a single page back.
    pub fn free_fragment(&mut self, extent: Extent, index: usize) -> Result<()> {
        if self.is_free(extent, index) {
            return Err(self.corrupt(extent.page, "a page that is freed is free already"));
        }
        let used = self.header_u32(layout::FRAGMENT_USED);
        self.set_free(extent, index, true);
        if self.extent_state(extent) == layout::STATE_FULL_FRAGMENT {
            self.list(layout::FULL_FRAGMENT_LIST).remove(self.mtr, extent.node())?;
            self.set_state(extent, layout::STATE_FREE_FRAGMENT);
            self.list(layout::FREE_FRAGMENT_LIST).push_last(self.mtr, extent.node())?;
            self.write_u32(self.header, layout::FRAGMENT_USED, used + self.extent_pages() - 1);
        } else {
            self.write_u32(self.header, layout::FRAGMENT_USED, used.saturating_sub(1));
        }
        if self.extent_used(extent) == 0 {
            self.list(layout::FREE_FRAGMENT_LIST).remove(self.mtr, extent.node())?;
            self.release_extent(extent)?;
        }
        Ok(())
    }

    /// Adds an inode page to those with room.
    pub fn add_inode_page(&mut self) -> Result<PageHandle> {
        let page = self.allocate_fragment(PageNo(0))?;
        let handle = self.latch_fresh(page)?;
        self.init_page(handle, FIXED_TYPES[2]);
        let node = Address::new(page, layout::INODE_PAGE_NODE as u16);
        self.list(layout::INODES_FREE_LIST).push_last(self.mtr, node)?;
        Ok(handle)
    }

    // Size

    /// Makes the file longer, to at least `pages` pages.
    fn grow(&mut self, pages: u32, growth: Growth) -> Result<()> {
        let extent = self.extent_pages();
        let size = self.size();
        let wanted = if pages <= extent {
            // A small table stays small: double up to one extent.
            pages.next_power_of_two().min(extent)
        } else {
            let step = if size / extent >= LARGE_EXTENTS { EXTENTS_AT_ONCE } else { 0 };
            pages.next_multiple_of(extent).max((size / extent + step) * extent)
        };
        let tablespace = self.mtr.store().space(self.id).expect("its page 0 is latched");
        tablespace.extend(wanted, growth)?;
        self.write_u32(self.header, layout::SIZE, wanted);
        Ok(())
    }

    /// See [`super::reserve`]. Returns the pages that count as reserved.
    pub fn reserve(&mut self, tablespace: &Tablespace, pages: u32, growth: Growth) -> Result<u32> {
        let extent = self.extent_pages();
        let size = self.size();
        if size < extent {
            // In a small file all are single pages of the first extent.
            let Some(first) = self.extent_of(PageNo(0))? else {
                return Err(self.corrupt(self.header, "a first extent without a descriptor"));
            };
            let used = self.extent_used(first) as u32;
            let promised = tablespace.reserved_pages().load(Ordering::Relaxed);
            let wanted = used + promised + pages;
            if wanted <= extent {
                if wanted > size {
                    self.grow(wanted, growth)?;
                }
                tablespace.reserved_pages().fetch_add(pages, Ordering::Relaxed);
                return Ok(pages);
            }
        }
        // A page takes an extent at most; and beyond what fills whole extents, an index's leaves may take one of their
        // own, and single pages one more.
        let needed = pages.min(pages / extent + 2) * extent;
        let promised = tablespace.reserved_pages().load(Ordering::Relaxed);
        let wanted = needed + promised;
        let described = self.list(layout::FREE_LIST).length(self.mtr) * extent;
        let free_limit = self.header_u32(layout::FREE_LIMIT);
        // Every page-size pages one extent goes to descriptors.
        let holders = |pages: u32| pages.div_ceil(self.page_bytes as u32) * extent;
        let available = |size: u32| {
            let overhead = holders(size).saturating_sub(holders(free_limit));
            described + size.saturating_sub(free_limit).saturating_sub(overhead)
        };
        let mut size = size.next_multiple_of(extent);
        while available(size) < wanted {
            size += extent;
        }
        if size > self.size() && available(self.size()) < wanted {
            self.grow(size, growth)?;
        }
        tablespace.reserved_pages().fetch_add(needed, Ordering::Relaxed);
        Ok(needed)
    }
}

impl Extent {
    /// The address that lists use for it.
    pub fn node(self) -> Address {
        Address::new(self.holder, (self.descriptor + layout::EXTENT_NODE) as u16)
    }
}
