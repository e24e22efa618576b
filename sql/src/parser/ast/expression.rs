//! Expressions, as they were written.

use super::*;

#[derive(Debug, Clone, PartialEq)]
pub enum Expr {
    Literal(Literal),
    Column(ColumnName),
    /// The n-th `?`, from 0.
    Parameter(usize),
    /// `@name`
    UserVariable(String),
    /// `@name := expr`
    Assign(String, Box<Expr>),
    /// `@@[scope.]name`
    SystemVariable {
        scope: Option<VariableScope>,
        name: String,
    },
    Unary {
        op: UnaryOp,
        expr: Box<Expr>,
    },
    Binary {
        op: BinaryOp,
        left: Box<Expr>,
        right: Box<Expr>,
    },
    /// `expr IS [NOT] NULL`
    IsNull {
        expr: Box<Expr>,
        negated: bool,
    },
    /// `expr IS [NOT] TRUE|FALSE|UNKNOWN`; UNKNOWN is `None`.
    IsTruth {
        expr: Box<Expr>,
        truth: Option<bool>,
        negated: bool,
    },
    Between {
        expr: Box<Expr>,
        low: Box<Expr>,
        high: Box<Expr>,
        negated: bool,
    },
    InList {
        expr: Box<Expr>,
        list: Vec<Expr>,
        negated: bool,
    },
    InQuery {
        expr: Box<Expr>,
        query: Box<Query>,
        negated: bool,
    },
    Like {
        expr: Box<Expr>,
        pattern: Box<Expr>,
        escape: Option<Box<Expr>>,
        negated: bool,
    },
    Regexp {
        expr: Box<Expr>,
        pattern: Box<Expr>,
        negated: bool,
    },
    /// `CASE [operand] WHEN .. THEN .. [ELSE ..] END`
    Case {
        operand: Option<Box<Expr>>,
        whens: Vec<(Expr, Expr)>,
        otherwise: Option<Box<Expr>>,
    },
    /// A call by name: also those with a syntax of their own (`TRIM(LEADING x FROM y)` is
    /// `ltrim`-like with [`Expr::Trim`]); `name` in lower case. LEFT, IF, MOD, YEAR ... are all here.
    Function {
        name: String,
        args: Vec<Expr>,
    },
    /// `schema.name(args)`: a stored function.
    StoredFunction {
        /// Empty: the current one.
        database: String,
        name: String,
        args: Vec<Expr>,
    },
    Aggregate(Box<Aggregate>),
    Window(Box<WindowCall>),
    /// GROUPING(a, b)
    Grouping(Vec<Expr>),
    Cast {
        expr: Box<Expr>,
        to: CastType,
    },
    /// CONVERT(expr USING charset)
    ConvertUsing {
        expr: Box<Expr>,
        charset: String,
    },
    /// expr COLLATE name
    Collate {
        expr: Box<Expr>,
        collation: String,
    },
    /// `BINARY expr`
    Binarily(Box<Expr>),
    Trim {
        side: TrimSide,
        remove: Option<Box<Expr>>,
        expr: Box<Expr>,
    },
    Extract {
        unit: IntervalUnit,
        expr: Box<Expr>,
    },
    /// `expr ± INTERVAL n unit`, DATE_ADD, DATE_SUB, ADDDATE, SUBDATE with INTERVAL.
    DateAdd {
        expr: Box<Expr>,
        interval: Box<Expr>,
        unit: IntervalUnit,
        subtract: bool,
    },
    TimestampAdd {
        unit: IntervalUnit,
        interval: Box<Expr>,
        expr: Box<Expr>,
    },
    TimestampDiff {
        unit: IntervalUnit,
        from: Box<Expr>,
        to: Box<Expr>,
    },
    /// CHAR(n, ... [USING charset]), which leaves NULLs out; CHR(n [USING charset]), which is NULL then.
    Char {
        args: Vec<Expr>,
        charset: Option<String>,
        keeps_null: bool,
    },
    /// `(a, b)` or ROW(a, b): at least two.
    Row(Vec<Expr>),
    Subquery(Box<Query>),
    Exists(Box<Query>),
    /// `expr op ALL|ANY (query)`
    Quantified {
        expr: Box<Expr>,
        op: BinaryOp,
        all: bool,
        query: Box<Query>,
    },
    /// DEFAULT(column)
    DefaultOf(ColumnName),
    /// DEFAULT alone: a value in INSERT and UPDATE.
    Default,
    /// VALUES(column) in ON DUPLICATE KEY UPDATE
    ValuesOf(ColumnName),
    JsonValue(Box<JsonValue>),
    /// CAST(expr AS type ARRAY), of a multi-valued index.
    CastArray {
        expr: Box<Expr>,
        to: CastType,
    },
    Match(Box<Match>),
    /// NEXTVAL, LASTVAL, SETVAL of MariaDB's sequences.
    Sequence(Box<SequenceCall>),
    /// Answered with 1235 and this name.
    Unsupported(String),
}

/// MATCH (columns) AGAINST (text mode)
#[derive(Debug, Clone, PartialEq)]
pub struct Match {
    pub columns: Vec<Expr>,
    pub against: Expr,
    pub mode: MatchMode,
}

/// A call about a sequence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SequenceCall {
    pub function: SequenceFunction,
    pub sequence: TableName,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SequenceFunction {
    /// NEXTVAL(s), NEXT VALUE FOR s
    Next,
    /// LASTVAL(s), PREVIOUS VALUE FOR s
    Last,
    /// SETVAL(s, value [, is_used [, cycle]])
    Set { value: i64, is_used: bool, cycle: i64 },
}

impl SequenceFunction {
    pub fn name(self) -> &'static str {
        match self {
            SequenceFunction::Next => "nextval",
            SequenceFunction::Last => "lastval",
            SequenceFunction::Set { .. } => "setval",
        }
    }

    /// What stands behind the sequence's name.
    pub fn arguments(self) -> String {
        match self {
            SequenceFunction::Next | SequenceFunction::Last => String::new(),
            SequenceFunction::Set { value, is_used, cycle } => format!(",{value},{},{cycle}", i32::from(is_used)),
        }
    }

    /// Whether the sequence stands elsewhere afterwards.
    pub fn changes(self) -> bool {
        self != SequenceFunction::Last
    }
}

/// How the text of AGAINST is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct MatchMode {
    /// IN BOOLEAN MODE
    pub boolean: bool,
    /// WITH QUERY EXPANSION
    pub expansion: bool,
}

/// JSON_VALUE(document, path RETURNING type ... ON EMPTY ... ON ERROR)
#[derive(Debug, Clone, PartialEq)]
pub struct JsonValue {
    pub document: Expr,
    pub path: Expr,
    pub returning: Option<CastType>,
    pub on_empty: JsonOtherwise,
    pub on_error: JsonOtherwise,
}

/// What a JSON value is that is not there, or has another type.
#[derive(Debug, Clone, PartialEq)]
pub enum JsonOtherwise {
    Null,
    Error,
    Default(Expr),
}

#[derive(Debug, Clone, PartialEq)]
pub enum Literal {
    Null,
    Bool(bool),
    /// Digits only: without sign. Fits in u64, otherwise it is a `Decimal`.
    Integer(u64),
    /// `1.50`, or an integer too large: digits, at most one point.
    Decimal(String),
    /// With an exponent.
    Float(f64),
    /// Unescaped bytes; adjacent literals are joined. `charset` is the introducer: `_latin1'x'`, N'x' (utf8mb3).
    String {
        bytes: Vec<u8>,
        charset: Option<String>,
    },
    /// x'4142', 0x4142: binary string, or a number in numeric context.
    Hex {
        bytes: Vec<u8>,
        charset: Option<String>,
    },
    /// b'0101', 0b0101: likewise.
    Bit {
        bytes: Vec<u8>,
        charset: Option<String>,
    },
    /// DATE '2020-01-01', TIME '..', TIMESTAMP '..', and {d '..'}.
    Date(Vec<u8>),
    Time(Vec<u8>),
    Timestamp(Vec<u8>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnaryOp {
    Minus,
    Plus,
    /// NOT and !
    Not,
    /// `~`
    BitNot,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BinaryOp {
    Or,
    Xor,
    And,
    Equal,
    /// `<=>`
    NullSafeEqual,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    BitOr,
    BitAnd,
    BitXor,
    ShiftLeft,
    ShiftRight,
    Add,
    Subtract,
    Multiply,
    /// `/`
    Divide,
    /// DIV
    IntegerDivide,
    /// MOD, %
    Modulo,
    /// `||` under PIPES_AS_CONCAT
    Concat,
    /// a SOUNDS LIKE b
    SoundsLike,
    /// `->`
    JsonExtract,
    /// `->>`
    JsonUnquote,
}

impl BinaryOp {
    /// The operator as plans, views and error 1267 write it.
    pub fn symbol(self) -> &'static str {
        match self {
            BinaryOp::Or => "or",
            BinaryOp::Xor => "xor",
            BinaryOp::And => "and",
            BinaryOp::Equal => "=",
            BinaryOp::NullSafeEqual => "<=>",
            BinaryOp::NotEqual => "<>",
            BinaryOp::Less => "<",
            BinaryOp::LessEqual => "<=",
            BinaryOp::Greater => ">",
            BinaryOp::GreaterEqual => ">=",
            BinaryOp::BitOr => "|",
            BinaryOp::BitAnd => "&",
            BinaryOp::BitXor => "^",
            BinaryOp::ShiftLeft => "<<",
            BinaryOp::ShiftRight => ">>",
            BinaryOp::Add => "+",
            BinaryOp::Subtract => "-",
            BinaryOp::Multiply => "*",
            BinaryOp::Divide => "/",
            BinaryOp::IntegerDivide => "DIV",
            BinaryOp::Modulo => "%",
            BinaryOp::Concat => "||",
            BinaryOp::SoundsLike => "sounds like",
            BinaryOp::JsonExtract => "->",
            BinaryOp::JsonUnquote => "->>",
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct Aggregate {
    pub function: AggregateFunction,
    pub distinct: bool,
    /// Empty for COUNT(*).
    pub args: Vec<Expr>,
    /// GROUP_CONCAT's.
    pub order_by: Vec<OrderItem>,
    pub separator: Option<Vec<u8>>,
    /// MariaDB's LIMIT of GROUP_CONCAT: how many are passed over, and how many are taken.
    pub limit: Option<(u64, u64)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AggregateFunction {
    Count,
    Sum,
    Avg,
    Min,
    Max,
    GroupConcat,
    BitAnd,
    BitOr,
    BitXor,
    /// STD, STDDEV, STDDEV_POP
    StddevPop,
    StddevSamp,
    /// VARIANCE, VAR_POP
    VarPop,
    VarSamp,
    AnyValue,
    JsonArrayAgg,
    JsonObjectAgg,
    /// ST_COLLECT
    Collect,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrimSide {
    Both,
    Leading,
    Trailing,
}

/// What CAST and CONVERT give. A CHAR that is `binary` has the collation `_bin` of its character set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CastType {
    Signed,
    Unsigned,
    Binary {
        bytes: Option<u32>,
    },
    Char {
        chars: Option<u32>,
        charset: Option<String>,
        binary: bool,
    },
    Date,
    Time {
        fsp: u8,
    },
    DateTime {
        fsp: u8,
    },
    Decimal {
        precision: u8,
        scale: u8,
    },
    Float,
    Double,
    Year,
    Json,
    /// Of one kind, never `GeometryType::Geometry`.
    Geometry(format::value::GeometryType),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum VariableScope {
    Global,
    Session,
    Persist,
    PersistOnly,
}

impl Expr {
    pub const NULL: Expr = Expr::Literal(Literal::Null);

    pub fn string(text: &str) -> Expr {
        Expr::Literal(Literal::String { bytes: text.as_bytes().to_vec(), charset: None })
    }
}
