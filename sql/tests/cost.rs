//! What a prepared point statement allocates when everything is warm. A binary of its own, since its allocator counts.
//!
//! The engine's part of an UPDATE allocates nothing (`storage/tests/cost.rs`); what is counted here is what the session, the
//! plan and the executor add: a list of the row's sources, the text of an UPDATE's answer, a string that is converted.

mod common;

use allocation_counter::measure;
use format::packet::ColumnDefinition;
use format::value::{ColumnType, Value};
use sql::result::StoredColumn;
use sql::{Error, OkSummary, ResultSink, Session};
use storage::config::FlushLogAtCommit;
use storage::{Config, Row};

/// Takes answers and keeps nothing of them but whether there was an error.
#[derive(Default)]
struct Silent {
    failed: bool,
}

impl ResultSink for Silent {
    fn columns(&mut self, _: &[ColumnDefinition]) {}
    fn row(&mut self, _: &[Value], _: &[ColumnType]) {}
    fn row_stored(&mut self, _: &Row, _: &[StoredColumn], _: format::value::Zone) {}
    fn ok(&mut self, _: &OkSummary<'_>) {}
    fn error(&mut self, _: &Error) {
        self.failed = true;
    }
}

/// The fewest allocations of 50 executions: lists that many share grow now and then.
fn fewest(session: &mut Session, text: &str, parameters: impl Fn(u64) -> Vec<Value>) -> (u64, u64) {
    let id = session.prepare(text.as_bytes()).expect(text).id;
    let mut sink = Silent::default();
    let mut fewest = (u64::MAX, 0);
    for turn in 0..100 {
        let given = parameters(turn);
        let seen = measure(|| session.execute(id, &given, &mut sink));
        assert!(!sink.failed, "{text}");
        if turn >= 50 {
            fewest = fewest.min((seen.count_total, seen.bytes_total));
        }
    }
    fewest
}

#[test]
fn prepared_point_statements_allocate_little() {
    let scratch = common::Scratch::new("cost");
    let flush_log_at_commit = FlushLogAtCommit::EverySecond;
    let config = Config { pool_bytes: 64 << 20, log_bytes: 64 << 20, flush_log_at_commit, ..Config::tiny() };
    let instance = common::instance(&scratch.0, config);
    let mut session = common::session(&instance);
    common::ask(
        &mut session,
        "CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, k INT NOT NULL, c CHAR(120) NOT NULL, KEY (k))",
    );
    for id in 1..=200 {
        let lines = common::ask(&mut session, &format!("INSERT INTO t VALUES ({id}, {id}, 'x')"));
        assert!(lines[0].starts_with('='), "{lines:?}");
    }
    let text = |turn: u64| Value::Bytes(format!("text {turn:>20}").into_bytes());
    let id = |turn: u64| Value::Int(1 + turn as i64);
    let mut seen = Vec::new();
    let mut run = |what: &'static str, statement: &str, parameters: &dyn Fn(u64) -> Vec<Value>| {
        seen.push((what, fewest(&mut session, statement, parameters)));
    };
    run("SELECT", "SELECT c FROM t WHERE id = ?", &|turn| vec![id(turn)]);
    run("UPDATE, no index", "UPDATE t SET c = ? WHERE id = ?", &|turn| vec![text(turn), id(turn)]);
    run("UPDATE, index", "UPDATE t SET k = k + 1 WHERE id = ?", &|turn| vec![id(turn)]);
    run("DELETE", "DELETE FROM t WHERE id = ?", &|turn| vec![id(turn)]);
    run("INSERT", "INSERT INTO t VALUES (?, ?, ?)", &|turn| vec![id(turn), id(turn), text(turn)]);
    println!("allocations, bytes: {seen:?}");
    // The inserts meet what is left of the rows deleted before, which makes each an update as well.
    let most = [("SELECT", 2), ("UPDATE, no index", 4), ("UPDATE, index", 4), ("DELETE", 2), ("INSERT", 20)];
    for ((what, (count, _)), (_, most)) in seen.iter().zip(most) {
        assert!(*count <= most, "{what}: {count} allocations: {seen:?}");
    }
    drop(session);
    instance.engine.close().unwrap();
}
