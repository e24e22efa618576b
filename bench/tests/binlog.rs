//! `glassine binlog` beside MariaDB's own tool: logs that a real server wrote, all types in them; what is printed is
//! compared with what mariadb-binlog prints, and replayed: by MariaDB, and by Glassine through its BINLOG statement.

mod logged;

use std::path::{Path, PathBuf};

use bench::changes::{Changes, DATABASE};
use bench::client::Client;
use bench::process::{Kind, Options, Scratch, Server, glassine_binary, mariadb_is_installed};
use bench::replicas::{self, catch_up, follow, free_port, let_replicas_in};
use logged::{FULL_ROW, SCHEMA, all_rows, assert_same_rows, contents, printed, replay};

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

fn options(more: &[&str]) -> Options {
    Options { more: more.iter().map(|option| option.to_string()).collect(), pool: "64M".into(), ..Options::default() }
}

/// The files of a server's log in their order.
fn logs(server: &Server, base: &str) -> Vec<PathBuf> {
    let names = server.connect().and_then(|mut client| client.query("SHOW BINARY LOGS")).expect("logs").rows;
    assert!(!names.is_empty());
    let names = names.iter().map(|row| row[0].clone().expect("a name"));
    names.inspect(|name| assert!(name.starts_with(base))).map(|name| server.directory.join("data").join(name)).collect()
}

/// A random history, begun by this seed.
fn live(server: &Server, seed: u64, with_json: bool, steps: usize) {
    let mut client = server.connect().expect("a connection");
    let mut changes = Changes::new(seed, with_json);
    for statement in Changes::prologue() {
        client.query(&statement).expect(&statement);
    }
    for _ in 0..steps {
        for statement in changes.next_step() {
            client.query(&statement).unwrap_or_else(|error| panic!("{statement:.300}: {error:?}"));
        }
    }
}

#[test]
fn a_history_over_all_types_is_replayed_by_glassine_and_by_mariadb() {
    if !mariadb_is_installed() {
        println!("skipped: mariadbd is not installed");
        return;
    }
    let own = ["--log-bin", "--gtid-mode=ON", "--server-id=3"];
    for (seed, with_json, more) in [
        (1, true, &["--gtid-mode=ON", "--binlog-transaction-compression=ON"][..]),
        (2, false, &["--gtid-mode=ON", "--binlog-row-image=MINIMAL", "--binlog-rows-query-log-events=ON"]),
        (3, false, &["--binlog-transaction-compression=ON", "--binlog-row-image=NOBLOB", "--max-binlog-size=65536"]),
    ] {
        let scratch = Scratch::new("binlog_history").expect("a directory");
        let more = options(&[&["--log-bin", "--server-id=7"], more].concat());
        let source = Server::create(Kind::Glassine, &scratch.0.join("source"), &more).expect("Glassine starts");
        live(&source, seed, with_json, 300);
        let wanted = all_rows(&source, DATABASE);
        let text = printed(&glassine_binary(), &["binlog"], &logs(&source, "binlog"));

        // With names, if its transactions have any.
        let own = if more.more.iter().any(|option| option == "--gtid-mode=ON") { &own[..] } else { &["--log-bin"] };
        let target = Server::create(Kind::Glassine, &scratch.0.join("target"), &options(own)).expect("Glassine starts");
        replay(&text, &target);
        assert_same_rows(&all_rows(&target, DATABASE), &wanted, &format!("seed {seed}, Glassine"));
        if with_json {
            continue; // MariaDB does not read MySQL's JSON in rows.
        }
        // What was replayed has been logged.
        let again = printed(&glassine_binary(), &["binlog"], &logs(&target, "binlog"));
        for (number, text) in [text, again].iter().enumerate() {
            let directory = scratch.0.join(format!("mariadb{number}"));
            let target = Server::create(Kind::MariaDb, &directory, &Options::default()).expect("MariaDB starts");
            replay(text, &target);
            assert_same_rows(&all_rows(&target, DATABASE), &wanted, &format!("seed {seed}, MariaDB {number}"));
        }
    }
}

/// The checksum that the description of a file names.
fn checksum_of(path: &Path) -> u8 {
    let file = std::fs::read(path).expect("a log");
    let end = 4 + u32::from_le_bytes(file[13..17].try_into().expect("4 bytes")) as usize;
    file[end - 5]
}

#[test]
fn binlog_checksum_changes_while_a_replica_follows_and_files_of_both_kinds_outlive_kills() {
    let scratch = Scratch::new("binlog_checksum").expect("a directory");
    let port = free_port();
    let own = replicas::options(port, 1, &["--log-bin", "--gtid-mode=ON", "--binlog-checksum=NONE"]);
    let directory = scratch.0.join("source");
    let mut source = Server::create(Kind::Glassine, &directory, &own).expect("Glassine starts");
    let_replicas_in(&mut source.connect().expect("a connection"));
    let replica = Server::create(Kind::Glassine, &scratch.0.join("replica"), &options(&["--server-id=2"]));
    let replica = replica.expect("Glassine starts");
    follow(&mut replica.connect().expect("a connection"), port, ", SOURCE_AUTO_POSITION = 1");
    let mut changes = Changes::new(21, true);
    let mut client = source.connect().expect("a connection");
    let run = |client: &mut Client, statement: &str| {
        client.query(statement).unwrap_or_else(|error| panic!("{statement:.200}: {error:?}"));
    };
    Changes::prologue().iter().for_each(|statement| run(&mut client, statement));
    run(&mut client, "CREATE TABLE history.long (id INT PRIMARY KEY AUTO_INCREMENT, body MEDIUMTEXT)");
    for (round, checksum) in ["NONE", "CRC32", "NONE", "CRC32"].into_iter().enumerate() {
        // A long transaction begins before the change, and commits behind it.
        let mut long = source.connect().expect("a connection");
        run(&mut long, "BEGIN");
        for _ in 0..12 {
            run(&mut long, "INSERT INTO history.long (body) VALUES (REPEAT(RAND(), 60000))");
        }
        run(&mut client, &format!("SET GLOBAL binlog_checksum = {checksum}"));
        (0..40).flat_map(|_| changes.next_step()).for_each(|statement| run(&mut client, &statement));
        run(&mut long, "COMMIT");
        run(&mut client, &format!("INSERT INTO history.long (body) VALUES ('{round}')"));
        if round % 2 == 1 {
            source.kill();
            source = Server::start(Kind::Glassine, &directory, &own).expect("Glassine recovers");
            client = source.connect().expect("a connection");
        }
    }
    catch_up(&replica, &source);
    assert_same_rows(&all_rows(&replica, DATABASE), &all_rows(&source, DATABASE), "the replica");
    let logs = logs(&source, "binlog");
    let kinds: Vec<u8> = logs.iter().map(|path| checksum_of(path)).collect();
    assert!(kinds.contains(&0) && kinds.contains(&1), "{kinds:?}");
    printed(&glassine_binary(), &["binlog", "--verify"], &logs);
    printed(&glassine_binary(), &["binlog", "estimate"], &logs);
    if mariadb_is_installed() {
        let theirs = printed(Path::new("mariadb-binlog"), &["--verify-binlog-checksum"], &logs);
        assert!(theirs.contains("INSERT INTO history.long") || theirs.contains("BINLOG '"), "{theirs:.500}");
    }
}

#[test]
fn glassine_replays_what_mariadb_and_its_tool_have_printed() {
    if !mariadb_is_installed() {
        println!("skipped: mariadbd is not installed");
        return;
    }
    for (seed, extra) in [(11, "--log-bin-compress=0"), (12, "--log-bin-compress=1")] {
        let scratch = Scratch::new("binlog_mariadb").expect("a directory");
        let more = ["--log-bin=bin", "--binlog-format=ROW", "--server-id=7", "--log-bin-compress-min-len=10", extra];
        let source = Server::create(Kind::MariaDb, &scratch.0.join("source"), &options(&more)).expect("MariaDB starts");
        live(&source, seed, false, 250);
        let mut client = source.connect().expect("a connection");
        // A statement of more rows than fit into one BINLOG statement.
        client.query("USE history").expect("the database");
        client.query("CREATE TABLE history.many (id INT PRIMARY KEY, v VARCHAR(100))").expect("a table");
        client.query("INSERT INTO history.many SELECT seq, REPEAT('v', 90) FROM seq_1_to_100000").expect("rows");
        let wanted = all_rows(&source, DATABASE);
        let logs = logs(&source, "bin");
        let theirs = printed(Path::new("mariadb-binlog"), &[], &logs);
        let ours = printed(&glassine_binary(), &["binlog"], &logs);
        for (number, text) in [theirs, ours].iter().enumerate() {
            let directory = scratch.0.join(format!("target{number}"));
            let target = Server::create(Kind::Glassine, &directory, &options(&["--log-bin"])).expect("Glassine starts");
            replay(text, &target);
            assert_same_rows(&all_rows(&target, DATABASE), &wanted, &format!("{extra}, tool {number}"));
        }
    }
}
