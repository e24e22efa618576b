//! Long values: the pages that hold them and the reference that a row keeps.
//!
//! A value too long for its record lies in a chain of pages of type BLOB (the form of MySQL 5.7 and MariaDB):
//!
//! ```text
//! offset  bytes
//!     38      4  bytes of the value on this page
//!     42      4  next page of the chain, NULL at the end
//!     46         the bytes, at most PS - 54
//! ```
//!
//! The record keeps, as the last 20 bytes of its field, a reference; DYNAMIC rows keep nothing else:
//!
//! ```text
//!      0      4  space id
//!      4      4  first page of the chain
//!      8      4  offset on that page where the part length is (38)
//!     12      8  length; its top byte holds flags: 0x80 this record does not own the chain,
//!                0x40 inherited from an older version
//! ```

use super::{get_u32, get_u64};
use crate::error::{Error, Result};
use crate::ids::{PageNo, SpaceId};

pub const PART_BYTES: usize = 38;
pub const NEXT: usize = 42;
pub const DATA: usize = 46;

/// Bytes of a reference.
pub const REFERENCE_BYTES: usize = 20;

/// Set in the top byte of the length: the chain belongs to another version of the row.
pub const NOT_OWNER: u8 = 0x80;
/// Set in the top byte of the length: the chain was made by an older version of the row.
pub const INHERITED: u8 = 0x40;

/// Bytes of a value that one page can take.
#[inline]
pub const fn capacity(page_bytes: usize) -> usize {
    page_bytes - DATA - super::header::TRAILER_BYTES
}

/// The part of a value on a page of a chain, and the next page.
pub fn part(page: &[u8]) -> Result<(&[u8], PageNo)> {
    let bytes = get_u32(page, PART_BYTES) as usize;
    if bytes > capacity(page.len()) {
        return Err(Error::corrupt("part length of a long value", PART_BYTES));
    }
    Ok((&page[DATA..DATA + bytes], PageNo(get_u32(page, NEXT))))
}

/// The eight bytes at [`PART_BYTES`] that start a part.
pub fn part_header(bytes: usize, next: PageNo) -> [u8; 8] {
    let mut header = [0; 8];
    header[..4].copy_from_slice(&(bytes as u32).to_be_bytes());
    header[4..].copy_from_slice(&next.0.to_be_bytes());
    header
}

/// Where a long value lies, as its record says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reference {
    pub space: SpaceId,
    pub page: PageNo,
    /// 38 for chains of BLOB pages. MySQL 8.0's own LOBs keep a version here.
    pub offset: u32,
    pub bytes: u64,
    /// [`NOT_OWNER`] and [`INHERITED`].
    pub flags: u8,
}

impl Reference {
    pub fn new(space: SpaceId, page: PageNo, bytes: u64) -> Reference {
        Reference { space, page, offset: PART_BYTES as u32, bytes, flags: 0 }
    }

    /// Reads the reference at the end of an external field.
    pub fn read(field: &[u8]) -> Result<Reference> {
        let Some(at) = field.len().checked_sub(REFERENCE_BYTES) else {
            return Err(Error::corrupt("an external field shorter than a reference", field.len()));
        };
        let bytes = &field[at..];
        let length = get_u64(bytes, 12);
        Ok(Reference {
            space: SpaceId(get_u32(bytes, 0)),
            page: PageNo(get_u32(bytes, 4)),
            offset: get_u32(bytes, 8),
            bytes: length & 0x00FF_FFFF_FFFF_FFFF,
            flags: (length >> 56) as u8,
        })
    }

    pub fn to_bytes(&self) -> [u8; REFERENCE_BYTES] {
        let mut out = [0; REFERENCE_BYTES];
        out[..4].copy_from_slice(&self.space.0.to_be_bytes());
        out[4..8].copy_from_slice(&self.page.0.to_be_bytes());
        out[8..12].copy_from_slice(&self.offset.to_be_bytes());
        out[12..].copy_from_slice(&(u64::from(self.flags) << 56 | self.bytes).to_be_bytes());
        out
    }

    #[inline]
    pub fn is_owner(&self) -> bool {
        self.flags & NOT_OWNER == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_come_back() {
        let mut reference = Reference::new(SpaceId(7), PageNo(9), 40_000);
        reference.flags = NOT_OWNER;
        let bytes = reference.to_bytes();
        assert_eq!(Reference::read(&bytes), Ok(reference));
        assert!(!reference.is_owner());
        assert!(Reference::read(&bytes[1..]).is_err());
    }

    #[test]
    fn a_part_may_not_be_longer_than_its_page() {
        let mut page = vec![0; 4096];
        page[PART_BYTES..DATA].copy_from_slice(&part_header(capacity(4096), PageNo::NULL));
        assert_eq!(part(&page).map(|(bytes, next)| (bytes.len(), next)), Ok((4042, PageNo::NULL)));
        page[PART_BYTES..DATA].copy_from_slice(&part_header(capacity(4096) + 1, PageNo::NULL));
        assert!(part(&page).is_err());
        assert_eq!(capacity(16384), 16330);
    }
}
