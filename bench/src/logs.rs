//! `bench binlog`: what a binary log costs, plain and compressed, on Glassine and on MariaDB.
//!
//! Every arm is a server of its own; redo log and binary log are durable at each commit (`innodb_flush_log_at_trx_commit`
//! and `sync_binlog` are 1; Glassine needs one sync for both). First oltp_write_only, the arms taking turns; then one
//! transaction that updates many rows, and how long its COMMIT takes.

use std::fs;
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use comfy_table::Table;

use crate::client::Client;
use crate::process::{self, Kind, Options, Scratch, Server};
use crate::sysbench::{Figures, Run, median};

#[derive(Debug, Clone, clap::Args)]
pub struct Arguments {
    /// Threads of oltp_write_only; 0 leaves it out.
    #[arg(long, value_delimiter = ',', default_value = "4,64")]
    pub threads: Vec<u32>,
    #[arg(long, default_value_t = 8)]
    pub seconds: u32,
    #[arg(long, default_value_t = 3)]
    pub rounds: u32,
    #[arg(long, default_value_t = 4)]
    pub tables: u32,
    #[arg(long, default_value_t = 100_000)]
    pub rows: u32,
    /// Rows of the long transactions.
    #[arg(long, value_delimiter = ',', default_value = "100000,1000000")]
    pub long: Vec<u64>,
    #[arg(long, default_value = "1G")]
    pub pool: String,
    /// Leave MariaDB out.
    #[arg(long)]
    pub alone: bool,
}

/// How a server logs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Log {
    None,
    Plain,
    Compressed,
}

const LOGS: [Log; 3] = [Log::None, Log::Plain, Log::Compressed];

struct Arm {
    kind: Kind,
    log: Log,
    server: Server,
}

impl Arm {
    fn start(kind: Kind, log: Log, scratch: &Scratch, pool: &str) -> io::Result<Arm> {
        let directory = scratch.0.join(format!("{kind:?}-{log:?}").to_lowercase());
        let mut more = Vec::new();
        if log != Log::None {
            more.push("--server-id=1".to_owned());
            more.push("--log-bin=binlog".to_owned());
            if kind == Kind::MariaDb {
                more.push("--sync-binlog=1".to_owned());
                more.push("--binlog-format=ROW".to_owned());
            }
        }
        if log == Log::Compressed {
            more.push(match kind {
                Kind::Glassine => "--binlog-transaction-compression=ON".to_owned(),
                Kind::MariaDb => "--log-bin-compress=ON".to_owned(),
            });
        }
        let options = Options { pool: pool.into(), log: "2G".into(), more, ..Options::default() };
        let server = Server::create(kind, &directory, &options)?;
        server.connect().and_then(|mut client| client.query("CREATE DATABASE sbtest")).map_err(io::Error::other)?;
        Ok(Arm { kind, log, server })
    }

    fn name(&self) -> String {
        format!(
            "{:?}, {}",
            self.kind,
            match self.log {
                Log::None => "no log",
                Log::Plain => "log",
                Log::Compressed => "compressed log",
            }
        )
    }

    /// Bytes of the binary log so far.
    fn log_bytes(&self) -> io::Result<u64> {
        log_bytes(&self.server.directory.join("data"))
    }

    /// The most memory that the process has had, in MB.
    fn memory_mb(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.server.pid())).unwrap_or_default();
        let peak =
            status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB")?.parse().ok());
        peak.unwrap_or(0) / 1024
    }
}

fn log_bytes(data: &Path) -> io::Result<u64> {
    let mut sum = 0;
    for entry in fs::read_dir(data)? {
        let entry = entry?;
        let name = entry.file_name();
        let number = name.to_str().and_then(|name| name.strip_prefix("binlog."));
        if number.is_some_and(|number| number.bytes().all(|digit| digit.is_ascii_digit())) {
            sum += entry.metadata()?.len();
        }
    }
    Ok(sum)
}

/// `bench binlog`.
pub fn run(arguments: &Arguments) -> io::Result<()> {
    let scratch = Scratch::new("binlog")?;
    let mut kinds = vec![Kind::Glassine];
    if !arguments.alone && process::mariadb_is_installed() {
        kinds.push(Kind::MariaDb);
    }
    let mut arms = Vec::new();
    for kind in kinds {
        for log in LOGS {
            arms.push(Arm::start(kind, log, &scratch, &arguments.pool)?);
        }
    }
    short(arguments, &arms)?;
    for rows in &arguments.long {
        long(*rows, &arms)?;
    }
    for arm in arms {
        arm.server.stop()?;
    }
    Ok(())
}

/// oltp_write_only.
fn short(arguments: &Arguments, arms: &[Arm]) -> io::Result<()> {
    let threads: Vec<u32> = arguments.threads.iter().copied().filter(|threads| *threads > 0).collect();
    if threads.is_empty() {
        return Ok(());
    }
    let (tables, rows, seconds) = (arguments.tables, arguments.rows, arguments.seconds);
    let of = |threads| Run { script: "oltp_write_only", tables, rows, threads, seconds, prepared: true, more: &[] };
    for arm in arms {
        of(2).prepare(&arm.server)?;
    }
    let mut table = Table::new();
    table.set_header(["threads", "server", "tps", "of no log", "p95 ms", "CPU us/txn", "bytes/txn", "log bytes/txn"]);
    for threads in threads {
        let mut results: Vec<Vec<(Figures, u64)>> = arms.iter().map(|_| Vec::new()).collect();
        for _ in 0..arguments.rounds {
            for (arm, results) in arms.iter().zip(&mut results) {
                let before = arm.log_bytes()?;
                let figures = of(threads).run(&arm.server)?;
                eprintln!("{threads}: {} {:.0} tps", arm.name(), figures.per_second);
                results.push((figures, arm.log_bytes()? - before));
            }
        }
        let of = |at: usize, figure: &dyn Fn(&(Figures, u64)) -> f64| median(results[at].iter().map(figure).collect());
        for (at, arm) in arms.iter().enumerate() {
            let tps = of(at, &|(figures, _)| figures.per_second);
            // The arms of a server stand together, without a log first.
            let without = of(at / LOGS.len() * LOGS.len(), &|(figures, _)| figures.per_second);
            table.add_row([
                threads.to_string(),
                arm.name(),
                format!("{tps:.0}"),
                format!("{:.2}", tps / without),
                format!("{:.2}", of(at, &|(figures, _)| figures.p95_ms)),
                format!("{:.0}", of(at, &|(figures, _)| figures.cpu_us_per_transaction())),
                format!("{:.0}", of(at, &|(figures, _)| figures.written_per_transaction())),
                format!("{:.0}", of(at, &|(figures, log)| *log as f64 / figures.transactions.max(1) as f64)),
            ]);
        }
    }
    println!("{table}");
    Ok(())
}

/// How long a statement takes.
fn timed(client: &mut Client, statement: &str) -> io::Result<Duration> {
    let begin = Instant::now();
    client.query(statement).map_err(io::Error::other)?;
    Ok(begin.elapsed())
}

/// Makes `sbtest.long_rows`, of sysbench's columns.
fn fill(client: &mut Client, rows: u64) -> io::Result<()> {
    let mut ask = |statement: &str| client.query(statement).map(drop).map_err(io::Error::other);
    ask("SET sql_log_bin = 0")?;
    ask("DROP TABLE IF EXISTS sbtest.long_rows")?;
    ask("CREATE TABLE sbtest.long_rows (id INTEGER NOT NULL AUTO_INCREMENT, k INTEGER DEFAULT 0 NOT NULL, \
         c CHAR(120) DEFAULT '' NOT NULL, pad CHAR(60) DEFAULT '' NOT NULL, PRIMARY KEY (id)) ENGINE=InnoDB")?;
    let digits = |count: usize| {
        let eleven = "LPAD(FLOOR(RAND() * 100000000000), 11, '0')";
        vec![eleven; count].join(", ")
    };
    let value = format!("(1, CONCAT_WS('-', {}), CONCAT_WS('-', {}))", digits(10), digits(5));
    ask(&format!("INSERT INTO sbtest.long_rows (k, c, pad) VALUES {}", vec![value; 200].join(", ")))?;
    let mut filled = 200;
    while filled < rows {
        let more = filled.min(rows - filled).min(50_000);
        ask(&format!(
            "INSERT INTO sbtest.long_rows (k, c, pad) SELECT k, CONCAT_WS('-', {}), CONCAT_WS('-', {}) \
             FROM sbtest.long_rows LIMIT {more}",
            digits(10),
            digits(5)
        ))?;
        filled += more;
    }
    ask("SET sql_log_bin = 1")
}

/// One transaction that updates `rows` rows.
fn long(rows: u64, arms: &[Arm]) -> io::Result<()> {
    let mut table = Table::new();
    table.set_header(["rows", "server", "UPDATE s", "of no log", "COMMIT ms", "log MB", "memory MB"]);
    let mut without = 0.0;
    for arm in arms {
        let mut client = arm.server.connect().map_err(io::Error::other)?;
        fill(&mut client, rows)?;
        let before = arm.log_bytes()?;
        let (mut updates, mut commits) = (Vec::new(), Vec::new());
        for _ in 0..3 {
            timed(&mut client, "BEGIN")?;
            let update = format!("UPDATE sbtest.long_rows SET k = k + 1 LIMIT {rows}");
            updates.push(timed(&mut client, &update)?.as_secs_f64());
            commits.push(timed(&mut client, "COMMIT")?.as_secs_f64() * 1000.0);
            eprintln!(
                "{rows} rows: {} {:.2} s {:.1} ms",
                arm.name(),
                updates[updates.len() - 1],
                commits[commits.len() - 1]
            );
        }
        let update = median(updates);
        if arm.log == Log::None {
            without = update;
        }
        table.add_row([
            rows.to_string(),
            arm.name(),
            format!("{update:.2}"),
            format!("{:.2}", update / without),
            format!("{:.1}", median(commits)),
            format!("{:.1}", (arm.log_bytes()? - before) as f64 / 3e6),
            arm.memory_mb().to_string(),
        ]);
    }
    println!("{table}");
    Ok(())
}
