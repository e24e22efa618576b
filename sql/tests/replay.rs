//! BINLOG: rows of a log as text, by hand where tools would not print them; and what a replica makes of statements.

mod common;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use base64ct::{Base64, Encoding};
use format::binlog::{Event, EventKind, FormatDescription, HEADER_BYTES, Header, MAGIC, Query, StatusVars};
use sql::Session;
use storage::{Config, Kill};

use common::{Scratch, ask, logged_instance, session};

/// The events of all files of a log.
fn events(directory: &Path) -> Vec<Vec<u8>> {
    let mut events = Vec::new();
    for number in 1.. {
        let Ok(bytes) = std::fs::read(directory.join(format!("binlog.{number:06}"))) else { break };
        events.extend(events_of(&bytes));
    }
    events
}

/// The events of a file.
fn events_of(file: &[u8]) -> Vec<Vec<u8>> {
    let mut events = Vec::new();
    let mut rest = file.strip_prefix(&MAGIC).expect("a log");
    while !rest.is_empty() {
        let header = Header::decode(rest).expect("an event");
        let (event, behind) = rest.split_at(header.bytes as usize);
        events.push(event.to_vec());
        rest = behind;
    }
    events
}

fn kind(event: &[u8]) -> EventKind {
    Header::decode(event).expect("an event").kind
}

/// BINLOG with each event encoded for itself, as tools do.
fn statement<'e>(events: impl IntoIterator<Item = &'e Vec<u8>>) -> String {
    let lines: Vec<String> = events.into_iter().map(|event| Base64::encode_string(event)).collect();
    format!("BINLOG '\n{}\n'", lines.join("\n"))
}

/// What was logged by some statements: the description, and of each statement the Table_map and the rows.
struct Logged {
    description: Vec<u8>,
    statements: Vec<Vec<Vec<u8>>>,
}

fn logged(name: &str, work: &[&str]) -> Logged {
    let scratch = Scratch::new(name);
    let instance = logged_instance(&scratch.0, Config::tiny());
    let mut session = session(&instance);
    for statement in work {
        let lines = ask(&mut session, statement);
        assert!(!lines.iter().any(|line| line.starts_with('!')), "{statement:.100}: {lines:?}");
    }
    instance.log.as_ref().expect("a log").close().expect("it closes");
    let mut events = events(&scratch.0);
    let description = events.remove(0);
    let mut statements = Vec::new();
    for event in events {
        match kind(&event) {
            EventKind::TABLE_MAP => statements.push(vec![event]),
            EventKind::WRITE_ROWS | EventKind::UPDATE_ROWS | EventKind::DELETE_ROWS => {
                statements.last_mut().expect("a Table_map").push(event);
            }
            _ => {}
        }
    }
    Logged { description, statements }
}

fn error(session: &mut Session, statement: &str) -> String {
    let lines = ask(session, statement);
    let error = lines.iter().find(|line| line.starts_with('!')).unwrap_or_else(|| panic!("no error: {lines:?}"));
    error.split(' ').nth(1).expect("a number").to_owned()
}

const TABLE: &str = "CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(20))";
const COUNT: &str = "SELECT COUNT(*), SUM(id) FROM t";

/// The target: another instance with the same table.
fn target(scratch: &Scratch) -> (Arc<sql::Instance>, Session) {
    let instance = logged_instance(&scratch.0, Config::tiny());
    let mut session = session(&instance);
    assert_eq!(ask(&mut session, TABLE), ["= 0 rows"]);
    (instance, session)
}

#[test]
fn rows_of_a_log_are_changes_of_the_session() {
    let source = logged(
        "replay_source",
        &[
            TABLE,
            "INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, 'c')",
            "UPDATE t SET v = 'z' WHERE id = 2",
            "DELETE FROM t WHERE id = 3",
        ],
    );
    let [insert, update, delete] = &source.statements[..] else { panic!("three statements") };
    let scratch = Scratch::new("replay_target");
    let (_instance, mut session) = target(&scratch);

    // Before the description nothing can be read.
    assert_eq!(error(&mut session, &statement(insert)), "1609");
    assert_eq!(ask(&mut session, &statement([&source.description])), ["= 0 rows"]);
    assert_eq!(ask(&mut session, &statement(insert)), ["= 0 rows"]);
    assert_eq!(ask(&mut session, COUNT)[1], "| 3 | 6");
    // The same again meets its rows, and leaves nothing behind.
    assert_eq!(error(&mut session, &statement(insert)), "1062");

    // In a transaction, which is rolled back; then half of one by a savepoint.
    ask(&mut session, "BEGIN");
    ask(&mut session, &statement(update));
    assert_eq!(ask(&mut session, "SELECT v FROM t WHERE id = 2")[1], "| z");
    ask(&mut session, "SAVEPOINT s");
    ask(&mut session, &statement(delete));
    assert_eq!(ask(&mut session, COUNT)[1], "| 2 | 3");
    ask(&mut session, "ROLLBACK TO s");
    assert_eq!(ask(&mut session, COUNT)[1], "| 3 | 6");
    ask(&mut session, "ROLLBACK");
    assert_eq!(ask(&mut session, "SELECT v FROM t WHERE id = 2")[1], "| b");

    // Several statements in one text, with the description in front.
    let all = [&source.description].into_iter().chain(update).chain(delete);
    assert_eq!(ask(&mut session, &statement(all)), ["= 0 rows"]);
    assert_eq!(ask(&mut session, "SELECT GROUP_CONCAT(id, v ORDER BY id) FROM t")[1], "| 1a,2z");
    // The second one fails: the first has happened.
    let both = insert_behind_delete(&source);
    assert_eq!(error(&mut session, &statement(&both)), "1032");
    // A row that is not there is passed over on demand, and one that is there is replaced.
    ask(&mut session, "SET SESSION rbr_exec_mode = IDEMPOTENT");
    assert_eq!(ask(&mut session, &statement(&both)), ["= 0 rows"]);
    assert_eq!(ask(&mut session, "SELECT GROUP_CONCAT(id, v ORDER BY id) FROM t")[1], "| 1a,2b,3c");
    ask(&mut session, "SET SESSION rbr_exec_mode = DEFAULT");

    // MariaDB's tool splits what is too long.
    ask(&mut session, "DELETE FROM t");
    let text = statement(insert);
    let text = text.strip_prefix("BINLOG '").and_then(|text| text.strip_suffix('\'')).expect("a text");
    let (one, other) = text.split_at(text.len() / 2);
    ask(&mut session, &format!("SET @one = '{one}', @other = '{other}'"));
    assert_eq!(ask(&mut session, "BINLOG @one, @other"), ["= 0 rows"]);
    assert_eq!(ask(&mut session, COUNT)[1], "| 3 | 6");
    assert_eq!(error(&mut session, "BINLOG @one, @missing"), "1232");
}

/// The deletion of a row that is gone, and an insertion.
fn insert_behind_delete(source: &Logged) -> Vec<Vec<u8>> {
    source.statements[2].iter().chain(&source.statements[0]).cloned().collect()
}

#[test]
fn damaged_texts_are_errors_and_change_nothing() {
    let source = logged("replay_damage", &[TABLE, "INSERT INTO t VALUES (1, 'a'), (2, 'b')"]);
    let insert = &source.statements[0];
    let scratch = Scratch::new("replay_damaged");
    let (_instance, mut session) = target(&scratch);
    ask(&mut session, &statement([&source.description]));

    assert_eq!(error(&mut session, "BINLOG ''"), "1149");
    for text in ["BINLOG 'no base64!'", "BINLOG 'AAA'", "BINLOG '===='"] {
        assert_eq!(error(&mut session, text), "1575", "{text}");
    }
    assert_eq!(error(&mut session, "BINLOG"), "1064");
    assert_eq!(error(&mut session, "BINLOG 5"), "1064");
    // Every possible cut, and a bit of every byte.
    let whole: Vec<u8> = insert.concat();
    for length in 1..whole.len() {
        if length != insert[0].len() {
            let cut = error(&mut session, &statement([&whole[..length].to_vec()]));
            assert!(cut == "1149", "{length} bytes of {}: {cut}", whole.len());
        }
    }
    for at in 0..whole.len() {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x10;
        let code = error(&mut session, &statement([&damaged]));
        assert!(["1149", "1610", "1609", "1730"].contains(&&*code), "byte {at}: {code}");
    }
    // Rows without their table.
    assert_eq!(error(&mut session, &statement([&insert[1]])), "1610");
    // Events of other kinds.
    let mut other = Vec::new();
    let header = Header { timestamp: 1, kind: EventKind::STOP, server_id: 1, bytes: 0, end_position: 0, flags: 0 };
    format::binlog::event::append(&mut other, header, format::binlog::Checksum::Crc32, |_| ());
    assert_eq!(error(&mut session, &statement([&other])), "1730");
    assert_eq!(ask(&mut session, "SELECT COUNT(*) FROM t")[1], "| 0");

    // What may not be changed is not.
    ask(&mut session, "START TRANSACTION READ ONLY");
    assert_eq!(error(&mut session, &statement(insert)), "1792");
    ask(&mut session, "COMMIT");
    ask(&mut session, "SET GLOBAL super_read_only = 1");
    assert_eq!(error(&mut session, &statement(insert)), "1290");
    ask(&mut session, "SET GLOBAL super_read_only = 0, GLOBAL read_only = 0");
    ask(&mut session, "DROP TABLE t");
    assert_eq!(error(&mut session, &statement(insert)), "1146");
    ask(&mut session, "CREATE TABLE t (id INT PRIMARY KEY, v INT)");
    assert_eq!(error(&mut session, &statement(insert)), "1677");
    // The session is as it was: its own checks and time.
    assert_eq!(ask(&mut session, "SELECT @@foreign_key_checks, @@unique_checks")[1], "| 1 | 1");
    assert!(FormatDescription::decode(&source.description).is_ok());
}

#[test]
fn what_is_replayed_is_logged_unless_the_session_does_not_log() {
    let source = logged("replay_logged", &[TABLE, "INSERT INTO t VALUES (1, 'a')", "INSERT INTO t VALUES (2, 'b')"]);
    let scratch = Scratch::new("replay_log");
    let (instance, mut session) = target(&scratch);
    ask(&mut session, "SET binlog_rows_query_log_events = 1");
    ask(&mut session, &statement([&source.description]));
    ask(&mut session, &statement(&source.statements[0]));
    ask(&mut session, "SET sql_log_bin = 0");
    ask(&mut session, &statement(&source.statements[1]));
    assert_eq!(ask(&mut session, COUNT)[1], "| 2 | 3");
    instance.log.as_ref().expect("a log").close().expect("it closes");
    let events = events(&scratch.0);
    let written: Vec<&Vec<u8>> = events.iter().filter(|event| kind(event) == EventKind::WRITE_ROWS).collect();
    assert_eq!(written.len(), 1);
    // At the source's time, and without the text of BINLOG beside it.
    let (ours, theirs) = (Header::decode(written[0]).unwrap(), Header::decode(&source.statements[0][1]).unwrap());
    assert_eq!(ours.timestamp, theirs.timestamp);
    assert!(!events.iter().any(|event| kind(event) == EventKind::ROWS_QUERY));
    let body = |event: &'_ [u8]| Event::decode(event, format::binlog::Checksum::Crc32).unwrap().body[6..].to_vec();
    assert_eq!(body(written[0]), body(&source.statements[0][1]), "but for the table's number");
}

#[test]
fn many_rows_of_one_statement_and_a_kill_in_the_middle() {
    let fill = "INSERT INTO t SELECT a.id + 50 * b.id, 'x' FROM t a, t b";
    let rows: Vec<String> = (0..50).map(|id| format!("({id}, 'x')")).collect();
    let first = format!("INSERT INTO t VALUES {}", rows.join(","));
    let rest = fill.replace("FROM t a, t b", "FROM t a, t b WHERE b.id > 0");
    let source = logged("replay_many", &[TABLE, &first, &rest]);
    let scratch = Scratch::new("replay_killed");
    let instance = logged_instance(&scratch.0, Config::tiny());
    let process = instance.processes.register("localhost");
    let mut session = common::session_of(&instance, process.clone());
    ask(&mut session, TABLE);
    ask(&mut session, &statement([&source.description]));
    ask(&mut session, &statement(&source.statements[0]));
    let many = statement(&source.statements[1]);
    let is_killed = Arc::new(AtomicBool::new(false));
    let stop = is_killed.clone();
    let killer = std::thread::spawn(move || {
        // The statement clears an interrupt when it begins.
        while !stop.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(1));
            process.interrupt.set(Kill::Query);
        }
    });
    assert_eq!(error(&mut session, &many), "1317");
    is_killed.store(true, Ordering::Relaxed);
    killer.join().expect("it ends");
    assert_eq!(ask(&mut session, "SELECT COUNT(*) FROM t")[1], "| 50");
    assert_eq!(ask(&mut session, &many), ["= 0 rows"]);
    assert_eq!(ask(&mut session, "SELECT COUNT(*), MAX(id) FROM t")[1], "| 2500 | 2499");
}

/// The log of MySQL 8.0.40 in mariadb-test-data: payloads, and a partial update of JSON.
#[test]
fn partial_updates_change_the_value_that_is_there() {
    let path = "/usr/share/mysql/mysql-test/std_data/mdev35643_mysql_80_binlog.000001";
    let Ok(bytes) = std::fs::read(path) else {
        println!("skipped: {path} is missing");
        return;
    };
    let events = events_of(&bytes);
    let at = events.iter().position(|event| kind(event) == EventKind::PARTIAL_UPDATE_ROWS).expect("a partial update");
    let update = statement([&events[0], &events[at - 1], &events[at]]);
    let scratch = Scratch::new("replay_partial");
    let instance = logged_instance(&scratch.0, Config::tiny());
    let mut session = session(&instance);
    ask(&mut session, "CREATE DATABASE test");
    ask(&mut session, "CREATE TABLE test.t2 (a INT PRIMARY KEY, b JSON)");
    let old = "[zyzzy]".repeat(100);
    // The order and the spaces of the text do not matter: the value is found, and what is not changed stays.
    ask(&mut session, &format!("INSERT INTO test.t2 VALUES (1, '{{\"c\":\"bulu\",\"b\":\"{old}\",\"a\":\"hulu\"}}')"));
    assert_eq!(ask(&mut session, &update), ["= 0 rows"]);
    let expected = format!("| {{\"a\": \"hulu\", \"b\": \"{}\", \"c\": \"bulu\"}}", "oOo".repeat(50));
    assert_eq!(ask(&mut session, "SELECT b FROM test.t2")[1], expected);
    // Another value has no such place.
    ask(&mut session, "DELETE FROM test.t2");
    ask(&mut session, "INSERT INTO test.t2 VALUES (1, '{}')");
    assert_eq!(error(&mut session, &update), "3648");
    ask(&mut session, "UPDATE test.t2 SET b = NULL");
    assert_eq!(error(&mut session, &update), "3648");
    assert_eq!(ask(&mut session, "SELECT b FROM test.t2")[1], "| NULL");
}

/// Generated columns follow the table that has them, and its constraints hold, whatever the source has. Columns of
/// functional indexes are in no event.
#[test]
fn rows_of_a_source_follow_the_rules_of_the_table() {
    let source = logged(
        "replay_rules_source",
        &[
            "CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(20), g INT AS (id + 1) STORED, KEY ((LOWER(v))))",
            "INSERT INTO t (id, v) VALUES (1, 'a'), (2, 'b')",
            "UPDATE t SET v = 'bad' WHERE id = 2",
            "SET binlog_row_image = MINIMAL",
            "UPDATE t SET id = 5 WHERE id = 1",
            "DELETE FROM t WHERE id = 5",
        ],
    );
    let [insert, bad, moved, delete] = &source.statements[..] else { panic!("four statements") };
    let scratch = Scratch::new("replay_rules_target");
    let instance = logged_instance(&scratch.0, Config::tiny());
    let mut session = session(&instance);
    let table = "CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(20), g INT AS (id * 10) VIRTUAL, KEY g (g), \
                 KEY f ((UPPER(v)), (id + 7)), CHECK (v <> 'bad'))";
    assert_eq!(ask(&mut session, table), ["= 0 rows"]);
    ask(&mut session, &statement([&source.description]));
    let all = "SELECT GROUP_CONCAT(id, v, g ORDER BY id) FROM t FORCE INDEX (g) WHERE g > 0";
    assert_eq!(ask(&mut session, &statement(insert)), ["= 0 rows"]);
    assert_eq!(ask(&mut session, all)[1], "| 1a10,2b20");
    assert_eq!(error(&mut session, &statement(bad)), "3819");
    assert_eq!(ask(&mut session, &statement(moved)), ["= 0 rows"]);
    assert_eq!(ask(&mut session, all)[1], "| 2b20,5a50");
    assert_eq!(ask(&mut session, "SELECT id FROM t WHERE UPPER(v) = 'A' AND id + 7 = 12")[1], "| 5");
    assert_eq!(ask(&mut session, &statement(delete)), ["= 0 rows"]);
    assert_eq!(ask(&mut session, all)[1], "| 2b20");
    assert!(ask(&mut session, "CHECK TABLE t")[1].ends_with("| OK"));
}

/// A CREATE TABLE of MySQL 8 with `CHARSET=utf8mb4` came out as utf8mb4_general_ci, for which two texts of a unique key that
/// MySQL tells apart (a space at the end, two emoji) are the same.
#[test]
fn utf8mb4_alone_means_what_it_meant_to_the_source() {
    let scratch = Scratch::new("utf8mb4-alone");
    let instance = logged_instance(&scratch.0, Config::tiny());
    let mut applier = session(&instance);
    applier.be_applier();
    let sources = [
        (Some(255), "mysql", "utf8mb4_0900_ai_ci"),
        (Some(45), "ours", "utf8mb4_general_ci"),
        (None, "mariadb", "utf8mb4_general_ci"),
    ];
    for (said, table, _) in sources {
        let statement = format!("CREATE TABLE {table} (a VARCHAR(9) UNIQUE) DEFAULT CHARSET=utf8mb4");
        let vars = StatusVars { utf8mb4_collation: said, ..StatusVars::default() };
        let (database, statement) = (b"test", statement.as_bytes());
        let query = Query { connection: 1, seconds: 0, error: 0, vars, database, statement };
        applier.apply_query(&query, 1).expect("it is applied");
    }
    let mut looks = session(&instance);
    for (_, table, collation) in sources {
        let shown = ask(
            &mut looks,
            &format!("SELECT TABLE_COLLATION FROM information_schema.TABLES WHERE TABLE_NAME = '{table}'"),
        );
        assert_eq!(shown[1], format!("| {collation}"), "{table}");
    }
    // And a replica of this server is told the same.
    drop((applier, looks));
    instance.log.as_ref().expect("a log").close().expect("it closes");
    let logged: Vec<Option<u16>> = events(&scratch.0)
        .iter()
        .filter(|event| kind(event) == EventKind::QUERY)
        .filter_map(|event| {
            Query::decode(&event[HEADER_BYTES..event.len() - 4]).ok().map(|query| query.vars.utf8mb4_collation)
        })
        .collect();
    assert_eq!(logged, [Some(255), Some(45), Some(45)]);
}
