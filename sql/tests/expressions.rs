//! Expressions by script: what MySQL's users may rely on, readable side by side.
//!
//! `sql/tests/expressions/*.test` hold prose and lines of three forms:
//!
//! ```text
//! # Division of integers is exact, with four more digits than the dividend.
//! 1 / 3 => 0.3333
//! 1 / 0 => NULL  [1365 Division by 0]
//! 9223372036854775807 + 1 => error 1690 (22003): BIGINT value is out of range in '...'
//!
//! # Into a column: strict, then lenient, which is said with a question mark.
//! TINYINT <- 300 => error 1264 (22003): ...
//! TINYINT <-? 300 => 127  [1264 ...]
//!
//! # An aggregate over the rows of one column.
//! AVG(x) OVER 1, 2, NULL => 1.5000
//! ```
//!
//! The expected values were compared with a running MariaDB 10.11 where it and MySQL 8.0 agree, and with MySQL's
//! manual where they do not. Run with `GLASSINE_ACCEPT=1` to write what is answered now, and read the difference.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use format::collation::CollationId;
use format::value::{ColumnType, LobSize, Value};
use sql::error::{Error, Result};
use sql::expression::assign::Target;
use sql::expression::{
    AggregateCall, AssignMode, Binder, Datum, EvalContext, Expr, Fields, Memory, NoFields, NoScope, Node, Scope,
    SessionState, Warnings, assign, parameter_type,
};
use sql::parser;
use sql::parser::ast::{ColumnName, VariableScope};
use sql::types::{SqlMode, TypeInfo};

/// 2024-06-01 00:00:00 UTC.
const NOW_SECONDS: i64 = 1_717_200_000;

#[derive(Default)]
struct TestSession {
    variables: RefCell<HashMap<String, (Value, TypeInfo)>>,
    memory: Memory,
}

impl SessionState for TestSession {
    fn user_variable(&self, name: &str) -> Option<(Value, TypeInfo)> {
        self.variables.borrow().get(name).cloned()
    }
    fn set_user_variable(&self, name: &str, value: Value, ty: TypeInfo) {
        self.variables.borrow_mut().insert(name.into(), (value, ty));
    }
    fn system_variable(&self, _scope: Option<VariableScope>, name: &str) -> Result<Value> {
        match name {
            "max_connections" => Ok(Value::Int(151)),
            "block_encryption_mode" => Ok(Value::Bytes(b"aes-128-ecb".to_vec())),
            _ => Err(Error::unknown_variable(name)),
        }
    }
    fn database(&self) -> Option<String> {
        None
    }
    fn user(&self) -> String {
        "root@localhost".into()
    }
    fn current_user(&self) -> String {
        "root@%".into()
    }
    fn version(&self) -> String {
        "8.0.36-glassine".into()
    }
    fn connection_id(&self) -> u64 {
        8
    }
    fn last_insert_id(&self) -> u64 {
        17
    }
    fn set_last_insert_id(&self, _id: u64) {}
    fn row_count(&self) -> i64 {
        -1
    }
    fn found_rows(&self) -> u64 {
        0
    }
    fn sleep(&self, _duration: Duration) -> bool {
        false
    }
    fn is_interrupted(&self) -> bool {
        false
    }
    fn memory(&self) -> &Memory {
        &self.memory
    }
}

/// One column called x.
struct OneColumn(TypeInfo);

impl Scope for OneColumn {
    fn column(&self, name: &ColumnName) -> Result<Expr> {
        match name.name.as_str() {
            "x" => Ok(Expr::slot(0, self.0)),
            other => Err(Error::unknown_column(other, "field list")),
        }
    }
}

/// The same, where aggregates may stand: those found so far.
struct Aggregating(OneColumn, RefCell<Vec<AggregateCall>>);

impl Scope for Aggregating {
    fn column(&self, name: &ColumnName) -> Result<Expr> {
        self.0.column(name)
    }

    fn aggregate(&self, written: &parser::ast::Aggregate) -> Result<Expr> {
        let session = TestSession::default();
        let call = binder(&self.0, &session).aggregate_call(written)?;
        let ty = call.ty;
        let mut calls = self.1.borrow_mut();
        calls.push(call);
        Ok(Expr { node: Node::Aggregate(calls.len() - 1), ty })
    }
}

fn binder<'a>(scope: &'a dyn Scope, session: &'a TestSession) -> Binder<'a> {
    Binder::new(scope, session, SqlMode::DEFAULT, CollationId::UTF8MB4_GENERAL_CI, &[])
}

fn bind(text: &str, scope: &dyn Scope, session: &TestSession) -> Result<Expr> {
    let parsed = parser::parse_expression(text.as_bytes(), SqlMode::DEFAULT)?;
    binder(scope, session).bind(&parsed)
}

fn shown(value: &Value, ty: &TypeInfo) -> String {
    if value.is_null() {
        assert!(ty.nullable, "a type that is not null gave NULL");
        return "NULL".into();
    }
    let mut text = Vec::new();
    Datum::from(value).write_text(ty, &mut text);
    text.iter()
        .map(|byte| if byte.is_ascii_control() { '.' } else { *byte as char })
        .collect::<String>()
        .pipe_utf8(&text)
}

/// Text as it is, unless it is binary.
trait PipeUtf8 {
    fn pipe_utf8(self, original: &[u8]) -> String;
}

impl PipeUtf8 for String {
    fn pipe_utf8(self, original: &[u8]) -> String {
        match std::str::from_utf8(original) {
            Ok(text) if !text.bytes().any(|byte| byte.is_ascii_control()) => text.to_string(),
            _ => original.iter().map(|byte| format!("\\x{byte:02x}")).collect(),
        }
    }
}

/// What a line answers: a value or an error, and the warnings.
fn answer(line: &str) -> String {
    let session = TestSession::default();
    let warnings = Warnings::default();
    let mut context = EvalContext::new(&session, &warnings);
    context.now_seconds = NOW_SECONDS;
    context.now_micros = 123_456;
    let result = if let Some((ty, expr)) = line.split_once(" <-? ") {
        into_column(ty, expr, AssignMode::Lenient, &context, &session)
    } else if let Some((ty, expr)) = line.split_once(" <- ") {
        into_column(ty, expr, AssignMode::Strict, &context, &session)
    } else if let Some((aggregate, rows)) = line.split_once(" OVER ") {
        over_rows(aggregate, rows, &context, &session)
    } else {
        bind(line, &NoScope, &session).and_then(|expr| Ok(shown(&expr.value(&context, &NoFields)?, &expr.ty)))
    };
    let mut answer = match result {
        Ok(value) => value,
        Err(error) => format!("error {} ({}): {}", error.code, error.state(), error.message),
    };
    for warning in warnings.list() {
        answer.push_str(&format!("  [{} {}]", warning.code, warning.message));
    }
    answer
}

fn into_column(
    ty: &str,
    expr: &str,
    mode: AssignMode,
    context: &EvalContext<'_>,
    session: &TestSession,
) -> Result<String> {
    let nullable = !ty.ends_with(" NOT NULL");
    let column = column_type(ty.trim_end_matches(" NOT NULL"));
    let expr = bind(expr, &NoScope, session)?;
    let target = Target { name: "c", ty: &column, nullable };
    let value = assign(expr.eval(context, &NoFields)?, &expr.ty, &target, mode, 1, context)?;
    if !value.is_null() {
        let mut stored = Vec::new();
        assign::encode(value.by_ref(), &column, &mut stored)?;
        let decoded = column.decode(&stored);
        return Ok(shown(&decoded, &TypeInfo::of_column(&column, true)));
    }
    Ok("NULL".into())
}

fn column_type(name: &str) -> ColumnType {
    let collation = CollationId::UTF8MB4_GENERAL_CI;
    let members = |list: &str| -> Arc<[Box<str>]> { list.split(',').map(Box::from).collect() };
    let (word, args) = match name.split_once('(') {
        Some((word, rest)) => (word, rest.split(')').next().unwrap_or("")),
        None => (name.split(' ').next().unwrap_or(""), ""),
    };
    let unsigned = name.contains("UNSIGNED");
    let number = |index: usize| args.split(',').nth(index).and_then(|n| n.trim().parse::<u32>().ok()).unwrap_or(0);
    match word {
        "TINYINT" => ColumnType::Int { bytes: 1, unsigned },
        "SMALLINT" => ColumnType::Int { bytes: 2, unsigned },
        "INT" => ColumnType::Int { bytes: 4, unsigned },
        "BIGINT" => ColumnType::Int { bytes: 8, unsigned },
        "YEAR" => ColumnType::Year,
        "BIT" => ColumnType::Bit { bits: number(0) as u8 },
        "FLOAT" => ColumnType::Float { unsigned, decimals: None },
        "DOUBLE" => ColumnType::Double { unsigned, decimals: None },
        "DECIMAL" => ColumnType::Decimal { precision: number(0) as u8, scale: number(1) as u8, unsigned },
        "DATE" => ColumnType::Date,
        "TIME" => ColumnType::Time { fsp: number(0) as u8 },
        "DATETIME" => ColumnType::DateTime { fsp: number(0) as u8 },
        "TIMESTAMP" => ColumnType::Timestamp { fsp: number(0) as u8 },
        "CHAR" => ColumnType::Char { chars: number(0), collation },
        "VARCHAR" if name.contains("latin1") => {
            ColumnType::VarChar { chars: number(0), collation: CollationId::LATIN1_SWEDISH_CI }
        }
        "VARCHAR" => ColumnType::VarChar { chars: number(0), collation },
        "VARBINARY" => ColumnType::VarBinary { bytes: number(0) },
        "BINARY" => ColumnType::Binary { bytes: number(0) },
        "TINYTEXT" => ColumnType::Text { size: LobSize::Tiny, collation },
        "JSON" => ColumnType::Json,
        "ENUM" => ColumnType::Enum { members: members(args), collation },
        "SET" => ColumnType::Set { members: members(args), collation },
        other => panic!("a test uses the type {other}"),
    }
}

fn over_rows(aggregate: &str, rows: &str, context: &EvalContext<'_>, session: &TestSession) -> Result<String> {
    let mut values = Vec::new();
    let mut ty = TypeInfo::NULL;
    for row in rows.split(", ") {
        let expr = bind(row, &NoScope, session)?;
        let value = expr.value(context, &NoFields)?;
        if !value.is_null() {
            ty = TypeInfo { length: ty.length.max(expr.ty.length), ..expr.ty };
        }
        values.push(value);
    }
    let scope = Aggregating(OneColumn(ty.nullable(true)), RefCell::default());
    let expr = bind(aggregate, &scope, session)?;
    let calls = scope.1.take();
    let mut results = Vec::new();
    for call in &calls {
        let mut accumulator = call.start();
        for value in &values {
            accumulator.add(call, context, &vec![value.clone()])?;
        }
        results.push(accumulator.finish(call, context)?);
    }
    Ok(shown(&expr.value(context, &Group(results))?, &expr.ty))
}

struct Group(Vec<Value>);

impl Fields for Group {
    fn field(&self, _slot: usize) -> Datum<'_> {
        Datum::Null
    }
    fn aggregate(&self, index: usize) -> Datum<'_> {
        Datum::from(&self.0[index])
    }
}

#[test]
fn expressions_answer_as_the_scripts_say() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/expressions");
    let accept = std::env::var_os("GLASSINE_ACCEPT").is_some();
    let mut wrong = Vec::new();
    let mut lines = 0;
    let mut files: Vec<_> =
        std::fs::read_dir(&folder).expect("the scripts").map(|entry| entry.unwrap().path()).collect();
    files.sort();
    for file in files {
        let script = std::fs::read_to_string(&file).unwrap();
        let mut written = String::new();
        for line in script.lines() {
            if line.is_empty() || line.starts_with('#') {
                written.push_str(line);
            } else {
                let (question, expected) = line.split_once(" => ").unwrap_or((line, ""));
                let answer = answer(question);
                lines += 1;
                if answer != expected {
                    wrong.push(format!("{question}\n  expected {expected}\n  answered {answer}"));
                }
                written.push_str(&format!("{question} => {answer}"));
            }
            written.push('\n');
        }
        if accept {
            std::fs::write(&file, written).unwrap();
        }
    }
    assert!(lines > 300, "only {lines} lines of scripts");
    assert!(accept || wrong.is_empty(), "{} of {lines} lines:\n{}", wrong.len(), wrong.join("\n"));
}

/// Evaluation never panics, whatever is put together: random trees of literals, operators and functions.
#[test]
fn random_expressions_never_panic() {
    let literals = [
        "NULL",
        "0",
        "1",
        "-1",
        "9223372036854775807",
        "-9223372036854775808",
        "18446744073709551615",
        "1.5",
        "-0.001",
        "99999999999999999999999999999999999.999999999",
        "1e308",
        "-1e-300",
        "''",
        "'abc'",
        "'12abc'",
        "'\u{e4}\u{1f600}'",
        "x'ff00'",
        "b'101'",
        "DATE'2024-02-29'",
        "'0000-00-00'",
        "'9999-12-31 23:59:59.999999'",
        "TIME'-838:59:59'",
        "TIMESTAMP'1970-01-01 00:00:00'",
        "_latin1'\u{e4}'",
        "CAST('x' AS BINARY(3))",
        "@a",
        "(@a := 5)",
    ];
    let functions = [
        "abs",
        "ceil",
        "floor",
        "round",
        "truncate",
        "pow",
        "sqrt",
        "exp",
        "ln",
        "log",
        "mod",
        "conv",
        "format",
        "bin",
        "hex",
        "unhex",
        "concat",
        "concat_ws",
        "substring",
        "left",
        "right",
        "lpad",
        "rpad",
        "insert",
        "replace",
        "reverse",
        "instr",
        "locate",
        "elt",
        "field",
        "find_in_set",
        "make_set",
        "quote",
        "soundex",
        "substring_index",
        "strcmp",
        "ascii",
        "ord",
        "char_length",
        "upper",
        "trim",
        "ltrim",
        "if",
        "ifnull",
        "nullif",
        "coalesce",
        "greatest",
        "least",
        "interval",
        "isnull",
        "date",
        "time",
        "timestamp",
        "year",
        "month",
        "week",
        "yearweek",
        "dayofyear",
        "last_day",
        "datediff",
        "timediff",
        "addtime",
        "subtime",
        "to_days",
        "from_days",
        "to_seconds",
        "unix_timestamp",
        "from_unixtime",
        "sec_to_time",
        "time_to_sec",
        "makedate",
        "maketime",
        "period_add",
        "period_diff",
        "date_format",
        "time_format",
        "str_to_date",
        "md5",
        "sha2",
        "crc32",
        "to_base64",
        "from_base64",
        "inet_aton",
        "inet_ntoa",
        "collation",
        "charset",
        "date_add",
        "char",
        "repeat",
        "space",
        "bit_count",
        "export_set",
        "weekday",
        "quarter",
        "dayname",
        "microsecond",
        "rand",
        "atan",
        "cot",
        "degrees",
    ];
    let operators =
        ["+", "-", "*", "/", "DIV", "%", "&", "|", "^", "<<", ">>", "=", "<=>", "<", "LIKE", "AND", "XOR", "REGEXP"];
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let mut next = move |limit: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 33) as usize % limit
    };
    fn tree(depth: usize, next: &mut dyn FnMut(usize) -> usize, pools: (&[&str], &[&str], &[&str])) -> String {
        let (literals, functions, operators) = pools;
        if depth == 0 || next(4) == 0 {
            return literals[next(literals.len())].to_string();
        }
        let part = |next: &mut dyn FnMut(usize) -> usize| tree(depth - 1, next, pools);
        match next(8) {
            0..=2 => format!("({} {} {})", part(next), operators[next(operators.len())], part(next)),
            3 => format!(
                "CAST({} AS {})",
                part(next),
                ["SIGNED", "DECIMAL(65,30)", "TIME(6)", "CHAR(2)", "DATETIME"][next(5)]
            ),
            4 => format!(
                "({} + INTERVAL {} {})",
                part(next),
                part(next),
                ["DAY", "YEAR", "MINUTE_SECOND", "MICROSECOND"][next(4)]
            ),
            _ => {
                let count = 1 + next(4);
                let args: Vec<String> = (0..count).map(|_| part(next)).collect();
                format!("{}({})", functions[next(functions.len())], args.join(", "))
            }
        }
    }
    for _ in 0..20_000 {
        let text = tree(3, &mut next, (&literals, &functions, &operators));
        let session = TestSession::default();
        let warnings = Warnings::default();
        let mut context = EvalContext::new(&session, &warnings);
        context.now_seconds = NOW_SECONDS;
        context.max_allowed_packet_bytes = 1 << 16;
        let Ok(expr) = bind(&text, &NoScope, &session) else { continue };
        let result = expr.value(&context, &NoFields);
        let is_null = result.as_ref().is_ok_and(|value| value.is_null());
        assert!(!is_null || expr.ty.nullable, "{text} is NULL, and its type says it cannot be");
        if let Ok(value) = result {
            // What leaves an expression can be rendered by the column type that the client is told.
            let ty = expr.ty.column_type();
            let mut out = Vec::new();
            if !value.is_null() {
                ty.write_value_text(&value, &mut out);
            }
        }
    }
}

/// A plan is bound with parameters of some kinds and may meet values of others.
#[test]
fn parameters_of_any_kind_compare_by_value() {
    let session = TestSession::default();
    let warnings = Warnings::default();
    let mut binder = Binder::new(&NoScope, &session, SqlMode::DEFAULT, CollationId::UTF8MB4_GENERAL_CI, &[]);
    let parsed = parser::parse_expression(b"? = ?", SqlMode::DEFAULT).unwrap();
    let expr = binder.bind(&parsed).unwrap();
    for (left, right, equal) in [
        (Value::Int(5), Value::Bytes(b"5".to_vec()), Some(true)),
        (Value::Bytes(b"A".to_vec()), Value::Bytes(b"a ".to_vec()), Some(true)),
        (Value::Int(-1), Value::UInt(u64::MAX), Some(false)),
        (Value::Null, Value::Int(1), None),
    ] {
        assert!(parameter_type(&left, CollationId::UTF8MB4_GENERAL_CI).length < 70_000);
        let parameters = [left, right];
        let context = EvalContext { parameters: &parameters, ..EvalContext::new(&session, &warnings) };
        assert_eq!(expr.truth(&context, &NoFields).unwrap(), equal, "{parameters:?}");
    }
}

/// What the parser lets through is shallow enough for all that walk the tree after it.
#[test]
fn the_deepest_expressions_are_evaluated_on_a_small_stack() {
    let deepest = [
        format!("1{}", "+1".repeat(248)),
        format!("{}1{}", "(".repeat(120), ")".repeat(120)),
        format!("{}1{}", "ABS(".repeat(120), ")".repeat(120)),
        format!("{}1{}", "IF(1,".repeat(120), ",1)".repeat(120)),
        format!("{}1{}", "CASE WHEN 1 THEN ".repeat(120), " END".repeat(120)),
        format!("{}1", "- ".repeat(240)),
        format!("0{}", " OR 0".repeat(20_000)),
    ];
    for text in deepest {
        let answered = std::thread::Builder::new().stack_size(1 << 20).spawn({
            let text = text.clone();
            move || answer(&text)
        });
        let answer = answered.unwrap().join().unwrap();
        assert!(!answer.contains("error"), "{answer} for {}", &text[..40]);
    }
}
