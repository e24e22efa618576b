//! Pairs of DDL statements at one time, beside changes of rows and KILL, judged by a model.
//!
//! ```text
//!   actor 1    one kind of statement, done and undone     each owns one fact about the table, which nobody else changes:
//!   actor 2    one kind of statement, done and undone     after each answer the definition must say it as it was answered
//!   rows       INSERT, UPDATE, DELETE                     a = id * 10 + 1, b = id * 10 + 2, whatever becomes of the columns
//!   killer     KILL QUERY                                 a statement that was interrupted has changed nothing
//! ```
//!
//! Pairs are drawn by a seed, which is printed; `STORM_SEED` replays, `STORM_SECONDS` runs longer than a test does.

#[path = "definition_storm/beside.rs"]
mod beside;
mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use sql::{Instance, Session};
use storage::Config;

use common::random::{Random, first_seed};
use common::{Scratch, ask, instance, session, session_of};

/// The number of an error, if it is one.
fn error(lines: &[String]) -> Option<u32> {
    let line = lines.iter().find_map(|line| line.strip_prefix("! "))?;
    line.split(' ').next()?.parse().ok()
}

/// One kind of statement: how it is done and undone by an actor, and what SHOW CREATE TABLE says in between.
struct Kind {
    name: &'static str,
    /// `#` stands for the actor's number.
    done: &'static str,
    undone: &'static str,
    /// Part of the definition that is there while it is done, and only then. Empty = nothing to be seen.
    fact: &'static str,
    /// Two actors of this kind would change one fact.
    shares_fact: bool,
}

const fn kind(name: &'static str, done: &'static str, undone: &'static str, fact: &'static str, shared: bool) -> Kind {
    Kind { name, done, undone, fact, shares_fact: shared }
}

const KINDS: [Kind; 26] = [
    kind(
        "column",
        "ALTER TABLE t ADD COLUMN x# INT NOT NULL DEFAULT 7",
        "ALTER TABLE t DROP COLUMN x#",
        "`x#` int",
        false,
    ),
    kind("first", "ALTER TABLE t ADD COLUMN f# INT FIRST", "ALTER TABLE t DROP COLUMN f#", "`f#` int", false),
    kind("move", "ALTER TABLE t MODIFY b INT AFTER id", "ALTER TABLE t MODIFY b INT AFTER a", "", true),
    kind("type", "ALTER TABLE t MODIFY d BIGINT", "ALTER TABLE t MODIFY d INT", "`d` bigint", true),
    kind("column name", "ALTER TABLE t RENAME COLUMN c TO e", "ALTER TABLE t CHANGE e c INT", "`e` int", true),
    kind("index", "ALTER TABLE t ADD INDEX i# (a)", "ALTER TABLE t DROP INDEX i#", "`i#` (`a`)", false),
    kind("unique", "CREATE UNIQUE INDEX u# ON t (b, id)", "DROP INDEX u# ON t", "`u#` (`b`,`id`)", false),
    kind("index name", "ALTER TABLE t RENAME INDEX r# TO s#", "ALTER TABLE t RENAME INDEX s# TO r#", "`s#`", false),
    kind(
        "invisible",
        "ALTER TABLE t ALTER INDEX v# INVISIBLE",
        "ALTER TABLE t ALTER INDEX v# VISIBLE",
        "`v#` (`b`) /*",
        false,
    ),
    kind("default", "ALTER TABLE t ALTER a SET DEFAULT 5", "ALTER TABLE t ALTER a DROP DEFAULT", "DEFAULT '5'", true),
    kind("comment", "ALTER TABLE t COMMENT 'said'", "ALTER TABLE t COMMENT ''", "COMMENT='said'", true),
    kind("codec", "ALTER TABLE t COMPRESSION='lz4'", "ALTER TABLE t COMPRESSION='none'", "='lz4'", true),
    kind("both", "ALTER TABLE t ADD h# INT, ADD INDEX h# (h#)", "ALTER TABLE t DROP COLUMN h#", "`h#` (`h#`)", false),
    kind("copy", "ALTER TABLE t FORCE", "ALTER TABLE t ENGINE=InnoDB", "", false),
    kind("counter", "ALTER TABLE t AUTO_INCREMENT=1000000", "ALTER TABLE t AUTO_INCREMENT=1", "", false),
    kind(
        "foreign key",
        "ALTER TABLE t ADD CONSTRAINT fk# FOREIGN KEY (p) REFERENCES parent (id) ON UPDATE CASCADE",
        "ALTER TABLE t DROP FOREIGN KEY fk#",
        "CONSTRAINT `fk#`",
        false,
    ),
    kind("parent", "ALTER TABLE parent ADD COLUMN y# INT FIRST", "ALTER TABLE parent DROP COLUMN y#", "", false),
    kind(
        "parent's key",
        "ALTER TABLE parent RENAME COLUMN id TO jd",
        "ALTER TABLE parent RENAME COLUMN jd TO id",
        "",
        true,
    ),
    kind("optimize", "OPTIMIZE TABLE t", "ANALYZE TABLE t", "", false),
    kind("checksum", "CHECKSUM TABLE t", "CHECKSUM TABLE t", "", false),
    kind("name", "RENAME TABLE t TO away", "RENAME TABLE away TO t", "", true),
    kind("truncate", "TRUNCATE TABLE t", "TRUNCATE TABLE t", "", false),
    kind("like", "CREATE TABLE l# LIKE t", "DROP TABLE l#", "", false),
    kind("select", "CREATE TABLE q# SELECT id, a, b FROM t", "DROP TABLE q#", "", false),
    kind("if exists", "CREATE TABLE IF NOT EXISTS both_want (id INT)", "DROP TABLE IF EXISTS both_want", "", false),
    kind("database", "CREATE DATABASE IF NOT EXISTS both_db", "DROP DATABASE IF EXISTS both_db", "", false),
];

/// What a statement may be answered because of what is done beside it.
fn is_expected(kind: &Kind, code: u32, names: [&str; 2]) -> bool {
    let other = |name: &str| names.contains(&name);
    match code {
        // Interrupted, a deadlock of names, a table that is renamed away.
        1317 | 1213 => true,
        1146 | 1049 => other("name") && kind.name != "if exists",
        // The parent's key has the other name for the moment.
        3734 | 1822 => other("parent's key") && kind.name == "foreign key",
        // It is referred to.
        1834 | 3730 | 1701 | 1829 => other("foreign key"),
        _ => false,
    }
}

fn definition(session: &mut Session) -> Option<String> {
    for _ in 0..200 {
        for name in ["t", "away"] {
            let lines = ask(session, &format!("SHOW CREATE TABLE {name}"));
            if error(&lines).is_none() {
                return lines.get(1).cloned();
            }
        }
    }
    None
}

struct Actor<'a> {
    instance: &'a Arc<Instance>,
    number: usize,
    kind: &'static Kind,
    names: [&'static str; 2],
    judges: bool,
}

impl Actor<'_> {
    /// Does and undoes its statement; the answer says what was wrong.
    fn run(&self, mut own: Session) -> Result<u32, String> {
        let fill = |text: &str| text.replace('#', &self.number.to_string());
        let (mut done, mut changes) = (false, 0);
        let mut look = session(self.instance);
        let mut turn = 0;
        while turn < 8 || done {
            turn += 1;
            if turn > 400 {
                return Err(format!("{} does not come to an end", self.kind.name));
            }
            let statement = fill(if done { self.kind.undone } else { self.kind.done });
            let lines = ask(&mut own, &statement);
            match error(&lines) {
                None => {
                    done = !done;
                    changes += 1;
                }
                // The other one may need a while.
                Some(code) if is_expected(self.kind, code, self.names) => thread::sleep(Duration::from_millis(5)),
                Some(_) => return Err(format!("{statement}: {lines:?}")),
            }
            if let Some(line) = lines.iter().find(|line| line.contains("Corrupt") || line.contains("| error |")) {
                return Err(format!("{statement}: {line}"));
            }
            if self.judges && !self.kind.fact.is_empty() {
                let Some(now) = definition(&mut look) else { return Err("the table is gone".into()) };
                if now.contains(&fill(self.kind.fact)) != done {
                    return Err(format!("{statement}: {lines:?}, but the definition is {now}"));
                }
            }
            if done && self.kind.name == "select" {
                let wrong = format!("SELECT COUNT(*) FROM q{} WHERE a <> id*10+1 OR b <> id*10+2", self.number);
                let found = ask(&mut look, &wrong);
                if found.get(1).map(String::as_str) != Some("| 0") {
                    return Err(format!("{wrong}: {found:?}"));
                }
            }
        }
        Ok(changes)
    }
}

const WRONG_ROWS: &str = "SELECT COUNT(*) FROM t WHERE a <> id*10+1 OR b <> id*10+2 OR p <> 1 OR d <> id*10+4";

/// Changes rows until it is told to stop; the ids that must be there.
fn change_rows(instance: &Arc<Instance>, stop: &AtomicBool, names: [&str; 2]) -> Result<Vec<u64>, String> {
    let mut own = session(instance);
    let mut there = Vec::new();
    let mut id = 1000;
    while !stop.load(Ordering::Relaxed) {
        id += 1;
        let statement = match id % 3 {
            0 => format!("UPDATE t SET a = id*10+1, b = {} WHERE id = {}", (id - 1) * 10 + 2, id - 1),
            1 => format!("SELECT SUM(a), SUM(b) FROM t WHERE a = {}", (id - 2) * 10 + 1),
            _ => {
                format!("INSERT INTO t (id, a, b, p, d) VALUES ({id}, {id}*10+1, {id}*10+2, 1, {id}*10+4)")
            }
        };
        let lines = ask(&mut own, &statement);
        match error(&lines) {
            None if id % 3 == 2 => there.push(id),
            None => {}
            Some(1213) => {}
            Some(1146) if names.contains(&"name") => {}
            Some(_) => return Err(format!("{statement}: {lines:?}")),
        }
    }
    Ok(there)
}

/// One round. The answer counts the changes of definitions.
fn round(instance: &Arc<Instance>, kinds: [&'static Kind; 2], mut random: Random) -> Result<u32, String> {
    let mut setup = session(instance);
    for statement in [
        "CREATE TABLE parent (id INT PRIMARY KEY)",
        "INSERT INTO parent VALUES (1)",
        "CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, a INT, b INT, c INT, d INT, p INT, KEY r1 (a), KEY r2 (a), \
         KEY v1 (b), KEY v2 (b), KEY p (p)) COMPRESSION='none'",
    ] {
        let lines = ask(&mut setup, statement);
        assert_eq!(error(&lines), None, "{statement}: {lines:?}");
    }
    for id in 1..40 {
        let row = format!("INSERT INTO t VALUES ({id}, {id}*10+1, {id}*10+2, 3, {id}*10+4, 1)");
        assert_eq!(error(&ask(&mut setup, &row)), None);
    }
    let names = [kinds[0].name, kinds[1].name];
    let judges = names[0] != names[1] || !kinds[0].shares_fact;
    // Two of a kind that share a fact disagree about what is done.
    let kinds: Vec<&'static Kind> = if judges { kinds.to_vec() } else { vec![kinds[0]] };
    let stop = AtomicBool::new(false);
    let outcome: Result<(u32, Vec<u64>), String> = thread::scope(|scope| {
        let mut actors = Vec::new();
        let mut victims = Vec::new();
        for (number, kind) in kinds.into_iter().enumerate() {
            let process = instance.processes.register("localhost");
            victims.push(process.id);
            let own = session_of(instance, process);
            let actor = Actor { instance, number: number + 1, kind, names, judges };
            actors.push(scope.spawn(move || actor.run(own)));
        }
        let rows = scope.spawn(|| change_rows(instance, &stop, names));
        let mut killer = session(instance);
        while actors.iter().any(|actor| !actor.is_finished()) {
            thread::sleep(Duration::from_millis(1 + random.below(12) as u64));
            let victim = victims[random.below(victims.len())];
            ask(&mut killer, &format!("KILL QUERY {victim}"));
        }
        stop.store(true, Ordering::Relaxed);
        let mut changes = 0;
        for actor in actors {
            changes += actor.join().map_err(|_| "an actor panicked".to_string())??;
        }
        let there = rows.join().map_err(|_| "the changes of rows panicked".to_string())??;
        Ok((changes, there))
    });
    let (changes, there) = outcome?;
    let found = ask(&mut setup, WRONG_ROWS);
    if found.get(1).map(String::as_str) != Some("| 0") {
        return Err(format!("{WRONG_ROWS}: {found:?}"));
    }
    if !names.contains(&"truncate") {
        for id in there {
            let found = ask(&mut setup, &format!("SELECT a FROM t WHERE id = {id}"));
            if found.get(1) != Some(&format!("| {}", id * 10 + 1)) {
                return Err(format!("row {id} is lost: {found:?}"));
            }
        }
    }
    let checked = ask(&mut setup, "CHECK TABLE t");
    if !checked.iter().any(|line| line.ends_with("| status | OK")) {
        return Err(format!("{checked:?}"));
    }
    for statement in ["DROP TABLE t, parent", "DROP TABLE IF EXISTS both_want", "DROP DATABASE IF EXISTS both_db"] {
        let lines = ask(&mut setup, statement);
        assert_eq!(error(&lines), None, "{statement}: {lines:?}");
    }
    Ok(changes)
}

#[test]
fn every_pair_of_changes_is_kept() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let seed = number("STORM_SEED").unwrap_or_else(first_seed);
    let limit = Duration::from_secs(number("STORM_SECONDS").unwrap_or(12));
    println!("STORM_SEED={seed}");
    let scratch = Scratch::new("storm");
    let instance = instance(&scratch.0, Config::tiny());
    let mut random = Random::new(seed);
    let mut pairs: Vec<[usize; 2]> =
        (0..KINDS.len()).flat_map(|one| (one..KINDS.len()).map(move |two| [one, two])).collect();
    for at in (1..pairs.len()).rev() {
        pairs.swap(at, random.below(at + 1));
    }
    let begin = Instant::now();
    let (mut rounds, mut changes) = (0, 0);
    for [one, two] in pairs.iter().cycle() {
        if begin.elapsed() > limit && rounds > 0 {
            break;
        }
        let (one, two) = (&KINDS[*one], &KINDS[*two]);
        match round(&instance, [one, two], Random::new(random.below(usize::MAX) as u64)) {
            Ok(made) => changes += made,
            Err(wrong) => panic!("seed {seed}, {} beside {}: {wrong}", one.name, two.name),
        }
        rounds += 1;
    }
    println!("{rounds} pairs, {changes} changes of definitions");
}
