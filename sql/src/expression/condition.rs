//! Whether a condition is true for a row: `Option<bool>`, where None is NULL. AND and OR evaluate no more than MySQL does.

use std::rc::Rc;

use format::collation::collation;
use format::value::Value;

use super::compare::{compare_op, holds};
use super::datum::in_place;
use super::lists::{List, Lists};
use super::memory::Charge;
use super::{Comparison, Datum, EvalContext, Expr, Fields, NoFields, Node, compare, pattern};
use crate::error::{Error, Result};
use crate::parser::ast::BinaryOp;

impl Expr {
    /// As a condition: None is NULL.
    pub fn truth(&self, context: &EvalContext<'_>, row: &dyn Fields) -> Result<Option<bool>> {
        match &self.node {
            Node::Compare { op, how, left, right } => {
                let left = left.eval(context, row);
                let left = in_place!(left);
                let _held = context.session.memory().hold(left)?;
                let right = right.eval(context, row);
                compare_op(*op, *how, left, in_place!(right), context)
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
            Node::IsNull { expr, negated } => {
                let value = expr.eval(context, row);
                Ok(Some(in_place!(value).is_null() != *negated))
            }
            Node::IsTruth { expr, truth, negated } => Ok(Some((expr.truth(context, row)? == Some(*truth)) != *negated)),
            Node::CompareRows { op, left, right, hows } => compare_rows(*op, left, right, hows, context, row),
            Node::Between { expr, low, high, hows, negated } => {
                let value = expr.eval(context, row);
                let value = in_place!(value);
                let _held = context.session.memory().hold(value)?;
                let low = low.eval(context, row);
                let above = compare_op(BinaryOp::GreaterEqual, hows[0], value, in_place!(low), context)?;
                let high = high.eval(context, row);
                let below = compare_op(BinaryOp::LessEqual, hows[1], value, in_place!(high), context)?;
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
                    && let Some(set) = as_list(lists, list, |(how, item)| std::iter::once((*how, item)), context)?
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
                    Some(compiled) => pattern::is_match(compiled, &text, id)?,
                    None => pattern::is_match(&pattern::compile(&source.into_text(&pattern.ty), id)?, &text, id)?,
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
            _ => match self.eval(context, row) {
                Ok(Datum::Int(value)) => Ok(Some(value != 0)),
                Ok(value) => value.in_utf8(&self.ty).to_truth(context),
                Err(error) => Err(error),
            },
        }
    }

    /// As WHERE and HAVING take it: NULL is false.
    #[inline]
    pub fn is_true(&self, context: &EvalContext<'_>, row: &dyn Fields) -> Result<bool> {
        Ok(self.truth(context, row)? == Some(true))
    }
}

/// The items of IN as a set, from the second search on. None: they are searched one by one.
fn as_list<'e, T, I: Iterator<Item = (Comparison, &'e Expr)>>(
    lists: &Lists,
    items: &'e [T],
    columns: impl Fn(&'e T) -> I,
    context: &EvalContext<'_>,
) -> Result<Option<Rc<List>>> {
    let first = items.first().and_then(|item| columns(item).next()).map(|(how, _)| how);
    lists.list(items.as_ptr() as usize, items.len(), first, || {
        let mut list = List::default();
        let mut values = Vec::new();
        for (number, item) in items.iter().enumerate() {
            values.clear();
            for (how, expr) in columns(item) {
                if !expr.is_constant() {
                    return Ok(None);
                }
                values.push((how, expr.eval(context, &NoFields)?));
            }
            if list.add(number, &values).is_none() {
                return Ok(None);
            }
        }
        Ok(Some(list))
    })
}

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
        Some(lists) => as_list(lists, list, |item| item.iter().map(|(how, expr)| (*how, expr)), context)?,
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
