//! `bench oltp`: sysbench's writing workloads on data that is in memory, from one thread to many, and on ten hot rows;
//! Glassine and MariaDB's InnoDB taking turns. And `bench purge`: what a long oltp_write_only leaves behind.
//!
//! Every commit is durable (`innodb_flush_log_at_trx_commit=1`), so the log's syncs are what one thread waits for, and
//! what many share: *commits per sync* tells how well.

use std::collections::BTreeMap;
use std::io;
use std::thread;
use std::time::{Duration, Instant};

use comfy_table::Table;

use crate::process::{self, Kind, Options, Scratch, Server};
use crate::sysbench::{Figures, Run, median};

#[derive(Debug, Clone, clap::Args)]
pub struct Arguments {
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "oltp_update_non_index,oltp_update_index,oltp_write_only,oltp_read_write"
    )]
    pub workloads: Vec<String>,
    #[arg(long, value_delimiter = ',', default_value = "1,4,16,64")]
    pub threads: Vec<u32>,
    /// Threads that fight over ten rows; none = leave that out.
    #[arg(long, value_delimiter = ',', default_value = "16")]
    pub hot_threads: Vec<u32>,
    #[arg(long, default_value_t = 10)]
    pub seconds: u32,
    #[arg(long, default_value_t = 3)]
    pub rounds: u32,
    #[arg(long, default_value_t = 4)]
    pub tables: u32,
    #[arg(long, default_value_t = 100_000)]
    pub rows: u32,
    #[arg(long, default_value = "1G")]
    pub pool: String,
    /// COMPRESSION of Glassine's tables (`innodb_compression_algorithm`).
    #[arg(long, default_value = "zstd")]
    pub codec: String,
    /// Leave MariaDB out.
    #[arg(long)]
    pub alone: bool,
}

/// One round of one server.
struct Measured {
    figures: Figures,
    syncs: u64,
}

/// How often the log was synced so far; of a server that does not count these, all syncs.
fn syncs(server: &Server) -> io::Result<u64> {
    let rows = server
        .connect()
        .and_then(|mut client| client.query("SHOW GLOBAL STATUS LIKE 'Innodb%fsyncs'"))
        .map_err(io::Error::other)?
        .rows;
    let values: BTreeMap<String, u64> = rows
        .into_iter()
        .filter_map(|row| Some((row[0].clone()?.to_lowercase(), row[1].as_deref()?.parse().ok()?)))
        .collect();
    let of = |name: &str| values.get(name).copied().filter(|count| *count > 0);
    Ok(of("innodb_os_log_fsyncs").or_else(|| of("innodb_data_fsyncs")).unwrap_or(0))
}

fn measure(run: &Run<'_>, server: &Server) -> io::Result<Measured> {
    let before = syncs(server)?;
    let figures = run.run(server)?;
    Ok(Measured { figures, syncs: syncs(server)? - before })
}

fn start(kind: Kind, scratch: &Scratch, pool: &str, codec: &str) -> io::Result<Server> {
    let mut more = Vec::new();
    if kind == Kind::Glassine {
        more.push(format!("--innodb-compression-algorithm={codec}"));
    }
    let options = Options { pool: pool.into(), log: "1G".into(), more, ..Options::default() };
    let server = Server::create(kind, &scratch.0.join(format!("{kind:?}").to_lowercase()), &options)?;
    server.connect().and_then(|mut client| client.query("CREATE DATABASE sbtest")).map_err(io::Error::other)?;
    Ok(server)
}

fn kinds(alone: bool) -> Vec<Kind> {
    let mut kinds = vec![Kind::Glassine];
    if !alone && process::mariadb_is_installed() {
        kinds.push(Kind::MariaDb);
    }
    kinds
}

/// `bench oltp`.
pub fn run(arguments: &Arguments) -> io::Result<()> {
    let scratch = Scratch::new("oltp")?;
    let mut servers = Vec::new();
    for kind in kinds(arguments.alone) {
        let server = start(kind, &scratch, &arguments.pool, &arguments.codec)?;
        load(&server, arguments.tables, arguments.rows)?;
        servers.push(server);
    }
    let points = arguments.threads.iter().map(|threads| (*threads, false));
    let points: Vec<(u32, bool)> = points.chain(arguments.hot_threads.iter().map(|threads| (*threads, true))).collect();
    let mut table = Table::new();
    table.set_header([
        "workload",
        "threads",
        "server",
        "tps",
        "ratio",
        "p95 ms",
        "CPU us/txn",
        "bytes/txn",
        "commits per sync",
        "ignored",
    ]);
    for workload in &arguments.workloads {
        for &(threads, hot) in &points {
            // Of the tables that there are, only ten rows of one are asked for.
            let (tables, rows) = if hot { (1, 10) } else { (arguments.tables, arguments.rows) };
            let run =
                Run { script: workload, tables, rows, threads, seconds: arguments.seconds, prepared: true, more: &[] };
            let mut results: Vec<Vec<Measured>> = servers.iter().map(|_| Vec::new()).collect();
            for _ in 0..arguments.rounds {
                for (server, results) in servers.iter().zip(&mut results) {
                    let measured = measure(&run, server)?;
                    let tps = measured.figures.per_second;
                    eprintln!("{workload} {threads}{}: {:?} {tps:.0} tps", if hot { " hot" } else { "" }, server.kind);
                    results.push(measured);
                }
            }
            let of = |at: usize, figure: &dyn Fn(&Measured) -> f64| median(results[at].iter().map(figure).collect());
            let peer = of(servers.len() - 1, &|measured| measured.figures.per_second);
            for (at, server) in servers.iter().enumerate() {
                let tps = of(at, &|measured| measured.figures.per_second);
                let commits = |measured: &Measured| measured.figures.transactions as f64 / measured.syncs.max(1) as f64;
                table.add_row([
                    workload.clone(),
                    format!("{threads}{}", if hot { ", 10 hot rows" } else { "" }),
                    format!("{:?}", server.kind),
                    format!("{tps:.0}"),
                    format!("{:.2}", tps / peer),
                    format!("{:.2}", of(at, &|measured| measured.figures.p95_ms)),
                    format!("{:.0}", of(at, &|measured| measured.figures.cpu_us_per_transaction())),
                    format!("{:.0}", of(at, &|measured| measured.figures.written_per_transaction())),
                    format!("{:.2}", of(at, &commits)),
                    format!("{:.0}", of(at, &|measured| measured.figures.ignored_errors as f64)),
                ]);
            }
        }
    }
    println!("{table}");
    for server in servers {
        server.stop()?;
    }
    Ok(())
}

fn load(server: &Server, tables: u32, rows: u32) -> io::Result<()> {
    let run = Run { script: "oltp_read_write", tables, rows, threads: 2, seconds: 0, prepared: true, more: &[] };
    run.prepare(server)
}

#[derive(Debug, Clone, clap::Args)]
pub struct PurgeArguments {
    #[arg(long, default_value_t = 10.0)]
    pub minutes: f64,
    #[arg(long, default_value_t = 4)]
    pub threads: u32,
    #[arg(long, default_value_t = 2)]
    pub tables: u32,
    #[arg(long, default_value_t = 100_000)]
    pub rows: u32,
    #[arg(long, default_value = "256M")]
    pub pool: String,
    #[arg(long, default_value = "zstd")]
    pub codec: String,
    /// The same on MariaDB, afterwards.
    #[arg(long)]
    pub peer: bool,
}

/// How long the history may take to become short after the last write.
const CALM: Duration = Duration::from_secs(30);

/// `bench purge`.
pub fn purge(arguments: &PurgeArguments) -> io::Result<()> {
    for kind in kinds(!arguments.peer) {
        purge_of(kind, arguments)?;
    }
    Ok(())
}

fn history(server: &Server) -> io::Result<u64> {
    let answer = server
        .connect()
        .and_then(|mut client| client.query("SHOW GLOBAL STATUS LIKE 'Innodb_history_list_length'"))
        .map_err(io::Error::other)?;
    let value = answer.rows.first().and_then(|row| row[1].as_deref()?.parse().ok());
    value.ok_or_else(|| io::Error::other("no Innodb_history_list_length"))
}

fn purge_of(kind: Kind, arguments: &PurgeArguments) -> io::Result<()> {
    let scratch = Scratch::new("purge")?;
    let server = start(kind, &scratch, &arguments.pool, &arguments.codec)?;
    load(&server, arguments.tables, arguments.rows)?;
    let seconds = (arguments.minutes * 60.0).ceil() as u32;
    let run = Run {
        script: "oltp_write_only",
        tables: arguments.tables,
        rows: arguments.rows,
        threads: arguments.threads,
        seconds,
        prepared: true,
        more: &[],
    };
    let begin = Instant::now();
    println!("{kind:?}: history list length, by seconds of oltp_write_only");
    let sample = Duration::from_secs_f64((f64::from(seconds) / 20.0).max(1.0));
    let figures = thread::scope(|scope| -> io::Result<Figures> {
        let load = scope.spawn(|| run.run(&server));
        let mut next = begin;
        while !load.is_finished() {
            if Instant::now() >= next {
                println!("  {:>6.0} s {:>10}", begin.elapsed().as_secs_f64(), history(&server)?);
                next += sample;
            }
            thread::sleep(Duration::from_millis(50));
        }
        load.join().map_err(|_| io::Error::other("the load panicked"))?
    })?;
    let calm = Instant::now();
    let mut left = history(&server)?;
    println!("  load over: {left} left, {:.0} tps", figures.per_second);
    while left > 100 && calm.elapsed() < CALM {
        thread::sleep(Duration::from_millis(200));
        left = history(&server)?;
    }
    println!("  {left} left {:.1} s later", calm.elapsed().as_secs_f64());

    // The same rows, loaded anew.
    let mut client = server.connect().map_err(io::Error::other)?;
    let mut ask = |statement: &str| client.query(statement).map(|_| ()).map_err(io::Error::other);
    ask("CREATE DATABASE fresh")?;
    for number in 1..=arguments.tables {
        ask(&format!(
            "CREATE TABLE fresh.sbtest{number} (id INTEGER NOT NULL AUTO_INCREMENT, k INTEGER DEFAULT 0 NOT NULL, \
             c CHAR(120) DEFAULT '' NOT NULL, pad CHAR(60) DEFAULT '' NOT NULL, PRIMARY KEY (id)) ENGINE=InnoDB"
        ))?;
        ask(&format!("INSERT INTO fresh.sbtest{number} SELECT id, k, c, pad FROM sbtest.sbtest{number} ORDER BY id"))?;
        ask(&format!("CREATE INDEX k_{number} ON fresh.sbtest{number} (k)"))?;
    }
    drop(client);
    // What is on disk counts when everything has been written.
    let directory = server.stop()?;
    let size = |database: &str| -> io::Result<(u64, u64)> {
        let mut sum = (0, 0);
        for number in 1..=arguments.tables {
            let path = directory.join(format!("data/{database}/sbtest{number}.ibd"));
            let (allocated, logical) = process::disk_usage(&path)?;
            sum = (sum.0 + allocated, sum.1 + logical);
        }
        Ok(sum)
    };
    let (used, fresh) = (size("sbtest")?, size("fresh")?);
    println!(
        "  allocated {} bytes, of a fresh load {}: {:.3}; file length {:.3}",
        used.0,
        fresh.0,
        used.0 as f64 / fresh.0.max(1) as f64,
        used.1 as f64 / fresh.1.max(1) as f64
    );
    Ok(())
}
