//! Stored programs by what must hold of any of them: a function is the expression that it wraps, an audit trigger has
//! written what has changed, and a procedure that is replaced while others call it is one version or the other.

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use sql::Session;
use sql::scheduler::Scheduler;
use storage::{Config, Kill};

use common::random::{Random, first_seed};
use common::{Scratch, ask, instance, session, session_of};

fn run(session: &mut Session, statement: &str) -> Vec<String> {
    let lines = ask(session, statement);
    assert!(!lines.iter().any(|line| line.starts_with("! ")), "{statement}: {lines:?}");
    lines
}

/// The rows of an answer, without its names.
fn rows(lines: Vec<String>) -> Vec<String> {
    lines.into_iter().skip(1).filter(|line| line.starts_with("| ")).collect()
}

#[test]
fn a_function_equals_the_expression_that_it_wraps() {
    let scratch = Scratch::new("programs-wrap");
    let instance = instance(&scratch.0, Config::tiny());
    let mut session = session(&instance);
    run(&mut session, "CREATE TABLE t (id INT PRIMARY KEY, i INT, s VARCHAR(20), m DECIMAL(10,2), w DATETIME)");
    run(
        &mut session,
        "INSERT INTO t VALUES (1, 5, 'five', 5.55, '2024-01-31 10:00:00'), (2, -7, '', -0.01, NULL), (3, NULL, NULL, NULL, \
         '1999-12-31 23:59:59'), (4, 0, '12abc', 1234.5, '2000-02-29 00:00:00'), (5, 2147483647, 'ÄÖ', 99999999.99, NULL)",
    );
    let seed = first_seed();
    println!("seed {seed}");
    let mut random = Random::new(seed);
    for round in 0..120 {
        let (expr, returns) = expression(&mut random, 3);
        run(
            &mut session,
            &format!(
                "CREATE OR REPLACE FUNCTION f(i INT, s VARCHAR(20), m DECIMAL(10,2), w DATETIME) RETURNS {returns} DETERMINISTIC RETURN {expr}"
            ),
        );
        let wrapped = ask(&mut session, "SELECT f(i, s, m, w) AS v FROM t ORDER BY id");
        // The value of the expression goes through a column of the type that the function has.
        run(&mut session, &format!("CREATE OR REPLACE TABLE plain (id INT, v {returns})"));
        let inserted = ask(&mut session, &format!("INSERT INTO plain SELECT id, {expr} FROM t"));
        if inserted[0].starts_with('!') {
            assert!(
                wrapped.iter().any(|line| line.starts_with("! ")),
                "round {round}: {expr}: {inserted:?} but {wrapped:?}"
            );
            continue;
        }
        let plain = ask(&mut session, "SELECT v FROM plain ORDER BY id");
        assert_eq!(rows(wrapped), rows(plain), "round {round}: {expr} as {returns}");
        let total = format!("SELECT COUNT(*) FROM t WHERE f(i, s, m, w) <=> CAST(({expr}) AS {})", cast_of(returns));
        assert_eq!(rows(run(&mut session, &total)), ["| 5"], "round {round}: {expr} as {returns}");
    }
    drop(session);
    instance.engine.close().expect("a clean end");
}

fn cast_of(returns: &str) -> &str {
    match returns {
        "BIGINT" => "SIGNED",
        "VARCHAR(60)" => "CHAR(60)",
        other => other,
    }
}

/// An expression over i, s, m and w, and a type that it fits.
fn expression(random: &mut Random, depth: usize) -> (String, &'static str) {
    match random.below(3) {
        0 => (integer(random, depth), "BIGINT"),
        1 => (text(random, depth), "VARCHAR(60)"),
        _ => (format!("({} + 0.25)", random.one(&["m", "i % 100", "LENGTH(s)"])), "DECIMAL(20,2)"),
    }
}

fn integer(random: &mut Random, depth: usize) -> String {
    if depth == 0 {
        return random.one(&["i % 1000", "7", "LENGTH(s)", "YEAR(w)", "NULL", "FLOOR(m) % 100"]).to_owned();
    }
    let (a, b) = (integer(random, depth - 1), integer(random, depth - 1));
    match random.below(6) {
        0 => format!("({a} + {b})"),
        1 => format!("({a} * ({b} % 10))"),
        2 => format!("IF({a} > {b}, {a}, {b})"),
        3 => format!("COALESCE({a}, {b}, 1)"),
        4 => format!("CASE WHEN {a} IS NULL THEN {b} ELSE {a} - 1 END"),
        _ => format!("LENGTH({})", text(random, depth - 1)),
    }
}

fn text(random: &mut Random, depth: usize) -> String {
    if depth == 0 {
        return random.one(&["s", "'x'", "UPPER(s)", "LEFT(s, 3)", "NULL"]).to_owned();
    }
    let a = text(random, depth - 1);
    match random.below(4) {
        0 => format!("LEFT(CONCAT({a}, '-', {}), 30)", text(random, depth - 1)),
        1 => format!("IFNULL({a}, 'none')"),
        2 => format!("REVERSE({a})"),
        _ => format!("CASE {} WHEN 'x' THEN 'is x' ELSE {a} END", text(random, depth - 1)),
    }
}

/// An audit of all changes, kept by triggers, replayed gives the table: under random changes, errors in the middle of
/// statements, savepoints and rollbacks.
#[test]
fn an_audit_by_triggers_has_every_change_and_no_other() {
    let scratch = Scratch::new("programs-audit");
    let instance = instance(&scratch.0, Config::tiny());
    let mut session = session(&instance);
    session.multi_statements = true;
    run(&mut session, "CREATE TABLE t (id INT PRIMARY KEY, u INT UNIQUE, v VARCHAR(20), CHECK (v <> 'refused'))");
    run(&mut session, "CREATE TABLE other (id INT PRIMARY KEY, v VARCHAR(20))");
    run(
        &mut session,
        "CREATE TABLE audit (at INT AUTO_INCREMENT PRIMARY KEY, what CHAR(1), old_id INT, id INT, u INT, v VARCHAR(20))",
    );
    run(&mut session, "INSERT INTO other VALUES (1, 'o1'), (2, 'o2'), (3, 'o3'), (5, 'refused'), (8, 'o8')");
    for (event, values) in [
        ("INSERT", "'i', NULL, NEW.id, NEW.u, NEW.v"),
        ("UPDATE", "'u', OLD.id, NEW.id, NEW.u, NEW.v"),
        ("DELETE", "'d', OLD.id, NULL, NULL, NULL"),
    ] {
        run(
            &mut session,
            &format!(
                "CREATE TRIGGER a{event} AFTER {event} ON t FOR EACH ROW INSERT INTO audit (what, old_id, id, u, v) VALUES ({values})"
            ),
        );
    }
    run(
        &mut session,
        "CREATE TRIGGER stops AFTER INSERT ON t FOR EACH ROW FOLLOWS aINSERT \
         BEGIN IF NEW.v = 'stop' THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'stopped'; END IF; END",
    );
    let seed = first_seed();
    println!("seed {seed}");
    let mut random = Random::new(seed);
    let mut failed = 0;
    for _ in 0..400 {
        let statement = change(&mut random);
        let lines = ask(&mut session, &statement);
        failed += usize::from(lines[0].starts_with('!'));
        if random.below(20) == 0 {
            run(&mut session, "COMMIT");
            check_audit(&mut session);
        }
    }
    run(&mut session, "ROLLBACK");
    check_audit(&mut session);
    assert!(failed > 10, "too few statements failed to say something: {failed}");
    drop(session);
    instance.engine.close().expect("a clean end");
}

fn change(random: &mut Random) -> String {
    let id = |random: &mut Random| random.below(12).to_string();
    let value = |random: &mut Random| random.one(&["'a'", "'b'", "NULL", "'stop'", "'refused'", "'c'"]).to_owned();
    let row = |random: &mut Random| {
        let u = if random.below(3) == 0 { "NULL".to_owned() } else { random.below(12).to_string() };
        format!("({}, {u}, {})", random.below(12), value(random))
    };
    match random.below(16) {
        0..4 => {
            let verb = random.one(&["INSERT", "INSERT IGNORE", "REPLACE"]);
            let rows: Vec<String> = (0..=random.below(3)).map(|_| row(random)).collect();
            format!("{verb} INTO t VALUES {}", rows.join(", "))
        }
        4 => format!("INSERT INTO t VALUES {} ON DUPLICATE KEY UPDATE id = id + 1, v = 'dup'", row(random)),
        5 => "INSERT INTO t SELECT id, NULL, v FROM other".to_owned(),
        6 => format!("UPDATE t SET v = {} WHERE id > {}", value(random), id(random)),
        7 => format!("UPDATE t SET id = id + {} ORDER BY id DESC", random.below(3)),
        8 => format!("UPDATE t, other SET t.v = other.v WHERE t.id = other.id AND other.id < {}", id(random)),
        9 => format!("DELETE FROM t WHERE id = {}", id(random)),
        10 => format!("DELETE t FROM t JOIN other ON t.id = other.id WHERE other.id > {}", id(random)),
        11 => "START TRANSACTION".to_owned(),
        12 => random.one(&["COMMIT", "ROLLBACK"]).to_owned(),
        13 => "SAVEPOINT s".to_owned(),
        14 => "ROLLBACK TO s".to_owned(),
        _ => format!("UPDATE t SET u = u + 1 WHERE id < {}", id(random)),
    }
}

/// The changes of the audit one after the other, and the table.
fn check_audit(session: &mut Session) {
    let mut table = std::collections::BTreeMap::new();
    for line in rows(run(session, "SELECT what, old_id, id, u, v FROM audit ORDER BY at")) {
        let fields: Vec<&str> = line.trim_start_matches("| ").split(" | ").collect();
        if fields[0] != "i" {
            assert!(table.remove(fields[1]).is_some(), "a row that was not there: {line}");
        }
        if fields[0] != "d" {
            let row = (fields[3].to_owned(), fields[4].to_owned());
            assert!(table.insert(fields[2].to_owned(), row).is_none(), "a row that was there: {line}");
        }
    }
    let mut expected: Vec<String> = table.iter().map(|(id, (u, v))| format!("| {id} | {u} | {v}")).collect();
    let mut found = rows(run(session, "SELECT id, u, v FROM t"));
    expected.sort();
    found.sort();
    assert_eq!(found, expected);
}

/// One session replaces a procedure and a function again and again; others, which use them, see one version or the other,
/// whole.
#[test]
fn a_program_is_replaced_while_others_run_it() {
    let scratch = Scratch::new("programs-replace");
    let instance = instance(&scratch.0, Config::tiny());
    let mut session = session(&instance);
    run(&mut session, "CREATE TABLE t (a INT, b INT)");
    let define = |session: &mut Session, n: usize| {
        run(
            session,
            &format!(
                "CREATE OR REPLACE PROCEDURE p() BEGIN SET @a = {n}; INSERT INTO t VALUES ({n}, f()); SET @b = {n}; END"
            ),
        );
        run(session, &format!("CREATE OR REPLACE FUNCTION f() RETURNS INT NO SQL RETURN {n}"));
    };
    run(&mut session, "CREATE FUNCTION f() RETURNS INT NO SQL RETURN 0");
    define(&mut session, 0);
    let done = Arc::new(AtomicBool::new(false));
    let callers: Vec<_> = (0..2)
        .map(|_| {
            let (instance, done) = (instance.clone(), done.clone());
            std::thread::spawn(move || {
                let mut session = common::session(&instance);
                let mut calls = 0;
                while !done.load(Ordering::Relaxed) {
                    run(&mut session, "CALL p()");
                    let seen = rows(run(&mut session, "SELECT @a = @b, f() >= 0"));
                    assert_eq!(seen, ["| 1 | 1"]);
                    calls += 1;
                }
                calls
            })
        })
        .collect();
    let end = Instant::now() + Duration::from_secs(2);
    let mut versions = 1;
    while Instant::now() < end {
        define(&mut session, versions);
        versions += 1;
    }
    done.store(true, Ordering::Relaxed);
    let calls: i32 = callers.into_iter().map(|caller| caller.join().expect("a caller")).sum();
    assert!(versions > 5 && calls > 5, "{versions} versions, {calls} calls");
    let pairs = rows(run(&mut session, "SELECT COUNT(*) FROM t WHERE ABS(a - b) > 1"));
    println!("{versions} versions, {calls} calls, further apart: {pairs:?}");
    drop(session);
    instance.engine.close().expect("a clean end");
}

/// KILL QUERY ends an endless loop, and a function inside of a statement, whose changes are undone.
#[test]
fn a_kill_ends_programs() {
    let scratch = Scratch::new("programs-kill");
    let instance = instance(&scratch.0, Config::tiny());
    let mut session = session(&instance);
    run(&mut session, "CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY)");
    run(
        &mut session,
        "CREATE PROCEDURE endless() BEGIN DECLARE CONTINUE HANDLER FOR SQLEXCEPTION SET @x = 1; LOOP SET @x = 2; END LOOP; END",
    );
    run(
        &mut session,
        "CREATE FUNCTION inserts() RETURNS INT MODIFIES SQL DATA BEGIN LOOP INSERT INTO t VALUES (); END LOOP; RETURN 1; END",
    );
    for statement in ["CALL endless()", "SELECT inserts()"] {
        let process = instance.processes.register("localhost");
        let (killed, instance_of) = (process.clone(), instance.clone());
        let caller = std::thread::spawn(move || ask(&mut session_of(&instance_of, process), statement));
        std::thread::sleep(Duration::from_millis(200));
        killed.interrupt.set(Kill::Query);
        let lines = caller.join().expect("the caller");
        assert!(lines.iter().any(|line| line.starts_with("! 1317")), "{statement}: {lines:?}");
    }
    assert_eq!(rows(run(&mut session, "SELECT COUNT(*) FROM t")), ["| 0"]);
    run(&mut session, "SET max_statement_time = 0.2");
    let lines = ask(&mut session, "CALL endless()");
    assert!(lines.iter().any(|line| line.starts_with("! 1969")), "{lines:?}");
    drop(session);
    instance.engine.close().expect("a clean end");
}

/// Programs that call each other without end are told so before the stack ends.
#[test]
fn recursion_ends_with_an_error() {
    let scratch = Scratch::new("programs-recursion");
    let instance = instance(&scratch.0, Config::tiny());
    let mut session = session(&instance);
    run(&mut session, "SET max_sp_recursion_depth = 255");
    run(&mut session, "CREATE PROCEDURE a(n INT) BEGIN SET @n = n; CALL b(n + 1); END");
    run(&mut session, "CREATE PROCEDURE b(n INT) BEGIN IF n > 0 THEN BEGIN CALL a(n + 1); END; END IF; END");
    let lines = ask(&mut session, "CALL a(1)");
    assert!(lines[0].starts_with("! 1456") || lines[0].starts_with("! 1436"), "{lines:?}");
    let depth: i32 = rows(run(&mut session, "SELECT @n"))[0].trim_start_matches("| ").parse().expect("a number");
    assert!(depth > 20, "only {depth} deep");
    run(&mut session, "CREATE TABLE x (a INT)");
    run(&mut session, "CREATE FUNCTION f(n INT) RETURNS INT RETURN g(n)");
    run(&mut session, "CREATE FUNCTION g(n INT) RETURNS INT RETURN f(n)");
    assert!(ask(&mut session, "SELECT f(1)").iter().any(|line| line.starts_with("! 1424")));
    drop(session);
    instance.engine.close().expect("a clean end");
}

/// Events run as their definers, what they leave open is undone, one that has run for the last time goes or is disabled,
/// and KILL ends a run, or the scheduler.
#[test]
fn events_run_when_they_are_due() {
    let scratch = Scratch::new("programs-events");
    let instance = instance(&scratch.0, Config::tiny());
    let mut session = session(&instance);
    for statement in [
        "CREATE TABLE log (what VARCHAR(99))",
        "CREATE USER u",
        "GRANT INSERT, EVENT ON test.* TO u",
        "CREATE DEFINER = u EVENT often ON SCHEDULE EVERY 1 SECOND DO INSERT INTO log VALUES (CURRENT_USER())",
        "CREATE DEFINER = u EVENT fails ON SCHEDULE AT NOW() DO DELETE FROM log",
        "CREATE EVENT kept ON SCHEDULE AT NOW() ON COMPLETION PRESERVE DO INSERT INTO log VALUES (@@time_zone)",
        "CREATE EVENT opens ON SCHEDULE AT NOW() DO BEGIN START TRANSACTION; INSERT INTO log VALUES ('undone'); END",
        "CREATE EVENT slow ON SCHEDULE AT NOW() DO DO SLEEP(1000)",
        "CREATE EVENT off ON SCHEDULE AT NOW() DISABLE DO INSERT INTO log VALUES ('off')",
    ] {
        run(&mut session, statement);
    }
    let scheduler = Scheduler::start(&instance).expect("a thread");
    let deadline = Instant::now() + Duration::from_secs(30);
    let until = |session: &mut Session, what: &str, wanted: &str| {
        while rows(ask(session, what)) != [wanted] {
            assert!(Instant::now() < deadline, "{what}: {:?}", ask(session, what));
            std::thread::sleep(Duration::from_millis(10));
        }
    };
    until(&mut session, "SELECT COUNT(*) > 1 FROM log WHERE what = 'u@%'", "| 1");
    let slow = "SELECT COUNT(*) FROM information_schema.processlist WHERE info = 'DO SLEEP(1000)'";
    until(&mut session, slow, "| 1");
    let names = "SELECT GROUP_CONCAT(event_name, ' ', status ORDER BY 1) FROM information_schema.events";
    until(&mut session, names, "| kept DISABLED,off DISABLED,often ENABLED,slow ENABLED");
    run(&mut session, "KILL (SELECT id FROM information_schema.processlist WHERE info = 'DO SLEEP(1000)')");
    until(&mut session, slow, "| 0");
    until(&mut session, names, "| kept DISABLED,off DISABLED,often ENABLED");
    let others = rows(ask(&mut session, "SELECT what FROM log WHERE what <> 'u@%'"));
    assert_eq!(others, ["| SYSTEM"]);
    run(&mut session, "KILL (SELECT id FROM information_schema.processlist WHERE user = 'event_scheduler')");
    until(&mut session, "SELECT @@event_scheduler = 'OFF'", "| 1");
    scheduler.stop();
    let _ = instance.engine.close();
}
