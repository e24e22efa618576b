//! Queries that say the same in different words, over random rows: what windows, rollups, set operations, recursion and
//! changes of several tables give must be what plainer statements give.
//!
//! `QUERY_CASES` is how many random cases each relation is tried with; a failure names its seed.

mod common;

use storage::Config;

use common::random::{Random, first_seed};
use common::{Scratch, ask, instance, session};

struct Server {
    session: sql::Session,
    _scratch: Scratch,
}

impl Server {
    fn new(name: &str) -> Server {
        let scratch = Scratch::new(name);
        let instance = instance(&scratch.0, Config::tiny());
        Server { session: session(&instance), _scratch: scratch }
    }

    /// The rows of a query, in order.
    fn rows(&mut self, query: &str) -> Vec<String> {
        let lines = ask(&mut self.session, query);
        assert!(lines.first().is_some_and(|line| line.starts_with("| ")), "{query}: {lines:?}");
        lines[1..].iter().filter(|line| !line.starts_with("~ ")).cloned().collect()
    }

    fn run(&mut self, statement: &str) {
        let lines = ask(&mut self.session, statement);
        assert!(lines.iter().all(|line| !line.starts_with('!')), "{statement}: {lines:?}");
    }

    /// Two queries have the same rows, in any order.
    fn same(&mut self, one: &str, other: &str) {
        let (mut ours, mut others) = (self.rows(one), self.rows(other));
        ours.sort();
        others.sort();
        assert_eq!(ours, others, "\n{one}\n{other}");
    }

    /// Tables t and u of few values, with NULLs; `id` is unique.
    fn fill(&mut self, random: &mut Random) {
        self.run("DROP TABLE IF EXISTS t, u");
        for table in ["t", "u"] {
            self.run(&format!(
                "CREATE TABLE {table} (id INT PRIMARY KEY, a INT, b INT, s VARCHAR(5), d DECIMAL(5,2), INDEX (a))"
            ));
            let rows: Vec<String> = (0..random.below(30))
                .map(|id| {
                    let number = |random: &mut Random, limit| match random.below(6) {
                        0 => "NULL".to_owned(),
                        _ => random.below(limit).to_string(),
                    };
                    let (a, b) = (number(random, 5), number(random, 20));
                    let s = random.one(&["'x'", "'X'", "'y'", "NULL", "'zz'"]);
                    let d = random.one(&["0.25", "1.50", "NULL", "-3.10", "1.50"]);
                    format!("({id}, {a}, {b}, {s}, {d})")
                })
                .collect();
            if !rows.is_empty() {
                self.run(&format!("INSERT INTO {table} VALUES {}", rows.join(", ")));
            }
        }
    }
}

fn cases() -> u64 {
    std::env::var("QUERY_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(25)
}

fn each_case(name: &str, mut case: impl FnMut(&mut Server, &mut Random)) {
    let mut server = Server::new(name);
    let first = first_seed();
    for seed in first..first + cases() {
        println!("GLASSINE_SEED={seed}");
        let mut random = Random::new(seed);
        server.fill(&mut random);
        for _ in 0..4 {
            case(&mut server, &mut random);
        }
    }
}

const AGGREGATES: [&str; 8] =
    ["SUM(#.b)", "COUNT(#.b)", "COUNT(*)", "MIN(#.b)", "MAX(LOWER(#.s))", "AVG(#.d)", "BIT_XOR(#.b)", "SUM(#.d)"];

#[test]
fn a_frame_of_rows_is_a_subquery_over_their_numbers() {
    each_case("frames", |server, random| {
        let call = random.one(&AGGREGATES);
        let (inside, correlated) = (call.replace('#', "t"), call.replace('#', "x"));
        // The bounds, and what they say of the distance between two rows.
        let (before, after) = (random.below(4), random.below(4));
        let (frame, within) = match random.below(7) {
            0 => ("ROWS UNBOUNDED PRECEDING".to_owned(), "x.n <= t.n".to_owned()),
            1 => (format!("ROWS {before} PRECEDING"), format!("x.n BETWEEN t.n - {before} AND t.n")),
            2 => (
                format!("ROWS BETWEEN {before} PRECEDING AND {after} FOLLOWING"),
                format!("x.n BETWEEN t.n - {before} AND t.n + {after}"),
            ),
            3 => (
                format!("ROWS BETWEEN {} PRECEDING AND {before} PRECEDING", before + after),
                format!("x.n BETWEEN t.n - {} AND t.n - {before}", before + after),
            ),
            4 => (
                format!("ROWS BETWEEN {before} FOLLOWING AND {} FOLLOWING", before + after),
                format!("x.n BETWEEN t.n + {before} AND t.n + {}", before + after),
            ),
            5 => ("ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING".to_owned(), "x.n >= t.n".to_owned()),
            _ => ("ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING".to_owned(), "TRUE".to_owned()),
        };
        let numbered =
            "WITH t AS (SELECT *, CAST(ROW_NUMBER() OVER (PARTITION BY a ORDER BY id) AS SIGNED) AS n FROM test.t)";
        server.same(
            &format!("{numbered} SELECT id, {inside} OVER (PARTITION BY a ORDER BY id {frame}) FROM t"),
            &format!("{numbered} SELECT id, (SELECT {correlated} FROM t x WHERE x.a <=> t.a AND {within}) FROM t"),
        );
    });
}

#[test]
fn a_frame_of_values_is_a_subquery_over_them() {
    each_case("ranges", |server, random| {
        let call = random.one(&AGGREGATES);
        let (inside, correlated) = (call.replace('#', "t"), call.replace('#', "x"));
        let (before, after) = (random.below(6), random.below(6));
        let descending = random.below(2) == 1;
        let (low, high) = if descending { (after, before) } else { (before, after) };
        let direction = if descending { "DESC" } else { "ASC" };
        server.same(
            &format!(
                "SELECT id, {inside} OVER (ORDER BY b {direction} RANGE BETWEEN {before} PRECEDING AND {after} FOLLOWING) \
                 FROM t"
            ),
            &format!(
                "SELECT id, (SELECT {correlated} FROM t x WHERE x.b BETWEEN t.b - {low} AND t.b + {high} OR \
                 x.b IS NULL AND t.b IS NULL) FROM t"
            ),
        );
        server.same(
            "SELECT id, RANK() OVER (ORDER BY b), DENSE_RANK() OVER (ORDER BY b), CUME_DIST() OVER (ORDER BY b) FROM t",
            "SELECT id, (SELECT COUNT(*) + 1 FROM t x WHERE x.b < t.b OR x.b IS NULL AND t.b IS NOT NULL), \
             (SELECT COUNT(DISTINCT IFNULL(x.b, -1)) + 1 FROM t x WHERE IFNULL(x.b, -1) < IFNULL(t.b, -1)), \
             (SELECT COUNT(*) FROM t x WHERE IFNULL(x.b, -1) <= IFNULL(t.b, -1)) / (SELECT COUNT(*) + 0e0 FROM t) FROM t",
        );
    });
}

#[test]
fn a_rollup_is_a_union_of_groupings() {
    each_case("rollup", |server, random| {
        let call = random.one(&AGGREGATES).replace('#', "t");
        let (one, other) = (random.one(&["a", "s", "d"]), random.one(&["b", "b % 3"]));
        server.same(
            &format!("SELECT {one} AS k, {other} AS l, GROUPING({one}, {other}) AS g, {call} AS r FROM t GROUP BY {one}, {other} WITH ROLLUP"),
            &format!(
                "SELECT {one}, {other}, 0, {call} FROM t GROUP BY {one}, {other} UNION ALL \
                 SELECT {one}, NULL, 1, {call} FROM t GROUP BY {one} UNION ALL \
                 SELECT NULL, NULL, 3, {call} FROM t HAVING COUNT(*) > 0"
            ),
        );
        server.same(
            &format!(
                "SELECT * FROM (SELECT {one} AS k, COUNT(*) AS c FROM t GROUP BY {one} WITH ROLLUP) r WHERE k IS NULL"
            ),
            &format!(
                "SELECT NULL, COUNT(*) FROM t WHERE {one} IS NULL HAVING COUNT(*) > 0 UNION ALL \
                 SELECT NULL, COUNT(*) FROM t HAVING COUNT(*) > 0"
            ),
        );
    });
}

#[test]
fn set_operations_are_searches_of_the_other_rows() {
    each_case("sets", |server, random| {
        let columns = random.one(&["a", "a, s", "b, d", "s"]);
        let equal: Vec<String> = columns.split(", ").map(|column| format!("t.{column} <=> u.{column}")).collect();
        let equal = equal.join(" AND ");
        // Texts that differ in case are one row, of which either may be shown.
        let shown = |columns: &str| columns.replace('s', "LOWER(s) AS s");
        let (low_t, low_u) = (format!("SELECT {} FROM t", shown(columns)), format!("SELECT {} FROM u", shown(columns)));
        server.same(
            &format!("{low_t} INTERSECT {low_u}"),
            &format!("SELECT DISTINCT {} FROM t WHERE EXISTS (SELECT 1 FROM u WHERE {equal})", shown(columns)),
        );
        server.same(
            &format!("{low_t} EXCEPT {low_u}"),
            &format!("SELECT DISTINCT {} FROM t WHERE NOT EXISTS (SELECT 1 FROM u WHERE {equal})", shown(columns)),
        );
        // As often as the one that has it less often, and as what is left of the other.
        let numbered = |table: &str| {
            format!("SELECT {0}, ROW_NUMBER() OVER (PARTITION BY {1}) AS n FROM {table}", shown(columns), columns)
        };
        let names = columns;
        for operator in ["INTERSECT", "EXCEPT"] {
            server.same(
                &format!("{low_t} {operator} ALL {low_u}"),
                &format!("SELECT {names} FROM ({} {operator} {}) d", numbered("t"), numbered("u")),
            );
        }
        server.same(
            &format!("{low_t} UNION {low_u} EXCEPT {low_t} INTERSECT {low_u}"),
            &format!("({low_t} EXCEPT {low_u}) UNION ALL ({low_u} EXCEPT {low_t})"),
        );
        server.same(
            &format!("SELECT * FROM ({low_t} EXCEPT {low_u}) x WHERE {} IS NOT NULL", &columns[..1]),
            &format!("{low_t} WHERE {} IS NOT NULL EXCEPT {low_u}", &columns[..1]),
        );
    });
}

#[test]
fn what_can_be_reached_is_what_rounds_of_inserts_reach() {
    each_case("reach", |server, random| {
        let from = random.below(5);
        server.run("DROP TABLE IF EXISTS reached");
        server.run(&format!("CREATE TABLE reached SELECT {from} AS x"));
        loop {
            let lines = ask(
                &mut server.session,
                "INSERT INTO reached SELECT DISTINCT b FROM t JOIN reached ON a = x WHERE b IS NOT NULL AND b NOT IN \
                 (SELECT x FROM reached)",
            );
            if lines[0].starts_with("= 0 ") {
                break;
            }
            assert!(lines[0].starts_with("= "), "{lines:?}");
        }
        server.same(
            &format!(
                "WITH RECURSIVE r (x) AS (SELECT {from} UNION SELECT b FROM r JOIN t ON a = x WHERE b IS NOT NULL) \
                 SELECT x FROM r"
            ),
            "SELECT x FROM reached",
        );
        let top = random.below(200) + 1;
        server.same(
            &format!("WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {top}) SELECT COUNT(*), SUM(i), MAX(i) FROM n"),
            &format!("SELECT {top}, {top} * ({top} + 1) DIV 2, {top}"),
        );
    });
}

#[test]
fn a_change_of_joined_tables_is_a_change_by_keys() {
    each_case("joined", |server, random| {
        server.run("DROP TABLE IF EXISTS t1, t2");
        server.run("CREATE TABLE t1 LIKE t");
        server.run("CREATE TABLE t2 LIKE t");
        server.run("INSERT INTO t1 SELECT * FROM t");
        server.run("INSERT INTO t2 SELECT * FROM t");
        let on = random.one(&["u.a = #.a", "u.b = #.b", "u.id = #.id + 1", "u.s = #.s AND u.a > 1", "u.d < #.d"]);
        let (joined, by_key) = (on.replace('#', "t1"), on.replace('#', "t2"));
        let value = random.one(&["7", "#.b + 1", "#.a * 10 + #.id", "NULL"]);
        let (value_joined, value_by_key) = (value.replace('#', "t1"), value.replace('#', "t2"));
        if random.below(2) == 0 {
            server.run(&format!("UPDATE t1 JOIN u ON {joined} SET t1.b = {value_joined}, t1.s = 'set'"));
            server.run(&format!(
                "UPDATE t2 SET b = {value_by_key}, s = 'set' WHERE EXISTS (SELECT 1 FROM u WHERE {by_key})"
            ));
        } else {
            let form = random.one(&["DELETE t1 FROM t1 JOIN u", "DELETE FROM t1 USING t1 JOIN u"]);
            server.run(&format!("{form} ON {joined}"));
            server.run(&format!("DELETE FROM t2 WHERE EXISTS (SELECT 1 FROM u WHERE {by_key})"));
        }
        server.same("SELECT * FROM t1", "SELECT * FROM t2");
        server.same(
            &format!(
                "SELECT t.id FROM t, LATERAL (SELECT COUNT(*) AS c FROM u WHERE {}) d WHERE c > 0",
                on.replace('#', "t")
            ),
            &format!("SELECT id FROM t WHERE EXISTS (SELECT 1 FROM u WHERE {})", on.replace('#', "t")),
        );
    });
}

#[test]
fn rows_compared_by_an_index_are_rows_compared_without() {
    each_case("row-constructors", |server, random| {
        let pair = |random: &mut Random| format!("({}, {})", random.below(6), random.below(20));
        let condition = match random.below(2) {
            0 => format!("(a, b) {} {}", random.one(&["<", "<=", ">", ">=", "=", "<=>", "<>"]), pair(random)),
            _ => {
                let list: Vec<String> = (0..random.below(5) + 1).map(|_| pair(random)).collect();
                format!("(a, b) {} ({})", random.one(&["IN", "NOT IN"]), list.join(", "))
            }
        };
        server.same(
            &format!("SELECT id FROM t FORCE INDEX (a) WHERE {condition}"),
            &format!("SELECT id FROM t WHERE ({condition}) + 0 = 1"),
        );
    });
}

/// What moves along the rows must not be quadratic.
#[test]
fn frames_of_many_rows_take_linear_time() {
    let mut server = Server::new("many-rows");
    server.run("SET cte_max_recursion_depth = 100000");
    let many = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 40000)";
    let frames = [
        "ORDER BY i",
        "ORDER BY i ROWS BETWEEN 15000 PRECEDING AND 15000 FOLLOWING",
        "ORDER BY i RANGE BETWEEN 15000 PRECEDING AND CURRENT ROW",
        "ORDER BY i ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING",
    ];
    for (frame, sums) in frames.iter().zip(["10667466680000", "", "", "21334133340000"]) {
        let began = std::time::Instant::now();
        let rows = server.rows(&format!(
            "{many} SELECT SUM(s), MIN(a), MAX(b) FROM (SELECT SUM(i) OVER ({frame}) AS s, MIN(i) OVER ({frame}) AS a, \
             MAX(i) OVER ({frame}) AS b FROM n) d"
        ));
        assert!(rows[0].contains(sums), "{frame}: {rows:?}");
        // 40,000 frames of 15,000 rows would be 1.2 billion steps for each of the three.
        assert!(began.elapsed().as_secs() < 20, "{frame}: {:?}", began.elapsed());
    }
}

/// EXPLAIN ANALYZE of a query, without its times.
fn analyzed(server: &mut Server, query: &str) -> String {
    let text = server.rows(&format!("EXPLAIN ANALYZE {query}")).concat();
    let mut parts = text.split("actual time=");
    let mut plan = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (times, rest) = part.split_once(' ').expect("rows behind the times");
        let (first, all) = times.split_once("..").expect("two times");
        let number = |text: &str| text.parse::<f64>().expect("a time");
        assert!(number(first) <= number(all), "{text}");
        plan.push_str(rest);
    }
    plan
}

#[test]
fn a_plan_tells_what_it_did() {
    let mut server = Server::new("queries-analyze");
    server.run("CREATE TABLE t (id INT PRIMARY KEY, a INT, KEY (a))");
    server.run("CREATE TABLE u (id INT PRIMARY KEY, a INT)");
    server.run("INSERT INTO t WITH RECURSIVE n AS (SELECT 1 i UNION ALL SELECT i + 1 FROM n WHERE i < 200) SELECT i, i % 50 FROM n");
    server.run("INSERT INTO u SELECT id, a FROM t WHERE id <= 10");
    let plan = analyzed(&mut server, "SELECT * FROM t WHERE id = 7");
    assert_eq!(plan, "| -> Single-row index lookup on t using PRIMARY (id=7)  (cost=1.00 rows=1) (rows=1 loops=1)\\n");
    let plan = analyzed(&mut server, "SELECT t.id FROM u JOIN t ON t.a = u.id WHERE u.a > 3 ORDER BY t.id LIMIT 5");
    assert!(plan.contains("Limit: 5 row(s) (rows=5 loops=1)"), "{plan}");
    assert!(plan.contains("Table scan on u  (cost=101.00 rows=10) (rows=7 loops=1)"), "{plan}");
    assert!(plan.contains("(rows=4 loops=7)"), "{plan}");
    let plan = analyzed(
        &mut server,
        "SELECT (SELECT COUNT(*) FROM t WHERE t.a = u.id) FROM u WHERE id > 8 UNION ALL SELECT id FROM u WHERE id < 0",
    );
    assert!(plan.contains("(rows=1 loops=2)") && plan.contains("(rows=0 loops=1)"), "{plan}");
    let plan = analyzed(&mut server, "SELECT * FROM u WHERE id < 0 AND a IN (SELECT MAX(a) FROM t GROUP BY id % 3)");
    assert!(plan.contains("(never executed)"), "{plan}");
    let refused = ask(&mut server.session, "EXPLAIN ANALYZE FORMAT=JSON SELECT 1");
    assert_eq!(refused, ["! 1235 This version of Glassine doesn't yet support 'EXPLAIN ANALYZE with JSON format'"]);
    let failed = ask(&mut server.session, "EXPLAIN ANALYZE SELECT (SELECT id FROM t)");
    assert_eq!(failed, ["! 1242 Subquery returns more than 1 row"]);
    assert_eq!(ask(&mut server.session, "SHOW COUNT(*) ERRORS"), ["| @@session.error_count", "| 1"]);
    server.run("SELECT * FROM t WHERE id = 7");
}

/// EXPLAIN ANALYZE of a change of joined tables makes the change; one that fails leaves nothing behind.
#[test]
fn a_plan_of_a_change_tells_what_it_did() {
    let mut server = Server::new("queries-analyze-changes");
    server.run("CREATE TABLE t (id INT PRIMARY KEY, a INT)");
    server.run("CREATE TABLE u (id INT PRIMARY KEY)");
    server.run("INSERT INTO t VALUES (1, 1), (2, 2), (3, 3)");
    server.run("INSERT INTO u VALUES (1), (2)");
    let plan = analyzed(&mut server, "UPDATE u JOIN t ON t.id = u.id SET t.a = 100 WHERE u.id = 2");
    assert!(plan.starts_with("| -> Update rows of joined tables"), "{plan}");
    assert!(plan.contains("(rows=1 loops=1)"), "{plan}");
    assert_eq!(server.rows("SELECT * FROM t WHERE a = 100"), ["| 2 | 100"]);
    let plan = analyzed(&mut server, "DELETE t FROM t LEFT JOIN u ON t.id = u.id WHERE u.id IS NULL");
    assert!(plan.starts_with("| -> Delete rows of joined tables"), "{plan}");
    assert_eq!(server.rows("SELECT COUNT(*) FROM t"), ["| 2"]);
    let failed = ask(&mut server.session, "EXPLAIN ANALYZE UPDATE t JOIN u ON t.id = u.id SET t.id = 1");
    assert_eq!(failed, ["! 1062 Duplicate entry '1' for key 't.PRIMARY'"]);
    assert_eq!(server.rows("SELECT * FROM t"), ["| 1 | 1", "| 2 | 100"]);
    for statement in ["UPDATE t SET a = 1", "DELETE FROM t", "INSERT INTO t VALUES (9, 9)"] {
        let refused = ask(&mut server.session, &format!("EXPLAIN ANALYZE {statement}"));
        assert_eq!(
            refused,
            ["! 1235 This version of Glassine doesn't yet support 'EXPLAIN ANALYZE on this statement'"]
        );
    }
    assert_eq!(server.rows("SELECT COUNT(*) FROM t"), ["| 2"]);
}
