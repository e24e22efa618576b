//! The order of values in rows, and keys that are equal for equal values: ORDER BY, GROUP BY, DISTINCT, hash joins.

use std::cmp::Ordering;

use format::collation::{CollationId, collation};
use format::value::Json;

use super::datum::Datum;
use crate::types::TypeInfo;

/// The order of two values of the same type, as in ORDER BY: NULLs first.
pub fn order(a: &Datum<'_>, b: &Datum<'_>, id: CollationId) -> Ordering {
    match (a, b) {
        (Datum::Null, Datum::Null) => Ordering::Equal,
        (Datum::Null, _) => Ordering::Less,
        (_, Datum::Null) => Ordering::Greater,
        (Datum::Bytes(a), Datum::Bytes(b)) => collation(id).compare(a, b),
        (Datum::Json(a), Datum::Json(b)) => order_documents(a, b),
        (Datum::Double(a), Datum::Double(b)) => a.partial_cmp(b).unwrap_or(Ordering::Equal),
        (Datum::Decimal(a), Datum::Decimal(b)) => a.cmp(b),
        (Datum::Date(a), Datum::Date(b)) => a.cmp(b),
        (Datum::Time(a), Datum::Time(b)) => a.cmp(b),
        (Datum::DateTime(a), Datum::DateTime(b)) => a.cmp(b),
        (Datum::Date(a), Datum::DateTime(b)) => a.at_midnight().cmp(b),
        (Datum::DateTime(a), Datum::Date(b)) => a.cmp(&b.at_midnight()),
        _ => match compare_integers(a, b) {
            Some(ordering) => ordering,
            None => order_mixed(a, b),
        },
    }
}

/// A document that is damaged stands in front of all others; evaluating it is an error, which an order cannot be.
#[inline(never)]
fn order_documents(a: &[u8], b: &[u8]) -> Ordering {
    match (Json::decode(a), Json::decode(b)) {
        (Ok(a), Ok(b)) => a.compare(&b),
        (a, b) => a.is_ok().cmp(&b.is_ok()),
    }
}

/// Values of different kinds in one column, which only variables and parameters bring about.
fn order_mixed(a: &Datum<'_>, b: &Datum<'_>) -> Ordering {
    if let (Some(a), Some(b)) = (exact(a), exact(b)) {
        return a.cmp(&b);
    }
    match (plain_f64(a), plain_f64(b)) {
        (Some(a), Some(b)) => a.partial_cmp(&b).unwrap_or(Ordering::Equal),
        _ => a.by_ref().into_text(&TypeInfo::NULL).cmp(&b.by_ref().into_text(&TypeInfo::NULL)),
    }
}

fn exact(datum: &Datum<'_>) -> Option<format::value::Decimal> {
    match datum {
        Datum::Int(v) => Some((*v).into()),
        Datum::UInt(v) => Some((*v).into()),
        Datum::Decimal(v) => Some(*v),
        _ => None,
    }
}

fn plain_f64(datum: &Datum<'_>) -> Option<f64> {
    match datum {
        Datum::Double(v) => Some(*v),
        _ => exact(datum).map(|decimal| decimal.to_f64()),
    }
}

/// Appends bytes which are equal for equal values of one type and different for different ones: GROUP BY, DISTINCT,
/// hash joins. Keys of several values can be appended to each other.
pub fn group_key(value: &Datum<'_>, id: CollationId, out: &mut Vec<u8>) {
    match value {
        Datum::Null => out.push(0),
        Datum::Int(v) => {
            out.push(if *v < 0 { 1 } else { 2 });
            out.extend(v.to_le_bytes());
        }
        Datum::UInt(v) => {
            out.push(2);
            out.extend(v.to_le_bytes());
        }
        Datum::Double(v) => {
            out.push(3);
            // 0.0 and -0.0 are equal.
            out.extend((if *v == 0.0 { 0.0 } else { *v }).to_le_bytes());
        }
        Datum::Decimal(v) => {
            out.push(4);
            v.write_order_key(out);
        }
        Datum::Bytes(text) => {
            let start = out.len();
            out.extend([5, 0, 0, 0, 0]);
            collation(id).sort_key(text, out);
            let length = (out.len() - start - 5) as u32;
            out[start + 1..start + 5].copy_from_slice(&length.to_le_bytes());
        }
        Datum::Json(document) => {
            out.push(8);
            match Json::decode(document) {
                Ok(json) => json.write_key(out),
                Err(_) => out.push(u8::MAX),
            }
        }
        Datum::Date(v) => {
            out.push(6);
            out.extend((v.to_number() * 1_000_000).to_le_bytes());
            out.extend(0u32.to_le_bytes());
        }
        Datum::DateTime(v) => {
            // A DATE and a DATETIME at midnight are equal.
            out.push(6);
            out.extend(v.to_number().to_le_bytes());
            out.extend(v.micros.to_le_bytes());
        }
        Datum::Time(v) => {
            out.push(7);
            out.extend(v.to_micros().to_le_bytes());
        }
    }
}

/// The order of two integers of any sign.
#[inline]
pub fn compare_integers(left: &Datum<'_>, right: &Datum<'_>) -> Option<Ordering> {
    Some(match (left, right) {
        (Datum::Int(a), Datum::Int(b)) => a.cmp(b),
        (Datum::UInt(a), Datum::UInt(b)) => a.cmp(b),
        (Datum::Int(a), Datum::UInt(b)) => u64::try_from(*a).map_or(Ordering::Less, |a| a.cmp(b)),
        (Datum::UInt(a), Datum::Int(b)) => u64::try_from(*b).map_or(Ordering::Greater, |b| a.cmp(&b)),
        _ => return None,
    })
}
