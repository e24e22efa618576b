//! MariaDB as a replica of Glassine: a history of definitions and rows over all types, sysbench, restarts and kills of both;
//! at the end both have the same rows.

use std::path::Path;
use std::time::{Duration, Instant};

use bench::changes::{Changes, DATABASE};
use bench::client::Client;
use bench::process::{Kind, Options, Scratch, Server, mariadb_is_installed};
use bench::replicas::{assert_same, catch_up, contents, follow_by_old_names, free_port, let_replicas_in, options};
use bench::sysbench::{self, Run};

fn source_options(port: u16, compression: &str) -> Options {
    let compression = format!("--binlog-transaction-compression={compression}");
    options(port, 7, &["--log-bin", "--gtid-mode=ON", &compression])
}

fn replica_options() -> Options {
    let options = options(free_port(), 8, &["--relay-log=relay", "--relay-log-recovery=1", "--log-warnings=1"]);
    // A killed process loses nothing by this, and the replica keeps up.
    Options { flush_at_commit: 2, ..options }
}

/// Lets a replica follow a source from its first file on.
fn follow(replica: &Server, port: u16) {
    let rest = ", MASTER_LOG_FILE='binlog.000001', MASTER_LOG_POS=4, MASTER_USE_GTID=no, MASTER_HEARTBEAT_PERIOD=0.5";
    follow_by_old_names(&mut replica.connect().expect("a connection"), port, rest);
}

fn assert_all_same(source: &Server, replica: &Server, databases: &[&str]) {
    assert_same(&contents(replica, databases), &contents(source, databases), "the replica");
}

fn run_all(client: &mut Client, statements: &[String]) {
    for statement in statements {
        client.query(statement).unwrap_or_else(|error| panic!("{statement:.300}: {error:?}"));
    }
}

fn write_only(threads: u32, seconds: u32, script: &str) -> Run<'_> {
    Run { script, tables: 2, rows: 500, threads, seconds, prepared: true, more: &[] }
}

fn source(directory: &Path, port: u16, compression: &str) -> Server {
    let source =
        Server::create(Kind::Glassine, directory, &source_options(port, compression)).expect("Glassine starts");
    let_replicas_in(&mut source.connect().expect("a connection"));
    source
}

#[test]
fn mariadb_follows_a_history_over_all_types_and_sysbench() {
    if !mariadb_is_installed() || !sysbench::is_installed() {
        println!("skipped: mariadbd or sysbench is not installed");
        return;
    }
    for (seed, compression) in [(1, "OFF"), (2, "ON")] {
        let scratch = Scratch::new("mariadb_replica").expect("a directory");
        let port = free_port();
        let source = source(&scratch.0.join("source"), port, compression);
        let replica_directory = scratch.0.join("replica");
        let mut replica = Server::create(Kind::MariaDb, &replica_directory, &replica_options()).expect("MariaDB");
        follow(&replica, port);
        let mut client = source.connect().expect("a connection");
        run_all(&mut client, &Changes::prologue());
        let mut changes = Changes::new(seed, false);
        for step in 0..400 {
            run_all(&mut client, &changes.next_step());
            match step {
                100 => drop(client.query("FLUSH BINARY LOGS").expect("the next file")),
                // The replica goes and comes while the source works.
                200 => {
                    replica.stop().expect("MariaDB stops");
                    replica = Server::start(Kind::MariaDb, &replica_directory, &replica_options()).expect("MariaDB");
                }
                _ => {}
            }
        }
        client.query("CREATE DATABASE sbtest").expect("a database");
        write_only(2, 2, "oltp_write_only").prepare(&source).expect("sysbench prepares");
        write_only(4, 2, "oltp_write_only").run(&source).expect("sysbench runs");
        write_only(4, 2, "oltp_read_write").run(&source).expect("sysbench runs");
        catch_up(&replica, &source);
        assert_all_same(&source, &replica, &[DATABASE, "sbtest"]);
        assert!(contents(&source, &[DATABASE]).len() > 2, "there are tables to compare");
    }
}

#[test]
fn after_kills_of_source_and_replica_nothing_is_missing_and_nothing_is_there_twice() {
    if !mariadb_is_installed() {
        println!("skipped: mariadbd is not installed");
        return;
    }
    let scratch = Scratch::new("mariadb_killed").expect("a directory");
    let (source_directory, replica_directory) = (scratch.0.join("source"), scratch.0.join("replica"));
    let port = free_port();
    let mut source = source(&source_directory, port, "ON");
    let mut replica = Server::create(Kind::MariaDb, &replica_directory, &replica_options()).expect("MariaDB");
    // Without GTIDs of its own MariaDB may forget after a crash that it has applied a transaction.
    let idempotent = [&replica_options().more[..], &["--slave-exec-mode=IDEMPOTENT".to_owned()]].concat();
    let replica_options = Options { more: idempotent, ..replica_options() };
    follow(&replica, port);
    let mut client = source.connect().expect("a connection");
    client.query("CREATE DATABASE d").expect("a database");
    client.query("CREATE TABLE d.t (id BIGINT PRIMARY KEY, body VARCHAR(400))").expect("a table");
    drop(client);
    let mut id = 0;
    for round in 0..8 {
        let mut client = source.connect().expect("a connection");
        let until = Instant::now() + Duration::from_millis(300);
        while Instant::now() < until {
            id += 1;
            client.query("BEGIN").expect("a transaction");
            client.query(&format!("INSERT INTO d.t VALUES ({id}, REPEAT('{}', 300))", id % 10)).expect("a row");
            client.query(&format!("UPDATE d.t SET body = 'u{id}' WHERE id = {}", id / 2)).expect("a row");
            client.query(&format!("DELETE FROM d.t WHERE id = {}", id / 3)).expect("a row");
            client.query("COMMIT").expect("it commits");
        }
        drop(client);
        if round % 2 == 0 {
            source.kill();
            source =
                Server::start(Kind::Glassine, &source_directory, &source_options(port, "ON")).expect("it recovers");
        } else {
            replica.kill();
            replica = Server::start(Kind::MariaDb, &replica_directory, &replica_options).expect("MariaDB recovers");
        }
    }
    assert!(id > 100, "{id} transactions");
    catch_up(&replica, &source);
    assert_all_same(&source, &replica, &["d"]);
}

/// Triggers, functions and joins: the log has rows of several tables in turn. Programs with handlers and savepoints besides.
#[test]
fn statements_that_change_several_tables() {
    if !mariadb_is_installed() {
        println!("skipped: mariadbd is not installed");
        return;
    }
    for gtid_mode in ["ON", "OFF"] {
        let scratch = Scratch::new("mariadb_several_tables").expect("a directory");
        let port = free_port();
        let options = options(port, 7, &["--log-bin", &format!("--gtid-mode={gtid_mode}")]);
        let source = Server::create(Kind::Glassine, &scratch.0.join("source"), &options).expect("Glassine starts");
        let mut client = source.connect().expect("a connection");
        let_replicas_in(&mut client);
        let replica = Server::create(Kind::MariaDb, &scratch.0.join("replica"), &replica_options()).expect("MariaDB");
        follow(&replica, port);
        let statements = [
            "CREATE DATABASE d",
            "USE d",
            "SET binlog_rows_query_log_events = ON",
            "CREATE TABLE a (id INT PRIMARY KEY, n INT)",
            "CREATE TABLE b (id INT AUTO_INCREMENT PRIMARY KEY, of_a INT, what VARCHAR(20), KEY (of_a))",
            "CREATE TABLE c (id INT PRIMARY KEY, n INT)",
            "CREATE TRIGGER inserted AFTER INSERT ON a FOR EACH ROW INSERT INTO b (of_a, what) VALUES (NEW.id, 'new')",
            "CREATE TRIGGER updated BEFORE UPDATE ON a FOR EACH ROW BEGIN \
                 INSERT INTO b (of_a, what) VALUES (OLD.id, 'old'); UPDATE c SET n = n + 1 WHERE id = OLD.id; END",
            "CREATE FUNCTION f(x INT) RETURNS INT DETERMINISTIC MODIFIES SQL DATA BEGIN \
                 DECLARE CONTINUE HANDLER FOR 1062 SET @again = 1; \
                 INSERT INTO c VALUES (x, 0); SAVEPOINT s; INSERT INTO b (of_a, what) VALUES (x, 'gone'); \
                 ROLLBACK TO s; INSERT INTO c VALUES (x, 1), (x + 1000, 1); RETURN x; END",
            "INSERT INTO c VALUES (1, 10), (2, 20), (3, 30)",
            "INSERT INTO a VALUES (1, 1), (2, 2), (3, 3)",
            "UPDATE a SET n = n + 1",
            "INSERT INTO a SELECT f(id + 10), 5 FROM (VALUES ROW(1), ROW(2), ROW(3)) AS v (id)",
            "DROP TRIGGER updated",
            "UPDATE a, c SET a.n = a.n * 2, c.n = c.n + 100 WHERE a.id = c.id",
            "UPDATE a JOIN b ON b.of_a = a.id SET b.what = 'joined', a.n = 0 WHERE a.id < 12",
            "BEGIN",
            "DELETE b, c FROM b JOIN c ON c.id = b.of_a WHERE c.id = 2",
            "INSERT INTO a VALUES (90, 1), (91, 2)",
            "COMMIT",
            "REPLACE INTO a VALUES (1, 7), (90, 8)",
        ];
        run_all(&mut client, &statements.map(str::to_owned));
        for failing in ["INSERT INTO a VALUES (70, 1), (1, 1)", "UPDATE a SET id = 3 WHERE id IN (2, 3)"] {
            assert!(client.query(failing).is_err(), "{failing}");
        }
        catch_up(&replica, &source);
        assert_all_same(&source, &replica, &["d"]);
        let count = client.query("SELECT COUNT(*) FROM d.b").expect("an answer").rows[0][0].clone();
        assert!(count.and_then(|count| count.parse::<u32>().ok()) > Some(10), "rows were made by triggers");
    }
}
