//! Digests, checksums and encodings: MD5, SHA, CRC32, BASE64.

use format::collation::CollationId;
use sha1::Digest;

use super::string::LENGTH_MAX;
use super::{Call, Function, LONG_BYTES, Typing, not_null, typings};
use crate::base64;
use crate::error::{Error, Result};
use crate::expression::Datum;
use crate::parser;
use crate::statements::digest::{self, digest_text};
use crate::types::{Coercibility, TypeInfo};

/// `max_digest_length`.
const DIGEST_BYTES_MAX: usize = 1024;

pub const FUNCTIONS: &[Function] = &[
    Function::new("md5", (1, 1), digest_type, md5).of_bytes(),
    Function::new("sha1", (1, 1), digest_type, sha1).of_bytes(),
    Function::new("sha", (1, 1), digest_type, sha1).of_bytes(),
    Function::new("sha2", (2, 2), digest_type, sha2).of_bytes(),
    Function::new("crc32", (1, 2), |_| Ok(TypeInfo::int(10).unsigned()), crc32).of_bytes(),
    Function::new("crc32c", (1, 2), typings::bigint_unsigned, crc32c).of_bytes(),
    Function::new("to_base64", (1, 1), base64_type, to_base64).of_bytes(),
    Function::new("from_base64", (1, 1), from_base64_type, from_base64),
    Function::new("statement_digest", (1, 1), digest_type, statement_digest),
    Function::new("statement_digest_text", (1, 1), digest_text_type, statement_digest_text),
];

fn digest_type(typing: &mut Typing<'_>) -> Result<TypeInfo> {
    let length = match typing.name {
        "md5" => 32,
        "sha2" => 128,
        "statement_digest" => 64,
        _ => 40,
    };
    Ok(typing.text(length))
}

fn base64_type(typing: &mut Typing<'_>) -> Result<TypeInfo> {
    let bytes = typing.length(0) as u64 * typing.args[0].ty.charset().bytes_max() as u64;
    Ok(typing.text((bytes.div_ceil(3) * 4 * 77 / 76).min(u64::from(LENGTH_MAX)) as u32))
}

fn from_base64_type(typing: &mut Typing<'_>) -> Result<TypeInfo> {
    Ok(TypeInfo::string(typing.length(0) / 4 * 3 + 3, CollationId::BINARY, Coercibility::Literal))
}

fn hex<'a>(bytes: &[u8]) -> Datum<'a> {
    let mut out = vec![0; bytes.len() * 2];
    for (digits, byte) in out.chunks_exact_mut(2).zip(bytes) {
        digits.copy_from_slice(&[byte >> 4, byte & 15].map(|digit| b"0123456789abcdef"[usize::from(digit)]));
    }
    Datum::bytes(out)
}

/// The digits of a text's digest; KILL is heard meanwhile.
fn digest_of<'a, D: Digest>(call: &Call<'_>, text: &[u8]) -> Result<Datum<'a>> {
    let mut digest = D::new();
    for (number, part) in text.chunks(LONG_BYTES).enumerate() {
        if number > 0 {
            call.look()?;
        }
        digest.update(part);
    }
    Ok(hex(&digest.finalize()))
}

fn md5<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let text = not_null!(call.text(0)?);
    digest_of::<md5::Md5>(call, &text)
}

fn digest_text_type(typing: &mut Typing<'_>) -> Result<TypeInfo> {
    Ok(typing.text(LENGTH_MAX))
}

/// The normalised text of a statement, which has to be one.
fn normalized(call: &Call<'_>) -> Result<Option<String>> {
    let Some(text) = call.text(0)? else { return Ok(None) };
    let mode = call.context.mode;
    match parser::parse_first(&text, mode) {
        Ok((Some(_), _)) => Ok(Some(digest_text(&text, mode, DIGEST_BYTES_MAX))),
        _ => Err(Error::unparsed_digest(&String::from_utf8_lossy(&text))),
    }
}

fn statement_digest<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    Ok(normalized(call)?.map_or(Datum::Null, |text| Datum::text(digest::hex(&digest::hash(&text)))))
}

fn statement_digest_text<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    Ok(normalized(call)?.map_or(Datum::Null, Datum::text))
}

fn sha1<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let text = not_null!(call.text(0)?);
    digest_of::<sha1::Sha1>(call, &text)
}

fn sha2<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let text = not_null!(call.text(0)?);
    match not_null!(call.int(1)?) {
        0 | 256 => digest_of::<sha2::Sha256>(call, &text),
        224 => digest_of::<sha2::Sha224>(call, &text),
        384 => digest_of::<sha2::Sha384>(call, &text),
        512 => digest_of::<sha2::Sha512>(call, &text),
        _ => Ok(Datum::Null),
    }
}

/// The checksum of the last argument by `append`, going on from that of what is before it (MariaDB) if there are two.
fn crc<'a>(call: &Call<'a>, append: fn(u32, &[u8]) -> u32) -> Result<Datum<'a>> {
    let before = if call.args.len() > 1 { not_null!(call.int(0)?) as u32 } else { 0 };
    let text = not_null!(call.text(call.args.len() - 1)?);
    Ok(Datum::UInt(append(before, &text).into()))
}

/// That of zip and Ethernet.
fn crc32<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    crc(call, |before, text| {
        let mut sum = crc32fast::Hasher::new_with_initial(before);
        sum.update(text);
        sum.finalize()
    })
}

/// Castagnoli's, that of iSCSI.
fn crc32c<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    crc(call, ::crc32c::crc32c_append)
}

const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Lines of 76 characters, as MySQL writes them.
fn to_base64<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let text = not_null!(call.text(0)?);
    let lines = text.len().div_ceil(57);
    let bytes = text.len().div_ceil(3) * 4 + lines.saturating_sub(1);
    if !call.fits("to_base64", bytes as u64) {
        return Ok(Datum::Null);
    }
    let mut out = Vec::with_capacity(bytes);
    for (line_index, line) in text.chunks(57).enumerate() {
        if line_index > 0 {
            out.push(b'\n');
        }
        for group in line.chunks(3) {
            let bits = (group[0] as u32) << 16
                | (group.get(1).copied().unwrap_or(0) as u32) << 8
                | group.get(2).copied().unwrap_or(0) as u32;
            for place in 0..4 {
                let digit = BASE64[(bits >> (18 - 6 * place) & 63) as usize];
                out.push(if place <= group.len() { digit } else { b'=' });
            }
        }
    }
    Ok(Datum::bytes(out))
}

fn from_base64<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let text = not_null!(call.text(0)?);
    Ok(base64::decode(&text, false).map_or(Datum::Null, Datum::bytes))
}
