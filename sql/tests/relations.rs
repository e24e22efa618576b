//! One evaluation, one truth: what a condition is does not depend on where it stands.
//!
//! Random conditions over columns of all types are asked in several ways, which must agree:
//!
//! ```text
//! SELECT COUNT(*) FROM plain WHERE p             a scan of a table without indexes; literals are parameters
//! SELECT SUM((p) IS TRUE) FROM plain             the select list; literals are constants
//! SELECT COUNT(*) FROM keyed WHERE p             the same rows with an index on each column
//! the first and the third, prepared              literals are parameters of the binary protocol
//! FROM (SELECT * FROM plain) WHERE p             the rows of a derived table
//! (SELECT * FROM plain HAVING p)                 rows that have been selected
//! WHERE p + WHERE NOT p + WHERE (p) IS NULL      all rows; likewise as one UNION ALL
//! ```
//!
//! Joins by an equality between two random columns must find the same pairs of rows by hash, by an index, by nested loops
//! (`NOT (x.a <> y.b)`, which no hash serves), and of a derived table.
//!
//! `RELATION_CASES=100000 cargo test -p sql --test relations` asks as many as that; each has a seed of its own, which is
//! printed when the answers differ, and `RELATION_SEED=n` replays.

#[path = "relations/alternatives.rs"]
mod alternatives;
#[path = "relations/arrays.rs"]
mod arrays;
mod common;
#[path = "relations/descending.rs"]
mod descending;
#[path = "relations/geometries.rs"]
mod geometries;
#[path = "relations/instant.rs"]
mod instant;
#[path = "relations/partitions.rs"]
mod partitions;
#[path = "relations/several.rs"]
mod several;
#[path = "relations/statistics.rs"]
mod statistics;

use std::sync::Arc;

use format::value::Value;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use sql::{Instance, Session};
use storage::Config;

use common::random::first_seed;
use common::{Lines, Scratch, ask, instance, session};

/// Columns by name and type, and values of each that lie close to each other and to the ends.
const COLUMNS: &[(&str, &str, &[&str])] = &[
    ("i1", "TINYINT", &["0", "1", "-1", "5", "65", "127", "-128"]),
    ("i4", "INT", &["0", "1", "-1", "5", "12", "2005", "20050326", "101112", "2147483647"]),
    ("u4", "INT UNSIGNED", &["0", "1", "255", "4294967295", "20050326"]),
    (
        "i8",
        "BIGINT",
        &[
            "0",
            "5",
            "-5",
            "102935229216544093",
            "102935229216544094",
            "102935229216544104",
            "9223372036854775807",
            "-9223372036854775808",
            "20050326101112",
        ],
    ),
    ("u8", "BIGINT UNSIGNED", &["0", "5", "18446744073709551615", "18446744073709551614", "102935229216544094"]),
    ("de", "DECIMAL(30,2)", &["0", "5", "5.25", "-5.25", "102935229216544094", "102935229216544094.01", "20050326"]),
    ("fl", "FLOAT", &["0", "5", "0.1", "-1.5", "1e10"]),
    ("db", "DOUBLE", &["0", "5", "0.1", "-1.5", "1e10", "1e300", "20050326"]),
    ("ye", "YEAR", &["2005", "1970", "2069", "0", "1999"]),
    ("bi", "BIT(12)", &["0", "1", "5", "65", "255", "4095"]),
    ("da", "DATE", &["'2005-03-26'", "'2005-09-30'", "'2005-10-01'", "'1000-01-01'", "'9999-12-31'"]),
    (
        "dt",
        "DATETIME",
        &["'2005-03-26 00:00:00'", "'2005-03-26 10:11:12'", "'2005-09-30 23:59:59'", "'9999-12-31 23:59:59'"],
    ),
    ("d3", "DATETIME(3)", &["'2005-03-26 10:11:12.5'", "'2005-03-26 10:11:12'", "'2005-03-26 00:00:00.001'"]),
    ("ts", "TIMESTAMP NULL", &["'2005-03-26 10:11:12'", "'1970-01-02 00:00:00'", "'2037-12-31 00:00:00'"]),
    ("ti", "TIME", &["'10:11:12'", "'-10:11:12'", "'00:00:00'", "'838:59:59'", "'00:00:05'"]),
    ("t2", "TIME(2)", &["'10:11:12.25'", "'10:11:12'", "'00:00:00.01'", "'-00:00:00.01'"]),
    ("ch", "CHAR(20)", &["''", "'5'", "'abc'", "'ABC'", "'2005-03-26'", "'10:11:12'", "'102935229216544094'", "'a b'"]),
    ("vc", "VARCHAR(40)", &["''", "'5 '", "'05'", "'abc'", "'20050326'", "'2005-03-26 10:11:12'", "'x'", "'1e1'"]),
    ("vb", "VARBINARY(40)", &["''", "'5'", "'abc'", "'ABC'", "x'ff'", "x'0500'"]),
    ("l1", "VARCHAR(40) CHARACTER SET latin1", &["''", "'5'", "'abc'", "'\u{e9}t\u{e9}'", "'2005'"]),
    ("en", "ENUM('5','abc','1','')", &["'5'", "'abc'", "'1'", "2"]),
    ("se", "SET('a','b','5')", &["''", "'a'", "'a,b'", "'5'", "3"]),
];

const LITERALS: &[&str] = &[
    "0",
    "1",
    "-1",
    "5",
    "65",
    "255",
    "2005",
    "5.0",
    "5.25",
    "-5.25",
    "1e1",
    "1e10",
    "-1e300",
    "0.1",
    "5e-1",
    "050326",
    "20050326",
    "20050326101112",
    "20050931",
    "101112",
    "-101112",
    "2147483647",
    "9223372036854775807",
    "-9223372036854775808",
    "18446744073709551615",
    "102935229216544094",
    "102935229216544094.01",
    "99999999999999999999",
    "'0'",
    "''",
    "'5'",
    "' 5 '",
    "'5x'",
    "'05'",
    "'5.25'",
    "'1e1'",
    "'-5'",
    "'abc'",
    "'ABC '",
    "'a'",
    "'a,b'",
    "'102935229216544094'",
    "'102935229216544094.5'",
    "'18446744073709551615'",
    "'99999999999999999999'",
    "'2005-03-26'",
    "'2005-3-26'",
    "'2005-09-31'",
    "'2005-03-26 10:11:12'",
    "'2005-03-26T10:11:12.5'",
    "'20050326'",
    "'2005-03-26 00:00:00'",
    "'2005-03-26x'",
    "'2005-13-01'",
    "'0000-00-00'",
    "'10:11:12'",
    "'10:11:12.25'",
    "'-10:11:12'",
    "'101112'",
    "'838:59:59'",
    "'\u{e9}t\u{e9}'",
    "0xff",
    "0x05",
    "x'30'",
    "x'35'",
    "b'101'",
    "x''",
    "x'616263'",
    "_binary'5'",
    "_latin1'abc'",
    "NULL",
    "TRUE",
    "DATE '2005-03-26'",
    "TIMESTAMP '2005-03-26 10:11:12'",
    "TIME '10:11:12'",
];

const OPERATORS: &[&str] = &["=", "<>", "<", "<=", ">", ">=", "<=>"];

/// A condition, with the literals that can be parameters taken out.
#[derive(Default, Clone)]
struct Condition {
    text: String,
    prepared: String,
    parameters: Vec<Value>,
}

impl Condition {
    fn push(&mut self, text: &str) {
        self.text.push_str(text);
        self.prepared.push_str(text);
    }

    fn literal(&mut self, random: &mut StdRng) {
        let literal = LITERALS[random.random_range(0..LITERALS.len())];
        self.text.push_str(literal);
        let parameter = match literal {
            "NULL" => Some(Value::Null),
            _ if literal.starts_with('\'') => Some(Value::Bytes(literal.trim_matches('\'').as_bytes().to_vec())),
            _ => match (literal.parse::<i64>(), literal.parse::<u64>()) {
                // As a literal, -9223372036854775808 has the sign before it.
                (Ok(number), _) => Some(Value::Int(number)),
                (_, Ok(number)) => Some(Value::UInt(number)),
                _ if literal.contains('e') && !literal.contains(['\'', 'x']) => literal.parse().ok().map(Value::Double),
                _ => None,
            },
        };
        match parameter {
            Some(value) => {
                self.prepared.push('?');
                self.parameters.push(value);
            }
            None => self.prepared.push_str(literal),
        }
    }

    fn column(&mut self, random: &mut StdRng) {
        self.push(COLUMNS[random.random_range(0..COLUMNS.len())].0);
    }

    fn operand(&mut self, random: &mut StdRng) {
        match random.random_range(0..20) {
            0..9 => self.column(random),
            9..17 => self.literal(random),
            17 => {
                self.push("(");
                self.column(random);
                self.push([" + ", " - ", " * "][random.random_range(0..3)]);
                self.literal(random);
                self.push(")");
            }
            18 => {
                self.push(["COALESCE(", "IFNULL(", "NULLIF(", "CONCAT(", "GREATEST("][random.random_range(0..5)]);
                self.operand(random);
                self.push(", ");
                self.operand(random);
                self.push(")");
            }
            _ => {
                self.push("CASE ");
                self.operand(random);
                self.push(" WHEN ");
                self.operand(random);
                self.push(" THEN ");
                self.operand(random);
                self.push(" ELSE ");
                self.operand(random);
                self.push(" END");
            }
        }
    }

    fn condition(&mut self, random: &mut StdRng, depth: usize) {
        match random.random_range(0..if depth > 2 { 70 } else { 100 }) {
            // What an index can answer comes often.
            0..30 => {
                self.column(random);
                self.push(&format!(" {} ", OPERATORS[random.random_range(0..OPERATORS.len())]));
                self.literal(random);
            }
            30..37 => {
                self.operand(random);
                self.push(&format!(" {} ", OPERATORS[random.random_range(0..OPERATORS.len())]));
                self.operand(random);
            }
            37..50 => {
                if random.random_bool(0.8) {
                    self.column(random)
                } else {
                    self.operand(random)
                }
                self.push(if random.random_bool(0.2) { " NOT BETWEEN " } else { " BETWEEN " });
                self.operand_or_literal(random);
                self.push(" AND ");
                self.operand_or_literal(random);
            }
            50..62 => {
                if random.random_bool(0.8) {
                    self.column(random)
                } else {
                    self.operand(random)
                }
                self.push(if random.random_bool(0.2) { " NOT IN (" } else { " IN (" });
                for index in 0..random.random_range(1..5) {
                    if index > 0 {
                        self.push(", ");
                    }
                    self.operand_or_literal(random);
                }
                self.push(")");
            }
            62..64 => {
                self.column(random);
                self.push(" LIKE ");
                self.literal(random);
            }
            64..66 => {
                self.push("(");
                self.column(random);
                self.push(", ");
                self.column(random);
                self.push(") = (");
                self.literal(random);
                self.push(", ");
                self.literal(random);
                self.push(")");
            }
            66..68 => self.column(random),
            68..70 => self.operand(random),
            70..90 => {
                self.push("(");
                self.condition(random, depth + 1);
                self.push([") AND (", ") OR (", ") XOR ("][random.random_range(0..3)]);
                self.condition(random, depth + 1);
                self.push(")");
            }
            90..95 => {
                self.push("NOT (");
                self.condition(random, depth + 1);
                self.push(")");
            }
            95..97 => {
                self.push("(");
                self.condition(random, depth + 1);
                self.push([") IS NULL", ") IS NOT TRUE", ") IS FALSE"][random.random_range(0..3)]);
            }
            _ => {
                self.push("IF(");
                self.condition(random, depth + 1);
                self.push(", ");
                self.operand(random);
                self.push(", ");
                self.operand(random);
                self.push(")");
            }
        }
    }

    fn operand_or_literal(&mut self, random: &mut StdRng) {
        if random.random_bool(0.85) { self.literal(random) } else { self.operand(random) }
    }
}

struct Asker {
    session: Session,
}

impl Asker {
    fn run(&mut self, statement: &str) -> Vec<String> {
        ask(&mut self.session, statement)
    }

    fn done(&mut self, statement: &str) {
        let lines = self.run(statement);
        assert!(!lines.iter().any(|line| line.starts_with('!')), "{statement}: {lines:?}");
    }

    /// The one number of a result, or an error.
    fn number(lines: &[String]) -> Result<i64, String> {
        match lines {
            [_, number, ..] if number.starts_with("| ") => Ok(number[2..].parse().unwrap_or(0)),
            other => Err(other.join(" ")),
        }
    }

    fn ask(&mut self, statement: &str) -> Result<i64, String> {
        Asker::number(&self.run(statement))
    }

    fn ask_prepared(&mut self, statement: &str, parameters: &[Value]) -> Result<i64, String> {
        let prepared = self.session.prepare(statement.as_bytes()).map_err(|error| error.to_string())?;
        let mut sink = Lines::default();
        self.session.execute(prepared.id, parameters, &mut sink);
        self.session.close_statement(prepared.id);
        Asker::number(&sink.lines)
    }
}

fn fill(asker: &mut Asker, random: &mut StdRng) {
    let columns: Vec<String> = COLUMNS.iter().map(|(name, ty, _)| format!("{name} {ty}")).collect();
    let keys: Vec<String> = COLUMNS.iter().map(|(name, ..)| format!("KEY ({name})")).collect();
    asker.done(&format!("CREATE TABLE plain (id INT PRIMARY KEY, {})", columns.join(", ")));
    asker.done(&format!("CREATE TABLE keyed (id INT PRIMARY KEY, {}, {})", columns.join(", "), keys.join(", ")));
    for id in 0..60 {
        let values: Vec<&str> = COLUMNS
            .iter()
            .map(|(_, _, values)| match random.random_range(0..8) {
                0 => "NULL",
                _ => values[random.random_range(0..values.len())],
            })
            .collect();
        asker.done(&format!("INSERT INTO plain VALUES ({id}, {})", values.join(", ")));
    }
    asker.done("INSERT INTO keyed SELECT * FROM plain");
    asker.done("ANALYZE TABLE keyed");
}

/// The answers to one condition that differ, if any. None: it is refused somewhere, which evaluation order may decide.
fn disagreement(asker: &mut Asker, condition: &Condition) -> Option<Option<String>> {
    let (text, prepared) = (&condition.text, &condition.prepared);
    let mut answers: Vec<(String, i64)> = Vec::new();
    for statement in [
        format!("SELECT COUNT(*) FROM plain WHERE {text}"),
        format!("SELECT SUM(({text}) IS TRUE) FROM plain"),
        format!("SELECT COUNT(*) FROM keyed WHERE {text}"),
        format!("SELECT SUM(IF({text}, 1, 0)) FROM keyed"),
        format!("SELECT COUNT(*) FROM (SELECT * FROM plain) AS derived WHERE {text}"),
        format!("SELECT COUNT(*) FROM (SELECT * FROM plain HAVING {text}) AS selected"),
    ] {
        answers.push((statement.clone(), asker.ask(&statement).ok()?));
    }
    for table in ["plain", "keyed"] {
        let statement = format!("SELECT COUNT(*) FROM {table} WHERE {prepared}");
        answers.push((statement.clone(), asker.ask_prepared(&statement, &condition.parameters).ok()?));
    }
    let parts = [format!("NOT ({text})"), format!("({text}) IS NULL")];
    let mut all = answers[0].1;
    for part in &parts {
        all += asker.ask(&format!("SELECT COUNT(*) FROM keyed WHERE {part}")).ok()?;
    }
    if all != 60 {
        answers.push((format!("WHERE p, NOT p and p IS NULL together find {all} rows of 60"), -1));
    }
    let select = |table: &str, condition: &str| format!("SELECT id FROM {table} WHERE {condition}");
    let parts = [select("keyed", text), select("plain", &parts[0]), select("keyed", &parts[1])].join(" UNION ALL ");
    let (rows, distinct) = ("SELECT COUNT(*)", "SELECT COUNT(DISTINCT id)");
    for what in [rows, distinct] {
        let found = asker.ask(&format!("{what} FROM ({parts}) AS parts")).ok()?;
        if found != 60 {
            answers.push((format!("{what} of UNION ALL over p, NOT p and p IS NULL is {found}, not 60"), -1));
        }
    }
    let same = answers.iter().all(|(_, answer)| *answer == answers[0].1);
    Some((!same).then(|| {
        let lines: Vec<String> =
            answers.iter().map(|(statement, answer)| format!("  {answer:>3}  {statement}")).collect();
        format!("{}\n  parameters {:?}", lines.join("\n"), condition.parameters)
    }))
}

fn asker(instance: &Arc<Instance>) -> Asker {
    let mut asker = Asker { session: session(instance) };
    asker.done("SET NAMES utf8mb4");
    asker
}

#[test]
fn a_condition_means_the_same_wherever_it_stands() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let cases = number("RELATION_CASES").unwrap_or(2_000);
    let (first, cases) = match number("RELATION_SEED") {
        Some(seed) => (seed, 1),
        None => (first_seed(), cases),
    };
    let scratch = Scratch::new("relations");
    let instance = instance(&scratch.0, Config::tiny());
    let mut asker = asker(&instance);
    // The rows are the same in each run, so that a condition's seed alone replays it.
    asker.done("SET sql_mode = ''");
    fill(&mut asker, &mut StdRng::seed_from_u64(1));
    let (mut refused, mut failures) = (0, Vec::new());
    for seed in first..first + cases {
        let mut random = StdRng::seed_from_u64(seed);
        let mode = ["", "NO_ZERO_DATE,NO_ZERO_IN_DATE,STRICT_TRANS_TABLES"][random.random_range(0..2)];
        asker.done(&format!("SET sql_mode = '{mode}'"));
        let mut condition = Condition::default();
        condition.condition(&mut random, 0);
        match disagreement(&mut asker, &condition) {
            None => refused += 1,
            Some(None) => {}
            Some(Some(difference)) => failures.push(format!("RELATION_SEED={seed}\n{difference}")),
        }
        if failures.len() >= 40 {
            break;
        }
    }
    println!("{cases} conditions from seed {first}: {refused} refused");
    assert!(failures.is_empty(), "{} disagree\n{}", failures.len(), failures.join("\n"));
    assert!(
        refused * 3 < cases || cases == 1,
        "{refused} of {cases} conditions were refused: the test asks too little"
    );
    drop(asker);
    let _ = instance.engine.close();
}

/// Queries that find the same pairs of rows in several ways, and what they are about.
fn joins(random: &mut StdRng) -> Vec<String> {
    let mut column = || COLUMNS[random.random_range(0..COLUMNS.len())].0;
    let (a, b, c) = (column(), column(), column());
    let pairs = "SELECT CONCAT(COUNT(*), ' ', IFNULL(SUM((x.id + 1) * (IFNULL(y.id, 60) + 7)), 0))";
    let tables = ["plain", "keyed", "(SELECT * FROM plain)"];
    if random.random_bool(0.3) {
        let few = "x.id < 15 AND y.id < 20 AND z.id < 15";
        let ways = tables.map(|table| {
            format!("{pairs} FROM plain x STRAIGHT_JOIN {table} z STRAIGHT_JOIN plain y ON y.{b} = x.{a} AND z.{c} = y.{b} WHERE {few}")
        });
        let looped = format!(
            "{pairs} FROM plain x STRAIGHT_JOIN plain z STRAIGHT_JOIN plain y ON NOT (y.{b} <> x.{a}) AND NOT (z.{c} <> y.{b}) WHERE {few}"
        );
        return ways.into_iter().chain([looped]).collect();
    }
    let kind = ["JOIN", "LEFT JOIN", "STRAIGHT_JOIN"][random.random_range(0..3)];
    let and = ["", " AND y.id < 40", " AND x.id > 9", " AND x.id <> y.id"][random.random_range(0..4)];
    let ways = tables.map(|table| format!("{pairs} FROM plain x {kind} {table} y ON x.{a} = y.{b}{and}"));
    let looped = format!("{pairs} FROM plain x {kind} plain y ON NOT (x.{a} <> y.{b}){and}");
    ways.into_iter().chain([looped]).collect()
}

#[test]
fn joins_find_the_same_rows_by_hash_by_index_and_by_nested_loops() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let (first, cases) = match number("JOIN_SEED") {
        Some(seed) => (seed, 1),
        None => (first_seed(), number("JOIN_CASES").unwrap_or(200)),
    };
    let scratch = Scratch::new("relations-joins");
    let instance = instance(&scratch.0, Config::tiny());
    let mut asker = asker(&instance);
    asker.done("SET sql_mode = ''");
    fill(&mut asker, &mut StdRng::seed_from_u64(1));
    let (mut refused, mut failures) = (0, Vec::new());
    for seed in first..first + cases {
        let queries = joins(&mut StdRng::seed_from_u64(seed));
        // Warnings about texts that are no numbers are as many as comparisons.
        let answers: Vec<Option<String>> = queries.iter().map(|query| asker.run(query).get(1).cloned()).collect();
        if answers.iter().any(|answer| answer.as_ref().is_none_or(|answer| !answer.starts_with("| "))) {
            refused += 1;
            continue;
        }
        if answers.iter().any(|answer| *answer != answers[0]) {
            let lines = answers.iter().zip(&queries).map(|(answer, query)| format!("  {answer:?}  {query}\n"));
            failures.push(format!("JOIN_SEED={seed}\n{}", lines.collect::<String>()));
        }
    }
    println!("{cases} joins from seed {first}: {refused} refused");
    assert!(failures.is_empty(), "{} disagree\n{}", failures.len(), failures.join("\n"));
    assert!(refused * 3 < cases || cases == 1, "{refused} of {cases} joins were refused: the test asks too little");
    drop(asker);
    let _ = instance.engine.close();
}
