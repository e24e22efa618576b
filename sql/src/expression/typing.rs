//! Static types of results: what `+` of two types is, what IF of two types is,
//! what SUM of a type is.
//!
//! Pure functions on [`TypeInfo`], kept apart from the tree walking of
//! [`bind`](super::bind). The rules are those of MySQL's manual ("Arithmetic
//! Operators", "Precision Math", "Control Flow Functions") and of result metadata
//! as clients see it.

use format::collation::{CollationId, collation};
use format::value::{GeometryType, Value};

use super::bit_strings::is_bit_string;
use super::rule::aggregate_collations;
use crate::error::{Error, Result};
use crate::parser::ast::{AggregateFunction, BinaryOp, CastType, IntervalUnit};
use crate::types::{Coercibility, DECIMALS_NOT_FIXED, Kind, SqlMode, TypeInfo};

const PRECISION_MAX: u32 = 65;
const SCALE_MAX: u32 = 30;

/// What arithmetic takes an operand for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    Integer,
    Decimal,
    Double,
}

fn rank(ty: &TypeInfo) -> Rank {
    match ty.kind {
        Kind::Null => Rank::Integer,
        Kind::Decimal => Rank::Decimal,
        Kind::Time | Kind::DateTime | Kind::Timestamp if ty.decimals > 0 => Rank::Decimal,
        Kind::Date | Kind::Time | Kind::DateTime | Kind::Timestamp => Rank::Integer,
        _ if ty.is_integer() => Rank::Integer,
        _ => Rank::Double,
    }
}

/// Digits before and behind the point, of a type taken as a decimal.
fn digits(ty: &TypeInfo) -> (u32, u32) {
    match ty.kind {
        Kind::Time => (7, ty.decimals as u32),
        Kind::DateTime | Kind::Timestamp => (14, ty.decimals as u32),
        Kind::Date => (8, 0),
        Kind::Decimal => (ty.integer_digits() as u32, ty.decimals as u32),
        Kind::BigInt if ty.length >= 20 => (if ty.unsigned { 20 } else { 19 }, 0),
        _ => (ty.precision() as u32, 0),
    }
}

fn decimal_of(integer: u32, scale: u32, unsigned: bool) -> TypeInfo {
    let scale = scale.min(SCALE_MAX);
    let precision = (integer + scale).clamp(1, PRECISION_MAX);
    TypeInfo::decimal(precision as u8, scale as u8, unsigned)
}

/// The type of `left op right` for + - * / DIV MOD.
pub fn arithmetic(op: BinaryOp, left: &TypeInfo, right: &TypeInfo, mode: SqlMode, increment: u8) -> TypeInfo {
    let rank = rank(left).max(rank(right));
    let is_division = matches!(op, BinaryOp::Divide | BinaryOp::IntegerDivide | BinaryOp::Modulo);
    let nullable = left.nullable || right.nullable || is_division;
    let any_unsigned = left.unsigned || right.unsigned;
    let ((left_integer, left_scale), (right_integer, right_scale)) = (digits(left), digits(right));
    let ty = match (op, rank) {
        (BinaryOp::IntegerDivide, _) if any_unsigned => TypeInfo::bigint_unsigned(21),
        (BinaryOp::IntegerDivide, _) => TypeInfo::bigint(21),
        (_, Rank::Double) => {
            let decimals = |ty: &TypeInfo| if ty.is_string() { DECIMALS_NOT_FIXED } else { ty.decimals };
            let (a, b) = (decimals(left), decimals(right));
            let fixed = match op {
                BinaryOp::Multiply => a.saturating_add(b),
                BinaryOp::Divide => a.max(b).saturating_add(increment),
                _ => a.max(b),
            };
            if fixed >= DECIMALS_NOT_FIXED { TypeInfo::double() } else { TypeInfo::double_fixed(fixed) }
        }
        (BinaryOp::Divide, _) => {
            let scale = (left_scale + increment as u32).min(SCALE_MAX);
            // The quotient by a small fraction is large.
            decimal_of(left_integer + right_scale, scale, left.unsigned && right.unsigned)
        }
        (BinaryOp::Multiply, Rank::Decimal) => {
            decimal_of(left_integer + right_integer, left_scale + right_scale, left.unsigned && right.unsigned)
        }
        (BinaryOp::Modulo, Rank::Decimal) => {
            decimal_of(left_integer.max(right_integer), left_scale.max(right_scale), left.unsigned)
        }
        (_, Rank::Decimal) => decimal_of(
            left_integer.max(right_integer) + 1,
            left_scale.max(right_scale),
            left.unsigned && right.unsigned && op == BinaryOp::Add,
        ),
        (_, Rank::Integer) => {
            let length = match op {
                BinaryOp::Multiply => left.length + right.length,
                BinaryOp::Modulo => left.length.max(right.length),
                _ => left.length.max(right.length) + 1,
            };
            let signed = match op {
                BinaryOp::Subtract => !any_unsigned || mode.has(SqlMode::NO_UNSIGNED_SUBTRACTION),
                BinaryOp::Modulo => !left.unsigned,
                _ => !any_unsigned,
            };
            let length = length.clamp(1, 21);
            if signed { TypeInfo::bigint(length) } else { TypeInfo::bigint_unsigned(length) }
        }
    };
    ty.nullable(nullable)
}

/// The type of `-x`.
pub fn negation(ty: &TypeInfo) -> TypeInfo {
    let result = match rank(ty) {
        Rank::Integer => TypeInfo::bigint((ty.length + 1).min(21)),
        Rank::Decimal => {
            let (integer, scale) = digits(ty);
            decimal_of(integer, scale, false)
        }
        Rank::Double if ty.is_floating() => TypeInfo { decimals: ty.decimals, ..TypeInfo::double() },
        Rank::Double => TypeInfo::double(),
    };
    result.nullable(ty.nullable)
}

/// The common type of the columns of a UNION, of CASE's branches, of IFNULL's arguments. Strings are in the collation
/// that they agree on.
pub fn common_type(types: &[TypeInfo], connection: CollationId, operation: &str) -> Result<TypeInfo> {
    let nullable = types.iter().any(|ty| ty.nullable);
    let mut known = types.iter().filter(|ty| ty.kind != Kind::Null);
    let Some(first) = known.next() else { return Ok(TypeInfo::NULL) };
    let mut result = first.stored();
    for next in known {
        result = match merged(&result, next, connection, operation) {
            Ok(ty) => ty,
            Err(error) => return agreed(types, error, connection, operation).map(|ty| ty.nullable(nullable)),
        };
    }
    Ok(result.nullable(nullable))
}

/// As [`common_type`], for texts of which two do not mix: a third one may say with COLLATE what all shall be.
fn agreed(types: &[TypeInfo], error: Error, connection: CollationId, operation: &str) -> Result<TypeInfo> {
    let Ok((collation, coercibility)) = aggregate_collations(types, operation) else { return Err(error) };
    let mut texts = types.iter().filter(|ty| ty.is_string()).map(|ty| TypeInfo { collation, coercibility, ..*ty });
    let Some(first) = texts.next() else { return Err(error) };
    let text = texts.try_fold(first.stored(), |ty, next| merged(&ty, &next, connection, operation))?;
    let others = types.iter().filter(|ty| !ty.is_string() && ty.kind != Kind::Null);
    others.copied().try_fold(text, |ty, next| merged(&ty, &next, connection, operation))
}

fn merged(a: &TypeInfo, b: &TypeInfo, connection: CollationId, operation: &str) -> Result<TypeInfo> {
    if a.kind == b.kind && a.is_temporal() {
        return Ok(TypeInfo { decimals: a.decimals.max(b.decimals), length: a.length.max(b.length), ..*a });
    }
    if a.is_temporal() && b.is_temporal() {
        return Ok(TypeInfo::datetime(a.decimals.max(b.decimals)));
    }
    if a.is_numeric() && b.is_numeric() {
        return Ok(merged_numbers(a, b));
    }
    if a.kind == Kind::Json && b.kind == Kind::Json {
        return Ok(*a);
    }
    if a.is_geometry() && b.is_geometry() {
        return Ok(if a.kind == b.kind { *a } else { TypeInfo::geometry(GeometryType::Geometry) });
    }
    // Anything else has only its text in common.
    let length = a.length.max(b.length);
    let (id, coercibility) = match (a.is_string(), b.is_string()) {
        (true, true) => aggregate_collations(&[*a, *b], operation)?,
        (true, false) => (a.collation, a.coercibility),
        (false, true) => (b.collation, b.coercibility),
        (false, false) => (connection, Coercibility::Literal),
    };
    // Text that becomes bytes: as many as its characters may take.
    let bytes = |ty: &TypeInfo| match ty.is_string() {
        true => ty.length.saturating_mul(ty.charset().bytes_max() as u32),
        false => ty.length,
    };
    let length = if id == CollationId::BINARY { bytes(a).max(bytes(b)) } else { length };
    let mut ty = TypeInfo::string(length, id, coercibility);
    if [a.kind, b.kind].iter().any(|kind| matches!(kind, Kind::Text | Kind::Json | Kind::Geometry(_))) {
        ty.kind = Kind::Text;
    } else if a.kind == Kind::Char && b.kind == Kind::Char && a.length == b.length {
        ty.kind = Kind::Char;
    }
    Ok(ty)
}

fn merged_numbers(a: &TypeInfo, b: &TypeInfo) -> TypeInfo {
    if a.is_floating() || b.is_floating() {
        let decimals = a.decimals.max(b.decimals);
        let kind = if a.kind == Kind::Float && b.kind == Kind::Float { Kind::Float } else { Kind::Double };
        let base = if decimals >= DECIMALS_NOT_FIXED { TypeInfo::double() } else { TypeInfo::double_fixed(decimals) };
        return TypeInfo { kind, ..base };
    }
    let ((a_integer, a_scale), (b_integer, b_scale)) = (digits(a), digits(b));
    if a.kind == Kind::Decimal || b.kind == Kind::Decimal {
        return decimal_of(a_integer.max(b_integer), a_scale.max(b_scale), a.unsigned && b.unsigned);
    }
    let widest = if a.kind >= b.kind { a } else { b };
    let kind = match widest.kind {
        Kind::Year | Kind::Bit if a.kind != b.kind => Kind::BigInt,
        kind => kind,
    };
    if a.unsigned != b.unsigned {
        // Both signs of 64 bits have no integer type in common.
        let is_wide = |ty: &TypeInfo| ty.unsigned && ty.kind == Kind::BigInt;
        if is_wide(a) || is_wide(b) {
            return TypeInfo::decimal(20, 0, false);
        }
        return TypeInfo::bigint(a.length.max(b.length) + 1);
    }
    TypeInfo { kind, length: a.length.max(b.length), ..*widest }
}

/// The type of an aggregate's result.
pub fn aggregate(function: AggregateFunction, arg: Option<&TypeInfo>, increment: u8) -> TypeInfo {
    let Some(arg) = arg else { return TypeInfo::bigint(21).not_null() };
    let (integer, scale) = digits(arg);
    match function {
        AggregateFunction::Count => TypeInfo::bigint(21).not_null(),
        AggregateFunction::Sum => match rank(arg) {
            Rank::Double => TypeInfo { decimals: floating_decimals(arg), ..TypeInfo::double() },
            _ => decimal_of(integer + 22, scale, false),
        },
        AggregateFunction::Avg => match rank(arg) {
            // Of DOUBLE(M, D) as many digits behind the point as of a decimal.
            Rank::Double => match floating_decimals(arg).saturating_add(increment) {
                fixed if fixed < DECIMALS_NOT_FIXED => TypeInfo::double_fixed(fixed),
                _ => TypeInfo::double(),
            },
            _ => decimal_of(integer, scale + increment as u32, false),
        },
        AggregateFunction::Min | AggregateFunction::Max | AggregateFunction::AnyValue => {
            let mut ty = arg.stored().nullable(true);
            // The smallest number is no longer filled with zeros; a group's own value is.
            ty.zerofill &= function == AggregateFunction::AnyValue;
            if matches!(ty.kind, Kind::Enum | Kind::Set) {
                ty.kind = Kind::Char;
            }
            ty
        }
        AggregateFunction::BitAnd | AggregateFunction::BitOr | AggregateFunction::BitXor if is_bit_string(arg) => {
            TypeInfo::binary_string(arg.length).not_null()
        }
        AggregateFunction::BitAnd | AggregateFunction::BitOr | AggregateFunction::BitXor => {
            TypeInfo::bigint_unsigned(21).not_null()
        }
        AggregateFunction::Collect => TypeInfo::geometry(GeometryType::Geometry),
        _ => TypeInfo::double(),
    }
}

fn floating_decimals(ty: &TypeInfo) -> u8 {
    if ty.is_floating() { ty.decimals } else { DECIMALS_NOT_FIXED }
}

/// The type of `date ± INTERVAL n unit`.
pub fn date_add(date: &TypeInfo, interval: &TypeInfo, unit: IntervalUnit, connection: CollationId) -> TypeInfo {
    let fsp = if unit.has_micros() {
        6
    } else if unit == IntervalUnit::Second && !interval.is_integer() {
        interval.decimals.min(6)
    } else {
        0
    };
    match date.kind {
        Kind::Date if !unit.has_time() => TypeInfo::date(),
        Kind::Date => TypeInfo::datetime(fsp),
        Kind::DateTime | Kind::Timestamp => TypeInfo::datetime(fsp.max(date.decimals)),
        Kind::Time if unit.has_time() => TypeInfo::time(fsp.max(date.decimals)),
        Kind::Time => TypeInfo::datetime(fsp.max(date.decimals)),
        _ => TypeInfo::string(29, connection, Coercibility::Literal),
    }
}

/// The type of a cast. The character set has been looked up by the binder.
pub fn cast(to: &CastType, from: &TypeInfo, id: CollationId) -> TypeInfo {
    let length = from.length;
    let ty = match to {
        // A change of the sign changes the number of digits.
        CastType::Signed => TypeInfo::bigint((from.length.saturating_add(u32::from(from.unsigned))).clamp(1, 21)),
        CastType::Unsigned => TypeInfo::bigint_unsigned(if from.unsigned { from.length.clamp(1, 21) } else { 21 }),
        CastType::Binary { bytes } => {
            let bytes_max = length.saturating_mul(collation(from.collation).charset.bytes_max() as u32);
            TypeInfo::binary_string(bytes.unwrap_or(bytes_max))
        }
        CastType::Char { chars, .. } => TypeInfo::string(chars.unwrap_or(length), id, Coercibility::Implicit),
        CastType::Date => TypeInfo::date(),
        CastType::Time { fsp } => TypeInfo::time(*fsp),
        CastType::DateTime { fsp } => TypeInfo::datetime(*fsp),
        CastType::Decimal { precision, scale } => TypeInfo::decimal(*precision, *scale, false),
        CastType::Float => TypeInfo { kind: Kind::Float, length: 12, ..TypeInfo::double() },
        CastType::Double => TypeInfo::double(),
        CastType::Year => TypeInfo { kind: Kind::Year, ..TypeInfo::int(4).unsigned() },
        CastType::Json => TypeInfo::json(),
        CastType::Geometry(kind) => TypeInfo::geometry(*kind),
    };
    let loses = !from.is_numeric()
        || matches!(to, CastType::Date | CastType::Time { .. } | CastType::DateTime { .. } | CastType::Year);
    let is_text = matches!(to, CastType::Char { .. });
    ty.nullable(from.nullable || (loses && !is_text && ty.is_temporal()) || ty.kind == Kind::Year)
}

/// The type of a parameter by its value: bind again when the kinds of the values change. It depends on no more than
/// [`parameter_kind`](crate::parser::normalize::parameter_kind).
pub fn parameter_type(value: &Value, connection: CollationId) -> TypeInfo {
    match value {
        Value::Null => TypeInfo::NULL,
        Value::Int(_) => TypeInfo::bigint(20).not_null(),
        Value::UInt(_) => TypeInfo::bigint_unsigned(20).not_null(),
        Value::Double(_) => TypeInfo::double().not_null(),
        Value::Decimal(decimal) => TypeInfo::decimal(65, decimal.scale().min(30), false).not_null(),
        Value::Bytes(_) => TypeInfo::string(16383, connection, Coercibility::Literal).not_null(),
        Value::Date(_) => TypeInfo::date().not_null(),
        Value::Time(time) => TypeInfo::time(super::datum::fsp_needed(time.micros)).not_null(),
        Value::DateTime(moment) => TypeInfo::datetime(super::datum::fsp_needed(moment.micros)).not_null(),
        Value::Json(_) => TypeInfo::json().not_null(),
    }
}
