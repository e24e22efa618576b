//! `glassine binlog` beside MariaDB's own tool: logs that a real server wrote, all types in them; what is printed is
//! compared with what mariadb-binlog prints, and replayed.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use bench::process::{Kind, Options, Scratch, Server, glassine_binary, mariadb_is_installed};

const SCHEMA: &str =
    "CREATE TABLE bl.t (id INT PRIMARY KEY AUTO_INCREMENT, ti TINYINT, tu TINYINT UNSIGNED, sm SMALLINT,
    mi MEDIUMINT, mu MEDIUMINT UNSIGNED, bi BIGINT, bu BIGINT UNSIGNED, d DOUBLE, de DECIMAL(20,6), y YEAR, da DATE,
    t TIME, t3 TIME(3), dt DATETIME, dt6 DATETIME(6), ts TIMESTAMP NULL, ts2 TIMESTAMP(2) NULL, c CHAR(10),
    cl CHAR(100) CHARACTER SET utf8mb4, cb BINARY(4), v VARCHAR(20), vl VARCHAR(300), vb VARBINARY(20), tx TEXT,
    bl MEDIUMBLOB, e ENUM('a','b','c'), s SET('x','y','z'), b1 BIT(1), b12 BIT(12))";

const WORK: [&str; 9] = [
    "SET time_zone = '+00:00'",
    "INSERT INTO bl.t VALUES (1, -1, 255, -2, -3, 16777215, -4, 18446744073709551615, -2.25e10, -12345.678901, 2024,
        '2024-02-29', '-838:59:58', '10:11:12.123', '2024-02-29 23:59:58', '2024-02-29 23:59:58.123456',
        '2024-02-29 23:59:58', '2024-02-29 23:59:58.12', 'ab', 'long', X'61006200', 'plain', 'long', X'01FF', 'text',
        X'0001', 'b', 'x,z', 1, 0xaaa)",
    "INSERT INTO bl.t (id) VALUES (2)",
    "UPDATE bl.t SET v = 'new', ti = 5 WHERE id = 1",
    "DELETE FROM bl.t WHERE id = 2",
    "INSERT INTO bl.t (id, v) VALUES (3, 'a'), (4, 'b')",
    "UPDATE bl.t SET v = CONCAT(v, 'q'), de = id",
    "CREATE TABLE bl.copy LIKE bl.t",
    "INSERT INTO bl.copy SELECT * FROM bl.t WHERE id > 1",
];

/// What one of the two tools prints.
fn printed(program: &Path, arguments: &[&str], log: &Path) -> String {
    let output = Command::new(program).args(arguments).arg(log).output().expect("the tool runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn lines_with<'a>(text: &'a str, prefix: &str) -> Vec<&'a str> {
    text.lines().filter(|line| line.starts_with(prefix)).map(str::trim_end).collect()
}

/// The lines of base64 text.
fn base64(text: &str) -> Vec<&str> {
    let mut inside = false;
    text.lines()
        .filter(|line| {
            let was = inside;
            inside = line.starts_with("BINLOG '") || inside && !line.starts_with('\'');
            was && inside
        })
        .collect()
}

fn checksum(server: &Server) -> Vec<String> {
    let mut client = server.connect().expect("a connection");
    ["bl.t", "bl.copy"]
        .map(|table| {
            let rows = client.query(&format!("SELECT * FROM {table} ORDER BY id")).expect("rows");
            format!("{rows:?}")
        })
        .into()
}

#[test]
fn a_log_of_mariadb_reads_as_its_own_tool_reads_it_and_can_be_replayed() {
    if !mariadb_is_installed() {
        println!("skipped: mariadbd is not installed");
        return;
    }
    for extra in ["--log-bin-compress=0", "--log-bin-compress=1"] {
        let scratch = Scratch::new("binlog").expect("a directory");
        let source_directory = scratch.0.join("source");
        let more = ["--log-bin=bin", "--binlog-format=ROW", "--server-id=7", "--log-bin-compress-min-len=10", extra];
        let options = Options { more: more.map(String::from).into(), ..Options::default() };
        let source = Server::create(Kind::MariaDb, &source_directory, &options).expect("MariaDB starts");
        let mut client = source.connect().expect("a connection");
        for statement in ["CREATE DATABASE bl", SCHEMA].iter().chain(&WORK) {
            client.query(statement).expect(statement);
        }
        let wanted = checksum(&source);
        client.query("FLUSH BINARY LOGS").expect("the log is closed");
        drop(client);

        let log = source_directory.join("data/bin.000001");
        let ours = printed(&glassine_binary(), &["binlog", "-v"], &log);
        let theirs = printed(Path::new("mariadb-binlog"), &["-v"], &log);
        assert_eq!(lines_with(&ours, "###"), lines_with(&theirs, "###"), "rows, {extra}");
        if extra.ends_with('0') {
            assert_eq!(base64(&ours), base64(&theirs), "base64");
        }

        let target_directory = scratch.0.join("target");
        let target = Server::create(Kind::MariaDb, &target_directory, &Options::default()).expect("MariaDB starts");
        let replayed = printed(&glassine_binary(), &["binlog"], &log);
        let mut shell = Command::new("mariadb")
            .args(["--no-defaults", "-uroot", "-S"])
            .arg(&target.socket)
            .stdin(Stdio::piped())
            .spawn()
            .expect("the client starts");
        shell.stdin.take().expect("a pipe").write_all(replayed.as_bytes()).expect("the client reads");
        assert!(shell.wait().expect("the client ends").success(), "replay, {extra}");
        assert_eq!(checksum(&target), wanted, "tables after the replay, {extra}");
    }
}
