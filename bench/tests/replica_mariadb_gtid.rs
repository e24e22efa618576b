//! A replica that finds its place in MariaDB's log by MariaDB's GTIDs, of several domains.

use std::time::{Duration, Instant};

use bench::client::Client;
use bench::process::{Kind, Server, mariadb_is_installed};
use bench::replicas::{
    BY_NAME, Pair, assert_same, contents, follow, follow_by_old_names, free_port, old_status, options, wait_for_error,
};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

const BY_GTID: &str = ", MASTER_USE_GTID = slave_pos";

fn run(client: &mut Client, statement: &str) {
    if let Err(error) = client.query(statement) {
        panic!("{error}: {statement}");
    }
}

fn cell(client: &mut Client, query: &str) -> String {
    client.query(query).expect(query).cell().unwrap_or("NULL").to_owned()
}

fn parts(position: &str) -> Vec<String> {
    let mut parts: Vec<String> = position.split(',').map(str::to_owned).collect();
    parts.sort();
    parts
}

/// Waits until the replica has the newest transaction of each of the source's domains.
fn wait_for_domains(replica: &Server, source: &Server) {
    let mut there = source.connect().expect("a connection");
    let wanted = parts(&cell(&mut there, "SELECT @@gtid_binlog_pos"));
    let mut here = replica.connect().expect("a connection");
    let start = Instant::now();
    loop {
        let position = parts(&cell(&mut here, "SELECT @@gtid_slave_pos"));
        if position == wanted {
            return;
        }
        let errors = (old_status(&mut here, "Last_IO_Error"), old_status(&mut here, "Last_SQL_Error"));
        let log = replica.log_tail(8);
        assert!(start.elapsed() < Duration::from_secs(40), "{position:?} is not {wanted:?}: {errors:?}\n{log}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn mariadbs_gtids_of_several_domains_survive_kills_and_rotations() {
    if !mariadb_is_installed() {
        println!("skipped: MariaDB is not installed");
        return;
    }
    let mut pair = Pair::of_mariadb("replica_mariadb_gtid");
    run(&mut pair.there, "CREATE DATABASE d");
    for domain in 0..3 {
        run(&mut pair.there, &format!("CREATE TABLE d.t{domain} (id INT PRIMARY KEY, v INT) ENGINE=InnoDB"));
    }
    // What is before the position is not fetched.
    run(&mut pair.there, "INSERT INTO d.t0 VALUES (-1, 0)");
    let before = cell(&mut pair.there, "SELECT @@gtid_binlog_pos");
    run(&mut pair.there, "INSERT INTO d.t0 VALUES (-2, 0)");
    for statement in [
        "CREATE DATABASE d",
        "CREATE TABLE d.t0 (id INT PRIMARY KEY, v INT)",
        "CREATE TABLE d.t1 (id INT PRIMARY KEY, v INT)",
        "CREATE TABLE d.t2 (id INT PRIMARY KEY, v INT)",
        "INSERT INTO d.t0 VALUES (-1, 0)",
        &format!("SET GLOBAL gtid_slave_pos = '{before}'"),
    ] {
        run(&mut pair.here, statement);
    }
    assert_eq!(cell(&mut pair.here, "SELECT @@gtid_slave_pos"), before);
    follow_by_old_names(&mut pair.here, pair.source_port, BY_GTID);
    wait_for_domains(&pair.replica, &pair.source);
    assert_eq!(old_status(&mut pair.here, "Using_Gtid"), "Slave_Pos");
    let directory = pair.scratch.0.join("replica");
    let own = options(free_port(), 2, &[]);
    let mut random = StdRng::seed_from_u64(11);
    let mut id = 0;
    for round in 0..10 {
        // Sessions of different domains in turn, so that their sequences mix.
        let mut clients: Vec<Client> = (0..3)
            .map(|domain| {
                let mut client = pair.source.connect().expect("a connection");
                run(&mut client, &format!("SET gtid_domain_id = {domain}"));
                client
            })
            .collect();
        for _ in 0..60 {
            id += 1;
            let domain: usize = random.random_range(0..3);
            let client = &mut clients[domain];
            run(client, "BEGIN");
            run(client, &format!("INSERT INTO d.t{domain} VALUES ({id}, 0), ({}, 1)", -10 - id));
            run(client, &format!("UPDATE d.t{domain} SET v = v + 1 WHERE id > {}", id - 5));
            run(client, "COMMIT");
            match random.random_range(0..25) {
                0 => run(client, "FLUSH BINARY LOGS"),
                1 => run(client, &format!("CREATE TABLE d.n{id} (a INT) ENGINE=InnoDB")),
                2 => run(&mut pair.here, "STOP SLAVE"),
                3 => run(&mut pair.here, "STOP SLAVE IO_THREAD"),
                _ => {}
            }
            if random.random_range(0..10) == 0 {
                run(&mut pair.here, "START SLAVE");
            }
        }
        if round % 2 == 0 {
            pair.replica.kill();
            pair.replica = Server::start(Kind::Glassine, &directory, &own).expect("Glassine recovers");
            pair.here = pair.replica.connect().expect("a connection");
        } else if round % 4 == 1 {
            // The source ends the dump in the middle.
            let dump = "SELECT id FROM information_schema.processlist WHERE command = 'Binlog Dump'";
            for row in pair.there.query(dump).expect("dumps").rows {
                let _ = pair.there.query(&format!("KILL {}", row[0].as_deref().expect("a number")));
            }
        }
        run(&mut pair.here, "START SLAVE");
    }
    wait_for_domains(&pair.replica, &pair.source);
    assert_same(&contents(&pair.replica, &["d"]), &contents(&pair.source, &["d"]), "after it");
    // By file and position the GTIDs are kept, too, and the way may be changed.
    run(&mut pair.here, "STOP SLAVE");
    let (file, position) =
        (old_status(&mut pair.here, "Relay_Master_Log_File"), old_status(&mut pair.here, "Exec_Master_Log_Pos"));
    run(&mut pair.here, &format!("CHANGE MASTER TO MASTER_LOG_FILE = '{file}', MASTER_LOG_POS = {position}"));
    run(&mut pair.here, "START SLAVE");
    run(&mut pair.there, "INSERT INTO d.t0 VALUES (1000000, 0)");
    wait_for_domains(&pair.replica, &pair.source);
    run(&mut pair.here, "STOP SLAVE");
    run(&mut pair.here, "CHANGE MASTER TO MASTER_USE_GTID = current_pos");
    run(&mut pair.here, "START SLAVE");
    run(&mut pair.there, "INSERT INTO d.t0 VALUES (1000001, 0)");
    wait_for_domains(&pair.replica, &pair.source);
    assert_eq!(old_status(&mut pair.here, "Using_Gtid"), "Current_Pos");
    assert_eq!(
        parts(&old_status(&mut pair.here, "Gtid_IO_Pos")),
        parts(&cell(&mut pair.here, "SELECT @@gtid_current_pos"))
    );
    assert_same(&contents(&pair.replica, &["d"]), &contents(&pair.source, &["d"]), "at the end");
}

#[test]
fn a_position_that_the_source_does_not_know_is_told() {
    if !mariadb_is_installed() {
        println!("skipped: MariaDB is not installed");
        return;
    }
    let mut pair = Pair::of_mariadb("replica_mariadb_unknown");
    run(&mut pair.there, "CREATE DATABASE d");
    for (value, code) in [("'0-1'", 1941), ("'0-1-1,0-2-2'", 1943), ("5", 1232)] {
        let set = format!("SET GLOBAL gtid_slave_pos = {value}");
        assert_eq!(pair.here.query(&set).unwrap_err().code(), Some(code), "{set}");
    }
    run(&mut pair.here, "SET GLOBAL gtid_slave_pos = '0-1-77'");
    follow_by_old_names(&mut pair.here, pair.source_port, BY_GTID);
    let error = wait_for_receiver_error(&mut pair.here);
    assert!(error.contains("0-1-77") && error.contains("1236"), "{error}");
    assert_eq!(old_status(&mut pair.here, "Slave_IO_Running"), "No");
    let running = pair.here.query("SET GLOBAL gtid_slave_pos = ''").unwrap_err();
    assert_eq!(running.code(), Some(3081), "the applier runs");
    run(&mut pair.here, "STOP SLAVE");
    run(&mut pair.here, "SET GLOBAL gtid_slave_pos = ''");
    run(&mut pair.here, "START SLAVE");
    wait_for_domains(&pair.replica, &pair.source);
    assert_eq!(cell(&mut pair.here, "SELECT COUNT(*) FROM information_schema.schemata WHERE schema_name = 'd'"), "1");
}

fn wait_for_receiver_error(client: &mut Client) -> String {
    let start = Instant::now();
    loop {
        let error = old_status(client, "Last_IO_Error");
        if !error.is_empty() {
            return error;
        }
        assert!(start.elapsed() < Duration::from_secs(20), "no error");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_source_without_mariadbs_gtids_is_refused() {
    let mut pair = Pair::of_glassine("replica_no_mariadb", &[]);
    follow(&mut pair.here, pair.source_port, ", MASTER_USE_GTID = slave_pos, GET_SOURCE_PUBLIC_KEY = 1");
    let error = wait_for_receiver_error(&mut pair.here);
    assert!(error.contains("MASTER_USE_GTID needs a source with MariaDB's GTIDs"), "{error}");
    run(&mut pair.here, "STOP REPLICA");
    follow(&mut pair.here, pair.source_port, BY_NAME);
    run(&mut pair.there, "CREATE DATABASE d");
    bench::replicas::wait_for_all(&pair.replica, &pair.source);
    // An error of the applier's is shown as before.
    run(&mut pair.here, "SET sql_log_bin = 0");
    run(&mut pair.here, "DROP DATABASE d");
    run(&mut pair.there, "CREATE TABLE d.t (a INT)");
    wait_for_error(&mut pair.here, "1049");
}
