//! Column types, the values that they hold, and the three forms of a value: as SQL computes with it ([`Value`]), as a
//! record stores it, and as the client sees it.
//!
//! ```text
//!                 encode                          write_text, write_binary
//!     Value  ---------------->  stored bytes  -------------------------------->  packet
//!       ^    <----------------                                                      ^
//!       |         decode                                                            |
//!       |                                    write_value_text, write_value_binary   |
//!       +---------------------------------------------------------------------------+
//!
//! decimal/       exact numbers                     stored.rs       Value <-> stored bytes
//! temporal/      dates, times, intervals           text.rs         stored bytes -> packet
//! number.rs      integers and doubles as text      definition.rs   a ColumnType in the dictionary
//! json/          JSON: texts, the binary form, paths, order
//! geometry/      points, lines and areas: the stored form, texts
//! array.rs       several values of one type, for a multi-valued index
//! ```
//!
//! Most rows of most results never become a `Value`: their stored bytes are rendered as they are, without allocation.
//!
//! Invariants:
//!
//! * `decode(encode(value)) == value`, and stored bytes compare as [`ColumnType::layout`] says: with memcmp, but for
//!   texts (by collation), FLOAT and DOUBLE.
//! * Stored bytes come from disk, so no bytes make a panic; damaged ones give some value of the type.
//! * Nothing here knows `sql_mode`. What was strange about an input is returned as flags, and SQL decides.
//!
//! Not here: coercion from one type to another (SQL's), and the order of records (`record`).

pub mod array;
mod decimal;
mod definition;
mod geometry;
mod json;
mod number;
mod stored;
mod temporal;
mod text;

use std::sync::Arc;

use crate::collation::CollationId;

pub use decimal::{DECIMAL_PRECISION_MAX, DECIMAL_SCALE_MAX, Decimal, DecimalError};
pub use geometry::{Geometry, GeometryType, Shape};
pub use json::{Json, JsonError, JsonPath, PathError, write_json_member, write_json_string};
pub use number::{
    Prefix, double_prefix, i64_prefix, integer_prefix, u64_prefix, write_double, write_double_fixed, write_float,
    write_i64, write_u64,
};
pub use stored::{EncodeError, double_of, signed_of, unsigned_of};
pub use temporal::{
    Date, DateTime, Interval, IntervalUnit, Moment, ParseFlags, Parsed, Time, Zone, datetime_from_decimal,
    datetime_from_number, parse_date, parse_datetime, parse_time, parse_time_in, time_from_decimal, time_from_number,
};

/// How long a TEXT or BLOB may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LobSize {
    Tiny,
    Regular,
    Medium,
    Long,
}

impl LobSize {
    /// The most bytes: 255, 65535, 2^24-1, 2^32-1.
    pub const fn bytes_max(self) -> u32 {
        match self {
            LobSize::Tiny => 0xFF,
            LobSize::Regular => 0xFFFF,
            LobSize::Medium => 0xFF_FFFF,
            LobSize::Long => 0xFFFF_FFFF,
        }
    }
}

/// What a column holds. Nullability, default and name belong to the column, not to its type.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ColumnType {
    /// TINYINT, SMALLINT, MEDIUMINT, INT, BIGINT by their bytes: 1, 2, 3, 4, 8.
    Int {
        bytes: u8,
        unsigned: bool,
    },
    Year,
    /// BIT(1..=64).
    Bit {
        bits: u8,
    },
    /// FLOAT; `decimals` is (m, d) of the deprecated FLOAT(m,d).
    Float {
        unsigned: bool,
        decimals: Option<(u8, u8)>,
    },
    Double {
        unsigned: bool,
        decimals: Option<(u8, u8)>,
    },
    Decimal {
        precision: u8,
        scale: u8,
        unsigned: bool,
    },
    Date,
    Time {
        fsp: u8,
    },
    DateTime {
        fsp: u8,
    },
    Timestamp {
        fsp: u8,
    },
    Char {
        chars: u32,
        collation: CollationId,
    },
    VarChar {
        chars: u32,
        collation: CollationId,
    },
    Binary {
        bytes: u32,
    },
    VarBinary {
        bytes: u32,
    },
    Text {
        size: LobSize,
        collation: CollationId,
    },
    Blob {
        size: LobSize,
    },
    Json,
    /// GEOMETRY and its subtypes; with `srid` of that reference system only.
    Geometry {
        kind: GeometryType,
        srid: Option<u32>,
    },
    Enum {
        members: Arc<[Box<str>]>,
        collation: CollationId,
    },
    Set {
        members: Arc<[Box<str>]>,
        collation: CollationId,
    },
}

/// A value of SQL, outside of any column.
///
/// Strings are bytes in the character set of their static type, and geometries are bytes as they are stored. ENUM, SET, BIT and YEAR decode to `UInt`, FLOAT to
/// `Double`, TIMESTAMP to `DateTime` in UTC.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Null,
    Int(i64),
    UInt(u64),
    Double(f64),
    Decimal(Decimal),
    Bytes(Vec<u8>),
    Date(Date),
    Time(Time),
    DateTime(DateTime),
    /// A binary document, see [`Json::decode`].
    Json(Vec<u8>),
}

impl Value {
    #[inline]
    pub fn is_null(&self) -> bool {
        matches!(self, Value::Null)
    }
}
