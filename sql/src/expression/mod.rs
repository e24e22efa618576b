//! Expressions with MySQL's semantics: bound to columns, typed, evaluated.
//!
//! ```text
//! ast::Expr --Binder::bind--> Expr { node, ty } --eval(context, row)--> Datum
//!               |  Scope: what a name means          |  Fields: the row's values
//! ```
//!
//! Binding happens once per plan: names become slots of a row, functions become
//! pointers, every node gets its static type, and conversions that MySQL does
//! silently (a character set, an ENUM's name or number) become nodes of their own.
//! Evaluation happens per row: it follows the kinds of the *values* where MySQL's
//! rules are about values (a number against a string compares as double), so a plan
//! stays right when a parameter has another kind than the one before.
//!
//! Strings flow by reference: a [`Datum`] borrows from the row, the parameters or
//! the expression itself, and owns only what was computed. `k + 1` and `c = ?` do
//! not allocate.
//!
//! | module | idea |
//! |---|---|
//! | [`datum`], `numbers` | the value that flows; its conversions, with MySQL's warnings |
//! | [`context`] | what an evaluation may ask: parameters, clock, session, warnings |
//! | `rule`, [`compare`] | as which type two values compare, and how |
//! | `order` | the order of values in rows; keys for grouping |
//! | [`arithmetic`] | + - * / DIV MOD and bits; ranges and scales |
//! | [`temporal`] | strings to dates and back; intervals; the session's clock |
//! | [`pattern`], [`program`] | LIKE and REGEXP |
//! | [`json`] | JSON values as SQL's, and back |
//! | [`geometry`], `geojson`, `collect` | geometries, their JSON, many as one |
//! | [`spatial_key`] | the keys of SPATIAL indexes |
//! | `reference_systems` | what the numbers of spatial reference systems mean |
//! | [`lists`] | long lists of IN as sets |
//! | [`arrays`] | CAST ... AS ... ARRAY |
//! | [`fulltext`] | MATCH ... AGAINST |
//! | [`functions`] | the functions by name |
//! | [`typing`] | the type of a sum, of an IF, of an aggregate |
//! | [`eval`], `condition` | a node's value, and whether it is true |
//! | `strings` | from one character set to another |
//! | `stored_function`, `sequence` | what expressions know of stored functions and of sequences |
//! | [`memory`] | how much the values of a statement may hold |
//! | [`bind`] | names, types, collations |
//! | [`aggregate`] | COUNT, SUM ... over the rows of a group |
//! | [`mod@assign`] | a value on its way into a column |
//!
//! Invariants:
//!
//! * A condition is true of the same rows in WHERE and in the select list, of literals and of parameters, by an index
//!   and by
//!   a scan (kept by `sql/tests/relations.rs`).
//! * No input makes an evaluation panic: overflow is 1690, nonsense is a warning.
//! * A `Datum` of a string type holds bytes in the character set of the node's type.
//! * A node whose type says "not null" never yields NULL.
//!
//! Not here: subqueries (the executor runs them, see [`Scope::subquery`] and
//! [`Subqueries`]), window functions (`planner::window`), nor how stored functions run ([`Programs`]).

pub mod aggregate;
pub mod arithmetic;
pub mod arrays;
pub mod assign;
pub mod bind;
mod bit_strings;
mod cast;
mod collect;
pub mod compare;
mod condition;
pub mod context;
pub mod datum;
pub mod display;
pub mod eval;
pub mod fulltext;
pub mod functions;
mod geojson;
pub mod geometry;
pub mod json;
pub mod length_units;
pub mod lists;
pub mod memory;
mod numbers;
mod order;
pub mod pattern;
pub mod program;
mod random;
pub mod record;
mod reference_systems;
mod rule;
mod sequence;
mod sort_key;
pub mod spatial_key;
mod stored_function;
pub mod stored_value;
mod strings;
pub mod temporal;
pub mod typing;

use std::sync::Arc;

use format::collation::{Charset, CollationId};
use format::value::{ColumnType, Value};

use crate::error::Error;
use crate::parser::ast::{BinaryOp, CastType, IntervalUnit, TrimSide, VariableScope};
use crate::types::{Kind, TypeInfo};

pub use aggregate::{Accumulator, AggregateCall};
pub use assign::{AssignMode, assign};
pub use bind::{Binder, NoScope, Scope, Subquery};
pub use context::{
    Assigned, Condition, Details, EvalContext, Fields, NoFields, Programs, SessionState, Subqueries, TriggerRows,
    Warnings,
};
pub use datum::Datum;
pub use functions::Function;
pub use memory::Memory;
pub use order::{group_key, order};
pub use pattern::Regex;
pub use random::Generator;
pub use rule::{Comparison, comparison_of};
pub use sequence::Sequence;
pub use sort_key::{KeyForm, Keyed};
pub use stored_function::{StoredFunction, StoredFunctions};
pub use typing::{common_type, parameter_type};

/// A bound expression: what to compute, and the type of the result. Two are equal if they are built alike, which is more
/// than that they have the same value.
#[derive(Debug, Clone, PartialEq)]
pub struct Expr {
    pub node: Node,
    pub ty: TypeInfo,
}

/// What to compute. The planner reads the comparisons to find index ranges.
#[derive(Debug, Clone, PartialEq)]
pub enum Node {
    Constant(Value),
    /// The value of a slot of the row.
    Column(usize),
    /// An ENUM column's member as a string.
    EnumName {
        slot: usize,
        members: Arc<[Box<str>]>,
    },
    /// A SET column's members as a string.
    SetNames {
        slot: usize,
        members: Arc<[Box<str>]>,
    },
    Parameter(usize),
    UserVariable(Box<str>),
    AssignVariable(Box<str>, Box<Expr>),
    SystemVariable {
        scope: Option<VariableScope>,
        name: Box<str>,
    },
    /// The result of the n-th aggregate of the group.
    Aggregate(usize),
    /// The result of the n-th window function.
    Window(usize),
    /// GROUPING(), until it is known what is grouped by.
    Grouping(Vec<Expr>),

    And(Box<Expr>, Box<Expr>),
    Or(Box<Expr>, Box<Expr>),
    Xor(Box<Expr>, Box<Expr>),
    Not(Box<Expr>),
    IsNull {
        expr: Box<Expr>,
        negated: bool,
    },
    /// `IS [NOT] TRUE|FALSE`
    IsTruth {
        expr: Box<Expr>,
        truth: bool,
        negated: bool,
    },
    /// One of the seven comparisons.
    Compare {
        op: BinaryOp,
        how: Comparison,
        left: Box<Expr>,
        right: Box<Expr>,
    },
    /// Row constructors compared: column by column.
    CompareRows {
        op: BinaryOp,
        left: Vec<Expr>,
        right: Vec<Expr>,
        hows: Vec<Comparison>,
    },
    Between {
        expr: Box<Expr>,
        low: Box<Expr>,
        high: Box<Expr>,
        hows: [Comparison; 2],
        negated: bool,
    },
    In {
        expr: Box<Expr>,
        list: Vec<(Comparison, Expr)>,
        negated: bool,
    },
    InRows {
        row: Vec<Expr>,
        list: Vec<Vec<(Comparison, Expr)>>,
        negated: bool,
    },
    Like {
        expr: Box<Expr>,
        pattern: Box<Expr>,
        escape: Option<Box<Expr>>,
        collation: CollationId,
        negated: bool,
    },
    Regexp {
        expr: Box<Expr>,
        pattern: Box<Expr>,
        regex: Regex,
        negated: bool,
    },
    Case {
        operand: Option<Box<Expr>>,
        whens: Vec<(Comparison, Expr, Expr)>,
        otherwise: Option<Box<Expr>>,
    },

    /// + - * / DIV MOD
    Arithmetic {
        op: BinaryOp,
        left: Box<Expr>,
        right: Box<Expr>,
    },
    /// & | ^ << >>
    Bits {
        op: BinaryOp,
        left: Box<Expr>,
        right: Box<Expr>,
    },
    Minus(Box<Expr>),
    BitNot(Box<Expr>),

    /// A function by name.
    Call {
        function: &'static Function,
        args: Vec<Expr>,
    },
    /// A stored function.
    Stored {
        function: Arc<StoredFunction>,
        args: Vec<Expr>,
    },
    /// NEXTVAL, LASTVAL, SETVAL.
    Sequence(Arc<Sequence>),
    /// MATCH ... AGAINST: the index's columns, and behind them the text.
    Match {
        search: Arc<fulltext::Search>,
        args: Vec<Expr>,
    },
    Cast {
        expr: Box<Expr>,
        to: CastType,
    },
    /// CAST ... AS ... ARRAY: what a multi-valued index has of a document.
    CastArray {
        expr: Box<Expr>,
        elements: ColumnType,
    },
    /// The value as a string in another character set; numbers become text. `refused` is the error where a character has
    /// no place in it, without which it becomes `?`.
    ToCharset {
        expr: Box<Expr>,
        to: Charset,
        refused: Option<Box<Error>>,
    },
    /// The same bytes under another type: COLLATE.
    Retyped(Box<Expr>),
    /// The value as a row of a result has it: a decimal with exactly the digits of its type.
    Fitted(Box<Expr>),
    /// A constant that an execution works out once.
    Once(Box<Expr>),
    Trim {
        side: TrimSide,
        remove: Option<Box<Expr>>,
        expr: Box<Expr>,
    },
    Extract {
        unit: IntervalUnit,
        expr: Box<Expr>,
    },
    DateAdd {
        expr: Box<Expr>,
        interval: Box<Expr>,
        unit: IntervalUnit,
        subtract: bool,
    },
    TimestampDiff {
        unit: IntervalUnit,
        from: Box<Expr>,
        to: Box<Expr>,
    },

    /// A value of the single row of a subquery.
    ScalarQuery {
        query: usize,
        column: usize,
    },
    Exists {
        query: usize,
    },
    InQuery {
        row: Vec<Expr>,
        query: usize,
        hows: Vec<Comparison>,
        negated: bool,
    },
    /// op ALL, op ANY
    Quantified {
        expr: Box<Expr>,
        op: BinaryOp,
        all: bool,
        query: usize,
        how: Comparison,
    },
}

/// Visits the operands of a node in the order written: `iter` to look at them, `iter_mut` to change them.
macro_rules! visit_children {
    ($node:expr, $visit:ident, $iter:ident) => {
        match $node {
            Node::Constant(_)
            | Node::Column(_)
            | Node::EnumName { .. }
            | Node::SetNames { .. }
            | Node::Parameter(_)
            | Node::UserVariable(_)
            | Node::SystemVariable { .. }
            | Node::Aggregate(_)
            | Node::Window(_)
            | Node::Sequence(_)
            | Node::ScalarQuery { .. }
            | Node::Exists { .. } => {}
            Node::AssignVariable(_, expr)
            | Node::Not(expr)
            | Node::IsNull { expr, .. }
            | Node::IsTruth { expr, .. }
            | Node::Minus(expr)
            | Node::BitNot(expr)
            | Node::Cast { expr, .. }
            | Node::CastArray { expr, .. }
            | Node::ToCharset { expr, .. }
            | Node::Retyped(expr)
            | Node::Fitted(expr)
            | Node::Once(expr)
            | Node::Extract { expr, .. }
            | Node::Quantified { expr, .. } => $visit(expr),
            Node::And(left, right)
            | Node::Or(left, right)
            | Node::Xor(left, right)
            | Node::Compare { left, right, .. }
            | Node::Arithmetic { left, right, .. }
            | Node::Bits { left, right, .. }
            | Node::DateAdd { expr: left, interval: right, .. }
            | Node::TimestampDiff { from: left, to: right, .. }
            | Node::Regexp { expr: left, pattern: right, .. } => {
                $visit(left);
                $visit(right);
            }
            Node::CompareRows { left, right, .. } => left.$iter().chain(right).for_each($visit),
            Node::Between { expr, low, high, .. } => {
                $visit(expr);
                $visit(low);
                $visit(high);
            }
            Node::In { expr, list, .. } => {
                $visit(expr);
                list.$iter().for_each(|(_, item)| $visit(item));
            }
            Node::InRows { row, list, .. } => {
                row.$iter().for_each(&mut *$visit);
                list.$iter().flatten().for_each(|(_, item)| $visit(item));
            }
            Node::Like { expr, pattern, escape, .. } => {
                $visit(expr);
                $visit(pattern);
                if let Some(escape) = escape {
                    $visit(escape);
                }
            }
            Node::Case { operand, whens, otherwise } => {
                if let Some(operand) = operand {
                    $visit(operand);
                }
                for (_, when, then) in whens {
                    $visit(when);
                    $visit(then);
                }
                if let Some(otherwise) = otherwise {
                    $visit(otherwise);
                }
            }
            Node::Call { args, .. } | Node::Stored { args, .. } | Node::Match { args, .. } | Node::Grouping(args) => {
                args.$iter().for_each($visit)
            }
            Node::Trim { remove, expr, .. } => {
                $visit(expr);
                if let Some(remove) = remove {
                    $visit(remove);
                }
            }
            Node::InQuery { row, .. } => row.$iter().for_each($visit),
        }
    };
}

impl Expr {
    pub fn constant(value: Value, ty: TypeInfo) -> Expr {
        Expr { node: Node::Constant(value), ty }
    }

    pub fn null() -> Expr {
        Expr::constant(Value::Null, TypeInfo::NULL)
    }

    pub fn int(value: i64) -> Expr {
        Expr::constant(Value::Int(value), TypeInfo::bigint(20).not_null())
    }

    /// A column of the row: ENUM and SET are strings in expressions, and turn back into numbers where the binder
    /// finds them in numeric context.
    pub fn column(slot: usize, ty: &ColumnType, nullable: bool) -> Expr {
        let info = TypeInfo::of_column(ty, nullable);
        let node = match ty {
            ColumnType::Enum { members, .. } => Node::EnumName { slot, members: members.clone() },
            ColumnType::Set { members, .. } => Node::SetNames { slot, members: members.clone() },
            _ => Node::Column(slot),
        };
        Expr { node, ty: info }
    }

    /// A slot that is not a table's column: a group's expression, a derived table's column.
    pub fn slot(slot: usize, ty: TypeInfo) -> Expr {
        Expr { node: Node::Column(slot), ty: ty.stored() }
    }

    /// The slot, if this is nothing but a column.
    #[inline]
    pub fn as_column(&self) -> Option<usize> {
        match &self.node {
            Node::Column(slot) | Node::EnumName { slot, .. } | Node::SetNames { slot, .. } => Some(*slot),
            _ => None,
        }
    }

    /// The slot that is changed where this is a view's column: with COLLATE it is the column still.
    pub fn as_changed_column(&self) -> Option<usize> {
        match &self.node {
            Node::Retyped(inner) if !self.ty.is_binary() => inner.as_column(),
            // As a merge puts it in the place of the view's column.
            Node::Fitted(inner) => inner.as_changed_column(),
            _ => self.as_column(),
        }
    }

    /// The subquery that is asked here, by its number.
    pub fn subquery(&self) -> Option<usize> {
        match &self.node {
            Node::ScalarQuery { query, .. }
            | Node::Exists { query }
            | Node::InQuery { query, .. }
            | Node::Quantified { query, .. } => Some(*query),
            _ => None,
        }
    }

    /// The same, to be changed.
    pub fn subquery_mut(&mut self) -> Option<&mut usize> {
        match &mut self.node {
            Node::ScalarQuery { query, .. }
            | Node::Exists { query }
            | Node::InQuery { query, .. }
            | Node::Quantified { query, .. } => Some(query),
            _ => None,
        }
    }

    /// Changes this expression and all below it, parents first; what `change` answers true for is left with what is
    /// below it.
    pub fn walk_mut(&mut self, change: &mut dyn FnMut(&mut Expr) -> bool) {
        if !change(self) {
            self.for_each_child_mut(&mut |child| child.walk_mut(change));
        }
    }

    /// The slot, to be changed.
    pub fn as_column_mut(&mut self) -> Option<&mut usize> {
        match &mut self.node {
            Node::Column(slot) | Node::EnumName { slot, .. } | Node::SetNames { slot, .. } => Some(slot),
            _ => None,
        }
    }

    /// Whether the value is the same for all rows of one execution: no column, aggregate, subquery, variable or
    /// function with a will of its own. Parameters are constant.
    pub fn is_constant(&self) -> bool {
        let mut constant = true;
        self.walk(&mut |expr| constant &= expr.is_constant_of_operands());
        constant
    }

    /// Whether it is constant if its operands are.
    pub fn is_constant_of_operands(&self) -> bool {
        match &self.node {
            Node::Column(_) | Node::EnumName { .. } | Node::SetNames { .. } => false,
            Node::Aggregate(_) | Node::Window(_) | Node::Grouping(_) => false,
            Node::UserVariable(_) | Node::AssignVariable(..) => false,
            Node::ScalarQuery { .. } | Node::Exists { .. } | Node::InQuery { .. } | Node::Quantified { .. } => false,
            Node::Call { function, .. } => function.deterministic,
            // Whatever it says of itself, it may read tables.
            Node::Stored { .. } | Node::Sequence(_) => false,
            _ => true,
        }
    }

    /// Calls `visit` for each slot that the expression reads, possibly more than once. Aggregates' arguments are not
    /// part of the expression.
    pub fn for_each_column(&self, visit: &mut dyn FnMut(usize)) {
        self.walk(&mut |expr| {
            if let Some(slot) = expr.as_column() {
                visit(slot);
            }
        });
    }

    /// Visits this expression and all below it, parents first.
    pub fn walk(&self, visit: &mut dyn FnMut(&Expr)) {
        visit(self);
        self.for_each_child(&mut |child| child.walk(visit));
    }

    /// Whether it reads a variable of the session.
    pub fn reads_user_variable(&self) -> bool {
        let mut reads = false;
        self.walk(&mut |expr| reads |= matches!(expr.node, Node::UserVariable(_)));
        reads
    }

    /// The operands, in the order written.
    pub fn for_each_child<'a>(&'a self, visit: &mut dyn FnMut(&'a Expr)) {
        visit_children!(&self.node, visit, iter)
    }

    /// The same, to be changed.
    pub fn for_each_child_mut(&mut self, visit: &mut dyn FnMut(&mut Expr)) {
        visit_children!(&mut self.node, visit, iter_mut)
    }

    /// Whether the type is NULL's own: the literal, and what is made of nothing else.
    pub fn is_null_literal(&self) -> bool {
        self.ty.kind == Kind::Null
    }
}
