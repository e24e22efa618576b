//! Long values as MySQL 8.0 stores them; we only read them, from files that it wrote.
//!
//! ```text
//! first page (LOB_FIRST)                         entry of the index, 60 bytes
//! offset  bytes                                  offset  bytes
//!     64     16  list of the entries, in order        6      6  next entry (page, offset)
//!     80     16  list of unused entries              48      4  page of the part
//!     96    600  ten entries                         52      2  bytes of the part
//!    696         the first part
//!
//! page of a part (LOB_DATA)                      page of more entries (LOB_INDEX): from 39
//!     49         the part
//! ```
//!
//! What an update of a part leaves of older values hangs on the entries, and is not followed.

use super::header::{self, PageType, TRAILER_BYTES};
use super::space::{Address, Base};
use super::{get_u16, get_u32};
use crate::error::{Error, Result};
use crate::ids::PageNo;

const ENTRIES_LIST: usize = 64;
const FIRST_DATA: usize = 96 + 10 * ENTRY_BYTES;
const DATA: usize = 49;

const ENTRY_BYTES: usize = 60;
const ENTRY_NEXT: usize = 6;
const ENTRY_PAGE: usize = 48;
const ENTRY_PART_BYTES: usize = 52;

/// One entry of the index: where a part of the value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    pub page: PageNo,
    pub bytes: usize,
    pub next: Address,
}

/// The first entry of the value that begins on this page.
pub fn first_entry(page: &[u8]) -> Result<Address> {
    match header::page_type(page) {
        PageType::LOB_FIRST => Ok(Base::read(page, ENTRIES_LIST).first),
        _ => Err(Error::corrupt("not the first page of a long value", header::TYPE)),
    }
}

/// The entry at an offset of its page.
pub fn entry(page: &[u8], offset: u16) -> Result<Entry> {
    let at = usize::from(offset);
    let has_entries = matches!(header::page_type(page), PageType::LOB_FIRST | PageType::LOB_INDEX);
    if !has_entries || at < header::BODY || at + ENTRY_BYTES > page.len() - TRAILER_BYTES {
        return Err(Error::corrupt("an entry of a long value's index", at));
    }
    Ok(Entry {
        page: PageNo(get_u32(page, at + ENTRY_PAGE)),
        bytes: usize::from(get_u16(page, at + ENTRY_PART_BYTES)),
        next: Address::read(page, at + ENTRY_NEXT),
    })
}

/// The part of a value that a page holds, as long as its entry says.
pub fn part(page: &[u8], bytes: usize) -> Result<&[u8]> {
    let start = match header::page_type(page) {
        PageType::LOB_FIRST => FIRST_DATA,
        PageType::LOB_DATA => DATA,
        _ => return Err(Error::corrupt("not a page of a long value", header::TYPE)),
    };
    let end = (page.len() - TRAILER_BYTES).min(start + bytes);
    match end - start == bytes {
        true => Ok(&page[start..end]),
        false => Err(Error::corrupt("part length of a long value", start)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{PageId, SpaceId};
    use crate::page::{put_u16, put_u32};

    #[test]
    fn parts_are_found_by_their_entries() {
        let mut page = vec![0; 16384];
        header::init(&mut page, PageId::new(SpaceId(7), PageNo(5)), PageType::LOB_FIRST);
        put_u32(&mut page, ENTRIES_LIST + 4, 5);
        put_u16(&mut page, ENTRIES_LIST + 8, 96);
        put_u32(&mut page, 96 + ENTRY_PAGE, 5);
        put_u16(&mut page, 96 + ENTRY_PART_BYTES, 15_680);
        put_u32(&mut page, 96 + ENTRY_NEXT, u32::MAX);
        let first = first_entry(&page).unwrap();
        assert_eq!(first, Address::new(PageNo(5), 96));
        let found = entry(&page, first.offset).unwrap();
        assert_eq!((found.page, found.bytes, found.next.is_null()), (PageNo(5), 15_680, true));
        assert_eq!(part(&page, found.bytes).map(<[u8]>::len), Ok(15_680));
        assert!(part(&page, 15_681).is_err());
        assert!(entry(&page, 16_330).is_err() && entry(&page, 20).is_err());
        header::set_page_type(&mut page, PageType::INDEX);
        assert!(first_entry(&page).is_err() && entry(&page, 96).is_err() && part(&page, 1).is_err());
    }
}
