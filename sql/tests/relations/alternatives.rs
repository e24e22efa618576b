//! Conditions with OR: what several indexes find together is what a scan finds, each row once; and what a statement changes by
//! them is what it changes without.
//!
//! ```text
//! keyed   PRIMARY, (a), (b, c), (c), (s), an index of the elements of an array      a = 1 OR b = 2 AND c > 3 OR s LIKE 'x%'
//! plain   the same rows, without an index
//! ```

use std::sync::Arc;

use sql::{Instance, Session};
use storage::Config;

use crate::common::random::{Random, first_seed};
use crate::common::{Scratch, done, instance, run, session};

const STEPS: usize = 250;
const KEYED: &str = "CREATE TABLE keyed (id INT PRIMARY KEY, a INT, b INT NOT NULL, c INT, s VARCHAR(20), d JSON,
    KEY (a), KEY (b, c), KEY (c), KEY (s(2)), KEY n ((CAST(d->'$.n' AS SIGNED ARRAY))))";
const PLAIN: &str = "CREATE TABLE plain (id INT, a INT, b INT NOT NULL, c INT, s VARCHAR(20), d JSON)";

fn value(random: &mut Random) -> String {
    random.below(9).to_string()
}

fn text(random: &mut Random) -> &'static str {
    random.one(&["'xa'", "'xab'", "'xb'", "'ya'", "''", "'XA'", "'5'"])
}

/// A condition on one column, or on two.
fn part(random: &mut Random, at: &str, other: &str) -> String {
    let (one, two) = (value(random), value(random));
    match random.below(14) {
        0 | 1 => format!("{at}a = {one}"),
        2 => format!("{at}b = {one} AND {at}c > {two}"),
        3 => format!("{at}b IN ({one}, {two})"),
        4 => format!("{at}c BETWEEN {one} AND {two}"),
        5 => format!("{at}a IS NULL"),
        6 => format!("{at}s LIKE {}", random.one(&["'x%'", "'xa%'", "'%'", "'ya'"])),
        7 => format!("{at}s = {}", text(random)),
        8 => format!("{at}id = {}", random.below(80)),
        9 => format!("{one} MEMBER OF ({at}d->'$.n')"),
        10 => format!("{at}a <=> {}", random.one(&["NULL", "3", "'3'", "3.5"])),
        11 if !other.is_empty() => format!("{at}a = {other}b"),
        12 if !other.is_empty() => format!("{at}b = {other}a AND {at}c <=> {other}c"),
        13 => format!("({at}a = {one} AND ({at}b = {two} OR {at}c = {one}))"),
        _ => format!("{at}c = {one}"),
    }
}

fn condition(random: &mut Random, at: &str, other: &str) -> String {
    let parts: Vec<String> = (0..2 + random.below(3)).map(|_| part(random, at, other)).collect();
    let either = parts.join(" OR ");
    match random.below(4) {
        0 => format!("({either}) AND {at}c <> {}", value(random)),
        1 => format!("({either}) AND {at}b = {}", value(random)),
        _ => either,
    }
}

fn check(session: &mut Session, random: &mut Random) {
    for _ in 0..4 {
        let asked = condition(random, "", "");
        let rows = |session: &mut Session, what: &str| {
            done(session, &format!("SELECT {what} WHERE {asked} ORDER BY id"))[1..].to_vec()
        };
        let expected = rows(session, "id, c FROM plain");
        assert_eq!(rows(session, "id, c FROM keyed"), expected, "{asked}");
        assert_eq!(rows(session, "id, c FROM keyed FORCE INDEX (a, b, c, s, n, PRIMARY)"), expected, "{asked}");
        assert_eq!(rows(session, "id, c FROM (SELECT * FROM keyed) AS k"), expected, "{asked}");
        let joined = condition(random, "k.", "p.");
        let pairs = |from: &str| {
            format!("SELECT p.id, k.id FROM plain AS p STRAIGHT_JOIN {from} AS k ON {joined} ORDER BY 1, 2")
        };
        let expected = done(session, &pairs("plain"));
        assert_eq!(done(session, &pairs("keyed")), expected, "{joined}");
        let outer = pairs("keyed").replace("STRAIGHT_JOIN", "LEFT JOIN");
        assert_eq!(done(session, &outer), done(session, &outer.replace("keyed", "plain")), "{joined}");
    }
}

fn change(session: &mut Session, random: &mut Random) {
    let asked = condition(random, "", "");
    let (one, two) = (value(random), value(random));
    let statement = match random.below(10) {
        0..5 => format!(
            "INSERT INTO @t SELECT @id, {}, {one}, {}, {}, '{{\"n\": [{two}, {one}, {two}]}}' FROM DUAL
                WHERE NOT EXISTS (SELECT 1 FROM @t WHERE id = @id)",
            random.one(&["NULL", "1", "2", "3", "4"]),
            random.one(&["NULL", "5", "6", "7"]),
            text(random)
        )
        .replace("@id", &random.below(80).to_string()),
        5 => format!("UPDATE @t SET a = a + 1 WHERE {asked}"),
        6 => format!("UPDATE @t SET b = {one}, c = {two} WHERE {asked}"),
        7 => format!(
            "UPDATE @t SET s = CONCAT(LEFT(s, 5), 'x'), d = JSON_OBJECT('n', JSON_ARRAY({one}, {two})) WHERE {asked}"
        ),
        8 => format!("UPDATE @t SET c = c + 2 WHERE {asked} ORDER BY id LIMIT 3"),
        _ => format!("DELETE FROM @t WHERE ({asked}) AND id % 3 = 0"),
    };
    let answers = ["keyed", "plain"].map(|table| run(session, &statement.replace("@t", table)));
    assert_eq!(answers[0], answers[1], "{statement}");
}

fn play(instance: &Arc<Instance>, seed: u64) {
    let mut random = Random::new(seed);
    let mut session = session(instance);
    for statement in ["DROP TABLE IF EXISTS keyed, plain", KEYED, PLAIN] {
        done(&mut session, statement);
    }
    for step in 0..STEPS {
        change(&mut session, &mut random);
        if step % 5 == 0 {
            check(&mut session, &mut random);
        }
    }
    let rows = |session: &mut Session, table: &str| done(session, &format!("SELECT * FROM {table} ORDER BY id"));
    assert_eq!(rows(&mut session, "keyed"), rows(&mut session, "plain"));
}

#[test]
fn several_indexes_find_what_a_scan_finds() {
    let scratch = Scratch::new("relations-alternatives");
    let instance = instance(&scratch.0, Config::default());
    let seed = first_seed();
    for seed in seed..seed + 2 {
        println!("seed {seed}");
        play(&instance, seed);
    }
    let report = instance.engine.check().expect("a check");
    assert!(report.is_clean(), "{report:?}");
}

#[test]
fn a_plan_names_the_indexes_of_a_condition_with_or() {
    let scratch = Scratch::new("relations-alternatives-plan");
    let instance = instance(&scratch.0, Config::default());
    let mut session = session(&instance);
    done(&mut session, KEYED);
    done(&mut session, "SET cte_max_recursion_depth = 2000");
    done(
        &mut session,
        "INSERT INTO keyed (id, a, b) WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 2000)
            SELECT n, n, n FROM n",
    );
    let found = done(&mut session, "EXPLAIN SELECT id FROM keyed WHERE a = 1 OR b = 2");
    assert!(found[1].contains("| index_merge | a,b | a,b | 5,4 |"), "{found:?}");
    done(&mut session, "SET optimizer_switch = 'index_merge_union=off'");
    let found = done(&mut session, "EXPLAIN SELECT id FROM keyed WHERE a = 1 OR b = 2");
    assert!(!found[1].contains("index_merge"), "{found:?}");
}
