//! Functions that only MariaDB has: JSON_EXISTS, JSON_QUERY, JSON_COMPACT, JSON_LOOSE, JSON_DETAILED, JSON_NORMALIZE,
//! JSON_EQUALS. Their results are texts, since MariaDB has no type for JSON. Members come in the order of a JSON value
//! here, not as they were written; JSON_NORMALIZE sorts them by their names, as MariaDB does.

use std::cmp::Ordering;

use format::value::{Json, write_json_string};

use super::arguments::{document, path, text_type, truth_type};
use super::{Call, Function, not_null};
use crate::error::Result;
use crate::expression::Datum;

pub const FUNCTIONS: &[Function] = &[
    Function::new("json_exists", (2, 2), truth_type, json_exists),
    Function::new("json_query", (2, 2), text_type, json_query),
    Function::new("json_compact", (1, 1), text_type, json_compact),
    Function::new("json_loose", (1, 1), text_type, json_loose),
    Function::new("json_detailed", (1, 2), text_type, json_detailed),
    Function::new("json_normalize", (1, 1), text_type, json_normalize),
    Function::new("json_equals", (2, 2), truth_type, json_equals),
];

fn json_exists<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let root = not_null!(document(call, 0)?);
    Ok(not_null!(path(call, 1)?).is_found(&root).into())
}

/// The object or array at a path; NULL for scalars.
fn json_query<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let root = not_null!(document(call, 0)?);
    let path = not_null!(path(call, 1)?);
    let found = path.find(&root).into_iter().find(|value| !value.is_scalar());
    Ok(found.map_or(Datum::Null, |value| Datum::bytes(value.to_text())))
}

/// Whether a member is followed by a line or a space, and how far parts stand in.
#[derive(Clone, Copy)]
enum Style {
    Compact,
    /// Sorted by name, numbers in one form.
    Normal,
    Detailed {
        tab: usize,
    },
}

fn written<'a>(call: &Call<'a>, style: Style) -> Result<Datum<'a>> {
    let root = not_null!(document(call, 0)?);
    let mut out = Vec::new();
    write(&root, style, 0, &mut out);
    match call.fits(call.name, out.len() as u64) {
        true => Ok(Datum::bytes(out)),
        false => Ok(Datum::Null),
    }
}

fn json_compact<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    written(call, Style::Compact)
}

fn json_normalize<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    written(call, Style::Normal)
}

fn json_loose<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    Ok(Datum::bytes(not_null!(document(call, 0)?).to_text()))
}

fn json_detailed<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let tab = match call.has(1) {
        true => not_null!(call.int(1)?).clamp(0, 16) as usize,
        false => 4,
    };
    written(call, Style::Detailed { tab })
}

fn write(value: &Json, style: Style, level: usize, out: &mut Vec<u8>) {
    let new_line = |level: usize, out: &mut Vec<u8>| {
        if let Style::Detailed { tab } = style {
            out.push(b'\n');
            out.resize(out.len() + tab * level, b' ');
        }
    };
    let separate = |at: usize, out: &mut Vec<u8>| {
        if at > 0 {
            out.push(b',');
        }
        new_line(level + 1, out);
    };
    match value {
        Json::Array(elements) => {
            out.push(b'[');
            for (at, element) in elements.iter().enumerate() {
                separate(at, out);
                write(element, style, level + 1, out);
            }
            if !elements.is_empty() {
                new_line(level, out);
            }
            out.push(b']');
        }
        Json::Object(members) => {
            let mut members: Vec<&(String, Json)> = members.iter().collect();
            if matches!(style, Style::Normal) {
                members.sort_by(|(one, _), (other, _)| one.cmp(other));
            }
            out.push(b'{');
            for (at, (name, value)) in members.iter().enumerate() {
                separate(at, out);
                write_json_string(name, out);
                out.extend_from_slice(if matches!(style, Style::Detailed { .. }) { b": " } else { b":" });
                // An object or array begins a line of its own.
                if !value.is_scalar() {
                    new_line(level + 1, out);
                }
                write(value, style, level + 1, out);
            }
            new_line(level, out);
            out.push(b'}');
        }
        Json::Int(_) | Json::UInt(_) | Json::Double(_) | Json::Decimal(_) if matches!(style, Style::Normal) => {
            write_scientific(&value.to_text(), out);
        }
        scalar => scalar.write(out),
    }
}

/// A number with one digit in front of the point, and its exponent: 314.0 is 3.14E2.
fn write_scientific(text: &[u8], out: &mut Vec<u8>) {
    let text = String::from_utf8_lossy(text);
    let (sign, text) = text.strip_prefix('-').map_or(("", &*text), |text| ("-", text));
    let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
    let (integer, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits: String = [integer, fraction].concat();
    let zeros = digits.bytes().take_while(|digit| *digit == b'0').count();
    let significant = digits[zeros..].trim_end_matches('0');
    if significant.is_empty() {
        return out.extend_from_slice(b"0.0E0");
    }
    let exponent = exponent.parse::<i64>().unwrap_or(0) + integer.len() as i64 - 1 - zeros as i64;
    let (first, rest) = significant.split_at(1);
    let rest = if rest.is_empty() { "0" } else { rest };
    out.extend_from_slice(format!("{sign}{first}.{rest}E{exponent}").as_bytes());
}

fn json_equals<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let one = not_null!(document(call, 0)?);
    let other = not_null!(document(call, 1)?);
    Ok((one.compare(&other) == Ordering::Equal).into())
}
