//! Page checksums: CRC-32C (Castagnoli), and the older sums that files of other servers may carry.
//!
//! A page's sum leaves out what may change after sealing: the checksum itself, bytes 26..34 (where a compressed page
//! keeps its envelope), the space id 34..38 (an import renumbers it), and the trailer.
//!
//! ```text
//! kind            sum                                             stored at
//! crc32           crc32c([4,26)) ^ crc32c([38,PS-8))              0 and PS-8
//! full crc32      crc32c([0,PS-4))      (MariaDB 10.5 and later)  PS-4
//! innodb          fold([4,26)) + fold([38,PS-8)); fold([0,26))    0; PS-8
//! none            0xDEADBEEF                                      0 and PS-8
//! compressed rows crc32c([4,16)) ^ crc32c([24,26)) ^ crc32c([34,PS))  0; PS is the physical size
//! ```

/// What "none" stores in place of a checksum.
pub const NONE: u32 = 0xDEAD_BEEF;

/// CRC-32C of `bytes`: what the redo log and other files of ours use.
#[inline]
pub fn crc32c(bytes: &[u8]) -> u32 {
    crc32c::crc32c(bytes)
}

/// Continues a CRC-32C over more bytes.
#[inline]
pub fn crc32c_append(crc: u32, bytes: &[u8]) -> u32 {
    crc32c::crc32c_append(crc, bytes)
}

/// The checksum of a page as MySQL 5.7 and 8.0 store it.
#[inline]
pub fn page_crc32(page: &[u8]) -> u32 {
    crc32c(&page[4..26]) ^ crc32c(&page[38..page.len() - 8])
}

/// The checksum of a page in MariaDB's full_crc32 files: over all but its own last 4 bytes.
pub fn page_full_crc32(page: &[u8]) -> u32 {
    crc32c(&page[..page.len() - 4])
}

/// The two sums of the legacy "innodb" algorithm: the one stored at 0 and the one stored at the trailer.
///
/// The second covers the first, so the page must already carry the first.
pub fn page_innodb(page: &[u8]) -> (u32, u32) {
    let new = fold(&page[4..26]).wrapping_add(fold(&page[38..page.len() - 8])) as u32;
    let old = fold(&page[..26]) as u32;
    (new, old)
}

/// The checksum of a page of a ROW_FORMAT=COMPRESSED file, stored at 0 only; such pages have no trailer.
pub fn page_row_compressed(page: &[u8]) -> u32 {
    crc32c(&page[4..16]) ^ crc32c(&page[24..26]) ^ crc32c(&page[34..])
}

/// InnoDB's byte folding, on 64-bit words as its Linux builds do.
fn fold(bytes: &[u8]) -> u64 {
    let mut sum: u64 = 0;
    for &byte in bytes {
        let byte = u64::from(byte);
        let mixed = ((sum ^ byte ^ 1_653_893_711) << 8).wrapping_add(sum);
        sum = (mixed ^ 1_463_735_687).wrapping_add(byte);
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crc32c_has_the_known_check_value() {
        assert_eq!(crc32c(b"123456789"), 0xE306_9283);
        assert_eq!(crc32c_append(crc32c(b"12345"), b"6789"), 0xE306_9283);
    }

    #[test]
    fn the_header_fields_left_out_do_not_count() {
        let mut page = vec![7; 4096];
        let sum = page_crc32(&page);
        for at in [0, 26, 33, 34, 37, 4088, 4095] {
            page[at] ^= 0xFF;
            assert_eq!(page_crc32(&page), sum, "byte {at}");
        }
        for at in [4, 25, 38, 4087] {
            page[at] ^= 1;
            assert_ne!(page_crc32(&page), sum, "byte {at}");
            page[at] ^= 1;
        }
    }
}
