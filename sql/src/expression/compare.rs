//! As which type two values compare, and how.
//!
//! | operands | compare as |
//! |---|---|
//! | integers | integers, whatever their signs |
//! | a decimal and an integer or decimal | decimals |
//! | strings | strings, by the collation they agree on |
//! | a column of integers or decimals and a constant string that is a number | exact numbers |
//! | a DATE, DATETIME or TIMESTAMP and a temporal value, a string, or a constant number that is a date | dates and times |
//! | a TIME and one of these without a date | times |
//! | all else: a double, a number and a string, a date and a number that is none | doubles |
//!
//! The binder chooses a [`Comparison`] by the static types. Values of an unexpected
//! kind (a user variable) are converted; [`Comparison::ByValue`] chooses anew for
//! each pair.
//!
//! [`order`] and [`group_key`] are for rows: ORDER BY, GROUP BY, DISTINCT.

use std::cmp::Ordering;

use format::collation::{CollationId, collation};
use format::value::{DateTime, Time};

use super::arithmetic::compare_integers;
use super::datum::quoted;
use super::temporal::{Zeros, comparison_moment, moment_of_number, time_of_number};
use super::{Datum, EvalContext};
use crate::error::{Error, Result};
use crate::parser::ast::BinaryOp;
use crate::types::{Coercibility, DECIMALS_NOT_FIXED, Kind, TypeInfo};

/// As what two values compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Comparison {
    /// Both are integers, signed or not.
    Integer,
    Decimal,
    Double,
    /// Doubles of which both have a fixed number of decimals: equal if they are so within the larger number of them.
    /// The sum of 0.1, 0.2 and -0.3 in a DOUBLE(10,2) is 0.
    DoubleFixed {
        decimals: u8,
    },
    /// Both are strings.
    String(CollationId),
    /// One of them is a DATE or DATETIME and the other can be read as one.
    DateTime,
    /// One of them is a TIME.
    Time,
    /// A value without a static type is among them; strings compare by this collation.
    ByValue(CollationId),
}

/// The rule for a comparison between expressions of two types. 1267 for strings of collations that do not mix.
/// An index on a column can be used for `column op value` if the rule with the value's type is also the rule of the
/// column with itself.
pub fn comparison_of(left: &TypeInfo, right: &TypeInfo, operation: &str) -> Result<Comparison> {
    if left.kind == Kind::Null || right.kind == Kind::Null {
        let other = if left.kind == Kind::Null { right } else { left };
        // The result is NULL; the rule only has to be one that the other side takes.
        return Ok(if other.is_string() { Comparison::String(other.collation) } else { Comparison::Integer });
    }
    if left.kind == Kind::Parameter || right.kind == Kind::Parameter {
        let collation = aggregate_collations(&[*left, *right], operation)?.0;
        let other = if left.kind == Kind::Parameter { right } else { left };
        return Ok(if other.has_date() { Comparison::DateTime } else { Comparison::ByValue(collation) });
    }
    if left.is_string() && right.is_string() {
        return Ok(Comparison::String(aggregate_collations(&[*left, *right], operation)?.0));
    }
    if left.has_date() || right.has_date() {
        return Ok(Comparison::DateTime);
    }
    if left.kind == Kind::Time || right.kind == Kind::Time {
        return Ok(Comparison::Time);
    }
    if left.is_integer() && right.is_integer() {
        return Ok(Comparison::Integer);
    }
    let is_exact = |ty: &TypeInfo| ty.is_integer() || ty.kind == Kind::Decimal;
    let is_fixed = |ty: &TypeInfo| ty.is_numeric() && ty.decimals < DECIMALS_NOT_FIXED;
    Ok(match (is_exact(left) && is_exact(right), is_fixed(left) && is_fixed(right)) {
        (true, _) => Comparison::Decimal,
        (false, true) => Comparison::DoubleFixed { decimals: left.decimals.max(right.decimals) },
        (false, false) => Comparison::Double,
    })
}

/// The order of two values that are not NULL. None if they have none: a NULL or NaN among them.
#[inline]
pub fn compare(
    how: Comparison,
    left: &Datum<'_>,
    right: &Datum<'_>,
    context: &EvalContext<'_>,
) -> Result<Option<Ordering>> {
    match (how, left, right) {
        (Comparison::Integer, Datum::Int(a), Datum::Int(b)) => Ok(Some(a.cmp(b))),
        (Comparison::String(id), Datum::Bytes(a), Datum::Bytes(b)) => Ok(Some(collation(id).compare(a, b))),
        _ => compare_converted(how, left, right, context),
    }
}

fn compare_converted(
    how: Comparison,
    left: &Datum<'_>,
    right: &Datum<'_>,
    context: &EvalContext<'_>,
) -> Result<Option<Ordering>> {
    match how {
        Comparison::Integer => match compare_integers(left, right) {
            Some(ordering) => Ok(Some(ordering)),
            None => by_value(left, right, context.connection, context),
        },
        Comparison::Decimal => Ok(Some(match (left, right) {
            // A parameter may bring a double where a decimal was expected.
            (Datum::Double(_) | Datum::Bytes(_), _) | (_, Datum::Double(_) | Datum::Bytes(_)) => {
                left.to_f64(context)?.total_cmp(&right.to_f64(context)?)
            }
            _ => left.to_decimal(context)?.cmp(&right.to_decimal(context)?),
        })),
        Comparison::Double => {
            let (left, right) = (left.to_f64(context)?, right.to_f64(context)?);
            Ok(left.partial_cmp(&right))
        }
        Comparison::DoubleFixed { decimals } => {
            let (left, right) = (left.to_f64(context)?, right.to_f64(context)?);
            let is_equal = (left - right).abs() < 5.0 / 10f64.powi(i32::from(decimals) + 1);
            Ok(if is_equal { Some(Ordering::Equal) } else { left.partial_cmp(&right) })
        }
        Comparison::String(id) => match (left, right) {
            (Datum::Bytes(a), Datum::Bytes(b)) => Ok(Some(collation(id).compare(a, b))),
            _ => by_value(left, right, id, context),
        },
        Comparison::DateTime => match (left, right) {
            (Datum::Date(a), Datum::Date(b)) => Ok(Some(a.cmp(b))),
            (Datum::DateTime(a), Datum::DateTime(b)) => Ok(Some(a.cmp(b))),
            _ => match (moment(left, context)?, moment(right, context)?) {
                (Some(left), Some(right)) => Ok(Some(left.cmp(&right))),
                _ => compare_converted(Comparison::Double, left, right, context),
            },
        },
        Comparison::Time => match (time(left, context)?, time(right, context)?) {
            (Some(left), Some(right)) => Ok(Some(left.cmp(&right))),
            _ => compare_converted(Comparison::Double, left, right, context),
        },
        Comparison::ByValue(id) => by_value(left, right, id, context),
    }
}

/// A value as a moment to compare with. None: a number that is no date, and compares as a number. A text that is no
/// date has been warned of, and is the zero date: before all others.
fn moment(value: &Datum<'_>, context: &EvalContext<'_>) -> Result<Option<DateTime>> {
    match value {
        Datum::Int(_) | Datum::UInt(_) | Datum::Decimal(_) | Datum::Double(_) => {
            Ok(moment_of_number(value, context.mode))
        }
        Datum::Bytes(text) => match comparison_moment(text, context.zone, context.mode) {
            Some((moment, false)) => Ok(Some(moment)),
            Some((moment, true)) => {
                context.doubt(Error::truncated_wrong_value("datetime", &quoted(text)))?;
                Ok(Some(moment))
            }
            None => {
                context.doubt(Error::incorrect_value("datetime", &quoted(text)))?;
                Ok(Some(DateTime::ZERO))
            }
        },
        value => Ok(Some(value.to_datetime(Zeros::Allowed, context)?.unwrap_or(DateTime::ZERO))),
    }
}

/// The same for a TIME.
fn time(value: &Datum<'_>, context: &EvalContext<'_>) -> Result<Option<Time>> {
    match value {
        Datum::Int(_) | Datum::UInt(_) | Datum::Decimal(_) | Datum::Double(_) => Ok(time_of_number(value)),
        value => Ok(Some(value.to_time(context)?.unwrap_or(Time::ZERO))),
    }
}

/// Chooses the rule by the kinds of the values.
fn by_value(
    left: &Datum<'_>,
    right: &Datum<'_>,
    id: CollationId,
    context: &EvalContext<'_>,
) -> Result<Option<Ordering>> {
    let how = match (left, right) {
        (Datum::Null, _) | (_, Datum::Null) => return Ok(None),
        (Datum::Bytes(a), Datum::Bytes(b)) => return Ok(Some(collation(id).compare(a, b))),
        (Datum::Date(_) | Datum::DateTime(_), _) | (_, Datum::Date(_) | Datum::DateTime(_)) => Comparison::DateTime,
        (Datum::Time(_), _) | (_, Datum::Time(_)) => Comparison::Time,
        (Datum::Double(_) | Datum::Bytes(_), _) | (_, Datum::Double(_) | Datum::Bytes(_)) => Comparison::Double,
        (Datum::Decimal(_), _) | (_, Datum::Decimal(_)) => Comparison::Decimal,
        _ => return Ok(compare_integers(left, right)),
    };
    compare_converted(how, left, right, context)
}

/// Whether an order satisfies a comparison operator.
#[inline]
pub fn holds(op: BinaryOp, ordering: Ordering) -> bool {
    match op {
        BinaryOp::Equal | BinaryOp::NullSafeEqual => ordering == Ordering::Equal,
        BinaryOp::NotEqual => ordering != Ordering::Equal,
        BinaryOp::Less => ordering == Ordering::Less,
        BinaryOp::LessEqual => ordering != Ordering::Greater,
        BinaryOp::Greater => ordering == Ordering::Greater,
        _ => ordering != Ordering::Less,
    }
}

/// `left op right` with NULL logic.
#[inline]
pub fn compare_op(
    op: BinaryOp,
    how: Comparison,
    left: &Datum<'_>,
    right: &Datum<'_>,
    context: &EvalContext<'_>,
) -> Result<Option<bool>> {
    if left.is_null() || right.is_null() {
        return Ok(match op {
            BinaryOp::NullSafeEqual => Some(left.is_null() && right.is_null()),
            _ => None,
        });
    }
    let ordering = compare(how, left, right, context)?;
    Ok(match ordering {
        Some(ordering) => Some(holds(op, ordering)),
        None if op == BinaryOp::NullSafeEqual => Some(false),
        None => None,
    })
}

// ------------------------------------------------------------- for rows

/// The order of two values of the same type, as in ORDER BY: NULLs first.
pub fn order(a: &Datum<'_>, b: &Datum<'_>, id: CollationId) -> Ordering {
    match (a, b) {
        (Datum::Null, Datum::Null) => Ordering::Equal,
        (Datum::Null, _) => Ordering::Less,
        (_, Datum::Null) => Ordering::Greater,
        (Datum::Bytes(a), Datum::Bytes(b)) => collation(id).compare(a, b),
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
            // As text without the zeros that do not count.
            let start = out.len();
            out.extend([4, 0]);
            v.write(out);
            if v.scale() > 0 {
                let digits = out[start + 2..].iter().rev().take_while(|byte| **byte == b'0').count();
                out.truncate(out.len() - digits);
                if out.last() == Some(&b'.') {
                    out.pop();
                }
            }
            out[start + 1] = (out.len() - start - 2) as u8;
        }
        Datum::Bytes(text) => {
            let start = out.len();
            out.extend([5, 0, 0, 0, 0]);
            collation(id).sort_key(text, out);
            let length = (out.len() - start - 5) as u32;
            out[start + 1..start + 5].copy_from_slice(&length.to_le_bytes());
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

// ------------------------------------------------------------ collations

/// The collation that several strings agree on, by MySQL's rules of coercibility; numbers do not take part. Without
/// any string the connection's is meant, and `None` coercibility says so. `operation` is named in error 1267.
pub fn aggregate_collations(types: &[TypeInfo], operation: &str) -> Result<(CollationId, Coercibility)> {
    let mut result: Option<(CollationId, Coercibility)> = None;
    for ty in types {
        if !ty.is_string() {
            continue;
        }
        let next = (ty.collation, ty.coercibility);
        result = Some(match result {
            None => next,
            Some(current) => stronger(current, next).ok_or_else(|| mix(current, next, operation))?,
        });
    }
    match result {
        Some((id, coercibility)) => Ok((id, coercibility)),
        None => Ok((CollationId::DEFAULT, Coercibility::Numeric)),
    }
}

fn mix(left: (CollationId, Coercibility), right: (CollationId, Coercibility), operation: &str) -> Error {
    let name = |(id, coercibility): (CollationId, Coercibility)| {
        let strength = match coercibility {
            Coercibility::Explicit => "EXPLICIT",
            Coercibility::None => "NONE",
            Coercibility::Implicit => "IMPLICIT",
            Coercibility::SystemConstant => "SYSCONST",
            Coercibility::Literal => "COERCIBLE",
            Coercibility::Numeric => "NUMERIC",
            Coercibility::Ignorable => "IGNORABLE",
        };
        (collation(id).name, strength)
    };
    Error::collation_mix(name(left), name(right), operation)
}

/// Which of two collations holds. None: neither, error 1267.
fn stronger(
    left: (CollationId, Coercibility),
    right: (CollationId, Coercibility),
) -> Option<(CollationId, Coercibility)> {
    use format::collation::Charset;
    if left.0 == right.0 {
        return Some(if right.1 < left.1 { right } else { left });
    }
    let (a, b) = (collation(left.0), collation(right.0));
    if a.charset != b.charset {
        // Binary strings have precedence over character strings of the same strength.
        if a.is_binary() || b.is_binary() {
            let (binary, text) = if a.is_binary() { (left, right) } else { (right, left) };
            return Some(if binary.1 <= text.1 { binary } else { text });
        }
        let is_unicode = |charset| matches!(charset, Charset::Utf8mb4 | Charset::Utf8mb3);
        // What has fewer characters is converted to what has more, if that one is not the weaker.
        let contains = |big: (CollationId, Coercibility), small: (CollationId, Coercibility)| {
            let (big_set, small_set) = (collation(big.0).charset, collation(small.0).charset);
            let is_larger = !is_unicode(small_set) || (big_set == Charset::Utf8mb4 && small_set == Charset::Utf8mb3);
            let from_ascii = small_set == Charset::Ascii && big.1 <= small.1;
            (is_unicode(big_set) && (big.1 < small.1 || (big.1 == small.1 && is_larger))) || from_ascii
        };
        if contains(left, right) {
            return Some(left);
        }
        if contains(right, left) {
            return Some(right);
        }
        // Literals and the like are converted to what is stronger.
        if left.1 < right.1 && right.1 >= Coercibility::SystemConstant {
            return Some(left);
        }
        if right.1 < left.1 && left.1 >= Coercibility::SystemConstant {
            return Some(right);
        }
        return None;
    }
    if left.1 != right.1 {
        return Some(if left.1 < right.1 { left } else { right });
    }
    if left.1 == Coercibility::Explicit {
        return None;
    }
    // The _bin collation of the character set wins; two others have nothing in common but their bytes.
    if a.is_bytewise() {
        return Some(left);
    }
    if b.is_bytewise() {
        return Some(right);
    }
    Some((a.charset.bin_collation(), Coercibility::None))
}
