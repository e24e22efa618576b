//! + - * / DIV MOD and the bit operators.
//!
//! The kinds of the operands decide: a double makes the result a double, a decimal
//! a decimal, else it is an integer, unsigned if either is. Leaving the range of
//! the result is error 1690. A division by zero is NULL, with warning 1365 if
//! `sql_mode` asks for it, and error 1365 in a strict change.
//!
//! Exact division carries more digits than its type shows, so that `1/3*3` is 1:
//! the digits are cut where the value leaves the expression ([`Datum::fit`]).

use format::value::{Decimal, DecimalError};

use super::datum::Number;
use super::{Datum, EvalContext};
use crate::error::{Error, Result};
use crate::parser::ast::BinaryOp;
use crate::types::SqlMode;

/// A result out of range, before it is known in which expression.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    OutOfRange(&'static str),
    DivisionByZero,
}

const BIGINT: Fault = Fault::OutOfRange("BIGINT");
const UNSIGNED: Fault = Fault::OutOfRange("BIGINT UNSIGNED");
const DOUBLE: Fault = Fault::OutOfRange("DOUBLE");

impl From<DecimalError> for Fault {
    fn from(error: DecimalError) -> Fault {
        match error {
            DecimalError::DivisionByZero => Fault::DivisionByZero,
            _ => Fault::OutOfRange("DECIMAL"),
        }
    }
}

/// `left op right` for the six arithmetic operators.
#[inline]
pub fn compute(op: BinaryOp, left: Number, right: Number, context: &EvalContext<'_>) -> Result<Number, Fault> {
    match (left, right) {
        (Number::Int(left), Number::Int(right)) => match op {
            BinaryOp::Add => left.checked_add(right).map(Number::Int).ok_or(BIGINT),
            BinaryOp::Subtract => left.checked_sub(right).map(Number::Int).ok_or(BIGINT),
            BinaryOp::Multiply => left.checked_mul(right).map(Number::Int).ok_or(BIGINT),
            BinaryOp::IntegerDivide | BinaryOp::Modulo if right == 0 => Err(Fault::DivisionByZero),
            BinaryOp::IntegerDivide => left.checked_div(right).map(Number::Int).ok_or(BIGINT),
            // The only overflow, MIN % -1, is 0.
            BinaryOp::Modulo => Ok(Number::Int(left.checked_rem(right).unwrap_or(0))),
            _ => exact(op, Decimal::from(left), Decimal::from(right), context),
        },
        // Doubles are divided as the decimals that they print as: 0.3e0 DIV 0.1e0 is 3.
        (Number::Double(_), _) | (_, Number::Double(_)) if op == BinaryOp::IntegerDivide => {
            compute(op, without_exponent(left), without_exponent(right), context)
        }
        (Number::Double(_), _) | (_, Number::Double(_)) => double(op, left.to_f64(), right.to_f64()),
        (Number::Decimal(_), _) | (_, Number::Decimal(_)) => {
            match exact(op, left.to_decimal(), right.to_decimal(), context)? {
                // Of signed operands the quotient is signed.
                Number::UInt(_) if !matches!((left, right), (Number::UInt(_), _) | (_, Number::UInt(_))) => Err(BIGINT),
                number => Ok(number),
            }
        }
        _ if op == BinaryOp::Divide => exact(op, left.to_decimal(), right.to_decimal(), context),
        _ => unsigned(op, wide(left), wide(right), context),
    }
}

/// The common cases: sums, differences and products of integers, doubles, and decimals. None: [`compute`] tells, errors
/// as well.
#[inline]
pub fn of_common(op: BinaryOp, left: &Datum<'_>, right: &Datum<'_>) -> Option<Datum<'static>> {
    let of_int;
    let (left, right) = match (left, right) {
        (Datum::Int(left), Datum::Int(right)) => {
            return match op {
                BinaryOp::Add => left.checked_add(*right),
                BinaryOp::Subtract => left.checked_sub(*right),
                BinaryOp::Multiply => left.checked_mul(*right),
                _ => None,
            }
            .map(Datum::Int);
        }
        (Datum::Double(left), Datum::Double(right)) => {
            let result = match op {
                BinaryOp::Add => left + right,
                BinaryOp::Subtract => left - right,
                BinaryOp::Multiply => left * right,
                _ => return None,
            };
            return result.is_finite().then_some(Datum::Double(result));
        }
        (Datum::Decimal(left), Datum::Decimal(right)) => (left, right),
        (Datum::Int(left), Datum::Decimal(right)) => {
            of_int = Decimal::from(*left);
            (&of_int, right)
        }
        (Datum::Decimal(left), Datum::Int(right)) => {
            of_int = Decimal::from(*right);
            (left, &of_int)
        }
        _ => return None,
    };
    match op {
        BinaryOp::Add => left.add(right),
        BinaryOp::Subtract => left.sub(right),
        BinaryOp::Multiply => left.mul(right),
        _ => return None,
    }
    .ok()
    .map(Datum::Decimal)
}

/// An integer with room for both signs.
fn wide(number: Number) -> i128 {
    match number {
        Number::Int(v) => v as i128,
        Number::UInt(v) => v as i128,
        // Not reached: `compute` has sorted them out.
        Number::Decimal(v) => v.to_i128_truncated().unwrap_or(0),
        Number::Double(v) => v as i128,
    }
}

/// Integers of which one is unsigned: so is the result.
fn unsigned(op: BinaryOp, left: i128, right: i128, context: &EvalContext<'_>) -> Result<Number, Fault> {
    let result = match op {
        BinaryOp::Add => left + right,
        BinaryOp::Subtract if context.mode.has(SqlMode::NO_UNSIGNED_SUBTRACTION) => {
            return i64::try_from(left - right).map(Number::Int).map_err(|_| BIGINT);
        }
        BinaryOp::Subtract => left - right,
        BinaryOp::Multiply => left.checked_mul(right).ok_or(UNSIGNED)?,
        BinaryOp::IntegerDivide | BinaryOp::Modulo if right == 0 => return Err(Fault::DivisionByZero),
        BinaryOp::IntegerDivide => left / right,
        // The sign of a remainder is that of the dividend.
        _ if left < 0 => return i64::try_from(left % right).map(Number::Int).map_err(|_| BIGINT),
        _ => left % right,
    };
    u64::try_from(result).map(Number::UInt).map_err(|_| UNSIGNED)
}

fn exact(op: BinaryOp, left: Decimal, right: Decimal, context: &EvalContext<'_>) -> Result<Number, Fault> {
    Ok(Number::Decimal(match op {
        BinaryOp::Add => left.add(&right)?,
        BinaryOp::Subtract => left.sub(&right)?,
        BinaryOp::Multiply => left.mul(&right)?,
        BinaryOp::Divide => left.div(&right, context.div_precision_increment)?,
        BinaryOp::IntegerDivide => {
            let quotient = left.div_integer(&right)?;
            return match quotient.to_i64() {
                Ok(value) => Ok(Number::Int(value)),
                Err(_) => quotient.to_u64().map(Number::UInt).map_err(|_| BIGINT),
            };
        }
        _ => left.rem(&right)?,
    }))
}

/// A double as a decimal. What is too large for one is the largest.
fn without_exponent(number: Number) -> Number {
    let Number::Double(value) = number else { return number };
    let largest = |_| if value < 0.0 { Decimal::max(65, 0).neg() } else { Decimal::max(65, 0) };
    Number::Decimal(Decimal::from_f64(value).unwrap_or_else(largest))
}

fn double(op: BinaryOp, left: f64, right: f64) -> Result<Number, Fault> {
    let result = match op {
        BinaryOp::Add => left + right,
        BinaryOp::Subtract => left - right,
        BinaryOp::Multiply => left * right,
        BinaryOp::Divide | BinaryOp::Modulo if right == 0.0 => return Err(Fault::DivisionByZero),
        BinaryOp::Divide => left / right,
        _ => left % right,
    };
    if result.is_finite() { Ok(Number::Double(result)) } else { Err(DOUBLE) }
}

/// -x. An integer too large for its sign becomes a decimal when it was a literal; the binder sees to that.
pub fn negate(number: Number) -> Result<Number, Fault> {
    match number {
        Number::Int(v) => v.checked_neg().map(Number::Int).ok_or(BIGINT),
        Number::UInt(v) => 0i64.checked_sub_unsigned(v).map(Number::Int).ok_or(BIGINT),
        Number::Decimal(v) => Ok(Number::Decimal(v.neg())),
        Number::Double(v) => Ok(Number::Double(-v)),
    }
}

/// & | ^ << >>: on 64 bits, unsigned.
pub fn bits(op: BinaryOp, left: u64, right: u64) -> u64 {
    match op {
        BinaryOp::BitAnd => left & right,
        BinaryOp::BitOr => left | right,
        BinaryOp::BitXor => left ^ right,
        // Bits shifted out of the word are gone, all of them from 64 on.
        BinaryOp::ShiftLeft => u32::try_from(right).ok().and_then(|n| left.checked_shl(n)).unwrap_or(0),
        _ => u32::try_from(right).ok().and_then(|n| left.checked_shr(n)).unwrap_or(0),
    }
}

/// The answer to a division by zero: NULL, and what `sql_mode` wants to be said.
#[cold]
pub fn division_by_zero<'a>(context: &EvalContext<'_>) -> Result<Datum<'a>> {
    if context.mode.has(SqlMode::ERROR_FOR_DIVISION_BY_ZERO) {
        context.doubt(Error::division_by_zero())?;
    }
    Ok(Datum::Null)
}
