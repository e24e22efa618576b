//! Comparisons: operands are brought to a common type first; IN, BETWEEN, CASE.

use format::collation::{Charset, collation};
use format::value::{Value, Zone, parse_datetime, parse_time};

use super::{Binder, Subquery, condition};
use crate::error::{Error, Result};
use crate::expression::functions::{self, agree, agree_to_compare, as_number, convert_charset, convert_exactly};
use crate::expression::rule::{Comparison, comparing_collation, comparison_of};
use crate::expression::temporal::comparison_moment;
use crate::expression::{Expr, Node, typing};
use crate::parser::ast::{self, BinaryOp, CastType, Query};
use crate::types::{Kind, TypeInfo};

impl Binder<'_> {
    pub(super) fn compare(&mut self, op: BinaryOp, left: &ast::Expr, right: &ast::Expr) -> Result<Expr> {
        let (mut lefts, mut rights) = (self.row(left)?, self.row(right)?);
        if lefts.len() != rights.len() || !have_one_shape(left, right) {
            return Err(Error::operand_columns(lefts.len()));
        }
        if lefts.len() == 1
            && let (Some(left), Some(right)) = (lefts.pop(), rights.pop())
        {
            return self.compare_bound(op, left, right);
        }
        let mut hows = Vec::with_capacity(lefts.len());
        for (left, right) in lefts.iter_mut().zip(&mut rights) {
            hows.push(self.prepare(left, right, op.symbol())?);
        }
        let nullable = lefts.iter().chain(&rights).any(|expr| expr.ty.nullable) && op != BinaryOp::NullSafeEqual;
        let nullable = nullable || hows.iter().any(|how| may_be_null(*how));
        Ok(condition(Node::CompareRows { op, left: lefts, right: rights, hows }, nullable))
    }

    /// An operand by its columns: a row with those of the rows in it, a subquery of several columns, or one value.
    pub(super) fn row(&mut self, expr: &ast::Expr) -> Result<Vec<Expr>> {
        match expr {
            ast::Expr::Row(row) => {
                let mut columns = Vec::with_capacity(row.len());
                for expr in row {
                    match expr {
                        ast::Expr::Row(_) => columns.extend(self.row(expr)?),
                        expr => columns.push(self.bind(expr)?),
                    }
                }
                Ok(columns)
            }
            ast::Expr::Subquery(query) => {
                let subquery = self.scope.subquery(query)?;
                let value = |(column, ty): (usize, &TypeInfo)| Expr {
                    node: Node::ScalarQuery { query: subquery.id, column },
                    ty: ty.stored().nullable(true),
                };
                Ok(subquery.columns.iter().enumerate().map(value).collect())
            }
            expr => Ok(vec![self.bind(expr)?]),
        }
    }

    /// Two operands that are bound already, compared.
    pub fn compare_bound(&mut self, op: BinaryOp, mut left: Expr, mut right: Expr) -> Result<Expr> {
        self.year_of_moment(&left, &mut right)?;
        self.year_of_moment(&right, &mut left)?;
        let (left_type, right_type) = (left.ty, right.ty);
        for (one, other) in [(&mut left, right_type), (&mut right, left_type)] {
            // A year beside a date is the moment before that year's first day.
            if one.ty.kind == Kind::Year && other.has_date() && other.kind != Kind::Parameter {
                self.wrap(functions::YEAR_MOMENT, one)?;
            }
        }
        let is_order = matches!(op, BinaryOp::Less | BinaryOp::LessEqual | BinaryOp::Greater | BinaryOp::GreaterEqual);
        if is_order && (left_type.is_geometry() || right_type.is_geometry()) {
            return Err(Error::wrong_arguments(op.symbol()));
        }
        let how = self.prepare(&mut left, &mut right, op.symbol())?;
        Ok(comparison(op, how, left, right))
    }

    /// Chooses the rule of a comparison and converts what can be converted once.
    fn prepare(&self, left: &mut Expr, right: &mut Expr, operation: &str) -> Result<Comparison> {
        self.prepare_as(left, right, operation, false)
    }

    /// The same; `listed`: one of the two is among several that the other is compared with.
    fn prepare_as(&self, left: &mut Expr, right: &mut Expr, operation: &str, listed: bool) -> Result<Comparison> {
        // What stands beside JSON is a JSON value, whose kind its type tells.
        if left.ty.kind == Kind::Json || right.ty.kind == Kind::Json {
            for operand in [left, right] {
                if operand.ty.kind != Kind::Json && !operand.is_null_literal() {
                    self.wrap(functions::JSON_OPERAND, operand)?;
                }
            }
            return Ok(Comparison::Json);
        }
        // An ENUM or a bit literal beside a number is its number.
        if right.ty.is_numeric() {
            self.member_number(left);
        }
        if left.ty.is_numeric() {
            self.member_number(right);
        }
        self.year_operand(left, right)?;
        self.year_operand(right, left)?;
        if let Some(how) = self.number_operand(left, right)? {
            return Ok(how);
        }
        if let Some(how) = self.number_operand(right, left)? {
            return Ok(how);
        }
        if left.ty.is_string() && right.ty.is_string() && (functions::is_wide(left) || functions::is_wide(right)) {
            functions::widen_literals(&mut [&mut *left, &mut *right]);
        }
        functions::yield_variables(&mut [&mut *left, &mut *right]);
        let how = comparison_of(&left.ty, &right.ty, operation)?;
        if !matches!(how, Comparison::String(_) | Comparison::ByValue(_)) {
            functions::in_utf8(left);
            functions::in_utf8(right);
        }
        match how {
            Comparison::String(id) => {
                let types = [left.ty, right.ty];
                convert_exactly(left, collation(id).charset, &types, operation);
                convert_exactly(right, collation(id).charset, &types, operation);
            }
            Comparison::DateTime | Comparison::Time => {
                // A constant number may be a date, which its value tells; other numbers compare as numbers.
                let is_constant = |operand: &Expr| is_fixed(operand) && !self.reads_outer(operand);
                if [&*left, &*right].iter().any(|operand| operand.ty.is_numeric() && !is_constant(operand)) {
                    return Ok(Comparison::Double);
                }
                let (left_kind, right_kind) = (left.ty.kind, right.ty.kind);
                self.temporal_operand(left, right_kind, how, listed)?;
                self.temporal_operand(right, left_kind, how, listed)?;
            }
            _ => {}
        }
        Ok(how)
    }

    /// A constant string beside a column of integers, or beside decimals of any kind, is compared as a number of that kind.
    fn number_operand(&self, column: &Expr, other: &mut Expr) -> Result<Option<Comparison>> {
        let how = match column.ty.kind {
            Kind::Decimal => Comparison::Decimal,
            Kind::Year | Kind::Bit => return Ok(None),
            _ if column.ty.is_integer() => Comparison::Integer,
            _ => return Ok(None),
        };
        let is_text = other.ty.is_string() && other.ty.kind != Kind::Parameter;
        let takes_text = column.as_column().is_some() || how == Comparison::Decimal && !is_fixed(column);
        if !takes_text || !is_text || !is_fixed(other) {
            return Ok(None);
        }
        self.wrap(functions::NUMBER_OPERAND, other)?;
        Ok(Some(how))
    }

    /// Puts a function around an operand, once.
    #[inline(never)]
    fn wrap(&self, name: &'static str, operand: &mut Expr) -> Result<()> {
        if matches!(&operand.node, Node::Call { function, .. } if function.name == name) {
            return Ok(());
        }
        let inner = std::mem::replace(operand, Expr::null());
        *operand = self.call(name, vec![inner])?;
        Ok(())
    }

    /// A constant date beside a YEAR column is stored into it, as it were, and compares by its year.
    fn year_of_moment(&self, column: &Expr, other: &mut Expr) -> Result<()> {
        let is_column = column.ty.kind == Kind::Year && column.as_column().is_some();
        if is_column
            && other.ty.has_date()
            && other.ty.kind != Kind::Parameter
            && is_fixed(other)
            && !self.reads_outer(other)
        {
            self.wrap("year", other)?;
        }
        Ok(())
    }

    /// A literal beside a YEAR column may be a year of two digits.
    fn year_operand(&self, column: &Expr, other: &mut Expr) -> Result<()> {
        if column.ty.kind != Kind::Year || column.as_column().is_none() {
            return Ok(());
        }
        match &other.node {
            Node::Constant(Value::Int(_) | Value::Bytes(_)) => {}
            Node::Parameter(_) if (other.ty.is_integer() || other.ty.is_string()) && !self.reads_outer(other) => {}
            _ => return Ok(()),
        }
        let operand = std::mem::replace(other, Expr::null());
        *other = self.call(functions::YEAR_OPERAND, vec![operand])?;
        Ok(())
    }

    /// As [`as_number`], also for a column of a query around this one.
    fn member_number(&self, expr: &mut Expr) {
        if let Node::Parameter(at) = expr.node
            && at >= self.parameters.len()
            && expr.ty.is_string()
            && let Some(number) = self.scope.outer_number(at)
        {
            *expr = number;
        }
        as_number(expr);
    }

    /// Whether the value is one of the row around a subquery: a constant to the subquery, but not to the statement.
    fn reads_outer(&self, expr: &Expr) -> bool {
        let mut found = false;
        expr.walk(&mut |expr| found |= matches!(expr.node, Node::Parameter(at) if at >= self.parameters.len()));
        found
    }

    /// A constant string beside a date is read as one, and must be one if it stands alone. A good literal is read here.
    fn temporal_operand(&self, expr: &mut Expr, other: Kind, how: Comparison, listed: bool) -> Result<()> {
        if !expr.ty.is_string() || expr.ty.kind == Kind::Parameter || !is_fixed(expr) {
            return Ok(());
        }
        let literal = match &expr.node {
            Node::Constant(Value::Bytes(text)) => Some(text),
            _ => None,
        };
        // What is read here keeps the type of the text, as it does when it is read later.
        if how == Comparison::Time {
            if let Some(text) = literal {
                let parsed = parse_time(text);
                if !parsed.flags.invalid && !parsed.flags.truncated && !parsed.flags.out_of_range {
                    *expr = Expr::constant(Value::Time(parsed.value), expr.ty);
                    return Ok(());
                }
            }
            return self.wrap(functions::TIME_OPERAND, expr);
        }
        if let Some(text) = literal
            && let Some((moment, false)) = comparison_moment(text, Zone::UTC, self.mode)
            && parse_datetime(text).flags.zone.is_none()
        {
            *expr = Expr::constant(Value::DateTime(moment), expr.ty);
            return Ok(());
        }
        match functions::MOMENT_OPERANDS.iter().find(|(kind, _)| *kind == other) {
            Some(_) if listed || self.reads_outer(expr) => self.wrap(functions::LISTED_MOMENT, expr),
            Some((_, name)) => self.wrap(name, expr),
            None => Ok(()),
        }
    }

    pub(super) fn between(
        &mut self,
        expr: &ast::Expr,
        low: &ast::Expr,
        high: &ast::Expr,
        negated: bool,
    ) -> Result<Expr> {
        let mut operands = [self.bind(expr)?, self.bind(low)?, self.bind(high)?];
        let is_json = operands.iter().any(|operand| operand.ty.kind == Kind::Json);
        if !is_json && operands.iter().all(|operand| operand.ty.is_string()) {
            let id = agree_to_compare(&mut operands, self.connection, "between")?;
            let how = if operands.iter().any(|operand| operand.ty.kind == Kind::Parameter) {
                Comparison::ByValue(id)
            } else {
                Comparison::String(id)
            };
            return Ok(between(operands, [how; 2], negated));
        }
        // A date as one bound makes dates of a text and of the other bound, which would compare as texts alone.
        let is_text = |operand: &Expr| operand.ty.is_string() && operand.ty.kind != Kind::Parameter;
        if is_text(&operands[0]) && (1..3).any(|at| operands[at].ty.has_date()) {
            for (at, bound) in [(1, low), (2, high)] {
                if is_text(&operands[at]) {
                    let to = CastType::DateTime { fsp: 6 };
                    operands[at] = self.bind(&ast::Expr::Cast { expr: Box::new(bound.clone()), to })?;
                }
            }
        }
        // All three compare as one type: with a number among strings it is the double, unless the constants beside a
        // column take its type.
        let has = |is: fn(&TypeInfo) -> bool| operands.iter().any(|operand| is(&operand.ty));
        let mixed = has(TypeInfo::is_string) && has(TypeInfo::is_numeric) && !has(TypeInfo::is_temporal) && !is_json;
        let as_doubles = mixed && operands[0].ty.is_string() && !has(|ty| ty.kind == Kind::Parameter);
        let [expr, low, high] = &mut operands;
        let hows = match as_doubles {
            true => {
                operands.iter_mut().for_each(as_number);
                [Comparison::Double; 2]
            }
            false => [self.prepare_as(expr, low, "between", true)?, self.prepare_as(expr, high, "between", true)?],
        };
        Ok(between(operands, hows, negated))
    }

    pub(super) fn in_list(&mut self, expr: &ast::Expr, list: &[ast::Expr], negated: bool) -> Result<Expr> {
        if matches!(expr, ast::Expr::Row(_))
            || matches!((expr, list.first()), (ast::Expr::Subquery(_), Some(ast::Expr::Row(_))))
        {
            return self.in_rows(expr, list, negated);
        }
        let mut expr_bound = self.bind(expr)?;
        let mut items = Vec::with_capacity(list.len());
        for item in list {
            if let ast::Expr::Row(row) = item {
                return Err(Error::operand_columns(row.len()));
            }
            items.push(self.bind(item)?);
        }
        // A constant or a member's name among items of several types: each comparison converts it on its own.
        let is_member = matches!(expr_bound.node, Node::EnumName { .. } | Node::SetNames { .. });
        let are_mixed = items.iter().any(|item| !is_fixed(item)) || have_several_kinds(&items);
        // Texts compare by one collation, which they agree on all together.
        let all_strings = is_text(&expr_bound) && items.iter().all(is_text);
        let have_several_collations =
            all_strings && items.iter().any(|item| item.ty.collation != items[0].ty.collation);
        if (is_fixed(&expr_bound) && are_mixed || is_member && have_several_kinds(&items))
            && items.len() <= DISJUNCTION_MAX
            && !have_several_collations
        {
            let mut equals = Vec::with_capacity(items.len());
            for item in items {
                equals.push(self.compare_bound(BinaryOp::Equal, expr_bound.clone(), item)?);
            }
            let any = disjunction(equals);
            let nullable = any.ty.nullable;
            return Ok(if negated { condition(Node::Not(Box::new(any)), nullable) } else { any });
        }
        let mut list: Vec<(Comparison, Expr)> = items.into_iter().map(|item| (Comparison::Integer, item)).collect();
        if all_strings {
            as_strings(&mut expr_bound, &mut list, "in")?;
        } else {
            let listed = list.len() > 1;
            for (how, item) in &mut list {
                *how = self.prepare_as(&mut expr_bound, item, "in", listed)?;
            }
        }
        let nullable = expr_bound.ty.nullable || list.iter().any(|(how, item)| item.ty.nullable || may_be_null(*how));
        Ok(condition(Node::In { expr: Box::new(expr_bound), list, negated }, nullable))
    }

    fn in_rows(&mut self, row: &ast::Expr, list: &[ast::Expr], negated: bool) -> Result<Expr> {
        let mut left = self.row(row)?;
        let mut rows = Vec::with_capacity(list.len());
        for item in list {
            let values = self.row(item)?;
            if values.len() != left.len() || !have_one_shape(row, item) {
                return Err(Error::operand_columns(left.len()));
            }
            let mut columns = Vec::with_capacity(values.len());
            for (left, mut value) in left.iter_mut().zip(values) {
                let how = self.prepare(left, &mut value, "in")?;
                columns.push((how, value));
            }
            rows.push(columns);
        }
        Ok(condition(Node::InRows { row: left, list: rows, negated }, true))
    }

    pub(super) fn in_query(&mut self, expr: &ast::Expr, query: &Query, negated: bool) -> Result<Expr> {
        let mut row = self.row(expr)?;
        let mut subquery = self.scope.subquery(query)?;
        if subquery.columns.len() != row.len() {
            return Err(Error::operand_columns(row.len()));
        }
        let mut hows = Vec::with_capacity(row.len());
        for (at, expr) in row.iter_mut().enumerate() {
            hows.push(self.compare_with_subquery(expr, &mut subquery, at, "=")?);
        }
        Ok(condition(Node::InQuery { row, query: subquery.id, hows, negated }, true))
    }

    /// How a value and a column of a subquery compare. An ENUM column beside a number is its number, but an ENUM in front
    /// of the subquery is its name.
    pub(super) fn compare_with_subquery(
        &self,
        expr: &mut Expr,
        subquery: &mut Subquery,
        at: usize,
        operation: &str,
    ) -> Result<Comparison> {
        if expr.ty.is_numeric()
            && let Some(number) = self.scope.number_subquery(subquery.id, at)
        {
            subquery.columns[at] = number;
        }
        let how = comparison_of(&expr.ty, &subquery.columns[at], operation)?;
        self.agree_with_subquery(expr, subquery, at, how)?;
        Ok(how)
    }

    /// Brings a text and the column of a subquery that it is compared with to one character set.
    fn agree_with_subquery(&self, expr: &mut Expr, subquery: &Subquery, at: usize, how: Comparison) -> Result<()> {
        let column = &subquery.columns[at];
        let charset = match how {
            Comparison::String(id) => collation(id).charset,
            Comparison::ByValue(_) => return Ok(()),
            // A number or a date is read of UTF-8.
            _ => {
                functions::in_utf8(expr);
                match column.is_string() && column.charset().is_wide() {
                    true => return self.scope.convert_subquery(subquery.id, at, Charset::Utf8mb4),
                    false => return Ok(()),
                }
            }
        };
        convert_charset(expr, charset);
        if !column.is_string() || column.charset() == charset || column.charset().converts_verbatim(charset) {
            return Ok(());
        }
        self.scope.convert_subquery(subquery.id, at, charset)
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
            let when = if operand.is_some() { self.bind(when)? } else { self.bind_number(when)? };
            conditions.push((Comparison::Integer, when));
            results.push(self.bind(then)?);
        }
        match operand.take() {
            None => {}
            Some(mut value) if value.ty.is_string() && conditions.iter().all(|(_, when)| is_text(when)) => {
                as_strings(&mut value, &mut conditions, "case")?;
                operand = Some(value);
            }
            // Each WHEN compares by its own type with an operand that may be evaluated several times.
            Some(value) if conditions.len() > 1 && (is_fixed(&value) || value.as_column().is_some()) => {
                for (_, when) in &mut conditions {
                    let (mut value, mut bound) = (value.clone(), std::mem::replace(when, Expr::null()));
                    let how = self.prepare_when(&mut value, &mut bound)?;
                    *when = comparison(BinaryOp::Equal, how, value, bound);
                }
            }
            Some(mut value) => {
                for (how, when) in &mut conditions {
                    *how = self.prepare_when(&mut value, when)?;
                }
                operand = Some(value);
            }
        }
        let has_else = otherwise.is_some();
        if let Some(otherwise) = otherwise {
            results.push(self.bind(otherwise)?);
        }
        if results.iter().any(functions::is_wide) {
            functions::widen_literals(&mut results.iter_mut().collect::<Vec<_>>());
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

impl Binder<'_> {
    /// As [`prepare`](Binder::prepare); but CASE compares JSON with a text by JSON's own text, where `=` would compare it
    /// with a JSON string: `CASE doc WHEN 'null'`.
    fn prepare_when(&self, value: &mut Expr, when: &mut Expr) -> Result<Comparison> {
        if value.ty.kind != Kind::Json || !is_text(when) {
            return self.prepare_as(value, when, "case", true);
        }
        let mut whens = [(Comparison::Integer, std::mem::replace(when, Expr::null()))];
        as_strings(value, &mut whens, "case")?;
        let [(how, text)] = whens;
        *when = text;
        Ok(how)
    }
}

/// The longest IN of a constant among columns that becomes a chain of OR.
const DISJUNCTION_MAX: usize = 1000;

/// a OR b OR c OR d, as a tree of little depth.
fn disjunction(mut conditions: Vec<Expr>) -> Expr {
    while conditions.len() > 1 {
        let mut pairs = Vec::with_capacity(conditions.len().div_ceil(2));
        let mut rest = conditions.into_iter();
        while let Some(left) = rest.next() {
            pairs.push(match rest.next() {
                Some(right) => {
                    let nullable = left.ty.nullable || right.ty.nullable;
                    condition(Node::Or(Box::new(left), Box::new(right)), nullable)
                }
                None => left,
            });
        }
        conditions = pairs;
    }
    conditions.pop().unwrap_or_else(Expr::null)
}

/// Whether rows within rows stand at the same places.
fn have_one_shape(left: &ast::Expr, right: &ast::Expr) -> bool {
    match (left, right) {
        (ast::Expr::Row(left), ast::Expr::Row(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| have_one_shape(left, right))
        }
        // The columns of a subquery are no rows.
        (ast::Expr::Row(row), ast::Expr::Subquery(_)) | (ast::Expr::Subquery(_), ast::Expr::Row(row)) => {
            !row.iter().any(|column| matches!(column, ast::Expr::Row(_)))
        }
        (left, right) => !matches!(left, ast::Expr::Row(_)) && !matches!(right, ast::Expr::Row(_)),
    }
}

/// Whether there are strings beside numbers, or dates beside either.
fn have_several_kinds(items: &[Expr]) -> bool {
    let kind = |ty: &TypeInfo| (ty.is_string(), ty.has_date(), ty.kind == Kind::Time);
    let mut kinds = items.iter().filter(|item| !item.is_null_literal()).map(|item| kind(&item.ty));
    let first = kinds.next();
    kinds.any(|kind| Some(kind) != first)
}

fn is_text(expr: &Expr) -> bool {
    expr.ty.is_string() && expr.ty.kind != Kind::Json || expr.is_null_literal()
}

/// Brings a string and those it is compared with into the character set of the one collation that all agree on.
fn as_strings(value: &mut Expr, others: &mut [(Comparison, Expr)], operation: &str) -> Result<()> {
    if functions::is_wide(value) || others.iter().any(|(_, other)| functions::is_wide(other)) {
        let mut all: Vec<&mut Expr> = others.iter_mut().map(|(_, other)| other).collect();
        all.push(&mut *value);
        functions::widen_literals(&mut all);
    }
    let mut all: Vec<&mut Expr> = others.iter_mut().map(|(_, other)| other).collect();
    all.push(&mut *value);
    functions::yield_variables(&mut all);
    let types: Vec<TypeInfo> = std::iter::once(value.ty).chain(others.iter().map(|(_, other)| other.ty)).collect();
    let id = comparing_collation(&types, operation)?;
    let charset = collation(id).charset;
    convert_exactly(value, charset, &types, operation);
    for (how, other) in others {
        *how = match (value.ty.kind, other.ty.kind) {
            (Kind::Parameter, _) | (_, Kind::Parameter) => Comparison::ByValue(id),
            _ => Comparison::String(id),
        };
        convert_exactly(other, charset, &types, operation);
    }
    Ok(())
}

/// Whether the value is the same for all rows: a constant, or a user variable.
fn is_fixed(expr: &Expr) -> bool {
    let mut fixed = true;
    expr.walk(&mut |expr| match &expr.node {
        Node::UserVariable(_) | Node::SystemVariable { .. } => {}
        Node::Call { function, .. } => fixed &= function.deterministic,
        Node::Column(_)
        | Node::EnumName { .. }
        | Node::SetNames { .. }
        | Node::Aggregate(_)
        | Node::Window(_)
        | Node::Grouping(_)
        | Node::Stored { .. }
        | Node::Sequence(_)
        | Node::AssignVariable(..)
        | Node::ScalarQuery { .. }
        | Node::Exists { .. }
        | Node::InQuery { .. }
        | Node::Quantified { .. } => fixed = false,
        _ => {}
    });
    fixed
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
