//! Stored programs: procedures, functions and triggers, and the statements of their language.
//!
//! The parser settles the names of a program while it reads it: a local variable is a number, its place in the program's
//! frame, and what an expression or a statement reads of the frame are its parameters, in the order of `reads`. So the
//! planner knows nothing of local variables.

use super::*;

/// The value of an expression of a program.
#[derive(Debug, Clone, PartialEq)]
pub struct Computed {
    /// Which of the program's slots keeps what is made of it.
    pub slot: usize,
    pub expr: Expr,
    /// The variables that the expression's parameters are.
    pub reads: Vec<usize>,
}

/// Who gets a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IntoTarget {
    /// `@name`
    User(String),
    /// A variable of the program.
    Local(usize),
    /// The n-th `?`, for an argument of CALL.
    Parameter(usize),
}

impl IntoTarget {
    /// What it takes the value as.
    pub fn wanted(&self) -> Wanted {
        match self {
            IntoTarget::Local(at) => Wanted::Local(*at),
            IntoTarget::User(_) | IntoTarget::Parameter(_) => Wanted::Rows,
        }
    }
}

/// What stands in a frame.
#[derive(Debug, Clone, PartialEq)]
pub enum Variable {
    /// DECLARE, or a parameter.
    Local { name: String, ty: TypeSpec },
    /// NEW.column, OLD.column
    Field { new: bool, column: String },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProgramKind {
    Procedure,
    Function,
    Trigger,
    Event,
}

impl ProgramKind {
    /// Whether it runs inside of another statement.
    pub fn is_inner(self) -> bool {
        matches!(self, ProgramKind::Function | ProgramKind::Trigger)
    }

    pub fn name(self) -> &'static str {
        match self {
            ProgramKind::Procedure => "PROCEDURE",
            ProgramKind::Function => "FUNCTION",
            ProgramKind::Trigger => "TRIGGER",
            ProgramKind::Event => "EVENT",
        }
    }
}

/// A body with what it needs.
#[derive(Debug, Clone, PartialEq)]
pub struct Program {
    /// The parameters are the first.
    pub variables: Vec<Variable>,
    pub cursors: Vec<CursorSpec>,
    pub body: Step,
    /// How many statements and expressions keep something from one execution to the next.
    pub slots: usize,
    /// The variables that are fields of NEW and are assigned.
    pub assigned: Vec<usize>,
    /// Those that are fields of NEW or OLD and are read.
    pub read_fields: Vec<usize>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct CursorSpec {
    pub name: String,
    pub query: SqlStep,
}

/// A statement of SQL in a program.
#[derive(Debug, Clone, PartialEq)]
pub struct SqlStep {
    pub slot: usize,
    pub statement: Statement,
    pub reads: Vec<usize>,
    pub text: String,
}

/// One statement of a program.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    Block(Box<Block>),
    /// IF and CASE: the number of the branch is computed at once.
    Choose {
        choice: Computed,
        branches: Vec<Vec<Step>>,
        /// None: CASE without ELSE, whose values must be one of the branches.
        otherwise: Option<Vec<Step>>,
    },
    Loop {
        label: usize,
        /// WHILE: asked before each turn.
        before: Option<Computed>,
        body: Vec<Step>,
        /// UNTIL: asked behind each turn.
        until: Option<Computed>,
    },
    Leave(usize),
    Iterate(usize),
    Return(Computed),
    Open(usize),
    Fetch {
        cursor: usize,
        into: Vec<usize>,
    },
    Close(usize),
    Set(Vec<SetStep>),
    Do(Vec<Computed>),
    Call(Box<Call>),
    Signal(Box<Signal>),
    GetDiagnostics(Box<GetDiagnostics>),
    Sql(Box<SqlStep>),
}

/// One assignment of SET.
#[derive(Debug, Clone, PartialEq)]
pub enum SetStep {
    Local(usize, Computed),
    User(String, Computed),
    System {
        scope: Option<VariableScope>,
        name: String,
        value: Computed,
    },
    /// NAMES and CHARACTER SET, and values that are words.
    Other(SetItem),
}

/// BEGIN ... END
#[derive(Debug, Clone, PartialEq)]
pub struct Block {
    pub label: usize,
    /// Variables, and what they are at first; None is NULL.
    pub declared: Vec<(Vec<usize>, Option<Computed>)>,
    pub cursors: Vec<usize>,
    pub handlers: Vec<Handler>,
    pub body: Vec<Step>,
}

/// DECLARE ... HANDLER
#[derive(Debug, Clone, PartialEq)]
pub struct Handler {
    pub exits: bool,
    pub conditions: Vec<HandledCondition>,
    pub body: Step,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HandledCondition {
    Code(u16),
    State([u8; 5]),
    Warning,
    NotFound,
    Exception,
}

/// CALL
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    pub name: TableName,
    pub args: Vec<Argument>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Argument {
    pub value: Computed,
    /// What an OUT parameter is assigned to.
    pub target: Option<IntoTarget>,
}

/// SIGNAL, RESIGNAL
#[derive(Debug, Clone, PartialEq)]
pub struct Signal {
    pub again: bool,
    /// None: RESIGNAL of the condition that is handled.
    pub state: Option<[u8; 5]>,
    pub items: Vec<(ConditionItem, Computed)>,
}

/// What a condition tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConditionItem {
    ClassOrigin,
    SubclassOrigin,
    ReturnedSqlstate,
    MessageText,
    MysqlErrno,
    ConstraintCatalog,
    ConstraintSchema,
    ConstraintName,
    CatalogName,
    SchemaName,
    TableName,
    ColumnName,
    CursorName,
}

impl ConditionItem {
    const ALL: [(ConditionItem, &'static str); 13] = [
        (ConditionItem::ClassOrigin, "CLASS_ORIGIN"),
        (ConditionItem::SubclassOrigin, "SUBCLASS_ORIGIN"),
        (ConditionItem::ReturnedSqlstate, "RETURNED_SQLSTATE"),
        (ConditionItem::MessageText, "MESSAGE_TEXT"),
        (ConditionItem::MysqlErrno, "MYSQL_ERRNO"),
        (ConditionItem::ConstraintCatalog, "CONSTRAINT_CATALOG"),
        (ConditionItem::ConstraintSchema, "CONSTRAINT_SCHEMA"),
        (ConditionItem::ConstraintName, "CONSTRAINT_NAME"),
        (ConditionItem::CatalogName, "CATALOG_NAME"),
        (ConditionItem::SchemaName, "SCHEMA_NAME"),
        (ConditionItem::TableName, "TABLE_NAME"),
        (ConditionItem::ColumnName, "COLUMN_NAME"),
        (ConditionItem::CursorName, "CURSOR_NAME"),
    ];

    pub fn by_name(name: &str) -> Option<ConditionItem> {
        ConditionItem::ALL.iter().find(|(_, known)| known.eq_ignore_ascii_case(name)).map(|(item, _)| *item)
    }

    pub fn name(self) -> &'static str {
        ConditionItem::ALL.iter().find(|(item, _)| *item == self).map_or("", |(_, name)| name)
    }
}

/// GET DIAGNOSTICS
#[derive(Debug, Clone, PartialEq)]
pub struct GetDiagnostics {
    pub stacked: bool,
    pub what: Diagnosed,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Diagnosed {
    /// NUMBER is true, ROW_COUNT is false.
    Statement(Vec<(IntoTarget, bool)>),
    Condition {
        number: Computed,
        items: Vec<(IntoTarget, ConditionItem)>,
    },
}

// ----------------------------------------------------------------------- definitions

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParameterMode {
    In,
    Out,
    InOut,
}

impl ParameterMode {
    pub fn name(self) -> &'static str {
        match self {
            ParameterMode::In => "IN",
            ParameterMode::Out => "OUT",
            ParameterMode::InOut => "INOUT",
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct ParameterSpec {
    pub name: String,
    pub mode: ParameterMode,
    pub ty: TypeSpec,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DataAccess {
    Contains,
    No,
    Reads,
    Modifies,
}

impl DataAccess {
    pub const ALL: [DataAccess; 4] = [DataAccess::Contains, DataAccess::No, DataAccess::Reads, DataAccess::Modifies];

    pub fn name(self) -> &'static str {
        match self {
            DataAccess::Contains => "CONTAINS SQL",
            DataAccess::No => "NO SQL",
            DataAccess::Reads => "READS SQL DATA",
            DataAccess::Modifies => "MODIFIES SQL DATA",
        }
    }
}

/// What stands between the parameters and the body; None is not said.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Characteristics {
    pub deterministic: Option<bool>,
    pub access: Option<DataAccess>,
    pub as_invoker: Option<bool>,
    pub comment: Option<String>,
}

/// CREATE PROCEDURE, CREATE FUNCTION
#[derive(Debug, Clone, PartialEq)]
pub struct CreateRoutine {
    pub kind: ProgramKind,
    /// MariaDB's.
    pub or_replace: bool,
    pub if_not_exists: bool,
    pub definer: Option<UserName>,
    pub name: TableName,
    pub parameters: Vec<ParameterSpec>,
    /// The parameters as they were written.
    pub parameters_text: String,
    pub returns: Option<TypeSpec>,
    pub returns_text: String,
    pub characteristics: Characteristics,
    pub program: Program,
    /// As it was written.
    pub body_text: Vec<u8>,
}

/// ALTER PROCEDURE, ALTER FUNCTION
#[derive(Debug, Clone, PartialEq)]
pub struct AlterRoutine {
    pub kind: ProgramKind,
    pub name: TableName,
    pub characteristics: Characteristics,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TriggerEvent {
    Insert,
    Update,
    Delete,
}

impl TriggerEvent {
    pub const ALL: [TriggerEvent; 3] = [TriggerEvent::Insert, TriggerEvent::Update, TriggerEvent::Delete];

    pub fn name(self) -> &'static str {
        match self {
            TriggerEvent::Insert => "INSERT",
            TriggerEvent::Update => "UPDATE",
            TriggerEvent::Delete => "DELETE",
        }
    }
}

/// CREATE TRIGGER
#[derive(Debug, Clone, PartialEq)]
pub struct CreateTrigger {
    pub or_replace: bool,
    pub if_not_exists: bool,
    pub definer: Option<UserName>,
    pub name: TableName,
    /// BEFORE rather than AFTER.
    pub before: bool,
    pub event: TriggerEvent,
    pub table: TableName,
    /// FOLLOWS (true) or PRECEDES another one.
    pub order: Option<(bool, String)>,
    pub program: Program,
    /// As it was written.
    pub body_text: Vec<u8>,
}
