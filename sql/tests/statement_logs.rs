//! The slow query log and the general log, as the programs that read them expect them.

mod common;

use std::fs;

use common::{Scratch, ask, instance, session};
use storage::Config;

/// An entry of the slow query log: User@Host, Query_time, and the rest.
fn entries(log: &str) -> Vec<(String, String, String)> {
    let parts = log.split("# User@Host: ").skip(1);
    let entry = |part: &str| {
        let mut lines = part.splitn(3, '\n').map(str::to_owned);
        let mut line = || lines.next().unwrap_or_default();
        (line(), line(), line())
    };
    parts.map(entry).collect()
}

/// The statement of an entry, without the line with the moment, and that of the next entry's.
fn statement(rest: &str) -> String {
    let is_moment = |line: &&str| line.starts_with("SET timestamp=") || line.starts_with("# Time: ");
    rest.lines().filter(|line| !is_moment(line)).collect::<Vec<_>>().join("|")
}

/// The moments of the lines `# Time:`.
fn moments(log: &str) -> Vec<&str> {
    log.lines().filter_map(|line| line.strip_prefix("# Time: ")).collect()
}

#[test]
fn what_is_slow_is_logged_as_mysqldumpslow_reads_it() {
    let scratch = Scratch::new("slow-log");
    let instance = instance(&scratch.0, Config::tiny());
    let path = scratch.0.join("slow.log");
    let log = || fs::read_to_string(&path).unwrap_or_default();
    let mut session = session(&instance);
    let mut run = |statement: &str| ask(&mut session, statement);
    run("CREATE TABLE t (id INT PRIMARY KEY, a INT)");
    run("INSERT INTO t VALUES (1, 1), (2, 2), (3, 3)");
    run("SET long_query_time = 0");
    run("SELECT 'before'");
    assert_eq!(log(), "");
    run("SET GLOBAL slow_query_log_file = 'slow.log'");
    run("SET GLOBAL slow_query_log = ON");
    run("SELECT a FROM t WHERE a > 1;\n");
    run("ALTER TABLE t ADD b INT");
    run("CREATE USER u IDENTIFIED BY 'secret'");
    run("PREPARE s FROM 'SELECT a FROM t WHERE id = ?'");
    run("SET @id = 2");
    run("EXECUTE s USING @id");
    run("USE mysql");
    run("SELECT 1");
    run("SELECT nope");
    run("SET GLOBAL log_slow_admin_statements = ON");
    run("ALTER TABLE test.t ADD c INT");
    run("SET min_examined_row_limit = 3");
    run("SELECT a FROM test.t WHERE id = 1");
    run("SELECT a FROM test.t");
    run("SET min_examined_row_limit = 0");
    run("SET long_query_time = 10");
    run("SELECT 'quick'");
    run("SET GLOBAL log_queries_not_using_indexes = ON");
    run("SELECT a FROM test.t WHERE id = 2");
    run("SELECT a FROM test.t WHERE a = 2");
    run("SET GLOBAL log_output = 'NONE'");
    run("SELECT a FROM test.t WHERE a = 3");

    let text = log();
    let header = text.split("# Time: ").next().unwrap_or_default();
    assert!(header.starts_with('/') && header.contains(", Version: ") && header.contains("started with:\nTcp port: "));
    assert!(header.ends_with("Time                 Id Command    Argument\n"), "{header}");
    let entries = entries(&text);
    for (user, times, rest) in &entries {
        assert!(user.starts_with("root[root] @ localhost []  Id: "), "{user}");
        let words: Vec<&str> = times.split_whitespace().collect();
        assert_eq!(
            [words[1], words[3], words[5], words[7]],
            ["Query_time:", "Lock_time:", "Rows_sent:", "Rows_examined:"]
        );
        assert!(words[2].parse::<f64>().is_ok_and(|time| time < 100.0), "{times}");
        let rest = rest.split("# Time: ").next().unwrap_or_default();
        assert!(rest.ends_with(";\n") && rest.contains("SET timestamp="), "{rest}");
    }
    // As MySQL writes it: 2026-11-28T20:00:00.123456Z.
    let moments = moments(&text);
    assert_eq!(moments.len(), entries.len());
    assert!(moments.iter().all(|moment| moment.len() == 27 && moment.ends_with('Z')), "{moments:?}");
    let statements: Vec<String> = entries.iter().map(|(_, _, rest)| statement(rest)).collect();
    assert_eq!(
        statements,
        [
            "use test;|SET GLOBAL slow_query_log = ON;",
            "SELECT a FROM t WHERE a > 1;",
            "CREATE USER u IDENTIFIED BY <secret>;",
            "PREPARE s FROM 'SELECT a FROM t WHERE id = ?';",
            "SET @id = 2;",
            "SELECT a FROM t WHERE id = 2;",
            "use mysql;|USE mysql;",
            "SELECT 1;",
            "SELECT nope;",
            "SET GLOBAL log_slow_admin_statements = ON;",
            "ALTER TABLE test.t ADD c INT;",
            "SELECT a FROM test.t;",
            "SET min_examined_row_limit = 0;",
            "SELECT a FROM test.t WHERE a = 2;",
        ]
    );
    assert!(entries[1].1.ends_with("Rows_sent: 2  Rows_examined: 3"), "{}", entries[1].1);
}

#[test]
fn flush_opens_the_files_again_and_files_that_cannot_be_are_refused() {
    let scratch = Scratch::new("log-rotation");
    let instance = instance(&scratch.0, Config::tiny());
    let mut session = session(&instance);
    let mut run = |statement: &str| ask(&mut session, statement);
    run("SET long_query_time = 0");
    run("SET GLOBAL slow_query_log_file = 'slow.log'");
    run("SET GLOBAL slow_query_log = ON");
    let (path, rotated) = (scratch.0.join("slow.log"), scratch.0.join("slow.log.1"));
    let count = |path| entries(&fs::read_to_string(path).unwrap_or_default()).len();
    assert_eq!(count(&path), 1);
    fs::rename(&path, &rotated).expect("a rotation");
    run("SELECT 1");
    assert_eq!((count(&rotated), path.exists()), (2, false));
    run("FLUSH SLOW LOGS");
    run("SELECT 2");
    assert_eq!((count(&rotated), count(&path)), (2, 2));
    fs::rename(&path, &rotated).expect("a rotation");
    run("FLUSH LOGS");
    assert_eq!((count(&rotated), count(&path)), (2, 1));

    for (statement, name) in [
        ("SET GLOBAL slow_query_log_file = '/no/such/directory/slow.log'", "slow_query_log_file"),
        ("SET GLOBAL general_log_file = 'my.cnf'", "general_log_file"),
        ("SET GLOBAL slow_query_log_file = ''", "slow_query_log_file"),
        ("SET GLOBAL log_output = 'FILE,PAPER'", "log_output"),
    ] {
        let answer = run(statement).concat();
        assert!(answer.starts_with("! 1231") && answer.contains(name), "{statement}: {answer}");
    }
    assert_eq!(run("SELECT @@slow_query_log_file, @@log_output")[1], "| slow.log | FILE");
    let refused = run("SET slow_query_log = OFF").concat();
    assert!(refused.starts_with("! 1229"), "{refused}");
}

#[test]
fn the_general_log_has_every_command_and_no_password() {
    let scratch = Scratch::new("general-log");
    let instance = instance(&scratch.0, Config::tiny());
    let mut session = session(&instance);
    ask(&mut session, "SET GLOBAL general_log_file = 'all.log'");
    ask(&mut session, "SET GLOBAL general_log = ON");
    session.log_command("Query", b"SELECT 1;");
    session.log_command("Query", b"ALTER USER u IDENTIFIED BY 'secret'");
    ask(&mut session, "CREATE TABLE t (a INT)");
    let prepared = session.prepare(b"INSERT INTO t VALUES (?)").expect("a statement");
    let mut sink = common::Lines::default();
    session.execute(prepared.id, &[format::value::Value::Int(7)], &mut sink);
    ask(&mut session, "SET sql_log_off = ON");
    session.log_command("Quit", b"");
    let text = fs::read_to_string(scratch.0.join("all.log")).expect("the log");
    let lines: Vec<&str> = text.lines().skip(3).collect();
    let commands: Vec<String> =
        lines.iter().map(|line| line.split_once('\t').map_or("", |(_, rest)| rest).trim().to_owned()).collect();
    assert_eq!(
        commands,
        ["1 Query\tSELECT 1", "1 Query\tALTER USER u IDENTIFIED BY <secret>", "1 Execute\tINSERT INTO t VALUES (7)"]
    );
    assert!(
        lines
            .iter()
            .all(|line| line.as_bytes()[10] == b'T' && line.split('\t').next().is_some_and(|at| at.ends_with('Z')))
    );
}

#[test]
fn moments_are_in_the_zone_that_log_timestamps_says() {
    let scratch = Scratch::new("log-timestamps");
    let instance = instance(&scratch.0, Config::tiny());
    instance.variables.set_system_zone(format::value::Zone::Fixed(-12_600));
    let mut session = session(&instance);
    for statement in [
        "SET GLOBAL general_log_file = 'all.log', GLOBAL slow_query_log_file = 'slow.log'",
        "SET long_query_time = 0, GLOBAL general_log = ON, GLOBAL slow_query_log = ON, GLOBAL log_slow_extra = ON",
    ] {
        ask(&mut session, statement);
    }
    for (zone, end) in [("SYSTEM", "-03:30"), ("UTC", "Z")] {
        ask(&mut session, &format!("SET GLOBAL log_timestamps = {zone}"));
        session.log_command("Query", b"SELECT 1");
        ask(&mut session, "SELECT 1");
        let last = |name: &str, words: &str| {
            let text = fs::read_to_string(scratch.0.join(name)).expect("the log");
            text.lines().rfind(|line| line.contains(words)).expect("an entry").to_owned()
        };
        let general = last("all.log", "SELECT 1");
        assert!(general.split('\t').next().is_some_and(|moment| moment.ends_with(end)), "{general}");
        let slow = last("slow.log", " Start: ");
        assert!(slow.ends_with(end), "{slow}");
    }
}

/// `log_slow_extra`: the line of the times goes on, with what this statement counted.
#[test]
fn a_slow_statement_is_told_of_at_length() {
    let scratch = Scratch::new("slow-extra");
    let instance = instance(&scratch.0, Config::tiny());
    let path = scratch.0.join("slow.log");
    let mut session = session(&instance);
    let mut run = |statement: &str| ask(&mut session, statement);
    run("CREATE TABLE t (id INT PRIMARY KEY, a INT)");
    run("INSERT INTO t VALUES (1, 1), (2, 2), (3, 3)");
    run("SET long_query_time = 0");
    run("SET GLOBAL slow_query_log_file = 'slow.log'");
    run("SET GLOBAL log_slow_extra = ON");
    run("SET GLOBAL slow_query_log = ON");
    run("SELECT a FROM t ORDER BY a DESC");
    run("SELECT nope");
    run("SET GLOBAL log_slow_extra = OFF");
    run("SELECT 5");
    let entries = entries(&fs::read_to_string(&path).unwrap());
    let line = |text: &str| {
        let found = entries.iter().find(|(_, _, rest)| statement(rest).contains(text));
        found.unwrap_or_else(|| panic!("{text}: {entries:?}")).1.clone()
    };
    let sorted = line("ORDER BY a");
    assert!(sorted.contains(" Rows_sent: 3  Rows_examined: 3 Thread_id: 1 Errno: 0 Killed: 0 "), "{sorted}");
    assert!(sorted.contains(" Sort_scan_count: 1 Start: 20") && sorted.contains(" End: 20"), "{sorted}");
    assert!(line("SELECT nope").contains(" Errno: 1054 "), "{entries:?}");
    assert!(!line("SELECT 5").contains("Thread_id"), "{entries:?}");
}
