//! The log that Glassine writes: read by MariaDB's own tool, replayed into MariaDB, and compared with the tables; and
//! after kills of the server, transaction by transaction.

mod logged;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use bench::process::{Kind, Options, Scratch, Server, glassine_binary, mariadb_is_installed};
use logged::{FULL_ROW, SCHEMA, contents, printed, replay};

const WORK: [&str; 28] = [
    "SET time_zone = '+00:00'",
    FULL_ROW,
    "INSERT INTO bl.t (id) VALUES (2)",
    "UPDATE bl.t SET v = 'new', ti = 5 WHERE id = 1",
    "DELETE FROM bl.t WHERE id = 2",
    "INSERT INTO bl.t (id, v) VALUES (3, 'a'), (4, 'b'), (5, 'c')",
    "UPDATE bl.t SET v = CONCAT(v, 'q'), de = id",
    "CREATE TABLE bl.copy LIKE bl.t",
    "INSERT INTO bl.copy SELECT * FROM bl.t WHERE id > 1",
    "REPLACE INTO bl.copy (id, v) VALUES (3, 'replaced'), (9, 'new')",
    "INSERT INTO bl.copy (id, v) VALUES (3, 'x'), (10, 'y') ON DUPLICATE KEY UPDATE v = 'updated'",
    "INSERT IGNORE INTO bl.copy (id, v) VALUES (3, 'ignored'), (11, 'kept')",
    "ALTER TABLE bl.copy ADD COLUMN extra INT DEFAULT 7",
    "BEGIN",
    "INSERT INTO bl.copy (id) VALUES (100)",
    "SAVEPOINT a",
    "INSERT INTO bl.copy (id) VALUES (101)",
    "ROLLBACK TO a",
    "UPDATE bl.copy SET extra = 8 WHERE id = 100",
    "COMMIT",
    "BEGIN",
    "DELETE FROM bl.copy",
    "ROLLBACK",
    "CREATE TABLE bl.gone (a INT, PRIMARY KEY (id)) SELECT id, v FROM bl.t",
    "UPDATE bl.gone SET a = id",
    "DROP TABLE bl.gone",
    "SET sql_log_bin = 0",
    "SET sql_log_bin = 1",
];

fn log_options(more: &[&str]) -> Options {
    let all = ["--log-bin", "--gtid-mode=ON", "--server-id=7"];
    Options { more: all.iter().chain(more).map(|option| option.to_string()).collect(), ..Options::default() }
}

/// The log's file with this number, of a server whose directory is given.
fn file(directory: &Path, number: u32) -> PathBuf {
    directory.join(format!("data/binlog.{number:06}"))
}

/// The number of the file that the server writes now.
fn current(client: &mut bench::client::Client) -> u32 {
    let status = client.query("SHOW MASTER STATUS").expect("a status");
    let name = status.rows[0][0].clone().expect("a name");
    name.rsplit_once('.').expect("a number").1.parse().expect("a number")
}

#[test]
fn what_is_written_is_read_by_mariadbs_tool_and_replayed_as_the_same_rows() {
    if !mariadb_is_installed() {
        println!("skipped: mariadbd is not installed");
        return;
    }
    // The second has payloads, which only ours expands; the third has transactions beyond memory and the redo log's part.
    for (case, more) in [
        &["--binlog-row-metadata=FULL", "--binlog-rows-query-log-events=ON"][..],
        &["--binlog-transaction-compression=ON"],
        &["--binlog-cache-size=4096", "--innodb-log-file-size=4M"],
        &["--binlog-row-image=NOBLOB"],
    ]
    .iter()
    .enumerate()
    {
        let scratch = Scratch::new("binlog_written").expect("a directory");
        let directory = scratch.0.join("source");
        let source = Server::create(Kind::Glassine, &directory, &log_options(more)).expect("Glassine starts");
        let mut client = source.connect().expect("a connection");
        let number = current(&mut client);
        for statement in ["CREATE DATABASE bl", SCHEMA].iter().chain(&WORK) {
            client.query(statement).expect(statement);
        }
        if case == 2 {
            client.query("INSERT INTO bl.t (bl) SELECT REPEAT('x', 4000) FROM bl.t").expect("rows");
            for _ in 0..6 {
                client.query("INSERT INTO bl.t (bl) SELECT REPEAT('y', 4000) FROM bl.t").expect("rows");
            }
        }
        let wanted = contents(&source);
        // A long transaction begins a file.
        let logs: Vec<PathBuf> = (number..=current(&mut client)).map(|number| file(&directory, number)).collect();
        assert_eq!(logs.len() > 1, case == 2, "{logs:?}");
        client.query("FLUSH BINARY LOGS").expect("the log is closed");
        drop(client);
        let verified =
            Command::new(glassine_binary()).args(["binlog", "--verify"]).args(&logs).output().expect("it runs");
        assert!(verified.status.success(), "{}", String::from_utf8_lossy(&verified.stderr));

        let ours = printed(&glassine_binary(), &["binlog", "-v"], &logs);
        if case != 1 {
            let theirs = printed(Path::new("mariadb-binlog"), &["-v"], &logs);
            let rows = |text: &str| -> Vec<String> {
                text.lines().filter(|line| line.starts_with("###")).map(|line| line.trim_end().to_owned()).collect()
            };
            assert_eq!(rows(&ours), rows(&theirs), "case {case}");
        }
        let target = Server::create(Kind::MariaDb, &scratch.0.join("target"), &Options::default()).expect("MariaDB");
        // MariaDB knows no names of this kind.
        let text = printed(&glassine_binary(), &["binlog"], &logs);
        let lines: Vec<&str> = text.lines().filter(|line| !line.contains("SET @@SESSION.GTID_NEXT")).collect();
        replay(&lines.join("\n"), &target);
        let found = contents(&target);
        assert!(found == wanted, "case {case}: {found:.2000?}\nwanted {wanted:.2000?}");
        if case == 0 {
            assert!(ours.contains("UPDATE bl.t SET v = CONCAT(v, 'q'), de = id"), "the statement beside its rows");
        }
    }
}

/// The keys of `bl.k` in the table and in all files of the log.
fn keys(server: &Server) -> (BTreeSet<i64>, BTreeSet<i64>) {
    let mut client = server.connect().expect("a connection");
    let rows = client.query("SELECT id FROM bl.k").expect("rows").rows;
    let in_table = rows.iter().map(|row| row[0].as_deref().expect("a key").parse().expect("a number")).collect();
    let mut in_log = BTreeSet::new();
    let last = current(&mut client);
    for number in 1..=last {
        let log = file(&server.directory, number);
        let text = printed(&glassine_binary(), &["binlog", "-v", "--base64-output=decode-rows"], &[log]);
        in_log.extend(text.lines().filter_map(|line| line.strip_prefix("###   @1=")?.trim().parse::<i64>().ok()));
    }
    (in_table, in_log)
}

/// GLASSINE_KILLS is how often in each manner.
#[test]
fn after_each_kill_the_log_and_the_table_have_the_same_transactions() {
    for (round, more) in [
        &["--max-binlog-size=65536"][..],
        &["--binlog-transaction-compression=ON", "--max-binlog-size=65536"],
        &["--innodb-log-file-size=4M", "--binlog-cache-size=4096"],
    ]
    .iter()
    .enumerate()
    {
        let scratch = Scratch::new("binlog_killed").expect("a directory");
        let directory = scratch.0.join("server");
        let options = log_options(more);
        let mut server = Server::create(Kind::Glassine, &directory, &options).expect("Glassine starts");
        let mut client = server.connect().expect("a connection");
        client.query("CREATE DATABASE bl").expect("a database");
        client.query("CREATE TABLE bl.k (id BIGINT PRIMARY KEY, body MEDIUMTEXT)").expect("a table");
        drop(client);
        let mut next = 0;
        let kills = std::env::var("GLASSINE_KILLS").map_or(4, |kills| kills.parse().expect("a number"));
        for kill in 0..kills {
            let stop = Arc::new(AtomicBool::new(false));
            let count = Arc::new(AtomicUsize::new(0));
            let workers: Vec<_> = (0..4)
                .map(|worker| {
                    let (mut client, stop) = (server.connect().expect("a connection"), stop.clone());
                    let count = count.clone();
                    let first = next + worker * 1_000_000;
                    std::thread::spawn(move || {
                        let mut acknowledged = Vec::new();
                        for id in first.. {
                            // In the last round every tenth transaction is too long for its part of the redo log.
                            let bytes = if round == 2 && id % 10 == 0 { 300_000 } else { 200 };
                            let insert = format!("INSERT INTO bl.k VALUES ({id}, REPEAT('{}', {bytes}))", id % 10);
                            if stop.load(Ordering::Relaxed) || client.query(&insert).is_err() {
                                return acknowledged;
                            }
                            acknowledged.push(id);
                            count.fetch_add(1, Ordering::Relaxed);
                        }
                        unreachable!("the numbers do not end")
                    })
                })
                .collect();
            let begun = Instant::now();
            while count.load(Ordering::Relaxed) < 40 {
                assert!(begun.elapsed() < Duration::from_secs(60), "round {round}, kill {kill}: commits hang");
                std::thread::sleep(Duration::from_millis(10));
            }
            std::thread::sleep(Duration::from_millis(250 * (kill % 4)));
            server.kill();
            stop.store(true, Ordering::Relaxed);
            let acknowledged: Vec<i64> =
                workers.into_iter().flat_map(|worker| worker.join().expect("a worker ends")).collect();
            next += 10_000_000;
            server = Server::start(Kind::Glassine, &directory, &options).expect("Glassine recovers");
            let (in_table, in_log) = keys(&server);
            let lost = acknowledged.iter().find(|id| !in_table.contains(id));
            assert_eq!(lost, None, "round {round}, kill {kill}: acknowledged and lost");
            let differences: Vec<_> = in_table.symmetric_difference(&in_log).collect();
            assert!(differences.is_empty(), "round {round}, kill {kill}: in one of both only: {differences:?}");
        }
    }
}
