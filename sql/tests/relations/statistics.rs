//! Statistics decide how rows are found, and never which: random conditions and joins have the same answers with
//! histograms, without, with true ones, with false ones, and with estimates that are fresh, stale or missing.
//!
//! And a histogram tells the truth, but for the rows of the buckets in which the ends of a condition lie: what EXPLAIN
//! expects of random conditions on skewed values is compared with what there is.
//!
//! `STATISTICS_CASES=1000` asks as many; `STATISTICS_SEED=n` replays one.

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use storage::Config;

use super::common::random::first_seed;
use super::common::{Scratch, ask, instance, session};
use super::{Asker, COLUMNS, Condition, asker, fill, joins};

fn seeds(cases: u64) -> std::ops::Range<u64> {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    match number("STATISTICS_SEED") {
        Some(seed) => seed..seed + 1,
        None => {
            let first = first_seed();
            first..first + number("STATISTICS_CASES").unwrap_or(cases)
        }
    }
}

/// What can be known of the tables, and what makes it so.
fn situations() -> Vec<(&'static str, Vec<String>)> {
    let columns: Vec<&str> = COLUMNS.iter().map(|(name, ..)| *name).collect();
    let all = columns.join(", ");
    let of_both = |statement: &str| ["plain", "keyed"].map(|table| statement.replace('@', table)).to_vec();
    let false_one = "ANALYZE TABLE @ UPDATE HISTOGRAM ON i4 USING DATA '{\"buckets\": [[12, 0.999]], \"data-type\": \
                     \"int\", \"null-values\": 0.001, \"collation-id\": 8, \"sampling-rate\": 1.0, \"histogram-type\": \
                     \"singleton\", \"number-of-buckets-specified\": 1}'";
    vec![
        ("nothing", Vec::new()),
        ("estimates", of_both("ANALYZE TABLE @")),
        ("singletons", of_both(&format!("ANALYZE TABLE @ UPDATE HISTOGRAM ON {all} WITH 100 BUCKETS"))),
        ("equi-height", of_both(&format!("ANALYZE TABLE @ UPDATE HISTOGRAM ON {all} WITH 2 BUCKETS"))),
        ("a false one", of_both(false_one)),
        ("none again", of_both(&format!("ANALYZE TABLE @ DROP HISTOGRAM ON {all}"))),
    ]
}

#[test]
fn statistics_change_no_answer() {
    let scratch = Scratch::new("relations-statistics");
    let instance = instance(&scratch.0, Config::tiny());
    let mut asker: Asker = asker(&instance);
    asker.done("SET sql_mode = ''");
    fill(&mut asker, &mut StdRng::seed_from_u64(1));
    let questions: Vec<(u64, Vec<String>)> = seeds(60)
        .map(|seed| {
            let random = &mut StdRng::seed_from_u64(seed);
            let mut condition = Condition::default();
            condition.condition(random, 0);
            let text = &condition.text;
            let mut queries = vec![
                format!("SELECT COUNT(*), SUM(id) FROM plain WHERE {text}"),
                format!("SELECT COUNT(*), SUM(id) FROM keyed WHERE {text}"),
                format!(
                    "SELECT COUNT(*) FROM keyed AS k JOIN (SELECT id AS i FROM plain WHERE {text}) AS x ON x.i = k.id"
                ),
            ];
            queries.extend(joins(random));
            (seed, queries)
        })
        .collect();
    let mut expected: Vec<Vec<Option<String>>> = Vec::new();
    for (situation, statements) in situations() {
        statements.iter().for_each(|statement| asker.done(statement));
        let rows =
            |asker: &mut Asker, query: &String| asker.run(query).get(1).filter(|row| row.starts_with("| ")).cloned();
        let answers =
            questions.iter().map(|(_, queries)| queries.iter().map(|query| rows(&mut asker, query)).collect());
        let answers: Vec<Vec<Option<String>>> = answers.collect();
        if expected.is_empty() {
            expected = answers.clone();
        }
        for (at, (seed, queries)) in questions.iter().enumerate() {
            for (number, query) in queries.iter().enumerate() {
                let (one, other) = (&expected[at][number], &answers[at][number]);
                // An order of evaluation may meet an error that another one does not.
                if let (Some(one), Some(other)) = (one, other) {
                    assert_eq!(one, other, "STATISTICS_SEED={seed} with {situation}: {query}");
                }
            }
        }
    }
    let answered = expected.iter().flatten().filter(|answer| answer.is_some()).count();
    assert!(answered * 2 > expected.iter().flatten().count(), "{answered} answers: the test asks too little");
    drop(asker);
    let _ = instance.engine.close();
}

/// Rows of the table whose conditions are estimated, and buckets of its histograms.
const ROWS: u64 = 2000;
const BUCKETS: u64 = 50;

fn value(column: &str, random: &mut StdRng) -> String {
    // Few values have most rows.
    let skewed = random.random::<f64>().powi(5);
    match column {
        "i" => ((skewed * 2000.0) as i64 - 300).to_string(),
        "f" => format!("{}", skewed * 100.0),
        "n" => format!("{:.2}", skewed * 5000.0),
        "d" => format!("'2000-01-01' + INTERVAL {} DAY", (skewed * 3000.0) as u64),
        _ => format!("'{:05}'", (skewed * 3000.0) as u64),
    }
}

#[test]
fn histograms_are_near_the_truth() {
    let scratch = Scratch::new("relations-histograms");
    let instance = instance(&scratch.0, Config::tiny());
    let mut session = session(&instance);
    let random = &mut StdRng::seed_from_u64(first_seed());
    ask(&mut session, "CREATE TABLE t (id INT PRIMARY KEY, i INT, f DOUBLE, n DECIMAL(10, 2), d DATE, s VARCHAR(60))");
    for first in (0..ROWS).step_by(100) {
        let row = |id: u64, random: &mut StdRng| {
            let values = ["i", "f", "n", "d", "s"].map(|column| match random.random_range(0..10) {
                0 => "NULL".to_owned(),
                _ => value(column, random),
            });
            format!("({id}, {})", values.join(", "))
        };
        let rows: Vec<String> = (first..first + 100).map(|id| row(id, random)).collect();
        let lines = ask(&mut session, &format!("INSERT INTO t VALUES {}", rows.join(", ")));
        assert!(lines[0].starts_with("= 100"), "{lines:?}");
    }
    ask(&mut session, "ANALYZE TABLE t");
    ask(&mut session, &format!("ANALYZE TABLE t UPDATE HISTOGRAM ON i, f, n, d, s WITH {BUCKETS} BUCKETS"));
    // A bucket has at most twice its share of the rows, and a condition has two ends.
    let bound = 4.0 / BUCKETS as f64 + 0.003;
    for seed in seeds(400) {
        let random = &mut StdRng::seed_from_u64(seed);
        let column = ["i", "f", "n", "d", "s"][random.random_range(0..5)];
        let (one, other) = (value(column, random), value(column, random));
        let condition = match random.random_range(0..10) {
            0 => format!("{column} = {one}"),
            1 => format!("{column} <> {one}"),
            2 => format!("{column} < {one}"),
            3 => format!("{column} >= {one}"),
            4 => format!("{column} BETWEEN {one} AND {other}"),
            5 => format!("{column} > {one} AND {column} <= {other}"),
            6 => format!("{column} IN ({one}, {other})"),
            7 => format!("{column} IS NULL"),
            8 => format!("{column} NOT BETWEEN {one} AND {other}"),
            _ => format!("s LIKE '{}%'", &value("s", random)[1..4]),
        };
        let truth = ask(&mut session, &format!("SELECT COUNT(*) FROM t WHERE {condition}"));
        let truth: f64 = truth[1][2..].parse().unwrap();
        let lines = ask(&mut session, &format!("EXPLAIN SELECT * FROM t WHERE {condition}"));
        let cells: Vec<&str> = lines[1].split(" | ").collect();
        let (rows, filtered): (f64, f64) = (cells[9].parse().unwrap(), cells[10].parse().unwrap());
        let error = (rows * filtered / 100.0 - truth).abs() / ROWS as f64;
        assert!(
            rows == ROWS as f64 && error <= bound,
            "STATISTICS_SEED={seed} {condition}: {truth} rows, {}",
            lines[1]
        );
    }
    drop(session);
    let _ = instance.engine.close();
}
