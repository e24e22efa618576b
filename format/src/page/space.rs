//! The bookkeeping pages of a tablespace: which extents and pages are in use, and by which segment.
//!
//! A file is cut into extents of 64 pages (at least 1 MiB). Page 0 describes the file and its first extents; every
//! page-size pages there is another page of descriptors. A *segment* owns pages that belong together (the leaves of an
//! index, say): first up to 32 single pages of shared extents, then whole extents. It is described by an inode.
//!
//! ```text
//! page 0 (and each k x PS, then without the header; k x PS + 1 is a bitmap page)
//!     38  4  space id                                  94 16  list of full shared extents
//!     42  4  unused                                   110  8  next unused segment id
//!     46  4  size in pages                            118 16  list of inode pages that are full
//!     50  4  free limit: first page without descriptor 134 16 list of inode pages with room
//!     54  4  flags                                    150     extent descriptors
//!     58  4  used pages in shared extents with room
//!     62 16  list of free extents
//!     78 16  list of shared extents with room
//!
//! extent descriptor, 40 bytes (56 with 8K pages, 88 with 4K)
//!      0  8  segment that owns it, 0 if none
//!      8 12  list node
//!     20  4  state: 1 free, 2 shared with room, 3 shared and full, 4 owned by a segment
//!     24     two bits per page, lowest first: free, clean (always 1)
//!
//! inode page (page 2 is the first)
//!     38 12  list node
//!     50     inodes
//!
//! inode, 192 bytes (320 with 8K pages, 576 with 4K)
//!      0  8  segment id, 0 if the inode is unused
//!      8  4  used pages in the extents of the middle list
//!     12 16  list of its extents without a used page
//!     28 16  list of its extents with some used pages
//!     44 16  list of its full extents
//!     60  4  magic
//!     64     single pages: 4 bytes each, NULL if unused
//!
//! file address, 6          list node, 12            list base, 16           segment header, 10
//!      0  4  page               0  6  previous           0  4  length            0  4  space id
//!      4  2  offset             6  6  next               4  6  first             4  4  inode's page
//!      (NULL, 0 = none)                                 10  6  last              8  2  inode's offset
//! ```
//!
//! Addresses in extent lists are those of the descriptors' list nodes; addresses in inode page lists end in 38.

use super::{get_u16, get_u32, get_u64};
use crate::ids::{PageNo, SpaceId};

// Page 0.

pub const SPACE: usize = 38;
pub const SIZE: usize = 46;
pub const FREE_LIMIT: usize = 50;
pub const FLAGS: usize = 54;
pub const FRAGMENT_USED: usize = 58;
pub const FREE_LIST: usize = 62;
pub const FREE_FRAGMENT_LIST: usize = 78;
pub const FULL_FRAGMENT_LIST: usize = 94;
pub const NEXT_SEGMENT_ID: usize = 110;
pub const INODES_FULL_LIST: usize = 118;
pub const INODES_FREE_LIST: usize = 134;
/// Where extent descriptors begin, on page 0 and on every other descriptor page.
pub const DESCRIPTORS: usize = 150;

// Extent descriptor.

pub const EXTENT_SEGMENT: usize = 0;
pub const EXTENT_NODE: usize = 8;
pub const EXTENT_STATE: usize = 20;
pub const EXTENT_BITMAP: usize = 24;

/// Values of [`EXTENT_STATE`].
pub const STATE_NONE: u32 = 0;
pub const STATE_FREE: u32 = 1;
pub const STATE_FREE_FRAGMENT: u32 = 2;
pub const STATE_FULL_FRAGMENT: u32 = 3;
pub const STATE_SEGMENT: u32 = 4;

// Inode pages and inodes.

pub const INODE_PAGE_NODE: usize = 38;
pub const INODES: usize = 50;
pub const INODE_SEGMENT_ID: usize = 0;
pub const INODE_NOT_FULL_USED: usize = 8;
pub const INODE_FREE_LIST: usize = 12;
pub const INODE_NOT_FULL_LIST: usize = 28;
pub const INODE_FULL_LIST: usize = 44;
pub const INODE_MAGIC: usize = 60;
pub const INODE_FRAGMENTS: usize = 64;
pub const INODE_MAGIC_VALUE: u32 = 97_937_874;

pub const ADDRESS_BYTES: usize = 6;
pub const NODE_BYTES: usize = 12;
pub const BASE_BYTES: usize = 16;
pub const SEGMENT_HEADER_BYTES: usize = 10;

/// The pages that each tablespace of a table begins with.
pub const HEADER_PAGE: PageNo = PageNo(0);
pub const BITMAP_PAGE: PageNo = PageNo(1);
pub const INODE_PAGE: PageNo = PageNo(2);
/// Where the first index of a file has its root: an import into MariaDB looks for it here.
pub const ROOT_PAGE: PageNo = PageNo(3);

const _: () = assert!(INODES_FREE_LIST + BASE_BYTES == DESCRIPTORS);
const _: () = assert!(INODE_FULL_LIST + BASE_BYTES == INODE_MAGIC && INODE_PAGE_NODE + NODE_BYTES == INODES);
const _: () = assert!(EXTENT_NODE + NODE_BYTES == EXTENT_STATE);

/// Pages of an extent.
#[inline]
pub const fn extent_pages(page_bytes: usize) -> usize {
    if page_bytes < 16384 { (1 << 20) / page_bytes } else { 64 }
}

/// Bytes of an extent descriptor.
#[inline]
pub const fn descriptor_bytes(page_bytes: usize) -> usize {
    EXTENT_BITMAP + extent_pages(page_bytes) / 4
}

/// Descriptors on a descriptor page.
#[inline]
pub const fn descriptors_per_page(page_bytes: usize) -> usize {
    page_bytes / extent_pages(page_bytes)
}

/// Single pages that a segment may have before it is given extents.
#[inline]
pub const fn inode_fragments(page_bytes: usize) -> usize {
    extent_pages(page_bytes) / 2
}

#[inline]
pub const fn inode_bytes(page_bytes: usize) -> usize {
    INODE_FRAGMENTS + inode_fragments(page_bytes) * 4
}

#[inline]
pub const fn inodes_per_page(page_bytes: usize) -> usize {
    (page_bytes - INODES - 10) / inode_bytes(page_bytes)
}

const _: () = assert!(descriptor_bytes(16384) == 40 && descriptor_bytes(8192) == 56 && descriptor_bytes(4096) == 88);
const _: () = assert!(inode_bytes(65536) == 192 && inode_bytes(8192) == 320 && inode_bytes(4096) == 576);
const _: () = assert!(inodes_per_page(16384) == 85 && descriptors_per_page(16384) == 256);

/// The page that holds the descriptor of the extent of `page`.
#[inline]
pub const fn descriptor_page(page_bytes: usize, page: PageNo) -> PageNo {
    PageNo(page.0 & !(page_bytes as u32 - 1))
}

/// Where on its descriptor page the descriptor of the extent of `page` begins.
#[inline]
pub const fn descriptor_offset(page_bytes: usize, page: PageNo) -> usize {
    let extent = (page.0 as usize & (page_bytes - 1)) / extent_pages(page_bytes);
    DESCRIPTORS + extent * descriptor_bytes(page_bytes)
}

/// The first page of the extent whose descriptor's list node is at `offset` of descriptor page `page`; `None` if no
/// descriptor has its node there.
#[inline]
pub fn extent_of_node(page_bytes: usize, page: PageNo, offset: u16) -> Option<PageNo> {
    let from_first = usize::from(offset).checked_sub(DESCRIPTORS + EXTENT_NODE)?;
    let extent = from_first / descriptor_bytes(page_bytes);
    if from_first % descriptor_bytes(page_bytes) != 0 || extent >= descriptors_per_page(page_bytes) {
        return None;
    }
    page.0.checked_add((extent * extent_pages(page_bytes)) as u32).map(PageNo)
}

/// Where inode number `slot` of an inode page begins.
#[inline]
pub const fn inode_offset(page_bytes: usize, slot: usize) -> usize {
    INODES + slot * inode_bytes(page_bytes)
}

/// Whether the page is free, as the extent descriptor at `descriptor` says; `index` counts pages within the extent.
#[inline]
pub fn is_page_free(page: &[u8], descriptor: usize, index: usize) -> bool {
    page[descriptor + EXTENT_BITMAP + index / 4] >> (index % 4 * 2) & 1 == 1
}

/// The byte of the descriptor's bitmap that covers page `index` of the extent (its offset from the descriptor), and its
/// mask for the free bit.
#[inline]
pub const fn free_bit(index: usize) -> (usize, u8) {
    (EXTENT_BITMAP + index / 4, 1 << (index % 4 * 2))
}

/// Pages in use in an extent.
#[inline]
pub fn used_pages(page: &[u8], descriptor: usize, page_bytes: usize) -> usize {
    let bitmap = descriptor + EXTENT_BITMAP;
    let free: u32 =
        page[bitmap..bitmap + extent_pages(page_bytes) / 4].iter().map(|byte| (byte & 0x55).count_ones()).sum();
    extent_pages(page_bytes) - free as usize
}

/// The first free page of an extent at or behind `from`, counted within the extent, else the first free at all.
#[inline]
pub fn find_free(page: &[u8], descriptor: usize, page_bytes: usize, from: usize) -> Option<usize> {
    let pages = extent_pages(page_bytes);
    (from..pages).chain(0..from.min(pages)).find(|&index| is_page_free(page, descriptor, index))
}

/// A place in a tablespace: how lists link their nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Address {
    pub page: PageNo,
    pub offset: u16,
}

impl Address {
    pub const NULL: Address = Address { page: PageNo::NULL, offset: 0 };

    #[inline]
    pub const fn new(page: PageNo, offset: u16) -> Address {
        Address { page, offset }
    }

    #[inline]
    pub const fn is_null(self) -> bool {
        self.page.is_null()
    }

    #[inline]
    pub fn read(page: &[u8], at: usize) -> Address {
        Address { page: PageNo(get_u32(page, at)), offset: get_u16(page, at + 4) }
    }

    #[inline]
    pub fn to_bytes(self) -> [u8; ADDRESS_BYTES] {
        let mut out = [0; ADDRESS_BYTES];
        out[..4].copy_from_slice(&self.page.0.to_be_bytes());
        out[4..].copy_from_slice(&self.offset.to_be_bytes());
        out
    }
}

/// A list node: the neighbours of a list member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Node {
    pub prev: Address,
    pub next: Address,
}

impl Node {
    #[inline]
    pub fn read(page: &[u8], at: usize) -> Node {
        Node { prev: Address::read(page, at), next: Address::read(page, at + ADDRESS_BYTES) }
    }

    #[inline]
    pub fn to_bytes(self) -> [u8; NODE_BYTES] {
        let mut out = [0; NODE_BYTES];
        out[..6].copy_from_slice(&self.prev.to_bytes());
        out[6..].copy_from_slice(&self.next.to_bytes());
        out
    }
}

/// A list's base: its length and both ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Base {
    pub length: u32,
    pub first: Address,
    pub last: Address,
}

impl Base {
    pub const EMPTY: Base = Base { length: 0, first: Address::NULL, last: Address::NULL };

    #[inline]
    pub fn read(page: &[u8], at: usize) -> Base {
        Base {
            length: get_u32(page, at),
            first: Address::read(page, at + 4),
            last: Address::read(page, at + 4 + ADDRESS_BYTES),
        }
    }

    #[inline]
    pub fn to_bytes(self) -> [u8; BASE_BYTES] {
        let mut out = [0; BASE_BYTES];
        out[..4].copy_from_slice(&self.length.to_be_bytes());
        out[4..10].copy_from_slice(&self.first.to_bytes());
        out[10..].copy_from_slice(&self.last.to_bytes());
        out
    }
}

/// Where the inode of a segment is: what the owner of a segment keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SegmentHeader {
    pub space: SpaceId,
    pub inode: Address,
}

impl SegmentHeader {
    #[inline]
    pub fn read(page: &[u8], at: usize) -> SegmentHeader {
        SegmentHeader { space: SpaceId(get_u32(page, at)), inode: Address::read(page, at + 4) }
    }

    #[inline]
    pub fn to_bytes(self) -> [u8; SEGMENT_HEADER_BYTES] {
        let mut out = [0; SEGMENT_HEADER_BYTES];
        out[..4].copy_from_slice(&self.space.0.to_be_bytes());
        out[4..].copy_from_slice(&self.inode.to_bytes());
        out
    }
}

/// The file's size in pages, as page 0 says.
#[inline]
pub fn size(page: &[u8]) -> u32 {
    get_u32(page, SIZE)
}

#[inline]
pub fn free_limit(page: &[u8]) -> u32 {
    get_u32(page, FREE_LIMIT)
}

#[inline]
pub fn flags(page: &[u8]) -> Flags {
    Flags(get_u32(page, FLAGS))
}

#[inline]
pub fn next_segment_id(page: &[u8]) -> u64 {
    get_u64(page, NEXT_SEGMENT_ID)
}

/// The flags of a tablespace, on page 0.
///
/// ```text
/// MySQL, and MariaDB's crc32 files        MariaDB's full_crc32 files
///   0    not REDUNDANT or COMPACT           0-3  page size: 512 << n, also for 16K
///   1-4  ROW_FORMAT=COMPRESSED: 512 << n    4    marker
///   5    long values leave 20 bytes         5-7  compression algorithm
///   6-9  page size: 512 << n, 0 = 16K
///  10    DATA DIRECTORY
///  11    shared tablespace
///  12    temporary
///  13    encrypted
///  14    has serialised dictionary information (MySQL 8.0)
///  16    PAGE_COMPRESSED (MariaDB)
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags(pub u32);

impl Flags {
    /// What our tables carry: DYNAMIC rows, as MySQL 5.7 writes.
    pub const fn dynamic(page_bytes: usize) -> Flags {
        let size = match page_bytes {
            16384 => 0,
            _ => page_bytes.trailing_zeros() - 9,
        };
        Flags(1 | 1 << 5 | size << 6)
    }

    /// The same for a file whose pages are encrypted.
    pub const fn encrypted(self) -> Flags {
        Flags(self.0 | Flags::ENCRYPTED)
    }

    /// The opposite.
    pub const fn plain(self) -> Flags {
        Flags(self.0 & !Flags::ENCRYPTED)
    }

    const ENCRYPTED: u32 = 1 << 13;

    pub const fn is_encrypted(self) -> bool {
        !self.is_full_crc32() && self.0 & Flags::ENCRYPTED != 0
    }

    /// Whether the file is one of MariaDB's with full_crc32 checksums.
    pub const fn is_full_crc32(self) -> bool {
        self.0 & 0x10 != 0 && matches!(self.0 & 0xF, 3..=7)
    }

    /// The logical page size, if the flags make sense.
    pub const fn page_bytes(self) -> Option<usize> {
        let shift = if self.is_full_crc32() { self.0 & 0xF } else { self.0 >> 6 & 0xF };
        match shift {
            0 if !self.is_full_crc32() => Some(16384),
            3..=7 => Some(512 << shift),
            _ => None,
        }
    }

    /// The size of a page in the file: smaller than the logical one with ROW_FORMAT=COMPRESSED.
    pub const fn physical_page_bytes(self) -> Option<usize> {
        if !self.is_full_crc32() && self.0 >> 1 & 0xF != 0 {
            let shift = self.0 >> 1 & 0xF;
            return if shift <= 5 { Some(512 << shift) } else { None };
        }
        self.page_bytes()
    }

    /// Whether rows are stored with ROW_FORMAT=COMPRESSED.
    pub const fn is_row_compressed(self) -> bool {
        !self.is_full_crc32() && self.0 >> 1 & 0xF != 0
    }

    /// Whether the file holds serialised dictionary information.
    pub const fn has_sdi(self) -> bool {
        !self.is_full_crc32() && self.0 >> 14 & 1 == 1
    }

    /// The compression algorithm of a full_crc32 file, by MariaDB's numbers.
    pub const fn full_crc32_algorithm(self) -> u8 {
        (self.0 >> 5 & 7) as u8
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_those_of_real_servers() {
        assert_eq!(Flags::dynamic(16384), Flags(0x21));
        assert_eq!(Flags::dynamic(4096), Flags(0xE1));
        assert_eq!(Flags::dynamic(65536), Flags(0x1E1));
        for size in super::super::SIZES {
            assert_eq!(Flags::dynamic(size).page_bytes(), Some(size));
            assert_eq!(Flags::dynamic(size).physical_page_bytes(), Some(size));
        }
        assert!(Flags(0x4021).has_sdi());
        assert_eq!(Flags(0x29).physical_page_bytes(), Some(8192));
        assert!(Flags(0x15).is_full_crc32() && !Flags(0x21).is_full_crc32());
        assert_eq!(Flags(0x15).page_bytes(), Some(16384));
        assert_eq!(Flags(0x35).full_crc32_algorithm(), 1);
        assert_eq!(Flags(0xFFFF_FFFF).page_bytes(), None);
    }

    #[test]
    fn descriptors_are_found_from_both_sides() {
        assert_eq!(descriptor_page(16384, PageNo(16383)), PageNo(0));
        assert_eq!(descriptor_page(16384, PageNo(16385)), PageNo(16384));
        assert_eq!(descriptor_offset(16384, PageNo(130)), 150 + 2 * 40);
        assert_eq!(extent_of_node(16384, PageNo(16384), 158 + 40), Some(PageNo(16384 + 64)));
        assert_eq!(extent_of_node(16384, PageNo(0), 159), None);
        assert_eq!(extent_of_node(16384, PageNo(0), 100), None);
    }

    #[test]
    fn a_used_page_has_the_bits_of_real_files() {
        // The first four pages used: AA, then FF.
        let mut page = vec![0xFF; 16384];
        page[DESCRIPTORS + EXTENT_BITMAP] = 0xAA;
        assert_eq!(used_pages(&page, DESCRIPTORS, 16384), 4);
        assert!(!is_page_free(&page, DESCRIPTORS, 3) && is_page_free(&page, DESCRIPTORS, 4));
        assert_eq!(find_free(&page, DESCRIPTORS, 16384, 0), Some(4));
        assert_eq!(find_free(&page, DESCRIPTORS, 16384, 9), Some(9));
        assert_eq!(free_bit(3), (24, 0x40));
    }
}
