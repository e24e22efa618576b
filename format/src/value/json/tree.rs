//! The value itself.

use std::fmt;

use crate::value::{Date, DateTime, Decimal, Time};

/// The deepest nesting of arrays and objects. A scalar inside of the last one is allowed.
pub const DEPTH_MAX: usize = 100;

/// The longest name of a member: binary JSON has two bytes for its length.
pub const NAME_BYTES_MAX: usize = 0xFFFF;

/// How many values are read between two questions whether to give up.
pub(super) const VALUES_BETWEEN: u32 = 4096;

/// A JSON value.
#[derive(Clone, Debug, PartialEq)]
pub enum Json {
    Null,
    Bool(bool),
    Int(i64),
    /// Of a text only what is beyond the range of [`Json::Int`].
    UInt(u64),
    /// Finite.
    Double(f64),
    /// Comes from an SQL value, never from a text that a client writes.
    Decimal(Decimal),
    String(String),
    Array(Vec<Json>),
    /// Made by [`Json::object`]: sorted, and each name once.
    Object(Vec<(String, Json)>),
    /// Dates, times and other bytes come from SQL values; a text has strings in their place.
    Date(Date),
    Time(Time),
    DateTime(DateTime),
    /// The bytes of a value of a column type that JSON knows nothing of.
    Opaque {
        code: u8,
        bytes: Vec<u8>,
    },
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

    /// The value of a member.
    pub fn member(&self, name: &str) -> Option<&Json> {
        let Json::Object(members) = self else { return None };
        let at = members.binary_search_by(|(other, _)| (other.len(), other.as_str()).cmp(&(name.len(), name))).ok()?;
        Some(&members[at].1)
    }

    pub fn is_scalar(&self) -> bool {
        !matches!(self, Json::Array(_) | Json::Object(_))
    }

    /// Of a scalar 1, of a container one more than its deepest part.
    pub fn depth(&self) -> usize {
        match self {
            Json::Array(elements) => 1 + elements.iter().map(Json::depth).max().unwrap_or(0),
            Json::Object(members) => 1 + members.iter().map(|(_, value)| value.depth()).max().unwrap_or(0),
            _ => 1,
        }
    }

    /// Whether a column can hold it. A value that was put together from others may be nested too deep.
    pub fn is_too_deep(&self) -> bool {
        self.is_deeper_than(DEPTH_MAX)
    }

    fn is_deeper_than(&self, levels: usize) -> bool {
        let is_inside = |value: &Json| levels == 0 || value.is_deeper_than(levels - 1);
        match self {
            Json::Array(_) | Json::Object(_) if levels == 0 => true,
            Json::Array(elements) => elements.iter().any(is_inside),
            Json::Object(members) => members.iter().any(|(_, value)| is_inside(value)),
            _ => false,
        }
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
