//! Numbers: rounding, powers, angles, bases.
//!
//! Exact arguments give exact results: ROUND of a decimal is a decimal, rounded half away from zero, while ROUND of a
//! double rounds half to even, as the C library does for MySQL. What leaves the range of its type is error 1690; where
//! a function is not defined (SQRT(-1)), it is NULL.

use std::cell::{Cell, RefCell};

use format::value::Decimal;

use super::{Call, Function, Typing, not_null, typings};
use crate::error::{Error, Result};
use crate::expression::datum::Number;
use crate::expression::numbers::power_of_ten;
use crate::expression::random::Generator;
use crate::expression::{Datum, bit_strings};
use crate::types::{DECIMALS_NOT_FIXED, Kind, TypeInfo};

pub const FUNCTIONS: &[Function] = &[
    Function::new("abs", (1, 1), same_number, abs),
    Function::new("sign", (1, 1), sign_type, sign),
    Function::new("ceil", (1, 1), whole_type, ceiling),
    Function::new("ceiling", (1, 1), whole_type, ceiling),
    Function::new("floor", (1, 1), whole_type, floor),
    Function::new("round", (1, 2), round_type, round),
    Function::new("truncate", (2, 2), truncate_type, truncate),
    Function::new("pow", (2, 2), typings::double, pow),
    Function::new("power", (2, 2), typings::double, pow),
    Function::new("sqrt", (1, 1), typings::double, sqrt),
    Function::new("exp", (1, 1), typings::double, exp),
    Function::new("ln", (1, 1), typings::double, ln),
    Function::new("log", (1, 2), typings::double, log),
    Function::new("log2", (1, 1), typings::double, log2),
    Function::new("log10", (1, 1), typings::double, log10),
    Function::new("sin", (1, 1), typings::double, sin),
    Function::new("cos", (1, 1), typings::double, cos),
    Function::new("tan", (1, 1), typings::double, tan),
    Function::new("cot", (1, 1), typings::double, cot),
    Function::new("asin", (1, 1), typings::double, asin),
    Function::new("acos", (1, 1), typings::double, acos),
    Function::new("atan", (1, 2), typings::double, atan),
    Function::new("atan2", (1, 2), typings::double, atan),
    Function::new("degrees", (1, 1), typings::double, degrees),
    Function::new("radians", (1, 1), typings::double, radians),
    Function::new("pi", (0, 0), pi_type, pi),
    Function::new("rand", (0, 1), typings::double, rand).volatile(),
    Function::new("bit_count", (1, 1), sign_type, bit_count),
    Function::new("conv", (3, 3), base_type, conv),
    Function::new("bin", (1, 1), base_type, bin),
    Function::new("oct", (1, 1), base_type, oct),
];

// ----------------------------------------------------------------- typing

/// Numbers keep their type, all else is a double.
fn same_number(typing: &mut Typing<'_>) -> Result<TypeInfo> {
    typing.numbers();
    let ty = typing.args[0].ty;
    Ok(match ty.kind {
        _ if ty.is_integer() => integer_of(&ty),
        Kind::Decimal | Kind::Double | Kind::Float => ty,
        Kind::Date | Kind::Time | Kind::DateTime | Kind::Timestamp if ty.decimals == 0 => TypeInfo::bigint(17),
        Kind::Time | Kind::DateTime | Kind::Timestamp => TypeInfo::decimal(14 + ty.decimals, ty.decimals, false),
        _ => TypeInfo::double(),
    }
    .nullable(ty.nullable || !ty.is_numeric()))
}

fn integer_of(ty: &TypeInfo) -> TypeInfo {
    TypeInfo { unsigned: ty.unsigned, ..TypeInfo::bigint(ty.length.clamp(1, 21)) }
}

fn sign_type(typing: &mut Typing<'_>) -> Result<TypeInfo> {
    typing.numbers();
    Ok(TypeInfo::int(2).nullable(typing.any_nullable()))
}

/// CEIL and FLOOR: decimals become integers as far as these reach.
fn whole_type(typing: &mut Typing<'_>) -> Result<TypeInfo> {
    let ty = same_number(typing)?;
    Ok(match ty.kind {
        // One digit more: CEIL(9.5) is 10.
        Kind::Decimal if ty.integer_digits() < 18 => TypeInfo::bigint(u32::from(ty.integer_digits()) + 2),
        Kind::Decimal => TypeInfo::decimal((ty.integer_digits() + 1).min(65), 0, ty.unsigned),
        // A double without digits behind the point is shown without an exponent, too.
        Kind::Double | Kind::Float => TypeInfo::double_fixed(0),
        _ => ty,
    }
    .nullable(ty.nullable))
}

fn round_type(typing: &mut Typing<'_>) -> Result<TypeInfo> {
    rounded_type(typing, 1)
}

fn truncate_type(typing: &mut Typing<'_>) -> Result<TypeInfo> {
    rounded_type(typing, 0)
}

/// `carry`: digits that rounding may add in front.
fn rounded_type(typing: &mut Typing<'_>, carry: u8) -> Result<TypeInfo> {
    let ty = same_number(typing)?;
    let decimals = if typing.args.len() == 1 { Some(0) } else { typing.constant_int(1) };
    let nullable = typing.any_nullable() || ty.nullable;
    Ok(match (ty.kind, decimals) {
        (Kind::Decimal, Some(decimals)) => {
            let scale = decimals.clamp(0, 30) as u8;
            let grows = if scale < ty.decimals { carry } else { 0 };
            let integer_digits = ty.integer_digits().saturating_add(grows).max(1);
            TypeInfo::decimal((integer_digits + scale).clamp(1, 65), scale, ty.unsigned)
        }
        (Kind::Double | Kind::Float, Some(decimals)) if decimals < i64::from(DECIMALS_NOT_FIXED) => {
            TypeInfo::double_fixed(decimals.max(0) as u8)
        }
        (Kind::Double | Kind::Float, _) => TypeInfo::double(),
        _ => ty,
    }
    .nullable(nullable))
}

fn pi_type(_: &mut Typing<'_>) -> Result<TypeInfo> {
    Ok(TypeInfo::double_fixed(6).not_null())
}

fn base_type(typing: &mut Typing<'_>) -> Result<TypeInfo> {
    typing.numbers();
    Ok(typing.text(65))
}

// ----------------------------------------------------------------- rounding

fn number(call: &Call<'_>, index: usize) -> Result<Option<Number>> {
    call.arg(index)?.to_number(call.arg_type(index), call.context)
}

fn out_of_range<'a>(call: &Call<'a>, kind: &str, name: &str) -> Result<Datum<'a>> {
    let args: Vec<String> = call.args.iter().map(|arg| call.context.text(arg)).collect();
    Err(Error::out_of_range(kind, &format!("{name}({})", args.join(","))))
}

/// A double that is one: overflow is an error.
fn double<'a>(call: &Call<'a>, name: &str, value: f64) -> Result<Datum<'a>> {
    if value.is_finite() { Ok(Datum::Double(value)) } else { out_of_range(call, "DOUBLE", name) }
}

fn datum<'a>(number: Number) -> Datum<'a> {
    match number {
        Number::Int(v) => Datum::Int(v),
        Number::UInt(v) => Datum::UInt(v),
        Number::Decimal(v) => Datum::Decimal(v),
        Number::Double(v) => Datum::Double(v),
    }
}

fn abs<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    Ok(match not_null!(number(call, 0)?) {
        Number::Int(v) => match v.checked_abs() {
            Some(v) => Datum::Int(v),
            None => return out_of_range(call, "BIGINT", "abs"),
        },
        Number::UInt(v) => Datum::UInt(v),
        Number::Decimal(v) => Datum::Decimal(v.abs()),
        Number::Double(v) => Datum::Double(v.abs()),
    })
}

fn sign<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    Ok(Datum::Int(match not_null!(number(call, 0)?) {
        Number::Int(v) => v.signum(),
        Number::UInt(v) => (v > 0) as i64,
        Number::Decimal(v) if v.is_zero() => 0,
        Number::Decimal(v) => {
            if v.is_negative() {
                -1
            } else {
                1
            }
        }
        Number::Double(v) => (v > 0.0) as i64 - (v < 0.0) as i64,
    }))
}

fn ceiling<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    whole(call, Decimal::ceiling, f64::ceil)
}

fn floor<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    whole(call, Decimal::floor, f64::floor)
}

fn whole<'a>(
    call: &Call<'a>,
    exact: fn(&Decimal) -> Result<Decimal, format::value::DecimalError>,
    inexact: fn(f64) -> f64,
) -> Result<Datum<'a>> {
    Ok(match not_null!(number(call, 0)?) {
        Number::Decimal(v) => match exact(&v) {
            Ok(v) if call.ty.is_integer() => Datum::Int(v.to_i64().unwrap_or_else(|nearest| nearest)),
            Ok(v) => Datum::Decimal(v),
            Err(_) => return out_of_range(call, "DECIMAL", "ceiling"),
        },
        Number::Double(v) => Datum::Double(inexact(v)),
        integer => datum(integer),
    })
}

fn round<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    rounded(call, true)
}

fn truncate<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    rounded(call, false)
}

fn rounded<'a>(call: &Call<'a>, up: bool) -> Result<Datum<'a>> {
    let value = not_null!(number(call, 0)?);
    let decimals = if call.has(1) { not_null!(call.int(1)?) } else { 0 };
    let name = if up { "round" } else { "truncate" };
    Ok(match value {
        Number::Double(v) => Datum::Double(round_double(v, decimals, up)),
        Number::Decimal(v) => {
            // A scale that varies by row cannot exceed that of the type.
            let scale = decimals.clamp(-81, i64::from(call.ty.decimals)) as i32;
            let result = if up { v.round(scale) } else { Ok(v.truncate(scale)) };
            match result {
                Ok(v) => Datum::Decimal(v),
                Err(_) => return out_of_range(call, "DECIMAL", name),
            }
        }
        integer if decimals >= 0 => datum(integer),
        Number::Int(v) => match round_integer(i128::from(v), decimals, up).try_into() {
            Ok(v) => Datum::Int(v),
            Err(_) => return out_of_range(call, "BIGINT", name),
        },
        Number::UInt(v) => match round_integer(i128::from(v), decimals, up).try_into() {
            Ok(v) => Datum::UInt(v),
            Err(_) => return out_of_range(call, "BIGINT UNSIGNED", name),
        },
    })
}

/// Rounds before the point; `decimals` is negative.
fn round_integer(value: i128, decimals: i64, up: bool) -> i128 {
    let digits = decimals.unsigned_abs();
    if digits > 20 {
        return 0;
    }
    let unit = 10_i128.pow(digits as u32);
    let rest = value % unit;
    let whole = value - rest;
    if up && rest.abs() * 2 >= unit { whole + unit * rest.signum() } else { whole }
}

fn round_double(value: f64, decimals: i64, up: bool) -> f64 {
    let power = power_of_ten(decimals.unsigned_abs().min(400) as u32);
    let nearest = |value: f64| if up { value.round_ties_even() } else { value.trunc() };
    if decimals < 0 {
        let rounded = if power.is_infinite() { 0.0 } else { nearest(value / power) * power };
        // The largest numbers have no rounded ones above them.
        return if rounded.is_infinite() { value } else { rounded };
    }
    let scaled = value * power;
    if scaled.is_infinite() || power.is_infinite() { value } else { nearest(scaled) / power }
}

// ------------------------------------------------------- powers and angles

fn pow<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let (base, exponent) = (not_null!(call.double(0)?), not_null!(call.double(1)?));
    double(call, "pow", base.powf(exponent))
}

fn sqrt<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let value = not_null!(call.double(0)?);
    Ok(if value < 0.0 { Datum::Null } else { Datum::Double(value.sqrt()) })
}

fn exp<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    double(call, "exp", not_null!(call.double(0)?).exp())
}

/// The logarithm of what has none is NULL, and a warning.
fn logarithm<'a>(call: &Call<'a>, value: f64, of: impl Fn(f64) -> f64) -> Result<Datum<'a>> {
    if value > 0.0 {
        return Ok(Datum::Double(of(value)));
    }
    call.context.doubt(Error::new(3020, b"2201E", "Invalid argument for logarithm"))?;
    Ok(Datum::Null)
}

fn ln<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    logarithm(call, not_null!(call.double(0)?), f64::ln)
}

fn log<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    if !call.has(1) {
        return ln(call);
    }
    let (base, value) = (not_null!(call.double(0)?), not_null!(call.double(1)?));
    if base <= 0.0 || base == 1.0 {
        return logarithm(call, 0.0, f64::ln);
    }
    logarithm(call, value, |value| value.ln() / base.ln())
}

fn log2<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    // Not f64::log2, which differs in the last digit.
    logarithm(call, not_null!(call.double(0)?), |value| value.ln() / std::f64::consts::LN_2)
}

fn log10<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    logarithm(call, not_null!(call.double(0)?), f64::log10)
}

fn sin<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    Ok(Datum::Double(not_null!(call.double(0)?).sin()))
}

fn cos<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    Ok(Datum::Double(not_null!(call.double(0)?).cos()))
}

fn tan<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    double(call, "tan", not_null!(call.double(0)?).tan())
}

fn cot<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    double(call, "cot", 1.0 / not_null!(call.double(0)?).tan())
}

fn asin<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let value = not_null!(call.double(0)?);
    Ok(if (-1.0..=1.0).contains(&value) { Datum::Double(value.asin()) } else { Datum::Null })
}

fn acos<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let value = not_null!(call.double(0)?);
    Ok(if (-1.0..=1.0).contains(&value) { Datum::Double(value.acos()) } else { Datum::Null })
}

fn atan<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let value = not_null!(call.double(0)?);
    Ok(Datum::Double(match call.has(1) {
        true => value.atan2(not_null!(call.double(1)?)),
        false => value.atan(),
    }))
}

fn degrees<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    double(call, "degrees", not_null!(call.double(0)?) * (180.0 / std::f64::consts::PI))
}

fn radians<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    Ok(Datum::Double(not_null!(call.double(0)?) * (std::f64::consts::PI / 180.0)))
}

fn pi<'a>(_: &Call<'a>) -> Result<Datum<'a>> {
    Ok(Datum::Double(std::f64::consts::PI))
}

// -------------------------------------------------------------- randomness

/// One execution of one RAND(seed): the call in its plan, and when the statement began.
type Sequence = (usize, usize, i64, u32, u32);

/// How many sequences of RAND(seed) a statement can be in the middle of.
const SEQUENCES_MAX: usize = 16;

thread_local! {
    /// The sequences of RAND(seed), the latest last. An expression keeps no state between rows, so it is kept here.
    static SEQUENCES: RefCell<Vec<(Sequence, Generator)>> = const { RefCell::new(Vec::new()) };
}

fn rand<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    if !call.has(0) {
        let own = call.context.session.random();
        let mut generator = own.and_then(Cell::take).unwrap_or_else(Generator::unseeded);
        let number = generator.number();
        if let Some(own) = own {
            own.set(Some(generator));
        }
        return Ok(Datum::Double(number));
    }
    // RAND(NULL) is RAND(0).
    let seed = call.int(0)?.unwrap_or(0) as u32;
    if !call.args[0].is_constant() {
        // A seed of its own for each row: the first number of each sequence.
        return Ok(Datum::Double(Generator::new(seed).number()));
    }
    let context = call.context;
    let warnings = std::ptr::from_ref(context.warnings).addr();
    let sequence = (call.args.as_ptr().addr(), warnings, context.now_seconds, context.now_micros, seed);
    Ok(Datum::Double(SEQUENCES.with_borrow_mut(|sequences| {
        if let Some((_, generator)) = sequences.iter_mut().find(|(known, _)| *known == sequence) {
            return generator.number();
        }
        if sequences.len() == SEQUENCES_MAX {
            sequences.remove(0);
        }
        let mut generator = Generator::new(seed);
        let number = generator.number();
        sequences.push((sequence, generator));
        number
    })))
}

/// A new statement begins on this thread: the numbers of RAND(3) begin anew, too.
pub fn restart_sequences() {
    SEQUENCES.with_borrow_mut(Vec::clear);
}

// -------------------------------------------------------------------- bases

fn bit_count<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    if bit_strings::is_bit_string(call.arg_type(0)) {
        return Ok(Datum::Int(bit_strings::count(&not_null!(call.text(0)?)) as i64));
    }
    Ok(Datum::Int(i64::from(not_null!(call.uint(0)?).count_ones())))
}

fn conv<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let value = call.arg(0)?;
    // Bits are a number already, whatever base it is said to be in.
    let bits = match value {
        Datum::UInt(bits) if call.arg_type(0).kind == Kind::Bit => Some(bits),
        _ => None,
    };
    let text = not_null!(value.into_text_or_null(call.arg_type(0)));
    // A base beyond all BIGINTs wraps around: 18446744073709551614 is -2.
    let (from, to) = (not_null!(call.uint(1)?) as i64, not_null!(call.uint(2)?) as i64);
    let is_base = |base: i64| (2..=36).contains(&base.unsigned_abs());
    if !is_base(from) || !is_base(to) || text.is_empty() {
        return Ok(Datum::Null);
    }
    Ok(in_base(bits.unwrap_or_else(|| parse_in_base(&text, from)), to))
}

fn bin<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    integer_in_base(call, 2)
}

fn oct<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    integer_in_base(call, 8)
}

/// The integer that an argument begins with, in another base.
fn integer_in_base<'a>(call: &Call<'a>, base: i64) -> Result<Datum<'a>> {
    let number = match call.arg(0)? {
        Datum::Null => return Ok(Datum::Null),
        Datum::Int(number) => number as u64,
        Datum::UInt(number) => number,
        other => parse_in_base(&other.into_text(call.arg_type(0)), 10),
    };
    Ok(in_base(number, base))
}

/// The number that a text begins with. Too large a number is the largest, and 0 if it is negative; other negative ones
/// wrap around. A negative base reads a signed number.
fn parse_in_base(text: &[u8], base: i64) -> u64 {
    let text = text.trim_ascii_start();
    let (negative, digits) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, text),
    };
    let radix = base.unsigned_abs();
    let mut number = 0_u64;
    for byte in digits {
        let Some(digit) = (*byte as char).to_digit(radix as u32) else { break };
        match number.checked_mul(radix).and_then(|number| number.checked_add(u64::from(digit))) {
            Some(next) => number = next,
            None if base < 0 => return if negative { i64::MIN as u64 } else { i64::MAX as u64 },
            None => return if negative { 0 } else { u64::MAX },
        }
    }
    if base < 0 {
        let limit = i64::MAX as u64 + negative as u64;
        number = number.min(limit);
    }
    if negative { number.wrapping_neg() } else { number }
}

/// A number in a base; signed if the base is negative.
fn in_base<'a>(number: u64, base: i64) -> Datum<'a> {
    let radix = base.unsigned_abs();
    let negative = base < 0 && (number as i64) < 0;
    let mut left = if negative { (number as i64).unsigned_abs() } else { number };
    let mut text = Vec::with_capacity(65);
    loop {
        let digit = (left % radix) as u32;
        text.push(char::from_digit(digit, 36).unwrap_or('0').to_ascii_uppercase() as u8);
        left /= radix;
        if left == 0 {
            break;
        }
    }
    if negative {
        text.push(b'-');
    }
    text.reverse();
    Datum::bytes(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_random_numbers() {
        let mut generator = Generator::new(3);
        assert_eq!(generator.number(), 0.9057697559760601);
        assert_eq!(generator.number(), 0.37307905813034536);
    }

    #[test]
    fn rounding() {
        assert_eq!(round_integer(15, -1, true), 20);
        assert_eq!(round_integer(-15, -1, true), -20);
        assert_eq!(round_integer(-19, -1, false), -10);
        assert_eq!(round_integer(5, -30, true), 0);
        assert_eq!(round_double(2.5, 0, true), 2.0);
        assert_eq!(round_double(1.25, 1, true), 1.2);
        assert_eq!(round_double(-1.999, 2, false), -1.99);
        assert_eq!(round_double(155.0, -1, true), 160.0);
        assert_eq!(round_double(1e300, 300, true), 1e300);
    }

    #[test]
    fn bases() {
        let conv = |text: &str, from, to| match in_base(parse_in_base(text.as_bytes(), from), to) {
            Datum::Bytes(text) => String::from_utf8(text.into_owned()).unwrap(),
            _ => unreachable!("a text"),
        };
        assert_eq!(conv("zz", 36, 10), "1295");
        assert_eq!(conv("-1", 10, 16), "FFFFFFFFFFFFFFFF");
        assert_eq!(conv("-1", 10, -16), "-1");
        assert_eq!(conv("1.9", 10, 2), "1");
        assert_eq!(conv("ffffffffffffffffff", 16, 10), "18446744073709551615");
        assert_eq!(conv("x", 10, 2), "0");
    }
}
