//! The value that flows through an expression, and its text.
//!
//! A [`Datum`] is a [`Value`] whose string may be borrowed: from the row, from a
//! parameter, from a constant of the expression.
//!
//! A number of no fixed type is a [`Number`]: what `+` and its kin compute with.

use std::borrow::Cow;

use format::value::{
    Date, DateTime, Decimal, Json, Time, Value, write_double, write_double_fixed, write_float, write_i64, write_u64,
};

use crate::types::{DECIMALS_NOT_FIXED, Kind, TypeInfo};

/// A value that flows through expressions: a [`Value`] whose string may be borrowed.
#[derive(Debug, Clone, PartialEq)]
pub enum Datum<'a> {
    Null,
    Int(i64),
    UInt(u64),
    Double(f64),
    Decimal(Decimal),
    Bytes(Cow<'a, [u8]>),
    Date(Date),
    Time(Time),
    DateTime(DateTime),
    /// A binary document, see [`Value::Json`].
    Json(Cow<'a, [u8]>),
}

/// A number that arithmetic is done with.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Number {
    Int(i64),
    UInt(u64),
    Decimal(Decimal),
    Double(f64),
}

/// The value where a call has put it, or the end of the function with its error.
///
/// A value is written in parts and is longer than a register. Who moves it (`?` does) reads it in wider words right after
/// that, and the processor waits until the parts have left its store buffer: longer than a sum takes.
macro_rules! in_place {
    ($outcome:ident) => {
        match $outcome {
            Ok(ref value) => value,
            Err(error) => return Err(error),
        }
    };
}
pub(crate) use in_place;

/// How much of a bad value is quoted in a warning.
const QUOTED_BYTES_MAX: usize = 128;

/// A text for a message: printable, and not longer than people read.
pub fn quoted(text: &[u8]) -> String {
    String::from_utf8_lossy(&text[..text.len().min(QUOTED_BYTES_MAX)]).into_owned()
}

impl<'a> From<&'a Value> for Datum<'a> {
    #[inline]
    fn from(value: &'a Value) -> Datum<'a> {
        match value {
            Value::Null => Datum::Null,
            Value::Int(v) => Datum::Int(*v),
            Value::UInt(v) => Datum::UInt(*v),
            Value::Double(v) => Datum::Double(*v),
            Value::Decimal(v) => Datum::Decimal(*v),
            Value::Bytes(v) => Datum::Bytes(Cow::Borrowed(v)),
            Value::Date(v) => Datum::Date(*v),
            Value::Time(v) => Datum::Time(*v),
            Value::DateTime(v) => Datum::DateTime(*v),
            Value::Json(v) => Datum::Json(Cow::Borrowed(v)),
        }
    }
}

impl From<Value> for Datum<'static> {
    #[inline]
    fn from(value: Value) -> Datum<'static> {
        match value {
            Value::Null => Datum::Null,
            Value::Int(v) => Datum::Int(v),
            Value::UInt(v) => Datum::UInt(v),
            Value::Double(v) => Datum::Double(v),
            Value::Decimal(v) => Datum::Decimal(v),
            Value::Bytes(v) => Datum::Bytes(Cow::Owned(v)),
            Value::Date(v) => Datum::Date(v),
            Value::Time(v) => Datum::Time(v),
            Value::DateTime(v) => Datum::DateTime(v),
            Value::Json(v) => Datum::Json(Cow::Owned(v)),
        }
    }
}

impl From<Number> for Datum<'static> {
    #[inline]
    fn from(number: Number) -> Datum<'static> {
        match number {
            Number::Int(v) => Datum::Int(v),
            Number::UInt(v) => Datum::UInt(v),
            Number::Decimal(v) => Datum::Decimal(v),
            Number::Double(v) => Datum::Double(v),
        }
    }
}

impl From<bool> for Datum<'static> {
    #[inline]
    fn from(truth: bool) -> Datum<'static> {
        Datum::Int(truth as i64)
    }
}

impl From<Option<bool>> for Datum<'static> {
    #[inline]
    fn from(truth: Option<bool>) -> Datum<'static> {
        match truth {
            Some(truth) => Datum::Int(truth as i64),
            None => Datum::Null,
        }
    }
}

impl<'a> Datum<'a> {
    #[inline]
    pub fn is_null(&self) -> bool {
        matches!(self, Datum::Null)
    }

    pub fn bytes(bytes: Vec<u8>) -> Datum<'static> {
        Datum::Bytes(Cow::Owned(bytes))
    }

    pub fn text(text: impl Into<String>) -> Datum<'static> {
        Datum::Bytes(Cow::Owned(text.into().into_bytes()))
    }

    pub fn into_value(self) -> Value {
        match self {
            Datum::Null => Value::Null,
            Datum::Int(v) => Value::Int(v),
            Datum::UInt(v) => Value::UInt(v),
            Datum::Double(v) => Value::Double(v),
            Datum::Decimal(v) => Value::Decimal(v),
            Datum::Bytes(v) => Value::Bytes(v.into_owned()),
            Datum::Date(v) => Value::Date(v),
            Datum::Time(v) => Value::Time(v),
            Datum::DateTime(v) => Value::DateTime(v),
            Datum::Json(v) => Value::Json(v.into_owned()),
        }
    }

    /// The same, borrowing from this one.
    pub fn by_ref(&self) -> Datum<'_> {
        match self {
            Datum::Bytes(v) => Datum::Bytes(Cow::Borrowed(v)),
            Datum::Null => Datum::Null,
            Datum::Int(v) => Datum::Int(*v),
            Datum::UInt(v) => Datum::UInt(*v),
            Datum::Double(v) => Datum::Double(*v),
            Datum::Decimal(v) => Datum::Decimal(*v),
            Datum::Date(v) => Datum::Date(*v),
            Datum::Time(v) => Datum::Time(*v),
            Datum::DateTime(v) => Datum::DateTime(*v),
            Datum::Json(v) => Datum::Json(Cow::Borrowed(v)),
        }
    }

    /// As a string, in ASCII if it was none; `ty` is the type of the expression that gave it. NULL is empty here.
    pub fn into_text(self, ty: &TypeInfo) -> Cow<'a, [u8]> {
        match self {
            Datum::Bytes(text) => text,
            other => {
                let mut out = Vec::with_capacity(24);
                other.write_text(ty, &mut out);
                Cow::Owned(out)
            }
        }
    }

    /// Appends the text.
    pub fn write_text(&self, ty: &TypeInfo, out: &mut Vec<u8>) {
        let from = out.len();
        self.write_bare_text(ty, out);
        // ZEROFILL; a YEAR has its digits already.
        let missing = (ty.length as usize).saturating_sub(out.len() - from);
        if ty.zerofill && ty.kind != Kind::Year && missing > 0 && !self.is_null() {
            out.splice(from..from, std::iter::repeat_n(b'0', missing));
        }
    }

    fn write_bare_text(&self, ty: &TypeInfo, out: &mut Vec<u8>) {
        let fsp = |micros| match ty.is_temporal() {
            true => ty.decimals.min(6),
            false => fsp_needed(micros),
        };
        match self {
            Datum::Null => {}
            Datum::Int(v) => write_i64(*v, out),
            Datum::UInt(v) if ty.kind == Kind::Year => {
                let digits = [(v / 1000 % 10), (v / 100 % 10), (v / 10 % 10), (v % 10)];
                out.extend(digits.map(|digit| b'0' + digit as u8));
            }
            Datum::UInt(v) if ty.kind == Kind::Bit => {
                let bytes = v.to_be_bytes();
                out.extend_from_slice(&bytes[8 - (ty.length.clamp(1, 64) as usize).div_ceil(8)..]);
            }
            Datum::UInt(v) => write_u64(*v, out),
            Datum::Double(v) if ty.is_floating() && ty.decimals < DECIMALS_NOT_FIXED => {
                write_double_fixed(*v, ty.decimals, out);
            }
            Datum::Double(v) if ty.kind == Kind::Float => write_float(*v as f32, out),
            Datum::Double(v) => write_double(*v, out),
            Datum::Decimal(v) => v.rounded_to(ty).write(out),
            Datum::Bytes(text) => out.extend_from_slice(text),
            Datum::Date(v) => v.write(out),
            Datum::Time(v) => v.write(fsp(v.micros), out),
            Datum::DateTime(v) => v.write(fsp(v.micros), out),
            Datum::Json(document) => Json::write_stored(document, out),
        }
    }

    /// As it leaves the expression: a decimal with exactly the digits of its type.
    #[inline]
    pub fn fit(self, ty: &TypeInfo) -> Datum<'a> {
        match self {
            Datum::Decimal(decimal) if ty.kind == Kind::Decimal && decimal.scale() != ty.decimals => {
                Datum::Decimal(decimal.rounded_to(ty))
            }
            other => other,
        }
    }
}

/// A decimal rounded to its static type.
trait RoundedTo {
    fn rounded_to(&self, ty: &TypeInfo) -> Decimal;
}

impl RoundedTo for Decimal {
    fn rounded_to(&self, ty: &TypeInfo) -> Decimal {
        if ty.kind != Kind::Decimal || self.scale() == ty.decimals {
            return *self;
        }
        self.round(ty.decimals as i32).unwrap_or(*self)
    }
}

impl Number {
    pub fn to_f64(self) -> f64 {
        match self {
            Number::Int(v) => v as f64,
            Number::UInt(v) => v as f64,
            Number::Decimal(v) => v.to_f64(),
            Number::Double(v) => v,
        }
    }

    /// Not for doubles.
    pub fn to_decimal(self) -> Decimal {
        match self {
            Number::Int(v) => Decimal::from(v),
            Number::UInt(v) => Decimal::from(v),
            Number::Decimal(v) => v,
            Number::Double(v) => Decimal::from_f64(v).unwrap_or(Decimal::ZERO),
        }
    }
}

/// The digits that a fraction needs: none, or all six.
#[inline]
pub fn fsp_needed(micros: u32) -> u8 {
    if micros == 0 { 0 } else { 6 }
}

/// The number of a hexadecimal or bit literal; longer than eight bytes it is the largest.
pub fn bits_of(bytes: &[u8]) -> u64 {
    let bytes = &bytes[bytes.iter().take_while(|byte| **byte == 0).count()..];
    if bytes.len() > 8 { u64::MAX } else { bytes.iter().fold(0, |value, byte| value << 8 | *byte as u64) }
}
