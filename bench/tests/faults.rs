//! System calls of the server that fail under load: nothing acknowledged is lost, and nobody hangs. `bench faults` does as
//! many as one likes.

use std::time::Duration;

use bench::faults::{self, Fault};
use bench::ledger::Ledger;
use bench::process::{Kind, Options, Scratch, Server};

#[test]
fn a_failed_call_loses_nothing_and_hangs_nobody() {
    if !faults::strace_works() {
        eprintln!("skipped: strace cannot attach to a process here");
        return;
    }
    let scratch = Scratch::new("faults-test").expect("a directory");
    let directory = scratch.0.join("glassine");
    let options = Options { pool: "16M".into(), log: "16M".into(), ..Options::default() };
    let mut server = Server::create(Kind::Glassine, &directory, &options).expect("Glassine starts");
    let ledger = Ledger::create(&server, 6).expect("the ledger's tables");
    let broken = |call| Fault { call, error: "EIO", at: 3, persists: false };
    let full = |call| Fault { call, error: "ENOSPC", at: 2, persists: true };
    for fault in [broken("fdatasync"), broken("io_submit"), broken("fallocate"), full("io_submit"), full("fallocate")] {
        let outcome = faults::one(server, &ledger, fault, Duration::from_secs(2), &options);
        let (next, outcome) = outcome.unwrap_or_else(|error| panic!("{fault:?}: {error}"));
        println!("{fault:?}: {outcome:?}");
        server = next;
    }
    server.stop().expect("a clean shutdown");
}

#[test]
fn a_damaged_page_is_named_in_the_error_log_once_with_its_file() {
    let scratch = Scratch::new("damaged-test").expect("a directory");
    let directory = scratch.0.join("glassine");
    let options = Options::default();
    let server = Server::create(Kind::Glassine, &directory, &options).expect("Glassine starts");
    let mut client = server.connect().expect("a connection");
    let rows: Vec<_> = (1..=900).map(|id| format!("({id}, 'x')")).collect();
    let insert = format!("INSERT INTO d.t VALUES {}", rows.join(", "));
    for statement in
        ["CREATE DATABASE d", "CREATE TABLE d.t (id INT PRIMARY KEY, filler CHAR(200)) ENGINE=InnoDB", insert.as_str()]
    {
        client.query(statement).unwrap_or_else(|error| panic!("{statement}: {error}"));
    }
    drop(client);
    server.stop().expect("a clean shutdown");
    let path = directory.join("data/d/t.ibd");
    let mut bytes = std::fs::read(&path).expect("the table's file");
    let page_bytes = 16384;
    for page in bytes.chunks_mut(page_bytes).skip(5) {
        // The body of each leaf, so that none of them verifies.
        page[200] ^= 0xFF;
    }
    std::fs::write(&path, bytes).expect("a damaged file");
    let server = Server::start(Kind::Glassine, &directory, &options).expect("Glassine starts");
    let before = server.log().len();
    let mut client = server.connect().expect("a connection");
    for _ in 0..3 {
        client.query("SELECT filler FROM d.t WHERE id = 100").expect_err("its page is damaged");
    }
    let log = server.log()[before..].to_string();
    let lines: Vec<_> = log.lines().filter(|line| line.contains("is damaged")).collect();
    assert_eq!(lines.len(), 1, "{log}");
    assert!(lines[0].contains("d/t.ibd: page "), "{}", lines[0]);
}
