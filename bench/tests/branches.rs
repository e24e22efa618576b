//! Branches of distributed transactions in the binary log: a replica prepares them, and ends them when the source does,
//! once and no more than once, also if servers are killed.

use std::path::Path;
use std::time::{Duration, Instant};

use bench::client::Client;
use bench::process::{Kind, Options, Scratch, Server, mariadb_is_installed};
use bench::replicas::{catch_up, follow_by_old_names, free_port, let_replicas_in, options};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

fn run(client: &mut Client, statement: &str) {
    if let Err(error) = client.query(statement) {
        panic!("{error}: {statement}");
    }
}

/// Branches at random. Each is begun on a connection of its own, because MariaDB ends a prepared one from elsewhere only
/// when its connection is gone.
struct Work {
    random: StdRng,
    next: u32,
    prepared: Vec<u32>,
}

impl Work {
    fn new(seed: u64) -> Work {
        Work { random: StdRng::seed_from_u64(seed), next: 0, prepared: Vec::new() }
    }

    fn step(&mut self, source: &Server) {
        let mut client = source.connect().expect("a connection");
        let number = self.next;
        self.next += 1;
        match self.random.random_range(0..10) {
            0..=3 => {
                let body = "x".repeat(self.random.random_range(0..3000));
                for statement in [
                    format!("XA START 'branch', 'b{number}', 7"),
                    format!("INSERT INTO br.t VALUES ({}, '{body}'), ({}, NULL)", 2 * number, 2 * number + 1),
                    format!("UPDATE br.t SET v = 'changed' WHERE id = {}", 2 * number + 1),
                    format!("XA END 'branch', 'b{number}', 7"),
                ] {
                    run(&mut client, &statement);
                }
                match self.random.random_range(0..8) {
                    0 => run(&mut client, &format!("XA COMMIT 'branch', 'b{number}', 7 ONE PHASE")),
                    1 => run(&mut client, &format!("XA ROLLBACK 'branch', 'b{number}', 7")),
                    _ => {
                        run(&mut client, &format!("XA PREPARE 'branch', 'b{number}', 7"));
                        self.prepared.push(number);
                    }
                }
            }
            4..=6 if !self.prepared.is_empty() => {
                let number = self.prepared.swap_remove(self.random.random_range(0..self.prepared.len()));
                let verb = ["COMMIT", "COMMIT", "ROLLBACK"][self.random.random_range(0..3)];
                self.end(&mut client, number, verb);
            }
            7 if number.is_multiple_of(5) => {
                run(&mut client, &format!("CREATE TABLE br.t{number} (a INT PRIMARY KEY)"))
            }
            _ => run(&mut client, &format!("INSERT INTO br.t VALUES ({}, 'plain')", 2 * number)),
        }
    }

    /// The connection that has prepared the branch may take a moment to go.
    fn end(&self, client: &mut Client, number: u32, verb: &str) {
        let statement = format!("XA {verb} 'branch', 'b{number}', 7");
        let start = Instant::now();
        while let Err(error) = client.query(&statement) {
            assert!(start.elapsed() < Duration::from_secs(5), "{error}: {statement}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

/// Rows, tables and prepared branches.
fn contents(server: &Server) -> Vec<String> {
    let mut client = server.connect().expect("a connection");
    let mut all = Vec::new();
    for query in ["SELECT id, MD5(v) FROM br.t ORDER BY id", "SHOW TABLES FROM br", "XA RECOVER"] {
        let mut rows: Vec<_> = client.query(query).expect(query).rows.iter().map(|row| format!("{row:?}")).collect();
        rows.sort();
        all.extend(rows);
    }
    all
}

fn prepare(source: &Server) {
    let mut client = source.connect().expect("a connection");
    run(&mut client, "CREATE DATABASE br");
    run(&mut client, "CREATE TABLE br.t (id INT PRIMARY KEY, v TEXT) ENGINE=InnoDB");
}

fn port_of(options: &Options) -> u16 {
    options.more[2].trim_start_matches("--port=").parse().expect("a port")
}

fn start(kind: Kind, directory: &Path, options: &Options) -> Server {
    Server::start(kind, directory, options).expect("the server recovers")
}

#[test]
fn branches_arrive_in_a_chain_of_replicas_also_if_servers_are_killed() {
    let scratch = Scratch::new("branches").expect("a directory");
    // The leaf has no log of its own: its row alone says how far it is.
    let logged = ["--log-bin", "--gtid-mode=ON", "--binlog-transaction-compression=ON"];
    let own = [options(free_port(), 1, &logged), options(free_port(), 2, &logged), options(free_port(), 3, &[])];
    let directories: Vec<_> = (0..3).map(|at| scratch.0.join(format!("server{at}"))).collect();
    let mut servers: Vec<Server> =
        (0..3).map(|at| Server::create(Kind::Glassine, &directories[at], &own[at]).expect("Glassine starts")).collect();
    for at in 0..2 {
        let_replicas_in(&mut servers[at].connect().expect("a connection"));
        let place =
            if at == 0 { ", MASTER_AUTO_POSITION=1" } else { ", MASTER_LOG_FILE='binlog.000001', MASTER_LOG_POS=4" };
        follow_by_old_names(&mut servers[at + 1].connect().expect("a connection"), port_of(&own[at]), place);
    }
    prepare(&servers[0]);
    let mut work = Work::new(5);
    for round in 0..24 {
        for _ in 0..12 {
            work.step(&servers[0]);
        }
        let killed = [2, 1, 2, 0][round % 4];
        servers.remove(killed).kill();
        servers.insert(killed, start(Kind::Glassine, &directories[killed], &own[killed]));
    }
    // The log of the server that was killed last has to have a transaction, for its readers to be somewhere in it.
    run(&mut servers[0].connect().expect("a connection"), "INSERT INTO br.t VALUES (-1, 'last')");
    for at in 0..2 {
        catch_up(&servers[at + 1], &servers[at]);
    }
    let wanted = contents(&servers[0]);
    assert!(wanted.iter().any(|row| row.contains("branch")), "some branches are prepared");
    assert_eq!(contents(&servers[1]), wanted, "the replica");
    assert_eq!(contents(&servers[2]), wanted, "the replica's replica");
    // The end of a branch that was prepared lives ago.
    let mut client = servers[0].connect().expect("a connection");
    for number in std::mem::take(&mut work.prepared) {
        work.end(&mut client, number, "COMMIT");
    }
    for at in 0..2 {
        catch_up(&servers[at + 1], &servers[at]);
    }
    assert_eq!(contents(&servers[2]), contents(&servers[0]));
}

#[test]
fn branches_of_mariadb_arrive_and_mariadb_takes_ours() {
    if !mariadb_is_installed() {
        println!("no MariaDB here");
        return;
    }
    let scratch = Scratch::new("branches_mariadb").expect("a directory");
    let port = free_port();
    let from_mariadb = options(port, 1, &["--log-bin=source", "--binlog-format=ROW"]);
    let source = Server::create(Kind::MariaDb, &scratch.0.join("source"), &from_mariadb).expect("MariaDB starts");
    let middle_options = options(free_port(), 2, &["--log-bin", "--gtid-mode=ON"]);
    let directory = scratch.0.join("middle");
    let mut middle = Server::create(Kind::Glassine, &directory, &middle_options).expect("Glassine starts");
    for server in [&source, &middle] {
        let_replicas_in(&mut server.connect().expect("a connection"));
    }
    run(&mut source.connect().expect("a connection"), "RESET MASTER");
    follow_by_old_names(&mut middle.connect().expect("a connection"), port, "");
    let leaf =
        Server::create(Kind::MariaDb, &scratch.0.join("leaf"), &options(free_port(), 3, &[])).expect("MariaDB starts");
    let place = ", MASTER_LOG_FILE='binlog.000001', MASTER_LOG_POS=4, MASTER_USE_GTID=no";
    follow_by_old_names(&mut leaf.connect().expect("a connection"), port_of(&middle_options), place);
    prepare(&source);
    let mut work = Work::new(6);
    for _ in 0..6 {
        for _ in 0..20 {
            work.step(&source);
        }
        middle.kill();
        middle = start(Kind::Glassine, &directory, &middle_options);
    }
    catch_up(&middle, &source);
    let wanted = contents(&source);
    assert_eq!(contents(&middle), wanted);
    catch_up(&leaf, &middle);
    assert_eq!(contents(&leaf), wanted);
}
