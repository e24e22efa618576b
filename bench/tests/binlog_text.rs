//! The text of a log carries everything: definitions, accounts, branches, names of transactions; and continues a dump that
//! was made in the middle of load.

mod logged;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bench::changes::{Changes, DATABASE};
use bench::client::Client;
use bench::process::{Kind, Options, Scratch, Server, glassine_binary, mariadb_is_installed};
use bench::replicas::{self, follow, free_port, let_replicas_in};
use logged::{all_rows, assert_same_rows, printed, replay};

/// What servers of all kinds execute and read.
const WORK: [&str; 57] = [
    "SET time_zone = '+00:00'",
    "CREATE DATABASE d",
    "USE d",
    "CREATE TABLE p (id INT PRIMARY KEY AUTO_INCREMENT, v VARCHAR(20))",
    "CREATE TABLE c (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES p (id) ON DELETE CASCADE ON UPDATE CASCADE)",
    "INSERT INTO p (v) VALUES ('a'), ('b'), ('c')",
    "INSERT INTO c VALUES (1, 1), (2, 2), (3, 3)",
    "DELETE FROM p WHERE id = 1",
    "UPDATE p SET id = 20 WHERE id = 2",
    "XA START 'one'",
    "INSERT INTO p (v) VALUES ('one')",
    "XA END 'one'",
    "XA PREPARE 'one'",
    "XA COMMIT 'one'",
    "XA START 'two', 'br', 7",
    "INSERT INTO p (v) VALUES ('two')",
    "XA END 'two', 'br', 7",
    "XA PREPARE 'two', 'br', 7",
    "XA ROLLBACK 'two', 'br', 7",
    "XA START 'three'",
    "INSERT INTO p (v) VALUES ('three')",
    "XA END 'three'",
    "XA COMMIT 'three' ONE PHASE",
    "CREATE TABLE s SELECT id, v FROM p",
    "CREATE TABLE s2 (n INT AUTO_INCREMENT PRIMARY KEY, KEY (v)) COMMENT='it''s' SELECT id, v FROM p",
    "CREATE TABLE s3 (PRIMARY KEY (id)) SELECT id, v FROM p WHERE FALSE",
    "SET time_zone = '+05:00', sql_mode = ''",
    "CREATE TABLE z (id INT, t TIMESTAMP DEFAULT '2020-01-01 00:00:00', d DATE DEFAULT '0000-00-00')",
    "INSERT INTO z () VALUES ()",
    "INSERT INTO z (id, t) VALUES (1, '2021-06-01 12:00:00')",
    "SET time_zone = '+00:00', sql_mode = DEFAULT",
    "BEGIN",
    "INSERT INTO s VALUES (99, 'in')",
    "SAVEPOINT q",
    "INSERT INTO s VALUES (100, 'out')",
    "ROLLBACK TO q",
    "COMMIT",
    "CREATE TEMPORARY TABLE tt (a INT)",
    "INSERT INTO tt VALUES (1)",
    "INSERT INTO s SELECT a, 'tt' FROM tt",
    "DROP TEMPORARY TABLE tt",
    "CREATE TABLE nokey (id INT, b TEXT)",
    "INSERT INTO nokey VALUES (1, 'x'), (1, 'x'), (2, NULL)",
    "DELETE FROM nokey WHERE id = 1 LIMIT 1",
    "RENAME TABLE nokey TO `no key``x`",
    "ALTER TABLE `no key``x` ADD INDEX (id), ADD COLUMN more DOUBLE",
    "UPDATE `no key``x` SET more = -1.5e-7",
    "CREATE TABLE `zu``sätz` (id INT PRIMARY KEY) COMMENT='/* x */ ; DELIMITER //'",
    "INSERT INTO `zu``sätz` VALUES (7)",
    "CREATE INDEX ix ON s (id)",
    "DROP INDEX ix ON s",
    "TRUNCATE TABLE z",
    "INSERT INTO z (id) VALUES (2)",
    "CREATE TABLE ge (id INT PRIMARY KEY, g GEOMETRY NOT NULL, p POINT)",
    "INSERT INTO ge VALUES (1, POINT(1, 2), NULL), (2, ST_GeomFromText('POLYGON((0 0,1 0,1 1,0 0))'), POINT(3, -4.5))",
    "UPDATE ge SET g = ST_GeomFromText('GEOMETRYCOLLECTION(POINT(1 2),LINESTRING(0 0,1 1))', 4326) WHERE id = 2",
    "SET sql_mode = ''",
];

/// What Glassine alone is to carry on; the branch stays prepared.
const MORE: [&str; 9] = [
    "CREATE USER reader@localhost IDENTIFIED BY 'x' COMMENT 'für \\\\ ''alle'''",
    "CREATE USER 'back\\\\slash''s'@localhost ATTRIBUTE '{\"ü\": \"a\\\\\\\\b\"}'",
    "GRANT SELECT ON d.* TO 'back\\\\slash''s'@localhost",
    "CREATE TABLE d.j (id INT PRIMARY KEY, j JSON)",
    r#"INSERT INTO d.j VALUES (1, '{"a": [1, 2.5, "x"]}'), (2, NULL)"#,
    "XA START 'left'",
    "INSERT INTO d.p (v) VALUES ('left')",
    "XA END 'left'",
    "XA PREPARE 'left'",
];

fn options(more: &[&str]) -> Options {
    Options { more: more.iter().map(|option| option.to_string()).collect(), pool: "64M".into(), ..Options::default() }
}

fn glassine(scratch: &Scratch, name: &str, more: &[&str]) -> Server {
    Server::create(Kind::Glassine, &scratch.0.join(name), &options(more)).expect("Glassine starts")
}

fn run(client: &mut Client, statement: &str) {
    client.query(statement).unwrap_or_else(|error| panic!("{statement:.200}: {error:?}"));
}

fn logs(server: &Server) -> Vec<PathBuf> {
    let names = server.connect().and_then(|mut client| client.query("SHOW BINARY LOGS")).expect("logs").rows;
    names.iter().map(|row| server.directory.join("data").join(row[0].as_ref().expect("a name"))).collect()
}

/// All rows of the database d, and what a statement answers.
fn state(server: &Server, questions: &[&str]) -> Vec<String> {
    let mut client = server.connect().expect("a connection");
    run(&mut client, "SET time_zone = '+00:00'");
    let tables = client.query("SHOW TABLES FROM d").expect("tables").rows;
    let mut state: Vec<String> = Vec::new();
    for table in tables.iter().filter_map(|row| row[0].as_ref()) {
        let quoted = table.replace('`', "``");
        let mut rows = client.query(&format!("SELECT * FROM d.`{quoted}`")).expect("rows").rows;
        rows.sort();
        state.push(format!("{table}: {rows:?}"));
    }
    for question in questions {
        state.push(format!("{question}: {:?}", client.query(question).expect(question).rows));
    }
    state
}

#[test]
fn the_text_of_a_log_carries_definitions_accounts_branches_and_names() {
    for compression in ["--binlog-transaction-compression=ON", "--binlog-rows-query-log-events=ON"] {
        let scratch = Scratch::new("binlog_text").expect("a directory");
        let own = ["--log-bin", "--gtid-mode=ON", compression];
        let source = glassine(&scratch, "source", &own);
        let mut client = source.connect().expect("a connection");
        WORK.iter().for_each(|statement| run(&mut client, statement));
        let plain = printed(&glassine_binary(), &["binlog", "--skip-gtids"], &logs(&source));
        if mariadb_is_installed() {
            let wanted = state(&source, &[]);
            let directory = scratch.0.join("mariadb");
            let target = Server::create(Kind::MariaDb, &directory, &Options::default()).expect("MariaDB starts");
            replay(&plain, &target);
            assert_same_rows(&state(&target, &[]), &wanted, &format!("MariaDB, {compression}"));
        }
        MORE.iter().for_each(|statement| run(&mut client, statement));
        let questions = [
            "SELECT @@GLOBAL.gtid_executed",
            "XA RECOVER",
            "SHOW CREATE TABLE d.`zu``sätz`",
            "SHOW CREATE TABLE d.c",
            "SELECT * FROM information_schema.user_attributes ORDER BY user",
            "SHOW GRANTS FOR 'back\\\\slash''s'@localhost",
        ];
        let wanted = state(&source, &questions);
        let text = printed(&glassine_binary(), &["binlog"], &logs(&source));
        let target = glassine(&scratch, "target", &own);
        replay(&text, &target);
        assert_same_rows(&state(&target, &questions), &wanted, compression);
        // What is there already is passed over, by its name.
        replay(&text, &target);
        assert_same_rows(&state(&target, &questions), &wanted, &format!("{compression}, again"));
        let mut on_target = target.connect().expect("a connection");
        let exists = on_target.query("CREATE USER reader@localhost").map_err(|error| error.code());
        assert_eq!(exists.err(), Some(Some(1396)), "the account is there");
        // What was replayed has been logged in the same way.
        let again = printed(&glassine_binary(), &["binlog"], &logs(&target));
        let third = glassine(&scratch, "third", &own);
        replay(&again, &third);
        assert_same_rows(&state(&third, &questions), &wanted, &format!("{compression}, from the replay's log"));
    }
}

/// The rows of CREATE TABLE ... SELECT are logged in the table's database. A client whose database is dropped has none, and
/// has to be told of the one that comes again under the same name.
#[test]
fn the_text_of_a_log_uses_a_database_again_that_was_dropped() {
    let scratch = Scratch::new("binlog_text_again").expect("a directory");
    let source = glassine(&scratch, "source", &["--log-bin"]);
    let mut client = source.connect().expect("a connection");
    for statement in [
        "CREATE DATABASE d",
        "CREATE TABLE d.t SELECT 1 AS id",
        "DROP DATABASE d",
        "CREATE DATABASE d",
        "CREATE TABLE d.t SELECT 2 AS id",
    ] {
        run(&mut client, statement);
    }
    let target = glassine(&scratch, "target", &[]);
    replay(&printed(&glassine_binary(), &["binlog"], &logs(&source)), &target);
    assert_same_rows(&state(&target, &[]), &state(&source, &[]), "replayed");
}

/// Lets a server execute a file.
fn feed(path: &Path, target: &Server) {
    let from = std::fs::File::open(path).expect("the file");
    let mut shell = Command::new("mariadb");
    let status = shell.args(["--no-defaults", "-uroot", "-S"]).arg(&target.socket).stdin(Stdio::from(from)).status();
    assert!(status.expect("the client runs").success(), "{}", path.display());
}

#[test]
fn a_dump_and_the_log_behind_it_are_the_source() {
    if !mariadb_is_installed() {
        println!("skipped: mariadb-dump is not installed");
        return;
    }
    let scratch = Scratch::new("binlog_dump").expect("a directory");
    let own = ["--log-bin", "--gtid-mode=ON", "--binlog-transaction-compression=ON", "--max-binlog-size=65536"];
    let source = glassine(&scratch, "source", &own);
    let mut client = source.connect().expect("a connection");
    for statement in Changes::prologue() {
        run(&mut client, &statement);
    }
    let mut changes = Changes::new(51, true);
    let mut live = |client: &mut Client, steps: usize| {
        for _ in 0..steps {
            changes.next_step().iter().for_each(|statement| run(client, statement));
        }
    };
    live(&mut client, 200);
    run(&mut client, "CREATE TABLE history.counts (id INT PRIMARY KEY, n INT)");
    run(&mut client, "INSERT INTO history.counts VALUES (1, 0), (2, 0)");
    // Definitions stand still while a dump is made, rows do not.
    let stop = Arc::new(AtomicBool::new(false));
    let load = std::thread::spawn({
        let (stop, mut client) = (stop.clone(), source.connect().expect("a connection"));
        move || {
            while !stop.load(Ordering::Relaxed) {
                run(&mut client, "UPDATE history.counts SET n = n + 1");
            }
        }
    });
    let dump = scratch.0.join("dump.sql");
    let made = Command::new("mariadb-dump")
        .args(["--no-defaults", "-uroot", "--single-transaction", "--master-data=2", "--hex-blob"])
        .args(["--all-databases", "--ignore-database=sys", "-S"])
        .arg(&source.socket)
        .stdout(std::fs::File::create(&dump).expect("a file"))
        .status();
    assert!(made.expect("it runs").success());
    std::thread::sleep(std::time::Duration::from_millis(100));
    stop.store(true, Ordering::Relaxed);
    load.join().expect("it ends");
    live(&mut client, 200);

    let text = std::fs::read(&dump).expect("the dump");
    let text = String::from_utf8_lossy(&text);
    let place = text.lines().find_map(|line| line.strip_prefix("-- CHANGE MASTER TO MASTER_LOG_FILE='"));
    let (file, rest) = place.and_then(|place| place.split_once("', MASTER_LOG_POS=")).expect("a place");
    let position = rest.trim_end_matches(';').to_owned();
    let behind: Vec<PathBuf> = logs(&source).into_iter().skip_while(|path| !path.ends_with(file)).collect();
    assert!(behind.len() > 1, "{behind:?} from {file}:{position} on");
    let changed = text.contains("(1,0),(2,0)");
    let wanted = all_rows(&source, DATABASE);
    let behind = printed(&glassine_binary(), &["binlog", "-j", &position], &behind);
    // The names of transactions go with them.
    let target = glassine(&scratch, "target", &own);
    feed(&dump, &target);
    replay(&behind, &target);
    assert_same_rows(&all_rows(&target, DATABASE), &wanted, &format!("from {file}:{position} on, {changed}"));
}

/// What `glassine binlog estimate` says of a log without compression is what the same work takes with it.
#[test]
fn the_estimate_of_compression_is_near_what_it_saves() {
    const ERROR_MAX: f64 = 0.05;
    let scratch = Scratch::new("binlog_estimate").expect("a directory");
    let server = glassine(&scratch, "server", &["--log-bin", "--gtid-mode=ON"]);
    let mut client = server.connect().expect("a connection");
    run(&mut client, "CREATE DATABASE e");
    let mut bytes_at = |level: Option<u32>| -> (PathBuf, f64) {
        run(&mut client, "FLUSH BINARY LOGS");
        let file = logs(&server).pop().expect("a file");
        let set =
            level.map_or("OFF".to_owned(), |level| format!("ON, binlog_transaction_compression_level_zstd = {level}"));
        run(&mut client, &format!("SET binlog_transaction_compression = {set}"));
        run(&mut client, "CREATE TABLE e.t (id INT PRIMARY KEY AUTO_INCREMENT, a INT, v VARCHAR(200), t TEXT)");
        for step in 0..600_u64 {
            let word = step.wrapping_mul(0x9e37_79b9_7f4a_7c15);
            match step % 4 {
                0 | 1 => {
                    let text = "lorem ipsum dolor ".repeat(step as usize % 9);
                    let row = format!("({step}, 'customer {step} of street {word:x}', '{text}')");
                    let rows = vec![row; 1 + step as usize % 5].join(", ");
                    run(&mut client, &format!("INSERT INTO e.t (a, v, t) VALUES {rows}"));
                }
                2 => run(&mut client, &format!("UPDATE e.t SET a = a + 1 WHERE id = {}", step / 2 + 1)),
                _ => {
                    run(&mut client, "BEGIN");
                    run(&mut client, &format!("UPDATE e.t SET v = '{word:x}' WHERE id < {}", step / 10));
                    run(&mut client, &format!("DELETE FROM e.t WHERE id = {}", step / 3));
                    run(&mut client, "COMMIT");
                }
            }
        }
        run(&mut client, "INSERT INTO e.t (a, v, t) SELECT a, v, t FROM e.t");
        run(&mut client, "UPDATE e.t SET a = a + 5");
        run(&mut client, "DROP TABLE e.t");
        run(&mut client, "FLUSH BINARY LOGS");
        let bytes = std::fs::metadata(&file).expect("the file").len() as f64;
        (file, bytes)
    };
    let (plain, plain_bytes) = bytes_at(None);
    let levels = [1, 3, 6, 12];
    let text = printed(&glassine_binary(), &["binlog", "estimate", "--levels", "1,3,6,12"], &[plain]);
    for level in levels {
        let (_, found) = bytes_at(Some(level));
        let cells: Option<Vec<&str>> = text.lines().map(|line| line.trim_matches('│')).find_map(|line| {
            let cells: Vec<&str> = line.split('┆').map(str::trim).collect();
            (cells[0] == level.to_string()).then_some(cells)
        });
        let said: f64 = cells.as_ref().and_then(|cells| cells[1].parse().ok()).unwrap_or_else(|| panic!("{text}"));
        println!("level {level}: {said} bytes estimated, {found} written, {plain_bytes} without compression");
        assert!((said / found - 1.0).abs() <= ERROR_MAX, "level {level}: {said} is not {found}");
        assert!(found < plain_bytes / 2.0);
    }
}

/// The log of MySQL 8.0.40 in mariadb-test-data, with payloads, a statement, and a partial update of JSON: as a text, to a
/// replica, and behind a backup.
#[test]
fn a_log_of_mysql_is_replayed_whole() {
    let log = Path::new("/usr/share/mysql/mysql-test/std_data/mdev35643_mysql_80_binlog.000001");
    if !log.exists() {
        println!("skipped: {} is missing", log.display());
        return;
    }
    let assert_whole = |server: &Server, how: &str| {
        let mut client = server.connect().expect("a connection");
        let rows = client.query("SELECT COUNT(*), SUM(a), SUM(b), SUM(LENGTH(c)) FROM test.t1").expect("rows").rows;
        let found: Vec<Option<&str>> = rows[0].iter().map(|value| value.as_deref()).collect();
        assert_eq!(found, [Some("105"), Some("104965"), Some("4950"), Some("10818")], "{how}");
        let json = client.query("SELECT b FROM test.t2").expect("a value").rows;
        let expected = format!("{{\"a\": \"hulu\", \"b\": \"{}\", \"c\": \"bulu\"}}", "oOo".repeat(50));
        assert_eq!(json[0][0], Some(expected), "{how}");
    };
    let scratch = Scratch::new("binlog_mysql").expect("a directory");
    let target = glassine(&scratch, "target", &["--log-bin"]);
    run(&mut target.connect().expect("a connection"), "CREATE DATABASE IF NOT EXISTS test");
    replay(&printed(&glassine_binary(), &["binlog", "--skip-gtids"], &[log]), &target);
    assert_whole(&target, "as a text");

    // The file takes the place of a source's first one, which has no transactions. The description stays: by its time a
    // backup knows the log.
    let own = ["--log-bin=master-bin", "--server-id=7"];
    let source = glassine(&scratch, "source", &own);
    run(&mut source.connect().expect("a connection"), "CREATE DATABASE IF NOT EXISTS test");
    run(&mut source.connect().expect("a connection"), "RESET MASTER");
    let archive = scratch.0.join("archive");
    let mut backup = Command::new(glassine_binary());
    backup.args(["backup", "--socket"]).arg(&source.socket).arg("--to").arg(&archive);
    assert!(backup.status().expect("it runs").success());
    let directory = source.stop().expect("it stops");
    let path = directory.join("data/master-bin.000001");
    let (own_file, file) = (std::fs::read(&path).expect("the log"), std::fs::read(log).expect("MySQL's log"));
    let description_end = |file: &[u8]| 4 + u32::from_le_bytes(file[13..17].try_into().expect("4 bytes")) as usize;
    let end = description_end(&file);
    assert_eq!(description_end(&own_file), end, "descriptions have one length");
    std::fs::write(&path, [&own_file[..end], &file[end..]].concat()).expect("a copy");
    let port = free_port();
    let source = Server::start(Kind::Glassine, &directory, &replicas::options(port, 7, &own[..1])).expect("it starts");
    let_replicas_in(&mut source.connect().expect("a connection"));
    let replica = glassine(&scratch, "replica", &["--server-id=8"]);
    let mut on_replica = replica.connect().expect("a connection");
    run(&mut on_replica, "CREATE DATABASE IF NOT EXISTS test");
    follow(&mut on_replica, port, ", SOURCE_LOG_FILE = 'master-bin.000001', SOURCE_LOG_POS = 4");
    let waited = on_replica.query("SELECT SOURCE_POS_WAIT('master-bin.000002', 4, 60)").expect("an answer").rows;
    let status = on_replica.query("SHOW REPLICA STATUS").expect("a status").rows;
    assert!(waited[0][0].as_deref().is_some_and(|count| count != "-1"), "{waited:?}: {status:?}");
    assert_whole(&replica, "to a replica");

    let restored = scratch.0.join("restored");
    std::fs::create_dir_all(&restored).expect("a directory");
    let mut restore = Command::new(glassine_binary());
    restore.arg("restore").arg(&archive).arg("--datadir").arg(restored.join("data")).arg("--logs");
    restore.arg(source.directory.join("data/master-bin.000001")).arg("--to-time=2030-01-01 00:00:00");
    let output = restore.output().expect("it runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let restored = Server::start(Kind::Glassine, &restored, &options(&[])).expect("it starts");
    assert_whole(&restored, "behind a backup");
}
