//! The frame of every page: 38 bytes of header, 8 of trailer.
//!
//! ```text
//! offset  bytes
//!      0      4  checksum
//!      4      4  page number
//!      8      4  previous page of the same level, or NULL
//!     12      4  next page of the same level, or NULL
//!     16      8  LSN of the newest change
//!     24      2  page type
//!     26      8  zero; in a compressed page its envelope, see `transform`
//!     34      4  space id
//!     38         body
//!   PS-8      4  checksum again
//!   PS-4      4  low half of the LSN again
//! ```
//!
//! Invariants:
//!
//! * On disk both checksums and both LSN halves agree; in memory they are stale until [`seal`].
//! * The checksum leaves out bytes 26 to 38. So [`verify`] compares each of them with what it must be: zero, and the
//!   tablespace that was asked for (`page_io::every_byte_that_is_stored_is_judged`).
//! * A page of zeros was never written. It has no checksum and is not an error by itself; the caller knows whether such
//!   a page may be there.

use super::{get_u16, get_u32, get_u64, put_u16, put_u32, put_u64};
use crate::checksum;
use crate::error::{Error, Result};
use crate::ids::{Lsn, PageId, PageNo, SpaceId};

pub const CHECKSUM: usize = 0;
pub const PAGE_NO: usize = 4;
pub const PREV: usize = 8;
pub const NEXT: usize = 12;
pub const LSN: usize = 16;
pub const TYPE: usize = 24;
/// The eight bytes that a compressed page uses for its envelope.
pub const TRANSFORM: usize = 26;
pub const SPACE_ID: usize = 34;
/// Where the body begins.
pub const BODY: usize = 38;
/// Bytes behind the body.
pub const TRAILER_BYTES: usize = 8;

const _: () = assert!(SPACE_ID == TRANSFORM + 8 && BODY == SPACE_ID + 4);

/// What a page holds: the 16-bit number at [`TYPE`]. An open set, for files of other servers have their own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PageType(pub u16);

impl PageType {
    /// Freshly allocated, without content.
    pub const ALLOCATED: PageType = PageType(0);
    pub const UNDO_LOG: PageType = PageType(2);
    pub const INODE: PageType = PageType(3);
    pub const IBUF_FREE_LIST: PageType = PageType(4);
    pub const IBUF_BITMAP: PageType = PageType(5);
    pub const SYS: PageType = PageType(6);
    pub const TRX_SYS: PageType = PageType(7);
    /// Page 0 of a tablespace.
    pub const FSP_HDR: PageType = PageType(8);
    /// Extent descriptors, every page-size pages.
    pub const XDES: PageType = PageType(9);
    /// A piece of a long value.
    pub const BLOB: PageType = PageType(10);
    pub const ZBLOB: PageType = PageType(11);
    pub const ZBLOB2: PageType = PageType(12);
    pub const UNKNOWN: PageType = PageType(13);
    /// Stored compressed: the type before compression is in the envelope.
    pub const COMPRESSED: PageType = PageType(14);
    pub const ENCRYPTED: PageType = PageType(15);
    pub const COMPRESSED_AND_ENCRYPTED: PageType = PageType(16);
    pub const ENCRYPTED_RTREE: PageType = PageType(17);
    /// MySQL 8.0: overflow of serialised dictionary information. MariaDB: a root after instant ALTER.
    pub const SDI_BLOB: PageType = PageType(18);
    pub const SDI_ZBLOB: PageType = PageType(19);
    pub const LEGACY_DOUBLEWRITE: PageType = PageType(20);
    pub const RSEG_ARRAY: PageType = PageType(21);
    pub const LOB_INDEX: PageType = PageType(22);
    pub const LOB_DATA: PageType = PageType(23);
    pub const LOB_FIRST: PageType = PageType(24);
    /// B+tree of MySQL 8.0's serialised dictionary information.
    pub const SDI: PageType = PageType(17853);
    pub const RTREE: PageType = PageType(17854);
    pub const INDEX: PageType = PageType(17855);
    /// MariaDB's root of an index of which the columns were changed at once; the number is that of [`PageType::SDI_BLOB`].
    pub const MARIADB_INSTANT: PageType = PageType(18);
    /// MariaDB's PAGE_COMPRESSED=1, in files without full_crc32.
    pub const MARIADB_COMPRESSED: PageType = PageType(34354);
    pub const MARIADB_COMPRESSED_AND_ENCRYPTED: PageType = PageType(37401);

    /// MySQL's name of the type, or "?".
    pub fn name(self) -> &'static str {
        match self.0 {
            0 => "ALLOCATED",
            2 => "UNDO_LOG",
            3 => "INODE",
            4 => "IBUF_FREE_LIST",
            5 => "IBUF_BITMAP",
            6 => "SYS",
            7 => "TRX_SYS",
            8 => "FSP_HDR",
            9 => "XDES",
            10 => "BLOB",
            11 => "ZBLOB",
            12 => "ZBLOB2",
            13 => "UNKNOWN",
            14 => "COMPRESSED",
            15 => "ENCRYPTED",
            16 => "COMPRESSED_AND_ENCRYPTED",
            17 => "ENCRYPTED_RTREE",
            18 => "SDI_BLOB",
            19 => "SDI_ZBLOB",
            20 => "LEGACY_DBLWR",
            21 => "RSEG_ARRAY",
            22 => "LOB_INDEX",
            23 => "LOB_DATA",
            24 => "LOB_FIRST",
            25 => "ZLOB_FIRST",
            26 => "ZLOB_DATA",
            27 => "ZLOB_INDEX",
            28 => "ZLOB_FRAG",
            29 => "ZLOB_FRAG_ENTRY",
            17853 => "SDI",
            17854 => "RTREE",
            17855 => "INDEX",
            34354 => "PAGE_COMPRESSED",
            37401 => "PAGE_COMPRESSED_ENCRYPTED",
            _ => "?",
        }
    }

    /// Whether pages of this type hold records in a B+tree.
    pub fn is_index(self) -> bool {
        matches!(self, PageType::INDEX | PageType::RTREE | PageType::SDI)
    }
}

impl std::fmt::Display for PageType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.name() {
            "?" => write!(f, "type {}", self.0),
            name => f.pad(name),
        }
    }
}

#[inline]
pub fn checksum(page: &[u8]) -> u32 {
    get_u32(page, CHECKSUM)
}

#[inline]
pub fn page_no(page: &[u8]) -> PageNo {
    PageNo(get_u32(page, PAGE_NO))
}

#[inline]
pub fn space_id(page: &[u8]) -> SpaceId {
    SpaceId(get_u32(page, SPACE_ID))
}

#[inline]
pub fn page_id(page: &[u8]) -> PageId {
    PageId { space: space_id(page), page: page_no(page) }
}

#[inline]
pub fn prev(page: &[u8]) -> PageNo {
    PageNo(get_u32(page, PREV))
}

#[inline]
pub fn next(page: &[u8]) -> PageNo {
    PageNo(get_u32(page, NEXT))
}

#[inline]
pub fn lsn(page: &[u8]) -> Lsn {
    Lsn(get_u64(page, LSN))
}

#[inline]
pub fn page_type(page: &[u8]) -> PageType {
    PageType(get_u16(page, TYPE))
}

/// Stamps the LSN of the newest change. Only the mini-transaction and recovery do that.
#[inline]
pub fn set_lsn(page: &mut [u8], lsn: Lsn) {
    put_u64(page, LSN, lsn.0);
}

#[inline]
pub fn set_page_type(page: &mut [u8], page_type: PageType) {
    put_u16(page, TYPE, page_type.0);
}

/// Writes an empty page of a type: all zero but for its header, without neighbours.
pub fn init(page: &mut [u8], id: PageId, page_type: PageType) {
    page.fill(0);
    put_u32(page, PAGE_NO, id.page.0);
    put_u32(page, PREV, PageNo::NULL.0);
    put_u32(page, NEXT, PageNo::NULL.0);
    put_u16(page, TYPE, page_type.0);
    put_u32(page, SPACE_ID, id.space.0);
}

/// Whether the page was never written.
#[inline]
pub fn is_zero(page: &[u8]) -> bool {
    // The first bytes decide in nearly all cases; the rest is compared in words by the compiler.
    page[..BODY].iter().all(|&byte| byte == 0) && page[BODY..].iter().all(|&byte| byte == 0)
}

/// Makes a page ready for disk: LSN into header and trailer, checksum into both.
pub fn seal(page: &mut [u8], lsn: Lsn) {
    let trailer = page.len() - TRAILER_BYTES;
    put_u64(page, LSN, lsn.0);
    put_u32(page, trailer + 4, lsn.0 as u32);
    let sum = checksum::page_crc32(page);
    put_u32(page, CHECKSUM, sum);
    put_u32(page, trailer, sum);
}

/// Checks what [`seal`] wrote, and that the page is the one asked for.
///
/// A compressed page has to be decoded first. A page of zeros does not pass.
pub fn verify(page: &[u8], id: PageId) -> Result<()> {
    verify_checksum(page)?;
    if page_no(page) != id.page {
        return Err(Error::corrupt("another page's number", PAGE_NO));
    }
    if space_id(page) != id.space {
        return Err(Error::corrupt("another tablespace's page", SPACE_ID));
    }
    match get_u64(page, TRANSFORM) {
        0 => Ok(()),
        _ => Err(Error::corrupt("bytes of the header that have no meaning in a plain page", TRANSFORM)),
    }
}

/// The half of [`verify`] that does not know which page was asked for.
pub fn verify_checksum(page: &[u8]) -> Result<()> {
    let trailer = page.len() - TRAILER_BYTES;
    if get_u32(page, LSN + 4) != get_u32(page, trailer + 4) {
        return Err(Error::corrupt("the LSN in header and trailer differ", trailer + 4));
    }
    let sum = checksum::page_crc32(page);
    if get_u32(page, CHECKSUM) != sum {
        return Err(Error::corrupt("checksum", CHECKSUM));
    }
    if get_u32(page, trailer) != sum {
        return Err(Error::corrupt("checksum", trailer));
    }
    Ok(())
}

/// The same for a page of a server that may use other checksums; `full_crc32`: as the file's flags say.
pub fn verify_any_checksum(page: &[u8], full_crc32: bool) -> Result<()> {
    let trailer = page.len() - TRAILER_BYTES;
    if full_crc32 {
        return match get_u32(page, trailer + 4) == checksum::page_full_crc32(page) {
            true => Ok(()),
            false => Err(Error::corrupt("checksum", trailer + 4)),
        };
    }
    let (first, second) = (get_u32(page, CHECKSUM), get_u32(page, trailer));
    let same_lsn = get_u32(page, LSN + 4) == get_u32(page, trailer + 4);
    let older = (first, second) == (checksum::NONE, checksum::NONE) || (first, second) == checksum::page_innodb(page);
    if same_lsn && older { Ok(()) } else { verify_checksum(page) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sealed_page_verifies_and_damage_does_not() {
        let id = PageId::new(SpaceId(7), PageNo(3));
        let mut page = vec![0; 16384];
        assert!(is_zero(&page));
        init(&mut page, id, PageType::INDEX);
        page[100..200].fill(0xAB);
        seal(&mut page, Lsn(0x1_2345_6789));
        assert!(!is_zero(&page));
        assert_eq!(verify(&page, id), Ok(()));
        assert_eq!(lsn(&page), Lsn(0x1_2345_6789));
        assert!(verify(&page, PageId::new(SpaceId(8), PageNo(3))).is_err());
        assert!(verify(&page, PageId::new(SpaceId(7), PageNo(4))).is_err());
        for at in [0, 5, 16, 24, 26, 30, 33, 34, 37, 150, 16383 - 8, 16376, 16383] {
            page[at] ^= 0x10;
            assert!(verify(&page, id).is_err(), "byte {at}");
            page[at] ^= 0x10;
        }
        assert_eq!(verify(&page, id), Ok(()));
    }
}
