//! JSON values: read from a text or MySQL's binary form, searched and changed at paths, compared, written.
//!
//! ```text
//!   text    --- parse --->  Json  --- write --->  normal form        "[1,{\"bb\":2 , \"a\":1e2}]"
//!   binary  --- decode -->        --- encode -->  binary             [1, {"a": 100.0, "bb": 2}]
//!                           ^  |
//!                           |  v
//!                        path.rs: find, replace, insert, remove
//! ```
//!
//! A JSON column holds the binary form, which keeps the types that a text does not have: dates and times, decimals,
//! unsigned integers, bytes. Columns that were written by earlier versions hold the normal form, in utf8mb4. The first
//! byte tells the two apart: a binary value begins with its type, which is at most 15, a text with a printable character
//! ([`Json::of_stored`]).
//!
//! In both, names are sorted by length and then by their bytes, each once: the last of several members counts. In the
//! normal form `, ` and `: ` are between the parts, numbers and escapes are as MySQL prints them.
//!
//! Nesting is limited as in MySQL, so that no value exhausts the stack.

mod compare;
mod decode;
mod encode;
mod parse;
mod path;
mod tree;
mod write;

pub use path::{JsonPath, PathError, write_member as write_json_member};
pub use tree::{Json, JsonError};
pub use write::write_string as write_json_string;

use std::borrow::Cow;

use crate::error::{Error, Result};

/// Whether stored bytes are a binary document, and not a text.
pub(super) fn is_binary(stored: &[u8]) -> bool {
    stored.first().is_none_or(|byte| *byte < 16)
}

impl Json {
    /// The value that a column holds.
    pub fn of_stored(stored: &[u8]) -> Result<Json> {
        match is_binary(stored) {
            true => Json::decode(stored),
            false => Json::parse_stored(stored).map_err(|_| Error::Malformed { what: "a JSON text" }),
        }
    }

    /// The binary document of what a column holds. A text that is damaged stays as it is: it is no binary document
    /// either, and who decodes it finds the damage.
    pub fn binary_of_stored(stored: &[u8]) -> Cow<'_, [u8]> {
        match is_binary(stored) {
            true => Cow::Borrowed(stored),
            false => Json::parse_stored(stored).map_or(Cow::Borrowed(stored), |json| Cow::Owned(json.to_binary())),
        }
    }

    /// Appends the normal form of what a column holds; of a damaged document, nothing.
    pub fn write_stored(stored: &[u8], out: &mut Vec<u8>) {
        match is_binary(stored) {
            true => {
                if let Ok(json) = Json::decode(stored) {
                    json.write(out);
                }
            }
            false => out.extend_from_slice(stored),
        }
    }
}
