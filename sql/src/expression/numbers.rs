//! Values as numbers and as truth: the conversions that MySQL does silently.
//!
//! They say so in the statement's warnings: `'12abc'` as a number is 12 and warning 1292, in a strict change it is error
//! 1292.

use format::value::{DateTime, Decimal, double_prefix, i64_prefix, u64_prefix};

use super::datum::{Datum, Number, fsp_needed, quoted};
use super::{EvalContext, json};
use crate::error::{Error, Result};
use crate::types::TypeInfo;

impl Datum<'_> {
    /// As an operand of arithmetic. NULL is None; a string is a double; a temporal value is the number of its digits,
    /// with a fraction if its type has one.
    pub fn to_number(&self, ty: &TypeInfo, context: &EvalContext<'_>) -> Result<Option<Number>> {
        let fsp = if ty.is_temporal() { ty.decimals.min(6) } else { 0 };
        Ok(Some(match self {
            Datum::Null => return Ok(None),
            Datum::Int(v) => Number::Int(*v),
            Datum::UInt(v) => Number::UInt(*v),
            Datum::Double(v) => Number::Double(*v),
            Datum::Decimal(v) => Number::Decimal(*v),
            Datum::Bytes(text) => Number::Double(text_to_f64(text, context)?),
            Datum::Json(_) => Number::Double(self.to_f64(context)?),
            Datum::Date(v) => Number::Int(v.to_number()),
            Datum::Time(v) => match fsp.max(fsp_needed(v.micros)) {
                0 => Number::Int(v.to_number()),
                fsp => Number::Decimal(v.to_decimal(fsp)),
            },
            Datum::DateTime(v) => match fsp.max(fsp_needed(v.micros)) {
                0 => Number::Int(v.to_number()),
                fsp => Number::Decimal(v.to_decimal(fsp)),
            },
        }))
    }

    /// As a double. NULL is 0 here: callers have looked.
    pub fn to_f64(&self, context: &EvalContext<'_>) -> Result<f64> {
        Ok(match self {
            Datum::Null => 0.0,
            Datum::Int(v) => *v as f64,
            Datum::UInt(v) => *v as f64,
            Datum::Double(v) => *v,
            Datum::Decimal(v) => v.to_f64(),
            Datum::Bytes(text) => text_to_f64(text, context)?,
            Datum::Json(document) => json::number(document, "DOUBLE", context)?.to_f64(context)?,
            Datum::Date(v) => v.to_number() as f64,
            Datum::Time(v) => v.to_decimal(6).to_f64(),
            Datum::DateTime(v) => v.to_decimal(6).to_f64(),
        })
    }

    pub fn to_decimal(&self, context: &EvalContext<'_>) -> Result<Decimal> {
        Ok(match self {
            Datum::Null => Decimal::ZERO,
            Datum::Int(v) => Decimal::from(*v),
            Datum::UInt(v) => Decimal::from(*v),
            Datum::Double(v) => match Decimal::from_f64(*v) {
                Ok(decimal) => decimal,
                Err(_) => {
                    let largest = Decimal::max(65, 0);
                    if *v < 0.0 { largest.neg() } else { largest }
                }
            },
            Datum::Decimal(v) => *v,
            Datum::Bytes(text) => {
                let (decimal, consumed, result) = Decimal::parse_prefix(text);
                if result.is_err() || consumed == 0 || !text[consumed..].trim_ascii().is_empty() {
                    context.doubt(Error::truncated_wrong_value("DECIMAL", &quoted(text)))?;
                }
                decimal
            }
            Datum::Json(document) => json::number(document, "DECIMAL", context)?.to_decimal(context)?,
            Datum::Date(v) => Decimal::from(v.to_number()),
            Datum::Time(v) => v.to_decimal(fsp_needed(v.micros)),
            Datum::DateTime(v) => v.to_decimal(fsp_needed(v.micros)),
        })
    }

    /// As a signed integer: rounded, and clamped to its range; `u64` beyond it wraps as MySQL's do.
    pub fn to_i64(&self, context: &EvalContext<'_>) -> Result<i64> {
        Ok(match self {
            Datum::Null => 0,
            Datum::Int(v) => *v,
            Datum::UInt(v) => *v as i64,
            Datum::Double(v) => f64_to_i64(*v),
            Datum::Decimal(v) => match v.to_i64() {
                Ok(value) => value,
                Err(nearest) => {
                    context.doubt(Error::truncated_wrong_value("DECIMAL", &v.to_string()))?;
                    nearest
                }
            },
            Datum::Bytes(text) => text_to_i64(text, context)?,
            Datum::Json(document) => json::number(document, "INTEGER", context)?.to_i64(context)?,
            Datum::Date(v) => v.to_number(),
            Datum::Time(v) => v.round(0).to_number(),
            Datum::DateTime(v) => v.round(0).unwrap_or(*v).to_number(),
        })
    }

    /// As an unsigned integer: a negative one wraps around, as CAST(-1 AS UNSIGNED) does.
    pub fn to_u64(&self, context: &EvalContext<'_>) -> Result<u64> {
        Ok(match self {
            Datum::UInt(v) => *v,
            Datum::Int(v) => *v as u64,
            Datum::Double(v) if *v > i64::MAX as f64 => v.round_ties_even() as u64,
            Datum::Decimal(v) if !v.is_negative() => match v.to_u64() {
                Ok(value) => value,
                Err(nearest) => {
                    context.doubt(Error::truncated_wrong_value("DECIMAL", &v.to_string()))?;
                    nearest
                }
            },
            Datum::Bytes(text) if !text.trim_ascii_start().starts_with(b"-") => {
                let (value, prefix) = u64_prefix(text);
                if prefix.truncated || prefix.overflow {
                    context.doubt(Error::truncated_wrong_value("INTEGER", &quoted(text)))?;
                }
                value
            }
            Datum::Json(document) => json::number(document, "INTEGER", context)?.to_u64(context)?,
            other => other.to_i64(context)? as u64,
        })
    }

    /// As a condition. NULL is None.
    #[inline]
    pub fn to_truth(&self, context: &EvalContext<'_>) -> Result<Option<bool>> {
        Ok(Some(match self {
            Datum::Null => return Ok(None),
            Datum::Int(v) => *v != 0,
            Datum::UInt(v) => *v != 0,
            Datum::Double(v) => *v != 0.0,
            Datum::Decimal(v) => !v.is_zero(),
            Datum::Bytes(text) => text_to_f64(text, context)? != 0.0,
            Datum::Json(document) => json::truth(document)?,
            Datum::Date(v) => !v.is_zero(),
            Datum::Time(v) => v.to_micros() != 0,
            Datum::DateTime(v) => *v != DateTime::ZERO,
        }))
    }
}

/// Rounded half to even, as the C library's rint, and clamped.
#[inline]
pub fn f64_to_i64(value: f64) -> i64 {
    value.round_ties_even() as i64
}

pub fn text_to_f64(text: &[u8], context: &EvalContext<'_>) -> Result<f64> {
    let (value, prefix) = double_prefix(text);
    if prefix.truncated || prefix.overflow {
        context.doubt(Error::truncated_wrong_value("DOUBLE", &quoted(text)))?;
    }
    Ok(value)
}

fn text_to_i64(text: &[u8], context: &EvalContext<'_>) -> Result<i64> {
    let (value, prefix) = i64_prefix(text);
    if prefix.truncated || prefix.overflow {
        context.doubt(Error::truncated_wrong_value("INTEGER", &quoted(text)))?;
        // The bits are those of the unsigned number: CAST('18446744073709551615' AS SIGNED) is -1, and so is what is larger.
        if prefix.overflow && value > 0 {
            return Ok(u64_prefix(text).0 as i64);
        }
    }
    Ok(value)
}

/// The double nearest to a power of ten. Products of powers are off from the 23rd on.
pub fn power_of_ten(exponent: u32) -> f64 {
    const EXACT: u32 = 22;
    match exponent {
        0..=EXACT => 10_f64.powi(exponent as i32),
        _ => format!("1e{exponent}").parse().unwrap_or(f64::INFINITY),
    }
}
