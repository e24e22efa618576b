//! Columns that come and go at once leave the same table as a copy of its rows: two tables get the same random changes and
//! the same ALTERs, one by ALGORITHM=INSTANT where that is possible, one by COPY or INPLACE. After each statement both have
//! answered the same, have the same rows by each index and the same CHECKSUM TABLE; an older snapshot sees the same of
//! both, while purge waits for it. Then the power goes, and the tables are the same again.
//!
//! `INSTANT_CASES=1000 cargo test -p sql --test relations instant` runs as many; `INSTANT_SEED=n` replays one.

use std::sync::Arc;

use super::common::random::{Random, first_seed};
use super::common::{Scratch, ask, session};
use sql::accounts::Accounts;
use sql::variables::GlobalVariables;
use sql::{Instance, Session};
use storage::io::Disk;
use storage::io::sim::SimDisk;
use storage::{Config, Engine, TrxOptions};

/// A kind of column: its type, whether it may have an index, and values; the first ones do for a DEFAULT.
struct Kind {
    ty: &'static str,
    indexed: &'static str,
    defaults: &'static [&'static str],
    values: &'static [&'static str],
}

const KINDS: &[Kind] = &[
    Kind { ty: "INT", indexed: "", defaults: &["7", "(1 + 2)"], values: &["0", "-5", "7", "3", "1000000"] },
    Kind { ty: "BIGINT UNSIGNED", indexed: "", defaults: &["9"], values: &["9", "18446744073709551615"] },
    Kind { ty: "VARCHAR(20)", indexed: "", defaults: &["'abc'", "''"], values: &["'abc'", "'ABC'", "''", "'xyzzy'"] },
    Kind {
        ty: "VARCHAR(900)",
        indexed: "(30)",
        defaults: &["'long'", "(REPEAT('d', 300))"],
        values: &["REPEAT('v', 900)", "REPEAT('d', 300)", "'long'", "''"],
    },
    Kind { ty: "CHAR(9)", indexed: "", defaults: &["'c'"], values: &["'c'", "'chars'", "''"] },
    Kind { ty: "TEXT", indexed: "(10)", defaults: &["('text')"], values: &["REPEAT('t', 9000)", "'text'", "''"] },
    Kind { ty: "LONGBLOB", indexed: "(5)", defaults: &[], values: &["REPEAT('b', 40000)", "REPEAT('x', 2000)", "'b'"] },
    Kind { ty: "DECIMAL(12,3)", indexed: "", defaults: &["1.5"], values: &["1.5", "-99999.125", "0"] },
    Kind {
        ty: "DATETIME(3)",
        indexed: "",
        defaults: &["CURRENT_TIMESTAMP(3)", "'2020-02-29 01:02:03.456'"],
        values: &["'2020-02-29 01:02:03.456'", "'1999-01-01'"],
    },
    Kind { ty: "ENUM('x','y','z')", indexed: "", defaults: &["'y'"], values: &["'x'", "'y'", "'z'"] },
    Kind { ty: "DOUBLE", indexed: "", defaults: &["2.5"], values: &["2.5", "-1e300", "0"] },
    Kind { ty: "BIT(11)", indexed: "", defaults: &["b'101'"], values: &["b'101'", "b'11111111111'"] },
    Kind { ty: "JSON", indexed: "-", defaults: &[], values: &["'[1, 2]'", "'{\"a\": 1}'"] },
];

struct Column {
    name: String,
    kind: &'static Kind,
    nullable: bool,
}

struct Case {
    random: Random,
    columns: Vec<Column>,
    /// By name: the column.
    indexes: Vec<(String, String)>,
    names: usize,
    is_open: bool,
}

impl Case {
    fn below(&mut self, limit: usize) -> usize {
        self.random.below(limit)
    }

    fn value(&mut self, at: usize) -> String {
        let column = &self.columns[at];
        if column.nullable && self.random.below(5) == 0 {
            return "NULL".into();
        }
        self.random.one(column.kind.values).to_owned()
    }

    fn new_name(&mut self, letter: char) -> String {
        self.names += 1;
        format!("{letter}{}", self.names)
    }

    /// A new column, and how it is written.
    fn column(&mut self) -> (Column, String) {
        let kind = &KINDS[self.random.below(KINDS.len())];
        let has_default = !kind.defaults.is_empty() && self.below(3) > 0;
        // What a DATETIME is without a default is no date.
        let nullable = self.below(2) == 0 || kind.indexed == "-" || kind.ty == "DATETIME(3)" && !has_default;
        let name = self.new_name('c');
        let mut text = format!("{name} {}{}", kind.ty, if nullable { "" } else { " NOT NULL" });
        if has_default {
            text += &format!(" DEFAULT {}", self.random.one(kind.defaults));
        }
        (Column { name, kind, nullable }, text)
    }

    fn id(&mut self) -> usize {
        self.below(25)
    }

    /// A statement on rows.
    fn change(&mut self) -> String {
        match self.below(16) {
            0..=3 => {
                let (id, verb) = (self.id(), self.random.one(&["INSERT IGNORE INTO", "REPLACE INTO", "INSERT INTO"]));
                let names: Vec<String> = self.columns.iter().map(|column| column.name.clone()).collect();
                let values: Vec<String> = (0..names.len()).map(|at| self.value(at)).collect();
                match names.is_empty() || self.below(4) == 0 {
                    true => format!("INSERT IGNORE INTO @ (id) VALUES ({id})"),
                    false => format!("{verb} @ (id, {}) VALUES ({id}, {})", names.join(", "), values.join(", ")),
                }
            }
            4..=9 if !self.columns.is_empty() => {
                let (at, id) = (self.random.below(self.columns.len()), self.id());
                let (value, many) = (self.value(at), self.below(4) == 0);
                let range = if many { "<" } else { "=" };
                format!("UPDATE @ SET {} = {value} WHERE id {range} {id}", self.columns[at].name)
            }
            10 => format!("UPDATE @ SET id = id + 50 WHERE id = {}", self.id()),
            11 => format!("UPDATE IGNORE @ SET id = id - 50 WHERE id > 50 AND id < {}", 50 + self.id()),
            12 | 13 => format!("DELETE FROM @ WHERE id = {}", self.id()),
            14 if self.is_open => self.random.one(&["SAVEPOINT x", "ROLLBACK TO x", "ROLLBACK"]).into(),
            _ => self.random.one(&["BEGIN", "COMMIT"]).into(),
        }
    }

    /// Columns come and go.
    fn alter(&mut self) -> String {
        let mut actions = Vec::new();
        for _ in 0..1 + self.below(3) {
            let indexed: Vec<&str> = self.indexes.iter().map(|(_, column)| &**column).collect();
            let free: Vec<usize> =
                (0..self.columns.len()).filter(|at| !indexed.contains(&&*self.columns[*at].name)).collect();
            if self.columns.len() > 8 || !free.is_empty() && self.below(5) < 2 {
                let Some(&at) = free.get(self.random.below(free.len().max(1))) else { continue };
                let name = self.columns.remove(at).name;
                // A column that the same statement has added is not there to be dropped.
                match actions.iter().position(|action: &String| action.contains(&format!("ADD COLUMN {name} "))) {
                    Some(added) => drop(actions.remove(added)),
                    None => actions.push(format!("DROP COLUMN {name}")),
                }
                continue;
            }
            let (column, text) = self.column();
            let place = match self.below(3) {
                0 => " FIRST",
                1 => " AFTER id",
                _ => "",
            };
            actions.push(format!("ADD COLUMN {text}{place}"));
            self.columns.push(column);
        }
        if actions.is_empty() {
            actions.push("COMMENT 'nothing'".into());
        }
        format!("ALTER TABLE @ {}", actions.join(", "))
    }

    /// Another definition in other ways.
    fn define(&mut self) -> String {
        let at = if self.columns.is_empty() { 9 } else { self.random.below(self.columns.len()) };
        match self.below(9) {
            0..=2 if at < 9 && self.columns[at].kind.indexed != "-" && self.indexes.len() < 4 => {
                let (name, column) = (self.new_name('i'), &self.columns[at]);
                let text = format!("ALTER TABLE @ ADD INDEX {name} ({}{})", column.name, column.kind.indexed);
                self.indexes.push((name, column.name.clone()));
                text
            }
            3 | 4 if !self.indexes.is_empty() => {
                let at = self.random.below(self.indexes.len());
                format!("ALTER TABLE @ DROP INDEX {}", self.indexes.remove(at).0)
            }
            5 if at < 9 => {
                let (name, old) = (self.new_name('c'), self.columns[at].name.clone());
                self.indexes.iter_mut().filter(|index| index.1 == old).for_each(|index| index.1 = name.clone());
                self.columns[at].name = name.clone();
                format!("ALTER TABLE @ RENAME COLUMN {old} TO {name}")
            }
            6 if at < 9
                && self.columns[at].kind.defaults.first().is_some_and(|first| !first.starts_with(['(', 'C'])) =>
            {
                let column = &self.columns[at];
                format!("ALTER TABLE @ ALTER {} SET DEFAULT {}", column.name, column.kind.values[0])
            }
            7 => "OPTIMIZE TABLE @".into(),
            8 if self.below(4) == 0 => "TRUNCATE TABLE @".into(),
            _ => "ALTER TABLE @ COMMENT 'said'".into(),
        }
    }
}

fn is_error(lines: &[String]) -> bool {
    lines.iter().any(|line| line.starts_with("! "))
}

/// What is asked of a table to compare it.
fn questions(case: &Case) -> Vec<String> {
    let mut questions = vec!["SELECT * FROM @ ORDER BY id".to_owned(), "SELECT COUNT(*) FROM @".to_owned()];
    for (index, column) in &case.indexes {
        questions.push(format!("SELECT id, {column} FROM @ FORCE INDEX ({index}) ORDER BY {column}, id"));
        questions.push(format!("SELECT COUNT(*) FROM @ FORCE INDEX ({index}) WHERE {column} >= 'b'"));
    }
    questions.push("CHECKSUM TABLE @".to_owned());
    questions
}

fn ask_of(session: &mut Session, table: &str, question: &str) -> Vec<String> {
    let lines = ask(session, &question.replace('@', table));
    lines.iter().map(|line| line.replace(table, "@")).collect()
}

fn compare(session: &mut Session, questions: &[String]) -> Result<(), String> {
    for question in questions {
        let (mine, other) = (ask_of(session, "quick", question), ask_of(session, "slow", question));
        if mine != other {
            return Err(format!("{question}\n{mine:?}\n{other:?}"));
        }
    }
    Ok(())
}

fn open(disk: Arc<dyn Disk>, scratch: &Scratch) -> Arc<Instance> {
    let engine = Engine::open(disk, Config::tiny()).expect("an open instance");
    Instance::new(engine, GlobalVariables::new(), Accounts::in_memory(), scratch.0.clone())
}

struct Played {
    /// How many statements went at once, and how many could not.
    instant: usize,
    not: usize,
}

fn purge(instance: &Instance) {
    for _ in 0..2000 {
        if !instance.engine.step().expect("purge") {
            break;
        }
    }
}

fn play(seed: u64, scratch: &Scratch) -> Result<Played, String> {
    let mut case =
        Case { random: Random::new(seed), columns: Vec::new(), indexes: Vec::new(), names: 0, is_open: false };
    let mut disk = SimDisk::new(seed);
    Engine::create(Arc::new(disk.clone()), &Config::tiny()).expect("a new instance");
    let mut instance = open(Arc::new(disk.clone()), scratch);
    let made = instance.engine.create_database("test", format::collation::CollationId::DEFAULT, &TrxOptions::patient());
    made.expect("a database");
    let mut own = session(&instance);
    let mut history: Vec<String> = Vec::new();
    let key = case.random.one(&["id INT PRIMARY KEY", "id INT PRIMARY KEY", "id INT, UNIQUE (id)"]);
    let options =
        case.random.one(&["", "COMPRESSION='zstd'", "COMPRESSION='lz4'", "ENCRYPTION='N'", "ROW_FORMAT=COMPACT"]);
    let divided = case.random.one(&["", "", "PARTITION BY HASH (id) PARTITIONS 3"]);
    for table in ["quick", "slow"] {
        ask(&mut own, &format!("CREATE TABLE {table} ({key}) {options} {divided}"));
    }
    history.push(format!("CREATE TABLE @ ({key}) {options} {divided}"));
    let mut reader: Option<Session> = None;
    let mut played = Played { instant: 0, not: 0 };
    for number in 0..60 {
        let failed = |history: &[String], what: &str| {
            Err(format!("INSTANT_SEED={seed}\n{};\nstatement {number}: {what}", history.join(";\n")))
        };
        let statement = match case.below(12) {
            0..=2 => case.alter(),
            3 => case.define(),
            _ => case.change(),
        };
        ask(&mut own, &format!("SET timestamp = {}", 1_600_000_000 + number));
        history.push(statement.clone());
        let (mine, other) = if statement.starts_with("ALTER TABLE @ ADD COLUMN") || statement.contains("DROP COLUMN") {
            let at_once = ask_of(&mut own, "quick", &format!("{statement}, ALGORITHM=INSTANT"));
            let refused =
                ["! 1845", "! 4092", "! 4093"].iter().any(|code| at_once.iter().any(|line| line.starts_with(code)));
            played.instant += usize::from(!refused);
            played.not += usize::from(refused);
            let copied = case.random.one(&["COPY", "INPLACE"]);
            let slow = ask_of(&mut own, "slow", &format!("{statement}, ALGORITHM={copied}"));
            match refused {
                true if is_error(&slow) => return failed(&history, &format!("{slow:?}")),
                true => (ask_of(&mut own, "quick", &format!("{statement}, ALGORITHM={copied}")), slow),
                // Only a copy counts rows.
                false if is_error(&at_once) || is_error(&slow) => {
                    return failed(&history, &format!("{at_once:?}\n{slow:?}"));
                }
                false => (Vec::new(), Vec::new()),
            }
        } else if !statement.contains('@') {
            ask(&mut own, &statement);
            (Vec::new(), Vec::new())
        } else {
            let mine = ask_of(&mut own, "quick", &statement);
            (mine, ask_of(&mut own, "slow", &statement))
        };
        case.is_open = match &*statement {
            "BEGIN" => true,
            "COMMIT" | "ROLLBACK" => false,
            text if text.starts_with("ALTER") || text.starts_with("OPTIMIZE") || text.starts_with("TRUNCATE") => false,
            _ => case.is_open,
        };
        if mine != other {
            return failed(&history, &format!("{mine:?}\n{other:?}"));
        }
        let questions = questions(&case);
        if let Err(what) = compare(&mut own, &questions) {
            return failed(&history, &what);
        }
        // Another session has an older view now and then, for which purge must wait. It reads once: then it has the names.
        match case.below(8) {
            0 if reader.is_none() => {
                let mut other = session(&instance);
                ask(&mut other, "START TRANSACTION WITH CONSISTENT SNAPSHOT");
                reader = Some(other);
            }
            1 | 2 => {
                if let Some(mut reader) = reader.take()
                    && let Err(what) = compare(&mut reader, &questions[..questions.len() - 1])
                {
                    return failed(&history, &format!("an older snapshot: {what}"));
                }
            }
            _ => purge(&instance),
        }
        if case.below(25) == 0 {
            history.push("the power goes".into());
            let after = disk.crash();
            drop(reader.take());
            drop(own);
            drop(instance);
            disk = after;
            instance = open(Arc::new(disk.clone()), scratch);
            own = session(&instance);
            case.is_open = false;
            instance.engine.finish_rollbacks().expect("rolled back");
            if let Err(what) = compare(&mut own, &questions) {
                return failed(&history, &format!("after a crash: {what}"));
            }
        }
    }
    drop(reader);
    ask(&mut own, "COMMIT");
    purge(&instance);
    let report = instance.engine.check().expect("a check");
    if !report.is_clean() {
        return Err(format!("INSTANT_SEED={seed}\n{};\n{:?}", history.join(";\n"), report.errors));
    }
    drop(own);
    let _ = instance.engine.close();
    Ok(played)
}

#[test]
fn columns_at_once_are_as_those_of_a_copy() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let (first, cases) = match number("INSTANT_SEED") {
        Some(seed) => (seed, 1),
        None => (first_seed(), number("INSTANT_CASES").unwrap_or(20)),
    };
    let scratch = Scratch::new("relations-instant");
    let (mut instant, mut not, mut failures) = (0, 0, Vec::new());
    for seed in first..first + cases {
        match play(seed, &scratch) {
            Ok(played) => (instant, not) = (instant + played.instant, not + played.not),
            Err(failure) => failures.push(failure),
        }
    }
    println!("{cases} cases from seed {first}: {instant} ALTERs at once, {not} refused");
    assert!(failures.is_empty(), "{} of {cases} differ\n{}", failures.len(), failures.join("\n\n"));
    assert!(instant > not || cases < 10, "few ALTERs went at once");
}
