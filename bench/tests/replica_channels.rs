//! A replica of several sources at once: channels with names.

use std::time::{Duration, Instant};

use bench::client::Client;
use bench::process::{Kind, Scratch, Server, mariadb_is_installed};
use bench::replicas::{assert_same, contents, end_of, free_port, mariadb_source, options};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

fn run(client: &mut Client, statement: &str) {
    if let Err(error) = client.query(statement) {
        panic!("{error}: {statement}");
    }
}

fn cell(client: &mut Client, query: &str) -> String {
    client.query(query).expect(query).cell().unwrap_or("NULL").to_owned()
}

fn code(client: &mut Client, statement: &str) -> Option<u16> {
    client.query(statement).err().and_then(|error| error.code())
}

fn status(client: &mut Client, channel: &str, name: &str) -> String {
    let answer = client.query(&format!("SHOW REPLICA STATUS FOR CHANNEL '{channel}'")).expect("a status");
    let at = answer.columns.iter().position(|column| column == name).expect("a column");
    answer.rows[0][at].clone().unwrap_or_default()
}

fn change(port: u16, channel: &str, rest: &str) -> String {
    format!(
        "CHANGE REPLICATION SOURCE TO SOURCE_HOST = '127.0.0.1', SOURCE_PORT = {port}, SOURCE_USER = 'replica', \
         SOURCE_PASSWORD = 'it''s secret', SOURCE_CONNECT_RETRY = 1{rest} FOR CHANNEL '{channel}'"
    )
}

/// Waits until a channel has applied what is in its source's log now.
fn catch_up(replica: &Server, channel: &str, source: &Server) {
    let (file, position) = end_of(source);
    let mut client = replica.connect().expect("a connection");
    let start = Instant::now();
    loop {
        let mut status = |name: &str| status(&mut client, channel, name);
        let applied = (status("Relay_Source_Log_File"), status("Exec_Source_Log_Pos"));
        if applied.0 > file || applied.0 == file && applied.1.parse::<u64>().expect("a number") >= position {
            return;
        }
        let errors = (status("Last_IO_Error"), status("Last_SQL_Error"));
        let log = replica.log_tail(8);
        assert!(
            start.elapsed() < Duration::from_secs(40),
            "{channel}: {applied:?}, not {file}:{position}: {errors:?}\n{log}"
        );
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn glassine_source(scratch: &Scratch, name: &str, id: u32) -> (Server, u16) {
    let port = free_port();
    let own = options(port, id, &["--log-bin", "--gtid-mode=ON", "--binlog-transaction-compression=ON"]);
    let source = Server::create(Kind::Glassine, &scratch.0.join(name), &own).expect("Glassine starts");
    let mut client = source.connect().expect("a connection");
    for statement in [
        "SET sql_log_bin = 0",
        "CREATE USER replica@127.0.0.1 IDENTIFIED BY 'it''s secret'",
        "GRANT ALL ON *.* TO replica@127.0.0.1",
    ] {
        run(&mut client, statement);
    }
    (source, port)
}

const BY_NAME: &str = ", SOURCE_AUTO_POSITION = 1, GET_SOURCE_PUBLIC_KEY = 1";

#[test]
fn three_sources_are_followed_at_once_also_if_the_replica_is_killed() {
    let scratch = Scratch::new("replica_channels").expect("a directory");
    let (one, one_port) = glassine_source(&scratch, "one", 1);
    let (two, two_port) = glassine_source(&scratch, "two", 2);
    let third_port = free_port();
    let third = mariadb_is_installed()
        .then(|| mariadb_source(&scratch.0.join("third"), third_port, &["--binlog-format=ROW", "--gtid-domain-id=3"]));
    let directory = scratch.0.join("replica");
    let own = options(free_port(), 9, &["--log-bin", "--gtid-mode=ON"]);
    let mut replica = Server::create(Kind::Glassine, &directory, &own).expect("Glassine starts");
    let mut here = replica.connect().expect("a connection");
    run(&mut here, &change(one_port, "", BY_NAME));
    run(&mut here, &change(two_port, "Two", BY_NAME));
    let mut sources = vec![("", &one), ("two", &two)];
    if let Some(third) = &third {
        run(&mut here, &change(third_port, "third one", ", MASTER_USE_GTID = slave_pos"));
        sources.push(("third one", third));
    }
    run(&mut here, "START REPLICA");
    let mut writers: Vec<Client> = sources.iter().map(|(_, source)| source.connect().expect("a connection")).collect();
    for (at, writer) in writers.iter_mut().enumerate() {
        run(writer, &format!("CREATE DATABASE d{at}"));
        run(writer, &format!("CREATE TABLE d{at}.t (id INT PRIMARY KEY, v INT) ENGINE=InnoDB"));
    }
    let mut random = StdRng::seed_from_u64(3);
    let mut id = 0;
    for round in 0..8 {
        for _ in 0..80 {
            id += 1;
            let at = random.random_range(0..writers.len());
            let writer = &mut writers[at];
            run(writer, "BEGIN");
            run(writer, &format!("INSERT INTO d{at}.t VALUES ({id}, 0), ({}, 1)", -id));
            run(writer, &format!("UPDATE d{at}.t SET v = v + 1 WHERE id > {}", id - 9));
            run(writer, "COMMIT");
            match random.random_range(0..12) {
                0 => run(writer, "FLUSH BINARY LOGS"),
                // Definitions of several channels at the same time.
                1 | 2 => run(writer, &format!("CREATE TABLE d{at}.n{id} (a INT) ENGINE=InnoDB")),
                3 => {
                    let channel = sources[random.random_range(0..sources.len())].0;
                    run(&mut here, &format!("STOP REPLICA FOR CHANNEL '{channel}'"));
                }
                4 => run(&mut here, "START REPLICA"),
                _ => {}
            }
        }
        if round % 2 == 0 {
            replica.kill();
            replica = Server::start(Kind::Glassine, &directory, &own).expect("Glassine recovers");
            here = replica.connect().expect("a connection");
        }
        run(&mut here, "START REPLICA");
    }
    for (at, (channel, source)) in sources.iter().enumerate() {
        catch_up(&replica, channel, source);
        let database = format!("d{at}");
        assert_same(&contents(&replica, &[&database]), &contents(source, &[&database]), channel);
    }
    // Each is told apart.
    let count = sources.len();
    let names = "SELECT GROUP_CONCAT(CHANNEL_NAME ORDER BY CHANNEL_NAME) FROM performance_schema.replication_";
    let wanted = if count == 3 { ",third one,two" } else { ",two" };
    for table in [
        "connection_configuration",
        "connection_status",
        "applier_configuration",
        "applier_status",
        "applier_status_by_coordinator",
    ] {
        assert_eq!(cell(&mut here, &format!("{names}{table}")), wanted, "{table}");
    }
    let workers = "SELECT COUNT(*) FROM performance_schema.replication_applier_status_by_worker";
    assert_eq!(cell(&mut here, workers), (4 * count).to_string());
    assert_eq!(here.query("SHOW REPLICA STATUS").expect("rows").rows.len(), count);
    let files: Vec<String> = std::fs::read_dir(directory.join("data"))
        .expect("a directory")
        .filter_map(|entry| entry.expect("an entry").file_name().into_string().ok())
        .collect();
    assert!(files.iter().any(|name| name.starts_with("relay-bin-two.")), "{files:?}");
    // A source that is forgotten leaves its transactions.
    let executed = cell(&mut here, "SELECT @@gtid_executed");
    run(&mut here, "STOP REPLICA FOR CHANNEL 'two'");
    run(&mut here, "RESET REPLICA ALL FOR CHANNEL 'two'");
    assert_eq!(code(&mut here, "SHOW REPLICA STATUS FOR CHANNEL 'two'"), Some(3074));
    assert_eq!(cell(&mut here, "SELECT @@gtid_executed"), executed);
    replica.kill();
    replica = Server::start(Kind::Glassine, &directory, &own).expect("Glassine recovers");
    here = replica.connect().expect("a connection");
    assert_eq!(cell(&mut here, "SELECT @@gtid_executed"), executed);
    assert_eq!(here.query("SHOW REPLICA STATUS").expect("rows").rows.len(), count - 1);
    run(&mut writers[1], "INSERT INTO d1.t VALUES (1000000, 0)");
    run(&mut here, &change(two_port, "two", BY_NAME));
    run(&mut here, "START REPLICA FOR CHANNEL 'two'");
    catch_up(&replica, "two", &two);
    assert_same(&contents(&replica, &["d1"]), &contents(&two, &["d1"]), "again");
}

#[test]
fn a_transaction_that_comes_by_two_channels_is_applied_once() {
    let scratch = Scratch::new("replica_diamond").expect("a directory");
    let (top, top_port) = glassine_source(&scratch, "top", 1);
    let mut sides = Vec::new();
    for (name, id) in [("left", 2), ("right", 3)] {
        let (side, port) = glassine_source(&scratch, name, id);
        let mut client = side.connect().expect("a connection");
        run(&mut client, &change(top_port, "", BY_NAME));
        run(&mut client, "START REPLICA");
        sides.push((side, port));
    }
    // One with a log and one without.
    for more in [&["--log-bin", "--gtid-mode=ON"][..], &[]] {
        let own = options(free_port(), 9 + more.len() as u32, more);
        let directory = scratch.0.join(format!("bottom{}", more.len()));
        let bottom = Server::create(Kind::Glassine, &directory, &own).expect("Glassine starts");
        let mut here = bottom.connect().expect("a connection");
        run(&mut here, &change(sides[0].1, "left", BY_NAME));
        run(&mut here, &change(sides[1].1, "right", BY_NAME));
        run(&mut here, "START REPLICA");
        let mut there = top.connect().expect("a connection");
        run(&mut there, "CREATE DATABASE IF NOT EXISTS d");
        run(&mut there, "DROP TABLE IF EXISTS d.t");
        run(&mut there, "CREATE TABLE d.t (id INT PRIMARY KEY)");
        for id in 0..300 {
            run(&mut there, &format!("INSERT INTO d.t VALUES ({id})"));
        }
        let executed = cell(&mut there, "SELECT @@gtid_executed");
        let wait = format!("SELECT WAIT_FOR_EXECUTED_GTID_SET('{executed}', 40)");
        let errors = |client: &mut Client| ["left", "right"].map(|channel| status(client, channel, "Last_SQL_Error"));
        assert_eq!(cell(&mut here, &wait), "0", "{:?}", errors(&mut here));
        for (channel, (side, _)) in ["left", "right"].into_iter().zip(&sides) {
            catch_up(&bottom, channel, side);
        }
        assert_eq!(errors(&mut here), ["", ""]);
        assert_same(&contents(&bottom, &["d"]), &contents(&top, &["d"]), "the bottom");
    }
}

#[test]
fn statements_name_channels_and_errors_are_mysqls() {
    let scratch = Scratch::new("replica_channel_errors").expect("a directory");
    let (source, port) = glassine_source(&scratch, "source", 1);
    let own = options(free_port(), 2, &["--log-bin", "--gtid-mode=ON"]);
    let replica = Server::create(Kind::Glassine, &scratch.0.join("replica"), &own).expect("Glassine starts");
    let mut here = replica.connect().expect("a connection");
    for statement in [
        "START REPLICA FOR CHANNEL 'a'",
        "STOP REPLICA FOR CHANNEL 'a'",
        "RESET REPLICA ALL FOR CHANNEL 'a'",
        "SHOW REPLICA STATUS FOR CHANNEL 'a'",
        "CHANGE REPLICATION FILTER REPLICATE_DO_DB = (a) FOR CHANNEL 'a'",
        "SELECT SOURCE_POS_WAIT('binlog.000001', 4, 1, 'a')",
    ] {
        assert_eq!(code(&mut here, statement), Some(3074), "{statement}");
    }
    let long = format!("CHANGE REPLICATION SOURCE TO SOURCE_HOST = 'h' FOR CHANNEL '{}'", "x".repeat(65));
    assert_eq!(code(&mut here, &long), Some(3075));
    assert_eq!(code(&mut here, "START REPLICA"), Some(1200));
    run(&mut here, &change(port, "A", BY_NAME));
    // With a second channel a statement about one says which.
    for statement in [
        "CHANGE REPLICATION SOURCE TO SOURCE_HOST = 'h'",
        "SELECT SOURCE_POS_WAIT('binlog.000001', 4, 1)",
        "START REPLICA UNTIL SQL_AFTER_MTS_GAPS",
    ] {
        assert_eq!(code(&mut here, statement), Some(3079), "{statement}");
    }
    let with_place = "CHANGE REPLICATION SOURCE TO SOURCE_LOG_POS = 4 FOR CHANNEL 'a'";
    assert_eq!(code(&mut here, with_place), Some(1776));
    run(&mut here, "CHANGE REPLICATION FILTER REPLICATE_IGNORE_DB = (left_out) FOR CHANNEL 'a'");
    run(&mut here, "START REPLICA FOR CHANNEL 'a'");
    assert_eq!(code(&mut here, "RESET REPLICA FOR CHANNEL 'A'"), Some(3081));
    let running = "CHANGE REPLICATION FILTER REPLICATE_DO_DB = (b)";
    assert_eq!(code(&mut here, running), Some(3017));
    let mut there = source.connect().expect("a connection");
    for statement in ["CREATE DATABASE left_out", "CREATE DATABASE taken"] {
        run(&mut there, statement);
    }
    catch_up(&replica, "a", &source);
    let databases =
        "SELECT GROUP_CONCAT(schema_name) FROM information_schema.schemata WHERE schema_name IN ('left_out', 'taken')";
    assert_eq!(cell(&mut here, databases), "taken");
    let filters = "SELECT CONCAT(CHANNEL_NAME, ' ', FILTER_NAME) FROM performance_schema.replication_applier_filters";
    assert_eq!(cell(&mut here, filters), "a REPLICATE_IGNORE_DB");
    assert_eq!(cell(&mut here, "SELECT COUNT(*) FROM performance_schema.replication_applier_global_filters"), "0");
    let (file, position) = end_of(&source);
    assert_eq!(cell(&mut here, &format!("SELECT SOURCE_POS_WAIT('{file}', {position}, 10, 'a') IS NOT NULL")), "1");
    // A channel that has nothing to do is no matter for the others.
    run(&mut here, &change(free_port(), "b", BY_NAME));
    run(&mut here, "START REPLICA");
    run(&mut there, "CREATE DATABASE more");
    catch_up(&replica, "a", &source);
    assert_eq!(status(&mut here, "b", "Replica_IO_Running"), "Connecting");
    run(&mut here, "STOP REPLICA");
    for channel in ["a", "b"] {
        assert_eq!(status(&mut here, channel, "Replica_SQL_Running"), "No");
    }
    run(&mut here, "RESET REPLICA ALL");
    assert_eq!(here.query("SHOW REPLICA STATUS").expect("rows").rows.len(), 0);
}
