//! Source and replica change places by the names of transactions, while clients write.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use bench::client::Client;
use bench::process::{Kind, Scratch, Server};
use bench::replicas::{follow, free_port, let_replicas_in, options, status};

/// Rows that a client has an answer for, until it is refused or the time is over.
fn write(mut client: Client, first: i64, stop: &AtomicBool, count: &AtomicUsize) -> Vec<i64> {
    let mut acknowledged = Vec::new();
    for id in first.. {
        // A statement that changes what others changed, so that the order matters.
        let statements = [
            "BEGIN".to_owned(),
            format!("INSERT INTO d.t VALUES ({id}, 0, REPEAT('x', {}))", id % 300),
            format!("UPDATE d.t SET changes = changes + id WHERE id % 7 = {} ORDER BY id LIMIT 20", id % 7),
            "COMMIT".to_owned(),
        ];
        while let Err(error) = statements.iter().try_for_each(|statement| client.query(statement).map(drop)) {
            let error = error.to_string();
            if error.contains("read-only") {
                return acknowledged;
            }
            assert!(error.contains("Deadlock found"), "{error}");
        }
        acknowledged.push(id);
        count.fetch_add(1, Ordering::Relaxed);
        if stop.load(Ordering::Relaxed) {
            return acknowledged;
        }
    }
    unreachable!("the numbers do not end")
}

fn rows(server: &Server) -> Vec<Vec<Option<String>>> {
    server.connect().expect("a connection").query("SELECT * FROM d.t ORDER BY id").expect("the rows").rows
}

fn executed(server: &Server) -> String {
    let answer = server.connect().expect("a connection").query("SELECT @@GLOBAL.gtid_executed").expect("a set");
    answer.rows[0][0].clone().expect("a set")
}

#[test]
fn source_and_replica_change_places_and_nothing_is_lost() {
    let scratch = Scratch::new("replica_roles").expect("a directory");
    let more = ["--log-bin", "--gtid-mode=ON", "--binlog-transaction-compression=ON", "--replica-parallel-workers=4"];
    let own: Vec<_> = (1..=2).map(|id| options(free_port(), id, &more)).collect();
    let port = |at: usize| -> u16 { own[at].more[2].trim_start_matches("--port=").parse().expect("a port") };
    let directories: Vec<_> = (1..=2).map(|id| scratch.0.join(format!("server{id}"))).collect();
    let mut servers: Vec<Server> =
        (0..2).map(|at| Server::create(Kind::Glassine, &directories[at], &own[at]).expect("Glassine starts")).collect();
    for server in &servers {
        let_replicas_in(&mut server.connect().expect("a connection"));
    }
    let mut client = servers[0].connect().expect("a connection");
    for statement in ["CREATE DATABASE d", "CREATE TABLE d.t (id BIGINT PRIMARY KEY, changes BIGINT, body TEXT)"] {
        client.query(statement).expect(statement);
    }
    const BY_NAME: &str = ", SOURCE_AUTO_POSITION = 1";
    follow(&mut servers[1].connect().expect("a connection"), port(0), BY_NAME);

    let mut acknowledged = Vec::new();
    for round in 0..6 {
        let (from, to) = (round % 2, 1 - round % 2);
        let stop = Arc::new(AtomicBool::new(false));
        let count = Arc::new(AtomicUsize::new(0));
        let writers: Vec<_> = (0..3)
            .map(|writer| {
                let (client, stop) = (servers[from].connect().expect("a connection"), stop.clone());
                let count = count.clone();
                let first = (round * 3 + writer) as i64 * 1_000_000;
                std::thread::spawn(move || write(client, first, &stop, &count))
            })
            .collect();
        let begun = Instant::now();
        while count.load(Ordering::Relaxed) < 12 {
            assert!(begun.elapsed() < Duration::from_secs(60), "round {round}: commits hang");
            std::thread::sleep(Duration::from_millis(10));
        }
        std::thread::sleep(Duration::from_millis(400));
        if round == 2 {
            // The one that is about to be the source dies before.
            servers.remove(to).kill();
            servers.insert(to, Server::start(Kind::Glassine, &directories[to], &own[to]).expect("Glassine recovers"));
        }
        // The replica takes what the source has committed before it became read-only, and nothing comes behind that.
        let mut source = servers[from].connect().expect("a connection");
        source.query("SET GLOBAL super_read_only = ON").expect("the source is read-only");
        for writer in writers {
            acknowledged.extend(writer.join().expect("a writer ends"));
        }
        let all = executed(&servers[from]);
        let mut replica = servers[to].connect().expect("a connection");
        let waited = replica.query(&format!("SELECT WAIT_FOR_EXECUTED_GTID_SET('{all}', 60)")).expect("a wait");
        assert_eq!(
            waited.rows[0][0].as_deref(),
            Some("0"),
            "round {round}: {}",
            status(&mut replica, "Last_SQL_Error")
        );
        for statement in
            ["STOP REPLICA", "RESET REPLICA ALL", "SET GLOBAL super_read_only = OFF, GLOBAL read_only = OFF"]
        {
            replica.query(statement).expect(statement);
        }
        assert_eq!(rows(&servers[to]), rows(&servers[from]), "round {round}");
        assert_eq!(executed(&servers[to]), all, "round {round}");
        follow(&mut source, port(to), BY_NAME);
    }
    assert!(acknowledged.len() > 60, "{} transactions", acknowledged.len());
    let all = rows(&servers[0]);
    let there: std::collections::BTreeSet<i64> =
        all.iter().map(|row| row[0].as_deref().expect("a key").parse().expect("a number")).collect();
    assert_eq!(acknowledged.iter().find(|id| !there.contains(id)), None, "acknowledged and lost");
}
