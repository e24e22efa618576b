//! Which statements find the plans of their last run.
//!
//! Every SET made a session forget all plans, so pooled connections, which switch autocommit with each transaction, planned
//! each statement anew; and a session with more than 512 statements lost all plans at once. Clients that connect for one
//! statement planned it each time. A plan by an index was kept for values that most rows have. For those of prepared
//! statements see the script `prepared_plans`, too.

mod common;

use common::{Scratch, ask, done, instance, session};
use format::value::Value;
use sql::{Instance, Session};
use std::sync::Arc;
use storage::Config;

/// How many statements of a run found a plan, and how many did not.
fn found(session: &mut Session, run: impl FnOnce(&mut Session)) -> (u64, u64) {
    let count = |session: &mut Session, name: &str| {
        let lines = ask(session, &format!("SHOW SESSION STATUS LIKE 'Glassine_plan_cache_{name}'"));
        lines.last().and_then(|line| line.rsplit_once("| ")?.1.trim().parse::<u64>().ok()).expect("a number")
    };
    let before = (count(session, "hits"), count(session, "misses"));
    run(session);
    (count(session, "hits") - before.0, count(session, "misses") - before.1)
}

fn with_table(name: &str, test: impl FnOnce(&mut Session)) {
    with_tables(name, |_, session| test(session));
}

fn with_tables(name: &str, test: impl FnOnce(&Arc<Instance>, &mut Session)) {
    let scratch = Scratch::new(name);
    let instance = instance(&scratch.0, Config::tiny());
    let mut session = session(&instance);
    ask(&mut session, "CREATE TABLE t (a INT PRIMARY KEY, b INT, d DECIMAL(10,3), KEY (b))");
    ask(&mut session, "INSERT INTO t VALUES (1, 1, 1.5), (2, NULL, 2.25)");
    test(&instance, &mut session);
}

#[test]
fn set_keeps_the_plans_that_it_does_not_concern() {
    with_table("plans-set", |session| {
        ask(session, "SELECT * FROM t WHERE a = 1");
        for (set, keeps) in [
            ("SET autocommit = 0", true),
            ("SET autocommit = 1", true),
            ("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED", true),
            ("SET TRANSACTION READ ONLY", true),
            ("SET @x = 1", true),
            ("SET NAMES utf8mb4", true),
            ("SET NAMES utf8mb4 COLLATE utf8mb4_bin", false),
            ("SET NAMES utf8mb4", true),
            ("SET sql_mode = @@sql_mode", true),
            ("SET sql_mode = ''", false),
            ("SET sql_mode = DEFAULT", true),
            ("SET time_zone = '+01:00'", false),
            ("SET time_zone = '+01:00'", true),
            ("SET updatable_views_with_limit = NO", false),
            ("SET max_execution_time = 1000", true),
            ("SET character_set_connection = utf8mb4", true),
            ("SET max_join_size = 1000", false),
            ("SET optimizer_switch = 'semijoin=off'", false),
        ] {
            let found = found(session, |session| {
                ask(session, set);
                ask(session, "SELECT * FROM t WHERE a = 2");
            });
            assert_eq!(found, (u64::from(keeps), u64::from(!keeps)), "{set}");
        }
    });
}

#[test]
fn plans_that_are_used_stay_when_many_others_come() {
    with_table("plans-many", |session| {
        ask(session, "SELECT * FROM t WHERE a = 1");
        let found = found(session, |session| {
            for other in 0..1500 {
                ask(session, &format!("SELECT b AS c{other} FROM t WHERE a = 1"));
                ask(session, "SELECT * FROM t WHERE a = 1");
            }
        });
        assert_eq!(found, (1500, 1500));
    });
}

const POINT: &str = "SELECT b FROM t WHERE a = 2";

#[test]
fn a_session_uses_what_another_one_has_planned() {
    with_tables("plans-shared", |instance, first| {
        ask(first, "CREATE DATABASE other");
        ask(first, "CREATE TABLE other.t (a INT PRIMARY KEY, b INT)");
        let of_another = |prepare: &[&str]| {
            let mut session = session(instance);
            prepare.iter().for_each(|statement| drop(ask(&mut session, statement)));
            found(&mut session, |session| drop(ask(session, POINT)))
        };
        assert_eq!(of_another(&[]), (0, 1));
        assert_eq!(of_another(&[]), (1, 0));
        // It has gone back to where it came from.
        assert_eq!(of_another(&["SET autocommit = 0", "SET NAMES utf8mb4"]), (1, 0));
        for (differs, prepare) in [
            (true, &["USE other"][..]),
            (true, &["SET sql_mode = ''"]),
            (true, &["SET time_zone = '+03:00'"]),
            (true, &["SET updatable_views_with_limit = NO"]),
            (true, &["LOCK TABLES t READ"]),
            (true, &["CREATE TEMPORARY TABLE t (a INT, b INT)"]),
            (false, &["LOCK TABLES t READ", "UNLOCK TABLES"]),
            (false, &["CREATE TEMPORARY TABLE t (a INT, b INT)", "DROP TEMPORARY TABLE t"]),
            (false, &["USE other", "USE test"]),
            (false, &["SET @x = 1", "BEGIN"]),
        ] {
            assert_eq!(of_another(prepare), (u64::from(!differs), u64::from(differs)), "{prepare:?}");
        }
        // A session gets its own plans back when its circumstances are again what they were.
        let found = found(first, |session| {
            for database in ["test", "other", "test", "other"] {
                ask(session, &format!("USE {database}"));
                ask(session, POINT);
            }
        });
        assert_eq!(found, (4, 0));
    });
}

#[test]
fn several_sessions_at_once_have_a_plan_each() {
    with_tables("plans-copies", |instance, _| {
        let mut all: Vec<Session> = (0..3).map(|_| session(instance)).collect();
        for session in &mut all {
            assert_eq!(found(session, |session| drop(ask(session, POINT))), (0, 1));
        }
        assert_eq!(instance.plans.count(), 0);
        drop(all);
        let mut all: Vec<Session> = (0..4).map(|_| session(instance)).collect();
        let hits: u64 = all.iter_mut().map(|session| found(session, |session| drop(ask(session, POINT))).0).sum();
        assert_eq!(hits, 3);
    });
}

#[test]
fn a_shared_plan_does_not_outlive_what_it_was_made_of() {
    with_tables("plans-stale", |instance, first| {
        ask(first, "CREATE VIEW v AS SELECT a, b FROM t");
        ask(first, "CREATE USER u@localhost");
        ask(first, "GRANT SELECT ON test.* TO u@localhost");
        let ask_as = |user: &str, statement: &str| {
            let mut session = session(instance);
            session.set_user(user, "localhost");
            session.init_db("test").expect("the database");
            ask(&mut session, statement)
        };
        for statement in ["SELECT * FROM t WHERE a = 1", "SELECT * FROM v WHERE a = 1"] {
            assert_eq!(ask_as("u", statement), ask_as("root", statement));
        }
        ask(first, "ALTER TABLE t ADD c INT FIRST, DROP COLUMN d");
        ask(first, "ALTER VIEW v AS SELECT b, a FROM t");
        assert_eq!(ask_as("u", "SELECT * FROM t WHERE a = 1"), ["| c | a | b", "| NULL | 1 | 1"]);
        assert_eq!(ask_as("u", "SELECT * FROM v WHERE a = 1"), ["| b | a", "| 1 | 1"]);
        ask(first, "REVOKE SELECT ON test.* FROM u@localhost");
        ask(first, "GRANT SELECT (a) ON test.t TO u@localhost");
        for statement in ["SELECT * FROM t WHERE a = 1", "SELECT * FROM v WHERE a = 1"] {
            assert!(ask_as("u", statement)[0].contains("114"), "{:?}", ask_as("u", statement));
        }
        // Whose plan of before is not its own.
        assert_eq!(ask_as("root", "SELECT * FROM v WHERE a = 1"), ["| b | a", "| 1 | 1"]);
    });
}

#[test]
fn a_session_uses_what_another_one_has_planned_for_the_same_prepared_statement() {
    with_tables("plans-prepared", |instance, _| {
        let execute = |value: Value| {
            let mut session = session(instance);
            found(&mut session, |session| {
                let prepared = session.prepare(b"SELECT b FROM t WHERE a = ?").expect("a query");
                let mut sink = common::Lines::default();
                session.execute(prepared.id, &[value], &mut sink);
                assert!(sink.lines.len() < 3, "{:?}", sink.lines);
            })
        };
        assert_eq!(execute(Value::Int(1)), (0, 1));
        assert_eq!(execute(Value::Int(2)), (1, 0));
        assert_eq!(execute(Value::Null), (0, 1));
        assert_eq!(execute(Value::Null), (1, 0));
        assert_eq!(execute(Value::Int(2)), (1, 0));
    });
}

/// Of 20,000 rows five are rare, a tenth are some, and the others common.
fn with_skew(name: &str, test: impl FnOnce(&mut Session)) {
    with_tables(name, |_, session| {
        ask(session, "CREATE TABLE s (id INT PRIMARY KEY, kind VARCHAR(10), pad CHAR(200), KEY k (kind))");
        done(session, "SET cte_max_recursion_depth = 20000");
        done(
            session,
            "INSERT INTO s WITH RECURSIVE r (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 20000) \
             SELECT n, CASE WHEN n % 4000 = 0 THEN 'rare' WHEN n % 10 = 0 THEN 'some' ELSE 'common' END, n FROM r",
        );
        ask(session, "ANALYZE TABLE s");
        test(session);
    });
}

#[test]
fn a_plan_that_proves_bad_for_a_value_is_chosen_again() {
    with_skew("plans-bad", |session| {
        let query = |kind: &str| format!("SELECT MAX(pad) FROM s WHERE kind = '{kind}'");
        let shown = ask(session, &format!("EXPLAIN {}", query("common")));
        assert!(shown[1].contains("| ALL |"), "an index is no better for most rows: {shown:?}");
        let shown = ask(session, &format!("EXPLAIN {}", query("rare")));
        assert!(shown[1].contains("| k |"), "{shown:?}");
        // It is made for the rare ones, and stays for as long as they are asked for.
        let rare = |session: &mut Session| drop(ask(session, &query("rare")));
        let common = |session: &mut Session| drop(ask(session, &query("common")));
        assert_eq!(found(session, rare), (0, 1));
        assert_eq!(found(session, rare), (1, 0));
        // It reads 18,000 rows by the index: from here on each run has its own.
        assert_eq!(found(session, common), (1, 0));
        assert_eq!(found(session, common), (0, 1));
        for _ in 0..256 {
            assert_eq!(found(session, rare), (0, 1));
        }
        assert_eq!(found(session, rare), (1, 0));
    });
}

#[test]
fn a_prepared_statement_stays_in_doubt_while_values_of_another_kind_run() {
    with_skew("plans-bad-prepared", |session| {
        let prepared = session.prepare(b"SELECT MAX(pad) FROM s WHERE kind = ?").expect("a query");
        let run = |session: &mut Session, value: Value| {
            found(session, |session| session.execute(prepared.id, &[value], &mut common::Lines::default()))
        };
        let text = |kind: &str| Value::Bytes(kind.as_bytes().to_vec());
        assert_eq!(run(session, text("rare")), (0, 1));
        assert_eq!(run(session, Value::Null), (0, 1));
        assert_eq!(run(session, text("common")), (1, 0));
        assert_eq!(run(session, Value::Null), (1, 0));
        assert_eq!(run(session, text("rare")), (0, 1));
        assert_eq!(run(session, text("rare")), (0, 1));
    });
}

#[test]
fn a_plan_that_is_the_best_for_all_values_stays() {
    with_skew("plans-best", |session| {
        // The index has all that it reads.
        let query = |kind: &str| format!("SELECT COUNT(*) FROM s WHERE kind = '{kind}'");
        let run = |session: &mut Session, kind: &str| found(session, |session| drop(ask(session, &query(kind))));
        assert_eq!(run(session, "rare"), (0, 1));
        assert_eq!(run(session, "some"), (1, 0));
        assert_eq!(run(session, "rare"), (0, 1));
        assert_eq!(run(session, "some"), (0, 1));
        for kind in ["some", "rare", "some"] {
            assert_eq!(run(session, kind), (1, 0), "{kind}");
        }
    });
}
