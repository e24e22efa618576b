//! A table in partitions and one without are the same table: random statements of all kinds on both must have the same
//! answers, errors included, and leave the same rows.
//!
//! ```text
//! parts    PARTITION BY one of many rules, changed now and then (ADD, REORGANIZE, COALESCE, REBUILD ...)
//! plain    the same columns and keys
//! ```
//!
//! The values of the columns are few, so that conditions hit the bounds of partitions, rows move between them, and keys
//! collide. Every row has a partition, so that no statement fails in the one table alone; where a unique key makes the
//! effect of a change depend on the order of rows, it changes one.
//!
//! `PARTITION_CASES=1000 cargo test -p sql --test relations partitions` runs as many; `PARTITION_SEED=n` replays one.

use super::common::random::{Random, first_seed};
use super::common::{Scratch, ask, instance, session};
use storage::Config;

/// Rules, and the columns that unique keys must have for each.
const RULES: &[(&str, &str)] = &[
    ("HASH (a) PARTITIONS 4", "a"),
    ("HASH (a * 3 + b) PARTITIONS 3", "a, b"),
    ("LINEAR HASH (b) PARTITIONS 5", "b"),
    ("HASH (YEAR(d)) PARTITIONS 3", "d"),
    ("KEY (a) PARTITIONS 3", "a"),
    ("KEY ALGORITHM=1 (a, d) PARTITIONS 3", "a, d"),
    ("LINEAR KEY (s) PARTITIONS 6", "s"),
    (
        "RANGE (a) (PARTITION p0 VALUES LESS THAN (3), PARTITION p1 VALUES LESS THAN (7), \
         PARTITION p2 VALUES LESS THAN MAXVALUE)",
        "a",
    ),
    ("RANGE (a + b) (PARTITION p0 VALUES LESS THAN (5), PARTITION p1 VALUES LESS THAN MAXVALUE)", "a, b"),
    (
        "RANGE (YEAR(d)) (PARTITION p0 VALUES LESS THAN (2020), PARTITION p1 VALUES LESS THAN (2021), \
         PARTITION p2 VALUES LESS THAN MAXVALUE)",
        "d",
    ),
    (
        "RANGE (TO_DAYS(d)) SUBPARTITION BY HASH (a) SUBPARTITIONS 2 \
         (PARTITION p0 VALUES LESS THAN (TO_DAYS('2020-01-01')), PARTITION p1 VALUES LESS THAN (TO_DAYS('2020-03-01')), \
         PARTITION p2 VALUES LESS THAN MAXVALUE)",
        "a, d",
    ),
    (
        "RANGE (b) SUBPARTITION BY KEY (s) (PARTITION p0 VALUES LESS THAN (10) (SUBPARTITION x, SUBPARTITION y), \
         PARTITION p1 VALUES LESS THAN MAXVALUE (SUBPARTITION z, SUBPARTITION w))",
        "b, s",
    ),
    (
        "LIST (a) (PARTITION p0 VALUES IN (0, 2, 4, 6, 8), PARTITION p1 VALUES IN (1, 3, NULL), \
         PARTITION p2 VALUES IN (5, 7, 9))",
        "a",
    ),
    (
        "RANGE COLUMNS (s) (PARTITION p0 VALUES LESS THAN ('b'), PARTITION p1 VALUES LESS THAN ('cat'), \
         PARTITION p2 VALUES LESS THAN (MAXVALUE))",
        "s",
    ),
    (
        "RANGE COLUMNS (a, s) (PARTITION p0 VALUES LESS THAN (2, 'b'), PARTITION p1 VALUES LESS THAN (2, MAXVALUE), \
         PARTITION p2 VALUES LESS THAN (6, 'm'), PARTITION p3 VALUES LESS THAN (MAXVALUE, MAXVALUE))",
        "a, s",
    ),
    (
        "RANGE COLUMNS (d) (PARTITION p0 VALUES LESS THAN ('2020-01-01'), PARTITION p1 VALUES LESS THAN ('2020-02-29'), \
         PARTITION p2 VALUES LESS THAN (MAXVALUE))",
        "d",
    ),
    (
        "LIST COLUMNS (s) (PARTITION p0 VALUES IN ('', 'a', 'zoo'), PARTITION p1 VALUES IN ('b', 'cat', NULL), \
         PARTITION p2 VALUES IN ('mno', 'nnn'))",
        "s",
    ),
];

const TEXTS: &[&str] = &["''", "'a'", "'B'", "'b'", "'cat'", "'Cat'", "'mno'", "'nnn'", "'zoo'"];
const DATES: &[&str] = &[
    "'2019-12-31'",
    "'2020-01-01'",
    "'2020-01-15'",
    "'2020-02-28'",
    "'2020-02-29'",
    "'2020-03-01'",
    "'2020-12-31'",
    "'2021-01-01'",
    "'2021-06-01'",
];

struct Case {
    random: Random,
    nulls: bool,
    /// There is a unique key: then what a change of several rows does may depend on their order.
    keyed: bool,
}

impl Case {
    fn below(&mut self, limit: usize) -> usize {
        self.random.below(limit)
    }

    fn value(&mut self, column: &str) -> String {
        if self.nulls && ["a", "d", "s"].contains(&column) && self.below(8) == 0 {
            return "NULL".into();
        }
        match column {
            "a" => self.below(10).to_string(),
            "b" => self.below(20).to_string(),
            "d" => self.random.one(DATES).to_owned(),
            "s" => self.random.one(TEXTS).to_owned(),
            _ => self.below(40).to_string(),
        }
    }

    fn column(&mut self) -> &'static str {
        self.random.one(&["id", "a", "a", "b", "d", "d", "s", "s"])
    }

    fn condition(&mut self, depth: usize) -> String {
        if depth > 0 && self.below(3) == 0 {
            let (left, right) = (self.condition(depth - 1), self.condition(depth - 1));
            let word = self.random.one(&["AND", "AND", "OR"]);
            return format!("({left} {word} {right})");
        }
        let column = self.column();
        let (one, two, three) = (self.value(column), self.value(column), self.value(column));
        match self.below(13) {
            0 | 1 => format!("{column} = {one}"),
            2 => format!("{column} IN ({one}, {two}, {three})"),
            3 => format!("{column} BETWEEN {one} AND {two}"),
            4 => format!("{column} < {one}"),
            5 => format!("{column} <= {one}"),
            6 => format!("{column} > {one}"),
            7 => format!("({column} >= {one} AND {column} < {two})"),
            8 => format!("{column} IS NULL"),
            9 => format!("{column} <=> {one}"),
            10 => format!("YEAR(d) = {}", 2019 + self.below(3)),
            11 => format!("s LIKE '{}%'", self.random.one(&["c", "B", "n", "ca", ""])),
            _ => {
                let (a, s) = (self.value("a"), self.value("s"));
                let op = self.random.one(&["=", ">", "<="]);
                format!("(a, s) {op} ({a}, {s})")
            }
        }
    }

    fn row(&mut self) -> String {
        let values = ["id", "a", "b", "d", "s"].map(|column| self.value(column));
        format!("({})", values.join(", "))
    }

    /// A statement; `@` stands for the table.
    fn statement(&mut self) -> String {
        let condition = self.condition(2);
        match self.below(27) {
            0..=3 => {
                let verb = self.random.one(&["INSERT INTO", "INSERT IGNORE INTO", "REPLACE INTO", "INSERT INTO"]);
                let rows: Vec<String> = (0..1 + self.below(5)).map(|_| self.row()).collect();
                format!("{verb} @ (id, a, b, d, s) VALUES {}", rows.join(", "))
            }
            4 => {
                let (column, row) = (self.column(), self.row());
                let value = self.value(column);
                format!("INSERT INTO @ (id, a, b, d, s) VALUES {row} ON DUPLICATE KEY UPDATE {column} = {value}")
            }
            5..=8 => {
                let column = self.random.one(&["a", "b", "d", "s"]);
                let (value, id) = (self.value(column), self.below(40));
                let one = format!(" AND id = {id} ORDER BY id, a, b, d, s LIMIT 1");
                format!("UPDATE @ SET {column} = {value} WHERE {condition}{}", if self.keyed { &one } else { "" })
            }
            9 if !self.keyed => format!("UPDATE @ SET b = (b + 7) % 20, id = id + 1 WHERE {condition}"),
            10 if !self.keyed => format!("INSERT INTO @ SELECT id + 1, a, b, d, s FROM @ WHERE {condition} AND b < 3"),
            13 if !self.keyed => format!("UPDATE @ JOIN few ON few.a = @.a SET @.a = few.b WHERE {condition}"),
            9..=11 => format!("DELETE FROM @ WHERE {condition} AND b < 10"),
            12 => format!("DELETE @ FROM @ JOIN few ON few.a = @.a WHERE {condition} AND few.b < 2"),
            13 | 14 => self.random.one(&["BEGIN", "SAVEPOINT x", "ROLLBACK TO x", "ROLLBACK", "COMMIT"]).to_owned(),
            15 => format!("SELECT COUNT(*), SUM(b), MIN(b), UPPER(MAX(s)), MIN(d) FROM @ WHERE {condition}"),
            16 => format!("SELECT MIN(b), MAX(b) FROM @ WHERE a = {}", self.value("a")),
            17 => {
                let column = self.random.one(&["b", "s", "d", "id"]);
                let shown = if column == "s" { "UPPER(s)" } else { column };
                let order = self.random.one(&["", "DESC"]);
                let limit = 1 + self.below(6);
                format!("SELECT {shown} FROM @ WHERE {condition} ORDER BY {column} {order} LIMIT {limit}")
            }
            18 => format!(
                "SELECT id, a, b, d, s FROM @ FORCE INDEX ({}) WHERE {condition} ORDER BY id, a, b, d, BINARY s",
                self.random.one(&["kb", "ks", "kd"])
            ),
            19 => "SELECT MIN(b), MAX(b) FROM @".to_owned(),
            20 => format!(
                "SELECT few.b, COUNT(*), SUM(x.b) FROM few STRAIGHT_JOIN @ x ON x.a = few.a AND {} GROUP BY few.b ORDER BY 1",
                self.random.one(&["x.b > few.b", "x.s > 'b'", "x.d < '2020-03-01'"])
            ),
            21 => format!(
                "SELECT COUNT(*) FROM few LEFT JOIN @ x FORCE INDEX (kb) ON x.b = few.b AND x.a {} few.a",
                self.random.one(&["=", "<=", "<=>"])
            ),
            22 => format!("SELECT COUNT(*) FROM few WHERE EXISTS (SELECT 1 FROM @ WHERE @.a = few.a AND {condition})"),
            23 => format!("SELECT id, a, b, d, s FROM @ WHERE {condition} ORDER BY id, a, b, d, BINARY s FOR UPDATE"),
            // An index is in the order of the primary key where its own columns are equal.
            24 | 25 => {
                let column = self.random.one(&["b", "d"]);
                let (order, a) = (self.random.one(&["", "DESC"]), self.value("a"));
                let condition = self.random.one(&["1", "a > 3", "b = 3", "d = '2020-02-29'"]);
                let or = if a == "NULL" { String::new() } else { format!(" AND a <> {a}") };
                let columns = format!("{column} {order}, id {order}, a {order}");
                format!(
                    "SELECT {column}, id, a FROM @ FORCE INDEX (k{column}) WHERE {condition}{or} ORDER BY {columns}"
                )
            }
            _ => {
                format!("SELECT a, COUNT(*), GROUP_CONCAT(b ORDER BY b) FROM @ WHERE {condition} GROUP BY a ORDER BY a")
            }
        }
    }

    /// A change of the partitions of `parts` that leaves the rows.
    fn change(&mut self, rule: &str) -> String {
        let name = self.random.one(&["p0", "p1", "p2"]);
        let hash =
            rule.contains("HASH (") && !rule.contains("SUBPARTITION") || rule.contains("KEY") && !rule.contains("SUB");
        match self.below(6) {
            0 if hash => "ALTER TABLE parts ADD PARTITION PARTITIONS 2".into(),
            1 if hash => "ALTER TABLE parts COALESCE PARTITION 1".into(),
            2 if rule.starts_with("RANGE (a) ") => {
                "ALTER TABLE parts REORGANIZE PARTITION p0 INTO (PARTITION p00 VALUES LESS THAN (1), PARTITION p0 VALUES \
                 LESS THAN (3))"
                    .into()
            }
            3 => "ALTER TABLE parts FORCE".into(),
            4 => format!("OPTIMIZE TABLE {}", "parts"),
            _ => format!("ALTER TABLE parts REBUILD PARTITION {name}"),
        }
    }
}

/// One table that both variants are like.
fn definition(name: &str, key: &str, nulls: bool, by: &str) -> String {
    let null = if nulls { "NULL" } else { "NOT NULL" };
    format!(
        "CREATE TABLE {name} (id INT NOT NULL, a INT {null}, b INT NOT NULL, d DATE {null}, s VARCHAR(12) {null}, {key} \
         KEY kb (b), KEY ks (s, b), KEY kd (d)){by}"
    )
}

fn run(seed: u64, session: &mut sql::Session) -> Result<usize, String> {
    let mut case = Case { random: Random::new(seed), nulls: false, keyed: false };
    let (rule, columns) = RULES[case.below(RULES.len())];
    let key = match case.below(4) {
        0 | 1 => format!("PRIMARY KEY (id, {columns}),"),
        2 => format!("UNIQUE KEY u (id, {columns}),"),
        _ => String::new(),
    };
    case.keyed = !key.is_empty();
    case.nulls = !key.starts_with("PRIMARY") && case.below(3) > 0;
    let mut history = Vec::new();
    let done = |session: &mut sql::Session, text: &str, history: &mut Vec<String>| {
        history.push(text.to_owned());
        ask(session, text)
    };
    for text in [
        "DROP TABLE IF EXISTS parts, plain, few".to_owned(),
        definition("parts", &key, case.nulls, &format!(" PARTITION BY {rule}")),
        definition("plain", &key, case.nulls, ""),
        "CREATE TABLE few (a INT, b INT)".to_owned(),
        "INSERT INTO few VALUES (1, 1), (2, 4), (4, 1), (7, 0), (9, 3), (NULL, 2)".to_owned(),
    ] {
        let lines = done(session, &text, &mut history);
        if lines.iter().any(|line| line.starts_with("! ")) {
            return Err(format!("{text}\n{lines:?}"));
        }
    }
    let failed =
        |history: &[String], what: &str| Err(format!("PARTITION_SEED={seed}\n{};\n{what}", history.join(";\n")));
    let mut errors = 0;
    for number in 0..40 {
        if case.below(15) == 0 {
            let text = case.change(rule);
            let _ = done(session, "COMMIT", &mut history);
            let lines = done(session, &text, &mut history);
            let expected = ["Unknown partition", "Cannot remove all partitions", "Duplicate partition name"];
            let is_expected = |line: &String| expected.iter().any(|text| line.contains(text));
            if lines.iter().any(|line| line.starts_with("! ") && !is_expected(line)) {
                return failed(&history, &format!("{lines:?}"));
            }
            continue;
        }
        let statement = case.statement();
        let control = !statement.contains('@');
        if control {
            done(session, &statement, &mut history);
            continue;
        }
        let ours = done(session, &statement.replace('@', "parts"), &mut history);
        let theirs = done(session, &statement.replace('@', "plain"), &mut history);
        let plain: Vec<String> = ours.iter().map(|line| line.replace("parts", "plain")).collect();
        errors += usize::from(ours.iter().any(|line| line.starts_with("! ")));
        if plain != theirs {
            return failed(&history, &format!("{ours:?}\n{theirs:?}"));
        }
        let whole = |table: &str| format!("SELECT id, a, b, d, s FROM {table} ORDER BY id, a, b, d, BINARY s");
        let (mine, other) = (ask(session, &whole("parts")), ask(session, &whole("plain")));
        if mine != other {
            return failed(&history, &format!("statement {number} left other rows\n{mine:?}\n{other:?}"));
        }
    }
    // Each row is where its partition is, and nowhere else.
    let names = ask(
        session,
        "SELECT IFNULL(SUBPARTITION_NAME, PARTITION_NAME) FROM information_schema.PARTITIONS WHERE TABLE_SCHEMA = 'test' \
         AND TABLE_NAME = 'parts'",
    );
    ask(session, "COMMIT");
    let mut rows = 0;
    for name in names.iter().skip(1).map(|line| line.trim_start_matches("| ")) {
        let counted = ask(session, &format!("SELECT COUNT(*) FROM parts PARTITION ({name})"));
        rows += counted.get(1).and_then(|line| line.trim_start_matches("| ").parse::<usize>().ok()).unwrap_or(0);
    }
    let all = ask(session, "SELECT COUNT(*) FROM plain");
    if all.get(1).map(|line| line.trim_start_matches("| ").to_owned()) != Some(rows.to_string()) {
        return failed(&history, &format!("{rows} rows in all partitions: {all:?}"));
    }
    let checked = ask(session, "CHECK TABLE parts");
    if !checked.iter().any(|line| line.ends_with("| status | OK")) {
        return failed(&history, &format!("{checked:?}"));
    }
    Ok(errors)
}

#[test]
fn a_table_in_partitions_is_as_one_without() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let (first, cases) = match number("PARTITION_SEED") {
        Some(seed) => (seed, 1),
        None => (first_seed(), number("PARTITION_CASES").unwrap_or(30)),
    };
    let scratch = Scratch::new("relations-partitions");
    let instance = instance(&scratch.0, Config::tiny());
    let mut session = session(&instance);
    let (mut errors, mut failures) = (0, Vec::new());
    for seed in first..first + cases {
        match run(seed, &mut session) {
            Ok(some) => errors += some,
            Err(failure) => failures.push(failure),
        }
        ask(&mut session, "ROLLBACK");
    }
    println!("{cases} cases from seed {first}: {errors} errors in both tables");
    assert!(failures.is_empty(), "{} of {cases} differ\n{}", failures.len(), failures.join("\n\n"));
    assert!(errors > 0 || cases < 10, "no statement failed: the test asks too little");
    drop(session);
    let _ = instance.engine.close();
}

#[test]
fn one_counter_serves_all_partitions() {
    let scratch = Scratch::new("partitions-counter");
    let instance = instance(&scratch.0, Config::tiny());
    let mut session = session(&instance);
    for statement in [
        "CREATE TABLE i (id INT NOT NULL AUTO_INCREMENT, a INT, KEY (id)) PARTITION BY LIST (a) (PARTITION p0 VALUES IN (0), \
         PARTITION p1 VALUES IN (1))",
        "INSERT INTO i (a) VALUES (1), (0), (1)",
        "INSERT INTO i VALUES (100, 1)",
        // The partition that keeps the counter goes, and leaves it to the next.
        "ALTER TABLE i DROP PARTITION p0",
        "INSERT INTO i (a) VALUES (1)",
    ] {
        let lines = ask(&mut session, statement);
        assert!(lines.iter().all(|line| line.starts_with("= ")), "{statement}: {lines:?}");
    }
    let rows = ask(&mut session, "SELECT id FROM i ORDER BY id");
    assert_eq!(rows, ["| id", "| 1", "| 3", "| 100", "| 101"]);
    drop(session);
    let _ = instance.engine.close();
}
