//! A statement that is killed half-way has done nothing: not to its table, not to those that its cascades and triggers
//! reach; and a transaction that is rolled back behind it leaves what was there before.

use std::thread;
use std::time::Duration;

use bench::client::{Client, Error};
use bench::process::{Kind, Options, Scratch, Server};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

const TABLES: [&str; 4] = ["parent", "child", "grandchild", "log"];

const STATEMENTS: [&str; 11] = [
    "UPDATE parent SET id = id + 100000 ORDER BY id DESC",
    "UPDATE parent SET u = u + 1 ORDER BY u DESC",
    "UPDATE parent p JOIN child c ON c.p = p.id SET p.n = p.n + 1, c.n = c.n + 1",
    "DELETE FROM parent WHERE id > 10",
    "DELETE p, c FROM parent p JOIN child c ON c.p = p.id WHERE p.id > 10",
    "INSERT INTO parent SELECT id + 50000, u + 50000, n FROM parent",
    "INSERT INTO parent SELECT id, u, n FROM parent x ON DUPLICATE KEY UPDATE n = parent.n + 1",
    "REPLACE INTO child SELECT id, p, n + 1 FROM child",
    "INSERT IGNORE INTO child SELECT id + 1000, p + 1000, n FROM child",
    "CALL in_turns()",
    "ALTER TABLE child MODIFY n BIGINT, ADD INDEX extra (n, p)",
];

fn sums(client: &mut Client) -> Vec<Vec<Option<String>>> {
    let tables = TABLES.join(", ");
    client.query(&format!("CHECKSUM TABLE {tables}")).expect("checksums").rows
}

fn set_up(client: &mut Client) {
    for statement in [
        "SET cte_max_recursion_depth = 5000",
        "CREATE DATABASE t",
        "USE t",
        "CREATE TABLE parent (id INT PRIMARY KEY, u INT, n INT, UNIQUE (u))",
        "CREATE TABLE child (id INT PRIMARY KEY, p INT, n INT, FOREIGN KEY (p) REFERENCES parent (id) ON DELETE CASCADE ON \
         UPDATE CASCADE)",
        "CREATE TABLE grandchild (c INT, FOREIGN KEY (c) REFERENCES child (id) ON DELETE SET NULL)",
        "CREATE TABLE log (what VARCHAR(20))",
        "INSERT INTO parent WITH RECURSIVE r (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 3000) SELECT n, n, 0 FROM r",
        "INSERT INTO child SELECT id, id, 0 FROM parent",
        "INSERT INTO child SELECT id + 10000, id, 0 FROM parent",
        "INSERT INTO grandchild SELECT id FROM child",
        "CREATE TRIGGER changed AFTER UPDATE ON parent FOR EACH ROW INSERT INTO log VALUES (CONCAT('changed ', NEW.id))",
        "CREATE TRIGGER gone BEFORE DELETE ON parent FOR EACH ROW INSERT INTO log VALUES (CONCAT('gone ', OLD.id))",
        "CREATE TRIGGER made BEFORE INSERT ON child FOR EACH ROW INSERT INTO log VALUES ('made')",
        "CREATE PROCEDURE in_turns() BEGIN DECLARE CONTINUE HANDLER FOR SQLEXCEPTION SELECT 'handled'; START TRANSACTION; UPDATE \
         parent SET n = n + 1; DELETE FROM child; ROLLBACK; END",
    ] {
        client.query(statement).unwrap_or_else(|error| panic!("{statement}: {error}"));
    }
}

#[test]
fn a_statement_that_is_killed_has_done_nothing() {
    let seed = std::env::var("GLASSINE_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1);
    println!("GLASSINE_SEED={seed}");
    let mut random = StdRng::seed_from_u64(seed);
    let scratch = Scratch::new("killed").expect("a scratch directory");
    let options = Options { pool: "64M".into(), log: "64M".into(), ..Options::default() };
    let server = Server::create(Kind::Glassine, &scratch.0.join("ours"), &options).expect("our server starts");
    let mut client = server.connect().expect("our server answers");
    let mut killer = server.connect().expect("our server answers");
    set_up(&mut client);
    let before = sums(&mut client);
    let number = client.query("SELECT CONNECTION_ID()").expect("a number").number();
    let mut killed = 0;
    for _ in 0..60 {
        let statement = STATEMENTS[random.random_range(0..STATEMENTS.len())];
        let wait = Duration::from_micros(random.random_range(0..150_000));
        let alters = statement.starts_with("ALTER");
        if !alters {
            client.query("BEGIN").expect("a transaction");
        }
        let result = thread::scope(|scope| {
            let other = scope.spawn(|| {
                thread::sleep(wait);
                killer.query(&format!("KILL QUERY {number}")).expect("a kill");
            });
            let mut result = client.query(statement);
            while result.as_ref().is_ok_and(|answer| answer.more) {
                result = client.receive();
            }
            other.join().expect("a killer");
            result
        });
        // It may have come when the statement had ended.
        let _ = client.query("DO 0");
        let was_killed = match result {
            Ok(_) => false,
            Err(Error::Server { code: 1317, .. }) => true,
            Err(error) => panic!("{statement}: {error}"),
        };
        killed += usize::from(was_killed);
        // The statements of a procedure are each by itself.
        if was_killed && !statement.starts_with("CALL") {
            assert_eq!(sums(&mut client), before, "seed {seed}: killed after {wait:?}: {statement}");
        }
        client.query("ROLLBACK").expect("a rollback");
        if alters && !was_killed {
            client.query("ALTER TABLE child MODIFY n INT, DROP INDEX extra").expect("the table as it was");
        }
        assert_eq!(sums(&mut client), before, "seed {seed}: rolled back after {wait:?}: {statement}");
    }
    let checks = client.query(&format!("CHECK TABLE {}", TABLES.join(", "))).expect("checks");
    assert!(checks.rows.iter().all(|row| row[3].as_deref() == Some("OK")), "seed {seed}: {:?}", checks.rows);
    println!("{killed} of 60 statements were killed");
    assert!(killed > 5, "seed {seed}: only {killed} statements were killed half-way");
}
