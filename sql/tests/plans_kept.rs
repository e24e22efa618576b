//! Which statements find the plans of their last run.
//!
//! Every SET made a session forget all plans, so pooled connections, which switch autocommit with each transaction, planned
//! each statement anew; and a session with more than 512 statements lost all plans at once. For those of prepared statements
//! see the script `prepared_plans`.

mod common;

use common::{Scratch, ask, instance, session};
use sql::Session;
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
    let scratch = Scratch::new(name);
    let instance = instance(&scratch.0, Config::tiny());
    let mut session = session(&instance);
    ask(&mut session, "CREATE TABLE t (a INT PRIMARY KEY, b INT, d DECIMAL(10,3), KEY (b))");
    ask(&mut session, "INSERT INTO t VALUES (1, 1, 1.5), (2, NULL, 2.25)");
    test(&mut session);
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
            ("SET NAMES utf8mb4", false),
            ("SET sql_mode = @@sql_mode", true),
            ("SET sql_mode = ''", false),
            ("SET sql_mode = DEFAULT", false),
            ("SET time_zone = '+01:00'", false),
            ("SET time_zone = '+01:00'", true),
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
