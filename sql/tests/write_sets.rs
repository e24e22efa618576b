//! What the log says may run in parallel, against what statements really touched: the rows of all tables are compared
//! before and after each statement, and no two transactions that the log calls independent have touched the same key.

mod common;

use std::collections::BTreeSet;
use std::sync::Arc;

use format::binlog::gtid::{LogicalClock, gtid_of};
use sql::Session;
use storage::Config;

use common::random::{Random, first_seed};
use common::{Scratch, ask, logged_instance, session};

const HISTORIES: u64 = 12;
const TRANSACTIONS: u64 = 150;

const TABLES: [(&str, &str); 6] = [
    (
        "texts",
        "id INT PRIMARY KEY, a VARCHAR(10) COLLATE utf8mb4_general_ci, b VARCHAR(10) COLLATE utf8mb4_bin, c INT, \
         UNIQUE (a), UNIQUE (b, c)",
    ),
    ("named", "a VARCHAR(10) COLLATE utf8mb4_general_ci PRIMARY KEY, b INT, c INT, d INT, UNIQUE (b)"),
    ("beginnings", "id INT PRIMARY KEY, a TEXT COLLATE utf8mb4_general_ci, b DOUBLE, c INT, UNIQUE (a(2)), UNIQUE (b)"),
    ("keyless", "id INT, a INT, b INT, c INT, UNIQUE (a)"),
    ("parents", "id INT PRIMARY KEY, a INT, b INT, c INT"),
    ("children", "id INT PRIMARY KEY, a INT, b INT, c INT, FOREIGN KEY (a) REFERENCES parents (id) ON DELETE CASCADE"),
];

/// The columns of the unique keys of each table, and how many characters of a text count.
fn keys(table: &str) -> &'static [&'static [usize]] {
    match table {
        "texts" => &[&[0], &[1], &[2, 3]],
        "named" => &[&[0], &[1]],
        "beginnings" => &[&[0], &[1], &[2]],
        "keyless" => &[&[0, 1, 2, 3], &[1]],
        _ => &[&[0]],
    }
}

/// A value so that equal ones are the same text.
fn canonical(table: &str, column: usize, value: &str) -> String {
    let folded = |text: &str| text.trim_end().to_lowercase().replace('ä', "a");
    match (table, column) {
        ("texts", 1) | ("named", 0) => folded(value),
        ("texts", 2) => value.trim_end().to_owned(),
        ("beginnings", 1) => folded(&value.chars().take(2).collect::<String>()),
        ("beginnings", 2) if value == "-0" => "0".to_owned(),
        _ => value.to_owned(),
    }
}

type Row = (&'static str, Vec<String>);

fn rows(session: &mut Session) -> Vec<Row> {
    let mut rows = Vec::new();
    for (table, _) in TABLES {
        for line in &ask(session, &format!("SELECT * FROM {table}"))[1..] {
            let values = line[2..].split(" | ").map(str::to_owned).collect();
            rows.push((table, values));
        }
    }
    rows
}

/// The keys that a row has, and those of other rows that it needs.
fn touched((table, values): &Row, wrote: &mut BTreeSet<String>, needed: &mut BTreeSet<String>) {
    for (number, columns) in keys(table).iter().enumerate() {
        if number > 0 && columns.iter().any(|column| values[*column] == "NULL") {
            continue;
        }
        let parts: Vec<String> = columns.iter().map(|at| canonical(table, *at, &values[*at])).collect();
        wrote.insert(format!("{table} {number} {parts:?}"));
    }
    if *table == "children" {
        needed.insert(format!("parents 0 [{:?}]", values[1]));
    }
}

#[derive(Debug, Default)]
struct Transaction {
    wrote: BTreeSet<String>,
    needed: BTreeSet<String>,
    statements: Vec<String>,
}

fn value(random: &mut Random, table: &str, column: usize) -> String {
    let of = |random: &mut Random, texts: &[&str]| random.one(texts).to_owned();
    match (table, column) {
        ("texts", 1 | 2) | ("named", 0) => {
            of(random, &["'a'", "'A'", "'a '", "'ä'", "'b'", "'B'", "'c'", "'d'", "'e'", "'f'"])
        }
        ("beginnings", 1) => of(random, &["'ab'", "'aBc'", "'abd'", "'x'", "'yz1'", "'YZ2'", "'äb'", "'q'", "NULL"]),
        ("beginnings", 2) => of(random, &["0e0", "-0e0", "1.5", "2.5", "NULL"]),
        ("texts" | "named" | "keyless", _) if column > 0 && random.below(4) == 0 => "NULL".to_owned(),
        _ => random.below(12).to_string(),
    }
}

fn statement(random: &mut Random) -> String {
    // Tables that put up walls come seldom, so that there is something between them.
    let table = match random.below(40) {
        0 => "keyless",
        1 => "parents",
        2 => "children",
        other => TABLES[other % 3].0,
    };
    let columns: Vec<&str> = match table {
        "named" => vec!["a", "b", "c", "d"],
        _ => vec!["id", "a", "b", "c"],
    };
    let at = random.below(4);
    let (first, second) = (value(random, table, 0), value(random, table, at));
    match random.below(8) {
        0..=3 => {
            let values: Vec<String> = (0..4).map(|column| value(random, table, column)).collect();
            let verb = ["INSERT", "INSERT", "INSERT IGNORE", "REPLACE"][random.below(4)];
            format!("{verb} INTO {table} VALUES ({})", values.join(", "))
        }
        4 | 5 => format!("UPDATE {table} SET {} = {second} WHERE {} = {first}", columns[at], columns[0]),
        6 => format!("DELETE FROM {table} WHERE {} = {first}", columns[0]),
        _ => {
            let values: Vec<String> = (0..4).map(|column| value(random, table, column)).collect();
            let set = format!("{} = {second}", columns[at]);
            format!("INSERT INTO {table} VALUES ({}) ON DUPLICATE KEY UPDATE {set}", values.join(", "))
        }
    }
}

fn clocks(instance: &Arc<sql::Instance>) -> Vec<LogicalClock> {
    let log = instance.log.as_ref().expect("a log");
    let mut reader = log.read(&log.first()).expect("it can be read").expect("the first file");
    let mut clocks = Vec::new();
    while let Some((_, event)) = reader.next_event().expect("an event") {
        if let Some(named) = gtid_of(&event).expect("a Gtid event") {
            clocks.push(named.clock.expect("a clock"));
        }
    }
    clocks
}

#[test]
fn transactions_that_are_called_independent_touch_no_common_key() {
    let (mut pairs, mut independent) = (0, 0);
    let first = first_seed();
    for seed in first..first + HISTORIES {
        let scratch = Scratch::new(&format!("write-sets-{seed}"));
        let instance = logged_instance(&scratch.0, Config::tiny());
        let history_keys = [25_000, 25_000, 20, 3][seed as usize % 4];
        instance.log.as_ref().expect("a log").set_keys_max(history_keys);
        let mut session = session(&instance);
        let mut random = Random::new(seed);
        for (table, columns) in TABLES {
            let lines = ask(&mut session, &format!("CREATE TABLE {table} ({columns})"));
            assert!(!lines[0].starts_with('!'), "{lines:?}");
        }
        ask(&mut session, &format!("SET binlog_row_image = {}", ["FULL", "MINIMAL"][seed as usize % 2]));
        let mut history: Vec<Transaction> = Vec::new();
        let before_history = clocks(&instance).len();
        let mut known = rows(&mut session);
        for _ in 0..TRANSACTIONS {
            let mut transaction = Transaction::default();
            ask(&mut session, "BEGIN");
            for _ in 0..=random.below(3) {
                let statement = statement(&mut random);
                ask(&mut session, &statement);
                let now = rows(&mut session);
                let [gone, new] = [(&known, &now), (&now, &known)]
                    .map(|(some, others)| some.iter().filter(|row| !others.contains(row)).cloned().collect::<Vec<_>>());
                for row in gone.iter().chain(&new) {
                    touched(row, &mut transaction.wrote, &mut transaction.needed);
                }
                transaction.statements.push(statement);
                known = now;
            }
            if random.below(10) == 0 {
                ask(&mut session, "ROLLBACK");
                known = rows(&mut session);
                continue;
            }
            ask(&mut session, "COMMIT");
            if clocks_grew(&instance, before_history + history.len()) {
                history.push(transaction);
            } else {
                assert!(transaction.wrote.is_empty(), "changes that are not logged: {transaction:?}");
            }
        }
        let clocks = &clocks(&instance)[before_history..];
        assert_eq!(clocks.len(), history.len());
        for (at, clock) in clocks.iter().enumerate() {
            assert!(clock.last_committed < clock.sequence_number);
            for (other, earlier) in clocks[..at].iter().zip(&history) {
                pairs += 1;
                if other.sequence_number <= clock.last_committed {
                    continue;
                }
                independent += 1;
                let transaction = &history[at];
                let common: Vec<&String> = transaction
                    .wrote
                    .intersection(&earlier.wrote)
                    .chain(transaction.wrote.intersection(&earlier.needed))
                    .chain(transaction.needed.intersection(&earlier.wrote))
                    .collect();
                assert!(common.is_empty(), "seed {seed}: {common:?} in {earlier:?} and {transaction:?}");
            }
        }
        instance.engine.close().expect("it closes");
    }
    // A tracker that calls nothing independent would pass, too.
    assert!(independent > pairs / 1000, "{independent} of {pairs} pairs are independent");
}

fn clocks_grew(instance: &Arc<sql::Instance>, known: usize) -> bool {
    clocks(instance).len() > known
}

#[test]
fn every_row_has_a_wall_that_needs_one() {
    let scratch = Scratch::new("write-sets-walls");
    let instance = logged_instance(&scratch.0, Config::tiny());
    instance.log.as_ref().expect("a log").set_keys_max(100);
    let mut session = session(&instance);
    let mut next = |statement: &str| {
        let lines = ask(&mut session, statement);
        assert!(!lines[0].starts_with('!'), "{statement}: {lines:?}");
        let clocks = clocks(&instance);
        clocks.last().map(|clock| (clock.last_committed, clock.sequence_number))
    };
    next("CREATE TABLE t (id INT PRIMARY KEY, v INT)");
    next("CREATE TABLE k (v INT)");
    next("CREATE TABLE p (id INT PRIMARY KEY)");
    next("CREATE TABLE c (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES p (id))");
    assert_eq!(next("INSERT INTO t VALUES (1, 1)"), Some((4, 5)));
    assert_eq!(next("INSERT INTO t VALUES (2, 2)"), Some((4, 6)));
    assert_eq!(next("UPDATE t SET v = 3 WHERE id = 1"), Some((5, 7)));
    // Rows without a key, a parent and a child, DDL.
    assert_eq!(next("INSERT INTO k VALUES (1)"), Some((7, 8)));
    assert_eq!(next("INSERT INTO t VALUES (3, 3)"), Some((8, 9)));
    assert_eq!(next("INSERT INTO p VALUES (1)"), Some((9, 10)));
    assert_eq!(next("INSERT INTO c VALUES (1, 1)"), Some((10, 11)));
    assert_eq!(next("INSERT INTO t VALUES (4, 4)"), Some((11, 12)));
    assert_eq!(next("ALTER TABLE k ADD w INT"), Some((12, 13)));
    assert_eq!(next("INSERT INTO t VALUES (5, 5)"), Some((13, 14)));
    // The end of a branch is where its rows become free.
    next("XA START 'x'; ");
    next("INSERT INTO t VALUES (6, 6)");
    next("XA END 'x'");
    assert_eq!(next("XA PREPARE 'x'"), Some((13, 15)));
    assert_eq!(next("XA COMMIT 'x'"), Some((15, 16)));
    assert_eq!(next("UPDATE t SET v = 7 WHERE id = 6"), Some((16, 17)));
}

#[test]
fn transactions_of_a_session_depend_on_each_other_if_sessions_are_kept() {
    let scratch = Scratch::new("write-sets-sessions");
    let instance = logged_instance(&scratch.0, Config::tiny());
    let log = instance.log.as_ref().expect("a log");
    log.set_keys_max(100);
    let mut sessions = [session(&instance), session(&instance)];
    let mut next = |session: usize, statement: &str| {
        let lines = ask(&mut sessions[session], statement);
        assert!(!lines[0].starts_with('!'), "{statement}: {lines:?}");
        clocks(&instance).last().map(|clock| (clock.last_committed, clock.sequence_number))
    };
    next(0, "CREATE TABLE t (id INT PRIMARY KEY)");
    assert_eq!(next(0, "INSERT INTO t VALUES (1)"), Some((1, 2)));
    assert_eq!(next(0, "INSERT INTO t VALUES (2)"), Some((1, 3)));
    log.set_keeps_sessions(true);
    assert_eq!(next(0, "INSERT INTO t VALUES (3)"), Some((3, 4)));
    assert_eq!(next(1, "INSERT INTO t VALUES (4)"), Some((1, 5)));
    assert_eq!(next(0, "INSERT INTO t VALUES (5)"), Some((4, 6)));
    assert_eq!(next(1, "INSERT INTO t VALUES (6)"), Some((5, 7)));
    // A key of another session's counts as well, and what was rolled back does not.
    assert_eq!(next(1, "DELETE FROM t WHERE id = 5"), Some((7, 8)));
    next(0, "BEGIN");
    next(0, "INSERT INTO t VALUES (7)");
    next(0, "ROLLBACK");
    assert_eq!(next(0, "INSERT INTO t VALUES (8)"), Some((6, 9)));
    log.set_keeps_sessions(false);
    assert_eq!(next(0, "INSERT INTO t VALUES (9)"), Some((1, 10)));
}
