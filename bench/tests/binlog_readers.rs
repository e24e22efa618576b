//! Readers of logs from their registries: python-mysql-replication, and go-mysql, which reads files too. The rows that
//! result from what they read are compared with the table.

use std::path::{Path, PathBuf};
use std::process::Command;

use bench::client::Client;
use bench::process::{Kind, Options, Scratch, Server};
use bench::replicas::free_port;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

const PYTHON_PACKAGE: &str = "mysql-replication==1.0.17";
const GO_MODULE: &str = "github.com/go-mysql-org/go-mysql/replication@v1.12.0";

const TABLE: &str = "CREATE TABLE r.t (id INT PRIMARY KEY, ti TINYINT, bi BIGINT, de DECIMAL(20,6), d DOUBLE, y YEAR, da DATE, \
    tm TIME(3), dt DATETIME(6), ts TIMESTAMP(2) NULL, v VARCHAR(300), c CHAR(10), vb VARBINARY(20), bl MEDIUMBLOB, \
    tx TEXT, e ENUM('a','b','c'), s SET('x','y','z'), b12 BIT(12), j JSON) CHARACTER SET utf8mb4";

/// The rows as the readers print them.
const ROWS: &str = "SELECT id, ti, bi, de, d, y, da, tm, dt, ts, v, c, HEX(vb), HEX(bl), tx, e+0, s+0, b12+0, \
    REPLACE(j, ' ', '') FROM r.t";

struct Log {
    server: Server,
    port: String,
    files: Vec<String>,
    rows: Vec<String>,
    _scratch: Scratch,
}

fn value(random: &mut StdRng, column: usize) -> String {
    let number: i32 = random.random_range(-100..100);
    let text = ["", "a", "größer", "\u{1F600} q", "x'y", "  mid dle"][random.random_range(0..6)].replace('\'', "''");
    match column {
        _ if random.random_range(0..9) == 0 => "NULL".to_owned(),
        1 => number.to_string(),
        2 => (i64::from(number) << random.random_range(0..56)).to_string(),
        3 => format!("{number}.{:06}", random.random_range(0..1_000_000)),
        4 => format!("{}", f64::from(number) / 8.0),
        5 => (2000 + number / 2).to_string(),
        6 => format!("'20{:02}-02-29'", number.abs() % 24 / 4 * 4),
        // python-mysql-replication misreads the fraction of a negative time.
        7 => format!("'{:02}:11:12.{:03}'", number.abs(), number.abs() + 1),
        8 => {
            format!("'20{:02}-12-31 23:59:{:02}.{:06}'", number.abs() % 37, number.abs() % 60, number.abs() * 7919 + 1)
        }
        9 => format!("'20{:02}-06-30 23:59:{:02}.{:02}'", number.abs() % 37, number.abs() % 60, number.abs() % 97 + 1),
        10 => format!("'{}'", text.repeat(random.random_range(0..30))),
        11 => format!("'{}'", text.trim_end()),
        12 => format!("X'{:08X}FF'", random.random::<u32>()),
        13 => format!("REPEAT(X'{:08X}', {})", random.random::<u32>(), random.random_range(0..9000)),
        14 => format!("REPEAT('{text}', {})", random.random_range(0..3000)),
        15 => format!("'{}'", ["a", "b", "c"][random.random_range(0..3)]),
        16 => format!("'{}'", ["x", "x,z", "y", "x,y,z"][random.random_range(0..4)]),
        17 => random.random_range(0..4096).to_string(),
        _ => format!("'{{\"a\": {number}}}'"),
    }
}

const COLUMNS: [&str; 19] =
    ["id", "ti", "bi", "de", "d", "y", "da", "tm", "dt", "ts", "v", "c", "vb", "bl", "tx", "e", "s", "b12", "j"];

fn live(client: &mut Client) {
    let mut random = StdRng::seed_from_u64(5);
    let mut run = |statement: &str| client.query(statement).unwrap_or_else(|error| panic!("{statement:.200}: {error}"));
    for statement in ["SET time_zone = '+00:00'", "CREATE DATABASE r", TABLE] {
        run(statement);
    }
    for step in 0..150 {
        let rows: Vec<String> = (0..random.random_range(1..6))
            .map(|row| {
                let values: Vec<String> = (1..COLUMNS.len()).map(|column| value(&mut random, column)).collect();
                format!("({}, {})", step * 10 + row, values.join(", "))
            })
            .collect();
        run(&format!("INSERT INTO r.t VALUES {}", rows.join(", ")));
        let (column, from) = (random.random_range(1..COLUMNS.len()), random.random_range(0..step * 10 + 10));
        let value = value(&mut random, column);
        run(&format!("UPDATE r.t SET {} = {value} WHERE id BETWEEN {from} AND {}", COLUMNS[column], from + 50));
        if step % 5 == 0 {
            run(&format!("DELETE FROM r.t WHERE id BETWEEN {from} AND {}", from + 20));
        }
        if step % 40 == 39 {
            run("FLUSH BINARY LOGS");
        }
    }
}

fn log(name: &str) -> Log {
    let scratch = Scratch::new(name).expect("a directory");
    let port = free_port().to_string();
    let more = [
        "--log-bin",
        "--gtid-mode=ON",
        "--binlog-transaction-compression=ON",
        "--binlog-row-metadata=FULL",
        "--skip-networking=0",
        "--bind-address=127.0.0.1",
        &format!("--port={port}"),
    ];
    let options = Options { more: more.map(String::from).into(), ..Options::default() };
    let server = Server::create(Kind::Glassine, &scratch.0.join("source"), &options).expect("Glassine starts");
    let mut client = server.connect().expect("a connection");
    live(&mut client);
    let answer = client.query(ROWS).expect("rows").rows;
    let cell = |cell: Option<String>| cell.unwrap_or("NULL".to_owned());
    let mut rows: Vec<String> =
        answer.into_iter().map(|row| row.into_iter().map(cell).collect::<Vec<_>>().join("|")).collect();
    rows.sort();
    let files = client.query("SHOW BINARY LOGS").expect("files").rows;
    let files = files.into_iter().map(|row| row[0].clone().expect("a name")).collect();
    Log { server, port, files, rows, _scratch: scratch }
}

/// Runs what prepares a reader. False, and said, if that is not possible here.
fn prepares(command: &mut Command) -> bool {
    let why = match command.output() {
        Ok(output) if output.status.success() => return true,
        Ok(output) => String::from_utf8_lossy(&output.stderr).into_owned(),
        Err(cause) => cause.to_string(),
    };
    println!("skipped: {command:?}: {why:.500}");
    false
}

/// The sorted lines that a reader prints, and what it says beside.
fn read(command: &mut Command) -> (Vec<String>, String) {
    let output = command.env("TZ", "UTC").output().expect("it runs");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{command:?}: {said}");
    let mut lines: Vec<String> = String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect();
    lines.sort();
    (lines, said)
}

fn assert_same(found: &[String], wanted: &[String], what: &str) {
    for (found, wanted) in found.iter().zip(wanted) {
        for (column, (found, wanted)) in found.split('|').zip(wanted.split('|')).enumerate() {
            assert!(found == wanted, "{what}: {}: {found:.200} instead of {wanted:.200}", COLUMNS[column]);
        }
        assert!(found == wanted, "{what}: {found:.500} instead of {wanted:.500}");
    }
    assert_eq!(found.len(), wanted.len(), "{what}: rows");
    assert!(wanted.len() > 100);
}

fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/readers").join(name)
}

#[test]
fn python_mysql_replication_follows_the_log() {
    let scratch = Scratch::new("binlog_python").expect("a directory");
    let environment = scratch.0.join("venv");
    let python = environment.join("bin/python");
    let ready = prepares(Command::new("python3").args(["-m", "venv"]).arg(&environment))
        && prepares(Command::new(&python).args(["-m", "pip", "-q", "install", PYTHON_PACKAGE]));
    if !ready {
        return;
    }
    let log = log("binlog_for_python");
    let (rows, _) = read(Command::new(&python).arg(source("follow.py")).args([&log.port, &log.files[0]]));
    assert_same(&rows, &log.rows, "python-mysql-replication");
}

#[test]
fn go_mysql_reads_the_files_and_follows_the_log() {
    let scratch = Scratch::new("binlog_go").expect("a directory");
    std::fs::copy(source("follow.go"), scratch.0.join("main.go")).expect("a copy");
    let go = |arguments: &[&str]| prepares(Command::new("go").args(arguments).current_dir(&scratch.0));
    if !(go(&["mod", "init", "follow"]) && go(&["get", GO_MODULE]) && go(&["build", "-o", "follow", "."])) {
        return;
    }
    let log = log("binlog_for_go");
    let reader = scratch.0.join("follow");
    let paths = log.files.iter().map(|file| log.server.directory.join("data").join(file));
    let (rows, said) = read(Command::new(&reader).arg("files").args(paths));
    assert_same(&rows, &log.rows, "go-mysql, files");
    assert!(!said.starts_with("0 payloads"), "{said}");
    for (rule, has_payloads) in [("AUTO", false), ("ON", true)] {
        let mut client = log.server.connect().expect("a connection");
        client.query(&format!("SET GLOBAL binlog_dump_payloads = '{rule}'")).expect("a rule");
        let (rows, said) = read(Command::new(&reader).args(["server", &log.port, &log.files[0]]));
        assert_same(&rows, &log.rows, &format!("go-mysql, payloads {rule}"));
        let payloads = said.lines().find_map(|line| line.strip_suffix(" payloads")).expect("a count");
        assert_eq!(payloads != "0", has_payloads, "{said}");
    }
}
