//! Several workers of a replica: transactions that are in each other's way commit in the source's order, once, and an error
//! leaves everything before it and nothing behind it; also if the replica is stopped and killed in between.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use bench::client::Client;
use bench::process::{Kind, Scratch, Server};
use bench::replicas::{
    BY_NAME, Pair, assert_same, contents, follow, free_port, options, status, wait_for_all, wait_for_error,
};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

/// Rows that all transactions of the source want.
const ROWS: i64 = 24;
const THREADS: u64 = 4;

/// `log` gets one row of each transaction.
const TABLES: [&str; 6] = [
    "CREATE DATABASE d",
    "CREATE TABLE d.log (thread INT, n INT, PRIMARY KEY (thread, n))",
    "CREATE TABLE d.keyed (id INT PRIMARY KEY, v INT, u INT, UNIQUE KEY (u))",
    "CREATE TABLE d.loose (a INT, b INT)",
    "CREATE TABLE d.parent (id INT PRIMARY KEY)",
    "CREATE TABLE d.child (id INT PRIMARY KEY, parent INT, FOREIGN KEY (parent) REFERENCES d.parent (id))",
];

/// The statements of a random transaction.
fn changes(random: &mut StdRng) -> Vec<String> {
    let count = if random.random_range(0..30) == 0 { 200 } else { random.random_range(1..5) };
    let one = |random: &mut StdRng| {
        let (id, other): (i64, i64) = (random.random_range(0..ROWS), random.random_range(0..1000));
        match random.random_range(0..9) {
            0 => format!("INSERT IGNORE INTO d.keyed VALUES ({id}, {other}, {other})"),
            1 => format!("UPDATE d.keyed SET v = v + 1 WHERE id = {id}"),
            2 => format!("UPDATE IGNORE d.keyed SET u = {other} WHERE id = {id}"),
            3 => format!("DELETE FROM d.keyed WHERE id = {id}"),
            4 => format!("INSERT INTO d.loose VALUES ({}, 1)", id % 3),
            5 => format!("DELETE FROM d.loose WHERE a = {} LIMIT 1", id % 3),
            6 => format!("UPDATE d.loose SET b = 3 - b WHERE a = {} LIMIT 1", id % 3),
            7 => format!("INSERT IGNORE INTO d.parent VALUES ({id})"),
            _ => format!("REPLACE INTO d.child SELECT {id}, id FROM d.parent LIMIT 1"),
        }
    };
    (0..count).map(|_| one(random)).collect()
}

/// One thread of the source's clients.
fn work(mut client: Client, thread: u64, from: u64, ends: &AtomicBool) -> u64 {
    let mut random = StdRng::seed_from_u64(1000 * from + thread);
    let mut n = from;
    while !ends.load(Ordering::Relaxed) {
        n += 1;
        let statements = changes(&mut random);
        let own = format!("INSERT INTO d.log VALUES ({thread}, {n})");
        let all = ["BEGIN", &own].into_iter().chain(statements.iter().map(String::as_str)).chain(["COMMIT"]);
        for statement in all {
            if let Err(error) = client.query(statement) {
                assert!(matches!(error.code(), Some(1213 | 1205)), "{error}: {statement}");
                client.query("ROLLBACK").expect("it is undone");
                n -= 1;
                break;
            }
        }
    }
    n
}

/// Ends the source's clients, also if an assertion fails.
struct EndsAtLast<'a>(&'a AtomicBool);

impl Drop for EndsAtLast<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Looks at the replica in snapshots: each has the transactions up to a place, and says which place that is.
fn observe(replica: &Server, before: i64) -> i64 {
    let mut client = replica.connect().expect("a connection");
    client.query("START TRANSACTION WITH CONSISTENT SNAPSHOT").expect("a snapshot");
    let stored = client.query("SELECT Gtid_executed FROM mysql.slave_relay_log_info").expect("a place");
    let stored = stored.cell().expect("a set").to_owned();
    let gaps =
        client.query("SELECT COUNT(*) FROM (SELECT thread FROM d.log GROUP BY thread HAVING COUNT(*) < MAX(n)) x");
    assert_eq!(gaps.expect("an answer").number(), 0, "a thread's later transaction is seen before an earlier one");
    let rows = client.query("SELECT COUNT(*) FROM d.log").expect("an answer").number();
    let (_, numbers) = stored.split_once(':').expect("a source and numbers");
    let last: i64 = numbers.rsplit('-').next().and_then(|last| last.parse().ok()).expect("a number");
    assert!(!numbers.contains(':'), "{stored} has a gap");
    assert_eq!(rows, last - before, "at {stored}");
    rows
}

#[test]
fn transactions_in_each_others_way_arrive_in_order_also_if_the_replica_is_stopped_and_killed() {
    let scratch = Scratch::new("replica_workers").expect("a directory");
    let source_port = free_port();
    let logged = ["--log-bin", "--gtid-mode=ON", "--binlog-transaction-compression=ON"];
    let source = Server::create(Kind::Glassine, &scratch.0.join("source"), &options(source_port, 1, &logged));
    let source = source.expect("Glassine starts");
    let directory = scratch.0.join("replica");
    let own = options(free_port(), 2, &logged);
    let mut replica = Server::create(Kind::Glassine, &directory, &own).expect("Glassine starts");
    let mut client = source.connect().expect("a connection");
    client
        .query("GRANT REPLICATION SLAVE ON *.* TO replica@127.0.0.1 IDENTIFIED BY 'it''s secret'")
        .expect("an account");
    for statement in TABLES {
        client.query(statement).expect(statement);
    }
    let executed = client.query("SELECT @@gtid_executed").expect("a set");
    let executed = executed.cell().and_then(|set| set.rsplit(['-', ':']).next()).expect("a number").to_owned();
    let before: i64 = executed.parse().expect("a number");
    let mut here = replica.connect().expect("a connection");
    follow(&mut here, source_port, BY_NAME);
    wait_for_all(&replica, &source);
    // Rows of the source that do not meet there are found by looking at all here.
    for statement in [
        "SET sql_log_bin = 0",
        "ALTER TABLE d.keyed DROP PRIMARY KEY",
        "SET GLOBAL innodb_lock_wait_timeout = 2",
        "SET GLOBAL replica_parallel_workers = 1",
        "STOP REPLICA",
        "START REPLICA",
    ] {
        here.query(statement).expect(statement);
    }
    let mut random = StdRng::seed_from_u64(5);
    let mut done = vec![0; THREADS as usize];
    for round in 0..8 {
        let ends = AtomicBool::new(false);
        let seen = AtomicU64::new(0);
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..THREADS)
                .map(|thread| {
                    let (client, ends) = (source.connect().expect("a connection"), &ends);
                    let from = done[thread as usize];
                    scope.spawn(move || work(client, thread, from, ends))
                })
                .collect();
            let _ends = EndsAtLast(&ends);
            let until = Instant::now() + Duration::from_millis(random.random_range(700..1300));
            let mut here = replica.connect().expect("a connection");
            here.query("SET sql_log_bin = 0").expect("a variable");
            while Instant::now() < until {
                seen.fetch_max(observe(&replica, before) as u64, Ordering::Relaxed);
                // Definitions and locks of the replica's own clients are in the way, too.
                match random.random_range(0..12) {
                    0 => drop(here.query(&format!("ALTER TABLE d.loose COMMENT = '{round}'")).expect("it is changed")),
                    1 => {
                        here.query("BEGIN").expect("a transaction");
                        // It may be the victim of a deadlock.
                        let _ = here.query("SELECT COUNT(*) FROM d.keyed FOR UPDATE");
                        let _ = here.query("SELECT COUNT(*) FROM d.loose FOR UPDATE");
                        here.query("ROLLBACK").expect("its end");
                    }
                    2 if round % 2 == 1 => {
                        here.query("STOP REPLICA").expect("it stops");
                        seen.fetch_max(observe(&replica, before) as u64, Ordering::Relaxed);
                        let workers = if random.random() { 1 } else { 4 };
                        here.query(&format!("SET GLOBAL replica_parallel_workers = {workers}")).expect("a number");
                        here.query("START REPLICA").expect("it starts");
                    }
                    _ => {}
                }
                assert_eq!(status(&mut here, "Last_SQL_Error"), "");
            }
            ends.store(true, Ordering::Relaxed);
            done = threads.into_iter().map(|thread| thread.join().expect("the source's client")).collect();
        });
        if round % 3 == 2 {
            replica.kill();
            replica = Server::start(Kind::Glassine, &directory, &own).expect("Glassine recovers");
            let there = observe(&replica, before) as u64;
            assert!(there >= seen.load(Ordering::Relaxed), "{there} of {seen:?} transactions after the crash");
        }
    }
    wait_for_all(&replica, &source);
    assert_eq!(observe(&replica, before) as u64, done.iter().sum::<u64>());
    assert_same(&contents(&replica, &["d"]), &contents(&source, &["d"]), "after it");
}

/// A pair with the tables, which are as many transactions as the replica has then.
fn followed(name: &str, more: &[&str]) -> Pair {
    let mut pair = Pair::of_glassine(name, more);
    for statement in TABLES {
        pair.there.query(statement).expect(statement);
    }
    follow(&mut pair.here, pair.source_port, BY_NAME);
    wait_for_all(&pair.replica, &pair.source);
    pair
}

#[test]
fn rows_that_meet_only_at_the_replica_are_changed_in_order() {
    let mut pair = followed("replica_workers_meet", &[]);
    let rows: Vec<String> = (0..16).map(|id| format!("({id}, 0, {id})")).collect();
    pair.there.query(&format!("INSERT INTO d.keyed VALUES {}", rows.join(", "))).expect("rows");
    wait_for_all(&pair.replica, &pair.source);
    // Without a key each transaction looks at the rows of the others.
    pair.here.query("SET sql_log_bin = 0").expect("a variable");
    pair.here.query("ALTER TABLE d.keyed DROP PRIMARY KEY, DROP INDEX u").expect("it is changed");
    for round in 1..=3 {
        pair.here.query("STOP REPLICA SQL_THREAD").expect("it stops");
        let mut clients: Vec<Client> = (0..16).map(|_| pair.source.connect().expect("a connection")).collect();
        for (n, client) in clients.iter_mut().enumerate() {
            client.query("BEGIN").expect("a transaction");
            client.query(&format!("INSERT INTO d.log VALUES ({n}, {round})")).expect("a row");
            // Every second one has much to do before.
            for at in 0..if n % 2 == 0 { 300 } else { 0 } {
                client.query(&format!("INSERT INTO d.loose VALUES ({n}, {at})")).expect("a row");
            }
            client.query(&format!("UPDATE d.keyed SET v = {round} WHERE id = {}", 15 - n)).expect("a row");
        }
        for client in &mut clients {
            client.query("COMMIT").expect("it commits");
        }
        let started = Instant::now();
        pair.here.query("START REPLICA SQL_THREAD").expect("it starts");
        wait_for_all(&pair.replica, &pair.source);
        assert!(started.elapsed() < Duration::from_secs(20), "nobody waits for a lock's time to be over");
        assert_same(&contents(&pair.replica, &["d"]), &contents(&pair.source, &["d"]), "after it");
    }
    let retries = "SELECT COUNT_TRANSACTIONS_RETRIES FROM performance_schema.replication_applier_status";
    assert!(pair.here.query(retries).expect("a number").number() > 0, "transactions were in each other's way");
}

#[test]
fn an_error_leaves_everything_before_it_and_nothing_behind_it() {
    let mut pair = followed("replica_workers_error", &["--replica-parallel-workers=3"]);
    pair.there.query("INSERT INTO d.keyed VALUES (1, 1, 1)").expect("a row");
    wait_for_all(&pair.replica, &pair.source);
    pair.here.query("SET sql_log_bin = 0").expect("a variable");
    pair.here.query("DELETE FROM d.keyed").expect("it is gone");
    pair.here.query("STOP REPLICA SQL_THREAD").expect("it stops");
    // Thirty transactions that wait for nothing of each other; one in the middle fails.
    let mut clients: Vec<Client> = (0..30).map(|_| pair.source.connect().expect("a connection")).collect();
    for (n, client) in clients.iter_mut().enumerate() {
        client.query("BEGIN").expect("a transaction");
        client.query(&format!("INSERT INTO d.log VALUES (0, {n})")).expect("a row");
        if n == 14 {
            client.query("UPDATE d.keyed SET v = 2").expect("a change");
        }
    }
    for client in &mut clients {
        client.query("COMMIT").expect("it commits");
    }
    pair.here.query("START REPLICA SQL_THREAD").expect("it starts");
    wait_for_error(&mut pair.here, "1032");
    let log = "SELECT CONCAT(COUNT(*), '/', MAX(n)) FROM d.log";
    assert_eq!(pair.here.query(log).expect("rows").cell(), Some("14/13"));
    let failed = "SELECT COUNT(*) FROM performance_schema.replication_applier_status_by_worker \
                  WHERE LAST_ERROR_NUMBER = 1032 AND SERVICE_STATE = 'OFF'";
    assert_eq!(pair.here.query(failed).expect("workers").number(), 1);
    // The same again, and then not.
    pair.here.query("START REPLICA SQL_THREAD").expect("it starts");
    wait_for_error(&mut pair.here, "1032");
    assert_eq!(pair.here.query(log).expect("rows").cell(), Some("14/13"));
    pair.here.query("INSERT INTO d.keyed VALUES (1, 1, 1)").expect("a row");
    pair.here.query("START REPLICA SQL_THREAD").expect("it starts");
    wait_for_all(&pair.replica, &pair.source);
    assert_same(&contents(&pair.replica, &["d"]), &contents(&pair.source, &["d"]), "after it");
}

#[test]
fn a_worker_that_is_killed_stops_the_applier_and_a_long_transaction_is_given_up() {
    let mut pair = followed("replica_workers_killed", &[]);
    let workers = "SELECT THREAD_ID FROM performance_schema.replication_applier_status_by_worker";
    let rows = pair.here.query(workers).expect("workers").rows;
    assert_eq!(rows.len(), 4);
    // A client is in the way of all, so each worker has a transaction.
    let mut client = pair.replica.connect().expect("a connection");
    client.query("SET sql_log_bin = 0").expect("a variable");
    client.query("INSERT INTO d.parent VALUES (1)").expect("a row");
    client.query("BEGIN").expect("a transaction");
    client.query("SELECT * FROM d.parent FOR UPDATE").expect("a row");
    pair.there.query("REPLACE INTO d.parent VALUES (1), (2)").expect("rows");
    pair.there.query("INSERT INTO d.log VALUES (0, 1)").expect("a row");
    std::thread::sleep(Duration::from_millis(300));
    for row in &rows {
        let kill = format!("KILL QUERY {}", row[0].as_deref().expect("a connection"));
        // Those that wait end with the one that has the transaction.
        if let Err(error) = pair.here.query(&kill) {
            assert_eq!(error.code(), Some(1094), "{error}");
        }
    }
    wait_for_error(&mut pair.here, "1317");
    assert_eq!(pair.here.query("SELECT COUNT(*) FROM d.log").expect("rows").number(), 0);
    pair.here.query("START REPLICA").expect("it starts");
    std::thread::sleep(Duration::from_millis(300));
    // Also STOP REPLICA ends a wait, and nothing of the transaction stays.
    pair.here.query("STOP REPLICA").expect("it stops");
    assert_eq!(pair.here.query("SELECT COUNT(*) FROM d.parent").expect("rows").number(), 1);
    client.query("DELETE FROM d.parent").expect("it is gone");
    client.query("COMMIT").expect("its end");
    pair.here.query("START REPLICA").expect("it starts");
    wait_for_all(&pair.replica, &pair.source);
    assert_same(&contents(&pair.replica, &["d"]), &contents(&pair.source, &["d"]), "after it");
}

#[test]
fn workers_are_as_many_as_the_variable_says_and_the_order_is_kept() {
    let mut pair = followed("replica_workers_many", &["--slave-parallel-workers=0"]);
    let workers = "SELECT COUNT(*) FROM performance_schema.replication_applier_status_by_worker";
    assert_eq!(pair.here.query(workers).expect("workers").number(), 1);
    for (statement, code) in [
        ("SET GLOBAL replica_preserve_commit_order = OFF", Some(1235)),
        ("SET GLOBAL replica_parallel_type = 'DATABASE'", Some(1235)),
        ("SET GLOBAL replica_parallel_workers = 7", None),
        ("STOP REPLICA SQL_THREAD", None),
        ("START REPLICA SQL_THREAD", None),
    ] {
        assert_eq!(pair.here.query(statement).err().and_then(|error| error.code()), code, "{statement}");
    }
    let start = Instant::now();
    while pair.here.query(workers).expect("workers").number() != 7 {
        assert!(start.elapsed() < Duration::from_secs(10), "there are no seven workers");
    }
    let ends = Arc::new(AtomicBool::new(false));
    let client = pair.source.connect().expect("a connection");
    let there = std::thread::spawn({
        let ends = ends.clone();
        move || work(client, 0, 0, &ends)
    });
    std::thread::sleep(Duration::from_millis(500));
    ends.store(true, Ordering::Relaxed);
    there.join().expect("the source's client");
    wait_for_all(&pair.replica, &pair.source);
    assert_same(&contents(&pair.replica, &["d"]), &contents(&pair.source, &["d"]), "after it");
}

#[test]
fn one_worker_does_not_wait_for_the_sync_of_each_transaction_and_what_is_told_is_there_after_a_crash() {
    const TRANSACTIONS: u64 = 400;
    let scratch = Scratch::new("replica_one_worker").expect("a directory");
    let source_port = free_port();
    let logged = ["--log-bin", "--gtid-mode=ON"];
    let source = Server::create(Kind::Glassine, &scratch.0.join("source"), &options(source_port, 1, &logged));
    let source = source.expect("Glassine starts");
    let mut there = source.connect().expect("a connection");
    there
        .query("GRANT REPLICATION SLAVE ON *.* TO replica@127.0.0.1 IDENTIFIED BY 'it''s secret'")
        .expect("an account");
    for statement in TABLES {
        there.query(statement).expect(statement);
    }
    // A replica with a log of its own, and one without; each sync takes as long as on a slow device.
    for more in [&logged[..], &[]] {
        let delay = ["--replica-parallel-workers=1", "--binlog-group-commit-sync-delay=20000"];
        let directory = scratch.0.join(format!("replica{}", more.len()));
        let own = options(free_port(), 2, &[more, &delay].concat());
        let mut replica = Server::create(Kind::Glassine, &directory, &own).expect("Glassine starts");
        let mut here = replica.connect().expect("a connection");
        follow(&mut here, source_port, BY_NAME);
        wait_for_all(&replica, &source);
        here.query("STOP REPLICA SQL_THREAD").expect("it stops");
        there.query("DELETE FROM d.log").expect("no rows");
        for n in 1..=TRANSACTIONS {
            there.query(&format!("INSERT INTO d.log VALUES (1, {n})")).expect("a row");
        }
        let syncs = "SHOW STATUS LIKE 'Innodb_os_log_fsyncs'";
        let syncs = |client: &mut Client| -> u64 {
            let rows = client.query(syncs).expect("a status").rows;
            rows[0][1].as_deref().and_then(|count| count.parse().ok()).expect("a number")
        };
        let before = syncs(&mut here);
        here.query("START REPLICA SQL_THREAD").expect("it starts");
        wait_for_all(&replica, &source);
        let taken = syncs(&mut here) - before;
        assert!(taken < TRANSACTIONS / 4, "{taken} syncs for {TRANSACTIONS} transactions");
        // Killed while transactions are in flight: what was told is there, and nothing is there twice.
        for round in 1..=3 {
            let from = round * 1000;
            for n in from..from + TRANSACTIONS / 2 {
                there.query(&format!("INSERT INTO d.log VALUES (1, {n})")).expect("a row");
            }
            std::thread::sleep(Duration::from_millis(20 * round));
            let rows = here.query("SELECT COUNT(*) FROM d.log").expect("rows").number();
            let told = (status(&mut here, "Exec_Source_Log_Pos"), here.query("SELECT @@gtid_executed").expect("a set"));
            replica.kill();
            replica = Server::start(Kind::Glassine, &directory, &own).expect("Glassine recovers");
            here = replica.connect().expect("a connection");
            assert!(here.query("SELECT COUNT(*) FROM d.log").expect("rows").number() >= rows, "told: {told:?}");
            let names = told.1.cell().unwrap_or_default();
            let has = format!("SELECT GTID_SUBSET('{names}', @@gtid_executed)");
            assert_eq!(here.query(&has).expect("an answer").number(), 1, "{names}");
            wait_for_all(&replica, &source);
        }
        assert_same(&contents(&replica, &["d"]), &contents(&source, &["d"]), "after it");
    }
}

#[test]
fn what_a_replica_has_answered_for_is_there_after_the_source_is_killed() {
    let mut pair = Pair::of_glassine("replica_answers", &["--rpl-semi-sync-replica-enabled=ON"]);
    // Not of the replica, whose own commits would wait for a replica that it does not have.
    pair.there.query("SET GLOBAL rpl_semi_sync_source_timeout = 60000").expect("a variable");
    pair.there.query("SET GLOBAL rpl_semi_sync_source_enabled = ON").expect("a variable");
    follow(&mut pair.here, pair.source_port, BY_NAME);
    for statement in TABLES {
        pair.there.query(statement).expect(statement);
    }
    wait_for_all(&pair.replica, &pair.source);
    let answers = "SHOW STATUS LIKE 'Rpl_semi_sync_replica_status'";
    assert_eq!(pair.here.query(answers).expect("a status").rows[0][1].as_deref(), Some("ON"));
    let acknowledged = Arc::new(AtomicU64::new(0));
    let mut client = pair.source.connect().expect("a connection");
    let writer = std::thread::spawn({
        let acknowledged = acknowledged.clone();
        move || {
            for n in 1.. {
                if client.query(&format!("INSERT INTO d.log VALUES (0, {n})")).is_err() {
                    return;
                }
                acknowledged.store(n, Ordering::SeqCst);
            }
        }
    });
    let begun = Instant::now();
    while acknowledged.load(Ordering::SeqCst) < 40 {
        assert!(begun.elapsed() < Duration::from_secs(60), "commits hang");
        std::thread::sleep(Duration::from_millis(10));
    }
    let status = "SHOW STATUS LIKE 'Rpl_semi_sync_source_no_tx'";
    assert_eq!(pair.there.query(status).expect("a status").rows[0][1].as_deref(), Some("0"), "all were answered for");
    pair.source.kill();
    writer.join().expect("the source's client");
    let acknowledged = acknowledged.load(Ordering::SeqCst);
    let start = Instant::now();
    while (pair.here.query("SELECT COUNT(*) FROM d.log").expect("rows").number() as u64) < acknowledged {
        assert!(start.elapsed() < Duration::from_secs(20), "fewer than {acknowledged} rows");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// GLASSINE_KILLS is how often; see also `bench replica --kills`.
#[test]
fn under_sysbench_nothing_is_lost_or_there_twice_when_source_and_replica_are_killed() {
    if !bench::sysbench::is_installed() {
        println!("skipped: sysbench is not installed");
        return;
    }
    let kills = std::env::var("GLASSINE_KILLS").map_or(2, |kills| kills.parse().expect("a number"));
    bench::replication::killed(kills, 1).expect("both have the same rows");
}
