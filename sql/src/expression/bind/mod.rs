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

mod aggregate;
mod comparison;
mod literal;
mod text;

use std::borrow::Cow;
use std::sync::Arc;

use format::collation::{Charset, Collation, CollationId, collation};
use format::value::Value;

use storage::Table;

use super::arrays;
use super::bit_strings;
use super::fulltext::Search;
use super::functions::{self, Typing, as_number, convert_charset};
use super::temporal;
use super::{Expr, Node, Sequence, SessionState, StoredFunctions, typing};
use crate::error::{Error, Result};
use crate::parser::ast::{self, BinaryOp, CastType, ColumnName, Literal, Query};
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

    /// Has a column of a planned subquery converted to another character set, row by row.
    fn convert_subquery(&self, _id: usize, _column: usize, _charset: Charset) -> Result<()> {
        Err(Error::unsupported("IN with a subquery in another character set"))
    }

    /// Has an ENUM or SET column of a planned subquery give its numbers, and says their type. None if it is another one.
    fn number_subquery(&self, _id: usize, _column: usize) -> Option<TypeInfo> {
        None
    }

    /// The number of an ENUM or SET column of a query around this one, which is this parameter. None if it is another one.
    fn outer_number(&self, _parameter: usize) -> Option<Expr> {
        None
    }

    /// DEFAULT(column): its default as an expression.
    fn default_of(&self, name: &ColumnName) -> Result<Expr> {
        Err(Error::unknown_column(&name.name, "field list"))
    }

    /// VALUES(column) in ON DUPLICATE KEY UPDATE: the slot of the new row.
    fn values_of(&self, name: &ColumnName) -> Result<Expr> {
        Err(Error::unknown_column(&name.name, "field list"))
    }

    /// A column that a subquery of this scope reads.
    fn outer_column(&self, name: &ColumnName) -> Result<Expr> {
        self.column(name)
    }

    /// An aggregate. A query computes those over its own columns; one whose arguments are columns of an outer query
    /// alone is computed there, and is an outer value here.
    fn aggregate(&self, _written: &ast::Aggregate) -> Result<Expr> {
        Err(Error::invalid_group_function())
    }

    /// A window function: computed over the rows of the query where it is written.
    fn window(&self, written: &ast::WindowCall) -> Result<Expr> {
        Err(Error::misplaced_window_function(written.function.name()))
    }

    /// GROUPING(): which of its arguments a row of WITH ROLLUP sums up.
    fn grouping(&self, _args: &[ast::Expr]) -> Result<Expr> {
        Err(Error::invalid_group_function())
    }

    /// Whether CAST ... AS ... ARRAY may stand here: in the definition of a table.
    fn takes_arrays(&self) -> bool {
        false
    }

    /// The full-text index over the columns of a MATCH, and the columns in its order.
    fn fulltext(&self, _columns: &[Expr]) -> Result<(Arc<Table>, usize, Vec<Expr>)> {
        Err(Error::wrong_arguments("MATCH"))
    }

    /// Whether aggregates may stand in this scope, in the clause of the outer query that this one is part of, and so
    /// on.
    fn aggregating_levels(&self) -> Vec<bool> {
        Vec::new()
    }

    /// How many outer values and subqueries the scope's query has bound so far, the query around it, and so on.
    fn marks(&self) -> Vec<(usize, usize)> {
        Vec::new()
    }

    /// Drops what has been bound since, in all of these queries.
    fn return_to(&self, _marks: &[(usize, usize)]) {}

    /// Computes an aggregate in the query that stands `depth` levels further out.
    fn aggregate_at(&self, _depth: usize, _written: &ast::Aggregate) -> Result<Expr> {
        Err(Error::invalid_group_function())
    }

    /// How many levels further out the innermost column stands that an expression of this scope reads.
    fn depth_of(&self, _expr: &Expr) -> Option<usize> {
        None
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
    /// `default_collation_for_utf8mb4`
    pub utf8mb4: CollationId,
    /// The character set of a literal's bytes.
    pub client: Charset,
    pub div_precision_increment: u8,
    pub group_concat_bytes_max: u64,
    pub max_allowed_packet_bytes: u64,
    /// The types of the `?`, as far as known; see [`parameter_type`](super::parameter_type). A missing one is unknown.
    pub parameters: &'a [TypeInfo],
    /// The stored functions that may be called.
    pub functions: Option<&'a dyn StoredFunctions>,
    /// What is bound is part of a table's definition: its sequences are looked up when they are asked.
    pub of_definition: bool,
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
            utf8mb4: CollationId::DEFAULT,
            client: Charset::Utf8mb4,
            div_precision_increment: 4,
            group_concat_bytes_max: 1024,
            max_allowed_packet_bytes: 64 << 20,
            parameters,
            functions: None,
            of_definition: false,
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
                // The next value of an integer variable may be any BIGINT, whatever the present one looks like.
                let ty = match ty.is_integer() {
                    true if ty.unsigned => TypeInfo::bigint_unsigned(20),
                    true => TypeInfo::bigint(20),
                    false if ty.is_string() || ty.kind == Kind::Null => {
                        TypeInfo { coercibility: Coercibility::Implicit, nullable: true, ..ty }
                    }
                    false => ty.nullable(true),
                };
                Ok(Expr { node: Node::UserVariable(name.as_str().into()), ty })
            }
            ast::Expr::Assign(name, value) => {
                let value = self.bind(value)?;
                let ty = value.ty.stored();
                Ok(Expr { node: Node::AssignVariable(name.as_str().into(), Box::new(value)), ty })
            }
            ast::Expr::SystemVariable { scope, name } => {
                let value = self.session.system_variable(*scope, name)?;
                let mut ty = typing::parameter_type(&value, CollationId::UTF8MB3_GENERAL_CI).nullable(true);
                if matches!(value, Value::Double(_)) {
                    ty = TypeInfo::double_fixed(6).nullable(true);
                }
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
            ast::Expr::Like { expr, pattern, escape, negated } => self.like(expr, pattern, escape.as_deref(), *negated),
            ast::Expr::Regexp { expr, pattern, negated } => self.regexp(expr, pattern, *negated),
            ast::Expr::Case { operand, whens, otherwise } => self.case(operand.as_deref(), whens, otherwise.as_deref()),
            ast::Expr::Function { name, args } => self.function(name, args),
            ast::Expr::StoredFunction { database, name, args } => self.function_of(database, name, args),
            ast::Expr::Aggregate(aggregate) => self.scope.aggregate(aggregate),
            ast::Expr::Window(call) => self.scope.window(call),
            ast::Expr::Grouping(args) => self.scope.grouping(args),
            ast::Expr::CastArray { expr, to } => self.cast_array(expr, to),
            ast::Expr::Match(written) => self.match_against(written),
            ast::Expr::Sequence(call) => self.sequence(call),
            ast::Expr::Cast { expr, to } => self.cast(expr, to),
            ast::Expr::ConvertUsing { expr, charset } => self.convert_using(expr, charset),
            ast::Expr::Collate { expr, collation } => self.collate(expr, collation),
            ast::Expr::Binarily(expr) => {
                let expr = self.bind(expr)?;
                let bytes = expr.ty.length.saturating_mul(expr.ty.charset().bytes_max() as u32);
                let ty = TypeInfo::binary_string(bytes).nullable(expr.ty.nullable);
                Ok(Expr { node: Node::Retyped(Box::new(expr)), ty })
            }
            ast::Expr::Trim { side, remove, expr } => self.trim(*side, remove.as_deref(), expr),
            ast::Expr::Extract { unit, expr } => {
                let expr = Box::new(self.bind_utf8(expr)?);
                Ok(Expr { node: Node::Extract { unit: *unit, expr }, ty: TypeInfo::bigint(21) })
            }
            ast::Expr::DateAdd { expr, interval, unit, subtract } => self.date_add(expr, interval, *unit, *subtract),
            ast::Expr::TimestampAdd { unit, interval, expr } => self.date_add(expr, interval, *unit, false),
            ast::Expr::TimestampDiff { unit, from, to } => {
                let (from, to) = (Box::new(self.bind_utf8(from)?), Box::new(self.bind_utf8(to)?));
                Ok(Expr { node: Node::TimestampDiff { unit: *unit, from, to }, ty: TypeInfo::bigint(21) })
            }
            ast::Expr::Char { args, charset, keeps_null } => self.char(args, charset.as_deref(), *keeps_null),
            ast::Expr::Row(_) => Err(Error::operand_columns(1)),
            ast::Expr::Subquery(_) => match <[Expr; 1]>::try_from(self.row(expr)?) {
                Ok([value]) => Ok(value),
                Err(_) => Err(Error::operand_columns(1)),
            },
            ast::Expr::Exists(query) => {
                let subquery = self.scope.subquery(&of_something(query))?;
                Ok(condition(Node::Exists { query: subquery.id }, false))
            }
            ast::Expr::Quantified { expr, op, all, query } => self.quantified(expr, *op, *all, query),
            ast::Expr::JsonValue(value) => self.json_value(value),
            ast::Expr::DefaultOf(name) => self.scope.default_of(name),
            ast::Expr::Default => Err(Error::syntax("DEFAULT", 1)),
            ast::Expr::ValuesOf(name) => self.scope.values_of(name),
            ast::Expr::Unsupported(what) => Err(Error::unsupported(what)),
        }
    }

    // What has an operand of its own in a variable stands in a function of its own: `bind` is on the stack once for each
    // level of an expression (`the_deepest_expressions_are_evaluated_on_a_small_stack`).

    #[inline(never)]
    fn function(&mut self, name: &str, args: &[ast::Expr]) -> Result<Expr> {
        if !functions::is_known(name)
            && let Some(call) = self.stored_call(None, name, args)?
        {
            return Ok(call);
        }
        if let (Some(stored), Err(error)) = (self.functions, functions::find(name)) {
            return Err(if error.code == 1305 { stored.unknown_function(name) } else { error });
        }
        let mut args = args.iter().map(|arg| self.bind(arg)).collect::<Result<Vec<_>>>()?;
        // NULLIF finds equal what `=` finds equal, which looks at both operands. The first one is evaluated twice.
        if name == "nullif"
            && let [value, other] = args.as_mut_slice()
        {
            let other = std::mem::replace(other, Expr::null());
            args[1] = self.compare_bound(BinaryOp::Equal, value.clone(), other)?;
        }
        // It takes a moment, and a ? for a moment has all digits, whatever its value shows.
        if name == "unix_timestamp"
            && let [arg] = args.as_mut_slice()
            && matches!(arg.node, Node::Parameter(at) if at < self.parameters.len())
            && arg.ty.kind == Kind::DateTime
        {
            arg.ty = TypeInfo::datetime(6).nullable(arg.ty.nullable);
        }
        self.call(name, args)
    }

    /// A function whose database is written; without one, a name that is not the native function's.
    #[inline(never)]
    fn function_of(&mut self, database: &str, name: &str, args: &[ast::Expr]) -> Result<Expr> {
        let written = (!database.is_empty()).then_some(database);
        if let Some(call) = self.stored_call(written, name, args)? {
            return Ok(call);
        }
        if database.is_empty() {
            let unknown = self.functions.map(|functions| functions.unknown_function(name));
            return Err(Error::name_of_native_function(&unknown.unwrap_or_else(|| Error::unknown_function(name))));
        }
        if !database.eq_ignore_ascii_case("sys") {
            return Err(Error::unknown_function(&format!("{database}.{name}")));
        }
        let args = args.iter().map(|arg| self.bind(arg)).collect::<Result<Vec<_>>>()?;
        self.call(&format!("sys.{}", name.to_ascii_lowercase()), args)
    }

    #[inline(never)]
    fn quantified(&mut self, expr: &ast::Expr, op: BinaryOp, all: bool, query: &Query) -> Result<Expr> {
        // Rows, also of a subquery, are equal to one of those of a subquery, or to none; they have no other
        // comparison.
        match (op, all) {
            _ if !matches!(expr, ast::Expr::Row(_) | ast::Expr::Subquery(_)) => {}
            (BinaryOp::Equal, false) => return self.in_query(expr, query, false),
            (BinaryOp::NotEqual, true) => return self.in_query(expr, query, true),
            _ if matches!(expr, ast::Expr::Subquery(_)) => {}
            _ => return Err(Error::operand_columns(1)),
        }
        let mut expr = self.bind(expr)?;
        let mut subquery = self.scope.subquery(query)?;
        if subquery.columns.len() != 1 {
            return Err(Error::operand_columns(1));
        }
        let how = self.compare_with_subquery(&mut expr, &mut subquery, 0, op.symbol())?;
        let node = Node::Quantified { expr: Box::new(expr), op, all, query: subquery.id, how };
        Ok(condition(node, true))
    }

    /// Binds an operand of arithmetic or of a condition: an ENUM is its number, x'41' is 65.
    pub fn bind_number(&mut self, expr: &ast::Expr) -> Result<Expr> {
        let mut bound = self.bind(expr)?;
        as_number(&mut bound);
        Ok(bound)
    }

    /// Binds an operand of which a date or the like is read.
    fn bind_utf8(&mut self, expr: &ast::Expr) -> Result<Expr> {
        let mut bound = self.bind(expr)?;
        functions::in_utf8(&mut bound);
        Ok(bound)
    }

    // ---------------------------------------------------------- operators

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
                let (mut left, mut right) = (self.bind(left)?, self.bind(right)?);
                if left.ty.is_geometry() || right.ty.is_geometry() {
                    return Err(Error::wrong_arguments(op.symbol()));
                }
                let nullable = left.ty.nullable || right.ty.nullable;
                let ty = if bit_strings::is_operation(op, &left, &right) {
                    let is_shift = matches!(op, BinaryOp::ShiftLeft | BinaryOp::ShiftRight);
                    if is_shift {
                        as_number(&mut right);
                    }
                    TypeInfo::binary_string(if is_shift { left.ty.length } else { left.ty.length.max(right.ty.length) })
                } else {
                    as_number(&mut left);
                    as_number(&mut right);
                    TypeInfo::bigint_unsigned(21)
                };
                let (left, right) = (Box::new(left), Box::new(right));
                Ok(Expr { node: Node::Bits { op, left, right }, ty: ty.nullable(nullable) })
            }
            BinaryOp::Add
            | BinaryOp::Subtract
            | BinaryOp::Multiply
            | BinaryOp::Divide
            | BinaryOp::IntegerDivide
            | BinaryOp::Modulo => {
                let (left, right) = (Box::new(self.bind_number(left)?), Box::new(self.bind_number(right)?));
                if left.ty.is_geometry() || right.ty.is_geometry() {
                    return Err(Error::wrong_arguments(op.symbol()));
                }
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
            BinaryOp::JsonExtract | BinaryOp::JsonUnquote => {
                let args = vec![self.bind(left)?, self.bind(right)?];
                let part = self.call("json_extract", args)?;
                if op == BinaryOp::JsonUnquote { self.call("json_unquote", vec![part]) } else { Ok(part) }
            }
        }
    }

    // ---------------------------------------------------------- functions

    /// A function by its name in lower case, with bound arguments.
    fn call(&self, name: &str, mut args: Vec<Expr>) -> Result<Expr> {
        let function = functions::find(name)?;
        if args.len() < function.args_min || args.len() > function.args_max {
            return Err(Error::wrong_argument_count(name));
        }
        if args.iter().any(|arg| arg.ty.is_geometry()) && functions::takes_numbers_only(function.name) {
            return Err(Error::wrong_arguments(function.name));
        }
        let mut typing = Typing {
            name: function.name,
            args: &mut args,
            connection: self.connection,
            div_precision_increment: self.div_precision_increment,
            max_allowed_packet_bytes: self.max_allowed_packet_bytes,
        };
        let ty = (function.typing)(&mut typing)?;
        let ty = if functions::makes_texts(function) { self.made_text(ty) } else { ty };
        Ok(functions::call(function, args, ty))
    }

    /// The type of a text that a function makes. In strict mode MySQL has any such be NULL, which columns that are made of
    /// it show.
    fn made_text(&self, ty: TypeInfo) -> TypeInfo {
        if ty.is_string() && self.mode.is_strict() { ty.nullable(true) } else { ty }
    }

    /// A stored function, if there is one of the name.
    #[inline(never)]
    fn stored_call(&mut self, database: Option<&str>, name: &str, args: &[ast::Expr]) -> Result<Option<Expr>> {
        let Some(functions) = self.functions else { return Ok(None) };
        let Some(function) = functions.stored_function(database, name)? else { return Ok(None) };
        if function.parameters != args.len() {
            let shown = format!("{}.{name}", function.definition.database);
            return Err(Error::program_argument_count("FUNCTION", &shown, function.parameters, args.len()));
        }
        let args = args.iter().map(|arg| self.bind(arg)).collect::<Result<Vec<_>>>()?;
        let ty = TypeInfo::of_column(&function.returns, true);
        Ok(Some(Expr { node: Node::Stored { function, args }, ty }))
    }

    /// A call about a sequence. Where there is a stored function of that name, which people write for want of sequences, the
    /// name in parentheses is its argument.
    #[inline(never)]
    fn sequence(&mut self, call: &ast::SequenceCall) -> Result<Expr> {
        let ast::SequenceCall { function, sequence } = call;
        let ty = TypeInfo::bigint(20).nullable(true);
        let asked = match (self.functions, &sequence.database) {
            (Some(functions), _) => {
                if *function == ast::SequenceFunction::Next || *function == ast::SequenceFunction::Last {
                    let column =
                        ColumnName { database: None, table: sequence.database.clone(), name: sequence.name.clone() };
                    if let Some(call) = self.stored_call(None, function.name(), &[ast::Expr::Column(column)])? {
                        return Ok(call);
                    }
                }
                functions.sequence(call)?
            }
            (None, Some(database)) if self.of_definition => Arc::new(Sequence {
                function: *function,
                database: database.as_str().into(),
                name: sequence.name.as_str().into(),
                table: None,
            }),
            // Only a query can ask it.
            (None, _) => return Err(Error::unknown_function(function.name())),
        };
        Ok(Expr { node: Node::Sequence(asked), ty })
    }

    #[inline(never)]
    fn cast_array(&mut self, expr: &ast::Expr, to: &CastType) -> Result<Expr> {
        if !self.scope.takes_arrays() {
            return Err(Error::array_outside_of_index());
        }
        let Some(elements) = arrays::element_type(to) else {
            return Err(Error::unsupported(match to {
                CastType::Char { .. } | CastType::Binary { .. } => "CAST-ing data to array of char/binary BLOBs",
                _ => "CAST-ing data to array of this type",
            }));
        };
        let expr = self.bind_utf8(expr)?;
        let ty = TypeInfo::binary_string(u32::MAX).nullable(true);
        Ok(Expr { node: Node::CastArray { expr: Box::new(expr), elements }, ty })
    }

    #[inline(never)]
    fn match_against(&mut self, written: &ast::Match) -> Result<Expr> {
        let columns = written.columns.iter().map(|column| self.bind(column)).collect::<Result<Vec<_>>>()?;
        let (table, index, mut args) = self.scope.fulltext(&columns)?;
        let against = self.bind(&written.against)?;
        let mut fixed = true;
        against.walk(&mut |expr| match &expr.node {
            Node::UserVariable(_) => {}
            Node::Call { function, .. } => fixed &= function.deterministic,
            Node::AssignVariable(..)
            | Node::Stored { .. }
            | Node::Sequence(_)
            | Node::Aggregate(_)
            | Node::Window(_) => fixed = false,
            _ => fixed &= expr.as_column().is_none() && expr.subquery().is_none(),
        });
        if !fixed {
            return Err(Error::wrong_arguments("AGAINST"));
        }
        let charset = args[0].ty.charset();
        let ty = TypeInfo::string(against.ty.length, args[0].ty.collation, Coercibility::Implicit);
        args.push(Expr { node: Node::ToCharset { expr: Box::new(against), to: charset, refused: None }, ty });
        let search = Arc::new(Search { table, index, mode: written.mode });
        Ok(Expr { node: Node::Match { search, args }, ty: TypeInfo::double().not_null() })
    }

    #[inline(never)]
    fn json_value(&mut self, value: &ast::JsonValue) -> Result<Expr> {
        let mut args = vec![self.bind(&value.document)?, self.bind(&value.path)?];
        for otherwise in [&value.on_empty, &value.on_error] {
            args.push(match otherwise {
                ast::JsonOtherwise::Null => Expr::null(),
                ast::JsonOtherwise::Error => functions::json_error_marker(),
                ast::JsonOtherwise::Default(expr) => self.bind(expr)?,
            });
        }
        let mut bound = self.call(functions::JSON_VALUE, args)?;
        if let Some(to) = &value.returning {
            if let CastType::Geometry(kind) = to {
                return Err(Error::invalid_cast_to_geometry("JSON", &kind.name().to_uppercase()));
            }
            let id = match to {
                CastType::Char { charset: Some(name), .. } => charset_by_name(name)?.collation_given(self.utf8mb4),
                _ => CollationId::UTF8MB4_GENERAL_CI,
            };
            bound.ty = typing::cast(to, &bound.ty, id).nullable(true);
        }
        Ok(bound)
    }

    fn cast(&mut self, expr: &ast::Expr, to: &CastType) -> Result<Expr> {
        if let CastType::Geometry(kind) = to {
            let function =
                functions::spatial::cast_to(*kind).ok_or_else(|| Error::internal("a cast to any geometry"))?;
            let expr = self.bind(expr)?;
            let ty = TypeInfo::geometry(*kind).nullable(expr.ty.nullable);
            return Ok(Expr { node: Node::Call { function, args: vec![expr] }, ty });
        }
        let is_number = matches!(
            to,
            CastType::Signed | CastType::Unsigned | CastType::Decimal { .. } | CastType::Double | CastType::Float
        );
        let expr = match to {
            _ if is_number => self.bind_number(expr)?,
            CastType::Char { .. } | CastType::Binary { .. } => self.bind(expr)?,
            // The number of a member counts, not its name.
            CastType::Year => {
                let mut year = self.bind_utf8(expr)?;
                if matches!(year.ty.kind, Kind::Enum | Kind::Set) {
                    as_number(&mut year);
                }
                year
            }
            _ => self.bind_utf8(expr)?,
        };
        let id = match to {
            CastType::Char { charset, binary, .. } => {
                let id = match charset {
                    Some(name) => charset_by_name(name)?.collation_given(self.utf8mb4),
                    None => self.connection,
                };
                if *binary { binary_collation(collation(id).charset) } else { id }
            }
            _ => self.connection,
        };
        let mut ty = typing::cast(to, &expr.ty, id);
        if matches!(to, CastType::Char { .. }) {
            ty.nullable |= self.may_be_lost(&expr.ty, &ty);
        }
        if matches!(to, CastType::Char { .. } | CastType::Binary { .. }) {
            ty = self.made_text(ty);
        }
        Ok(Expr { node: Node::Cast { expr: Box::new(expr), to: to.clone() }, ty })
    }

    /// Whether a conversion may give NULL: of bytes that are no text, or of a text that becomes too long.
    fn may_be_lost(&self, from: &TypeInfo, to: &TypeInfo) -> bool {
        let bytes = u64::from(from.length) * to.charset().bytes_max() as u64;
        from.is_string()
            && from.charset() != to.charset()
            && to.charset() != Charset::Binary
            && (from.is_binary() || bytes > self.max_allowed_packet_bytes)
    }

    fn collate(&mut self, expr: &ast::Expr, name: &str) -> Result<Expr> {
        let mut expr = self.bind(expr)?;
        let charset = if expr.ty.is_string() { expr.ty.charset() } else { collation(self.connection).charset };
        let collation = crate::column_types::named_in(name, charset)?;
        if !expr.ty.is_string() && charset.is_wide() && collation.charset == charset {
            convert_charset(&mut expr, charset);
        }
        if collation.charset != charset {
            // utf8mb3 text is utf8mb4 text; MySQL refuses, since the names do not match.
            return Err(Error::collation_charset_mismatch(collation.name, charset.name()));
        }
        let ty = TypeInfo {
            collation: collation.id,
            coercibility: Coercibility::Explicit,
            nullable: expr.ty.nullable,
            ..if expr.ty.is_string() && expr.ty.kind != Kind::Json {
                expr.ty.stored()
            } else {
                TypeInfo::string(expr.ty.length, collation.id, Coercibility::Explicit)
            }
        };
        if expr.ty.is_string() && expr.ty.kind != Kind::Json && expr.as_column().is_none() {
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
        let (expr, mut interval) = (Box::new(self.bind_utf8(expr)?), Box::new(self.bind_utf8(interval)?));
        // Of one unit there is a number, of several a text with the numbers.
        if !temporal::is_compound(unit) {
            as_number(&mut interval);
        }
        let ty = typing::date_add(&expr.ty, &interval.ty, unit, self.connection);
        Ok(functions::from_utf8(Expr { node: Node::DateAdd { expr, interval, unit, subtract }, ty }))
    }
}

fn condition(node: Node, nullable: bool) -> Expr {
    Expr { node, ty: TypeInfo::boolean().nullable(nullable) }
}

/// The collation `_bin` of a character set.
fn binary_collation(charset: Charset) -> CollationId {
    let name = format!("{}_bin", charset.name());
    Collation::by_name(&name).map_or(charset.default_collation(), |found| found.id)
}

fn charset_by_name(name: &str) -> Result<Charset> {
    Charset::by_name(name).ok_or_else(|| Error::unknown_charset(name))
}

/// The query of an EXISTS: `*` of no tables stands for anything there.
fn of_something(query: &Query) -> Cow<'_, Query> {
    match &query.body {
        ast::Body::Select(select) if select.from.is_empty() && select.items == [ast::SelectItem::All] => {
            let mut query = query.clone();
            if let ast::Body::Select(select) = &mut query.body {
                let expr = ast::Expr::Literal(Literal::Integer(1));
                select.items = vec![ast::SelectItem::Expr { expr, alias: None, text: "1".into() }];
            }
            Cow::Owned(query)
        }
        _ => Cow::Borrowed(query),
    }
}
