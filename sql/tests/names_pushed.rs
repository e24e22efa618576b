//! A condition on the names of databases and tables keeps information_schema from making rows of other tables. The
//! answer is what it is when all rows are made: those of a derived table that LIMIT keeps apart from the condition.

mod common;

use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use storage::Config;

use common::random::first_seed;
use common::{Scratch, ask, instance, session};

const TABLES: [&str; 6] =
    ["columns", "key_column_usage", "referential_constraints", "statistics", "tables", "table_constraints"];
const NAMES: [&str; 12] = [
    "test",
    "Other",
    "other",
    "a",
    "A",
    "a_b",
    "axb",
    "parent",
    "\u{e9}t\u{e9}",
    "ete",
    "information_schema",
    "COLUMNS",
];
const COLLATIONS: [&str; 4] = ["", "", " COLLATE utf8mb3_bin", " COLLATE utf8mb3_unicode_ci"];

fn literal(random: &mut StdRng) -> String {
    let name = NAMES.choose(random).unwrap();
    match random.random_range(0..12) {
        0 => "DATABASE()".to_owned(),
        1 => "NULL".to_owned(),
        2 => "0".to_owned(),
        3 => format!("BINARY '{name}'"),
        4 => format!("'{} '", name),
        _ => format!("'{name}'"),
    }
}

fn column(random: &mut StdRng, aliases: &[&str]) -> String {
    let alias = aliases.choose(random).unwrap();
    let name = if random.random_bool(0.4) { "table_schema" } else { "table_name" };
    match random.random_range(0..8) {
        0 => format!("LOWER({alias}.{name})"),
        1 => format!("{alias}.{name}{}", COLLATIONS.choose(random).unwrap()),
        _ => format!("{alias}.{name}"),
    }
}

fn condition(random: &mut StdRng, aliases: &[&str], depth: usize) -> String {
    if depth > 0 && random.random_bool(0.6) {
        let (left, right) = (condition(random, aliases, depth - 1), condition(random, aliases, depth - 1));
        return match random.random_range(0..7) {
            0 => format!("({left} OR {right})"),
            1 => format!("NOT ({left} AND {right})"),
            _ => format!("({left} AND {right})"),
        };
    }
    let (column, other) = (column(random, aliases), column(random, aliases));
    match random.random_range(0..11) {
        0 => format!("{} = {column}", literal(random)),
        1 => format!("{column} IN ({}, {})", literal(random), literal(random)),
        2 => format!("{column} LIKE {}", ["'a_b'", "'a\\_b'", "'%e%'", "'TEST'", "'other'"].choose(random).unwrap()),
        3 => format!("{column} <=> {}", literal(random)),
        4 => format!("{column} <> {}", literal(random)),
        5 => format!("{column} = {other}"),
        6 => format!("({column}, {other}) = ({}, {})", literal(random), literal(random)),
        7 => format!("({column}, {other}) IN (({0}, {1}), ({1}, {0}))", literal(random), literal(random)),
        8 => format!("{column} IS NULL"),
        _ => format!("{column} = {}", literal(random)),
    }
}

/// A statement with the tables as they are, and with tables of which all rows are made.
fn statements(random: &mut StdRng) -> [String; 2] {
    let mut table = || {
        let name = TABLES.choose(random).unwrap();
        // A constraint's schema goes by another name where there is no other.
        let columns = match *name {
            "referential_constraints" => "constraint_schema AS table_schema, table_name",
            _ => "table_schema, table_name",
        };
        let all = format!("(SELECT {columns} FROM information_schema.{name} LIMIT 1000000)");
        let plain = match *name {
            "referential_constraints" => all.clone(),
            name => format!("information_schema.{name}"),
        };
        [plain, all]
    };
    let (a, b) = (table(), table());
    let build = |random: &mut StdRng, shape: u32, at: usize| {
        let select = "SELECT a.table_schema, a.table_name";
        let (a, b) = (&a[at], &b[at]);
        match shape {
            0 => format!(
                "{select}, b.table_schema, b.table_name FROM {a} a JOIN {b} b ON {} WHERE {}",
                "b.table_schema = a.table_schema AND b.table_name = a.table_name",
                condition(random, &["a", "b"], 2)
            ),
            1 => format!(
                "{select}, b.table_schema, b.table_name FROM {a} a LEFT JOIN {b} b ON {} WHERE {}",
                condition(random, &["a", "b"], 1),
                condition(random, &["a", "b"], 2)
            ),
            2 => format!(
                "{select}, (SELECT COUNT(*) FROM {b} b WHERE b.table_name = a.table_name AND {}) AS n FROM {a} a WHERE {}",
                condition(random, &["a", "b"], 1),
                condition(random, &["a"], 2)
            ),
            _ => format!("{select} FROM {a} a WHERE {}", condition(random, &["a"], 2)),
        }
    };
    let shape = random.random_range(0..5);
    let seed = random.random();
    [0, 1].map(|at| build(&mut StdRng::seed_from_u64(seed), shape, at))
}

#[test]
fn a_condition_on_the_names_gives_what_it_gives_when_it_is_hidden() {
    let scratch = Scratch::new("names-pushed");
    let instance = instance(&scratch.0, Config::default());
    let mut session = session(&instance);
    ask(&mut session, "CREATE DATABASE Other");
    ask(&mut session, "CREATE DATABASE other");
    for database in ["test", "Other", "other"] {
        for (number, name) in ["a", "A", "a_b", "axb", "\u{e9}t\u{e9}", "ete", "columns"].iter().enumerate() {
            let done = ask(
                &mut session,
                &format!(
                    "CREATE TABLE {database}.`{name}` (id INT PRIMARY KEY, p INT, UNIQUE KEY u (p), \
                     CONSTRAINT c{number} FOREIGN KEY (p) REFERENCES {database}.`{name}` (id))"
                ),
            );
            assert_eq!(done, ["= 0 rows"], "{database}.{name}");
        }
    }
    let first = first_seed();
    let cases = std::env::var("RELATION_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(300);
    let mut with_rows = 0;
    for seed in first..first + cases {
        let mut random = StdRng::seed_from_u64(seed);
        let [plain, all] = statements(&mut random);
        let [mut found, mut wanted] = [&plain, &all].map(|statement| ask(&mut session, statement));
        // Warnings about rows are those of the rows that were made; their number is not the same.
        found.retain(|line| !line.starts_with('~'));
        wanted.retain(|line| !line.starts_with('~'));
        // The columns of information_schema have names in capitals, those of a derived table are named as they are written.
        found[0].make_ascii_uppercase();
        wanted[0].make_ascii_uppercase();
        with_rows += u32::from(found.len() > 1);
        found.sort();
        wanted.sort();
        assert_eq!(found, wanted, "GLASSINE_SEED={seed}\n{plain}\n{all}");
        // Two collations may not go together.
        assert!(!found[0].starts_with('!') || found[0].starts_with("! 1267"), "{plain}: {found:?}");
    }
    assert!(u64::from(with_rows) * 10 > cases, "most conditions find nothing: {with_rows} of {cases} did");
}

/// Parameters and outer columns are known before the rows are made, too.
#[test]
fn names_may_be_parameters() {
    let scratch = Scratch::new("names-parameters");
    let instance = instance(&scratch.0, Config::default());
    let mut session = session(&instance);
    ask(&mut session, "CREATE TABLE t (a INT, b INT)");
    ask(&mut session, "CREATE TABLE u (c INT)");
    ask(
        &mut session,
        "PREPARE s FROM 'SELECT column_name FROM information_schema.columns WHERE table_schema = ? AND table_name = ?'",
    );
    ask(&mut session, "SET @d = 'test', @t = 't', @u = 'u'");
    assert_eq!(ask(&mut session, "EXECUTE s USING @d, @t")[1..], ["| a", "| b"]);
    assert_eq!(ask(&mut session, "EXECUTE s USING @d, @u")[1..], ["| c"]);
    assert_eq!(ask(&mut session, "EXECUTE s USING @t, @u").len(), 1);
}
