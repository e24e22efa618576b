//! Expressions that become part of a table: of CHECK constraints, generated columns, defaults and functional indexes.
//!
//! What is stored is a text in normal form ([`print`](crate::parser::print)): columns by their own spelling and without
//! the table's name, texts with their character set. It has been bound once, so that reading it later cannot fail for
//! another reason than a change of the table, which [`names`] and the checks of ALTER TABLE prevent.

use storage::DefinitionKind;
use storage::schema::{Column, same_name};

use super::Context;
use crate::accounts::Privileges;
use crate::catalog::database_of;
use crate::error::{Error, Result};
use crate::expression::{self, functions};
use crate::parser::ast::{BinaryOp, Expr, Literal, SequenceCall, UnaryOp};
use crate::parser::{parse_expression, print};
use crate::planner::row_rules;
use crate::sequences;
use crate::types::SqlMode;

/// Whose expression it is.
#[derive(Clone, Copy)]
pub enum Subject<'n> {
    Check(&'n str),
    Generated(&'n str),
    Default(&'n str),
    Index(&'n str),
}

/// An expression in the form in which it is stored.
pub struct Stored {
    pub text: Box<str>,
    pub bound: expression::Expr,
    /// Ordinals of the columns that it reads.
    pub reads: Vec<usize>,
}

/// Functions whose value is not decided by their arguments, beside those that say so themselves: the clock, the session,
/// the server.
const UNCERTAIN: [&str; 43] = [
    "benchmark",
    "connection_id",
    "curdate",
    "current_role",
    "current_user",
    "curtime",
    "database",
    "found_rows",
    "get_lock",
    "icu_version",
    "is_free_lock",
    "is_used_lock",
    "last_insert_id",
    "lastval",
    "load_file",
    "localtime",
    "localtimestamp",
    "master_gtid_wait",
    "master_pos_wait",
    "name_const",
    "nextval",
    "now",
    "ps_current_thread_id",
    "ps_thread_id",
    "rand",
    "random_bytes",
    "release_all_locks",
    "release_lock",
    "row_count",
    "schema",
    "session_user",
    "sleep",
    "source_pos_wait",
    "sysdate",
    "system_user",
    "user",
    "utc_date",
    "utc_time",
    "utc_timestamp",
    "uuid",
    "uuid_short",
    "version",
    "wait_for_executed_gtid_set",
];

/// Functions that are true or false.
const CONDITIONS: [&str; 13] = [
    "is_ipv4",
    "is_ipv4_compat",
    "is_ipv4_mapped",
    "is_ipv6",
    "is_uuid",
    "isnull",
    "json_contains",
    "json_contains_path",
    "json_overlaps",
    "json_schema_valid",
    "json_valid",
    "regexp_like",
    "strcmp",
];

impl Subject<'_> {
    fn disallowed(self, function: Option<&str>) -> Error {
        let (codes, what) = match self {
            Subject::Check(name) => ((3815, 3814), format!("An expression of a check constraint '{name}'")),
            Subject::Generated(name) => ((3102, 3763), format!("Expression of generated column '{name}'")),
            Subject::Default(name) => ((3769, 3770), format!("Default value expression of column '{name}'")),
            Subject::Index(name) => ((3758, 3758), format!("Expression of functional index '{name}'")),
        };
        let article = if matches!(self, Subject::Check(_)) { "" } else { "a " };
        match (function, self) {
            (Some(function), Subject::Check(_) | Subject::Generated(_) | Subject::Default(_)) => {
                Error::new(codes.1, b"HY000", format!("{what} contains {article}disallowed function: {function}."))
            }
            _ => Error::new(codes.0, b"HY000", format!("{what} contains {article}disallowed function.")),
        }
    }

    fn variable(self) -> Error {
        let (code, text) = match self {
            Subject::Check(name) => (
                3816,
                format!("An expression of a check constraint '{name}' cannot refer to a user or system variable."),
            ),
            Subject::Generated(name) => {
                (3765, format!("Expression of generated column '{name}' cannot refer user or system variables."))
            }
            Subject::Default(name) => {
                (3772, format!("Default value expression of column '{name}' cannot refer user or system variables."))
            }
            Subject::Index(_) => return self.disallowed(None),
        };
        Error::new(code, b"HY000", text)
    }

    fn row_value(self) -> Error {
        let (code, text) = match self {
            Subject::Check(name) => (3817, format!("Check constraint '{name}' cannot refer to a row value.")),
            Subject::Generated(name) => {
                (3764, format!("Expression of generated column '{name}' cannot refer to a row value."))
            }
            Subject::Default(name) => {
                (3771, format!("Default value expression of column '{name}' cannot refer to a row value."))
            }
            Subject::Index(name) => {
                (3760, format!("Expression of functional index '{name}' cannot refer to a row value."))
            }
        };
        Error::new(code, b"HY000", text)
    }

    fn auto_increment(self) -> Error {
        let (code, text) = match self {
            Subject::Check(name) => {
                (3818, format!("Check constraint '{name}' cannot refer to an auto-increment column."))
            }
            Subject::Generated(name) => {
                (3109, format!("Generated column '{name}' cannot refer to auto-increment column."))
            }
            Subject::Default(name) => {
                (3768, format!("Default value expression of column '{name}' cannot refer to an auto-increment column."))
            }
            Subject::Index(name) => {
                (3754, format!("Functional index '{name}' cannot refer to an auto-increment column."))
            }
        };
        Error::new(code, b"HY000", text)
    }

    fn unknown_column(self, column: &str) -> Error {
        match self {
            Subject::Check(name) => {
                let text = format!("Check constraint '{name}' refers to non-existing column '{column}'.");
                Error::new(3820, b"HY000", text)
            }
            Subject::Generated(_) => Error::unknown_column(column, "generated column function"),
            Subject::Default(_) => Error::unknown_column(column, "default value expression"),
            Subject::Index(_) => Error::unknown_column(column, "functional index"),
        }
    }

    /// Whether the same row must always give the same value.
    fn is_certain(self) -> bool {
        !matches!(self, Subject::Default(_))
    }
}

fn is_uncertain(name: &str, args: usize) -> bool {
    UNCERTAIN.contains(&name)
        || name == "unix_timestamp" && args == 0
        || functions::find(name).is_ok_and(|function| !function.deterministic)
}

/// The stored form of an expression over the columns of a table.
pub fn store(
    context: &Context<'_>,
    written: &Expr,
    subject: Subject<'_>,
    table: &str,
    columns: &[Column],
) -> Result<Stored> {
    if matches!(written, Expr::Row(_)) {
        return Err(subject.row_value());
    }
    let mut expr = written.clone();
    let mut reads = Vec::new();
    // An array is all that a part of an index is, or it is not.
    let mut arrays_left = usize::from(matches!((written, subject), (Expr::CastArray { .. }, Subject::Index(_))));
    expr.walk_mut(&mut |expr| {
        match expr {
            Expr::Column(name) => {
                let is_own = name.table.as_ref().is_none_or(|of| of == table);
                let found =
                    columns.iter().position(|column| !column.is_hidden() && same_name(&column.name, &name.name));
                let Some(at) = found.filter(|_| is_own) else { return Err(subject.unknown_column(&name.name)) };
                if columns[at].auto_increment {
                    return Err(subject.auto_increment());
                }
                (name.database, name.table, name.name) = (None, None, columns[at].name.to_string());
                if !reads.contains(&at) {
                    reads.push(at);
                }
            }
            Expr::Parameter(_) | Expr::UserVariable(_) | Expr::SystemVariable { .. } | Expr::Assign(..) => {
                return Err(subject.variable());
            }
            Expr::Subquery(_) | Expr::Exists(_) | Expr::InQuery { .. } | Expr::Quantified { .. } => {
                return Err(subject.disallowed(None));
            }
            Expr::CastArray { .. } => match arrays_left.checked_sub(1) {
                Some(left) => arrays_left = left,
                None => return Err(Error::array_outside_of_index()),
            },
            Expr::Aggregate(_) => return Err(Error::invalid_group_function()),
            Expr::StoredFunction { database, name, .. } => {
                return Err(subject.disallowed(Some(&format!("`{database}`.`{name}`"))));
            }
            Expr::Function { name, .. } if is_stored(context, name) => {
                return Err(subject.disallowed(Some(&format!("`{name}`"))));
            }
            Expr::Function { name, args } if subject.is_certain() && is_uncertain(name, args.len()) => {
                return Err(subject.disallowed(Some(name)));
            }
            Expr::Sequence(call) => {
                if subject.is_certain() {
                    return Err(subject.disallowed(Some(call.function.name())));
                }
                check_sequence(context, call)?;
            }
            Expr::DefaultOf(_) | Expr::Default => return Err(subject.disallowed(Some("default"))),
            Expr::ValuesOf(_) => return Err(subject.disallowed(Some("values"))),
            // What the session's mode decides is written out.
            Expr::Like { escape, .. } if escape.is_none() && context.eval.mode.has(SqlMode::NO_BACKSLASH_ESCAPES) => {
                *escape = Some(Box::new(Expr::string("")));
            }
            _ => {}
        }
        Ok(())
    })?;
    let text = print::expression(&expr, context.eval.client)?;
    let bound = row_rules::bind(context.eval, columns, &text)?;
    Ok(Stored { text: text.into(), bound, reads })
}

/// The sequence of a default is named with its database. It is there, and may be used by who defines the default.
fn check_sequence(context: &Context<'_>, call: &mut SequenceCall) -> Result<()> {
    let database = database_of(&call.sequence, context.database)?.to_owned();
    let name = call.sequence.name.as_str();
    let own = context.wait.temporary_table(&database, name);
    if own.is_none() {
        let insert = if call.function.changes() { Privileges::INSERT } else { Privileges::NONE };
        context.rights.need_table(Privileges::SELECT | insert, &database, name)?;
    }
    let table = own.or_else(|| context.instance.engine.table(&database, name));
    match table {
        Some(table) if sequences::is_sequence(&table) => {}
        Some(_) => return Err(Error::not_a_sequence(&database, name)),
        // As the parents of foreign keys: a dump may create it later.
        None if !context.settings.foreign_key_checks => {}
        None => return Err(Error::no_such_table(&database, name)),
    }
    call.sequence.database = Some(database);
    Ok(())
}

/// Whether a name is that of a stored function of the current database.
fn is_stored(context: &Context<'_>, name: &str) -> bool {
    let engine = &context.instance.engine;
    !functions::is_known(name)
        && context.database.is_some_and(|database| {
            engine.definition(DefinitionKind::Function, database, &name.to_lowercase()).is_some()
        })
}

/// The columns that a stored expression names.
pub fn names(text: &str) -> Result<Vec<String>> {
    let mut names = Vec::new();
    parse_expression(text.as_bytes(), SqlMode::DEFAULT)?.walk_mut(&mut |expr| {
        if let Expr::Column(name) = expr {
            names.push(name.name.clone());
        }
        Ok(())
    })?;
    Ok(names)
}

/// Whether a written expression is a condition, as a CHECK constraint must be.
pub fn is_condition(expr: &Expr) -> bool {
    match expr {
        Expr::Binary { op, .. } => !matches!(
            op,
            BinaryOp::BitOr
                | BinaryOp::BitAnd
                | BinaryOp::BitXor
                | BinaryOp::ShiftLeft
                | BinaryOp::ShiftRight
                | BinaryOp::Add
                | BinaryOp::Subtract
                | BinaryOp::Multiply
                | BinaryOp::Divide
                | BinaryOp::IntegerDivide
                | BinaryOp::Modulo
                | BinaryOp::Concat
                | BinaryOp::JsonExtract
                | BinaryOp::JsonUnquote
        ),
        Expr::Unary { op: UnaryOp::Not, .. }
        | Expr::IsNull { .. }
        | Expr::IsTruth { .. }
        | Expr::Between { .. }
        | Expr::InList { .. }
        | Expr::Like { .. }
        | Expr::Regexp { .. }
        // Refused by what they are, and not because they were no conditions.
        | Expr::InQuery { .. }
        | Expr::Exists(_)
        | Expr::Quantified { .. }
        | Expr::Subquery(_)
        | Expr::StoredFunction { .. }
        | Expr::Sequence(_)
        | Expr::Row(_)
        | Expr::Unsupported(_)
        | Expr::Literal(Literal::Bool(_)) => true,
        Expr::Function { name, args } => CONDITIONS.contains(&name.as_str()) || is_uncertain(name, args.len()),
        _ => false,
    }
}
