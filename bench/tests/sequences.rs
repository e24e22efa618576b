//! MariaDB's sequences: no number is given twice, whoever asks and whatever is killed; and they are the same on replicas and
//! in dumps, from Glassine to MariaDB and back.

use std::collections::BTreeSet;
use std::fs::File;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::thread;
use std::time::Duration;

use bench::client::Client;
use bench::process::{Kind, Options, Scratch, Server, mariadb_is_installed};
use bench::replicas::{
    assert_same, catch_up, contents, follow, follow_by_old_names, free_port, let_replicas_in, mariadb_source, options,
};

const THREADS: usize = 8;

fn run_all(client: &mut Client, statements: &[&str]) {
    for statement in statements {
        client.query(statement).unwrap_or_else(|error| panic!("{statement:.300}: {error:?}"));
    }
}

/// Asks for numbers in all the ways that there are, until the server is dead or enough were given. Half of the transactions are
/// rolled back.
fn ask(server: &Server, thread: usize, count: usize, given: &Mutex<Vec<(usize, i64)>>) {
    let Ok(mut client) = server.connect() else { return };
    for round in 0..count {
        let sequence = round % 2;
        let statements = match (round + thread) % 3 {
            0 => vec![format!("SELECT NEXTVAL(d.s{sequence})")],
            1 => vec![
                "START TRANSACTION".to_owned(),
                format!("INSERT INTO d.t{sequence} (thread) VALUES ({thread})"),
                format!("SELECT LASTVAL(d.s{sequence})"),
                if round % 4 == 1 { "ROLLBACK" } else { "COMMIT" }.to_owned(),
            ],
            _ => vec![format!("SELECT d.next{sequence}()")],
        };
        let mut value = None;
        for statement in &statements {
            let Ok(result) = client.query(statement) else { return };
            value = result.cell().and_then(|cell| cell.parse().ok()).or(value);
        }
        given.lock().expect("numbers").push((sequence, value.expect("a number")));
    }
}

/// All numbers are different, and larger than those before.
fn check(given: &[(usize, i64)], before: &mut [BTreeSet<i64>; 2]) {
    let newest = [0, 1].map(|sequence| before[sequence].last().copied().unwrap_or(0));
    for (sequence, value) in given {
        assert!(*value > newest[*sequence], "{value} of s{sequence} was passed before the kill");
        assert!(before[*sequence].insert(*value), "{value} of s{sequence} was given twice");
    }
}

#[test]
fn no_number_is_given_twice_to_many_threads_and_across_kills() {
    let scratch = Scratch::new("sequences").expect("a directory");
    let directory = scratch.0.join("glassine");
    let options = Options { more: vec!["--log-bin".to_owned()], ..Options::default() };
    let mut server = Server::create(Kind::Glassine, &directory, &options).expect("Glassine starts");
    let mut client = server.connect().expect("a connection");
    run_all(
        &mut client,
        &[
            "CREATE DATABASE d",
            "SET GLOBAL log_bin_trust_function_creators = ON",
            "CREATE SEQUENCE d.s0 NOCACHE",
            "CREATE SEQUENCE d.s1 CACHE 7",
            "CREATE TABLE d.t0 (id BIGINT PRIMARY KEY DEFAULT NEXTVAL(d.s0), thread INT)",
            "CREATE TABLE d.t1 (id BIGINT PRIMARY KEY DEFAULT NEXTVAL(d.s1), thread INT)",
            "CREATE FUNCTION d.next0() RETURNS BIGINT RETURN NEXTVAL(d.s0)",
            "CREATE FUNCTION d.next1() RETURNS BIGINT RETURN NEXTVAL(d.s1)",
        ],
    );
    let mut before = [BTreeSet::new(), BTreeSet::new()];
    for kill in 0..4 {
        let given = Mutex::new(Vec::new());
        let is_last = kill == 3;
        thread::scope(|scope| {
            for at in 0..THREADS {
                let (server, given) = (&server, &given);
                scope.spawn(move || ask(server, at, if is_last { 200 } else { usize::MAX }, given));
            }
            if is_last {
                return;
            }
            thread::sleep(Duration::from_millis(500 + 300 * kill));
            // The threads end with their connections.
            let _ = Command::new("kill").args(["-9", &server.pid().to_string()]).status();
        });
        let given = given.into_inner().expect("numbers");
        assert!(given.len() > 50, "{} numbers in round {kill}", given.len());
        check(&given, &mut before);
        if !is_last {
            server.kill();
            server = Server::start(Kind::Glassine, &directory, &options).expect("recovery");
        }
    }
    server.stop().expect("a clean shutdown");
}

/// Statements whose outcome is the same everywhere.
const HISTORY: &[&str] = &[
    "CREATE DATABASE d",
    "USE d",
    "CREATE SEQUENCE s START 5 CACHE 3",
    "SELECT NEXTVAL(s), NEXTVAL(s), NEXTVAL(s), NEXTVAL(s)",
    "CREATE TABLE t (id BIGINT PRIMARY KEY DEFAULT NEXTVAL(s), a INT)",
    "INSERT INTO t (a) VALUES (1), (2), (3)",
    "ALTER SEQUENCE s INCREMENT 10 MAXVALUE 1000 CYCLE",
    "INSERT INTO t (a) VALUES (4)",
    "DO SETVAL(s, 500)",
    "INSERT INTO t (a) VALUES (5)",
    "CREATE SEQUENCE gone",
    "DROP SEQUENCE gone",
    "CREATE SEQUENCE old",
    "RENAME TABLE old TO new",
    "CREATE OR REPLACE SEQUENCE new INCREMENT -1 MINVALUE -3 NOCACHE",
    "SELECT NEXTVAL(new)",
    "CREATE SEQUENCE put",
    "INSERT INTO put VALUES (7, 1, 70, 7, 7, 7, 1, 0)",
    "CREATE VIEW v AS SELECT PREVIOUS VALUE FOR s AS n",
    "START TRANSACTION",
    "INSERT INTO t (a) VALUES (6)",
    "ROLLBACK",
];

/// The rows of sequences and what they say of themselves.
fn sequences(server: &Server) -> Vec<String> {
    let mut client = server.connect().expect("a connection");
    let mut all = contents(server, &["d"]);
    for name in ["s", "new", "put"] {
        let row = client.query(&format!("SHOW CREATE SEQUENCE d.{name}")).expect("a sequence").rows.remove(0);
        all.push(row[1].clone().expect("a text"));
        let row = client.query(&format!("SELECT * FROM d.{name}")).expect("a row").rows.remove(0);
        all.push(format!("{row:?}"));
    }
    all
}

#[test]
fn mariadb_follows_the_sequences_of_glassine() {
    if !mariadb_is_installed() {
        println!("skipped: mariadbd is not installed");
        return;
    }
    let scratch = Scratch::new("sequences-source").expect("a directory");
    let port = free_port();
    let of_source = options(port, 7, &["--log-bin", "--gtid-mode=ON"]);
    let source = Server::create(Kind::Glassine, &scratch.0.join("source"), &of_source).expect("Glassine starts");
    let mut client = source.connect().expect("a connection");
    let_replicas_in(&mut client);
    let of_replica = options(free_port(), 8, &["--relay-log=relay"]);
    let replica = Server::create(Kind::MariaDb, &scratch.0.join("replica"), &of_replica).expect("MariaDB starts");
    let rest = ", MASTER_LOG_FILE='binlog.000001', MASTER_LOG_POS=4, MASTER_USE_GTID=no";
    follow_by_old_names(&mut replica.connect().expect("a connection"), port, rest);
    let second = options(free_port(), 9, &["--log-bin", "--gtid-mode=ON"]);
    let second = Server::create(Kind::Glassine, &scratch.0.join("second"), &second).expect("Glassine starts");
    follow(&mut second.connect().expect("a connection"), port, ", SOURCE_AUTO_POSITION = 1");
    run_all(&mut client, HISTORY);
    catch_up(&replica, &source);
    catch_up(&second, &source);
    assert_same(&sequences(&second), &sequences(&source), "Glassine as the replica");
    assert_same(&sequences(&replica), &sequences(&source), "MariaDB as the replica");
}

#[test]
fn glassine_follows_the_sequences_of_mariadb() {
    if !mariadb_is_installed() {
        println!("skipped: mariadbd is not installed");
        return;
    }
    for format in ["ROW", "MIXED"] {
        let scratch = Scratch::new("sequences-replica").expect("a directory");
        let port = free_port();
        let source = mariadb_source(&scratch.0.join("source"), port, &[&format!("--binlog-format={format}")]);
        let of_replica = options(free_port(), 8, &["--log-bin", "--gtid-mode=ON"]);
        let replica = Server::create(Kind::Glassine, &scratch.0.join("replica"), &of_replica).expect("Glassine starts");
        let rest = ", SOURCE_LOG_FILE='source.000001', SOURCE_LOG_POS=4";
        follow(&mut replica.connect().expect("a connection"), port, rest);
        run_all(&mut source.connect().expect("a connection"), HISTORY);
        catch_up(&replica, &source);
        assert_same(&sequences(&replica), &sequences(&source), format);
        // A replica that has become a source gives the numbers behind those of the old one.
        let mut client = replica.connect().expect("a connection");
        run_all(&mut client, &["STOP REPLICA", "INSERT INTO d.t (a) VALUES (7)"]);
        let again = client.query("SELECT COUNT(*) - COUNT(DISTINCT id) FROM d.t").expect("rows");
        assert_eq!(again.number(), 0);
    }
}

/// Writes the database into a file, and reads it into another server.
fn carry_over(scratch: &Scratch, from: &Server, to: &Server) {
    let file = scratch.0.join("dump.sql");
    let socket = |server: &Server| format!("--socket={}", server.socket.display());
    let written = Command::new("mariadb-dump")
        // Under LOCK TABLES, MariaDB wants the sequences of a table's defaults locked, too, which its own dumps do not do.
        .args(["--no-defaults", "-uroot", "--skip-add-locks", &socket(from), "--databases", "d"])
        .stdout(File::create(&file).expect("a file"))
        .status();
    assert!(written.expect("mariadb-dump").success());
    let read = Command::new("mariadb")
        .args(["--no-defaults", "-uroot", &socket(to)])
        .stdin(File::open(&file).expect("a file"))
        .stdout(Stdio::null())
        .status();
    assert!(read.expect("mariadb").success(), "{}", std::fs::read_to_string(&file).expect("a text"));
}

#[test]
fn dumps_carry_sequences_from_glassine_to_mariadb_and_back() {
    if !mariadb_is_installed() {
        println!("skipped: mariadbd is not installed");
        return;
    }
    let scratch = Scratch::new("sequences-dump").expect("a directory");
    let first = Server::create(Kind::Glassine, &scratch.0.join("first"), &Options::default()).expect("Glassine starts");
    let second = Server::create(Kind::MariaDb, &scratch.0.join("second"), &Options::default()).expect("MariaDB starts");
    let third = Server::create(Kind::Glassine, &scratch.0.join("third"), &Options::default()).expect("Glassine starts");
    let mut client = first.connect().expect("a connection");
    run_all(&mut client, HISTORY);
    // A table whose name comes before that of its sequence.
    run_all(&mut client, &["CREATE TABLE a (id BIGINT DEFAULT NEXTVAL(s))", "INSERT INTO a VALUES (), ()"]);
    let wanted = sequences(&first);
    carry_over(&scratch, &first, &second);
    assert_same(&sequences(&second), &wanted, "MariaDB");
    carry_over(&scratch, &second, &third);
    assert_same(&sequences(&third), &wanted, "Glassine again");
}
