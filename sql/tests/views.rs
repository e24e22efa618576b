//! A view is its query: what is asked of random views is asked of the same derived tables, of views that are merged and of
//! views that are kept apart, and changes through a view are changes of its table. A view's own text makes the same view.
//!
//! `VIEW_CASES=n` asks as many; `VIEW_SEED=n` replays one.

mod common;

use common::random::{Random, first_seed};
use common::{Scratch, ask, instance, session};
use sql::Session;
use storage::Config;

/// Runs a statement that must succeed.
fn run(session: &mut Session, statement: &str) {
    let answer = ask(session, statement);
    assert!(!answer.iter().any(|line| line.starts_with('!')), "{statement}: {answer:?}");
}

/// What a statement answers, but for warnings: how often a condition is evaluated is the plan's to choose.
fn answer(session: &mut Session, statement: &str) -> Vec<String> {
    let mut answer = ask(session, statement);
    answer.retain(|line| !line.starts_with('~'));
    answer.iter_mut().for_each(|line| line.truncate(line.find("  Warnings: ").unwrap_or(line.len())));
    answer
}

/// The rows of a query in order of their text; or its error.
fn rows(session: &mut Session, query: &str) -> Vec<String> {
    let mut answer = answer(session, query);
    if answer.len() > 1 {
        answer[1..].sort();
    }
    answer
}

fn fill(session: &mut Session) {
    for table in ["t", "u"] {
        run(
            session,
            &format!("CREATE TABLE {table} (id INT PRIMARY KEY, a INT, b VARCHAR(9), c DECIMAL(6,2), KEY (a))"),
        );
        let values: Vec<String> = (0..40)
            .map(|id| {
                let a = if id % 7 == 3 { "NULL".to_owned() } else { (id * 5 % 11).to_string() };
                format!("({id}, {a}, '{}', {}.5)", ["x", "X", "yy", ""][id % 4], id * 3 % 13)
            })
            .collect();
        run(session, &format!("INSERT INTO {table} VALUES {}", values.join(", ")));
    }
}

struct Maker(Random);

impl Maker {
    fn column(&mut self, sight: &[&str]) -> String {
        format!("{}.{}", self.0.one(sight), self.0.one(&["id", "a", "b", "c"]))
    }

    fn condition(&mut self, sight: &[&str]) -> String {
        let (one, other) = (self.column(sight), self.column(sight));
        match self.0.below(8) {
            0 => format!("{one} > {}", self.0.below(20)),
            1 => format!("{one} BETWEEN {} AND {}", self.0.below(5), self.0.below(30)),
            2 => format!("{one} IS NOT NULL AND NOT {other} = '3'"),
            3 => format!("{one} = {other} OR {one} IN (1, 2, 'x', NULL)"),
            4 => format!("EXISTS (SELECT * FROM u AS i WHERE i.a = {one})"),
            5 => format!("{one} LIKE '%{}%'", self.0.below(3)),
            6 => format!("({one} + 1) * 2 - {other} % 3 <> {}", self.0.below(9)),
            _ => format!("{one} IN (SELECT a FROM u)"),
        }
    }

    fn expression(&mut self, sight: &[&str]) -> String {
        let column = self.column(sight);
        match self.0.below(7) {
            0 => format!("{column} * 2 + 1"),
            1 => format!("COALESCE({column}, 'none')"),
            2 => format!("CASE WHEN {} THEN {column} ELSE -1 END", self.condition(sight)),
            3 => format!("(SELECT MAX(i.a) FROM u AS i WHERE i.id = {column})"),
            4 => format!("CONCAT({column}, '\\'', \"q\\\\\")"),
            _ => column,
        }
    }

    /// A query whose columns are p, q, r.
    fn query(&mut self) -> String {
        let (from, sight): (&str, &[&str]) = match self.0.below(5) {
            0 => ("t AS m JOIN u AS n ON m.id = n.a", &["m", "n"]),
            1 => ("t AS m LEFT JOIN u AS n ON n.id = m.a AND n.c > 2", &["m", "n"]),
            2 => ("t AS m, (SELECT * FROM u WHERE a < 6) AS n", &["m", "n"]),
            _ => ("t AS m", &["m"]),
        };
        let filter = self.condition(sight);
        let [p, q, r] = [0; 3].map(|_| self.expression(sight));
        match self.0.below(11) {
            0 => {
                let key = self.column(sight);
                format!(
                    "SELECT {key} AS p, COUNT(*) AS q, SUM({}) AS r FROM {from} WHERE {filter} GROUP BY {key}",
                    self.column(sight)
                )
            }
            1 => format!("SELECT DISTINCT {p} AS p, {q} AS q, 1 AS r FROM {from} WHERE {filter}"),
            2 => format!("SELECT {p} AS p, {q} AS q, {r} AS r FROM {from} UNION SELECT a, b, c FROM u WHERE id < 5"),
            3 => {
                let [part, order, summed] = [0; 3].map(|_| self.column(sight));
                format!(
                    "SELECT {p} AS p, RANK() OVER (PARTITION BY {part} ORDER BY {order} DESC) AS q, SUM({summed}) OVER w \
                     AS r FROM {from} WHERE {filter} WINDOW w AS (ORDER BY {order} RANGE BETWEEN CURRENT ROW AND \
                     UNBOUNDED FOLLOWING)"
                )
            }
            4 => {
                let (key, last) = (self.column(sight), self.column(sight));
                format!(
                    "SELECT {key} AS p, GROUPING({last}) AS q, COUNT(*) AS r FROM {from} WHERE {filter} GROUP BY {key}, \
                     {last} WITH ROLLUP HAVING COUNT(*) > 1"
                )
            }
            5 => {
                let operator = self.0.one(&["EXCEPT", "INTERSECT", "UNION ALL", "INTERSECT ALL"]);
                format!(
                    "SELECT m.a AS p, m.b AS q, 1 AS r FROM {from} WHERE {filter} UNION ALL (SELECT a, b, 1 FROM t \
                     {operator} SELECT a, b, 1 FROM u WHERE id < 9)"
                )
            }
            6 => format!(
                "WITH RECURSIVE s AS (SELECT 1 AS k UNION ALL SELECT k + 1 FROM s WHERE k < 4) SELECT {p} AS p, k AS q, \
                 l.z AS r FROM {from}, s, LATERAL (SELECT MAX(u.a) AS z FROM u WHERE u.id < k) AS l WHERE m.id = k AND \
                 ({filter})"
            ),
            _ => format!("SELECT {p} AS p, {q} AS q, {r} AS r FROM {from} WHERE {filter}"),
        }
    }
}

fn cases(usual: usize) -> usize {
    std::env::var("VIEW_CASES").ok().and_then(|count| count.parse().ok()).unwrap_or(usual)
}

fn seed() -> u64 {
    std::env::var("VIEW_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or_else(first_seed)
}

/// The statement of SHOW CREATE VIEW.
fn text_of(session: &mut Session, view: &str) -> String {
    let answer = ask(session, &format!("SHOW CREATE VIEW {view}"));
    let row = answer.get(1).unwrap_or_else(|| panic!("{view}: {answer:?}"));
    let begin = row.find("CREATE ").expect("a statement");
    let end = row.rfind(" | utf8mb4 | ").expect("its character set");
    row[begin..end].to_owned()
}

#[test]
fn a_view_is_its_query() {
    let scratch = Scratch::new("views");
    let instance = instance(&scratch.0, Config::tiny());
    let mut session = session(&instance);
    fill(&mut session);
    run(&mut session, "SET sql_mode = ''");
    let first = seed();
    for number in 0..cases(150) as u64 {
        let seed = first + number;
        let mut maker = Maker(Random::new(seed));
        let query = maker.query();
        let outer = match maker.0.below(5) {
            0 => "SELECT p, COUNT(*), MIN(q), MAX(r) FROM {} GROUP BY p".to_owned(),
            1 => "SELECT x.p, y.r FROM {} JOIN {y} ON x.p = y.p WHERE x.q IS NOT NULL".to_owned(),
            2 => "SELECT t.id, x.q FROM t LEFT JOIN {} ON x.p = t.a".to_owned(),
            3 => format!("SELECT q, p FROM {{}} WHERE p > {} OR r IS NULL", maker.0.below(9)),
            _ => "SELECT * FROM {}".to_owned(),
        };
        let of =
            |source: &str| outer.replace("{}", &format!("{source} AS x")).replace("{y}", &format!("{source} AS y"));
        let expected = rows(&mut session, &of(&format!("({query})")));
        run(&mut session, &format!("CREATE OR REPLACE VIEW v AS {query}"));
        run(&mut session, &format!("CREATE OR REPLACE ALGORITHM=TEMPTABLE VIEW apart AS {query}"));
        run(&mut session, "CREATE OR REPLACE VIEW above (p, q, r) AS SELECT * FROM v");
        let text = text_of(&mut session, "v");
        run(&mut session, "DROP VIEW IF EXISTS again");
        run(&mut session, &text.replacen("VIEW `v`", "VIEW `again`", 1));
        for view in ["v", "apart", "above", "again"] {
            let found = rows(&mut session, &of(view));
            assert!(found == expected, "VIEW_SEED={seed} {view}: {query}\n{}\n{text}", of(view));
        }
        assert_eq!(text_of(&mut session, "again").replacen("VIEW `again`", "VIEW `v`", 1), text, "VIEW_SEED={seed}");
        // Prepared, and again after the view has become another one.
        run(&mut session, &format!("PREPARE p FROM '{}'", of("v").replace('\\', "\\\\").replace('\'', "''")));
        assert_eq!(rows(&mut session, "EXECUTE p"), expected, "VIEW_SEED={seed} prepared: {query}");
        run(&mut session, "CREATE OR REPLACE VIEW v AS SELECT 1 AS p, 2 AS q, 3 AS r");
        assert_eq!(rows(&mut session, "EXECUTE p"), rows(&mut session, &of("(SELECT 1 AS p, 2 AS q, 3 AS r)")));
    }
}

#[test]
fn a_change_through_a_view_is_a_change_of_its_table() {
    let scratch = Scratch::new("view-changes");
    let instance = instance(&scratch.0, Config::tiny());
    let mut session = session(&instance);
    fill(&mut session);
    run(&mut session, "SET sql_mode = ''");
    let first = seed();
    for number in 0..cases(100) as u64 {
        let seed = first + number;
        let mut maker = Maker(Random::new(seed));
        let (inside, below, asked) = (maker.condition(&["t"]), maker.condition(&["t"]), maker.condition(&["t"]));
        run(&mut session, &format!("CREATE OR REPLACE VIEW low AS SELECT * FROM t WHERE {below}"));
        let inside_low = inside.replace("t.", "low.");
        run(&mut session, &format!("CREATE OR REPLACE VIEW v AS SELECT a, id, c, b FROM low WHERE {inside_low}"));
        let (change, of_view) = match maker.0.below(3) {
            0 => ("DELETE FROM t WHERE".to_owned(), "DELETE FROM v WHERE".to_owned()),
            1 => {
                ("UPDATE t SET a = a + 1, b = 'z' WHERE".to_owned(), "UPDATE v SET a = a + 1, b = 'z' WHERE".to_owned())
            }
            _ => ("UPDATE t SET c = id WHERE".to_owned(), "UPDATE v SET c = id WHERE".to_owned()),
        };
        let mut after = Vec::new();
        let direct = format!("{change} ({below}) AND ({inside}) AND ({asked})");
        let through = format!("{of_view} {}", asked.replace("t.", "v."));
        for statement in [&direct, &through] {
            run(&mut session, "BEGIN");
            let answer = answer(&mut session, statement);
            after.push((answer, rows(&mut session, "SELECT * FROM t")));
            run(&mut session, "ROLLBACK");
        }
        assert_eq!(after[0], after[1], "VIEW_SEED={seed}\n{direct}\n{through}");
        // WITH CHECK OPTION lets through what stays visible, and nothing else.
        let base = "SELECT id, a, b, c FROM t WHERE id IN (1, 2, 3, 5, 8, 13)";
        run(&mut session, &format!("CREATE OR REPLACE VIEW v AS SELECT * FROM t WHERE {inside} WITH CHECK OPTION"));
        run(&mut session, "BEGIN");
        run(&mut session, "DELETE FROM t WHERE id > 100");
        let copy = base.replace("id, a", "id + 1000, a");
        run(&mut session, &format!("INSERT IGNORE INTO v {copy}"));
        let visible = rows(&mut session, "SELECT id FROM v WHERE id > 1000");
        assert_eq!(rows(&mut session, "SELECT id FROM t WHERE id > 1000"), visible, "VIEW_SEED={seed} {inside}");
        run(&mut session, "ROLLBACK");
    }
}
