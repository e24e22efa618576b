//! Which way the parts of an index run decides how rows are found, and never which, nor in what order: random statements on
//! a table whose keys rise and fall, in partitions or not, and on one without keys have the same answers and leave the same
//! rows. An ORDER BY that says what a key says, or the reverse of all of it, needs no sort.
//!
//! `DESCENDING_CASES=1000 cargo test -p sql --test relations descending` runs as many; `DESCENDING_SEED=n` replays one.

use super::common::random::{Random, first_seed};
use super::common::{Scratch, ask, instance, session};
use storage::Config;

/// Types, and values of each that stand in the order of an index otherwise than in that of their texts.
const TYPES: &[(&str, &[&str])] = &[
    ("INT", &["-5", "0", "3", "12", "2147483647"]),
    ("BIGINT UNSIGNED", &["0", "7", "12", "18446744073709551615"]),
    ("DECIMAL(12,3)", &["-12.5", "-0.001", "0", "7.25", "12"]),
    ("DOUBLE", &["-1e10", "-0.5", "0", "0.5", "1e300"]),
    ("DATE", &["'1999-12-31'", "'2020-02-29'", "'2020-03-01'", "'2038-01-19'"]),
    ("TIME(3)", &["'-10:00:00'", "'00:00:00.001'", "'09:59:59'", "'100:00:00'"]),
    ("ENUM('z','m','a')", &["'z'", "'m'", "'a'"]),
    ("VARCHAR(20) COLLATE utf8mb4_0900_ai_ci", &["''", "'a'", "'B'", "'b'", "'ba'", "'Bär'", "'c'"]),
    ("VARCHAR(20) COLLATE utf8mb4_general_ci", &["''", "'a'", "'B '", "'b'", "'ba'", "'BAZ'", "'c'"]),
    ("CHAR(8) CHARACTER SET latin1", &["''", "'a'", "'B'", "'b'", "'ba'", "'c'"]),
    ("VARBINARY(20)", &["''", "'a'", "'B'", "'b'", "x'00'", "x'FF'"]),
    ("BIT(10)", &["0", "1", "512", "1023"]),
];

struct Case {
    random: Random,
    types: [usize; 3],
    keys: Vec<Vec<(&'static str, bool)>>,
}

const COLUMNS: [&str; 3] = ["a", "b", "c"];

impl Case {
    fn new(seed: u64) -> Case {
        let mut random = Random::new(seed);
        let types = [(); 3].map(|()| random.below(TYPES.len()));
        let key = |random: &mut Random| {
            let mut columns = COLUMNS.to_vec();
            let mut key = Vec::new();
            for _ in 0..1 + random.below(3) {
                let column = columns.swap_remove(random.below(columns.len()));
                key.push((column, random.below(3) > 0));
            }
            key
        };
        let keys = (0..1 + random.below(3)).map(|_| key(&mut random)).collect();
        Case { random, types, keys }
    }

    fn below(&mut self, limit: usize) -> usize {
        self.random.below(limit)
    }

    fn value(&mut self, column: &str) -> String {
        let Some(at) = COLUMNS.iter().position(|name| *name == column) else { return self.below(300).to_string() };
        if self.below(7) == 0 { "NULL".into() } else { self.random.one(TYPES[self.types[at]].1).to_owned() }
    }

    fn condition(&mut self) -> String {
        let mut all = Vec::new();
        for _ in 0..1 + self.below(3) {
            let column = self.random.one(&["a", "b", "c", "a", "b", "id"]);
            let (one, two, three) = (self.value(column), self.value(column), self.value(column));
            all.push(match self.below(12) {
                0..=2 => format!("{column} = {one}"),
                3 => format!("{column} IN ({one}, {two}, {three})"),
                4 => format!("{column} BETWEEN {one} AND {two}"),
                5 => format!("({column} < {one} OR {column} > {two})"),
                6 => format!("{column} <= {one}"),
                7 => format!("{column} > {one}"),
                8 => format!("{column} IS NULL"),
                9 => format!("{column} <=> {one}"),
                10 => format!("({column} > {one} OR {column} IS NULL)"),
                _ => format!("{column} LIKE '{}%'", self.random.one(&["b", "B", "1", "2020", "a"])),
            });
        }
        all.join(" AND ")
    }

    /// What a key says, or the reverse of all of it, and how many columns of it count.
    fn order_of_key(&mut self, number: usize) -> String {
        let key = self.keys[number].clone();
        let reverse = self.below(2) == 0;
        let part =
            |(column, descends): &(&str, bool)| format!("{column}{}", if *descends != reverse { " DESC" } else { "" });
        key.iter().map(part).collect::<Vec<_>>().join(", ")
    }

    fn order(&mut self) -> String {
        let mut columns = COLUMNS.to_vec();
        let mut order = Vec::new();
        for _ in 0..1 + self.below(3) {
            let column = columns.swap_remove(self.random.below(columns.len()));
            order.push(format!("{column}{}", self.random.one(&["", " DESC"])));
        }
        order.join(", ")
    }

    /// A statement; `@` stands for the table.
    fn statement(&mut self) -> String {
        let (condition, number) = (self.condition(), self.random.below(self.keys.len()));
        let order = if self.below(2) == 0 { self.order_of_key(number) } else { self.order() };
        let limit = 1 + self.below(9);
        match self.below(14) {
            0..=3 => {
                let row = |case: &mut Case| {
                    let values = ["id", "a", "b", "c"].map(|column| case.value(column));
                    format!("({})", values.join(", "))
                };
                let rows: Vec<String> = (0..1 + self.below(6)).map(|_| row(self)).collect();
                format!("REPLACE INTO @ (id, a, b, c) VALUES {}", rows.join(", "))
            }
            4 => {
                let column = self.random.one(&COLUMNS);
                let value = self.value(column);
                format!("UPDATE @ SET {column} = {value} WHERE {condition} ORDER BY {order}, id LIMIT {limit}")
            }
            5 => format!("DELETE FROM @ WHERE {condition} ORDER BY {order}, id DESC LIMIT 2"),
            6 => {
                let column = self.random.one(&COLUMNS);
                format!(
                    "SELECT HEX(TRIM(LOWER(MIN({column})))), HEX(TRIM(LOWER(MAX({column})))) FROM @ /*k{number}*/ WHERE {condition}"
                )
            }
            7 => {
                let column = self.random.one(&COLUMNS);
                format!(
                    "SELECT MIN({column}) IS NULL, MAX({column}) = MIN({column}), COUNT({column}) FROM @ /*k{number}*/"
                )
            }
            8 => format!("SELECT COUNT(*), SUM(id) FROM @ /*k{number}*/ WHERE {condition}"),
            9 => {
                let column = self.random.one(&COLUMNS);
                format!(
                    "SELECT COUNT(*), SUM(id) FROM @ /*k{number}*/ WHERE {condition} GROUP BY {column} ORDER BY 1, 2"
                )
            }
            10 => format!("SELECT id, a, b, c FROM @ /*k{number}*/ WHERE {condition} ORDER BY {order}, id FOR UPDATE"),
            11 => format!(
                "SELECT COUNT(*), SUM(x.id) FROM few STRAIGHT_JOIN @ x ON x.a {} few.a AND {}",
                self.random.one(&["=", "<", ">=", "<=>"]),
                condition.replace("id", "x.id").replace("a ", "x.a ").replace("b ", "x.b ").replace("c ", "x.c "),
            ),
            _ => {
                format!("SELECT id, a, b, c FROM @ /*k{number}*/ WHERE {condition} ORDER BY {order}, id LIMIT {limit}")
            }
        }
    }
}

fn run(seed: u64, session: &mut sql::Session) -> Result<(), String> {
    let mut case = Case::new(seed);
    let columns: Vec<String> =
        COLUMNS.iter().zip(case.types).map(|(name, ty)| format!("{name} {}", TYPES[ty].0)).collect();
    let keys = case.keys.iter().enumerate().map(|(number, key)| {
        let part = |(column, descends): &(&str, bool)| format!("{column}{}", if *descends { " DESC" } else { "" });
        format!(", KEY k{number} ({})", key.iter().map(part).collect::<Vec<_>>().join(", "))
    });
    let (keys, primary) = (keys.collect::<String>(), case.random.one(&["id", "id DESC"]));
    let divided = case.random.one(&["", "", " PARTITION BY HASH (id) PARTITIONS 3"]);
    let mut history = vec![
        "DROP TABLE IF EXISTS keyed, plain, few".to_owned(),
        format!("CREATE TABLE keyed (id INT NOT NULL, {}, PRIMARY KEY ({primary}){keys}){divided}", columns.join(", ")),
        format!("CREATE TABLE plain (id INT PRIMARY KEY, {})", columns.join(", ")),
        format!("CREATE TABLE few ({})", columns[0]),
        format!("INSERT INTO few VALUES ({}), ({}), (NULL)", case.value("a"), case.value("a")),
    ];
    let failed =
        |history: &[String], what: String| Err(format!("DESCENDING_SEED={seed}\n{};\n{what}", history.join(";\n")));
    for text in &history {
        let lines = ask(session, text);
        if lines.iter().any(|line| line.starts_with("! ")) {
            return failed(&history, format!("{text}\n{lines:?}"));
        }
    }
    for number in 0..40 {
        // The first statements fill both tables.
        let statement = match number {
            0..8 => loop {
                let statement = case.statement();
                if statement.starts_with("REPLACE") {
                    break statement;
                }
            },
            _ => case.statement(),
        };
        let forced = |text: String| match text.find("/*k") {
            Some(at) => format!("{}FORCE INDEX ({}){}", &text[..at], &text[at + 2..at + 4], &text[at + 6..]),
            None => text,
        };
        let keyed = forced(statement.replace('@', "keyed"));
        let ours = ask(session, &keyed);
        let theirs = ask(session, &statement.replace('@', "plain"));
        history.push(keyed);
        if ours.iter().map(|line| line.replace("keyed", "plain")).ne(theirs.iter().cloned()) {
            return failed(&history, format!("{ours:?}\n{theirs:?}"));
        }
    }
    for number in 0..case.keys.len() {
        let order = case.order_of_key(number);
        let columns = case.keys[number].iter().map(|(column, _)| *column).collect::<Vec<_>>().join(", ");
        let query = format!("SELECT {columns} FROM keyed FORCE INDEX (k{number}) ORDER BY {order}");
        let plan = ask(session, &format!("EXPLAIN {query}"));
        if plan.iter().any(|line| line.contains("filesort")) {
            return failed(&history, format!("{query}\n{plan:?}"));
        }
        let shown = |lines: Vec<String>| lines.into_iter().map(|line| line.to_lowercase()).collect::<Vec<_>>();
        let (ours, theirs) =
            (ask(session, &query), ask(session, &query.replace(&format!("keyed FORCE INDEX (k{number})"), "plain")));
        // Texts that are equal may stand in any order.
        if !columns.contains('.')
            && case.types.iter().all(|ty| !TYPES[*ty].0.contains("CHAR"))
            && shown(ours) != shown(theirs)
        {
            return failed(&history, query);
        }
    }
    let checked = ask(session, "CHECK TABLE keyed");
    if !checked.iter().any(|line| line.ends_with("| status | OK")) {
        return failed(&history, format!("{checked:?}"));
    }
    Ok(())
}

#[test]
fn the_way_that_keys_run_changes_no_answer() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let (first, cases) = match number("DESCENDING_SEED") {
        Some(seed) => (seed, 1),
        None => (first_seed(), number("DESCENDING_CASES").unwrap_or(40)),
    };
    let scratch = Scratch::new("relations-descending");
    let instance = instance(&scratch.0, Config::tiny());
    let mut session = session(&instance);
    ask(&mut session, "SET sql_mode = ''");
    let failures: Vec<String> = (first..first + cases).filter_map(|seed| run(seed, &mut session).err()).collect();
    assert!(failures.is_empty(), "{} of {cases} differ\n{}", failures.len(), failures.join("\n\n"));
    drop(session);
    let _ = instance.engine.close();
}
