//! Names, types and collations: from the parser's tree to a bound expression.
//!
//! The binder walks the tree once, bottom up. At each node it
//!
//! * asks the [`Scope`] what a name or a subquery is,
//! * converts operands as MySQL does silently: an ENUM is a number in arithmetic, a
//!   string is brought into the character set of the collation that a comparison
//!   agrees on, a literal compared with a date becomes a date,
//! * computes the static type of the result ([`typing`]).
//!
//! What is not supported is refused here, with 1235 and its name.

use std::sync::Arc;

use format::collation::{Charset, Collation, CollationId, collation};
use format::value::{
    Decimal, Value, datetime_from_decimal, datetime_from_number, parse_date, parse_datetime, parse_time,
    time_from_decimal, time_from_number,
};

use super::compare::{Comparison, aggregate_collations, comparison_of};
use super::datum::quoted;
use super::functions::{self, Typing, agree, as_number, convert_charset};
use super::pattern::{self, Regex};
use super::temporal::{Zeros, is_bad_date};
use super::{AggregateCall, Expr, Node, SessionState, typing};
use crate::error::{Error, Result};
use crate::parser::ast::{self, AggregateFunction, BinaryOp, CastType, ColumnName, Literal, Query, UnaryOp};
use crate::types::{Coercibility, Kind, SqlMode, TypeInfo};

/// A planned subquery: its number, by which [`Subqueries`](super::Subqueries) knows it, and its columns.
#[derive(Debug, Clone)]
pub struct Subquery {
    pub id: usize,
    pub columns: Vec<TypeInfo>,
}

/// What names mean where an expression stands.
pub trait Scope {
    /// Usually [`Expr::column`]; a select item's expression for an alias in HAVING. Errors: 1054, 1052.
    fn column(&self, name: &ColumnName) -> Result<Expr>;

    /// Plans a subquery.
    fn subquery(&self, _query: &Query) -> Result<Subquery> {
        Err(Error::unsupported("subquery"))
    }

    /// DEFAULT(column): its default as an expression.
    fn default_of(&self, name: &ColumnName) -> Result<Expr> {
        Err(Error::unknown_column(&name.name, "field list"))
    }

    /// VALUES(column) in ON DUPLICATE KEY UPDATE: the slot of the new row.
    fn values_of(&self, name: &ColumnName) -> Result<Expr> {
        Err(Error::unknown_column(&name.name, "field list"))
    }
}

/// No names at all: SET, DO, DEFAULT (expr).
pub struct NoScope;

impl Scope for NoScope {
    fn column(&self, name: &ColumnName) -> Result<Expr> {
        Err(Error::unknown_column(&name.name, "field list"))
    }
}

/// Turns the parser's expressions into bound ones.
pub struct Binder<'a> {
    pub scope: &'a dyn Scope,
    pub session: &'a dyn SessionState,
    pub mode: SqlMode,
    /// `collation_connection`: that of literals and of numbers as text.
    pub connection: CollationId,
    pub div_precision_increment: u8,
    pub group_concat_bytes_max: u64,
    /// The types of the `?`, as far as known; see [`parameter_type`](super::parameter_type). A missing one is unknown.
    pub parameters: &'a [TypeInfo],
    /// Where aggregates are allowed: those found so far. None: they are 1111.
    pub aggregates: Option<Vec<AggregateCall>>,
    /// The aggregates as they were written, so that the same one is computed once.
    written: Vec<ast::Aggregate>,
}

impl<'a> Binder<'a> {
    pub fn new(
        scope: &'a dyn Scope,
        session: &'a dyn SessionState,
        mode: SqlMode,
        connection: CollationId,
        parameters: &'a [TypeInfo],
    ) -> Binder<'a> {
        Binder {
            scope,
            session,
            mode,
            connection,
            div_precision_increment: 4,
            group_concat_bytes_max: 1024,
            parameters,
            aggregates: None,
            written: Vec::new(),
        }
    }

    /// The same binder with other names in sight: the aggregates found stay.
    pub fn with_scope<'b>(self, scope: &'b dyn Scope) -> Binder<'b>
    where
        'a: 'b,
    {
        Binder {
            scope,
            session: self.session,
            mode: self.mode,
            connection: self.connection,
            div_precision_increment: self.div_precision_increment,
            group_concat_bytes_max: self.group_concat_bytes_max,
            parameters: self.parameters,
            aggregates: self.aggregates,
            written: self.written,
        }
    }

    /// Binds an expression with one column.
    pub fn bind(&mut self, expr: &ast::Expr) -> Result<Expr> {
        match expr {
            ast::Expr::Literal(literal) => self.literal(literal),
            ast::Expr::Column(name) => self.scope.column(name),
            ast::Expr::Parameter(index) => {
                let ty = self.parameters.get(*index).copied().unwrap_or(TypeInfo::parameter(self.connection));
                Ok(Expr { node: Node::Parameter(*index), ty })
            }
            ast::Expr::UserVariable(name) => {
                let ty = self.session.user_variable(name).map_or(TypeInfo::NULL, |(_, ty)| ty);
                let ty = TypeInfo { coercibility: ty.coercibility.max(Coercibility::Implicit), nullable: true, ..ty };
                Ok(Expr { node: Node::UserVariable(name.as_str().into()), ty })
            }
            ast::Expr::Assign(name, value) => {
                let value = self.bind(value)?;
                let ty = value.ty;
                Ok(Expr { node: Node::AssignVariable(name.as_str().into(), Box::new(value)), ty })
            }
            ast::Expr::SystemVariable { scope, name } => {
                let value = self.session.system_variable(*scope, name)?;
                let mut ty = typing::parameter_type(&value, CollationId::UTF8MB3_GENERAL_CI).nullable(true);
                if let Value::Bytes(text) = &value {
                    ty.coercibility = Coercibility::SystemConstant;
                    ty.length = (text.len() as u32).max(64);
                }
                Ok(Expr { node: Node::SystemVariable { scope: *scope, name: name.as_str().into() }, ty })
            }
            ast::Expr::Unary { op, expr } => self.unary(*op, expr),
            ast::Expr::Binary { op, left, right } => self.binary(*op, left, right),
            ast::Expr::IsNull { expr, negated } => {
                let expr = Box::new(self.bind(expr)?);
                Ok(condition(Node::IsNull { expr, negated: *negated }, false))
            }
            ast::Expr::IsTruth { expr, truth, negated } => {
                let expr = Box::new(self.bind_number(expr)?);
                Ok(match truth {
                    Some(truth) => condition(Node::IsTruth { expr, truth: *truth, negated: *negated }, false),
                    None => condition(Node::IsNull { expr, negated: *negated }, false),
                })
            }
            ast::Expr::Between { expr, low, high, negated } => self.between(expr, low, high, *negated),
            ast::Expr::InList { expr, list, negated } => self.in_list(expr, list, *negated),
            ast::Expr::InQuery { expr, query, negated } => self.in_query(expr, query, *negated),
            ast::Expr::Like { expr, pattern, escape, negated } => {
                let mut operands = [self.bind(expr)?, self.bind(pattern)?];
                let escape = match escape {
                    Some(escape) => Some(Box::new(self.bind(escape)?)),
                    None if self.mode.has(SqlMode::NO_BACKSLASH_ESCAPES) => {
                        Some(Box::new(self.literal(&Literal::String { bytes: Vec::new(), charset: None })?))
                    }
                    None => None,
                };
                let id = agree(&mut operands, self.connection, "like")?.0;
                let nullable = operands.iter().any(|operand| operand.ty.nullable);
                let [expr, pattern] = operands.map(Box::new);
                Ok(condition(Node::Like { expr, pattern, escape, collation: id, negated: *negated }, nullable))
            }
            ast::Expr::Regexp { expr, pattern, negated } => {
                let mut operands = [self.bind(expr)?, self.bind(pattern)?];
                let id = agree(&mut operands, self.connection, "regexp")?.0;
                let compiled = match constant_text(&operands[1]) {
                    Some(text) => Some(Arc::new(pattern::compile(text, id)?)),
                    None => None,
                };
                let regex = Regex { compiled, collation: Some(id) };
                let nullable = operands.iter().any(|operand| operand.ty.nullable);
                let [expr, pattern] = operands.map(Box::new);
                Ok(condition(Node::Regexp { expr, pattern, regex, negated: *negated }, nullable))
            }
            ast::Expr::Case { operand, whens, otherwise } => self.case(operand.as_deref(), whens, otherwise.as_deref()),
            ast::Expr::Function { name, args } => {
                let args = args.iter().map(|arg| self.bind(arg)).collect::<Result<Vec<_>>>()?;
                self.call(name, args)
            }
            ast::Expr::StoredFunction { database, name, .. } => {
                Err(Error::unknown_function(&format!("{database}.{name}")))
            }
            ast::Expr::Aggregate(aggregate) => self.aggregate(aggregate),
            ast::Expr::Cast { expr, to } => self.cast(expr, to),
            ast::Expr::ConvertUsing { expr, charset } => {
                let expr = self.bind(expr)?;
                let charset = charset_by_name(charset)?;
                let mut ty = TypeInfo::string(expr.ty.length, charset.default_collation(), Coercibility::Implicit);
                ty.nullable = expr.ty.nullable;
                Ok(Expr { node: Node::ToCharset { expr: Box::new(expr), to: charset }, ty })
            }
            ast::Expr::Collate { expr, collation } => self.collate(expr, collation),
            ast::Expr::Binarily(expr) => {
                let expr = self.bind(expr)?;
                let bytes = expr.ty.length.saturating_mul(expr.ty.charset().bytes_max() as u32);
                let ty = TypeInfo::binary_string(bytes).nullable(expr.ty.nullable);
                Ok(Expr { node: Node::Retyped(Box::new(expr)), ty })
            }
            ast::Expr::Trim { side, remove, expr } => {
                let mut operands = vec![self.bind(expr)?];
                if let Some(remove) = remove {
                    operands.push(self.bind(remove)?);
                }
                let (id, coercibility) = agree(&mut operands, self.connection, "trim")?;
                let mut ty = TypeInfo::string(operands[0].ty.length, id, coercibility);
                ty.nullable = operands.iter().any(|operand| operand.ty.nullable);
                let remove = if operands.len() == 2 { operands.pop().map(Box::new) } else { None };
                let expr = Box::new(operands.remove(0));
                Ok(Expr { node: Node::Trim { side: *side, remove, expr }, ty })
            }
            ast::Expr::Extract { unit, expr } => {
                let expr = Box::new(self.bind(expr)?);
                Ok(Expr { node: Node::Extract { unit: *unit, expr }, ty: TypeInfo::bigint(21) })
            }
            ast::Expr::DateAdd { expr, interval, unit, subtract } => self.date_add(expr, interval, *unit, *subtract),
            ast::Expr::TimestampAdd { unit, interval, expr } => self.date_add(expr, interval, *unit, false),
            ast::Expr::TimestampDiff { unit, from, to } => {
                let (from, to) = (Box::new(self.bind(from)?), Box::new(self.bind(to)?));
                Ok(Expr { node: Node::TimestampDiff { unit: *unit, from, to }, ty: TypeInfo::bigint(21) })
            }
            ast::Expr::Char { args, charset } => {
                let args = args.iter().map(|arg| self.bind_number(arg)).collect::<Result<Vec<_>>>()?;
                let id = match charset {
                    Some(charset) => charset_by_name(charset)?.default_collation(),
                    None => CollationId::BINARY,
                };
                let ty = TypeInfo::string(args.len() as u32 * 4, id, Coercibility::Literal);
                Ok(Expr { node: Node::Call { function: functions::find("char")?, args }, ty })
            }
            ast::Expr::Row(_) => Err(Error::operand_columns(1)),
            ast::Expr::Subquery(query) => {
                let subquery = self.scope.subquery(query)?;
                match subquery.columns.as_slice() {
                    [ty] => Ok(Expr { node: Node::ScalarQuery(subquery.id), ty: ty.nullable(true) }),
                    _ => Err(Error::operand_columns(1)),
                }
            }
            ast::Expr::Exists(query) => {
                let subquery = self.scope.subquery(query)?;
                Ok(condition(Node::Exists { query: subquery.id }, false))
            }
            ast::Expr::Quantified { expr, op, all, query } => {
                if matches!(**expr, ast::Expr::Row(_)) {
                    return Err(Error::unsupported("row comparison with ALL or ANY"));
                }
                let mut expr = self.bind(expr)?;
                let subquery = self.scope.subquery(query)?;
                let [column] = subquery.columns.as_slice() else { return Err(Error::operand_columns(1)) };
                let how = comparison_of(&expr.ty, column, operator_name(*op))?;
                if let Comparison::String(id) = how {
                    convert_charset(&mut expr, collation(id).charset);
                }
                let node = Node::Quantified { expr: Box::new(expr), op: *op, all: *all, query: subquery.id, how };
                Ok(condition(node, true))
            }
            ast::Expr::DefaultOf(name) => self.scope.default_of(name),
            ast::Expr::Default => Err(Error::syntax("DEFAULT", 1)),
            ast::Expr::ValuesOf(name) => self.scope.values_of(name),
            ast::Expr::Unsupported(what) => Err(Error::unsupported(what)),
        }
    }

    /// Binds an operand of arithmetic or of a condition: an ENUM is its number, x'41' is 65.
    pub fn bind_number(&mut self, expr: &ast::Expr) -> Result<Expr> {
        let mut bound = self.bind(expr)?;
        as_number(&mut bound);
        Ok(bound)
    }

    // ----------------------------------------------------------- literals

    fn literal(&self, literal: &Literal) -> Result<Expr> {
        Ok(match literal {
            Literal::Null => Expr::null(),
            Literal::Bool(truth) => Expr::constant(Value::Int(*truth as i64), TypeInfo::bigint(1).not_null()),
            Literal::Integer(value) => integer(*value),
            Literal::Decimal(digits) => decimal(digits)?,
            Literal::Float(value) if value.is_finite() => {
                Expr::constant(Value::Double(*value), TypeInfo::double().not_null())
            }
            Literal::Float(value) => {
                return Err(Error::new(1367, b"22007", format!("Illegal double '{value}' value found during parsing")));
            }
            Literal::String { bytes, charset } => {
                let id = match charset {
                    Some(name) => charset_by_name(name)?.default_collation(),
                    None => self.connection,
                };
                let set = collation(id).charset;
                if charset.is_some() {
                    check_introduced(set, bytes)?;
                }
                let ty = TypeInfo::string(set.char_count(bytes) as u32, id, Coercibility::Literal).not_null();
                Expr::constant(Value::Bytes(bytes.clone()), ty)
            }
            Literal::Hex { bytes, charset } | Literal::Bit { bytes, charset } => {
                let id = match charset {
                    Some(name) => charset_by_name(name)?.default_collation(),
                    None => CollationId::BINARY,
                };
                check_introduced(collation(id).charset, bytes)?;
                let ty = TypeInfo::string(bytes.len() as u32, id, Coercibility::Literal).not_null();
                Expr::constant(Value::Bytes(bytes.clone()), ty)
            }
            Literal::Date(text) => {
                let parsed = parse_date(text);
                let bad = is_bad_date(&parsed.flags, Zeros::Allowed, self.mode) || parsed.flags.truncated;
                if bad {
                    return Err(Error::wrong_date_type("DATE", &quoted(text)));
                }
                Expr::constant(Value::Date(parsed.value), TypeInfo::date().not_null())
            }
            Literal::Time(text) => {
                let parsed = parse_time(text);
                if parsed.flags.invalid || parsed.flags.truncated || parsed.flags.out_of_range {
                    return Err(Error::wrong_date_type("TIME", &quoted(text)));
                }
                let fsp = parsed.flags.fraction_digits.min(6);
                Expr::constant(Value::Time(parsed.value), TypeInfo::time(fsp).not_null())
            }
            Literal::Timestamp(text) => {
                let parsed = parse_datetime(text);
                let bad = is_bad_date(&parsed.flags, Zeros::Allowed, self.mode) || parsed.flags.truncated;
                if bad {
                    return Err(Error::wrong_date_type("DATETIME", &quoted(text)));
                }
                let fsp = parsed.flags.fraction_digits.min(6);
                Expr::constant(Value::DateTime(parsed.value), TypeInfo::datetime(fsp).not_null())
            }
        })
    }

    // ---------------------------------------------------------- operators

    fn unary(&mut self, op: UnaryOp, operand: &ast::Expr) -> Result<Expr> {
        match op {
            UnaryOp::Plus => self.bind(operand),
            UnaryOp::Not => {
                let expr = self.bind_number(operand)?;
                let nullable = expr.ty.nullable;
                Ok(condition(Node::Not(Box::new(expr)), nullable))
            }
            UnaryOp::BitNot => {
                let expr = self.bind_number(operand)?;
                let ty = TypeInfo::bigint_unsigned(21).nullable(expr.ty.nullable);
                Ok(Expr { node: Node::BitNot(Box::new(expr)), ty })
            }
            UnaryOp::Minus => {
                if let ast::Expr::Literal(literal) = operand
                    && let Some(negative) = self.negative_literal(literal)?
                {
                    return Ok(negative);
                }
                let mut expr = self.bind_number(operand)?;
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

    fn binary(&mut self, op: BinaryOp, left: &ast::Expr, right: &ast::Expr) -> Result<Expr> {
        match op {
            BinaryOp::And | BinaryOp::Or | BinaryOp::Xor => {
                let (left, right) = (Box::new(self.bind_number(left)?), Box::new(self.bind_number(right)?));
                let nullable = left.ty.nullable || right.ty.nullable;
                let node = match op {
                    BinaryOp::And => Node::And(left, right),
                    BinaryOp::Or => Node::Or(left, right),
                    _ => Node::Xor(left, right),
                };
                Ok(condition(node, nullable))
            }
            BinaryOp::Equal
            | BinaryOp::NullSafeEqual
            | BinaryOp::NotEqual
            | BinaryOp::Less
            | BinaryOp::LessEqual
            | BinaryOp::Greater
            | BinaryOp::GreaterEqual => self.compare(op, left, right),
            BinaryOp::BitOr | BinaryOp::BitAnd | BinaryOp::BitXor | BinaryOp::ShiftLeft | BinaryOp::ShiftRight => {
                let (left, right) = (Box::new(self.bind_number(left)?), Box::new(self.bind_number(right)?));
                let ty = TypeInfo::bigint_unsigned(21).nullable(left.ty.nullable || right.ty.nullable);
                Ok(Expr { node: Node::Bits { op, left, right }, ty })
            }
            BinaryOp::Add
            | BinaryOp::Subtract
            | BinaryOp::Multiply
            | BinaryOp::Divide
            | BinaryOp::IntegerDivide
            | BinaryOp::Modulo => {
                let (left, right) = (Box::new(self.bind_number(left)?), Box::new(self.bind_number(right)?));
                let ty = typing::arithmetic(op, &left.ty, &right.ty, self.mode, self.div_precision_increment);
                Ok(Expr { node: Node::Arithmetic { op, left, right }, ty })
            }
            BinaryOp::Concat => {
                let args = vec![self.bind(left)?, self.bind(right)?];
                self.call("concat", args)
            }
            BinaryOp::SoundsLike => {
                let (left, right) = (self.bind(left)?, self.bind(right)?);
                let (left, right) = (self.call("soundex", vec![left])?, self.call("soundex", vec![right])?);
                self.compare_bound(BinaryOp::Equal, left, right)
            }
            BinaryOp::JsonExtract | BinaryOp::JsonUnquote => Err(Error::unsupported("JSON_EXTRACT")),
        }
    }

    fn compare(&mut self, op: BinaryOp, left: &ast::Expr, right: &ast::Expr) -> Result<Expr> {
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

    fn compare_bound(&mut self, op: BinaryOp, mut left: Expr, mut right: Expr) -> Result<Expr> {
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

    fn between(&mut self, expr: &ast::Expr, low: &ast::Expr, high: &ast::Expr, negated: bool) -> Result<Expr> {
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

    fn in_list(&mut self, expr: &ast::Expr, list: &[ast::Expr], negated: bool) -> Result<Expr> {
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

    fn in_query(&mut self, expr: &ast::Expr, query: &Query, negated: bool) -> Result<Expr> {
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

    fn case(
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

    // ---------------------------------------------------------- functions

    /// A function by its name in lower case, with bound arguments.
    fn call(&self, name: &str, mut args: Vec<Expr>) -> Result<Expr> {
        let function = functions::find(name)?;
        if args.len() < function.args_min || args.len() > function.args_max {
            return Err(Error::wrong_argument_count(name));
        }
        let mut typing = Typing {
            name: function.name,
            args: &mut args,
            connection: self.connection,
            div_precision_increment: self.div_precision_increment,
        };
        let ty = (function.typing)(&mut typing)?;
        Ok(Expr { node: Node::Call { function, args }, ty })
    }

    fn cast(&mut self, expr: &ast::Expr, to: &CastType) -> Result<Expr> {
        let is_number = matches!(
            to,
            CastType::Signed | CastType::Unsigned | CastType::Decimal { .. } | CastType::Double | CastType::Float
        );
        let expr = if is_number { self.bind_number(expr)? } else { self.bind(expr)? };
        let id = match to {
            CastType::Char { charset: Some(name), .. } => charset_by_name(name)?.default_collation(),
            CastType::Json => return Err(Error::unsupported("CAST ... AS JSON")),
            _ => self.connection,
        };
        let ty = typing::cast(to, &expr.ty, id);
        Ok(Expr { node: Node::Cast { expr: Box::new(expr), to: to.clone() }, ty })
    }

    fn collate(&mut self, expr: &ast::Expr, name: &str) -> Result<Expr> {
        let mut expr = self.bind(expr)?;
        let collation = Collation::by_name(name).ok_or_else(|| Error::unknown_collation(name))?;
        let charset =
            if expr.ty.is_string() { expr.ty.charset() } else { format::collation::collation(self.connection).charset };
        if collation.charset != charset {
            // utf8mb3 text is utf8mb4 text; MySQL refuses, since the names do not match.
            return Err(Error::collation_charset_mismatch(collation.name, charset.name()));
        }
        let ty = TypeInfo {
            collation: collation.id,
            coercibility: Coercibility::Explicit,
            nullable: expr.ty.nullable,
            ..if expr.ty.is_string() {
                expr.ty
            } else {
                TypeInfo::string(expr.ty.length, collation.id, Coercibility::Explicit)
            }
        };
        if expr.ty.is_string() && expr.as_column().is_none() {
            expr.ty = ty;
            return Ok(expr);
        }
        Ok(Expr { node: Node::Retyped(Box::new(expr)), ty })
    }

    fn date_add(
        &mut self,
        expr: &ast::Expr,
        interval: &ast::Expr,
        unit: ast::IntervalUnit,
        subtract: bool,
    ) -> Result<Expr> {
        let (expr, interval) = (Box::new(self.bind(expr)?), Box::new(self.bind(interval)?));
        let ty = typing::date_add(&expr.ty, &interval.ty, unit, self.connection);
        Ok(Expr { node: Node::DateAdd { expr, interval, unit, subtract }, ty })
    }

    fn aggregate(&mut self, aggregate: &ast::Aggregate) -> Result<Expr> {
        if aggregate.window {
            return Err(Error::unsupported("window functions"));
        }
        if matches!(aggregate.function, AggregateFunction::JsonArrayAgg | AggregateFunction::JsonObjectAgg) {
            return Err(Error::unsupported("JSON_ARRAYAGG"));
        }
        // Taken away while the arguments are bound, so that an aggregate inside of them is refused.
        let Some(mut calls) = self.aggregates.take() else { return Err(Error::invalid_group_function()) };
        let call = self.aggregate_call(aggregate);
        let call = match call {
            Ok(call) => call,
            Err(error) => {
                self.aggregates = Some(calls);
                return Err(error);
            }
        };
        let ty = call.ty;
        let index = match self.written.iter().position(|written| written == aggregate) {
            Some(index) if index < calls.len() => index,
            _ => {
                self.written.truncate(calls.len());
                self.written.push(aggregate.clone());
                calls.push(call);
                calls.len() - 1
            }
        };
        self.aggregates = Some(calls);
        Ok(Expr { node: Node::Aggregate(index), ty })
    }

    fn aggregate_call(&mut self, aggregate: &ast::Aggregate) -> Result<AggregateCall> {
        let is_number = matches!(
            aggregate.function,
            AggregateFunction::Sum
                | AggregateFunction::Avg
                | AggregateFunction::BitAnd
                | AggregateFunction::BitOr
                | AggregateFunction::BitXor
                | AggregateFunction::StddevPop
                | AggregateFunction::StddevSamp
                | AggregateFunction::VarPop
                | AggregateFunction::VarSamp
        );
        let mut args = Vec::with_capacity(aggregate.args.len());
        for arg in &aggregate.args {
            args.push(if is_number { self.bind_number(arg)? } else { self.bind(arg)? });
        }
        let mut order_by = Vec::new();
        for item in &aggregate.order_by {
            // A number is the position of an argument.
            let expr = match &item.expr {
                ast::Expr::Literal(Literal::Integer(position)) => usize::try_from(*position)
                    .ok()
                    .and_then(|position| args.get(position.checked_sub(1)?))
                    .cloned()
                    .ok_or_else(|| Error::unknown_column(&position.to_string(), "order clause"))?,
                expr => self.bind(expr)?,
            };
            order_by.push((expr, item.descending));
        }
        let mut separator = aggregate.separator.clone().unwrap_or_else(|| b",".to_vec());
        let ty = if aggregate.function == AggregateFunction::GroupConcat {
            let (id, coercibility) = agree(&mut args, self.connection, "group_concat")?;
            let charset = collation(id).charset;
            let mut converted = Vec::new();
            format::collation::convert(&separator, collation(self.connection).charset, charset, &mut converted);
            separator = converted;
            let length = (self.group_concat_bytes_max / charset.bytes_max() as u64).min(u32::MAX as u64) as u32;
            TypeInfo { kind: Kind::Text, ..TypeInfo::string(length, id, coercibility) }
        } else {
            typing::aggregate(aggregate.function, args.first().map(|arg| &arg.ty), self.div_precision_increment)
        };
        Ok(AggregateCall { function: aggregate.function, distinct: aggregate.distinct, args, order_by, separator, ty })
    }
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

fn condition(node: Node, nullable: bool) -> Expr {
    Expr { node, ty: TypeInfo::boolean().nullable(nullable) }
}

fn comparison(op: BinaryOp, how: Comparison, left: Expr, right: Expr) -> Expr {
    let nullable = (left.ty.nullable || right.ty.nullable || may_be_null(how)) && op != BinaryOp::NullSafeEqual;
    condition(Node::Compare { op, how, left: Box::new(left), right: Box::new(right) }, nullable)
}

/// What has no static type may turn out to be NULL.
fn may_be_null(how: Comparison) -> bool {
    matches!(how, Comparison::ByValue(_))
}

fn between(operands: [Expr; 3], hows: [Comparison; 2], negated: bool) -> Expr {
    let nullable = operands.iter().any(|operand| operand.ty.nullable) || hows.iter().any(|how| may_be_null(*how));
    let [expr, low, high] = operands.map(Box::new);
    condition(Node::Between { expr, low, high, hows, negated }, nullable)
}

fn is_hex(expr: &ast::Expr) -> bool {
    matches!(expr, ast::Expr::Literal(Literal::Hex { charset: None, .. } | Literal::Bit { charset: None, .. }))
}

fn integer(value: u64) -> Expr {
    let length = value.checked_ilog10().unwrap_or(0) + 1;
    match i64::try_from(value) {
        Ok(value) => Expr::constant(Value::Int(value), TypeInfo::bigint(length).not_null()),
        Err(_) => Expr::constant(Value::UInt(value), TypeInfo::bigint_unsigned(length).not_null()),
    }
}

fn decimal(digits: &str) -> Result<Expr> {
    let value = match Decimal::parse(digits.as_bytes()) {
        Ok(value) if value.precision() <= 65 => value,
        // MySQL clips a literal of more digits to the largest.
        _ => Decimal::max(65, 0),
    };
    let scale = value.scale().min(30);
    let value = if value.scale() > 30 { value.round(30).unwrap_or(value) } else { value };
    let ty = TypeInfo::decimal((value.integer_digits().max(1) + scale).min(65), scale, false).not_null();
    Ok(Expr::constant(Value::Decimal(value), ty))
}

fn constant_text(expr: &Expr) -> Option<&[u8]> {
    match &expr.node {
        Node::Constant(Value::Bytes(text)) => Some(text),
        _ => None,
    }
}

fn charset_by_name(name: &str) -> Result<Charset> {
    Charset::by_name(name).ok_or_else(|| Error::unknown_charset(name))
}

/// An operator as error 1267 names it.
fn operator_name(op: BinaryOp) -> &'static str {
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
