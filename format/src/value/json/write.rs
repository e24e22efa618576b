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
            Json::Opaque { code, bytes } => {
                out.extend_from_slice(format!("\"base64:type{code}:").as_bytes());
                write_base64(bytes, b"\\n", out);
                out.push(b'"');
            }
            Json::Date(_) | Json::Time(_) | Json::DateTime(_) => {
                out.push(b'"');
                self.write_bare(out);
                out.push(b'"');
            }
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

impl Json {
    /// Appends a scalar as SQL takes it out of a document: a string without quotation marks and escapes.
    pub fn write_bare(&self, out: &mut Vec<u8>) {
        match self {
            Json::String(text) => out.extend_from_slice(text.as_bytes()),
            Json::Date(date) => date.write(out),
            Json::Time(time) => time.write(6, out),
            Json::DateTime(moment) => moment.write(6, out),
            Json::Opaque { code, bytes } => {
                out.extend_from_slice(format!("base64:type{code}:").as_bytes());
                write_base64(bytes, b"\n", out);
            }
            other => other.write(out),
        }
    }

    /// The normal form.
    pub fn to_text(&self) -> Vec<u8> {
        let mut out = Vec::new();
        self.write(&mut out);
        out
    }

    /// Appends the form for people: a line for each part, two spaces for each level.
    pub fn write_pretty(&self, out: &mut Vec<u8>) {
        self.write_indented(0, out);
    }

    fn write_indented(&self, level: usize, out: &mut Vec<u8>) {
        let new_line = |level: usize, out: &mut Vec<u8>| {
            out.push(b'\n');
            out.resize(out.len() + 2 * level, b' ');
        };
        let separate = |at: usize, out: &mut Vec<u8>| {
            if at > 0 {
                out.push(b',');
            }
            new_line(level + 1, out);
        };
        match self {
            Json::Array(elements) if !elements.is_empty() => {
                out.push(b'[');
                for (at, element) in elements.iter().enumerate() {
                    separate(at, out);
                    element.write_indented(level + 1, out);
                }
                new_line(level, out);
                out.push(b']');
            }
            Json::Object(members) if !members.is_empty() => {
                out.push(b'{');
                for (at, (name, value)) in members.iter().enumerate() {
                    separate(at, out);
                    write_string(name, out);
                    out.extend_from_slice(b": ");
                    value.write_indented(level + 1, out);
                }
                new_line(level, out);
                out.push(b'}');
            }
            other => other.write(out),
        }
    }
}

/// As MySQL writes it, in lines of 76 digits.
fn write_base64(bytes: &[u8], line_end: &[u8], out: &mut Vec<u8>) {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (at, chunk) in bytes.chunks(3).enumerate() {
        if at > 0 && at % 19 == 0 {
            out.extend_from_slice(line_end);
        }
        let bits = chunk.iter().chain([0; 2].iter()).take(3).fold(0_usize, |bits, byte| bits << 8 | usize::from(*byte));
        for at in 0..4 {
            out.push(if at <= chunk.len() { DIGITS[bits >> (18 - 6 * at) & 63] } else { b'=' });
        }
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
pub fn write_string(text: &str, out: &mut Vec<u8>) {
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
