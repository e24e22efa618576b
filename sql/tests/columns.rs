//! What clients are told of the columns of a result, beside their names: drivers choose types by it.

mod common;

use format::packet::{ColumnDefinition, ColumnKind, column_flags};
use format::value::{ColumnType, Date, DateTime, Value, Zone};
use sql::result::StoredColumn;
use sql::{Error, OkSummary, ResultSink};
use storage::{Config, Row};

use common::{Scratch, ask, instance, session};

#[derive(Default)]
struct Told {
    columns: Vec<ColumnDefinition>,
    values: Vec<String>,
}

impl ResultSink for Told {
    fn columns(&mut self, columns: &[ColumnDefinition]) {
        self.columns = columns.to_vec();
    }

    fn row(&mut self, values: &[Value], types: &[ColumnType]) {
        for (value, ty) in values.iter().zip(types) {
            let mut out = Vec::new();
            ty.write_value_text(value, &mut out);
            self.values.push(String::from_utf8(out).expect("a text"));
        }
    }

    fn row_stored(&mut self, _: &Row, _: &[StoredColumn], _: Zone) {}

    fn ok(&mut self, _: &OkSummary<'_>) {}

    fn error(&mut self, error: &Error) {
        panic!("{error}");
    }
}

fn collation(session: &mut sql::Session) -> u16 {
    let mut told = Told::default();
    session.query(b"SELECT 'a'", &mut told);
    told.columns[0].collation
}

#[test]
fn texts_have_the_collation_that_set_names_says() {
    let scratch = Scratch::new("columns-names");
    let instance = instance(&scratch.0, Config::tiny());
    let mut session = session(&instance);
    for (statement, expected) in [
        ("SET NAMES utf8mb4 COLLATE utf8mb4_unicode_ci", 224),
        ("SET NAMES utf8mb4 COLLATE utf8mb4_bin", 46),
        ("SET NAMES latin1", 8),
        ("SET character_set_results = utf8mb3", 33),
    ] {
        ask(&mut session, statement);
        assert_eq!(collation(&mut session), expected, "{statement}");
    }
}

#[test]
fn explain_tells_which_of_its_columns_have_values() {
    let scratch = Scratch::new("columns-explain");
    let instance = instance(&scratch.0, Config::tiny());
    let mut session = session(&instance);
    let mut told = Told::default();
    session.query(b"EXPLAIN SELECT 1", &mut told);
    for column in &told.columns {
        let has_values = matches!(&*column.name, "id" | "select_type" | "Extra");
        assert_eq!(column.flags & column_flags::NOT_NULL != 0, has_values, "{}", column.name);
        assert_eq!(column.kind == ColumnKind::MediumBlob, &*column.name == "partitions", "{}", column.name);
    }
}

#[test]
fn a_placeholder_for_a_moment_has_all_digits_in_unix_timestamp() {
    let scratch = Scratch::new("columns-moment");
    let instance = instance(&scratch.0, Config::tiny());
    let mut session = session(&instance);
    ask(&mut session, "SET time_zone = '+00:00'");
    let prepared = session.prepare(b"SELECT UNIX_TIMESTAMP(?)").expect("a statement");
    let moment = DateTime::new(Date::new(1990, 1, 1), 0, 0, 0, 0);
    let mut told = Told::default();
    session.execute(prepared.id, &[Value::DateTime(moment)], &mut told);
    assert_eq!(told.values, ["631152000.000000"]);
    assert_eq!((told.columns[0].kind, told.columns[0].decimals), (ColumnKind::NewDecimal, 6));
    // A column's moment has as many as the column.
    ask(&mut session, "CREATE TABLE t (d DATETIME(2))");
    ask(&mut session, "INSERT INTO t VALUES ('1990-01-01 00:00:00.25')");
    let mut told = Told::default();
    session.query(b"SELECT (SELECT UNIX_TIMESTAMP(t.d)) FROM t", &mut told);
    assert_eq!(told.values, ["631152000.25"]);
}
