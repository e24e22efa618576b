//! The name of a transaction branch, as X/Open XA has it: what a transaction manager calls its part of a transaction
//! here.
//!
//! A global part (*gtrid*), a branch qualifier (*bqual*), at most 64 bytes each, and a number that says how the manager
//! reads them. Two names are the same branch if their bytes are: the number is carried along and never compared, as in
//! MySQL and MariaDB.
//!
//! In an undo log header it stands as [`Xid::encode`] has it, see `page::undo`:
//!
//! ```text
//!  0    4  format
//!  4    4  gtrid bytes, g
//!  8    4  bqual bytes, b
//! 12  128  gtrid, bqual, zeros
//! ```

use std::fmt::Write;
use std::hash::{Hash, Hasher};

use crate::bytes::get_u32;
use crate::error::{Error, Result};

/// See the module header.
#[derive(Clone, Debug)]
pub struct Xid {
    /// At most `i32::MAX`.
    format: u32,
    gtrid: Box<[u8]>,
    bqual: Box<[u8]>,
}

impl Xid {
    pub const PART_BYTES_MAX: usize = 64;
    pub const FORMAT_MAX: u32 = i32::MAX as u32;
    /// The format of a name that was given without one.
    pub const FORMAT_DEFAULT: u32 = 1;
    pub const BYTES: usize = 12 + 2 * Xid::PART_BYTES_MAX;

    /// None if a part is too long or the number too large.
    pub fn new(format: u32, gtrid: &[u8], bqual: &[u8]) -> Option<Xid> {
        let fits = gtrid.len() <= Xid::PART_BYTES_MAX && bqual.len() <= Xid::PART_BYTES_MAX;
        (fits && format <= Xid::FORMAT_MAX).then(|| Xid { format, gtrid: gtrid.into(), bqual: bqual.into() })
    }

    pub fn format(&self) -> u32 {
        self.format
    }

    pub fn gtrid(&self) -> &[u8] {
        &self.gtrid
    }

    pub fn bqual(&self) -> &[u8] {
        &self.bqual
    }

    /// Both parts, one after the other: what XA RECOVER shows.
    pub fn data(&self) -> Vec<u8> {
        [&*self.gtrid, &*self.bqual].concat()
    }

    pub fn encode(&self) -> [u8; Xid::BYTES] {
        let mut bytes = [0; Xid::BYTES];
        bytes[..4].copy_from_slice(&self.format.to_be_bytes());
        bytes[4..8].copy_from_slice(&(self.gtrid.len() as u32).to_be_bytes());
        bytes[8..12].copy_from_slice(&(self.bqual.len() as u32).to_be_bytes());
        let data = self.data();
        bytes[12..12 + data.len()].copy_from_slice(&data);
        bytes
    }

    pub fn decode(bytes: &[u8]) -> Result<Xid> {
        if bytes.len() < Xid::BYTES {
            return Err(Error::corrupt("an XID that is cut off", bytes.len()));
        }
        let (gtrid, bqual) = (get_u32(bytes, 4) as usize, get_u32(bytes, 8) as usize);
        if gtrid > Xid::PART_BYTES_MAX || bqual > Xid::PART_BYTES_MAX {
            return Err(Error::corrupt("the lengths of an XID", 4));
        }
        let data = &bytes[12..12 + gtrid + bqual];
        Xid::new(get_u32(bytes, 0), &data[..gtrid], &data[gtrid..]).ok_or(Error::corrupt("the format of an XID", 0))
    }

    /// As a binary log has it: all three parts, in hexadecimal.
    pub fn to_hexadecimal(&self) -> String {
        format!("X'{}',X'{}',{}", hexadecimal(&self.gtrid), hexadecimal(&self.bqual), self.format)
    }

    /// As it may be written in a statement: `'gtrid','bqual',format`, in hexadecimal unless all of it is letters,
    /// digits, blanks, `_` and `-`, as MariaDB has it. Parts that equal their defaults are left out.
    pub fn to_sql(&self) -> String {
        let is_plain = |part: &[u8]| part.iter().all(|byte| byte.is_ascii_alphanumeric() || b" _-".contains(byte));
        let plain = is_plain(&self.gtrid) && is_plain(&self.bqual);
        let quoted = |part: &[u8]| match plain {
            true => format!("'{}'", String::from_utf8_lossy(part)),
            false => format!("X'{}'", hexadecimal(part)),
        };
        let mut text = quoted(&self.gtrid);
        if !self.bqual.is_empty() || self.format != Xid::FORMAT_DEFAULT {
            text.push(',');
            text += &quoted(&self.bqual);
        }
        if self.format != Xid::FORMAT_DEFAULT {
            text += &format!(",{}", self.format);
        }
        text
    }
}

/// Two lower-case digits per byte.
pub fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

impl PartialEq for Xid {
    fn eq(&self, other: &Xid) -> bool {
        self.gtrid == other.gtrid && self.bqual == other.bqual
    }
}

impl Eq for Xid {}

impl Hash for Xid {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.gtrid.hash(state);
        self.bqual.hash(state);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_read_as_it_was_written() {
        let long = [7; Xid::PART_BYTES_MAX];
        for (format, gtrid, bqual) in [(1, &b"gtrid"[..], &b""[..]), (Xid::FORMAT_MAX, &long, &long), (0, b"a", b"\0")]
        {
            let xid = Xid::new(format, gtrid, bqual).unwrap();
            let read = Xid::decode(&xid.encode()).unwrap();
            assert_eq!((read.format(), read.gtrid(), read.bqual()), (format, gtrid, bqual));
        }
        assert!(Xid::new(1, &[0; 65], b"").is_none() && Xid::new(1, b"a", &[0; 65]).is_none());
        assert!(Xid::new(1 << 31, b"a", b"").is_none());
    }

    #[test]
    fn damage_is_an_error() {
        let good = Xid::new(1, b"gtrid", b"bqual").unwrap().encode();
        assert!(Xid::decode(&good[..100]).is_err());
        for at in [0, 4, 8] {
            let mut bad = good;
            bad[at] = 0xFF;
            assert!(Xid::decode(&bad).is_err(), "byte {at}");
        }
    }

    #[test]
    fn the_format_names_no_other_branch() {
        let (one, other) = (Xid::new(1, b"a", b"b").unwrap(), Xid::new(2, b"a", b"b").unwrap());
        assert_eq!(one, other);
        assert_ne!(one, Xid::new(1, b"ab", b"").unwrap());
    }

    #[test]
    fn statements_can_read_what_is_shown() {
        let shown = |format, gtrid: &[u8], bqual: &[u8]| Xid::new(format, gtrid, bqual).unwrap().to_sql();
        assert_eq!(shown(1, b"dup1", b""), "'dup1'");
        assert_eq!(shown(1, b"hex", b"y"), "'hex','y'");
        assert_eq!(shown(9, b"hex", b""), "'hex','',9");
        assert_eq!(shown(9, b"a\xFF", b"x"), "X'61ff',X'78',9");
        assert_eq!(shown(1, b"a_b-c d", b""), "'a_b-c d'");
        assert_eq!(shown(1, b"a:b", b""), "X'613a62'");
        assert_eq!(Xid::new(7, b"ab", b"").unwrap().to_hexadecimal(), "X'6162',X'',7");
    }
}
