//! Segments: which pages of a tablespace belong to which tree or undo log, in InnoDB's layout (`format::page::space`
//! draws the bytes).
//!
//! An index has two segments, one for its leaves and one for the rest, so that the leaves lie together. A segment first
//! takes single pages from extents that it shares with others, then, once it has 32 of them, whole extents.
//!
//! ```text
//!  tablespace:   free extents --> shared with room <--> shared and full          page 0
//!                     |  ^              |  ^
//!                     v  |              v  | single pages (up to 32)
//!  segment:       free --> some used <--> full                                   its inode
//! ```
//!
//! [`space`] allocates extents and single pages, [`inode`] distributes them within a segment, [`crate::list`] links the
//! extents' descriptors, [`survey`] reads it all back for the checker, [`release`] returns the blocks of freed pages to
//! the filesystem, [`shrink`] truncates the free end of a file.
//!
//! Invariants:
//!
//! * A thread that reads or changes any of this has latched page 0 of the tablespace exclusively: that is the
//!   tablespace's latch. So descriptor and inode pages need no order among themselves. It comes after all tree pages in
//!   the latch order; only fresh pages, which no other thread can wait for, come after it.
//! * A page is free in its extent's bitmap, or it belongs to exactly one segment, or it is one of the fixed pages (0, 1
//!   and their counterparts every page-size pages, and inode pages).
//! * Pages are reserved in a mini-transaction of its own ([`reserve`]), so that no file grows while pages of a tree are
//!   latched. If an allocation fails all the same (a damaged descriptor), the mini-transaction reverts it.

mod inode;

mod space;

mod release;

mod shrink;

pub mod survey;

use std::sync::Arc;
use std::sync::atomic::Ordering;

use format::ids::{PageId, PageNo, SpaceId};
use format::page::header::PageType;
use format::page::space::{self as layout, Address, Base, Flags, SEGMENT_HEADER_BYTES, SegmentHeader};

use self::inode::Inode;
use self::space::Space;
use crate::error::Result;
use crate::mtr::{Mtr, PageHandle};
use crate::store::{Store, Tablespace};
use crate::tablespace::Growth;

pub use release::{is_free, release_step};
pub use shrink::{describe_less, shorten};

/// Where a segment's inode lies: the 10-byte segment header of InnoDB (space 4, page 4, offset 2), as a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Segment {
    pub space: SpaceId,
    pub inode_page: PageNo,
    pub inode_offset: u16,
}

/// Where the next pages of the segment are likely to go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    Up,
    Down,
    None,
}

impl Segment {
    pub const HEADER_BYTES: usize = SEGMENT_HEADER_BYTES;

    /// Reads a segment header at `offset` of a page. None if it is zero.
    pub fn read(page: &[u8], offset: usize) -> Option<Segment> {
        let SegmentHeader { space, inode } = SegmentHeader::read(page, offset);
        let set = inode.offset != 0 && !inode.is_null();
        set.then_some(Segment { space, inode_page: inode.page, inode_offset: inode.offset })
    }

    pub fn to_bytes(self) -> [u8; 10] {
        SegmentHeader { space: self.space, inode: self.address() }.to_bytes()
    }

    fn address(self) -> Address {
        Address::new(self.inode_page, self.inode_offset)
    }
}

/// Makes the fixed pages of a new tablespace: 0 (FSP_HDR), 1 (IBUF_BITMAP), 2 (INODE). `flags` as in the FSP header:
/// [`space_flags`]. The first page allocated afterwards is page 3.
pub fn init_space(mtr: &mut Mtr<'_>, space: SpaceId, flags: u32) -> Result<()> {
    Space::init(mtr, space, flags)
}

/// FSP flags of a DYNAMIC tablespace with this page size.
pub fn space_flags(page_bytes: usize) -> u32 {
    Flags::dynamic(page_bytes).0
}

/// Room for some pages, so that allocating them cannot fail half way. Releases the unused rest when dropped.
#[must_use]
pub struct Reservation {
    space: Arc<Tablespace>,
    pages: u32,
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.space.reserved_pages().fetch_sub(self.pages, Ordering::Relaxed);
    }
}

/// Makes sure that `pages` pages can be allocated, extending the file if need be (DiskFull if it cannot). Runs a
/// mini-transaction of its own, so the caller holds no latch in this tablespace.
pub fn reserve(store: &Store, space: SpaceId, pages: u32) -> Result<Reservation> {
    make_room(store, space, pages, Growth::Reserved)
}

/// The same for undoing: on a full disk the file grows without blocks, and its new pages stay in the buffer pool until
/// there is room for them.
pub fn insist(store: &Store, space: SpaceId, pages: u32) -> Result<Reservation> {
    make_room(store, space, pages, Growth::Sparse)
}

fn make_room(store: &Store, space: SpaceId, pages: u32, growth: Growth) -> Result<Reservation> {
    let tablespace = store.space(space).ok_or_else(|| crate::Error::NotFound(format!("tablespace {space}").into()))?;
    let mut mtr = Mtr::begin(store);
    let pages = Space::latch(&mut mtr, space)?.reserve(&tablespace, pages, growth)?;
    mtr.commit();
    Ok(Reservation { space: tablespace, pages })
}

/// Makes a new segment without pages.
pub fn create(mtr: &mut Mtr<'_>, space: SpaceId) -> Result<Segment> {
    let address = Inode::create(&mut Space::latch(mtr, space)?)?;
    Ok(Segment { space, inode_page: address.page, inode_offset: address.offset })
}

/// Allocates a page, near `hint` if that is possible. Returned exclusively latched, all zero (see `Mtr::latch_new`): the
/// caller initialises it.
pub fn allocate_page(mtr: &mut Mtr<'_>, segment: Segment, hint: PageNo, direction: Direction) -> Result<PageHandle> {
    let mut space = Space::latch(mtr, segment.space)?;
    let page = Inode::open(&mut space, segment.address())?.allocate(&mut space, hint, direction)?;
    space.latch_fresh(page)
}

/// Gives a page back. The caller does not touch it any more in this mini-transaction.
pub fn free_page(mtr: &mut Mtr<'_>, segment: Segment, page: PageNo) -> Result<()> {
    let mut space = Space::latch(mtr, segment.space)?;
    Inode::open(&mut space, segment.address())?.free(&mut space, page)
}

/// Frees a bounded part of the segment; true when nothing is left and the inode itself is free. Call in a loop with a
/// fresh mini-transaction each.
pub fn drop_step(mtr: &mut Mtr<'_>, segment: Segment) -> Result<bool> {
    let mut space = Space::latch(mtr, segment.space)?;
    Inode::open(&mut space, segment.address())?.drop_step(&mut space)
}

/// Pages of a segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SegmentPages {
    /// Pages in use.
    pub used: u64,
    /// Pages in use and pages of its extents that wait for use.
    pub reserved: u64,
}

pub fn pages(mtr: &mut Mtr<'_>, segment: Segment) -> Result<SegmentPages> {
    let mut space = Space::latch(mtr, segment.space)?;
    let inode = Inode::open(&mut space, segment.address())?;
    Ok(SegmentPages { used: inode.used(&space), reserved: inode.reserved(&space) })
}

/// Bytes that can be allocated without extending the file: its free extents, and those that were never given out.
pub fn free_bytes(store: &Store, space: SpaceId) -> Result<u64> {
    let page = store.read(PageId::new(space, PageNo(0)))?;
    let page_bytes = store.page_bytes() as u64;
    let extent_pages = layout::extent_pages(store.page_bytes()) as u64;
    let free = u64::from(Base::read(&page, layout::FREE_LIST).length);
    let fresh = u64::from(layout::size(&page).saturating_sub(layout::free_limit(&page))) / extent_pages;
    Ok((free + fresh) * extent_pages * page_bytes)
}

/// What a fixed page is initialised as.
const FIXED_TYPES: [PageType; 3] = [PageType::FSP_HDR, PageType::IBUF_BITMAP, PageType::INODE];

#[cfg(test)]
mod tests;
