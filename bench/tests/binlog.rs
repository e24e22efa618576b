//! `glassine binlog` beside MariaDB's own tool: logs that a real server wrote, all types in them; what is printed is
//! compared with what mariadb-binlog prints, and replayed.

mod logged;

use std::path::Path;

use bench::process::{Kind, Options, Scratch, Server, glassine_binary, mariadb_is_installed};
use logged::{FULL_ROW, SCHEMA, contents, printed, replay};

const WORK: [&str; 9] = [
    "SET time_zone = '+00:00'",
    FULL_ROW,
    "INSERT INTO bl.t (id) VALUES (2)",
    "UPDATE bl.t SET v = 'new', ti = 5 WHERE id = 1",
    "DELETE FROM bl.t WHERE id = 2",
    "INSERT INTO bl.t (id, v) VALUES (3, 'a'), (4, 'b')",
    "UPDATE bl.t SET v = CONCAT(v, 'q'), de = id",
    "CREATE TABLE bl.copy LIKE bl.t",
    "INSERT INTO bl.copy SELECT * FROM bl.t WHERE id > 1",
];

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
        let wanted = contents(&source);
        client.query("FLUSH BINARY LOGS").expect("the log is closed");
        drop(client);

        let log = source_directory.join("data/bin.000001");
        let ours = printed(&glassine_binary(), &["binlog", "-v"], &[&log]);
        let theirs = printed(Path::new("mariadb-binlog"), &["-v"], &[&log]);
        assert_eq!(lines_with(&ours, "###"), lines_with(&theirs, "###"), "rows, {extra}");
        if extra.ends_with('0') {
            assert_eq!(base64(&ours), base64(&theirs), "base64");
        }

        let target_directory = scratch.0.join("target");
        let target = Server::create(Kind::MariaDb, &target_directory, &Options::default()).expect("MariaDB starts");
        let replayed = printed(&glassine_binary(), &["binlog"], &[&log]);
        replay(&replayed, &target);
        assert_eq!(contents(&target), wanted, "tables after the replay, {extra}");
    }
}
