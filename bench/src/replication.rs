//! `bench replica`: how far a replica lags, what a reader of the log costs its source, and what is left after kills.
//!
//! Each arm is a source and a replica of their own, on one machine, with redo log and binary log durable at each commit.
//! oltp_write_only runs on the source while the replica applies; then nothing runs until the replica has everything.
//! MariaDB's pair is beside Glassine's.

use std::fs;
use std::io;
use std::time::{Duration, Instant};

use comfy_table::Table;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use crate::client::Client;
use crate::process::{self, Kind, Options, Scratch, Server};
use crate::replicas::{end_of, follow_by_old_names, free_port, let_replicas_in, old_status, options};
use crate::sysbench::{Run, median, until_killed};

#[derive(Debug, Clone, clap::Args)]
pub struct Arguments {
    /// Seconds of load before the lag is looked at; 0 leaves that out.
    #[arg(long, default_value_t = 60)]
    pub seconds: u32,
    /// Workers of the replica.
    #[arg(long, value_delimiter = ',', default_value = "1,4")]
    pub workers: Vec<u32>,
    #[arg(long, default_value_t = 4)]
    pub threads: u32,
    #[arg(long, default_value_t = 4)]
    pub tables: u32,
    #[arg(long, default_value_t = 50_000)]
    pub rows: u32,
    /// Rounds with and without a reader of the source's log; 0 leaves them out.
    #[arg(long, default_value_t = 3)]
    pub rounds: u32,
    /// Seconds of each round.
    #[arg(long, default_value_t = 10)]
    pub round_seconds: u32,
    /// Kill the replica and the source so often instead, and compare the tables.
    #[arg(long, default_value_t = 0)]
    pub kills: u32,
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Leave MariaDB out.
    #[arg(long)]
    pub alone: bool,
}

/// A source and a replica that does not follow it yet.
struct Pair {
    kind: Kind,
    source: Server,
    replica: Server,
    source_options: Options,
    replica_options: Options,
}

/// Where a replica begins.
fn place(kind: Kind) -> &'static str {
    match kind {
        Kind::Glassine => ", MASTER_AUTO_POSITION = 1",
        Kind::MariaDb => ", MASTER_USE_GTID = slave_pos",
    }
}

impl Pair {
    fn start(kind: Kind, compressed: bool, workers: u32, scratch: &Scratch, name: &str) -> io::Result<Pair> {
        let port = free_port();
        let mut logged = vec!["--log-bin=binlog"];
        match kind {
            Kind::Glassine => logged.push("--gtid-mode=ON"),
            Kind::MariaDb => logged.extend(["--sync-binlog=1", "--binlog-format=ROW"]),
        }
        logged.extend(compressed.then_some(match kind {
            Kind::Glassine => "--binlog-transaction-compression=ON",
            Kind::MariaDb => "--log-bin-compress=ON",
        }));
        let workers = match kind {
            Kind::Glassine => format!("--replica-parallel-workers={workers}"),
            // One thread reads and applies without any that are parallel.
            Kind::MariaDb => format!("--slave-parallel-threads={}", if workers > 1 { workers } else { 0 }),
        };
        let large = |options: Options| Options { pool: "512M".into(), log: "1G".into(), ..options };
        let source_options = large(options(port, 1, &logged));
        let replica_options = large(options(free_port(), 2, &[&workers]));
        let create =
            |role: &str, options: &Options| Server::create(kind, &scratch.0.join(format!("{name}-{role}")), options);
        let (source, replica) = (create("source", &source_options)?, create("replica", &replica_options)?);
        let mut client = source.connect().map_err(io::Error::other)?;
        let_replicas_in(&mut client);
        client.query("CREATE DATABASE sbtest").map_err(io::Error::other)?;
        follow_by_old_names(&mut replica.connect().map_err(io::Error::other)?, port, place(kind));
        Ok(Pair { kind, source, replica, source_options, replica_options })
    }

    /// Bytes of the source's log, which are those of the relay log that it becomes.
    fn log_bytes(&self) -> io::Result<u64> {
        let mut sum = 0;
        for entry in fs::read_dir(self.source.directory.join("data"))? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let number = name.strip_prefix("binlog.").unwrap_or("-");
            if number.bytes().all(|digit| digit.is_ascii_digit()) {
                sum += entry.metadata()?.len();
            }
        }
        Ok(sum)
    }

    /// Waits until the replica has everything. How long that took.
    fn catch_up(&self, at_most: Duration) -> io::Result<Duration> {
        let begin = Instant::now();
        let (file, position) = end_of(&self.source);
        let mut client = self.replica.connect().map_err(io::Error::other)?;
        loop {
            let file_there = old_status(&mut client, "Relay_Master_Log_File");
            let there = old_status(&mut client, "Exec_Master_Log_Pos").parse::<u64>().unwrap_or(0);
            if file_there > file || file_there == file && there >= position {
                return Ok(begin.elapsed());
            }
            let errors = [old_status(&mut client, "Last_IO_Error"), old_status(&mut client, "Last_SQL_Error")];
            if old_status(&mut client, "Slave_SQL_Running") != "Yes" || begin.elapsed() > at_most {
                let log = self.replica.log_tail(5);
                return Err(io::Error::other(format!(
                    "{file_there}:{there} is not {file}:{position}: {errors:?}\n{log}"
                )));
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// An error names the tables that are not the same.
    fn compare(&self, tables: u32) -> io::Result<()> {
        let sums = |server: &Server| -> io::Result<Vec<String>> {
            let mut client = server.connect().map_err(io::Error::other)?;
            let sum = |table: u32| {
                let query = format!(
                    "SELECT CONCAT_WS(' ', COUNT(*), SUM(id), SUM(k), SUM(CRC32(CONCAT_WS(',', id, k, c, pad)))) \
                     FROM sbtest.sbtest{table}"
                );
                let answer = client.query(&query).map_err(io::Error::other)?;
                Ok(answer.cell().unwrap_or("").to_owned())
            };
            (1..=tables).map(sum).collect()
        };
        let (there, here) = (sums(&self.source)?, sums(&self.replica)?);
        match there == here {
            true => Ok(()),
            false => Err(io::Error::other(format!("the source has {there:?}, the replica {here:?}"))),
        }
    }
}

/// `bench replica`.
pub fn run(arguments: &Arguments) -> io::Result<()> {
    if arguments.kills > 0 {
        return killed(arguments.kills, arguments.seed);
    }
    let scratch = Scratch::new("bench_replica")?;
    let mut kinds = vec![Kind::Glassine];
    if !arguments.alone && process::mariadb_is_installed() {
        kinds.push(Kind::MariaDb);
    }
    if arguments.seconds > 0 {
        lag(arguments, &kinds, &scratch)?;
    }
    if arguments.rounds > 0 {
        readers(arguments, &kinds, &scratch)?;
    }
    Ok(())
}

/// How far replicas are behind when load ends, and how long until they are there.
fn lag(arguments: &Arguments, kinds: &[Kind], scratch: &Scratch) -> io::Result<()> {
    let Arguments { tables, rows, threads, seconds, .. } = *arguments;
    let load = Run { script: "oltp_write_only", tables, rows, threads, seconds, prepared: true, more: &[] };
    let mut table = Table::new();
    table.set_header(["pair", "log", "workers", "source tps", "behind s", "caught up s", "relay bytes/txn"]);
    for compressed in [true, false] {
        for workers in &arguments.workers {
            for kind in kinds {
                let name = format!("{kind:?}-{workers}-{compressed}").to_lowercase();
                let pair = Pair::start(*kind, compressed, *workers, scratch, &name)?;
                Run { threads: 2, ..load.clone() }.prepare(&pair.source)?;
                pair.catch_up(Duration::from_secs(300))?;
                let before = pair.log_bytes()?;
                let figures = load.run(&pair.source)?;
                let bytes = pair.log_bytes()? - before;
                let mut client = pair.replica.connect().map_err(io::Error::other)?;
                let behind = old_status(&mut client, "Seconds_Behind_Master");
                let caught_up = pair.catch_up(Duration::from_secs(1200))?;
                pair.compare(tables)?;
                let log = if compressed { "compressed" } else { "plain" };
                eprintln!("{kind:?} {log} {workers}: {:.0} tps, {behind} s, {caught_up:.1?}", figures.per_second);
                table.add_row([
                    format!("{kind:?}"),
                    log.to_owned(),
                    workers.to_string(),
                    format!("{:.0}", figures.per_second),
                    behind,
                    format!("{:.1}", caught_up.as_secs_f64()),
                    format!("{:.0}", bytes as f64 / figures.transactions.max(1) as f64),
                ]);
                stop(pair)?;
            }
        }
    }
    println!("{table}");
    Ok(())
}

/// What a source does per second without a reader, with one that only reads, and with one that applies.
fn readers(arguments: &Arguments, kinds: &[Kind], scratch: &Scratch) -> io::Result<()> {
    let Arguments { tables, rows, threads, .. } = *arguments;
    let seconds = arguments.round_seconds;
    let load = Run { script: "oltp_write_only", tables, rows, threads, seconds, prepared: true, more: &[] };
    let arms = [("no reader", ""), ("a reader", "START SLAVE IO_THREAD"), ("a replica", "START SLAVE")];
    let mut table = Table::new();
    table.set_header(["source", "read by", "tps", "of no reader", "CPU us/txn of the source"]);
    for kind in kinds {
        let pair = Pair::start(*kind, true, 4, scratch, &format!("{kind:?}-readers").to_lowercase())?;
        Run { threads: 2, ..load.clone() }.prepare(&pair.source)?;
        let mut client = pair.replica.connect().map_err(io::Error::other)?;
        let mut ask = |statement: &str| client.query(statement).map(drop).map_err(io::Error::other);
        let mut results: [Vec<(f64, f64)>; 3] = Default::default();
        for _ in 0..arguments.rounds {
            for ((name, start), results) in arms.iter().zip(&mut results) {
                pair.catch_up(Duration::from_secs(600))?;
                ask("STOP SLAVE")?;
                if !start.is_empty() {
                    ask(start)?;
                    std::thread::sleep(Duration::from_millis(500));
                }
                let figures = load.run(&pair.source)?;
                eprintln!("{kind:?}, {name}: {:.0} tps", figures.per_second);
                results.push((figures.per_second, figures.cpu_us_per_transaction()));
                ask("START SLAVE")?;
            }
        }
        let tps = |at: usize| median(results[at].iter().map(|(tps, _)| *tps).collect());
        for (at, (name, _)) in arms.iter().enumerate() {
            table.add_row([
                format!("{kind:?}"),
                (*name).to_owned(),
                format!("{:.0}", tps(at)),
                format!("{:.2}", tps(at) / tps(0)),
                format!("{:.0}", median(results[at].iter().map(|(_, cpu)| *cpu).collect())),
            ]);
        }
        stop(pair)?;
    }
    println!("{table}");
    Ok(())
}

fn stop(pair: Pair) -> io::Result<()> {
    let directories = [pair.source.directory.clone(), pair.replica.directory.clone()];
    pair.replica.stop()?;
    pair.source.stop()?;
    directories.iter().try_for_each(fs::remove_dir_all)
}

/// Kills the replica and the source, in turns and at random moments, under oltp_read_write and oltp_write_only; at the end
/// both have the same rows.
pub fn killed(kills: u32, seed: u64) -> io::Result<()> {
    const TABLES: u32 = 2;
    const ROWS: u32 = 2000;
    let scratch = Scratch::new("bench_replica_killed")?;
    let mut random = StdRng::seed_from_u64(seed);
    let mut pair = Pair::start(Kind::Glassine, true, 4, &scratch, "killed")?;
    let load = Run {
        script: "oltp_read_write",
        tables: TABLES,
        rows: ROWS,
        threads: 4,
        seconds: 2,
        prepared: true,
        more: &[],
    };
    load.prepare(&pair.source)?;
    for kill in 1..=kills {
        // The replica, while the source goes on.
        let (socket, moment) = (pair.source.socket.clone(), Duration::from_millis(random.random_range(50..1500)));
        let (directory, options) = (pair.replica.directory.clone(), pair.replica_options.clone());
        let replica = pair.replica;
        let restarted = std::thread::scope(|scope| {
            let killer = scope.spawn(move || {
                std::thread::sleep(moment);
                replica.kill();
                Server::start(Kind::Glassine, &directory, &options)
            });
            let loaded = load.run(&pair.source);
            let restarted = killer.join().map_err(|_| io::Error::other("the thread that kills has failed"));
            loaded.and(restarted)
        })?;
        pair.replica = restarted?;
        // The source.
        let moment = Duration::from_millis(random.random_range(200..1200));
        let (directory, options) = (pair.source.directory.clone(), pair.source_options.clone());
        let source = pair.source;
        std::thread::scope(|scope| {
            scope.spawn(|| until_killed(&socket, TABLES, ROWS));
            std::thread::sleep(moment);
            source.kill();
        });
        pair.source = Server::start(pair.kind, &directory, &options)?;
        if kill % 5 == 0 || kill == kills {
            // Its log has to have a transaction that its readers do not have.
            let mut client = pair.source.connect().map_err(io::Error::other)?;
            touch(&mut client)?;
            pair.catch_up(Duration::from_secs(120))?;
            pair.compare(TABLES).map_err(|error| io::Error::other(format!("after {kill} kills of each: {error}")))?;
        }
    }
    let mut client = pair.source.connect().map_err(io::Error::other)?;
    let executed = client.query("SELECT @@gtid_executed").map_err(io::Error::other)?;
    println!(
        "{kills} kills of the replica and {kills} of the source: the same rows. {}",
        executed.cell().unwrap_or("")
    );
    Ok(())
}

fn touch(client: &mut Client) -> io::Result<()> {
    client.query("UPDATE sbtest.sbtest1 SET k = k + 1 LIMIT 1").map(drop).map_err(io::Error::other)
}
