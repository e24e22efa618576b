//! The value of an expression for a row.
//!
//! One function per family of nodes. Conditions are computed as `Option<bool>`
//! ([`Expr::truth`]) and only become integers where someone looks at their value.
//! AND, OR, CASE and IF evaluate no more than MySQL does.

use std::borrow::Cow;
use std::cell::RefCell;

use format::collation::{Charset, collation, convert};
use format::value::Value;

use super::arithmetic::{self, Fault};
use super::cast::{cast, extract};
use super::compare::{compare_op, holds};
use super::datum::Number;
use super::functions::Call;
use super::memory::Charge;
use super::temporal::{self, Zeros};
use super::{Comparison, Datum, EvalContext, Expr, Fields, Node, compare, pattern};
use crate::error::{Error, Result};
use crate::parser::ast::{BinaryOp, TrimSide};
use crate::types::{Kind, TypeInfo};

impl Expr {
    /// The value for a row. A decimal may have more digits than its type; see [`Expr::value`].
    #[inline]
    pub fn eval<'a>(&'a self, context: &'a EvalContext<'a>, row: &'a dyn Fields) -> Result<Datum<'a>> {
        match &self.node {
            Node::Column(slot) => Ok(row.field(*slot)),
            Node::Constant(value) => Ok(Datum::from(value)),
            Node::Parameter(index) => Ok(context.parameters.get(*index).map_or(Datum::Null, Datum::from)),
            Node::Arithmetic { op, left, right } => self.arithmetic(*op, left, right, context, row),
            _ => self.eval_other(context, row),
        }
    }

    /// The value as it leaves the expression: owned, a decimal with exactly the digits of its type.
    pub fn value(&self, context: &EvalContext<'_>, row: &dyn Fields) -> Result<Value> {
        Ok(self.eval(context, row)?.fit(&self.ty).into_value())
    }

    /// As a condition: None is NULL.
    pub fn truth(&self, context: &EvalContext<'_>, row: &dyn Fields) -> Result<Option<bool>> {
        match &self.node {
            Node::Compare { op, how, left, right } => {
                let left = left.eval(context, row)?;
                let _held = context.session.memory().hold(&left)?;
                compare_op(*op, *how, &left, &right.eval(context, row)?, context)
            }
            Node::And(left, right) => match left.truth(context, row)? {
                Some(false) => Ok(Some(false)),
                left => Ok(match (left, right.truth(context, row)?) {
                    (_, Some(false)) => Some(false),
                    (Some(true), Some(true)) => Some(true),
                    _ => None,
                }),
            },
            Node::Or(left, right) => match left.truth(context, row)? {
                Some(true) => Ok(Some(true)),
                left => Ok(match (left, right.truth(context, row)?) {
                    (_, Some(true)) => Some(true),
                    (Some(false), Some(false)) => Some(false),
                    _ => None,
                }),
            },
            Node::Xor(left, right) => Ok(match (left.truth(context, row)?, right.truth(context, row)?) {
                (Some(left), Some(right)) => Some(left != right),
                _ => None,
            }),
            Node::Not(expr) => Ok(expr.truth(context, row)?.map(|truth| !truth)),
            Node::IsNull { expr, negated } => Ok(Some(expr.eval(context, row)?.is_null() != *negated)),
            Node::IsTruth { expr, truth, negated } => Ok(Some((expr.truth(context, row)? == Some(*truth)) != *negated)),
            Node::CompareRows { op, left, right, hows } => compare_rows(*op, left, right, hows, context, row),
            Node::Between { expr, low, high, hows, negated } => {
                let value = expr.eval(context, row)?;
                let _held = context.session.memory().hold(&value)?;
                let above = compare_op(BinaryOp::GreaterEqual, hows[0], &value, &low.eval(context, row)?, context)?;
                let below = compare_op(BinaryOp::LessEqual, hows[1], &value, &high.eval(context, row)?, context)?;
                Ok(match (above, below) {
                    (Some(false), _) | (_, Some(false)) => Some(*negated),
                    (Some(true), Some(true)) => Some(!*negated),
                    _ => None,
                })
            }
            Node::In { expr, list, negated } => {
                let value = expr.eval(context, row)?;
                if value.is_null() {
                    return Ok(None);
                }
                if let Some(lists) = context.lists
                    && let Some(set) = lists.list(list, |(how, item)| std::iter::once((*how, item)), context)?
                    && let Some(found) = set.contains(std::slice::from_ref(&value))
                {
                    return Ok(if found { Some(!*negated) } else { set.open.is_empty().then_some(*negated) });
                }
                let _held = context.session.memory().hold(&value)?;
                let mut unknown = false;
                for (how, item) in list {
                    match compare_op(BinaryOp::Equal, *how, &value, &item.eval(context, row)?, context)? {
                        Some(true) => return Ok(Some(!*negated)),
                        Some(false) => {}
                        None => unknown = true,
                    }
                }
                Ok(if unknown { None } else { Some(*negated) })
            }
            Node::InRows { row: left, list, negated } => in_rows(left, list, *negated, context, row),
            Node::Like { expr, pattern, escape, collation: id, negated } => {
                let text = expr.eval(context, row)?;
                let _held = context.session.memory().hold(&text)?;
                let like = pattern.eval(context, row)?;
                if text.is_null() || like.is_null() {
                    return Ok(None);
                }
                let collation = collation(*id);
                let escape = match escape {
                    None => Some(b'\\' as u32),
                    Some(escape) => pattern::escape_of(&escape.eval(context, row)?, collation.charset)?,
                };
                let found = collation.like(&text.into_text(&expr.ty), &like.into_text(&pattern.ty), escape);
                Ok(Some(found != *negated))
            }
            Node::Regexp { expr, pattern, regex, negated } => {
                let text = expr.eval(context, row)?;
                let _held = context.session.memory().hold(&text)?;
                let source = pattern.eval(context, row)?;
                if text.is_null() || source.is_null() {
                    return Ok(None);
                }
                let id = regex.collation.unwrap_or(context.connection);
                let text = text.into_text(&expr.ty);
                let found = match &regex.compiled {
                    Some(compiled) => pattern::is_match(compiled, &text, id),
                    None => pattern::is_match(&pattern::compile(&source.into_text(&pattern.ty), id)?, &text, id),
                };
                Ok(Some(found != *negated))
            }
            // The condition is their number, not their name.
            Node::EnumName { slot, .. } | Node::SetNames { slot, .. } => row.field(*slot).to_truth(context),
            // A bit literal is a number, x'30' is not the digit.
            Node::Constant(Value::Bytes(bits)) if self.ty.is_bit_literal() => {
                Ok(Some(bits.iter().any(|byte| *byte != 0)))
            }
            Node::Exists { query } => {
                let subqueries = context.subqueries.ok_or_else(|| Error::unsupported("subquery"))?;
                Ok(Some(subqueries.exists(*query, context, row)?))
            }
            Node::InQuery { row: left, query, hows, negated } => in_query(left, *query, hows, *negated, context, row),
            Node::Quantified { expr, op, all, query, how } => {
                let value = expr.eval(context, row)?;
                quantified(&value, *op, *all, *query, *how, context, row)
            }
            _ => self.eval(context, row)?.to_truth(context),
        }
    }

    /// As WHERE and HAVING take it: NULL is false.
    #[inline]
    pub fn is_true(&self, context: &EvalContext<'_>, row: &dyn Fields) -> Result<bool> {
        Ok(self.truth(context, row)? == Some(true))
    }

    fn eval_other<'a>(&'a self, context: &'a EvalContext<'a>, row: &'a dyn Fields) -> Result<Datum<'a>> {
        match &self.node {
            Node::Call { function, args } => {
                (function.eval)(&Call { args, ty: &self.ty, context, row, held: RefCell::default() })
            }
            Node::Aggregate(index) => Ok(row.aggregate(*index)),
            Node::EnumName { slot, members } => Ok(match row.field(*slot) {
                Datum::UInt(0) => Datum::Bytes(Cow::Borrowed(b"")),
                Datum::UInt(index) => match members.get(index as usize - 1) {
                    Some(name) => in_charset(Datum::Bytes(Cow::Borrowed(name.as_bytes())), self.ty.charset()),
                    None => Datum::Bytes(Cow::Borrowed(b"")),
                },
                other => other,
            }),
            Node::SetNames { slot, members } => Ok(match row.field(*slot) {
                Datum::UInt(mask) => in_charset(set_names(mask, members), self.ty.charset()),
                other => other,
            }),
            Node::UserVariable(name) => {
                Ok(context.session.user_variable(name).map_or(Datum::Null, |(value, _)| Datum::from(value)))
            }
            Node::AssignVariable(name, expr) => {
                let value = expr.value(context, row)?;
                context.session.set_user_variable(name, value.clone(), self.ty);
                Ok(Datum::from(value))
            }
            Node::SystemVariable { scope, name } => Ok(Datum::from(context.session.system_variable(*scope, name)?)),
            Node::Bits { op, left, right } => {
                let (left, right) = (left.eval(context, row)?, right.eval(context, row)?);
                if left.is_null() || right.is_null() {
                    return Ok(Datum::Null);
                }
                Ok(Datum::UInt(arithmetic::bits(*op, left.to_u64(context)?, right.to_u64(context)?)))
            }
            Node::BitNot(expr) => match expr.eval(context, row)? {
                Datum::Null => Ok(Datum::Null),
                value => Ok(Datum::UInt(!value.to_u64(context)?)),
            },
            Node::Minus(expr) => match expr.eval(context, row)?.to_number(&expr.ty, context)? {
                None => Ok(Datum::Null),
                Some(number) => match arithmetic::negate(number) {
                    Ok(number) => Ok(number.into()),
                    Err(fault) => self.fault(fault, context),
                },
            },
            Node::Case { operand, whens, otherwise } => {
                let value = match operand {
                    Some(operand) => Some(operand.eval(context, row)?),
                    None => None,
                };
                let _held = value.as_ref().map(|value| context.session.memory().hold(value)).transpose()?;
                for (how, when, then) in whens {
                    let chosen = match &value {
                        Some(value) => {
                            compare_op(BinaryOp::Equal, *how, value, &when.eval(context, row)?, context)? == Some(true)
                        }
                        None => when.is_true(context, row)?,
                    };
                    if chosen {
                        return then.eval(context, row)?.convert_to(&then.ty, &self.ty, context);
                    }
                }
                match otherwise {
                    Some(otherwise) => otherwise.eval(context, row)?.convert_to(&otherwise.ty, &self.ty, context),
                    None => Ok(Datum::Null),
                }
            }
            Node::Cast { expr, to } => cast(expr.eval(context, row)?, &expr.ty, to, &self.ty, context),
            Node::ToCharset { expr, to } => {
                let value = expr.eval(context, row)?;
                if value.is_null() {
                    return Ok(value);
                }
                let from = if expr.ty.is_string() { expr.ty.charset() } else { Charset::Ascii };
                Ok(to_charset(value.into_text(&expr.ty), from, *to, context).map_or(Datum::Null, Datum::Bytes))
            }
            Node::Retyped(expr) => match expr.eval(context, row)? {
                Datum::Null => Ok(Datum::Null),
                value => Ok(Datum::Bytes(value.into_text(&expr.ty))),
            },
            Node::Trim { side, remove, expr } => {
                let text = expr.eval(context, row)?;
                let _held = context.session.memory().hold(&text)?;
                let remove_value = match remove {
                    Some(remove) => remove.eval(context, row)?.into_text_or_null(&remove.ty),
                    None => Some(Cow::Borrowed(&b" "[..])),
                };
                match (text.into_text_or_null(&expr.ty), remove_value) {
                    (Some(text), Some(remove)) => Ok(Datum::Bytes(trim(text, &remove, *side))),
                    _ => Ok(Datum::Null),
                }
            }
            Node::Extract { unit, expr } => extract(&expr.eval(context, row)?, &expr.ty, *unit, context),
            Node::DateAdd { expr, interval, unit, subtract } => {
                let date = expr.eval(context, row)?;
                let distance = temporal::interval(&interval.eval(context, row)?, &interval.ty, *unit, context)?;
                let (Some(distance), false) = (distance, date.is_null()) else { return Ok(Datum::Null) };
                let distance = if *subtract { distance.negate() } else { distance };
                temporal::date_add(&date, distance, *unit, &self.ty, context)
            }
            Node::TimestampDiff { unit, from, to } => {
                let from = from.eval(context, row)?.to_datetime(Zeros::Refused, context)?;
                let to = to.eval(context, row)?.to_datetime(Zeros::Refused, context)?;
                Ok(match (from, to) {
                    (Some(from), Some(to)) => Datum::Int(to.diff(&from, *unit)),
                    _ => Datum::Null,
                })
            }
            Node::ScalarQuery { query, column } => {
                let subqueries = context.subqueries.ok_or_else(|| Error::unsupported("subquery"))?;
                Ok(Datum::from(subqueries.scalar(*query, *column, context, row)?))
            }
            // All the others are conditions.
            _ => Ok(self.truth(context, row)?.into()),
        }
    }

    fn arithmetic<'a>(
        &self,
        op: BinaryOp,
        left: &'a Expr,
        right: &'a Expr,
        context: &'a EvalContext<'a>,
        row: &'a dyn Fields,
    ) -> Result<Datum<'a>> {
        let left_value = left.eval(context, row)?;
        let right_value = right.eval(context, row)?;
        let Some(a) = left_value.to_number(&left.ty, context)? else { return Ok(Datum::Null) };
        let Some(b) = right_value.to_number(&right.ty, context)? else { return Ok(Datum::Null) };
        match arithmetic::compute(op, a, b, context) {
            // DIV of an unsigned and a fraction: the kinds of the values did not tell.
            Ok(Number::Int(negative)) if op == BinaryOp::IntegerDivide && self.ty.unsigned && negative < 0 => {
                self.fault(Fault::OutOfRange("BIGINT UNSIGNED"), context)
            }
            Ok(number) => Ok(number.into()),
            Err(fault) => self.fault(fault, context),
        }
    }

    #[cold]
    fn fault<'a>(&self, fault: Fault, context: &EvalContext<'_>) -> Result<Datum<'a>> {
        match fault {
            Fault::DivisionByZero => arithmetic::division_by_zero(context),
            Fault::OutOfRange(kind) => Err(Error::out_of_range(kind, &self.to_string())),
        }
    }
}

impl<'a> Datum<'a> {
    /// The value as one of another static type: of a branch as the CASE's, of an argument as COALESCE's.
    pub fn convert_to(self, from: &TypeInfo, to: &TypeInfo, context: &EvalContext<'_>) -> Result<Datum<'a>> {
        Ok(match (self, to.kind) {
            (Datum::Null, _) => Datum::Null,
            (Datum::Bytes(text), _) if to.is_string() => Datum::Bytes(text),
            (value, _) if to.is_string() => Datum::Bytes(value.into_text(from)),
            (Datum::Double(value), Kind::Double | Kind::Float) => Datum::Double(value),
            (value, Kind::Double | Kind::Float) => Datum::Double(value.to_f64(context)?),
            (Datum::Decimal(value), Kind::Decimal) => Datum::Decimal(value),
            (value, Kind::Decimal) => Datum::Decimal(value.to_decimal(context)?),
            (Datum::Date(value), Kind::DateTime | Kind::Timestamp) => Datum::DateTime(value.at_midnight()),
            (Datum::Time(value), Kind::DateTime | Kind::Timestamp) => {
                Datum::Time(value).to_datetime(Zeros::Allowed, context)?.map_or(Datum::Null, Datum::DateTime)
            }
            (value, _) => value,
        })
    }

    /// As text; None is NULL.
    pub fn into_text_or_null(self, ty: &TypeInfo) -> Option<Cow<'a, [u8]>> {
        if self.is_null() { None } else { Some(self.into_text(ty)) }
    }
}

// ------------------------------------------------------------ conditions

/// (a, b) op (c, d)
fn compare_rows(
    op: BinaryOp,
    left: &[Expr],
    right: &[Expr],
    hows: &[Comparison],
    context: &EvalContext<'_>,
    row: &dyn Fields,
) -> Result<Option<bool>> {
    let mut unknown = false;
    for ((left, right), how) in left.iter().zip(right).zip(hows) {
        let a = left.eval(context, row)?;
        let _held = context.session.memory().hold(&a)?;
        let b = right.eval(context, row)?;
        if op == BinaryOp::NullSafeEqual {
            if compare_op(op, *how, &a, &b, context)? != Some(true) {
                return Ok(Some(false));
            }
            continue;
        }
        let ordering = if a.is_null() || b.is_null() { None } else { compare::compare(*how, &a, &b, context)? };
        match ordering {
            None => {
                unknown = true;
                // An order cannot be told behind an unknown column; inequality still may.
                if !matches!(op, BinaryOp::Equal | BinaryOp::NotEqual) {
                    return Ok(None);
                }
            }
            Some(std::cmp::Ordering::Equal) => {}
            Some(ordering) => {
                return Ok(Some(match op {
                    BinaryOp::Equal => false,
                    BinaryOp::NotEqual => true,
                    _ => holds(op, ordering),
                }));
            }
        }
    }
    if unknown {
        return Ok(None);
    }
    Ok(Some(matches!(op, BinaryOp::Equal | BinaryOp::NullSafeEqual | BinaryOp::LessEqual | BinaryOp::GreaterEqual)))
}

/// Whether values are equal column by column: false, true, or unknown for NULLs.
fn rows_equal<'v>(
    left: &[Datum<'_>],
    right: impl Iterator<Item = Datum<'v>>,
    hows: impl Iterator<Item = Comparison>,
    context: &EvalContext<'_>,
) -> Result<Option<bool>> {
    let mut unknown = false;
    for ((left, right), how) in left.iter().zip(right).zip(hows) {
        match compare_op(BinaryOp::Equal, how, left, &right, context)? {
            Some(true) => {}
            Some(false) => return Ok(Some(false)),
            None => unknown = true,
        }
    }
    Ok(if unknown { None } else { Some(true) })
}

/// The values of a row constructor, and what they hold.
fn values_of<'a>(
    row: impl Iterator<Item = &'a Expr>,
    context: &'a EvalContext<'a>,
    fields: &'a dyn Fields,
    held: &mut Vec<Charge>,
) -> Result<Vec<Datum<'a>>> {
    let mut values = Vec::with_capacity(row.size_hint().0);
    for expr in row {
        let value = expr.eval(context, fields)?;
        held.push(context.session.memory().hold(&value)?);
        values.push(value);
    }
    Ok(values)
}

fn in_rows(
    left: &[Expr],
    list: &[Vec<(Comparison, Expr)>],
    negated: bool,
    context: &EvalContext<'_>,
    row: &dyn Fields,
) -> Result<Option<bool>> {
    let mut held = Vec::new();
    let left = values_of(left.iter(), context, row, &mut held)?;
    let mut unknown = false;
    let set = match context.lists {
        Some(lists) => lists.list(list, |item| item.iter().map(|(how, expr)| (*how, expr)), context)?,
        None => None,
    };
    // Of a set that does not have the row, only items with a NULL can leave the answer open.
    let open = match set.as_ref().and_then(|set| Some((set.contains(&left)?, set))) {
        Some((true, _)) => return Ok(Some(!negated)),
        Some((false, set)) => Some(&set.open),
        None => None,
    };
    let count = open.map_or(list.len(), Vec::len);
    for item in (0..count).map(|at| &list[open.map_or(at, |open| open[at])]) {
        let mut held = Vec::new();
        let values = values_of(item.iter().map(|(_, expr)| expr), context, row, &mut held)?;
        match rows_equal(&left, values.into_iter(), item.iter().map(|(how, _)| *how), context)? {
            Some(true) => return Ok(Some(!negated)),
            Some(false) => {}
            None => unknown = true,
        }
    }
    Ok(if unknown { None } else { Some(negated) })
}

fn in_query(
    left: &[Expr],
    query: usize,
    hows: &[Comparison],
    negated: bool,
    context: &EvalContext<'_>,
    row: &dyn Fields,
) -> Result<Option<bool>> {
    let subqueries = context.subqueries.ok_or_else(|| Error::unsupported("subquery"))?;
    let mut held = Vec::new();
    let left = values_of(left.iter(), context, row, &mut held)?;
    if !left.iter().any(Datum::is_null)
        && let Some(list) = subqueries.list(query, hows, context, row)?
        && list.open.is_empty()
        && let Some(found) = list.contains(&left)
    {
        return Ok(Some(found != negated));
    }
    let (mut found, mut unknown) = (false, false);
    subqueries.rows(query, context, row, &mut |values| {
        match rows_equal(&left, values.iter().map(Datum::from), hows.iter().copied(), context)? {
            Some(true) => found = true,
            Some(false) => {}
            None => unknown = true,
        }
        Ok(!found)
    })?;
    Ok(match (found, unknown) {
        (true, _) => Some(!negated),
        (false, true) => None,
        (false, false) => Some(negated),
    })
}

/// op ALL: true of every row. op ANY: true of some row.
fn quantified(
    value: &Datum<'_>,
    op: BinaryOp,
    all: bool,
    query: usize,
    how: Comparison,
    context: &EvalContext<'_>,
    row: &dyn Fields,
) -> Result<Option<bool>> {
    let subqueries = context.subqueries.ok_or_else(|| Error::unsupported("subquery"))?;
    let (mut decided, mut unknown) = (false, false);
    subqueries.rows(query, context, row, &mut |values| {
        let item = values.first().map_or(Datum::Null, Datum::from);
        match compare_op(op, how, value, &item, context)? {
            Some(truth) => decided |= truth != all,
            None => unknown = true,
        }
        Ok(!decided)
    })?;
    Ok(match (decided, unknown) {
        (true, _) => Some(!all),
        (false, true) => None,
        (false, false) => Some(all),
    })
}

// --------------------------------------------------------------- strings

/// Members are kept as UTF-8; their names are in the character set of the column.
fn in_charset(name: Datum<'_>, charset: Charset) -> Datum<'_> {
    match name {
        Datum::Bytes(text) if !text.is_ascii() && !Charset::Utf8mb4.converts_verbatim(charset) => {
            let mut converted = Vec::with_capacity(text.len());
            convert(&text, Charset::Utf8mb4, charset, &mut converted);
            Datum::bytes(converted)
        }
        name => name,
    }
}

fn set_names<'a>(mask: u64, members: &'a [Box<str>]) -> Datum<'a> {
    let mut names = members.iter().enumerate().filter(|(bit, _)| *bit < 64 && mask >> bit & 1 == 1);
    match (names.next(), names.next()) {
        (None, _) => Datum::Bytes(Cow::Borrowed(b"")),
        (Some((_, name)), None) => Datum::Bytes(Cow::Borrowed(name.as_bytes())),
        (Some((_, first)), Some((_, second))) => {
            let mut out = first.as_bytes().to_vec();
            for name in std::iter::once(second).chain(names.map(|(_, name)| name)) {
                out.push(b',');
                out.extend_from_slice(name.as_bytes());
            }
            Datum::bytes(out)
        }
    }
}

/// The text in another character set. From `binary` the bytes stay as they are, and must be text: with a warning, those
/// that are not are cut off, and in strict mode there is None. None, with warning 1301, also where the result would be
/// longer than a packet may be.
pub fn to_charset<'a>(
    text: Cow<'a, [u8]>,
    from: Charset,
    to: Charset,
    context: &EvalContext<'_>,
) -> Option<Cow<'a, [u8]>> {
    if from == to || to == Charset::Binary || text.is_ascii() {
        return Some(text);
    }
    if from == Charset::Binary {
        let valid = to.well_formed_prefix(&text);
        if valid < text.len() {
            let hex: String = text[valid..].iter().take(6).map(|byte| format!("\\x{byte:02X}")).collect();
            context.warn(Error::invalid_character_string(to.name(), &hex));
            return (!context.mode.is_strict()).then(|| Cow::Owned(text[..valid].to_vec()));
        }
        return Some(text);
    }
    if from.converts_verbatim(to) {
        return Some(text);
    }
    // In pieces, so that the limit is noticed before much is allocated.
    let mut out = Vec::new();
    let mut rest = &text[..];
    while !rest.is_empty() {
        let piece = match from.well_formed_prefix(&rest[..rest.len().min(CONVERTED_BYTES)]) {
            0 => rest.len().min(CONVERTED_BYTES),
            piece => piece,
        };
        convert(&rest[..piece], from, to, &mut out);
        rest = &rest[piece..];
        if out.len() as u64 > context.max_allowed_packet_bytes {
            context.warn(Error::result_too_large("convert", context.max_allowed_packet_bytes));
            return None;
        }
    }
    Some(Cow::Owned(out))
}

/// How much text is converted before the length of the result is looked at.
const CONVERTED_BYTES: usize = 1 << 20;

fn trim<'a>(text: Cow<'a, [u8]>, remove: &[u8], side: TrimSide) -> Cow<'a, [u8]> {
    if remove.is_empty() {
        return text;
    }
    let (mut start, mut end) = (0, text.len());
    if side != TrimSide::Trailing {
        while text[start..end].starts_with(remove) {
            start += remove.len();
        }
    }
    if side != TrimSide::Leading {
        while text[start..end].ends_with(remove) {
            end -= remove.len();
        }
    }
    match text {
        Cow::Borrowed(text) => Cow::Borrowed(&text[start..end]),
        Cow::Owned(mut text) => {
            text.truncate(end);
            text.drain(..start);
            Cow::Owned(text)
        }
    }
}
