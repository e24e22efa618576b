//! What a table says of its rows holds for all of them, whatever happens to them: CHECK constraints, generated columns,
//! indexes on these, and indexes on expressions.
//!
//! Random changes, some of them refused half-way or rolled back, and random changes of the definition; then relations that
//! need no oracle. `GLASSINE_SEED` replays a run, `ROW_RULES_ROUNDS` makes more of them.

mod common;

use common::random::{Random, first_seed};
use common::{Scratch, ask, instance, session};
use sql::Session;
use storage::Config;

const COLUMNS: &str = "id INT PRIMARY KEY, a INT, b VARCHAR(20), \
     v BIGINT AS (a + 1) VIRTUAL, s VARCHAR(40) AS (CONCAT(b, '-', v)) STORED, \
     w INT AS (v % 7) VIRTUAL, d INT DEFAULT (a * 2), \
     KEY v (v), KEY s (s, w), UNIQUE KEY u (w, id), KEY f ((LOWER(b)), (a + 1)), \
     CONSTRAINT small CHECK (a < 50 OR b = 'any'), CONSTRAINT even CHECK (w <> 3), CHECK (LENGTH(s) < 12)";

/// What is true of every row. Written otherwise than in the definition, or the planner would read the column itself.
const HOLDS: [&str; 6] = [
    "a < 50 OR b = 'any'",
    "w <> 3",
    "LENGTH(s) < 12",
    "v <=> 1 + a",
    "s <=> CONCAT(b, CONCAT('-', v))",
    "w <=> v - 7 * TRUNCATE(v / 7, 0)",
];

fn number(random: &mut Random) -> String {
    if random.below(10) == 0 { "NULL".to_owned() } else { (random.below(70) as i64 - 8).to_string() }
}

fn word(random: &mut Random) -> &'static str {
    random.one(&["'any'", "'Any'", "'x'", "'ü'", "''", "NULL", "'longer text'", "'y '"])
}

fn change(random: &mut Random) -> String {
    let ignore = random.one(&["", "IGNORE "]);
    let (id, a, b) = (random.below(60), number(random), word(random));
    match random.below(12) {
        0..=3 => {
            let more =
                (0..random.below(3)).map(|_| format!(", ({}, {}, {})", random.below(60), number(random), word(random)));
            let more: String = more.collect::<Vec<_>>().concat();
            let end = random.one(&[
                "",
                " ON DUPLICATE KEY UPDATE a = VALUES(a) + 1",
                " ON DUPLICATE KEY UPDATE b = 'any', id = id + 7",
            ]);
            format!("INSERT {ignore}INTO t (id, a, b) VALUES ({id}, {a}, {b}){more}{end}")
        }
        4 => format!("REPLACE INTO t (id, a, b, d) VALUES ({id}, {a}, {b}, DEFAULT)"),
        5 => format!("UPDATE {ignore}t SET a = {a} WHERE v < {id}"),
        6 => format!("UPDATE {ignore}t SET b = {b}, a = a + 1 WHERE LOWER(b) = {}", word(random)),
        7 => format!("UPDATE {ignore}t SET a = a - 3, d = DEFAULT WHERE a + 1 > {id} ORDER BY v LIMIT 5"),
        8 => format!("UPDATE {ignore}t SET id = id + 13 WHERE w = {}", random.below(7)),
        9 => format!("DELETE FROM t WHERE s LIKE '{}%'", random.one(&["x", "any-1", "ü"])),
        10 => format!("INSERT {ignore}INTO t (id, a, b) SELECT id + {id}, v, b FROM t WHERE w = {}", random.below(7)),
        _ => random.one(&["BEGIN", "COMMIT", "ROLLBACK", "SAVEPOINT s", "ROLLBACK TO s"]).to_owned(),
    }
}

fn alteration(random: &mut Random) -> &'static str {
    random.one(&[
        "ALTER TABLE t ADD COLUMN z INT DEFAULT (a + 5) CHECK (z > -100)",
        "ALTER TABLE t DROP COLUMN z",
        "ALTER TABLE t DROP INDEX f, ADD INDEX f ((LOWER(b)), (a + 1))",
        "ALTER TABLE t DROP INDEX v, ADD INDEX v (v, a)",
        "ALTER TABLE t MODIFY a BIGINT, MODIFY b VARCHAR(30)",
        "ALTER TABLE t MODIFY a INT, MODIFY b VARCHAR(20) AFTER d",
        "ALTER TABLE t ADD COLUMN q INT AS (a * 2) STORED FIRST, ADD KEY q (q)",
        "ALTER TABLE t DROP COLUMN q",
        "ALTER TABLE t ALTER CHECK even NOT ENFORCED, ALTER CHECK even ENFORCED",
        "ALTER TABLE t FORCE",
        "TRUNCATE TABLE t",
        "RENAME TABLE t TO t_, t_ TO t",
    ])
}

/// The single value that a query answers.
fn one(session: &mut Session, query: &str) -> String {
    let lines = ask(session, query);
    assert!(!lines.iter().any(|line| line.starts_with('!')), "{query}\n{lines:?}");
    lines[1].clone()
}

fn check(session: &mut Session, history: &[String]) {
    let told = || history.iter().rev().take(40).rev().cloned().collect::<Vec<_>>().join(";\n");
    for condition in HOLDS {
        let count = one(session, &format!("SELECT COUNT(*) FROM t IGNORE INDEX (v, s, u, f) WHERE NOT ({condition})"));
        assert_eq!(count, "| 0", "{condition}\n{}", told());
    }
    let all = one(session, "SELECT COUNT(*), SUM(id), SUM(v), SUM(w) FROM t FORCE INDEX (PRIMARY)");
    for index in ["v", "s", "u", "f"] {
        let found = one(session, &format!("SELECT COUNT(*), SUM(id), SUM(v), SUM(w) FROM t FORCE INDEX ({index})"));
        assert_eq!(found, all, "by {index}\n{}", told());
    }
    for (by_index, by_scan) in [
        ("v BETWEEN 5 AND 30", "1 + a BETWEEN 5 AND 30"),
        ("LOWER(b) = 'any'", "LOWER(CONCAT(b, '')) = 'any'"),
        ("a + 1 = 8 AND LOWER(b) = 'x'", "a + 2 = 9 AND LOWER(CONCAT(b, '')) = 'x'"),
        ("s = 'x-7'", "CONCAT(s, '') = 'x-7'"),
        ("w = 4", "w + 0 = 4"),
        ("v IS NULL", "a IS NULL"),
    ] {
        let count = |filter: &str| format!("SELECT COUNT(*), SUM(id) FROM t WHERE {filter}");
        assert_eq!(one(session, &count(by_index)), one(session, &count(by_scan)), "{by_index}\n{}", told());
    }
    let checked = ask(session, "CHECK TABLE t");
    assert!(checked.iter().any(|line| line.ends_with("| OK")), "{checked:?}\n{}", told());
}

#[test]
fn rows_keep_to_their_rules() {
    let rounds = std::env::var("ROW_RULES_ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(12);
    let seed = first_seed();
    let scratch = Scratch::new("row-rules");
    let instance = instance(&scratch.0, Config::default());
    let mut session = session(&instance);
    for round in 0..rounds {
        let mut random = Random::new(seed + round);
        let mut history = vec![format!("GLASSINE_SEED={}", seed + round)];
        ask(&mut session, "DROP TABLE IF EXISTS t");
        let created = ask(&mut session, &format!("CREATE TABLE t ({COLUMNS})"));
        assert_eq!(created, ["= 0 rows"]);
        let mut changed = 0;
        for step in 1..=120 {
            let statement =
                if random.below(25) == 0 { alteration(&mut random).to_owned() } else { change(&mut random) };
            let answer = ask(&mut session, &statement);
            changed += usize::from(answer.iter().any(|line| line.starts_with("= ") && !line.starts_with("= 0")));
            history.push(format!("{statement} -- {answer:?}"));
            // No failure but those that the rules make.
            if let Some(error) = answer.iter().find(|line| line.starts_with('!')) {
                let expected = ["! 3819", "! 1062", "! 1091", "! 1060", "! 1305", "! 1054", "! 3822"];
                assert!(expected.iter().any(|code| error.starts_with(code)), "{error}\n{}", history.join(";\n"));
            }
            if step % 20 == 0 {
                check(&mut session, &history);
            }
        }
        ask(&mut session, "ROLLBACK");
        check(&mut session, &history);
        assert!(changed > 20, "{}", history.join(";\n"));

        // What SHOW CREATE TABLE says makes the same table, which takes the same rows.
        let text = one(&mut session, "SHOW CREATE TABLE t").replace("\\n", "\n");
        let text = text.split_once(" | ").expect("two columns").1;
        let other = text.replacen("CREATE TABLE `t`", "CREATE TABLE `t2`", 1);
        let other = ["small", "even", "t_chk_1", "t_chk_2"].iter().fold(other, |text, name| {
            text.replace(&format!("CONSTRAINT `{name}`"), &format!("CONSTRAINT `t2_{name}`"))
        });
        ask(&mut session, "DROP TABLE IF EXISTS t2");
        assert_eq!(ask(&mut session, &other), ["= 0 rows"], "{other}");
        let copied = ask(&mut session, "INSERT INTO t2 (id, a, b, d) SELECT id, a, b, d FROM t");
        assert!(copied[0].starts_with('='), "{copied:?}");
        let sums = "COUNT(*), SUM(id), SUM(v), SUM(w), SUM(LENGTH(s)), SUM(d)";
        let of = |table: &str| format!("SELECT {sums} FROM {table}");
        assert_eq!(one(&mut session, &of("t")), one(&mut session, &of("t2")));
        let again = one(&mut session, "SHOW CREATE TABLE t2").replace("\\n", "\n");
        assert_eq!(again.split_once(" | ").expect("two columns").1, other);
    }
}
