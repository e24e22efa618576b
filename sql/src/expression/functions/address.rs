//! Addresses and names of fixed forms: INET6_ATON and its kin, UUIDs.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use format::collation::CollationId;

use super::{Call, Function, Typing, not_null};
use crate::error::{Error, Result};
use crate::expression::Datum;
use crate::expression::datum::quoted;
use crate::types::{Coercibility, TypeInfo};

pub const FUNCTIONS: &[Function] = &[
    Function::new("inet6_aton", (1, 1), address_type, inet6_aton),
    Function::new("inet6_ntoa", (1, 1), address_text_type, inet6_ntoa),
    Function::new("is_ipv4_compat", (1, 1), truth_type, |call| {
        is_inside(call, |address| {
            let words = address.segments();
            words[..6] == [0; 6] && (words[6] != 0 || words[7] > 1)
        })
    }),
    Function::new("is_ipv4_mapped", (1, 1), truth_type, |call| {
        is_inside(call, |address| address.segments()[..6] == [0, 0, 0, 0, 0, 0xFFFF])
    }),
    Function::new("uuid_to_bin", (1, 2), uuid_type, uuid_to_bin),
    Function::new("bin_to_uuid", (1, 2), uuid_text_type, bin_to_uuid),
    Function::new("is_uuid", (1, 1), truth_or_null_type, is_uuid),
];

fn address_type(_: &mut Typing<'_>) -> Result<TypeInfo> {
    Ok(TypeInfo::string(16, CollationId::BINARY, Coercibility::Literal))
}

fn uuid_type(typing: &mut Typing<'_>) -> Result<TypeInfo> {
    address_type(typing)
}

fn address_text_type(typing: &mut Typing<'_>) -> Result<TypeInfo> {
    Ok(typing.text(39))
}

fn uuid_text_type(typing: &mut Typing<'_>) -> Result<TypeInfo> {
    Ok(typing.text(36))
}

fn truth_type(_: &mut Typing<'_>) -> Result<TypeInfo> {
    Ok(TypeInfo::boolean().not_null())
}

fn truth_or_null_type(_: &mut Typing<'_>) -> Result<TypeInfo> {
    Ok(TypeInfo::boolean())
}

/// ER_WRONG_VALUE_FOR_TYPE
pub fn wrong_value(call: &Call<'_>, value: &[u8]) -> Error {
    let text = format!("Incorrect string value: '{}' for function {}", quoted(value), call.name);
    Error::new(1411, b"HY000", text)
}

/// An address as people write it. The numbers of an IPv4 address may begin with zeros, up to three digits each.
pub fn parsed_address(text: &[u8]) -> Option<IpAddr> {
    let text = std::str::from_utf8(text).ok()?;
    let (words, dotted) = match text.rsplit_once(':') {
        Some((_, tail)) if !tail.contains('.') => return text.parse().ok(),
        Some((_, tail)) => text.split_at(text.len() - tail.len()),
        None => ("", text),
    };
    let mut octets = [0; 4];
    let mut parts = dotted.split('.');
    for octet in &mut octets {
        let part = parts.next()?;
        let is_number = (1..=3).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit());
        *octet = is_number.then(|| part.parse().ok()).flatten()?;
    }
    let address = parts.next().is_none().then(|| Ipv4Addr::from(octets))?;
    match words.is_empty() {
        true => Some(IpAddr::V4(address)),
        false => format!("{words}{address}").parse().ok(),
    }
}

/// As MySQL prints it: the longest run of zeros is left out, be it a single one.
fn written_ipv6(address: Ipv6Addr) -> String {
    let (words, octets) = (address.segments(), address.octets());
    let tail = Ipv4Addr::new(octets[12], octets[13], octets[14], octets[15]);
    // One that an IPv4 address is the end of is written so; `::1` is none.
    if words[..6] == [0; 6] && words[6] != 0 {
        return format!("::{tail}");
    }
    if words[..6] == [0, 0, 0, 0, 0, 0xFFFF] {
        return format!("::ffff:{tail}");
    }
    let run = |from: usize| words[from..].iter().take_while(|word| **word == 0).count();
    let longest = (0..8).rev().max_by_key(|from| run(*from)).unwrap_or(0);
    let join = |words: &[u16]| words.iter().map(|word| format!("{word:x}")).collect::<Vec<_>>().join(":");
    match run(longest) {
        0 => join(&words),
        zeros => format!("{}::{}", join(&words[..longest]), join(&words[longest + zeros..])),
    }
}

/// 4 bytes of an IPv4 address, 16 of an IPv6 address.
fn inet6_aton<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let text = not_null!(call.text(0)?);
    match parsed_address(&text) {
        Some(IpAddr::V4(address)) => Ok(Datum::bytes(address.octets().to_vec())),
        Some(IpAddr::V6(address)) => Ok(Datum::bytes(address.octets().to_vec())),
        None => {
            call.context.doubt(wrong_value(call, &text))?;
            Ok(Datum::Null)
        }
    }
}

fn inet6_ntoa<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let bytes = not_null!(call.text(0)?);
    if !call.arg_type(0).is_string() || !call.arg_type(0).is_binary() {
        return Ok(Datum::Null);
    }
    if let Ok(octets) = <[u8; 4]>::try_from(&*bytes) {
        return Ok(Datum::text(Ipv4Addr::from(octets).to_string()));
    }
    let Ok(octets) = <[u8; 16]>::try_from(&*bytes) else {
        call.context.doubt(wrong_value(call, &bytes))?;
        return Ok(Datum::Null);
    };
    Ok(Datum::text(written_ipv6(Ipv6Addr::from(octets))))
}

fn is_inside<'a>(call: &Call<'a>, is: fn(&Ipv6Addr) -> bool) -> Result<Datum<'a>> {
    let octets = call.text(0)?.and_then(|bytes| <[u8; 16]>::try_from(&*bytes).ok());
    Ok(octets.is_some_and(|octets| is(&Ipv6Addr::from(octets))).into())
}

/// The bytes of a UUID: 32 hexadecimal digits, with hyphens and braces or without.
fn parsed_uuid(text: &[u8]) -> Option<[u8; 16]> {
    let text = match text {
        [b'{', inside @ .., b'}'] if inside.len() == 36 => inside,
        text => text,
    };
    let digits: Vec<u8> = match text.len() {
        32 => text.to_vec(),
        36 if [8, 13, 18, 23].iter().all(|at| text[*at] == b'-') => text
            .iter()
            .copied()
            .enumerate()
            .filter(|(at, _)| ![8, 13, 18, 23].contains(at))
            .map(|(_, digit)| digit)
            .collect(),
        _ => return None,
    };
    let mut bytes = [0; 16];
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks(2)) {
        let digit = |at: usize| char::from(pair[at]).to_digit(16);
        *byte = (digit(0)? << 4 | digit(1)?) as u8;
    }
    Some(bytes)
}

/// Whether the parts of the time stand in the order in which they grow.
fn swaps(call: &Call<'_>) -> Result<bool> {
    Ok(call.has(1) && call.int(1)?.is_some_and(|flag| flag != 0))
}

fn uuid_to_bin<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let text = not_null!(call.text(0)?);
    let mut bytes = parsed_uuid(&text).ok_or_else(|| wrong_value(call, &text))?;
    if swaps(call)? {
        // low(4) mid(2) high(2)  ->  high mid low
        let (low, mid, high) = ([bytes[0], bytes[1], bytes[2], bytes[3]], [bytes[4], bytes[5]], [bytes[6], bytes[7]]);
        bytes[..2].copy_from_slice(&high);
        bytes[2..4].copy_from_slice(&mid);
        bytes[4..8].copy_from_slice(&low);
    }
    Ok(Datum::bytes(bytes.to_vec()))
}

fn bin_to_uuid<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let given = not_null!(call.text(0)?);
    let mut bytes = <[u8; 16]>::try_from(&*given).map_err(|_| wrong_value(call, &given))?;
    if swaps(call)? {
        let (high, mid, low) = ([bytes[0], bytes[1]], [bytes[2], bytes[3]], [bytes[4], bytes[5], bytes[6], bytes[7]]);
        bytes[..4].copy_from_slice(&low);
        bytes[4..6].copy_from_slice(&mid);
        bytes[6..8].copy_from_slice(&high);
    }
    let mut out = String::with_capacity(36);
    for (at, byte) in bytes.iter().enumerate() {
        if [4, 6, 8, 10].contains(&at) {
            out.push('-');
        }
        out.push_str(&format!("{byte:02x}"));
    }
    Ok(Datum::text(out))
}

fn is_uuid<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    Ok(parsed_uuid(&not_null!(call.text(0)?)).is_some().into())
}
