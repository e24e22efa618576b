//! Strings as bytes and as numbers, and back: HEX, CHAR, FORMAT, FORMAT_PICO_TIME, the lengths.

use std::borrow::Cow;

use format::collation::{Charset, CollationId, convert};
use format::value::write_double_fixed;

use super::address::wrong_value;
use super::string::LENGTH_MAX;
use super::{Call, Function, MANY, Typing, not_null, typings};
use crate::error::{Error, Result};
use crate::expression::Datum;
use crate::expression::datum::Number;
use crate::locales::Locale;
use crate::statements::sums::time_with_unit;
use crate::types::{Coercibility, TypeInfo};

pub const FUNCTIONS: &[Function] = &[
    Function::new("hex", (1, 1), hex_type, hex).of_bytes(),
    Function::new("unhex", (1, 1), unhex_type, unhex),
    Function::new("char", (1, MANY), char_type, char_).of_any_text(),
    Function::new("chr", (1, 1), char_type, char_).of_any_text(),
    Function::new("format", (2, 3), format_type, format_number),
    Function::new("format_pico_time", (1, 1), pico_time_type, format_pico_time),
    Function::new("load_file", (1, 1), file_type, load_file).volatile(),
    Function::new("format_bytes", (1, 1), pico_time_type, format_bytes),
    Function::new("sys.format_bytes", (1, 1), pico_time_type, sys_format_bytes),
    Function::new("sys.format_time", (1, 1), pico_time_type, format_time),
    Function::new("length", (1, 1), typings::int, length).of_bytes(),
    Function::new("octet_length", (1, 1), typings::int, length).of_bytes(),
    Function::new("bit_length", (1, 1), typings::bigint, bit_length).of_bytes(),
    Function::new("char_length", (1, 1), typings::int, char_length).of_bytes(),
    Function::new("character_length", (1, 1), typings::int, char_length).of_bytes(),
    Function::new("ascii", (1, 1), typings::int, ascii).of_bytes(),
    Function::new("ord", (1, 1), typings::bigint, ord).of_bytes(),
];

fn hex_type(typing: &mut Typing<'_>) -> Result<TypeInfo> {
    let bytes = u64::from(typing.length(0)) * u64::from(typing.args[0].ty.charset().bytes_max());
    let nullable = typing.any_nullable();
    Ok(typing.grown(typing.text((bytes * 2).clamp(16, u64::from(LENGTH_MAX)) as u32).nullable(nullable)))
}

fn unhex_type(typing: &mut Typing<'_>) -> Result<TypeInfo> {
    Ok(TypeInfo::binary_string(typing.length(0).div_ceil(2)))
}

/// The binder types CHAR itself, for its USING; this is for calls by another way.
fn char_type(typing: &mut Typing<'_>) -> Result<TypeInfo> {
    Ok(TypeInfo::binary_string(typing.args.len() as u32 * 4))
}

fn format_type(typing: &mut Typing<'_>) -> Result<TypeInfo> {
    typing.numbers();
    // A number that is not exact may have 309 digits before the point, however short it is written.
    let arg = &typing.args[0].ty;
    let digits = if arg.is_floating() || arg.is_string() { 310 } else { arg.length.min(310) };
    Ok(typing.text(digits + digits / 3 + 32))
}

fn pico_time_type(typing: &mut Typing<'_>) -> Result<TypeInfo> {
    Ok(typing.text(17))
}

/// Picoseconds in the largest unit of which there is one.
fn format_pico_time<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    const UNITS: [(f64, &str); 8] = [
        (86_400e12, "d"),
        (3_600e12, "h"),
        (60e12, "min"),
        (1e12, "s"),
        (1e9, "ms"),
        (1e6, "us"),
        (1e3, "ns"),
        (1.0, "ps"),
    ];
    let value = call.arg(0)?;
    if value.is_null() {
        return Ok(Datum::Null);
    }
    let picos = value.to_f64(call.context)?;
    let (unit, name) = UNITS.into_iter().find(|(unit, _)| picos.abs() >= *unit).unwrap_or(UNITS[7]);
    let count = picos / unit;
    Ok(Datum::text(match name {
        "ps" => format!("{count:3.0} ps"),
        name if count.abs() >= 100_000.0 => {
            let text = format!("{count:.2e}");
            let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
            format!("{mantissa}e+{exponent:0>2} {name}")
        }
        name => format!("{count:4.2} {name}"),
    }))
}

/// FORMAT_BYTES()
fn format_bytes<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    bytes_with_unit(call, 4)
}

/// The same, but bytes alone are not aligned.
fn sys_format_bytes<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    bytes_with_unit(call, 0)
}

fn bytes_with_unit<'a>(call: &Call<'a>, width: usize) -> Result<Datum<'a>> {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let value = call.arg(0)?;
    if value.is_null() {
        return Ok(Datum::Null);
    }
    let bytes = value.to_f64(call.context)?;
    let unit = (0..UNITS.len()).rev().find(|unit| bytes.abs() >= 1024f64.powi(*unit as i32 + 1));
    Ok(Datum::text(match unit {
        Some(unit) => format!("{:.2} {}", bytes / 1024f64.powi(unit as i32 + 1), UNITS[unit]),
        None => format!("{bytes:width$.0} bytes"),
    }))
}

/// `sys.format_time()`: like FORMAT_PICO_TIME, with the units of the sys schema.
fn format_time<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let value = call.arg(0)?;
    if value.is_null() {
        return Ok(Datum::Null);
    }
    Ok(Datum::text(time_with_unit(value.to_f64(call.context)?)))
}

fn hex<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let value = call.arg(0)?;
    let bytes: Cow<'_, [u8]> = match &value {
        Datum::Null => return Ok(Datum::Null),
        // Of a DOUBLE below all BIGINTs as of one above them: all bits.
        Datum::Double(_) if value.to_f64(call.context)? < i64::MIN as f64 => {
            return Ok(Datum::text(format!("{:X}", u64::MAX)));
        }
        Datum::Decimal(_) => return Ok(Datum::text(format!("{:X}", value.to_i64(call.context)?))),
        Datum::Int(_) | Datum::UInt(_) | Datum::Double(_) => {
            return Ok(Datum::text(format!("{:X}", value.to_u64(call.context)?)));
        }
        _ => value.into_text(call.arg_type(0)),
    };
    if !call.fits("hex", bytes.len() as u64 * 2) {
        return Ok(Datum::Null);
    }
    let mut out = Vec::with_capacity(bytes.len() * 2);
    for byte in bytes.iter() {
        out.extend([byte >> 4, byte & 15].map(|digit| b"0123456789ABCDEF"[digit as usize]));
    }
    Ok(Datum::bytes(out))
}

fn unhex<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let text = not_null!(call.text(0)?);
    let mut digits = Vec::with_capacity(text.len() + 1);
    if text.len() % 2 == 1 {
        digits.push(0);
    }
    for byte in text.iter() {
        match (*byte as char).to_digit(16) {
            Some(digit) => digits.push(digit as u8),
            None => {
                call.context.doubt(wrong_value(call, &text))?;
                return Ok(Datum::Null);
            }
        }
    }
    Ok(Datum::bytes(digits.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect()))
}

/// CHAR(n, ...): the bytes of the numbers, in the character set of USING.
fn char_<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let charset = call.charset();
    let mut out = Vec::with_capacity(call.args.len());
    for index in 0..call.args.len() {
        let value = call.arg(index)?;
        if value.is_null() {
            if call.name == "chr" {
                return Ok(Datum::Null);
            }
            continue;
        }
        let bytes = (value.to_i64(call.context)? as u32).to_be_bytes();
        let leading = bytes.iter().take_while(|byte| **byte == 0).count().min(3);
        convert(&bytes[leading..], Charset::Binary, charset, &mut out);
    }
    let valid = charset.well_formed_prefix(&out);
    if valid < out.len() {
        let hex: String = out[valid..].iter().take(6).map(|byte| format!("\\x{byte:02X}")).collect();
        call.context.warn(Error::invalid_character_string(charset.name(), &hex));
        if call.context.mode.is_strict() {
            return Ok(Datum::Null);
        }
        out.truncate(valid);
    }
    Ok(Datum::bytes(out))
}

/// FORMAT(number, decimals, locale): 1,234.50
fn format_number<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let value = not_null!(call.arg(0)?.to_number(call.arg_type(0), call.context)?);
    let decimals = not_null!(call.int(1)?).clamp(0, 30) as u8;
    let mut locale = Locale::english();
    if call.has(2)
        && let Some(name) = call.text(2)?
    {
        let name = String::from_utf8_lossy(&name);
        match Locale::find(&name) {
            Some(found) => locale = found,
            None => call.context.warn(Error::unknown_locale(&name)),
        }
    }
    let mut digits = Vec::new();
    match value {
        Number::Double(value) => write_double_fixed(value, decimals, &mut digits),
        exact => match exact.to_decimal().round(i32::from(decimals)) {
            Ok(value) => value.write(&mut digits),
            Err(_) => return Err(Error::out_of_range("DECIMAL", "format")),
        },
    }
    let sign = digits.starts_with(b"-") as usize;
    let point = digits.iter().position(|byte| *byte == b'.').unwrap_or(digits.len());
    let mut out = Vec::with_capacity(digits.len() * 4 / 3 + 1);
    for (at, byte) in digits.iter().enumerate() {
        if let Some((divider, length)) = locale.groups
            && at > sign
            && at < point
            && (point - at == 3 || point - at > 3 && (point - at - 3) % length == 0)
        {
            out.push(divider);
        }
        out.push(if *byte == b'.' { locale.point } else { *byte });
    }
    Ok(Datum::bytes(out))
}

fn length<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    Ok(Datum::Int(not_null!(call.text(0)?).len() as i64))
}

fn bit_length<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    Ok(Datum::Int(not_null!(call.text(0)?).len() as i64 * 8))
}

fn char_length<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let text = not_null!(call.text(0)?);
    Ok(Datum::Int(call.charset_of(0).char_count(&text) as i64))
}

fn ascii<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let text = not_null!(call.text(0)?);
    Ok(Datum::Int(text.first().map_or(0, |byte| i64::from(*byte))))
}

/// The bytes of the first character as one number.
fn ord<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let text = not_null!(call.text(0)?);
    let length = call.charset_of(0).decode_char(&text).map_or(text.len().min(1), |(_, length)| length);
    Ok(Datum::Int(text[..length].iter().fold(0, |number, byte| number << 8 | i64::from(*byte))))
}

/// A file may have as many bytes as a packet.
fn file_type(typing: &mut Typing<'_>) -> Result<TypeInfo> {
    let bytes = typing.max_allowed_packet_bytes.min(u64::from(u32::MAX)) as u32;
    Ok(TypeInfo::string(bytes, CollationId::BINARY, Coercibility::Literal))
}

/// The bytes of a file of the server; NULL if it is not there, or may not be read.
fn load_file<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let name = not_null!(call.text(0)?);
    let name = String::from_utf8_lossy(&name);
    let bytes_max = call.context.max_allowed_packet_bytes;
    Ok(call.context.session.load_file(&name, bytes_max).map_or(Datum::Null, Datum::bytes))
}
