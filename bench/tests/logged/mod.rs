//! What the tests of binary logs share: a table of all types, tools that print a log, and servers that replay it.

// Each test uses a part of it.
#![allow(dead_code)]

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use bench::process::Server;

pub const SCHEMA: &str =
    "CREATE TABLE bl.t (id INT PRIMARY KEY AUTO_INCREMENT, ti TINYINT, tu TINYINT UNSIGNED, sm SMALLINT,
    mi MEDIUMINT, mu MEDIUMINT UNSIGNED, bi BIGINT, bu BIGINT UNSIGNED, f FLOAT, d DOUBLE, de DECIMAL(20,6), y YEAR,
    da DATE, t TIME, t3 TIME(3), dt DATETIME, dt6 DATETIME(6), ts TIMESTAMP NULL, ts2 TIMESTAMP(2) NULL, c CHAR(10),
    cl CHAR(100) CHARACTER SET utf8mb4, cb BINARY(4), v VARCHAR(20), vl VARCHAR(300), vb VARBINARY(20), tx TEXT,
    bl MEDIUMBLOB, e ENUM('a','b','c'), s SET('x','y','z'), b1 BIT(1), b12 BIT(12))";

/// A row with a value of each type.
pub const FULL_ROW: &str =
    "INSERT INTO bl.t VALUES (1, -1, 255, -2, -3, 16777215, -4, 18446744073709551615, 1.5, -2.25e10, -12345.678901,
        2024, '2024-02-29', '-838:59:58', '10:11:12.123', '2024-02-29 23:59:58', '2024-02-29 23:59:58.123456',
        '2024-02-29 23:59:58', '2024-02-29 23:59:58.12', 'ab', 'long ä', X'61006200', 'plain', 'long', X'01FF', 'text',
        X'0001', 'b', 'x,z', 1, 0xaaa)";

/// What one of the tools prints.
pub fn printed<L: AsRef<Path>>(program: &Path, arguments: &[&str], logs: &[L]) -> String {
    let logs = logs.iter().map(AsRef::as_ref);
    let output = Command::new(program).args(arguments).args(logs).output().expect("the tool runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// All rows of both tables.
pub fn contents(server: &Server) -> Vec<String> {
    let mut client = server.connect().expect("a connection");
    client.query("SET time_zone = '+00:00'").expect("the zone");
    ["bl.t", "bl.copy"]
        .map(|table| format!("{:?}", client.query(&format!("SELECT * FROM {table} ORDER BY id")).expect("rows").rows))
        .into()
}

/// Lets a server execute what a tool has printed.
pub fn replay(text: &str, target: &Server) {
    let mut shell = Command::new("mariadb")
        .args(["--no-defaults", "-uroot", "-S"])
        .arg(&target.socket)
        .stdin(Stdio::piped())
        .spawn()
        .expect("the client starts");
    shell.stdin.take().expect("a pipe").write_all(text.as_bytes()).expect("the client reads");
    assert!(shell.wait().expect("the client ends").success(), "the replay fails");
}

/// All rows of all tables of a database.
pub fn all_rows(server: &Server, database: &str) -> Vec<String> {
    let mut client = server.connect().expect("a connection");
    client.query("SET time_zone = '+00:00'").expect("the zone");
    let tables = client.query(&format!("SHOW TABLES FROM {database}")).expect("tables").rows;
    let rows = tables.iter().filter_map(|row| row[0].as_ref()).map(|table| {
        let rows = client.query(&format!("SELECT * FROM {database}.{table} ORDER BY id")).expect("rows");
        format!("{table}: {:?} {:?}", rows.columns, rows.rows)
    });
    rows.collect()
}

/// Fails at the first difference.
pub fn assert_same_rows(found: &[String], wanted: &[String], what: &str) {
    assert_eq!(found.len(), wanted.len(), "{what}: tables");
    for (found, wanted) in found.iter().zip(wanted) {
        if found != wanted {
            let at = wanted.bytes().zip(found.bytes()).position(|(a, b)| a != b).unwrap_or(0).saturating_sub(200);
            let tail = |text: &str| String::from_utf8_lossy(&text.as_bytes()[at.min(text.len())..]).into_owned();
            panic!("{what}: at {at}\nfound  {:.400}\nwanted {:.400}", tail(found), tail(wanted));
        }
    }
}
