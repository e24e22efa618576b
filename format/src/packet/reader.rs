//! Reading the fields of a payload, each with its length checked.

use std::fmt;

/// A payload that does not have the form its kind prescribes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Malformed {
    /// What was being read.
    pub what: &'static str,
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "malformed packet: {}", self.what)
    }
}

impl std::error::Error for Malformed {}

impl From<Malformed> for crate::Error {
    fn from(malformed: Malformed) -> crate::Error {
        crate::Error::Malformed { what: malformed.what }
    }
}

/// The unread rest of a payload.
#[derive(Debug, Clone, Copy)]
pub struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub fn new(payload: &'a [u8]) -> Self {
        Self { rest: payload }
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    #[inline]
    pub fn remaining(&self) -> usize {
        self.rest.len()
    }

    /// Everything that is left.
    #[inline]
    pub fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.rest)
    }

    /// The next `count` bytes.
    #[inline]
    pub fn bytes(&mut self, count: usize, what: &'static str) -> Result<&'a [u8], Malformed> {
        match self.rest.split_at_checked(count) {
            Some((head, rest)) => {
                self.rest = rest;
                Ok(head)
            }
            None => Err(Malformed { what }),
        }
    }

    #[inline]
    fn array<const N: usize>(&mut self, what: &'static str) -> Result<[u8; N], Malformed> {
        match self.rest.split_first_chunk::<N>() {
            Some((head, rest)) => {
                self.rest = rest;
                Ok(*head)
            }
            None => Err(Malformed { what }),
        }
    }

    #[inline]
    pub fn u8(&mut self, what: &'static str) -> Result<u8, Malformed> {
        Ok(self.array::<1>(what)?[0])
    }

    #[inline]
    pub fn u16(&mut self, what: &'static str) -> Result<u16, Malformed> {
        Ok(u16::from_le_bytes(self.array(what)?))
    }

    #[inline]
    pub fn u24(&mut self, what: &'static str) -> Result<u32, Malformed> {
        let [a, b, c] = self.array(what)?;
        Ok(u32::from_le_bytes([a, b, c, 0]))
    }

    #[inline]
    pub fn u32(&mut self, what: &'static str) -> Result<u32, Malformed> {
        Ok(u32::from_le_bytes(self.array(what)?))
    }

    #[inline]
    pub fn u64(&mut self, what: &'static str) -> Result<u64, Malformed> {
        Ok(u64::from_le_bytes(self.array(what)?))
    }

    /// A length-encoded integer: one byte up to 250, or a marker and 2, 3 or 8 bytes.
    #[inline]
    pub fn lenenc(&mut self, what: &'static str) -> Result<u64, Malformed> {
        match self.u8(what)? {
            byte @ 0..=0xFA => Ok(byte as u64),
            0xFC => Ok(self.u16(what)? as u64),
            0xFD => Ok(self.u24(what)? as u64),
            0xFE => self.u64(what),
            // 0xFB is NULL in a text row and 0xFF begins an error packet.
            _ => Err(Malformed { what }),
        }
    }

    /// A string behind its length-encoded length.
    #[inline]
    pub fn lenenc_bytes(&mut self, what: &'static str) -> Result<&'a [u8], Malformed> {
        let count = self.lenenc(what)?;
        let count = usize::try_from(count).map_err(|_| Malformed { what })?;
        self.bytes(count, what)
    }

    /// A field of a text row: NULL is the byte 0xFB.
    pub fn nullable_lenenc_bytes(&mut self, what: &'static str) -> Result<Option<&'a [u8]>, Malformed> {
        if self.rest.first() == Some(&0xFB) {
            self.rest = &self.rest[1..];
            return Ok(None);
        }
        self.lenenc_bytes(what).map(Some)
    }

    /// A string up to a zero byte, which is consumed too.
    pub fn until_zero(&mut self, what: &'static str) -> Result<&'a [u8], Malformed> {
        let Some(length) = self.rest.iter().position(|&byte| byte == 0) else {
            return Err(Malformed { what });
        };
        let string = self.bytes(length, what)?;
        self.u8(what)?;
        Ok(string)
    }
}

#[cfg(test)]
mod tests {
    use super::super::writer;
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lenenc_integers_at_their_borders() {
        for (number, bytes) in
            [(0, 1), (250, 1), (251, 3), (0xFFFF, 3), (0x1_0000, 4), (0xFF_FFFF, 4), (0x100_0000, 9), (u64::MAX, 9)]
        {
            let mut out = Vec::new();
            writer::lenenc(&mut out, number);
            assert_eq!(out.len(), bytes, "{number}");
            let mut reader = Reader::new(&out);
            assert_eq!(reader.lenenc("number"), Ok(number));
            assert!(reader.is_empty());
            // A cut number is noticed.
            assert!(Reader::new(&out[..bytes - 1]).lenenc("number").is_err());
        }
    }

    #[test]
    fn a_length_beyond_the_payload_is_refused() {
        assert_eq!(Reader::new(&[5, b'a']).lenenc_bytes("name"), Err(Malformed { what: "name" }));
        assert!(Reader::new(&[0xFE, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF]).lenenc_bytes("name").is_err());
        assert!(Reader::new(b"no zero").until_zero("name").is_err());
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(number in any::<u64>(), text in prop::collection::vec(any::<u8>(), 0..400)) {
            let mut out = Vec::new();
            writer::lenenc(&mut out, number);
            writer::lenenc_bytes(&mut out, &text);
            let mut reader = Reader::new(&out);
            prop_assert_eq!(reader.lenenc("number"), Ok(number));
            prop_assert_eq!(reader.lenenc_bytes("text"), Ok(&text[..]));
            prop_assert!(reader.is_empty());
        }
    }
}
