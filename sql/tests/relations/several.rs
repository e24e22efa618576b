//! Indexes with several entries of a row: what a full-text index finds is what its words say of each row, through random
//! changes, rollbacks and purge, for readers of old snapshots and of new ones.
//!
//! ```text
//! SELECT id FROM t WHERE MATCH ...                        the index
//! SELECT id FROM t IGNORE INDEX (k) WHERE MATCH ...       the text of each row
//! the rows of `SELECT id, a, b FROM t`, cut here          neither
//! ```

use std::collections::BTreeMap;
use std::sync::Arc;

use sql::{Instance, Session};
use storage::Config;

use crate::common::random::{Random, first_seed};
use crate::common::{Scratch, done, instance, run, session};

const WORDS: &[&str] = &["apple", "berry", "cherry", "dates", "elder", "figs", "grape", "hazel", "The", "of"];
const STEPS: usize = 250;

/// A text of some words; now and then one that does not fit its page.
fn text(random: &mut Random) -> String {
    if random.below(12) == 0 {
        let filler = format!("{} ", random.one(&["lorem", "ipsum"])).repeat(2500);
        return format!("'{filler}{} {}'", random.one(WORDS), random.one(WORDS));
    }
    match random.below(9) {
        0 => "NULL".to_owned(),
        count => {
            let words: Vec<&str> = (1..count).map(|_| random.one(WORDS)).collect();
            format!("'{}'", words.join(random.one(&[" ", ", ", "-"])))
        }
    }
}

/// Which words must be there, must not, and may be.
struct Question {
    must: Vec<&'static str>,
    must_not: Vec<&'static str>,
    may: Vec<&'static str>,
}

impl Question {
    fn new(random: &mut Random) -> Question {
        let mut words = |most: usize| -> Vec<&'static str> {
            let count = random.below(most + 1);
            (0..count).map(|_| WORDS[random.below(8)]).collect()
        };
        Question { must: words(2), must_not: words(1), may: words(2) }
    }

    fn text(&self) -> String {
        let all = self.must.iter().map(|word| format!("+{word}"));
        let all = all.chain(self.must_not.iter().map(|word| format!("-{word}")));
        all.chain(self.may.iter().map(|word| (*word).to_owned())).collect::<Vec<_>>().join(" ")
    }

    fn fits(&self, row: &str) -> bool {
        let words: Vec<String> = row.split(|c: char| !c.is_alphanumeric()).map(|word| word.to_lowercase()).collect();
        let has = |word: &&str| words.iter().any(|own| own == word);
        let wanted = match self.must.is_empty() {
            true => self.may.iter().any(&has),
            false => self.must.iter().all(&has),
        };
        wanted && !self.must_not.iter().any(has)
    }
}

/// The rows that a session sees.
fn rows(session: &mut Session) -> BTreeMap<u32, String> {
    let lines = run(session, "SELECT id, CONCAT_WS(' ', a, b) FROM t");
    let row = |line: &String| {
        let (id, text) = line[2..].split_once(" |").unwrap_or((&line[2..], ""));
        (id.trim().parse().expect("an id"), text.to_owned())
    };
    lines.iter().skip(1).map(row).collect()
}

fn check(session: &mut Session, random: &mut Random) {
    let question = Question::new(random);
    let against = format!("MATCH (a, b) AGAINST ('{}' IN BOOLEAN MODE)", question.text());
    let seen = rows(session);
    let expected: Vec<String> =
        seen.iter().filter(|(_, row)| question.fits(row)).map(|(id, _)| format!("| {id}")).collect();
    for from in ["t", "t IGNORE INDEX (k)", "(SELECT * FROM t) AS d"] {
        let found = run(session, &format!("SELECT id FROM {from} WHERE {against} ORDER BY id"));
        assert_eq!(found[1..], expected, "{from}: {against}");
    }
    for search in ["apple berry", "apple app* \"figs grape\"", "+apple >berry ~figs", "\"dates elder\" @3"] {
        let mode = if search == "apple berry" { "" } else { " IN BOOLEAN MODE" };
        let against = format!("MATCH (a, b) AGAINST ('{search}'{mode})");
        let of = |from: &str| format!("SELECT id, {against} FROM {from} WHERE {against} ORDER BY id");
        let by_index = run(session, &of("t"));
        assert_eq!(by_index, run(session, &of("t IGNORE INDEX (k)")), "{against}");
        let ordered = run(session, &format!("SELECT id FROM t WHERE {against} ORDER BY {against} DESC LIMIT 3"));
        assert_eq!(ordered.len() - 1, (by_index.len() - 1).min(3), "{against}");
    }
}

fn change(session: &mut Session, random: &mut Random, in_transaction: &mut bool) {
    let (id, a, b) = (random.below(40), text(random), text(random));
    let word = random.one(WORDS);
    let statement = match random.below(13) {
        0..3 => format!("INSERT IGNORE INTO t VALUES ({id}, {a}, {b}, 0)"),
        3 => format!("REPLACE INTO t VALUES ({id}, {a}, {b}, 1)"),
        4 => format!("UPDATE t SET a = {a} WHERE id = {id}"),
        5 => format!("UPDATE t SET a = {a}, b = {b} WHERE id = {id}"),
        6 => format!("UPDATE t SET n = n + 1 WHERE MATCH (a, b) AGAINST ('{word}') LIMIT 2"),
        7 => format!("UPDATE IGNORE t SET id = {} WHERE id = {id}", random.below(40)),
        8 => format!("DELETE FROM t WHERE id = {id}"),
        9 => format!("DELETE FROM t WHERE MATCH (a, b) AGAINST ('+{word} +apple' IN BOOLEAN MODE) LIMIT 1"),
        10 if !*in_transaction => {
            *in_transaction = true;
            "BEGIN".to_owned()
        }
        11 if *in_transaction => random.one(&["SAVEPOINT s", "SAVEPOINT s", "ROLLBACK TO s"]).to_owned(),
        _ if *in_transaction => {
            *in_transaction = false;
            random.one(&["COMMIT", "ROLLBACK"]).to_owned()
        }
        _ => format!("DELETE FROM t WHERE id = {id}"),
    };
    let lines = run(session, &statement);
    // A savepoint that was not set, or a key that is taken.
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
    done(&mut writer, "CREATE TABLE t (id INT PRIMARY KEY, a TEXT, b TEXT, n INT, FULLTEXT k (a, b), KEY (n))");
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
    }
    done(&mut writer, "COMMIT");
    done(&mut reader, "COMMIT");
    check(&mut reader, &mut random);
    for statement in ["CHECK TABLE t", "OPTIMIZE TABLE t", "CHECK TABLE t"] {
        let lines = run(&mut writer, statement);
        assert!(lines.iter().any(|line| line.ends_with("| OK")), "{statement}: {lines:?}");
    }
    check(&mut writer, &mut random);
}

#[test]
fn the_index_finds_what_the_texts_say() {
    let scratch = Scratch::new("relations-fulltext");
    let instance = instance(&scratch.0, Config::default());
    let seed = first_seed();
    for seed in seed..seed + 2 {
        println!("seed {seed}");
        play(&instance, seed);
    }
    let report = instance.engine.check().expect("a check");
    assert!(report.is_clean(), "{report:?}");
}
