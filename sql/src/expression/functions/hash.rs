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
    let mut out = Vec::with_capacity(bytes.len() * 2);
    for byte in bytes {
        out.extend([byte >> 4, byte & 15].map(|digit| b"0123456789abcdef"[digit as usize]));
    }
    Datum::bytes(out)
}

fn md5<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let text = not_null!(call.text(0)?);
    Ok(hex(&md5_of(&text, &|| call.look())?))
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
    Ok(hex(&sha1::Sha1::digest(&text)))
}

fn sha2<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let text = not_null!(call.text(0)?);
    Ok(match not_null!(call.int(1)?) {
        0 | 256 => hex(&sha2::Sha256::digest(&text)),
        224 => hex(&sha2::Sha224::digest(&text)),
        384 => hex(&sha2::Sha384::digest(&text)),
        512 => hex(&sha2::Sha512::digest(&text)),
        _ => Datum::Null,
    })
}

/// The table of a reflected CRC-32.
const fn crc_table(polynomial: u32) -> [u32; 256] {
    let mut table = [0u32; 256];
    let mut index = 0;
    while index < 256 {
        let mut value = index as u32;
        let mut bit = 0;
        while bit < 8 {
            value = if value & 1 == 1 { value >> 1 ^ polynomial } else { value >> 1 };
            bit += 1;
        }
        table[index] = value;
        index += 1;
    }
    table
}

/// The CRC-32 of the last argument, going on from that of what is before it (MariaDB) if there are two.
fn crc<'a>(call: &Call<'a>, table: &[u32; 256]) -> Result<Datum<'a>> {
    let before = if call.args.len() > 1 { not_null!(call.int(0)?) as u32 } else { 0 };
    let text = not_null!(call.text(call.args.len() - 1)?);
    let sum = text.iter().fold(!before, |sum, byte| sum >> 8 ^ table[((sum ^ *byte as u32) & 0xFF) as usize]);
    Ok(Datum::UInt(!sum as u64))
}

/// That of zip and Ethernet.
fn crc32<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    const TABLE: [u32; 256] = crc_table(0xEDB8_8320);
    crc(call, &TABLE)
}

/// Castagnoli's, that of iSCSI.
fn crc32c<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    const TABLE: [u32; 256] = crc_table(0x82F6_3B78);
    crc(call, &TABLE)
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

/// A block has 64 bytes.
const BLOCKS_BETWEEN: usize = LONG_BYTES / 64;

/// MD5 (RFC 1321). `look` is called now and then.
fn md5_of(text: &[u8], look: &dyn Fn() -> Result<()>) -> Result<[u8; 16]> {
    const SHIFTS: [[u32; 4]; 4] = [[7, 12, 17, 22], [5, 9, 14, 20], [4, 11, 16, 23], [6, 10, 15, 21]];
    let mut state: [u32; 4] = [0x6745_2301, 0xEFCD_AB89, 0x98BA_DCFE, 0x1032_5476];
    let mut message = text.to_vec();
    message.push(0x80);
    while message.len() % 64 != 56 {
        message.push(0);
    }
    message.extend((text.len() as u64).wrapping_mul(8).to_le_bytes());
    // The constants are the sines of the integers.
    let constants: [u32; 64] = std::array::from_fn(|step| (((step + 1) as f64).sin().abs() * 4_294_967_296.0) as u32);
    for (number, block) in message.chunks_exact(64).enumerate() {
        if number % BLOCKS_BETWEEN == BLOCKS_BETWEEN - 1 {
            look()?;
        }
        let mut words = [0u32; 16];
        for (word, bytes) in words.iter_mut().zip(block.chunks_exact(4)) {
            *word = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        }
        let [mut a, mut b, mut c, mut d] = state;
        for (step, constant) in constants.iter().enumerate() {
            let (mix, word) = match step / 16 {
                0 => ((b & c) | (!b & d), step),
                1 => ((d & b) | (!d & c), (5 * step + 1) % 16),
                2 => (b ^ c ^ d, (3 * step + 5) % 16),
                _ => (c ^ (b | !d), 7 * step % 16),
            };
            let sum = a.wrapping_add(mix).wrapping_add(*constant).wrapping_add(words[word]);
            let rotated = sum.rotate_left(SHIFTS[step / 16][step % 4]);
            (a, d, c, b) = (d, c, b, b.wrapping_add(rotated));
        }
        for (total, part) in state.iter_mut().zip([a, b, c, d]) {
            *total = total.wrapping_add(part);
        }
    }
    let mut digest = [0; 16];
    for (bytes, word) in digest.chunks_exact_mut(4).zip(state) {
        bytes.copy_from_slice(&word.to_le_bytes());
    }
    Ok(digest)
}
