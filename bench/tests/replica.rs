//! A replica: what MariaDB writes into its log arrives in Glassine, once and no more than once, also if the replica is
//! killed; and from there in a replica of the replica.

mod logged;

use std::time::{Duration, Instant};

use bench::process::{Kind, Options, Scratch, Server, mariadb_is_installed};
use bench::replicas::{
    BY_NAME, Pair, assert_same, catch_up, contents, end_of, follow, free_port, mariadb_source, options, status,
    wait_for_all, wait_for_error,
};
use logged::{FULL_ROW, SCHEMA};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

/// Statements of definition and rows over all types, the same for the same seed.
struct Work {
    random: StdRng,
    tables: u32,
}

impl Work {
    fn new(seed: u64) -> Work {
        Work { random: StdRng::seed_from_u64(seed), tables: 0 }
    }

    fn value(&mut self, column: usize) -> String {
        let number: i64 = self.random.random_range(-100..100);
        let text: String =
            (0..self.random.random_range(0..9)).map(|at| ['a', 'B', ' ', 'ä', '\u{1F600}'][at % 5]).collect();
        match column {
            _ if self.random.random_range(0..8) == 0 => "NULL".to_owned(),
            0 => format!("{number}"),
            1 => format!("{}", self.random.random::<u64>()),
            2 => format!("{}.{:04}", number, self.random.random_range(0..10_000)),
            3 => format!("{number}e{}", self.random.random_range(-20..20)),
            4 => format!("'{text}'"),
            5 => format!("'{}'", text.repeat(self.random.random_range(0..200))),
            6 => format!("X'{:08x}'", self.random.random::<u32>()),
            7 => format!(
                "'20{:02}-0{}-1{} 12:34:5{}.{:06}'",
                number.abs() % 100,
                1 + number.abs() % 9,
                number.abs() % 10,
                number.abs() % 10,
                self.random.random_range(0..1_000_000)
            ),
            8 => format!("'{}{:02}:00:0{}'", if number < 0 { "-" } else { "" }, number.abs() % 24, number.abs() % 10),
            9 => format!("'{{\"a\": {number}, \"b\": [1, \"{}\"]}}'", text.trim()),
            10 => ["'a'", "'b'", "'c'"][self.random.random_range(0..3)].to_owned(),
            11 => ["''", "'x'", "'x,z'", "'y'"][self.random.random_range(0..4)].to_owned(),
            12 => format!("{}", self.random.random_range(0..4096)),
            _ => match number % 3 {
                0 => format!("POINT({number}, 0.5)"),
                1 => format!("ST_GeomFromText('LINESTRING(0 0,{number} 1)', 3857)"),
                _ => format!("ST_GeomFromText('GEOMETRYCOLLECTION(POINT({number} 1),POLYGON((0 0,1 0,1 1,0 0)))')"),
            },
        }
    }

    fn row(&mut self) -> String {
        (0..14).map(|column| self.value(column)).collect::<Vec<_>>().join(", ")
    }

    fn create(&mut self) -> String {
        let number = self.tables;
        self.tables += 1;
        // Some tables have no key that finds a row.
        let key = ["PRIMARY KEY (id)", "UNIQUE KEY (id)", "KEY (id)", "KEY (c4, c0)"][number as usize % 4];
        format!(
            "CREATE TABLE rg.t{number} (id INT NOT NULL, c0 TINYINT, c1 BIGINT UNSIGNED, c2 DECIMAL(12,4), c3 DOUBLE, \
             c4 VARCHAR(40), c5 TEXT, c6 VARBINARY(10), c7 DATETIME(6), c8 TIME, c9 JSON, c10 ENUM('a','b','c'), \
             c11 SET('x','y','z'), c12 BIT(12), c13 GEOMETRY, {key}) ENGINE=InnoDB"
        )
    }

    /// The next statements, all of one transaction or each of its own.
    fn next(&mut self) -> Vec<String> {
        if self.tables < 4 {
            return vec![self.create()];
        }
        let table = self.random.random_range(0..4);
        let id = self.random.random_range(0..200);
        match self.random.random_range(0..40) {
            0 => vec![self.create()],
            1 if self.tables > 4 => {
                let gone = self.tables - 1;
                vec![format!("DROP TABLE IF EXISTS rg.t{gone}")]
            }
            2 => vec![format!("ALTER TABLE rg.t{table} COMMENT = 'number {id}'")],
            3 => vec![format!("CREATE INDEX i{id} ON rg.t{table} (c0)"), format!("DROP INDEX i{id} ON rg.t{table}")],
            4 => vec![format!("RENAME TABLE rg.t{table} TO rg.other, rg.other TO rg.t{table}")],
            5 if id < 40 => vec![format!("TRUNCATE TABLE rg.t{table}")],
            6..10 => vec![format!("DELETE FROM rg.t{table} WHERE id = {id}")],
            10..16 => {
                let (column, from) = (self.random.random_range(0..14), id / 2);
                let value = self.value(column);
                vec![format!("UPDATE rg.t{table} SET c{column} = {value} WHERE id BETWEEN {from} AND {id}")]
            }
            16..20 => {
                let (row, other) = (self.row(), self.row());
                vec![
                    "BEGIN".to_owned(),
                    format!("REPLACE INTO rg.t{table} VALUES ({id}, {row})"),
                    "SAVEPOINT here".to_owned(),
                    format!("DELETE FROM rg.t{table} WHERE id > 100"),
                    "ROLLBACK TO here".to_owned(),
                    format!("INSERT IGNORE INTO rg.t{} VALUES ({id}, {other})", (table + 1) % 4),
                    if id % 5 == 0 { "ROLLBACK" } else { "COMMIT" }.to_owned(),
                ]
            }
            _ => {
                let rows: Vec<String> =
                    (0..self.random.random_range(1..5)).map(|at| format!("({}, {})", id + at, self.row())).collect();
                vec![format!("INSERT IGNORE INTO rg.t{table} VALUES {}", rows.join(", "))]
            }
        }
    }
}

#[test]
fn what_mariadb_logs_arrives_also_if_the_replica_is_killed() {
    if !mariadb_is_installed() {
        println!("skipped: mariadbd is not installed");
        return;
    }
    for (case, more) in [
        &["--binlog-format=ROW"][..],
        &[
            "--binlog-format=ROW",
            "--log-bin-compress=ON",
            "--log-bin-compress-min-len=10",
            "--binlog-row-image=MINIMAL",
            "--binlog-row-metadata=FULL",
        ],
        &["--binlog-format=MIXED", "--max-binlog-size=65536", "--binlog-checksum=NONE"],
    ]
    .iter()
    .enumerate()
    {
        let scratch = Scratch::new("replica").expect("a directory");
        let (source_port, replica_port) = (free_port(), free_port());
        let source = mariadb_source(&scratch.0.join("source"), source_port, more);
        let directory = scratch.0.join("replica");
        let own = options(replica_port, 2, &["--log-bin", "--gtid-mode=ON", "--read-only=ON"]);
        let mut replica = Server::create(Kind::Glassine, &directory, &own).expect("Glassine starts");
        follow(&mut replica.connect().expect("a connection"), source_port, "");

        let mut client = source.connect().expect("a connection");
        for statement in ["CREATE DATABASE bl", "CREATE DATABASE rg", SCHEMA, FULL_ROW, "SET sql_mode = ''"] {
            client.query(statement).expect(statement);
        }
        for statement in [
            "CREATE OR REPLACE TABLE bl.anew (id INT PRIMARY KEY)",
            "INSERT INTO bl.anew VALUES (1), (2)",
            "CREATE OR REPLACE TABLE bl.anew (v VARCHAR(9), KEY (v)) DEFAULT CHARSET=utf8mb4",
            "INSERT INTO bl.anew VALUES ('x'), ('y'), ('y')",
            "CREATE OR REPLACE TABLE bl.filled DEFAULT CHARSET=utf8mb4 AS SELECT v, 1 AS one FROM bl.anew",
            "CREATE OR REPLACE TABLE bl.filled DEFAULT CHARSET=utf8mb4 AS SELECT v, COUNT(*) AS n FROM bl.anew GROUP BY v",
        ] {
            client.query(statement).expect(statement);
        }
        let mut work = Work::new(case as u64);
        for round in 0..4 {
            for _ in 0..120 {
                for statement in work.next() {
                    if let Err(error) = client.query(&statement) {
                        panic!("{error}: {statement}");
                    }
                }
            }
            if round < 3 {
                std::thread::sleep(Duration::from_millis(37 * round));
                replica.kill();
                replica = Server::start(Kind::Glassine, &directory, &own).expect("Glassine recovers");
            }
        }
        client.query("UPDATE bl.t SET v = 'new', ti = 5, ts = '2030-01-01 00:00:00', b12 = 7").expect("a change");
        catch_up(&replica, &source);
        let databases = ["bl", "rg"];
        assert_same(&contents(&replica, &databases), &contents(&source, &databases), &format!("case {case}"));
    }
}

#[test]
fn a_replica_tells_why_it_stops_and_goes_on_when_that_is_mended() {
    if !mariadb_is_installed() {
        println!("skipped: mariadbd is not installed");
        return;
    }
    let Pair { source, replica, there, here, source_port, .. } = &mut Pair::of_mariadb("replica_errors");
    assert_eq!(here.query("START SLAVE").unwrap_err().code(), Some(1200));
    assert!(here.query("SHOW SLAVE STATUS").expect("a status").rows.is_empty());
    for (statement, code) in [
        ("CHANGE MASTER TO MASTER_USE_GTID = some_pos", 1210),
        ("START SLAVE FOR CHANNEL 'b'", 3074),
        ("RESET REPLICA ALL FOR CHANNEL 'b'", 3074),
        ("SHOW REPLICA STATUS FOR CHANNEL 'b'", 3074),
    ] {
        assert_eq!(here.query(statement).unwrap_err().code(), Some(code), "{statement}");
    }
    follow(here, *source_port, "");
    there.query("CREATE DATABASE d").expect("a database");
    there.query("CREATE TABLE d.t (id INT PRIMARY KEY, v INT)").expect("a table");
    there.query("INSERT INTO d.t VALUES (1, 1), (2, 2)").expect("rows");
    catch_up(replica, source);
    assert_eq!(here.query("CHANGE MASTER TO MASTER_PORT = 1").unwrap_err().code(), Some(3081));
    assert_eq!(status(here, "Seconds_Behind_Source"), "0");
    let names = here.query("SHOW SLAVE STATUS").expect("a status").columns;
    assert!(names.contains(&"Exec_Master_Log_Pos".to_owned()) && names.contains(&"Slave_SQL_Running".to_owned()));

    // A row that is missing, a row that is there.
    for (prepare, change, code, mend) in [
        ("DELETE FROM d.t WHERE id = 2", "UPDATE d.t SET v = 3 WHERE id = 2", "1032", "INSERT INTO d.t VALUES (2, 2)"),
        ("INSERT INTO d.t VALUES (3, 3)", "INSERT INTO d.t VALUES (3, 4)", "1062", "DELETE FROM d.t WHERE id = 3"),
        ("DROP TABLE d.t", "DELETE FROM d.t WHERE id = 1", "1146", "CREATE TABLE d.t (id INT PRIMARY KEY, v BIGINT)"),
    ] {
        here.query(prepare).expect(prepare);
        there.query(change).expect(change);
        wait_for_error(here, code);
        assert_eq!(status(here, "Replica_IO_Running"), "Yes");
        here.query(mend).expect(mend);
        if code == "1146" {
            here.query("INSERT INTO d.t VALUES (1, 1), (2, 3), (3, 4)").expect("rows");
        }
        here.query("START REPLICA SQL_THREAD").expect("it starts again");
        catch_up(replica, source);
    }
    assert_eq!(contents(replica, &["d"]), contents(source, &["d"]));

    // A transaction that cannot be applied is passed over, and only that one.
    here.query("INSERT INTO d.t VALUES (9, 9)").expect("a row in the way");
    there.query("BEGIN").expect("a transaction");
    there.query("INSERT INTO d.t VALUES (8, 8)").expect("a row");
    there.query("INSERT INTO d.t VALUES (9, 10)").expect("a row that is there");
    there.query("COMMIT").expect("it is logged");
    there.query("INSERT INTO d.t VALUES (10, 10)").expect("one more");
    wait_for_error(here, "1062");
    here.query("SET GLOBAL sql_slave_skip_counter = 1").expect("the next start passes over one");
    here.query("START SLAVE").expect("it starts again");
    catch_up(replica, source);
    let ids = here.query("SELECT GROUP_CONCAT(id ORDER BY id) FROM d.t WHERE id > 7").expect("what there is");
    assert_eq!(ids.cell(), Some("9,10"));
    assert_eq!(here.query("SELECT @@GLOBAL.sql_slave_skip_counter").expect("a counter").cell(), Some("0"));
    assert_eq!(here.query("SET GLOBAL sql_slave_skip_counter = 1").unwrap_err().code(), Some(3017));

    let of = |table: &str, columns: &str| format!("SELECT {columns} FROM performance_schema.replication_{table}");
    for (query, cell) in [
        (of("connection_configuration", "CONCAT(HOST, PORT, USER)"), format!("127.0.0.1{source_port}replica")),
        (of("connection_status", "CONCAT(SERVICE_STATE, LAST_ERROR_NUMBER)"), "ON0".to_owned()),
        (of("applier_configuration", "DESIRED_DELAY"), "0".to_owned()),
        (of("applier_status", "SERVICE_STATE"), "ON".to_owned()),
        (of("applier_status_by_coordinator", "CONCAT(SERVICE_STATE, LAST_ERROR_NUMBER)"), "ON0".to_owned()),
        (of("applier_status_by_worker", "GROUP_CONCAT(WORKER_ID, LAST_ERROR_NUMBER)"), "10,20,30,40".to_owned()),
    ] {
        assert_eq!(here.query(&query).expect(&query).cell(), Some(cell.as_str()), "{query}");
    }

    // What waits, and what stands in the list of sources.
    let (file, position) = end_of(source);
    let waited = here.query(&format!("SELECT SOURCE_POS_WAIT('{file}', {position}, 10)")).expect("it waits");
    assert_eq!(waited.cell(), Some("0"));
    here.query("STOP REPLICA").expect("it stops");
    assert_eq!(here.query("STOP REPLICA").expect("it has stopped").warnings, 1);
    here.query("RESET REPLICA ALL").expect("it forgets");
    assert!(here.query("SHOW REPLICA STATUS").expect("a status").rows.is_empty());
    follow(here, *source_port, ", SOURCE_LOG_FILE = 'source.000999', SOURCE_LOG_POS = 4");
    let start = Instant::now();
    while status(here, "Replica_IO_Running") != "No" {
        assert!(start.elapsed() < Duration::from_secs(10), "a log that does not exist is read");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(status(here, "Last_IO_Errno"), "13114");
}

#[test]
fn a_chain_of_three_follows_by_the_names_of_transactions_also_if_servers_are_killed() {
    let scratch = Scratch::new("replica_chain").expect("a directory");
    let logged = ["--log-bin", "--gtid-mode=ON", "--binlog-transaction-compression=ON"];
    let own: Vec<Options> = (1..=3).map(|id| options(free_port(), id, &logged)).collect();
    let port = |at: usize| -> u16 { own[at].more[2].trim_start_matches("--port=").parse().expect("a port") };
    let directories: Vec<_> = (0..3).map(|at| scratch.0.join(format!("server{at}"))).collect();
    let create = |at: usize| Server::create(Kind::Glassine, &directories[at], &own[at]).expect("Glassine starts");
    let start = |at: usize| Server::start(Kind::Glassine, &directories[at], &own[at]).expect("Glassine recovers");
    let (mut source, mut middle, leaf) = (create(0), create(1), create(2));
    for server in [&source, &middle] {
        let mut client = server.connect().expect("a connection");
        for statement in [
            "SET sql_log_bin = 0",
            "GRANT REPLICATION SLAVE ON *.* TO replica@127.0.0.1 IDENTIFIED BY 'it''s secret'",
            "SET sql_log_bin = 1",
        ] {
            client.query(statement).expect(statement);
        }
    }
    follow(&mut middle.connect().expect("a connection"), port(0), BY_NAME);
    follow(&mut leaf.connect().expect("a connection"), port(1), BY_NAME);

    let mut client = source.connect().expect("a connection");
    for statement in ["CREATE DATABASE bl", "CREATE DATABASE rg", SCHEMA, FULL_ROW] {
        client.query(statement).expect(statement);
    }
    let mut work = Work::new(99);
    for round in 0..4 {
        client.query("SET sql_mode = ''").expect("a mode");
        for _ in 0..120 {
            for statement in work.next() {
                if let Err(error) = client.query(&statement) {
                    panic!("{error}: {statement}");
                }
            }
        }
        if round % 2 == 0 {
            middle.kill();
            middle = start(1);
        } else if round == 1 {
            source.kill();
            source = start(0);
            client = source.connect().expect("a connection");
        }
    }
    for server in [&middle, &leaf] {
        wait_for_all(server, &source);
    }
    let databases = ["bl", "rg"];
    let wanted = contents(&source, &databases);
    assert_same(&contents(&middle, &databases), &wanted, "the replica");
    assert_same(&contents(&leaf, &databases), &wanted, "the replica's replica");
}

#[test]
fn tables_may_differ_as_far_as_no_value_is_lost_and_transactions_may_wait() {
    if !mariadb_is_installed() {
        println!("skipped: mariadbd is not installed");
        return;
    }
    let Pair { source, replica, there, here, source_port, .. } = &mut Pair::of_mariadb("replica_differs");
    follow(here, *source_port, "");
    there.query("CREATE DATABASE d").expect("a database");
    there.query("CREATE TABLE d.t (id INT PRIMARY KEY, v INT, s VARCHAR(10))").expect("a table");
    catch_up(replica, source);

    here.query("ALTER TABLE d.t MODIFY v BIGINT, MODIFY s VARCHAR(200), ADD COLUMN more INT DEFAULT 7").expect("it is");
    there.query("INSERT INTO d.t VALUES (1, -5, 'a')").expect("a row");
    there.query("UPDATE d.t SET s = 'b' WHERE id = 1").expect("a change");
    catch_up(replica, source);
    let rows = here.query("SELECT CONCAT_WS(',', id, v, s, more) FROM d.t").expect("rows");
    assert_eq!(rows.cell(), Some("1,-5,b,7"));

    // A narrower column is refused, whatever the values are.
    here.query("ALTER TABLE d.t MODIFY v SMALLINT").expect("it is");
    there.query("INSERT INTO d.t VALUES (2, 2, 'c')").expect("a row");
    wait_for_error(here, "1677");
    here.query("ALTER TABLE d.t MODIFY v INT").expect("it is");

    // Rows that are there already, and rows that are missing.
    here.query("INSERT INTO d.t VALUES (2, 0, 'other', 0)").expect("a row");
    here.query("DELETE FROM d.t WHERE id = 1").expect("it is");
    there.query("DELETE FROM d.t WHERE id = 1").expect("it is");
    here.query("SET GLOBAL replica_exec_mode = 'IDEMPOTENT'").expect("a variable");
    here.query("START REPLICA").expect("it starts");
    catch_up(replica, source);
    let rows = here.query("SELECT CONCAT_WS(',', id, v, s, more) FROM d.t").expect("rows");
    assert_eq!((rows.rows.len(), rows.cell()), (1, Some("2,2,c,7")));

    // A client's transaction is in the way, and ends.
    here.query("SET GLOBAL innodb_lock_wait_timeout = 1").expect("a variable");
    here.query("STOP REPLICA").expect("it stops");
    here.query("START REPLICA").expect("it starts");
    here.query("BEGIN").expect("a transaction");
    here.query("SELECT * FROM d.t FOR UPDATE").expect("a row");
    there.query("UPDATE d.t SET v = 9").expect("a change");
    std::thread::sleep(Duration::from_millis(1500));
    assert_eq!(status(here, "Replica_SQL_Running"), "Yes");
    here.query("COMMIT").expect("its end");
    catch_up(replica, source);
    assert_eq!(here.query("SELECT v FROM d.t").expect("a row").number(), 9);

    here.query("STOP REPLICA").expect("it stops");
    here.query("CHANGE REPLICATION SOURCE TO SOURCE_DELAY = 3").expect("a delay");
    here.query("START REPLICA").expect("it starts");
    there.query("UPDATE d.t SET v = 10").expect("a change");
    std::thread::sleep(Duration::from_millis(700));
    assert_eq!(here.query("SELECT v FROM d.t").expect("a row").number(), 9, "it waits");
    catch_up(replica, source);
    assert_eq!(here.query("SELECT v FROM d.t").expect("a row").number(), 10);
}

/// MySQL's replicas want a restart of their applier for it.
#[test]
fn a_replica_compresses_from_the_next_transaction_on() {
    let scratch = Scratch::new("replica_compresses").expect("a directory");
    let port = free_port();
    let source = options(port, 1, &["--log-bin", "--gtid-mode=ON"]);
    let source = Server::create(Kind::Glassine, &scratch.0.join("source"), &source).expect("Glassine starts");
    let mut there = source.connect().expect("a connection");
    there
        .query("GRANT REPLICATION SLAVE ON *.* TO replica@127.0.0.1 IDENTIFIED BY 'it''s secret'")
        .expect("an account");
    let own = options(free_port(), 2, &["--log-bin", "--gtid-mode=ON"]);
    let replica = Server::create(Kind::Glassine, &scratch.0.join("replica"), &own).expect("Glassine starts");
    let mut here = replica.connect().expect("a connection");
    follow(&mut here, port, ", SOURCE_AUTO_POSITION = 1, GET_SOURCE_PUBLIC_KEY = 1");
    there.query("CREATE DATABASE d").expect("a database");
    there.query("CREATE TABLE d.t (id INT PRIMARY KEY AUTO_INCREMENT, v VARCHAR(500))").expect("a table");
    let mut payloads = || {
        there.query("INSERT INTO d.t (v) VALUES (REPEAT('long', 100))").expect("a row");
        catch_up(&replica, &source);
        let file = here.query("SHOW MASTER STATUS").expect("a status").cell().expect("a file").to_owned();
        let events = here.query(&format!("SHOW BINLOG EVENTS IN '{file}'")).expect("events");
        let payloads = events.rows.iter().filter(|row| row[2].as_deref() == Some("Transaction_payload")).count();
        let on = if payloads % 2 == 0 { "ON" } else { "OFF" };
        here.query(&format!("SET GLOBAL binlog_transaction_compression = {on}")).expect("a variable");
        payloads
    };
    assert_eq!([payloads(), payloads(), payloads()], [0, 1, 1]);
}

/// performance_schema.binary_log_transaction_compression_stats of a source and of its replica, whose relay log has what came.
#[test]
fn compressed_transactions_are_counted_in_the_relay_log_as_in_the_sources_log() {
    let Pair { source, replica, there, here, source_port, .. } = &mut Pair::of_glassine("replica_relay_stats", &[]);
    follow(here, *source_port, BY_NAME);
    there.query("CREATE DATABASE d").expect("a database");
    there.query("CREATE TABLE d.t (id INT PRIMARY KEY AUTO_INCREMENT, v VARCHAR(500))").expect("a table");
    wait_for_all(replica, source);
    let stats = |log: &str| {
        format!(
            "SELECT COMPRESSION_TYPE, TRANSACTION_COUNTER, COMPRESSED_BYTES_COUNTER, UNCOMPRESSED_BYTES_COUNTER, \
             COMPRESSION_PERCENTAGE, FIRST_TRANSACTION_ID, LAST_TRANSACTION_ID, LAST_TRANSACTION_COMPRESSED_BYTES, \
             LAST_TRANSACTION_UNCOMPRESSED_BYTES, LEFT(LAST_TRANSACTION_TIMESTAMP, 8) \
             FROM performance_schema.binary_log_transaction_compression_stats WHERE LOG_TYPE = '{log}' ORDER BY 1"
        )
    };
    let clear = "TRUNCATE TABLE performance_schema.binary_log_transaction_compression_stats";
    for client in [&mut *there, &mut *here] {
        client.query(clear).expect("nothing is counted");
        assert_eq!(client.query(&stats("RELAY")).expect("rows").rows.len(), 0);
    }
    there.query("SET binlog_transaction_compression = ON").expect("a variable");
    for n in 0..20 {
        if n == 15 {
            there.query("SET binlog_transaction_compression = OFF").expect("a variable");
        }
        there.query(&format!("INSERT INTO d.t (v) VALUES (REPEAT('long', {}))", 100 + n)).expect("a row");
    }
    wait_for_all(replica, source);
    let (sent, received) = (there.query(&stats("BINARY")), here.query(&stats("RELAY")));
    let (sent, received) = (sent.expect("rows").rows, received.expect("rows").rows);
    let counts: Vec<_> = received.iter().map(|row| (row[0].as_deref(), row[1].as_deref())).collect();
    assert_eq!(counts, [(Some("NONE"), Some("5")), (Some("ZSTD"), Some("15"))]);
    assert_eq!(received, sent, "as the source counts them");
    // What the replica logs itself is counted apart, with its own settings.
    let own = here.query(&stats("BINARY")).expect("rows").rows;
    assert_eq!(
        own.iter().map(|row| (row[0].as_deref(), row[1].as_deref())).collect::<Vec<_>>(),
        [(Some("NONE"), Some("20"))]
    );
    assert_eq!(there.query(&stats("RELAY")).expect("rows").rows.len(), 0);
}
