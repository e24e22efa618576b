//! Comparisons: operands are brought to a common type first; IN, BETWEEN, CASE.

use format::collation::collation;
use format::value::{
    Value, datetime_from_decimal, datetime_from_number, parse_datetime, parse_time, time_from_decimal, time_from_number,
};

use super::{Binder, condition, is_hex};
use crate::error::{Error, Result};
use crate::expression::compare::{Comparison, aggregate_collations, comparison_of};
use crate::expression::functions::{self, agree, as_number, convert_charset};
use crate::expression::temporal::{Zeros, is_bad_date};
use crate::expression::{Expr, Node, typing};
use crate::parser::ast::{self, BinaryOp, Query};
use crate::types::{Kind, TypeInfo};

impl Binder<'_> {
    pub(super) fn compare(&mut self, op: BinaryOp, left: &ast::Expr, right: &ast::Expr) -> Result<Expr> {
        match (left, right) {
            (ast::Expr::Row(left), ast::Expr::Row(right)) => {
                if left.len() != right.len() {
                    return Err(Error::operand_columns(left.len()));
                }
                let (mut lefts, mut rights, mut hows) = (Vec::new(), Vec::new(), Vec::new());
                for (left, right) in left.iter().zip(right) {
                    let (left, right, how) = self.comparands(op, left, right)?;
                    lefts.push(left);
                    rights.push(right);
                    hows.push(how);
                }
                let nullable =
                    lefts.iter().chain(&rights).any(|expr| expr.ty.nullable) && op != BinaryOp::NullSafeEqual;
                let nullable = nullable || hows.iter().any(|how| may_be_null(*how));
                return Ok(condition(Node::CompareRows { op, left: lefts, right: rights, hows }, nullable));
            }
            (ast::Expr::Row(row), ast::Expr::Subquery(_)) | (ast::Expr::Subquery(_), ast::Expr::Row(row)) => {
                let _ = row;
                return Err(Error::unsupported("row comparison with a subquery"));
            }
            (ast::Expr::Row(row), _) | (_, ast::Expr::Row(row)) => return Err(Error::operand_columns(row.len())),
            _ => {}
        }
        let (left, right, how) = self.comparands(op, left, right)?;
        Ok(comparison(op, how, left, right))
    }

    pub(super) fn compare_bound(&mut self, op: BinaryOp, mut left: Expr, mut right: Expr) -> Result<Expr> {
        let how = self.prepare(&mut left, &mut right, operator_name(op))?;
        Ok(comparison(op, how, left, right))
    }

    /// Two operands, brought to what they compare as.
    fn comparands(&mut self, op: BinaryOp, left: &ast::Expr, right: &ast::Expr) -> Result<(Expr, Expr, Comparison)> {
        let (mut bound_left, mut bound_right) = (self.bind(left)?, self.bind(right)?);
        // A hexadecimal literal is a number beside a number.
        if is_hex(left) && bound_right.ty.is_numeric() {
            bound_left = self.bind_number(left)?;
        }
        if is_hex(right) && bound_left.ty.is_numeric() {
            bound_right = self.bind_number(right)?;
        }
        let how = self.prepare(&mut bound_left, &mut bound_right, operator_name(op))?;
        Ok((bound_left, bound_right, how))
    }

    /// Chooses the rule of a comparison and converts what can be converted once.
    fn prepare(&self, left: &mut Expr, right: &mut Expr, operation: &str) -> Result<Comparison> {
        // An ENUM beside a number is its number.
        if right.ty.is_numeric() {
            as_number(left);
        }
        if left.ty.is_numeric() {
            as_number(right);
        }
        self.year_operand(left, right)?;
        self.year_operand(right, left)?;
        let how = comparison_of(&left.ty, &right.ty, operation)?;
        match how {
            Comparison::String(id) => {
                convert_charset(left, collation(id).charset);
                convert_charset(right, collation(id).charset);
            }
            Comparison::DateTime | Comparison::Time => {
                // A number that is no date compares as a number; a parameter is taken for a literal.
                for operand in [&mut *left, &mut *right] {
                    let is_date = self.temporal_literal(operand, how);
                    if operand.ty.is_numeric() && !is_date && !matches!(operand.node, Node::Parameter(_)) {
                        return Ok(Comparison::Double);
                    }
                }
            }
            _ => {}
        }
        Ok(how)
    }

    /// A literal beside a YEAR column may be a year of two digits.
    fn year_operand(&self, column: &Expr, other: &mut Expr) -> Result<()> {
        if column.ty.kind != Kind::Year || column.as_column().is_none() {
            return Ok(());
        }
        match &other.node {
            Node::Constant(Value::Int(_) | Value::Bytes(_)) => {}
            Node::Parameter(_) if other.ty.is_integer() || other.ty.is_string() => {}
            _ => return Ok(()),
        }
        let operand = std::mem::replace(other, Expr::null());
        *other = self.call(functions::YEAR_OPERAND, vec![operand])?;
        Ok(())
    }

    /// A literal beside a date becomes one, if it is a good one; else it is left to be warned of.
    fn temporal_literal(&self, expr: &mut Expr, how: Comparison) -> bool {
        let Node::Constant(value) = &expr.node else { return false };
        if how == Comparison::Time {
            let parsed = match value {
                Value::Bytes(text) => parse_time(text),
                Value::Int(number) => time_from_number(*number, 0),
                Value::Decimal(number) => time_from_decimal(number),
                _ => return false,
            };
            if parsed.flags.invalid || parsed.flags.truncated || parsed.flags.out_of_range {
                return false;
            }
            *expr = Expr::constant(Value::Time(parsed.value), TypeInfo::time(6).not_null());
            return true;
        }
        let parsed = match value {
            Value::Bytes(text) => parse_datetime(text),
            Value::Int(number) => datetime_from_number(*number, 0),
            Value::Decimal(number) => datetime_from_decimal(number),
            _ => return false,
        };
        if is_bad_date(&parsed.flags, Zeros::Allowed, self.mode) || parsed.flags.truncated {
            return false;
        }
        *expr = Expr::constant(Value::DateTime(parsed.value), TypeInfo::datetime(6).not_null());
        true
    }

    pub(super) fn between(
        &mut self,
        expr: &ast::Expr,
        low: &ast::Expr,
        high: &ast::Expr,
        negated: bool,
    ) -> Result<Expr> {
        let mut operands = [self.bind(expr)?, self.bind(low)?, self.bind(high)?];
        if operands.iter().all(|operand| operand.ty.is_string()) {
            let id = agree(&mut operands, self.connection, "between")?.0;
            let how = if operands.iter().any(|operand| operand.ty.kind == Kind::Parameter) {
                Comparison::ByValue(id)
            } else {
                Comparison::String(id)
            };
            return Ok(between(operands, [how; 2], negated));
        }
        let [expr, low, high] = &mut operands;
        let mut hows = [self.prepare(expr, low, "between")?, self.prepare(expr, high, "between")?];
        // All three compare as one type: with a number among strings it is the double.
        let has = |is: fn(&TypeInfo) -> bool| operands.iter().any(|operand| is(&operand.ty));
        if has(TypeInfo::is_string) && has(TypeInfo::is_numeric) && !has(|ty| ty.kind == Kind::Parameter) {
            hows = [Comparison::Double; 2];
        }
        Ok(between(operands, hows, negated))
    }

    pub(super) fn in_list(&mut self, expr: &ast::Expr, list: &[ast::Expr], negated: bool) -> Result<Expr> {
        if let ast::Expr::Row(row) = expr {
            return self.in_rows(row, list, negated);
        }
        let mut expr_bound = self.bind(expr)?;
        let mut items = Vec::with_capacity(list.len());
        for item in list {
            if let ast::Expr::Row(row) = item {
                return Err(Error::operand_columns(row.len()));
            }
            let numeric = is_hex(item) && expr_bound.ty.is_numeric();
            items.push(if numeric { self.bind_number(item)? } else { self.bind(item)? });
        }
        let all_strings =
            expr_bound.ty.is_string() && items.iter().all(|item| item.ty.is_string() || item.is_null_literal());
        let mut list = Vec::with_capacity(items.len());
        if all_strings {
            let types: Vec<TypeInfo> = std::iter::once(expr_bound.ty).chain(items.iter().map(|item| item.ty)).collect();
            let id = aggregate_collations(&types, "in")?.0;
            let charset = collation(id).charset;
            convert_charset(&mut expr_bound, charset);
            for mut item in items {
                let how = match (expr_bound.ty.kind, item.ty.kind) {
                    (Kind::Parameter, _) | (_, Kind::Parameter) => Comparison::ByValue(id),
                    _ => Comparison::String(id),
                };
                convert_charset(&mut item, charset);
                list.push((how, item));
            }
        } else {
            for mut item in items {
                let how = self.prepare(&mut expr_bound, &mut item, "in")?;
                list.push((how, item));
            }
        }
        let nullable = expr_bound.ty.nullable || list.iter().any(|(how, item)| item.ty.nullable || may_be_null(*how));
        Ok(condition(Node::In { expr: Box::new(expr_bound), list, negated }, nullable))
    }

    fn in_rows(&mut self, row: &[ast::Expr], list: &[ast::Expr], negated: bool) -> Result<Expr> {
        let mut left = row.iter().map(|expr| self.bind(expr)).collect::<Result<Vec<_>>>()?;
        let mut rows = Vec::with_capacity(list.len());
        for item in list {
            let ast::Expr::Row(values) = item else { return Err(Error::operand_columns(row.len())) };
            if values.len() != row.len() {
                return Err(Error::operand_columns(row.len()));
            }
            let mut columns = Vec::with_capacity(values.len());
            for (left, value) in left.iter_mut().zip(values) {
                let mut value = self.bind(value)?;
                let how = self.prepare(left, &mut value, "in")?;
                columns.push((how, value));
            }
            rows.push(columns);
        }
        Ok(condition(Node::InRows { row: left, list: rows, negated }, true))
    }

    pub(super) fn in_query(&mut self, expr: &ast::Expr, query: &Query, negated: bool) -> Result<Expr> {
        let mut row = match expr {
            ast::Expr::Row(row) => row.iter().map(|expr| self.bind(expr)).collect::<Result<Vec<_>>>()?,
            expr => vec![self.bind(expr)?],
        };
        let subquery = self.scope.subquery(query)?;
        if subquery.columns.len() != row.len() {
            return Err(Error::operand_columns(row.len()));
        }
        let mut hows = Vec::with_capacity(row.len());
        for (expr, column) in row.iter_mut().zip(&subquery.columns) {
            let how = comparison_of(&expr.ty, column, "in")?;
            if let Comparison::String(id) = how {
                convert_charset(expr, collation(id).charset);
                // The rows come as they are: another character set would need a conversion of each.
                if column.charset() != collation(id).charset
                    && !column.charset().converts_verbatim(collation(id).charset)
                {
                    return Err(Error::unsupported("IN with a subquery in another character set"));
                }
            }
            hows.push(how);
        }
        Ok(condition(Node::InQuery { row, query: subquery.id, hows, negated }, true))
    }

    pub(super) fn case(
        &mut self,
        operand: Option<&ast::Expr>,
        whens: &[(ast::Expr, ast::Expr)],
        otherwise: Option<&ast::Expr>,
    ) -> Result<Expr> {
        let mut operand = match operand {
            Some(operand) => Some(self.bind(operand)?),
            None => None,
        };
        let (mut conditions, mut results) = (Vec::new(), Vec::new());
        for (when, then) in whens {
            let mut when_bound = if operand.is_some() { self.bind(when)? } else { self.bind_number(when)? };
            let how = match &mut operand {
                Some(operand) => self.prepare(operand, &mut when_bound, "case")?,
                None => Comparison::Integer,
            };
            conditions.push((how, when_bound));
            results.push(self.bind(then)?);
        }
        let has_else = otherwise.is_some();
        if let Some(otherwise) = otherwise {
            results.push(self.bind(otherwise)?);
        }
        let types: Vec<TypeInfo> = results.iter().map(|result| result.ty).collect();
        let mut ty = typing::common_type(&types, self.connection, "case")?;
        if ty.is_string() {
            (ty.collation, ty.coercibility) = agree(&mut results, self.connection, "case")?;
        }
        ty.nullable |= !has_else;
        let otherwise = if has_else { results.pop().map(Box::new) } else { None };
        let whens = conditions.into_iter().zip(results).map(|((how, when), then)| (how, when, then)).collect();
        Ok(Expr { node: Node::Case { operand: operand.map(Box::new), whens, otherwise }, ty })
    }
}

pub(super) fn comparison(op: BinaryOp, how: Comparison, left: Expr, right: Expr) -> Expr {
    let nullable = (left.ty.nullable || right.ty.nullable || may_be_null(how)) && op != BinaryOp::NullSafeEqual;
    condition(Node::Compare { op, how, left: Box::new(left), right: Box::new(right) }, nullable)
}

/// What has no static type may turn out to be NULL.
fn may_be_null(how: Comparison) -> bool {
    matches!(how, Comparison::ByValue(_))
}

pub(super) fn between(operands: [Expr; 3], hows: [Comparison; 2], negated: bool) -> Expr {
    let nullable = operands.iter().any(|operand| operand.ty.nullable) || hows.iter().any(|how| may_be_null(*how));
    let [expr, low, high] = operands.map(Box::new);
    condition(Node::Between { expr, low, high, hows, negated }, nullable)
}

/// An operator as error 1267 names it.
pub(super) fn operator_name(op: BinaryOp) -> &'static str {
    match op {
        BinaryOp::Equal => "=",
        BinaryOp::NullSafeEqual => "<=>",
        BinaryOp::NotEqual => "<>",
        BinaryOp::Less => "<",
        BinaryOp::LessEqual => "<=",
        BinaryOp::Greater => ">",
        BinaryOp::GreaterEqual => ">=",
        _ => "comparison",
    }
}
