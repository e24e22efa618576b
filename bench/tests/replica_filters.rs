//! Filters of a replica, and START REPLICA UNTIL.

use std::time::{Duration, Instant};

use bench::client::Client;
use bench::process::{Kind, Server, mariadb_is_installed};
use bench::replicas::{
    BY_NAME, Pair, assert_same, catch_up, contents, end_of, follow, free_port, options, status, wait_for_all,
};

fn run(client: &mut Client, statement: &str) {
    if let Err(error) = client.query(statement) {
        panic!("{error}: {statement}");
    }
}

fn cell(client: &mut Client, query: &str) -> String {
    client.query(query).expect(query).cell().unwrap_or("NULL").to_owned()
}

/// Waits until the applier has stopped by itself, without an error.
fn wait_for_stop(client: &mut Client) {
    let start = Instant::now();
    while status(client, "Replica_SQL_Running") == "Yes" {
        assert!(start.elapsed() < Duration::from_secs(20), "it does not stop");
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(status(client, "Last_SQL_Error"), "");
}

/// Filters with the names that MariaDB's variables have, and the databases that a client changes.
const CASES: [&[(&str, &str)]; 9] = [
    &[("do_db", "c0_a")],
    &[("ignore_db", "c1_a,c1_c")],
    &[("do_table", "c2_a.one,c2_b.two")],
    &[("ignore_table", "c3_a.one,c3_b.two")],
    &[("wild_do_table", "c4\\_a.%,c4\\_b.t%")],
    &[("wild_ignore_table", "c5\\_a.%o,c5\\_c.%")],
    &[("do_db", "c6_a,c6_b"), ("ignore_table", "c6_a.two"), ("wild_do_table", "c6\\_b.%,c6\\_a.o%")],
    &[("ignore_db", "c7_c"), ("do_table", "c7_a.one"), ("wild_ignore_table", "c7%.%")],
    &[("rewrite_db", "c8_a->c8_b"), ("ignore_table", "c8_b.two")],
];

/// The same as a list of CHANGE REPLICATION FILTER.
fn change_filter(filters: &[(&str, &str)]) -> String {
    let rule = |name: &str, rule: &str| match name {
        "wild_do_table" | "wild_ignore_table" => format!("'{}'", rule.replace('\\', "\\\\")),
        "rewrite_db" => format!("({})", rule.replace("->", ", ")),
        _ => rule.to_owned(),
    };
    let filter = |(name, rules): &(&str, &str)| {
        let rules: Vec<String> = rules.split(',').map(|one| rule(name, one)).collect();
        format!("REPLICATE_{} = ({})", name.to_uppercase(), rules.join(", "))
    };
    let mut all: Vec<String> = filters.iter().map(filter).collect();
    for name in ["do_db", "ignore_db", "do_table", "ignore_table", "wild_do_table", "wild_ignore_table", "rewrite_db"] {
        if filters.iter().all(|(one, _)| *one != name) {
            all.push(format!("REPLICATE_{} = ()", name.to_uppercase()));
        }
    }
    format!("CHANGE REPLICATION FILTER {}", all.join(", "))
}

/// Changes of tables in three databases, by rows and by statements, in their own database and from another.
fn work(client: &mut Client, case: usize) {
    for database in ["a", "b", "c"] {
        run(client, &format!("USE c{case}_{database}"));
        for table in ["one", "two"] {
            run(client, &format!("CREATE TABLE {table} (id INT PRIMARY KEY, v INT)"));
            run(client, &format!("INSERT INTO {table} VALUES (1, 1), (2, 2)"));
        }
        run(client, "CREATE TABLE gone (id INT PRIMARY KEY)");
        run(client, "RENAME TABLE gone TO going");
        run(client, "DROP TABLE going");
        run(client, "ALTER TABLE two ADD COLUMN more INT");
    }
    run(client, &format!("USE c{case}_c"));
    run(client, "BEGIN");
    for database in ["a", "b", "c"] {
        run(client, &format!("UPDATE c{case}_{database}.one SET v = 7 WHERE id = 1"));
        run(client, &format!("DELETE FROM c{case}_{database}.two WHERE id = 2"));
    }
    run(client, "COMMIT");
    run(client, &format!("UPDATE c{case}_a.one JOIN c{case}_b.two USING (id) SET one.v = 8, two.v = 8"));
}

#[test]
fn filters_take_what_mariadb_takes() {
    if !mariadb_is_installed() {
        println!("skipped: mariadbd is not installed");
        return;
    }
    let Pair { source, replica, there, here, source_port, scratch, .. } = &mut Pair::of_mariadb("replica_filters");
    let own = options(free_port(), 3, &["--character-set-server=utf8mb4", "--collation-server=utf8mb4_general_ci"]);
    let oracle = Server::create(Kind::MariaDb, &scratch.0.join("oracle"), &own).expect("MariaDB starts");
    let mut beside = oracle.connect().expect("a connection");
    // It takes the files from where this one begins.
    run(
        &mut beside,
        &format!(
            "CHANGE MASTER TO MASTER_HOST = '127.0.0.1', MASTER_PORT = {source_port}, MASTER_USER = 'replica', \
             MASTER_PASSWORD = 'it''s secret', MASTER_USE_GTID = no, MASTER_LOG_FILE = 'source.000001', MASTER_LOG_POS = 4"
        ),
    );
    follow(here, *source_port, "");
    for (case, filters) in CASES.iter().enumerate() {
        catch_up(replica, source);
        run(here, "STOP REPLICA");
        let _ = beside.query("STOP SLAVE");
        for name in
            ["do_db", "ignore_db", "do_table", "ignore_table", "wild_do_table", "wild_ignore_table", "rewrite_db"]
        {
            let rules = filters.iter().find(|(one, _)| *one == name).map_or("", |(_, rules)| rules);
            // The databases are there before the filters; then nothing is compared that fails for their want.
            let rules = rules.replace('\\', "\\\\");
            run(&mut beside, &format!("SET GLOBAL replicate_{name} = '{rules}'"));
        }
        run(here, &change_filter(filters));
        for database in ["a", "b", "c"] {
            for server in [&mut *here, &mut beside] {
                run(server, &format!("CREATE DATABASE c{case}_{database}"));
            }
            run(there, "SET sql_log_bin = 0");
            run(there, &format!("CREATE DATABASE c{case}_{database}"));
            run(there, "SET sql_log_bin = 1");
        }
        if filters[0].0 == "rewrite_db" {
            // Both databases would meet in one.
            for statement in
                ["USE c8_a", "CREATE TABLE one (id INT PRIMARY KEY, v INT)", "INSERT INTO one VALUES (1, 1)"]
            {
                run(there, statement);
            }
            for statement in ["CREATE TABLE two (id INT)", "CREATE TABLE gone (id INT)", "DROP TABLE gone"] {
                run(there, statement);
            }
            run(there, "UPDATE one SET v = 5");
        } else {
            work(there, case);
        }
        run(here, "START REPLICA");
        run(&mut beside, "START SLAVE");
        catch_up(replica, source);
        let (file, position) = end_of(source);
        let waited = cell(&mut beside, &format!("SELECT MASTER_POS_WAIT('{file}', {position}, 20)"));
        assert!(waited.parse::<i64>().is_ok_and(|events| events >= 0), "{case}: {waited}\n{}", oracle.log_tail(5));
        let databases = ["a", "b", "c"].map(|database| format!("c{case}_{database}"));
        let databases = databases.each_ref().map(|name| name.as_str());
        assert_same(&contents(replica, &databases), &contents(&oracle, &databases), &format!("case {case}"));
    }
}

#[test]
fn what_is_filtered_out_is_executed_all_the_same() {
    let Pair { source, replica, there, here, source_port, .. } = &mut Pair::of_glassine("replica_passes_over", &[]);
    follow(here, *source_port, BY_NAME);
    run(there, "CREATE DATABASE a");
    run(there, "CREATE DATABASE b");
    wait_for_all(replica, source);
    let change = "CHANGE REPLICATION FILTER REPLICATE_IGNORE_DB = (a), REPLICATE_WILD_IGNORE_TABLE = ('b.no%')";
    assert_eq!(here.query(change).unwrap_err().code(), Some(3017));
    run(here, "STOP REPLICA SQL_THREAD");
    for (statement, code) in [
        ("CHANGE REPLICATION FILTER REPLICATE_WILD_DO_TABLE = ('b')", 3016),
        ("CHANGE REPLICATION FILTER REPLICATE_DO_TABLE = (t)", 1064),
        ("CHANGE REPLICATION FILTER REPLICATE_DO_DB = ('a')", 1064),
        ("CHANGE REPLICATION FILTER REPLICATE_REWRITE_DB = (a, b)", 1064),
        ("CHANGE REPLICATION FILTER REPLICATE_NO_DB = (a)", 1064),
        ("CHANGE REPLICATION FILTER REPLICATE_DO_DB = (a) FOR CHANNEL 'x'", 3074),
    ] {
        assert_eq!(here.query(statement).unwrap_err().code(), Some(code), "{statement}");
    }
    run(here, change);
    run(here, "CHANGE REPLICATION FILTER REPLICATE_REWRITE_DB = ((c, d), (e, f)) FOR CHANNEL ''");
    run(here, "START REPLICA");
    let before = cell(here, "SELECT @@gtid_executed");
    for statement in [
        "CREATE TABLE a.t (id INT PRIMARY KEY)", // It ran in no database, and so is taken.
        "USE a",
        "CREATE TABLE more (id INT PRIMARY KEY)",
        "INSERT INTO a.t VALUES (1)",
        "USE b",
        "CREATE TABLE b.none (id INT PRIMARY KEY)",
        "INSERT INTO b.none VALUES (1)",
        "CREATE TABLE some (id INT PRIMARY KEY)",
        "BEGIN",
        "INSERT INTO a.t VALUES (2)",
        "INSERT INTO b.some VALUES (2)",
        "COMMIT",
        "INSERT INTO a.t VALUES (3)",
    ] {
        run(there, statement);
    }
    wait_for_all(replica, source);
    assert_ne!(cell(here, "SELECT @@gtid_executed"), before);
    assert_eq!(
        cell(
            here,
            "SELECT GROUP_CONCAT(table_schema, '.', table_name ORDER BY 1) FROM information_schema.tables \
                           WHERE table_schema IN ('a', 'b')"
        ),
        "a.t,b.some"
    );
    assert_eq!(cell(here, "SELECT CONCAT((SELECT COUNT(*) FROM a.t), (SELECT COUNT(*) FROM b.some))"), "01");
    // Also in its own log, so that its replicas have all names.
    let own = |client: &mut Client| {
        let file = cell(client, "SHOW MASTER STATUS");
        let events = client.query(&format!("SHOW BINLOG EVENTS IN '{file}'")).expect("events");
        events.rows.iter().filter(|row| row[2].as_deref() == Some("Gtid")).count()
    };
    assert_eq!(own(here), own(there));
    for (column, wanted) in [
        ("Replicate_Ignore_DB", "a"),
        ("Replicate_Wild_Ignore_Table", "b.no%"),
        ("Replicate_Rewrite_DB", "(c,d),(e,f)"),
        ("Replicate_Do_DB", ""),
    ] {
        assert_eq!(status(here, column), wanted);
    }
    let filters = "SELECT GROUP_CONCAT(CONCAT_WS(' ', filter_name, filter_rule, configured_by) ORDER BY filter_name) FROM \
                   performance_schema.replication_applier_";
    let both = "REPLICATE_IGNORE_DB a CHANGE_REPLICATION_FILTER";
    let wild = "REPLICATE_WILD_IGNORE_TABLE b.no% CHANGE_REPLICATION_FILTER";
    let rewrite = "REPLICATE_REWRITE_DB (c,d),(e,f) CHANGE_REPLICATION_FILTER";
    assert_eq!(cell(here, &format!("{filters}filters")), format!("{both},{rewrite},{wild}"));
    assert_eq!(cell(here, &format!("{filters}global_filters")), format!("{both},{wild}"));
    let counter =
        "SELECT counter FROM performance_schema.replication_applier_filters WHERE filter_name LIKE '%IGNORE_DB'";
    assert_eq!(cell(here, counter), "4");
}

/// The names of the transactions in a server's log.
fn logged_names(client: &mut Client) -> usize {
    let files = client.query("SHOW BINARY LOGS").expect("files").rows;
    let files = files.into_iter().map(|row| row[0].clone().expect("a name"));
    let events = |file| client.query(&format!("SHOW BINLOG EVENTS IN '{file}'")).expect("events").rows;
    files.flat_map(events).filter(|row| row[2].as_deref() == Some("Gtid")).count()
}

#[test]
fn what_a_replicas_own_log_leaves_out_is_there_and_its_name_is_logged_also_after_crashes() {
    let pair = &mut Pair::of_glassine("replica_leaves_out", &[]);
    let Pair { source, there, source_port, scratch, .. } = pair;
    let port = free_port();
    let own = options(port, 3, &["--log-bin", "--gtid-mode=ON", "--binlog-ignore-db=b"]);
    let directory = scratch.0.join("middle");
    let mut middle = Server::create(Kind::Glassine, &directory, &own).expect("Glassine starts");
    let last = &mut pair.replica;
    let mut here = middle.connect().expect("a connection");
    run(&mut here, "SET sql_log_bin = 0");
    run(&mut here, "CREATE USER replica@127.0.0.1 IDENTIFIED BY 'it''s secret'");
    follow(&mut here, *source_port, BY_NAME);
    // The log of the middle one leaves the database out.
    run(&mut pair.here, "SET sql_log_bin = 0");
    run(&mut pair.here, "CREATE DATABASE b");
    follow(&mut pair.here, port, BY_NAME);
    for statement in [
        "CREATE DATABASE a",
        "CREATE DATABASE b",
        "CREATE TABLE b.t (id INT PRIMARY KEY, v INT)", // It ran in no database, and so is logged.
        "CREATE TABLE a.t (id INT PRIMARY KEY)",
        "USE b",
        "CREATE TABLE own (id INT PRIMARY KEY)",
        "INSERT INTO own VALUES (1)",
        "CREATE USER left_out@localhost",
        "ANALYZE TABLE b.own",
        "INSERT INTO b.t VALUES (1, 1)",
        "BEGIN",
        "INSERT INTO b.t VALUES (2, 2)",
        "INSERT INTO a.t VALUES (2)",
        "COMMIT",
        "XA START 'one'",
        "INSERT INTO b.own VALUES (3)",
        "XA END 'one'",
        "XA PREPARE 'one'",
        "XA COMMIT 'one'",
        "XA START 'two'",
        "INSERT INTO b.own VALUES (4)",
        "XA END 'two'",
        "XA COMMIT 'two' ONE PHASE",
        "ALTER TABLE b.own ADD COLUMN w INT",
    ] {
        run(there, statement);
    }
    wait_for_all(&middle, source);
    wait_for_all(last, &middle);
    assert_eq!(cell(&mut here, "SELECT GROUP_CONCAT(id ORDER BY id) FROM b.own WHERE w IS NULL"), "1,3,4");
    assert_eq!(cell(&mut pair.here, "SELECT COUNT(*) FROM information_schema.tables WHERE table_name = 'own'"), "0");
    assert_eq!(cell(&mut pair.here, "SELECT CONCAT((SELECT COUNT(*) FROM a.t), (SELECT COUNT(*) FROM b.t))"), "10");
    // Killed while it applies what it does not log: a name in the log without its rows would be a lost transaction.
    for round in 0..6 {
        for id in 0..60 {
            run(there, &format!("INSERT INTO b.t VALUES ({}, 0)", 1000 * (round + 1) + id));
            if id % 20 == 0 {
                run(there, &format!("CREATE TABLE b.t{round}_{id} (a INT)"));
            }
        }
        std::thread::sleep(Duration::from_millis(7 * round));
        middle.kill();
        middle = Server::start(Kind::Glassine, &directory, &own).expect("Glassine recovers");
    }
    wait_for_all(&middle, source);
    assert_same(&contents(&middle, &["a", "b"]), &contents(source, &["a", "b"]), "after it");
    here = middle.connect().expect("a connection");
    let names = cell(&mut here, "SELECT @@gtid_executed");
    assert_eq!(logged_names(&mut here), logged_names(there));
    // Without the replica's own notes its log has all names, also after a start.
    run(&mut here, "STOP REPLICA");
    run(&mut here, "RESET REPLICA ALL");
    run(&mut here, "SET sql_log_bin = 0");
    run(&mut here, "DROP TABLE mysql.slave_relay_log_info, mysql.slave_master_info");
    middle.kill();
    middle = Server::start(Kind::Glassine, &directory, &own).expect("Glassine recovers");
    here = middle.connect().expect("a connection");
    assert_eq!(cell(&mut here, "SELECT @@gtid_executed"), names);
    wait_for_all(last, source);
}

#[test]
fn options_are_filters_again_after_a_restart_and_statements_are_not() {
    let more = ["--replicate-do-db=a", "--replicate-do-db=b", "--replicate-rewrite-db=x->b"];
    let Pair { source, mut replica, mut there, mut here, source_port, scratch } =
        Pair::of_glassine("replica_filter_options", &more);
    let (there, here) = (&mut there, &mut here);
    follow(here, source_port, BY_NAME);
    for statement in
        ["CREATE DATABASE a", "CREATE DATABASE b", "CREATE DATABASE x", "CREATE TABLE b.t (id INT PRIMARY KEY)"]
    {
        run(there, statement);
    }
    for statement in ["USE x", "CREATE TABLE t (id INT PRIMARY KEY)", "CREATE TABLE u (id INT PRIMARY KEY)"] {
        // Two tables of the same name meet in one database; the first one is dropped here before.
        if statement.contains(" t ") {
            wait_for_all(&replica, &source);
            run(here, "SET sql_log_bin = 0");
            run(here, "DROP TABLE b.t");
        }
        run(there, statement);
    }
    run(there, "INSERT INTO x.t VALUES (5)");
    run(there, "DROP TABLE u");
    wait_for_all(&replica, &source);
    assert_eq!(cell(here, "SELECT GROUP_CONCAT(id) FROM b.t"), "5");
    assert_eq!(cell(here, "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = 'b'"), "1");
    assert!(here.query("USE x").is_err());
    run(here, "STOP REPLICA SQL_THREAD");
    run(here, "CHANGE REPLICATION FILTER REPLICATE_DO_DB = ()");
    assert_eq!(status(here, "Replicate_Do_DB"), "");
    replica.kill();
    let own = options(free_port(), 2, &[&["--log-bin", "--gtid-mode=ON"], &more[..]].concat());
    replica = Server::start(Kind::Glassine, &scratch.0.join("replica"), &own).expect("Glassine recovers");
    let here = &mut replica.connect().expect("a connection");
    assert_eq!((status(here, "Replicate_Do_DB"), status(here, "Replicate_Rewrite_DB")), ("a,b".into(), "(x,b)".into()));
    let by = "SELECT DISTINCT configured_by FROM performance_schema.replication_applier_filters";
    assert_eq!(cell(here, by), "STARTUP_OPTIONS");
}

#[test]
fn a_replica_stops_where_it_is_told_to() {
    let Pair { source, replica, there, here, source_port, .. } = &mut Pair::of_glassine("replica_until", &[]);
    run(there, "CREATE DATABASE d");
    run(there, "CREATE TABLE d.t (id INT PRIMARY KEY)");
    follow(here, *source_port, BY_NAME);
    wait_for_all(replica, source);
    let uuid = cell(there, "SELECT @@server_uuid");
    let number = |client: &mut Client| {
        let executed = cell(client, "SELECT @@gtid_executed").replace('\n', "");
        executed.rsplit(['-', ':']).next().expect("a number").parse::<u64>().expect("a number")
    };
    let first = number(there);
    for (statement, code) in [
        ("START REPLICA UNTIL SOURCE_LOG_FILE = 'a'", 1277),
        ("START REPLICA UNTIL SOURCE_LOG_FILE = 'a', SOURCE_LOG_POS = 4", 1277),
        ("START REPLICA UNTIL SOURCE_LOG_FILE = 'a.1', RELAY_LOG_POS = 4", 1277),
        ("START REPLICA UNTIL SQL_BEFORE_GTIDS = 'x'", 1772),
        ("START REPLICA UNTIL SQL_AFTER_MTS_GAPS, SQL_BEFORE_GTIDS = ''", 1277),
        ("START REPLICA UNTIL", 1064),
        ("START REPLICA DEFAULT_AUTH = 'x'", 1235),
    ] {
        assert_eq!(here.query(statement).unwrap_err().code(), Some(code), "{statement}");
    }
    run(here, "STOP REPLICA SQL_THREAD");
    let mut places = Vec::new();
    for id in 1..=40 {
        run(there, &format!("INSERT INTO d.t VALUES ({id})"));
        places.push(end_of(source));
    }
    let count = |client: &mut Client| cell(client, "SELECT COUNT(*) FROM d.t").parse::<usize>().expect("a number");
    let until = |client: &mut Client, condition: &str| {
        run(client, &format!("START REPLICA SQL_THREAD UNTIL {condition}"));
        assert_eq!(cell(client, "SHOW WARNINGS"), "Note");
        wait_for_stop(client);
        count(client)
    };
    let (file, position) = &places[4];
    assert_eq!(until(here, &format!("SOURCE_LOG_FILE = '{file}', SOURCE_LOG_POS = {position}")), 5);
    assert_eq!(status(here, "Until_Condition"), "Source");
    assert_eq!((status(here, "Until_Log_File"), status(here, "Until_Log_Pos")), (file.clone(), position.to_string()));
    assert_eq!(status(here, "Exec_Source_Log_Pos"), position.to_string());
    // Within a transaction: behind it. Where it is already: there.
    assert_eq!(until(here, &format!("MASTER_LOG_FILE = '{file}', MASTER_LOG_POS = {}", places[6].1 + 1)), 8);
    assert_eq!(until(here, &format!("MASTER_LOG_FILE = '{file}', MASTER_LOG_POS = {}", places[6].1 + 1)), 8);
    assert_eq!(until(here, &format!("SQL_BEFORE_GTIDS = '{uuid}:{}-{}'", first + 11, first + 13)), 10);
    assert_eq!(status(here, "Until_Condition"), "SQL_BEFORE_GTIDS");
    assert_eq!(until(here, &format!("SQL_BEFORE_GTIDS = '{uuid}:{}'", first + 3)), 10, "that is executed already");
    assert_eq!(until(here, &format!("SQL_AFTER_GTIDS = '{uuid}:{}:{}'", first + 2, first + 20)), 20);
    assert_eq!(until(here, "SQL_AFTER_MTS_GAPS"), 20);
    assert_eq!(status(here, "Until_Condition"), "SQL_AFTER_MTS_GAPS");
    let relay = (status(here, "Relay_Log_File"), status(here, "Relay_Log_Pos").parse::<u64>().expect("a number"));
    assert_eq!(until(here, &format!("RELAY_LOG_FILE = '{}', RELAY_LOG_POS = {}", relay.0, relay.1 + 1)), 21);
    assert_eq!(status(here, "Until_Condition"), "Relay");
    // What comes later.
    run(here, &format!("START REPLICA UNTIL SQL_AFTER_GTIDS = '{uuid}:{}'", first + 42));
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(status(here, "Replica_SQL_Running"), "Yes");
    for id in 41..=45 {
        run(there, &format!("INSERT INTO d.t VALUES ({id})"));
    }
    wait_for_stop(here);
    assert_eq!(count(here), 42);
    // The receiver alone: there is nothing to end.
    run(here, "STOP REPLICA");
    run(here, "START REPLICA IO_THREAD UNTIL SQL_AFTER_MTS_GAPS");
    assert!(here.query("SHOW WARNINGS").expect("a warning").rows.iter().any(|row| row[1].as_deref() == Some("1279")));
    run(here, "START REPLICA SQL_THREAD");
    wait_for_all(replica, source);
    assert_eq!((count(here), status(here, "Until_Condition")), (45, "None".to_owned()));

    // Another account, for this run.
    run(there, "GRANT REPLICATION SLAVE ON *.* TO other@127.0.0.1 IDENTIFIED BY 'word'");
    run(here, "STOP REPLICA");
    run(here, "START REPLICA USER = 'other' PASSWORD = 'word'");
    run(there, "INSERT INTO d.t VALUES (46)");
    wait_for_all(replica, source);
    let dumps = "SELECT USER FROM information_schema.processlist WHERE COMMAND LIKE 'Binlog Dump%'";
    assert_eq!(cell(there, dumps), "other");
    assert_eq!(status(here, "Source_User"), "replica");
}
