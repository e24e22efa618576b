//! A value as the stored bytes of a column, and where it lies if the column cannot hold it.

use format::collation::{CollationId, collation};
use format::value::{ColumnType, Date, DateTime, Decimal, Moment, Time, Value, Zone};

use crate::expression::Datum;
use crate::expression::temporal::{moment_of_number, time_of_number};
use crate::types::SqlMode;

/// The largest double below which every integer has a double of its own.
const DOUBLE_EXACT: f64 = 9_007_199_254_740_992.0;

/// How a value relates to what a column can store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Conversion {
    Exact,
    /// The bytes are those of the next smaller value.
    Floor,
    BelowAll,
    AboveAll,
    Null,
    /// Does not compare in the order of the index.
    Unusable,
}

/// Appends the stored bytes of a value that is compared with a column.
pub fn convert(value: &Datum<'_>, ty: &ColumnType, zone: Zone, out: &mut Vec<u8>) -> Conversion {
    if value.is_null() {
        return Conversion::Null;
    }
    match ty {
        ColumnType::Int { bytes, unsigned } => int_key(value, *bytes, *unsigned, out),
        ColumnType::Year => match value {
            Datum::Int(year @ (0 | 1901..=2155)) => stored(ty, &Value::UInt(*year as u64), out),
            _ => Conversion::Unusable,
        },
        ColumnType::Decimal { precision, scale, .. } => {
            let number = match value {
                Datum::Int(number) => Decimal::from(*number),
                Datum::UInt(number) => Decimal::from(*number),
                Datum::Decimal(number) => *number,
                _ => return Conversion::Unusable,
            };
            let cut = number.truncate(*scale as i32);
            // Truncation goes toward zero; a floor of a negative number lies one further down.
            if cut != number && number.is_negative() {
                return Conversion::Unusable;
            }
            let largest = Decimal::max(*precision, *scale);
            if cut > largest {
                return Conversion::AboveAll;
            }
            if cut < largest.neg() {
                return Conversion::BelowAll;
            }
            match cut.fit(*precision, *scale) {
                Ok(fitted) => {
                    fitted.encode(*precision, *scale, out);
                    if cut == number { Conversion::Exact } else { Conversion::Floor }
                }
                Err(_) => Conversion::Unusable,
            }
        }
        ColumnType::Double { decimals, .. } => match number(value, decimals.is_none()) {
            Some(number) => stored(ty, &Value::Double(number), out),
            None => Conversion::Unusable,
        },
        ColumnType::Float { decimals, .. } => match number(value, decimals.is_none()) {
            Some(number) if (number as f32) as f64 == number => stored(ty, &Value::Double(number), out),
            Some(number) if number.is_finite() && number.abs() < f32::MAX as f64 => {
                let nearest = number as f32;
                let below = if nearest as f64 > number { nearest.next_down() } else { nearest };
                match stored(ty, &Value::Double(below as f64), out) {
                    Conversion::Exact => Conversion::Floor,
                    other => other,
                }
            }
            _ => Conversion::Unusable,
        },
        ColumnType::Date => match date_time(value) {
            Some(value) if value == value.date.at_midnight() => stored(ty, &Value::Date(value.date), out),
            Some(value) => match stored(ty, &Value::Date(value.date), out) {
                Conversion::Exact => Conversion::Floor,
                other => other,
            },
            None => Conversion::Unusable,
        },
        ColumnType::DateTime { fsp } => match date_time(value) {
            Some(value) => floor_date_time(ty, value, *fsp, out),
            None => Conversion::Unusable,
        },
        ColumnType::Timestamp { fsp } => match date_time(value) {
            // A local time that the clock shows twice is two moments in the index, one that it leaves out is none, and
            // moments are not in the order of such local times.
            Some(value) if value.date.is_in_calendar() && value.date.year >= 1971 && value.date.year <= 2037 => {
                let Moment::Once(unix) = value.moment(zone) else { return Conversion::Unusable };
                match DateTime::from_unix_micros(unix * 1_000_000 + i64::from(value.micros), Zone::UTC) {
                    Some(utc) => floor_date_time(ty, utc, *fsp, out),
                    None => Conversion::Unusable,
                }
            }
            _ => Conversion::Unusable,
        },
        ColumnType::Time { fsp } => match value {
            Datum::Time(value) if value.truncate(*fsp) == *value => stored(ty, &Value::Time(*value), out),
            Datum::Int(_) | Datum::UInt(_) | Datum::Decimal(_) => match time_of_number(value) {
                Some(value) if value.truncate(*fsp) == value => stored(ty, &Value::Time(value), out),
                _ => Conversion::Unusable,
            },
            Datum::Bytes(text) => match plain_time(text) {
                Some(value) if value.truncate(*fsp) == value => stored(ty, &Value::Time(value), out),
                _ => Conversion::Unusable,
            },
            _ => Conversion::Unusable,
        },
        // The column has no such value, and others may lie between this one and that without spaces.
        ColumnType::Char { collation: id, .. } if ends_with_space(value, *id) && !collation(*id).pad_space => {
            Conversion::Unusable
        }
        ColumnType::Char { .. } | ColumnType::VarChar { .. } | ColumnType::Text { .. } => match value {
            Datum::Bytes(text) => {
                out.extend_from_slice(text);
                Conversion::Exact
            }
            _ => Conversion::Unusable,
        },
        ColumnType::VarBinary { .. } | ColumnType::Blob { .. } | ColumnType::Geometry { .. } => match value {
            Datum::Bytes(text) => {
                out.extend_from_slice(text);
                Conversion::Exact
            }
            _ => Conversion::Unusable,
        },
        ColumnType::Binary { bytes } => match value {
            Datum::Bytes(text) if text.len() == *bytes as usize => {
                out.extend_from_slice(text);
                Conversion::Exact
            }
            _ => Conversion::Unusable,
        },
        ColumnType::Enum { .. } => match value {
            Datum::Bytes(name) => match ty.enum_index(name) {
                Some(index) => stored(ty, &Value::UInt(index as u64), out),
                None => Conversion::Unusable,
            },
            _ => Conversion::Unusable,
        },
        ColumnType::Set { .. } | ColumnType::Bit { .. } | ColumnType::Json => Conversion::Unusable,
    }
}

fn ends_with_space(value: &Datum<'_>, id: CollationId) -> bool {
    matches!(value, Datum::Bytes(text) if text.ends_with(collation(id).charset.space()))
}

pub(super) fn stored(ty: &ColumnType, value: &Value, out: &mut Vec<u8>) -> Conversion {
    match ty.encode(value, out) {
        Ok(()) => Conversion::Exact,
        Err(_) => Conversion::Unusable,
    }
}

fn int_key(value: &Datum<'_>, bytes: u8, unsigned: bool, out: &mut Vec<u8>) -> Conversion {
    let (number, conversion) = match value {
        Datum::Int(number) => (*number as i128, Conversion::Exact),
        Datum::UInt(number) => (*number as i128, Conversion::Exact),
        Datum::Double(number) if number.abs() < DOUBLE_EXACT => {
            let floor = number.floor();
            (floor as i128, if floor == *number { Conversion::Exact } else { Conversion::Floor })
        }
        Datum::Decimal(number) => {
            let Ok(floor) = number.floor() else { return Conversion::Unusable };
            let Some(whole) = floor.to_i128_truncated() else { return Conversion::Unusable };
            (whole, if floor == *number { Conversion::Exact } else { Conversion::Floor })
        }
        // Compared as doubles; an integer text of few digits means the same as integer.
        Datum::Bytes(text) if text.len() <= 15 => {
            match std::str::from_utf8(text).ok().and_then(|t| t.parse::<i64>().ok()) {
                Some(number) => (number as i128, Conversion::Exact),
                None => return Conversion::Unusable,
            }
        }
        _ => return Conversion::Unusable,
    };
    let bits = bytes as u32 * 8;
    let (lowest, highest) =
        if unsigned { (0, (1i128 << bits) - 1) } else { (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1) };
    if number < lowest {
        return Conversion::BelowAll;
    }
    if number > highest {
        return Conversion::AboveAll;
    }
    // Big-endian; the sign bit turned, so that bytes sort as numbers do.
    let image = if unsigned { number as u64 } else { (number as i64 as u64) ^ (1u64 << (bits - 1)) };
    out.extend_from_slice(&image.to_be_bytes()[8 - bytes as usize..]);
    conversion
}

/// A value as a comparison with doubles takes it. `takes_decimal`: one with a decimal is such a comparison; with a column
/// of so many decimals, both are equal if they are so within them.
fn number(value: &Datum<'_>, takes_decimal: bool) -> Option<f64> {
    match value {
        Datum::Decimal(number) if takes_decimal => Some(number.to_f64()),
        Datum::Int(number) if number.unsigned_abs() < 1 << 53 => Some(*number as f64),
        Datum::UInt(number) if *number < 1 << 53 => Some(*number as f64),
        Datum::Double(number) if !number.is_nan() => Some(*number),
        _ => None,
    }
}

/// A value as a point in time, if there is no doubt about it.
fn date_time(value: &Datum<'_>) -> Option<DateTime> {
    match value {
        Datum::Date(date) => Some(date.at_midnight()),
        Datum::DateTime(value) => Some(*value),
        Datum::Bytes(text) => {
            let parsed = format::value::parse_datetime(text);
            let flags = parsed.flags;
            let plain = !flags.invalid && !flags.truncated && !flags.invalid_day && !flags.rounded;
            (plain && parsed.value.date != Date::ZERO).then_some(parsed.value)
        }
        // A number that is no date compares as a number, which is not the order of the index's bytes.
        number => moment_of_number(number, SqlMode::default()),
    }
}

fn plain_time(text: &[u8]) -> Option<Time> {
    // Only hh:mm:ss: a shorter text or a date-time has rules of its own.
    if text.iter().filter(|byte| **byte == b':').count() != 2 || text.contains(&b'-') {
        return None;
    }
    let parsed = format::value::parse_time(text);
    let flags = parsed.flags;
    (!flags.invalid && !flags.truncated && !flags.out_of_range && !flags.rounded).then_some(parsed.value)
}

fn floor_date_time(ty: &ColumnType, value: DateTime, fsp: u8, out: &mut Vec<u8>) -> Conversion {
    let cut = value.truncate(fsp);
    match stored(ty, &Value::DateTime(cut), out) {
        Conversion::Exact if cut != value => Conversion::Floor,
        other => other,
    }
}
