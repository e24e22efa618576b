//! CREATE TABLE ... SELECT is one transaction: after kills of servers a table is there with all of its rows, in the database,
//! in the log and on replicas, or in none of them.

mod logged;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use bench::process::{Kind, Options, Scratch, Server, glassine_binary, mariadb_is_installed};
use bench::replicas::{
    BY_NAME, assert_same, catch_up, contents, end_of, follow, follow_by_old_names, free_port, let_replicas_in,
    mariadb_source, options, wait_for_all,
};
use logged::{printed, replay};

/// How often a server is killed in each manner.
fn kills() -> u64 {
    std::env::var("GLASSINE_KILLS").map_or(4, |kills| kills.parse().expect("a number"))
}

/// Fills a table from which others are created.
fn prepare(client: &mut bench::client::Client) {
    client.query("CREATE DATABASE d").expect("a database");
    client.query("CREATE TABLE d.base (id INT PRIMARY KEY, body VARCHAR(300))").expect("a table");
    client.query("INSERT INTO d.base VALUES (0, REPEAT('a', 200))").expect("a row");
    for power in 0..11 {
        let double = format!("INSERT INTO d.base SELECT id + {}, REPEAT('b', 200) FROM d.base", 1 << power);
        client.query(&double).expect("rows");
    }
}

/// The number of rows of the table with this number; every fifth is longer than a small redo log's part.
fn rows_of(number: u64) -> u64 {
    if number.is_multiple_of(5) { 2000 } else { number % 7 * 10 }
}

fn create(number: u64) -> String {
    let rows = rows_of(number);
    match number % 3 {
        0 => format!("CREATE TABLE d.t{number} SELECT * FROM d.base WHERE id < {rows}"),
        1 => format!("CREATE TABLE d.t{number} (PRIMARY KEY (id)) SELECT * FROM d.base WHERE id < {rows}"),
        _ => format!(
            "CREATE TABLE d.t{number} (n INT AUTO_INCREMENT PRIMARY KEY, KEY (id)) COMMENT='x' SELECT * FROM d.base WHERE id \
             < {rows}"
        ),
    }
}

/// Each table's number of rows.
fn tables(server: &Server) -> BTreeMap<String, u64> {
    let mut client = server.connect().expect("a connection");
    let names = client.query("SHOW TABLES FROM d LIKE 't%'").expect("tables").rows;
    let names = names.into_iter().map(|row| row[0].clone().expect("a name"));
    names
        .map(|name| {
            let count = client.query(&format!("SELECT COUNT(*) FROM d.{name}")).expect("a count");
            let count = count.cell().expect("a count").parse().expect("a number");
            (name, count)
        })
        .collect()
}

/// The same as the log tells it.
fn logged_tables(server: &Server) -> BTreeMap<String, u64> {
    let mut client = server.connect().expect("a connection");
    client.query("FLUSH BINARY LOGS").expect("the log is written");
    let listed = client.query("SHOW BINARY LOGS").expect("a list").rows;
    let logs: Vec<_> =
        listed.iter().map(|row| server.directory.join("data").join(row[0].as_ref().expect("a name"))).collect();
    let text = printed(&glassine_binary(), &["binlog", "-v", "--base64-output=decode-rows"], &logs);
    let mut found = BTreeMap::new();
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("CREATE TABLE `").and_then(|rest| rest.split('`').next()) {
            assert_eq!(found.insert(name.to_owned(), 0), None, "{name} is created once");
        } else if let Some(name) = line.strip_prefix("### INSERT INTO `d`.`t") {
            *found.get_mut(&format!("t{}", name.trim_end_matches('`'))).expect("rows of a table of the log") += 1;
        }
    }
    found
}

#[test]
fn after_each_kill_a_table_is_whole_in_the_log_and_in_the_database_or_in_neither() {
    for more in [
        &["--max-binlog-size=65536"][..],
        &["--binlog-transaction-compression=ON", "--binlog-cache-size=4096"],
        &["--innodb-log-file-size=4M", "--binlog-cache-size=4096"],
    ] {
        let scratch = Scratch::new("create_select_killed").expect("a directory");
        let directory = scratch.0.join("server");
        let all = ["--log-bin", "--gtid-mode=ON", "--server-id=7"];
        let more = all.iter().chain(more).map(|option| option.to_string()).collect();
        let options = Options { more, ..Options::default() };
        let mut server = Server::create(Kind::Glassine, &directory, &options).expect("Glassine starts");
        let mut client = server.connect().expect("a connection");
        client.query("SET sql_log_bin = 0").expect("not logged");
        prepare(&mut client);
        drop(client);
        let mut first = 0;
        for kill in 0..kills() {
            let stop = Arc::new(AtomicBool::new(false));
            let created = Arc::new(AtomicUsize::new(0));
            let workers: Vec<_> = (0..3)
                .map(|worker| {
                    let (stop, created) = (stop.clone(), created.clone());
                    let mut client = server.connect().expect("a connection");
                    std::thread::spawn(move || {
                        let mut acknowledged = Vec::new();
                        for number in (first + worker * 10_000).. {
                            if stop.load(Ordering::Relaxed) || client.query(&create(number)).is_err() {
                                return acknowledged;
                            }
                            acknowledged.push(number);
                            created.fetch_add(1, Ordering::Relaxed);
                        }
                        unreachable!("the numbers do not end")
                    })
                })
                .collect();
            // The machine may be slow: the kill waits for tables, and then for a moment that differs.
            let since = Instant::now();
            while created.load(Ordering::Relaxed) < 8 && since.elapsed() < Duration::from_secs(30) {
                std::thread::sleep(Duration::from_millis(10));
            }
            std::thread::sleep(Duration::from_millis(130 * (kill % 5)));
            server.kill();
            stop.store(true, Ordering::Relaxed);
            let acknowledged: Vec<u64> =
                workers.into_iter().flat_map(|worker| worker.join().expect("a worker ends")).collect();
            first += 100_000;
            server = Server::start(Kind::Glassine, &directory, &options).expect("Glassine recovers");
            let (found, logged) = (tables(&server), logged_tables(&server));
            assert!(acknowledged.len() > 5, "{} tables were created", acknowledged.len());
            assert_eq!(found, logged, "kill {kill}");
            for (name, rows) in &found {
                assert_eq!(*rows, rows_of(name[1..].parse().expect("a number")), "kill {kill}: {name}");
            }
            let lost = acknowledged.iter().find(|number| !found.contains_key(&format!("t{number}")));
            assert_eq!(lost, None, "kill {kill}: acknowledged and lost");
        }
        // Nothing is left of the others but their names, which are free.
        let files = std::fs::read_dir(directory.join("data/d")).expect("files");
        let left: Vec<_> = files
            .map(|file| file.expect("a file").file_name().to_string_lossy().into_owned())
            .filter(|name| name.starts_with("#sql"))
            .collect();
        assert!(left.is_empty(), "{left:?}");
    }
}

/// Creates tables at the source while its replica is killed, in the database `d` of both; compares them at the end.
fn follow_while_killed(source: &Server, mut replica: Server, own: &Options, catch_up: fn(&Server, &Server)) {
    let directory = replica.directory.clone();
    let mut client = source.connect().expect("a connection");
    prepare(&mut client);
    let mut number = 0;
    for kill in 0..kills() {
        for _ in 0..25 {
            number += 1;
            client.query(&create(number)).expect("a table");
        }
        std::thread::sleep(Duration::from_millis(30 + 70 * (kill % 4)));
        replica.kill();
        replica = Server::start(Kind::Glassine, &directory, own).expect("the replica recovers");
    }
    catch_up(&replica, source);
    assert_eq!(tables(&replica).len() as u64, number);
    assert_same(&contents(&replica, &["d"]), &contents(source, &["d"]), "the replica");
    // Its own log has each table as one transaction, too.
    let wanted: BTreeMap<String, u64> = tables(&replica);
    let mut logged = logged_tables(&replica);
    logged.retain(|name, _| name != "base");
    assert_eq!(logged, wanted);
}

#[test]
fn a_replica_that_is_killed_has_whole_tables_once() {
    for more in [&["--binlog-row-image=MINIMAL"][..], &["--binlog-transaction-compression=ON"]] {
        let scratch = Scratch::new("create_select_replica").expect("a directory");
        let (source_port, replica_port) = (free_port(), free_port());
        let all = [&["--log-bin", "--gtid-mode=ON"], more].concat();
        let source = Server::create(Kind::Glassine, &scratch.0.join("source"), &options(source_port, 1, &all));
        let source = source.expect("Glassine starts");
        let_replicas_in(&mut source.connect().expect("a connection"));
        let own = options(replica_port, 2, &all);
        let replica = Server::create(Kind::Glassine, &scratch.0.join("replica"), &own).expect("Glassine starts");
        follow(&mut replica.connect().expect("a connection"), source_port, BY_NAME);
        follow_while_killed(&source, replica, &own, wait_for_all);
    }
}

#[test]
fn what_mariadb_creates_with_rows_is_whole_on_a_replica_that_is_killed() {
    if !mariadb_is_installed() {
        println!("skipped: mariadbd is not installed");
        return;
    }
    for more in [
        &["--binlog-format=ROW"][..],
        &["--binlog-format=STATEMENT"],
        &["--binlog-format=ROW", "--log-bin-compress=ON", "--log-bin-compress-min-len=10"],
    ] {
        let scratch = Scratch::new("create_select_mariadb").expect("a directory");
        let (source_port, replica_port) = (free_port(), free_port());
        let source = mariadb_source(&scratch.0.join("source"), source_port, more);
        let own = options(replica_port, 2, &["--log-bin", "--gtid-mode=ON"]);
        let replica = Server::create(Kind::Glassine, &scratch.0.join("replica"), &own).expect("Glassine starts");
        follow(&mut replica.connect().expect("a connection"), source_port, "");
        follow_while_killed(&source, replica, &own, catch_up);
    }
}

#[test]
fn mariadb_follows_and_replays_the_text() {
    if !mariadb_is_installed() {
        println!("skipped: mariadbd is not installed");
        return;
    }
    for compression in ["OFF", "ON"] {
        let scratch = Scratch::new("create_select_to_mariadb").expect("a directory");
        let port = free_port();
        let compressed = format!("--binlog-transaction-compression={compression}");
        let all = ["--log-bin", "--gtid-mode=ON", &compressed];
        let source = Server::create(Kind::Glassine, &scratch.0.join("source"), &options(port, 7, &all));
        let source = source.expect("Glassine starts");
        let mut client = source.connect().expect("a connection");
        let_replicas_in(&mut client);
        let own = options(free_port(), 8, &["--relay-log=relay", "--log-warnings=1"]);
        let replica = Server::create(Kind::MariaDb, &scratch.0.join("replica"), &own).expect("MariaDB starts");
        let rest =
            ", MASTER_LOG_FILE='binlog.000001', MASTER_LOG_POS=4, MASTER_USE_GTID=no, MASTER_HEARTBEAT_PERIOD=0.5";
        follow_by_old_names(&mut replica.connect().expect("a connection"), port, rest);
        client.query("FLUSH BINARY LOGS").expect("the next file");
        let first = end_of(&source).0.rsplit_once('.').expect("a number").1.parse().expect("a number");
        prepare(&mut client);
        for number in 1..12 {
            client.query(&create(number)).expect("a table");
        }
        client
            .query("CREATE TABLE d.replaced (PRIMARY KEY (v)) REPLACE SELECT id, id % 3 AS v FROM d.base")
            .expect("rows");
        client
            .query("CREATE TABLE d.ignored (PRIMARY KEY (v)) IGNORE SELECT id, id % 3 AS v FROM d.base")
            .expect("rows");
        let wanted = contents(&source, &["d"]);
        catch_up(&replica, &source);
        assert_same(&contents(&replica, &["d"]), &wanted, "the replica");

        client.query("FLUSH BINARY LOGS").expect("the log is closed");
        let file = |number: u32| source.directory.join(format!("data/binlog.{number:06}"));
        let logs: Vec<_> = (first..).map(file).take_while(|path| path.exists()).collect();
        let text = printed(&glassine_binary(), &["binlog"], &logs);
        for kind in [Kind::MariaDb, Kind::Glassine] {
            let target = scratch.0.join(format!("{kind:?}"));
            let target = Server::create(kind, &target, &Options::default()).expect("the server starts");
            let lines: Vec<&str> = text.lines().filter(|line| !line.contains("SET @@SESSION.GTID_NEXT")).collect();
            replay(&lines.join("\n"), &target);
            assert_same(&contents(&target, &["d"]), &wanted, "the replay");
        }
    }
}
