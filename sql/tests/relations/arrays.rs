//! Multi-valued indexes: a query finds with the index what it finds without, through random changes, rollbacks and purge,
//! for readers of old snapshots and of new ones.
//!
//! ```text
//! SELECT id FROM t WHERE 3 MEMBER OF (d->'$.n')                             an index
//! SELECT id FROM t IGNORE INDEX (n, ...) WHERE 3 MEMBER OF (d->'$.n')       all rows
//! ```

use std::sync::Arc;

use sql::{Instance, Session};
use storage::Config;

use crate::common::random::{Random, first_seed};
use crate::common::{Scratch, done, instance, run, session};

const STEPS: usize = 400;
const TABLE: &str = "CREATE TABLE t (id INT PRIMARY KEY, c INT, d JSON,
    KEY n ((CAST(d->'$.n' AS SIGNED ARRAY))), KEY cs (c, (CAST(d->'$.s' AS CHAR(300) ARRAY))),
    KEY fc ((CAST(d->'$.f' AS DECIMAL(20,2) ARRAY)), c), UNIQUE KEY u (c, (CAST(d->'$.u' AS UNSIGNED ARRAY))))";

/// An element that the index of a member of the document takes.
fn element(random: &mut Random, member: &str) -> String {
    match member {
        "s" => format!("\"{}\"", random.one(&["", "a", "A", "a ", "ab", "é", "1", "true"])),
        "f" => {
            random.one(&["1", "1.0", "1.25", "1.254", "-7", "1e2", "100", "true", "\"1.25\"", "0.1", "-0.0"]).to_owned()
        }
        "n" => match random.below(8) {
            0 => "\"3\"".to_owned(),
            1 => "4.0".to_owned(),
            2 => random.one(&["9007199254740993", "9007199254740992", "9007199254740992.0", "true", "-1"]).to_owned(),
            _ => random.below(9).to_string(),
        },
        _ => random.below(40).to_string(),
    }
}

/// A list of elements, or one alone; now and then one that does not fit its page.
fn list(random: &mut Random, member: &str) -> String {
    let count = match random.below(40) {
        0 if member != "u" => 4000,
        1..6 => return element(random, member),
        _ => random.below(4),
    };
    let elements: Vec<String> = (0..count).map(|_| element(random, member)).collect();
    format!("[{}]", elements.join(", "))
}

fn document(random: &mut Random) -> String {
    if random.below(12) == 0 {
        return random.one(&["NULL", "'{}'", "'[]'", "'7'"]).to_owned();
    }
    let mut members = Vec::new();
    for member in ["n", "s", "f", "u"] {
        if random.below(4) > 0 {
            members.push(format!("\"{member}\": {}", list(random, member)));
        }
    }
    format!("'{{{}}}'", members.join(", "))
}

/// What a query asks for: also what no array can have.
fn wanted(random: &mut Random, member: &str) -> String {
    match random.below(10) {
        0 => {
            random.one(&["NULL", "'x'", "1.5", "CAST('[1]' AS JSON)", "CAST('null' AS JSON)", "-1", "1e300"]).to_owned()
        }
        1 => format!("'{}'", element(random, member).trim_matches('"')),
        _ => format!("CAST('{}' AS JSON)", element(random, member)),
    }
}

fn condition(random: &mut Random, at: &str) -> String {
    let member = random.one(&["n", "s", "f", "u"]);
    let array = format!("{at}d->'$.{member}'");
    let asked = match random.below(4) {
        0 => format!("JSON_CONTAINS({array}, '{}')", list(random, member)),
        1 => format!("JSON_OVERLAPS({array}, '{}')", list(random, member)),
        2 => format!("JSON_OVERLAPS('{}', {array})", list(random, member)),
        _ => format!("{} MEMBER OF ({array})", wanted(random, member)),
    };
    match random.below(3) {
        0 => format!("{asked} AND {at}c = {}", random.one(&["1", "2", "'1'", "NULL", "1.0"])),
        _ => asked,
    }
}

fn check(session: &mut Session, random: &mut Random) {
    let found = |session: &mut Session, hint: &str, condition: &str| {
        done(session, &format!("SELECT id FROM t {hint} WHERE {condition} ORDER BY id"))
    };
    for _ in 0..3 {
        let condition = condition(random, "");
        let by_index = found(session, random.one(&["", "FORCE INDEX (n, cs, fc, u)"]), &condition);
        assert_eq!(by_index, found(session, "IGNORE INDEX (n, cs, fc, u)", &condition), "{condition}");
    }
    let member = random.one(&["n", "f", "u"]);
    let joined = |hint: &str| {
        format!(
            "SELECT a.id, t.id FROM t AS a STRAIGHT_JOIN t {hint} WHERE a.id MEMBER OF (t.d->'$.{member}') ORDER BY 1, 2"
        )
    };
    let by_index = done(session, &joined("FORCE INDEX (n, fc, u)"));
    assert_eq!(by_index, done(session, &joined("IGNORE INDEX (n, fc, u)")), "{member}");
}

fn change(session: &mut Session, random: &mut Random, in_transaction: &mut bool) {
    let (id, c, document) = (random.below(40), random.one(&["NULL", "1", "2", "3"]), document(random));
    let member = random.one(&["n", "s", "f", "u"]);
    let value = list(random, member);
    let statement = match random.below(15) {
        0..3 => format!("INSERT IGNORE INTO t VALUES ({id}, {c}, {document})"),
        3 => format!("REPLACE INTO t VALUES ({id}, {c}, {document})"),
        4 => format!("INSERT INTO t VALUES ({id}, {c}, {document}) ON DUPLICATE KEY UPDATE c = {c}"),
        5 => format!("UPDATE IGNORE t SET d = {document} WHERE id = {id}"),
        6 => format!(
            "UPDATE IGNORE t SET d = JSON_SET(d, '$.{member}', CAST('{value}' AS JSON)) WHERE {}",
            condition(random, "")
        ),
        7 => format!("UPDATE IGNORE t SET d = JSON_ARRAY_APPEND(d, '$.n', {}) WHERE id < {id}", random.below(9)),
        8 => format!("UPDATE IGNORE t SET d = JSON_REMOVE(d, '$.{member}[0]') WHERE id BETWEEN {id} AND {id} + 3"),
        9 => format!("UPDATE IGNORE t SET id = {} WHERE {}", random.below(40), condition(random, "")),
        10 => format!("UPDATE IGNORE t SET c = {c} WHERE {}", condition(random, "")),
        11 => format!("DELETE FROM t WHERE id = {id} AND {}", condition(random, "")),
        12 if !*in_transaction => {
            *in_transaction = true;
            "BEGIN".to_owned()
        }
        13 if *in_transaction => random.one(&["SAVEPOINT s", "SAVEPOINT s", "ROLLBACK TO s"]).to_owned(),
        _ if *in_transaction => {
            *in_transaction = false;
            random.one(&["COMMIT", "ROLLBACK"]).to_owned()
        }
        _ => format!("DELETE FROM t WHERE id = {id}"),
    };
    let lines = run(session, &statement);
    // A savepoint that was not set, a key that is taken.
    let expected = ["! 1305", "! 1062"];
    let failed =
        lines.iter().any(|line| line.starts_with('!') && !expected.iter().any(|known| line.starts_with(known)));
    assert!(!failed, "{statement}: {lines:?}");
}

fn play(instance: &Arc<Instance>, seed: u64) {
    let mut random = Random::new(seed);
    let mut writer = session(instance);
    let mut reader = session(instance);
    done(&mut writer, "DROP TABLE IF EXISTS t");
    done(&mut writer, TABLE);
    let mut in_transaction = false;
    for step in 0..STEPS {
        change(&mut writer, &mut random, &mut in_transaction);
        if step % 5 == 0 {
            check(&mut writer, &mut random);
        }
        match random.below(20) {
            0 => drop(done(&mut reader, "START TRANSACTION WITH CONSISTENT SNAPSHOT")),
            1 => drop(done(&mut reader, "COMMIT")),
            2..6 => check(&mut reader, &mut random),
            _ => {}
        }
        if step % 100 == 99 && !in_transaction {
            done(&mut reader, "COMMIT");
            done(&mut writer, "ALTER TABLE t DROP KEY n");
            done(&mut writer, "ALTER TABLE t ADD KEY n ((CAST(d->'$.n' AS SIGNED ARRAY)))");
        }
    }
    done(&mut writer, "COMMIT");
    done(&mut reader, "COMMIT");
    check(&mut reader, &mut random);
    for statement in ["CHECK TABLE t", "OPTIMIZE TABLE t", "CHECK TABLE t"] {
        let lines = run(&mut writer, statement);
        assert!(lines.iter().any(|line| line.ends_with("| OK")), "{statement}: {lines:?}");
    }
    check(&mut writer, &mut random);
    for (index, condition) in [
        ("n", "3 MEMBER OF (d->'$.n')"),
        ("cs", "c = 1 AND 'a' MEMBER OF (d->'$.s')"),
        ("fc", "JSON_CONTAINS(d->'$.f', '[1]')"),
        ("u", "c = 1 AND JSON_OVERLAPS(d->'$.u', '[1, 2]')"),
    ] {
        let lines = done(&mut writer, &format!("EXPLAIN SELECT id FROM t FORCE INDEX ({index}) WHERE {condition}"));
        assert!(lines[1].contains(&format!("| {index} | {index} |")), "{condition}: {lines:?}");
    }
}

#[test]
fn the_index_finds_what_the_arrays_have() {
    let scratch = Scratch::new("relations-arrays");
    let instance = instance(&scratch.0, Config::default());
    let seed = first_seed();
    for seed in seed..seed + 2 {
        println!("seed {seed}");
        play(&instance, seed);
    }
    let report = instance.engine.check().expect("a check");
    assert!(report.is_clean(), "{report:?}");
}
