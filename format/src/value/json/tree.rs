//! The value itself.

use std::fmt;

use crate::value::Decimal;

/// The deepest nesting of arrays and objects. A scalar inside of the last one is allowed.
pub const DEPTH_MAX: usize = 100;

/// The longest name of a member: binary JSON has two bytes for its length.
pub const NAME_BYTES_MAX: usize = 0xFFFF;

/// A JSON value.
#[derive(Clone, Debug, PartialEq)]
pub enum Json {
    Null,
    Bool(bool),
    Int(i64),
    /// Beyond the range of [`Json::Int`].
    UInt(u64),
    /// Finite.
    Double(f64),
    /// Comes from an SQL value, never from a text that a client writes.
    Decimal(Decimal),
    String(String),
    Array(Vec<Json>),
    /// Made by [`Json::object`]: sorted, and each name once.
    Object(Vec<(String, Json)>),
}

impl Json {
    /// An object of these members. The last one of a name counts.
    pub fn object(mut members: Vec<(String, Json)>) -> Json {
        members.sort_by(|(one, _), (other, _)| (one.len(), one).cmp(&(other.len(), other)));
        // Members of one name are still in their order: the later one moves to the front of the pair.
        members.dedup_by(|later, kept| {
            let is_same = later.0 == kept.0;
            if is_same {
                std::mem::swap(later, kept);
            }
            is_same
        });
        Json::Object(members)
    }
}

/// Why a text is not a JSON value that can be stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JsonError {
    /// `reason` is in the words of MySQL's error 3140, `at` the byte offset.
    Invalid { reason: &'static str, at: usize },
    /// Nested deeper than [`DEPTH_MAX`].
    TooDeep,
    /// A name is longer than [`NAME_BYTES_MAX`].
    LongName,
}

impl fmt::Display for JsonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            JsonError::Invalid { reason, at } => write!(f, "{reason} (at byte {at})"),
            JsonError::TooDeep => write!(f, "The JSON document exceeds the maximum depth."),
            JsonError::LongName => write!(f, "The JSON object contains a key name that is too long."),
        }
    }
}
