//! (signatures first)
use std::borrow::Cow;

use format::value::{Date, DateTime, Decimal, Time, Value};

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
        }
    }
}

impl<'a> Datum<'a> {
    #[inline]
    pub fn is_null(&self) -> bool {
        matches!(self, Datum::Null)
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
        }
    }
}
