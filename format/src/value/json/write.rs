//! Values as MySQL prints them.

use super::tree::Json;
use crate::value::{write_double, write_i64, write_u64};

impl Json {
    /// Appends the normal form.
    pub fn write(&self, out: &mut Vec<u8>) {
        match self {
            Json::Null => out.extend_from_slice(b"null"),
            Json::Bool(true) => out.extend_from_slice(b"true"),
            Json::Bool(false) => out.extend_from_slice(b"false"),
            Json::Int(number) => write_i64(*number, out),
            Json::UInt(number) => write_u64(*number, out),
            Json::Double(number) => write_number(*number, out),
            Json::Decimal(number) => number.write(out),
            Json::String(text) => write_string(text, out),
            Json::Array(elements) => {
                out.push(b'[');
                for (at, element) in elements.iter().enumerate() {
                    separate(at, out);
                    element.write(out);
                }
                out.push(b']');
            }
            Json::Object(members) => {
                out.push(b'{');
                for (at, (name, value)) in members.iter().enumerate() {
                    separate(at, out);
                    write_string(name, out);
                    out.extend_from_slice(b": ");
                    value.write(out);
                }
                out.push(b'}');
            }
        }
    }
}

fn separate(at: usize, out: &mut Vec<u8>) {
    if at > 0 {
        out.extend_from_slice(b", ");
    }
}

/// A double that is a whole number is told from an integer by its fraction.
fn write_number(number: f64, out: &mut Vec<u8>) {
    let start = out.len();
    write_double(number, out);
    if !out[start..].iter().any(|byte| matches!(byte, b'.' | b'e')) {
        out.extend_from_slice(b".0");
    }
}

/// Appends a string in quotation marks.
pub(super) fn write_string(text: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    for &byte in text.as_bytes() {
        match byte {
            b'"' | b'\\' => out.extend_from_slice(&[b'\\', byte]),
            8 => out.extend_from_slice(b"\\b"),
            9 => out.extend_from_slice(b"\\t"),
            10 => out.extend_from_slice(b"\\n"),
            12 => out.extend_from_slice(b"\\f"),
            13 => out.extend_from_slice(b"\\r"),
            0..32 => out.extend_from_slice(format!("\\u{byte:04x}").as_bytes()),
            _ => out.push(byte),
        }
    }
    out.push(b'"');
}
