//! The value of an expression for a row. What a condition is, is in `condition`: it becomes an integer where
//! someone looks at its value. CASE and IF evaluate no more than MySQL does.

use std::borrow::Cow;
use std::cell::RefCell;

use format::collation::Charset;
use format::value::Value;

use super::arithmetic::{self, Fault};
use super::bit_strings;
use super::cast::{cast, extract};
use super::compare::compare_op;
use super::datum::{Number, in_place};
use super::functions::Call;
use super::strings::{exactly_in, in_charset, set_names, to_charset, trim};
use super::temporal::{self, Zeros};
use super::{Datum, EvalContext, Expr, Fields, Node, arrays, json};
use crate::error::{Error, Result};
use crate::parser::ast::BinaryOp;
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

    /// The value for who assigns it: owned, a decimal with the digits beyond its type, as MySQL stores `1 / 3` in a
    /// DOUBLE.
    pub fn assigned(&self, context: &EvalContext<'_>, row: &dyn Fields) -> Result<Value> {
        Ok(self.eval(context, row)?.into_value())
    }

    /// The expression that has the digits of this one, where it is that of a derived table that was merged.
    #[inline]
    pub fn with_all_digits(&self) -> &Expr {
        match &self.node {
            Node::Fitted(inner) => inner.with_all_digits(),
            _ => self,
        }
    }

    /// The value as it leaves the expression: owned, a decimal with exactly the digits of its type.
    pub fn value(&self, context: &EvalContext<'_>, row: &dyn Fields) -> Result<Value> {
        Ok(self.eval(context, row)?.fit(&self.ty).into_value())
    }

    fn eval_other<'a>(&'a self, context: &'a EvalContext<'a>, row: &'a dyn Fields) -> Result<Datum<'a>> {
        match &self.node {
            Node::Call { function, args } => (function.eval)(&Call {
                name: function.name,
                args,
                ty: &self.ty,
                context,
                row,
                held: RefCell::default(),
            }),
            Node::Stored { function, args } => {
                let programs = context.programs.ok_or_else(|| Error::unsupported("stored functions here"))?;
                let mut values = Vec::with_capacity(args.len());
                for arg in args {
                    values.push((arg.assigned(context, row)?, arg.ty));
                }
                programs.call(function, values, context).map(Datum::from)
            }
            Node::Sequence(call) => context.session.sequence(call).map(|value| value.map_or(Datum::Null, Datum::Int)),
            Node::CastArray { expr, elements } => {
                match json::document(expr.eval(context, row)?, &expr.ty, 1, "cast_as_json")? {
                    None => Ok(Datum::Null),
                    Some(document) => Ok(Datum::Bytes(arrays::array_of(&document, elements)?.into())),
                }
            }
            Node::Match { search, args } => {
                let queries = context.subqueries.ok_or_else(|| Error::unsupported("MATCH ... AGAINST here"))?;
                queries.relevance(search, args, context, row).map(Datum::Double)
            }
            Node::Aggregate(index) => Ok(row.aggregate(*index)),
            Node::Window(index) => Ok(row.window(*index)),
            Node::Grouping(_) => Err(Error::internal("GROUPING() stays")),
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
                let value = expr.assigned(context, row)?;
                context.session.set_user_variable(name, value.clone(), self.ty);
                Ok(Datum::from(value))
            }
            Node::SystemVariable { scope, name } => Ok(Datum::from(context.session.system_variable(*scope, name)?)),
            Node::Bits { op, left, right } => {
                let (types, (left, right)) =
                    ((&left.ty, &right.ty), (left.eval(context, row)?, right.eval(context, row)?));
                if left.is_null() || right.is_null() {
                    return Ok(Datum::Null);
                }
                if self.ty.is_string() {
                    let bytes = left.into_text(types.0);
                    return Ok(Datum::bytes(match op {
                        BinaryOp::ShiftLeft | BinaryOp::ShiftRight => {
                            bit_strings::shift(*op, &bytes, right.to_u64(context)?)
                        }
                        _ => bit_strings::combine(*op, &bytes, &right.into_text(types.1))?,
                    }));
                }
                Ok(Datum::UInt(arithmetic::bits(*op, left.to_u64(context)?, right.to_u64(context)?)))
            }
            Node::BitNot(expr) => match expr.eval(context, row)? {
                Datum::Null => Ok(Datum::Null),
                value if self.ty.is_string() => Ok(Datum::bytes(bit_strings::invert(&value.into_text(&expr.ty)))),
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
                            let when = when.eval(context, row);
                            compare_op(BinaryOp::Equal, *how, value, in_place!(when), context)? == Some(true)
                        }
                        None => when.is_true(context, row)?,
                    };
                    if chosen {
                        return Datum::converted(then.eval(context, row), &then.ty, &self.ty, context);
                    }
                }
                match otherwise {
                    Some(otherwise) => Datum::converted(otherwise.eval(context, row), &otherwise.ty, &self.ty, context),
                    None => Ok(Datum::Null),
                }
            }
            Node::Cast { expr, to } => cast(expr.eval(context, row)?, expr, to, &self.ty, context),
            Node::ToCharset { expr, to, refused } => {
                let value = expr.eval(context, row)?;
                if value.is_null() {
                    return Ok(value);
                }
                let from = if expr.ty.is_string() { expr.ty.charset() } else { Charset::Ascii };
                if let Some(error) = refused.as_deref().filter(|_| from != Charset::Binary) {
                    return exactly_in(value.into_text(&expr.ty), from, *to, error);
                }
                Ok(to_charset(value.into_text(&expr.ty), from, *to, context).map_or(Datum::Null, Datum::Bytes))
            }
            Node::Retyped(expr) => match expr.eval(context, row)? {
                Datum::Null => Ok(Datum::Null),
                value => Ok(Datum::Bytes(value.into_text(&expr.ty))),
            },
            Node::Fitted(expr) => Ok(expr.eval(context, row)?.fit(&expr.ty)),
            Node::Once(expr) => match context.lists {
                Some(lists) => lists.value(
                    &**expr as *const Expr as usize,
                    || context.warnings.count(),
                    || expr.eval(context, row),
                ),
                None => expr.eval(context, row),
            },
            Node::Trim { side, remove, expr } => {
                let text = expr.eval(context, row)?;
                let _held = context.session.memory().hold(&text)?;
                let remove_value = match remove {
                    Some(remove) => remove.eval(context, row)?.into_text_or_null(&remove.ty),
                    None => Some(Cow::Borrowed(expr.ty.charset().space())),
                };
                match (text.into_text_or_null(&expr.ty), remove_value) {
                    (Some(text), Some(remove)) => Ok(Datum::Bytes(trim(text, &remove, *side, expr.ty.charset()))),
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
        let left_value = left.eval(context, row);
        let left_value = in_place!(left_value);
        let right_value = right.eval(context, row);
        let right_value = in_place!(right_value);
        if let Some(result) = arithmetic::of_common(op, left_value, right_value) {
            return Ok(result);
        }
        let Some(a) = left_value.to_number(&left.ty, context)? else { return Ok(Datum::Null) };
        let Some(b) = right_value.to_number(&right.ty, context)? else { return Ok(Datum::Null) };
        match arithmetic::compute(op, a, b, context) {
            // DIV of an unsigned and a fraction: the kinds of the values did not tell.
            Ok(Number::Int(quotient)) if op == BinaryOp::IntegerDivide && self.ty.unsigned => {
                match u64::try_from(quotient) {
                    Ok(quotient) => Ok(Datum::UInt(quotient)),
                    Err(_) => self.fault(Fault::OutOfRange("BIGINT UNSIGNED"), context),
                }
            }
            Ok(number) => Ok(number.into()),
            Err(fault) => self.fault(fault, context),
        }
    }

    #[cold]
    fn fault<'a>(&self, fault: Fault, context: &EvalContext<'_>) -> Result<Datum<'a>> {
        match fault {
            Fault::DivisionByZero => arithmetic::division_by_zero(context),
            Fault::OutOfRange(kind) => Err(Error::out_of_range(kind, &context.text(self))),
        }
    }
}

impl<'a> Datum<'a> {
    /// The value of a branch as one of the static type of the whole.
    #[inline]
    pub fn converted(
        value: Result<Datum<'a>>,
        from: &TypeInfo,
        to: &TypeInfo,
        context: &EvalContext<'_>,
    ) -> Result<Datum<'a>> {
        match value {
            Ok(Datum::Int(value)) if to.is_integer() => Ok(Datum::Int(value)),
            Ok(value) => value.convert_to(from, to, context),
            Err(error) => Err(error),
        }
    }

    /// The value as one of another static type: of a branch as the CASE's, of an argument as COALESCE's.
    pub fn convert_to(self, from: &TypeInfo, to: &TypeInfo, context: &EvalContext<'_>) -> Result<Datum<'a>> {
        let value = if to.is_string() { self } else { self.in_utf8(from) };
        Ok(match (value, to.kind) {
            (Datum::Null, _) => Datum::Null,
            (Datum::Bytes(text), _) if to.is_string() => Datum::Bytes(text),
            (Datum::Json(document), Kind::Json) => Datum::Json(document),
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
}
