//! What the server tells about itself, judged from outside: by the files, by the page reader, and beside MariaDB.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::Duration;

use bench::client::Client;
use bench::process::{Kind, Options, Scratch, Server, glassine_binary, mariadb_is_installed};

fn small() -> Options {
    Options { pool: "32M".into(), log: "64M".into(), ..Options::default() }
}

fn run(client: &mut Client, statements: &[&str]) {
    for statement in statements {
        client.query(statement).unwrap_or_else(|error| panic!("{statement}: {error}"));
    }
}

/// Tables, their codecs, and what else is said of them.
const TABLES: [(&str, &str, &str); 5] = [
    ("none", "none", ""),
    ("zlib", "zlib", ""),
    ("lz4", "lz4", ""),
    ("zstd", "zstd", ""),
    ("secret", "zstd", "ENCRYPTION='Y'"),
];

/// Tables in each codec, with rows of different size and some that no codec shortens.
fn fill(client: &mut Client) {
    run(client, &["CREATE DATABASE d", "USE d"]);
    for (table, codec, more) in TABLES {
        let columns = "id INT PRIMARY KEY, a VARCHAR(300), KEY (a)";
        run(client, &[&format!("CREATE TABLE {table} ({columns}) COMPRESSION='{codec}' {more}")]);
        for start in (0..4000u64).step_by(500) {
            let rows: Vec<String> = (start..start + 500)
                .map(|id| {
                    let word = |salt: u64| (id + salt).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 7;
                    let text = match id % 5 {
                        0 => (0..18).map(|salt| format!("{:x}", word(salt))).collect(),
                        length => format!("{:x} lorem ipsum", word(0)).repeat(length as usize),
                    };
                    format!("({id}, '{text}')")
                })
                .collect();
            run(client, &[&format!("INSERT INTO {table} VALUES {}", rows.join(","))]);
        }
    }
    run(client, &["DELETE FROM zstd WHERE id % 3 = 0", "UPDATE lz4 SET a = 'x' WHERE id < 2000"]);
}

/// The numbers of the recount by `glassine page`, by key; those of a codec behind its name.
fn recount(file: &Path) -> BTreeMap<String, u64> {
    let output =
        Command::new(glassine_binary()).arg("page").arg(file).args(["--json", "--summary"]).output().expect("runs");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{}: {}{text}", file.display(), String::from_utf8_lossy(&output.stderr));
    let mut numbers = BTreeMap::new();
    let mut codec = String::new();
    for member in text.split(['{', ',', '}', '[']) {
        let Some((key, value)) = member.split_once(": ") else { continue };
        let (key, value) = (key.trim().trim_matches('"'), value.trim().trim_matches(['"', ']', '\n']));
        match value.parse() {
            _ if key == "codec" => codec = format!("{value} "),
            Ok(number) => {
                numbers.insert(format!("{codec}{key}"), number);
            }
            Err(_) => {}
        }
    }
    numbers
}

fn row(client: &mut Client, statement: &str) -> BTreeMap<String, String> {
    let answer = client.query(statement).unwrap_or_else(|error| panic!("{statement}: {error}"));
    assert_eq!(answer.rows.len(), 1, "{statement}");
    answer.columns.into_iter().zip(answer.rows[0].iter().map(|cell| cell.clone().unwrap_or_default())).collect()
}

/// An idle server writes what is dirty within seconds: waits until it does, and until purge has nothing to do either.
fn settle(client: &mut Client) {
    let mut written = String::new();
    let mut quiet = 0;
    for _ in 0..200 {
        let status = |client: &mut Client, name: &str| {
            let answer = client.query(&format!("SHOW GLOBAL STATUS LIKE '{name}'")).expect("a status");
            answer.rows[0][1].clone().unwrap_or_default()
        };
        let now = status(client, "Innodb_pages_written");
        let is_clean = status(client, "Innodb_buffer_pool_pages_dirty") == "0";
        quiet = if is_clean && now == written { quiet + 1 } else { 0 };
        if quiet == 5 {
            return;
        }
        written = now;
        thread::sleep(Duration::from_millis(100));
    }
    panic!("the server does not come to rest");
}

fn compare_with_recount(client: &mut Client, directory: &Path) {
    settle(client);
    for (table, codec, _) in TABLES {
        let file = directory.join(format!("data/d/{table}.ibd"));
        let view = row(
            client,
            &format!("SELECT * FROM information_schema.GLASSINE_TABLESPACE_COMPRESSION WHERE NAME = 'd/{table}'"),
        );
        let recount = recount(&file);
        let counted = |key: &str| recount.get(key).copied().unwrap_or(0).to_string();
        for (column, key) in [
            ("PAGES", "pages"),
            ("PAGES_UNWRITTEN", "unwritten pages"),
            ("PAGES_PLAIN", "plain pages"),
            ("PAGES_ZLIB", "zlib pages"),
            ("PAGES_LZ4", "lz4 pages"),
            ("PAGES_ZSTD", "zstd pages"),
            ("PAGES_ENCRYPTED", "encrypted"),
            ("EXACT_BYTES", "exact_bytes"),
            ("BOUNDARY_MISSES", "boundary_misses"),
        ] {
            assert_eq!(view[column], counted(key), "{table}: {column}\n{view:?}\n{recount:?}");
        }
        assert_eq!(view["PAGES_UNKNOWN"], "0", "{view:?}");
        assert_eq!(view["PAGES_ENCRYPTED"] != "0", table == "secret", "{view:?}");
        // What is reserved and was never written has blocks, and is a hole to SEEK_HOLE: plain tables reserve.
        if codec != "none" {
            assert_eq!(view["STORED_BYTES"], counted("occupied_bytes"), "{table}\n{view:?}\n{recount:?}");
        }
    }
}

#[test]
fn the_views_equal_a_recount_of_the_files() {
    let scratch = Scratch::new("monitoring-recount").expect("a directory");
    let server = Server::create(Kind::Glassine, &scratch.0.join("glassine"), &small()).expect("Glassine starts");
    let mut client = server.connect().expect("a connection");
    fill(&mut client);
    settle(&mut client);
    compare_with_recount(&mut client, &server.directory);

    // The files as the filesystem sees them.
    for (table, codec, _) in TABLES {
        let view =
            row(&mut client, &format!("SELECT * FROM information_schema.INNODB_TABLESPACES WHERE NAME = 'd/{table}'"));
        let metadata = fs::metadata(server.directory.join(format!("data/d/{table}.ibd"))).expect("a file");
        assert_eq!(view["FILE_SIZE"], metadata.len().to_string());
        assert_eq!(view["ALLOCATED_SIZE"], (metadata.blocks() * 512).to_string(), "{table}");
        assert_eq!(view["COMPRESSION"].to_lowercase(), codec);
    }

    // After a restart nothing is known of the pages: they are surveyed when somebody asks.
    let directory = server.stop().expect("a clean shutdown");
    let server = Server::start(Kind::Glassine, &directory, &small()).expect("a restart");
    let mut client = server.connect().expect("a connection");
    settle(&mut client);
    compare_with_recount(&mut client, &server.directory);
    let setting = client
        .query("SELECT COMPRESSION FROM information_schema.INNODB_TABLESPACES WHERE NAME = 'd/lz4'")
        .expect("a setting");
    assert_eq!(setting.cell(), Some("LZ4"));
    server.stop().expect("a clean shutdown");
}

#[test]
fn what_is_persisted_holds_after_a_restart() {
    let scratch = Scratch::new("monitoring-persist").expect("a directory");
    let server = Server::create(Kind::Glassine, &scratch.0.join("glassine"), &small()).expect("Glassine starts");
    let mut client = server.connect().expect("a connection");
    run(
        &mut client,
        &[
            "SET PERSIST max_connections = 33",
            "SET PERSIST innodb_io_capacity = 777",
            "SET PERSIST_ONLY innodb_log_buffer_size = 1048576",
            "SET PERSIST sql_mode = 'ANSI_QUOTES'",
        ],
    );
    assert_ne!(client.query("SELECT @@innodb_log_buffer_size").expect("a value").cell(), Some("1048576"));
    let directory = server.stop().expect("a clean shutdown");
    // Over the command line, too.
    let options = Options { more: vec!["--max-connections=44".into()], ..small() };
    let server = Server::start(Kind::Glassine, &directory, &options).expect("a restart");
    let mut client = server.connect().expect("a connection");
    let values = client
        .query("SELECT @@max_connections, @@innodb_io_capacity, @@innodb_log_buffer_size, @@GLOBAL.sql_mode")
        .expect("values");
    let values: Vec<&str> = values.rows[0].iter().map(|cell| cell.as_deref().unwrap_or("NULL")).collect();
    assert_eq!(values, ["33", "777", "1048576", "ANSI_QUOTES"]);
    run(&mut client, &["RESET PERSIST"]);
    let directory = server.stop().expect("a clean shutdown");
    let server = Server::start(Kind::Glassine, &directory, &options).expect("a restart");
    let mut client = server.connect().expect("a connection");
    assert_eq!(client.query("SELECT @@max_connections").expect("a value").cell(), Some("44"));
    server.stop().expect("a clean shutdown");
}

/// Regular expressions without the crate: the number behind a text.
fn number_behind(report: &str, words: &str) -> Option<f64> {
    let behind = &report[report.find(words)? + words.len()..];
    let end = behind.trim_start().find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(behind.trim_start().len());
    behind.trim_start()[..end].trim_end_matches('.').parse().ok()
}

#[test]
fn monitoring_programs_read_both_servers_alike() {
    if !mariadb_is_installed() {
        println!("skipped: mariadbd is not installed");
        return;
    }
    let scratch = Scratch::new("monitoring-both").expect("a directory");
    for kind in [Kind::MariaDb, Kind::Glassine] {
        let server = Server::create(kind, &scratch.0.join(format!("{kind:?}")), &small()).expect("the server starts");
        let mut client = server.connect().expect("a connection");
        run(
            &mut client,
            &["CREATE DATABASE d", "CREATE TABLE d.t (a INT) ENGINE=InnoDB", "INSERT INTO d.t VALUES (1), (2), (3)"],
        );
        let report = client.query("SHOW ENGINE INNODB STATUS").expect("a report");
        assert_eq!(report.columns, ["Type", "Name", "Status"], "{kind:?}");
        let report = report.rows[0][2].clone().unwrap_or_default();
        for words in [
            "Per second averages calculated from the last ",
            "Trx id counter ",
            "History list length ",
            "Log sequence number",
            "Log flushed up to",
            "Last checkpoint at",
            "Buffer pool size",
            "Free buffers",
            "Database pages",
            "Modified db pages",
            "Pending reads",
            "Pages read ",
        ] {
            assert!(number_behind(&report, words).is_some(), "{kind:?}: no number behind '{words}' in\n{report}");
        }
        // MySQL 8.0 has more than MariaDB.
        if kind == Kind::Glassine {
            assert_eq!(number_behind(&report, "Pending flushes (fsync) log: "), Some(0.0));
            assert!(number_behind(&report, "Number of rows inserted ").is_some(), "{report}");
            assert!(report.contains(" queries inside InnoDB, "), "{report}");
        }
        for words in [" OS file reads, ", " read views open inside InnoDB", "END OF INNODB MONITOR OUTPUT"] {
            assert!(report.contains(words), "{kind:?}: '{words}' is not in\n{report}");
        }
        let memory = client.query("SHOW ENGINE PERFORMANCE_SCHEMA STATUS").expect("a report");
        assert_eq!(memory.columns, ["Type", "Name", "Status"], "{kind:?}");
        let last = memory.rows.last().expect("a row for all of its memory");
        assert_eq!(
            (last[0].as_deref(), last[1].as_deref()),
            (Some("performance_schema"), Some("performance_schema.memory"))
        );
        assert!(last[2].as_deref().unwrap_or_default().parse::<u64>().is_ok(), "{kind:?}: {last:?}");
        let status = client.query("SHOW GLOBAL STATUS").expect("a status");
        let names: Vec<&str> = status.rows.iter().filter_map(|row| row[0].as_deref()).collect();
        for name in [
            "Innodb_buffer_pool_bytes_data",
            "Innodb_buffer_pool_bytes_dirty",
            "Innodb_buffer_pool_pages_data",
            "Innodb_buffer_pool_pages_dirty",
            "Innodb_buffer_pool_pages_flushed",
            "Innodb_buffer_pool_pages_free",
            "Innodb_buffer_pool_pages_misc",
            "Innodb_buffer_pool_pages_total",
            "Innodb_buffer_pool_read_requests",
            "Innodb_buffer_pool_reads",
            "Innodb_buffer_pool_wait_free",
            "Innodb_buffer_pool_write_requests",
            "Innodb_data_fsyncs",
            "Innodb_data_pending_reads",
            "Innodb_data_reads",
            "Innodb_data_writes",
            "Innodb_data_written",
            "Innodb_dblwr_pages_written",
            "Innodb_dblwr_writes",
            "Innodb_history_list_length",
            "Innodb_lsn_current",
            "Innodb_lsn_flushed",
            "Innodb_lsn_last_checkpoint",
            "Innodb_checkpoint_age",
            "Innodb_num_page_compressed_trim_op",
            "Innodb_num_pages_page_compressed",
            "Innodb_num_pages_page_compression_error",
            "Innodb_num_pages_page_decompressed",
            "Innodb_os_log_written",
            "Innodb_page_compression_saved",
            "Innodb_page_size",
            "Innodb_pages_created",
            "Innodb_pages_read",
            "Innodb_pages_written",
            "Innodb_row_lock_current_waits",
            "Innodb_row_lock_time",
            "Innodb_row_lock_waits",
            "Innodb_have_lz4",
            "Innodb_have_snappy",
        ] {
            assert!(names.contains(&name), "{kind:?} has no {name}");
        }
        server.stop().expect("a clean shutdown");
    }
}
