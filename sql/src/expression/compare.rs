//! Two values compared by a rule.
//!
//! The binder chooses a [`Comparison`] by the static types. Values of an unexpected
//! kind (a user variable) are converted; [`Comparison::ByValue`] chooses anew for
//! each pair.

use std::cmp::Ordering;

use format::collation::{CollationId, collation};
use format::value::{DateTime, Time};

use super::datum::quoted;
use super::order::compare_integers;
use super::temporal::{Zeros, comparison_moment, moment_of_number, time_of_number};
use super::{Comparison, Datum, EvalContext, json};
use crate::error::{Error, Result};
use crate::parser::ast::BinaryOp;
use crate::types::TypeInfo;

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
        (Comparison::Decimal, Datum::Decimal(a), Datum::Decimal(b)) => Ok(Some(a.cmp(b))),
        (Comparison::DateTime, Datum::Date(a), Datum::Date(b)) => Ok(Some(a.cmp(b))),
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
            // A JSON value among strings is its text.
            (Datum::Json(_), Datum::Bytes(_) | Datum::Json(_)) | (Datum::Bytes(_), Datum::Json(_)) => {
                let text = |value: &Datum<'_>| value.by_ref().into_text(&TypeInfo::NULL).into_owned();
                Ok(Some(collation(id).compare(&text(left), &text(right))))
            }
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
        Comparison::Json => json::compare(left, right, context).map(Some),
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
        (Datum::Json(_), _) | (_, Datum::Json(_)) => Comparison::Json,
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
