//! The integers and strings of the log: 7 bits per byte, lowest first; bytes behind their count.

use crate::error::{Error, Result};
use crate::record::RecordImage;

/// A record without the header fields that its page decides: info bits and length of the extra bytes share an integer.
#[inline]
pub(super) fn put_record(out: &mut Vec<u8>, record: RecordImage<'_>) {
    put_varint(out, (record.extra.len() as u64) << 4 | u64::from(record.info >> 4));
    out.extend_from_slice(record.extra);
    put_bytes(out, record.data);
}

#[inline]
pub(super) fn take_record<'a>(bytes: &mut &'a [u8]) -> Result<RecordImage<'a>> {
    let head = take_varint(bytes)?;
    let extra = take(bytes, head >> 4)?;
    let data = take_bytes(bytes)?;
    if extra.len() + data.len() >= 1 << 15 {
        return Err(Error::corrupt("the length of a logged record", data.len()));
    }
    Ok(RecordImage { info: (head as u8 & 0xF) << 4, extra, data })
}

#[inline]
pub(super) fn take_patch<'a>(bytes: &mut &'a [u8]) -> Result<(usize, &'a [u8])> {
    Ok((usize::from(take_u16(bytes)?), take_bytes(bytes)?))
}

#[inline]
pub(super) fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

#[inline]
pub(super) fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

const CUT: Error = Error::corrupt("a redo record that ends too early", 0);

#[inline]
pub(super) fn take_byte(bytes: &mut &[u8]) -> Result<u8> {
    let (&first, rest) = bytes.split_first().ok_or(CUT)?;
    *bytes = rest;
    Ok(first)
}

#[inline]
pub(super) fn take<'a>(bytes: &mut &'a [u8], count: u64) -> Result<&'a [u8]> {
    if count > bytes.len() as u64 {
        return Err(CUT);
    }
    let (taken, rest) = bytes.split_at(count as usize);
    *bytes = rest;
    Ok(taken)
}

#[inline]
pub(super) fn take_bytes<'a>(bytes: &mut &'a [u8]) -> Result<&'a [u8]> {
    let count = take_varint(bytes)?;
    take(bytes, count)
}

pub(super) fn take_text<'a>(bytes: &mut &'a [u8]) -> Result<&'a str> {
    std::str::from_utf8(take_bytes(bytes)?).map_err(|_| Error::corrupt("a file name in the redo log", 0))
}

#[inline]
pub(super) fn take_varint(bytes: &mut &[u8]) -> Result<u64> {
    let mut value = 0;
    let mut shift = 0;
    loop {
        let byte = take_byte(bytes)?;
        if shift == 63 && byte > 1 {
            return Err(Error::corrupt("an integer in the redo log", 0));
        }
        value |= u64::from(byte & 0x7F) << shift;
        if byte & 0x80 == 0 {
            return Ok(value);
        }
        shift += 7;
    }
}

#[inline]
pub(super) fn take_u32(bytes: &mut &[u8]) -> Result<u32> {
    take_varint(bytes)?.try_into().map_err(|_| Error::corrupt("an integer in the redo log", 0))
}

#[inline]
pub(super) fn take_u16(bytes: &mut &[u8]) -> Result<u16> {
    take_varint(bytes)?.try_into().map_err(|_| Error::corrupt("an integer in the redo log", 0))
}
