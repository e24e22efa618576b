//! Column types and the values that they hold.

mod decimal;
mod definition;
mod json;
mod number;
mod stored;
mod temporal;
mod text;

use std::sync::Arc;

use crate::collation::CollationId;

pub use decimal::{DECIMAL_PRECISION_MAX, DECIMAL_SCALE_MAX, Decimal, DecimalError};

pub use json::{JsonError, json_from_text, json_to_text};
pub use number::{
    Prefix, double_prefix, i64_prefix, integer_prefix, u64_prefix, write_double, write_double_fixed, write_float,
    write_i64, write_u64,
};
pub use stored::EncodeError;
pub use temporal::{
    Date, DateTime, Interval, IntervalUnit, ParseFlags, Parsed, Time, ZoneOffset, datetime_from_decimal,
    datetime_from_number, parse_date, parse_datetime, parse_time, time_from_decimal, time_from_number,
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
/// Strings are bytes in the character set of their static type. ENUM, SET, BIT and YEAR decode to `UInt`, FLOAT
/// to `Double`, TIMESTAMP to `DateTime` in UTC, JSON to `Bytes` (its text).
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
}

impl Value {
    #[inline]
    pub fn is_null(&self) -> bool {
        matches!(self, Value::Null)
    }
}
