//! `bench`: Glassine against MariaDB on this machine, in one run.
//!
//! ```text
//! bench sysbench   throughput, latency, server CPU and bytes written, interleaved
//! bench load       every codec and every InnoDB way to compress, data larger than the pool
//! bench sizes      allocated bytes of the same sysbench rows, per codec and per peer
//! bench disk       what the filesystem charges for punching, untorn writes and doublewrite
//! bench filesystems  kill -9 and power cuts on ext4, XFS, btrfs ... in image files
//! bench anomalies  random transactions on lists, kill -9; cycles that the isolation level excludes
//! bench bank       transfers while the server is killed; no sum is wrong, nothing is lost
//! bench ddl        sessions that alter one table at a time, with KILL and kill -9; no change is lost
//! bench definitions  definitions of every kind, with KILL and kill -9; nothing is lost or half done, and the log has the same
//! bench turmoil    rows and their tables change at once, with KILL and kill -9; rows are the same by every way, and on a replica
//! bench tpcc       TPC-C's consistency conditions after kill -9 under load
//! bench tpch     TPC-H's 22 queries beside MariaDB, compressed tables, data after the specification
//! bench files    SELECT ... INTO OUTFILE and LOAD DATA, crosswise with MariaDB
//! bench grants   random grants and statements: what MariaDB allows is allowed, what it denies is denied
//! bench logins   what the time of a failed login tells of whether the account exists
//! bench isolation  interleavings at every level, beside MariaDB, as tables
//! bench oltp       writing workloads in memory, 1 to 64 threads and ten hot rows
//! bench binlog     what a binary log costs, plain and compressed
//! bench online   LOAD DATA, and DDL beside writers: the longest stall
//! bench statements  a statement of each kind in memory: the CPU that it takes
//! bench purge      a long oltp_write_only: history and size after it
//! bench replay     the statements of MariaDB's own test files on both servers: every answer that differs
//! bench suite      MySQL's own test files, beside the results that MySQL recorded
//! bench crash      kill -9 under load, again and again; a ledger must lose nothing
//! bench faults     EIO and ENOSPC injected into system calls under load; nothing is lost, and nothing hangs
//! ```
//!
//! Machines are shared and noisy: A and B take turns, and medians are reported.

#![forbid(unsafe_code)]

use std::fs;
use std::io;
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

use bench::ledger::Ledger;
use bench::process::{self, Kind, Options, Scratch, Server};
use bench::sysbench::{self, Figures, Run, median};
use clap::{Parser, Subcommand};
use comfy_table::Table;
use rand::Rng;

#[derive(Parser)]
#[command(about = "Glassine against MariaDB on this machine, in one run")]
struct Arguments {
    #[command(subcommand)]
    command: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// sysbench workloads, Glassine and MariaDB's InnoDB taking turns.
    Sysbench {
        /// Comma-separated sysbench scripts.
        #[arg(
            long,
            default_value = "oltp_point_select,oltp_read_only,oltp_write_only,oltp_read_write,oltp_delete,oltp_update_index,bulk_insert"
        )]
        workloads: String,
        #[arg(long, default_value_t = 10)]
        seconds: u32,
        #[arg(long, default_value_t = 3)]
        rounds: u32,
        #[arg(long, default_value_t = 4)]
        threads: u32,
        #[arg(long, default_value_t = 2)]
        tables: u32,
        #[arg(long, default_value_t = 100_000)]
        rows: u32,
        #[arg(long, default_value = "1G")]
        pool: String,
        /// prepared, text or both.
        #[arg(long, default_value = "prepared")]
        protocol: String,
        /// Leave MariaDB out.
        #[arg(long)]
        alone: bool,
    },
    /// Storage under load: all codecs, page cleaners, doublewrite and punching, against InnoDB's arms.
    Load(bench::load::Arguments),
    /// Allocated bytes of the same rows, per codec.
    Sizes {
        #[arg(long, default_value_t = 100_000)]
        rows: u32,
    },
    /// What the filesystem charges, without a database.
    Disk(bench::disk::Arguments),
    /// kill -9 and power cuts on real filesystems, mounted from image files (as root).
    Filesystems(bench::filesystems::Arguments),
    /// Random transactions on lists while the server is killed; looks for what the isolation level excludes.
    Anomalies(bench::anomalies::Arguments),
    /// Transfers by many connections while the server is killed: no sum is wrong, nothing is lost.
    Bank(bench::bank::Arguments),
    /// Sessions that alter one table at a time, while the server is killed: no change is lost.
    Ddl(bench::ddl::Arguments),
    /// Definitions of every kind by several sessions, beside KILL and kill -9.
    Definitions(bench::definitions::Arguments),
    /// Rows and their tables change at once, beside KILL and kill -9: rows are the same by every way, and on a replica.
    Turmoil(bench::turmoil::Arguments),
    /// TPC-C's consistency conditions 1 to 4 on a small warehouse, after kill -9 under load.
    Tpcc(bench::tpcc::Arguments),
    /// TPC-H's data and queries on both servers: equal answers, seconds, ratios.
    Tpch(bench::tpch::Arguments),
    /// Files that one server writes and both load.
    Files(bench::files::Arguments),
    /// Random grants and statements on both servers: what one allows the other allows.
    Grants(bench::grants::Arguments),
    /// Failed logins for accounts that exist and for others: how long the answers take.
    Logins(bench::logins::Arguments),
    /// The interleavings of Hermitage and others at all levels, beside MariaDB: Markdown tables.
    Isolation,
    /// Writing sysbench workloads in memory, from one thread to many and on ten hot rows, beside MariaDB.
    Oltp(bench::oltp::Arguments),
    /// LOAD DATA of many rows, and DDL beside writers, beside MariaDB: seconds, the longest stall.
    Online(bench::online::Arguments),
    /// A statement of each kind in memory, on both servers: the CPU that it takes.
    Statements(bench::statements::Arguments),
    /// What a binary log costs, plain and compressed: oltp_write_only, and COMMIT of many rows.
    Binlog(bench::logs::Arguments),
    /// How far a replica lags, what a reader of the log costs its source; with --kills: what is left after kills.
    Replica(bench::replication::Arguments),
    /// History list length and table size after minutes of oltp_write_only.
    Purge(bench::oltp::PurgeArguments),
    /// EIO and ENOSPC, injected by strace into the server's system calls under load: nothing is lost, and nothing
    /// hangs.
    Faults(bench::faults::Arguments),
    /// The statements of MariaDB's own test files, recorded, then compared on both servers.
    Replay(bench::replay::Arguments),
    /// MySQL's own test files on Glassine, beside the results that MySQL recorded.
    Suite(bench::suite::Arguments),
    /// kill -9 under oltp_write_only; the ledger must lose nothing.
    Crash {
        #[arg(long, default_value_t = 20)]
        kills: u32,
        #[arg(long, default_value_t = 20_000)]
        rows: u32,
        #[arg(long, default_value = "64M")]
        pool: String,
    },
}

fn main() -> ExitCode {
    let result = match Arguments::parse().command {
        Verb::Sysbench { workloads, seconds, rounds, threads, tables, rows, pool, protocol, alone } => {
            let shape = Shape { seconds, rounds, threads, tables, rows };
            compare(&workloads, &shape, &pool, &protocol, alone)
        }
        Verb::Load(arguments) => bench::load::run(&arguments),
        Verb::Sizes { rows } => sizes(rows),
        Verb::Disk(arguments) => bench::disk::run(&arguments),
        Verb::Filesystems(arguments) => bench::filesystems::run(&arguments),
        Verb::Anomalies(arguments) => bench::anomalies::run(&arguments),
        Verb::Bank(arguments) => bench::bank::run(&arguments),
        Verb::Ddl(arguments) => bench::ddl::run(&arguments),
        Verb::Definitions(arguments) => bench::definitions::run(&arguments),
        Verb::Turmoil(arguments) => bench::turmoil::run(&arguments),
        Verb::Tpcc(arguments) => bench::tpcc::run(&arguments),
        Verb::Online(arguments) => bench::online::run(&arguments),
        Verb::Statements(arguments) => bench::statements::run(&arguments),
        Verb::Tpch(arguments) => bench::tpch::run(&arguments),
        Verb::Files(arguments) => bench::files::run(&arguments),
        Verb::Grants(arguments) => bench::grants::run(&arguments),
        Verb::Logins(arguments) => bench::logins::run(&arguments),
        Verb::Isolation => bench::isolation::play_all().map(|rows| print!("{}", bench::isolation::markdown(&rows))),
        Verb::Oltp(arguments) => bench::oltp::run(&arguments),
        Verb::Binlog(arguments) => bench::logs::run(&arguments),
        Verb::Replica(arguments) => bench::replication::run(&arguments),
        Verb::Purge(arguments) => bench::oltp::purge(&arguments),
        Verb::Faults(arguments) => bench::faults::run(&arguments),
        Verb::Replay(arguments) => bench::replay::run(&arguments),
        Verb::Suite(arguments) => bench::suite::run(&arguments),
        Verb::Crash { kills, rows, pool } => crash(kills, rows, &pool),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench: {error}");
            ExitCode::FAILURE
        }
    }
}

struct Shape {
    seconds: u32,
    rounds: u32,
    threads: u32,
    tables: u32,
    rows: u32,
}

/// The peers that are installed, with what each is called in the tables.
fn peers(alone: bool) -> Vec<(&'static str, Kind)> {
    let mut peers = vec![("Glassine", Kind::Glassine)];
    if alone {
        return peers;
    }
    if process::mariadb_is_installed() {
        peers.push(("MariaDB InnoDB", Kind::MariaDb));
    } else {
        println!("mariadbd is not installed: no peer in this run");
    }
    peers
}

fn compare(workloads: &str, shape: &Shape, pool: &str, protocol: &str, alone: bool) -> io::Result<()> {
    let protocols: &[bool] = match protocol {
        "prepared" => &[true],
        "text" => &[false],
        "both" => &[true, false],
        other => return Err(io::Error::other(format!("--protocol is prepared, text or both, not '{other}'"))),
    };
    let scratch = Scratch::new("sysbench")?;
    let options = Options { pool: pool.into(), log: "1G".into(), ..Options::default() };
    let mut servers = Vec::new();
    for (name, kind) in peers(alone) {
        let server = Server::create(kind, &scratch.0.join(name.replace(' ', "_")), &options)?;
        server.connect().and_then(|mut client| client.query("CREATE DATABASE sbtest")).map_err(io::Error::other)?;
        servers.push((name, server));
    }
    let mut table = Table::new();
    table.set_header([
        "workload",
        "protocol",
        "server",
        "tps",
        "ratio",
        "p95 ms",
        "CPU us/txn",
        "ratio",
        "bytes/txn",
        "ignored",
    ]);
    for script in workloads.split(',') {
        for &prepared in protocols {
            let run = Run {
                script,
                tables: shape.tables,
                rows: shape.rows,
                threads: shape.threads,
                seconds: shape.seconds,
                prepared,
                more: &[],
            };
            let mut results: Vec<Vec<Figures>> = servers.iter().map(|_| Vec::new()).collect();
            for (name, server) in &servers {
                let start = Instant::now();
                run.prepare(server)?;
                eprintln!("{script}: {name} prepared in {:.1} s", start.elapsed().as_secs_f64());
            }
            for round in 0..shape.rounds {
                for (index, (name, server)) in servers.iter().enumerate() {
                    if script == "bulk_insert" {
                        // It numbers its rows from 1 in every run.
                        run.cleanup(server)?;
                        run.prepare(server)?;
                    }
                    let figures = run.run(server)?;
                    eprintln!("{script} round {round}: {name} {:.0} tps", figures.per_second);
                    results[index].push(figures);
                }
            }
            for (_, server) in &servers {
                run.cleanup(server)?;
            }
            let of =
                |index: usize, figure: &dyn Fn(&Figures) -> f64| median(results[index].iter().map(figure).collect());
            let peer = servers.len() - 1;
            for (index, (name, _)) in servers.iter().enumerate() {
                let tps = of(index, &|figures| figures.per_second);
                let cpu = of(index, &|figures| figures.cpu_us_per_transaction());
                table.add_row([
                    script.to_string(),
                    if prepared { "prepared" } else { "text" }.to_string(),
                    name.to_string(),
                    format!("{tps:.0}"),
                    format!("{:.2}", tps / of(peer, &|figures| figures.per_second)),
                    format!("{:.2}", of(index, &|figures| figures.p95_ms)),
                    format!("{cpu:.1}"),
                    format!("{:.2}", cpu / of(peer, &|figures| figures.cpu_us_per_transaction())),
                    format!("{:.0}", of(index, &|figures| figures.written_per_transaction())),
                    format!("{:.0}", of(index, &|figures| figures.ignored_errors as f64)),
                ]);
            }
        }
    }
    println!("{table}");
    for (_, server) in servers {
        server.stop()?;
    }
    Ok(())
}

fn sizes(rows: u32) -> io::Result<()> {
    let scratch = Scratch::new("sizes")?;
    let mut table = Table::new();
    table.set_header(["server", "table options", "logical bytes", "allocated bytes", "of plain InnoDB", "load s"]);
    let mut lines = Vec::new();
    let arms: [(Kind, &str, &[&str]); 8] = [
        (Kind::MariaDb, "", &[]),
        (
            Kind::MariaDb,
            "PAGE_COMPRESSED=1 /* zlib */",
            &["--innodb-compression-algorithm=zlib", "--innodb-compression-default=ON"],
        ),
        (
            Kind::MariaDb,
            "PAGE_COMPRESSED=1 /* lz4 */",
            &[
                "--plugin-load-add=provider_lz4",
                "--innodb-compression-algorithm=lz4",
                "--innodb-compression-default=ON",
            ],
        ),
        (Kind::Glassine, "COMPRESSION='none'", &[]),
        (Kind::Glassine, "COMPRESSION='lz4'", &[]),
        (Kind::Glassine, "COMPRESSION='zlib'", &[]),
        (Kind::Glassine, "COMPRESSION='zstd'", &[]),
        (Kind::Glassine, "", &[]),
    ];
    for (number, (kind, clause, more)) in arms.iter().enumerate() {
        if *kind == Kind::MariaDb && !process::mariadb_is_installed() {
            continue;
        }
        let options = Options { more: more.iter().map(|option| option.to_string()).collect(), ..Options::default() };
        let directory = scratch.0.join(format!("arm{number}"));
        let server = match Server::create(*kind, &directory, &options) {
            Ok(server) => server,
            Err(error) => {
                println!("{kind:?} {clause}: skipped: {error}");
                continue;
            }
        };
        let ask =
            |statement: &str| server.connect().and_then(|mut client| client.query(statement)).map_err(io::Error::other);
        ask("CREATE DATABASE sbtest")?;
        let start = Instant::now();
        let run =
            Run { script: "oltp_common_load", tables: 1, rows, threads: 1, seconds: 0, prepared: true, more: &[] };
        Run { script: "oltp_read_write", ..run }.prepare(&server)?;
        if *kind == Kind::Glassine && !clause.is_empty() {
            ask(&format!("ALTER TABLE sbtest.sbtest1 {clause}"))?;
            ask("OPTIMIZE TABLE sbtest.sbtest1")?;
        }
        let seconds = start.elapsed().as_secs_f64();
        server.stop()?;
        let (allocated, logical) = process::disk_usage(&directory.join("data/sbtest/sbtest1.ibd"))?;
        lines.push((*kind, clause.to_string(), logical, allocated, seconds));
        fs::remove_dir_all(&directory)?;
    }
    let plain = lines.iter().find(|line| line.0 == Kind::MariaDb).map_or(0, |line| line.3);
    for (kind, clause, logical, allocated, seconds) in lines {
        table.add_row([
            format!("{kind:?}"),
            if clause.is_empty() { "(default)".into() } else { clause },
            logical.to_string(),
            allocated.to_string(),
            if plain == 0 { "-".into() } else { format!("{:.3}", allocated as f64 / plain as f64) },
            format!("{seconds:.1}"),
        ]);
    }
    println!("{table}");
    Ok(())
}

fn crash(kills: u32, rows: u32, pool: &str) -> io::Result<()> {
    let scratch = Scratch::new("crash")?;
    let directory = scratch.0.join("glassine");
    let options = Options { pool: pool.into(), log: "64M".into(), ..Options::default() };
    let mut server = Server::create(Kind::Glassine, &directory, &options)?;
    let load = Run { script: "oltp_write_only", tables: 2, rows, threads: 2, seconds: 60, prepared: true, more: &[] };
    let with_load = sysbench::is_installed();
    if with_load {
        server.connect().and_then(|mut client| client.query("CREATE DATABASE sbtest")).map_err(io::Error::other)?;
        load.prepare(&server)?;
    } else {
        println!("sysbench is not installed: the ledger is the only load");
    }
    let ledger = Ledger::create(&server, 4).map_err(io::Error::other)?;
    let mut random = rand::rng();
    for kill in 1..=kills {
        let writers = ledger.write(&server).map_err(io::Error::other)?;
        let socket = server.socket.clone();
        let background = with_load.then(|| thread::spawn(move || sysbench::until_killed(&socket, 2, rows)));
        thread::sleep(Duration::from_millis(random.random_range(300..2500)));
        server.kill();
        writers.join(false).map_err(io::Error::other)?;
        if let Some(background) = background {
            let _ = background.join(); // sysbench ends with the server; its complaints are expected.
        }
        process::check_copy(&directory)?;
        let start = Instant::now();
        server = Server::start(Kind::Glassine, &directory, &options)?;
        let seconds = start.elapsed().as_secs_f64();
        let audit = ledger
            .audit(&server)
            .map_err(|lost| io::Error::other(format!("kill {kill}: {lost}\nserver log:\n{}", server.log_tail(40))))?;
        println!("kill {kill}: {} promised, {} found; serving again after {seconds:.2} s", audit.promised, audit.found);
        let log = server.log_tail(12);
        let report = log
            .lines()
            .skip_while(|line| !line.contains("recovered from LSN"))
            .take_while(|line| !line.contains("ready"));
        for line in report {
            println!("    {}", line.split("[System] ").last().unwrap_or(line));
        }
    }
    server.stop()?;
    process::check_copy(&directory)?;
    println!("{kills} kills, nothing lost");
    Ok(())
}
