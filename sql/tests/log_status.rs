//! What the status and performance_schema tell of the binary log.

mod common;

use sql::Session;
use storage::Config;

use common::{Scratch, ask, logged_instance, session};

fn status(session: &mut Session, names: &str) -> Vec<String> {
    let lines = ask(session, &format!("SHOW GLOBAL STATUS LIKE '{names}'"));
    lines[1..].iter().map(|line| line.trim_start_matches("| ").to_owned()).collect()
}

#[test]
fn transactions_are_counted_by_what_compression_did_to_them() {
    const SUMS: &str = "SELECT LOG_TYPE, COMPRESSION_TYPE, TRANSACTION_COUNTER, COMPRESSION_PERCENTAGE, \
                        COMPRESSED_BYTES_COUNTER = UNCOMPRESSED_BYTES_COUNTER, \
                        FIRST_TRANSACTION_COMPRESSED_BYTES < LAST_TRANSACTION_COMPRESSED_BYTES, \
                        FIRST_TRANSACTION_TIMESTAMP <= LAST_TRANSACTION_TIMESTAMP, FIRST_TRANSACTION_ID, LAST_TRANSACTION_ID \
                        FROM performance_schema.binary_log_transaction_compression_stats";
    let scratch = Scratch::new("log_stats");
    let instance = logged_instance(&scratch.0, Config::tiny());
    let mut session = session(&instance);
    assert_eq!(ask(&mut session, SUMS).len(), 1, "nothing was written");
    ask(&mut session, "CREATE TABLE t (id INT PRIMARY KEY, v TEXT)");
    ask(&mut session, "INSERT INTO t VALUES (1, REPEAT('a', 100))");
    ask(&mut session, "INSERT INTO t VALUES (2, REPEAT('b', 1000))");
    ask(&mut session, "SET binlog_transaction_compression = 1");
    // 1000 and 100,000 bytes of one letter, and what goes with them.
    ask(&mut session, "INSERT INTO t VALUES (3, REPEAT('c', 1000))");
    ask(&mut session, "BEGIN");
    ask(&mut session, "INSERT INTO t VALUES (4, REPEAT('d', 60000))");
    ask(&mut session, "INSERT INTO t VALUES (5, REPEAT('e', 60000))");
    ask(&mut session, "UPDATE t SET v = CONCAT(v, id)");
    ask(&mut session, "COMMIT");
    // A rollback writes nothing, nor does a read.
    ask(&mut session, "BEGIN");
    ask(&mut session, "DELETE FROM t");
    ask(&mut session, "ROLLBACK");
    ask(&mut session, "SELECT * FROM t");
    let uuid = "11111111-1111-1111-1111-111111111111";
    let lines = ask(&mut session, SUMS);
    let zstd = format!(" | 0 | 1 | 1 | {uuid}:4 | {uuid}:5");
    assert!(lines[1].starts_with("| BINARY | ZSTD | 2 | ") && lines[1].ends_with(&zstd), "{lines:#?}");
    let percentage: u32 = lines[1].split(" | ").nth(3).and_then(|text| text.parse().ok()).expect("a number");
    assert!((95..=100).contains(&percentage), "{lines:#?}");
    assert_eq!(lines[2], format!("| BINARY | NONE | 3 | 0 | 1 | 1 | 1 | {uuid}:1 | {uuid}:3"));
    assert_eq!(lines.len(), 3);

    // The formula is the one of MySQL's manual.
    let formula = "SELECT ROUND(100 * (1 - COMPRESSED_BYTES_COUNTER / UNCOMPRESSED_BYTES_COUNTER)) = COMPRESSION_PERCENTAGE \
                   FROM performance_schema.binary_log_transaction_compression_stats";
    assert_eq!(ask(&mut session, formula)[1..], ["| 1", "| 1"]);
}

#[test]
fn caches_and_statements_about_the_log_are_counted() {
    let scratch = Scratch::new("log_counters");
    let instance = logged_instance(&scratch.0, Config::tiny());
    let mut session = session(&instance);
    let before = status(&mut session, "Binlog%");
    let none = [
        "Binlog_cache_disk_use | 0",
        "Binlog_cache_use | 0",
        "Binlog_stmt_cache_disk_use | 0",
        "Binlog_stmt_cache_use | 0",
    ];
    assert_eq!(before, none);
    ask(&mut session, "CREATE TABLE t (id INT PRIMARY KEY, v LONGTEXT)");
    ask(&mut session, "INSERT INTO t VALUES (1, 'a')");
    ask(&mut session, "UPDATE t SET v = 'b'");
    // More than binlog_cache_size.
    ask(&mut session, "INSERT INTO t VALUES (2, REPEAT('c', 200000))");
    ask(&mut session, "SET sql_log_bin = 0");
    ask(&mut session, "INSERT INTO t VALUES (3, 'd')");
    let wanted = [
        "Binlog_cache_disk_use | 1",
        "Binlog_cache_use | 3",
        "Binlog_stmt_cache_disk_use | 0",
        "Binlog_stmt_cache_use | 1",
    ];
    assert_eq!(status(&mut session, "Binlog%"), wanted);

    for (statement, counter) in [
        ("SHOW BINARY LOGS", "Com_show_binlogs"),
        ("SHOW MASTER STATUS", "Com_show_master_status"),
        ("SHOW BINLOG EVENTS", "Com_show_binlog_events"),
        ("SHOW REPLICAS", "Com_show_replicas"),
        ("SHOW REPLICA STATUS", "Com_show_replica_status"),
        ("PURGE BINARY LOGS TO 'binlog.000001'", "Com_purge"),
        ("PURGE BINARY LOGS BEFORE '2001-01-01'", "Com_purge_before_date"),
        ("BINLOG ''", "Com_binlog"),
        ("CHANGE REPLICATION SOURCE TO SOURCE_HOST = 'a'", "Com_change_master"),
        ("START REPLICA", "Com_replica_start"),
        ("STOP REPLICA", "Com_replica_stop"),
        ("RESET REPLICA", "Com_reset"),
    ] {
        assert_eq!(status(&mut session, counter), [format!("{counter} | 0")], "before {statement}");
        ask(&mut session, statement);
        assert_eq!(status(&mut session, counter), [format!("{counter} | 1")], "{statement}");
    }
    ask(&mut session, "RESET MASTER");
    assert_eq!(status(&mut session, "Com_reset"), ["Com_reset | 2"]);
}

#[test]
fn databases_that_are_left_out_leave_nothing_in_the_log() {
    let scratch = Scratch::new("log_databases");
    let instance = logged_instance(&scratch.0, Config::tiny());
    let log = instance.log.as_ref().expect("a log");
    log.set_databases(binlog::Databases::new(vec!["kept".into()], Vec::new()).expect("one is named"));
    instance.variables.fill_in("gtid_mode", format::value::Value::Bytes(b"ON".to_vec()));
    let mut session = session(&instance);
    for statement in [
        // By the database that they are about, or the current one.
        "CREATE DATABASE kept",
        "CREATE DATABASE other",
        "CREATE TABLE kept.unlogged (id INT PRIMARY KEY)",
        "CREATE USER u",
        "USE kept",
        "CREATE TABLE kept.t (id INT PRIMARY KEY)",
        "CREATE TABLE other.t (id INT PRIMARY KEY)",
        // By the database of the table.
        "INSERT INTO other.t VALUES (1)",
        "USE other",
        "BEGIN",
        "INSERT INTO other.t VALUES (2)",
        "INSERT INTO kept.t VALUES (3)",
        "DELETE FROM other.t",
        "COMMIT",
        "DROP TABLE kept.unlogged",
        "SET gtid_next = '11111111-1111-1111-1111-111111111111:77'",
        "CREATE TABLE other.named (id INT PRIMARY KEY)",
        "SET gtid_next = 'AUTOMATIC'",
        "DROP DATABASE other",
        "DROP DATABASE kept",
    ] {
        let lines = ask(&mut session, statement);
        assert!(!lines[0].starts_with('!'), "{statement}: {lines:?}");
    }
    let lines = ask(&mut session, "SHOW BINLOG EVENTS LIMIT 2, 100");
    let info = |line: &String| line.rsplit(" | ").next().unwrap_or_default().to_owned();
    let told: Vec<String> = lines[1..].iter().map(info).filter(|info| !info.contains("GTID_NEXT")).collect();
    let told: Vec<&str> = told.iter().map(|info| info.split(" flags").next().unwrap_or_default()).collect();
    let table = told.iter().find_map(|info| info.strip_suffix(" (kept.t)")).unwrap_or_default();
    assert_eq!(
        told,
        [
            "CREATE DATABASE kept",
            "use `kept`; CREATE TABLE kept.t (id INT PRIMARY KEY)",
            "use `kept`; CREATE TABLE other.t (id INT PRIMARY KEY)",
            "BEGIN",
            &format!("{table} (kept.t)"),
            table,
            "COMMIT /* xid=1 */",
            "BEGIN",
            "COMMIT",
            "DROP DATABASE kept",
        ]
    );
    let shown = ask(&mut session, "SHOW MASTER STATUS");
    assert!(shown[1].contains(" | kept |  | ") && shown[1].contains(":77"), "{shown:?}");
}
