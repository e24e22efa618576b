//! Options as people and published configurations write them.

use std::fs;

use super::*;

const OWN: &[Own] = &[Own { name: "once", takes_value: false }, Own { name: "rows", takes_value: true }];

fn load_text(arguments: &[&str]) -> (Result<Loaded, String>, GlobalVariables) {
    let globals = GlobalVariables::new();
    let mut all = vec!["--no-defaults".to_owned()];
    all.extend(arguments.iter().map(|argument| (*argument).to_owned()));
    (load(&all, OWN, &globals), globals)
}

fn loaded(arguments: &[&str]) -> (Loaded, GlobalVariables) {
    let (loaded, globals) = load_text(arguments);
    (loaded.unwrap(), globals)
}

#[test]
fn names_are_written_in_many_ways() {
    for argument in [
        "--innodb-io-capacity=5K",
        "--innodb_io-capacity=5120",
        "--INNODB_IO_CAPACITY=5120",
        "--loose-innodb_io_capacity=5120",
    ] {
        let (loaded, globals) = loaded(&[argument]);
        assert_eq!(globals.number("innodb_io_capacity"), 5120, "{argument}");
        assert!(loaded.warnings.is_empty(), "{:?}", loaded.warnings);
    }
    let (_, globals) = loaded(&["--innodb-flush-log-at-trx=2", "--port", "3311", "-S", "/tmp/x.sock"]);
    assert_eq!(globals.number("innodb_flush_log_at_trx_commit"), 2);
    assert_eq!(globals.number("port"), 3311);
    assert_eq!(globals.text("socket"), "/tmp/x.sock");
}

#[test]
fn switches_are_turned_by_their_names() {
    let (_, globals) = loaded(&["--skip-networking", "--disable-autocommit", "--enable-read-only"]);
    assert!(globals.on("skip_networking"));
    assert!(!globals.on("autocommit"));
    assert!(globals.on("read_only"));
    let (_, globals) = loaded(&["--skip-innodb-doublewrite"]);
    assert_eq!(globals.text("innodb_doublewrite"), "OFF");
}

#[test]
fn a_misspelt_name_is_an_error_that_knows_better() {
    let (result, _) = load_text(&["--innodb_thread_concurrencty=8"]);
    assert!(result.unwrap_err().contains("Did you mean --innodb-thread-concurrency?"));
    let (result, _) = load_text(&["--innodb-buffer-pool=8"]);
    assert!(result.unwrap_err().contains("ambiguous"));
    let (loaded, _) = loaded(&["--loose-innodb_thread_concurrencty=8"]);
    assert_eq!(loaded.warnings.len(), 1);
}

/// Configurations that others have published, as their requirements (VAR-02 to VAR-05, VAR-07) list them.
const PUBLISHED: &[&str] = &[
    "innodb_buffer_pool_size=50G innodb_buffer_pool_instances=16 innodb_log_file_size=4G innodb_log_buffer_size=128M innodb_flush_log_at_trx_commit=2 innodb_max_dirty_pages_pct=50 innodb_lru_scan_depth=2500 innodb_page_cleaners=32 innodb_checksums=0 innodb_flush_neighbors=0 innodb_read_io_threads=8 innodb_write_io_threads=8 innodb_thread_concurrency=0 innodb_io_capacity=80000 innodb_io_capacity_max=100000",
    "innodb_buffer_pool_size=50G innodb_use_native_aio=1 innodb_use_mtflush=1 innodb_file_per_table=1 innodb_doublewrite=0 innodb_use_fallocate=1 innodb_use_atomic_writes=1 innodb_use_trim=1 innodb_buffer_pool_instances=16 innodb_mtflush_threads=16 innodb_use_lz4=1 innodb_flush_method=O_DIRECT innodb_thread_concurrency=32 innodb_write_io_threads=32 innodb_read_io_threads=32 innodb_file_format=barracuda innodb_lru_scan_depth=2000 innodb_io_capacity=30000 innodb_io_capacity_max=35000",
    "innodb_adaptive_flushing=1 innodb_log_buffer_size=16777216 innodb_log_file_size=1073741824 innodb_buffer_pool_size=10000000000 innodb_io_capacity=10000 innodb_flush_method=ALL_O_DIRECT innodb_autoextend_increment=1024 innodb_flush_log_at_trx_commit=0 innodb_read_io_threads=16 innodb_write_io_threads=16 innodb_checksum_algorithm=crc32 innodb_large_prefix=1 skip-name-resolve default-storage-engine=InnoDB log-output=FILE general-log=0 max_connections=200 log-bin=/tmp/log binlog-format=ROW server-id=1 tmpdir=/tmp/ innodb_adaptive_hash_index=0",
    "innodb_use_mtflush=0 innodb_doublewrite=1 innodb_use_atomic_writes=0 innodb_use_trim=0 innodb_mtflush_threads=0 innodb_use_lz4=0",
    "binlog_transaction_compression=OFF binlog_transaction_compression_level_zstd=3 binlog_expire_logs_seconds=2592000 binlog_row_event_max_size=8K binlog_row_image=FULL sync_binlog=1 max_allowed_packet=64M skip-log-bin",
    "master_info_repository=TABLE relay_log_info_repository=TABLE relay_log_index=relay.index sync_master_info=1 sync_relay_log_info=1 log_slow_slave_statements=1 slave_type_conversions=ALL_NON_LOSSY slave_rows_search_algorithms=INDEX_SCAN,HASH_SCAN binlog_expire_logs_auto_purge=OFF optimizer_trace_max_mem_size=16384 connection_memory_limit=1G stored_program_definition_cache=512 innodb_doublewrite_batch_size=8 innodb_segment_reserve_factor=12.5",
];

/// The options of all of them, each once with each value.
fn published() -> Vec<(&'static str, Option<&'static str>)> {
    let mut all: Vec<_> = PUBLISHED
        .iter()
        .flat_map(|text| text.split(' '))
        .map(|option| option.split_once('=').map_or((option, None), |(name, value)| (name, Some(value))))
        .collect();
    all.sort_unstable();
    all.dedup();
    all
}

#[test]
fn published_configurations_are_accepted_as_a_whole() {
    for text in PUBLISHED {
        let arguments: Vec<String> = text.split(' ').map(|option| format!("--{option}")).collect();
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let (result, _) = load_text(&arguments);
        result.unwrap();
    }
}

#[test]
fn each_published_name_arrives_however_it_is_written() {
    let directory = std::env::temp_dir().join(format!("glassine-published-{}", std::process::id()));
    fs::create_dir_all(&directory).unwrap();
    let file = directory.join("my.cnf");
    for (name, value) in published() {
        let line = |name: &str| value.map_or(name.to_owned(), |value| format!("{name}={value}"));
        fs::write(&file, format!("[mysqld]\n{}\n", line(name))).unwrap();
        let from_file = format!("--defaults-file={}", file.display());
        let (dashes, underscores) = (line(&name.replace('_', "-")), line(&name.replace('-', "_")));
        for argument in [
            from_file,
            format!("--{dashes}"),
            format!("--{underscores}"),
            format!("--loose-{dashes}"),
            format!("--loose_{underscores}"),
        ] {
            let globals = GlobalVariables::new();
            let loaded = load(std::slice::from_ref(&argument), OWN, &globals).unwrap_or_else(|cause| panic!("{cause}"));
            let plain = normal(name);
            if plain == "log_bin" || plain == "skip_log_bin" {
                assert_eq!(loaded.has("log_bin"), plain == "log_bin", "{argument}");
                assert!(loaded.warnings.is_empty(), "{argument}: {:?}", loaded.warnings);
                continue;
            }
            let variable = variables::find(&plain).unwrap_or_else(|| panic!("there is no variable {plain}"));
            let (expected, notice) = variable.kind.parse(variable, value.unwrap_or("ON")).unwrap();
            assert_eq!(globals.select(&plain), Ok(expected), "{argument}");
            // What has no effect says so, and nothing else complains but a number out of range.
            let warnings = usize::from(variable.no_effect.is_some()) + usize::from(notice.is_some());
            assert_eq!(loaded.warnings.len(), warnings, "{argument}: {:?}", loaded.warnings);
            if let Some(reason) = variable.no_effect {
                assert!(loaded.warnings.iter().any(|warning| warning.contains(reason)), "{:?}", loaded.warnings);
            }
        }
    }
    fs::remove_dir_all(&directory).unwrap();
}

#[test]
fn tls_can_be_switched_off() {
    for (argument, versions) in [
        ("--skip-ssl", ""),
        ("--ssl=0", ""),
        ("--disable_ssl", ""),
        ("--ssl", "TLSv1.2,TLSv1.3"),
        ("--skip-ssl=0", "TLSv1.2,TLSv1.3"),
        ("--loose-ssl=ON", "TLSv1.2,TLSv1.3"),
    ] {
        let globals = GlobalVariables::new();
        let loaded = load(&["--no-defaults".to_owned(), argument.to_owned()], OWN, &globals).unwrap();
        assert_eq!(globals.text("tls_version"), versions, "{argument}");
        assert!(loaded.warnings.is_empty(), "{argument}");
    }
}

#[test]
fn each_published_name_may_be_set_where_it_is_dynamic() {
    for (name, value) in published() {
        // As an option it is a path, as a variable it says whether there is a log.
        let Some(variable) = variables::find(&normal(name)).filter(|found| found.name != "log_bin") else {
            continue;
        };
        let (value, _) = variable.kind.parse(variable, value.unwrap_or("ON")).unwrap();
        let answer = GlobalVariables::new().set(variable.name, &value);
        match answer {
            Ok(notices) => {
                assert!(variable.dynamic, "{name}");
                // What a variable without effect says by default is so.
                let is_default = variable.default.is_some_and(|default| {
                    let (default, _) = variable.kind.parse(variable, default).unwrap();
                    variable.kind.show(&default).eq_ignore_ascii_case(&variable.kind.show(&value))
                });
                let warns = variable.no_effect.is_some() && !is_default;
                assert_eq!(notices.iter().any(|notice| notice.code == 1618), warns, "{name}");
            }
            Err(refusal) => {
                assert_eq!((refusal.code, variable.dynamic), (1238, false), "{name}: {}", refusal.message)
            }
        }
    }
}

#[test]
fn each_published_name_is_known_when_a_letter_is_wrong() {
    for (name, _) in published() {
        let plain = normal(name);
        let Some(variable) = variables::find(&plain) else { continue };
        // A letter doubled in the middle.
        let (head, tail) = plain.split_at(plain.len() / 2);
        let misspelt = format!("{head}{}{tail}", &tail[..1]);
        let (result, _) = load_text(&[&format!("--{misspelt}=1")]);
        let complaint = result.expect_err(&misspelt);
        let named = complaint.rsplit("--").next().map(|rest| normal(rest.trim_end_matches('?'))).unwrap_or_default();
        let meant = variables::find(&named).map(|found| found.name);
        assert_eq!(meant, Some(variable.name), "{complaint}");
    }
}

#[test]
fn options_without_effect_are_named() {
    let (loaded, _) = loaded(&["--log-bin=binlog", "--innodb-thread-concurrency=8", "--sync-binlog=1"]);
    assert_eq!(loaded.warnings.len(), 2, "{:?}", loaded.warnings);
    assert_eq!(loaded.value("log_bin"), Some("binlog"));
    assert!(loaded.warnings[1].contains("as durable as"));
}

#[test]
fn own_options_stand_beside_variables() {
    let (loaded, _) = loaded(&["--once", "--rows=5"]);
    assert!(loaded.has("once"));
    assert_eq!(loaded.value("rows"), Some("5"));
    let (result, _) = load_text(&["--rows"]);
    assert!(result.is_err());
}

#[test]
fn files_have_groups_and_include_others() {
    let directory = std::env::temp_dir().join(format!("glassine-options-{}", std::process::id()));
    fs::create_dir_all(directory.join("conf.d")).unwrap();
    let main = directory.join("my.cnf");
    fs::write(
        &main,
        "# remark\n[client]\nport=1\n[mysqld]\nport = 3310  # remark\nskip-networking\n\
         sql_mode = \"STRICT_TRANS_TABLES\"\n[glassine]\nloose_unheard_of=1\n!includedir conf.d\n",
    )
    .unwrap();
    fs::write(directory.join("conf.d/b.cnf"), "[mysqld]\nport=3312\n").unwrap();
    fs::write(directory.join("conf.d/a.cnf"), "[mysqld]\nport=3311\nmax_connections=7\n").unwrap();
    fs::write(directory.join("conf.d/c.txt"), "[mysqld]\nport=3313\n").unwrap();
    let globals = GlobalVariables::new();
    let arguments = [format!("--defaults-file={}", main.display()), "--max-connections=8".to_owned()];
    let loaded = load(&arguments, &[], &globals).unwrap();
    assert_eq!(globals.number("port"), 3312);
    assert_eq!(globals.number("max_connections"), 8);
    assert_eq!(globals.text("sql_mode"), "STRICT_TRANS_TABLES");
    assert!(globals.on("skip_networking"));
    assert_eq!(loaded.warnings.len(), 1);
    assert!(loaded.given.contains(&"--port=3311".to_owned()));
    fs::remove_dir_all(&directory).unwrap();
}

#[test]
fn version_alone_asks_for_it() {
    for arguments in [&["--version"][..], &["-V"], &["--version", "--port=3307"]] {
        let globals = GlobalVariables::new();
        let loaded = load(&arguments.iter().map(|text| text.to_string()).collect::<Vec<_>>(), &[], &globals);
        assert!(loaded.expect("no error").has("version"), "{arguments:?}");
    }
    let globals = GlobalVariables::new();
    let loaded =
        load(&["--no-defaults".to_owned(), "--version=8.0.11-other".to_owned()], &[], &globals).expect("no error");
    assert!(!loaded.has("version"));
    assert_eq!(globals.text("version"), "8.0.11-other");
}

#[test]
fn options_of_other_servers_are_read_and_warned_of() {
    let options = [
        "--plugin-load-add=auth_socket.so",
        "--skip-stack-trace",
        "--performance-schema-instrument=%=ON",
        "--performance-schema-consumer-events-waits-current=ON",
        "--mysqlx=0",
        "--skip-federated",
        "--skip-locking",
        "--aria-log-file-size=1G",
        "--wsrep-on=OFF",
        "--wsrep-cluster-address=gcomm://",
        "--performance-schema-max-table-instances=500",
        "--log-slow-verbosity=query_plan,explain",
    ];
    let (read, _) = loaded(&options);
    assert_eq!(read.warnings.len(), options.len(), "{:?}", read.warnings);
    let (_, globals) = loaded(&["--skip-host-cache", "--skip-character-set-client-handshake"]);
    assert_eq!((globals.number("host_cache_size"), globals.on("character_set_client_handshake")), (0, false));
}
