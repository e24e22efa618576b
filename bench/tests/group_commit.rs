//! binlog_group_commit_sync_delay: commits wait for each other, and one sync serves more of them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use bench::client::Client;
use bench::process::{Kind, Options, Scratch, Server};

const WORKERS: u64 = 8;

fn run(client: &mut Client, statement: &str) {
    client.query(statement).unwrap_or_else(|error| panic!("{statement}: {error:?}"));
}

fn status(client: &mut Client, name: &str) -> u64 {
    let rows = client.query(&format!("SHOW GLOBAL STATUS LIKE '{name}'")).expect("a status").rows;
    rows[0][1].as_ref().expect("a value").parse().expect("a number")
}

/// Commits of some sessions for a while: how many there were, and syncs of the log.
fn load(server: &Server) -> (u64, u64) {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    let mut client = server.connect().expect("a connection");
    let before = status(&mut client, "Innodb_os_log_fsyncs");
    let stop = Arc::new(AtomicBool::new(false));
    let workers: Vec<_> = (0..WORKERS)
        .map(|_| {
            let (mut client, stop) = (server.connect().expect("a connection"), stop.clone());
            thread::spawn(move || {
                let mut commits = 0;
                while !stop.load(Ordering::Relaxed) {
                    let id = NEXT.fetch_add(1, Ordering::Relaxed);
                    run(&mut client, &format!("INSERT INTO d.t VALUES ({id})"));
                    commits += 1;
                }
                commits
            })
        })
        .collect();
    thread::sleep(Duration::from_secs(2));
    stop.store(true, Ordering::Relaxed);
    let commits = workers.into_iter().map(|worker| worker.join().expect("it ends")).sum();
    (commits, status(&mut client, "Innodb_os_log_fsyncs") - before)
}

fn server(scratch: &Scratch) -> Server {
    let more = ["--log-bin".to_owned(), "--innodb-flush-log-at-trx-commit=1".to_owned()].to_vec();
    let options = Options { more, pool: "64M".into(), ..Options::default() };
    let server = Server::create(Kind::Glassine, &scratch.0.join("server"), &options).expect("Glassine starts");
    let mut client = server.connect().expect("a connection");
    run(&mut client, "CREATE DATABASE d");
    run(&mut client, "CREATE TABLE d.t (id BIGINT PRIMARY KEY)");
    server
}

/// How long a statement takes.
fn time(client: &mut Client, statement: &str) -> Duration {
    let start = Instant::now();
    run(client, statement);
    start.elapsed()
}

#[test]
fn a_delay_gathers_commits_and_enough_of_them_do_not_wait_for_it() {
    let scratch = Scratch::new("group_commit").expect("a directory");
    let server = server(&scratch);
    let mut client = server.connect().expect("a connection");
    let per_sync = |(commits, syncs): (u64, u64)| commits as f64 / syncs.max(1) as f64;
    run(&mut client, "SET GLOBAL binlog_group_commit_sync_delay = 20000");
    let delayed = load(&server);
    // All workers are in each group but for those that come late.
    assert!(per_sync(delayed) > WORKERS as f64 / 2.0, "{delayed:?}");
    // A lone commit waits for the whole delay.
    assert!(time(&mut client, "INSERT INTO d.t VALUES (-1)") >= Duration::from_millis(20));

    // So many are enough, and they do not wait for a second.
    run(&mut client, "SET GLOBAL binlog_group_commit_sync_delay = 1000000");
    run(&mut client, &format!("SET GLOBAL binlog_group_commit_sync_no_delay_count = {WORKERS}"));
    let start = Instant::now();
    let counted = load(&server);
    assert!(per_sync(counted) > WORKERS as f64 / 2.0, "{counted:?}");
    assert!(counted.0 > 20 * WORKERS, "{counted:?} in {:?}", start.elapsed());

    // Without a sync there is nothing to wait for.
    run(&mut client, "SET GLOBAL innodb_flush_log_at_trx_commit = 2");
    assert!(time(&mut client, "INSERT INTO d.t VALUES (-2)") < Duration::from_millis(500));
    run(&mut client, "SET GLOBAL innodb_flush_log_at_trx_commit = 1");
}

#[test]
fn who_waits_is_killed_after_its_commit_and_goes_on_without_the_delay_or_the_server() {
    let scratch = Scratch::new("group_commit_kill").expect("a directory");
    let server = server(&scratch);
    let mut client = server.connect().expect("a connection");
    run(&mut client, "SET GLOBAL binlog_group_commit_sync_delay = 1000000");
    let waiting = |id: i64| {
        let mut client = server.connect().expect("a connection");
        let connection = client.query("SELECT CONNECTION_ID()").expect("an id").rows[0][0].clone().expect("an id");
        let start = Instant::now();
        let waiter =
            thread::spawn(move || (client.query(&format!("INSERT INTO d.t VALUES ({id})")).map(drop), start.elapsed()));
        thread::sleep(Duration::from_millis(200));
        (connection, waiter)
    };
    // A commit cannot be undone: the session is told that it has happened, or is gone, and the row is there.
    let (connection, killed) = waiting(1);
    run(&mut client, &format!("KILL {connection}"));
    let (_, took) = killed.join().expect("it ends");
    assert!(took < Duration::from_secs(3), "{took:?}");
    assert_eq!(client.query("SELECT id FROM d.t WHERE id = 1").expect("rows").rows.len(), 1);
    // Taking the delay away ends the wait.
    let (_, waiter) = waiting(2);
    run(&mut client, "SET GLOBAL binlog_group_commit_sync_delay = 0");
    let (answer, took) = waiter.join().expect("it ends");
    assert!(answer.is_ok() && took < Duration::from_millis(900), "{took:?}");
    // So does a shutdown, and the commit is there afterwards.
    run(&mut client, "SET GLOBAL binlog_group_commit_sync_delay = 1000000");
    let (_, waiter) = waiting(3);
    let directory = server.stop().expect("it stops");
    let (_, took) = waiter.join().expect("it ends");
    assert!(took < Duration::from_millis(900), "{took:?}");
    let server = Server::start(Kind::Glassine, &directory, &Options::default()).expect("it starts");
    let rows = server.connect().expect("a connection").query("SELECT COUNT(*) FROM d.t").expect("rows").rows;
    assert_eq!(rows[0][0].as_deref(), Some("3"));
}
