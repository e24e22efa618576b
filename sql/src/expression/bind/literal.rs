//! Literals, and the signs before them.

use format::collation::{Charset, CollationId, collation};
use format::value::{Decimal, ParseFlags, Value, parse_date, parse_datetime, parse_time};

use super::{Binder, charset_by_name, condition};
use crate::error::{Error, Result};
use crate::expression::bit_strings;
use crate::expression::datum::quoted;
use crate::expression::functions::as_number;
use crate::expression::temporal::{Zeros, is_bad_date};
use crate::expression::{Expr, Node, typing};
use crate::parser::ast::{self, CastType, Literal, UnaryOp};
use crate::types::{Coercibility, SqlMode, TypeInfo};

impl Binder<'_> {
    /// A text of the statement in the character set of `collation_connection`.
    pub(super) fn as_connection(&self, bytes: &[u8]) -> Vec<u8> {
        let charset = collation(self.connection).charset;
        let mut converted = Vec::with_capacity(bytes.len());
        if !matches!(charset, Charset::Multi(_)) {
            format::collation::convert(bytes, self.client, charset, &mut converted);
            return converted;
        }
        // A backslash that a client of sjis wrote stays one, where a text of another set would get the wide one.
        for part in bytes.split_inclusive(|byte| *byte == b'\\') {
            let plain = part.strip_suffix(b"\\").unwrap_or(part);
            format::collation::convert(plain, self.client, charset, &mut converted);
            converted.extend_from_slice(&part[plain.len()..]);
        }
        converted
    }

    pub(super) fn literal(&self, literal: &Literal) -> Result<Expr> {
        Ok(match literal {
            Literal::Null => Expr::null(),
            Literal::Bool(truth) => Expr::constant(Value::Int(*truth as i64), TypeInfo::boolean().not_null()),
            Literal::Integer(value) => integer(*value),
            Literal::Decimal(digits) => decimal(digits)?,
            Literal::Float(value) => Expr::constant(Value::Double(*value), TypeInfo::double().not_null()),
            Literal::String { bytes, charset } => {
                let (id, bytes) = match charset {
                    Some(name) => {
                        let charset = charset_by_name(name)?;
                        (charset.collation_given(self.utf8mb4), whole_units(bytes, charset))
                    }
                    None => (self.connection, self.as_connection(bytes)),
                };
                let set = collation(id).charset;
                if charset.is_some() {
                    check_introduced(set, &bytes)?;
                }
                let ty = TypeInfo::string(set.char_count(&bytes) as u32, id, Coercibility::Literal).not_null();
                Expr::constant(Value::Bytes(bytes), ty)
            }
            Literal::Hex { bytes, charset: None } | Literal::Bit { bytes, charset: None } => {
                Expr::constant(Value::Bytes(bytes.clone()), TypeInfo::bit_literal(bytes.len() as u32))
            }
            Literal::Hex { bytes, charset: Some(name) } | Literal::Bit { bytes, charset: Some(name) } => {
                let charset = charset_by_name(name)?;
                let bytes = whole_units(bytes, charset);
                check_introduced(charset, &bytes)?;
                let length = charset.char_count(&bytes) as u32;
                let ty =
                    TypeInfo::string(length, charset.collation_given(self.utf8mb4), Coercibility::Literal).not_null();
                Expr::constant(Value::Bytes(bytes), ty)
            }
            Literal::Date(text) => {
                let parsed = parse_date(text);
                if self.is_bad_literal(&parsed.flags) || parsed.flags.has_time {
                    return Err(Error::wrong_date_type("DATE", &quoted(text)));
                }
                Expr::constant(Value::Date(parsed.value), TypeInfo::date().not_null())
            }
            Literal::Time(text) => {
                let parsed = parse_time(text);
                let ParseFlags { invalid, truncated, out_of_range, has_time, .. } = parsed.flags;
                if invalid || truncated || out_of_range || has_time {
                    return Err(Error::wrong_date_type("TIME", &quoted(text)));
                }
                let fsp = parsed.flags.fraction_digits.min(6);
                Expr::constant(Value::Time(parsed.value), TypeInfo::time(fsp).not_null())
            }
            Literal::Timestamp(text) => {
                let parsed = parse_datetime(text);
                let fsp = parsed.flags.fraction_digits.min(6);
                // An offset from UTC: what the clock shows then in the session's zone is known when the statement runs.
                if parsed.flags.zone.is_some() && !is_bad_date(&parsed.flags, Zeros::Refused, self.mode) {
                    let length = text.len() as u32;
                    let ty = TypeInfo::string(length, CollationId::UTF8MB4_BIN, Coercibility::Literal).not_null();
                    let expr = Box::new(Expr::constant(Value::Bytes(text.clone()), ty));
                    let node = Node::Cast { expr, to: CastType::DateTime { fsp } };
                    return Ok(Expr { node, ty: TypeInfo::datetime(fsp) });
                }
                if self.is_bad_literal(&parsed.flags) || !parsed.flags.has_time {
                    return Err(Error::wrong_date_type("DATETIME", &quoted(text)));
                }
                Expr::constant(Value::DateTime(parsed.value), TypeInfo::datetime(fsp).not_null())
            }
        })
    }

    /// Whether a literal names no day, or one with zeros that `sql_mode` does not admit.
    fn is_bad_literal(&self, flags: &ParseFlags) -> bool {
        is_bad_date(flags, Zeros::AsMode, self.mode)
            || flags.truncated
            || flags.zero_in_date && self.mode.has(SqlMode::NO_ZERO_IN_DATE)
    }

    pub(super) fn unary(&mut self, op: UnaryOp, operand: &ast::Expr) -> Result<Expr> {
        match op {
            UnaryOp::Plus => self.bind(operand),
            UnaryOp::Not => {
                let expr = self.bind_number(operand)?;
                let nullable = expr.ty.nullable;
                Ok(condition(Node::Not(Box::new(expr)), nullable))
            }
            UnaryOp::BitNot => {
                let mut expr = self.bind(operand)?;
                if expr.ty.is_geometry() {
                    return Err(Error::wrong_arguments("~"));
                }
                let ty = if bit_strings::is_bit_string(&expr.ty) {
                    TypeInfo::binary_string(expr.ty.length)
                } else {
                    as_number(&mut expr);
                    TypeInfo::bigint_unsigned(21)
                };
                let ty = ty.nullable(expr.ty.nullable);
                Ok(Expr { node: Node::BitNot(Box::new(expr)), ty })
            }
            UnaryOp::Minus => {
                if let ast::Expr::Literal(literal) = operand
                    && let Some(negative) = self.negative_literal(literal)?
                {
                    return Ok(negative);
                }
                let mut expr = self.bind_number(operand)?;
                if expr.ty.is_geometry() {
                    return Err(Error::wrong_arguments("-"));
                }
                let is_lowest = matches!(expr.node, Node::Constant(Value::Int(i64::MIN)));
                if is_lowest || (expr.ty.is_integer() && expr.ty.unsigned && expr.is_constant()) {
                    // The negative of a large constant has no integer type.
                    let to = CastType::Decimal { precision: 20, scale: 0 };
                    let ty = TypeInfo::decimal(20, 0, false).nullable(expr.ty.nullable);
                    expr = Expr { node: Node::Cast { expr: Box::new(expr), to }, ty };
                }
                let ty = typing::negation(&expr.ty);
                Ok(Expr { node: Node::Minus(Box::new(expr)), ty })
            }
        }
    }

    /// A negative literal is one number: -9223372036854775808 is a BIGINT, anything below a DECIMAL.
    fn negative_literal(&self, literal: &Literal) -> Result<Option<Expr>> {
        Ok(Some(match literal {
            Literal::Integer(value) => match 0i64.checked_sub_unsigned(*value) {
                Some(negative) => {
                    let length = value.checked_ilog10().unwrap_or(0) + 2;
                    Expr::constant(Value::Int(negative), TypeInfo::bigint(length).not_null())
                }
                None => {
                    let value = Decimal::from(*value).neg();
                    Expr::constant(Value::Decimal(value), TypeInfo::decimal(20, 0, false).not_null())
                }
            },
            Literal::Decimal(digits) => {
                let mut expr = decimal(digits)?;
                if let Node::Constant(Value::Decimal(value)) = &mut expr.node {
                    *value = value.neg();
                }
                expr.ty = TypeInfo::decimal(expr.ty.precision(), expr.ty.decimals, false).not_null();
                expr
            }
            Literal::Float(value) => Expr::constant(Value::Double(-value), TypeInfo::double().not_null()),
            _ => return Ok(None),
        }))
    }
}

/// Bytes behind an introducer, with zeros in front where its character set has units of several bytes.
fn whole_units(bytes: &[u8], charset: Charset) -> Vec<u8> {
    let mut whole = Vec::with_capacity(bytes.len() + 4);
    format::collation::convert(bytes, Charset::Binary, charset, &mut whole);
    whole
}

/// The bytes behind an introducer must be text of its character set.
fn check_introduced(charset: Charset, bytes: &[u8]) -> Result<()> {
    let valid = charset.well_formed_prefix(bytes);
    if valid == bytes.len() {
        return Ok(());
    }
    let shown: String = bytes[valid..].iter().take(6).map(|byte| format!("{byte:02X}")).collect();
    Err(Error::invalid_character_string(charset.name(), &shown))
}

fn integer(value: u64) -> Expr {
    let digits = value.checked_ilog10().unwrap_or(0) + 1;
    match i64::try_from(value) {
        // A signed type has a place for the sign, also of a value that needs none.
        Ok(value) => Expr::constant(Value::Int(value), TypeInfo::bigint(digits + 1).not_null()),
        Err(_) => Expr::constant(Value::UInt(value), TypeInfo::bigint_unsigned(digits).not_null()),
    }
}

/// A literal may have more digits than any column: it is computed with, and shown as it is.
const LITERAL_DIGITS_MAX: u8 = 81;

fn decimal(digits: &str) -> Result<Expr> {
    // Digits behind the thirtieth behind the point, or behind the 65th of all, are rounded away. A number of more
    // digits before the point than there may be becomes the largest.
    let value = match Decimal::parse(digits.as_bytes()) {
        Ok(value) if value.integer_digits() <= LITERAL_DIGITS_MAX => value,
        _ => Decimal::max(65, 0),
    };
    let scale = value.scale().min(30).min(65_u8.saturating_sub(value.integer_digits()));
    let value = if value.scale() > scale { value.round(i32::from(scale)).unwrap_or(value) } else { value };
    let precision = value.integer_digits().max(1).saturating_add(scale).min(65);
    let ty = TypeInfo::decimal(precision, scale, false).not_null();
    Ok(Expr::constant(Value::Decimal(value), ty))
}
