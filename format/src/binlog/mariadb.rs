//! Events that only MariaDB writes.
//!
//! ```text
//! Gtid              8  sequence number, 4 domain, 1 flags (the server is that of the header)
//!                      if flag 2: 8 commit id
//!                      if flag 64 or 128: 4 format of an XID, 1 gtrid bytes, 1 bqual bytes, both parts
//!                      if neither: 6 zeros
//! Gtid_list         4  count, and flags in the four highest bits; each: 4 domain, 4 server, 8 sequence number
//! Query_compressed     as Query; the statement is a compressed block
//! *_rows_compressed    as rows; the images are a compressed block
//!
//! compressed block  1  0x80 | algorithm << 4 (0: zlib) | bytes of the length, n
//!                   n  bytes before compression, big-endian
//!                      a zlib stream
//! ```

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use libdeflater::Decompressor;

use crate::error::{Error, Result};
use crate::packet::Reader;
use crate::xid::Xid;

/// No event is longer.
const PLAIN_BYTES_MAX: usize = 1 << 30;
/// No zlib stream is a smaller part of what it stands for.
const RATIO_MAX: usize = 1032;

/// Flags of a Gtid event.
pub mod gtid_flags {
    /// The group is one event, without an end of its own.
    pub const STANDALONE: u8 = 1;
    pub const GROUP_COMMIT_ID: u8 = 2;
    pub const TRANSACTIONAL: u8 = 4;
    pub const ALLOW_PARALLEL: u8 = 8;
    pub const WAITED: u8 = 16;
    pub const DDL: u8 = 32;
    /// It is a branch of a distributed transaction that is prepared, or the end of one.
    pub const PREPARED_XA: u8 = 64;
    pub const COMPLETED_XA: u8 = 128;
}

/// MariaDB's name of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MariadbGtid {
    pub domain: u32,
    pub server: u32,
    pub sequence: u64,
}

impl fmt::Display for MariadbGtid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}-{}", self.domain, self.server, self.sequence)
    }
}

impl FromStr for MariadbGtid {
    type Err = Error;

    fn from_str(text: &str) -> Result<MariadbGtid> {
        let malformed = || Error::Malformed { what: "a GTID of MariaDB" };
        let mut parts = text.trim().split('-');
        let mut next = || parts.next().filter(|part| part.bytes().all(|byte| byte.is_ascii_digit()));
        let (domain, server, sequence) = (next(), next(), next());
        let long = |part: Option<&str>| part.and_then(|part| part.parse::<u64>().ok()).ok_or_else(malformed);
        let short = |part: Option<&str>| part.and_then(|part| part.parse::<u32>().ok()).ok_or_else(malformed);
        let gtid = MariadbGtid { domain: short(domain)?, server: short(server)?, sequence: long(sequence)? };
        if parts.next().is_some() { Err(malformed()) } else { Ok(gtid) }
    }
}

/// How far the transactions of a MariaDB source are applied: the newest of each domain. Domains are logs of their own, each
/// in its order; so a transaction that was applied is not older than the newest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MariadbPosition {
    newest: BTreeMap<u32, MariadbGtid>,
}

/// Why a text is no [`MariadbPosition`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoPosition {
    Malformed,
    /// Two transactions of one domain.
    Conflict(MariadbGtid, MariadbGtid),
}

impl MariadbPosition {
    pub fn is_empty(&self) -> bool {
        self.newest.is_empty()
    }

    /// A transaction behind what was there in its domain.
    pub fn advance(&mut self, gtid: MariadbGtid) {
        self.newest.insert(gtid.domain, gtid);
    }

    /// In the other's domains it is where the other is.
    pub fn advance_to(&mut self, other: &MariadbPosition) {
        self.newest.extend(&other.newest);
    }

    /// The same of several sources: a domain that both have is where it has the higher sequence.
    pub fn advance_to_newest(&mut self, other: &MariadbPosition) {
        for gtid in other.newest.values() {
            let here = self.newest.entry(gtid.domain).or_insert(*gtid);
            if here.sequence < gtid.sequence {
                *here = *gtid;
            }
        }
    }

    /// Whether a transaction is the newest of its domain.
    pub fn is_at(&self, gtid: MariadbGtid) -> bool {
        self.newest.get(&gtid.domain) == Some(&gtid)
    }
}

impl fmt::Display for MariadbPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, gtid) in self.newest.values().enumerate() {
            write!(f, "{}{gtid}", if at == 0 { "" } else { "," })?;
        }
        Ok(())
    }
}

impl FromStr for MariadbPosition {
    type Err = NoPosition;

    fn from_str(text: &str) -> std::result::Result<MariadbPosition, NoPosition> {
        let mut position = MariadbPosition::default();
        if text.trim().is_empty() {
            return Ok(position);
        }
        for part in text.split(',') {
            let gtid: MariadbGtid = part.parse().map_err(|_| NoPosition::Malformed)?;
            if let Some(other) = position.newest.insert(gtid.domain, gtid) {
                return Err(NoPosition::Conflict(other, gtid));
            }
        }
        Ok(position)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MariadbGtidEvent {
    pub gtid: MariadbGtid,
    pub flags: u8,
    /// Transactions with the same one were committed together.
    pub commit_id: Option<u64>,
    /// The branch of a distributed transaction that is prepared or ended.
    pub xid: Option<Xid>,
}

impl MariadbGtidEvent {
    pub fn decode(body: &[u8], server: u32) -> Result<MariadbGtidEvent> {
        const WHAT: &str = "a Gtid event of MariaDB";
        let mut reader = Reader::new(body);
        let (sequence, domain, flags) = (reader.u64(WHAT)?, reader.u32(WHAT)?, reader.u8(WHAT)?);
        let commit_id = match flags & gtid_flags::GROUP_COMMIT_ID {
            0 => None,
            _ => Some(reader.u64(WHAT)?),
        };
        let xid = match flags & (gtid_flags::PREPARED_XA | gtid_flags::COMPLETED_XA) {
            0 => None,
            _ => {
                let format = reader.u32(WHAT)?;
                let (gtrid, bqual) = (reader.u8(WHAT)?, reader.u8(WHAT)?);
                let (gtrid, bqual) = (reader.bytes(gtrid.into(), WHAT)?, reader.bytes(bqual.into(), WHAT)?);
                Some(Xid::new(format, gtrid, bqual).ok_or(Error::Malformed { what: WHAT })?)
            }
        };
        Ok(MariadbGtidEvent { gtid: MariadbGtid { domain, server, sequence }, flags, commit_id, xid })
    }

    /// Appends the body.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.gtid.sequence.to_le_bytes());
        out.extend_from_slice(&self.gtid.domain.to_le_bytes());
        let group = if self.commit_id.is_some() { gtid_flags::GROUP_COMMIT_ID } else { 0 };
        out.push(self.flags & !gtid_flags::GROUP_COMMIT_ID | group);
        if let Some(id) = self.commit_id {
            out.extend_from_slice(&id.to_le_bytes());
        }
        if let Some(xid) = &self.xid {
            out.extend_from_slice(&xid.format().to_le_bytes());
            out.extend_from_slice(&[xid.gtrid().len() as u8, xid.bqual().len() as u8]);
            out.extend_from_slice(&xid.data());
        }
        if self.commit_id.is_none() && self.xid.is_none() {
            out.extend_from_slice(&[0; 6]);
        }
    }
}

/// The newest transaction of each server in each domain.
pub fn decode_gtid_list(body: &[u8]) -> Result<Vec<MariadbGtid>> {
    const WHAT: &str = "a Gtid_list event";
    let mut reader = Reader::new(body);
    let count = reader.u32(WHAT)? & 0x0FFF_FFFF;
    let mut list = Vec::new();
    for _ in 0..count {
        let (domain, server) = (reader.u32(WHAT)?, reader.u32(WHAT)?);
        list.push(MariadbGtid { domain, server, sequence: reader.u64(WHAT)? });
    }
    Ok(list)
}

/// Expands a compressed block.
pub fn decompress(block: &[u8]) -> Result<Vec<u8>> {
    const WHAT: &str = "a compressed block of MariaDB's binary log";
    let mut reader = Reader::new(block);
    let first = reader.u8(WHAT)?;
    let (algorithm, length_bytes) = (first >> 4 & 7, (first & 7) as usize);
    if first & 0x80 == 0 || !(1..=4).contains(&length_bytes) {
        return Err(Error::Malformed { what: WHAT });
    }
    if algorithm != 0 {
        return Err(Error::Unsupported { what: "compression in MariaDB's binary log:", value: u32::from(algorithm) });
    }
    let length = reader.bytes(length_bytes, WHAT)?;
    let length = length.iter().fold(0_usize, |number, &byte| number << 8 | usize::from(byte));
    let stream = reader.rest();
    if length > PLAIN_BYTES_MAX.min(stream.len().saturating_mul(RATIO_MAX)) {
        return Err(Error::Malformed { what: WHAT });
    }
    let mut plain = vec![0; length];
    match Decompressor::new().zlib_decompress(stream, &mut plain) {
        Ok(bytes) if bytes == length => Ok(plain),
        _ => Err(Error::Malformed { what: WHAT }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_is_the_newest_transaction_of_each_domain() {
        let gtid = |text: &str| text.parse::<MariadbGtid>().unwrap();
        let mut position: MariadbPosition = " 7-2-18446744073709551615 ,0-1-5".parse().unwrap();
        assert_eq!(position.to_string(), "0-1-5,7-2-18446744073709551615");
        assert!(position.is_at(gtid("0-1-5")) && !position.is_at(gtid("0-1-4")) && !position.is_at(gtid("1-1-5")));
        // The sequence may go back, and another server goes on.
        position.advance(gtid("0-3-2"));
        position.advance_to(&"4-1-1,7-2-9".parse().unwrap());
        assert_eq!(position.to_string(), "0-3-2,4-1-1,7-2-9");
        position.advance_to_newest(&"0-1-9,4-2-0,5-1-1".parse().unwrap());
        assert_eq!(position.to_string(), "0-1-9,4-1-1,5-1-1,7-2-9");
        assert_eq!("".parse(), Ok(MariadbPosition::default()));
        let conflict = NoPosition::Conflict(gtid("0-1-5"), gtid("0-2-6"));
        assert_eq!("0-1-5,0-2-6".parse::<MariadbPosition>(), Err(conflict));
        for text in
            ["0-1", "0-1-5-6", "a-1-5", "0-1-5,", "4294967296-1-5", "0--5", "0-1-+5", "0-1-18446744073709551616"]
        {
            assert_eq!(text.parse::<MariadbPosition>(), Err(NoPosition::Malformed), "{text}");
        }
    }

    #[test]
    fn names_come_back() {
        for commit_id in [None, Some(7)] {
            let flags = gtid_flags::TRANSACTIONAL | if commit_id.is_some() { gtid_flags::GROUP_COMMIT_ID } else { 0 };
            let gtid = MariadbGtid { domain: 1, server: 2, sequence: 3 };
            for xid in [None, Xid::new(1, b"global", b"branch")] {
                let flags = flags | if xid.is_some() { gtid_flags::PREPARED_XA } else { 0 };
                let event = MariadbGtidEvent { gtid, flags, commit_id, xid };
                let mut body = Vec::new();
                event.encode(&mut body);
                assert!(body.len() >= 19);
                assert!(MariadbGtidEvent::decode(&body[..12], 2).is_err());
                assert_eq!(MariadbGtidEvent::decode(&body, 2), Ok(event));
            }
        }
    }

    #[test]
    fn a_block_comes_back_and_a_bad_one_is_an_error() {
        let plain: Vec<u8> = (0..259_u32).map(|number| (number % 7) as u8).collect();
        let mut compressor = libdeflater::Compressor::new(libdeflater::CompressionLvl::default());
        let mut stream = vec![0; compressor.zlib_compress_bound(plain.len())];
        let bytes = compressor.zlib_compress(&plain, &mut stream).unwrap();
        let block = [&[0x82, 1, 3], &stream[..bytes]].concat();
        assert_eq!(decompress(&block).as_ref(), Ok(&plain));
        for at in 0..block.len() {
            let mut damaged = block.clone();
            damaged[at] ^= 0x41;
            assert_ne!(decompress(&damaged).as_ref(), Ok(&plain), "byte {at}");
            assert!(decompress(&block[..at]).is_err());
        }
    }
}
