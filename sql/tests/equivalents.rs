//! Queries that say the same in two ways answer the same: grouping against a derived table, WITH against derived tables,
//! USING against ON, long lists against short ones, a LIMIT against the whole order.
//!
//! No oracle is needed. Seeds are new in each run; `EQUIVALENTS_SEED` replays one, `EQUIVALENTS_ROUNDS` runs more of them.

mod common;

use common::random::{Random, first_seed};
use common::{Scratch, ask, instance, session};
use sql::Session;
use storage::Config;

fn text(random: &mut Random) -> String {
    let letters = ["a", "A", "b", "B", "ä", "Ab", "aB ", "b ", "", " ", "x'y", "zz"];
    random.one(&letters).to_owned() + random.one(&["", "1", "2"])
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

fn number(random: &mut Random) -> String {
    match random.below(8) {
        0 => "NULL".into(),
        _ => (random.below(24) as i64 - 4).to_string(),
    }
}

fn rows(session: &mut Session, statement: &str) -> Vec<String> {
    let lines = ask(session, statement);
    let error = lines.iter().find(|line| line.starts_with('!'));
    assert!(error.is_none(), "{statement}\n{error:?}");
    // Names of columns and warnings may differ.
    lines.into_iter().filter(|line| !line.starts_with('~')).skip(1).collect()
}

fn condition(random: &mut Random, terms: &[&str]) -> String {
    let one = |random: &mut Random| {
        let op = random.one(&["<", "<=", ">", ">=", "=", "<>"]);
        match random.below(3) {
            0 => format!("{} {op} {}", random.one(terms), random.below(30)),
            1 => format!("{} {op} {}", random.one(terms), random.one(terms)),
            _ => format!("{} + {} {op} {}", random.one(terms), random.one(terms), random.below(60)),
        }
    };
    let mut text = one(random);
    for _ in 0..random.below(3) {
        text = format!("({text} {} {})", random.one(&["AND", "OR"]), one(random));
    }
    text
}

/// Two statements that must answer the same rows, in the same order.
fn pair(random: &mut Random) -> (String, String) {
    let filter = condition(random, &["a", "b", "id", "b % 5"]);
    match random.below(8) {
        0 => {
            // Aggregates in HAVING and ORDER BY against columns of a derived table.
            let calls = ["COUNT(*)", "SUM(b)", "MAX(b)", "MIN(id)", "COUNT(a)", "COUNT(DISTINCT b)"];
            let names = ["n", "s", "x", "m", "ca", "cd"];
            let having = condition(random, &names);
            let mut written = having.clone();
            for (name, call) in names.iter().zip(calls) {
                written = written
                    .split(' ')
                    .map(|word| {
                        let bare = word.trim_matches(['(', ')']);
                        if bare == *name { word.replace(bare, call) } else { word.to_owned() }
                    })
                    .collect::<Vec<_>>()
                    .join(" ");
            }
            let key = random.one(&["a", "b % 3", "c"]);
            let list: Vec<String> = calls.iter().zip(names).map(|(call, name)| format!("{call} AS {name}")).collect();
            let list = list.join(", ");
            (
                format!(
                    "SELECT MIN(id) AS first, COUNT(*) + COUNT(*), SUM(b) - MAX(b) FROM p WHERE {filter} GROUP BY {key} HAVING {written} ORDER BY MIN(id)"
                ),
                format!(
                    "SELECT first, n + n, s - x FROM (SELECT MIN(id) AS first, {list} FROM p WHERE {filter} GROUP BY {key}) AS d WHERE {having} ORDER BY first"
                ),
            )
        }
        1 => {
            let table = format!("SELECT a, b, e, COUNT(*) AS n FROM p WHERE {filter} GROUP BY a, b, e");
            let tail = "ON x.a = y.b WHERE x.e <= y.e + 1 ORDER BY x.a, x.b, x.e, y.a, y.e";
            let list = "x.a, x.b, x.e, x.e + 0, y.a, y.e, x.n + y.n";
            (
                format!("WITH w AS ({table}) SELECT {list} FROM w AS x JOIN w AS y {tail}"),
                format!("SELECT {list} FROM ({table}) AS x JOIN ({table}) AS y {tail}"),
            )
        }
        2 => {
            let kind = random.one(&["JOIN", "LEFT JOIN"]);
            let filter = condition(random, &["p.b", "p.id", "d", "qid", "p.a"]);
            (
                format!("SELECT * FROM p {kind} q USING (a) WHERE {filter} ORDER BY p.id, q.qid"),
                format!(
                    "SELECT p.a, id, p.b, p.c, p.e, qid, d FROM p {kind} q ON p.a = q.a WHERE {filter} ORDER BY p.id, q.qid"
                ),
            )
        }
        3 => (
            "SELECT * FROM p NATURAL RIGHT JOIN q ORDER BY qid, id".into(),
            "SELECT q.a, qid, d, id, b, c, e FROM q LEFT JOIN p ON p.a = q.a ORDER BY qid, id".into(),
        ),
        4 => {
            let not = random.one(&["", "NOT "]);
            let items: Vec<String> = (0..16 + random.below(30))
                .map(|_| match random.below(40) {
                    0 => "NULL".into(),
                    _ => (random.below(60) as i64 - 20).to_string(),
                })
                .collect();
            let any: Vec<String> = items.iter().map(|item| format!("b * 2 = {item}")).collect();
            (
                format!("SELECT id, b * 2 {not}IN ({}) FROM p ORDER BY id", items.join(", ")),
                format!("SELECT id, {not}({}) FROM p ORDER BY id", any.join(" OR ")),
            )
        }
        5 => {
            let not = random.one(&["", "NOT "]);
            let items: Vec<String> = (0..16 + random.below(30)).map(|_| quoted(&text(random))).collect();
            let any: Vec<String> = items.iter().map(|item| format!("c = {item}")).collect();
            (
                format!("SELECT id, c {not}IN ({}) FROM p ORDER BY id", items.join(", ")),
                format!("SELECT id, {not}({}) FROM p ORDER BY id", any.join(" OR ")),
            )
        }
        6 => {
            let not = random.one(&["", "NOT "]);
            let items: Vec<(String, String)> = (0..16 + random.below(40))
                .map(|_| (number(random), if random.below(20) == 0 { "NULL".into() } else { quoted(&text(random)) }))
                .collect();
            let list: Vec<String> = items.iter().map(|(a, c)| format!("({a}, {c})")).collect();
            let any: Vec<String> = items.iter().map(|(a, c)| format!("(a = {a} AND c = {c})")).collect();
            (
                format!("SELECT id, (a, c) {not}IN ({}) FROM p ORDER BY id", list.join(", ")),
                format!("SELECT id, {not}({}) FROM p ORDER BY id", any.join(" OR ")),
            )
        }
        _ => {
            let key = random.one(&["a", "c", "e"]);
            (
                format!(
                    "SELECT (SELECT SUM(p.b) FROM q LIMIT 1), (SELECT COUNT(*) FROM q WHERE q.d < COUNT(p.b)) FROM p WHERE {filter} GROUP BY {key} ORDER BY MIN(id)"
                ),
                format!(
                    "SELECT s, (SELECT COUNT(*) FROM q WHERE q.d < n) FROM (SELECT MIN(id) AS m, SUM(b) AS s, COUNT(b) AS n FROM p WHERE {filter} GROUP BY {key}) AS g ORDER BY m"
                ),
            )
        }
    }
}

#[test]
fn what_is_said_in_two_ways_is_answered_in_one() {
    let parse = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let seeds = match parse("EQUIVALENTS_SEED") {
        Some(seed) => seed..seed + 1,
        None => first_seed()..first_seed() + parse("EQUIVALENTS_ROUNDS").unwrap_or(400),
    };
    let scratch = Scratch::new("equivalents");
    let instance = instance(&scratch.0, Config::tiny());
    let mut session = session(&instance);
    let mut random = Random::new(0x5EED_0001);
    let mut run = |statement: &str| {
        let lines = ask(&mut session, statement);
        assert!(!lines.iter().any(|line| line.starts_with('!')), "{statement}: {lines:?}");
    };
    run("CREATE TABLE p (id INT PRIMARY KEY, a INT, b INT NOT NULL, c VARCHAR(10), e ENUM('z', 'y', 'x'), KEY (a))");
    run("CREATE TABLE q (qid INT PRIMARY KEY, a INT, d INT)");
    for id in 0..50 {
        let c = if random.below(9) == 0 { "NULL".into() } else { quoted(&text(&mut random)) };
        let (a, b, e) = (number(&mut random), random.below(30), 1 + random.below(3));
        run(&format!("INSERT INTO p VALUES ({id}, {a}, {b}, {c}, {e})"));
        run(&format!("INSERT INTO q VALUES ({id}, {}, {})", number(&mut random), random.below(9)));
    }
    run("SET sql_mode = ''");
    let mut answered = 0;
    for seed in seeds {
        let (one, other) = pair(&mut Random::new(seed));
        let (first, second) = (rows(&mut session, &one), rows(&mut session, &other));
        answered += first.len();
        assert_eq!(first, second, "EQUIVALENTS_SEED={seed}\n{one}\n{other}");
    }
    assert!(answered > 0, "some query answers rows");
    drop(session);
    let _ = instance.engine.close();
}

/// A list of 100,000 items is searched for each of thousands of rows in the time of a few searches one by one.
#[test]
fn long_lists_are_not_searched_one_by_one() {
    let scratch = Scratch::new("long-lists");
    let instance = instance(&scratch.0, Config::tiny());
    let mut session = session(&instance);
    ask(&mut session, "CREATE TABLE t (id INT, c VARCHAR(20))");
    let values: Vec<String> = (0..4000).map(|id| format!("({id}, 'Name{id}')")).collect();
    let lines = ask(&mut session, &format!("INSERT INTO t VALUES {}", values.join(", ")));
    assert!(!lines.iter().any(|line| line.starts_with('!')), "{lines:?}");
    let count = |list: &dyn Fn(usize) -> String| (0..100_000).map(list).collect::<Vec<_>>().join(",");
    // Every third row is in the list; the others would have to be compared with all of it.
    let numbers = count(&|at| (at * 3).to_string());
    let names = count(&|at| format!("'nAME{} '", at * 3));
    let tuples = count(&|at| format!("({},'name{}')", at * 3, at * 3));
    for (what, expected) in [
        (format!("id + 0 IN ({numbers})"), 1334),
        (format!("c IN ({names})"), 1334),
        (format!("(id, c) IN ({tuples})"), 1334),
        (format!("(id, c) NOT IN ({tuples})"), 2666),
    ] {
        let began = std::time::Instant::now();
        let answer = rows(&mut session, &format!("SELECT COUNT(*) FROM t WHERE {what}"));
        let took = began.elapsed();
        assert_eq!(answer, [format!("| {expected}")], "{}", &what[..40]);
        // 270 million comparisons take many times as long.
        assert!(took.as_secs() < 20, "{}: {took:?}", &what[..40]);
        println!("{}: {took:?}", &what[..16]);
    }
    drop(session);
    let _ = instance.engine.close();
}
