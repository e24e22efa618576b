//! COMPRESS, UNCOMPRESS, UNCOMPRESSED_LENGTH: zlib streams behind the length of what is in them.
//!
//! ```text
//! 4    bytes of the text, little-endian
//! ...  zlib stream
//! .    if the stream ends with a space, which a CHAR column would lose
//! ```
//!
//! The empty text is the empty text.

use format::collation::CollationId;
use libdeflater::{CompressionLvl, Compressor, Decompressor};

use super::string::LENGTH_MAX;
use super::{Call, Function, Typing, not_null, typings};
use crate::error::{Error, Result};
use crate::expression::Datum;
use crate::types::{Coercibility, TypeInfo};

pub const FUNCTIONS: &[Function] = &[
    Function::new("compress", (1, 1), compressed_type, compress).of_bytes(),
    Function::new("uncompress", (1, 1), uncompressed_type, uncompress).of_bytes(),
    Function::new("uncompressed_length", (1, 1), typings::bigint_or_null, uncompressed_length).of_bytes(),
];

/// zlib's default.
const LEVEL: i32 = 6;

const LENGTH_BYTES: usize = 4;

fn compressed_type(typing: &mut Typing<'_>) -> Result<TypeInfo> {
    let bytes = u64::from(typing.length(0)) * typing.args[0].ty.charset().bytes_max() as u64;
    let bytes = bytes + bytes / 1000 + 32;
    Ok(TypeInfo::string(bytes.min(u64::from(LENGTH_MAX)) as u32, CollationId::BINARY, Coercibility::Literal))
}

fn uncompressed_type(typing: &mut Typing<'_>) -> Result<TypeInfo> {
    let bytes = typing.max_allowed_packet_bytes.min(u64::from(LENGTH_MAX));
    Ok(TypeInfo::string(bytes as u32, CollationId::BINARY, Coercibility::Literal))
}

fn compress<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let text = not_null!(call.text(0)?);
    if text.is_empty() {
        return Ok(Datum::Bytes(text));
    }
    let level = CompressionLvl::new(LEVEL).map_err(|_| Error::internal("a level of compression"))?;
    let mut compressor = Compressor::new(level);
    let bytes_max = compressor.zlib_compress_bound(text.len());
    if !call.fits("compress", (bytes_max + LENGTH_BYTES + 1) as u64) {
        return Ok(Datum::Null);
    }
    let mut out = (text.len() as u32).to_le_bytes().to_vec();
    out.resize(LENGTH_BYTES + bytes_max, 0);
    let bytes = compressor.zlib_compress(&text, &mut out[LENGTH_BYTES..]);
    let bytes = bytes.map_err(|_| Error::internal("a compressed text beyond its bound"))?;
    out.truncate(LENGTH_BYTES + bytes);
    if out.last() == Some(&b' ') {
        out.push(b'.');
    }
    Ok(Datum::bytes(out))
}

/// The length in front; the top bits are not part of it.
fn length_of(compressed: &[u8]) -> Option<u32> {
    let length: &[u8; LENGTH_BYTES] = compressed.first_chunk()?;
    (compressed.len() > LENGTH_BYTES).then_some(u32::from_le_bytes(*length) & 0x3FFF_FFFF)
}

fn uncompress<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let compressed = not_null!(call.text(0)?);
    if compressed.is_empty() {
        return Ok(Datum::Bytes(compressed));
    }
    let corrupted = || {
        call.context.warn(Error::new(1259, b"HY000", "ZLIB: Input data corrupted"));
        Ok(Datum::Null)
    };
    let Some(length) = length_of(&compressed) else { return corrupted() };
    let bytes_max = call.context.max_allowed_packet_bytes;
    if u64::from(length) > bytes_max {
        let text = format!(
            "Uncompressed data size too large; the maximum size is {bytes_max} (probably, length of uncompressed data was \
             corrupted)"
        );
        call.context.warn(Error::new(1256, b"HY000", text));
        return Ok(Datum::Null);
    }
    let mut out = vec![0; length as usize];
    match Decompressor::new().zlib_decompress(&compressed[LENGTH_BYTES..], &mut out) {
        Ok(bytes) if bytes == out.len() => Ok(Datum::bytes(out)),
        _ => corrupted(),
    }
}

fn uncompressed_length<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let compressed = not_null!(call.text(0)?);
    if compressed.is_empty() {
        return Ok(Datum::Int(0));
    }
    match length_of(&compressed) {
        Some(length) => Ok(Datum::Int(i64::from(length))),
        None => {
            call.context.warn(Error::new(1259, b"HY000", "ZLIB: Input data corrupted"));
            Ok(Datum::Int(0))
        }
    }
}
