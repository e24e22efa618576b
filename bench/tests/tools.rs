//! Stock tools and stock files: what people have must work unchanged.

use std::fs;
use std::path::Path;
use std::process::Command;

use bench::client::{Client, Login};
use bench::process::{Kind, Options, Scratch, Server, glassine_binary, mariadb_is_installed};
use bench::sysbench::{self, Run};

fn small() -> Options {
    Options { pool: "64M".into(), log: "64M".into(), ..Options::default() }
}

fn glassine(scratch: &Scratch) -> Server {
    Server::create(Kind::Glassine, &scratch.0.join("glassine"), &small()).expect("Glassine starts")
}

fn run(client: &mut Client, statements: &[&str]) {
    for statement in statements {
        client.query(statement).unwrap_or_else(|error| panic!("{statement}: {error}"));
    }
}

fn output(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}:\n{text}");
    text
}

fn is_installed(program: &str) -> bool {
    let found = Command::new(program).arg("--version").output().is_ok();
    if !found {
        println!("skipped: {program} is not installed");
    }
    found
}

fn page_summary(file: &Path) -> String {
    output(Command::new(glassine_binary()).arg("page").arg(file).arg("--summary"))
}

/// Rows whose text a codec can shorten, but not to nothing.
fn fill(client: &mut Client, table: &str, from: u32, count: u32) {
    for start in (from..from + count).step_by(500) {
        let rows: Vec<String> = (start..start + 500)
            .map(|id| {
                let word = u64::from(id).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                format!(
                    "({id}, 'customer {id} of street {word:x}', '{}')",
                    "lorem ipsum dolor ".repeat(1 + id as usize % 9)
                )
            })
            .collect();
        run(client, &[&format!("INSERT INTO {table} VALUES {}", rows.join(","))]);
    }
}

#[test]
fn the_statements_of_mysqls_and_mariadbs_page_compression_work() {
    let scratch = Scratch::new("tools-compression").expect("a directory");
    let server = glassine(&scratch);
    let mut client = server.connect().expect("a connection");
    run(
        &mut client,
        &[
            "CREATE DATABASE linkdb",
            "USE linkdb",
            "CREATE TABLE T (C INT) COMPRESSION=\"lz4\"",
            "ALTER TABLE T COMPRESSION=\"none\"",
            "ALTER TABLE T COMPRESSION=\"zlib\"",
            "OPTIMIZE TABLE T",
            "CREATE TABLE T0 (A INTEGER) ENGINE=InnoDB PAGE_COMPRESSED=1",
            "CREATE TABLE T1 (A INTEGER) ENGINE=InnoDB page_compressed=yes",
            "CREATE TABLE A (B INTEGER) ENGINE=InnoDB PAGE_COMPRESSED=1 PAGE_COMPRESSION_LEVEL=6",
            "CREATE TABLE B (C INTEGER) ENGINE=InnoDB ATOMIC_WRITES=ON",
            "CREATE TABLE C (D INTEGER) ENGINE=InnoDB DATA DIRECTORY='/dev/fioa' PAGE_COMPRESSED=1 PAGE_COMPRESSION_LEVEL=4 ATOMIC_WRITES='ON'",
        ],
    );
    assert!(client.query("CREATE TABLE bad (a INT) COMPRESSION='snappy'").is_err(), "an unknown codec is refused");
    let compressed = client
        .query(
            "SELECT name, ((file_size-allocated_size)*100)/file_size as compressed_pct \
             FROM information_schema.INNODB_SYS_TABLESPACES WHERE name like 'linkdb%' ORDER BY name",
        )
        .expect("the query of the original's authors");
    assert_eq!(compressed.columns, ["name", "compressed_pct"]);
    assert_eq!(compressed.rows.len(), 6);
    server.stop().expect("a clean shutdown");
}

#[test]
fn a_table_holds_pages_of_three_codecs_until_it_is_optimized() {
    let scratch = Scratch::new("tools-codecs").expect("a directory");
    let server = glassine(&scratch);
    let mut client = server.connect().expect("a connection");
    run(&mut client, &["CREATE DATABASE d", "USE d"]);
    run(&mut client, &["CREATE TABLE m (id INT PRIMARY KEY, name VARCHAR(100), body TEXT) COMPRESSION='lz4'"]);
    let directory = server.directory.clone();
    let file = directory.join("data/d/m.ibd");
    let options = small();
    let mut server = server;
    // A clean shutdown writes every page under the setting of the day.
    for (number, codec) in ["lz4", "zlib", "zstd"].iter().enumerate() {
        let mut client = server.connect().expect("a connection");
        run(&mut client, &[&format!("ALTER TABLE d.m COMPRESSION='{codec}'")]);
        fill(&mut client, "d.m", number as u32 * 4000, 4000);
        drop(client);
        server.stop().expect("a clean shutdown");
        server = Server::start(Kind::Glassine, &directory, &options).expect("a restart");
    }
    let before = page_summary(&file);
    for codec in ["lz4", "zlib", "zstd"] {
        assert!(before.contains(codec), "no page is stored as {codec}:\n{before}");
    }
    let mut client = server.connect().expect("a connection");
    let rows = client.query("SELECT COUNT(*), SUM(CRC32(CONCAT(id, name, body))) FROM d.m").expect("a checksum").rows;
    run(&mut client, &["OPTIMIZE TABLE d.m"]);
    let again = client.query("SELECT COUNT(*), SUM(CRC32(CONCAT(id, name, body))) FROM d.m").expect("a checksum").rows;
    assert_eq!(rows, again);
    drop(client);
    server.stop().expect("a clean shutdown");
    let after = page_summary(&file);
    assert!(after.contains("zstd"), "{after}");
    assert!(!after.contains("lz4") && !after.contains("zlib"), "OPTIMIZE TABLE left another codec:\n{after}");
}

#[test]
fn innochecksum_accepts_and_mariadb_imports_our_files() {
    if !mariadb_is_installed() || !is_installed("innochecksum") {
        return;
    }
    let scratch = Scratch::new("tools-import").expect("a directory");
    let server = glassine(&scratch);
    let mut client = server.connect().expect("a connection");
    let columns = "id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, name VARCHAR(100) CHARACTER SET latin1, body TEXT CHARACTER SET latin1, \
                   amount DECIMAL(10,2), at DATETIME(3), small TINYINT UNSIGNED, big BIGINT, f DOUBLE, c CHAR(10) CHARACTER SET latin1, lob MEDIUMTEXT CHARACTER SET latin1";
    run(
        &mut client,
        &[
            "CREATE DATABASE d",
            "USE d",
            &format!("CREATE TABLE t ({columns}, KEY (name), KEY (amount, at)) COMPRESSION='none' ROW_FORMAT=DYNAMIC"),
        ],
    );
    for start in (0..6000).step_by(500) {
        let rows: Vec<String> = (start..start + 500)
            .map(|n| {
                format!(
                    "('name {}', {}, {}.{:02}, '2024-03-{:02} 10:11:12.{:03}', {}, {}, {}.5, 'c{}', {})",
                    n * 7919 % 6000,
                    if n % 5 == 0 { "NULL".into() } else { format!("REPEAT('body {n} ', {})", n % 40) },
                    n,
                    n % 100,
                    1 + n % 28,
                    n % 1000,
                    n % 256,
                    i64::from(n) * -1_000_003,
                    n,
                    n % 13,
                    if n % 100 == 0 { "REPEAT('a long value ', 3000)" } else { "'short'" },
                )
            })
            .collect();
        run(
            &mut client,
            &[&format!("INSERT INTO t (name, body, amount, at, small, big, f, c, lob) VALUES {}", rows.join(","))],
        );
    }
    run(
        &mut client,
        &[
            "DELETE FROM t WHERE id % 7 = 3",
            "UPDATE t SET body = CONCAT(IFNULL(body, ''), ' longer') WHERE id % 11 = 0",
        ],
    );
    let question =
        "SELECT COUNT(*), SUM(CRC32(CONCAT_WS('|', id, name, body, amount, at, small, big, f, c, lob))) FROM d.t";
    let ours = client.query(question).expect("our checksum").rows;
    drop(client);
    let directory = server.stop().expect("a clean shutdown");
    let file = directory.join("data/d/t.ibd");
    output(Command::new("innochecksum").arg(&file));

    let peer = Server::create(Kind::MariaDb, &scratch.0.join("mariadb"), &small()).expect("MariaDB starts");
    let mut client = peer.connect().expect("a connection");
    run(
        &mut client,
        &[
            "SET GLOBAL innodb_checksum_algorithm = crc32",
            "CREATE DATABASE d",
            &format!("CREATE TABLE d.t ({columns}) ENGINE=InnoDB ROW_FORMAT=DYNAMIC"),
            "ALTER TABLE d.t DISCARD TABLESPACE",
        ],
    );
    fs::copy(&file, peer.directory.join("data/d/t.ibd")).expect("a copy of the tablespace");
    run(&mut client, &["ALTER TABLE d.t IMPORT TABLESPACE"]);
    let check = client.query("CHECK TABLE d.t EXTENDED").expect("CHECK TABLE");
    assert_eq!(check.rows.last().and_then(|row| row[3].as_deref()), Some("OK"), "{check:?}");
    assert_eq!(client.query(question).expect("MariaDB's checksum").rows, ours);
    run(&mut client, &["INSERT INTO d.t (name) SELECT name FROM d.t", "ALTER TABLE d.t ADD KEY (name)"]);
    let check = client.query("CHECK TABLE d.t EXTENDED").expect("CHECK TABLE");
    assert_eq!(check.rows.last().and_then(|row| row[3].as_deref()), Some("OK"), "{check:?}");
}

#[test]
fn every_uncompressed_file_passes_innochecksum_at_each_page_size() {
    if !is_installed("innochecksum") {
        return;
    }
    let scratch = Scratch::new("tools-pagesizes").expect("a directory");
    for page_size in ["4k", "8k", "16k", "32k", "64k"] {
        let options = Options { more: vec![format!("--innodb-page-size={page_size}")], ..small() };
        let server = Server::create(Kind::Glassine, &scratch.0.join(page_size), &options).expect("Glassine starts");
        let mut client = server.connect().expect("a connection");
        run(
            &mut client,
            &[
                "CREATE DATABASE d",
                "CREATE TABLE d.t (id INT PRIMARY KEY, name VARCHAR(150), body TEXT, KEY (name)) COMPRESSION='none'",
                "CREATE TABLE d.z (id INT PRIMARY KEY, name VARCHAR(150), body TEXT, KEY (name)) COMPRESSION='zstd'",
            ],
        );
        fill(&mut client, "d.t", 0, 5000);
        fill(&mut client, "d.z", 0, 5000);
        run(&mut client, &["DELETE FROM d.t WHERE id % 3 = 0"]);
        drop(client);
        let directory = server.stop().expect("a clean shutdown");
        output(Command::new("innochecksum").arg(directory.join("data/d/t.ibd")));
        let server = Server::start(Kind::Glassine, &directory, &options).expect("a restart");
        let mut client = server.connect().expect("a connection");
        let count = "SELECT COUNT(*) FROM d.z";
        assert_eq!(client.query(count).expect("a count").number(), 5000);
        drop(client);
        let directory = server.stop().expect("a clean shutdown");
        output(
            Command::new(glassine_binary()).arg("check").arg(format!("--datadir={}", directory.join("data").display())),
        );
    }
}

#[test]
fn stock_clients_connect_and_work() {
    if !is_installed("mariadb") || !is_installed("mariadb-admin") {
        return;
    }
    let scratch = Scratch::new("tools-clients").expect("a directory");
    let server = glassine(&scratch);
    let socket = format!("--socket={}", server.socket.display());
    let client = |statement: &str| {
        output(Command::new("mariadb").args(["--no-defaults", "-uroot", &socket, "-N", "-e", statement]))
    };
    assert!(client("SELECT VERSION()").contains("-glassine"));
    client(
        "CREATE DATABASE d; USE d; CREATE TABLE t (a INT PRIMARY KEY, b VARCHAR(10)); INSERT INTO t VALUES (1, 'x'), (2, NULL)",
    );
    assert_eq!(client("SELECT * FROM d.t; SELECT 1").trim(), "1\tx\n2\tNULL\n1");
    assert!(client("SHOW CREATE TABLE d.t").contains("PRIMARY KEY (`a`)"));
    let admin = |word: &str| output(Command::new("mariadb-admin").args(["--no-defaults", "-uroot", &socket, word]));
    assert!(admin("ping").contains("alive"));
    assert!(admin("status").contains("Uptime"));
    assert!(admin("processlist").contains("root"));
    assert!(admin("variables").contains("innodb_buffer_pool_size"));
    assert!(admin("extended-status").contains("Innodb_buffer_pool_read_requests"));
    server.stop().expect("a clean shutdown");
}

/// A dump switches the checks off, and makes children before their parents where the alphabet says so.
#[test]
fn a_dump_brings_foreign_keys_back() {
    if !is_installed("mariadb") || !is_installed("mariadb-dump") {
        return;
    }
    let scratch = Scratch::new("tools-dump").expect("a directory");
    let server = glassine(&scratch);
    let socket = format!("--socket={}", server.socket.display());
    let client = |statement: &str| {
        output(Command::new("mariadb").args(["--no-defaults", "-uroot", &socket, "-N", "-e", statement]))
    };
    client(
        "CREATE DATABASE d; CREATE DATABASE e; USE d; CREATE TABLE p (id INT PRIMARY KEY); \
         CREATE TABLE c (id INT PRIMARY KEY, pid INT, FOREIGN KEY (pid) REFERENCES p (id) ON DELETE CASCADE); \
         INSERT INTO p VALUES (1), (2); INSERT INTO c VALUES (10, 1), (20, 2)",
    );
    let dump = scratch.0.join("dump.sql");
    let text = output(Command::new("mariadb-dump").args(["--no-defaults", "-uroot", &socket, "d"]));
    assert!(
        text.contains("CONSTRAINT `c_ibfk_1` FOREIGN KEY (`pid`) REFERENCES `p` (`id`) ON DELETE CASCADE"),
        "{text}"
    );
    fs::write(&dump, text).expect("a file");
    let from_dump = fs::File::open(&dump).expect("the file");
    output(Command::new("mariadb").args(["--no-defaults", "-uroot", &socket, "e"]).stdin(from_dump));
    assert_eq!(client("SHOW CREATE TABLE e.c"), client("SHOW CREATE TABLE d.c"));
    client("USE e; DELETE FROM p WHERE id = 1");
    assert_eq!(client("SELECT * FROM e.c").trim(), "20\t2");
    assert_eq!(client("SELECT COUNT(*) FROM d.c").trim(), "2");
    server.stop().expect("a clean shutdown");
}

#[test]
fn sysbench_runs_without_an_error() {
    if !sysbench::is_installed() {
        println!("skipped: sysbench is not installed");
        return;
    }
    let scratch = Scratch::new("tools-sysbench").expect("a directory");
    let server = glassine(&scratch);
    run(&mut server.connect().expect("a connection"), &["CREATE DATABASE sbtest"]);
    let scripts = [
        "bulk_insert",
        "oltp_point_select",
        "oltp_read_only",
        "oltp_write_only",
        "oltp_read_write",
        "oltp_delete",
        "oltp_update_index",
        "oltp_update_non_index",
        "oltp_insert",
    ];
    for script in scripts {
        for prepared in [true, false] {
            let run = Run { script, tables: 2, rows: 5000, threads: 4, seconds: 2, prepared, more: &[] };
            run.prepare(&server).unwrap_or_else(|error| panic!("{error}"));
            let figures = run.run(&server).unwrap_or_else(|error| panic!("{error}"));
            assert!(figures.transactions > 0, "{script} did nothing");
            run.cleanup(&server).expect("cleanup");
        }
    }
    let directory = server.stop().expect("a clean shutdown");
    output(Command::new(glassine_binary()).arg("check").arg(format!("--datadir={}", directory.join("data").display())));
}

#[test]
fn a_second_server_on_the_same_directory_is_refused() {
    let scratch = Scratch::new("tools-second").expect("a directory");
    let server = glassine(&scratch);
    let second = Command::new(glassine_binary())
        .args(["serve", "--no-defaults", "--skip-networking"])
        .arg(format!("--datadir={}", server.directory.join("data").display()))
        .arg(format!("--socket={}", server.directory.join("second.sock").display()))
        .output()
        .expect("the second server's end");
    assert!(!second.status.success());
    let text = String::from_utf8_lossy(&second.stderr).to_lowercase();
    assert!(text.contains("another") || text.contains("in use") || text.contains("lock"), "{text}");
}

#[test]
fn a_misspelt_option_names_the_nearest_real_one() {
    let refused = Command::new(glassine_binary())
        .args(["serve", "--no-defaults", "--innodb-thread-concurrencty=1"])
        .output()
        .expect("an answer");
    assert!(!refused.status.success());
    let text = String::from_utf8_lossy(&refused.stderr).replace('-', "_");
    assert!(text.contains("innodb_thread_concurrency"), "{text}");
}

/// Percona's tools: a table is changed beside a writer by triggers, rows are moved, a deadlock is read from the report.
#[test]
fn percona_toolkit_changes_a_table_and_reads_a_deadlock() {
    if !is_installed("pt-online-schema-change") {
        return;
    }
    let scratch = Scratch::new("tools-percona").expect("a directory");
    let server = glassine(&scratch);
    let mut client = server.connect().expect("a connection");
    run(
        &mut client,
        &[
            "CREATE DATABASE shop",
            "USE shop",
            "CREATE TABLE orders (id INT AUTO_INCREMENT PRIMARY KEY, who VARCHAR(20), sum DECIMAL(8,2), note JSON)",
            "CREATE TABLE archive LIKE orders",
            "CREATE TABLE done (id INT PRIMARY KEY)",
            "INSERT INTO orders (who, sum, note) WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 1000) \
             SELECT CONCAT('c', i), i / 3, JSON_OBJECT('i', i) FROM n",
            "INSERT INTO orders (who, sum, note) SELECT who, sum, note FROM orders",
            "INSERT INTO orders (who, sum, note) SELECT who, sum, note FROM orders",
            "ANALYZE TABLE orders",
        ],
    );
    let dsn = format!("S={},u=root", server.socket.display());
    let inserted = {
        let ended = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|threads| {
            let writer = threads.spawn(|| {
                let mut writer = server.connect().expect("a connection");
                let mut count = 0_u64;
                while !ended.load(std::sync::atomic::Ordering::Relaxed) {
                    for statement in [
                        "INSERT INTO shop.orders (who, sum) VALUES ('beside', 1)",
                        "UPDATE shop.orders SET sum = sum + 1 WHERE who = 'beside' AND id = LAST_INSERT_ID()",
                    ] {
                        // The tool copies rows under shared locks, so that it may meet a trigger in a deadlock.
                        while let Err(error) = writer.query(statement) {
                            assert!(error.to_string().contains("1213"), "{statement}: {error}");
                        }
                    }
                    count += 1;
                }
                count
            });
            let change = Command::new("pt-online-schema-change")
                .args(["--alter", "ADD COLUMN paid TINYINT NOT NULL DEFAULT 1, ADD KEY (who)", "--execute"])
                .args(["--charset=utf8mb4", "--chunk-size=200", &format!("{dsn},D=shop,t=orders")])
                .output()
                .expect("pt-online-schema-change runs");
            ended.store(true, std::sync::atomic::Ordering::Relaxed);
            let text = String::from_utf8_lossy(&change.stdout) + String::from_utf8_lossy(&change.stderr);
            assert!(change.status.success() && text.contains("Successfully altered `shop`.`orders`."), "{text}");
            writer.join().expect("no insert fails")
        })
    };
    let answer = |client: &mut Client, query: &str| client.query(query).expect("an answer").rows[0][0].clone();
    let beside = "SELECT COUNT(*) FROM shop.orders WHERE who = 'beside' AND sum = 2 AND paid = 1";
    assert_eq!(answer(&mut client, beside), Some(inserted.to_string()));
    assert_eq!(answer(&mut client, "SELECT SUM(paid) FROM shop.orders WHERE note IS NOT NULL"), Some("4000".into()));

    run(&mut client, &["ALTER TABLE archive ADD COLUMN paid TINYINT NOT NULL DEFAULT 1"]);
    output(
        Command::new("pt-archiver")
            .args(["--source", &format!("{dsn},D=shop,t=orders"), "--dest", &format!("{dsn},D=shop,t=archive")])
            .args(["--where", "id <= 300", "--limit", "50", "--txn-size", "20", "--charset", "utf8mb4"]),
    );
    assert_eq!(answer(&mut client, "SELECT COUNT(*) FROM archive"), Some("300".into()));
    assert_eq!(answer(&mut client, "SELECT COUNT(*) FROM orders WHERE id <= 300"), Some("0".into()));

    let mut other = server.connect().expect("a connection");
    run(&mut other, &["USE shop", "BEGIN", "UPDATE archive SET sum = 5 WHERE id = 2"]);
    run(&mut client, &["BEGIN", "UPDATE archive SET sum = 5 WHERE id = 1"]);
    std::thread::scope(|threads| {
        let waiting = threads.spawn(|| other.query("UPDATE archive SET sum = 6 WHERE id = 1").is_err());
        // Whoever comes second closes the circle.
        let first = client.query("UPDATE archive SET sum = 6 WHERE id = 2").is_err();
        if !first {
            run(&mut client, &["COMMIT"]);
        }
        assert_ne!(waiting.join().expect("an answer"), first, "one of both is rolled back");
    });
    let text = output(Command::new("pt-deadlock-logger").args([&dsn, "--iterations", "1", "--interval", "1"]));
    let lines: Vec<&str> = text.lines().filter(|line| line.contains("UPDATE archive SET sum = 6")).collect();
    assert_eq!(lines.len(), 2, "{text}");
    for words in [" root ", " shop archive PRIMARY RECORD X w "] {
        assert!(lines.iter().all(|line| line.contains(words)), "'{words}' is not in\n{text}");
    }
    server.stop().expect("a clean shutdown");
}

/// MySQL's way into a server of which nobody knows a password, and an option file that names what only others have.
#[test]
fn an_init_file_is_run_first_and_option_files_of_other_servers_are_read() {
    let scratch = Scratch::new("tools-init-file").expect("a directory");
    let directory = glassine(&scratch).stop().expect("a clean shutdown");
    let file = scratch.0.join("init.sql");
    let path = file.display();
    fs::write(&file, "-- A way in.\nCREATE USER\n  found@localhost;\nGRANT ALL ON *.* TO found@localhost;\n").unwrap();
    let cnf = scratch.0.join("other.cnf");
    let options = "[mysqld]\nskip-host-cache\nplugin-load-add=auth_socket.so\nskip-stack-trace\naria_log_file_size=1G\n\
                   log_slow_verbosity=query_plan\nwsrep_cluster_name=c\nperformance-schema-instrument='%=ON'\n\
                   performance_schema_max_table_instances=500\nskip-character-set-client-handshake\n";
    fs::write(&cnf, options).unwrap();
    let more = vec![format!("--defaults-extra-file={}", cnf.display()), format!("--init-file={path}")];
    let server = Server::start(Kind::Glassine, &directory, &Options { more, ..small() }).expect("it starts");
    let login = Login { user: "found", ..Login::default() };
    let mut root = Client::log_in(&server.socket, &login).expect("the account of the file");
    let asked = "SELECT CONCAT(VARIABLE_SOURCE, ' ', VARIABLE_PATH) FROM performance_schema.variables_info WHERE VARIABLE_NAME = ";
    for (name, source) in [
        ("aria_log_file_size", format!("EXTRA {}", cnf.display())),
        ("init_file", "COMMAND_LINE ".to_owned()),
        ("sql_mode", "COMPILED ".to_owned()),
    ] {
        assert_eq!(root.query(&format!("{asked}'{name}'")).expect(name).cell(), Some(source.as_str()), "{name}");
    }
    let directory = server.stop().expect("a clean shutdown");
    // A statement that fails ends the start.
    fs::write(&file, "CREATE USER found@localhost;").unwrap();
    let more = vec![format!("--init-file={path}")];
    assert!(Server::start(Kind::Glassine, &directory, &Options { more, ..small() }).is_err());
}
